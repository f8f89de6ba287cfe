/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX elementwise functions that are written in terms of the pointwise steps, tests for special
 * values, windows of signal processing, and operators that only change the type. */
#include "tools/convert/import_build.h"
#include "tools/convert/import_float_size.h"

#include <math.h>
#include <string.h>

#define PI  3.14159265358979323846
#define LN2 0.69314718055994530942

static void bind(struct ipex_import *import, struct ipex_value *y) {
    if (y)
        ipex_import_out(import, 0, y);
}

/* The current node's steps, one call each. */
#define STEP(step, x)         ipex_build_unary(import, IPEX_STEP_##step, x)
#define JOIN(step, a, b)      ipex_build_binary(import, IPEX_STEP_##step, a, b)
#define WITH(step, x, number) ipex_build_with(import, IPEX_STEP_##step, x, number)

/* ---- functions ---- */

static void import_asin(struct ipex_import *import) { /* atan(x / sqrt((1 - x) (1 + x))) */
    struct ipex_value *x = ipex_import_f32(import, 0);
    struct ipex_value *below = WITH(add, STEP(neg, x), 1), *above = WITH(add, x, 1);
    struct ipex_value *root = STEP(sqrt, JOIN(mul, below, above));
    bind(import, STEP(atan, JOIN(div, x, root)));
}

static void import_acos(struct ipex_import *import) { /* 2 atan(sqrt((1 - x) / (1 + x))) */
    struct ipex_value *x = ipex_import_f32(import, 0);
    struct ipex_value *below = WITH(add, STEP(neg, x), 1), *above = WITH(add, x, 1);
    struct ipex_value *root = STEP(sqrt, JOIN(div, below, above));
    bind(import, WITH(mul, STEP(atan, root), 2));
}

static void import_tan(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    bind(import, JOIN(div, STEP(sin, x), STEP(cos, x)));
}

/* e^x / 2, which is finite longer than e^x */
static struct ipex_value *half_exp(struct ipex_import *import, struct ipex_value *x) {
    return STEP(exp, WITH(sub, x, (float)LN2));
}

/* `far` where x is above the bound, else `near`. */
static struct ipex_value *beyond(struct ipex_import *import, struct ipex_value *x, float bound,
                                 struct ipex_value *far, struct ipex_value *near) {
    struct ipex_value *limit = ipex_build_number(import, IPEX_DTYPE_f32, (double)bound);
    return x ? ipex_build_where(import, ipex_build_compare(import, IPEX_COMPARE_greater, x, limit),
                                far, near)
             : NULL;
}

static void import_cosh(struct ipex_import *import) { /* (e^|x| + e^-|x|) / 2 */
    struct ipex_value *x = ipex_import_f32(import, 0), *size = STEP(abs, x);
    struct ipex_value *near = WITH(mul, STEP(exp, STEP(neg, size)), 0.5f);
    bind(import, JOIN(add, half_exp(import, size), near));
}

static void import_sinh(struct ipex_import *import) { /* (e + e / (e + 1)) / 2, e = e^|x| - 1 */
    struct ipex_value *x = ipex_import_f32(import, 0), *size = STEP(abs, x);
    struct ipex_value *e = STEP(expm1, size);
    struct ipex_value *near = WITH(mul, JOIN(add, e, JOIN(div, e, WITH(add, e, 1))), 0.5f);
    struct ipex_value *y = beyond(import, size, 20, half_exp(import, size), near);
    bind(import, JOIN(mul, y, STEP(sign, x)));
}

/* log(2 x): the limit of asinh and acosh far out, where squares overflow. */
static struct ipex_value *log_twice(struct ipex_import *import, struct ipex_value *x) {
    return WITH(add, STEP(log, x), (float)LN2);
}

