/* SPDX-License-Identifier: Apache-2.0 */
/* Marks band groups (format/FORMAT.md): runs of neighbouring convolutions between which lie large
 * tensors that nobody else reads. A runtime can go through such a group band of lines by band of
 * lines, so that what lies in between never leaves the cache. Whether it does is its own choice, by
 * the cache that it finds; the result is the same. */
#include "tools/convert/lower.h"

/* Less than this stays in the L2 cache of any core. */
#define LEAST_BYTES (256 * 1024)

/* The weights of a member are read again for every band. */
#define MOST_WEIGHT_BYTES (256 * 1024)

struct bander {
    struct ipex_graph *graph;
    struct ipex_plan *plan;
    int32_t *readers;   /* [tensors]: operands, views and ports that are this tensor */
    bool *is_port;      /* [tensors] */
    double group_bytes; /* between the members of the group being made */
    uint32_t groups;
};

static bool has_lines(const struct ipex_plan_node *node) {
    return node->op == IPEX_OP_conv || node->op == IPEX_OP_depthwise;
}

static void count_readers(struct bander *b) {
    const struct ipex_plan *plan = b->plan;
    for (size_t i = 0; i < plan->nodes; i++)
        for (int32_t j = 0; j < plan->node[i].inputs; j++)
            if (plan->node[i].input[j] >= 0)
                b->readers[plan->node[i].input[j]]++;
    for (size_t i = 0; i < plan->tensors; i++)
        if (plan->tensor[i].view_of >= 0)
            b->readers[plan->tensor[i].view_of]++;
    for (size_t i = 0; i < plan->outputs; i++)
        b->is_port[plan->output[i].tensor] = true;
}

/* Of one image, borders included, at its largest. */
static double image_bytes(const struct bander *b, const struct ipex_plan_tensor *t) {
    const double lines = (double)ipex_dim_at(&b->graph->dims, t->dims[1], IPEX_DIM_HIGHEST);
    const double pixels = (double)ipex_dim_at(&b->graph->dims, t->dims[2], IPEX_DIM_HIGHEST);
    return (lines + t->halo[0] + t->halo[2]) * (pixels + t->halo[1] + t->halo[3]) *
           (double)t->dims[3] * 4;
}

static int64_t weight_bytes(const struct bander *b, const struct ipex_plan_node *node) {
    return b->plan->weight[b->plan->tensor[node->input[1]].weight].bytes;
}

/* Large, and of more lines than a signal has. */
static bool is_worth_cutting(const struct bander *b, const struct ipex_plan_tensor *t) {
    return ipex_dim_at(&b->graph->dims, t->dims[1], IPEX_DIM_HIGHEST) > 1 &&
           image_bytes(b, t) > LEAST_BYTES;
}

/* Whether what a node writes is large and the next node's first operand, both convolutions. */
static bool is_site(const struct bander *b, const struct ipex_plan_node *node) {
    const struct ipex_plan_node *next = node + 1;
    return node + 1 < b->plan->node + b->plan->nodes && has_lines(node) && has_lines(next) &&
           next->input[0] == node->output[0] &&
           is_worth_cutting(b, &b->plan->tensor[node->output[0]]);
}

/* Whether the next node only rounds what this one writes, for a convolution after it. */
static bool is_rounded_between(const struct bander *b, const struct ipex_plan_node *node) {
    if (node + 2 >= b->plan->node + b->plan->nodes || !has_lines(node) || !has_lines(node + 2))
        return false;
    const struct ipex_plan_node *cast = node + 1;
    return cast->op == IPEX_OP_cast && cast->input[0] == node->output[0] &&
           node[2].input[0] == cast->output[0] &&
           is_worth_cutting(b, &b->plan->tensor[node->output[0]]);
}

static enum ipex_reason look_at(const struct bander *b, const struct ipex_plan_node *node) {
    const int32_t between = node->output[0];
    if (b->is_port[between])
        return IPEX_REASON_port;
    if (b->readers[between] > 1 || b->plan->tensor[between].view_of >= 0)
        return IPEX_REASON_two_consumers;
    if (weight_bytes(b, node) > MOST_WEIGHT_BYTES || weight_bytes(b, node + 1) > MOST_WEIGHT_BYTES)
        return IPEX_REASON_weights_too_large;
    return IPEX_REASON_applied;
}

/* Puts a node and the next into one group. */
static void join(struct bander *b, struct ipex_plan_node *node) {
    if (node->band == 0) {
        node->band = ++b->groups;
        b->group_bytes = 0;
    }
    node[1].band = node->band;
    b->group_bytes += image_bytes(b, &b->plan->tensor[node->output[0]]);
}

static void record_group(struct bander *b, const struct ipex_plan_node *last) {
    const struct ipex_plan_node *first = last;
    while (first > b->plan->node && first[-1].band == last->band)
        first--;
    ipex_ledger_add(b->graph->ledger, "band", first->name, IPEX_REASON_applied,
                    ipex_arena_printf(b->plan->arena,
                                      "%d nodes, to %s: %.2f MB of an image stay between them",
                                      (int)(last - first) + 1, last->name, b->group_bytes * 1e-6));
}

void ipex_mark_bands(struct ipex_graph *graph, struct ipex_plan *plan) {
    struct bander b = {
        .graph = graph,
        .plan = plan,
        .readers = ipex_arena_array(plan->arena, plan->tensors, sizeof *b.readers),
        .is_port = ipex_arena_array(plan->arena, plan->tensors, sizeof *b.is_port),
    };
    count_readers(&b);
    for (size_t i = 0; i < plan->nodes; i++) {
        struct ipex_plan_node *node = &plan->node[i];
        const bool site = is_site(&b, node);
        const enum ipex_reason reason = site ? look_at(&b, node) : IPEX_REASON_applied;
        if (site && reason == IPEX_REASON_applied)
            join(&b, node);
        else if (node->band != 0)
            record_group(&b, node);
        if (reason != IPEX_REASON_applied)
            ipex_ledger_add(graph->ledger, "band", node->name, reason, NULL);
        else if (is_rounded_between(&b, node))
            ipex_ledger_add(graph->ledger, "band", node->name, IPEX_REASON_rounded_between, NULL);
    }
}
