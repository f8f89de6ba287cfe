/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Attention (opset 23). It becomes the plan operator; with capped scores, which that does not
 * compute, the products and the softmax that it stands for. Past keys and values are put before the
 * present ones, and all are results. */
#include "tools/convert/import_attention.h"

#include <math.h>
#include <string.h>

/* ---- heads ---- */

static const int32_t heads_first[4] = {0, 2, 1, 3}; /* its own inverse */

struct ipex_value *ipex_build_with_heads(struct ipex_import *import, struct ipex_value *x,
                                         int64_t heads) {
    if (!x)
        return NULL;
    const int64_t size = x->rank == 3 && heads > 0
                             ? ipex_dim_exact_div(&import->graph->dims, x->dims[2], heads)
                             : IPEX_DIM_NONE;
    if (size == IPEX_DIM_NONE) {
        ipex_import_refuse(import, "%s cannot be split into %lld heads", x->name, (long long)heads);
        return NULL;
    }
    const int64_t dims[4] = {x->dims[0], x->dims[1], heads, size};
    return ipex_build_reshape(import, x, 4, dims);
}

struct ipex_value *ipex_build_split_heads(struct ipex_import *import, struct ipex_value *x,
                                          int64_t heads) {
    return ipex_build_transpose(import, ipex_build_with_heads(import, x, heads), heads_first);
}

struct ipex_value *ipex_build_join_heads(struct ipex_import *import, struct ipex_value *x) {
    if (!x)
        return NULL;
    const int64_t dims[3] = {x->dims[0], x->dims[2],
                             ipex_dim_mul(&import->graph->dims, x->dims[1], x->dims[3])};
    return ipex_build_reshape(import, ipex_build_transpose(import, x, heads_first), 3, dims);
}

struct ipex_value *ipex_build_behind(struct ipex_import *import, struct ipex_value *past,
                                     struct ipex_value *x) {
    struct ipex_value *const part[2] = {past, x};
    if (!past || !x)
        return x;
    if (past->rank != 4 || past->dims[0] != x->dims[0] || past->dims[1] != x->dims[1] ||
        past->dims[3] != x->dims[3]) {
        ipex_import_refuse(import,
                           "the past keys or values %s are not [batch][heads][rows][size] of those "
                           "behind them",
                           past->name);
        return NULL;
    }
    return ipex_build_concat(import, 2, 2, part);
}

/* ---- masks ---- */

struct ipex_value *ipex_build_mask(struct ipex_import *import, struct ipex_value *mask,
                                   float masked) {
    if (!mask || !mask->constant)
        return ipex_build_where(import, mask, ipex_build_number(import, IPEX_DTYPE_f32, 0),
                                ipex_build_number(import, IPEX_DTYPE_f32, (double)masked));
    const int64_t count = ipex_value_numel(mask);
    float *data = ipex_arena_array(&import->graph->arena, (size_t)count + 1, sizeof *data);
    for (int64_t i = 0; i < count; i++)
        data[i] = ipex_constant_i64(mask, i) ? 0 : masked;
    return ipex_graph_constant(import->graph, mask->name, IPEX_DTYPE_f32, mask->rank, mask->dims,
                               data);
}

struct ipex_value *ipex_build_keys_before(struct ipex_import *import, struct ipex_value *numbers,
                                          int64_t start, int64_t batch, int64_t keys) {
    const int64_t column[2] = {batch, 1};
    if (numbers->dims[0] != batch)
        numbers = ipex_build_slice(import, numbers, 0, start, batch);
    return ipex_build_compare(import, IPEX_COMPARE_less,
                              ipex_build_count(import, numbers->dtype, keys, 1, 2, 1),
                              ipex_build_reshape(import, numbers, 2, column));
}

