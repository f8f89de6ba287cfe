/* SPDX-License-Identifier: Apache-2.0 */
/* conv_u8 and depthwise_u8: matrices and convolutions of random sizes, gaps and jobs, the extremes
 * of u8 and i8 among the values, results and residuals as f32 or as u8; the reference against sums
 * in 64 bits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/jobs.h"
#include "tests/checkkern/checkkern.h"
#include "tests/checkkern/conv_shape.h"

struct operands {
    struct buffer x, w, bias, scale, middle, residual, y;
};

/* About what is rounded to bytes: values of 1 and scales of 40, or values of 40 and scales of 1,
 * for which kernels have loops of their own. */
enum { BYTES_IN_ONE = 40 };
static float size_of_values(const struct ipex_conv_args *a) {
    return fabsf(a->y_scale) == 1 ? BYTES_IN_ONE : 1;
}

/* From low to low + 255, often one of the two. */
static int32_t random_byte(struct rng *rng, int32_t low) {
    if (rng_one_in(rng, 4))
        return low + (rng_one_in(rng, 2) ? 0 : 255);
    return low + (int32_t)rng_range(rng, 0, 255);
}

/* Weights of layout channels: all groups are one to the kernel. */
static bool is_depthwise(const struct ipex_conv_args *a) {
    return a->x_group == 0;
}

/* Of groups of one channel, or of 4, 8 or 16. */
static struct ipex_conv_args random_depthwise(struct rng *rng) {
    const bool usual = rng_one_in(rng, 2);
    const int32_t k = rng_one_in(rng, 2) ? 1 : 2 << rng_range(rng, 1, 3);
    const int32_t channels = (int32_t)rng_range(rng, k > 1 ? 16 : 8, 80);
    const struct conv_shape shape = {
        .images = (int32_t)rng_range(rng, 1, 2),
        .lines = (int32_t)rng_range(rng, 1, 4),
        .pixels = (int32_t)rng_range(rng, 1, 70),
        .kernel_h = usual ? 3 : (int32_t)rng_range(rng, 1, 9),
        .kernel_w = usual ? 3 : (int32_t)rng_range(rng, 1, 7),
        .stride_h = (int32_t)rng_range(rng, 1, 2),
        .stride_w = (int32_t)rng_range(rng, 1, 3),
        .dilation_h = (int32_t)rng_range(rng, 1, 2),
        .dilation_w = (int32_t)rng_range(rng, 1, 3),
        .groups = channels / k,
        .k = k,
        .n = k,
        .x_gap = rng_one_in(rng, 2) ? (int32_t)rng_range(rng, 1, 5) : 0,
        .y_gap = (int32_t)rng_range(rng, 0, 9),
    };
    struct ipex_conv_args ret = conv_shape_args(&shape);
    ret.n = shape.groups * k;
    ret.groups = 1;
    ret.x_group = 0;
    ret.k = k;
    ret.segments_w = shape.kernel_w;
    return ret;
}

/* A convolution with rows of the kernel, or taps, as segments; with a kernel of 1 a matrix. */
static struct ipex_conv_args random_convolution(struct rng *rng, bool big) {
    const int32_t kernel = rng_one_in(rng, 2) ? 1 : 3;
    const bool few = rng_one_in(rng, 4); /* rows of a matrix */
    struct conv_shape shape = {
        .images = (int32_t)rng_range(rng, 1, 2),
        .lines = few ? 1 : (int32_t)rng_range(rng, 1, 4),
        .pixels = (int32_t)rng_range(rng, 1, few ? 9 : 40),
        .kernel_h = kernel,
        .kernel_w = kernel,
        .groups = rng_one_in(rng, 4) ? 2 : 1,
        .k = (int32_t)rng_range(rng, 4, big ? 600 : 90),
        .n = rng_one_in(rng, 3) ? 32 * (int32_t)rng_range(rng, 1, 3)
                                : (int32_t)rng_range(rng, 1, rng_one_in(rng, 2) ? 150 : 40),
        .x_gap = rng_one_in(rng, 2) ? (int32_t)rng_range(rng, 1, 5) : 0,
        .y_gap = (int32_t)rng_range(rng, 0, 9),
    };
    shape.last_pixels = (int32_t)rng_range(rng, 1, shape.pixels);
    return conv_shape_args(&shape);
}

