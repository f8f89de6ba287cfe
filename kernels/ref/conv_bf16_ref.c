/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear with weights in bf16: kernels/ref/conv_ref.c with widened operands; where
 * x is bf16 too, K is walked in pairs as vdpbf16ps does, or in tiles as tdpbf16ps does. */
#include "kernels/ref/bf16_ref.h"

/* x_first: elements from x to the pixel's first one; w: this panel's tiles of segment 0. */
static void conv_chains(const struct ipex_conv_args *args, const struct ref_bf16_product *product,
                        const struct ipex_kernel_rows *rows, int64_t pixel, int64_t x_first,
                        const char *w, float chain[IPEX_PANEL]) {
    const int64_t segment_bytes = ipex_conv_segment_words(args, 2) * 4;
    const struct ipex_kernel_rows taps =
        ipex_kernel_rows(&args->padding_w, args->pixels, pixel, args->segments_w);
    for (int64_t i = 0; i < ipex_conv_columns(args); i++) {
        const struct ipex_conv_column column = ipex_conv_column(args, i);
        if (pixel < column.begin || pixel >= column.end)
            continue;
        const char *ws = w + column.k / 2 * IPEX_PANEL * 4;
        for (int64_t h = rows->begin; h < rows->end; h++)
            for (int64_t v = taps.begin; v < taps.end; v++) {
                const int64_t x = x_first + h * args->x_kh + v * args->x_kw + column.k;
                ref_bf16_chains(product, (const char *)args->x + x * product->x_size,
                                ws + (h * args->segments_w + v) * segment_bytes, column.k_count,
                                chain);
            }
    }
}

static void conv_panel(const struct ipex_conv_args *args, const struct ref_bf16_product *product,
                       const struct ipex_conv_job *job, int64_t line, int64_t pixel,
                       int64_t panel) {
    const int64_t column = panel * IPEX_PANEL; /* inside the group */
    const int64_t output = job->group * args->n + column;
    const int64_t columns = args->n - column < IPEX_PANEL ? args->n - column : IPEX_PANEL;
    const int64_t segments = (int64_t)args->segments_h * args->segments_w;
    const int64_t segment_bytes = ipex_conv_segment_words(args, 2) * 4;
    const int64_t x_first = job->image * args->x_image + line * args->x_line +
                            pixel * args->x_pixel + job->group * args->x_group;
    const char *w = (const char *)args->w + job->group * segments * segment_bytes +
                    panel * ipex_conv_panel_words(args, 2) * 4;
    const int64_t y =
        job->image * args->y_image + line * args->y_line + pixel * args->y_pixel + output;
    const int64_t residual =
        job->image * args->r_image + line * args->r_line + pixel * args->r_pixel + output;
    float chain[IPEX_PANEL] = {0};
    memcpy(chain, args->resume ? args->y + y : args->bias + output,
           (size_t)columns * sizeof(float));
    const struct ipex_kernel_rows rows =
        ipex_kernel_rows(&args->padding, args->lines, line, args->segments_h);
    conv_chains(args, product, &rows, pixel, x_first, w, chain);
    for (int64_t c = 0; c < columns; c++) {
        float result = chain[c];
        if (args->residual)
            result = result + args->residual[residual + c];
        if (args->residual_bf16)
            result = result + ref_bf16_widen(args->residual_bf16 + residual + c);
        result = ref_act(result, args->act, args->act_a, args->act_b);
        if (args->y_bf16)
            args->y_bf16[y + c] = ref_bf16_round(result);
        else
            args->y[y + c] = result;
    }
}

static void conv_run(const struct ipex_conv_args *args, const struct ref_bf16_product *product,
                     int64_t job_begin, int64_t job_end) {
    for (int64_t j = job_begin; j < job_end; j++) {
        struct ipex_conv_job job = ipex_conv_job(args, j);
        for (; job.group < job.group_end; job.group++)
            for (int64_t line = job.line; line < job.line_end; line++)
                for (int64_t panel = job.panel; panel < job.panel_end; panel++)
                    for (int64_t pixel = 0; pixel < ipex_conv_line_pixels(args, line); pixel++)
                        conv_panel(args, product, &job, line, pixel, panel);
    }
}

void IPEX_REF(conv_bf16w)(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    static const struct ref_bf16_product product = {REF_BF16_WIDENED, 4};
    (void)scratch;
    conv_run(args, &product, job_begin, job_end);
}

void IPEX_REF(conv_bf16)(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                         void *scratch) {
    static const struct ref_bf16_product product = {REF_BF16_PAIRS, 2};
    (void)scratch;
    conv_run(args, &product, job_begin, job_end);
}

void IPEX_REF(conv_bf16t)(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    static const struct ref_bf16_product product = {REF_BF16_TILES, 2};
    (void)scratch;
    conv_run(args, &product, job_begin, job_end);
}
