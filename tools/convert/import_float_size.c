/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes in floats: a model scales a size in f32 or f64 and casts what it gets back to an integer,
 * or counts up to a size in f32. Single floats are computed at run time like any data, and what
 * they are of sizes is kept beside them (ipex_value.floats): a dim, or a dim times or divided by a
 * constant and rounded once. Rounding that to an integer is the expression of some fraction p/q
 * where trying all numbers that the dim can be shows that the float's rounding changes nothing. */
#include "tools/convert/import_float_size.h"

#include <math.h>
#include <string.h>

#define MAX_ELEMENTS 64        /* a shape has fewer */
#define MAX_TRIED    (1 << 20) /* numbers that a dim can be */
#define MAX_NUMBER   (INT64_C(1) << 32)
#define MAX_DIVISOR  1024 /* q */

/* A scalar or a vector. */
struct floats {
    int32_t rank;
    int64_t count;
    struct ipex_float_size v[MAX_ELEMENTS];
};

static const struct ipex_float_size unknown = {.dim = IPEX_DIM_NONE};

static bool is_whole(const struct ipex_float_size *f) {
    return f->factor == 1 && !f->divided;
}

/* A dim as a float, where all that it can be are floats. */
static struct ipex_float_size whole(struct ipex_dims *dims, int64_t dim, bool wide) {
    const int64_t most = INT64_C(1) << (wide ? 53 : 24);
    int64_t lo, hi;
    ipex_dim_range(dims, dim, &lo, &hi);
    return dim != IPEX_DIM_NONE && lo >= -most && hi <= most
               ? (struct ipex_float_size){.dim = dim, .factor = 1, .wide = wide}
               : unknown;
}

/* A whole number is that; any other constant is 1 times it. */
static struct ipex_float_size constant(struct ipex_dims *dims, double value, bool wide) {
    if (value == floor(value) && fabs(value) <= 0x1p53)
        return whole(dims, ipex_dim_of(dims, (int64_t)value), wide);
    return (struct ipex_float_size){.dim = 1, .factor = value, .wide = wide};
}

/* ---- operands ---- */

/* Numbers of elements that are known and few. */
static bool is_small(const struct ipex_value *x) {
    return x->rank == 0 || (x->rank == 1 && x->dims[0] >= 0 && x->dims[0] <= MAX_ELEMENTS);
}

static bool load_value(struct ipex_import *import, const struct ipex_value *x, struct floats *ret) {
    if (!x || x->dtype != IPEX_DTYPE_f32 || !is_small(x) || (!x->floats && !x->constant))
        return false;
    *ret = (struct floats){.rank = x->rank, .count = ipex_value_numel(x)};
    for (int64_t i = 0; i < ret->count; i++)
        ret->v[i] = x->floats  ? x->floats[i]
                    : x->exact ? constant(&import->graph->dims, x->exact[i], true)
                               : constant(&import->graph->dims, ipex_constant_f64(x, i), false);
    return true;
}

static bool load(struct ipex_import *import, size_t i, struct floats *ret) {
    return load_value(import, ipex_import_in(import, i), ret);
}

/* ---- rounding ---- */

/* What the model computes where the dim is n. */
static double value_at(const struct ipex_float_size *f, int64_t n) {
    if (f->wide)
        return f->divided ? (double)n / f->factor : (double)n * f->factor;
    return f->divided ? (float)n / (float)f->factor : (float)n * (float)f->factor;
}

/* The fraction of the smallest divisor that a factor can be meant to be. */
static bool fraction(double factor, int64_t *ret_p, int64_t *ret_q) {
    for (int64_t q = 1; q <= MAX_DIVISOR; q++) {
        const double p = rint(factor * (double)q);
        if (p < 1 || fabs(p / (double)q - factor) > factor * 0x1p-22)
            continue;
        *ret_p = (int64_t)p;
        *ret_q = q;
        return true;
    }
    return false;
}

/* The dim that rounding by this function gives, for sizes from 0 on; IPEX_DIM_NONE where that is
 * not known. */
static int64_t rounded(struct ipex_dims *dims, const struct ipex_float_size *f,
                       double (*function)(double x)) {
    const double factor = f->divided ? 1 / f->factor : f->factor;
    const bool up = function == ceil;
    int64_t lo, hi, p, q;
    if (f->dim == IPEX_DIM_NONE || is_whole(f))
        return f->dim;
    ipex_dim_range(dims, f->dim, &lo, &hi);
    if (lo < 0 || hi > MAX_NUMBER || hi - lo > MAX_TRIED ||
        !(factor > 0x1p-20 && factor < 0x1p20) || !fraction(factor, &p, &q))
        return IPEX_DIM_NONE;
    for (int64_t n = lo; n <= hi; n++)
        if (function(value_at(f, n)) != (double)((n * p + (up ? q - 1 : 0)) / q))
            return IPEX_DIM_NONE;
    int64_t product = ipex_dim_mul(dims, f->dim, p);
    product = up ? ipex_dim_add(dims, product, q - 1) : product;
    return ipex_dim_floor_div(dims, product, q);
}

