/* SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions: the specification. Only fma, the four operations and bit moves, in
 * exactly this order at every level. kernels/math_constants.h has the derivation; tests/checkkern
 * measures the error over all f32. */
#ifndef IPEX_KERNELS_REF_FUNCTIONS_H
#define IPEX_KERNELS_REF_FUNCTIONS_H

#include "kernels/math_constants.h"
#include "kernels/ref/ref.h"

#define REF_SIGN UINT32_C(0x80000000)

static inline float ref_abs(float x) {
    return ref_float(ref_bits(x) & ~REF_SIGN);
}

static inline float ref_neg(float x) {
    return ref_float(ref_bits(x) ^ REF_SIGN);
}

/* |x| with the sign of s. */
static inline float ref_with_sign(float x, float s) {
    return ref_float(ref_bits(x) | (ref_bits(s) & REF_SIGN));
}

static inline float ref_clip(float x, float lo, float hi) {
    return ref_min(ref_max(x, lo), hi);
}

/* ---- exp ---- */

/* x = n ln 2 + r. */
struct ref_exp_parts {
    float r;
    uint32_t n; /* two's complement */
};

static inline struct ref_exp_parts ref_exp_reduce(float x) {
    const float shifted = fmaf(x, IPEX_EXP_LOG2E, IPEX_EXP_MAGIC);
    const float n = shifted - IPEX_EXP_MAGIC;
    const float r = fmaf(-n, IPEX_EXP_LN2_HI, x);
    return (struct ref_exp_parts){fmaf(-n, IPEX_EXP_LN2_LO, r),
                                  ref_bits(shifted) - ref_bits(IPEX_EXP_MAGIC)};
}

/* (e^r - 1 - r) / r^2. */
static inline float ref_exp_q(float r) {
    float q = fmaf(IPEX_EXP_Q4, r, IPEX_EXP_Q3);
    q = fmaf(q, r, IPEX_EXP_Q2);
    q = fmaf(q, r, IPEX_EXP_Q1);
    return fmaf(q, r, IPEX_EXP_Q0);
}

/* e^r. */
static inline float ref_exp_poly(float r) {
    return fmaf(fmaf(ref_exp_q(r), r, 1.0f), r, 1.0f);
}

/* e^r - 1. */
static inline float ref_expm1_poly(float r) {
    return fmaf(r * r, ref_exp_q(r), r);
}

/* n cut into two exponents, of which the first is the smaller. */
static inline uint32_t ref_half(uint32_t n) {
    return (n >> 1) | (n & REF_SIGN);
}

static inline float ref_power_of_2(uint32_t n) {
    return ref_float((n + 127) << 23);
}

static inline float ref_exp_scale(float x, uint32_t n) {
    return x * ref_power_of_2(ref_half(n)) * ref_power_of_2(n - ref_half(n));
}

static inline float ref_exp(float x) {
    const struct ref_exp_parts e = ref_exp_reduce(ref_max(ref_min(x, IPEX_EXP_MAX), IPEX_EXP_MIN));
    return ref_exp_scale(ref_exp_poly(e.r), e.n);
}

/* x * factor = n + rest, n rounded as `magic` has it, which then stands in the low bits of
 * `shifted`. */
struct ref_rounded {
    float shifted, rest;
};

static inline struct ref_rounded ref_rounded(float x, float factor, float magic) {
    const float shifted = fmaf(x, factor, magic);
    return (struct ref_rounded){shifted, fmaf(x, factor, magic - shifted)};
}

/* 2^r, |r| <= 1/16. */
static inline float ref_exp2_poly(float r) {
    float p = fmaf(IPEX_EXP2_P3, r, IPEX_EXP2_P2);
    p = fmaf(p, r, IPEX_EXP2_P1);
    return fmaf(p, r, 1.0f);
}

/* 2^((8 n + k) / 8) of what IPEX_EIGHTHS_MAGIC was added to. */
static inline float ref_eighths(float shifted) {
    const uint32_t i = ref_bits(shifted);
    return ref_float(ipex_exp2_eighths[i % 8] + (i << 20));
}

