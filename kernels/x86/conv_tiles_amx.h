/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear with the products of AMX. Weights are tiles as they lie in the file. Tiles
 * of x are up to 16 pixels that are one stride apart, of a line or of all lines where they follow
 * each other, read in place. Where K ends inside a tile, its rows are copied with zeros behind
 * them: nothing behind K is read, and nothing is multiplied with what lies there. Where pixels end
 * inside a tile, it begins earlier and computes some of them again, without storing them; where
 * there are fewer than 16 in all, tiles have fewer rows.
 *
 * Two tiles of x meet two panels, so that every load serves two products; a single one meets four
 * panels.
 *
 * Included after kernels/x86/conv_tiles.h; the includer says what TILE_DOT(c, a, b) is, and where
 * sums become results:
 *   begin_sums(walk, rows, panel, tile, n)  what n rows begin with; returns whether they are all
 *                                           like the first, which is then the only one
 *   finish_sums(walk, panel, tile, n)       sums of n rows become what finish_tile wants */
#ifndef IPEX_KERNELS_X86_CONV_TILES_AMX_H
#define IPEX_KERNELS_X86_CONV_TILES_AMX_H

#include "kernels/x86/amx_tile.h"
#include "kernels/x86/conv_tiles.h"

/* Tiles 0 to 3 hold results, [tiles of x][panels]; 4 and 5 x; 6 and 7 weights. */
enum { RESULTS = 4, X_TILES = 2, FIRST_X = RESULTS, FIRST_W = FIRST_X + X_TILES };

/* The tiles of x of a job: lines of `pixels` pixels (the last has last_pixels) in tiles of `rows`.
 */
struct tile_grid {
    int64_t rows, lines, pixels, last_pixels;
    int64_t per_line, tiles; /* of a line that is not the last, and in all */
};

/* One register block: up to two tiles of x and two panels, or one and four. */
struct amx_block {
    const struct conv_walk *walk;
    struct tile_rows rows[X_TILES];
    int64_t first[X_TILES]; /* rows before are another tile's */
    int64_t tile_rows, tiles, panel, panels;
    bool ahead; /* the next panels' weights are wanted next */
};

/* Whether all pixels of all lines are one stride apart. */
static inline bool lines_follow(const struct ipex_conv_args *args) {
    return args->x_line == args->pixels * args->x_pixel;
}

/* Rows of all tiles of a kernel's call: as many as its longest run of pixels fills. */
static inline int64_t rows_of_tiles(const struct ipex_conv_args *args) {
    const int64_t all = (int64_t)(args->lines - 1) * args->pixels + args->last_pixels;
    const int64_t job = (int64_t)args->lines_per_job * args->pixels;
    const int64_t run = !lines_follow(args) && args->lines > 1 ? args->pixels
                        : job < all                            ? job
                                                               : all;
    return run < TILE_ROWS_MOST ? run : TILE_ROWS_MOST;
}

static inline struct tile_grid grid_of(const struct conv_walk *walk) {
    const struct ipex_conv_args *args = walk->args;
    struct tile_grid ret = {
        .rows = rows_of_tiles(args),
        .lines = walk->job->line_end - walk->job->line,
        .pixels = args->pixels,
        .last_pixels = ipex_conv_line_pixels(args, walk->job->line_end - 1),
    };
    if (lines_follow(args)) {
        ret.last_pixels = job_pixels(walk);
        ret.lines = 1;
    }
    ret.per_line = ipex_div_up(ret.pixels, ret.rows);
    ret.tiles = (ret.lines - 1) * ret.per_line + ipex_div_up(ret.last_pixels, ret.rows);
    return ret;
}

/* Tile `index` of x becomes the block's i-th. */
static inline void take_tile(struct amx_block *b, const struct tile_grid *grid, int64_t index,
                             int64_t i) {
    const int64_t most = grid->lines - 1;
    const int64_t line = index / grid->per_line < most ? index / grid->per_line : most;
    const int64_t pixels = line == most ? grid->last_pixels : grid->pixels;
    const int64_t wanted = (index - line * grid->per_line) * grid->rows;
    int64_t begin = wanted;
    if (begin + grid->rows > pixels)
        begin = pixels > grid->rows ? pixels - grid->rows : 0;
    b->first[i] = wanted - begin;
    tile_rows_at(b->walk, line * grid->pixels + begin,
                 pixels - begin < grid->rows ? pixels - begin : grid->rows, &b->rows[i]);
}

