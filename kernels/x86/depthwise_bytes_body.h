/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks (kernels/x86/depthwise_bytes.h) of a level's vectors. The includer brings a vec_*.h and
 *   ROWS              rows of a stack; a row beyond the kernel is some other one, of weight 0
 *   STACK_ROW(a, r)   a's words where row r of a stack has them
 *   WEIGHTS_AT(p)     LANES weights, widened to words such that STACK_ROW() stacks them
 *   PRODUCT(s, x, w)  s with the products of the stacks x and w added
 *   some_bytes(n), words_at(p, some)  the first n of LANES bytes at p, as words, and any behind */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_BYTES_BODY_H
#define IPEX_KERNELS_X86_DEPTHWISE_BYTES_BODY_H

#include "kernels/jobs.h"
#include "kernels/x86/depthwise_bytes.h"

static inline vec_int load_words(const float *p) {
    return vec_bits(vec_load(p));
}

static void stack_weights(const struct stacks *s) {
    const struct ipex_conv_args *args = s->args;
    const int64_t pitch = ipex_channels_pitch(args->n), row = pitch * args->segments_w;
    float *to = s->weights;
    for (int64_t c = s->channel; c < s->channel + s->channels; c += LANES)
        for (int64_t tap = 0; tap < args->segments_w; tap++)
            for (int64_t g = 0; g < s->groups; g++, to += LANES) {
                const int8_t *w = (const int8_t *)args->w + g * ROWS * row + tap * pitch + c;
                vec_int all = vec_int_set(0);
                for (int32_t r = 0; r < ROWS && g * ROWS + r < args->segments_h; r++)
                    all = vec_or(all, STACK_ROW(WEIGHTS_AT(w + r * row), r));
                vec_store(to, vec_float(all));
            }
}

/* Stacks of `count` columns from x on, of n channels. */
static __attribute__((noinline)) void stack_columns(const struct stacks *s, const uint8_t *x,
                                                    int64_t count, int64_t n) {
    const int64_t step = s->columns.step, x_kh = s->args->x_kh, groups = s->groups;
    const int64_t last = s->args->segments_h - 1;
    const struct some_bytes some = some_bytes(n);
    for (int64_t g = 0; g < groups; g++) {
        const uint8_t *at = x + g * ROWS * x_kh;
        const int64_t left = last - g * ROWS;
        const int64_t row1 = ipex_smaller(1, left) * x_kh, row2 = ipex_smaller(2, left) * x_kh;
        const int64_t row3 = ipex_smaller(3, left) * x_kh;
        float *to = s->x + g * LANES;
        for (int64_t q = 0; q < count; q++, at += step, to += groups * LANES) {
            vec_int all = vec_or(words_at(at, some), STACK_ROW(words_at(at + row1, some), 1));
            if (ROWS > 2)
                all = vec_or(all, STACK_ROW(words_at(at + row2, some), 2));
            if (ROWS > 3 && left > 2) /* not of three rows, of which most kernels are */
                all = vec_or(all, STACK_ROW(words_at(at + row3, some), 3));
            vec_store(to, vec_float(all));
        }
        (void)row2, (void)row3;
    }
}

/* Sums of `pixels` pixels for one vector of channels. */
static __attribute__((noinline)) void multiply(const struct stacks *s, const float *weights,
                                               float *sums, int64_t pixels) {
    const int64_t taps = s->args->segments_w, groups = s->groups * LANES;
    const int64_t per_tap = s->columns.per_tap * groups, per_pixel = s->columns.per_pixel * groups;
    const float *x = s->x;
    for (int64_t p = 0; p < pixels; p++, x += per_pixel, sums += SUMS_COLUMNS) {
        const float *w = weights;
        vec_int sum = vec_int_set(0);
        for (int64_t t = 0; t < taps; t++)
            for (int64_t g = 0; g < groups; g += LANES, w += LANES)
                sum = PRODUCT(sum, load_words(x + t * per_tap + g), load_words(w));
        vec_store(sums, vec_float(sum));
    }
}

/* The same of three rows and three taps. */
static __attribute__((noinline)) void multiply_3(const struct stacks *s, const float *weights,
                                                 float *sums, int64_t pixels) {
    enum { GROUPS = (3 + ROWS - 1) / ROWS, STACK = GROUPS * LANES, LAST = STACK - LANES };
    const int64_t per_tap = s->columns.per_tap * STACK, per_pixel = s->columns.per_pixel * STACK;
    const float *x = s->x;
    const vec_int w0 = load_words(weights), w1 = load_words(weights + STACK);
    const vec_int w2 = load_words(weights + 2 * STACK), v0 = load_words(weights + LAST);
    const vec_int v1 = load_words(weights + STACK + LAST);
    const vec_int v2 = load_words(weights + 2 * STACK + LAST);
    for (int64_t p = 0; p < pixels; p++, x += per_pixel, sums += SUMS_COLUMNS) {
        vec_int sum = PRODUCT(vec_int_set(0), load_words(x), w0);
        sum = PRODUCT(sum, load_words(x + per_tap), w1);
        sum = PRODUCT(sum, load_words(x + 2 * per_tap), w2);
        if (GROUPS > 1) {
            sum = PRODUCT(sum, load_words(x + LAST), v0);
            sum = PRODUCT(sum, load_words(x + per_tap + LAST), v1);
            sum = PRODUCT(sum, load_words(x + 2 * per_tap + LAST), v2);
        }
        vec_store(sums, vec_float(sum));
    }
}

static const struct depthwise_level level = {
    .rows = ROWS,
    .lanes = LANES,
    .weights = stack_weights,
    .columns = stack_columns,
    .multiply = multiply,
    .multiply_3 = multiply_3,
    .scale = IPEX_LEVEL(scale_sums),
};

#endif
