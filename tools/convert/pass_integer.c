/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised models multiply what their integers stand for: (q - zero) * scale by (w - zero) * scale
 * per channel. The products of the integers, summed exactly, times both scales are the same, for
 * bytes instead of floats. A convolution or linear layer whose operands are both integers of 8 bits
 * (QDQ, QLinear, ...) therefore reads q as bytes, and
 *   sum (q - zero) w = sum q w - zero sum w
 * of which the second part goes into its bias. Bytes have no sign: where q has one, 128 is added.
 * Where w less its zero point would leave i8, the weight is taken about the middle of its type, and
 * what that lacks is one number per output times the sum of q, which a layer with one output gives.
 *
 * What such a layer writes may be rounded to bytes as it is stored: pass_requantise.c. Which values
 * are stored so: storage.c. */
#include "tools/convert/byte_operands.h"
#include "tools/convert/weight_blocks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sums of the input cost as much as 16 outputs, and what they are needed for a pass over the
 * result: layers of fewer outputs, or products for each, are as fast on floats (measured on Zen 5).
 */
enum { SUMS_OUTPUTS = 32, SUMS_PRODUCTS = 64 };

/* ---- weights ---- */

/* A weight's integers per output, of their own zero point or, where that leaves i8, less `rest`
 * than they should be; their sums and scales. */
struct weight {
    struct ipex_value *integers;
    double *sum, *scale;
    double *rest; /* NULL: none */
};

/* Which of the n outputs element i of the weight belongs to. */
static int64_t output_of(const struct ipex_node *node, int64_t i) {
    const struct ipex_value *w = node->input[1];
    const int64_t each = ipex_value_numel(w) / node->fold.n;
    return node->kind == IPEX_KIND_linear && node->weight_kn ? i % node->fold.n : i / each;
}

/* Whether a scale or zero point differs by outputs alone. */
static bool is_per_output(const struct ipex_node *node, const struct ipex_dequantised *d,
                          const struct ipex_value *p) {
    const int64_t n = node->fold.n, count = ipex_value_numel(node->input[1]);
    const bool columns = node->kind == IPEX_KIND_linear && node->weight_kn;
    return ipex_is_one_number(p) ||
           (p->constant && ipex_value_numel(p) == n && d->inner == (columns ? 1 : count / n));
}

/* The weight's integers less `middle` or, where that is NULL, their zero point; false where they
 * are none of i8. */
static bool read_integers(const struct ipex_node *node, const struct ipex_dequantised *d,
                          const double *middle, int8_t *integers, double *sum) {
    for (int64_t i = 0; i < ipex_value_numel(node->input[1]); i++) {
        const double zero = middle ? *middle : ipex_quantised_parameter(d, d->zero, i, 0);
        const double value = ipex_constant_f64(d->raw, i) - zero;
        if (!(value >= INT8_MIN && value <= INT8_MAX) || value != rint(value))
            return false;
        integers[i] = (int8_t)value;
        sum[output_of(node, i)] += value;
    }
    return true;
}

/* Integers of 8 bits about the middle of their type, of one group. */
static enum ipex_reason read_shifted(struct ipex_graph *graph, const struct ipex_node *node,
                                     const struct ipex_dequantised *d, int8_t *integers,
                                     struct weight *ret) {
    const double middle = d->low + IPEX_BYTE_SIGN;
    const bool bytes = d->high - d->low == 255;
    if (!bytes || (node->kind == IPEX_KIND_conv && node->u.conv.groups != 1))
        return IPEX_REASON_weight_differs;
    if (node->fold.n < SUMS_OUTPUTS ||
        ipex_value_numel(node->input[1]) / node->fold.n < SUMS_PRODUCTS)
        return IPEX_REASON_sums_cost_more;
    memset(ret->sum, 0, (size_t)node->fold.n * sizeof *ret->sum);
    ret->rest = ipex_arena_array(&graph->arena, (size_t)node->fold.n, sizeof *ret->rest);
    for (int64_t i = 0; i < ipex_value_numel(node->input[1]); i++)
        ret->rest[output_of(node, i)] = middle - ipex_quantised_parameter(d, d->zero, i, 0);
    return read_integers(node, d, &middle, integers, ret->sum) ? IPEX_REASON_applied
                                                               : IPEX_REASON_weight_differs;
}

