/* SPDX-License-Identifier: Apache-2.0 */
/* See scale_sums.h. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_SCALE_SUMS_BODY_H
#define IPEX_KERNELS_X86_SCALE_SUMS_BODY_H

#include "kernels/x86/scale_sums.h"
#include "kernels/x86/vec_math.h"

/* What rows have of a residual, and where results go: in the loops that most rows take these are
 * constants. */
enum sums_kind {
    SUMS_TO_U8 = 1,
    SUMS_RESIDUAL_U8 = 2,
    SUMS_RESIDUAL = 4,
    SUMS_IN_PLACE = 8,
    SUMS_ROUNDED = 16,
    SUMS_MIDDLE = 32,
    SUMS_ANY = 64,
};

/* `count` vectors of sums, of n columns each, one behind the other: along a row, or down a vector
 * of columns (scale_step is 0 then). y and residual are elements from args' pointers. */
struct sums_run {
    int64_t count, n;
    float *sum;
    const float *scale, *bias;
    int64_t y, residual;
    int64_t sum_step, scale_step, y_step, r_step;
};

/* What bytes are cut from: the product rounded to a whole number, then the zero point. */
static inline vec vec_whole(vec v, vec scale, vec zero) {
    const vec one = vec_set(IPEX_WHOLE_NUMBERS);
    return vec_sub(vec_fma(v, scale, one), vec_sub(one, zero));
}

static inline vec vec_quantised(vec whole) {
    return vec_min(vec_set(255.0f), vec_max(whole, vec_set(0.0f))); /* of a NaN: 0 */
}

static inline __attribute__((always_inline)) void scale_vectors(const struct ipex_conv_args *args,
                                                                const struct sums_run *run,
                                                                int64_t n, int32_t kind) {
    const vec r_scale = vec_set(args->r_scale);
    const vec y_scale = vec_set(args->y_scale), y_zero = vec_set(args->y_zero);
    const vec m_scale = vec_set(args->m_scale), m_zero = vec_set(args->m_zero);
    const vec m_unit = vec_set(args->m_unit), m_shift = vec_set(args->m_shift);
    const vec low = vec_set(act_low(args->act, args->act_a));
    const vec high = vec_set(act_high(args->act, args->act_b));
    struct sums_run at = *run;
    for (; at.count > 0; at.count--) {
        __asm__ volatile(""); /* compilers would make one loop of every kind */
        const vec scale = vec_load_part(at.scale, n), bias = vec_load_part(at.bias, n);
        vec v = vec_fma(vec_from_int(vec_bits(vec_load(at.sum))), scale, bias);
        if (kind & SUMS_MIDDLE)
            v = vec_fma(vec_quantised(vec_whole(v, m_scale, m_zero)), m_unit, m_shift);
        if (kind & SUMS_RESIDUAL_U8)
            v = vec_add(v, vec_mul(vec_load_u8_part(args->residual_u8 + at.residual, n), r_scale));
        else if (kind & SUMS_RESIDUAL)
            v = vec_add(v, vec_mul(vec_load_part(args->residual + at.residual, n), r_scale));
        v = vec_min(high, vec_max(low, v));
        if (kind & SUMS_TO_U8)
            vec_store_u8_part(args->y_u8 + at.y, n, vec_whole(v, y_scale, y_zero));
        else if (kind & SUMS_IN_PLACE)
            vec_store(at.sum, v);
        else if (kind & SUMS_ROUNDED)
            vec_store_part(args->y + at.y, n, vec_quantised(vec_whole(v, y_scale, y_zero)));
        else
            vec_store_part(args->y + at.y, n, v);
        at.sum += at.sum_step;
        at.scale += at.scale_step;
        at.bias += at.scale_step;
        at.y += at.y_step;
        at.residual += at.r_step;
    }
}

