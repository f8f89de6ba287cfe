/* SPDX-License-Identifier: Apache-2.0 */
/* The vector of AVX2 and FMA under the names that kernels/x86/vec_functions.h and the kernels
 * written once for both widths use. vec_max(b, a) is b > a ? b : a and vec_min(b, a) is b < a ? b :
 * a, as in kernels/ref/ref.h: a NaN in a stays. */
#ifndef IPEX_KERNELS_X86_VEC_AVX2_H
#define IPEX_KERNELS_X86_VEC_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "kernels/x86/x86.h"

#define VEC_REGISTERS    16
#define IPEX_LEVEL(slot) ipex_k_##slot##__avx2

enum { LANES = 8 };
typedef __m256 vec;
typedef __m256i vec_int;
typedef __m256 vec_mask; /* all bits of a lane, or none */

/* The first n lanes; all of them where n >= LANES, none where n <= 0. */
static inline vec_mask vec_first(int64_t n) {
    const int32_t count = n >= LANES ? LANES : n <= 0 ? 0 : (int32_t)n;
    return _mm256_castsi256_ps(
        _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
}

static inline vec vec_set(float x) {
    return _mm256_set1_ps(x);
}
static inline vec vec_load(const float *p) {
    return _mm256_loadu_ps(p);
}
static inline void vec_store(float *p, vec x) {
    _mm256_storeu_ps(p, x);
}
/* Masked: lanes that are off are 0, and their memory is not touched. */
static inline vec vec_load_masked(const float *p, vec_mask m) {
    return _mm256_maskload_ps(p, _mm256_castps_si256(m));
}
static inline void vec_store_masked(float *p, vec_mask m, vec x) {
    _mm256_maskstore_ps(p, _mm256_castps_si256(m), x);
}

/* Up to four elements, masked likewise. */
typedef __m128i quad_mask;
static inline quad_mask quad_first(int64_t n) {
    return _mm_cmpgt_epi32(_mm_set1_epi32((int32_t)n), _mm_setr_epi32(0, 1, 2, 3));
}
static inline __m128 quad_load_masked(const float *p, quad_mask m) {
    return _mm_maskload_ps(p, m);
}
static inline void quad_store_masked(float *p, quad_mask m, __m128 x) {
    _mm_maskstore_ps(p, m, x);
}

/* A load that several products share: gcc 12 would repeat it for each. */
static inline vec vec_in_register(vec a) {
    __asm__("" : "+x"(a));
    return a;
}

static inline vec vec_eight(const void *words) {
    return _mm256_loadu_ps((const float *)words);
}
static inline vec vec_permute(vec a, vec_int at) {
    return _mm256_permutevar8x32_ps(a, at);
}

static inline vec vec_add(vec a, vec b) {
    return _mm256_add_ps(a, b);
}
static inline vec vec_sub(vec a, vec b) {
    return _mm256_sub_ps(a, b);
}
static inline vec vec_mul(vec a, vec b) {
    return _mm256_mul_ps(a, b);
}
static inline vec vec_div(vec a, vec b) {
    return _mm256_div_ps(a, b);
}
static inline vec vec_fma(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}
static inline vec vec_fnma(vec a, vec b, vec c) {
    return _mm256_fnmadd_ps(a, b, c);
}
static inline vec vec_max(vec b, vec a) {
    return _mm256_max_ps(b, a);
}
static inline vec vec_min(vec b, vec a) {
    return _mm256_min_ps(b, a);
}
static inline vec vec_sqrt(vec a) {
    return _mm256_sqrt_ps(a);
}
static inline vec vec_floor(vec a) {
    return _mm256_floor_ps(a);
}
static inline vec vec_ceil(vec a) {
    return _mm256_ceil_ps(a);
}
static inline vec vec_round(vec a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vec_mask vec_less(vec a, vec b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
static inline vec_mask vec_equal(vec a, vec b) {
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
static inline vec_mask vec_is_nan(vec a) {
    return _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
}
static inline uint32_t vec_mask_bits(vec_mask m) {
    return (uint32_t)_mm256_movemask_ps(m);
}
static inline vec vec_select(vec_mask m, vec yes, vec no) {
    return _mm256_blendv_ps(no, yes, m);
}

/* Lanes i and i ^ n change places; n is 1, 2 or 4. */
static inline vec vec_swap(vec a, int n) {
    return n == 4   ? _mm256_permute2f128_ps(a, a, 0x01)
           : n == 2 ? _mm256_permute_ps(a, 0x4e)
                    : _mm256_permute_ps(a, 0xb1);
}
static inline float vec_lowest_lane(vec a) {
    return _mm256_cvtss_f32(a);
}

static inline vec_int vec_bits(vec a) {
    return _mm256_castps_si256(a);
}
static inline vec vec_float(vec_int a) {
    return _mm256_castsi256_ps(a);
}
/* The first n bytes, zeros behind them; memory behind them is not touched. There are no masks of
 * bytes: words by a mask, then the bytes of one. */
static inline vec_int vec_load_bytes(const void *p, int64_t n) {
    const int64_t words = n >= (int64_t)sizeof(vec_int) ? LANES : n <= 0 ? 0 : n / 4;
    const vec_int all = _mm256_maskload_epi32(p, _mm256_castps_si256(vec_first(words)));
    if (words == LANES || n % 4 <= 0)
        return all;
    const uint8_t *rest = (const uint8_t *)p + 4 * words;
    uint16_t half = 0;
    if (n & 2)
        memcpy(&half, rest, sizeof half);
    const uint32_t word = half | (uint32_t)(n & 1 ? rest[n & 2] : 0) << 8 * (n & 2);
    const vec_int lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const vec_int at = _mm256_cmpeq_epi32(lane, _mm256_set1_epi32((int32_t)words));
    return _mm256_blendv_epi8(all, _mm256_set1_epi32((int32_t)word), at);
}
/* Rounded to bf16 as kernels/bf16.h says, LANES elements at p. */
static inline void vec_store_bf16(void *p, vec a) {
    const __m256i bits = _mm256_castps_si256(a), one = _mm256_set1_epi32(1);
    const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MAX));
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    const __m256i tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x00800000), magnitude);
    const __m256i nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    __m256i r = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    r = _mm256_blendv_epi8(r, _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MIN)), tiny);
    r = _mm256_srli_epi32(_mm256_blendv_epi8(r, quiet, nan), 16);
    r = _mm256_permute4x64_epi64(_mm256_packus_epi32(r, r), 0x08);
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(r));
}
/* a's elements, and b's behind those of a panel. */
static inline void vec_store_bf16_pair(uint16_t *p, vec a, vec b) {
    vec_store_bf16(p, a);
    vec_store_bf16(p + 2 * LANES, b);
}
/* LANES elements of bf16, widened. */
static inline vec vec_load_bf16(const uint16_t *p) {
    const __m128i bits = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
/* The first n of them, zeros behind them; memory behind them is not touched. */
static __attribute__((noinline, unused)) void vec_store_bf16_part(uint16_t *p, int64_t n, vec a) {
    uint16_t all[LANES];
    if (n >= LANES) {
        vec_store_bf16(p, a);
    } else if (n > 0) {
        vec_store_bf16(all, a);
        memcpy(p, all, (size_t)n * sizeof *p);
    }
}
/* The first n of LANES numbers of 8 bits without sign, as f32; those behind them are 0. */
static inline vec vec_load_u8_part(const uint8_t *p, int64_t n) {
    uint64_t all = 0;
    if (n >= LANES)
        memcpy(&all, p, LANES);
    else
        for (int64_t i = n; i > 0; i--) {
            all = all << 8 | p[i - 1];
            AS_WRITTEN;
        }
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)all)));
}
/* From 0 to 255, rounded to nearest, ties to even; a NaN is 0. */
static inline void vec_store_bytes_part(uint8_t *p, int64_t n, vec a) {
    const __m256i whole = _mm256_cvtps_epi32(a);
    const __m128i half =
        _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    uint64_t all = (uint64_t)_mm_cvtsi128_si64(_mm_packus_epi16(half, half));
    if (n >= LANES)
        memcpy(p, &all, LANES);
    else
        for (int64_t i = 0; i < n; i++, all >>= 8) {
            p[i] = (uint8_t)all;
            AS_WRITTEN;
        }
}
static __attribute__((noinline, unused)) vec vec_load_bf16_part(const uint16_t *p, int64_t n) {
    uint16_t all[LANES] = {0};
    if (n < LANES && n > 0)
        memcpy(all, p, (size_t)n * sizeof *p);
    return vec_load_bf16(n < LANES ? all : p);
}

