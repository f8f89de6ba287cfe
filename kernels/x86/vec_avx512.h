/* SPDX-License-Identifier: Apache-2.0 */
/* The vector of AVX-512 under the names that kernels/x86/vec_functions.h and the kernels written
 * once for both widths use. vec_max(b, a) is b > a ? b : a and vec_min(b, a) is b < a ? b : a, as
 * in kernels/ref/ref.h: a NaN in a stays. */
#ifndef IPEX_KERNELS_X86_VEC_AVX512_H
#define IPEX_KERNELS_X86_VEC_AVX512_H

#include <immintrin.h>

#include "kernels/x86/x86.h"

#define VEC_REGISTERS    32
#define IPEX_LEVEL(slot) ipex_k_##slot##__avx512

enum { LANES = 16 };
typedef __m512 vec;
typedef __m512i vec_int;
typedef __mmask16 vec_mask;

/* The first n lanes; all of them where n >= LANES, none where n <= 0. */
static inline vec_mask vec_first(int64_t n) {
    const unsigned lanes = n >= LANES ? LANES : n <= 0 ? 0 : (unsigned)n;
    return (vec_mask)((1u << lanes) - 1);
}

static inline vec vec_set(float x) {
    return _mm512_set1_ps(x);
}
static inline vec vec_load(const float *p) {
    return _mm512_loadu_ps(p);
}
static inline void vec_store(float *p, vec x) {
    _mm512_storeu_ps(p, x);
}
/* Masked: lanes that are off are 0, and their memory is not touched. */
static inline vec vec_load_masked(const float *p, vec_mask m) {
    return _mm512_maskz_loadu_ps(m, p);
}
static inline void vec_store_masked(float *p, vec_mask m, vec x) {
    _mm512_mask_storeu_ps(p, m, x);
}

/* Up to four elements, masked likewise. */
typedef __mmask8 quad_mask;
static inline quad_mask quad_first(int64_t n) {
    return (quad_mask)((1u << n) - 1);
}
static inline __m128 quad_load_masked(const float *p, quad_mask m) {
    return _mm_maskz_loadu_ps(m, p);
}
static inline void quad_store_masked(float *p, quad_mask m, __m128 x) {
    _mm_mask_storeu_ps(p, m, x);
}

/* A load that several products share: gcc 12 would repeat it for each. */
static inline vec vec_in_register(vec a) {
#ifdef __AVX512F__ /* which tests do without (tests/avx512_emu) */
    __asm__("" : "+v"(a));
#endif
    return a;
}

/* Eight words, and once more in lanes 8 to 15, so that vec_permute goes by at[l] modulo 8. */
static inline vec vec_eight(const void *words) {
    return _mm512_broadcast_f32x8(_mm256_loadu_ps((const float *)words));
}

/* Lane l of a at[l]-th, of whole vectors. */
static inline vec vec_permute(vec a, vec_int at) {
    return _mm512_permutexvar_ps(at, a);
}

