/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's linear layers, batch normalisation, softmax and plain reductions. Each function follows
 * the operator's ONNX specification (opset 7 on); what it cannot express it refuses with the
 * reason. */
#include "tools/convert/import_modulated.h"
#include "tools/convert/import_scope.h"

#include <math.h>
#include <string.h>

/* ---- linear ---- */

static struct ipex_node *linear_node(struct ipex_import *import, struct ipex_value *x,
                                     struct ipex_value *w, bool kn) {
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_linear);
    ipex_node_add_input(node, x);
    ipex_node_add_input(node, w);
    node->weight_kn = kn;
    node->fold.n = w->dims[kn ? 1 : 0];
    return node;
}

static void scale_fold(struct ipex_import *import, struct ipex_fold *fold, double alpha) {
    if (alpha == 1)
        return;
    fold->scale = ipex_arena_array(&import->graph->arena, (size_t)fold->n, sizeof(double));
    for (int64_t i = 0; i < fold->n; i++)
        fold->scale[i] = alpha;
}

static void refuse_inner(struct ipex_import *import, int64_t a, int64_t b) {
    ipex_import_refuse(import, "the inner dims %s and %s differ%s", ipex_import_text(import, a),
                       ipex_import_text(import, b), ipex_import_make_equal(import, a, b));
}

static bool check_gemm(struct ipex_import *import, const struct ipex_value *a,
                       const struct ipex_value *b, const struct ipex_value *c, bool trans_a,
                       bool trans_b) {
    if (a->rank != 2 || b->rank != 2)
        ipex_import_refuse(import, "Gemm takes matrices, the operands have rank %d and %d", a->rank,
                           b->rank);
    else if (b->dtype != IPEX_DTYPE_f32 || (c && c->dtype != IPEX_DTYPE_f32))
        ipex_import_refuse(import, "the operand %s is not f32",
                           b->dtype != IPEX_DTYPE_f32 ? b->name : c->name);
    else if (a->dims[trans_a ? 0 : 1] != b->dims[trans_b ? 1 : 0])
        refuse_inner(import, a->dims[trans_a ? 0 : 1], b->dims[trans_b ? 1 : 0]);
    else
        return true;
    return false;
}

/* A bias that the layer itself adds: one number, or a constant vector along the n columns. */
static bool is_layers_bias(const struct ipex_value *c, int64_t n) {
    return c->constant && (ipex_value_numel(c) == 1 ||
                           (ipex_value_numel(c) == n && c->rank && c->dims[c->rank - 1] == n));
}

/* y + beta c, where c is broadcast to y. */
static void bind_plus(struct ipex_import *import, struct ipex_value *y, struct ipex_value *c,
                      double beta) {
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = 0;
    struct ipex_node *last = import->graph->last;
    if (c && beta != 1) {
        c = ipex_build_with(import, IPEX_STEP_mul, c, (float)beta);
        ipex_import_fold(import, last);
    }
    if (!y || (c && (!ipex_import_broadcast(import, y, &rank, dims) ||
                     !ipex_import_broadcast(import, c, &rank, dims))))
        return;
    if (c && (rank != 2 || dims[0] != y->dims[0] || dims[1] != y->dims[1])) {
        ipex_import_refuse(import, "the bias %s is larger than the product", c->name);
        return;
    }
    ipex_import_out(import, 0, c ? ipex_build_binary(import, IPEX_STEP_add, y, c) : y);
}

/* b is computed at run time. */
static void dynamic_gemm(struct ipex_import *import, struct ipex_value *a, struct ipex_value *b,
                         struct ipex_value *c, double beta) {
    const float alpha = ipex_import_float(import, "alpha", 1);
    if (ipex_import_int(import, "transB", 0))
        b = ipex_build_turned(import, b);
    struct ipex_value *y = ipex_build_matmul(import, a, b);
    bind_plus(import, alpha == 1 ? y : ipex_build_with(import, IPEX_STEP_mul, y, alpha), c, beta);
}

