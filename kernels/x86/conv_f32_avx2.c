/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on f32 with AVX2 and FMA. */
#include "kernels/x86/vec_avx2.h"
#include "kernels/x86/conv_eights.h"
#define CONV_FEW ipex_conv_few__avx2
#include "kernels/x86/conv_few_body.h"
#include "kernels/x86/conv_planar.h"
#include "kernels/x86/conv_transpose_walk.h"

#define OPERAND          __m256
#define X_AT(p)          _mm256_broadcast_ss(p)
#define W_AT(p)          _mm256_load_ps(p)
#define PRODUCT(a, b, c) _mm256_fmadd_ps(a, b, c)
#define CHAINS(MR, NP, STEP)                                                                       \
    for (int32_t k = b->k; k > 0; k--, a0++, a1++, w += IPEX_PANEL) {                              \
        STEP(MR, NP)                                                                               \
    }
#include "kernels/x86/conv_blocks_avx2.h"

/* The segment's last 8 elements are transposed again. */
void ipex_conv_few_rest__avx2(const struct few_groups *g, int64_t columns, int64_t rest) {
    const int64_t at = 8 * (g->steps - 1) + rest;
    FEW_STRIDES(g)
    const float *xs[2] = {g->x0 + at, g->x1 + at};
    float tile[2][8][8];
    for (int64_t i = 0; i < 2; i++) {
        FEW_TAKE(first, FEW_FIRST, xs[i])
        FEW_TAKE(last, FEW_LAST, xs[i])
        store_rows(first, tile[i][0], 8);
        store_rows(last, tile[i][4], 8);
    }
    for (int64_t c = 0; c < columns; c++) {
        const float *w = g->w + 8 * g->steps * IPEX_PANEL + c;
        float *chains = g->chains + c * FEW_PIXELS;
        __m256 acc0 = _mm256_loadu_ps(chains), acc1 = _mm256_loadu_ps(chains + FEW_GROUP);
        for (int64_t k = 8 - rest; k < 8; k++, w += IPEX_PANEL) {
            const __m256 b = _mm256_broadcast_ss(w);
            acc0 = _mm256_fmadd_ps(_mm256_loadu_ps(tile[0][k]), b, acc0);
            acc1 = _mm256_fmadd_ps(_mm256_loadu_ps(tile[1][k]), b, acc1);
        }
        _mm256_storeu_ps(chains, acc0);
        _mm256_storeu_ps(chains + FEW_GROUP, acc1);
    }
}

void ipex_k_conv_f32__avx2(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                           void *scratch) {
    if (args->planar)
        planar_jobs(args, job_begin, job_end, scratch);
    else if (args->eights)
        ipex_k_conv_eights__avx2(args, job_begin, job_end, scratch, false);
    else
        ipex_conv_walk(&level, args, job_begin, job_end);
}

void ipex_k_conv_transpose_f32__avx2(const struct ipex_conv_transpose_args *args, int64_t job_begin,
                                     int64_t job_end, void *scratch) {
    if (args->touching)
        ipex_conv_few_touching(&level, args, job_begin, job_end, scratch);
    else
        conv_transpose_jobs(&level, args, job_begin, job_end);
}
