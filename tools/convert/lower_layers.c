/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with packed weights: convolutions of every kind and linear layers, each with its bias,
 * residual and activation. */
#include "tools/convert/lower.h"
#include "tools/convert/weight_blocks.h"

#include <string.h>

/* ---- weights ---- */

/* A constant of layout channels. */
static int32_t channels_tensor(struct lower *lower, const struct ipex_node *node, const char *what,
                               int32_t rank, const int64_t *dims, const double *vector) {
    struct ipex_plan_weight w = {
        .name = ipex_arena_printf(lower->plan->arena, "%s.%s", node->output->name, what),
        .dtype = IPEX_DTYPE_f32,
        .layout = IPEX_LAYOUT_channels,
        .rank = rank,
        .recipe = IPEX_RECIPE_vector,
        .vector = vector};
    memcpy(w.dims, dims, (size_t)rank * sizeof *dims);
    return ipex_lower_weight(lower, &w);
}

/* A vector per output; -1: there is none. `times` times, one behind the other. */
static int32_t vector_tensor(struct lower *lower, const struct ipex_node *node, const char *what,
                             const double *values, int64_t times) {
    const int64_t n = node->fold.n * times;
    if (!values)
        return -1;
    double *vector = ipex_arena_array(lower->plan->arena, (size_t)n, sizeof *vector);
    for (int64_t i = 0; i < n; i++)
        vector[i] = values[i % node->fold.n];
    return channels_tensor(lower, node, what, 1, &n, vector);
}

static int32_t bias_tensor(struct lower *lower, const struct ipex_node *node, int64_t times) {
    return vector_tensor(lower, node, "bias", node->fold.bias, times);
}

static int32_t scale_tensor(struct lower *lower, const struct ipex_node *node) {
    return node->integer ? vector_tensor(lower, node, "scale", node->fold.scale, 1) : -1;
}

/* What roundings in between multiply by and add, per output; -1: there are none. */
static int32_t middle_tensor(struct lower *lower, const struct ipex_node *node) {
    const struct ipex_integer_layer *integer = node->integer;
    const int64_t n = node->fold.n;
    if (!integer || integer->middles == 0)
        return -1;
    double *vector =
        ipex_arena_array(lower->plan->arena, (size_t)(integer->middles * 2 * n), sizeof *vector);
    for (int32_t i = 0; i < integer->middles; i++)
        for (int64_t j = 0; j < n; j++) {
            vector[2 * i * n + j] = integer->middle[i].unit[j];
            vector[(2 * i + 1) * n + j] = integer->middle[i].shift[j];
        }
    const int64_t dims[3] = {integer->middles, 2, n};
    return channels_tensor(lower, node, "middle", 3, dims, vector);
}

/* Of a merged layer's weight: of all its parts. */
static const char *weight_name(struct lower *lower, const struct ipex_node *node) {
    const char *name = node->input[1]->name;
    for (int32_t i = 1; i < node->fold.parts; i++)
        name = ipex_graph_join(lower->graph, name, node->fold.part[i].weight->name);
    return name;
}

/* The fold without its factors, which are in a tensor of their own. */
static const struct ipex_fold *unscaled_fold(struct lower *lower, const struct ipex_node *node) {
    struct ipex_fold *ret = ipex_arena_alloc(lower->plan->arena, sizeof *ret);
    *ret = node->fold;
    ret->scale = NULL;
    return ret;
}

static int32_t weight_of(struct lower *lower, const struct ipex_node *node, enum ipex_recipe recipe,
                         enum ipex_layout layout, int32_t rank, const int64_t *dims) {
    struct ipex_plan_weight w = {.name = weight_name(lower, node),
                                 .dtype = node->integer ? IPEX_DTYPE_i8
                                                        : ipex_weight_dtype(lower->graph, node),
                                 .layout = layout,
                                 .rank = rank,
                                 .recipe = recipe,
                                 .source = node->input[1],
                                 .fold = node->integer ? unscaled_fold(lower, node) : &node->fold,
                                 .weight_kn = node->weight_kn};
    memcpy(w.dims, dims, (size_t)rank * sizeof *dims);
    return ipex_lower_weight(lower, &w);
}

