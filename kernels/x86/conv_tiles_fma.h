/* SPDX-License-Identifier: Apache-2.0 */
/* The products of kernels/x86/conv_tiles.h by FMA: of every 32 elements of K a chain of the even
 * ones and a chain of the odd ones stay in registers, and their sum is added to the results in L1.
 * The rows' elements are widened once for several panels. The includer says what fits its
 * registers:
 *   TILE_ROWS      rows that are multiplied with one panel at once
 *   TILE_VECS      vectors of a panel
 *   ROWS_APART     so many rows that are left over go one by one, with 4 vectors of columns each */
#ifndef IPEX_KERNELS_X86_CONV_TILES_FMA_H
#define IPEX_KERNELS_X86_CONV_TILES_FMA_H

#include "kernels/x86/conv_halves.h"
#include "kernels/x86/conv_tiles_walk.h"

enum {
    TILE_PAIRS = TILE_K / 2,
    PANELS_APART = 4 * LANES / IPEX_PANEL,
};

/* Rows of elements of K, widened: 16 even ones, then 16 odd ones. */
struct widened {
    _Alignas(64) float row[BLOCK_ROWS][TILE_K];
};

/* What a kernel multiplies: rows of x, from their pair 0 on, with tiles of panels that are w_panel
 * apart. tile: the results of the first row and panel. */
struct tile_product {
    const float *x, *w;
    float *tile;
    int64_t w_panel, pairs, panels;
};

/* VECS_n(X, r): X for row r and vectors 0 to n - 1 of columns. */
#define VECS_1(X, r) X(r, 0)
#define VECS_2(X, r) X(r, 0) X(r, 1)
#define VECS_4(X, r) VECS_2(X, r) X(r, 2) X(r, 3)

/* Where there are fewer panels than vectors want, the last one stands in, and is not added. */
#define PANEL_OF(v)  (v * LANES / IPEX_PANEL)
#define COLUMN_OF(v) (v * LANES % IPEX_PANEL)
#define POINTER(r, v)                                                                              \
    const float *w##v = p->w + COLUMN_OF(v) +                                                      \
                        (PANEL_OF(v) < p->panels ? PANEL_OF(v) : p->panels - 1) * p->w_panel;

