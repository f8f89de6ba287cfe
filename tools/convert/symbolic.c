/* SPDX-License-Identifier: Apache-2.0 */
/* Shape arithmetic: integer operators on constants (and Shape of anything whose dims are known) are
 * evaluated while importing, so that reshapes and slices see plain numbers. Works on i64 values;
 * the results keep the ONNX data type. */
#include "tools/convert/import.h"

#include <string.h>

#define MAX_ELEMENTS 65536 /* beyond this it is data, not a shape */

/* An integer tensor under evaluation. */
struct ints {
    int32_t rank;
    int64_t dims[IPEX_MAX_RANK];
    int64_t count;
    int64_t *v;
    enum ipex_dtype dtype;
};

static bool is_integer(enum ipex_dtype dtype) {
    return dtype == IPEX_DTYPE_i64 || dtype == IPEX_DTYPE_i32 || dtype == IPEX_DTYPE_i8 ||
           dtype == IPEX_DTYPE_u8 || dtype == IPEX_DTYPE_bool;
}

static struct ints make(struct ipex_import *import, enum ipex_dtype dtype, int32_t rank,
                        const int64_t *dims) {
    struct ints r = {.rank = rank, .count = 1, .dtype = dtype};
    for (int32_t i = 0; i < rank; i++)
        r.count *= r.dims[i] = dims[i];
    r.v = ipex_arena_array(&import->graph->arena, (size_t)r.count + 1, sizeof *r.v);
    return r;
}

/* Input i as integers; false when it is absent, computed at run time, not integer or too large. */
static bool load(struct ipex_import *import, size_t i, struct ints *ret) {
    struct ipex_value *value = ipex_import_in(import, i);
    if (!value || !value->constant || !is_integer(value->dtype) ||
        ipex_value_numel(value) > MAX_ELEMENTS)
        return false;
    *ret = make(import, value->dtype, value->rank, value->dims);
    for (int64_t k = 0; k < ret->count; k++)
        ret->v[k] = ipex_constant_i64(value, k);
    return true;
}

/* Binds the result, narrowed to its dtype. */
static bool store(struct ipex_import *import, const struct ints *r) {
    unsigned size = ipex_dtype_size(r->dtype);
    uint8_t *data = ipex_arena_array(&import->graph->arena, (size_t)r->count + 1, size);
    for (int64_t i = 0; i < r->count; i++)
        memcpy(data + (size_t)i * size, &r->v[i], size); /* little-endian: the low bytes */
    ipex_import_out(import, 0,
                    ipex_graph_constant(import->graph, import->node->output[0], r->dtype, r->rank,
                                        r->dims, data));
    return true;
}

static bool eval_shape(struct ipex_import *import) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    if (!x || x->unknown)
        return false;
    int64_t start = ipex_import_int(import, "start", 0),
            end = ipex_import_int(import, "end", x->rank);
    start = start < 0 ? start + x->rank : start;
    end = end < 0 ? end + x->rank : end > x->rank ? x->rank : end;
    start = start < 0 ? 0 : start;
    int64_t n = end > start ? end - start : 0;
    struct ints r = make(import, IPEX_DTYPE_i64, 1, &n);
    for (int64_t i = 0; i < n; i++)
        r.v[i] = x->dims[start + i];
    return store(import, &r);
}

static bool eval_size(struct ipex_import *import) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    if (!x || x->unknown)
        return false;
    struct ints r = make(import, IPEX_DTYPE_i64, 0, NULL);
    r.v[0] = ipex_value_numel(x);
    return store(import, &r);
}

static bool eval_cast(struct ipex_import *import) {
    struct ints x;
    int64_t to = ipex_import_int(import, "to", 0);
    const struct ipex_value *value = ipex_import_in(import, 0);
    if (!load(import, 0, &x)) {
        /* small float constants turn into integers in resize and slice arithmetic */
        if (!value || !value->constant || value->dtype != IPEX_DTYPE_f32 ||
            ipex_value_numel(value) > 64)
            return false;
        x = make(import, IPEX_DTYPE_i64, value->rank, value->dims);
        for (int64_t i = 0; i < x.count; i++)
            x.v[i] = ipex_constant_i64(value, i);
    }
    switch (to) {
    case IPEX_ONNX_INT64:
        x.dtype = IPEX_DTYPE_i64;
        break;
    case IPEX_ONNX_INT32:
        x.dtype = IPEX_DTYPE_i32;
        break;
    case IPEX_ONNX_BOOL:
        x.dtype = IPEX_DTYPE_bool;
        break;
    default:
        return false;
    }
    for (int64_t i = 0; x.dtype == IPEX_DTYPE_bool && i < x.count; i++)
        x.v[i] = x.v[i] != 0;
    return store(import, &x);
}

static bool eval_identity(struct ipex_import *import) {
    struct ints x;
    return load(import, 0, &x) && store(import, &x);
}

static bool eval_concat(struct ipex_import *import) {
    struct ints x, r;
    int64_t total = 0, at = 0;
    for (size_t i = 0; i < import->node->inputs; i++) {
        if (!load(import, i, &x) || x.rank != 1)
            return false;
        total += x.count;
    }
    if (!import->node->inputs)
        return false;
    r = make(import, x.dtype, 1, &total);
    for (size_t i = 0; i < import->node->inputs; i++) {
        if (!load(import, i, &x))
            return false;
        memcpy(r.v + at, x.v, (size_t)x.count * sizeof *r.v);
        at += x.count;
    }
    return store(import, &r);
}