static inline vec vec_add(vec a, vec b) {
    return _mm512_add_ps(a, b);
}
static inline vec vec_sub(vec a, vec b) {
    return _mm512_sub_ps(a, b);
}
static inline vec vec_mul(vec a, vec b) {
    return _mm512_mul_ps(a, b);
}
static inline vec vec_div(vec a, vec b) {
    return _mm512_div_ps(a, b);
}
static inline vec vec_fma(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}
static inline vec vec_fnma(vec a, vec b, vec c) {
    return _mm512_fnmadd_ps(a, b, c);
}
static inline vec vec_max(vec b, vec a) {
    return _mm512_max_ps(b, a);
}
static inline vec vec_min(vec b, vec a) {
    return _mm512_min_ps(b, a);
}
static inline vec vec_sqrt(vec a) {
    return _mm512_sqrt_ps(a);
}
static inline vec vec_floor(vec a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline vec vec_ceil(vec a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
static inline vec vec_round(vec a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vec_mask vec_less(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline vec_mask vec_equal(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
static inline vec_mask vec_is_nan(vec a) {
    return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}
/* Lane l is bit l. */
static inline uint32_t vec_mask_bits(vec_mask m) {
    return m;
}
static inline vec vec_select(vec_mask m, vec yes, vec no) {
    return _mm512_mask_mov_ps(no, m, yes);
}

/* Lanes i and i ^ n change places; n is 1, 2, 4 or 8. */
static inline vec vec_swap(vec a, int n) {
    return n == 8   ? _mm512_shuffle_f32x4(a, a, 0x4e)
           : n == 4 ? _mm512_shuffle_f32x4(a, a, 0xb1)
           : n == 2 ? _mm512_permute_ps(a, 0x4e)
                    : _mm512_permute_ps(a, 0xb1);
}
static inline float vec_lowest_lane(vec a) {
    return _mm512_cvtss_f32(a);
}

static inline vec_int vec_bits(vec a) {
    return _mm512_castps_si512(a);
}
static inline vec vec_float(vec_int a) {
    return _mm512_castsi512_ps(a);
}
/* The first n bytes, zeros behind them; memory behind them is not touched. */
static inline vec_int vec_load_bytes(const void *p, int64_t n) {
    const __mmask64 all = ~(__mmask64)0;
    const __mmask64 first = n >= 64 ? all : n <= 0 ? 0 : all >> (64 - n);
    return _mm512_maskz_loadu_epi8(first, p);
}
/* Rounded to bf16 as kernels/bf16.h says. */
#ifdef __AVX512BF16__
static inline __m256i vec_bf16(vec a) {
    return (__m256i)_mm512_cvtneps_pbh(a);
}
#else
static inline __m256i vec_bf16(vec a) {
    const __m512i bits = _mm512_castps_si512(a), one = _mm512_set1_epi32(1);
    const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MAX));
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
    __m512i r = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    r = _mm512_mask_and_epi32(r, _mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32(0x00800000)),
                              bits, _mm512_set1_epi32(INT32_MIN));
    r = _mm512_mask_or_epi32(r, _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7f800000)),
                             bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16));
}
#endif
/* LANES elements at p. */
static inline void vec_store_bf16(void *p, vec a) {
    _mm256_storeu_si256((__m256i *)p, vec_bf16(a));
}
/* a's elements, and b's behind those of a panel: a cache line. */
static inline void vec_store_bf16_pair(uint16_t *p, vec a, vec b) {
#ifdef __AVX512BF16__
    _mm512_storeu_si512(p, (__m512i)_mm512_cvtne2ps_pbh(b, a));
#else
    vec_store_bf16(p, a);
    vec_store_bf16(p + LANES, b);
#endif
}
/* LANES elements of bf16, widened. */
static inline vec vec_load_bf16(const uint16_t *p) {
    const __m512i bits =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}
/* The first n of them, zeros behind them; memory behind them is not touched. */
static inline void vec_store_bf16_part(uint16_t *p, int64_t n, vec a) {
    _mm256_mask_storeu_epi16(p, vec_first(n), vec_bf16(a));
}
static inline vec vec_load_bf16_part(const uint16_t *p, int64_t n) {
    const __m512i bits = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(vec_first(n), p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}

/* Numbers of 8 bits without sign, as f32; those that are left out are 0. */
static inline vec vec_load_u8_masked(const uint8_t *p, vec_mask m) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(m, p)));
}
/* The first n of LANES; those behind them are 0. */
static inline vec vec_load_u8_part(const uint8_t *p, int64_t n) {
    return vec_load_u8_masked(p, vec_first(n));
}
/* From 0 to 255, rounded to nearest, ties to even; a NaN is 0. */
static inline void vec_store_bytes_part(uint8_t *p, int64_t n, vec a) {
    const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a));
    if (n >= LANES) /* AMD's CPUs take long to store under a mask, and longer to narrow so */
        _mm_storeu_si128((__m128i *)(void *)p, bytes);
    else
        _mm_mask_storeu_epi8(p, vec_first(n), bytes);
}

/* What is added to whole numbers before they are cut to bytes, and their bounds then. */
struct vec_byte_range {
    vec_int zero, low, high;
};
static inline struct vec_byte_range vec_byte_range(int16_t zero, uint8_t low, uint8_t high) {
    return (struct vec_byte_range){_mm512_set1_epi16(zero), _mm512_set1_epi8((char)low),
                                   _mm512_set1_epi8((char)high)};
}
/* Words 0, 4, 8 and 12, then 1, 5, 9 and 13...: the quarters' first words, then their second ones.
 */
static inline vec_int vec_every_fourth(vec_int words) {
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), words);
}
/* Numbers of 16 bits, packed from vectors of a and b and of c and d, as bytes: those of a, b, c, d.
 */
