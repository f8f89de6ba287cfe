/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of the domain com.microsoft. */
#include "tools/convert/import_attention.h"
#include "tools/convert/import_quantized.h"

/* Elements [start, start + n) of a bias vector added to the last axis of x; x without a bias. */
static struct ipex_value *add_part(struct ipex_import *import, struct ipex_value *x,
                                   struct ipex_value *bias, int64_t start) {
    if (!x || !bias)
        return x;
    const int64_t n = x->dims[x->rank - 1];
    if (bias->rank != 1 || n < 1 || bias->dims[0] < start + n) {
        ipex_import_refuse(import, "the bias %s does not fit %s", bias->name, x->name);
        return NULL;
    }
    return ipex_build_binary(import, IPEX_STEP_add, x, ipex_build_slice(import, bias, 0, start, n));
}

/* The key is before the end of its sequence and, where the starts stand behind the ends, not before
 * its start: bool [B][keys]. NULL after refusing. */
static struct ipex_value *within_ends(struct ipex_import *import, struct ipex_value *ends,
                                      int64_t batch, int64_t keys) {
    const bool has_starts = ends->dims[0] == ipex_dim_mul(&import->graph->dims, 2, batch);
    if ((ends->dims[0] != batch && !has_starts) ||
        (ends->dtype != IPEX_DTYPE_i32 && ends->dtype != IPEX_DTYPE_i64)) {
        ipex_import_refuse(import,
                           "the mask %s is %s %s: as lengths, an integer for each of %s sequences "
                           "is supported, or the ends of all and then the starts of all",
                           ends->name, ipex_import_text(import, ends->dims[0]),
                           ipex_dtype_name(ends->dtype), ipex_import_text(import, batch));
        return NULL;
    }
    struct ipex_value *seen = ipex_build_keys_before(import, ends, 0, batch, keys);
    if (has_starts)
        seen = ipex_build_where(import, ipex_build_keys_before(import, ends, batch, batch, keys),
                                ipex_build_number(import, IPEX_DTYPE_bool, 0), seen);
    return seen;
}

/* bool, broadcasts to the scores: the key is seen. NULL after refusing. */
static struct ipex_value *seen_keys(struct ipex_import *import, struct ipex_value *mask,
                                    int64_t batch, int64_t keys) {
    if (mask->rank < 1 || mask->rank > 3) {
        ipex_import_refuse(import,
                           "the mask %s has rank %d: lengths [batch], a mask [batch][keys] or "
                           "[batch][queries][keys] are supported",
                           mask->name, mask->rank);
        return NULL;
    }
    struct ipex_value *seen = mask->rank == 1 ? within_ends(import, mask, batch, keys) : mask;
    if (seen && seen->dtype != IPEX_DTYPE_bool)
        seen = ipex_build_compare(import, IPEX_COMPARE_greater, seen,
                                  ipex_build_number(import, seen->dtype, 0));
    if (!seen)
        return NULL;
    const int64_t per_key[4] = {seen->dims[0], 1, 1, seen->dims[1]},
                  both[4] = {seen->dims[0], 1, seen->dims[1], seen->dims[2]};
    return ipex_build_reshape(import, seen, 4, seen->rank == 2 ? per_key : both);
}

/* A mask of the keys, each [B][keys], and a bias of the scores; false after refusing. */
static bool read_masks(struct ipex_import *import, size_t mask_at, size_t bias_at, int64_t batch,
                       int64_t keys, struct ipex_attention *a) {
    struct ipex_value *mask = ipex_import_in(import, mask_at);
    if (mask) {
        mask = ipex_import_any(import, mask_at);
        mask = mask ? seen_keys(import, mask, batch, keys) : NULL;
        a->mask =
            ipex_build_mask(import, mask, ipex_import_float(import, "mask_filter_value", -10000));
        if (!a->mask)
            return false;
    }
    if (!ipex_import_in(import, bias_at))
        return true;
    struct ipex_value *bias = ipex_import_f32(import, bias_at);
    a->mask = a->mask && bias ? ipex_build_binary(import, IPEX_STEP_add, a->mask, bias) : bias;
    return a->mask != NULL;
}

/* Whether queries see no keys behind them. Of other keys than theirs and past ones, ONNX Runtime
 * lets the last query see all. False after refusing. */
static bool read_causal(struct ipex_import *import, struct ipex_attention *a) {
    const int64_t queries = ipex_dim_add(&import->graph->dims, a->past, a->q->dims[2]);
    a->causal = ipex_import_flag(import, "unidirectional", false);
    if (!a->causal || queries == a->k->dims[2])
        return true;
    ipex_import_refuse(import,
                       "unidirectional with %s queries and %s keys: it is supported with as many "
                       "keys as queries, behind past ones",
                       ipex_import_text(import, queries), ipex_import_text(import, a->k->dims[2]));
    return false;
}

