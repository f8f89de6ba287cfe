/* SPDX-License-Identifier: Apache-2.0 */
/* Finds attention spelled as a product of queries and turned keys, scaled anywhere on the way, with
 * or without masks, a softmax over the keys, and a product with the values:
 *   softmax((a q) (b k)^T c + mask) v  =  attention(q, k, v, mask) with scale a b c.
 * The scores then never exist as a whole. A number for every head may scale them first (cosine
 * attention): it goes to the queries. Also with all of it turned:
 *   v^T softmax(...)^T, and a softmax over the rows of k q^T;
 * with keys and values repeated for groups of heads, which attention reads once; and with the rows
 * in which every key is masked set to 0, as safe softmaxes are spelled. */
#include "tools/convert/attention_match.h"
#include "tools/convert/passes.h"

#include <math.h>
#include <string.h>

struct attention {
    struct ipex_node *softmax, *first, *product;
    struct ipex_value *scores, *weights; /* of the softmax, without transposes that cancel */
    struct ipex_value *q, *k, *v;        /* k, v: rows are keys */
    struct ipex_attention_mask mask[IPEX_ATTENTION_MASKS];
    int32_t masks;
    struct ipex_value *heads; /* scales every head's scores, ahead of all masks; NULL: none */
    bool over_rows;           /* scores are [keys][queries] */
    bool turned;              /* the product is v^T weights^T */
    bool safe;                /* rows without keys give 0 */
    float scale;
};

static bool is_plan(const struct ipex_node *node, enum ipex_op op) {
    return node && node->kind == IPEX_KIND_plan && node->u.plan.op == op;
}

static bool is_matmul(const struct ipex_node *node) {
    return is_plan(node, IPEX_OP_matmul);
}

/* x where value = x * c or x / c for scalars c, any number of times; *scale *= c. With `alone`,
 * only through values that nobody else reads. */
static struct ipex_value *unscaled(const struct ipex_graph *graph, struct ipex_value *value,
                                   bool alone, float *scale) {
    struct ipex_value *x;
    float c;
    while (!alone || ipex_value_only_reader(graph, value)) {
        if (ipex_match_scalar(value, IPEX_STEP_mul, &x, &c))
            *scale *= c;
        else if (ipex_match_scalar(value, IPEX_STEP_div, &x, &c))
            *scale /= c;
        else
            break;
        value = x;
    }
    return value;
}

/* ---- from the scores up to the product of queries and keys ---- */

/* x where value = x * numbers, one for all scores of a head; else NULL. */
static struct ipex_value *without_head_scale(const struct ipex_value *value,
                                             struct ipex_value **ret_numbers) {
    struct ipex_value *part[2];
    const struct ipex_node *node = ipex_match_step(value, IPEX_STEP_mul);
    if (!node || !ipex_match_operands(node, &part[0], &part[1]))
        return NULL;
    for (int32_t side = 0; side < 2; side++) {
        const struct ipex_value *numbers = part[!side];
        bool alike = numbers->rank <= value->rank;
        for (int32_t i = 1; i <= 2 && i <= numbers->rank; i++)
            alike &= numbers->dims[numbers->rank - i] == 1;
        if (!alike || !ipex_same_shape(part[side], value))
            continue;
        *ret_numbers = part[!side];
        return part[side];
    }
    return NULL;
}

/* The product under the scores, looking through scales and masks in any order. `scale`: what stands
 * behind them. */
static struct ipex_node *find_first(const struct ipex_graph *graph, struct ipex_value *scores,
                                    struct attention *a, float scale) {
    struct ipex_value *x = unscaled(graph, scores, true, &scale), *heads = NULL;
    struct ipex_value *product =
        ipex_value_only_reader(graph, x) ? without_head_scale(x, &heads) : NULL;
    float inner = scale;
    product = product ? unscaled(graph, product, true, &inner) : x;
    if (is_matmul(product->producer)) {
        a->heads = heads;
        a->scale = inner;
        return product->producer;
    }
    if (!(scale > 0) || isinf(scale) || a->masks == IPEX_ATTENTION_MASKS)
        return NULL; /* -inf would not stay what it is */
    for (int32_t side = 0; side < 2; side++) {
        struct ipex_value *under = ipex_attention_unmask(x, side, &a->mask[a->masks]);
        if (!under || a->mask[a->masks].value == under)
            continue;
        a->mask[a->masks++].scale = scale;
        struct ipex_node *first = find_first(graph, under, a, scale);
        if (first)
            return first;
        a->masks--;
    }
    return NULL;
}

