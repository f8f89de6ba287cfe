/* SPDX-License-Identifier: Apache-2.0 */
/* Finds normalisations that exporters spell in several nodes:
 *   layer:  d = x - mean(x);  d / sqrt(mean(d^2) + eps)  [* gamma]  [+ beta]
 *   RMS:    x / sqrt(mean(x^2) + eps)  [* gamma]
 *   group:  reshape to [N][groups][rest], instance norm with the same scale everywhere, reshape
 *           back  [* gamma]  [+ beta]
 * over the last axis, or over the channels of an image, which lie last in memory (of a signal or a
 * volume, as an image of one line). A mean that is read by others too stays for them. An instance
 * norm of one channel is a layer norm over all of it. */
#include "tools/convert/match.h"
#include "tools/convert/passes.h"

#include <string.h>

struct norm {
    struct ipex_value *x, *gamma, *beta;
    struct ipex_node *last; /* what computes the result */
    int32_t axis;
    bool rms;
    float eps;
};

/* mean over one axis, kept as 1 */
static struct ipex_value *mean_of(const struct ipex_value *value, int32_t *ret_axis) {
    const struct ipex_node *node = value->producer;
    if (!node || node->kind != IPEX_KIND_reduce || node->u.reduce.kind != IPEX_REDUCE_mean)
        return NULL;
    for (int32_t i = 0; i < value->rank; i++)
        if (node->u.reduce.axes == UINT32_C(1) << i) {
            *ret_axis = i;
            return node->input[0];
        }
    return NULL;
}

/* sqrt(mean(d^2) + eps): d */
static struct ipex_value *deviation_of(const struct ipex_value *value, struct norm *n) {
    const struct ipex_node *root = ipex_match_step(value, IPEX_STEP_sqrt);
    struct ipex_value *mean, *square, *d;
    if (!root || !ipex_match_scalar(root->input[0], IPEX_STEP_add, &mean, &n->eps))
        return NULL;
    square = mean_of(mean, &n->axis);
    return square && ipex_match_square(square, &d) ? d : NULL;
}

/* 1 / that, spelled as a reciprocal, a division or a power: d */
static struct ipex_value *inverse_deviation_of(const struct ipex_value *value, struct norm *n) {
    const struct ipex_node *node = ipex_match_step(value, IPEX_STEP_reciprocal);
    struct ipex_value *mean, *square, *d;
    float exponent;
    if (node)
        return deviation_of(node->input[0], n);
    node = ipex_match_step(value, IPEX_STEP_div);
    if (node && node->inputs == 1 && node->u.program->step[0].a < 0 &&
        node->u.program->step[0].b == 0 &&
        node->u.program->constant[-1 - node->u.program->step[0].a] == 1)
        return deviation_of(node->input[0], n);
    if (!ipex_match_scalar(value, IPEX_STEP_pow, &mean, &exponent) || exponent != -0.5f ||
        !ipex_match_scalar(mean, IPEX_STEP_add, &mean, &n->eps))
        return NULL;
    square = mean_of(mean, &n->axis);
    return square && ipex_match_square(square, &d) ? d : NULL;
}

/* The value that is divided by its own deviation in this node, or NULL. */
static struct ipex_value *divided_by_deviation(const struct ipex_node *node, struct norm *n) {
    struct ipex_value *a, *b, *d;
    if (node->kind != IPEX_KIND_pointwise || node->u.program->steps != 1 ||
        !ipex_match_operands(node, &a, &b))
        return NULL;
    switch ((enum ipex_step)node->u.program->step[0].op) {
    case IPEX_STEP_div:
        d = deviation_of(b, n);
        return d && ipex_match_same(d, a) ? a : NULL;
    case IPEX_STEP_mul:
        d = inverse_deviation_of(b, n);
        if (d && ipex_match_same(d, a))
            return a;
        d = inverse_deviation_of(a, n);
        return d && ipex_match_same(d, b) ? b : NULL;
    default:
        return NULL;
    }
}

