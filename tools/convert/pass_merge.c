/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers that read the same value become one, whose outputs lie side by side: the value is
 * walked once, and readers take their part in place, as a slice. Every output keeps its own chain
 * of products, so no bit changes. A part that a reshape splits into heads is cut after the split:
 * [..., 3 H D] -> [..., 3 H, D] -> H of the heads, which attention reads where they lie.
 *
 * Several groups per value are possible. A layer stays alone where its part would have to be copied
 * for a reader, where its epilogue is not the others', or where larger steps lie between it and the
 * others, during which its result would take memory. Readers that work element by element lose by
 * gaps between rows, and by reading what was written longer ago (measured: 2 to 28 %): for them a
 * group must save columns of padding (measured: 11 % for 4 + 80 + 1 outputs). */
#include "tools/convert/passes.h"
#include "tools/convert/weight_blocks.h"

#include <string.h>

#include "format/tile.h"

/* One of the linear layers that read a value. */
struct ipex_linear_reader {
    struct ipex_node *node;
    struct ipex_linear_reader *next; /* in the graph's order */
    size_t large;                    /* large steps behind it */
};

struct member {
    struct ipex_node *node;
    size_t large;
    enum ipex_reason reason; /* of its own: applied where others may join it */
    int64_t split;           /* the least multiple of the widths of its splits into heads */
    bool elementwise;        /* a reader works element by element */
    bool taken;
};

struct readers {
    struct member *member; /* linear layers that read one value, in the graph's order */
    int32_t count;
};

/* Some of them that become one. */
struct group {
    struct ipex_node **node;
    int32_t count;
    int64_t n;     /* the greatest number that divides the columns of each */
    int64_t split; /* the least multiple of the width of each split: it divides n */
    const struct member *last;
    bool elementwise;
};

/* ---- what a part's readers can do with a slice ---- */

static bool is_split(const struct ipex_node *node, int64_t *ret_width);

/* Operand `index` of the reader may have gaps between its rows; `split`: between its heads too. */
static bool takes_slice(struct ipex_node *reader, int32_t index, bool split, bool *elementwise);

static bool readers_take_slices(struct ipex_value *value, bool split, bool *elementwise) {
    int32_t seen = 0;
    if (value->is_output)
        return false;
    for (struct ipex_node *node = value->producer->next; node && seen < value->uses;
         node = node->next)
        for (int32_t i = 0; i < node->inputs; i++)
            if (ipex_node_operands(node)[i] == value) {
                seen++;
                if (!takes_slice(node, i, split, elementwise))
                    return false;
            }
    return true;
}

static bool takes_slice(struct ipex_node *reader, int32_t index, bool split, bool *elementwise) {
    int64_t width;
    switch (reader->kind) {
    case IPEX_KIND_pointwise:
        *elementwise = true;
        return true;
    case IPEX_KIND_linear:
        return !split;
    case IPEX_KIND_reshape:
        return !split && is_split(reader, &width) &&
               readers_take_slices(reader->output, true, elementwise);
    case IPEX_KIND_transpose:
    case IPEX_KIND_slice:
        return readers_take_slices(reader->output, split, elementwise);
    case IPEX_KIND_plan:
        return reader->u.plan.op == IPEX_OP_matmul ||
               (reader->u.plan.op == IPEX_OP_attention && index < 3);
    default:
        return false;
    }
}

/* A reshape of the last axis into [heads][width]. */
static bool is_split(const struct ipex_node *node, int64_t *ret_width) {
    const struct ipex_value *x = node->input[0], *y = node->output;
    if (y->rank < 2 || y->dims[y->rank - 1] < 1 || y->dims[y->rank - 2] < 1)
        return false;
    *ret_width = y->dims[y->rank - 1];
    return y->dims[y->rank - 2] * *ret_width == x->dims[x->rank - 1];
}

/* ---- who can be merged with whom ---- */

