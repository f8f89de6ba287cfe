/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers of weights in f16, which are widened as they are read: up to eight rows by two
 * panels, or the first eight of more, for which the widened ones are kept. One row is AVX2's: 512
 * bits widened at once take Zen 4 two cycles, and longer than two times 256 (1024x2048 from L2
 * 1.24). */
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/blocks.h"
#include "kernels/x86/product.h"
#include "kernels/x86/x86.h"

static inline vec widened(const uint16_t *w) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)w));
}

/* In bytes. */
enum { AHEAD = 2048 };

#define FOUR(X)  X(0) X(1) X(2) X(3)
#define EIGHT(X) FOUR(X) X(4) X(5) X(6) X(7)

#define PREFETCH(p) _mm_prefetch((const char *)w##p + AHEAD, _MM_HINT_T0);

/* Rows that there are not are the last one. */
#define ROW(r)                                                                                     \
    const float *x##r = x + ipex_smaller(r, count - 1) * args->x_row;                              \
    vec first##r = vec_load(from0 + r * from_row), second##r = vec_load(from1 + r * from_row);
#define ADD_ROW(r)                                                                                 \
    {                                                                                              \
        const vec element = vec_set(x##r[k]);                                                      \
        first##r = vec_fma(element, v0, first##r);                                                 \
        second##r = vec_fma(element, v1, second##r);                                               \
    }
#define KEEP_ROW(r)                                                                                \
    vec_store(to + r * TO_ROW, first##r);                                                          \
    vec_store(to + r * TO_ROW + IPEX_PANEL, second##r);

enum { TO_ROW = IPEX_BLOCKS_PANELS * IPEX_PANEL };

#define BLOCK(name, ROWS)                                                                          \
    static void name(const struct ipex_blocks_args *args, const float *x, int64_t count,           \
                     int64_t panel, int64_t apart, int64_t begin, int64_t end, float *packed,      \
                     float *to) {                                                                  \
        const uint16_t *w0 = blocks_halves_at(args, panel, begin);                                 \
        const uint16_t *w1 = w0 + apart * blocks_panel_halves(args);                               \
        const float *from0 = begin ? to : args->bias + panel * IPEX_PANEL;                         \
        const float *from1 = begin ? to + IPEX_PANEL : from0 + apart * IPEX_PANEL;                 \
        const int64_t from_row = begin ? TO_ROW : 0;                                               \
        const int64_t packed_panel = ipex_packed_floats(end - begin, IPEX_PANEL);                  \
        ROWS(ROW)                                                                                  \
        for (int64_t k = begin; k < end; k++, w0 += IPEX_PANEL, w1 += IPEX_PANEL) {                \
            const vec v0 = widened(w0), v1 = widened(w1);                                          \
            PREFETCH(0)                                                                            \
            PREFETCH(1)                                                                            \
            if (packed) {                                                                          \
                vec_store(packed, v0);                                                             \
                vec_store(packed + packed_panel, v1);                                              \
                packed += IPEX_PANEL;                                                              \
            }                                                                                      \
            ROWS(ADD_ROW)                                                                          \
        }                                                                                          \
        ROWS(KEEP_ROW)                                                                             \
    }
BLOCK(rows_4, FOUR)
BLOCK(rows_8, EIGHT)

static void multiply_rows(const struct ipex_blocks_args *args, const float *x, int64_t count,
                          int64_t panel, int64_t apart, int64_t begin, int64_t end, float *packed,
                          float *to) {
    (count <= 4 ? rows_4 : rows_8)(args, x, count, panel, apart, begin, end, packed, to);
}

void ipex_k_linear_f16__avx512(const struct ipex_blocks_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    static const struct blocks_float_level level = {
        .in_turns = true,
        .few = 2,
        .worth = 16,
        .rows = 8,
        .conv = ipex_k_conv_f32__avx512,
        .activate = ipex_k_activate__avx512,
        .multiply_row = ipex_f16_row__avx2,
        .multiply_rows = multiply_rows,
    };
    ipex_blocks_floats(&level, args, job_begin, job_end, scratch);
}
