/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear with AVX-512: register blocks of MR pixels x NR panels of 16 columns, one
 * accumulator per pixel and panel, x read in place through broadcasts, weights streamed from their
 * tiles. Every output is the same chain of fma as in the reference; cutting K into parts only parks
 * the chain in y. kernels/x86/conv_walk.h, which is to be included first, brings the blocks their
 * work. The includer says what one step along K is:
 *   OPERAND          type of a row's and a panel's operand of a product
 *   X_AT(p), W_AT(p) the operand at p, of a row and of a panel
 *   PRODUCT(a, b, c) c with the product of a and b added
 *   CHAINS(MR, NR)   all steps of one segment, from a0, a1 and w on: STEP(MR, NR) is one of them
 * and, where it has them, the same for vectors of 256 bits: OPERAND_HALF, X_AT_HALF, W_AT_HALF and
 * PRODUCT_HALF. A last panel of at most 8 columns takes those, which cost half where 512 bits are
 * two passes (AMD Zen 4) and no more elsewhere, of 7 rows or more: NR is then 1H. */
#ifndef IPEX_KERNELS_X86_CONV_BLOCKS_AVX512_H
#define IPEX_KERNELS_X86_CONV_BLOCKS_AVX512_H

#include "kernels/x86/conv_walk.h"

/* Blocks are code: kernels on bf16 do without those of three panels, and those that widen
 * (CONV_SMALLER_BLOCKS: the weights alone) without those of four. More than 7 rows of one panel go
 * in two halves there, or, where the instruction that multiplies pairs takes longer than 7 chains
 * hide (CONV_STORES_BF16), as 14 rows, some of them twice. */
enum { MAX_ROWS = 14, MAX_ROWS_HALF = MAX_ROWS, HALF_ROWS = MAX_ROWS / 2 };
#ifdef CONV_STORES_BF16
enum { ONE_PANEL_OVERLAPS = true };
#else
enum { ONE_PANEL_OVERLAPS = false };
#endif
/* WIDEST_ROWS: rows of the blocks of most panels, which fetch nothing ahead. */
#if defined(CONV_WIDENS) || defined(CONV_SMALLER_BLOCKS)
enum { MAX_ROWS_3 = MAX_ROWS, WIDEST_ROWS = 2 };
#elif CONV_K_PER_ROW == 2
enum { MAX_ROWS_3 = MAX_ROWS, WIDEST_ROWS = 6 };
#else
enum { MAX_ROWS_3 = 9, WIDEST_ROWS = 6 };
#endif

/* Blocks that fetch the next weights, where kernels do (CONV_FETCHES_NEXT): of two panels, and of
 * at least so many rows. */
#define FETCHES_1  false
#define FETCHES_2  true
#define FETCHES_3  false
#define FETCHES_4  false
#define FETCHES_8  false
#define FETCHES_1H false
enum { FETCH_ROWS = 7 };
#define FETCH_BEGIN                                                                                \
    uintptr_t far = (uintptr_t)w + b->far_first;                                                   \
    const uintptr_t far_step = b->far_step;                                                        \
    (void)far, (void)far_step;
/* Where words of w are pairs of K: a line for either panel with every pair. */
#define FETCH_PAIR(MR, NR)                                                                         \
    if (FETCHES_##NR && MR >= FETCH_ROWS) {                                                        \
        prefetch_at(far);                                                                          \
        prefetch_at(far + (uintptr_t)w_panel * sizeof(float));                                     \
        far += far_step;                                                                           \
    }

/* From how many rows on blocks apply hard_swish, and its affine form, before they store, where
 * kernels have them (CONV_ACTS). In registers it takes 2 cycles a vector, a pass over y 5; for
 * blocks of three panels and eight it is not worth their code. Nor is leaky_relu for others than
 * those of two panels. */
