/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX elementwise operators: each becomes a small pointwise program, which later passes join or
 * turn into epilogues. */
#include "tools/convert/import_build.h"
#include "tools/convert/match.h"

#include <math.h>
#include <string.h>

/* A pointwise node over inputs 0..count-1; the caller fills the program. NULL after refusing. */
static struct ipex_program *program(struct ipex_import *import, size_t count) {
    struct ipex_value *x[IPEX_POINTWISE_INPUTS];
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = 0;
    if (count > IPEX_POINTWISE_INPUTS) {
        ipex_import_refuse(import, "has %zu inputs, at most %d are supported", count,
                           IPEX_POINTWISE_INPUTS);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        x[i] = ipex_import_f32(import, i);
        if (!x[i] || !ipex_import_broadcast(import, x[i], &rank, dims))
            return NULL;
    }
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_pointwise);
    node->u.program = ipex_arena_alloc(&import->graph->arena, sizeof *node->u.program);
    for (size_t i = 0; i < count; i++)
        ipex_node_add_input(node, x[i]);
    ipex_node_set_output(node, ipex_import_new(import, 0, rank, dims));
    return node->u.program;
}

/* Appends a step and returns its operand code. */
static int16_t step(struct ipex_program *p, enum ipex_step op, int16_t a, int16_t b) {
    p->step[p->steps].op = (int16_t)op;
    p->step[p->steps].a = a;
    p->step[p->steps].b = b;
    return (int16_t)(IPEX_POINTWISE_RESULT + p->steps++);
}

static int16_t constant(struct ipex_program *p, float value) {
    p->constant[p->constants] = value;
    return (int16_t)(-1 - p->constants++);
}

static int16_t clamp(struct ipex_program *p, int16_t a, float lo, float hi) {
    a = step(p, IPEX_STEP_max, a, constant(p, lo));
    return step(p, IPEX_STEP_min, a, constant(p, hi));
}

static void unary(struct ipex_import *import, enum ipex_step op) {
    struct ipex_program *p = program(import, 1);
    if (p)
        step(p, op, 0, 0);
}

static void binary(struct ipex_import *import, enum ipex_step op) {
    struct ipex_program *p = program(import, 2);
    if (p)
        step(p, op, 0, 1);
}

static void variadic(struct ipex_import *import, enum ipex_step op) {
    struct ipex_program *p = program(import, import->node->inputs);
    int16_t a = 0;
    for (int16_t i = 1; p && i < (int16_t)import->node->inputs; i++)
        a = step(p, op, a, i);
    if (p && import->node->inputs == 1)
        step(p, IPEX_STEP_copy, 0, 0);
}

static bool is_integer(const struct ipex_import *import) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    return x && (x->dtype == IPEX_DTYPE_i64 || x->dtype == IPEX_DTYPE_i32);
}

/* Of 8 bits. */
static bool is_narrow(const struct ipex_import *import) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    return x && (x->dtype == IPEX_DTYPE_u8 || x->dtype == IPEX_DTYPE_i8);
}

/* Input i in 32 bits where it has 8, if it has the type of input 0. NULL after refusing. */
static struct ipex_value *widened(struct ipex_import *import, size_t i) {
    struct ipex_value *x = ipex_import_any(import, i);
    const enum ipex_dtype dtype = ipex_import_in(import, 0)->dtype;
    if (x && x->dtype != dtype) {
        ipex_import_refuse(import, "input %s is %s, not %s", x->name, ipex_dtype_name(x->dtype),
                           ipex_dtype_name(dtype));
        return NULL;
    }
    return is_narrow(import) ? ipex_build_cast(import, x, IPEX_DTYPE_i32) : x;
}

/* Binds what was computed of integers in their own type. */
static void bind_integer(struct ipex_import *import, struct ipex_value *y) {
    if (y)
        ipex_import_out(import, 0, ipex_build_cast(import, y, ipex_import_in(import, 0)->dtype));
}