static enum ipex_reason check_alone(const struct ipex_node *node, bool *elementwise) {
    if (node->output->is_output)
        return IPEX_REASON_port;
    if (node->input[1]->uses > 1)
        return IPEX_REASON_shared_weight;
    if (node->epilogue.residual)
        return IPEX_REASON_epilogue_differs;
    return readers_take_slices(node->output, false, elementwise) ? IPEX_REASON_applied
                                                                 : IPEX_REASON_not_adjacent;
}

/* Steps that take long, or leave much memory to others. */
static bool is_large(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_conv || node->kind == IPEX_KIND_softmax ||
           (node->kind == IPEX_KIND_plan &&
            (node->u.plan.op == IPEX_OP_attention || node->u.plan.op == IPEX_OP_matmul ||
             node->u.plan.op == IPEX_OP_lstm || node->u.plan.op == IPEX_OP_gru));
}

static enum ipex_reason check_pair(const struct ipex_graph *graph, const struct member *first,
                                   const struct member *second) {
    const struct ipex_epilogue *a = &first->node->epilogue, *b = &second->node->epilogue;
    if (a->act != b->act || a->a != b->a || a->b != b->b)
        return IPEX_REASON_epilogue_differs;
    if (first->node->fold.k_order != second->node->fold.k_order)
        return IPEX_REASON_layout_differs;
    if (!ipex_blocks_alike(graph, first->node, second->node))
        return IPEX_REASON_blocks_differ;
    return first->large == second->large ? IPEX_REASON_applied : IPEX_REASON_far_apart;
}

