/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators with windows over images and signals: convolution and pooling. Each function
 * follows the operator's ONNX specification (opset 7 on); what it cannot express it refuses with
 * the reason. */
#include "tools/convert/import_build.h"

#include <string.h>

#include "format/check.h"

/* ---- windows ---- */

struct window {
    int64_t kernel[2], stride[2], dilation[2], pad[4]; /* pad: top left bottom right */
};

static bool explicit_pads(struct ipex_import *import, int n, struct window *w) {
    if (!ipex_build_pads(import, n, w->pad))
        return false;
    for (int i = 0; i < 4; i++)
        if (w->pad[i] < 0) {
            ipex_import_refuse(import, "negative padding is not supported");
            return false;
        }
    return true;
}

/* auto_pad of the ONNX specification: SAME_* makes ceil(in / stride) outputs. The padding must come
 * out as a number. */
static bool same_pads(struct ipex_import *import, int64_t in, int i, bool upper, struct window *w) {
    struct ipex_dims *dims = &import->graph->dims;
    int64_t span = (w->kernel[i] - 1) * w->dilation[i] + 1, total;
    int64_t last = ipex_dim_floor_div(dims, ipex_dim_sub(dims, in, 1), w->stride[i]);
    int64_t covered = ipex_dim_add(dims, ipex_dim_mul(dims, last, w->stride[i]), span);
    if (!ipex_dim_number(dims, ipex_dim_sub(dims, covered, in), &total)) {
        ipex_import_refuse(import,
                           "auto_pad depends on %s: give it a step that is a multiple of the "
                           "stride (--dim NAME=LO..HI:STEP)",
                           ipex_import_text(import, in));
        return false;
    }
    total = total > 0 ? total : 0;
    w->pad[i] = upper ? total / 2 : total - total / 2;
    w->pad[i + 2] = total - w->pad[i];
    return true;
}

static bool auto_pads(struct ipex_import *import, const int64_t *in, struct window *w) {
    const char *mode = ipex_import_string(import, "auto_pad", "NOTSET");
    bool upper = !strcmp(mode, "SAME_UPPER"), lower = !strcmp(mode, "SAME_LOWER");
    if (upper || lower)
        return same_pads(import, in[0], 0, upper, w) && same_pads(import, in[1], 1, upper, w);
    if (!strcmp(mode, "NOTSET") || !strcmp(mode, "VALID"))
        return true;
    ipex_import_refuse(import, "auto_pad %s is unknown", mode);
    return false;
}

/* The format's limits, which also keep sums of these numbers far from overflow. */
static bool in_limits(struct ipex_import *import, const struct window *w) {
    bool fits = true;
    for (int i = 0; i < 2; i++)
        fits &= w->kernel[i] <= IPEX_WINDOW_MAX && w->stride[i] <= IPEX_WINDOW_MAX &&
                w->dilation[i] <= IPEX_WINDOW_MAX;
    for (int i = 0; i < 4; i++)
        fits &= w->pad[i] <= IPEX_WINDOW_MAX;
    if (!fits)
        ipex_import_refuse(import, "kernel, strides, dilations and pads are at most %d",
                           IPEX_WINDOW_MAX);
    return fits;
}

/* kernel[] is set by the caller for Conv (from the weight) and read from the attribute for pools.
 */
static bool read_window(struct ipex_import *import, int n, const int64_t *in, struct window *w) {
    if (!ipex_build_spatial(import, "kernel_shape", n, w->kernel) ||
        !ipex_build_spatial(import, "strides", n, w->stride) ||
        !ipex_build_spatial(import, "dilations", n, w->dilation))
        return false;
    for (int i = 0; i < 2; i++)
        if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1) {
            ipex_import_refuse(import, "kernel, strides and dilations must be positive");
            return false;
        }
    return explicit_pads(import, n, w) && in_limits(import, w) && auto_pads(import, in, w);
}

/* floor((in + pads - span) / stride) + 1; with ceil_mode rounded up, but the last window must start
 * inside the input or its leading padding. */
