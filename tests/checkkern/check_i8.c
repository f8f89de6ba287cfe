/* SPDX-License-Identifier: Apache-2.0 */
/* conv_i8: matrices and convolutions of random sizes, gaps and jobs, the extremes of i8 among the
 * values; the reference against sums in 64 bits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/jobs.h"
#include "tests/checkkern/checkkern.h"
#include "tests/checkkern/conv_shape.h"

struct operands {
    struct buffer x, w, bias, scale, residual, y;
};

static int8_t random_i8(struct rng *rng) {
    if (rng_one_in(rng, 4))
        return rng_one_in(rng, 2) ? INT8_MIN : INT8_MAX;
    return (int8_t)rng_range(rng, INT8_MIN, INT8_MAX);
}

/* A convolution with rows of the kernel, or taps, as segments; with a kernel of 1 a matrix. */
static struct ipex_conv_args random_args(struct rng *rng, bool big) {
    const int32_t kernel = rng_one_in(rng, 2) ? 1 : 3;
    struct conv_shape shape = {
        .images = (int32_t)rng_range(rng, 1, 2),
        .lines = (int32_t)rng_range(rng, 1, 4),
        .pixels = (int32_t)rng_range(rng, 1, 40),
        .kernel_h = kernel,
        .kernel_w = kernel,
        .groups = rng_one_in(rng, 4) ? 2 : 1,
        .k = (int32_t)rng_range(rng, 1, big ? 600 : 90),
        .n = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 150 : 40),
        .x_gap = rng_one_in(rng, 2) ? (int32_t)rng_range(rng, 1, 5) : 0,
        .y_gap = (int32_t)rng_range(rng, 0, 9),
    };
    shape.last_pixels = (int32_t)rng_range(rng, 1, shape.pixels);
    struct ipex_conv_args a = conv_shape_args(&shape);
    a.act = (int32_t)rng_range(rng, 0, IPEX_ACT_COUNT - 1);
    a.act_a = 0.2f;
    a.act_b = 0.5f;
    a.panels_outside = rng_one_in(rng, 2);
    a.lines_per_job = (int32_t)rng_range(rng, 1, a.lines);
    a.panels_per_job = (int32_t)rng_range(rng, 1, ipex_div_up(a.n, 16));
    return a;
}

static struct buffer random_floats(size_t count, struct rng *rng, float size) {
    struct buffer ret = buffer_make(count * 4);
    for (size_t i = 0; i < count; i++)
        ((float *)ret.data)[i] = rng_float(rng) * size;
    return ret;
}

/* Where the weight of output n of group g lies: tiles of four k per row. */
static int64_t weight_at(const struct ipex_conv_args *a, int64_t segment, int64_t n, int64_t k) {
    const int64_t tiles = ipex_div_up(a->k, 64), panels = ipex_div_up(a->n, 16);
    return ((segment * panels + n / 16) * tiles * 16 + k / 4) * 64 + n % 16 * 4 + k % 4;
}

static struct buffer random_tiles(const struct ipex_conv_args *a, struct rng *rng) {
    const int64_t segments = (int64_t)a->groups * a->segments_h * a->segments_w;
    struct buffer ret =
        buffer_make((size_t)(segments * ipex_div_up(a->n, 16) * ipex_div_up(a->k, 64) * 1024));
    memset(ret.data, 0, ret.bytes);
    for (int64_t s = 0; s < segments; s++)
        for (int64_t n = 0; n < a->n; n++)
            for (int64_t k = 0; k < a->k; k++)
                ((int8_t *)ret.data)[weight_at(a, s, n, k)] = random_i8(rng);
    return ret;
}

static struct operands make_operands(struct ipex_conv_args *a, struct rng *rng) {
    const size_t outputs = (size_t)a->groups * (size_t)a->n;
    const size_t pixels = (size_t)a->images * (size_t)a->lines * (size_t)a->pixels;
    struct operands ret = {
        .x = buffer_make((size_t)(a->images * a->x_image)),
        .w = random_tiles(a, rng),
        .bias = random_floats((outputs + 15) / 16 * 16, rng, 1),
        .scale = random_floats((outputs + 15) / 16 * 16, rng, 1e-3f),
        .residual = random_floats(pixels * outputs, rng, 1),
        .y = buffer_make(pixels * (size_t)a->y_pixel * 4),
    };
    for (size_t i = 0; i < ret.x.bytes; i++)
        ((int8_t *)ret.x.data)[i] = random_i8(rng);
    a->x = ret.x.data;
    a->w = ret.w.data;
    a->bias = ret.bias.data;
    a->scale = ret.scale.data;
    a->residual = rng_one_in(rng, 2) ? ret.residual.data : NULL;
    return ret;
}

