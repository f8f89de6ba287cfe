/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear with AVX2 and FMA: register blocks of MR pixels x NP panels of 16 columns,
 * two accumulators per pixel and panel. 4 to 6 rows take one panel (at most 12 accumulators, two
 * weights, one broadcast: 15 of 16 registers), fewer rows take more panels, so that at least 8
 * chains are in flight. kernels/x86/conv_walk.h brings the blocks their work.
 * The includer says what one step along K is, as for conv_blocks_avx512.h.
 *
 * A cut last panel is computed in a tile on the stack and its columns are copied: masked stores
 * cost some CPUs 20 cycles. */
#ifndef IPEX_KERNELS_X86_CONV_BLOCKS_AVX2_H
#define IPEX_KERNELS_X86_CONV_BLOCKS_AVX2_H

#include "kernels/x86/conv_walk.h"

#ifdef CONV_SMALLER_BLOCKS /* widening takes registers */
enum { MAX_ROWS = 5, MAX_ROWS_2 = 2, MAX_PANELS = 4 };
#else
enum { MAX_ROWS = 6, MAX_ROWS_2 = 3, MAX_PANELS = 4 };
#endif

/* Half panels: COLS_n(X, r) is X for row r and half panels 0 to 2 n - 1, HALVES_n(X) is X for each
 * half panel. */
#define COLS_1(X, r) X(r, 0) X(r, 1)
#define COLS_2(X, r) COLS_1(X, r) X(r, 2) X(r, 3)
#define COLS_4(X, r) COLS_2(X, r) X(r, 4) X(r, 5) X(r, 6) X(r, 7)

/* All rows start from the same bias; only a chain that was parked has rows of its own. */
#define INIT(r, c)   __m256 acc##r##_##c = _mm256_loadu_ps(i0 + LANES * c);
#define RESUME(r, c) acc##r##_##c = _mm256_loadu_ps(AT(i0, i1, i_row, r) + LANES * c);
#define RESIDUAL(r, c)                                                                             \
    acc##r##_##c = _mm256_add_ps(acc##r##_##c, _mm256_loadu_ps(AT(r0, r1, r_row, r) + LANES * c));
