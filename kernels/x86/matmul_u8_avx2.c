/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two activations of bytes, through the register blocks of a level's conv_u8: b, less
 * 128, is packed into panels as a weight is, and what its zero point lacks of 128 goes into them,
 * too. It is a number c times the sum of a row of a, for every column the same: behind the row's
 * elements come bytes, and behind b's that many of 127 and one of 1 (or both negative), whose
 * products with them are c times the sum. a's zero point is a bias per column. */
#include <immintrin.h>

#include <string.h>

#include "kernels/x86/product.h"
#include "kernels/x86/transpose_8x8.h"
#include "kernels/x86/x86.h"

enum { FOUR = 4, STEP = 16, GROUP = FOUR * IPEX_PANEL, SIGN = 128 };

static inline __m128i load_16(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline __m256i flipped(__m256 v) {
    return _mm256_xor_si256(_mm256_castps_si256(v), _mm256_set1_epi8(-SIGN));
}

/* 16 elements each of 8 columns: to the same half of four groups. */
static __attribute__((noinline)) void pack_eight(const uint8_t *const column[8], int64_t at,
                                                 int8_t *to) {
#define HALVES(i)                                                                                  \
    load_halves((const float *)(const void *)(column[i] + at),                                     \
                (const float *)(const void *)(column[(i) + 4] + at))
    __m256 v[4] = {HALVES(0), HALVES(1), HALVES(2), HALVES(3)};
#undef HALVES
    transpose_halves(v);
    for (int32_t i = 0; i < 4; i++)
        _mm256_storeu_si256((__m256i *)(void *)(to + i * GROUP), flipped(v[i]));
}

/* b [columns][k]: columns that there are not are the last one. */
static void pack_columns(const uint8_t *b, int64_t b_row, int64_t k, int64_t columns,
                         int8_t *panel) {
    for (int64_t first = 0; first < IPEX_PANEL; first += 8, panel += 8 * FOUR) {
        const uint8_t *column[8];
        uint8_t last[8 * STEP];
        int64_t i = 0;
        for (int64_t c = 0; c < 8; c++)
            column[c] = b + ipex_smaller(first + c, columns - 1) * b_row;
        for (; i + STEP <= k; i += STEP)
            pack_eight(column, i, panel + i * IPEX_PANEL);
        if (i == k)
            continue;
        memset(last, SIGN, sizeof last);
        for (int64_t c = 0; c < 8; c++) {
            memcpy(last + c * STEP, column[c] + i, (size_t)(k - i));
            column[c] = last + c * STEP;
        }
        pack_eight(column, 0, panel + i * IPEX_PANEL);
    }
}

/* b [k][columns] */
static void pack_rows(const uint8_t *b, int64_t b_row, int64_t k, int64_t columns, int8_t *panel) {
    const __m128i flip = _mm_set1_epi8(-SIGN);
    const int64_t some = ipex_smaller(columns, STEP);
    for (int64_t i = 0; i < k; i += FOUR, b += FOUR * b_row, panel += GROUP) {
        uint8_t part[FOUR * STEP];
        const uint8_t *at = b;
        int64_t row = b_row;
        if (columns < STEP || i + FOUR > k) { /* what there is not stands for 0 */
            memset(part, SIGN, sizeof part);
            for (int64_t r = 0; r < FOUR && i + r < k; r++)
                memcpy(part + r * STEP, b + r * b_row, (size_t)some);
            at = part;
            row = STEP;
        }
        const __m128i r0 = load_16(at), r1 = load_16(at + row);
        const __m128i r2 = load_16(at + 2 * row), r3 = load_16(at + 3 * row);
        const __m128i low01 = _mm_unpacklo_epi8(r0, r1), high01 = _mm_unpackhi_epi8(r0, r1);
        const __m128i low23 = _mm_unpacklo_epi8(r2, r3), high23 = _mm_unpackhi_epi8(r2, r3);
        __m128i *to = (__m128i *)(void *)panel;
        _mm_storeu_si128(to, _mm_xor_si128(_mm_unpacklo_epi16(low01, low23), flip));
        _mm_storeu_si128(to + 1, _mm_xor_si128(_mm_unpackhi_epi16(low01, low23), flip));
        _mm_storeu_si128(to + 2, _mm_xor_si128(_mm_unpacklo_epi16(high01, high23), flip));
        _mm_storeu_si128(to + 3, _mm_xor_si128(_mm_unpackhi_epi16(high01, high23), flip));
    }
}

/* Behind the elements of a row of a: `count` bytes, of which the last is what the others leave. */
struct tail {
    int64_t k, depth, count;
    uint32_t by; /* |c| */
    bool negative;
};

static struct tail tail_of(const struct ipex_matmul_args *args) {
    const int32_t c = SIGN - args->b_zero;
    return (struct tail){.k = args->k,
                         .depth = ipex_matmul_u8_depth(args),
                         .count = ipex_matmul_u8_tail(args),
                         .by = (uint32_t)(c < 0 ? -c : c),
                         .negative = c < 0};
}

/* Behind the groups of a panel. What follows the last byte is multiplied by 0. */
static void pack_tail(const struct tail *tail, int8_t *to) {
    const int64_t last = tail->count - 1;
    const uint32_t factors =
        (tail->negative ? (uint32_t)-IPEX_MATMUL_FACTOR : IPEX_MATMUL_FACTOR) & 0xff;
    const int32_t shift = (int32_t)(last % FOUR) * 8;
    for (int64_t i = 0; i <= last; i += FOUR, to += GROUP) {
        uint32_t four = factors * 0x01010101;
        if (i + FOUR > last)
            four = (four & ~(0xffu << shift)) | (tail->negative ? 0xffu : 1u) << shift;
        for (int32_t half = 0; half < 2; half++)
            _mm256_storeu_si256((__m256i *)(void *)to + half, _mm256_set1_epi32((int32_t)four));
    }
}

/* Scales and biases of a panel's columns: these are of their sums. */
static void factors_of(const struct ipex_matmul_args *args, const int8_t *panel, float *scale,
                       float *bias) {
    const __m256i ones = _mm256_set1_epi8(1), ones_16 = _mm256_set1_epi16(1);
    const __m256i missing = _mm256_set1_epi32(args->k * (SIGN - args->b_zero));
    const __m256i zero = _mm256_set1_epi32(-args->a_zero);
    const __m256 by = _mm256_set1_ps(args->scale);
    const int64_t groups = ipex_div_up(args->k, FOUR);
    for (int32_t half = 0; half < IPEX_PANEL; half += 8) {
        __m256i sum = missing;
        for (int64_t i = 0; i < groups; i++) {
            const __m256i w = _mm256_loadu_si256(
                (const __m256i *)(const void *)(panel + i * GROUP + half * FOUR));
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(ones, w), ones_16));
        }
        sum = _mm256_mullo_epi32(sum, zero);
        _mm256_storeu_ps(scale + half, by);
        _mm256_storeu_ps(bias + half, _mm256_mul_ps(by, _mm256_cvtepi32_ps(sum)));
    }
}

