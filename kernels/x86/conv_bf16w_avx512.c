/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on f32 with weights in bf16, which are widened in registers: even elements
 * of K, then odd ones. The same chains as on f32 weights. */
#define CONV_X              float
#define CONV_K_PER_ROW      2
#define CONV_SMALLER_BLOCKS 10 /* a widened weight wants as many rows as its code is worth */
#include "kernels/x86/vec_avx512.h"
#include "kernels/x86/conv_halves.h"
#include "kernels/x86/conv_walk.h"

#define X_AT(p)        vec_set((p)[ODD])
#define CHAINS(MR, NR) CHAINS_OF_HALVES(STEP(MR, NR))
#include "kernels/x86/conv_blocks_avx512.h"

void ipex_k_conv_bf16w__avx512(const struct ipex_conv_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    (void)scratch;
    conv_jobs(&level, args, job_begin, job_end);
}
