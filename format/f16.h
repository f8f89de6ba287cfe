/* SPDX-License-Identifier: Apache-2.0 */
/* f16 as bits: a sign, 5 bits of exponent, 10 of mantissa. Static inline only: kernels are built
 * with flags of their level. */
#ifndef IPEX_FORMAT_F16_H
#define IPEX_FORMAT_F16_H

#include <stdint.h>
#include <string.h>

/* The f32 that is the same number, as bits; of a NaN the quiet one. Denormals are none in f32. */
static inline uint32_t ipex_f32_of_f16(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
    const float small = (float)(int32_t)magnitude * 0x1p-24f;
    const uint32_t special = magnitude >= 0x7c00 ? 112u << 23 : 0;
    const uint32_t quiet = magnitude > 0x7c00 ? 1u << 22 : 0;
    uint32_t ret;
    memcpy(&ret, &small, sizeof ret);
    ret = magnitude < 0x400 ? ret : ((magnitude << 13) + (112u << 23) + special) | quiet;
    return ret | sign;
}

static inline float ipex_float_of_f16(uint16_t half) {
    const uint32_t bits = ipex_f32_of_f16(half);
    float ret;
    memcpy(&ret, &bits, sizeof ret);
    return ret;
}

#endif
