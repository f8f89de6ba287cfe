/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses, per convolution, between the direct algorithm and Winograd's F(4,3) and F(2,3), by the
 * predicted time on one core of a nominal machine. The choice is stored in the file, so results
 * never depend on the machine that runs it; nor do they depend on the batch, since one image is
 * what is counted. An image whose size depends on symbols is looked at in the geometric middle of
 * their ranges. Where not all that would be faster may grow, those with the most time saved per
 * byte come first: F(2,3) saves less than F(4,3), but its weights take 16/9 of the room, not 4
 * times. */
#include "tools/convert/passes.h"

#include <math.h>
#include <stdlib.h>

#include "format/tile.h"

/* The nominal machine: an AVX-512 core. Ratios count, not the figures. */
#define FLOPS_PER_US      90000.0 /* of products in full register blocks */
#define WEIGHT_B_PER_US   10000.0 /* weights of a network come from L3 or memory */
#define TRANSFORMS_PER_US 2000.0  /* elements of a tile's points, in or out */
#define SITE_US           1.0     /* what a step of three parts costs at least */
#define FEW_COLUMNS       4       /* runtime/ops/linear_conv.c */

/* Gains below a tenth are within what other machines may differ by. */
#define LEAST_GAIN 1.1

enum { DIRECT, SMALL, LARGE, ALGORITHMS };
static const int32_t tile_of[] = {[DIRECT] = 0, [SMALL] = 2, [LARGE] = 4};

struct site {
    struct ipex_node *node;
    double us[ALGORITHMS];     /* infinite: not to be taken */
    int64_t added[ALGORITHMS]; /* bytes */
    int taken;
};

