/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels on i8 share: tiles of four k per row, and the step from exact sums to results.
 * Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_CONV_I8_H
#define IPEX_KERNELS_X86_CONV_I8_H

#define CONV_X         int8_t
#define CONV_K_PER_ROW 4
#include "kernels/x86/conv_tiles.h"

/* n rows of sums of a panel, in place, times the scale of their column, plus its bias. */
static __attribute__((noinline)) void scale_sums(const struct conv_walk *walk, int64_t panel,
                                                 float *tile, int64_t n) {
    const int64_t columns = tile_columns(walk, panel), column = panel * IPEX_PANEL;
    const float *all = walk->args->scale + walk->job->group * walk->args->n + column;
    for (int64_t c = 0; c < columns; c += LANES) {
        const vec scale = vec_load_part(all + c, columns - c);
        const vec bias = vec_load_part(walk->bias + column + c, columns - c);
        for (int64_t r = 0; r < n; r++) {
            float *at = tile + r * IPEX_PANEL + c;
            vec_store(at, vec_fma(vec_from_int(vec_bits(vec_load(at))), scale, bias));
        }
    }
}

#endif
