/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32, conv_bf16w, conv_bf16, conv_bf16t: geometries of real convolutions and linears, with
 * every byte that is not part of x, w, bias or residual poisoned, and every byte of y's buffer
 * compared. */
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/bf16.h"
#include "kernels/jobs.h"
#include "tests/checkkern/conv_shape.h"

/* The slots. For those on bf16, values are made in f32, cut to bf16 and widened again, so that
 * the same f64 check serves all. */
enum slot { CONV_F32, CONV_BF16W, CONV_BF16, CONV_BF16T, SLOTS };
static const char *const slot_names[SLOTS] = {"conv_f32", "conv_bf16w", "conv_bf16", "conv_bf16t"};

struct shape {
    struct conv_shape conv;
    int32_t lines_per_job, panels_per_job, most_rows, cache_l2;
    int32_t act;
    float slope; /* of leaky_relu */
    bool residual, in_place, panels_outside, weights_far, special, planar, spread, own_weights;
    bool eights, few;
    bool y_bf16, residual_bf16; /* slots on bf16 */
    enum slot slot;
};

struct operands {
    struct buffer x, w; /* f32 */
    struct buffer x_bf16, w_bf16;
    struct buffer bias, residual, residual_bf16, y;
};

static struct ipex_conv_args make_args(const struct shape *s) {
    struct ipex_conv_args ret = conv_shape_args(&s->conv);
    ret.lines_per_job = s->lines_per_job;
    ret.panels_per_job = s->panels_per_job;
    ret.most_rows = s->most_rows;
    ret.act = s->act;
    ret.act_a = s->act == IPEX_ACT_clip ? -0.5f : s->act == IPEX_ACT_leaky_relu ? s->slope : 0.2f;
    ret.act_b = s->act == IPEX_ACT_clip ? 1.5f : 0.5f;
    ret.panels_outside = s->panels_outside;
    ret.weights_far = s->weights_far;
    ret.cache_l2 = s->cache_l2;
    ret.planar = s->planar;
    ret.eights = s->eights;
    ret.few = s->few;
    ret.spread = s->spread && ret.groups == 1 && ret.segments_h * ret.segments_w == 1;
    if (s->own_weights)
        ret.w_line =
            (int64_t)ret.groups * ret.segments_h * ret.segments_w * ipex_conv_segment_floats(&ret);
    return ret;
}

static int64_t line_pixels(const struct ipex_conv_args *args, int64_t line) {
    return line == args->lines - 1 ? args->last_pixels : args->pixels;
}

/* Whether element k of segment s belongs to the chains of pixel p of line l. */
static bool is_taken(const struct ipex_conv_args *a, int64_t l, int64_t p, int64_t s, int64_t k) {
    const int64_t taps = a->columns ? a->columns : a->segments_w;
    const int64_t tap = a->columns ? k / (a->k / a->columns) : s % a->segments_w;
    return takes_row(&a->padding, a->lines, l, a->segments_h, s / a->segments_w) &&
           takes_row(&a->padding_w, a->pixels, p, taps, tap);
}

/* Whether as many kernel rows are left out as are said to be. */
static bool counts_rows(const struct ipex_padding *padding, int64_t lines, int64_t rows) {
    int64_t left_out = 0;
    for (int64_t line = 0; line < lines; line++)
        for (int64_t row = 0; row < rows; row++)
            left_out += !takes_row(padding, lines, line, rows, row);
    return ipex_kernel_rows_left_out(padding, lines, rows) == left_out;
}

/* Calls visit(x offset) for every element of x that the formula in kernels.h reads. */
static void visit_x(const struct ipex_conv_args *a, void (*visit)(void *, int64_t), void *data) {
    for (int64_t i = 0; i < a->images; i++)
        for (int64_t l = 0; l < a->lines; l++)
            for (int64_t p = 0; p < line_pixels(a, l); p++)
                for (int64_t g = 0; g < a->groups; g++)
                    for (int64_t s = 0; s < a->segments_h * a->segments_w; s++)
                        for (int64_t k = 0; k < a->k; k++)
                            if (is_taken(a, l, p, s, k))
                                visit(data, i * a->x_image + l * a->x_line + p * a->x_pixel +
                                                g * a->x_group + s / a->segments_w * a->x_kh +
                                                s % a->segments_w * a->x_kw + k);
}

static void visit_last(void *data, int64_t offset) {
    int64_t *last = data;
    *last = offset > *last ? offset : *last;
}

struct filler {
    float *x;
    struct rng *rng;
    bool special;
};

static void visit_fill(void *data, int64_t offset) {
    const struct filler *filler = data;
    if (isnan(filler->x[offset]))
        filler->x[offset] = rng_value(filler->rng, filler->special);
}

