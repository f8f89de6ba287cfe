/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and reductions. kernels/ref/lanes_ref.h has the order of sums along a dense row. */
#include "kernels/ref/lanes_ref.h"
#include "kernels/ref/math_ref.h"

static float reduce_chain(int32_t kind, const float *x, int64_t n, int64_t stride) {
    float ret = x[0];
    for (int64_t i = 1; i < n; i++)
        ret = ref_combine(kind, ret, x[i * stride]);
    return ret;
}

void IPEX_REF(softmax_f32)(const struct ipex_softmax_args *args, int64_t job_begin, int64_t job_end,
                           void *scratch) {
    (void)scratch;
    for (int64_t row = job_begin; row < job_end; row++) {
        const float *x = args->x + row * args->x_row;
        float *y = args->y + row * args->y_row;
        const float m = ref_reduce_row(IPEX_REDUCE_max, x, args->columns, 1);
        for (int64_t i = 0; i < args->columns; i++)
            y[i] = ref_weight(x[i] - m);
        const float sum = ref_reduce_row(IPEX_REDUCE_sum, y, args->columns, 1);
        for (int64_t i = 0; i < args->columns; i++)
            y[i] = y[i] / sum;
    }
}

void IPEX_REF(reduce_f32)(const struct ipex_reduce_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    (void)scratch;
    for (int64_t outer = job_begin; outer < job_end; outer++)
        for (int64_t i = 0; i < args->inner; i++) {
            const float *x = (const float *)args->x + outer * args->x_outer + i;
            const float value = args->inner == 1
                                    ? ref_reduce_row(args->kind, x, args->middle, args->x_middle)
                                    : reduce_chain(args->kind, x, args->middle, args->x_middle);
            args->y[outer * args->y_outer + i] =
                args->kind == IPEX_REDUCE_mean ? value / (float)args->middle : ref_flush(value);
        }
}
