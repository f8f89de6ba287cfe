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
    SUMS_ACTIVATED = 64, /* they were scaled before */
    SUMS_ANY = 128,
};

/* `count` vectors of sums, of n columns each, one behind the other: along a row, or down a vector
 * of columns (scale_step is 0 then). y and residual are elements from args' pointers. */
struct sums_run {
    int64_t count, n;
    float low, high;
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
    const vec low = vec_set(run->low), high = vec_set(run->high);
    struct sums_run at = *run;
    for (; at.count > 0; at.count--) {
        AS_WRITTEN; /* one loop, not one of every kind */
        vec v = vec_load(at.sum);
        if (!(kind & SUMS_ACTIVATED))
            v = vec_fma(vec_from_int(vec_bits(v)), vec_load_part(at.scale, n),
                        vec_load_part(at.bias, n));
        if (kind & SUMS_MIDDLE)
            v = vec_fma(vec_quantised(vec_whole(v, m_scale, m_zero)), m_unit, m_shift);
        if (kind & SUMS_RESIDUAL_U8)
            v = vec_add(v, vec_mul(vec_load_u8_part(args->residual_u8 + at.residual, n), r_scale));
        else if (kind & SUMS_RESIDUAL)
            v = vec_add(v, vec_mul(vec_load_part(args->residual + at.residual, n), r_scale));
        if (kind & (SUMS_TO_U8 | SUMS_ROUNDED))
            v = vec_whole(v, y_scale, y_zero);
        v = vec_min(high, vec_max(low, v));
        if (kind & SUMS_TO_U8)
            vec_store_bytes_part(args->y_u8 + at.y, n, v);
        else if (kind & SUMS_IN_PLACE)
            vec_store(at.sum, v);
        else
            vec_store_part(args->y + at.y, n, kind & SUMS_ROUNDED ? vec_quantised(v) : v);
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

static __attribute__((noinline)) void scale_rows(const struct ipex_conv_args *args,
                                                 const struct sums *s, struct sums_bounds bounds,
                                                 int32_t kind) {
    struct sums_run run = {.low = bounds.low, .high = bounds.high};
#ifdef SUMS_BY_ROWS
    run.sum_step = run.scale_step = run.y_step = run.r_step = LANES;
    for (int64_t r = 0; r < s->rows; r++) {
        run.sum = s->sum + r * s->row;
        run.scale = args->scale + s->column;
        run.bias = args->bias + s->column;
        run.y = s->y + row_at(s->rows, s->y_row, s->y_half, r);
        run.residual = s->residual + row_at(s->rows, s->r_row, s->r_half, r);
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
    run.sum_step = s->row;
    run.y_step = s->y_row;
    run.r_step = s->r_row;
    for (int64_t c = 0; c < s->columns; c += LANES) {
        run.count = (s->rows + 1) / 2;
        run.n = s->columns - c;
        run.sum = s->sum + c;
        run.scale = args->scale + s->column + c;
        run.bias = args->bias + s->column + c;
        run.y = s->y + c;
        run.residual = s->residual + c;
        scale_run(args, &run, kind);
        run.sum += run.count * s->row;
        run.y += s->y_half;
        run.residual += s->r_half;
        run.count = s->rows - run.count;
        scale_run(args, &run, kind);
    }
#endif
}

/* Where an activation is no clamp, its arguments are scaled in place before. */
void IPEX_LEVEL(scale_sums)(const struct ipex_conv_args *args, const struct sums *s) {
    const float inf = __builtin_inff();
    const int32_t kind = (args->m_scale != 0.0f ? SUMS_MIDDLE : 0) |
                         (args->residual_u8 ? SUMS_RESIDUAL_U8 : 0) |
                         (args->residual ? SUMS_RESIDUAL : 0);
    const int32_t to = args->y_u8 ? SUMS_TO_U8 : args->y_scale != 0.0f ? SUMS_ROUNDED : 0;
    if (ipex_act_is_clamp(args->act)) {
        scale_rows(args, s, s->bounds, kind | to);
        return;
    }
    scale_rows(args, s, (struct sums_bounds){-inf, inf}, kind | SUMS_IN_PLACE);
    const struct ipex_act_rows all =
        ipex_act_rows(s->sum, s->rows, s->columns, s->row, args->act, args->act_a, args->act_b);
    IPEX_LEVEL(activate)(&all);
    scale_rows(args, s, s->bounds, SUMS_ACTIVATED | to);
}

#endif
