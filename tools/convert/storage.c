/* SPDX-License-Identifier: Apache-2.0 */
/* Which values are stored in bf16, with --dtype bf16, and which in bytes: those that everyone who
 * reads them takes so, and that are made by a step that can round its results. What only moves
 * elements has both or none of its sides so. In bf16 they are taken as an operand of a product or
 * as the residual of one: values that only products read would be rounded for them anyway;
 * residuals lose the bits of theirs that bf16 has not. */
#include "tools/convert/lower.h"
#include "tools/convert/match.h"

static bool moves_elements(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_reshape || node->kind == IPEX_KIND_transpose ||
           node->kind == IPEX_KIND_slice || node->kind == IPEX_KIND_concat;
}

/* Of fewer elements, or of less than two panels of columns, a cast costs less than to round where
 * they are made (PP-OCR's text direction would take 1.10 of the time, AMD Zen 5). */
enum { LEAST_ELEMENTS = 32768, LEAST_CHANNELS = 32 };

static bool is_large(const struct ipex_graph *graph, const struct ipex_node *node) {
    const struct ipex_value *y = node->output;
    const int64_t channels = y->dims[node->kind == IPEX_KIND_conv ? 1 : y->rank - 1];
    double elements = 1;
    for (int32_t i = 0; i < y->rank; i++)
        elements *= (double)ipex_dim_at(&graph->dims, y->dims[i], IPEX_DIM_HIGHEST);
    return channels >= LEAST_CHANNELS && elements >= LEAST_ELEMENTS;
}

/* A direct convolution, or a linear layer, on bf16, whose chains are not parked where its results
 * go; or a depthwise convolution. */
static bool can_round(const struct ipex_graph *graph, const struct ipex_node *node) {
    const struct ipex_conv *conv = &node->u.conv;
    if (node->kind == IPEX_KIND_linear)
        return ipex_reads_bf16(graph, node) && is_large(graph, node);
    if (node->kind != IPEX_KIND_conv || conv->transposed || conv->winograd || conv->upsampled ||
        !is_large(graph, node))
        return false;
    return (ipex_node_is_depthwise(node) && !node->integer) ||
           (ipex_reads_bf16(graph, node) && !conv->columns);
}

static bool takes_bf16(const struct ipex_graph *graph, struct ipex_node *node, int32_t operand) {
    const struct ipex_value *x = ipex_node_operands(node)[operand];
    if (moves_elements(node))
        return node->output->layout->rounded;
    if (!ipex_reads_bf16(graph, node))
        return false;
    if (node->kind == IPEX_KIND_plan)
        return operand < ipex_factors(node);
    return operand == 0 || x == node->epilogue.residual;
}

static bool may_be_rounded(const struct ipex_graph *graph, const struct ipex_value *value) {
    return value->dtype == IPEX_DTYPE_f32 &&
           (can_round(graph, value->producer) || moves_elements(value->producer));
}

enum ipex_dtype ipex_stored_dtype(const struct ipex_value *value) {
    return value->layout && value->layout->rounded ? IPEX_DTYPE_bf16
           : value->layout && value->layout->bytes ? IPEX_DTYPE_u8
                                                   : value->dtype;
}

/* ---- bytes ---- */

/* Bytes go through it as they are. */
static bool passes_bytes(const struct ipex_node *node) {
    return moves_elements(node) || ipex_node_is_nearest(node) ||
           (node->kind == IPEX_KIND_pool && node->u.pool.max);
}

static bool takes_bytes(const struct ipex_graph *graph, struct ipex_node *node, int32_t operand) {
    (void)operand; /* weights are constants */
    return node->kind == IPEX_KIND_pointwise || node->integer ||
           ipex_match_byte_mean(graph, node) || (passes_bytes(node) && node->output->layout->bytes);
}

/* Of elementwise programs, and of layers that round what they give. */
static bool may_be_bytes(const struct ipex_graph *graph, const struct ipex_value *value) {
    const struct ipex_node *node = value->producer;
    (void)graph;
    return value->is_byte && (node->kind == IPEX_KIND_pointwise || passes_bytes(node) ||
                              (node->integer && node->integer->requantised));
}

/* ---- which ---- */

/* A way to store values: who may, who takes them so, and what has both or none of its sides so. */
struct way {
    enum ipex_dtype dtype;
    bool (*may)(const struct ipex_graph *graph, const struct ipex_value *value);
    bool (*takes)(const struct ipex_graph *graph, struct ipex_node *node, int32_t operand);
    bool (*moves)(const struct ipex_node *node);
};

static bool *stored_so(const struct way *way, const struct ipex_value *value) {
    return way->dtype == IPEX_DTYPE_bf16 ? &value->layout->rounded : &value->layout->bytes;
}

/* Whether the node, whose operands and output may be, leaves them all so. */
static bool drop(const struct ipex_graph *graph, struct ipex_node *node, const struct way *way) {
    bool dropped = false, all = true;
    for (int32_t i = 0; i < node->inputs; i++) {
        const struct ipex_value *x = ipex_node_operands(node)[i];
        const bool so = x && x->layout && *stored_so(way, x);
        all &= so;
        if (so && !way->takes(graph, node, i)) {
            *stored_so(way, x) = false;
            dropped = true;
        }
    }
    if (way->moves(node) && *stored_so(way, node->output) && !all) {
        *stored_so(way, node->output) = false;
        dropped = true;
    }
    return dropped;
}

static void choose(struct ipex_graph *graph, const struct way *way) {
    bool dropped = true;
    for (struct ipex_node *node = graph->first; node; node = node->next)
        *stored_so(way, node->output) = !node->output->is_output && way->may(graph, node->output);
    while (dropped) {
        dropped = false;
        for (struct ipex_node *node = graph->first; node; node = node->next)
            dropped |= drop(graph, node, way);
    }
}

void ipex_choose_storage(struct ipex_graph *graph) {
    static const struct way bf16 = {IPEX_DTYPE_bf16, may_be_rounded, takes_bf16, moves_elements};
    static const struct way bytes = {IPEX_DTYPE_u8, may_be_bytes, takes_bytes, passes_bytes};
    if (graph->precision == IPEX_PRECISION_bf16)
        choose(graph, &bf16);
    choose(graph, &bytes);
}
