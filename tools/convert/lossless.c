/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that 16 bits hold exactly, as those of checkpoints in bf16 and f16 are, whatever type the
 * model gives them: the file has them so, which is half of the bytes and changes no result, since
 * they are widened and multiplied in f32. Layers of few rows, which read their weights at the speed
 * of memory, take half of the time, recurrent ones of bf16 two thirds. Layers of 16 rows and more
 * take 0.99 to 1.04 of f32's (Zen 4), for which --speed leaves these in f32. Convolutions may take
 * 1.06, and many of them are computed by Winograd: --size alone looks at them. Tables of which rows
 * are looked up are looked up so, and the rows widened by a cast. */
#include "tools/convert/lower.h"
#include "tools/convert/passes.h"

#include <string.h>

/* From so many rows on f32 weights are as fast. */
enum { MANY_ROWS = 16 };

typedef bool (*fits_fn)(float value);

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool fits_bf16(float value) {
    return (bits_of(value) & UINT16_MAX) == 0;
}

/* Of the 23 bits of a mantissa f16 has 10, and one less for each power of two below 2^-14. */
static bool fits_f16(float value) {
    const uint32_t magnitude = bits_of(value) & INT32_MAX;
    const int32_t exponent = (int32_t)(magnitude >> 23) - 127;
    const int32_t missing = exponent >= -14 ? 13 : -1 - exponent;
    return magnitude == 0 ||
           (exponent >= -24 && exponent <= 15 && (magnitude & ((1u << missing) - 1)) == 0);
}

/* Of a weight [N][K], whatever K is made of, or, with kn, [K][N]; scale: of its outputs, or NULL.
 */
static bool all_fit(const struct ipex_value *w, bool kn, const double *scale, fits_fn fits) {
    const int64_t elements = ipex_value_numel(w), n_count = w->dims[kn ? 1 : 0];
    const int64_t inner = elements > 0 ? elements / n_count : 0;
    const uint8_t *data = ipex_constant_data(w);
    bool ret = w->dtype == IPEX_DTYPE_f32;
    for (int64_t i = 0; i < elements && ret; i++) {
        float value;
        memcpy(&value, data + (size_t)i * sizeof value, sizeof value);
        if (scale)
            value = (float)((double)value * scale[kn ? i % n_count : i / inner]);
        ret = fits(value);
    }
    ipex_constant_let_go(w);
    return ret;
}

static bool is_look_up(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_plan && node->u.plan.op == IPEX_OP_gather;
}

/* Of a layer's weight, or a table. */
static bool constant_fits(const struct ipex_node *node, fits_fn fits) {
    const struct ipex_fold *fold = &node->fold;
    if (is_look_up(node))
        return all_fit(node->input[0], false, NULL, fits);
    if (node->kind == IPEX_KIND_plan) /* lstm and gru */
        return all_fit(node->input[1], false, NULL, fits) &&
               all_fit(node->input[2], false, NULL, fits);
    if (node->kind == IPEX_KIND_conv && node->u.conv.transposed && fold->scale)
        return false; /* its weight is no [N][K] */
    if (!fold->parts)
        return all_fit(node->input[1], node->weight_kn, fold->scale, fits);
    for (int64_t i = 0, n = 0; i < fold->parts; n += fold->part[i++].n)
        if (!all_fit(fold->part[i].weight, fold->part[i].kn, fold->scale ? fold->scale + n : NULL,
                     fits))
            return false;
    return true;
}

/* f32 where neither type does, or has no kernel there. */
static enum ipex_dtype held_by(const struct ipex_node *node) {
    if (constant_fits(node, fits_bf16))
        return IPEX_DTYPE_bf16;
    const bool may_be_f16 = node->kind == IPEX_KIND_linear || is_look_up(node);
    return may_be_f16 && constant_fits(node, fits_f16) ? IPEX_DTYPE_f16 : IPEX_DTYPE_f32;
}

/* The product of the first dims of a value, at some sizes. */
static double product_of(const struct ipex_graph *graph, const struct ipex_value *value,
                         int32_t dims, enum ipex_dim_place place) {
    double ret = 1;
    for (int32_t i = 0; i < dims; i++)
        ret *= (double)ipex_dim_at(&graph->dims, value->dims[i], place);
    return ret;
}

static bool has_many_rows(const struct ipex_graph *graph, const struct ipex_node *node) {
    const struct ipex_value *x = node->input[0];
    return product_of(graph, x, x->rank - 1, IPEX_DIM_LOWEST) >= MANY_ROWS;
}

static void report(const struct ipex_graph *graph, const struct ipex_node *node,
                   enum ipex_reason reason, enum ipex_dtype dtype) {
    const char *text = dtype == IPEX_DTYPE_bf16
                           ? "stored in bf16, which holds it: half of the bytes, the same results"
                           : "stored in f16, which holds it: half of the bytes, the same results";
    ipex_ledger_add(graph->ledger, "lossless", node->name, reason,
                    reason == IPEX_REASON_applied ? text : NULL);
}