/* 0 where j <= past + i, else -inf: [queries][keys]. */
static struct ipex_value *causal_mask(struct ipex_import *import, int64_t queries, int64_t keys,
                                      int64_t past) {
    struct ipex_value *key = ipex_build_count(import, IPEX_DTYPE_i64, keys, 1, 2, 1),
                      *query = ipex_build_count(import, IPEX_DTYPE_i64, queries, 1, 2, 0);
    struct ipex_value *first = ipex_build_size(import, IPEX_DTYPE_i64, past);
    if (!key || !query || !first)
        return NULL;
    query = ipex_build_integer(import, IPEX_INTEGER_add, query, first);
    return ipex_build_mask(
        import, ipex_build_compare(import, IPEX_COMPARE_greater_equal, query, key), -INFINITY);
}

static struct ipex_value *add_mask(struct ipex_import *import, struct ipex_value *mask,
                                   struct ipex_value *more) {
    return mask && more ? ipex_build_binary(import, IPEX_STEP_add, mask, more) : mask ? mask : more;
}

/* y with zeros in the rows of which every key is masked by -inf. */
static struct ipex_value *zero_masked_rows(struct ipex_import *import, struct ipex_value *mask,
                                           struct ipex_value *y) {
    if (!mask || mask->rank == 0)
        return y;
    struct ipex_value *most =
        ipex_build_reduce(import, IPEX_REDUCE_max, mask, 1u << (mask->rank - 1));
    struct ipex_value *lowest = ipex_build_number(import, IPEX_DTYPE_f32, -(double)INFINITY),
                      *zero = ipex_build_number(import, IPEX_DTYPE_f32, 0);
    return ipex_build_where(import, ipex_build_compare(import, IPEX_COMPARE_equal, most, lowest),
                            zero, y);
}

/* ---- attention ---- */

/* The shapes fit together, and the mask to the scores; false after refusing. */
static bool shapes_fit(struct ipex_import *import, const struct ipex_attention *a) {
    const struct ipex_value *q = a->q, *k = a->k, *v = a->v, *mask = a->mask;
    bool fits = q->rank == 4 && k->rank == 4 && v->rank == 4;
    fits = fits && q->dims[0] == k->dims[0] && k->dims[0] == v->dims[0] &&
           k->dims[1] == v->dims[1] && k->dims[1] > 0 && q->dims[1] > 0 &&
           q->dims[1] % k->dims[1] == 0 && q->dims[3] == k->dims[3] && k->dims[2] == v->dims[2];
    const int64_t scores[4] = {fits ? q->dims[0] : 0, fits ? q->dims[1] : 0, fits ? q->dims[2] : 0,
                               fits ? k->dims[2] : 0};
    for (int32_t i = 1; fits && mask && i <= mask->rank; i++) {
        const int64_t dim = mask->dims[mask->rank - i];
        fits = dim == 1 || (i <= 4 && dim == scores[4 - i]);
    }
    if (!fits)
        ipex_import_refuse(import, "queries, keys, values and mask do not fit together, or are not "
                                   "[batch][heads][rows][size]");
    return fits;
}

static struct ipex_value *one_operator(struct ipex_import *import, const struct ipex_attention *a,
                                       bool causal) {
    struct ipex_value *const operand[] = {a->q, a->k, a->v, a->mask};
    const int64_t dims[4] = {a->q->dims[0], a->q->dims[1], a->q->dims[2], a->v->dims[3]};
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_attention, IPEX_ORDER_logical,
                                              IPEX_DTYPE_f32, 4, dims, false);
    for (int32_t i = 0; i < 3 + !!a->mask; i++)
        ipex_node_add_input(node, operand[i]);
    node->u.plan.ints = 2; /* causal, rows: lower.c */
    node->u.plan.int_[0] = causal;
    node->u.plan.floats = 1;
    node->u.plan.float_[0] = a->scale;
    return node->output;
}