static void import_gemm(struct ipex_import *import) {
    struct ipex_value *a = ipex_import_f32(import, 0), *b = a ? ipex_import_in(import, 1) : NULL,
                      *c = ipex_import_in(import, 2);
    const double beta = (double)ipex_import_float(import, "beta", 1);
    bool trans_a = ipex_import_flag(import, "transA", false),
         trans_b = ipex_import_flag(import, "transB", false);
    if (!a)
        return;
    if (!b) {
        ipex_import_refuse(import, "input 1 (the weight) is missing");
        return;
    }
    if (beta == 0) /* whatever it holds, NaN too */
        c = NULL;
    if (!check_gemm(import, a, b, c, trans_a, trans_b))
        return;
    static const int32_t swap[2] = {1, 0};
    if (trans_a)
        a = ipex_import_transpose(import, a, a->name, swap);
    if (!b->constant) {
        dynamic_gemm(import, a, b, c, beta);
        return;
    }
    struct ipex_value *added = c && !is_layers_bias(c, b->dims[trans_b ? 0 : 1]) ? c : NULL;
    if (added)
        c = NULL;
    struct ipex_node *node = linear_node(import, a, b, !trans_b);
    scale_fold(import, &node->fold, (double)ipex_import_float(import, "alpha", 1));
    ipex_build_bias(import, node, c, node->fold.n);
    for (int64_t i = 0; c && i < node->fold.n; i++)
        node->fold.bias[i] *= beta;
    const int64_t dims[2] = {a->dims[0], node->fold.n};
    const char *name = import->node->output[0];
    ipex_node_set_output(node, ipex_graph_value(import->graph, name, IPEX_DTYPE_f32, 2, dims));
    bind_plus(import, node->output, added, beta);
}

/* Both operands computed at run time, or a constant right one of higher rank: numpy's matmul. */
static void dynamic_matmul(struct ipex_import *import, struct ipex_value *a, struct ipex_value *b) {
    int64_t flat[IPEX_MAX_RANK];
    const bool row = a->rank == 1, column = b->rank == 1;
    const int64_t row_dims[2] = {1, a->dims[0]}, column_dims[2] = {b->dims[0], 1};
    struct ipex_value *x = row ? ipex_import_reshape(import, a, a->name, 2, row_dims) : a;
    struct ipex_value *w = column ? ipex_import_reshape(import, b, b->name, 2, column_dims) : b;
    if (x->dims[x->rank - 1] != w->dims[w->rank - 2]) {
        refuse_inner(import, x->dims[x->rank - 1], w->dims[w->rank - 2]);
        return;
    }
    struct ipex_value *y = ipex_build_matmul(import, x, w);
    int32_t n = 0;
    for (int32_t i = 0; y && i < y->rank; i++)
        if (!(row && i == y->rank - 2) && !(column && i == y->rank - 1))
            flat[n++] = y->dims[i];
    if (y && (row || column))
        y = ipex_import_reshape(import, y, import->node->output[0], n, flat);
    if (y)
        ipex_import_out(import, 0, y);
}

static void import_matmul(struct ipex_import *import) {
    struct ipex_value *a = ipex_import_f32(import, 0), *b = a ? ipex_import_f32(import, 1) : NULL;
    if (!a || !b)
        return;
    if (a->rank < 1 || b->rank < 1) {
        ipex_import_refuse(import, "an operand is a scalar");
        return;
    }
    if (!b->constant || b->rank != 2) {
        dynamic_matmul(import, a, b);
        return;
    }
    if (a->dims[a->rank - 1] != b->dims[0]) {
        refuse_inner(import, a->dims[a->rank - 1], b->dims[0]);
        return;
    }
    int64_t dims[IPEX_MAX_RANK];
    memcpy(dims, a->dims, sizeof dims);
    struct ipex_value *x = a;
    if (a->rank == 1) {
        const int64_t row[2] = {1, a->dims[0]};
        x = ipex_import_reshape(import, a, a->name, 2, row);
    }
    struct ipex_node *node = linear_node(import, x, b, true);
    dims[a->rank - 1] = b->dims[1];
    if (a->rank > 1) {
        ipex_node_set_output(node, ipex_import_new(import, 0, a->rank, dims));
        return;
    }
    const int64_t row[2] = {1, b->dims[1]};
    ipex_node_set_output(
        node, ipex_graph_value(import->graph, import->node->output[0], IPEX_DTYPE_f32, 2, row));
    ipex_import_out(import, 0,
                    ipex_import_reshape(import, node->output, import->node->output[0], 1, dims));
}

