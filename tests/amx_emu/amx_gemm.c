/* SPDX-License-Identifier: Apache-2.0 */
/* See amx_gemm.h. */
#include "tests/amx_emu/amx_gemm.h"

#include <stdio.h>
#include <string.h>

#include "tests/amx_model.h"
#include "tests/checkkern/conv_shape.h"

bool amx_kernels_begin(const char *what) {
    struct ipex_cpu cpu;
    int error;
    const bool amx = ipex_cpu_amx(IPEX_AMX_ASK_PERMISSION, &error) == IPEX_AMX_permitted;
    ipex_cpu_detect(&cpu);
    kernels_begin();
    if (amx && ipex_isa_usable(IPEX_ISA_amx, cpu.features))
        return true;
    printf("ok - %s # SKIP %s\n", what,
           amx ? "the emulator needs AVX512-BF16" : "no AMX, and no emulator");
    return false;
}

uint16_t amx_random_bf16(struct rng *rng, bool special) {
    const float value = rng_value(rng, special);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Element (k, n) of tiles of `k_all` k. */
static uint16_t *weight(const struct amx_gemm *g, int64_t k, int64_t n) {
    const int64_t tiles = ipex_div_up(g->args.k, AMX_TILE_K);
    return (uint16_t *)g->w.data +
           ((n / AMX_TILE * tiles * AMX_TILE + k / 2) * AMX_TILE + n % AMX_TILE) * 2 + k % 2;
}

struct amx_gemm amx_gemm_make(struct rng *rng, int32_t m, int32_t n, int32_t k, int32_t gap,
                              bool special) {
    const int64_t row = k + gap,
                  bytes = ipex_div_up(n, AMX_TILE) * ipex_div_up(k, AMX_TILE_K) * 1024;
    const struct conv_shape shape = {.pixels = m, .k = k, .n = n, .x_gap = gap};
    struct amx_gemm g = {
        .args = conv_shape_args(&shape),
        .x = buffer_make((size_t)((m - 1) * row + k) * 2),
        .w = buffer_make((size_t)bytes),
        .bias = buffer_make((size_t)(ipex_div_up(n, AMX_TILE) * AMX_TILE) * 4),
        .y = buffer_make((size_t)m * (size_t)n * 4),
    };
    fill_poison(&g.x); /* NaN and, in pairs, what is no NaN, in the gaps */
    for (int64_t i = 0; i < m; i++)
        for (int64_t c = 0; c < k; c++)
            ((uint16_t *)g.x.data)[i * row + c] = amx_random_bf16(rng, special);
    memset(g.w.data, 0, g.w.bytes);
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = 0; i < k; i++)
            *weight(&g, i, c) = amx_random_bf16(rng, false);
    fill_poison(&g.bias);
    for (int64_t c = 0; c < n; c++)
        ((float *)g.bias.data)[c] = rng_value(rng, special);
    g.args.x = g.x.data;
    g.args.w = g.w.data;
    g.args.bias = g.bias.data;
    return g;
}

void amx_gemm_free(struct amx_gemm *g) {
    buffer_free(&g->x);
    buffer_free(&g->w);
    buffer_free(&g->bias);
    buffer_free(&g->y);
}

struct buffer amx_gemm_run(const struct ipex_kernels *kernels, const struct amx_gemm *g) {
    struct ipex_conv_args args = g->args;
    struct buffer y = buffer_copy(&g->y);
    fill_canary(&y);
    args.y = y.data;
    kernels->conv_bf16t(&args, 0, ipex_conv_jobs(&args), NULL);
    return y;
}

struct buffer amx_gemm_model(const struct amx_gemm *g) {
    struct buffer y = buffer_copy(&g->y);
    uint16_t column[256];
    for (int64_t c = 0; c < g->args.n; c++) {
        for (int64_t k = 0; k < g->args.k; k++)
            column[k] = *weight(g, k, c);
        for (int64_t i = 0; i < g->args.pixels; i++)
            ((float *)y.data)[i * g->args.n + c] = amx_model_chain(
                ((const float *)g->bias.data)[c], (const uint16_t *)g->x.data + i * g->args.x_pixel,
                column, g->args.k, AMX_TILE_K);
    }
    return y;
}
