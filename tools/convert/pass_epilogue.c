/* SPDX-License-Identifier: Apache-2.0 */
/* conv or linear -> [Add residual] -> [activation] -> [scale and shift of a hard_swish]: all are
 * computed where the result is stored, so the tensors in between never exist. */
#include "tools/convert/match.h"
#include "tools/convert/passes.h"

#include <string.h>

static bool is_linear(const struct ipex_node *node) {
    return node && (node->kind == IPEX_KIND_conv || node->kind == IPEX_KIND_linear);
}

/* Takes over `node`: its output becomes the producer's, which moves down to where the node was. */
static void absorb(struct ipex_graph *graph, struct ipex_node *producer, struct ipex_node *node) {
    struct ipex_value *y = node->output;
    producer->name = ipex_graph_join(graph, producer->name, node->name);
    ipex_graph_move(graph, producer, node);
    ipex_graph_remove(graph, node);
    ipex_node_set_output(producer, y);
}

/* Normalisations end in an activation too. */
static bool is_norm(const struct ipex_node *node) {
    return node && node->kind == IPEX_KIND_plan &&
           (node->u.plan.op == IPEX_OP_layer_norm || node->u.plan.op == IPEX_OP_group_norm);
}

/* Looks through reshapes and transposes, which an activation does not mind, to the convolution,
 * linear layer or normalisation that they alone read: the value that it writes; x where there is
 * none. */
static struct ipex_value *behind_moves(const struct ipex_graph *graph, struct ipex_value *x) {
    struct ipex_value *from = x;
    while (from->producer &&
           (from->producer->kind == IPEX_KIND_reshape ||
            from->producer->kind == IPEX_KIND_transpose) &&
           ipex_value_only_reader(graph, from))
        from = from->producer->input[0];
    return is_linear(from->producer) || is_norm(from->producer) ? from : x;
}

/* Takes over `node`, before which stand moves: the last of them now writes its output. */
static void pass_by(struct ipex_graph *graph, struct ipex_node *producer, struct ipex_node *node) {
    struct ipex_node *move = node->input[0]->producer;
    struct ipex_value *y = node->output;
    producer->name = ipex_graph_join(graph, producer->name, node->name);
    ipex_graph_remove(graph, node);
    ipex_node_set_output(move, y);
}

/* x's producer takes over `node`, which reads x or what moves have made of it. */
static void take_over(struct ipex_graph *graph, struct ipex_value *x, struct ipex_node *node) {
    if (x == node->input[0])
        absorb(graph, x->producer, node);
    else
        pass_by(graph, x->producer, node);
}

static void record(struct ipex_graph *graph, const struct ipex_node *node, enum ipex_reason reason,
                   const char *what, const struct ipex_node *producer) {
    const char *text = reason == IPEX_REASON_applied
                           ? ipex_arena_printf(&graph->arena, "%s computed in the epilogue of %s",
                                               what, producer->name)
                           : NULL;
    ipex_ledger_add(graph->ledger, "epilogue", node->name, reason, text);
}

static enum ipex_reason check(const struct ipex_graph *graph, const struct ipex_value *x) {
    const struct ipex_node *producer = x->producer;
    if (!is_linear(producer))
        return IPEX_REASON_no_linear_producer;
    if (!ipex_value_only_reader(graph, x))
        return IPEX_REASON_two_consumers;
    return producer->epilogue.act == IPEX_ACT_none ? IPEX_REASON_applied
                                                   : IPEX_REASON_epilogue_full;
}

/* A transposed convolution has no place for a residual. */
static enum ipex_reason check_residual(const struct ipex_graph *graph, const struct ipex_value *x) {
    const struct ipex_node *producer = x->producer;
    enum ipex_reason reason = check(graph, x);
    if (reason != IPEX_REASON_applied)
        return reason;
    if (producer->kind == IPEX_KIND_conv && producer->u.conv.transposed)
        return IPEX_REASON_not_an_epilogue;
    return producer->epilogue.residual ? IPEX_REASON_epilogue_full : IPEX_REASON_applied;
}

