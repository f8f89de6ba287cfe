/* SPDX-License-Identifier: Apache-2.0 */
/* Micro-kernels as they must not be written: the accumulators are an array. gcc 12 keeps it in
 * memory although all bounds are constants; where the number of rows is a variable every compiler
 * has to. spill.py must find the stores. */
#include <immintrin.h>

enum { ROWS = 6 };

void constant_rows(int k, const float *a, long a_row, const float *w, float *y);
void variable_rows(int k, const float *a, long a_row, const float *w, float *y, int rows);

void constant_rows(int k, const float *a, long a_row, const float *w, float *y) {
    __m256 acc[ROWS][2];
    for (int r = 0; r < ROWS; r++)
        acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    for (; k > 0; k--, a++, w += 16)
        for (int r = 0; r < ROWS; r++) {
            const __m256 v = _mm256_broadcast_ss(a + r * a_row);
            acc[r][0] = _mm256_fmadd_ps(v, _mm256_load_ps(w), acc[r][0]);
            acc[r][1] = _mm256_fmadd_ps(v, _mm256_load_ps(w + 8), acc[r][1]);
        }
    for (int r = 0; r < ROWS; r++) {
        _mm256_storeu_ps(y + 16 * r, acc[r][0]);
        _mm256_storeu_ps(y + 16 * r + 8, acc[r][1]);
    }
}

void variable_rows(int k, const float *a, long a_row, const float *w, float *y, int rows) {
    __m256 acc[ROWS][2];
    for (int r = 0; r < ROWS; r++)
        acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    for (; k > 0; k--, a++, w += 16)
        for (int r = 0; r < rows; r++) {
            const __m256 v = _mm256_broadcast_ss(a + r * a_row);
            acc[r][0] = _mm256_fmadd_ps(v, _mm256_load_ps(w), acc[r][0]);
            acc[r][1] = _mm256_fmadd_ps(v, _mm256_load_ps(w + 8), acc[r][1]);
        }
    for (int r = 0; r < ROWS; r++) {
        _mm256_storeu_ps(y + 16 * r, acc[r][0]);
        _mm256_storeu_ps(y + 16 * r + 8, acc[r][1]);
    }
}
