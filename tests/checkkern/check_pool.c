/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool_f32, avg_pool_f32, max_pool_u8: windows that hang over every border, dilation, empty
 * windows, special values. */
#include "tests/checkkern/checkkern.h"

#include <math.h>

static struct ipex_pool_args random_args(struct rng *rng, int32_t *ret_y_gap) {
    const int64_t x_gap = rng_one_in(rng, 3) ? rng_range(rng, 1, 9) : 0;
    const int64_t y_gap = rng_one_in(rng, 3) ? rng_range(rng, 1, 9) : 0;
    struct ipex_pool_args a = {
        .images = (int32_t)rng_range(rng, 1, 2),
        .height = (int32_t)rng_range(rng, 1, 9),
        .width = (int32_t)rng_range(rng, 1, 9),
        .channels = (int32_t)rng_range(rng, 1, rng_one_in(rng, 2) ? 20 : 100),
        .lines = (int32_t)rng_range(rng, 1, 5),
        .pixels = (int32_t)rng_range(rng, 1, 5),
        .kernel_h = (int32_t)rng_range(rng, 1, 4),
        .kernel_w = (int32_t)rng_range(rng, 1, 4),
        .stride_h = (int32_t)rng_range(rng, 1, 3),
        .stride_w = (int32_t)rng_range(rng, 1, 3),
        .pad_top = (int32_t)rng_range(rng, 0, 2),
        .pad_left = (int32_t)rng_range(rng, 0, 2),
        .pad_bottom = (int32_t)rng_range(rng, 0, 2),
        .pad_right = (int32_t)rng_range(rng, 0, 2),
        .dilation_h = rng_one_in(rng, 4) ? 2 : 1,
        .dilation_w = rng_one_in(rng, 4) ? 2 : 1,
        .count_pad = rng_one_in(rng, 2),
    };
    a.x_pixel = a.channels + x_gap;
    a.x_row = a.width * a.x_pixel + rng_range(rng, 0, 3);
    a.x_image = a.height * a.x_row;
    a.y_pixel = a.channels + y_gap;
    a.y_line = a.pixels * a.y_pixel;
    a.y_image = a.lines * a.y_line;
    *ret_y_gap = (int32_t)y_gap;
    return a;
}

static struct buffer make_x(const struct ipex_pool_args *a, struct rng *rng, bool special) {
    const int64_t n = (a->images - 1) * a->x_image + (a->height - 1) * a->x_row +
                      (a->width - 1) * a->x_pixel + a->channels;
    struct buffer ret = buffer_make((size_t)n * 4);
    fill_poison(&ret);
    for (int64_t i = 0; i < a->images * a->height * a->width; i++) {
        float *pixel = (float *)ret.data + i / a->width / a->height * a->x_image +
                       i / a->width % a->height * a->x_row + i % a->width * a->x_pixel;
        for (int64_t c = 0; c < a->channels; c++)
            pixel[c] = rng_value(rng, special);
    }
    return ret;
}

/* One output in f64, straight from the definition; ret_taps counts the positions inside x. */
static double exact(const struct ipex_pool_args *a, int64_t i, int64_t l, int64_t p, int64_t c,
                    bool average, int *ret_taps) {
    double sum = 0, max = -INFINITY, positions = 0;
    *ret_taps = 0;
    for (int64_t h = 0; h < a->kernel_h; h++)
        for (int64_t w = 0; w < a->kernel_w; w++) {
            const int64_t row = l * a->stride_h - a->pad_top + h * a->dilation_h;
            const int64_t column = p * a->stride_w - a->pad_left + w * a->dilation_w;
            const bool padded = row >= -a->pad_top && row < a->height + a->pad_bottom &&
                                column >= -a->pad_left && column < a->width + a->pad_right;
            const bool inside = row >= 0 && row < a->height && column >= 0 && column < a->width;
            positions += a->count_pad ? padded : inside;
            if (!inside)
                continue;
            const double v =
                (double)((const float *)
                             a->x)[i * a->x_image + row * a->x_row + column * a->x_pixel + c];
            sum += v;
            max = fmax(max, v);
            ++*ret_taps;
        }
    return average ? sum / positions : max;
}

static int compare_exact(const struct ipex_pool_args *a, const float *y, bool average) {
    int wrong = 0;
    for (int64_t out = 0; out < (int64_t)a->images * a->lines * a->pixels * a->channels; out++) {
        const int64_t c = out % a->channels, p = out / a->channels % a->pixels;
        const int64_t l = out / a->channels / a->pixels % a->lines;
        const int64_t i = out / a->channels / a->pixels / a->lines;
        int taps;
        const double want = exact(a, i, l, p, c, average, &taps);
        const double got = (double)y[i * a->y_image + l * a->y_line + p * a->y_pixel + c];
        if (taps > 0)
            wrong += !(fabs(got - want) <= (average ? 0x1p-20 : 0));
    }
    return wrong;
}

