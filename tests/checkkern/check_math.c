/* SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions of the reference against f64 on every Nth bit pattern of f32,
 * infinities, NaNs and denormals among them; then every level against the reference on the same
 * patterns. They are reached as pointwise programs, SiLU, which is no step of these, as the
 * activation that ends kernels. */
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/ref/math_ref.h"
#include "kernels/x86/activate.h"

enum { ELEMENTS = 4096, NO_STEP = -1 };

struct function {
    const char *name;
    int16_t step; /* or NO_STEP: SiLU */
    double (*exact)(double);
    double bound;     /* ULP of the result ... */
    bool of_argument; /* ... or of x, where the result is x times a factor in [0, 1] */
    double most;      /* |x| beyond which nothing is promised but equal bits; 0: no such */
    double least;     /* results below this may be 0; 0: 2^-126 */
};

static double exact_sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double exact_sign(double x) {
    return isnan(x) ? x : (x > 0) - (x < 0);
}

static double exact_elu(double x) {
    return exact_act(x, IPEX_ACT_elu, 1, 0);
}

#define EXACT(name)                                                                                \
    static double exact_##name(double x) {                                                         \
        return exact_act(x, IPEX_ACT_##name, 0, 0);                                                \
    }
EXACT(silu)
EXACT(softplus)
EXACT(gelu)
EXACT(gelu_tanh)
EXACT(mish)

static const struct function functions[] = {
    {"exp", IPEX_STEP_exp, exp, 1.1, false, 0, 0},
    {"sigmoid", IPEX_STEP_sigmoid, exact_sigmoid, 3.0, false, 0, 0},
    {"tanh", IPEX_STEP_tanh, tanh, 3.0, false, 0, 0},
    {"expm1", IPEX_STEP_expm1, expm1, 1.5, false, 0, 0},
    {"elu", IPEX_STEP_elu, exact_elu, 1.5, false, 0, 0},
    {"log", IPEX_STEP_log, log, 1.0, false, 0, 0},
    {"log1p", IPEX_STEP_log1p, log1p, 2.0, false, 0, 0},
    {"softplus", IPEX_STEP_softplus, exact_softplus, 2.5, false, 0, 0},
    {"sin", IPEX_STEP_sin, sin, 2.0, false, 0x1p20, 0},
    {"cos", IPEX_STEP_cos, cos, 2.0, false, 0x1p20, 0},
    {"erf", IPEX_STEP_erf, erf, 7.0, false, 0, 0},
    {"atan", IPEX_STEP_atan, atan, 2.5, false, 0, 0},
    {"silu", NO_STEP, exact_silu, 1.5, true, 0, 0},
    {"gelu", IPEX_STEP_gelu, exact_gelu, 1.5, true, 0, 0},
    {"gelu_tanh", IPEX_STEP_gelu_tanh, exact_gelu_tanh, 2.0, true, 0, 0},
    {"mish", IPEX_STEP_mish, exact_mish, 4.5, false, 0, 0x1p-119},
    {"round", IPEX_STEP_round, rint, 0.0, false, 0, 0},
    {"sign", IPEX_STEP_sign, exact_sign, 0.0, false, 0, 0},
};

static float from_bits(uint32_t bits) {
    float ret;
    memcpy(&ret, &bits, sizeof ret);
    return ret;
}

/* y = op(a, b). */
static void run(const struct level *level, int16_t op, const float *a, const float *b, float *y) {
    static float scratch[4 * IPEX_POINTWISE_BLOCK];
    struct ipex_chains chains;
    const struct ipex_pointwise_step step = {op, 0, 0, 1};
    const struct ipex_pointwise_args args = {
        .x = {a, b},
        .y = y,
        .x_stride = {{1}, {1}},
        .y_stride = {1},
        .dims = {ELEMENTS},
        .rank = 1,
        .inputs = 2,
        .steps = 1,
        .registers = 1,
        .rows_per_job = 1,
        .program = &step,
        .chains = &chains,
    };
    ipex_make_chains(&args, &chains);
    running("pointwise_f32", level->name);
    level->kernels.pointwise_f32(&args, 0, 1, scratch);
}

static void run_silu(const struct level *level, const float *a, float *y) {
    const struct ipex_act_rows rows = ipex_act_rows(y, 1, ELEMENTS, ELEMENTS, IPEX_ACT_silu, 0, 0);
    running("activate", level->name);
    memcpy(y, a, ELEMENTS * sizeof *y);
    if (level->isa >= IPEX_ISA_avx512)
        ipex_k_activate__avx512(&rows);
    else if (level->isa >= IPEX_ISA_avx2)
        ipex_k_activate__avx2(&rows);
    else
        for (int i = 0; i < ELEMENTS; i++)
            y[i] = IPEX_REF(act)(a[i], IPEX_ACT_silu, 0, 0);
}

static void run_function(const struct level *level, const struct function *f, const float *a,
                         const float *b, float *y) {
    if (f->step == NO_STEP)
        run_silu(level, a, y);
    else
        run(level, f->step, a, b, y);
}

static double ulp_of(double x) {
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, exponent - 24);
}

/* Error in units of the last place of the exact value; a result of 0 is right below `least`, one of
 * 2^-126 where it would be denormal. */
static double ulp_error(float got, double want, double least) {
    if (isnan(want))
        return isnan(got) ? 0 : INFINITY;
    if (fabs(want) > (double)3.4028234663852886e38f * (1 + 0x1p-25))
        return isinf(got) && (got > 0) == (want > 0) ? 0 : INFINITY;
    if (fabs(want) < least * (1 + 0x1p-22) && (got == 0 || fabs((double)got) == 0x1p-126))
        return 0;
    return fabs((double)got - want) / ulp_of(want);
}

