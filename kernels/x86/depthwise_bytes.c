/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of depthwise_u8, the same for every level. */
#include "kernels/x86/depthwise_bytes.h"

/* Pixels [pixel, pixel + pixels) of a line. */
static void run_pixels(const struct depthwise_level *level, const struct stacks *s,
                       const struct sums *to, int64_t image, int64_t line, int64_t pixel,
                       int64_t pixels) {
    const struct ipex_conv_args *args = s->args;
    const uint8_t *x = (const uint8_t *)args->x + image * args->x_image + line * args->x_line +
                       pixel * args->x_pixel + s->channel;
    const int64_t taps = args->segments_w;
    const int64_t columns =
        (pixels - 1) * s->columns.per_pixel + (taps - 1) * s->columns.per_tap + 1;
    const bool three = taps == 3 && args->segments_h == 3;
    for (int64_t c = 0; c < s->channels; c += level->lanes) {
        level->columns(s, x + c, columns, s->channels - c);
        (three ? level->multiply_3 : level->multiply)(s, s->weights + c * taps * s->groups,
                                                      s->sums + c, pixels);
    }
    struct sums sums = *to;
    sums.rows = pixels;
    sums.y = image * args->y_image + line * args->y_line + pixel * args->y_pixel + s->channel;
    sums.y_half = (pixels + 1) / 2 * sums.y_row;
    sums.residual =
        image * args->r_image + line * args->r_line + pixel * args->r_pixel + s->channel;
    sums.r_half = (pixels + 1) / 2 * sums.r_row;
    level->scale(args, &sums);
}

void ipex_depthwise_bytes(const struct depthwise_level *level, const struct ipex_conv_args *args,
                          int64_t job_begin, int64_t job_end, void *scratch) {
    const struct ipex_line_cut cut = ipex_cut_line(args->pixels, IPEX_DEPTHWISE_PIXELS);
    struct stacks s = {
        .args = args,
        .columns = ipex_depthwise_columns(args),
        .groups = ipex_div_up(args->segments_h, level->rows),
        .sums = scratch,
    };
    s.weights = s.sums + IPEX_DEPTHWISE_PIXELS * SUMS_COLUMNS;
    s.x = s.weights + s.groups * args->segments_w * SUMS_COLUMNS;
    struct sums to = {
        .bounds = ipex_k_sums_bounds__avx2(args),
        .sum = s.sums,
        .row = SUMS_COLUMNS,
        .y_row = args->y_pixel,
        .r_row = args->r_pixel,
    };
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_job(args, j);
        for (s.channel = 0; s.channel < args->n; s.channel += SUMS_COLUMNS) {
            s.channels = ipex_smaller(args->n - s.channel, SUMS_COLUMNS);
            to.columns = s.channels;
            to.column = s.channel;
            level->weights(&s);
            for (int64_t line = job.line; line < job.line_end; line++)
                for (int64_t i = 0, pixel = 0, pixels; i < cut.count; i++, pixel += pixels) {
                    pixels = cut.small + (i < cut.larger);
                    run_pixels(level, &s, &to, job.image, line, pixel, pixels);
                }
        }
    }
}
