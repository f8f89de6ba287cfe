/* SPDX-License-Identifier: Apache-2.0 */
/* Shape arithmetic: integer operators whose operands are known (constants, Shape of anything, and
 * what follows from them) are evaluated while importing, element by element, as dims
 * (tools/convert/dim.h): numbers, or expressions over the symbols of the inputs. So reshapes and
 * slices see what they need, and nothing of it runs later. */
#include "tools/convert/import_float_size.h"

#include <string.h>

#define MAX_ELEMENTS 65536 /* beyond this it is data, not a shape */

/* An integer tensor under evaluation. */
struct ints {
    int32_t rank;
    int64_t dims[IPEX_MAX_RANK]; /* numbers */
    int64_t count;
    int64_t *v; /* dims; IPEX_DIM_NONE where an element cannot be expressed */
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

const int64_t *ipex_import_known(struct ipex_import *import, struct ipex_value *value) {
    if (value->ints)
        return value->ints;
    if (!value->constant || !is_integer(value->dtype) || ipex_value_numel(value) > MAX_ELEMENTS)
        return NULL;
    struct ints r = make(import, value->dtype, value->rank, value->dims);
    for (int64_t i = 0; i < r.count; i++)
        r.v[i] = ipex_dim_of(&import->graph->dims, ipex_constant_i64(value, i));
    return value->ints = r.v;
}

/* Input i; false when it is absent, computed at run time, not integer or too large. */
static bool load(struct ipex_import *import, size_t i, struct ints *ret) {
    struct ipex_value *value = ipex_import_in(import, i);
    const int64_t *known = value ? ipex_import_known(import, value) : NULL;
    if (!known)
        return false;
    *ret = make(import, value->dtype, value->rank, value->dims);
    memcpy(ret->v, known, (size_t)ret->count * sizeof *known);
    return true;
}

static bool number(struct ipex_import *import, int64_t dim, int64_t *ret) {
    return ipex_dim_number(&import->graph->dims, dim, ret);
}

/* Binds one of the results; where all elements are numbers it is an ordinary constant too. */
static bool store_at(struct ipex_import *import, size_t which, const struct ints *r) {
    const char *name = import->node->output[which];
    unsigned size = ipex_dtype_size(r->dtype);
    uint8_t *data = ipex_arena_array(&import->graph->arena, (size_t)r->count + 1, size);
    bool numbers = true;
    for (int64_t i = 0; i < r->count; i++) {
        int64_t n = 0;
        if (r->v[i] == IPEX_DIM_NONE)
            return false;
        numbers &= number(import, r->v[i], &n);
        memcpy(data + (size_t)i * size, &n, size); /* little-endian: the low bytes */
    }
    struct ipex_value *value =
        numbers ? ipex_graph_constant(import->graph, name, r->dtype, r->rank, r->dims, data)
                : ipex_graph_value(import->graph, name, r->dtype, r->rank, r->dims);
    value->ints = r->v;
    ipex_import_out(import, which, value);
    return true;
}
static bool store(struct ipex_import *import, const struct ints *r) {
    return store_at(import, 0, r);
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
    r.v[0] = ipex_value_size(import->graph, x);
    return store(import, &r);
}

/* Small float constants turn into integers in resize and slice arithmetic. */
static bool load_floats(struct ipex_import *import, struct ints *ret) {
    const struct ipex_value *value = ipex_import_in(import, 0);
    if (!value || !value->constant || value->dtype != IPEX_DTYPE_f32 ||
        ipex_value_numel(value) > 64)
        return false;
    *ret = make(import, IPEX_DTYPE_i64, value->rank, value->dims);
    for (int64_t i = 0; i < ret->count; i++)
        ret->v[i] = ipex_dim_of(&import->graph->dims, ipex_constant_i64(value, i));
    return true;
}

/* Sizes that were floats meanwhile. */
static bool load_float_sizes(struct ipex_import *import, struct ints *ret) {
    const struct ipex_value *value = ipex_import_in(import, 0);
    int64_t *sizes = value ? ipex_import_cast_sizes(import, value) : NULL;
    if (!sizes)
        return false;
    *ret = make(import, IPEX_DTYPE_i64, value->rank, value->dims);
    ret->v = sizes;
    return true;
}

static bool eval_cast(struct ipex_import *import) {
    struct ints x;
    int64_t to = ipex_import_int(import, "to", 0), n;
    if (!load(import, 0, &x) &&
        (to == IPEX_ONNX_BOOL || (!load_floats(import, &x) && !load_float_sizes(import, &x))))
        return false;
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
    for (int64_t i = 0; x.dtype == IPEX_DTYPE_bool && i < x.count; i++) {
        if (!number(import, x.v[i], &n))
            return false;
        x.v[i] = n != 0;
    }
    return store(import, &x);
}

static bool eval_identity(struct ipex_import *import) {
    struct ints x;
    return load(import, 0, &x) && store(import, &x);
}

/* Of vectors, and along axis 0 of what has sizes in it: tables of constants are left to the
 * operator.
 */
static bool eval_concat(struct ipex_import *import) {
    struct ints x, r = {.rank = 0};
    int64_t lines = 0, at = 0;
    bool sizes = false;
    for (size_t i = 0; i < import->node->inputs; i++) {
        if (!load(import, i, &x) || x.rank < 1)
            return false;
        if (i == 0)
            r = x;
        if (x.rank != r.rank ||
            memcmp(x.dims + 1, r.dims + 1, (size_t)(x.rank - 1) * sizeof *x.dims))
            return false;
        lines += x.dims[0];
        sizes |= !ipex_import_in(import, i)->constant;
    }
    if (!import->node->inputs ||
        (r.rank > 1 && (!sizes || ipex_import_int(import, "axis", 0) != 0)))
        return false;
    r.dims[0] = lines;
    r = make(import, r.dtype, r.rank, r.dims);
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
        int64_t at;
        if (!number(import, index.v[i], &at))
            return false;
        at += at < 0 ? x.count : 0;
        if (at < 0 || at >= x.count)
            return false;
        r.v[i] = x.v[at];
    }
    return store(import, &r);
}

