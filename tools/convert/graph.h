/* SPDX-License-Identifier: Apache-2.0 */
/* The converter's graph: typed values in single-assignment form, in the source's own axis order
 * ("logical": images are N, C, H, W). Import fills it, passes rewrite it in place, lower.c turns it
 * into a plan with physical layouts.
 *
 * Everything lives in the graph's arena until ipex_graph_finish. Nodes are kept in execution order.
 * A value has at most one producer; `uses` counts operands and graph outputs and is kept right by
 * the helpers below. */
#ifndef IPEX_TOOLS_GRAPH_H
#define IPEX_TOOLS_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base.h"
#include "format/ipex_types.h"
#include "format/ops.h"
#include "tools/arena.h"
#include "tools/convert/dim.h"
#include "tools/convert/ledger.h"

/* Bytes that are made from others when they are first read, and let go of when a weight has been
 * packed: a model may have more of them than there is memory. */
struct ipex_late {
    void (*make)(const void *from, void *to);
    const void *from;
    struct ipex_arena arena; /* of the bytes, while they are there */
    uint8_t *bytes;          /* NULL: they are not */
    struct ipex_late *next;  /* of the graph */
};

/* Constant data, usually inside the source's map; elements row-major, any alignment. */
struct ipex_constant {
    const uint8_t *data; /* see ipex_constant_data; NULL: late */
    uint64_t size;
    struct ipex_late *late; /* NULL: there are data */
};

struct ipex_unsupported;

/* A float that a model computes from sizes: import_float_size.c. */
struct ipex_float_size {
    int64_t dim;   /* IPEX_DIM_NONE: not known */
    double factor; /* what the dim is multiplied with; 1: it is a whole number */
    bool divided;  /* by the factor instead */
    bool wide;     /* in doubles */
};

/* The tensors of one of ONNX's sequences: import_list.c. */
struct ipex_value_list {
    size_t count;
    struct ipex_value **item;
};

/* (q - zero) * scale, of integers q of few bits: import_quantized.c. */
struct ipex_dequantised {
    struct ipex_value *whole; /* q as f32, where it is computed at run time */
    struct ipex_value *raw;   /* q, where it is a constant */
    struct ipex_value *scale; /* f32, one number, or one per element of an axis; NULL: 1 */
    struct ipex_value *zero;  /* likewise; NULL: 0 */
    int64_t inner;            /* elements of q per element of that axis */
    float low, high;          /* the range of q */
    int32_t block_bits;       /* not 0: of a constant whose scales are those of blocks, so many
                                 bits to a number; nothing else is known of it */
};

/* What a matrix of constants is made of, where it is numbers q of up to 8 bits with a scale for
 * each block of them along an axis: (q - zero) * scale. Of element [i][j], q lies at i * stride[0]
 * + j * stride[1]; scale and zero at i * by[0] + j * by[1], of which the axis counts blocks. */
struct ipex_blocks {
    struct ipex_value *q;     /* a constant of u8 */
    struct ipex_value *scale; /* of f32 */
    struct ipex_value *zero;  /* of u8; NULL: the middle throughout */
    int64_t stride[2], by[2];
    int64_t block;
    int32_t axis, bits;       /* of 2 bits: moved to the middle of 4 */
    bool bytes;               /* the model wants what it multiplies rounded to i8 */
    enum ipex_reason wanting; /* why no layer can keep it; applied: one can */
};

/* The bits of a number in the file, and its zero point where none is given. */
static inline int32_t ipex_blocks_bits(const struct ipex_blocks *blocks) {
    return blocks->bits > 4 ? 8 : 4;
}
static inline uint8_t ipex_blocks_middle(const struct ipex_blocks *blocks) {
    return (uint8_t)(1 << (ipex_blocks_bits(blocks) - 1));
}