static const char *act_name(enum ipex_act act) {
    static const char *const names[] = {
#define NAME(id, name) [id] = #name,
        IPEX_ACT_LIST(NAME)
#undef NAME
    };
    return names[act];
}

/* x: what the normalisation writes. */
static void try_after_norm(struct ipex_graph *graph, struct ipex_node *node, struct ipex_value *x,
                           enum ipex_act act, float a, float b) {
    struct ipex_node *producer = x->producer;
    enum ipex_reason reason = producer->u.plan.int_[1]           ? IPEX_REASON_epilogue_full
                              : ipex_value_only_reader(graph, x) ? IPEX_REASON_applied
                                                                 : IPEX_REASON_two_consumers;
    record(graph, node, reason, act_name(act), producer);
    if (reason != IPEX_REASON_applied)
        return;
    producer->u.plan.int_[1] = (int64_t)act;
    producer->u.plan.float_[1] = a;
    producer->u.plan.float_[2] = b;
    take_over(graph, x, node);
}

static void set_act(struct ipex_node *producer, enum ipex_act act, float a, float b) {
    producer->epilogue.act = act;
    producer->epilogue.a = a;
    producer->epilogue.b = b;
}

/* An activation of a concatenation of layers that it alone reads: each computes its part. */
static void try_after_concat(struct ipex_graph *graph, struct ipex_node *node, enum ipex_act act,
                             float a, float b) {
    struct ipex_node *concat = node->input[0]->producer;
    struct ipex_value *y = node->output;
    enum ipex_reason reason = ipex_value_only_reader(graph, concat->output)
                                  ? IPEX_REASON_applied
                                  : IPEX_REASON_two_consumers;
    for (int32_t i = 0; i < concat->inputs && reason == IPEX_REASON_applied; i++)
        if (check(graph, behind_moves(graph, concat->concat_input[i])) != IPEX_REASON_applied)
            reason = IPEX_REASON_after_concat;
    record(graph, node, reason, act_name(act), concat);
    if (reason != IPEX_REASON_applied)
        return;
    for (int32_t i = 0; i < concat->inputs; i++) {
        struct ipex_node *producer = behind_moves(graph, concat->concat_input[i])->producer;
        set_act(producer, act, a, b);
        producer->name = ipex_graph_join(graph, producer->name, node->name);
    }
    ipex_graph_remove(graph, node);
    ipex_node_set_output(concat, y);
}

static void try_activation(struct ipex_graph *graph, struct ipex_node *node) {
    float a, b;
    enum ipex_act act =
        node->inputs == 1 ? ipex_program_act(node->u.program, &a, &b) : IPEX_ACT_none;
    struct ipex_node *producer = node->input[0]->producer;
    if (act == IPEX_ACT_none) {
        if (node->inputs == 1 && is_linear(producer))
            record(graph, node, IPEX_REASON_not_an_epilogue, NULL, NULL);
        return;
    }
    if (producer && producer->kind == IPEX_KIND_concat) {
        try_after_concat(graph, node, act, a, b);
        return;
    }
    struct ipex_value *x = behind_moves(graph, node->input[0]);
    if (is_norm(x->producer)) {
        try_after_norm(graph, node, x, act, a, b);
        return;
    }
    enum ipex_reason reason = check(graph, x);
    producer = x->producer;
    record(graph, node, reason, act_name(act), producer);
    if (reason != IPEX_REASON_applied)
        return;
    set_act(producer, act, a, b);
    take_over(graph, x, node);
}

/* x * scale + shift with a number each, one of which this node brings. */
static bool is_scaling(const struct ipex_node *node, float *ret_scale, float *ret_shift) {
    const struct ipex_program *p = node->u.program;
    const int16_t op = p->step[0].op, a = p->step[0].a, b = p->step[0].b;
    if (node->inputs != 1 || p->steps != 1 || (op != IPEX_STEP_mul && op != IPEX_STEP_add) ||
        (a < 0) == (b < 0))
        return false;
    const float number = p->constant[-1 - (a < 0 ? a : b)];
    *ret_scale = op == IPEX_STEP_mul ? number : 1.0f;
    *ret_shift = op == IPEX_STEP_mul ? 0.0f : number;
    return true;
}

