/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution by groups of 8 columns with AVX2 and FMA. */
#include "kernels/x86/vec_avx2.h"
#include "kernels/x86/conv_eights_body.h"