static int64_t divisor(int64_t a, int64_t b) {
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Of two that each divide the dim of a part: below 2^62. */
static int64_t multiple(int64_t a, int64_t b) {
    return a / divisor(a, b) * b;
}

/* The least multiple of the widths of all splits of a value; 1: there are none. */
static int64_t splits_of(const struct ipex_value *value) {
    int64_t ret = 1, width;
    int32_t seen = 0;
    for (struct ipex_node *node = value->producer->next; node && seen < value->uses;
         node = node->next)
        for (int32_t i = 0; i < node->inputs; i++)
            if (ipex_node_operands(node)[i] == value) {
                seen++;
                if (node->kind == IPEX_KIND_reshape && is_split(node, &width))
                    ret = multiple(ret, width);
            }
    return ret;
}

/* Adds a member to a group where every split of a part's width is one of the whole then: heads of
 * that width begin at every part. */
static bool join(struct group *group, const struct member *m) {
    const int64_t n = divisor(group->n, m->node->fold.n), split = multiple(group->split, m->split);
    if (n % split)
        return false;
    group->n = n;
    group->split = split;
    group->last = m;
    group->elementwise |= m->elementwise;
    group->node[group->count++] = m->node;
    return true;
}

/* ---- merging ---- */

/* The weights of all, one below the other, with their scales and biases. */
static struct ipex_fold joined_fold(struct ipex_graph *graph, struct ipex_node *const *node,
                                    int32_t count) {
    struct ipex_fold fold = {.k_order = node[0]->fold.k_order, .parts = count};
    bool scales = false, biases = false;
    fold.part = ipex_arena_array(&graph->arena, (size_t)count, sizeof *fold.part);
    for (int32_t i = 0; i < count; i++) {
        const struct ipex_node *from = node[i];
        fold.part[i] = (struct ipex_fold_part){from->input[1], from->weight_kn, from->fold.n};
        fold.n += from->fold.n;
        scales |= from->fold.scale != NULL;
        biases |= from->fold.bias != NULL;
    }
    if (scales)
        fold.scale = ipex_arena_array(&graph->arena, (size_t)fold.n, sizeof *fold.scale);
    if (biases)
        fold.bias = ipex_arena_array(&graph->arena, (size_t)fold.n, sizeof *fold.bias);
    for (int64_t i = 0, start = 0; i < count; start += node[i++]->fold.n)
        for (int64_t k = 0; k < node[i]->fold.n; k++) {
            const struct ipex_fold *from = &node[i]->fold;
            if (scales)
                fold.scale[start + k] = from->scale ? from->scale[k] : 1;
            if (biases)
                fold.bias[start + k] = from->bias ? from->bias[k] : 0;
        }
    return fold;
}

/* value = whole[..., start * unit .. ] along an axis, before a node. */
static void cut(struct ipex_graph *graph, struct ipex_value *whole, struct ipex_value *value,
                int32_t axis, int64_t start, const char *name, struct ipex_node *before) {
    struct ipex_node *node = ipex_graph_node(graph, IPEX_KIND_slice, name, "Split", before);
    for (int32_t i = 0; i < whole->rank; i++)
        node->u.slice.step[i] = 1;
    node->u.slice.start[axis] = start;
    ipex_node_add_input(node, whole);
    ipex_node_set_output(node, value);
}

/* The reshape that split a part splits the whole, and the part is cut from that. */
static void cut_split(struct ipex_graph *graph, struct ipex_value *whole, struct ipex_node *split,
                      int64_t start, int64_t n) {
    struct ipex_value *part = split->output;
    const int32_t axis = part->rank - 2;
    const int64_t width = part->dims[axis + 1];
    int64_t dims[IPEX_MAX_RANK];
    memcpy(dims, part->dims, sizeof dims);
    dims[axis] = n / width;
    struct ipex_node *after = split->next;
    ipex_node_set_input(split, 0, whole);
    ipex_node_set_output(split,
                         ipex_graph_value(graph, whole->name, part->dtype, part->rank, dims));
    cut(graph, split->output, part, axis, start / width, split->name, after);
}

/* Readers of the part that begins at `start`, all of them from `behind` on, now read the whole. */
static void hand_out(struct ipex_graph *graph, struct ipex_value *whole, struct ipex_value *part,
                     int64_t start, const char *name, struct ipex_node *behind) {
    const int32_t axis = whole->rank - 1;
    int32_t others = 0;
    for (struct ipex_node *reader = behind, *next; reader && others < part->uses; reader = next) {
        next = reader->next;
        if (reader->kind == IPEX_KIND_reshape && reader->input[0] == part) {
            cut_split(graph, whole, reader, start, whole->dims[axis]);
            continue;
        }
        for (int32_t i = 0; i < reader->inputs; i++)
            others += ipex_node_operands(reader)[i] == part;
    }
    if (part->uses)
        cut(graph, whole, part, axis, start, name, whole->producer->next);
}

static void merge(struct ipex_graph *graph, struct ipex_node *const *node, int32_t count) {
    struct ipex_node *first = node[0];
    struct ipex_fold fold = joined_fold(graph, node, count);
    int64_t dims[IPEX_MAX_RANK], start = 0;
    memcpy(dims, first->output->dims, sizeof dims);
    dims[first->output->rank - 1] = fold.n;
    const char *name = first->name, *value_name = first->output->name;
    for (int32_t i = 1; i < count; i++) {
        name = ipex_graph_join(graph, name, node[i]->name);
        value_name = ipex_graph_join(graph, value_name, node[i]->output->name);
    }
    struct ipex_value *whole =
        ipex_graph_value(graph, value_name, first->output->dtype, first->output->rank, dims);
    const char *text = ipex_arena_printf(
        &graph->arena, "one of %d linear layers that are computed as one (%s)", count, name);
    for (int32_t i = 0; i < count; i++) {
        ipex_ledger_add(graph->ledger, "merge", node[i]->name, IPEX_REASON_applied, text);
        struct ipex_value *part = node[i]->output;
        struct ipex_node *behind = node[i]->next;
        const char *part_name = node[i]->name;
        if (i > 0)
            ipex_graph_remove(graph, node[i]);
        else
            ipex_node_set_output(first, whole);
        hand_out(graph, whole, part, start, part_name, behind);
        start += fold.part[i].n;
    }
    first->fold = fold;
    first->name = name;
}

/* ---- sites ---- */

/* Lists every value's linear readers. */
static void list_readers(struct ipex_graph *graph) {
    size_t large = 0;
    for (struct ipex_node *node = graph->last; node; node = node->prev) {
        large += is_large(node);
        if (node->kind != IPEX_KIND_linear || node->integer)
            continue;
        struct ipex_linear_reader *reader = ipex_arena_alloc(&graph->arena, sizeof *reader);
        *reader = (struct ipex_linear_reader){node, node->input[0]->linear, large};
        node->input[0]->linear = reader;
    }
}

static struct readers members_of(struct ipex_graph *graph, const struct ipex_value *x) {
    struct readers r = {.member =
                            ipex_arena_array(&graph->arena, (size_t)x->uses, sizeof *r.member)};
    for (const struct ipex_linear_reader *reader = x->linear; reader; reader = reader->next) {
        struct member *m = &r.member[r.count++];
        m->node = reader->node;
        m->large = reader->large;
        m->reason = check_alone(m->node, &m->elementwise);
        if (m->reason == IPEX_REASON_applied)
            m->split = splits_of(m->node->output);
    }
    return r;
}

/* Why a layer that could be merged has nobody to be merged with. */
static enum ipex_reason why_alone(const struct ipex_graph *graph, const struct readers *r,
                                  int32_t i) {
    for (int32_t k = 0; k < r->count; k++)
        if (k != i && r->member[k].reason == IPEX_REASON_applied) {
            enum ipex_reason reason = check_pair(graph, &r->member[i], &r->member[k]);
            return reason == IPEX_REASON_applied ? IPEX_REASON_shape_mismatch : reason;
        }
    return IPEX_REASON_no_partner;
}

/* Member i and those behind it that fit; their nodes go to `node`. */
static struct group take_group(const struct ipex_graph *graph, const struct readers *r, int32_t i,
                               struct ipex_node **node) {
    struct group group = {.node = node, .split = 1};
    for (int32_t k = i; k < r->count; k++) {
        struct member *m = &r->member[k];
        if (m->reason == IPEX_REASON_applied && !m->taken &&
            (!group.count || check_pair(graph, group.last, m) == IPEX_REASON_applied))
            m->taken = join(&group, m);
    }
    return group;
}

static bool saves_padding(const struct group *group) {
    int64_t panels = 0, n = 0;
    for (int32_t i = 0; i < group->count; i++) {
        n += group->node[i]->fold.n;
        panels += (group->node[i]->fold.n + IPEX_PANEL - 1) / IPEX_PANEL;
    }
    return (n + IPEX_PANEL - 1) / IPEX_PANEL < panels;
}

static void try_group(struct ipex_graph *graph, const struct group *group) {
    if (group->count < 2)
        return;
    if (!group->elementwise || saves_padding(group)) {
        merge(graph, group->node, group->count);
        return;
    }
    for (int32_t i = 0; i < group->count; i++)
        ipex_ledger_add(graph->ledger, "merge", group->node[i]->name, IPEX_REASON_gaps_slower,
                        NULL);
}

static void try_value(struct ipex_graph *graph, const struct ipex_value *x) {
    struct readers r = members_of(graph, x);
    struct ipex_node **node = ipex_arena_array(&graph->arena, (size_t)r.count, sizeof *node);
    struct group *group = ipex_arena_array(&graph->arena, (size_t)r.count, sizeof *group);
    /* all verdicts first: merging changes what lies between */
    for (int32_t i = 0, taken = 0; i < r.count; i++) {
        const struct member *m = &r.member[i];
        enum ipex_reason verdict = m->reason;
        if (verdict == IPEX_REASON_applied && !m->taken) {
            group[i] = take_group(graph, &r, i, node + taken);
            if (group[i].count == 1)
                verdict = why_alone(graph, &r, i);
            taken += group[i].count;
        }
        if (verdict != IPEX_REASON_applied)
            ipex_ledger_add(graph->ledger, "merge", m->node->name, verdict, NULL);
    }
    for (int32_t i = 0; i < r.count; i++)
        try_group(graph, &group[i]);
}

void ipex_pass_merge(struct ipex_graph *graph) {
    list_readers(graph);
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        const struct ipex_linear_reader *first =
            node->kind == IPEX_KIND_linear ? node->input[0]->linear : NULL;
        if (first && first->node == node && first->next)
            try_value(graph, node->input[0]);
    }
}
