/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise programs on bytes as with AVX2, but a table of 256 bytes is four vectors, of which two
 * vpermi2b take what the lower seven bits of an index say. */
#include <immintrin.h>

#include "kernels/pointwise_bytes.h"
#include "kernels/x86/x86.h"

enum { STEP = 64, HALF = 128 };

static inline __m512i quarter(const uint8_t *table) {
    return _mm512_loadu_si512((const void *)table);
}

static void look_up(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
    const __m512i low0 = quarter(table), low1 = quarter(table + STEP);
    const __m512i high0 = quarter(table + HALF), high1 = quarter(table + HALF + STEP);
    for (int64_t i = 0; i < n; i += STEP) {
        AS_WRITTEN;
        const __mmask64 mask = n - i >= STEP ? ~(__mmask64)0 : ((__mmask64)1 << (n - i)) - 1;
        const __m512i at = _mm512_maskz_loadu_epi8(mask, x + i);
        const __m512i low = _mm512_permutex2var_epi8(low0, at, low1);
        const __m512i high = _mm512_permutex2var_epi8(high0, at, high1);
        _mm512_mask_storeu_epi8(y + i, mask,
                                _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
    }
}

void ipex_k_pointwise_u8__avx512_vbmi(const struct ipex_pointwise_args *args, int64_t job_begin,
                                      int64_t job_end, void *scratch) {
    struct ipex_byte_loops loops = ipex_byte_loops__avx2();
    loops.look_up = look_up;
    ipex_pointwise_bytes(&loops, args, job_begin, job_end, scratch);
}