static int64_t last_output(const struct ipex_conv_args *a, int64_t image, int64_t line,
                           int64_t pixel) {
    int64_t ret = (int64_t)(a->images - 1) * image + (int64_t)(a->lines - 1) * line;
    ret += (int64_t)(a->last_pixels - 1) * pixel;
    if (a->lines > 1) {
        const int64_t before = (int64_t)(a->images - 1) * image + (int64_t)(a->lines - 2) * line +
                               (int64_t)(a->pixels - 1) * pixel;
        ret = before > ret ? before : ret;
    }
    return ret + (int64_t)a->groups * a->n;
}

static void fill_values(struct buffer *b, size_t count, struct rng *rng, bool special) {
    float *p = b->data;
    for (size_t i = 0; i < count; i++)
        p[i] = rng_value(rng, special);
}

/* Groups of w: every line's where they have weights of their own. */
static int64_t weight_groups(const struct ipex_conv_args *a) {
    return (int64_t)(a->w_line ? a->lines : 1) * a->groups;
}

/* Tiles as format/tile.h has them; edges zero. Weights are never special: a NaN there makes all
 * outputs NaN. */
static struct buffer make_weights(const struct ipex_conv_args *a, struct rng *rng) {
    const int64_t panels = (a->n + 15) / 16, tiles = (a->k + 15) / 16;
    const int64_t segments = weight_groups(a) * a->segments_h * a->segments_w;
    struct buffer ret = buffer_make((size_t)(segments * panels * tiles * 1024));
    float *w = ret.data;
    for (int64_t s = 0; s < segments; s++)
        for (int64_t n = 0; n < panels * 16; n++)
            for (int64_t k = 0; k < tiles * 16; k++)
                w[((s * panels + n / 16) * tiles * 16 + k) * 16 + n % 16] =
                    n < a->n && k < a->k ? rng_float(rng) : 0.0f;
    return ret;
}

static struct operands make_operands(const struct shape *s, struct ipex_conv_args *a,
                                     struct rng *rng) {
    struct operands ret = {0};
    struct ipex_conv_args all = *a; /* rows that are left out are there, but hold NaN */
    int64_t last = 0;
    all.padding = all.padding_w = (struct ipex_padding){.above = 0};
    all.columns = 0;
    visit_x(&all, visit_last, &last);
    ret.x = buffer_make((size_t)(last + 1) * 4);
    fill_poison(&ret.x);
    struct filler filler = {ret.x.data, rng, s->special};
    visit_x(a, visit_fill, &filler);
    ret.w = make_weights(a, rng);
    const int64_t outputs = (int64_t)a->groups * a->n;
    ret.bias = buffer_make((size_t)((outputs + 15) / 16 * 16) * 4);
    fill_poison(&ret.bias);
    fill_values(&ret.bias, (size_t)outputs, rng, s->special);
    ret.y = buffer_make((size_t)last_output(a, a->y_image, a->y_line, a->y_pixel) * 4);
    fill_canary(&ret.y);
    a->x = ret.x.data;
    a->w = ret.w.data;
    a->bias = ret.bias.data;
    if (s->slot != CONV_F32)
        ret.w_bf16 = cut_tiles_to_bf16(
            &ret.w, weight_groups(a) * a->segments_h * a->segments_w * ((a->n + 15) / 16), a->k);
    if (s->slot >= CONV_BF16)
        ret.x_bf16 = cut_to_bf16(&ret.x);
    if (s->residual) {
        const size_t count = (size_t)last_output(a, a->r_image, a->r_line, a->r_pixel);
        ret.residual = buffer_make(count * 4);
        fill_values(&ret.residual, count, rng, s->special);
        a->residual = ret.residual.data;
    }
    if (s->residual_bf16)
        ret.residual_bf16 = cut_to_bf16(&ret.residual);
    return ret;
}

static void free_operands(struct operands *operands) {
    buffer_free(&operands->x);
    buffer_free(&operands->w);
    buffer_free(&operands->bias);
    buffer_free(&operands->y);
    if (operands->w_bf16.map)
        buffer_free(&operands->w_bf16);
    if (operands->x_bf16.map)
        buffer_free(&operands->x_bf16);
    if (operands->residual.map)
        buffer_free(&operands->residual);
    if (operands->residual_bf16.map)
        buffer_free(&operands->residual_bf16);
}

static ipex_kernel_fn kernel_of(const struct level *level, enum slot slot) {
    const struct ipex_kernels *kernels = &level->kernels;
    const ipex_kernel_fn fn[SLOTS] = {
        (ipex_kernel_fn)kernels->conv_f32, (ipex_kernel_fn)kernels->conv_bf16w,
        (ipex_kernel_fn)kernels->conv_bf16, (ipex_kernel_fn)kernels->conv_bf16t};
    return fn[slot];
}

/* A fresh y, of canaries; with in_place it holds the residual. */
static struct buffer fresh_y(const struct shape *s, const struct operands *operands) {
    if (s->in_place)
        return buffer_copy(s->y_bf16 ? &operands->residual_bf16 : &operands->residual);
    if (!s->y_bf16)
        return buffer_copy(&operands->y);
    struct buffer ret = buffer_make(operands->y.bytes / 2);
    fill_canary(&ret);
    return ret;
}

