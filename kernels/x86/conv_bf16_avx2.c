/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on bf16 (profile bf16-dp): of every pair of elements of K the odd one,
 * then the even one, each by an fma on widened operands. The bits are those of vdpbf16ps. */
#define CONV_X         uint16_t
#define CONV_K_PER_ROW 2
#define CONV_SMALLER_BLOCKS
#include "kernels/x86/vec_avx2.h"
#include "kernels/x86/conv_pairs.h"
#include "kernels/x86/conv_transpose_walk.h"

/* One half of the pairs of a row of a tile, widened. */
static inline __m256 weights_of(const float *w, bool odd) {
    const __m256i pairs = _mm256_load_si256((const __m256i *)(const void *)w);
    return _mm256_castsi256_ps(odd ? _mm256_and_si256(pairs, _mm256_set1_epi32((int32_t)0xffff0000))
                                   : _mm256_slli_epi32(pairs, 16));
}

/* One half of the pair at x, widened. */
static inline __m256 element_of(const uint16_t *x, bool odd) {
    const __m256i pairs = _mm256_set1_epi32((int32_t)ipex_bf16_pair(x));
    return _mm256_castsi256_ps(odd ? _mm256_and_si256(pairs, _mm256_set1_epi32((int32_t)0xffff0000))
                                   : _mm256_slli_epi32(pairs, 16));
}

/* The two halves of a pair load anew: operands kept for the second half would drive accumulators
 * out of their registers. */
#define LOAD_ANEW __asm__ volatile("" ::: "memory")

#define OPERAND          __m256
#define X_AT(p)          element_of(p, ODD)
#define W_AT(p)          weights_of(p, ODD)
#define PRODUCT(a, b, c) _mm256_fmadd_ps(a, b, c)
#define HALF_STEP(MR, NP, STEP, odd_)                                                              \
    {                                                                                              \
        enum { ODD = odd_ };                                                                       \
        LOAD_ANEW;                                                                                 \
        STEP(MR, NP)                                                                               \
    }
#define WHOLE_STEP(MR, NP, STEP) HALF_STEP(MR, NP, STEP, 1) HALF_STEP(MR, NP, STEP, 0)
#define CHAINS(MR, NP, STEP)     CHAINS_OF_PAIRS(MR, IPEX_PANEL, WHOLE_STEP(MR, NP, STEP))
#include "kernels/x86/conv_blocks_avx2.h"

void ipex_k_conv_bf16__avx2(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                            void *scratch) {
    (void)scratch;
    conv_jobs(&level, args, job_begin, job_end);
}

void ipex_k_conv_transpose_bf16__avx2(const struct ipex_conv_transpose_args *args,
                                      int64_t job_begin, int64_t job_end, void *scratch) {
    (void)scratch;
    conv_transpose_jobs(&level, args, job_begin, job_end);
}
