/* SPDX-License-Identifier: Apache-2.0 */
/* conv_transpose of f32, bf16 and with weights in bf16, and resize_f32: random geometries with gaps
 * and poison around x, all levels against the reference; the transposed convolution against its
 * other definition, which spreads every x over the outputs, in f64; resizing against values of the
 * ONNX project's evaluator. */
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/resize_taps.h"

/* ---- conv_transpose_f32 ---- */

/* For slots on bf16 values are cut to it, and kept in f32 too. */
enum slot { TRANSPOSE_F32, TRANSPOSE_BF16W, TRANSPOSE_BF16, TRANSPOSE_BF16T, SLOTS };
static const char *const slot_names[SLOTS] = {"conv_transpose_f32", "conv_transpose_bf16w",
                                              "conv_transpose_bf16", "conv_transpose_bf16t"};

struct operands {
    enum slot slot;
    struct buffer x, w, bias;
    struct buffer x_bf16, w_bf16;
    int64_t y_floats;
};

static struct ipex_conv_transpose_args random_transpose(struct rng *rng) {
    struct ipex_conv_transpose_args a = {
        .images = (int32_t)rng_range(rng, 1, 2),
        .height = (int32_t)rng_range(rng, 1, 7),
        .width = (int32_t)rng_range(rng, 1, rng_one_in(rng, 4) ? 40 : 9),
        .kernel_h = (int32_t)rng_range(rng, 1, 5),
        .kernel_w = (int32_t)rng_range(rng, 1, 5),
        .stride_h = (int32_t)rng_range(rng, 1, 4),
        .stride_w = (int32_t)rng_range(rng, 1, 4),
        .dilation_h = rng_one_in(rng, 4) ? (int32_t)rng_range(rng, 2, 4) : 1,
        .dilation_w = rng_one_in(rng, 4) ? (int32_t)rng_range(rng, 2, 4) : 1,
        .pad_top = rng_one_in(rng, 2) ? (int32_t)rng_range(rng, 0, 4) : 0,
        .pad_left = rng_one_in(rng, 2) ? (int32_t)rng_range(rng, 0, 4) : 0,
        .groups = rng_one_in(rng, 4) ? (int32_t)rng_range(rng, 2, 3) : 1,
        .k = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 70 : 20),
        .n = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 70 : 20),
        .act = (int32_t)rng_range(rng, 0, IPEX_ACT_tanh),
        .act_a = 0.2f,
        .act_b = 0.5f,
        .panels_outside = rng_one_in(rng, 2),
        .cache_l2 = rng_one_in(rng, 2) ? 1 << 20 : (int32_t)rng_range(rng, 1, 20000),
    };
    const bool touching = rng_one_in(rng, 4); /* windows, as most models have them */
    if (touching) {
        a.stride_h = a.kernel_h;
        a.stride_w = a.kernel_w;
        a.dilation_h = a.dilation_w = a.groups = 1;
        a.pad_top = a.pad_left = 0;
    }
    a.touching = touching && rng_one_in(rng, 2);
    a.few = rng_one_in(rng, 3); /* columns in the last panel: pixels in lanes */
    if (a.touching) {
        a.kernel_w = a.stride_w = 1;
        a.k = (int32_t)rng_range(rng, 8, 70);
        a.n = (int32_t)rng_range(rng, 1, 16 / a.stride_h);
        a.width = (int32_t)rng_range(rng, 8, rng_one_in(rng, 3) ? 300 : 40);
    } else if (a.few) {
        a.n = 16 * (int32_t)rng_range(rng, 0, 2) + (int32_t)rng_range(rng, 1, 15);
        a.width = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 150 : 30);
    }
    /* as large as the taps reach, sometimes less (padding), sometimes more (output padding) */
    const int32_t reach_h = (a.height - 1) * a.stride_h + (a.kernel_h - 1) * a.dilation_h + 1;
    const int32_t reach_w = (a.width - 1) * a.stride_w + (a.kernel_w - 1) * a.dilation_w + 1;
    a.lines = reach_h - a.pad_top + (touching ? 0 : (int32_t)rng_range(rng, -2, 5));
    a.pixels = reach_w - a.pad_left + (touching ? 0 : (int32_t)rng_range(rng, -2, 5));
    a.lines = a.lines < 1 ? 1 : a.lines;
    a.pixels = a.pixels < 1 ? 1 : a.pixels;
    a.x_pixel = (int64_t)a.groups * a.k + (rng_one_in(rng, 3) ? rng_range(rng, 1, 9) : 0);
    a.x_row = a.width * a.x_pixel + (rng_one_in(rng, 3) ? rng_range(rng, 1, 30) : 0);
    a.x_image = a.height * a.x_row + rng_range(rng, 0, 5);
    a.y_pixel = (int64_t)a.groups * a.n + (rng_one_in(rng, 3) ? rng_range(rng, 1, 9) : 0);
    a.y_line = a.pixels * a.y_pixel + rng_range(rng, 0, 3);
    a.y_image = a.lines * a.y_line;
    a.lines_per_job = (int32_t)rng_range(rng, 1, a.lines);
    if (a.touching)
        a.lines_per_job = (int32_t)rng_range(rng, 1, a.height) * a.stride_h;
    a.panels_per_job = (int32_t)rng_range(rng, 1, (a.n + 15) / 16);
    return a;
}

