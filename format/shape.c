/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules: one function per operator of format/ops.inc, which states them in words. The rule
 * numbers are those of format/FORMAT.md. */
#include "format/shape_rules.h"

/* linear and conv have kernels for bf16. */
static bool takes_bf16(const struct rule *r) {
    return r->node->op == IPEX_OP_linear || r->node->op == IPEX_OP_conv;
}

/* linear, conv or depthwise: of u8 by i8. */
static bool is_integer(const struct rule *r) {
    return (takes_bf16(r) || r->node->op == IPEX_OP_depthwise) &&
           operand(r, 1)->dtype == IPEX_DTYPE_i8;
}

/* R62: operand 1, constant, in the layout that the kernel consumes. */
static enum ipex_status check_weight(const struct rule *r, enum ipex_layout layout, int rank) {
    const struct ipex_shape_operand *w = operand(r, 1);
    const bool half = (takes_bf16(r) && w->dtype == IPEX_DTYPE_bf16) ||
                      (r->node->op == IPEX_OP_linear && w->dtype == IPEX_DTYPE_f16);
    if (!w->constant || (w->dtype != IPEX_DTYPE_f32 && !half && !is_integer(r)) ||
        w->layout != layout)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR,
                   "the weight is of another layout or dtype, or no constant");
    if (w->rank != rank)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the weight has the wrong rank");
    return IPEX_OK;
}

/* R60: as many floats as linear, conv and depthwise have. */
static enum ipex_status check_floats(const struct rule *r) {
    if (r->node->floats != (is_integer(r) ? IPEX_INTEGER_ATTRS : IPEX_RESIDUAL_SCALE))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "wrong number of attributes");
    return IPEX_OK;
}

static bool is_channels(const struct ipex_shape_operand *v) {
    return v->constant && v->dtype == IPEX_DTYPE_f32 && v->layout == IPEX_LAYOUT_channels;
}

/* R63: a bias or scale: none or a constant of one element per output channel. */
static enum ipex_status check_vector(const struct rule *r, uint32_t i, int64_t channels) {
    const struct ipex_shape_operand *v = operand(r, i);
    if (!v)
        return IPEX_OK;
    if (!is_channels(v))
        return bad(r, IPEX_ERROR_MODEL_OPERATOR,
                   i == 2 ? "the bias is no f32 constant of layout channels"
                          : "the scale is no f32 constant of layout channels");
    if (v->rank != 1 || v->dims[0] != channels)
        return bad(r, IPEX_ERROR_MODEL_SHAPE,
                   i == 2 ? "the bias has not one element per output channel"
                          : "the scale has not M elements");
    return IPEX_OK;
}

/* R119: what is between the sum and the residual: none or a constant of two elements per output
 * channel for each of few roundings. */
static enum ipex_status check_middle(const struct rule *r, int64_t channels) {
    const struct ipex_shape_operand *v = operand(r, 5);
    if (!v)
        return IPEX_OK;
    if (!is_channels(v))
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "middle is no f32 constant of layout channels");
    if (v->rank != 3 || v->dims[0] > IPEX_MIDDLES || v->dims[1] != 2 || v->dims[2] != channels)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "middle has not up to 3 by 2 by M elements");
    return IPEX_OK;
}

static enum ipex_status check_bias(const struct rule *r, int64_t channels) {
    return check_vector(r, 2, channels);
}

/* Groups of depthwise in i8 that are taken in sets. */
static bool has_sets(const struct rule *r) {
    const int64_t groups = r->node->int_[IPEX_CONV_GROUPS], outputs = operand(r, 1)->dims[2];
    return is_integer(r) &&
           ipex_has_sets(operand(r, 0)->dims[3] / groups, outputs / groups, outputs);
}

/* R118: depthwise in u8 and i8 has groups of one channel, 8 or more, or sets, and few products. */
static enum ipex_status check_depthwise_integers(const struct rule *r) {
    const int64_t *w = operand(r, 1)->dims;
    const bool each =
        r->node->int_[IPEX_CONV_GROUPS] == w[2] && w[2] >= IPEX_INTEGER_LEAST_CHANNELS;
    if (!each && !has_sets(r))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE,
                   "i8 of groups of other sizes, or of few channels");
    return w[0] * w[1] > IPEX_INTEGER_MOST_K
               ? bad(r, IPEX_ERROR_MODEL_SHAPE, "too few or too many products")
               : IPEX_OK;
}

