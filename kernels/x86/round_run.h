/* SPDX-License-Identifier: Apache-2.0 */
/* f32 that becomes bf16. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_ROUND_RUN_H
#define IPEX_KERNELS_X86_ROUND_RUN_H

#include "kernels/x86/vec_functions.h"
#include "kernels/x86/x86.h"

static void round_run(const float *x, uint16_t *y, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store_bf16(y + i, vec_load(x + i));
    if (i < n)
        vec_store_bf16_part(y + i, n - i, vec_load_part(x + i, n - i));
}

/* To the y-th element of args' y and behind. */
static inline void round_bf16(const struct ipex_depthwise_args *args, const float *x, int64_t y,
                              int64_t n) {
    round_run(x, args->y_bf16 + y, n);
}

#endif
