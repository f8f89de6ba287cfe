/* SPDX-License-Identifier: Apache-2.0 */
/* Rounded rows by panels of weights in blocks, with vpdpbusd. */
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/blocks_avx512.h"
#include "kernels/x86/x86.h"

/* Four products of bytes, the first without sign, and two of 16 bits, by the same word in every
 * lane. The intrinsics would have gcc 12 move every sum before it adds to it. */
#ifndef DPBUSD_WORD /* which tests do without (tests/avx512_emu) */
#define DPBUSD_WORD(sum, a, word)                                                                  \
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(a), "m"(word))
#define DPWSSD_WORD(sum, a, word)                                                                  \
    __asm__("vpdpwssd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(a), "m"(word))
#endif

#define CHAIN(r) vec chain##r = bias;
#define SUM(r)                                                                                     \
    vec_int sum##r = vec_int_set(0);                                                               \
    DPWSSD_WORD(sum##r, zero, x_sum[r]);
#define ADD(r)      DPBUSD_WORD(sum##r, low, x[r]);
#define ADD_HIGH(r) DPBUSD_WORD(sum##r, high, x[ROWS + r]);
#define SCALE(r)                                                                                   \
    chain##r = vec_fma(vec_mul(vec_from_int(sum##r), scale), vec_set(x_scale[r]), chain##r);
#define KEEP(r) vec_store(p->y + r * IPEX_PANEL, chain##r);

/* Where a step's first four numbers of each column are, and its next four: those of 4 bits in the
 * same row of tiles. */
struct halves {
    vec_int mask, shift;
    int64_t second, step;
};

static inline struct halves halves_of(const struct blocks_product *p) {
    return (struct halves){
        .mask = vec_int_set(p->wide ? -1 : 0x0f0f0f0f),
        .shift = vec_int_set(p->wide ? 0 : 4),
        .second = p->wide ? BLOCKS_ROW : 0,
        .step = blocks_step(p->wide),
    };
}

#define BLOCK(R)                                                                                   \
    static void multiply_##R(const struct blocks_product *p) {                                     \
        enum { ROWS = R };                                                                         \
        const struct halves halves = halves_of(p);                                                 \
        const vec bias = vec_load(p->bias);                                                        \
        const uint8_t *w = p->w;                                                                   \
        const float *x_scale = p->x_scale;                                                         \
        const int32_t *x = p->x, *x_sum = p->x_sum;                                                \
        ROWS_##R(CHAIN) for (int32_t b = 0; b < p->blocks; b++, x_scale += R, x_sum += R) {        \
            const vec_int zero = blocks_zeros(p->zero ? p->zero + b * IPEX_PANEL : NULL, p->wide); \
            ROWS_##R(SUM) int32_t s = b + 1 < p->blocks ? p->steps : p->last_steps;                \
            for (; s > 0; s--, x += 2 * R, w += halves.step) {                                     \
                const vec_int low = vec_and(vec_int_load(w), halves.mask);                         \
                const vec_int high =                                                               \
                    vec_and(_mm512_srlv_epi32(vec_int_load(w + halves.second), halves.shift),      \
                            halves.mask);                                                          \
                ROWS_##R(ADD) ROWS_##R(ADD_HIGH)                                                   \
            }                                                                                      \
            const vec scale = vec_load(p->scale + b * IPEX_PANEL);                                 \
            ROWS_##R(SCALE)                                                                        \
        }                                                                                          \
        ROWS_##R(KEEP)                                                                             \
    }

BLOCK(1)
BLOCK(4)
BLOCK(12)

static void multiply(const struct blocks_product *p, int64_t rows) {
    (rows == 1 ? multiply_1 : rows == 4 ? multiply_4 : multiply_12)(p);
}

void ipex_k_linear_blocks_i8__avx512_vnni(const struct ipex_blocks_args *args, int64_t job_begin,
                                          int64_t job_end, void *scratch) {
    static const struct blocks_level level = {IPEX_BLOCKS_ROWS, multiply, ipex_k_activate__avx512};
    ipex_blocks_walk(&level, args, job_begin, job_end, scratch);
}
