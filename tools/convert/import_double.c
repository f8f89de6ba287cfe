/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles in the source: values computed at run time are f32, and casts between the two types do
 * nothing; constants are rounded to f32 once. A small constant keeps its doubles beside that
 * (ipex_value.exact), and what follows from such constants alone is computed in doubles while
 * importing: sizes, scales and tables of frequencies come out as the source has them. All of it is
 * told: each cast in the ledger, the sum as a note. */
#include "tools/convert/import_double.h"

#include <math.h>
#include <string.h>

#include "tools/convert/import_build.h"

#define MAX_ELEMENTS 65536 /* beyond this it is data that f32 is good enough for */

/* ---- constants ---- */

/* A constant of f32 beside these doubles, which are kept. */
static struct ipex_value *rounded(struct ipex_import *import, const char *name, int32_t rank,
                                  const int64_t *dims, const double *exact, int64_t count) {
    float *data = ipex_arena_array(&import->graph->arena, (size_t)count + 1, sizeof *data);
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)exact[i];
    struct ipex_value *value =
        ipex_graph_constant(import->graph, name, IPEX_DTYPE_f32, rank, dims, data);
    value->exact = exact;
    return value;
}

struct ipex_value *ipex_import_double_constant(struct ipex_import *import, const char *name,
                                               int32_t rank, const int64_t *dims,
                                               const void *data) {
    struct ipex_value *stored =
        ipex_graph_constant(import->graph, name, IPEX_DTYPE_f64, rank, dims, data);
    const int64_t count = ipex_value_numel(stored);
    import->double_constants++;
    if (count > MAX_ELEMENTS)
        return ipex_build_cast(import, stored, IPEX_DTYPE_f32);
    double *exact = ipex_arena_array(&import->graph->arena, (size_t)count + 1, sizeof *exact);
    if (count)
        memcpy(exact, data, (size_t)count * sizeof *exact);
    return rounded(import, name, rank, dims, exact, count);
}

/* ---- told ---- */

void ipex_import_double_cast(struct ipex_import *import) {
    import->double_casts++;
    ipex_ledger_add(import->graph->ledger, "double", import->label, IPEX_REASON_applied,
                    "a cast to float64: values are computed in f32");
}

void ipex_import_double_note(struct ipex_import *import) {
    struct ipex_arena *arena = &import->graph->arena;
    if (!import->double_constants && !import->double_casts)
        return;
    import->notes = ipex_arena_printf(
        arena,
        "%sdoubles (float64) in the model are computed in f32: %zu constants are rounded, %zu "
        "casts to float64 widen nothing\n",
        import->notes ? import->notes : "", import->double_constants, import->double_casts);
}

/* ---- arithmetic ---- */

/* A small constant under evaluation. */
struct doubles {
    int32_t rank;
    int64_t dims[IPEX_MAX_RANK], count;
    double *v;
};

static const double *exact_input(const struct ipex_import *import, size_t i) {
    const struct ipex_value *x = ipex_import_in(import, i);
    return x && x->constant ? x->exact : NULL;
}

static bool load(const struct ipex_import *import, size_t i, struct doubles *ret) {
    const struct ipex_value *x = ipex_import_in(import, i);
    if (!exact_input(import, i))
        return false;
    *ret = (struct doubles){.rank = x->rank, .count = ipex_value_numel(x)};
    memcpy(ret->dims, x->dims, sizeof ret->dims);
    ret->v = (double *)(uintptr_t)x->exact;
    return true;
}

static struct doubles make(struct ipex_import *import, int32_t rank, const int64_t *dims,
                           int64_t count) {
    struct doubles r = {.rank = rank, .count = count};
    if (rank)
        memcpy(r.dims, dims, (size_t)rank * sizeof *dims);
    r.v = ipex_arena_array(&import->graph->arena, (size_t)count + 1, sizeof *r.v);
    return r;
}

static bool store(struct ipex_import *import, const struct doubles *r) {
    ipex_import_out(import, 0,
                    rounded(import, import->node->output[0], r->rank, r->dims, r->v, r->count));
    return true;
}

static double negative(double x) {
    return -x;
}
static double reciprocal(double x) {
    return 1 / x;
}