#define STORE(r, c)                                                                                \
    _mm256_storeu_ps(AT(y0, y1, y_row, r) + LANES * c,                                             \
                     _mm256_min_ps(hi, _mm256_max_ps(lo, acc##r##_##c)));
#define WEIGHT(c) W_AT(w + (c / 2) * w_panel + (c % 2) * LANES)

#define INIT_ROW_1(r)     COLS_1(INIT, r)
#define RESUME_ROW_1(r)   COLS_1(RESUME, r)
#define INIT_ROW_2(r)     COLS_2(INIT, r)
#define RESUME_ROW_2(r)   COLS_2(RESUME, r)
#define INIT_ROW_4(r)     COLS_4(INIT, r)
#define RESUME_ROW_4(r)   COLS_4(RESUME, r)
#define RESIDUAL_ROW_1(r) COLS_1(RESIDUAL, r)
#define RESIDUAL_ROW_2(r) COLS_2(RESIDUAL, r)
#define RESIDUAL_ROW_4(r) COLS_4(RESIDUAL, r)
#define STORE_ROW_1(r)    COLS_1(STORE, r)
#define STORE_ROW_2(r)    COLS_2(STORE, r)
#define STORE_ROW_4(r)    COLS_4(STORE, r)

/* One step of K. By rows: one broadcast at a time, weights of one panel in registers. By columns:
 * one weight at a time, broadcasts of up to three rows in registers. */
#define BY_ROWS(MR, NP)                                                                            \
    const __m256 b0 = WEIGHT(0), b1 = WEIGHT(1);                                                   \
    prefetch(w, ahead);                                                                            \
    ROWS_##MR(MULTIPLY_ROW)
#define MULTIPLY_ROW(r)                                                                            \
    {                                                                                              \
        const __m256 a = X_AT(AT(a0, a1, x_row, r));                                               \
        acc##r##_0 = PRODUCT(a, b0, acc##r##_0);                                                   \
        acc##r##_1 = PRODUCT(a, b1, acc##r##_1);                                                   \
    }
#define BY_COLUMNS(MR, NP) ROWS_##MR(BROADCAST) HALVES_##NP(MULTIPLY_HALF, MR)
#define BROADCAST(r)       const __m256 v##r = X_AT(AT(a0, a1, x_row, r));
#define MULTIPLY_HALF(c, MR)                                                                       \
    {                                                                                              \
        const __m256 b_c = WEIGHT(c);                                                              \
        MULTIPLY_##MR(c)                                                                           \
    }
#define MULTIPLY_1(c)   acc0_##c = PRODUCT(v0, b_c, acc0_##c);
#define MULTIPLY_2(c)   MULTIPLY_1(c) acc1_##c = PRODUCT(v1, b_c, acc1_##c);
#define MULTIPLY_3(c)   MULTIPLY_2(c) acc2_##c = PRODUCT(v2, b_c, acc2_##c);
#define HALVES_2(X, MR) X(0, MR) X(1, MR) X(2, MR) X(3, MR)
#define HALVES_4(X, MR) HALVES_2(X, MR) X(4, MR) X(5, MR) X(6, MR) X(7, MR)

#define BLOCK(MR, NP, STEP)                                                                        \
    static void block_##MR##x##NP(const struct conv_block *b) {                                    \
        enum { HALF = (MR + 1) / 2 };                                                              \
        const float *i0 = b->init, *i1 = i0 + b->init_half;                                        \
        const int64_t i_row = b->init_row, w_panel = b->w_panel;                                   \
        const uintptr_t ahead = prefetch_distance(b, b->ahead_first);                              \
        int64_t x_row = b->x_row;                                                                  \
        (void)w_panel, (void)ahead;                                                                \
        ROWS_##MR(INIT_ROW_##NP) if (i_row) {                                                      \
            ROWS_##MR(RESUME_ROW_##NP)                                                             \
        }                                                                                          \
        const CONV_X *xs = b->x;                                                                   \
        const float *ws = b->w;                                                                    \
        int32_t tap_w = b->tap_w;                                                                  \
        for (int32_t s = b->segments; s > 0; s--) {                                                \
            const CONV_X *a0 = xs, *a1 = xs + b->x_half;                                           \
            const float *w = ws;                                                                   \
            CHAINS(MR, NP, STEP)                                                                   \
            const bool row_ends = ++tap_w == b->segments_w;                                        \
            xs += row_ends ? b->x_kh : b->x_kw;                                                    \
            ws += row_ends ? b->w_kh : b->w_kw;                                                    \
            tap_w = row_ends ? 0 : tap_w;                                                          \
        }                                                                                          \
        if (b->residual) {                                                                         \
            const float *r0 = b->residual, *r1 = r0 + b->r_half;                                   \
            const int64_t r_row = b->r_row;                                                        \
            ROWS_##MR(RESIDUAL_ROW_##NP)                                                           \
        }                                                                                          \
        const __m256 lo = _mm256_set1_ps(b->lo), hi = _mm256_set1_ps(b->hi);                       \
        float *y0 = b->y, *y1 = y0 + b->y_half;                                                    \
        const int64_t y_row = b->y_row;                                                            \
        ROWS_##MR(STORE_ROW_##NP)(void) w_panel;                                                   \
    }

BLOCK(1, 1, BY_ROWS)
BLOCK(2, 1, BY_ROWS)
BLOCK(3, 1, BY_ROWS)
BLOCK(4, 1, BY_ROWS)
BLOCK(5, 1, BY_ROWS)
BLOCK(1, 2, BY_COLUMNS)
BLOCK(2, 2, BY_COLUMNS)
BLOCK(1, 4, BY_COLUMNS)
#ifndef CONV_SMALLER_BLOCKS
BLOCK(6, 1, BY_ROWS)
BLOCK(3, 2, BY_COLUMNS)
#endif

typedef void (*block_fn)(const struct conv_block *);
static const block_fn blocks[MAX_PANELS + 1][MAX_ROWS + 1] = {
#ifdef CONV_SMALLER_BLOCKS
    [1] = {NULL, block_1x1, block_2x1, block_3x1, block_4x1, block_5x1},
    [2] = {NULL, block_1x2, block_2x2},
#else
    [1] = {NULL, block_1x1, block_2x1, block_3x1, block_4x1, block_5x1, block_6x1},
    [2] = {NULL, block_1x2, block_2x2, block_3x2},
#endif
    [4] = {NULL, block_1x4},
};

/* Policy: how many panels a block of so many rows takes, widest first. */
static const struct {
    int32_t max_rows, panels;
} policy[] = {{1, 4}, {MAX_ROWS_2, 2}, {MAX_ROWS, 1}};

static int64_t panels_for(int64_t rows, int64_t panels) {
    for (size_t i = 0;; i++)
        if (rows <= policy[i].max_rows && panels >= policy[i].panels)
            return policy[i].panels;
}

static void copy_columns(float *to, const float *from, int64_t n) {
    for (int64_t c = 0; c < n; c++)
        to[c] = from[c];
}

/* Fills a tile of the stack with the columns of `from` that exist. */
static void gather(float *tile, const float *from, int64_t stride, int64_t half, int64_t rows,
                   int64_t n) {
    for (int64_t r = 0; r < rows; r++)
        copy_columns(tile + r * IPEX_PANEL, from + row_at(rows, stride, half, r), n);
}

/* The last panel, of fewer than 16 columns. */
static void run_cut(const struct conv_block *b, int64_t rows) {
    _Alignas(32) float init[MAX_ROWS * IPEX_PANEL] = {0}, residual[MAX_ROWS * IPEX_PANEL] = {0};
    _Alignas(32) float y[MAX_ROWS * IPEX_PANEL];
    const int64_t half = (rows + 1) / 2 * IPEX_PANEL;
    struct conv_block cut = *b;
    gather(init, b->init, b->init_row, b->init_half, rows, b->columns);
    cut.init = init;
    cut.init_row = cut.y_row = cut.r_row = IPEX_PANEL;
    cut.init_half = cut.y_half = cut.r_half = half;
    if (b->residual) {
        gather(residual, b->residual, b->r_row, b->r_half, rows, b->columns);
        cut.residual = residual;
    }
    cut.y = y;
    blocks[1][rows](&cut);
    for (int64_t r = 0; r < rows; r++)
        copy_columns(b->y + row_at(rows, b->y_row, b->y_half, r), y + r * IPEX_PANEL, b->columns);
}

static void run(const struct conv_block *b, int64_t rows, int64_t panels) {
    if (b->columns == IPEX_PANEL) {
        blocks[panels][rows](b);
        return;
    }
    struct conv_block one = *b;
    one.columns = IPEX_PANEL;
    for (int64_t p = 1; p < panels; p++) {
        blocks[1][rows](&one);
        one.w += one.w_panel;
        one.init += IPEX_PANEL;
        one.y += IPEX_PANEL;
        if (one.residual)
            one.residual += IPEX_PANEL;
    }
    one.columns = b->columns;
    run_cut(&one, rows);
}

static const struct conv_level level = {walk_blocks, MAX_ROWS, panels_for, run, false};

#endif
