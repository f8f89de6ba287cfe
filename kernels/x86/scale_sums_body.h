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

/* With AVX2 the products take so long that results matter little. */
enum { MANY_LOOPS = LANES == 16 };

/* LANES columns of rows of sums. */
struct sums_column {
    float *sum;
    int64_t row;
    vec scale, bias, low, high;
};

/* What bytes are cut from: the product rounded to a whole number, then the zero point. */
static inline vec vec_whole(vec v, vec scale, vec zero) {
    const vec one = vec_set(IPEX_WHOLE_NUMBERS);
    return vec_sub(vec_fma(v, scale, one), vec_sub(one, zero));
}

static inline vec vec_quantised(vec whole) {
    return vec_min(vec_set(255.0f), vec_max(whole, vec_set(0.0f))); /* of a NaN: 0 */
}

static inline __attribute__((always_inline)) void
scale_rows(const struct ipex_conv_args *args, const struct sums_column *column, int64_t rows,
           int64_t y, int64_t y_row, int64_t residual, int64_t r_row, int64_t n, int32_t kind) {
    const vec r_scale = vec_set(args->r_scale);
    const vec y_scale = vec_set(args->y_scale), y_zero = vec_set(args->y_zero);
    const vec m_scale = vec_set(args->m_scale), m_zero = vec_set(args->m_zero);
    const vec m_unit = vec_set(args->m_unit), m_shift = vec_set(args->m_shift);
    float *sum = column->sum;
    for (; rows > 0; rows--, sum += column->row, y += y_row, residual += r_row) {
        __asm__ volatile(""); /* compilers would make one loop of every kind */
        vec v = vec_fma(vec_from_int(vec_bits(vec_load(sum))), column->scale, column->bias);
        if (kind & SUMS_MIDDLE)
            v = vec_fma(vec_quantised(vec_whole(v, m_scale, m_zero)), m_unit, m_shift);
        if (kind & SUMS_RESIDUAL_U8)
            v = vec_add(v, vec_mul(vec_load_u8_part(args->residual_u8 + residual, n), r_scale));
        else if (kind & SUMS_RESIDUAL)
            v = vec_add(v, vec_mul(vec_load_part(args->residual + residual, n), r_scale));
        v = vec_min(column->high, vec_max(column->low, v));
        if (kind & SUMS_TO_U8)
            vec_store_u8_part(args->y_u8 + y, n, vec_whole(v, y_scale, y_zero));
        else if (kind & SUMS_IN_PLACE)
            vec_store(sum, v);
        else if (kind & SUMS_ROUNDED)
            vec_store_part(args->y + y, n, vec_quantised(vec_whole(v, y_scale, y_zero)));
        else
            vec_store_part(args->y + y, n, v);
    }
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
    for (int64_t c = 0; c < s->columns; c += LANES) {
        const int64_t n = s->columns - c;
        struct sums_column column = {
            .sum = s->sum + c,
            .row = s->row,
            .scale = vec_load_part(args->scale + s->column + c, n),
            .bias = vec_load_part(args->bias + s->column + c, n),
            .low = vec_set(act_low(args->act, args->act_a)),
            .high = vec_set(act_high(args->act, args->act_b)),
        };
        int64_t rows = (s->rows + 1) / 2, y = s->y + c, residual = s->residual + c;
        for (int i = 0; i < 2; i++) {
            const int32_t whole = n >= LANES ? kind : SUMS_ANY;
#define SCALE_ROWS(kind, n)                                                                        \
    scale_rows(args, &column, rows, y, s->y_row, residual, s->r_row, n, kind)
            if (whole == SUMS_TO_U8)
                SCALE_ROWS(SUMS_TO_U8, LANES);
            else if (MANY_LOOPS && whole == SUMS_ROUNDED)
                SCALE_ROWS(SUMS_ROUNDED, LANES);
            else if (MANY_LOOPS && whole == (SUMS_TO_U8 | SUMS_MIDDLE))
                SCALE_ROWS(SUMS_TO_U8 | SUMS_MIDDLE, LANES);
            else if (MANY_LOOPS && whole == (SUMS_TO_U8 | SUMS_MIDDLE | SUMS_RESIDUAL_U8))
                SCALE_ROWS(SUMS_TO_U8 | SUMS_MIDDLE | SUMS_RESIDUAL_U8, LANES);
            else
                SCALE_ROWS(kind, n);
#undef SCALE_ROWS
            column.sum += rows * s->row;
            rows = s->rows - rows;
            y = s->y + c + s->y_half;
            residual = s->residual + c + s->r_half;
        }
    }
    if (clamp)
        return;
    const struct ipex_act_rows all =
        ipex_act_rows(s->sum, s->rows, s->columns, s->row, args->act, args->act_a, args->act_b);
    IPEX_LEVEL(activate)(&all);
    store_activated(args, s);
}

#endif
