/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes as images: see import_volume.h. */
#include "tools/convert/import_volume.h"

#include <string.h>

#include "format/check.h"

bool ipex_window_fits(struct ipex_import *import, const struct ipex_window *w) {
    bool positive = true, fits = true;
    for (int i = 0; i < IPEX_SPATIAL; i++) {
        positive &= w->kernel[i] >= 1 && w->stride[i] >= 1 && w->dilation[i] >= 1;
        fits &= w->kernel[i] <= IPEX_WINDOW_MAX && w->stride[i] <= IPEX_WINDOW_MAX &&
                w->dilation[i] <= IPEX_WINDOW_MAX;
    }
    for (int i = 0; i < 2 * IPEX_SPATIAL; i++)
        fits &= w->pad[i] <= IPEX_WINDOW_MAX;
    if (!positive)
        ipex_import_refuse(import, "kernel, strides and dilations must be positive");
    else if (!fits)
        ipex_import_refuse(import, "kernel, strides, dilations and pads are at most %d",
                           IPEX_WINDOW_MAX);
    return positive && fits;
}

enum { RANK = 5 }; /* of volumes */

bool ipex_window_flat(const struct ipex_window *w) {
    return w->kernel[0] == 1 && w->stride[0] == 1 && w->pad[0] == 0 && w->pad[IPEX_SPATIAL] == 0;
}

bool ipex_window_deep(const struct ipex_window *w) {
    for (int i = 1; i < IPEX_SPATIAL; i++)
        if (w->kernel[i] != 1 || w->stride[i] != 1 || w->pad[i] || w->pad[IPEX_SPATIAL + i])
            return false;
    return true;
}

bool ipex_volume_check_rank(struct ipex_import *import, const struct ipex_value *x) {
    if (x->rank >= 3 && x->rank <= RANK)
        return true;
    ipex_import_refuse(import,
                       "input %s has rank %d; windows over signals (rank 3), images (rank 4) and "
                       "volumes (rank 5) are supported",
                       x->name, x->rank);
    return false;
}

void ipex_volume_sizes(const struct ipex_value *x, int64_t *ret) {
    for (int32_t i = 0; i < IPEX_SPATIAL; i++) {
        const int32_t axis = x->rank - IPEX_SPATIAL + i;
        ret[i] = axis < 2 ? 1 : x->dims[axis];
    }
}

void ipex_window_along(const struct ipex_window *w, int first, int64_t *kernel, int64_t *stride,
                       int64_t *dilation, int64_t *pad) {
    for (int i = 0; i < 2; i++) {
        kernel[i] = w->kernel[first + i];
        stride[i] = w->stride[first + i];
        dilation[i] = w->dilation[first + i];
        pad[i] = w->pad[first + i];
        pad[2 + i] = w->pad[IPEX_SPATIAL + first + i];
    }
}

/* ---- the two forms ---- */

/* [N][C][D][H][W] <-> [N][D][C][H][W] */
static struct ipex_value *swap_depths(struct ipex_import *import, struct ipex_value *x) {
    static const int32_t swap[RANK] = {0, 2, 1, 3, 4};
    return ipex_build_transpose(import, x, swap);
}

/* [N][D][C][H][W] -> [N D][C][H][W] */
static struct ipex_value *merge_depths(struct ipex_import *import, struct ipex_value *x) {
    if (!x)
        return NULL;
    const int64_t dims[4] = {ipex_dim_mul(&import->graph->dims, x->dims[0], x->dims[1]), x->dims[2],
                             x->dims[3], x->dims[4]};
    return ipex_build_reshape(import, x, 4, dims);
}

/* [N D][C][H][W] -> [N][D][C][H][W] */
static struct ipex_value *split_depths(struct ipex_import *import, struct ipex_value *image,
                                       int64_t n, int64_t depth) {
    const int64_t dims[RANK] = {n, depth, image->dims[1], image->dims[2], image->dims[3]};
    return ipex_build_reshape(import, image, RANK, dims);
}

struct ipex_value *ipex_volume_slices(struct ipex_import *import, struct ipex_value *x) {
    return merge_depths(import, swap_depths(import, x));
}

struct ipex_value *ipex_volume_of_slices(struct ipex_import *import, struct ipex_value *image,
                                         int64_t n, int64_t depth) {
    return swap_depths(import, split_depths(import, image, n, depth));
}

struct ipex_value *ipex_volume_lines(struct ipex_import *import, struct ipex_value *x) {
    const int64_t dims[4] = {x->dims[0], x->dims[1], x->dims[2],
                             ipex_dim_mul(&import->graph->dims, x->dims[3], x->dims[4])};
    return ipex_build_reshape(import, x, 4, dims);
}

struct ipex_value *ipex_volume_of_lines(struct ipex_import *import, struct ipex_value *image,
                                        int64_t height, int64_t width) {
    const int64_t dims[RANK] = {image->dims[0], image->dims[1], image->dims[2], height, width};
    return ipex_build_reshape(import, image, RANK, dims);
}

/* ---- weights ---- */

/* [A][B][KD][plane] of w -> [A][KD'][B][plane], of `count` depths from `first` on: a constant of
 * these dims. */
