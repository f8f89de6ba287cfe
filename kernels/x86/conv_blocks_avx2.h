/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear with AVX2 and FMA: register blocks of MR pixels x NP panels of 16 columns,
 * two accumulators per pixel and panel. 4 to 6 rows take one panel (at most 12 accumulators, two
 * weights, one broadcast: 15 of 16 registers), fewer rows take more panels, so that at least 8
 * chains are in flight. kernels/x86/conv_walk.h brings the blocks their work.
 * The includer says what one step along K is, as for conv_blocks_avx512.h.
 *
 * A last panel of up to 8 columns takes blocks of half a panel (NP is 1H), or together with the one
 * before blocks of one and a half (2H), 4 rows at a time, which keep as many chains in flight as 6
 * of one; a last panel of 9 to 15 columns blocks that mask what they load (1C). All store whole
 * vectors: where y has less room, into a tile on the stack, whose columns are copied. Masked stores
 * cost some CPUs 20 cycles. */
#ifndef IPEX_KERNELS_X86_CONV_BLOCKS_AVX2_H
#define IPEX_KERNELS_X86_CONV_BLOCKS_AVX2_H

#include "kernels/x86/conv_walk.h"

#ifdef CONV_SMALLER_BLOCKS /* 5 where x is widened in registers, or 6: blocks are code */
enum { MAX_ROWS = CONV_SMALLER_BLOCKS, MAX_ROWS_HALF = MAX_ROWS, MAX_ROWS_2 = 2, MAX_PANELS = 4 };
enum { JOINS_HALF = false };
#else
enum { MAX_ROWS = 6, MAX_ROWS_HALF = 12, MAX_ROWS_2 = 3, MAX_PANELS = 4 };
enum { JOINS_HALF = true };
#endif

/* Half panels: COLS_n(X, r) is X for row r and half panels 0 to 2 n - 1, HALVES_n(X) is X for each
 * half panel. */
#define COLS_1(X, r) X(r, 0) X(r, 1)
#define COLS_2(X, r) COLS_1(X, r) X(r, 2) X(r, 3)
#define COLS_4(X, r) COLS_2(X, r) X(r, 4) X(r, 5) X(r, 6) X(r, 7)
/* X##_LAST for the one that may be cut. */
#define COLS_1H(X, r) X##_LAST(r, 0)
#define COLS_1C(X, r) X(r, 0) X##_LAST(r, 1)
#define COLS_2H(X, r) X(r, 0) X(r, 1) X##_LAST(r, 2)

/* All rows start from the same bias; only a chain that was parked has rows of its own. */
#define INIT(r, c)   __m256 acc##r##_##c = _mm256_loadu_ps(i0 + LANES * c);
#define RESUME(r, c) acc##r##_##c = _mm256_loadu_ps(AT(i0, i1, i_row, r) + LANES * c);
#define RESIDUAL(r, c)                                                                             \
    acc##r##_##c = _mm256_add_ps(acc##r##_##c, _mm256_loadu_ps(AT(r0, r1, r_row, r) + LANES * c));
