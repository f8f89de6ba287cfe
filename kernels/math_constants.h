/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of the elementary functions: of the one algorithm that kernels/ref/functions_ref.h
 * specifies and kernels/x86/vec_functions.h repeats vector by vector. Polynomials are minimax fits,
 * coefficients rounded to f32 from the lowest up and the rest fitted again.
 *
 * exp(x) = 2^n (1 + r + r^2 q(r)), n = round(x / ln 2), r = x - n ln 2 with ln 2 in two parts (Cody
 * and Waite). q fits (e^r - 1 - r) / r^2 on |r| <= 1.003 ln 2 / 2: minimax, coefficients rounded to
 * f32 from the lowest up and the rest fitted again; its share of the error is 0.05 ULP. 2^n is
 * applied as by two factors, so that n = 128 and results below 2^-126 (then flushed to 0) need no
 * special case.
 *
 * The weights of softmax and attention, e^x for x <= 0, take fewer operations: 2^n 2^(k/8) 2^r, n +
 * k/8 = x log2 e rounded to eighths, the second from a table of eight, which one instruction looks
 * up, and 2^r, |r| <= 1/16, a minimax polynomial of degree 3 with p(0) = 1 (0.2 ULP). r has one
 * part: its error is that of log2 e in f32, 1.3e-8 |x|, which matters to no sum that holds e^0. 2^n
 * is added to the exponent of the table's value; the result is 0 from n = -127 on.
 *
 * sigmoid(x) = 1 / (1 + e^-x): e^-x in the same way, but log2 e in two parts. It may be taken as 0
 * below 2^-126 and as inf from 2^128 on, and one fma makes the sum. silu(x) = x / (1 + e^-x) with
 * one part, for where that shows, e^-x is large and the result small beside x.
 *
 * tanh(|x|) = t / (t + 2), t = e^(2 |x|) - 1 = 2^n p + (2^n - 1) as expm1 below, with one part of
 * ln 2: the quotient depends the less on t the larger n is. The sign of x is put back.
 *
 * log(x) = e ln 2 + f - f^2/2 + f^3 q(f), x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); q's share
 * of the error is 0.01 ULP. log1p(x) = log(w) + (x - (w - 1)) / w, w = 1 + x rounded: the second
 * term is what rounding lost. expm1 is exp before 1 is added: 2^n p + (2^n - 1), -1 from
 * IPEX_EXPM1_MIN down; elu, which takes only these x and those up to 0, then needs one factor.
 * softplus(x) = max(x, 0) + log1p(exp(-|x|)).
 * sin, cos: x = n pi/2 + r, pi/2 in three parts, |r| <= 0.85; sin r = r + r^3 s(r^2), cos r = 1 -
 * r^2/2 + r^4 c(r^2) (0.005 ULP). Beyond IPEX_TRIG_MAX the result is that of IPEX_TRIG_MAX.
 * erf(x) = x p(x^2) / q(x^2) on |x| <= 3.95, where it has become 1 (0.35 ULP; all coefficients are
 * positive). gelu(x) = max(x, 0) - |x| Q(|x|), Q the normal distribution's upper tail: polynomials
 * of degree 6 in r on eight pieces, |x| 19/16 = n + r, |r| <= 1/2 (2e-8; piece 7 is 0), whose
 * coefficients the same instruction looks up. gelu_tanh(x) = x / (1 + e^-u), u = x (K1 + K3 x^2),
 * K1 = 2 sqrt(2/pi), K3 = 0.044715 K1; mish(x) = x n / (n + 2), n = e^x (e^x + 2). atan(x) = x +
 * x^3 q(x^2) on [0, 1] (0.01 ULP), pi/2 - atan(1/x) above. pow(a, b) = exp(b log|a|) with log|a|
 * and the product in two floats each.
 *
 * Errors stay below, in ULP of the result: exp 1.1, weights 2.3 + |x| / 4, sigmoid 3, tanh 3, expm1
 * and elu 1.5, log 1, log1p 2, softplus 2.5, sin and cos 2 (up to IPEX_TRIG_MAX), erf 7, atan 2.5,
 * mish 4.5, pow 20; in ULP of the argument: gelu and silu 1.5, gelu_tanh 2. gelu(-inf) is its
 * limit, 0. tests/checkkern/check_math.c measures them. */
