/* SPDX-License-Identifier: Apache-2.0 */
/* Networks that train several branches side by side and add them (RepVGG, MobileOne, RepViT,
 * FastViT): y = conv3x3(x) + conv1x1(x) + batch_norm(x). All of them are linear in x, so one
 * convolution computes their sum. The kernel that covers the other takes it up, tap on the tap that
 * reads the same pixel; weights and biases are added in f64. Nothing is ever multiplied that was
 * not before: kernels of which neither covers the other stay apart.
 *
 * A sum of more than two is a tree of additions and subtractions, whose order does not matter: at
 * each of its nodes what stands on the left is paired with what stands on the right. */
#include "tools/convert/affine.h"

#include "tools/convert/match.h"

/* Bounds on what a hostile graph can make this look at. */
#define TERMS_MOST 16
#define CHAIN_MOST 4 /* scales and shifts one after the other */

/* A term of the sum that ends at one node, the root. */
struct term {
    struct ipex_value *value;
    struct ipex_node *sum; /* that reads it */
    bool negative;         /* in the sum as a whole */
    bool right;            /* under the root's right operand */
};

struct terms {
    struct term term[TERMS_MOST];
    int32_t count;
};

/* One of a pair, as a convolution: a scale and shift is one of a single pixel. */
struct branch {
    const struct ipex_value *weight; /* [M][C/G][KH][KW] */
    const struct ipex_fold *fold;
    struct ipex_conv window;
    const char *name;
    bool alone; /* nobody else reads what it computes, on the way to the sum */
};

struct pair {
    const struct term *kept, *other;
    struct ipex_node *conv; /* of the kept one */
    struct branch branch;   /* the other */
    int64_t shift[2];       /* its first tap lies on this one of the kept kernel */
};

/* ---- the terms of a sum ---- */

static bool is_sum(const struct ipex_node *node, struct ipex_value *ret[2]) {
    if (!node ||
        (ipex_match_step(node->output, IPEX_STEP_add) != node &&
         ipex_match_step(node->output, IPEX_STEP_sub) != node) ||
        !ipex_match_operands(node, &ret[0], &ret[1]) || ret[0] == ret[1])
        return false;
    for (int i = 0; i < 2; i++)
        if (ret[i]->constant || !ipex_same_shape(ret[i], node->output))
            return false;
    return true;
}

static bool subtracts(const struct ipex_node *sum) {
    return sum->u.program->step[0].op == IPEX_STEP_sub;
}

/* The terms are found from the root up; inner sums give way to their operands. */
static void collect(const struct ipex_graph *graph, struct ipex_node *root, struct terms *terms) {
    struct ipex_value *operand[2];
    if (!is_sum(root, operand))
        return;
    terms->term[0] = (struct term){operand[0], root, false, false};
    terms->term[1] = (struct term){operand[1], root, subtracts(root), true};
    terms->count = 2;
    for (int32_t i = 0; i < terms->count && terms->count < TERMS_MOST;) {
        struct term *at = &terms->term[i];
        struct ipex_node *sum = at->value->producer;
        if (!is_sum(sum, operand) || !ipex_value_only_reader(graph, at->value)) {
            i++;
            continue;
        }
        terms->term[terms->count++] =
            (struct term){operand[1], sum, at->negative != subtracts(sum), at->right};
        *at = (struct term){operand[0], sum, at->negative, at->right};
    }
}

/* ---- what a term computes ---- */

static struct ipex_node *conv_of(const struct ipex_graph *graph, struct ipex_value *value) {
    struct ipex_node *reshape;
    struct ipex_node *node = ipex_affine_behind_moves(graph, value, &reshape)->producer;
    return node && node->kind == IPEX_KIND_conv && !node->u.conv.transposed && !node->integer &&
                   node->input[1]->constant && node->epilogue.act == IPEX_ACT_none &&
                   !node->epilogue.residual
               ? node
               : NULL;
}

/* The value that a convolution reads; of a 1-d one the value before it becomes an image. */
static const struct ipex_value *source_of(const struct ipex_node *conv) {
    const struct ipex_value *x = conv->input[0];
    if (!x->producer || x->producer->kind != IPEX_KIND_reshape)
        return x;
    const struct ipex_value *signal = x->producer->input[0];
    return signal->rank == 3 && x->dims[2] == 1 && signal->dims[0] == x->dims[0] &&
                   signal->dims[1] == x->dims[1] && signal->dims[2] == x->dims[3]
               ? signal
               : x;
}

