/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on i8 with tdpbssd. */
#include "kernels/x86/vec_amx.h"

#include "kernels/x86/amx_tile.h"
#include "kernels/x86/conv_i8.h"

#define TILE_DOT(c, a, b) IPEX_TILE_DOT_I8(c, a, b)

enum { SUMS_ARE_RESULTS = 0 };

static inline const float *begin_sums(const struct conv_walk *walk, int64_t panel, float *row) {
    (void)walk, (void)panel;
    for (int64_t c = 0; c < IPEX_PANEL; c += LANES)
        vec_store(row + c, vec_set(0.0f));
    return row;
}

static inline void finish_sums(const struct conv_walk *walk, int64_t panel, float *tile,
                               int64_t n) {
    scale_sums(walk, panel, tile, n);
}

#include "kernels/x86/conv_tiles_amx.h"

static const struct conv_level level = {CONV_OPERANDS, .walk = walk_amx};

void ipex_k_conv_i8__amx(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                         void *scratch) {
    (void)scratch;
    configure(rows_of_tiles(args));
    ipex_conv_walk(&level, args, job_begin, job_end);
    ipex_tile_release();
}