/* Panels, scales and biases of a job's columns. */
static void pack_right(const struct ipex_matmul_args *args, const struct ipex_matmul_job *job,
                       const struct ipex_matmul_u8_layout *layout, const struct tail *tail,
                       char *scratch) {
    const int64_t panel_bytes = ipex_matmul_u8_panel(args), groups = ipex_div_up(args->k, FOUR);
    float *scale = (float *)(void *)(scratch + layout->scale);
    float *bias = (float *)(void *)(scratch + layout->bias);
    int8_t *panel = (int8_t *)scratch;
    for (int64_t c = job->column; c < job->column_end; c += IPEX_PANEL) {
        const uint8_t *b = (const uint8_t *)job->b + c * (args->transposed ? args->b_row : 1);
        (args->transposed ? pack_columns : pack_rows)(b, args->b_row, args->k, job->column_end - c,
                                                      panel);
        pack_tail(tail, panel + groups * GROUP);
        factors_of(args, panel, scale, bias);
        panel += panel_bytes;
        scale += IPEX_PANEL;
        bias += IPEX_PANEL;
    }
}

static inline void store_16(uint8_t *p, __m128i v) {
    _mm_storeu_si128((__m128i *)(void *)p, v);
}

/* 16 elements or fewer, then 0; where `before` says so, what lies before them may be read. */
static inline __m128i load_last(const uint8_t *x, int64_t n, bool before) {
    static const uint8_t shifts[2 * STEP] = {0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,
                                             11,  12,  13,  14,  15,  255, 255, 255, 255, 255, 255,
                                             255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    uint8_t part[STEP] = {0};
    if (before)
        return _mm_shuffle_epi8(load_16(x + n - STEP), load_16(shifts + STEP - n));
    memcpy(part, x, (size_t)n);
    return load_16(part);
}

/* A row of a in whole groups, and its tail: bytes of 255, one of what is left of whole factors, 0,
 * and what is left beside them. Up to STEP bytes behind them are written first. */
static void extend_row(const struct tail *tail, const uint8_t *x, uint8_t *to) {
    const int64_t rest = tail->k % STEP;
    __m128i sums = _mm_setzero_si128(), v,
            at = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int64_t i = 0; i < tail->k; i += STEP) {
        v = i + STEP <= tail->k ? load_16(x + i) : load_last(x + i, rest, i > 0);
        sums = _mm_add_epi64(sums, _mm_sad_epu8(v, _mm_setzero_si128()));
        store_16(to + i, v);
    }
    const uint32_t all = tail->by * ((uint32_t)_mm_cvtsi128_si32(sums) +
                                     (uint32_t)_mm_cvtsi128_si32(_mm_unpackhi_epi64(sums, sums)));
    const uint32_t whole = all / IPEX_MATMUL_FACTOR;
    const __m128i left = _mm_set1_epi8((int8_t)(whole % 255));
    int64_t full = whole / 255;
    to += ipex_div_up(tail->k, FOUR) * FOUR;
    for (int64_t i = 0; i < tail->count; i += STEP, full -= STEP) {
        const __m128i n = _mm_set1_epi8((int8_t)(full < -1 ? -1 : full > STEP ? STEP : full));
        store_16(to + i,
                 _mm_or_si128(_mm_cmpgt_epi8(n, at), _mm_and_si128(_mm_cmpeq_epi8(n, at), left)));
    }
    if (tail->count > 0)
        to[tail->count - 1] = (uint8_t)(all % IPEX_MATMUL_FACTOR);
}

