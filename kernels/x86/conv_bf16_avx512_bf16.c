/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on bf16 (profile bf16-dp) with vdpbf16ps: a pair of elements of K at a
 * time. */
#define CONV_X         uint16_t
#define CONV_K_PER_ROW 2
#include "kernels/x86/vec_avx512.h"
#include "kernels/x86/conv_walk.h"

#include <string.h>

/* The pair at x in every lane; behind an odd K's last element there is +0. */
static inline __m512bh pair_of(const uint16_t *x, bool last) {
    uint32_t pair = *x;
    if (!last)
        memcpy(&pair, x, sizeof pair);
    return (__m512bh)_mm512_set1_epi32((int32_t)pair);
}

#define OPERAND          __m512bh
#define X_AT(p)          pair_of(p, LAST)
#define W_AT(p)          (__m512bh) _mm512_load_si512(p)
#define PRODUCT(a, b, c) _mm512_dpbf16_ps(c, a, b)
#define WHOLE_STEP(MR, NR, last)                                                                   \
    {                                                                                              \
        enum { LAST = last };                                                                      \
        STEP(MR, NR)                                                                               \
    }
#define CHAINS(MR, NR)                                                                             \
    for (int32_t k = b->k / 2; k > 0; k--, a0 += 2, a1 += 2, w += LANES)                           \
        WHOLE_STEP(MR, NR, 0)                                                                      \
    if (b->k % 2)                                                                                  \
    WHOLE_STEP(MR, NR, 1)
#include "kernels/x86/conv_blocks_avx512.h"

void ipex_k_conv_bf16__avx512_bf16(const struct ipex_conv_args *args, int64_t job_begin,
                                   int64_t job_end, void *scratch) {
    (void)scratch;
    conv_jobs(&level, args, job_begin, job_end);
}