/* e^x for x <= 0, as softmax and attention weigh. */
static inline float ref_weight(float x) {
    const struct ref_rounded e =
        ref_rounded(ref_max(x, IPEX_WEIGHT_MIN), IPEX_EXP_LOG2E, IPEX_EIGHTHS_MAGIC);
    return ref_exp2_poly(e.rest) * ref_eighths(e.shifted);
}

static inline float ref_expm1(float x) {
    const struct ref_exp_parts e = ref_exp_reduce(ref_max(ref_min(x, IPEX_EXP_MAX), IPEX_EXP_MIN));
    const uint32_t half = ref_half(e.n), rest = e.n - half;
    const float one = ref_power_of_2(0 - rest); /* divided by what comes last */
    const float scale = ref_power_of_2(half);
    return fmaf(scale, ref_expm1_poly(e.r), scale - one) * ref_power_of_2(rest);
}

/* 1 + e^-x. Where that is 2^128 it is inf, which the callers divide by. `both`: log2 e in two
 * parts. */
static inline float ref_one_plus_exp_neg(float x, bool both) {
    const float t = ref_clip(x, IPEX_SIGMOID_MIN, IPEX_SIGMOID_MAX);
    const struct ref_rounded e = ref_rounded(t, -IPEX_EXP_LOG2E, IPEX_EIGHTHS_MAGIC);
    const float r = both ? fmaf(t, -IPEX_LOG2E_LO, e.rest) : e.rest;
    return fmaf(ref_exp2_poly(r), ref_eighths(e.shifted), 1.0f);
}

static inline float ref_sigmoid(float x) {
    return 1.0f / ref_one_plus_exp_neg(x, true);
}

static inline float ref_silu(float x) {
    return x / ref_one_plus_exp_neg(x, false);
}

static inline float ref_tanh(float x) {
    const float a = ref_abs(x), d = ref_min(a + a, IPEX_TANH_MAX);
    const float shifted = fmaf(d, IPEX_EXP_LOG2E, IPEX_EXPONENT_MAGIC);
    const float r = fmaf(-(shifted - IPEX_EXPONENT_MAGIC), IPEX_EXP_LN2_HI, d);
    const float scale = ref_float(ref_bits(shifted) << 23);
    const float t = fmaf(scale, ref_expm1_poly(r), scale - 1.0f);
    return ref_with_sign(t / (t + 2.0f), x);
}

/* ---- log ---- */

/* x = 2^e (1 + f), for x positive, finite and normal. */
struct ref_log_parts {
    float e, f;
};

static inline struct ref_log_parts ref_log_reduce(float x) {
    const uint32_t i = ref_bits(x) - (uint32_t)IPEX_LOG_ORIGIN;
    const uint32_t e = (i >> 23) | (i & REF_SIGN ? UINT32_C(0xfffffe00) : 0);
    const uint32_t m = (i & UINT32_C(0x007fffff)) + (uint32_t)IPEX_LOG_ORIGIN;
    return (struct ref_log_parts){(float)(int32_t)e, ref_float(m) - 1.0f};
}

/* (log(1 + f) - f + f^2 / 2) / f^3. */
static inline float ref_log_poly(float f) {
    float q = fmaf(IPEX_LOG_Q8, f, IPEX_LOG_Q7);
    q = fmaf(q, f, IPEX_LOG_Q6);
    q = fmaf(q, f, IPEX_LOG_Q5);
    q = fmaf(q, f, IPEX_LOG_Q4);
    q = fmaf(q, f, IPEX_LOG_Q3);
    q = fmaf(q, f, IPEX_LOG_Q2);
    q = fmaf(q, f, IPEX_LOG_Q1);
    return fmaf(q, f, IPEX_LOG_Q0);
}

