/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels reach their level's activations (kernels/x86/activate_body.h): rows that they have
 * just written, in place. One call for as many rows as there are keeps vectors full and the divider
 * busy. */
#ifndef IPEX_KERNELS_X86_ACTIVATE_H
#define IPEX_KERNELS_X86_ACTIVATE_H

#include <stdbool.h>

#include "kernels/kernels.h"
#include "kernels/x86/rows.h"

/* Rows [0, HALF) lie `row` floats apart from y on, rows [HALF, rows) from y + half on, with HALF
 * half of rows rounded up. */
struct ipex_act_rows {
    float *y;
    int64_t rows, columns, row, half;
    int32_t act;
    float act_a, act_b;
};

/* `row` floats apart throughout. */
static inline struct ipex_act_rows ipex_act_rows(float *y, int64_t rows, int64_t columns,
                                                 int64_t row, int32_t act, float a, float b) {
    return (struct ipex_act_rows){
        .y = y,
        .rows = rows,
        .columns = columns,
        .row = row,
        .half = (rows + 1) / 2 * row,
        .act = act,
        .act_a = a,
        .act_b = b,
    };
}

/* The bounds of clamps. */
static inline float act_low(int32_t act, float a) {
    return act == IPEX_ACT_relu ? 0.0f : act == IPEX_ACT_clip ? a : -__builtin_inff();
}

static inline float act_high(int32_t act, float b) {
    return act == IPEX_ACT_clip ? b : __builtin_inff();
}

void ipex_k_activate__avx2(const struct ipex_act_rows *args);
void ipex_k_activate__avx512(const struct ipex_act_rows *args);

/* y = exp(x - most) for a row of n, y may be x; their sum in the order of kernels/ref/lanes_ref.h.
 */
float ipex_k_exps__avx2(const float *x, float *y, int64_t n, float most);
float ipex_k_exps__avx512(const float *x, float *y, int64_t n, float most);

#endif
