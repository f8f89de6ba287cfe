/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNorm, and Mul, Add, Sub, Div by a constant per channel, after a convolution or linear layer:
 * s (W x + b) + t = (s W) x + (s b + t). After a concatenation of such layers each takes its part,
 * after a sum of them all take the scale and one the shift; what is left may go into the layers
 * behind it (pass_affine_ahead.c). Scales and biases are kept in f64; the weight is multiplied and
 * rounded once, when it is packed. */
#include "tools/convert/affine.h"

#include <math.h>
#include <string.h>

#include "tools/convert/match.h"
#include "tools/convert/passes.h"

/* The axis along which a constant broadcast to `rank` dims varies: -1 none, -2 several. */
static int32_t varying_axis(const struct ipex_value *constant, int32_t rank) {
    int32_t axis = -1;
    for (int32_t i = 0; i < constant->rank; i++)
        if (constant->dims[i] != 1) {
            if (axis != -1)
                return -2;
            axis = i + rank - constant->rank;
        }
    return axis;
}

/* NULL where an inverse does not exist. */
static double *doubles(struct ipex_graph *graph, const struct ipex_value *constant, bool negate,
                       bool invert) {
    int64_t n = ipex_value_numel(constant);
    double *v = ipex_arena_array(&graph->arena, (size_t)n, sizeof *v);
    for (int64_t i = 0; i < n; i++) {
        v[i] = ipex_constant_f64(constant, i);
        if (invert && v[i] == 0)
            return NULL;
        v[i] = invert ? 1 / v[i] : negate ? -v[i] : v[i];
    }
    return v;
}

static const double *minus_ones(struct ipex_graph *graph, int64_t n) {
    double *v = ipex_arena_array(&graph->arena, (size_t)n, sizeof *v);
    for (int64_t i = 0; i < n; i++)
        v[i] = -1;
    return v;
}

/* Which operand of a one-step pointwise node is the constant: its code, or 1 << 15 when neither
 * fits. */
static bool constant_operand(const struct ipex_node *node, int16_t *ret_data,
                             int16_t *ret_constant) {
    const struct ipex_program *p = node->u.program;
    int16_t a = p->step[0].a, b = p->step[0].b;
    bool a_constant = a < 0 || node->input[a]->constant,
         b_constant = b < 0 || node->input[b]->constant;
    if (a_constant == b_constant)
        return false;
    *ret_data = a_constant ? b : a;
    *ret_constant = a_constant ? a : b;
    return true;
}

bool ipex_affine_of(struct ipex_graph *graph, const struct ipex_node *node, struct ipex_affine *ret,
                    struct ipex_value **ret_x) {
    if (node->kind == IPEX_KIND_affine) {
        *ret = (struct ipex_affine){node->u.affine.axis, node->u.affine.n, node->u.affine.scale,
                                    node->u.affine.shift};
        *ret_x = node->input[0];
        return true;
    }
    int16_t data, constant;
    if (node->kind != IPEX_KIND_pointwise || node->u.program->steps != 1 ||
        !constant_operand(node, &data, &constant))
        return false;
    enum ipex_step op = (enum ipex_step)node->u.program->step[0].op;
    bool constant_first = node->u.program->step[0].a == constant;
    if ((op != IPEX_STEP_add && op != IPEX_STEP_mul && op != IPEX_STEP_sub &&
         op != IPEX_STEP_div) ||
        (constant_first && op == IPEX_STEP_div))
        return false;
    const int64_t one = 1;
    const struct ipex_value *value =
        constant >= 0 ? node->input[constant]
                      : ipex_graph_constant(graph, "", IPEX_DTYPE_f32, 1, &one,
                                            &node->u.program->constant[-1 - constant]);
    const bool from_constant = constant_first && op == IPEX_STEP_sub; /* c - x = -x + c */
    const int64_t n = ipex_value_numel(value);
    const double *v =
        doubles(graph, value, op == IPEX_STEP_sub && !from_constant, op == IPEX_STEP_div);
    if (!v)
        return false;
    bool scales = op == IPEX_STEP_mul || op == IPEX_STEP_div;
    *ret = (struct ipex_affine){varying_axis(value, node->output->rank), n,
                                scales          ? v
                                : from_constant ? minus_ones(graph, n)
                                                : NULL,
                                scales ? NULL : v};
    *ret_x = node->input[data];
    return true;
}