enum { ACT_NEVER = MAX_ROWS + 1 };
#ifdef CONV_ACTS
enum { ACT_1 = 7, ACT_2 = 7, ACT_4 = 1, ACT_1H = 7 };
#else
enum { ACT_1 = ACT_NEVER, ACT_2 = ACT_NEVER, ACT_4 = ACT_NEVER, ACT_1H = ACT_NEVER };
#endif
enum { ACT_3 = ACT_NEVER, ACT_8 = ACT_NEVER };
#define ACTIVATE(MR, NR)                                                                           \
    if (MR >= ACT_##NR && b->act != IPEX_ACT_none) {                                               \
        if (b->act == IPEX_ACT_leaky_relu) {                                                       \
            LEAKY_##NR(MR)                                                                         \
        } else {                                                                                   \
            ROWS_##MR(SWISH_ROW_##NR)                                                              \
        }                                                                                          \
        if (b->act == IPEX_ACT_hard_swish_affine) {                                                \
            const __m512 scale = _mm512_set1_ps(b->act_a), shift = _mm512_set1_ps(b->act_b);       \
            ROWS_##MR(AFFINE_ROW_##NR)                                                             \
        }                                                                                          \
    }
#define LEAKY_1(MR)
#define LEAKY_2(MR)                                                                                \
    const vec slope = vec_set(b->act_a);                                                           \
    ROWS_##MR(LEAKY_ROW_2)
#define LEAKY_3(MR)
#define LEAKY_4(MR)
#define LEAKY_8(MR)
#define LEAKY_1H(MR)
#define LEAKY(r, c)      acc##r##_##c = vec_max(vec_mul(slope, acc##r##_##c), acc##r##_##c);
#define LEAKY_LAST(r, c) LEAKY(r, c)
#define LEAKY_ROW_2(r)   COLS_2(LEAKY, r)

/* COLS_n(X, r) does X(r, panel) for whole panels and X##_LAST for the one that may be cut. */
#define COLS_1(X, r)  X##_LAST(r, 0)
#define COLS_2(X, r)  X(r, 0) X##_LAST(r, 1)
#define COLS_3(X, r)  X(r, 0) X(r, 1) X##_LAST(r, 2)
#define COLS_4(X, r)  X(r, 0) X(r, 1) X(r, 2) X##_LAST(r, 3)
#define COLS_8(X, r)  X(r, 0) X(r, 1) X(r, 2) X(r, 3) X(r, 4) X(r, 5) X(r, 6) X##_LAST(r, 7)
#define COLS_1H(X, r) X##_HALF(r, 0)

#define SWISH(r, c)      acc##r##_##c = vec_hard_swish(acc##r##_##c);
#define SWISH_LAST(r, c) SWISH(r, c)
#define SWISH_HALF(r, c)                                                                           \
    acc##r##_##c = _mm512_castps512_ps256(vec_hard_swish(_mm512_castps256_ps512(acc##r##_##c)));
#define AFFINE(r, c)      acc##r##_##c = _mm512_fmadd_ps(scale, acc##r##_##c, shift);
#define AFFINE_LAST(r, c) AFFINE(r, c)
#define AFFINE_HALF(r, c)                                                                          \
    acc##r##_##c = _mm256_fmadd_ps(_mm512_castps512_ps256(scale), acc##r##_##c,                    \
                                   _mm512_castps512_ps256(shift));
/* From the columns of a block's first panel to those of panel c: of more than two they may lie
 * apart (CONV_PANELS_APART). */
