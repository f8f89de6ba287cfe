/* SPDX-License-Identifier: Apache-2.0 */
/* A transposed convolution of stride s computes s x s phases, outputs that see the same taps. With
 * T taps of a phase along an axis, rounded up, phase r is a convolution at stride 1 by
 *     w'[r][n][c][t] = w[c][n][s (T - 1 - t) + r], or 0 where there is no such tap,
 * and its pixel g is output s g + r - pad. At stride 1 that is all. Of few channels each phase
 * would leave most lanes of a vector empty, and read all of x anew: so one convolution gives the
 * channels of all phases, and a depth-to-space sets them apart (9x9/3 of 56 channels to one at
 * 64x64, Zen 4: 0.3 of the time). Of one channel to a group each phase is a depthwise convolution
 * (4x4/2 of 64 channels at 64x64: 0.2). */
#include "format/check.h"
#include "tools/convert/passes.h"

/* Of more channels phases fill their vectors. Of depthwise ones each phase is a node. */
enum { CHANNELS_MOST = 12, DEPTHWISE_PHASES_MOST = 64 };

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

static bool is_depthwise(const struct site *site) {
    const struct ipex_conv *c = &site->node->u.conv;
    const struct ipex_value *w = site->node->input[1];
    return c->groups > 1 && c->groups == w->dims[0] && w->dims[1] == 1;
}

/* Others have phases that fill their vectors, or, where windows only touch, that kernels take
 * together themselves. */