#define INIT_LAST(r, c)   __m256 acc##r##_##c = vec_load_masked(i0 + LANES * c, mask);
#define RESUME_LAST(r, c) acc##r##_##c = vec_load_masked(AT(i0, i1, i_row, r) + LANES * c, mask);
#define RESIDUAL_LAST(r, c)                                                                        \
    acc##r##_##c =                                                                                 \
        _mm256_add_ps(acc##r##_##c, vec_load_masked(AT(r0, r1, r_row, r) + LANES * c, mask_r));
#define STORE_LAST(r, c) STORE(r, c)
#define STORE(r, c)      _mm256_storeu_ps(AT(y0, y1, y_row, r) + LANES * c, acc##r##_##c);
#define LOW(r, c)        acc##r##_##c = _mm256_max_ps(lo, acc##r##_##c);
#define LOW_LAST(r, c)   LOW(r, c)
#define HIGH(r, c)       acc##r##_##c = _mm256_min_ps(hi, acc##r##_##c);
#define HIGH_LAST(r, c)  HIGH(r, c)
#define WEIGHT(c)        W_AT(w + (c / 2) * w_panel + (c % 2) * LANES)

#define INIT_ROW_1(r)      COLS_1(INIT, r)
#define RESUME_ROW_1(r)    COLS_1(RESUME, r)
#define INIT_ROW_2(r)      COLS_2(INIT, r)
#define RESUME_ROW_2(r)    COLS_2(RESUME, r)
#define INIT_ROW_4(r)      COLS_4(INIT, r)
#define RESUME_ROW_4(r)    COLS_4(RESUME, r)
#define RESIDUAL_ROW_1(r)  COLS_1(RESIDUAL, r)
#define RESIDUAL_ROW_2(r)  COLS_2(RESIDUAL, r)
#define RESIDUAL_ROW_4(r)  COLS_4(RESIDUAL, r)
#define STORE_ROW_1(r)     COLS_1(STORE, r)
#define STORE_ROW_2(r)     COLS_2(STORE, r)
#define STORE_ROW_4(r)     COLS_4(STORE, r)
#define INIT_ROW_1H(r)     COLS_1H(INIT, r)
#define RESUME_ROW_1H(r)   COLS_1H(RESUME, r)
#define RESIDUAL_ROW_1H(r) COLS_1H(RESIDUAL, r)
#define STORE_ROW_1H(r)    COLS_1H(STORE, r)
#define INIT_ROW_1C(r)     COLS_1C(INIT, r)
#define RESUME_ROW_1C(r)   COLS_1C(RESUME, r)
#define RESIDUAL_ROW_1C(r) COLS_1C(RESIDUAL, r)
#define STORE_ROW_1C(r)    COLS_1C(STORE, r)
#define INIT_ROW_2H(r)     COLS_2H(INIT, r)
#define RESUME_ROW_2H(r)   COLS_2H(RESUME, r)
#define RESIDUAL_ROW_2H(r) COLS_2H(RESIDUAL, r)
#define STORE_ROW_2H(r)    COLS_2H(STORE, r)

#define LOW_ROW_1(r)   COLS_1(LOW, r)
#define LOW_ROW_2(r)   COLS_2(LOW, r)
#define LOW_ROW_4(r)   COLS_4(LOW, r)
#define LOW_ROW_1H(r)  COLS_1H(LOW, r)
#define LOW_ROW_1C(r)  COLS_1C(LOW, r)
#define LOW_ROW_2H(r)  COLS_2H(LOW, r)
#define HIGH_ROW_1(r)  COLS_1(HIGH, r)
#define HIGH_ROW_2(r)  COLS_2(HIGH, r)
#define HIGH_ROW_4(r)  COLS_4(HIGH, r)
#define HIGH_ROW_1H(r) COLS_1H(HIGH, r)
#define HIGH_ROW_1C(r) COLS_1C(HIGH, r)
#define HIGH_ROW_2H(r) COLS_2H(HIGH, r)

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
#define BY_ROWS_2H(MR, NP)                                                                         \
    const __m256 b0 = WEIGHT(0), b1 = WEIGHT(1), b2 = WEIGHT(2);                                   \
    prefetch(w, ahead);                                                                            \
    ROWS_##MR(MULTIPLY_ROW_2H)
#define MULTIPLY_ROW_2H(r)                                                                         \
    {                                                                                              \
        const __m256 a = X_AT(AT(a0, a1, x_row, r));                                               \
        acc##r##_0 = PRODUCT(a, b0, acc##r##_0);                                                   \
        acc##r##_1 = PRODUCT(a, b1, acc##r##_1);                                                   \
        acc##r##_2 = PRODUCT(a, b2, acc##r##_2);                                                   \
    }
#define BY_ROWS_OF_HALVES(MR, NP)                                                                  \
    const __m256 b0 = WEIGHT(0);                                                                   \
    prefetch(w, ahead);                                                                            \
    ROWS_##MR(MULTIPLY_ROW_OF_HALVES)
#define MULTIPLY_ROW_OF_HALVES(r) acc##r##_0 = PRODUCT(X_AT(AT(a0, a1, x_row, r)), b0, acc##r##_0);
#define BY_COLUMNS(MR, NP)        ROWS_##MR(BROADCAST) HALVES_##NP(MULTIPLY_HALF, MR)
#define BROADCAST(r)              const __m256 v##r = X_AT(AT(a0, a1, x_row, r));
#define MULTIPLY_HALF(c, MR)                                                                       \
    {                                                                                              \
        __m256 b_c = WEIGHT(c);                                                                    \
        if (MR == 2) /* gcc would load it anew for either row */                                   \
            __asm__("" : "+x"(b_c));                                                               \
        MULTIPLY_##MR(c)                                                                           \
    }
#define MULTIPLY_1(c)   acc0_##c = PRODUCT(v0, b_c, acc0_##c);
#define MULTIPLY_2(c)   MULTIPLY_1(c) acc1_##c = PRODUCT(v1, b_c, acc1_##c);
#define MULTIPLY_3(c)   MULTIPLY_2(c) acc2_##c = PRODUCT(v2, b_c, acc2_##c);
#define HALVES_2(X, MR) X(0, MR) X(1, MR) X(2, MR) X(3, MR)
#define HALVES_4(X, MR) HALVES_2(X, MR) X(4, MR) X(5, MR) X(6, MR) X(7, MR)

/* Of the last vector of a panel; made anew where it is needed, or it would take one of 16 registers
 * all along. */
static inline vec_mask mask_of_last(const struct conv_block *b) {
    int32_t columns = b->columns;
    __asm__ volatile("" : "+r"(columns));
    return vec_first((columns - 1) % LANES + 1);
}

#define BLOCK(MR, NP, STEP)                                                                        \
    static __attribute__((noinline)) void block_##MR##x##NP(const struct conv_block *b) {          \
        enum { HALF = (MR + 1) / 2 };                                                              \
        const float *i0 = b->init, *i1 = i0 + b->init_half;                                        \
        const int64_t i_row = b->init_row, w_panel = b->w_panel;                                   \
        const uintptr_t ahead = prefetch_distance(b, b->ahead_first);                              \
        int64_t x_row = b->x_row;                                                                  \
        const vec_mask mask = mask_of_last(b);                                                     \
        (void)w_panel, (void)ahead, (void)mask;                                                    \
        ROWS_##MR(INIT_ROW_##NP) if (i_row) {                                                      \
            ROWS_##MR(RESUME_ROW_##NP)                                                             \
        }                                                                                          \
        const BLOCK_X *xs = b->x;                                                                  \
        const float *ws = b->w;                                                                    \
        int32_t tap_w = b->tap_w;                                                                  \
        for (int32_t s = b->segments; s > 0; s--) {                                                \
            const BLOCK_X *a0 = xs, *a1 = xs + b->x_half;                                          \
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
            const vec_mask mask_r = mask_of_last(b);                                               \
            (void)mask_r;                                                                          \
            ROWS_##MR(RESIDUAL_ROW_##NP)                                                           \
        }                                                                                          \
        CLAMP(ROWS_##MR(LOW_ROW_##NP), ROWS_##MR(HIGH_ROW_##NP))                                   \
        float *y0 = b->y, *y1 = y0 + b->y_half;                                                    \
        const int64_t y_row = b->y_row;                                                            \
        ROWS_##MR(STORE_ROW_##NP)(void) w_panel;                                                   \
    }

