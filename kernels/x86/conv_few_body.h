/* SPDX-License-Identifier: Apache-2.0 */
/* A level's part of kernels/x86/conv_few.h. Vectors have 256 bits at every level, of which shuffles
 * take half as long as they do of 512 where they are not free; but with AVX-512 there are twice as
 * many of them. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_CONV_FEW_BODY_H
#define IPEX_KERNELS_X86_CONV_FEW_BODY_H

#include "kernels/x86/conv_few.h"
#include "kernels/x86/rows.h"
#include "kernels/x86/transpose_8x8.h"

#define FEW_FETCH(i) _mm_prefetch((const char *)(next + (i)*16), _MM_HINT_T0);

/* Row r of a group from x on, as ROW_BYTES. */
#define FEW_ROW(x, r) ((const float *)((const char *)(x) + ((r) == 7 ? x_7 : ROW_BYTES(r))))
/* Rows r and r + 4, 4 elements each: the first ones of 8, and the last ones. Loads that broadcast
 * need no shuffle. */
#define FEW_FIRST(x, r)                                                                            \
    _mm256_blend_ps(_mm256_loadu_ps(FEW_ROW(x, r)),                                                \
                    _mm256_broadcast_ps((const __m128 *)FEW_ROW(x, (r) + 4)), 0xf0)
#define FEW_LAST(x, r)                                                                             \
    _mm256_blend_ps(_mm256_broadcast_ps((const __m128 *)(FEW_ROW(x, r) + 4)),                      \
                    _mm256_loadu_ps(FEW_ROW(x, (r) + 4)), 0xf0)
/* The distances of rows. */
#define FEW_STRIDES(g)                                                                             \
    int64_t x_1 = (g)->x_pixel * (int64_t)sizeof(float), x_3 = 3 * x_1, x_5 = 5 * x_1,             \
            x_7 = 7 * x_1;
#define FEW_TAKE(v, HALF, x)                                                                       \
    __m256 v[4] = {HALF(x, 0), HALF(x, 1), HALF(x, 2), HALF(x, 3)};                                \
    transpose_halves(v);

#define FEW_COLUMNS_1(X, ...) X(0, __VA_ARGS__)
#define FEW_COLUMNS_2(X, ...) FEW_COLUMNS_1(X, __VA_ARGS__) X(1, __VA_ARGS__)
#define FEW_COLUMNS_3(X, ...) FEW_COLUMNS_2(X, __VA_ARGS__) X(2, __VA_ARGS__)
#define FEW_COLUMNS_4(X, ...) FEW_COLUMNS_3(X, __VA_ARGS__) X(3, __VA_ARGS__)

#define FEW_LOAD(c, ...)                                                                           \
    __m256 acc0_##c = _mm256_loadu_ps(g->chains + (c)*FEW_PIXELS);                                 \
    __m256 acc1_##c = _mm256_loadu_ps(g->chains + (c)*FEW_PIXELS + FEW_GROUP);
#define FEW_STORE(c, ...)                                                                          \
    _mm256_storeu_ps(g->chains + (c)*FEW_PIXELS, acc0_##c);                                        \
    _mm256_storeu_ps(g->chains + (c)*FEW_PIXELS + FEW_GROUP, acc1_##c);
#define FEW_BOTH(c, k)                                                                             \
    {                                                                                              \
        const __m256 b = _mm256_broadcast_ss(w + (k)*IPEX_PANEL + (c));                            \
        acc0_##c = _mm256_fmadd_ps(v0[(k) % 4], b, acc0_##c);                                      \
        acc1_##c = _mm256_fmadd_ps(v1[(k) % 4], b, acc1_##c);                                      \
    }
#define FEW_ONE(c, k, i)                                                                           \
    acc##i##_##c =                                                                                 \
        _mm256_fmadd_ps(v[(k) % 4], _mm256_broadcast_ss(w + (k)*IPEX_PANEL + (c)), acc##i##_##c);

/* 4 elements of both groups. 16 registers hold one group's: weights are broadcast for either. */
#if VEC_REGISTERS == 32
#define FEW_STEPS(N, k, HALF)                                                                      \
    {                                                                                              \
        FEW_TAKE(v0, HALF, x0)                                                                     \
        FEW_TAKE(v1, HALF, x1)                                                                     \
        FEW_COLUMNS_##N(FEW_BOTH, k) FEW_COLUMNS_##N(FEW_BOTH, (k) + 1)                            \
            FEW_COLUMNS_##N(FEW_BOTH, (k) + 2) FEW_COLUMNS_##N(FEW_BOTH, (k) + 3)                  \
    }
#else
#define FEW_STEPS_OF(N, k, HALF, i)                                                                \
    {                                                                                              \
        FEW_TAKE(v, HALF, x##i)                                                                    \
        FEW_COLUMNS_##N(FEW_ONE, k, i) FEW_COLUMNS_##N(FEW_ONE, (k) + 1, i)                        \
            FEW_COLUMNS_##N(FEW_ONE, (k) + 2, i) FEW_COLUMNS_##N(FEW_ONE, (k) + 3, i)              \
    }
#define FEW_STEPS(N, k, HALF)                                                                      \
    FEW_STEPS_OF(N, k, HALF, 0)                                                                    \
    __asm__("" : "+r"(w)); /* or compilers would keep them */                                      \
    FEW_STEPS_OF(N, k, HALF, 1)                                                                    \
    __asm__("" : "+r"(w));
#endif

#define FEW(N)                                                                                     \
    static __attribute__((noinline)) void few_##N(const struct few_groups *g) {                    \
        const float *x0 = g->x0, *x1 = g->x1, *w = g->w;                                           \
        FEW_STRIDES(g)                                                                             \
        FEW_COLUMNS_##N(FEW_LOAD, ) const float *next = g->next;                                   \
        for (int64_t steps = g->steps; steps > 0; steps--) {                                       \
            if (next) {                                                                            \
                ROWS_8(FEW_FETCH)                                                                  \
                next += g->next_step;                                                              \
            }                                                                                      \
            FEW_STEPS(N, 0, FEW_FIRST)                                                             \
            FEW_STEPS(N, 4, FEW_LAST)                                                              \
            x0 += 8, x1 += 8, w += 8 * IPEX_PANEL;                                                 \
            ROWS_ANEW(x0, x1, w);                                                                  \
            __asm__("" : "+r"(x_7));                                                               \
        }                                                                                          \
        FEW_COLUMNS_##N(FEW_STORE, )                                                               \
    }
FEW(1)
FEW(2)
FEW(3)
FEW(4)

void CONV_FEW(const struct few_groups *g, int64_t columns) {
    if (columns == 1)
        few_1(g);
    else if (columns == 2)
        few_2(g);
    else if (columns == 3)
        few_3(g);
    else
        few_4(g);
}

#endif
