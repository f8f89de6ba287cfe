/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses, per convolution, between the direct algorithm and Winograd's, of 3x3 F(4,3) and F(2,3),
 * of others F(2,5), F(3,4) and F(4,3), by the predicted time on one core of a nominal machine. The
 * choice is stored in the file, so results never depend on the machine that runs it; nor do they
 * depend on the batch, since one image is what is counted. An image whose size depends on symbols
 * is looked at in the geometric middle of their ranges. Where not all that would be faster may
 * grow, those with the most time saved per byte come first: F(2,3) saves less than F(4,3), but its
 * weights take 16/9 of the room, not 4 times. Of direct ones, also whether the kernel is taken
 * column by column. Layers that share a weight (heads for several sizes of a map, steps of a
 * recurrence) share its transformed kernels, and what these take. Tiles are in f32, also beside
 * products on bf16, where these are pinned to be those of vdpbf16ps: AMX would be faster. */
#include "tools/convert/passes.h"

#include <math.h>
#include <stdlib.h>

#include "format/tile.h"

/* The nominal machine: an AVX-512 core. Ratios count, not the figures. */
#define FLOPS_PER_US      90000.0 /* of products in full register blocks */
#define WEIGHT_B_PER_US   10000.0 /* weights of a network come from L3 or memory */
#define TRANSFORMS_PER_US 4000.0  /* elements of a tile's points, in or out */
#define LINES_PER_US      3000.0  /* the same where a tile is one row or column */
#define SITE_US           1.0     /* what a step of three parts costs at least */
#define BF16_GAIN         1.9     /* of products on bf16 by vdpbf16ps */
#define SUMS_B_PER_US     20000.0 /* y, read and written once more */

/* Gains below a tenth are within what other machines may differ by. */
#define LEAST_GAIN 1.1

enum { DIRECT, SMALL, LARGE, ALGORITHMS };

struct layer {
    struct ipex_node *node;
    struct layer *next;    /* with the same weight */
    double us[ALGORITHMS]; /* infinite: not to be taken */
};

/* Layers with one weight. */
struct site {
    struct layer *layer;
    double us[ALGORITHMS];     /* of all; infinite: not to be taken */
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
    bool before_split; /* split_upsampled: nothing goes to the ledger yet */
};

static int64_t tile_bytes(enum ipex_dtype dtype, int64_t groups, int64_t segments, int64_t n,
                          int64_t k) {
    struct ipex_tiles tiles;
    return ipex_tiles_make(dtype, groups, segments, n, k, &tiles) ? tiles.bytes : 0;
}

/* Of kernels that are not transformed. */
static enum ipex_dtype weight_dtype(const struct ipex_graph *graph) {
    return graph->precision == IPEX_PRECISION_f32 ? IPEX_DTYPE_f32 : IPEX_DTYPE_bf16;
}

static int64_t conv_bytes(const struct ipex_graph *graph, const struct ipex_node *node) {
    const int64_t *w = node->input[1]->dims;
    const struct ipex_conv *c = &node->u.conv;
    const enum ipex_dtype dtype = weight_dtype(graph);
    if (c->transposed)
        return tile_bytes(dtype, c->groups, c->kernel[0] * c->kernel[1], w[1], w[0] / c->groups);
    if (c->upsampled)
        return tile_bytes(dtype, 1, IPEX_UPSAMPLED_POINTS, w[0], w[1]);
    return tile_bytes(dtype, c->groups, c->kernel[0], w[0] / c->groups, c->kernel[1] * w[1]);
}

static int64_t winograd_bytes(const struct ipex_value *w, int64_t points) {
    return points == 0 ? 0 : tile_bytes(IPEX_DTYPE_f32, 1, points, w->dims[0], w->dims[1]);
}

/* With a scale and a zero point for each block. */
static int64_t blocks_bytes(const struct ipex_block_layer *layer, int64_t n, int64_t k) {
    const int64_t panels = (n - 1) / IPEX_PANEL + 1, blocks = (k - 1) / layer->block + 1;
    return tile_bytes(IPEX_DTYPE_u8, 1, 1, n, ipex_block_column_bytes(k, layer->bits)) +
           panels * IPEX_PANEL * blocks * 5;
}

