/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators on tensors of any type: look-ups, casts, comparisons, logic, choices, integer
 * arithmetic, orderings. */
#include <string.h>

#include "tools/convert/import_double.h"
#include "tools/convert/import_half.h"
#include "tools/convert/import_quantized.h"
#include "tools/convert/import_scope.h"

/* ---- elementwise, with broadcasting ---- */

/* A node over the first `count` inputs, broadcast together. NULL after refusing. */
static struct ipex_node *elementwise(struct ipex_import *import, enum ipex_op op, size_t count,
                                     enum ipex_dtype result) {
    struct ipex_value *x[3];
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = 0;
    for (size_t i = 0; i < count; i++) {
        x[i] = ipex_import_any(import, i);
        if (!x[i] || !ipex_import_broadcast(import, x[i], &rank, dims))
            return NULL;
    }
    struct ipex_node *node =
        ipex_import_plan(import, op, IPEX_ORDER_elementwise, result ? result : x[count - 1]->dtype,
                         rank, dims, true);
    for (size_t i = 0; i < count; i++)
        ipex_node_add_input(node, x[i]);
    return node;
}

static void set_kind(struct ipex_node *node, int64_t kind) {
    node->u.plan.ints = 1;
    node->u.plan.int_[0] = kind;
}

/* Bools and narrow integers are compared as i32. */
static struct ipex_value *comparable(struct ipex_import *import, struct ipex_value *x) {
    return x->dtype == IPEX_DTYPE_bool || x->dtype == IPEX_DTYPE_u8 || x->dtype == IPEX_DTYPE_i8
               ? ipex_build_cast(import, x, IPEX_DTYPE_i32)
               : x;
}

static void compare(struct ipex_import *import, enum ipex_compare kind) {
    struct ipex_value *a = ipex_import_any(import, 0), *b = a ? ipex_import_any(import, 1) : NULL;
    if (!a || !b)
        return;
    if (a->dtype != b->dtype) {
        ipex_import_refuse(import, "comparing %s with %s is not supported",
                           ipex_dtype_name(a->dtype), ipex_dtype_name(b->dtype));
        return;
    }
    struct ipex_value *y =
        ipex_build_compare(import, kind, comparable(import, a), comparable(import, b));
    if (y)
        ipex_import_out(import, 0, y);
}

static void import_equal(struct ipex_import *import) {
    compare(import, IPEX_COMPARE_equal);
}
static void import_less(struct ipex_import *import) {
    compare(import, IPEX_COMPARE_less);
}
static void import_less_or_equal(struct ipex_import *import) {
    compare(import, IPEX_COMPARE_less_equal);
}
static void import_greater(struct ipex_import *import) {
    compare(import, IPEX_COMPARE_greater);
}
static void import_greater_or_equal(struct ipex_import *import) {
    compare(import, IPEX_COMPARE_greater_equal);
}

static void logical(struct ipex_import *import, int64_t kind) {
    size_t count = kind == 3 ? 1 : 2;
    for (size_t i = 0; i < count; i++) {
        struct ipex_value *x = ipex_import_any(import, i);
        if (!x)
            return;
        if (x->dtype != IPEX_DTYPE_bool) {
            ipex_import_refuse(import, "input %s is %s, not bool", x->name,
                               ipex_dtype_name(x->dtype));
            return;
        }
    }
    struct ipex_node *node = elementwise(import, IPEX_OP_logical, count, IPEX_DTYPE_bool);
    if (node)
        set_kind(node, kind);
}

static void import_and(struct ipex_import *import) {
    logical(import, 0);
}
static void import_or(struct ipex_import *import) {
    logical(import, 1);
}
static void import_xor(struct ipex_import *import) {
    logical(import, 2);
}
static void import_not(struct ipex_import *import) {
    logical(import, 3);
}

static void import_where(struct ipex_import *import) {
    struct ipex_value *c = ipex_import_any(import, 0), *a = c ? ipex_import_any(import, 1) : NULL,
                      *b = a ? ipex_import_any(import, 2) : NULL;
    if (!b)
        return;
    if (c->dtype != IPEX_DTYPE_bool || a->dtype != b->dtype)
        ipex_import_refuse(import, "the condition is %s, the choices are %s and %s",
                           ipex_dtype_name(c->dtype), ipex_dtype_name(a->dtype),
                           ipex_dtype_name(b->dtype));
    else
        (void)elementwise(import, IPEX_OP_where, 3, a->dtype);
}

/* ---- types ---- */