/* Slices of constants are left to the operator, unless they are vectors. */
static bool is_shape(const struct ipex_import *import, const struct ints *x) {
    return x->rank == 1 || (x->rank > 1 && !ipex_import_in(import, 0)->constant);
}

/* Of more than a vector: what says where to cut is one constant each. */
static bool cuts_once(const struct ipex_import *import) {
    for (size_t i = 1; i < import->node->inputs; i++) {
        const struct ipex_value *x = ipex_import_in(import, i);
        if (*import->node->input[i] && (!x->constant || ipex_value_numel(x) != 1))
            return false;
    }
    return import->node->inputs > 2;
}

/* The lines from one place to another along an axis. */
static struct ints take(struct ipex_import *import, const struct ints *x, int64_t axis,
                        int64_t start, int64_t count, int64_t step) {
    struct ints r = *x;
    int64_t inner = 1, at = 0;
    for (int32_t i = (int32_t)axis + 1; i < x->rank; i++)
        inner *= x->dims[i];
    const int64_t line = x->dims[axis] * inner, lines = line ? x->count / line : 0;
    r.dims[axis] = count;
    r = make(import, x->dtype, x->rank, r.dims);
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < count; k++, at += inner)
            memcpy(r.v + at, x->v + i * line + (start + k * step) * inner,
                   (size_t)inner * sizeof *r.v);
    return r;
}