static void describe(const struct shape *s, const char *level, char *text, size_t size) {
    const struct conv_shape c = conv_shape_whole(&s->conv);
    snprintf(
        text, size,
        "%s %s: %dx%dx%d(%d) kernel %dx%d stride %dx%d dilation %dx%d pads %d,%d groups %d %d->%d "
        "act %d residual %d%s%s%s outside %d%s jobs %d,%d rows %d l2 %d gaps %d,%d%s%s%s%s",
        slot_names[s->slot], level, c.images, c.lines, c.pixels, c.last_pixels, c.kernel_h,
        c.kernel_w, c.stride_h, c.stride_w, c.dilation_h, c.dilation_w, c.pad_top, c.pad_bottom,
        c.groups, c.k, c.n, s->act, s->residual, s->residual_bf16 ? " of bf16" : "",
        s->in_place ? " in place" : "", s->y_bf16 ? " to bf16" : "", s->panels_outside,
        s->weights_far ? " far" : "", s->lines_per_job, s->panels_per_job, s->most_rows,
        s->cache_l2, c.x_gap, c.y_gap, s->special ? " special" : "",
        s->planar   ? " planar"
        : s->spread ? " spread"
        : s->eights ? " eights"
        : s->few    ? " few"
                    : "",
        s->own_weights ? " own weights" : "", c.by_columns ? " by columns" : "");
}

/* Runs one level into a fresh y. */
static struct buffer run_level(const struct level *level, const struct shape *s,
                               const struct ipex_conv_args *args, const struct operands *operands,
                               struct rng *rng) {
    struct ipex_conv_args a = *args;
    struct buffer y = fresh_y(s, operands);
    void *residual = s->in_place        ? y.data
                     : s->residual_bf16 ? operands->residual_bf16.data
                                        : operands->residual.data;
    a.y = s->y_bf16 ? NULL : y.data;
    a.y_bf16 = s->y_bf16 ? y.data : NULL;
    a.residual = s->residual && !s->residual_bf16 ? residual : NULL;
    a.residual_bf16 = s->residual_bf16 ? residual : NULL;
    if (s->slot != CONV_F32)
        a.w = operands->w_bf16.data;
    if (s->slot >= CONV_BF16)
        a.x = operands->x_bf16.data;
    static char text[400];
    describe(s, level->name, text, sizeof text);
    running(text, level->name);
    run_jobs(rng, kernel_of(level, s->slot), &a, ipex_conv_jobs(&a), ipex_conv_scratch(&a));
    return y;
}

/* One output in f64, and the sum of magnitudes that bounds its rounding errors. */
static double exact_output(const struct ipex_conv_args *a, int64_t i, int64_t l, int64_t p,
                           int64_t c, double *ret_magnitude) {
    const int64_t g = (a->w_line ? l * a->groups : 0) + c / a->n, n = c % a->n;
    const int64_t panels = (a->n + 15) / 16, tiles = (a->k + 15) / 16;
    const int64_t segments = (int64_t)a->segments_h * a->segments_w;
    double sum = (double)a->bias[c], magnitude = fabs(sum);
    for (int64_t s = 0; s < segments; s++)
        for (int64_t k = 0; k < a->k; k++) {
            if (!is_taken(a, l, p, s, k))
                continue;
            const float x =
                ((const float *)
                     a->x)[i * a->x_image + l * a->x_line + p * a->x_pixel + c / a->n * a->x_group +
                           s / a->segments_w * a->x_kh + s % a->segments_w * a->x_kw + k];
            const float w =
                ((const float *)
                     a->w)[(((g * segments + s) * panels + n / 16) * tiles * 16 + k) * 16 + n % 16];
            sum += (double)x * (double)w;
            magnitude += fabs((double)x * (double)w);
        }
    if (a->residual) {
        const float r = a->residual[i * a->r_image + l * a->r_line + p * a->r_pixel + c];
        sum += (double)r;
        magnitude += fabs((double)r);
    }
    *ret_magnitude = magnitude;
    return sum;
}

/* The reference within the classic bound (terms + 1) 2^-24 sum |terms|, and 4 ULP for the
 * activation. */
static double worst_error(const struct ipex_conv_args *a, const float *y) {
    const double terms = (double)a->segments_h * a->segments_w * a->k + 2;
    double worst = 0;
    for (int64_t i = 0; i < a->images; i++)
        for (int64_t l = 0; l < a->lines; l++)
            for (int64_t p = 0; p < line_pixels(a, l); p++)
                for (int64_t c = 0; c < (int64_t)a->groups * a->n; c++) {
                    double magnitude;
                    const double sum = exact_output(a, i, l, p, c, &magnitude);
                    const double want = exact_act(sum, a->act, (double)a->act_a, (double)a->act_b);
                    const double got =
                        (double)y[i * a->y_image + l * a->y_line + p * a->y_pixel + c];
                    const double bound =
                        terms * 0x1p-24 * magnitude * act_slope(a->act, (double)a->act_a) +
                        0x1p-22 * fabs(want) + 0x1p-24;
                    worst = fmax(worst, fabs(got - want) / bound);
                }
    return worst;
}

