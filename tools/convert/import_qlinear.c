/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that read and give quantised numbers: ONNX's and ONNX Runtime's. Products and
 * convolutions are of integers, which f32 holds exactly below 2^24, and scaled after them, as ONNX
 * Runtime does; others compute with what their operands stand for. */
#include "tools/convert/import_quantized.h"
#include "tools/convert/import_scope.h"

#include <string.h>

/* ---- products ---- */

/* Scale a times scale b (one number, or one per element of y's axis), by that of the result, input
 * `out` (0: not), as one. NULL after refusing. */
static struct ipex_value *joint_scale(struct ipex_import *import, struct ipex_value *y, size_t a,
                                      size_t b, int64_t axis, size_t out) {
    struct ipex_value *scale_a = y ? ipex_quantized_parameter(import, a, y, -1) : NULL,
                      *scale_b = scale_a ? ipex_quantized_parameter(import, b, y, axis) : NULL,
                      *scale_y = NULL;
    if (!scale_b || (out && !(scale_y = ipex_quantized_parameter(import, out, y, -1))))
        return NULL;
    struct ipex_node *last = import->graph->last;
    struct ipex_value *ret = ipex_build_binary(import, IPEX_STEP_mul, scale_a, scale_b);
    if (out)
        ret = ipex_build_binary(import, IPEX_STEP_div, ret, scale_y);
    ipex_import_fold(import, last);
    return ret;
}

struct ipex_value *ipex_quantized_scaled(struct ipex_import *import, struct ipex_value *y, size_t a,
                                         size_t b, int64_t axis) {
    return ipex_build_binary(import, IPEX_STEP_mul, y, joint_scale(import, y, a, b, axis, 0));
}

/* The same divided by the result's scale, rounded: output 0. */
static void scaled_out(struct ipex_import *import, struct ipex_value *y, size_t a, size_t b,
                       int64_t axis, size_t out) {
    struct ipex_value *scale = joint_scale(import, y, a, b, axis, out);
    if (scale)
        ipex_quantized_round(import, ipex_build_binary(import, IPEX_STEP_mul, y, scale), out + 1, 0,
                             IPEX_ROUND_THEN_ZERO);
}

/* The axis of input i, counted from its end; -1: there is none. */
static int64_t axis_from_end(const struct ipex_import *import, size_t i, int32_t back) {
    const struct ipex_value *x = ipex_import_in(import, i);
    return x && x->rank >= back ? x->rank - back : -1;
}

static void import_qlinear_conv(struct ipex_import *import) {
    struct ipex_value *x = ipex_quantized_centred(import, 0, 2, -1),
                      *w = x ? ipex_quantized_centred(import, 3, 5, 0) : NULL, *bias = NULL;
    if (!w || (ipex_import_in(import, 8) && !(bias = ipex_import_any(import, 8))))
        return;
    if (ipex_import_int(import, "channels_last", 0)) { /* of domain com.microsoft */
        ipex_import_refuse(import, "channels behind the positions are not supported");
        return;
    }
    bias = ipex_build_cast(import, bias, IPEX_DTYPE_f32);
    scaled_out(import, ipex_import_convolved(import, x, w, bias), 1, 4, 1, 6);
}

static void import_qlinear_matmul(struct ipex_import *import) {
    const int64_t row = axis_from_end(import, 0, 2), column = axis_from_end(import, 3, 1);
    struct ipex_value *a = ipex_quantized_centred(import, 0, 2, row),
                      *b = a ? ipex_quantized_centred(import, 3, 5, column) : NULL,
                      *y = b ? ipex_quantized_product(import, a, b) : NULL;
    if (y)
        scaled_out(import, y, 1, 4, y->rank - 1, 6);
}

/* y + c, of y's shape; NULL after refusing. */
static struct ipex_value *plus(struct ipex_import *import, struct ipex_value *y,
                               struct ipex_value *c) {
    struct ipex_value *sum = y && c ? ipex_build_binary(import, IPEX_STEP_add, y, c) : NULL;
    if (!sum ||
        (sum->rank == y->rank && !memcmp(sum->dims, y->dims, (size_t)y->rank * sizeof *y->dims)))
        return sum;
    ipex_import_refuse(import, "the bias %s is larger than the product", c->name);
    return NULL;
}

