/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on f32 with AVX-512. */
#include "kernels/x86/vec_avx512.h"

#define CONV_PANELS_APART 3
#include "kernels/x86/conv_eights.h"
#define CONV_FEW ipex_conv_few__avx512
#include "kernels/x86/conv_few_body.h"
#include "kernels/x86/conv_planar.h"
#include "kernels/x86/conv_transpose_walk.h"

#define OPERAND               __m512
#define X_AT(p)               _mm512_set1_ps(*(p))
#define W_AT(p)               _mm512_load_ps(p)
#define PRODUCT(a, b, c)      _mm512_fmadd_ps(a, b, c)
#define OPERAND_HALF          __m256
#define X_AT_HALF(p)          _mm256_set1_ps(*(p))
#define W_AT_HALF(p)          _mm256_load_ps(p)
#define PRODUCT_HALF(a, b, c) _mm256_fmadd_ps(a, b, c)
/* Every addition besides costs a step of k 1 to 2 % of its time, as it takes a turn of a unit that
 * multiplies. So blocks take two steps at a time where the compilers have registers for it (gcc not
 * with three panels), rows are addressed by three registers, which addresses multiply by 1, 2 or 4,
 * not by six, and pointers are what the compiler knows nothing of: gcc would give every access a
 * pointer of its own. Blocks of two or three panels and many rows
 * also fetch a line of each panel's next weights in two steps (fetch_next). */
#define CONV_FETCHES_NEXT
#define CONV_ACTS
#define TWO_STEPS_1  true
#define TWO_STEPS_2  true
#define TWO_STEPS_3  false
#define TWO_STEPS_4  true
#define TWO_STEPS_1H true
#define X_ROW(r)     (const float *)AT_BYTES(a0, a1, r)
#define STEPS_IN_TWOS(MR, NR, BETWEEN, BEHIND)                                                     \
    for (; k > 1; k -= 2) {                                                                        \
        {STEP(MR, NR)} BETWEEN;                                                                    \
        a0++, a1++, w += LANES;                                                                    \
        {STEP(MR, NR)} BEHIND;                                                                     \
        a0++, a1++, w += LANES;                                                                    \
        ROWS_ANEW(a0, a1, w);                                                                      \
    }
#define CHAINS(MR, NR)                                                                             \
    int64_t x_1 = x_row * (int64_t)sizeof(float), x_3 = 3 * x_1, x_5 = 5 * x_1;                    \
    (void)x_3, (void)x_5;                                                                          \
    int32_t k = b->k;                                                                              \
    FETCH_BEGIN                                                                                    \
    const uintptr_t far_panel = (uintptr_t)w_panel * sizeof(float);                                \
    (void)far_panel;                                                                               \
    if (FETCHES_##NR && MR >= FETCH_ROWS && b->far_step) {                                         \
        STEPS_IN_TWOS(MR, NR, prefetch_at(far), (prefetch_at(far + far_panel), far += far_step))   \
    }                                                                                              \
    if (TWO_STEPS_##NR) {                                                                          \
        STEPS_IN_TWOS(MR, NR, , )                                                                  \
    }                                                                                              \
    for (; k > 0; k--, a0++, a1++, w += LANES) {                                                   \
        STEP(MR, NR)                                                                               \
        FETCH_THREE_##NR                                                                           \
    }
/* Not a loop of their own: where nothing is fetched, it is the step's own weights. */
#define FETCH_THREE_1
#define FETCH_THREE_2
#define FETCH_THREE_3                                                                              \
    prefetch_at(far);                                                                              \
    prefetch_at(far + far_panel);                                                                  \
    prefetch_at(far + 2 * far_panel);                                                              \
    far += far_step / 2;
#define FETCH_THREE_4
#define FETCH_THREE_1H
#include "kernels/x86/conv_blocks_avx512.h"
#include "kernels/x86/conv_spread.h"

void ipex_k_conv_f32__avx512(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                             void *scratch) {
    if (args->planar)
        planar_jobs(args, job_begin, job_end, scratch);
    else if (args->eights)
        ipex_k_conv_eights__avx512(args, job_begin, job_end, scratch, false);
    else if (args->spread)
        conv_spread_jobs(args, job_begin, job_end, scratch);
    else
        ipex_conv_walk(&level, args, job_begin, job_end);
}

void ipex_k_conv_transpose_f32__avx512(const struct ipex_conv_transpose_args *args,
                                       int64_t job_begin, int64_t job_end, void *scratch) {
    if (args->touching)
        ipex_conv_few_touching(&level, args, job_begin, job_end, scratch);
    else
        conv_transpose_jobs(&level, args, job_begin, job_end);
}