/* bf16 weights give the bits of conv_f32 on the widened weights. */
static int check_widened(const struct context *context, const struct shape *s,
                         const struct ipex_conv_args *args, const struct operands *operands,
                         const struct buffer *want, struct rng *rng) {
    struct shape widened = *s;
    char text[400];
    widened.slot = CONV_F32;
    struct ipex_conv_args widened_args = *args;
    struct buffer got = run_level(&context->levels[0], &widened, &widened_args, operands, rng);
    const int64_t at = first_difference(want, &got);
    describe(s, "against widened weights", text, sizeof text);
    buffer_free(&got);
    return at >= 0 && !report(false, text, "element %lld", (long long)at);
}

/* Element `at` of a y. */
static double element(const struct shape *s, const struct buffer *y, int64_t at) {
    if (!s->y_bf16)
        return (double)((const float *)y->data)[at];
    const uint32_t bits = (uint32_t)((const uint16_t *)y->data)[at] << 16;
    float ret;
    memcpy(&ret, &bits, sizeof ret);
    return (double)ret;
}

/* Results in bf16 are those in f32, rounded. */
static int check_rounded(const struct context *context, const struct shape *s,
                         const struct ipex_conv_args *args, const struct operands *operands,
                         const struct buffer *want, struct rng *rng) {
    struct shape exact = *s;
    char text[400];
    int failed = 0;
    exact.y_bf16 = exact.residual_bf16 = exact.in_place = false;
    struct buffer y = run_level(&context->levels[0], &exact, args, operands, rng);
    const uint32_t *bits = y.data;
    const uint16_t *got = want->data;
    describe(s, "against results in f32", text, sizeof text);
    for (int64_t i = 0; i < args->images; i++)
        for (int64_t l = 0; l < args->lines; l++)
            for (int64_t p = 0; p < line_pixels(args, l); p++)
                for (int64_t c = 0; c < (int64_t)args->groups * args->n && !failed; c++) {
                    const int64_t at = i * args->y_image + l * args->y_line + p * args->y_pixel + c;
                    if (got[at] != ipex_bf16_of(bits[at]))
                        failed += !report(false, text, "element %lld", (long long)at);
                }
    if (!s->special) {
        const double error = worst_error(args, y.data);
        if (!(error <= 1))
            failed += !report(false, text, "error is %g of the bound", error);
    }
    buffer_free(&y);
    return failed;
}

/* All levels on one shape; the number of failures. */
static int check_shape(const struct context *context, const struct shape *s, struct rng *rng) {
    struct ipex_conv_args args = make_args(s);
    struct operands operands = make_operands(s, &args, rng);
    struct buffer want = run_level(&context->levels[0], s, &args, &operands, rng);
    char text[400];
    int failed = 0;
    if (!counts_rows(&args.padding, args.lines, args.segments_h) ||
        !counts_rows(&args.padding_w, args.pixels, args.columns ? args.columns : args.segments_w)) {
        describe(s, "rows left out", text, sizeof text);
        failed += !report(false, text, "counted otherwise");
    }
    if (s->y_bf16) {
        failed += check_rounded(context, s, &args, &operands, &want, rng);
    } else if (!s->special) {
        const double error = worst_error(&args, want.data);
        describe(s, "reference against f64", text, sizeof text);
        if (!(error <= 1))
            failed += !report(false, text, "error is %g of the bound", error);
    }
    if (s->slot == CONV_BF16W)
        failed += check_widened(context, s, &args, &operands, &want, rng);
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_level(&context->levels[i], s, &args, &operands, rng);
        const int64_t at =
            s->y_bf16 ? first_difference_bf16(&want, &got) : first_difference(&want, &got);
        describe(s, context->levels[i].name, text, sizeof text);
        if (at >= 0)
            failed += !report(false, text, "element %lld: %a, want %a", (long long)at,
                              element(s, &got, at), element(s, &want, at));
        buffer_free(&got);
    }
    buffer_free(&want);
    free_operands(&operands);
    return failed;
}

/* For valgrind, which knows neither DAZ nor FTZ, and whose vfnmadd makes -0 of 0 - 0 (gelu's end).
 */
static void leave_out_special(const struct context *context, struct shape *s) {
    if (!context->only_normal)
        return;
    s->special = false;
    if (s->act == IPEX_ACT_gelu)
        s->act = IPEX_ACT_gelu_tanh;
}

