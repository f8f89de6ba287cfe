/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators on 8-bit numbers with a scale and a zero point, computed in f32: exact wherever
 * the integers stay below 2^24, refused where they could grow beyond. */
#include "tools/convert/import_build.h"

#include <string.h>

#define MAX_EXACT_K 258 /* 255 * 255 * 258 < 2^24 */

static bool is_8bit(const struct ipex_value *x) {
    return x->dtype == IPEX_DTYPE_u8 || x->dtype == IPEX_DTYPE_i8;
}

/* A scale or zero point as f32: one number, or one per element of `axis` of x. NULL after
 * refusing. */
static struct ipex_value *per_axis(struct ipex_import *import, size_t i, const struct ipex_value *x,
                                   int64_t axis) {
    struct ipex_value *p = ipex_import_any(import, i);
    int64_t dims[IPEX_MAX_RANK];
    if (!p)
        return NULL;
    if (p->rank == 0 || (p->rank == 1 && p->dims[0] == 1))
        return ipex_build_reshape(import, ipex_build_cast(import, p, IPEX_DTYPE_f32), 0, NULL);
    if (p->rank != 1 || axis < 0 || axis >= x->rank || p->dims[0] != x->dims[axis]) {
        ipex_import_refuse(import, "%s is neither one number nor one per element of an axis",
                           p->name);
        return NULL;
    }
    for (int32_t k = 0; k < x->rank; k++)
        dims[k] = k == axis ? p->dims[0] : 1;
    return ipex_build_reshape(import, ipex_build_cast(import, p, IPEX_DTYPE_f32), x->rank, dims);
}

/* clamp(round(x) + zero) as dtype */
static struct ipex_value *saturated(struct ipex_import *import, struct ipex_value *x,
                                    struct ipex_value *zero, enum ipex_dtype dtype) {
    struct ipex_value *y = ipex_build_unary(import, IPEX_STEP_round, x);
    if (zero)
        y = ipex_build_binary(import, IPEX_STEP_add, y, zero);
    y = ipex_build_with(import, IPEX_STEP_max, y, dtype == IPEX_DTYPE_u8 ? 0 : -128);
    y = ipex_build_with(import, IPEX_STEP_min, y, dtype == IPEX_DTYPE_u8 ? 255 : 127);
    return ipex_build_cast(import, y, dtype);
}

static int64_t quantized_axis(const struct ipex_import *import, const struct ipex_value *x) {
    const int64_t axis = ipex_import_int(import, "axis", 1);
    return axis < 0 ? axis + x->rank : axis;
}

static void import_quantize(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *zero = NULL;
    const struct ipex_value *point = ipex_import_in(import, 2);
    enum ipex_dtype dtype = point ? point->dtype : IPEX_DTYPE_u8;
    if (!x)
        return;
    if (!point && ipex_import_int(import, "output_dtype", 0))
        dtype = ipex_import_dtype(ipex_import_int(import, "output_dtype", 0));
    if ((dtype != IPEX_DTYPE_u8 && dtype != IPEX_DTYPE_i8) ||
        ipex_import_int(import, "block_size", 0)) {
        ipex_import_refuse(import, "only u8 and i8 without blocks are supported");
        return;
    }
    const int64_t axis = quantized_axis(import, x);
    struct ipex_value *scale = per_axis(import, 1, x, axis);
    if (!scale || (point && !(zero = per_axis(import, 2, x, axis))))
        return;
    ipex_import_out(
        import, 0,
        saturated(import, ipex_build_binary(import, IPEX_STEP_div, x, scale), zero, dtype));
}

static void import_dequantize(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0), *zero = NULL;
    if (!x)
        return;
    if (!is_8bit(x) || ipex_import_int(import, "block_size", 0)) {
        ipex_import_refuse(import, "input %s is %s; only u8 and i8 without blocks are supported",
                           x->name, ipex_dtype_name(x->dtype));
        return;
    }
    const int64_t axis = quantized_axis(import, x);
    struct ipex_value *scale = per_axis(import, 1, x, axis);
    if (!scale || (ipex_import_in(import, 2) && !(zero = per_axis(import, 2, x, axis))))
        return;
    struct ipex_value *y = ipex_build_cast(import, x, IPEX_DTYPE_f32);
    if (zero)
        y = ipex_build_binary(import, IPEX_STEP_sub, y, zero);
    ipex_import_out(import, 0, ipex_build_binary(import, IPEX_STEP_mul, y, scale));
}

