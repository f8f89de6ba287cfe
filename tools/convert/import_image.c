/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators on images beyond plain convolution: transposed convolution, resizing. */
#include "format/resize_scale.h"
#include "tools/convert/import_modulated.h"
#include "tools/convert/import_volume.h"

#include <math.h>
#include <string.h>

/* ---- ConvTranspose: y = sum over taps; output size (in - 1) stride - pads + dilation (k - 1) + 1
 * + out_pad ---- */

struct transposed {
    struct ipex_window window;
    int64_t out_pad[IPEX_SPATIAL], groups;
    int64_t in[IPEX_SPATIAL], out[IPEX_SPATIAL];
};

/* Fills the paddings: given, or from output_shape or auto_pad, which makes as many strides as the
 * input is long. Both split the excess, of which an odd one's larger half is at the beginning but
 * for SAME_UPPER. */
static bool transposed_pads(struct ipex_import *import, int axes, struct transposed *t) {
    const char *mode = ipex_import_string(import, "auto_pad", "NOTSET");
    const bool wanted = ipex_import_attr(import, "output_shape") != NULL;
    struct ipex_window *w = &t->window;
    int64_t shape[IPEX_SPATIAL] = {1, 1, 1}, number;
    bool upper = !strcmp(mode, "SAME_UPPER"), same = upper || !strcmp(mode, "SAME_LOWER");
    if (!ipex_build_pads(import, axes, w->pad) ||
        !ipex_build_spatial(import, "output_shape", axes, shape))
        return false;
    for (int i = 0; i < IPEX_SPATIAL && (same || wanted); i++) {
        if (wanted && !ipex_dim_number(&import->graph->dims, t->in[i], &number)) {
            ipex_import_refuse(import, "output_shape needs a fixed input size");
            return false;
        }
        const int64_t more = wanted ? number * w->stride[i] - shape[i] : 0;
        int64_t total =
            more - w->stride[i] + t->out_pad[i] + w->dilation[i] * (w->kernel[i] - 1) + 1;
        if (total < 0) { /* the rest is padded at the end of the result */
            t->out_pad[i] -= total;
            total = 0;
        }
        w->pad[i] = upper ? total / 2 : total - total / 2;
        w->pad[IPEX_SPATIAL + i] = total - w->pad[i];
    }
    return true;
}

static bool transposed_window(struct ipex_import *import, const struct ipex_value *x,
                              const struct ipex_value *w, struct transposed *t) {
    struct ipex_dims *table = &import->graph->dims;
    struct ipex_window *win = &t->window;
    const int axes = x->rank - 2;
    for (int i = 0; i < axes; i++)
        win->kernel[IPEX_SPATIAL - axes + i] = w->dims[2 + i];
    ipex_volume_sizes(x, t->in);
    t->groups = ipex_import_int(import, "group", 1);
    if (!ipex_build_spatial(import, "strides", axes, win->stride) ||
        !ipex_build_spatial(import, "dilations", axes, win->dilation) ||
        !ipex_build_spatial(import, "output_padding", axes, t->out_pad) ||
        !transposed_pads(import, axes, t))
        return false;
    if (t->groups < 1 || w->dims[0] != x->dims[1] || w->dims[0] % t->groups) {
        ipex_import_refuse(
            import,
            "group %lld, weight [%lld, %lld, ...] and %s input channels do not fit together",
            (long long)t->groups, (long long)w->dims[0], (long long)w->dims[1],
            ipex_import_text(import, x->dims[1]));
        return false;
    }
    for (int i = 0; i < IPEX_SPATIAL; i++) {
        int64_t lo, hi,
            add = win->dilation[i] * (win->kernel[i] - 1) + 1 + t->out_pad[i] - win->pad[i] -
                  win->pad[IPEX_SPATIAL + i];
        int64_t base = ipex_dim_mul(table, ipex_dim_sub(table, t->in[i], 1), win->stride[i]);
        t->out[i] = ipex_dim_add(table, base, ipex_dim_of(table, add));
        ipex_dim_range(table, t->out[i], &lo, &hi);
        if (lo < 1 || win->stride[i] < 1 || win->dilation[i] < 1 || win->pad[i] < 0 ||
            win->pad[IPEX_SPATIAL + i] < 0) {
            ipex_import_refuse(import, "strides, dilations and pads leave no output");
            return false;
        }
    }
    return true;
}

