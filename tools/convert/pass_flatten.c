/* SPDX-License-Identifier: Apache-2.0 */
/* Flatten(image) -> linear: the image lies channels-last in memory, the linear layer's weight
 * expects channels-first. Reordering the weight's columns once, here, saves a transpose in every
 * run; but numbers in blocks would become floats. */
#include "tools/convert/passes.h"
#include "tools/convert/weight_blocks.h"

/* The value is computed channels-last: a chain of pointwise nodes down to a convolution or a pool.
 */
static bool is_channels_last(const struct ipex_value *value) {
    while (value->producer && value->producer->kind == IPEX_KIND_pointwise)
        value = value->producer->input[0];
    return value->producer &&
           (value->producer->kind == IPEX_KIND_conv || value->producer->kind == IPEX_KIND_pool);
}

static bool is_flatten(const struct ipex_node *node) {
    const struct ipex_value *x = node->input[0], *y = node->output;
    return node->kind == IPEX_KIND_reshape && x->rank == 4 && y->rank == 2 &&
           x->dims[0] == y->dims[0] && x->dims[1] > 1 && x->dims[2] * x->dims[3] > 1 &&
           is_channels_last(x);
}

static enum ipex_reason check(const struct ipex_graph *graph, const struct ipex_node *node) {
    if (node->output->is_output)
        return IPEX_REASON_port;
    for (struct ipex_node *reader = node->next; reader; reader = reader->next)
        for (int32_t i = 0; i < reader->inputs; i++)
            if (ipex_node_operands(reader)[i] == node->output) {
                if (reader->kind != IPEX_KIND_linear || i != 0)
                    return IPEX_REASON_not_adjacent;
                if (reader->input[1]->uses > 1)
                    return IPEX_REASON_shared_weight;
                if (ipex_keeps_blocks(graph, reader))
                    return IPEX_REASON_keeps_blocks;
            }
    return IPEX_REASON_applied;
}

static void apply(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_value *x = node->input[0];
    int64_t channels = x->dims[1], pixels = x->dims[2] * x->dims[3];
    int64_t *order = ipex_arena_array(&graph->arena, (size_t)(channels * pixels), sizeof *order);
    for (int64_t p = 0; p < pixels; p++)
        for (int64_t c = 0; c < channels; c++)
            order[p * channels + c] = c * pixels + p;
    static const int32_t perm[4] = {0, 2, 3, 1};
    ipex_node_set_input(node, 0, ipex_graph_transposed(graph, x, perm, node));
    for (struct ipex_node *reader = node->next; reader; reader = reader->next)
        if (reader->kind == IPEX_KIND_linear && reader->input[0] == node->output)
            reader->fold.k_order = order;
}

void ipex_pass_flatten(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        if (!is_flatten(node))
            continue;
        enum ipex_reason reason = check(graph, node);
        if (reason == IPEX_REASON_applied)
            apply(graph, node);
        ipex_ledger_add(graph->ledger, "flatten", node->name, reason,
                        reason == IPEX_REASON_applied
                            ? "the columns of the linear layers after it are stored channels-last"
                            : NULL);
    }
}
