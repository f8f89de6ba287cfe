/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution as a model would state it, and the arguments of a kernel that follow from it. */
#ifndef CONV_SHAPE_H
#define CONV_SHAPE_H

#include "kernels/kernels.h"

/* What is left out (0) is 1, but last_pixels, which is pixels then. A matrix is one line. Gaps are
 * unused elements between pixels. */
struct conv_shape {
    int32_t images, lines, pixels, last_pixels;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    int32_t pad_top, pad_bottom; /* of the rows that windows see, so many are no rows of x */
    int32_t pad_left, pad_right; /* likewise of columns, where `cut_taps` */
    bool cut_taps;               /* taps beside x are left out */
    bool by_columns;             /* and kernels taken by columns, where their rows are segments */
    int32_t groups, k, n;        /* channels per group: in, out */
    int32_t x_gap, y_gap, r_gap;
};

struct conv_shape conv_shape_whole(const struct conv_shape *shape);

/* The strides of images that lie dense but for gaps, x just as large as the windows reach; a kernel
 * row is one segment where it can be. One job for all, no activation, 1 MiB of L2. */
struct ipex_conv_args conv_shape_args(const struct conv_shape *shape);

#endif
