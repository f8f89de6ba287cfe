/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise register blocks that slide: where the windows of neighbouring pixels overlap, every x
 * of a kernel row is loaded once and goes to all the chains that it belongs to, and two lines of y,
 * one below the other, load the lines of x that both see once. Loads run from the left and from the
 * top, so each chain still takes its taps in order. For windows of 3 columns, whose weights stay in
 * registers, and with AVX2 for single lines of 5 and 7; others roll (kernels/x86/depthwise_roll.h).
 * Included by kernels/x86/depthwise_body.h. */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_SLIDE_H
#define IPEX_KERNELS_X86_DEPTHWISE_SLIDE_H

/* COLUMNS_kind_P(X): X(K, q, p...) for every column q that P pixels with windows of K columns see:
 * the K pixels to which the column goes, at taps K - 1 to 0. Pixel x is what falls outside the
 * block, for nothing. Kinds K: 3, 5, 7 are windows of so many columns at stride 1; 3S2, 5S2 at
 * stride 2. */
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

#define TO_5_5(X)                                                                                  \
    X(5, 0, x, x, x, x, 0)                                                                         \
    X(5, 1, x, x, x, 0, 1)                                                                         \
    X(5, 2, x, x, 0, 1, 2) X(5, 3, x, 0, 1, 2, 3) X(5, 4, 0, 1, 2, 3, 4) X(5, 5, 1, 2, 3, 4, 5)
#define TO_5_6(X) TO_5_5(X) X(5, 6, 2, 3, 4, 5, 6)
#define TO_5_7(X) TO_5_6(X) X(5, 7, 3, 4, 5, 6, 7)
#define COLUMNS_5_6(X)                                                                             \
    TO_5_5(X)                                                                                      \
    X(5, 6, 2, 3, 4, 5, x) X(5, 7, 3, 4, 5, x, x) X(5, 8, 4, 5, x, x, x) X(5, 9, 5, x, x, x, x)
#define COLUMNS_5_7(X)                                                                             \
    TO_5_6(X)                                                                                      \
    X(5, 7, 3, 4, 5, 6, x) X(5, 8, 4, 5, 6, x, x) X(5, 9, 5, 6, x, x, x) X(5, 10, 6, x, x, x, x)
#define COLUMNS_5_8(X)                                                                             \
    TO_5_7(X)                                                                                      \
    X(5, 8, 4, 5, 6, 7, x) X(5, 9, 5, 6, 7, x, x) X(5, 10, 6, 7, x, x, x) X(5, 11, 7, x, x, x, x)

#define TO_5S2_0(X)                                                                                \
    X(5S2, 0, x, x, x, x, 0)                                                                       \
    X(5S2, 1, x, x, x, 0, x) X(5S2, 2, x, x, 0, x, 1) X(5S2, 3, x, 0, x, 1, x)
#define TO_5S2_1(X) TO_5S2_0(X) X(5S2, 4, 0, x, 1, x, 2) X(5S2, 5, x, 1, x, 2, x)
#define TO_5S2_2(X) TO_5S2_1(X) X(5S2, 6, 1, x, 2, x, 3) X(5S2, 7, x, 2, x, 3, x)
#define TO_5S2_3(X) TO_5S2_2(X) X(5S2, 8, 2, x, 3, x, 4) X(5S2, 9, x, 3, x, 4, x)
#define TO_5S2_4(X) TO_5S2_3(X) X(5S2, 10, 3, x, 4, x, 5) X(5S2, 11, x, 4, x, 5, x)
#define TO_5S2_5(X) TO_5S2_4(X) X(5S2, 12, 4, x, 5, x, 6) X(5S2, 13, x, 5, x, 6, x)
#define TO_5S2_6(X) TO_5S2_5(X) X(5S2, 14, 5, x, 6, x, 7) X(5S2, 15, x, 6, x, 7, x)
#define COLUMNS_5S2_7(X)                                                                           \
    TO_5S2_5(X) X(5S2, 14, 5, x, 6, x, x) X(5S2, 15, x, 6, x, x, x) X(5S2, 16, 6, x, x, x, x)
#define COLUMNS_5S2_8(X)                                                                           \
    TO_5S2_6(X) X(5S2, 16, 6, x, 7, x, x) X(5S2, 17, x, 7, x, x, x) X(5S2, 18, 7, x, x, x, x)

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

