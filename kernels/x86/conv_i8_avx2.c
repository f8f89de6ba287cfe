/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on i8 with AVX2: even and odd elements of K as pairs of 16 bits, whose
 * products vpmaddwd adds exactly (vpmaddubsw would saturate). */
#include "kernels/x86/vec_avx2.h"

#include <string.h>

#define TILE_ROWS ROWS_3
#define TILE_VECS VECS_2
enum { ROWS_AT_ONCE = 3, X_WORDS = 2 };

/* Elements 0 and 2, then 1 and 3. */
static inline void x_words(const int8_t *x, int32_t *to) {
    const int16_t pairs[4] = {x[0], x[2], x[1], x[3]};
    memcpy(to, pairs, sizeof pairs);
}

#define X_OF(p)       const vec_int x_even = vec_int_set((p)[0]), x_odd = vec_int_set((p)[1]);
#define WEIGHTS_BEGIN /* none */
#define WEIGHT(v)                                                                                  \
    const vec_int w##v = vec_bits(vec_load(w + v * LANES));                                        \
    const vec_int even##v = _mm256_srai_epi16(_mm256_slli_epi16(w##v, 8), 8);                      \
    const vec_int odd##v = _mm256_srai_epi16(w##v, 8);
#define PRODUCT_OF(sum, v)                                                                         \
    vec_int_add(sum,                                                                               \
                vec_int_add(_mm256_madd_epi16(x_even, even##v), _mm256_madd_epi16(x_odd, odd##v)))
#define CORRECTED(sum) sum
#include "kernels/x86/conv_tiles_i8.h"

static const struct conv_level level = {CONV_OPERANDS, .walk = walk_tiles};

void ipex_k_conv_i8__avx2(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    (void)scratch;
    ipex_conv_walk(&level, args, job_begin, job_end);
}
