/* SPDX-License-Identifier: Apache-2.0 */
/* What one product instruction of AMX computes, element by element from the manual's text and
 * independent of tests/amx_emu: integers and doubles only, no FMA, no MXCSR. */
#ifndef AMX_MODEL_H
#define AMX_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/* a * b + c rounded once to f32, nearest even, with denormal operands and results zero. */
float amx_model_fma(float a, float b, float c);

/* tdpbf16ps for one element of c: `pairs` pairs of bf16 of a row of A and of a column of B, one
 * above the other in 32 bits, the even k below. b_stride: words from one k pair of B to the next.
 */
float amx_model_bf16(float c, const uint32_t *a, const uint32_t *b, int64_t b_stride, int pairs);

/* tdpb[su][su]d for one element: `fours` fours of bytes. */
int32_t amx_model_i8(int32_t c, const uint32_t *a, const uint32_t *b, int64_t b_stride, int fours,
                     bool a_signed, bool b_signed);

/* One element of a product of any size as kernels cut it: for blocks of `k_block` k (even, at most
 * 32), ascending, what tdpbf16ps does; behind k both sides are +0 to the end of its block. */
float amx_model_chain(float c, const uint16_t *a, const uint16_t *b, int64_t k, int64_t k_block);

#endif
