/* SPDX-License-Identifier: Apache-2.0 */
/* Layer, RMS, group and instance norm for either vector width, in the order of
 * kernels/ref/norm_ref.c. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_NORM_BODY_H
#define IPEX_KERNELS_X86_NORM_BODY_H

#include "kernels/product_jobs.h"
#include "kernels/x86/lanes.h"

/* 1 / sqrt(squares / count + eps), of one lane: for a whole vector divisions take several times as
 * long, and all else that a short row asks for is done meanwhile. */
static inline vec norm_inverse(float squares, int64_t count, float eps) {
    const __m128 variance = _mm_set_ss(squares / (float)count + eps);
    return vec_set(1.0f / _mm_cvtss_f32(_mm_sqrt_ss(variance)));
}

/* The activation goes over rows that have just been written: inside the loop it would take more
 * registers than there are. */
static inline void norm_act(float *y, int64_t rows, int64_t n, int64_t y_row, int32_t act, float a,
                            float b) {
    const struct ipex_act_rows written = ipex_act_rows(y, rows, n, y_row, act, a, b);
    if (act != IPEX_ACT_none)
        IPEX_LEVEL(activate)(&written);
}

/* Elements of several short rows that an activation goes over at once. */
enum { NORM_ACT_ELEMENTS = 1024 };

static inline vec norm_factor(const float *gamma, int64_t i, int64_t n, vec inverse) {
    return gamma ? vec_mul(vec_load_part(gamma + i, n), inverse) : inverse;
}

static inline vec norm_beta(const float *beta, int64_t i, int64_t n) {
    return beta ? vec_load_part(beta + i, n) : vec_set(-0.0f);
}

static inline vec norm_square(vec acc, const float *x, int64_t n, vec mean) {
    const vec d = vec_sub(vec_load_part(x, n), mean), sum = vec_fma(d, d, acc);
    return n >= LANES ? sum : vec_select(vec_first(n), sum, acc);
}

/* Out of line: with the loops before and after it gcc 12 would put a vector on the stack. */
static __attribute__((noinline)) float norm_squares(const float *x, int64_t n, vec mean) {
    struct rows_lanes lanes = rows_begin(IPEX_REDUCE_sum);
    for (; n >= SUM_LANES; n -= SUM_LANES, x += SUM_LANES) {
        lanes.low = norm_square(lanes.low, x, LANES, mean);
        if (SUM_VECS == 2)
            lanes.high = norm_square(lanes.high, x + LANES, LANES, mean);
    }
    if (n > 0)
        lanes.low = norm_square(lanes.low, x, n, mean);
    if (SUM_VECS == 2 && n > LANES)
        lanes.high = norm_square(lanes.high, x + LANES, n - LANES, mean);
    return rows_tree(IPEX_REDUCE_sum, lanes);
}

void IPEX_LEVEL(layer_norm_f32)(const struct ipex_layer_norm_args *args, int64_t job_begin,
                                int64_t job_end, void *scratch) {
    (void)scratch;
    const int64_t n = args->columns, most = ipex_div(NORM_ACT_ELEMENTS, n);
    int64_t written = 0;
    for (int64_t row = job_begin; row < job_end; row++) {
        const float *x = args->x + row * args->x_row;
        float *y = args->y + row * args->y_row;
        const vec mean = vec_set(args->rms ? 0.0f : rows_reduce(IPEX_REDUCE_sum, x, n) / (float)n);
        const vec inverse = norm_inverse(norm_squares(x, n, mean), n, args->eps);
        for (int64_t i = 0; i < n; i += LANES) {
            const vec d = vec_sub(vec_load_part(x + i, n - i), mean);
            const vec factor = norm_factor(args->gamma, i, n - i, inverse);
            vec_store_part(y + i, n - i, vec_fma(d, factor, norm_beta(args->beta, i, n - i)));
        }
        if (++written >= most || row + 1 == job_end) {
            norm_act(y - (written - 1) * args->y_row, written, n, args->y_row, args->act,
                     args->act_a, args->act_b);
            written = 0;
        }
    }
}

