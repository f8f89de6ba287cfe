/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels on u8 and i8 reach what makes results of their exact sums (scale_sums_body.h):
 * scaled, with bias and residual, activated, and stored as f32 or as u8. */
#ifndef IPEX_KERNELS_X86_SCALE_SUMS_H
#define IPEX_KERNELS_X86_SCALE_SUMS_H

#include "kernels/kernels.h"
#include "kernels/x86/activate.h"

/* What a clamp leaves: of bytes where they are made, else of what they are made from. */
struct sums_bounds {
    float low, high;
    bool units; /* what becomes bytes is scaled by 1, and the zero point is a byte */
};

/* Rows of sums, `row` words apart, and where their results go: rows [0, HALF) of y from y on, rows
 * [HALF, rows) from y + y_half on, with HALF half of rows rounded up; those of the residual
 * likewise. Elements from args' pointers. */
struct sums {
    struct sums_bounds bounds;
    float *sum;
    int64_t rows, row, columns;
    int64_t column; /* of scale, bias and middle */
    int64_t y, y_row, y_half;
    int64_t residual, r_row, r_half;
};

/* Columns of which there are loops that make bytes of four vectors at a time, scaled by 1. */
enum { SUMS_COLUMNS = 32 };

/* Integers of 32 bits hold it. */
#define SUMS_MOST 0x1p30f

/* Once for all levels (conv_u8_avx2.c). */
struct sums_bounds ipex_k_sums_bounds__avx2(const struct ipex_conv_args *args);

void ipex_k_scale_sums__avx2(const struct ipex_conv_args *args, const struct sums *sums);
void ipex_k_scale_sums__avx512(const struct ipex_conv_args *args, const struct sums *sums);

#endif
