/* SPDX-License-Identifier: Apache-2.0 */
/* Products of activations and attention on bf16 with vdpbf16ps: kernels/x86/matmul_body.h on the
 * vectors of AVX-512. */
#define PRODUCT_BF16
#include "kernels/x86/vec_avx512.h"

#undef IPEX_LEVEL
#define IPEX_LEVEL(slot) ipex_k_##slot##__avx512_bf16
#include "kernels/x86/matmul_body.h"