static const struct {
    const char *op_type;
    double (*function)(double x);
} functions[] = {
    {"Abs", fabs},    {"Ceil", ceil}, {"Cos", cos},      {"Exp", exp},
    {"Floor", floor}, {"Log", log},   {"Neg", negative}, {"Reciprocal", reciprocal},
    {"Round", rint},  {"Sin", sin},   {"Sqrt", sqrt},
};

static bool unary(struct ipex_import *import) {
    struct doubles x;
    size_t f = 0;
    while (strcmp(functions[f].op_type, import->node->op_type))
        f++;
    if (!load(import, 0, &x))
        return false;
    struct doubles r = make(import, x.rank, x.dims, x.count);
    for (int64_t i = 0; i < x.count; i++)
        r.v[i] = functions[f].function(x.v[i]);
    return store(import, &r);
}

static double apply(const char *op, double a, double b) {
    return !strcmp(op, "Add")   ? a + b
           : !strcmp(op, "Sub") ? a - b
           : !strcmp(op, "Mul") ? a * b
           : !strcmp(op, "Div") ? a / b
           : !strcmp(op, "Pow") ? pow(a, b)
           : !strcmp(op, "Min") ? (a < b || a != a ? a : b)
                                : (a > b || a != a ? a : b);
}

/* The element of x, broadcast to r, that stands at place i of r. */
static int64_t place_in(const struct doubles *x, const struct doubles *r, int64_t i) {
    int64_t at = 0, pitch = 1;
    for (int32_t axis = r->rank - 1, k = x->rank - 1; k >= 0; axis--, k--) {
        at += x->dims[k] == 1 ? 0 : i % r->dims[axis] * pitch;
        pitch *= x->dims[k];
        i /= r->dims[axis];
    }
    return at;
}

static bool binary(struct ipex_import *import) {
    struct doubles a, b;
    int64_t dims[IPEX_MAX_RANK], count = 1;
    int32_t rank = 0;
    if (import->node->inputs != 2 || !load(import, 0, &a) || !load(import, 1, &b))
        return false;
    for (size_t i = 0; i < 2; i++)
        if (!ipex_import_broadcast(import, ipex_import_in(import, i), &rank, dims))
            return true; /* refused */
    for (int32_t i = 0; i < rank; i++)
        if ((count *= dims[i]) > MAX_ELEMENTS)
            return false;
    struct doubles r = make(import, rank, dims, count);
    for (int64_t i = 0; i < count; i++)
        r.v[i] = apply(import->node->op_type, a.v[place_in(&a, &r, i)], b.v[place_in(&b, &r, i)]);
    return store(import, &r);
}

static bool range(struct ipex_import *import) {
    struct doubles v[3];
    for (size_t i = 0; i < 3; i++)
        if (!load(import, i, &v[i]) || v[i].count != 1)
            return false;
    const double start = *v[0].v, step = *v[2].v, count = ceil((*v[1].v - start) / step);
    if (!(count >= 1 && count <= MAX_ELEMENTS))
        return false;
    const int64_t n = (int64_t)count;
    struct doubles r = make(import, 1, &n, n);
    for (int64_t i = 0; i < n; i++)
        r.v[i] = start + (double)i * step;
    return store(import, &r);
}

/* Along axis 0: one behind the other. */
static bool concat(struct ipex_import *import) {
    struct doubles x, r = {0};
    int64_t count = 0, lines = 0;
    for (size_t i = 0; i < import->node->inputs; i++) {
        if (!load(import, i, &x) || x.rank < 1 || (i && x.rank != r.rank))
            return false;
        for (int32_t k = 1; i && k < x.rank; k++)
            if (x.dims[k] != r.dims[k])
                return false;
        r = x;
        lines += x.dims[0];
        if ((count += x.count) > MAX_ELEMENTS)
            return false;
    }
    const int64_t axis = ipex_import_int(import, "axis", 0);
    if (!import->node->inputs || (axis && axis != -r.rank))
        return false;
    r.dims[0] = lines;
    r = make(import, r.rank, r.dims, count);
    for (size_t i = 0, at = 0; i < import->node->inputs; at += (size_t)x.count, i++)
        if (load(import, i, &x) && x.count)
            memcpy(r.v + at, x.v, (size_t)x.count * sizeof *r.v);
    return store(import, &r);
}

