/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution whose results are rounded to bf16: those of f32 from a stage in the cache.
 * Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_BF16Y_H
#define IPEX_KERNELS_X86_DEPTHWISE_BF16Y_H

#include "kernels/x86/vec_math.h"
#include "kernels/x86/x86.h"

static void round_run(const float *x, uint16_t *y, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store_bf16(y + i, vec_load(x + i));
    if (i < n)
        vec_store_bf16_part(y + i, n - i, vec_load_part(x + i, n - i));
}

#endif
