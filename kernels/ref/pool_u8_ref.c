/* SPDX-License-Identifier: Apache-2.0 */
/* Max pooling of bytes: channels are neighbours, so that each tap is a loop of vectors. */
#include "kernels/ref/ref.h"

/* The largest of three and y. */
static __attribute__((noinline)) void largest(const uint8_t *restrict a, const uint8_t *restrict b,
                                              const uint8_t *restrict c, uint8_t *restrict y,
                                              int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const uint8_t ab = a[i] > b[i] ? a[i] : b[i], cy = c[i] > y[i] ? c[i] : y[i];
        y[i] = ab > cy ? ab : cy;
    }
}

/* Three taps at a time: y is loaded and stored as often as that. */
static void pool_pixel(const struct ipex_pool_args *args, const struct ipex_pool_window *window,
                       const uint8_t *x, uint8_t *y) {
    const uint8_t *tap[3];
    int64_t taps = 0;
    memset(y, 0, (size_t)args->channels);
    for (int64_t i = window->h; i < window->h_end; i++)
        for (int64_t j = window->w; j < window->w_end; j++) {
            tap[taps++] = x + (window->row + i * args->dilation_h) * args->x_row +
                          (window->column + j * args->dilation_w) * args->x_pixel;
            if (taps == 3) {
                largest(tap[0], tap[1], tap[2], y, args->channels);
                taps = 0;
            }
        }
    if (taps > 0)
        largest(tap[0], tap[taps - 1], tap[0], y, args->channels);
}

void IPEX_REF(max_pool_u8)(const struct ipex_pool_args *args, int64_t job_begin, int64_t job_end,
                           void *scratch) {
    (void)scratch;
    for (int64_t job = job_begin; job < job_end; job++) {
        const int64_t image = job / args->lines, line = job % args->lines;
        uint8_t *y = (uint8_t *)args->y + image * args->y_image + line * args->y_line;
        for (int64_t pixel = 0; pixel < args->pixels; pixel++, y += args->y_pixel) {
            const struct ipex_pool_window window = ipex_pool_window(args, line, pixel);
            pool_pixel(args, &window, (const uint8_t *)args->x + image * args->x_image, y);
        }
    }
}
