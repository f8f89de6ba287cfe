/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators that only move elements: reshapes, transposes, slices, concatenation.
 * Most become views later (lower.c). */
#include "tools/convert/import_quantized.h"
#include "tools/convert/import_scope.h"

#include <string.h>

#define MAX_SPLITS 4096

static void bind_reshape(struct ipex_import *import, struct ipex_value *x, int32_t rank,
                         const int64_t *dims) {
    ipex_import_out(import, 0, ipex_import_reshape(import, x, import->node->output[0], rank, dims));
}

/* Any constant may be reshaped, of types without operators too. */
static struct ipex_value *movable(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_in(import, 0);
    return x && x->constant ? x : ipex_import_any(import, 0);
}

/* A new value of x's type, bound to output i. */
static struct ipex_value *result_like(struct ipex_import *import, size_t i,
                                      const struct ipex_value *x, const int64_t *dims) {
    struct ipex_value *value = ipex_import_new(import, i, x->rank, dims);
    value->dtype = x->dtype;
    return value;
}

/* size / (product of the known dims), after equal factors are struck out on both sides. */
static int64_t open_dim(struct ipex_import *import, const struct ipex_value *x, const int64_t *dims,
                        int rank, int open) {
    struct ipex_dims *table = &import->graph->dims;
    int64_t size = 1, known = 1;
    uint32_t struck = 0;
    for (int i = 0; i < rank; i++) {
        int32_t k = 0;
        while (k < x->rank && (struck >> k & 1 || x->dims[k] != dims[i]))
            k++;
        if (i != open && k < x->rank)
            struck |= 1u << k;
        else if (i != open)
            known = ipex_dim_mul(table, known, dims[i]);
    }
    for (int32_t k = 0; k < x->rank; k++)
        if (!(struck >> k & 1))
            size = ipex_dim_mul(table, size, x->dims[k]);
    return ipex_dim_exact_div(table, size, known);
}

/* x, which has no elements, in dims of as many; an open one is 0, unless others are. */
static void bind_none_reshaped(struct ipex_import *import, struct ipex_value *x, int rank,
                               int64_t *dims, int open) {
    bool none = false;
    for (int i = 0; i < rank; i++)
        none |= dims[i] == 0;
    if (none != (open < 0)) {
        ipex_import_refuse(import, "no elements do not fit the new shape");
        return;
    }
    if (open >= 0)
        dims[open] = 0;
    bind_reshape(import, x, rank, dims);
}

static void import_reshape(struct ipex_import *import) {
    struct ipex_value *x = movable(import);
    int64_t dims[IPEX_MAX_RANK], number;
    int rank = x ? ipex_import_dims(import, "shape", 1, dims, IPEX_MAX_RANK) : -1, open = -1;
    bool keep_zero = ipex_import_flag(import, "allowzero", false);
    if (rank < 0)
        return;
    const int64_t least = ipex_import_is_none(x) ? 0 : 1;
    for (int i = 0; i < rank; i++) {
        if (!ipex_dim_number(&import->graph->dims, dims[i], &number))
            continue;
        if (number == 0 && !keep_zero && i < x->rank)
            dims[i] = x->dims[i];
        else if (number == -1 && open < 0)
            open = i;
        else if (number < least || number > IPEX_MAX_DIM) {
            ipex_import_refuse(import, "dim %d of the new shape is %lld", i, (long long)number);
            return;
        }
    }
    if (ipex_import_is_none(x)) {
        bind_none_reshaped(import, x, rank, dims, open);
        return;
    }
    /* with no open dim the last one is computed too, and must come out as it stands */
    int checked = open >= 0 ? open : rank - 1;
    int64_t value =
        rank ? open_dim(import, x, dims, rank, checked) : ipex_value_size(import->graph, x);
    if (value == IPEX_DIM_NONE || value == 0 || (open < 0 && value != (rank ? dims[checked] : 1))) {
        ipex_import_refuse(
            import, "%s elements do not fit the new shape, or it cannot be shown that they do",
            ipex_import_text(import, ipex_value_size(import->graph, x)));
        return;
    }
    if (rank)
        dims[checked] = value;
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
        dims[i >= axis] = ipex_dim_mul(&import->graph->dims, dims[i >= axis], x->dims[i]);
    bind_reshape(import, x, 2, dims);
}

