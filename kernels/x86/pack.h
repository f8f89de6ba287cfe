/* SPDX-License-Identifier: Apache-2.0 */
/* A right operand that is known only at run time, packed into panels of 16 columns as a weight's
 * tiles have them. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_PACK_H
#define IPEX_KERNELS_X86_PACK_H

#include "kernels/product_jobs.h"
#include "kernels/x86/transpose_8x8.h"
#include "kernels/x86/x86.h"

/* Panels that are written side by side while b is read along its rows. */
enum { PACK_PANELS = 4 };

/* b [k][n] */
static __attribute__((noinline)) void pack_rows(const float *b, int64_t b_row, int64_t k, int64_t n,
                                                float *packed) {
    const int64_t panel_floats = ipex_round_up_16(k) * IPEX_PANEL;
    for (int64_t first = 0; first < n; first += PACK_PANELS * IPEX_PANEL) {
        const int64_t end = ipex_smaller(first + PACK_PANELS * IPEX_PANEL, n);
        for (int64_t i = 0; i < k; i++)
            for (int64_t c = first; c < end; c += LANES) {
                float *to = packed + c / IPEX_PANEL * panel_floats + i * IPEX_PANEL;
                vec_store(to + c % IPEX_PANEL, vec_load_part(b + i * b_row + c, n - c));
            }
    }
}

/* Elements [begin, end) of K of one panel, of which `columns` columns exist. */
static inline void pack_elements(const float *b, int64_t b_row, int64_t begin, int64_t end,
                                 int64_t columns, float *panel) {
    for (int64_t i = begin; i < end; i++)
#pragma GCC unroll 1
        for (int64_t c = 0; c < IPEX_PANEL; c++) {
            AS_WRITTEN;
            panel[i * IPEX_PANEL + c] = c < columns ? b[c * b_row + i] : 0.0f;
        }
}

/* b [n][k] */
static __attribute__((noinline)) void pack_columns(const float *b, int64_t b_row, int64_t k,
                                                   int64_t n, float *packed) {
    const int64_t panel_floats = ipex_round_up_16(k) * IPEX_PANEL;
    for (int64_t c = 0; c < n; c += IPEX_PANEL, packed += panel_floats) {
        const float *columns = b + c * b_row;
        const int64_t whole = n - c >= IPEX_PANEL ? k / 8 * 8 : 0;
        for (int64_t i = 0; i < whole; i += 8)
            for (int64_t first = 0; first < IPEX_PANEL; first += 8) {
                AS_WRITTEN;
                transpose_8x8(columns + first * b_row + i, b_row, packed + i * IPEX_PANEL + first,
                              IPEX_PANEL);
            }
        pack_elements(columns, b_row, whole, k, n - c, packed);
    }
}

#endif
