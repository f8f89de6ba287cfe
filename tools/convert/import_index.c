/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators that look elements up by computed places, or choose them by their place. Places
 * become numbers into the flattened data, then one gather. */
#include "tools/convert/import_index.h"

#include <string.h>

static struct ipex_value *integer_input(struct ipex_import *import, size_t i) {
    struct ipex_value *x = ipex_import_any(import, i);
    if (!x || x->dtype == IPEX_DTYPE_i64 || x->dtype == IPEX_DTYPE_i32)
        return x;
    ipex_import_refuse(import, "the indices are %s", ipex_dtype_name(x->dtype));
    return NULL;
}

int64_t ipex_place_count(struct ipex_import *import, const struct ipex_value *x, int32_t first,
                         int32_t last) {
    int64_t count = 1;
    for (int32_t i = first; i < last; i++)
        count = ipex_dim_mul(&import->graph->dims, count, x->dims[i]);
    return count;
}

/* `at` times the dims of x from `first` up to but not `last`. */
static struct ipex_value *times(struct ipex_import *import, struct ipex_value *at,
                                const struct ipex_value *x, int32_t first, int32_t last) {
    int64_t fixed = 1;
    for (int32_t i = first; i < last; i++)
        if (x->dims[i] >= 0)
            fixed *= x->dims[i];
        else
            at = ipex_build_integer(import, IPEX_INTEGER_mul, at,
                                    ipex_build_size(import, IPEX_DTYPE_i64, x->dims[i]));
    return fixed == 1
               ? at
               : ipex_build_integer(import, IPEX_INTEGER_mul, at,
                                    ipex_build_number(import, IPEX_DTYPE_i64, (double)fixed));
}

/* at + (number along `axis`, n of them) * (dims of x from `first` up to but not `last`) */
static struct ipex_value *plus_count(struct ipex_import *import, struct ipex_value *at,
                                     int32_t axis, int64_t n, const struct ipex_value *x,
                                     int32_t first, int32_t last) {
    if (!at || n == 1)
        return at;
    struct ipex_value *count = ipex_build_count(import, IPEX_DTYPE_i64, n, 1, at->rank, axis);
    return ipex_build_integer(import, IPEX_INTEGER_add, at, times(import, count, x, first, last));
}

struct ipex_value *ipex_place_elements(struct ipex_import *import, struct ipex_value *index,
                                       const struct ipex_value *x, int32_t axis, int32_t end) {
    struct ipex_value *at = ipex_build_wrapped(import, index, x->dims[axis]);
    at = times(import, at, x, axis + 1, end);
    for (int32_t i = 0; i < end; i++)
        if (i != axis)
            at = plus_count(import, at, i, index->dims[i], x, i + 1, end);
    return at;
}

/* Leading axes, ahead of `axis`, along which known indices are the same, for all of x: each of
 * their rows is looked up in the same places (relative positions are the same for all heads). */
static int32_t axes_alike(const struct ipex_value *index, const struct ipex_value *x,
                          int32_t axis) {
    int32_t ret = 0;
    if (!index->constant)
        return 0;
    for (size_t bytes = (size_t)index->constant->size; ret < axis; ret++) {
        const int64_t count = index->dims[ret];
        if (count != x->dims[ret] || count < 1)
            return ret;
        bytes /= (size_t)count;
        for (int64_t i = 1; i < count; i++)
            if (memcmp(ipex_constant_data(index), ipex_constant_data(index) + (size_t)i * bytes,
                       bytes))
                return ret;
    }
    return ret;
}

/* Of every row of the first `alike` axes, the same places. */
static struct ipex_value *gather_alike(struct ipex_import *import, struct ipex_value *x,
                                       struct ipex_value *index, int32_t axis, int32_t alike) {
    const int32_t rank = x->rank - alike;
    const int64_t rows[2] = {ipex_place_count(import, x, 0, alike),
                             ipex_place_count(import, x, alike, x->rank)};
    struct ipex_value *first = index, row = *x;
    row.rank = rank;
    memcpy(row.dims, x->dims + alike, (size_t)rank * sizeof *row.dims);
    for (int32_t i = 0; i < alike; i++)
        first = ipex_build_slice(import, first, i, 0, 1);
    first = ipex_build_reshape(import, first, rank, index->dims + alike);
    struct ipex_value *at = ipex_place_elements(import, first, &row, axis - alike, rank);
    struct ipex_value *y = ipex_build_gather(import, ipex_build_reshape(import, x, 2, rows), at, 1);
    return y ? ipex_build_reshape(import, y, index->rank, index->dims) : NULL;
}

