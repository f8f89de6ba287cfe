/* SPDX-License-Identifier: Apache-2.0 */
/* Strided copies and fills: bytes only. */
#include "kernels/ref/ref.h"

void IPEX_REF(move)(const struct ipex_move_args *args, int64_t job_begin, int64_t job_end,
                    void *scratch) {
    (void)scratch;
    const int64_t last = args->rank - 1;
    const int32_t lead = ipex_move_lead(args->rank);
    const int64_t rows = ipex_row_count(args->dims, 1, lead);
    const size_t size = (size_t)args->size;
    for (int64_t row = job_begin * rows; row < job_end * rows; row++) {
        const char *x = (const char *)args->x +
                        ipex_row_offset(args->dims, args->x_stride, lead, row) * args->size;
        char *y =
            (char *)args->y + ipex_row_offset(args->dims, args->y_stride, lead, row) * args->size;
        for (int64_t i = 0; i < ipex_move_length(args->dims, args->rank); i++)
            memcpy(y + i * args->y_stride[last] * args->size,
                   x + i * args->x_stride[last] * args->size, size);
    }
}

void IPEX_REF(fill)(const struct ipex_fill_args *args, int64_t job_begin, int64_t job_end,
                    void *scratch) {
    (void)scratch;
    const int64_t last = args->rank - 1;
    const int32_t lead = ipex_move_lead(args->rank);
    const int64_t rows = ipex_row_count(args->dims, 1, lead), size = args->size;
    for (int64_t row = job_begin * rows; row < job_end * rows; row++) {
        char *y = (char *)args->y + ipex_row_offset(args->dims, args->y_stride, lead, row) * size;
        for (int64_t i = 0; i < ipex_move_length(args->dims, args->rank); i++)
            memcpy(y + i * args->y_stride[last] * size, &args->pattern, (size_t)size);
    }
}
