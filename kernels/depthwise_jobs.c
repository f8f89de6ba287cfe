/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions whose results are rounded: the same at every ISA level. */
#include "kernels/jobs.h"

/* Floats of a stage: what stays in L1 and L2; and the least pixels of a line that are there. */
enum { DEPTHWISE_STAGE = 12288, DEPTHWISE_PIXELS = 16 };

/* Pixels of a line, and lines, that go together: neighbours share what they read. */
static int64_t stage_pixels(const struct ipex_depthwise_args *args) {
    const int64_t fit = ipex_div(DEPTHWISE_STAGE, 2 * (int64_t)args->channels);
    return ipex_smaller(args->pixels, fit < DEPTHWISE_PIXELS ? DEPTHWISE_PIXELS : fit);
}

static int64_t stage_lines(const struct ipex_depthwise_args *args, int64_t pixels) {
    const int64_t fit = ipex_div(DEPTHWISE_STAGE, pixels * args->channels);
    return fit < 2 ? 2 : fit & -2;
}

size_t ipex_depthwise_rounded_scratch(const struct ipex_depthwise_args *args) {
    const int64_t least = 2 * DEPTHWISE_PIXELS * (int64_t)args->channels;
    return (size_t)(least < DEPTHWISE_STAGE ? DEPTHWISE_STAGE : least) * sizeof(float);
}

/* A part of an image: `lines` from `line` on, `pixels` of them from `pixel` on. */
struct depthwise_part {
    int64_t image, line, lines, pixel, pixels;
};

static __attribute__((noinline)) void run_part(const struct ipex_depthwise_args *args,
                                               const struct depthwise_part *part,
                                               const struct ipex_depthwise_rounding *by,
                                               float *stage) {
    struct ipex_depthwise_args now = *args;
    now.x += part->image * args->x_image + part->line * args->x_line + part->pixel * args->x_pixel;
    if (args->residual)
        now.residual +=
            part->image * args->r_image + part->line * args->r_line + part->pixel * args->r_pixel;
    now.y = stage;
    now.y_pixel = args->channels;
    now.y_line = part->pixels * args->channels;
    now.images = 1;
    now.lines = now.lines_per_job = (int32_t)part->lines;
    now.pixels = (int32_t)part->pixels;
    now.padding.above -= part->line * args->padding.stride;
    now.padding.below -= (args->lines - part->line - part->lines) * args->padding.stride;
    by->kernel(&now, 0, 1, NULL);
}

static __attribute__((noinline)) void round_part(const struct ipex_depthwise_args *args,
                                                 const struct depthwise_part *part,
                                                 const struct ipex_depthwise_rounding *by,
                                                 const float *stage) {
    const bool dense = args->y_pixel == args->channels;
    const int64_t runs = dense ? 1 : part->pixels;
    const int64_t run = dense ? part->pixels * args->channels : args->channels;
    int64_t y =
        part->image * args->y_image + part->line * args->y_line + part->pixel * args->y_pixel;
    for (int64_t l = 0; l < part->lines; l++, y += args->y_line)
        for (int64_t i = 0; i < runs; i++, stage += run)
            by->round(args, stage, y + i * args->y_pixel, run);
}

void ipex_depthwise_rounded(const struct ipex_depthwise_args *args,
                            const struct ipex_depthwise_rounding *by, int64_t job_begin,
                            int64_t job_end, float *stage) {
    for (int64_t j = job_begin; j < job_end; j++) {
        int64_t at = j;
        const struct ipex_depthwise_args now = ipex_depthwise_part(args, &at);
        const struct ipex_depthwise_job job = ipex_depthwise_job(&now, at);
        const int64_t pixels = stage_pixels(&now), lines = stage_lines(&now, pixels);
        struct depthwise_part part = {.image = job.image, .line = job.line};
        for (; part.line < job.line_end; part.line += part.lines) {
            part.lines = ipex_smaller(lines, job.line_end - part.line);
            for (part.pixel = 0; part.pixel < now.pixels; part.pixel += part.pixels) {
                part.pixels = ipex_smaller(pixels, now.pixels - part.pixel);
                run_part(&now, &part, by, stage);
                round_part(&now, &part, by, stage);
            }
        }
    }
}
