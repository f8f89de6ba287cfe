/* SPDX-License-Identifier: Apache-2.0 */
/* Masks of attention: values added to the scores, and choices between a score and a number so far
 * below all scores that adding it says the same. A constant mask that is causal becomes an
 * attribute, and an axis that scores have only while masks are added is left out. */
#include "tools/convert/attention_match.h"

#include <math.h>
#include <string.h>

/* score + FAR_BELOW is FAR_BELOW after rounding for every score below 1e22 in magnitude. */
#define FAR_BELOW (-1e30)

static bool is_plan(const struct ipex_node *node, enum ipex_op op) {
    return node && node->kind == IPEX_KIND_plan && node->u.plan.op == op;
}

static bool is_scalar(const struct ipex_value *value) {
    return value->constant && value->dtype == IPEX_DTYPE_f32 && ipex_value_numel(value) == 1;
}

struct ipex_value *ipex_attention_unmask(struct ipex_value *value, int32_t side,
                                         struct ipex_attention_mask *ret) {
    struct ipex_value *part[2];
    const struct ipex_node *node = ipex_match_step(value, IPEX_STEP_add);
    if (node && ipex_match_operands(node, &part[0], &part[1])) {
        *ret = (struct ipex_attention_mask){.value = part[!side]};
        return part[!side]->rank <= value->rank && ipex_same_shape(part[side], value) ? part[side]
                                                                                      : NULL;
    }
    node = value->producer;
    if (!is_plan(node, IPEX_OP_where) || !is_scalar(node->input[1 + !side]) ||
        !ipex_same_shape(node->input[1 + side], value))
        return NULL;
    const double masked = ipex_constant_f64(node->input[1 + !side], 0);
    if (!(masked <= FAR_BELOW))
        return NULL;
    *ret = (struct ipex_attention_mask){
        .value = node->input[0], .chooses = true, .where = side == 1, .masked = (float)masked};
    return node->input[1 + side];
}

static struct ipex_node *elementwise(struct ipex_graph *graph, enum ipex_op op, const char *name,
                                     struct ipex_node *before) {
    struct ipex_node *node = ipex_graph_node(graph, IPEX_KIND_plan, name, "Where", before);
    node->u.plan = (struct ipex_plan_op){.op = op, .policy = IPEX_ORDER_elementwise};
    return node;
}

static struct ipex_value *number(struct ipex_graph *graph, float value) {
    float *data = ipex_arena_alloc(&graph->arena, sizeof *data);
    *data = value;
    return ipex_graph_constant(graph, "number", IPEX_DTYPE_f32, 0, NULL, data);
}

static struct ipex_value *constant_choice(struct ipex_graph *graph,
                                          const struct ipex_attention_mask *step) {
    const int64_t count = ipex_value_numel(step->value);
    float *data = ipex_arena_array(&graph->arena, (size_t)count, sizeof *data);
    for (int64_t i = 0; i < count; i++)
        data[i] = (ipex_constant_i64(step->value, i) != 0) == step->where ? step->masked : 0;
    return ipex_graph_constant(graph, step->value->name, IPEX_DTYPE_f32, step->value->rank,
                               step->value->dims, data);
}

/* The same choice made for an attention before. */
static struct ipex_value *earlier_choice(const struct ipex_attention_mask *step,
                                         struct ipex_node *before) {
    for (struct ipex_node *node = before; node; node = node->prev)
        if (is_plan(node, IPEX_OP_where) && node->input[0] == step->value &&
            is_scalar(node->input[1]) && is_scalar(node->input[2]) &&
            ipex_constant_f64(node->input[step->where ? 1 : 2], 0) == (double)step->masked &&
            ipex_constant_f64(node->input[step->where ? 2 : 1], 0) == 0)
            return node->output;
    return NULL;
}

static struct ipex_value *choice(struct ipex_graph *graph, const struct ipex_attention_mask *step,
                                 struct ipex_node *before) {
    if (step->value->constant)
        return constant_choice(graph, step);
    struct ipex_value *value = earlier_choice(step, before);
    if (value)
        return value;
    struct ipex_node *node = elementwise(graph, IPEX_OP_where, before->name, before);
    ipex_node_add_input(node, step->value);
    ipex_node_add_input(node, number(graph, step->where ? step->masked : 0));
    ipex_node_add_input(node, number(graph, step->where ? 0 : step->masked));
    value = ipex_graph_value(graph, step->value->name, IPEX_DTYPE_f32, step->value->rank,
                             step->value->dims);
    ipex_node_set_output(node, value);
    return value;
}

