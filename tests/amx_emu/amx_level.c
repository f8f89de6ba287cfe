/* SPDX-License-Identifier: Apache-2.0 */
/* See amx_level.h. */
#include "tests/amx_emu/amx_level.h"

const enum ipex_isa amx_level_below = IPEX_ISA_avx512_bf16;

size_t amx_make_levels(struct level *levels) {
    return make_levels(IPEX_ISA_amx, levels);
}
