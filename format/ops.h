/* SPDX-License-Identifier: Apache-2.0 */
/* Names for what format/ops.inc numbers: operators, attribute positions, activations, pointwise
 * steps, reductions. */
#ifndef IPEX_FORMAT_OPS_H
#define IPEX_FORMAT_OPS_H

#include <stdint.h>

enum ipex_op {
#define IPEX_OP(id, name, min_in, max_in, n_out, n_ints, n_floats) IPEX_OP_##name = id,
#include "format/ops.inc"
};

struct ipex_op_info {
    const char *name; /* NULL: no such operator */
    uint8_t min_inputs, max_inputs, outputs;
    uint8_t ints, floats; /* counts, or IPEX_ANY */
};

/* The row of the table; NULL for an unknown id. */
const struct ipex_op_info *ipex_op_info(uint32_t id);

/* Positions in `ints` of conv, winograd and depthwise (format/ops.inc). linear has only act, at 0.
 */
enum ipex_conv_attr {
    IPEX_CONV_KERNEL_H,
    IPEX_CONV_KERNEL_W,
    IPEX_CONV_STRIDE_H,
    IPEX_CONV_STRIDE_W,
    IPEX_CONV_PAD_TOP,
    IPEX_CONV_PAD_LEFT,
    IPEX_CONV_PAD_BOTTOM,
    IPEX_CONV_PAD_RIGHT,
    IPEX_CONV_DILATION_H,
    IPEX_CONV_DILATION_W,
    IPEX_CONV_GROUPS,
    IPEX_CONV_ACT,
    IPEX_CONV_ATTRS,
};

/* Positions in `ints` of max_pool and avg_pool. */
enum ipex_pool_attr {
    IPEX_POOL_KERNEL_H,
    IPEX_POOL_KERNEL_W,
    IPEX_POOL_STRIDE_H,
    IPEX_POOL_STRIDE_W,
    IPEX_POOL_PAD_TOP,
    IPEX_POOL_PAD_LEFT,
    IPEX_POOL_PAD_BOTTOM,
    IPEX_POOL_PAD_RIGHT,
    IPEX_POOL_DILATION_H,
    IPEX_POOL_DILATION_W,
    IPEX_POOL_CEIL,
    IPEX_POOL_COUNT_PAD,
    IPEX_POOL_ATTRS,
};

/* Activation of an epilogue, applied to dot + bias + residual. a and b are the two float
 * attributes. X(id, name) */
#define IPEX_ACT_LIST(X)                                                                           \
    X(0, none)                                                                                     \
    X(1, relu)         /* 0 > x ? 0 : x */                                                         \
    X(2, clip)         /* a > x ? a : x, then b < that ? b : that */                               \
    X(3, leaky_relu)   /* x > 0 ? x : a x */                                                       \
    X(4, hard_sigmoid) /* clip(fma(a, x, b), 0, 1) */                                              \
    X(5, hard_swish)   /* x * clip(fma(1/6, x, 0.5), 0, 1) */                                      \
    X(6, sigmoid)                                                                                  \
    X(7, silu) /* x * sigmoid(x) */                                                                \
    X(8, tanh)

enum ipex_act {
#define IPEX_ACT_ENUM(id, name) IPEX_ACT_##name = id,
    IPEX_ACT_LIST(IPEX_ACT_ENUM)
#undef IPEX_ACT_ENUM
        IPEX_ACT_COUNT,
};

/* Steps of a pointwise program. min and max: `b < a ? b : a`, `b > a ? b : a`, so a NaN in a stays.
 * X(id, name, number of operands) */
#define IPEX_STEP_LIST(X)                                                                          \
    X(0, copy, 1)                                                                                  \
    X(1, add, 2)                                                                                   \
    X(2, sub, 2)                                                                                   \
    X(3, mul, 2)                                                                                   \
    X(4, div, 2)                                                                                   \
    X(5, min, 2)                                                                                   \
    X(6, max, 2)                                                                                   \
    X(7, neg, 1)                                                                                   \
    X(8, abs, 1)                                                                                   \
    X(9, sqrt, 1)                                                                                  \
    X(10, exp, 1)                                                                                  \
    X(11, sigmoid, 1)                                                                              \
    X(12, tanh, 1)                                                                                 \
    X(13, floor, 1)                                                                                \
    X(14, ceil, 1)                                                                                 \
    X(15, reciprocal, 1)                                                                           \
    X(16, leaky, 2) /* a > 0 ? a : a * b: leaky ReLU, PReLU */

enum ipex_step {
#define IPEX_STEP_ENUM(id, name, arity) IPEX_STEP_##name = id,
    IPEX_STEP_LIST(IPEX_STEP_ENUM)
#undef IPEX_STEP_ENUM
        IPEX_STEP_COUNT,
};

#define IPEX_POINTWISE_INPUTS    8
#define IPEX_POINTWISE_RESULT    16 /* operand code of step 0's result */
#define IPEX_POINTWISE_STEPS     64
#define IPEX_POINTWISE_CONSTANTS 64

enum ipex_reduce {
    IPEX_REDUCE_sum,
    IPEX_REDUCE_mean,
    IPEX_REDUCE_max,
    IPEX_REDUCE_min,
    IPEX_REDUCE_COUNT,
};

#endif