/* The images of a volume's depths (import_volume.h), which become it by a reshape and this
 * transpose; NULL: no such one, or somebody else reads what is between. */
static struct ipex_value *images_of_volume(const struct ipex_graph *graph,
                                           const struct ipex_node *transpose) {
    static const int32_t depths_first[5] = {0, 2, 1, 3, 4};
    struct ipex_value *between = transpose->input[0];
    const struct ipex_node *reshape = between->producer;
    if (between->rank != 5 || memcmp(transpose->u.perm, depths_first, sizeof depths_first) ||
        !reshape || reshape->kind != IPEX_KIND_reshape || !ipex_value_only_reader(graph, between))
        return NULL;
    struct ipex_value *images = reshape->input[0];
    return images->rank == 4 && !memcmp(images->dims + 1, between->dims + 2, 3 * sizeof(int64_t))
               ? images
               : NULL;
}

struct ipex_value *ipex_affine_behind_moves(const struct ipex_graph *graph, struct ipex_value *x,
                                            struct ipex_node **ret_move) {
    struct ipex_node *node = x->producer;
    struct ipex_value *from = NULL;
    *ret_move = NULL;
    if (!node || !ipex_value_only_reader(graph, x))
        return x;
    if (node->kind == IPEX_KIND_transpose)
        from = images_of_volume(graph, node);
    else if (node->kind == IPEX_KIND_reshape && x->rank >= 2 &&
             node->input[0]->dims[0] == x->dims[0] && node->input[0]->dims[1] == x->dims[1])
        from = node->input[0];
    if (!from || !from->producer ||
        (from->producer->kind != IPEX_KIND_conv && !ipex_match_step(from, IPEX_STEP_add)))
        return x;
    *ret_move = node;
    return from;
}

static bool is_layer(const struct ipex_node *node) {
    return node && (node->kind == IPEX_KIND_conv || node->kind == IPEX_KIND_linear);
}

static enum ipex_reason check(const struct ipex_graph *graph, const struct ipex_affine *affine,
                              const struct ipex_value *x, struct ipex_value *y) {
    struct ipex_node *producer = x->producer;
    if (!producer)
        return IPEX_REASON_no_producer;
    if (producer->kind == IPEX_KIND_pointwise && producer->inputs == 1)
        return IPEX_REASON_act_between;
    if (producer->kind == IPEX_KIND_pointwise && producer->u.program->steps == 1 &&
        producer->u.program->step[0].op == IPEX_STEP_add)
        return IPEX_REASON_residual_between;
    if (!is_layer(producer))
        return IPEX_REASON_no_linear_producer;
    if (affine->axis != -1 &&
        (affine->axis != (producer->kind == IPEX_KIND_conv ? 1 : x->rank - 1) ||
         affine->n != producer->fold.n))
        return IPEX_REASON_axis_mismatch;
    if (!ipex_same_shape(x, y))
        return IPEX_REASON_broadcast;
    if (x->uses != 1 || x->is_output || !ipex_value_only_reader(graph, x))
        return IPEX_REASON_two_consumers;
    if (affine->scale && producer->input[1]->uses > 1)
        return IPEX_REASON_shared_weight;
    return IPEX_REASON_applied;
}

static void apply(struct ipex_graph *graph, const struct ipex_affine *affine,
                  struct ipex_node *producer) {
    struct ipex_fold *fold = &producer->fold;
    size_t n = (size_t)fold->n;
    double *scale = ipex_arena_array(&graph->arena, n, sizeof *scale),
           *bias = ipex_arena_array(&graph->arena, n, sizeof *bias);
    for (size_t i = 0; i < n; i++) {
        size_t k = affine->axis == -1 ? 0 : i;
        double s = affine->scale ? affine->scale[k] : 1, t = affine->shift ? affine->shift[k] : 0;
        scale[i] = (fold->scale ? fold->scale[i] : 1) * s;
        bias[i] = (fold->bias ? fold->bias[i] : 0) * s + t;
    }
    if (affine->scale || fold->scale)
        fold->scale = scale;
    fold->bias = bias;
}

/* The affine node disappears: what it wrote is now written by the producer (or by the last move
 * between them). */
