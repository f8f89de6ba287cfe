/* SPDX-License-Identifier: Apache-2.0 */
/* Products of activations and attention on bf16 with AVX2: kernels/x86/matmul_body.h on its
 * vectors. */
#define PRODUCT_BF16
#include "kernels/x86/vec_avx2.h"

#include "kernels/x86/matmul_body.h"

MATMUL_KERNELS(bf16, avx2, avx2)
MATMUL_KERNELS(bf16t, avx2, avx2)
