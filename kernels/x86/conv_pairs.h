/* SPDX-License-Identifier: Apache-2.0 */
/* Steps along K for kernels on bf16 x, two elements at a time. Behind an odd K's last element there
 * is a +0, in a copy of the rows' last elements that the same code goes over: an own step for it
 * would make blocks half as large again. Included before kernels/x86/conv_blocks_*.h. */
#ifndef IPEX_KERNELS_X86_CONV_PAIRS_H
#define IPEX_KERNELS_X86_CONV_PAIRS_H

#include "kernels/bf16.h"

#define LAST_OF_ROW(r) last[r] = *AT(a0, a1, x_row, r);

/* PAIR is what to do at a0, a1 and w, of which `words` hold one pair of a panel. */
#define CHAINS_OF_PAIRS(MR, words, PAIR)                                                           \
    int32_t pairs = b->k / 2;                                                                      \
    uint32_t last[MR];                                                                             \
    for (bool odd = b->k % 2 != 0, more = true; more; odd = false) {                               \
        for (; pairs > 0; pairs--, a0 += 2, a1 += 2, w += (words)) {                               \
            PAIR                                                                                   \
        }                                                                                          \
        more = odd;                                                                                \
        if (odd) {                                                                                 \
            ROWS_##MR(LAST_OF_ROW) a0 = (const uint16_t *)last;                                    \
            a1 = (const uint16_t *)(last + HALF);                                                  \
            x_row = 2;                                                                             \
            pairs = 1;                                                                             \
            __asm__("" : "+r"(pairs)); /* or compilers would make it a step of its own */          \
        }                                                                                          \
    }                                                                                              \
    x_row = b->x_row;

#endif
