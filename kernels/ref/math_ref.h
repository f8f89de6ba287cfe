/* SPDX-License-Identifier: Apache-2.0 */
/* The activations: the specification, on kernels/ref/functions_ref.h. */
#ifndef IPEX_KERNELS_REF_MATH_H
#define IPEX_KERNELS_REF_MATH_H

#include "kernels/ref/functions_ref.h"

/* The activations of format/ops.h on one finished value: out of line, since many kernels end in
 * them. */
float IPEX_REF(act)(float x, int32_t act, float a, float b);

static inline float ref_act(float x, int32_t act, float a, float b) {
    return act == IPEX_ACT_none ? x : IPEX_REF(act)(x, act, a, b);
}

/* What becomes bytes (kernels.h, conv_u8). */
static inline float ref_byte(float value, float scale, float zero) {
    const float whole = fmaf(value, scale, IPEX_WHOLE_NUMBERS) - (IPEX_WHOLE_NUMBERS - zero);
    return whole > 0.0f ? whole < 255.0f ? whole : 255.0f : 0.0f;
}

#endif