static enum ipex_reason read_weight(struct ipex_graph *graph, const struct ipex_node *node,
                                    struct weight *ret) {
    struct ipex_value *w = node->input[1];
    const struct ipex_dequantised whole = {.raw = w}; /* as it is, where nothing else is known */
    const struct ipex_dequantised *d = w->dequantised ? w->dequantised : &whole;
    *ret = (struct weight){0};
    if (!w->constant || !d->raw || !is_per_output(node, d, d->scale) ||
        !is_per_output(node, d, d->zero))
        return IPEX_REASON_weight_differs;
    const int64_t count = ipex_value_numel(w);
    int8_t *integers = ipex_arena_array(&graph->arena, (size_t)count, sizeof *integers);
    ret->sum = ipex_arena_array(&graph->arena, (size_t)node->fold.n, sizeof *ret->sum);
    ret->scale = ipex_arena_array(&graph->arena, (size_t)node->fold.n, sizeof *ret->scale);
    for (int64_t i = 0; i < count; i++)
        ret->scale[output_of(node, i)] = ipex_quantised_parameter(d, d->scale, i, 1);
    ret->integers = ipex_graph_constant(graph, w->name, IPEX_DTYPE_i8, w->rank, w->dims, integers);
    return read_integers(node, d, NULL, integers, ret->sum)
               ? IPEX_REASON_applied
               : read_shifted(graph, node, d, integers, ret);
}

/* ---- sites ---- */

static bool is_padded(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_conv && ipex_conv_is_padded(&node->u.conv);
}

static bool is_depthwise(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_conv && !node->u.conv.transposed && ipex_node_is_depthwise(node);
}

/* Products in a segment of the weight, and in a sum. */
static bool is_deep_enough(const struct ipex_node *node) {
    const struct ipex_conv *c = &node->u.conv;
    const int64_t all = ipex_value_numel(node->input[1]) / node->fold.n;
    const bool rows = node->kind == IPEX_KIND_conv && c->groups == 1 && c->dilation[1] == 1;
    const int64_t segment = node->kind == IPEX_KIND_linear ? all
                            : rows                         ? all / c->kernel[0]
                                                           : all / c->kernel[0] / c->kernel[1];
    return (segment >= IPEX_INTEGER_LEAST_K || is_depthwise(node)) && all <= IPEX_INTEGER_MOST_K;
}

static bool is_layer(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_conv || node->kind == IPEX_KIND_linear;
}

/* Of depthwise ones, which narrow groups are, too: groups of one, or sets. */
static bool has_kernel(const struct ipex_node *node) {
    const struct ipex_conv *c = &node->u.conv;
    if (is_depthwise(node))
        return ipex_node_has_sets(node) ||
               (c->groups == node->fold.n && node->input[1]->dims[1] == 1 &&
                c->groups >= IPEX_INTEGER_LEAST_CHANNELS);
    return node->kind == IPEX_KIND_conv ? !c->transposed : !node->fold.parts && !node->fold.k_order;
}

/* Of each number of a weight whose scales are those of blocks; else 0. */
static int32_t block_bits(const struct ipex_node *node) {
    const struct ipex_value *w = node->input[1];
    return w->dequantised ? w->dequantised->block_bits : w->blocks ? w->blocks->bits : 0;
}