/* Gather along axis 0 of a vector. */
static bool eval_gather(struct ipex_import *import) {
    struct ints x, index;
    if (!load(import, 0, &x) || x.rank != 1 || !load(import, 1, &index) || index.rank > 1 ||
        ipex_import_int(import, "axis", 0) != 0)
        return false;
    struct ints r = make(import, x.dtype, index.rank, index.dims);
    for (int64_t i = 0; i < r.count; i++) {
        int64_t at = index.v[i] < 0 ? index.v[i] + x.count : index.v[i];
        if (at < 0 || at >= x.count)
            return false;
        r.v[i] = x.v[at];
    }
    return store(import, &r);
}

/* Slice of a vector. */
static bool eval_slice(struct ipex_import *import) {
    struct ints x;
    int64_t start, end, step = 1, axis = 0;
    if (!load(import, 0, &x) || x.rank != 1)
        return false;
    if (ipex_import_ints(import, "starts", 1, &start, 1) != 1 ||
        ipex_import_ints(import, "ends", 2, &end, 1) != 1)
        return false;
    if (ipex_import_ints(import, "axes", 3, &axis, 1) < 0 ||
        ipex_import_ints(import, NULL, 4, &step, 1) < 0 || step == 0)
        return false;
    start = start < 0 ? start + x.count : start;
    end = end < -x.count ? -1 : end < 0 ? end + x.count : end;
    if (step > 0) {
        start = start < 0 ? 0 : start;
        end = end > x.count ? x.count : end;
    } else {
        start = start >= x.count ? x.count - 1 : start;
    }
    int64_t n = 0;
    struct ints r = make(import, x.dtype, 1, &x.count);
    for (int64_t i = start; step > 0 ? i < end : i > end && i >= 0; i += step)
        r.v[n++] = x.v[i];
    r.count = r.dims[0] = n;
    return store(import, &r);
}

static bool eval_unsqueeze(struct ipex_import *import) {
    struct ints x;
    int64_t axes[IPEX_MAX_RANK];
    if (!load(import, 0, &x) || x.rank > 0 ||
        ipex_import_ints(import, "axes", 1, axes, IPEX_MAX_RANK) != 1)
        return false;
    x.rank = 1;
    x.dims[0] = 1;
    return store(import, &x);
}

static bool eval_squeeze(struct ipex_import *import) {
    struct ints x;
    if (!load(import, 0, &x) || x.rank != 1 || x.count != 1)
        return false;
    x.rank = 0;
    return store(import, &x);
}

static bool apply(const char *op, int64_t a, int64_t b, int64_t *ret) {
    if (!strcmp(op, "Add"))
        return !__builtin_add_overflow(a, b, ret);
    if (!strcmp(op, "Sub"))
        return !__builtin_sub_overflow(a, b, ret);
    if (!strcmp(op, "Mul"))
        return !__builtin_mul_overflow(a, b, ret);
    if (!b || (a == INT64_MIN && b == -1))
        return false;
    *ret = a / b; /* integer Div truncates */
    return true;
}

static bool eval_binary(struct ipex_import *import) {
    struct ints a, b;
    if (!load(import, 0, &a) || !load(import, 1, &b) ||
        (a.count != b.count && a.count != 1 && b.count != 1) || a.rank > 1 || b.rank > 1)
        return false;
    const struct ints *shape =
        a.count > b.count || (a.count == b.count && a.rank >= b.rank) ? &a : &b;
    struct ints r = make(import, a.dtype, shape->rank, shape->dims);
    for (int64_t i = 0; i < r.count; i++)
        if (!apply(import->node->op_type, a.v[a.count == 1 ? 0 : i], b.v[b.count == 1 ? 0 : i],
                   &r.v[i]))
            return false;
    return store(import, &r);
}

static bool eval_constant_of_shape(struct ipex_import *import) {
    struct ints shape;
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "value");
    if (!load(import, 0, &shape) || shape.rank != 1 || shape.count > IPEX_MAX_RANK || !attr ||
        !attr->tensor || attr->tensor->type != IPEX_ONNX_INT64 || attr->tensor->size != 8)
        return false;
    int64_t numel, value;
    if (!ipex_numel(shape.v, (unsigned)shape.count, &numel) || numel > MAX_ELEMENTS)
        return false;
    memcpy(&value, attr->tensor->data, 8);
    struct ints r = make(import, IPEX_DTYPE_i64, (int32_t)shape.count, shape.v);
    for (int64_t i = 0; i < r.count; i++)
        r.v[i] = value;
    return store(import, &r);
}

static const struct {
    const char *op_type;
    bool (*eval)(struct ipex_import *import);
} evaluators[] = {
    {"Add", eval_binary},        {"Cast", eval_cast},
    {"Concat", eval_concat},     {"ConstantOfShape", eval_constant_of_shape},
    {"Div", eval_binary},        {"Gather", eval_gather},
    {"Identity", eval_identity}, {"Mul", eval_binary},
    {"Shape", eval_shape},       {"Size", eval_size},
    {"Slice", eval_slice},       {"Squeeze", eval_squeeze},
    {"Sub", eval_binary},        {"Unsqueeze", eval_unsqueeze},
};

bool ipex_import_is_symbolic(const struct ipex_import *import) {
    for (size_t i = 0; i < sizeof evaluators / sizeof *evaluators; i++)
        if (!strcmp(evaluators[i].op_type, import->node->op_type))
            return true;
    return false;
}

bool ipex_import_symbolic(struct ipex_import *import) {
    if (!import->node->outputs)
        return false;
    for (size_t i = 0; i < sizeof evaluators / sizeof *evaluators; i++)
        if (!strcmp(evaluators[i].op_type, import->node->op_type))
            return evaluators[i].eval(import);
    return false;
}
