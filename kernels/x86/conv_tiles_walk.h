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

/* All of K for these pixels and panels. */
static __attribute__((noinline)) void tile_block(const struct conv_walk *walk,
                                                 const struct tile_rows *rows, int64_t panel,
                                                 int64_t panels);

static void walk_tiles(const struct conv_walk *walk, int64_t begin, int64_t end) {
    const int64_t pixels = job_pixels(walk);
    const int64_t row_blocks = ipex_div_up(pixels, BLOCK_ROWS);
    const int64_t panel_blocks = ipex_div_up(end - begin, BLOCK_PANELS);
    const bool outside = walk->args->panels_outside;
    for (int64_t i = 0; i < row_blocks * panel_blocks; i++) {
        const int64_t first = (outside ? i % row_blocks : i / panel_blocks) * BLOCK_ROWS;
        const int64_t panel = begin + (outside ? i / row_blocks : i % panel_blocks) * BLOCK_PANELS;
        const struct tile_rows rows =
            tile_rows_at(walk, first, ipex_smaller(pixels - first, BLOCK_ROWS));
        tile_block(walk, &rows, panel, ipex_smaller(end - panel, BLOCK_PANELS));
    }
}

#endif
