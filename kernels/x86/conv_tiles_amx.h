/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear with the products of AMX. Weights are tiles as they lie in the file. Tiles
 * of x are up to 16 pixels that are one stride apart, of a line or of all lines where they follow
 * each other, read in place. Where K ends inside a tile, its rows are copied with zeros behind
 * them: nothing behind K is read, and nothing is multiplied with what lies there. Where pixels end
 * inside a tile, it begins earlier and computes some of them again, without storing them; where
 * there are fewer than 16 in all, tiles have fewer rows.
 *
 * Two tiles of x meet two panels, so that every load serves two products; a single one, and one
 * that is copied, meets four panels. A product takes 16 cycles, a load 12 from L1 and 23 from L2
 * (Emerald Rapids), results of a tile from the tile through L1 to y 47: what is beside them counts.
 *
 * Included after kernels/x86/conv_tiles.h; the includer says what TILE_DOT(c, a, b) is, and where
 * sums become results:
 *   begin_sums(walk, panel, row)       where the 16 words lie that all rows begin with: in row, if
 *                                      they lie nowhere else
 *   finish_tile(walk, rows, panel, tile)  sums of these rows become results, which are stored
 *   SUMS_ARE_RESULTS                   whether they are results already, but for a residual and an
 *                                      activation */
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
    int64_t at_once;         /* of them in a block */
};

/* One register block: up to two tiles of x and two panels, or one and four. */
struct amx_block {
    const struct conv_walk *walk;
    struct tile_rows rows[X_TILES]; /* their own: they are stored */
    int64_t first[X_TILES];         /* so many before are another tile's, and computed again */
    int64_t tile_rows, tiles, panel, panels;
    int64_t fetch, fetch_end; /* lines of a tile of K of the next panels (see fetch_tiles) */
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
    return ipex_smaller(run, IPEX_TILE_ROWS);
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
    /* Those that are copied are copied for every block: one, for four panels instead of two (7x7 of
     * 3 channels at stride 2 takes 0.74 of the time; to 32 columns, 1.24). */
    const bool copied = args->k < TILE_K && walk->job->panel_end - walk->job->panel > X_TILES;
    ret.at_once = copied ? 1 : ipex_smaller(ret.tiles, X_TILES);
    return ret;
}

/* Tile `index` of x becomes the block's i-th. */
static inline void take_tile(struct amx_block *b, const struct tile_grid *grid, int64_t index,
                             int64_t i) {
    const int64_t line = ipex_smaller(index / grid->per_line, grid->lines - 1);
    const int64_t pixels = line == grid->lines - 1 ? grid->last_pixels : grid->pixels;
    const int64_t pixel = (index - line * grid->per_line) * grid->rows;
    const int64_t count = ipex_smaller(grid->rows, pixels - pixel);
    b->rows[i] = tile_rows_at(b->walk, line * grid->pixels + pixel, count);
    b->first[i] = ipex_smaller(grid->rows - count, pixel);
}

/* Elements from the walk's x to the first row of the block's i-th tile, and how many rows it has.
 */
static inline int64_t tile_x(const struct amx_block *b, int64_t i) {
    return b->rows[i].x - b->first[i] * b->walk->args->x_pixel;
}

