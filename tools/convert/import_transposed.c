/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's transposed convolution. */
#include "tools/convert/import_modulated.h"
#include "tools/convert/import_volume.h"

#include <string.h>

#include "format/check.h"

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
    for (int i = 0; i < IPEX_SPATIAL; i++)
        if (shape[i] < 1 || shape[i] > INT32_MAX || t->out_pad[i] < 0 ||
            t->out_pad[i] > IPEX_WINDOW_MAX) {
            ipex_import_refuse(import, "output_shape %lld and output_padding %lld are no sizes",
                               (long long)shape[i], (long long)t->out_pad[i]);
            return false;
        }
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
        !ipex_window_fits(import, win) || !transposed_pads(import, axes, t) ||
        !ipex_window_fits(import, win))
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
        const bool negative = win->pad[i] < 0 || win->pad[IPEX_SPATIAL + i] < 0;
        if (lo < 1 || negative) {
            ipex_import_refuse(import, negative ? "negative padding is not supported"
                                                : "strides, dilations and pads leave no output");
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

/* Channels [groups][taps][M / groups] of an image as [taps][M]. */
static struct ipex_value *taps_of_groups(struct ipex_import *import, struct ipex_value *image,
                                         int64_t groups, int64_t taps) {
    static const int32_t swap[] = {0, 2, 1, 3, 4, 5};
    if (!image || groups == 1 || taps == 1)
        return image;
    const int64_t apart[] = {image->dims[0], groups,        taps, image->dims[1] / groups / taps,
                             image->dims[2], image->dims[3]};
    struct ipex_value *y =
        ipex_build_transpose(import, ipex_build_reshape(import, image, 6, apart), swap);
    return ipex_build_reshape(import, y, 4, image->dims);
}

/* Every depth of x gives an image for every tap along D; these are added where they fall together.
 */
static struct ipex_value *transposed_volume(struct ipex_import *import, struct ipex_value *x,
                                            const struct ipex_value *w,
                                            const struct transposed *t) {
    struct ipex_value *taps = transposed_image(import, ipex_volume_slices(import, x),
                                               ipex_volume_spread_weight(import, w), NULL, t);
    taps = taps_of_groups(import, taps, t->groups, t->window.kernel[0]);
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

const struct ipex_import_op ipex_import_transposed[] = {
    {"ConvTranspose", import_conv_transpose},
    {NULL, NULL},
};
