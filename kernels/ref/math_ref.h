/* SPDX-License-Identifier: Apache-2.0 */
/* exp, sigmoid, tanh and the activations: the specification. Only fma, the four operations and bit
 * moves, in exactly this order at every level. kernels/math_constants.h has the derivation;
 * tests/checkkern measures the error over all f32. */
#ifndef IPEX_KERNELS_REF_MATH_H
#define IPEX_KERNELS_REF_MATH_H

#include "kernels/math_constants.h"
#include "kernels/ref/ref.h"

static inline float ref_exp(float x) {
    x = ref_max(ref_min(x, IPEX_EXP_MAX), IPEX_EXP_MIN);
    const float shifted = fmaf(x, IPEX_EXP_LOG2E, IPEX_EXP_MAGIC);
    const float n = shifted - IPEX_EXP_MAGIC;
    float r = fmaf(-n, IPEX_EXP_LN2_HI, x);
    r = fmaf(-n, IPEX_EXP_LN2_LO, r);
    float q = fmaf(IPEX_EXP_Q4, r, IPEX_EXP_Q3);
    q = fmaf(q, r, IPEX_EXP_Q2);
    q = fmaf(q, r, IPEX_EXP_Q1);
    q = fmaf(q, r, IPEX_EXP_Q0);
    const float p = fmaf(r * r, q, r) + 1.0f;
    /* n as an integer, cut into two exponents of which the first is the smaller. */
    const uint32_t i = ref_bits(shifted) - ref_bits(IPEX_EXP_MAGIC);
    const uint32_t half = (i >> 1) | (i & UINT32_C(0x80000000));
    return p * ref_float((half + 127) << 23) * ref_float((i - half + 127) << 23);
}

static inline float ref_abs(float x) {
    return ref_float(ref_bits(x) & UINT32_C(0x7fffffff));
}

static inline float ref_sigmoid(float x) {
    const float e = ref_exp(-ref_abs(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

static inline float ref_tanh(float x) {
    const float a = ref_abs(x);
    const float z = a * a;
    float q = fmaf(IPEX_TANH_Q4, z, IPEX_TANH_Q3);
    q = fmaf(q, z, IPEX_TANH_Q2);
    q = fmaf(q, z, IPEX_TANH_Q1);
    q = fmaf(q, z, IPEX_TANH_Q0);
    const float small = fmaf(a * z, q, a);
    const float large = 1.0f - 2.0f / (ref_exp(a + a) + 1.0f);
    const float y = a < IPEX_TANH_SMALL ? small : large;
    return ref_float(ref_bits(y) | (ref_bits(x) & UINT32_C(0x80000000)));
}

static inline float ref_clip(float x, float lo, float hi) {
    return ref_min(ref_max(x, lo), hi);
}

/* The activations of format/ops.h on one finished value. */
static inline float ref_act(float x, int32_t act, float a, float b) {
    switch (act) {
    case IPEX_ACT_relu:
        return ref_max(x, 0.0f);
    case IPEX_ACT_clip:
        return ref_clip(x, a, b);
    case IPEX_ACT_leaky_relu:
        return x > 0.0f ? x : a * x;
    case IPEX_ACT_hard_sigmoid:
        return ref_clip(fmaf(a, x, b), 0.0f, 1.0f);
    case IPEX_ACT_hard_swish:
        return x * ref_clip(fmaf(1.0f / 6.0f, x, 0.5f), 0.0f, 1.0f);
    case IPEX_ACT_sigmoid:
        return ref_sigmoid(x);
    case IPEX_ACT_silu:
        return x * ref_sigmoid(x);
    case IPEX_ACT_tanh:
        return ref_tanh(x);
    default:
        return x;
    }
}

#endif