static bool window_output(struct ipex_import *import, const int64_t *in, const struct window *w,
                          bool ceil_mode, int64_t *out) {
    struct ipex_dims *dims = &import->graph->dims;
    for (int i = 0; i < 2; i++) {
        int64_t span = w->dilation[i] * (w->kernel[i] - 1) + 1, lo, hi;
        int64_t padded = ipex_dim_add(dims, in[i], w->pad[i] + w->pad[i + 2]);
        int64_t room = ipex_dim_sub(dims, padded, span);
        ipex_dim_range(dims, room, &lo, &hi);
        if (lo < 0) {
            ipex_import_refuse(import, "the window (%lld) can be larger than the padded input (%s)",
                               (long long)span, ipex_import_text(import, padded));
            return false;
        }
        int64_t last = ipex_dim_floor_div(
            dims, ceil_mode ? ipex_dim_add(dims, room, w->stride[i] - 1) : room, w->stride[i]);
        int64_t inside = ipex_dim_floor_div(
            dims, ipex_dim_sub(dims, ipex_dim_add(dims, in[i], w->pad[i]), 1), w->stride[i]);
        out[i] = ipex_dim_add(dims, ceil_mode ? ipex_dim_min(dims, last, inside) : last, 1);
    }
    return true;
}

/* ---- Conv ---- */

static bool check_conv(struct ipex_import *import, const struct ipex_value *x,
                       const struct ipex_value *w, const struct ipex_value *bias, int64_t groups) {
    if (!w->constant)
        ipex_import_refuse(import, "dynamic_weight: the weight %s is computed at run time",
                           w->name);
    else if (bias && !bias->constant)
        ipex_import_refuse(import, "dynamic_weight: the bias %s is computed at run time",
                           bias->name);
    else if (w->rank != x->rank)
        ipex_import_refuse(import, "the weight has rank %d, the input rank %d", w->rank, x->rank);
    else if (groups < 1 || w->dims[0] % groups || w->dims[1] * groups != x->dims[1])
        ipex_import_refuse(
            import,
            "group %lld, weight [%lld, %lld, ...] and %lld input channels do not fit together",
            (long long)groups, (long long)w->dims[0], (long long)w->dims[1], (long long)x->dims[1]);
    else if (w->dtype != IPEX_DTYPE_f32 || (bias && bias->dtype != IPEX_DTYPE_f32))
        ipex_import_refuse(import, "the weight %s is %s; f32 is supported", w->name,
                           ipex_dtype_name(w->dtype));
    else
        return ipex_build_bias_fits(import, bias, w->dims[0]);
    return false;
}

void ipex_import_conv(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *w = x ? ipex_import_in(import, 1) : NULL,
                      *bias = ipex_import_in(import, 2);
    if (!x)
        return;
    if (!w) {
        ipex_import_refuse(import, "input 1 (the weight) is missing");
        return;
    }
    int64_t groups = ipex_import_int(import, "group", 1);
    if (x->rank < 3 || x->rank > 4) {
        (void)ipex_build_image(import, x);
        return;
    }
    if (!check_conv(import, x, w, bias, groups))
        return;
    int n = x->rank - 2;
    struct window win = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    for (int i = 0; i < n; i++)
        win.kernel[2 - n + i] = w->dims[2 + i];
    const int64_t weight_kernel[2] = {win.kernel[0], win.kernel[1]};
    const int64_t in[2] = {n == 2 ? x->dims[2] : 1, x->dims[x->rank - 1]};
    int64_t out[2];
    if (!read_window(import, n, in, &win))
        return;
    if (memcmp(weight_kernel, win.kernel, sizeof weight_kernel)) {
        ipex_import_refuse(import, "kernel_shape does not fit the weight");
        return;
    }
    if (!window_output(import, in, &win, false, out))
        return;
    for (int i = 0; i < 4; i++)
        if (win.pad[i] > IPEX_HALO_MAX) {
            ipex_import_refuse(import, "a padding of %lld; at most %d is supported",
                               (long long)win.pad[i], IPEX_HALO_MAX);
            return;
        }
    struct ipex_value *image = ipex_build_image(import, x);
    const int64_t w_dims[4] = {w->dims[0], w->dims[1], win.kernel[0], win.kernel[1]};
    struct ipex_value *weight =
        w->rank == 4 ? w : ipex_import_reshape(import, w, w->name, 4, w_dims);
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_conv);
    ipex_node_add_input(node, image);
    ipex_node_add_input(node, weight);
    struct ipex_conv *conv = &node->u.conv;
    memcpy(conv->kernel, win.kernel, sizeof conv->kernel);
    memcpy(conv->stride, win.stride, sizeof conv->stride);
    memcpy(conv->dilation, win.dilation, sizeof conv->dilation);
    memcpy(conv->pad, win.pad, sizeof conv->pad);
    conv->groups = groups;
    ipex_build_bias(import, node, bias, w->dims[0]);
    const int64_t dims[4] = {x->dims[0], w->dims[0], out[0], out[1]};
    ipex_build_image_result(import, node, x->rank, dims);
}

