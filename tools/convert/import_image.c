/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators on images beyond plain convolution: transposed convolution, resizing, instance and
 * group normalisation. */
#include "tools/convert/import_build.h"

#include <math.h>
#include <string.h>

/* ---- ConvTranspose: y = sum over taps; output size (in - 1) stride - pads + dilation (k - 1) + 1
 * + out_pad ---- */

/* Fills the paddings: given, or from output_shape or auto_pad. Both split the excess, of which an
 * odd one's larger half is at the beginning but for SAME_UPPER. */
static bool transposed_pads(struct ipex_import *import, const struct ipex_value *x, int axes,
                            struct ipex_conv *c) {
    const char *mode = ipex_import_string(import, "auto_pad", "NOTSET");
    const bool wanted = ipex_import_attr(import, "output_shape") != NULL;
    int64_t shape[2] = {1, 1}, number;
    bool upper = !strcmp(mode, "SAME_UPPER"), same = upper || !strcmp(mode, "SAME_LOWER");
    if (!ipex_build_pads(import, axes, c->pad) ||
        !ipex_build_spatial(import, "output_shape", axes, shape))
        return false;
    for (int i = 0; i < 2 && (same || wanted); i++) {
        if (!ipex_dim_number(&import->graph->dims, x->dims[2 + i], &number)) {
            ipex_import_refuse(import, "output_shape and auto_pad need a fixed input size");
            return false;
        }
        int64_t out = wanted ? shape[i] : number * c->stride[i];
        int64_t total = (number - 1) * c->stride[i] + c->out_pad[i] +
                        c->dilation[i] * (c->kernel[i] - 1) + 1 - out;
        if (total < 0) { /* the rest is padded at the end of the result */
            c->out_pad[i] -= total;
            total = 0;
        }
        c->pad[i] = upper ? total / 2 : total - total / 2;
        c->pad[2 + i] = total - c->pad[i];
    }
    return true;
}

static bool transposed_window(struct ipex_import *import, const struct ipex_value *x,
                              const struct ipex_value *w, int axes, struct ipex_conv *c,
                              int64_t *dims) {
    struct ipex_dims *table = &import->graph->dims;
    c->transposed = true;
    c->kernel[0] = w->dims[2];
    c->kernel[1] = w->dims[3];
    c->groups = ipex_import_int(import, "group", 1);
    if (!ipex_build_spatial(import, "strides", axes, c->stride) ||
        !ipex_build_spatial(import, "dilations", axes, c->dilation) ||
        !ipex_build_spatial(import, "output_padding", axes, c->out_pad) ||
        !transposed_pads(import, x, axes, c))
        return false;
    if (c->groups < 1 || w->dims[0] != x->dims[1] || w->dims[0] % c->groups) {
        ipex_import_refuse(
            import,
            "group %lld, weight [%lld, %lld, ...] and %s input channels do not fit together",
            (long long)c->groups, (long long)w->dims[0], (long long)w->dims[1],
            ipex_import_text(import, x->dims[1]));
        return false;
    }
    dims[0] = x->dims[0];
    dims[1] = w->dims[1] * c->groups;
    for (int i = 0; i < 2; i++) {
        int64_t lo, hi,
            add =
                c->dilation[i] * (c->kernel[i] - 1) + 1 + c->out_pad[i] - c->pad[i] - c->pad[2 + i];
        int64_t base = ipex_dim_mul(table, ipex_dim_sub(table, x->dims[2 + i], 1), c->stride[i]);
        dims[2 + i] = ipex_dim_add(table, base, ipex_dim_of(table, add));
        ipex_dim_range(table, dims[2 + i], &lo, &hi);
        if (lo < 1 || c->stride[i] < 1 || c->dilation[i] < 1 || c->pad[i] < 0 ||
            c->pad[2 + i] < 0) {
            ipex_import_refuse(import, "strides, dilations and pads leave no output");
            return false;
        }
    }
    return true;
}