static void consider(struct ipex_graph *graph, struct ipex_node *node, enum ipex_growth growth) {
    const bool linear = node->kind == IPEX_KIND_linear;
    const enum ipex_dtype dtype = held_by(node);
    const enum ipex_reason reason =
        dtype == IPEX_DTYPE_f32                                             ? IPEX_REASON_more_bits
        : linear && growth == IPEX_GROWTH_any && has_many_rows(graph, node) ? IPEX_REASON_many_rows
                                                                            : IPEX_REASON_applied;
    if (reason == IPEX_REASON_applied)
        node->lossless = dtype;
    report(graph, node, reason, dtype);
}

/* ---- tables ---- */

/* Of fewer elements, or where a run looks up more than there are, the cast would be more than what
 * is saved. */
enum { SMALL_TABLE = 4096 };

static bool has_table(const struct ipex_graph *graph, const struct ipex_node *node) {
    const struct ipex_value *table = node->input[0], *y = node->output;
    return is_look_up(node) && table->constant && table->dtype == IPEX_DTYPE_f32 &&
           ipex_value_numel(table) >= SMALL_TABLE &&
           product_of(graph, y, y->rank, IPEX_DIM_HIGHEST) <= (double)ipex_value_numel(table);
}

/* Whether nobody else has the file keep it in f32: weights of layers are packed anyway. */
static bool only_looked_up(const struct ipex_graph *graph, const struct ipex_value *table) {
    for (struct ipex_node *node = graph->first; node; node = node->next)
        for (int32_t i = 0; i < node->inputs; i++)
            if (ipex_node_operands(node)[i] == table && !(is_look_up(node) && i == 0) &&
                !(ipex_has_weight(node) && i == 1))
                return false;
    return !table->is_output;
}

static void round_table(const struct ipex_value *table, uint16_t *to, uint16_t (*round)(double)) {
    for (int64_t i = 0; i < ipex_value_numel(table); i++)
        to[i] = round(ipex_constant_f64(table, i));
    ipex_constant_let_go(table);
}

static void make_bf16(const void *from, void *to) {
    round_table(from, to, ipex_bf16_of_f64);
}

static void make_f16(const void *from, void *to) {
    round_table(from, to, ipex_exact_f16);
}

/* Every look-up in the table is one in 16 bits, and a cast. */
static void halve_table(struct ipex_graph *graph, struct ipex_value *table, enum ipex_dtype dtype) {
    struct ipex_value *halved =
        ipex_graph_late_constant(graph, table->name, dtype, table->rank, table->dims,
                                 dtype == IPEX_DTYPE_bf16 ? make_bf16 : make_f16, table);
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        if (!is_look_up(node) || node->input[0] != table)
            continue;
        struct ipex_value *y = node->output;
        struct ipex_node *cast =
            ipex_graph_node(graph, IPEX_KIND_plan, node->name, node->source_op, node->next);
        cast->u.plan = (struct ipex_plan_op){.op = IPEX_OP_cast, .policy = IPEX_ORDER_elementwise};
        ipex_node_set_input(node, 0, halved);
        ipex_node_set_output(node, ipex_graph_value(graph, y->name, dtype, y->rank, y->dims));
        ipex_node_add_input(cast, node->output);
        ipex_node_set_output(cast, y);
        report(graph, node, IPEX_REASON_applied, dtype);
    }
}

static void consider_table(struct ipex_graph *graph, const struct ipex_node *node) {
    struct ipex_value *table = node->input[0];
    const enum ipex_dtype dtype = held_by(node);
    const enum ipex_reason reason = dtype == IPEX_DTYPE_f32         ? IPEX_REASON_more_bits
                                    : !only_looked_up(graph, table) ? IPEX_REASON_shared_weight
                                                                    : IPEX_REASON_applied;
    if (reason == IPEX_REASON_applied)
        halve_table(graph, table, dtype);
    else
        report(graph, node, reason, dtype);
}

/* Whether a layer's weight is not rounded to bf16 anyway, and may be in 16 bits. */
static bool has_choice(const struct ipex_graph *graph, const struct ipex_node *node,
                       enum ipex_growth growth) {
    return graph->precision == IPEX_PRECISION_f32 && ipex_has_weight(node) &&
           (node->kind != IPEX_KIND_conv || growth == IPEX_GROWTH_none);
}

void ipex_choose_lossless(struct ipex_graph *graph, enum ipex_growth growth) {
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (has_table(graph, node))
            consider_table(graph, node);
        else if (has_choice(graph, node, growth))
            consider(graph, node, growth);
}
