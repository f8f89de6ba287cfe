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
    int64_t column; /* of scale, bias and middle */
    int64_t y, residual;
    int64_t row, y_row, r_row;
};

/* What bytes are cut from: the product rounded to a whole number, then the zero point. */
static inline vec vec_whole(vec v, vec scale, vec zero) {
    const vec one = vec_set(IPEX_WHOLE_NUMBERS);
    return vec_sub(vec_fma(v, scale, one), vec_sub(one, zero));
}

/* A rounding between sums and residuals. Of a NaN: low. */
static inline vec vec_between(vec v, vec low, vec high, vec unit, vec shift) {
    return vec_fma(vec_min(high, vec_max(vec_round(v), low)), unit, shift);
}

/* v and up to n elements of the residual from there on, if kind says so. */
static inline __attribute__((always_inline)) vec
with_residual(const struct ipex_conv_args *args, vec v, int64_t residual, int64_t n, int32_t kind) {
    if (kind & SUMS_RESIDUAL_U8)
        v = vec_fma(vec_load_u8_part(args->residual_u8 + residual, n), vec_set(args->r_scale), v);
    else if (kind & SUMS_RESIDUAL)
        v = vec_fma(vec_load_part(args->residual + residual, n), vec_set(args->r_scale), v);
    return v;
}

/* n sums of row r from column c on, scaled. */
static inline __attribute__((always_inline)) vec scaled(const struct ipex_conv_args *args,
                                                        const struct sums_run *run, int64_t r,
                                                        int64_t c, int64_t n) {
    const vec sum = vec_from_int(vec_bits(vec_load(run->sum + r * run->row + c)));
    c += run->column;
    return vec_fma(sum, vec_load_part(args->scale + c, n), vec_load_part(args->bias + c, n));
}

/* Arguments and a run as they are at first: no store changes them. */
#define SUMS_COPIES                                                                                \
    const struct ipex_conv_args args = *all;                                                       \
    const struct sums_run run = *first

/* Scales sums where they are, with all roundings in between, up to a vector of columns. */
static __attribute__((noinline)) void round_between(const struct ipex_conv_args *args,
                                                    const struct sums_run *run) {
    const int64_t pitch = ipex_conv_middle_pitch(args);
    for (int64_t r = 0; r < run->rows; r++) {
        const float *unit = args->middle + run->column, *cut = args->m_cut[0];
        vec v = scaled(args, run, r, 0, run->n);
        for (int32_t l = args->middles; l > 0; l--, unit += 2 * pitch, cut += 2) {
            AS_WRITTEN;
            v = vec_between(v, vec_set(cut[0]), vec_set(cut[1]), vec_load_part(unit, run->n),
                            vec_load_part(unit + pitch, run->n));
        }
        vec_store(run->sum + r * run->row, v);
    }
}

