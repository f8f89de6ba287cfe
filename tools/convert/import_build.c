/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of nodes for ONNX operators that are made of several simpler ones. */
#include "tools/convert/import_build.h"

#include <string.h>

static const char *result_name(const struct ipex_import *import) {
    return import->node->outputs ? import->node->output[0] : import->label;
}

static struct ipex_value *finish(struct ipex_import *import, struct ipex_node *node,
                                 enum ipex_dtype dtype, int32_t rank, const int64_t *dims) {
    ipex_node_set_output(node,
                         ipex_graph_value(import->graph, result_name(import), dtype, rank, dims));
    return node->output;
}

void ipex_build_out(struct ipex_import *import, size_t i, struct ipex_value *y) {
    if (y)
        ipex_import_out(import, i, y);
}

/* ---- elementwise ---- */

static struct ipex_value *one_step(struct ipex_import *import, enum ipex_step step,
                                   struct ipex_value *a, struct ipex_value *b,
                                   const float *number) {
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = 0;
    if (!a || !ipex_import_broadcast(import, a, &rank, dims) ||
        (b && !ipex_import_broadcast(import, b, &rank, dims)))
        return NULL;
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_pointwise);
    struct ipex_program *p = node->u.program = ipex_arena_alloc(&import->graph->arena, sizeof *p);
    p->steps = 1;
    p->step[0].op = (int16_t)step;
    p->step[0].b = b ? 1 : number ? -1 : 0;
    if (number)
        p->constant[p->constants++] = *number;
    ipex_node_add_input(node, a);
    if (b)
        ipex_node_add_input(node, b);
    return finish(import, node, IPEX_DTYPE_f32, rank, dims);
}

struct ipex_value *ipex_build_unary(struct ipex_import *import, enum ipex_step step,
                                    struct ipex_value *x) {
    return one_step(import, step, x, NULL, NULL);
}

struct ipex_value *ipex_build_binary(struct ipex_import *import, enum ipex_step step,
                                     struct ipex_value *a, struct ipex_value *b) {
    return a && b ? one_step(import, step, a, b, NULL) : NULL;
}

struct ipex_value *ipex_build_with(struct ipex_import *import, enum ipex_step step,
                                   struct ipex_value *x, float number) {
    return one_step(import, step, x, NULL, &number);
}

struct ipex_value *ipex_build_swish(struct ipex_import *import, struct ipex_value *x, float alpha) {
    struct ipex_value *gate = alpha == 1 ? x : ipex_build_with(import, IPEX_STEP_mul, x, alpha);
    return ipex_build_binary(import, IPEX_STEP_mul, x,
                             ipex_build_unary(import, IPEX_STEP_sigmoid, gate));
}

static struct ipex_value *elementwise(struct ipex_import *import, enum ipex_op op,
                                      enum ipex_dtype dtype, int64_t kind, size_t count,
                                      struct ipex_value *const *x) {
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = 0;
    for (size_t i = 0; i < count; i++)
        if (!x[i] || !ipex_import_broadcast(import, x[i], &rank, dims))
            return NULL;
    struct ipex_node *node =
        ipex_import_plan(import, op, IPEX_ORDER_elementwise, dtype, rank, dims, false);
    for (size_t i = 0; i < count; i++)
        ipex_node_add_input(node, x[i]);
    node->u.plan.ints = kind >= 0;
    node->u.plan.int_[0] = kind >= 0 ? kind : 0;
    return node->output;
}

struct ipex_value *ipex_build_compare(struct ipex_import *import, enum ipex_compare kind,
                                      struct ipex_value *a, struct ipex_value *b) {
    struct ipex_value *const x[] = {a, b};
    return elementwise(import, IPEX_OP_compare, IPEX_DTYPE_bool, kind, 2, x);
}

struct ipex_value *ipex_build_where(struct ipex_import *import, struct ipex_value *condition,
                                    struct ipex_value *a, struct ipex_value *b) {
    struct ipex_value *const x[] = {condition, a, b};
    return a ? elementwise(import, IPEX_OP_where, a->dtype, -1, 3, x) : NULL;
}

