/* SPDX-License-Identifier: Apache-2.0 */
/* A pointwise program, one element at a time: every step of it, then the next element. */
#include "kernels/ref/math_ref.h"

static float pointwise_step(int16_t op, float a, float b) {
    switch (op) {
    case IPEX_STEP_add:
        return a + b;
    case IPEX_STEP_sub:
        return a - b;
    case IPEX_STEP_mul:
        return a * b;
    case IPEX_STEP_div:
        return a / b;
    case IPEX_STEP_min:
        return ref_min_nan(a, b);
    case IPEX_STEP_max:
        return ref_max_nan(a, b);
    case IPEX_STEP_neg:
        return ref_neg(a);
    case IPEX_STEP_abs:
        return ref_abs(a);
    case IPEX_STEP_sqrt:
        return sqrtf(a);
    case IPEX_STEP_exp:
        return ref_exp(a);
    case IPEX_STEP_sigmoid:
        return ref_sigmoid(a);
    case IPEX_STEP_tanh:
        return ref_tanh(a);
    case IPEX_STEP_floor:
        return floorf(ref_flush(a));
    case IPEX_STEP_ceil:
        return ceilf(ref_flush(a));
    case IPEX_STEP_reciprocal:
        return 1.0f / a;
    case IPEX_STEP_leaky:
        return a > 0.0f ? a : a * b;
    case IPEX_STEP_log:
        return ref_log(a);
    case IPEX_STEP_sin:
        return ref_sin(a);
    case IPEX_STEP_cos:
        return ref_cos(a);
    case IPEX_STEP_erf:
        return ref_erf(a);
    case IPEX_STEP_pow:
        return ref_pow(a, b);
    case IPEX_STEP_round:
        return rintf(ref_flush(a));
    case IPEX_STEP_sign:
        return ref_sign(a);
    case IPEX_STEP_softplus:
        return ref_softplus(a);
    case IPEX_STEP_gelu:
        return ref_gelu(a);
    case IPEX_STEP_gelu_tanh:
        return ref_gelu_tanh(a);
    case IPEX_STEP_mish:
        return ref_mish(a);
    case IPEX_STEP_elu:
        return ref_elu(a, b);
    case IPEX_STEP_expm1:
        return ref_expm1(a);
    case IPEX_STEP_log1p:
        return ref_log1p(a);
    case IPEX_STEP_atan:
        return ref_atan(a);
    default:
        return a;
    }
}

/* An operand of element i of a row, which begins at element rows[code] of an input: that, a
 * register or a constant. */
static float pointwise_operand(const struct ipex_pointwise_args *args, const int64_t *rows,
                               const float *registers, int16_t code, int64_t i) {
    if (code < 0)
        return args->constants[-1 - code];
    if (code >= IPEX_POINTWISE_RESULT)
        return registers[(code - IPEX_POINTWISE_RESULT) * IPEX_POINTWISE_BLOCK];
    const int64_t at = rows[code] + i * args->x_stride[code][args->rank - 1];
    return args->x_u8[code] ? (float)args->x_u8[code][at] : args->x[code][at];
}

static float pointwise_element(const struct ipex_pointwise_args *args, const int64_t *rows,
                               float *registers, int64_t i) {
    float ret = 0.0f;
    for (int32_t s = 0; s < args->steps; s++) {
        const struct ipex_pointwise_step *step = &args->program[s];
        const float a = pointwise_operand(args, rows, registers, step->a, i);
        const float b = pointwise_operand(args, rows, registers, step->b, i);
        ret = pointwise_step(step->op, a, b);
        registers[step->dst * IPEX_POINTWISE_BLOCK] = ret;
    }
    return ret;
}

void IPEX_REF(pointwise_f32)(const struct ipex_pointwise_args *args, int64_t job_begin,
                             int64_t job_end, void *scratch) {
    const int32_t lead = args->rank - 1;
    const int64_t all = ipex_row_count(args->dims, 0, lead);
    int64_t end = job_end * args->rows_per_job;
    if (end > all)
        end = all;
    for (int64_t row = job_begin * args->rows_per_job; row < end; row++) {
        const int64_t y = ipex_row_offset(args->dims, args->y_stride, lead, row);
        int64_t rows[IPEX_POINTWISE_INPUTS];
        for (int32_t i = 0; i < args->inputs; i++)
            rows[i] = ipex_row_offset(args->dims, args->x_stride[i], lead, row);
        for (int64_t i = 0; i < args->dims[lead]; i++) {
            const float value = pointwise_element(args, rows, scratch, i);
            if (args->y_u8)
                args->y_u8[y + i] = ref_u8(value);
            else
                args->y[y + i] = value;
        }
    }
}