static struct buffer run_level(const struct level *level, const struct ipex_pool_args *args,
                               int32_t y_gap, struct rng *rng, bool average) {
    struct ipex_pool_args a = *args;
    struct buffer y = buffer_make((size_t)(a.images * a.y_image - y_gap) * 4);
    fill_canary(&y);
    a.y = y.data;
    running(average ? "avg_pool_f32" : "max_pool_f32", level->name);
    run_jobs(rng,
             average ? (ipex_kernel_fn)level->kernels.avg_pool_f32
                     : (ipex_kernel_fn)level->kernels.max_pool_f32,
             &a, ipex_pool_jobs(&a), 0);
    return y;
}

static int check_shape(const struct context *context, struct rng *rng, bool average) {
    int32_t y_gap;
    struct ipex_pool_args args = random_args(rng, &y_gap);
    const bool special = rng_one_in(rng, 3);
    struct buffer x = make_x(&args, rng, special);
    args.x = x.data;
    struct buffer want = run_level(&context->levels[0], &args, y_gap, rng, average);
    int failed = 0;
    if (!special && compare_exact(&args, want.data, average) != 0)
        failed += !report(false, "pool reference against f64", "wrong values");
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_level(&context->levels[i], &args, y_gap, rng, average);
        const int64_t at = first_difference(&want, &got);
        if (at >= 0)
            failed += !report(false, average ? "avg_pool_f32 shape" : "max_pool_f32 shape",
                              "%s: %dx%dx%d, kernel %dx%d: element %lld: %a, want %a",
                              context->levels[i].name, args.height, args.width, args.channels,
                              args.kernel_h, args.kernel_w, (long long)at,
                              (double)((float *)got.data)[at], (double)((float *)want.data)[at]);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&x);
    return failed;
}

/* The largest byte of a window, 0 where it is empty. */
static uint8_t largest_byte(const struct ipex_pool_args *a, int64_t image, int64_t line,
                            int64_t pixel, int64_t channel) {
    uint8_t ret = 0;
    for (int64_t tap = 0; tap < (int64_t)a->kernel_h * a->kernel_w; tap++) {
        const int64_t row = line * a->stride_h - a->pad_top + tap / a->kernel_w * a->dilation_h;
        const int64_t column =
            pixel * a->stride_w - a->pad_left + tap % a->kernel_w * a->dilation_w;
        if (row < 0 || row >= a->height || column < 0 || column >= a->width)
            continue;
        const uint8_t x =
            ((const uint8_t *)
                 a->x)[image * a->x_image + row * a->x_row + column * a->x_pixel + channel];
        ret = x > ret ? x : ret;
    }
    return ret;
}

static int check_bytes(const struct level *level, struct rng *rng) {
    int32_t y_gap, wrong = 0;
    struct ipex_pool_args a = random_args(rng, &y_gap);
    struct buffer x = buffer_make((size_t)(a.images * a.x_image));
    struct buffer y = buffer_make((size_t)(a.images * a.y_image - y_gap));
    struct buffer want = buffer_make(y.bytes);
    for (size_t i = 0; i < x.bytes; i++)
        ((uint8_t *)x.data)[i] = (uint8_t)rng_range(rng, 0, 255);
    fill_canary(&y);
    fill_canary(&want);
    a.x = x.data;
    a.y = y.data;
    running("max_pool_u8", level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.max_pool_u8, &a, ipex_pool_jobs(&a), 0);
    for (int64_t i = 0; i < (int64_t)a.images * a.lines * a.pixels * a.channels; i++) {
        const int64_t pixel = i / a.channels % a.pixels;
        const int64_t line = i / a.channels / a.pixels % a.lines;
        const int64_t image = i / a.channels / a.pixels / a.lines;
        ((uint8_t *)
             want.data)[image * a.y_image + line * a.y_line + pixel * a.y_pixel + i % a.channels] =
            largest_byte(&a, image, line, pixel, i % a.channels);
    }
    for (size_t i = 0; i < y.bytes; i++)
        wrong += ((uint8_t *)y.data)[i] != ((uint8_t *)want.data)[i];
    if (wrong > 0)
        report(false, "max_pool_u8 shape", "%s: %dx%dx%d, kernel %dx%d: %d of %zu bytes",
               level->name, a.height, a.width, a.channels, a.kernel_h, a.kernel_w, wrong, y.bytes);
    buffer_free(&x);
    buffer_free(&y);
    buffer_free(&want);
    return wrong > 0;
}

static void check_pool_u8(const struct context *context) {
    struct rng rng = {context->seed + 5};
    int failed = 0;
    for (int i = 0; i < context->cases; i++)
        for (size_t level = 0; level < context->n_levels; level++)
            failed += check_bytes(&context->levels[level], &rng);
    report(failed == 0, "max_pool_u8: random shapes", "%d failed", failed);
}

void check_pool(const struct context *context) {
    if (wanted(context, "max_pool_u8"))
        check_pool_u8(context);
    for (int average = 0; average <= 1; average++) {
        if (!wanted(context, average ? "avg_pool_f32" : "max_pool_f32"))
            continue;
        struct rng rng = {context->seed + 2};
        int failed = 0;
        for (int i = 0; i < context->cases; i++)
            failed += check_shape(context, &rng, average);
        report(failed == 0, average ? "avg_pool_f32: random shapes" : "max_pool_f32: random shapes",
               "%d failed", failed);
    }
}
