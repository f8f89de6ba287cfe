/* SPDX-License-Identifier: Apache-2.0 */
/* Macros that repeat a statement for every row of a register block, so that every accumulator has a
 * name: gcc 12 keeps arrays of vectors in memory. */
#ifndef IPEX_KERNELS_X86_ROWS_H
#define IPEX_KERNELS_X86_ROWS_H

#include <stdint.h>

/* Begins a function that only prefetches: gcc 12 drops the calls of those that it does not inline
 * at once, as they have no effect. */
#define PREFETCHES static inline __attribute__((always_inline)) void

/* ROWS_n(X): X for rows 0 to n - 1. */
#define ROWS_1(X)  X(0)
#define ROWS_2(X)  ROWS_1(X) X(1)
#define ROWS_3(X)  ROWS_2(X) X(2)
#define ROWS_4(X)  ROWS_3(X) X(3)
#define ROWS_5(X)  ROWS_4(X) X(4)
#define ROWS_6(X)  ROWS_5(X) X(5)
#define ROWS_7(X)  ROWS_6(X) X(6)
#define ROWS_8(X)  ROWS_7(X) X(7)
#define ROWS_9(X)  ROWS_8(X) X(8)
#define ROWS_10(X) ROWS_9(X) X(9)
#define ROWS_11(X) ROWS_10(X) X(10)
#define ROWS_12(X) ROWS_11(X) X(11)
#define ROWS_13(X) ROWS_12(X) X(12)
#define ROWS_14(X) ROWS_13(X) X(13)

/* Row r's place, given the two halves' bases. HALF is the enclosing function's. */
#define AT(first, second, stride, r)                                                               \
    ((r) < HALF ? (first) + (r) * (stride) : (second) + ((r)-HALF) * (stride))

/* The same where `rows`, and with them HALF, are known only at run time: row r of a matrix whose
 * second half of rows starts at `half`. */
static inline int64_t row_at(int64_t rows, int64_t row, int64_t half, int64_t r) {
    const int64_t first = (rows + 1) / 2;
    return r < first ? r * row : half + (r - first) * row;
}

/* AT in bytes, by three registers, which addresses multiply by 1, 2 or 4, not by six: x_1 of the
 * enclosing function is the stride, x_3 and x_5 are three and five of them. */
#define ROW_BYTES(r) ((r) == 0 ? 0 : (r) == 3 ? x_3 : (r) == 6 ? 2 * x_3 : (r) == 5 ? x_5 : (r)*x_1)
#define AT_BYTES(first, second, r)                                                                 \
    ((r) < HALF ? (const char *)(first) + ROW_BYTES(r)                                             \
                : (const char *)(second) + ROW_BYTES((r)-HALF))

/* These, and what follows the rows, are what the compiler then knows nothing of: gcc would give
 * every access a pointer of its own. */
#define ROWS_ANEW(first, second, w)                                                                \
    __asm__("" : "+r"(first), "+r"(second), "+r"(w), "+r"(x_1), "+r"(x_3), "+r"(x_5))

#endif
