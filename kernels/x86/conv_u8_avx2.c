/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on u8 and i8 with AVX2: of four elements of K the even ones, then the odd
 * ones, as pairs of 16 bits, whose products vpmaddwd adds exactly (vpmaddubsw would saturate). */
#include "kernels/x86/vec_avx2.h"

#include "kernels/x86/conv_sums.h"
#include "kernels/x86/scale_sums_body.h"

/* One half of each pair of bytes as 16 bits: of weights with their sign, of x without. */
static inline vec_int w_half(vec_int w, bool odd) {
    return _mm256_srai_epi16(odd ? w : _mm256_slli_epi16(w, 8), 8);
}

static inline vec_int x_half(vec_int x, bool odd) {
    return odd ? _mm256_srli_epi16(x, 8) : _mm256_and_si256(x, _mm256_set1_epi16(0xff));
}

#define WEIGHT(v) const vec_int w##v = w_half(vec_bits(vec_load(w + v * LANES)), ODD);
#define ADD(r, v) sum##r##_##v = vec_int_add(sum##r##_##v, _mm256_madd_epi16(a, w##v));
#define ADD_ROW_2(r)                                                                               \
    {                                                                                              \
        const vec_int a = x_half(vec_int_set(four_at(AT(a0, a1, x_row, r))), ODD);                 \
        VECS_2(ADD, r)                                                                             \
    }
/* The two halves load anew: operands kept for the second would drive sums out of their registers.
 */
#define HALF_STEP(odd, MR)                                                                         \
    {                                                                                              \
        enum { ODD = odd };                                                                        \
        __asm__ volatile("" ::: "memory");                                                         \
        VECS_2(WEIGHT_OF, 0) ROWS_##MR(ADD_ROW_2)                                                  \
    }
#define WEIGHT_OF(r, v) WEIGHT(v)
#define STEP(MR, NV)    HALF_STEP(0, MR) HALF_STEP(1, MR)

enum { MAX_ROWS = 5, MAX_ROWS_HALF = MAX_ROWS, MAX_ROWS_3 = MAX_ROWS };
#define BLOCKS(X)     X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1)
#define BLOCK(MR, NP) SUM_BLOCK(MR, NP, 2)
BLOCKS(BLOCK)

#define CASE(MR, NP)                                                                               \
    case MR:                                                                                       \
        sums_##MR##x##NP(b);                                                                       \
        return;
static __attribute__((noinline)) void run_block(const struct conv_block *b, int64_t which) {
    switch (which) {
        BLOCKS(CASE)
    default:
        __builtin_unreachable();
    }
}

static int64_t panels_for(int64_t rows, int64_t panels, int64_t columns) {
    (void)rows, (void)panels, (void)columns;
    return 1;
}

static bool run(struct conv_block *b, int64_t rows, int64_t panels) {
    (void)panels;
    run_block(b, rows);
    return false;
}

static const struct conv_level level = {
    CONV_BLOCKS,
    .sums = true,
};

void ipex_k_conv_u8__avx2(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    (void)scratch;
    ipex_conv_walk(&level, args, job_begin, job_end);
}
