/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on u8 x and i8 weights, for levels of vectors. Register blocks leave exact
 * sums of a few pixels and panels in a stage in L1; a pass over the block before scales them, adds
 * what is to be added and stores them, as f32 or as u8. So blocks are little code, and the pass is
 * the same for all of them. The block that most pixels go through may make bytes where its sums
 * are, in registers. The includer brings a vec_*.h and says what four elements of K of MR rows and
 * NV vectors are, from a0, a1 and w on: STEP(MR, NV). */
#ifndef IPEX_KERNELS_X86_CONV_SUMS_H
#define IPEX_KERNELS_X86_CONV_SUMS_H

#include "kernels/x86/conv_bytes.h"
#include "kernels/x86/scale_sums_body.h"

#define VECS_1(X, r) X(r, 0)
#define VECS_2(X, r) VECS_1(X, r) X(r, 1)
#define VECS_3(X, r) VECS_2(X, r) X(r, 2)
#define VECS_4(X, r) VECS_3(X, r) X(r, 3)
#define VECS_8(X, r) VECS_4(X, r) X(r, 4) X(r, 5) X(r, 6) X(r, 7)

#define SUM(r, v)  vec_int sum##r##_##v = vec_int_set(0);
#define KEEP(r, v) vec_store(y + (r * ROW_VECS + v) * LANES, vec_float(sum##r##_##v));

#define SUM_ROW_1(r)  VECS_1(SUM, r)
#define SUM_ROW_2(r)  VECS_2(SUM, r)
#define SUM_ROW_3(r)  VECS_3(SUM, r)
#define SUM_ROW_4(r)  VECS_4(SUM, r)
#define SUM_ROW_8(r)  VECS_8(SUM, r)
#define KEEP_ROW_1(r) VECS_1(KEEP, r)
#define KEEP_ROW_2(r) VECS_2(KEEP, r)
#define KEEP_ROW_3(r) VECS_3(KEEP, r)
#define KEEP_ROW_4(r) VECS_4(KEEP, r)
#define KEEP_ROW_8(r) VECS_8(KEEP, r)

/* Behind a K that is no multiple of four there are zeros, in a copy of the rows' last elements that
 * the same code goes over. */
static inline __attribute__((always_inline)) void copy_last(uint32_t *to, const uint8_t *a0,
                                                            const uint8_t *a1, int64_t x_row,
                                                            int32_t rows, int32_t rest) {
    const uint8_t *at = a0;
    for (int32_t r = 0; r < rows; r++, at += x_row) {
        AS_WRITTEN;
        if (r == (rows + 1) / 2)
            at = a1;
        to[r] = last_at(at, rest);
    }
}

/* Whether b's sums become bytes in registers, of blocks that can: whole panels, scaled by 1,
 * rounded at most once before. */
static inline bool makes_bytes(const struct conv_block *b) {
    return b->makes && b->columns == IPEX_PANEL;
}

/* What scale_fours (kernels/x86/scale_sums_body.h) does, of the sums of rows r and q, of one panel
 * or two. Factors are read anew for every pair of rows: all registers hold sums. */
#define SCALED(i, r, panel)                                                                        \
    vec v##i = vec_fma(vec_from_int(sum##r##_##panel), vec_load(scale + panel * LANES),            \
                       vec_load(bias + panel * LANES))
#define MIDDLE(i, panel)                                                                           \
    v##i = vec_between(v##i, vec_set(args->m_cut[0][0]), vec_set(args->m_cut[0][1]),               \
                       vec_load(unit + panel * LANES), vec_load(shift + panel * LANES))
#define RESIDUAL(i, at) v##i = with_residual(args, v##i, at, LANES, SUMS_RESIDUAL_U8)
#define INTEGER(i)      vec_int_round(vec_min(vec_set(SUMS_MOST), v##i))
#define Y_OF(r)         AT(y0, y1, y_row, r)
#define RESIDUAL_OF(r)  AT(r0, r1, r_row, r)
#define PAIR_1(r, q)                                                                               \
    {                                                                                              \
        SCALED(0, r, 0);                                                                           \
        SCALED(1, q, 0);                                                                           \
        if (middle)                                                                                \
            MIDDLE(0, 0), MIDDLE(1, 0);                                                            \
        if (residual)                                                                              \
            RESIDUAL(0, RESIDUAL_OF(r)), RESIDUAL(1, RESIDUAL_OF(q));                              \
        vec_store_two_vectors(Y_OF(r), Y_OF(q), INTEGER(0), INTEGER(1), range);                    \
        READ_AGAIN;                                                                                \
    }
