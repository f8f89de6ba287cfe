/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch of a convolution with pixels in lanes (ipex_conv_args.planar). A lane does one part of
 * the line: pixels l * part + b of lane l, b in [0, part). Static inline only, as kernels/jobs.h.
 */
#ifndef IPEX_KERNELS_CONV_PARTS_H
#define IPEX_KERNELS_CONV_PARTS_H

#include "kernels/jobs.h"

/* In floats: a row of x [elements that a lane sees][lanes]; chains of the lines that take it
 * [segments_h][n][part][lanes], from `chains` on; a finished line [n][line_row]; the weights
 * [segments_h][n][k]. */
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

#endif
