/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on u8 and i8: exact sums, then a scale per output channel. */
#include "kernels/ref/math_ref.h"

/* Element k of a panel's column c, of tiles of four k per row. */
static int32_t weight(const int8_t *w, int64_t k, int64_t c) {
    return w[(k / 4 * IPEX_PANEL + c) * 4 + k % 4];
}

static void store(const struct ipex_conv_args *args, int64_t at, float value) {
    if (args->y_scale != 0.0f && value != value && ipex_act_is_clamp(args->act))
        value = -copysignf(INFINITY, args->y_scale);
    value = ref_act(value, args->act, args->act_a, args->act_b);
    if (args->y_scale != 0.0f)
        value = ref_byte(value, args->y_scale, args->y_zero);
    if (args->y_u8)
        args->y_u8[at] = (uint8_t)value;
    else
        args->y[at] = value;
}

static float round_between(const struct ipex_conv_args *args, int64_t output, float value) {
    const int64_t pitch = ipex_conv_middle_pitch(args);
    for (int32_t l = 0; l < args->middles; l++) {
        const float *unit = args->middle + 2 * l * pitch + output;
        value = rintf(value);
        value = value > args->m_cut[l][0] ? value : args->m_cut[l][0];
        value = value < args->m_cut[l][1] ? value : args->m_cut[l][1];
        value = fmaf(value, unit[0], unit[pitch]);
    }
    return value;
}

/* What becomes of a sum, for output n. */
static void finish(const struct ipex_conv_args *args, const struct ipex_conv_job *job, int64_t line,
                   int64_t pixel, int64_t output, uint32_t sum) {
    const int64_t residual =
        job->image * args->r_image + line * args->r_line + pixel * args->r_pixel + output;
    float chain = fmaf((float)(int32_t)sum, args->scale[output], args->bias[output]);
    chain = round_between(args, output, chain);
    if (args->residual_u8)
        chain = fmaf((float)args->residual_u8[residual], args->r_scale, chain);
    else if (args->residual)
        chain = fmaf(args->residual[residual], args->r_scale, chain);
    store(args, job->image * args->y_image + line * args->y_line + pixel * args->y_pixel + output,
          chain);
}

/* Modulo 2^32. */
static uint32_t conv_sum(const struct ipex_conv_args *args, const struct ipex_conv_job *job,
                         const uint8_t *x, int64_t n) {
    const int64_t segments = (int64_t)args->segments_h * args->segments_w;
    const int64_t segment_bytes = ipex_conv_segment_words(args, 4) * 4;
    const int8_t *w = (const int8_t *)args->w + job->group * segments * segment_bytes +
                      n / IPEX_PANEL * ipex_conv_panel_words(args, 4) * 4;
    uint32_t sum = 0;
    x += job->group * args->x_group;
    for (int64_t s = 0; s < segments; s++, w += segment_bytes) {
        const uint8_t *xs =
            x + s / args->segments_w * args->x_kh + s % args->segments_w * args->x_kw;
        for (int64_t k = 0; k < args->k; k++)
            sum += (uint32_t)(xs[k] * weight(w, k, n % IPEX_PANEL));
    }
    return sum;
}

static uint32_t depthwise_sum(const struct ipex_conv_args *args, const struct ipex_conv_job *job,
                              const uint8_t *x, int64_t n) {
    const int64_t tap = args->k * ipex_channels_pitch(args->n), set = n / IPEX_SET;
    const int64_t first = args->k > 1 ? ipex_set_first(set, args->n) : n;
    const int8_t *w = (const int8_t *)args->w + (args->k > 1 ? set * IPEX_SET * args->k : n);
    uint32_t sum = 0;
    (void)job;
    x += n / args->k * args->k;
    for (int64_t i = 0; i < args->segments_h; i++)
        for (int64_t j = 0; j < args->segments_w; j++, w += tap)
            for (int64_t k = 0; k < args->k; k++)
                sum += (uint32_t)(x[i * args->x_kh + j * args->x_kw + k] *
                                  w[args->k > 1 ? ipex_set_weight(n - first, k, args->k) : 0]);
    return sum;
}

typedef uint32_t (*sum_fn)(const struct ipex_conv_args *args, const struct ipex_conv_job *job,
                           const uint8_t *x, int64_t n);

/* Every output of the jobs' pixels, of which sum_of gets the first tap. */
static void run(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                sum_fn sum_of) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_job(args, j);
        for (int64_t line = job.line; line < job.line_end; line++)
            for (int64_t pixel = 0; pixel < ipex_conv_line_pixels(args, line); pixel++) {
                const uint8_t *x = (const uint8_t *)args->x + job.image * args->x_image +
                                   line * args->x_line + pixel * args->x_pixel;
                for (int64_t n = job.panel * IPEX_PANEL;
                     n < args->n && n < job.panel_end * IPEX_PANEL; n++)
                    finish(args, &job, line, pixel, job.group * args->n + n,
                           sum_of(args, &job, x, n));
            }
    }
}

void IPEX_REF(conv_u8)(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                       void *scratch) {
    (void)scratch;
    run(args, job_begin, job_end, conv_sum);
}

void IPEX_REF(depthwise_u8)(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                            void *scratch) {
    (void)scratch;
    run(args, job_begin, job_end, depthwise_sum);
}
