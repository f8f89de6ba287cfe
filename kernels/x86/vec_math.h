/* SPDX-License-Identifier: Apache-2.0 */
/* Activations on vectors, as kernels/ref/math_ref.h has them. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_VEC_MATH_H
#define IPEX_KERNELS_X86_VEC_MATH_H

#include "kernels/x86/activate.h"
#include "kernels/x86/vec_functions.h"

static inline vec vec_hard_swish(vec x) {
    const vec gate = vec_fma(vec_set(1.0f / 6.0f), x, vec_set(0.5f));
    return vec_mul(x, vec_clip(gate, vec_set(0.0f), vec_set(1.0f)));
}

/* The activations of format/ops.h. */
static inline vec vec_act(vec x, int32_t act, float a, float b) {
    const vec va = vec_set(a), vb = vec_set(b), zero = vec_set(0.0f), one = vec_set(1.0f);
    switch (act) {
    case IPEX_ACT_relu:
        return vec_max(zero, x);
    case IPEX_ACT_clip:
        return vec_clip(x, va, vb);
    case IPEX_ACT_leaky_relu:
        return vec_leaky(x, va);
    case IPEX_ACT_hard_sigmoid:
        return vec_clip(vec_fma(va, x, vb), zero, one);
    case IPEX_ACT_hard_swish:
        return vec_hard_swish(x);
    case IPEX_ACT_sigmoid:
        return vec_sigmoid(x);
    case IPEX_ACT_silu:
        return vec_silu(x);
    case IPEX_ACT_tanh:
        return vec_tanh(x);
    case IPEX_ACT_gelu:
        return vec_gelu(x);
    case IPEX_ACT_gelu_tanh:
        return vec_gelu_tanh(x);
    case IPEX_ACT_mish:
        return vec_mish(x);
    case IPEX_ACT_elu:
        return vec_elu(x, va);
    case IPEX_ACT_softplus:
        return vec_softplus(x);
    case IPEX_ACT_hard_swish_affine:
        return vec_fma(va, vec_hard_swish(x), vb);
    default:
        return x;
    }
}

#endif
