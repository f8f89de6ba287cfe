/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolution: one chain of fma per output over the taps that reach it, in order, then
 * the activation. */
#include "kernels/ref/bf16_ref.h"

/* The position of x that tap `tap` brings to output `out` along one axis, or -1. */
static int64_t source(int64_t out, int64_t pad, int64_t tap, int64_t dilation, int64_t stride,
                      int64_t size) {
    const int64_t at = out + pad - tap * dilation;
    return at >= 0 && at % stride == 0 && at / stride < size ? at / stride : -1;
}

/* Bytes of a panel's tiles of one tap. */
static int64_t panel_size(const struct ipex_conv_transpose_args *args,
                          const struct ref_bf16_product *bf16) {
    return ipex_div_up(args->k, IPEX_TILE_ROWS * (bf16 ? 2 : 1)) * IPEX_TILE_BYTES;
}

static void f32_chains(const char *x, const char *w, int64_t k_count, float chain[IPEX_PANEL]) {
    const float *xs = (const float *)(const void *)x, *ws = (const float *)(const void *)w;
    for (int64_t k = 0; k < k_count; k++)
        for (int64_t c = 0; c < IPEX_PANEL; c++)
            chain[c] = fmaf(xs[k], ws[k * IPEX_PANEL + c], chain[c]);
}

/* x: the image and group; w: the panel's tiles of tap 0. bf16: NULL where all is f32. */
static void transpose_chains(const struct ipex_conv_transpose_args *args,
                             const struct ref_bf16_product *bf16, const char *x, const char *w,
                             int64_t line, int64_t pixel, float chain[IPEX_PANEL]) {
    const int64_t tap_size = ipex_div_up(args->n, IPEX_PANEL) * panel_size(args, bf16);
    const int64_t x_size = bf16 ? bf16->x_size : 4;
    for (int64_t i = 0; i < args->kernel_h; i++)
        for (int64_t j = 0; j < args->kernel_w; j++, w += tap_size) {
            const int64_t row =
                source(line, args->pad_top, i, args->dilation_h, args->stride_h, args->height);
            const int64_t column =
                source(pixel, args->pad_left, j, args->dilation_w, args->stride_w, args->width);
            if (row < 0 || column < 0)
                continue;
            const char *xs = x + (row * args->x_row + column * args->x_pixel) * x_size;
            if (bf16)
                ref_bf16_chains(bf16, xs, w, args->k, chain);
            else
                f32_chains(xs, w, args->k, chain);
        }
}

static void transpose_panel(const struct ipex_conv_transpose_args *args,
                            const struct ref_bf16_product *bf16, const struct ipex_conv_job *job,
                            int64_t line, int64_t pixel, int64_t panel) {
    const int64_t column = panel * IPEX_PANEL; /* inside the group */
    const int64_t output = job->group * args->n + column;
    const int64_t columns = args->n - column < IPEX_PANEL ? args->n - column : IPEX_PANEL;
    const int64_t size = panel_size(args, bf16), x_size = bf16 ? bf16->x_size : 4;
    const int64_t group_size =
        (int64_t)args->kernel_h * args->kernel_w * ipex_div_up(args->n, IPEX_PANEL) * size;
    const int64_t x = job->image * args->x_image + job->group * args->k;
    float *y =
        args->y + job->image * args->y_image + line * args->y_line + pixel * args->y_pixel + output;
    float chain[IPEX_PANEL] = {0};
    memcpy(chain, args->bias + output, (size_t)columns * sizeof(float));
    transpose_chains(args, bf16, (const char *)args->x + x * x_size,
                     (const char *)args->w + job->group * group_size + panel * size, line, pixel,
                     chain);
    for (int64_t c = 0; c < columns; c++)
        y[c] = ref_act(ref_flush(chain[c]), args->act, args->act_a, args->act_b);
}

static void transpose_run(const struct ipex_conv_transpose_args *args,
                          const struct ref_bf16_product *bf16, int64_t job_begin, int64_t job_end) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_transpose_job(args, j);
        for (int64_t line = job.line; line < job.line_end; line++)
            for (int64_t panel = job.panel; panel < job.panel_end; panel++)
                for (int64_t pixel = 0; pixel < args->pixels; pixel++)
                    transpose_panel(args, bf16, &job, line, pixel, panel);
    }
}

void IPEX_REF(conv_transpose_f32)(const struct ipex_conv_transpose_args *args, int64_t job_begin,
                                  int64_t job_end, void *scratch) {
    (void)scratch;
    transpose_run(args, NULL, job_begin, job_end);
}

void IPEX_REF(conv_transpose_bf16w)(const struct ipex_conv_transpose_args *args, int64_t job_begin,
                                    int64_t job_end, void *scratch) {
    static const struct ref_bf16_product product = {REF_BF16_WIDENED, 4};
    (void)scratch;
    transpose_run(args, &product, job_begin, job_end);
}

void IPEX_REF(conv_transpose_bf16)(const struct ipex_conv_transpose_args *args, int64_t job_begin,
                                   int64_t job_end, void *scratch) {
    static const struct ref_bf16_product product = {REF_BF16_PAIRS, 2};
    (void)scratch;
    transpose_run(args, &product, job_begin, job_end);
}

void IPEX_REF(conv_transpose_bf16t)(const struct ipex_conv_transpose_args *args, int64_t job_begin,
                                    int64_t job_end, void *scratch) {
    static const struct ref_bf16_product product = {REF_BF16_TILES, 2};
    (void)scratch;
    transpose_run(args, &product, job_begin, job_end);
}