static void import_gather_elements(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0), *index = x ? integer_input(import, 1) : NULL;
    int64_t axis = ipex_import_int(import, "axis", 0);
    if (!index || !ipex_import_axis(import, &axis, x->rank))
        return;
    if (index->rank != x->rank) {
        ipex_import_refuse(import, "the indices have rank %d, the data %d", index->rank, x->rank);
        return;
    }
    for (int32_t i = 0; i < x->rank; i++)
        if (i != axis && !ipex_dim_at_most(&import->graph->dims, index->dims[i], x->dims[i])) {
            ipex_import_refuse(
                import, "dim %d of the indices is %s, more than the %s of the data%s", i,
                ipex_import_text(import, index->dims[i]), ipex_import_text(import, x->dims[i]),
                ipex_import_make_equal(import, x->dims[i], index->dims[i]));
            return;
        }
    const int32_t alike = axes_alike(index, x, (int32_t)axis);
    struct ipex_value *y;
    if (alike) {
        y = gather_alike(import, x, index, (int32_t)axis, alike);
    } else {
        struct ipex_value *at = ipex_place_elements(import, index, x, (int32_t)axis, x->rank);
        const int64_t all = ipex_place_count(import, x, 0, x->rank);
        y = ipex_build_gather(import, ipex_build_reshape(import, x, 1, &all), at, 0);
    }
    if (y)
        ipex_import_out(import, 0, y);
}

struct ipex_value *ipex_place_rows(struct ipex_import *import, struct ipex_value *index,
                                   const struct ipex_value *x, int32_t first, int32_t end) {
    struct ipex_value *at = NULL;
    for (int32_t axis = first; axis < end; axis++) {
        struct ipex_value *one = ipex_build_slice(import, index, index->rank - 1, axis - first, 1);
        one = times(import, ipex_build_wrapped(import, one, x->dims[axis]), x, axis + 1, end);
        at = at ? ipex_build_integer(import, IPEX_INTEGER_add, at, one) : one;
    }
    for (int32_t i = 0; i < first; i++)
        at = plus_count(import, at, i, index->dims[i], x, i + 1, end);
    return ipex_build_reshape(import, at, index->rank - 1, index->dims);
}

/* indices [b..., ..., K]: data's first `batch_dims` axes run along, the next K are looked up. */
static void import_gather_nd(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0), *index = x ? integer_input(import, 1) : NULL;
    int64_t batch = ipex_import_int(import, "batch_dims", 0), dims[2 * IPEX_MAX_RANK];
    if (!index)
        return;
    int32_t last = index->rank - 1, rank = 0;
    int64_t taken = last < 0 ? 0 : index->dims[last];
    if (last < 0 || batch < 0 || batch > last || taken < 1 || batch + taken > x->rank) {
        ipex_import_refuse(import, "the indices do not fit the data");
        return;
    }
    for (int32_t i = 0; i < batch; i++)
        if (index->dims[i] != x->dims[i]) {
            ipex_import_refuse(import, "dim %d of the indices is %s, of the data %s%s", i,
                               ipex_import_text(import, index->dims[i]),
                               ipex_import_text(import, x->dims[i]),
                               ipex_import_make_equal(import, x->dims[i], index->dims[i]));
            return;
        }
    const int32_t row = (int32_t)(batch + taken); /* the axes from here on are taken as a whole */
    struct ipex_value *at = ipex_place_rows(import, index, x, (int32_t)batch, row);
    for (int32_t i = 0; i < last; i++)
        dims[rank++] = index->dims[i];
    for (int32_t i = row; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    if (rank > IPEX_MAX_RANK) {
        ipex_import_refuse(import, "the result has rank %d, at most 8 is supported", rank);
        return;
    }
    const int64_t table[2] = {ipex_place_count(import, x, 0, row),
                              ipex_place_count(import, x, row, x->rank)};
    struct ipex_value *y =
        ipex_build_gather(import, ipex_build_reshape(import, x, 2, table), at, 0);
    if (y)
        ipex_import_out(import, 0, ipex_build_reshape(import, y, rank, dims));
}