static bool is_site(const struct site *site) {
    return site->phases == 1 || is_depthwise(site) ||
           (site->m <= CHANNELS_MOST && site->taps[0] * site->taps[1] > 1);
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

/* Whether outputs lie where no phase has any: behind all of them, where they are the bias alone,
 * or, at stride 1, inside of what is computed. */
static bool lie_elsewhere(const struct site *site) {
    const struct ipex_conv *c = &site->node->u.conv;
    for (int i = 0; i < 2; i++) {
        if (c->out_pad[i] - c->pad[2 + i] > site->taps[i] * c->stride[i] - c->kernel[i])
            return true;
        if (site->phases == 1 && (c->pad[i] >= c->kernel[i] || c->pad[2 + i] >= c->kernel[i]))
            return true;
    }
    return false;
}

static enum ipex_reason check(const struct ipex_graph *graph, const struct site *site) {
    const struct ipex_node *node = site->node;
    const struct ipex_conv *c = &node->u.conv;
    if (c->groups != 1 && !is_depthwise(site))
        return IPEX_REASON_grouped;
    if (c->dilation[0] != 1 || c->dilation[1] != 1)
        return IPEX_REASON_dilated;
    if (node->input[1]->uses > 1)
        return IPEX_REASON_shared_weight;
    if (site->taps[0] > IPEX_HALO_MAX || site->taps[1] > IPEX_HALO_MAX)
        return IPEX_REASON_padding_too_wide;
    if (lie_elsewhere(site))
        return IPEX_REASON_phases_slower;
    const bool cheaper = is_depthwise(site) ? site->phases <= DEPTHWISE_PHASES_MOST
                                            : site->phases == 1 || is_cheaper(graph, site);
    return cheaper ? IPEX_REASON_applied : IPEX_REASON_phases_slower;
}

/* ---- rewriting ---- */

/* [(r, n)][c][th][tw] of w [c][n][kh][kw], of so many phases from the first one on; of depthwise
 * ones [c][1][th][tw] of w [c][1][kh][kw]. */
static struct ipex_value *phase_weights(struct ipex_graph *graph, const struct site *site,
                                        int64_t first, int64_t phases) {
    const struct ipex_conv *c = &site->node->u.conv;
    const struct ipex_value *w = site->node->input[1];
    const int64_t *k = c->kernel, *s = c->stride, *taps = site->taps;
    const bool depthwise = is_depthwise(site);
    const int64_t m = depthwise ? w->dims[0] : site->m, in = depthwise ? 1 : w->dims[0];
    const int64_t dims[4] = {phases * m, in, taps[0], taps[1]};
    const int64_t count = dims[0] * dims[1] * dims[2] * dims[3];
    double *to = ipex_arena_array(&graph->arena, (size_t)count, sizeof *to);
    for (int64_t i = 0; i < count; i++) {
        const int64_t tw = i % taps[1], th = i / taps[1] % taps[0];
        const int64_t channel = i / (taps[0] * taps[1]) % in;
        const int64_t row = i / (taps[0] * taps[1] * in);
        const int64_t n = row % m, phase = first + row / m;
        const int64_t kh = s[0] * (taps[0] - 1 - th) + phase / s[1];
        const int64_t kw = s[1] * (taps[1] - 1 - tw) + phase % s[1];
        const int64_t kernel = depthwise ? n : channel * m + n;
        to[i] = kh < k[0] && kw < k[1] ? ipex_constant_f64(w, (kernel * k[0] + kh) * k[1] + kw) : 0;
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

/* The convolution of a phase, or of several at once. */
static struct ipex_conv phase_conv(const struct site *site) {
    struct ipex_conv ret = site->node->u.conv;
    ret.transposed = false;
    for (int i = 0; i < 2; i++) {
        const int64_t around = site->taps[i] - 1;
        ret.pad[i] = around - (site->phases == 1 ? ret.pad[i] : 0);
        ret.pad[2 + i] = around - (site->phases == 1 ? ret.pad[2 + i] : 0);
        ret.kernel[i] = site->taps[i];
        ret.stride[i] = 1;
        ret.out_pad[i] = 0;
    }
    return ret;
}

/* What the convolution of so many phases gives. */
static struct ipex_value *phases_value(struct ipex_graph *graph, const struct site *site,
                                       int64_t phases) {
    const struct ipex_value *x = site->node->input[0], *y = site->node->output;
    const int64_t dims[4] = {y->dims[0], phases * site->m,
                             ipex_dim_add(&graph->dims, x->dims[2], site->taps[0] - 1),
                             ipex_dim_add(&graph->dims, x->dims[3], site->taps[1] - 1)};
    return ipex_graph_value(graph, y->name, y->dtype, 4, dims);
}

/* What cut gives: of x [N][sh][sw][m][H][W] the image [N][m][H sh][W sw], without what the padding
 * of c, the transposed convolution, cuts. */
static void set_apart(struct ipex_graph *graph, const struct ipex_conv *c, struct ipex_value *x,
                      struct ipex_node *cut) {
    static const int32_t perm[6] = {0, 3, 4, 1, 5, 2};
    struct ipex_dims *dims = &graph->dims;
    const struct ipex_value *y = cut->output;
    const int64_t apart[6] = {x->dims[0], c->stride[0], c->stride[1],
                              y->dims[1], x->dims[2],   x->dims[3]};
    const int64_t image[4] = {y->dims[0], y->dims[1], ipex_dim_mul(dims, x->dims[2], c->stride[0]),
                              ipex_dim_mul(dims, x->dims[3], c->stride[1])};
    x = ipex_graph_reshaped(graph, x, 6, apart, cut);
    x = ipex_graph_transposed(graph, x, perm, cut);
    x = ipex_graph_reshaped(graph, x, 4, image, cut);
    for (int i = 0; i < 4; i++)
        cut->u.slice.step[i] = 1;
    cut->u.slice.start[2] = c->pad[0];
    cut->u.slice.start[3] = c->pad[1];
    ipex_node_add_input(cut, x);
}

/* All phases at once. */
static struct ipex_value *apply_dense(struct ipex_graph *graph, const struct site *site) {
    struct ipex_node *node = site->node;
    struct ipex_value *all = phases_value(graph, site, site->phases);
    ipex_node_set_input(node, 1, phase_weights(graph, site, 0, site->phases));
    node->fold.scale = for_all(graph, site, node->fold.scale);
    node->fold.bias = for_all(graph, site, node->fold.bias);
    node->fold.n = site->phases * site->m;
    node->u.conv = phase_conv(site);
    ipex_node_set_output(node, all);
    return all;
}

/* Each phase by itself, joined by a node before `before`. */
static struct ipex_value *apply_depthwise(struct ipex_graph *graph, const struct site *site,
                                          struct ipex_node *before) {
    struct ipex_node *node = site->node;
    const struct ipex_conv conv = phase_conv(site);
    struct ipex_node *concat =
        ipex_graph_node(graph, IPEX_KIND_concat, node->name, node->source_op, before);
    struct ipex_value *all = phases_value(graph, site, site->phases);
    concat->u.axis = 1;
    concat->concat_input =
        ipex_arena_array(&graph->arena, (size_t)site->phases, sizeof *concat->concat_input);
    for (int64_t i = 0; i < site->phases; i++) {
        struct ipex_value *w = phase_weights(graph, site, i, 1);
        struct ipex_node *one = node; /* the last phase's: until then it has all weights */
        if (i + 1 < site->phases) {
            one = ipex_graph_node(graph, IPEX_KIND_conv, node->name, node->source_op, node);
            one->fold = node->fold;
            one->epilogue = node->epilogue;
            ipex_node_add_input(one, node->input[0]);
            ipex_node_add_input(one, w);
        } else {
            ipex_node_set_input(one, 1, w);
        }
        one->u.conv = conv;
        ipex_node_set_output(one, phases_value(graph, site, 1));
        ipex_node_add_input(concat, one->output);
    }
    ipex_node_set_output(concat, all);
    return all;
}

static void apply(struct ipex_graph *graph, const struct site *site) {
    struct ipex_node *node = site->node;
    if (site->phases == 1) {
        ipex_node_set_input(node, 1, phase_weights(graph, site, 0, 1));
        node->u.conv = phase_conv(site);
        return;
    }
    const struct ipex_conv transposed = node->u.conv;
    struct ipex_value *y = node->output;
    struct ipex_node *cut =
        ipex_graph_node(graph, IPEX_KIND_slice, node->name, node->source_op, node->next);
    struct ipex_value *all =
        is_depthwise(site) ? apply_depthwise(graph, site, cut) : apply_dense(graph, site);
    ipex_node_set_output(cut, y);
    set_apart(graph, &transposed, all, cut);
}

static const char *describe(struct ipex_graph *graph, const struct site *site) {
    return site->phases == 1
               ? "a convolution, by the kernel turned round"
               : ipex_arena_printf(&graph->arena, "%lld phases are %s", (long long)site->phases,
                                   is_depthwise(site) ? "depthwise convolutions"
                                                      : "channels of one convolution");
}

void ipex_pass_phases(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (node->kind != IPEX_KIND_conv || !node->u.conv.transposed || node->integer ||
            node->inputs > 2 || !node->input[1]->constant)
            continue;
        const struct site site = site_of(node);
        if (!is_site(&site))
            continue;
        const enum ipex_reason reason = check(graph, &site);
        ipex_ledger_add(graph->ledger, "phases", node->name, reason,
                        reason == IPEX_REASON_applied ? describe(graph, &site) : NULL);
        if (reason == IPEX_REASON_applied)
            apply(graph, &site);
    }
}
