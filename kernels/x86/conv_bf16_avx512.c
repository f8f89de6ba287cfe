/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on bf16 (profile bf16-dp): of every pair of elements of K the odd one,
 * then the even one, each by an fma on widened operands. The bits are those of vdpbf16ps. */
#define CONV_X         uint16_t
#define CONV_K_PER_ROW 2
#include "kernels/x86/vec_avx512.h"
#include "kernels/x86/conv_widen.h"

#define CHAINS(MR, NR)                                                                             \
    for (int32_t pairs = b->k; pairs > 0; pairs--, a0++, a1++, w += IPEX_PANEL) {                  \
        HALF_STEP(1, STEP(MR, NR))                                                                 \
        HALF_STEP(0, STEP(MR, NR))                                                                 \
    }
#include "kernels/x86/conv_blocks_avx512.h"

_Static_assert((int)MAX_ROWS <= (int)BLOCK_ROWS, "all rows of a block are widened");

void ipex_k_conv_bf16__avx512(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                              void *scratch) {
    (void)scratch;
    ipex_conv_walk(&level, args, job_begin, job_end);
}
