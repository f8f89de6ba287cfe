/* SPDX-License-Identifier: Apache-2.0 */
/* The intrinsics of AVX-512 that the kernels use, by AVX2: a vector of 512 bits is two of 256, lane
 * by lane as Intel's manual (SDM volume 2) says. With this file before the compiler's own of the
 * same name (meson.build) the kernels' sources of all levels become programs for CPUs that have
 * AVX2 alone. Arithmetic goes by MXCSR, as there; memory that a mask leaves out is not touched; an
 * aligned load of what is not is an illegal instruction; what is undefined there are NaNs here. */
#ifndef IPEX_TESTS_AVX512_EMU_IMMINTRIN_H
#define IPEX_TESTS_AVX512_EMU_IMMINTRIN_H

#include_next <immintrin.h>
#include <stdint.h>
#include <string.h>

typedef int32_t emu_int __attribute__((vector_size(64)));
typedef uint32_t emu_word __attribute__((vector_size(64)));

#define EMU          static inline __attribute__((always_inline, unused))
#define EMU_LANES(i) for (int i = 0; i < 16; i++)

EMU __m256 emu_low_ps(__m512 a) {
    __m256 ret;
    memcpy(&ret, &a, sizeof ret);
    return ret;
}
EMU __m256 emu_high_ps(__m512 a) {
    __m256 ret;
    memcpy(&ret, (const char *)&a + sizeof ret, sizeof ret);
    return ret;
}
EMU __m512 emu_join_ps(__m256 low, __m256 high) {
    const __m256 both[2] = {low, high};
    __m512 ret;
    memcpy(&ret, both, sizeof ret);
    return ret;
}
EMU __m256i emu_low(__m512i a) {
    return (__m256i)emu_low_ps((__m512)a);
}
EMU __m256i emu_high(__m512i a) {
    return (__m256i)emu_high_ps((__m512)a);
}
EMU __m512i emu_join(__m256i low, __m256i high) {
    return (__m512i)emu_join_ps((__m256)low, (__m256)high);
}

/* What AVX2 has for each half. */
#define EMU_PS_1(name)                                                                             \
    EMU __m512 emu_##name(__m512 a) {                                                              \
        return emu_join_ps(_mm256_##name(emu_low_ps(a)), _mm256_##name(emu_high_ps(a)));           \
    }
#define EMU_PS_2(name)                                                                             \
    EMU __m512 emu_##name(__m512 a, __m512 b) {                                                    \
        return emu_join_ps(_mm256_##name(emu_low_ps(a), emu_low_ps(b)),                            \
                           _mm256_##name(emu_high_ps(a), emu_high_ps(b)));                         \
    }
#define EMU_PS_3(name)                                                                             \
    EMU __m512 emu_##name(__m512 a, __m512 b, __m512 c) {                                          \
        return emu_join_ps(_mm256_##name(emu_low_ps(a), emu_low_ps(b), emu_low_ps(c)),             \
                           _mm256_##name(emu_high_ps(a), emu_high_ps(b), emu_high_ps(c)));         \
    }
#define EMU_INT_2(name)                                                                            \
    EMU __m512i emu_##name(__m512i a, __m512i b) {                                                 \
        return emu_join(_mm256_##name(emu_low(a), emu_low(b)),                                     \
                        _mm256_##name(emu_high(a), emu_high(b)));                                  \
    }
#define EMU_SHIFT(name)                                                                            \
    EMU __m512i emu_##name(__m512i a, int count) {                                                 \
        return emu_join(_mm256_##name(emu_low(a), count), _mm256_##name(emu_high(a), count));      \
    }