static bool is_source(const struct ipex_node *conv, const struct ipex_value *value) {
    return value == conv->input[0] || value == source_of(conv);
}

static bool same_source(const struct ipex_node *a, const struct ipex_node *b) {
    return source_of(a) == source_of(b) && ipex_same_shape(a->input[0], b->input[0]);
}

/* The one operand that is computed; NULL where there are several or none. */
static const struct ipex_value *only_computed(const struct ipex_node *node) {
    const struct ipex_value *ret = NULL;
    for (int32_t i = 0; i < node->inputs; i++) {
        if (!node->input[i]->constant && ret)
            return NULL;
        if (!node->input[i]->constant)
            ret = node->input[i];
    }
    return ret;
}

/* Whether the value can be a scale and shift of what the convolution reads: a short walk, before
 * anything is computed. */
static bool leads_to_source(const struct ipex_value *value, const struct ipex_node *conv) {
    for (int step = 0; value && !is_source(conv, value); step++) {
        const struct ipex_node *node = value->producer;
        if (step == CHAIN_MOST || !node ||
            (node->kind != IPEX_KIND_affine && node->kind != IPEX_KIND_pointwise))
            return false;
        value = only_computed(node);
    }
    return value != NULL;
}

/* Behind what `to` does, per channel. */
static void compose(const struct ipex_affine *affine, struct ipex_fold *to) {
    for (int64_t i = 0; i < to->n; i++) {
        const int64_t k = affine->axis == -1 ? 0 : i;
        to->bias[i] += affine->shift ? to->scale[i] * affine->shift[k] : 0;
        to->scale[i] *= affine->scale ? affine->scale[k] : 1;
    }
}

/* The value as scale and shift of what the convolution reads, over several nodes where need be;
 * NULL where it is none. ret_alone: whether only the sum reads it. */
static struct ipex_fold *follow_affine(struct ipex_graph *graph, const struct ipex_value *value,
                                       const struct ipex_node *conv, bool *ret_alone) {
    if (!leads_to_source(value, conv))
        return NULL;
    struct ipex_fold *fold = ipex_arena_alloc(&graph->arena, sizeof *fold);
    fold->n = conv->fold.n;
    fold->scale = ipex_arena_array(&graph->arena, (size_t)fold->n, sizeof *fold->scale);
    fold->bias = ipex_arena_array(&graph->arena, (size_t)fold->n, sizeof *fold->bias);
    for (int64_t i = 0; i < fold->n; i++)
        fold->scale[i] = 1;
    *ret_alone = true;
    while (!is_source(conv, value)) {
        struct ipex_affine affine;
        struct ipex_value *x;
        if (!ipex_affine_of(graph, value->producer, &affine, &x) || !ipex_same_shape(x, value) ||
            (affine.axis != -1 && (affine.axis != 1 || affine.n != fold->n)))
            return NULL;
        *ret_alone &= ipex_value_only_reader(graph, value) != NULL;
        compose(&affine, fold);
        value = x;
    }
    return fold;
}

/* The pixel itself: ones on the diagonal of every group. As many outputs as channels. */
static struct ipex_value *identity_weight(struct ipex_graph *graph, const struct ipex_node *conv) {
    const int64_t *w = conv->input[1]->dims, dims[4] = {w[0], w[1], 1, 1};
    double *weight = ipex_arena_array(&graph->arena, (size_t)(w[0] * w[1]), sizeof *weight);
    for (int64_t m = 0; m < w[0]; m++)
        weight[m * w[1] + m % w[1]] = 1;
    return ipex_graph_constant(graph, "identity", IPEX_DTYPE_f64, 4, dims, weight);
}

/* x alone stays a residual, which costs nothing, unless a scale or shift that would have to wait
 * for it comes next: then all goes into the weights. */
static bool takes_identity(struct ipex_graph *graph, const struct ipex_node *root) {
    const struct ipex_value *y = root->output;
    const struct ipex_node *reader = ipex_value_only_reader(graph, y);
    struct ipex_affine affine;
    struct ipex_value *x;
    return reader && ipex_affine_of(graph, reader, &affine, &x) && x == y &&
           ipex_same_shape(y, reader->output) &&
           (affine.axis == -1 || (affine.axis == 1 && affine.n == y->dims[1]));
}