/* A weight with several readers counts once. */
static int64_t weight_bytes(const struct ipex_graph *graph, const struct ipex_node *node) {
    const struct ipex_value *w = node->input[1];
    if (node->kind == IPEX_KIND_conv)
        return conv_bytes(graph, node) / w->uses;
    if (node->kind != IPEX_KIND_linear)
        return 0;
    const int64_t n = node->fold.n, k = w->dims[node->weight_kn ? 0 : 1];
    return (node->blocks ? blocks_bytes(node->blocks, n, k)
                         : tile_bytes(weight_dtype(graph), 1, 1, n, k)) /
           w->uses;
}

/* Products of a tile; 0: the kernel has no such tiles. */
static int32_t points_of(const struct ipex_conv *c, int algorithm) {
    const int32_t points[2] = {algorithm == SMALL ? 16 : IPEX_WINOGRAD_POINTS_MAX,
                               algorithm == SMALL ? 0 : IPEX_WINOGRAD_SIDE_MAX};
    for (int i = 0; i < 2 && algorithm != DIRECT; i++)
        if (ipex_winograd_side(c->kernel[0], c->kernel[1], points[i]) > 0)
            return points[i];
    return 0;
}

static bool fits_winograd(const struct ipex_conv *c) {
    return points_of(c, LARGE) > 0 && c->stride[0] == 1 && c->stride[1] == 1 && c->groups == 1;
}

/* Outputs of a tile along an axis. */
static int32_t tile_along(const struct ipex_conv *c, int axis, int32_t points) {
    return ipex_winograd_side(c->kernel[axis], c->kernel[1 - axis], points) -
           (int32_t)c->kernel[axis] + 1;
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
    return n <= IPEX_FEW_COLUMNS ? 2 * (double)n : round_up(n, IPEX_PANEL / 2);
}

static void predict_winograd(const struct ipex_dims *dims, int algorithm, struct layer *layer) {
    const struct ipex_node *node = layer->node;
    const int64_t *w = node->input[1]->dims, *y = node->output->dims;
    const struct ipex_conv *c = &node->u.conv;
    const int32_t points = points_of(c, algorithm);
    if (points == 0) {
        layer->us[algorithm] = INFINITY;
        return;
    }
    const int64_t height = ipex_dim_at(dims, y[2], IPEX_DIM_MIDDLE),
                  width = ipex_dim_at(dims, y[3], IPEX_DIM_MIDDLE);
    const double tiles =
        (double)ipex_winograd_tiles_along(height, c->dilation[0], tile_along(c, 0, points)) *
        (double)ipex_winograd_tiles_along(width, c->dilation[1], tile_along(c, 1, points));
    const double columns = round_up(w[0], IPEX_PANEL);
    const bool is_line = c->kernel[0] == 1 || c->kernel[1] == 1;
    const double transforms = points * tiles * (round_up(w[1], IPEX_PANEL) + columns);
    layer->us[algorithm] = product_us(points * tiles, (double)w[1], columns) +
                           (double)winograd_bytes(node->input[1], points) / WEIGHT_B_PER_US +
                           transforms / (is_line ? LINES_PER_US : TRANSFORMS_PER_US) + SITE_US;
    if (layer->us[DIRECT] < LEAST_GAIN * layer->us[algorithm])
        layer->us[algorithm] = INFINITY;
}

/* Positions along an axis of y, `size` long, that a tap finds in the padding of x, `from` long. */
static int64_t in_padding(const struct ipex_conv *c, int axis, int64_t from, int64_t size,
                          int64_t tap) {
    const int64_t stride = c->stride[axis], first = tap * c->dilation[axis] - c->pad[axis];
    const int64_t behind = first + (size - 1) * stride - (from - 1);
    const int64_t ret = (first < 0 ? (stride - 1 - first) / stride : 0) +
                        (behind > 0 ? (behind + stride - 1) / stride : 0);
    return ret < size ? ret : size;
}

