/* SPDX-License-Identifier: Apache-2.0 */
/* Sets (kernels/x86/depthwise_bytes.h) with vpdpbusd, of windows of 3x3: the weights of nine taps,
 * of one row or two, stay in registers. */
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/depthwise_bytes.h"

static inline vec_int repeat_words(const uint8_t *p) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)p));
}
/* Sums of neighbours, of a and b in turns in every quarter: two, then two. */
static inline vec add_neighbours(vec a, vec b) {
    const vec_int even = vec_bits(_mm512_shuffle_ps(a, b, 0x88));
    return vec_float(_mm512_add_epi32(even, vec_bits(_mm512_shuffle_ps(a, b, 0xdd))));
}

#define NINE(X) X(0, 0) X(0, 1) X(0, 2) X(1, 0) X(1, 1) X(1, 2) X(2, 0) X(2, 1) X(2, 2)
#define NINE_LOAD(v, i, j)                                                                         \
    const vec_int w##i##j##_##v = _mm512_loadu_si512(w + (3 * i + j) * w_tap + 64 * v);
#define NINE_LOAD_1(i, j) NINE_LOAD(0, i, j)
#define NINE_LOAD_2(i, j) NINE_LOAD(0, i, j) NINE_LOAD(1, i, j)
#define NINE_X(i, j)      const vec_int four = repeat_words(x##i + j * x_kw);
#define NINE_ADD(v, i, j) s##v = _mm512_dpbusd_epi32(s##v, four, w##i##j##_##v);
#define NINE_ADD_1(i, j)                                                                           \
    {                                                                                              \
        NINE_X(i, j)                                                                               \
        NINE_ADD(0, i, j)                                                                          \
    }
#define NINE_ADD_2(i, j)                                                                           \
    {                                                                                              \
        NINE_X(i, j)                                                                               \
        NINE_ADD(0, i, j)                                                                          \
        NINE_ADD(1, i, j)                                                                          \
    }
#define NINE_BEGIN                                                                                 \
    const int64_t w_tap = args->k * ipex_channels_pitch(args->n), x_kw = args->x_kw;               \
    const uint8_t *x0 = x, *x1 = x + args->x_kh, *x2 = x1 + args->x_kh;
#define NINE_NEXT                                                                                  \
    (x0 += args->x_pixel, x1 += args->x_pixel, x2 += args->x_pixel, to += IPEX_DEPTHWISE_CHANNELS)

static __attribute__((noinline)) void nine_words(const struct ipex_conv_args *args,
                                                 const uint8_t *x, const int8_t *w, float *to,
                                                 int64_t pixels) {
    NINE_BEGIN
    NINE(NINE_LOAD_1)
    for (; pixels > 0; pixels--, NINE_NEXT) {
        vec_int s0 = vec_int_set(0);
        NINE(NINE_ADD_1)
        vec_store(to, vec_float(vec_every_fourth(s0)));
    }
}

/* Two rows of weights; `adds`: to those of two others. Of groups of 8 channels every other sum is
 * the other group's; of 16 they are in order. */
static __attribute__((noinline)) void nine_pairs(const struct ipex_conv_args *args,
                                                 const uint8_t *x, const int8_t *w, float *to,
                                                 int64_t pixels, bool adds) {
    const vec_int order =
        args->k == 8 ? _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15)
                     : _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    NINE_BEGIN
    NINE(NINE_LOAD_2)
    for (; pixels > 0; pixels--, NINE_NEXT) {
        vec_int s0 = vec_int_set(0), s1 = vec_int_set(0);
        NINE(NINE_ADD_2)
        vec v = add_neighbours(vec_float(s0), vec_float(s1));
        AS_WRITTEN;
        if (adds)
            v = add_neighbours(vec_load(to), v);
        vec_store(to, vec_permute(v, order));
    }
}

void ipex_k_multiply_set_3__avx512_vnni(const struct ipex_conv_args *args, const uint8_t *x,
                                        const int8_t *w, float *to, int64_t pixels) {
    if (args->k == 4) {
        nine_words(args, x, w, to, pixels);
        return;
    }
    for (int64_t row = 0; row < args->k / 4; row += 2)
        nine_pairs(args, x, w + row * 64, to, pixels, row > 0);
}
