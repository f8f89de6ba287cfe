/* SPDX-License-Identifier: Apache-2.0 */
/* Products of activations and attention on bf16 where the CPU has instructions for it:
 * kernels/x86/matmul_body.h on the vectors of AVX-512. */
#define PRODUCT_BF16
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/matmul_body.h"

MATMUL_KERNELS(bf16, avx512_bf16, avx512_bf16)
MATMUL_KERNELS(bf16t, amx, amx)
