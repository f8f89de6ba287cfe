/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on bf16 (profile bf16-dp): of every pair of elements of K the odd one,
 * then the even one, each by an fma on widened operands. The bits are those of vdpbf16ps. */
#define CONV_X              uint16_t
#define CONV_K_PER_ROW      2
#define CONV_SMALLER_BLOCKS 8
#include "kernels/x86/vec_avx512.h"
#include "kernels/x86/conv_pairs.h"
#include "kernels/x86/conv_halves.h"
#include "kernels/x86/conv_walk.h"

#define X_AT(p)            half_of(vec_int_set((int32_t)ipex_bf16_pair(p)), ODD)
#define WHOLE_STEP(MR, NR) HALF_STEP(1, STEP(MR, NR)) HALF_STEP(0, STEP(MR, NR))
#define CHAINS(MR, NR)     CHAINS_OF_PAIRS(MR, LANES, WHOLE_STEP(MR, NR))
#include "kernels/x86/conv_blocks_avx512.h"

void ipex_k_conv_bf16__avx512(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                              void *scratch) {
    (void)scratch;
    conv_jobs(&level, args, job_begin, job_end);
}