/* As below, of 8 bits, of which a result has the lowest 8. */
static bool narrow_integer(struct ipex_import *import, int64_t kind, size_t count) {
    struct ipex_value *x[2] = {NULL, NULL};
    if (!is_narrow(import))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!(x[i] = widened(import, i)))
            return true;
    bind_integer(import, ipex_build_integer(import, (enum ipex_integer)kind, x[0], x[1]));
    return true;
}

/* Neg, Abs, Add, Sub, Mul, Div, Min, Max, Mod of integers; kind: format/ops.inc. True when input 0
 * is an integer: the node has been made or refused. */
static bool integer(struct ipex_import *import, int64_t kind, size_t count) {
    struct ipex_value *x[2];
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = 0;
    if (!is_integer(import))
        return narrow_integer(import, kind, count);
    for (size_t i = 0; i < count; i++) {
        x[i] = ipex_import_any(import, i); /* a size of the run becomes data here */
        if (!x[i] || !ipex_import_broadcast(import, x[i], &rank, dims))
            return true;
    }
    if (kind < 0 || import->node->inputs != count || x[count - 1]->dtype != x[0]->dtype) {
        ipex_import_refuse(import, "this operator is not supported for these integers");
        return true;
    }
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_integer, IPEX_ORDER_elementwise,
                                              x[0]->dtype, rank, dims, true);
    for (size_t i = 0; i < count; i++)
        ipex_node_add_input(node, x[i]);
    node->u.plan.ints = 1;
    node->u.plan.int_[0] = kind;
    return true;
}

static void arithmetic(struct ipex_import *import, enum ipex_step op, int64_t kind) {
    if (!integer(import, kind, 2))
        binary(import, op);
}

/* An operand of an extreme: integers of 8 bits in f32, where quantised models have them. */
static struct ipex_value *extreme_operand(struct ipex_import *import, size_t i) {
    return is_integer(import)  ? ipex_import_any(import, i)
           : is_narrow(import) ? ipex_build_chosen(import, i)
                               : ipex_import_f32(import, i);
}

static void bind_extreme(struct ipex_import *import, struct ipex_value *y) {
    if (y)
        ipex_import_out(import, 0, ipex_build_whole(import, y, ipex_import_in(import, 0)->dtype));
}

/* Any number of operands of either kind, two at a time from the first on, as ONNX Runtime does. */
static void one_by_one(struct ipex_import *import, enum ipex_step op, enum ipex_integer kind) {
    const bool integers = is_integer(import);
    struct ipex_value *y = NULL;
    for (size_t i = 0; i < import->node->inputs; i++) {
        struct ipex_value *x = extreme_operand(import, i);
        if (x && y && x->dtype != y->dtype) {
            ipex_import_refuse(import, "input %s is %s, not %s", x->name, ipex_dtype_name(x->dtype),
                               ipex_dtype_name(y->dtype));
            return;
        }
        y = i == 0     ? x
            : integers ? ipex_build_integer(import, kind, y, x)
                       : ipex_build_binary(import, op, y, x);
        if (!y)
            return;
    }
    bind_extreme(import, y);
}

/* One program where it has the room. */
static void several(struct ipex_import *import, enum ipex_step op, enum ipex_integer kind) {
    if (is_integer(import) || is_narrow(import) || import->node->inputs > IPEX_POINTWISE_INPUTS)
        one_by_one(import, op, kind);
    else
        variadic(import, op);
}