/* Positions along an axis that the direct algorithm multiplies, for all taps: none in the padding,
 * but beside x where taps lie side by side. (Those that columns leave out are counted too: where
 * they decide, Winograd is faster than predicted; SqueezeNet took 1.06 of its time.) */
static double direct_positions(const struct ipex_conv *c, int axis, int64_t from, int64_t size) {
    int64_t ret = c->kernel[axis] * size;
    if (axis == 1 && c->dilation[axis] == 1)
        return (double)ret;
    for (int64_t tap = 0; tap < c->kernel[axis]; tap++)
        ret -= in_padding(c, axis, from, size, tap);
    return (double)ret;
}

/* Of one image and channel of y. */
static double outputs_of(const struct ipex_dims *dims, const struct ipex_node *node) {
    const int64_t *y = node->output->dims;
    return (double)ipex_dim_at(dims, y[2], IPEX_DIM_MIDDLE) *
           (double)ipex_dim_at(dims, y[3], IPEX_DIM_MIDDLE);
}

/* With `apart` of the channels taken apart, which are upsampled twice: of `positions` that the
 * direct algorithm multiplies the others at. */
static double predict_apart(const struct ipex_graph *graph, const struct ipex_node *node,
                            double positions, int64_t apart) {
    const int64_t *w = node->input[1]->dims;
    const double outputs = outputs_of(&graph->dims, node);
    const double columns = round_up(w[0], IPEX_PANEL);
    const double products = IPEX_UPSAMPLED_POINTS * outputs / 4;
    return product_us(positions, (double)(w[1] - apart), direct_columns(w[0])) +
           product_us(products, (double)apart, columns) +
           products * (round_up(apart, IPEX_PANEL) + columns) / TRANSFORMS_PER_US +
           (double)conv_bytes(graph, node) / WEIGHT_B_PER_US + SITE_US +
           outputs * (double)w[0] * 2 * sizeof(float) / SUMS_B_PER_US;
}

/* apart: of what the direct algorithm would take apart, or 0. */
static struct layer predict(const struct ipex_graph *graph, struct ipex_node *node, int64_t apart) {
    const struct ipex_dims *dims = &graph->dims;
    const double gain = graph->precision == IPEX_PRECISION_bf16 ? BF16_GAIN : 1;
    const int64_t *x = node->input[0]->dims, *w = node->input[1]->dims, *y = node->output->dims;
    double positions = 1;
    for (int axis = 0; axis < 2; axis++)
        positions *=
            direct_positions(&node->u.conv, axis, ipex_dim_at(dims, x[2 + axis], IPEX_DIM_MIDDLE),
                             ipex_dim_at(dims, y[2 + axis], IPEX_DIM_MIDDLE));
    struct layer ret = {.node = node};
    ret.us[DIRECT] = apart ? predict_apart(graph, node, positions, apart)
                           : product_us(positions, (double)w[1], direct_columns(w[0])) / gain +
                                 (double)conv_bytes(graph, node) / WEIGHT_B_PER_US;
    predict_winograd(dims, SMALL, &ret);
    predict_winograd(dims, LARGE, &ret);
    return ret;
}

static void verdict(struct ipex_graph *graph, const struct ipex_node *node, enum ipex_reason reason,
                    const char *text) {
    ipex_ledger_add(graph->ledger, "winograd", node->name, reason, text);
}

static void refuse(struct ipex_graph *graph, const struct choice *choice,
                   const struct ipex_node *node, enum ipex_reason reason) {
    if (!choice->before_split)
        verdict(graph, node, reason, NULL);
}

/* A weight that is scaled for one layer is no other's. */
static bool share_weight(const struct ipex_node *a, const struct ipex_node *b) {
    return a->input[1] == b->input[1] && !a->fold.scale && !b->fold.scale;
}

