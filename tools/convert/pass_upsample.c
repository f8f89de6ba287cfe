/* SPDX-License-Identifier: Apache-2.0 */
/* A 3x3 convolution of an image that nearest upsampling has made, every row and pixel of it
 * `factor` times, needs 9 products of a small pixel for factor x factor outputs, by weights that
 * are no more than its own (kernels/kernels.h): the plan has an operator for that, which reads the
 * small image. Where upsampled channels are concatenated with others, as decoders do, each part
 * gets a convolution of its own, and the next one adds its sums to it. With a factor of 2 these are
 * as many products as Winograd's F(4,3) on all channels together: such parts beside others are
 * taken apart by algorithm.c, where that has no room in the file. A 1x1 convolution is computed
 * before the upsampling.
 *
 * Differences of bf16 are no bf16: where products are on bf16, such a convolution is a transposed
 * one instead, whose kernel has two rows more than the factor (--dtype bf16 by vdpbf16ps, twice:
 * 0.44 of the time, Zen 4). It is larger than its own, so algorithm.c chooses which. */
#include "tools/convert/passes.h"

#include <string.h>

/* Of the upsampled channels: with fewer, the sums take longer to be passed on than the products. */
enum { CHANNELS_LEAST = 8, POINTWISE_CHANNELS_LEAST = 32 };

/* Some neighbouring channels of what the convolution reads: factor 1, as they are. */
struct part {
    struct ipex_value *all, *x; /* as they are read, and before they are upsampled */
    struct ipex_node *resize;   /* NULL: they are not */
    int64_t begin, channels;
    int32_t factor;
};

/* Whether row o of y is row o / factor of x, for all of them. */
static bool repeats(const struct ipex_plan_op *resize, int32_t factor) {
    const int64_t coordinates = resize->int_[IPEX_RESIZE_COORDINATES],
                  rounding = resize->int_[IPEX_RESIZE_ROUNDING];
    if (resize->int_[IPEX_RESIZE_MODE] != IPEX_RESIZE_nearest)
        return false;
    if (coordinates == IPEX_RESIZE_asymmetric)
        return rounding == IPEX_RESIZE_floor ||
               (rounding == IPEX_RESIZE_round_prefer_floor && factor == 2);
    /* (o + 1/2) / factor - 1/2 is never halfway between two rows */
    return (coordinates == IPEX_RESIZE_half_pixel ||
            coordinates == IPEX_RESIZE_pytorch_half_pixel) &&
           (rounding == IPEX_RESIZE_round_prefer_floor ||
            rounding == IPEX_RESIZE_round_prefer_ceil);
}

/* How often x's rows and pixels come in what the node makes of it; 1: it is no such node. */
static int32_t factor_of(struct ipex_graph *graph, const struct ipex_node *node) {
    if (!node || node->kind != IPEX_KIND_plan || node->u.plan.op != IPEX_OP_resize)
        return 1;
    const struct ipex_value *x = node->input[0], *y = node->output;
    for (int32_t factor = 2; factor <= IPEX_UPSAMPLED_FACTOR_MAX; factor++) {
        bool fits = repeats(&node->u.plan, factor);
        for (int axis = 0; axis < 2; axis++) {
            const float scale = node->u.plan.float_[IPEX_RESIZE_SCALE_H + axis];
            fits &= ipex_dim_mul(&graph->dims, x->dims[2 + axis], factor) == y->dims[2 + axis] &&
                    (scale == 0 || scale == (float)factor);
        }
        if (fits)
            return factor;
    }
    return 1;
}

static struct part part_of(struct ipex_graph *graph, struct ipex_value *x, int64_t begin) {
    const int32_t factor = factor_of(graph, x->producer);
    struct part ret = {.all = x, .x = factor > 1 ? x->producer->input[0] : x, .begin = begin};
    ret.factor = ipex_dim_number(&graph->dims, x->dims[1], &ret.channels) ? factor : 1;
    ret.resize = factor > 1 ? x->producer : NULL;
    return ret;
}

/* ---- the convolution's parts ---- */

