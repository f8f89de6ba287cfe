/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution on u8 and i8 with vpdpbusd: four rows of the kernel at a time. */
#include "kernels/x86/vec_avx512.h"

#define ROWS             4
#define STACK_ROW(a, r)  _mm512_slli_epi32(a, 8 * (r))
#define WEIGHTS_AT(p)    words_at((const uint8_t *)(p), some_bytes(LANES))
#define PRODUCT(s, x, w) _mm512_dpbusd_epi32(s, x, w)

struct some_bytes {
    vec_mask first;
};
static inline struct some_bytes some_bytes(int64_t n) {
    return (struct some_bytes){vec_first(n)};
}
static inline vec_int words_at(const uint8_t *p, struct some_bytes some) {
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(some.first, p));
}

#include "kernels/x86/depthwise_bytes_body.h"

void ipex_k_depthwise_u8__avx512_vnni(const struct ipex_conv_args *args, int64_t job_begin,
                                      int64_t job_end, void *scratch) {
    ipex_depthwise_bytes(&level, args, job_begin, job_end, scratch);
}