static void add_layer(struct ipex_graph *graph, struct choice *choice, const struct layer *layer) {
    struct layer *own = ipex_arena_alloc(&graph->arena, sizeof *own);
    *own = *layer;
    for (size_t i = 0; i < choice->sites && layer->node->input[1]->uses > 1; i++)
        if (share_weight(layer->node, choice->site[i].layer->node)) {
            own->next = choice->site[i].layer->next;
            choice->site[i].layer->next = own;
            return;
        }
    choice->site =
        ipex_grow(choice->site, &choice->capacity, choice->sites + 1, sizeof *choice->site);
    choice->site[choice->sites++] = (struct site){.layer = own};
}

/* What a site's layers take together; those that gain nothing stay direct. The direct weight stays
 * too where not all of its readers do without it. */
static void add_up(const struct ipex_graph *graph, struct site *site) {
    const struct ipex_value *w = site->layer->node->input[1];
    const int64_t before = conv_bytes(graph, site->layer->node);
    for (int algorithm = DIRECT; algorithm < ALGORITHMS; algorithm++) {
        const int64_t points = points_of(&site->layer->node->u.conv, algorithm);
        int32_t changed = 0;
        for (const struct layer *layer = site->layer; layer; layer = layer->next) {
            const bool changes = !isinf(layer->us[algorithm]);
            site->us[algorithm] += layer->us[changes ? algorithm : DIRECT];
            changed += changes;
        }
        if (!changed)
            site->us[algorithm] = INFINITY;
        site->added[algorithm] =
            points == 0 ? 0 : winograd_bytes(w, points) - (changed == w->uses ? before : 0);
    }
    /* No larger file for what may be no gain. */
    if (site->us[SMALL] < LEAST_GAIN * site->us[LARGE])
        site->us[LARGE] = INFINITY;
}

/* Tiles are in f32; products on bf16 by vdpbf16ps gain less than they do, by AMX more. */
static enum ipex_reason precision_of_tiles(const struct ipex_graph *graph) {
    if (graph->precision == IPEX_PRECISION_f32)
        return IPEX_REASON_applied;
    if (graph->precision == IPEX_PRECISION_bf16 && graph->arithmetic == IPEX_ARITHMETIC_bf16_dp)
        return IPEX_REASON_applied;
    if (graph->precision == IPEX_PRECISION_bf16 && graph->arithmetic == IPEX_ARITHMETIC_AUTO)
        return IPEX_REASON_may_be_amx;
    return IPEX_REASON_bf16_weights;
}

/* Looks at one convolution: remembers it where Winograd would be faster. */
static void consider(struct ipex_graph *graph, struct ipex_node *node, struct choice *choice) {
    const struct ipex_conv *c = &node->u.conv;
    if (c->kernel[0] * c->kernel[1] == 1 || c->transposed || c->upsampled || c->exact ||
        node->integer || ipex_node_is_depthwise(node))
        return; /* no product to save, or none of this kind */
    if (!fits_winograd(c)) {
        refuse(graph, choice, node, IPEX_REASON_no_tiles);
        return;
    }
    const enum ipex_reason reason = precision_of_tiles(graph);
    if (reason != IPEX_REASON_applied) {
        refuse(graph, choice, node, reason);
        return;
    }
    const int64_t apart = choice->before_split ? ipex_upsample_left(graph, node).channels : 0;
    const struct layer layer = predict(graph, node, apart);
    if (isinf(layer.us[SMALL]) && isinf(layer.us[LARGE]))
        refuse(graph, choice, node, IPEX_REASON_winograd_slower);
    else
        add_layer(graph, choice, &layer);
}

static double saved_per_byte(const struct site *site, int from, int to) {
    const int64_t added = site->added[to] - site->added[from];
    return (site->us[from] - site->us[to]) / (double)(added > 0 ? added : 1);
}

/* Those by which a site saves most per byte: never a small tile on the way to a large one that
 * saves more per byte at once, but instead of one that there is no room for. */