/* Slice along one axis. */
static bool eval_slice(struct ipex_import *import) {
    struct ints x;
    int64_t start, end, step = 1, axis = 0;
    if (!load(import, 0, &x) || !is_shape(import, &x) || (x.rank > 1 && !cuts_once(import)))
        return false;
    if (ipex_import_ints(import, "starts", 1, &start, 1) != 1 ||
        ipex_import_ints(import, "ends", 2, &end, 1) != 1)
        return false;
    if (ipex_import_ints(import, "axes", 3, &axis, 1) < 0 ||
        ipex_import_ints(import, NULL, 4, &step, 1) < 0 || step == 0)
        return false;
    axis += axis < 0 ? x.rank : 0;
    if (axis < 0 || axis >= x.rank)
        return false;
    const int64_t size = x.dims[axis];
    start = start < 0 ? start + size : start;
    end = end < -size ? -1 : end < 0 ? end + size : end;
    if (step > 0) {
        start = start < 0 ? 0 : start;
        end = end > size ? size : end;
    } else {
        start = start >= size ? size - 1 : start;
    }
    int64_t n = 0;
    for (int64_t i = start; step > 0 ? i < end : i > end && i >= 0; i += step)
        n++;
    struct ints r = take(import, &x, axis, start, n, step);
    return store(import, &r);
}

/* Of a table of two columns, as the padding of PyTorch is turned into ONNX's. */
static bool eval_transpose(struct ipex_import *import) {
    struct ints x;
    const struct ipex_onnx_attr *perm = ipex_import_attr(import, "perm");
    const bool turned = !perm || (ipex_onnx_ints(perm) == 2 && perm->ints[0] == 1);
    if (!load(import, 0, &x) || x.rank != 2 || !turned || !is_shape(import, &x))
        return false;
    struct ints r = make(import, x.dtype, 2, (const int64_t[]){x.dims[1], x.dims[0]});
    for (int64_t i = 0; i < x.count; i++)
        r.v[i % x.dims[1] * x.dims[0] + i / x.dims[1]] = x.v[i];
    return store(import, &r);
}

/* The axes of the current node as a mask of `rank` bits; 0 where they are not known. */
static uint32_t axes_mask(struct ipex_import *import, int32_t rank) {
    int64_t axes[IPEX_MAX_RANK];
    const int count = ipex_import_ints(import, "axes", 1, axes, IPEX_MAX_RANK);
    uint32_t mask = 0;
    for (int i = 0; i < count; i++) {
        const int64_t axis = axes[i] + (axes[i] < 0 ? rank : 0);
        if (axis < 0 || axis >= rank)
            return 0;
        mask |= 1u << axis;
    }
    return mask;
}

/* Of a scalar, or of sizes in any shape: constants are left to the operator. */
static bool eval_unsqueeze(struct ipex_import *import) {
    struct ints x;
    const int more =
        ipex_import_ints(import, "axes", 1, (int64_t[IPEX_MAX_RANK]){0}, IPEX_MAX_RANK);
    if (!load(import, 0, &x) || (x.rank > 0 && ipex_import_in(import, 0)->constant) || more < 1 ||
        x.rank + more > IPEX_MAX_RANK)
        return false;
    const int32_t rank = x.rank + more;
    const uint32_t ones = axes_mask(import, rank);
    int64_t dims[IPEX_MAX_RANK];
    int32_t from = 0;
    for (int32_t i = 0; i < rank; i++)
        dims[i] = ones >> i & 1 || from == x.rank ? 1 : x.dims[from++];
    if (!ones || from != x.rank)
        return false;
    x.rank = rank;
    memcpy(x.dims, dims, (size_t)rank * sizeof *dims);
    return store(import, &x);
}

static bool eval_squeeze(struct ipex_import *import) {
    struct ints x;
    if (!load(import, 0, &x) ||
        (ipex_import_in(import, 0)->constant && (x.rank != 1 || x.count != 1)))
        return false;
    const bool all = import->node->inputs < 2 && !ipex_import_attr(import, "axes");
    const uint32_t ones = all ? UINT32_MAX : axes_mask(import, x.rank);
    int32_t rank = 0;
    for (int32_t i = 0; i < x.rank; i++)
        if (!(ones >> i & 1) || x.dims[i] != 1)
            x.dims[rank++] = x.dims[i];
    if (!ones || (!all && x.rank - rank != __builtin_popcount(ones)))
        return false;
    x.rank = rank;
    return store(import, &x);
}

