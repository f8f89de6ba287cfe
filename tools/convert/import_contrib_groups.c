/* SPDX-License-Identifier: Apache-2.0 */
/* GroupQueryAttention of the domain com.microsoft: groups of heads share keys and values. With past
 * ones every sequence has its own number of them, and its new ones stand behind them; what lies
 * further behind, up to the rows of the longest, is zeros. */
#include "tools/convert/import_attention.h"

#include <math.h>

enum { PAST_KEY = 3, LENGTHS = 5, TOTAL, COSINES, SINES, ROTARY_POSITIONS, SCORES_BIAS, SINK };

/* What the operator can do and this importer cannot; false after refusing. */
static bool is_plain_group(struct ipex_import *import) {
    if (!ipex_import_in(import, PAST_KEY) != !ipex_import_in(import, PAST_KEY + 1))
        ipex_import_refuse(import, "past keys without past values, or these without those");
    else if (ipex_import_int(import, "local_window_size", -1) == 0)
        ipex_import_refuse(import, "local_window_size is 0: queries see no key");
    else if (ipex_import_int(import, "smooth_softmax", 0) > 0 || ipex_import_in(import, SINK))
        ipex_import_refuse(import, "smooth_softmax and head_sink are not supported");
    else
        return !ipex_attention_uses_more(import, SINK + 1, 3);
    return false;
}

/* Queries, keys and values into heads; side by side in the first input where it is the only one.
 * False after refusing. */
static bool split_groups(struct ipex_import *import, struct ipex_attention *a) {
    const int64_t heads[3] = {ipex_import_int(import, "num_heads", 0),
                              ipex_import_int(import, "kv_num_heads", 0),
                              ipex_import_int(import, "kv_num_heads", 0)};
    const bool packed = !ipex_import_in(import, 1);
    struct ipex_value *x = ipex_import_f32(import, 0), **const part[] = {&a->q, &a->k, &a->v};
    const int64_t all = heads[0] + 2 * heads[1];
    int64_t start = 0;
    if (!x)
        return false;
    if (heads[0] < 1 || heads[1] < 1 || x->rank != 3 || (packed && x->dims[2] % all)) {
        ipex_import_refuse(import, "input %s cannot be split into %lld heads of queries%s", x->name,
                           (long long)heads[0], packed ? ", and those of keys and values" : "");
        return false;
    }
    for (size_t i = 0; i < 3; i++) {
        const int64_t size = packed ? x->dims[2] / all * heads[i] : 0;
        *part[i] =
            packed ? ipex_build_slice(import, x, 2, start, size) : ipex_import_f32(import, i);
        *part[i] = ipex_build_split_heads(import, *part[i], heads[i]);
        if (!*part[i])
            return false;
        start += size;
    }
    return true;
}

/* What is computed on the way. */
struct groups {
    struct ipex_attention a;
    struct ipex_value *last;    /* [B]: of every sequence, the place of its last key */
    struct ipex_value *past[2]; /* NULL: none */
    struct ipex_value *first;   /* with past ones, [B][1][1][1], or of full sequences one number:
                                   the place of the first new key */
    int64_t rows;               /* of the keys that there are then, a dim */
    bool full; /* all sequences have as many: they are known to, or it is one, the longest */
};

static bool read_lengths(struct ipex_import *import, struct groups *g) {
    struct ipex_value *last = ipex_import_any(import, LENGTHS);
    const int64_t batch = g->a.k->dims[0];
    if (!last)
        return false;
    if ((last->dtype != IPEX_DTYPE_i32 && last->dtype != IPEX_DTYPE_i64) ||
        ipex_value_size(import->graph, last) != batch) {
        ipex_import_refuse(import, "seqlens_k %s is not an integer for each of %s sequences",
                           last->name, ipex_import_text(import, batch));
        return false;
    }
    g->last = ipex_build_reshape(import, last, 1, &batch);
    return true;
}

/* The rows with past ones: those of the past, where they have room for all, else the new ones are
 * put behind them. False after refusing. */
static bool read_rows(struct ipex_import *import, struct groups *g) {
    struct ipex_dims *dims = &import->graph->dims;
    struct ipex_value *total = ipex_import_in(import, TOTAL);
    const int64_t *known = total && ipex_value_size(import->graph, total) == 1
                               ? ipex_import_known(import, total)
                               : NULL;
    const int64_t past = g->past[0]->rank == 4 ? g->past[0]->dims[2] : 1,
                  all = ipex_dim_add(dims, past, g->a.q->dims[2]);
    if (!known) {
        ipex_import_refuse(import, "total_sequence_length, by which there are rows for past keys "
                                   "and new ones, is not known from sizes (--const makes it so)");
        return false;
    }
    g->rows = ipex_dim_max(dims, *known, past);
    if (g->rows != past && g->rows != all) {
        ipex_import_refuse(import,
                           "total_sequence_length is %s: it must be known to be that of the past "
                           "keys and the new ones, %s, or not to be more than that of the past "
                           "ones (--dim NAME=OTHER+N says what a size is)",
                           ipex_import_text(import, *known), ipex_import_text(import, all));
        return false;
    }
    const int64_t *ends = ipex_import_known(import, ipex_import_in(import, LENGTHS));
    int64_t batch = 0;
    g->full = *known == all && g->rows == all && ipex_dim_number(dims, g->a.q->dims[0], &batch) &&
              (ends || batch == 1);
    for (int64_t i = 0; g->full && ends && i < batch; i++)
        g->full = ipex_dim_add(dims, ends[i], 1) == all;
    if (g->full && !ends)
        ipex_ledger_add(import->graph->ledger, "lengths", import->label, IPEX_REASON_applied,
                        "a batch of one sequence: seqlens_k is not read, as it is "
                        "total_sequence_length - 1");
    return true;
}

