/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch of convolutions that put x in another order first. Static inline only, as kernels/jobs.h.
 */
#ifndef IPEX_KERNELS_CONV_PARTS_H
#define IPEX_KERNELS_CONV_PARTS_H

#include "kernels/jobs.h"

/* Rows of x from one line's windows to the next line's; where they have none in common, every
 * line's are counted on their own. Row r, counted from line 0's first, is row r % step of line r /
 * step. */
static inline int64_t ipex_conv_step(const struct ipex_conv_args *args) {
    const int64_t rows = args->segments_h;
    const bool shared = args->x_kh > 0 && ipex_divide(args->x_line, args->x_kh).rest == 0;
    const int64_t step = shared ? ipex_div(args->x_line, args->x_kh) : rows;
    return 0 < step && step < rows ? step : rows;
}

/* Pixels in lanes (ipex_conv_args.planar). A lane does one part of the line: pixels l * part + b of
 * lane l, b in [0, part). In floats: a row of x [elements that a lane sees][lanes]; chains of the
 * lines that take it [segments_h][n][part][lanes], from `chains` on; a finished line [n][line_row];
 * the weights [segments_h][n][k]. */
struct ipex_conv_parts {
    int64_t part;
    int64_t chains, line, line_row, w, total;
};

/* With as many lanes as IPEX_PANEL at least as large as with fewer. */
static inline struct ipex_conv_parts ipex_conv_parts(const struct ipex_conv_args *args,
                                                     int64_t lanes) {
    const int64_t part = ipex_div_up(args->pixels, lanes);
    const int64_t overlap = args->k > args->x_pixel ? args->k - args->x_pixel : 0;
    struct ipex_conv_parts ret; /* with room for blocks of 8 everywhere */
    ret.part = part;
    ret.chains = lanes * (part * args->x_pixel + overlap + 8);
    ret.line = ret.chains + lanes * (args->segments_h * args->n * part + 7);
    ret.line_row = lanes * (part + 1);
    ret.w = ret.line + args->n * ret.line_row;
    ret.total = ret.w + (int64_t)args->segments_h * args->k * args->n;
    return ret;
}

/* Groups of 8 columns (ipex_conv_args.eights), as many of which as fill a vector are a set. In
 * floats: `slots` rows of x of a set [slots][pixels of x][k][groups], of which row r is in slot
 * r % slots, as many as a line sees, or two; then, from w on, a set's weights
 * [segments_h][segments_w][k][8 * groups] and bias [8 * groups]. */
struct ipex_conv_eights {
    int64_t step, apart; /* rows of x from a line to the next, pixels from a pixel to the next */
    int64_t slots, row;
    int64_t w, bias, total;
};

/* Pixels of the largest register block, which it may read in vain. */
enum { IPEX_EIGHTS_ROWS = 14 };

/* Pixels of x that so many pixels of a line see. */
static inline int64_t ipex_eights_pixels(const struct ipex_conv_args *args, int64_t apart,
                                         int64_t pixels) {
    return (pixels - 1) * apart + args->segments_w;
}

/* With IPEX_EIGHTS_GROUPS at least as large as with fewer. */
static inline struct ipex_conv_eights ipex_conv_eights(const struct ipex_conv_args *args,
                                                       int64_t groups) {
    const int64_t steps = (int64_t)args->segments_h * args->segments_w * args->k;
    struct ipex_conv_eights ret = {.step = ipex_conv_step(args), .apart = 1};
    if (args->segments_w > 1)
        ret.apart = ipex_div(args->x_pixel, args->x_kw);
    const int64_t slots = args->segments_h + ret.step;
    ret.slots = 2 * args->pixels <= IPEX_EIGHTS_ROWS ? slots : args->segments_h;
    ret.row = ipex_eights_pixels(args, ret.apart, args->pixels) * groups * args->k;
    ret.w = slots * ret.row + IPEX_EIGHTS_ROWS * ret.apart * groups * args->k;
    ret.w = ipex_div_up(ret.w, IPEX_PANEL) * IPEX_PANEL;
    ret.bias = ret.w + steps * 8 * groups;
    ret.total = ret.bias + 8 * groups;
    return ret;
}

#endif
