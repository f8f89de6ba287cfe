/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators on the order along an axis: ArgMax, ArgMin, TopK, CumSum. The plan's work along
 * the last one; others are moved there and back. */
#include "tools/convert/import_build.h"

#include <math.h>
#include <string.h>

/* Integers as digits of f32, the lowest first, which are exact; none but the highest is negative.
 * How many there are; 0 where x is f32. */
enum { DIGITS = 3 };
static int digits_of(struct ipex_import *import, struct ipex_value *x, struct ipex_value **ret) {
    const int count = x->dtype == IPEX_DTYPE_f32   ? 0
                      : x->dtype == IPEX_DTYPE_i64 ? 3
                      : x->dtype == IPEX_DTYPE_i32 ? 2
                                                   : 1;
    struct ipex_value *base =
        count > 1 ? ipex_build_number(import, x->dtype, 1 << (count == 2 ? 16 : 22)) : NULL;
    for (int i = 0; i < count; i++) {
        struct ipex_value *low =
            i < count - 1 ? ipex_build_integer(import, IPEX_INTEGER_mod, x, base) : x;
        ret[i] = ipex_build_cast(import, low, IPEX_DTYPE_f32);
        if (i < count - 1)
            x = ipex_build_integer(import, IPEX_INTEGER_div,
                                   ipex_build_integer(import, IPEX_INTEGER_sub, x, low), base);
    }
    return count;
}

/* Integers as f32 of the same order along the axis, where only what can be the largest matters: the
 * lowest digit of elements whose higher digits are the largest, -1 for others. */
static struct ipex_value *ranked(struct ipex_import *import, struct ipex_value *x, int64_t axis,
                                 bool largest) {
    struct ipex_value *digit[DIGITS];
    if (x->dtype != IPEX_DTYPE_i64)
        x = ipex_build_cast(import, x, IPEX_DTYPE_i32);
    if (!largest) /* -1 - x turns the order and cannot overflow */
        x = ipex_build_integer(import, IPEX_INTEGER_sub, ipex_build_number(import, x->dtype, -1),
                               x);
    int i = digits_of(import, x, digit) - 1;
    x = digit[i];
    while (i-- > 0) {
        struct ipex_value *top = ipex_build_reduce(import, IPEX_REDUCE_max, x, 1u << axis);
        x = ipex_build_where(import, ipex_build_compare(import, IPEX_COMPARE_equal, x, top),
                             digit[i], ipex_build_number(import, IPEX_DTYPE_f32, -1));
    }
    return x;
}

static void arg(struct ipex_import *import, bool largest) {
    struct ipex_value *x = ipex_import_any(import, 0);
    const bool integers = x && x->dtype != IPEX_DTYPE_f32;
    int64_t axis = ipex_import_int(import, "axis", 0), dims[IPEX_MAX_RANK];
    if (!x || !ipex_import_axis(import, &axis, x->rank))
        return;
    if (integers) {
        x = ranked(import, x, axis, largest);
        largest = true;
    }
    struct ipex_value *rows = ipex_build_moved(import, x, (int32_t)axis, x->rank - 1);
    struct ipex_value *y =
        ipex_build_arg(import, rows, largest, ipex_import_flag(import, "select_last_index", false));
    y = ipex_build_moved(import, y, x->rank - 1, (int32_t)axis);
    if (!ipex_import_flag(import, "keepdims", true)) {
        int32_t rank = 0;
        for (int32_t i = 0; i < x->rank; i++)
            if (i != axis)
                dims[rank++] = x->dims[i];
        y = ipex_import_reshape(import, y, import->node->output[0], rank, dims);
    }
    ipex_import_out(import, 0, y);
}

static void import_arg_max(struct ipex_import *import) {
    arg(import, true);
}
static void import_arg_min(struct ipex_import *import) {
    arg(import, false);
}

