/* SPDX-License-Identifier: Apache-2.0 */
/* What products on bf16 share: tiles of two k per row, and chains in the order of vdpbf16ps. */
#ifndef IPEX_KERNELS_REF_BF16_H
#define IPEX_KERNELS_REF_BF16_H

#include "kernels/ref/math_ref.h"

/* What the slots with weights in bf16 differ in. */
struct ref_bf16_product {
    bool pairs; /* x is bf16, odd elements first */
    int64_t x_size;
};

static inline float ref_bf16_widen(const void *p) {
    uint16_t bits;
    memcpy(&bits, p, sizeof bits);
    return ref_float((uint32_t)bits << 16);
}

/* Element k of a panel's column c. */
static inline float ref_bf16_weight(const char *w, int64_t k, int64_t c) {
    return ref_bf16_widen(w + ((k / 2 * IPEX_PANEL + c) * 2 + k % 2) * 2);
}

/* All of K of one segment, for one pixel and one panel. */
static inline void ref_bf16_chains(const struct ref_bf16_product *product, const char *x,
                                   const char *w, int64_t k_count, float chain[IPEX_PANEL]) {
    for (int64_t k = 0; k < k_count; k += 2) {
        const bool whole = k + 1 < k_count;
        float even, odd = 0;
        if (product->pairs) {
            even = ref_bf16_widen(x + k * 2);
            odd = whole ? ref_bf16_widen(x + k * 2 + 2) : 0.0f;
        } else {
            memcpy(&even, x + k * 4, sizeof even);
            if (whole)
                memcpy(&odd, x + k * 4 + 4, sizeof odd);
        }
        for (int64_t c = 0; c < IPEX_PANEL; c++) {
            if (product->pairs)
                chain[c] = fmaf(odd, ref_bf16_weight(w, k + 1, c), chain[c]);
            chain[c] = fmaf(even, ref_bf16_weight(w, k, c), chain[c]);
            if (!product->pairs && whole)
                chain[c] = fmaf(odd, ref_bf16_weight(w, k + 1, c), chain[c]);
        }
    }
}

#endif