/* ---- group norm ---- */

/* The channels of a job, all arrays [channels] in scratch. */
struct norm_channels {
    float *sum, *mean, *factor;
    int64_t count;
};

/* The chain of a run of pixels, on from `chain`: x, or (x - mean)^2. */
static inline vec norm_chain(vec chain, const float *x, vec_mask m, vec mean, bool squares) {
    const vec v = vec_load_masked(x, m), d = vec_sub(v, mean);
    return squares ? vec_fma(d, d, chain) : vec_add(chain, v);
}

/* Adds up a run of pixels of every channel. */
static inline void norm_run(const struct norm_channels *c, const float *x, int64_t x_pixel,
                            int64_t pixels, bool squares) {
    for (int64_t i = 0; i < c->count; i += LANES) {
        const vec_mask m = vec_first(c->count - i);
        const vec mean = vec_load_masked(c->mean + i, m);
        vec chain = vec_set(0.0f);
        for (int64_t p = 0; p < pixels; p++)
            chain = norm_chain(chain, x + p * x_pixel + i, m, mean, squares);
        vec_store_masked(c->sum + i, m, vec_add(vec_load_masked(c->sum + i, m), chain));
    }
}

/* Four runs of channels that a vector holds: their chains stand side by side. */
static inline void norm_four_runs(const struct norm_channels *c, const float *x, int64_t x_pixel,
                                  bool squares) {
    const int64_t run = IPEX_NORM_RUN * x_pixel;
    const vec_mask m = vec_first(c->count);
    const vec mean = vec_load_masked(c->mean, m);
    vec a = vec_set(0.0f), b = a, d = a, e = a, sum = vec_load_masked(c->sum, m);
    for (int64_t p = 0; p < IPEX_NORM_RUN; p++, x += x_pixel) {
        a = norm_chain(a, x, m, mean, squares);
        b = norm_chain(b, x + run, m, mean, squares);
        d = norm_chain(d, x + 2 * run, m, mean, squares);
        e = norm_chain(e, x + 3 * run, m, mean, squares);
    }
    sum = vec_add(vec_add(vec_add(vec_add(sum, a), b), d), e);
    vec_store_masked(c->sum, m, sum);
}

static inline void norm_line(const struct norm_channels *c, const float *x, int64_t x_pixel,
                             int64_t pixels, bool squares) {
    int64_t p = 0;
    for (; c->count <= LANES && p + 4 * IPEX_NORM_RUN <= pixels; p += 4 * IPEX_NORM_RUN)
        norm_four_runs(c, x + p * x_pixel, x_pixel, squares);
    for (; p < pixels; p += IPEX_NORM_RUN)
        norm_run(c, x + p * x_pixel, x_pixel,
                 pixels - p < IPEX_NORM_RUN ? pixels - p : IPEX_NORM_RUN, squares);
}

static inline void norm_fill(float *p, int64_t n, vec value) {
    for (int64_t i = 0; i < n; i += LANES)
        vec_store_part(p + i, n - i, value);
}

/* c->sum of every channel over the image. */
static __attribute__((noinline)) void norm_sums(const struct ipex_group_norm_args *args,
                                                const struct norm_channels *c, const float *x,
                                                bool squares) {
    norm_fill(c->sum, c->count, vec_set(0.0f));
    for (int64_t line = 0; line < args->lines; line++)
        norm_line(c, x + line * args->x_line, args->x_pixel, args->pixels, squares);
}

