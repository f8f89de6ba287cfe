/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of x a multiple of 4 KiB apart share one set of the L1 cache: a block of 14 has them evict
 * each other at every k. A job copies its rows so that they lie a panel further apart, and goes on
 * with these: 1x1 1024->2048 at 7x7 of stride 2 takes 0.65 of the time, 3072->768 of 49 rows 0.8.
 * Included by kernels that have 32 registers; with 16 blocks have 6 rows at most. */
#ifndef IPEX_KERNELS_X86_CONV_SPREAD_H
#define IPEX_KERNELS_X86_CONV_SPREAD_H

#include <string.h>

#include "kernels/x86/conv_walk.h"

/* Whether jobs that follow each other read the same rows. */
static inline bool same_rows(const struct ipex_conv_job *a, const struct ipex_conv_job *b) {
    return a->image == b->image && a->line == b->line && a->line_end == b->line_end;
}

/* The job's rows in `to`, line by line. */
static void spread_rows(const struct ipex_conv_args *args, const struct ipex_conv_job *job,
                        float *to) {
    for (int64_t line = job->line; line < job->line_end; line++) {
        const float *x = (const float *)args->x + job->image * args->x_image + line * args->x_line;
        for (int64_t p = 0; p < ipex_conv_line_pixels(args, line); p++, x += args->x_pixel) {
            memcpy(to, x, (size_t)args->k * sizeof(float));
            to += args->k + IPEX_PANEL;
        }
    }
}

static void conv_spread_jobs(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                             float *scratch) {
    struct ipex_conv_args spread = *args;
    struct ipex_conv_job last = {.image = -1};
    spread.x_image = 0;
    spread.x_pixel = args->k + IPEX_PANEL;
    spread.x_line = args->pixels * spread.x_pixel;
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_job(args, j);
        if (!same_rows(&job, &last))
            spread_rows(args, &job, scratch);
        last = job;
        spread.x = (const void *)((uintptr_t)scratch -
                                  (uintptr_t)(job.line * spread.x_line) * sizeof(float));
        ipex_conv_walk(&level, &spread, j, j + 1);
    }
}

#endif
