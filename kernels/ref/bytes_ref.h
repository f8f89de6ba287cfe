/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes bytes (kernels.h, conv_u8). */
#ifndef IPEX_KERNELS_REF_BYTES_REF_H
#define IPEX_KERNELS_REF_BYTES_REF_H

#include "kernels/ref/math_ref.h"

static inline float ref_byte(float value, float scale, float zero) {
    const float whole = fmaf(value, scale, IPEX_WHOLE_NUMBERS) - (IPEX_WHOLE_NUMBERS - zero);
    return whole > 0.0f ? whole < 255.0f ? whole : 255.0f : 0.0f;
}

#endif