static void import_one_hot(struct ipex_import *import) {
    struct ipex_value *index = ipex_import_any(import, 0), *values = ipex_import_any(import, 2);
    int64_t depth, axis = ipex_import_int(import, "axis", -1), dims[IPEX_MAX_RANK];
    if (!index || !values || !ipex_build_scalar(import, 1, 0, &depth))
        return;
    int32_t rank = index->rank + 1;
    if (rank > IPEX_MAX_RANK || depth < 1 || depth > IPEX_MAX_DIM || values->rank != 1 ||
        values->dims[0] != 2) {
        ipex_import_refuse(import, "depth %lld, rank %d", (long long)depth, rank);
        return;
    }
    if (!ipex_import_axis(import, &axis, rank))
        return;
    for (int32_t i = 0; i < rank; i++)
        dims[i] = i == axis ? 1 : index->dims[i > axis ? i - 1 : i];
    struct ipex_value *at = ipex_build_reshape(import, index, rank, dims);
    struct ipex_value *hot =
        ipex_build_compare(import, IPEX_COMPARE_equal, ipex_build_wrapped(import, at, depth),
                           ipex_build_count(import, IPEX_DTYPE_i64, depth, 1, rank, (int32_t)axis));
    struct ipex_value *y = ipex_build_where(import, hot, ipex_build_slice(import, values, 0, 1, 1),
                                            ipex_build_slice(import, values, 0, 0, 1));
    if (y)
        ipex_import_out(import, 0, y);
}

/* Of constants; or of one number for all along an axis whose length a run decides, as arange is
 * written. */
static void import_non_zero(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_in(import, 0);
    const struct ipex_node *made = x ? x->producer : NULL;
    if (made && made->kind == IPEX_KIND_plan && made->u.plan.op == IPEX_OP_expand &&
        made->input[0]->constant && ipex_value_numel(made->input[0]) == 1 && x->rank == 1 &&
        ipex_constant_f64(made->input[0], 0) != 0) {
        struct ipex_value *y = ipex_build_count(import, IPEX_DTYPE_i64, x->dims[0], 1, 2, 1);
        if (y)
            ipex_import_out(import, 0, y);
        return;
    }
    if (!x || !x->constant) {
        ipex_import_refuse(import, "how many elements of its input are not 0 is known only at run "
                                   "time, and sizes must be known before");
        return;
    }
    const int64_t all = ipex_value_numel(x);
    int64_t count = 0, dims[2] = {x->rank, 0};
    for (int64_t i = 0; i < all; i++)
        count += (x->exact ? x->exact[i] : ipex_constant_f64(x, i)) != 0;
    dims[1] = count;
    if (!count || !x->rank) {
        const struct ipex_value places = {.dtype = IPEX_DTYPE_i64, .rank = 2};
        ipex_import_empty(import, 0, &places, dims, "no element of %s is other than 0", x->name);
        return;
    }
    int64_t *at = ipex_arena_array(&import->graph->arena, (size_t)(count * x->rank), sizeof *at);
    for (int64_t i = 0, found = 0; i < all; i++) {
        if (!((x->exact ? x->exact[i] : ipex_constant_f64(x, i)) != 0))
            continue;
        int64_t rest = i;
        for (int32_t axis = x->rank - 1; axis >= 0; axis--) {
            at[axis * count + found] = rest % x->dims[axis];
            rest /= x->dims[axis];
        }
        found++;
    }
    ipex_import_out(
        import, 0,
        ipex_graph_constant(import->graph, import->node->output[0], IPEX_DTYPE_i64, 2, dims, at));
}

/* Where column - row of a matrix of these dims, which a run may choose, is so to k: bool. */
static struct ipex_value *diagonals(struct ipex_import *import, const int64_t *dims,
                                    struct ipex_value *k, enum ipex_compare kind) {
    struct ipex_value *row = ipex_build_count(import, IPEX_DTYPE_i64, dims[0], 1, 2, 0);
    struct ipex_value *column = ipex_build_count(import, IPEX_DTYPE_i64, dims[1], 1, 2, 1);
    if (!row || !column || !k)
        return NULL;
    row = ipex_build_integer(import, IPEX_INTEGER_add, row, k);
    return ipex_build_compare(import, kind, column, row);
}

static struct ipex_value *in_dims(struct ipex_import *import, int64_t k) {
    k = k < -IPEX_MAX_DIM ? -IPEX_MAX_DIM : k > IPEX_MAX_DIM ? IPEX_MAX_DIM : k;
    return ipex_build_number(import, IPEX_DTYPE_i64, (double)k);
}

/* Trilu's k: a number, or one that follows from sizes, as masks behind a cache have it. NULL after
 * refusing. */