/* With capped scores; causal is in the mask. */
static struct ipex_value *several_steps(struct ipex_import *import,
                                        const struct ipex_attention *a) {
    struct ipex_value *scores = ipex_build_matmul(import, a->q, ipex_build_turned(import, a->k));
    scores = ipex_build_with(import, IPEX_STEP_mul, scores, a->scale / a->cap);
    scores = ipex_build_unary(import, IPEX_STEP_tanh, scores);
    scores = ipex_build_with(import, IPEX_STEP_mul, scores, a->cap);
    if (scores && a->mask)
        scores = ipex_build_binary(import, IPEX_STEP_add, scores, a->mask);
    return ipex_build_matmul(import, ipex_build_softmax(import, scores, 3), a->v);
}

struct ipex_value *ipex_build_attention(struct ipex_import *import, struct ipex_attention *a) {
    if (!a->q || !a->k || !a->v || !shapes_fit(import, a))
        return NULL;
    if (a->q->constant || a->k->constant || a->v->constant) {
        ipex_import_refuse(import, "queries, keys or values are constants");
        return NULL;
    }
    const int64_t queries = a->q->dims[2], keys = a->k->dims[2], size = a->q->dims[3];
    if (a->scale == 0 && size < 1) {
        ipex_import_refuse(import, "the size of a head is %s, and no scale is given",
                           ipex_import_text(import, size));
        return NULL;
    }
    if (a->scale == 0)
        a->scale = (float)(1 / sqrt((double)size));
    const bool ends_together =
        queries == keys || ipex_dim_add(&import->graph->dims, a->past, queries) == keys;
    if (a->causal && (!ends_together || a->cap != 0)) {
        struct ipex_value *mask = causal_mask(import, queries, keys, a->past);
        if (!mask)
            return NULL;
        a->mask = add_mask(import, a->mask, mask);
    }
    if (a->cap != 0 && a->q->dims[1] != a->k->dims[1]) {
        ipex_import_refuse(import, "softcap with groups of heads is not supported");
        return NULL;
    }
    struct ipex_value *y = a->cap != 0 ? several_steps(import, a)
                                       : one_operator(import, a, a->causal && ends_together);
    return y && a->may_hide_all ? zero_masked_rows(import, a->mask, y) : y;
}

bool ipex_attention_uses_more(struct ipex_import *import, size_t input, size_t output) {
    bool used = false;
    for (size_t i = input; i < import->node->inputs; i++)
        used |= *import->node->input[i] != 0;
    for (size_t i = output; i < import->node->outputs; i++)
        used |= *import->node->output[i] != 0;
    if (used)
        ipex_import_refuse(import, "a cache of keys and values that is written in place, and the "
                                   "scores as a result, are not supported");
    return used;
}

/* ---- ONNX's operator ---- */

enum { MASK = 3, PAST_KEY, PAST_VALUE, LENGTHS };

/* What the operator can do and this importer cannot; false after refusing. */
static bool is_plain(struct ipex_import *import) {
    if (import->node->outputs > 3 && *import->node->output[3])
        ipex_import_refuse(import, "its fourth result, the scores, is not supported");
    else if (ipex_import_int(import, "left_window_size", -1) >= 0 ||
             ipex_import_int(import, "right_window_size", -1) >= 0)
        ipex_import_refuse(import, "sliding windows are not supported: give them as a mask");
    else if (ipex_import_int(import, "softmax_precision", 1) == IPEX_ONNX_DOUBLE)
        ipex_import_refuse(import, "a softmax in float64 is not supported");
    else if (ipex_import_in(import, LENGTHS) && ipex_import_in(import, PAST_KEY))
        ipex_import_refuse(import, "nonpad_kv_seqlen beside past keys is not supported");
    else
        return true;
    return false;
}

