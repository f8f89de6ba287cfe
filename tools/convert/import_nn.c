/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators with weights or windows: convolution, linear layers, normalisation, pooling,
 * softmax, reductions. Each function follows the operator's ONNX specification (opset 7 on); what
 * it cannot express it refuses with the reason. */
#include "tools/convert/import_build.h"

#include <math.h>
#include <string.h>

#include "format/check.h"

/* ---- windows ---- */

struct window {
    int64_t kernel[2], stride[2], dilation[2], pad[4]; /* pad: top left bottom right */
};

/* A list attribute of `n` spatial values into the last n of two; the first stays as it is (1-d
 * windows run along the second axis). */
static bool spatial(struct ipex_import *import, const char *name, int n, int64_t *ret) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, name);
    if (!attr)
        return true;
    if ((int)attr->count != n) {
        ipex_import_refuse(import, "attribute %s has %zu values, %d are expected", name,
                           attr->count, n);
        return false;
    }
    for (int i = 0; i < n; i++)
        ret[2 - n + i] = attr->ints[i];
    return true;
}

static bool explicit_pads(struct ipex_import *import, int n, struct window *w) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "pads");
    if (!attr)
        return true;
    if ((int)attr->count != 2 * n) {
        ipex_import_refuse(import, "attribute pads has %zu values, %d are expected", attr->count,
                           2 * n);
        return false;
    }
    for (int i = 0; i < n; i++) {
        w->pad[2 - n + i] = attr->ints[i];
        w->pad[4 - n + i] = attr->ints[n + i];
    }
    for (int i = 0; i < 4; i++)
        if (w->pad[i] < 0) {
            ipex_import_refuse(import, "negative padding is not supported");
            return false;
        }
    return true;
}

/* auto_pad of the ONNX specification: SAME_* makes ceil(in / stride) outputs. The padding must come
 * out as a number. */
static bool same_pads(struct ipex_import *import, int64_t in, int i, bool upper, struct window *w) {
    struct ipex_dims *dims = &import->graph->dims;
    int64_t span = (w->kernel[i] - 1) * w->dilation[i] + 1, total;
    int64_t last = ipex_dim_floor_div(dims, ipex_dim_sub(dims, in, 1), w->stride[i]);
    int64_t covered = ipex_dim_add(dims, ipex_dim_mul(dims, last, w->stride[i]), span);
    if (!ipex_dim_number(dims, ipex_dim_sub(dims, covered, in), &total)) {
        ipex_import_refuse(import,
                           "auto_pad depends on %s: give it a step that is a multiple of the "
                           "stride (--dim NAME=LO..HI:STEP)",
                           ipex_import_text(import, in));
        return false;
    }
    total = total > 0 ? total : 0;
    w->pad[i] = upper ? total / 2 : total - total / 2;
    w->pad[i + 2] = total - w->pad[i];
    return true;
}

static bool auto_pads(struct ipex_import *import, const int64_t *in, struct window *w) {
    const char *mode = ipex_import_string(import, "auto_pad", "NOTSET");
    bool upper = !strcmp(mode, "SAME_UPPER"), lower = !strcmp(mode, "SAME_LOWER");
    if (upper || lower)
        return same_pads(import, in[0], 0, upper, w) && same_pads(import, in[1], 1, upper, w);
    if (!strcmp(mode, "NOTSET") || !strcmp(mode, "VALID"))
        return true;
    ipex_import_refuse(import, "auto_pad %s is unknown", mode);
    return false;
}

/* The format's limits, which also keep sums of these numbers far from overflow. */
static bool in_limits(struct ipex_import *import, const struct window *w) {
    bool fits = true;
    for (int i = 0; i < 2; i++)
        fits &= w->kernel[i] <= IPEX_WINDOW_MAX && w->stride[i] <= IPEX_WINDOW_MAX &&
                w->dilation[i] <= IPEX_WINDOW_MAX;
    for (int i = 0; i < 4; i++)
        fits &= w->pad[i] <= IPEX_WINDOW_MAX;
    if (!fits)
        ipex_import_refuse(import, "kernel, strides, dilations and pads are at most %d",
                           IPEX_WINDOW_MAX);
    return fits;
}

/* kernel[] is set by the caller for Conv (from the weight) and read from the attribute for pools.
 */
static bool read_window(struct ipex_import *import, int n, const int64_t *in, struct window *w) {
    if (!spatial(import, "kernel_shape", n, w->kernel) ||
        !spatial(import, "strides", n, w->stride) || !spatial(import, "dilations", n, w->dilation))
        return false;
    for (int i = 0; i < 2; i++)
        if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1) {
            ipex_import_refuse(import, "kernel, strides and dilations must be positive");
            return false;
        }
    return explicit_pads(import, n, w) && in_limits(import, w) && auto_pads(import, in, w);
}

