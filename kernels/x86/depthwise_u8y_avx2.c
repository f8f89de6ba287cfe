/* SPDX-License-Identifier: Apache-2.0 */
/* The results of f32 from a stage in the cache, as bytes. */
#include "kernels/x86/vec_avx2.h"
#include "kernels/x86/bytes_run.h"

void ipex_k_depthwise_u8y__avx2(const struct ipex_depthwise_args *args, int64_t job_begin,
                                int64_t job_end, void *scratch) {
    static const struct ipex_depthwise_rounding by = {ipex_k_depthwise_f32__avx2, bytes_run};
    ipex_depthwise_rounded(args, &by, job_begin, job_end, scratch);
}