#ifdef CONV_PANELS_APART
#define BETWEEN_PANELS b->panel_columns
#else
#define BETWEEN_PANELS LANES
#endif
#define BETWEEN_PANELS_1  LANES
#define BETWEEN_PANELS_2  LANES
#define BETWEEN_PANELS_3  BETWEEN_PANELS
#define BETWEEN_PANELS_4  BETWEEN_PANELS
#define BETWEEN_PANELS_8  LANES
#define BETWEEN_PANELS_1H LANES
/* Whether it is read anew behind the loop, which has no register for it. */
#define ANEW_1  false
#define ANEW_2  false
#define ANEW_3  true
#define ANEW_4  false
#define ANEW_8  false
#define ANEW_1H false
/* All rows start from the same bias; only a chain that was parked has rows of its own. */
#define INIT(r, c)      __m512 acc##r##_##c = _mm512_loadu_ps(i0 + columns * c);
#define INIT_LAST(r, c) __m512 acc##r##_##c = _mm512_maskz_loadu_ps(mask, i0 + columns * c);
#define INIT_HALF(r, c)                                                                            \
    __m256 acc##r##_##c = _mm256_maskz_loadu_ps((__mmask8)mask, i0 + columns * c);
#define RESUME(r, c) acc##r##_##c = _mm512_loadu_ps(AT(i0, i1, i_row, r) + columns * c);
#define RESUME_LAST(r, c)                                                                          \
    acc##r##_##c = _mm512_maskz_loadu_ps(mask, AT(i0, i1, i_row, r) + columns * c);
#define RESUME_HALF(r, c)                                                                          \
    acc##r##_##c = _mm256_maskz_loadu_ps((__mmask8)mask, AT(i0, i1, i_row, r) + columns * c);
#define MULTIPLY(r, c)      acc##r##_##c = PRODUCT(a, b##c, acc##r##_##c);
#define MULTIPLY_LAST(r, c) MULTIPLY(r, c)
#define MULTIPLY_HALF(r, c)                                                                        \
    acc##r##_##c = PRODUCT_HALF(_mm512_castps512_ps256(a), b##c, acc##r##_##c);
#define RESIDUAL(r, c)                                                                             \
    acc##r##_##c = _mm512_add_ps(acc##r##_##c, _mm512_loadu_ps(AT(r0, r1, r_row, r) + columns * c));
#define RESIDUAL_LAST(r, c)                                                                        \
    acc##r##_##c = _mm512_add_ps(acc##r##_##c,                                                     \
                                 _mm512_maskz_loadu_ps(mask, AT(r0, r1, r_row, r) + columns * c));
#define RESIDUAL_HALF(r, c)                                                                        \
    acc##r##_##c = _mm256_add_ps(                                                                  \
        acc##r##_##c, _mm256_maskz_loadu_ps((__mmask8)mask, AT(r0, r1, r_row, r) + columns * c));