/* Of a positive, finite, normal x. */
static inline float ref_log_normal(float x) {
    const struct ref_log_parts l = ref_log_reduce(x);
    const float z = l.f * l.f;
    float low = l.f * z * ref_log_poly(l.f);
    low = fmaf(l.e, IPEX_LOG_LN2_LO, low);
    low = fmaf(-0.5f, z, low);
    return fmaf(l.e, IPEX_LOG_LN2_HI, l.f + low);
}

static inline float ref_log(float x) {
    x = ref_flush(x);
    const float y = 0.0f < x ? ref_log_normal(x) : x < 0.0f ? NAN : -INFINITY;
    return x < INFINITY ? y : x;
}

/* log(w) where w is 1 + x rounded: what rounding lost is put back. */
static inline float ref_log1p(float x) {
    const float w = 1.0f + x, lost = x - (w - 1.0f);
    return ref_log(w) + (0.0f < w && w < INFINITY ? lost / w : 0.0f);
}

static inline float ref_softplus(float x) {
    const float u = ref_exp(-ref_abs(x)); /* (0, 1], or NaN, which the quotient hands on */
    const float w = 1.0f + u, lost = u - (w - 1.0f);
    return ref_max(x, 0.0f) + (ref_log_normal(w) + lost / w);
}

/* ---- sin, cos ---- */

/* sin(x + quarters * pi / 2). */
static inline float ref_sin_shifted(float x, uint32_t quarters) {
    const float limited = ref_clip(x, -IPEX_TRIG_MAX, IPEX_TRIG_MAX);
    const float shifted = fmaf(limited, IPEX_TRIG_2_PI, IPEX_EXP_MAGIC);
    const float n = shifted - IPEX_EXP_MAGIC;
    float r = fmaf(-n, IPEX_TRIG_PI_2_A, limited);
    r = fmaf(-n, IPEX_TRIG_PI_2_B, r);
    r = fmaf(-n, IPEX_TRIG_PI_2_C, r);
    const float z = r * r;
    float s = fmaf(IPEX_SIN_Q3, z, IPEX_SIN_Q2);
    s = fmaf(s, z, IPEX_SIN_Q1);
    s = fmaf(s, z, IPEX_SIN_Q0);
    s = fmaf(r * z, s, r);
    float c = fmaf(IPEX_COS_Q2, z, IPEX_COS_Q1);
    c = fmaf(c, z, IPEX_COS_Q0);
    c = fmaf(z * z, c, fmaf(-0.5f, z, 1.0f));
    const uint32_t i = ref_bits(shifted) + quarters; /* modulo 4: the quadrant */
    const float y = i & 1 ? c : s;
    return ref_float(ref_bits(y) ^ (i & 2) << 30) + (x - x); /* NaN where x is inf or NaN */
}

static inline float ref_sin(float x) {
    return ref_sin_shifted(x, 0);
}

static inline float ref_cos(float x) {
    return ref_sin_shifted(x, 1);
}

/* ---- erf, atan ---- */

static inline float ref_erf(float x) {
    const float t = ref_clip(x, -IPEX_ERF_MAX, IPEX_ERF_MAX), z = t * t;
    float p = fmaf(IPEX_ERF_P5, z, IPEX_ERF_P4);
    p = fmaf(p, z, IPEX_ERF_P3);
    p = fmaf(p, z, IPEX_ERF_P2);
    p = fmaf(p, z, IPEX_ERF_P1);
    p = fmaf(p, z, IPEX_ERF_P0);
    float q = fmaf(IPEX_ERF_Q5, z, IPEX_ERF_Q4);
    q = fmaf(q, z, IPEX_ERF_Q3);
    q = fmaf(q, z, IPEX_ERF_Q2);
    q = fmaf(q, z, IPEX_ERF_Q1);
    q = fmaf(q, z, 1.0f);
    return ref_clip(t * p / q, -1.0f, 1.0f);
}