/* Past keys and values, and where the new ones begin. False after refusing. */
static bool read_past(struct ipex_import *import, struct groups *g) {
    const int64_t column[4] = {g->a.k->dims[0], 1, 1, 1};
    if (!ipex_import_in(import, PAST_KEY))
        return true;
    for (size_t i = 0; i < 2; i++)
        if (!(g->past[i] = ipex_import_f32(import, PAST_KEY + i)))
            return false;
    if (!read_rows(import, g))
        return false;
    if (g->full) {
        g->a.past = g->past[0]->dims[2];
        g->first = ipex_build_size(import, g->last->dtype, g->a.past);
        return g->first != NULL;
    }
    struct ipex_value *next = ipex_build_integer(import, IPEX_INTEGER_add, g->last,
                                                 ipex_build_number(import, g->last->dtype, 1)),
                      *queries = ipex_build_size(import, g->last->dtype, g->a.q->dims[2]);
    g->first = queries
                   ? ipex_build_reshape(import,
                                        ipex_build_integer(import, IPEX_INTEGER_sub, next, queries),
                                        4, column)
                   : NULL;
    return g->first != NULL;
}

/* The place of every new key: first, first + 1 ... along `axis`; of full sequences the same for
 * all. */
static struct ipex_value *places(struct ipex_import *import, const struct groups *g, int32_t axis) {
    return ipex_build_integer(
        import, IPEX_INTEGER_add, g->first,
        ipex_build_count(import, g->first->dtype, g->a.q->dims[2], 1, 4, axis));
}

/* Queries and keys rotated by their positions, which are 0, 1, 2 ..., behind past ones those that
 * follow, where they are not given. False after refusing. */
static bool rotate_groups(struct ipex_import *import, struct groups *g) {
    struct ipex_rotary r = {.cosines = COSINES,
                            .sines = SINES,
                            .interleaved = ipex_import_flag(import, "rotary_interleaved", false),
                            .heads_first = true};
    const struct ipex_value *table = ipex_import_in(import, COSINES);
    const int64_t positions[2] = {g->full ? 1 : g->a.q->dims[0], g->a.q->dims[2]};
    if (!ipex_import_flag(import, "do_rotary", false))
        return true;
    r.rotated = table && table->rank == 2 && table->dims[1] > 0 ? 2 * table->dims[1] : 0;
    if (ipex_import_in(import, ROTARY_POSITIONS))
        r.position = ipex_import_any(import, ROTARY_POSITIONS);
    else if (g->first)
        r.position = ipex_build_reshape(import, places(import, g, 1), 2, positions);
    else
        r.position = ipex_build_count(import, IPEX_DTYPE_i64, g->a.q->dims[2], 1, 2, 1);
    if (!r.position)
        return false;
    g->a.q = ipex_build_rotary(import, &r, g->a.q);
    g->a.k = g->a.q ? ipex_build_rotary(import, &r, g->a.k) : NULL;
    return g->a.k != NULL;
}

/* Which rows of all are past ones, bool [B][1][rows][1], and which the new ones' places,
 * [B][1][rows][S].
 */
struct rows {
    struct ipex_value *past, *added;
};

static struct rows find_rows(struct ipex_import *import, const struct groups *g) {
    struct ipex_value *row = ipex_build_count(import, g->first->dtype, g->rows, 1, 4, 2);
    struct rows ret = {NULL, NULL};
    if (!row)
        return ret;
    ret.past = ipex_build_compare(import, IPEX_COMPARE_less, row, g->first);
    ret.added = ipex_build_compare(import, IPEX_COMPARE_equal, row, places(import, g, 3));
    if (ret.added && g->a.q->dims[2] != 1)
        ret.added = ipex_build_cast(import, ret.added, IPEX_DTYPE_f32);
    return ret;
}