/* Blocks apply some of them, others not. */
static float random_slope(struct rng *rng) {
    static const float slopes[] = {0.2f, 0x1p-126f, 0.0f, 1e-40f, 1.0f, 1.5f, -0.5f};
    return slopes[rng_range(rng, 0, sizeof slopes / sizeof *slopes - 1)];
}

static int32_t random_most_rows(struct rng *rng) {
    return rng_one_in(rng, 3) ? (int32_t)rng_range(rng, 2, 16) : 0;
}

/* Kernels that are taken column by column, with parts of K small and large. */
static int check_columns(const struct context *context, enum slot slot, struct rng *rng) {
    int failed = 0;
    for (int i = 0; i <= context->cases / 4; i++) {
        struct shape s = {
            .conv =
                {
                    .images = (int32_t)rng_range(rng, 1, 2),
                    .lines = (int32_t)rng_range(rng, 2, 9),
                    .pixels = (int32_t)rng_range(rng, 2, rng_one_in(rng, 3) ? 40 : 12),
                    .kernel_h = (int32_t)rng_range(rng, 1, 4),
                    .kernel_w = (int32_t)rng_range(rng, 2, 7),
                    .stride_h = (int32_t)rng_range(rng, 1, 2),
                    .stride_w = (int32_t)rng_range(rng, 1, 3),
                    .pad_top = (int32_t)rng_range(rng, 0, 2),
                    .pad_bottom = (int32_t)rng_range(rng, -1, 2),
                    .pad_left = (int32_t)rng_range(rng, 0, 3),
                    .pad_right = (int32_t)rng_range(rng, -1, 3),
                    .by_columns = true,
                    .k = 2 * (int32_t)rng_range(rng, 1, rng_one_in(rng, 16) ? 210 : 16),
                    .n = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 150 : 40),
                    .y_gap = rng_one_in(rng, 2) ? (int32_t)rng_range(rng, 1, 20) : 0,
                },
            .act = (int32_t)rng_range(rng, 0, IPEX_ACT_COUNT - 1),
            .slope = random_slope(rng),
            .residual = rng_one_in(rng, 2),
            .panels_outside = rng_one_in(rng, 2),
            .weights_far = rng_one_in(rng, 2),
            .special = rng_one_in(rng, 5),
            .cache_l2 = rng_one_in(rng, 2) ? 1 << 20 : (int32_t)rng_range(rng, 1, 20000),
            .slot = slot,
        };
        if (slot == CONV_F32 && rng_one_in(rng, 2))
            s.conv.k--;
        s.residual_bf16 = slot == CONV_BF16 && s.residual && rng_one_in(rng, 2);
        s.lines_per_job = (int32_t)rng_range(rng, 1, s.conv.lines);
        s.panels_per_job = (int32_t)rng_range(rng, 1, (s.conv.n + 15) / 16);
        s.most_rows = random_most_rows(rng);
        leave_out_special(context, &s);
        failed += check_shape(context, &s, rng);
    }
    return failed;
}

/* In place or not, and how many lines a job has. */
static void random_residual_and_jobs(struct shape *s, struct rng *rng) {
    s->in_place = s->residual && s->y_bf16 == s->residual_bf16 && rng_one_in(rng, 2);
    s->conv.r_gap = s->in_place ? s->conv.y_gap : (int32_t)rng_range(rng, 0, 5);
    s->lines_per_job = (int32_t)rng_range(rng, 1, s->conv.lines);
}

/* At times every row that some line sees is padding. */
static void random_rows_out(struct shape *s, struct rng *rng) {
    s->conv.pad_top = (int32_t)rng_range(rng, -2, s->conv.kernel_h + 1);
    s->conv.pad_bottom = (int32_t)rng_range(rng, -2, s->conv.kernel_h + 1);
}

/* In slots on bf16 y and the residual may be, too. */
static void random_bf16(struct shape *s, struct rng *rng) {
    if (s->slot < CONV_BF16)
        return;
    s->y_bf16 = rng_one_in(rng, 2);
    s->residual_bf16 = s->residual && rng_one_in(rng, 2);
}

