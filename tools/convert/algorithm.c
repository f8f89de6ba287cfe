/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses, per convolution, between the direct algorithm and Winograd's F(4,3), by the predicted
 * time on one core of a nominal machine. The choice is stored in the file, so results never depend
 * on the machine that runs it; nor do they depend on the batch, since one image is what is counted.
 * An image whose size depends on symbols is looked at in the geometric middle of their ranges.
 * Where not all that would be faster may grow, those with the most time saved per byte come first.
 */
#include "tools/convert/passes.h"

#include <stdlib.h>

#include "format/tile.h"

/* The nominal machine: an AVX-512 core. Ratios count, not the figures. */
#define FLOPS_PER_US      90000.0 /* of products in full register blocks */
#define WEIGHT_B_PER_US   14000.0 /* weights of a network come from L3 or memory */
#define TRANSFORMS_PER_US 4000.0  /* elements of a tile's 6 x 6, in or out */
#define SITE_US           1.0     /* what a step of three parts costs at least */
#define FEW_COLUMNS       4       /* runtime/ops/linear_conv.c */

/* Gains below a tenth are within what other machines may differ by. */
#define LEAST_GAIN 1.1

struct site {
    struct ipex_node *node;
    size_t order;
    double direct_us, winograd_us;
    int64_t added; /* bytes */
    bool taken;
};

struct choice {
    struct site *site;
    size_t sites, capacity;
    int64_t weight_bytes; /* of all convolutions and linear layers, before */
};

static int64_t tile_bytes(int64_t groups, int64_t segments, int64_t n, int64_t k) {
    struct ipex_tiles tiles;
    return ipex_tiles_make(IPEX_DTYPE_f32, groups, segments, n, k, &tiles) ? tiles.bytes : 0;
}

static int64_t conv_bytes(const struct ipex_node *node) {
    const int64_t *w = node->input[1]->dims;
    const struct ipex_conv *c = &node->u.conv;
    if (c->transposed)
        return tile_bytes(c->groups, c->kernel[0] * c->kernel[1], w[1], w[0] / c->groups);
    return tile_bytes(c->groups, c->kernel[0], w[0] / c->groups, c->kernel[1] * w[1]);
}

/* A weight with several readers counts once. */
static int64_t weight_bytes(const struct ipex_node *node) {
    const struct ipex_value *w = node->input[1];
    if (node->kind == IPEX_KIND_conv)
        return conv_bytes(node) / w->uses;
    if (node->kind == IPEX_KIND_linear)
        return tile_bytes(1, 1, node->fold.n, w->dims[node->weight_kn ? 0 : 1]) / w->uses;
    return 0;
}

static bool fits_winograd(const struct ipex_conv *c) {
    return c->kernel[0] == 3 && c->kernel[1] == 3 && c->stride[0] == 1 && c->stride[1] == 1 &&
           c->groups == 1;
}

static double round_up(int64_t value, int64_t step) {
    return (double)((value + step - 1) / step * step);
}

/* `columns` counts the empty ones that are computed too. */
static double product_us(double rows, double k, double columns) {
    return 2 * rows * k * columns / FLOPS_PER_US;
}

/* The direct algorithm's last panel may be a half; few columns leave their lanes to pixels, whose
 * loads then take as long as the products. */
static double direct_columns(int64_t n) {
    return n <= FEW_COLUMNS ? 2 * (double)n : round_up(n, IPEX_PANEL / 2);
}