static int64_t tap_floats(const struct ipex_conv_transpose_args *a) {
    return (int64_t)(a->n + 15) / 16 * ((a->k + 15) / 16) * 256;
}

/* Where the weight of (group, tap, n, k) lies. */
static int64_t weight_at(const struct ipex_conv_transpose_args *a, int64_t g, int64_t tap,
                         int64_t n, int64_t k) {
    const int64_t panel = n / 16 * ((a->k + 15) / 16) * 256;
    return (g * a->kernel_h * a->kernel_w + tap) * tap_floats(a) + panel + k * 16 + n % 16;
}

static struct operands make_operands(struct ipex_conv_transpose_args *a, enum slot slot,
                                     struct rng *rng, bool special) {
    struct operands ret = {.slot = slot};
    const int64_t channels = (int64_t)a->groups * a->k, outputs = (int64_t)a->groups * a->n;
    const int64_t taps = (int64_t)a->kernel_h * a->kernel_w;
    const int64_t last_x =
        (a->images - 1) * a->x_image + (a->height - 1) * a->x_row + (a->width - 1) * a->x_pixel;
    ret.x = buffer_make((size_t)(last_x + channels) * 4);
    fill_poison(&ret.x);
    for (int64_t i = 0; i < a->images; i++)
        for (int64_t h = 0; h < a->height; h++)
            for (int64_t w = 0; w < a->width; w++)
                for (int64_t c = 0; c < channels; c++)
                    ((float *)ret.x.data)[i * a->x_image + h * a->x_row + w * a->x_pixel + c] =
                        rng_value(rng, special);
    ret.w = buffer_make((size_t)(a->groups * taps * tap_floats(a)) * 4);
    memset(ret.w.data, 0, ret.w.bytes);
    for (int64_t g = 0; g < a->groups; g++)
        for (int64_t t = 0; t < taps; t++)
            for (int64_t n = 0; n < a->n; n++)
                for (int64_t k = 0; k < a->k; k++)
                    ((float *)ret.w.data)[weight_at(a, g, t, n, k)] = rng_float(rng);
    ret.bias = buffer_make((size_t)((outputs + 15) / 16 * 16) * 4);
    fill_poison(&ret.bias);
    for (int64_t n = 0; n < outputs; n++)
        ((float *)ret.bias.data)[n] = rng_value(rng, special);
    if (slot != TRANSPOSE_F32)
        ret.w_bf16 = cut_tiles_to_bf16(&ret.w, a->groups * taps * ((a->n + 15) / 16), a->k);
    if (slot >= TRANSPOSE_BF16)
        ret.x_bf16 = cut_to_bf16(&ret.x);
    ret.y_floats = (a->images - 1) * a->y_image + (a->lines - 1) * a->y_line +
                   (a->pixels - 1) * a->y_pixel + outputs;
    a->x = ret.x.data;
    a->w = ret.w.data;
    a->bias = ret.bias.data;
    return ret;
}

static struct buffer run_transpose(const struct level *level,
                                   const struct ipex_conv_transpose_args *args,
                                   const struct operands *operands, struct rng *rng) {
    const ipex_kernel_fn kernels[SLOTS] = {(ipex_kernel_fn)level->kernels.conv_transpose_f32,
                                           (ipex_kernel_fn)level->kernels.conv_transpose_bf16w,
                                           (ipex_kernel_fn)level->kernels.conv_transpose_bf16,
                                           (ipex_kernel_fn)level->kernels.conv_transpose_bf16t};
    struct ipex_conv_transpose_args a = *args;
    struct buffer y = buffer_make((size_t)operands->y_floats * 4);
    fill_canary(&y);
    a.y = y.data;
    if (operands->slot != TRANSPOSE_F32)
        a.w = operands->w_bf16.data;
    if (operands->slot >= TRANSPOSE_BF16)
        a.x = operands->x_bf16.data;
    running(slot_names[operands->slot], level->name);
    run_jobs(rng, kernels[operands->slot], &a, ipex_conv_transpose_jobs(&a),
             ipex_conv_transpose_scratch(&a));
    return y;
}