static void splice(struct ipex_graph *graph, struct ipex_node *node, struct ipex_node *producer,
                   struct ipex_node *move) {
    struct ipex_node *writer = move ? move : producer;
    struct ipex_value *y = node->output;
    producer->name = ipex_graph_join(graph, producer->name, node->name);
    ipex_graph_remove(graph, node);
    ipex_node_set_output(writer, y);
}

static bool is_batch_norm(const struct ipex_node *node) {
    return !strcmp(node->source_op, "BatchNormalization");
}

/* Looks at what x comes from, through moves where there are any: `from`, with the verdict. */
struct site {
    struct ipex_value *from;
    struct ipex_node *move; /* the last one; NULL: none */
    enum ipex_reason reason;
};

static struct site look_behind(const struct ipex_graph *graph, const struct ipex_affine *affine,
                               struct ipex_value *x, struct ipex_value *y) {
    struct site site;
    site.from = ipex_affine_behind_moves(graph, x, &site.move);
    site.reason = site.move && affine->axis != 1 && affine->axis != -1
                      ? IPEX_REASON_axis_mismatch
                      : check(graph, affine, site.from, site.move ? site.from : y);
    return site;
}

/* ---- behind a concatenation: every layer before it takes its part ---- */

/* What input i of the concatenation gets; `at` walks along the axis of both. */
static struct ipex_affine part_of(const struct ipex_affine *affine, const struct ipex_node *concat,
                                  int32_t i, int64_t *at) {
    struct ipex_affine part = *affine;
    if (affine->axis == -1 || affine->axis != concat->u.axis)
        return part;
    part.n = concat->concat_input[i]->dims[affine->axis];
    part.scale = affine->scale ? affine->scale + *at : NULL;
    part.shift = affine->shift ? affine->shift + *at : NULL;
    *at += part.n;
    return part;
}

static bool splits(const struct ipex_graph *graph, const struct ipex_affine *affine,
                   const struct ipex_node *concat, struct ipex_value *y) {
    int64_t at = 0;
    if (!ipex_value_only_reader(graph, concat->output) || !ipex_same_shape(concat->output, y) ||
        (affine->axis != -1 && affine->n != y->dims[affine->axis]))
        return false;
    for (int32_t i = 0; i < concat->inputs; i++) {
        const struct ipex_affine part = part_of(affine, concat, i, &at);
        struct ipex_value *x = concat->concat_input[i];
        if (look_behind(graph, &part, x, x).reason != IPEX_REASON_applied)
            return false;
    }
    return true;
}

static void apply_parts(struct ipex_graph *graph, const struct ipex_affine *affine,
                        const struct ipex_node *concat, const struct ipex_node *node) {
    int64_t at = 0;
    for (int32_t i = 0; i < concat->inputs; i++) {
        const struct ipex_affine part = part_of(affine, concat, i, &at);
        struct ipex_value *x = concat->concat_input[i];
        struct ipex_node *layer = look_behind(graph, &part, x, x).from->producer;
        apply(graph, &part, layer);
        layer->name = ipex_graph_join(graph, layer->name, node->name);
    }
}

static void try_concat(struct ipex_graph *graph, struct ipex_node *node,
                       const struct ipex_affine *affine, struct ipex_node *concat) {
    struct ipex_value *y = node->output;
    if (!splits(graph, affine, concat, y))
        return;
    ipex_ledger_add(graph->ledger, "affine", node->name, IPEX_REASON_applied,
                    ipex_arena_printf(&graph->arena, "%s folded into the %d layers before %s",
                                      node->source_op, (int)concat->inputs, concat->name));
    apply_parts(graph, affine, concat, node);
    ipex_graph_remove(graph, node);
    ipex_node_set_output(concat, y);
}

/* ---- behind a sum of layers: each takes the scale, one of them the shift ---- */

enum { SUM_MOST = 64 }; /* layers: of a volume's depthwise convolution as many as it has depths */

struct sum {
    struct ipex_node *layer[SUM_MOST];
    int32_t layers;
};

