/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in blocks as floats: numbers of 4 bits are looked up where they are, or, for one row
 * without zero points, become the last bits of floats. */
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

/* From an element of K on. Not part of what calls it, four times. */
static __attribute__((noinline)) const uint8_t *tiles_of(const struct ipex_blocks_args *args,
                                                         int64_t panel, int64_t k) {
    return args->w + panel * ipex_blocks_panel(args) +
           k / IPEX_BLOCK_STEP * blocks_step(args->bits == 8);
}

static inline struct column column_of(const struct ipex_blocks_args *args, int64_t panel,
                                      int64_t k) {
    return (struct column){
        .args = args,
        .w = tiles_of(args, panel, k),
        .factors = panel * ipex_blocks_count(args) * IPEX_PANEL,
        .wide = args->bits == 8,
    };
}

static inline void begin_block(struct column *c, int64_t block) {
    const int64_t at = c->factors + block * IPEX_PANEL;
    const uint8_t *zero = c->args->zero ? c->args->zero + at : NULL;
    c->scale = BLOCKS_SCALES(c->args, at);
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

/* Of four panels `apart` from each other, or fewer, whose last is multiplied as those that are not
 * there: their chains need not wait for one another. */
#define FOUR(X) X(0) X(1) X(2) X(3)
#define COLUMN(p)                                                                                  \
    struct column c##p = column_of(args, panel + ipex_smaller(p, last) * apart, 0);                \
    vec chain##p = vec_load(args->bias + (panel + ipex_smaller(p, last) * apart) * IPEX_PANEL);
#define BEGIN(p) begin_block(&c##p, b);
#define ADD(p)                                                                                     \
    {                                                                                              \
        const vec_int words = _mm512_srlv_epi32(vec_int_load(c##p.w + at), shift);                 \
        const vec number =                                                                         \
            wide ? vec_from_int(vec_and(words, vec_int_set(255))) : vec_permute(table, words);     \
        chain##p = vec_fma(element, WEIGHT(c##p, number), chain##p);                               \
    }
#define NEXT(p)                                                                                    \
    _mm_prefetch(c##p.w + AHEAD, _MM_HINT_T0);                                                     \
    c##p.w += step;
#define KEEP(p) vec_store(to + p * IPEX_PANEL, chain##p);

/* Without zero points bits [from, from + 4) of a word become the last ones of a float of
 * 2^(23 - from), from which that and the middle are subtracted: an instruction less, and not one of
 * those that move elements. */
#define LARGE(from) (0x1p23f / (float)(1 << (from)))
#define WORDS(p)    const vec_int words##p = vec_int_load(c##p.w);
#define SHIFTED(p)  const vec_int part##p = _mm512_srli_epi32(words##p, shift);
#define ADD_PART(p, from)                                                                          \
    {                                                                                              \
        const vec_int large = vec_or(vec_and(part##p, vec_int_set(15 << (from))),                  \
                                     _mm512_castps_si512(vec_set(LARGE(from))));                   \
        const vec number = vec_sub(_mm512_castsi512_ps(large), vec_set(LARGE(from) + 8));          \
        chain##p = vec_fma(element, vec_mul(number, c##p.scale), chain##p);                        \
    }
#define ADD_LOW(p)  ADD_PART(p, 0)
#define ADD_HIGH(p) ADD_PART(p, 8)
/* Numbers i and i + 1 of a step, which lie 8 bits apart. */
#define ADD_TWO(i, by)                                                                             \
    {                                                                                              \
        enum { shift = by };                                                                       \
        FOUR(SHIFTED)                                                                              \
        vec element = vec_set(x[k + i]);                                                           \
        FOUR(ADD_LOW)                                                                              \
        element = vec_set(x[k + i + 1]);                                                           \
        FOUR(ADD_HIGH)                                                                             \
    }

enum { AHEAD = 2048 };

static void multiply_row(const struct ipex_blocks_args *args, const float *x, int64_t panel,
                         int64_t panels, int64_t apart, float *to) {
    static const int32_t shifts[2][IPEX_BLOCK_STEP] = {{0, 8, 16, 24, 4, 12, 20, 28},
                                                       {0, 8, 16, 24, 0, 8, 16, 24}};
    const bool wide = args->bits == 8, plain = !wide && !args->zero;
    const int64_t last = panels - 1, step = blocks_step(wide);
    const vec table = vec_load(floats_of_4_bits);
    FOUR(COLUMN)
    for (int64_t b = 0, k = 0; k < args->k; b++) {
        const int64_t end = ipex_smaller(k + args->block, args->k);
        FOUR(BEGIN)
        for (; plain && k + IPEX_BLOCK_STEP <= end; k += IPEX_BLOCK_STEP) {
            FOUR(WORDS)
            ADD_TWO(0, 0)
            ADD_TWO(2, 16)
            ADD_TWO(4, 4)
            ADD_TWO(6, 20)
            FOUR(NEXT)
        }
        while (k < end) {
            const int64_t count = ipex_smaller(IPEX_BLOCK_STEP, end - k);
            for (int64_t i = 0; i < count; i++, k++) {
                const vec_int shift = vec_int_set(shifts[wide][i]);
                const vec element = vec_set(x[k]);
                const int64_t at = wide ? i / 4 * BLOCKS_ROW : 0;
                FOUR(ADD)
            }
            FOUR(NEXT)
        }
    }
    FOUR(KEEP)
}

void ipex_k_linear_blocks_f32__avx512(const struct ipex_blocks_args *args, int64_t job_begin,
                                      int64_t job_end, void *scratch) {
    static const struct blocks_float_level level = {
        .in_turns = true,
        .few = BLOCKS_FEW_FLOATS,
        .worth = BLOCKS_FEW_FLOATS,
        .conv = ipex_k_conv_f32__avx512,
        .activate = ipex_k_activate__avx512,
        .widen = widen,
        .multiply_row = multiply_row,
    };
    ipex_blocks_floats(&level, args, job_begin, job_end, scratch);
}