/* alpha (a b) + c, where c has the scale of the product: as f32 without a scale of the result. */
static void import_qgemm(struct ipex_import *import) {
    const bool turn_a = ipex_import_flag(import, "transA", false),
               turn_b = ipex_import_flag(import, "transB", false);
    const float alpha = ipex_import_float(import, "alpha", 1);
    struct ipex_value *a = ipex_quantized_centred(import, 0, 2, -1),
                      *b = a ? ipex_quantized_centred(import, 3, 5, turn_b ? 0 : 1) : NULL,
                      *c = NULL;
    if (!b || (ipex_import_in(import, 6) && !(c = ipex_import_any(import, 6))))
        return;
    if (!ipex_import_in(import, 7) != !ipex_import_in(import, 8)) {
        ipex_import_refuse(import, "the result has a scale or a zero point, not both or none");
        return;
    }
    if (a->rank != 2 || b->rank != 2) {
        ipex_import_refuse(import, "the operands have rank %d and %d, not 2", a->rank, b->rank);
        return;
    }
    if (turn_a)
        a = ipex_build_turned(import, a);
    struct ipex_value *y =
        b->constant ? ipex_build_linear(import, a, b, !turn_b)
                    : ipex_build_matmul(import, a, turn_b ? ipex_build_turned(import, b) : b);
    if (c)
        y = plus(import, y, ipex_build_cast(import, c, IPEX_DTYPE_f32));
    if (alpha != 1)
        y = ipex_build_with(import, IPEX_STEP_mul, y, alpha);
    if (ipex_import_in(import, 7))
        scaled_out(import, y, 1, 4, 1, 7);
    else if ((y = ipex_quantized_scaled(import, y, 1, 4, 1)) != NULL)
        ipex_import_out(import, 0, y);
}

/* y plus the bias that input i is, where there is one: output 0. */
static void biased_out(struct ipex_import *import, struct ipex_value *y, size_t i) {
    if (y && ipex_import_in(import, i))
        y = plus(import, y, ipex_import_f32(import, i));
    if (y)
        ipex_import_out(import, 0, y);
}

static void import_matmul_integer_to_float(struct ipex_import *import) {
    struct ipex_value *a = ipex_quantized_centred(import, 0, 4, -1),
                      *b = a ? ipex_quantized_centred(import, 1, 5, axis_from_end(import, 1, 1))
                             : NULL,
                      *y = b ? ipex_quantized_product(import, a, b) : NULL;
    biased_out(import, y ? ipex_quantized_scaled(import, y, 2, 3, y->rank - 1) : NULL, 6);
}

static void import_dynamic_quantize_matmul(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0),
                      *b = x ? ipex_quantized_centred(import, 1, 3, axis_from_end(import, 1, 1))
                             : NULL;
    if (!b)
        return;
    const struct ipex_quantized q = ipex_quantized_dynamic(import, x);
    struct ipex_value *a = ipex_build_binary(import, IPEX_STEP_sub,
                                             ipex_build_cast(import, q.q, IPEX_DTYPE_f32), q.zero);
    struct ipex_value *y = ipex_quantized_product(import, a, b),
                      *scale = y ? ipex_quantized_parameter(import, 2, y, y->rank - 1) : NULL;
    if (!scale)
        return;
    scale = ipex_build_binary(import, IPEX_STEP_mul, scale, q.scale);
    biased_out(import, ipex_build_binary(import, IPEX_STEP_mul, y, scale), 4);
}

/* ---- element by element ---- */

static void binary(struct ipex_import *import, enum ipex_step step) {
    struct ipex_value *a = ipex_quantized_real(import, 0),
                      *b = a ? ipex_quantized_real(import, 3) : NULL;
    if (b)
        ipex_quantized_out(import, ipex_build_binary(import, step, a, b), 6, 0,
                           IPEX_ZERO_THEN_ROUND);
}

static void import_qlinear_add(struct ipex_import *import) {
    binary(import, IPEX_STEP_add);
}

static void import_qlinear_mul(struct ipex_import *import) {
    binary(import, IPEX_STEP_mul);
}

static void import_qlinear_sigmoid(struct ipex_import *import) {
    ipex_quantized_out(import,
                       ipex_build_unary(import, IPEX_STEP_sigmoid, ipex_quantized_real(import, 0)),
                       3, 0, IPEX_ROUND_THEN_ZERO);
}

static void import_qlinear_leaky_relu(struct ipex_import *import) {
    struct ipex_value *x = ipex_quantized_real(import, 0);
    const float alpha = ipex_import_float(import, "alpha", 0.01f);
    ipex_quantized_out(import, ipex_build_with(import, IPEX_STEP_leaky, x, alpha), 3, 0,
                       IPEX_ROUND_THEN_ZERO);
}

