/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and reductions for either vector width, in the order of kernels/ref/rows_ref.c.
 * Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_ROWS_BODY_H
#define IPEX_KERNELS_X86_ROWS_BODY_H

#include "kernels/x86/lanes.h"

/* The same over elements that are not neighbours. */
static inline float rows_reduce_strided(int32_t kind, const float *x, int64_t n, int64_t stride) {
    float lanes[SUM_LANES], next[SUM_LANES];
    for (int part = 0; part < SUM_VECS; part++)
        vec_store(lanes + part * LANES, rows_neutral(kind));
    for (int64_t i = 0; i < n; i += SUM_LANES)
        for (int part = 0; part < SUM_VECS; part++) {
            const int64_t at = i + part * LANES, left = n - at < LANES ? n - at : LANES;
            for (int64_t k = 0; k < left; k++)
                next[k] = x[(at + k) * stride];
            const vec_mask rest = vec_first(left);
            const vec acc = vec_load(lanes + part * LANES);
            const vec sum = rows_combine(kind, acc, vec_load_masked(next, rest));
            vec_store(lanes + part * LANES, vec_select(rest, sum, acc));
        }
    return rows_tree(kind, lanes);
}

void IPEX_LEVEL(softmax_f32)(const struct ipex_softmax_args *args, int64_t job_begin,
                             int64_t job_end, void *scratch) {
    (void)scratch;
    for (int64_t row = job_begin; row < job_end; row++) {
        const float *x = args->x + row * args->x_row;
        float *y = args->y + row * args->y_row;
        const vec m = vec_set(rows_reduce(IPEX_REDUCE_max, x, args->columns));
        const int64_t n = args->columns;
        for (int64_t i = 0; i < n; i += LANES)
            vec_store_part(y + i, n - i, vec_exp(vec_sub(vec_load_part(x + i, n - i), m)));
        const vec sum = vec_set(rows_reduce(IPEX_REDUCE_sum, y, n));
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