static void import_add(struct ipex_import *import) {
    arithmetic(import, IPEX_STEP_add, 0);
}
static void import_sub(struct ipex_import *import) {
    arithmetic(import, IPEX_STEP_sub, 1);
}
static void import_mul(struct ipex_import *import) {
    arithmetic(import, IPEX_STEP_mul, 2);
}
static void import_div(struct ipex_import *import) {
    arithmetic(import, IPEX_STEP_div, 3);
}
static void import_min(struct ipex_import *import) {
    several(import, IPEX_STEP_min, IPEX_INTEGER_min);
}
static void import_max(struct ipex_import *import) {
    several(import, IPEX_STEP_max, IPEX_INTEGER_max);
}
static void import_sum(struct ipex_import *import) {
    several(import, IPEX_STEP_add, IPEX_INTEGER_add);
}
/* Up to opset 6 a vector of slopes has one for each channel. */
static void import_prelu(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_in(import, 0), *slope = ipex_import_in(import, 1);
    if (import->model->opset >= 7 || !x || !slope || x->rank < 3 || slope->rank != 1 ||
        slope->dims[0] == 1) {
        binary(import, IPEX_STEP_leaky);
        return;
    }
    const int64_t dims[IPEX_MAX_RANK] = {slope->dims[0], 1, 1, 1, 1, 1, 1, 1};
    if (!(x = ipex_import_f32(import, 0)) || !(slope = ipex_import_f32(import, 1)))
        return;
    struct ipex_value *y = ipex_build_binary(import, IPEX_STEP_leaky, x,
                                             ipex_build_reshape(import, slope, x->rank - 1, dims));
    if (y)
        ipex_import_out(import, 0, y);
}

/* What x leaves of a whole number of y, rounded towards 0. */
static struct ipex_value *integer_rest(struct ipex_import *import, struct ipex_value *x,
                                       struct ipex_value *y) {
    struct ipex_value *times = ipex_build_integer(
        import, IPEX_INTEGER_mul, ipex_build_integer(import, IPEX_INTEGER_div, x, y), y);
    return ipex_build_integer(import, IPEX_INTEGER_sub, x, times);
}

/* A constant power of 2 from 1 on, of either sign. */
static bool is_power_of_2(const struct ipex_value *y) {
    int exponent;
    return y->constant && y->dtype == IPEX_DTYPE_f32 && ipex_value_numel(y) == 1 &&
           fabs(frexp(ipex_constant_f64(y, 0), &exponent)) == 0.5 && exponent >= 1;
}

/* x less `divisor` times their quotient, rounded down. */
static struct ipex_value *float_rest(struct ipex_import *import, struct ipex_value *x,
                                     float divisor) {
    struct ipex_value *times = ipex_build_unary(
        import, IPEX_STEP_floor, ipex_build_with(import, IPEX_STEP_mul, x, 1 / divisor));
    times = ipex_build_with(import, IPEX_STEP_mul, times, divisor);
    return ipex_build_binary(import, IPEX_STEP_sub, x, times);
}

/* Of floats, where every step is exact: the quotient has all bits of x. It is rounded towards 0 or,
 * as integers' is, down. */
static void float_mod(struct ipex_import *import, bool to_zero) {
    struct ipex_value *x = ipex_import_f32(import, 0), *y = ipex_import_in(import, 1);
    if (!x)
        return;
    if (!y || !is_power_of_2(y)) {
        ipex_import_refuse(import, "the remainder of floats is exact in ONNX, by steps in f32 it "
                                   "is so where the divisor is a constant power of 2 from 1 on");
        return;
    }
    const float divisor = (float)ipex_constant_f64(y, 0);
    struct ipex_value *rest;
    if (to_zero) {
        rest = float_rest(import, ipex_build_unary(import, IPEX_STEP_abs, x), fabsf(divisor));
        rest = ipex_build_binary(import, IPEX_STEP_mul, rest,
                                 ipex_build_unary(import, IPEX_STEP_sign, x));
    } else {
        rest = float_rest(import, x, divisor);
    }
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = 0;
    if (ipex_import_broadcast(import, y, &rank, dims) &&
        ipex_import_broadcast(import, x, &rank, dims))
        ipex_build_out(import, 0,
                       rank == x->rank ? rest : ipex_build_reshape(import, rest, rank, dims));
}