/* floor((in + pads - span) / stride) + 1; with ceil_mode rounded up, but the last window must start
 * inside the input or its leading padding. */
static bool window_output(struct ipex_import *import, const int64_t *in, const struct window *w,
                          bool ceil_mode, int64_t *out) {
    struct ipex_dims *dims = &import->graph->dims;
    for (int i = 0; i < 2; i++) {
        int64_t span = w->dilation[i] * (w->kernel[i] - 1) + 1, lo, hi;
        int64_t padded = ipex_dim_add(dims, in[i], w->pad[i] + w->pad[i + 2]);
        int64_t room = ipex_dim_sub(dims, padded, span);
        ipex_dim_range(dims, room, &lo, &hi);
        if (lo < 0) {
            ipex_import_refuse(import, "the window (%lld) can be larger than the padded input (%s)",
                               (long long)span, ipex_import_text(import, padded));
            return false;
        }
        int64_t last = ipex_dim_floor_div(
            dims, ceil_mode ? ipex_dim_add(dims, room, w->stride[i] - 1) : room, w->stride[i]);
        int64_t inside = ipex_dim_floor_div(
            dims, ipex_dim_sub(dims, ipex_dim_add(dims, in[i], w->pad[i]), 1), w->stride[i]);
        out[i] = ipex_dim_add(dims, ceil_mode ? ipex_dim_min(dims, last, inside) : last, 1);
    }
    return true;
}

/* Images are [N][C][H][W]; a 1-d signal [N][C][L] is handled as [N][C][1][L]. NULL after refusing.
 */
static struct ipex_value *as_image(struct ipex_import *import, struct ipex_value *x) {
    if (x->rank == 4)
        return x;
    if (x->rank != 3) {
        ipex_import_refuse(
            import, "input %s has rank %d; 1-d (rank 3) and 2-d (rank 4) windows are supported",
            x->name, x->rank);
        return NULL;
    }
    const int64_t dims[4] = {x->dims[0], x->dims[1], 1, x->dims[2]};
    return ipex_import_reshape(import, x, x->name, 4, dims);
}

/* Binds output 0 to an image node's result, back in the rank of x. */
static void finish_image(struct ipex_import *import, struct ipex_node *node, int32_t rank,
                         const int64_t *dims) {
    const char *name = import->node->output[0];
    struct ipex_value *y = ipex_graph_value(import->graph, name, IPEX_DTYPE_f32, 4, dims);
    ipex_node_set_output(node, y);
    if (rank == 3) {
        const int64_t flat[3] = {dims[0], dims[1], dims[3]};
        y = ipex_import_reshape(import, y, name, 3, flat);
    }
    ipex_import_out(import, 0, y);
}

/* ---- Conv ---- */

/* A bias vector of n elements into fold.bias; false after refusing. */
static bool fold_bias(struct ipex_import *import, struct ipex_node *node,
                      const struct ipex_value *bias, int64_t n) {
    node->fold.n = n;
    if (!bias)
        return true;
    node->fold.bias = ipex_arena_array(&import->graph->arena, (size_t)n, sizeof(double));
    int64_t count = ipex_value_numel(bias);
    for (int64_t i = 0; i < n; i++)
        node->fold.bias[i] = ipex_constant_f64(bias, count == 1 ? 0 : i);
    return true;
}

static bool check_conv(struct ipex_import *import, const struct ipex_value *x,
                       const struct ipex_value *w, const struct ipex_value *bias, int64_t groups) {
    if (!w->constant)
        ipex_import_refuse(import, "dynamic_weight: the weight %s is computed at run time",
                           w->name);
    else if (bias && !bias->constant)
        ipex_import_refuse(import, "dynamic_weight: the bias %s is computed at run time",
                           bias->name);
    else if (w->rank != x->rank)
        ipex_import_refuse(import, "the weight has rank %d, the input rank %d", w->rank, x->rank);
    else if (groups < 1 || w->dims[0] % groups || w->dims[1] * groups != x->dims[1])
        ipex_import_refuse(
            import,
            "group %lld, weight [%lld, %lld, ...] and %lld input channels do not fit together",
            (long long)groups, (long long)w->dims[0], (long long)w->dims[1], (long long)x->dims[1]);
    else if (bias && ipex_value_numel(bias) != w->dims[0])
        ipex_import_refuse(import, "the bias has %lld elements for %lld output channels",
                           (long long)ipex_value_numel(bias), (long long)w->dims[0]);
    else if (w->dtype != IPEX_DTYPE_f32 || (bias && bias->dtype != IPEX_DTYPE_f32))
        ipex_import_refuse(import, "the weight %s is %s; f32 is supported", w->name,
                           ipex_dtype_name(w->dtype));
    else
        return true;
    return false;
}