struct ipex_value {
    const char *name;
    enum ipex_dtype dtype;
    int32_t rank;
    int64_t dims[IPEX_MAX_RANK]; /* dims of dim.h: numbers, or expressions */
    const int64_t *ints;         /* the elements, as dims, where they are known: shape arithmetic */
    const struct ipex_constant *constant; /* NULL: computed at run time */
    struct ipex_value *whole;             /* of integers computed at run time: the f32 that they
                                             have been cast from, whole numbers in their range;
                                             NULL: there is none */
    const double *exact;                  /* of a small constant of f32 that the source has as
                                             doubles: its elements; import_double.c */
    const struct ipex_dequantised *dequantised; /* of integers; NULL: it is not */
    const struct ipex_blocks *blocks;     /* of a constant; NULL: it is made of none that fit */
    struct ipex_value *unsigned_;         /* of integers with a sign: 128 more; pass_integer.c */
    const struct ipex_float_size *floats; /* the elements of few floats that are computed from
                                             sizes; NULL: not known */
    const struct ipex_value_list *list;   /* it is these values and none itself; NULL: a tensor */
    struct ipex_node *producer;           /* NULL: a graph input or a constant */
    int32_t uses;
    int32_t narrow; /* the ONNX type of 4 or 16 bits that this stands for; 0: none */
    bool is_output;
    bool is_byte;  /* whole numbers from 0 to 255, which may be stored so; pass_integer.c */
    bool has_zero; /* of bytes: something pads it, with zero_byte */
    uint8_t zero_byte;
    bool foldable; /* depends on constants only; pass_constant.c */
    bool unknown;  /* produced by something unsupported: import keeps looking for more of these */
    bool placeholder; /* stands for what is unsupported, so that import can go on behind it */
    struct ipex_unsupported *empty; /* import_none.c: it has no elements, and what to say where that
                                       is a failure; NULL: it has some, or the model states it */
    struct ipex_linear_reader *linear; /* pass_merge.c */
    struct ipex_value_layout *layout;  /* lower.c */
};

/* The operators of the graph. Some exist only offline: affine becomes part of a weight or a
 * pointwise step, reshape and transpose become views where they can, concat becomes slices of one
 * tensor. */
enum ipex_kind {
    IPEX_KIND_conv,      /* x, w [M][C/G][KH][KW], (bias vector in node) */
    IPEX_KIND_linear,    /* x [..., K], w [N][K] or, with weight_kn, [K][N] */
    IPEX_KIND_affine,    /* x * scale[c] + shift[c] along `axis` */
    IPEX_KIND_pointwise, /* a program */
    IPEX_KIND_pool,
    IPEX_KIND_reshape,
    IPEX_KIND_transpose,
    IPEX_KIND_concat,
    IPEX_KIND_pad,
    IPEX_KIND_slice,
    IPEX_KIND_softmax,
    IPEX_KIND_reduce,
    IPEX_KIND_plan, /* a plan operator as it stands in format/ops.inc */
};

/* Rows of a merged linear layer's weight. */
struct ipex_fold_part {
    const struct ipex_value *weight;
    bool kn; /* [K][n], else [n][K] */
    int64_t n;
};

/* The weight of a conv or linear after folding: out[n] = scale[n] * w[n] . x + bias[n], rounded to
 * f32 once when packed. */
struct ipex_fold {
    double *scale; /* [n] or NULL: ones */
    double *bias;  /* [n] or NULL: zeros */
    int64_t n;
    int64_t *k_order; /* linear: position k of the packed weight is column k_order[k] of the source;
                         NULL: as it is */
    struct ipex_fold_part *part; /* linear: the weight's rows come from these, one below the other;
                                    NULL: from the node's own weight alone */
    int32_t parts;
};

struct ipex_epilogue {
    enum ipex_act act;
    float a, b;
    struct ipex_value *residual; /* also listed in node->input[2] */
};

/* To so few columns a direct convolution on f32 has pixels in its lanes
 * (runtime/ops/linear_conv.c).
 */
enum { IPEX_FEW_COLUMNS = 4 };