#ifndef IPEX_KERNELS_MATH_CONSTANTS_H
#define IPEX_KERNELS_MATH_CONSTANTS_H

#include <stdint.h>

#define IPEX_EXP_LOG2E  0x1.715476p+0f
#define IPEX_EXP_LN2_HI 0x1.62e430p-1f
#define IPEX_EXP_LN2_LO -0x1.05c610p-29f
/* 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits. */
#define IPEX_EXP_MAGIC 12582912.0f
/* Beyond these every result is inf or 0; they keep n in the range of the two factors. */
#define IPEX_EXP_MAX 100.0f
#define IPEX_EXP_MIN -105.0f
#define IPEX_EXP_Q0  0x1.fffffcp-2f
#define IPEX_EXP_Q1  0x1.555492p-3f
#define IPEX_EXP_Q2  0x1.5558bep-5f
#define IPEX_EXP_Q3  0x1.1239ecp-7f
#define IPEX_EXP_Q4  0x1.6a3ffcp-10f

/* IPEX_EXP_MAGIC + 127: the integer stands there as the exponent of a float. At the bounds that is
 * 255, inf, and 0. */
#define IPEX_EXPONENT_MAGIC 12583039.0f
#define IPEX_EXPM1_MIN      -80.0f

/* 1.5 * 2^20: adding it rounds to eighths; 8 n + k then stands in the low bits. */
#define IPEX_EIGHTHS_MAGIC 1572864.0f
/* The bits of 2^(k/8), less those that k leaves in 8 n + k where that is shifted to n's place. */
static const uint32_t ipex_exp2_eighths[8] = {
    0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7, 0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7,
};
#define IPEX_EXP2_P1  0x1.62e430p-1f
#define IPEX_EXP2_P2  0x1.ec0c2cp-3f
#define IPEX_EXP2_P3  0x1.c6ba64p-5f
#define IPEX_LOG2E_LO 0x1.4ae0c0p-26f

/* Here n is -127 and k 0. */
#define IPEX_WEIGHT_MIN -88.0f
/* ... and here, and where n is 128 and k 0. */
#define IPEX_SIGMOID_MAX 88.0f
#define IPEX_SIGMOID_MIN -88.72f

#define IPEX_TANH_MAX 20.0f /* of 2 |x|: t / (t + 2) is 1 */

/* The bits of sqrt(1/2): what is above them, in the exponent's place, is e. */
#define IPEX_LOG_ORIGIN 0x3f3504f3
/* ln 2 with 15 bits, so that e times it is exact, and the rest. */
#define IPEX_LOG_LN2_HI 0x1.62e4p-1f
#define IPEX_LOG_LN2_LO 0x1.7f7d1cp-20f
#define IPEX_LOG_Q0     0x1.555548p-2f
#define IPEX_LOG_Q1     -0x1.000006p-2f
#define IPEX_LOG_Q2     0x1.99a476p-3f
#define IPEX_LOG_Q3     -0x1.555c46p-3f
#define IPEX_LOG_Q4     0x1.233ba8p-3f
#define IPEX_LOG_Q5     -0x1.fc2886p-4f
#define IPEX_LOG_Q6     0x1.e6bf3cp-4f
#define IPEX_LOG_Q7     -0x1.de02c2p-4f
#define IPEX_LOG_Q8     0x1.14760ep-4f

#define IPEX_TRIG_MAX    0x1p20f
#define IPEX_TRIG_2_PI   0x1.45f306p-1f /* 2 / pi */
#define IPEX_TRIG_PI_2_A 0x1.921fb6p+0f /* pi / 2 */
#define IPEX_TRIG_PI_2_B -0x1.777a5cp-25f
#define IPEX_TRIG_PI_2_C -0x1.ee59dap-50f
#define IPEX_SIN_Q0      -0x1.555556p-3f
#define IPEX_SIN_Q1      0x1.111162p-7f
#define IPEX_SIN_Q2      -0x1.a042d2p-13f
#define IPEX_SIN_Q3      0x1.75bb66p-19f
#define IPEX_COS_Q0      0x1.555544p-5f
#define IPEX_COS_Q1      -0x1.6c089cp-10f
#define IPEX_COS_Q2      0x1.98ef10p-16f

