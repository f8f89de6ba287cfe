/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of elements that lie apart, copied: the same at every ISA level. */
#include "kernels/jobs.h"

void ipex_copy_rows(const float *x, int64_t x_row, int64_t x_step, float *y, int64_t y_row,
                    int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; r++, x += x_row, y += y_row)
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i * x_step];
}