static int64_t inner_of(const struct ipex_node *linear) {
    return linear->input[1]->dims[linear->weight_kn ? 0 : 1];
}

/* ---- weights in blocks ---- */

/* Numbers of 8 bits, or of 4, two to a byte. */
static int32_t block_numbers(struct lower *lower, const struct ipex_node *node) {
    const int32_t bits = node->blocks->bits;
    const struct ipex_plan_weight w = {
        .name = weight_name(lower, node),
        .dtype = IPEX_DTYPE_u8,
        .layout = IPEX_LAYOUT_tiles,
        .rank = 2,
        .dims = {node->fold.n, ipex_block_column_bytes(inner_of(node), bits)},
        .recipe = IPEX_RECIPE_block_numbers,
        .source = node->input[1],
        .fold = unscaled_fold(lower, node),
        .weight_kn = node->weight_kn,
        .bits = bits};
    return ipex_lower_weight(lower, &w);
}

/* Scales or zero points; -1: there are none. */
static int32_t block_parameters(struct lower *lower, const struct ipex_node *node, bool scales) {
    if (!scales && !node->blocks->zeros)
        return -1;
    const int64_t block = node->blocks->block, panels = (node->fold.n - 1) / IPEX_PANEL + 1,
                  inner = inner_of(node);
    const struct ipex_plan_weight w = {
        .name = ipex_arena_printf(lower->plan->arena, "%s.%s", weight_name(lower, node),
                                  scales ? "scale" : "zero"),
        .dtype = !scales                                   ? IPEX_DTYPE_u8
                 : ipex_block_scales_fit_bf16(node, inner) ? IPEX_DTYPE_bf16
                                                           : IPEX_DTYPE_f32,
        .layout = IPEX_LAYOUT_plain,
        .rank = 3,
        .dims = {panels, (inner - 1) / block + 1, IPEX_PANEL},
        .recipe = scales ? IPEX_RECIPE_block_scales : IPEX_RECIPE_block_zeros,
        .source = node->input[1],
        .fold = scales ? &node->fold : unscaled_fold(lower, node),
        .weight_kn = node->weight_kn,
        .block = block};
    return ipex_lower_weight(lower, &w);
}

/* ---- steps ---- */

static void set_epilogue(struct lower *lower, const struct ipex_node *node,
                         struct ipex_plan_node *step, int32_t act_at) {
    const struct ipex_integer_layer *integer = node->integer;
    step->int_[act_at] = (int32_t)node->epilogue.act;
    ipex_plan_set_floats(lower->plan, step, integer ? IPEX_INTEGER_ATTRS : IPEX_RESIDUAL_SCALE);
    step->float_[0] = node->epilogue.a;
    step->float_[1] = node->epilogue.b;
    if (!integer)
        return;
    step->float_[IPEX_RESIDUAL_SCALE] = (float)integer->r_scale;
    step->float_[IPEX_Y_SCALE] = (float)integer->y_scale;
    step->float_[IPEX_Y_ZERO] = integer->y_zero;
    for (int32_t i = 0; i < integer->middles; i++) {
        step->float_[IPEX_MIDDLE_CUTS + 2 * i] = (float)integer->middle[i].low;
        step->float_[IPEX_MIDDLE_CUTS + 2 * i + 1] = (float)integer->middle[i].high;
    }
}

/* Bias, residual and scale operands, and those of roundings or zero points, trailing absent ones
 * dropped. */
static void set_operands(struct lower *lower, const struct ipex_node *node,
                         struct ipex_plan_node *step, int32_t x, int32_t w, int32_t bias,
                         int32_t residual) {
    const bool blocks = node->blocks;
    const int32_t scale = blocks ? block_parameters(lower, node, true) : scale_tensor(lower, node),
                  last = blocks ? block_parameters(lower, node, false) : middle_tensor(lower, node);
    const int32_t operand[6] = {x, w, bias, residual, scale, last};
    memcpy(step->input, operand, sizeof operand);
    step->inputs = last >= 0 ? 6 : scale >= 0 ? 5 : residual >= 0 ? 4 : bias >= 0 ? 3 : 2;
}

