/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators that only move elements: reshapes, transposes, slices, padding, concatenation.
 * Most become views later (lower.c). */
#include "tools/convert/import.h"

#include <string.h>

#define MAX_SPLITS 4096

static bool normal_axis(struct ipex_import *import, int64_t *axis, int32_t rank) {
    if (*axis < 0)
        *axis += rank;
    if (*axis >= 0 && *axis < rank)
        return true;
    ipex_import_refuse(import, "axis is out of range for rank %d", rank);
    return false;
}

static void bind_reshape(struct ipex_import *import, struct ipex_value *x, int32_t rank,
                         const int64_t *dims) {
    ipex_import_out(import, 0, ipex_import_reshape(import, x, import->node->output[0], rank, dims));
}

/* Any constant may be reshaped; at run time only f32. */
static struct ipex_value *movable(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_in(import, 0);
    return x && x->constant ? x : ipex_import_f32(import, 0);
}

static void import_reshape(struct ipex_import *import) {
    struct ipex_value *x = movable(import);
    int64_t dims[IPEX_MAX_RANK], known = 1;
    int rank = x ? ipex_import_ints(import, "shape", 1, dims, IPEX_MAX_RANK) : -1, open = -1;
    bool keep_zero = ipex_import_int(import, "allowzero", 0) != 0;
    if (rank < 0)
        return;
    for (int i = 0; i < rank; i++) {
        if (dims[i] == 0 && !keep_zero && i < x->rank)
            dims[i] = x->dims[i];
        if (dims[i] == -1 && open < 0)
            open = i;
        else if (dims[i] < 1 ||
                 !ipex_mul_u64((uint64_t)known, (uint64_t)dims[i], (uint64_t *)&known) ||
                 known > IPEX_MAX_NUMEL) {
            ipex_import_refuse(import, "dim %d of the new shape is %lld", i, (long long)dims[i]);
            return;
        }
    }
    if (open >= 0)
        dims[open] = ipex_value_numel(x) / known;
    if (ipex_value_numel(x) != known * (open >= 0 ? dims[open] : 1)) {
        ipex_import_refuse(import, "%lld elements do not fit the new shape",
                           (long long)ipex_value_numel(x));
        return;
    }
    bind_reshape(import, x, rank, dims);
}

static void import_flatten(struct ipex_import *import) {
    struct ipex_value *x = movable(import);
    int64_t axis = ipex_import_int(import, "axis", 1), dims[2] = {1, 1};
    if (!x)
        return;
    if (axis < 0)
        axis += x->rank;
    if (axis < 0 || axis > x->rank) {
        ipex_import_refuse(import, "axis is out of range for rank %d", x->rank);
        return;
    }
    for (int32_t i = 0; i < x->rank; i++)
        dims[i >= axis] *= x->dims[i];
    bind_reshape(import, x, 2, dims);
}

static void import_squeeze(struct ipex_import *import) {
    struct ipex_value *x = movable(import);
    int64_t axes[IPEX_MAX_RANK], dims[IPEX_MAX_RANK];
    int count = x ? ipex_import_ints(import, "axes", 1, axes, IPEX_MAX_RANK) : -1;
    if (count < 0)
        return;
    uint32_t mask = 0;
    for (int i = 0; i < count; i++) {
        if (!normal_axis(import, &axes[i], x->rank))
            return;
        if (x->dims[axes[i]] != 1) {
            ipex_import_refuse(import, "axis %lld has %lld elements, not 1", (long long)axes[i],
                               (long long)x->dims[axes[i]]);
            return;
        }
        mask |= 1u << axes[i];
    }
    int32_t rank = 0;
    for (int32_t i = 0; i < x->rank; i++)
        if (count ? !(mask >> i & 1) : x->dims[i] != 1)
            dims[rank++] = x->dims[i];
    bind_reshape(import, x, rank, dims);
}

