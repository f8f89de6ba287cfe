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
    SUMS_UNITS = 128,    /* see struct sums_bounds */
};

/* Rows of sums of n columns. y and residual are elements from args' pointers. */
struct sums_run {
    int64_t rows, n;
    float low, high;
    float *sum;
    const float *scale, *bias;
    int64_t y, residual;
    int64_t row, y_row, r_row;
};

/* What bytes are cut from: the product rounded to a whole number, then the zero point. */
static inline vec vec_whole(vec v, vec scale, vec zero) {
    const vec one = vec_set(IPEX_WHOLE_NUMBERS);
    return vec_sub(vec_fma(v, scale, one), vec_sub(one, zero));
}

/* Of a NaN: low. */
static inline vec vec_cut(vec v, float low, float high) {
    return vec_min(vec_set(high), vec_max(v, vec_set(low)));
}

/* What scaled sums stand for: v itself, or what is left of it between two roundings, and up to n
 * elements of the residual from there on, if kind says so. */
static inline __attribute__((always_inline)) vec
with_residual(const struct ipex_conv_args *args, vec v, int64_t residual, int64_t n, int32_t kind) {
    if (kind & SUMS_MIDDLE) {
        const vec zero = vec_set(args->m_zero);
        if (kind & SUMS_UNITS)
            v = vec_cut(vec_round(v), -args->m_zero, 255 - args->m_zero);
        else
            v = vec_sub(vec_cut(vec_whole(v, vec_set(args->m_scale), zero), 0, 255), zero);
        v = vec_fma(v, vec_set(args->m_unit), vec_set(args->m_shift));
    }
    if (kind & SUMS_RESIDUAL_U8)
        v = vec_fma(vec_load_u8_part(args->residual_u8 + residual, n), vec_set(args->r_scale), v);
    else if (kind & SUMS_RESIDUAL)
        v = vec_fma(vec_load_part(args->residual + residual, n), vec_set(args->r_scale), v);
    return v;
}

/* What the sums of row r from column c on stand for, before their activation. */
static inline __attribute__((always_inline)) vec scaled(const struct ipex_conv_args *args,
                                                        const struct sums_run *run, int64_t r,
                                                        int64_t c, int64_t n, int32_t kind) {
    vec v = vec_load(run->sum + r * run->row + c);
    if (!(kind & SUMS_ACTIVATED))
        v = vec_fma(vec_from_int(vec_bits(v)), vec_load_part(run->scale + c, n),
                    vec_load_part(run->bias + c, n));
    return with_residual(args, v, run->residual + r * run->r_row + c, n, kind);
}

/* Arguments and a run as they are at first: no store changes them. */
#define SUMS_COPIES                                                                                \
    const struct ipex_conv_args args = *all;                                                       \
    const struct sums_run run = *first

/* Of any kind, up to a vector of columns. */
static __attribute__((noinline)) void scale_vectors(const struct ipex_conv_args *all,
                                                    const struct sums_run *first, int32_t kind) {
    SUMS_COPIES;
    const vec low = vec_set(run.low), high = vec_set(run.high);
    for (int64_t r = 0; r < run.rows; r++) {
        AS_WRITTEN; /* one loop, not one of every kind */
        vec v = scaled(&args, &run, r, 0, run.n, kind);
        v = kind & (SUMS_TO_U8 | SUMS_ROUNDED)
                ? vec_max(vec_whole(v, vec_set(args.y_scale), vec_set(args.y_zero)), low)
                : vec_max(low, v);
        v = vec_min(high, v);
        if (kind & SUMS_TO_U8)
            vec_store_bytes_part(args.y_u8 + run.y + r * run.y_row, run.n, v);
        else if (kind & SUMS_IN_PLACE)
            vec_store(run.sum + r * run.row, v);
        else
            vec_store_part(args.y + run.y + r * run.y_row, run.n, v);
    }
}

/* Rows of them: of two the last may be made twice. */
enum { SUMS_ROWS = 4 * LANES / SUMS_COLUMNS };

static inline __attribute__((always_inline)) vec_int whole(const struct ipex_conv_args *args,
                                                           const struct sums_run *run, int64_t r,
                                                           int64_t c, int32_t kind) {
    const vec v = scaled(args, run, r, c, LANES, kind);
    return vec_int_round(kind & SUMS_MIDDLE ? v : vec_min(vec_set(SUMS_MOST), v));
}

