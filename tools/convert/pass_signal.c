/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions take a signal [N][C][L] as an image of one line, [N][C][1][L], between two reshapes
 * (import_build.c). What works element by element between such convolutions, joins, cuts, pads or
 * sums along an axis works on the image too: the reshapes move behind it, meet those of the next
 * convolution, and both vanish. Then signals fold, join and keep room for padding as images do. */
#include "tools/convert/passes.h"

#include <string.h>

/* The axis that an image has and a signal has not; what is the signal's moves to the next. */
#define LINES 2

static bool is_line(const struct ipex_value *image, const struct ipex_value *signal) {
    return image->rank == 4 && signal->rank == 3 && image->dims[LINES] == 1 &&
           image->dims[0] == signal->dims[0] && image->dims[1] == signal->dims[1] &&
           image->dims[3] == signal->dims[2];
}

/* The image that a signal was; NULL: none. */
static struct ipex_value *image_of(const struct ipex_value *signal) {
    const struct ipex_node *producer = signal->producer;
    return producer && producer->kind == IPEX_KIND_reshape && is_line(producer->input[0], signal)
               ? producer->input[0]
               : NULL;
}

/* The image that a signal was, or that a reshape before a node (NULL: any) makes of it; NULL: none.
 */
static struct ipex_value *find_image(const struct ipex_graph *graph,
                                     const struct ipex_value *signal,
                                     const struct ipex_node *before) {
    struct ipex_value *image = image_of(signal);
    if (image || signal->constant)
        return image;
    struct ipex_node *node = signal->producer ? signal->producer->next : graph->first;
    for (; node && node != before; node = node->next)
        if (node->kind == IPEX_KIND_reshape && node->input[0] == signal &&
            is_line(node->output, signal))
            return node->output;
    return NULL;
}

/* Dims of a signal, or of what is broadcast to one, with an axis of one line. */
static int32_t add_line(const struct ipex_value *value, int64_t *ret_dims) {
    const int32_t before = value->rank - 1; /* lengths are last */
    memcpy(ret_dims, value->dims, sizeof value->dims);
    if (before < 1)
        return value->rank;
    ret_dims[before] = 1;
    ret_dims[before + 1] = value->dims[before];
    return value->rank + 1;
}

/* ---- what can work on images ---- */

static bool is_site(const struct ipex_graph *graph, struct ipex_node *node) {
    bool image = false;
    switch (node->kind) {
    case IPEX_KIND_pointwise:
    case IPEX_KIND_affine:
    case IPEX_KIND_concat:
    case IPEX_KIND_slice:
    case IPEX_KIND_pad:
    case IPEX_KIND_reduce:
        break;
    default:
        return false;
    }
    for (int32_t i = 0; i < node->inputs && node->output->rank == 3; i++)
        image |= find_image(graph, ipex_node_operands(node)[i], NULL) != NULL;
    return image;
}

/* Other operands are signals too, or constants. */
static enum ipex_reason check(struct ipex_node *node) {
    for (int32_t i = 0; i < node->inputs; i++) {
        const struct ipex_value *x = ipex_node_operands(node)[i];
        if (!x->constant && x->rank != 3)
            return IPEX_REASON_broadcast;
    }
    return IPEX_REASON_applied;
}

/* ---- moving the reshapes behind it ---- */

static struct ipex_value *operand_image(struct ipex_graph *graph, struct ipex_node *node,
                                        struct ipex_value *x) {
    struct ipex_value *image = find_image(graph, x, node);
    int64_t dims[IPEX_MAX_RANK];
    if (image)
        return image;
    const int32_t rank = add_line(x, dims);
    return ipex_graph_reshaped(graph, x, rank, dims, node);
}

static int32_t moved_axis(int32_t axis) {
    return axis < LINES ? axis : axis + 1;
}

/* What holds per axis of a signal: its lengths go on, and `line` is what holds of the lines. */
static void move_lengths(int64_t *per_axis, int64_t line) {
    per_axis[LINES + 1] = per_axis[LINES];
    per_axis[LINES] = line;
}

static void move_axes(struct ipex_node *node) {
    switch (node->kind) {
    case IPEX_KIND_affine:
        node->u.affine.axis = moved_axis(node->u.affine.axis);
        break;
    case IPEX_KIND_concat:
        node->u.axis = moved_axis(node->u.axis);
        break;
    case IPEX_KIND_slice:
        move_lengths(node->u.slice.start, 0);
        move_lengths(node->u.slice.step, 1);
        break;
    case IPEX_KIND_pad:
        move_lengths(node->u.pad.before, 0);
        move_lengths(node->u.pad.after, 0);
        break;
    case IPEX_KIND_reduce: /* with the lengths the line, as images are averaged */
        node->u.reduce.axes |= (node->u.reduce.axes >> LINES & 1) << (LINES + 1);
        break;
    default:
        break;
    }
}

/* What integers a signal stands for, as an image; NULL: it stands for none, or they are none. */
static const struct ipex_dequantised *image_of_integers(struct ipex_graph *graph,
                                                        const struct ipex_dequantised *d) {
    struct ipex_value *whole = d && d->whole ? image_of(d->whole) : NULL;
    if (!whole)
        return NULL;
    struct ipex_dequantised *ret = ipex_arena_alloc(&graph->arena, sizeof *ret);
    *ret = *d;
    ret->whole = whole;
    return ret;
}

static void apply(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_value *y = node->output;
    int64_t dims[IPEX_MAX_RANK];
    for (int32_t i = 0; i < node->inputs; i++)
        ipex_node_set_input(node, i, operand_image(graph, node, ipex_node_operands(node)[i]));
    move_axes(node);
    const int32_t rank = add_line(y, dims);
    ipex_node_set_output(node, ipex_graph_value(graph, y->name, y->dtype, rank, dims));
    node->output->dequantised = image_of_integers(graph, y->dequantised);
    struct ipex_node *reshape =
        ipex_graph_node(graph, IPEX_KIND_reshape, node->name, node->source_op, node->next);
    ipex_node_add_input(reshape, node->output);
    ipex_node_set_output(reshape, y);
}

/* A reshape of a signal to an image that there is already becomes that one. */
static bool try_known(struct ipex_graph *graph, struct ipex_node *node) {
    if (node->kind != IPEX_KIND_reshape || node->output->is_output ||
        !is_line(node->output, node->input[0]))
        return false;
    struct ipex_value *image = find_image(graph, node->input[0], node);
    if (image)
        ipex_graph_replace(graph, node->output, image);
    return image;
}

void ipex_pass_signal(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        if (!try_known(graph, node) && is_site(graph, node)) {
            const enum ipex_reason reason = check(node);
            if (reason == IPEX_REASON_applied)
                apply(graph, node);
            ipex_ledger_add(graph->ledger, "signal", node->name, reason,
                            reason == IPEX_REASON_applied
                                ? "works on the signal as an image of one line"
                                : NULL);
        }
    }
}
