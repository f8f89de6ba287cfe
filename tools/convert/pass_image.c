/* SPDX-License-Identifier: Apache-2.0 */
/* What --image put between pixels and the first convolution goes into its weights: with
 * x = scale p + shift per input channel, W x + b = (W scale) p + (b + W shift), and channels in the
 * other order are weights in the other order. Exact only where the convolution reads no padding, or
 * where shift is zero: its zeros stand for x = 0, which then is p = 0. New weights are kept in f64
 * and rounded once, when they are packed. */
#include "tools/convert/pixels.h"
#include "tools/convert/passes.h"

#include <string.h>

struct site {
    struct ipex_node *node; /* the affine, or the slice that reverses */
    struct ipex_node *conv;
    struct ipex_node *affine; /* that a slice has to pass */
};

static bool has_shift(const struct ipex_node *node) {
    bool shifts = false;
    for (int64_t c = 0; node->kind == IPEX_KIND_affine && c < node->u.affine.n; c++)
        shifts |= node->u.affine.shift[c] != 0;
    return shifts;
}

/* Follows the channels from the node to the convolution that reads them. */
static enum ipex_reason find_conv(const struct ipex_graph *graph, struct site *site) {
    struct ipex_node *node = site->node;
    int32_t axis = node->kind == IPEX_KIND_affine ? node->u.affine.axis : 3;
    for (;;) {
        const struct ipex_value *y = node->output;
        node = ipex_value_only_reader(graph, y);
        if (!node)
            return IPEX_REASON_two_consumers;
        if (node->kind == IPEX_KIND_affine && !strcmp(node->source_op, IPEX_IMAGE_OP)) {
            site->affine = node;
            continue;
        }
        if (node->kind != IPEX_KIND_transpose)
            break;
        int32_t to = 0;
        while (node->u.perm[to] != axis)
            to++;
        axis = to;
    }
    site->conv = node;
    return node->kind == IPEX_KIND_conv && !node->u.conv.transposed && axis == 1
               ? IPEX_REASON_applied
               : IPEX_REASON_not_a_window;
}

static enum ipex_reason check(const struct ipex_graph *graph, struct site *site) {
    enum ipex_reason reason = find_conv(graph, site);
    if (reason != IPEX_REASON_applied)
        return reason;
    if (site->conv->u.conv.groups != 1)
        return IPEX_REASON_grouped;
    if (site->conv->input[1]->uses > 1)
        return IPEX_REASON_shared_weight;
    return ipex_conv_is_padded(&site->conv->u.conv) && has_shift(site->node)
               ? IPEX_REASON_padding_is_not_mean
               : IPEX_REASON_applied;
}

/* Input channel c of the convolution gets w[from] * scale[c], from = C-1-c where reversed. */
static void fold(struct ipex_graph *graph, struct ipex_node *conv, const double *scale,
                 const double *shift, bool reversed) {
    const struct ipex_value *w = conv->input[1];
    const int64_t m_count = w->dims[0], channels = w->dims[1], window = w->dims[2] * w->dims[3];
    double *to = ipex_arena_array(&graph->arena, (size_t)ipex_value_numel(w), sizeof *to),
           *bias = ipex_arena_array(&graph->arena, (size_t)m_count, sizeof *bias);
    for (int64_t m = 0; m < m_count; m++) {
        double sum = 0;
        for (int64_t c = 0; c < channels; c++)
            for (int64_t t = 0; t < window; t++) {
                const int64_t from = reversed ? channels - 1 - c : c;
                const double v = ipex_constant_f64(w, (m * channels + from) * window + t);
                to[(m * channels + c) * window + t] = scale ? v * scale[c] : v;
                sum += shift ? v * shift[c] : 0;
            }
        const struct ipex_fold *old = &conv->fold;
        bias[m] = (old->bias ? old->bias[m] : 0) + (old->scale ? old->scale[m] : 1) * sum;
    }
    if (shift)
        conv->fold.bias = bias;
    ipex_node_set_input(conv, 1,
                        ipex_graph_constant(graph, w->name, IPEX_DTYPE_f64, w->rank, w->dims, to));
}

/* The affine that comes behind keeps its node: its numbers change places. */
static void reverse_affine(struct ipex_node *affine) {
    double *list[2] = {affine->u.affine.scale, affine->u.affine.shift};
    const int64_t last = affine->u.affine.n - 1;
    for (int i = 0; i < 2; i++)
        for (int64_t c = 0; c < last - c; c++) {
            double swap = list[i][c];
            list[i][c] = list[i][last - c];
            list[i][last - c] = swap;
        }
}

static void apply(struct ipex_graph *graph, const struct site *site) {
    struct ipex_node *node = site->node;
    if (node->kind == IPEX_KIND_affine) {
        fold(graph, site->conv, node->u.affine.scale, has_shift(node) ? node->u.affine.shift : NULL,
             false);
    } else {
        fold(graph, site->conv, NULL, NULL, true);
        if (site->affine)
            reverse_affine(site->affine);
    }
    struct ipex_value *x = node->input[0], *y = node->output;
    ipex_graph_replace(graph, y, x);
    ipex_graph_remove(graph, node);
}

static void try_site(struct ipex_graph *graph, struct ipex_node *node) {
    struct site site = {.node = node};
    const enum ipex_reason reason = check(graph, &site);
    const char *what = node->kind == IPEX_KIND_affine ? "mean and std" : "the order of channels";
    const char *name = ipex_arena_printf(&graph->arena, "%s: %s", node->name, what);
    const char *text = reason != IPEX_REASON_applied
                           ? NULL
                           : ipex_arena_printf(&graph->arena, "folded into %s", site.conv->name);
    ipex_ledger_add(graph->ledger, "image", name, reason, text);
    if (reason == IPEX_REASON_applied)
        apply(graph, &site);
}

/* The affine first: it stands nearer to the convolution. */
void ipex_pass_image(struct ipex_graph *graph) {
    static const enum ipex_kind kinds[] = {IPEX_KIND_affine, IPEX_KIND_slice};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (struct ipex_node *node = graph->first, *next; node; node = next) {
            next = node->next;
            if (node->kind == kinds[k] && !strcmp(node->source_op, IPEX_IMAGE_OP))
                try_site(graph, node);
        }
}