static struct ipex_value *swap_weight(struct ipex_import *import, const struct ipex_value *w,
                                      int64_t first, int64_t count, const int64_t *dims) {
    const int64_t a = w->dims[0], b = w->dims[1], kd = w->dims[2], plane = w->dims[3] * w->dims[4];
    const float *from = (const void *)ipex_constant_data(w);
    float *to =
        ipex_arena_array(&import->graph->arena, (size_t)(a * b * count * plane), sizeof *to);
    float *ret = to;
    for (int64_t i = 0; i < a; i++)
        for (int64_t d = first; d < first + count; d++)
            for (int64_t j = 0; j < b; j++, to += plane)
                memcpy(to, from + ((i * b + j) * kd + d) * plane, (size_t)plane * sizeof *to);
    return ipex_graph_constant(import->graph, w->name, IPEX_DTYPE_f32, 4, dims, ret);
}

struct ipex_value *ipex_volume_spread_weight(struct ipex_import *import,
                                             const struct ipex_value *w) {
    const int64_t dims[4] = {w->dims[0], w->dims[2] * w->dims[1], w->dims[3], w->dims[4]};
    return swap_weight(import, w, 0, w->dims[2], dims);
}

/* ---- convolution ---- */

/* What tap k of windows along D sees, of x [N][D][C][H][W], padded: the depth of every output. */
static struct ipex_value *depths_of_tap(struct ipex_import *import, struct ipex_value *x,
                                        const struct ipex_window *w, int64_t k, int64_t depth) {
    return ipex_build_every(import, x, 1, k * w->dilation[0], depth, w->stride[0]);
}

/* All taps' side by side as channels, within every group, as merge_depths gives images. */
static struct ipex_value *depths_as_channels(struct ipex_import *import, struct ipex_value *x,
                                             const struct ipex_window *w, int64_t groups,
                                             int64_t depth) {
    const int64_t taps = w->kernel[0], c = x->dims[2];
    const int64_t apart[RANK + 1] = {x->dims[0], x->dims[1], groups,
                                     c / groups, x->dims[3], x->dims[4]};
    struct ipex_value **part = ipex_arena_array(&import->graph->arena, (size_t)taps, sizeof *part);
    if (groups > 1)
        x = ipex_build_reshape(import, x, RANK + 1, apart);
    for (int64_t k = 0; k < taps; k++)
        part[k] = depths_of_tap(import, x, w, k, depth);
    x = taps == 1 ? part[0] : ipex_build_concat(import, groups > 1 ? 3 : 2, (int32_t)taps, part);
    const int64_t joined[RANK] = {apart[0], depth, taps * c, apart[4], apart[5]};
    return merge_depths(import, groups > 1 ? ipex_build_reshape(import, x, RANK, joined) : x);
}

struct ipex_volume_parts ipex_volume_windows(struct ipex_import *import, struct ipex_value *x,
                                             const struct ipex_value *w,
                                             const struct ipex_window *window, int64_t groups,
                                             int64_t depth) {
    const int64_t taps = window->kernel[0], inputs = w->dims[1];
    const bool apart = groups > 1 && inputs == 1;
    struct ipex_volume_parts ret = {.count = apart ? taps : 1};
    ret.image = ipex_arena_array(&import->graph->arena, (size_t)ret.count, sizeof *ret.image);
    ret.weight = ipex_arena_array(&import->graph->arena, (size_t)ret.count, sizeof *ret.weight);
    x = swap_depths(import, x);
    if (!ipex_window_flat(window))
        x = ipex_build_zeros(import, x, 1, window->pad[0], window->pad[IPEX_SPATIAL]);
    const int64_t count = taps / ret.count;
    const int64_t dims[4] = {w->dims[0], count * inputs, w->dims[3], w->dims[4]};
    for (int64_t i = 0; i < ret.count; i++) {
        ret.weight[i] = swap_weight(import, w, i, count, dims);
        ret.image[i] = ipex_window_flat(window) ? merge_depths(import, x)
                       : apart ? merge_depths(import, depths_of_tap(import, x, window, i, depth))
                               : depths_as_channels(import, x, window, groups, depth);
    }
    return ret;
}

/* ---- transposed convolution ---- */

struct ipex_value *ipex_volume_spread(struct ipex_import *import, struct ipex_value *image,
                                      int64_t n, int64_t depth, const struct ipex_window *w,
                                      int64_t depth_out) {
    const int64_t taps = w->kernel[0], m = image->dims[1] / taps;
    const bool touch = taps == w->stride[0] && w->dilation[0] == 1; /* and do not overlap */
    struct ipex_value *x = split_depths(import, image, n, depth);
    struct ipex_value **part = ipex_arena_array(&import->graph->arena, (size_t)taps, sizeof *part);
    if (touch) { /* their depths follow each other */
        const int64_t dims[RANK] = {n, ipex_dim_mul(&import->graph->dims, depth, taps), m,
                                    image->dims[2], image->dims[3]};
        part[0] = ipex_build_reshape(import, x, RANK, dims);
    }
    for (int64_t k = 0; !touch && k < taps; k++)
        part[k] =
            ipex_build_apart(import, ipex_build_slice(import, x, 2, k * m, m), 1, w->stride[0]);
    return swap_depths(import, ipex_build_overlapped(import, touch ? 1 : taps, part, 1,
                                                     w->dilation[0], w->pad[0], depth_out));
}