#define CHAIN(r, v)    vec even##r##_##v = vec_set(0.0f), odd##r##_##v = vec_set(0.0f);
#define WEIGHT(r, v)   const vec b##v = half_of(vec_bits(vec_load(w##v + i * IPEX_PANEL)), ODD);
#define ADD_EVEN(r, v) even##r##_##v = vec_fma(a, b##v, even##r##_##v);
#define ADD_ODD(r, v)  odd##r##_##v = vec_fma(a, b##v, odd##r##_##v);
#define ADD_SUM(r, v)                                                                              \
    if (PANEL_OF(v) < p->panels) {                                                                 \
        float *to = p->tile + PANEL_OF(v) * BLOCK_TILE + r * IPEX_PANEL + COLUMN_OF(v);            \
        vec_store(to, vec_add(vec_load(to), vec_add(even##r##_##v, odd##r##_##v)));                \
    }

#define EVEN_ROW(VECS, r)                                                                          \
    {                                                                                              \
        const vec a = vec_set(x[r * TILE_K + i]);                                                  \
        VECS(ADD_EVEN, r)                                                                          \
    }
#define ODD_ROW(VECS, r)                                                                           \
    {                                                                                              \
        const vec a = vec_set(x[r * TILE_K + TILE_PAIRS + i]);                                     \
        VECS(ADD_ODD, r)                                                                           \
    }

#define KERNEL(name, ROWS, VECS, CHAINS_OF, EVENS_OF, ODDS_OF, SUMS_OF)                            \
    static __attribute__((noinline)) void name(const struct tile_product *p) {                     \
        const float *x = p->x;                                                                     \
        VECS(POINTER, 0)                                                                           \
        ROWS(CHAINS_OF)                                                                            \
        for (int64_t i = 0; i < p->pairs; i++) {                                                   \
            HALF_STEP(0, VECS(WEIGHT, 0) ROWS(EVENS_OF))                                           \
            HALF_STEP(1, VECS(WEIGHT, 0) ROWS(ODDS_OF))                                            \
        }                                                                                          \
        ROWS(SUMS_OF)                                                                              \
    }

#define CHAINS_OF_PANEL(r) TILE_VECS(CHAIN, r)
#define EVENS_OF_PANEL(r)  EVEN_ROW(TILE_VECS, r)
#define ODDS_OF_PANEL(r)   ODD_ROW(TILE_VECS, r)
#define SUMS_OF_PANEL(r)   TILE_VECS(ADD_SUM, r)
#define CHAINS_OF_4(r)     VECS_4(CHAIN, r)
#define EVENS_OF_4(r)      EVEN_ROW(VECS_4, r)
#define ODDS_OF_4(r)       ODD_ROW(VECS_4, r)
#define SUMS_OF_4(r)       VECS_4(ADD_SUM, r)

KERNEL(multiply_rows, TILE_ROWS, TILE_VECS, CHAINS_OF_PANEL, EVENS_OF_PANEL, ODDS_OF_PANEL,
       SUMS_OF_PANEL)
KERNEL(multiply_row, ROWS_1, VECS_4, CHAINS_OF_4, EVENS_OF_4, ODDS_OF_4, SUMS_OF_4)

/* Results of all rows and panels of a block; p is that of the first. */
static __attribute__((noinline)) void multiply_block(struct tile_product p, int64_t rows,
                                                     int64_t panels) {
    const struct tile_product first = p;
    const int64_t rest = rows % ROWS_AT_ONCE;
    const int64_t together = rest <= ROWS_APART ? rows - rest : rows - rest + ROWS_AT_ONCE;
    p.panels = 1;
    for (int64_t panel = 0; panel < panels; panel++)
        for (int64_t r = 0; r < together; r += ROWS_AT_ONCE) {
            p.w = first.w + panel * p.w_panel;
            p.x = first.x + r * TILE_K;
            p.tile = first.tile + panel * BLOCK_TILE + r * IPEX_PANEL;
            multiply_rows(&p);
        }
    for (int64_t r = together; r < rows; r++)
        for (int64_t panel = 0; panel < panels; panel += PANELS_APART) {
            p.panels = panels - panel;
            p.w = first.w + panel * p.w_panel;
            p.x = first.x + r * TILE_K;
            p.tile = first.tile + panel * BLOCK_TILE + r * IPEX_PANEL;
            multiply_row(&p);
        }
}

/* Elements [0, k) of every row, k <= TILE_K, and +0 behind them. */
static __attribute__((noinline)) void widen_rows(const struct conv_walk *walk, const uint16_t *x,
                                                 const struct tile_rows *rows, int64_t k,
                                                 struct widened *to) {
    struct tile_rows at = *rows;
    for (int64_t r = 0; r < rows->count; r++, next_row(walk->args, &at)) {
        _Alignas(64) uint16_t part[TILE_K] = {0};
        const uint16_t *from = x + at.x;
        if (k < TILE_K)
            from = memcpy(part, from, (size_t)k * sizeof *part);
        for (int64_t i = 0; i < TILE_PAIRS; i += LANES) {
            const vec_int pairs = vec_bits(vec_load((const float *)(const void *)(from + 2 * i)));
            vec_store(to->row[r] + i, half_of(pairs, false));
            vec_store(to->row[r] + TILE_PAIRS + i, half_of(pairs, true));
        }
    }
}

/* One segment of K. A tile that K cuts has zeros behind its last pair; all behind the first of them
 * leave the chains as they are. */
static inline void multiply_segment(const struct conv_walk *walk, const struct tile_rows *rows,
                                    const uint16_t *x, struct tile_product p, int64_t panels) {
    struct widened widened = {0};
    p.x = widened.row[0];
    for (int64_t k = walk->args->k; k > 0; k -= TILE_K, x += TILE_K, p.w += TILE_WORDS) {
        widen_rows(walk, x, rows, k < TILE_K ? k : TILE_K, &widened);
        p.pairs = k < TILE_K - 1 ? (k + 1) / 2 + 1 : TILE_PAIRS;
        multiply_block(p, rows->count, panels);
    }
}

/* Rows get what chains begin with; behind the last pixel that is of no use. */
static __attribute__((noinline)) void
begin_tile(const struct conv_walk *walk, const struct tile_rows *rows, int64_t panel, float *tile) {
    for (int64_t r = 0; r < BLOCK_ROWS; r++) {
        AS_WRITTEN;
        load_columns(tile + r * IPEX_PANEL, walk->bias + panel * IPEX_PANEL,
                     tile_columns(walk, panel));
    }
    if (walk->args->resume)
        load_rows(walk, rows, panel, tile);
}

static void tile_block(const struct conv_walk *walk, const struct tile_rows *rows, int64_t panel,
                       int64_t panels) {
    const struct ipex_conv_args *args = walk->args;
    _Alignas(64) float tile[BLOCK_PANELS][BLOCK_TILE];
    const struct tile_product p = {
        .tile = tile[0],
        .w_panel = ipex_conv_panel_words(args, CONV_K_PER_ROW),
    };
    for (int64_t i = 0; i < panels; i++)
        begin_tile(walk, rows, panel + i, tile[i]);
    for (int64_t h = 0; h < args->segments_h; h++)
        for (int64_t w = 0; w < args->segments_w; w++) {
            struct tile_product segment = p;
            segment.w = tile_weights(walk, h, w, panel);
            multiply_segment(walk, rows, walk_x(walk) + h * args->x_kh + w * args->x_kw, segment,
                             panels);
        }
    for (int64_t i = 0; i < panels; i++)
        finish_rows(walk, rows, panel + i, tile[i]);
}

#endif