#define LOW(r, c)       acc##r##_##c = _mm512_max_ps(lo, acc##r##_##c);
#define LOW_LAST(r, c)  LOW(r, c)
#define LOW_HALF(r, c)  acc##r##_##c = _mm256_max_ps(_mm512_castps512_ps256(lo), acc##r##_##c);
#define HIGH(r, c)      acc##r##_##c = _mm512_min_ps(hi, acc##r##_##c);
#define HIGH_LAST(r, c) HIGH(r, c)
#define HIGH_HALF(r, c) acc##r##_##c = _mm256_min_ps(_mm512_castps512_ps256(hi), acc##r##_##c);
#define STORE(r, c)     _mm512_storeu_ps(AT(y0, y1, y_row, r) + columns * c, acc##r##_##c);
#define STORE_LAST(r, c)                                                                           \
    _mm512_mask_storeu_ps(AT(y0, y1, y_row, r) + columns * c, mask, acc##r##_##c);
#define STORE_HALF(r, c)                                                                           \
    _mm256_mask_storeu_ps(AT(y0, y1, y_row, r) + columns * c, (__mmask8)mask, acc##r##_##c);

/* Where the level rounds as it stores: to bf16, from the blocks that most are (see blocks_round).
 */
#ifdef CONV_STORES_BF16
#define STORE_BF16(r, c) vec_store_bf16(AT(h0, h1, y_row, r) + LANES * c, acc##r##_##c);
#define STORE_BF16_LAST(r, c)                                                                      \
    _mm256_mask_storeu_epi16(AT(h0, h1, y_row, r) + LANES * c, mask, vec_bf16(acc##r##_##c));
#define STORE_BF16_ROW_2(r) COLS_2(STORE_BF16, r)
#define STORE_BF16_ROW_1(r)
#define STORE_BF16_ROW_4(r)
#define STORE_BF16_ROW_8(r)
#define STORES_BF16(MR, NR)                                                                        \
    if (MR >= ROUNDS_FROM && NR == 2 && b->to) {                                                   \
        uint16_t *h0 = b->to, *h1 = h0 + b->y_half;                                                \
        const int64_t y_row = b->y_row;                                                            \
        (void)h0, (void)h1, (void)y_row;                                                           \
        ROWS_##MR(STORE_BF16_ROW_##NR) return;                                                     \
    }
#else
#define STORES_BF16(MR, NR)
#endif

#define WEIGHT(c) OPERAND b##c = W_AT(w + c * w_panel);
/* Of two or three rows gcc would load weights anew for every row. */
#define WEIGHT_KEPT(c)                                                                             \
    WEIGHT(c)                                                                                      \
    if (FEW_ROWS)                                                                                  \
        b##c = (OPERAND)vec_in_register((vec)b##c);
#define WEIGHT_STREAM(c) WEIGHT_KEPT(c) PREFETCH(c)
#define WEIGHT_HALF(c)   const OPERAND_HALF b##c = W_AT_HALF(w + c * w_panel);
/* One distance for the first panel and one for the others, as struct conv_block has them. Blocks of
 * one panel alone load for every product, and a prefetch takes a turn of what they wait for: theirs
 * is of x alone, where it goes through the caches. */
#ifndef STEP_PREFETCHES
#define STEP_PREFETCHES true
#endif
#define PREFETCH(c)                                                                                \
    if (STEP_PREFETCHES && FETCHES_AHEAD) {                                                        \
        PREFETCH_##c                                                                               \
    }
#define PREFETCH_0 prefetch(w, ahead_first);
#define PREFETCH_1 prefetch(w, ahead_others);
#define PREFETCH_2 prefetch(w + w_panel, ahead_others);
#define WEIGHTS_1                                                                                  \
    WEIGHT_KEPT(0)                                                                                 \
    if (STEP_PREFETCHES && streams) {                                                              \
        PREFETCH_0                                                                                 \
    }
#define WEIGHTS_2  WEIGHT_STREAM(0) WEIGHT_STREAM(1)
#define WEIGHTS_3  WEIGHTS_2 WEIGHT_STREAM(2)
#define WEIGHTS_4  WEIGHT_KEPT(0) WEIGHT_KEPT(1) WEIGHT_KEPT(2) WEIGHT_KEPT(3)
#define WEIGHTS_8  WEIGHT(0) WEIGHT(1) WEIGHT(2) WEIGHT(3) WEIGHT(4) WEIGHT(5) WEIGHT(6) WEIGHT(7)
#define WEIGHTS_1H WEIGHT_HALF(0)

#define INIT_ROW_1(r)      COLS_1(INIT, r)
#define RESUME_ROW_1(r)    COLS_1(RESUME, r)
#define INIT_ROW_2(r)      COLS_2(INIT, r)
#define RESUME_ROW_2(r)    COLS_2(RESUME, r)
#define INIT_ROW_3(r)      COLS_3(INIT, r)
#define RESUME_ROW_3(r)    COLS_3(RESUME, r)
#define INIT_ROW_4(r)      COLS_4(INIT, r)
#define RESUME_ROW_4(r)    COLS_4(RESUME, r)
#define INIT_ROW_8(r)      COLS_8(INIT, r)
#define RESUME_ROW_8(r)    COLS_8(RESUME, r)
#define INIT_ROW_1H(r)     COLS_1H(INIT, r)
#define RESUME_ROW_1H(r)   COLS_1H(RESUME, r)
#define RESIDUAL_ROW_1H(r) COLS_1H(RESIDUAL, r)
#define STORE_ROW_1H(r)    COLS_1H(STORE, r)
#ifndef X_ROW
#define X_ROW(r) AT(a0, a1, x_row, r)
#endif
#define MULTIPLY_ROW(cols, r)                                                                      \
    {                                                                                              \
        const OPERAND a = X_AT(X_ROW(r));                                                          \
        COLS_##cols(MULTIPLY, r)                                                                   \
    }
#define MULTIPLY_ROW_1(r)  MULTIPLY_ROW(1, r)
#define MULTIPLY_ROW_2(r)  MULTIPLY_ROW(2, r)
#define MULTIPLY_ROW_3(r)  MULTIPLY_ROW(3, r)
#define MULTIPLY_ROW_4(r)  MULTIPLY_ROW(4, r)
#define MULTIPLY_ROW_8(r)  MULTIPLY_ROW(8, r)
#define MULTIPLY_ROW_1H(r) acc##r##_0 = PRODUCT_HALF(X_AT_HALF(X_ROW(r)), b0, acc##r##_0);
#define RESIDUAL_ROW_1(r)  COLS_1(RESIDUAL, r)
#define RESIDUAL_ROW_2(r)  COLS_2(RESIDUAL, r)
#define RESIDUAL_ROW_3(r)  COLS_3(RESIDUAL, r)
#define RESIDUAL_ROW_4(r)  COLS_4(RESIDUAL, r)
#define RESIDUAL_ROW_8(r)  COLS_8(RESIDUAL, r)
#define STORE_ROW_1(r)     COLS_1(STORE, r)
#define STORE_ROW_2(r)     COLS_2(STORE, r)
#define STORE_ROW_3(r)     COLS_3(STORE, r)
#define STORE_ROW_4(r)     COLS_4(STORE, r)
#define STORE_ROW_8(r)     COLS_8(STORE, r)

#define SWISH_ROW_1(r)   COLS_1(SWISH, r)
#define SWISH_ROW_2(r)   COLS_2(SWISH, r)
#define SWISH_ROW_3(r)   COLS_3(SWISH, r)
#define SWISH_ROW_4(r)   COLS_4(SWISH, r)
#define SWISH_ROW_8(r)   COLS_8(SWISH, r)
#define SWISH_ROW_1H(r)  COLS_1H(SWISH, r)
#define AFFINE_ROW_1(r)  COLS_1(AFFINE, r)
#define AFFINE_ROW_2(r)  COLS_2(AFFINE, r)
#define AFFINE_ROW_3(r)  COLS_3(AFFINE, r)
#define AFFINE_ROW_4(r)  COLS_4(AFFINE, r)
#define AFFINE_ROW_8(r)  COLS_8(AFFINE, r)
#define AFFINE_ROW_1H(r) COLS_1H(AFFINE, r)

#define LOW_ROW_1(r)   COLS_1(LOW, r)
#define LOW_ROW_2(r)   COLS_2(LOW, r)
#define LOW_ROW_3(r)   COLS_3(LOW, r)
#define LOW_ROW_4(r)   COLS_4(LOW, r)
#define LOW_ROW_8(r)   COLS_8(LOW, r)
#define LOW_ROW_1H(r)  COLS_1H(LOW, r)
#define HIGH_ROW_1(r)  COLS_1(HIGH, r)
#define HIGH_ROW_2(r)  COLS_2(HIGH, r)
#define HIGH_ROW_3(r)  COLS_3(HIGH, r)
#define HIGH_ROW_4(r)  COLS_4(HIGH, r)
#define HIGH_ROW_8(r)  COLS_8(HIGH, r)
#define HIGH_ROW_1H(r) COLS_1H(HIGH, r)

#define STEP(MR, NR) WEIGHTS_##NR ROWS_##MR(MULTIPLY_ROW_##NR)

#define BLOCK(MR, NR)                                                                              \
    static __attribute__((noinline)) void block_##MR##x##NR(const struct conv_block *b) {          \
        enum {                                                                                     \
            HALF = (MR + 1) / 2,                                                                   \
            FETCHES_AHEAD = MR > WIDEST_ROWS,                                                      \
            FEW_ROWS = MR == 2 || MR == 3                                                          \
        };                                                                                         \
        const vec_mask mask = vec_first(b->columns);                                               \
        int64_t columns = BETWEEN_PANELS_##NR;                                                     \
        const float *i0 = b->init, *i1 = i0 + b->init_half;                                        \
        const int64_t i_row = b->init_row, w_panel = b->w_panel;                                   \
        const uintptr_t ahead_first = prefetch_distance(b, b->ahead_first);                        \
        const uintptr_t ahead_others = prefetch_distance(b, b->ahead_others);                      \
        const bool streams = MR >= HALF_ROWS && b->ahead_base != 0;                                \
        int64_t x_row = b->x_row;                                                                  \
        (void)streams, (void)w_panel, (void)ahead_first, (void)ahead_others;                       \
        ROWS_##MR(INIT_ROW_##NR) if (i_row) {                                                      \
            ROWS_##MR(RESUME_ROW_##NR)                                                             \
        }                                                                                          \
        const BLOCK_X *xs = b->x;                                                                  \
        const float *ws = b->w;                                                                    \
        int32_t tap_w = b->tap_w;                                                                  \
        for (int32_t s = b->segments; s > 0; s--) {                                                \
            const BLOCK_X *a0 = xs, *a1 = xs + b->x_half;                                          \
            const float *w = ws;                                                                   \
            CHAINS(MR, NR)                                                                         \
            const bool row_ends = ++tap_w == b->segments_w;                                        \
            xs += row_ends ? b->x_kh : b->x_kw;                                                    \
            ws += row_ends ? b->w_kh : b->w_kw;                                                    \
            tap_w = row_ends ? 0 : tap_w;                                                          \
        }                                                                                          \
        if (ANEW_##NR) {                                                                           \
            __asm__("" : "+r"(b));                                                                 \
            columns = BETWEEN_PANELS_##NR;                                                         \
        }                                                                                          \
        if (b->residual) {                                                                         \
            const float *r0 = b->residual, *r1 = r0 + b->r_half;                                   \
            const int64_t r_row = b->r_row;                                                        \
            ROWS_##MR(RESIDUAL_ROW_##NR)                                                           \
        }                                                                                          \
        ACTIVATE(MR, NR)                                                                           \
        CLAMP(ROWS_##MR(LOW_ROW_##NR), ROWS_##MR(HIGH_ROW_##NR))                                   \
        STORES_BF16(MR, NR) float *y0 = b->y;                                                      \
        float *y1 = y0 + b->y_half;                                                                \
        const int64_t y_row = b->y_row;                                                            \
        ROWS_##MR(STORE_ROW_##NR)                                                                  \
    }

#define BLOCKS_1_TO_6(X, NR)  X(1, NR) X(2, NR) X(3, NR) X(4, NR) X(5, NR) X(6, NR)
#define BLOCKS_1_TO_8(X, NR)  BLOCKS_1_TO_6(X, NR) X(7, NR) X(8, NR)
#define BLOCKS_1_TO_10(X, NR) BLOCKS_1_TO_8(X, NR) X(9, NR) X(10, NR)
#define BLOCKS_1_TO_12(X, NR) BLOCKS_1_TO_10(X, NR) X(11, NR) X(12, NR)
#define BLOCKS_1_TO_14(X, NR) BLOCKS_1_TO_12(X, NR) X(13, NR) X(14, NR)
#ifdef CONV_STORES_BF16
#define BLOCKS_OF_1(X) BLOCKS_1_TO_6(X, 1) X(7, 1) X(14, 1)
#elif CONV_K_PER_ROW == 2
#define BLOCKS_OF_1(X) BLOCKS_1_TO_6(X, 1) X(7, 1)
#else
#define BLOCKS_OF_1(X) BLOCKS_1_TO_14(X, 1)
#endif
#define BLOCKS_OF_2(X) BLOCKS_1_TO_14(X, 2)
#if defined(CONV_WIDENS) || defined(CONV_SMALLER_BLOCKS)
#define BLOCKS_OF_3(X)
#define BLOCKS_OF_4(X)
#define BLOCKS_OF_8(X) X(1, 8) X(2, 8)
#define POLICY_OF_MORE {1, WIDEST_ROWS, 8},
#elif CONV_K_PER_ROW == 2
#define BLOCKS_OF_3(X)
#define BLOCKS_OF_4(X) BLOCKS_1_TO_6(X, 4)
#define BLOCKS_OF_8(X)
#define POLICY_OF_MORE {1, WIDEST_ROWS, 4},
#else
#define BLOCKS_OF_3(X) X(7, 3) X(8, 3) X(9, 3)
#define BLOCKS_OF_4(X) BLOCKS_1_TO_6(X, 4)
#define BLOCKS_OF_8(X)
#define POLICY_OF_MORE {1, WIDEST_ROWS, 4}, {7, MAX_ROWS_3, 3},
#endif

BLOCKS_OF_1(BLOCK)
BLOCKS_OF_2(BLOCK)
BLOCKS_OF_3(BLOCK)
BLOCKS_OF_4(BLOCK)
BLOCKS_OF_8(BLOCK)

#ifdef OPERAND_HALF
#define BLOCKS_7_TO_14(X, NR)                                                                      \
    X(7, NR) X(8, NR) X(9, NR) X(10, NR) X(11, NR) X(12, NR) X(13, NR) X(14, NR)
#define BLOCKS_OF_1H(X) BLOCKS_7_TO_14(X, 1H)
BLOCKS_OF_1H(BLOCK)
#endif

/* Which block: that of so many panels, and of rows beside. */
enum { BLOCKS_1 = 16, BLOCKS_2 = 32, BLOCKS_3 = 48, BLOCKS_4 = 64 };
enum { BLOCKS_8 = BLOCKS_3 }; /* of which there are none where there are those of 8 */
enum { BLOCKS_1H = 80 };

#define CASE(MR, NR)                                                                               \
    case BLOCKS_##NR + MR:                                                                         \
        block_##MR##x##NR(b);                                                                      \
        return;
static __attribute__((noinline)) void run_block(const struct conv_block *b, int64_t which) {
    switch (which) {
        BLOCKS_OF_1(CASE)
        BLOCKS_OF_2(CASE)
        BLOCKS_OF_3(CASE)
        BLOCKS_OF_4(CASE)
        BLOCKS_OF_8(CASE)
#ifdef OPERAND_HALF
        BLOCKS_OF_1H(CASE)
#endif
    default:
        __builtin_unreachable();
    }
}

/* Policy: how many panels a block of so many rows takes, widest first. Wide blocks of few rows keep
 * chains in flight and read x less often; 14 x 2 is the largest block that 32 registers hold with
 * its operands. Four panels are not three and one, which loads as often as it multiplies. One row
 * waits for weights, which come slower from eight places at once than from four. */
static const struct {
    int32_t min_rows, max_rows, panels;
} policy[] = {POLICY_OF_MORE{1, MAX_ROWS, 2}, {1, MAX_ROWS, 1}};

/* Blocks of a panel and a half would take 1.02 to 1.07 of the time of one and a half by itself. */
#ifdef OPERAND_HALF
enum { HALF_ALONE = IPEX_PANEL + LANES / 2 };
#else
enum { HALF_ALONE = 0 };
#endif

static int64_t panels_for(int64_t rows, int64_t panels, int64_t columns) {
    if (panels == 2 && columns <= HALF_ALONE && rows >= HALF_ROWS)
        return 1;
    for (size_t i = 0;; i++)
        if (policy[i].min_rows <= rows && rows <= policy[i].max_rows &&
            panels >= policy[i].panels && (panels != 4 || policy[i].panels != 3))
            return policy[i].panels;
}

#if CONV_K_PER_ROW == 2
/* One panel of more rows than there are blocks for, of all of b's blocks, in two halves, which are
 * one where b has two lines; b lies where the last one does then. */
static void run_halves(struct conv_block *b, int64_t rows) {
    for (int32_t left = b->count;; left--, to_next_block(b)) {
        struct conv_block half = *b;
        for (int64_t i = 0, first = (rows + 1) / 2; i < 2; i++) {
            const int64_t count = i == 0 ? first : rows - first, quarter = (count + 1) / 2;
            half.x = (const BLOCK_X *)b->x + i * b->x_half;
            half.x_half = quarter * b->x_row;
            half.init = b->init + i * b->init_half;
            half.init_half = quarter * b->init_row;
            half.y = b->y + i * b->y_half;
            half.y_half = quarter * b->y_row;
            half.residual = b->residual ? b->residual + i * b->r_half : NULL;
            half.r_half = quarter * b->r_row;
            run_block(&half, BLOCKS_1 + count);
        }
        if (left <= 1)
            return;
    }
}

/* The same in blocks of all rows, whose second half begins so far behind the first that it ends
 * where b's does: rows that both have are computed alike. */
static inline void run_overlapping(struct conv_block *b, int64_t rows) {
    const int64_t first = (rows + 1) / 2, apart = rows - HALF_ROWS;
    const int64_t x_half = b->x_half, init_half = b->init_half, y_half = b->y_half;
    const int64_t r_half = b->r_half;
    b->x_half -= (first - apart) * b->x_row;
    b->init_half -= (first - apart) * b->init_row;
    b->y_half -= (first - apart) * b->y_row;
    b->r_half -= (first - apart) * b->r_row;
    run_blocks(b, run_block, BLOCKS_1 + MAX_ROWS);
    b->x_half = x_half, b->init_half = init_half, b->y_half = y_half, b->r_half = r_half;
}
#endif

/* Whether those blocks apply b's activation. */
static inline bool blocks_apply(const struct conv_block *b, int64_t rows, int64_t least, bool two) {
    return b->act != IPEX_ACT_none && rows >= least && (two || b->act != IPEX_ACT_leaky_relu);
}

static bool run(struct conv_block *b, int64_t rows, int64_t panels) {
    static const int32_t act_rows[] = {
        [1] = ACT_1, [2] = ACT_2, [3] = ACT_3, [4] = ACT_4, [8] = ACT_8};
#if CONV_K_PER_ROW == 2
    if (panels == 1 && rows > HALF_ROWS && ONE_PANEL_OVERLAPS && !b->two) {
        run_overlapping(b, rows);
        return false;
    }
    if (panels == 1 && rows > HALF_ROWS) {
        run_halves(b, rows);
        return false;
    }
#endif
#ifdef OPERAND_HALF
    if (b->columns <= LANES / 2 && panels == 1 && rows >= HALF_ROWS) {
        run_blocks(b, run_block, BLOCKS_1H + rows);
        return blocks_apply(b, rows, ACT_1H, false);
    }
#endif
    run_blocks(b, run_block, (panels == 8 ? BLOCKS_8 : panels * BLOCKS_1) + rows);
    return blocks_apply(b, rows, act_rows[panels], panels == 2);
}

static const struct conv_level level = {
    CONV_BLOCKS,
#ifdef CONV_FEW
    .few = CONV_FEW,
    .activate = IPEX_LEVEL(activate),
#endif
    .prefetches_y = true,
#ifdef CONV_PANELS_APART
    .panels_apart = CONV_PANELS_APART,
#endif
#ifdef CONV_FETCHES_NEXT
    .fetches_next = true,
#endif
};

#endif