/* A run of pixels of y, of channels that a vector holds. */
static inline void norm_apply_narrow(const struct ipex_group_norm_args *args,
                                     const struct norm_channels *c, const float *beta,
                                     const float *x, float *y, int64_t pixels) {
    const vec_mask m = vec_first(c->count);
    const vec mean = vec_load_masked(c->mean, m), factor = vec_load_masked(c->factor, m);
    const vec shift = norm_beta(beta, 0, c->count);
    for (int64_t p = 0; p < pixels; p++) {
        const vec d = vec_sub(vec_load_masked(x + p * args->x_pixel, m), mean);
        vec_store_masked(y + p * args->y_pixel, m, vec_fma(d, factor, shift));
    }
    const struct ipex_act_rows rows =
        ipex_act_rows(y, pixels, c->count, args->y_pixel, args->act, args->act_a, args->act_b);
    if (args->act != IPEX_ACT_none)
        IPEX_LEVEL(activate)(&rows);
}

static inline void norm_apply_pixel(const struct ipex_group_norm_args *args,
                                    const struct norm_channels *c, const float *beta,
                                    const float *x, float *y) {
    for (int64_t i = 0; i < c->count; i += LANES) {
        const int64_t n = c->count - i;
        const vec d = vec_sub(vec_load_part(x + i, n), vec_load_part(c->mean + i, n));
        const vec factor = vec_load_part(c->factor + i, n);
        vec_store_part(y + i, n, vec_fma(d, factor, norm_beta(beta, i, n)));
    }
    norm_act(y, 1, c->count, c->count, args->act, args->act_a, args->act_b);
}

/* One line of y. */
static inline void norm_apply(const struct ipex_group_norm_args *args,
                              const struct norm_channels *c, const float *beta, const float *x,
                              float *y) {
    const int64_t step = c->count <= LANES ? IPEX_NORM_RUN : 1;
    for (int64_t p = 0; p < args->pixels; p += step) {
        const int64_t left = args->pixels - p;
        if (step == 1)
            norm_apply_pixel(args, c, beta, x + p * args->x_pixel, y + p * args->y_pixel);
        else
            norm_apply_narrow(args, c, beta, x + p * args->x_pixel, y + p * args->y_pixel,
                              left < step ? left : step);
    }
}

static inline void norm_job(const struct ipex_group_norm_args *args,
                            const struct ipex_group_norm_job *job, const struct norm_channels *c) {
    const int64_t per_group = args->channels / args->groups;
    const int64_t elements = (int64_t)args->lines * args->pixels * per_group;
    const float *gamma = args->gamma ? args->gamma + job->channel : NULL;
    const float *beta = args->beta ? args->beta + job->channel : NULL;
    const float *x = args->x + job->image * args->x_image + job->channel;
    float *y = args->y + job->image * args->y_image + job->channel;
    norm_fill(c->mean, c->count, vec_set(0.0f));
    norm_sums(args, c, x, false);
    for (int64_t i = 0; i < c->count; i += per_group) {
        const vec sum = vec_set(rows_reduce(IPEX_REDUCE_sum, c->sum + i, per_group));
        norm_fill(c->mean + i, per_group, vec_div(sum, vec_set((float)elements)));
    }
    norm_sums(args, c, x, true);
    for (int64_t i = 0; i < c->count; i += per_group) {
        const float squares = rows_reduce(IPEX_REDUCE_sum, c->sum + i, per_group);
        norm_fill(c->factor + i, per_group, norm_inverse(squares, elements, args->eps));
    }
    for (int64_t i = 0; gamma && i < c->count; i += LANES) {
        const int64_t n = c->count - i;
        vec_store_part(c->factor + i, n, norm_factor(gamma, i, n, vec_load_part(c->factor + i, n)));
    }
    for (int64_t line = 0; line < args->lines; line++)
        norm_apply(args, c, beta, x + line * args->x_line, y + line * args->y_line);
}

void IPEX_LEVEL(group_norm_f32)(const struct ipex_group_norm_args *args, int64_t job_begin,
                                int64_t job_end, void *scratch) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_group_norm_job job = ipex_group_norm_job(args, j);
        const int64_t count = job.channel_end - job.channel, room = ipex_round_up_16(count);
        const struct norm_channels c = {
            .sum = scratch,
            .mean = (float *)scratch + room,
            .factor = (float *)scratch + 2 * room,
            .count = count,
        };
        norm_job(args, &job, &c);
    }
}

#endif
