/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise register blocks that slide: where the windows of neighbouring pixels overlap, every x
 * of a kernel row is loaded once and goes to all the chains that it belongs to, and two lines of y,
 * one below the other, load the lines of x that both see once. Loads run from the left and from the
 * top, so each chain still takes its taps in order. Included by kernels/x86/depthwise_body.h. */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_SLIDE_H
#define IPEX_KERNELS_X86_DEPTHWISE_SLIDE_H

/* COLUMNS_kind_P(X): X(K, q, p...) for every column q that P pixels with windows of K columns see:
 * the K pixels to which the column goes, at taps K - 1 to 0. Pixel x is what falls outside the
 * block, for nothing. Kinds: 3, 5, 7 are square windows of so many columns at stride 1; 3S2 at
 * stride 2.
 */
#define TO_3_1(X)      X(3, 0, x, x, 0) X(3, 1, x, 0, 1)
#define TO_3_2(X)      TO_3_1(X) X(3, 2, 0, 1, 2)
#define TO_3_3(X)      TO_3_2(X) X(3, 3, 1, 2, 3)
#define TO_3_4(X)      TO_3_3(X) X(3, 4, 2, 3, 4)
#define TO_3_5(X)      TO_3_4(X) X(3, 5, 3, 4, 5)
#define TO_3_6(X)      TO_3_5(X) X(3, 6, 4, 5, 6)
#define TO_3_7(X)      TO_3_6(X) X(3, 7, 5, 6, 7)
#define COLUMNS_3_2(X) TO_3_1(X) X(3, 2, 0, 1, x) X(3, 3, 1, x, x)
#define COLUMNS_3_3(X) TO_3_2(X) X(3, 3, 1, 2, x) X(3, 4, 2, x, x)
#define COLUMNS_3_4(X) TO_3_3(X) X(3, 4, 2, 3, x) X(3, 5, 3, x, x)
#define COLUMNS_3_5(X) TO_3_4(X) X(3, 5, 3, 4, x) X(3, 6, 4, x, x)
#define COLUMNS_3_6(X) TO_3_5(X) X(3, 6, 4, 5, x) X(3, 7, 5, x, x)
#define COLUMNS_3_7(X) TO_3_6(X) X(3, 7, 5, 6, x) X(3, 8, 6, x, x)
#define COLUMNS_3_8(X) TO_3_7(X) X(3, 8, 6, 7, x) X(3, 9, 7, x, x)

#define TO_5_3(X)                                                                                  \
    X(5, 0, x, x, x, x, 0) X(5, 1, x, x, x, 0, 1) X(5, 2, x, x, 0, 1, 2) X(5, 3, x, 0, 1, 2, 3)
#define TO_5_4(X) TO_5_3(X) X(5, 4, 0, 1, 2, 3, 4)
#define TO_5_5(X) TO_5_4(X) X(5, 5, 1, 2, 3, 4, 5)
#define TO_5_6(X) TO_5_5(X) X(5, 6, 2, 3, 4, 5, 6)
#define TO_5_7(X) TO_5_6(X) X(5, 7, 3, 4, 5, 6, 7)
#define COLUMNS_5_4(X)                                                                             \
    TO_5_3(X)                                                                                      \
    X(5, 4, 0, 1, 2, 3, x) X(5, 5, 1, 2, 3, x, x) X(5, 6, 2, 3, x, x, x) X(5, 7, 3, x, x, x, x)
#define COLUMNS_5_5(X)                                                                             \
    TO_5_4(X)                                                                                      \
    X(5, 5, 1, 2, 3, 4, x) X(5, 6, 2, 3, 4, x, x) X(5, 7, 3, 4, x, x, x) X(5, 8, 4, x, x, x, x)
#define COLUMNS_5_6(X)                                                                             \
    TO_5_5(X)                                                                                      \
    X(5, 6, 2, 3, 4, 5, x) X(5, 7, 3, 4, 5, x, x) X(5, 8, 4, 5, x, x, x) X(5, 9, 5, x, x, x, x)
