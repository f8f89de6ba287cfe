/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution on u8 and i8 with AVX2: two rows of the kernel at a time, as pairs of 16
 * bits, whose products vpmaddwd adds exactly. */
#include "kernels/x86/vec_avx2.h"

#define ROWS             2
#define STACK_ROW(a, r)  _mm256_slli_epi32(a, 16 * (r))
#define WEIGHTS_AT(p)    weights_at(p)
#define PRODUCT(s, x, w) _mm256_add_epi32(s, _mm256_madd_epi16(x, w))

static inline vec_int weights_at(const int8_t *p) {
    const vec_int words = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
    return vec_and(words, vec_int_set(0xffff));
}

/* Of fewer than eight channels those before them are loaded, too: there are eight or more in all.
 */
struct some_bytes {
    int64_t before;
    __m128i bits;
};
static inline struct some_bytes some_bytes(int64_t n) {
    const int64_t before = n < LANES ? LANES - n : 0;
    return (struct some_bytes){before, _mm_cvtsi64_si128(8 * before)};
}
static inline vec_int words_at(const uint8_t *p, struct some_bytes some) {
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(p - some.before));
    return _mm256_cvtepu8_epi32(_mm_srl_epi64(bytes, some.bits));
}

#include "kernels/x86/depthwise_bytes_body.h"

void ipex_k_depthwise_u8__avx2(const struct ipex_conv_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    ipex_depthwise_bytes(&level, args, job_begin, job_end, scratch);
}