static struct shape random_shape(enum slot slot, struct rng *rng) {
    struct shape s = {
        .conv =
            {
                .images = (int32_t)rng_range(rng, 1, 2),
                .lines = (int32_t)rng_range(rng, 1, 5),
                .pixels = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 60 : 16),
                .kernel_h = (int32_t)rng_range(rng, 1, 3),
                .kernel_w = (int32_t)rng_range(rng, 1, 3),
                .stride_h = (int32_t)rng_range(rng, 1, 2),
                .stride_w = (int32_t)rng_range(rng, 1, 2),
                .dilation_h = rng_one_in(rng, 4) ? 2 : 1,
                .dilation_w = rng_one_in(rng, 4) ? 2 : 1,
                .groups = rng_one_in(rng, 4) ? (int32_t)rng_range(rng, 2, 4) : 1,
                .k = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 70 : 20),
                .n = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 150 : 40),
                .x_gap = rng_one_in(rng, 4) ? (int32_t)rng_range(rng, 1, 9) : 0,
                .y_gap = rng_one_in(rng, 2) ? (int32_t)rng_range(rng, 1, 20) : 0,
            },
        .act = (int32_t)rng_range(rng, 0, IPEX_ACT_COUNT - 1),
        .slope = random_slope(rng),
        .residual = rng_one_in(rng, 2),
        .panels_outside = rng_one_in(rng, 2),
        .weights_far = rng_one_in(rng, 2),
        .special = rng_one_in(rng, 5),
        .cache_l2 = rng_one_in(rng, 2) ? 1 << 20 : (int32_t)rng_range(rng, 1, 20000),
    };
    s.conv.last_pixels =
        rng_one_in(rng, 3) ? (int32_t)rng_range(rng, 1, s.conv.pixels) : s.conv.pixels;
    s.slot = slot;
    s.own_weights = rng_one_in(rng, 3);
    s.spread = rng_one_in(rng, 3);
    random_bf16(&s, rng);
    random_residual_and_jobs(&s, rng);
    s.most_rows = random_most_rows(rng);
    s.panels_per_job = (s.conv.n + 15) / 16;
    if (rng_one_in(rng, 2))
        s.panels_per_job = (int32_t)rng_range(rng, 1, s.panels_per_job);
    return s;
}

static void random_padding(struct shape *s, struct rng *rng) {
    if (s->slot == CONV_BF16T || rng_one_in(rng, 2))
        return;
    random_rows_out(s, rng);
    if (rng_one_in(rng, 2) || s->conv.last_pixels != s->conv.pixels)
        return;
    const int32_t far = s->conv.kernel_w * s->conv.dilation_w + 1;
    s->conv.cut_taps = true;
    s->conv.pad_left = (int32_t)rng_range(rng, -2, far);
    s->conv.pad_right = (int32_t)rng_range(rng, -2, far);
}

/* Every number of rows with every number of panels around the register blocks, with a cut last
 * panel and without. */
static int check_blocks(const struct context *context, enum slot slot, struct rng *rng) {
    int failed = 0;
    for (int32_t pixels = 1; pixels <= 29; pixels++)
        for (int32_t n = 16; n <= 16 * 9; n += 16)
            for (int32_t cut = 0; cut <= 15; cut += 5) {
                const struct shape s = {
                    .conv = {.lines = 3, .pixels = pixels, .k = 1 + pixels % 7, .n = n - cut},
                    .lines_per_job = 3,
                    .panels_per_job = n / 16,
                    .cache_l2 = 1 << 20,
                    .weights_far = (pixels + n / 16) % 2 != 0,
                    .residual = cut == 5,
                    .act = cut == 10         ? IPEX_ACT_relu
                           : cut != 5        ? IPEX_ACT_none
                           : pixels % 3 == 0 ? IPEX_ACT_leaky_relu
                           : pixels % 3 == 1 ? IPEX_ACT_hard_swish
                                             : IPEX_ACT_hard_swish_affine,
                    .slope = 0.2f,
                    .slot = slot,
                    .y_bf16 = slot >= CONV_BF16 && pixels % 2,
                    .residual_bf16 = slot >= CONV_BF16 && cut == 5 && n / 16 % 2,
                };
                failed += check_shape(context, &s, rng);
            }
    return failed;
}

/* So deep and wide that kernels cut K within a tap, and take the panels in several parts. */
static int check_deep(const struct context *context, enum slot slot, struct rng *rng) {
    static const int32_t depths[] = {129, 256, 257, 400};
    int failed = 0;
    for (int32_t i = 0; i < 16; i++) {
        const int32_t lines = 1 + i / 2 % 2;
        const struct shape s = {
            .conv = {.lines = lines,
                     .pixels = 1 + 5 * i % 16,
                     .kernel_w = 1 + i / 4,
                     .k = depths[i % 4],
                     .n = 257 + 5 * i},
            .lines_per_job = lines,
            .panels_per_job = (257 + 5 * i + 15) / 16,
            .cache_l2 = 1 << 20,
            .panels_outside = i % 3 == 0,
            .weights_far = lines == 2,
            .residual = i % 3 != 1,
            .act = i % 2 ? IPEX_ACT_relu : IPEX_ACT_none,
            .own_weights = slot == CONV_F32 && i % 8 > 5,
            .spread = slot <= CONV_BF16W && i < 4,
            .slot = slot,
            .y_bf16 = slot >= CONV_BF16 && i % 4 / 2,
            .residual_bf16 = slot >= CONV_BF16 && i % 3 == 2,
        };
        failed += check_shape(context, &s, rng);
    }
    return failed;
}

/* Blocks of rows that go through their panels together, whose results or residual lie in a stage:
 * of lines of every length, alone and in pairs, in blocks of every number of rows. */
