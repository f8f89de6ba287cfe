/* SPDX-License-Identifier: Apache-2.0 */
/* Marks band groups (format/FORMAT.md): runs of neighbouring nodes that work line by line, between
 * which lie large tensors that nobody else reads. A runtime can go through such a group band of
 * lines by band of lines, so that what lies in between never leaves the cache. Whether it does is
 * its own choice, by the cache that it finds; the result is the same. */
#include <string.h>

#include "tools/convert/lower.h"

/* Less than this stays in the L2 cache of any core. */
#define LEAST_BYTES (256 * 1024)

/* Lines of a pool's window beyond which it is no matter of lines. */
#define MOST_POOLED 16

/* The weights of a member are read again for every band. */
#define MOST_WEIGHT_BYTES (256 * 1024)

/* Winograd's are read again for every block of tiles anyway, and bands of fewer channels hold as
 * many tiles as such a block. */
#define MOST_WINOGRAD_BYTES (2 * 1024 * 1024)

/* Of a storage: the nodes that touch it. */
struct touched {
    int32_t first_writer, last_reader;
    int32_t reader; /* the only one, or NOBODY or SEVERAL */
    bool is_port;
};
enum { NOBODY = -1, SEVERAL = -2 };

struct bander {
    struct ipex_graph *graph;
    struct ipex_plan *plan;
    struct touched *touched; /* [tensors]: of those that are no views */
    uint32_t groups;
};

static int32_t root_of(const struct bander *b, int32_t tensor) {
    while (b->plan->tensor[tensor].view_of >= 0)
        tensor = b->plan->tensor[tensor].view_of;
    return tensor;
}

static int32_t output_root(const struct bander *b, int32_t node) {
    return root_of(b, b->plan->node[node].output[0]);
}

static bool is_convolution(const struct ipex_plan_node *node) {
    return node->op == IPEX_OP_conv || node->op == IPEX_OP_depthwise;
}

static bool pools_lines(const struct ipex_plan_node *node) {
    return (node->op == IPEX_OP_max_pool || node->op == IPEX_OP_avg_pool) && node->dynamics == 0 &&
           node->int_[IPEX_POOL_KERNEL_H] <= MOST_POOLED && node->int_[IPEX_POOL_DILATION_H] == 1;
}

static bool writes_lines(const struct ipex_plan_node *node) {
    return is_convolution(node) || pools_lines(node) || node->op == IPEX_OP_pointwise ||
           node->op == IPEX_OP_resize || node->op == IPEX_OP_copy || node->op == IPEX_OP_transpose;
}

static bool reads_lines(const struct ipex_plan_node *node, int32_t input) {
    return node->op == IPEX_OP_pointwise || node->op == IPEX_OP_copy || pools_lines(node) ||
           ((is_convolution(node) || node->op == IPEX_OP_winograd) && input == 0);
}

static void touch(struct bander *b, int32_t node) {
    const struct ipex_plan_node *n = &b->plan->node[node];
    for (int32_t i = 0; i < n->inputs; i++) {
        if (n->input[i] < 0)
            continue;
        struct touched *x = &b->touched[root_of(b, n->input[i])];
        const bool only = reads_lines(n, i) && (x->reader == NOBODY || x->reader == node);
        x->reader = only ? node : SEVERAL;
        x->last_reader = node;
    }
    for (int32_t i = 0; i < n->outputs; i++) {
        struct touched *y = &b->touched[root_of(b, n->output[i])];
        if (y->first_writer == NOBODY)
            y->first_writer = node;
    }
}

static void find_touched(struct bander *b) {
    const struct ipex_plan *plan = b->plan;
    for (size_t i = 0; i < plan->tensors; i++)
        b->touched[i] = (struct touched){NOBODY, NOBODY, NOBODY, false};
    for (size_t i = 0; i < plan->nodes; i++)
        touch(b, (int32_t)i);
    for (size_t i = 0; i < plan->outputs; i++)
        b->touched[root_of(b, plan->output[i].tensor)].is_port = true;
}