/* The contribution of x (h, w) to output channel c of a pixel of y: for every tap that leads
 * there. */
static void spread(const struct ipex_conv_transpose_args *a, int64_t image, int64_t c, double *sum,
                   double *magnitude) {
    const int64_t g = c / a->n;
    for (int64_t h = 0; h < a->height; h++)
        for (int64_t w = 0; w < a->width; w++)
            for (int64_t t = 0; t < (int64_t)a->kernel_h * a->kernel_w; t++) {
                const int64_t l = h * a->stride_h + t / a->kernel_w * a->dilation_h - a->pad_top;
                const int64_t p = w * a->stride_w + t % a->kernel_w * a->dilation_w - a->pad_left;
                if (l < 0 || p < 0 || l >= a->lines || p >= a->pixels)
                    continue;
                const float *x = (const float *)a->x + image * a->x_image + h * a->x_row +
                                 w * a->x_pixel + g * a->k;
                const float *weights = a->w;
                for (int64_t k = 0; k < a->k; k++) {
                    const double term =
                        (double)x[k] * (double)weights[weight_at(a, g, t, c % a->n, k)];
                    sum[l * a->pixels + p] += term;
                    magnitude[l * a->pixels + p] += fabs(term);
                }
            }
}

/* The reference within the classic bound (terms + 1) 2^-24 sum |terms|, and 4 ULP for the
 * activation. */
static double transpose_error(const struct ipex_conv_transpose_args *a, const float *y) {
    const double terms = (double)a->kernel_h * a->kernel_w * a->k + 2;
    const size_t pixels = (size_t)a->lines * (size_t)a->pixels;
    struct buffer sums = buffer_make(pixels * 16);
    double *sum = sums.data, *magnitude = sum + pixels, worst = 0;
    for (int64_t i = 0; i < a->images; i++)
        for (int64_t c = 0; c < (int64_t)a->groups * a->n; c++) {
            for (size_t p = 0; p < pixels; p++) {
                sum[p] = (double)a->bias[c];
                magnitude[p] = fabs(sum[p]);
            }
            spread(a, i, c, sum, magnitude);
            for (int64_t p = 0; p < (int64_t)pixels; p++) {
                const double want = exact_act(sum[p], a->act, (double)a->act_a, (double)a->act_b);
                const double got = (double)
                    y[i * a->y_image + p / a->pixels * a->y_line + p % a->pixels * a->y_pixel + c];
                const double bound =
                    terms * 0x1p-24 * magnitude[p] * act_slope(a->act, (double)a->act_a) +
                    0x1p-22 * fabs(want) + 0x1p-24;
                worst = fmax(worst, fabs(got - want) / bound);
            }
        }
    buffer_free(&sums);
    return worst;
}

static int check_transpose(const struct context *context, struct rng *rng, enum slot slot,
                           struct ipex_conv_transpose_args args) {
    const bool special = rng_one_in(rng, 5) && !context->only_normal;
    struct operands operands = make_operands(&args, slot, rng, special);
    struct buffer want = run_transpose(&context->levels[0], &args, &operands, rng);
    char text[300];
    int failed = 0;
    snprintf(text, sizeof text,
             "%s: %dx%dx%d to %dx%d kernel %dx%d stride %dx%d dilation %dx%d pad "
             "%d,%d groups %d %d->%d%s",
             slot_names[slot], args.images, args.height, args.width, args.lines, args.pixels,
             args.kernel_h, args.kernel_w, args.stride_h, args.stride_w, args.dilation_h,
             args.dilation_w, args.pad_top, args.pad_left, args.groups, args.k, args.n,
             args.touching ? " touching"
             : args.few    ? " few"
                           : "");
    if (!special) {
        const double error = transpose_error(&args, want.data);
        if (!(error <= 1))
            failed += !report(false, text, "reference: error is %g of the bound", error);
    }
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_transpose(&context->levels[i], &args, &operands, rng);
        const int64_t at = first_difference(&want, &got);
        if (at >= 0)
            failed += !report(false, text, "%s: element %lld of %lld: %a, want %a",
                              context->levels[i].name, (long long)at, (long long)operands.y_floats,
                              (double)((float *)got.data)[at], (double)((float *)want.data)[at]);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&operands.x);
    buffer_free(&operands.w);
    if (slot != TRANSPOSE_F32)
        buffer_free(&operands.w_bf16);
    if (slot >= TRANSPOSE_BF16)
        buffer_free(&operands.x_bf16);
    buffer_free(&operands.bias);
    return failed;
}

