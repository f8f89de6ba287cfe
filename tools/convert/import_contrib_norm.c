/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations of the domain com.microsoft: behind an addition, of embeddings, and
 * of groups of channels. */
#include "tools/convert/import_quantized.h"

/* Normalised by vectors of a row's size; `kind`, gamma, beta: as ipex_build_layer_norm. NULL after
 * refusing. */
static struct ipex_value *normalised(struct ipex_import *import, struct ipex_value *x,
                                     struct ipex_value *gamma, struct ipex_value *beta,
                                     int64_t kind) {
    struct ipex_value *const parameter[] = {gamma, beta};
    if (!x)
        return NULL;
    for (size_t i = 0; i < 2; i++)
        if (parameter[i] &&
            (parameter[i]->rank != 1 || parameter[i]->dims[0] != x->dims[x->rank - 1])) {
            ipex_import_refuse(import, "%s %s does not have the size of a row (%s)",
                               i ? "beta" : "gamma", parameter[i]->name,
                               ipex_import_text(import, x->dims[x->rank - 1]));
            return NULL;
        }
    return ipex_build_layer_norm(import, x, gamma, beta,
                                 ipex_import_float(import, "epsilon", 1e-12f), kind);
}

/* ---- behind an addition ---- */

/* input + skip + bias normalised. */
static void skip_norm(struct ipex_import *import, int64_t kind) {
    const size_t beta_at = 3, bias_at = kind ? 3 : 4;
    const bool has_beta = !kind && ipex_import_in(import, beta_at),
               has_bias = ipex_import_in(import, bias_at) != NULL;
    struct ipex_value *x = ipex_import_f32(import, 0),
                      *skip = x ? ipex_import_f32(import, 1) : NULL,
                      *gamma = skip ? ipex_import_f32(import, 2) : NULL,
                      *beta = gamma && has_beta ? ipex_import_f32(import, beta_at) : NULL,
                      *bias = gamma && has_bias ? ipex_import_f32(import, bias_at) : NULL;
    if (!gamma || (has_beta && !beta) || (has_bias && !bias))
        return;
    for (size_t i = 1; i < 3; i++)
        if (i < import->node->outputs && *import->node->output[i]) {
            ipex_import_refuse(import, "the mean and the deviation are not supported as results");
            return;
        }
    struct ipex_value *sum = ipex_build_binary(import, IPEX_STEP_add, x, skip);
    if (bias)
        sum = ipex_build_binary(import, IPEX_STEP_add, sum, bias);
    struct ipex_value *y = normalised(import, sum, gamma, beta, kind);
    if (!y)
        return;
    ipex_import_out(import, 0, y);
    ipex_import_out(import, 3, sum);
}

static void import_skip_layer_norm(struct ipex_import *import) {
    skip_norm(import, 0);
}
static void import_skip_rms_norm(struct ipex_import *import) {
    skip_norm(import, 1);
}

/* ---- embeddings ---- */

enum { WORDS = 2, POSITIONS, SEGMENTS, GAMMA, BETA, MASK, POSITION_IDS };
/* Of quantised ones, so many inputs behind them. */
enum { SCALE = 6, ZERO = 11 };

/* Input i, of WORDS to BETA. NULL after refusing. */
static struct ipex_value *table_of(struct ipex_import *import, size_t i, bool quantised) {
    return quantised ? ipex_quantized_constant(import, i, i + SCALE, i + ZERO)
                     : ipex_import_f32(import, i);
}

/* The rows of a table that operand `ids_at` names. NULL after refusing. */
static struct ipex_value *looked_up(struct ipex_import *import, size_t table_at, size_t ids_at,
                                    bool quantised) {
    struct ipex_value *table = table_of(import, table_at, quantised),
                      *ids = table ? ipex_import_any(import, ids_at) : NULL;
    if (!ids)
        return NULL;
    if (table->rank != 2 || ids->rank != 2 ||
        (ids->dtype != IPEX_DTYPE_i32 && ids->dtype != IPEX_DTYPE_i64)) {
        ipex_import_refuse(import,
                           "%s of %s: a table [rows][size] and integers [batch][steps] are "
                           "supported",
                           ids->name, table->name);
        return NULL;
    }
    return ipex_quantized_look_up(import, table, ids, 0);
}