/* Of one image, borders included, at its largest. */
static double image_bytes(const struct bander *b, const struct ipex_plan_tensor *t) {
    const double lines = (double)ipex_dim_at(&b->graph->dims, t->dims[1], IPEX_DIM_HIGHEST);
    const double pixels = (double)ipex_dim_at(&b->graph->dims, t->dims[2], IPEX_DIM_HIGHEST);
    return (lines + t->halo[0] + t->halo[2]) * (pixels + t->halo[1] + t->halo[3]) *
           (double)t->dims[3] * (double)ipex_dtype_size(t->dtype);
}

/* Large, and of more lines than a signal has. */
static bool is_worth_cutting(const struct bander *b, const struct ipex_plan_tensor *t) {
    return t->rank == 4 && ipex_dim_at(&b->graph->dims, t->dims[1], IPEX_DIM_HIGHEST) > 1 &&
           image_bytes(b, t) > LEAST_BYTES;
}

static bool weights_too_large(const struct bander *b, int32_t node) {
    const struct ipex_plan_node *n = &b->plan->node[node];
    if (!is_convolution(n) && n->op != IPEX_OP_winograd)
        return false;
    return b->plan->weight[b->plan->tensor[n->input[1]].weight].bytes >
           (n->op == IPEX_OP_winograd ? MOST_WINOGRAD_BYTES : MOST_WEIGHT_BYTES);
}

/* Whether what a node writes is large and the next node's first operand, both convolutions: where
 * it is said why they do not go together. */
static bool is_site(const struct bander *b, int32_t node) {
    const struct ipex_plan_node *n = &b->plan->node[node];
    return (size_t)node + 1 < b->plan->nodes && is_convolution(n) && is_convolution(n + 1) &&
           n[1].input[0] == n->output[0] && is_worth_cutting(b, &b->plan->tensor[n->output[0]]);
}

/* Whether the next node only rounds what this one writes, for a convolution after it. */
static bool is_rounded_between(const struct bander *b, int32_t at) {
    const struct ipex_plan_node *node = &b->plan->node[at];
    if ((size_t)at + 2 >= b->plan->nodes || !is_convolution(node) || !is_convolution(node + 2))
        return false;
    const struct ipex_plan_node *cast = node + 1;
    return cast->op == IPEX_OP_cast && cast->input[0] == node->output[0] &&
           node[2].input[0] == cast->output[0] &&
           is_worth_cutting(b, &b->plan->tensor[node->output[0]]);
}

static enum ipex_reason look_at(const struct bander *b, int32_t node) {
    const int32_t between = b->plan->node[node].output[0];
    const struct touched *touched = &b->touched[root_of(b, between)];
    if (touched->is_port)
        return IPEX_REASON_port;
    if (touched->reader < 0)
        return IPEX_REASON_two_consumers;
    if (weights_too_large(b, node) || weights_too_large(b, node + 1))
        return IPEX_REASON_weights_too_large;
    return IPEX_REASON_applied;
}

static bool may_lie_between(const struct ipex_plan_tensor *t) {
    return t->dtype == IPEX_DTYPE_f32 || t->dtype == IPEX_DTYPE_bf16 || t->dtype == IPEX_DTYPE_u8;
}

/* The node that alone reads, line by line, what this one writes into a storage that nodes from
 * `begin` on write; -1: there is none, or they do not go together. */
static int32_t find_reader(const struct bander *b, int32_t begin, int32_t node) {
    const int32_t root = output_root(b, node);
    const struct touched *touched = &b->touched[root];
    if (!writes_lines(&b->plan->node[node]) || touched->is_port || touched->first_writer < begin ||
        touched->reader <= node || !is_worth_cutting(b, &b->plan->tensor[root]) ||
        !may_lie_between(&b->plan->tensor[root]) || weights_too_large(b, node) ||
        weights_too_large(b, touched->reader))
        return -1;
    return touched->reader;
}

/* The last node of the longest group that begins with this one: whatever others in it write is read
 * in it. */
static int32_t find_last(const struct bander *b, int32_t begin) {
    int32_t last = begin, readers = begin; /* of all nodes so far, the last */
    for (int32_t i = begin; (size_t)i < b->plan->nodes && i <= readers; i++) {
        if (i == readers)
            last = i;
        const int32_t reader = find_reader(b, begin, i);
        if (reader < 0)
            break;
        readers = reader > readers ? reader : readers;
    }
    return last;
}

