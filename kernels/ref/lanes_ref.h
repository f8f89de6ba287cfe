/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and extremes along a row: 16 lanes and a fixed tree, which vectors of 8 or 16 reproduce. */
#ifndef IPEX_KERNELS_REF_LANES_H
#define IPEX_KERNELS_REF_LANES_H

#include "kernels/ref/ref.h"

enum { REF_LANES = 16 };

static inline float ref_combine(int32_t kind, float a, float v) {
    switch (kind) {
    case IPEX_REDUCE_max:
        return ref_max_nan(a, v);
    case IPEX_REDUCE_min:
        return ref_min_nan(a, v);
    default:
        return a + v;
    }
}

/* Where every lane starts: nothing comes of it. */
static inline float ref_neutral(int32_t kind) {
    switch (kind) {
    case IPEX_REDUCE_max:
        return -INFINITY;
    case IPEX_REDUCE_min:
        return INFINITY;
    default:
        return 0.0f;
    }
}

/* Lane i with lane i + 8, then + 4, + 2, + 1. */
static inline float ref_tree(int32_t kind, float lane[REF_LANES]) {
    for (int half = REF_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] = ref_combine(kind, lane[i], lane[i + half]);
    return lane[0];
}

static inline float ref_reduce_row(int32_t kind, const float *x, int64_t n, int64_t stride) {
    float lane[REF_LANES];
    for (int i = 0; i < REF_LANES; i++)
        lane[i] = ref_neutral(kind);
    for (int64_t i = 0; i < n; i++)
        lane[i % REF_LANES] = ref_combine(kind, lane[i % REF_LANES], x[i * stride]);
    return ref_tree(kind, lane);
}

#endif