/* ---- resize_f32 ---- */

static struct ipex_resize_args random_resize(struct rng *rng) {
    struct ipex_resize_args a = {
        .images = (int32_t)rng_range(rng, 1, 2),
        .height = (int32_t)rng_range(rng, 1, 6),
        .width = (int32_t)rng_range(rng, 1, 9),
        .channels = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 70 : 20),
        .lines = (int32_t)rng_range(rng, 1, 15),
        .pixels = (int32_t)rng_range(rng, 1, 20),
        .mode = (int32_t)rng_range(rng, 0, IPEX_RESIZE_MODE_COUNT - 1),
        .coordinates = (int32_t)rng_range(rng, 0, IPEX_RESIZE_COORDINATES_COUNT - 1),
        .rounding = (int32_t)rng_range(rng, 0, IPEX_RESIZE_ROUNDING_COUNT - 1),
        .exclude_outside = rng_one_in(rng, 3),
        .cubic_a = rng_one_in(rng, 2) ? -0.75f : -0.5f,
    };
    if (rng_one_in(rng, 2)) { /* whole factors */
        a.lines = a.height * (int32_t)rng_range(rng, 1, 3);
        a.pixels = a.width * (int32_t)rng_range(rng, 1, 3);
    }
    if (rng_one_in(rng, 3)) { /* any scale is safe, also one that has nothing to do with sizes */
        a.scale_h = ldexpf(1.5f + rng_float(rng), (int)rng_range(rng, -30, 30));
        a.scale_w = ldexpf(1.5f + rng_float(rng), (int)rng_range(rng, -3, 3));
    }
    a.x_pixel = a.channels + (rng_one_in(rng, 3) ? rng_range(rng, 1, 9) : 0);
    a.x_row = a.width * a.x_pixel + rng_range(rng, 0, 9);
    a.x_image = a.height * a.x_row;
    a.y_pixel = a.channels + (rng_one_in(rng, 3) ? rng_range(rng, 1, 9) : 0);
    a.y_line = a.pixels * a.y_pixel + rng_range(rng, 0, 9);
    a.y_image = a.lines * a.y_line;
    a.lines_per_job = (int32_t)rng_range(rng, 1, a.lines);
    return a;
}

static struct buffer run_resize(const struct level *level, const struct ipex_resize_args *args,
                                struct rng *rng) {
    struct ipex_resize_args a = *args;
    const int64_t floats = (a.images - 1) * a.y_image + (a.lines - 1) * a.y_line +
                           (a.pixels - 1) * a.y_pixel + a.channels;
    struct buffer y = buffer_make((size_t)(floats * a.size));
    fill_canary(&y);
    a.y = y.data;
    running("resize_f32", level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.resize_f32, &a, ipex_resize_jobs(&a),
             ipex_resize_scratch(&a));
    return y;
}

static int check_resize(const struct context *context, struct rng *rng) {
    struct ipex_resize_args args = random_resize(rng);
    const bool special = rng_one_in(rng, 5);
    args.size = args.mode == IPEX_RESIZE_nearest && rng_one_in(rng, 2) ? 1 : 4;
    const int64_t floats = (args.images - 1) * args.x_image + (args.height - 1) * args.x_row +
                           (args.width - 1) * args.x_pixel + args.channels;
    struct buffer x = buffer_make((size_t)(floats * args.size));
    for (int64_t i = 0; i < floats; i++)
        if (args.size == 1)
            ((uint8_t *)x.data)[i] = (uint8_t)rng_next(rng);
        else
            ((float *)x.data)[i] = rng_value(rng, special);
    args.x = x.data;
    struct buffer want = run_resize(&context->levels[0], &args, rng);
    int failed = 0;
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_resize(&context->levels[i], &args, rng);
        const int64_t at =
            args.size == 1 ? first_byte_difference(&want, &got) : first_difference(&want, &got);
        if (at >= 0 && args.size == 1)
            failed += !report(false, "resize_f32 shape", "%s: byte %lld of %zu, %d channels",
                              context->levels[i].name, (long long)at, got.bytes, args.channels);
        else if (at >= 0)
            failed += !report(false, "resize_f32 shape",
                              "%s: mode %d, %dx%d to %dx%d, %d channels, element %lld: %a, want %a",
                              context->levels[i].name, args.mode, args.height, args.width,
                              args.lines, args.pixels, args.channels, (long long)at,
                              (double)((float *)got.data)[at], (double)((float *)want.data)[at]);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&x);
    return failed;
}