/* Keys or values that every sequence has: its past ones, then x [B][heads][S][D], then zeros. */
static struct ipex_value *behind_past(struct ipex_import *import, const struct groups *g,
                                      const struct rows *rows, struct ipex_value *past,
                                      struct ipex_value *x) {
    struct ipex_value *all = ipex_build_behind(import, past, x), *added;
    if (!all || g->full)
        return all;
    added = x->dims[2] == 1 ? ipex_build_where(import, rows->added, x,
                                               ipex_build_number(import, IPEX_DTYPE_f32, 0))
                            : ipex_build_matmul(import, rows->added, x);
    return ipex_build_where(import, rows->past, past->dims[2] == g->rows ? past : all, added);
}

/* Keys and values with past ones in front; false after refusing. */
static bool join_past(struct ipex_import *import, struct groups *g) {
    struct rows rows = {NULL, NULL};
    if (!g->first)
        return true;
    if (!g->full && !(rows = find_rows(import, g)).past)
        return false;
    g->a.k = behind_past(import, g, &rows, g->past[0], g->a.k);
    g->a.v = g->a.k ? behind_past(import, g, &rows, g->past[1], g->a.v) : NULL;
    return g->a.v != NULL;
}

/* bool: the key is not behind the end of its sequence, which only queries behind it would see; or,
 * with past ones, not behind the query. NULL: all are seen, or refused. */
static struct ipex_value *seen_keys(struct ipex_import *import, const struct groups *g) {
    const int64_t batch = g->a.k->dims[0], keys = g->a.k->dims[2];
    const int64_t per_key[4] = {batch, 1, 1, keys};
    if (g->first) {
        struct ipex_value *key = ipex_build_count(import, g->first->dtype, keys, 1, 4, 3);
        return key ? ipex_build_compare(import, IPEX_COMPARE_less_equal, key, places(import, g, 2))
                   : NULL;
    }
    struct ipex_value *end = ipex_build_integer(import, IPEX_INTEGER_add, g->last,
                                                ipex_build_number(import, g->last->dtype, 1));
    return ipex_build_reshape(import, ipex_build_keys_before(import, end, 0, batch, keys), 4,
                              per_key);
}

/* Of `seen`, the keys that are less than so many before the query. NULL: refused. */
static struct ipex_value *in_window(struct ipex_import *import, const struct groups *g,
                                    struct ipex_value *seen, int64_t window) {
    const enum ipex_dtype dtype = g->last->dtype;
    struct ipex_value *query =
        g->first ? places(import, g, 2) : ipex_build_count(import, dtype, g->a.q->dims[2], 1, 4, 2);
    struct ipex_value *end = ipex_build_integer(
        import, IPEX_INTEGER_add, ipex_build_count(import, dtype, g->a.k->dims[2], 1, 4, 3),
        ipex_build_number(import, dtype, (double)window));
    return query && end && seen
               ? ipex_build_where(import, ipex_build_compare(import, IPEX_COMPARE_less, query, end),
                                  seen, ipex_build_number(import, IPEX_DTYPE_bool, 0))
               : NULL;
}

/* The mask and the scores' bias. Query i sees keys up to i, behind past ones. False after refusing.
 */
static bool mask_groups(struct ipex_import *import, struct groups *g) {
    struct ipex_attention *a = &g->a;
    const int64_t window = ipex_import_int(import, "local_window_size", -1);
    a->causal = !g->first || (g->full && window < 0);
    if (!g->first || !a->causal) {
        struct ipex_value *seen = seen_keys(import, g);
        if (window > 0)
            seen = in_window(import, g, seen, window);
        a->mask = seen ? ipex_build_mask(import, seen, -INFINITY) : NULL;
        if (!a->mask)
            return false;
    }
    if (ipex_import_in(import, SCORES_BIAS)) {
        struct ipex_value *bias = ipex_import_f32(import, SCORES_BIAS);
        a->mask = a->mask && bias ? ipex_build_binary(import, IPEX_STEP_add, a->mask, bias) : bias;
        if (!bias)
            return false;
    }
    return true;
}

static void import_group_query_attention(struct ipex_import *import) {
    struct groups g = {.a = {.scale = ipex_import_float(import, "scale", 0),
                             .cap = ipex_import_float(import, "softcap", 0)}};
    struct ipex_attention *a = &g.a;
    if (!is_plain_group(import) || !split_groups(import, a) || !read_lengths(import, &g) ||
        !read_past(import, &g) || !rotate_groups(import, &g))
        return;
    if (a->q->dims[2] != a->k->dims[2]) {
        ipex_import_refuse(import, "%s queries and %s keys: as many are supported",
                           ipex_import_text(import, a->q->dims[2]),
                           ipex_import_text(import, a->k->dims[2]));
        return;
    }
    if (!join_past(import, &g) || !mask_groups(import, &g))
        return;
    struct ipex_value *y = ipex_build_join_heads(import, ipex_build_attention(import, a));
    if (!y)
        return;
    ipex_import_out(import, 0, y);
    ipex_import_out(import, 1, a->k);
    ipex_import_out(import, 2, a->v);
}

const struct ipex_import_op ipex_import_contrib_groups[] = {
    {"GroupQueryAttention", import_group_query_attention},
    {NULL, NULL},
};
