/* SPDX-License-Identifier: Apache-2.0 */
/* As kernels/x86/pack.h, of bf16: a row of a panel holds a pair of elements of K for 16 columns.
 * Behind K's last element there is +0 to the end of its tile. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_PACK_BF16_H
#define IPEX_KERNELS_X86_PACK_BF16_H

#include "kernels/bf16.h"
#include "kernels/product_jobs.h"
#include "kernels/x86/transpose_8x8.h"
#include "kernels/x86/x86.h"

/* Words of 4 bytes of a panel. */
static inline int64_t pack_panel_words(int64_t k) {
    return ipex_round_up_16(ipex_div_up(k, 2)) * IPEX_PANEL;
}

/* A row of a panel from `columns` elements of two rows of b; odd: NULL, or the second. */
static __attribute__((noinline)) void pack_pairs(const uint16_t *even, const uint16_t *odd,
                                                 int64_t columns, float *to) {
    uint32_t pairs[IPEX_PANEL] = {0};
    if (odd && columns >= IPEX_PANEL)
        for (int64_t c = 0; c < IPEX_PANEL; c++)
            pairs[c] = even[c] | (uint32_t)odd[c] << 16;
    else
        for (int64_t c = 0; c < columns && c < IPEX_PANEL; c++)
            pairs[c] = even[c] | (uint32_t)(odd ? odd[c] : 0) << 16;
    memcpy(to, pairs, sizeof pairs);
}

/* b [k][n] */
static __attribute__((noinline)) void pack_rows(const uint16_t *b, int64_t b_row, int64_t k,
                                                int64_t n, float *packed) {
    const int64_t panel = pack_panel_words(k);
    for (int64_t i = 0; i < k; i += 2, packed += IPEX_PANEL) {
        const uint16_t *even = b + i * b_row, *odd = i + 1 < k ? even + b_row : NULL;
        for (int64_t c = 0; c < n; c += IPEX_PANEL)
            pack_pairs(even + c, odd ? odd + c : NULL, n - c, packed + c / IPEX_PANEL * panel);
    }
    for (int64_t i = ipex_div_up(k, 2) * IPEX_PANEL; i < panel;
         i += IPEX_PANEL, packed += IPEX_PANEL)
        for (int64_t c = 0; c < n; c += IPEX_PANEL)
            memset(packed + c / IPEX_PANEL * panel, 0, IPEX_PANEL * sizeof *packed);
}

/* Elements from `begin`, which is even, to the panel's end, of which `columns` columns exist. */
static inline void pack_elements(const uint16_t *b, int64_t b_row, int64_t begin, int64_t k,
                                 int64_t columns, float *panel) {
    for (int64_t i = begin; i < pack_panel_words(k) / IPEX_PANEL * 2; i += 2)
        for (int64_t c = 0; c < IPEX_PANEL; c++) {
            const uint16_t *at = b + c * b_row + i;
            const bool there = c < columns && i < k;
            const uint32_t pair = !there ? 0 : i + 1 < k ? ipex_bf16_pair(at) : *at;
            memcpy(panel + i / 2 * IPEX_PANEL + c, &pair, sizeof pair);
        }
}

/* b [n][k]: pairs are words, which are turned as those of f32 are where their rows allow it. */
static __attribute__((noinline)) void pack_columns(const uint16_t *b, int64_t b_row, int64_t k,
                                                   int64_t n, float *packed) {
    const int64_t words = b_row / 2;
    for (int64_t c = 0; c < n; c += IPEX_PANEL, packed += pack_panel_words(k)) {
        const uint16_t *columns = b + c * b_row;
        const int64_t whole = n - c >= IPEX_PANEL && b_row % 2 == 0 ? k / 16 * 16 : 0;
        for (int64_t i = 0; i < whole; i += 16) {
            const float *from = (const float *)(const void *)(columns + i);
            transpose_8x8(from, words, packed + i / 2 * IPEX_PANEL, IPEX_PANEL);
            transpose_8x8(from + 8 * words, words, packed + i / 2 * IPEX_PANEL + 8, IPEX_PANEL);
        }
        pack_elements(columns, b_row, whole, k, n - c, packed);
    }
}

#endif
