/* SPDX-License-Identifier: Apache-2.0 */
/* exp, sigmoid, tanh, reached as pointwise programs: the reference against f64 on every Nth bit
 * pattern of f32, infinities, NaNs and denormals among them, and every level against the reference
 * on the same. */
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 4096 };

struct function {
    const char *name;
    int16_t step;
    double (*exact)(double);
    double bound; /* ULP */
};

static double exact_sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static const struct function functions[] = {
    {"exp", IPEX_STEP_exp, exp, 1.1},
    {"sigmoid", IPEX_STEP_sigmoid, exact_sigmoid, 2.5},
    {"tanh", IPEX_STEP_tanh, tanh, 2.0},
};

static float from_bits(uint32_t bits) {
    float ret;
    memcpy(&ret, &bits, sizeof ret);
    return ret;
}

static void run(const struct level *level, int16_t op, const float *x, float *y) {
    static float scratch[IPEX_POINTWISE_BLOCK];
    const struct ipex_pointwise_step step = {op, 0, 0, 0};
    const struct ipex_pointwise_args args = {
        .x = {x},
        .y = y,
        .x_stride = {{1}},
        .y_stride = {1},
        .dims = {ELEMENTS},
        .rank = 1,
        .inputs = 1,
        .steps = 1,
        .registers = 1,
        .rows_per_job = 1,
        .program = &step,
    };
    running("pointwise_f32", level->name);
    level->kernels.pointwise_f32(&args, 0, 1, scratch);
}

/* Error in units of the last place of the exact value; a result that is flushed to 0 is right below
 * 2^-126. */
static double ulp_error(float got, double want) {
    if (isnan(want))
        return isnan(got) ? 0 : INFINITY;
    if (want > (double)3.4028234663852886e38f * (1 + 0x1p-25))
        return isinf(got) && got > 0 ? 0 : INFINITY;
    if (fabs(want) < 0x1p-126 * (1 + 0x1p-22) && fabs((double)got) <= 0x1p-126)
        return 0;
    int exponent;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, exponent - 24);
}

static void check_function(const struct context *context, const struct function *f) {
    const uint32_t stride = context->float_stride;
    static float x[ELEMENTS], want[ELEMENTS], got[ELEMENTS];
    double worst = 0;
    float worst_x = 0;
    int different = 0;
    for (uint64_t base = 0; base < UINT64_C(0x100000000); base += (uint64_t)stride * ELEMENTS) {
        for (uint32_t i = 0; i < ELEMENTS; i++)
            x[i] = from_bits((uint32_t)(base + (uint64_t)i * stride));
        run(&context->levels[0], f->step, x, want);
        for (int i = 0; i < ELEMENTS; i++) {
            const bool denormal = fabsf(x[i]) < 0x1p-126f;
            const double error = ulp_error(want[i], f->exact(denormal ? 0.0 : (double)x[i]));
            if (error > worst || isnan(error)) {
                worst = error;
                worst_x = x[i];
            }
        }
        for (size_t k = 1; k < context->n_levels; k++) {
            run(&context->levels[k], f->step, x, got);
            for (int i = 0; i < ELEMENTS; i++)
                different +=
                    memcmp(&got[i], &want[i], 4) != 0 && !(isnan(got[i]) && isnan(want[i]));
        }
    }
    char name[100];
    snprintf(name, sizeof name, "%s: within %.1f ULP of f64 (worst %.3f at %a)", f->name, f->bound,
             worst, (double)worst_x);
    report(worst <= f->bound, name, "too far");
    snprintf(name, sizeof name, "%s: the same bits at every level", f->name);
    report(different == 0, name, "%d values differ", different);
}

void check_math(const struct context *context) {
    if (!wanted(context, "pointwise_f32"))
        return;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        check_function(context, &functions[i]);
}