/* Of a vector of sizes. */
static bool eval_split(struct ipex_import *import) {
    struct ints x;
    int64_t parts[IPEX_MAX_RANK * 2], at = 0;
    const size_t outputs = import->node->outputs;
    if (!load(import, 0, &x) || x.rank != 1 || ipex_import_in(import, 0)->constant || !outputs ||
        outputs > sizeof parts / sizeof *parts)
        return false;
    const int given = ipex_import_ints(import, "split", 1, parts, (int)outputs);
    const int64_t each = (x.count + (int64_t)outputs - 1) / (int64_t)outputs;
    if (given != 0 && given != (int)outputs)
        return false;
    for (size_t i = 0; i < outputs; i++) {
        const int64_t count = given ? parts[i] : at + each > x.count ? x.count - at : each;
        if (count < 1 || at + count > x.count)
            return false;
        parts[i] = count;
        at += count;
    }
    if (at != x.count)
        return false;
    at = 0;
    for (size_t i = 0; i < outputs; at += parts[i++]) {
        struct ints part = make(import, x.dtype, 1, &parts[i]);
        memcpy(part.v, x.v + at, (size_t)part.count * sizeof *part.v);
        if (*import->node->output[i] && !store_at(import, i, &part))
            return false;
    }
    return true;
}

static int64_t negative(struct ipex_dims *dims, int64_t a) {
    return ipex_dim_sub(dims, 0, a);
}

/* Integer Div truncates: of numbers of one sign, that is rounding down the number or what it is
 * without its sign. */
static int64_t divide(struct ipex_dims *dims, int64_t a, int64_t b) {
    int64_t lo, hi, x, y;
    if (ipex_dim_number(dims, a, &x) && ipex_dim_number(dims, b, &y))
        return y && !(x == INT64_MIN && y == -1) ? ipex_dim_of(dims, x / y) : IPEX_DIM_NONE;
    ipex_dim_range(dims, b, &lo, &hi);
    if (lo < 1)
        return IPEX_DIM_NONE;
    ipex_dim_range(dims, a, &lo, &hi);
    if (lo >= 0)
        return ipex_dim_floor_div(dims, a, b);
    return hi <= 0 ? negative(dims, ipex_dim_floor_div(dims, negative(dims, a), b)) : IPEX_DIM_NONE;
}

static int64_t remainder_of_numbers(struct ipex_dims *dims, int64_t x, int64_t y, bool dividend) {
    if (y == 0 || y == -1)
        return y ? 0 : IPEX_DIM_NONE;
    const int64_t r = x % y;
    return ipex_dim_of(dims, r && !dividend && (r < 0) != (y < 0) ? r + y : r);
}

/* Of b > 0 it is at least 0: a itself, or a + b, where that lies below b for all sizes. */
static int64_t remainder_of_sizes(struct ipex_dims *dims, int64_t a, int64_t b) {
    int64_t lo, hi, above, most;
    const int64_t plus = ipex_dim_add(dims, a, b);
    ipex_dim_range(dims, a, &lo, &hi);
    ipex_dim_range(dims, ipex_dim_sub(dims, a, b), &above, &most);
    if (lo >= 0 && most < 0)
        return a;
    ipex_dim_range(dims, plus, &above, &most);
    if (above >= 0 && hi < 0)
        return plus;
    return ipex_dim_sub(dims, a, ipex_dim_mul(dims, ipex_dim_floor_div(dims, a, b), b));
}