/* ---- BatchNormalization: y = x * s + t,  s = gamma / sqrt(var + eps),  t = beta - mean * s, in
 * f64 ---- */

static bool check_batch_norm(struct ipex_import *import, const struct ipex_value *x,
                             struct ipex_value **p) {
    if (x->rank < 2) {
        ipex_import_refuse(import, "input %s has rank %d, at least 2 is needed", x->name, x->rank);
        return false;
    }
    if (ipex_import_int(import, "spatial", 1) != 1) {
        ipex_import_refuse(import, "statistics per element (spatial=0) are not supported");
        return false;
    }
    for (size_t i = 0; i < 4; i++) {
        p[i] = ipex_import_f32(import, i + 1);
        if (!p[i])
            return false;
        if (ipex_value_numel(p[i]) != x->dims[1]) {
            ipex_import_refuse(import, "input %zu (%s) does not have one element per channel",
                               i + 1, p[i]->name);
            return false;
        }
    }
    return true;
}

/* It takes the statistics of its own input: from opset 14 on by training_mode, up to opset 6 by
 * is_test, which inference leaves out or sets. */
static bool is_training(const struct ipex_import *import) {
    return ipex_import_int(import, "training_mode", 0) ||
           (import->model->opset < 7 && !ipex_import_int(import, "is_test", 1));
}

/* r * momentum + now * (1 - momentum), as a vector: output i, where it is asked for. */
static void running_statistic(struct ipex_import *import, size_t i, struct ipex_value *r,
                              struct ipex_value *now) {
    const float momentum = ipex_import_float(import, "momentum", 0.9f);
    if (i >= import->node->outputs || !*import->node->output[i])
        return;
    now = ipex_build_reshape(import, now, 1, &now->dims[1]);
    now = ipex_build_binary(import, IPEX_STEP_add,
                            ipex_build_with(import, IPEX_STEP_mul, r, momentum),
                            ipex_build_with(import, IPEX_STEP_mul, now, 1 - momentum));
    now->name = import->node->output[i];
    ipex_import_out(import, i, now);
}

/* Normalised by its own mean and variance, as weights are that are standardised:
 * (x - mean) / sqrt(var + eps) * gamma + beta, over all axes but the channels'. */
static void training_batch_norm(struct ipex_import *import, struct ipex_value *x,
                                struct ipex_value **p) {
    const uint32_t axes = ((1u << x->rank) - 1) & ~2u;
    const int64_t dims[IPEX_MAX_RANK] = {x->dims[1], 1, 1, 1, 1, 1, 1, 1};
    struct ipex_value *mean = ipex_build_reduce(import, IPEX_REDUCE_mean, x, axes);
    struct ipex_value *y = ipex_build_binary(import, IPEX_STEP_sub, x, mean);
    struct ipex_value *variance = ipex_build_reduce(
        import, IPEX_REDUCE_mean, ipex_build_binary(import, IPEX_STEP_mul, y, y), axes);
    struct ipex_value *deviation =
        ipex_build_unary(import, IPEX_STEP_sqrt,
                         ipex_build_with(import, IPEX_STEP_add, variance,
                                         ipex_import_float(import, "epsilon", 1e-5f)));
    y = ipex_build_binary(import, IPEX_STEP_div, y, deviation);
    y = ipex_build_binary(import, IPEX_STEP_mul, y,
                          ipex_build_reshape(import, p[0], x->rank - 1, dims));
    y = ipex_build_binary(import, IPEX_STEP_add, y,
                          ipex_build_reshape(import, p[1], x->rank - 1, dims));
    ipex_import_out(import, 0, y);
    running_statistic(import, 1, p[2], mean);
    running_statistic(import, 2, p[3], variance);
}

