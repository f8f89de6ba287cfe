/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's resizing of images and volumes. */
#include "format/resize_scale.h"
#include "tools/convert/import_volume.h"

#include <math.h>
#include <string.h>

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
 * IPEX_DIM_NONE where that is no size, or where n is not fixed and the scale no fraction of small
 * numbers. */
static int64_t scaled(struct ipex_dims *table, int64_t n, float s) {
    enum { MOST_BELOW = 64 }; /* what f32 rounds of a product stays below 1 / 64 up to 100,000 */
    int64_t number;
    if (ipex_dim_number(table, n, &number)) {
        const float product = floorf((float)number * s);
        return product >= 1 && product < (float)INT32_MAX ? (int64_t)product : IPEX_DIM_NONE;
    }
    if (!(s > 0))
        return IPEX_DIM_NONE;
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
    const float *floats = attr && ipex_onnx_floats(attr) == count ? attr->floats : NULL;
    if (!has_sizes && !floats &&
        !(scales && scales->constant && (size_t)ipex_value_numel(scales) == count)) {
        ipex_import_refuse(
            import, "neither sizes nor scales for %zu axes are known at convert time", count);
        return false;
    }
    int64_t number;
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
                        : floats    ? floats[at]
                                    : (float)ipex_constant_f64(scales, at);
        const int64_t out = at < 0      ? x->dims[axis]
                            : has_sizes ? sizes[at]
                                        : scaled(table, x->dims[axis], s);
        if (out == IPEX_DIM_NONE) {
            ipex_import_refuse(
                import,
                ipex_dim_number(table, x->dims[axis], &number)
                    ? "%s times the scale %g leaves no elements, or too many"
                    : "the size %s is not fixed, and the scale %g no fraction of small "
                      "numbers",
                ipex_import_text(import, x->dims[axis]), (double)s);
            return false;
        }
        if (axis < 2 && out != x->dims[axis]) {
            ipex_import_refuse(import,
                               "axis %d is to become %s from %s; only depth, height and width can "
                               "be resized%s",
                               axis, ipex_import_text(import, out),
                               ipex_import_text(import, x->dims[axis]),
                               ipex_import_make_equal(import, x->dims[axis], out));
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

/* x: an image, or a volume. */
static struct ipex_value *resize_both(struct ipex_import *import, struct ipex_value *x,
                                      const struct resize_kind *kind, const struct resized *to) {
    return x->rank == 5
               ? resize_volume(import, x, kind, to)
               : resize_image(import, x, kind, to->out[1], to->out[2], to->scale[1], to->scale[2]);
}

/* Opset 10, as its tests have it: along an axis that shrinks places are rounded up. */
static struct ipex_value *resize_nearest_10(struct ipex_import *import, struct ipex_value *x,
                                            const struct resize_kind *kind,
                                            const struct resized *to) {
    struct resize_kind up = *kind;
    struct resized grown = *to, shrunk = *to;
    int64_t in[IPEX_SPATIAL];
    bool grows = false;
    ipex_volume_sizes(x, in);
    up.ints[IPEX_RESIZE_ROUNDING] = IPEX_RESIZE_ceil;
    for (int i = 0; i < IPEX_SPATIAL; i++)
        if (to->scale[i] < 1) {
            grown.out[i] = in[i];
            grown.scale[i] = 1;
        } else {
            shrunk.scale[i] = 1;
            grows |= to->scale[i] > 1;
        }
    if (!memcmp(grown.scale, to->scale, sizeof grown.scale)) /* nothing shrinks */
        return resize_both(import, x, kind, to);
    return resize_both(import, grows ? resize_both(import, x, kind, &grown) : x, &up, &shrunk);
}

/* ---- antialias: where an image shrinks, a linear layer along each axis ---- */

static double filter(bool cubic, double a, double t) {
    t = fabs(t);
    if (!cubic)
        return t < 1 ? 1 - t : 0;
    return t < 1   ? ((a + 2) * t - (a + 3)) * t * t + 1
           : t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
                   : 0;
}

/* Where element i of `out` lies among those of `in`. */
static double place_of(int64_t coordinates, int64_t i, int64_t in, int64_t out, double scale) {
    switch (coordinates) {
    case IPEX_RESIZE_align_corners:
        return out > 1 ? (double)(i * (in - 1)) / (double)(out - 1) : 0;
    case IPEX_RESIZE_asymmetric:
        return (double)i / scale;
    case IPEX_RESIZE_pytorch_half_pixel:
        if (out == 1)
            return 0;
        break;
    }
    return ((double)i + 0.5) / scale - 0.5;
}

/* The weights [out][in] of a filter as wide as `1 / scale` elements where that is more than one;
 * what lies outside is the element at the edge, or left out. */
static struct ipex_value *shrinking(struct ipex_import *import, const struct resize_kind *kind,
                                    int64_t in, int64_t out, double scale) {
    const bool cubic = kind->ints[IPEX_RESIZE_MODE] == IPEX_RESIZE_cubic,
               leaves_out = kind->ints[IPEX_RESIZE_EXCLUDE_OUTSIDE] != 0;
    const int64_t dims[2] = {out, in};
    const double narrow = scale < 1 ? scale : 1, reach = (cubic ? 2 : 1) / narrow;
    float *data = ipex_arena_array(&import->graph->arena, (size_t)(out * in), sizeof *data);
    double *row = ipex_arena_array(&import->graph->arena, (size_t)in, sizeof *row);
    for (int64_t i = 0; i < out; i++) {
        const double x = place_of(kind->ints[IPEX_RESIZE_COORDINATES], i, in, out, scale);
        double sum = 0;
        memset(row, 0, (size_t)in * sizeof *row);
        for (int64_t k = (int64_t)floor(x - reach); k <= (int64_t)ceil(x + reach); k++) {
            const int64_t at = k < 0 ? 0 : k < in ? k : in - 1;
            if (leaves_out && at != k)
                continue;
            const double w = filter(cubic, (double)kind->cubic_a, ((double)k - x) * narrow);
            row[at] += w;
            sum += w;
        }
        for (int64_t k = 0; k < in; k++)
            data[i * in + k] = (float)(row[k] / sum);
    }
    return ipex_graph_constant(import->graph, import->node->output[0], IPEX_DTYPE_f32, 2, dims,
                               data);
}

/* The axis of fewer elements first, so that the other one's layer has less to do. */
static struct ipex_value *antialiased(struct ipex_import *import, struct ipex_value *image,
                                      const struct resize_kind *kind, const struct resized *to) {
    struct ipex_value *w[2];
    int64_t in[2];
    double scale[2];
    for (int i = 0; i < 2; i++) {
        int64_t out = to->out[1 + i];
        if (!ipex_dim_number(&import->graph->dims, image->dims[2 + i], &in[i]) || out < 0 ||
            in[i] * out > IPEX_BUILD_MAX) {
            ipex_import_refuse(import,
                               "antialias from %s to %s: fixed sizes are needed, whose "
                               "product is at most %d",
                               ipex_import_text(import, image->dims[2 + i]),
                               ipex_import_text(import, out), IPEX_BUILD_MAX);
            return NULL;
        }
        scale[i] = to->scale[1 + i] == 0 ? (double)out / (double)in[i]
                                         : ipex_resize_scale(to->scale[1 + i]);
        w[i] = shrinking(import, kind, in[i], out, scale[i]);
    }
    const bool width_first = scale[1] < scale[0];
    for (int i = 0; i < 2; i++) {
        const bool width = width_first == (i == 0);
        if (scale[width] == 1)
            continue;
        image = width ? ipex_build_linear(import, image, w[1], false)
                      : ipex_build_matmul(import, w[0], image);
    }
    return image;
}

/* tf_half_pixel_for_nn is half_pixel and half a pixel, which another rounding adds, too. */
static void half_pixel_for_nearest(int64_t *place, int64_t *round) {
    const bool down = *round == IPEX_RESIZE_floor;
    if (!down && *round != IPEX_RESIZE_round_prefer_floor)
        return;
    *place = IPEX_RESIZE_half_pixel;
    *round = down ? IPEX_RESIZE_round_prefer_ceil : IPEX_RESIZE_ceil;
}

static void resize(struct ipex_import *import, size_t scales_at, size_t sizes_at,
                   const char *coordinates, const char *rounding) {
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const places[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                         "asymmetric", "half_pixel_symmetric"};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                         "ceil"};
    const char *mode_name = ipex_import_string(import, "mode", "nearest"),
               *place_name =
                   ipex_import_string(import, "coordinate_transformation_mode", coordinates);
    const char *round_name = ipex_import_string(import, "nearest_mode", rounding);
    int64_t mode = ipex_import_word(mode_name, modes, 3),
            place = ipex_import_word(place_name, places, 5),
            round = ipex_import_word(round_name, rounds, 4);
    struct ipex_value *x =
        mode == IPEX_RESIZE_nearest ? ipex_build_chosen(import, 0) : ipex_import_f32(import, 0);
    struct resized to;
    if (!x)
        return;
    if (mode == IPEX_RESIZE_nearest && !strcmp(place_name, "tf_half_pixel_for_nn"))
        half_pixel_for_nearest(&place, &round);
    const bool filtered = ipex_import_int(import, "antialias", 0) && mode != IPEX_RESIZE_nearest;
    if (x->rank < 3 || x->rank > 5 || mode < 0 || place < 0 || round < 0 ||
        (filtered && (x->rank == 5 || place == IPEX_RESIZE_half_pixel_symmetric))) {
        ipex_import_refuse(import, "rank %d, mode %s, coordinates %s, rounding %s%s: not supported",
                           x->rank, mode_name, place_name, round_name,
                           filtered ? ", antialias" : "");
        return;
    }
    if (!resize_sizes(import, x, scales_at, sizes_at, &to))
        return;
    align_whole_sizes(import, place, &to);
    const struct resize_kind kind = {
        .ints = {mode, place, round, ipex_import_flag(import, "exclude_outside", false)},
        .cubic_a = ipex_import_float(import, "cubic_coeff_a", -0.75f),
    };
    struct ipex_value *image = x->rank == 5 ? x : ipex_build_image(import, x), *y;
    if (filtered)
        y = antialiased(import, image, &kind, &to);
    else if (mode == IPEX_RESIZE_nearest && import->model->opset == 10)
        y = resize_nearest_10(import, image, &kind, &to);
    else
        y = resize_both(import, image, &kind, &to);
    y = ipex_build_cast(import, y, ipex_import_in(import, 0)->dtype);
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

const struct ipex_import_op ipex_import_resize[] = {
    {"Resize", import_resize},
    {"Upsample", import_upsample},
    {NULL, NULL},
};
