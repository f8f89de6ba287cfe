/* SPDX-License-Identifier: Apache-2.0 */
/* Max pooling of bytes: up to 64 channels stay in registers while a window is walked. Their mean.
 */
#include "kernels/x86/vec_avx2.h"

#include <string.h>

#include "kernels/jobs.h"
#include "kernels/x86/lanes.h"

/* A window's taps, and where its first one's channels lie. */
struct taps {
    const uint8_t *first;
    int64_t rows, row, columns, column;
};

#define FOR_TAPS(t)                                                                                \
    for (int64_t i = 0; i < (t)->rows; i++)                                                        \
        for (int64_t j = 0; j < (t)->columns; j++)

static inline const uint8_t *tap(const struct taps *t, int64_t i, int64_t j, int64_t channel) {
    return t->first + i * t->row + j * t->column + channel;
}

static inline __m128i bytes_16(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline __m256i bytes_32(const uint8_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static void largest_64(const struct taps *t, uint8_t *y, int64_t channel) {
    __m256i a = _mm256_setzero_si256(), b = a;
    FOR_TAPS(t) {
        a = _mm256_max_epu8(a, bytes_32(tap(t, i, j, channel)));
        b = _mm256_max_epu8(b, bytes_32(tap(t, i, j, channel + 32)));
    }
    _mm256_storeu_si256((__m256i *)(void *)(y + channel), a);
    _mm256_storeu_si256((__m256i *)(void *)(y + channel + 32), b);
}

static __attribute__((noinline)) void largest_16(const struct taps *t, uint8_t *y,
                                                 int64_t channel) {
    __m128i a = _mm_setzero_si128();
    FOR_TAPS(t)
    a = _mm_max_epu8(a, bytes_16(tap(t, i, j, channel)));
    _mm_storeu_si128((__m128i *)(void *)(y + channel), a);
}

/* The last sixteen may be some of those before once more. */
static void pool_pixel(const struct taps *t, uint8_t *y, int64_t channels) {
    int64_t c = 0;
    for (; c + 64 <= channels; c += 64)
        largest_64(t, y, c);
    for (; c + 16 <= channels; c += 16)
        largest_16(t, y, c);
    if (c < channels && channels >= 16)
        largest_16(t, y, channels - 16);
    for (; c < channels && channels < 16; c++) {
        y[c] = 0;
        FOR_TAPS(t)
        y[c] = *tap(t, i, j, c) > y[c] ? *tap(t, i, j, c) : y[c];
    }
}

void ipex_k_max_pool_u8__avx2(const struct ipex_pool_args *args, int64_t job_begin, int64_t job_end,
                              void *scratch) {
    (void)scratch;
    for (int64_t job = job_begin; job < job_end; job++) {
        const int64_t image = job / args->lines, line = job % args->lines;
        const uint8_t *x = (const uint8_t *)args->x + image * args->x_image;
        uint8_t *y = (uint8_t *)args->y + image * args->y_image + line * args->y_line;
        for (int64_t pixel = 0; pixel < args->pixels; pixel++, y += args->y_pixel) {
            const struct ipex_pool_window w = ipex_pool_window(args, line, pixel);
            const struct taps taps = {
                .first = x + (w.row + w.h * args->dilation_h) * args->x_row +
                         (w.column + w.w * args->dilation_w) * args->x_pixel,
                .rows = w.h_end - w.h,
                .row = args->dilation_h * args->x_row,
                .columns = w.w_end - w.w,
                .column = args->dilation_w * args->x_pixel,
            };
            pool_pixel(&taps, y, args->channels);
        }
    }
}

/* Rows that are summed up in 16 bits before y takes them, and the columns of a cache line. */
enum { SUMMED_ROWS = 64, SUMMED_COLUMNS = 64 };

/* The sums of n rows, `row` apart, of so many columns, eight, or one. */
static __attribute__((noinline)) void sum_line(const uint8_t *x, int64_t n, int64_t row,
                                               uint16_t *ret) {
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (; n > 0; n--, x += row) {
        a = _mm256_add_epi16(a, _mm256_cvtepu8_epi16(bytes_16(x)));
        b = _mm256_add_epi16(b, _mm256_cvtepu8_epi16(bytes_16(x + 16)));
        c = _mm256_add_epi16(c, _mm256_cvtepu8_epi16(bytes_16(x + 32)));
        d = _mm256_add_epi16(d, _mm256_cvtepu8_epi16(bytes_16(x + 48)));
    }
    _mm256_storeu_si256((__m256i *)(void *)ret, a);
    _mm256_storeu_si256((__m256i *)(void *)(ret + 16), b);
    _mm256_storeu_si256((__m256i *)(void *)(ret + 32), c);
    _mm256_storeu_si256((__m256i *)(void *)(ret + 48), d);
}

static __attribute__((noinline)) void sum_eight(const uint8_t *x, int64_t n, int64_t row,
                                                uint16_t *ret) {
    __m128i sum = _mm_setzero_si128();
    for (; n > 0; n--, x += row)
        sum = _mm_add_epi16(sum,
                            _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)x)));
    _mm_storeu_si128((__m128i *)(void *)ret, sum);
}

static __attribute__((noinline)) void sum_one(const uint8_t *x, int64_t n, int64_t row,
                                              uint16_t *ret) {
    *ret = 0;
    for (; n > 0; n--, x += row) {
        *ret = (uint16_t)(*ret + *x);
        AS_WRITTEN;
    }
}

void ipex_k_reduce_u8__avx2(const struct ipex_reduce_args *args, int64_t job_begin, int64_t job_end,
                            void *scratch) {
    (void)scratch;
    const int64_t stride = args->x_middle;
    for (int64_t outer = job_begin; outer < job_end; outer++) {
        const uint8_t *x = (const uint8_t *)args->x + outer * args->x_outer;
        memset(args->y + outer * args->y_outer, 0, (size_t)args->inner * sizeof *args->y);
        for (int64_t row = 0, n; row < args->middle; row += n, x += n * stride) {
            n = ipex_smaller(args->middle - row, SUMMED_ROWS);
            const vec divisor = vec_set(row + n == args->middle ? (float)args->middle : 1);
            float *y = args->y + outer * args->y_outer;
            for (int64_t c = 0, step; c < args->inner; c += step) {
                uint16_t sums[SUMMED_COLUMNS];
                const int64_t left = args->inner - c;
                step = left >= SUMMED_COLUMNS ? SUMMED_COLUMNS : left >= LANES ? LANES : 1;
                if (step == SUMMED_COLUMNS)
                    sum_line(x + c, n, stride, sums);
                else if (step == LANES)
                    sum_eight(x + c, n, stride, sums);
                else
                    sum_one(x + c, n, stride, sums);
                for (int64_t i = 0; i < step; i += LANES, y += ipex_smaller(step, LANES)) {
                    AS_WRITTEN;
                    const __m128i whole = _mm_loadu_si128((const __m128i *)(void *)(sums + i));
                    const vec sum = _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(whole));
                    const vec all = vec_add(vec_load_part(y, step), sum);
                    vec_store_part(y, step, vec_div(all, divisor));
                }
            }
        }
    }
}
