/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators with windows over signals, images and volumes: convolution and pooling. Each
 * function follows the operator's ONNX specification (opset 7 on); what it cannot express it
 * refuses with the reason. */
#include "tools/convert/import_modulated.h"
#include "tools/convert/import_quantized.h"
#include "tools/convert/import_volume.h"

#include <math.h>
#include <string.h>

#include "format/check.h"

/* ---- windows ---- */

static bool explicit_pads(struct ipex_import *import, int n, struct ipex_window *w) {
    if (!ipex_build_pads(import, n, w->pad))
        return false;
    for (int i = 0; i < 2 * IPEX_SPATIAL; i++)
        if (w->pad[i] < 0) {
            ipex_import_refuse(import, "negative padding is not supported");
            return false;
        }
    return true;
}

/* auto_pad SAME_*: as many outputs as there are strides. Where the padding depends on sizes, that
 * behind x may be too much, as it is so by less than a stride; that before x is put there. */
static bool same_pads(struct ipex_import *import, struct ipex_value **x, bool upper, float fill,
                      struct ipex_window *w) {
    struct ipex_dims *dims = &import->graph->dims;
    int64_t before[IPEX_MAX_RANK] = {0}, after[IPEX_MAX_RANK] = {0};
    const int32_t to_axis = (*x)->rank - IPEX_SPATIAL;
    bool varies = false;
    w->same = true;
    for (int i = 2 - to_axis; i < IPEX_SPATIAL; i++) {
        const int64_t in = (*x)->dims[to_axis + i], span = (w->kernel[i] - 1) * w->dilation[i] + 1;
        const int64_t last = ipex_dim_floor_div(dims, ipex_dim_sub(dims, in, 1), w->stride[i]),
                      covered = ipex_dim_add(dims, ipex_dim_mul(dims, last, w->stride[i]), span),
                      total = ipex_dim_max(dims, ipex_dim_sub(dims, covered, in), 0);
        const int64_t less = ipex_dim_floor_div(dims, total, 2),
                      more = ipex_dim_floor_div(dims, ipex_dim_add(dims, total, 1), 2);
        int64_t least, most;
        ipex_dim_range(dims, upper ? more : less, &least, &w->pad[IPEX_SPATIAL + i]);
        ipex_dim_range(dims, upper ? less : more, &least, &most);
        if (least == most) {
            w->pad[i] = least;
        } else {
            before[to_axis + i] = upper ? less : more;
            varies = true;
        }
    }
    if (varies)
        *x = ipex_build_pad(import, *x, IPEX_PAD_constant, fill, before, after);
    return *x != NULL;
}

static bool auto_pads(struct ipex_import *import, struct ipex_value **x, float fill,
                      struct ipex_window *w) {
    const char *mode = ipex_import_string(import, "auto_pad", "NOTSET");
    const bool upper = !strcmp(mode, "SAME_UPPER");
    if (upper || !strcmp(mode, "SAME_LOWER"))
        return same_pads(import, x, upper, fill, w);
    if (!strcmp(mode, "NOTSET") || !strcmp(mode, "VALID"))
        return true;
    ipex_import_refuse(import, "auto_pad %s is unknown", mode);
    return false;
}

/* kernel[] is set by the caller for Conv (from the weight) and read from the attribute for pools.
 * Where padding varies, x becomes x with `fill` before it. */
static bool read_window(struct ipex_import *import, struct ipex_value **x, float fill,
                        struct ipex_window *w) {
    const int n = (*x)->rank - 2;
    if (!ipex_build_spatial(import, "kernel_shape", n, w->kernel) ||
        !ipex_build_spatial(import, "strides", n, w->stride) ||
        !ipex_build_spatial(import, "dilations", n, w->dilation))
        return false;
    return explicit_pads(import, n, w) && ipex_window_fits(import, w) &&
           auto_pads(import, x, fill, w);
}

/* Of sizes before padding: floor((in + pads - span) / stride) + 1; with ceil_mode rounded up, but
 * the last window must start inside the input or its leading padding. */
