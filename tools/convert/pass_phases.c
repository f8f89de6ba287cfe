/* SPDX-License-Identifier: Apache-2.0 */
/* A transposed convolution of stride s computes s x s phases, outputs that see the same taps. Of
 * few channels each phase leaves most lanes of a vector empty, and reads all of x anew. So it
 * becomes a convolution at stride 1 that gives the channels of all phases, and a depth-to-space
 * that sets them apart. With T taps of a phase along an axis, rounded up:
 *     w'[(r, n)][c][t] = w[c][n][s (T - 1 - t) + r], or 0 where there is no such tap,
 * and pixel g of phase r is output s g + r - pad. (9x9/3 of 56 channels to one at 64x64, Zen 4: 0.3
 * of the time.) */
#include "format/check.h"
#include "tools/convert/passes.h"

/* Of more channels phases fill their vectors. */
enum { CHANNELS_MOST = 12 };

struct site {
    struct ipex_node *node;
    int64_t m, taps[2], phases; /* channels; taps of a phase along either axis; of both axes */
};

static struct site site_of(struct ipex_node *node) {
    struct site ret = {.node = node, .m = node->output->dims[1], .phases = 1};
    for (int i = 0; i < 2; i++) {
        const struct ipex_conv *c = &node->u.conv;
        ret.taps[i] = (c->kernel[i] + c->stride[i] - 1) / c->stride[i];
        ret.phases *= c->stride[i];
    }
    return ret;
}

/* Where windows only touch, kernels take phases together themselves. */
static bool overlaps(const struct site *site) {
    return site->phases > 1 && site->taps[0] * site->taps[1] > 1;
}

/* ---- what either costs ---- */

/* In products of 16 columns by an element of x, which has `products` of them by every column:
 * fitted to 4x4/2, 3x3/2, 5x5/2, 6x6/3, 8x8/4 and 9x9/3 of 32 to 64 channels to 1 to 12 (AMD Zen 4;
 * what is chosen takes 0.22 to 0.93 of the time, with AVX2 0.22 to 0.97). */
static double panels_cost(int64_t columns) {
    return columns <= 8 ? 11 : (double)((columns + 15) / 16 * 16);
}

static double phase_cost(const struct ipex_graph *graph, int64_t columns) {
    const bool few = columns <= IPEX_FEW_COLUMNS && graph->precision == IPEX_PRECISION_f32;
    return few ? 4 + 0.6 * (double)columns : panels_cost(columns);
}

/* With pixels in lanes windows that overlap share what is transposed (runtime/ops/linear_conv.c).
 */
static double all_cost(const struct ipex_graph *graph, int64_t columns, int64_t products) {
    const bool few = columns <= IPEX_FEW_COLUMNS || (columns <= 12 && products >= 12);
    return few && graph->precision == IPEX_PRECISION_f32 ? 10 + 1.5 * (double)(columns * products)
                                                         : panels_cost(columns) * (double)products;
}

/* An output that is moved costs as much as a third of a product. */
static bool is_cheaper(const struct ipex_graph *graph, const struct site *site) {
    const struct ipex_conv *c = &site->node->u.conv;
    const int64_t columns = site->m * site->phases;
    const double now = phase_cost(graph, site->m) * (double)(c->kernel[0] * c->kernel[1]);
    const double moves = 22.0 * (double)columns / (double)site->node->input[1]->dims[0];
    return all_cost(graph, columns, site->taps[0] * site->taps[1]) + moves < 0.95 * now;
}

static enum ipex_reason check(const struct ipex_graph *graph, const struct site *site) {
    const struct ipex_node *node = site->node;
    const struct ipex_conv *c = &node->u.conv;
    if (c->groups != 1)
        return IPEX_REASON_grouped;
    if (c->dilation[0] != 1 || c->dilation[1] != 1)
        return IPEX_REASON_dilated;
    if (node->input[1]->uses > 1)
        return IPEX_REASON_shared_weight;
    if (site->taps[0] > IPEX_HALO_MAX || site->taps[1] > IPEX_HALO_MAX)
        return IPEX_REASON_padding_too_wide;
    for (int i = 0; i < 2; i++) /* outputs behind all phases are the bias alone */
        if (c->out_pad[i] - c->pad[2 + i] > site->taps[i] * c->stride[i] - c->kernel[i])
            return IPEX_REASON_phases_slower;
    return is_cheaper(graph, site) ? IPEX_REASON_applied : IPEX_REASON_phases_slower;
}

/* ---- rewriting ---- */

