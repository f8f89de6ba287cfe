/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_f32, depthwise_bf16y: random geometries, narrow groups, gaps that are
 * poisoned, residuals in place; the reference against f64. */
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <stdio.h>

#include "kernels/bf16.h"

struct shape {
    int32_t images, lines, pixels, channels, kernel_h, kernel_w, stride_h, stride_w;
    int32_t dilation_h, dilation_w, pad_top, pad_bottom, x_gap, y_gap, lines_per_job,
        pixels_per_job, act;
    int32_t group_inputs, group_outputs, inputs; /* channels of x */
    bool residual, special;
};

struct operands {
    struct buffer x, w, bias, residual, y;
};

static struct shape random_shape(struct rng *rng) {
    struct shape s = {
        .images = (int32_t)rng_range(rng, 1, 2),
        .lines = (int32_t)rng_range(rng, 1, 4),
        .pixels = (int32_t)rng_range(rng, 1, 20),
        .channels = (int32_t)rng_range(rng, 1, rng_one_in(rng, 2) ? 20 : 70),
        .kernel_h = (int32_t)rng_range(rng, 1, 5),
        .kernel_w = (int32_t)rng_range(rng, 1, 5),
        .stride_h = (int32_t)rng_range(rng, 1, 2),
        .stride_w = (int32_t)rng_range(rng, 1, 3),
        .dilation_h = rng_one_in(rng, 4) ? 2 : 1,
        .dilation_w = rng_one_in(rng, 4) ? 2 : 1,
        .x_gap = rng_one_in(rng, 3) ? (int32_t)rng_range(rng, 1, 9) : 0,
        .y_gap = rng_one_in(rng, 3) ? (int32_t)rng_range(rng, 1, 9) : 0,
        .act = (int32_t)rng_range(rng, 0, IPEX_ACT_COUNT - 1),
        .residual = rng_one_in(rng, 2),
        .special = rng_one_in(rng, 5),
    };
    if (rng_one_in(rng, 2)) { /* the windows that have register blocks of their own */
        s.kernel_h = s.kernel_w = (int32_t)(3 + 2 * rng_range(rng, 0, 2));
        s.stride_h = s.stride_w = rng_one_in(rng, 3) ? 2 : 1;
        s.dilation_h = s.dilation_w = 1;
        if (rng_one_in(rng, 3)) /* strides that differ */
            s.stride_h = 3 - s.stride_w;
        if (rng_one_in(rng, 4)) /* windows that are not square */
            s.kernel_h = (int32_t)rng_range(rng, 1, 7);
        if (rng_one_in(rng, 4)) /* ... nor of their width: those roll */
            s.kernel_w = (int32_t)rng_range(rng, 4, 12);
    }
    if (rng_one_in(rng, 4)) { /* pixels that lie side by side in a vector */
        s.channels = 1 << rng_range(rng, 0, 3);
        s.stride_w = s.dilation_w = 1;
        s.x_gap = s.y_gap = 0;
    }
    s.group_inputs = s.group_outputs = 1;
    if (rng_one_in(rng, 2)) { /* narrow groups */
        s.group_outputs = 1 << rng_range(rng, 1, 2);
        s.group_inputs = 1 << rng_range(rng, 0, 2);
        s.group_inputs = s.group_inputs < s.group_outputs ? s.group_inputs : s.group_outputs;
        s.channels = (s.channels + s.group_outputs - 1) / s.group_outputs * s.group_outputs;
    }
    s.inputs = s.channels / s.group_outputs * s.group_inputs;
    s.lines_per_job = (int32_t)rng_range(rng, 1, s.lines);
    s.pixels_per_job = rng_one_in(rng, 3) ? (int32_t)rng_range(rng, 1, s.pixels) : 0;
    if (rng_one_in(rng, 2)) { /* at times every row that some line sees is padding */
        s.pad_top = (int32_t)rng_range(rng, -2, s.kernel_h + 1);
        s.pad_bottom = (int32_t)rng_range(rng, -2, s.kernel_h + 1);
    }
    return s;
}

