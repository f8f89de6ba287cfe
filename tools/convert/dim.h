/* SPDX-License-Identifier: Apache-2.0 */
/* Dimensions as the converter computes with them: a number, or an expression over named symbols
 * with a range.
 *
 * A dim is an int64_t: 0 and up is the number itself, below 0 it names an expression of the table.
 * Expressions are kept as polynomials with integer coefficients over atoms (symbols, and quotients,
 * minima and maxima that do not simplify), sorted and shared, so two dims are the same function
 * where their codes are equal. A symbol that moves in steps (32 .. 1536 step 32) is 32 times a base
 * atom, so that halving it stays exact. */
#ifndef IPEX_TOOLS_DIM_H
#define IPEX_TOOLS_DIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/arena.h"

#define IPEX_DIM_ATOMS 4 /* factors of one term */
#define IPEX_DIM_TERMS 16

/* A failure: too many terms or factors, an overflow, a division by zero. Every function passes it
 * on. */
#define IPEX_DIM_NONE INT64_MIN

struct ipex_symbol {
    const char *name;
    int64_t lo, hi, step; /* lo and hi are multiples of step */
};

enum ipex_dim_op { IPEX_DIM_OP_symbol, IPEX_DIM_OP_floor_div, IPEX_DIM_OP_min, IPEX_DIM_OP_max };

/* What a polynomial is made over. A symbol's atom counts its steps: symbol = step * atom. */
struct ipex_dim_atom {
    enum ipex_dim_op op;
    int64_t a, b;   /* symbol: its index; else two dims */
    int64_t lo, hi; /* bounds over all values of the symbols */
};

struct ipex_dim_term {
    int64_t coefficient;
    int32_t factors;
    int32_t factor[IPEX_DIM_ATOMS]; /* atoms, ascending */
};

struct ipex_dim_sum {
    int32_t terms;
    struct ipex_dim_term *term; /* in a fixed order; the constant last */
    int64_t lo, hi;             /* bounds over all values of the symbols */
};

struct ipex_dims {
    struct ipex_arena *arena;
    struct ipex_symbol *symbol;
    struct ipex_dim_atom *atom;
    struct ipex_dim_sum *sum; /* sum i has the code -1 - i */
    size_t symbols, atoms, sums;
    size_t symbol_capacity, atom_capacity, sum_capacity;
};

void ipex_dims_init(struct ipex_dims *dims, struct ipex_arena *arena);
void ipex_dims_finish(struct ipex_dims *dims);

/* The dim of a symbol, made on first use; the range of a known name is not changed. lo == hi gives
 * the number. */
int64_t ipex_dim_symbol(struct ipex_dims *dims, const char *name, int64_t lo, int64_t hi,
                        int64_t step);

int64_t ipex_dim_add(struct ipex_dims *dims, int64_t a, int64_t b);
int64_t ipex_dim_sub(struct ipex_dims *dims, int64_t a, int64_t b);
int64_t ipex_dim_mul(struct ipex_dims *dims, int64_t a, int64_t b);
/* Rounded down; b > 0. */
int64_t ipex_dim_floor_div(struct ipex_dims *dims, int64_t a, int64_t b);
/* a / b where b divides a for every value of the symbols; IPEX_DIM_NONE where that cannot be seen.
 */
int64_t ipex_dim_exact_div(struct ipex_dims *dims, int64_t a, int64_t b);
int64_t ipex_dim_min(struct ipex_dims *dims, int64_t a, int64_t b);
int64_t ipex_dim_max(struct ipex_dims *dims, int64_t a, int64_t b);
/* Seen to fall nowhere where a symbol grows. */
bool ipex_dim_rises(const struct ipex_dims *dims, int64_t dim);
/* A dim that rises and is never less. */
int64_t ipex_dim_rising(struct ipex_dims *dims, int64_t dim);
/* a <= b for all values of the symbols; false where that cannot be seen. */
bool ipex_dim_at_most(struct ipex_dims *dims, int64_t a, int64_t b);

/* True where a dim is the same number for all symbols; intermediate results may be negative
 * numbers, which have codes below 0 too. */
bool ipex_dim_number(const struct ipex_dims *dims, int64_t dim, int64_t *ret);
/* The dim of a number of either sign. */
int64_t ipex_dim_of(struct ipex_dims *dims, int64_t number);

/* Where in its range every symbol is. */
enum ipex_dim_place {
    IPEX_DIM_LOWEST,
    IPEX_DIM_MIDDLE, /* the geometric mean of both ends: what stands for all sizes */
    IPEX_DIM_HIGHEST,
};
/* The number that a dim is there. Saturates at +-2^62. */
int64_t ipex_dim_at(const struct ipex_dims *dims, int64_t dim, enum ipex_dim_place place);
/* The number that a dim is where symbol i is symbols[i], a multiple of its step. */
int64_t ipex_dim_value(const struct ipex_dims *dims, int64_t dim, const int64_t *symbols);
/* The index of the symbol that a dim is, -1 for numbers and other expressions. */
int32_t ipex_dim_is_symbol(const struct ipex_dims *dims, int64_t dim);
/* Bounds over all values of the symbols, by interval arithmetic (never too narrow) that knows what
 * a division leaves: h - 8*(h/8) is 0 .. 7. */
void ipex_dim_range(const struct ipex_dims *dims, int64_t dim, int64_t *ret_lo, int64_t *ret_hi);

/* "batch", "h/4 + 1", "37". In the arena. */
const char *ipex_dim_text(const struct ipex_dims *dims, int64_t dim);

#endif