/* ---- operators ---- */

static struct ipex_float_size times(struct ipex_dims *dims, const struct ipex_float_size *a,
                                    const struct ipex_float_size *b) {
    if (is_whole(a) && is_whole(b))
        return whole(dims, ipex_dim_mul(dims, a->dim, b->dim), a->wide);
    if (is_whole(b)) {
        const struct ipex_float_size *swap = a;
        a = b;
        b = swap;
    }
    return is_whole(a) && b->dim == 1 && !b->divided
               ? (struct ipex_float_size){a->dim, b->factor, .wide = a->wide}
               : unknown;
}

static struct ipex_float_size over(struct ipex_dims *dims, const struct ipex_float_size *a,
                                   const struct ipex_float_size *b) {
    int64_t n = 0;
    if (!is_whole(a))
        return unknown;
    const int64_t quotient = is_whole(b) ? ipex_dim_exact_div(dims, a->dim, b->dim) : IPEX_DIM_NONE;
    if (quotient != IPEX_DIM_NONE)
        return whole(dims, quotient, a->wide);
    const bool number = is_whole(b) && ipex_dim_number(dims, b->dim, &n);
    if (!number && (is_whole(b) || b->dim != 1 || b->divided))
        return unknown;
    return (struct ipex_float_size){a->dim, number ? (double)n : b->factor, true, a->wide};
}

static struct ipex_float_size apply(struct ipex_dims *dims, const char *op,
                                    const struct ipex_float_size *a,
                                    const struct ipex_float_size *b) {
    if (a->dim == IPEX_DIM_NONE || b->dim == IPEX_DIM_NONE || a->wide != b->wide)
        return unknown;
    if (!strcmp(op, "Mul"))
        return times(dims, a, b);
    if (!strcmp(op, "Div"))
        return over(dims, a, b);
    if (!is_whole(a) || !is_whole(b))
        return unknown;
    return whole(dims,
                 !strcmp(op, "Add")   ? ipex_dim_add(dims, a->dim, b->dim)
                 : !strcmp(op, "Sub") ? ipex_dim_sub(dims, a->dim, b->dim)
                 : !strcmp(op, "Min") ? ipex_dim_min(dims, a->dim, b->dim)
                                      : ipex_dim_max(dims, a->dim, b->dim),
                 a->wide);
}

static bool binary(struct ipex_import *import, struct floats *r) {
    struct floats a, b;
    if (import->node->inputs != 2 || !load(import, 0, &a) || !load(import, 1, &b) ||
        (a.count != b.count && a.count != 1 && b.count != 1))
        return false;
    r->rank = a.rank > b.rank ? a.rank : b.rank;
    r->count = a.count == 1 ? b.count : a.count;
    for (int64_t i = 0; i < r->count; i++)
        r->v[i] = apply(&import->graph->dims, import->node->op_type, &a.v[a.count == 1 ? 0 : i],
                        &b.v[b.count == 1 ? 0 : i]);
    return true;
}

static bool to_whole(struct ipex_import *import, struct floats *r) {
    struct ipex_dims *dims = &import->graph->dims;
    if (!load(import, 0, r))
        return false;
    for (int64_t i = 0; i < r->count; i++)
        r->v[i] = whole(dims, rounded(dims, &r->v[i], *import->node->op_type == 'C' ? ceil : floor),
                        r->v[i].wide);
    return true;
}

/* Of integers, or of floats: what is no whole number was rounded to its width, and is not known in
 * another. */
static bool cast(struct ipex_import *import, struct floats *r) {
    struct ipex_value *x = ipex_import_in(import, 0);
    const int64_t to = ipex_import_int(import, "to", 0);
    const bool wide = to == IPEX_ONNX_DOUBLE;
    if (!x || (to != IPEX_ONNX_FLOAT && !wide))
        return false;
    const int64_t *known =
        x->dtype != IPEX_DTYPE_f32 && is_small(x) ? ipex_import_known(import, x) : NULL;
    if (!known && !load_value(import, x, r))
        return false;
    if (known)
        *r = (struct floats){.rank = x->rank, .count = ipex_value_numel(x)};
    for (int64_t i = 0; i < r->count; i++)
        if (known || is_whole(&r->v[i]))
            r->v[i] = whole(&import->graph->dims, known ? known[i] : r->v[i].dim, wide);
        else if (r->v[i].wide != wide)
            r->v[i] = unknown;
    return true;
}

