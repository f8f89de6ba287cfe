/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and reductions for either vector width, in the order of kernels/ref/rows_ref.c.
 * Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_ROWS_BODY_H
#define IPEX_KERNELS_X86_ROWS_BODY_H

#include "kernels/x86/lanes.h"

/* The same over elements that are not neighbours. */
static inline float rows_reduce_strided(int32_t kind, const float *x, int64_t n, int64_t stride) {
    struct rows_lanes lanes = rows_begin(kind);
    float next[SUM_LANES];
    for (int64_t i = 0; i < n; i += SUM_LANES) {
        const int64_t left = n - i < SUM_LANES ? n - i : SUM_LANES;
        for (int64_t k = 0; k < left; k++)
            next[k] = x[(i + k) * stride];
        lanes.low = rows_combine_part(kind, lanes.low, vec_load_part(next, left), left);
        if (SUM_VECS == 2 && left > LANES)
            lanes.high = rows_combine_part(kind, lanes.high,
                                           vec_load_part(next + LANES, left - LANES), left - LANES);
    }
    return rows_tree(kind, lanes);
}

void IPEX_LEVEL(softmax_f32)(const struct ipex_softmax_args *args, int64_t job_begin,
                             int64_t job_end, void *scratch) {
    (void)scratch;
    for (int64_t row = job_begin; row < job_end; row++) {
        const float *x = args->x + row * args->x_row;
        float *y = args->y + row * args->y_row;
        const int64_t n = args->columns;
        const float most = rows_reduce(IPEX_REDUCE_max, x, n);
        const vec sum = vec_set(IPEX_LEVEL(exps)(x, y, n, most));
        for (int64_t i = 0; i < n; i += LANES)
            vec_store_part(y + i, n - i, vec_div(vec_load_part(y + i, n - i), sum));
    }
}

/* A result: the mean's division, or a flush where nothing was computed. */
static inline vec rows_finish(const struct ipex_reduce_args *args, vec v) {
    return args->kind == IPEX_REDUCE_mean ? vec_div(v, vec_set((float)args->middle)) : vec_flush(v);
}

static inline void rows_reduce_inner(const struct ipex_reduce_args *args, const float *x,
                                     float *y) {
    for (int64_t i = 0; i < args->inner; i += LANES) {
        const int64_t n = args->inner - i;
        vec chain = vec_load_part(x + i, n);
        for (int64_t m = 1; m < args->middle; m++)
            chain = rows_combine(args->kind, chain, vec_load_part(x + m * args->x_middle + i, n));
        vec_store_part(y + i, n, rows_finish(args, chain));
    }
}

void IPEX_LEVEL(reduce_f32)(const struct ipex_reduce_args *args, int64_t job_begin, int64_t job_end,
                            void *scratch) {
    (void)scratch;
    for (int64_t outer = job_begin; outer < job_end; outer++) {
        const float *x = args->x + outer * args->x_outer;
        float *y = args->y + outer * args->y_outer;
        if (args->inner != 1) {
            rows_reduce_inner(args, x, y);
            continue;
        }
        const float value = args->x_middle == 1
                                ? rows_reduce(args->kind, x, args->middle)
                                : rows_reduce_strided(args->kind, x, args->middle, args->x_middle);
        vec_store_part(y, 1, rows_finish(args, vec_set(value)));
    }
}

#endif