/* With the divisor's sign, or with the dividend's. */
static int64_t remainder_of(struct ipex_dims *dims, int64_t a, int64_t b, bool dividend) {
    int64_t x, y, lo, hi;
    if (ipex_dim_number(dims, a, &x) && ipex_dim_number(dims, b, &y))
        return remainder_of_numbers(dims, x, y, dividend);
    ipex_dim_range(dims, b, &lo, &hi);
    if (lo < 1)
        return IPEX_DIM_NONE;
    ipex_dim_range(dims, a, &lo, &hi);
    if (dividend && hi <= 0)
        return negative(dims, remainder_of_sizes(dims, negative(dims, a), b));
    return dividend && lo < 0 ? IPEX_DIM_NONE : remainder_of_sizes(dims, a, b);
}

/* 0 or 1 where it is the same for all sizes. */
static int64_t compare(struct ipex_dims *dims, const char *op, int64_t a, int64_t b) {
    int64_t lo, hi, x, y, difference;
    if (ipex_dim_number(dims, a, &x) && ipex_dim_number(dims, b, &y))
        difference = x < y ? ipex_dim_of(dims, -1) : x > y;
    else
        difference = ipex_dim_sub(dims, a, b);
    if (difference == IPEX_DIM_NONE)
        return IPEX_DIM_NONE;
    ipex_dim_range(dims, difference, &lo, &hi);
    if (!strcmp(op, "Equal"))
        return lo == 0 && hi == 0 ? 1 : lo > 0 || hi < 0 ? 0 : IPEX_DIM_NONE;
    if (!strncmp(op, "Greater", 7))
        return compare(dims, op[7] ? "LessOrEqual" : "Less", b, a);
    if (!strcmp(op, "LessOrEqual"))
        return hi <= 0 ? 1 : lo > 0 ? 0 : IPEX_DIM_NONE;
    return hi < 0 ? 1 : lo >= 0 ? 0 : IPEX_DIM_NONE;
}

static int64_t power(struct ipex_dims *dims, int64_t a, int64_t b) {
    int64_t n, y = 1;
    if (!ipex_dim_number(dims, b, &n) || n < 0 || n > 64)
        return IPEX_DIM_NONE;
    while (n-- > 0 && y != IPEX_DIM_NONE)
        y = ipex_dim_mul(dims, y, a);
    return y;
}

static int64_t apply(struct ipex_dims *dims, const char *op, int64_t a, int64_t b) {
    if (!strcmp(op, "Add"))
        return ipex_dim_add(dims, a, b);
    if (!strcmp(op, "Sub"))
        return ipex_dim_sub(dims, a, b);
    if (!strcmp(op, "Mul"))
        return ipex_dim_mul(dims, a, b);
    if (!strcmp(op, "Min"))
        return ipex_dim_min(dims, a, b);
    if (!strcmp(op, "Max"))
        return ipex_dim_max(dims, a, b);
    if (!strcmp(op, "Div"))
        return divide(dims, a, b);
    if (!strcmp(op, "Pow"))
        return power(dims, a, b);
    if (!strcmp(op, "Mod") || !strcmp(op, "fmod"))
        return remainder_of(dims, a, b, *op == 'f');
    return compare(dims, op, a, b);
}

static bool is_comparison(const char *op) {
    return !strcmp(op, "Equal") || !strncmp(op, "Greater", 7) || !strncmp(op, "Less", 4);
}

/* The operand that gives the result's shape: the longer, then the one of higher rank. */
static const struct ints *wider(const struct ints *a, const struct ints *b) {
    return a->count > b->count || (a->count == b->count && a->rank >= b->rank) ? a : b;
}

static bool eval_binary(struct ipex_import *import) {
    struct ints a, b;
    const char *op = ipex_import_int(import, "fmod", 0) ? "fmod" : import->node->op_type;
    if (!load(import, 0, &a) || !load(import, 1, &b) || import->node->inputs != 2 ||
        (a.count != b.count && a.count != 1 && b.count != 1) || a.rank > 1 || b.rank > 1)
        return false;
    const struct ints *shape = wider(&a, &b);
    struct ints r =
        make(import, is_comparison(op) ? IPEX_DTYPE_bool : a.dtype, shape->rank, shape->dims);
    for (int64_t i = 0; i < r.count; i++)
        r.v[i] =
            apply(&import->graph->dims, op, a.v[a.count == 1 ? 0 : i], b.v[b.count == 1 ? 0 : i]);
    return store(import, &r);
}