struct ipex_value *ipex_attention_combine(struct ipex_graph *graph, enum ipex_step op,
                                          struct ipex_value *a, struct ipex_value *b,
                                          struct ipex_node *before) {
    int64_t dims[IPEX_MAX_RANK];
    const int32_t rank = a->rank > b->rank ? a->rank : b->rank;
    for (int32_t i = 1; i <= rank; i++) {
        const int64_t x = i <= a->rank ? a->dims[a->rank - i] : 1,
                      y = i <= b->rank ? b->dims[b->rank - i] : 1;
        dims[rank - i] = x == 1 ? y : x;
    }
    struct ipex_node *node = ipex_graph_node(graph, IPEX_KIND_pointwise, before->name,
                                             op == IPEX_STEP_add ? "Add" : "Mul", before);
    node->u.program = ipex_arena_alloc(&graph->arena, sizeof *node->u.program);
    node->u.program->steps = 1;
    node->u.program->step[0].op = (int16_t)op;
    node->u.program->step[0].b = 1;
    ipex_node_add_input(node, a);
    ipex_node_add_input(node, b);
    ipex_node_set_output(node, ipex_graph_value(graph, a->name, IPEX_DTYPE_f32, rank, dims));
    return node->output;
}

/* The mask behind a scale that stands behind its step. */
static struct ipex_value *scaled(struct ipex_graph *graph, struct ipex_value *mask, float scale,
                                 struct ipex_node *before) {
    if (scale == 1)
        return mask;
    if (mask->constant) {
        const int64_t count = ipex_value_numel(mask);
        float *data = ipex_arena_array(&graph->arena, (size_t)count + 1, sizeof *data);
        for (int64_t i = 0; i < count; i++)
            data[i] = (float)ipex_constant_f64(mask, i) * scale;
        return ipex_graph_constant(graph, mask->name, IPEX_DTYPE_f32, mask->rank, mask->dims, data);
    }
    struct ipex_node *node =
        ipex_graph_node(graph, IPEX_KIND_pointwise, before->name, "Mul", before);
    node->u.program = ipex_arena_alloc(&graph->arena, sizeof *node->u.program);
    node->u.program->steps = node->u.program->constants = 1;
    node->u.program->step[0].op = IPEX_STEP_mul;
    node->u.program->step[0].b = -1;
    node->u.program->constant[0] = scale;
    ipex_node_add_input(node, mask);
    ipex_node_set_output(
        node, ipex_graph_value(graph, mask->name, IPEX_DTYPE_f32, mask->rank, mask->dims));
    return node->output;
}

/* 0 where j <= i + keys - queries, and far below everything elsewhere. */
static bool is_causal(const struct ipex_value *mask, const struct ipex_value *scores) {
    if (!mask->constant || mask->rank < 2)
        return false;
    const int64_t queries = scores->dims[scores->rank - 2], keys = scores->dims[scores->rank - 1];
    if (mask->dims[mask->rank - 2] != queries || mask->dims[mask->rank - 1] != keys ||
        ipex_value_numel(mask) != queries * keys || keys < queries)
        return false;
    for (int64_t i = 0; i < queries; i++)
        for (int64_t j = 0; j < keys; j++) {
            const double m = ipex_constant_f64(mask, i * keys + j);
            if (j <= i + keys - queries ? m != 0 : !(m <= FAR_BELOW))
                return false;
        }
    return true;
}

struct ipex_value *ipex_attention_mask(struct ipex_graph *graph,
                                       const struct ipex_attention_mask *step, int32_t steps,
                                       const struct ipex_value *scores, struct ipex_node *before,
                                       bool *ret_causal) {
    struct ipex_value *mask = NULL;
    *ret_causal = false;
    for (int32_t i = 0; i < steps; i++) {
        struct ipex_value *part = step[i].chooses ? choice(graph, &step[i], before) : step[i].value;
        part = scaled(graph, part, step[i].scale, before);
        if (is_causal(part, scores))
            *ret_causal = true;
        else
            mask = mask ? ipex_attention_combine(graph, IPEX_STEP_add, mask, part, before) : part;
    }
    return mask;
}

/* Some row of a constant mask is -inf throughout. */
static bool has_empty_row(const struct ipex_value *mask) {
    const int64_t keys = mask->rank ? mask->dims[mask->rank - 1] : 1,
                  count = ipex_value_numel(mask);
    for (int64_t row = 0; row < count; row += keys) {
        int64_t j = 0;
        while (j < keys && isinf(ipex_constant_f64(mask, row + j)))
            j++;
        if (j == keys)
            return true;
    }
    return false;
}

