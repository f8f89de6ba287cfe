/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on u8 and i8 with AVX2: of four elements of K the even ones, then the odd
 * ones, as pairs of 16 bits, whose products vpmaddwd adds exactly (vpmaddubsw would saturate). Of a
 * block of rows, a chunk of K is widened into L1 once for up to 16 panels, whose sums stay there
 * until K is through. Level avx_vnni takes the same way, with bytes copied as they are and
 * vpdpbusd. */
#define CONV_WIDENS
#define BLOCK_X uint8_t
enum { PANELS_ONCE = 16 };
#include "kernels/x86/vec_avx2.h"

#include "kernels/x86/avx_vnni.h"
#include "kernels/x86/conv_bytes.h"
#include "kernels/x86/scale_sums_body.h"

enum {
    MAX_ROWS = 6,
    WIDE_FOURS = 256,               /* of a row in a chunk, 8 bytes each */
    WIDE_ROW = 8 * WIDE_FOURS + 64, /* no two rows in the same sets of L1 */
    SUM_ROW = PANELS_ONCE * IPEX_PANEL,
    DOTS = 8, /* see run_block */
};

/* Up to MAX_ROWS rows of a chunk, `segments` of `fours` times four elements each, and a panel: what
 * the sums at y have so far, and these products. */
struct wide_block {
    const uint8_t *x; /* rows WIDE_ROW apart */
    const float *w;
    float *y;
    int64_t w_kw, w_kh;
    int32_t fours, segments, segments_w, tap_w; /* as struct conv_block */
};

