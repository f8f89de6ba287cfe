/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution and narrow groups: one chain of fma per output, taps in row-major order and
 * within a tap the inputs of the group (ipex_depthwise_input), then residual and activation. */
#include "kernels/ref/bf16_ref.h"

/* Where results go. */
enum result { TO_F32, TO_BF16 };

/* y: elements from args' y to the pixel's first one. */
static void depthwise_pixel(const struct ipex_depthwise_args *args,
                            const struct ipex_kernel_rows *rows, const float *x,
                            const float *residual, int64_t y, enum result to) {
    const int64_t w_tap = ipex_channels_pitch(args->channels);
    const int64_t inputs = args->group_inputs;
    for (int64_t c = 0; c < args->channels; c++) {
        const float *w = args->w + rows->begin * args->kernel_w * inputs * w_tap + c;
        const float *first = x + c / args->group_outputs * inputs;
        float chain = args->bias[c];
        for (int64_t i = rows->begin; i < rows->end; i++)
            for (int64_t j = 0; j < args->kernel_w; j++) {
                const float *in = first + i * args->x_kh + j * args->x_kw;
                for (int64_t k = 0; k < inputs; k++, w += w_tap)
                    chain = fmaf(in[ipex_depthwise_input(c, k, inputs)], *w, chain);
            }
        if (residual)
            chain = chain + residual[c];
        chain = ref_act(chain, args->act, args->act_a, args->act_b);
        if (to == TO_BF16)
            args->y_bf16[y + c] = ref_bf16_round(chain);
        else
            args->y[y + c] = chain;
    }
}

static __attribute__((noinline)) void depthwise_run(const struct ipex_depthwise_args *whole,
                                                    int64_t job_begin, int64_t job_end,
                                                    enum result to) {
    for (int64_t j = job_begin; j < job_end; j++) {
        int64_t at = j;
        const struct ipex_depthwise_args part = ipex_depthwise_part(whole, &at), *args = &part;
        const struct ipex_depthwise_job job = ipex_depthwise_job(args, at);
        for (int64_t line = job.line; line < job.line_end; line++) {
            const struct ipex_kernel_rows rows =
                ipex_kernel_rows(&args->padding, args->lines, line, args->kernel_h);
            for (int64_t pixel = 0; pixel < args->pixels; pixel++) {
                const float *residual = args->residual;
                if (residual)
                    residual +=
                        job.image * args->r_image + line * args->r_line + pixel * args->r_pixel;
                depthwise_pixel(
                    args, &rows,
                    args->x + job.image * args->x_image + line * args->x_line +
                        pixel * args->x_pixel,
                    residual,
                    job.image * args->y_image + line * args->y_line + pixel * args->y_pixel, to);
            }
        }
    }
}

void IPEX_REF(depthwise_f32)(const struct ipex_depthwise_args *args, int64_t job_begin,
                             int64_t job_end, void *scratch) {
    (void)scratch;
    depthwise_run(args, job_begin, job_end, TO_F32);
}

void IPEX_REF(depthwise_bf16y)(const struct ipex_depthwise_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    (void)scratch;
    depthwise_run(args, job_begin, job_end, TO_BF16);
}
