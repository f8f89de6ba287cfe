/* SPDX-License-Identifier: Apache-2.0 */
/* What products on bf16 share: tiles of two k per row, and chains in the orders of vdpbf16ps and
 * tdpbf16ps. */
#ifndef IPEX_KERNELS_REF_BF16_H
#define IPEX_KERNELS_REF_BF16_H

#include "kernels/bf16.h"
#include "kernels/ref/math_ref.h"

/* What the slots with weights in bf16 differ in. */
enum ref_bf16_order {
    REF_BF16_WIDENED, /* x is f32, one element of K after another */
    REF_BF16_PAIRS,   /* bf16-dp: of every pair the odd element first */
    REF_BF16_TILES,   /* bf16-amx: of every 32 elements a chain of even and one of odd ones */
};
struct ref_bf16_product {
    enum ref_bf16_order order;
    int64_t x_size;
};

enum { REF_BF16_TILE_K = 32, REF_BF16_ROW = IPEX_TILE_BYTES / IPEX_TILE_ROWS };

static inline float ref_bf16_widen(const void *p) {
    uint16_t bits;
    memcpy(&bits, p, sizeof bits);
    return ref_float((uint32_t)bits << 16);
}

static inline uint16_t ref_bf16_round(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return ipex_bf16_of(bits);
}

/* Element k of a panel's column c. */
static inline float ref_bf16_weight(const char *w, int64_t k, int64_t c) {
    return ref_bf16_widen(w + ((k / 2 * IPEX_PANEL + c) * 2 + k % 2) * 2);
}

/* Element k, or the +0 behind the last one. */
static inline float ref_bf16_or_zero(const char *x, int64_t k, int64_t k_count, int64_t stride) {
    return k < k_count ? ref_bf16_widen(x + k * stride * 2) : 0.0f;
}

/* One pixel and one column of a pair. */
static inline float ref_bf16_pair(float x_even, float x_odd, float w_even, float w_odd,
                                  float chain) {
    return fmaf(x_even, w_even, fmaf(x_odd, w_odd, chain));
}

/* Element k of x times element k of every column; w: the pair's row of a tile. A row is read in
 * whole words: compilers keep the chains in registers then. */
static inline void ref_bf16_add(float x, const char *w, bool odd, float chain[IPEX_PANEL]) {
    for (int64_t c = 0; c < IPEX_PANEL; c++) {
        uint32_t pair;
        memcpy(&pair, w + c * 4, sizeof pair);
        chain[c] = fmaf(x, ref_float(odd ? pair & 0xffff0000u : pair << 16), chain[c]);
    }
}

static inline float ref_bf16_f32(const char *x, int64_t k) {
    float value;
    memcpy(&value, x + k * 4, sizeof value);
    return value;
}

/* One element of K after another. */
static inline void ref_bf16_widened_chains(const char *x, const char *w, int64_t k_count,
                                           float chain[IPEX_PANEL]) {
    for (int64_t k = 0; k < k_count; k += 2, w += REF_BF16_ROW) {
        ref_bf16_add(ref_bf16_f32(x, k), w, false, chain);
        if (k + 1 < k_count)
            ref_bf16_add(ref_bf16_f32(x, k + 1), w, true, chain);
    }
}

static inline void ref_bf16_pair_chains(const char *x, const char *w, int64_t k_count,
                                        float chain[IPEX_PANEL]) {
    for (int64_t k = 0; k < k_count; k += 2, w += REF_BF16_ROW) {
        ref_bf16_add(ref_bf16_or_zero(x, k + 1, k_count, 1), w, true, chain);
        ref_bf16_add(ref_bf16_or_zero(x, k, k_count, 1), w, false, chain);
    }
}

/* A tile's rows behind K are zeros, and so is what they are multiplied with. Out of line: the test
 * for vectors on the stack would find the chains, which are written once per tile. */
static __attribute__((noinline, unused)) void
ref_bf16_tile_chains(const char *x, const char *w, int64_t k_count, float chain[IPEX_PANEL]) {
    for (int64_t tile = 0; tile < k_count; tile += REF_BF16_TILE_K) {
        float even[IPEX_PANEL] = {0}, odd[IPEX_PANEL] = {0};
        for (int64_t k = tile; k < tile + REF_BF16_TILE_K; k += 2, w += REF_BF16_ROW) {
            ref_bf16_add(ref_bf16_or_zero(x, k, k_count, 1), w, false, even);
            ref_bf16_add(ref_bf16_or_zero(x, k + 1, k_count, 1), w, true, odd);
        }
        for (int64_t c = 0; c < IPEX_PANEL; c++)
            chain[c] = chain[c] + (even[c] + odd[c]);
    }
}

/* All of K of one segment, for one pixel and one panel. */
static inline void ref_bf16_chains(const struct ref_bf16_product *product, const char *x,
                                   const char *w, int64_t k_count, float chain[IPEX_PANEL]) {
    if (product->order == REF_BF16_TILES)
        ref_bf16_tile_chains(x, w, k_count, chain);
    else if (product->order == REF_BF16_PAIRS)
        ref_bf16_pair_chains(x, w, k_count, chain);
    else
        ref_bf16_widened_chains(x, w, k_count, chain);
}

#endif
