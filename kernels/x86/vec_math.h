/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/math_ref.h on vectors: the same operations in the same order, so the same bits.
 * Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_VEC_MATH_H
#define IPEX_KERNELS_X86_VEC_MATH_H

#include "kernels/math_constants.h"
#include "kernels/x86/x86.h"

/* The first n elements at p, or LANES where there are more. Whole vectors go the plain way: masked
 * stores of AVX2 are slow on some CPUs. */
static inline vec vec_load_part(const float *p, int64_t n) {
    return n >= LANES ? vec_load(p) : vec_load_masked(p, vec_first(n));
}

static inline void vec_store_part(float *p, int64_t n, vec x) {
    if (n >= LANES)
        vec_store(p, x);
    else
        vec_store_masked(p, vec_first(n), x);
}

static inline vec vec_exp(vec x) {
    const vec magic = vec_set(IPEX_EXP_MAGIC);
    x = vec_max(vec_set(IPEX_EXP_MIN), vec_min(vec_set(IPEX_EXP_MAX), x));
    const vec shifted = vec_fma(x, vec_set(IPEX_EXP_LOG2E), magic);
    const vec n = vec_sub(shifted, magic);
    vec r = vec_fnma(n, vec_set(IPEX_EXP_LN2_HI), x);
    r = vec_fnma(n, vec_set(IPEX_EXP_LN2_LO), r);
    vec q = vec_fma(vec_set(IPEX_EXP_Q4), r, vec_set(IPEX_EXP_Q3));
    q = vec_fma(q, r, vec_set(IPEX_EXP_Q2));
    q = vec_fma(q, r, vec_set(IPEX_EXP_Q1));
    q = vec_fma(q, r, vec_set(IPEX_EXP_Q0));
    const vec p = vec_add(vec_fma(vec_mul(r, r), q, r), vec_set(1.0f));
    const vec_int i = vec_int_sub(vec_bits(shifted), vec_bits(magic)), bias = vec_int_set(127);
    const vec_int half = vec_int_half(i), rest = vec_int_sub(i, half);
    const vec scale = vec_float(vec_int_to_exponent(vec_int_add(half, bias)));
    return vec_mul(vec_mul(p, scale), vec_float(vec_int_to_exponent(vec_int_add(rest, bias))));
}

static inline vec vec_abs(vec x) {
    return vec_float(vec_and(vec_bits(x), vec_int_set(INT32_MAX)));
}

static inline vec vec_neg(vec x) {
    return vec_float(vec_xor(vec_bits(x), vec_int_set(INT32_MIN)));
}

static inline vec vec_sigmoid(vec x) {
    const vec one = vec_set(1.0f), e = vec_exp(vec_neg(vec_abs(x)));
    return vec_div(vec_select(vec_less(x, vec_set(0.0f)), e, one), vec_add(one, e));
}

static inline vec vec_tanh(vec x) {
    const vec one = vec_set(1.0f), a = vec_abs(x), z = vec_mul(a, a);
    vec q = vec_fma(vec_set(IPEX_TANH_Q4), z, vec_set(IPEX_TANH_Q3));
    q = vec_fma(q, z, vec_set(IPEX_TANH_Q2));
    q = vec_fma(q, z, vec_set(IPEX_TANH_Q1));
    q = vec_fma(q, z, vec_set(IPEX_TANH_Q0));
    const vec small = vec_fma(vec_mul(a, z), q, a);
    const vec e = vec_exp(vec_add(a, a));
    const vec large = vec_sub(one, vec_div(vec_set(2.0f), vec_add(e, one)));
    const vec y = vec_select(vec_less(a, vec_set(IPEX_TANH_SMALL)), small, large);
    return vec_float(vec_or(vec_bits(y), vec_and(vec_bits(x), vec_int_set(INT32_MIN))));
}

/* Denormals to zero: the maximum, like all arithmetic, takes its operands that way. */
static inline vec vec_flush(vec x) {
    return vec_max(x, x);
}

/* The greater or lesser of a and v; a NaN on either side stays. */
static inline vec vec_max_nan(vec a, vec v) {
    return vec_select(vec_is_nan(v), v, vec_max(v, a));
}

static inline vec vec_min_nan(vec a, vec v) {
    return vec_select(vec_is_nan(v), v, vec_min(v, a));
}

static inline vec vec_clip(vec x, vec lo, vec hi) {
    return vec_min(hi, vec_max(lo, x));
}

static inline vec vec_leaky(vec x, vec slope) {
    return vec_select(vec_less(vec_set(0.0f), x), x, vec_mul(slope, x));
}

/* The activations of format/ops.h. */
static inline vec vec_act(vec x, int32_t act, float a, float b) {
    const vec va = vec_set(a), vb = vec_set(b), zero = vec_set(0.0f), one = vec_set(1.0f);
    switch (act) {
    case IPEX_ACT_relu:
        return vec_max(zero, x);
    case IPEX_ACT_clip:
        return vec_clip(x, va, vb);
    case IPEX_ACT_leaky_relu:
        return vec_leaky(x, va);
    case IPEX_ACT_hard_sigmoid:
        return vec_clip(vec_fma(va, x, vb), zero, one);
    case IPEX_ACT_hard_swish: {
        const vec gate = vec_fma(vec_set(1.0f / 6.0f), x, vec_set(0.5f));
        return vec_mul(x, vec_clip(gate, zero, one));
    }
    case IPEX_ACT_sigmoid:
        return vec_sigmoid(x);
    case IPEX_ACT_silu:
        return vec_mul(x, vec_sigmoid(x));
    case IPEX_ACT_tanh:
        return vec_tanh(x);
    default:
        return x;
    }
}

/* An activation over n floats in place. */
static inline void vec_act_row(float *y, int64_t n, int32_t act, float a, float b) {
    for (int64_t i = 0; i < n; i += LANES)
        vec_store_part(y + i, n - i, vec_act(vec_load_part(y + i, n - i), act, a, b));
}

/* relu, clip and none are clamps, which kernels apply as they store: the same bounds for all three,
 * since max(-inf, x) and min(inf, x) leave every arithmetic result as it is. */
static inline bool act_is_clamp(int32_t act) {
    return act == IPEX_ACT_none || act == IPEX_ACT_relu || act == IPEX_ACT_clip;
}

static inline float act_low(int32_t act, float a) {
    return act == IPEX_ACT_relu ? 0.0f : act == IPEX_ACT_clip ? a : -__builtin_inff();
}

static inline float act_high(int32_t act, float b) {
    return act == IPEX_ACT_clip ? b : __builtin_inff();
}

#endif