void ipex_import_conv(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *w = x ? ipex_import_in(import, 1) : NULL,
                      *bias = ipex_import_in(import, 2);
    if (!x)
        return;
    if (!w) {
        ipex_import_refuse(import, "input 1 (the weight) is missing");
        return;
    }
    int64_t groups = ipex_import_int(import, "group", 1);
    if (x->rank < 3 || x->rank > 4) {
        (void)as_image(import, x);
        return;
    }
    if (!check_conv(import, x, w, bias, groups))
        return;
    int n = x->rank - 2;
    struct window win = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    for (int i = 0; i < n; i++)
        win.kernel[2 - n + i] = w->dims[2 + i];
    const int64_t weight_kernel[2] = {win.kernel[0], win.kernel[1]};
    const int64_t in[2] = {n == 2 ? x->dims[2] : 1, x->dims[x->rank - 1]};
    int64_t out[2];
    if (!read_window(import, n, in, &win))
        return;
    if (memcmp(weight_kernel, win.kernel, sizeof weight_kernel)) {
        ipex_import_refuse(import, "kernel_shape does not fit the weight");
        return;
    }
    if (!window_output(import, in, &win, false, out))
        return;
    for (int i = 0; i < 4; i++)
        if (win.pad[i] > IPEX_HALO_MAX) {
            ipex_import_refuse(import, "a padding of %lld; at most %d is supported",
                               (long long)win.pad[i], IPEX_HALO_MAX);
            return;
        }
    struct ipex_value *image = as_image(import, x);
    const int64_t w_dims[4] = {w->dims[0], w->dims[1], win.kernel[0], win.kernel[1]};
    struct ipex_value *weight =
        w->rank == 4 ? w : ipex_import_reshape(import, w, w->name, 4, w_dims);
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_conv);
    ipex_node_add_input(node, image);
    ipex_node_add_input(node, weight);
    struct ipex_conv *conv = &node->u.conv;
    memcpy(conv->kernel, win.kernel, sizeof conv->kernel);
    memcpy(conv->stride, win.stride, sizeof conv->stride);
    memcpy(conv->dilation, win.dilation, sizeof conv->dilation);
    memcpy(conv->pad, win.pad, sizeof conv->pad);
    conv->groups = groups;
    if (!fold_bias(import, node, bias, w->dims[0]))
        return;
    const int64_t dims[4] = {x->dims[0], w->dims[0], out[0], out[1]};
    finish_image(import, node, x->rank, dims);
}

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

static bool check_gemm(struct ipex_import *import, const struct ipex_value *a,
                       const struct ipex_value *b, const struct ipex_value *c, bool trans_a,
                       bool trans_b) {
    if (a->rank != 2 || b->rank != 2)
        ipex_import_refuse(import, "Gemm takes matrices, the operands have rank %d and %d", a->rank,
                           b->rank);
    else if (!b->constant || b->dtype != IPEX_DTYPE_f32)
        ipex_import_refuse(import, "dynamic_weight: the weight %s is %s", b->name,
                           b->constant ? "not f32" : "computed at run time");
    else if (a->dims[trans_a ? 0 : 1] != b->dims[trans_b ? 1 : 0])
        ipex_import_refuse(import, "the inner dims %lld and %lld differ",
                           (long long)a->dims[trans_a ? 0 : 1],
                           (long long)b->dims[trans_b ? 1 : 0]);
    else if (c && !c->constant)
        ipex_import_refuse(import, "dynamic_weight: the bias %s is computed at run time", c->name);
    else if (c && ipex_value_numel(c) != 1 &&
             (ipex_value_numel(c) != b->dims[trans_b ? 0 : 1] ||
              c->dims[c->rank - 1] != b->dims[trans_b ? 0 : 1]))
        ipex_import_refuse(import, "the bias is not a vector along the columns");
    else
        return true;
    return false;
}