struct ipex_value *ipex_build_integer(struct ipex_import *import, enum ipex_integer kind,
                                      struct ipex_value *a, struct ipex_value *b) {
    struct ipex_value *const x[] = {a, b};
    const bool unary = kind == IPEX_INTEGER_neg || kind == IPEX_INTEGER_abs;
    return a ? elementwise(import, IPEX_OP_integer, a->dtype, kind, unary ? 1 : 2, x) : NULL;
}

static struct ipex_value *constant_f32(struct ipex_import *import, const struct ipex_value *x) {
    int64_t count = ipex_value_numel(x);
    float *data = ipex_arena_array(&import->graph->arena, (size_t)count + 1, sizeof *data);
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)ipex_constant_f64(x, i);
    return ipex_graph_constant(import->graph, x->name, IPEX_DTYPE_f32, x->rank, x->dims, data);
}

struct ipex_value *ipex_build_cast(struct ipex_import *import, struct ipex_value *x,
                                   enum ipex_dtype dtype) {
    if (!x || x->dtype == dtype)
        return x;
    if (x->constant && dtype == IPEX_DTYPE_f32)
        return constant_f32(import, x);
    if (x->whole && dtype == IPEX_DTYPE_f32)
        return x->whole;
    return elementwise(import, IPEX_OP_cast, dtype, -1, 1, &x);
}

struct ipex_value *ipex_build_chosen(struct ipex_import *import, size_t i) {
    const struct ipex_value *x = ipex_import_in(import, i);
    return x && (x->dtype == IPEX_DTYPE_u8 || x->dtype == IPEX_DTYPE_i8)
               ? ipex_build_cast(import, ipex_import_any(import, i), IPEX_DTYPE_f32)
               : ipex_import_f32(import, i);
}

struct ipex_value *ipex_build_whole(struct ipex_import *import, struct ipex_value *x,
                                    enum ipex_dtype dtype) {
    struct ipex_value *y = ipex_build_cast(import, x, dtype);
    if (y && y != x)
        y->whole = x;
    return y;
}

/* ---- along axes ---- */

struct ipex_value *ipex_build_reduce(struct ipex_import *import, enum ipex_reduce kind,
                                     struct ipex_value *x, uint32_t axes) {
    int64_t dims[IPEX_MAX_RANK];
    if (!x || !axes)
        return x;
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = axes >> i & 1 ? 1 : x->dims[i];
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_reduce);
    node->u.reduce.kind = kind;
    node->u.reduce.axes = axes;
    ipex_node_add_input(node, x);
    return finish(import, node, IPEX_DTYPE_f32, x->rank, dims);
}

struct ipex_value *ipex_build_reduced_none(struct ipex_import *import, const struct ipex_value *x,
                                           uint32_t axes, struct ipex_value *number) {
    int64_t dims[IPEX_MAX_RANK];
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = axes >> i & 1 ? 1 : x->dims[i];
    return ipex_build_expand(import, number, x->rank, dims);
}

struct ipex_value *ipex_build_every(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                                    int64_t start, int64_t count, int64_t step) {
    int64_t dims[IPEX_MAX_RANK];
    if (!x)
        return NULL;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = count;
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_slice);
    for (int32_t i = 0; i < x->rank; i++)
        node->u.slice.step[i] = i == axis ? step : 1;
    node->u.slice.start[axis] = start;
    ipex_node_add_input(node, x);
    return finish(import, node, x->dtype, x->rank, dims);
}

struct ipex_value *ipex_build_slice(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                                    int64_t start, int64_t count) {
    return ipex_build_every(import, x, axis, start, count, 1);
}

struct ipex_value *ipex_build_zeros(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                                    int64_t before, int64_t after) {
    int64_t dims[IPEX_MAX_RANK];
    if (!x || before + after == 0)
        return x;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = ipex_dim_add(&import->graph->dims, dims[axis], before + after);
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_pad);
    node->u.pad.before[axis] = before;
    node->u.pad.after[axis] = after;
    ipex_node_add_input(node, x);
    return finish(import, node, x->dtype, x->rank, dims);
}

