/* SPDX-License-Identifier: Apache-2.0 */
/* A nest of loops over several strided operands, made as short as it can be: what copies and
 * elementwise kernels are bound to. */
#ifndef IPEX_RUNTIME_LOOPS_H
#define IPEX_RUNTIME_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#define IPEX_LOOPS_RANK     8
#define IPEX_LOOPS_OPERANDS 9

struct ipex_loops {
    int32_t rank, operands;
    int64_t dims[IPEX_LOOPS_RANK];
    int64_t stride[IPEX_LOOPS_OPERANDS][IPEX_LOOPS_RANK]; /* elements; 0: broadcast */
};

/* Drops dims of 1 and merges neighbours that every operand walks as one, but leaves the outermost
 * `keep` loops as they are. The innermost loop grows by merging only while it stays <= inner_max,
 * so that outer loops remain to be split between threads. At least one loop is left beside those
 * kept.
 */
void ipex_loops_collapse(struct ipex_loops *loops, int32_t keep, int64_t inner_max);

/* Strides of x as y's dims see it: aligned at the last, 0 where it is broadcast. */
void ipex_loops_broadcast(const int64_t *x_dims, const int64_t *x_strides, int32_t x_rank,
                          int32_t y_rank, int64_t *ret);

/* Whether dims [begin, end) with these strides are walked as one dim (ret_stride: its stride). Dims
 * of 1 do not count. */
bool ipex_loops_merge(const int64_t *dims, const int64_t *strides, int32_t begin, int32_t end,
                      int64_t *ret_stride);

#endif
