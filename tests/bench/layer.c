/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes are read in the order of format/ops.inc. */
#include "tests/bench/layer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t product(const int64_t *dims, int from, int to) {
    int64_t ret = 1;
    for (int i = from; i < to; i++)
        ret *= dims[i];
    return ret;
}

/* Attributes of a convolution in the order of format/ops.inc. */
static void set_window(struct onednn_layer *l, const int32_t *ints) {
    l->kernel_h = ints[0], l->kernel_w = ints[1];
    l->stride_h = ints[2], l->stride_w = ints[3];
    l->pad_top = ints[4], l->pad_left = ints[5];
    l->pad_bottom = ints[6], l->pad_right = ints[7];
    l->dilation_h = ints[8], l->dilation_w = ints[9];
    l->groups = ints[10];
    l->act = ints[11];
}

static void set_conv(struct onednn_layer *l, const struct ipex_tensor_info *x,
                     const struct ipex_tensor_info *y, const int32_t *ints) {
    set_window(l, ints);
    l->images = x->dims[0], l->height = x->dims[1], l->width = x->dims[2];
    l->channels = x->dims[3];
    l->out_height = y->dims[1], l->out_width = y->dims[2], l->n = y->dims[3];
}

/* oneDNN wants the padding from which its rule gives y's size. */
static void fit_padding(struct onednn_layer *l) {
    if (l->kind == ONEDNN_CONV) {
        l->pad_bottom = (l->out_height - 1) * l->stride_h + (l->kernel_h - 1) * l->dilation_h + 1 -
                        l->height - l->pad_top;
        l->pad_right = (l->out_width - 1) * l->stride_w + (l->kernel_w - 1) * l->dilation_w + 1 -
                       l->width - l->pad_left;
    } else {
        l->pad_bottom = (l->height - 1) * l->stride_h + (l->kernel_h - 1) * l->dilation_h + 1 -
                        l->out_height - l->pad_top;
        l->pad_right = (l->width - 1) * l->stride_w + (l->kernel_w - 1) * l->dilation_w + 1 -
                       l->out_width - l->pad_left;
    }
}

static void set_linear(struct onednn_layer *l, const struct ipex_tensor_info *x,
                       const struct ipex_tensor_info *y, const int32_t *ints) {
    l->kind = ONEDNN_MATMUL;
    l->constant = true;
    l->act = ints[0];
    l->batch = 1;
    l->k = x->dims[x->rank - 1];
    l->m = product(x->dims, 0, x->rank - 1);
    l->inner = y->dims[y->rank - 1];
}

static void set_matmul(struct onednn_layer *l, const struct ipex_tensor_info *a,
                       const struct ipex_tensor_info *y, const int32_t *ints) {
    l->kind = ONEDNN_MATMUL;
    l->transposed = ints[0] != 0;
    l->batch = product(y->dims, 0, y->rank - 2);
    l->k = a->dims[a->rank - 1];
    l->m = y->dims[y->rank - 2];
    l->inner = y->dims[y->rank - 1];
}

bool layer_of_node(const struct ipex_image_entry *entry, struct ipex_fb_node node,
                   struct onednn_layer *l) {
    const int32_t *inputs = ipex_fb_node_inputs(node), *ints = ipex_fb_node_ints(node);
    const uint32_t op = ipex_fb_node_op(node), n_inputs = ipex_fb_node_inputs_len(node);
    const struct ipex_tensor_info *x = &entry->tensor[inputs[0]];
    const struct ipex_tensor_info *y = &entry->tensor[ipex_fb_node_outputs(node)[0]];
    memset(l, 0, sizeof *l);
    if (x->dtype != IPEX_DTYPE_f32)
        return false;
    switch (op) {
    case IPEX_OP_conv:
    case IPEX_OP_depthwise:
    case IPEX_OP_winograd:
        l->kind = ONEDNN_CONV;
        set_conv(l, x, y, ints);
        fit_padding(l);
        break;
    case IPEX_OP_conv_transpose:
        l->kind = ONEDNN_CONV_TRANSPOSE;
        set_conv(l, x, y, ints);
        fit_padding(l);
        break;
    case IPEX_OP_linear:
        set_linear(l, x, y, ints);
        break;
    case IPEX_OP_linear_blocks:
        set_linear(l, x, y, ints);
        l->act = ints[IPEX_BLOCKS_ACT];
        l->bits = ints[IPEX_BLOCKS_BITS];
        break;
    case IPEX_OP_matmul:
        set_matmul(l, x, y, ints);
        return true;
    default:
        return false;
    }
    l->act_a = ipex_fb_node_floats(node)[0];
    l->act_b = ipex_fb_node_floats(node)[1];
    l->residual = n_inputs > 3 && inputs[3] >= 0;
    return true;
}

const char *layer_text(const struct onednn_layer *l, char ret[LAYER_TEXT]) {
    char stride[48] = "", groups[24] = "", bits[24] = "";
    if (l->kind == ONEDNN_MATMUL) {
        snprintf(groups, sizeof groups, "%" PRId64 "x", l->batch);
        if (l->bits)
            snprintf(bits, sizeof bits, " of %" PRId32 " bits", l->bits);
        snprintf(ret, LAYER_TEXT, "%s%" PRId64 "x%" PRId64 " x %" PRId64 "%s",
                 l->batch > 1 ? groups : "", l->m, l->k, l->inner, bits);
        return ret;
    }
    if (l->stride_h != l->stride_w)
        snprintf(stride, sizeof stride, "/%" PRId64 "x%" PRId64, l->stride_h, l->stride_w);
    else if (l->stride_h != 1)
        snprintf(stride, sizeof stride, "/%" PRId64, l->stride_h);
    if (l->groups > 1)
        snprintf(groups, sizeof groups, " g%" PRId64, l->groups);
    snprintf(ret, LAYER_TEXT,
             "%" PRId64 "x%" PRId64 "x%" PRId64 " %" PRId64 "x%" PRId64 "%s %" PRId64 "%s",
             l->height, l->width, l->channels, l->kernel_h, l->kernel_w, stride, l->n, groups);
    return ret;
}

int64_t layer_depth(const struct onednn_layer *l) {
    return l->kind == ONEDNN_MATMUL ? l->k : l->kernel_h * l->kernel_w * l->channels / l->groups;
}

int64_t layer_columns(const struct onednn_layer *l) {
    return l->kind == ONEDNN_MATMUL ? l->inner : l->n / l->groups;
}