/* The taps of a kernel row are one segment of the weight. */
static bool joins_taps(const struct ipex_conv *c) {
    return c->groups == 1 && c->dilation[1] == 1;
}

static int32_t conv_weight(struct lower *lower, const struct ipex_node *node) {
    const struct ipex_conv *c = &node->u.conv;
    const int64_t *w = node->input[1]->dims;
    if (ipex_node_is_depthwise(node)) {
        const int64_t dims[3] = {c->kernel[0], c->kernel[1] * w[1], w[0]};
        return weight_of(lower, node, IPEX_RECIPE_depthwise, IPEX_LAYOUT_channels, 3, dims);
    }
    if (c->winograd) {
        const int64_t dims[5] = {1, c->winograd, w[0], 1, w[1]};
        return weight_of(lower, node, IPEX_RECIPE_winograd, IPEX_LAYOUT_tiles, 5, dims);
    }
    if (c->upsampled) {
        const int64_t dims[5] = {1, IPEX_UPSAMPLED_POINTS, w[0], 1, w[1]};
        return weight_of(lower, node, IPEX_RECIPE_winograd, IPEX_LAYOUT_tiles, 5, dims);
    }
    bool joined = joins_taps(c);
    const int64_t dims[5] = {c->groups, joined ? c->kernel[0] : c->kernel[0] * c->kernel[1],
                             w[0] / c->groups, joined ? c->kernel[1] : 1, w[1]};
    return weight_of(lower, node, IPEX_RECIPE_conv, IPEX_LAYOUT_tiles, 5, dims);
}

/* A pixel's channels end where the next pixel's begin: no slice of channels. */
static bool pixels_adjacent(const struct ipex_plan *plan, int32_t tensor) {
    for (; tensor >= 0; tensor = plan->tensor[tensor].view_of)
        if (plan->tensor[tensor].view_axis == 3)
            return false;
    return true;
}

/* What the layer multiplies. */
static enum ipex_dtype read_dtype(const struct lower *lower, const struct ipex_node *node) {
    return node->integer                         ? IPEX_DTYPE_u8
           : ipex_reads_bf16(lower->graph, node) ? IPEX_DTYPE_bf16
                                                 : IPEX_DTYPE_f32;
}

/* The input channels-last with room for the padding and, where a kernel row is read as one segment,
 * without gaps between its pixels. */
static int32_t conv_input(struct lower *lower, const struct ipex_node *node) {
    const struct ipex_conv *c = &node->u.conv;
    const uint16_t halo[4] = {(uint16_t)c->pad[0], (uint16_t)c->pad[1], (uint16_t)c->pad[2],
                              (uint16_t)c->pad[3]};
    struct ipex_value *x = node->input[0];
    const enum ipex_dtype read = read_dtype(lower, node);
    if (ipex_stored_dtype(x) != read)
        return ipex_lower_as(lower, x, read, 4, ipex_channels_last, halo);
    int32_t tensor = ipex_lower_tensor(lower, x, 4, ipex_channels_last, halo);
    if (!joins_taps(c) || c->winograd || c->upsampled || c->kernel[1] == 1 ||
        pixels_adjacent(lower->plan, tensor))
        return tensor;
    int64_t dims[4];
    ipex_physical_dims(x->dims, ipex_channels_last, 4, dims);
    tensor = ipex_lower_materialise(lower, x, tensor, ipex_channels_last, 4, dims,
                                    ipex_channels_last, halo);
    struct variant v = ipex_variant(tensor, 4, ipex_channels_last);
    ipex_lower_add_variant(lower, x, &v); /* the next convolution finds it first */
    return tensor;
}

