/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two activations, and attention: one chain of fma per output; on bf16 in the
 * orders of vdpbf16ps and tdpbf16ps. */
#include "kernels/ref/lanes_ref.h"
#include "kernels/ref/bf16_ref.h"
#include "kernels/bf16.h"
#include "kernels/product_jobs.h"

/* Operands of one dtype; y_stride in elements. */
typedef float (*dot_fn)(const void *x, const void *y, int64_t n, int64_t y_stride);
struct operands {
    int64_t size; /* bytes of an element */
    dot_fn dot;
};

static float dot_f32(const void *x_, const void *y_, int64_t n, int64_t y_stride) {
    const float *x = x_, *y = y_;
    float chain = 0.0f;
    for (int64_t k = 0; k < n; k++)
        chain = fmaf(x[k], y[k * y_stride], chain);
    return chain;
}

static float dot_bf16(const void *x, const void *y, int64_t n, int64_t y_stride) {
    float chain = 0.0f;
    for (int64_t k = 0; k < n; k += 2)
        chain = ref_bf16_pair(ref_bf16_or_zero(x, k, n, 1), ref_bf16_or_zero(x, k + 1, n, 1),
                              ref_bf16_or_zero(y, k, n, y_stride),
                              ref_bf16_or_zero(y, k + 1, n, y_stride), chain);
    return chain;
}

static float dot_bf16t(const void *x, const void *y, int64_t n, int64_t y_stride) {
    float chain = 0.0f;
    for (int64_t tile = 0; tile < n; tile += REF_BF16_TILE_K) {
        float even = 0.0f, odd = 0.0f;
        for (int64_t k = tile; k < tile + REF_BF16_TILE_K; k += 2) {
            even = fmaf(ref_bf16_or_zero(x, k, n, 1), ref_bf16_or_zero(y, k, n, y_stride), even);
            odd = fmaf(ref_bf16_or_zero(x, k + 1, n, 1), ref_bf16_or_zero(y, k + 1, n, y_stride),
                       odd);
        }
        chain = chain + (even + odd);
    }
    return chain;
}

static const struct operands f32 = {4, dot_f32}, bf16 = {2, dot_bf16}, bf16t = {2, dot_bf16t};

static void matmul_row(const struct ipex_matmul_args *args, const struct operands *operands,
                       const struct ipex_matmul_job *job, int64_t row) {
    const int64_t b_column = args->transposed ? args->b_row : 1;
    const int64_t b_k = args->transposed ? 1 : args->b_row;
    const char *a = (const char *)job->a + row * args->a_row * operands->size;
    for (int64_t c = job->column; c < job->column_end; c++) {
        const char *b = (const char *)job->b + c * b_column * operands->size;
        const float chain = operands->dot(a, b, args->k, b_k);
        job->y[row * args->y_row + c] = args->scale == 1.0f ? chain : args->scale * chain;
    }
}

static void matmul_run(const struct ipex_matmul_args *args, const struct operands *operands,
                       int64_t job_begin, int64_t job_end) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_matmul_job job = ipex_matmul_job(args, j, operands->size);
        for (int64_t row = job.row; row < job.row_end; row++)
            matmul_row(args, operands, &job, row);
    }
}

void IPEX_REF(matmul_f32)(const struct ipex_matmul_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    (void)scratch;
    matmul_run(args, &f32, job_begin, job_end);
}

void IPEX_REF(matmul_bf16)(const struct ipex_matmul_args *args, int64_t job_begin, int64_t job_end,
                           void *scratch) {
    (void)scratch;
    matmul_run(args, &bf16, job_begin, job_end);
}

void IPEX_REF(matmul_bf16t)(const struct ipex_matmul_args *args, int64_t job_begin, int64_t job_end,
                            void *scratch) {
    (void)scratch;
    matmul_run(args, &bf16t, job_begin, job_end);
}

/* s: room for the scores of one query. */
static void attention_row(const struct ipex_attention_args *args, const struct operands *operands,
                          const struct ipex_attention_job *job, int64_t row, float *s) {
    const int64_t n = args->n, visible = ipex_attention_visible(args, row);
    const int64_t size = operands->size;
    const char *q = (const char *)job->q + row * args->q_row * size;
    for (int64_t j = 0; j < n; j++) {
        const char *k = (const char *)job->k + j * args->k_row * size;
        s[j] = args->scale * operands->dot(q, k, args->d, 1);
        if (args->mask)
            s[j] = s[j] + job->mask[row * args->mask_row + j * args->mask_column];
        if (j >= visible)
            s[j] = -INFINITY;
    }
    const float most = ref_reduce_row(IPEX_REDUCE_max, s, n, 1);
    for (int64_t j = 0; j < n; j++)
        s[j] = ref_weight(s[j] - most);
    const float sum = ref_reduce_row(IPEX_REDUCE_sum, s, n, 1);
    if (operands->size == 2)
        ipex_bf16_in_place(s, n);
    for (int64_t c = 0; c < args->e; c++)
        job->y[row * args->y_row + c] =
            operands->dot(s, (const char *)job->v + c * size, n, args->v_row) / sum;
}

static void attention_run(const struct ipex_attention_args *args, const struct operands *operands,
                          int64_t job_begin, int64_t job_end, void *scratch) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_attention_job job = ipex_attention_job(args, j, operands->size);
        for (int64_t row = job.row; row < job.row_end; row++)
            attention_row(args, operands, &job, row, scratch);
    }
}

void IPEX_REF(attention_f32)(const struct ipex_attention_args *args, int64_t job_begin,
                             int64_t job_end, void *scratch) {
    attention_run(args, &f32, job_begin, job_end, scratch);
}

void IPEX_REF(attention_bf16)(const struct ipex_attention_args *args, int64_t job_begin,
                              int64_t job_end, void *scratch) {
    attention_run(args, &bf16, job_begin, job_end, scratch);
}

void IPEX_REF(attention_bf16t)(const struct ipex_attention_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    attention_run(args, &bf16t, job_begin, job_end, scratch);
}