/* Without axes all that are 1 go: one that is so in some runs only stays, and the person is told.
 */
static void note_what_stays(struct ipex_import *import, const struct ipex_value *x) {
    for (int32_t i = 0; i < x->rank; i++) {
        int64_t least, most;
        ipex_dim_range(&import->graph->dims, x->dims[i], &least, &most);
        if (least <= 1 && most > 1)
            import->notes = ipex_arena_printf(
                &import->graph->arena,
                "%s%s (Squeeze) names no axes: axis %d (%s) stays, also in runs where it is 1, "
                "which other runtimes take away: sizes at which it never is (--dim) leave no "
                "doubt\n",
                import->notes ? import->notes : "", import->label, (int)i,
                ipex_import_text(import, x->dims[i]));
    }
}

static void refuse_axis(struct ipex_import *import, const struct ipex_value *x, int64_t axis) {
    int64_t least, most;
    ipex_dim_range(&import->graph->dims, x->dims[axis], &least, &most);
    ipex_import_refuse(import, "axis %lld has %s elements, not 1%s", (long long)axis,
                       ipex_import_text(import, x->dims[axis]),
                       least <= 1 && most > 1 ? " at all sizes: give those at which it is (--dim)"
                                              : "");
}

static void import_squeeze(struct ipex_import *import) {
    struct ipex_value *x = movable(import);
    int64_t axes[IPEX_MAX_RANK], dims[IPEX_MAX_RANK];
    int count = x ? ipex_import_ints(import, "axes", 1, axes, IPEX_MAX_RANK) : -1;
    if (count < 0)
        return;
    uint32_t mask = 0;
    for (int i = 0; i < count; i++) {
        if (!ipex_import_axis(import, &axes[i], x->rank))
            return;
        if (x->dims[axes[i]] != 1) {
            refuse_axis(import, x, axes[i]);
            return;
        }
        mask |= 1u << axes[i];
    }
    if (!count)
        note_what_stays(import, x);
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
        if (!ipex_import_axis(import, &axes[i], rank))
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
    struct ipex_value *x = ipex_import_any(import, 0);
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "perm");
    int32_t perm[IPEX_MAX_RANK];
    uint32_t seen = 0;
    if (!x)
        return;
    for (int32_t i = 0; i < x->rank; i++) {
        perm[i] =
            (int32_t)ipex_onnx_ints(attr) == x->rank ? (int32_t)attr->ints[i] : x->rank - 1 - i;
        seen |= perm[i] >= 0 && perm[i] < x->rank ? 1u << perm[i] : 0;
    }
    if (seen != (1u << x->rank) - 1 || (attr && (int32_t)ipex_onnx_ints(attr) != x->rank)) {
        ipex_import_refuse(import, "perm is not a permutation of %d axes", x->rank);
        return;
    }
    struct ipex_value *y = ipex_import_transpose(import, x, import->node->output[0], perm);
    ipex_quantized_note_transposed(import, y, x, perm);
    ipex_import_out(import, 0, y);
}

static bool concat_fits(struct ipex_import *import, struct ipex_value *const *x, size_t count,
                        int64_t axis, int64_t *dims) {
    for (size_t i = 0; i < count; i++) {
        if (x[i]->rank != x[0]->rank || x[i]->dtype != x[0]->dtype) {
            ipex_import_refuse(import, "the ranks or data types of %s and %s do not fit",
                               x[0]->name, x[i]->name);
            return false;
        }
        for (int32_t k = 0; k < x[0]->rank; k++) {
            const int64_t a = x[0]->dims[k], b = x[i]->dims[k];
            if (k == axis || a == b)
                continue;
            ipex_import_refuse(import, "the shapes of %s and %s do not fit (%s and %s)%s",
                               x[0]->name, x[i]->name, ipex_import_text(import, a),
                               ipex_import_text(import, b), ipex_import_make_equal(import, a, b));
            return false;
        }
        if (i)
            dims[axis] = ipex_dim_add(&import->graph->dims, dims[axis], x[i]->dims[axis]);
    }
    return true;
}