struct ipex_value *ipex_attention_zero_rows(struct ipex_graph *graph, struct ipex_value *mask,
                                            struct ipex_value *y, struct ipex_node *before) {
    int64_t dims[IPEX_MAX_RANK];
    if (!mask || (mask->constant && !has_empty_row(mask)) || mask->rank == 0)
        return y;
    struct ipex_node *most =
        ipex_graph_node(graph, IPEX_KIND_reduce, before->name, "ReduceMax", before);
    most->u.reduce.kind = IPEX_REDUCE_max;
    most->u.reduce.axes = UINT32_C(1) << (mask->rank - 1);
    memcpy(dims, mask->dims, sizeof dims);
    dims[mask->rank - 1] = 1;
    ipex_node_add_input(most, mask);
    ipex_node_set_output(most,
                         ipex_graph_value(graph, mask->name, IPEX_DTYPE_f32, mask->rank, dims));
    struct ipex_node *empty = elementwise(graph, IPEX_OP_compare, before->name, before);
    empty->u.plan.ints = 1;
    empty->u.plan.int_[0] = IPEX_COMPARE_equal;
    ipex_node_add_input(empty, most->output);
    ipex_node_add_input(empty, number(graph, -INFINITY));
    ipex_node_set_output(empty,
                         ipex_graph_value(graph, mask->name, IPEX_DTYPE_bool, mask->rank, dims));
    struct ipex_node *choose = elementwise(graph, IPEX_OP_where, before->name, before);
    ipex_node_add_input(choose, empty->output);
    ipex_node_add_input(choose, number(graph, 0));
    ipex_node_add_input(choose, y);
    ipex_node_set_output(choose,
                         ipex_graph_value(graph, y->name, IPEX_DTYPE_f32, y->rank, y->dims));
    return choose->output;
}

/* ---- windows ---- */

/* The dims of `with` are 1, then those of x. */
static bool adds_axis(const struct ipex_value *with, const struct ipex_value *x) {
    return with->rank == x->rank + 1 && with->dims[0] == 1 &&
           !memcmp(with->dims + 1, x->dims, (size_t)x->rank * sizeof *x->dims);
}

/* A value of one reader, [1, dims], that is scores of these dims, to which masks were added after
 * they got the leading axis: the same without it. Else NULL, and nothing is changed. */
static struct ipex_value *add_without_axis(struct ipex_graph *graph, struct ipex_value *value) {
    struct ipex_value *part[2];
    const int32_t rank = value->rank - 1;
    const struct ipex_node *apart = value->producer;
    if (!ipex_value_only_reader(graph, value))
        return NULL;
    if (apart && apart->kind == IPEX_KIND_reshape && adds_axis(value, apart->input[0]))
        return apart->input[0];
    struct ipex_node *add = ipex_match_step(value, IPEX_STEP_add);
    if (!add || !ipex_match_operands(add, &part[0], &part[1]))
        return NULL;
    for (int32_t side = 0; side < 2; side++) {
        struct ipex_value *mask = part[!side];
        struct ipex_value *scores = part[side] != mask && ipex_same_shape(part[side], value)
                                        ? add_without_axis(graph, part[side])
                                        : NULL;
        if (!scores)
            continue;
        if (mask->rank > rank)
            mask = ipex_graph_reshaped(graph, mask, rank, mask->dims + 1, add);
        for (int32_t i = 0; i < 2; i++)
            ipex_node_set_input(add, i, add->input[i] == part[side] ? scores : mask);
        ipex_node_set_output(
            add, ipex_graph_value(graph, value->name, value->dtype, rank, value->dims + 1));
        return add->output;
    }
    return NULL;
}

void ipex_attention_drop_axis(struct ipex_graph *graph, const struct ipex_node *softmax) {
    struct ipex_value *scores = softmax->input[0];
    const struct ipex_node *back = scores->producer;
    if (!back || back->kind != IPEX_KIND_reshape || !adds_axis(back->input[0], scores) ||
        !ipex_match_step(back->input[0], IPEX_STEP_add))
        return;
    struct ipex_value *same = add_without_axis(graph, back->input[0]);
    if (!same)
        return;
    ipex_graph_replace(graph, scores, same);
    ipex_graph_prune(graph);
}
