/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear in the order of AMX's products, which take a tile of K at a time: what all
 * levels share. Results are made in tiles of rows of 16 columns, whose rows are pixels of a job,
 * counted through its lines. Include a vec_*.h first, and say what CONV_X and CONV_K_PER_ROW are
 * (kernels/x86/conv_walk.h). */
#ifndef IPEX_KERNELS_X86_CONV_TILES_H
#define IPEX_KERNELS_X86_CONV_TILES_H

#include "kernels/x86/conv_walk.h"

enum {
    TILE_K = IPEX_TILE_ROWS * CONV_K_PER_ROW, /* elements of K that one product takes */
    TILE_WORDS = IPEX_TILE_BYTES / 4,         /* of weights, and of results */
    TILE_ROW_BYTES = IPEX_PANEL * 4,
};

/* Loops beside the products stay as they are written: compilers would vectorise and unroll them to
 * several times the code, of which a copy is in every kernel. */
#define AS_WRITTEN __asm__ volatile("")

/* Pixels of a job. */
static inline int64_t job_pixels(const struct conv_walk *walk) {
    const int64_t last = walk->job->line_end - 1;
    return (last - walk->job->line) * walk->args->pixels + ipex_conv_line_pixels(walk->args, last);
}

/* Columns of a panel. */
static inline int64_t tile_columns(const struct conv_walk *walk, int64_t panel) {
    const int64_t left = walk->args->n - panel * IPEX_PANEL;
    return left < IPEX_PANEL ? left : IPEX_PANEL;
}

static inline void load_columns(float *to, const float *from, int64_t columns) {
    for (int64_t c = 0; c < IPEX_PANEL; c += LANES)
        vec_store(to + c, vec_load_part(from + c, columns - c));
}

/* Weights of a panel's first tile of a segment. */
static inline const float *tile_weights(const struct conv_walk *walk, int64_t segment_h,
                                        int64_t segment_w, int64_t panel) {
    return walk->w + segment_h * walk->w_kh + segment_w * walk->w_kw +
           panel * ipex_conv_panel_words(walk->args, CONV_K_PER_ROW);
}

#endif
