/* SPDX-License-Identifier: Apache-2.0 */
/* Products of activations and attention with AVX-512: kernels/x86/matmul_body.h on its vectors. */
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/matmul_body.h"

MATMUL_KERNELS(f32, avx512, avx512)