/* One in four is as most layers of networks are: bytes scaled by 1 and cut. only_normal: no
 * activation whose tails are denormals. */
static struct ipex_conv_args random_args(struct rng *rng, bool depthwise, bool big,
                                         bool only_normal) {
    struct ipex_conv_args a = depthwise ? random_depthwise(rng) : random_convolution(rng, big);
    const bool usual = rng_one_in(rng, 4), units = usual || rng_one_in(rng, 2);
    const int64_t acts = only_normal ? IPEX_ACT_sigmoid : IPEX_ACT_COUNT;
    a.act = usual ? IPEX_ACT_relu : (int32_t)rng_range(rng, 0, acts - 1);
    a.y_scale = (!usual && rng_one_in(rng, 4) ? -1 : 1) * (units ? 1.0f : (float)BYTES_IN_ONE);
    const float size = size_of_values(&a);
    a.act_a = 0.2f * (units && a.act == IPEX_ACT_clip ? size : 1);
    a.act_b = 0.5f * (units && a.act == IPEX_ACT_clip ? size : 1);
    a.panels_outside = rng_one_in(rng, 2);
    a.lines_per_job = (int32_t)rng_range(rng, 1, a.lines);
    a.panels_per_job = (int32_t)ipex_div_up(a.n, 16);
    if (!depthwise)
        a.panels_per_job = (int32_t)rng_range(rng, 1, a.panels_per_job);
    a.cache_l2 = rng_one_in(rng, 2) ? 1 << 20 : 1 << 12;
    a.weights_far = rng_one_in(rng, 2);
    a.r_scale = rng_float(rng) * 0.01f * size;
    a.y_zero = (float)rng_range(rng, 0, 255);
    a.middles = rng_one_in(rng, 3) ? (int32_t)rng_range(rng, 1, rng_one_in(rng, 2) ? 1 : 3) : 0;
    for (int32_t l = 0; l < a.middles; l++) {
        a.m_cut[l][0] = (float)-rng_range(rng, 0, 255);
        a.m_cut[l][1] = a.m_cut[l][0] + (rng_one_in(rng, 4) ? 100 : 255);
        if (rng_one_in(rng, 16))
            a.m_cut[l][rng_range(rng, 0, 1)] += 0.25f; /* which no integer is */
    }
    if (rng_one_in(rng, 16))
        a.y_zero += 0.25f; /* which writers do not write */
    return a;
}

static struct buffer random_floats(size_t count, struct rng *rng, float size) {
    struct buffer ret = buffer_make(count * 4);
    for (size_t i = 0; i < count; i++)
        ((float *)ret.data)[i] = rng_float(rng) * size;
    return ret;
}

/* Where a set of channels [first, first + 16) has the weight of its channel n, of which it begins
 * at `set`: four lanes have what 16 inputs give to an output of each of their groups, the next four
 * that of the outputs that follow, as many as rows of 64 bytes are. */
static int64_t set_weight_at(int64_t set, int64_t inputs, int64_t n, int64_t k) {
    const int64_t rows = inputs / 4, row = n % rows, in_group = n % inputs;
    const int64_t input = n / inputs * inputs + k; /* of the 16 */
    return set + row * 64 + (in_group / rows * 4 + input / 4) * 4 + input % 4;
}

/* Where the weight of output n of group g lies: tiles of four k per row; of depthwise's tap. */
static int64_t weight_at(const struct ipex_conv_args *a, int64_t segment, int64_t n, int64_t k) {
    const int64_t tap = segment * a->k * ipex_channels_pitch(a->n), set = n / 16 * 16;
    if (is_depthwise(a) && a->k == 1)
        return tap + n;
    if (is_depthwise(a) && set + 16 <= a->n)
        return set_weight_at(tap + set * a->k, a->k, n - set, k);
    if (is_depthwise(a))
        return set_weight_at(tap + set * a->k, a->k, n - (a->n - 16), k);
    const int64_t tiles = ipex_div_up(a->k, 64), panels = ipex_div_up(a->n, 16);
    return ((segment * panels + n / 16) * tiles * 16 + k / 4) * 64 + n % 16 * 4 + k % 4;
}