static inline void load_results(int64_t tile, const float *from, int64_t stride) {
    switch (tile) {
    case 0:
        IPEX_TILE_LOAD(0, from, stride);
        break;
    case 1:
        IPEX_TILE_LOAD(1, from, stride);
        break;
    case 2:
        IPEX_TILE_LOAD(2, from, stride);
        break;
    default:
        IPEX_TILE_LOAD(3, from, stride);
        break;
    }
}

static inline void store_results(int64_t tile, float *to) {
    switch (tile) {
    case 0:
        IPEX_TILE_STORE(to, TILE_ROW_BYTES, 0);
        break;
    case 1:
        IPEX_TILE_STORE(to, TILE_ROW_BYTES, 1);
        break;
    case 2:
        IPEX_TILE_STORE(to, TILE_ROW_BYTES, 2);
        break;
    default:
        IPEX_TILE_STORE(to, TILE_ROW_BYTES, 3);
        break;
    }
}

static void begin_results(const struct amx_block *b) {
    _Alignas(64) float tile[TILE_WORDS];
    for (int64_t i = 0; i < b->tiles; i++)
        for (int64_t p = 0; p < b->panels; p++) {
            const bool one = begin_sums(b->walk, &b->rows[i], b->panel + p, tile, b->tile_rows);
            load_results(i * b->panels + p, tile, one ? 0 : TILE_ROW_BYTES);
        }
}

static void finish_results(const struct amx_block *b) {
    _Alignas(64) float tile[TILE_WORDS];
    for (int64_t i = 0; i < b->tiles; i++)
        for (int64_t p = 0; p < b->panels; p++) {
            store_results(i * b->panels + p, tile);
            finish_sums(b->walk, b->panel + p, tile, b->tile_rows);
            finish_tile(b->walk, &b->rows[i], b->panel + p, tile, b->first[i]);
        }
}

/* Elements [0, k) of a tile's rows, zeros behind them and in rows that there are not. */
static inline void copy_tile(const struct amx_block *b, int64_t i, const CONV_X *x, int64_t k,
                             CONV_X *to) {
    const int64_t bytes = (k < TILE_K ? k : TILE_K) * (int64_t)sizeof *x;
    for (int64_t r = 0; r < b->tile_rows; r++) {
        float *row = (float *)(void *)(to + r * TILE_K);
        const bool there = r < b->rows[i].count;
        const char *from = there ? (const char *)(x + b->rows[i].x[r]) : NULL;
        for (int64_t at = 0; at < TILE_ROW_BYTES; at += (int64_t)sizeof(vec)) {
            const vec_int part = there ? vec_load_bytes(from + at, bytes - at) : vec_int_set(0);
            vec_store(row + at / 4, vec_float(part));
        }
    }
}

/* The products of one tile of K. x: the tiles of x; w_panel: words from panel to panel. */
static inline void multiply_pair(const struct amx_block *b, const CONV_X *const x[X_TILES],
                                 int64_t stride, const float *w, int64_t w_panel) {
    const bool two = b->panels > 1;
    IPEX_TILE_LOAD(6, w, TILE_ROW_BYTES);
    IPEX_TILE_LOAD(4, x[0], stride);
    TILE_DOT(0, 4, 6);
    IPEX_TILE_LOAD(5, x[1], stride);
    if (two) {
        IPEX_TILE_LOAD(7, w + w_panel, TILE_ROW_BYTES);
        TILE_DOT(1, 4, 7);
        TILE_DOT(2, 5, 6);
        TILE_DOT(3, 5, 7);
    } else {
        TILE_DOT(1, 5, 6);
    }
}

static inline void multiply_single(const struct amx_block *b, const CONV_X *x, int64_t stride,
                                   const float *w, int64_t w_panel) {
    IPEX_TILE_LOAD(4, x, stride);
    IPEX_TILE_LOAD(6, w, TILE_ROW_BYTES);
    TILE_DOT(0, 4, 6);
    if (b->panels > 1) {
        IPEX_TILE_LOAD(7, w + w_panel, TILE_ROW_BYTES);
        TILE_DOT(1, 4, 7);
    }
    if (b->panels > 2) {
        IPEX_TILE_LOAD(6, w + 2 * w_panel, TILE_ROW_BYTES);
        TILE_DOT(2, 4, 6);
    }
    if (b->panels > 3) {
        IPEX_TILE_LOAD(7, w + 3 * w_panel, TILE_ROW_BYTES);
        TILE_DOT(3, 4, 7);
    }
}