struct ipex_value *ipex_build_apart(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                                    int64_t stride) {
    int64_t one[IPEX_MAX_RANK + 1], all[IPEX_MAX_RANK];
    if (!x || stride == 1)
        return x;
    const int32_t rank = x->rank;
    for (int32_t i = 0; i <= rank; i++)
        one[i] = i <= axis ? x->dims[i] : i == axis + 1 ? 1 : x->dims[i - 1];
    memcpy(all, x->dims, sizeof all);
    all[axis] = ipex_dim_mul(&import->graph->dims, x->dims[axis], stride);
    x = ipex_build_reshape(import, x, rank + 1, one);
    return ipex_build_reshape(import, ipex_build_zeros(import, x, axis + 1, 0, stride - 1), rank,
                              all);
}

struct ipex_value *ipex_build_overlapped(struct ipex_import *import, int64_t count,
                                         struct ipex_value *const *x, int32_t axis, int64_t apart,
                                         int64_t cut, int64_t out) {
    struct ipex_dims *dims = &import->graph->dims;
    const int64_t last = (count - 1) * apart;
    struct ipex_value *sum = NULL;
    int64_t beyond;
    if (!x[0])
        return NULL;
    const int64_t reached = ipex_dim_add(dims, x[0]->dims[axis], last);
    if (!ipex_dim_number(dims, ipex_dim_sub(dims, ipex_dim_add(dims, out, cut), reached),
                         &beyond)) {
        ipex_import_refuse(import, "how far its parts reach depends on %s",
                           ipex_import_text(import, out));
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        struct ipex_value *y = ipex_build_zeros(import, x[i], axis, i * apart,
                                                last - i * apart + (beyond > 0 ? beyond : 0));
        sum = i ? ipex_build_binary(import, IPEX_STEP_add, sum, y) : y;
    }
    return cut == 0 && beyond >= 0 ? sum : ipex_build_slice(import, sum, axis, cut, out);
}

struct ipex_value *ipex_build_reshape(struct ipex_import *import, struct ipex_value *x,
                                      int32_t rank, const int64_t *dims) {
    return x ? ipex_import_reshape(import, x, result_name(import), rank, dims) : NULL;
}

struct ipex_value *ipex_build_expand(struct ipex_import *import, struct ipex_value *x, int32_t rank,
                                     const int64_t *dims) {
    if (!x)
        return NULL;
    struct ipex_node *node =
        ipex_import_plan(import, IPEX_OP_expand, IPEX_ORDER_logical, x->dtype, rank, dims, false);
    ipex_node_add_input(node, x);
    return node->output;
}

struct ipex_value *ipex_build_gather(struct ipex_import *import, struct ipex_value *data,
                                     struct ipex_value *indices, int64_t axis) {
    int64_t dims[2 * IPEX_MAX_RANK];
    int32_t rank = 0;
    if (!data || !indices)
        return NULL;
    for (int32_t i = 0; i < axis; i++)
        dims[rank++] = data->dims[i];
    for (int32_t i = 0; i < indices->rank; i++)
        dims[rank++] = indices->dims[i];
    for (int32_t i = (int32_t)axis + 1; i < data->rank; i++)
        dims[rank++] = data->dims[i];
    if (rank > IPEX_MAX_RANK) {
        ipex_import_refuse(import, "the result has rank %d, at most 8 is supported", rank);
        return NULL;
    }
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_gather, IPEX_ORDER_logical,
                                              data->dtype, rank, dims, false);
    ipex_node_add_input(node, data);
    ipex_node_add_input(node, indices);
    node->u.plan.ints = 1;
    node->u.plan.int_[0] = axis;
    return node->output;
}

/* Of matrices, or stacks of them with equal or absent leading dims. */
struct ipex_value *ipex_build_matmul(struct ipex_import *import, struct ipex_value *a,
                                     struct ipex_value *b) {
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = 0;
    if (!a || !b)
        return NULL;
    if (a->rank < 2 || b->rank < 2 || a->dims[a->rank - 1] != b->dims[b->rank - 2]) {
        ipex_import_refuse(import, "the shapes of %s and %s do not fit", a->name, b->name);
        return NULL;
    }
    struct ipex_value a_batch = *a, b_batch = *b;
    a_batch.rank -= 2;
    b_batch.rank -= 2;
    if (!ipex_import_broadcast(import, &a_batch, &rank, dims) ||
        !ipex_import_broadcast(import, &b_batch, &rank, dims))
        return NULL;
    dims[rank++] = a->dims[a->rank - 2];
    dims[rank++] = b->dims[b->rank - 1];
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_matmul, IPEX_ORDER_logical,
                                              IPEX_DTYPE_f32, rank, dims, false);
    ipex_node_add_input(node, a);
    ipex_node_add_input(node, b);
    node->u.plan.ints = IPEX_MATMUL_INTS;
    node->u.plan.floats = IPEX_MATMUL_FLOATS;
    node->u.plan.float_[IPEX_MATMUL_SCALE] = 1;
    return node->output;
}

