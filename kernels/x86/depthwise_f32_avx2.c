/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution with AVX2: kernels/x86/depthwise_body.h on its vectors. */
#include "kernels/x86/vec_avx2.h"

#include "kernels/x86/depthwise_body.h"
