/* SPDX-License-Identifier: Apache-2.0 */
/* Max pools over large windows take fewer steps, to the same result: the greatest of a window is
 * the greatest of what smaller windows give that cover it. A pool that looks at the same image as a
 * smaller one around the same places (spatial pyramids of YOLO networks: 5x5, 9x9, 13x13) reads
 * what that one gives; then a large window is taken row by row: the greatest along each row, and of
 * these down the columns. */
#include "tools/convert/passes.h"

#include <stdlib.h>
#include <string.h>

/* The window of x, through all sliding pools in between, that every output of some pools is the
 * greatest of; output o begins at o - pad. It stays the same whatever those pools read. */
struct ipex_pool_window {
    const struct ipex_value *x; /* NULL: behind the last window */
    int64_t kernel[2], pad[4];
    struct ipex_node *first; /* of those pools, in the graph's order */
    size_t order;            /* where `first` is in that order, among those of other windows */
    bool passed;             /* `first` lies before the pool that is looked at */
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

static int64_t taps(const int64_t kernel[2]) {
    return kernel[0] * kernel[1];
}

/* ---- windows ---- */

static struct ipex_pool_window window_of(struct ipex_node *node, size_t order) {
    const struct ipex_node *before = node->input[0]->producer;
    struct ipex_pool_window ret = {.x = node->input[0], .kernel = {1, 1}};
    if (before && slides(before))
        ret = *before->u.pool.window;
    ret.first = node;
    ret.order = order;
    for (int i = 0; i < 2; i++)
        ret.kernel[i] += node->u.pool.kernel[i] - 1;
    for (int i = 0; i < 4; i++)
        ret.pad[i] += node->u.pool.pad[i];
    return ret;
}

/* Those of one value lie together, windows of more taps first. */
static int compare_windows(const struct ipex_pool_window *a, const struct ipex_pool_window *b) {
    const int64_t more = taps(b->kernel) - taps(a->kernel);
    if (a->x != b->x)
        return (uintptr_t)a->x < (uintptr_t)b->x ? -1 : 1;
    if (more)
        return more < 0 ? -1 : 1;
    const int kernels = memcmp(a->kernel, b->kernel, sizeof a->kernel);
    return kernels ? kernels : memcmp(a->pad, b->pad, sizeof a->pad);
}

static int by_window(const void *a, const void *b) {
    const struct ipex_pool_window *x = a, *y = b;
    const int result = compare_windows(x, y);
    return result ? result : (x->order > y->order) - (x->order < y->order);
}

/* Gives every sliding pool its window, one where there are equal ones. */
static void find_windows(struct ipex_graph *graph) {
    struct ipex_pool_window *window =
        ipex_arena_array(&graph->arena, graph->nodes + 1, sizeof *window);
    size_t pools = 0, windows = 0;
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (slides(node)) {
            window[pools] = window_of(node, graph->nodes + pools);
            node->u.pool.window = &window[pools++];
        }
    qsort(window, pools, sizeof *window, by_window);
    for (size_t i = 0; i < pools; i++) {
        struct ipex_node *node = window[i].first;
        if (!i || compare_windows(&window[windows - 1], &window[i]))
            window[windows++] = window[i];
        node->u.pool.window = &window[windows - 1];
    }
    window[windows].x = NULL;
}

/* ---- going on from a smaller one ---- */

/* Whether `outer` is the greatest of places of `inner`, and of fewer than it has now. */
static bool covers(const struct ipex_pool_window *outer, const struct ipex_pool_window *inner) {
    for (int i = 0; i < 4; i++)
        if (inner->pad[i] > outer->pad[i] || inner->kernel[i % 2] > outer->kernel[i % 2])
            return false;
    return taps(inner->kernel) < taps(outer->kernel);
}

/* The largest window that a pool over `window` can go on from, the first one of several; NULL:
 * none. */
static struct ipex_pool_window *find_smaller(struct ipex_pool_window *window) {
    struct ipex_pool_window *ret = NULL;
    for (struct ipex_pool_window *at = window + 1; at->x == window->x; at++) {
        if (taps(at->kernel) < (ret ? taps(ret->kernel) : 2))
            break;
        if (covers(window, at) && (!ret || at->order < ret->order))
            ret = at;
    }
    return ret;
}

static void read_smaller(struct ipex_graph *graph, struct ipex_node *node,
                         const struct ipex_pool_window *smaller) {
    const struct ipex_pool_window *window = node->u.pool.window;
    for (int i = 0; i < 2; i++)
        node->u.pool.kernel[i] -= smaller->kernel[i] - 1;
    for (int i = 0; i < 4; i++)
        node->u.pool.pad[i] -= smaller->pad[i];
    ipex_node_set_input(node, 0, smaller->first->output);
    ipex_ledger_add(
        graph->ledger, "pool", node->name, IPEX_REASON_applied,
        ipex_arena_printf(&graph->arena, "%d x %d of what %s gives, not %d x %d of what it reads",
                          (int)node->u.pool.kernel[0], (int)node->u.pool.kernel[1],
                          smaller->first->name, (int)window->kernel[0], (int)window->kernel[1]));
}

/* The pool to look at next where that is not the one behind it: one that has moved before it. */
static struct ipex_node *go_on_from_smaller(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_pool_window *window = node->u.pool.window;
    if (window->x != node->input[0]) /* it does already */
        return NULL;
    const struct ipex_pool_window *smaller = find_smaller(window);
    if (!smaller || (!smaller->passed && smaller->first->input[0] != window->x))
        return NULL; /* behind it and reading another pool: it cannot move */
    if (!smaller->passed)
        ipex_graph_move(graph, smaller->first, node);
    read_smaller(graph, node, smaller);
    return smaller->passed ? NULL : smaller->first;
}

static void go_on_from_smaller_ones(struct ipex_graph *graph) {
    size_t passed = 0;
    find_windows(graph);
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (!slides(node))
            continue;
        struct ipex_node *moved = go_on_from_smaller(graph, node);
        struct ipex_pool_window *window = node->u.pool.window;
        if (moved) {
            next = moved;
        } else if (!window->passed) {
            window->passed = true;
            window->order = passed++;
        }
    }
}

/* ---- row by row ---- */

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
    go_on_from_smaller_ones(graph);
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (is_worth_splitting(node))
            split(graph, node);
}