static void import_mod(struct ipex_import *import) {
    const bool integers = is_integer(import) || is_narrow(import),
               to_zero = ipex_import_flag(import, "fmod", false);
    if (to_zero && integers) {
        struct ipex_value *x = widened(import, 0), *y = x ? widened(import, 1) : NULL;
        bind_integer(import, y ? integer_rest(import, x, y) : NULL);
    } else if (!integers && (to_zero || import->model->opset >= 28)) {
        float_mod(import, to_zero);
    } else if (!integer(import, 8, 2)) {
        ipex_import_refuse(import, "up to opset 27 floats have a remainder with fmod only");
    }
}

static void import_neg(struct ipex_import *import) {
    if (!integer(import, 6, 1))
        unary(import, IPEX_STEP_neg);
}

static void import_abs(struct ipex_import *import) {
    if (!integer(import, 7, 1))
        unary(import, IPEX_STEP_abs);
}

static void import_atan(struct ipex_import *import) {
    unary(import, IPEX_STEP_atan);
}
static void import_ceil(struct ipex_import *import) {
    unary(import, IPEX_STEP_ceil);
}
static void import_cos(struct ipex_import *import) {
    unary(import, IPEX_STEP_cos);
}
static void import_erf(struct ipex_import *import) {
    unary(import, IPEX_STEP_erf);
}
static void import_exp(struct ipex_import *import) {
    unary(import, IPEX_STEP_exp);
}
static void import_floor(struct ipex_import *import) {
    unary(import, IPEX_STEP_floor);
}
static void import_log(struct ipex_import *import) {
    unary(import, IPEX_STEP_log);
}
static void import_mish(struct ipex_import *import) {
    unary(import, IPEX_STEP_mish);
}
static void import_reciprocal(struct ipex_import *import) {
    unary(import, IPEX_STEP_reciprocal);
}
static void import_round(struct ipex_import *import) {
    unary(import, IPEX_STEP_round);
}
static void import_sigmoid(struct ipex_import *import) {
    unary(import, IPEX_STEP_sigmoid);
}
static void import_sign(struct ipex_import *import) {
    if (!is_integer(import) && !is_narrow(import)) {
        unary(import, IPEX_STEP_sign);
        return;
    }
    struct ipex_value *x = widened(import, 0);
    for (int side = -1; x && side <= 1; side += 2)
        x = ipex_build_integer(import, side < 0 ? IPEX_INTEGER_max : IPEX_INTEGER_min, x,
                               ipex_build_number(import, x->dtype, side));
    bind_integer(import, x);
}
static void import_sin(struct ipex_import *import) {
    unary(import, IPEX_STEP_sin);
}
static void import_softplus(struct ipex_import *import) {
    unary(import, IPEX_STEP_softplus);
}
static void import_sqrt(struct ipex_import *import) {
    unary(import, IPEX_STEP_sqrt);
}
static void import_tanh(struct ipex_import *import) {
    unary(import, IPEX_STEP_tanh);
}

static void import_gelu(struct ipex_import *import) {
    const char *how = ipex_import_string(import, "approximate", "none");
    unary(import, strcmp(how, "tanh") ? IPEX_STEP_gelu : IPEX_STEP_gelu_tanh);
}

static void import_elu(struct ipex_import *import) {
    struct ipex_program *p = program(import, 1);
    if (p)
        step(p, IPEX_STEP_elu, 0, constant(p, ipex_import_float(import, "alpha", 1)));
}

static void import_selu(struct ipex_import *import) {
    struct ipex_program *p = program(import, 1);
    if (!p)
        return;
    int16_t a = step(p, IPEX_STEP_elu, 0,
                     constant(p, ipex_import_float(import, "alpha", 1.67326319217681884765625f)));
    step(p, IPEX_STEP_mul, a,
         constant(p, ipex_import_float(import, "gamma", 1.05070102214813232421875f)));
}

static void import_softsign(struct ipex_import *import) {
    struct ipex_program *p = program(import, 1);
    if (!p)
        return;
    int16_t a = step(p, IPEX_STEP_add, step(p, IPEX_STEP_abs, 0, 0), constant(p, 1));
    step(p, IPEX_STEP_div, 0, a);
}