static enum ipex_op conv_op(const struct ipex_node *node) {
    if (node->u.conv.upsampled)
        return IPEX_OP_upsampled_conv;
    if (node->u.conv.winograd)
        return IPEX_OP_winograd;
    return ipex_node_is_depthwise(node) ? IPEX_OP_depthwise : IPEX_OP_conv;
}

/* The attributes that conv, winograd, depthwise and conv_transpose share, from position 0 on. */
static void set_conv_ints(struct ipex_plan_node *step, const struct ipex_conv *c) {
    for (int i = 0; i < 2; i++) {
        step->int_[IPEX_CONV_KERNEL_H + i] = (int32_t)c->kernel[i];
        step->int_[IPEX_CONV_STRIDE_H + i] = (int32_t)c->stride[i];
        step->int_[IPEX_CONV_DILATION_H + i] = (int32_t)c->dilation[i];
    }
    for (int i = 0; i < 4; i++)
        step->int_[IPEX_CONV_PAD_TOP + i] = (int32_t)c->pad[i];
    step->int_[IPEX_CONV_GROUPS] = (int32_t)c->groups;
}

/* Windows of a transposed convolution that touch and never overlap in a line of y, as upsampling by
 * learned weights has them. */
static bool windows_touch(const struct ipex_conv *c) {
    return c->groups == 1 && c->kernel[1] > 1 && c->kernel[1] == c->stride[1] &&
           c->dilation[1] == 1 && c->pad[1] == 0 && c->pad[3] == 0 && c->out_pad[1] == 0;
}

/* Where windows touch, all that a pixel of x gives to a line of y lies together there, unless y has
 * gaps: the taps of a kernel row can be so many more outputs of one tap, which fill panels and read
 * x once. Every output is the chain that it was. Returns how many taps go together. */
static int64_t taps_together(struct lower *lower, const struct ipex_node *node, int32_t y) {
    const struct ipex_conv *c = &node->u.conv;
    if (!windows_touch(c))
        return 1;
    const bool dense = ipex_plan_is_dense(lower->plan, y);
    ipex_ledger_add(lower->graph->ledger, "layout", node->name,
                    dense ? IPEX_REASON_applied : IPEX_REASON_not_adjacent,
                    dense ? "the taps of a kernel row are one product"
                          : "the taps of a kernel row stay apart: its result is written with gaps");
    return dense ? c->kernel[1] : 1;
}

/* What the step writes: y, or y with the outputs of `together` neighbours in a line as channels. */
static int32_t transposed_output(struct lower *lower, int32_t y, int64_t pixels, int64_t together) {
    int64_t dims[4];
    if (together == 1)
        return y;
    memcpy(dims, lower->plan->tensor[y].dims, sizeof dims);
    dims[2] = pixels;
    dims[3] = ipex_dim_mul(&lower->graph->dims, dims[3], together);
    return ipex_lower_view(lower, y, 4, dims);
}

static void lower_conv_transpose(struct lower *lower, struct ipex_node *node) {
    struct ipex_conv c = node->u.conv;
    const int64_t *w_dims = node->input[1]->dims; /* [C][M/G][KH][KW] */
    int32_t x =
        ipex_lower_as(lower, node->input[0], read_dtype(lower, node), 4, ipex_channels_last, NULL);
    const int32_t own = ipex_lower_own(lower, node->output);
    const int64_t together = taps_together(lower, node, own);
    c.kernel[1] /= together;
    c.stride[1] /= together;
    const int64_t dims[5] = {c.groups, c.kernel[0] * c.kernel[1], w_dims[1] * together, 1,
                             w_dims[0] / c.groups};
    int32_t w = weight_of(lower, node, IPEX_RECIPE_conv_transpose, IPEX_LAYOUT_tiles, 5, dims);
    int32_t bias = bias_tensor(lower, node, together);
    int32_t y = transposed_output(lower, own, node->input[0]->dims[3], together);
    struct ipex_plan_node *step =
        ipex_plan_add_node(lower->plan, IPEX_OP_conv_transpose, node->name, y);
    set_operands(lower, node, step, x, w, bias, -1);
    ipex_plan_set_ints(lower->plan, step, IPEX_CONV_TRANSPOSE_ATTRS);
    set_conv_ints(step, &c);
    step->int_[IPEX_CONV_TRANSPOSE_OUT_PAD_H] = (int32_t)c.out_pad[0];
    step->int_[IPEX_CONV_TRANSPOSE_OUT_PAD_W] = (int32_t)c.out_pad[1];
    set_epilogue(lower, node, step, IPEX_CONV_ACT);
}