static bool window_output(struct ipex_import *import, const int64_t *in,
                          const struct ipex_window *w, bool ceil_mode, int64_t *out) {
    struct ipex_dims *dims = &import->graph->dims;
    for (int i = 0; i < IPEX_SPATIAL; i++) {
        int64_t span = w->dilation[i] * (w->kernel[i] - 1) + 1, lo, hi;
        if (w->same) {
            out[i] = ipex_dim_add(
                dims, ipex_dim_floor_div(dims, ipex_dim_sub(dims, in[i], 1), w->stride[i]), 1);
            continue;
        }
        int64_t padded = ipex_dim_add(dims, in[i], w->pad[i] + w->pad[IPEX_SPATIAL + i]);
        int64_t room = ipex_dim_sub(dims, padded, span);
        ipex_dim_range(dims, room, &lo, &hi);
        if (lo < 0) {
            ipex_import_refuse(import,
                               "the window (%lld) can be larger than the padded input (%s)%s",
                               (long long)span, ipex_import_text(import, padded),
                               ipex_import_make_larger(import, padded));
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
    if (!w->constant && !ipex_build_fixed(import, w))
        return false;
    if (!w->constant && x->rank == 5)
        ipex_import_refuse(import,
                           "dynamic_weight: the weight %s is computed at run time, which is "
                           "supported for signals and images",
                           w->name);
    else if (bias && !bias->constant && !ipex_build_fixed(import, bias))
        return false;
    else if (w->rank != x->rank)
        ipex_import_refuse(import, "the weight has rank %d, the input rank %d", w->rank, x->rank);
    else if (groups < 1 || w->dims[0] % groups || w->dims[1] * groups != x->dims[1])
        ipex_import_refuse(
            import,
            "group %lld, weight [%lld, %lld, ...] and %s input channels do not fit together",
            (long long)groups, (long long)w->dims[0], (long long)w->dims[1],
            ipex_import_text(import, x->dims[1]));
    else if (w->dtype != IPEX_DTYPE_f32 || (bias && bias->dtype != IPEX_DTYPE_f32))
        ipex_import_refuse(import, "the weight %s is %s; f32 is supported", w->name,
                           ipex_dtype_name(w->dtype));
    else
        return ipex_build_bias_fits(import, bias, w->dims[0]);
    return false;
}

/* As of an image that has the axes [first, first + 2). */
static struct ipex_conv conv_along(const struct ipex_window *w, int first, int64_t groups) {
    struct ipex_conv ret = {.groups = groups};
    ipex_window_along(w, first, ret.kernel, ret.stride, ret.dilation, ret.pad);
    return ret;
}

/* A volume whose windows reach along D alone: its depths are an image's lines. */
static struct ipex_value *convolve_lines(struct ipex_import *import, struct ipex_value *x,
                                         struct ipex_value *w, const struct ipex_value *bias,
                                         const struct ipex_window *win, int64_t groups,
                                         const int64_t *out) {
    struct ipex_value *image = ipex_volume_lines(import, x);
    const struct ipex_conv conv = conv_along(win, 0, groups);
    const int64_t dims[4] = {w->dims[0], w->dims[1], w->dims[2], 1},
                  lines[2] = {out[0], image->dims[3]};
    w = ipex_build_reshape(import, w, 4, dims);
    return ipex_volume_of_lines(import, ipex_build_conv(import, image, w, bias, &conv, lines),
                                out[1], out[2]);
}

static struct ipex_value *convolve_volume(struct ipex_import *import, struct ipex_value *x,
                                          struct ipex_value *w, const struct ipex_value *bias,
                                          const struct ipex_window *win, int64_t groups,
                                          const int64_t *out) {
    if (ipex_window_deep(win))
        return convolve_lines(import, x, w, bias, win, groups, out);
    const struct ipex_volume_parts parts = ipex_volume_windows(import, x, w, win, groups, out[0]);
    const struct ipex_conv conv = conv_along(win, 1, groups);
    struct ipex_value *sum = NULL;
    for (int64_t i = 0; i < parts.count; i++) {
        struct ipex_value *part = ipex_build_conv(import, parts.image[i], parts.weight[i],
                                                  i ? NULL : bias, &conv, out + 1);
        sum = i ? ipex_build_binary(import, IPEX_STEP_add, sum, part) : part;
    }
    return sum ? ipex_volume_of_slices(import, sum, x->dims[0], out[0]) : NULL;
}

/* A signal or an image. */
static struct ipex_value *convolve_image(struct ipex_import *import, struct ipex_value *x,
                                         struct ipex_value *w, const struct ipex_value *bias,
                                         const struct ipex_window *win, int64_t groups,
                                         const int64_t *out) {
    const struct ipex_conv conv = conv_along(win, 1, groups);
    x = ipex_build_image(import, x);
    w = ipex_build_image(import, w);
    if (w->constant)
        return ipex_build_conv(import, x, w, bias, &conv, out + 1);
    struct ipex_value *y = ipex_modulated_conv(import, x, w, &conv, out + 1);
    return y ? y : ipex_correlate(import, x, w, win, groups, out);
}

/* The window of w over x, and the sizes that it leaves. False after refusing. */
static bool conv_window(struct ipex_import *import, struct ipex_value **x,
                        const struct ipex_value *w, struct ipex_window *win, int64_t *out) {
    const int n = (*x)->rank - 2;
    int64_t in[IPEX_SPATIAL];
    for (int i = 0; i < n; i++)
        win->kernel[IPEX_SPATIAL - n + i] = w->dims[2 + i];
    const struct ipex_window own = *win;
    ipex_volume_sizes(*x, in);
    if (!read_window(import, x, 0, win))
        return false;
    if (memcmp(own.kernel, win->kernel, sizeof own.kernel)) {
        ipex_import_refuse(import, "kernel_shape does not fit the weight");
        return false;
    }
    if (!window_output(import, in, win, false, out))
        return false;
    for (int i = 0; i < 2 * IPEX_SPATIAL; i++)
        if (win->pad[i] > IPEX_HALO_MAX) {
            ipex_import_refuse(import, "a padding of %lld; at most %d is supported",
                               (long long)win->pad[i], IPEX_HALO_MAX);
            return false;
        }
    return true;
}

struct ipex_value *ipex_import_convolved(struct ipex_import *import, struct ipex_value *x,
                                         struct ipex_value *w, struct ipex_value *bias) {
    const int64_t groups = ipex_import_int(import, "group", 1);
    struct ipex_window win = IPEX_WINDOW_ONE;
    int64_t out[IPEX_SPATIAL];
    if (!ipex_volume_check_rank(import, x) || !check_conv(import, x, w, bias, groups) ||
        !conv_window(import, &x, w, &win, out))
        return NULL;
    struct ipex_value *added = bias && !(bias->constant && w->constant) ? bias : NULL;
    if (added)
        bias = NULL;
    struct ipex_value *y =
        (x->rank == 5 ? convolve_volume : convolve_image)(import, x, w, bias, &win, groups, out);
    return ipex_build_image_back(import, ipex_build_plus_bias(import, y, added), x->rank);
}

static void import_conv(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *w = x ? ipex_import_in(import, 1) : NULL;
    if (!x)
        return;
    if (!w) {
        ipex_import_refuse(import, "input 1 (the weight) is missing");
        return;
    }
    struct ipex_value *y = ipex_import_convolved(import, x, w, ipex_import_in(import, 2));
    if (y)
        ipex_import_out(import, 0, y);
}

/* ---- pooling ---- */

/* How a pool goes over windows, besides these. */
struct pool_kind {
    bool max, ceil, count_pad;
};

/* Every window holds an element; false after refusing. */
static bool holds_some(struct ipex_import *import, const int64_t *in, const struct ipex_window *w) {
    for (int i = 0; i < IPEX_SPATIAL; i++) {
        int64_t least, most;
        ipex_dim_range(&import->graph->dims, in[i], &least, &most);
        if (w->pad[i] > 0 && w->dilation[i] > least) {
            ipex_import_refuse(import,
                               "a padded window (dilation %lld) can hold no element of %s%s",
                               (long long)w->dilation[i], ipex_import_text(import, in[i]),
                               ipex_import_make_larger(import, in[i]));
            return false;
        }
    }
    return true;
}

static bool read_pool(struct ipex_import *import, struct ipex_value **x, float fill, int64_t *in,
                      struct ipex_window *w) {
    ipex_volume_sizes(*x, in);
    if (!ipex_import_attr(import, "kernel_shape")) {
        ipex_import_refuse(import, "attribute kernel_shape is missing");
        return false;
    }
    if (!read_window(import, x, fill, w))
        return false;
    for (int i = 0; i < 2 * IPEX_SPATIAL; i++)
        if (w->pad[i] > w->dilation[i % IPEX_SPATIAL] * (w->kernel[i % IPEX_SPATIAL] - 1)) {
            ipex_import_refuse(import, "the padding is as large as the window");
            return false;
        }
    return holds_some(import, in, w);
}

/* ceil_mode lets the last window reach beyond the padded input, the only one too: of that one the
 * taps within are left, which are those that a mean counts. Where not even that one starts, nothing
 * changes. */
static void cut_window(const int64_t *in, struct ipex_window *w) {
    for (int i = 0; i < IPEX_SPATIAL; i++) {
        const int64_t span = w->dilation[i] * (w->kernel[i] - 1) + 1,
                      padded = in[i] + w->pad[i] + w->pad[IPEX_SPATIAL + i];
        if (in[i] < 0 || span <= padded || span - padded >= w->stride[i] ||
            padded > IPEX_WINDOW_MAX)
            continue;
        w->kernel[i] = (padded - 1) / w->dilation[i] + 1;
        w->stride[i] = padded; /* a second one would start outside */
        const int64_t after = w->dilation[i] * (w->kernel[i] - 1) + 1 - in[i] - w->pad[i];
        w->pad[IPEX_SPATIAL + i] =
            after > 0 ? after : 0; /* what no tap reads may be wider than it */
    }
}

/* The windows of an image along the axes [first, first + 2) of w. */
static struct ipex_value *pool_along(struct ipex_import *import, struct ipex_value *image,
                                     const struct ipex_window *w, int first,
                                     const struct pool_kind *kind, const int64_t *out) {
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_pool);
    struct ipex_pool *p = &node->u.pool;
    *p = (struct ipex_pool){.max = kind->max, .ceil = kind->ceil, .count_pad = kind->count_pad};
    ipex_window_along(w, first, p->kernel, p->stride, p->dilation, p->pad);
    ipex_node_add_input(node, image);
    const int64_t dims[4] = {image->dims[0], image->dims[1], out[0], out[1]};
    ipex_node_set_output(
        node, ipex_graph_value(import->graph, import->node->output[0], IPEX_DTYPE_f32, 4, dims));
    return node->output;
}

/* Windows over volumes are windows along D over windows along H and W: both kinds are separable, as
 * a window holds as many positions of x at each of its depths. */
static struct ipex_value *pool_volume(struct ipex_import *import, struct ipex_value *x,
                                      const struct ipex_window *w, const struct pool_kind *kind,
                                      const int64_t *out) {
    const int64_t n = x->dims[0], depth = x->dims[2];
    if (!ipex_window_deep(w))
        x = ipex_volume_of_slices(
            import, pool_along(import, ipex_volume_slices(import, x), w, 1, kind, out + 1), n,
            depth);
    if (ipex_window_flat(w))
        return x;
    struct ipex_window along = *w;
    along.kernel[1] = along.stride[1] = along.dilation[1] = 1;
    along.pad[1] = along.pad[IPEX_SPATIAL + 1] = 0;
    struct ipex_value *lines = ipex_volume_lines(import, x);
    const int64_t sizes[2] = {out[0], lines->dims[3]};
    return ipex_volume_of_lines(import, pool_along(import, lines, &along, 0, kind, sizes), out[1],
                                out[2]);
}

/* What a pool makes of x, in its rank. */
static struct ipex_value *pooled(struct ipex_import *import, struct ipex_value *x,
                                 const struct pool_kind *kind, const struct ipex_window *w,
                                 const int64_t *out) {
    if (x->rank == 5)
        return pool_volume(import, x, w, kind, out);
    struct ipex_value *y = pool_along(import, ipex_build_image(import, x), w, 1, kind, out + 1);
    return ipex_build_image_back(import, y, x->rank);
}

/* The part of each window that lies in x, where x was padded before: the same mean of ones. */
static struct ipex_value *counted(struct ipex_import *import, const struct ipex_value *x,
                                  const struct pool_kind *kind, const int64_t *out) {
    int64_t dims[IPEX_MAX_RANK], in[IPEX_SPATIAL];
    struct ipex_window w = IPEX_WINDOW_ONE;
    memcpy(dims, x->dims, sizeof dims);
    dims[0] = dims[1] = 1;
    struct ipex_value *ones =
        ipex_build_expand(import, ipex_build_number(import, IPEX_DTYPE_f32, 1), x->rank, dims);
    if (!ones || !read_pool(import, &ones, 0, in, &w))
        return NULL;
    return pooled(import, ones, kind, &w, out);
}

/* What the current node's windows make of x. NULL after refusing. */
static struct ipex_value *pool(struct ipex_import *import, struct ipex_value *x, bool max) {
    const struct pool_kind kind = {
        .max = max,
        .ceil = ipex_import_flag(import, "ceil_mode", false),
        .count_pad = !max && ipex_import_int(import, "count_include_pad", 0),
    };
    struct ipex_window w = IPEX_WINDOW_ONE;
    struct ipex_value *padded = x;
    int64_t in[IPEX_SPATIAL], out[IPEX_SPATIAL];
    if (!ipex_volume_check_rank(import, x) ||
        !read_pool(import, &padded, max ? -INFINITY : 0, in, &w))
        return NULL;
    if (kind.ceil)
        cut_window(in, &w);
    if (!window_output(import, in, &w, kind.ceil, out))
        return NULL;
    struct ipex_value *y = pooled(import, padded, &kind, &w, out);
    if (!max && !kind.count_pad && padded != x)
        y = ipex_build_binary(import, IPEX_STEP_div, y, counted(import, x, &kind, out));
    return y;
}

struct ipex_value *ipex_import_averaged(struct ipex_import *import, struct ipex_value *x) {
    return pool(import, x, false);
}

static void import_max_pool(struct ipex_import *import) {
    struct ipex_value *x = ipex_build_chosen(import, 0);
    if (!x)
        return;
    if (import->node->outputs > 1 && *import->node->output[1]) {
        ipex_import_refuse(import, "the second output (indices) is not supported");
        return;
    }
    const struct ipex_dequantised *d = ipex_quantized_alike(x);
    struct ipex_value *y = pool(import, d ? d->whole : x, true);
    if (d)
        y = ipex_quantized_again(import, y, d);
    if (y)
        ipex_import_out(import, 0, ipex_build_whole(import, y, ipex_import_in(import, 0)->dtype));
}

static void import_average_pool(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *y = x ? pool(import, x, false) : NULL;
    if (y)
        ipex_import_out(import, 0, y);
}

static void global_pool(struct ipex_import *import, bool max) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    if (!x || !ipex_volume_check_rank(import, x))
        return;
    /* Of a volume every position is the same. */
    struct ipex_value *image =
        x->rank == 5 ? ipex_volume_lines(import, x) : ipex_build_image(import, x);
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

/* ---- (sum of |x|^p over a window)^(1 / p): the sum is an average times how many there are ---- */

static struct ipex_value *power(struct ipex_import *import, struct ipex_value *x, float p) {
    if (p == 2.0f)
        return ipex_build_binary(import, IPEX_STEP_mul, x, x);
    x = ipex_build_unary(import, IPEX_STEP_abs, x);
    return p == 1.0f ? x : ipex_build_with(import, IPEX_STEP_pow, x, p);
}

static void norm_out(struct ipex_import *import, struct ipex_value *sum, float p) {
    struct ipex_value *y = p == 1.0f   ? sum
                           : p == 2.0f ? ipex_build_unary(import, IPEX_STEP_sqrt, sum)
                                       : ipex_build_with(import, IPEX_STEP_pow, sum, 1 / p);
    if (y)
        ipex_import_out(import, 0, y);
}

static bool read_p(struct ipex_import *import, int64_t *ret) {
    *ret = ipex_import_int(import, "p", 2);
    if (*ret >= 1)
        return true;
    ipex_import_refuse(import, "p is %lld; 1 and up are supported", (long long)*ret);
    return false;
}

/* Pads with as many zeros as the windows of ceil_mode, `up` of them and not `out`, reach beyond the
 * padded input. False after refusing. */
static bool reach_out(struct ipex_import *import, const int64_t *in, const int64_t *up,
                      int64_t *out, struct ipex_window *w) {
    for (int i = 0; i < IPEX_SPATIAL; i++) {
        int64_t count, size;
        if (up[i] == out[i])
            continue;
        if (!ipex_dim_number(&import->graph->dims, up[i], &count) ||
            !ipex_dim_number(&import->graph->dims, in[i], &size)) {
            ipex_import_refuse(import,
                               "ceil_mode with windows that reach beyond the padded input, whose "
                               "size %s is not fixed",
                               ipex_import_text(import, in[i]));
            return false;
        }
        w->pad[IPEX_SPATIAL + i] =
            (count - 1) * w->stride[i] + w->dilation[i] * (w->kernel[i] - 1) + 1 - size - w->pad[i];
        out[i] = up[i];
    }
    return true;
}

/* With ceil_mode a window may be larger than the padded input, by less than a stride: it is padded
 * with zeros. */
static void cover_window(const int64_t *in, struct ipex_window *w) {
    for (int i = 0; i < IPEX_SPATIAL; i++) {
        const int64_t over =
            w->dilation[i] * (w->kernel[i] - 1) + 1 - in[i] - w->pad[i] - w->pad[IPEX_SPATIAL + i];
        if (in[i] > 0 && over > 0 && over < w->stride[i])
            w->pad[IPEX_SPATIAL + i] += over;
    }
}

static void import_lp_pool(struct ipex_import *import) {
    static const struct pool_kind kind = {.count_pad = true};
    struct ipex_value *x = ipex_import_f32(import, 0);
    struct ipex_window w = IPEX_WINDOW_ONE;
    int64_t p, in[IPEX_SPATIAL], out[IPEX_SPATIAL], up[IPEX_SPATIAL];
    const bool rounds_up = ipex_import_flag(import, "ceil_mode", false);
    if (!x || !read_p(import, &p) || !ipex_volume_check_rank(import, x) ||
        !read_pool(import, &x, 0, in, &w))
        return;
    if (rounds_up)
        cover_window(in, &w);
    if (!window_output(import, in, &w, false, out) ||
        (rounds_up &&
         (!window_output(import, in, &w, true, up) || !reach_out(import, in, up, out, &w))))
        return;
    struct ipex_value *y = pooled(import, power(import, x, (float)p), &kind, &w, out);
    norm_out(
        import,
        ipex_build_with(import, IPEX_STEP_mul, y, (float)(w.kernel[0] * w.kernel[1] * w.kernel[2])),
        (float)p);
}

static void import_global_lp_pool(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    int64_t p;
    if (x && read_p(import, &p) && ipex_volume_check_rank(import, x))
        norm_out(import,
                 ipex_build_reduce(import, IPEX_REDUCE_sum, power(import, x, (float)p),
                                   ((1u << x->rank) - 1) & ~3u),
                 (float)p);
}

const struct ipex_import_op ipex_import_window[] = {
    {"AveragePool", import_average_pool},
    {"Conv", import_conv},
    {"GlobalAveragePool", import_global_average_pool},
    {"GlobalMaxPool", import_global_max_pool},
    {"GlobalLpPool", import_global_lp_pool},
    {"LpPool", import_lp_pool},
    {"MaxPool", import_max_pool},
    {NULL, NULL},
};
