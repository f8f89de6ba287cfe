/* SPDX-License-Identifier: Apache-2.0 */
/* The "focus" of YOLO networks: an image's every second row and column, begun at each of the four
 * corners and concatenated along the channels, read by a convolution. That convolution, with a
 * kernel twice as large and stride 2, reads the image itself: tap (b kh + i, b kw + j) of channel c
 * is tap (kh, kw) of the part that begins at (i, j). The same for parts of every b-th. */
#include "tools/convert/passes.h"

#include "format/check.h"

#include <string.h>

/* Of the image: with more of them Winograd on the parts is faster than the larger kernel. */
#define CHANNELS_MOST 4
#define BLOCK_MOST    4

struct focus {
    struct ipex_node *concat;
    struct ipex_value *x; /* [n][c][h][w] */
    int64_t block;
    int32_t part[BLOCK_MOST * BLOCK_MOST]; /* [row][column] it begins at: input of the concat */
};

/* What a chain of slices takes of a value: x[start + i * step] along every axis. */
struct taken {
    struct ipex_value *x;
    int64_t start[4], step[4];
};

static struct taken follow_slices(struct ipex_value *value) {
    struct taken ret = {.x = value, .step = {1, 1, 1, 1}};
    for (struct ipex_node *node; (node = ret.x->producer) && node->kind == IPEX_KIND_slice;
         ret.x = node->input[0])
        for (int32_t axis = 0; axis < 4; axis++) {
            ret.start[axis] =
                node->u.slice.start[axis] + ret.start[axis] * node->u.slice.step[axis];
            ret.step[axis] *= node->u.slice.step[axis];
        }
    return ret;
}

static int64_t square_root(int64_t n) {
    int64_t ret = 1;
    while (ret < BLOCK_MOST && ret * ret < n)
        ret++;
    return ret * ret == n ? ret : 0;
}

/* Puts input i of the concatenation in its place; false where it is no part of every b-th. */
static bool place_part(struct ipex_graph *graph, struct focus *focus, int32_t i) {
    struct ipex_value *part = focus->concat->concat_input[i];
    const struct taken taken = follow_slices(part);
    const int64_t b = focus->block;
    if (i == 0)
        focus->x = taken.x;
    if (taken.x != focus->x || taken.x->constant || part->dims[0] != taken.x->dims[0] ||
        part->dims[1] != taken.x->dims[1] || taken.step[0] != 1 || taken.step[1] != 1)
        return false;
    for (int32_t axis = 2; axis < 4; axis++)
        if (taken.step[axis] != b || taken.start[axis] < 0 || taken.start[axis] >= b ||
            ipex_dim_mul(&graph->dims, part->dims[axis], b) != taken.x->dims[axis])
            return false;
    int32_t *place = &focus->part[taken.start[2] * b + taken.start[3]];
    if (*place >= 0)
        return false;
    *place = i;
    return true;
}

static bool find_focus(struct ipex_graph *graph, struct ipex_node *node, struct focus *focus) {
    if (node->kind != IPEX_KIND_concat || node->u.axis != 1 || node->output->rank != 4)
        return false;
    *focus = (struct focus){.concat = node, .block = square_root(node->inputs)};
    memset(focus->part, -1, sizeof focus->part);
    for (int32_t i = 0; i < node->inputs; i++)
        if (focus->block < 2 || !place_part(graph, focus, i))
            return false;
    return true;
}

static enum ipex_reason check(struct ipex_graph *graph, const struct focus *focus,
                              struct ipex_node **ret_conv) {
    struct ipex_node *conv = *ret_conv = ipex_value_only_reader(graph, focus->concat->output);
    int64_t channels;
    if (!conv)
        return IPEX_REASON_two_consumers;
    if (conv->kind != IPEX_KIND_conv || conv->u.conv.transposed || !conv->input[1]->constant)
        return IPEX_REASON_not_a_window;
    if (conv->u.conv.groups != 1)
        return IPEX_REASON_grouped;
    if (conv->u.conv.dilation[0] != 1 || conv->u.conv.dilation[1] != 1)
        return IPEX_REASON_dilated;
    if (!ipex_dim_number(&graph->dims, focus->x->dims[1], &channels) || channels > CHANNELS_MOST)
        return IPEX_REASON_winograd_faster;
    for (int i = 0; i < 4; i++)
        if (conv->u.conv.pad[i] * focus->block > IPEX_HALO_MAX)
            return IPEX_REASON_padding_too_wide;
    return IPEX_REASON_applied;
}

/* [m][c][b kh + i][b kw + j] = [m][part (i, j), c][kh][kw] */
static struct ipex_value *make_weight(struct ipex_graph *graph, const struct focus *focus,
                                      const struct ipex_value *w) {
    const int64_t b = focus->block, channels = w->dims[1] / (b * b);
    const int64_t dims[4] = {w->dims[0], channels, b * w->dims[2], b * w->dims[3]};
    double *weight = ipex_arena_array(&graph->arena, (size_t)ipex_value_numel(w), sizeof *weight),
           *to = weight;
    for (int64_t m = 0; m < dims[0]; m++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t h = 0; h < dims[2]; h++)
                for (int64_t x = 0; x < dims[3]; x++) {
                    const int64_t part = focus->part[h % b * b + x % b];
                    const int64_t channel = part * channels + c;
                    *to++ = ipex_constant_f64(
                        w, ((m * w->dims[1] + channel) * w->dims[2] + h / b) * w->dims[3] + x / b);
                }
    return ipex_graph_constant(graph, w->name, IPEX_DTYPE_f64, 4, dims, weight);
}

static void apply(struct ipex_graph *graph, const struct focus *focus, struct ipex_node *conv) {
    struct ipex_conv *window = &conv->u.conv;
    for (int i = 0; i < 2; i++) {
        window->kernel[i] *= focus->block;
        window->stride[i] *= focus->block;
    }
    for (int i = 0; i < 4; i++)
        window->pad[i] *= focus->block;
    ipex_node_set_input(conv, 1, make_weight(graph, focus, conv->input[1]));
    ipex_node_set_input(conv, 0, focus->x);
    ipex_graph_prune(graph);
}

void ipex_pass_focus(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        struct focus focus;
        struct ipex_node *conv;
        next = node->next;
        if (!find_focus(graph, node, &focus))
            continue;
        const enum ipex_reason reason = check(graph, &focus, &conv);
        const char *text =
            reason != IPEX_REASON_applied
                ? NULL
                : ipex_arena_printf(&graph->arena, "%s reads the image itself, with stride %d",
                                    conv->name, (int)(conv->u.conv.stride[0] * focus.block));
        ipex_ledger_add(graph->ledger, "focus", node->name, reason, text);
        if (reason == IPEX_REASON_applied) {
            next = conv->next;
            apply(graph, &focus, conv);
        }
    }
}
