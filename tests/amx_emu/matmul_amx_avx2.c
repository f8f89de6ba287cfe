/* SPDX-License-Identifier: Apache-2.0 */
/* Products of activations and attention at level amx with the vectors of AVX2, for
 * amx_selftest_avx2: kernels/x86/matmul_bf16_avx512.c has them with those of AVX-512. */
#define PRODUCT_BF16
#include "kernels/x86/vec_avx2.h"

#include "kernels/x86/matmul_body.h"

MATMUL_KERNELS(bf16t, amx, amx)
