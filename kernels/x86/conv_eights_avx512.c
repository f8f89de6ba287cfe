/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution by groups of 8 columns with AVX-512. */
#include "kernels/x86/vec_avx512.h"
#include "kernels/x86/conv_eights_body.h"