/* R117: a scale where products are of u8 and i8, so few that their sum is exact, of segments of
 * four elements or more; none, and no scales of residual and y, elsewhere. */
static enum ipex_status check_scales(const struct rule *r, int64_t channels, uint8_t wanted) {
    const struct ipex_shape_operand *w = operand(r, 1);
    const int64_t k = w->rank == 5 ? w->dims[3] * w->dims[4] : w->dims[1];
    const int64_t segments = w->rank == 5 ? w->dims[1] : 1;
    if (!is_integer(r))
        return operand(r, 4) || operand(r, 5)
                   ? bad(r, IPEX_ERROR_MODEL_OPERATOR, "a scale or middle without i8")
                   : IPEX_OK;
    IPEX_TRY(check_numbers(r, IPEX_RESIDUAL_SCALE));
    if (wanted == IPEX_DTYPE_u8 && float_exponent(r->node->float_[IPEX_Y_SCALE]) == 0)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "u8 without a y scale");
    if (!operand(r, 4))
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "i8 without a scale");
    if (w->rank == 3)
        IPEX_TRY(check_depthwise_integers(r));
    else if (k < IPEX_INTEGER_LEAST_K || k > IPEX_INTEGER_MOST_K / segments)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "too few or too many products");
    IPEX_TRY(check_vector(r, 4, channels));
    return check_middle(r, channels);
}

/* linear, or conv: x is bf16. */
static bool multiplies_bf16(const struct rule *r) {
    return takes_bf16(r) && operand(r, 0)->dtype == IPEX_DTYPE_bf16;
}

/* R116: what is wanted, where the operator rounds its results. */
static uint8_t result_dtype(const struct rule *r, uint8_t wanted) {
    const bool by_columns = r->node->op == IPEX_OP_conv && r->node->int_[IPEX_CONV_COLUMNS];
    const bool rounds = r->node->op == IPEX_OP_depthwise || (multiplies_bf16(r) && !by_columns);
    if (is_integer(r))
        return wanted == IPEX_DTYPE_u8 ? IPEX_DTYPE_u8 : IPEX_DTYPE_f32;
    return wanted == IPEX_DTYPE_bf16 && rounds ? IPEX_DTYPE_bf16 : IPEX_DTYPE_f32;
}

/* R61, R64: operand 3, none or shaped as the output. */
static enum ipex_status check_residual(const struct rule *r, const struct ipex_shape_operand *y) {
    if (!operand(r, 3))
        return IPEX_OK;
    if (!is_integer(r) || operand(r, 3)->dtype != IPEX_DTYPE_u8)
        IPEX_TRY(multiplies_bf16(r) ? check_f32_or_bf16(r, 3, -1) : check_f32(r, 3, -1));
    else if (operand(r, 3)->constant)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "a residual in u8 is a constant");
    if (!same_dims(operand(r, 3), y))
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the residual's dims are not the output's");
    return IPEX_OK;
}

/* R61: x is f32 or, where the weight is bf16 too, bf16, or, where it is i8, u8. */
static enum ipex_status check_product_x(const struct rule *r, int rank) {
    const struct ipex_shape_operand *x = operand(r, 0), *w = operand(r, 1);
    if (is_integer(r)) {
        if (x->dtype != IPEX_DTYPE_u8 || x->constant)
            return bad(r, IPEX_ERROR_MODEL_OPERATOR, "x is no u8, or a constant");
        return rank >= 0 && x->rank != rank ? bad(r, IPEX_ERROR_MODEL_SHAPE, "x has the wrong rank")
                                            : IPEX_OK;
    }
    if (!takes_bf16(r) || w->dtype != IPEX_DTYPE_bf16)
        return check_f32(r, 0, rank);
    return check_f32_or_bf16(r, 0, rank);
}

/* R63 to R65: x [..., K] by N columns, bias, residual -> y [..., N] */
static enum ipex_status linear_output(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    const int64_t n = operand(r, 1)->dims[0];
    *y = (struct ipex_shape_operand){.dtype = result_dtype(r, y->dtype), .rank = x->rank};
    memcpy(y->dims, x->dims, sizeof y->dims);
    y->dims[x->rank - 1] = n;
    IPEX_TRY(check_bias(r, n));
    return check_residual(r, y);
}