static inline float ref_atan(float x) {
    const float a = ref_abs(x), t = 1.0f < a ? 1.0f / a : a, z = t * t;
    float q = fmaf(IPEX_ATAN_Q9, z, IPEX_ATAN_Q8);
    q = fmaf(q, z, IPEX_ATAN_Q7);
    q = fmaf(q, z, IPEX_ATAN_Q6);
    q = fmaf(q, z, IPEX_ATAN_Q5);
    q = fmaf(q, z, IPEX_ATAN_Q4);
    q = fmaf(q, z, IPEX_ATAN_Q3);
    q = fmaf(q, z, IPEX_ATAN_Q2);
    q = fmaf(q, z, IPEX_ATAN_Q1);
    q = fmaf(q, z, IPEX_ATAN_Q0);
    const float y = fmaf(t * z, q, t);
    return ref_with_sign(1.0f < a ? IPEX_TRIG_PI_2_A - y : y, x);
}

/* ---- pow ---- */

/* b log(a) = high + low, for a positive, finite and normal. Every difference here gives exactly
 * what the sum before it lost. */
static inline float ref_pow_product(float a, float b, float *ret_low) {
    const struct ref_log_parts l = ref_log_reduce(a);
    const float z = l.f * l.f, z_lost = fmaf(l.f, l.f, -z), e = l.e * IPEX_LOG_LN2_HI;
    const float s = e + l.f, s_lost = l.f - (s - e);
    const float t = s - 0.5f * z, t_lost = -0.5f * z - (t - s);
    float low = l.f * z * ref_log_poly(l.f);
    low = fmaf(l.e, IPEX_LOG_LN2_LO, low);
    low = fmaf(-0.5f, z_lost, low) + (s_lost + t_lost);
    const float high = t + low, high_lost = low - (high - t);
    const float product = b * high;
    *ret_low = fmaf(b, high_lost, fmaf(b, high, -product));
    return product;
}

/* As C's pow, but the signs of zeros and infinities of a negative a, which need an odd integer b.
 */
static inline float ref_pow(float a, float b) {
    const float x = ref_flush(ref_abs(a));
    b = ref_flush(b);
    float low, y = ref_pow_product(x, b, &low);
    y = 0.0f < x ? y : b * -INFINITY;
    y = x < INFINITY ? y : b * x;
    low = ref_abs(y) < IPEX_EXP_MAX ? low : 0.0f;
    const struct ref_exp_parts e = ref_exp_reduce(ref_max(ref_min(y, IPEX_EXP_MAX), IPEX_EXP_MIN));
    float ret = ref_exp_scale(ref_exp_poly(e.r + low), e.n);
    ret = b == 0.0f || x == 1.0f ? 1.0f : ret;
    const float half = 0.5f * b;
    const bool integer = floorf(b) == b, odd = integer && floorf(half) != half;
    ret = odd ? ref_with_sign(ret, a) : ret;
    return a < 0.0f && x < INFINITY && !integer ? NAN : ret;
}

/* ---- activations ---- */

static inline float ref_gelu(float x) {
    const float a = ref_min(ref_abs(x), IPEX_GELU_MAX);
    const struct ref_rounded at = ref_rounded(a, IPEX_GELU_SCALE, IPEX_EXP_MAGIC);
    const uint32_t piece = ref_bits(at.shifted) % 8;
    float tail = ipex_gelu_pieces[6][piece];
    for (int i = 5; i >= 0; i--)
        tail = fmaf(tail, at.rest, ipex_gelu_pieces[i][piece]);
    return fmaf(-a, tail, ref_max(x, 0.0f));
}

static inline float ref_gelu_tanh(float x) {
    const float u = x * fmaf(IPEX_GELU_TANH_K3, x * x, IPEX_GELU_TANH_K1);
    return x / ref_one_plus_exp_neg(u, false);
}

static inline float ref_mish(float x) {
    const float e = ref_exp(ref_min(x, IPEX_MISH_MAX)), n = e * (e + 2.0f);
    return x * (n / (n + 2.0f));
}

static inline float ref_elu(float x, float alpha) {
    return 0.0f < x ? x : alpha * ref_expm1(x);
}

static inline float ref_sign(float x) {
    return 0.0f < x ? 1.0f : x < 0.0f ? -1.0f : ref_flush(x);
}

#endif
