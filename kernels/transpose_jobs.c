/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/transpose_jobs.h"

/* One axis of one phase. A tap and the next one of the phase are tap_step apart in the kernel, and
 * input_step apart in x, backwards. */
struct transpose_phase {
    int64_t size, stride; /* of x; of the outputs */
    int64_t tap, taps;    /* first tap and number of taps of the phase */
    int64_t tap_step, input_step;
    int64_t shift; /* output o has its first tap at x position (o + shift) / stride */
};

/* Outputs begin, begin + stride, ... of a phase, `count` of them, with the same taps: `taps` from
 * the phase's tap `first` on, which for output `begin` is at x position `input`. */
struct transpose_run {
    int64_t begin, count, first, taps, input;
};

static int64_t transpose_gcd(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = ipex_divide(a, b).rest;
        a = b;
        b = rest;
    }
    return a;
}

/* The phase of output `out`. */
static struct transpose_phase transpose_phase(int64_t out, int64_t size, int64_t kernel,
                                              int64_t stride, int64_t pad, int64_t dilation) {
    const int64_t common = transpose_gcd(stride, dilation);
    struct transpose_phase ret = {
        .size = size,
        .stride = stride,
        .tap_step = ipex_div(stride, common),
        .input_step = ipex_div(dilation, common),
    };
    const int64_t most = kernel < ret.tap_step ? kernel : ret.tap_step;
    while (ret.tap < most && ipex_divide(out + pad - ret.tap * dilation, stride).rest != 0)
        ret.tap++;
    ret.taps = ret.tap < most ? ipex_div(kernel - 1 - ret.tap, ret.tap_step) + 1 : 0;
    ret.shift = pad - ret.tap * dilation;
    return ret;
}

/* The taps of one output. */
static struct transpose_run transpose_taps(const struct transpose_phase *phase, int64_t out) {
    struct transpose_run ret = {.begin = out, .count = 1};
    if (phase->taps == 0)
        return ret;
    const int64_t input = ipex_div(out + phase->shift, phase->stride); /* without a rest */
    const int64_t end = input < 0 ? 0 : ipex_div(input, phase->input_step) + 1;
    if (input >= phase->size)
        ret.first = ipex_div_up(input - phase->size + 1, phase->input_step);
    ret.taps = (end < phase->taps ? end : phase->taps) - ret.first;
    if (ret.taps < 0)
        ret.taps = 0;
    ret.input = input - ret.first * phase->input_step;
    return ret;
}

/* The run of outputs that begins at `out` and ends before `limit`. */
static struct transpose_run transpose_run(const struct transpose_phase *phase, int64_t out,
                                          int64_t limit) {
    struct transpose_run ret = transpose_taps(phase, out);
    if (ret.taps == phase->taps) { /* of which the first one leaves x first, if any is there */
        const int64_t left = ipex_div_up(limit - out, phase->stride);
        ret.count = ret.taps > 0 && phase->size - ret.input < left ? phase->size - ret.input : left;
        return ret;
    }
    for (int64_t next = out + phase->stride; next < limit; next += phase->stride) {
        const struct transpose_run other = transpose_taps(phase, next);
        if (other.taps != ret.taps || (ret.taps > 0 && other.first != ret.first))
            break;
        ret.count++;
    }
    return ret;
}

/* What the rectangles of a job have alike. */
struct transpose_job {
    const struct ipex_conv_transpose_args *args;
    const struct ipex_conv_job *job;
    int64_t k_per_row;
    ipex_transpose_visit *visit;
    const void *level;
};

static void transpose_rectangle(const struct transpose_job *all,
                                const struct transpose_phase phase[2],
                                const struct transpose_run run[2]) {
    const struct ipex_conv_transpose_args *args = all->args;
    const struct ipex_conv_job *job = all->job;
    const bool any = run[0].taps > 0 && run[1].taps > 0;
    struct ipex_transpose_rectangle ret = {
        .conv =
            {
                .x_line = args->x_row,
                .x_pixel = args->x_pixel,
                .x_kh = -phase[0].input_step * args->x_row,
                .x_kw = -phase[1].input_step * args->x_pixel,
                .y_line = phase[0].stride * args->y_line,
                .y_pixel = phase[1].stride * args->y_pixel,
                .images = 1,
                .lines = (int32_t)run[0].count,
                .lines_per_job = (int32_t)run[0].count,
                .pixels = (int32_t)run[1].count,
                .last_pixels = (int32_t)run[1].count,
                .groups = 1,
                .segments_h = any ? (int32_t)run[0].taps : 0,
                .segments_w = any ? (int32_t)run[1].taps : 1,
                .k = args->k,
                .n = args->n,
                .panels_outside = args->panels_outside && any,
                .cache_l2 = args->cache_l2,
            },
        .job = {.line_end = run[0].count, .panel = job->panel, .panel_end = job->panel_end},
        .x = job->image * args->x_image + job->group * args->k,
        .y = job->image * args->y_image + run[0].begin * args->y_line +
             run[1].begin * args->y_pixel + job->group * args->n,
        .bias = job->group * args->n,
    };
    const int64_t tap = ipex_conv_segment_words(&ret.conv, all->k_per_row);
    ret.w = job->group * args->kernel_h * args->kernel_w * tap;
    if (any) {
        const int64_t tap_h = phase[0].tap + run[0].first * phase[0].tap_step;
        const int64_t tap_w = phase[1].tap + run[1].first * phase[1].tap_step;
        ret.x += run[0].input * args->x_row + run[1].input * args->x_pixel;
        ret.w += (tap_h * args->kernel_w + tap_w) * tap;
    }
    ret.w_kw = phase[1].tap_step * tap;
    ret.w_kh = phase[0].tap_step * args->kernel_w * tap;
    all->visit(all->level, args, &ret);
}

/* All rectangles of the phases of one column phase and one line phase. */
static void transpose_columns(const struct transpose_job *all, const struct transpose_phase *lines,
                              const struct transpose_run *line_run) {
    const struct ipex_conv_transpose_args *args = all->args;
    for (int64_t first = 0; first < args->stride_w && first < args->pixels; first++) {
        const struct transpose_phase phase[2] = {
            *lines, transpose_phase(first, args->width, args->kernel_w, args->stride_w,
                                    args->pad_left, args->dilation_w)};
        struct transpose_run run[2] = {*line_run};
        for (int64_t out = first; out < args->pixels; out += run[1].count * args->stride_w) {
            run[1] = transpose_run(&phase[1], out, args->pixels);
            transpose_rectangle(all, phase, run);
        }
    }
}

void ipex_transpose_rectangles(const struct ipex_conv_transpose_args *args,
                               const struct ipex_conv_job *job, int64_t k_per_row,
                               ipex_transpose_visit *visit, const void *level) {
    const struct transpose_job all = {args, job, k_per_row, visit, level};
    for (int64_t first = job->line; first < job->line + args->stride_h && first < job->line_end;
         first++) {
        const struct transpose_phase phase = transpose_phase(
            first, args->height, args->kernel_h, args->stride_h, args->pad_top, args->dilation_h);
        struct transpose_run run;
        for (int64_t out = first; out < job->line_end; out += run.count * args->stride_h) {
            run = transpose_run(&phase, out, job->line_end);
            transpose_columns(&all, &phase, &run);
        }
    }
}