void ipex_lower_conv(struct lower *lower, struct ipex_node *node) {
    if (node->u.conv.transposed) {
        lower_conv_transpose(lower, node);
        return;
    }
    int32_t x = conv_input(lower, node);
    int32_t residual = node->epilogue.residual ? ipex_lower_tensor(lower, node->epilogue.residual,
                                                                   4, ipex_channels_last, NULL)
                                               : -1;
    int32_t w = conv_weight(lower, node), bias = bias_tensor(lower, node, 1);
    int32_t y = ipex_lower_own(lower, node->output);
    struct ipex_plan_node *step = ipex_plan_add_node(lower->plan, conv_op(node), node->name, y);
    set_operands(lower, node, step, x, w, bias, residual);
    if (node->u.conv.upsampled) {
        ipex_plan_set_ints(lower->plan, step, IPEX_UPSAMPLED_ATTRS);
        step->int_[IPEX_UPSAMPLED_FACTOR] = node->u.conv.upsampled;
        set_epilogue(lower, node, step, IPEX_UPSAMPLED_ACT);
        return;
    }
    const bool direct = conv_op(node) == IPEX_OP_conv;
    ipex_plan_set_ints(lower->plan, step, direct ? IPEX_CONV_DIRECT_ATTRS : IPEX_CONV_ATTRS);
    set_conv_ints(step, &node->u.conv);
    if (direct)
        step->int_[IPEX_CONV_COLUMNS] = node->u.conv.columns;
    set_epilogue(lower, node, step, IPEX_CONV_ACT);
}

static void set_block_ints(struct lower *lower, const struct ipex_node *node,
                           struct ipex_plan_node *step) {
    ipex_plan_set_ints(lower->plan, step, IPEX_BLOCKS_ATTRS);
    step->int_[IPEX_BLOCKS_BITS] = node->blocks->bits;
    step->int_[IPEX_BLOCKS_SIZE] = (int32_t)node->blocks->block;
    step->int_[IPEX_BLOCKS_BYTES] = node->blocks->bytes;
}

void ipex_lower_linear(struct lower *lower, struct ipex_node *node) {
    const int64_t dims[2] = {node->fold.n, inner_of(node)};
    struct ipex_value *value = node->input[0];
    const int32_t *order = node->output->layout->order, rank = node->output->rank;
    int32_t x = ipex_lower_as(lower, value, read_dtype(lower, node), rank, order, NULL);
    int32_t residual = node->epilogue.residual
                           ? ipex_lower_tensor(lower, node->epilogue.residual, rank, order, NULL)
                           : -1;
    int32_t w = node->blocks
                    ? block_numbers(lower, node)
                    : weight_of(lower, node, IPEX_RECIPE_linear, IPEX_LAYOUT_tiles, 2, dims),
            bias = bias_tensor(lower, node, 1);
    int32_t y = ipex_lower_own(lower, node->output);
    struct ipex_plan_node *step = ipex_plan_add_node(
        lower->plan, node->blocks ? IPEX_OP_linear_blocks : IPEX_OP_linear, node->name, y);
    set_operands(lower, node, step, x, w, bias, residual);
    if (node->blocks)
        set_block_ints(lower, node, step);
    else
        ipex_plan_set_ints(lower->plan, step, 1);
    set_epilogue(lower, node, step, node->blocks ? IPEX_BLOCKS_ACT : 0);
}