/* The type to cast to: up to opset 5 its name, as FLOAT or INT64, then its number. */
static int64_t read_type(const struct ipex_import *import) {
    static const char *const names[] = {"UNDEFINED", "FLOAT",  "UINT8",  "INT8",   "UINT16",
                                        "INT16",     "INT32",  "INT64",  "STRING", "BOOL",
                                        "FLOAT16",   "DOUBLE", "UINT32", "UINT64", "COMPLEX64"};
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "to");
    if (!attr || attr->type != IPEX_ONNX_ATTR_STRING)
        return attr ? attr->i : 0;
    const int64_t type = ipex_import_word(attr->s, names, (int)(sizeof names / sizeof *names));
    return type < 0 ? 0 : type;
}

static void import_cast(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    const int64_t type = read_type(import);
    enum ipex_dtype to = ipex_import_dtype(type);
    if (!x)
        return;
    if (type == IPEX_ONNX_DOUBLE)
        ipex_import_double_cast(import);
    if (to == IPEX_DTYPE_f32 && x->whole && !x->constant)
        x = x->whole;
    if (to == x->dtype) {
        if (ipex_import_is_half(type))
            ipex_import_half_cast(import, type);
        ipex_import_out(import, 0, x);
        return;
    }
    if (to != IPEX_DTYPE_f32 && to != IPEX_DTYPE_i32 && to != IPEX_DTYPE_i64 &&
        to != IPEX_DTYPE_bool && to != IPEX_DTYPE_u8 && to != IPEX_DTYPE_i8) {
        ipex_import_refuse(import, "a cast to %s is not supported", ipex_import_type_name(type));
        return;
    }
    struct ipex_node *node =
        ipex_import_plan(import, IPEX_OP_cast, IPEX_ORDER_elementwise, to, x->rank, x->dims, true);
    ipex_node_add_input(node, x);
}

/* ---- look-ups ---- */

/* One position that is known, of an axis whose length is: a slice, which can be a view. False where
 * that is not so. */
static bool import_position(struct ipex_import *import, struct ipex_value *x,
                            const struct ipex_value *index, int64_t axis, int32_t rank,
                            const int64_t *dims) {
    int64_t n;
    if (!index->constant || ipex_value_numel(index) != 1 ||
        !ipex_dim_number(&import->graph->dims, x->dims[axis], &n))
        return false;
    const int64_t given = ipex_constant_i64(index, 0), at = given < 0 ? given + n : given;
    if (at < 0 || at >= n)
        return false;
    struct ipex_value *cut = ipex_build_slice(import, x, (int32_t)axis, at, 1);
    ipex_import_out(import, 0, ipex_build_reshape(import, cut, rank, dims));
    return true;
}

/* Constant places are inside the axis at all sizes; false after refusing. */
static bool places_exist(struct ipex_import *import, const struct ipex_value *x,
                         const struct ipex_value *index, int64_t axis) {
    int64_t least, most;
    ipex_dim_range(&import->graph->dims, x->dims[axis], &least, &most);
    for (int64_t i = 0; index->constant && i < ipex_value_numel(index); i++) {
        const int64_t at = ipex_constant_i64(index, i);
        if (-least <= at && at < least)
            continue;
        ipex_import_refuse(import, "place %lld of axis %d of %s, which has %s elements%s",
                           (long long)at, (int)axis, x->name,
                           ipex_import_text(import, x->dims[axis]),
                           ipex_import_make_larger(import, x->dims[axis]));
        return false;
    }
    return true;
}

static void import_gather(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0),
                      *index = x ? ipex_import_any(import, 1) : NULL;
    int64_t axis = ipex_import_int(import, "axis", 0), dims[2 * IPEX_MAX_RANK];
    if (!index || !ipex_import_axis(import, &axis, x->rank))
        return;
    if (index->dtype != IPEX_DTYPE_i64 && index->dtype != IPEX_DTYPE_i32) {
        ipex_import_refuse(import, "the indices are %s", ipex_dtype_name(index->dtype));
        return;
    }
    if (!ipex_import_is_none(x) && !places_exist(import, x, index, axis))
        return;
    int32_t rank = 0;
    for (int32_t i = 0; i < axis; i++)
        dims[rank++] = x->dims[i];
    for (int32_t i = 0; i < index->rank; i++)
        dims[rank++] = index->dims[i];
    for (int32_t i = (int32_t)axis + 1; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    if (rank > IPEX_MAX_RANK) {
        ipex_import_refuse(import, "the result has rank %d, at most 8 is supported", rank);
        return;
    }
    if (import_position(import, x, index, axis, rank, dims))
        return;
    ipex_import_out(import, 0, ipex_quantized_look_up(import, x, index, axis));
}

