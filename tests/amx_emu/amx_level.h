/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that use tiles, as a level for tests/checkkern. Two files define it: amx_level.c has
 * those of level amx, amx_level_avx2.c the same sources with the vectors of AVX2 beside the tiles
 * (kernels/x86/vec_amx.h), for valgrind, which knows no AVX-512. */
#ifndef AMX_LEVEL_H
#define AMX_LEVEL_H

#include "tests/checkkern/checkkern.h"

enum { AMX_LEVELS = 3 }; /* the reference twice, then the kernels */

/* The level whose kernels are those that use no tiles. */
extern const enum ipex_isa amx_level_below;

/* Into room for IPEX_ISA_amx + 1. Returns AMX_LEVELS, or fewer where the CPU lacks the vectors. */
size_t amx_make_levels(struct level *levels);

#endif
