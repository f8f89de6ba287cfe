/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear in the order of AMX's products, which take a tile of K at a time: what all
 * levels do before and behind the products. Results are made in tiles of rows of 16 columns, whose
 * rows are pixels of a job, counted through its lines. Include a vec_*.h first, and say what CONV_X
 * and CONV_K_PER_ROW are (kernels/x86/conv_walk.h). */
#ifndef IPEX_KERNELS_X86_CONV_TILES_H
#define IPEX_KERNELS_X86_CONV_TILES_H

#include "kernels/x86/conv_walk.h"

enum {
    TILE_K = IPEX_TILE_ROWS * CONV_K_PER_ROW, /* elements of K that one product takes */
    TILE_WORDS = IPEX_TILE_BYTES / 4,         /* of weights, and of results */
    TILE_ROW_BYTES = IPEX_PANEL * 4,
};

/* Pixels of a job. */
static inline int64_t job_pixels(const struct conv_walk *walk) {
    const int64_t last = walk->job->line_end - 1;
    return (last - walk->job->line) * walk->args->pixels + ipex_conv_line_pixels(walk->args, last);
}

/* Pixels of a job, one after the other through its lines: elements from the walk's x, y and
 * residual to the first one, and how many its line has from there on. */
struct tile_rows {
    int64_t count, left;
    int64_t x, y, residual;
};

static inline struct tile_rows tile_rows_at(const struct conv_walk *walk, int64_t first,
                                            int64_t count) {
    const struct ipex_conv_args *args = walk->args;
    const struct ipex_quotient at = ipex_divide(first, args->pixels);
    const int64_t line = walk->job->line + at.whole;
    return (struct tile_rows){
        .count = count,
        .left = args->pixels - at.rest,
        .x = line * args->x_line + at.rest * args->x_pixel,
        .y = line * args->y_line + at.rest * args->y_pixel,
        .residual = line * args->r_line + at.rest * args->r_pixel,
    };
}

/* From one pixel to the next. */
static inline void next_row(const struct ipex_conv_args *args, struct tile_rows *at) {
    at->x += args->x_pixel;
    at->y += args->y_pixel;
    at->residual += args->r_pixel;
    if (--at->left > 0)
        return;
    at->left = args->pixels;
    at->x += args->x_line - args->pixels * args->x_pixel;
    at->y += args->y_line - args->pixels * args->y_pixel;
    at->residual += args->r_line - args->pixels * args->r_pixel;
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

/* Chains that wait in y. */
static __attribute__((noinline, unused)) void
load_rows(const struct conv_walk *walk, const struct tile_rows *rows, int64_t panel, float *tile) {
    const int64_t column = panel * IPEX_PANEL, columns = tile_columns(walk, panel);
    struct tile_rows at = *rows;
    for (int64_t r = 0; r < rows->count; r++, next_row(walk->args, &at)) {
        AS_WRITTEN;
        load_columns(tile + r * IPEX_PANEL, walk->y + at.y + column, columns);
    }
}

/* LANES of a row's residual (elements from the walk's), zeros behind the first n. */
static inline vec load_residual(const struct conv_walk *walk, int64_t at, int64_t n) {
    return walk->residual_bf16 ? vec_load_bf16_part(walk->residual_bf16 + at, n)
                               : vec_load_part(walk->residual + at, n);
}

static inline void store_result(const struct conv_walk *walk, int64_t at, int64_t n, vec result) {
    if (walk->y_bf16)
        vec_store_bf16_part(walk->y_bf16 + at, n, result);
    else
        vec_store_part(walk->y + at, n, result);
}

/* Rows get the residual and the activation, and go to y. */
static inline __attribute__((always_inline)) void store_rows(const struct conv_walk *walk,
                                                             const struct tile_rows *rows,
                                                             int64_t panel, float *tile,
                                                             int64_t columns) {
    const struct ipex_conv_args *args = walk->args;
    const vec low = vec_set(act_low(args->act, args->act_a));
    const vec high = vec_set(act_high(args->act, args->act_b));
    const int64_t column = panel * IPEX_PANEL;
    bool residual = walk->residual || walk->residual_bf16;
    struct tile_rows at = *rows;
    if (!ipex_act_is_clamp(args->act)) {
        for (int64_t r = 0; residual && r < rows->count; r++, next_row(args, &at)) {
            AS_WRITTEN;
            for (int64_t c = 0; c < IPEX_PANEL; c += LANES) {
                float *to = tile + r * IPEX_PANEL + c;
                const vec more = load_residual(walk, at.residual + column + c, columns - c);
                vec_store(to, vec_add(vec_load(to), more));
            }
        }
        const struct ipex_act_rows all = ipex_act_rows(tile, rows->count, IPEX_PANEL, IPEX_PANEL,
                                                       args->act, args->act_a, args->act_b);
        IPEX_LEVEL(activate)(&all);
        residual = false;
        at = *rows;
    }
    for (int64_t r = 0; r < rows->count; r++, next_row(args, &at)) {
        AS_WRITTEN;
        for (int64_t c = 0; c < IPEX_PANEL; c += LANES) {
            vec value = vec_load(tile + r * IPEX_PANEL + c);
            if (residual)
                value = vec_add(value, load_residual(walk, at.residual + column + c, columns - c));
            store_result(walk, at.y + column + c, columns - c, vec_min(high, vec_max(low, value)));
        }
    }
}

/* The same, compiled once for panels whose columns all exist, and once for the others; with AVX2, a
 * panel of which is two vectors of code, once. */
static __attribute__((noinline, unused)) void finish_rows(const struct conv_walk *walk,
                                                          const struct tile_rows *rows,
                                                          int64_t panel, float *tile) {
    const int64_t columns = tile_columns(walk, panel);
    if (LANES == IPEX_PANEL && columns == IPEX_PANEL)
        store_rows(walk, rows, panel, tile, IPEX_PANEL);
    else
        store_rows(walk, rows, panel, tile, columns);
}

/* Weights of a panel's first tile of a segment. */
static inline const float *tile_weights(const struct conv_walk *walk, int64_t segment_h,
                                        int64_t segment_w, int64_t panel) {
    return walk->w + segment_h * walk->w_kh + segment_w * walk->w_kw +
           panel * ipex_conv_panel_words(walk->args, CONV_K_PER_ROW);
}

#endif
