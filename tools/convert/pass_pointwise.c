/* SPDX-License-Identifier: Apache-2.0 */
/* Joins chains of elementwise nodes into one program, so that the values in between never touch
 * memory. */
#include "tools/convert/passes.h"

#include <string.h>

static enum ipex_reason try_join(struct ipex_graph *graph, struct ipex_node *node, int32_t i) {
    struct ipex_value *x = node->input[i];
    if (!ipex_value_only_reader(graph, x))
        return IPEX_REASON_two_consumers;
    if (x->rank != node->output->rank ||
        memcmp(x->dims, node->output->dims, (size_t)x->rank * sizeof *x->dims))
        return IPEX_REASON_broadcast;
    return ipex_program_join(graph, node, i) ? IPEX_REASON_applied : IPEX_REASON_program_full;
}

void ipex_pass_pointwise(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        if (node->kind != IPEX_KIND_pointwise)
            continue;
        ipex_program_absorb_scalars(node);
        for (int32_t i = 0; i < node->inputs; i++) {
            struct ipex_node *producer = node->input[i]->producer;
            if (!producer || producer->kind != IPEX_KIND_pointwise)
                continue;
            const char *site = ipex_graph_join(graph, producer->name, node->name);
            enum ipex_reason reason = try_join(graph, node, i);
            ipex_ledger_add(graph->ledger, "pointwise", site, reason,
                            reason == IPEX_REASON_applied ? "joined into one pass over memory"
                                                          : NULL);
            if (reason == IPEX_REASON_applied)
                i = -1; /* the operands are numbered anew */
        }
    }
}