static int check_stages(const struct context *context, enum slot slot, struct rng *rng) {
    int failed = 0;
    for (int32_t pixels = 1; pixels <= 72; pixels++)
        for (int32_t i = 0; i < 12; i++) {
            const struct shape s = {
                .conv = {.lines = 2,
                         .pixels = pixels,
                         .last_pixels = i % 5 ? pixels : 1 + pixels / 2,
                         .kernel_h = 1 + i % 2,
                         .kernel_w = 1 + i / 2 % 2,
                         .k = 4,
                         .n = i % 4 ? 16 * (i % 4) : 64},
                .lines_per_job = 2,
                .panels_per_job = 4,
                .most_rows = (pixels + i) % 14 ? 1 + (pixels + i) % 14 : 0,
                .cache_l2 = 1 << 20,
                .residual = true,
                .act = i % 3 ? IPEX_ACT_relu : IPEX_ACT_sigmoid,
                .slot = slot,
                .y_bf16 = i % 3 != 1,
                .residual_bf16 = i % 3 < 2,
            };
            failed += check_shape(context, &s, rng);
        }
    return failed;
}

/* Windows that overlap, of 14 pixels (6 with AVX2) about as many elements as kernels/x86/
 * conv_widen.h widens at once, in one kernel row or in two. */
static int check_overlaps(const struct context *context, enum slot slot, struct rng *rng) {
    static const struct {
        int32_t kernel_w, k;
    } windows[] = {{3, 64}, {3, 320}, {3, 322}, {2, 182}, {2, 350}, {2, 364}, {3, 558}, {2, 700}};
    int failed = 0;
    for (int32_t i = 0; i < 16; i++) {
        const struct shape s = {
            .conv = {.lines = 2,
                     .pixels = 14,
                     .kernel_h = 1 + i % 2,
                     .kernel_w = windows[i / 2].kernel_w,
                     .k = windows[i / 2].k,
                     .n = 40},
            .lines_per_job = 2,
            .panels_per_job = 3,
            .cache_l2 = 1 << 20,
            .slot = slot,
        };
        failed += check_shape(context, &s, rng);
    }
    return failed;
}

/* Pixels in lanes: every number of columns around the blocks', lines that share rows of x and lines
 * that do not. */
static int check_planar(const struct context *context, struct rng *rng) {
    int failed = 0;
    for (int i = 0; i < context->cases; i++) {
        struct shape s = {
            .conv =
                {
                    .images = (int32_t)rng_range(rng, 1, 2),
                    .lines = (int32_t)rng_range(rng, 1, 6),
                    .pixels = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 300 : 40),
                    .kernel_h = (int32_t)rng_range(rng, 1, 4),
                    .kernel_w = (int32_t)rng_range(rng, 1, 9),
                    .stride_h = (int32_t)rng_range(rng, 1, 3),
                    .stride_w = (int32_t)rng_range(rng, 1, 3),
                    .dilation_h = (int32_t)rng_range(rng, 1, 2),
                    .k = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 40 : 9),
                    .n = (int32_t)rng_range(rng, 1, 14),
                    .y_gap = rng_one_in(rng, 2) ? (int32_t)rng_range(rng, 1, 20) : 0,
                },
            .act = (int32_t)rng_range(rng, 0, IPEX_ACT_COUNT - 1),
            .slope = random_slope(rng),
            .residual = rng_one_in(rng, 2),
            .panels_per_job = 1,
            .special = rng_one_in(rng, 5),
            .cache_l2 = 1 << 20,
            .planar = true,
        };
        if (s.conv.kernel_w == 1 && rng_one_in(rng, 2))
            s.conv.x_gap = (int32_t)rng_range(rng, 1, 9);
        s.conv.last_pixels = s.conv.kernel_h == 1 && rng_one_in(rng, 2)
                                 ? (int32_t)rng_range(rng, 1, s.conv.pixels)
                                 : s.conv.pixels;
        random_residual_and_jobs(&s, rng);
        random_padding(&s, rng);
        failed += check_shape(context, &s, rng);
    }
    return failed;
}

/* Few columns in the last panel: lines shorter and longer than what goes together, elements of K
 * that are whole steps and more, x and y that L2 holds and that it does not. */
static int check_few(const struct context *context, struct rng *rng) {
    int failed = 0;
    for (int i = 0; i < context->cases; i++) {
        struct shape s = random_shape(CONV_F32, rng);
        const int32_t whole = (int32_t)rng_range(rng, 0, rng_one_in(rng, 2) ? 4 : 0);
        s.few = true;
        s.own_weights = s.spread = false;
        s.conv.n = 16 * whole + (int32_t)rng_range(rng, 1, rng_one_in(rng, 4) ? 15 : 5);
        if (rng_one_in(rng, 10))
            s.conv.k = (int32_t)rng_range(rng, 1, 300);
        if (rng_one_in(rng, 2))
            s.conv.pixels = (int32_t)rng_range(rng, 1, 150);
        s.conv.last_pixels =
            rng_one_in(rng, 3) ? (int32_t)rng_range(rng, 1, s.conv.pixels) : s.conv.pixels;
        s.panels_per_job = (int32_t)rng_range(rng, 1, whole + 1);
        random_padding(&s, rng);
        leave_out_special(context, &s);
        failed += check_shape(context, &s, rng);
    }
    return failed;
}

