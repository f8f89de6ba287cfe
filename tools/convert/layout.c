/* SPDX-License-Identifier: Apache-2.0 */
/* Where values lie: the order of axes that each producer writes, which values go straight into a
 * slice of a concatenation, and how much halo convolutions need around them. */
#include "tools/convert/lower.h"

#include <string.h>

#include "tools/convert/match.h"

const int32_t ipex_channels_last[4] = {0, 2, 3, 1};

static void identity_order(int32_t rank, int32_t *order) {
    for (int32_t i = 0; i < rank; i++)
        order[i] = i;
}

/* ---- orders ---- */

/* The operand whose order the result keeps: one of the result's size before any other of its rank.
 */
static const struct ipex_value *leading_operand(struct ipex_node *node) {
    struct ipex_value *const *x = ipex_node_operands(node);
    for (int32_t i = 0; i < node->inputs; i++)
        if (x[i] && x[i]->layout && ipex_same_shape(x[i], node->output))
            return x[i];
    for (int32_t i = 0; i < node->inputs; i++)
        if (x[i] && x[i]->layout && x[i]->rank == node->output->rank)
            return x[i];
    return NULL;
}

static void keep_order(struct ipex_node *node, int32_t *order) {
    const struct ipex_value *x = leading_operand(node);
    if (x)
        memcpy(order, x->layout->order, sizeof x->layout->order);
}

static void move_last(int32_t rank, int32_t axis, int32_t *order) {
    int32_t at = 0;
    while (order[at] != axis)
        at++;
    memmove(order + at, order + at + 1, (size_t)(rank - 1 - at) * sizeof *order);
    order[rank - 1] = axis;
}

/* Of [B, H, N, D]. */
static const int32_t attention_order[][4] = {
    [IPEX_ROWS_behind_heads] = {0, 1, 2, 3},
    [IPEX_ROWS_before_heads] = {0, 2, 1, 3},
    [IPEX_ROWS_first] = {2, 0, 1, 3},
};

enum ipex_rows ipex_attention_rows(const struct ipex_value *value) {
    int32_t rows = value->rank == 4 && value->layout ? IPEX_ROWS_first : IPEX_ROWS_behind_heads;
    while (rows != IPEX_ROWS_behind_heads &&
           memcmp(value->layout->order, attention_order[rows], sizeof attention_order[rows]))
        rows--;
    return (enum ipex_rows)rows;
}

/* Attention walks rows in any of these places: the result keeps them where the queries have them,
 * or, where those are of one token, for which it is the same, where the keys do. */
static void choose_attention_order(const struct ipex_node *node, int32_t *order) {
    const struct ipex_value *q = node->input[0];
    enum ipex_rows rows = ipex_attention_rows(q);
    if (rows == IPEX_ROWS_behind_heads && q->rank == 4 && q->dims[2] == 1)
        rows = ipex_attention_rows(node->input[1]);
    if (node->output->rank == 4)
        memcpy(order, attention_order[rows], sizeof attention_order[rows]);
}

static void choose_plan_order(struct ipex_node *node, int32_t *order) {
    const struct ipex_value *y = node->output;
    switch (node->u.plan.policy) {
    case IPEX_ORDER_logical:
        if (node->u.plan.op == IPEX_OP_attention)
            choose_attention_order(node, order);
        break;
    case IPEX_ORDER_elementwise:
        keep_order(node, order);
        break;
    case IPEX_ORDER_channels_last:
        memcpy(order, ipex_channels_last, sizeof ipex_channels_last);
        break;
    case IPEX_ORDER_rows:
        keep_order(node, order);
        move_last(y->rank, y->rank - 1, order);
        break;
    }
}

/* A plan operator on images, whose kernel takes any strides between rows and pixels. */
static bool is_image_op(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_plan && node->u.plan.policy == IPEX_ORDER_channels_last;
}

static void choose_reshape_order(struct ipex_dims *dims, const struct ipex_node *node,
                                 int32_t *order) {
    const struct ipex_value *x = node->input[0];
    int32_t from[IPEX_MAX_RANK];
    if (!x->layout)
        return;
    ipex_reshape_source(dims, x, x->layout->order, node->output, from);
    if (!ipex_reshape_order(dims, x, from, node->output, order))
        identity_order(node->output->rank, order);
}

