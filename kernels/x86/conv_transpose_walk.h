/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolution: its rectangles (kernels/transpose_jobs.h), each walked by conv_walk.h,
 * which is included before this. */
#ifndef IPEX_KERNELS_X86_CONV_TRANSPOSE_WALK_H
#define IPEX_KERNELS_X86_CONV_TRANSPOSE_WALK_H

#include "kernels/transpose_jobs.h"
#include "kernels/x86/conv_walk.h"

/* What a job's rectangles are walked with. */
struct transpose_context {
    const struct conv_level *level;
    bool streams; /* as conv_walk's, of the whole image */
};

static void transpose_rectangle(const void *context, const struct ipex_conv_transpose_args *args,
                                const struct ipex_transpose_rectangle *rectangle) {
    const struct transpose_context *of = context;
    const struct conv_level *level = of->level;
    struct ipex_conv_args conv = rectangle->conv;
    conv.y = args->y; /* conv_cuts.c asks whether it is the residual */
    conv.act = ipex_act_is_clamp(args->act) ? args->act : IPEX_ACT_none;
    conv.act_a = args->act_a;
    conv.act_b = args->act_b;
    conv.few = args->few;
    const struct conv_cuts cuts = ipex_conv_cuts(level, &conv, of->streams);
    struct conv_walk walk = {
        .level = level,
        .cuts = &cuts,
        .args = &conv,
        .x = (const CONV_X *)args->x + rectangle->x,
        .w = (const float *)args->w + rectangle->w,
        .bias = args->bias + rectangle->bias,
        .y = args->y + rectangle->y,
        .streams = of->streams,
        .w_kw = rectangle->w_kw,
        .w_kh = rectangle->w_kh,
    };
    ipex_conv_walk_job(&walk, rectangle->job);
}

/* Activations that are not clamps, once all phases of a job's lines are there: every phase alone
 * would go over pixels that lie apart. */
static inline void transpose_activate(const struct ipex_conv_transpose_args *args,
                                      const struct ipex_conv_job *job) {
    const int64_t column = job->panel * IPEX_PANEL;
    const int64_t end =
        job->panel_end * IPEX_PANEL < args->n ? job->panel_end * IPEX_PANEL : args->n;
    float *y = args->y + job->image * args->y_image + job->group * args->n + column;
    for (int64_t line = job->line; line < job->line_end; line++) {
        const bool dense = args->y_pixel == end - column; /* a line is a row */
        const struct ipex_act_rows rows =
            ipex_act_rows(y + line * args->y_line, dense ? 1 : args->pixels,
                          (dense ? args->pixels : 1) * (end - column), args->y_pixel, args->act,
                          args->act_a, args->act_b);
        IPEX_LEVEL(activate)(&rows);
    }
}

/* y that comes from the far end of L3 or from memory is fetched ahead: 2x2/2 of 24 channels at
 * 184x184 takes 0.72 of the time, 64 at 128x128 0.85, 3x3/2 0.9. Of a few times L2 nothing is won
 * (4x4/2 64 at 128x128: 1.02). */
static inline bool transpose_streams(const struct conv_level *level,
                                     const struct ipex_conv_transpose_args *args) {
    const int64_t y = (int64_t)args->lines * args->y_line * (int64_t)sizeof(float);
    return level->prefetches_y && !args->panels_outside && y > 4 * (int64_t)args->cache_l2;
}

/* A kernel's whole body. */
static inline void conv_transpose_jobs(const struct conv_level *level,
                                       const struct ipex_conv_transpose_args *args,
                                       int64_t job_begin, int64_t job_end) {
    const struct transpose_context context = {level, transpose_streams(level, args)};
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_transpose_job(args, j);
        ipex_transpose_rectangles(args, &job, CONV_K_PER_ROW, transpose_rectangle, &context);
        if (!ipex_act_is_clamp(args->act))
            transpose_activate(args, &job);
    }
}

#endif
