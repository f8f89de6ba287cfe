/* SPDX-License-Identifier: Apache-2.0 */
/* The results of f32 from a stage in the cache, rounded. */
#include "kernels/x86/vec_avx512.h"
#include "kernels/x86/round_run.h"

void ipex_k_depthwise_bf16y__avx512(const struct ipex_depthwise_args *args, int64_t job_begin,
                                    int64_t job_end, void *scratch) {
    static const struct ipex_depthwise_rounding by = {ipex_k_depthwise_f32__avx512, round_bf16};
    ipex_depthwise_rounded(args, &by, job_begin, job_end, scratch);
}
