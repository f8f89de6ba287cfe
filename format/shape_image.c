/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of the operators that make images of another size: conv_transpose, resize,
 * grid_sample. */
#include "format/shape_rules.h"

/* R95: as R67, but pads take away from the output here. */
static enum ipex_status check_attributes(const struct rule *r) {
    const int32_t *ints = r->node->int_;
    for (int i = 0; i < 2; i++) {
        if (!in_range(ints[IPEX_CONV_KERNEL_H + i], 1, IPEX_WINDOW_MAX) ||
            !in_range(ints[IPEX_CONV_STRIDE_H + i], 1, IPEX_WINDOW_MAX) ||
            !in_range(ints[IPEX_CONV_DILATION_H + i], 1, IPEX_WINDOW_MAX))
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a kernel dim, stride or dilation is wrong");
        if (!in_range(ints[IPEX_CONV_PAD_TOP + i], 0, IPEX_WINDOW_MAX) ||
            !in_range(ints[IPEX_CONV_PAD_BOTTOM + i], 0, IPEX_WINDOW_MAX) ||
            !in_range(ints[IPEX_CONV_TRANSPOSE_OUT_PAD_H + i], 0, IPEX_WINDOW_MAX))
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a pad is out of range");
    }
    if (ints[IPEX_CONV_GROUPS] < 1)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "groups below 1");
    return check_act(r, ints[IPEX_CONV_ACT]);
}

/* R96: [G][KH * KW][M/G][1][C/G], and the bias [M] of layout channels. */
static enum ipex_status check_weights(const struct rule *r) {
    const struct ipex_shape_operand *x = operand(r, 0), *w = operand(r, 1), *bias = operand(r, 2);
    const int32_t *ints = r->node->int_;
    const int64_t groups = ints[IPEX_CONV_GROUPS];
    if (!w->constant || (w->dtype != IPEX_DTYPE_f32 && w->dtype != IPEX_DTYPE_bf16) ||
        w->layout != IPEX_LAYOUT_tiles)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR,
                   "the weight is no f32 or bf16 constant of the layout");
    if (w->rank != 5 || x->dims[3] % groups != 0 || w->dims[0] != groups ||
        w->dims[1] != (int64_t)ints[IPEX_CONV_KERNEL_H] * ints[IPEX_CONV_KERNEL_W] ||
        w->dims[3] != 1 || w->dims[4] != x->dims[3] / groups)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the weight's dims do not fit");
    if (!bias)
        return IPEX_OK;
    if (!bias->constant || bias->dtype != IPEX_DTYPE_f32 || bias->layout != IPEX_LAYOUT_channels)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "the bias is no f32 constant of layout channels");
    if (bias->rank != 1 || bias->dims[0] != w->dims[2] * groups)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the bias has not one element per output channel");
    return IPEX_OK;
}

/* R61, R95 to R97 */
enum ipex_status ipex_rule_conv_transpose(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    const int32_t *ints = r->node->int_;
    if (operand(r, 1)->dtype == IPEX_DTYPE_bf16)
        IPEX_TRY(check_f32_or_bf16(r, 0, 4));
    else
        IPEX_TRY(check_f32(r, 0, 4));
    IPEX_TRY(check_attributes(r));
    IPEX_TRY(check_weights(r));
    *y = (struct ipex_shape_operand){.dtype = IPEX_DTYPE_f32, .rank = 4};
    y->dims[0] = x->dims[0];
    for (int i = 0; i < 2; i++) {
        const int64_t stride = ints[IPEX_CONV_STRIDE_H + i], kernel = ints[IPEX_CONV_KERNEL_H + i];
        y->dims[1 + i] = (x->dims[1 + i] - 1) * stride - ints[IPEX_CONV_PAD_TOP + i] -
                         ints[IPEX_CONV_PAD_BOTTOM + i] +
                         ints[IPEX_CONV_DILATION_H + i] * (kernel - 1) + 1 +
                         ints[IPEX_CONV_TRANSPOSE_OUT_PAD_H + i];
        if (y->dims[1 + i] < 1)
            return bad(r, IPEX_ERROR_MODEL_SHAPE, "the pads leave nothing of the output");
    }
    y->dims[3] = operand(r, 1)->dims[2] * ints[IPEX_CONV_GROUPS];
    return IPEX_OK;
}

/* A scale from 2^-32 to 2^32, or 0; by its bits, since comparing a NaN may raise an exception. */
static bool is_scale(float scale) {
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    return bits << 1 == 0 || (bits >= UINT32_C(0x2f800000) && bits <= UINT32_C(0x4f800000));
}

/* R61, R98: the wanted dims are in y. */
enum ipex_status ipex_rule_resize(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    const int32_t *ints = r->node->int_;
    const float *floats = r->node->float_;
    IPEX_TRY(check_f32_or_bytes(r, ints[IPEX_RESIZE_MODE] == IPEX_RESIZE_nearest));
    if (!in_range(ints[IPEX_RESIZE_MODE], 0, IPEX_RESIZE_MODE_COUNT - 1) ||
        !in_range(ints[IPEX_RESIZE_COORDINATES], 0, IPEX_RESIZE_COORDINATES_COUNT - 1) ||
        !in_range(ints[IPEX_RESIZE_ROUNDING], 0, IPEX_RESIZE_ROUNDING_COUNT - 1) ||
        !is_flag(ints[IPEX_RESIZE_EXCLUDE_OUTSIDE]))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a mode is unknown");
    if (!is_scale(floats[IPEX_RESIZE_SCALE_H]) || !is_scale(floats[IPEX_RESIZE_SCALE_W]))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a scale is out of range");
    if (y->rank != 4 || y->dims[0] != x->dims[0] || y->dims[3] != x->dims[3])
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "images or channels change");
    struct ipex_shape_operand out = {.dtype = x->dtype, .rank = 4};
    memcpy(out.dims, y->dims, sizeof out.dims);
    *y = out;
    return IPEX_OK;
}

/* R61, R112, R113 */
enum ipex_status ipex_rule_grid_sample(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0), *grid = operand(r, 1);
    const int32_t *ints = r->node->int_;
    IPEX_TRY(check_f32(r, 0, -1));
    IPEX_TRY(check_f32(r, 1, (int)x->rank));
    if (x->rank != 4 && x->rank != 5)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "an operand has the wrong rank");
    if (!in_range(ints[IPEX_GRID_MODE], 0, IPEX_GRID_MODE_COUNT - 1) ||
        !in_range(ints[IPEX_GRID_PADDING], 0, IPEX_GRID_PADDING_COUNT - 1) ||
        !is_flag(ints[IPEX_GRID_CORNERS_ALIGNED]) ||
        (ints[IPEX_GRID_MODE] == IPEX_GRID_cubic && x->rank == 5))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a mode is unknown");
    if (grid->dims[0] != x->dims[0] || grid->dims[x->rank - 1] != x->rank - 2)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the grid does not fit the images");
    output_like(grid, y);
    y->dims[x->rank - 1] = x->dims[x->rank - 1];
    return IPEX_OK;
}