static void import_unsqueeze(struct ipex_import *import) {
    struct ipex_value *x = movable(import);
    int64_t axes[IPEX_MAX_RANK], dims[IPEX_MAX_RANK];
    int count = x ? ipex_import_ints(import, "axes", 1, axes, IPEX_MAX_RANK) : -1;
    if (count < 0)
        return;
    int32_t rank = x->rank + count, from = 0;
    if (rank > IPEX_MAX_RANK) {
        ipex_import_refuse(import, "the result would have rank %d, at most 8 is supported", rank);
        return;
    }
    uint32_t mask = 0;
    for (int i = 0; i < count; i++) {
        if (!normal_axis(import, &axes[i], rank))
            return;
        mask |= 1u << axes[i];
    }
    for (int32_t i = 0; i < rank; i++) {
        if (!(mask >> i & 1) && from == x->rank) {
            ipex_import_refuse(import, "axes are repeated");
            return;
        }
        dims[i] = mask >> i & 1 ? 1 : x->dims[from++];
    }
    bind_reshape(import, x, rank, dims);
}

static void import_transpose(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "perm");
    int32_t perm[IPEX_MAX_RANK];
    uint32_t seen = 0;
    if (!x)
        return;
    for (int32_t i = 0; i < x->rank; i++) {
        perm[i] =
            attr && (int32_t)attr->count == x->rank ? (int32_t)attr->ints[i] : x->rank - 1 - i;
        seen |= perm[i] >= 0 && perm[i] < x->rank ? 1u << perm[i] : 0;
    }
    if (seen != (1u << x->rank) - 1 || (attr && (int32_t)attr->count != x->rank)) {
        ipex_import_refuse(import, "perm is not a permutation of %d axes", x->rank);
        return;
    }
    ipex_import_out(import, 0, ipex_import_transpose(import, x, import->node->output[0], perm));
}

static bool concat_fits(struct ipex_import *import, struct ipex_value *const *x, size_t count,
                        int64_t axis, int64_t *dims) {
    for (size_t i = 0; i < count; i++) {
        for (int32_t k = 0; k < x[0]->rank; k++)
            if (x[i]->rank != x[0]->rank || (k != axis && x[i]->dims[k] != x[0]->dims[k])) {
                ipex_import_refuse(import, "the shapes of %s and %s do not fit", x[0]->name,
                                   x[i]->name);
                return false;
            }
        dims[axis] += i ? x[i]->dims[axis] : 0;
    }
    return true;
}

static void import_concat(struct ipex_import *import) {
    size_t count = import->node->inputs;
    struct ipex_value **x = ipex_arena_array(&import->graph->arena, count + 1, sizeof *x);
    int64_t axis = ipex_import_int(import, "axis", 0), dims[IPEX_MAX_RANK];
    for (size_t i = 0; i < count; i++)
        if (!(x[i] = ipex_import_f32(import, i)))
            return;
    if (!count || !normal_axis(import, &axis, x[0]->rank))
        return;
    memcpy(dims, x[0]->dims, sizeof dims);
    if (!concat_fits(import, x, count, axis, dims))
        return;
    if (count == 1) {
        ipex_import_out(import, 0, x[0]);
        return;
    }
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_concat);
    node->u.axis = (int32_t)axis;
    node->concat_input = ipex_arena_array(&import->graph->arena, count, sizeof *x);
    for (size_t i = 0; i < count; i++)
        ipex_node_add_input(node, x[i]);
    ipex_node_set_output(node, ipex_import_new(import, 0, x[0]->rank, dims));
}

/* A slice node over x with the given result dims; start and step 0/1 where not set by the caller.
 */
static struct ipex_node *slice_node(struct ipex_import *import, struct ipex_value *x, size_t output,
                                    const int64_t *dims) {
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_slice);
    for (int32_t i = 0; i < x->rank; i++)
        node->u.slice.step[i] = 1;
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, ipex_import_new(import, output, x->rank, dims));
    return node;
}

