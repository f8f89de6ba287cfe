/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling for either vector width: one output pixel at a time, one vector of channels at a time,
 * the taps of the window in the order of kernels/ref/pool_ref.c. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_POOL_BODY_H
#define IPEX_KERNELS_X86_POOL_BODY_H

#include "kernels/x86/vec_math.h"

/* One window: rows x columns taps from x on, x at its first tap, with the strides between taps. */
struct pool_taps {
    const float *x;
    int64_t rows, columns, row, column;
};

/* n: channels from c on. */
static inline vec pool_max_taps(const struct pool_taps *taps, int64_t c, int64_t n) {
    vec ret = vec_load_part(taps->x + c, n);
    for (int64_t i = 0; i < taps->rows; i++)
        for (int64_t j = i == 0; j < taps->columns; j++)
            ret =
                vec_max_nan(ret, vec_load_part(taps->x + i * taps->row + j * taps->column + c, n));
    return vec_flush(ret);
}

static inline vec pool_sum_taps(const struct pool_taps *taps, int64_t c, int64_t n) {
    vec ret = vec_load_part(taps->x + c, n);
    for (int64_t i = 0; i < taps->rows; i++)
        for (int64_t j = i == 0; j < taps->columns; j++)
            ret = vec_add(ret, vec_load_part(taps->x + i * taps->row + j * taps->column + c, n));
    return ret;
}

static inline void pool_pixel(const struct pool_taps *taps, float *y, int64_t channels,
                              bool average, float divisor) {
    const vec div = vec_set(divisor);
    for (int64_t c = 0; c < channels; c += LANES) {
        const int64_t n = channels - c;
        vec_store_part(y + c, n,
                       average ? vec_div(pool_sum_taps(taps, c, n), div)
                               : pool_max_taps(taps, c, n));
    }
}

/* A window without taps lies in the padding alone: 0, or for an average 0 / divisor. */
static inline void pool_empty(float *y, int64_t channels, bool average, float divisor) {
    for (int64_t c = 0; c < channels; c++)
        y[c] = average ? 0.0f / divisor : 0.0f;
}

static inline void pool_lines(const struct ipex_pool_args *args, int64_t job_begin, int64_t job_end,
                              bool average) {
    for (int64_t job = job_begin; job < job_end; job++)
        for (int64_t pixel = 0; pixel < args->pixels; pixel++) {
            const int64_t image = job / args->lines, line = job % args->lines;
            const struct ipex_pool_window window = ipex_pool_window(args, line, pixel);
            const struct pool_taps taps = {
                .x = args->x + image * args->x_image +
                     (window.row + window.h * args->dilation_h) * args->x_row +
                     (window.column + window.w * args->dilation_w) * args->x_pixel,
                .rows = window.h_end - window.h,
                .columns = window.w_end - window.w,
                .row = args->dilation_h * args->x_row,
                .column = args->dilation_w * args->x_pixel,
            };
            float *y =
                args->y + image * args->y_image + line * args->y_line + pixel * args->y_pixel;
            const float divisor = (float)ipex_pool_divisor(args, &window);
            if (taps.rows <= 0 || taps.columns <= 0)
                pool_empty(y, args->channels, average, divisor);
            else
                pool_pixel(&taps, y, args->channels, average, divisor);
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