/* Groups of 8 columns: an even and an odd number of them, lines that share blocks, and lines of
 * more than one; jobs of some groups, of some lines. */
static int check_eights(const struct context *context, enum slot slot, struct rng *rng) {
    int failed = 0;
    for (int i = 0; i < context->cases; i++) {
        struct shape s = {
            .conv =
                {
                    .images = (int32_t)rng_range(rng, 1, 2),
                    .lines = (int32_t)rng_range(rng, 1, 9),
                    .pixels = (int32_t)rng_range(rng, 1, rng_one_in(rng, 2) ? 45 : 9),
                    .kernel_h = (int32_t)rng_range(rng, 1, 4),
                    .kernel_w = (int32_t)rng_range(rng, 1, 5),
                    .stride_h = (int32_t)rng_range(rng, 1, 3),
                    .stride_w = (int32_t)rng_range(rng, 1, 3),
                    .dilation_h = (int32_t)rng_range(rng, 1, 2),
                    .groups = (int32_t)rng_range(rng, 2, 7),
                    .k = rng_one_in(rng, 2) ? 8 : (int32_t)rng_range(rng, 1, 20),
                    .n = 8,
                    .x_gap = rng_one_in(rng, 2) ? (int32_t)rng_range(rng, 1, 9) : 0,
                    .y_gap = rng_one_in(rng, 2) ? (int32_t)rng_range(rng, 1, 20) : 0,
                },
            .act = (int32_t)rng_range(rng, 0, IPEX_ACT_COUNT - 1),
            .slope = random_slope(rng),
            .residual = rng_one_in(rng, 3),
            .panels_per_job = 1,
            .special = rng_one_in(rng, 5),
            .cache_l2 = 1 << 20,
            .eights = true,
            .slot = slot,
        };
        if (s.conv.kernel_w == 1 || s.conv.stride_w == 2)
            s.conv.dilation_w = (int32_t)rng_range(rng, 1, 2);
        s.conv.last_pixels =
            rng_one_in(rng, 3) ? (int32_t)rng_range(rng, 1, s.conv.pixels) : s.conv.pixels;
        random_residual_and_jobs(&s, rng);
        if (rng_one_in(rng, 2))
            random_rows_out(&s, rng);
        leave_out_special(context, &s);
        failed += check_shape(context, &s, rng);
    }
    return failed;
}

static void check_slot(const struct context *context, enum slot slot) {
    char text[80];
    if (!wanted(context, slot_names[slot]))
        return;
    struct rng rng = {context->seed};
    snprintf(text, sizeof text, "%s: every block of rows and panels", slot_names[slot]);
    report(check_blocks(context, slot, &rng) == 0, text, "see above");
    snprintf(text, sizeof text, "%s: deep and wide ones", slot_names[slot]);
    report(check_deep(context, slot, &rng) == 0, text, "see above");
    snprintf(text, sizeof text, "%s: wide windows that overlap", slot_names[slot]);
    report(check_overlaps(context, slot, &rng) == 0, text, "see above");
    if (slot >= CONV_BF16) {
        snprintf(text, sizeof text, "%s: blocks in a stage", slot_names[slot]);
        report(check_stages(context, slot, &rng) == 0, text, "see above");
    }
    if (slot != CONV_BF16T) {
        snprintf(text, sizeof text, "%s: column by column", slot_names[slot]);
        report(check_columns(context, slot, &rng) == 0, text, "see above");
    }
    if (slot == CONV_F32)
        report(check_planar(context, &rng) == 0, "conv_f32: pixels in lanes", "see above");
    if (slot == CONV_F32)
        report(check_few(context, &rng) == 0, "conv_f32: few columns in the last panel",
               "see above");
    if (slot <= CONV_BF16W) {
        snprintf(text, sizeof text, "%s: groups of 8 columns", slot_names[slot]);
        report(check_eights(context, slot, &rng) == 0, text, "see above");
    }
    int failed = 0;
    for (int i = 0; i < context->cases; i++) {
        struct shape s = random_shape(slot, &rng);
        s.own_weights = s.own_weights && slot == CONV_F32;
        s.spread = s.spread && slot <= CONV_BF16W;
        random_padding(&s, &rng);
        leave_out_special(context, &s);
        failed += check_shape(context, &s, &rng);
    }
    snprintf(text, sizeof text, "%s: random shapes", slot_names[slot]);
    report(failed == 0, text, "%d failed", failed);
}

void check_conv(const struct context *context) {
    for (int slot = 0; slot < SLOTS; slot++)
        check_slot(context, (enum slot)slot);
}
