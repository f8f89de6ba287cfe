/* SPDX-License-Identifier: Apache-2.0 */
/* The dtype policy, the same for every device. Products take bf16: with --weights bf16 those of a
 * constant store it so, with --dtype bf16 all operands are rounded to it, as they are stored
 * (storage.c), or by casts before the node. Sums, norms, softmax and functions stay in f32. So do
 * the products of depthwise convolutions, which are too few to gain, attention by heads of few
 * channels, convolutions to few columns, linear layers on numbers in blocks, and what recurrent
 * layers and convolutions by small groups multiply their weights with, which are bf16. */
#include "tools/convert/lower.h"

/* A node that multiplies by a weight, or by an activation: its verdict is in the ledger. */
static bool is_product(const struct ipex_node *node) {
    if (node->kind == IPEX_KIND_plan)
        return node->u.plan.op == IPEX_OP_matmul || node->u.plan.op == IPEX_OP_attention ||
               node->u.plan.op == IPEX_OP_lstm || node->u.plan.op == IPEX_OP_gru;
    return node->kind == IPEX_KIND_conv || node->kind == IPEX_KIND_linear;
}

static bool is_recurrent(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_plan &&
           (node->u.plan.op == IPEX_OP_lstm || node->u.plan.op == IPEX_OP_gru);
}

static bool is_depthwise(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_conv && !node->u.conv.transposed && ipex_node_is_depthwise(node);
}

/* Scores and their weights are as many whatever a head's channels, and what bf16 adds to each of
 * them outweighs products of few channels: with 8 of them, of 64 to 1024 positions, it takes 1.3 to
 * 2.1 of f32's time by vdpbf16ps and 1.8 to 2.7 by FMA; 12: 0.96 to 1.3, 1.4 to 2.0; 16: 0.9 to
 * 1.1, 1.3 to 1.8 (Zen 4). */
enum { SMALL_HEAD = 12 };

static bool is_small(const struct ipex_graph *graph, const struct ipex_value *head) {
    return ipex_dim_at(&graph->dims, head->dims[head->rank - 1], IPEX_DIM_HIGHEST) <= SMALL_HEAD;
}

static bool has_small_heads(const struct ipex_graph *graph, const struct ipex_node *node) {
    enum { Q = 0, V = 2 };
    return node->kind == IPEX_KIND_plan && node->u.plan.op == IPEX_OP_attention &&
           is_small(graph, node->input[Q]) && is_small(graph, node->input[V]);
}

/* Groups of up to 8 channels leave half of a vector of pairs empty. In f32 two of them fill one
 * (kernels/x86/conv_eights_body.h): bf16 takes 1.1 to 1.2 of that time by vdpbf16ps (Zen 4),
 * and 3.5 to 4 by FMA, which widens x for every block of pixels. */
enum { SMALL_GROUP = 8 };

static bool has_small_groups(const struct ipex_node *node) {
    const struct ipex_conv *conv = &node->u.conv;
    return node->kind == IPEX_KIND_conv && !conv->transposed && conv->groups > 1 &&
           node->input[1]->dims[0] <= SMALL_GROUP * conv->groups;
}

/* To so few columns convolutions on f32 have pixels in their lanes (runtime/ops/linear_conv.c), for
 * weights that are next to nothing; those on bf16 leave three quarters of a panel empty (Zen 4,
 * by vdpbf16ps, casts included: Basic Pitch takes 0.66 of the time without them, PP-OCR's detector
 * 0.95, OIDN 0.97). */
static bool has_few_columns(const struct ipex_node *node) {
    const struct ipex_conv *conv = &node->u.conv;
    if (node->kind != IPEX_KIND_conv || conv->groups > 1)
        return false;
    const int64_t *w = node->input[1]->dims;
    if (conv->transposed) /* the taps of a kernel row may be columns */
        return w[1] * conv->kernel[1] <= IPEX_FEW_COLUMNS;
    const bool overlap = conv->kernel[1] > conv->stride[1];
    return conv->dilation[1] == 1 && (w[0] == 1 || (w[0] <= IPEX_FEW_COLUMNS && overlap));
}

/* Its weight is integers. */
static bool has_integers(const struct ipex_node *node) {
    return node->integer || node->blocks;
}

bool ipex_has_weight(const struct ipex_node *node) {
    if (has_integers(node))
        return false;
    return node->kind == IPEX_KIND_linear || is_recurrent(node) ||
           (node->kind == IPEX_KIND_conv && !node->u.conv.winograd && !is_depthwise(node) &&
            !has_few_columns(node));
}

static bool weight_is_bf16(const struct ipex_graph *graph, const struct ipex_node *node) {
    return graph->precision != IPEX_PRECISION_f32 && ipex_has_weight(node);
}

enum ipex_dtype ipex_weight_dtype(const struct ipex_graph *graph, const struct ipex_node *node) {
    if (node->lossless)
        return node->lossless;
    return weight_is_bf16(graph, node) ? IPEX_DTYPE_bf16 : IPEX_DTYPE_f32;
}

int32_t ipex_factors(const struct ipex_node *node) {
    return node->u.plan.op == IPEX_OP_attention ? 3 : 2;
}

bool ipex_reads_bf16(const struct ipex_graph *graph, const struct ipex_node *node) {
    return graph->precision == IPEX_PRECISION_bf16 && is_product(node) && !has_integers(node) &&
           !is_recurrent(node) && !is_depthwise(node) && !has_few_columns(node) &&
           !has_small_groups(node) && !has_small_heads(graph, node) &&
           !(node->kind == IPEX_KIND_conv && node->u.conv.winograd);
}

static enum ipex_reason reason_of(const struct ipex_graph *graph, const struct ipex_node *node) {
    if (weight_is_bf16(graph, node) || ipex_reads_bf16(graph, node) ||
        node->output->layout->rounded)
        return IPEX_REASON_applied;
    if (node->kind == IPEX_KIND_conv && node->u.conv.winograd)
        return IPEX_REASON_tiles_in_f32;
    if (is_depthwise(node))
        return IPEX_REASON_no_bf16_kernel;
    if (has_few_columns(node))
        return IPEX_REASON_few_columns;
    return graph->precision == IPEX_PRECISION_bf16 && has_small_heads(graph, node)
               ? IPEX_REASON_small_heads
               : IPEX_REASON_no_weight;
}

/* Has weights or operands that could be bf16. */
static bool is_site(const struct ipex_node *node) {
    return is_product(node) && !has_integers(node);
}

static const char *what_is_bf16(const struct ipex_graph *graph, const struct ipex_node *node) {
    const bool rounded = node->output->layout->rounded;
    if (ipex_reads_bf16(graph, node))
        return rounded ? "bf16 operands, summed in f32, results stored in bf16"
                       : "bf16 operands, summed in f32";
    if (weight_is_bf16(graph, node))
        return "bf16 weights, f32 arithmetic";
    return rounded ? "f32 arithmetic, results stored in bf16" : NULL;
}

void ipex_dtype_report(struct ipex_graph *graph) {
    if (graph->precision == IPEX_PRECISION_f32)
        return;
    for (const struct ipex_node *node = graph->first; node; node = node->next)
        if (is_site(node))
            ipex_ledger_add(graph->ledger, "dtype", node->name, reason_of(graph, node),
                            what_is_bf16(graph, node));
}