static void import_asinh(struct ipex_import *import) { /* log1p(|x| + x^2 / (1 + sqrt(1 + x^2))) */
    struct ipex_value *x = ipex_import_f32(import, 0), *size = STEP(abs, x);
    struct ipex_value *square = JOIN(mul, x, x);
    struct ipex_value *root = STEP(sqrt, WITH(add, square, 1));
    struct ipex_value *near = STEP(log1p, JOIN(add, size, JOIN(div, square, WITH(add, root, 1))));
    struct ipex_value *y = beyond(import, size, 1e9f, log_twice(import, size), near);
    bind(import, JOIN(mul, y, STEP(sign, x)));
}

/* log1p(t + sqrt(t) sqrt(x + 1)), t = x - 1: below 1 no number */
static void import_acosh(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *t = WITH(sub, x, 1);
    struct ipex_value *root = JOIN(mul, STEP(sqrt, t), STEP(sqrt, WITH(add, x, 1)));
    struct ipex_value *near = STEP(log1p, JOIN(add, t, root));
    bind(import, beyond(import, x, 1e9f, log_twice(import, x), near));
}

static void import_atanh(struct ipex_import *import) { /* log1p(2 x / (1 - x)) / 2 */
    struct ipex_value *x = ipex_import_f32(import, 0);
    struct ipex_value *below = WITH(add, STEP(neg, x), 1);
    struct ipex_value *y = STEP(log1p, JOIN(div, WITH(mul, x, 2), below));
    bind(import, WITH(mul, y, 0.5f));
}

static void
import_celu(struct ipex_import *import) { /* max(0, x) + alpha (e^(min(x, 0) / a) - 1) */
    struct ipex_value *x = ipex_import_f32(import, 0);
    const float alpha = ipex_import_float(import, "alpha", 1);
    struct ipex_value *e = STEP(expm1, WITH(div, WITH(min, x, 0), alpha));
    bind(import, JOIN(add, WITH(max, x, 0), WITH(mul, e, alpha)));
}

static void import_thresholded_relu(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    struct ipex_value *bound = ipex_build_number(import, IPEX_DTYPE_f32,
                                                 (double)ipex_import_float(import, "alpha", 1)),
                      *zero = ipex_build_number(import, IPEX_DTYPE_f32, 0);
    if (x)
        bind(import,
             ipex_build_where(import, ipex_build_compare(import, IPEX_COMPARE_greater, x, bound), x,
                              zero));
}

/* x + bias below -lambd, x - bias above lambd, 0 between */
static void import_shrink(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    const float bias = ipex_import_float(import, "bias", 0),
                bound = ipex_import_float(import, "lambd", 0.5f);
    struct ipex_value *low = ipex_build_number(import, IPEX_DTYPE_f32, (double)-bound),
                      *high = ipex_build_number(import, IPEX_DTYPE_f32, (double)bound),
                      *zero = ipex_build_number(import, IPEX_DTYPE_f32, 0);
    if (!x)
        return;
    struct ipex_value *y =
        ipex_build_where(import, ipex_build_compare(import, IPEX_COMPARE_greater, x, high),
                         WITH(sub, x, bias), zero);
    bind(import, ipex_build_where(import, ipex_build_compare(import, IPEX_COMPARE_less, x, low),
                                  WITH(add, x, bias), y));
}

static void import_mean(struct ipex_import *import) {
    const size_t count = import->node->inputs;
    struct ipex_value *y = ipex_import_f32(import, 0);
    for (size_t i = 1; y && i < count; i++)
        y = JOIN(add, y, ipex_import_f32(import, i));
    bind(import, count == 1 ? y : WITH(div, y, (float)count));
}

/* ---- special values ---- */

static void import_is_nan(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    if (x)
        bind(import, ipex_build_compare(import, IPEX_COMPARE_not_equal, x, x));
}

static void import_is_inf(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    const bool up = ipex_import_flag(import, "detect_positive", true),
               down = ipex_import_flag(import, "detect_negative", true);
    if (!x)
        return;
    if (!up && !down) {
        ipex_import_refuse(import, "it looks for neither sign");
        return;
    }
    struct ipex_value *inf =
        ipex_build_number(import, IPEX_DTYPE_f32, up ? (double)INFINITY : -(double)INFINITY);
    bind(import,
         ipex_build_compare(import, IPEX_COMPARE_equal, up && down ? STEP(abs, x) : x, inf));
}

