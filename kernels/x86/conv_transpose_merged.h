/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolution on f32 whose windows touch and never overlap (kernel = stride, as
 * ipex_transpose_merges says): what a pixel of x gives to one line of y lies together there, the
 * columns of all taps of a kernel row. So each kernel row is one product with kernel_w * n columns,
 * and full panels, instead of kernel_w products with n. Every output is the chain it was. */
#ifndef IPEX_KERNELS_X86_CONV_TRANSPOSE_MERGED_H
#define IPEX_KERNELS_X86_CONV_TRANSPOSE_MERGED_H

#include "kernels/x86/conv_transpose_walk.h"

/* Column kw * n + c of kernel row kh is column c of tap (kh, kw). */
static inline void transpose_merge_weights(const struct ipex_conv_transpose_args *args,
                                           const struct ipex_transpose_merged *m, float *w) {
    const int64_t rows = m->panel / IPEX_PANEL;
    for (int64_t i = 0; i < args->kernel_h * m->row; i++)
        w[i] = 0.0f;
    for (int64_t kh = 0; kh < args->kernel_h; kh++)
        for (int64_t column = 0; column < m->columns; column++) {
            const int64_t tap = kh * args->kernel_w + column / args->n, c = column % args->n;
            const float *from =
                (const float *)args->w + tap * m->tap + c / IPEX_PANEL * m->panel + c % IPEX_PANEL;
            float *to = w + kh * m->row + column / IPEX_PANEL * m->panel + column % IPEX_PANEL;
            for (int64_t k = 0; k < rows; k++)
                to[k * IPEX_PANEL] = from[k * IPEX_PANEL];
        }
}

/* Lines of one kernel row within a job. */
static inline void transpose_merged_row(const struct conv_level *level,
                                        const struct ipex_conv_transpose_args *args,
                                        const struct ipex_transpose_merged *m,
                                        const struct ipex_conv_job *job, int64_t kh,
                                        const float *w) {
    const int64_t first = ipex_div_up(job->line - kh, args->stride_h); /* of x */
    const int64_t end = ipex_div_up(job->line_end - kh, args->stride_h);
    const struct ipex_conv_args conv = {
        .y = args->y, /* conv_walk.h asks whether it is the residual */
        .x_line = args->x_row,
        .x_pixel = args->x_pixel,
        .y_line = args->stride_h * args->y_line,
        .y_pixel = args->stride_w * args->y_pixel,
        .images = 1,
        .lines = (int32_t)(end - first),
        .pixels = args->width,
        .last_pixels = args->width,
        .groups = 1,
        .segments_h = 1,
        .segments_w = 1,
        .k = args->k,
        .n = (int32_t)m->columns,
        .act = act_is_clamp(args->act) ? args->act : IPEX_ACT_none,
        .act_a = args->act_a,
        .act_b = args->act_b,
        .cache_l2 = args->cache_l2,
    };
    const struct ipex_conv_job lines = {.line_end = end - first};
    const struct conv_walk walk = {
        .level = level,
        .args = &conv,
        .job = &lines,
        .x = (const float *)args->x + job->image * args->x_image + first * args->x_row,
        .w = w + kh * m->row,
        .bias = w + m->bias,
        .y = args->y + job->image * args->y_image + (first * args->stride_h + kh) * args->y_line,
    };
    if (first < end)
        walk_parts(&walk, 0, m->panels);
}

/* A kernel's whole body. All panels are done by the jobs of the first ones. */
static inline void transpose_merged_jobs(const struct conv_level *level,
                                         const struct ipex_conv_transpose_args *args,
                                         int64_t job_begin, int64_t job_end, void *scratch) {
    const struct ipex_transpose_merged m = ipex_transpose_merged(args);
    float *w = (float *)(((uintptr_t)scratch + IPEX_WEIGHT_ALIGN - 1) / IPEX_WEIGHT_ALIGN *
                         IPEX_WEIGHT_ALIGN);
    transpose_merge_weights(args, &m, w);
    for (int64_t i = 0; i < m.panels * IPEX_PANEL; i++)
        w[m.bias + i] = i < m.columns ? args->bias[i % args->n] : 0.0f;
    for (int64_t j = job_begin; j < job_end; j++) {
        struct ipex_conv_job job = ipex_conv_transpose_job(args, j);
        if (job.panel > 0)
            continue;
        job.panel_end = ipex_div_up(args->n, IPEX_PANEL);
        for (int64_t kh = 0; kh < args->kernel_h; kh++)
            transpose_merged_row(level, args, &m, &job, kh, w);
        if (!act_is_clamp(args->act))
            transpose_activate(args, &job);
    }
}

#endif