struct site {
    struct ipex_node *conv;
    struct part *part;
    int32_t parts, apart; /* of these, upsampled ones that are taken apart */
    int64_t apart_channels;
};

/* Parts upsampled by less than `least` are as good as others; false: all are. */
static bool find_parts(struct ipex_graph *graph, struct ipex_node *conv, int32_t least,
                       struct site *ret) {
    struct ipex_value *x = conv->input[0];
    struct ipex_node *concat = x->producer;
    const bool joined = concat && concat->kind == IPEX_KIND_concat && concat->u.axis == 1;
    int64_t begin = 0;
    *ret = (struct site){.conv = conv, .parts = joined ? concat->inputs : 1};
    ret->part = ipex_arena_array(&graph->arena, (size_t)ret->parts, sizeof *ret->part);
    for (int32_t i = 0; i < ret->parts; i++) {
        ret->part[i] = part_of(graph, joined ? concat->concat_input[i] : x, begin);
        begin += ret->part[i].channels;
        if (ret->part[i].factor < least)
            ret->part[i].factor = 1;
        if (ret->part[i].factor == 1)
            continue;
        ret->apart++;
        ret->apart_channels += ret->part[i].channels;
    }
    return ret->apart > 0;
}

/* Whether what is taken apart becomes a transposed convolution. */
static bool is_transposed(const struct ipex_graph *graph) {
    return graph->precision == IPEX_PRECISION_bf16;
}

static enum ipex_reason check(const struct ipex_graph *graph, const struct site *site) {
    const struct ipex_conv *c = &site->conv->u.conv;
    const int64_t *w = site->conv->input[1]->dims;
    if (c->kernel[0] != 3 || c->kernel[1] != 3 || c->stride[0] != 1 || c->stride[1] != 1 ||
        c->groups != 1)
        return IPEX_REASON_not_3x3_stride_1;
    if (c->dilation[0] != 1 || c->dilation[1] != 1)
        return IPEX_REASON_dilated;
    for (int i = 0; i < 4; i++)
        if (c->pad[i] != 1)
            return IPEX_REASON_padding_not_1;
    if (graph->precision == IPEX_PRECISION_bf16_weights)
        return IPEX_REASON_bf16_weights;
    /* What a transposed convolution gives is the residual of the next one. */
    if (is_transposed(graph) && (site->apart > 1 || site->conv->epilogue.residual))
        return IPEX_REASON_epilogue_full;
    if (site->conv->input[1]->uses > 1)
        return IPEX_REASON_shared_weight;
    if (w[0] <= IPEX_FEW_COLUMNS || site->apart_channels < CHANNELS_LEAST * site->apart)
        return IPEX_REASON_few_channels;
    return IPEX_REASON_applied;
}

/* ---- rewriting ---- */

/* Channels of the weight [m][c][kh][kw]. */
static struct ipex_value *slice_weight(struct ipex_graph *graph, const struct ipex_value *w,
                                       const struct part *part, int32_t parts, int64_t channels) {
    const size_t kernel = (size_t)(w->dims[2] * w->dims[3]) * ipex_dtype_size(w->dtype);
    const int64_t dims[4] = {w->dims[0], channels, w->dims[2], w->dims[3]};
    uint8_t *weight = ipex_arena_array(&graph->arena, (size_t)(dims[0] * channels), kernel),
            *to = weight;
    for (int64_t m = 0; m < dims[0]; m++)
        for (int32_t i = 0; i < parts; i++) {
            const size_t bytes = (size_t)part[i].channels * kernel;
            memcpy(to, ipex_constant_data(w) + (size_t)(m * w->dims[1] + part[i].begin) * kernel,
                   bytes);
            to += bytes;
        }
    return ipex_graph_constant(graph, w->name, w->dtype, 4, dims, weight);
}

