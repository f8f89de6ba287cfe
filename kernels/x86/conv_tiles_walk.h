/* SPDX-License-Identifier: Apache-2.0 */
/* How vector instructions walk a job of kernels/x86/conv_tiles.h: in blocks of pixels and panels,
 * whose results stay in L1. The includer defines tile_block. */
#ifndef IPEX_KERNELS_X86_CONV_TILES_WALK_H
#define IPEX_KERNELS_X86_CONV_TILES_WALK_H

#include "kernels/x86/conv_tiles.h"

enum {
    BLOCK_ROWS = 12,  /* a multiple of the rows that a level multiplies at once */
    BLOCK_PANELS = 8, /* whose results take 6 KiB of stack */
    BLOCK_TILE = BLOCK_ROWS * IPEX_PANEL,
};

/* Rows of a tile: elements from the walk's x, y and residual to theirs. */
struct tile_rows {
    int64_t count;
    int64_t x[BLOCK_ROWS], y[BLOCK_ROWS], residual[BLOCK_ROWS];
};

/* Rows for `count` pixels of a job from its `first` on. */
static __attribute__((noinline)) void tile_rows_at(const struct conv_walk *walk, int64_t first,
                                                   int64_t count, struct tile_rows *ret) {
    const struct ipex_conv_args *args = walk->args;
    int64_t line = walk->job->line + first / args->pixels, pixel = first % args->pixels;
    ret->count = count;
    for (int64_t r = 0; r < count; r++) {
        AS_WRITTEN;
        ret->x[r] = line * args->x_line + pixel * args->x_pixel;
        ret->y[r] = line * args->y_line + pixel * args->y_pixel;
        ret->residual[r] = line * args->r_line + pixel * args->r_pixel;
        if (++pixel == args->pixels) {
            pixel = 0;
            line++;
        }
    }
}

/* Rows get the residual and the activation, and go to y. */
static __attribute__((noinline)) void finish_tile(const struct conv_walk *walk,
                                                  const struct tile_rows *rows, int64_t panel,
                                                  float *tile) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t column = panel * IPEX_PANEL, columns = tile_columns(walk, panel);
    const vec low = vec_set(act_low(args->act, args->act_a));
    const vec high = vec_set(act_high(args->act, args->act_b));
    for (int64_t r = 0; walk->residual && r < rows->count; r++)
        for (int64_t c = 0; c < columns; c += LANES) {
            AS_WRITTEN;
            const float *from = walk->residual + rows->residual[r] + column + c;
            float *to = tile + r * IPEX_PANEL + c;
            vec_store(to, vec_add(vec_load(to), vec_load_part(from, columns - c)));
        }
    if (!act_is_clamp(args->act)) {
        const struct ipex_act_rows whole = ipex_act_rows(tile, rows->count, IPEX_PANEL, IPEX_PANEL,
                                                         args->act, args->act_a, args->act_b);
        IPEX_LEVEL(activate)(&whole);
    }
    for (int64_t r = 0; r < rows->count; r++)
        for (int64_t c = 0; c < columns; c += LANES) {
            AS_WRITTEN;
            const vec value = vec_load(tile + r * IPEX_PANEL + c);
            vec_store_part(walk->y + rows->y[r] + column + c, columns - c,
                           vec_min(high, vec_max(low, value)));
        }
}

/* All of K for these pixels and panels. */
static __attribute__((noinline)) void tile_block(const struct conv_walk *walk,
                                                 const struct tile_rows *rows, int64_t panel,
                                                 int64_t panels);

static void walk_tiles(const struct conv_walk *walk, int64_t begin, int64_t end) {
    const int64_t pixels = job_pixels(walk);
    const int64_t row_blocks = ipex_div_up(pixels, BLOCK_ROWS);
    const int64_t panel_blocks = ipex_div_up(end - begin, BLOCK_PANELS);
    const bool outside = walk->args->panels_outside;
    struct tile_rows rows;
    for (int64_t i = 0; i < row_blocks * panel_blocks; i++) {
        const int64_t first = (outside ? i % row_blocks : i / panel_blocks) * BLOCK_ROWS;
        const int64_t panel = begin + (outside ? i / row_blocks : i % panel_blocks) * BLOCK_PANELS;
        const int64_t rows_left = pixels - first, panels_left = end - panel;
        tile_rows_at(walk, first, rows_left < BLOCK_ROWS ? rows_left : BLOCK_ROWS, &rows);
        tile_block(walk, &rows, panel, panels_left < BLOCK_PANELS ? panels_left : BLOCK_PANELS);
    }
}

#endif
