/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cut.h"

#define BLOCKS_PER_THREAD 8
#define LITTLE_MORE       (1.0 + 1.0 / 32)

/* A block of about 1 / blocks of a thread's share. */
static int64_t block_of(const struct ipex_cut *cut, int32_t threads, int64_t blocks) {
    const int64_t units = ipex_mul_sat(cut->count, cut->times);
    int64_t ret = ipex_ceil_div(units, ipex_mul_sat(threads, blocks));
    ret = ipex_ceil_div(ipex_max_i64(ret, cut->least), cut->multiple) * cut->multiple;
    return ipex_max_i64(1, ipex_min_i64(ret, ipex_min_i64(cut->count, cut->most)));
}

/* Of the thread that has most blocks. */
static double slowest(const struct ipex_cut *cut, int32_t threads, int64_t block) {
    const int64_t blocks = ipex_mul_sat(ipex_ceil_div(cut->count, block), cut->times);
    return (double)ipex_ceil_div(blocks, threads) * ((double)block + cut->again);
}

int64_t ipex_cut_even(const struct ipex_cut *cut, int32_t threads) {
    int64_t ret = ipex_max_i64(1, ipex_min_i64(cut->count, cut->most));
    if (threads == 1)
        return ret;
    double best = slowest(cut, threads, ret);
    for (int64_t blocks = 1; blocks <= BLOCKS_PER_THREAD; blocks++) {
        const double time = slowest(cut, threads, block_of(cut, threads, blocks));
        best = time < best ? time : best;
    }
    for (int64_t blocks = 1; blocks <= BLOCKS_PER_THREAD; blocks++) {
        const int64_t block = block_of(cut, threads, blocks);
        if (slowest(cut, threads, block) <= best * LITTLE_MORE)
            ret = block;
    }
    return ret;
}
