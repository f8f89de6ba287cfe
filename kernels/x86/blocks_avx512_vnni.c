/* SPDX-License-Identifier: Apache-2.0 */
/* Rounded rows by pairs of panels of weights in blocks, with vpdpbusd. */
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/blocks_avx512.h"
#include "kernels/x86/x86.h"

/* Four products of bytes, the first without sign, and two of 16 bits. The intrinsics would have gcc
 * 12 move every sum before it adds to it. */
#ifndef DPBUSD /* which tests do without (tests/avx512_emu) */
#define DPBUSD(sum, a, b) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))
#define DPWSSD(sum, a, b) __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))
#endif

/* Of two panels: what is taken from x goes into both. */
#define CHAIN(r) vec chain_0_##r = bias_0, chain_1_##r = bias_1;
#define SUM(r)   vec_int sum_0_##r = vec_int_set(x_sum[r]), sum_1_##r = sum_0_##r;
#define TIMES_ZERO(r)                                                                              \
    {                                                                                              \
        const vec_int all = sum_0_##r;                                                             \
        sum_0_##r = sum_1_##r = vec_int_set(0);                                                    \
        DPWSSD(sum_0_##r, zero_0, all);                                                            \
        DPWSSD(sum_1_##r, zero_1, all);                                                            \
    }
#define ADD(r)                                                                                     \
    {                                                                                              \
        const vec_int q = vec_int_set(x[r]);                                                       \
        DPBUSD(sum_0_##r, w_0, q);                                                                 \
        DPBUSD(sum_1_##r, w_1, q);                                                                 \
    }
#define SCALE_ONE(p, r)                                                                            \
    chain_##p##_##r = vec_fma(vec_mul(vec_from_int(sum_##p##_##r), scale_##p), top, chain_##p##_##r)
#define SCALE(r)                                                                                   \
    {                                                                                              \
        const vec top = vec_set(x_scale[r]);                                                       \
        SCALE_ONE(0, r);                                                                           \
        SCALE_ONE(1, r);                                                                           \
    }
#define KEEP(r)                                                                                    \
    vec_store(p->y + 2 * r * IPEX_PANEL, chain_0_##r);                                             \
    vec_store(p->y + (2 * r + 1) * IPEX_PANEL, chain_1_##r);

/* Where a step's first four numbers of each column are, and its next four: those of 4 bits in the
 * same row of tiles. */
struct halves {
    vec_int mask, shift;
    int64_t second, step;
};

static inline __attribute__((always_inline)) struct halves
halves_of(const struct blocks_product *p) {
    return (struct halves){
        .mask = vec_int_set(p->wide ? -1 : 0x0f0f0f0f),
        .shift = vec_int_set(p->wide ? 0 : 4),
        .second = p->wide ? BLOCKS_ROW : 0,
        .step = blocks_step(p->wide),
    };
}

static inline vec_int first_four(const uint8_t *w, struct halves halves) {
    return vec_and(vec_int_load(w), halves.mask);
}

static inline vec_int next_four(const uint8_t *w, struct halves halves) {
    return vec_and(_mm512_srlv_epi32(vec_int_load(w + halves.second), halves.shift), halves.mask);
}

/* Zero points of a panel's columns, 16 bits and negative: a sum of q may be as low as
 * -128 * IPEX_BLOCK_MOST, and no higher. */
static inline vec_int zeros_less(const uint8_t *zero, bool wide) {
    return vec_and(vec_int_sub(vec_int_set(0), blocks_zeros(zero, wide)), vec_int_set(UINT16_MAX));
}

/* A panel without a next one is multiplied as both. */
#define BLOCK(R, FETCH)                                                                            \
    static void multiply_##R(const struct blocks_product *p) {                                     \
        const struct halves halves = halves_of(p);                                                 \
        const int64_t next_w = p->w_next, next_factor = p->factor_next;                            \
        const vec bias_0 = vec_load(p->bias), bias_1 = vec_load(p->bias + p->bias_next);           \
        const uint8_t *w = p->w, *zero = p->zero;                                                  \
        const float *x_scale = p->x_scale;                                                         \
        const int32_t *x = p->x, *x_sum = p->x_sum;                                                \
        int64_t factor = 0;                                                                        \
        ROWS_##R(CHAIN) for (int32_t b = 0; b < p->blocks; b++, factor += IPEX_PANEL) {            \
            ROWS_##R(SUM) if (zero) {                                                              \
                const vec_int zero_0 = zeros_less(zero, p->wide);                                  \
                const vec_int zero_1 = zeros_less(zero + next_factor, p->wide);                    \
                ROWS_##R(TIMES_ZERO) zero += IPEX_PANEL;                                           \
            }                                                                                      \
            int32_t steps = b + 1 < p->blocks ? p->steps : p->last_steps;                          \
            do {                                                                                   \
                vec_int w_0 = first_four(w, halves), w_1 = first_four(w + next_w, halves);         \
                FETCH                                                                              \
                ROWS_##R(ADD) x += R;                                                              \
                w_0 = next_four(w, halves);                                                        \
                w_1 = next_four(w + next_w, halves);                                               \
                ROWS_##R(ADD) x += R;                                                              \
                w += halves.step;                                                                  \
            } while (--steps > 0);                                                                 \
            const vec scale_0 = BLOCKS_SCALES(p, factor);                                          \
            const vec scale_1 = BLOCKS_SCALES(p, factor + next_factor);                            \
            ROWS_##R(SCALE) x_scale += R;                                                          \
            x_sum += R;                                                                            \
        }                                                                                          \
        ROWS_##R(KEEP)                                                                             \
    }

/* One row leaves it to the hardware. */
#define FETCH_NEXT                                                                                 \
    _mm_prefetch(w + p->ahead, _MM_HINT_T1);                                                       \
    _mm_prefetch(w + next_w + p->ahead, _MM_HINT_T1);
BLOCK(1, )
BLOCK(4, FETCH_NEXT)
BLOCK(6, FETCH_NEXT)

static void multiply(const struct blocks_product *p, int64_t rows) {
    (rows == 1 ? multiply_1 : rows == 4 ? multiply_4 : multiply_6)(p);
}

void ipex_k_linear_blocks_i8__avx512_vnni(const struct ipex_blocks_args *args, int64_t job_begin,
                                          int64_t job_end, void *scratch) {
    static const struct blocks_level level = {IPEX_BLOCKS_ROWS, true, multiply,
                                              ipex_k_activate__avx512};
    ipex_blocks_walk(&level, args, job_begin, job_end, scratch);
}
