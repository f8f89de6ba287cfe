/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution on f32 by groups of 8 columns (ipex_conv_args.eights), as many of them side by side
 * as a vector has lanes for: two with AVX-512, one with AVX2. Panels would leave half of it empty,
 * and a kernel row's taps lie apart, each too short a chain. So the rows of x that a line sees are
 * copied, such that a set's groups take turns, k by k, and a kernel row is one run of steps: a
 * step's operand is one load that repeats what the groups have there, and lanes take turns as well.
 * The chain of an output is that of kernels/ref/conv_ref.c. What is done once a line is in
 * kernels/x86/conv_eights.c, the same code for every level; the rest is a level's own
 * (kernels/x86/conv_eights_body.h). */
#ifndef IPEX_KERNELS_X86_CONV_EIGHTS_H
#define IPEX_KERNELS_X86_CONV_EIGHTS_H

#include <stdbool.h>

#include "kernels/conv_parts.h"
#include "kernels/x86/activate.h"

enum { EIGHT = 8, EIGHTS_MOST = IPEX_EIGHTS_ROWS };

/* Chains of pixels: the first half of them at x, the others at x_second: the following pixels, or
 * those of the next line, whose rows begin in another slot. So do the results at y and y_second,
 * group by group. x and its strides in bytes. */
struct eights_block {
    const char *x, *x_second, *slots_end;
    const float *w, *init;
    int64_t x_row, x_kh, x_slots; /* from a pixel, from a kernel row to the next; all slots */
    int64_t rows, steps;          /* of the kernel, and of one of its rows */
    float *y, *y_second;
    int64_t y_row;
    float lo, hi; /* clamp of the store */
};

/* Where a line's results go: so many columns. */
struct eights_line {
    float *y;
    const float *residual;
    int64_t columns;
};

struct eights_level {
    int64_t groups; /* of a set: lanes / 8 */
    /* Pixels of a set, whose second group begins `apart` floats behind the first one; 0: there is
     * none, and its lanes, which nobody stores, are the first one's. */
    void (*copy)(const float *x, int64_t x_pixel, int64_t pixels, int64_t k, int64_t apart,
                 float *to);
    /* k rows of 8 weights of either group, likewise; pairs of them in words where they are bf16. */
    void (*weights)(const float *w, int64_t apart, int64_t k, bool bf16, float *to);
    /* By their pixels: 8, 12 or 14. */
    void (*block[EIGHTS_MOST + 1])(const struct eights_block *);
    /* Pixels [pixel, pixel + pixels) of a line, of chains in a tile. */
    void (*finish)(const struct ipex_conv_args *args, const struct eights_line *line, int64_t pixel,
                   int64_t pixels, const float *chains);
    void (*activate)(const struct ipex_act_rows *);
};

void ipex_conv_eights_walk(const struct eights_level *level, const struct ipex_conv_args *args,
                           int64_t job_begin, int64_t job_end, float *scratch, bool bf16);

/* The kernels; bf16: weights are, and are widened. */
void ipex_k_conv_eights__avx2(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                              float *scratch, bool bf16);
void ipex_k_conv_eights__avx512(const struct ipex_conv_args *args, int64_t job_begin,
                                int64_t job_end, float *scratch, bool bf16);

#endif
