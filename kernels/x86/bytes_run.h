/* SPDX-License-Identifier: Apache-2.0 */
/* f32 that becomes bytes, as kernels.h says of conv_u8. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_BYTES_RUN_H
#define IPEX_KERNELS_X86_BYTES_RUN_H

#include "kernels/x86/vec_functions.h"
#include "kernels/x86/x86.h"

static void bytes_run(const struct ipex_depthwise_args *args, const float *x, int64_t y,
                      int64_t n) {
    const vec scale = vec_set(args->y_scale), whole = vec_set(IPEX_WHOLE_NUMBERS);
    const vec back = vec_set(IPEX_WHOLE_NUMBERS - args->y_zero);
    for (int64_t i = 0; i < n; i += LANES) {
        const vec v = vec_load_part(x + i, n - i);
        vec_store_u8_part(args->y_u8 + y + i, n - i, vec_sub(vec_fma(v, scale, whole), back));
    }
}

#endif