/* Along H and W; w [C][M / groups][KH][KW]. */
static struct ipex_value *transposed_image(struct ipex_import *import, struct ipex_value *image,
                                           struct ipex_value *w, const struct ipex_value *bias,
                                           const struct transposed *t) {
    struct ipex_conv conv = {
        .transposed = true, .groups = t->groups, .out_pad = {t->out_pad[1], t->out_pad[2]}};
    ipex_window_along(&t->window, 1, conv.kernel, conv.stride, conv.dilation, conv.pad);
    return w->constant ? ipex_build_conv(import, image, w, bias, &conv, t->out + 1)
                       : ipex_modulated_conv(import, image, w, &conv, t->out + 1);
}

/* Every depth of x gives an image for every tap along D; these are added where they fall together.
 */
static struct ipex_value *transposed_volume(struct ipex_import *import, struct ipex_value *x,
                                            const struct ipex_value *w,
                                            const struct transposed *t) {
    if (t->groups > 1 && !ipex_window_flat(&t->window)) {
        ipex_import_refuse(import, "groups of a volume that is spread along its depth");
        return NULL;
    }
    struct ipex_value *taps = transposed_image(import, ipex_volume_slices(import, x),
                                               ipex_volume_spread_weight(import, w), NULL, t);
    return ipex_volume_spread(import, taps, x->dims[0], x->dims[2], &t->window, t->out[0]);
}

/* Of a signal or an image; w is constant or computed at run time. */
static struct ipex_value *transposed_signal(struct ipex_import *import, struct ipex_value *x,
                                            struct ipex_value *w, const struct ipex_value *bias,
                                            const struct transposed *t) {
    x = ipex_build_image(import, x);
    w = ipex_build_image(import, w);
    struct ipex_value *y = transposed_image(import, x, w, bias, t);
    return y ? y
             : ipex_correlate_transposed(import, x, w, &t->window, t->out_pad, t->groups, t->out);
}

static void import_conv_transpose(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *w = x ? ipex_import_f32(import, 1) : NULL,
                      *bias = ipex_import_in(import, 2);
    if (!w)
        return;
    if ((!w->constant && !ipex_build_fixed(import, w)) ||
        (bias && !bias->constant && !ipex_build_fixed(import, bias)))
        return;
    if (bias && bias->dtype != IPEX_DTYPE_f32) {
        ipex_import_refuse(import, "the bias %s is %s; f32 is supported", bias->name,
                           ipex_dtype_name(bias->dtype));
        return;
    }
    if (!w->constant && x->rank == 5) {
        ipex_import_refuse(import,
                           "dynamic_weight: the weight %s is computed at run time, which is "
                           "supported for signals and images",
                           w->name);
        return;
    }
    if (!ipex_volume_check_rank(import, x))
        return;
    if (w->rank != x->rank) {
        ipex_import_refuse(import, "the weight has rank %d, the input rank %d", w->rank, x->rank);
        return;
    }
    struct transposed t = {.window = IPEX_WINDOW_ONE};
    if (!transposed_window(import, x, w, &t) ||
        !ipex_build_bias_fits(import, bias, w->dims[1] * t.groups))
        return;
    struct ipex_value *added =
        bias && !(bias->constant && w->constant && x->rank < 5) ? bias : NULL;
    struct ipex_value *y = x->rank == 5 ? transposed_volume(import, x, w, &t)
                                        : transposed_signal(import, x, w, added ? NULL : bias, &t);
    ipex_build_image_out(import, ipex_build_plus_bias(import, y, added), x->rank);
}

/* ---- Resize ---- */

/* Along D, H and W: how large the result is, and by which scale; 0: the ratio of the sizes. */
struct resized {
    int64_t out[IPEX_SPATIAL];
    float scale[IPEX_SPATIAL];
};

/* Which of the values that scales or sizes have is for an axis: -1 none. */
static int place_of_axis(const struct ipex_onnx_attr *axes, int32_t rank, int32_t axis) {
    if (!axes)
        return axis;
    for (size_t i = 0; i < ipex_onnx_ints(axes); i++)
        if (axes->ints[i] == axis || axes->ints[i] == axis - rank)
            return (int)i;
    return -1;
}

/* A scale as ONNX has it, n being the size it is applied to: their product, in f32, rounded down.
 * IPEX_DIM_NONE where the size is not fixed and the scale no fraction of small numbers. */