static struct ipex_value *trilu_k(struct ipex_import *import) {
    const struct ipex_value *k = ipex_import_in(import, 1);
    int64_t number;
    if (k && !k->constant && k->ints && ipex_value_numel(k) == 1)
        return ipex_build_size(import, IPEX_DTYPE_i64, k->ints[0]);
    return ipex_build_scalar(import, 1, 0, &number) ? in_dims(import, number) : NULL;
}

static void import_trilu(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    struct ipex_value *k = x ? trilu_k(import) : NULL;
    if (!k)
        return;
    if (x->rank < 2) {
        ipex_import_refuse(import, "input %s is not a matrix", x->name);
        return;
    }
    const bool upper = ipex_import_flag(import, "upper", true);
    struct ipex_value *inside =
        diagonals(import, x->dims + x->rank - 2, k,
                  upper ? IPEX_COMPARE_greater_equal : IPEX_COMPARE_less_equal);
    if (inside)
        ipex_import_out(
            import, 0, ipex_build_where(import, inside, x, ipex_build_number(import, x->dtype, 0)));
}

static void import_eye_like(struct ipex_import *import) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    const int64_t k = ipex_import_int(import, "k", 0);
    enum ipex_dtype dtype = x ? x->dtype : IPEX_DTYPE_NONE;
    if (ipex_import_attr(import, "dtype"))
        dtype = ipex_import_dtype(ipex_import_int(import, "dtype", 0));
    if (!x || x->rank != 2 || dtype == IPEX_DTYPE_NONE) {
        ipex_import_refuse(import, "a result of type %s is not supported", ipex_dtype_name(dtype));
        return;
    }
    struct ipex_value *ones = diagonals(import, x->dims, in_dims(import, k), IPEX_COMPARE_equal);
    if (ones)
        ipex_import_out(import, 0,
                        ipex_build_where(import, ones, ipex_build_number(import, dtype, 1),
                                         ipex_build_number(import, dtype, 0)));
}

/* Each axis is cut or padded to its size around the middle. */
static void import_center_crop_pad(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    int64_t size[IPEX_MAX_RANK], axes[IPEX_MAX_RANK], dims[IPEX_MAX_RANK],
        before[IPEX_MAX_RANK] = {0};
    int n = x ? ipex_import_ints(import, NULL, 1, size, IPEX_MAX_RANK) : -1;
    int n_axes = n < 0 ? -1 : ipex_import_ints(import, "axes", SIZE_MAX, axes, IPEX_MAX_RANK);
    if (n_axes < 0 || !ipex_build_fixed(import, x))
        return;
    if ((n_axes && n_axes != n) || (!n_axes && n != x->rank)) {
        ipex_import_refuse(import, "%d sizes for %d axes", n, n_axes ? n_axes : x->rank);
        return;
    }
    bool pads = false;
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i < n; i++) {
        int64_t axis = n_axes ? axes[i] : i;
        if (!ipex_import_axis(import, &axis, x->rank))
            return;
        if (size[i] < 1 || size[i] > IPEX_MAX_DIM) {
            ipex_import_refuse(import, "a size of %lld", (long long)size[i]);
            return;
        }
        const int64_t have = x->dims[axis];
        if (size[i] < have)
            x = ipex_build_slice(import, x, (int32_t)axis, (have - size[i]) / 2, size[i]);
        pads |= size[i] > have;
        before[axis] = size[i] > have ? (size[i] - have) / 2 : 0;
        dims[axis] = size[i];
    }
    if (pads && x->dtype != IPEX_DTYPE_f32) {
        ipex_import_refuse(import, "padding %s is not supported", ipex_dtype_name(x->dtype));
        return;
    }
    if (pads) {
        struct ipex_node *node = ipex_import_node(import, IPEX_KIND_pad);
        for (int32_t i = 0; i < x->rank; i++) {
            node->u.pad.before[i] = before[i];
            node->u.pad.after[i] = dims[i] - x->dims[i] - before[i];
        }
        ipex_node_add_input(node, x);
        ipex_node_set_output(node, ipex_graph_value(import->graph, import->node->output[0],
                                                    IPEX_DTYPE_f32, x->rank, dims));
        x = node->output;
    }
    ipex_import_out(import, 0, x);
}

const struct ipex_import_op ipex_import_index[] = {
    {"CenterCropPad", import_center_crop_pad},
    {"EyeLike", import_eye_like},
    {"GatherElements", import_gather_elements},
    {"GatherND", import_gather_nd},
    {"NonZero", import_non_zero},
    {"OneHot", import_one_hot},
    {"Trilu", import_trilu},
    {NULL, NULL},
};
