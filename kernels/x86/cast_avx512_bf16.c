/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/x86/vec_avx512.h"

#define CAST_LEVEL(slot) ipex_k_##slot##__avx512_bf16
#define CAST_BF16(v)     (__m256i) _mm512_cvtneps_pbh(v)
#include "kernels/x86/cast_body.h"
