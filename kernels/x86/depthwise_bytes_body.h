/* SPDX-License-Identifier: Apache-2.0 */
/* Products of stacks (kernels/x86/depthwise_bytes.h) by a level's vectors. The includer brings a
 * vec_*.h and
 *   FOURS(words)         declares what ADD_FOURS takes of words of four elements of x
 *   WEIGHTS(v, words)    the same of weights, in the v-th vector of a step
 *   ADD_FOURS(s, v)      adds their products to s, word by word
 *   stack, LEAST_TO_ROLL, ROLL_3, MULTIPLY_SET_3    as struct depthwise_level has them */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_BYTES_BODY_H
#define IPEX_KERNELS_X86_DEPTHWISE_BYTES_BODY_H

#include "kernels/jobs.h"
#include "kernels/x86/depthwise_bytes.h"
#include "kernels/x86/rows.h"

#define STACK_BEGIN(r) vec_int s##r = vec_int_set(0);
#define STACK_ADD(r)                                                                               \
    {                                                                                              \
        FOURS(vec_int_load(at + (r)*x_row))                                                        \
        ADD_FOURS(s##r, 0)                                                                         \
    }
#define STACK_KEEP(r) vec_store(to + (r)*row, vec_float(s##r));

/* Sums of `pixels` pixels for one vector of channels. */
static __attribute__((noinline)) void multiply(const struct stacks *s, const float *all,
                                               const float *weights, float *sums, int64_t pixels) {
    const int64_t taps = s->args->segments_w, column = s->groups * LANES,
                  step = ipex_block_step(pixels);
    const int64_t per_tap = s->columns.per_tap * column, per_pixel = s->columns.per_pixel * column;
    const int64_t x_row = step > 1 ? per_pixel : 0, row = step > 1 ? IPEX_DEPTHWISE_CHANNELS : 0;
    for (int64_t p = 0; p < pixels; p += step) {
        const int64_t first = ipex_smaller(p, pixels - step);
        const float *x = all + first * per_pixel, *w = weights;
        float *to = sums + first * IPEX_DEPTHWISE_CHANNELS;
        ROWS_4(STACK_BEGIN)
        for (int64_t t = 0; t < taps; t++, x += per_tap)
            for (const float *at = x; at < x + column; at += LANES, w += LANES) {
                WEIGHTS(0, vec_int_load(w))
                ROWS_4(STACK_ADD)
            }
        ROWS_4(STACK_KEEP)
    }
}

#define THREE_ADD(t)                                                                               \
    {                                                                                              \
        FOURS(vec_int_load(x + (t)*per_tap))                                                       \
        ADD_FOURS(sum, t)                                                                          \
    }

/* The same of three rows and three taps. */
static __attribute__((noinline)) void multiply_3(const struct stacks *s, const float *x,
                                                 const float *weights, float *sums,
                                                 int64_t pixels) {
    const int64_t per_tap = s->columns.per_tap * LANES, per_pixel = s->columns.per_pixel * LANES;
    WEIGHTS(0, vec_int_load(weights))
    WEIGHTS(1, vec_int_load(weights + LANES))
    WEIGHTS(2, vec_int_load(weights + 2 * LANES))
    for (int64_t p = 0; p < pixels; p++, x += per_pixel, sums += IPEX_DEPTHWISE_CHANNELS) {
        vec_int sum = vec_int_set(0);
        THREE_ADD(0)
        THREE_ADD(1)
        THREE_ADD(2)
        vec_store(sums, vec_float(sum));
    }
}

static const struct depthwise_level level = {
    .lanes = LANES,
    .least_to_roll = LEAST_TO_ROLL,
    .roll_3 = ROLL_3,
    .stack = stack,
    .multiply = multiply,
    .multiply_3 = multiply_3,
    .multiply_set = ipex_k_multiply_set__avx2,
    .multiply_set_3 = MULTIPLY_SET_3,
    .scale = IPEX_LEVEL(scale_sums),
};

#endif