static void import_relu(struct ipex_import *import) {
    if (is_integer(import) || is_narrow(import)) {
        struct ipex_value *x = widened(import, 0);
        bind_integer(import, x ? ipex_build_integer(import, IPEX_INTEGER_max, x,
                                                    ipex_build_number(import, x->dtype, 0))
                               : NULL);
        return;
    }
    struct ipex_program *p = program(import, 1);
    if (p)
        step(p, IPEX_STEP_max, 0, constant(p, 0));
}

static void import_leaky_relu(struct ipex_import *import) {
    struct ipex_program *p = program(import, 1);
    if (p)
        step(p, IPEX_STEP_leaky, 0, constant(p, ipex_import_float(import, "alpha", 0.01f)));
}

static void import_hard_sigmoid(struct ipex_import *import) {
    struct ipex_program *p = program(import, 1);
    if (!p)
        return;
    int16_t a = step(p, IPEX_STEP_mul, 0, constant(p, ipex_import_float(import, "alpha", 0.2f)));
    a = step(p, IPEX_STEP_add, a, constant(p, ipex_import_float(import, "beta", 0.5f)));
    clamp(p, a, 0, 1);
}

static void import_hard_swish(struct ipex_import *import) {
    struct ipex_program *p = program(import, 1);
    if (!p)
        return;
    int16_t a = step(p, IPEX_STEP_mul, 0, constant(p, 1.0f / 6.0f));
    a = clamp(p, step(p, IPEX_STEP_add, a, constant(p, 0.5f)), 0, 1);
    step(p, IPEX_STEP_mul, 0, a);
}

static struct ipex_value *swish(struct ipex_import *import) {
    return ipex_build_swish(import, ipex_import_f32(import, 0),
                            ipex_import_float(import, "alpha", 1));
}

static void import_swish(struct ipex_import *import) {
    ipex_build_out(import, 0, swish(import));
}

/* Swish of one half times the other, which come apart. */
static void import_swiglu(struct ipex_import *import) {
    struct ipex_value *gate = swish(import), *x = gate ? ipex_import_f32(import, 1) : NULL;
    if (x && !ipex_same_shape(gate, x))
        ipex_import_refuse(import, "inputs %s and %s have different shapes", import->node->input[0],
                           import->node->input[1]);
    else if (x)
        ipex_build_out(import, 0, ipex_build_binary(import, IPEX_STEP_mul, gate, x));
}

/* Bounds are attributes up to opset 10, then optional constant inputs. */
static float clip_bound(const struct ipex_import *import, const char *name, size_t input,
                        bool *given) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, name);
    const struct ipex_value *value = attr ? NULL : ipex_import_in(import, input);
    *given = attr || value;
    return attr ? attr->f : value ? (float)ipex_constant_f64(value, 0) : 0;
}

static void clip_by_numbers(struct ipex_import *import) {
    bool has_lo, has_hi;
    const float lo = clip_bound(import, "min", 1, &has_lo),
                hi = clip_bound(import, "max", 2, &has_hi);
    struct ipex_program *p = program(import, 1);
    int16_t a = 0;
    if (p && has_lo)
        a = step(p, IPEX_STEP_max, a, constant(p, lo));
    if (p && (has_hi || !has_lo))
        step(p, IPEX_STEP_min, a, constant(p, has_hi ? hi : INFINITY));
}

/* Of integers, or between bounds that are computed. */
static void clip_by_values(struct ipex_import *import) {
    static const struct {
        enum ipex_integer integer;
        enum ipex_step step;
    } side[2] = {{IPEX_INTEGER_max, IPEX_STEP_max}, {IPEX_INTEGER_min, IPEX_STEP_min}};
    const bool integers = is_integer(import);
    struct ipex_value *x = extreme_operand(import, 0);
    for (size_t i = 0; x && i < 2; i++) {
        if (!ipex_import_in(import, i + 1))
            continue;
        struct ipex_value *bound =
            is_narrow(import) ? ipex_build_chosen(import, i + 1) : ipex_import_any(import, i + 1);
        if (bound && bound->dtype != x->dtype) {
            ipex_import_refuse(import, "the bound %s is %s, not %s", bound->name,
                               ipex_dtype_name(bound->dtype), ipex_dtype_name(x->dtype));
            return;
        }
        x = integers ? ipex_build_integer(import, side[i].integer, x, bound)
                     : ipex_build_binary(import, side[i].step, x, bound);
    }
    bind_extreme(import, x);
}

