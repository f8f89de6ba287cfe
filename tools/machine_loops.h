/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that do one thing as fast as a CPU can: arithmetic on registers alone, or reading. One
 * thread; the caller checks that the CPU has the level, and takes the time. */
#ifndef IPEX_TOOLS_MACHINE_LOOPS_H
#define IPEX_TOOLS_MACHINE_LOOPS_H

#include <stddef.h>

#include "format/ipex_types.h"

/* Multiply-adds in independent chains, enough of them to hide their latency. */
struct ipex_multiply_loop {
    enum ipex_isa isa;
    enum ipex_dtype dtype; /* of the factors; sums are f32, of u8 (by i8) whole numbers */
    void (*fn)(long times);
    double flops; /* of one time: 2 per multiply-add */
};
#define IPEX_MULTIPLY_LOOPS 8
extern const struct ipex_multiply_loop ipex_multiply_loops[IPEX_MULTIPLY_LOOPS];

/* GFLOP/s of the best loop up to a level, one thread, in time on the CPU: what other processes take
 * does not count. A few ms. 0: there is none. */
double ipex_multiply_gflops(enum ipex_isa isa, enum ipex_dtype dtype);

/* Reads a block, aligned to 64 bytes, so many times; its size is a multiple of
 * IPEX_READ_UNIT. */
#define IPEX_READ_UNIT 512
typedef void (*ipex_read_fn)(const void *block, size_t size, long times);
/* NULL for levels that have no loop of their own. */
ipex_read_fn ipex_read_loop(enum ipex_isa isa);

#endif
