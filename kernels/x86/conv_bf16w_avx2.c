/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on f32 with weights in bf16, which are widened in registers: even elements
 * of K, then odd ones. The same chains as on f32 weights. */
#define CONV_X         float
#define CONV_K_PER_ROW 2
#define CONV_SMALLER_BLOCKS
#include "kernels/x86/vec_avx2.h"
#include "kernels/x86/conv_transpose_walk.h"

/* One half of the pairs of a row of a tile, widened. */
static inline __m256 weights_of(const float *w, bool odd) {
    const __m256i pairs = _mm256_load_si256((const __m256i *)(const void *)w);
    return _mm256_castsi256_ps(odd ? _mm256_and_si256(pairs, _mm256_set1_epi32((int32_t)0xffff0000))
                                   : _mm256_slli_epi32(pairs, 16));
}

/* The two halves of a pair load anew: operands kept for the second half would drive accumulators
 * out of their registers. */
#define LOAD_ANEW __asm__ volatile("" ::: "memory")

#define OPERAND          __m256
#define X_AT(p)          _mm256_set1_ps((p)[ODD])
#define W_AT(p)          weights_of(p, ODD)
#define PRODUCT(a, b, c) _mm256_fmadd_ps(a, b, c)
#define HALF_STEP(MR, NP, STEP, odd)                                                               \
    {                                                                                              \
        enum { ODD = odd };                                                                        \
        LOAD_ANEW;                                                                                 \
        STEP(MR, NP)                                                                               \
    }
#define CHAINS(MR, NP, STEP)                                                                       \
    for (int32_t k = b->k / 2; k > 0; k--, a0 += 2, a1 += 2, w += IPEX_PANEL) {                    \
        HALF_STEP(MR, NP, STEP, 0)                                                                 \
        HALF_STEP(MR, NP, STEP, 1)                                                                 \
    }                                                                                              \
    if (b->k % 2)                                                                                  \
    HALF_STEP(MR, NP, STEP, 0)
#include "kernels/x86/conv_blocks_avx2.h"

void ipex_k_conv_bf16w__avx2(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                             void *scratch) {
    (void)scratch;
    conv_jobs(&level, args, job_begin, job_end);
}

void ipex_k_conv_transpose_bf16w__avx2(const struct ipex_conv_transpose_args *args,
                                       int64_t job_begin, int64_t job_end, void *scratch) {
    (void)scratch;
    conv_transpose_jobs(&level, args, job_begin, job_end);
}
