/* SPDX-License-Identifier: Apache-2.0 */
/* Which linear layers have numbers of 4 or 8 bits in the file: those whose weight, of all parts
 * where layers have been merged, is made of them, in blocks that the plan operator linear_blocks
 * takes. Factors per output that follow the layer go into the scales, in f64. */
#include "tools/convert/passes.h"
#include "tools/convert/weight_blocks.h"

#include <math.h>

/* Some of its weight is made of blocks. */
static bool is_site(const struct ipex_node *node) {
    if (node->kind != IPEX_KIND_linear || node->integer)
        return false;
    bool any = node->input[1]->blocks != NULL;
    for (int32_t i = 0; i < node->fold.parts; i++)
        any |= node->fold.part[i].weight->blocks != NULL;
    return any;
}

/* Whether a block of the layer's weight is so; factor: of its output. */
typedef bool (*block_test)(const struct ipex_block_row *row, int64_t k, double factor);

static bool any_block(const struct ipex_node *node, block_test test) {
    const struct ipex_fold *fold = &node->fold;
    const struct ipex_value *w = node->input[1];
    const int64_t k_count = w->dims[node->weight_kn ? 0 : 1];
    for (int64_t n = 0; n < fold->n; n++) {
        const struct ipex_block_row row = ipex_block_row_of(fold, w, node->weight_kn, n);
        for (int64_t k = 0; k < k_count; k += row.block)
            if (test(&row, k, fold->scale ? fold->scale[n] : 1))
                return true;
    }
    return false;
}

/* Its scale times the factor leaves f32. */
static bool leaves_f32(const struct ipex_block_row *row, int64_t k, double factor) {
    const float scale = ipex_block_scale(row, k);
    return isfinite(scale) && !isfinite((float)((double)scale * factor));
}

static bool has_zero(const struct ipex_block_row *row, int64_t k, double factor) {
    (void)factor;
    return ipex_block_zero(row, k) != row->middle;
}

/* Lets a layer keep its blocks, or says why not. */
static enum ipex_reason keep(struct ipex_graph *graph, struct ipex_node *node,
                             const struct ipex_block_layer *layer) {
    if (node->fold.scale && any_block(node, leaves_f32))
        return IPEX_REASON_scale_too_large;
    node->blocks = ipex_arena_alloc(&graph->arena, sizeof *node->blocks);
    *node->blocks = *layer;
    node->blocks->zeros = any_block(node, has_zero);
    return IPEX_REASON_applied;
}

static void try_site(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_block_layer layer;
    const char *text = NULL;
    enum ipex_reason reason = ipex_blocks_of_layer(graph, node, &layer);
    if (reason == IPEX_REASON_applied)
        reason = keep(graph, node, &layer);
    if (reason == IPEX_REASON_applied)
        text = ipex_arena_printf(
            &graph->arena, "numbers of %d bits in blocks of %lld, times %s", layer.bits,
            (long long)layer.block,
            layer.bytes ? "its input rounded to i8 block by block"
                        : "its input as it is (--activations i8 would round it, and take "
                          "less time)");
    ipex_ledger_add(graph->ledger, "blocks", node->name, reason, text);
}

void ipex_keep_rounding_blocks(struct ipex_graph *graph) {
    struct ipex_block_layer layer;
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (is_site(node) && ipex_blocks_of_layer(graph, node, &layer) == IPEX_REASON_applied &&
            layer.bytes)
            (void)keep(graph, node, &layer);
}

void ipex_pass_blocks(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (is_site(node))
            try_site(graph, node);
}