/* R65: w [N][K] */
enum ipex_status ipex_rule_linear(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0), *w = operand(r, 1);
    IPEX_TRY(check_floats(r));
    IPEX_TRY(check_product_x(r, -1));
    IPEX_TRY(check_weight(r, IPEX_LAYOUT_tiles, 2));
    IPEX_TRY(check_act(r, r->node->int_[0]));
    if (x->rank < 1 || x->dims[x->rank - 1] != w->dims[1])
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the last dim of x is not the weight's K");
    IPEX_TRY(linear_output(r, y));
    return check_scales(r, w->dims[0], y->dtype);
}

/* R121: operand i is a constant of this dtype, f32 of any floats, of this layout and these dims. */
static enum ipex_status check_part(const struct rule *r, uint32_t i, enum ipex_dtype dtype,
                                   enum ipex_layout layout, int rank, const int64_t *dims) {
    const struct ipex_shape_operand *v = operand(r, i);
    const bool halved = v && dtype == IPEX_DTYPE_f32 && v->dtype == IPEX_DTYPE_bf16;
    if (!v || !v->constant || (v->dtype != dtype && !halved) || v->layout != layout)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR,
                   "the weight, scale or zero is of another layout or dtype, or no constant");
    if (v->rank != rank || memcmp(v->dims, dims, (size_t)rank * sizeof *dims) != 0)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the dims of the weight, scale or zero do not fit");
    return IPEX_OK;
}

/* R65, R121, R122: w [N][bytes of K], scale and zero [ceil(N / 16)][ceil(K / block)][16] */
enum ipex_status ipex_rule_linear_blocks(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    const int32_t *ints = r->node->int_, block = ints[IPEX_BLOCKS_SIZE];
    const int32_t bits = ints[IPEX_BLOCKS_BITS];
    IPEX_TRY(check_f32(r, 0, -1));
    IPEX_TRY(check_act(r, ints[IPEX_BLOCKS_ACT]));
    if ((bits != 4 && bits != 8) || block % IPEX_BLOCK_LEAST != 0 ||
        !in_range(block, IPEX_BLOCK_LEAST, IPEX_BLOCK_MOST) || !is_flag(ints[IPEX_BLOCKS_BYTES]))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "bits, block or bytes is out of range");
    if (x->rank < 1)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "a scalar has no last axis");
    const int64_t n = operand(r, 1)->dims[0], k = x->dims[x->rank - 1];
    const int64_t panels = (n + IPEX_PANEL - 1) / IPEX_PANEL, blocks = (k + block - 1) / block;
    const int64_t w[] = {n, ipex_block_column_bytes(k, bits)},
                  scale[] = {panels, blocks, IPEX_PANEL};
    IPEX_TRY(check_part(r, 1, IPEX_DTYPE_u8, IPEX_LAYOUT_tiles, 2, w));
    IPEX_TRY(check_part(r, 4, IPEX_DTYPE_f32, IPEX_LAYOUT_plain, 3, scale));
    if (operand(r, 5))
        IPEX_TRY(check_part(r, 5, IPEX_DTYPE_u8, IPEX_LAYOUT_plain, 3, scale));
    return linear_output(r, y);
}

/* One spatial axis of a window operator. */
struct window {
    int64_t size, kernel, stride, dilation, before, after;
    bool ceil;
};

/* R66: number of window positions. With ceil, a last window that would start beyond the input and
 * its leading padding is dropped. */
static enum ipex_status count_windows(const struct rule *r, const struct window *w, int64_t *ret) {
    int64_t room = w->size + w->before + w->after - w->dilation * (w->kernel - 1) - 1;
    if (room < 0)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the kernel is larger than its padded input");
    int64_t count = room / w->stride + 1;
    if (w->ceil && room % w->stride != 0 && count * w->stride < w->size + w->before)
        count++;
    *ret = count;
    return IPEX_OK;
}

/* R67: attributes 0..9 are shared by convolutions and pools. */
static enum ipex_status check_window_attributes(const struct rule *r, int64_t pad_max) {
    const int32_t *ints = r->node->int_;
    for (int i = IPEX_CONV_KERNEL_H; i <= IPEX_CONV_STRIDE_W; i++)
        if (!in_range(ints[i], 1, IPEX_WINDOW_MAX))
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a kernel dim or stride is out of range");
    for (int i = IPEX_CONV_PAD_TOP; i <= IPEX_CONV_PAD_RIGHT; i++)
        if (!in_range(ints[i], 0, pad_max))
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a pad is out of range");
    for (int i = IPEX_CONV_DILATION_H; i <= IPEX_CONV_DILATION_W; i++)
        if (!in_range(ints[i], 1, IPEX_WINDOW_MAX))
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a dilation is out of range");
    return IPEX_OK;
}
_Static_assert((int)IPEX_CONV_PAD_TOP == (int)IPEX_POOL_PAD_TOP &&
                   (int)IPEX_CONV_DILATION_W == (int)IPEX_POOL_DILATION_W,
               "convolutions and pools share the places of their first ten attributes");

