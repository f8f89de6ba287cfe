/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two activations of bytes: exact sums, scaled as those of conv_u8 are. */
#include "kernels/product_jobs.h"
#include "kernels/ref/math_ref.h"

/* What becomes of one result. */
static void store(const struct ipex_matmul_args *args, const struct ipex_matmul_job *job,
                  int64_t at, float value) {
    if (args->y_scale != 0.0f)
        value = ref_byte(value, args->y_scale, args->y_zero);
    if (job->y_u8)
        job->y_u8[at] = (uint8_t)value;
    else
        job->y[at] = value;
}

static void product(const struct ipex_matmul_args *args, const struct ipex_matmul_job *job,
                    int64_t row, int64_t column) {
    const uint8_t *a = (const uint8_t *)job->a + row * args->a_row;
    const uint8_t *b = (const uint8_t *)job->b + column * (args->transposed ? args->b_row : 1);
    uint32_t products = 0, sum = 0;
    for (int64_t k = 0; k < args->k; k++, b += args->transposed ? 1 : args->b_row) {
        products += (uint32_t)(a[k] * (*b - args->b_zero));
        sum += (uint32_t)(*b - args->b_zero);
    }
    const float bias = args->scale * (float)(int32_t)(0 - (uint32_t)args->a_zero * sum);
    store(args, job, row * args->y_row + column, fmaf((float)(int32_t)products, args->scale, bias));
}

void IPEX_REF(matmul_u8)(const struct ipex_matmul_args *args, int64_t job_begin, int64_t job_end,
                         void *scratch) {
    (void)scratch;
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_matmul_job job = ipex_matmul_job(args, j, 1);
        for (int64_t row = job.row; row < job.row_end; row++)
            for (int64_t column = job.column; column < job.column_end; column++)
                product(args, &job, row, column);
    }
}