static size_t add_offers(const struct site *site, size_t at, struct offer *offer) {
    const bool small = site->us[SMALL] < site->us[DIRECT],
               large = site->us[LARGE] < site->us[DIRECT];
    const double at_once = saved_per_byte(site, DIRECT, LARGE),
                 first = saved_per_byte(site, DIRECT, SMALL);
    const int from = small && !(at_once >= first) ? SMALL : DIRECT;
    size_t count = 0;
    if (small)
        offer[count++] = (struct offer){at, DIRECT, SMALL, first};
    if (large && site->us[LARGE] < site->us[from])
        offer[count++] = (struct offer){at, from, LARGE, saved_per_byte(site, from, LARGE)};
    return count;
}

static int by_saving(const void *a, const void *b) {
    const struct offer *x = a, *y = b;
    const double p = x->saved_per_byte, q = y->saved_per_byte;
    if (p != q)
        return (p < q) - (p > q);
    return x->site != y->site ? (x->site > y->site) - (x->site < y->site) : y->to - x->to;
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
        if (added > budget || site->taken != offer[i].from)
            continue;
        site->taken = offer[i].to;
        budget -= added;
    }
}

static void record(struct ipex_graph *graph, const struct site *site, const struct layer *layer) {
    const int taken = site->taken;
    if (taken == DIRECT || isinf(layer->us[taken])) {
        verdict(graph, layer->node,
                taken == DIRECT ? IPEX_REASON_file_budget : IPEX_REASON_winograd_slower, NULL);
        return;
    }
    struct ipex_conv *c = &layer->node->u.conv;
    const int axis = c->kernel[0] == 1; /* that has taps */
    c->winograd = points_of(c, taken);
    verdict(graph, layer->node, IPEX_REASON_applied,
            ipex_arena_printf(
                &graph->arena, "F(%d,%d), predicted %.2f times as fast for %.2f MB more weights%s",
                (int)tile_along(c, axis, c->winograd), (int)c->kernel[axis],
                layer->us[DIRECT] / layer->us[taken], (double)site->added[taken] * 1e-6,
                site->layer->next ? ", which it shares" : ""));
}

/* Taking a kernel column by column leaves out what lies beside x, and parks every chain once more
 * for every further column, which takes as long as so many products. It pays where that is less,
 * and no trifle, at the largest of the image's sizes: at smaller ones it leaves out more. */
#define PARKED_PRODUCTS 12
#define WIDEST          1000 /* image, that any kernel leaves out enough of */
#define LEAST_LEFT_OUT  25   /* of so many products one */
#define PLANAR_COLUMNS  12   /* runtime/ops/linear_conv.c: pixels in lanes, rows whole */

/* Looks at one convolution whose algorithm is chosen. */
static void consider_columns(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_conv *c = &node->u.conv;
    const int64_t *x = node->input[0]->dims, *w = node->input[1]->dims, *y = node->output->dims;
    const int64_t height = ipex_dim_at(&graph->dims, y[2], IPEX_DIM_HIGHEST),
                  width = ipex_dim_at(&graph->dims, y[3], IPEX_DIM_HIGHEST),
                  from = ipex_dim_at(&graph->dims, x[3], IPEX_DIM_HIGHEST);
    int64_t left_out = 0, least = width, most = 0;
    if (c->winograd || c->upsampled || c->transposed || c->groups > 1 || c->dilation[1] > 1 ||
        node->integer || w[1] % 2 != 0 || w[0] <= PLANAR_COLUMNS || height == 1 || width == 1 ||
        width > WIDEST)
        return;
    for (int64_t tap = 0; tap < c->kernel[1]; tap++) {
        const int64_t beside = in_padding(c, 1, from, width, tap);
        left_out += beside;
        least = beside < least ? beside : least;
        most = beside > most ? beside : most;
    }
    c->columns = least == 0 && most < width && left_out * LEAST_LEFT_OUT >= c->kernel[1] * width &&
                 left_out * c->kernel[0] * w[1] >= PARKED_PRODUCTS * (c->kernel[1] - 1) * width;
    if (c->columns)
        ipex_ledger_add(
            graph->ledger, "columns", node->name, IPEX_REASON_applied,
            ipex_arena_printf(&graph->arena, "%.1f %% of the products would be beside the image",
                              100.0 * (double)left_out / (double)(c->kernel[1] * width)));
}