/* Axis 0 is H, 1 is W. */
static struct window window_of(const struct rule *r, int axis, bool ceil) {
    const int32_t *ints = r->node->int_;
    return (struct window){.size = operand(r, 0)->dims[1 + axis],
                           .kernel = ints[IPEX_CONV_KERNEL_H + axis],
                           .stride = ints[IPEX_CONV_STRIDE_H + axis],
                           .dilation = ints[IPEX_CONV_DILATION_H + axis],
                           .before = ints[IPEX_CONV_PAD_TOP + axis],
                           .after = ints[IPEX_CONV_PAD_BOTTOM + axis],
                           .ceil = ceil};
}

static enum ipex_status window_output(const struct rule *r, bool ceil, int64_t channels,
                                      struct ipex_shape_operand *y) {
    struct window h = window_of(r, 0, ceil), w = window_of(r, 1, ceil);
    *y = (struct ipex_shape_operand){.dtype = result_dtype(r, y->dtype), .rank = 4};
    y->dims[0] = operand(r, 0)->dims[0];
    y->dims[3] = channels;
    IPEX_TRY(count_windows(r, &h, &y->dims[1]));
    return count_windows(r, &w, &y->dims[2]);
}

/* R68: convolutions have no border code: what they pad must be there. */
static enum ipex_status check_halo(const struct rule *r) {
    for (int side = 0; side < 4; side++)
        if (operand(r, 0)->halo[side] < r->node->int_[IPEX_CONV_PAD_TOP + side])
            return bad(r, IPEX_ERROR_MODEL_SHAPE, "the halo of x is smaller than the padding");
    return IPEX_OK;
}

/* R69: [G][segments][M/G][taps][C/G]; a kernel row is one segment where its taps are neighbours in
 * memory (format/tile.h). */
static enum ipex_status check_conv_weight(const struct rule *r, int64_t groups) {
    const int32_t *ints = r->node->int_;
    const int64_t *x = operand(r, 0)->dims, *w = operand(r, 1)->dims;
    bool rows = groups == 1 && ints[IPEX_CONV_DILATION_W] == 1;
    int64_t kernel_h = ints[IPEX_CONV_KERNEL_H], kernel_w = ints[IPEX_CONV_KERNEL_W];
    if (x[3] % groups != 0)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "groups do not divide the channels");
    if (w[0] != groups || w[1] != (rows ? kernel_h : kernel_h * kernel_w) ||
        w[3] != (rows ? kernel_w : 1) || w[4] != x[3] / groups)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the weight's dims do not fit");
    return IPEX_OK;
}

/* R69: a column is whole pairs of bf16 in rows that are one segment. */
static enum ipex_status check_columns(const struct rule *r) {
    const int32_t *ints = r->node->int_;
    if (ints[IPEX_CONV_COLUMNS] != 0 &&
        (ints[IPEX_CONV_COLUMNS] != 1 || ints[IPEX_CONV_GROUPS] != 1 || is_integer(r) ||
         ints[IPEX_CONV_DILATION_W] != 1 || operand(r, 0)->dims[3] % 2 != 0))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "columns do not fit the convolution");
    return IPEX_OK;
}

/* R69: the transformed kernels, 36, 16 or 6 elements per pair of channels. */
static enum ipex_status check_winograd_weight(const struct rule *r) {
    const int64_t *w = operand(r, 1)->dims;
    const int32_t *ints = r->node->int_;
    if (w[0] != 1 ||
        ipex_winograd_side(ints[IPEX_CONV_KERNEL_H], ints[IPEX_CONV_KERNEL_W], w[1]) == 0 ||
        w[3] != 1 || w[4] != operand(r, 0)->dims[3])
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the weight's dims do not fit");
    return IPEX_OK;
}