EMU_PS_1(sqrt_ps)
EMU_PS_2(add_ps)
EMU_PS_2(sub_ps)
EMU_PS_2(mul_ps)
EMU_PS_2(div_ps)
EMU_PS_2(min_ps)
EMU_PS_2(max_ps)
EMU_PS_3(fmadd_ps)
EMU_PS_3(fnmadd_ps)
EMU_INT_2(add_epi32)
EMU_INT_2(sub_epi32)
EMU_INT_2(mullo_epi32)
EMU_INT_2(max_epi32)
EMU_INT_2(packs_epi32)
EMU_INT_2(packus_epi16)
EMU_INT_2(adds_epi16)
EMU_INT_2(madd_epi16)
EMU_INT_2(srlv_epi32)
EMU_INT_2(max_epu8)
EMU_INT_2(min_epu8)
EMU_SHIFT(slli_epi32)
EMU_SHIFT(srli_epi32)
EMU_SHIFT(srai_epi32)
#undef _mm512_slli_epi32
#undef _mm512_srli_epi32
#undef _mm512_srai_epi32
#define _mm512_sqrt_ps      emu_sqrt_ps
#define _mm512_add_ps       emu_add_ps
#define _mm512_sub_ps       emu_sub_ps
#define _mm512_mul_ps       emu_mul_ps
#define _mm512_div_ps       emu_div_ps
#define _mm512_min_ps       emu_min_ps
#define _mm512_max_ps       emu_max_ps
#define _mm512_fmadd_ps     emu_fmadd_ps
#define _mm512_fnmadd_ps    emu_fnmadd_ps
#define _mm512_add_epi32    emu_add_epi32
#define _mm512_sub_epi32    emu_sub_epi32
#define _mm512_mullo_epi32  emu_mullo_epi32
#define _mm512_max_epi32    emu_max_epi32
#define _mm512_packs_epi32  emu_packs_epi32
#define _mm512_packus_epi16 emu_packus_epi16
#define _mm512_adds_epi16   emu_adds_epi16
#define _mm512_max_epu8     emu_max_epu8
#define _mm512_min_epu8     emu_min_epu8
#define _mm512_srlv_epi32   emu_srlv_epi32
#define _mm512_slli_epi32   emu_slli_epi32
#define _mm512_srli_epi32   emu_srli_epi32
#define _mm512_srai_epi32   emu_srai_epi32

#define _mm512_and_si512(a, b) ((__m512i)((emu_int)(a) & (emu_int)(b)))
#define _mm512_or_si512(a, b)  ((__m512i)((emu_int)(a) | (emu_int)(b)))
#define _mm512_xor_si512(a, b) ((__m512i)((emu_int)(a) ^ (emu_int)(b)))

/* To whole numbers, of the one fraction bit that is kept by none; `how` must be a literal. */
#undef _mm512_roundscale_ps
#define _mm512_roundscale_ps(a, how)                                                               \
    emu_join_ps(_mm256_round_ps(emu_low_ps(a), how), _mm256_round_ps(emu_high_ps(a), how))

/* a * 2^floor(b), rounded once: the product of doubles is exact, and where 2^300 or 2^-300 stands
 * for more, the result is an infinity or 0 all the same. */
EMU __m512 emu_scalef_ps(__m512 a, __m512 b) {
    __m512 ret = a;
    EMU_LANES(i) {
        const float n = __builtin_floorf(b[i]);
        const float in_range = n > 300 ? 300 : n < -300 ? -300 : n;
        const double power = n != n || __builtin_isinf(n) ? (n < 0 ? 0.0 : (double)n)
                                                          : __builtin_ldexp(1.0, (int)in_range);
        ret[i] = (float)((double)a[i] * power);
    }
    return ret;
}
#undef _mm512_scalef_ps
#define _mm512_scalef_ps emu_scalef_ps

/* ---- constants, casts ---- */

#define EMU_EIGHT(x)        x, x, x, x, x, x, x, x
#define _mm512_set1_ps(x)   ((__m512){EMU_EIGHT(x), EMU_EIGHT(x)})
#define _mm512_setzero_ps() _mm512_set1_ps(0.0f)
#undef _mm512_setr_epi32
#define _mm512_setr_epi32(...) ((__m512i)(emu_int){__VA_ARGS__})
EMU __m512i emu_set1_epi32(int32_t x) {
    return (__m512i)(emu_int){EMU_EIGHT(x), EMU_EIGHT(x)};
}
EMU __m512i emu_set1_epi16(int16_t x) {
    return emu_join(_mm256_set1_epi16(x), _mm256_set1_epi16(x));
}
EMU __m512i emu_set1_epi8(char x) {
    return emu_join(_mm256_set1_epi8(x), _mm256_set1_epi8(x));
}
#undef _mm512_set1_epi32
#define _mm512_set1_epi32 emu_set1_epi32
#define _mm512_set1_epi16 emu_set1_epi16
#define _mm512_set1_epi8  emu_set1_epi8