static void free_operands(struct operands *o) {
    struct buffer *all[] = {&o->x, &o->w, &o->bias, &o->scale, &o->residual, &o->y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_free(all[i]);
}

static struct buffer run_level(const struct level *level, const struct ipex_conv_args *args,
                               const struct operands *operands, struct rng *rng) {
    struct ipex_conv_args a = *args;
    struct buffer y = buffer_copy(&operands->y);
    fill_canary(&y);
    a.y = y.data;
    running("conv_i8", level->name);
    run_jobs(rng, level->conv_i8, &a, ipex_conv_jobs(&a), 0);
    return y;
}

static double exact(const struct ipex_conv_args *a, int64_t i, int64_t l, int64_t p, int64_t c) {
    const int64_t g = c / a->n, n = c % a->n;
    const int64_t segments = (int64_t)a->segments_h * a->segments_w;
    const int8_t *x =
        (const int8_t *)a->x + i * a->x_image + l * a->x_line + p * a->x_pixel + g * a->x_group;
    int64_t sum = 0;
    for (int64_t s = 0; s < segments; s++)
        for (int64_t k = 0; k < a->k; k++)
            sum += x[s / a->segments_w * a->x_kh + s % a->segments_w * a->x_kw + k] *
                   ((const int8_t *)a->w)[weight_at(a, g * segments + s, n, k)];
    double value = (double)sum * (double)a->scale[c] + (double)a->bias[c];
    if (a->residual)
        value += (double)a->residual[i * a->r_image + l * a->r_line + p * a->r_pixel + c];
    return exact_act(value, a->act, (double)a->act_a, (double)a->act_b);
}

/* In units of the bound: the roundings of the sum, of the fma, of the residual, and those of the
 * activation. */
static double worst_error(const struct ipex_conv_args *a, const float *y) {
    const double products = (double)a->segments_h * a->segments_w * a->k;
    double worst = 0;
    for (int64_t i = 0; i < a->images; i++)
        for (int64_t l = 0; l < a->lines; l++)
            for (int64_t p = 0; p < (l == a->lines - 1 ? a->last_pixels : a->pixels); p++)
                for (int64_t c = 0; c < (int64_t)a->groups * a->n; c++) {
                    const double got =
                        (double)y[i * a->y_image + l * a->y_line + p * a->y_pixel + c];
                    const double most = 16384 * products * fabs((double)a->scale[c]) + 2;
                    worst = fmax(worst, fabs(got - exact(a, i, l, p, c)) / (8 * 0x1p-24 * most));
                }
    return worst;
}

static int check_case(const struct context *context, struct rng *rng, bool big) {
    struct ipex_conv_args args = random_args(rng, big);
    struct operands operands = make_operands(&args, rng);
    struct buffer want = run_level(&context->levels[0], &args, &operands, rng);
    const double error = worst_error(&args, want.data);
    char text[160];
    int failed = 0;
    snprintf(text, sizeof text,
             "conv_i8 %d x %d (%d), segments %d x %d, %d -> %d, groups %d, act %d", args.lines,
             args.pixels, args.last_pixels, args.segments_h, args.segments_w, args.k, args.n,
             args.groups, args.act);
    if (!(error <= 1))
        failed += !report(false, text, "the reference is %g of the bound off", error);
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_level(&context->levels[i], &args, &operands, rng);
        failed += report_difference(text, context->levels[i].name, &want, &got);
        buffer_free(&got);
    }
    buffer_free(&want);
    free_operands(&operands);
    return failed;
}

void check_i8(const struct context *context) {
    struct rng rng = {context->seed + 12};
    int failed = 0;
    if (!wanted(context, "conv_i8"))
        return;
    for (int i = 0; i < context->cases; i++)
        failed += check_case(context, &rng, i % 16 == 0);
    report(failed == 0, "conv_i8: random shapes", "%d failed", failed);
}