static int64_t scaled(struct ipex_dims *table, int64_t n, float s) {
    enum { MOST_BELOW = 64 }; /* what f32 rounds of a product stays below 1 / 64 up to 100,000 */
    int64_t number;
    if (ipex_dim_number(table, n, &number))
        return (int64_t)floorf((float)number * s);
    const struct ipex_resize_fraction meant = ipex_resize_fraction(s);
    if (meant.below == 0 || (meant.above > 1 && meant.below > MOST_BELOW))
        return IPEX_DIM_NONE;
    return ipex_dim_floor_div(table, ipex_dim_mul(table, n, meant.above), meant.below);
}

/* PyTorch aligns the corners of images of whole sizes, as ONNX's text has it; its evaluator, whose
 * answers are those of the operator's tests, aligns those of the size before it is rounded down. */
static void align_whole_sizes(const struct ipex_import *import, int64_t coordinates,
                              struct resized *ret) {
    if (coordinates == IPEX_RESIZE_align_corners && !strcmp(import->model->producer, "pytorch"))
        memset(ret->scale, 0, sizeof ret->scale);
}

/* keep_aspect_ratio_policy: one scale for all axes that are resized, the smallest (not_larger) or
 * the largest (not_smaller) that sizes ask for, by which positions are found, too; x's sizes must
 * be known. */
static bool keep_aspect(struct ipex_import *import, const struct ipex_value *x, const char *policy,
                        int64_t *sizes, float *ret_scale) {
    const struct ipex_onnx_attr *axes = ipex_import_attr(import, "axes");
    const bool larger = !strcmp(policy, "not_smaller");
    double scale = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t axis = 0; axis < x->rank; axis++) {
            const int at = place_of_axis(axes, x->rank, axis);
            int64_t number;
            if (at < 0)
                continue;
            if (!ipex_dim_number(&import->graph->dims, x->dims[axis], &number) || sizes[at] < 0) {
                ipex_import_refuse(import, "keep_aspect_ratio_policy needs fixed sizes");
                return false;
            }
            const double wanted = (double)sizes[at] / (double)number;
            if (pass)
                sizes[at] = (int64_t)floor(scale * (double)number + 0.5);
            else if (scale == 0 || (larger ? wanted > scale : wanted < scale))
                scale = wanted;
        }
    *ret_scale = (float)scale;
    return true;
}

/* From the operands `scales` or `sizes`, which have a value for each of x's axes or for each of the
 * attribute axes. */
static bool resize_sizes(struct ipex_import *import, const struct ipex_value *x, size_t scales_at,
                         size_t sizes_at, struct resized *ret) {
    struct ipex_dims *table = &import->graph->dims;
    const struct ipex_value *scales = ipex_import_in(import, scales_at);
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "scales"),
                                *axes = ipex_import_attr(import, "axes");
    const char *policy = ipex_import_string(import, "keep_aspect_ratio_policy", "stretch");
    const size_t count = axes ? ipex_onnx_ints(axes) : (size_t)x->rank;
    int64_t sizes[IPEX_MAX_RANK];
    int n = sizes_at ? ipex_import_dims(import, NULL, sizes_at, sizes, IPEX_MAX_RANK) : 0;
    if (n < 0)
        return false;
    const bool has_sizes = n > 0 && (size_t)n == count;
    if (!has_sizes && ipex_onnx_floats(attr) != count &&
        !(scales && scales->constant && (size_t)ipex_value_numel(scales) == count)) {
        ipex_import_refuse(
            import, "neither sizes nor scales for %zu axes are known at convert time", count);
        return false;
    }
    float common = 0; /* of all sizes */
    if (has_sizes && strcmp(policy, "stretch") && !keep_aspect(import, x, policy, sizes, &common))
        return false;
    for (int i = 0; i < IPEX_SPATIAL; i++) {
        ret->scale[i] = 1;
        ret->out[i] = 1;
    }
    for (int32_t axis = 0; axis < x->rank; axis++) {
        const int at = place_of_axis(axes, x->rank, axis);
        const float s = at < 0      ? 1
                        : has_sizes ? common
                        : attr      ? attr->floats[at]
                                    : (float)ipex_constant_f64(scales, at);
        const int64_t out = at < 0      ? x->dims[axis]
                            : has_sizes ? sizes[at]
                                        : scaled(table, x->dims[axis], s);
        if (out == IPEX_DIM_NONE || (axis < 2 && out != x->dims[axis])) {
            ipex_import_refuse(import,
                               axis < 2 ? "only depth, height and width can be resized"
                                        : "scale %g of a size that is not fixed",
                               (double)s);
            return false;
        }
        if (axis >= 2) {
            ret->out[IPEX_SPATIAL - x->rank + axis] = out;
            ret->scale[IPEX_SPATIAL - x->rank + axis] = s;
        }
    }
    return true;
}