static void mark(struct bander *b, int32_t begin, int32_t last) {
    struct ipex_plan_node *node = b->plan->node;
    double bytes = 0;
    b->groups++;
    for (int32_t i = begin; i <= last; i++) {
        node[i].band = b->groups;
        if (i < last && b->touched[output_root(b, i)].first_writer == i)
            bytes += image_bytes(b, &b->plan->tensor[output_root(b, i)]);
    }
    ipex_ledger_add(b->graph->ledger, "band", node[begin].name, IPEX_REASON_applied,
                    ipex_arena_printf(b->plan->arena,
                                      "%d nodes, to %s: %.2f MB of an image stay between them",
                                      (int)(last - begin) + 1, node[last].name, bytes * 1e-6));
}

/* ---- order ---- */

/* Whether nodes of [begin, last] read a storage, be it through a view. */
static bool is_read(const struct bander *b, int32_t begin, int32_t last, int32_t root) {
    for (int32_t i = begin; i <= last; i++)
        for (int32_t k = 0; k < b->plan->node[i].inputs; k++)
            if (b->plan->node[i].input[k] >= 0 && root_of(b, b->plan->node[i].input[k]) == root)
                return true;
    return false;
}

/* Bytes that would live longer if nodes [begin, last] ran just before node `at`. */
static double outliving_bytes(const struct bander *b, int32_t begin, int32_t last, int32_t at) {
    double ret = 0;
    for (size_t t = 0; t < b->plan->tensors; t++) {
        const struct ipex_plan_tensor *tensor = &b->plan->tensor[t];
        const struct touched *touched = &b->touched[t];
        if (tensor->view_of < 0 && tensor->weight < 0 && touched->first_writer < begin &&
            touched->last_reader < at && is_read(b, begin, last, (int32_t)t))
            ret += tensor->rank == 4 ? image_bytes(b, tensor) : 0;
    }
    return ret;
}

/* Before which node [begin, last] could go on with their group, if it stood behind them; -1: none.
 */
static int32_t find_later(const struct bander *b, int32_t begin, int32_t last) {
    const int32_t between = b->plan->node[last].output[0], root = output_root(b, last);
    const int32_t reader = find_reader(b, last, last);
    if (reader <= last + 1 || root != between ||
        outliving_bytes(b, begin, last, reader) > 1.5 * image_bytes(b, &b->plan->tensor[root]))
        return -1;
    return reader;
}

/* Puts nodes [begin, last] just before node `at`. */
static void move_before(struct bander *b, int32_t begin, int32_t last, int32_t at) {
    struct ipex_plan_node *node = b->plan->node, moved;
    for (int32_t i = begin; i <= last; i++) {
        moved = node[begin];
        memmove(&node[begin], &node[begin + 1], (size_t)(at - 1 - begin) * sizeof moved);
        node[at - 1] = moved;
    }
    find_touched(b);
}

/* What a later node alone reads, line by line, runs just before it. */
static void order_late(struct bander *b) {
    size_t moves = 0;
    for (int32_t i = 0; (size_t)i < b->plan->nodes; i++) {
        const int32_t last = find_last(b, i), later = find_later(b, i, last);
        if (later < 0 || moves++ > b->plan->nodes)
            continue;
        move_before(b, i, last, later);
        i--;
    }
}

void ipex_mark_bands(struct ipex_graph *graph, struct ipex_plan *plan) {
    struct bander b = {
        .graph = graph,
        .plan = plan,
        .touched = ipex_arena_array(plan->arena, plan->tensors, sizeof *b.touched),
    };
    find_touched(&b);
    order_late(&b);
    for (int32_t i = 0, end = 0; (size_t)i < plan->nodes; i++) {
        const struct ipex_plan_node *node = &plan->node[i];
        const enum ipex_reason reason = is_site(&b, i) ? look_at(&b, i) : IPEX_REASON_applied;
        const int32_t last = i < end ? i : find_last(&b, i);
        if (last > i) {
            mark(&b, i, last);
            end = last + 1;
        }
        if (reason != IPEX_REASON_applied)
            ipex_ledger_add(graph->ledger, "band", node->name, reason, NULL);
        else if (is_rounded_between(&b, i))
            ipex_ledger_add(graph->ledger, "band", node->name, IPEX_REASON_rounded_between, NULL);
    }
}