static void import_clip(struct ipex_import *import) {
    bool numbers = !is_integer(import) && !is_narrow(import);
    for (size_t i = 1; i < 3; i++) {
        const struct ipex_value *bound = ipex_import_in(import, i);
        if (bound && (bound->unknown || ipex_value_size(import->graph, bound) != 1)) {
            ipex_import_refuse(import, "the bound %s is not a scalar", bound->name);
            return;
        }
        numbers &= !bound || bound->constant;
    }
    if (numbers)
        clip_by_numbers(import);
    else
        clip_by_values(import);
}

static void import_identity(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_in(import, 0);
    if (!x)
        ipex_import_refuse(import, "input 0 is missing");
    else
        ipex_import_out(import, 0, x);
}

/* The mask that keeps every element of x. */
static struct ipex_value *nothing_dropped(struct ipex_import *import, const struct ipex_value *x) {
    struct ipex_value *mask =
        ipex_build_expand(import, ipex_build_number(import, IPEX_DTYPE_bool, 1), x->rank, x->dims);
    mask->name = import->node->output[1];
    return mask;
}

/* What the mask holds is said from opset 12 on; before that nothing may read it. */
static void import_dropout(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_in(import, 0);
    const struct ipex_value *training = ipex_import_in(import, 2);
    if (training &&
        (!training->constant || ipex_value_numel(training) != 1 || ipex_constant_i64(training, 0)))
        ipex_import_refuse(import, "training mode is not supported");
    else
        import_identity(import);
    if (import->model->opset >= 12 && import->node->outputs > 1 && *import->node->output[1] &&
        ipex_import_result(import, 0) == x)
        ipex_import_out(import, 1, nothing_dropped(import, x));
}

/* x to the n-th, by squares. */
static struct ipex_value *power_of(struct ipex_import *import, struct ipex_value *x, int64_t n) {
    struct ipex_value *y = NULL;
    for (; n; n /= 2) {
        if (n % 2)
            y = y ? ipex_build_integer(import, IPEX_INTEGER_mul, y, x) : x;
        if (n > 1)
            x = ipex_build_integer(import, IPEX_INTEGER_mul, x, x);
    }
    return y;
}

/* Integers by one exponent for all; by several, where any product is 1 or that of the base for each
 * bit that is set. Exponents are constants of at most this. */
#define MOST_EXPONENT 64

static void integer_pow(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0), *e = x ? ipex_import_any(import, 1) : NULL;
    int64_t most = 0;
    bool natural = e && e->constant && ipex_value_numel(e) > 0;
    for (int64_t i = 0; natural && i < ipex_value_numel(e); i++) {
        const double n = ipex_constant_f64(e, i);
        natural = n >= 0 && n <= MOST_EXPONENT && n == floor(n);
        most = natural && (int64_t)n > most ? (int64_t)n : most;
    }
    if (!e)
        return;
    if (!natural) {
        ipex_import_refuse(import, "integers to the power %s: only constants from 0 to %d", e->name,
                           MOST_EXPONENT);
        return;
    }
    struct ipex_value *one = ipex_build_number(import, x->dtype, 1), *y = one;
    if (ipex_value_numel(e) == 1 && e->rank <= x->rank && most) {
        ipex_import_out(import, 0, power_of(import, x, most));
        return;
    }
    for (int64_t bit = 1; bit <= most || y == one; bit *= 2) {
        bool *set =
            ipex_arena_array(&import->graph->arena, (size_t)ipex_value_numel(e), sizeof *set);
        for (int64_t i = 0; i < ipex_value_numel(e); i++)
            set[i] = ((int64_t)ipex_constant_f64(e, i) & bit) != 0;
        struct ipex_value *odd =
            ipex_graph_constant(import->graph, e->name, IPEX_DTYPE_bool, e->rank, e->dims, set);
        y = ipex_build_integer(import, IPEX_INTEGER_mul, y, ipex_build_where(import, odd, x, one));
        x = ipex_build_integer(import, IPEX_INTEGER_mul, x, x);
    }
    if (y)
        ipex_import_out(import, 0, y);
}