static int64_t seen_rows(const struct shape *s) {
    return (int64_t)(s->lines - 1) * s->stride_h + (s->kernel_h - 1) * s->dilation_h + 1;
}

static struct ipex_depthwise_args make_args(const struct shape *s) {
    const int64_t x_pixel = s->inputs + s->x_gap, y_pixel = s->channels + s->y_gap;
    const int64_t x_row =
        x_pixel * ((s->pixels - 1) * s->stride_w + (s->kernel_w - 1) * s->dilation_w + 1);
    return (struct ipex_depthwise_args){
        .x_image = seen_rows(s) * x_row,
        .x_line = s->stride_h * x_row,
        .x_pixel = s->stride_w * x_pixel,
        .x_kh = s->dilation_h * x_row,
        .x_kw = s->dilation_w * x_pixel,
        .y_image = s->lines * s->pixels * y_pixel,
        .y_line = s->pixels * y_pixel,
        .y_pixel = y_pixel,
        .r_image = s->lines * s->pixels * y_pixel,
        .r_line = s->pixels * y_pixel,
        .r_pixel = y_pixel,
        .images = s->images,
        .lines = s->lines,
        .pixels = s->pixels,
        .channels = s->channels,
        .group_inputs = s->group_inputs,
        .group_outputs = s->group_outputs,
        .kernel_h = s->kernel_h,
        .kernel_w = s->kernel_w,
        .padding = {s->pad_top, s->pad_bottom, s->stride_h, s->dilation_h},
        .lines_per_job = s->lines_per_job,
        .pixels_per_job = s->pixels_per_job,
        .act = s->act,
        .act_a = s->act == IPEX_ACT_clip ? -0.5f : 0.2f,
        .act_b = s->act == IPEX_ACT_clip ? 1.5f : 0.5f,
    };
}

/* Every element that the kernel reads gets a value; what lies between, and padding above and below,
 * stays a NaN. */
static void fill_x(const struct ipex_depthwise_args *a, int64_t inputs, float *x, struct rng *rng,
                   bool special) {
    for (int64_t i = 0; i < a->images; i++)
        for (int64_t l = 0; l < a->lines; l++)
            for (int64_t p = 0; p < a->pixels; p++)
                for (int64_t t = 0; t < a->kernel_h * a->kernel_w; t++)
                    for (int64_t c = 0; c < inputs; c++) {
                        float *at = x + i * a->x_image + l * a->x_line + p * a->x_pixel +
                                    t / a->kernel_w * a->x_kh + t % a->kernel_w * a->x_kw + c;
                        if (takes_row(&a->padding, a->lines, l, a->kernel_h, t / a->kernel_w) &&
                            isnan(*at))
                            *at = rng_value(rng, special);
                    }
}

static int64_t last_x(const struct ipex_depthwise_args *a, int64_t inputs) {
    return (a->images - 1) * a->x_image + (a->lines - 1) * a->x_line +
           (a->pixels - 1) * a->x_pixel + (a->kernel_h - 1) * a->x_kh +
           (a->kernel_w - 1) * a->x_kw + inputs;
}