static enum ipex_status check_winograd_attributes(const struct rule *r) {
    const int32_t *ints = r->node->int_;
    const int32_t kernel_h = ints[IPEX_CONV_KERNEL_H], kernel_w = ints[IPEX_CONV_KERNEL_W];
    const bool line = ipex_winograd_side(kernel_h, kernel_w, 6) > 0;
    const bool square = ipex_winograd_side(kernel_h, kernel_w, IPEX_WINOGRAD_POINTS_MAX) > 0;
    if ((!line && !square) || ints[IPEX_CONV_STRIDE_H] != 1 || ints[IPEX_CONV_STRIDE_W] != 1 ||
        ints[IPEX_CONV_GROUPS] != 1)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "no kernel that has tiles, or strides or groups");
    return IPEX_OK;
}

enum ipex_status ipex_rule_conv(const struct rule *r, struct ipex_shape_operand *y) {
    int64_t groups = r->node->int_[IPEX_CONV_GROUPS];
    bool winograd = r->node->op == IPEX_OP_winograd;
    if (!winograd)
        IPEX_TRY(check_floats(r));
    IPEX_TRY(check_product_x(r, 4));
    IPEX_TRY(check_weight(r, IPEX_LAYOUT_tiles, 5));
    IPEX_TRY(check_window_attributes(r, IPEX_HALO_MAX));
    IPEX_TRY(check_act(r, r->node->int_[IPEX_CONV_ACT]));
    if (groups < 1)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "groups below 1");
    IPEX_TRY(winograd ? check_winograd_attributes(r) : check_columns(r));
    IPEX_TRY(winograd ? check_winograd_weight(r) : check_conv_weight(r, groups));
    IPEX_TRY(check_halo(r));
    IPEX_TRY(window_output(r, false, operand(r, 1)->dims[2] * groups, y));
    IPEX_TRY(check_bias(r, y->dims[3]));
    if (!winograd)
        IPEX_TRY(check_scales(r, y->dims[3], y->dtype));
    return check_residual(r, y);
}

enum ipex_status ipex_rule_winograd(const struct rule *r, struct ipex_shape_operand *y) {
    return ipex_rule_conv(r, y);
}

/* R114, R115: x with a halo of 1, w [1][9][M][1][C] -> y of factor times its lines and pixels */
enum ipex_status ipex_rule_upsampled_conv(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    const int64_t factor = r->node->int_[IPEX_UPSAMPLED_FACTOR];
    IPEX_TRY(check_f32(r, 0, 4));
    IPEX_TRY(check_weight(r, IPEX_LAYOUT_tiles, 5));
    IPEX_TRY(check_act(r, r->node->int_[IPEX_UPSAMPLED_ACT]));
    if (!in_range(factor, 2, IPEX_UPSAMPLED_FACTOR_MAX))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "the factor is out of range");
    const int64_t *w = operand(r, 1)->dims;
    if (w[0] != 1 || w[1] != IPEX_UPSAMPLED_POINTS || w[3] != 1 || w[4] != x->dims[3])
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the weight's dims do not fit");
    for (int side = 0; side < 4; side++)
        if (x->halo[side] < 1)
            return bad(r, IPEX_ERROR_MODEL_SHAPE, "the halo of x is smaller than the padding");
    *y = (struct ipex_shape_operand){.dtype = IPEX_DTYPE_f32, .rank = 4};
    y->dims[0] = x->dims[0];
    y->dims[3] = w[2];
    for (int axis = 1; axis <= 2; axis++)
        if (__builtin_mul_overflow(x->dims[axis], factor, &y->dims[axis]))
            return bad(r, IPEX_ERROR_MODEL_SHAPE, "the output is too large");
    IPEX_TRY(check_bias(r, y->dims[3]));
    return check_residual(r, y);
}

/* R70: w [KH][KW * I][M] where each group takes I inputs to M / groups outputs */
enum ipex_status ipex_rule_depthwise(const struct rule *r, struct ipex_shape_operand *y) {
    const int32_t *ints = r->node->int_;
    IPEX_TRY(check_floats(r));
    IPEX_TRY(check_product_x(r, 4));
    IPEX_TRY(check_weight(r, IPEX_LAYOUT_channels, 3));
    IPEX_TRY(check_window_attributes(r, IPEX_HALO_MAX));
    IPEX_TRY(check_act(r, ints[IPEX_CONV_ACT]));
    const int64_t *x = operand(r, 0)->dims, *w = operand(r, 1)->dims;
    const int64_t groups = ints[IPEX_CONV_GROUPS];
    if (groups < 1 || x[3] % groups != 0 || w[2] % groups != 0 ||
        (!ipex_is_narrow(x[3] / groups, w[2] / groups) && !has_sets(r)))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE,
                   "groups are not narrow ones that divide the channels");
    if (w[0] != ints[IPEX_CONV_KERNEL_H] || w[1] != ints[IPEX_CONV_KERNEL_W] * (x[3] / groups))
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the weight's dims do not fit");
    IPEX_TRY(check_halo(r));
    IPEX_TRY(window_output(r, false, w[2], y));
    IPEX_TRY(check_bias(r, w[2]));
    IPEX_TRY(check_scales(r, w[2], y->dtype));
    return check_residual(r, y);
}