#define BLOCKS_1_TO_5(X, NP, STEP)                                                                 \
    X(1, NP, STEP) X(2, NP, STEP) X(3, NP, STEP) X(4, NP, STEP) X(5, NP, STEP)
#define BLOCKS_1_TO_6(X, NP, STEP) BLOCKS_1_TO_5(X, NP, STEP) X(6, NP, STEP)
#ifdef CONV_SMALLER_BLOCKS
#define BLOCKS_1_TO(most, X, NP, STEP)  BLOCKS_1_TO_##most(X, NP, STEP)
#define BLOCKS_UP_TO(most, X, NP, STEP) BLOCKS_1_TO(most, X, NP, STEP)
#define BLOCKS_OF_1(X, NP)              BLOCKS_UP_TO(CONV_SMALLER_BLOCKS, X, NP, BY_ROWS)
#define BLOCKS_OF_2(X)                  X(1, 2, BY_COLUMNS) X(2, 2, BY_COLUMNS)
#define BLOCKS_OF_1H(X)                 BLOCKS_UP_TO(CONV_SMALLER_BLOCKS, X, 1H, BY_ROWS_OF_HALVES)
#else
#define BLOCKS_OF_1(X, NP) BLOCKS_1_TO_6(X, NP, BY_ROWS)
#define BLOCKS_OF_2(X)     X(1, 2, BY_COLUMNS) X(2, 2, BY_COLUMNS) X(3, 2, BY_COLUMNS)
#define BLOCKS_OF_1H(X)                                                                            \
    BLOCKS_1_TO_6(X, 1H, BY_ROWS_OF_HALVES)                                                        \
    X(7, 1H, BY_ROWS_OF_HALVES)                                                                    \
    X(8, 1H, BY_ROWS_OF_HALVES)                                                                    \
    X(9, 1H, BY_ROWS_OF_HALVES)                                                                    \
    X(10, 1H, BY_ROWS_OF_HALVES) X(11, 1H, BY_ROWS_OF_HALVES) X(12, 1H, BY_ROWS_OF_HALVES)