/* d = x - mean(x) along the axis: x; NULL where d is no difference from a mean. */
static struct ipex_value *centred(const struct ipex_value *d, int32_t axis) {
    const struct ipex_node *node = ipex_match_step(d, IPEX_STEP_sub);
    struct ipex_value *x, *mean;
    int32_t over = -1;
    return node && ipex_match_operands(node, &x, &mean) && mean_of(mean, &over) == x && over == axis
               ? x
               : NULL;
}

static void take_affine(const struct ipex_graph *graph, struct norm *n, int32_t axis) {
    struct ipex_node *node =
        ipex_match_vector_reader(graph, n->last->output, IPEX_STEP_mul, axis, &n->gamma);
    if (node)
        n->last = node;
    if (n->rms)
        return;
    node = ipex_match_vector_reader(graph, n->last->output, IPEX_STEP_add, axis, &n->beta);
    if (node)
        n->last = node;
}

static struct ipex_value *as_vector(struct ipex_graph *graph, struct ipex_value *value, int64_t n) {
    return value->rank == 1 ? value
                            : ipex_graph_constant(graph, value->name, value->dtype, 1, &n,
                                                  ipex_constant_data(value));
}

/* An operand list x, gamma, beta; ones stand in for a gamma that is missing before a beta. */
static void add_operands(struct ipex_graph *graph, struct ipex_node *node, struct ipex_value *x,
                         const struct norm *n, int64_t channels) {
    ipex_node_add_input(node, x);
    if (!n->gamma && !n->beta)
        return;
    ipex_node_add_operand(node, n->gamma ? as_vector(graph, n->gamma, channels) : NULL);
    if (n->beta)
        ipex_node_add_input(node, as_vector(graph, n->beta, channels));
}

static struct ipex_node *plan_node(struct ipex_graph *graph, const struct norm *n, enum ipex_op op,
                                   enum ipex_order_policy policy, int64_t first_int) {
    struct ipex_node *node =
        ipex_graph_node(graph, IPEX_KIND_plan, n->last->name, n->last->source_op, n->last);
    node->u.plan = (struct ipex_plan_op){.op = op,
                                         .policy = policy,
                                         .ints = 2,
                                         .floats = 3,
                                         .int_ = {first_int},
                                         .float_ = {n->eps}};
    return node;
}

/* `writer` computes from now on what n->last did. */
static void replace_last(struct ipex_graph *graph, const struct norm *n, struct ipex_node *writer) {
    struct ipex_value *y = n->last->output;
    ipex_graph_remove(graph, n->last);
    ipex_node_set_output(writer, y);
}

static void emit_layer_norm(struct ipex_graph *graph, const struct norm *n) {
    static const int32_t to_last[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2};
    const bool image = n->axis != n->x->rank - 1;
    struct ipex_value *x = image ? ipex_graph_transposed(graph, n->x, to_last, n->last) : n->x;
    struct ipex_node *node =
        plan_node(graph, n, IPEX_OP_layer_norm, IPEX_ORDER_rows, n->rms ? 1 : 0);
    add_operands(graph, node, x, n, n->x->dims[n->axis]);
    if (!image) {
        replace_last(graph, n, node);
        return;
    }
    ipex_node_set_output(
        node, ipex_graph_value(graph, n->last->output->name, x->dtype, x->rank, x->dims));
    struct ipex_node *writer =
        ipex_graph_node(graph, IPEX_KIND_transpose, n->last->name, "Transpose", n->last);
    memcpy(writer->u.perm, back, sizeof back);
    ipex_node_add_input(writer, node->output);
    replace_last(graph, n, writer);
}

static void try_layer_norm(struct ipex_graph *graph, struct ipex_node *node) {
    struct norm n = {.last = node};
    struct ipex_value *d = divided_by_deviation(node, &n);
    if (!d)
        return;
    n.x = centred(d, n.axis);
    n.rms = n.x == NULL;
    if (n.rms)
        n.x = d;
    const bool image = n.x->rank == 4 && n.axis == 1;
    int64_t channels;
    enum ipex_reason reason = IPEX_REASON_applied;
    if (!image && n.axis != n.x->rank - 1)
        reason = IPEX_REASON_axis_mismatch;
    else if (!ipex_dim_number(&graph->dims, n.x->dims[n.axis], &channels) || n.x->uses < 1)
        reason = IPEX_REASON_shape_mismatch;
    if (reason == IPEX_REASON_applied) {
        take_affine(graph, &n, n.axis);
        emit_layer_norm(graph, &n);
    }
    ipex_ledger_add(graph->ledger, "norm", node->name, reason,
                    reason != IPEX_REASON_applied ? NULL
                    : n.rms                       ? "recognised as RMS normalisation"
                                                  : "recognised as layer normalisation");
}