/* What is added to whole numbers before they are cut to bytes, and their bounds then. */
struct vec_byte_range {
    vec_int zero, low, high;
};
static inline struct vec_byte_range vec_byte_range(int16_t zero, uint8_t low, uint8_t high) {
    return (struct vec_byte_range){_mm256_set1_epi16(zero), _mm256_set1_epi8((char)low),
                                   _mm256_set1_epi8((char)high)};
}
/* a to d as bytes to p. */
static inline void vec_store_row(uint8_t *p, vec_int a, vec_int b, vec_int c, vec_int d,
                                 struct vec_byte_range range) {
    a = _mm256_adds_epi16(_mm256_packs_epi32(a, b), range.zero);
    c = _mm256_adds_epi16(_mm256_packs_epi32(c, d), range.zero);
    a = _mm256_max_epu8(_mm256_packus_epi16(a, c), range.low);
    a = _mm256_permutevar8x32_epi32(_mm256_min_epu8(a, range.high),
                                    _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)(void *)p, a);
}

static inline vec_int vec_int_load(const void *p) {
    return vec_bits(vec_load(p));
}
static inline vec_int vec_int_set(int32_t x) {
    return _mm256_set1_epi32(x);
}
static inline vec_int vec_int_add(vec_int a, vec_int b) {
    return _mm256_add_epi32(a, b);
}
static inline vec_int vec_int_sub(vec_int a, vec_int b) {
    return _mm256_sub_epi32(a, b);
}
static inline vec_int vec_int_max(vec_int a, vec_int b) {
    return _mm256_max_epi32(a, b);
}
static inline vec_int vec_int_half(vec_int a) {
    return _mm256_srai_epi32(a, 1);
}
static inline vec_int vec_int_to_exponent(vec_int a) {
    return _mm256_slli_epi32(a, 23);
}
static inline vec_int vec_int_eighths_to_exponent(vec_int a) {
    return _mm256_slli_epi32(a, 20);
}
static inline vec_int vec_int_from_exponent(vec_int a) {
    return _mm256_srai_epi32(a, 23);
}
static inline vec_int vec_int_to_upper_half(vec_int a) {
    return _mm256_slli_epi32(a, 16);
}
static inline vec_int vec_int_to_sign(vec_int a) {
    return _mm256_slli_epi32(a, 31);
}
static inline vec_mask vec_int_negative(vec_int a) {
    return _mm256_castsi256_ps(_mm256_srai_epi32(a, 31));
}
static inline vec_int vec_int_mul(vec_int a, vec_int b) {
    return _mm256_mullo_epi32(a, b);
}
/* Every second lane of a and b side by side, from lane 0 or (odd) 1 on. */
static inline vec vec_every_second(vec a, vec b, bool odd) {
    /* 0 2 8 10 | 4 6 12 14 */
    const __m256d pairs =
        _mm256_castps_pd(odd ? _mm256_shuffle_ps(a, b, 0xdd) : _mm256_shuffle_ps(a, b, 0x88));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, 0xd8));
}
/* p[at] of every lane. */
static inline vec vec_gather(const float *p, vec_int at) {
    return _mm256_i32gather_ps(p, at, 4);
}
/* p[at] and, behind it, p[at + 1] of every lane: half the work of two gathers. */
static inline void vec_gather_pairs(const float *p, vec_int at, vec *ret_first, vec *ret_second) {
    const double *pairs = (const double *)(const void *)p;
    const __m256d a = _mm256_i32gather_pd(pairs, _mm256_castsi256_si128(at), 4);
    const __m256d b = _mm256_i32gather_pd(pairs, _mm256_extracti128_si256(at, 1), 4);
    *ret_first = vec_every_second(_mm256_castpd_ps(a), _mm256_castpd_ps(b), false);
    *ret_second = vec_every_second(_mm256_castpd_ps(a), _mm256_castpd_ps(b), true);
}
static inline vec vec_from_int(vec_int a) {
    return _mm256_cvtepi32_ps(a);
}
static inline vec_int vec_int_round(vec a) {
    return _mm256_cvtps_epi32(a);
}
static inline vec_int vec_and(vec_int a, vec_int b) {
    return _mm256_and_si256(a, b);
}
static inline vec_int vec_or(vec_int a, vec_int b) {
    return _mm256_or_si256(a, b);
}
static inline vec_int vec_xor(vec_int a, vec_int b) {
    return _mm256_xor_si256(a, b);
}

/* x * 2^n for whole n of [-252, 254], rounded once: in two factors, neither of which overflows. */
static inline vec vec_scale(vec x, vec n) {
    const vec_int bias = vec_int_set(127), whole = vec_int_round(n), half = vec_int_half(whole);
    const vec_int rest = vec_int_sub(whole, half);
    x = vec_mul(x, vec_float(vec_int_to_exponent(vec_int_add(half, bias))));
    return vec_mul(x, vec_float(vec_int_to_exponent(vec_int_add(rest, bias))));
}

#endif
