/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and reductions. Sums along a dense row use 16 lanes and a fixed tree, which vectors of 8
 * or 16 reproduce. */
#include "kernels/ref/math_ref.h"

enum { LANES = 16 };

/* A NaN on either side stays. */
static float combine(int32_t kind, float a, float v) {
    switch (kind) {
    case IPEX_REDUCE_max:
        return v != v ? v : ref_max(a, v);
    case IPEX_REDUCE_min:
        return v != v ? v : ref_min(a, v);
    default:
        return a + v;
    }
}

/* Where every lane starts: nothing comes of it. */
static float neutral(int32_t kind) {
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
static float tree(int32_t kind, float lane[LANES]) {
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] = combine(kind, lane[i], lane[i + half]);
    return lane[0];
}

static float reduce_row(int32_t kind, const float *x, int64_t n, int64_t stride) {
    float lane[LANES];
    for (int i = 0; i < LANES; i++)
        lane[i] = neutral(kind);
    for (int64_t i = 0; i < n; i++)
        lane[i % LANES] = combine(kind, lane[i % LANES], x[i * stride]);
    return tree(kind, lane);
}

static float reduce_chain(int32_t kind, const float *x, int64_t n, int64_t stride) {
    float ret = x[0];
    for (int64_t i = 1; i < n; i++)
        ret = combine(kind, ret, x[i * stride]);
    return ret;
}

void IPEX_REF(softmax_f32)(const struct ipex_softmax_args *args, int64_t job_begin, int64_t job_end,
                           void *scratch) {
    (void)scratch;
    for (int64_t row = job_begin; row < job_end; row++) {
        const float *x = args->x + row * args->x_row;
        float *y = args->y + row * args->y_row;
        const float m = reduce_row(IPEX_REDUCE_max, x, args->columns, 1);
        for (int64_t i = 0; i < args->columns; i++)
            y[i] = ref_exp(x[i] - m);
        const float sum = reduce_row(IPEX_REDUCE_sum, y, args->columns, 1);
        for (int64_t i = 0; i < args->columns; i++)
            y[i] = y[i] / sum;
    }
}

void IPEX_REF(reduce_f32)(const struct ipex_reduce_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    (void)scratch;
    for (int64_t outer = job_begin; outer < job_end; outer++)
        for (int64_t i = 0; i < args->inner; i++) {
            const float *x = args->x + outer * args->x_outer + i;
            const float value = args->inner == 1
                                    ? reduce_row(args->kind, x, args->middle, args->x_middle)
                                    : reduce_chain(args->kind, x, args->middle, args->x_middle);
            args->y[outer * args->y_outer + i] =
                args->kind == IPEX_REDUCE_mean ? value / (float)args->middle : ref_flush(value);
        }
}
