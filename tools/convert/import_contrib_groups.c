/* SPDX-License-Identifier: Apache-2.0 */
/* GroupQueryAttention of the domain com.microsoft: groups of heads share keys and values. */
#include "tools/convert/import_attention.h"

#include <math.h>

enum { PAST_KEY = 3, LENGTHS = 5, COSINES = 7, SINES, ROTARY_POSITIONS, SCORES_BIAS, SINK };

/* What the operator can do and this importer cannot; false after refusing. */
static bool is_plain_group(struct ipex_import *import) {
    if (ipex_import_in(import, PAST_KEY) || ipex_import_in(import, PAST_KEY + 1))
        ipex_import_refuse(import, "past keys and values are not supported: every sequence has its "
                                   "own number of them (seqlens_k)");
    else if (ipex_import_int(import, "local_window_size", -1) >= 0)
        ipex_import_refuse(import, "local_window_size is not supported");
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

/* Queries and keys rotated by their positions, which are 0, 1, 2 ... where they are not given.
 * False after refusing. */
static bool rotate_groups(struct ipex_import *import, struct ipex_attention *a) {
    struct ipex_rotary r = {.cosines = COSINES,
                            .sines = SINES,
                            .interleaved = ipex_import_int(import, "rotary_interleaved", 0) != 0,
                            .heads_first = true};
    const struct ipex_value *table = ipex_import_in(import, COSINES);
    if (!ipex_import_int(import, "do_rotary", 0))
        return true;
    r.rotated = table && table->rank == 2 && table->dims[1] > 0 ? 2 * table->dims[1] : 0;
    r.position = ipex_import_in(import, ROTARY_POSITIONS)
                     ? ipex_import_any(import, ROTARY_POSITIONS)
                     : ipex_build_count(import, IPEX_DTYPE_i64, a->q->dims[2], 1, 2, 1);
    if (!r.position)
        return false;
    a->q = ipex_build_rotary(import, &r, a->q);
    a->k = a->q ? ipex_build_rotary(import, &r, a->k) : NULL;
    return a->k != NULL;
}

/* The scores' bias, and a mask of the keys past the end of a sequence, which only queries past it
 * would see. False after refusing. */
static bool mask_groups(struct ipex_import *import, struct ipex_attention *a) {
    struct ipex_value *last = ipex_import_any(import, LENGTHS);
    const int64_t batch = a->k->dims[0], keys = a->k->dims[2];
    if (!last)
        return false;
    if ((last->dtype != IPEX_DTYPE_i32 && last->dtype != IPEX_DTYPE_i64) ||
        ipex_value_size(import->graph, last) != batch) {
        ipex_import_refuse(import, "seqlens_k %s is not an integer for each of %s sequences",
                           last->name, ipex_import_text(import, batch));
        return false;
    }
    last = ipex_build_integer(import, IPEX_INTEGER_add, ipex_build_reshape(import, last, 1, &batch),
                              ipex_build_number(import, last->dtype, 1));
    const int64_t per_key[4] = {batch, 1, 1, keys};
    struct ipex_value *seen = last ? ipex_build_keys_before(import, last, 0, batch, keys) : NULL;
    a->mask = ipex_build_mask(import, ipex_build_reshape(import, seen, 4, per_key), -INFINITY);
    if (a->mask && ipex_import_in(import, SCORES_BIAS))
        a->mask =
            ipex_build_binary(import, IPEX_STEP_add, a->mask, ipex_import_f32(import, SCORES_BIAS));
    return a->mask != NULL;
}

/* Query i sees keys up to i. */
static void import_group_query_attention(struct ipex_import *import) {
    struct ipex_attention a = {.scale = ipex_import_float(import, "scale", 0),
                               .cap = ipex_import_float(import, "softcap", 0),
                               .causal = true};
    if (!is_plain_group(import) || !split_groups(import, &a) || !rotate_groups(import, &a) ||
        !mask_groups(import, &a))
        return;
    if (a.q->dims[2] != a.k->dims[2]) {
        ipex_import_refuse(import, "%s queries and %s keys: as many are supported",
                           ipex_import_text(import, a.q->dims[2]),
                           ipex_import_text(import, a.k->dims[2]));
        return;
    }
    struct ipex_value *y = ipex_build_join_heads(import, ipex_build_attention(import, &a));
    if (!y)
        return;
    ipex_import_out(import, 0, y);
    ipex_import_out(import, 1, a.k);
    ipex_import_out(import, 2, a.v);
}

const struct ipex_import_op ipex_import_contrib_groups[] = {
    {"GroupQueryAttention", import_group_query_attention},
    {NULL, NULL},
};