struct ipex_conv {
    int64_t kernel[2], stride[2], pad[4] /* top left bottom right */, dilation[2];
    int64_t groups;
    int32_t winograd;  /* products of a tile of Winograd's algorithm: algorithm.c; 0: directly */
    bool exact;        /* its sums are of integers, which Winograd's would not be */
    bool columns;      /* its kernel is taken column by column: algorithm.c */
    int32_t upsampled; /* x's rows and pixels come so often in what is convolved; 0: once. As the
                          operator upsampled_conv wants it: pass_upsample.c */
    bool transposed;   /* w is [C][M/G][KH][KW] */
    int64_t out_pad[2];
};

static inline bool ipex_conv_is_padded(const struct ipex_conv *conv) {
    return conv->pad[0] || conv->pad[1] || conv->pad[2] || conv->pad[3];
}

/* A layer on bytes and integers of 8 bits, whose fold.scale is of their sums; pass_integer.c. */
struct ipex_integer_layer {
    bool requantised; /* its result is rint(y * y_scale) + y_zero, cut to bytes */
    double y_scale;
    float y_zero;
    int32_t middles; /* before the residual is added: each rounds, cuts, and scales per output */
    struct ipex_middle {
        double low, high, *unit, *shift;
    } middle[IPEX_MIDDLES];
    double r_scale; /* of the residual */
};

/* A linear layer that keeps its weight as numbers of 4 or 8 bits in blocks: weight_blocks.c. */
struct ipex_block_layer {
    int64_t block; /* of the file; its last one may be cut */
    int32_t bits;
    bool bytes; /* x is rounded to i8, block by block */
    bool zeros; /* a zero point is another than the middle: pass_blocks.c */
};

struct ipex_pool {
    bool max, ceil, count_pad;
    int64_t kernel[2], stride[2], pad[4], dilation[2];
    struct ipex_pool_window *window; /* pass_pool.c */
};

/* What a plan operator wants of its operands' order in memory. */
enum ipex_order_policy {
    IPEX_ORDER_logical,       /* as in the source */
    IPEX_ORDER_elementwise,   /* any, the same for all, operands broadcast to the result */
    IPEX_ORDER_channels_last, /* operand 0 and the result are images, channels last */
    IPEX_ORDER_rows,          /* operand 0 and the result: any in which the last axis lies last */
};

/* A plan operator without a kind of its own. Constant operands beyond the first are stored as
 * `plain` weights in logical order, except the ones that a recipe packs (conv_transpose, lstm,
 * gru). */
struct ipex_plan_op {
    enum ipex_op op;
    enum ipex_order_policy policy;
    int32_t ints, floats;
    int64_t int_[16]; /* dims of dim.h where the attribute may be one, else numbers */
    float float_[8];
};

struct ipex_program {
    int32_t steps, constants;
    struct {
        int16_t op, a, b; /* as in format/ops.inc */
    } step[IPEX_POINTWISE_STEPS];
    float constant[IPEX_POINTWISE_CONSTANTS];
};

struct ipex_node {
    enum ipex_kind kind;
    const char *name; /* source node, several joined by "+" once fused */
    const char *source_op;
    int32_t inputs;
    struct ipex_value *input[IPEX_POINTWISE_INPUTS];
    struct ipex_value *
        *concat_input; /* concat: any number of inputs, `inputs` counts them; input[] is unused */
    struct ipex_value *output;
    struct ipex_value *extra_output[2]; /* of operators with several results; NULL: none */
    struct ipex_node *prev, *next;