static void import_concat(struct ipex_import *import) {
    size_t count = import->node->inputs;
    struct ipex_value **x = ipex_arena_array(&import->graph->arena, count + 1, sizeof *x);
    int64_t axis = ipex_import_int(import, "axis", import->model->opset < 4), dims[IPEX_MAX_RANK];
    if (!count) {
        ipex_import_refuse(import, "it has no inputs");
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (!(x[i] = ipex_import_any(import, i)))
            return;
    if (!ipex_import_axis(import, &axis, x[0]->rank))
        return;
    memcpy(dims, x[0]->dims, sizeof dims);
    if (!concat_fits(import, x, count, axis, dims))
        return;
    const size_t all = count;
    count = 0; /* of those that add something */
    for (size_t i = 0; i < all; i++)
        if (!ipex_import_is_none(x[i]))
            x[count++] = x[i];
    if (count == 0)
        ipex_import_empty(import, 0, x[0], dims, "all its operands have no elements");
    if (count == 1)
        ipex_import_out(import, 0, x[0]);
    if (count < 2)
        return;
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_concat);
    node->u.axis = (int32_t)axis;
    node->concat_input = ipex_arena_array(&import->graph->arena, count, sizeof *x);
    for (size_t i = 0; i < count; i++)
        ipex_node_add_input(node, x[i]);
    ipex_node_set_output(node, result_like(import, 0, x[0], dims));
}

/* A slice node over x with the given result dims; start and step 0/1 where not set by the caller.
 */
static struct ipex_node *slice_node(struct ipex_import *import, struct ipex_value *x, size_t output,
                                    const int64_t *dims) {
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_slice);
    for (int32_t i = 0; i < x->rank; i++)
        node->u.slice.step[i] = 1;
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, result_like(import, output, x, dims));
    return node;
}

/* Sizes of the outputs: given, or equal ones, the last of which may be smaller. */
static int split_parts(struct ipex_import *import, int64_t dim, size_t outputs, int64_t *parts) {
    struct ipex_dims *table = &import->graph->dims;
    int count = ipex_import_dims(import, "split", 1, parts, MAX_SPLITS);
    if (count != 0)
        return count;
    int64_t each = ipex_dim_exact_div(table, dim, (int64_t)outputs);
    if (each == IPEX_DIM_NONE && dim >= 0)
        each = (dim + (int64_t)outputs - 1) / (int64_t)outputs;
    for (; each != IPEX_DIM_NONE && count < (int)outputs; count++) {
        parts[count] = ipex_dim_min(table, each, dim);
        dim = ipex_dim_sub(table, dim, parts[count]);
    }
    return count;
}

/* Whether the node has as many outputs as it says, and no more than there is room for. */
static bool check_parts(struct ipex_import *import, size_t outputs) {
    const int64_t said = ipex_import_int(import, "num_outputs", (int64_t)outputs);
    if (said != (int64_t)outputs)
        ipex_import_refuse(import, "has %zu outputs, but num_outputs is %lld", outputs,
                           (long long)said);
    else if (outputs > MAX_SPLITS)
        ipex_import_refuse(import, "has %zu parts, at most %d are supported", outputs, MAX_SPLITS);
    return said == (int64_t)outputs && outputs <= MAX_SPLITS;
}

static void import_split(struct ipex_import *import) {
    static int64_t parts[MAX_SPLITS];
    struct ipex_value *x = ipex_import_any(import, 0);
    int64_t axis = ipex_import_int(import, "axis", 0), start = 0, dims[IPEX_MAX_RANK], lo, hi;
    size_t outputs = import->node->outputs;
    struct ipex_dims *table = &import->graph->dims;
    if (!x || !ipex_import_axis(import, &axis, x->rank) || !check_parts(import, outputs))
        return;
    int count = split_parts(import, x->dims[axis], outputs, parts);
    if (count < 0)
        return;
    bool may_be_empty = false;
    for (int i = 0; i < count; i++) {
        ipex_dim_range(table, parts[i], &lo, &hi);
        may_be_empty |= lo < 0 || (lo < 1 && hi > 0);
        start = ipex_dim_add(table, start, parts[i]);
    }
    if (may_be_empty || count != (int)outputs || start != x->dims[axis]) {
        ipex_import_refuse(import, "the parts do not add up to the %s elements of the axis",
                           ipex_import_text(import, x->dims[axis]));
        return;
    }
    memcpy(dims, x->dims, sizeof dims);
    start = 0;
    for (size_t i = 0; i < outputs; i++) {
        dims[axis] = parts[i];
        if (parts[i] == 0)
            ipex_import_empty(import, i, x, dims, "part %zu has no elements", i);
        else if (*import->node->output[i])
            slice_node(import, x, i, dims)->u.slice.start[axis] = start;
        start = ipex_dim_add(table, start, parts[i]);
    }
}