static struct buffer random_tiles(const struct ipex_conv_args *a, struct rng *rng) {
    const int64_t segments = (int64_t)a->groups * a->segments_h * a->segments_w;
    const int64_t tiles = ipex_div_up(a->n, 16) * ipex_div_up(a->k, 64) * 1024;
    const int64_t tap = a->k * ipex_channels_pitch(a->n), rest = a->n % 16;
    const int64_t gap = ipex_channels_gap(a->n);
    struct buffer ret =
        buffer_make((size_t)(is_depthwise(a) ? segments * tap - gap : segments * tiles));
    memset(ret.data, 0, ret.bytes);
    for (int64_t s = 0; s < segments; s++)
        for (int64_t n = 0; n < a->n; n++)
            for (int64_t k = 0; k < a->k; k++)
                ((int8_t *)ret.data)[weight_at(a, s, n, k)] = (int8_t)random_byte(rng, INT8_MIN);
    for (int64_t s = 0; is_depthwise(a) && a->k > 1 && rest > 0 && s < segments; s++)
        for (int64_t n = a->n - 16; n < a->n - rest; n++) /* which two sets have */
            for (int64_t k = 0; k < a->k; k++)
                ((int8_t *)ret.data)[set_weight_at(s * tap + a->n / 16 * 16 * a->k, a->k,
                                                   n - (a->n - 16), k)] =
                    ((const int8_t *)ret.data)[weight_at(a, s, n, k)];
    return ret;
}

/* Of what is rounded in between: about 1 but for the last one, which leads to the size of values.
 */
static struct buffer random_middle(const struct ipex_conv_args *a, struct rng *rng) {
    const int64_t pitch = ipex_conv_middle_pitch(a);
    struct buffer ret = buffer_make((size_t)(a->middles * 2 * pitch) * sizeof(float));
    for (int32_t l = 0; l < a->middles; l++) {
        float *unit = (float *)ret.data + 2 * l * pitch, *shift = unit + pitch;
        const bool last = l == a->middles - 1;
        const float size = last ? size_of_values(a) : BYTES_IN_ONE;
        for (int64_t i = 0; i < pitch; i++) {
            unit[i] = size / BYTES_IN_ONE * (1 + 0.6f * rng_float(rng));
            unit[i] *= rng_one_in(rng, 16) ? -1.0f : 1.0f;
            shift[i] = size * rng_float(rng);
        }
    }
    return ret;
}

/* What no sum leads to: results that integers of 32 bits do not hold, or none at all. */
static void add_absurd(struct buffer *bias, struct rng *rng) {
    static const float absurd[] = {0x1p31f, -0x1p31f, 5e9f, 1e30f, -1e30f, INFINITY, NAN};
    ((float *)bias->data)[rng_range(rng, 0, (int64_t)(bias->bytes / 4) - 1)] =
        absurd[rng_range(rng, 0, 6)];
}

static bool is_absurd(const struct ipex_conv_args *a, int64_t c) {
    return !(fabsf(a->bias[c]) < 1e9f);
}

static struct operands make_operands(struct ipex_conv_args *a, struct rng *rng) {
    const float size = a->middles > 0 ? BYTES_IN_ONE : size_of_values(a);
    const size_t outputs = (size_t)a->groups * (size_t)a->n;
    const size_t pixels = (size_t)a->images * (size_t)a->lines * (size_t)a->pixels;
    struct operands ret = {
        .x = buffer_make((size_t)(a->images * a->x_image)),
        .w = random_tiles(a, rng),
        .bias = random_floats((outputs + 15) / 16 * 16, rng, size),
        .scale = random_floats((outputs + 15) / 16 * 16, rng, 1e-3f * size),
        .middle = random_middle(a, rng),
        .residual = random_floats(pixels * outputs, rng, 1),
        .y = buffer_make(pixels * (size_t)a->y_pixel * 4),
    };
    if (rng_one_in(rng, 4))
        add_absurd(&ret.bias, rng);
    for (size_t i = 0; i < ret.x.bytes; i++)
        ((uint8_t *)ret.x.data)[i] = (uint8_t)random_byte(rng, 0);
    a->x = ret.x.data;
    a->w = ret.w.data;
    a->bias = ret.bias.data;
    a->scale = ret.scale.data;
    a->middle = ret.middle.data;
    switch (rng_range(rng, 0, 2)) {
    case 0:
        a->residual = ret.residual.data;
        break;
    case 1:
        a->residual_u8 = ret.residual.data;
        break;
    default:
        break;
    }
    return ret;
}

