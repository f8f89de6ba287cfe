/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in blocks as floats: numbers of 4 bits are looked up where they are. */
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/blocks_avx512.h"
#include "kernels/x86/x86.h"

static const float floats_of_4_bits[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* A panel's columns from some element of K on, and the scale and zero points of its block. */
struct column {
    const struct ipex_blocks_args *args;
    const uint8_t *w;
    int64_t factors;
    vec scale, zero;
    bool wide;
};

static inline struct column column_of(const struct ipex_blocks_args *args, int64_t panel,
                                      int64_t k) {
    const bool wide = args->bits == 8;
    return (struct column){
        .args = args,
        .w = args->w + panel * ipex_blocks_panel(args) + k / IPEX_BLOCK_STEP * blocks_step(wide),
        .factors = panel * ipex_blocks_count(args) * IPEX_PANEL,
        .wide = wide,
    };
}

static inline void begin_block(struct column *c, int64_t block) {
    const int64_t at = c->factors + block * IPEX_PANEL;
    const uint8_t *zero = c->args->zero ? c->args->zero + at : NULL;
    c->scale = vec_load(c->args->scale + at);
    c->zero = vec_from_int(blocks_zeros(zero, c->wide));
}

/* Number i of a step's columns, 0 to 7. Of 4 bits all are in one row of tiles, those from 4 on in
 * the upper halves of its bytes; the lowest 4 of the bits that are left choose one of 16 floats. */
#define NARROW(c, i)                                                                               \
    vec_permute(vec_load(floats_of_4_bits),                                                        \
                _mm512_srli_epi32(vec_int_load((c).w), 8 * ((i) % 4) + (i) / 4 * 4))
#define WIDE(c, i)                                                                                 \
    vec_from_int(                                                                                  \
        vec_and(_mm512_srli_epi32(vec_int_load((c).w + (i) / 4 * BLOCKS_ROW), 8 * ((i) % 4)),      \
                vec_int_set(255)))
#define WEIGHT(c, number) vec_mul(vec_sub(number, (c).zero), (c).scale)
#define STEP(X)           X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

static inline void next_step(struct column *c) {
    c->w += blocks_step(c->wide);
}

/* The same of any i. */
static vec number_at(const struct column *c, int64_t i) {
    const vec_int words = vec_int_load(c->w + (c->wide ? i / 4 * BLOCKS_ROW : 0));
    const vec_int shift = vec_int_set((int32_t)(8 * (i % 4) + (c->wide ? 0 : i / 4 * 4)));
    return vec_from_int(
        vec_and(_mm512_srlv_epi32(words, shift), vec_int_set(blocks_most(c->wide))));
}

#define STORE(i)      vec_store(to + (i)*IPEX_PANEL, WEIGHT(c, NARROW(c, i)));
#define STORE_WIDE(i) vec_store(to + (i)*IPEX_PANEL, WEIGHT(c, WIDE(c, i)));

static void widen(const struct ipex_blocks_args *args, int64_t panel, int64_t begin, int64_t end,
                  float *to) {
    struct column c = column_of(args, panel, begin);
    for (int64_t k = begin, next; k < end; k = next) {
        const int64_t block = ipex_div(k, args->block);
        next = ipex_smaller((block + 1) * args->block, end);
        begin_block(&c, block);
        for (int64_t i = k; i < next; i += IPEX_BLOCK_STEP, to += IPEX_BLOCK_STEP * IPEX_PANEL) {
            if (c.wide) {
                STEP(STORE_WIDE)
            } else {
                STEP(STORE)
            }
            next_step(&c);
        }
    }
}

#define ADD_TO(number, i)                                                                          \
    {                                                                                              \
        const vec at = vec_set(x[i]);                                                              \
        chain0 = vec_fma(at, WEIGHT(c0, number(c0, i)), chain0);                                   \
        chain1 = vec_fma(at, WEIGHT(c1, number(c1, i)), chain1);                                   \
    }
#define ADD(i)          ADD_TO(NARROW, i)
#define ADD_WIDE(i)     ADD_TO(WIDE, i)
#define NUMBER_AT(c, i) number_at(&(c), i)

/* Of one panel its products are made twice: of two the chains need not wait for one another. */
static void multiply_row(const struct ipex_blocks_args *args, const float *x, int64_t panel,
                         int64_t panels, float *to) {
    const int64_t second = panel + panels - 1;
    struct column c0 = column_of(args, panel, 0), c1 = column_of(args, second, 0);
    vec chain0 = vec_load(args->bias + panel * IPEX_PANEL);
    vec chain1 = vec_load(args->bias + second * IPEX_PANEL);
    for (int64_t b = 0, k = 0; k < args->k; b++, k += args->block) {
        begin_block(&c0, b);
        begin_block(&c1, b);
        int64_t left = ipex_smaller(args->block, args->k - k);
        for (; left >= IPEX_BLOCK_STEP; left -= IPEX_BLOCK_STEP, x += IPEX_BLOCK_STEP) {
            if (c0.wide) {
                STEP(ADD_WIDE)
            } else {
                STEP(ADD)
            }
            next_step(&c0);
            next_step(&c1);
        }
        for (int64_t i = 0; i < left; i++)
            ADD_TO(NUMBER_AT, i)
    }
    vec_store(to, chain0);
    vec_store(to + IPEX_PANEL, chain1);
}

void ipex_k_linear_blocks_f32__avx512(const struct ipex_blocks_args *args, int64_t job_begin,
                                      int64_t job_end, void *scratch) {
    static const struct blocks_float_level level = {ipex_k_conv_f32__avx512,
                                                    ipex_k_activate__avx512, widen, multiply_row};
    ipex_blocks_floats(&level, args, job_begin, job_end, scratch);
}