static double function_error(const struct function *f, float x, float got) {
    const double taken = fabsf(x) < 0x1p-126f ? 0.0 : (double)x, want = f->exact(taken);
    if (f->most != 0 && fabs(taken) > f->most)
        return 0;
    const double error = ulp_error(got, want, f->least != 0 ? f->least : 0x1p-126);
    return f->of_argument && error > 0 && isfinite(x) ? error * ulp_of(want) / ulp_of(taken)
                                                      : error;
}

static int count_different(const float *got, const float *want) {
    int ret = 0;
    for (int i = 0; i < ELEMENTS; i++)
        ret += memcmp(&got[i], &want[i], 4) != 0 && !(isnan(got[i]) && isnan(want[i]));
    return ret;
}

static void check_function(const struct context *context, const struct function *f) {
    const uint32_t stride = context->float_stride;
    static float x[ELEMENTS], one[ELEMENTS], want[ELEMENTS], got[ELEMENTS];
    double worst = 0;
    float worst_x = 0;
    int different = 0;
    for (int i = 0; i < ELEMENTS; i++)
        one[i] = 1; /* elu's alpha */
    for (uint64_t base = 0; base < UINT64_C(0x100000000); base += (uint64_t)stride * ELEMENTS) {
        for (uint32_t i = 0; i < ELEMENTS; i++)
            x[i] = from_bits((uint32_t)(base + (uint64_t)i * stride));
        run_function(&context->levels[0], f, x, one, want);
        for (int i = 0; i < ELEMENTS; i++) {
            const double error = function_error(f, x[i], want[i]);
            if (error > worst || isnan(error)) {
                worst = error;
                worst_x = x[i];
            }
        }
        for (size_t k = 1; k < context->n_levels; k++) {
            run_function(&context->levels[k], f, x, one, got);
            different += count_different(got, want);
        }
    }
    char name[100];
    snprintf(name, sizeof name, "%s: within %.1f ULP of f64 (worst %.3f at %a)", f->name, f->bound,
             worst, (double)worst_x);
    report(worst <= f->bound, name, "too far");
    snprintf(name, sizeof name, "%s: the same bits at every level", f->name);
    report(different == 0, name, "%d values differ", different);
}

/* Every pair of these, among them what C's pow treats specially. */
static const float pow_values[] = {
    0.0f,        -0.0f,        1.0f,     -1.0f,     2.0f,   -2.0f,     3.0f,  -3.0f,
    0.5f,        -0.5f,        1.5f,     -1.5f,     10.0f,  127.0f,    1e-3f, 64.5f,
    16777218.0f, -16777216.0f, 1e-40f,   1e30f,     -1e30f, 0x1p-126f, 3e38f, 1e-30f,
    0.999f,      1.001f,       INFINITY, -INFINITY, NAN,    -126.0f,   0.25f, 1.41421f,
};
enum { POW_VALUES = sizeof pow_values / sizeof pow_values[0] };

/* Where the result is a number: a of any size, b so that a^b fits. */
static void random_pow(struct rng *rng, float *a, float *b) {
    *a = ldexpf(1.0f + fabsf(rng_float(rng)), (int)rng_range(rng, -120, 120));
    if (rng_one_in(rng, 3))
        *a = 1.0f + rng_float(rng) * 0.4f;
    *b = (float)((double)rng_float(rng) * 88 / fmax(fabs(log((double)*a)), 1e-3));
    if (rng_one_in(rng, 4)) {
        *a = -*a;
        *b = rintf(*b);
    }
}

/* Whether pow's answer is what C's is; the sign of 0 is not looked at. */
static double pow_error(float a, float b, float got) {
    const double x = fabsf(a) < 0x1p-126f ? copysign(0.0, (double)a) : (double)a;
    const double want = pow(x, fabsf(b) < 0x1p-126f ? 0.0 : (double)b);
    return ulp_error(got, want, 0x1p-126);
}

static void check_pow(const struct context *context, int blocks) {
    static float a[ELEMENTS], b[ELEMENTS], want[ELEMENTS], got[ELEMENTS];
    const double bound = 20;
    struct rng rng = {context->seed + 77};
    double worst = 0;
    float worst_a = 0, worst_b = 0;
    int different = 0;
    for (int block = 0; block < blocks; block++) {
        for (int i = 0; i < ELEMENTS; i++) {
            random_pow(&rng, &a[i], &b[i]);
            if (block == 0 && i < POW_VALUES * POW_VALUES) {
                a[i] = pow_values[i / POW_VALUES];
                b[i] = pow_values[i % POW_VALUES];
            }
        }
        run(&context->levels[0], IPEX_STEP_pow, a, b, want);
        for (int i = 0; i < ELEMENTS; i++) {
            const double error = pow_error(a[i], b[i], want[i]);
            if (error > worst || isnan(error)) {
                worst = error;
                worst_a = a[i];
                worst_b = b[i];
            }
        }
        for (size_t k = 1; k < context->n_levels; k++) {
            run(&context->levels[k], IPEX_STEP_pow, a, b, got);
            different += count_different(got, want);
        }
    }
    char name[120];
    snprintf(name, sizeof name, "pow: within %.1f ULP of f64 (worst %.3f at %a, %a)", bound, worst,
             (double)worst_a, (double)worst_b);
    report(worst <= bound, name, "too far");
    report(different == 0, "pow: the same bits at every level", "%d values differ", different);
}

void check_math(const struct context *context) {
    if (!wanted(context, "pointwise_f32"))
        return;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        check_function(context, &functions[i]);
    check_pow(context, context->cases >= 100000 ? 4000 : 200);
}