static void choose_order(struct ipex_dims *dims, struct ipex_node *node) {
    struct ipex_value *y = node->output;
    struct ipex_value_layout *l = y->layout;
    const struct ipex_value *x = node->inputs ? ipex_node_operands(node)[0] : NULL;
    identity_order(y->rank, l->order);
    switch (node->kind) {
    case IPEX_KIND_conv:
    case IPEX_KIND_pool:
        memcpy(l->order, ipex_channels_last, sizeof ipex_channels_last);
        break;
    case IPEX_KIND_plan:
        choose_plan_order(node, l->order);
        break;
    case IPEX_KIND_linear: /* rows in any order */
        if (x->layout && x->layout->order[x->rank - 1] == x->rank - 1)
            memcpy(l->order, x->layout->order, sizeof l->order);
        break;
    case IPEX_KIND_reshape:
        choose_reshape_order(dims, node, l->order);
        break;
    case IPEX_KIND_transpose:
        for (int32_t i = 0; x->layout && i < y->rank; i++)
            for (int32_t k = 0; k < y->rank; k++)
                if (node->u.perm[k] == x->layout->order[i])
                    l->order[i] = k;
        break;
    case IPEX_KIND_softmax:
        keep_order(node, l->order);
        move_last(y->rank, node->u.axis, l->order);
        break;
    default:
        keep_order(node, l->order);
        break;
    }
    l->holds_halo =
        y->rank == 4 &&
        (node->kind == IPEX_KIND_conv || node->kind == IPEX_KIND_pool ||
         node->kind == IPEX_KIND_pointwise || node->kind == IPEX_KIND_pad || is_image_op(node) ||
         (node->kind == IPEX_KIND_concat && l->order[3] == node->u.axis));
}

/* ---- concatenation ---- */

static bool has_channels_last(const struct ipex_value *value) {
    return value->layout &&
           !memcmp(value->layout->order, ipex_channels_last, sizeof ipex_channels_last);
}

/* Neighbouring channels of an image: what lies in the image's memory, halo included. */
static bool is_channel_slice(const struct ipex_node *node) {
    if (node->kind != IPEX_KIND_slice || node->output->rank != 4 ||
        !has_channels_last(node->input[0]))
        return false;
    for (int i = 0; i < 4; i++)
        if (node->u.slice.step[i] != 1 ||
            (i != 1 && node->input[0]->dims[i] != node->output->dims[i]))
            return false;
    return true;
}

/* Operand i can be a slice: the node walks pixels (rows) that do not follow each other. */
static bool reads_slices(const struct ipex_node *node, int32_t i) {
    switch (node->kind) {
    case IPEX_KIND_conv: /* a kernel row that is one segment of the weight wants them adjacent */
        return i > 0 || node->u.conv.winograd || node->u.conv.upsampled ||
               node->u.conv.kernel[1] == 1 || node->u.conv.dilation[1] > 1 ||
               node->u.conv.groups > 1;
    case IPEX_KIND_pool:
    case IPEX_KIND_pointwise:
    case IPEX_KIND_concat:
        return true;
    case IPEX_KIND_slice:
        return is_channel_slice(node);
    default:
        return i == 0 && is_image_op(node);
    }
}

/* Everyone who reads x, each at most once as a part of a concatenation. */
static bool readers_take_slices(const struct ipex_value *x) {
    int32_t seen = 0, joins = 0;
    for (struct ipex_node *node = x->producer->next; node && seen < x->uses; node = node->next)
        for (int32_t i = 0; i < node->inputs; i++)
            if (ipex_node_operands(node)[i] == x) {
                seen++;
                joins += node->kind == IPEX_KIND_concat;
                if (!reads_slices(node, i))
                    return false;
            }
    return joins == 1;
}

enum ipex_reason ipex_concat_reason(const struct ipex_value *y, const struct ipex_value *x) {
    if (x->constant || !x->producer || x->is_output)
        return IPEX_REASON_port;
    if (x->uses != 1 && !readers_take_slices(x))
        return IPEX_REASON_two_consumers;
    if (memcmp(x->layout->order, y->layout->order, (size_t)y->rank * sizeof *y->layout->order))
        return IPEX_REASON_layout_differs;
    return IPEX_REASON_not_adjacent;
}

/* The producer can write rows that do not follow each other without gaps; a concatenation, whose
 * parts are then parts of this one too. */
