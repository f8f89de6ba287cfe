/* SPDX-License-Identifier: Apache-2.0 */
/* What a layer on integers (pass_integer.c) gives and is then quantised, to be read as bytes, is
 * rounded as it is stored. */
#include "tools/convert/quantisation.h"

#include <math.h>

bool ipex_quantisation_step(struct ipex_quantisation *q, int16_t op, double number) {
    const bool cut = q->cut_low || q->cut_high;
    switch (op) {
    case IPEX_STEP_mul:
    case IPEX_STEP_div:
        if (q->rounded || q->zero != 0)
            return false;
        q->scale = op == IPEX_STEP_mul ? q->scale * number : q->scale / number;
        return true;
    case IPEX_STEP_round:
        if (q->rounded || cut || fmod(q->zero, 2) != 0)
            return false;
        q->rounded = true;
        return true;
    case IPEX_STEP_add:
        if (cut && !(q->cut_low && q->cut_high))
            return false;
        q->zero += number;
        q->low += number;
        q->high += number;
        return true;
    case IPEX_STEP_max:
        if (!q->rounded || cut)
            return false;
        q->cut_low = true;
        q->low = number;
        return true;
    case IPEX_STEP_min:
        if (!q->cut_low || q->cut_high)
            return false;
        q->cut_high = true;
        q->high = number;
        return true;
    default:
        return false;
    }
}

bool ipex_quantisation_is_bytes(const struct ipex_quantisation *q) {
    return q->cut_high && q->low == 0 && q->high == 255 && q->zero == rint(q->zero) &&
           isnormal((float)q->scale);
}

/* The node as x op number; false where it is anything else. */
static bool is_step(struct ipex_node *node, const struct ipex_value *x, int16_t *ret_op,
                    double *ret_number) {
    if (node->kind != IPEX_KIND_pointwise)
        return false;
    ipex_program_absorb_scalars(node);
    const struct ipex_program *p = node->u.program;
    if (node->inputs != 1 || p->steps != 1 || node->input[0] != x)
        return false;
    const int16_t op = p->step[0].op, a = p->step[0].a, b = p->step[0].b;
    const bool unary = a == 0 && b == 0, right = a == 0 && b < 0;
    const bool left = a < 0 && b == 0 && (op == IPEX_STEP_add || op == IPEX_STEP_mul);
    if (op == IPEX_STEP_round ? !unary : !right && !left)
        return false;
    *ret_op = op;
    *ret_number = op == IPEX_STEP_round ? 0 : (double)p->constant[-1 - (right ? b : a)];
    return true;
}

/* The bytes that a layer's result becomes by nodes that nobody else reads; NULL: none. */
static struct ipex_value *find_bytes(const struct ipex_graph *graph, const struct ipex_node *node,
                                     struct ipex_quantisation *q) {
    struct ipex_value *x = node->output;
    *q = (struct ipex_quantisation){.scale = 1};
    for (;;) {
        int16_t op;
        double number;
        struct ipex_node *reader = ipex_value_only_reader(graph, x);
        if (!reader || !is_step(reader, x, &op, &number) || !ipex_quantisation_step(q, op, number))
            return NULL;
        x = reader->output;
        if (x->is_byte)
            return ipex_quantisation_is_bytes(q) ? x : NULL;
    }
}

/* The node gives the bytes; what made them of its result is gone. */
static void take_over(struct ipex_graph *graph, struct ipex_node *node, struct ipex_value *bytes) {
    while (node->output != bytes) {
        struct ipex_node *step = ipex_value_only_reader(graph, node->output);
        struct ipex_value *y = step->output;
        node->name = ipex_graph_join(graph, node->name, step->name);
        ipex_graph_remove(graph, step);
        ipex_node_set_output(node, y);
    }
}

static void requantise(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_quantisation q;
    struct ipex_value *bytes = find_bytes(graph, node, &q);
    ipex_ledger_add(graph->ledger, "requantise", node->name,
                    bytes ? IPEX_REASON_applied : IPEX_REASON_no_bytes_behind,
                    bytes ? "rounded to bytes where it is stored" : NULL);
    if (!bytes)
        return;
    take_over(graph, node, bytes);
    node->integer->requantised = true;
    node->integer->y_scale = q.scale;
    node->integer->y_zero = (float)q.zero;
}

void ipex_pass_requantise(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->integer)
            requantise(graph, node);
}
