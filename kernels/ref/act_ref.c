/* SPDX-License-Identifier: Apache-2.0 */
/* The activations that end kernels, one value at a time. */
#include "kernels/ref/math_ref.h"

static inline float ref_hard_swish(float x) {
    return x * ref_clip(fmaf(1.0f / 6.0f, x, 0.5f), 0.0f, 1.0f);
}

float IPEX_REF(act)(float x, int32_t act, float a, float b) {
    switch (act) {
    case IPEX_ACT_relu:
        return ref_max(x, 0.0f);
    case IPEX_ACT_clip:
        return ref_clip(x, a, b);
    case IPEX_ACT_leaky_relu:
        return x > 0.0f ? x : a * x;
    case IPEX_ACT_hard_sigmoid:
        return ref_clip(fmaf(a, x, b), 0.0f, 1.0f);
    case IPEX_ACT_hard_swish:
        return ref_hard_swish(x);
    case IPEX_ACT_sigmoid:
        return ref_sigmoid(x);
    case IPEX_ACT_silu:
        return ref_silu(x);
    case IPEX_ACT_tanh:
        return ref_tanh(x);
    case IPEX_ACT_gelu:
        return ref_gelu(x);
    case IPEX_ACT_gelu_tanh:
        return ref_gelu_tanh(x);
    case IPEX_ACT_mish:
        return ref_mish(x);
    case IPEX_ACT_elu:
        return ref_elu(x, a);
    case IPEX_ACT_softplus:
        return ref_softplus(x);
    case IPEX_ACT_hard_swish_affine:
        return fmaf(a, ref_hard_swish(x), b);
    default:
        return x;
    }
}
