/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing for either vector width: the columns and weights of a line are computed once into
 * scratch, then every pixel is a vector of channels at a time in the order of
 * kernels/ref/resize_ref.c. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_RESIZE_BODY_H
#define IPEX_KERNELS_X86_RESIZE_BODY_H

#include <string.h>

#include "kernels/resize_taps.h"
#include "kernels/x86/vec_math.h"

/* One line of y: its rows of x. */
struct resize_line {
    const float *row[IPEX_RESIZE_TAPS];
    float weight[IPEX_RESIZE_TAPS];
    float *y;
};

/* n floats that do not overlap. */
static inline void resize_copy(float *y, const float *x, int64_t n) {
    for (int64_t c = 0; c < n; c += LANES)
        vec_store_part(y + c, n - c, vec_load_part(x + c, n - c));
}

static inline void resize_nearest_line(const struct ipex_resize_args *args,
                                       const struct resize_line *line,
                                       const struct ipex_resize_taps *w) {
    for (int64_t p = 0; p < args->pixels; p++)
        resize_copy(line->y + p * args->y_pixel, line->row[0] + w[p].index[0] * args->x_pixel,
                    args->channels);
}

/* One pixel; `taps` is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void resize_pixel(const struct ipex_resize_args *args,
                                                               const struct resize_line *line,
                                                               const struct ipex_resize_taps *w,
                                                               float *y, int32_t taps) {
    for (int64_t c = 0; c < args->channels; c += LANES) {
        const int64_t n = args->channels - c;
        vec result = vec_set(0.0f);
        for (int32_t i = 0; i < taps; i++) {
            const float *x = line->row[i] + c;
            vec sum =
                vec_mul(vec_load_part(x + w->index[0] * args->x_pixel, n), vec_set(w->weight[0]));
            for (int32_t j = 1; j < taps; j++)
                sum = vec_fma(vec_load_part(x + w->index[j] * args->x_pixel, n),
                              vec_set(w->weight[j]), sum);
            const vec weight = vec_set(line->weight[i]);
            result = i == 0 ? vec_mul(sum, weight) : vec_fma(sum, weight, result);
        }
        vec_store_part(y + c, n, result);
    }
}

static inline void resize_line(const struct ipex_resize_args *args, const struct resize_line *line,
                               const struct ipex_resize_taps *w) {
    if (args->mode == IPEX_RESIZE_nearest) {
        resize_nearest_line(args, line, w);
        return;
    }
    const bool linear = args->mode == IPEX_RESIZE_linear;
    for (int64_t p = 0; p < args->pixels; p++) {
        if (linear)
            resize_pixel(args, line, &w[p], line->y + p * args->y_pixel, 2);
        else
            resize_pixel(args, line, &w[p], line->y + p * args->y_pixel, 4);
    }
}

/* Lines of one job. A line of the same row as the one before (mode nearest) is a copy of it. */
static inline void resize_lines(const struct ipex_resize_args *args,
                                const struct ipex_resize_job *job,
                                const struct ipex_resize_axis *vertical,
                                const struct ipex_resize_taps *w) {
    const bool dense = args->y_pixel == args->channels && args->mode == IPEX_RESIZE_nearest;
    int32_t before = -1;
    for (int64_t line = job->line; line < job->line_end; line++) {
        const struct ipex_resize_taps h = ipex_resize_taps(vertical, (int32_t)line);
        struct resize_line l = {.y = args->y + job->image * args->y_image + line * args->y_line};
        for (int32_t i = 0; i < IPEX_RESIZE_TAPS; i++) {
            l.row[i] = args->x + job->image * args->x_image + h.index[i] * args->x_row;
            l.weight[i] = h.weight[i];
        }
        if (dense && h.index[0] == before)
            memcpy(l.y, l.y - args->y_line, (size_t)args->pixels * args->y_pixel * sizeof(float));
        else
            resize_line(args, &l, w);
        before = h.index[0];
    }
}

void IPEX_LEVEL(resize_f32)(const struct ipex_resize_args *args, int64_t job_begin, int64_t job_end,
                            void *scratch) {
    const struct ipex_resize_axis vertical = ipex_resize_axis(args, true);
    const struct ipex_resize_axis horizontal = ipex_resize_axis(args, false);
    struct ipex_resize_taps *w = scratch;
    for (int32_t pixel = 0; pixel < args->pixels; pixel++)
        w[pixel] = ipex_resize_taps(&horizontal, pixel);
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_resize_job job = ipex_resize_job(args, j);
        resize_lines(args, &job, &vertical, w);
    }
}

#endif
