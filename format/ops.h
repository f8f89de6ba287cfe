/* SPDX-License-Identifier: Apache-2.0 */
/* Names for what format/ops.inc numbers: operators, attribute positions, activations, pointwise
 * steps, reductions. */
#ifndef IPEX_FORMAT_OPS_H
#define IPEX_FORMAT_OPS_H

#include <stdbool.h>
#include <stdint.h>

enum ipex_op {
#define IPEX_OP(id, name, min_in, max_in, n_out, n_ints, n_floats) IPEX_OP_##name = id,
#include "format/ops.inc"
};

struct ipex_op_info {
    char name[16]; /* "": no such operator; no pointers: each is 32 bytes with its relocation */
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

/* Positions in `ints` of conv: these too. */
enum ipex_conv_direct_attr {
    IPEX_CONV_COLUMNS = IPEX_CONV_ATTRS,
    IPEX_CONV_DIRECT_ATTRS,
};

/* Most roundings between a sum and the residual. */
#define IPEX_MIDDLES 3

/* Positions in `floats` of linear, conv and depthwise, behind the activation's parameters: what u8
 * stands for. */
enum ipex_integer_attr {
    IPEX_RESIDUAL_SCALE = 2,
    IPEX_Y_SCALE,
    IPEX_Y_ZERO,
    IPEX_MIDDLE_CUTS, /* the least and the most that each rounding in between leaves */
    IPEX_INTEGER_ATTRS = IPEX_MIDDLE_CUTS + 2 * IPEX_MIDDLES,
    IPEX_SCALES = IPEX_INTEGER_ATTRS - IPEX_RESIDUAL_SCALE,
};
/* Products of u8 and i8 in a segment, and most in a sum, which 32 bits then hold. */
#define IPEX_INTEGER_LEAST_K 4
#define IPEX_INTEGER_MOST_K  65793
/* The same of two bytes, of either of which a zero point is taken away. */
#define IPEX_INTEGER_MATMUL_MOST_K 33025
/* Fewest channels of depthwise in them, in groups of one. */
#define IPEX_INTEGER_LEAST_CHANNELS 8

/* Positions in `ints` and `floats` of matmul. */
enum ipex_matmul_attr {
    IPEX_MATMUL_TRANS_B,
    IPEX_MATMUL_A_ZERO,
    IPEX_MATMUL_B_ZERO,
    IPEX_MATMUL_INTS,
    IPEX_MATMUL_SCALE = 0,
    IPEX_MATMUL_Y_SCALE,
    IPEX_MATMUL_Y_ZERO,
    IPEX_MATMUL_FLOATS,
};

/* Positions in `ints` of linear_blocks. */
enum ipex_blocks_attr {
    IPEX_BLOCKS_ACT,
    IPEX_BLOCKS_BITS,  /* of a weight: 4 or 8 */
    IPEX_BLOCKS_SIZE,  /* elements of K with one scale: a multiple of 16 up to IPEX_BLOCK_MOST */
    IPEX_BLOCKS_BYTES, /* 1: rows of x are rounded to i8, block by block */
    IPEX_BLOCKS_ATTRS,
};
#define IPEX_BLOCK_LEAST 16
#define IPEX_BLOCK_MOST  256
/* Elements of K in a row of a tile of 4 bits, and what its bytes hold: low halves of four, high
 * halves of the next four. Of 8 bits they are two rows. */
#define IPEX_BLOCK_STEP 8

/* Positions in `ints` of upsampled_conv. */
enum ipex_upsampled_attr {
    IPEX_UPSAMPLED_FACTOR, /* 2 to IPEX_UPSAMPLED_FACTOR_MAX */
    IPEX_UPSAMPLED_ACT,
    IPEX_UPSAMPLED_ATTRS,
};
#define IPEX_UPSAMPLED_FACTOR_MAX 16

/* Positions in `ints` of conv_transpose: those of winograd and depthwise, then these. */
enum ipex_conv_transpose_attr {
    IPEX_CONV_TRANSPOSE_OUT_PAD_H = IPEX_CONV_ATTRS,
    IPEX_CONV_TRANSPOSE_OUT_PAD_W,
    IPEX_CONV_TRANSPOSE_ATTRS,
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
    X(8, tanh)                                                                                     \
    X(9, gelu)               /* x / 2 (1 + erf(x / sqrt(2))) */                                    \
    X(10, gelu_tanh)         /* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */               \
    X(11, mish)              /* x tanh(log(1 + e^x)) */                                            \
    X(12, elu)               /* x > 0 ? x : a (e^x - 1) */                                         \
    X(13, softplus)          /* log(1 + e^x) */                                                    \
    X(14, hard_swish_affine) /* fma(a, hard_swish(x), b) */

enum ipex_act {
#define IPEX_ACT_ENUM(id, name) IPEX_ACT_##name = id,
    IPEX_ACT_LIST(IPEX_ACT_ENUM)
#undef IPEX_ACT_ENUM
        IPEX_ACT_COUNT,
};

/* relu, clip and none are clamps, which kernels apply as they store: the same bounds for all three,
 * since max(-inf, x) and min(inf, x) leave every arithmetic result as it is. */
static inline bool ipex_act_is_clamp(int32_t act) {
    return act == IPEX_ACT_none || act == IPEX_ACT_relu || act == IPEX_ACT_clip;
}

/* Steps of a pointwise program. min and max: `b < a ? b : a`, `b > a ? b : a`, so a NaN in a stays.
 * X(id, name, number of operands) */
#define IPEX_STEP_LIST(X)                                                                          \
    X(0, copy, 1)                                                                                  \
    X(1, add, 2)                                                                                   \
    X(2, sub, 2)                                                                                   \
    X(3, mul, 2)                                                                                   \
    X(4, div, 2)                                                                                   \
    X(5, min, 2)                                                                                   \
    X(6, max, 2) /* and min: NaN where either is */                                                \
    X(7, neg, 1)                                                                                   \
    X(8, abs, 1)                                                                                   \
    X(9, sqrt, 1)                                                                                  \
    X(10, exp, 1)                                                                                  \
    X(11, sigmoid, 1)                                                                              \
    X(12, tanh, 1)                                                                                 \
    X(13, floor, 1)                                                                                \
    X(14, ceil, 1)                                                                                 \
    X(15, reciprocal, 1)                                                                           \
    X(16, leaky, 2) /* a > 0 ? a : a * b: leaky ReLU, PReLU */                                     \
    X(17, log, 1)                                                                                  \
    X(18, sin, 1) /* and cos: of a cut to [-2^20, 2^20] */                                         \
    X(19, cos, 1)                                                                                  \
    X(20, erf, 1)                                                                                  \
    X(21, pow, 2)                                                                                  \
    X(22, round, 1) /* half to even */                                                             \
    X(23, sign, 1)                                                                                 \
    X(24, softplus, 1) /* this and the next three: as the activations */                           \
    X(25, gelu, 1)                                                                                 \
    X(26, gelu_tanh, 1)                                                                            \
    X(27, mish, 1)                                                                                 \
    X(28, elu, 2) /* a > 0 ? a : b * (e^a - 1) */                                                  \
    X(29, expm1, 1)                                                                                \
    X(30, log1p, 1)                                                                                \
    X(31, atan, 1)

enum ipex_step {
#define IPEX_STEP_ENUM(id, name, arity) IPEX_STEP_##name = id,
    IPEX_STEP_LIST(IPEX_STEP_ENUM)
#undef IPEX_STEP_ENUM
        IPEX_STEP_COUNT,
};

/* 1 or 2; 0: there is no such step. */
static inline int32_t ipex_step_operands(int32_t op) {
    switch (op) {
#define IPEX_STEP_OPERANDS(id, name, operands)                                                     \
    case id:                                                                                       \
        return operands;
        IPEX_STEP_LIST(IPEX_STEP_OPERANDS)
#undef IPEX_STEP_OPERANDS
    default:
        return 0;
    }
}

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

/* What pad puts around x (modes other than constant as in numpy, for pads of any size). */
enum ipex_pad_mode {
    IPEX_PAD_constant,
    IPEX_PAD_reflect, /* mirrored, without the border itself */
    IPEX_PAD_edge,
    IPEX_PAD_wrap,
    IPEX_PAD_COUNT,
};

/* Positions in `ints` and `floats` of resize, and their values, as in the ONNX specification. */
enum ipex_resize_attr {
    IPEX_RESIZE_MODE,
    IPEX_RESIZE_COORDINATES,
    IPEX_RESIZE_ROUNDING,        /* of mode nearest */
    IPEX_RESIZE_EXCLUDE_OUTSIDE, /* of modes linear and cubic */
    IPEX_RESIZE_ATTRS,
};
enum ipex_resize_float { IPEX_RESIZE_SCALE_H, IPEX_RESIZE_SCALE_W, IPEX_RESIZE_CUBIC_A };
enum ipex_resize_mode {
    IPEX_RESIZE_nearest,
    IPEX_RESIZE_linear,
    IPEX_RESIZE_cubic,
    IPEX_RESIZE_MODE_COUNT,
};
enum ipex_resize_coordinates {
    IPEX_RESIZE_half_pixel,
    IPEX_RESIZE_pytorch_half_pixel,
    IPEX_RESIZE_align_corners,
    IPEX_RESIZE_asymmetric,
    IPEX_RESIZE_half_pixel_symmetric,
    IPEX_RESIZE_COORDINATES_COUNT,
};
enum ipex_resize_rounding {
    IPEX_RESIZE_round_prefer_floor,
    IPEX_RESIZE_round_prefer_ceil,
    IPEX_RESIZE_floor,
    IPEX_RESIZE_ceil,
    IPEX_RESIZE_ROUNDING_COUNT,
};

/* Where the rows of attention's q, k, v and y lie: behind the heads ([...][H][M][D]), before them
 * ([...][M][H][D]), or before all other dims ([M][...][H][D]). */
enum ipex_rows { IPEX_ROWS_behind_heads, IPEX_ROWS_before_heads, IPEX_ROWS_first };

/* The dim of an operand's rows. */
static inline int32_t ipex_rows_dim(int32_t rows, int32_t rank) {
    return rows == IPEX_ROWS_first ? 0 : rank - (rows == IPEX_ROWS_before_heads ? 3 : 2);
}

/* Positions in `ints` of grid_sample, and their values. */
enum ipex_grid_attr { IPEX_GRID_MODE, IPEX_GRID_PADDING, IPEX_GRID_CORNERS_ALIGNED };
enum ipex_grid_mode {
    IPEX_GRID_nearest,
    IPEX_GRID_linear,
    IPEX_GRID_cubic, /* of images */
    IPEX_GRID_MODE_COUNT,
};
enum ipex_grid_padding {
    IPEX_GRID_zeros,
    IPEX_GRID_border,
    IPEX_GRID_reflection,
    IPEX_GRID_PADDING_COUNT,
};

enum ipex_compare {
    IPEX_COMPARE_equal,
    IPEX_COMPARE_less,
    IPEX_COMPARE_less_equal,
    IPEX_COMPARE_greater,
    IPEX_COMPARE_greater_equal,
    IPEX_COMPARE_not_equal,
    IPEX_COMPARE_COUNT,
};

enum ipex_logical {
    IPEX_LOGICAL_and,
    IPEX_LOGICAL_or,
    IPEX_LOGICAL_xor,
    IPEX_LOGICAL_not, /* of one operand */
    IPEX_LOGICAL_COUNT,
};

/* Integer arithmetic wraps around. */
enum ipex_integer {
    IPEX_INTEGER_add,
    IPEX_INTEGER_sub,
    IPEX_INTEGER_mul,
    IPEX_INTEGER_div, /* towards 0; by 0: 0 */
    IPEX_INTEGER_min,
    IPEX_INTEGER_max,
    IPEX_INTEGER_neg, /* of one operand */
    IPEX_INTEGER_abs, /* of one operand */
    IPEX_INTEGER_mod, /* with the divisor's sign; by 0: 0 */
    IPEX_INTEGER_COUNT,
};

/* What a scatter makes of an element of its result, p, and one of the updates, q. */
enum ipex_scatter {
    IPEX_SCATTER_none, /* q */
    IPEX_SCATTER_add,
    IPEX_SCATTER_mul,
    IPEX_SCATTER_max,
    IPEX_SCATTER_min,
    IPEX_SCATTER_COUNT,
};

/* Positions in `ints`. */
enum ipex_arg_attr { IPEX_ARG_LARGEST, IPEX_ARG_LAST };
enum ipex_topk_attr { IPEX_TOPK_K, IPEX_TOPK_LARGEST, IPEX_TOPK_SORTED };
enum ipex_cumsum_attr { IPEX_CUMSUM_AXIS, IPEX_CUMSUM_EXCLUSIVE, IPEX_CUMSUM_REVERSE };

#endif