/* R71: every window holds at least one position of x, so that a maximum has a first and a mean no
 * zero divisor. A window starts at most `before` ahead of x and its taps are `dilation` apart: with
 * padding no wider than the kernel reaches, and steps no wider than x, one tap lies in x. */
static enum ipex_status check_pool_padding(const struct rule *r, const struct window *w) {
    int64_t reach = w->dilation * (w->kernel - 1);
    if (w->before > reach || w->after > reach)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a pad is wider than the kernel reaches");
    if (w->before > 0 && w->dilation > w->size)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a dilation is wider than the padded input");
    return IPEX_OK;
}

static enum ipex_status pool_rule(const struct rule *r, struct ipex_shape_operand *y) {
    const int32_t *ints = r->node->int_;
    IPEX_TRY(check_f32_or_bytes(r, r->node->op == IPEX_OP_max_pool));
    IPEX_TRY(check_window_attributes(r, IPEX_WINDOW_MAX));
    if (!in_range(ints[IPEX_POOL_CEIL], 0, 1) || !in_range(ints[IPEX_POOL_COUNT_PAD], 0, 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a flag is neither 0 nor 1");
    for (int axis = 0; axis < 2; axis++) {
        struct window w = window_of(r, axis, false);
        IPEX_TRY(check_pool_padding(r, &w));
    }
    IPEX_TRY(window_output(r, ints[IPEX_POOL_CEIL] == 1, operand(r, 0)->dims[3], y));
    y->dtype = operand(r, 0)->dtype;
    return IPEX_OK;
}

enum ipex_status ipex_rule_max_pool(const struct rule *r, struct ipex_shape_operand *y) {
    return pool_rule(r, y);
}

enum ipex_status ipex_rule_avg_pool(const struct rule *r, struct ipex_shape_operand *y) {
    return pool_rule(r, y);
}

/* R72: an operand is an input, a constant, or the result of an earlier step. */
static bool step_operand_ok(const struct rule *r, int32_t code, int32_t step) {
    if (code < 0)
        return -1 - (int64_t)code < r->node->floats;
    if (code < IPEX_POINTWISE_RESULT)
        return code < IPEX_POINTWISE_INPUTS && (uint32_t)code < r->node->inputs;
    return code - IPEX_POINTWISE_RESULT < step;
}

static enum ipex_status check_program(const struct rule *r) {
    uint32_t steps = r->node->ints / 3;
    if (r->node->ints % 3 != 0 || steps < 1 || steps > IPEX_POINTWISE_STEPS ||
        r->node->floats > IPEX_POINTWISE_CONSTANTS)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "wrong number of steps or constants");
    for (uint32_t i = 0; i < steps; i++) {
        const int32_t *step = r->node->int_ + 3 * i;
        if (!in_range(step[0], 0, IPEX_STEP_COUNT - 1))
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "unknown step");
        if (!step_operand_ok(r, step[1], (int32_t)i) || !step_operand_ok(r, step[2], (int32_t)i))
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a step's operand does not exist");
        if (ipex_step_operands(step[0]) == 1 && step[2] != step[1])
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "operand b of a unary step is not a");
    }
    return IPEX_OK;
}

/* R73; R116: of bytes or of f32, as is wanted. */
enum ipex_status ipex_rule_pointwise(const struct rule *r, struct ipex_shape_operand *y) {
    IPEX_TRY(check_program(r));
    *y = (struct ipex_shape_operand){.dtype = y->dtype == IPEX_DTYPE_u8 ? IPEX_DTYPE_u8
                                                                        : IPEX_DTYPE_f32};
    for (uint32_t i = 0; i < r->node->inputs; i++) {
        if (!operand(r, i))
            return bad(r, IPEX_ERROR_MODEL_OPERATOR, "an operand is absent");
        if (operand(r, i)->dtype != IPEX_DTYPE_u8 || operand(r, i)->constant)
            IPEX_TRY(check_f32(r, i, -1));
        if (!broadcast(y, operand(r, i)))
            return bad(r, IPEX_ERROR_MODEL_SHAPE, "the operands do not broadcast together");
    }
    return IPEX_OK;
}

