/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on f32 with weights in bf16, which are widened in registers: even elements
 * of K, then odd ones. The same chains as on f32 weights. */
#define CONV_X              float
#define CONV_K_PER_ROW      2
#define CONV_SMALLER_BLOCKS 5
#include "kernels/x86/vec_avx2.h"
#include "kernels/x86/conv_eights.h"
#include "kernels/x86/conv_halves.h"
#include "kernels/x86/conv_transpose_walk.h"

#define X_AT(p) vec_set((p)[ODD])
#define CHAINS(MR, NP, STEP)                                                                       \
    for (int32_t k = b->k / 2; k > 0; k--, a0 += 2, a1 += 2, w += IPEX_PANEL) {                    \
        HALF_STEP(0, STEP(MR, NP))                                                                 \
        HALF_STEP(1, STEP(MR, NP))                                                                 \
    }                                                                                              \
    if (b->k % 2)                                                                                  \
    HALF_STEP(0, STEP(MR, NP))
#include "kernels/x86/conv_blocks_avx2.h"

void ipex_k_conv_bf16w__avx2(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                             void *scratch) {
    if (args->eights)
        ipex_k_conv_eights__avx2(args, job_begin, job_end, scratch, true);
    else
        ipex_conv_walk(&level, args, job_begin, job_end);
}

void ipex_k_conv_transpose_bf16w__avx2(const struct ipex_conv_transpose_args *args,
                                       int64_t job_begin, int64_t job_end, void *scratch) {
    (void)scratch;
    conv_transpose_jobs(&level, args, job_begin, job_end);
}
