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

/* Four vectors of columns, whose chains stand side by side and whose elements are neighbours. */
static inline void rows_reduce_four(const struct ipex_reduce_args *args, const float *x, float *y) {
    vec a = vec_load(x), b = vec_load(x + LANES);
    vec c = vec_load(x + 2 * LANES), d = vec_load(x + 3 * LANES);
    for (int64_t m = 1; m < args->middle; m++) {
        x += args->x_middle;
        a = rows_combine(args->kind, a, vec_load(x));
        b = rows_combine(args->kind, b, vec_load(x + LANES));
        c = rows_combine(args->kind, c, vec_load(x + 2 * LANES));
        d = rows_combine(args->kind, d, vec_load(x + 3 * LANES));
    }
    vec_store(y, rows_finish(args, a));
    vec_store(y + LANES, rows_finish(args, b));
    vec_store(y + 2 * LANES, rows_finish(args, c));
    vec_store(y + 3 * LANES, rows_finish(args, d));
}

static inline void rows_reduce_inner(const struct ipex_reduce_args *args, const float *x,
                                     float *y) {
    int64_t i = 0;
    for (; i + 4 * LANES <= args->inner; i += 4 * LANES)
        rows_reduce_four(args, x + i, y + i);
    for (; i < args->inner; i += LANES) {
        const int64_t n = args->inner - i;
        vec chain = vec_load_part(x + i, n);
        for (int64_t m = 1; m < args->middle; m++)
            chain = rows_combine(args->kind, chain, vec_load_part(x + m * args->x_middle + i, n));
        vec_store_part(y + i, n, rows_finish(args, chain));
    }
}

/* Rows of two or four elements, LANES of them from x on: element j of each in column[j]. */
static inline void rows_short_load(const float *x, int64_t n, vec column[4]) {
    const vec a = vec_load(x), b = vec_load(x + LANES);
    const vec even = vec_every_second(a, b, false), odd = vec_every_second(a, b, true);
    column[0] = even, column[1] = odd;
    if (n == 2)
        return;
    const vec c = vec_load(x + 2 * LANES), d = vec_load(x + 3 * LANES);
    const vec even_too = vec_every_second(c, d, false), odd_too = vec_every_second(c, d, true);
    column[0] = vec_every_second(even, even_too, false);
    column[1] = vec_every_second(odd, odd_too, false);
    column[2] = vec_every_second(even, even_too, true);
    column[3] = vec_every_second(odd, odd_too, true);
}

/* Such rows of [begin, end) as far as they fill vectors: alone they would leave most lanes empty.
 * Returns the first that is left. */
static inline int64_t rows_reduce_short(const struct ipex_reduce_args *args, int64_t begin,
                                        int64_t end) {
    const vec neutral = rows_neutral(args->kind);
    for (; begin + LANES <= end; begin += LANES) {
        vec column[4] = {neutral, neutral, neutral, neutral};
        rows_short_load((const float *)args->x + begin * args->middle, args->middle, column);
        for (int64_t j = 0; j < args->middle; j++)
            column[j] = rows_combine(args->kind, neutral, column[j]);
        const vec even = rows_combine(args->kind, column[0], column[2]);
        const vec odd = rows_combine(args->kind, column[1], column[3]);
        vec_store(args->y + begin, rows_finish(args, rows_combine(args->kind, even, odd)));
    }
    return begin;
}

void IPEX_LEVEL(reduce_f32)(const struct ipex_reduce_args *args, int64_t job_begin, int64_t job_end,
                            void *scratch) {
    (void)scratch;
    const bool dense = args->x_middle == 1 && args->x_outer == args->middle && args->y_outer == 1;
    if (args->inner == 1 && (args->middle == 2 || args->middle == 4) && dense)
        job_begin = rows_reduce_short(args, job_begin, job_end);
    for (int64_t outer = job_begin; outer < job_end; outer++) {
        const float *x = (const float *)args->x + outer * args->x_outer;
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

/* The first element of a row that equals `wanted`, or the last one; there is one. */
static inline int64_t rows_find(const float *x, int64_t n, float wanted, bool last) {
    const int64_t vectors = (n + LANES - 1) / LANES;
    for (int64_t v = 0; v < vectors; v++) {
        const int64_t i = (last ? vectors - 1 - v : v) * LANES;
        const vec_mask equal = vec_equal(vec_load_part(x + i, n - i), vec_set(wanted));
        const uint32_t bits = vec_mask_bits(equal) & vec_mask_bits(vec_first(n - i));
        if (bits != 0)
            return i + (last ? 31 - __builtin_clz(bits) : __builtin_ctz(bits));
    }
    return 0;
}

void ipex_k_arg_f32__reference_fma(const struct ipex_arg_args *, int64_t, int64_t, void *);

/* Rows of few elements, and rows with NaNs, of which there are few, are the reference's. */
void IPEX_LEVEL(arg_f32)(const struct ipex_arg_args *args, int64_t job_begin, int64_t job_end,
                         void *scratch) {
    const int32_t kind = args->largest ? IPEX_REDUCE_max : IPEX_REDUCE_min;
    if (args->columns < 8) {
        ipex_k_arg_f32__reference_fma(args, job_begin, job_end, scratch);
        return;
    }
    for (int64_t row = job_begin; row < job_end; row++) {
        const float *x = args->x + row * args->x_row;
        const float best = rows_reduce(kind, x, args->columns);
        if (best != best)
            ipex_k_arg_f32__reference_fma(args, row, row + 1, scratch);
        else
            args->y[row] = rows_find(x, args->columns, best, args->last);
    }
}

#endif