/* Parameters computed at run time: ((x - mean) / sqrt(var + eps)) * gamma + beta, as a program over
 * five inputs. */
static void dynamic_batch_norm(struct ipex_import *import, struct ipex_value *x,
                               struct ipex_value **p) {
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_pointwise);
    struct ipex_program *program = node->u.program =
        ipex_arena_alloc(&import->graph->arena, sizeof *program);
    int64_t dims[IPEX_MAX_RANK] = {x->dims[1], 1, 1, 1, 1, 1, 1, 1};
    ipex_node_add_input(node, x);
    for (size_t i = 0; i < 4; i++) {
        struct ipex_value *v = ipex_import_reshape(import, p[i], p[i]->name, x->rank - 1, dims);
        if (v->producer) /* the program comes after its operands */
            ipex_graph_move(import->graph, v->producer, node);
        ipex_node_add_input(node, v);
    }
    enum { X, GAMMA, BETA, MEAN, VAR, R = IPEX_POINTWISE_RESULT };
    static const int16_t steps[][3] = {{IPEX_STEP_add, VAR, -1},      {IPEX_STEP_sqrt, R, R},
                                       {IPEX_STEP_sub, X, MEAN},      {IPEX_STEP_div, R + 2, R + 1},
                                       {IPEX_STEP_mul, R + 3, GAMMA}, {IPEX_STEP_add, R + 4, BETA}};
    program->constant[program->constants++] = ipex_import_float(import, "epsilon", 1e-5f);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++, program->steps++) {
        program->step[i].op = steps[i][0];
        program->step[i].a = steps[i][1];
        program->step[i].b = steps[i][2];
    }
    ipex_node_set_output(node, ipex_import_new(import, 0, x->rank, x->dims));
}

/* A mean so many standard deviations away from zero costs 4 of a product's 24 bits where it is
 * taken away after the product and not before. */
#define CENTRED_DEVIATIONS 16

static void import_batch_norm(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *p[4];
    if (!x || !check_batch_norm(import, x, p))
        return;
    if (is_training(import)) {
        training_batch_norm(import, x, p);
        return;
    }
    if (!p[0]->constant || !p[1]->constant || !p[2]->constant || !p[3]->constant) {
        dynamic_batch_norm(import, x, p);
        return;
    }
    double eps = (double)ipex_import_float(import, "epsilon", 1e-5f);
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_affine);
    int64_t n = node->u.affine.n = x->dims[1];
    node->u.affine.axis = 1;
    node->u.affine.scale = ipex_arena_array(&import->graph->arena, (size_t)n, sizeof(double));
    node->u.affine.shift = ipex_arena_array(&import->graph->arena, (size_t)n, sizeof(double));
    node->u.affine.centred = true;
    for (int64_t i = 0; i < n; i++) {
        const double deviation = sqrt(ipex_constant_f64(p[3], i) + eps);
        double s = ipex_constant_f64(p[0], i) / deviation;
        node->u.affine.centred &=
            fabs(ipex_constant_f64(p[2], i)) <= CENTRED_DEVIATIONS * deviation;
        node->u.affine.scale[i] = s;
        node->u.affine.shift[i] = ipex_constant_f64(p[1], i) - ipex_constant_f64(p[2], i) * s;
    }
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, ipex_import_new(import, 0, x->rank, x->dims));
}

/* ---- softmax and reductions ---- */

struct ipex_value *ipex_import_softmaxed(struct ipex_import *import, struct ipex_value *x,
                                         bool flattened) {
    int64_t axis = ipex_import_int(import, "axis", flattened ? 1 : -1);
    if (!ipex_import_axis(import, &axis, x->rank))
        return NULL;
    struct ipex_value *rows = x;
    const char *name = import->node->output[0];
    if (flattened && axis != x->rank - 1) {
        int64_t dims[2] = {1, 1};
        for (int32_t i = 0; i < x->rank; i++)
            dims[i >= axis] = ipex_dim_mul(&import->graph->dims, dims[i >= axis], x->dims[i]);
        rows = ipex_import_reshape(import, x, name, 2, dims);
        axis = 1;
    }
    struct ipex_value *y = ipex_build_softmax(import, rows, (int32_t)axis);
    return rows == x ? y : ipex_import_reshape(import, y, name, x->rank, x->dims);
}

