/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two activations, and attention: one chain of fma per output. */
#include "kernels/ref/lanes_ref.h"
#include "kernels/ref/math_ref.h"
#include "kernels/product_jobs.h"

static float dot(const float *x, const float *y, int64_t n, int64_t y_stride) {
    float chain = 0.0f;
    for (int64_t k = 0; k < n; k++)
        chain = fmaf(x[k], y[k * y_stride], chain);
    return chain;
}

static void matmul_row(const struct ipex_matmul_args *args, const struct ipex_matmul_job *job,
                       int64_t row) {
    const int64_t b_column = args->transposed ? args->b_row : 1;
    const int64_t b_k = args->transposed ? 1 : args->b_row;
    for (int64_t c = job->column; c < job->column_end; c++) {
        const float chain = dot(job->a + row * args->a_row, job->b + c * b_column, args->k, b_k);
        job->y[row * args->y_row + c] = args->scale == 1.0f ? chain : args->scale * chain;
    }
}

void IPEX_REF(matmul_f32)(const struct ipex_matmul_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    (void)scratch;
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_matmul_job job = ipex_matmul_job(args, j);
        for (int64_t row = job.row; row < job.row_end; row++)
            matmul_row(args, &job, row);
    }
}

/* s: room for the scores of one query. */
static void attention_row(const struct ipex_attention_args *args,
                          const struct ipex_attention_job *job, int64_t row, float *s) {
    const int64_t n = args->n, visible = ipex_attention_visible(args, row);
    for (int64_t j = 0; j < n; j++) {
        s[j] = args->scale * dot(job->q + row * args->q_row, job->k + j * args->k_row, args->d, 1);
        if (args->mask)
            s[j] = s[j] + job->mask[row * args->mask_row + j * args->mask_column];
        if (j >= visible)
            s[j] = -INFINITY;
    }
    const float most = ref_reduce_row(IPEX_REDUCE_max, s, n, 1);
    for (int64_t j = 0; j < n; j++)
        s[j] = ref_exp(s[j] - most);
    const float sum = ref_reduce_row(IPEX_REDUCE_sum, s, n, 1);
    for (int64_t c = 0; c < args->e; c++)
        job->y[row * args->y_row + c] = dot(s, job->v + c, n, args->v_row) / sum;
}

void IPEX_REF(attention_f32)(const struct ipex_attention_args *args, int64_t job_begin,
                             int64_t job_end, void *scratch) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_attention_job job = ipex_attention_job(args, j);
        for (int64_t row = job.row; row < job.row_end; row++)
            attention_row(args, &job, row, scratch);
    }
}