/* In the assembler's words: gcc would add the products first, and keep them all. */
#define ADD(r, v)                                                                                  \
    __asm__("vpaddd %1, %0, %0" : "+x"(sum##r##_##v) : "x"(_mm256_madd_epi16(a, w##v)));
#define ADD_ROW(r, odd)                                                                            \
    {                                                                                              \
        const vec_int a = vec_int_set(four_at(x + r * WIDE_ROW + odd));                            \
        ADD(r, 0)                                                                                  \
        ADD(r, 1)                                                                                  \
    }
#define ADD_EVEN(r) ADD_ROW(r, 0)
#define ADD_ODD(r)  ADD_ROW(r, 4)
#define DOT(r, v)   DPBUSD_256(sum##r##_##v, a, w##v);
#define ADD_DOTS(r)                                                                                \
    {                                                                                              \
        const vec_int a = vec_int_set(four_at(x + r * WIDE_ROW));                                  \
        DOT(r, 0)                                                                                  \
        DOT(r, 1)                                                                                  \
    }

#define SUM(r, v)  vec_int sum##r##_##v = vec_bits(vec_load(y + r * SUM_ROW + v * LANES));
#define KEEP(r, v) vec_store(y + r * SUM_ROW + v * LANES, vec_float(sum##r##_##v));
#define SUM_OF(r)  SUM(r, 0) SUM(r, 1)
#define KEEP_OF(r) KEEP(r, 0) KEEP(r, 1)

static inline vec_int odd_weights(const float *w) {
    return _mm256_srai_epi16(vec_bits(vec_load(w)), 8);
}

static inline vec_int even_weights(const float *w) {
    return _mm256_srai_epi16(_mm256_slli_epi16(vec_bits(vec_load(w)), 8), 8);
}

#define SUM_BLOCK(name, MR, STEP, BYTES)                                                           \
    static __attribute__((noinline)) void name(const struct wide_block *b) {                       \
        const uint8_t *x = b->x;                                                                   \
        const float *ws = b->w;                                                                    \
        float *y = b->y;                                                                           \
        int32_t tap_w = b->tap_w;                                                                  \
        ROWS_##MR(SUM_OF) for (int32_t s = b->segments; s > 0; s--) {                              \
            const float *w = ws;                                                                   \
            for (int32_t fours = b->fours; fours > 0; fours--, x += BYTES, w += IPEX_PANEL) {      \
                STEP(MR)                                                                           \
            }                                                                                      \
            const bool row_ends = ++tap_w == b->segments_w;                                        \
            ws += row_ends ? b->w_kh : b->w_kw;                                                    \
            tap_w = row_ends ? 0 : tap_w;                                                          \
        }                                                                                          \
        ROWS_##MR(KEEP_OF)                                                                         \
    }
#define WIDE_STEP(MR)                                                                              \
    {                                                                                              \
        const vec_int w0 = even_weights(w), w1 = even_weights(w + LANES);                          \
        ROWS_##MR(ADD_EVEN)                                                                        \
    }                                                                                              \
    {                                                                                              \
        const vec_int w0 = odd_weights(w), w1 = odd_weights(w + LANES);                            \
        ROWS_##MR(ADD_ODD)                                                                         \
    }
#define DOT_STEP(MR)                                                                               \
    const vec_int w0 = vec_bits(vec_load(w)), w1 = vec_bits(vec_load(w + LANES));                  \
    ROWS_##MR(ADD_DOTS)
#define BLOCK(MR)     SUM_BLOCK(sums_##MR, MR, WIDE_STEP, 8)
#define DOT_BLOCK(MR) SUM_BLOCK(dots_##MR, MR, DOT_STEP, 4)

#define BLOCKS(X) X(1) X(2) X(3) X(4) X(5) X(6)
BLOCKS(BLOCK)
BLOCKS(DOT_BLOCK)

#define CASE(MR)                                                                                   \
    case MR:                                                                                       \
        sums_##MR(b);                                                                              \
        return;
#define DOT_CASE(MR)                                                                               \
    case DOTS + MR:                                                                                \
        dots_##MR(b);                                                                              \
        return;
/* which: rows, and DOTS where bytes are as they were. */
static __attribute__((noinline)) void run_block(const struct wide_block *b, int64_t which) {
    switch (which) {
        BLOCKS(CASE)
        BLOCKS(DOT_CASE)
    default:
        __builtin_unreachable();
    }
}

/* Four elements, or as many as there are, then 0. */
static inline uint32_t four_or_less(const uint8_t *x, int64_t count) {
    return count < 4 ? last_at(x, count) : (uint32_t)four_at(x);
}

/* `count` elements of u8 as pairs of 16 bits: of every four the even ones, then the odd ones; 0
 * behind the last. */
static __attribute__((noinline)) void widen(const uint8_t *x, int64_t count, uint8_t *to) {
    const __m128i even = _mm_set1_epi16(0xff);
    for (; count >= 16; count -= 16, x += 16, to += 32) {
        const __m128i all = _mm_loadu_si128((const __m128i *)x);
        const __m128i a = _mm_and_si128(all, even), b = _mm_srli_epi16(all, 8);
        _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi32(a, b));
        _mm_storeu_si128((__m128i *)to + 1, _mm_unpackhi_epi32(a, b));
    }
    for (; count > 0; count -= 4, x += 4, to += 8) {
        const uint32_t four = four_or_less(x, count);
        const uint64_t wide = (four & 0xff00ff) | (uint64_t)(four >> 8 & 0xff00ff) << 32;
        memcpy(to, &wide, sizeof wide);
    }
}

/* As they are, 0 behind the last. */
static __attribute__((noinline)) void copy_bytes(const uint8_t *x, int64_t count, uint8_t *to) {
    for (; count >= 16; count -= 16, x += 16, to += 16)
        _mm_storeu_si128((__m128i *)to, _mm_loadu_si128((const __m128i *)x));
    for (; count > 0; count -= 4, x += 4, to += 4) {
        const uint32_t four = four_or_less(x, count);
        memcpy(to, &four, sizeof four);
    }
}

/* What is left of K: from element k of the segment at `at` on, the first of so many. */
struct wide_rest {
    struct widen_place at;
    int32_t segments, k;
};

/* The next chunk of all rows, whole segments or a part of one; `rest` begins behind it then. */
static void widen_chunk(const struct conv_block *b, int64_t rows, bool dots, struct wide_rest *rest,
                        uint8_t *to, struct wide_block *ret) {
    const int32_t left = b->k - rest->k, most = 4 * WIDE_FOURS, count = left < most ? left : most;
    const int32_t fours = (count + 3) / 4;
    const int32_t fit = count == b->k ? WIDE_FOURS / fours : 1;
    ret->x = to;
    ret->w = rest->at.w + rest->k / 4 * IPEX_PANEL;
    ret->tap_w = rest->at.tap_w;
    ret->fours = fours;
    ret->segments = fit < rest->segments ? fit : rest->segments;
    for (int32_t s = 0; s < ret->segments; s++, to += (dots ? 4 : 8) * fours) {
        for (int64_t r = 0; r < rows; r++)
            (dots ? copy_bytes : widen)(rest->at.x + rest->k + row_at(rows, b->x_row, b->x_half, r),
                                        count, to + r * WIDE_ROW);
        rest->k += count;
        if (rest->k < b->k)
            continue;
        next_segment(b, &rest->at);
        rest->segments--;
        rest->k = 0;
    }
}