#define _mm512_castps_si512(a)    ((__m512i)(a))
#define _mm512_castsi512_ps(a)    ((__m512)(a))
#define _mm512_castpd_ps(a)       ((__m512)(a))
#define _mm512_castps512_ps256(a) emu_low_ps(a)
#define _mm512_castsi512_si256(a) emu_low(a)
#define _mm512_castps256_ps512(a) emu_join_ps(a, _mm256_set1_ps(__builtin_nanf("")))
#define _mm512_cvtss_f32(a)       ((a)[0])

/* ---- memory ---- */

EMU void emu_aligned(const void *p) {
    if ((uintptr_t)p % 64 != 0)
        __builtin_trap();
}
EMU __m512i emu_loadu(const void *p) {
    __m512i ret;
    memcpy(&ret, p, sizeof ret);
    return ret;
}
EMU void emu_storeu(void *p, __m512i a) {
    memcpy(p, &a, sizeof a);
}
EMU __m512i emu_load(const void *p) {
    emu_aligned(p);
    return emu_loadu(p);
}
#define _mm512_loadu_si512(p)     ((__m512i)emu_loadu(p))
#define _mm512_loadu_ps(p)        ((__m512)emu_loadu(p))
#define _mm512_load_ps(p)         ((__m512)emu_load(p))
#define _mm512_load_si512         emu_load
#define _mm512_storeu_ps(p, a)    emu_storeu(p, (__m512i)(a))
#define _mm512_storeu_si512(p, a) emu_storeu(p, a)

/* All ones in the lanes of a mask's first eight bits. */
EMU __m256i emu_lanes(unsigned mask) {
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)mask), bits), bits);
}
EMU __m512i emu_all_lanes(__mmask16 mask) {
    return emu_join(emu_lanes(mask), emu_lanes(mask >> 8));
}
EMU __m512 emu_maskz_loadu_ps(__mmask16 m, const void *p) {
    return emu_join_ps(_mm256_maskload_ps((const float *)p, emu_lanes(m)),
                       _mm256_maskload_ps((const float *)p + 8, emu_lanes(m >> 8)));
}
EMU void emu_mask_storeu_ps(void *p, __mmask16 m, __m512 a) {
    _mm256_maskstore_ps((float *)p, emu_lanes(m), emu_low_ps(a));
    _mm256_maskstore_ps((float *)p + 8, emu_lanes(m >> 8), emu_high_ps(a));
}
#define _mm512_maskz_loadu_ps          emu_maskz_loadu_ps
#define _mm512_mask_storeu_ps          emu_mask_storeu_ps
#define _mm256_maskz_loadu_ps(m, p)    _mm256_maskload_ps(p, emu_lanes(m))
#define _mm256_mask_storeu_ps(p, m, a) _mm256_maskstore_ps(p, emu_lanes(m), a)
#define _mm_maskz_loadu_ps(m, p)       _mm_maskload_ps(p, _mm256_castsi256_si128(emu_lanes(m)))
#define _mm_mask_storeu_ps(p, m, a)    _mm_maskstore_ps(p, _mm256_castsi256_si128(emu_lanes(m)), a)

/* Elements of one or two bytes. */
#define EMU_MASKED(load, store, vector, mask, element)                                             \
    EMU vector load(mask m, const void *p) {                                                       \
        element to[sizeof(vector) / sizeof(element)] = {0};                                        \
        for (unsigned i = 0; i < sizeof(vector) / sizeof(element); i++)                            \
            if (m >> i & 1)                                                                        \
                memcpy(&to[i], (const element *)p + i, sizeof(element));                           \
        vector ret;                                                                                \
        memcpy(&ret, to, sizeof ret);                                                              \
        return ret;                                                                                \
    }                                                                                              \
    EMU void store(void *p, mask m, vector a) {                                                    \
        element from[sizeof(vector) / sizeof(element)];                                            \
        memcpy(from, &a, sizeof a);                                                                \
        for (unsigned i = 0; i < sizeof(vector) / sizeof(element); i++)                            \
            if (m >> i & 1)                                                                        \
                memcpy((element *)p + i, &from[i], sizeof(element));                               \
    }