/* Of layers alone that nobody else reads; x's shape is that of all. */
static bool gather_sum(const struct ipex_graph *graph, const struct ipex_affine *affine,
                       struct ipex_value *x, struct sum *sum) {
    for (;;) { /* the chain goes on through one of the operands */
        struct ipex_node *add = ipex_match_step(x, IPEX_STEP_add);
        struct ipex_value *operand[2];
        if (sum->layers == SUM_MOST)
            return false;
        if (!add) {
            sum->layer[sum->layers++] = x->producer;
            return check(graph, affine, x, x) == IPEX_REASON_applied;
        }
        if (!ipex_value_only_reader(graph, x) ||
            !ipex_match_operands(add, &operand[0], &operand[1]))
            return false;
        const int last = ipex_match_step(operand[0], IPEX_STEP_add) ? 1 : 0;
        if (!ipex_same_shape(operand[0], x) || !ipex_same_shape(operand[1], x) ||
            check(graph, affine, operand[last], operand[last]) != IPEX_REASON_applied)
            return false;
        sum->layer[sum->layers++] = operand[last]->producer;
        x = operand[!last];
    }
}

static bool try_sum(struct ipex_graph *graph, struct ipex_node *node,
                    const struct ipex_affine *affine, const struct site *site) {
    struct sum sum = {.layers = 0};
    struct ipex_value *y = node->output;
    if (!ipex_match_step(site->from, IPEX_STEP_add) ||
        (site->move && affine->axis != 1 && affine->axis != -1) ||
        (!site->move && !ipex_same_shape(site->from, y)) ||
        !gather_sum(graph, affine, site->from, &sum))
        return false;
    struct ipex_affine part = *affine;
    for (int32_t i = 0; i < sum.layers; i++, part.shift = NULL)
        apply(graph, &part, sum.layer[i]);
    ipex_ledger_add(graph->ledger, "affine", node->name, IPEX_REASON_applied,
                    ipex_arena_printf(&graph->arena, "%s folded into the %d layers added by %s",
                                      node->source_op, (int)sum.layers,
                                      site->from->producer->name));
    splice(graph, node, site->from->producer, site->move);
    return true;
}

/* ---- the pass ---- */

static void try_site(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_affine affine;
    struct ipex_value *x;
    if (!ipex_affine_of(graph, node, &affine, &x))
        return;
    const struct site site = look_behind(graph, &affine, x, node->output);
    struct ipex_node *producer = site.from->producer;
    if (site.reason == IPEX_REASON_applied) {
        ipex_ledger_add(graph->ledger, "affine", node->name, site.reason,
                        ipex_arena_printf(&graph->arena, "%s folded into %s (%s)", node->source_op,
                                          producer->name, producer->source_op));
        apply(graph, &affine, producer);
        splice(graph, node, producer, site.move);
    } else if (try_sum(graph, node, &affine, &site)) {
        return;
    } else if (producer && producer->kind == IPEX_KIND_concat) {
        try_concat(graph, node, &affine, producer);
    }
}

/* Why nothing before took it; nothing of an ordinary addition or multiplication, which no layer
 * stands before. */
static void record_refusal(struct ipex_graph *graph, const struct ipex_node *node) {
    struct ipex_affine affine;
    struct ipex_value *x;
    enum ipex_reason reason = IPEX_REASON_dynamic_parameter;
    bool behind_layer = false;
    if (ipex_affine_of(graph, node, &affine, &x)) {
        const struct site site = look_behind(graph, &affine, x, node->output);
        const struct ipex_node *producer = site.from->producer;
        const bool concat = producer && producer->kind == IPEX_KIND_concat;
        reason = concat ? IPEX_REASON_after_concat : site.reason;
        behind_layer = is_layer(producer);
    } else if (node->kind != IPEX_KIND_pointwise) {
        return;
    }
    if (is_batch_norm(node) || behind_layer)
        ipex_ledger_add(graph->ledger, "affine", node->name, reason, NULL);
}

/* What stands before takes first: it can more often. Then from the end, for what the last of a row
 * of scales and shifts leaves is read by a layer itself. */
void ipex_pass_affine(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (!ipex_merge_branches(graph, node))
            try_site(graph, node);
    }
    for (struct ipex_node *node = graph->last, *prev; node; node = prev) {
        prev = node->prev;
        ipex_affine_ahead(graph, node);
    }
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        record_refusal(graph, node);
        if (node->kind == IPEX_KIND_affine)
            ipex_affine_to_pointwise(graph, node);
    }
}