/* The k largest or smallest along the last axis: a node whose results are values and places. */
static struct ipex_node *top_k(struct ipex_import *import, struct ipex_value *rows, int64_t k,
                               bool sorted) {
    int64_t dims[IPEX_MAX_RANK];
    memcpy(dims, rows->dims, sizeof dims);
    dims[rows->rank - 1] = k;
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_topk, IPEX_ORDER_logical,
                                              IPEX_DTYPE_f32, rows->rank, dims, false);
    ipex_node_add_input(node, rows);
    ipex_node_set_extra(
        node, 1,
        ipex_graph_value(import->graph,
                         import->node->outputs > 1 ? import->node->output[1] : "indices",
                         IPEX_DTYPE_i64, rows->rank, dims));
    node->u.plan.ints = 3;
    node->u.plan.int_[0] = k;
    node->u.plan.int_[1] = ipex_import_flag(import, "largest", true);
    node->u.plan.int_[2] = sorted;
    return node;
}

/* x [R][N] at the places [R][K] along its lines, which begin at `base` [R][1]. */
static struct ipex_value *at_places(struct ipex_import *import, struct ipex_value *x,
                                    struct ipex_value *places, struct ipex_value *base) {
    const int64_t all = ipex_dim_mul(&import->graph->dims, x->dims[0], x->dims[1]);
    return ipex_build_gather(import, ipex_build_reshape(import, x, 1, &all),
                             ipex_build_integer(import, IPEX_INTEGER_add, places, base), 0);
}

/* Of integers: sorted by one digit after the other from the lowest on, equal ones staying in their
 * order; only the last sorting leaves out any. */
static struct ipex_value *top_k_integers(struct ipex_import *import, struct ipex_value *x,
                                         int64_t k, struct ipex_value **ret_places) {
    struct ipex_value *digit[DIGITS], *order = NULL, *base = NULL;
    int64_t n, dims[IPEX_MAX_RANK];
    if (!ipex_dim_number(&import->graph->dims, x->dims[x->rank - 1], &n) || k < 0) {
        ipex_import_refuse(import, "%s of %s integers are ordered; fixed numbers are needed",
                           ipex_import_text(import, k),
                           ipex_import_text(import, x->dims[x->rank - 1]));
        return NULL;
    }
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = k;
    int64_t flat[2] = {1, n};
    for (int32_t i = 0; i < x->rank - 1; i++)
        flat[0] = ipex_dim_mul(&import->graph->dims, flat[0], x->dims[i]);
    struct ipex_value *rows = ipex_build_reshape(import, x, 2, flat);
    const int count = digits_of(import, rows, digit);
    base = ipex_build_count(import, IPEX_DTYPE_i64, flat[0], n, 2, 0);
    for (int i = 0; i < count && base; i++) {
        struct ipex_value *key = order ? at_places(import, digit[i], order, base) : digit[i];
        struct ipex_value *places =
            top_k(import, key, i == count - 1 ? k : n, true)->extra_output[0];
        order = order ? at_places(import, order, places, base) : places;
    }
    if (!base)
        return NULL;
    *ret_places = ipex_build_reshape(import, order, x->rank, dims);
    return ipex_build_reshape(import, at_places(import, rows, order, base), x->rank, dims);
}

/* The same for a k that each run chooses: as many as any run wants, of rows with more elements
 * behind that come last in the order, of which the first k are left. */
static struct ipex_value *top_k_varying(struct ipex_import *import, struct ipex_value *rows,
                                        int64_t k, struct ipex_value **ret_places) {
    int64_t dims[IPEX_MAX_RANK], fewest, n, least, most;
    const int32_t last = rows->rank - 1;
    ipex_dim_range(&import->graph->dims, rows->dims[last], &fewest, &n);
    ipex_dim_range(&import->graph->dims, k, &least, &most);
    if (most > fewest) {
        const bool largest = ipex_import_flag(import, "largest", true);
        struct ipex_value *worst =
            ipex_build_number(import, IPEX_DTYPE_f32, largest ? -(double)INFINITY : (double)NAN);
        memcpy(dims, rows->dims, sizeof dims);
        dims[last] = most - fewest;
        struct ipex_value *const both[2] = {rows,
                                            ipex_build_expand(import, worst, rows->rank, dims)};
        rows = ipex_build_concat(import, last, 2, both);
    }
    if (!rows)
        return NULL;
    struct ipex_node *node = top_k(import, rows, most, true);
    *ret_places = ipex_build_slice(import, node->extra_output[0], last, 0, k);
    return ipex_build_slice(import, node->output, last, 0, k);
}

