/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing: every element from its rows and columns of x. */
#include "kernels/ref/ref.h"
#include "kernels/resize_taps.h"

/* One element: a chain over columns for every row, a chain over those. x: channel c of the image.
 */
static float resize_element(const struct ipex_resize_args *args, const float *x,
                            const struct ipex_resize_taps *h, const struct ipex_resize_taps *w) {
    const int32_t taps = ipex_resize_tap_count(args->mode);
    float ret = 0.0f;
    for (int32_t i = 0; i < taps; i++) {
        const float *row = x + h->index[i] * args->x_row;
        float sum = row[w->index[0] * args->x_pixel] * w->weight[0];
        for (int32_t j = 1; j < taps; j++)
            sum = fmaf(row[w->index[j] * args->x_pixel], w->weight[j], sum);
        ret = i == 0 ? sum * h->weight[0] : fmaf(sum, h->weight[i], ret);
    }
    return ret;
}

/* x, y: elements from args' pointers to the image and the pixel. */
static void resize_pixel(const struct ipex_resize_args *args, int64_t x, int64_t y,
                         const struct ipex_resize_taps *h, const struct ipex_resize_taps *w) {
    if (args->mode == IPEX_RESIZE_nearest) {
        const int64_t from = x + h->index[0] * args->x_row + w->index[0] * args->x_pixel;
        memcpy((char *)args->y + y * args->size, (const char *)args->x + from * args->size,
               (size_t)args->channels * args->size);
        return;
    }
    for (int64_t c = 0; c < args->channels; c++)
        ((float *)args->y)[y + c] = resize_element(args, (const float *)args->x + x + c, h, w);
}

void IPEX_REF(resize_f32)(const struct ipex_resize_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    (void)scratch;
    const struct ipex_resize_axis vertical = ipex_resize_axis(args, true);
    const struct ipex_resize_axis horizontal = ipex_resize_axis(args, false);
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_resize_job job = ipex_resize_job(args, j);
        for (int64_t line = job.line; line < job.line_end; line++) {
            const struct ipex_resize_taps h = ipex_resize_taps(&vertical, (int32_t)line);
            const int64_t y = job.image * args->y_image + line * args->y_line;
            for (int32_t pixel = 0; pixel < args->pixels; pixel++) {
                const struct ipex_resize_taps w = ipex_resize_taps(&horizontal, pixel);
                resize_pixel(args, job.image * args->x_image, y + pixel * args->y_pixel, &h, &w);
            }
        }
    }
}
