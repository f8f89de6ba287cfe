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
 * The weights of softmax and attention, e^x for x <= 0, take fewer operations and no second part of
 * ln 2: 2^n / 2^r, n = round(x log2 e), r = n - x log2 e in one fma, whose error is that of log2 e
 * in f32, 1.3e-8 |x|, which matters to no sum that holds e^0. 2^-r is a minimax polynomial with
 * p(0) = 1 (0.8 ULP at 1). 2^n is made in place, 0 from n = -127 on.
 *
 * sigmoid(x) = 1 / (1 + e^-x), silu(x) = x / (1 + e^-x), where one fma makes the sum: e^-x is 2^n
 * times the polynomial, and may be taken as 0 below 2^-127 and as inf above 2^127.5, so that 2^n
 * needs no second factor.
 *
 * tanh(|x|) = |x| + |x|^3 q(x^2) below 0.625, where q fits (tanh(x) - x) / x^3 in the same way
 * (0.08 ULP), and 1 - 2 / (1 + e^(2 |x|)) from there on; the sign of x is put back.
 *
 * log(x) = e ln 2 + f - f^2/2 + f^3 q(f), x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); q's share
 * of the error is 0.01 ULP. log1p(x) = log(w) + (x - (w - 1)) / w, w = 1 + x rounded: the second
 * term is what rounding lost. expm1 is exp before 1 is added: 2^n p + (2^n - 1), -1 from
 * IPEX_EXPM1_MIN down; elu, which takes only these x and those up to 0, then needs one factor.
 * softplus(x) = max(x, 0) + log1p(exp(-|x|)).
 * sin, cos: x = n pi/2 + r, pi/2 in three parts, |r| <= 0.85; sin r = r + r^3 s(r^2), cos r = 1 -
 * r^2/2 + r^4 c(r^2) (0.005 ULP). Beyond IPEX_TRIG_MAX the result is that of IPEX_TRIG_MAX.
 * erf(x) = x p(x^2) / q(x^2) on |x| <= 3.95, where it has become 1 (0.35 ULP; all coefficients are
 * positive). gelu(x) = x/2 (1 + erf(x sqrt(1/2))); gelu_tanh(x) = x / (1 + e^-u), u = x (K1 + K3
 * x^2), K1 = 2 sqrt(2/pi), K3 = 0.044715 K1; mish(x) = x n / (n + 2), n = e^x (e^x + 2).
 * atan(x) = x + x^3 q(x^2) on [0, 1] (0.01 ULP), pi/2 - atan(1/x) above.
 * pow(a, b) = exp(b log|a|) with log|a| and the product in two floats each.
 *
 * Errors stay below, in ULP of the result: exp 1.1, weights 2.3 + |x| / 4, sigmoid 2.5, tanh 2,
 * expm1 and elu 1.5, log 1, log1p 2, softplus 2.5, sin and cos 2 (up to IPEX_TRIG_MAX), erf 7,
 * atan 2.5, mish 4.5, pow 20; in ULP of the argument: gelu 2.5, gelu_tanh 4.
 * tests/checkkern/check_math.c measures them. */
#ifndef IPEX_KERNELS_MATH_CONSTANTS_H
#define IPEX_KERNELS_MATH_CONSTANTS_H

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
#define IPEX_SIGMOID_MIN    -89.0f
#define IPEX_SIGMOID_MAX    88.0f

/* Here n is -127. */
#define IPEX_WEIGHT_MIN -88.0f
#define IPEX_WEIGHT_P1  -0x1.62e42ap-1f
#define IPEX_WEIGHT_P2  0x1.ebf9c2p-3f
#define IPEX_WEIGHT_P3  -0x1.c6b6d8p-5f
#define IPEX_WEIGHT_P4  0x1.3ce8acp-7f
#define IPEX_WEIGHT_P5  -0x1.5bda3ep-10f

#define IPEX_TANH_SMALL 0.625f
#define IPEX_TANH_Q0    -0x1.555532p-2f
#define IPEX_TANH_Q1    0x1.1106f6p-3f
#define IPEX_TANH_Q2    -0x1.b835a4p-5f
#define IPEX_TANH_Q3    0x1.51f8cep-6f
#define IPEX_TANH_Q4    -0x1.750ce2p-8f

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

#define IPEX_SQRT_HALF    0x1.6a09e6p-1f
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