/* Just below 3.95; here the quotient, with its rounding errors, is not below 1. */
#define IPEX_ERF_MAX 0x1.f99996p+1f
#define IPEX_ERF_P0  0x1.20dd74p+0f
#define IPEX_ERF_P1  0x1.884828p-3f
#define IPEX_ERF_P2  0x1.b125c2p-5f
#define IPEX_ERF_P3  0x1.f31a12p-9f
#define IPEX_ERF_P4  0x1.2a809ap-12f
#define IPEX_ERF_P5  0x1.0fe87cp-19f
#define IPEX_ERF_Q1  0x1.01943ap-1f
#define IPEX_ERF_Q2  0x1.d5398cp-4f
#define IPEX_ERF_Q3  0x1.ed4dfap-7f
#define IPEX_ERF_Q4  0x1.32e018p-10f
#define IPEX_ERF_Q5  0x1.3d58dap-15f

#define IPEX_GELU_SCALE 1.1875f
#define IPEX_GELU_MAX   0x1.79435ep+2f /* 7 / IPEX_GELU_SCALE */
/* Of r^0 to r^6, piece by piece. */
static const float ipex_gelu_pieces[7][8] = {
    {0x1.000000p-1f, 0x1.995292p-3f, 0x1.7968d4p-5f, 0x1.79b3fcp-8f, 0x1.8c5cb6p-12f,
     0x1.ab7118p-17f, 0x1.d3deeep-23f, 0.0f},
    {-0x1.5803a8p-2f, -0x1.e2a28ep-3f, -0x1.4d2f3ep-4f, -0x1.c4b854p-7f, -0x1.2eb266p-10f,
     -0x1.8e6dd0p-15f, -0x1.0237c4p-20f, 0.0f},
    {0x1.0bac02p-19f, 0x1.56412ap-4f, 0x1.d88d0ep-5f, 0x1.e19116p-7f, 0x1.ad4da0p-10f,
     0x1.612286p-14f, 0x1.128f72p-19f, 0.0f},
    {0x1.4511d4p-5f, 0x1.09bc3cp-7f, -0x1.2136e0p-6f, -0x1.2020a0p-7f, -0x1.72208ep-10f,
     -0x1.8887eep-14f, -0x1.71c06ap-19f, 0.0f},
    {0x1.2ab5e2p-13f, -0x1.727a46p-7f, -0x1.266a9ep-11f, 0x1.811c7cp-9f, 0x1.a7b472p-11f,
     0x1.32e38ap-14f, 0x1.6a815ap-19f, 0.0f},
    {-0x1.301110p-8f, 0x1.618b6ap-11f, 0x1.0608c0p-9f, -0x1.27706cp-12f, -0x1.43b322p-12f,
     -0x1.746356p-15f, -0x1.301822p-19f, 0.0f},
    {0x1.3dbdacp-11f, 0x1.f15286p-11f, -0x1.a68b50p-12f, -0x1.64feaap-13f, 0x1.184398p-14f,
     0x1.35f8f4p-16f, 0x1.5a4630p-20f, 0.0f},
};
#define IPEX_GELU_TANH_K1 0x1.988454p+0f
#define IPEX_GELU_TANH_K3 0x1.2444f2p-4f
#define IPEX_MISH_MAX     20.0f /* from here on n / (n + 2) is 1 */

#define IPEX_ATAN_Q0 -0x1.555552p-2f
#define IPEX_ATAN_Q1 0x1.99981cp-3f
#define IPEX_ATAN_Q2 -0x1.247620p-3f
#define IPEX_ATAN_Q3 0x1.c51170p-4f
#define IPEX_ATAN_Q4 -0x1.6953bcp-4f
#define IPEX_ATAN_Q5 0x1.150a00p-4f
#define IPEX_ATAN_Q6 -0x1.7080bap-5f
#define IPEX_ATAN_Q7 0x1.753040p-6f
#define IPEX_ATAN_Q8 -0x1.e6a0ecp-8f
#define IPEX_ATAN_Q9 0x1.29687ep-10f

#endif