/* [(r, n)][c][th][tw] of w [c][n][kh][kw]. */
static struct ipex_value *all_weights(struct ipex_graph *graph, const struct site *site) {
    const struct ipex_conv *c = &site->node->u.conv;
    const struct ipex_value *w = site->node->input[1];
    const int64_t *k = c->kernel, *s = c->stride, *taps = site->taps;
    const int64_t dims[4] = {site->phases * site->m, w->dims[0], taps[0], taps[1]};
    const int64_t count = dims[0] * dims[1] * dims[2] * dims[3];
    double *to = ipex_arena_array(&graph->arena, (size_t)count, sizeof *to);
    for (int64_t i = 0; i < count; i++) {
        const int64_t tw = i % taps[1], th = i / taps[1] % taps[0];
        const int64_t channel = i / (taps[0] * taps[1]) % dims[1];
        const int64_t row = i / (taps[0] * taps[1] * dims[1]);
        const int64_t n = row % site->m, phase = row / site->m;
        const int64_t kh = s[0] * (taps[0] - 1 - th) + phase / s[1];
        const int64_t kw = s[1] * (taps[1] - 1 - tw) + phase % s[1];
        to[i] = kh < k[0] && kw < k[1]
                    ? ipex_constant_f64(w, ((channel * site->m + n) * k[0] + kh) * k[1] + kw)
                    : 0;
    }
    ipex_constant_let_go(w);
    return ipex_graph_constant(graph, w->name, IPEX_DTYPE_f64, 4, dims, to);
}

/* One number per channel, for the channels of all phases. */
static double *for_all(struct ipex_graph *graph, const struct site *site, const double *from) {
    if (!from)
        return NULL;
    const int64_t count = site->phases * site->m;
    double *ret = ipex_arena_array(&graph->arena, (size_t)count, sizeof *ret);
    for (int64_t i = 0; i < count; i++)
        ret[i] = from[i % site->m];
    return ret;
}

/* y: of x [N][sh][sw][m][H][W] the image [N][m][H sh][W sw], without what the padding cuts. */
static void set_apart(struct ipex_graph *graph, const struct site *site, struct ipex_value *x,
                      struct ipex_value *y) {
    static const int32_t perm[6] = {0, 3, 4, 1, 5, 2};
    struct ipex_dims *dims = &graph->dims;
    const struct ipex_conv *c = &site->node->u.conv;
    const int64_t apart[6] = {x->dims[0], c->stride[0], c->stride[1],
                              site->m,    x->dims[2],   x->dims[3]};
    const int64_t image[4] = {y->dims[0], y->dims[1], ipex_dim_mul(dims, x->dims[2], c->stride[0]),
                              ipex_dim_mul(dims, x->dims[3], c->stride[1])};
    struct ipex_node *cut = ipex_graph_node(graph, IPEX_KIND_slice, site->node->name,
                                            site->node->source_op, site->node->next);
    x = ipex_graph_reshaped(graph, x, 6, apart, cut);
    x = ipex_graph_transposed(graph, x, perm, cut);
    x = ipex_graph_reshaped(graph, x, 4, image, cut);
    for (int i = 0; i < 4; i++)
        cut->u.slice.step[i] = 1;
    cut->u.slice.start[2] = c->pad[0];
    cut->u.slice.start[3] = c->pad[1];
    ipex_node_add_input(cut, x);
    ipex_node_set_output(cut, y);
}

static void apply(struct ipex_graph *graph, const struct site *site) {
    struct ipex_node *node = site->node;
    struct ipex_conv *c = &node->u.conv;
    struct ipex_value *y = node->output, *x = node->input[0];
    const int64_t dims[4] = {y->dims[0], site->phases * site->m,
                             ipex_dim_add(&graph->dims, x->dims[2], site->taps[0] - 1),
                             ipex_dim_add(&graph->dims, x->dims[3], site->taps[1] - 1)};
    struct ipex_value *all = ipex_graph_value(graph, y->name, y->dtype, 4, dims);
    ipex_node_set_input(node, 1, all_weights(graph, site));
    ipex_node_set_output(node, all);
    set_apart(graph, site, all, y);
    node->fold.scale = for_all(graph, site, node->fold.scale);
    node->fold.bias = for_all(graph, site, node->fold.bias);
    node->fold.n = dims[1];
    c->transposed = false;
    for (int i = 0; i < 2; i++) {
        c->kernel[i] = site->taps[i];
        c->stride[i] = 1;
        c->pad[i] = c->pad[2 + i] = site->taps[i] - 1;
        c->out_pad[i] = 0;
    }
}

void ipex_pass_phases(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (node->kind != IPEX_KIND_conv || !node->u.conv.transposed || node->integer ||
            node->inputs > 2 || !node->input[1]->constant)
            continue;
        const struct site site = site_of(node);
        if (!overlaps(&site) || site.m > CHANNELS_MOST)
            continue;
        const enum ipex_reason reason = check(graph, &site);
        ipex_ledger_add(graph->ledger, "phases", node->name, reason,
                        reason == IPEX_REASON_applied
                            ? ipex_arena_printf(&graph->arena,
                                                "%lld phases are channels of one convolution",
                                                (long long)site.phases)
                            : NULL);
        if (reason == IPEX_REASON_applied)
            apply(graph, &site);
    }
}