static __attribute__((noinline)) void walk_widened(const struct conv_walk *walk,
                                                   const struct conv_part *part,
                                                   struct conv_block *b, int64_t rows, int64_t all,
                                                   int64_t columns) {
    _Alignas(64) uint8_t x[MAX_ROWS * WIDE_ROW];
    _Alignas(64) float sums[MAX_ROWS * SUM_ROW];
    struct wide_block wide = {.w_kw = b->w_kw, .w_kh = b->w_kh, .segments_w = b->segments_w};
    const bool dots = walk->level->dots;
    (void)part;
    for (int64_t panel = 0; panel < all; panel += PANELS_ONCE) {
        const int64_t panels = ipex_smaller(all - panel, PANELS_ONCE);
        const int64_t column = panel * IPEX_PANEL;
        struct wide_rest rest = {{b->x, b->w + panel * b->w_panel, b->tap_w}, b->segments, 0};
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < panels * IPEX_PANEL; c += LANES)
                vec_store(sums + r * SUM_ROW + c, vec_set(0.0f));
        while (rest.segments > 0) {
            widen_chunk(b, rows, dots, &rest, x, &wide);
            wide.y = sums;
            for (int64_t p = 0; p < panels; p++, wide.w += b->w_panel, wide.y += IPEX_PANEL)
                run_block(&wide, dots ? DOTS + rows : rows);
        }
        const struct sums done = block_sums(walk->args, b, sums, rows, SUM_ROW, column,
                                            ipex_smaller(columns - column, panels * IPEX_PANEL));
        ipex_k_scale_sums__avx2(walk->args, &done);
    }
}

static int64_t panels_for(int64_t rows, int64_t panels, int64_t columns) {
    (void)rows, (void)panels, (void)columns;
    return 1;
}

#define LEVEL                                                                                      \
    CONV_OPERANDS, .walk = ipex_conv_walk_blocks, .lines = walk_lines, .panels_for = panels_for,   \
                   .max_rows = MAX_ROWS, .max_rows_half = MAX_ROWS, .max_rows_3 = MAX_ROWS,        \
                   .sums = true

static inline float sums_byte(const struct ipex_conv_args *args, float v) {
    const float whole =
        __builtin_fmaf(v, args->y_scale, IPEX_WHOLE_NUMBERS) - (IPEX_WHOLE_NUMBERS - args->y_zero);
    return whole > 0 ? whole < 255 ? whole : 255 : 0;
}

static inline bool sums_is_byte(float v) {
    return v >= 0 && v <= 255 && v == v + IPEX_WHOLE_NUMBERS - IPEX_WHOLE_NUMBERS;
}

/* Bytes grow with what they are made of, or fall. */
struct sums_bounds ipex_k_sums_bounds__avx2(const struct ipex_conv_args *args) {
    const bool units = args->y_scale == 1 && sums_is_byte(args->y_zero);
    float low = act_low(args->act, args->act_a), high = act_high(args->act, args->act_b);
    if (low > high)
        low = high;
    if (args->y_scale != 0) {
        low = sums_byte(args, low);
        high = sums_byte(args, high);
    }
    return low < high ? (struct sums_bounds){low, high, units}
                      : (struct sums_bounds){high, low, units};
}

void ipex_k_conv_u8__avx2(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    static const struct conv_level level = {LEVEL};
    (void)scratch;
    ipex_conv_walk(&level, args, job_begin, job_end);
}

void ipex_k_conv_u8__avx_vnni(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                              void *scratch) {
    static const struct conv_level level = {LEVEL, .dots = true};
    (void)scratch;
    ipex_conv_walk(&level, args, job_begin, job_end);
}