/* Whole vectors of the usual kinds have a loop each. */
static __attribute__((noinline)) void scale_run(const struct ipex_conv_args *args,
                                                const struct sums_run *run, int32_t kind) {
    const int32_t whole = run->n >= LANES ? kind : SUMS_ANY;
    if (whole == SUMS_TO_U8)
        scale_vectors(args, run, LANES, SUMS_TO_U8);
#if VEC_REGISTERS == 32
    else if (whole == SUMS_ROUNDED)
        scale_vectors(args, run, LANES, SUMS_ROUNDED);
    else if (whole == (SUMS_TO_U8 | SUMS_MIDDLE))
        scale_vectors(args, run, LANES, SUMS_TO_U8 | SUMS_MIDDLE);
    else if (whole == (SUMS_TO_U8 | SUMS_MIDDLE | SUMS_RESIDUAL_U8))
        scale_vectors(args, run, LANES, SUMS_TO_U8 | SUMS_MIDDLE | SUMS_RESIDUAL_U8);
#else
    else if (whole != SUMS_ANY)
        scale_vectors(args, run, LANES, kind);
#endif
    else
        scale_vectors(args, run, run->n, kind);
}

/* Behind an activation that is no clamp. */
static void store_activated(const struct ipex_conv_args *args, const struct sums *s) {
    const vec y_scale = vec_set(args->y_scale), y_zero = vec_set(args->y_zero);
    const bool rounded = args->y_scale != 0;
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t c = 0; c < s->columns; c += LANES) {
            const int64_t at = s->y + row_at(s->rows, s->y_row, s->y_half, r) + c;
            const vec v = vec_load(s->sum + r * s->row + c);
            const vec q = vec_whole(v, y_scale, y_zero);
            if (args->y_u8)
                vec_store_u8_part(args->y_u8 + at, s->columns - c, q);
            else
                vec_store_part(args->y + at, s->columns - c, rounded ? vec_quantised(q) : v);
        }
}

void IPEX_LEVEL(scale_sums)(const struct ipex_conv_args *args, const struct sums *s) {
    const bool clamp = ipex_act_is_clamp(args->act);
    const int32_t kind = (args->m_scale != 0.0f ? SUMS_MIDDLE : 0) |
                         (args->residual_u8 ? SUMS_RESIDUAL_U8 : 0) |
                         (args->residual ? SUMS_RESIDUAL : 0) |
                         (!clamp                  ? SUMS_IN_PLACE
                          : args->y_u8            ? SUMS_TO_U8
                          : args->y_scale != 0.0f ? SUMS_ROUNDED
                                                  : 0);
#ifdef SUMS_BY_ROWS
    for (int64_t r = 0; r < s->rows; r++) {
        struct sums_run run = {
            .sum = s->sum + r * s->row,
            .scale = args->scale + s->column,
            .bias = args->bias + s->column,
            .y = s->y + row_at(s->rows, s->y_row, s->y_half, r),
            .residual = s->residual + row_at(s->rows, s->r_row, s->r_half, r),
            .sum_step = LANES,
            .scale_step = LANES,
            .y_step = LANES,
            .r_step = LANES,
        };
        for (int64_t left = s->columns, done; left > 0; left -= done) {
            run.n = ipex_smaller(left, LANES);
            run.count = left / run.n;
            scale_run(args, &run, kind);
            done = run.count * run.n;
            run.sum += done;
            run.scale += done;
            run.bias += done;
            run.y += done;
            run.residual += done;
        }
    }
#else
    for (int64_t c = 0; c < s->columns; c += LANES) {
        struct sums_run run = {
            .count = (s->rows + 1) / 2,
            .n = s->columns - c,
            .sum = s->sum + c,
            .scale = args->scale + s->column + c,
            .bias = args->bias + s->column + c,
            .y = s->y + c,
            .residual = s->residual + c,
            .sum_step = s->row,
            .y_step = s->y_row,
            .r_step = s->r_row,
        };
        scale_run(args, &run, kind);
        run.sum += run.count * s->row;
        run.y += s->y_half;
        run.residual += s->r_half;
        run.count = s->rows - run.count;
        scale_run(args, &run, kind);
    }
#endif
    if (clamp)
        return;
    const struct ipex_act_rows all =
        ipex_act_rows(s->sum, s->rows, s->columns, s->row, args->act, args->act_a, args->act_b);
    IPEX_LEVEL(activate)(&all);
    store_activated(args, s);
}

#endif