static void import_split(struct ipex_import *import) {
    static int64_t parts[MAX_SPLITS];
    struct ipex_value *x = ipex_import_f32(import, 0);
    int64_t axis = ipex_import_int(import, "axis", 0), start = 0, dims[IPEX_MAX_RANK];
    size_t outputs = import->node->outputs;
    if (!x || !normal_axis(import, &axis, x->rank))
        return;
    int count = ipex_import_ints(import, "split", 1, parts, MAX_SPLITS);
    if (count < 0)
        return;
    if (count == 0 && outputs <= MAX_SPLITS) {
        int64_t each = (x->dims[axis] + (int64_t)outputs - 1) / (int64_t)outputs;
        for (; count < (int)outputs; count++)
            parts[count] =
                x->dims[axis] - count * each < each ? x->dims[axis] - count * each : each;
    }
    for (int i = 0; i < count; i++)
        start = start < 0 || parts[i] < 1 || parts[i] > x->dims[axis] ? -1 : start + parts[i];
    if (count != (int)outputs || start != x->dims[axis]) {
        ipex_import_refuse(import, "the parts do not add up to the %lld elements of the axis",
                           (long long)x->dims[axis]);
        return;
    }
    memcpy(dims, x->dims, sizeof dims);
    start = 0;
    for (size_t i = 0; i < outputs; i++) {
        dims[axis] = parts[i];
        if (*import->node->output[i])
            slice_node(import, x, i, dims)->u.slice.start[axis] = start;
        start += parts[i];
    }
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

/* One axis of Slice after the ONNX rules: negative indices count from the end, both ends are
 * clamped. Returns the number of elements. */
static int64_t slice_axis(int64_t dim, int64_t *start, int64_t end, int64_t step) {
    *start = clamp(*start < 0 ? *start + dim : *start, 0, step > 0 ? dim : dim - 1);
    end = clamp(end < 0 ? end + dim : end, step > 0 ? 0 : -1, dim);
    int64_t span = step > 0 ? end - *start : *start - end;
    if (span <= 0 || step == INT64_MIN)
        return 0;
    int64_t size = step > 0 ? step : -step;
    return (span - 1) / size + 1;
}

static void import_slice(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    int64_t start[IPEX_MAX_RANK], end[IPEX_MAX_RANK], axes[IPEX_MAX_RANK], step[IPEX_MAX_RANK],
        dims[IPEX_MAX_RANK];
    if (!x)
        return;
    int n = ipex_import_ints(import, "starts", 1, start, IPEX_MAX_RANK),
        n_end = n < 0 ? -1 : ipex_import_ints(import, "ends", 2, end, IPEX_MAX_RANK);
    int n_axes = n_end < 0 ? -1 : ipex_import_ints(import, "axes", 3, axes, IPEX_MAX_RANK);
    int n_step = n_axes < 0 ? -1 : ipex_import_ints(import, NULL, 4, step, IPEX_MAX_RANK);
    if (n_step < 0)
        return;
    if (n_end != n || (n_axes && n_axes != n) || (n_step && n_step != n) || n > x->rank) {
        ipex_import_refuse(import, "starts, ends, axes and steps have different lengths");
        return;
    }
    int64_t from[IPEX_MAX_RANK] = {0}, by[IPEX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    for (int32_t i = 0; i < x->rank; i++)
        by[i] = 1;
    for (int i = 0; i < n; i++) {
        int64_t axis = n_axes ? axes[i] : i;
        if (!normal_axis(import, &axis, x->rank))
            return;
        by[axis] = n_step ? step[i] : 1;
        from[axis] = start[i];
        dims[axis] = by[axis] ? slice_axis(x->dims[axis], &from[axis], end[i], by[axis]) : 0;
        if (dims[axis] < 1) {
            ipex_import_refuse(import, "nothing is left of axis %lld", (long long)axis);
            return;
        }
        if (dims[axis] == 1) /* then the step, of any size, is not taken */
            by[axis] = 1;
    }
    struct ipex_node *node = slice_node(import, x, 0, dims);
    memcpy(node->u.slice.start, from, sizeof from);
    memcpy(node->u.slice.step, by, (size_t)x->rank * sizeof *by);
}

static void import_pad(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    int64_t pads[2 * IPEX_MAX_RANK], axes[IPEX_MAX_RANK], dims[IPEX_MAX_RANK];
    int n = x ? ipex_import_ints(import, "pads", 1, pads, 2 * IPEX_MAX_RANK) : -1;
    int n_axes = n < 0 ? -1 : ipex_import_ints(import, NULL, 3, axes, IPEX_MAX_RANK);
    const struct ipex_value *value = ipex_import_in(import, 2);
    const char *mode = ipex_import_string(import, "mode", "constant");
    if (n_axes < 0)
        return;
    int axes_count = n_axes ? n_axes : x->rank;
    if (strcmp(mode, "constant")) {
        ipex_import_refuse(import, "mode %s is not supported, only constant is", mode);
        return;
    }
    if (n != 2 * axes_count || (value && (!value->constant || ipex_value_numel(value) != 1))) {
        ipex_import_refuse(import, n != 2 * axes_count ? "pads does not have two values per axis"
                                                       : "the value is not a constant scalar");
        return;
    }
    int64_t before[IPEX_MAX_RANK] = {0}, after[IPEX_MAX_RANK] = {0};
    memcpy(dims, x->dims, sizeof dims);
    bool negative = false;
    for (int i = 0; i < axes_count; i++) {
        int64_t axis = n_axes ? axes[i] : i;
        if (!normal_axis(import, &axis, x->rank))
            return;
        before[axis] = pads[i];
        after[axis] = pads[axes_count + i];
        negative |= before[axis] < 0 || before[axis] > IPEX_MAX_DIM || after[axis] < 0 ||
                    after[axis] > IPEX_MAX_DIM;
        dims[axis] += negative ? 0 : before[axis] + after[axis];
    }
    if (negative) {
        ipex_import_refuse(import, "negative or huge padding is not supported");
        return;
    }
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_pad);
    memcpy(node->u.pad.before, before, sizeof before);
    memcpy(node->u.pad.after, after, sizeof after);
    node->u.pad.value =
        value ? (float)ipex_constant_f64(value, 0) : ipex_import_float(import, "value", 0);
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, ipex_import_new(import, 0, x->rank, dims));
}