static void import_gemm(struct ipex_import *import) {
    struct ipex_value *a = ipex_import_f32(import, 0), *b = a ? ipex_import_in(import, 1) : NULL,
                      *c = ipex_import_in(import, 2);
    bool trans_a = ipex_import_int(import, "transA", 0) != 0,
         trans_b = ipex_import_int(import, "transB", 0) != 0;
    if (!a)
        return;
    if (!b) {
        ipex_import_refuse(import, "input 1 (the weight) is missing");
        return;
    }
    if (!check_gemm(import, a, b, c, trans_a, trans_b))
        return;
    static const int32_t swap[2] = {1, 0};
    if (trans_a)
        a = ipex_import_transpose(import, a, a->name, swap);
    struct ipex_node *node = linear_node(import, a, b, !trans_b);
    double beta = (double)ipex_import_float(import, "beta", 1);
    scale_fold(import, &node->fold, (double)ipex_import_float(import, "alpha", 1));
    fold_bias(import, node, c, node->fold.n);
    for (int64_t i = 0; c && i < node->fold.n; i++)
        node->fold.bias[i] *= beta;
    const int64_t dims[2] = {a->dims[0], node->fold.n};
    ipex_node_set_output(node, ipex_import_new(import, 0, 2, dims));
}

/* Both operands computed at run time, or a constant right one of higher rank: numpy's matmul. */
static void dynamic_matmul(struct ipex_import *import, struct ipex_value *a, struct ipex_value *b) {
    int64_t dims[IPEX_MAX_RANK], flat[IPEX_MAX_RANK];
    const bool row = a->rank == 1, column = b->rank == 1;
    const int64_t row_dims[2] = {1, a->dims[0]}, column_dims[2] = {b->dims[0], 1};
    struct ipex_value *x = row ? ipex_import_reshape(import, a, a->name, 2, row_dims) : a;
    struct ipex_value *w = column ? ipex_import_reshape(import, b, b->name, 2, column_dims) : b;
    struct ipex_value x_batch = *x, w_batch = *w; /* only their leading dims are broadcast */
    int32_t rank = 0;
    x_batch.rank -= 2;
    w_batch.rank -= 2;
    if (!ipex_import_broadcast(import, &x_batch, &rank, dims) ||
        !ipex_import_broadcast(import, &w_batch, &rank, dims))
        return;
    if (x->dims[x->rank - 1] != w->dims[w->rank - 2]) {
        ipex_import_refuse(import, "the inner dims of %s and %s differ", a->name, b->name);
        return;
    }
    dims[rank++] = x->dims[x->rank - 2];
    dims[rank++] = w->dims[w->rank - 1];
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_matmul, IPEX_ORDER_logical,
                                              IPEX_DTYPE_f32, rank, dims, !row && !column);
    ipex_node_add_input(node, x);
    ipex_node_add_input(node, w);
    node->u.plan.ints = node->u.plan.floats = 1;
    node->u.plan.float_[0] = 1;
    if (!row && !column)
        return;
    int32_t n = 0;
    for (int32_t i = 0; i < rank; i++)
        if (!(row && i == rank - 2) && !(column && i == rank - 1))
            flat[n++] = dims[i];
    ipex_import_out(import, 0,
                    ipex_import_reshape(import, node->output, import->node->output[0], n, flat));
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
        ipex_import_refuse(import, "the inner dims of %s and %s differ", a->name, b->name);
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
    if (!ipex_import_int(import, "training_mode", 0) && ipex_import_int(import, "spatial", 1) == 1)
        return true;
    ipex_import_refuse(import, "training mode is not supported");
    return false;
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

static void import_batch_norm(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *p[4];
    if (!x || !check_batch_norm(import, x, p))
        return;
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
    for (int64_t i = 0; i < n; i++) {
        double s = ipex_constant_f64(p[0], i) / sqrt(ipex_constant_f64(p[3], i) + eps);
        node->u.affine.scale[i] = s;
        node->u.affine.shift[i] = ipex_constant_f64(p[1], i) - ipex_constant_f64(p[2], i) * s;
    }
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, ipex_import_new(import, 0, x->rank, x->dims));
}

/* ---- pooling ---- */

