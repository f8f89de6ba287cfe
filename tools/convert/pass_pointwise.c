/* SPDX-License-Identifier: Apache-2.0 */
/* Joins chains of elementwise nodes into one program, so that the values in between never touch
 * memory. What only moves elements goes out of the way of the chain that it stands in: before what
 * bytes stand for is computed, behind all else. */
#include "tools/convert/match.h"
#include "tools/convert/passes.h"

static bool is_pointwise(const struct ipex_node *node) {
    return node && node->kind == IPEX_KIND_pointwise;
}

/* A program of one byte is a table, looked up in what some steps take: worth a pass of its own, of
 * bytes or of floats. */
enum { TABLE_LEAST_STEPS = 6, TABLE_LEAST_STEPS_FLOAT = 10 };

static bool is_table(const struct ipex_node *node) {
    const int32_t least = node->output->is_byte ? TABLE_LEAST_STEPS : TABLE_LEAST_STEPS_FLOAT;
    return node->inputs == 1 && node->input[0]->is_byte && node->u.program->steps >= least;
}

/* Whether the node is of one byte once it computes what it reads as operand `index`, too. */
static bool becomes_one_byte(const struct ipex_node *node, int32_t index) {
    const struct ipex_node *producer = node->input[index]->producer;
    const struct ipex_value *byte = producer->input[0];
    for (int32_t i = 0; i < node->inputs; i++)
        if (node->input[i] != node->input[index] && node->input[i] != byte)
            return false;
    return producer->inputs == 1 && byte->is_byte;
}

/* What bytes stand for is computed by each of its elementwise readers, which read the bytes then.
 */
enum { COPIED_MOST_STEPS = 4 };

static bool may_copy(const struct ipex_node *node) {
    for (int32_t i = 1; i < node->inputs; i++)
        if (!node->input[i]->constant)
            return false;
    return node->input[0]->is_byte && !node->output->is_byte &&
           node->u.program->steps <= COPIED_MOST_STEPS;
}

/* Operands that are `from` are what a node of their own computes from now on. */
static void copy_operand(struct ipex_graph *graph, struct ipex_node *node,
                         struct ipex_value *from) {
    const struct ipex_node *producer = from->producer;
    struct ipex_node *own =
        ipex_graph_node(graph, IPEX_KIND_pointwise, producer->name, producer->source_op, node);
    own->u.program = producer->u.program;
    for (int32_t i = 0; i < producer->inputs; i++)
        ipex_node_add_input(own, producer->input[i]);
    ipex_node_set_output(own,
                         ipex_graph_value(graph, from->name, from->dtype, from->rank, from->dims));
    for (int32_t i = 0; i < node->inputs; i++)
        if (node->input[i] == from)
            ipex_node_set_input(node, i, own->output);
}

static enum ipex_reason try_join(struct ipex_graph *graph, struct ipex_node *node, int32_t i) {
    struct ipex_value *x = node->input[i];
    const bool copies = !ipex_value_only_reader(graph, x);
    if (copies && !may_copy(x->producer))
        return IPEX_REASON_two_consumers;
    if (!ipex_same_shape(x, node->output))
        return IPEX_REASON_broadcast;
    if (x->is_byte && !becomes_one_byte(node, i) && (is_table(x->producer) || is_table(node)))
        return IPEX_REASON_byte_table;
    if (copies)
        copy_operand(graph, node, x);
    return ipex_program_join(graph, node, i) ? IPEX_REASON_applied : IPEX_REASON_program_full;
}

/* Floats first, and once more when what moves elements has gone; then what becomes a table, so that
 * it is known what tables there are. */
enum round { FIRST, FLOATS, TABLES, BYTES };

static bool is_of_round(const struct ipex_node *node, int32_t i, enum round round) {
    const bool is_byte = node->input[i]->is_byte;
    return round <= FLOATS   ? !is_byte
           : round == TABLES ? is_byte && becomes_one_byte(node, i)
                             : is_byte;
}

static void join_operands(struct ipex_graph *graph, struct ipex_node *node, enum round round) {
    for (int32_t i = 0; i < node->inputs; i++) {
        struct ipex_node *producer = node->input[i]->producer;
        if (!is_pointwise(producer) || !is_of_round(node, i, round))
            continue;
        const char *site = ipex_graph_join(graph, producer->name, node->name);
        enum ipex_reason reason = try_join(graph, node, i);
        if (reason == IPEX_REASON_applied || round == FLOATS || round == BYTES)
            ipex_ledger_add(
                graph->ledger, round <= FLOATS ? "pointwise" : "byte_table", site, reason,
                reason == IPEX_REASON_applied ? "joined into one pass over memory" : NULL);
        if (reason == IPEX_REASON_applied)
            i = -1; /* the operands are numbered anew */
    }
}