/* Whether both are of one value: the other of the pair as a convolution. */
static bool find_branch(struct ipex_graph *graph, const struct terms *terms, struct pair *pair) {
    struct ipex_value *value = pair->other->value;
    struct branch *branch = &pair->branch;
    const struct ipex_node *conv = conv_of(graph, value);
    if (conv) {
        *branch = (struct branch){conv->input[1], &conv->fold, conv->u.conv, conv->name,
                                  ipex_value_only_reader(graph, conv->output) != NULL};
        return conv != pair->conv && same_source(conv, pair->conv);
    }
    branch->fold = follow_affine(graph, value, pair->conv, &branch->alone);
    if (!branch->fold)
        return false;
    const bool is_x = is_source(pair->conv, value);
    if (is_x && (terms->count > 2 || !takes_identity(graph, pair->kept->sum)))
        return false;
    branch->weight = identity_weight(graph, pair->conv);
    branch->window = (struct ipex_conv){.kernel = {1, 1},
                                        .stride = {1, 1},
                                        .dilation = {1, 1},
                                        .groups = pair->conv->u.conv.groups};
    branch->name = is_x ? value->name : value->producer->name;
    return true;
}

/* ---- which pairs become one ---- */

/* Along one axis: whether every tap of `small` lies on one of `large`, the first on *ret_shift. */
static bool covers(const struct ipex_conv *large, const struct ipex_conv *small, int axis,
                   int64_t *ret_shift) {
    const int64_t dilation = large->dilation[axis];
    const int64_t apart = large->pad[axis] - small->pad[axis];
    *ret_shift = apart / dilation;
    return large->stride[axis] == small->stride[axis] &&
           (small->kernel[axis] == 1 || small->dilation[axis] == dilation) &&
           apart % dilation == 0 && *ret_shift >= 0 &&
           *ret_shift + small->kernel[axis] <= large->kernel[axis];
}

/* The left side of a subtraction cannot go without the right becoming negative, which only the
 * kept convolution can. */
static bool can_go(const struct pair *pair) {
    struct ipex_value *operand[2];
    const struct ipex_node *sum = pair->other->sum;
    return !subtracts(sum) || !is_sum(sum, operand) || operand[1] == pair->other->value ||
           pair->kept->sum == sum;
}

static enum ipex_reason check(const struct ipex_graph *graph, struct pair *pair) {
    const struct ipex_conv *window = &pair->conv->u.conv;
    if (!pair->branch.alone || !ipex_value_only_reader(graph, pair->conv->output))
        return IPEX_REASON_two_consumers;
    if (window->groups != pair->branch.window.groups)
        return IPEX_REASON_shape_mismatch;
    for (int axis = 0; axis < 2; axis++)
        if (!covers(window, &pair->branch.window, axis, &pair->shift[axis]))
            return IPEX_REASON_windows_differ;
    if (pair->conv->input[1]->uses > 1)
        return IPEX_REASON_shared_weight;
    return can_go(pair) ? IPEX_REASON_applied : IPEX_REASON_mixed_inputs;
}

/* ---- merging ---- */

/* Adds factor * w, its first tap on tap `shift`, to a kernel of these dims. */
static void add_weight(double *to, const int64_t *dims, const struct ipex_value *w,
                       const struct ipex_fold *fold, double factor, const int64_t *shift) {
    int64_t at = 0;
    for (int64_t m = 0; m < dims[0]; m++) {
        const double scale = factor * (fold->scale ? fold->scale[m] : 1);
        for (int64_t c = 0; c < dims[1]; c++)
            for (int64_t i = shift[0]; i < shift[0] + w->dims[2]; i++)
                for (int64_t j = shift[1]; j < shift[1] + w->dims[3]; j++)
                    to[((m * dims[1] + c) * dims[2] + i) * dims[3] + j] +=
                        scale * ipex_constant_f64(w, at++);
    }
}

static void add_bias(double *to, const struct ipex_fold *fold, double factor) {
    for (int64_t m = 0; m < fold->n && fold->bias; m++)
        to[m] += factor * fold->bias[m];
}