static void pool(struct ipex_import *import, bool max) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    if (!x)
        return;
    if (import->node->outputs > 1 && *import->node->output[1]) {
        ipex_import_refuse(import, "the second output (indices) is not supported");
        return;
    }
    struct ipex_value *image = as_image(import, x);
    if (!image)
        return;
    int n = x->rank - 2;
    struct window w = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    int64_t out[2];
    bool ceil_mode = ipex_import_int(import, "ceil_mode", 0) != 0;
    if (!ipex_import_attr(import, "kernel_shape")) {
        ipex_import_refuse(import, "attribute kernel_shape is missing");
        return;
    }
    if (!read_window(import, n, &image->dims[2], &w) ||
        !window_output(import, &image->dims[2], &w, ceil_mode, out))
        return;
    if (w.pad[0] >= w.kernel[0] * w.dilation[0] || w.pad[1] >= w.kernel[1] * w.dilation[1] ||
        w.pad[2] >= w.kernel[0] * w.dilation[0] || w.pad[3] >= w.kernel[1] * w.dilation[1]) {
        ipex_import_refuse(import, "the padding is as large as the window");
        return;
    }
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_pool);
    struct ipex_pool *p = &node->u.pool;
    *p = (struct ipex_pool){.max = max,
                            .ceil = ceil_mode,
                            .count_pad = !max && ipex_import_int(import, "count_include_pad", 0)};
    memcpy(p->kernel, w.kernel, sizeof p->kernel);
    memcpy(p->stride, w.stride, sizeof p->stride);
    memcpy(p->dilation, w.dilation, sizeof p->dilation);
    memcpy(p->pad, w.pad, sizeof p->pad);
    ipex_node_add_input(node, image);
    const int64_t dims[4] = {image->dims[0], image->dims[1], out[0], out[1]};
    finish_image(import, node, x->rank, dims);
}

static void import_max_pool(struct ipex_import *import) {
    pool(import, true);
}
static void import_average_pool(struct ipex_import *import) {
    pool(import, false);
}

static void global_pool(struct ipex_import *import, bool max) {
    struct ipex_value *x = ipex_import_f32(import, 0), *image = x ? as_image(import, x) : NULL;
    if (!image)
        return;
    const int64_t dims[4] = {image->dims[0], image->dims[1], 1, 1};
    struct ipex_node *node;
    if (image->dims[2] > 0 && image->dims[3] > 0) {
        node = ipex_import_node(import, IPEX_KIND_pool);
        node->u.pool = (struct ipex_pool){.max = max,
                                          .kernel = {image->dims[2], image->dims[3]},
                                          .stride = {1, 1},
                                          .dilation = {1, 1}};
    } else { /* a window whose size changes */
        node = ipex_import_node(import, IPEX_KIND_reduce);
        node->u.reduce.kind = max ? IPEX_REDUCE_max : IPEX_REDUCE_mean;
        node->u.reduce.axes = 1u << 2 | 1u << 3;
    }
    ipex_node_add_input(node, image);
    finish_image(import, node, x->rank, dims);
}

static void import_global_average_pool(struct ipex_import *import) {
    global_pool(import, false);
}
static void import_global_max_pool(struct ipex_import *import) {
    global_pool(import, true);
}

/* ---- softmax and reductions ---- */

static void import_softmax(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    bool flattened = import->model->opset < 13; /* then everything from the axis on is one row */
    int64_t axis = ipex_import_int(import, "axis", flattened ? 1 : -1);
    if (!x || !ipex_import_axis(import, &axis, x->rank))
        return;
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
    ipex_import_out(import, 0,
                    rows == x ? y : ipex_import_reshape(import, y, name, x->rank, x->dims));
}

static void reduce(struct ipex_import *import, enum ipex_reduce kind) {
    struct ipex_value *x = ipex_import_f32(import, 0);
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
    bool keep = ipex_import_int(import, "keepdims", 1) != 0;
    int32_t rank = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        dims[i] = mask >> i & 1 ? 1 : x->dims[i];
        if (keep || !(mask >> i & 1))
            kept[rank++] = dims[i];
    }
    const char *name = import->node->output[0];
    struct ipex_value *y = x;
    if (mask) {
        struct ipex_node *node = ipex_import_node(import, IPEX_KIND_reduce);
        node->u.reduce.kind = kind;
        node->u.reduce.axes = mask;
        ipex_node_add_input(node, x);
        ipex_node_set_output(node,
                             ipex_graph_value(import->graph, name, IPEX_DTYPE_f32, x->rank, dims));
        y = node->output;
    }
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
    {"AveragePool", import_average_pool},
    {"BatchNormalization", import_batch_norm},
    {"Conv", ipex_import_conv},
    {"Gemm", import_gemm},
    {"GlobalAveragePool", import_global_average_pool},
    {"GlobalMaxPool", import_global_max_pool},
    {"MatMul", import_matmul},
    {"MaxPool", import_max_pool},
    {"ReduceMax", import_reduce_max},
    {"ReduceMean", import_reduce_mean},
    {"ReduceMin", import_reduce_min},
    {"ReduceSum", import_reduce_sum},
    {"Softmax", import_softmax},
    {NULL, NULL},
};
