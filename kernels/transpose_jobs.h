/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolution as convolutions: outputs whose places differ by a multiple of the stride
 * (a phase) see the same taps, so every phase is a convolution of x with every stride-th tap, at
 * pixel stride 1. At the borders some of a phase's taps fall outside x: a phase is cut into
 * rectangles within which all outputs have the same taps. No zeros are multiplied anywhere. */
#ifndef IPEX_KERNELS_TRANSPOSE_JOBS_H
#define IPEX_KERNELS_TRANSPOSE_JOBS_H

#include "kernels/jobs.h"

/* A rectangle as a convolution, but for its operands and its activation: x, y and bias are so many
 * elements from the transposed convolution's, and w so many floats. */
struct ipex_transpose_rectangle {
    struct ipex_conv_args conv;
    struct ipex_conv_job job;
    int64_t x, w, y, bias;
    int64_t w_kw, w_kh; /* floats from a tap to the next one, and to the next kernel row's */
};

typedef void ipex_transpose_visit(const void *level, const struct ipex_conv_transpose_args *args,
                                  const struct ipex_transpose_rectangle *rectangle);

/* All rectangles of a job, with weights of k_per_row elements of K in a row of a panel. */
void ipex_transpose_rectangles(const struct ipex_conv_transpose_args *args,
                               const struct ipex_conv_job *job, int64_t k_per_row,
                               ipex_transpose_visit *visit, const void *level);

#endif
