/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise register blocks whose windows roll: P neighbouring pixels at stride 1 and the P columns
 * of x that a tap takes are in registers; from tap to tap the first column makes room for the next
 * one. So every x of a kernel row is loaded once, as where windows slide, for kernel rows of any
 * length. Two lines of y, one below the other, share the columns. Chains take their taps in order.
 * Included by kernels/x86/depthwise_body.h behind depthwise_slide.h, whose names it uses. */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_ROLL_H
#define IPEX_KERNELS_X86_DEPTHWISE_ROLL_H

/* TURNS_P(X): X(columns...) for P taps, by the registers in which the pixels' columns are. */
#define TURNS_3(X) X(3, 0, 1, 2) X(3, 1, 2, 0) X(3, 2, 0, 1)
#define TURNS_4(X) X(4, 0, 1, 2, 3) X(4, 1, 2, 3, 0) X(4, 2, 3, 0, 1) X(4, 3, 0, 1, 2)
#define TURNS_5(X)                                                                                 \
    X(5, 0, 1, 2, 3, 4)                                                                            \
    X(5, 1, 2, 3, 4, 0) X(5, 2, 3, 4, 0, 1) X(5, 3, 4, 0, 1, 2) X(5, 4, 0, 1, 2, 3)
#define TURNS_6(X)                                                                                 \
    X(6, 0, 1, 2, 3, 4, 5)                                                                         \
    X(6, 1, 2, 3, 4, 5, 0)                                                                         \
    X(6, 2, 3, 4, 5, 0, 1)                                                                         \
    X(6, 3, 4, 5, 0, 1, 2) X(6, 4, 5, 0, 1, 2, 3) X(6, 5, 0, 1, 2, 3, 4)
#define TURNS_7(X)                                                                                 \
    X(7, 0, 1, 2, 3, 4, 5, 6)                                                                      \
    X(7, 1, 2, 3, 4, 5, 6, 0)                                                                      \
    X(7, 2, 3, 4, 5, 6, 0, 1)                                                                      \
    X(7, 3, 4, 5, 6, 0, 1, 2)                                                                      \
    X(7, 4, 5, 6, 0, 1, 2, 3) X(7, 5, 6, 0, 1, 2, 3, 4) X(7, 6, 0, 1, 2, 3, 4, 5)
#define TURNS_8(X)                                                                                 \
    X(8, 0, 1, 2, 3, 4, 5, 6, 7)                                                                   \
    X(8, 1, 2, 3, 4, 5, 6, 7, 0)                                                                   \
    X(8, 2, 3, 4, 5, 6, 7, 0, 1)                                                                   \
    X(8, 3, 4, 5, 6, 7, 0, 1, 2)                                                                   \
    X(8, 4, 5, 6, 7, 0, 1, 2, 3)                                                                   \
    X(8, 5, 6, 7, 0, 1, 2, 3, 4) X(8, 6, 7, 0, 1, 2, 3, 4, 5) X(8, 7, 0, 1, 2, 3, 4, 5, 6)

#define ROLL_TO(chains, p, column, w) chains##p = vec_fma(x##column, w, chains##p);
#define ROLL_3(chains, w, a, b, c)                                                                 \
    ROLL_TO(chains, 0, a, w) ROLL_TO(chains, 1, b, w) ROLL_TO(chains, 2, c, w)
#define ROLL_4(chains, w, a, b, c, d)                                                              \
    ROLL_TO(chains, 0, a, w)                                                                       \
    ROLL_TO(chains, 1, b, w) ROLL_TO(chains, 2, c, w) ROLL_TO(chains, 3, d, w)
#define ROLL_5(chains, w, a, b, c, d, e) ROLL_4(chains, w, a, b, c, d) ROLL_TO(chains, 4, e, w)
#define ROLL_6(chains, w, a, b, c, d, e, f)                                                        \
    ROLL_5(chains, w, a, b, c, d, e) ROLL_TO(chains, 5, f, w)
#define ROLL_7(chains, w, a, b, c, d, e, f, g)                                                     \
    ROLL_6(chains, w, a, b, c, d, e, f) ROLL_TO(chains, 6, g, w)
#define ROLL_8(chains, w, a, b, c, d, e, f, g, h)                                                  \
    ROLL_7(chains, w, a, b, c, d, e, f, g) ROLL_TO(chains, 7, h, w)

/* One tap: of the upper line's chains, of the lower line's, whose kernel row is the one before, or
 * of both. */
#define ROLL_UPPER(P, ...)                                                                         \
    {                                                                                              \
        const vec w = vec_load(wp);                                                                \
        ROLL_##P(acc, w, __VA_ARGS__)                                                              \
    }