/* An index counted from the end where it is negative; IPEX_DIM_NONE where its sign is not known. */
static int64_t from_end(struct ipex_dims *table, int64_t index, int64_t dim) {
    int64_t lo, hi;
    if (index == IPEX_DIM_NONE)
        return index;
    ipex_dim_range(table, index, &lo, &hi);
    return lo >= 0 ? index : hi < 0 ? ipex_dim_add(table, index, dim) : IPEX_DIM_NONE;
}

/* One axis of Slice after the ONNX rules: negative indices count from the end, both ends are
 * clamped. Returns the number of elements as a dim, IPEX_DIM_NONE where it is not known. */
static int64_t slice_axis(struct ipex_dims *table, int64_t dim, int64_t *start, int64_t end,
                          int64_t step) {
    const int64_t minus_one = ipex_dim_of(table, -1), size = step > 0 ? step : -step;
    int64_t first = from_end(table, *start, dim), last = from_end(table, end, dim);
    if (step == 0 || step == INT64_MIN)
        return IPEX_DIM_NONE;
    if (dim == 0)
        return 0;
    *start = ipex_dim_max(
        table, ipex_dim_min(table, first, step > 0 ? dim : ipex_dim_sub(table, dim, 1)), 0);
    last = ipex_dim_max(table, ipex_dim_min(table, last, dim), step > 0 ? 0 : minus_one);
    int64_t span = step > 0 ? ipex_dim_sub(table, last, *start) : ipex_dim_sub(table, *start, last);
    return ipex_dim_floor_div(table, ipex_dim_add(table, span, size - 1), size);
}

/* "from 8 to 9 by 1 of 8": what a slice asks for along an axis. */
static const char *slice_text(struct ipex_import *import, int64_t start, int64_t end, int64_t step,
                              int64_t dim) {
    return ipex_arena_printf(&import->graph->arena, "from %s to %s by %lld of %s",
                             ipex_import_text(import, start), ipex_import_text(import, end),
                             (long long)step, ipex_import_text(import, dim));
}

/* Whether a slice takes all of x, as exporters write [:] along every axis. */
static bool slice_is_whole(const struct ipex_value *x, const int64_t *dims, const int64_t *step) {
    for (int32_t i = 0; i < x->rank; i++)
        if (dims[i] != x->dims[i] || step[i] != 1)
            return false;
    return true;
}

static void import_slice(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    int64_t start[IPEX_MAX_RANK], end[IPEX_MAX_RANK], axes[IPEX_MAX_RANK], step[IPEX_MAX_RANK],
        dims[IPEX_MAX_RANK];
    if (!x)
        return;
    int n = ipex_import_dims(import, "starts", 1, start, IPEX_MAX_RANK),
        n_end = n < 0 ? -1 : ipex_import_dims(import, "ends", 2, end, IPEX_MAX_RANK);
    int n_axes = n_end < 0 ? -1 : ipex_import_ints(import, "axes", 3, axes, IPEX_MAX_RANK);
    int n_step = n_axes < 0 ? -1 : ipex_import_ints(import, NULL, 4, step, IPEX_MAX_RANK);
    if (n_step < 0)
        return;
    if (n_end != n || (n_axes && n_axes != n) || (n_step && n_step != n) || n > x->rank) {
        ipex_import_refuse(import, "starts, ends, axes and steps have different lengths");
        return;
    }
    int64_t from[IPEX_MAX_RANK] = {0}, by[IPEX_MAX_RANK], least = 1, most = 1;
    const char *empty = NULL;
    int64_t empty_axis = 0;
    memcpy(dims, x->dims, sizeof dims);
    for (int32_t i = 0; i < x->rank; i++)
        by[i] = 1;
    for (int i = 0; i < n; i++) {
        int64_t axis = n_axes ? axes[i] : i;
        if (!ipex_import_axis(import, &axis, x->rank))
            return;
        by[axis] = n_step ? step[i] : 1;
        from[axis] = start[i];
        dims[axis] = slice_axis(&import->graph->dims, x->dims[axis], &from[axis], end[i], by[axis]);
        if (dims[axis] != IPEX_DIM_NONE)
            ipex_dim_range(&import->graph->dims, dims[axis], &least, &most);
        const char *text = dims[axis] == IPEX_DIM_NONE || least < 1
                               ? slice_text(import, start[i], end[i], by[axis], x->dims[axis])
                               : NULL;
        if (text && (dims[axis] == IPEX_DIM_NONE || most > 0)) {
            ipex_import_refuse(import, "nothing may be left of axis %lld (%s)%s", (long long)axis,
                               text, ipex_import_make_larger(import, x->dims[axis]));
            return;
        }
        if (text) {
            empty = text;
            empty_axis = axis;
            dims[axis] = 0;
        }
        if (dims[axis] == 1) /* then the step, of any size, is not taken */
            by[axis] = 1;
    }
    if (empty) {
        ipex_import_empty(import, 0, x, dims, "nothing is left of axis %lld (%s)",
                          (long long)empty_axis, empty);
        return;
    }
    if (slice_is_whole(x, dims, by)) {
        ipex_import_out(import, 0, x);
        return;
    }
    struct ipex_node *node = slice_node(import, x, 0, dims);
    memcpy(node->u.slice.start, from, sizeof from);
    memcpy(node->u.slice.step, by, (size_t)x->rank * sizeof *by);
}

