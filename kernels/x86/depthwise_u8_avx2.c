/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution on u8 and i8 with AVX2. */
#include "kernels/x86/fours_avx2.h"

#include "kernels/x86/depthwise_bytes.h"

/* Eight channels of row r, zeros behind the last one. */
static inline __m128i eight_bytes(const struct byte_rows *from, const uint8_t *x, int64_t r,
                                  int64_t last, __m128i bits) {
    if (r > last)
        return _mm_setzero_si128();
    return _mm_srl_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(x + r * from->row)), bits);
}

static void stack_eight(const struct byte_rows *from, const uint8_t *x, int64_t last, int64_t n,
                        int64_t column, float *to) {
    const __m128i bits = _mm_cvtsi64_si128(8 * (LANES - n));
    x -= LANES - n;
    for (int64_t q = from->columns; q > 0; q--, x += from->step, to += column) {
        const __m128i a = _mm_unpacklo_epi8(eight_bytes(from, x, 0, last, bits),
                                            eight_bytes(from, x, 1, last, bits));
        const __m128i b = _mm_unpacklo_epi8(eight_bytes(from, x, 2, last, bits),
                                            eight_bytes(from, x, 3, last, bits));
        vec_store(to,
                  vec_float(_mm256_set_m128i(_mm_unpackhi_epi16(a, b), _mm_unpacklo_epi16(a, b))));
    }
}

static void stack(const struct byte_rows *from, float *to) {
    const int64_t column = ipex_div_up(from->rows, 4) * LANES;
    for (int64_t c = 0; c < from->channels; c += LANES, to += from->columns * column)
        for (int64_t r = 0; r < from->rows; r += 4)
            stack_eight(from, from->x + r * from->row + c, from->rows - 1 - r,
                        ipex_smaller(LANES, from->channels - c), column, to + r / 4 * LANES);
}

#define LEAST_TO_ROLL  INT32_MAX
#define ROLL_3         NULL
#define MULTIPLY_SET_3 ipex_k_multiply_set__avx2
#include "kernels/x86/depthwise_bytes_body.h"

void ipex_k_depthwise_u8__avx2(const struct ipex_conv_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    ipex_depthwise_bytes(&level, args, job_begin, job_end, scratch);
}