struct ipex_value *ipex_build_linear(struct ipex_import *import, struct ipex_value *x,
                                     struct ipex_value *w, bool kn) {
    int64_t dims[IPEX_MAX_RANK];
    if (!x || !w)
        return NULL;
    if (x->rank < 1 || w->rank != 2 || x->dims[x->rank - 1] != w->dims[kn ? 0 : 1]) {
        ipex_import_refuse(import, "the shapes of %s and %s do not fit", x->name, w->name);
        return NULL;
    }
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = w->dims[kn ? 1 : 0];
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_linear);
    ipex_node_add_input(node, x);
    ipex_node_add_input(node, w);
    node->weight_kn = kn;
    node->fold.n = dims[x->rank - 1];
    return finish(import, node, IPEX_DTYPE_f32, x->rank, dims);
}

/* ---- axes in another order ---- */

struct ipex_value *ipex_build_transpose(struct ipex_import *import, struct ipex_value *x,
                                        const int32_t *perm) {
    return x ? ipex_import_transpose(import, x, result_name(import), perm) : NULL;
}

struct ipex_value *ipex_build_moved(struct ipex_import *import, struct ipex_value *x, int32_t from,
                                    int32_t to) {
    int32_t perm[IPEX_MAX_RANK] = {0};
    if (!x || from == to)
        return x;
    for (int32_t i = 0; i < x->rank; i++)
        perm[i] = i == to                            ? from
                  : from < to && i >= from && i < to ? i + 1
                  : from > to && i > to && i <= from ? i - 1
                                                     : i;
    return ipex_build_transpose(import, x, perm);
}

struct ipex_value *ipex_build_turned(struct ipex_import *import, struct ipex_value *x) {
    int32_t perm[IPEX_MAX_RANK];
    if (!x || x->rank < 2)
        return x;
    for (int32_t i = 0, rank = x->rank; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return ipex_build_transpose(import, x, perm);
}

struct ipex_value *ipex_build_concat(struct ipex_import *import, int32_t axis, int32_t count,
                                     struct ipex_value *const *x) {
    int64_t dims[IPEX_MAX_RANK], total = 0;
    for (int32_t i = 0; i < count; i++) {
        if (!x[i])
            return NULL;
        total = ipex_dim_add(&import->graph->dims, total, x[i]->dims[axis]);
    }
    memcpy(dims, x[0]->dims, sizeof dims);
    dims[axis] = total;
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_concat);
    node->u.axis = axis;
    node->concat_input = ipex_arena_array(&import->graph->arena, (size_t)count, sizeof *x);
    for (int32_t i = 0; i < count; i++)
        ipex_node_add_input(node, x[i]);
    return finish(import, node, x[0]->dtype, x[0]->rank, dims);
}

/* ---- rows ---- */

struct ipex_value *ipex_build_softmax(struct ipex_import *import, struct ipex_value *x,
                                      int32_t axis) {
    if (!x)
        return NULL;
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_softmax);
    node->u.axis = axis;
    ipex_node_add_input(node, x);
    return finish(import, node, IPEX_DTYPE_f32, x->rank, x->dims);
}

struct ipex_value *ipex_build_layer_norm(struct ipex_import *import, struct ipex_value *x,
                                         struct ipex_value *gamma, struct ipex_value *beta,
                                         float eps, int64_t kind) {
    struct ipex_value *const parameter[] = {gamma, beta};
    if (!x)
        return NULL;
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_layer_norm, IPEX_ORDER_rows,
                                              IPEX_DTYPE_f32, x->rank, x->dims, false);
    ipex_node_add_input(node, x);
    for (size_t i = 0; i < 2; i++)
        if (parameter[i])
            ipex_node_add_input(node, parameter[i]);
    node->u.plan.ints = 2;
    node->u.plan.int_[0] = kind;
    node->u.plan.floats = 3;
    node->u.plan.float_[0] = eps;
    return node->output;
}

