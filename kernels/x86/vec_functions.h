/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/functions_ref.h on vectors: the same operations in the same order, so the same bits.
 * Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_VEC_FUNCTIONS_H
#define IPEX_KERNELS_X86_VEC_FUNCTIONS_H

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

static inline vec vec_abs(vec x) {
    return vec_float(vec_and(vec_bits(x), vec_int_set(INT32_MAX)));
}

static inline vec vec_neg(vec x) {
    return vec_float(vec_xor(vec_bits(x), vec_int_set(INT32_MIN)));
}

/* |x| with the sign of s. */
static inline vec vec_with_sign(vec x, vec s) {
    return vec_float(vec_or(vec_bits(x), vec_and(vec_bits(s), vec_int_set(INT32_MIN))));
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

/* p <- p x + constant. */
#define VEC_STEP(p, x, constant) p = vec_fma(p, x, vec_set(constant))

/* ---- exp ---- */

/* x * factor = n + rest, n rounded as `magic` has it, which then stands in the low bits of
 * `shifted`. */
struct vec_rounded {
    vec shifted, rest;
};

static inline struct vec_rounded vec_rounded(vec x, float factor, float magic) {
    const vec f = vec_set(factor), m = vec_set(magic), shifted = vec_fma(x, f, m);
    return (struct vec_rounded){shifted, vec_fma(x, f, vec_sub(m, shifted))};
}

struct vec_exp_parts {
    vec r, n;
};

static inline struct vec_exp_parts vec_exp_reduce(vec x) {
    const vec magic = vec_set(IPEX_EXP_MAGIC);
    const vec shifted = vec_fma(x, vec_set(IPEX_EXP_LOG2E), magic);
    const vec n = vec_sub(shifted, magic);
    const vec r = vec_fnma(n, vec_set(IPEX_EXP_LN2_HI), x);
    return (struct vec_exp_parts){vec_fnma(n, vec_set(IPEX_EXP_LN2_LO), r), n};
}

static inline vec vec_exp_q(vec r) {
    vec q = vec_fma(vec_set(IPEX_EXP_Q4), r, vec_set(IPEX_EXP_Q3));
    VEC_STEP(q, r, IPEX_EXP_Q2);
    VEC_STEP(q, r, IPEX_EXP_Q1);
    return vec_fma(q, r, vec_set(IPEX_EXP_Q0));
}

static inline vec vec_exp_poly(vec r) {
    const vec one = vec_set(1.0f);
    return vec_fma(vec_fma(vec_exp_q(r), r, one), r, one);
}

static inline vec vec_expm1_poly(vec r) {
    return vec_fma(vec_mul(r, r), vec_exp_q(r), r);
}

static inline vec vec_power_of_2(vec_int n) {
    return vec_float(vec_int_to_exponent(vec_int_add(n, vec_int_set(127))));
}

static inline vec vec_exp_limit(vec x) {
    return vec_max(vec_set(IPEX_EXP_MIN), vec_min(vec_set(IPEX_EXP_MAX), x));
}

static inline vec vec_exp(vec x) {
    const struct vec_exp_parts e = vec_exp_reduce(vec_exp_limit(x));
    return vec_scale(vec_exp_poly(e.r), e.n);
}

static inline vec vec_exp2_poly(vec r) {
    vec p = vec_fma(vec_set(IPEX_EXP2_P3), r, vec_set(IPEX_EXP2_P2));
    VEC_STEP(p, r, IPEX_EXP2_P1);
    return vec_fma(p, r, vec_set(1.0f));
}

static inline vec vec_eighths(vec shifted) {
    const vec_int i = vec_bits(shifted),
                  of_k = vec_bits(vec_permute(vec_eight(ipex_exp2_eighths), i));
    return vec_float(vec_int_add(of_k, vec_int_eighths_to_exponent(i)));
}

static inline vec vec_weight(vec x) {
    const vec t = vec_max(vec_set(IPEX_WEIGHT_MIN), x);
    const struct vec_rounded e = vec_rounded(t, IPEX_EXP_LOG2E, IPEX_EIGHTHS_MAGIC);
    return vec_mul(vec_exp2_poly(e.rest), vec_eighths(e.shifted));
}

static inline vec vec_expm1(vec x) {
    const struct vec_exp_parts e = vec_exp_reduce(vec_exp_limit(x));
    const vec_int n = vec_int_round(e.n), half = vec_int_half(n), rest = vec_int_sub(n, half);
    const vec one = vec_power_of_2(vec_int_sub(vec_int_set(0), rest));
    const vec scale = vec_power_of_2(half);
    return vec_mul(vec_fma(scale, vec_expm1_poly(e.r), vec_sub(scale, one)), vec_power_of_2(rest));
}

static inline vec vec_one_plus_exp_neg(vec x, bool both) {
    const vec t = vec_clip(x, vec_set(IPEX_SIGMOID_MIN), vec_set(IPEX_SIGMOID_MAX));
    const struct vec_rounded e = vec_rounded(t, -IPEX_EXP_LOG2E, IPEX_EIGHTHS_MAGIC);
    const vec r = both ? vec_fma(t, vec_set(-IPEX_LOG2E_LO), e.rest) : e.rest;
    return vec_fma(vec_exp2_poly(r), vec_eighths(e.shifted), vec_set(1.0f));
}

static inline vec vec_sigmoid(vec x) {
    return vec_div(vec_set(1.0f), vec_one_plus_exp_neg(x, true));
}

static inline vec vec_silu(vec x) {
    return vec_div(x, vec_one_plus_exp_neg(x, false));
}

/* e^x - 1 where 2^n needs no second factor: vec_expm1 in two thirds of its operations. `both`: ln 2
 * in two parts. */
static inline vec vec_expm1_limited(vec x, bool both) {
    const vec magic = vec_set(IPEX_EXPONENT_MAGIC);
    const vec shifted = vec_fma(x, vec_set(IPEX_EXP_LOG2E), magic);
    const vec n = vec_sub(shifted, magic);
    const vec high = vec_fnma(n, vec_set(IPEX_EXP_LN2_HI), x);
    const vec r = both ? vec_fnma(n, vec_set(IPEX_EXP_LN2_LO), high) : high;
    const vec scale = vec_float(vec_int_to_exponent(vec_bits(shifted)));
    return vec_fma(scale, vec_expm1_poly(r), vec_sub(scale, vec_set(1.0f)));
}

static inline vec vec_tanh(vec x) {
    const vec a = vec_abs(x), d = vec_min(vec_set(IPEX_TANH_MAX), vec_add(a, a));
    const vec t = vec_expm1_limited(d, false);
    return vec_with_sign(vec_div(t, vec_add(t, vec_set(2.0f))), x);
}

/* ---- log ---- */

struct vec_log_parts {
    vec e, f;
};

static inline struct vec_log_parts vec_log_reduce(vec x) {
    const vec_int origin = vec_int_set(IPEX_LOG_ORIGIN), i = vec_int_sub(vec_bits(x), origin);
    const vec_int m = vec_int_add(vec_and(i, vec_int_set(0x007fffff)), origin);
    return (struct vec_log_parts){vec_from_int(vec_int_from_exponent(i)),
                                  vec_sub(vec_float(m), vec_set(1.0f))};
}

static inline vec vec_log_poly(vec f) {
    vec q = vec_fma(vec_set(IPEX_LOG_Q8), f, vec_set(IPEX_LOG_Q7));
    VEC_STEP(q, f, IPEX_LOG_Q6);
    VEC_STEP(q, f, IPEX_LOG_Q5);
    VEC_STEP(q, f, IPEX_LOG_Q4);
    VEC_STEP(q, f, IPEX_LOG_Q3);
    VEC_STEP(q, f, IPEX_LOG_Q2);
    VEC_STEP(q, f, IPEX_LOG_Q1);
    return vec_fma(q, f, vec_set(IPEX_LOG_Q0));
}

static inline vec vec_log_normal(vec x) {
    const struct vec_log_parts l = vec_log_reduce(x);
    const vec z = vec_mul(l.f, l.f);
    vec low = vec_mul(vec_mul(l.f, z), vec_log_poly(l.f));
    low = vec_fma(l.e, vec_set(IPEX_LOG_LN2_LO), low);
    low = vec_fma(vec_set(-0.5f), z, low);
    return vec_fma(l.e, vec_set(IPEX_LOG_LN2_HI), vec_add(l.f, low));
}

static inline vec vec_log(vec x) {
    const vec zero = vec_set(0.0f), infinite = vec_set(__builtin_inff());
    x = vec_flush(x);
    const vec pole = vec_select(vec_less(x, zero), vec_set(__builtin_nanf("")), vec_neg(infinite));
    const vec y = vec_select(vec_less(zero, x), vec_log_normal(x), pole);
    return vec_select(vec_less(x, infinite), y, x);
}

static inline vec vec_log1p(vec x) {
    const vec one = vec_set(1.0f), zero = vec_set(0.0f);
    const vec w = vec_add(one, x), lost = vec_div(vec_sub(x, vec_sub(w, one)), w);
    const vec back = vec_select(vec_less(w, vec_set(__builtin_inff())), lost, zero);
    return vec_add(vec_log(w), vec_select(vec_less(zero, w), back, zero));
}

static inline vec vec_softplus(vec x) {
    const vec one = vec_set(1.0f), u = vec_exp(vec_neg(vec_abs(x)));
    const vec w = vec_add(one, u), lost = vec_div(vec_sub(u, vec_sub(w, one)), w);
    return vec_add(vec_max(vec_set(0.0f), x), vec_add(vec_log_normal(w), lost));
}

/* ---- sin, cos ---- */

static inline vec vec_sin_shifted(vec x, int32_t quarters) {
    const vec magic = vec_set(IPEX_EXP_MAGIC), most = vec_set(IPEX_TRIG_MAX);
    const vec limited = vec_clip(x, vec_neg(most), most);
    const vec shifted = vec_fma(limited, vec_set(IPEX_TRIG_2_PI), magic);
    const vec n = vec_sub(shifted, magic);
    vec r = vec_fnma(n, vec_set(IPEX_TRIG_PI_2_A), limited);
    r = vec_fnma(n, vec_set(IPEX_TRIG_PI_2_B), r);
    r = vec_fnma(n, vec_set(IPEX_TRIG_PI_2_C), r);
    const vec z = vec_mul(r, r);
    vec s = vec_fma(vec_set(IPEX_SIN_Q3), z, vec_set(IPEX_SIN_Q2));
    VEC_STEP(s, z, IPEX_SIN_Q1);
    VEC_STEP(s, z, IPEX_SIN_Q0);
    s = vec_fma(vec_mul(r, z), s, r);
    vec c = vec_fma(vec_set(IPEX_COS_Q2), z, vec_set(IPEX_COS_Q1));
    VEC_STEP(c, z, IPEX_COS_Q0);
    c = vec_fma(vec_mul(z, z), c, vec_fma(vec_set(-0.5f), z, vec_set(1.0f)));
    const vec_int i = vec_int_add(vec_bits(shifted), vec_int_set(quarters));
    const vec y = vec_select(vec_int_negative(vec_int_to_sign(i)), c, s);
    const vec turned = vec_float(vec_xor(vec_bits(y), vec_int_to_sign(vec_int_half(i))));
    return vec_add(turned, vec_sub(x, x));
}

static inline vec vec_sin(vec x) {
    return vec_sin_shifted(x, 0);
}

static inline vec vec_cos(vec x) {
    return vec_sin_shifted(x, 1);
}

/* ---- erf, atan ---- */

static inline vec vec_erf(vec x) {
    const vec one = vec_set(1.0f), most = vec_set(IPEX_ERF_MAX);
    const vec t = vec_clip(x, vec_neg(most), most), z = vec_mul(t, t);
    vec p = vec_fma(vec_set(IPEX_ERF_P5), z, vec_set(IPEX_ERF_P4));
    VEC_STEP(p, z, IPEX_ERF_P3);
    VEC_STEP(p, z, IPEX_ERF_P2);
    VEC_STEP(p, z, IPEX_ERF_P1);
    VEC_STEP(p, z, IPEX_ERF_P0);
    vec q = vec_fma(vec_set(IPEX_ERF_Q5), z, vec_set(IPEX_ERF_Q4));
    VEC_STEP(q, z, IPEX_ERF_Q3);
    VEC_STEP(q, z, IPEX_ERF_Q2);
    VEC_STEP(q, z, IPEX_ERF_Q1);
    q = vec_fma(q, z, one);
    return vec_clip(vec_div(vec_mul(t, p), q), vec_neg(one), one);
}

static inline vec vec_atan(vec x) {
    const vec one = vec_set(1.0f), a = vec_abs(x);
    const vec_mask large = vec_less(one, a);
    const vec t = vec_select(large, vec_div(one, a), a), z = vec_mul(t, t);
    vec q = vec_fma(vec_set(IPEX_ATAN_Q9), z, vec_set(IPEX_ATAN_Q8));
    VEC_STEP(q, z, IPEX_ATAN_Q7);
    VEC_STEP(q, z, IPEX_ATAN_Q6);
    VEC_STEP(q, z, IPEX_ATAN_Q5);
    VEC_STEP(q, z, IPEX_ATAN_Q4);
    VEC_STEP(q, z, IPEX_ATAN_Q3);
    VEC_STEP(q, z, IPEX_ATAN_Q2);
    VEC_STEP(q, z, IPEX_ATAN_Q1);
    VEC_STEP(q, z, IPEX_ATAN_Q0);
    const vec y = vec_fma(vec_mul(t, z), q, t);
    return vec_with_sign(vec_select(large, vec_sub(vec_set(IPEX_TRIG_PI_2_A), y), y), x);
}

/* ---- pow ---- */

static inline vec vec_pow_product(vec a, vec b, vec *ret_low) {
    const vec half = vec_set(0.5f);
    const struct vec_log_parts l = vec_log_reduce(a);
    const vec z = vec_mul(l.f, l.f), z_lost = vec_fma(l.f, l.f, vec_neg(z));
    const vec e = vec_mul(l.e, vec_set(IPEX_LOG_LN2_HI));
    const vec s = vec_add(e, l.f), s_lost = vec_sub(l.f, vec_sub(s, e));
    const vec t = vec_sub(s, vec_mul(half, z));
    const vec t_lost = vec_sub(vec_mul(vec_neg(half), z), vec_sub(t, s));
    vec low = vec_mul(vec_mul(l.f, z), vec_log_poly(l.f));
    low = vec_fma(l.e, vec_set(IPEX_LOG_LN2_LO), low);
    low = vec_add(vec_fma(vec_neg(half), z_lost, low), vec_add(s_lost, t_lost));
    const vec high = vec_add(t, low), high_lost = vec_sub(low, vec_sub(high, t));
    const vec product = vec_mul(b, high);
    *ret_low = vec_fma(b, high_lost, vec_fma(b, high, vec_neg(product)));
    return product;
}

static inline vec vec_pow(vec a, vec b) {
    const vec zero = vec_set(0.0f), one = vec_set(1.0f), infinite = vec_set(__builtin_inff());
    const vec x = vec_flush(vec_abs(a));
    b = vec_flush(b);
    vec low, y = vec_pow_product(x, b, &low);
    y = vec_select(vec_less(zero, x), y, vec_mul(b, vec_neg(infinite)));
    y = vec_select(vec_less(x, infinite), y, vec_mul(b, x));
    low = vec_select(vec_less(vec_abs(y), vec_set(IPEX_EXP_MAX)), low, zero);
    const struct vec_exp_parts e = vec_exp_reduce(vec_exp_limit(y));
    vec ret = vec_scale(vec_exp_poly(vec_add(e.r, low)), e.n);
    ret = vec_select(vec_equal(b, zero), one, vec_select(vec_equal(x, one), one, ret));
    const vec half = vec_mul(vec_set(0.5f), b);
    const vec_mask integer = vec_equal(vec_floor(b), b), even = vec_equal(vec_floor(half), half);
    const vec signed_ = vec_select(even, ret, vec_with_sign(ret, a));
    const vec nan = vec_select(vec_less(x, infinite), vec_set(__builtin_nanf("")), ret);
    return vec_select(integer, signed_, vec_select(vec_less(a, zero), nan, ret));
}

/* ---- activations ---- */

static inline vec vec_gelu(vec x) {
    const vec a = vec_min(vec_set(IPEX_GELU_MAX), vec_abs(x));
    const struct vec_rounded at = vec_rounded(a, IPEX_GELU_SCALE, IPEX_EXP_MAGIC);
    const vec_int piece = vec_bits(at.shifted);
    vec tail = vec_permute(vec_eight(ipex_gelu_pieces[6]), piece);
#pragma GCC unroll 6
    for (int i = 5; i >= 0; i--)
        tail = vec_fma(tail, at.rest, vec_permute(vec_eight(ipex_gelu_pieces[i]), piece));
    return vec_fnma(a, tail, vec_max(vec_set(0.0f), x));
}

static inline vec vec_gelu_tanh(vec x) {
    const vec k1 = vec_set(IPEX_GELU_TANH_K1), k3 = vec_set(IPEX_GELU_TANH_K3);
    const vec u = vec_mul(x, vec_fma(k3, vec_mul(x, x), k1));
    return vec_div(x, vec_one_plus_exp_neg(u, false));
}

static inline vec vec_mish(vec x) {
    const vec two = vec_set(2.0f), e = vec_exp(vec_min(vec_set(IPEX_MISH_MAX), x));
    const vec n = vec_mul(e, vec_add(e, two));
    return vec_mul(x, vec_div(n, vec_add(n, two)));
}

/* From IPEX_EXPM1_MIN down e^x - 1 is -1. */
static inline vec vec_elu(vec x, vec alpha) {
    const vec e = vec_expm1_limited(vec_max(vec_set(IPEX_EXPM1_MIN), x), true);
    return vec_select(vec_less(vec_set(0.0f), x), x, vec_mul(alpha, e));
}

static inline vec vec_sign(vec x) {
    const vec zero = vec_set(0.0f), one = vec_set(1.0f);
    const vec below = vec_select(vec_less(x, zero), vec_neg(one), vec_flush(x));
    return vec_select(vec_less(zero, x), one, below);
}

#endif
