/* SPDX-License-Identifier: Apache-2.0 */
/* What matrices of numbers in blocks are made of, and which layers can keep them. */
#include "tools/convert/weight_blocks.h"

#include <string.h>

/* ---- noting ---- */

/* Integers with a sign are as much more as makes them bytes. */
static struct ipex_value *unsigned_numbers(struct ipex_graph *graph, struct ipex_value *x,
                                           int32_t bits) {
    const int64_t count = ipex_value_numel(x), more = 1 << (bits - 1);
    if (x->dtype == IPEX_DTYPE_u8)
        return x;
    uint8_t *data = ipex_arena_array(&graph->arena, (size_t)count + 1, sizeof *data);
    for (int64_t i = 0; i < count; i++)
        data[i] = (uint8_t)(ipex_constant_i64(x, i) + more);
    return ipex_graph_constant(graph, x->name, IPEX_DTYPE_u8, x->rank, x->dims, data);
}

static struct ipex_value *floats(struct ipex_graph *graph, struct ipex_value *x) {
    const int64_t count = ipex_value_numel(x);
    if (x->dtype == IPEX_DTYPE_f32)
        return x;
    float *data = ipex_arena_array(&graph->arena, (size_t)count + 1, sizeof *data);
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)ipex_constant_f64(x, i);
    return ipex_graph_constant(graph, x->name, IPEX_DTYPE_f32, x->rank, x->dims, data);
}

/* As many as there are scales. */
static struct ipex_value *zeros(struct ipex_graph *graph, const struct ipex_value *scale) {
    const size_t count = (size_t)ipex_value_numel(scale) + 1;
    return ipex_graph_constant(graph, scale->name, IPEX_DTYPE_u8, scale->rank, scale->dims,
                               ipex_arena_array(&graph->arena, count, 1));
}

/* Zero points that are there are constants of the numbers' type, as many as there are scales. */
static bool is_like(const struct ipex_value *zero, const struct ipex_value *q,
                    const struct ipex_value *scale) {
    return !zero || (zero->constant && zero->dtype == q->dtype &&
                     ipex_value_numel(zero) == ipex_value_numel(scale));
}

/* Where parameters lie, as ipex_blocks_note says. False: not so. */
static bool place_parameters(struct ipex_blocks *b, const struct ipex_value *y,
                             const struct ipex_block_parameters *parameters) {
    const struct ipex_value *p = parameters->scale;
    const int64_t axis = parameters->axis, block = parameters->block, count = ipex_value_numel(p);
    if (axis < 0 || axis > 1 || block < 0)
        return false;
    b->axis = (int32_t)(block ? axis : 1 - axis);
    b->block = block ? block : y->dims[b->axis];
    if (block) {
        b->by[0] = p->rank == 2 ? p->dims[1] : 0;
        b->by[1] = 1;
        return p->rank == 2 && p->dims[1 - axis] == y->dims[1 - axis] &&
               p->dims[axis] == (y->dims[axis] - 1) / block + 1;
    }
    if (count == 1) /* of all numbers: blocks lie along whichever axis is asked for */
        b->axis = -1;
    else
        b->by[axis] = 1;
    return count == 1 || count == y->dims[axis];
}

void ipex_blocks_note(struct ipex_graph *graph, struct ipex_value *y, struct ipex_value *q,
                      const struct ipex_block_parameters *p, int32_t bits) {
    struct ipex_blocks b = {.stride = {y->dims[1], 1}, .bits = bits};
    if (y->rank != 2 || !q->constant || !p->scale->constant || !is_like(p->zero, q, p->scale) ||
        !place_parameters(&b, y, p))
        return;
    b.q = unsigned_numbers(graph, q, bits);
    b.scale = floats(graph, p->scale);
    if (p->zero)
        b.zero = unsigned_numbers(graph, p->zero, bits);
    else if (q->dtype != IPEX_DTYPE_i8) /* 0 */
        b.zero = zeros(graph, p->scale);
    struct ipex_blocks *note = ipex_arena_alloc(&graph->arena, sizeof *note);
    *note = b;
    y->blocks = note;
}

const struct ipex_blocks *ipex_blocks_turned(struct ipex_graph *graph,
                                             const struct ipex_blocks *blocks) {
    struct ipex_blocks *ret = ipex_arena_alloc(&graph->arena, sizeof *ret);
    *ret = *blocks;
    for (int i = 0; i < 2; i++) {
        ret->stride[i] = blocks->stride[1 - i];
        ret->by[i] = blocks->by[1 - i];
    }
    ret->axis = blocks->axis < 0 ? -1 : 1 - blocks->axis;
    return ret;
}

/* ---- rows ---- */

static struct ipex_block_row row_of(const struct ipex_value *weight, bool kn, int64_t n) {
    const struct ipex_blocks *b = weight->blocks;
    const int of_n = kn ? 1 : 0, of_k = 1 - of_n;
    const int64_t at = n * b->by[of_n];
    return (struct ipex_block_row){
        .numbers = b->q,
        .first = n * b->stride[of_n],
        .q_step = b->stride[of_k],
        .scale = ipex_constant_data(b->scale) + (size_t)at * sizeof(float),
        .zero = b->zero ? ipex_constant_data(b->zero) + at : NULL,
        .middle = ipex_blocks_middle(b),
        .step = b->by[of_k],
        .block = b->axis < 0 ? weight->dims[of_k] : b->block,
    };
}

