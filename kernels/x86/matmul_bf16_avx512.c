/* SPDX-License-Identifier: Apache-2.0 */
/* Products of activations and attention on bf16 with AVX-512: kernels/x86/matmul_body.h on its
 * vectors, around the convolution of every level that has one. */
#define PRODUCT_BF16
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/matmul_body.h"

MATMUL_KERNELS(bf16, avx512, avx512)
MATMUL_KERNELS(bf16, avx512_bf16, avx512_bf16)
MATMUL_KERNELS(bf16t, avx512, avx512)
MATMUL_KERNELS(bf16t, amx, amx)