#define TO_3S2_0(X)      X(3S2, 0, x, x, 0) X(3S2, 1, x, 0, x)
#define TO_3S2_1(X)      TO_3S2_0(X) X(3S2, 2, 0, x, 1) X(3S2, 3, x, 1, x)
#define TO_3S2_2(X)      TO_3S2_1(X) X(3S2, 4, 1, x, 2) X(3S2, 5, x, 2, x)
#define TO_3S2_3(X)      TO_3S2_2(X) X(3S2, 6, 2, x, 3) X(3S2, 7, x, 3, x)
#define TO_3S2_4(X)      TO_3S2_3(X) X(3S2, 8, 3, x, 4) X(3S2, 9, x, 4, x)
#define TO_3S2_5(X)      TO_3S2_4(X) X(3S2, 10, 4, x, 5) X(3S2, 11, x, 5, x)
#define TO_3S2_6(X)      TO_3S2_5(X) X(3S2, 12, 5, x, 6) X(3S2, 13, x, 6, x)
#define TO_3S2_7(X)      TO_3S2_6(X) X(3S2, 14, 6, x, 7) X(3S2, 15, x, 7, x)
#define COLUMNS_3S2_2(X) TO_3S2_1(X) X(3S2, 4, 1, x, x)
#define COLUMNS_3S2_3(X) TO_3S2_2(X) X(3S2, 6, 2, x, x)
#define COLUMNS_3S2_4(X) TO_3S2_3(X) X(3S2, 8, 3, x, x)
#define COLUMNS_3S2_5(X) TO_3S2_4(X) X(3S2, 10, 4, x, x)
#define COLUMNS_3S2_6(X) TO_3S2_5(X) X(3S2, 12, 5, x, x)
#define COLUMNS_3S2_7(X) TO_3S2_6(X) X(3S2, 14, 6, x, x)
#define COLUMNS_3S2_8(X) TO_3S2_7(X) X(3S2, 16, 7, x, x)

/* What a column does: to the upper line's chains acc with weights w, to the lower line's chains low
 * with weights u, or both. */
#define DW_TO_x(chains, v, w)
#define DW_TO_0(chains, v, w)  chains##0 = vec_fma(v, w, chains##0);
#define DW_TO_1(chains, v, w)  chains##1 = vec_fma(v, w, chains##1);
#define DW_TO_2(chains, v, w)  chains##2 = vec_fma(v, w, chains##2);
#define DW_TO_3(chains, v, w)  chains##3 = vec_fma(v, w, chains##3);
#define DW_TO_4(chains, v, w)  chains##4 = vec_fma(v, w, chains##4);
#define DW_TO_5(chains, v, w)  chains##5 = vec_fma(v, w, chains##5);
#define DW_TO_6(chains, v, w)  chains##6 = vec_fma(v, w, chains##6);
#define DW_TO_7(chains, v, w)  chains##7 = vec_fma(v, w, chains##7);
#define DW_UPPER_3(v, a, b, c) DW_TO_##a(acc, v, w2) DW_TO_##b(acc, v, w1) DW_TO_##c(acc, v, w0)
#define DW_UPPER_5(v, a, b, c, d, e)                                                               \
    DW_TO_##a(acc, v, w4) DW_TO_##b(acc, v, w3) DW_TO_##c(acc, v, w2) DW_TO_##d(acc, v, w1)        \
        DW_TO_##e(acc, v, w0)
#define DW_UPPER_5S2 DW_UPPER_5
#define DW_UPPER_7(v, a, b, c, d, e, f, g)                                                         \
    DW_TO_##a(acc, v, w6) DW_TO_##b(acc, v, w5) DW_TO_##c(acc, v, w4) DW_TO_##d(acc, v, w3)        \
        DW_TO_##e(acc, v, w2) DW_TO_##f(acc, v, w1) DW_TO_##g(acc, v, w0)
#define DW_LOWER_3(v, a, b, c) DW_TO_##a(low, v, u2) DW_TO_##b(low, v, u1) DW_TO_##c(low, v, u0)
#define DW_UPPER_3S2           DW_UPPER_3
#define DW_LOWER_3S2           DW_LOWER_3
#define DW_LOWER_5S2(v, a, b, c, d, e)                                                             \
    DW_TO_##a(low, v, u4) DW_TO_##b(low, v, u3) DW_TO_##c(low, v, u2) DW_TO_##d(low, v, u1)        \
        DW_TO_##e(low, v, u0)
