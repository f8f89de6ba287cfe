/* SPDX-License-Identifier: Apache-2.0 */
/* Max pools over large windows take fewer steps, to the same result: the greatest of a window is
 * the greatest of what smaller windows give that cover it. A pool that looks at the same image as a
 * smaller one around the same places (spatial pyramids of YOLO networks: 5x5, 9x9, 13x13) reads
 * what that one gives; then a large window is taken row by row: the greatest along each row, and of
 * these down the columns. */
#include "tools/convert/passes.h"

/* The window of x that every output is the greatest of; output o begins at o - pad. */
struct pool_window {
    struct ipex_value *x;
    int64_t kernel[2], pad[4];
};

static bool is_max_pool(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_pool && node->u.pool.max;
}

/* Whether windows lie one place apart, and there is one for every place of x. */
static bool slides(const struct ipex_node *node) {
    if (!is_max_pool(node))
        return false;
    const struct ipex_value *x = node->input[0];
    for (int i = 0; i < 2; i++)
        if (node->u.pool.stride[i] != 1 || node->u.pool.dilation[i] != 1 ||
            node->output->dims[2 + i] != x->dims[2 + i])
            return false;
    return true;
}

/* Through all sliding pools before this one. */
static struct pool_window window_of(const struct ipex_node *node) {
    struct pool_window ret = {.x = node->output, .kernel = {1, 1}};
    for (; node && slides(node); node = ret.x->producer) {
        ret.x = node->input[0];
        for (int i = 0; i < 2; i++)
            ret.kernel[i] += node->u.pool.kernel[i] - 1;
        for (int i = 0; i < 4; i++)
            ret.pad[i] += node->u.pool.pad[i];
    }
    return ret;
}

static int64_t taps(const int64_t kernel[2]) {
    return kernel[0] * kernel[1];
}

/* Whether `outer` is the greatest of places of `inner`, and of fewer than it has now. */
static bool covers(const struct pool_window *outer, const struct pool_window *inner) {
    for (int i = 0; i < 4; i++)
        if (inner->pad[i] > outer->pad[i] || inner->kernel[i % 2] > outer->kernel[i % 2])
            return false;
    return inner->x == outer->x && taps(inner->kernel) < taps(outer->kernel);
}

/* The largest pool that this one, which reads `window`, can go on from, and its window; NULL: none.
 */
static struct ipex_node *find_smaller(const struct ipex_graph *graph,
                                      const struct pool_window *window,
                                      struct pool_window *ret_window) {
    struct ipex_node *ret = NULL;
    int64_t most = 1;
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        if (!slides(node))
            continue;
        const struct pool_window smaller = window_of(node);
        if (!covers(window, &smaller) || taps(smaller.kernel) <= most)
            continue;
        ret = node;
        *ret_window = smaller;
        most = taps(smaller.kernel);
    }
    return ret;
}

static bool go_on_from_smaller(struct ipex_graph *graph, struct ipex_node *node) {
    const struct pool_window window = window_of(node);
    if (window.x != node->input[0]) /* it does already */
        return false;
    struct pool_window inner;
    struct ipex_node *smaller = find_smaller(graph, &window, &inner);
    if (!smaller)
        return false;
    if (!ipex_node_is_before(smaller, node)) {
        if (smaller->input[0] != window.x)
            return false;
        ipex_graph_move(graph, smaller, node);
    }
    for (int i = 0; i < 2; i++)
        node->u.pool.kernel[i] -= inner.kernel[i] - 1;
    for (int i = 0; i < 4; i++)
        node->u.pool.pad[i] -= inner.pad[i];
    ipex_node_set_input(node, 0, smaller->output);
    ipex_ledger_add(graph->ledger, "pool", node->name, IPEX_REASON_applied,
                    ipex_arena_printf(&graph->arena,
                                      "%d x %d of what %s gives, not %d x %d of what it reads",
                                      (int)node->u.pool.kernel[0], (int)node->u.pool.kernel[1],
                                      smaller->name, (int)window.kernel[0], (int)window.kernel[1]));
    return true;
}

/* Along rows every place is needed that some window looks at, and what is between is written and
 * read again. */
static bool is_worth_splitting(const struct ipex_node *node) {
    const struct ipex_pool *pool = &node->u.pool;
    return is_max_pool(node) && !pool->ceil &&
           taps(pool->kernel) > pool->kernel[0] + pool->stride[0] * (pool->kernel[1] + 5);
}

static void split(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_value *x = node->input[0], *y = node->output;
    const int64_t dims[4] = {x->dims[0], x->dims[1], x->dims[2], y->dims[3]};
    const char *name = ipex_arena_printf(&graph->arena, "%s.rows", y->name);
    struct ipex_node *rows =
        ipex_graph_node(graph, IPEX_KIND_pool, node->name, node->source_op, node);
    rows->u.pool = node->u.pool;
    for (int i = 0; i < 2; i++) {
        struct ipex_pool *pool = i == 0 ? &rows->u.pool : &node->u.pool;
        pool->kernel[i] = pool->stride[i] = pool->dilation[i] = 1;
        pool->pad[i] = pool->pad[2 + i] = 0;
    }
    ipex_node_add_input(rows, x);
    ipex_node_set_output(rows, ipex_graph_value(graph, name, y->dtype, 4, dims));
    ipex_node_set_input(node, 0, rows->output);
    ipex_ledger_add(graph->ledger, "pool", node->name, IPEX_REASON_applied,
                    ipex_arena_printf(&graph->arena, "%d along a row, then %d down a column",
                                      (int)rows->u.pool.kernel[1], (int)node->u.pool.kernel[0]));
}

void ipex_pass_pool(struct ipex_graph *graph) {
    struct ipex_node *node = graph->first;
    while (node) /* from the first one again: a smaller one may have moved before it */
        node = slides(node) && go_on_from_smaller(graph, node) ? graph->first : node->next;
    for (node = graph->first; node; node = node->next)
        if (is_worth_splitting(node))
            split(graph, node);
}
