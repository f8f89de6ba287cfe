/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolution: its rectangles (kernels/transpose_jobs.h), each walked by conv_walk.h,
 * which is included before this. */
#ifndef IPEX_KERNELS_X86_CONV_TRANSPOSE_WALK_H
#define IPEX_KERNELS_X86_CONV_TRANSPOSE_WALK_H

#include "kernels/transpose_jobs.h"
#include "kernels/x86/conv_walk.h"

static void transpose_rectangle(const void *context, const struct ipex_conv_transpose_args *args,
                                const struct ipex_transpose_rectangle *rectangle) {
    const struct conv_level *level = context;
    struct ipex_conv_args conv = rectangle->conv;
    conv.y = args->y; /* conv_cuts.c asks whether it is the residual */
    conv.act = act_is_clamp(args->act) ? args->act : IPEX_ACT_none;
    conv.act_a = args->act_a;
    conv.act_b = args->act_b;
    const struct conv_cuts cuts = ipex_conv_cuts(level, &conv, false);
    const struct conv_walk walk = {
        .level = level,
        .cuts = &cuts,
        .args = &conv,
        .job = &rectangle->job,
        .x = (const CONV_X *)args->x + rectangle->x,
        .w = (const float *)args->w + rectangle->w,
        .bias = args->bias + rectangle->bias,
        .y = args->y + rectangle->y,
        .w_kw = rectangle->w_kw,
        .w_kh = rectangle->w_kh,
    };
    level->walk(&walk, rectangle->job.panel, rectangle->job.panel_end);
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
        const struct ipex_act_rows rows =
            ipex_act_rows(y + line * args->y_line, args->pixels, end - column, args->y_pixel,
                          args->act, args->act_a, args->act_b);
        IPEX_LEVEL(activate)(&rows);
    }
}

/* A kernel's whole body. */
static inline void conv_transpose_jobs(const struct conv_level *level,
                                       const struct ipex_conv_transpose_args *args,
                                       int64_t job_begin, int64_t job_end) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_transpose_job(args, j);
        ipex_transpose_rectangles(args, &job, CONV_K_PER_ROW, transpose_rectangle, level);
        if (!act_is_clamp(args->act))
            transpose_activate(args, &job);
    }
}

#endif
