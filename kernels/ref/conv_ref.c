/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear: one chain of fma per output, segments and k ascending, then residual and
 * activation. */
#include "kernels/ref/math_ref.h"

static void add_products(const float *x, const float *w, int64_t k_count, float chain[IPEX_PANEL]) {
    for (int64_t k = 0; k < k_count; k++)
        for (int64_t c = 0; c < IPEX_PANEL; c++)
            chain[c] = fmaf(x[k], w[k * IPEX_PANEL + c], chain[c]);
}

/* The chains of one pixel and one panel. x: [segments] runs of k elements; w: this panel's tiles of
 * segment 0. */
static void conv_chains(const struct ipex_conv_args *args, const struct ipex_kernel_rows *rows,
                        int64_t pixel, const float *x, const float *w, float chain[IPEX_PANEL]) {
    const struct ipex_kernel_rows taps =
        ipex_kernel_rows(&args->padding_w, args->pixels, pixel, args->segments_w);
    for (int64_t i = 0; i < ipex_conv_columns(args); i++) {
        const struct ipex_conv_column column = ipex_conv_column(args, i);
        if (pixel < column.begin || pixel >= column.end)
            continue;
        for (int64_t h = rows->begin; h < rows->end; h++)
            for (int64_t v = taps.begin; v < taps.end; v++) {
                const int64_t segment = h * args->segments_w + v;
                add_products(x + h * args->x_kh + v * args->x_kw + column.k,
                             w + segment * ipex_conv_segment_floats(args) + column.k * IPEX_PANEL,
                             column.k_count, chain);
            }
    }
}

static void conv_panel(const struct ipex_conv_args *args, const struct ipex_conv_job *job,
                       int64_t line, int64_t pixel, int64_t panel) {
    const int64_t column = panel * IPEX_PANEL; /* inside the group */
    const int64_t output = job->group * args->n + column;
    const int64_t columns = args->n - column < IPEX_PANEL ? args->n - column : IPEX_PANEL;
    const float *x = (const float *)args->x + job->image * args->x_image + line * args->x_line +
                     pixel * args->x_pixel + job->group * args->x_group;
    const float *w =
        (const float *)args->w + line * args->w_line +
        job->group * args->segments_h * args->segments_w * ipex_conv_segment_floats(args) +
        panel * ipex_conv_panel_floats(args);
    float *y =
        args->y + job->image * args->y_image + line * args->y_line + pixel * args->y_pixel + output;
    const float *residual = args->residual;
    if (residual)
        residual +=
            job->image * args->r_image + line * args->r_line + pixel * args->r_pixel + output;
    float chain[IPEX_PANEL] = {0};
    memcpy(chain, args->resume ? y : args->bias + output, (size_t)columns * sizeof(float));
    const struct ipex_kernel_rows rows =
        ipex_kernel_rows(&args->padding, args->lines, line, args->segments_h);
    conv_chains(args, &rows, pixel, x, w, chain);
    for (int64_t c = 0; c < columns; c++) {
        const float sum = residual ? chain[c] + residual[c] : chain[c];
        y[c] = ref_act(sum, args->act, args->act_a, args->act_b);
    }
}

void IPEX_REF(conv_f32)(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                        void *scratch) {
    (void)scratch;
    for (int64_t j = job_begin; j < job_end; j++) {
        struct ipex_conv_job job = ipex_conv_job(args, j);
        for (; job.group < job.group_end; job.group++)
            for (int64_t line = job.line; line < job.line_end; line++)
                for (int64_t panel = job.panel; panel < job.panel_end; panel++)
                    for (int64_t pixel = 0; pixel < ipex_conv_line_pixels(args, line); pixel++)
                        conv_panel(args, &job, line, pixel, panel);
    }
}
