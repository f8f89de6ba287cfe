/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on i8 by vector instructions: sums of a few rows and one panel in
 * registers, over a part of K whose elements of x have been made words that the instructions take;
 * between parts in L1. The includer says
 *   TILE_ROWS, ROWS_AT_ONCE, TILE_VECS  rows at once, and vectors of a panel
 *   X_WORDS                             words that four elements of K of a row become, by
 *   x_words(const int8_t *x, int32_t *to)
 *   X_OF(p)                             declares operands from the words at p
 *   WEIGHTS_BEGIN, WEIGHT(v)            what is declared before all steps; operands of vector v
 *   PRODUCT_OF(sum, v)                  sum with the products added
 *   CORRECTED(sum)                      the sum that was wanted */
#ifndef IPEX_KERNELS_X86_CONV_TILES_I8_H
#define IPEX_KERNELS_X86_CONV_TILES_I8_H

#include "kernels/x86/conv_i8.h"
#include "kernels/x86/conv_tiles_walk.h"

enum {
    PART_K = 256, /* elements of K made words at a time */
    ROW_WORDS = PART_K / CONV_K_PER_ROW * X_WORDS,
};

struct words {
    int32_t row[BLOCK_ROWS][ROW_WORDS];
};

#define VECS_1(X, r) X(r, 0)
#define VECS_2(X, r) X(r, 0) X(r, 1)

#define SUM(r, v)       vec_int sum##r##_##v = vec_int_set(0);
#define WEIGHT_OF(r, v) WEIGHT(v)
#define ADD(r, v)       sum##r##_##v = PRODUCT_OF(sum##r##_##v, v);
#define KEEP(r, v)                                                                                 \
    {                                                                                              \
        float *to = tile + r * IPEX_PANEL + v * LANES;                                             \
        vec_store(to, vec_float(vec_int_add(vec_bits(vec_load(to)), CORRECTED(sum##r##_##v))));    \
    }
#define SUM_ROW(r) TILE_VECS(SUM, r)
#define ADD_ROW(r)                                                                                 \
    { X_OF(x + r * ROW_WORDS) TILE_VECS(ADD, r) }
#define KEEP_ROW(r) TILE_VECS(KEEP, r)

static __attribute__((noinline)) void multiply_rows(const int32_t *x, const float *w, int64_t fours,
                                                    float *tile) {
    WEIGHTS_BEGIN
    TILE_ROWS(SUM_ROW)
    for (; fours > 0; fours--, x += X_WORDS, w += IPEX_PANEL) {
        TILE_VECS(WEIGHT_OF, 0)
        TILE_ROWS(ADD_ROW)
    }
    TILE_ROWS(KEEP_ROW)
}

/* Elements [0, k) of every row, and zeros behind them to a multiple of four. */
static __attribute__((noinline)) void make_words(const struct conv_walk *walk, const int8_t *x,
                                                 const struct tile_rows *rows, int64_t k,
                                                 struct words *to) {
    struct tile_rows at = *rows;
    for (int64_t r = 0; r < rows->count; r++, next_row(walk->args, &at))
        for (int64_t i = 0; i < k; i += CONV_K_PER_ROW) {
            int8_t four[CONV_K_PER_ROW] = {0};
            const int64_t left = k - i;
            memcpy(four, x + at.x + i, left < CONV_K_PER_ROW ? (size_t)left : sizeof four);
            x_words(four, to->row[r] + i / CONV_K_PER_ROW * X_WORDS);
        }
}

/* One segment of K: x from its first element on, w the first panel's tiles. */
static void multiply_segment(const struct conv_walk *walk, const struct tile_rows *rows,
                             const int8_t *x, const float *w, int64_t panels,
                             float (*tile)[BLOCK_TILE]) {
    const int64_t w_panel = ipex_conv_panel_words(walk->args, CONV_K_PER_ROW);
    struct words words = {0};
    for (int64_t k = walk->args->k; k > 0; k -= PART_K, x += PART_K) {
        const int64_t part = k < PART_K ? k : PART_K, fours = ipex_div_up(part, CONV_K_PER_ROW);
        make_words(walk, x, rows, part, &words);
        for (int64_t panel = 0; panel < panels; panel++)
            for (int64_t r = 0; r < rows->count; r += ROWS_AT_ONCE)
                multiply_rows(words.row[r], w + panel * w_panel, fours,
                              tile[panel] + r * IPEX_PANEL);
        w += fours * IPEX_PANEL;
    }
}

static void tile_block(const struct conv_walk *walk, const struct tile_rows *rows, int64_t panel,
                       int64_t panels) {
    const struct ipex_conv_args *args = walk->args;
    _Alignas(64) float tile[BLOCK_PANELS][BLOCK_TILE] = {{0}}; /* sums, then results */
    for (int64_t h = 0; h < args->segments_h; h++)
        for (int64_t w = 0; w < args->segments_w; w++)
            multiply_segment(walk, rows, walk_x(walk) + h * args->x_kh + w * args->x_kw,
                             tile_weights(walk, h, w, panel), panels, tile);
    for (int64_t i = 0; i < panels; i++) {
        scale_sums(walk, panel + i, tile[i], rows->count);
        finish_rows(walk, rows, panel + i, tile[i]);
    }
}

#endif
