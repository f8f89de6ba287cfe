/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling for either vector width: up to four vectors of channels at a time, for one output pixel
 * after the other of those whose windows are alike, the taps of a window in the order of
 * kernels/ref/pool_ref.c. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_POOL_BODY_H
#define IPEX_KERNELS_X86_POOL_BODY_H

#include "kernels/x86/vec_math.h"

/* Windows of rows x columns taps, the first one from x on, with the strides between taps and
 * between the windows of as many pixels. */
struct pool_taps {
    const float *x;
    int64_t rows, columns, row, column;
    int64_t pixels, x_next, y_next;
};

/* `n` channels in up to NV vectors: a window is walked once, with as many chains as vectors in
 * flight. A chain takes its taps in order whatever NV is. */
#define POOL_1(X)     X(0)
#define POOL_2(X)     POOL_1(X) X(1)
#define POOL_4(X)     POOL_2(X) X(2) X(3)
#define POOL_LOAD(v)  vec_load_part(x + (v)*LANES, n - (v)*LANES)
#define POOL_FIRST(v) vec chain##v = POOL_LOAD(v);
#define POOL_SUM(v)   chain##v = vec_add(chain##v, POOL_LOAD(v));
#define POOL_MAX(v)   chain##v = vec_max_nan(chain##v, POOL_LOAD(v));
#define POOL_STORE_MEAN(v)                                                                         \
    vec_store_part(y + (v)*LANES, n - (v)*LANES, vec_div(chain##v, vec_set(divisor)));
#define POOL_STORE_MAX(v) vec_store_part(y + (v)*LANES, n - (v)*LANES, vec_flush(chain##v));

#define POOL(NAME, NV, STEP, STORE)                                                                \
    static void pool_##NAME##_##NV(const struct pool_taps *taps, int64_t c, int64_t n, float *y,   \
                                   float divisor) {                                                \
        const float *first = taps->x + c;                                                          \
        for (int64_t p = taps->pixels; p > 0; p--, first += taps->x_next, y += taps->y_next) {     \
            const float *x = first;                                                                \
            POOL_##NV(POOL_FIRST) for (int64_t i = 0; i < taps->rows; i++) {                       \
                x = first + i * taps->row + (i == 0 ? taps->column : 0);                           \
                for (int64_t j = i == 0; j < taps->columns; j++, x += taps->column) {              \
                    POOL_##NV(STEP)                                                                \
                }                                                                                  \
            }                                                                                      \
            (void)divisor;                                                                         \
            POOL_##NV(STORE)                                                                       \
        }                                                                                          \
    }

POOL(mean, 1, POOL_SUM, POOL_STORE_MEAN)
POOL(mean, 2, POOL_SUM, POOL_STORE_MEAN)
POOL(mean, 4, POOL_SUM, POOL_STORE_MEAN)
POOL(max, 1, POOL_MAX, POOL_STORE_MAX)
POOL(max, 2, POOL_MAX, POOL_STORE_MAX)
POOL(max, 4, POOL_MAX, POOL_STORE_MAX)

typedef void (*pool_fn)(const struct pool_taps *, int64_t c, int64_t n, float *y, float divisor);

static inline void pool_pixels(const struct pool_taps *taps, float *y, int64_t channels,
                               bool average, float divisor) {
    static const pool_fn mean[] = {pool_mean_1, pool_mean_2, pool_mean_4};
    static const pool_fn max[] = {pool_max_1, pool_max_2, pool_max_4};
    for (int64_t c = 0, size; c < channels; c += LANES << size) {
        const int64_t left = channels - c;
        size = left > 2 * LANES ? 2 : left > LANES ? 1 : 0;
        (average ? mean : max)[size](taps, c, left, y + c, divisor);
    }
}

/* A window without taps lies in the padding alone: 0, or for an average 0 / divisor. */
static inline void pool_empty(float *y, int64_t channels, bool average, float divisor) {
    for (int64_t c = 0; c < channels; c++) {
        AS_WRITTEN;
        y[c] = average ? 0.0f / divisor : 0.0f;
    }
}

/* From `pixel` on: how many have the same window, whole along the line, or else 1. */
static inline int64_t pool_alike(const struct ipex_pool_args *args,
                                 const struct ipex_pool_window *window, int64_t pixel) {
    const int64_t reach = (int64_t)(args->kernel_w - 1) * args->dilation_w;
    const int64_t room = args->width - 1 - reach - window->column;
    if (window->column < 0 || room < 0)
        return 1;
    const int64_t alike = ipex_div(room, args->stride_w) + 1, left = args->pixels - pixel;
    return alike < left ? alike : left;
}

static __attribute__((noinline)) void pool_lines(const struct ipex_pool_args *args,
                                                 int64_t job_begin, int64_t job_end, bool average) {
    __asm__("" : "+r"(average)); /* or there would be a copy for each */
    for (int64_t job = job_begin; job < job_end; job++) {
        const struct ipex_quotient at = ipex_divide(job, args->lines);
        const int64_t image = at.whole, line = at.rest;
        for (int64_t pixel = 0, alike; pixel < args->pixels; pixel += alike) {
            const struct ipex_pool_window window = ipex_pool_window(args, line, pixel);
            alike = pool_alike(args, &window, pixel);
            const struct pool_taps taps = {
                .x = (const float *)args->x + image * args->x_image +
                     (window.row + window.h * args->dilation_h) * args->x_row +
                     (window.column + window.w * args->dilation_w) * args->x_pixel,
                .rows = window.h_end - window.h,
                .columns = window.w_end - window.w,
                .row = args->dilation_h * args->x_row,
                .column = args->dilation_w * args->x_pixel,
                .pixels = alike,
                .x_next = args->stride_w * args->x_pixel,
                .y_next = args->y_pixel,
            };
            float *y = (float *)args->y + image * args->y_image + line * args->y_line +
                       pixel * args->y_pixel;
            const float divisor = (float)ipex_pool_divisor(args, &window);
            if (taps.rows <= 0 || taps.columns <= 0)
                for (int64_t p = 0; p < alike; p++)
                    pool_empty(y + p * args->y_pixel, args->channels, average, divisor);
            else
                pool_pixels(&taps, y, args->channels, average, divisor);
        }
    }
}

void IPEX_LEVEL(max_pool_f32)(const struct ipex_pool_args *args, int64_t job_begin, int64_t job_end,
                              void *scratch) {
    (void)scratch;
    pool_lines(args, job_begin, job_end, false);
}

void IPEX_LEVEL(avg_pool_f32)(const struct ipex_pool_args *args, int64_t job_begin, int64_t job_end,
                              void *scratch) {
    (void)scratch;
    pool_lines(args, job_begin, job_end, true);
}

#endif