static void import_softmax(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0),
                      *y = x ? ipex_import_softmaxed(import, x, import->model->opset < 13) : NULL;
    if (y)
        ipex_import_out(import, 0, y);
}

/* Each axis becomes its last partial sum. */
struct ipex_value *ipex_build_integer_sum(struct ipex_import *import, struct ipex_value *x,
                                          uint32_t axes) {
    for (int32_t i = 0; i < x->rank; i++)
        if (axes >> i & 1)
            x = ipex_build_slice(import, ipex_build_cum_sum(import, x, i, false, false), i,
                                 ipex_dim_sub(&import->graph->dims, x->dims[i], 1), 1);
    return x;
}

/* The first half of an axis with the last, which meet or share one element, until one is left. */
static struct ipex_value *integer_extreme(struct ipex_import *import, struct ipex_value *x,
                                          uint32_t axes, enum ipex_integer kind) {
    struct ipex_dims *table = &import->graph->dims;
    for (int32_t i = 0; i < x->rank; i++) {
        int64_t least, most;
        ipex_dim_range(table, x->dims[i], &least, &most);
        for (; axes >> i & 1 && most > 1; most -= most / 2) {
            const int64_t n = x->dims[i],
                          half = ipex_dim_floor_div(table, ipex_dim_add(table, n, 1), 2);
            x = ipex_build_integer(
                import, kind, ipex_build_slice(import, x, i, 0, half),
                ipex_build_slice(import, x, i, ipex_dim_sub(table, n, half), half));
        }
    }
    return x;
}

/* The sum divided by how many there are, rounded towards 0, as ONNX Runtime has it. */
static struct ipex_value *integer_mean(struct ipex_import *import, struct ipex_value *x,
                                       uint32_t axes) {
    int64_t count = 1;
    for (int32_t i = 0; i < x->rank; i++)
        if (axes >> i & 1)
            count = ipex_dim_mul(&import->graph->dims, count, x->dims[i]);
    struct ipex_value *n = ipex_build_size(import, x->dtype, count);
    return n ? ipex_build_integer(import, IPEX_INTEGER_div, ipex_build_integer_sum(import, x, axes),
                                  n)
             : NULL;
}

/* What is reduced: f32 or integers; of narrow ones only an extreme. */
static struct ipex_value *reduced_operand(struct ipex_import *import, enum ipex_reduce kind) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    const bool integers = x && (x->dtype == IPEX_DTYPE_i32 || x->dtype == IPEX_DTYPE_i64);
    const bool extreme = kind == IPEX_REDUCE_max || kind == IPEX_REDUCE_min;
    return extreme || integers ? ipex_import_any(import, 0) : ipex_import_f32(import, 0);
}

static struct ipex_value *reduced(struct ipex_import *import, struct ipex_value *x,
                                  enum ipex_reduce kind, uint32_t axes) {
    if (x->dtype == IPEX_DTYPE_f32)
        return ipex_build_reduce(import, kind, x, axes);
    if (kind == IPEX_REDUCE_sum)
        return ipex_build_integer_sum(import, x, axes);
    if (kind == IPEX_REDUCE_mean)
        return integer_mean(import, x, axes);
    const bool wide = x->dtype == IPEX_DTYPE_i32 || x->dtype == IPEX_DTYPE_i64;
    struct ipex_value *y =
        integer_extreme(import, wide ? x : ipex_build_cast(import, x, IPEX_DTYPE_i32), axes,
                        kind == IPEX_REDUCE_max ? IPEX_INTEGER_max : IPEX_INTEGER_min);
    return ipex_build_cast(import, y, x->dtype);
}

