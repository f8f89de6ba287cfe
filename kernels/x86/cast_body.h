/* SPDX-License-Identifier: Apache-2.0 */
/* cast from f32 to bf16; all other casts are the reference's. Include vec_avx512.h first, and say
 * what CAST_LEVEL(slot) is. */
#ifndef IPEX_KERNELS_X86_CAST_BODY_H
#define IPEX_KERNELS_X86_CAST_BODY_H

#include "kernels/x86/round_run.h"

void ipex_k_cast__reference_fma(const struct ipex_map_args *, int64_t, int64_t, void *);

void CAST_LEVEL(cast)(const struct ipex_map_args *args, int64_t job_begin, int64_t job_end,
                      void *scratch) {
    const int32_t last = args->rank - 1;
    if (args->dtype != IPEX_DTYPE_f32 || args->y_dtype != IPEX_DTYPE_bf16 ||
        args->x_stride[0][last] != 1 || args->y_stride[last] != 1) {
        ipex_k_cast__reference_fma(args, job_begin, job_end, scratch);
        return;
    }
    const int64_t rows = ipex_row_count(args->dims, 0, last);
    const int64_t limit = job_end * args->rows_per_job, end = limit < rows ? limit : rows;
    for (int64_t row = job_begin * args->rows_per_job; row < end; row++)
        round_run((const float *)args->x[0] +
                      ipex_row_offset(args->dims, args->x_stride[0], last, row),
                  (uint16_t *)args->y + ipex_row_offset(args->dims, args->y_stride, last, row),
                  args->dims[last]);
}

#endif