/* Numbers with scales for blocks stay that; with one for each output they are multiplied as i8. */
static enum ipex_reason check(const struct ipex_graph *graph, const struct ipex_node *node,
                              const struct ipex_dequantised *x) {
    if (!node->input[1]->dequantised && ipex_keeps_blocks(graph, node))
        return IPEX_REASON_keeps_blocks;
    if (block_bits(node))
        return IPEX_REASON_weight_in_blocks;
    if (!has_kernel(node))
        return IPEX_REASON_no_byte_kernel;
    if (!x)
        return IPEX_REASON_not_quantised;
    if (ipex_zero_moves(x) && is_padded(node))
        return IPEX_REASON_zero_moves;
    if (node->fold.n <= IPEX_FEW_COLUMNS)
        return IPEX_REASON_few_outputs;
    return is_deep_enough(node) ? IPEX_REASON_applied : IPEX_REASON_few_products;
}

/* What the node gives becomes that op each * by, of numbers per output; `by` is one number, or one
 * per pixel. */
static void correct(struct ipex_graph *graph, struct ipex_node *node, enum ipex_step op,
                    const double *each, struct ipex_value *by, bool per_pixel) {
    struct ipex_value *y = node->output, *given = ipex_floats_like(graph, y);
    const int32_t axis = node->kind == IPEX_KIND_conv ? 1 : y->rank - 1;
    struct ipex_value *c =
        ipex_graph_axis_constant(graph, node->input[1]->name, y->rank, axis, each, node->fold.n);
    struct ipex_value *product = ipex_floats_like(graph, per_pixel ? y : c);
    struct ipex_node *behind = node->next;
    ipex_node_set_output(node, given);
    (void)ipex_one_step(graph, node, behind, IPEX_STEP_mul, c, by, 0, product);
    (void)ipex_one_step(graph, node, behind, op, given, product, 0, y);
}

/* The node multiplies these bytes, which x stands for, by the weight. */
static void multiply_bytes(struct ipex_graph *graph, struct ipex_node *node,
                           const struct ipex_dequantised *x, struct ipex_value *q,
                           const struct weight *weight) {
    struct ipex_fold *fold = &node->fold;
    const double scale = ipex_quantised_parameter(x, x->scale, 0, 1);
    double *scales = ipex_arena_array(&graph->arena, (size_t)fold->n, sizeof *scales);
    double *bias = ipex_arena_array(&graph->arena, (size_t)fold->n, sizeof *bias);
    for (int64_t i = 0; i < fold->n; i++) {
        scales[i] = (fold->scale ? fold->scale[i] : 1) * scale * weight->scale[i];
        bias[i] = (fold->bias ? fold->bias[i] : 0) - scales[i] * ipex_zero_byte(x) * weight->sum[i];
    }
    fold->scale = scales;
    fold->bias = bias;
    ipex_node_set_input(node, 0, q);
    ipex_node_set_input(node, 1, weight->integers);
    node->integer = ipex_arena_alloc(&graph->arena, sizeof *node->integer);
    *node->integer = (struct ipex_integer_layer){.r_scale = 1};
    if (!ipex_zero_moves(x))
        return;
    double *sums = ipex_arena_array(&graph->arena, (size_t)fold->n, sizeof *sums);
    for (int64_t i = 0; i < fold->n; i++)
        sums[i] = scales[i] * weight->sum[i];
    correct(graph, node, IPEX_STEP_sub, sums, x->zero, false); /* what the bias does for others */
}

/* What the node would give with a weight of ones for one output: the sums of its input. */
static struct ipex_value *sums_of_input(struct ipex_graph *graph, struct ipex_node *node,
                                        const struct ipex_dequantised *x, struct ipex_value *q) {
    const struct ipex_value *w = node->input[1], *y = node->output;
    const int64_t count = ipex_value_numel(w) / node->fold.n;
    int64_t dims[IPEX_MAX_RANK], w_dims[IPEX_MAX_RANK] = {1, count};
    int8_t *ones = ipex_arena_array(&graph->arena, (size_t)count, sizeof *ones);
    double sum = (double)count, scale = 1;
    memset(ones, 1, (size_t)count);
    memcpy(dims, y->dims, sizeof dims);
    dims[node->kind == IPEX_KIND_conv ? 1 : y->rank - 1] = 1;
    for (int32_t i = 1; node->kind == IPEX_KIND_conv && i < w->rank; i++)
        w_dims[i] = w->dims[i];
    struct ipex_node *own = ipex_graph_node(graph, node->kind, node->name, node->source_op, node);
    own->u = node->u;
    own->fold.n = 1;
    ipex_node_add_input(own, q);
    const struct weight weight = {
        ipex_graph_constant(graph, w->name, IPEX_DTYPE_i8, w->rank, w_dims, ones), &sum, &scale,
        NULL};
    ipex_node_add_input(own, weight.integers);
    struct ipex_value *ret = ipex_graph_value(graph, y->name, IPEX_DTYPE_f32, y->rank, dims);
    ipex_node_set_output(own, ret);
    multiply_bytes(graph, own, x, q, &weight);
    return ret;
}

