/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of level amx, instruction by instruction: against tests/amx_model.c, and against
 * every other level that computes in their order, for every residue of M, N and K; and how many
 * products, loads and stores of tiles they make, which must be the least that their blocks need.
 * tests/checkkern compares them with the reference on random shapes, tests/runtime on networks. */
#include <stdio.h>
#include <string.h>

#include "tests/amx_emu/amx_counted.h"
#include "tests/amx_emu/amx_emu.h"
#include "tests/amx_emu/amx_gemm.h"
#include "tests/checkkern/checkkern.h"
#include "tests/checkkern/conv_shape.h"

/* ---- gemm ---- */

static bool same_as(const char *what, const char *whose, const struct buffer *got,
                    const struct buffer *want) {
    const int64_t at = first_difference(want, got);
    return at < 0 || report(false, what, "element %lld: %a, %s has %a", (long long)at,
                            (double)((const float *)got->data)[at], whose,
                            (double)((const float *)want->data)[at]);
}

static int check_gemm(const struct level *levels, size_t n_levels, struct rng *rng, int32_t m,
                      int32_t n, int32_t k) {
    const int32_t gap = (int32_t)rng_range(rng, 0, 3);
    const bool special = rng_one_in(rng, 4);
    struct amx_gemm g = amx_gemm_make(rng, m, n, k, gap, special);
    g.args.panels_outside = rng_one_in(rng, 2);
    struct amx_work want = {0};
    char what[100];
    snprintf(what, sizeof what, "gemm %d x %d x %d, rows %d apart%s", m, k, n, k + gap,
             special ? ", special" : "");
    amx_work_add_gemm(&want, m, n, k);
    running("conv_bf16t", "amx");
    amx_emu_reset_counts();
    struct buffer got = amx_gemm_run(&levels[0].kernels, &g), model = amx_gemm_model(&g);
    bool passed = amx_work_is(what, AMX_OP_tdpbf16ps, &want);
    passed = same_as(what, "the model", &got, &model) && passed;
    for (size_t i = 1; i < n_levels; i++) {
        running("conv_bf16t", levels[i].name);
        struct buffer other = amx_gemm_run(&levels[i].kernels, &g);
        passed = same_as(what, levels[i].name, &got, &other) && passed;
        buffer_free(&other);
    }
    buffer_free(&got);
    buffer_free(&model);
    amx_gemm_free(&g);
    return !passed;
}

/* Every pair of residues of (M, K), (N, K) and (M, N) up to three tiles and a few. */
static void check_residues(const struct level *levels, size_t n_levels) {
    struct rng rng = {11};
    int failed = 0;
    for (int32_t a = 1; a <= 37; a++)
        for (int32_t k = 1; k <= 67; k++)
            failed += check_gemm(levels, n_levels, &rng, k % 2 ? a : 1 + (a * 7 + k) % 37,
                                 k % 2 ? 1 + (a * 5 + k) % 37 : a, k);
    for (int32_t m = 1; m <= 37; m++)
        for (int32_t n = 1; n <= 70; n++)
            failed += check_gemm(levels, n_levels, &rng, m, n, 1 + (m * 3 + n) % 40);
    report(failed == 0, "gemm: bits of the model and of all levels, and counts", "%d failed",
           failed);
}

/* Layers of ResNet-34 and MiniLM: {M, N, K}. */
static const int32_t layers[][3] = {{3136, 64, 576},  {784, 128, 1152}, {196, 256, 2304},
                                    {49, 512, 4608},  {128, 384, 384},  {128, 1536, 384},
                                    {1000, 1000, 100}};

/* What the layers make, for docs/amx-cost-model.md. */
static void check_layers(const struct level *level) {
    int failed = 0;
    struct rng rng = {3};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const int32_t m = layers[i][0], n = layers[i][1], k = layers[i][2];
        struct amx_gemm g = amx_gemm_make(&rng, m, n, k, 0, false);
        struct amx_work want = {0};
        char what[60];
        amx_work_add_gemm(&want, m, n, k);
        snprintf(what, sizeof what, "layer %d x %d x %d", m, k, n);
        running("conv_bf16t", "amx");
        amx_emu_reset_counts();
        struct buffer y = amx_gemm_run(&level->kernels, &g);
        failed += !amx_work_is(what, AMX_OP_tdpbf16ps, &want);
        printf("# %-20s %8llu products %8llu loads %6llu stores\n", what,
               (unsigned long long)want.products, (unsigned long long)want.loads,
               (unsigned long long)want.stores);
        buffer_free(&y);
        amx_gemm_free(&g);
    }
    report(failed == 0, "layers: counts", "%d failed", failed);
}

/* ---- convolution ---- */

struct conv_case {
    int32_t lines, pixels, kernel, channels, n, dilation, groups;
    int64_t products; /* from the shapes by hand */
};