/* Elements of a vector. */
static bool gather(struct ipex_import *import) {
    struct doubles x;
    const struct ipex_value *index = ipex_import_in(import, 1);
    if (!load(import, 0, &x) || x.rank != 1 || !index || !index->constant ||
        (index->dtype != IPEX_DTYPE_i64 && index->dtype != IPEX_DTYPE_i32) ||
        ipex_value_numel(index) > MAX_ELEMENTS)
        return false;
    struct doubles r = make(import, index->rank, index->dims, ipex_value_numel(index));
    for (int64_t i = 0; i < r.count; i++) {
        int64_t at = ipex_constant_i64(index, i);
        at += at < 0 ? x.count : 0;
        if (at < 0 || at >= x.count)
            return false;
        r.v[i] = x.v[at];
    }
    return store(import, &r);
}

/* ---- casts ---- */

/* Constants of another type. */
static bool cast_to(struct ipex_import *import) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    if (!x || !x->constant || ipex_value_numel(x) > MAX_ELEMENTS)
        return false;
    struct doubles r = make(import, x->rank, x->dims, ipex_value_numel(x));
    for (int64_t i = 0; i < r.count; i++)
        r.v[i] = x->exact ? x->exact[i] : ipex_constant_f64(x, i);
    return store(import, &r);
}

static int64_t truncated(double x) {
    return x >= -0x1p62 && x <= 0x1p62 ? (int64_t)x : 0;
}

static bool cast_from(struct ipex_import *import, enum ipex_dtype dtype) {
    struct doubles x;
    const char *name = import->node->output[0];
    struct ipex_value *given = ipex_import_in(import, 0);
    if (!dtype || !load(import, 0, &x))
        return false;
    const uint8_t *data = ipex_constant_data(given);
    const unsigned size = ipex_dtype_size(dtype);
    uint8_t *to = dtype == IPEX_DTYPE_f32
                      ? NULL
                      : ipex_arena_array(&import->graph->arena, (size_t)x.count + 1, size);
    for (int64_t i = 0; to && i < x.count; i++) {
        const int64_t n = dtype == IPEX_DTYPE_bool ? x.v[i] != 0 : truncated(x.v[i]);
        memcpy(to + (size_t)i * size, &n, size); /* little-endian: the low bytes */
    }
    ipex_import_out(
        import, 0, ipex_graph_constant(import->graph, name, dtype, x.rank, x.dims, to ? to : data));
    return true;
}

static bool cast(struct ipex_import *import) {
    const int64_t to = ipex_import_int(import, "to", 0);
    return to == IPEX_ONNX_DOUBLE ? cast_to(import) : cast_from(import, ipex_import_dtype(to));
}

static const struct {
    const char *op_type;
    bool (*eval)(struct ipex_import *import);
} evaluators[] = {
    {"Abs", unary},  {"Add", binary},  {"Cast", cast},        {"Ceil", unary},  {"Concat", concat},
    {"Cos", unary},  {"Div", binary},  {"Exp", unary},        {"Floor", unary}, {"Gather", gather},
    {"Log", unary},  {"Max", binary},  {"Min", binary},       {"Mul", binary},  {"Neg", unary},
    {"Pow", binary}, {"Range", range}, {"Reciprocal", unary}, {"Round", unary}, {"Sin", unary},
    {"Sqrt", unary}, {"Sub", binary},
};

bool ipex_import_double(struct ipex_import *import) {
    for (size_t i = 0; i < sizeof evaluators / sizeof *evaluators; i++)
        if (!strcmp(evaluators[i].op_type, import->node->op_type))
            return evaluators[i].eval(import);
    return false;
}

/* ---- what only moves ---- */

void ipex_import_double_moved(struct ipex_import *import) {
    static const char *const movers[] = {"Expand", "Flatten", "Reshape", "Squeeze", "Unsqueeze"};
    struct ipex_value *y = ipex_import_result(import, 0);
    const double *exact = exact_input(import, 0);
    bool moves = false;
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
        moves |= !strcmp(movers[i], import->node->op_type);
    if (!moves || !exact || !y || !y->constant || y->exact || y->dtype != IPEX_DTYPE_f32)
        return;
    const int64_t count = ipex_value_numel(y), had = ipex_value_numel(ipex_import_in(import, 0));
    if (count == had) {
        y->exact = exact;
    } else if (had == 1 && count <= MAX_ELEMENTS) {
        double *same = ipex_arena_array(&import->graph->arena, (size_t)count + 1, sizeof *same);
        for (int64_t i = 0; i < count; i++)
            same[i] = *exact;
        y->exact = same;
    }
}