/* Adds what the integers of the weight lack, times the sums of the input. */
static void add_rest(struct ipex_graph *graph, struct ipex_node *node, const struct weight *weight,
                     struct ipex_value *sums) {
    const struct ipex_fold *fold = &node->fold;
    double *each = ipex_arena_array(&graph->arena, (size_t)fold->n, sizeof *each);
    for (int64_t i = 0; i < fold->n; i++)
        each[i] = (fold->scale ? fold->scale[i] : 1) * weight->scale[i] * weight->rest[i];
    correct(graph, node, IPEX_STEP_add, each, sums, true);
}

static enum ipex_reason take(struct ipex_graph *graph, struct ipex_node *node,
                             const struct ipex_dequantised *x) {
    struct weight weight;
    const enum ipex_reason reason = read_weight(graph, node, &weight);
    if (reason != IPEX_REASON_applied)
        return reason;
    const struct ipex_value *input = node->input[0]; /* ipex_bytes_of() may give the node another */
    struct ipex_value *q = ipex_bytes_moved_alike(graph, input, ipex_bytes_of(graph, x), node);
    if (is_padded(node)) {
        const double zero = ipex_zero_byte(x);
        if (q->has_zero && q->zero_byte != zero)
            return IPEX_REASON_padded_otherwise;
        q->has_zero = true;
        q->zero_byte = (uint8_t)zero;
    }
    if (weight.rest)
        add_rest(graph, node, &weight, sums_of_input(graph, node, x, q));
    multiply_bytes(graph, node, x, q, &weight);
    return IPEX_REASON_applied;
}

/* What elementwise nodes quantise may be stored in bytes, whoever reads it, and the largest of
 * bytes are bytes. */
static void mark_bytes(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        const struct ipex_dequantised *d = node->output->dequantised;
        if (ipex_is_of_bytes(d) && d->whole->producer->kind == IPEX_KIND_pointwise)
            (void)ipex_bytes_of(graph, d);
        if (node->kind == IPEX_KIND_pool && node->u.pool.max)
            node->output->is_byte = node->input[0]->is_byte;
    }
}

static void report(struct ipex_graph *graph, const struct ipex_node *node,
                   enum ipex_reason reason) {
    char text[160];
    snprintf(text, sizeof text,
             "the weight's numbers of %d bits have scales for blocks of them: they become floats, "
             "32 bits each (16 with --weights bf16)",
             block_bits(node));
    ipex_ledger_add(graph->ledger, "integer", node->name, reason,
                    reason == IPEX_REASON_applied            ? "multiplies bytes, summed exactly"
                    : reason == IPEX_REASON_weight_in_blocks ? text
                                                             : NULL);
}

void ipex_pass_integer(struct ipex_graph *graph) {
    mark_bytes(graph);
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        if (!is_layer(node))
            continue;
        const struct ipex_value *input = node->input[0];
        const struct ipex_dequantised *x = ipex_quantised_operand(input);
        if (!x && !node->input[1]->dequantised)
            continue;
        enum ipex_reason reason = check(graph, node, x);
        if (reason == IPEX_REASON_applied)
            reason = take(graph, node, x);
        node->left_on_floats = reason != IPEX_REASON_applied &&
                               reason != IPEX_REASON_keeps_blocks && ipex_is_quantised(input);
        report(graph, node, reason);
    }
}
