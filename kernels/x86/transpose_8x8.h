/* SPDX-License-Identifier: Apache-2.0 */
/* The transposition of 8 x 8 floats in registers of AVX2, for copies and for packing. */
#ifndef IPEX_KERNELS_X86_TRANSPOSE_8X8_H
#define IPEX_KERNELS_X86_TRANSPOSE_8X8_H

#include <immintrin.h>
#include <stdint.h>

/* The halves of four vectors as 4 x 4 matrices: columns 0 to 3 become the vectors. */
static inline void transpose_halves(__m256 v[4]) {
    const __m256 a = _mm256_unpacklo_ps(v[0], v[1]), b = _mm256_unpackhi_ps(v[0], v[1]);
    const __m256 c = _mm256_unpacklo_ps(v[2], v[3]), d = _mm256_unpackhi_ps(v[2], v[3]);
    v[0] = _mm256_shuffle_ps(a, c, 0x44);
    v[1] = _mm256_shuffle_ps(a, c, 0xee);
    v[2] = _mm256_shuffle_ps(b, d, 0x44);
    v[3] = _mm256_shuffle_ps(b, d, 0xee);
}

/* 4 floats of either row. */
static inline __m256 load_halves(const float *low, const float *high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}

static inline void store_rows(const __m256 v[4], float *y, int64_t y_stride) {
    _mm256_storeu_ps(y, v[0]);
    _mm256_storeu_ps(y + y_stride, v[1]);
    _mm256_storeu_ps(y + 2 * y_stride, v[2]);
    _mm256_storeu_ps(y + 3 * y_stride, v[3]);
}

/* y[c][r] = x[r][at + c] for 8 x 8 floats of rows that lie anywhere; stride between the rows of y,
 * which are stored in their order. */
static inline void transpose_8x8_rows(const float *const x[8], int64_t at, float *y,
                                      int64_t y_stride) {
#define LOAD(i, c) load_halves(x[i] + at + (c), x[(i) + 4] + at + (c))
    __m256 r[4] = {LOAD(0, 0), LOAD(1, 0), LOAD(2, 0), LOAD(3, 0)};
    __m256 s[4] = {LOAD(0, 4), LOAD(1, 4), LOAD(2, 4), LOAD(3, 4)};
#undef LOAD
    transpose_halves(r);
    store_rows(r, y, y_stride);
    transpose_halves(s);
    store_rows(s, y + 4 * y_stride, y_stride);
}

/* The same for rows of x at a stride. */
static inline void transpose_8x8(const float *x, int64_t x_stride, float *y, int64_t y_stride) {
    const float *const rows[8] = {x,
                                  x + x_stride,
                                  x + 2 * x_stride,
                                  x + 3 * x_stride,
                                  x + 4 * x_stride,
                                  x + 5 * x_stride,
                                  x + 6 * x_stride,
                                  x + 7 * x_stride};
    transpose_8x8_rows(rows, 0, y, y_stride);
}

#endif