static void import_conv_transpose(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *w = x ? ipex_import_f32(import, 1) : NULL,
                      *bias = ipex_import_in(import, 2);
    int64_t dims[4];
    if (!w)
        return;
    if (!w->constant || (bias && !bias->constant)) {
        ipex_import_refuse(import,
                           "dynamic_weight: the weight or bias is computed at run time (rank %d)",
                           x->rank);
        return;
    }
    struct ipex_value *image = ipex_build_image(import, x);
    if (!image)
        return;
    if (w->rank != x->rank) {
        ipex_import_refuse(import, "the weight has rank %d, the input rank %d", w->rank, x->rank);
        return;
    }
    struct ipex_value *weight = ipex_build_image(import, w);
    struct ipex_conv conv = {.stride = {1, 1}, .dilation = {1, 1}};
    if (!transposed_window(import, image, weight, x->rank - 2, &conv, dims) ||
        !ipex_build_bias_fits(import, bias, dims[1]))
        return;
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_conv);
    ipex_node_add_input(node, image);
    ipex_node_add_input(node, weight);
    node->u.conv = conv;
    ipex_build_bias(import, node, bias, dims[1]);
    ipex_build_image_result(import, node, x->rank, dims);
}

/* ---- Resize ---- */

static int64_t word(const char *text, const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (!strcmp(text, words[i]))
            return i;
    return -1;
}

/* Scales and output dims of an image from the operands `scales` or `sizes`, which have a value for
 * each of x's `rank` axes: of a signal none for the height. */
static bool resize_sizes(struct ipex_import *import, const struct ipex_value *x, int32_t rank,
                         size_t scales_at, size_t sizes_at, float *scale, int64_t *dims) {
    struct ipex_dims *table = &import->graph->dims;
    const struct ipex_value *scales = ipex_import_in(import, scales_at);
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "scales");
    int64_t sizes[4];
    int n = sizes_at ? ipex_import_dims(import, NULL, sizes_at, sizes, 4) : 0;
    if (n < 0)
        return false;
    bool has_scales = ipex_onnx_floats(attr) == (size_t)rank ||
                      (scales && scales->constant && ipex_value_numel(scales) == rank);
    if (n != rank && !has_scales) {
        ipex_import_refuse(import, "neither sizes nor scales for %d axes are known at convert time",
                           rank);
        return false;
    }
    for (int i = 0; i < 4; i++) {
        const bool height_of_signal = rank == 3 && i == 2;
        const int at = rank == 3 && i == 3 ? 2 : i;
        float s = height_of_signal ? 1
                  : n == rank      ? 0
                  : attr           ? attr->floats[at]
                                   : (float)ipex_constant_f64(scales, at);
        int64_t number;
        if (n == rank && !height_of_signal)
            dims[i] = sizes[at];
        else if (s >= 1 && s == floorf(s) && s < 1e6f)
            dims[i] = ipex_dim_mul(table, x->dims[i], (int64_t)s);
        else if (1 / s == floorf(1 / s) && s > 1e-6f)
            dims[i] = ipex_dim_floor_div(table, x->dims[i], (int64_t)(1 / s));
        else if (ipex_dim_number(table, x->dims[i], &number))
            dims[i] = (int64_t)floor((double)s * (double)number);
        else
            dims[i] = IPEX_DIM_NONE;
        if (dims[i] == IPEX_DIM_NONE || (i < 2 && dims[i] != x->dims[i])) {
            ipex_import_refuse(import,
                               i < 2 ? "only height and width can be resized"
                                     : "scale %g of a size that is not fixed",
                               (double)s);
            return false;
        }
        if (i >= 2)
            scale[i - 2] = s; /* 0: the ratio of the sizes */
    }
    return true;
}