/* ---- constants ---- */

static void put_number(void *at, enum ipex_dtype dtype, double value) {
    if (dtype == IPEX_DTYPE_f32) {
        const float f = (float)value; /* may be infinite, which no integer holds */
        memcpy(at, &f, sizeof f);
    } else {
        const int64_t n = (int64_t)value;
        memcpy(at, &n, ipex_dtype_size(dtype)); /* little-endian: the low bytes */
    }
}

struct ipex_value *ipex_build_number(struct ipex_import *import, enum ipex_dtype dtype,
                                     double value) {
    void *data = ipex_arena_alloc(&import->graph->arena, sizeof(int64_t));
    put_number(data, dtype, value);
    return ipex_graph_constant(import->graph, result_name(import), dtype, 0, NULL, data);
}

struct ipex_value *ipex_build_part(struct ipex_import *import, const struct ipex_value *x,
                                   int64_t from, int32_t rank, const int64_t *dims) {
    int64_t count = 1;
    for (int32_t i = 0; i < rank; i++)
        count *= dims[i];
    float *data = ipex_arena_array(&import->graph->arena, (size_t)count, sizeof *data);
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)ipex_constant_f64(x, from + i);
    return ipex_graph_constant(import->graph, x->name, IPEX_DTYPE_f32, rank, dims, data);
}

struct ipex_value *ipex_build_arg(struct ipex_import *import, struct ipex_value *x, bool largest,
                                  bool last) {
    int64_t dims[IPEX_MAX_RANK];
    if (!x)
        return NULL;
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = 1;
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_arg, IPEX_ORDER_logical,
                                              IPEX_DTYPE_i64, x->rank, dims, false);
    ipex_node_add_input(node, x);
    node->u.plan.ints = 2;
    node->u.plan.int_[IPEX_ARG_LARGEST] = largest;
    node->u.plan.int_[IPEX_ARG_LAST] = last;
    return node->output;
}

struct ipex_value *ipex_build_count(struct ipex_import *import, enum ipex_dtype dtype, int64_t n,
                                    int64_t step, int32_t rank, int32_t axis) {
    int64_t dims[IPEX_MAX_RANK], least, most;
    const unsigned size = ipex_dtype_size(dtype);
    ipex_dim_range(&import->graph->dims, n, &least, &most);
    if (most > IPEX_BUILD_MAX) {
        ipex_import_refuse(import, "%lld elements along one axis; at most %d are supported",
                           (long long)most, IPEX_BUILD_MAX);
        return NULL;
    }
    uint8_t *data = ipex_arena_array(&import->graph->arena, (size_t)most, size);
    for (int32_t i = 0; i < rank; i++)
        dims[i] = i == axis ? most : 1;
    for (int64_t i = 0; i < most; i++) {
        const int64_t value = i * step;
        memcpy(data + (size_t)i * size, &value, size);
    }
    struct ipex_value *all =
        ipex_graph_constant(import->graph, result_name(import), dtype, rank, dims, data);
    return n == most ? all : ipex_build_slice(import, all, axis, 0, n);
}

/* The element at `dim` of 0, 1, 2 ...; of a dim that may be negative, what it is above its lowest
 * and that. */
struct ipex_value *ipex_build_size(struct ipex_import *import, enum ipex_dtype dtype, int64_t dim) {
    int64_t number, least, most;
    if (ipex_dim_number(&import->graph->dims, dim, &number))
        return ipex_build_number(import, dtype, (double)number);
    ipex_dim_range(&import->graph->dims, dim, &least, &most);
    if (least < -IPEX_BUILD_MAX) {
        ipex_import_refuse(import, "%s may be too far below zero", ipex_import_text(import, dim));
        return NULL;
    }
    if (least < 0) {
        const int64_t lowest = ipex_dim_of(&import->graph->dims, least);
        struct ipex_value *above =
            ipex_build_size(import, dtype, ipex_dim_sub(&import->graph->dims, dim, lowest));
        return above ? ipex_build_integer(import, IPEX_INTEGER_add, above,
                                          ipex_build_number(import, dtype, (double)least))
                     : NULL;
    }
    struct ipex_value *count =
        ipex_build_count(import, dtype, most < IPEX_BUILD_MAX ? most + 1 : most, 1, 1, 0);
    return ipex_build_reshape(import, ipex_build_slice(import, count, 0, dim, 1), 0, NULL);
}

