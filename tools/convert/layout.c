/* SPDX-License-Identifier: Apache-2.0 */
/* Where values lie: the order of axes that each producer writes, which values go straight into a
 * slice of a concatenation, and how much halo convolutions need around them. */
#include "tools/convert/lower.h"

#include <string.h>

const int32_t ipex_channels_last[4] = {0, 2, 3, 1};

static void identity_order(int32_t rank, int32_t *order) {
    for (int32_t i = 0; i < rank; i++)
        order[i] = i;
}

/* ---- reshape ---- */

/* Axes that are not 1, in logical order. */
static int32_t real_axes(const struct ipex_value *value, int32_t *axes) {
    int32_t n = 0;
    for (int32_t i = 0; i < value->rank; i++)
        if (value->dims[i] != 1)
            axes[n++] = i;
    return n;
}

/* Dims of 1 go where they disturb least: before the next real axis of y, else at the end. */
static void insert_units(const struct ipex_value *y, const int32_t *real, int32_t n,
                         int32_t *ret_order) {
    int32_t out = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t first = real[i];
        while (first > 0 && y->dims[first - 1] == 1)
            first--;
        for (int32_t u = first; u <= real[i]; u++)
            ret_order[out++] = u;
    }
    for (int32_t u = y->rank; u-- > 0 && y->dims[u] == 1;)
        out++;
    for (int32_t u = y->rank - 1, at = out - 1; u >= 0 && y->dims[u] == 1; u--)
        ret_order[at--] = u;
}

/* Products of the first 0, 1, 2 ... of these axes' dims. */
static void prefixes(struct ipex_dims *dims, const struct ipex_value *value, const int32_t *axes,
                     int32_t n, int64_t *ret) {
    ret[0] = 1;
    for (int32_t i = 0; i < n; i++)
        ret[i + 1] = ipex_dim_mul(dims, ret[i], value->dims[axes[i]]);
}

/* Splits both lists of axes into the smallest groups of equal size: where their products agree. */
static bool group_axes(struct ipex_dims *dims, const struct ipex_value *x, const int32_t *xa,
                       int32_t xn, const struct ipex_value *y, const int32_t *ya, int32_t yn,
                       int32_t *group_of_x, int32_t *group_of_y) {
    int64_t px[IPEX_MAX_RANK + 1], py[IPEX_MAX_RANK + 1];
    int32_t i = 0, j = 0;
    prefixes(dims, x, xa, xn, px);
    prefixes(dims, y, ya, yn, py);
    for (int32_t group = 0; i < xn; group++) {
        int32_t to_x = i + 1, to_y = yn + 1;
        for (; to_x <= xn && to_y > yn; to_x += to_y > yn)
            for (to_y = j + 1; to_y <= yn && py[to_y] != px[to_x];)
                to_y++;
        if (to_x > xn || to_y > yn)
            return false;
        while (i < to_x)
            group_of_x[i++] = group;
        while (j < to_y)
            group_of_y[j++] = group;
    }
    return j == yn;
}

bool ipex_reshape_order(struct ipex_dims *dims, const struct ipex_value *x, const int32_t *x_order,
                        const struct ipex_value *y, int32_t *ret_order) {
    int32_t xa[IPEX_MAX_RANK], ya[IPEX_MAX_RANK], xn = real_axes(x, xa), yn = real_axes(y, ya);
    int32_t group_of_x[IPEX_MAX_RANK], group_of_y[IPEX_MAX_RANK], position[IPEX_MAX_RANK], at = 0;
    for (int32_t i = 0; i < x->rank; i++)
        if (x->dims[x_order[i]] != 1)
            position[x_order[i]] = at++;
    if (!group_axes(dims, x, xa, xn, y, ya, yn, group_of_x, group_of_y))
        return false;
    for (int32_t i = 1; i < xn; i++) /* joined axes must be neighbours in memory */
        if (group_of_x[i] == group_of_x[i - 1] && position[xa[i]] != position[xa[i - 1]] + 1)
            return false;
    int32_t real[IPEX_MAX_RANK], n = 0, last = -1;
    for (int32_t p = 0; p < xn; p++)
        for (int32_t i = 0; i < xn; i++)
            if (position[xa[i]] == p && group_of_x[i] != last) {
                last = group_of_x[i];
                for (int32_t j = 0; j < yn; j++)
                    if (group_of_y[j] == last)
                        real[n++] = ya[j];
            }
    insert_units(y, real, n, ret_order);
    return true;
}

/* ---- orders ---- */

static bool same_dims(const struct ipex_value *a, const struct ipex_value *b) {
    return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

/* The operand whose order the result keeps: one of the result's size before any other of its rank.
 */
static const struct ipex_value *leading_operand(struct ipex_node *node) {
    struct ipex_value *const *x = ipex_node_operands(node);
    for (int32_t i = 0; i < node->inputs; i++)
        if (x[i] && x[i]->layout && same_dims(x[i], node->output))
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

/* Attention walks heads in either place: the result keeps them where the queries have them. */
static void choose_attention_order(const struct ipex_node *node, int32_t *order) {
    static const int32_t heads_last[4] = {0, 2, 1, 3};
    const struct ipex_value *q = node->input[0];
    if (node->output->rank == 4 && q->rank == 4 && q->layout &&
        !memcmp(q->layout->order, heads_last, sizeof heads_last))
        memcpy(order, heads_last, sizeof heads_last);
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
    case IPEX_KIND_linear:
        break;
    case IPEX_KIND_reshape:
        if (x->layout && !ipex_reshape_order(dims, x, x->layout->order, y, l->order))
            identity_order(y->rank, l->order);
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

/* Operand i can be a slice: the node walks pixels (rows) that do not follow each other. */
static bool reads_slices(const struct ipex_node *node, int32_t i) {
    switch (node->kind) {
    case IPEX_KIND_conv: /* a kernel row that is one segment of the weight wants them adjacent */
        return i > 0 || node->u.conv.winograd || node->u.conv.kernel[1] == 1 ||
               node->u.conv.dilation[1] > 1 || node->u.conv.groups > 1;
    case IPEX_KIND_pool:
    case IPEX_KIND_pointwise:
    case IPEX_KIND_concat:
        return true;
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

/* The producer can write rows that do not follow each other without gaps. */
static bool writes_slices(const struct ipex_node *producer, bool last_axis) {
    switch (producer->kind) {
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
            writes_slices(x->producer, last_axis)) {
            x->layout->concat = y;
            x->layout->concat_axis = node->u.axis;
            x->layout->concat_start = start;
        }
        start = ipex_dim_add(dims, start, x->dims[node->u.axis]);
    }
}

/* ---- halos ---- */

static void need_halo(struct ipex_value *x, const int64_t *pad) {
    struct ipex_value_layout *l = x->layout;
    if (!l || memcmp(l->order, ipex_channels_last, sizeof ipex_channels_last))
        return;
    if (l->concat)
        l = l->concat->layout;
    for (int i = 0; l->holds_halo && i < 4; i++)
        if (l->halo[i] < pad[i])
            l->halo[i] = (uint16_t)pad[i];
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
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->kind == IPEX_KIND_conv && !node->u.conv.transposed &&
            !ipex_reads_bf16(graph, node))
            need_halo(node->input[0], node->u.conv.pad);
}