/* ---- types ---- */

static bool casts(enum ipex_dtype dtype) {
    return dtype == IPEX_DTYPE_f32 || dtype == IPEX_DTYPE_i32 || dtype == IPEX_DTYPE_i64 ||
           dtype == IPEX_DTYPE_bool || dtype == IPEX_DTYPE_u8 || dtype == IPEX_DTYPE_i8;
}

static void import_cast_like(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    const struct ipex_value *like = ipex_import_in(import, 1);
    if (!x)
        return;
    if (!like || !casts(like->dtype))
        ipex_import_refuse(import, "a cast to %s is not supported",
                           like ? ipex_dtype_name(like->dtype) : "nothing");
    else
        bind(import, ipex_build_cast(import, x, like->dtype));
}

/* -1 - x, in 32 bits where the type has fewer */
static void import_bitwise_not(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    if (!x)
        return;
    if (x->dtype == IPEX_DTYPE_f32 || x->dtype == IPEX_DTYPE_bool) {
        ipex_import_refuse(import, "input %s is %s", x->name, ipex_dtype_name(x->dtype));
        return;
    }
    const enum ipex_dtype wide = x->dtype == IPEX_DTYPE_i64 ? IPEX_DTYPE_i64 : IPEX_DTYPE_i32;
    struct ipex_value *y =
        ipex_build_integer(import, IPEX_INTEGER_sub, ipex_build_number(import, wide, -1),
                           ipex_build_cast(import, x, wide));
    bind(import, ipex_build_cast(import, y, x->dtype));
}

/* ---- constants: windows, ranges ---- */

/* a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n) */
static void window(struct ipex_import *import, double a0, double a1, double a2) {
    int64_t size;
    if (!ipex_build_scalar(import, 0, 0, &size))
        return;
    if (size < 1 || size > IPEX_BUILD_MAX ||
        ipex_import_dtype(ipex_import_int(import, "output_datatype", 1)) != IPEX_DTYPE_f32) {
        ipex_import_refuse(import, "%lld values of type %s", (long long)size,
                           ipex_import_type_name(ipex_import_int(import, "output_datatype", 1)));
        return;
    }
    const int64_t n = ipex_import_int(import, "periodic", 1) || size == 1 ? size : size - 1;
    float *data = ipex_arena_array(&import->graph->arena, (size_t)size, sizeof *data);
    for (int64_t i = 0; i < size; i++) {
        const double turn = 2 * PI * (double)i / (double)n;
        data[i] = (float)(a0 - a1 * cos(turn) + a2 * cos(2 * turn));
    }
    ipex_import_out(import, 0,
                    ipex_graph_constant(import->graph, import->node->output[0], IPEX_DTYPE_f32, 1,
                                        &size, data));
}

static void import_blackman(struct ipex_import *import) {
    window(import, 0.42, 0.5, 0.08);
}
static void import_hamming(struct ipex_import *import) {
    window(import, 25.0 / 46.0, 1 - 25.0 / 46.0, 0);
}
static void import_hann(struct ipex_import *import) {
    window(import, 0.5, 0.5, 0);
}

/* Start, limit and delta as dims: integers, or floats that are whole numbers. False where they are
 * not known. */
static bool range_limits(struct ipex_import *import, int64_t *ret) {
    bool constant = true;
    for (size_t i = 0; i < 3; i++) {
        struct ipex_value *value = ipex_import_in(import, i);
        const bool scalar = value && (!value->rank || (value->rank == 1 && value->dims[0] == 1));
        const int64_t *known = scalar ? ipex_import_known(import, value) : NULL;
        if (known)
            ret[i] = *known;
        else if (!scalar || !ipex_import_whole_size(import, value, &ret[i]))
            return false;
        constant &= value->dtype == IPEX_DTYPE_f32 && value->constant;
    }
    return !constant;
}

