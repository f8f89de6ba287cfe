/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on f32 with AVX-512. */
#include "kernels/x86/vec_avx512.h"
#include "kernels/x86/conv_planar.h"
#include "kernels/x86/conv_transpose_walk.h"

#define OPERAND               __m512
#define X_AT(p)               _mm512_set1_ps(*(p))
#define W_AT(p)               _mm512_load_ps(p)
#define PRODUCT(a, b, c)      _mm512_fmadd_ps(a, b, c)
#define OPERAND_HALF          __m256
#define X_AT_HALF(p)          _mm256_set1_ps(*(p))
#define W_AT_HALF(p)          _mm256_load_ps(p)
#define PRODUCT_HALF(a, b, c) _mm256_fmadd_ps(a, b, c)
#define CHAINS(MR, NR)                                                                             \
    for (int32_t k = b->k; k > 0; k--, a0++, a1++, w += LANES) {                                   \
        STEP(MR, NR)                                                                               \
    }
#include "kernels/x86/conv_blocks_avx512.h"

void ipex_k_conv_f32__avx512(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                             void *scratch) {
    if (args->planar)
        planar_jobs(args, job_begin, job_end, scratch);
    else
        conv_jobs(&level, args, job_begin, job_end);
}

void ipex_k_conv_transpose_f32__avx512(const struct ipex_conv_transpose_args *args,
                                       int64_t job_begin, int64_t job_end, void *scratch) {
    (void)scratch;
    conv_transpose_jobs(&level, args, job_begin, job_end);
}