/* A convolution of x before the site's, without a residual and an activation. */
static struct ipex_node *conv_before(struct ipex_graph *graph, const struct site *site,
                                     struct ipex_value *x, struct ipex_value *w) {
    const struct ipex_node *conv = site->conv;
    struct ipex_node *node =
        ipex_graph_node(graph, IPEX_KIND_conv, conv->name, conv->source_op, site->conv);
    const struct ipex_value *y = conv->output;
    node->fold = conv->fold;
    node->u.conv = conv->u.conv;
    ipex_node_add_input(node, x);
    ipex_node_add_input(node, w);
    ipex_node_set_output(node, ipex_graph_value(graph, y->name, y->dtype, y->rank, y->dims));
    return node;
}

static void set_residual(struct ipex_node *node, struct ipex_value *residual) {
    node->epilogue.residual = residual;
    if (node->inputs > 2)
        ipex_node_set_input(node, 2, residual);
    else
        ipex_node_add_input(node, residual);
}

/* What is not upsampled, joined, and its weight; false: all is. */
static bool take_rest(struct ipex_graph *graph, const struct site *site, struct ipex_value **ret_x,
                      struct ipex_value **ret_w) {
    struct part *rest = ipex_arena_array(&graph->arena, (size_t)site->parts, sizeof *rest);
    int32_t count = 0;
    int64_t channels = 0;
    for (int32_t i = 0; i < site->parts; i++)
        if (site->part[i].factor == 1) {
            rest[count++] = site->part[i];
            channels += site->part[i].channels;
        }
    if (count == 0)
        return false;
    struct ipex_value *x = rest[0].all;
    if (count > 1) {
        struct ipex_node *concat = ipex_graph_node(graph, IPEX_KIND_concat, site->conv->name,
                                                   site->conv->source_op, site->conv);
        int64_t dims[4];
        memcpy(dims, x->dims, sizeof dims);
        dims[1] = channels;
        concat->u.axis = 1;
        concat->concat_input = ipex_arena_array(&graph->arena, (size_t)count, sizeof x);
        for (int32_t i = 0; i < count; i++)
            ipex_node_add_input(concat, rest[i].all);
        ipex_node_set_output(concat, ipex_graph_value(graph, x->name, x->dtype, 4, dims));
        x = concat->output;
    }
    *ret_x = x;
    *ret_w = slice_weight(graph, site->conv->input[1], rest, count, channels);
    return true;
}

/* The first convolution has the bias and the site's residual, the others what the one before gives;
 * the last one is the site's own, with its activation. */
static void apply(struct ipex_graph *graph, const struct site *site) {
    struct ipex_node *conv = site->conv, *before = NULL;
    struct ipex_value *w = conv->input[1], *residual = conv->epilogue.residual, *rest, *rest_w;
    if (take_rest(graph, site, &rest, &rest_w))
        before = conv_before(graph, site, rest, rest_w);
    if (before && residual)
        set_residual(before, residual);
    for (int32_t i = 0, left = site->apart; i < site->parts; i++) {
        const struct part *part = &site->part[i];
        if (part->factor == 1)
            continue;
        struct ipex_value *own = slice_weight(graph, w, part, 1, part->channels);
        struct ipex_node *node = conv;
        if (--left > 0) {
            node = conv_before(graph, site, part->x, own);
        } else {
            ipex_node_set_input(node, 0, part->x);
            ipex_node_set_input(node, 1, own);
        }
        node->u.conv.upsampled = part->factor;
        if (before) {
            set_residual(node, before->output);
            node->fold.bias = NULL;
        } else if (residual && node != conv) {
            set_residual(node, residual);
        }
        before = node;
    }
}

/* The first part that is upsampled. */
static const struct part *upsampled_part(const struct site *site) {
    const struct part *part = site->part;
    while (part->factor == 1)
        part++;
    return part;
}

/* The site's convolution is left with what is not upsampled, and adds what is before it. */
static void keep_rest(const struct site *site, struct ipex_value *x, struct ipex_value *w,
                      struct ipex_value *before) {
    ipex_node_set_input(site->conv, 0, x);
    ipex_node_set_input(site->conv, 1, w);
    set_residual(site->conv, before);
}

/* ---- transposed convolutions ---- */