/* Of any kind but those with roundings in between, up to a vector of columns. */
static __attribute__((noinline)) void scale_vectors(const struct ipex_conv_args *all,
                                                    const struct sums_run *first, int32_t kind) {
    SUMS_COPIES;
    const vec low = vec_set(run.low), high = vec_set(run.high);
    for (int64_t r = 0; r < run.rows; r++) {
        AS_WRITTEN; /* one loop, not one of every kind */
        vec v = kind & SUMS_ACTIVATED ? vec_load(run.sum + r * run.row)
                                      : scaled(&args, &run, r, 0, run.n);
        v = with_residual(&args, v, run.residual + r * run.r_row, run.n, kind);
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

/* Vector i of four: of SUMS_COLUMNS columns of one row or two; with AVX-512 also of up to LANES of
 * four rows. The last row may be made several times. */
enum { FOUR_ROWS = 4 * LANES / SUMS_COLUMNS, MAKES_FEW = VEC_REGISTERS == 32 };
#define FOUR_AT(i)  ((i)*LANES % SUMS_COLUMNS / LANES * across)
#define FOUR_ROW(i) ipex_smaller(r + (few ? i : (i)*LANES / SUMS_COLUMNS), run.rows - 1)
#if VEC_REGISTERS == 32
#define FOUR_LOAD(p)  vec_load_masked(p, some)
#define FOUR_BYTES(p) vec_load_u8_masked(p, some)
#else
#define FOUR_LOAD(p)  vec_load(p)
#define FOUR_BYTES(p) vec_load_u8_part(p, LANES)
#endif
#define FOUR_SCALED(i)                                                                             \
    vec_fma(vec_from_int(vec_bits(vec_load(run.sum + row##i * run.row + FOUR_AT(i)))),             \
            FOUR_LOAD(scale + FOUR_AT(i)), FOUR_LOAD(bias + FOUR_AT(i)))
#define FOUR_BETWEEN(i)                                                                            \
    v##i = vec_between(v##i, least, most, FOUR_LOAD(unit + FOUR_AT(i)),                            \
                       FOUR_LOAD(unit + pitch + FOUR_AT(i)))
#define FOUR_RESIDUAL(i)                                                                           \
    v##i = vec_fma(FOUR_BYTES(residual + row##i * run.r_row + FOUR_AT(i)), r_scale, v##i)
#define FOUR_WHOLE(i) vec_int_round(vec_min(vec_set(SUMS_MOST), v##i))
#define FOUR_Y(i)     (y + row##i * run.y_row)

static inline __attribute__((always_inline)) void scale_fours(const struct ipex_conv_args *all,
                                                              const struct sums_run *first,
                                                              int32_t kind, bool few) {
    SUMS_COPIES;
    const struct vec_byte_range range =
        vec_byte_range((int16_t)args.y_zero, (uint8_t)run.low, (uint8_t)run.high);
    uint8_t *const y = args.y_u8 + run.y;
    const int64_t across = few ? 0 : LANES;
    const vec_mask some = vec_first(few ? run.n : LANES);
    const float *const scale = args.scale + run.column, *const bias = args.bias + run.column;
    const uint8_t *const residual =
        kind & SUMS_RESIDUAL_U8 ? args.residual_u8 + run.residual : NULL;
    const vec r_scale = vec_set(args.r_scale);
    const int64_t pitch = ipex_conv_middle_pitch(&args);
    (void)some;
    const int32_t middles = kind & SUMS_MIDDLE ? args.middles : 0;
    const float *const middle = middles > 0 ? args.middle + run.column : NULL;
    for (int64_t r = 0; r < run.rows; r += few ? 4 : FOUR_ROWS) {
        AS_WRITTEN; /* one loop, with a residual and without, of few columns and of many */
        const int64_t row0 = r, row1 = FOUR_ROW(1), row2 = FOUR_ROW(2), row3 = FOUR_ROW(3);
        vec v0 = FOUR_SCALED(0), v1 = FOUR_SCALED(1), v2 = FOUR_SCALED(2), v3 = FOUR_SCALED(3);
        const float *unit = middle, *cut = all->m_cut[0];
        for (int32_t l = middles; l > 0; l--, unit += 2 * pitch, cut += 2) {
            __asm__("" : "+r"(cut)); /* or compilers would write it out as often as it may run */
            const vec least = vec_set(cut[0]), most = vec_set(cut[1]);
            FOUR_BETWEEN(0), FOUR_BETWEEN(1), FOUR_BETWEEN(2), FOUR_BETWEEN(3);
        }
        if (residual)
            FOUR_RESIDUAL(0), FOUR_RESIDUAL(1), FOUR_RESIDUAL(2), FOUR_RESIDUAL(3);
#if VEC_REGISTERS == 32
        const vec_int bytes =
            vec_bytes_of_four(FOUR_WHOLE(0), FOUR_WHOLE(1), FOUR_WHOLE(2), FOUR_WHOLE(3), range);
        if (few)
            vec_store_four_rows(FOUR_Y(0), FOUR_Y(1), FOUR_Y(2), FOUR_Y(3), some, bytes);
        else
            vec_store_two_rows(FOUR_Y(0), FOUR_Y(2), bytes);
#else
        vec_store_row(FOUR_Y(0), FOUR_WHOLE(0), FOUR_WHOLE(1), FOUR_WHOLE(2), FOUR_WHOLE(3), range);
#endif
    }
}

/* Bytes of 1: nearly all are these, and most of them are nothing else. */
static __attribute__((noinline)) void scale_columns(const struct ipex_conv_args *args,
                                                    const struct sums_run *run, int32_t kind) {
    const bool few = MAKES_FEW && run->n < SUMS_COLUMNS;
    kind &= SUMS_RESIDUAL_U8 | SUMS_MIDDLE;
    if (few || kind)
        scale_fours(args, run, kind, few);
    else
        scale_fours(args, run, 0, false);
}

static void scale_run(const struct ipex_conv_args *args, struct sums_run *run, int32_t kind) {
    const int32_t unusual = kind & ~(SUMS_RESIDUAL_U8 | SUMS_MIDDLE);
    const bool bytes = unusual == (SUMS_TO_U8 | SUMS_UNITS);
    while (run->n > 0) {
        const bool many = run->n >= SUMS_COLUMNS, columns = bytes && (MAKES_FEW || many);
        const int64_t done = columns && many ? SUMS_COLUMNS : LANES;
        int32_t now = kind;
        __asm__("" : "+r"(now)); /* one loop, not one of every kind */
        if (!columns && now & SUMS_MIDDLE) {
            round_between(args, run);
            now |= SUMS_ACTIVATED;
        }
        (columns ? scale_columns : scale_vectors)(args, run, now);
        run->n -= done;
        run->sum += done;
        run->column += done;
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
            .column = s->column,
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
    const int32_t kind = (args->middles > 0 ? SUMS_MIDDLE : 0) |
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
