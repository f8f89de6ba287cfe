/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two values that are computed at run time and quantised, as those of attention's
 * queries and keys, and of its weights and values: the integers are multiplied, and their exact sum
 * is scaled once. What such a product gives is rounded to bytes where it is stored, as of layers:
 * pass_requantise.c. */
#include "tools/convert/byte_operands.h"

#include <string.h>

static bool is_product(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_plan && node->u.plan.op == IPEX_OP_matmul;
}

/* q, whose last two axes may have been exchanged: without that, where ret_exchanged says so. */
static struct ipex_value *without_exchange(struct ipex_graph *graph, struct ipex_value *q,
                                           struct ipex_node *before, bool *ret_exchanged) {
    const struct ipex_node *move = q->producer;
    const int32_t last = q->rank - 1;
    int32_t perm[IPEX_MAX_RANK];
    *ret_exchanged = move && move->kind == IPEX_KIND_transpose && move->u.perm[last] != last;
    if (!*ret_exchanged)
        return q;
    memcpy(perm, move->u.perm, sizeof perm);
    perm[last] = move->u.perm[last - 1];
    perm[last - 1] = move->u.perm[last];
    q = ipex_graph_transposed(graph, move->input[0], perm, before);
    q->is_byte = true;
    return q;
}

static enum ipex_reason check(const struct ipex_graph *graph, const struct ipex_node *node,
                              const struct ipex_dequantised *const d[2]) {
    const struct ipex_value *a = node->input[0];
    for (int32_t i = 0; i < 2; i++)
        if (!d[i] || ipex_zero_moves(d[i]))
            return IPEX_REASON_operands_differ;
    return ipex_dim_at(&graph->dims, a->dims[a->rank - 1], IPEX_DIM_HIGHEST) <=
                   IPEX_INTEGER_MATMUL_MOST_K
               ? IPEX_REASON_applied
               : IPEX_REASON_many_products;
}

static void take(struct ipex_graph *graph, struct ipex_node *node,
                 const struct ipex_dequantised *const d[2]) {
    struct ipex_plan_op *plan = &node->u.plan;
    double *scale = ipex_arena_alloc(&graph->arena, sizeof *scale);
    double *bias = ipex_arena_alloc(&graph->arena, sizeof *bias);
    struct ipex_value *q[2];
    bool exchanged;
    *scale = (double)plan->float_[IPEX_MATMUL_SCALE];
    *bias = 0;
    for (int32_t i = 0; i < 2; i++) {
        *scale *= ipex_quantised_parameter(d[i], d[i]->scale, 0, 1);
        q[i] = ipex_bytes_moved_alike(graph, node->input[i], ipex_bytes_of(graph, d[i]), node);
        plan->int_[IPEX_MATMUL_A_ZERO + i] = (int64_t)ipex_zero_byte(d[i]);
    }
    q[1] = without_exchange(graph, q[1], node, &exchanged);
    plan->int_[IPEX_MATMUL_TRANS_B] = exchanged;
    for (int32_t i = 0; i < 2; i++)
        ipex_node_set_input(node, i, q[i]);
    node->fold = (struct ipex_fold){.n = 1, .scale = scale, .bias = bias};
    node->integer = ipex_arena_alloc(&graph->arena, sizeof *node->integer);
    *node->integer = (struct ipex_integer_layer){.r_scale = 1};
}

void ipex_pass_byte_products(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        if (!is_product(node))
            continue;
        const struct ipex_dequantised *const d[2] = {ipex_quantised_operand(node->input[0]),
                                                     ipex_quantised_operand(node->input[1])};
        if (!d[0] && !d[1])
            continue;
        const enum ipex_reason reason = check(graph, node, d);
        if (reason == IPEX_REASON_applied)
            take(graph, node, d);
        ipex_ledger_add(graph->ledger, "byte_products", node->name, reason,
                        reason == IPEX_REASON_applied ? "multiplies bytes, summed exactly" : NULL);
    }
}
