/* SPDX-License-Identifier: Apache-2.0 */
/* Products of activations and attention with AVX2: kernels/x86/matmul_body.h on its vectors. */
#include "kernels/x86/vec_avx2.h"

#include "kernels/x86/matmul_body.h"

MATMUL_KERNELS(f32, avx2, avx2)