#define COLUMNS_5_7(X)                                                                             \
    TO_5_6(X)                                                                                      \
    X(5, 7, 3, 4, 5, 6, x) X(5, 8, 4, 5, 6, x, x) X(5, 9, 5, 6, x, x, x) X(5, 10, 6, x, x, x, x)
#define COLUMNS_5_8(X)                                                                             \
    TO_5_7(X)                                                                                      \
    X(5, 8, 4, 5, 6, 7, x) X(5, 9, 5, 6, 7, x, x) X(5, 10, 6, 7, x, x, x) X(5, 11, 7, x, x, x, x)

#define TO_7_5(X)                                                                                  \
    X(7, 0, x, x, x, x, x, x, 0)                                                                   \
    X(7, 1, x, x, x, x, x, 0, 1)                                                                   \
    X(7, 2, x, x, x, x, 0, 1, 2)                                                                   \
    X(7, 3, x, x, x, 0, 1, 2, 3) X(7, 4, x, x, 0, 1, 2, 3, 4) X(7, 5, x, 0, 1, 2, 3, 4, 5)
#define TO_7_6(X) TO_7_5(X) X(7, 6, 0, 1, 2, 3, 4, 5, 6)
#define COLUMNS_7_6(X)                                                                             \
    TO_7_5(X)                                                                                      \
    X(7, 6, 0, 1, 2, 3, 4, 5, x)                                                                   \
    X(7, 7, 1, 2, 3, 4, 5, x, x)                                                                   \
    X(7, 8, 2, 3, 4, 5, x, x, x)                                                                   \
    X(7, 9, 3, 4, 5, x, x, x, x) X(7, 10, 4, 5, x, x, x, x, x) X(7, 11, 5, x, x, x, x, x, x)
#define COLUMNS_7_7(X)                                                                             \
    TO_7_6(X)                                                                                      \
    X(7, 7, 1, 2, 3, 4, 5, 6, x)                                                                   \
    X(7, 8, 2, 3, 4, 5, 6, x, x)                                                                   \
    X(7, 9, 3, 4, 5, 6, x, x, x)                                                                   \
    X(7, 10, 4, 5, 6, x, x, x, x) X(7, 11, 5, 6, x, x, x, x, x) X(7, 12, 6, x, x, x, x, x, x)

#define TO_3S2_0(X)      X(3, 0, x, x, 0) X(3, 1, x, 0, x)
#define TO_3S2_1(X)      TO_3S2_0(X) X(3, 2, 0, x, 1) X(3, 3, x, 1, x)
#define TO_3S2_2(X)      TO_3S2_1(X) X(3, 4, 1, x, 2) X(3, 5, x, 2, x)
#define TO_3S2_3(X)      TO_3S2_2(X) X(3, 6, 2, x, 3) X(3, 7, x, 3, x)
#define TO_3S2_4(X)      TO_3S2_3(X) X(3, 8, 3, x, 4) X(3, 9, x, 4, x)
#define TO_3S2_5(X)      TO_3S2_4(X) X(3, 10, 4, x, 5) X(3, 11, x, 5, x)
#define TO_3S2_6(X)      TO_3S2_5(X) X(3, 12, 5, x, 6) X(3, 13, x, 6, x)
#define TO_3S2_7(X)      TO_3S2_6(X) X(3, 14, 6, x, 7) X(3, 15, x, 7, x)
#define COLUMNS_3S2_6(X) TO_3S2_5(X) X(3, 12, 5, x, x)
#define COLUMNS_3S2_7(X) TO_3S2_6(X) X(3, 14, 6, x, x)
#define COLUMNS_3S2_8(X) TO_3S2_7(X) X(3, 16, 7, x, x)

/* What a column does: to the upper line's chains acc with weights w, to the lower line's chains low
 * with weights u, or both. */
