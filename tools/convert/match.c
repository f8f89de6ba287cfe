/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about single nodes, for the passes that recognise operators by their spelling. */
#include "tools/convert/match.h"

#include <string.h>

struct ipex_node *ipex_match_step(const struct ipex_value *value, enum ipex_step op) {
    struct ipex_node *node = value->producer;
    return node && node->kind == IPEX_KIND_pointwise && node->u.program->steps == 1 &&
                   node->u.program->step[0].op == (int16_t)op
               ? node
               : NULL;
}

bool ipex_match_scalar(const struct ipex_value *value, enum ipex_step op, struct ipex_value **ret_x,
                       float *ret_c) {
    const struct ipex_node *node = ipex_match_step(value, op);
    if (!node)
        return false;
    const struct ipex_program *p = node->u.program;
    int16_t a = p->step[0].a, b = p->step[0].b;
    if (a < 0 && b >= 0 && (op == IPEX_STEP_add || op == IPEX_STEP_mul)) {
        int16_t swap = a;
        a = b;
        b = swap;
    }
    if (a < 0 || b >= 0)
        return false;
    *ret_x = node->input[a];
    *ret_c = p->constant[-1 - b];
    return true;
}

bool ipex_match_operands(const struct ipex_node *node, struct ipex_value **ret_a,
                         struct ipex_value **ret_b) {
    int16_t a = node->u.program->step[0].a, b = node->u.program->step[0].b;
    if (a < 0 || b < 0)
        return false;
    *ret_a = node->input[a];
    *ret_b = node->input[b];
    return true;
}

bool ipex_match_square(const struct ipex_value *value, struct ipex_value **ret_x) {
    struct ipex_value *a, *b;
    float exponent;
    if (ipex_match_scalar(value, IPEX_STEP_pow, &a, &exponent) && exponent == 2) {
        *ret_x = a;
        return true;
    }
    const struct ipex_node *node = ipex_match_step(value, IPEX_STEP_mul);
    if (!node || !ipex_match_operands(node, &a, &b) || a != b)
        return false;
    *ret_x = a;
    return true;
}

bool ipex_match_vector(const struct ipex_value *constant, int32_t rank, int32_t axis, int64_t n) {
    if (!constant->constant || constant->dtype != IPEX_DTYPE_f32 || constant->rank > rank ||
        ipex_value_numel(constant) != n)
        return false;
    int32_t at = axis - (rank - constant->rank);
    return n == 1 || (at >= 0 && constant->dims[at] == n);
}

struct ipex_node *ipex_match_vector_reader(const struct ipex_graph *graph,
                                           const struct ipex_value *value, enum ipex_step op,
                                           int32_t axis, struct ipex_value **ret_vector) {
    struct ipex_node *node = ipex_value_only_reader(graph, value);
    struct ipex_value *a, *b;
    if (!node || node->kind != IPEX_KIND_pointwise || ipex_match_step(node->output, op) != node ||
        !ipex_match_operands(node, &a, &b) || !ipex_same_shape(node->output, value))
        return NULL;
    struct ipex_value *vector = a == value ? b : a;
    if (!ipex_match_vector(vector, value->rank, axis, value->dims[axis]))
        return NULL;
    *ret_vector = vector;
    return node;
}

static bool same_steps(const struct ipex_program *a, const struct ipex_program *b) {
    return a->steps == b->steps && a->constants == b->constants &&
           !memcmp(a->step, b->step, (size_t)a->steps * sizeof *a->step) &&
           !memcmp(a->constant, b->constant, (size_t)a->constants * sizeof *a->constant);
}

/* Both nodes do the same with their operands. */
static bool same_work(const struct ipex_node *a, const struct ipex_node *b) {
    if (!a || !b || a->kind != b->kind || a->inputs != b->inputs)
        return false;
    if (a->kind == IPEX_KIND_pointwise)
        return same_steps(a->u.program, b->u.program);
    return a->kind == IPEX_KIND_reduce && a->u.reduce.kind == b->u.reduce.kind &&
           a->u.reduce.axes == b->u.reduce.axes;
}

static bool same_to_depth(const struct ipex_value *a, const struct ipex_value *b, int depth) {
    if (a == b)
        return true;
    if (!depth || !same_work(a->producer, b->producer))
        return false;
    for (int32_t i = 0; i < a->producer->inputs; i++)
        if (!same_to_depth(a->producer->input[i], b->producer->input[i], depth - 1))
            return false;
    return true;
}

bool ipex_match_same(const struct ipex_value *a, const struct ipex_value *b) {
    return same_to_depth(a, b, 3);
}

bool ipex_same_shape(const struct ipex_value *a, const struct ipex_value *b) {
    return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

struct ipex_value *ipex_before_reshapes(struct ipex_value *x) {
    while (x->producer && x->producer->kind == IPEX_KIND_reshape)
        x = x->producer->input[0];
    return x;
}

bool ipex_match_image_mean(const struct ipex_node *node) {
    const struct ipex_value *x = node->input[0];
    const struct ipex_pool *pool = &node->u.pool;
    if (node->kind == IPEX_KIND_reduce) /* a pool over an image whose size changes */
        return node->u.reduce.kind == IPEX_REDUCE_mean && x->rank == 4 &&
               node->u.reduce.axes == (1u << 2 | 1u << 3);
    if (node->kind != IPEX_KIND_pool || pool->max)
        return false;
    for (int i = 0; i < 2; i++)
        if (pool->kernel[i] != x->dims[2 + i] || pool->pad[i] != 0 || pool->pad[2 + i] != 0)
            return false;
    return true;
}

bool ipex_match_byte_mean(const struct ipex_graph *graph, const struct ipex_node *node) {
    if (node->kind != IPEX_KIND_reduce || node->u.reduce.kind != IPEX_REDUCE_mean)
        return false;
    const struct ipex_value *x = node->input[0];
    const uint32_t axes = node->u.reduce.axes;
    double elements = 1;
    for (int32_t d = 0; d < x->rank; d++)
        if ((axes >> d & 1) != 0)
            elements *= (double)ipex_dim_at(&graph->dims, x->dims[d], IPEX_DIM_HIGHEST);
    return (ipex_match_image_mean(node) || (x->rank == 3 && axes == 1u << 1)) &&
           elements <= IPEX_INTEGER_MOST_K;
}
