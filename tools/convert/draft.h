/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: what will stand in the file, before it is bytes. Physical tensors, plan operators
 * (format/ops.inc), and recipes for weights, which are carried out one by one while the file is
 * written, so that no second copy of the model is ever in memory. */
#ifndef IPEX_TOOLS_DRAFT_H
#define IPEX_TOOLS_DRAFT_H

#include "format/ops.h"
#include "format/tile.h"
#include "tools/convert/graph.h"

struct ipex_plan_tensor {
    const char *name;
    enum ipex_dtype dtype;
    int32_t rank;
    int64_t dims[IPEX_MAX_RANK]; /* physical; dims of dim.h */
    uint16_t halo[4];            /* top left bottom right */
    uint8_t halo_value;          /* of u8: what stands in it */
    int32_t weight;              /* -1: not a constant */
    int32_t view_of, view_axis;  /* -1: none; view_axis -1: a reshape */
    int64_t view_start;          /* a dim */
    int64_t room; /* of a storage: the elements that it takes at least, a dim; bound.c */
};

struct ipex_plan_node {
    enum ipex_op op;
    uint32_t band; /* group, 0: none */
    const char *name;
    int32_t inputs, outputs, ints, floats;
    int32_t output[3];
    int32_t input[IPEX_POINTWISE_INPUTS]; /* tensors; -1 absent */
    int32_t *int_;
    int32_t dynamics;
    struct {
        int32_t at;  /* this attribute ... */
        int64_t dim; /* ... is this expression */
    } * dynamic;
    float *float_;
};

enum ipex_recipe {
    IPEX_RECIPE_conv,           /* [M][C/G][KH][KW] -> tiles, scaled per output channel */
    IPEX_RECIPE_conv_transpose, /* [C][M/G][KH][KW] -> tiles, scaled per output channel */
    IPEX_RECIPE_winograd,       /* [M][C][kh][kw] -> tiles of transformed kernels, scaled */
    IPEX_RECIPE_linear,         /* [N][K] or [K][N] -> tiles, scaled per column, K reordered */
    IPEX_RECIPE_depthwise,      /* [C][1][KH][KW] -> [KH][KW][C], scaled */
    IPEX_RECIPE_block_numbers,  /* of linear_blocks: pack_blocks.c */
    IPEX_RECIPE_block_scales,   /* likewise, scaled per column */
    IPEX_RECIPE_block_zeros,
    IPEX_RECIPE_vector,  /* doubles -> f32 */
    IPEX_RECIPE_permute, /* a constant in another axis order */
    IPEX_RECIPE_bytes,   /* known answers: as they are */
};

struct ipex_plan_weight {
    const char *name;
    enum ipex_dtype dtype;
    enum ipex_layout layout;
    int32_t rank;
    int64_t dims[IPEX_MAX_RANK]; /* logical, as format/tile.h wants them */
    int64_t bytes;
    int32_t section; /* 0 weights, 1 known answers */
    uint64_t offset; /* in the section; write.c */

    enum ipex_recipe recipe; /* of tiles: rounded to dtype */
    const struct ipex_value *source;
    const struct ipex_fold *fold;
    bool weight_kn;
    int32_t bits;  /* of numbers in blocks */
    int64_t block; /* of scales and zero points of blocks */
    const double *vector;
    const void *data;
    int32_t perm[IPEX_MAX_RANK]; /* permute: axis i of the weight is axis perm[i] of the source,
                                    which has been padded with leading ones */
};

struct ipex_plan_port {
    const char *name;
    int32_t tensor;
};

struct ipex_plan_answer {
    const char *origin;
    int32_t *input, *output; /* weights; -1 not given */
};

struct ipex_plan {
    struct ipex_arena *arena;
    const struct ipex_dims *dims;
    enum ipex_arithmetic arithmetic; /* pinned by the file; AUTO: none */
    struct ipex_plan_tensor *tensor;
    struct ipex_plan_node *node;
    struct ipex_plan_weight *weight;
    struct ipex_plan_port *input, *output;
    struct ipex_plan_answer *answer;
    const char *const *label;
    size_t tensors, nodes, weights, inputs, outputs, answers, labels;
    size_t tensor_capacity, node_capacity, weight_capacity, answer_capacity;
};

/* lower.c: graph -> plan. `plan` borrows the graph's arena and values. What stayed a copy, and why,
 * goes to the graph's ledger. */
void ipex_lower(struct ipex_graph *graph, struct ipex_plan *ret_plan);
void ipex_plan_finish(struct ipex_plan *plan);

/* bound.c: room for storages that are larger inside the ranges than at their ends. */
void ipex_bound_storages(struct ipex_graph *graph, struct ipex_plan *plan);

/* mark_bands.c: marks the plan's band groups. */
void ipex_mark_bands(struct ipex_graph *graph, struct ipex_plan *plan);

int32_t ipex_plan_add_weight(struct ipex_plan *plan, const struct ipex_plan_weight *weight);

/* pack.c: carries out a recipe into `out` (weight->bytes, zeroed by the callee where padding lies).
 */
void ipex_pack(const struct ipex_plan_weight *weight, uint8_t *out);
/* pack_blocks.c: those of blocks, into zeros. */
void ipex_pack_blocks(const struct ipex_plan_weight *weight, uint8_t *out);

#endif
