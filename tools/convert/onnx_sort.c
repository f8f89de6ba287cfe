/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a graph's nodes. */
#include "tools/convert/onnx_sort.h"

#include "tools/name_table.h"

/* The nodes of a graph by what they compute, and what each one reads from others. */
struct order {
    struct ipex_arena *arena;
    struct ipex_name_table producer; /* number: 1 + its place */
    uint32_t *from;                  /* [reads] places of producers, those of node 0 first */
    size_t *begin;                   /* [nodes + 1] in `from` */
    size_t reads, capacity;
};

static void add_read(struct order *order, const char *name) {
    const struct ipex_name *known = ipex_name_find(&order->producer, name);
    if (!known)
        return;
    if (order->reads == order->capacity) {
        const size_t capacity = 2 * order->capacity + 64;
        uint32_t *from = ipex_arena_array(order->arena, capacity, sizeof *from);
        for (size_t i = 0; i < order->reads; i++)
            from[i] = order->from[i];
        order->from = from;
        order->capacity = capacity;
    }
    order->from[order->reads++] = known->value.number - 1;
}

static void add_graph(struct order *order, const struct ipex_onnx_graph *graph);

static void add_node(struct order *order, const struct ipex_onnx_node *node) {
    for (size_t i = 0; i < node->inputs; i++)
        add_read(order, node->input[i]);
    for (size_t i = 0; i < node->attrs; i++)
        if (node->attr[i].graph)
            add_graph(order, node->attr[i].graph);
}

static void add_graph(struct order *order, const struct ipex_onnx_graph *graph) {
    for (size_t i = 0; i < graph->nodes; i++)
        add_node(order, &graph->node[i]);
    for (size_t i = 0; i < graph->outputs; i++)
        add_read(order, graph->output[i].name);
}

/* Whether any node stands before one that it reads from. */
static bool read_order(struct order *order, const struct ipex_onnx_graph *graph) {
    bool wrong = false;
    for (size_t i = 0; i < graph->nodes; i++)
        for (size_t k = 0; k < graph->node[i].outputs; k++) {
            const char *name = graph->node[i].output[k];
            struct ipex_name *entry = *name ? ipex_name_add(&order->producer, name) : NULL;
            if (entry && !entry->value.number)
                entry->value.number = (uint32_t)i + 1;
        }
    order->begin = ipex_arena_array(order->arena, graph->nodes + 1, sizeof *order->begin);
    for (size_t i = 0; i < graph->nodes; i++) {
        order->begin[i] = order->reads;
        add_node(order, &graph->node[i]);
        for (size_t k = order->begin[i]; k < order->reads; k++)
            wrong |= order->from[k] >= i;
    }
    order->begin[graph->nodes] = order->reads;
    return wrong;
}

/* Depth first, without recursion: `at` is the next read of every node that has been begun. */
void ipex_onnx_sort(struct ipex_onnx_graph *graph, struct ipex_arena *arena) {
    struct order order = {.arena = arena, .producer = {.arena = arena}};
    if (!read_order(&order, graph))
        return;
    const size_t nodes = graph->nodes;
    struct ipex_onnx_node *sorted = ipex_arena_array(arena, nodes, sizeof *sorted);
    size_t *at = ipex_arena_array(arena, nodes, sizeof *at),
           *stack = ipex_arena_array(arena, nodes, sizeof *stack), depth = 0, done = 0;
    bool *begun = ipex_arena_array(arena, nodes, sizeof *begun);
    for (size_t first = 0; first < nodes; first++) {
        if (begun[first])
            continue;
        begun[first] = true;
        stack[depth++] = first;
        while (depth) {
            const size_t i = stack[depth - 1], read = order.begin[i] + at[i]++;
            if (read == order.begin[i + 1]) {
                sorted[done++] = graph->node[i];
                depth--;
            } else if (!begun[order.from[read]]) {
                begun[order.from[read]] = true;
                stack[depth++] = order.from[read];
            }
        }
    }
    graph->node = sorted;
}
