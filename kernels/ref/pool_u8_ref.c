/* SPDX-License-Identifier: Apache-2.0 */
/* Max pooling of bytes, and their mean. */
#include "kernels/ref/ref.h"

static void pool_pixel(const struct ipex_pool_args *args, const struct ipex_pool_window *window,
                       const uint8_t *x, uint8_t *y) {
    memset(y, 0, (size_t)args->channels);
    for (int64_t i = window->h; i < window->h_end; i++)
        for (int64_t j = window->w; j < window->w_end; j++) {
            const uint8_t *tap = x + (window->row + i * args->dilation_h) * args->x_row +
                                 (window->column + j * args->dilation_w) * args->x_pixel;
            for (int64_t c = 0; c < args->channels; c++)
                if (tap[c] > y[c])
                    y[c] = tap[c];
        }
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

void IPEX_REF(reduce_u8)(const struct ipex_reduce_args *args, int64_t job_begin, int64_t job_end,
                         void *scratch) {
    (void)scratch;
    for (int64_t outer = job_begin; outer < job_end; outer++)
        for (int64_t i = 0; i < args->inner; i++) {
            const uint8_t *x = (const uint8_t *)args->x + outer * args->x_outer + i;
            int32_t sum = 0;
            for (int64_t m = 0; m < args->middle; m++)
                sum += x[m * args->x_middle];
            args->y[outer * args->y_outer + i] = (float)sum / (float)args->middle;
        }
}