/* ---- short chains ---- */

struct ipex_value *ipex_build_log_softmax(struct ipex_import *import, struct ipex_value *x,
                                          int32_t axis) {
    struct ipex_value *top = ipex_build_reduce(import, IPEX_REDUCE_max, x, 1u << axis);
    struct ipex_value *below = ipex_build_binary(import, IPEX_STEP_sub, x, top);
    struct ipex_value *sum = ipex_build_reduce(
        import, IPEX_REDUCE_sum, ipex_build_unary(import, IPEX_STEP_exp, below), 1u << axis);
    return ipex_build_binary(import, IPEX_STEP_sub, below,
                             ipex_build_unary(import, IPEX_STEP_log, sum));
}

struct ipex_value *ipex_build_wrapped(struct ipex_import *import, struct ipex_value *index,
                                      int64_t n) {
    struct ipex_value *i = ipex_build_cast(import, index, IPEX_DTYPE_i64);
    struct ipex_value *zero = ipex_build_number(import, IPEX_DTYPE_i64, 0),
                      *size = ipex_build_size(import, IPEX_DTYPE_i64, n);
    return ipex_build_where(import, ipex_build_compare(import, IPEX_COMPARE_less, i, zero),
                            ipex_build_integer(import, IPEX_INTEGER_add, i, size), i);
}

/* x moved on by n along the axis, zeros moving in: from its end with `reverse`. */
static struct ipex_value *moved(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                                int64_t n, bool reverse) {
    int64_t dims[IPEX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = n;
    struct ipex_value *zeros =
        ipex_build_expand(import, ipex_build_number(import, x->dtype, 0), x->rank, dims);
    struct ipex_value *const parts[2] = {reverse ? x : zeros, reverse ? zeros : x};
    return ipex_build_slice(import, ipex_build_concat(import, axis, 2, parts), axis,
                            reverse ? n : 0, x->dims[axis]);
}

/* By doubling: after step k every element is the sum of the last 2^k. */
struct ipex_value *ipex_build_cum_sum(struct ipex_import *import, struct ipex_value *x,
                                      int32_t axis, bool exclusive, bool reverse) {
    int64_t least, most;
    ipex_dim_range(&import->graph->dims, x->dims[axis], &least, &most);
    if (exclusive)
        x = moved(import, x, axis, 1, reverse);
    for (int64_t n = 1; n < most; n *= 2)
        x = ipex_build_integer(import, IPEX_INTEGER_add, x, moved(import, x, axis, n, reverse));
    return x;
}

bool ipex_build_fixed(struct ipex_import *import, const struct ipex_value *x) {
    for (int32_t i = 0; i < x->rank; i++)
        if (x->dims[i] < 0) {
            ipex_import_refuse(import, "dim %d of %s depends on %s: a fixed size is needed", i,
                               x->name, ipex_import_text(import, x->dims[i]));
            return false;
        }
    return true;
}

bool ipex_build_scalar(struct ipex_import *import, size_t i, int64_t otherwise, int64_t *ret) {
    const struct ipex_value *x = ipex_import_in(import, i);
    *ret = otherwise;
    if (!x)
        return true;
    if (!x->constant || ipex_value_numel(x) != 1) {
        ipex_import_refuse(import, "input %zu (%s) is not a constant scalar", i, x->name);
        return false;
    }
    *ret = ipex_constant_i64(x, 0);
    return true;
}

struct ipex_value *ipex_build_image(struct ipex_import *import, struct ipex_value *x) {
    if (x->rank == 4)
        return x;
    const int64_t dims[4] = {x->dims[0], x->dims[1], 1, x->dims[2]};
    return ipex_import_reshape(import, x, x->name, 4, dims);
}

struct ipex_value *ipex_build_image_back(struct ipex_import *import, struct ipex_value *y,
                                         int32_t rank) {
    if (!y || y->rank == rank)
        return y;
    const int64_t dims[5] = {y->dims[0], y->dims[1], rank == 3 ? y->dims[3] : 1, 1, 1};
    return ipex_build_reshape(import, y, rank, dims);
}

void ipex_build_image_out(struct ipex_import *import, struct ipex_value *y, int32_t rank) {
    y = ipex_build_image_back(import, y, rank);
    if (y)
        ipex_import_out(import, 0, y);
}

void ipex_build_image_result(struct ipex_import *import, struct ipex_node *node, int32_t rank,
                             const int64_t *dims) {
    const char *name = import->node->output[0];
    ipex_node_set_output(node, ipex_graph_value(import->graph, name, IPEX_DTYPE_f32, 4, dims));
    ipex_build_image_out(import, node->output, rank);
}

/* A list attribute has n integers. False after refusing. */
static bool has_ints(struct ipex_import *import, const struct ipex_onnx_attr *attr, int n) {
    if ((int)ipex_onnx_ints(attr) == n)
        return true;
    ipex_import_refuse(import, "attribute %s has %zu values, %d are expected", attr->name,
                       ipex_onnx_ints(attr), n);
    return false;
}

bool ipex_build_spatial(struct ipex_import *import, const char *name, int n, int64_t *ret) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, name);
    if (!attr)
        return true;
    if (!has_ints(import, attr, n))
        return false;
    for (int i = 0; i < n; i++)
        ret[IPEX_SPATIAL - n + i] = attr->ints[i];
    return true;
}

