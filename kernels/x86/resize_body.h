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

/* Once a line and a pixel: one copy of it. */
static __attribute__((noinline)) struct ipex_resize_taps
resize_taps(const struct ipex_resize_axis *axis, int64_t at) {
    return ipex_resize_taps(axis, (int32_t)at);
}

/* Bytes that do not overlap; of a vector or more, the last vector may be of some copied before. */
static inline void resize_copy(char *y, const char *x, int64_t bytes) {
    enum { VECTOR = LANES * sizeof(float) };
    const int64_t floats = bytes / (int64_t)sizeof(float);
    if (bytes < VECTOR) {
        if (bytes % (int64_t)sizeof(float) == 0)
            vec_store_part((float *)(void *)y, floats,
                           vec_load_part((const float *)(const void *)x, floats));
        else
            memcpy(y, x, (size_t)bytes);
        return;
    }
    for (int64_t i = 0; i < bytes; i += VECTOR) {
        const int64_t at = ipex_smaller(i, bytes - VECTOR);
        vec_store((float *)(void *)(y + at), vec_load((const float *)(const void *)(x + at)));
    }
}

static inline void resize_nearest_line(const struct ipex_resize_args *args, const char *x, char *y,
                                       const struct ipex_resize_taps *w) {
    const int64_t x_pixel = args->x_pixel * args->size, y_pixel = args->y_pixel * args->size;
    for (int64_t p = 0; p < args->pixels; p++)
        resize_copy(y + p * y_pixel, x + w[p].index[0] * x_pixel,
                    (int64_t)args->channels * args->size);
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
    const bool linear = args->mode == IPEX_RESIZE_linear;
    for (int64_t p = 0; p < args->pixels; p++) {
        if (linear)
            resize_pixel(args, line, &w[p], line->y + p * args->y_pixel, 2);
        else
            resize_pixel(args, line, &w[p], line->y + p * args->y_pixel, 4);
    }
}

/* Lines of one job. */
static inline void resize_lines(const struct ipex_resize_args *args,
                                const struct ipex_resize_job *job,
                                const struct ipex_resize_axis *vertical,
                                const struct ipex_resize_taps *w) {
    const float *x = (const float *)args->x + job->image * args->x_image;
    float *y = (float *)args->y + job->image * args->y_image;
    for (int64_t line = job->line; line < job->line_end; line++) {
        const struct ipex_resize_taps h = resize_taps(vertical, line);
        struct resize_line l = {.y = y + line * args->y_line};
        for (int32_t i = 0; i < IPEX_RESIZE_TAPS; i++) {
            l.row[i] = x + h.index[i] * args->x_row;
            l.weight[i] = h.weight[i];
        }
        resize_line(args, &l, w);
    }
}

/* The same in mode nearest. A line of the same row as the one before is a copy of it. */
static inline void resize_nearest_lines(const struct ipex_resize_args *args,
                                        const struct ipex_resize_job *job,
                                        const struct ipex_resize_axis *vertical,
                                        const struct ipex_resize_taps *w) {
    const bool dense = args->y_pixel == args->channels;
    const char *x = (const char *)args->x + job->image * args->x_image * args->size;
    char *y =
        (char *)args->y + (job->image * args->y_image + job->line * args->y_line) * args->size;
    int32_t before = -1;
    for (int64_t line = job->line; line < job->line_end; line++, y += args->y_line * args->size) {
        const int32_t row = resize_taps(vertical, line).index[0];
        if (dense && row == before)
            memcpy(y, y - args->y_line * args->size,
                   (size_t)args->pixels * args->y_pixel * args->size);
        else
            resize_nearest_line(args, x + row * args->x_row * args->size, y, w);
        before = row;
    }
}

void ipex_k_resize_f32__avx2(const struct ipex_resize_args *args, int64_t job_begin,
                             int64_t job_end, void *scratch);

/* Mode nearest is bound by memory: AVX2's kernel does. */
void IPEX_LEVEL(resize_f32)(const struct ipex_resize_args *args, int64_t job_begin, int64_t job_end,
                            void *scratch) {
    if (LANES == 16 && args->mode == IPEX_RESIZE_nearest) {
        ipex_k_resize_f32__avx2(args, job_begin, job_end, scratch);
        return;
    }
    const struct ipex_resize_axis vertical = ipex_resize_axis(args, true);
    const struct ipex_resize_axis horizontal = ipex_resize_axis(args, false);
    struct ipex_resize_taps *w = scratch;
    for (int32_t pixel = 0; pixel < args->pixels; pixel++)
        w[pixel] = resize_taps(&horizontal, pixel);
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_resize_job job = ipex_resize_job(args, j);
        if (LANES == 8 && args->mode == IPEX_RESIZE_nearest)
            resize_nearest_lines(args, &job, &vertical, w);
        else
            resize_lines(args, &job, &vertical, w);
    }
}

#endif