static bool moves(const struct ipex_node *node) {
    return node && (node->kind == IPEX_KIND_reshape || node->kind == IPEX_KIND_transpose ||
                    ipex_node_is_nearest(node));
}

/* Fewer elements are left behind it, or more. */
static double growth_of(const struct ipex_graph *graph, const struct ipex_node *move) {
    double growth = 1;
    for (int32_t i = 0; i < 4 && ipex_node_is_nearest(move); i++)
        growth *= (double)ipex_dim_at(&graph->dims, move->output->dims[i], IPEX_DIM_HIGHEST) /
                  (double)ipex_dim_at(&graph->dims, move->input[0]->dims[i], IPEX_DIM_HIGHEST);
    return growth;
}

/* What moves elements and stands between an elementwise node of one operand and another one; what
 * repeats them may stand behind anything. None where that gives bytes, and the node floats: fewer
 * bytes are moved. */
static struct ipex_node *find_move(const struct ipex_graph *graph, const struct ipex_node *node) {
    struct ipex_node *move = node->inputs == 1 ? node->input[0]->producer : NULL;
    if (!moves(move) || !ipex_value_only_reader(graph, move->output) ||
        !ipex_value_only_reader(graph, move->input[0]) ||
        !ipex_same_shape(move->output, node->output))
        return NULL;
    const double growth = growth_of(graph, move);
    const struct ipex_value *x = move->input[0];
    const bool fits = growth > 1    ? !x->is_byte || node->output->is_byte
                      : growth == 1 ? !x->is_byte && is_pointwise(x->producer)
                                    : false;
    return fits ? move : NULL;
}

/* The node that computes what the bytes that a move could move stand for; NULL: there is none, or
 * what is behind the move comes before it anyway. */
static struct ipex_node *find_dequantised(const struct ipex_graph *graph,
                                          const struct ipex_node *move) {
    struct ipex_node *from = moves(move) ? move->input[0]->producer : NULL;
    if (!is_pointwise(from) || from->inputs != 1 || !may_copy(from) ||
        !ipex_value_only_reader(graph, from->output) ||
        !ipex_same_shape(from->input[0], from->output))
        return NULL;
    const struct ipex_node *reader = ipex_value_only_reader(graph, move->output);
    const bool before = is_pointwise(reader) && reader->output->is_byte &&
                        growth_of(graph, move) > 1 && find_move(graph, reader) == move;
    return before ? NULL : from;
}

/* `first` and `second`, which reads it alone, of one operand each, change places: one of them
 * computes, the other moves. */
static void swap(struct ipex_graph *graph, struct ipex_node *first, struct ipex_node *second) {
    struct ipex_value *x = first->input[0], *y = second->output;
    const bool computes = is_pointwise(second);
    const struct ipex_value *shape = computes ? x : y;
    ipex_graph_move(graph, second, first);
    ipex_node_set_input(second, 0, x);
    ipex_node_set_output(second,
                         ipex_graph_value(graph, y->name, y->dtype, shape->rank, shape->dims));
    second->output->is_byte = computes ? y->is_byte : x->is_byte;
    ipex_node_set_input(first, 0, second->output);
    ipex_node_set_output(first, y);
    ipex_ledger_add(graph->ledger, "pointwise", second->name, IPEX_REASON_applied,
                    ipex_arena_printf(&graph->arena, "before %s, not behind it", first->name));
}

/* Bytes are moved, not what they stand for; and elementwise nodes on both sides come together. */
static void move_moves(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        struct ipex_node *from = find_dequantised(graph, node);
        if (from)
            swap(graph, from, node);
    }
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        struct ipex_node *move = is_pointwise(node) ? find_move(graph, node) : NULL;
        if (move)
            swap(graph, move, node);
    }
}

static void join_all(struct ipex_graph *graph, enum round round) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        if (!is_pointwise(node))
            continue;
        ipex_program_absorb_scalars(node);
        join_operands(graph, node, round);
    }
}

void ipex_pass_pointwise(struct ipex_graph *graph) {
    join_all(graph, FIRST);
    ipex_move_bytes(graph);
    move_moves(graph);
    join_all(graph, FLOATS);
}

/* Behind the passes that want to know what each byte is made of. */
void ipex_pass_byte_table(struct ipex_graph *graph) {
    join_all(graph, TABLES);
    join_all(graph, BYTES);
}