static bool writes_slices(const struct ipex_node *producer, int32_t axis, bool last_axis) {
    switch (producer->kind) {
    case IPEX_KIND_concat:
        return producer->u.axis == axis;
    case IPEX_KIND_conv:
    case IPEX_KIND_pool:
    case IPEX_KIND_pointwise:
    case IPEX_KIND_pad:
        return true;
    case IPEX_KIND_linear:
        return last_axis;
    default:
        return is_image_op(producer);
    }
}

static void assign_slots(struct ipex_dims *dims, struct ipex_node *node) {
    struct ipex_value *y = node->output;
    bool last_axis = y->layout->order[y->rank - 1] == node->u.axis;
    int64_t start = 0;
    for (int32_t i = 0; i < node->inputs; i++) {
        struct ipex_value *x = node->concat_input[i];
        if (ipex_concat_reason(y, x) == IPEX_REASON_not_adjacent &&
            writes_slices(x->producer, node->u.axis, last_axis)) {
            x->layout->concat = y;
            x->layout->concat_axis = node->u.axis;
            x->layout->concat_start = start;
        }
        start = ipex_dim_add(dims, start, x->dims[node->u.axis]);
    }
}

/* ---- halos ---- */

/* Everyone who reads the image x does so as well where there is a halo around it. */
static bool readers_take_halo(const struct ipex_value *x) {
    int32_t seen = 0;
    if (!x->producer || x->is_output)
        return false;
    for (struct ipex_node *node = x->producer->next; node && seen < x->uses; node = node->next)
        for (int32_t i = 0; i < node->inputs; i++)
            if (ipex_node_operands(node)[i] == x) {
                seen++;
                if (is_channel_slice(node) ? !readers_take_halo(node->output)
                                           : node->kind != IPEX_KIND_conv && !reads_slices(node, i))
                    return false;
            }
    return true;
}

/* The value in whose memory the convolution finds what it pads. */
static struct ipex_value *padded_value(const struct ipex_node *conv) {
    struct ipex_value *x = conv->input[0];
    while (reads_slices(conv, 0) && x->producer && is_channel_slice(x->producer) &&
           readers_take_halo(x->producer->input[0]))
        x = x->producer->input[0];
    return x;
}

/* Whether the halo around bytes holds what stands for 0 in x, which is a part of them. */
static bool agree_on_zero(struct ipex_value *whole, const struct ipex_value *x) {
    if (!whole->layout->bytes || !x->has_zero)
        return true;
    if (whole->has_zero)
        return whole->zero_byte == x->zero_byte;
    whole->has_zero = true;
    whole->zero_byte = x->zero_byte;
    return true;
}

/* Room for padding around what the convolution reads, in the memory of what it is part of. */
static void need_halo(const struct ipex_node *conv) {
    struct ipex_value *whole = padded_value(conv);
    if (!has_channels_last(whole))
        return;
    while (whole->layout->concat)
        whole = whole->layout->concat;
    struct ipex_value_layout *l = whole->layout;
    if (!l->holds_halo || !agree_on_zero(whole, conv->input[0]))
        return;
    for (int i = 0; i < 4; i++)
        if (l->halo[i] < conv->u.conv.pad[i])
            l->halo[i] = (uint16_t)conv->u.conv.pad[i];
}

static struct ipex_value_layout *fresh(struct ipex_graph *graph, struct ipex_value *value) {
    value->layout = ipex_arena_alloc(&graph->arena, sizeof *value->layout);
    value->layout->own = -1;
    return value->layout;
}

void ipex_layout(struct ipex_graph *graph) {
    for (size_t i = 0; i < graph->inputs; i++)
        identity_order(graph->input[i]->rank, fresh(graph, graph->input[i])->order);
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        fresh(graph, node->output);
        for (int i = 0; i < 2; i++)
            if (node->extra_output[i])
                identity_order(node->extra_output[i]->rank,
                               fresh(graph, node->extra_output[i])->order);
        choose_order(&graph->dims, node);
    }
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->kind == IPEX_KIND_concat)
            assign_slots(&graph->dims, node);
    ipex_choose_storage(graph);
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->kind == IPEX_KIND_conv && !node->u.conv.transposed &&
            (!ipex_reads_bf16(graph, node) || ipex_stored_dtype(node->input[0]) == IPEX_DTYPE_bf16))
            need_halo(node);
}