EMU_MASKED(emu_maskz_loadu_epi8, emu_mask_storeu_epi8, __m512i, __mmask64, uint8_t)
EMU_MASKED(emu_maskz_loadu_epi16_256, emu_mask_storeu_epi16_256, __m256i, __mmask16, uint16_t)
EMU_MASKED(emu_maskz_loadu_epi8_128, emu_mask_storeu_epi8_128, __m128i, __mmask16, uint8_t)
#define _mm512_mask_storeu_epi8  emu_mask_storeu_epi8
#define _mm512_maskz_loadu_epi8  emu_maskz_loadu_epi8
#define _mm256_maskz_loadu_epi16 emu_maskz_loadu_epi16_256
#define _mm256_mask_storeu_epi16 emu_mask_storeu_epi16_256
#define _mm_maskz_loadu_epi8     emu_maskz_loadu_epi8_128
#define _mm_mask_storeu_epi8     emu_mask_storeu_epi8_128

EMU __m512 emu_i32gather_ps(__m512i at, const void *p) {
    return emu_join_ps(_mm256_i32gather_ps((const float *)p, emu_low(at), 4),
                       _mm256_i32gather_ps((const float *)p, emu_high(at), 4));
}
EMU __m512d emu_i32gather_pd(__m256i at, const void *p) {
    const double *from = (const double *)p;
    const __m256d low = _mm256_i32gather_pd(from, _mm256_castsi256_si128(at), 4);
    const __m256d high = _mm256_i32gather_pd(from, _mm256_extracti128_si256(at, 1), 4);
    return (__m512d)emu_join((__m256i)low, (__m256i)high);
}
#undef _mm512_i32gather_ps
#undef _mm512_i32gather_pd
#define _mm512_i32gather_ps(at, p, scale)                                                          \
    emu_i32gather_ps((at), (p) + 0 * sizeof(char[(scale) == 4 ? 1 : -1]))
#define _mm512_i32gather_pd(at, p, scale)                                                          \
    emu_i32gather_pd((at), (p) + 0 * sizeof(char[(scale) == 4 ? 1 : -1]))

/* ---- masks ---- */

EMU __mmask16 emu_movemask(__m512i a) {
    return (__mmask16)(_mm256_movemask_ps((__m256)emu_low(a)) |
                       _mm256_movemask_ps((__m256)emu_high(a)) << 8);
}
#undef _mm512_cmp_ps_mask
#define _mm512_cmp_ps_mask(a, b, how)                                                              \
    emu_movemask((__m512i)emu_join_ps(_mm256_cmp_ps(emu_low_ps(a), emu_low_ps(b), how),            \
                                      _mm256_cmp_ps(emu_high_ps(a), emu_high_ps(b), how)))
#undef _mm512_cmplt_epi32_mask
#undef _mm512_cmpgt_epi32_mask
#define _mm512_cmplt_epi32_mask(a, b) emu_movemask((__m512i)((emu_int)(a) < (emu_int)(b)))
#define _mm512_cmpgt_epi32_mask(a, b) emu_movemask((__m512i)((emu_int)(a) > (emu_int)(b)))
#define _mm512_movepi32_mask(a)       emu_movemask(a)
EMU __m512i emu_blend(__m512i no, __mmask16 m, __m512i yes) {
    const emu_int lanes = (emu_int)emu_all_lanes(m);
    return (__m512i)(((emu_int)yes & lanes) | ((emu_int)no & ~lanes));
}
#define _mm512_mask_mov_ps(no, m, yes)     ((__m512)emu_blend((__m512i)(no), m, (__m512i)(yes)))
#define _mm512_mask_and_epi32(no, m, a, b) emu_blend(no, m, _mm512_and_si512(a, b))
#define _mm512_mask_or_epi32(no, m, a, b)  emu_blend(no, m, _mm512_or_si512(a, b))

/* ---- lanes to other places ---- */

EMU __m512 emu_permutex2var_ps(__m512 a, __m512i at, __m512 b) {
    const emu_int from = (emu_int)at;
    __m512 ret = a;
    EMU_LANES(i) ret[i] = from[i] & 16 ? b[from[i] & 15] : a[from[i] & 15];
    return ret;
}
/* Of four lanes at a time, two from a and two from b. */
EMU __m512 emu_shuffle_f32x4(__m512 a, __m512 b, int from) {
    __m512 ret = a;
    EMU_LANES(i) ret[i] = (i < 8 ? a : b)[(from >> i / 4 * 2 & 3) * 4 + i % 4];
    return ret;
}
/* In every four lanes, two from a and two from b. */
EMU __m512 emu_shuffle_ps(__m512 a, __m512 b, int from) {
    __m512 ret = a;
    EMU_LANES(i) ret[i] = (i % 4 < 2 ? a : b)[i / 4 * 4 + (from >> i % 4 * 2 & 3)];
    return ret;
}
#define EMU_UNPACK(name)                                                                           \
    EMU __m512i emu_##name(__m512i a, __m512i b) {                                                 \
        return emu_join(_mm256_##name(emu_low(a), emu_low(b)),                                     \
                        _mm256_##name(emu_high(a), emu_high(b)));                                  \
    }