bool ipex_build_pads(struct ipex_import *import, int n, int64_t *ret) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "pads");
    if (!attr)
        return true;
    if (!has_ints(import, attr, 2 * n))
        return false;
    for (int i = 0; i < n; i++) {
        ret[IPEX_SPATIAL - n + i] = attr->ints[i];
        ret[2 * IPEX_SPATIAL - n + i] = attr->ints[n + i];
    }
    return true;
}

bool ipex_build_bias_fits(struct ipex_import *import, const struct ipex_value *bias, int64_t n) {
    if (!bias || ipex_value_numel(bias) == n)
        return true;
    ipex_import_refuse(import, "the bias has %lld elements for %lld output channels",
                       (long long)ipex_value_numel(bias), (long long)n);
    return false;
}

void ipex_build_bias(struct ipex_import *import, struct ipex_node *layer,
                     const struct ipex_value *bias, int64_t n) {
    layer->fold.n = n;
    if (!bias)
        return;
    layer->fold.bias = ipex_arena_array(&import->graph->arena, (size_t)n, sizeof(double));
    int64_t count = ipex_value_numel(bias);
    for (int64_t i = 0; i < n; i++)
        layer->fold.bias[i] = ipex_constant_f64(bias, count == 1 ? 0 : i);
}

struct ipex_value *ipex_build_plus_bias(struct ipex_import *import, struct ipex_value *y,
                                        struct ipex_value *bias) {
    if (!y || !bias)
        return y;
    const int64_t dims[IPEX_MAX_RANK] = {y->dims[1], 1, 1, 1, 1, 1, 1, 1};
    return ipex_build_binary(import, IPEX_STEP_add, y,
                             ipex_build_reshape(import, bias, y->rank - 1, dims));
}

struct ipex_value *ipex_build_conv(struct ipex_import *import, struct ipex_value *image,
                                   struct ipex_value *w, const struct ipex_value *bias,
                                   const struct ipex_conv *conv, const int64_t *out) {
    if (!image || !w)
        return NULL;
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_conv);
    const int64_t m = conv->transposed ? w->dims[1] * conv->groups : w->dims[0];
    const int64_t dims[4] = {image->dims[0], m, out[0], out[1]};
    ipex_node_add_input(node, image);
    ipex_node_add_input(node, w);
    node->u.conv = *conv;
    ipex_build_bias(import, node, bias, m);
    return finish(import, node, IPEX_DTYPE_f32, 4, dims);
}
