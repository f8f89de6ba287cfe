/* SPDX-License-Identifier: Apache-2.0 */
/* How many instructions the kernels of level amx must have had carried out: the products that their
 * sizes ask for, each block of results with the fewest loads. */
#ifndef AMX_COUNTED_H
#define AMX_COUNTED_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/amx_emu/amx_emu.h"

struct amx_work {
    uint64_t products, loads, stores, configurations, releases;
};

/* Adds a run of `tiles` tiles of x with `panels` panels of `k_tiles` tiles of weights each: blocks
 * of two tiles of x and two panels; where there is only one tile of x, of it and four; where x is
 * copied (a segment's K is less than a tile's), of one and four if there are more than two. */
void amx_work_add_run(struct amx_work *work, int64_t tiles, int64_t panels, int64_t k_tiles,
                      bool copied);

/* Adds a kernel's call for matrices [m][k] and [k][n] in bf16. One row uses no tiles. */
void amx_work_add_gemm(struct amx_work *work, int64_t m, int64_t n, int64_t k);

/* Whether that is what was carried out since the last reset, with products of `op` and of no other;
 * reports `what` as failed where not. True where nothing is emulated. */
bool amx_work_is(const char *what, enum amx_op op, const struct amx_work *want);

#endif