/* hard_swish has room for a scale and a shift behind it (PP-OCR's blocks end in these). True where
 * that was looked at. */
static bool try_scaling(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_node *producer = node->input[0]->producer;
    float scale, shift;
    if (!is_linear(producer) || !is_scaling(node, &scale, &shift))
        return false;
    struct ipex_epilogue *epilogue = &producer->epilogue;
    if (epilogue->act != IPEX_ACT_hard_swish && epilogue->act != IPEX_ACT_hard_swish_affine)
        return false;
    const bool alone = ipex_value_only_reader(graph, node->input[0]) != NULL;
    record(graph, node, alone ? IPEX_REASON_applied : IPEX_REASON_two_consumers,
           "scale or shift after hard_swish", producer);
    if (!alone)
        return true;
    if (epilogue->act == IPEX_ACT_hard_swish)
        epilogue->a = 1.0f;
    epilogue->act = IPEX_ACT_hard_swish_affine;
    epilogue->a *= scale;
    epilogue->b = epilogue->b * scale + shift;
    absorb(graph, producer, node);
    return true;
}

/* Of what y is by the moves that lead from `from` to x; NULL where it is by others. */
static struct ipex_value *before_same_moves(const struct ipex_value *from,
                                            const struct ipex_value *x, struct ipex_value *y) {
    while (x != from) {
        const struct ipex_node *a = x->producer, *b = y->producer;
        if (!b || a->kind != b->kind || !ipex_same_shape(a->input[0], b->input[0]) ||
            (a->kind == IPEX_KIND_transpose &&
             memcmp(a->u.perm, b->u.perm, (size_t)x->rank * sizeof *a->u.perm)))
            return NULL;
        x = a->input[0];
        y = b->input[0];
    }
    return y;
}

/* The convolution and the moves that lead from it to x, to where the addition is: behind all that
 * is added. */
static void move_down(struct ipex_graph *graph, struct ipex_value *from, struct ipex_value *x,
                      struct ipex_node *node) {
    struct ipex_node *before = node;
    for (; x != from; x = x->producer->input[0]) {
        ipex_graph_move(graph, x->producer, before);
        before = x->producer;
    }
    ipex_graph_move(graph, from->producer, before);
}

/* Where both are moved alike, as what stands between convolutions of volumes is, their sum is the
 * moved sum. */
static bool try_moved_residual(struct ipex_graph *graph, struct ipex_node *node) {
    for (int i = 0; i < 2; i++) {
        struct ipex_value *x = node->input[i], *from = behind_moves(graph, x);
        struct ipex_value *other = before_same_moves(from, x, node->input[!i]);
        if (from == x || !other || other == from ||
            check_residual(graph, from) != IPEX_REASON_applied)
            continue;
        struct ipex_node *producer = from->producer, *move = x->producer;
        record(graph, node, IPEX_REASON_applied, "addition", producer);
        move_down(graph, from, x, node);
        producer->epilogue.residual = other;
        ipex_node_add_input(producer, other);
        producer->name = ipex_graph_join(graph, producer->name, node->name);
        struct ipex_value *y = node->output;
        ipex_graph_remove(graph, node);
        ipex_node_set_output(move, y);
        return true;
    }
    return false;
}

enum { MOST_MOVES = 8 };

/* Whether the moves that lead from what a linear layer writes to x are few, and of its rows alone.
 */
static bool are_of_rows(const struct ipex_value *from, const struct ipex_value *x) {
    for (int32_t moves = 0; x != from; moves++, x = x->producer->input[0]) {
        const int32_t last = x->rank - 1;
        if (x->rank == 0 || moves == MOST_MOVES || x->dims[last] != from->dims[from->rank - 1] ||
            (x->producer->kind == IPEX_KIND_transpose && x->producer->u.perm[last] != last))
            return false;
    }
    return true;
}

