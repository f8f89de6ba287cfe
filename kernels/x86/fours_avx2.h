/* SPDX-License-Identifier: Apache-2.0 */
/* Products of words of four u8 by four i8 with AVX2: bytes in even places and in odd ones as pairs
 * of 16 bits, whose products vpmaddwd adds exactly. */
#ifndef IPEX_KERNELS_X86_FOURS_AVX2_H
#define IPEX_KERNELS_X86_FOURS_AVX2_H

#include "kernels/x86/vec_avx2.h"

/* FOURS declares what ADD_FOURS takes of words of x, WEIGHTS the same of the v-th words of weights;
 * ADD_FOURS(s, v) adds the products of every word to s. */
#define FOURS(words)                                                                               \
    const vec_int four = words, x_even = vec_and(four, vec_int_set(0xff00ff));                     \
    const vec_int x_odd = _mm256_srli_epi16(four, 8);
#define WEIGHTS(v, words)                                                                          \
    const vec_int w##v = words, odd##v = _mm256_srai_epi16(w##v, 8);                               \
    const vec_int even##v = _mm256_srai_epi16(_mm256_slli_epi16(w##v, 8), 8);
#define ADD_FOURS(s, v)                                                                            \
    s = _mm256_add_epi32(s, _mm256_madd_epi16(x_even, even##v));                                   \
    s = _mm256_add_epi32(s, _mm256_madd_epi16(x_odd, odd##v));

#endif
