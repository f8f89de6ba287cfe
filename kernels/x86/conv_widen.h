/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution on bf16 x by FMA: of a block of rows, a chunk of K is widened into L1 once for up to
 * 16 panels, so that the products need no more instructions than those of f32 but for the weights.
 * Chains are parked in L1 between the chunks. Included before kernels/x86/conv_blocks_*.h, which
 * then find x in rows of floats: the even elements in one plane, the odd ones in the next; their
 * b->k counts pairs. */
#ifndef IPEX_KERNELS_X86_CONV_WIDEN_H
#define IPEX_KERNELS_X86_CONV_WIDEN_H

#define CONV_WIDENS
#define CONV_ROUNDS
#define BLOCK_X float
enum { PANELS_ONCE = 16 };

#include "kernels/x86/conv_halves.h"
#include "kernels/x86/conv_walk.h"

enum {
    WIDE_PAIRS = 192,                      /* of a segment in a chunk */
    WIDE_ROW = WIDE_PAIRS + LANES,         /* whole vectors are stored */
    BLOCK_ROWS = 14,                       /* at most, of all levels */
    WIDE_PLANE = BLOCK_ROWS * WIDE_ROW,    /* two of them: 23 KiB */
    PARKED_ROW = PANELS_ONCE * IPEX_PANEL, /* of all rows: 14 KiB */
};

#define X_AT(p) vec_set((p)[ODD * WIDE_PLANE])

/* `count` elements at x. */
static inline void widen(const uint16_t *x, int64_t count, float *to) {
    int64_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES)
        widen_elements(x + i, 2 * LANES, to + i / 2, to + i / 2 + WIDE_PLANE);
    if (i < count)
        widen_elements(x + i, count - i, to + i / 2, to + i / 2 + WIDE_PLANE);
}

/* `segments` of them from `at` on: whole, or, of a single one, elements [k, k + count). run: pairs
 * of either half of the rows where these overlap and are widened together, else 0. */
struct widen_chunk {
    struct widen_place at;
    int64_t segments, k, count, run;
    bool first, last;
};

/* Pixels whose windows overlap, so that each half of a block's rows is one run of elements, which
 * is widened once; 0 where they do not, or where a run is longer than the planes. */
static inline int64_t shared_run(const struct conv_block *b, int64_t rows) {
    const int64_t run = (((rows + 1) / 2 - 1) * b->x_row + b->k) / 2;
    const bool overlap = b->x_row < b->k && b->x_row % 2 == 0 && b->k % 2 == 0;
    return overlap && 2 * run + LANES <= WIDE_PLANE ? run : 0;
}

/* Whole segments that fit into a chunk, at least one. */
static inline int64_t chunk_segments(const struct conv_block *b, int64_t run) {
    if (run > 0)
        return ipex_div(WIDE_PLANE - LANES, 2 * run);
    return b->k > 0 && b->k < 2 * WIDE_PAIRS ? ipex_div(2 * WIDE_PAIRS, b->k + b->k % 2) : 1;
}

/* One segment's part of a chunk. */
static __attribute__((noinline)) void widen_segment(const struct conv_block *b,
                                                    const struct widen_chunk *chunk,
                                                    const uint16_t *x, int64_t rows, float *to) {
    if (chunk->run > 0) {
        widen(x, 2 * chunk->run, to);
        if (rows > 1)
            widen(x + b->x_half, (rows / 2 - 1) * b->x_row + b->k, to + chunk->run);
    } else {
        for (int64_t r = 0; r < rows; r++)
            widen(x + chunk->k + row_at(rows, b->x_row, b->x_half, r), chunk->count,
                  to + r * WIDE_ROW);
    }
}