/* Into L2, while the products of the tile before it take their time. */
PREFETCHES prefetch_tiles(const float *w, int64_t w_panel, int64_t panels) {
    for (int64_t p = 0; p < panels; p++)
        for (int64_t r = 0; r < IPEX_TILE_ROWS; r++)
            _mm_prefetch((const char *)(w + p * w_panel + r * IPEX_PANEL), _MM_HINT_T1);
}

/* One segment of K: x from its first element on, w the first panel's tiles. */
static void multiply_segment(const struct amx_block *b, const CONV_X *x, const float *w) {
    const struct ipex_conv_args *args = b->walk->args;
    const int64_t w_panel = ipex_conv_panel_words(args, CONV_K_PER_ROW);
    const bool in_place = b->rows[0].count == b->tile_rows && b->rows[1].count == b->tile_rows;
    _Alignas(64) CONV_X copy[X_TILES][IPEX_TILE_ROWS * TILE_K];
    for (int64_t k = args->k; k > 0; k -= TILE_K, x += TILE_K, w += TILE_WORDS) {
        const bool whole = in_place && k >= TILE_K;
        const CONV_X *tiles[X_TILES] = {x + b->rows[0].x[0], x + b->rows[1].x[0]};
        for (int64_t i = 0; !whole && i < b->tiles; i++) {
            copy_tile(b, i, x, k, copy[i]);
            tiles[i] = copy[i];
        }
        const int64_t stride = whole ? args->x_pixel * (int64_t)sizeof *x : TILE_ROW_BYTES;
        if (b->ahead)
            prefetch_tiles(w + b->panels * w_panel, w_panel, b->panels);
        if (b->tiles == X_TILES)
            multiply_pair(b, tiles, stride, w, w_panel);
        else
            multiply_single(b, tiles[0], stride, w, w_panel);
    }
}

static __attribute__((noinline)) void amx_block(const struct amx_block *b) {
    const struct ipex_conv_args *args = b->walk->args;
    begin_results(b);
    for (int64_t h = 0; h < args->segments_h; h++)
        for (int64_t w = 0; w < args->segments_w; w++)
            multiply_segment(b, walk_x(b->walk) + h * args->x_kh + w * args->x_kw,
                             tile_weights(b->walk, h, w, b->panel));
    finish_results(b);
}

/* The block at a tile of x and a panel; which has how many of both follows from what is left. */
static inline void take_block(struct amx_block *b, const struct tile_grid *grid, int64_t tile,
                              int64_t panel, int64_t panels_left) {
    const int64_t tiles_left = grid->tiles - tile;
    b->tiles = tiles_left < X_TILES ? tiles_left : X_TILES;
    const int64_t most = RESULTS / (grid->tiles < X_TILES ? 1 : X_TILES);
    b->panel = panel;
    b->panels = panels_left < most ? panels_left : most;
    for (int64_t i = 0; i < X_TILES; i++)
        take_tile(b, grid, tile + (i < b->tiles ? i : 0), i);
}

/* Tiles must have been configured. */
static void walk_amx(const struct conv_walk *walk, int64_t begin, int64_t end) {
    const struct tile_grid grid = grid_of(walk);
    const int64_t tile_blocks = ipex_div_up(grid.tiles, X_TILES);
    const int64_t most = RESULTS / (grid.tiles < X_TILES ? 1 : X_TILES);
    const int64_t panel_blocks = ipex_div_up(end - begin, most);
    const bool outside = walk->args->panels_outside;
    struct amx_block b = {.walk = walk, .tile_rows = grid.rows};
    for (int64_t i = 0; i < tile_blocks * panel_blocks; i++) {
        const int64_t tile = (outside ? i % tile_blocks : i / panel_blocks) * X_TILES;
        const int64_t panel = begin + (outside ? i / tile_blocks : i % panel_blocks) * most;
        take_block(&b, &grid, tile, panel, end - panel);
        b.ahead = outside && tile + X_TILES >= grid.tiles && panel + 2 * b.panels <= end;
        amx_block(&b);
    }
}

static void configure(int64_t rows) {
    struct ipex_tile_config config = {.palette = IPEX_TILE_PALETTE};
    for (int tile = 0; tile < IPEX_TILES; tile++) {
        config.row_bytes[tile] = TILE_ROW_BYTES;
        config.rows[tile] = tile < FIRST_W ? (uint8_t)rows : IPEX_TILE_ROWS;
    }
    ipex_tile_configure(&config);
}

#endif
