/* SPDX-License-Identifier: Apache-2.0 */
/* Taps of a convolution that read nothing but padding, whatever the output's place, are left out:
 * the sides of a kernel dilated beyond its image (the wide branches of DeepLab's pyramid), a 3x3
 * kernel on an image of one row or one pixel. */
#include "tools/convert/passes.h"

#include <string.h>

/* How many taps go along each axis, at the begin and at the end. */
struct cut {
    int64_t begin[2], end[2];
};

/* Tap t of output place o reads row (or column) o stride + t dilation - pad of the image. At the
 * begin all of them lie in the padding where even the last place's is above the image; at the end,
 * where even the first one's is below it. */
static void cut_axis(const struct ipex_graph *graph, const struct ipex_node *node, int axis,
                     struct cut *ret) {
    const struct ipex_conv *conv = &node->u.conv;
    const int64_t dilation = conv->dilation[axis], kernel = conv->kernel[axis];
    int64_t begin = 0, end = 0, least, in, out;
    ipex_dim_range(&graph->dims, node->input[0]->dims[2 + axis], &least, &in);
    ipex_dim_range(&graph->dims, node->output->dims[2 + axis], &least, &out);
    while (begin + 1 < kernel && (begin + 1) * dilation <= conv->pad[axis] &&
           (out - 1) * conv->stride[axis] + begin * dilation < conv->pad[axis])
        begin++;
    while (begin + end + 1 < kernel && (end + 1) * dilation <= conv->pad[2 + axis] &&
           (kernel - 1 - end) * dilation - conv->pad[axis] >= in)
        end++;
    ret->begin[axis] = begin;
    ret->end[axis] = end;
}

/* [m][c][kh][kw] without the taps that are cut. */
static struct ipex_value *cut_weight(struct ipex_graph *graph, const struct ipex_value *w,
                                     const struct cut *cut) {
    const size_t size = ipex_dtype_size(w->dtype);
    int64_t dims[4] = {w->dims[0], w->dims[1]};
    for (int i = 0; i < 2; i++)
        dims[2 + i] = w->dims[2 + i] - cut->begin[i] - cut->end[i];
    const size_t line = (size_t)dims[3] * size;
    uint8_t *weight = ipex_arena_array(&graph->arena, (size_t)(dims[0] * dims[1] * dims[2]), line),
            *to = weight;
    for (int64_t i = 0; i < dims[0] * dims[1]; i++)
        for (int64_t h = 0; h < dims[2]; h++, to += line)
            memcpy(to,
                   ipex_constant_data(w) +
                       (size_t)((i * w->dims[2] + cut->begin[0] + h) * w->dims[3] + cut->begin[1]) *
                           size,
                   line);
    return ipex_graph_constant(graph, w->name, w->dtype, 4, dims, weight);
}

static void apply(struct ipex_graph *graph, struct ipex_node *node, const struct cut *cut) {
    struct ipex_conv *conv = &node->u.conv;
    for (int i = 0; i < 2; i++) {
        conv->kernel[i] -= cut->begin[i] + cut->end[i];
        conv->pad[i] -= cut->begin[i] * conv->dilation[i];
        conv->pad[2 + i] -= cut->end[i] * conv->dilation[i];
        conv->dilation[i] = conv->kernel[i] == 1 ? 1 : conv->dilation[i];
    }
    ipex_node_set_input(node, 1, cut_weight(graph, node->input[1], cut));
    ipex_graph_prune(graph);
}

void ipex_pass_taps(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        struct cut cut;
        if (node->kind != IPEX_KIND_conv || node->u.conv.transposed || !node->input[1]->constant)
            continue;
        for (int i = 0; i < 2; i++)
            cut_axis(graph, node, i, &cut);
        if (!(cut.begin[0] | cut.end[0] | cut.begin[1] | cut.end[1]))
            continue;
        const int64_t kernel[2] = {node->u.conv.kernel[0], node->u.conv.kernel[1]};
        apply(graph, node, &cut);
        ipex_ledger_add(graph->ledger, "taps", node->name, IPEX_REASON_applied,
                        ipex_arena_printf(&graph->arena,
                                          "a %dx%d kernel on this image: the other taps of "
                                          "%dx%d read padding only",
                                          (int)node->u.conv.kernel[0], (int)node->u.conv.kernel[1],
                                          (int)kernel[0], (int)kernel[1]));
    }
}
