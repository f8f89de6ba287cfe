/* SPDX-License-Identifier: Apache-2.0 */
/* The last columns of a convolution where they are few, and would leave most lanes of a panel empty
 * (ipex_conv_args.few): pixels in lanes. 8 pixels by 8 elements of x are transposed in registers,
 * and each of the 8 vectors has a product with every column's weight, broadcast. Two groups of 8
 * pixels go together, which keeps chains enough in flight; where a line ends, they overlap. The
 * chain of an output is that of kernels/ref/conv_ref.c. */
#ifndef IPEX_KERNELS_X86_CONV_FEW_H
#define IPEX_KERNELS_X86_CONV_FEW_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernels.h"

/* Pixels of a group, pixels whose chains are kept together, and columns of one pass over x. */
enum { FEW_GROUP = 8, FEW_PIXELS = 64, FEW_AT_ONCE = 4 };

/* Two groups of pixels in one segment. */
struct few_groups {
    const float *x0, *x1; /* their first pixels' elements */
    int64_t x_pixel;
    const float *w;    /* rows of a panel, from the first column on */
    float *chains;     /* [column][FEW_PIXELS]: of one group, then of the other */
    int64_t steps;     /* of 8 elements */
    const float *next; /* NULL, or what is fetched meanwhile: x of the groups that come next */
    int64_t next_step; /* floats, from what a step fetches of it to what the next one does */
};

/* A level's: whole steps of up to FEW_AT_ONCE columns (kernels/x86/conv_few_body.h). */
void ipex_conv_few__avx2(const struct few_groups *g, int64_t columns);
void ipex_conv_few__avx512(const struct few_groups *g, int64_t columns);

/* What is left of a segment behind whole steps, 1 to 7 elements; there is a step at least. */
void ipex_conv_few_rest__avx2(const struct few_groups *g, int64_t columns, int64_t rest);

/* Finished chains of columns, `row` floats apart, at least FEW_GROUP more than pixels. */
struct ipex_columns {
    float *chains;
    int64_t row, columns, pixels;
    const float *residual; /* NULL, or of the first pixel's first column */
    float *y;              /* likewise */
    bool bias_alone;       /* no product has made its denormals zero */
};

struct ipex_act_rows; /* kernels/x86/activate.h */

/* Residual, activation, and all columns of a pixel side by side, as args says; activate: the
 * level's. */
void ipex_conv_finish_columns(const struct ipex_conv_args *args,
                              void (*activate)(const struct ipex_act_rows *rows),
                              const struct ipex_columns *columns);

struct conv_level; /* kernels/x86/conv_cuts.h */
struct conv_walk;

/* The last panel of walk's job; false where it has to be walked like the others. */
bool ipex_conv_few(const struct conv_walk *walk, int64_t panel);

/* A transposed convolution whose windows touch (ipex_conv_transpose_args.touching): columns of all
 * kernel rows together. scratch: ipex_conv_transpose_scratch. */
void ipex_conv_few_touching(const struct conv_level *level,
                            const struct ipex_conv_transpose_args *args, int64_t job_begin,
                            int64_t job_end, float *scratch);

#endif
