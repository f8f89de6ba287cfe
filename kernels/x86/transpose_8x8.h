/* SPDX-License-Identifier: Apache-2.0 */
/* The transposition of 8 x 8 floats in registers of AVX2, for copies and for packing. */
#ifndef IPEX_KERNELS_X86_TRANSPOSE_8X8_H
#define IPEX_KERNELS_X86_TRANSPOSE_8X8_H

#include <immintrin.h>
#include <stdint.h>

/* y[c][r] = x[r][at + c] for 8 x 8 floats of rows that lie anywhere; stride between the rows of y,
 * which are stored in their order. */
static inline void transpose_8x8_rows(const float *const x[8], int64_t at, float *y,
                                      int64_t y_stride) {
#define LOAD(i)                                                                                    \
    const __m256 r##i = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x[i] + at)),      \
                                             _mm_loadu_ps(x[(i) + 4] + at), 1),                    \
                 s##i = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x[i] + at + 4)),  \
                                             _mm_loadu_ps(x[(i) + 4] + at + 4), 1);
    LOAD(0)
    LOAD(1)
    LOAD(2)
    LOAD(3)
#undef LOAD
/* Columns 0-3 of rows 0-3 and 4-7 are in the halves of r0..r3; columns 4-7 in s0..s3. */
#define FOUR(v, first)                                                                             \
    {                                                                                              \
        const __m256 a = _mm256_unpacklo_ps(v##0, v##1), b = _mm256_unpackhi_ps(v##0, v##1);       \
        const __m256 c = _mm256_unpacklo_ps(v##2, v##3), d = _mm256_unpackhi_ps(v##2, v##3);       \
        float *to = y + (first)*y_stride;                                                          \
        _mm256_storeu_ps(to, _mm256_shuffle_ps(a, c, 0x44));                                       \
        _mm256_storeu_ps(to + y_stride, _mm256_shuffle_ps(a, c, 0xee));                            \
        _mm256_storeu_ps(to + 2 * y_stride, _mm256_shuffle_ps(b, d, 0x44));                        \
        _mm256_storeu_ps(to + 3 * y_stride, _mm256_shuffle_ps(b, d, 0xee));                        \
    }
    FOUR(r, 0)
    FOUR(s, 4)
#undef FOUR
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