static struct operands make_operands(const struct shape *s, struct ipex_depthwise_args *a,
                                     struct rng *rng) {
    const int64_t padded = ipex_channels_pitch(a->channels);
    const int64_t gap = ipex_channels_gap(a->channels); /* not behind the last row */
    const int64_t weights = a->kernel_h * a->kernel_w * a->group_inputs * padded - gap;
    const int64_t outputs = a->images * a->y_image - s->y_gap;
    struct operands o = {
        .x = buffer_make((size_t)last_x(a, s->inputs) * 4),
        .w = buffer_make((size_t)weights * 4),
        .bias = buffer_make((size_t)(padded - gap) * 4),
        .residual = buffer_make((size_t)outputs * 4),
        .y = buffer_make((size_t)outputs * 4),
    };
    fill_poison(&o.x);
    fill_x(a, s->inputs, o.x.data, rng, s->special);
    fill_poison(&o.bias);
    for (int64_t c = 0; c < a->channels; c++)
        ((float *)o.bias.data)[c] = rng_value(rng, s->special);
    for (int64_t i = 0; i < weights; i++)
        ((float *)o.w.data)[i] = i % padded < a->channels ? rng_float(rng) : 0.0f;
    for (int64_t i = 0; i < outputs; i++)
        ((float *)o.residual.data)[i] = rng_value(rng, s->special);
    fill_canary(&o.y);
    a->x = o.x.data;
    a->w = o.w.data;
    a->bias = o.bias.data;
    return o;
}

static struct buffer run_level(const struct level *level, const struct shape *s,
                               const struct ipex_depthwise_args *args, const struct operands *o,
                               struct rng *rng) {
    struct ipex_depthwise_args a = *args;
    struct buffer y = buffer_copy(s->residual ? &o->residual : &o->y);
    a.y = y.data;
    a.residual = s->residual ? y.data : NULL;
    running("depthwise_f32", level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.depthwise_f32, &a, ipex_depthwise_jobs(&a), 0);
    return y;
}

/* A kernel that rounds what it computes; a: where to, besides. */
static void run_rounded(const struct level *level, const char *slot, ipex_kernel_fn kernel,
                        const struct shape *s, struct ipex_depthwise_args *a,
                        const struct operands *o, struct rng *rng) {
    a->y = NULL;
    a->residual = s->residual ? o->residual.data : NULL;
    running(slot, level->name);
    run_jobs(rng, kernel, a, ipex_depthwise_jobs(a), ipex_depthwise_rounded_scratch(a));
}

/* depthwise_bf16y gives the results of depthwise_f32, rounded. */
static int check_rounded(const struct level *level, const struct shape *s,
                         const struct ipex_depthwise_args *args, const struct operands *o,
                         const struct buffer *want, struct rng *rng) {
    struct ipex_depthwise_args a = *args;
    struct buffer y = buffer_make(want->bytes / 2), rounded = buffer_make(want->bytes / 2);
    fill_canary(&y);
    fill_canary(&rounded);
    for (int64_t i = 0; i < (int64_t)a.images * a.lines * a.pixels; i++)
        for (int64_t c = 0; c < a.channels; c++) {
            const int64_t at = i * a.y_pixel + c;
            ((uint16_t *)rounded.data)[at] = ipex_bf16_of(((const uint32_t *)want->data)[at]);
        }
    a.y_bf16 = y.data;
    run_rounded(level, "depthwise_bf16y", (ipex_kernel_fn)level->kernels.depthwise_bf16y, s, &a, o,
                rng);
    const int64_t at = first_difference_bf16(&rounded, &y);
    buffer_free(&y);
    buffer_free(&rounded);
    return at >= 0 &&
           !report(false, "depthwise_bf16y shape", "%s: %dx%dx%dx%d kernel %dx%d: element %lld",
                   level->name, s->images, s->lines, s->pixels, s->channels, s->kernel_h,
                   s->kernel_w, (long long)at);
}