static void free_operands(struct operands *o) {
    struct buffer *all[] = {&o->x, &o->w, &o->bias, &o->scale, &o->middle, &o->residual, &o->y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_free(all[i]);
}

static struct buffer run_level(const struct level *level, const struct ipex_conv_args *args,
                               const struct operands *operands, bool bytes, struct rng *rng) {
    struct ipex_conv_args a = *args;
    struct buffer y = buffer_make(bytes ? operands->y.bytes / 4 : operands->y.bytes);
    fill_canary(&y);
    if (bytes)
        a.y_u8 = y.data;
    else
        a.y = y.data;
    const bool depthwise = is_depthwise(args);
    running(depthwise ? "depthwise_u8" : "conv_u8", level->name);
    run_jobs(rng,
             (ipex_kernel_fn)(depthwise ? level->kernels.depthwise_u8 : level->kernels.conv_u8), &a,
             ipex_conv_jobs(&a), depthwise ? ipex_depthwise_u8_scratch(&a) : 0);
    return y;
}

static double exact(const struct ipex_conv_args *a, int64_t i, int64_t l, int64_t p, int64_t c) {
    const int64_t g = c / a->n, n = c % a->n;
    const int64_t segments = (int64_t)a->segments_h * a->segments_w;
    const uint8_t *x = (const uint8_t *)a->x + i * a->x_image + l * a->x_line + p * a->x_pixel +
                       (is_depthwise(a) ? c / a->k * a->k : g * a->x_group);
    int64_t sum = 0;
    for (int64_t s = 0; s < segments; s++)
        for (int64_t k = 0; k < a->k; k++)
            sum += x[s / a->segments_w * a->x_kh + s % a->segments_w * a->x_kw + k] *
                   ((const int8_t *)a->w)[weight_at(a, g * segments + s, n, k)];
    double value = (double)sum * (double)a->scale[c] + (double)a->bias[c];
    const float *unit = a->middle + c;
    const int64_t pitch = ipex_conv_middle_pitch(a);
    for (int32_t m = 0; m < a->middles; m++, unit += 2 * pitch)
        value = fmin(fmax(rint(value), (double)a->m_cut[m][0]), (double)a->m_cut[m][1]) *
                    (double)unit[0] +
                (double)unit[pitch];
    const int64_t residual = i * a->r_image + l * a->r_line + p * a->r_pixel + c;
    if (a->residual)
        value += (double)a->residual[residual] * (double)a->r_scale;
    if (a->residual_u8)
        value += a->residual_u8[residual] * (double)a->r_scale;
    return exact_act(value, a->act, (double)a->act_a, (double)a->act_b);
}

/* What one more or less at each rounding in between makes of a result. */
static double between_error(const struct ipex_conv_args *a, int64_t c) {
    const int64_t pitch = ipex_conv_middle_pitch(a);
    double ret = 0;
    for (int32_t m = 0; m < a->middles; m++)
        ret = (ret + 1) * fabs((double)a->middle[2 * m * pitch + c]);
    return ret;
}

/* In units of the bound: the roundings of the sum, of the fma, of the residual, and those of the
 * activation; and those in between. */
static double worst_error(const struct ipex_conv_args *a, const float *y) {
    const double products = (double)a->segments_h * a->segments_w * a->k;
    double worst = 0;
    for (int64_t i = 0; i < a->images; i++)
        for (int64_t l = 0; l < a->lines; l++)
            for (int64_t p = 0; p < (l == a->lines - 1 ? a->last_pixels : a->pixels); p++)
                for (int64_t c = 0; c < (int64_t)a->groups * a->n; c++) {
                    const double got =
                        (double)y[i * a->y_image + l * a->y_line + p * a->y_pixel + c];
                    const double most = 32640 * products * fabs((double)a->scale[c]) +
                                        2 * (double)size_of_values(a) + (a->middles > 0 ? 2000 : 0);
                    if (!is_absurd(a, c))
                        worst = fmax(worst, fabs(got - exact(a, i, l, p, c)) /
                                                (8 * 0x1p-24 * most + 1.1 * between_error(a, c)));
                }
    return worst;
}

/* Bytes that are not those of the f32 that `values` has, in f64: rounding half away or up would be
 * one more or less of a half. A NaN is the least that a clamp leaves, else 0. */
static int64_t wrong_bytes(const struct ipex_conv_args *a, const float *values, const uint8_t *y,
                           const float *as_floats) {
    int64_t ret = 0;
    for (int64_t i = 0; i < a->images; i++)
        for (int64_t l = 0; l < a->lines; l++)
            for (int64_t p = 0; p < (l == a->lines - 1 ? a->last_pixels : a->pixels); p++)
                for (int64_t c = 0; c < (int64_t)a->groups * a->n; c++) {
                    const int64_t at = i * a->y_image + l * a->y_line + p * a->y_pixel + c;
                    double value = (double)values[at];
                    if (isnan(value))
                        value = ipex_act_is_clamp(a->act)
                                    ? exact_act(a->y_scale < 0 ? HUGE_VAL : -HUGE_VAL, a->act,
                                                (double)a->act_a, (double)a->act_b)
                                    : -HUGE_VAL * (double)a->y_scale;
                    const double whole = rint(value * (double)a->y_scale) + rint((double)a->y_zero);
                    ret += !(y[at] == fmin(fmax(whole, 0), 255) && as_floats[at] == y[at]);
                }
    return ret;
}

static int report_bytes(const char *text, const char *level, const struct buffer *want,
                        const struct buffer *got) {
    const int64_t at = first_byte_difference(want, got);
    return at >= 0 && !report(false, text, "%s: byte %lld: %d, want %d", level, (long long)at,
                              ((const uint8_t *)got->data)[at], ((const uint8_t *)want->data)[at]);
}

enum result { AS_BYTES, AS_WHOLE_FLOATS, AS_FLOATS };

static int check_level(const struct level *level, const char *text,
                       const struct ipex_conv_args *args, const struct operands *operands,
                       enum result result, const struct buffer *want, struct rng *rng) {
    struct ipex_conv_args a = *args;
    if (result == AS_FLOATS)
        a.y_scale = 0;
    struct buffer got = run_level(level, &a, operands, result == AS_BYTES, rng);
    const int ret = result == AS_BYTES ? report_bytes(text, level->name, want, &got)
                                       : report_difference(text, level->name, want, &got);
    buffer_free(&got);
    return ret;
}

static int check_case(const struct context *context, struct rng *rng, bool depthwise, bool big) {
    struct ipex_conv_args args = random_args(rng, depthwise, big, context->only_normal);
    struct operands operands = make_operands(&args, rng);
    const float y_scale = args.y_scale;
    args.y_scale = 0;
    struct buffer floats = run_level(&context->levels[0], &args, &operands, false, rng);
    args.y_scale = y_scale;
    struct buffer want = run_level(&context->levels[0], &args, &operands, true, rng);
    struct buffer whole = run_level(&context->levels[0], &args, &operands, false, rng);
    const double error = worst_error(&args, floats.data);
    const int64_t wrong = wrong_bytes(&args, floats.data, want.data, whole.data);
    char text[160];
    int failed = 0;
    snprintf(text, sizeof text, "%s %d x %d (%d), segments %d x %d, %d -> %d, groups %d, act %d",
             depthwise ? "depthwise_u8" : "conv_u8", args.lines, args.pixels, args.last_pixels,
             args.segments_h, args.segments_w, args.k, args.n, args.groups, args.act);
    if (!(error <= 1))
        failed += !report(false, text, "the reference is %g of the bound off", error);
    if (wrong)
        failed += !report(false, text, "%lld bytes of the reference are wrong", (long long)wrong);
    for (size_t i = 1; i < context->n_levels; i++)
        for (enum result result = AS_BYTES; result <= AS_FLOATS; result++)
            failed += check_level(&context->levels[i], text, &args, &operands, result,
                                  (const struct buffer *[]){&want, &whole, &floats}[result], rng);
    buffer_free(&whole);
    buffer_free(&floats);
    buffer_free(&want);
    free_operands(&operands);
    return failed;
}

static void check_slot(const struct context *context, const char *name, bool depthwise) {
    struct rng rng = {context->seed + 12 + depthwise};
    char text[64];
    int failed = 0;
    if (!wanted(context, name))
        return;
    for (int i = 0; i < context->cases; i++)
        failed += check_case(context, &rng, depthwise, i % 16 == 0);
    snprintf(text, sizeof text, "%s: random shapes", name);
    report(failed == 0, text, "%d failed", failed);
}

void check_u8(const struct context *context) {
    check_slot(context, "conv_u8", false);
    check_slot(context, "depthwise_u8", true);
}