/* Taps that row `row` of the transposed kernel sums: of outputs factor * h + row - 1 of pixel h,
 * those that read it. */
static void taps_of(int64_t row, int64_t factor, int64_t *ret_begin, int64_t *ret_end) {
    *ret_begin = row < 2 ? 2 - row : 0;
    *ret_end = row < factor ? 3 : factor + 2 - row;
}

static double sum_taps(const struct ipex_value *w, int64_t begin, int64_t row, int64_t column,
                       int64_t factor) {
    int64_t top, bottom, left, right;
    double sum = 0;
    taps_of(row, factor, &top, &bottom);
    taps_of(column, factor, &left, &right);
    for (int64_t i = top; i < bottom; i++)
        for (int64_t j = left; j < right; j++)
            sum += ipex_constant_f64(w, begin + 3 * i + j);
    return sum;
}

/* From [m][c][3][3] to [part's c][m][factor + 2][factor + 2], in f64: it is rounded once. */
static struct ipex_value *transposed_weight(struct ipex_graph *graph, const struct ipex_value *w,
                                            const struct part *part) {
    const int64_t size = part->factor + 2, dims[4] = {part->channels, w->dims[0], size, size};
    double *weight =
        ipex_arena_array(&graph->arena, (size_t)(dims[0] * dims[1] * size * size), sizeof *weight);
    double *to = weight;
    for (int64_t c = 0; c < dims[0]; c++)
        for (int64_t m = 0; m < dims[1]; m++)
            for (int64_t i = 0; i < size * size; i++)
                *to++ = sum_taps(w, (m * w->dims[1] + part->begin + c) * 9, i / size, i % size,
                                 part->factor);
    return ipex_graph_constant(graph, w->name, IPEX_DTYPE_f64, 4, dims, weight);
}

/* The upsampled part comes first, since it cannot add what the others give. */
static void apply_transposed(struct ipex_graph *graph, const struct site *site) {
    struct ipex_node *conv = site->conv, *node = conv;
    struct ipex_value *rest, *rest_w;
    const struct part *part = upsampled_part(site);
    struct ipex_value *w = transposed_weight(graph, conv->input[1], part);
    if (take_rest(graph, site, &rest, &rest_w)) {
        node = conv_before(graph, site, part->x, w);
        node->fold.bias = NULL;
        keep_rest(site, rest, rest_w, node->output);
    } else {
        ipex_node_set_input(conv, 0, part->x);
        ipex_node_set_input(conv, 1, w);
    }
    struct ipex_conv *c = &node->u.conv;
    c->transposed = true;
    for (int axis = 0; axis < 2; axis++) {
        c->kernel[axis] = part->factor + 2;
        c->stride[axis] = part->factor;
    }
}

/* ---- 1x1 convolutions ---- */

static bool is_pointwise(const struct ipex_conv *c) {
    return c->kernel[0] * c->kernel[1] == 1 && c->stride[0] * c->stride[1] == 1 && c->groups == 1 &&
           c->pad[0] + c->pad[1] + c->pad[2] + c->pad[3] == 0;
}

/* The convolution of one upsampled part, computed before it is upsampled, is added to that of the
 * others; where there are none, it is upsampled with its activation. */
static enum ipex_reason check_pointwise(const struct site *site) {
    const struct ipex_node *conv = site->conv;
    if (conv->input[1]->uses > 1)
        return IPEX_REASON_shared_weight;
    if (conv->epilogue.residual || site->apart > 1)
        return IPEX_REASON_epilogue_full;
    if (site->apart_channels < POINTWISE_CHANNELS_LEAST ||
        conv->input[1]->dims[0] > 2 * site->apart_channels)
        return IPEX_REASON_few_channels;
    return IPEX_REASON_applied;
}

/* y becomes x upsampled, by a node before `before`. */
static void upsample(struct ipex_graph *graph, const struct part *part, struct ipex_value *x,
                     struct ipex_value *y, struct ipex_node *before) {
    struct ipex_node *resize =
        ipex_graph_node(graph, IPEX_KIND_plan, part->resize->name, part->resize->source_op, before);
    resize->u.plan = part->resize->u.plan;
    ipex_node_add_input(resize, x);
    ipex_node_set_output(resize, y);
}

