/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution by a weight that is computed at run time (modulated convolutions, the correlation of
 * two images, mixtures of weights): what every tap of the window sees of x, side by side, is a
 * matrix, and the weight times it the result. Layers with a constant weight never come here. */
#include "tools/convert/import_volume.h"

#include <string.h>

/* Each tap is a slice of x. So many are joined at once, and then these: a plan has a limit of
 * tensors that are alive together. */
enum { JOINED = 32, MOST_TAPS = JOINED * JOINED };

/* The positions of an axis that a tap at `offset` sees. */
static struct ipex_value *seen(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                               int64_t offset, int64_t count, int64_t stride) {
    return count == x->dims[axis] ? x : ipex_build_every(import, x, axis, offset, count, stride);
}

static struct ipex_value *joined(struct ipex_import *import, int32_t count,
                                 struct ipex_value *const *part) {
    return count == 1 ? part[0] : ipex_build_concat(import, 2, count, part);
}

/* x [N][C][H][W], padded -> [N][C][KH KW][OH OW] */
static struct ipex_value *side_by_side(struct ipex_import *import, struct ipex_value *x,
                                       const struct ipex_window *w, const int64_t *out) {
    struct ipex_value *part[JOINED], *group[JOINED];
    int32_t parts = 0, groups = 0;
    const int64_t last = w->kernel[1] * w->kernel[2] - 1;
    const int64_t dims[4] = {x->dims[0], x->dims[1], 1,
                             ipex_dim_mul(&import->graph->dims, out[1], out[2])};
    for (int64_t i = 0; i < w->kernel[1]; i++) {
        struct ipex_value *lines = seen(import, x, 2, i * w->dilation[1], out[1], w->stride[1]);
        for (int64_t k = 0; k < w->kernel[2]; k++) {
            part[parts++] = ipex_build_reshape(
                import, seen(import, lines, 3, k * w->dilation[2], out[2], w->stride[2]), 4, dims);
            if (parts < JOINED && i * w->kernel[2] + k < last)
                continue;
            group[groups++] = joined(import, parts, part);
            parts = 0;
        }
    }
    return joined(import, groups, group);
}

struct ipex_value *ipex_correlate(struct ipex_import *import, struct ipex_value *x,
                                  struct ipex_value *w, const struct ipex_window *window,
                                  int64_t groups, const int64_t *out) {
    struct ipex_dims *table = &import->graph->dims;
    const int64_t taps = window->kernel[1] * window->kernel[2], n = x->dims[0], m = w->dims[0];
    if (taps > MOST_TAPS) {
        ipex_import_refuse(import,
                           "the weight %s is computed at run time and has %lld taps; at most %d "
                           "are supported then",
                           w->name, (long long)taps, MOST_TAPS);
        return NULL;
    }
    const int64_t inputs = w->dims[1] * taps, plane = ipex_dim_mul(table, out[1], out[2]);
    const int64_t rows[4] = {1, groups, m / groups, inputs},
                  columns[4] = {n, groups, inputs, plane}, result[4] = {n, m, out[1], out[2]};
    x = ipex_build_zeros(import, x, 2, window->pad[1], window->pad[IPEX_SPATIAL + 1]);
    x = ipex_build_zeros(import, x, 3, window->pad[2], window->pad[IPEX_SPATIAL + 2]);
    x = ipex_build_reshape(import, side_by_side(import, x, window, out), 4, columns);
    struct ipex_value *y = ipex_build_matmul(import, ipex_build_reshape(import, w, 4, rows), x);
    return ipex_build_reshape(import, y, 4, result);
}

/* ---- transposed: x with zeros between its elements, convolved by the weight turned round ---- */

/* `count` positions along an axis from `before` ahead of its first on, `behind` of them after its
 * last; zeros where x has none. */
static struct ipex_value *framed(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                                 int64_t before, int64_t behind, int64_t count) {
    x = ipex_build_zeros(import, x, axis, before > 0 ? before : 0, behind > 0 ? behind : 0);
    return !x || x->dims[axis] == count
               ? x
               : ipex_build_slice(import, x, axis, before < 0 ? -before : 0, count);
}

/* [C][M / groups][KH][KW] -> [M][C / groups][KH][KW], both axes from last to first */
static struct ipex_value *turned_weight(struct ipex_import *import, struct ipex_value *w,
                                        int64_t groups) {
    static const int32_t swap[5] = {0, 2, 1, 3, 4};
    const int64_t kh = w->dims[2], kw = w->dims[3], c = w->dims[0] / groups, m = w->dims[1];
    const int64_t split[5] = {groups, c, m, kh, kw}, joined[4] = {groups * m, c, kh, kw};
    w = kh == 1 ? w : ipex_build_every(import, w, 2, kh - 1, kh, -1);
    w = kw == 1 ? w : ipex_build_every(import, w, 3, kw - 1, kw, -1);
    w = ipex_build_transpose(import, ipex_build_reshape(import, w, 5, split), swap);
    return ipex_build_reshape(import, w, 4, joined);
}

struct ipex_value *ipex_correlate_transposed(struct ipex_import *import, struct ipex_value *x,
                                             struct ipex_value *w, const struct ipex_window *window,
                                             const int64_t *out_pad, int64_t groups,
                                             const int64_t *out) {
    struct ipex_window turned = *window;
    for (int i = 1; i < IPEX_SPATIAL; i++) {
        const int64_t reach = window->dilation[i] * (window->kernel[i] - 1);
        const int64_t before = reach - window->pad[i],
                      behind = reach - window->pad[IPEX_SPATIAL + i] + out_pad[i] -
                               (window->stride[i] - 1);
        turned.stride[i] = 1;
        turned.pad[i] = turned.pad[IPEX_SPATIAL + i] = 0;
        x = ipex_build_apart(import, x, i + 1, window->stride[i]);
        x = framed(import, x, i + 1, before, behind,
                   ipex_dim_add(&import->graph->dims, out[i], reach));
    }
    return ipex_correlate(import, x, turned_weight(import, w, groups), &turned, groups, out);
}
