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

/* Lane i with lane i + 8, then + 4, + 2, + 1. */
static inline float rows_tree(int32_t kind, const float *lanes) {
    float fold[2 * SUM_LANES] = {0};
    for (int i = 0; i < SUM_LANES; i += LANES)
        vec_store(fold + i, vec_load(lanes + i));
    for (int half = SUM_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i += LANES) {
            const vec v = rows_combine(kind, vec_load(fold + i), vec_load(fold + i + half));
            vec_store(fold + i, v);
        }
    return fold[0];
}

/* Lane j combines elements j, j + 16, ... of a row of n; lanes past the end keep what they have. */
static inline float rows_reduce(int32_t kind, const float *x, int64_t n) {
    float lanes[SUM_LANES];
    for (int part = 0; part < SUM_VECS; part++) {
        vec acc = rows_neutral(kind);
        int64_t i = part * LANES;
        for (; i + LANES <= n; i += SUM_LANES)
            acc = rows_combine(kind, acc, vec_load(x + i));
        if (i < n) {
            const vec_mask rest = vec_first(n - i);
            acc = vec_select(rest, rows_combine(kind, acc, vec_load_masked(x + i, rest)), acc);
        }
        vec_store(lanes + part * LANES, acc);
    }
    return rows_tree(kind, lanes);
}

#endif