/* The kept convolution takes up the other, each with its factor. */
static void sum_weights(struct ipex_graph *graph, const struct pair *pair, double kept,
                        double other) {
    static const int64_t no_shift[2];
    struct ipex_node *conv = pair->conv;
    const struct ipex_value *w = conv->input[1];
    double *weight = ipex_arena_array(&graph->arena, (size_t)ipex_value_numel(w), sizeof *weight);
    double *bias = ipex_arena_array(&graph->arena, (size_t)conv->fold.n, sizeof *bias);
    add_weight(weight, w->dims, w, &conv->fold, kept, no_shift);
    add_weight(weight, w->dims, pair->branch.weight, pair->branch.fold, other, pair->shift);
    add_bias(bias, &conv->fold, kept);
    add_bias(bias, pair->branch.fold, other);
    conv->fold.scale = NULL;
    conv->fold.bias = bias;
    ipex_node_set_input(conv, 1,
                        ipex_graph_constant(graph, w->name, IPEX_DTYPE_f64, 4, w->dims, weight));
}

static void remove_unread(struct ipex_graph *graph, struct ipex_value *value) {
    while (!value->uses && value->producer) {
        struct ipex_node *node = value->producer;
        value = node->input[0];
        ipex_graph_remove(graph, node);
    }
}

/* The node that adds a term goes: what it adds it to takes its place. The root's output keeps its
 * name, under which it may be an output of the graph. */
static void drop_term(struct ipex_graph *graph, const struct ipex_node *root,
                      const struct term *term) {
    struct ipex_node *sum = term->sum;
    struct ipex_value *operand[2], *y = sum->output;
    if (!is_sum(sum, operand))
        return;
    struct ipex_value *rest = operand[operand[0] == term->value];
    ipex_graph_remove(graph, sum);
    if (sum == root)
        ipex_node_set_output(rest->producer, y);
    else
        ipex_graph_replace(graph, y, rest);
    remove_unread(graph, term->value);
}

static void merge(struct ipex_graph *graph, const struct ipex_node *root, const struct pair *pair) {
    const struct term *kept = pair->kept, *other = pair->other;
    struct ipex_value *operand[2];
    bool negative = kept->negative; /* the kept one's sign where it will stand */
    if (kept->sum == other->sum && is_sum(kept->sum, operand) && operand[1] == kept->value &&
        subtracts(kept->sum))
        negative = !negative;
    sum_weights(graph, pair, kept->negative == negative ? 1 : -1,
                other->negative == negative ? 1 : -1);
    pair->conv->name = ipex_graph_join(
        graph, ipex_graph_join(graph, pair->conv->name, pair->branch.name), other->sum->name);
    drop_term(graph, root, other);
}

static void record(struct ipex_graph *graph, const struct ipex_node *root, enum ipex_reason reason,
                   const struct pair *pair) {
    const int64_t *kernel = pair->conv->u.conv.kernel;
    const char *text =
        reason != IPEX_REASON_applied
            ? NULL
            : ipex_arena_printf(&graph->arena, "%s added to %s: one %dx%d convolution",
                                pair->branch.name, pair->conv->name, (int)kernel[0],
                                (int)kernel[1]);
    ipex_ledger_add(graph->ledger, "branch", root->name, reason, text);
}

/* ---- the pass ---- */

/* Looks at a pair: the verdict, or false where it is no site. */
static bool look(struct ipex_graph *graph, const struct terms *terms, struct pair *pair,
                 enum ipex_reason *ret_reason) {
    pair->conv = conv_of(graph, pair->kept->value);
    if (!pair->conv || !find_branch(graph, terms, pair))
        return false;
    *ret_reason = check(graph, pair);
    return true;
}

/* Merges the first pair that can be, and says so; else the ledger gets the first refusal. */
static bool merge_one(struct ipex_graph *graph, struct ipex_node *root) {
    struct terms terms = {.count = 0};
    struct pair refused;
    enum ipex_reason reason, why_not = IPEX_REASON_applied;
    collect(graph, root, &terms);
    for (int32_t i = 0; i < terms.count; i++)
        for (int32_t k = 0; k < terms.count; k++) {
            struct pair pair = {.kept = &terms.term[i], .other = &terms.term[k]};
            if (pair.kept->right == pair.other->right || !look(graph, &terms, &pair, &reason))
                continue;
            if (reason == IPEX_REASON_applied) {
                record(graph, root, reason, &pair);
                merge(graph, root, &pair);
                return true;
            }
            if (why_not == IPEX_REASON_applied) {
                why_not = reason;
                refused = pair;
            }
        }
    if (why_not != IPEX_REASON_applied)
        record(graph, root, why_not, &refused);
    return false;
}

bool ipex_merge_branches(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_value *operand[2];
    if (!is_sum(node, operand))
        return false;
    while (is_sum(node, operand) && merge_one(graph, node)) /* until the node itself has gone */
        ;
    return true;
}