/* What is left of none: ONNX's neutral element, of a mean no number. */
static struct ipex_value *reduced_none(struct ipex_import *import, const struct ipex_value *x,
                                       enum ipex_reduce kind, uint32_t axes) {
    const bool least = kind == IPEX_REDUCE_max; /* what every other element is above */
    const bool is_extreme = least || kind == IPEX_REDUCE_min;
    double number = kind == IPEX_REDUCE_mean && x->dtype == IPEX_DTYPE_f32 ? (double)NAN : 0;
    if (is_extreme && x->dtype == IPEX_DTYPE_i64) {
        int64_t *wide = ipex_arena_alloc(&import->graph->arena, sizeof *wide);
        *wide = least ? INT64_MIN : INT64_MAX;
        return ipex_build_reduced_none(import, x, axes,
                                       ipex_graph_constant(import->graph, import->node->output[0],
                                                           IPEX_DTYPE_i64, 0, NULL, wide));
    }
    if (is_extreme)
        number = x->dtype == IPEX_DTYPE_f32   ? (double)(least ? -INFINITY : INFINITY)
                 : x->dtype == IPEX_DTYPE_i32 ? (least ? INT32_MIN : INT32_MAX)
                 : x->dtype == IPEX_DTYPE_i8  ? (least ? INT8_MIN : INT8_MAX)
                 : x->dtype == IPEX_DTYPE_u8  ? (least ? 0 : UINT8_MAX)
                                              : !least;
    return ipex_build_reduced_none(import, x, axes, ipex_build_number(import, x->dtype, number));
}

static void reduce(struct ipex_import *import, enum ipex_reduce kind) {
    struct ipex_value *x = reduced_operand(import, kind);
    int64_t axes[IPEX_MAX_RANK], dims[IPEX_MAX_RANK], kept[IPEX_MAX_RANK];
    int count = x ? ipex_import_ints(import, "axes", 1, axes, IPEX_MAX_RANK) : -1;
    if (count < 0)
        return;
    uint32_t mask = 0;
    for (int i = 0; i < count; i++) {
        if (!ipex_import_axis(import, &axes[i], x->rank))
            return;
        mask |= 1u << axes[i];
    }
    if (!count && ipex_import_int(import, "noop_with_empty_axes", 0)) {
        ipex_import_out(import, 0, x);
        return;
    }
    if (!count)
        mask = (1u << x->rank) - 1;
    bool keep = ipex_import_flag(import, "keepdims", true);
    int32_t rank = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        dims[i] = mask >> i & 1 ? 1 : x->dims[i];
        if (keep || !(mask >> i & 1))
            kept[rank++] = dims[i];
    }
    const char *name = import->node->output[0];
    struct ipex_value *y = NULL;
    if (ipex_import_is_none(x))
        y = reduced_none(import, x, kind, mask);
    else if (kind == IPEX_REDUCE_sum)
        y = ipex_modulated_squares(import, x, mask);
    y = y ? y : reduced(import, x, kind, mask);
    if (!y)
        return;
    ipex_import_out(import, 0,
                    rank == x->rank ? y : ipex_import_reshape(import, y, name, rank, kept));
}

static void import_reduce_sum(struct ipex_import *import) {
    reduce(import, IPEX_REDUCE_sum);
}
static void import_reduce_mean(struct ipex_import *import) {
    reduce(import, IPEX_REDUCE_mean);
}
static void import_reduce_max(struct ipex_import *import) {
    reduce(import, IPEX_REDUCE_max);
}
static void import_reduce_min(struct ipex_import *import) {
    reduce(import, IPEX_REDUCE_min);
}

const struct ipex_import_op ipex_import_nn[] = {
    {"BatchNormalization", import_batch_norm},
    {"Gemm", import_gemm},
    {"MatMul", import_matmul},
    {"ReduceMax", import_reduce_max},
    {"ReduceMean", import_reduce_mean},
    {"ReduceMin", import_reduce_min},
    {"ReduceSum", import_reduce_sum},
    {"Softmax", import_softmax},
    {NULL, NULL},
};
