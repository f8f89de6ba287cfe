/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and columns that are cut off a convolution's result are not computed: it has so much less
 * padding, a transposed one so much more. (Causal convolutions are spelled as one padded on both
 * sides, whose end is cut off.) */
#include "tools/convert/passes.h"

#include <string.h>

#include "format/check.h"

/* Rows and columns that the slice cuts off: top left bottom right. False where these are not
 * numbers, or the slice does more. */
static bool find_crop(struct ipex_graph *graph, const struct ipex_node *slice, int64_t ret_cut[4]) {
    const struct ipex_value *x = slice->input[0], *y = slice->output;
    if (x->rank != 4)
        return false;
    int64_t begin, end, step;
    for (int i = 0; i < 4; i++) {
        const int64_t left = ipex_dim_sub(
            &graph->dims, ipex_dim_sub(&graph->dims, x->dims[i], slice->u.slice.start[i]),
            y->dims[i]);
        if (!ipex_dim_number(&graph->dims, slice->u.slice.step[i], &step) || step != 1 ||
            !ipex_dim_number(&graph->dims, slice->u.slice.start[i], &begin) ||
            !ipex_dim_number(&graph->dims, left, &end) || (i < 2 && (begin != 0 || end != 0)))
            return false;
        if (i >= 2) {
            ret_cut[i - 2] = begin;
            ret_cut[i] = end;
        }
    }
    return true;
}

/* The padding that leaves out what is cut off; false where there is none. With strides the length
 * of what is left must be a number: that of a symbol's is rounded. */
static bool find_padding(const struct ipex_graph *graph, const struct ipex_node *conv,
                         const int64_t cut[4], int64_t ret_pad[4]) {
    const struct ipex_conv *c = &conv->u.conv;
    for (int i = 0; i < 4; i++) {
        const int64_t stride = c->stride[i % 2];
        int64_t number;
        if (stride > 1 && !c->transposed && cut[i] > 0 &&
            !ipex_dim_number(&graph->dims, conv->output->dims[2 + i % 2], &number))
            return false;
        ret_pad[i] = c->transposed ? c->pad[i] + cut[i] : c->pad[i] - stride * cut[i];
        if (ret_pad[i] < 0 || ret_pad[i] > IPEX_HALO_MAX)
            return false;
    }
    return true;
}

static void apply(struct ipex_graph *graph, struct ipex_node *conv, struct ipex_node *slice,
                  const int64_t pad[4]) {
    struct ipex_value *y = slice->output;
    conv->name = ipex_graph_join(graph, conv->name, slice->name);
    memcpy(conv->u.conv.pad, pad, sizeof conv->u.conv.pad);
    ipex_graph_remove(graph, slice);
    ipex_node_set_output(conv, y);
}

void ipex_pass_crop(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (node->kind != IPEX_KIND_slice)
            continue;
        struct ipex_node *conv = node->input[0]->producer;
        int64_t cut[4], pad[4];
        if (conv == NULL || conv->kind != IPEX_KIND_conv ||
            ipex_value_only_reader(graph, node->input[0]) != node || !find_crop(graph, node, cut) ||
            !find_padding(graph, conv, cut, pad))
            continue;
        ipex_ledger_add(graph->ledger, "crop", node->name, IPEX_REASON_applied,
                        "became less padding of the convolution before it");
        apply(graph, conv, node, pad);
    }
}