static void resize(struct ipex_import *import, size_t scales_at, size_t sizes_at,
                   const char *coordinates, const char *rounding) {
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const places[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                         "asymmetric", "half_pixel_symmetric"};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                         "ceil"};
    struct ipex_value *x = ipex_import_f32(import, 0);
    int64_t dims[4];
    float scale[2];
    if (!x)
        return;
    const char *mode_name = ipex_import_string(import, "mode", "nearest"),
               *place_name =
                   ipex_import_string(import, "coordinate_transformation_mode", coordinates);
    const char *round_name = ipex_import_string(import, "nearest_mode", rounding);
    int64_t mode = word(mode_name, modes, 3), place = word(place_name, places, 5),
            round = word(round_name, rounds, 4);
    if (x->rank < 3 || x->rank > 4 || mode < 0 || place < 0 || round < 0 ||
        ipex_import_int(import, "antialias", 0) || ipex_import_attr(import, "axes") ||
        strcmp(ipex_import_string(import, "keep_aspect_ratio_policy", "stretch"), "stretch")) {
        ipex_import_refuse(import, "rank %d, mode %s, coordinates %s, rounding %s: not supported",
                           x->rank, mode_name, place_name, round_name);
        return;
    }
    struct ipex_value *image = ipex_build_image(import, x);
    if (!resize_sizes(import, image, x->rank, scales_at, sizes_at, scale, dims))
        return;
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_resize, IPEX_ORDER_channels_last,
                                              IPEX_DTYPE_f32, 4, dims, false);
    const int64_t ints[4] = {mode, place, round, ipex_import_int(import, "exclude_outside", 0)};
    ipex_node_add_input(node, image);
    node->u.plan.ints = 4;
    memcpy(node->u.plan.int_, ints, sizeof ints);
    node->u.plan.floats = 3;
    node->u.plan.float_[0] = scale[0];
    node->u.plan.float_[1] = scale[1];
    node->u.plan.float_[2] = ipex_import_float(import, "cubic_coeff_a", -0.75f);
    ipex_build_image_out(import, node->output, x->rank);
}

static void import_resize(struct ipex_import *import) {
    if (import->model->opset < 11)
        resize(import, 1, 0, "asymmetric", "floor");
    else
        resize(import, 2, 3, "half_pixel", "round_prefer_floor");
}

static void import_upsample(struct ipex_import *import) {
    resize(import, 1, 0, "asymmetric", "floor");
}

/* ---- normalisation over an image's channels ---- */

static void group_norm(struct ipex_import *import, int64_t groups) {
    struct ipex_value *x = ipex_import_f32(import, 0), *p[2], *image = x;
    if (!x)
        return;
    for (size_t i = 0; i < 2; i++) {
        p[i] = ipex_import_f32(import, i + 1);
        if (!p[i])
            return;
        if (ipex_value_size(import->graph, p[i]) != x->dims[1]) {
            ipex_import_refuse(import, "input %s does not have one element per channel",
                               p[i]->name);
            return;
        }
    }
    if (x->rank < 3 || x->dims[1] < 1 || groups < 1 || x->dims[1] % groups) {
        ipex_import_refuse(import, "%lld groups of %s channels, rank %d", (long long)groups,
                           ipex_import_text(import, x->dims[1]), x->rank);
        return;
    }
    const char *name = import->node->output[0];
    int64_t dims[4] = {x->dims[0], x->dims[1], 1, 1};
    for (int32_t i = 2; i < x->rank; i++) /* one long line: the statistics run over all of it */
        dims[3] = ipex_dim_mul(&import->graph->dims, dims[3], x->dims[i]);
    if (x->rank != 4)
        image = ipex_import_reshape(import, x, x->name, 4, dims);
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_group_norm, IPEX_ORDER_channels_last,
                                              IPEX_DTYPE_f32, 4, image->dims, false);
    ipex_node_add_input(node, image);
    ipex_node_add_input(node, p[0]);
    ipex_node_add_input(node, p[1]);
    node->u.plan.ints = 2;
    node->u.plan.int_[0] = groups;
    node->u.plan.floats = 3;
    node->u.plan.float_[0] = ipex_import_float(import, "epsilon", 1e-5f);
    ipex_import_out(import, 0,
                    x->rank == 4
                        ? node->output
                        : ipex_import_reshape(import, node->output, name, x->rank, x->dims));
}

static void import_instance_norm(struct ipex_import *import) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    group_norm(import, x && x->rank > 1 ? x->dims[1] : 0);
}

static void import_group_norm(struct ipex_import *import) {
    group_norm(import, ipex_import_int(import, "num_groups", 0));
}

const struct ipex_import_op ipex_import_image[] = {
    {"ConvTranspose", import_conv_transpose},
    {"GroupNormalization", import_group_norm},
    {"InstanceNormalization", import_instance_norm},
    {"Resize", import_resize},
    {"Upsample", import_upsample},
    {NULL, NULL},
};