/* q, k and v are [B][rows][heads D], keys and values also [B][heads][rows][D], and become the
 * latter, with past ones (NULL: none) in front. Binds output 0; false after refusing. */
static bool finish_attention(struct ipex_import *import, struct ipex_attention *a,
                             struct ipex_value *const *past) {
    const int64_t heads = ipex_import_int(import, "num_heads", 0);
    struct ipex_value **const part[] = {&a->q, &a->k, &a->v};
    a->scale = ipex_import_float(import, "scale", 0);
    for (size_t i = 0; i < 3; i++) {
        if (*part[i] && (*part[i])->rank != 4)
            *part[i] = ipex_build_split_heads(import, *part[i], heads);
        if (i)
            *part[i] = ipex_build_behind(import, past[i - 1], *part[i]);
        if (!*part[i])
            return false;
    }
    a->past = past[0] ? past[0]->dims[2] : 0;
    struct ipex_value *y = read_causal(import, a) ? ipex_build_attention(import, a) : NULL;
    ipex_build_out(import, 0, ipex_build_join_heads(import, y));
    return y != NULL;
}

/* The rows of keys that there are with past ones (NULL: none). */
static int64_t all_rows(struct ipex_import *import, const struct ipex_value *past, int64_t rows) {
    return past && past->rank == 4 ? ipex_dim_add(&import->graph->dims, past->dims[2], rows) : rows;
}

/* Queries, keys and values have ranks that fit together; false after refusing. */
static bool ranks_fit(struct ipex_import *import, const struct ipex_attention *a) {
    const bool fit =
        a->q->rank == 3 && (a->k->rank == 3 || a->k->rank == 4) && a->v->rank == a->k->rank;
    if (!fit)
        ipex_import_refuse(import,
                           "queries, keys and values of rank %d, %d and %d: all must be "
                           "[batch][rows][heads x size], or the latter two "
                           "[batch][heads][rows][size]",
                           a->q->rank, a->k->rank, a->v->rank);
    return fit;
}

static void import_multi_head_attention(struct ipex_import *import) {
    struct ipex_value *bias = ipex_import_in(import, 3) ? ipex_import_f32(import, 3) : NULL;
    struct ipex_attention a = {.q = ipex_import_f32(import, 0)};
    struct ipex_value *past[2] = {NULL, NULL};
    if (!a.q || (ipex_import_in(import, 3) && !bias) || ipex_attention_uses_more(import, 8, 3))
        return;
    a.k = ipex_import_f32(import, 1);
    a.v = a.k ? ipex_import_f32(import, 2) : NULL;
    if (!a.v || !ranks_fit(import, &a))
        return;
    for (size_t i = 0; i < 2; i++)
        if (ipex_import_in(import, 6 + i) && !(past[i] = ipex_import_f32(import, 6 + i)))
            return;
    const bool flat = a.k->rank == 3;
    const int64_t size = a.q->dims[2];
    if (!read_masks(import, 4, 5, a.k->dims[0], all_rows(import, past[0], a.k->dims[flat ? 1 : 2]),
                    &a))
        return;
    a.q = add_part(import, a.q, bias, 0);
    a.k = a.q && flat ? add_part(import, a.k, bias, size) : a.k;
    a.v = a.k && flat ? add_part(import, a.v, bias, 2 * size) : a.v;
    if (!a.q || !a.k || !a.v || !finish_attention(import, &a, past))
        return;
    ipex_import_out(import, 1, a.k);
    ipex_import_out(import, 2, a.v);
}

/* The sizes of queries, keys and values that one product of n columns computes; false after
 * refusing. */
static bool read_sizes(struct ipex_import *import, int64_t n, int64_t *ret) {
    const struct ipex_onnx_attr *given = ipex_import_attr(import, "qkv_hidden_sizes");
    int64_t sum = 0;
    bool fits = given ? ipex_onnx_ints(given) == 3 : n % 3 == 0;
    for (size_t i = 0; fits && i < 3; i++) {
        ret[i] = given ? given->ints[i] : n / 3;
        fits = ret[i] > 0 && ret[i] <= n - sum;
        sum += fits ? ret[i] : 0;
    }
    if (!fits || sum != n)
        ipex_import_refuse(import,
                           "the weight's %lld columns are not those of queries, keys and "
                           "values (qkv_hidden_sizes)",
                           (long long)n);
    return fits && sum == n;
}

/* Operand i [2][...], keys and then values, as two; none where there is no such operand. False
 * after refusing. */
