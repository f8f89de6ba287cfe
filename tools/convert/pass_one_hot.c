/* SPDX-License-Identifier: Apache-2.0 */
/* A linear layer of one-hot rows, f32(index == 0, 1, 2 ...), takes one row of its weight: it
 * becomes a look-up in the weight with its scale and bias. An index that matches nothing leaves the
 * bias alone, which is the table's last row: gather counts -1 from the end, and takes what is too
 * large as the last. Weights that are rounded to bf16 are so in the table, which is f32. */
#include "tools/convert/match.h"
#include "tools/convert/passes.h"

#include <string.h>

struct site {
    struct ipex_node *linear, *cast, *compare;
    struct ipex_value *index; /* [...][1] */
    int64_t depth;            /* of a one-hot row */
};

static struct ipex_node *plan_producer(const struct ipex_graph *graph,
                                       const struct ipex_value *value, enum ipex_op op) {
    struct ipex_node *node = value->producer;
    return node && node->kind == IPEX_KIND_plan && node->u.plan.op == op &&
                   ipex_value_only_reader(graph, value)
               ? node
               : NULL;
}

/* 0, 1, 2 ... along the last axis. */
static bool counts_up(const struct ipex_value *value) {
    if (!value->constant || value->rank < 1 ||
        ipex_value_numel(value) != value->dims[value->rank - 1])
        return false;
    for (int64_t i = 0; i < value->dims[value->rank - 1]; i++)
        if (ipex_constant_i64(value, i) != i)
            return false;
    return true;
}

/* The operand of a comparison that is the index, where the other counts up along a new last axis.
 */
static bool find_index(struct site *site) {
    const struct ipex_value *y = site->compare->output;
    for (int32_t i = 0; i < 2; i++) {
        struct ipex_value *index = site->compare->input[i], *count = site->compare->input[1 - i];
        const int32_t last = index->rank - 1;
        if (!counts_up(count) || index->constant || index->rank != y->rank || last < 1 ||
            index->dims[last] != 1 || memcmp(index->dims, y->dims, (size_t)last * sizeof *y->dims))
            continue;
        site->index = index;
        site->depth = ipex_value_numel(count);
        return y->dims[last] == site->depth &&
               (index->dtype == IPEX_DTYPE_i32 || index->dtype == IPEX_DTYPE_i64);
    }
    return false;
}

static bool find_site(const struct ipex_graph *graph, struct ipex_node *node, struct site *site) {
    const struct ipex_fold *fold = &node->fold;
    if (node->kind != IPEX_KIND_linear || fold->parts || fold->k_order ||
        node->epilogue.act != IPEX_ACT_none || node->epilogue.residual)
        return false;
    site->linear = node;
    site->cast = plan_producer(graph, node->input[0], IPEX_OP_cast);
    site->compare = site->cast ? plan_producer(graph, site->cast->input[0], IPEX_OP_compare) : NULL;
    return site->compare && site->compare->u.plan.int_[0] == IPEX_COMPARE_equal && find_index(site);
}

/* As the weight would have been stored. */
static double stored(const struct ipex_graph *graph, double value) {
    if (graph->precision == IPEX_PRECISION_f32)
        return value;
    const uint32_t bits = (uint32_t)ipex_bf16_of_f64(value) << 16;
    float rounded;
    memcpy(&rounded, &bits, sizeof rounded);
    return rounded;
}

/* [depth + 1][n] */
static struct ipex_value *make_table(struct ipex_graph *graph, const struct site *site) {
    const struct ipex_fold *fold = &site->linear->fold;
    const struct ipex_value *w = site->linear->input[1];
    const int64_t dims[2] = {site->depth + 1, fold->n};
    float *table = ipex_arena_array(&graph->arena, (size_t)(dims[0] * dims[1]), sizeof *table),
          *to = table;
    for (int64_t k = 0; k < dims[0]; k++)
        for (int64_t n = 0; n < fold->n; n++) {
            const int64_t at = site->linear->weight_kn ? k * fold->n + n : n * site->depth + k;
            const double row = k < site->depth ? ipex_constant_f64(w, at) : 0;
            *to++ = (float)(stored(graph, row * (fold->scale ? fold->scale[n] : 1)) +
                            (fold->bias ? fold->bias[n] : 0));
        }
    return ipex_graph_constant(graph, w->name, IPEX_DTYPE_f32, 2, dims, table);
}

/* A node before the linear layer, with its result. */
static struct ipex_node *node_before(struct ipex_graph *graph, const struct site *site,
                                     enum ipex_kind kind, struct ipex_value *x, int32_t rank) {
    struct ipex_node *node =
        ipex_graph_node(graph, kind, site->linear->name, site->linear->source_op, site->linear);
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, ipex_graph_value(graph, x->name, x->dtype, rank, x->dims));
    return node;
}

/* Negative indices become -1; the axis of 1 goes. */
static struct ipex_value *limited_index(struct ipex_graph *graph, const struct site *site) {
    static const int32_t minus_one_32 = -1;
    static const int64_t minus_one_64 = -1, one = 1;
    const enum ipex_dtype dtype = site->index->dtype;
    const void *minus_one = dtype == IPEX_DTYPE_i32 ? (const void *)&minus_one_32 : &minus_one_64;
    struct ipex_node *limit =
        node_before(graph, site, IPEX_KIND_plan, site->index, site->index->rank);
    limit->u.plan = (struct ipex_plan_op){.op = IPEX_OP_integer,
                                          .policy = IPEX_ORDER_elementwise,
                                          .ints = 1,
                                          .int_ = {IPEX_INTEGER_max}};
    ipex_node_add_input(limit, ipex_graph_constant(graph, "", dtype, 1, &one, minus_one));
    return node_before(graph, site, IPEX_KIND_reshape, limit->output, site->index->rank - 1)
        ->output;
}

static void apply(struct ipex_graph *graph, const struct site *site) {
    struct ipex_value *index = limited_index(graph, site), *y = site->linear->output;
    struct ipex_node *gather = ipex_graph_node(graph, IPEX_KIND_plan, site->linear->name,
                                               site->linear->source_op, site->linear);
    gather->u.plan =
        (struct ipex_plan_op){.op = IPEX_OP_gather, .policy = IPEX_ORDER_logical, .ints = 1};
    ipex_node_add_input(gather, make_table(graph, site));
    ipex_node_add_input(gather, index);
    ipex_graph_remove(graph, site->linear);
    ipex_graph_remove(graph, site->cast);
    ipex_graph_remove(graph, site->compare);
    ipex_node_set_output(gather, y);
}

void ipex_pass_one_hot(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        struct site site;
        next = node->next;
        if (!find_site(graph, node, &site))
            continue;
        ipex_ledger_add(graph->ledger, "one_hot", node->name, IPEX_REASON_applied,
                        ipex_arena_printf(&graph->arena, "a look-up in %lld rows of %lld",
                                          (long long)site.depth, (long long)node->fold.n));
        apply(graph, &site);
    }
}
