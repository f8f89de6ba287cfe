/* SPDX-License-Identifier: Apache-2.0 */
/* Activations over what a kernel has just written, while it is in L1: the one place of a level
 * where their code is. A loop of its own for each, so that the chains of several vectors overlap.
 * Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_ACTIVATE_BODY_H
#define IPEX_KERNELS_X86_ACTIVATE_BODY_H

#include "kernels/x86/vec_math.h"

/* `act` is known where this is expanded. Whole vectors have a loop without a branch, where there
 * are registers for all that gcc then keeps in them: 16 are too few. */
static inline __attribute__((always_inline)) void activate_as(const struct ipex_act_rows *rows,
                                                              int32_t act) {
    enum { LOOP_OF_WHOLE = LANES == 16 };
    const int64_t n = rows->columns, first = (rows->rows + 1) / 2;
    const int64_t gap = rows->half - first * rows->row; /* no branch: gcc would make two loops */
    for (int64_t r = 0; r < rows->rows; r++) {
        float *y = rows->y + r * rows->row + (gap & -(int64_t)(r >= first));
        int64_t i = 0;
        for (; LOOP_OF_WHOLE && i + LANES <= n; i += LANES)
            vec_store(y + i, vec_act(vec_load(y + i), act, rows->act_a, rows->act_b));
        for (; i < n; i += LANES)
            vec_store_part(y + i, n - i,
                           vec_act(vec_load_part(y + i, n - i), act, rows->act_a, rows->act_b));
    }
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

#endif