static void apply_pointwise(struct ipex_graph *graph, const struct site *site) {
    struct ipex_node *conv = site->conv;
    struct ipex_value *y = conv->output, *x, *w;
    const struct part *part = upsampled_part(site);
    const int64_t dims[4] = {y->dims[0], y->dims[1], part->x->dims[2], part->x->dims[3]};
    if (!take_rest(graph, site, &x, &w)) {
        ipex_node_set_input(conv, 0, part->x);
        ipex_node_set_output(conv, ipex_graph_value(graph, y->name, y->dtype, 4, dims));
        upsample(graph, part, conv->output, y, conv->next);
        return;
    }
    struct ipex_node *small = conv_before(
        graph, site, part->x, slice_weight(graph, conv->input[1], part, 1, part->channels));
    memcpy(small->output->dims, dims, sizeof dims);
    small->fold.bias = NULL;
    struct ipex_value *upsampled = ipex_graph_value(graph, y->name, y->dtype, 4, y->dims);
    upsample(graph, part, small->output, upsampled, conv);
    keep_rest(site, x, w, upsampled);
}

static const char *describe(struct ipex_graph *graph, const struct site *site) {
    int64_t channels = 0;
    int32_t least = IPEX_UPSAMPLED_FACTOR_MAX, most = 1;
    for (int32_t i = 0; i < site->parts; i++) {
        const int32_t factor = site->part[i].factor;
        channels += site->part[i].channels;
        if (factor > 1 && factor < least)
            least = factor;
        if (factor > most)
            most = factor;
    }
    const char *factors = least < most
                              ? ipex_arena_printf(&graph->arena, "%d to %d", (int)least, (int)most)
                              : ipex_arena_printf(&graph->arena, "%d", (int)most);
    return ipex_arena_printf(&graph->arena,
                             "%lld of %lld channels are read before they are upsampled %s times",
                             (long long)site->apart_channels, (long long)channels, factors);
}

static bool is_convolution(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_conv && !node->u.conv.transposed && !node->u.conv.upsampled &&
           !node->integer && node->input[1]->constant;
}

static void take_apart(struct ipex_graph *graph, const struct site *site) {
    const bool pointwise = is_pointwise(&site->conv->u.conv);
    const enum ipex_reason reason = pointwise ? check_pointwise(site) : check(graph, site);
    ipex_ledger_add(graph->ledger, "upsample", site->conv->name, reason,
                    reason == IPEX_REASON_applied ? describe(graph, site) : NULL);
    if (reason == IPEX_REASON_applied)
        (pointwise              ? apply_pointwise
         : is_transposed(graph) ? apply_transposed
                                : apply)(graph, site);
}

struct ipex_upsampled ipex_upsample_left(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_upsampled ret = {0};
    struct site site;
    if (!is_convolution(node) || is_pointwise(&node->u.conv) ||
        !find_parts(graph, node, 2, &site) || check(graph, &site) != IPEX_REASON_applied ||
        (site.apart == site.parts && !is_transposed(graph)))
        return ret;
    ret.channels = site.apart_channels;
    for (int32_t i = 0; i < site.parts; i++)
        if (site.part[i].factor > ret.factor)
            ret.factor = site.part[i].factor;
    return ret;
}

void ipex_upsample_split(struct ipex_graph *graph, struct ipex_node *node) {
    struct site site;
    if (find_parts(graph, node, 2, &site))
        take_apart(graph, &site);
    ipex_graph_prune(graph);
}

void ipex_pass_upsample(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        struct site site;
        next = node->next;
        if (!is_convolution(node) || !find_parts(graph, node, 2, &site))
            continue;
        const bool left = ipex_upsample_left(graph, node).channels > 0;
        if (!left || (!is_transposed(graph) && find_parts(graph, node, 3, &site)))
            take_apart(graph, &site);
    }
}