/* [N][C][H][W] with the block split out of C (depth to space) or of H and W, one transpose, and
 * merged again. */
static void depth_space(struct ipex_import *import, bool to_space) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    int64_t b = ipex_import_int(import, "blocksize", 0);
    const char *name = import->node->output[0], *mode = ipex_import_string(import, "mode", "DCR");
    if (!x)
        return;
    if (x->rank != 4 || b < 1 || b > IPEX_MAX_DIM ||
        (to_space ? x->dims[1] % (b * b) : x->dims[2] % b || x->dims[3] % b)) {
        ipex_import_refuse(import, "block size %lld does not fit the input", (long long)b);
        return;
    }
    int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2], w = x->dims[3];
    bool crd = !strcmp(mode, "CRD");
    const int64_t split_dcr[6] = {n, b, b, c / (b * b), h, w},
                  split_crd[6] = {n, c / (b * b), b, b, h, w};
    const int64_t split_space[6] = {n, c, h / b, b, w / b, b};
    static const int32_t perm_dcr[6] = {0, 3, 4, 1, 5, 2}, perm_crd[6] = {0, 1, 4, 2, 5, 3},
                         perm_space[6] = {0, 3, 5, 1, 2, 4};
    const int64_t merged_to[4] = {n, c / (b * b), h * b, w * b},
                  merged_from[4] = {n, c * b * b, h / b, w / b};
    x = ipex_import_reshape(import, x, name, 6,
                            !to_space ? split_space
                            : crd     ? split_crd
                                      : split_dcr);
    x = ipex_import_transpose(import, x, name, !to_space ? perm_space : crd ? perm_crd : perm_dcr);
    bind_reshape(import, x, 4, to_space ? merged_to : merged_from);
}

static void import_depth_to_space(struct ipex_import *import) {
    depth_space(import, true);
}
static void import_space_to_depth(struct ipex_import *import) {
    depth_space(import, false);
}

const struct ipex_import_op ipex_import_move[] = {
    {"Concat", import_concat},
    {"DepthToSpace", import_depth_to_space},
    {"Flatten", import_flatten},
    {"Pad", import_pad},
    {"Reshape", import_reshape},
    {"Slice", import_slice},
    {"SpaceToDepth", import_space_to_depth},
    {"Split", import_split},
    {"Squeeze", import_squeeze},
    {"Transpose", import_transpose},
    {"Unsqueeze", import_unsqueeze},
    {NULL, NULL},
};
