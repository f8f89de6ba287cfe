/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling with AVX2: kernels/x86/pool_body.h on its vectors. */
#include "kernels/x86/vec_avx2.h"

#include "kernels/x86/pool_body.h"
