/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution on u8 and i8 with vpdpbusd: four rows of the kernel at a time. */
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/scale_sums.h"

#define ROWS             4
#define STACK_ROW(a, r)  _mm512_slli_epi32(a, 8 * (r))
#define WEIGHTS_AT(p)    vec_words_of_bytes((const uint8_t *)(p))
#define PRODUCT(s, x, w) _mm512_dpbusd_epi32(s, x, w)

#include "kernels/x86/depthwise_bytes.h"

void ipex_k_depthwise_u8__avx512_vnni(const struct ipex_conv_args *args, int64_t job_begin,
                                      int64_t job_end, void *scratch) {
    depthwise_bytes(args, job_begin, job_end, scratch);
}