static bool read_past(struct ipex_import *import, size_t i, struct ipex_value **ret) {
    struct ipex_value *past = ipex_import_in(import, i) ? ipex_import_f32(import, i) : NULL;
    if (ipex_import_in(import, i) && past && (past->rank != 5 || past->dims[0] != 2)) {
        ipex_import_refuse(import, "past %s is not [2][batch][heads][rows][size]", past->name);
        return false;
    }
    for (int64_t k = 0; past && k < 2; k++)
        ret[k] =
            ipex_build_reshape(import, ipex_build_slice(import, past, 0, k, 1), 4, past->dims + 1);
    return past || !ipex_import_in(import, i);
}

/* Output 1 becomes keys and then values, [2][B][heads][rows][D]. */
static void bind_present(struct ipex_import *import, const struct ipex_attention *a) {
    struct ipex_value *const x[2] = {a->k, a->v};
    struct ipex_value *part[2];
    if (import->node->outputs < 2 || !*import->node->output[1])
        return;
    for (size_t i = 0; i < 2; i++) {
        const int64_t dims[5] = {1, x[i]->dims[0], x[i]->dims[1], x[i]->dims[2], x[i]->dims[3]};
        part[i] = ipex_build_reshape(import, x[i], 5, dims);
    }
    if (a->k->dims[3] != a->v->dims[3])
        ipex_import_refuse(import, "keys and values of different sizes cannot be one result");
    else
        ipex_build_out(import, 1, ipex_build_concat(import, 0, 2, part));
}

/* Where the operators of queries, keys and values by one product have their inputs. */
struct fused {
    size_t mask, bias, past;
};

/* `all` is that product with its bias, [B][S][sizes of all three]; NULL: refused. */
static void attend(struct ipex_import *import, struct ipex_value *all, const struct fused *at) {
    struct ipex_value *past[2] = {NULL, NULL};
    struct ipex_attention a = {.q = NULL};
    struct ipex_value **part[] = {&a.q, &a.k, &a.v};
    int64_t size[3], start = 0;
    if (!all || !read_sizes(import, all->dims[2], size) || !read_past(import, at->past, past) ||
        !read_masks(import, at->mask, at->bias, all->dims[0],
                    all_rows(import, past[0], all->dims[1]), &a))
        return;
    for (size_t i = 0; i < 3; start += size[i++])
        *part[i] = ipex_build_slice(import, all, 2, start, size[i]);
    if (finish_attention(import, &a, past))
        bind_present(import, &a);
}

/* Input [B][S][K], weight [K][sizes of all three]; false after refusing. */
static bool can_fuse(struct ipex_import *import, const struct ipex_value *x,
                     const struct ipex_value *w) {
    if (w->constant && w->rank == 2 && x->rank == 3 &&
        !ipex_import_flag(import, "do_rotary", false))
        return true;
    ipex_import_refuse(import,
                       "input %s of rank %d, weight %s of rank %d: [batch][rows][size] "
                       "and a constant [size][columns] without do_rotary are supported",
                       ipex_import_in(import, 0)->name, x->rank, ipex_import_in(import, 1)->name,
                       w->rank);
    return false;
}

static void import_fused_attention(struct ipex_import *import) {
    static const struct fused at = {.mask = 3, .past = 4, .bias = 5};
    struct ipex_value *x = ipex_import_f32(import, 0), *w = x ? ipex_import_f32(import, 1) : NULL,
                      *bias = ipex_import_in(import, 2) ? ipex_import_f32(import, 2) : NULL;
    if (!w || (ipex_import_in(import, 2) && !bias) || ipex_attention_uses_more(import, 6, 2) ||
        !can_fuse(import, x, w))
        return;
    attend(import, add_part(import, ipex_build_linear(import, x, w, true), bias, 0), &at);
}

/* Of integers, whose product is scaled. */
static void import_quantized_attention(struct ipex_import *import) {
    static const struct fused at = {.mask = 5, .past = 8, .bias = SIZE_MAX};
    struct ipex_value *x = ipex_quantized_centred(import, 0, 6, -1),
                      *w = x ? ipex_quantized_centred(import, 1, 7, 1) : NULL,
                      *bias = w ? ipex_import_f32(import, 2) : NULL;
    if (!bias || ipex_attention_uses_more(import, 9, 2) || !can_fuse(import, x, w))
        return;
    struct ipex_value *all = ipex_build_linear(import, x, w, true);
    all = all ? ipex_quantized_scaled(import, all, 3, 4, 2) : NULL;
    attend(import, add_part(import, all, bias, 0), &at);
}

const struct ipex_import_op ipex_import_contrib_attention[] = {
    {"Attention", import_fused_attention},
    {"MultiHeadAttention", import_multi_head_attention},
    {"QAttention", import_quantized_attention},
    {NULL, NULL},
};