/* Of sizes; constants, which may be many, are left to the operator. */
static bool eval_neg(struct ipex_import *import) {
    struct ints x;
    if (!load(import, 0, &x) || ipex_import_in(import, 0)->constant)
        return false;
    for (int64_t i = 0; i < x.count; i++)
        x.v[i] = negative(&import->graph->dims, x.v[i]);
    return store(import, &x);
}

static bool eval_where(struct ipex_import *import) {
    struct ints c, a, b;
    if (!load(import, 0, &c) || !load(import, 1, &a) || !load(import, 2, &b) || c.rank > 1 ||
        a.rank > 1 || b.rank > 1)
        return false;
    const struct ints *shape = wider(wider(&c, &a), &b);
    struct ints r = make(import, a.dtype, shape->rank, shape->dims);
    for (int64_t i = 0; i < r.count; i++) {
        int64_t condition;
        if ((c.count != 1 && c.count != r.count) || (a.count != 1 && a.count != r.count) ||
            (b.count != 1 && b.count != r.count) ||
            !number(import, c.v[c.count == 1 ? 0 : i], &condition))
            return false;
        r.v[i] = condition ? a.v[a.count == 1 ? 0 : i] : b.v[b.count == 1 ? 0 : i];
    }
    return store(import, &r);
}

/* Product, sum, minimum or maximum of a whole vector. */
static bool eval_reduce(struct ipex_import *import) {
    struct ints x;
    const char *op = import->node->op_type + strlen("Reduce");
    int64_t axes[IPEX_MAX_RANK];
    const int count = ipex_import_ints(import, "axes", 1, axes, IPEX_MAX_RANK);
    if (!load(import, 0, &x) || x.rank != 1 || !x.count || count < 0)
        return false;
    if (!count && ipex_import_int(import, "noop_with_empty_axes", 0))
        return store(import, &x);
    int64_t one = 1;
    struct ints r = make(import, x.dtype, ipex_import_int(import, "keepdims", 1) != 0, &one);
    r.v[0] = x.v[0];
    for (int64_t i = 1; i < x.count; i++)
        r.v[0] = apply(&import->graph->dims,
                       !strcmp(op, "Prod")  ? "Mul"
                       : !strcmp(op, "Sum") ? "Add"
                                            : op,
                       r.v[0], x.v[i]);
    return store(import, &r);
}

static bool eval_range(struct ipex_import *import) {
    int64_t v[3];
    struct ints x;
    for (size_t i = 0; i < 3; i++)
        if (!load(import, i, &x) || x.count != 1 || !number(import, x.v[0], &v[i]))
            return false;
    int64_t n = v[2] == 0 ? -1 : (v[1] - v[0] + v[2] - (v[2] > 0 ? 1 : -1)) / v[2];
    if (n < 0 || n > MAX_ELEMENTS)
        return false;
    struct ints r = make(import, x.dtype, 1, &n);
    for (int64_t i = 0; i < n; i++)
        r.v[i] = ipex_dim_of(&import->graph->dims, v[0] + i * v[2]);
    return store(import, &r);
}

