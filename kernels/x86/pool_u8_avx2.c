/* SPDX-License-Identifier: Apache-2.0 */
/* Max pooling of bytes: up to 64 channels stay in registers while a window is walked. */
#include "kernels/x86/vec_avx2.h"

#include "kernels/jobs.h"

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
    a = _mm_max_epu8(a, _mm_loadu_si128((const __m128i *)(const void *)tap(t, i, j, channel)));
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