#define DW_STEP(chain, v, w)   chain = vec_fma(v, w, chain);
#define DW_UPPER_3(v, a, b, c) DW_STEP(acc##a, v, w2) DW_STEP(acc##b, v, w1) DW_STEP(acc##c, v, w0)
#define DW_UPPER_5(v, a, b, c, d, e)                                                               \
    DW_STEP(acc##a, v, w4)                                                                         \
    DW_STEP(acc##b, v, w3) DW_STEP(acc##c, v, w2) DW_STEP(acc##d, v, w1) DW_STEP(acc##e, v, w0)
#define DW_UPPER_7(v, a, b, c, d, e, f, g)                                                         \
    DW_STEP(acc##a, v, w6)                                                                         \
    DW_STEP(acc##b, v, w5)                                                                         \
    DW_STEP(acc##c, v, w4)                                                                         \
    DW_STEP(acc##d, v, w3) DW_STEP(acc##e, v, w2) DW_STEP(acc##f, v, w1) DW_STEP(acc##g, v, w0)
#define DW_LOWER_3(v, a, b, c) DW_STEP(low##a, v, u2) DW_STEP(low##b, v, u1) DW_STEP(low##c, v, u0)
#define DW_LOWER_5(v, a, b, c, d, e)                                                               \
    DW_STEP(low##a, v, u4)                                                                         \
    DW_STEP(low##b, v, u3) DW_STEP(low##c, v, u2) DW_STEP(low##d, v, u1) DW_STEP(low##e, v, u0)
#define DW_LOWER_7(v, a, b, c, d, e, f, g)                                                         \
    DW_STEP(low##a, v, u6)                                                                         \
    DW_STEP(low##b, v, u5)                                                                         \
    DW_STEP(low##c, v, u4)                                                                         \
    DW_STEP(low##d, v, u3) DW_STEP(low##e, v, u2) DW_STEP(low##f, v, u1) DW_STEP(low##g, v, u0)
#define DW_COLUMN(q) const vec column = vec_load(t + (q)*x_kw);
#define DW_ONE(K, q, ...)                                                                          \
    { DW_COLUMN(q) DW_UPPER_##K(column, __VA_ARGS__) }
#define DW_LAST(K, q, ...)                                                                         \
    { DW_COLUMN(q) DW_LOWER_##K(column, __VA_ARGS__) }
#define DW_BOTH(K, q, ...)                                                                         \
    { DW_COLUMN(q) DW_UPPER_##K(column, __VA_ARGS__) DW_LOWER_##K(column, __VA_ARGS__) }
/* Weights of a kernel row, and those of the row before for the lower line. */
#define DW_WEIGHTS_3                                                                               \
    w0 = vec_load(wp + 0 * w_tap), w1 = vec_load(wp + 1 * w_tap), w2 = vec_load(wp + 2 * w_tap);
#define DW_LOW_WEIGHTS_3                                                                           \
    u0 = vec_load(wp + 0 * w_tap), u1 = vec_load(wp + 1 * w_tap), u2 = vec_load(wp + 2 * w_tap);
#define DW_BEFORE_3 u0 = w0, u1 = w1, u2 = w2;
#define DW_WEIGHTS_5                                                                               \
    w0 = vec_load(wp + 0 * w_tap), w1 = vec_load(wp + 1 * w_tap), w2 = vec_load(wp + 2 * w_tap),   \
    w3 = vec_load(wp + 3 * w_tap), w4 = vec_load(wp + 4 * w_tap);
#define DW_BEFORE_5 u0 = w0, u1 = w1, u2 = w2, u3 = w3, u4 = w4;
#define DW_WEIGHTS_7                                                                               \
    w0 = vec_load(wp + 0 * w_tap), w1 = vec_load(wp + 1 * w_tap), w2 = vec_load(wp + 2 * w_tap),   \
    w3 = vec_load(wp + 3 * w_tap), w4 = vec_load(wp + 4 * w_tap), w5 = vec_load(wp + 5 * w_tap),   \
    w6 = vec_load(wp + 6 * w_tap);
#define DW_BEFORE_7 u0 = w0, u1 = w1, u2 = w2, u3 = w3, u4 = w4, u5 = w5, u6 = w6;

/* clang would take the loop apart and keep vectors of several rows on the stack. */
#define DW_EACH_ROW(begin, end)                                                                    \
    _Pragma("clang loop unroll(disable)") for (int64_t i = begin; i < end; i++)

/* Kernel rows that a block takes: all, which compilers unroll, or of large windows those in x. */
#define DW_ROWS_3                                                                                  \
    { 0, 3 }
#define DW_ROWS_5                                                                                  \
    { 0, 5 }
#define DW_ROWS_7 b->rows
#define SLIDE(KIND, K, P)                                                                          \
    static void slide_##KIND##_##P(const struct depthwise_block *b, int64_t c, int64_t end,        \
                                   vec_mask mask) {                                                \
        const int64_t x_kw = b->x_kw, w_tap = b->w_tap;                                            \
        const struct ipex_kernel_rows rows = DW_ROWS_##K;                                          \
        DW_EACH_VECTOR {                                                                           \
            const vec init = vec_load(b->bias + c);                                                \
            const float *wp = b->w + rows.begin * K * w_tap + c;                                   \
            const float *t = b->x + rows.begin * b->x_kh + c;                                      \
            ROWS_##P(DW_INIT) vec accx = init;                                                     \
            DW_EACH_ROW(rows.begin, rows.end) {                                                    \
                const vec DW_WEIGHTS_##K COLUMNS_##KIND##_##P(DW_ONE) t += b->x_kh;                \
                wp += K * w_tap;                                                                   \
            }                                                                                      \
            (void)accx, (void)mask;                                                                \
            if (b->residual) {                                                                     \
                ROWS_##P(DW_RESIDUAL)                                                              \
            }                                                                                      \
            const vec lo = vec_set(b->lo), hi = vec_set(b->hi);                                    \
            ROWS_##P(DW_STORE)                                                                     \
        }                                                                                          \
    }

/* Two lines, TOUCH lines of x apart or APART, two of them: the rows of x that both see, and those
 * that one of them does. TOUCH: an upper chain takes kernel row i of a line of x when the lower one
 * takes row i - 1. */
#define DW_TOUCH(K, COLUMNS)                                                                       \
    vec DW_WEIGHTS_##K if (b->rows.begin == 0){COLUMNS(DW_ONE)} DW_EACH_ROW(1, K) {                \
        const vec DW_BEFORE_##K t += b->x_kh;                                                      \
        wp += K * w_tap;                                                                           \
        DW_WEIGHTS_##K COLUMNS(DW_BOTH)                                                            \
    }                                                                                              \
    if (b->rows.end == K) {                                                                        \
        const vec DW_BEFORE_##K t += b->x_kh;                                                      \
        COLUMNS(DW_LAST)                                                                           \
    }
/* APART: of three kernel rows the upper line's last is the lower one's first. Where compilers see
 * all rows at once gcc keeps their weights (0.9 of the time), but clang loses chains. */
#ifdef __clang__
#define DW_APART(K, COLUMNS)                                                                       \
    wp += b->rows.begin * K * w_tap, t += b->rows.begin * b->x_kh;                                 \
    DW_EACH_ROW(b->rows.begin, K - 1) {                                                            \
        const vec DW_WEIGHTS_##K COLUMNS(DW_ONE) t += b->x_kh;                                     \
        wp += K * w_tap;                                                                           \
    }                                                                                              \
    {                                                                                              \
        const vec DW_WEIGHTS_##K wp -= (K - 1) * K * w_tap;                                        \
        const vec DW_LOW_WEIGHTS_##K COLUMNS(DW_BOTH)                                              \
    }                                                                                              \
    DW_EACH_ROW(1, b->rows.end) {                                                                  \
        t += b->x_kh, wp += K * w_tap;                                                             \
        const vec DW_LOW_WEIGHTS_##K COLUMNS(DW_LAST)                                              \
    }
#else
#define DW_APART(K, COLUMNS)                                                                       \
    if (b->rows.begin == 0) {                                                                      \
        const vec DW_WEIGHTS_##K COLUMNS(DW_ONE)                                                   \
    }                                                                                              \
    t += b->x_kh, wp += K * w_tap;                                                                 \
    {                                                                                              \
        const vec DW_WEIGHTS_##K COLUMNS(DW_ONE)                                                   \
    }                                                                                              \
    t += b->x_kh, wp -= K * w_tap;                                                                 \
    {                                                                                              \
        const vec DW_LOW_WEIGHTS_##K wp += 2 * K * w_tap;                                          \
        const vec DW_WEIGHTS_##K COLUMNS(DW_BOTH)                                                  \
    }                                                                                              \
    t += b->x_kh, wp -= K * w_tap;                                                                 \
    {                                                                                              \
        const vec DW_LOW_WEIGHTS_##K COLUMNS(DW_LAST)                                              \
    }                                                                                              \
    if (b->rows.end == K) {                                                                        \
        t += b->x_kh, wp += K * w_tap;                                                             \
        const vec DW_LOW_WEIGHTS_##K COLUMNS(DW_LAST)                                              \
    }
#endif

#define DW_LOW_INIT(r) vec low##r = init;
#define DW_LOW_RESIDUAL(r)                                                                         \
    low##r = vec_add(low##r, vec_load(b->residual + b->r_line + (r)*b->r_row + c));
#define DW_LOW_STORE(r) vec_store(b->y + b->y_line + (r)*b->y_row + c, vec_clip(low##r, lo, hi));
#define TWO_LINES(KIND, K, P, HOW)                                                                 \
    static void slide_##HOW##_##KIND##_##P(const struct depthwise_block *b, int64_t c,             \
                                           int64_t end, vec_mask mask) {                           \
        const int64_t x_kw = b->x_kw, w_tap = b->w_tap;                                            \
        DW_EACH_VECTOR {                                                                           \
            const vec init = vec_load(b->bias + c);                                                \
            const float *wp = b->w + c, *t = b->x + c;                                             \
            ROWS_##P(DW_INIT) ROWS_##P(DW_LOW_INIT) vec accx = init, lowx = init;                  \
            DW_##HOW(K, COLUMNS_##KIND##_##P)(void) accx;                                          \
            (void)lowx, (void)mask;                                                                \
            if (b->residual) {                                                                     \
                ROWS_##P(DW_RESIDUAL) ROWS_##P(DW_LOW_RESIDUAL)                                    \
            }                                                                                      \
            const vec lo = vec_set(b->lo), hi = vec_set(b->hi);                                    \
            ROWS_##P(DW_STORE) ROWS_##P(DW_LOW_STORE)                                              \
        }                                                                                          \
    }
#define SLIDE_TOUCH(KIND, K, P) TWO_LINES(KIND, K, P, TOUCH)
#define SLIDE_APART(KIND, K, P) TWO_LINES(KIND, K, P, APART)

#define P_4_TO_6(X, KIND, K) X(KIND, K, 4) X(KIND, K, 5) X(KIND, K, 6)
#define P_4_TO_8(X, KIND, K) X(KIND, K, 4) X(KIND, K, 5) P_6_TO_8(X, KIND, K)
#define P_6_TO_7(X, KIND, K) X(KIND, K, 6) X(KIND, K, 7)
#define P_6_TO_8(X, KIND, K) X(KIND, K, 6) X(KIND, K, 7) X(KIND, K, 8)

P_6_TO_8(SLIDE, 3, 3)
P_6_TO_8(SLIDE, 3S2, 3)
P_6_TO_8(SLIDE, 5, 5)
P_6_TO_7(SLIDE, 7, 7)

#define SLIDE_NAME(KIND, K, P) [P] = slide_##KIND##_##P,
#define TOUCH_NAME(KIND, K, P) [P] = slide_TOUCH_##KIND##_##P,
#define APART_NAME(KIND, K, P) [P] = slide_APART_##KIND##_##P,

enum depthwise_kind { KIND_ANY, KIND_3, KIND_3S2, KIND_5, KIND_7, KINDS };

typedef void (*depthwise_fn)(const struct depthwise_block *, int64_t c, int64_t end, vec_mask mask);
static const depthwise_fn depthwise_slide[KINDS][DEPTHWISE_ROWS + 1] = {
    [KIND_3] = {P_6_TO_8(SLIDE_NAME, 3, 3)},
    [KIND_3S2] = {P_6_TO_8(SLIDE_NAME, 3S2, 3)},
    [KIND_5] = {P_6_TO_8(SLIDE_NAME, 5, 5)},
    [KIND_7] = {P_6_TO_7(SLIDE_NAME, 7, 7)},
};

/* Two lines where all chains, two kernel rows of weights and x fit the registers: not 7 x 7. */
#if VEC_REGISTERS == 32
enum { DEPTHWISE_TWO_ROWS = 8 };
P_4_TO_8(SLIDE_TOUCH, 3, 3)
P_4_TO_6(SLIDE_TOUCH, 5, 5)
P_6_TO_8(SLIDE_APART, 3, 3)
P_6_TO_8(SLIDE_APART, 3S2, 3)
static const depthwise_fn depthwise_touch[KINDS][DEPTHWISE_TWO_ROWS + 1] = {
    [KIND_3] = {P_4_TO_8(TOUCH_NAME, 3, 3)},
    [KIND_5] = {P_4_TO_6(TOUCH_NAME, 5, 5)},
};
static const depthwise_fn depthwise_apart[KINDS][DEPTHWISE_TWO_ROWS + 1] = {
    [KIND_3] = {P_6_TO_8(APART_NAME, 3, 3)},
    [KIND_3S2] = {P_6_TO_8(APART_NAME, 3S2, 3)},
};
#else
#ifdef __clang__ /* takes a register more */
enum { DEPTHWISE_TWO_ROWS = 3 };
#define P_2_TO_MOST(X, KIND, K) X(KIND, K, 2) X(KIND, K, 3)
#else
enum { DEPTHWISE_TWO_ROWS = 4 };
#define P_2_TO_MOST(X, KIND, K) X(KIND, K, 2) X(KIND, K, 3) X(KIND, K, 4)
#endif
P_2_TO_MOST(SLIDE_TOUCH, 3, 3)
static const depthwise_fn depthwise_touch[KINDS][DEPTHWISE_TWO_ROWS + 1] = {
    [KIND_3] = {P_2_TO_MOST(TOUCH_NAME, 3, 3)},
};
static const depthwise_fn depthwise_apart[KINDS][DEPTHWISE_TWO_ROWS + 1] = {{NULL}};
#endif

/* The kind of windows, by the distances of x. */
static inline enum depthwise_kind depthwise_kind(const struct ipex_depthwise_args *args) {
    const bool touching = args->x_pixel == args->x_kw;
    if (args->kernel_h != args->kernel_w)
        return KIND_ANY;
    switch (args->kernel_w) {
    case 3:
        return touching ? KIND_3 : args->x_pixel == 2 * args->x_kw ? KIND_3S2 : KIND_ANY;
    case 5:
        return touching ? KIND_5 : KIND_ANY;
    case 7:
        return touching ? KIND_7 : KIND_ANY;
    default:
        return KIND_ANY;
    }
}

/* Pixels of a block of so many lines, at most: what both compilers find registers for. */
static inline int64_t depthwise_most(enum depthwise_kind kind, int64_t lines) {
    if (lines == 2)
        return kind == KIND_5 && DEPTHWISE_TWO_ROWS > 6 ? 6 : DEPTHWISE_TWO_ROWS;
    return kind == KIND_7 ? 7 : DEPTHWISE_ROWS;
}

/* Blocks of two lines, by their pixels, or NULL where a line cut into blocks of at most
 * depthwise_most pixels has one of another size. */
static inline const depthwise_fn *depthwise_two(const struct ipex_depthwise_args *args,
                                                enum depthwise_kind kind) {
    const int64_t count = ipex_div_up(args->pixels, depthwise_most(kind, 2));
    const depthwise_fn *ret = args->x_line == args->x_kh       ? depthwise_touch[kind]
                              : args->x_line == 2 * args->x_kh ? depthwise_apart[kind]
                                                               : NULL;
    const bool all = ret && args->pixels > 0 && ret[args->pixels / count] &&
                     ret[ipex_div_up(args->pixels, count)];
    return all ? ret : NULL;
}

#endif