static struct site predict(const struct ipex_dims *dims, struct ipex_node *node) {
    const int64_t *w = node->input[1]->dims, *y = node->output->dims;
    const int64_t height = ipex_dim_at(dims, y[2], IPEX_DIM_MIDDLE),
                  width = ipex_dim_at(dims, y[3], IPEX_DIM_MIDDLE);
    const double pixels = (double)height * (double)width, channels = (double)w[1];
    const double columns = round_up(w[0], IPEX_PANEL);
    const int64_t *dilation = node->u.conv.dilation;
    const double tiles = (double)ipex_winograd_tiles_along(height, dilation[0]) *
                         (double)ipex_winograd_tiles_along(width, dilation[1]);
    const int64_t before = conv_bytes(node),
                  after = tile_bytes(1, IPEX_WINOGRAD_POINTS, w[0], w[1]);
    struct site ret = {.node = node};
    const double transforms = IPEX_WINOGRAD_POINTS * tiles * (round_up(w[1], IPEX_PANEL) + columns);
    ret.direct_us =
        product_us(pixels, 9 * channels, direct_columns(w[0])) + (double)before / WEIGHT_B_PER_US;
    ret.winograd_us = product_us(IPEX_WINOGRAD_POINTS * tiles, channels, columns) +
                      (double)after / WEIGHT_B_PER_US + transforms / TRANSFORMS_PER_US + SITE_US;
    /* A weight that others read too may have to stay. */
    ret.added = after - (node->input[1]->uses == 1 ? before : 0);
    return ret;
}

static void verdict(struct ipex_graph *graph, const struct ipex_node *node, enum ipex_reason reason,
                    const char *text) {
    ipex_ledger_add(graph->ledger, "winograd", node->name, reason, text);
}

/* Looks at one convolution: remembers it where Winograd would be faster. */
static void consider(struct ipex_graph *graph, struct ipex_node *node, struct choice *choice) {
    const struct ipex_conv *c = &node->u.conv;
    if (c->kernel[0] * c->kernel[1] == 1 || c->transposed || ipex_node_is_depthwise(node))
        return; /* no product to save, or none of this kind */
    if (!fits_winograd(c)) {
        verdict(graph, node, IPEX_REASON_not_3x3_stride_1, NULL);
        return;
    }
    if (graph->precision != IPEX_PRECISION_f32) {
        verdict(graph, node, IPEX_REASON_bf16_weights, NULL);
        return;
    }
    const struct site site = predict(&graph->dims, node);
    if (site.direct_us < LEAST_GAIN * site.winograd_us) {
        verdict(graph, node, IPEX_REASON_winograd_slower, NULL);
        return;
    }
    choice->site =
        ipex_grow(choice->site, &choice->capacity, choice->sites + 1, sizeof *choice->site);
    choice->site[choice->sites] = site;
    choice->site[choice->sites].order = choice->sites;
    choice->sites++;
}

static double saved_per_byte(const struct site *site) {
    return (site->direct_us - site->winograd_us) / (double)(site->added > 0 ? site->added : 1);
}

static int by_saving(const void *a, const void *b) {
    const struct site *x = a, *y = b;
    const double p = saved_per_byte(x), q = saved_per_byte(y);
    return p != q ? (p < q) - (p > q) : (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b) {
    const struct site *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

static void take(struct choice *choice, int64_t budget) {
    if (choice->sites)
        qsort(choice->site, choice->sites, sizeof *choice->site, by_saving);
    for (size_t i = 0; i < choice->sites; i++) {
        struct site *site = &choice->site[i];
        site->taken = site->added <= budget;
        if (site->taken)
            budget -= site->added;
    }
    if (choice->sites)
        qsort(choice->site, choice->sites, sizeof *choice->site, by_order);
}

static void record(struct ipex_graph *graph, const struct site *site) {
    if (!site->taken) {
        verdict(graph, site->node, IPEX_REASON_file_budget, NULL);
        return;
    }
    site->node->u.conv.winograd = true;
    verdict(graph, site->node, IPEX_REASON_applied,
            ipex_arena_printf(&graph->arena,
                              "predicted %.2f times as fast for %.2f MB more weights",
                              site->direct_us / site->winograd_us, (double)site->added * 1e-6));
}

void ipex_choose_algorithms(struct ipex_graph *graph, enum ipex_growth growth) {
    struct choice choice = {0};
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        choice.weight_bytes += weight_bytes(node);
        if (node->kind == IPEX_KIND_conv)
            consider(graph, node, &choice);
    }
    take(&choice, growth == IPEX_GROWTH_any    ? INT64_MAX
                  : growth == IPEX_GROWTH_none ? -1
                                               : choice.weight_bytes / 2);
    for (size_t i = 0; i < choice.sites; i++)
        record(graph, &choice.site[i]);
    free(choice.site);
}
