/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers of weights in f16, as linear_f16_avx512.c: one row by four panels, up to four rows
 * by one, or the first four of more, for which the widened ones are kept. */
#include <immintrin.h>

#include "kernels/x86/blocks.h"
#include "kernels/x86/product.h"
#include "kernels/x86/x86.h"

enum { HALF = IPEX_PANEL / 2 };

static inline __m256 widened(const uint16_t *w) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)w));
}

/* In bytes. */
enum { AHEAD = 1024 };

#define FOUR(X) X(0) X(1) X(2) X(3)

/* Of four panels `apart` from each other, or fewer, whose last is multiplied as those that are not
 * there. */
#define NEXT_PANEL(p, before)                                                                      \
    const uint16_t *w##p = w##before + (p < panels ? w_step : 0);                                  \
    const float *bias##p = bias##before + (p < panels ? bias_step : 0);
#define BEGIN(p)                                                                                   \
    __m256 low##p = _mm256_loadu_ps(bias##p), high##p = _mm256_loadu_ps(bias##p + HALF);
#define ADD(p)                                                                                     \
    low##p = _mm256_fmadd_ps(element, widened(w##p), low##p);                                      \
    high##p = _mm256_fmadd_ps(element, widened(w##p + HALF), high##p);                             \
    w##p += IPEX_PANEL;
#define PREFETCH(p) _mm_prefetch((const char *)w##p + AHEAD, _MM_HINT_T0);
#define KEEP(p)                                                                                    \
    _mm256_storeu_ps(to + p * IPEX_PANEL, low##p);                                                 \
    _mm256_storeu_ps(to + p * IPEX_PANEL + HALF, high##p);

void ipex_f16_row__avx2(const struct ipex_blocks_args *args, const float *x, int64_t panel,
                        int64_t panels, int64_t apart, float *to) {
    const int64_t w_step = apart * blocks_panel_halves(args), bias_step = apart * IPEX_PANEL;
    const uint16_t *w0 = blocks_halves_at(args, panel, 0);
    const float *const end = x + args->k, *bias0 = args->bias + panel * IPEX_PANEL;
    NEXT_PANEL(1, 0)
    NEXT_PANEL(2, 1)
    NEXT_PANEL(3, 2)
    FOUR(BEGIN)
    for (; x < end; x++) {
        const __m256 element = _mm256_set1_ps(*x);
        FOUR(ADD)
    }
    FOUR(KEEP)
}

/* Rows that there are not are the last one. */
#define ROW(r)                                                                                     \
    const float *x##r = x + ipex_smaller(r, count - 1) * args->x_row;                              \
    __m256 low##r = _mm256_loadu_ps(from + r * from_row);                                          \
    __m256 high##r = _mm256_loadu_ps(from + r * from_row + HALF);
#define ADD_ROW(r)                                                                                 \
    {                                                                                              \
        const __m256 element = _mm256_set1_ps(x##r[k]);                                            \
        low##r = _mm256_fmadd_ps(element, v0, low##r);                                             \
        high##r = _mm256_fmadd_ps(element, v1, high##r);                                           \
    }
#define KEEP_ROW(r)                                                                                \
    _mm256_storeu_ps(to + r * TO_ROW, low##r);                                                     \
    _mm256_storeu_ps(to + r * TO_ROW + HALF, high##r);

enum { TO_ROW = IPEX_BLOCKS_PANELS * IPEX_PANEL };

static void rows_by_panel(const struct ipex_blocks_args *args, const float *x, int64_t count,
                          int64_t panel, int64_t begin, int64_t end, float *packed, float *to) {
    const uint16_t *w0 = blocks_halves_at(args, panel, begin);
    const float *from = begin ? to : args->bias + panel * IPEX_PANEL;
    const int64_t from_row = begin ? TO_ROW : 0;
    FOUR(ROW)
    for (int64_t k = begin; k < end; k++, w0 += IPEX_PANEL) {
        const __m256 v0 = widened(w0), v1 = widened(w0 + HALF);
        PREFETCH(0)
        if (packed) {
            _mm256_storeu_ps(packed, v0);
            _mm256_storeu_ps(packed + HALF, v1);
            packed += IPEX_PANEL;
        }
        FOUR(ADD_ROW)
    }
    FOUR(KEEP_ROW)
}

static void multiply_rows(const struct ipex_blocks_args *args, const float *x, int64_t count,
                          int64_t panel, int64_t apart, int64_t begin, int64_t end, float *packed,
                          float *to) {
    rows_by_panel(args, x, count, panel, begin, end, packed, to);
    if (apart)
        rows_by_panel(args, x, count, panel + apart, begin, end,
                      packed ? packed + ipex_packed_floats(end - begin, IPEX_PANEL) : NULL,
                      to + IPEX_PANEL);
}

void ipex_k_linear_f16__avx2(const struct ipex_blocks_args *args, int64_t job_begin,
                             int64_t job_end, void *scratch) {
    static const struct blocks_float_level level = {
        .in_turns = true,
        .few = 2,
        .worth = 8,
        .rows = 4,
        .conv = ipex_k_conv_f32__avx2,
        .activate = ipex_k_activate__avx2,
        .multiply_row = ipex_f16_row__avx2,
        .multiply_rows = multiply_rows,
    };
    ipex_blocks_floats(&level, args, job_begin, job_end, scratch);
}