/* How many are wanted, a dim: up to opset 9 an attribute, then an input. False after refusing. */
static bool read_k(struct ipex_import *import, int64_t *ret) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "k");
    if (attr) {
        *ret = ipex_dim_of(&import->graph->dims, attr->i);
        return true;
    }
    const int count = ipex_import_dims(import, NULL, 1, ret, 1);
    if (count == 0)
        ipex_import_refuse(import, "k, the number of elements that it takes, is missing");
    return count == 1;
}

static void import_top_k(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0), *places = NULL;
    int64_t axis = ipex_import_int(import, "axis", -1), k = 0, number, lo, hi;
    if (!x || !ipex_import_axis(import, &axis, x->rank) || !read_k(import, &k))
        return;
    struct ipex_value *rows = ipex_build_moved(import, x, (int32_t)axis, x->rank - 1), *y;
    const bool is_fixed = ipex_dim_number(&import->graph->dims, k, &number);
    ipex_dim_range(&import->graph->dims, k, &lo, &hi);
    if (lo < 1 || !ipex_dim_at_most(&import->graph->dims, k, rows->dims[rows->rank - 1])) {
        ipex_import_refuse(import, "k is %s for %s elements%s", ipex_import_text(import, k),
                           ipex_import_text(import, rows->dims[rows->rank - 1]),
                           lo < 1 ? ""
                                  : ipex_import_make_larger(import, rows->dims[rows->rank - 1]));
        return;
    }
    if (x->dtype != IPEX_DTYPE_f32) {
        y = top_k_integers(import, rows, k, &places);
    } else if (!is_fixed) {
        y = top_k_varying(import, rows, k, &places);
    } else {
        struct ipex_node *node =
            top_k(import, rows, number, ipex_import_flag(import, "sorted", true));
        y = node->output;
        places = node->extra_output[0];
    }
    if (!y)
        return;
    ipex_import_out(import, 0, ipex_build_moved(import, y, x->rank - 1, (int32_t)axis));
    if (import->node->outputs > 1)
        ipex_import_out(import, 1, ipex_build_moved(import, places, x->rank - 1, (int32_t)axis));
}

static void cum_sum(struct ipex_import *import, struct ipex_value *x, int32_t axis) {
    const bool exclusive = ipex_import_flag(import, "exclusive", false),
               reverse = ipex_import_flag(import, "reverse", false);
    if (x->dtype == IPEX_DTYPE_i32 || x->dtype == IPEX_DTYPE_i64) {
        ipex_import_out(import, 0, ipex_build_cum_sum(import, x, axis, exclusive, reverse));
        return;
    }
    if (!(x = ipex_import_f32(import, 0)))
        return;
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_cumsum, IPEX_ORDER_logical,
                                              IPEX_DTYPE_f32, x->rank, x->dims, true);
    ipex_node_add_input(node, x);
    node->u.plan.ints = 3;
    node->u.plan.int_[0] = axis;
    node->u.plan.int_[1] = exclusive;
    node->u.plan.int_[2] = reverse;
}

static void import_cum_sum(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    int64_t axis = 0;
    if (x && !ipex_import_in(import, 1))
        ipex_import_refuse(import, "input 1, the axis, is missing");
    else if (x && ipex_import_ints(import, NULL, 1, &axis, 1) == 1 &&
             ipex_import_axis(import, &axis, x->rank))
        cum_sum(import, x, (int32_t)axis);
}

const struct ipex_import_op ipex_import_order[] = {
    {"ArgMax", import_arg_max},
    {"ArgMin", import_arg_min},
    {"CumSum", import_cum_sum},
    {"TopK", import_top_k},
    {NULL, NULL},
};