/* Scale and zero point from the range of x, which always holds 0. */
static void import_dynamic_quantize(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    if (!x)
        return;
    const uint32_t all = (1u << x->rank) - 1;
    struct ipex_value *low =
        ipex_build_reshape(import, ipex_build_reduce(import, IPEX_REDUCE_min, x, all), 0, NULL);
    struct ipex_value *high =
        ipex_build_reshape(import, ipex_build_reduce(import, IPEX_REDUCE_max, x, all), 0, NULL);
    low = ipex_build_with(import, IPEX_STEP_min, low, 0);
    high = ipex_build_with(import, IPEX_STEP_max, high, 0);
    struct ipex_value *scale = ipex_build_with(
        import, IPEX_STEP_div, ipex_build_binary(import, IPEX_STEP_sub, high, low), 255);
    struct ipex_value *zero = ipex_build_binary(
        import, IPEX_STEP_div, ipex_build_unary(import, IPEX_STEP_neg, low), scale);
    zero = ipex_build_with(import, IPEX_STEP_max, zero, 0);
    zero = ipex_build_unary(import, IPEX_STEP_round,
                            ipex_build_with(import, IPEX_STEP_min, zero, 255));
    ipex_import_out(
        import, 0,
        saturated(import, ipex_build_binary(import, IPEX_STEP_div, x, scale), zero, IPEX_DTYPE_u8));
    ipex_import_out(import, 1, scale);
    ipex_import_out(import, 2, ipex_build_cast(import, zero, IPEX_DTYPE_u8));
}

/* An 8-bit factor less its zero point, as f32; NULL after refusing. */
static struct ipex_value *factor(struct ipex_import *import, size_t at, size_t zero_at,
                                 bool right) {
    struct ipex_value *x = ipex_import_any(import, at), *zero;
    if (!x)
        return NULL;
    if (!is_8bit(x) || x->rank < 2 || x->dims[x->rank - (right ? 2 : 1)] > MAX_EXACT_K ||
        x->dims[x->rank - (right ? 2 : 1)] < 1) {
        ipex_import_refuse(import,
                           "%s is %s; matrices of 8 bits with up to %d products per sum "
                           "are supported",
                           x->name, ipex_dtype_name(x->dtype), MAX_EXACT_K);
        return NULL;
    }
    struct ipex_value *y = ipex_build_cast(import, x, IPEX_DTYPE_f32);
    if (!ipex_import_in(import, zero_at))
        return y;
    zero = per_axis(import, zero_at, x, x->rank - (right ? 1 : 2));
    return zero ? ipex_build_binary(import, IPEX_STEP_sub, y, zero) : NULL;
}

static void import_matmul_integer(struct ipex_import *import) {
    struct ipex_value *a = factor(import, 0, 2, false), *b = a ? factor(import, 1, 3, true) : NULL;
    struct ipex_value *y = b ? ipex_build_matmul(import, a, b) : NULL;
    if (y)
        ipex_import_out(import, 0, ipex_build_cast(import, y, IPEX_DTYPE_i32));
}

static void import_qlinear_matmul(struct ipex_import *import) {
    struct ipex_value *a = factor(import, 0, 2, false), *b = a ? factor(import, 3, 5, true) : NULL,
                      *zero = b ? ipex_import_any(import, 7) : NULL;
    if (!zero)
        return;
    struct ipex_value *y = ipex_build_matmul(import, a, b);
    struct ipex_value *scale_a = y ? per_axis(import, 1, y, -1) : NULL,
                      *scale_b = scale_a ? per_axis(import, 4, y, -1) : NULL,
                      *scale_y = scale_b ? per_axis(import, 6, y, -1) : NULL,
                      *point = scale_y ? per_axis(import, 7, y, -1) : NULL;
    if (!point)
        return;
    if (zero->dtype != IPEX_DTYPE_u8) { /* whether i8 saturates or wraps is told differently */
        ipex_import_refuse(import, "the result is %s; u8 is supported",
                           ipex_dtype_name(zero->dtype));
        return;
    }
    struct ipex_value *scale = ipex_build_binary(
        import, IPEX_STEP_div, ipex_build_binary(import, IPEX_STEP_mul, scale_a, scale_b), scale_y);
    y = ipex_build_binary(import, IPEX_STEP_mul, y, scale);
    ipex_import_out(import, 0, saturated(import, y, point, zero->dtype));
}

const struct ipex_import_op ipex_import_quantized[] = {
    {"DequantizeLinear", import_dequantize},  {"DynamicQuantizeLinear", import_dynamic_quantize},
    {"MatMulInteger", import_matmul_integer}, {"QLinearMatMul", import_qlinear_matmul},
    {"QuantizeLinear", import_quantize},      {NULL, NULL},
};