#define BLOCKS_OF_2H(X)                                                                            \
    X(1, 2H, BY_ROWS_2H) X(2, 2H, BY_ROWS_2H) X(3, 2H, BY_ROWS_2H) X(4, 2H, BY_ROWS_2H)
#endif
BLOCKS_OF_1(BLOCK, 1)
BLOCKS_OF_2(BLOCK)
BLOCK(1, 4, BY_COLUMNS)
BLOCKS_OF_1H(BLOCK)
BLOCKS_OF_1(BLOCK, 1C)
#ifndef CONV_SMALLER_BLOCKS
BLOCKS_OF_2H(BLOCK)
#endif

/* Which block: that of so many panels, and of rows beside. */
enum { BLOCKS_1 = 8, BLOCKS_2 = 16, BLOCKS_4 = 32 };
enum { BLOCKS_1H = BLOCKS_4 + 4, BLOCKS_1C = BLOCKS_1H + 12, BLOCKS_2H = BLOCKS_1C + 8 };

#define CASE(MR, NP, STEP)                                                                         \
    case BLOCKS_##NP + MR:                                                                         \
        block_##MR##x##NP(b);                                                                      \
        return;
static __attribute__((noinline)) void run_block(const struct conv_block *b, int64_t which) {
    switch (which) {
        BLOCKS_OF_1(CASE, 1)
        BLOCKS_OF_2(CASE)
        CASE(1, 4, )
        BLOCKS_OF_1H(CASE)
        BLOCKS_OF_1(CASE, 1C)
#ifndef CONV_SMALLER_BLOCKS
        BLOCKS_OF_2H(CASE)
#endif
    default:
        __builtin_unreachable();
    }
}

/* Policy: how many panels, all of them whole, a block of so many rows takes, widest first. */
static const struct {
    int32_t max_rows, panels;
} policy[] = {{1, 4}, {MAX_ROWS_2, 2}, {MAX_ROWS_HALF, 1}};

static int64_t panels_for(int64_t rows, int64_t panels, int64_t columns) {
    if (JOINS_HALF && panels == 2 && columns <= IPEX_PANEL + LANES)
        return 2; /* run_2h */
    for (size_t i = 0;; i++)
        if (rows <= policy[i].max_rows && panels >= policy[i].panels &&
            (policy[i].panels == 1 || columns >= policy[i].panels * IPEX_PANEL))
            return policy[i].panels;
}