/* Products of a job's rows with what has been packed. */
static void multiply(product_conv_fn conv_u8, const struct ipex_matmul_args *args,
                     const struct ipex_matmul_job *job, const struct ipex_matmul_u8_layout *layout,
                     const struct tail *tail, char *scratch) {
    const bool as_it_is = tail->depth == tail->k;
    const int64_t most = as_it_is ? args->m : layout->rows_at_once;
    uint8_t *rows = (uint8_t *)scratch + layout->rows;
    struct product p = {
        .conv = conv_u8,
        .packed = (const float *)(const void *)scratch,
        .scale = (const float *)(const void *)(scratch + layout->scale),
        .bias = (const float *)(const void *)(scratch + layout->bias),
        .y_scale = args->y_scale,
        .y_zero = args->y_zero,
        .x_row = as_it_is ? args->a_row : tail->depth,
        .y_row = args->y_row,
        .k = tail->depth,
        .n = job->column_end - job->column,
        .cache_l2 = args->cache_l2,
    };
    for (int64_t row = job->row; row < job->row_end; row += most) {
        const uint8_t *a = (const uint8_t *)job->a + row * args->a_row;
        const int64_t y = row * args->y_row + job->column;
        p.rows = ipex_smaller(most, job->row_end - row);
        for (int64_t r = 0; r < p.rows && !as_it_is; r++)
            extend_row(tail, a + r * args->a_row, rows + r * tail->depth);
        p.x = as_it_is ? a : rows;
        p.y = job->y ? job->y + y : NULL;
        p.y_u8 = job->y_u8 ? job->y_u8 + y : NULL;
        ipex_multiply_packed(&p);
    }
}

static __attribute__((noinline)) void matmul_jobs(product_conv_fn conv_u8,
                                                  const struct ipex_matmul_args *args,
                                                  int64_t job_begin, int64_t job_end,
                                                  void *scratch) {
    const struct ipex_matmul_u8_layout layout = ipex_matmul_u8_layout(args);
    const struct tail tail = tail_of(args);
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_matmul_job job = ipex_matmul_job(args, j, 1);
        pack_right(args, &job, &layout, &tail, scratch);
        multiply(conv_u8, args, &job, &layout, &tail, scratch);
    }
}

#define MATMUL_KERNEL(level)                                                                       \
    void ipex_k_matmul_u8__##level(const struct ipex_matmul_args *args, int64_t job_begin,         \
                                   int64_t job_end, void *scratch) {                               \
        product_conv_fn conv_u8 = ipex_k_conv_u8__##level;                                         \
        __asm__("" : "+r"(conv_u8)); /* or there would be a copy of all above for each */          \
        matmul_jobs(conv_u8, args, job_begin, job_end, scratch);                                   \
    }
MATMUL_KERNEL(avx2)
MATMUL_KERNEL(avx_vnni)
MATMUL_KERNEL(avx512_vnni)