/* What the operator resize does besides the sizes: mode, coordinates, rounding, exclude_outside. */
struct resize_kind {
    int64_t ints[4];
    float cubic_a;
};

static struct ipex_value *resize_image(struct ipex_import *import, struct ipex_value *image,
                                       const struct resize_kind *kind, int64_t height,
                                       int64_t width, float scale_h, float scale_w) {
    const int64_t dims[4] = {image->dims[0], image->dims[1], height, width};
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_resize, IPEX_ORDER_channels_last,
                                              IPEX_DTYPE_f32, 4, dims, false);
    ipex_node_add_input(node, image);
    node->u.plan.ints = 4;
    memcpy(node->u.plan.int_, kind->ints, sizeof kind->ints);
    node->u.plan.floats = 3;
    node->u.plan.float_[0] = scale_h;
    node->u.plan.float_[1] = scale_w;
    node->u.plan.float_[2] = kind->cubic_a;
    return node->output;
}

/* All modes are separable: first along H and W, then along D. */
static struct ipex_value *resize_volume(struct ipex_import *import, struct ipex_value *x,
                                        const struct resize_kind *kind, const struct resized *to) {
    const int64_t n = x->dims[0], depth = x->dims[2];
    struct ipex_value *image = ipex_volume_slices(import, x);
    image = resize_image(import, image, kind, to->out[1], to->out[2], to->scale[1], to->scale[2]);
    x = ipex_volume_of_slices(import, image, n, depth);
    if (to->out[0] == depth && (to->scale[0] == 0 || to->scale[0] == 1))
        return x;
    image = ipex_volume_lines(import, x);
    image = resize_image(import, image, kind, to->out[0], image->dims[3], to->scale[0], 1);
    return ipex_volume_of_lines(import, image, to->out[1], to->out[2]);
}

static void resize(struct ipex_import *import, size_t scales_at, size_t sizes_at,
                   const char *coordinates, const char *rounding) {
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const places[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                         "asymmetric", "half_pixel_symmetric"};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                         "ceil"};
    struct ipex_value *x = ipex_import_f32(import, 0);
    struct resized to;
    if (!x)
        return;
    const char *mode_name = ipex_import_string(import, "mode", "nearest"),
               *place_name =
                   ipex_import_string(import, "coordinate_transformation_mode", coordinates);
    const char *round_name = ipex_import_string(import, "nearest_mode", rounding);
    int64_t mode = ipex_import_word(mode_name, modes, 3),
            place = ipex_import_word(place_name, places, 5),
            round = ipex_import_word(round_name, rounds, 4);
    if (x->rank < 3 || x->rank > 5 || mode < 0 || place < 0 || round < 0 ||
        ipex_import_int(import, "antialias", 0)) {
        ipex_import_refuse(import, "rank %d, mode %s, coordinates %s, rounding %s%s: not supported",
                           x->rank, mode_name, place_name, round_name,
                           ipex_import_int(import, "antialias", 0) ? ", antialias" : "");
        return;
    }
    if (!resize_sizes(import, x, scales_at, sizes_at, &to))
        return;
    align_whole_sizes(import, place, &to);
    const struct resize_kind kind = {
        .ints = {mode, place, round, ipex_import_int(import, "exclude_outside", 0)},
        .cubic_a = ipex_import_float(import, "cubic_coeff_a", -0.75f),
    };
    struct ipex_value *y = x->rank == 5
                               ? resize_volume(import, x, &kind, &to)
                               : resize_image(import, ipex_build_image(import, x), &kind, to.out[1],
                                              to.out[2], to.scale[1], to.scale[2]);
    ipex_build_image_out(import, y, x->rank);
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

const struct ipex_import_op ipex_import_image[] = {
    {"ConvTranspose", import_conv_transpose},
    {"Resize", import_resize},
    {"Upsample", import_upsample},
    {NULL, NULL},
};
