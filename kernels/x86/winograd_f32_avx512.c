/* SPDX-License-Identifier: Apache-2.0 */
/* 3x3 convolution by Winograd's F(4,3) and F(2,3) with AVX-512; see kernels/x86/winograd_body.h. */
#include "kernels/x86/vec_avx512.h"
#include "kernels/x86/winograd_body.h"

void ipex_k_winograd_f32__avx512(const struct ipex_winograd_args *args, int64_t job_begin,
                                 int64_t job_end, void *scratch) {
    winograd_jobs(args, job_begin, job_end, scratch);
}
