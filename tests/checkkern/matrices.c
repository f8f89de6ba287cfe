/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/checkkern/matrices.h"

enum { MOST_BATCH = 3 };

struct matrices_place matrices_random(struct rng *rng, const int64_t *batch, int32_t rank,
                                      int64_t rows, int64_t columns, bool broadcast) {
    struct matrices_place ret = {.row = columns + (rng_one_in(rng, 3) ? rng_range(rng, 1, 9) : 0)};
    int64_t stride = rows * ret.row;
    ret.elements = (rows - 1) * ret.row + columns;
    for (int32_t i = rank - 1; i >= 0; i--) {
        if (broadcast && rng_one_in(rng, 2))
            continue;
        ret.batch[i] = stride;
        ret.elements += (batch[i] - 1) * stride;
        stride *= batch[i];
    }
    return ret;
}

int64_t matrices_offset(const int64_t *batch, const int64_t *strides, int32_t rank, int64_t index) {
    int64_t ret = 0;
    for (int32_t i = rank - 1; i >= 0; index /= batch[i--])
        ret += index % batch[i] * strides[i];
    return ret;
}

int64_t matrices_random_batch(struct rng *rng, int64_t *batch, int32_t *ret_rank) {
    int64_t count = 1;
    *ret_rank = (int32_t)rng_range(rng, 0, 2);
    for (int32_t i = 0; i < *ret_rank; i++)
        count *= batch[i] = rng_range(rng, 1, MOST_BATCH);
    return count;
}

int64_t matrices_random_size(struct rng *rng) {
    return rng_range(rng, 1, rng_one_in(rng, 3) ? 130 : 20);
}