struct resize_value {
    int32_t in, out;
    double scale;
    int32_t mode, coordinates, rounding;
    bool exclude_outside;
    const double *want; /* [out] */
};

static const struct resize_value resize_values[] = {
#define RESIZE(in, out, scale, mode, coordinates, rounding, exclude, ...)                          \
    {in,                                                                                           \
     out,                                                                                          \
     scale,                                                                                        \
     IPEX_RESIZE_##mode,                                                                           \
     IPEX_RESIZE_##coordinates,                                                                    \
     IPEX_RESIZE_##rounding,                                                                       \
     exclude,                                                                                      \
     (const double[]){__VA_ARGS__}},
#include "tests/checkkern/resize_values.inc"
};

/* The row lies along W, or along H. */
static bool resize_as_onnx(const struct level *level, const struct resize_value *v, bool vertical) {
    enum { MOST = 64 };
    float x[MOST], y[MOST] = {0};
    struct ipex_resize_taps scratch[MOST];
    for (int32_t i = 0; i < v->in; i++)
        x[i] = (float)(i * i * 7 % 23 - 5) + 0.25f * (float)i;
    struct ipex_resize_args a = {
        .x = x,
        .y = y,
        .size = sizeof(float),
        .x_row = vertical ? 1 : v->in,
        .x_pixel = 1,
        .y_line = vertical ? 1 : v->out,
        .y_pixel = 1,
        .images = 1,
        .height = vertical ? v->in : 1,
        .width = vertical ? 1 : v->in,
        .channels = 1,
        .lines = vertical ? v->out : 1,
        .pixels = vertical ? 1 : v->out,
        .mode = v->mode,
        .coordinates = v->coordinates,
        .rounding = v->rounding,
        .exclude_outside = v->exclude_outside,
        .scale_h = vertical ? (float)v->scale : 1,
        .scale_w = vertical ? 1 : (float)v->scale,
        .cubic_a = -0.75f,
        .lines_per_job = 1,
    };
    level->kernels.resize_f32(&a, 0, ipex_resize_jobs(&a), scratch);
    for (int32_t i = 0; i < v->out; i++) {
        /* the evaluator computes positions in f32, some with an error of 1e-6; values reach 18 */
        const double bound = v->mode == IPEX_RESIZE_nearest ? 0 : 2e-5;
        if (!(fabs((double)y[i] - v->want[i]) <= bound))
            return report(false, "resize_f32 as ONNX",
                          "%s: %d to %d scale %g mode %d coordinates %d rounding %d exclude %d, "
                          "element %d: %.9g, want %.9g",
                          level->name, v->in, v->out, v->scale, v->mode, v->coordinates,
                          v->rounding, v->exclude_outside, i, (double)y[i], v->want[i]);
    }
    return true;
}

void check_image(const struct context *context) {
    struct rng rng = {context->seed + 6};
    int failed = 0;
    for (int slot = 0; slot < SLOTS; slot++) {
        char text[80];
        snprintf(text, sizeof text, "%s: random shapes", slot_names[slot]);
        failed = 0;
        for (int i = 0; wanted(context, slot_names[slot]) && i < context->cases; i++)
            failed += check_transpose(context, &rng, (enum slot)slot, random_transpose(&rng));
        if (wanted(context, slot_names[slot]))
            report(failed == 0, text, "%d failed", failed);
    }
    if (!wanted(context, "resize_f32"))
        return;
    failed = 0;
    for (int i = 0; i < context->cases * 2; i++)
        failed += check_resize(context, &rng);
    report(failed == 0, "resize_f32: random shapes", "%d failed", failed);
    failed = 0;
    for (size_t l = 0; l < context->n_levels; l++)
        for (size_t i = 0; i < sizeof resize_values / sizeof *resize_values; i++)
            for (int vertical = 0; vertical < 2; vertical++)
                failed += !resize_as_onnx(&context->levels[l], &resize_values[i], vertical != 0);
    report(failed == 0, "resize_f32: values of the ONNX reference evaluator", "%d failed", failed);
}
