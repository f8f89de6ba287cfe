/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and extremes along a row for either vector width, in the order of kernels/ref/lanes_ref.h:
 * 16 lanes are one vector or two, and the fixed tree folds them. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_LANES_H
#define IPEX_KERNELS_X86_LANES_H

#include "kernels/x86/vec_math.h"

enum { SUM_LANES = 16, SUM_VECS = SUM_LANES / LANES };

static inline vec rows_combine(int32_t kind, vec a, vec v) {
    switch (kind) {
    case IPEX_REDUCE_max:
        return vec_max_nan(a, v);
    case IPEX_REDUCE_min:
        return vec_min_nan(a, v);
    default:
        return vec_add(a, v);
    }
}

static inline vec rows_neutral(int32_t kind) {
    return vec_set(kind == IPEX_REDUCE_max   ? -__builtin_inff()
                   : kind == IPEX_REDUCE_min ? __builtin_inff()
                                             : 0.0f);
}

/* 16 lanes: lanes 0 to LANES - 1, and the rest where a vector has no room for them. */
struct rows_lanes {
    vec low, high;
};

static inline struct rows_lanes rows_begin(int32_t kind) {
    return (struct rows_lanes){rows_neutral(kind), rows_neutral(kind)};
}

/* Lane i with lane i + 8, then + 4, + 2, + 1. */
static inline float rows_tree(int32_t kind, struct rows_lanes lanes) {
    vec v = rows_combine(kind, lanes.low, SUM_VECS == 2 ? lanes.high : vec_swap(lanes.low, 8));
    v = rows_combine(kind, v, vec_swap(v, 4));
    v = rows_combine(kind, v, vec_swap(v, 2));
    return vec_lowest_lane(rows_combine(kind, v, vec_swap(v, 1)));
}

/* The first n of a vector's lanes take v in. */
static inline vec rows_combine_part(int32_t kind, vec acc, vec v, int64_t n) {
    return n >= LANES ? rows_combine(kind, acc, v)
                      : vec_select(vec_first(n), rows_combine(kind, acc, v), acc);
}

/* Lane j combines elements j, j + 16, ... of a row of n; lanes past the end keep what they have. */
static inline float rows_reduce(int32_t kind, const float *x, int64_t n) {
    struct rows_lanes lanes = rows_begin(kind);
    for (; n >= SUM_LANES; n -= SUM_LANES, x += SUM_LANES) {
        lanes.low = rows_combine(kind, lanes.low, vec_load(x));
        if (SUM_VECS == 2)
            lanes.high = rows_combine(kind, lanes.high, vec_load(x + LANES));
    }
    if (n > 0)
        lanes.low = rows_combine_part(kind, lanes.low, vec_load_part(x, n), n);
    if (SUM_VECS == 2 && n > LANES)
        lanes.high =
            rows_combine_part(kind, lanes.high, vec_load_part(x + LANES, n - LANES), n - LANES);
    return rows_tree(kind, lanes);
}

#endif
