/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch of a convolution with pixels in lanes (ipex_conv_args.planar). Rows of x are taken apart
 * into planes: element k of pixel p is element p + k / x_pixel of plane k % x_pixel, so that
 * neighbouring pixels are neighbours. Static inline only, as kernels/jobs.h. */
#ifndef IPEX_KERNELS_CONV_PLANES_H
#define IPEX_KERNELS_CONV_PLANES_H

#include "kernels/jobs.h"

/* In floats: x [segments_h][planes][plane] in a ring of rows, then chains [n][out_row]. */
struct ipex_conv_planes {
    int64_t planes, plane, row;
    int64_t columns; /* of a plane that exist: pixels, and those that only later taps see */
    int64_t out, out_row, total;
};

static inline struct ipex_conv_planes ipex_conv_planes(const struct ipex_conv_args *args) {
    const int64_t pixels = ipex_div_up(args->pixels, IPEX_PANEL) * IPEX_PANEL;
    const int64_t later = (args->k - 1) / args->x_pixel;
    struct ipex_conv_planes ret;
    ret.planes = args->k < args->x_pixel ? args->k : args->x_pixel;
    ret.plane = pixels + ipex_div_up(later, IPEX_PANEL) * IPEX_PANEL;
    if (ret.plane % 1024 == 0) /* 4 KiB: all planes would share a few sets of L1 */
        ret.plane += IPEX_PANEL;
    ret.row = ret.planes * ret.plane;
    ret.columns = args->pixels + later;
    ret.out = args->segments_h * ret.row;
    ret.out_row = pixels;
    ret.total = ret.out + args->n * pixels;
    return ret;
}

#endif