static inline int64_t tile_count(const struct amx_block *b, int64_t i) {
    return b->first[i] + b->rows[i].count;
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

static inline void store_results(int64_t tile, float *to, int64_t stride) {
    switch (tile) {
    case 0:
        IPEX_TILE_STORE(to, stride, 0);
        break;
    case 1:
        IPEX_TILE_STORE(to, stride, 1);
        break;
    case 2:
        IPEX_TILE_STORE(to, stride, 2);
        break;
    default:
        IPEX_TILE_STORE(to, stride, 3);
        break;
    }
}

/* Whether the i-th tile of results lies in y as it is in a register: all of it there and its own,
 * its rows one distance apart. */
static inline bool lies_in_y(const struct amx_block *b, int64_t i, int64_t p) {
    return b->rows[i].count == b->tile_rows && b->rows[i].left >= b->tile_rows &&
           tile_columns(b->walk, b->panel + p) == IPEX_PANEL;
}

static inline float *tile_y(const struct amx_block *b, int64_t i, int64_t p) {
    return b->walk->y + b->rows[i].y + (b->panel + p) * IPEX_PANEL;
}

/* Chains that wait in y. */
static inline void resume_result(const struct amx_block *b, int64_t i, int64_t p) {
    const int64_t tile = i * b->panels + p;
    if (lies_in_y(b, i, p)) {
        load_results(tile, tile_y(b, i, p), b->walk->args->y_pixel * (int64_t)sizeof(float));
        return;
    }
    _Alignas(64) float chains[TILE_WORDS] = {0};
    load_rows(b->walk, &b->rows[i], b->panel + p, chains + b->first[i] * IPEX_PANEL);
    load_results(tile, chains, TILE_ROW_BYTES);
}

static void begin_results(const struct amx_block *b) {
    const bool resume = b->walk->args->resume;
    _Alignas(64) float row[IPEX_PANEL];
    for (int64_t p = 0; p < b->panels; p++) {
        const float *sums = resume ? NULL : begin_sums(b->walk, b->panel + p, row);
        for (int64_t i = 0; i < b->tiles; i++)
            if (resume)
                resume_result(b, i, p);
            else
                load_results(i * b->panels + p, sums, 0);
    }
}

/* Whether sums go to y as they are. A bias alone does not: a clamp makes zeros of its denormals, as
 * every product does. */
static inline bool are_results(const struct conv_walk *walk) {
    const struct ipex_conv_args *args = walk->args;
    return SUMS_ARE_RESULTS && args->act == IPEX_ACT_none && !walk->residual &&
           !walk->residual_bf16 && !walk->y_bf16 && args->segments_h * args->segments_w > 0 &&
           args->k > 0;
}

/* Whether rows of the i-th tile of x, of panels p and p + 1, are there as a whole and one distance
 * apart, with nothing left to do but a residual and a clamp. */
static inline bool become_lines(const struct amx_block *b, int64_t i, int64_t p) {
    return SUMS_ARE_RESULTS && p + 1 < b->panels &&
           tile_columns(b->walk, b->panel + p + 1) == IPEX_PANEL &&
           ipex_act_is_clamp(b->walk->args->act) && b->rows[i].left >= b->rows[i].count;
}

/* Of the two panels' tiles: a cache line of bf16, or two of f32. Without a loop for every panel,
 * and what parts of vectors and ends of lines take, a third of finish_rows' instructions, which
 * bound 1x1 convolutions of few channels (ResNet-50 takes 0.94 of the time). */
static __attribute__((noinline)) void finish_lines(const struct amx_block *b, int64_t i, int64_t p,
                                                   const float *left, const float *right) {
    const struct conv_walk *walk = b->walk;
    const struct ipex_conv_args *args = walk->args;
    const vec low = vec_set(act_low(args->act, args->act_a));
    const vec high = vec_set(act_high(args->act, args->act_b));
    const float *residual = walk->residual;
    const uint16_t *residual_bf16 = walk->residual_bf16;
    float *y = walk->y;
    uint16_t *y_bf16 = walk->y_bf16;
    const int64_t column = (b->panel + p) * IPEX_PANEL, y_row = args->y_pixel;
    const int64_t r_row = args->r_pixel, rows = b->rows[i].count;
    int64_t to = b->rows[i].y + column, from = b->rows[i].residual + column;
    for (int64_t r = 0; r < rows; r++, to += y_row, from += r_row) {
        AS_WRITTEN;
        for (int64_t c = 0; c < IPEX_PANEL; c += LANES) {
            vec first = vec_load(left + r * IPEX_PANEL + c);
            vec second = vec_load(right + r * IPEX_PANEL + c);
            if (residual_bf16) {
                first = vec_add(first, vec_load_bf16(residual_bf16 + from + c));
                second = vec_add(second, vec_load_bf16(residual_bf16 + from + c + IPEX_PANEL));
            } else if (residual) {
                first = vec_add(first, vec_load(residual + from + c));
                second = vec_add(second, vec_load(residual + from + c + IPEX_PANEL));
            }
            first = vec_min(high, vec_max(low, first));
            second = vec_min(high, vec_max(low, second));
            if (y_bf16) {
                vec_store_bf16_pair(y_bf16 + to + c, first, second);
            } else {
                vec_store(y + to + c, first);
                vec_store(y + to + c + IPEX_PANEL, second);
            }
        }
    }
}

/* All tiles leave their registers first: a row cannot be read before the last one of its tile has
 * been written. */
static void finish_results(const struct amx_block *b) {
    const int64_t y_bytes = b->walk->args->y_pixel * (int64_t)sizeof(float);
    const bool as_they_are = are_results(b->walk);
    _Alignas(64) float tiles[RESULTS][TILE_WORDS];
    for (int64_t i = 0, tile = 0; i < b->tiles; i++)
        for (int64_t p = 0; p < b->panels; p++, tile++)
            if (as_they_are && lies_in_y(b, i, p))
                store_results(tile, tile_y(b, i, p), y_bytes);
            else
                store_results(tile, tiles[tile], TILE_ROW_BYTES);
    for (int64_t i = 0, tile = 0; i < b->tiles; i++)
        for (int64_t p = 0; p < b->panels; p++, tile++) {
            if (as_they_are && lies_in_y(b, i, p))
                continue;
            if (become_lines(b, i, p)) {
                const int64_t first = b->first[i] * IPEX_PANEL;
                finish_lines(b, i, p, tiles[tile] + first, tiles[tile + 1] + first);
                p++, tile++;
                continue;
            }
            finish_tile(b->walk, &b->rows[i], b->panel + p, tiles[tile] + b->first[i] * IPEX_PANEL);
        }
}

/* Elements [0, k) of a tile's rows, zeros behind them and in rows that there are not. */
static inline void copy_tile(const struct amx_block *b, int64_t i, const CONV_X *x, int64_t k,
                             CONV_X *to) {
    const int64_t bytes = (k < TILE_K ? k : TILE_K) * (int64_t)sizeof *x;
    const int64_t pixel = b->walk->args->x_pixel;
    for (int64_t r = 0; r < b->tile_rows; r++) {
        float *row = (float *)(void *)(to + r * TILE_K);
        const bool there = r < tile_count(b, i);
        const char *from = there ? (const char *)(x + tile_x(b, i) + r * pixel) : NULL;
        for (int64_t at = 0; at < TILE_ROW_BYTES; at += (int64_t)sizeof(vec)) {
            const vec_int part = there ? vec_load_bytes(from + at, bytes - at) : vec_int_set(0);
            vec_store(row + at / 4, vec_float(part));
        }
    }
}

/* Weights that L2 does not hold: while a block computes it fetches its share of the lines of the
 * next panels' tiles, which lie `ahead` words behind its own. (Into L1 would take longer than it
 * saves: a prefetch costs as much as a line from L2.) */
PREFETCHES fetch_tiles(const struct amx_block *b, const float *ahead, int64_t w_panel) {
    for (int64_t line = b->fetch; line < b->fetch_end; line++)
        _mm_prefetch((const char *)(ahead + line / IPEX_TILE_ROWS * w_panel +
                                    line % IPEX_TILE_ROWS * IPEX_PANEL),
                     _MM_HINT_T1);
}

/* The products of one tile of K. x0, x1: the tiles of x; w_panel: words from panel to panel. */
static inline void multiply_pair(const CONV_X *x0, const CONV_X *x1, int64_t stride, const float *w,
                                 int64_t w_panel, int64_t panels) {
    IPEX_TILE_LOAD(6, w, TILE_ROW_BYTES);
    IPEX_TILE_LOAD(4, x0, stride);
    TILE_DOT(0, 4, 6);
    IPEX_TILE_LOAD(5, x1, stride);
    if (panels > 1) {
        IPEX_TILE_LOAD(7, w + w_panel, TILE_ROW_BYTES);
        TILE_DOT(1, 4, 7);
        TILE_DOT(2, 5, 6);
        TILE_DOT(3, 5, 7);
    } else {
        TILE_DOT(1, 5, 6);
    }
}

static inline void multiply_single(const CONV_X *x, int64_t stride, const float *w, int64_t w_panel,
                                   int64_t panels) {
    IPEX_TILE_LOAD(4, x, stride);
    IPEX_TILE_LOAD(6, w, TILE_ROW_BYTES);
    TILE_DOT(0, 4, 6);
    if (panels > 1) {
        IPEX_TILE_LOAD(7, w + w_panel, TILE_ROW_BYTES);
        TILE_DOT(1, 4, 7);
    }
    if (panels > 2) {
        IPEX_TILE_LOAD(6, w + 2 * w_panel, TILE_ROW_BYTES);
        TILE_DOT(2, 4, 6);
    }
    if (panels > 3) {
        IPEX_TILE_LOAD(7, w + 3 * w_panel, TILE_ROW_BYTES);
        TILE_DOT(3, 4, 7);
    }
}

/* Of `count` tiles of K. x: the tiles of x, whose rows are stride bytes apart. */
static __attribute__((noinline)) void multiply_tiles(const struct amx_block *b,
                                                     const CONV_X *const x[X_TILES], int64_t stride,
                                                     const float *w, int64_t w_panel,
                                                     int64_t count) {
    const int64_t tiles = b->tiles, panels = b->panels; /* every product may write to memory */
    const CONV_X *x0 = x[0], *x1 = x[1];
    for (; count > 0; count--, w += TILE_WORDS, x0 += TILE_K, x1 += TILE_K) {
        fetch_tiles(b, w + panels * w_panel, w_panel);
        if (tiles == X_TILES)
            multiply_pair(x0, x1, stride, w, w_panel, panels);
        else
            multiply_single(x0, stride, w, w_panel, panels);
    }
}

/* One segment of K: x from its first element on, w the first panel's tiles. Tiles whose rows are
 * not all there, and what is left of K, are copied. */
static void multiply_segment(const struct amx_block *b, const CONV_X *x, const float *w) {
    const struct ipex_conv_args *args = b->walk->args;
    const int64_t w_panel = ipex_conv_panel_words(args, CONV_K_PER_ROW);
    const bool in_place = tile_count(b, 0) == b->tile_rows && tile_count(b, 1) == b->tile_rows;
    const int64_t whole = in_place ? args->k / TILE_K : 0;
    const CONV_X *const tiles[X_TILES] = {x + tile_x(b, 0), x + tile_x(b, 1)};
    multiply_tiles(b, tiles, args->x_pixel * (int64_t)sizeof *x, w, w_panel, whole);
    for (int64_t k = whole * TILE_K; k < args->k; k += TILE_K) {
        _Alignas(64) CONV_X copy[X_TILES][IPEX_TILE_ROWS * TILE_K];
        const CONV_X *const copies[X_TILES] = {copy[0], copy[1]};
        for (int64_t i = 0; i < b->tiles; i++)
            copy_tile(b, i, x + k, args->k - k, copy[i]);
        multiply_tiles(b, copies, TILE_ROW_BYTES, w + k / TILE_K * TILE_WORDS, w_panel, 1);
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

/* Panels of a block, where there are so many. */
static inline int64_t most_panels(const struct tile_grid *grid) {
    return RESULTS / grid->at_once;
}

/* The block at a tile of x and a panel; which has how many of both follows from what is left. */
static inline void take_block(struct amx_block *b, const struct tile_grid *grid, int64_t tile,
                              int64_t panel, int64_t panels_left) {
    b->tiles = ipex_smaller(grid->tiles - tile, grid->at_once);
    b->panel = panel;
    b->panels = ipex_smaller(panels_left, most_panels(grid));
    for (int64_t i = 0; i < X_TILES; i++)
        take_tile(b, grid, tile + (i < b->tiles ? i : 0), i);
}

/* Panels go outside the tiles of x where that is wanted, and where these come from L2 in either
 * order and are so few that the first of them would wait for weights from L3 longer than the others
 * compute: the next panels' are fetched while these are multiplied. Where two tiles stay in L1,
 * weights that pass are faster (outside for all of so few tiles: ResNet-50 0.96, MiniLM 1.05). */
enum { FEW_TILES = 32, L1_DEPTH = 16 * TILE_K };

static inline bool panels_outside(const struct conv_walk *walk, const struct tile_grid *grid) {
    return walk->args->panels_outside ||
           (grid->tiles <= FEW_TILES && ipex_conv_depth(walk->args) > L1_DEPTH);
}

/* Tiles must have been configured. */
static void walk_amx(const struct conv_walk *walk, int64_t begin, int64_t end) {
    const struct tile_grid grid = grid_of(walk);
    const int64_t tile_blocks = ipex_div_up(grid.tiles, grid.at_once);
    const int64_t most = most_panels(&grid);
    const int64_t panel_blocks = ipex_div_up(end - begin, most);
    const bool outside = panels_outside(walk, &grid);
    struct amx_block b = {.walk = walk, .tile_rows = grid.rows};
    for (int64_t i = 0; i < tile_blocks * panel_blocks; i++) {
        const int64_t block = outside ? i % tile_blocks : i / panel_blocks;
        const int64_t panel = begin + (outside ? i / tile_blocks : i % panel_blocks) * most;
        take_block(&b, &grid, block * grid.at_once, panel, end - panel);
        const int64_t behind = outside ? end - panel - b.panels : 0;
        const int64_t lines = ipex_smaller(behind, b.panels) * IPEX_TILE_ROWS;
        const int64_t share = ipex_div_up(lines, tile_blocks);
        b.fetch = ipex_smaller(block * share, lines);
        b.fetch_end = ipex_smaller(b.fetch + share, lines);
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
