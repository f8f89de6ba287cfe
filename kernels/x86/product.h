/* SPDX-License-Identifier: Apache-2.0 */
/* A product with a right operand that has been packed, through the register blocks of a level's
 * convolution. */
#ifndef IPEX_KERNELS_X86_PRODUCT_H
#define IPEX_KERNELS_X86_PRODUCT_H

#include "kernels/product_jobs.h"

typedef void (*product_conv_fn)(const struct ipex_conv_args *, int64_t, int64_t, void *);

/* y = bias or, with resume, y += x [rows][k] times packed [k][n]; of bytes as conv_u8 does. */
struct product {
    product_conv_fn conv;
    const void *x;
    const float *packed, *bias;
    const float *scale; /* this and the next three: conv_u8 only */
    uint8_t *y_u8;
    float y_scale, y_zero;
    float *y;
    int64_t x_row, y_row, rows, k, n;
    int32_t cache_l2;
    bool resume;
};

void ipex_multiply_packed(const struct product *p);

#endif