/* R78 */
enum ipex_status ipex_rule_softmax(const struct rule *r, struct ipex_shape_operand *y) {
    IPEX_TRY(check_f32(r, 0, -1));
    if (operand(r, 0)->rank < 1)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "a scalar has no last axis");
    return ipex_rule_copy(r, y);
}

/* R79 */
enum ipex_status ipex_rule_reduce(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    int32_t kind = r->node->int_[0], axes = r->node->int_[1];
    const bool bytes = x->dtype == IPEX_DTYPE_u8 && !x->constant && kind == IPEX_REDUCE_mean;
    int64_t reduced = 1;
    if (!bytes)
        IPEX_TRY(check_f32(r, 0, -1));
    if (!in_range(kind, 0, IPEX_REDUCE_COUNT - 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "unknown kind");
    if (!in_range(axes, 1, (INT64_C(1) << x->rank) - 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "no axis, or one beyond the rank");
    *y = (struct ipex_shape_operand){.dtype = IPEX_DTYPE_f32, .rank = x->rank};
    for (int i = 0; i < x->rank; i++) {
        y->dims[i] = (axes >> i & 1) != 0 ? 1 : x->dims[i];
        reduced *= x->dims[i] / y->dims[i];
    }
    if (bytes && reduced > IPEX_INTEGER_MOST_K)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the sum of so many bytes is not exact");
    return IPEX_OK;
}

#define IPEX_OP(id, name, min_in, max_in, n_out, n_ints, n_floats)                                 \
    _Static_assert(n_out >= 1 && n_out <= IPEX_OUTPUTS_MAX && max_in <= IPEX_MAX_RANK, #name);
#include "format/ops.inc"

/* No table: pointers would be 32 bytes of relocation each. */
static enum ipex_status apply(const struct rule *r, struct ipex_shape_operand *y) {
    switch (r->node->op) {
#define IPEX_OP(id, name, min_in, max_in, n_out, n_ints, n_floats)                                 \
    case id:                                                                                       \
        return ipex_rule_##name(r, y);
#include "format/ops.inc"
    default:
        return IPEX_ERROR_MODEL_OPERATOR; /* ipex_op_info() knows those above alone */
    }
}

/* R60: as many operands and attributes as the table says, the first min_inputs of them present. */
static enum ipex_status check_arity(const struct rule *r, const struct ipex_op_info *op) {
    const struct ipex_shape_node *node = r->node;
    if (node->inputs < op->min_inputs || node->inputs > op->max_inputs)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "wrong number of operands");
    for (uint32_t i = 0; i < op->min_inputs; i++)
        if (!node->input[i])
            return bad(r, IPEX_ERROR_MODEL_OPERATOR, "an operand is absent");
    if ((op->ints != IPEX_ANY && node->ints != op->ints) ||
        (op->floats != IPEX_ANY && node->floats != op->floats))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "wrong number of attributes");
    return IPEX_OK;
}

enum ipex_status ipex_shape_infer(const struct ipex_shape_node *node,
                                  struct ipex_shape_operand *ret_output,
                                  const struct ipex_report *report) {
    const struct ipex_op_info *op = ipex_op_info(node->op);
    if (!op)
        return ipex_fail(report, IPEX_ERROR_MODEL_OPERATOR, "operator %u is unknown", node->op);
    struct rule r = {node, op->name, report};
    struct ipex_shape_operand y[IPEX_OUTPUTS_MAX];
    int64_t numel = 0;
    memcpy(y, ret_output, op->outputs * sizeof y[0]); /* the wanted dims of a slice */
    IPEX_TRY(check_arity(&r, op));
    IPEX_TRY(apply(&r, y));
    for (uint32_t i = 0; i < op->outputs; i++)
        if (!ipex_numel(y[i].dims, y[i].rank, &numel))
            return bad(&r, IPEX_ERROR_MODEL_SHAPE, "the output is over the format's limits");
    memcpy(ret_output, y, op->outputs * sizeof y[0]);
    return IPEX_OK;
}
