/* SPDX-License-Identifier: Apache-2.0 */
/* Finds attention spelled as a product of queries and turned keys, scaled anywhere on the way, with
 * or without a mask added, a softmax over the keys, and a product with the values:
 *   softmax((a q) (b k)^T c + mask) v  =  attention(q, k, v, mask) with scale a b c.
 * The scores then never exist as a whole. */
#include "tools/convert/match.h"
#include "tools/convert/passes.h"

#include <string.h>

struct attention {
    struct ipex_value *q, *k, *v, *mask;
    float scale;
};

static bool is_matmul(const struct ipex_node *node) {
    return node && node->kind == IPEX_KIND_plan && node->u.plan.op == IPEX_OP_matmul;
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

/* The product under the scores, looking through the addition of a mask. */
static struct ipex_node *find_scores(const struct ipex_graph *graph, struct ipex_value *scores,
                                     struct attention *a) {
    struct ipex_value *x = unscaled(graph, scores, true, &a->scale), *parts[2];
    if (is_matmul(x->producer))
        return x->producer;
    const struct ipex_node *add = ipex_match_step(scores, IPEX_STEP_add);
    if (!add || !ipex_match_operands(add, &parts[0], &parts[1]))
        return NULL;
    for (int i = 0; i < 2; i++) {
        a->scale = 1;
        x = unscaled(graph, parts[i], true, &a->scale);
        if (is_matmul(x->producer) && ipex_same_shape(parts[i], scores)) {
            a->mask = parts[!i];
            return x->producer;
        }
    }
    return NULL;
}

static enum ipex_reason check(const struct ipex_graph *graph, struct ipex_node *softmax,
                              struct ipex_node *product, struct attention *a) {
    struct ipex_value *scores = softmax->input[0];
    struct ipex_node *first = find_scores(graph, scores, a);
    if (!first || !product)
        return IPEX_REASON_not_attention;
    if (softmax->u.axis != scores->rank - 1)
        return IPEX_REASON_axis_mismatch;
    if (!ipex_value_only_reader(graph, scores) || !ipex_value_only_reader(graph, first->output))
        return IPEX_REASON_two_consumers;
    if (first->u.plan.int_[0] || product->u.plan.int_[0] || product->u.plan.float_[0] != 1 ||
        first->output->rank != product->output->rank || first->output->rank != scores->rank ||
        (a->mask && (a->mask->dtype != IPEX_DTYPE_f32 || a->mask->rank > scores->rank)))
        return IPEX_REASON_shape_mismatch;
    a->scale *= first->u.plan.float_[0];
    a->q = unscaled(graph, first->input[0], false, &a->scale);
    a->k = unscaled(graph, first->input[1], false, &a->scale);
    a->v = product->input[1];
    return a->q->constant || a->k->constant || a->v->constant ? IPEX_REASON_port
                                                              : IPEX_REASON_applied;
}

/* Keys as rows: k with its last two axes swapped. A transpose before it is taken back. */
static struct ipex_value *key_rows(struct ipex_graph *graph, struct ipex_value *k,
                                   struct ipex_node *before) {
    int32_t rank = k->rank, perm[IPEX_MAX_RANK];
    int64_t dims[IPEX_MAX_RANK];
    struct ipex_value *from = k;
    bool same = true;
    for (int32_t i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    if (k->producer && k->producer->kind == IPEX_KIND_transpose) {
        from = k->producer->input[0];
        for (int32_t i = 0; i < rank; i++)
            perm[i] = k->producer->u.perm[i < rank - 2 ? i : 2 * rank - 3 - i];
    }
    for (int32_t i = 0; i < rank; i++) {
        same &= perm[i] == i;
        dims[i] = from->dims[perm[i]];
    }
    if (same)
        return from;
    struct ipex_node *turn =
        ipex_graph_node(graph, IPEX_KIND_transpose, before->name, "Transpose", before);
    memcpy(turn->u.perm, perm, sizeof perm);
    ipex_node_add_input(turn, from);
    ipex_node_set_output(turn, ipex_graph_value(graph, k->name, k->dtype, rank, dims));
    return turn->output;
}

static void apply(struct ipex_graph *graph, const struct attention *a, struct ipex_node *product) {
    struct ipex_value *k = key_rows(graph, a->k, product), *y = product->output;
    struct ipex_node *node =
        ipex_graph_node(graph, IPEX_KIND_plan, product->name, "Attention", product);
    node->u.plan = (struct ipex_plan_op){.op = IPEX_OP_attention,
                                         .policy = IPEX_ORDER_logical,
                                         .ints = 2, /* heads_last: lower.c */
                                         .floats = 1,
                                         .float_ = {a->scale}};
    ipex_node_add_input(node, a->q);
    ipex_node_add_input(node, k);
    ipex_node_add_input(node, a->v);
    if (a->mask)
        ipex_node_add_input(node, a->mask);
    ipex_graph_remove(graph, product);
    ipex_node_set_output(node, y);
}

static void try_site(struct ipex_graph *graph, struct ipex_node *softmax) {
    struct attention a = {.scale = 1};
    struct ipex_node *reader = ipex_value_only_reader(graph, softmax->output);
    struct ipex_node *product =
        is_matmul(reader) && reader->input[0] == softmax->output ? reader : NULL;
    bool shared = !reader && softmax->output->uses > 0;
    enum ipex_reason reason = check(graph, softmax, product, &a);
    struct attention under = {.scale = 1};
    if (!product && !find_scores(graph, softmax->input[0], &under))
        return; /* a softmax of something else */
    if (!product && shared)
        reason = IPEX_REASON_two_consumers;
    ipex_ledger_add(graph->ledger, "attention", softmax->name, reason,
                    reason != IPEX_REASON_applied ? NULL
                    : a.mask                      ? "recognised as attention with a mask"
                                                  : "recognised as attention");
    if (reason == IPEX_REASON_applied)
        apply(graph, &a, product);
}

void ipex_pass_attention(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->kind == IPEX_KIND_softmax)
            try_site(graph, node);
}
