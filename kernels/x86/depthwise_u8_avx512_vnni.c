/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution on u8 and i8 with vpdpbusd. */
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/depthwise_bytes.h"

#define FOURS(words)      const vec_int four = words;
#define WEIGHTS(v, words) const vec_int w##v = words;
#define ADD_FOURS(s, v)   s = _mm512_dpbusd_epi32(s, four, w##v);

/* Some bytes of a row. Four of its words are far apart then, those of four vectors of channels:
 * when rows have been woven into each other, every one of these is in order. */
static inline __attribute__((always_inline)) vec_int words_of_row(const uint8_t *x,
                                                                  __mmask64 some) {
    return vec_every_fourth(_mm512_maskz_loadu_epi8(some, x));
}

/* Stacks of four vectors of channels. */
struct woven {
    vec_int v0, v1, v2, v3;
};
static inline __attribute__((always_inline)) struct woven weave(vec_int r0, vec_int r1, vec_int r2,
                                                                vec_int r3) {
    const vec_int a = _mm512_unpacklo_epi8(r0, r1), b = _mm512_unpacklo_epi8(r2, r3);
    const vec_int c = _mm512_unpackhi_epi8(r0, r1), d = _mm512_unpackhi_epi8(r2, r3);
    return (struct woven){_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b),
                          _mm512_unpacklo_epi16(c, d), _mm512_unpackhi_epi16(c, d)};
}

/* Of rows from x on, of which the last one is `last`. */
static void stack_group(const struct byte_rows *from, const uint8_t *x, int64_t last,
                        int64_t column, float *to) {
    const int64_t n = from->channels, vector = from->columns * column;
    const __mmask64 some = ~(__mmask64)0 >> (64 - n);
    for (int64_t q = from->columns; q > 0; q--, x += from->step, to += column) {
        const vec_int r0 = words_of_row(x, some);
        vec_int r1 = vec_int_set(0), r2 = r1, r3 = r1;
        if (last > 0)
            r1 = words_of_row(x + from->row, some);
        if (last > 1)
            r2 = words_of_row(x + 2 * from->row, some);
        if (last > 2)
            r3 = words_of_row(x + 3 * from->row, some);
        const struct woven stacks = weave(r0, r1, r2, r3);
        vec_store(to, vec_float(stacks.v0));
        if (n > LANES)
            vec_store(to + vector, vec_float(stacks.v1));
        if (n > 2 * LANES)
            vec_store(to + 2 * vector, vec_float(stacks.v2));
        if (n > 3 * LANES)
            vec_store(to + 3 * vector, vec_float(stacks.v3));
    }
}

static void stack(const struct byte_rows *from, float *to) {
    const int64_t column = ipex_div_up(from->rows, 4) * LANES;
    for (int64_t r = 0; r < from->rows; r += 4, to += LANES)
        stack_group(from, from->x + r * from->row, from->rows - 1 - r, column, to);
}

#define FOUR_VECTORS(X) X(0) X(1) X(2) X(3)
#define ROLL_WEIGHTS(i)                                                                            \
    const vec_int w##i##0 = vec_int_load(weights + 3 * i * LANES);                                 \
    const vec_int w##i##1 = vec_int_load(weights + (3 * i + 1) * LANES);                           \
    const vec_int w##i##2 = vec_int_load(weights + (3 * i + 2) * LANES);
#define ROLL_SUM(i)                                                                                \
    {                                                                                              \
        vec_int sum = _mm512_dpbusd_epi32(zero, before.v##i, w##i##0);                             \
        sum = _mm512_dpbusd_epi32(sum, last.v##i, w##i##1);                                        \
        sum = _mm512_dpbusd_epi32(sum, next.v##i, w##i##2);                                        \
        vec_store(sums + i * LANES, vec_float(sum));                                               \
    }

/* The stacks of the last two columns stay in registers. */
static void roll_3(const struct byte_rows *from, const float *weights, float *sums,
                   int64_t pixels) {
    const __mmask64 some = ~(__mmask64)0 >> (64 - from->channels);
    const int64_t row = from->row;
    const uint8_t *x = from->x;
    const vec_int zero = vec_int_set(0);
    struct woven before = {zero, zero, zero, zero}, last = before;
    FOUR_VECTORS(ROLL_WEIGHTS)
    for (int64_t p = -2; p < pixels; p++, x += from->step) {
        const struct woven next = weave(words_of_row(x, some), words_of_row(x + row, some),
                                        words_of_row(x + 2 * row, some), zero);
        if (p >= 0) {
            FOUR_VECTORS(ROLL_SUM)
            sums += IPEX_DEPTHWISE_CHANNELS;
        }
        before = last;
        last = next;
    }
}

/* Of fewer channels some of the four vectors would be empty. */
#define LEAST_TO_ROLL  (2 * LANES + 1)
#define ROLL_3         roll_3
#define MULTIPLY_SET_3 ipex_k_multiply_set_3__avx512_vnni
#include "kernels/x86/depthwise_bytes_body.h"

void ipex_k_depthwise_u8__avx512_vnni(const struct ipex_conv_args *args, int64_t job_begin,
                                      int64_t job_end, void *scratch) {
    ipex_depthwise_bytes(&level, args, job_begin, job_end, scratch);
}