static inline vec_int vec_bytes(vec_int ab, vec_int cd, struct vec_byte_range range) {
    const vec_int bytes = _mm512_max_epu8(_mm512_packus_epi16(ab, cd), range.low);
    return vec_every_fourth(_mm512_min_epu8(bytes, range.high));
}
static inline vec_int vec_halves(vec_int a, vec_int b, struct vec_byte_range range) {
    return _mm512_adds_epi16(_mm512_packs_epi32(a, b), range.zero);
}
/* a to d as bytes. */
static inline vec_int vec_bytes_of_four(vec_int a, vec_int b, vec_int c, vec_int d,
                                        struct vec_byte_range range) {
    return vec_bytes(vec_halves(a, b, range), vec_halves(c, d, range), range);
}
/* The first half of them to p, the second one to q. */
static inline void vec_store_two_rows(uint8_t *p, uint8_t *q, vec_int bytes) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_castsi512_si256(bytes));
    _mm256_storeu_si256((__m256i *)(void *)q, _mm512_extracti64x4_epi64(bytes, 1));
}
/* Some of every quarter's. */
static inline void vec_store_four_rows(uint8_t *p, uint8_t *q, uint8_t *r, uint8_t *s,
                                       vec_mask some, vec_int bytes) {
    _mm_mask_storeu_epi8(p, some, _mm512_castsi512_si128(bytes));
    _mm_mask_storeu_epi8(q, some, _mm512_extracti32x4_epi32(bytes, 1));
    _mm_mask_storeu_epi8(r, some, _mm512_extracti32x4_epi32(bytes, 2));
    _mm_mask_storeu_epi8(s, some, _mm512_extracti32x4_epi32(bytes, 3));
}
/* a to d as bytes to p. */
static inline void vec_store_row(uint8_t *p, vec_int a, vec_int b, vec_int c, vec_int d,
                                 struct vec_byte_range range) {
    _mm512_storeu_si512(p, vec_bytes_of_four(a, b, c, d, range));
}
/* a and b as bytes to p and to q. */
static inline void vec_store_two_vectors(uint8_t *p, uint8_t *q, vec_int a, vec_int b,
                                         struct vec_byte_range range) {
    const vec_int ab = vec_halves(a, b, range);
    const __m256i bytes = _mm512_castsi512_si256(vec_bytes(ab, ab, range));
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(bytes));
    _mm_storeu_si128((__m128i *)(void *)q, _mm256_extracti128_si256(bytes, 1));
}

static inline vec_int vec_int_load(const void *p) {
    return vec_bits(vec_load(p));
}
static inline vec_int vec_int_set(int32_t x) {
    return _mm512_set1_epi32(x);
}
static inline vec_int vec_int_add(vec_int a, vec_int b) {
    return _mm512_add_epi32(a, b);
}
static inline vec_int vec_int_sub(vec_int a, vec_int b) {
    return _mm512_sub_epi32(a, b);
}
static inline vec_int vec_int_max(vec_int a, vec_int b) {
    return _mm512_max_epi32(a, b);
}
static inline vec_int vec_int_half(vec_int a) {
    return _mm512_srai_epi32(a, 1);
}
static inline vec_int vec_int_to_exponent(vec_int a) {
    return _mm512_slli_epi32(a, 23);
}
static inline vec_int vec_int_eighths_to_exponent(vec_int a) {
    return _mm512_slli_epi32(a, 20);
}
static inline vec_int vec_int_from_exponent(vec_int a) {
    return _mm512_srai_epi32(a, 23);
}
static inline vec_int vec_int_to_upper_half(vec_int a) {
    return _mm512_slli_epi32(a, 16);
}
static inline vec_int vec_int_to_sign(vec_int a) {
    return _mm512_slli_epi32(a, 31);
}
static inline vec_mask vec_int_negative(vec_int a) {
    return _mm512_movepi32_mask(a);
}
static inline vec_int vec_int_mul(vec_int a, vec_int b) {
    return _mm512_mullo_epi32(a, b);
}
/* Every second lane of a and b side by side, from lane 0 or (odd) 1 on. */
static inline vec vec_every_second(vec a, vec b, bool odd) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(a, _mm512_or_si512(even, _mm512_set1_epi32(odd)), b);
}
/* p[at] of every lane. */
static inline vec vec_gather(const float *p, vec_int at) {
    return _mm512_i32gather_ps(at, p, 4);
}
/* p[at] and, behind it, p[at + 1] of every lane: half the work of two gathers. */
static inline void vec_gather_pairs(const float *p, vec_int at, vec *ret_first, vec *ret_second) {
    const vec a = _mm512_castpd_ps(_mm512_i32gather_pd(_mm512_castsi512_si256(at), p, 4));
    const vec b = _mm512_castpd_ps(_mm512_i32gather_pd(_mm512_extracti64x4_epi64(at, 1), p, 4));
    *ret_first = vec_every_second(a, b, false);
    *ret_second = vec_every_second(a, b, true);
}
static inline vec vec_from_int(vec_int a) {
    return _mm512_cvtepi32_ps(a);
}
static inline vec_int vec_int_round(vec a) {
    return _mm512_cvtps_epi32(a);
}
/* x * 2^n for whole n, rounded once. */
static inline vec vec_scale(vec x, vec n) {
    return _mm512_scalef_ps(x, n);
}
static inline vec_int vec_and(vec_int a, vec_int b) {
    return _mm512_and_si512(a, b);
}
static inline vec_int vec_or(vec_int a, vec_int b) {
    return _mm512_or_si512(a, b);
}
static inline vec_int vec_xor(vec_int a, vec_int b) {
    return _mm512_xor_si512(a, b);
}

#endif