/* Another algorithm for a site, that saves time beside a smaller one. */
struct offer {
    size_t site;
    int from, to;
    double saved_per_byte;
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

static void predict_winograd(const struct ipex_dims *dims, const struct ipex_node *node,
                             int64_t before, int algorithm, struct site *site) {
    const int64_t *w = node->input[1]->dims, *y = node->output->dims;
    const int64_t *dilation = node->u.conv.dilation;
    const int32_t tile = tile_of[algorithm], points = ipex_winograd_points(tile);
    const int64_t height = ipex_dim_at(dims, y[2], IPEX_DIM_MIDDLE),
                  width = ipex_dim_at(dims, y[3], IPEX_DIM_MIDDLE);
    const double tiles = (double)ipex_winograd_tiles_along(height, dilation[0], tile) *
                         (double)ipex_winograd_tiles_along(width, dilation[1], tile);
    const double columns = round_up(w[0], IPEX_PANEL);
    const double transforms = points * tiles * (round_up(w[1], IPEX_PANEL) + columns);
    const int64_t after = tile_bytes(1, points, w[0], w[1]);
    site->us[algorithm] = product_us(points * tiles, (double)w[1], columns) +
                          (double)after / WEIGHT_B_PER_US + transforms / TRANSFORMS_PER_US +
                          SITE_US;
    /* A weight that others read too may have to stay. */
    site->added[algorithm] = after - (node->input[1]->uses == 1 ? before : 0);
    if (site->us[DIRECT] < LEAST_GAIN * site->us[algorithm])
        site->us[algorithm] = INFINITY;
}

/* Lines that the direct algorithm multiplies with rows of the kernel: none in the padding. */
static double direct_lines(const struct ipex_conv *c, int64_t height) {
    int64_t ret = 0;
    for (int64_t row = 0; row < c->kernel[0]; row++) {
        const int64_t above = c->pad[0] - row * c->dilation[0];
        const int64_t below = c->pad[2] - (c->kernel[0] - 1 - row) * c->dilation[0];
        const int64_t left_out = (above > 0 ? above : 0) + (below > 0 ? below : 0);
        ret += height > left_out ? height - left_out : 0;
    }
    return (double)ret;
}

static struct site predict(const struct ipex_dims *dims, struct ipex_node *node) {
    const int64_t *w = node->input[1]->dims, *y = node->output->dims;
    const int64_t height = ipex_dim_at(dims, y[2], IPEX_DIM_MIDDLE),
                  width = ipex_dim_at(dims, y[3], IPEX_DIM_MIDDLE);
    const int64_t before = conv_bytes(node);
    struct site ret = {.node = node};
    ret.us[DIRECT] = product_us(direct_lines(&node->u.conv, height) * (double)width,
                                3 * (double)w[1], direct_columns(w[0])) +
                     (double)before / WEIGHT_B_PER_US;
    predict_winograd(dims, node, before, SMALL, &ret);
    predict_winograd(dims, node, before, LARGE, &ret);
    /* No larger file for what may be no gain. */
    if (ret.us[SMALL] < LEAST_GAIN * ret.us[LARGE])
        ret.us[LARGE] = INFINITY;
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
    if (isinf(site.us[SMALL]) && isinf(site.us[LARGE])) {
        verdict(graph, node, IPEX_REASON_winograd_slower, NULL);
        return;
    }
    choice->site =
        ipex_grow(choice->site, &choice->capacity, choice->sites + 1, sizeof *choice->site);
    choice->site[choice->sites++] = site;
}

static double saved_per_byte(const struct site *site, int from, int to) {
    const int64_t added = site->added[to] - site->added[from];
    return (site->us[from] - site->us[to]) / (double)(added > 0 ? added : 1);
}

/* Those by which a site saves more per byte from one to the next: never a small tile on the way to
 * a large one that saves more per byte at once. */
static size_t add_offers(const struct site *site, size_t at, struct offer *offer) {
    const bool small_first =
        site->us[SMALL] < site->us[DIRECT] &&
        !(saved_per_byte(site, DIRECT, LARGE) >= saved_per_byte(site, DIRECT, SMALL));
    size_t count = 0;
    if (small_first)
        offer[count++] = (struct offer){at, DIRECT, SMALL, saved_per_byte(site, DIRECT, SMALL)};
    const int from = small_first ? SMALL : DIRECT;
    if (site->us[LARGE] < site->us[from])
        offer[count++] = (struct offer){at, from, LARGE, saved_per_byte(site, from, LARGE)};
    return count;
}

static int by_saving(const void *a, const void *b) {
    const struct offer *x = a, *y = b;
    const double p = x->saved_per_byte, q = y->saved_per_byte;
    if (p != q)
        return (p < q) - (p > q);
    return x->site != y->site ? (x->site > y->site) - (x->site < y->site) : x->to - y->to;
}

static void take(struct ipex_arena *arena, struct choice *choice, int64_t budget) {
    struct offer *offer = ipex_arena_array(arena, 2 * choice->sites, sizeof *offer);
    size_t offers = 0;
    for (size_t i = 0; i < choice->sites; i++)
        offers += add_offers(&choice->site[i], i, offer + offers);
    if (offers)
        qsort(offer, offers, sizeof *offer, by_saving);
    for (size_t i = 0; i < offers; i++) {
        struct site *site = &choice->site[offer[i].site];
        const int64_t added = site->added[offer[i].to] - site->added[site->taken];
        if (added > budget)
            continue;
        site->taken = offer[i].to;
        budget -= added;
    }
}

static void record(struct ipex_graph *graph, const struct site *site) {
    if (site->taken == DIRECT) {
        verdict(graph, site->node, IPEX_REASON_file_budget, NULL);
        return;
    }
    site->node->u.conv.winograd = tile_of[site->taken];
    verdict(graph, site->node, IPEX_REASON_applied,
            ipex_arena_printf(&graph->arena,
                              "F(%d,3), predicted %.2f times as fast for %.2f MB more weights",
                              (int)tile_of[site->taken], site->us[DIRECT] / site->us[site->taken],
                              (double)site->added[site->taken] * 1e-6));
}

void ipex_choose_algorithms(struct ipex_graph *graph, enum ipex_growth growth) {
    struct choice choice = {0};
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        choice.weight_bytes += weight_bytes(node);
        if (node->kind == IPEX_KIND_conv)
            consider(graph, node, &choice);
    }
    take(&graph->arena, &choice,
         growth == IPEX_GROWTH_any    ? INT64_MAX
         : growth == IPEX_GROWTH_none ? -1
                                      : choice.weight_bytes / 2);
    for (size_t i = 0; i < choice.sites; i++)
        record(graph, &choice.site[i]);
    free(choice.site);
}
