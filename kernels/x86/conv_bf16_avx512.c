/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on bf16 (profile bf16-dp): of every pair of elements of K the odd one,
 * then the even one, each by an fma on widened operands. The bits are those of vdpbf16ps. */
#define CONV_X         uint16_t
#define CONV_K_PER_ROW 2
#define CONV_SMALLER_BLOCKS
#include "kernels/x86/vec_avx512.h"
#include "kernels/x86/conv_pairs.h"
#include "kernels/x86/conv_walk.h"

/* One half of the pairs of a row of a tile, widened. */
static inline __m512 weights_of(const float *w, bool odd) {
    const __m512i pairs = _mm512_load_si512(w);
    return _mm512_castsi512_ps(odd ? _mm512_and_si512(pairs, _mm512_set1_epi32((int32_t)0xffff0000))
                                   : _mm512_slli_epi32(pairs, 16));
}

/* One half of the pair at x, widened. */
static inline __m512 element_of(const uint16_t *x, bool odd) {
    const __m512i pairs = _mm512_set1_epi32((int32_t)ipex_bf16_pair(x));
    return _mm512_castsi512_ps(odd ? _mm512_and_si512(pairs, _mm512_set1_epi32((int32_t)0xffff0000))
                                   : _mm512_slli_epi32(pairs, 16));
}

/* The two halves of a pair load anew: operands kept for the second half would drive accumulators
 * out of their registers. */
#define LOAD_ANEW __asm__ volatile("" ::: "memory")

#define OPERAND          __m512
#define X_AT(p)          element_of(p, ODD)
#define W_AT(p)          weights_of(p, ODD)
#define PRODUCT(a, b, c) _mm512_fmadd_ps(a, b, c)
#define HALF_STEP(MR, NR, odd_)                                                                    \
    {                                                                                              \
        enum { ODD = odd_ };                                                                       \
        LOAD_ANEW;                                                                                 \
        STEP(MR, NR)                                                                               \
    }
#define WHOLE_STEP(MR, NR) HALF_STEP(MR, NR, 1) HALF_STEP(MR, NR, 0)
#define CHAINS(MR, NR)     CHAINS_OF_PAIRS(MR, LANES, WHOLE_STEP(MR, NR))
#include "kernels/x86/conv_blocks_avx512.h"

void ipex_k_conv_bf16__avx512(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                              void *scratch) {
    (void)scratch;
    conv_jobs(&level, args, job_begin, job_end);
}
