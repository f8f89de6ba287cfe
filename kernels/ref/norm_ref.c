/* SPDX-License-Identifier: Apache-2.0 */
/* Layer, RMS, group and instance norm: the mean, then the mean of squared differences from it, then
 * every element. */
#include "kernels/ref/lanes_ref.h"
#include "kernels/ref/math_ref.h"
#include "kernels/product_jobs.h"

/* What an element's difference from the mean is multiplied by, before gamma. */
static float inverse_deviation(float squares, int64_t count, float eps) {
    return 1.0f / sqrtf(squares / (float)count + eps);
}

static float finish(float difference, float inverse, const float *gamma, const float *beta,
                    int64_t i) {
    return fmaf(difference, gamma ? gamma[i] * inverse : inverse, beta ? beta[i] : -0.0f);
}

static float sum_squares(const float *x, int64_t n, float mean) {
    float lane[REF_LANES] = {0};
    for (int64_t i = 0; i < n; i++)
        lane[i % REF_LANES] = fmaf(x[i] - mean, x[i] - mean, lane[i % REF_LANES]);
    return ref_tree(IPEX_REDUCE_sum, lane);
}

void IPEX_REF(layer_norm_f32)(const struct ipex_layer_norm_args *args, int64_t job_begin,
                              int64_t job_end, void *scratch) {
    (void)scratch;
    const int64_t n = args->columns;
    for (int64_t row = job_begin; row < job_end; row++) {
        const float *x = args->x + row * args->x_row;
        const float mean = args->rms ? 0.0f : ref_reduce_row(IPEX_REDUCE_sum, x, n, 1) / (float)n;
        const float inverse = inverse_deviation(sum_squares(x, n, mean), n, args->eps);
        for (int64_t i = 0; i < n; i++)
            args->y[row * args->y_row + i] =
                ref_act(finish(x[i] - mean, inverse, args->gamma, args->beta, i), args->act,
                        args->act_a, args->act_b);
    }
}

/* Sum over a run of pixels of one channel's x, or, with squares, of its squared differences from
 * mean. */
static float run_sum(const float *x, int64_t x_pixel, int64_t pixels, bool squares, float mean) {
    float chain = 0.0f;
    for (int64_t pixel = 0; pixel < pixels; pixel++) {
        const float v = x[pixel * x_pixel];
        chain = squares ? fmaf(v - mean, v - mean, chain) : chain + v;
    }
    return chain;
}

/* The same over the image. */
static float channel_sum(const struct ipex_group_norm_args *args, const float *x, bool squares,
                         float mean) {
    float sum = 0.0f;
    for (int64_t line = 0; line < args->lines; line++)
        for (int64_t pixel = 0; pixel < args->pixels; pixel += IPEX_NORM_RUN) {
            const int64_t left = args->pixels - pixel;
            sum = sum + run_sum(x + line * args->x_line + pixel * args->x_pixel, args->x_pixel,
                                left < IPEX_NORM_RUN ? left : IPEX_NORM_RUN, squares, mean);
        }
    return sum;
}

/* The same over the channels of a group. */
static float group_sum(const struct ipex_group_norm_args *args, const float *x, bool squares,
                       float mean) {
    float lane[REF_LANES] = {0};
    for (int64_t c = 0; c < args->channels / args->groups; c++)
        lane[c % REF_LANES] = lane[c % REF_LANES] + channel_sum(args, x + c, squares, mean);
    return ref_tree(IPEX_REDUCE_sum, lane);
}

static void norm_group(const struct ipex_group_norm_args *args, int64_t image, int64_t group) {
    const int64_t per_group = args->channels / args->groups, first = group * per_group;
    const int64_t count = (int64_t)args->lines * args->pixels * per_group;
    const float *x = args->x + image * args->x_image + first;
    float *y = args->y + image * args->y_image + first;
    const float mean = group_sum(args, x, false, 0.0f) / (float)count;
    const float inverse = inverse_deviation(group_sum(args, x, true, mean), count, args->eps);
    for (int64_t line = 0; line < args->lines; line++)
        for (int64_t pixel = 0; pixel < args->pixels; pixel++)
            for (int64_t c = 0; c < per_group; c++) {
                const float v = x[line * args->x_line + pixel * args->x_pixel + c];
                y[line * args->y_line + pixel * args->y_pixel + c] =
                    ref_act(finish(v - mean, inverse, args->gamma, args->beta, first + c),
                            args->act, args->act_a, args->act_b);
            }
}

void IPEX_REF(group_norm_f32)(const struct ipex_group_norm_args *args, int64_t job_begin,
                              int64_t job_end, void *scratch) {
    (void)scratch;
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_group_norm_job job = ipex_group_norm_job(args, j);
        for (int64_t group = job.group; group < job.group_end; group++)
            norm_group(args, job.image, group);
    }
}