/* The rows of the first `steps` positions. NULL after refusing. */
static struct ipex_value *first_positions(struct ipex_import *import, int64_t steps,
                                          bool quantised) {
    struct ipex_value *table = table_of(import, POSITIONS, quantised);
    int64_t least, most;
    if (!table)
        return NULL;
    ipex_dim_range(&import->graph->dims, steps, &least, &most);
    if (table->rank != 2 || table->dims[0] < most) {
        ipex_import_refuse(import, "the table %s has %s positions for up to %lld steps",
                           table->name, ipex_import_text(import, table->rank ? table->dims[0] : 1),
                           (long long)most);
        return NULL;
    }
    return ipex_build_slice(import, table, 0, 0, steps);
}

/* i32 [B]: how many of a row of the mask are 1, or 0 without one. NULL after refusing. */
static struct ipex_value *lengths_of_mask(struct ipex_import *import,
                                          const struct ipex_value *ids) {
    struct ipex_value *mask = ipex_import_in(import, MASK);
    if (!mask)
        return ipex_build_expand(import, ipex_build_number(import, IPEX_DTYPE_i32, 0), 1,
                                 ids->dims);
    mask = ipex_import_any(import, MASK);
    if (mask && (mask->rank != 2 || mask->dims[0] != ids->dims[0])) {
        ipex_import_refuse(import, "the mask %s does not have a row for each of the %s of %s",
                           mask->name, ipex_import_text(import, ids->dims[0]), ids->name);
        return NULL;
    }
    struct ipex_value *one = mask ? ipex_build_number(import, mask->dtype, 1) : NULL,
                      *seen = ipex_build_compare(import, IPEX_COMPARE_equal, mask, one);
    seen = ipex_build_cast(import, seen, IPEX_DTYPE_f32);
    seen = ipex_build_reduce(import, IPEX_REDUCE_sum, seen, 1u << 1);
    return ipex_build_cast(import, ipex_build_reshape(import, seen, 1, ids->dims), IPEX_DTYPE_i32);
}

/* Rows for words, positions and (optional) segments, added up and normalised. */
static void embed(struct ipex_import *import, bool quantised) {
    const struct ipex_value *ids = ipex_import_in(import, 0);
    struct ipex_value *sum = looked_up(import, WORDS, 0, quantised);
    if (sum && ipex_import_in(import, SEGMENTS) && ipex_import_in(import, 1))
        sum = ipex_build_binary(import, IPEX_STEP_add, sum,
                                looked_up(import, SEGMENTS, 1, quantised));
    if (!sum)
        return;
    struct ipex_value *position = !quantised && ipex_import_in(import, POSITION_IDS)
                                      ? looked_up(import, POSITIONS, POSITION_IDS, false)
                                      : first_positions(import, ids->dims[1], quantised);
    sum = ipex_build_binary(import, IPEX_STEP_add, sum, position);
    struct ipex_value *gamma = sum ? table_of(import, GAMMA, quantised) : NULL,
                      *beta = gamma ? table_of(import, BETA, quantised) : NULL,
                      *y = beta ? normalised(import, sum, gamma, beta, 0) : NULL,
                      *lengths = y ? lengths_of_mask(import, ids) : NULL;
    if (!lengths)
        return;
    ipex_import_out(import, 0, y);
    ipex_import_out(import, 1, lengths);
    ipex_import_out(import, 2, sum);
}

static void import_embed_layer_norm(struct ipex_import *import) {
    embed(import, false);
}

static void import_quantized_embed_layer_norm(struct ipex_import *import) {
    embed(import, true);
}

/* ---- groups of channels, which are last unless said otherwise ---- */

static void import_group_norm(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0),
                      *gamma = x ? ipex_import_f32(import, 1) : NULL,
                      *beta = gamma ? ipex_import_f32(import, 2) : NULL;
    const bool last = ipex_import_flag(import, "channels_last", true);
    if (!beta)
        return;
    if (last && x->rank > 2)
        x = ipex_build_moved(import, x, x->rank - 1, 1);
    struct ipex_value *y =
        ipex_build_group_norm(import, x, gamma, beta, ipex_import_int(import, "groups", 0));
    if (y && ipex_import_int(import, "activation", 0))
        y = ipex_build_binary(import, IPEX_STEP_mul, y,
                              ipex_build_unary(import, IPEX_STEP_sigmoid, y));
    if (y)
        ipex_import_out(import, 0, last ? ipex_build_moved(import, y, 1, y->rank - 1) : y);
}

const struct ipex_import_op ipex_import_contrib_norm[] = {
    {"EmbedLayerNormalization", import_embed_layer_norm},
    {"GroupNorm", import_group_norm},
    {"QEmbedLayerNormalization", import_quantized_embed_layer_norm},
    {"SkipLayerNormalization", import_skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", import_skip_rms_norm},
    {NULL, NULL},
};
