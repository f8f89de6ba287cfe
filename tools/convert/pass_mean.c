/* SPDX-License-Identifier: Apache-2.0 */
/* The mean over an image of what a 1x1 convolution makes of it is what the convolution makes of the
 * mean, but for rounding. A global average pool behind such a layer (a squeeze-and-excite block)
 * reads the layer's input instead, and the layer goes over the one pixel that this gives. Then its
 * result, which is large, has a reader less: often but one, so that it need not exist as a whole.
 */
#include "tools/convert/match.h"
#include "tools/convert/passes.h"

/* The layer that makes what the pool reads of pixels alone; NULL: none. */
static struct ipex_node *find_layer(const struct ipex_node *node) {
    struct ipex_node *layer = node->input[0]->producer;
    if (!layer || layer->kind != IPEX_KIND_conv || layer->u.conv.transposed || layer->integer)
        return NULL;
    const struct ipex_conv *conv = &layer->u.conv;
    for (int i = 0; i < 2; i++)
        if (conv->kernel[i] != 1 || conv->stride[i] != 1 || conv->pad[i] != 0 ||
            conv->pad[2 + i] != 0)
            return NULL;
    return layer;
}

static enum ipex_reason check(const struct ipex_node *node, const struct ipex_node *layer) {
    if (layer->epilogue.act != IPEX_ACT_none)
        return IPEX_REASON_act_between;
    if (layer->epilogue.residual)
        return IPEX_REASON_residual_between;
    /* Of more channels, the mean alone costs more than it saves. */
    return layer->input[0]->dims[1] <= node->input[0]->dims[1] || node->input[0]->uses == 1
               ? IPEX_REASON_applied
               : IPEX_REASON_more_channels;
}

static void apply(struct ipex_graph *graph, struct ipex_node *node, const struct ipex_node *layer) {
    struct ipex_value *x = layer->input[0], *result = node->output;
    const int64_t dims[4] = {x->dims[0], x->dims[1], result->dims[2], result->dims[3]};
    struct ipex_node *again =
        ipex_graph_node(graph, IPEX_KIND_conv, ipex_graph_join(graph, layer->name, node->name),
                        layer->source_op, node->next);
    again->u.conv = layer->u.conv;
    again->fold = layer->fold;
    ipex_node_set_input(node, 0, x);
    ipex_node_set_output(node, ipex_graph_value(graph, x->name, x->dtype, 4, dims));
    ipex_node_add_input(again, node->output);
    ipex_node_add_input(again, layer->input[1]);
    ipex_node_set_output(again, result);
}

void ipex_pass_mean(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        const struct ipex_node *layer = ipex_match_image_mean(node) ? find_layer(node) : NULL;
        if (!layer)
            continue;
        const enum ipex_reason reason = check(node, layer);
        if (reason == IPEX_REASON_applied)
            apply(graph, node, layer);
        ipex_ledger_add(graph->ledger, "mean", node->name, reason, NULL);
    }
    ipex_graph_prune(graph);
}