static void import_qlinear_where(struct ipex_import *import) {
    struct ipex_value *condition = ipex_import_any(import, 0);
    if (condition && condition->dtype != IPEX_DTYPE_bool) {
        ipex_import_refuse(import, "the condition is %s", ipex_dtype_name(condition->dtype));
        return;
    }
    struct ipex_value *a = condition ? ipex_quantized_real(import, 1) : NULL,
                      *b = a ? ipex_quantized_real(import, 4) : NULL;
    if (b)
        ipex_quantized_out(import, ipex_build_where(import, condition, a, b), 7, 1,
                           IPEX_ROUND_THEN_ZERO);
}

/* ---- along axes ---- */

static void import_qlinear_softmax(struct ipex_import *import) {
    struct ipex_value *x = ipex_quantized_real(import, 0);
    const bool flattened = /* the axis is the last one by default, of either opset */
        ipex_import_int(import, "opset", 13) < 13 && ipex_import_attr(import, "axis");
    if (x)
        ipex_quantized_out(import, ipex_import_softmaxed(import, x, flattened), 3, 0,
                           IPEX_ROUND_THEN_ZERO);
}

static void import_qlinear_global_average_pool(struct ipex_import *import) {
    struct ipex_value *x = ipex_quantized_real(import, 0);
    if (!x)
        return;
    if (x->rank < 3) {
        ipex_import_refuse(import, "the input %s has rank %d, at least 3 is needed", x->name,
                           x->rank);
        return;
    }
    const uint32_t all = (1u << x->rank) - 1, kept = ipex_import_int(import, "channels_last", 0)
                                                         ? 1u | 1u << (x->rank - 1)
                                                         : 3;
    ipex_quantized_out(import, ipex_build_reduce(import, IPEX_REDUCE_mean, x, all & ~kept), 3, 0,
                       IPEX_ROUND_THEN_ZERO);
}

static void import_qlinear_average_pool(struct ipex_import *import) {
    struct ipex_value *x = ipex_quantized_real(import, 0);
    if (x && ipex_import_int(import, "channels_last", 0))
        ipex_import_refuse(import, "channels behind the positions are not supported");
    else if (x)
        ipex_quantized_out(import, ipex_import_averaged(import, x), 3, 0, IPEX_ZERO_THEN_ROUND);
}

/* x has the dims of the first but along the axis. False after refusing. */
static bool joins(struct ipex_import *import, const struct ipex_value *first,
                  const struct ipex_value *x, int64_t axis) {
    bool fits = x->rank == first->rank;
    for (int32_t i = 0; fits && i < x->rank; i++)
        fits = i == axis || x->dims[i] == first->dims[i];
    if (!fits)
        ipex_import_refuse(import, "the shapes of %s and %s do not fit", first->name, x->name);
    return fits;
}

static void import_qlinear_concat(struct ipex_import *import) {
    const size_t parts = import->node->inputs / 3; /* 2 + 3 parts */
    struct ipex_value **x = ipex_arena_array(&import->graph->arena, parts + 1, sizeof *x);
    int64_t axis = ipex_import_int(import, "axis", 0);
    for (size_t i = 0; i < parts; i++) {
        x[i] = ipex_quantized_real(import, 3 * i + 2);
        if (!x[i] || (!i && !ipex_import_axis(import, &axis, x[0]->rank)) ||
            !joins(import, x[0], x[i], axis))
            return;
    }
    if (parts)
        ipex_quantized_out(import, ipex_build_concat(import, (int32_t)axis, (int32_t)parts, x), 0,
                           2, IPEX_ROUND_THEN_ZERO);
}

const struct ipex_import_op ipex_import_qlinear[] = {
    {"QLinearConv", import_qlinear_conv},
    {"QLinearMatMul", import_qlinear_matmul},
    {NULL, NULL},
};
const struct ipex_import_op ipex_import_contrib_qlinear[] = {
    {"DynamicQuantizeMatMul", import_dynamic_quantize_matmul},
    {"MatMulIntegerToFloat", import_matmul_integer_to_float},
    {"QGemm", import_qgemm},
    {"QLinearAdd", import_qlinear_add},
    {"QLinearAveragePool", import_qlinear_average_pool},
    {"QLinearConcat", import_qlinear_concat},
    {"QLinearGlobalAveragePool", import_qlinear_global_average_pool},
    {"QLinearLeakyRelu", import_qlinear_leaky_relu},
    {"QLinearMul", import_qlinear_mul},
    {"QLinearSigmoid", import_qlinear_sigmoid},
    {"QLinearSoftmax", import_qlinear_softmax},
    {"QLinearWhere", import_qlinear_where},
    {NULL, NULL},
};