/* 1 to 23 columns. */
static void copy_columns(float *to, const float *from, int64_t n) {
    for (; n >= LANES; n -= LANES, to += LANES, from += LANES)
        vec_store(to, vec_load(from));
    for (; n > 0; n--)
        *to++ = *from++;
}

/* b's blocks of so many columns, the last vector cut. b changes in place: a copy of what has just
 * been written in parts would wait until these have left the store buffer, behind all of y. */
static void run_cut(struct conv_block *b, int64_t which, int64_t rows, int64_t columns) {
    if (columns % LANES == 0) {
        run_blocks(b, run_block, which);
        return;
    }
    float tile[MAX_ROWS_HALF * IPEX_PANEL]; /* 4 rows of two panels fit too */
    const int64_t row = columns > IPEX_PANEL ? 2 * IPEX_PANEL : IPEX_PANEL;
    const int64_t y_row = b->y_row, y_half = b->y_half;
    float *y = b->y;
    b->y_row = row;
    b->y_half = (rows + 1) / 2 * row;
    for (int32_t left = b->count;; left--, to_next_block(b)) {
        b->y = tile;
        run_block(b, which);
        for (int64_t r = 0; r < rows; r++)
            copy_columns(y + row_at(rows, y_row, y_half, r), tile + r * row, columns);
        if (left <= 1)
            break;
        y += b->y_next;
    }
    b->y = y;
    b->y_row = y_row;
    b->y_half = y_half;
}

static void next_panel(struct conv_block *b) {
    b->w += b->w_panel;
    b->init += IPEX_PANEL;
    b->y += IPEX_PANEL;
    if (b->residual)
        b->residual += IPEX_PANEL;
}

#ifndef CONV_SMALLER_BLOCKS
/* A panel and a last one of up to 8 columns, b's last. The rows of all blocks follow each other in
 * one line: they are taken by four, and what is left of them in one block. */
static void run_2h(struct conv_block *b, int64_t rows) {
    const int32_t count = b->count;
    for (int64_t left = rows * count, each; left > 0; left = each < 4 ? 0 : left % 4) {
        each = left < 4 ? left : 4;
        const int64_t half = (each + 1) / 2;
        b->count = (int32_t)(each < 4 ? 1 : left / 4);
        b->x_half = half * b->x_row, b->x_next = each * b->x_row;
        b->init_half = half * b->init_row, b->init_next = each * b->init_row;
        b->y_half = half * b->y_row, b->y_next = each * b->y_row;
        b->r_half = half * b->r_row, b->r_next = each * b->r_row;
        run_cut(b, BLOCKS_2H + each, each, IPEX_PANEL + b->columns);
        to_next_block(b);
    }
    b->count = count;
}
#endif

static bool run(struct conv_block *b, int64_t rows, int64_t panels) {
    if (b->columns == IPEX_PANEL) {
        run_blocks(b, run_block, panels * BLOCKS_1 + rows);
        return false;
    }
#ifndef CONV_SMALLER_BLOCKS
    if (panels == 2 && b->columns <= LANES && !b->two) {
        run_2h(b, rows);
        return false;
    }
#endif
    for (int64_t p = 1; p < panels; p++, next_panel(b)) {
        struct conv_block one = *b;
        one.columns = IPEX_PANEL;
        run_blocks(&one, run_block, BLOCKS_1 + rows);
    }
    run_cut(b, (b->columns <= LANES ? BLOCKS_1H : BLOCKS_1C) + rows, rows, b->columns);
    return false;
}

enum { MAX_ROWS_3 = MAX_ROWS };
static const struct conv_level level = {
    CONV_BLOCKS,
#ifdef CONV_FEW
    .few = CONV_FEW,
    .activate = IPEX_LEVEL(activate),
#endif
};

#endif
