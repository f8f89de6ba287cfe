/* SPDX-License-Identifier: Apache-2.0 */
/* exp, sigmoid, tanh: the constants of the one algorithm, which kernels/ref/math_ref.h specifies
 * and kernels/x86/vec_math.h repeats on vectors.
 *
 * exp(x) = 2^n (1 + r + r^2 q(r)), n = round(x / ln 2), r = x - n ln 2 with ln 2 in two parts (Cody
 * and Waite). q fits (e^r - 1 - r) / r^2 on |r| <= 1.003 ln 2 / 2: minimax, coefficients rounded to
 * f32 from the lowest up and the rest fitted again; its share of the error is 0.05 ULP. 2^n is
 * applied in two factors, so that n = 128 and results below 2^-126 (then flushed to 0) need no
 * special case.
 *
 * sigmoid(x) = 1 / (1 + e) for x >= 0, e / (1 + e) for x < 0, with e = exp(-|x|).
 *
 * tanh(|x|) = |x| + |x|^3 q(x^2) below 0.625, where q fits (tanh(x) - x) / x^3 in the same way
 * (0.08 ULP), and 1 - 2 / (exp(2 |x|) + 1) from there on; the sign of x is put back.
 *
 * Largest errors on a fifth of all floats (checkkern --floats 5): exp 1.02 ULP, sigmoid 2.37 ULP,
 * tanh 1.34 ULP. The tests hold them to 1.1, 2.5 and 2.0. */
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

#define IPEX_TANH_SMALL 0.625f
#define IPEX_TANH_Q0    -0x1.555532p-2f
#define IPEX_TANH_Q1    0x1.1106f6p-3f
#define IPEX_TANH_Q2    -0x1.b835a4p-5f
#define IPEX_TANH_Q3    0x1.51f8cep-6f
#define IPEX_TANH_Q4    -0x1.750ce2p-8f

#endif
