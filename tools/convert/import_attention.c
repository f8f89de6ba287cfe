/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Attention and RotaryEmbedding (opset 23). Attention becomes the plan operator; with capped
 * scores, which that does not compute, the products and the softmax that it stands for. Caches of
 * keys and values are the caller's: past ones are refused, the present ones are results. */
#include "tools/convert/import_attention.h"

#include <math.h>
#include <string.h>

/* ---- heads ---- */

static const int32_t heads_first[4] = {0, 2, 1, 3}; /* its own inverse */

/* [B][S][heads D] -> [B][S][heads][D]; NULL after refusing. */
static struct ipex_value *with_heads(struct ipex_import *import, struct ipex_value *x,
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
    return ipex_build_transpose(import, with_heads(import, x, heads), heads_first);
}

struct ipex_value *ipex_build_join_heads(struct ipex_import *import, struct ipex_value *x) {
    if (!x)
        return NULL;
    const int64_t dims[3] = {x->dims[0], x->dims[2],
                             ipex_dim_mul(&import->graph->dims, x->dims[1], x->dims[3])};
    return ipex_build_reshape(import, ipex_build_transpose(import, x, heads_first), 3, dims);
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
    const bool square = queries == keys;
    if (a->causal && (!square || a->cap != 0)) {
        struct ipex_value *mask = causal_mask(import, queries, keys, a->past);
        if (!mask)
            return NULL;
        a->mask = add_mask(import, a->mask, mask);
    }
    if (a->cap != 0 && a->q->dims[1] != a->k->dims[1]) {
        ipex_import_refuse(import, "softcap with groups of heads is not supported");
        return NULL;
    }
    struct ipex_value *y =
        a->cap != 0 ? several_steps(import, a) : one_operator(import, a, a->causal && square);
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

/* What the operator can do and this importer cannot; false after refusing. */
static bool is_plain(struct ipex_import *import) {
    static const char *const past[] = {"past_key", "past_value", "nonpad_kv_seqlen"};
    for (size_t i = 0; i < 3; i++)
        if (ipex_import_in(import, 4 + i)) {
            ipex_import_refuse(import,
                               "input %s: a cache of keys and values inside of it is not "
                               "supported; concatenate them before it",
                               past[i]);
            return false;
        }
    if (import->node->outputs > 3 && *import->node->output[3])
        ipex_import_refuse(import, "its fourth result, the scores, is not supported");
    else if (ipex_import_int(import, "left_window_size", -1) >= 0 ||
             ipex_import_int(import, "right_window_size", -1) >= 0)
        ipex_import_refuse(import, "sliding windows are not supported: give them as a mask");
    else if (ipex_import_int(import, "softmax_precision", 1) == IPEX_ONNX_DOUBLE)
        ipex_import_refuse(import, "a softmax in float64 is not supported");
    else
        return true;
    return false;
}

static void import_attention(struct ipex_import *import) {
    struct ipex_attention a = {.scale = ipex_import_float(import, "scale", 0),
                               .cap = ipex_import_float(import, "softcap", 0),
                               .causal = ipex_import_int(import, "is_causal", 0) != 0,
                               .may_hide_all = true};
    struct ipex_value *mask = ipex_import_in(import, 3) ? ipex_import_any(import, 3) : NULL;
    a.q = ipex_import_f32(import, 0);
    a.k = a.q ? ipex_import_f32(import, 1) : NULL;
    a.v = a.k ? ipex_import_f32(import, 2) : NULL;
    if (!a.v || (ipex_import_in(import, 3) && !mask) || !is_plain(import))
        return;
    const bool flat = a.q->rank == 3;
    const int64_t q_heads = ipex_import_int(import, "q_num_heads", 0),
                  k_heads = ipex_import_int(import, "kv_num_heads", 0);
    if (flat) {
        a.q = ipex_build_split_heads(import, a.q, q_heads);
        a.k = a.q ? ipex_build_split_heads(import, a.k, k_heads) : NULL;
        a.v = a.k ? ipex_build_split_heads(import, a.v, k_heads) : NULL;
    }
    if (mask && mask->dtype != IPEX_DTYPE_bool && mask->dtype != IPEX_DTYPE_f32) {
        ipex_import_refuse(import, "the mask %s is %s", mask->name, ipex_dtype_name(mask->dtype));
        return;
    }
    a.mask =
        mask && mask->dtype == IPEX_DTYPE_bool ? ipex_build_mask(import, mask, -INFINITY) : mask;
    struct ipex_value *y = ipex_build_attention(import, &a);
    if (!y)
        return;
    ipex_import_out(import, 0, flat ? ipex_build_join_heads(import, y) : y);
    ipex_import_out(import, 1, a.k);
    ipex_import_out(import, 2, a.v);
}

/* ---- RotaryEmbedding ---- */

/* Operand i, positions [B][S]; one number stands for itself and those that follow it. NULL after
 * refusing. */
static struct ipex_value *read_positions(struct ipex_import *import, size_t i, int64_t steps) {
    static const int64_t one[2] = {1, 1};
    struct ipex_value *x = ipex_import_any(import, i);
    if (!x || x->rank == 2)
        return x;
    if (ipex_value_size(import->graph, x) != 1 ||
        (x->dtype != IPEX_DTYPE_i32 && x->dtype != IPEX_DTYPE_i64)) {
        ipex_import_refuse(import,
                           "the positions %s are %s of rank %d: integers [batch][steps], or the "
                           "one that the first step has, are supported",
                           x->name, ipex_dtype_name(x->dtype), x->rank);
        return NULL;
    }
    return ipex_build_integer(import, IPEX_INTEGER_add, ipex_build_reshape(import, x, 2, one),
                              ipex_build_count(import, x->dtype, steps, 1, 2, 1));
}

/* The heads of x [B][S][heads D]: the attribute or, where it is not given, those of the table's
 * size. */
static int64_t count_heads(const struct ipex_import *import, const struct ipex_value *x,
                           const struct ipex_value *table) {
    const int64_t heads = ipex_import_int(import, "num_heads", 0),
                  half = table && table->rank ? table->dims[table->rank - 1] : 0;
    const bool fits = x->rank == 3 && half > 0 && x->dims[2] > 0 && x->dims[2] % (2 * half) == 0;
    return heads || !fits ? heads : x->dims[2] / (2 * half);
}

/* Cosines or sines as [B][S][1][..] or, with heads first, [B][1][S][..], along the other axis than
 * `pair` of the last two. */
static struct ipex_value *angles(struct ipex_import *import, const struct ipex_rotary *r, size_t i,
                                 int32_t pair, int64_t half) {
    struct ipex_value *table = ipex_import_f32(import, i);
    if (table && r->position)
        table = ipex_build_gather(import, table, r->position, 0);
    if (!table)
        return NULL;
    if (table->rank != 3 || table->dims[2] != half) {
        ipex_import_refuse(
            import, "the table %s has rows of %s; half the rotated size, %lld, is needed",
            ipex_import_in(import, i)->name,
            table->rank ? ipex_import_text(import, table->dims[table->rank - 1]) : "one number",
            (long long)half);
        return NULL;
    }
    int64_t dims[5] = {table->dims[0], 1, 1, 1, 1};
    dims[r->heads_first ? 2 : 1] = table->dims[1];
    dims[pair == 4 ? 3 : 4] = half;
    return ipex_build_reshape(import, table, 5, dims);
}

/* The rotated part, [..][2][half] or interleaved [..][half][2], its pairs along `pair`. */
static struct ipex_value *rotate(struct ipex_import *import, struct ipex_value *x, int32_t pair,
                                 struct ipex_value *cosine, struct ipex_value *sine) {
    struct ipex_value *a = ipex_build_slice(import, x, pair, 0, 1),
                      *b = ipex_build_slice(import, x, pair, 1, 1);
    struct ipex_value *part[2] = {
        ipex_build_binary(import, IPEX_STEP_sub,
                          ipex_build_binary(import, IPEX_STEP_mul, cosine, a),
                          ipex_build_binary(import, IPEX_STEP_mul, sine, b)),
        ipex_build_binary(import, IPEX_STEP_add, ipex_build_binary(import, IPEX_STEP_mul, sine, a),
                          ipex_build_binary(import, IPEX_STEP_mul, cosine, b))};
    return ipex_build_concat(import, pair, 2, part);
}

struct ipex_value *ipex_build_rotary(struct ipex_import *import, const struct ipex_rotary *r,
                                     struct ipex_value *x) {
    const int64_t size = x ? x->dims[3] : 0, rotated = r->rotated ? r->rotated : size,
                  half = rotated / 2;
    const int32_t pair = r->interleaved ? 4 : 3;
    if (!x)
        return NULL;
    if (rotated < 2 || rotated % 2 || size < rotated) {
        ipex_import_refuse(import, "%lld elements of a head of %s cannot be rotated",
                           (long long)rotated, ipex_import_text(import, size));
        return NULL;
    }
    struct ipex_value *cosine = angles(import, r, r->cosines, pair, half),
                      *sine = cosine ? angles(import, r, r->sines, pair, half) : NULL;
    if (!sine)
        return NULL;
    int64_t pairs[5] = {x->dims[0], x->dims[1], x->dims[2], half, half}, flat[4];
    pairs[pair] = 2;
    memcpy(flat, x->dims, sizeof flat);
    flat[3] = rotated;
    struct ipex_value *part[2] = {ipex_build_slice(import, x, 3, 0, rotated)};
    part[0] = rotate(import, ipex_build_reshape(import, part[0], 5, pairs), pair, cosine, sine);
    part[0] = ipex_build_reshape(import, part[0], 4, flat);
    if (rotated == size)
        return part[0];
    part[1] = ipex_build_slice(import, x, 3, rotated, size - rotated);
    return ipex_build_concat(import, 3, 2, part);
}

void ipex_import_rotary(struct ipex_import *import, size_t cosines, size_t sines,
                        size_t positions) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    if (!x)
        return;
    struct ipex_rotary r = {.cosines = cosines,
                            .sines = sines,
                            .rotated = ipex_import_int(import, "rotary_embedding_dim", 0),
                            .interleaved = ipex_import_int(import, "interleaved", 0) != 0,
                            .heads_first = x->rank == 4};
    struct ipex_value *y =
        x->rank == 4
            ? x
            : with_heads(import, x, count_heads(import, x, ipex_import_in(import, cosines)));
    if (y && ipex_import_in(import, positions)) {
        r.position = read_positions(import, positions, x->dims[x->rank == 4 ? 2 : 1]);
        y = r.position ? y : NULL;
    }
    y = ipex_build_rotary(import, &r, y);
    if (y)
        ipex_import_out(import, 0, ipex_build_reshape(import, y, x->rank, x->dims));
}

static void import_rotary(struct ipex_import *import) {
    ipex_import_rotary(import, 1, 2, 3);
}

const struct ipex_import_op ipex_import_attention[] = {
    {"Attention", import_attention},
    {"RotaryEmbedding", import_rotary},
    {NULL, NULL},
};
