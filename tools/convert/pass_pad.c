/* SPDX-License-Identifier: Apache-2.0 */
/* A Pad of zeros along height and width that only convolutions read becomes part of their padding,
 * which costs nothing: the tensor's halo. */
#include "tools/convert/passes.h"

#include "format/check.h"

/* Both paddings together fit a halo. */
static bool fits(const struct ipex_node *pad, const struct ipex_node *conv) {
    for (int i = 0; i < 2; i++)
        if (conv->u.conv.pad[i] + pad->u.pad.before[2 + i] > IPEX_HALO_MAX ||
            conv->u.conv.pad[2 + i] + pad->u.pad.after[2 + i] > IPEX_HALO_MAX)
            return false;
    return true;
}

static enum ipex_reason check(const struct ipex_graph *graph, const struct ipex_node *node) {
    const struct ipex_value *x = node->input[0];
    if (node->u.pad.mode != IPEX_PAD_constant || node->u.pad.value != 0)
        return IPEX_REASON_nonzero_padding;
    for (int32_t i = 0; i < x->rank; i++)
        if (x->rank != 4 || (i < 2 && (node->u.pad.before[i] || node->u.pad.after[i])))
            return IPEX_REASON_pads_channels;
    if (node->output->is_output)
        return IPEX_REASON_port;
    for (const struct ipex_node *reader = graph->first; reader; reader = reader->next)
        for (int32_t i = 0; i < reader->inputs; i++)
            if (ipex_node_operands((struct ipex_node *)reader)[i] == node->output) {
                if (reader->kind != IPEX_KIND_conv || reader->u.conv.transposed)
                    return IPEX_REASON_not_a_window;
                if (!fits(node, reader))
                    return IPEX_REASON_padding_too_wide;
            }
    return IPEX_REASON_applied;
}

static void apply(struct ipex_graph *graph, struct ipex_node *node) {
    for (struct ipex_node *reader = graph->first; reader; reader = reader->next)
        if (reader->kind == IPEX_KIND_conv && reader->input[0] == node->output) {
            for (int i = 0; i < 2; i++) {
                reader->u.conv.pad[i] += node->u.pad.before[2 + i];
                reader->u.conv.pad[2 + i] += node->u.pad.after[2 + i];
            }
            ipex_node_set_input(reader, 0, node->input[0]);
        }
}

void ipex_pass_pad(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (node->kind != IPEX_KIND_pad)
            continue;
        enum ipex_reason reason = check(graph, node);
        if (reason == IPEX_REASON_applied)
            apply(graph, node);
        ipex_ledger_add(graph->ledger, "pad", node->name, reason,
                        reason == IPEX_REASON_applied
                            ? "became padding of the convolutions that read it"
                            : NULL);
    }
}
