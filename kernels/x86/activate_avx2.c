/* SPDX-License-Identifier: Apache-2.0 */
/* Activations with AVX2, once for all kernels that finish their results by them. */
#include "kernels/x86/vec_avx2.h"

#include "kernels/x86/vec_math.h"

void ipex_k_activate__avx2(float *y, int64_t n, int32_t act, float a, float b) {
    vec_act_row(y, n, act, a, b);
}
