/* SPDX-License-Identifier: Apache-2.0 */
/* Activations over what a kernel has just written, while it is in L1, and exponentials of a row:
 * the one place of a level where their code is. A loop of its own for each, so that the chains of
 * several vectors overlap. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_ACTIVATE_BODY_H
#define IPEX_KERNELS_X86_ACTIVATE_BODY_H

#include "kernels/x86/lanes.h"

/* Where row r begins; no branch: gcc would make two loops. */
static inline float *act_row(const struct ipex_act_rows *rows, int64_t r) {
    const int64_t first = (rows->rows + 1) / 2, gap = rows->half - first * rows->row;
    return rows->y + r * rows->row + (gap & -(int64_t)(r >= first));
}

/* Vectors whose chains go side by side where there are 32 registers. One behind the other they are
 * more than the CPU holds at once, and the divider waits for them: a vector of SiLU took 17.7
 * cycles in rows of two vectors, side by side 14.8 (Cascade Lake, with two products more). */
enum { SIDE_BY_SIDE = 4 };

/* `act`, and whether all vectors are known to be `whole`, are known where this is expanded. What is
 * missing of the last four is the last vector again, loaded before it is stored. */
static inline __attribute__((always_inline)) void
activate_side_by_side(const struct ipex_act_rows *rows, int32_t act, bool whole) {
    const int64_t n = rows->columns, vectors = rows->rows * ipex_div_up(n, LANES);
    float *y = rows->y, *at[SIDE_BY_SIDE];
    vec x[SIDE_BY_SIDE];
    vec_mask mask[SIDE_BY_SIDE];
    for (int64_t begin = 0, r = 0, i = 0; begin < vectors; begin += SIDE_BY_SIDE) {
#pragma GCC unroll 4
        for (int64_t v = 0; v < SIDE_BY_SIDE; v++) {
            at[v] = y + i;
            mask[v] = vec_first(n - i);
            x[v] = whole ? vec_load(at[v]) : vec_load_masked(at[v], mask[v]);
            if (begin + v + 1 >= vectors)
                continue;
            i += LANES;
            if (i >= n) {
                i = 0;
                y = act_row(rows, ++r);
            }
        }
#pragma GCC unroll 4
        for (int64_t v = 0; v < SIDE_BY_SIDE; v++)
            x[v] = vec_act(x[v], act, rows->act_a, rows->act_b);
#pragma GCC unroll 4
        for (int64_t v = 0; v < SIDE_BY_SIDE; v++)
            if (whole)
                vec_store(at[v], x[v]);
            else
                vec_store_masked(at[v], mask[v], x[v]);
    }
}

/* A loop of its own for whole vectors only where there are registers for all that gcc then keeps in
 * them. */
static inline __attribute__((always_inline)) void
activate_one_by_one(const struct ipex_act_rows *rows, int32_t act) {
    enum { LOOP_OF_WHOLE = LANES == 16 };
    for (int64_t r = 0, n = rows->columns; r < rows->rows; r++) {
        float *y = act_row(rows, r);
        int64_t i = 0;
        for (; LOOP_OF_WHOLE && i + LANES <= n; i += LANES)
            vec_store(y + i, vec_act(vec_load(y + i), act, rows->act_a, rows->act_b));
        for (; i < n; i += LANES)
            vec_store_part(y + i, n - i,
                           vec_act(vec_load_part(y + i, n - i), act, rows->act_a, rows->act_b));
    }
}

/* Side by side what networks have most of that divides: 4 KB; another 4 for all that does. SiLU,
 * which they have most of, without masks where there are none (YOLOX-nano 0.96 of the time). */
static inline __attribute__((always_inline)) void activate_as(const struct ipex_act_rows *rows,
                                                              int32_t act) {
    const bool divides =
        act == IPEX_ACT_sigmoid || act == IPEX_ACT_silu || act == IPEX_ACT_gelu_tanh;
    if (LANES < 16 || !divides)
        activate_one_by_one(rows, act);
    else if (act == IPEX_ACT_silu && rows->columns % LANES == 0)
        activate_side_by_side(rows, act, true);
    else
        activate_side_by_side(rows, act, false);
}

void IPEX_LEVEL(activate)(const struct ipex_act_rows *args) {
    struct ipex_act_rows rows = *args;
    if (rows.rows > 0 && rows.row == rows.columns && rows.half == (rows.rows + 1) / 2 * rows.row) {
        rows.columns *= rows.rows; /* without gaps: one row, in full vectors */
        rows.rows = 1;
    }
    switch (rows.act) {
#define ACTIVATE(id, name)                                                                         \
    case id:                                                                                       \
        activate_as(&rows, id);                                                                    \
        break;
        IPEX_ACT_LIST(ACTIVATE)
#undef ACTIVATE
    default:
        break;
    }
}

/* The weights e^(x - most) of as many vectors, which the sum takes in one after the other. */
static inline vec exps_side_by_side(const float *x, float *y, vec most, vec sum) {
    vec e[SIDE_BY_SIDE];
#pragma GCC unroll 4
    for (int64_t v = 0; v < SIDE_BY_SIDE; v++)
        e[v] = vec_weight(vec_sub(vec_load(x + v * LANES), most));
#pragma GCC unroll 4
    for (int64_t v = 0; v < SIDE_BY_SIDE; v++) {
        vec_store(y + v * LANES, e[v]);
        sum = vec_add(sum, e[v]);
    }
    return sum;
}

/* Where 16 lanes are two vectors, these change places after every one. */
float IPEX_LEVEL(exps)(const float *x, float *y, int64_t n, float most) {
    struct rows_lanes sum = rows_begin(IPEX_REDUCE_sum);
    const vec m = vec_set(most);
    int64_t i = 0;
    for (; SUM_VECS == 1 && i + SIDE_BY_SIDE * LANES <= n; i += SIDE_BY_SIDE * LANES)
        sum.low = exps_side_by_side(x + i, y + i, m, sum.low);
    for (; i < n; i += LANES) {
        const vec e = vec_weight(vec_sub(vec_load_part(x + i, n - i), m));
        vec_store_part(y + i, n - i, e);
        const vec taken = rows_combine_part(IPEX_REDUCE_sum, sum.low, e, n - i);
        sum.low = SUM_VECS == 2 ? sum.high : taken;
        sum.high = taken;
    }
    const bool odd = (n + LANES - 1) / LANES % 2 != 0;
    return rows_tree(IPEX_REDUCE_sum,
                     SUM_VECS == 2 && odd ? (struct rows_lanes){sum.high, sum.low} : sum);
}

#endif