    struct ipex_fold fold;              /* conv, linear */
    struct ipex_epilogue epilogue;      /* conv, linear */
    struct ipex_integer_layer *integer; /* conv, linear; NULL: on floats */
    struct ipex_block_layer *blocks;    /* linear; NULL: its weight becomes floats or integers */
    bool weight_kn;                     /* linear */
    bool left_on_floats;                /* linear, of a quantised input: pass_integer.c */
    enum ipex_dtype lossless;           /* of 16 bits, which hold its weight; 0: lossless.c */
    union {
        struct ipex_conv conv;
        struct ipex_pool pool;
        struct {
            int32_t axis;
            int64_t n;
            double *scale, *shift;
            bool centred; /* no mean that it takes away is far from zero: pass_affine_ahead.c */
        } affine;
        struct ipex_program *program;
        struct ipex_plan_op plan;
        int32_t perm[IPEX_MAX_RANK]; /* transpose: output axis i is input axis perm[i] */
        int32_t axis;                /* concat, softmax */
        struct {
            int64_t before[IPEX_MAX_RANK], after[IPEX_MAX_RANK];
            enum ipex_pad_mode mode;
            float value; /* of mode constant */
        } pad;
        struct {
            int64_t start[IPEX_MAX_RANK], step[IPEX_MAX_RANK];
        } slice;
        struct {
            enum ipex_reduce kind;
            uint32_t axes; /* bit mask; the reduced dims stay as 1 */
        } reduce;
    } u;
};

/* What the converter was asked to compute and store in: --weights bf16, --dtype bf16. */
enum ipex_precision {
    IPEX_PRECISION_f32,
    IPEX_PRECISION_bf16_weights, /* f32 arithmetic on bf16 weights */
    IPEX_PRECISION_bf16,         /* products of bf16 operands, summed in f32 */
};

/* How layers with weights of 4 or 8 bits in blocks read what they multiply: --activations. */
enum ipex_activations {
    IPEX_ACTIVATIONS_as_stated, /* as the model says */
    IPEX_ACTIVATIONS_f32,
    IPEX_ACTIVATIONS_i8, /* rounded, block by block */
};

struct ipex_graph {
    struct ipex_arena arena;
    struct ipex_late *late; /* those of its constants */
    enum ipex_precision precision;
    enum ipex_activations activations;
    enum ipex_arithmetic arithmetic; /* to be pinned, of products on bf16; AUTO: none */
    struct ipex_node *first, *last;
    size_t nodes;
    struct ipex_value **input, **output;
    size_t inputs, outputs;
    struct ipex_ledger *ledger;
    struct ipex_dims dims;
};

void ipex_graph_init(struct ipex_graph *graph, struct ipex_ledger *ledger);
void ipex_graph_finish(struct ipex_graph *graph);

struct ipex_value *ipex_graph_value(struct ipex_graph *graph, const char *name,
                                    enum ipex_dtype dtype, int32_t rank, const int64_t *dims);
/* A constant value; `data` is kept, not copied. */
struct ipex_value *ipex_graph_constant(struct ipex_graph *graph, const char *name,
                                       enum ipex_dtype dtype, int32_t rank, const int64_t *dims,
                                       const void *data);
/* Makes one of a value. */
void ipex_graph_set_data(struct ipex_graph *graph, struct ipex_value *value, const void *data);
/* One whose bytes `make` makes from `from`, which stays where it is. */
struct ipex_value *ipex_graph_late_constant(struct ipex_graph *graph, const char *name,
                                            enum ipex_dtype dtype, int32_t rank,
                                            const int64_t *dims,
                                            void (*make)(const void *from, void *to),
                                            const void *from);
/* A constant's elements. Those of a late one, and of the numbers that it is made of, are there
 * until ipex_constant_let_go, which does nothing for others. */
const uint8_t *ipex_constant_data(const struct ipex_value *value);
void ipex_constant_let_go(const struct ipex_value *value);

/* n numbers, rounded to f32, along one axis of values of this rank, as elementwise operands want
 * them. */
struct ipex_value *ipex_graph_axis_constant(struct ipex_graph *graph, const char *name,
                                            int32_t rank, int32_t axis, const double *numbers,
                                            int64_t n);

/* A constant x under another name and other dims of as many elements. */
struct ipex_value *ipex_graph_constant_as(struct ipex_graph *graph, const struct ipex_value *x,
                                          const char *name, int32_t rank, const int64_t *dims);

/* x in other dims of as many elements: a constant of the same data, or a reshape before `before`.
 */
struct ipex_value *ipex_graph_reshaped(struct ipex_graph *graph, struct ipex_value *x, int32_t rank,
                                       const int64_t *dims, struct ipex_node *before);