/* Of a chunk's blocks what b has for all of them: x widened, and chains that were parked or are. */
static inline void widen_chunk(const struct conv_block *b, const struct widen_chunk *chunk,
                               int64_t rows, float *x, float *parked, struct conv_block *ret) {
    const int64_t pairs = (chunk->count + 1) / 2, half = (rows + 1) / 2;
    const int64_t segment = chunk->run > 0 ? 2 * chunk->run : pairs;
    struct widen_place at = chunk->at;
    for (int64_t s = 0; s < chunk->segments; s++, next_segment(b, &at))
        widen_segment(b, chunk, at.x, rows, x + s * segment);
    ret->x = x;
    ret->x_row = chunk->run > 0 ? b->x_row / 2 : WIDE_ROW;
    ret->x_half = chunk->run > 0 ? chunk->run : half * WIDE_ROW;
    ret->x_kw = ret->x_kh = segment;
    ret->k = (int32_t)pairs;
    ret->segments = (int32_t)chunk->segments;
    ret->tap_w = chunk->at.tap_w;
    ret->w = chunk->at.w + chunk->k / 2 * IPEX_PANEL;
    ret->init = chunk->first ? b->init : parked;
    ret->init_row = chunk->first ? b->init_row : PARKED_ROW;
    ret->init_half = chunk->first ? b->init_half : half * PARKED_ROW;
    ret->residual = chunk->last ? b->residual : NULL;
    ret->residual_bf16 = chunk->last ? b->residual_bf16 : NULL;
    ret->y_bf16 = chunk->last ? b->y_bf16 : NULL;
    ret->y = chunk->last ? b->y : parked;
    ret->y_row = chunk->last ? b->y_row : PARKED_ROW;
    ret->y_half = chunk->last ? b->y_half : half * PARKED_ROW;
    ret->clamps_low = chunk->last && b->clamps_low;
    ret->clamps_high = chunk->last && b->clamps_high;
}

/* Up to PANELS_ONCE panels, as walk_panels. */
static __attribute__((noinline)) void walk_chunks(const struct conv_walk *walk,
                                                  const struct conv_part *part,
                                                  struct conv_block *b, int64_t rows,
                                                  int64_t panels, int64_t columns) {
    _Alignas(64) float x[2 * WIDE_PLANE], parked[BLOCK_ROWS * PARKED_ROW];
    struct widen_chunk chunk = {
        .at = {.x = b->x, .w = b->w, .tap_w = b->tap_w},
        .run = shared_run(b, rows),
        .first = true,
    };
    struct conv_block wide = *b;
    struct conv_part now = *part;
    const int64_t count = chunk.run > 0 || b->k < 2 * WIDE_PAIRS ? b->k : 2 * WIDE_PAIRS;
    const int64_t most = chunk_segments(b, chunk.run);
    for (int64_t left = b->segments;; chunk.first = false) {
        const int64_t k_left = b->k - chunk.k;
        chunk.segments = most < left ? most : left;
        chunk.count = k_left < count ? k_left : count;
        chunk.last = chunk.segments == left && chunk.count == k_left;
        widen_chunk(b, &chunk, rows, x, parked, &wide);
        now.last = chunk.last && part->last;
        walk_block(walk, &now, &wide, rows, panels, columns);
        if (chunk.last)
            break;
        chunk.k += chunk.count;
        if (chunk.k == b->k) {
            chunk.k = 0;
            left -= chunk.segments;
            for (int64_t s = 0; s < chunk.segments; s++)
                next_segment(b, &chunk.at);
        }
    }
    b->pending = wide.pending;
}

/* So many columns on. Out of line: gcc would make a loop of walk_widened for every way in which
 * pointers are there or not. */
static __attribute__((noinline)) void next_columns(struct conv_block *b, int64_t columns) {
    b->init += columns;
    if (b->residual)
        b->residual += columns;
    if (b->residual_bf16)
        b->residual_bf16 += columns;
    if (b->y_bf16)
        b->y_bf16 += columns;
    else
        b->y += columns;
}

static __attribute__((noinline)) void walk_widened(const struct conv_walk *walk,
                                                   const struct conv_part *part,
                                                   struct conv_block *b, int64_t rows, int64_t all,
                                                   int64_t columns) {
    enum { COLUMNS_ONCE = PANELS_ONCE * IPEX_PANEL };
    for (int64_t panels = all; panels > 0; panels -= PANELS_ONCE, columns -= COLUMNS_ONCE) {
        walk_chunks(walk, part, b, rows, ipex_smaller(panels, PANELS_ONCE), columns);
        b->w += PANELS_ONCE * b->w_panel;
        next_columns(b, COLUMNS_ONCE);
    }
}

#endif