EMU_UNPACK(unpacklo_epi8)
EMU_UNPACK(unpackhi_epi8)
EMU_UNPACK(unpacklo_epi16)
EMU_UNPACK(unpackhi_epi16)
EMU __m512 emu_permute_ps(__m512 a, int from) {
    __m512 ret = a;
    EMU_LANES(i) ret[i] = a[i / 4 * 4 + (from >> i % 4 * 2 & 3)];
    return ret;
}
EMU __m512i emu_permutex2var_epi8(__m512i a, __m512i at, __m512i b) {
    uint8_t bytes[128], from[64];
    memcpy(bytes, &a, sizeof a);
    memcpy(bytes + sizeof a, &b, sizeof b);
    memcpy(from, &at, sizeof at);
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = bytes[from[i] & 127];
    memcpy(&a, from, sizeof a);
    return a;
}
EMU __mmask64 emu_movepi8_mask(__m512i a) {
    return (uint32_t)_mm256_movemask_epi8(emu_low(a)) |
           (__mmask64)(uint32_t)_mm256_movemask_epi8(emu_high(a)) << 32;
}
EMU __m512i emu_mask_blend_epi8(__mmask64 m, __m512i a, __m512i b) {
    uint8_t no[64], yes[64];
    memcpy(no, &a, sizeof a);
    memcpy(yes, &b, sizeof b);
    for (unsigned i = 0; i < sizeof no; i++)
        no[i] = m >> i & 1 ? yes[i] : no[i];
    memcpy(&a, no, sizeof a);
    return a;
}
#undef _mm512_shuffle_f32x4
#undef _mm512_shuffle_ps
#undef _mm512_permute_ps
#undef _mm512_extracti64x4_epi64
#undef _mm512_extracti32x4_epi32
#undef _mm512_castsi512_si128
#define _mm512_permutex2var_epi8 emu_permutex2var_epi8
#define _mm512_movepi8_mask      emu_movepi8_mask
#define _mm512_mask_blend_epi8   emu_mask_blend_epi8
#define _mm512_permutex2var_ps   emu_permutex2var_ps
#define _mm512_permutexvar_ps(at, a)                                                               \
    emu_permutex2var_ps(a, _mm512_and_si512(at, _mm512_set1_epi32(15)), a)
#define _mm512_permutexvar_epi32(at, a)    ((__m512i)_mm512_permutexvar_ps(at, (__m512)(a)))
#define _mm512_shuffle_f32x4               emu_shuffle_f32x4
#define _mm512_shuffle_ps                  emu_shuffle_ps
#define _mm512_permute_ps                  emu_permute_ps
#define _mm512_unpacklo_epi8               emu_unpacklo_epi8
#define _mm512_unpackhi_epi8               emu_unpackhi_epi8
#define _mm512_unpacklo_epi16              emu_unpacklo_epi16
#define _mm512_unpackhi_epi16              emu_unpackhi_epi16
#define _mm512_extracti64x4_epi64(a, half) ((half) ? emu_high(a) : emu_low(a))
#define _mm512_castsi512_si128(a)          _mm256_castsi256_si128(emu_low(a))
#define _mm512_extracti32x4_epi32(a, quarter)                                                      \
    _mm256_extracti128_si256((quarter) < 2 ? emu_low(a) : emu_high(a), (quarter) % 2)
#define _mm512_broadcast_f32x8(a) emu_join_ps(a, a)
#define _mm512_broadcast_i32x4(a)                                                                  \
    emu_join(_mm256_broadcastsi128_si256(a), _mm256_broadcastsi128_si256(a))
#define _mm512_broadcastq_epi64(a) emu_join(_mm256_broadcastq_epi64(a), _mm256_broadcastq_epi64(a))

/* ---- conversions ---- */

#define _mm512_cvtps_epi32(a)                                                                      \
    emu_join(_mm256_cvtps_epi32(emu_low_ps(a)), _mm256_cvtps_epi32(emu_high_ps(a)))