/* x with its axes in another order, axis i being x's perm[i]: a transpose before `before`. */
struct ipex_value *ipex_graph_transposed(struct ipex_graph *graph, struct ipex_value *x,
                                         const int32_t *perm, struct ipex_node *before);

/* A new node before `before` (NULL: at the end). Its operands are set with the calls below. */
struct ipex_node *ipex_graph_node(struct ipex_graph *graph, enum ipex_kind kind, const char *name,
                                  const char *source_op, struct ipex_node *before);
void ipex_node_add_input(struct ipex_node *node, struct ipex_value *value);
/* As add_input, but NULL stands for an absent optional operand of a plan operator. */
void ipex_node_add_operand(struct ipex_node *node, struct ipex_value *value);
void ipex_node_set_input(struct ipex_node *node, int32_t index, struct ipex_value *value);
void ipex_node_set_output(struct ipex_node *node, struct ipex_value *value);
/* Result 1 or 2 of a node that has several. */
void ipex_node_set_extra(struct ipex_node *node, int32_t index, struct ipex_value *value);
/* Takes a node out; its output keeps no producer. */
void ipex_graph_remove(struct ipex_graph *graph, struct ipex_node *node);
/* Moves a node to the end of another graph. */
void ipex_graph_transfer(struct ipex_graph *from, struct ipex_graph *to, struct ipex_node *node);
/* Moves a node to just before another. */
void ipex_graph_move(struct ipex_graph *graph, struct ipex_node *node, struct ipex_node *before);

/* Whether a node is `other` or stands before it. */
bool ipex_node_is_before(const struct ipex_node *node, const struct ipex_node *other);

/* Every operand and graph output that is `from` becomes `to`. */
void ipex_graph_replace(struct ipex_graph *graph, struct ipex_value *from, struct ipex_value *to);
/* The first node from `node` on that reads a value; NULL: there is none. */
struct ipex_node *ipex_value_next_reader(struct ipex_node *node, const struct ipex_value *value);
/* The one node that reads a value; NULL when there are none, several, or the value is an output. */
struct ipex_node *ipex_value_only_reader(const struct ipex_graph *graph,
                                         const struct ipex_value *value);
/* Removes nodes whose output nobody reads. */
void ipex_graph_prune(struct ipex_graph *graph);

/* "a+b": the name of what two nodes became; a where it says b already. Of 2 KiB at most: "a+..."
 * stands for more. */
const char *ipex_graph_join(struct ipex_graph *graph, const char *a, const char *b);

/* A group per channel, or other narrow groups, or groups on bytes that are taken in sets
 * (format/tile.h): the plan has an operator of its own for them. */
bool ipex_node_is_depthwise(const struct ipex_node *node);
/* Whether its groups can be taken in sets. */
bool ipex_node_has_sets(const struct ipex_node *node);

/* A resize whose elements are those of its input. */
static inline bool ipex_node_is_nearest(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_plan && node->u.plan.op == IPEX_OP_resize &&
           node->u.plan.int_[IPEX_RESIZE_MODE] == IPEX_RESIZE_nearest;
}

/* Number of elements: of a value whose dims are numbers, and of any as a dim. */
int64_t ipex_value_numel(const struct ipex_value *value);
/* A scale or zero point: a constant of one element, or NULL, which stands for 1 or 0. */
static inline bool ipex_is_one_number(const struct ipex_value *p) {
    return !p || (p->constant && ipex_value_numel(p) == 1);
}
int64_t ipex_value_size(struct ipex_graph *graph, const struct ipex_value *value);
struct ipex_value **ipex_node_operands(struct ipex_node *node);
/* Element i of a constant as f64 or i64 (converted); no bounds check beyond an assert. */
double ipex_constant_f64(const struct ipex_value *value, int64_t i);
int64_t ipex_constant_i64(const struct ipex_value *value, int64_t i);
/* Rounded once to bf16: to nearest, ties to even. */
uint16_t ipex_bf16_of_f64(double value);
/* A number that f16 holds. */
uint16_t ipex_exact_f16(double value);

#endif