static bool eval_constant_of_shape(struct ipex_import *import) {
    struct ints shape;
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "value");
    if (!load(import, 0, &shape) || shape.rank != 1 || shape.count > IPEX_MAX_RANK || !attr ||
        !attr->tensor || attr->tensor->type != IPEX_ONNX_INT64 || attr->tensor->size != 8)
        return false;
    int64_t numel, value;
    for (int64_t i = 0; i < shape.count; i++)
        if (shape.v[i] < 0)
            return false;
    if (!ipex_numel(shape.v, (unsigned)shape.count, &numel) || numel > MAX_ELEMENTS)
        return false;
    memcpy(&value, attr->tensor->data, 8);
    struct ints r = make(import, IPEX_DTYPE_i64, (int32_t)shape.count, shape.v);
    for (int64_t i = 0; i < r.count; i++)
        r.v[i] = ipex_dim_of(&import->graph->dims, value);
    return store(import, &r);
}

/* A vector repeated: how exporters spell expanded shapes. */
static bool eval_expand(struct ipex_import *import) {
    struct ints x, shape;
    int64_t n;
    if (!load(import, 0, &x) || x.rank > 1 || x.count != 1 || !load(import, 1, &shape) ||
        shape.count != 1 || !number(import, shape.v[0], &n) || n < 1 || n > MAX_ELEMENTS)
        return false;
    struct ints r = make(import, x.dtype, 1, &n);
    for (int64_t i = 0; i < n; i++)
        r.v[i] = x.v[0];
    return store(import, &r);
}

static bool eval_reshape(struct ipex_import *import) {
    struct ints x, shape = {0};
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "shape");
    if (!load(import, 0, &x) || (!attr && (!load(import, 1, &shape) || shape.rank > 1)))
        return false;
    int64_t rank = attr ? (int64_t)ipex_onnx_ints(attr) : shape.count, product = 1, open = -1;
    if (rank > IPEX_MAX_RANK || ipex_import_int(import, "allowzero", 0))
        return false;
    int64_t dims[IPEX_MAX_RANK];
    for (int64_t i = 0; i < rank; i++) {
        int64_t n = attr ? attr->ints[i] : 0;
        if (!attr && !number(import, shape.v[i], &n))
            return false;
        n = n == 0 && i < x.rank ? x.dims[i] : n;
        if (n > MAX_ELEMENTS || n < -1 || (n == -1 && open >= 0))
            return false;
        open = n == -1 ? i : open;
        dims[i] = n;
        product *= n == -1 ? 1 : n;
        if (product > MAX_ELEMENTS)
            return false;
    }
    if (open >= 0 && product > 0 && x.count % product == 0) {
        dims[open] = x.count / product;
        product = x.count;
    }
    if (product != x.count || (open >= 0 && dims[open] < 0))
        return false;
    x.rank = (int32_t)rank;
    memcpy(x.dims, dims, (size_t)rank * sizeof *dims);
    return store(import, &x);
}

static const struct {
    const char *op_type;
    bool (*eval)(struct ipex_import *import);
} evaluators[] = {
    {"Add", eval_binary},          {"Cast", eval_cast},
    {"Concat", eval_concat},       {"ConstantOfShape", eval_constant_of_shape},
    {"Div", eval_binary},          {"Equal", eval_binary},
    {"Expand", eval_expand},       {"Gather", eval_gather},
    {"Greater", eval_binary},      {"GreaterOrEqual", eval_binary},
    {"Identity", eval_identity},   {"Less", eval_binary},
    {"LessOrEqual", eval_binary},  {"Max", eval_binary},
    {"Min", eval_binary},          {"Mod", eval_binary},
    {"Mul", eval_binary},          {"Neg", eval_neg},
    {"Pow", eval_binary},          {"Range", eval_range},
    {"ReduceMax", eval_reduce},    {"ReduceMin", eval_reduce},
    {"ReduceProd", eval_reduce},   {"ReduceSum", eval_reduce},
    {"Reshape", eval_reshape},     {"Shape", eval_shape},
    {"Size", eval_size},           {"Slice", eval_slice},
    {"Split", eval_split},         {"Squeeze", eval_squeeze},
    {"Sub", eval_binary},          {"Transpose", eval_transpose},
    {"Unsqueeze", eval_unsqueeze}, {"Where", eval_where},
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