/* Whole numbers of which the sizes of a run decide how many; symbolic.c has done short fixed ones,
 * and floats that are all constant are import_range's. False where they are not known. */
static bool range_of_sizes(struct ipex_import *import) {
    struct ipex_dims *dims = &import->graph->dims;
    const struct ipex_value *x = ipex_import_in(import, 0);
    int64_t v[3], step, least, most;
    if (!range_limits(import, v))
        return false;
    if (!ipex_dim_number(dims, v[2], &step) || step == 0 || step < -IPEX_BUILD_MAX) {
        ipex_import_refuse(import, "delta is %s", ipex_import_text(import, v[2]));
        return true;
    }
    const int64_t size = step < 0 ? -step : step,
                  span = ipex_dim_sub(dims, v[step > 0], v[step < 0]),
                  n = ipex_dim_floor_div(dims, ipex_dim_add(dims, span, size - 1), size);
    ipex_dim_range(dims, n, &least, &most);
    if (n == IPEX_DIM_NONE || least < 1) {
        ipex_import_refuse(import, "from %s to %s may be no element",
                           ipex_import_text(import, v[0]), ipex_import_text(import, v[1]));
        return true;
    }
    const enum ipex_dtype dtype = x->dtype == IPEX_DTYPE_f32 ? IPEX_DTYPE_i64 : x->dtype;
    struct ipex_value *start = ipex_build_size(import, dtype, v[0]),
                      *y = ipex_build_count(import, dtype, n, size, 1, 0);
    if (start && y) {
        y = ipex_build_integer(import, step > 0 ? IPEX_INTEGER_add : IPEX_INTEGER_sub, start, y);
        ipex_import_out(import, 0, ipex_build_cast(import, y, x->dtype));
    }
    return true;
}

/* Of numbers that are no sizes. */
static void import_range(struct ipex_import *import) {
    const struct ipex_value *x[3];
    double v[3];
    if (range_of_sizes(import))
        return;
    for (size_t i = 0; i < 3; i++) {
        x[i] = ipex_import_in(import, i);
        if (!x[i] || !x[i]->constant || x[i]->dtype != IPEX_DTYPE_f32 ||
            ipex_value_numel(x[i]) != 1) {
            ipex_import_refuse(import,
                               "start, limit and delta are not known: they are computed from "
                               "data, or from sizes in floats that are no whole numbers");
            return;
        }
        v[i] = ipex_constant_f64(x[i], 0);
    }
    const double count = ceil((v[1] - v[0]) / v[2]);
    if (!(count >= 1 && count <= (double)IPEX_BUILD_MAX)) {
        ipex_import_refuse(import, "a range of %g elements", count);
        return;
    }
    const int64_t n = (int64_t)count;
    float *data = ipex_arena_array(&import->graph->arena, (size_t)n, sizeof *data);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)v[0] + (float)i * (float)v[2];
    ipex_import_out(
        import, 0,
        ipex_graph_constant(import->graph, import->node->output[0], IPEX_DTYPE_f32, 1, &n, data));
}

const struct ipex_import_op ipex_import_math[] = {
    {"Acos", import_acos},
    {"Acosh", import_acosh},
    {"Asin", import_asin},
    {"Asinh", import_asinh},
    {"Atanh", import_atanh},
    {"BitwiseNot", import_bitwise_not},
    {"BlackmanWindow", import_blackman},
    {"CastLike", import_cast_like},
    {"Celu", import_celu},
    {"Cosh", import_cosh},
    {"HammingWindow", import_hamming},
    {"HannWindow", import_hann},
    {"IsInf", import_is_inf},
    {"IsNaN", import_is_nan},
    {"Mean", import_mean},
    {"Range", import_range},
    {"Shrink", import_shrink},
    {"Sinh", import_sinh},
    {"Tan", import_tan},
    {"ThresholdedRelu", import_thresholded_relu},
    {NULL, NULL},
};
