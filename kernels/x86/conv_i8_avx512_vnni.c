/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on i8 with vpdpbusd, whose left operand has no sign: 128 is added to x,
 * and 128 times the weights' sum is taken away again, modulo 2^32 like all sums. */
#include "kernels/x86/vec_avx512.h"

#include <string.h>

#define TILE_ROWS ROWS_6
#define TILE_VECS VECS_1
enum { ROWS_AT_ONCE = 6, X_WORDS = 1 };

#define FOUR_TIMES_128 ((int32_t)0x80808080)

static inline void x_words(const int8_t *x, int32_t *to) {
    memcpy(to, x, sizeof *to);
    *to ^= FOUR_TIMES_128;
}

#define X_OF(p) const vec_int a = vec_int_set(*(p));
#define WEIGHTS_BEGIN                                                                              \
    const vec_int all_128 = vec_int_set(FOUR_TIMES_128);                                           \
    vec_int excess = vec_int_set(0);
#define WEIGHT(v)                                                                                  \
    const vec_int w##v = vec_bits(vec_load(w + v * LANES));                                        \
    excess = _mm512_dpbusd_epi32(excess, all_128, w##v);
#define PRODUCT_OF(sum, v) _mm512_dpbusd_epi32(sum, a, w##v)
#define CORRECTED(sum)     vec_int_sub(sum, excess)
#include "kernels/x86/conv_tiles_i8.h"

static const struct conv_level level = {CONV_OPERANDS, .walk = walk_tiles};

void ipex_k_conv_i8__avx512_vnni(const struct ipex_conv_args *args, int64_t job_begin,
                                 int64_t job_end, void *scratch) {
    (void)scratch;
    ipex_conv_walk(&level, args, job_begin, job_end);
}
