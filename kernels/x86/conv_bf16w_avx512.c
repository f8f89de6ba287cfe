/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on f32 with weights in bf16, which are widened in registers: even elements
 * of K, then odd ones. The same chains as on f32 weights. */
#define CONV_X         float
#define CONV_K_PER_ROW 2
#define CONV_SMALLER_BLOCKS
#define CONV_FETCHES_NEXT
#include "kernels/x86/vec_avx512.h"
#include "kernels/x86/conv_eights.h"
#include "kernels/x86/conv_halves.h"
#include "kernels/x86/conv_walk.h"

#define X_AT(p) vec_set((p)[ODD])
/* An odd K leaves in the middle: its last step behind the loop would be a third copy of it. (Code
 * counts here; with AVX2 the loop with the third copy is 2 % faster.) */
#define CHAINS(MR, NR)                                                                             \
    FETCH_BEGIN                                                                                    \
    for (int32_t k = b->k; k > 0; k -= 2, a0 += 2, a1 += 2, w += LANES) {                          \
        FETCH_PAIR(MR, NR)                                                                         \
        HALF_STEP(0, STEP(MR, NR))                                                                 \
        if (k == 1)                                                                                \
            break;                                                                                 \
        HALF_STEP(1, STEP(MR, NR))                                                                 \
    }
#include "kernels/x86/conv_blocks_avx512.h"
#include "kernels/x86/conv_spread.h"

void ipex_k_conv_bf16w__avx512(const struct ipex_conv_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    if (args->spread)
        conv_spread_jobs(args, job_begin, job_end, scratch);
    else if (args->eights)
        ipex_k_conv_eights__avx512(args, job_begin, job_end, scratch, true);
    else
        ipex_conv_walk(&level, args, job_begin, job_end);
}