struct ipex_block_row ipex_block_row_of(const struct ipex_fold *fold,
                                        const struct ipex_value *weight, bool kn, int64_t n) {
    for (int32_t i = 0; i < fold->parts; i++) {
        const struct ipex_fold_part *part = &fold->part[i];
        if (n < part->n)
            return row_of(part->weight, part->kn, n);
        n -= part->n;
    }
    return row_of(weight, kn, n);
}

bool ipex_block_scales_fit_bf16(const struct ipex_node *node, int64_t k) {
    for (int64_t n = 0; n < node->fold.n; n++) {
        const struct ipex_block_row row =
            ipex_block_row_of(&node->fold, node->input[1], node->weight_kn, n);
        for (int64_t i = 0; i < k; i += node->blocks->block) {
            const float scale = ipex_block_scaled(&node->fold, &row, n, i);
            uint32_t bits;
            memcpy(&bits, &scale, sizeof bits);
            if (bits & UINT16_MAX)
                return false;
        }
    }
    return true;
}

/* ---- layers ---- */

/* The blocks of a column of k numbers that blocks of `block` fall into, with their scale each: as
 * long as the format has them; 0: there are none. */
static int64_t fit_block(int64_t block, int64_t k) {
    const int64_t column = (k + IPEX_BLOCK_LEAST - 1) / IPEX_BLOCK_LEAST * IPEX_BLOCK_LEAST;
    if (block >= k) /* one scale to a column */
        return column < IPEX_BLOCK_MOST ? column : IPEX_BLOCK_MOST;
    if (block % IPEX_BLOCK_LEAST)
        return 0;
    int64_t fit = block < IPEX_BLOCK_MOST ? block : IPEX_BLOCK_MOST;
    while (block % fit)
        fit -= IPEX_BLOCK_LEAST;
    return fit;
}

static enum ipex_reason check_weight(const struct ipex_graph *graph, const struct ipex_value *w,
                                     bool kn, struct ipex_block_layer *ret) {
    const struct ipex_blocks *b = w->blocks;
    const int32_t of_k = kn ? 0 : 1;
    const int64_t k = w->dims[of_k];
    if (!b)
        return IPEX_REASON_blocks_differ;
    if (b->wanting != IPEX_REASON_applied)
        return b->wanting;
    if (b->axis >= 0 && b->axis != of_k)
        return IPEX_REASON_blocks_of_outputs;
    *ret = (struct ipex_block_layer){
        .block = fit_block(b->axis < 0 ? k : b->block, k),
        .bits = ipex_blocks_bits(b),
        .bytes = graph->activations == IPEX_ACTIVATIONS_as_stated
                     ? b->bytes
                     : graph->activations == IPEX_ACTIVATIONS_i8,
    };
    return ret->block ? IPEX_REASON_applied : IPEX_REASON_block_size;
}

static bool is_alike(const struct ipex_block_layer *a, const struct ipex_block_layer *b) {
    return a->block == b->block && a->bits == b->bits && a->bytes == b->bytes;
}

enum ipex_reason ipex_blocks_of_layer(const struct ipex_graph *graph, const struct ipex_node *node,
                                      struct ipex_block_layer *ret) {
    const struct ipex_fold *fold = &node->fold;
    enum ipex_reason reason = check_weight(graph, node->input[1], node->weight_kn, ret);
    for (int32_t i = 1; i < fold->parts && reason == IPEX_REASON_applied; i++) {
        struct ipex_block_layer other;
        reason = check_weight(graph, fold->part[i].weight, fold->part[i].kn, &other);
        if (reason == IPEX_REASON_applied && !is_alike(ret, &other))
            reason = IPEX_REASON_blocks_differ;
    }
    if (reason == IPEX_REASON_applied && node->left_on_floats && ret->bits == 8)
        return IPEX_REASON_quantised_input;
    return reason == IPEX_REASON_applied && fold->k_order ? IPEX_REASON_layout_differs : reason;
}

bool ipex_keeps_blocks(const struct ipex_graph *graph, const struct ipex_node *node) {
    struct ipex_block_layer layer;
    return node->kind == IPEX_KIND_linear && !node->integer &&
           ipex_blocks_of_layer(graph, node, &layer) == IPEX_REASON_applied;
}

bool ipex_blocks_alike(const struct ipex_graph *graph, const struct ipex_node *a,
                       const struct ipex_node *b) {
    struct ipex_block_layer first, second;
    const bool keeps[2] = {ipex_blocks_of_layer(graph, a, &first) == IPEX_REASON_applied,
                           ipex_blocks_of_layer(graph, b, &second) == IPEX_REASON_applied};
    return keeps[0] == keeps[1] && (!keeps[0] || is_alike(&first, &second));
}