#define PAIR_2(r, q)                                                                               \
    {                                                                                              \
        SCALED(0, r, 0);                                                                           \
        SCALED(1, r, 1);                                                                           \
        SCALED(2, q, 0);                                                                           \
        SCALED(3, q, 1);                                                                           \
        if (middle)                                                                                \
            MIDDLE(0, 0), MIDDLE(1, 1), MIDDLE(2, 0), MIDDLE(3, 1);                                \
        if (residual) {                                                                            \
            RESIDUAL(0, RESIDUAL_OF(r)), RESIDUAL(1, RESIDUAL_OF(r) + LANES);                      \
            RESIDUAL(2, RESIDUAL_OF(q)), RESIDUAL(3, RESIDUAL_OF(q) + LANES);                      \
        }                                                                                          \
        vec_store_two_rows(                                                                        \
            Y_OF(r), Y_OF(q),                                                                      \
            vec_bytes_of_four(INTEGER(0), INTEGER(1), INTEGER(2), INTEGER(3), range));             \
        READ_AGAIN;                                                                                \
    }
#define PAIRS_14(X) X(0, 1) X(2, 3) X(4, 5) X(6, 7) X(8, 9) X(10, 11) X(12, 13)

/* How a block ends that can: its rows as PAIRs. Else it keeps them. */
#define MAKE_BYTES(PAIRS)                                                                          \
    if (makes_bytes(b)) {                                                                          \
        const struct ipex_conv_args *args = b->makes;                                              \
        const int64_t column = b->init - args->bias + b->column;                                   \
        const float *scale = args->scale + column, *bias = args->bias + column;                    \
        const bool middle = args->middles > 0, residual = args->residual_u8 != NULL;               \
        const float *unit = middle ? args->middle + column : scale;                                \
        const float *shift = middle ? unit + ipex_conv_middle_pitch(args) : bias;                  \
        uint8_t *y0 = args->y_u8 + b->y_at + b->column, *y1 = y0 + b->y_half;                      \
        const int64_t r0 = b->residual_at + b->column, r1 = r0 + b->r_half;                        \
        const int64_t y_row = b->y_row, r_row = b->r_row;                                          \
        const struct vec_byte_range range = vec_byte_range(                                        \
            (int16_t)args->y_zero, (uint8_t)b->bounds.low, (uint8_t)b->bounds.high);               \
        PAIRS                                                                                      \
    } else

#define SUM_BLOCK(MR, NP, NV, MAKE)                                                                \
    static __attribute__((noinline)) void sums_##MR##x##NP(const struct conv_block *b) {           \
        enum { HALF = (MR + 1) / 2, ROW_VECS = NV };                                               \
        const int64_t w_panel = b->w_panel;                                                        \
        int64_t x_row = b->x_row;                                                                  \
        const uint8_t *xs = b->x;                                                                  \
        const float *ws = b->w;                                                                    \
        int32_t tap_w = b->tap_w;                                                                  \
        uintptr_t far = (uintptr_t)b->w + b->far_first;                                            \
        const uintptr_t far_step = b->far_step;                                                    \
        (void)w_panel, (void)far, (void)far_step;                                                  \
        ROWS_##MR(SUM_ROW_##NV) for (int32_t s = b->segments; s > 0; s--) {                        \
            const uint8_t *a0 = xs, *a1 = xs + b->x_half;                                          \
            const float *w = ws;                                                                   \
            int32_t fours = b->k / 4, rest = b->k % 4;                                             \
            uint32_t last[MR];                                                                     \
            for (;;) {                                                                             \
                for (; fours > 0; fours--, a0 += 4, a1 += 4, w += IPEX_PANEL) {                    \
                    STEP(MR, NV)                                                                   \
                }                                                                                  \
                if (rest == 0)                                                                     \
                    break;                                                                         \
                copy_last(last, a0, a1, x_row, MR, rest);                                          \
                a0 = (const uint8_t *)last;                                                        \
                a1 = (const uint8_t *)(last + HALF);                                               \
                x_row = 4;                                                                         \
                fours = 1;                                                                         \
                rest = 0;                                                                          \
                __asm__("" : "+r"(fours)); /* or compilers would make it a step of its own */      \
            }                                                                                      \
            x_row = b->x_row;                                                                      \
            const bool row_ends = ++tap_w == b->segments_w;                                        \
            xs += row_ends ? b->x_kh : b->x_kw;                                                    \
            ws += row_ends ? b->w_kh : b->w_kw;                                                    \
            tap_w = row_ends ? 0 : tap_w;                                                          \
        }                                                                                          \
        MAKE {                                                                                     \
            float *y = b->y;                                                                       \
            ROWS_##MR(KEEP_ROW_##NV)                                                               \
        }                                                                                          \
    }

#endif
