/* SPDX-License-Identifier: Apache-2.0 */
/* Steps along K for kernels that widen bf16 in registers: a word holds a pair of elements of K, and
 * a step is one half of every pair. Included after a vec_*.h and before conv_blocks_*.h; the
 * includer says what X_AT(p) is, which may name ODD. */
#ifndef IPEX_KERNELS_X86_CONV_HALVES_H
#define IPEX_KERNELS_X86_CONV_HALVES_H

#include "kernels/bf16.h"

/* One half of each pair, widened. */
static inline vec half_of(vec_int pairs, bool odd) {
    return vec_float(odd ? vec_and(pairs, vec_int_set((int32_t)0xffff0000))
                         : vec_int_to_upper_half(pairs));
}

/* The two halves of a pair load anew: operands kept for the second half would drive accumulators
 * out of their registers. */
#define LOAD_ANEW __asm__ volatile("" ::: "memory")

/* Steps on the odd (1) or the even (0) halves. */
#define HALF_STEP(odd, STEPS)                                                                      \
    {                                                                                              \
        enum { ODD = odd };                                                                        \
        LOAD_ANEW;                                                                                 \
        STEPS                                                                                      \
    }

#define OPERAND          vec
#define W_AT(p)          half_of(vec_bits(vec_load(p)), ODD)
#define PRODUCT(a, b, c) vec_fma(a, b, c)

#endif
