/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on f32 with AVX2 and FMA. */
#include "kernels/x86/vec_avx2.h"
#include "kernels/x86/conv_eights.h"
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
    if (args->planar)
        planar_transpose_jobs(args, job_begin, job_end, scratch);
    else
        conv_transpose_jobs(&level, args, job_begin, job_end);
}
