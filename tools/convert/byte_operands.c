/* SPDX-License-Identifier: Apache-2.0 */
/* What operands of layers and products stand for where they are integers of 8 bits, and their
 * bytes. */
#include "tools/convert/byte_operands.h"

#include <math.h>

double ipex_quantised_parameter(const struct ipex_dequantised *d, const struct ipex_value *p,
                                int64_t i, double otherwise) {
    if (!p)
        return otherwise;
    const int64_t n = ipex_value_numel(p);
    return ipex_constant_f64(p, n == 1 ? 0 : i / d->inner % n);
}

bool ipex_is_of_bytes(const struct ipex_dequantised *d) {
    return d && d->whole && d->whole->producer && d->low >= -IPEX_BYTE_SIGN && d->high <= 255 &&
           (d->low >= 0 || d->high < IPEX_BYTE_SIGN);
}

bool ipex_zero_moves(const struct ipex_dequantised *d) {
    return d->zero && !d->zero->constant;
}

double ipex_zero_byte(const struct ipex_dequantised *d) {
    return ipex_zero_moves(d)
               ? 0
               : ipex_quantised_parameter(d, d->zero, 0, 0) + (d->low < 0 ? IPEX_BYTE_SIGN : 0);
}

/* One zero point, which is a byte without a sign. */
static bool has_byte_for_zero(const struct ipex_dequantised *d) {
    const double zero = ipex_zero_byte(d);
    return ipex_zero_moves(d)
               ? d->low == 0
               : ipex_is_one_number(d->zero) && zero >= 0 && zero <= 255 && zero == rint(zero);
}

static bool is_move(const struct ipex_node *node) {
    return node && (node->kind == IPEX_KIND_reshape || node->kind == IPEX_KIND_slice ||
                    node->kind == IPEX_KIND_transpose);
}

/* What is known of x, or of what it is moved from. */
static const struct ipex_dequantised *integers_of(const struct ipex_value *x) {
    while (!x->dequantised && is_move(x->producer))
        x = x->producer->input[0];
    return x->dequantised;
}

bool ipex_is_quantised(const struct ipex_value *x) {
    return integers_of(x);
}

const struct ipex_dequantised *ipex_quantised_operand(const struct ipex_value *x) {
    const struct ipex_dequantised *d = integers_of(x);
    return ipex_is_of_bytes(d) && ipex_is_one_number(d->scale) && has_byte_for_zero(d) ? d : NULL;
}

struct ipex_value *ipex_one_step(struct ipex_graph *graph, const struct ipex_node *site,
                                 struct ipex_node *before, enum ipex_step op, struct ipex_value *a,
                                 struct ipex_value *b, float number, struct ipex_value *y) {
    struct ipex_node *node =
        ipex_graph_node(graph, IPEX_KIND_pointwise, site->name, site->source_op, before);
    struct ipex_program *program = ipex_arena_alloc(&graph->arena, sizeof *program);
    *program = (struct ipex_program){.steps = 1, .constants = !b, .constant = {number}};
    program->step[0].op = (int16_t)op;
    program->step[0].b = b ? 1 : -1;
    node->u.program = program;
    ipex_node_add_input(node, a);
    if (b)
        ipex_node_add_input(node, b);
    ipex_node_set_output(node, y);
    return y;
}

struct ipex_value *ipex_floats_like(struct ipex_graph *graph, const struct ipex_value *x) {
    return ipex_graph_value(graph, x->name, IPEX_DTYPE_f32, x->rank, x->dims);
}

static struct ipex_value *plus_number(struct ipex_graph *graph, struct ipex_value *x, float number,
                                      struct ipex_node *before) {
    return ipex_one_step(graph, before, before, IPEX_STEP_add, x, NULL, number,
                         ipex_floats_like(graph, x));
}

/* What else reads x reads y - IPEX_BYTE_SIGN instead, each a node of its own, which can be part of
 * it. */
static void reroute(struct ipex_graph *graph, struct ipex_value *x, struct ipex_value *y) {
    for (struct ipex_node *node = y->producer->next; node; node = node->next)
        for (int32_t i = 0; node->kind != IPEX_KIND_concat && i < node->inputs; i++)
            if (node->input[i] == x) {
                struct ipex_value *again = plus_number(graph, y, -IPEX_BYTE_SIGN, node);
                again->dequantised = x->dequantised; /* where x has neither scale nor zero point */
                ipex_node_set_input(node, i, again);
            }
}

struct ipex_value *ipex_bytes_of(struct ipex_graph *graph, const struct ipex_dequantised *d) {
    struct ipex_value *x = d->whole;
    if (d->low < 0 && !x->unsigned_) {
        struct ipex_node *before = x->producer ? x->producer->next : graph->first;
        x->unsigned_ = plus_number(graph, x, IPEX_BYTE_SIGN, before);
        reroute(graph, x, x->unsigned_);
    }
    x = d->low < 0 ? x->unsigned_ : x;
    x->is_byte = true;
    return x;
}

struct ipex_value *ipex_bytes_moved_alike(struct ipex_graph *graph, const struct ipex_value *x,
                                          struct ipex_value *q, struct ipex_node *before) {
    if (x->dequantised)
        return q;
    const struct ipex_node *move = x->producer;
    q = ipex_bytes_moved_alike(graph, move->input[0], q, before);
    if (move->kind == IPEX_KIND_reshape) {
        q = ipex_graph_reshaped(graph, q, x->rank, x->dims, before);
    } else {
        struct ipex_node *alike =
            ipex_graph_node(graph, move->kind, move->name, move->source_op, before);
        alike->u = move->u;
        ipex_node_add_input(alike, q);
        q = ipex_graph_value(graph, q->name, IPEX_DTYPE_f32, x->rank, x->dims);
        ipex_node_set_output(alike, q);
    }
    q->is_byte = true;
    return q;
}