/* ---- pooling ---- */

static void pool(struct ipex_import *import, bool max) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    if (!x)
        return;
    if (import->node->outputs > 1 && *import->node->output[1]) {
        ipex_import_refuse(import, "the second output (indices) is not supported");
        return;
    }
    struct ipex_value *image = ipex_build_image(import, x);
    if (!image)
        return;
    int n = x->rank - 2;
    struct window w = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    int64_t out[2];
    bool ceil_mode = ipex_import_int(import, "ceil_mode", 0) != 0;
    if (!ipex_import_attr(import, "kernel_shape")) {
        ipex_import_refuse(import, "attribute kernel_shape is missing");
        return;
    }
    if (!read_window(import, n, &image->dims[2], &w) ||
        !window_output(import, &image->dims[2], &w, ceil_mode, out))
        return;
    if (w.pad[0] >= w.kernel[0] * w.dilation[0] || w.pad[1] >= w.kernel[1] * w.dilation[1] ||
        w.pad[2] >= w.kernel[0] * w.dilation[0] || w.pad[3] >= w.kernel[1] * w.dilation[1]) {
        ipex_import_refuse(import, "the padding is as large as the window");
        return;
    }
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_pool);
    struct ipex_pool *p = &node->u.pool;
    *p = (struct ipex_pool){.max = max,
                            .ceil = ceil_mode,
                            .count_pad = !max && ipex_import_int(import, "count_include_pad", 0)};
    memcpy(p->kernel, w.kernel, sizeof p->kernel);
    memcpy(p->stride, w.stride, sizeof p->stride);
    memcpy(p->dilation, w.dilation, sizeof p->dilation);
    memcpy(p->pad, w.pad, sizeof p->pad);
    ipex_node_add_input(node, image);
    const int64_t dims[4] = {image->dims[0], image->dims[1], out[0], out[1]};
    ipex_build_image_result(import, node, x->rank, dims);
}

static void import_max_pool(struct ipex_import *import) {
    pool(import, true);
}
static void import_average_pool(struct ipex_import *import) {
    pool(import, false);
}

static void global_pool(struct ipex_import *import, bool max) {
    struct ipex_value *x = ipex_import_f32(import, 0),
                      *image = x ? ipex_build_image(import, x) : NULL;
    if (!image)
        return;
    const int64_t dims[4] = {image->dims[0], image->dims[1], 1, 1};
    struct ipex_node *node;
    if (image->dims[2] > 0 && image->dims[3] > 0) {
        node = ipex_import_node(import, IPEX_KIND_pool);
        node->u.pool = (struct ipex_pool){.max = max,
                                          .kernel = {image->dims[2], image->dims[3]},
                                          .stride = {1, 1},
                                          .dilation = {1, 1}};
    } else { /* a window whose size changes */
        node = ipex_import_node(import, IPEX_KIND_reduce);
        node->u.reduce.kind = max ? IPEX_REDUCE_max : IPEX_REDUCE_mean;
        node->u.reduce.axes = 1u << 2 | 1u << 3;
    }
    ipex_node_add_input(node, image);
    ipex_build_image_result(import, node, x->rank, dims);
}

static void import_global_average_pool(struct ipex_import *import) {
    global_pool(import, false);
}
static void import_global_max_pool(struct ipex_import *import) {
    global_pool(import, true);
}

const struct ipex_import_op ipex_import_window[] = {
    {"AveragePool", import_average_pool},
    {"Conv", ipex_import_conv},
    {"GlobalAveragePool", import_global_average_pool},
    {"GlobalMaxPool", import_global_max_pool},
    {"MaxPool", import_max_pool},
    {NULL, NULL},
};