/* [N][C][H][W] with the block split out of C (depth to space) or of H and W, one transpose, and
 * merged again. */
static void depth_space(struct ipex_import *import, bool to_space) {
    struct ipex_value *x = ipex_import_any(import, 0);
    struct ipex_dims *table = &import->graph->dims;
    int64_t b = ipex_import_int(import, "blocksize", 0);
    const char *name = import->node->output[0], *mode = ipex_import_string(import, "mode", "DCR");
    if (!x)
        return;
    if (x->rank != 4 || b < 1 || b > IPEX_MAX_DIM) {
        ipex_import_refuse(import, "block size %lld does not fit the input", (long long)b);
        return;
    }
    int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2], w = x->dims[3];
    int64_t depth = to_space ? ipex_dim_exact_div(table, c, b * b) : ipex_dim_mul(table, c, b * b);
    int64_t height = to_space ? ipex_dim_mul(table, h, b) : ipex_dim_exact_div(table, h, b);
    int64_t width = to_space ? ipex_dim_mul(table, w, b) : ipex_dim_exact_div(table, w, b);
    if (depth == IPEX_DIM_NONE || height == IPEX_DIM_NONE || width == IPEX_DIM_NONE) {
        ipex_import_refuse(import, "block size %lld does not divide the input for all sizes",
                           (long long)b);
        return;
    }
    bool crd = !strcmp(mode, "CRD");
    if (!crd && strcmp(mode, "DCR")) {
        ipex_import_refuse(import, "mode %s is unknown", mode);
        return;
    }
    const int64_t split_dcr[6] = {n, b, b, depth, h, w}, split_crd[6] = {n, depth, b, b, h, w};
    const int64_t split_space[6] = {n, c, height, b, width, b},
                  merged[4] = {n, depth, height, width};
    static const int32_t perm_dcr[6] = {0, 3, 4, 1, 5, 2}, perm_crd[6] = {0, 1, 4, 2, 5, 3},
                         perm_space_dcr[6] = {0, 3, 5, 1, 2, 4},
                         perm_space_crd[6] = {0, 1, 3, 5, 2, 4};
    x = ipex_import_reshape(import, x, name, 6,
                            !to_space ? split_space
                            : crd     ? split_crd
                                      : split_dcr);
    x = ipex_import_transpose(import, x, name,
                              to_space ? crd ? perm_crd : perm_dcr
                              : crd    ? perm_space_crd
                                       : perm_space_dcr);
    bind_reshape(import, x, 4, merged);
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
    {"Reshape", import_reshape},
    {"Slice", import_slice},
    {"SpaceToDepth", import_space_to_depth},
    {"Split", import_split},
    {"Squeeze", import_squeeze},
    {"Transpose", import_transpose},
    {"Unsqueeze", import_unsqueeze},
    {NULL, NULL},
};