static void import_expand(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = x ? ipex_import_dims(import, "shape", 1, dims, IPEX_MAX_RANK) : -1;
    if (rank >= 0 && ipex_import_broadcast(import, x, &rank, dims))
        ipex_import_out(import, 0, ipex_build_expand(import, x, rank, dims));
}

/* A shape that a result may have: of fixed dims the result, which is a constant then, is not huge.
 */
static bool fillable(struct ipex_import *import, int32_t rank, const int64_t *dims) {
    int64_t number, count = 1;
    bool fixed = true;
    for (int32_t i = 0; i < rank; i++) {
        const bool is_number = ipex_dim_number(&import->graph->dims, dims[i], &number);
        if (is_number && (number < 0 || number > IPEX_MAX_DIM)) {
            ipex_import_refuse(import, "dim %d is %lld; dims go from 1 to %lld", i,
                               (long long)number, (long long)IPEX_MAX_DIM);
            return false;
        }
        fixed &= is_number;
        if (is_number && count <= IPEX_BUILD_MAX)
            count *= number;
    }
    if (fixed && count > IPEX_BUILD_MAX)
        ipex_import_refuse(import, "it has more than %d elements", IPEX_BUILD_MAX);
    return !fixed || count <= IPEX_BUILD_MAX;
}

/* One number everywhere. */
static void import_constant_of_shape(struct ipex_import *import) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "value");
    int64_t dims[IPEX_MAX_RANK];
    if (!ipex_import_in(import, 0)) {
        ipex_import_refuse(import, "input 0 is missing");
        return;
    }
    const int rank = ipex_import_dims(import, NULL, 0, dims, IPEX_MAX_RANK);
    if (rank < 0 || !fillable(import, rank, dims))
        return;
    struct ipex_value *one = attr && attr->tensor
                                 ? ipex_import_stored(import, import->node->output[0], attr->tensor)
                                 : ipex_build_number(import, IPEX_DTYPE_f32, 0);
    if (!one || one->narrow || !ipex_import_runs(one->dtype) || ipex_value_numel(one) != 1) {
        ipex_import_refuse(import, "its value is not one number of a type that has operators");
        return;
    }
    for (int i = 0; i < rank; i++)
        if (dims[i] == 0) {
            struct ipex_value like = {.dtype = one->dtype, .rank = rank};
            ipex_import_empty(import, 0, &like, dims, "dim %d is 0; dims go from 1 to %lld", i,
                              (long long)IPEX_MAX_DIM);
            return;
        }
    one = ipex_build_reshape(import, one, 0, NULL);
    ipex_import_out(import, 0, rank ? ipex_build_expand(import, one, rank, dims) : one);
}

/* Each axis d becomes [repeat][d] by expanding a dim of 1, then is merged. */
static void import_tile(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    int64_t repeat[IPEX_MAX_RANK], apart[IPEX_MAX_RANK], wide[IPEX_MAX_RANK], merged[IPEX_MAX_RANK];
    int n = x ? ipex_import_dims(import, "repeats", 1, repeat, IPEX_MAX_RANK) : -1, rank = 0;
    if (n < 0)
        return;
    if (n != x->rank) {
        ipex_import_refuse(import, "repeats has %d values for rank %d", n, x->rank);
        return;
    }
    for (int i = 0; i < n; i++) {
        merged[i] = ipex_dim_mul(&import->graph->dims, repeat[i], x->dims[i]);
        for (int part = repeat[i] == 1; part < 2; part++, rank++) {
            if (rank == IPEX_MAX_RANK) {
                ipex_import_refuse(import, "too many axes are repeated at once");
                return;
            }
            apart[rank] = part ? x->dims[i] : 1;
            wide[rank] = part ? x->dims[i] : repeat[i];
        }
    }
    struct ipex_value *y =
        ipex_build_expand(import, ipex_import_reshape(import, x, x->name, rank, apart), rank, wide);
    ipex_import_out(import, 0, ipex_import_reshape(import, y, import->node->output[0], n, merged));
}

const struct ipex_import_op ipex_import_tensor[] = {
    {"And", import_and},
    {"Cast", import_cast},
    {"ConstantOfShape", import_constant_of_shape},
    {"Equal", import_equal},
    {"Expand", import_expand},
    {"Gather", import_gather},
    {"Greater", import_greater},
    {"GreaterOrEqual", import_greater_or_equal},
    {"Less", import_less},
    {"LessOrEqual", import_less_or_equal},
    {"Not", import_not},
    {"Or", import_or},
    {"Tile", import_tile},
    {"Where", import_where},
    {"Xor", import_xor},
    {NULL, NULL},
};