/* Column q of a row of x. gcc 12 would repeat a load for each of its chains and keep a distance
 * from t for every column: it is given one load and a few addresses (3x3/2x1 24 at 12x96: 0.75 of
 * the time). One load not where columns have few chains (3x3/2 576 at 14x14: 1.14); neither where
 * weights take most registers (7 columns). */
#define DW_BASE(at, before)                                                                        \
    const float *t##at = t##before + 3 * x_kw;                                                     \
    __asm__("" : "+r"(t##at));
#define DW_BASES                                                                                   \
    const float *t0 = t;                                                                           \
    DW_BASE(3, 0) DW_BASE(6, 3) DW_BASE(9, 6) DW_BASE(12, 9) DW_BASE(15, 12)
#define DW_AT_0   t0
#define DW_AT_1   t0 + x_kw
#define DW_AT_2   t0 + 2 * x_kw
#define DW_AT_3   t3
#define DW_AT_4   t3 + x_kw
#define DW_AT_5   t3 + 2 * x_kw
#define DW_AT_6   t6
#define DW_AT_7   t6 + x_kw
#define DW_AT_8   t6 + 2 * x_kw
#define DW_AT_9   t9
#define DW_AT_10  t9 + x_kw
#define DW_AT_11  t9 + 2 * x_kw
#define DW_AT_12  t12
#define DW_AT_13  t12 + x_kw
#define DW_AT_14  t12 + 2 * x_kw
#define DW_AT_15  t15
#define DW_AT_16  t15 + x_kw
#define DW_AT_17  t15 + 2 * x_kw
#define DW_AT_18  t15 + 3 * x_kw
#define DW_FAR(q) vec_load(t + (q)*x_kw)
#ifdef __clang__
#define DW_X_3(q)   DW_FAR(q)
#define DW_X_3S2(q) DW_FAR(q)
#define DW_X_5(q)   DW_FAR(q)
#define DW_X_5S2(q) DW_FAR(q)
#else
#define DW_X_3(q)   vec_in_register(vec_load(DW_AT_##q))
#define DW_X_3S2(q) vec_load(DW_AT_##q)
#define DW_X_5(q)   vec_load(DW_AT_##q)
#define DW_X_5S2(q) vec_load(DW_AT_##q)
#endif
#define DW_X_7(q)       DW_FAR(q)
#define DW_COLUMN(K, q) const vec column = DW_X_##K(q);
#define DW_ONE(K, q, ...)                                                                          \
    { DW_COLUMN(K, q) DW_UPPER_##K(column, __VA_ARGS__) }
#define DW_LAST(K, q, ...)                                                                         \
    { DW_COLUMN(K, q) DW_LOWER_##K(column, __VA_ARGS__) }
#define DW_BOTH(K, q, ...)                                                                         \
    { DW_COLUMN(K, q) DW_UPPER_##K(column, __VA_ARGS__) DW_LOWER_##K(column, __VA_ARGS__) }
/* Weights w0, w1... of the kernel row at `at`, or u0, u1... for the lower line: those of the row
 * before. */
#define DW_WEIGHTS_3(w, at)                                                                        \
    w##0 = vec_load(at + 0 * w_tap), w##1 = vec_load(at + 1 * w_tap),                              \
    w##2 = vec_load(at + 2 * w_tap)
#define DW_WEIGHTS_5(w, at)                                                                        \
    DW_WEIGHTS_3(w, at), w##3 = vec_load(at + 3 * w_tap), w##4 = vec_load(at + 4 * w_tap)
#define DW_WEIGHTS_7(w, at)                                                                        \
    DW_WEIGHTS_5(w, at), w##5 = vec_load(at + 5 * w_tap), w##6 = vec_load(at + 6 * w_tap)
#define DW_BEFORE_3 u0 = w0, u1 = w1, u2 = w2

/* clang would take the loop apart and keep vectors of several rows on the stack. */
#define DW_EACH_ROW(begin, end)                                                                    \
    _Pragma("clang loop unroll(disable)") for (int64_t i = begin; i < end; i++)
#define DW_EACH_ROW_TO(end) _Pragma("clang loop unroll(disable)") for (; i < end; i++)
#define DW_NEXT_ROW(K)      t += b->x_kh, wp += K * w_tap

#define DW_FINISH_LINE(P) DW_FINISH(ROWS_##P(DW_RESIDUAL), ROWS_##P(DW_STORE))

#define SLIDE(KIND, K, P)                                                                          \
    static __attribute__((noinline)) void slide_##KIND##_##P(                                      \
        const struct depthwise_block *b, int64_t c, int64_t end, vec_mask mask) {                  \
        const int64_t x_kw = b->x_kw, w_tap = b->w_tap;                                            \
        const struct ipex_kernel_rows rows = b->rows;                                              \
        DW_EACH_VECTOR {                                                                           \
            const vec init = vec_load(b->bias + c);                                                \
            const float *wp = b->w + rows.begin * K * w_tap + c;                                   \
            const float *t = b->x + rows.begin * b->x_kh + c;                                      \
            ROWS_##P(DW_INIT) DW_EACH_ROW(rows.begin, rows.end) {                                  \
                const vec DW_WEIGHTS_##K(w, wp);                                                   \
                DW_BASES COLUMNS_##KIND##_##P(DW_ONE) DW_NEXT_ROW(K);                              \
            }                                                                                      \
            (void)mask;                                                                            \
            DW_FINISH_LINE(P)                                                                      \
        }                                                                                          \
    }

/* Two lines, TOUCH lines of x apart or APART, two of them: the rows of x that both see, and those
 * that one of them does. TOUCH: an upper chain takes kernel row i of a line of x when the lower one
 * takes row i - 1. */
#define DW_TOUCH(K, COLUMNS)                                                                       \
    vec DW_WEIGHTS_##K(w, wp);                                                                     \
    if (b->rows.begin == 0) {                                                                      \
        DW_BASES COLUMNS(DW_ONE)                                                                   \
    }                                                                                              \
    DW_EACH_ROW(1, K) {                                                                            \
        const vec DW_BEFORE_##K;                                                                   \
        DW_NEXT_ROW(K);                                                                            \
        DW_WEIGHTS_##K(w, wp);                                                                     \
        DW_BASES COLUMNS(DW_BOTH)                                                                  \
    }                                                                                              \
    if (b->low.end == K) {                                                                         \
        const vec DW_BEFORE_##K;                                                                   \
        t += b->x_kh;                                                                              \
        DW_BASES COLUMNS(DW_LAST)                                                                  \
    }
/* APART: an upper chain takes kernel row i when the lower one takes row i - 2. */
#define DW_APART_5(K, COLUMNS)                                                                     \
    int64_t i = b->rows.begin;                                                                     \
    wp += i * K * w_tap, t += i * b->x_kh;                                                         \
    DW_EACH_ROW_TO(2) {                                                                            \
        const vec DW_WEIGHTS_##K(w, wp);                                                           \
        DW_BASES COLUMNS(DW_ONE) DW_NEXT_ROW(K);                                                   \
    }                                                                                              \
    DW_EACH_ROW_TO(b->rows.end) {                                                                  \
        const float *below = wp - 2 * K * w_tap;                                                   \
        const vec DW_WEIGHTS_##K(w, wp), DW_WEIGHTS_##K(u, below);                                 \
        DW_BASES COLUMNS(DW_BOTH) DW_NEXT_ROW(K);                                                  \
    }                                                                                              \
    wp -= 2 * K * w_tap;                                                                           \
    DW_EACH_ROW_TO(2 + b->low.end) {                                                               \
        const vec DW_WEIGHTS_##K(u, wp);                                                           \
        DW_BASES COLUMNS(DW_LAST) DW_NEXT_ROW(K);                                                  \
    }
/* Of three kernel rows the upper line's last is the lower one's first: where gcc sees all rows at
 * once it keeps their weights (0.9 of the time), but clang loses chains. */
#ifdef __clang__
#define DW_APART_3 DW_APART_5
#else
#if VEC_REGISTERS == 32
#define DW_FORGET
#else /* weights are not kept over rows: they would be on the stack */
#define DW_FORGET __asm__("" : "+r"(wp));
#endif
#define DW_APART_3(K, COLUMNS)                                                                     \
    if (b->rows.begin == 0) {                                                                      \
        DW_FORGET const vec DW_WEIGHTS_##K(w, wp);                                                 \
        DW_BASES COLUMNS(DW_ONE)                                                                   \
    }                                                                                              \
    DW_NEXT_ROW(K);                                                                                \
    {                                                                                              \
        DW_FORGET const vec DW_WEIGHTS_##K(w, wp);                                                 \
        DW_BASES COLUMNS(DW_ONE)                                                                   \
    }                                                                                              \
    t += b->x_kh, wp -= K * w_tap;                                                                 \
    {                                                                                              \
        DW_FORGET const vec DW_WEIGHTS_##K(u, wp);                                                 \
        wp += 2 * K * w_tap;                                                                       \
        DW_FORGET const vec DW_WEIGHTS_##K(w, wp);                                                 \
        DW_BASES COLUMNS(DW_BOTH)                                                                  \
    }                                                                                              \
    t += b->x_kh, wp -= K * w_tap;                                                                 \
    {                                                                                              \
        DW_FORGET const vec DW_WEIGHTS_##K(u, wp);                                                 \
        DW_BASES COLUMNS(DW_LAST)                                                                  \
    }                                                                                              \
    if (b->low.end == K) {                                                                         \
        DW_NEXT_ROW(K);                                                                            \
        DW_FORGET const vec DW_WEIGHTS_##K(u, wp);                                                 \
        DW_BASES COLUMNS(DW_LAST)                                                                  \
    }
#endif

#define DW_LOW_INIT(r)     vec low##r = init;
#define DW_LOW_RESIDUAL(r) low##r = vec_add(low##r, vec_load(z + z_line + (r)*z_row));
#define DW_LOW_STORE(r)    vec_store(y + y_line + (r)*y_row, vec_clip(low##r, lo, hi));
#define DW_FINISH_TWO(P)                                                                           \
    DW_FINISH(ROWS_##P(DW_RESIDUAL) ROWS_##P(DW_LOW_RESIDUAL),                                     \
              ROWS_##P(DW_STORE) ROWS_##P(DW_LOW_STORE))
#define TWO_LINES(KIND, K, P, HOW)                                                                 \
    static __attribute__((noinline)) void slide_##HOW##_##KIND##_##P(                              \
        const struct depthwise_block *b, int64_t c, int64_t end, vec_mask mask) {                  \
        const int64_t x_kw = b->x_kw, w_tap = b->w_tap;                                            \
        DW_EACH_VECTOR {                                                                           \
            const vec init = vec_load(b->bias + c);                                                \
            const float *wp = b->w + c, *t = b->x + c;                                             \
            ROWS_##P(DW_INIT) ROWS_##P(DW_LOW_INIT) DW_##HOW(K, COLUMNS_##KIND##_##P)(void) mask;  \
            DW_FINISH_TWO(P)                                                                       \
        }                                                                                          \
    }
#define SLIDE_TOUCH(KIND, K, P) TWO_LINES(KIND, K, P, TOUCH)
#define SLIDE_APART(KIND, K, P) TWO_LINES(KIND, K, P, APART_##K)

#define P_3_TO_4(X, KIND, K) X(KIND, K, 3) X(KIND, K, 4)
#define P_4_TO_5(X, KIND, K) X(KIND, K, 4) X(KIND, K, 5)
#define P_4_TO_8(X, KIND, K) X(KIND, K, 4) X(KIND, K, 5) P_6_TO_8(X, KIND, K)
#define P_6_TO_7(X, KIND, K) X(KIND, K, 6) X(KIND, K, 7)
#define P_7_TO_8(X, KIND, K) X(KIND, K, 7) X(KIND, K, 8)
#define P_6_TO_8(X, KIND, K) X(KIND, K, 6) X(KIND, K, 7) X(KIND, K, 8)

/* Blocks of one line; of two whose rows of x touch; of two whose rows lie two apart. */
#define SLIDES_OF_3(X) P_6_TO_8(X, 3, 3) P_6_TO_8(X, 3S2, 3)
#if VEC_REGISTERS == 32
#define SLIDES(X)  SLIDES_OF_3(X)
#define TOUCHES(X) P_4_TO_8(X, 3, 3) P_4_TO_5(X, 3S2, 3)
#define APARTS(X)  P_4_TO_5(X, 3, 3) P_6_TO_8(X, 3S2, 3) P_7_TO_8(X, 5S2, 5)
#else
#define SLIDES(X) SLIDES_OF_3(X) P_6_TO_8(X, 5, 5) P_7_TO_8(X, 5S2, 5) P_6_TO_7(X, 7, 7)
#ifdef __clang__
#define TOUCHES(X) X(3, 3, 2) X(3, 3, 3) X(3S2, 3, 2) X(3S2, 3, 3)
#else
#define TOUCHES(X) X(3, 3, 2) X(3, 3, 3) X(3, 3, 4) P_3_TO_4(X, 3S2, 3)
#endif
#define APARTS(X) P_3_TO_4(X, 3S2, 3)
#endif

SLIDES(SLIDE)
TOUCHES(SLIDE_TOUCH)
APARTS(SLIDE_APART)

#endif