/* Powers that one step of x and x gives, or that and a product, of x (0) or the step's result, more
 * exactly than pow and in a tenth of its time. (That of -0.5 is what norms are recognised by.) */
static const struct power {
    double exponent;
    enum ipex_step step;
    bool product;
    int16_t factor;
} powers[] = {
    {-1, IPEX_STEP_reciprocal, false, 0},
    {0.5, IPEX_STEP_sqrt, false, 0},
    {1, IPEX_STEP_copy, false, 0},
    {1.5, IPEX_STEP_sqrt, true, 0},
    {2, IPEX_STEP_mul, false, 0},
    {3, IPEX_STEP_mul, true, 0},
    {4, IPEX_STEP_mul, true, IPEX_POINTWISE_RESULT},
};

static const struct power *find_power(double exponent) {
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++)
        if (powers[i].exponent == exponent)
            return &powers[i];
    return NULL;
}

static void import_pow(struct ipex_import *import) {
    const struct ipex_value *x = ipex_import_in(import, 0), *e = ipex_import_in(import, 1);
    if (is_integer(import)) {
        integer_pow(import);
        return;
    }
    bool scalar = x && e && e->constant && ipex_value_numel(e) == 1 && e->rank <= x->rank;
    const struct power *power = scalar ? find_power(ipex_constant_f64(e, 0)) : NULL;
    if (!power) {
        struct ipex_value *base = ipex_import_f32(import, 0),
                          *exponent = base ? ipex_import_any(import, 1) : NULL;
        struct ipex_value *y = ipex_build_binary(import, IPEX_STEP_pow, base,
                                                 ipex_build_cast(import, exponent, IPEX_DTYPE_f32));
        if (y)
            ipex_import_out(import, 0, y);
        return;
    }
    struct ipex_program *p = program(import, 1);
    if (!p)
        return;
    const int16_t y = step(p, power->step, 0, 0);
    if (power->product)
        step(p, IPEX_STEP_mul, power->factor, y);
}

const struct ipex_import_op ipex_import_pointwise[] = {
    {"Abs", import_abs},
    {"Add", import_add},
    {"Atan", import_atan},
    {"Ceil", import_ceil},
    {"Clip", import_clip},
    {"Cos", import_cos},
    {"Div", import_div},
    {"Dropout", import_dropout},
    {"Elu", import_elu},
    {"Erf", import_erf},
    {"Exp", import_exp},
    {"Floor", import_floor},
    {"Gelu", import_gelu},
    {"HardSigmoid", import_hard_sigmoid},
    {"HardSwish", import_hard_swish},
    {"Identity", import_identity},
    {"LeakyRelu", import_leaky_relu},
    {"Log", import_log},
    {"Max", import_max},
    {"Min", import_min},
    {"Mish", import_mish},
    {"Mod", import_mod},
    {"Mul", import_mul},
    {"Neg", import_neg},
    {"PRelu", import_prelu},
    {"Pow", import_pow},
    {"Reciprocal", import_reciprocal},
    {"Relu", import_relu},
    {"Round", import_round},
    {"Selu", import_selu},
    {"Sigmoid", import_sigmoid},
    {"Sign", import_sign},
    {"Sin", import_sin},
    {"Softplus", import_softplus},
    {"Softsign", import_softsign},
    {"Sqrt", import_sqrt},
    {"Sub", import_sub},
    {"Sum", import_sum},
    {"SwiGLU", import_swiglu},
    {"Swish", import_swish},
    {"Tanh", import_tanh},
    {NULL, NULL},
};
