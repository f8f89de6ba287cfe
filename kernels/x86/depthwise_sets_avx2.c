/* SPDX-License-Identifier: Apache-2.0 */
/* Sets (kernels/x86/depthwise_bytes.h) with AVX2, of windows of any size: blocks of pixels by rows
 * of weights. */
#include "kernels/x86/fours_avx2.h"

#include "kernels/x86/depthwise_bytes.h"
#include "kernels/x86/rows.h"

static inline vec_int repeat_words(const uint8_t *p) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
}
static inline vec add_neighbours(const float *from) {
    const vec_int a = vec_bits(vec_load(from)), b = vec_bits(vec_load(from + IPEX_SET));
    return vec_float(_mm256_hadd_epi32(a, b));
}
/* The sums of k / 4 rows of weights, added up, in the order of the channels. */
static __attribute__((noinline)) void join_words(const float *from, int64_t k, float *to) {
    vec low, high;
    if (k == 4) {
        const vec_int in_turns = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        const vec a = vec_load(from), b = vec_load(from + LANES);
        low = vec_permute(_mm256_unpacklo_ps(a, b), in_turns);
        high = vec_permute(_mm256_unpackhi_ps(a, b), in_turns);
    } else {
        low = add_neighbours(from);
        high = add_neighbours(from + LANES);
        if (k == 8) {
            const vec_int in_pairs = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
            const vec even = _mm256_shuffle_ps(low, high, 0x88);
            high = vec_permute(_mm256_shuffle_ps(low, high, 0xdd), in_pairs);
            low = vec_permute(even, in_pairs);
        } else {
            const float *more = from + 2 * IPEX_SET;
            low = vec_float(_mm256_hadd_epi32(vec_bits(low), vec_bits(add_neighbours(more))));
            high = vec_float(
                _mm256_hadd_epi32(vec_bits(high), vec_bits(add_neighbours(more + LANES))));
        }
    }
    vec_store(to, low);
    vec_store(to + LANES, high);
}

enum { SET_SUMS = 4 * IPEX_SET }; /* of a pixel, at most */

#define SET_BEGIN(r) vec_int s##r##_0 = vec_int_set(0), s##r##_1 = s##r##_0;
#define SET_ADD(r)                                                                                 \
    {                                                                                              \
        FOURS(repeat_words(at + (r)*x_row))                                                        \
        ADD_FOURS(s##r##_0, 0)                                                                     \
        ADD_FOURS(s##r##_1, 1)                                                                     \
    }
#define SET_KEEP(r)                                                                                \
    vec_store(sums + (r)*SET_SUMS, vec_float(s##r##_0));                                           \
    vec_store(sums + (r)*SET_SUMS + LANES, vec_float(s##r##_1));

/* Pixels of a block, x_row apart, by one row of weights. */
static __attribute__((noinline)) void row_products(const struct ipex_conv_args *args,
                                                   const uint8_t *x, int64_t x_row, const int8_t *w,
                                                   float *sums) {
    const int64_t w_tap = args->k * ipex_channels_pitch(args->n);
    ROWS_4(SET_BEGIN)
    for (int64_t i = args->segments_h; i > 0; i--, x += args->x_kh) {
        const uint8_t *at = x;
        for (int64_t j = args->segments_w; j > 0; j--, at += args->x_kw, w += w_tap) {
            WEIGHTS(0, vec_int_load(w))
            WEIGHTS(1, vec_int_load(w + LANES * 4))
            ROWS_4(SET_ADD)
        }
    }
    ROWS_4(SET_KEEP)
}

void ipex_k_multiply_set__avx2(const struct ipex_conv_args *args, const uint8_t *x, const int8_t *w,
                               float *to, int64_t pixels) {
    float sums[BLOCK_PIXELS * SET_SUMS];
    const int64_t step = ipex_block_step(pixels), x_row = step > 1 ? args->x_pixel : 0;
    for (int64_t p = 0; p < pixels; p += step) {
        const int64_t first = ipex_smaller(p, pixels - step);
        for (int64_t v = 0; v < args->k / 4; v++)
            row_products(args, x + first * args->x_pixel, x_row, w + v * IPEX_SET * 4,
                         sums + v * IPEX_SET);
        for (int64_t r = 0; r < step; r++) {
            AS_WRITTEN;
            join_words(sums + r * SET_SUMS, args->k, to + (first + r) * IPEX_DEPTHWISE_CHANNELS);
        }
    }
}
