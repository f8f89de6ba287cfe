/* SPDX-License-Identifier: Apache-2.0 */
/* What both kinds of products of weights in blocks share with AVX-512. Include vec_avx512.h first.
 */
#ifndef IPEX_KERNELS_X86_BLOCKS_AVX512_H
#define IPEX_KERNELS_X86_BLOCKS_AVX512_H

#include "kernels/x86/blocks.h"

/* Scales of a panel's columns, of struct ipex_blocks_args and blocks_product. */
#define BLOCKS_SCALES(args, at)                                                                    \
    ((args)->scale ? vec_load((args)->scale + (at)) : vec_load_bf16((args)->scale_bf16 + (at)))

/* Zero points of a panel's columns, in words; NULL: the middle throughout. */
static inline vec_int blocks_zeros(const uint8_t *zero, bool wide) {
    if (!zero)
        return vec_int_set(blocks_middle(wide));
    return vec_and(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)zero)),
                   vec_int_set(blocks_most(wide)));
}

#endif