/* Elementwise steps lead up to a product, whatever they compute. */
static bool below_product(struct ipex_value *x) {
    while (x && x->producer && !is_matmul(x->producer)) {
        const struct ipex_node *node = x->producer;
        struct ipex_value *next = NULL;
        if (node->kind != IPEX_KIND_pointwise && !is_plan(node, IPEX_OP_where))
            return false;
        for (int32_t i = 0; !next && i < node->inputs; i++)
            if (!node->input[i]->constant && node->input[i]->dtype == IPEX_DTYPE_f32 &&
                ipex_same_shape(node->input[i], x))
                next = node->input[i];
        x = next;
    }
    return x && x->producer;
}

/* Everything between the product and the softmax has one reader. */
static bool is_alone(const struct ipex_graph *graph, const struct attention *a) {
    for (struct ipex_value *x = a->scores; x != a->first->output;) {
        if (!ipex_value_only_reader(graph, x))
            return false;
        struct ipex_value *next = NULL;
        for (int32_t i = 0; !next && i < x->producer->inputs; i++) {
            struct ipex_value *operand = x->producer->input[i];
            for (int32_t k = 0; k < a->masks; k++)
                if (a->mask[k].value == operand)
                    operand = NULL;
            if (operand && operand != a->heads && !operand->constant)
                next = operand;
        }
        if (!next)
            return false;
        x = next;
    }
    return ipex_value_only_reader(graph, a->first->output) != NULL;
}

/* ---- from the weights down to the product with the values ---- */

/* The two last axes are swapped, and nothing else. */
static bool swaps_last(const struct ipex_node *node) {
    if (!node || node->kind != IPEX_KIND_transpose || node->output->rank < 2)
        return false;
    for (int32_t i = 0, rank = node->output->rank; i < rank; i++)
        if (node->u.perm[i] != (i < rank - 2 ? i : 2 * rank - 3 - i))
            return false;
    return true;
}

/* where(isnan(p), 0, p): p is NaN in rows without keys, which then weigh nothing. */
static struct ipex_node *safe_choice(struct ipex_graph *graph, const struct ipex_value *p) {
    struct ipex_node *node = p->producer->next;
    if (p->uses != 3 || p->is_output)
        return NULL;
    while (node && !(is_plan(node, IPEX_OP_where) && node->input[2] == p))
        node = node->next;
    if (!node || !node->input[1]->constant || ipex_value_numel(node->input[1]) != 1 ||
        ipex_constant_f64(node->input[1], 0) != 0)
        return NULL;
    const struct ipex_node *test = node->input[0]->producer;
    return is_plan(test, IPEX_OP_compare) && test->u.plan.int_[0] == IPEX_COMPARE_not_equal &&
                   test->input[0] == p && test->input[1] == p &&
                   ipex_value_only_reader(graph, node->input[0]) == node
               ? node
               : NULL;
}

/* The transposes before and behind the softmax that cancel each other are left out. */
static int32_t skip_transposes(const struct ipex_graph *graph, struct attention *a) {
    const struct ipex_node *before = a->scores->producer,
                           *behind = ipex_value_only_reader(graph, a->weights);
    const int32_t axis = a->softmax->u.axis, rank = a->scores->rank;
    if (!before || before->kind != IPEX_KIND_transpose || !behind ||
        behind->kind != IPEX_KIND_transpose || !ipex_value_only_reader(graph, a->scores))
        return axis;
    for (int32_t i = 0; i < rank; i++)
        if (before->u.perm[behind->u.perm[i]] != i)
            return axis;
    a->scores = before->input[0];
    a->weights = behind->output;
    return before->u.perm[axis];
}

/* Finds the product; false where the weights go elsewhere. */
static bool find_product(struct ipex_graph *graph, struct attention *a) {
    struct ipex_node *safe = safe_choice(graph, a->weights);
    if (safe) {
        a->safe = true;
        a->weights = safe->output;
    }
    struct ipex_node *reader = ipex_value_only_reader(graph, a->weights);
    bool swapped = a->over_rows;
    if (swaps_last(reader)) {
        swapped = !swapped;
        a->weights = reader->output;
        reader = ipex_value_only_reader(graph, a->weights);
    }
    if (!is_matmul(reader) || reader->u.plan.int_[0] || reader->u.plan.float_[0] != 1)
        return false;
    a->product = reader;
    a->turned = reader->input[1] == a->weights;
    return swapped == a->turned;
}

