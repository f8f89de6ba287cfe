/* SPDX-License-Identifier: Apache-2.0 */
/* What a level has of its own of kernels/x86/conv_eights.h. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_CONV_EIGHTS_BODY_H
#define IPEX_KERNELS_X86_CONV_EIGHTS_BODY_H

#include "kernels/x86/conv_eights.h"
#include "kernels/x86/conv_halves.h"
#include "kernels/x86/rows.h"
#include "kernels/x86/vec_math.h"

enum { EIGHTS_GROUPS = LANES / EIGHT };

#if VEC_REGISTERS == 32
static inline vec eights_load(const float *p) {
    return _mm512_castps256_ps512(_mm256_loadu_ps(p));
}
static inline vec_int eights_turns(void) {
    return _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
/* The first 8 lanes of each, taking turns. */
static inline vec eights_join(vec a, vec b) {
    return _mm512_permutex2var_ps(a, eights_turns(), b);
}
/* The other way: group by group. */
static inline vec eights_part(vec a) {
    const vec_int at = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    return _mm512_permutexvar_ps(at, a);
}
static inline vec eights_x(const char *p) {
    return _mm512_castsi512_ps(_mm512_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)p)));
}
#else
static inline vec eights_load(const float *p) {
    return vec_load(p);
}
static inline vec eights_join(vec a, vec b) {
    (void)b;
    return a;
}
static inline vec eights_part(vec a) {
    return a;
}
static inline vec eights_x(const char *p) {
    return _mm256_broadcast_ss((const float *)p);
}
#endif

/* The same pixel of the row in the next slot. */
static inline const char *eights_next(const struct eights_block *b, const char *x) {
    x += b->x_kh;
    return x < b->slots_end ? x : x - b->x_slots;
}

#define EIGHTS_INIT(r)  vec acc##r = init;
#define EIGHTS_STEP(r)  acc##r = vec_fma(eights_x(AT_BYTES(x0, x1, r)), w, acc##r);
#define EIGHTS_STORE(r) vec_store(AT(y0, y1, y_row, r), vec_clip(eights_part(acc##r), lo, hi));

#define EIGHTS(MR)                                                                                 \
    static void eights_##MR(const struct eights_block *b) {                                        \
        enum { HALF = MR / 2, X_STEP = EIGHTS_GROUPS * sizeof(float) };                            \
        int64_t x_1 = b->x_row, x_3 = 3 * x_1, x_5 = 5 * x_1;                                      \
        const vec init = vec_load(b->init);                                                        \
        const float *wp = b->w;                                                                    \
        const char *first = b->x, *second = b->x_second;                                           \
        ROWS_##MR(EIGHTS_INIT) for (int64_t h = b->rows; h > 0; h--) {                             \
            const char *x0 = first, *x1 = second;                                                  \
            for (int64_t k = b->steps; k > 0; k--, wp += LANES, x0 += X_STEP, x1 += X_STEP) {      \
                const vec w = vec_load(wp);                                                        \
                ROWS_##MR(EIGHTS_STEP) ROWS_ANEW(x0, x1, wp);                                      \
            }                                                                                      \
            first = eights_next(b, first), second = eights_next(b, second);                        \
        }                                                                                          \
        const vec lo = vec_set(b->lo), hi = vec_set(b->hi);                                        \
        float *y0 = b->y, *y1 = b->y_second;                                                       \
        const int64_t y_row = b->y_row;                                                            \
        ROWS_##MR(EIGHTS_STORE)                                                                    \
    }

EIGHTS(8)
EIGHTS(12)
EIGHTS(14)

/* The last elements of a pixel's groups, fewer than 8. */
static inline void eights_copy_rest(const float *x, const float *second, int64_t left, float *to) {
    const vec_mask mask = vec_first(left);
    vec_store_masked(to, vec_first(left * EIGHTS_GROUPS),
                     eights_join(vec_load_masked(x, mask), vec_load_masked(second, mask)));
}

static void eights_copy(const float *x, int64_t x_pixel, int64_t pixels, int64_t k, int64_t apart,
                        float *to) {
    if (k == EIGHT) {
        for (int64_t p = 0; p < pixels; p++, x += x_pixel, to += LANES)
            vec_store(to, eights_join(eights_load(x), eights_load(x + apart)));
        return;
    }
    for (int64_t p = 0; p < pixels; p++, x += x_pixel, to += k * EIGHTS_GROUPS) {
        int64_t i = 0;
        for (; i + EIGHT <= k; i += EIGHT)
            vec_store(to + i * EIGHTS_GROUPS,
                      eights_join(eights_load(x + i), eights_load(x + apart + i)));
        if (i < k)
            eights_copy_rest(x + i, x + apart + i, k - i, to + i * EIGHTS_GROUPS);
    }
}

static void eights_weights(const float *w, int64_t apart, int64_t k, bool bf16, float *to) {
    for (int64_t i = 0; i < k; i += 1 + bf16, w += IPEX_PANEL) {
        const vec both = eights_join(eights_load(w), eights_load(w + apart));
        vec_store(to + i * LANES, bf16 ? half_of(vec_bits(both), false) : both);
        if (bf16 && i + 1 < k)
            vec_store(to + (i + 1) * LANES, half_of(vec_bits(both), true));
    }
}

static void eights_finish(const struct ipex_conv_args *args, const struct eights_line *line,
                          int64_t pixel, int64_t pixels, const float *chains) {
    const vec lo = vec_set(act_low(args->act, args->act_a));
    const vec hi = vec_set(act_high(args->act, args->act_b));
    float *y = line->y + pixel * args->y_pixel;
    const float *residual = line->residual ? line->residual + pixel * args->r_pixel : NULL;
    for (int64_t p = 0; p < pixels; p++, y += args->y_pixel, chains += LANES) {
        vec v = vec_load(chains);
        if (residual)
            v = vec_add(v, vec_load_part(residual + p * args->r_pixel, line->columns));
        vec_store_part(y, line->columns, vec_clip(v, lo, hi));
    }
}

void IPEX_LEVEL(conv_eights)(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                             float *scratch, bool bf16) {
    static const struct eights_level level = {
        .groups = EIGHTS_GROUPS,
        .copy = eights_copy,
        .weights = eights_weights,
        .block = {[8] = eights_8, [12] = eights_12, [14] = eights_14},
        .finish = eights_finish,
        .activate = IPEX_LEVEL(activate),
    };
    ipex_conv_eights_walk(&level, args, job_begin, job_end, scratch, bf16);
}

#endif