/* What the file may grow by, which depends on the weights of all convolutions and linear layers. */
static int64_t room_of(const struct ipex_graph *graph, enum ipex_growth growth) {
    int64_t bytes = 0;
    for (const struct ipex_node *node = graph->first; node; node = node->next)
        bytes += weight_bytes(graph, node);
    return growth == IPEX_GROWTH_any ? INT64_MAX : growth == IPEX_GROWTH_none ? -1 : bytes / 2;
}

/* Of all convolutions, within `room` bytes more. */
static void choose(struct ipex_graph *graph, int64_t room, struct choice *choice) {
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->kind == IPEX_KIND_conv)
            consider(graph, node, choice);
    for (size_t i = 0; i < choice->sites; i++)
        add_up(graph, &choice->site[i]);
    take(&graph->arena, choice, room);
}

static bool takes_large(const struct choice *choice, const struct ipex_node *node) {
    for (size_t i = 0; i < choice->sites; i++)
        for (const struct layer *layer = choice->site[i].layer; layer; layer = layer->next)
            if (layer->node == node)
                return choice->site[i].taken == LARGE && !isinf(layer->us[LARGE]);
    return false;
}

/* Channels that are upsampled twice are taken apart from others where these are not computed
 * together by F(4,3), which takes as few products, but room in the file that others may need more.
 */
static void split_upsampled(struct ipex_graph *graph, int64_t room) {
    struct choice together = {.before_split = true};
    choose(graph, room, &together);
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (ipex_upsample_left(graph, node).channels && !takes_large(&together, node))
            ipex_upsample_split(graph, node);
    }
    free(together.site);
}

/* What a transposed convolution saves of products per element that its kernel has more than 3x3. */
static double transposed_worth(const struct ipex_dims *dims, const struct ipex_node *node,
                               int32_t factor) {
    const double side = factor + 2, taps = side / factor; /* that an output reads along an axis */
    return outputs_of(dims, node) * (9 - taps * taps) / (side * side - 9);
}

/* On bf16 upsampled channels take a transposed convolution, whose weights are larger: those that
 * save most per byte first, as far as there is room. Returns what is left of it. */
static int64_t split_transposed(struct ipex_graph *graph, int64_t room) {
    for (struct ipex_node *best;; ipex_upsample_split(graph, best)) {
        int64_t best_added = 0;
        double most = 0;
        best = NULL;
        for (struct ipex_node *node = graph->first; node; node = node->next) {
            const struct ipex_upsampled up = ipex_upsample_left(graph, node);
            if (up.channels == 0)
                continue;
            const int64_t n = node->input[1]->dims[0], side = up.factor + 2;
            const enum ipex_dtype dtype = weight_dtype(graph);
            const int64_t added = tile_bytes(dtype, 1, side * side, n, up.channels) -
                                  tile_bytes(dtype, 1, 9, n, up.channels);
            const double worth = transposed_worth(&graph->dims, node, up.factor);
            if (added > room || worth <= most)
                continue;
            best = node;
            best_added = added;
            most = worth;
        }
        if (!best)
            break;
        room -= best_added;
    }
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (ipex_upsample_left(graph, node).channels)
            ipex_ledger_add(graph->ledger, "upsample", node->name, IPEX_REASON_file_budget, NULL);
    return room;
}

void ipex_choose_algorithms(struct ipex_graph *graph, enum ipex_growth growth) {
    struct choice choice = {0};
    int64_t room = room_of(graph, growth);
    if (graph->precision == IPEX_PRECISION_bf16)
        room = split_transposed(graph, room);
    else
        split_upsampled(graph, room);
    choose(graph, room, &choice);
    for (size_t i = 0; i < choice.sites; i++)
        for (const struct layer *layer = choice.site[i].layer; layer; layer = layer->next)
            record(graph, &choice.site[i], layer);
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->kind == IPEX_KIND_conv)
            consider_columns(graph, node);
    free(choice.site);
}
