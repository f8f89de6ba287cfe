/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of depthwise_u8, the same for every level. */
#include "kernels/x86/depthwise_bytes.h"

static bool is_three(const struct ipex_conv_args *args) {
    return args->segments_h == 3 && args->segments_w == 3;
}

/* So many columns of what a job's channels have in rows that begin at x. */
static __attribute__((noinline)) struct byte_rows
rows_from(const struct stacks *s, const void *x, int64_t row, int64_t columns, int64_t step) {
    return (struct byte_rows){
        .x = (const uint8_t *)x + s->channel,
        .rows = s->args->segments_h,
        .row = row,
        .columns = columns,
        .step = step,
        .channels = s->channels,
    };
}

static void stack_weights(const struct depthwise_level *level, const struct stacks *s) {
    const int64_t taps = s->args->segments_w, pitch = ipex_channels_pitch(s->args->n);
    const struct byte_rows from = rows_from(s, s->args->w, taps * pitch, taps, pitch);
    level->stack(&from, s->weights);
}

static void multiply_channels(const struct depthwise_level *level, const struct stacks *s,
                              const uint8_t *x, int64_t pixels) {
    const struct ipex_conv_args *args = s->args;
    const int64_t taps = args->segments_w;
    const int64_t columns =
        (pixels - 1) * s->columns.per_pixel + (taps - 1) * s->columns.per_tap + 1;
    const struct byte_rows from = rows_from(s, x, args->x_kh, columns, s->columns.step);
    const bool follow = s->columns.per_pixel == 1 && s->columns.per_tap == 1;
    if (is_three(args) && follow && s->channels >= level->least_to_roll) {
        level->roll_3(&from, s->weights, s->sums, pixels);
        return;
    }
    level->stack(&from, s->x);
    for (int64_t c = 0; c < s->channels; c += level->lanes)
        (is_three(args) ? level->multiply_3 : level->multiply)(s, s->x + c * columns * s->groups,
                                                               s->weights + c * taps * s->groups,
                                                               s->sums + c, pixels);
}

/* Returns how many sums of a pixel lie before those of the first channel. */
static int64_t multiply_sets(const struct depthwise_level *level, const struct stacks *s,
                             const uint8_t *x, int64_t pixels) {
    const struct ipex_conv_args *args = s->args;
    const int64_t last = args->n - IPEX_SET, base = ipex_smaller(s->channel, last);
    for (int64_t c = 0; c < s->channels; c += IPEX_SET) {
        const int64_t first = ipex_smaller(s->channel + c, last);
        const int8_t *w =
            (const int8_t *)args->w + ipex_div_up(first, IPEX_SET) * IPEX_SET * args->k;
        (is_three(args) ? level->multiply_set_3
                        : level->multiply_set)(args, x + first, w, s->sums + first - base, pixels);
    }
    return s->channel - base;
}

/* The pixels of a line from `pixel` on that go together. */
static void run_pixels(const struct depthwise_level *level, const struct stacks *s, struct sums *to,
                       int64_t image, int64_t line, int64_t pixel) {
    const struct ipex_conv_args *args = s->args;
    const int64_t pixels = ipex_smaller(IPEX_DEPTHWISE_PIXELS, args->pixels - pixel);
    const uint8_t *x = (const uint8_t *)args->x + image * args->x_image + line * args->x_line +
                       pixel * args->x_pixel;
    to->sum = s->sums;
    if (args->k > 1)
        to->sum += multiply_sets(level, s, x, pixels);
    else
        multiply_channels(level, s, x, pixels);
    to->rows = pixels;
    to->y = image * args->y_image + line * args->y_line + pixel * args->y_pixel + s->channel;
    to->y_half = (pixels + 1) / 2 * to->y_row;
    to->residual = image * args->r_image + line * args->r_line + pixel * args->r_pixel + s->channel;
    to->r_half = (pixels + 1) / 2 * to->r_row;
    level->scale(args, to);
}

void ipex_depthwise_bytes(const struct depthwise_level *level, const struct ipex_conv_args *args,
                          int64_t job_begin, int64_t job_end, void *scratch) {
    struct stacks s = {
        .args = args,
        .columns = ipex_depthwise_columns(args),
        .groups = ipex_div_up(args->segments_h, 4),
        .sums = scratch,
    };
    s.weights = s.sums + IPEX_DEPTHWISE_PIXELS * IPEX_DEPTHWISE_CHANNELS;
    s.x = s.weights + s.groups * args->segments_w * IPEX_DEPTHWISE_CHANNELS;
    struct sums to = {
        .bounds = ipex_k_sums_bounds__avx2(args),
        .row = IPEX_DEPTHWISE_CHANNELS,
        .y_row = args->y_pixel,
        .r_row = args->r_pixel,
    };
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_job(args, j);
        for (s.channel = 0; s.channel < args->n; s.channel += IPEX_DEPTHWISE_CHANNELS) {
            s.channels = ipex_smaller(args->n - s.channel, IPEX_DEPTHWISE_CHANNELS);
            to.columns = s.channels;
            to.column = s.channel;
            if (args->k == 1)
                stack_weights(level, &s);
            for (int64_t line = job.line; line < job.line_end; line++)
                for (int64_t pixel = 0; pixel < args->pixels; pixel += IPEX_DEPTHWISE_PIXELS)
                    run_pixels(level, &s, &to, job.image, line, pixel);
        }
    }
}
