/* SPDX-License-Identifier: Apache-2.0 */
/* Steps along K for kernels that widen bf16 in registers: a word holds a pair of elements of K, and
 * a step is one half of every pair. Included after a vec_*.h and before conv_blocks_*.h; the
 * includer says what X_AT(p) is, which may name ODD. */
#ifndef IPEX_KERNELS_X86_CONV_HALVES_H
#define IPEX_KERNELS_X86_CONV_HALVES_H

#include "kernels/bf16.h"

/* Bits of the upper halves. 16 registers have no room for them beside a block: there they are read
 * from memory by what uses them. */
static inline vec_int upper_halves(void) {
    static const _Alignas(64)
        uint32_t bits[LANES] = {0xffff0000, 0xffff0000, 0xffff0000, 0xffff0000,
                                0xffff0000, 0xffff0000, 0xffff0000, 0xffff0000};
    const void *at = bits;
    if (VEC_REGISTERS > 16)
        return vec_int_set((int32_t)0xffff0000);
    __asm__("" : "+r"(at)); /* or compilers would know what is there */
    return vec_bits(vec_load(at));
}

/* One half of each pair, widened. */
static inline vec half_of(vec_int pairs, bool odd) {
    return vec_float(odd ? vec_and(pairs, upper_halves()) : vec_int_to_upper_half(pairs));
}

/* Of up to 2 * LANES elements of K the even ones and the odd ones, widened; +0 behind the last. */
static inline void widen_elements(const uint16_t *from, int64_t count, float *even, float *odd) {
    const vec_int pairs = vec_load_bytes(from, count * (int64_t)sizeof *from);
    vec_store(even, half_of(pairs, false));
    vec_store(odd, half_of(pairs, true));
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

/* Of a pair's two steps, which read the same weights (conv_blocks_avx512.h). */
#define STEP_PREFETCHES (ODD == 0)

#define OPERAND          vec
#define W_AT(p)          half_of(vec_bits(vec_load(p)), ODD)
#define PRODUCT(a, b, c) vec_fma(a, b, c)

#endif
