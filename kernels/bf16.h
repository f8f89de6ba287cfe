/* SPDX-License-Identifier: Apache-2.0 */
/* bf16 as bits: the upper half of an f32. Static inline only, as kernels/jobs.h. */
#ifndef IPEX_KERNELS_BF16_H
#define IPEX_KERNELS_BF16_H

#include <stdint.h>
#include <string.h>

/* f32 bits to nearest, ties to even; a denormal becomes a zero of its sign; a NaN keeps its upper
 * bits and is quiet. */
static inline uint16_t ipex_bf16_of(uint32_t bits) {
    const uint32_t magnitude = bits & UINT32_C(0x7fffffff);
    const uint32_t rounded = bits + UINT32_C(0x7fff) + (bits >> 16 & 1);
    const uint32_t finite =
        magnitude < UINT32_C(0x00800000) ? bits & UINT32_C(0x80000000) : rounded;
    return (uint16_t)((magnitude > UINT32_C(0x7f800000) ? bits | UINT32_C(0x400000) : finite) >>
                      16);
}

/* n floats become n bf16 in the same memory. */
static inline void ipex_bf16_in_place(void *values, int64_t n) {
    enum { AT_ONCE = 16 };
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        uint32_t from[AT_ONCE] = {0};
        uint16_t to[AT_ONCE];
        const size_t count = n - i < AT_ONCE ? (size_t)(n - i) : AT_ONCE;
        memcpy(from, (char *)values + i * 4, count * 4);
        for (int j = 0; j < AT_ONCE; j++)
            to[j] = ipex_bf16_of(from[j]);
        memcpy((char *)values + i * 2, to, count * 2);
    }
}

/* The pair of elements at x, the even one in the lower half. */
static inline uint32_t ipex_bf16_pair(const void *x) {
    uint32_t pair;
    memcpy(&pair, x, sizeof pair);
    return pair;
}

#endif
