/* SPDX-License-Identifier: Apache-2.0 */
/* Averages over windows of bytes that are quantised again: depthwise layers whose weights are ones,
 * and whose sums are as often too large as a window has elements. What pads them counts. Averages
 * of whole images are reductions: pass_byte_moves.c. */
#include "tools/convert/match.h"
#include "tools/convert/passes.h"

#include <string.h>

/* Windows that depthwise layers on bytes are made for. */
enum { TAPS = 49 };

/* The only reader of x if it is one step `op`; NULL. */
static const struct ipex_node *next_step(const struct ipex_graph *graph, const struct ipex_value *x,
                                         enum ipex_step op) {
    const struct ipex_node *reader = ipex_value_only_reader(graph, x);
    return reader && ipex_match_step(reader->output, op) == reader ? reader : NULL;
}

static bool is_quantised(const struct ipex_graph *graph, const struct ipex_value *x) {
    const struct ipex_node *scaled = next_step(graph, x, IPEX_STEP_div);
    return scaled && next_step(graph, scaled->output, IPEX_STEP_round);
}

/* Whether it stands for bytes, with numbers that are known. */
static bool is_of_bytes(const struct ipex_value *x) {
    const struct ipex_dequantised *d = x->dequantised;
    return d && d->whole && d->high - d->low == 255 && ipex_is_one_number(d->scale) &&
           ipex_is_one_number(d->zero);
}

static bool fits(const struct ipex_graph *graph, const struct ipex_node *node) {
    const struct ipex_pool *pool = &node->u.pool;
    int64_t channels;
    if (node->kind != IPEX_KIND_pool || ipex_match_image_mean(node) || pool->max || pool->ceil ||
        !is_of_bytes(node->input[0]) ||
        !ipex_dim_number(&graph->dims, node->output->dims[1], &channels))
        return false;
    const bool padded = pool->pad[0] || pool->pad[1] || pool->pad[2] || pool->pad[3];
    const bool plain = pool->dilation[0] == 1 && pool->dilation[1] == 1;
    return plain && (pool->count_pad || !padded) && pool->kernel[0] * pool->kernel[1] <= TAPS &&
           channels >= IPEX_INTEGER_LEAST_CHANNELS && is_quantised(graph, node->output);
}

static void take(struct ipex_graph *graph, struct ipex_node *node) {
    const struct ipex_pool pool = node->u.pool;
    int64_t channels = 0;
    (void)ipex_dim_number(&graph->dims, node->output->dims[1], &channels);
    const int64_t taps = pool.kernel[0] * pool.kernel[1];
    const int64_t dims[IPEX_MAX_RANK] = {channels, 1, pool.kernel[0], pool.kernel[1]};
    int8_t *ones = ipex_arena_array(&graph->arena, (size_t)(channels * taps), sizeof *ones);
    memset(ones, 1, (size_t)(channels * taps));
    node->kind = IPEX_KIND_conv;
    node->u.conv = (struct ipex_conv){.groups = channels};
    memcpy(node->u.conv.kernel, pool.kernel, sizeof pool.kernel);
    memcpy(node->u.conv.stride, pool.stride, sizeof pool.stride);
    memcpy(node->u.conv.pad, pool.pad, sizeof pool.pad);
    memcpy(node->u.conv.dilation, pool.dilation, sizeof pool.dilation);
    node->fold.n = channels;
    node->fold.scale = ipex_arena_array(&graph->arena, (size_t)channels, sizeof *node->fold.scale);
    for (int64_t i = 0; i < channels; i++)
        node->fold.scale[i] = 1 / (double)taps;
    const char *name = ipex_arena_printf(&graph->arena, "%s.ones", node->name);
    ipex_node_add_input(node, ipex_graph_constant(graph, name, IPEX_DTYPE_i8, 4, dims, ones));
    ipex_ledger_add(graph->ledger, "byte_pool", node->name, IPEX_REASON_applied,
                    "sums bytes as a depthwise layer");
}

void ipex_pass_byte_pool(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (fits(graph, node))
            take(graph, node);
}