/* ---- group ---- */

/* Every element of a constant is `number`. */
static bool is_all(const struct ipex_value *constant, double number) {
    if (!constant->constant)
        return false;
    int64_t count = ipex_value_numel(constant);
    for (int64_t i = 0; i < count; i++)
        if (ipex_constant_f64(constant, i) != number)
            return false;
    return true;
}

/* Through reshapes, each of which only this chain reads, upwards. */
static struct ipex_value *before_reshapes(const struct ipex_graph *graph, struct ipex_value *x) {
    while (x->producer && x->producer->kind == IPEX_KIND_reshape &&
           ipex_value_only_reader(graph, x))
        x = x->producer->input[0];
    return x;
}

static struct ipex_node *after_reshapes(const struct ipex_graph *graph, struct ipex_node *node) {
    for (struct ipex_node *next;; node = next) {
        next = ipex_value_only_reader(graph, node->output);
        if (!next || next->kind != IPEX_KIND_reshape)
            return node;
    }
}

static bool is_group_site(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_plan && node->u.plan.op == IPEX_OP_group_norm &&
           node->inputs == 3 && node->input[0]->producer &&
           node->input[0]->producer->kind == IPEX_KIND_reshape &&
           node->u.plan.int_[0] == node->input[0]->dims[1];
}

/* Of what has channels: [N][C][H][W] itself, others as [N][C][1][rest]. */
static void image_dims(struct ipex_dims *table, const struct ipex_value *x, int64_t *ret) {
    const int64_t line[4] = {x->dims[0], x->dims[1], 1, 1};
    memcpy(ret, x->rank == 4 ? x->dims : line, sizeof line);
    for (int32_t i = 2; i < x->rank && x->rank != 4; i++)
        ret[3] = ipex_dim_mul(table, ret[3], x->dims[i]);
}

static struct ipex_value *reshaped(struct ipex_graph *graph, const struct norm *n,
                                   struct ipex_value *x, int32_t rank, const int64_t *dims) {
    struct ipex_node *node =
        ipex_graph_node(graph, IPEX_KIND_reshape, n->last->name, "Reshape", n->last);
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, ipex_graph_value(graph, x->name, x->dtype, rank, dims));
    return node->output;
}

/* `writer` computes an image of what n->last did, whose result has other dims. */
static void replace_by_image(struct ipex_graph *graph, const struct norm *n,
                             struct ipex_node *writer, const int64_t *dims) {
    const struct ipex_value *y = n->last->output;
    ipex_node_set_output(writer, ipex_graph_value(graph, y->name, y->dtype, 4, dims));
    struct ipex_node *back =
        ipex_graph_node(graph, IPEX_KIND_reshape, n->last->name, "Reshape", n->last);
    ipex_node_add_input(back, writer->output);
    replace_last(graph, n, back);
}

static enum ipex_reason check_group(const struct ipex_graph *graph, const struct ipex_node *node,
                                    struct norm *n) {
    const int64_t groups = node->u.plan.int_[0];
    const struct ipex_value *y = n->last->output;
    n->x = before_reshapes(graph, node->input[0]);
    if (n->x->rank < 3 || y->rank < 3 || n->x->dims[0] != node->input[0]->dims[0] ||
        n->x->dims[0] != y->dims[0] || n->x->dims[1] != y->dims[1] || n->x->dims[1] < groups ||
        n->x->dims[1] % groups)
        return IPEX_REASON_shape_mismatch;
    return is_all(node->input[1], 1) && is_all(node->input[2], 0) ? IPEX_REASON_applied
                                                                  : IPEX_REASON_mixed_inputs;
}

