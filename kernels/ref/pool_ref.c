/* SPDX-License-Identifier: Apache-2.0 */
/* Max and average pooling over windows cut at the borders of x. */
#include "kernels/ref/ref.h"

static float pool_max(float m, float v) {
    return v != v ? v : v > m ? v : m;
}

static float pool_add(float sum, float v) {
    return sum + v;
}

/* Combines the taps of one window for one channel, in row-major order, from the first on. x: image
 * 0's row 0, this channel. */
static float pool_combine(const struct ipex_pool_args *args, const struct ipex_pool_window *window,
                          const float *x, float (*combine)(float, float)) {
    float ret = 0.0f;
    for (int64_t i = window->h; i < window->h_end; i++)
        for (int64_t j = window->w; j < window->w_end; j++) {
            const float v = x[(window->row + i * args->dilation_h) * args->x_row +
                              (window->column + j * args->dilation_w) * args->x_pixel];
            ret = i == window->h && j == window->w ? v : combine(ret, v);
        }
    return ret;
}

static void pool_line(const struct ipex_pool_args *args, int64_t job, bool average) {
    const int64_t image = job / args->lines, line = job % args->lines;
    const float *x = (const float *)args->x + image * args->x_image;
    for (int64_t pixel = 0; pixel < args->pixels; pixel++) {
        const struct ipex_pool_window window = ipex_pool_window(args, line, pixel);
        float *y =
            (float *)args->y + image * args->y_image + line * args->y_line + pixel * args->y_pixel;
        const float divisor = (float)ipex_pool_divisor(args, &window);
        for (int64_t c = 0; c < args->channels; c++)
            y[c] = average ? pool_combine(args, &window, x + c, pool_add) / divisor
                           : ref_flush(pool_combine(args, &window, x + c, pool_max));
    }
}

void IPEX_REF(max_pool_f32)(const struct ipex_pool_args *args, int64_t job_begin, int64_t job_end,
                            void *scratch) {
    (void)scratch;
    for (int64_t job = job_begin; job < job_end; job++)
        pool_line(args, job, false);
}

void IPEX_REF(avg_pool_f32)(const struct ipex_pool_args *args, int64_t job_begin, int64_t job_end,
                            void *scratch) {
    (void)scratch;
    for (int64_t job = job_begin; job < job_end; job++)
        pool_line(args, job, true);
}