#define _mm512_cvtepi32_ps(a)                                                                      \
    emu_join_ps(_mm256_cvtepi32_ps(emu_low(a)), _mm256_cvtepi32_ps(emu_high(a)))
EMU __m512i emu_cvtepu16_epi32(__m256i a) {
    return emu_join(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)),
                    _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1)));
}
EMU __m512i emu_cvtepu8_epi32(__m128i a) {
    return emu_join(_mm256_cvtepu8_epi32(a), _mm256_cvtepu8_epi32(_mm_srli_si128(a, 8)));
}
EMU __m512 emu_cvtph_ps(__m256i a) {
    return emu_join_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(a)),
                       _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1)));
}
EMU __m256i emu_cvtepi32_epi16(__m512i a) {
    typedef uint16_t halves __attribute__((vector_size(32)));
    return (__m256i) __builtin_convertvector((emu_word)a, halves);
}
EMU __m128i emu_cvtepi32_epi8(__m512i a) {
    typedef uint8_t bytes __attribute__((vector_size(16)));
    return (__m128i) __builtin_convertvector((emu_word)a, bytes);
}
#define _mm512_cvtepu16_epi32 emu_cvtepu16_epi32
#define _mm512_cvtepu8_epi32  emu_cvtepu8_epi32
#define _mm512_cvtph_ps       emu_cvtph_ps
#define _mm512_cvtepi32_epi16 emu_cvtepi32_epi16
#define _mm512_cvtepi32_epi8  emu_cvtepi32_epi8

/* ---- VNNI and BF16 ---- */

/* Every lane of c and the sum of four products of a byte without sign and one with, modulo 2^32. */
EMU __m512i emu_dpbusd_epi32(__m512i c, __m512i a, __m512i b) {
    uint8_t bytes[64];
    int8_t factors[64];
    uint32_t sums[16];
    memcpy(bytes, &a, sizeof a);
    memcpy(factors, &b, sizeof b);
    memcpy(sums, &c, sizeof c);
    for (int i = 0; i < 64; i++)
        sums[i / 4] += (uint32_t)(bytes[i] * factors[i]);
    memcpy(&c, sums, sizeof c);
    return c;
}
#define _mm512_dpbusd_epi32 emu_dpbusd_epi32
#define DPBUSD(sum, a, b)   (sum) = emu_dpbusd_epi32(sum, a, b)
#define DPWSSD(sum, a, b)   (sum) = emu_add_epi32(sum, emu_madd_epi16(a, b))
#define DPBUSD_256(sum, a, w)                                                                      \
    (sum) = emu_low(emu_dpbusd_epi32(emu_join(sum, sum), emu_join(a, a), emu_join(w, w)))

/* Every lane of c and the product of the odd elements, then of the even ones, each rounded once.
 * The instruction flushes denormals and rounds to nearest whatever MXCSR says, which says the same
 * when kernels run. */
EMU __m512 emu_dpbf16_ps(__m512 c, __m512bh a, __m512bh b) {
    const emu_word x = (emu_word)a, y = (emu_word)b;
    const emu_word upper = (emu_word)_mm512_set1_epi32(-0x10000);
    const __m512 odd = emu_fmadd_ps((__m512)(x & upper), (__m512)(y & upper), c);
    return emu_fmadd_ps((__m512)(x << 16), (__m512)(y << 16), odd);
}
/* To nearest, ties to even; denormals are zeros, NaNs quiet. */
EMU uint16_t emu_bf16_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (__builtin_isnan(x))
        return (uint16_t)(bits >> 16 | 0x40);
    if ((bits & INT32_MAX) < UINT32_C(0x00800000))
        return (uint16_t)(bits >> 16 & 0x8000);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
EMU __m512bh emu_cvtne2ps_pbh(__m512 upper, __m512 lower) {
    uint16_t to[32];
    EMU_LANES(i) {
        to[i] = emu_bf16_of(lower[i]);
        to[16 + i] = emu_bf16_of(upper[i]);
    }
    return (__m512bh)emu_loadu(to);
}
#define _mm512_dpbf16_ps      emu_dpbf16_ps
#define _mm512_cvtne2ps_pbh   emu_cvtne2ps_pbh
#define _mm512_cvtneps_pbh(a) ((__m256bh)emu_low((__m512i)emu_cvtne2ps_pbh(a, a)))

#endif