static void emit_group_norm(struct ipex_graph *graph, struct norm *n, int64_t groups) {
    int64_t dims[4];
    image_dims(&graph->dims, n->x, dims);
    take_affine(graph, n, 1);
    struct ipex_value *x = n->x->rank == 4 ? n->x : reshaped(graph, n, n->x, 4, dims);
    struct ipex_node *whole =
        plan_node(graph, n, IPEX_OP_group_norm, IPEX_ORDER_channels_last, groups);
    add_operands(graph, whole, x, n, dims[1]);
    if (ipex_same_shape(x, n->last->output))
        replace_last(graph, n, whole);
    else
        replace_by_image(graph, n, whole, dims);
}

/* An instance norm of one channel: its scale and shift are numbers. */
static void emit_whole_norm(struct ipex_graph *graph, struct ipex_node *node) {
    struct norm n = {.last = node, .eps = node->u.plan.float_[0]};
    const struct ipex_value *y = node->output;
    const bool plain = is_all(node->input[1], 1) && is_all(node->input[2], 0);
    const int64_t flat[2] = {y->dims[0], ipex_dim_mul(&graph->dims, y->dims[2], y->dims[3])};
    struct ipex_value *x = reshaped(graph, &n, node->input[0], 2, flat);
    struct ipex_node *rows = plan_node(graph, &n, IPEX_OP_layer_norm, IPEX_ORDER_rows, 0);
    ipex_node_add_input(rows, x);
    ipex_node_set_output(rows, ipex_graph_value(graph, y->name, y->dtype, 2, flat));
    struct ipex_node *last = ipex_graph_node(graph, IPEX_KIND_reshape, node->name, "Reshape", node);
    ipex_node_add_input(last, rows->output);
    if (!plain) {
        ipex_node_set_output(last, ipex_graph_value(graph, y->name, y->dtype, 4, y->dims));
        last = ipex_graph_node(graph, IPEX_KIND_affine, node->name, node->source_op, node);
        last->u.affine.axis = 1;
        last->u.affine.n = 1;
        last->u.affine.scale = ipex_arena_array(&graph->arena, 1, sizeof(double));
        last->u.affine.shift = ipex_arena_array(&graph->arena, 1, sizeof(double));
        *last->u.affine.scale = ipex_constant_f64(node->input[1], 0);
        *last->u.affine.shift = ipex_constant_f64(node->input[2], 0);
        ipex_node_add_input(last, last->prev->output);
    }
    replace_last(graph, &n, last);
}

static bool is_whole_site(const struct ipex_graph *graph, const struct ipex_node *node) {
    int64_t pixels;
    return node->kind == IPEX_KIND_plan && node->u.plan.op == IPEX_OP_group_norm &&
           node->inputs == 3 && node->input[0]->dims[1] == 1 && node->input[1]->constant &&
           node->input[2]->constant &&
           ipex_dim_number(&graph->dims, node->input[0]->dims[2], &pixels) &&
           ipex_dim_number(&graph->dims, node->input[0]->dims[3], &pixels);
}

static void try_group_norm(struct ipex_graph *graph, struct ipex_node *node) {
    struct norm n = {.last = after_reshapes(graph, node), .eps = node->u.plan.float_[0]};
    if (n.last == node)
        return;
    enum ipex_reason reason = check_group(graph, node, &n);
    if (n.x->rank > 1 && n.x->dims[1] == node->u.plan.int_[0])
        return; /* an instance norm */
    const char *site = node->name;
    if (reason == IPEX_REASON_applied)
        emit_group_norm(graph, &n, node->u.plan.int_[0]);
    ipex_ledger_add(graph->ledger, "norm", site, reason,
                    reason == IPEX_REASON_applied ? "recognised as group normalisation" : NULL);
}

void ipex_pass_norm(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next)
        try_layer_norm(graph, node);
    ipex_graph_prune(graph);
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (is_group_site(node))
            try_group_norm(graph, node);
    ipex_graph_prune(graph);
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (is_whole_site(graph, node)) {
            ipex_ledger_add(graph->ledger, "norm", node->name, IPEX_REASON_applied,
                            "one channel: a layer normalisation");
            emit_whole_norm(graph, node);
        }
    }
}