/* Queries, keys and values by heads, with past ones in front; false after refusing. */
static bool read_operands(struct ipex_import *import, struct ipex_attention *a, bool flat) {
    const char *const heads[] = {"q_num_heads", "kv_num_heads", "kv_num_heads"};
    struct ipex_value **const x[] = {&a->q, &a->k, &a->v}, *past;
    for (size_t i = 0; i < 3; i++) {
        *x[i] = ipex_import_f32(import, i);
        if (flat)
            *x[i] = ipex_build_split_heads(import, *x[i], ipex_import_int(import, heads[i], 0));
        if (i && *x[i] && ipex_import_in(import, MASK + i)) {
            past = ipex_import_f32(import, MASK + i);
            *x[i] = past ? ipex_build_behind(import, past, *x[i]) : NULL;
            a->past = past ? past->dims[2] : 0;
        }
        if (!*x[i])
            return false;
    }
    return true;
}

/* Masks what lies past the end of a sequence of keys (nonpad_kv_seqlen), in which the last query is
 * the last one: causal, query i of Q sees keys before i + 1 + length - Q. False after refusing. */
static bool mask_ends(struct ipex_import *import, struct ipex_attention *a) {
    struct ipex_value *end = ipex_import_any(import, LENGTHS);
    const int64_t column[4] = {a->k->dims[0], 1, 1, 1}, queries = a->q->dims[2];
    if (!end)
        return false;
    if (end->dtype != IPEX_DTYPE_i64 || end->rank != 1 || end->dims[0] != column[0]) {
        ipex_import_refuse(import, "nonpad_kv_seqlen %s is not an i64 for each of %s sequences",
                           end->name, ipex_import_text(import, column[0]));
        return false;
    }
    end = ipex_build_reshape(import, end, 4, column);
    if (a->causal) {
        struct ipex_value *behind = ipex_build_integer(
            import, IPEX_INTEGER_sub, ipex_build_count(import, IPEX_DTYPE_i64, queries, 1, 4, 2),
            ipex_build_size(import, IPEX_DTYPE_i64,
                            ipex_dim_sub(&import->graph->dims, queries, 1)));
        end = ipex_build_integer(import, IPEX_INTEGER_add, end, behind);
    }
    a->causal = false;
    struct ipex_value *key = ipex_build_count(import, IPEX_DTYPE_i64, a->k->dims[2], 1, 4, 3),
                      *seen = ipex_build_compare(import, IPEX_COMPARE_less, key, end);
    struct ipex_value *mask = ipex_build_mask(import, seen, -INFINITY);
    a->mask = mask ? add_mask(import, a->mask, mask) : NULL;
    return a->mask != NULL;
}

static void import_attention(struct ipex_import *import) {
    struct ipex_attention a = {.scale = ipex_import_float(import, "scale", 0),
                               .cap = ipex_import_float(import, "softcap", 0),
                               .causal = ipex_import_flag(import, "is_causal", false),
                               .may_hide_all = true};
    const struct ipex_value *x = ipex_import_in(import, 0);
    const bool flat = x && x->rank == 3;
    struct ipex_value *mask = ipex_import_in(import, MASK) ? ipex_import_any(import, MASK) : NULL;
    if ((ipex_import_in(import, MASK) && !mask) || !is_plain(import) ||
        !read_operands(import, &a, flat))
        return;
    if (mask && mask->dtype != IPEX_DTYPE_bool && mask->dtype != IPEX_DTYPE_f32) {
        ipex_import_refuse(import, "the mask %s is %s", mask->name, ipex_dtype_name(mask->dtype));
        return;
    }
    a.mask =
        mask && mask->dtype == IPEX_DTYPE_bool ? ipex_build_mask(import, mask, -INFINITY) : mask;
    if (!shapes_fit(import, &a) || (ipex_import_in(import, LENGTHS) && !mask_ends(import, &a)))
        return;
    struct ipex_value *y = ipex_build_attention(import, &a);
    if (!y)
        return;
    ipex_import_out(import, 0, flat ? ipex_build_join_heads(import, y) : y);
    ipex_import_out(import, 1, a.k);
    ipex_import_out(import, 2, a.v);
}

const struct ipex_import_op ipex_import_attention[] = {
    {"Attention", import_attention},
    {NULL, NULL},
};