/* ---- operands ---- */

/* x in this shape: what it has been reshaped from, or a reshape. */
static struct ipex_value *in_shape(struct ipex_graph *graph, struct ipex_value *x, int32_t rank,
                                   const int64_t *dims, struct ipex_node *before) {
    struct ipex_value *from = ipex_before_reshapes(x);
    if (from->rank == rank && !memcmp(from->dims, dims, (size_t)rank * sizeof *dims))
        return from;
    return ipex_graph_reshaped(graph, x, rank, dims, before);
}

/* x with its last two axes swapped where it comes from that by a transpose of the last two behind
 * merged others, as PyTorch's exporter turns keys: a reshape, a transpose, a reshape. Else NULL. */
static struct ipex_value *swapped_merged(struct ipex_graph *graph, const struct ipex_value *x,
                                         struct ipex_node *before) {
    const struct ipex_node *apart = x->producer;
    const int32_t rank = x->rank;
    if (!apart || apart->kind != IPEX_KIND_reshape || rank < 2 ||
        !swaps_last(apart->input[0]->producer))
        return NULL;
    struct ipex_value *merged = apart->input[0]->producer->input[0];
    int64_t dims[IPEX_MAX_RANK];
    for (int32_t i = 0; i < rank; i++)
        dims[i] = x->dims[i < rank - 2 ? i : 2 * rank - 3 - i];
    for (int32_t i = 1; i <= 2; i++)
        if (merged->dims[merged->rank - i] != dims[rank - i])
            return NULL;
    return in_shape(graph, merged, rank, dims, before);
}

