/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of linear layers that are numbers of 4 or 8 bits in blocks. Every such weight exists as
 * the f32 that it stands for, too (struct ipex_blocks hangs on that constant): passes fold and
 * merge the layer as any other, as long as its weight stays what it is, and at last pass_blocks.c
 * says that the file has the numbers instead. Passes that would need another weight leave such
 * layers alone. */
#ifndef IPEX_TOOLS_WEIGHT_BLOCKS_H
#define IPEX_TOOLS_WEIGHT_BLOCKS_H

#include <string.h>

#include "tools/convert/graph.h"

/* Parameters of numbers along an axis: (q - zero) * scale. */
struct ipex_block_parameters {
    struct ipex_value *scale; /* one number, or one per element of the axis, or, where block is not
                                 0, one per block along it */
    struct ipex_value *zero;  /* likewise; NULL: 0 */
    int64_t axis, block;
};
/* Notes on y, a constant matrix, what it is of q, numbers of 4 or 8 bits in bytes of y's dims. Does
 * nothing where one of them is no constant, or of another shape. */
void ipex_blocks_note(struct ipex_graph *graph, struct ipex_value *y, struct ipex_value *q,
                      const struct ipex_block_parameters *p, int32_t bits);
/* The same of x transposed. */
const struct ipex_blocks *ipex_blocks_turned(struct ipex_graph *graph,
                                             const struct ipex_blocks *blocks);

/* Whether a layer keeps its weight so, and how: applied, or why not. A weight without blocks
 * differs. */
enum ipex_reason ipex_blocks_of_layer(const struct ipex_graph *graph, const struct ipex_node *node,
                                      struct ipex_block_layer *ret);
bool ipex_keeps_blocks(const struct ipex_graph *graph, const struct ipex_node *node);
/* Whether both layers keep blocks, of the same kind, or neither does. */
bool ipex_blocks_alike(const struct ipex_graph *graph, const struct ipex_node *a,
                       const struct ipex_node *b);

/* Output n of a layer. */
struct ipex_block_row {
    const struct ipex_value *numbers; /* number k is element first + k * q_step */
    int64_t first, q_step;
    const uint8_t *scale; /* f32, not aligned */
    const uint8_t *zero;  /* NULL: `middle` throughout */
    uint8_t middle;
    int64_t step, block; /* step: from the parameters of a block to those of the next */
};
static inline float ipex_block_scale(const struct ipex_block_row *row, int64_t k) {
    float ret;
    memcpy(&ret, row->scale + (size_t)(k / row->block * row->step) * sizeof ret, sizeof ret);
    return ret;
}
static inline uint8_t ipex_block_zero(const struct ipex_block_row *row, int64_t k) {
    return row->zero ? row->zero[k / row->block * row->step] : row->middle;
}

/* Of a weight [N][K] or, with kn, [K][N], whatever its parts. */
struct ipex_block_row ipex_block_row_of(const struct ipex_fold *fold,
                                        const struct ipex_value *weight, bool kn, int64_t n);

/* Of output n, times what the fold scales it by. */
static inline float ipex_block_scaled(const struct ipex_fold *fold,
                                      const struct ipex_block_row *row, int64_t n, int64_t k) {
    return (float)((fold->scale ? fold->scale[n] : 1) * (double)ipex_block_scale(row, k));
}

/* All these scales of a layer, whose weight has k numbers of each output, are numbers of bf16:
 * those of checkpoints in bf16 are where they are powers of 2 of their weights. */
bool ipex_block_scales_fit_bf16(const struct ipex_node *node, int64_t k);

#endif