#define ROLL_LOWER(P, ...)                                                                         \
    {                                                                                              \
        const vec w = vec_load(wp - low_w);                                                        \
        ROLL_##P(low, w, __VA_ARGS__)                                                              \
    }
#define ROLL_NEXT(first, ...)                                                                      \
    wp += w_tap;                                                                                   \
    if (next == behind)                                                                            \
        break;                                                                                     \
    x##first = vec_load(next);                                                                     \
    next += x_kw;                                                                                  \
    __asm__("" : "+r"(wp), "+r"(next));
#define ROLL_ONE(P, ...)  ROLL_UPPER(P, __VA_ARGS__) ROLL_NEXT(__VA_ARGS__, 0)
#define ROLL_LAST(P, ...) ROLL_LOWER(P, __VA_ARGS__) ROLL_NEXT(__VA_ARGS__, 0)
#define ROLL_BOTH(P, ...)                                                                          \
    ROLL_UPPER(P, __VA_ARGS__) ROLL_LOWER(P, __VA_ARGS__) ROLL_NEXT(__VA_ARGS__, 0)

/* gcc keeps whatever a loop does not change in registers and, where those are taken, integers in
 * vector registers, 60 moves per vector of channels that take ports of the arithmetic: what is
 * needed once per row is read from the block (0.85 of the time). */
#define ROLL_READ      __asm__("" : "+r"(b));
#define ROLL_COLUMN(p) vec x##p = vec_load(DW_AT_##p);
/* A kernel row, from its weights wp and columns t on. */
#define ROLL_ROW(P, TAP)                                                                           \
    {                                                                                              \
        const float *t0 = t;                                                                       \
        ROLL_READ DW_BASE(3, 0) DW_BASE(6, 3) const float *next = DW_AT_##P;                       \
        const float *behind = next + b->x_last;                                                    \
        ROWS_##P(ROLL_COLUMN) for (;;){TURNS_##P(TAP)} t += b->x_kh;                               \
    }

#define ROLL_LINE(P)                                                                               \
    static __attribute__((noinline)) void roll_##P(const struct depthwise_block *b, int64_t c,     \
                                                   int64_t end, vec_mask mask) {                   \
        const int64_t x_kw = b->x_kw, w_tap = b->w_tap;                                            \
        (void)mask;                                                                                \
        DW_EACH_VECTOR {                                                                           \
            ROLL_READ const vec init = vec_load(b->bias + c);                                      \
            const float *wp = b->w + b->w_begin + c;                                               \
            const float *t = b->x + b->x_begin + c;                                                \
            ROWS_##P(DW_INIT) DW_EACH_ROW(b->rows.begin, b->rows.end) ROLL_ROW(P, ROLL_ONE)        \
                ROLL_READ                                                                          \
                DW_FINISH_LINE(P)                                                                  \
        }                                                                                          \
    }

/* Two lines, `apart` rows of x: the lower one's chains take kernel row i - apart where the upper
 * one's take row i. What comes first the upper one takes alone, and what comes last the lower. */
#define ROLL_TWO(P)                                                                                \
    static __attribute__((noinline)) void roll_two_##P(const struct depthwise_block *b, int64_t c, \
                                                       int64_t end, vec_mask mask) {               \
        const int64_t x_kw = b->x_kw, w_tap = b->w_tap;                                            \
        const int64_t low_w = b->apart * b->kernel_w * w_tap;                                      \
        (void)mask;                                                                                \
        DW_EACH_VECTOR {                                                                           \
            ROLL_READ const vec init = vec_load(b->bias + c);                                      \
            const float *wp = b->w + b->w_begin + c;                                               \
            const float *t = b->x + b->x_begin + c;                                                \
            ROWS_##P(DW_INIT) ROWS_##P(DW_LOW_INIT) int64_t i = b->rows.begin;                     \
            for (; i < b->apart; i++)                                                              \
                ROLL_ROW(P, ROLL_ONE)                                                              \
            for (; i < b->rows.end; i++)                                                           \
                ROLL_ROW(P, ROLL_BOTH)                                                             \
            for (; i < b->apart + b->low.end; i++)                                                 \
                ROLL_ROW(P, ROLL_LAST)                                                             \
            ROLL_READ DW_FINISH_TWO(P)                                                             \
        }                                                                                          \
    }

/* With 16 registers one line has too few chains: windows of 5 and 7 slide. */
#if VEC_REGISTERS == 32
#define ROLLS(X)     X(4) X(5) X(6) X(7) X(8)
#define ROLLS_TWO(X) ROLLS(X)
#else
#define ROLLS(X)     /* none */
#define ROLLS_TWO(X) X(3) X(4)
#endif
ROLLS(ROLL_LINE)
ROLLS_TWO(ROLL_TWO)

#endif