/* The value with its last two axes swapped. A transpose before it is taken back. */
static struct ipex_value *swapped(struct ipex_graph *graph, struct ipex_value *x,
                                  struct ipex_node *before) {
    int32_t rank = x->rank, perm[IPEX_MAX_RANK];
    struct ipex_value *from = swapped_merged(graph, x, before);
    bool same = true;
    if (from)
        return from;
    from = x;
    for (int32_t i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    if (x->producer && x->producer->kind == IPEX_KIND_transpose) {
        from = x->producer->input[0];
        for (int32_t i = 0; i < rank; i++)
            perm[i] = x->producer->u.perm[i < rank - 2 ? i : 2 * rank - 3 - i];
    }
    for (int32_t i = 0; i < rank; i++)
        same &= perm[i] == i;
    return same ? from : ipex_graph_transposed(graph, from, perm, before);
}

/* The dims [first, end) that are not 1, appended to a list. */
static int32_t append_real(const int64_t *dims, int32_t first, int32_t end, int64_t *list,
                           int32_t count) {
    for (int32_t i = first; i < end; i++)
        if (dims[i] != 1)
            list[count++] = dims[i];
    return count;
}

/* The one axis along which an expansion repeats; -1 where there are several. */
static int32_t repeated_axis(const struct ipex_value *from, const struct ipex_value *to) {
    int32_t axis = -1;
    for (int32_t i = 0; i < to->rank && from->rank == to->rank; i++)
        if (from->dims[i] != to->dims[i]) {
            if (axis >= 0)
                return -1;
            axis = i;
        }
    return axis;
}

/* x is [.., H G, N, D], and was [.., H, N, D] before each head was repeated G times, by an
 * expansion between reshapes: what was expanded, and H; else NULL. */
static struct ipex_value *repeated_heads(struct ipex_value *x, int64_t *ret_heads) {
    struct ipex_value *wide = ipex_before_reshapes(x);
    if (wide == x || x->rank < 3 || !is_plan(wide->producer, IPEX_OP_expand))
        return NULL;
    struct ipex_value *apart = wide->producer->input[0];
    const int32_t axis = repeated_axis(apart, wide), at = x->rank - 3;
    if (axis < 0 || wide->dims[axis] < 2 || x->dims[at] < 1 || x->dims[at] % wide->dims[axis])
        return NULL;
    int64_t is[2 * IPEX_MAX_RANK], was[2 * IPEX_MAX_RANK], dims[IPEX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    *ret_heads = dims[at] = x->dims[at] / wide->dims[axis];
    int32_t before = append_real(dims, 0, at + 1, is, 0),
            count = append_real(dims, at + 1, x->rank, is, before);
    if (append_real(apart->dims, 0, axis, was, 0) != before ||
        append_real(apart->dims, axis, apart->rank, was, before) != count ||
        memcmp(is, was, (size_t)count * sizeof *is))
        return NULL;
    return apart;
}

/* The heads before they were repeated: [.., H, N, D]. */
static struct ipex_value *unrepeated(struct ipex_graph *graph, struct ipex_value *x,
                                     struct ipex_value *apart, int64_t heads,
                                     struct ipex_node *before) {
    int64_t dims[IPEX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 3] = heads;
    return in_shape(graph, apart, x->rank, dims, before);
}

/* x, [B, H, N, D], made of [N, B, H D] by way of [N, B H, D], as PyTorch's attention reads N
 * positions of B sequences: without that way. Sequences and heads as one axis have no single stride
 * where a projection is a part of a joint one. */
static struct ipex_value *unmerged(struct ipex_graph *graph, struct ipex_value *x,
                                   struct ipex_node *before) {
    static const int32_t swap[] = {1, 0, 2}, perm[] = {1, 2, 0, 3};
    const struct ipex_value *merged = ipex_before_reshapes(x);
    const struct ipex_node *turn = merged->producer;
    if (x->rank != 4 || merged->rank != 3 || !turn || turn->kind != IPEX_KIND_transpose ||
        memcmp(turn->u.perm, swap, sizeof swap) != 0)
        return x;
    const int64_t dims[] = {x->dims[2], x->dims[0], x->dims[1], x->dims[3]};
    const int64_t *parts = turn->input[0]->dims;
    if (parts[0] != dims[0] || parts[2] != dims[3] || dims[1] == 1 || dims[2] == 1)
        return x;
    x = ipex_graph_reshaped(graph, ipex_before_reshapes(turn->input[0]), 4, dims, before);
    return ipex_graph_transposed(graph, x, perm, before);
}

static void find_operands(struct ipex_graph *graph, struct attention *a) {
    struct ipex_node *before = a->product;
    struct ipex_value *left = unscaled(graph, a->first->input[0], false, &a->scale),
                      *right = unscaled(graph, a->first->input[1], false, &a->scale);
    right = unscaled(graph, swapped(graph, right, before), false, &a->scale);
    a->q = a->over_rows ? right : left;
    a->k = a->over_rows ? left : right;
    if (a->heads)
        a->q = ipex_attention_combine(graph, IPEX_STEP_mul, a->q, a->heads, before);
    a->v = a->turned ? swapped(graph, a->product->input[0], before) : a->product->input[1];
    int64_t k_heads = 0, v_heads = 0;
    struct ipex_value *k = repeated_heads(a->k, &k_heads), *v = repeated_heads(a->v, &v_heads);
    if (k && v && a->q->rank == a->k->rank && a->v->rank == a->k->rank && k_heads == v_heads) {
        a->k = unrepeated(graph, a->k, k, k_heads, before);
        a->v = unrepeated(graph, a->v, v, v_heads, before);
    }
    a->q = unmerged(graph, a->q, before);
    a->k = unmerged(graph, a->k, before);
    a->v = unmerged(graph, a->v, before);
}

/* ---- sites ---- */

static bool fits(const struct attention *a) {
    const struct ipex_value *scores = a->first->output, *y = a->product->output;
    const struct ipex_value *q = a->first->input[a->over_rows];
    if (a->heads && (q->rank != scores->rank ||
                     memcmp(q->dims, scores->dims, (size_t)(q->rank - 2) * sizeof *q->dims) != 0))
        return false;
    if (a->first->u.plan.int_[0] || scores->rank != y->rank || scores->rank != a->scores->rank)
        return false;
    for (int32_t i = 0; i < a->masks; i++)
        if (a->mask[i].value->dtype != (a->mask[i].chooses ? IPEX_DTYPE_bool : IPEX_DTYPE_f32) ||
            a->mask[i].value->rank > scores->rank)
            return false;
    return true;
}

/* Chosen numbers stand alone, but masks are added up: only -inf stays what it is. */
static bool masks_add_up(const struct attention *a) {
    for (int32_t i = 0; i < a->masks; i++)
        if (a->masks > 1 && a->mask[i].chooses && !isinf(a->mask[i].masked))
            return false;
    return true;
}

static enum ipex_reason check(struct ipex_graph *graph, struct attention *a) {
    const int32_t axis = skip_transposes(graph, a);
    a->over_rows = axis == a->scores->rank - 2;
    const bool found = find_product(graph, a);
    a->first = find_first(graph, a->scores, a, 1);
    if (!a->first || !a->product)
        return a->product && below_product(a->scores) ? IPEX_REASON_scores_changed
                                                      : IPEX_REASON_not_attention;
    if (!found || (axis < a->scores->rank - 2) || (a->over_rows && a->masks))
        return IPEX_REASON_axis_mismatch;
    if (!is_alone(graph, a))
        return IPEX_REASON_two_consumers;
    if (!fits(a))
        return IPEX_REASON_shape_mismatch;
    if (!masks_add_up(a))
        return IPEX_REASON_finite_mask;
    for (int32_t i = 0; i < 2; i++)
        if (a->first->input[i]->constant || a->product->input[i]->constant)
            return IPEX_REASON_port;
    return IPEX_REASON_applied;
}

/* y is the attention's result, turned back where the product was turned. */
static void finish(struct ipex_graph *graph, const struct attention *a, struct ipex_value *result) {
    struct ipex_node *product = a->product;
    struct ipex_value *y = product->output;
    if (!a->turned) {
        struct ipex_node *writer = result->producer;
        ipex_graph_remove(graph, product);
        ipex_node_set_output(writer, y);
        return;
    }
    struct ipex_node *turn =
        ipex_graph_node(graph, IPEX_KIND_transpose, product->name, "Transpose", product);
    for (int32_t i = 0; i < y->rank; i++)
        turn->u.perm[i] = i < y->rank - 2 ? i : 2 * y->rank - 3 - i;
    ipex_node_add_input(turn, result);
    ipex_graph_remove(graph, product);
    ipex_node_set_output(turn, y);
}

/* What was done, for the ledger. */
static const char *apply(struct ipex_graph *graph, struct attention *a) {
    struct ipex_node *product = a->product;
    const struct ipex_value *y = product->output;
    int64_t dims[IPEX_MAX_RANK];
    bool causal;
    a->scale *= a->first->u.plan.float_[0];
    find_operands(graph, a);
    struct ipex_value *mask =
        ipex_attention_mask(graph, a->mask, a->masks, a->first->output, product, &causal);
    struct ipex_node *node =
        ipex_graph_node(graph, IPEX_KIND_plan, product->name, "Attention", product);
    node->u.plan = (struct ipex_plan_op){.op = IPEX_OP_attention,
                                         .policy = IPEX_ORDER_logical,
                                         .ints = 2, /* causal, rows: lower.c */
                                         .floats = 1,
                                         .int_ = {causal},
                                         .float_ = {a->scale}};
    ipex_node_add_input(node, a->q);
    ipex_node_add_input(node, a->k);
    ipex_node_add_input(node, a->v);
    if (mask)
        ipex_node_add_input(node, mask);
    memcpy(dims, y->dims, sizeof dims);
    if (a->turned) {
        dims[y->rank - 2] = y->dims[y->rank - 1];
        dims[y->rank - 1] = y->dims[y->rank - 2];
    }
    struct ipex_value *result = ipex_graph_value(graph, y->name, y->dtype, y->rank, dims);
    ipex_node_set_output(node, result);
    if (a->safe)
        result = ipex_attention_zero_rows(graph, mask, result, product);
    finish(graph, a, result);
    return ipex_arena_printf(&graph->arena, "recognised as attention%s%s%s",
                             causal ? ", causal" : "", mask ? " with a mask" : "",
                             a->heads ? ", a scale for every head" : "");
}

static bool reads_scores(const struct ipex_graph *graph, struct ipex_value *scores) {
    struct attention under = {.scale = 1};
    return find_first(graph, scores, &under, 1) != NULL;
}

static void try_site(struct ipex_graph *graph, struct ipex_node *softmax) {
    struct attention a = {
        .scale = 1, .softmax = softmax, .scores = softmax->input[0], .weights = softmax->output};
    enum ipex_reason reason = check(graph, &a);
    if (!a.product && !reads_scores(graph, a.scores))
        return; /* a softmax of something else */
    if (!a.product && !ipex_value_only_reader(graph, a.weights) && a.weights->uses > 0)
        reason = IPEX_REASON_two_consumers;
    const char *text = reason == IPEX_REASON_applied ? apply(graph, &a) : NULL;
    ipex_ledger_add(graph->ledger, "attention", softmax->name, reason, text);
}

void ipex_pass_attention(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->kind == IPEX_KIND_softmax) {
            ipex_attention_drop_axis(graph, node);
            try_site(graph, node);
        }
}
