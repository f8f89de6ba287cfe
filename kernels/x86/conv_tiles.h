/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on bf16 in the order of tdpbf16ps (profile bf16-amx): what all levels do
 * before and behind the products. Results are made in tiles of rows of 16 columns in L1, whose rows
 * are pixels of a job, counted through its lines. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_CONV_TILES_H
#define IPEX_KERNELS_X86_CONV_TILES_H

#define CONV_X         uint16_t
#define CONV_K_PER_ROW 2
#include "kernels/x86/conv_walk.h"

enum {
    TILE_K = 32,                      /* elements of K that one product takes */
    TILE_WORDS = IPEX_TILE_BYTES / 4, /* of weights, and of results */
    TILE_ROWS_MOST = IPEX_TILE_ROWS,  /* of results */
    TILE_ROW_BYTES = IPEX_PANEL * 4,
};

/* Rows of a tile: elements from the walk's x, y and residual to theirs. */
struct tile_rows {
    int64_t count;
    int64_t x[TILE_ROWS_MOST], y[TILE_ROWS_MOST], residual[TILE_ROWS_MOST];
};

/* Pixels of a job. */
static inline int64_t job_pixels(const struct conv_walk *walk) {
    const int64_t last = walk->job->line_end - 1;
    return (last - walk->job->line) * walk->args->pixels + ipex_conv_line_pixels(walk->args, last);
}

/* Rows for `count` pixels of a job from its `first` on. */
static __attribute__((noinline)) void tile_rows_at(const struct conv_walk *walk, int64_t first,
                                                   int64_t count, struct tile_rows *ret) {
    const struct ipex_conv_args *args = walk->args;
    int64_t line = walk->job->line + first / args->pixels, pixel = first % args->pixels;
    ret->count = count;
    for (int64_t r = 0; r < count; r++) {
        ret->x[r] = line * args->x_line + pixel * args->x_pixel;
        ret->y[r] = line * args->y_line + pixel * args->y_pixel;
        ret->residual[r] = line * args->r_line + pixel * args->r_pixel;
        if (++pixel == args->pixels) {
            pixel = 0;
            line++;
        }
    }
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

/* The first `filled` rows get what chains begin with; behind the last pixel that is of no use. */
static __attribute__((noinline)) void begin_tile(const struct conv_walk *walk,
                                                 const struct tile_rows *rows, int64_t panel,
                                                 float *tile, int64_t filled) {
    const int64_t column = panel * IPEX_PANEL, columns = tile_columns(walk, panel);
    for (int64_t r = 0; r < filled; r++) {
        const bool resume = walk->args->resume && r < rows->count;
        const float *from = resume ? walk->y + rows->y[r] : walk->bias;
        load_columns(tile + r * IPEX_PANEL, from + column, columns);
    }
}

/* Rows from `first` on get the residual and the activation, and go to y. */
static __attribute__((noinline)) void finish_tile(const struct conv_walk *walk,
                                                  const struct tile_rows *rows, int64_t panel,
                                                  float *tile, int64_t first) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t column = panel * IPEX_PANEL, columns = tile_columns(walk, panel);
    const vec low = vec_set(act_low(args->act, args->act_a));
    const vec high = vec_set(act_high(args->act, args->act_b));
    for (int64_t r = first; walk->residual && r < rows->count; r++)
        for (int64_t c = 0; c < columns; c += LANES) {
            const float *from = walk->residual + rows->residual[r] + column + c;
            float *to = tile + r * IPEX_PANEL + c;
            vec_store(to, vec_add(vec_load(to), vec_load_part(from, columns - c)));
        }
    if (!act_is_clamp(args->act)) {
        const struct ipex_act_rows whole =
            ipex_act_rows(tile + first * IPEX_PANEL, rows->count - first, IPEX_PANEL, IPEX_PANEL,
                          args->act, args->act_a, args->act_b);
        IPEX_LEVEL(activate)(&whole);
    }
    for (int64_t r = first; r < rows->count; r++)
        for (int64_t c = 0; c < columns; c += LANES) {
            const vec value = vec_load(tile + r * IPEX_PANEL + c);
            vec_store_part(walk->y + rows->y[r] + column + c, columns - c,
                           vec_min(high, vec_max(low, value)));
        }
}

/* Weights of a panel's first tile of a segment. */
static inline const float *tile_weights(const struct conv_walk *walk, int64_t segment_h,
                                        int64_t segment_w, int64_t panel) {
    return walk->w + segment_h * walk->w_kh + segment_w * walk->w_kw +
           panel * ipex_conv_panel_words(walk->args, CONV_K_PER_ROW);
}

#endif