static bool same(struct ipex_import *import, struct floats *r) {
    return load(import, 0, r);
}

/* A scalar as a vector of one, and back. */
static bool unsqueeze(struct ipex_import *import, struct floats *r) {
    if (!load(import, 0, r) || r->rank)
        return false;
    r->rank = 1;
    return true;
}
static bool squeeze(struct ipex_import *import, struct floats *r) {
    if (!load(import, 0, r) || r->rank != 1 || r->count != 1)
        return false;
    r->rank = 0;
    return true;
}

static bool concat(struct ipex_import *import, struct floats *r) {
    struct floats x;
    *r = (struct floats){.rank = 1};
    for (size_t i = 0; i < import->node->inputs; i++) {
        if (!load(import, i, &x) || x.rank != 1 || r->count + x.count > MAX_ELEMENTS)
            return false;
        memcpy(r->v + r->count, x.v, (size_t)x.count * sizeof *x.v);
        r->count += x.count;
    }
    return r->count > 0;
}

/* One element of a vector. */
static bool gather(struct ipex_import *import, struct floats *r) {
    const struct ipex_value *index = ipex_import_in(import, 1);
    struct floats x;
    if (!load(import, 0, &x) || x.rank != 1 || !index || !index->constant || index->rank > 1 ||
        (index->dtype != IPEX_DTYPE_i64 && index->dtype != IPEX_DTYPE_i32) ||
        ipex_value_numel(index) != 1)
        return false;
    int64_t at = ipex_constant_i64(index, 0);
    at += at < 0 ? x.count : 0;
    if (at < 0 || at >= x.count)
        return false;
    *r = (struct floats){.rank = index->rank, .count = 1, .v[0] = x.v[at]};
    return true;
}

static const struct {
    const char *op_type;
    bool (*eval)(struct ipex_import *import, struct floats *r);
} evaluators[] = {
    {"Add", binary}, {"Cast", cast},           {"Ceil", to_whole}, {"Concat", concat},
    {"Div", binary}, {"Floor", to_whole},      {"Gather", gather}, {"Identity", same},
    {"Max", binary}, {"Min", binary},          {"Mul", binary},    {"Squeeze", squeeze},
    {"Sub", binary}, {"Unsqueeze", unsqueeze},
};

/* What the current node's result is of sizes; false where nothing is known. */
static bool evaluate(struct ipex_import *import, struct floats *r) {
    bool known = false;
    *r = (struct floats){.rank = 0};
    for (size_t i = 0; i < sizeof evaluators / sizeof *evaluators; i++)
        if (!*import->node->domain && !strcmp(evaluators[i].op_type, import->node->op_type))
            known = evaluators[i].eval(import, r);
    return known;
}

static struct ipex_float_size *kept(struct ipex_import *import, const struct floats *r) {
    struct ipex_float_size *v =
        ipex_arena_array(&import->graph->arena, (size_t)r->count + 1, sizeof *v);
    memcpy(v, r->v, (size_t)r->count * sizeof *v);
    return v;
}

/* ---- for the importer ---- */

bool ipex_import_whole_size(struct ipex_import *import, const struct ipex_value *value,
                            int64_t *ret) {
    struct floats f;
    if (!load_value(import, value, &f) || f.count != 1 || f.v[0].dim == IPEX_DIM_NONE ||
        !is_whole(&f.v[0]))
        return false;
    *ret = f.v[0].dim;
    return true;
}

int64_t *ipex_import_cast_sizes(struct ipex_import *import, const struct ipex_value *value) {
    struct floats f;
    if (!value->floats || !load_value(import, value, &f))
        return NULL;
    int64_t *v = ipex_arena_array(&import->graph->arena, (size_t)f.count + 1, sizeof *v);
    for (int64_t i = 0; i < f.count; i++)
        if ((v[i] = rounded(&import->graph->dims, &f.v[i], trunc)) == IPEX_DIM_NONE)
            return NULL;
    return v;
}

void ipex_import_float_sizes(struct ipex_import *import) {
    struct ipex_value *y = ipex_import_result(import, 0);
    struct floats r;
    if (!y || y->constant || y->dtype != IPEX_DTYPE_f32 || !is_small(y))
        return;
    const bool known = evaluate(import, &r) && r.rank == y->rank;
    if (!known && strcmp(import->node->op_type, "Cast"))
        return;
    /* a cast that does nothing at run time gives its operand, of another width or to half precision
     */
    for (int64_t i = 0; known && y->floats && i < r.count; i++)
        r.v[i] = r.v[i].wide == y->floats[i].wide ? r.v[i] : unknown;
    y->floats = known ? kept(import, &r) : NULL;
}
