/* SPDX-License-Identifier: Apache-2.0 */
/* Random batches of matrices, for products of two. */
#ifndef CHECKKERN_MATRICES_H
#define CHECKKERN_MATRICES_H

#include "tests/checkkern/checkkern.h"

/* How [rows][columns] of a batch lie, dense along columns; stride 0: the batch is broadcast. In
 * elements, of which there are so many. */
struct matrices_place {
    int64_t row, batch[8], elements;
};
/* Rows may have gaps; dims of the batch may be broadcast where that is said. */
struct matrices_place matrices_random(struct rng *rng, const int64_t *batch, int32_t rank,
                                      int64_t rows, int64_t columns, bool broadcast);

/* Elements before matrix `index` of the batch, counted row-major. */
int64_t matrices_offset(const int64_t *batch, const int64_t *strides, int32_t rank, int64_t index);

/* Up to two dims of a batch; returns how many matrices it has. */
int64_t matrices_random_batch(struct rng *rng, int64_t *batch, int32_t *ret_rank);
/* Rows or columns: mostly few. */
int64_t matrices_random_size(struct rng *rng);

#endif
