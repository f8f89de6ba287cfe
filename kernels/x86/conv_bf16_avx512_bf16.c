/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on bf16 (profile bf16-dp) with vdpbf16ps: a pair of elements of K at a
 * time. */
#define CONV_X         uint16_t
#define CONV_K_PER_ROW 2
#define CONV_ROUNDS
#define CONV_STORES_BF16
#define CONV_PANELS_APART 4
#include "kernels/x86/vec_avx512.h"
#include "kernels/x86/conv_pairs.h"
#include "kernels/x86/conv_transpose_walk.h"

/* The pair at p in every lane. clang 16 crashes where it would load and broadcast as bf16. */
static inline __m512bh pair_at(const uint16_t *p) {
    __m512i pair = _mm512_set1_epi32((int32_t)ipex_bf16_pair(p));
#if defined __clang__ && __clang_major__ == 16
    pair = vec_bits(vec_in_register(vec_float(pair)));
#endif
    return (__m512bh)pair;
}

#define OPERAND          __m512bh
#define X_AT(p)          pair_at(p)
#define W_AT(p)          (__m512bh) _mm512_load_si512(p)
#define PRODUCT(a, b, c) _mm512_dpbf16_ps(c, a, b)
#define CONV_FETCHES_NEXT
#define CHAINS(MR, NR)                                                                             \
    FETCH_BEGIN                                                                                    \
    CHAINS_OF_PAIRS(MR, LANES, FETCH_PAIR(MR, NR) STEP(MR, NR))
#include "kernels/x86/conv_blocks_avx512.h"

void ipex_k_conv_bf16__avx512_bf16(const struct ipex_conv_args *args, int64_t job_begin,
                                   int64_t job_end, void *scratch) {
    (void)scratch;
    ipex_conv_walk(&level, args, job_begin, job_end);
}

void ipex_k_conv_transpose_bf16__avx512_bf16(const struct ipex_conv_transpose_args *args,
                                             int64_t job_begin, int64_t job_end, void *scratch) {
    (void)scratch;
    conv_transpose_jobs(&level, args, job_begin, job_end);
}