/* What the layer reads, moved as what it writes is from `from` to x. */
static struct ipex_value *moved_rows(struct ipex_graph *graph, struct ipex_node *layer,
                                     const struct ipex_value *from, const struct ipex_value *x) {
    const struct ipex_node *move = x->producer;
    if (x == from)
        return layer->input[0];
    struct ipex_value *rows = moved_rows(graph, layer, from, move->input[0]);
    if (move->kind == IPEX_KIND_transpose) {
        rows = ipex_graph_transposed(graph, rows, move->u.perm, layer);
        rows->producer->name = move->name;
        return rows;
    }
    int64_t dims[IPEX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = rows->dims[rows->rank - 1];
    return ipex_graph_reshaped(graph, ipex_before_reshapes(rows), x->rank, dims, layer);
}

/* Where the rows of a linear layer are moved before they are added to something, those of what it
 * reads are moved instead, if they are no longer: PyTorch's attention ends in a layer of flat rows.
 */
static void move_rows_first(struct ipex_graph *graph, struct ipex_value *x,
                            const struct ipex_value *other) {
    struct ipex_value *from = behind_moves(graph, x);
    struct ipex_node *layer = from->producer;
    if (from == x || layer->kind != IPEX_KIND_linear || other->constant ||
        !ipex_same_shape(x, other) || !ipex_value_only_reader(graph, x) ||
        check_residual(graph, from) != IPEX_REASON_applied || !are_of_rows(from, x) ||
        layer->input[0]->dims[layer->input[0]->rank - 1] > from->dims[from->rank - 1])
        return;
    ipex_node_set_input(layer, 0, moved_rows(graph, layer, from, x));
    for (struct ipex_value *move = x; move != from;) {
        struct ipex_node *node = move->producer;
        move = node->input[0];
        ipex_graph_remove(graph, node);
    }
    ipex_node_set_output(layer, x);
}

static void try_residual(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_value *x[2] = {node->input[0], node->input[1]};
    if (x[0] == x[1] || try_moved_residual(graph, node))
        return;
    for (int i = 0; i < 2; i++)
        if (!is_linear(x[!i]->producer))
            move_rows_first(graph, x[i], x[!i]);
    if (!is_linear(x[0]->producer) && !is_linear(x[1]->producer))
        return;
    if (!ipex_same_shape(x[0], x[1]) || x[0]->constant || x[1]->constant) {
        record(graph, node, IPEX_REASON_broadcast, NULL, NULL);
        return;
    }
    enum ipex_reason reason[2];
    for (int i = 0; i < 2; i++)
        reason[i] = check_residual(graph, x[i]);
    /* of two possible ones the later, so that the other is already there */
    int pick = reason[0] == IPEX_REASON_applied ? 0 : 1;
    if (reason[0] == IPEX_REASON_applied && reason[1] == IPEX_REASON_applied &&
        ipex_node_is_before(x[0]->producer, x[1]->producer))
        pick = 1;
    enum ipex_reason verdict = reason[pick] == IPEX_REASON_applied ? reason[pick]
                               : is_linear(x[0]->producer)         ? reason[0]
                                                                   : reason[1];
    struct ipex_node *producer = x[pick]->producer;
    record(graph, node, verdict, "addition", producer);
    if (verdict != IPEX_REASON_applied)
        return;
    producer->epilogue.residual = x[!pick];
    ipex_node_add_input(producer, x[!pick]);
    absorb(graph, producer, node);
}

static bool is_add(const struct ipex_node *node) {
    const struct ipex_program *p = node->u.program;
    return node->inputs == 2 && p->steps == 1 && p->step[0].op == IPEX_STEP_add &&
           p->step[0].a >= 0 && p->step[0].b >= 0;
}

void ipex_pass_epilogue(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (node->kind != IPEX_KIND_pointwise)
            continue;
        ipex_program_absorb_scalars(node);
        if (is_add(node))
            try_residual(graph, node);
        else if (!try_scaling(graph, node))
            try_activation(graph, node);
    }
}