/* lines x ceil(pixels / 16) x groups x panels x the sum over segments of ceil(K / 32). */
static const struct conv_case conv_cases[] = {
    {5, 14, 3, 16, 40, 1, 1, 5 * 1 * 3 * 3 * 2},     /* K = 48: rows of the kernel */
    {3, 33, 3, 3, 16, 1, 1, 3 * 3 * 1 * 3 * 1},      /* K = 9 */
    {4, 17, 5, 8, 20, 1, 1, 4 * 2 * 2 * 5 * 2},      /* K = 40 */
    {3, 20, 3, 40, 33, 2, 1, 3 * 2 * 3 * 9 * 2},     /* K = 40: taps */
    {3, 20, 3, 70, 17, 1, 2, 3 * 2 * 2 * 2 * 9 * 3}, /* K = 70: taps, two groups */
    {7, 7, 1, 64, 64, 1, 1, 4 * 4 * 2},              /* lines that follow: 49 rows */
    {3, 40, 3, 3, 70, 1, 1, 3 * 3 * 5 * 3 * 1},      /* K = 9 to five panels: tiles one by one */
};

static struct ipex_conv_args conv_args(const struct conv_case *c) {
    const struct conv_shape shape = {
        .lines = c->lines,
        .pixels = c->pixels,
        .kernel_h = c->kernel,
        .kernel_w = c->kernel,
        .dilation_h = c->dilation,
        .dilation_w = c->dilation,
        .groups = c->groups,
        .k = c->channels,
        .n = c->n,
    };
    return conv_shape_args(&shape);
}

/* Tiles of x are of one line each, or, where lines follow each other, of all of them. */
static struct amx_work conv_work(const struct conv_case *c, const struct ipex_conv_args *args) {
    const bool follow = args->x_line == c->pixels * args->x_pixel;
    const int64_t tiles = follow ? ipex_div_up(c->lines * c->pixels, AMX_TILE)
                                 : c->lines * ipex_div_up(c->pixels, AMX_TILE);
    const int64_t segments = (int64_t)args->segments_h * args->segments_w;
    struct amx_work ret = {.configurations = 1, .releases = 1};
    for (int32_t g = 0; g < c->groups; g++)
        amx_work_add_run(&ret, tiles, ipex_div_up(c->n, AMX_TILE),
                         segments * ipex_div_up(args->k, AMX_TILE_K), args->k < AMX_TILE_K);
    return ret;
}

static int check_conv_counts(const struct level *levels, const struct conv_case *c) {
    struct ipex_conv_args args = conv_args(c);
    struct rng rng = {5};
    const int64_t outputs = (int64_t)c->groups * c->n;
    const int64_t segments = (int64_t)c->groups * args.segments_h * args.segments_w;
    struct buffer x = buffer_make((size_t)args.x_image * 2);
    struct buffer w = buffer_make(
        (size_t)(segments * ipex_div_up(c->n, AMX_TILE) * ipex_div_up(args.k, AMX_TILE_K) * 1024));
    struct buffer bias = buffer_make((size_t)(outputs + AMX_TILE) * 4);
    struct buffer y[2] = {buffer_make((size_t)(c->lines * args.y_line) * 4),
                          buffer_make((size_t)(c->lines * args.y_line) * 4)};
    for (size_t i = 0; i < x.bytes / 2; i++)
        ((uint16_t *)x.data)[i] = amx_random_bf16(&rng, false);
    memset(w.data, 0, w.bytes);
    for (size_t i = 0; i < w.bytes / 2; i += 7)
        ((uint16_t *)w.data)[i] = amx_random_bf16(&rng, false);
    memset(bias.data, 0, bias.bytes);
    args.x = x.data;
    args.w = w.data;
    args.bias = bias.data;
    char what[100];
    snprintf(what, sizeof what,
             "conv %d x %d, kernel %d, %d -> %d channels, dilation %d, groups %d", c->lines,
             c->pixels, c->kernel, c->channels, c->n, c->dilation, c->groups);
    amx_emu_reset_counts();
    for (int i = 0; i < 2; i++) {
        args.y = y[i].data;
        fill_canary(&y[i]);
        running("conv_bf16t", levels[i].name);
        levels[i].kernels.conv_bf16t(&args, 0, ipex_conv_jobs(&args), NULL);
    }
    const struct amx_work want = conv_work(c, &args);
    bool passed = same_as(what, levels[1].name, &y[0], &y[1]);
    if (want.products != (uint64_t)c->products)
        passed = report(false, what, "%llu products by the blocks, %lld by hand",
                        (unsigned long long)want.products, (long long)c->products);
    passed = amx_work_is(what, AMX_OP_tdpbf16ps, &want) && passed;
    buffer_free(&x);
    buffer_free(&w);
    buffer_free(&bias);
    buffer_free(&y[0]);
    buffer_free(&y[1]);
    return !passed;
}

static void check_convolutions(const struct level *levels) {
    int failed = 0;
    for (size_t i = 0; i < sizeof conv_cases / sizeof *conv_cases; i++)
        failed += check_conv_counts(levels, &conv_cases[i]);
    report(failed == 0, "convolutions: bits, products, loads and stores", "%d failed", failed);
}

int main(void) {
    static const enum ipex_isa isas[] = {IPEX_ISA_amx, IPEX_ISA_reference, IPEX_ISA_avx2,
                                         IPEX_ISA_avx512};
    struct level levels[sizeof isas / sizeof *isas];
    size_t n = 0;
    if (!amx_kernels_begin("kernels of level amx"))
        return 0;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        levels[n] = (struct level){.name = ipex_isa_name(isas[i]), .isa = isas[i]};
        ipex_kernels_init(&levels[n++].kernels, NULL, isas[i]);
    }
    check_residues(levels, n);
    check_layers(&levels[0]);
    check_convolutions(levels);
    return report_failures() != 0;
}
