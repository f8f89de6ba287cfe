/* SPDX-License-Identifier: Apache-2.0 */
/* The dtype policy, the same for every device. Products with a constant take bf16: with --weights
 * bf16 their weight is stored in it, with --dtype bf16 their input is rounded to it too, by a cast
 * before the node. Sums, norms, softmax, functions and everything between nodes stay in f32. */
#include "tools/convert/lower.h"

/* A node that multiplies by a weight, or by an activation: its verdict is in the ledger. */
static bool is_product(const struct ipex_node *node) {
    if (node->kind == IPEX_KIND_plan)
        return node->u.plan.op == IPEX_OP_matmul || node->u.plan.op == IPEX_OP_attention ||
               node->u.plan.op == IPEX_OP_lstm || node->u.plan.op == IPEX_OP_gru;
    return node->kind == IPEX_KIND_conv || node->kind == IPEX_KIND_linear;
}

/* linear and conv have bf16 kernels; their products are long enough to gain from them. */
static bool has_kernel(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_linear ||
           (node->kind == IPEX_KIND_conv && !node->u.conv.transposed && !node->u.conv.winograd &&
            !ipex_node_is_depthwise(node));
}

bool ipex_weight_is_bf16(const struct ipex_graph *graph, const struct ipex_node *node) {
    return graph->precision != IPEX_PRECISION_f32 && has_kernel(node);
}

bool ipex_reads_bf16(const struct ipex_graph *graph, const struct ipex_node *node) {
    return graph->precision == IPEX_PRECISION_bf16 && has_kernel(node);
}

void ipex_dtype_report(struct ipex_graph *graph) {
    if (graph->precision == IPEX_PRECISION_f32)
        return;
    for (const struct ipex_node *node = graph->first; node; node = node->next)
        if (is_product(node))
            ipex_ledger_add(graph->ledger, "dtype", node->name,
                            has_kernel(node) ? IPEX_REASON_applied : IPEX_REASON_no_bf16_kernel,
                            !has_kernel(node)              ? NULL
                            : ipex_reads_bf16(graph, node) ? "bf16 operands, summed in f32"
                                                           : "bf16 weights, f32 arithmetic");
}