/* The sum of an output, x[at] being its pixel's first tap, and of the magnitudes of its terms. */
static double exact_sum(const struct ipex_depthwise_args *a, int64_t line, int64_t at, int64_t c,
                        double *magnitude) {
    const int64_t padded = ipex_channels_pitch(a->channels), inputs = a->group_inputs;
    double sum = (double)a->bias[c];
    *magnitude = fabs(sum);
    for (int64_t t = 0; t < inputs * a->kernel_h * a->kernel_w; t++) {
        const int64_t tap = t / inputs, kh = tap / a->kernel_w;
        if (!takes_row(&a->padding, a->lines, line, a->kernel_h, kh))
            continue;
        const double x = (double)a->x[at + kh * a->x_kh + tap % a->kernel_w * a->x_kw +
                                      c / a->group_outputs * inputs + (c + t) % inputs];
        const double term = x * (double)a->w[t * padded + c];
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

static double worst_error(const struct shape *s, const struct ipex_depthwise_args *a,
                          const struct operands *o, const float *y) {
    const int64_t taps = a->kernel_h * a->kernel_w * a->group_inputs;
    double worst = 0;
    for (int64_t out = 0; out < (int64_t)a->images * a->lines * a->pixels * a->channels; out++) {
        const int64_t c = out % a->channels, p = out / a->channels % a->pixels;
        const int64_t l = out / a->channels / a->pixels % a->lines;
        const int64_t i = out / a->channels / a->pixels / a->lines;
        const int64_t at = i * a->y_image + l * a->y_line + p * a->y_pixel + c;
        double magnitude,
            sum = exact_sum(a, l, i * a->x_image + l * a->x_line + p * a->x_pixel, c, &magnitude);
        if (s->residual) {
            sum += (double)((const float *)o->residual.data)[at];
            magnitude += fabs((double)((const float *)o->residual.data)[at]);
        }
        const double want = exact_act(sum, a->act, (double)a->act_a, (double)a->act_b);
        const double bound =
            (double)(taps + 2) * 0x1p-24 * magnitude * act_slope(a->act, (double)a->act_a) +
            0x1p-22 * fabs(want) + 0x1p-24;
        worst = fmax(worst, fabs((double)y[at] - want) / bound);
    }
    return worst;
}

static int check_shape(const struct context *context, const struct shape *s, struct rng *rng) {
    struct ipex_depthwise_args args = make_args(s);
    struct operands o = make_operands(s, &args, rng);
    struct buffer want = run_level(&context->levels[0], s, &args, &o, rng);
    int failed = 0;
    if (!s->special) {
        const double error = worst_error(s, &args, &o, want.data);
        if (!(error <= 1))
            failed += !report(false, "depthwise_f32 reference against f64",
                              "error is %g of the bound", error);
    }
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_level(&context->levels[i], s, &args, &o, rng);
        const int64_t at = first_difference(&want, &got);
        if (at >= 0)
            failed += !report(false, "depthwise_f32 shape",
                              "%s: %dx%dx%dx%d groups %d to %d kernel %dx%d stride %d,%d act %d: "
                              "element %lld: %a, "
                              "want %a",
                              context->levels[i].name, s->images, s->lines, s->pixels, s->channels,
                              s->group_inputs, s->group_outputs, s->kernel_h, s->kernel_w,
                              s->stride_h, s->stride_w, s->act, (long long)at,
                              (double)((float *)got.data)[at], (double)((float *)want.data)[at]);
        buffer_free(&got);
    }
    for (size_t i = 0; i < context->n_levels; i++)
        failed += check_rounded(&context->levels[i], s, &args, &o, &want, rng);
    buffer_free(&want);
    buffer_free(&o.x);
    buffer_free(&o.w);
    buffer_free(&o.bias);
    buffer_free(&o.residual);
    buffer_free(&o.y);
    return failed;
}

void check_depthwise(const struct context *context) {
    if (!wanted(context, "depthwise_f32"))
        return;
    struct rng rng = {context->seed + 1};
    int failed = 0;
    for (int i = 0; i < context->cases; i++) {
        struct shape s = random_shape(&rng);
        if (i % 50 == 0) { /* more than a stage holds */
            s.pixels = (int32_t)rng_range(&rng, 21, 150);
            s.channels = 4 * (int32_t)rng_range(&rng, 20, 220);
            s.inputs = s.channels / s.group_outputs * s.group_inputs;
        }
        failed += check_shape(context, &s, &rng);
    }
    report(failed == 0, "depthwise_f32: random shapes", "%d failed", failed);
}