static inline __attribute__((always_inline)) void
scale_fours(const struct ipex_conv_args *all, const struct sums_run *first, int32_t kind) {
    SUMS_COPIES;
    const struct vec_byte_range range =
        vec_byte_range((int16_t)args.y_zero, (uint8_t)run.low, (uint8_t)run.high);
    uint8_t *const y = args.y_u8 + run.y;
#define WHOLE(r, c) whole(&args, &run, r, c, kind)
    for (int64_t r = 0; r < run.rows; r += SUMS_ROWS) {
        AS_WRITTEN; /* one loop, with a residual and without */
#if VEC_REGISTERS == 32
        const int64_t next = ipex_smaller(r + 1, run.rows - 1);
        vec_store_two_rows(y + r * run.y_row, y + next * run.y_row, WHOLE(r, 0), WHOLE(r, LANES),
                           WHOLE(next, 0), WHOLE(next, LANES), range);
#else
        vec_store_row(y + r * run.y_row, WHOLE(r, 0), WHOLE(r, LANES), WHOLE(r, 2 * LANES),
                      WHOLE(r, 3 * LANES), range);
#endif
    }
#undef WHOLE
}

/* False: they are of none of the usual kinds. */
static __attribute__((noinline)) bool scale_columns(const struct ipex_conv_args *args,
                                                    const struct sums_run *run, int32_t kind) {
    if (kind == (SUMS_TO_U8 | SUMS_UNITS))
        scale_fours(args, run, SUMS_UNITS);
    else if ((kind & ~SUMS_RESIDUAL_U8) == (SUMS_TO_U8 | SUMS_UNITS | SUMS_MIDDLE))
        scale_fours(args, run, SUMS_UNITS | SUMS_MIDDLE | (kind & SUMS_RESIDUAL_U8));
    else
        return false;
    return true;
}

static void scale_run(const struct ipex_conv_args *args, struct sums_run *run, int32_t kind) {
    while (run->n > 0) {
        int64_t done = SUMS_COLUMNS;
        if (run->n < SUMS_COLUMNS || !scale_columns(args, run, kind)) {
            done = LANES;
            scale_vectors(args, run, kind);
        }
        run->n -= done;
        run->sum += done;
        run->scale += done;
        run->bias += done;
        run->y += done;
        run->residual += done;
    }
}

static __attribute__((noinline)) void scale_rows(const struct ipex_conv_args *args,
                                                 const struct sums *s, struct sums_bounds bounds,
                                                 int32_t kind) {
    const int64_t half = (s->rows + 1) / 2;
    const bool one_line = s->y_half == half * s->y_row &&
                          (s->r_half == half * s->r_row || !(args->residual_u8 || args->residual));
    const int64_t at_once = one_line ? s->rows : half;
    for (int64_t r = 0; r < s->rows; r += at_once) {
        struct sums_run run = {
            .rows = ipex_smaller(at_once, s->rows - r),
            .n = s->columns,
            .low = bounds.low,
            .high = bounds.high,
            .sum = s->sum + r * s->row,
            .scale = args->scale + s->column,
            .bias = args->bias + s->column,
            .y = s->y + (r > 0 ? s->y_half : 0),
            .residual = s->residual + (r > 0 ? s->r_half : 0),
            .row = s->row,
            .y_row = s->y_row,
            .r_row = s->r_row,
        };
        scale_run(args, &run, kind);
    }
}

/* Where an activation is no clamp, its arguments are scaled in place before. */
void IPEX_LEVEL(scale_sums)(const struct ipex_conv_args *args, const struct sums *s) {
    const float inf = __builtin_inff();
    const int32_t kind = (args->m_scale != 0.0f ? SUMS_MIDDLE : 0) |
                         (args->residual_u8 ? SUMS_RESIDUAL_U8 : 0) |
                         (args->residual ? SUMS_RESIDUAL : 0);
    const int32_t to = args->y_u8 ? SUMS_TO_U8 : args->y_scale != 0.0f ? SUMS_ROUNDED : 0;
    const int32_t units = s->bounds.units ? SUMS_UNITS : 0;
    if (ipex_act_is_clamp(args->act)) {
        scale_rows(args, s, s->bounds, kind | to | units);
        return;
    }
    scale_rows(args, s, (struct sums_bounds){.low = -inf, .high = inf}, kind | SUMS_IN_PLACE);
    const struct ipex_act_rows all =
        ipex_act_rows(s->sum, s->rows, s->columns, s->row, args->act, args->act_a, args->act_b);
    IPEX_LEVEL(activate)(&all);
    scale_rows(args, s, s->bounds, SUMS_ACTIVATED | to);
}

#endif
