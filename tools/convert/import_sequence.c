/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators of sequence models: layer normalisation, recurrent networks. (Products of two
 * values computed at run time are in import_nn.c with MatMul.) */
#include "tools/convert/import_build.h"

#include <string.h>

/* ---- LayerNormalization over the axes from `axis` on, seen as one ---- */

/* The further outputs: the mean, and 1 / sqrt(variance + epsilon). */
static void layer_statistics(struct ipex_import *import, struct ipex_value *x, int32_t axis) {
    const uint32_t axes = ((1u << x->rank) - 1) & ~((1u << axis) - 1);
    struct ipex_value *mean = ipex_build_reduce(import, IPEX_REDUCE_mean, x, axes);
    struct ipex_value *d = ipex_build_binary(import, IPEX_STEP_sub, x, mean);
    struct ipex_value *v = ipex_build_reduce(import, IPEX_REDUCE_mean,
                                             ipex_build_binary(import, IPEX_STEP_mul, d, d), axes);
    v = ipex_build_with(import, IPEX_STEP_add, v, ipex_import_float(import, "epsilon", 1e-5f));
    v = ipex_build_unary(import, IPEX_STEP_reciprocal, ipex_build_unary(import, IPEX_STEP_sqrt, v));
    ipex_import_out(import, 1, mean);
    ipex_import_out(import, 2, v);
}

static void layer_norm(struct ipex_import *import, int64_t kind) {
    struct ipex_value *x = ipex_import_f32(import, 0), *p[2] = {NULL, NULL};
    int64_t axis = ipex_import_int(import, "axis", -1), dims[IPEX_MAX_RANK], count = 1;
    struct ipex_dims *table = &import->graph->dims;
    if (!x || !ipex_import_axis(import, &axis, x->rank))
        return;
    for (int32_t i = (int32_t)axis; i < x->rank; i++)
        count = ipex_dim_mul(table, count, x->dims[i]);
    for (size_t i = 0; i < 2; i++)
        if (ipex_import_in(import, i + 1)) {
            p[i] = ipex_import_f32(import, i + 1);
            if (!p[i])
                return;
            if (ipex_value_size(import->graph, p[i]) != count) {
                ipex_import_refuse(import, "input %s does not have the shape of what is normalised",
                                   p[i]->name);
                return;
            }
            p[i] =
                p[i]->rank == 1 ? p[i] : ipex_import_reshape(import, p[i], p[i]->name, 1, &count);
        }
    if (kind == 0 && import->node->outputs > 1)
        layer_statistics(import, x, (int32_t)axis);
    int32_t rank = (int32_t)axis + 1;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = count;
    struct ipex_value *rows =
        rank == x->rank ? x : ipex_import_reshape(import, x, x->name, rank, dims);
    struct ipex_value *y = ipex_build_layer_norm(import, rows, p[0], p[1],
                                                 ipex_import_float(import, "epsilon", 1e-5f), kind);
    ipex_import_out(import, 0,
                    rank == x->rank ? y
                                    : ipex_import_reshape(import, y, import->node->output[0],
                                                          x->rank, x->dims));
}

static void import_layer_norm(struct ipex_import *import) {
    layer_norm(import, 0);
}
static void import_rms_norm(struct ipex_import *import) {
    layer_norm(import, 1);
}

/* ---- LSTM, GRU, RNN ---- */

struct recurrent {
    struct ipex_value *x, *w, *r, *bias, *state[2]; /* as with layout 0 */
    int64_t directions, hidden, gates, steps, batch;
    bool reverse;
    bool batch_first; /* layout 1: x [B][T][I], states [B][D][H], y [B][T][D][H] */
};

/* A state or x with its first two axes the other way round, where the layout asks for that. */
static struct ipex_value *laid_out(struct ipex_import *import, const struct recurrent *n,
                                   struct ipex_value *x) {
    static const int32_t swap[] = {1, 0, 2};
    return n->batch_first && x && x->rank == 3 ? ipex_build_transpose(import, x, swap) : x;
}

static bool default_activations(const struct ipex_import *import, const char *const *wanted,
                                size_t count) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "activations");
    for (size_t i = 0; i < ipex_onnx_strings(attr); i++)
        if (strcmp(attr->strings[i], wanted[i % count]))
            return false;
    return true;
}

static bool read_recurrent(struct ipex_import *import, struct recurrent *n, int64_t gates,
                           size_t states) {
    const char *direction = ipex_import_string(import, "direction", "forward");
    n->gates = gates;
    n->directions = strcmp(direction, "bidirectional") ? 1 : 2;
    n->reverse = !strcmp(direction, "reverse");
    n->hidden = ipex_import_int(import, "hidden_size", 0);
    n->x = ipex_import_f32(import, 0);
    n->w = n->x ? ipex_import_f32(import, 1) : NULL;
    n->r = n->w ? ipex_import_f32(import, 2) : NULL;
    if (!n->r)
        return false;
    n->batch_first = ipex_import_int(import, "layout", 0) != 0;
    n->x = laid_out(import, n, n->x);
    n->bias = ipex_import_in(import, 3);
    for (size_t i = 0; i < states; i++)
        n->state[i] = laid_out(import, n, ipex_import_in(import, 5 + i));
    const struct ipex_value *w = n->w, *r = n->r;
    if (!w->constant || !r->constant || (n->bias && !n->bias->constant))
        ipex_import_refuse(import, "dynamic_weight: weights or bias are computed at run time");
    else if (ipex_import_in(import, 4) || ipex_import_in(import, 7) ||
             ipex_import_attr(import, "clip") || ipex_import_int(import, "input_forget", 0))
        ipex_import_refuse(import,
                           "sequence lengths, peepholes, clip and input_forget are not supported");
    else if (n->x->rank != 3 || w->rank != 3 || r->rank != 3 || w->dims[0] != n->directions ||
             r->dims[0] != n->directions || w->dims[1] != gates * n->hidden ||
             r->dims[1] != gates * n->hidden || r->dims[2] != n->hidden ||
             w->dims[2] != n->x->dims[2])
        ipex_import_refuse(import,
                           "the shapes of input, weights and hidden_size %lld do not fit together",
                           (long long)n->hidden);
    else {
        n->steps = n->x->dims[0];
        n->batch = n->x->dims[1];
        return true;
    }
    return false;
}

/* Every state given is [directions][batch][hidden]. */
static bool states_fit(struct ipex_import *import, const struct recurrent *n) {
    const int64_t wanted[3] = {n->directions, n->batch, n->hidden};
    for (size_t i = 0; i < 2; i++) {
        const struct ipex_value *state = n->state[i];
        for (int32_t k = 0; state && k < 3; k++) {
            if (state->rank == 3 && state->dims[k] == wanted[k])
                continue;
            ipex_import_refuse(
                import, "dim %d of its state %s is %s, but has to be %s%s", (int)k, state->name,
                state->rank == 3 ? ipex_import_text(import, state->dims[k]) : "missing",
                ipex_import_text(import, wanted[k]),
                state->rank == 3 ? ipex_import_make_equal(import, state->dims[k], wanted[k]) : "");
            return false;
        }
    }
    return true;
}

/* Binds y [T][D][B][H] and the states that are left [D][B][H]. */
static void recurrent_out(struct ipex_import *import, const struct recurrent *n,
                          struct ipex_value *y, struct ipex_value *const *left, size_t states) {
    static const int32_t batch_first[] = {2, 0, 1, 3};
    if (n->batch_first)
        y = ipex_build_transpose(import, y, batch_first);
    if (y)
        ipex_import_out(import, 0, y);
    for (size_t i = 0; i < states && i + 1 < import->node->outputs; i++) {
        struct ipex_value *state = laid_out(import, n, left[i]);
        if (state) {
            state->name = import->node->output[i + 1];
            ipex_import_out(import, i + 1, state);
        }
    }
}

/* Operands in the order of the plan operator, absent ones as NULL in between; results y, h[, c]. */
static void finish_recurrent(struct ipex_import *import, const struct recurrent *n, enum ipex_op op,
                             size_t states) {
    const int64_t y[4] = {n->steps, n->directions, n->batch, n->hidden},
                  h[3] = {n->directions, n->batch, n->hidden};
    struct ipex_value *operand[6] = {n->x, n->w, n->r, n->bias, n->state[0], n->state[1]};
    struct ipex_node *node =
        ipex_import_plan(import, op, IPEX_ORDER_logical, IPEX_DTYPE_f32, 4, y, false);
    for (size_t i = 0; i < 4 + states; i++)
        ipex_node_add_operand(node, operand[i]);
    node->u.plan.ints = 2;
    node->u.plan.int_[0] = n->directions;
    node->u.plan.int_[1] = n->reverse;
    for (size_t i = 0; i < states; i++) {
        const char *name = i + 1 < import->node->outputs && *import->node->output[i + 1]
                               ? import->node->output[i + 1]
                           : i ? "cell"
                               : "hidden";
        ipex_node_set_extra(node, (int32_t)i + 1,
                            ipex_graph_value(import->graph, name, IPEX_DTYPE_f32, 3, h));
    }
    if (op == IPEX_OP_gru) {
        node->u.plan.ints = 3;
        node->u.plan.int_[2] = ipex_import_int(import, "linear_before_reset", 0);
    }
    recurrent_out(import, n, node->output, node->extra_output, states);
}

static void import_lstm(struct ipex_import *import) {
    static const char *const acts[] = {"Sigmoid", "Tanh", "Tanh"};
    struct recurrent n = {0};
    if (!default_activations(import, acts, 3))
        ipex_import_refuse(import, "only the default activations are supported");
    else if (read_recurrent(import, &n, 4, 2) && states_fit(import, &n))
        finish_recurrent(import, &n, IPEX_OP_lstm, 2);
}

static void import_gru(struct ipex_import *import) {
    static const char *const acts[] = {"Sigmoid", "Tanh"};
    struct recurrent n = {0};
    if (!default_activations(import, acts, 2))
        ipex_import_refuse(import, "only the default activations are supported");
    else if (read_recurrent(import, &n, 3, 1) && states_fit(import, &n))
        finish_recurrent(import, &n, IPEX_OP_gru, 1);
}

/* RNN: h = act(x W + h R + bias), step by step: the products with x of all steps at once, then one
 * with the state at every step. */
enum { RNN_STEPS_MAX = 512 };

static bool read_rnn(struct ipex_import *import, struct recurrent *n, enum ipex_step *ret_act) {
    static const struct {
        const char *name;
        enum ipex_step step;
    } act[] = {{"Tanh", IPEX_STEP_tanh}, {"Relu", IPEX_STEP_max}, {"Sigmoid", IPEX_STEP_sigmoid}};
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "activations");
    ret_act[0] = ret_act[1] = IPEX_STEP_tanh;
    for (size_t i = 0; i < ipex_onnx_strings(attr) && i < 2; i++) {
        size_t k = 0;
        while (k < 3 && strcmp(attr->strings[i], act[k].name))
            k++;
        if (k == 3) {
            ipex_import_refuse(import, "activation %s; Tanh, Relu and Sigmoid are supported",
                               attr->strings[i]);
            return false;
        }
        ret_act[i] = act[k].step;
    }
    if (!read_recurrent(import, n, 1, 1) || !states_fit(import, n))
        return false;
    int64_t steps;
    if (!ipex_dim_number(&import->graph->dims, n->steps, &steps) || steps > RNN_STEPS_MAX)
        ipex_import_refuse(
            import, "%s steps, each of which becomes a layer: a number, at most %d, is supported",
            ipex_import_text(import, n->steps), RNN_STEPS_MAX);
    else if (n->bias && ipex_value_numel(n->bias) != n->directions * 2 * n->hidden)
        ipex_import_refuse(import, "the bias has %lld elements, %lld are expected",
                           (long long)ipex_value_numel(n->bias),
                           (long long)(n->directions * 2 * n->hidden));
    else
        return true;
    return false;
}

/* Weights of a direction. */
static struct ipex_value *of_direction(struct ipex_import *import, const struct ipex_value *w,
                                       int64_t d) {
    const float *data = (const void *)w->constant->data;
    return ipex_graph_constant(import->graph, w->name, IPEX_DTYPE_f32, 2, &w->dims[1],
                               data + d * w->dims[1] * w->dims[2]);
}

/* x W + bias of all steps [T][B][H] */
static struct ipex_value *rnn_inputs(struct ipex_import *import, const struct recurrent *n,
                                     int64_t d) {
    const int64_t hidden = n->hidden;
    struct ipex_value *y = ipex_build_linear(import, n->x, of_direction(import, n->w, d), false);
    if (!y || !n->bias)
        return y;
    double *bias = y->producer->fold.bias =
        ipex_arena_array(&import->graph->arena, (size_t)hidden, sizeof(double));
    for (int64_t i = 0; i < hidden; i++)
        bias[i] = ipex_constant_f64(n->bias, d * 2 * hidden + i) +
                  ipex_constant_f64(n->bias, (d * 2 + 1) * hidden + i);
    return y;
}

/* y of one direction [T][1][B][H]; *ret_last: the state that is left [1][B][H]. */
static struct ipex_value *rnn_direction(struct ipex_import *import, const struct recurrent *n,
                                        int64_t d, enum ipex_step act,
                                        struct ipex_value **ret_last) {
    const bool backwards = n->reverse || d == 1;
    const int64_t dims[] = {n->steps, 1, n->batch, n->hidden};
    struct ipex_value *inputs = rnn_inputs(import, n, d), *r = of_direction(import, n->r, d),
                      *h = n->state[0] ? ipex_build_slice(import, n->state[0], 0, d, 1) : NULL;
    struct ipex_value **y = ipex_arena_array(&import->graph->arena, (size_t)n->steps, sizeof *y);
    for (int64_t i = 0; i < n->steps; i++) {
        const int64_t t = backwards ? n->steps - 1 - i : i;
        struct ipex_value *x = ipex_build_slice(import, inputs, 0, t, 1);
        if (h)
            x = ipex_build_binary(import, IPEX_STEP_add, ipex_build_linear(import, h, r, false), x);
        h = y[t] = act == IPEX_STEP_max ? ipex_build_with(import, act, x, 0)
                                        : ipex_build_unary(import, act, x);
    }
    *ret_last = h;
    return ipex_build_reshape(
        import, n->steps == 1 ? h : ipex_build_concat(import, 0, (int32_t)n->steps, y), 4, dims);
}

static void import_rnn(struct ipex_import *import) {
    struct recurrent n = {0};
    enum ipex_step act[2];
    struct ipex_value *y[2], *last[2];
    if (!read_rnn(import, &n, act))
        return;
    for (int64_t d = 0; d < n.directions; d++)
        y[d] = rnn_direction(import, &n, d, act[d], &last[d]);
    if (n.directions == 2) {
        y[0] = ipex_build_concat(import, 1, 2, y);
        last[0] = ipex_build_concat(import, 0, 2, last);
    }
    recurrent_out(import, &n, y[0], last, 1);
}

const struct ipex_import_op ipex_import_sequence[] = {
    {"GRU", import_gru},
    {"LSTM", import_lstm},
    {"LayerNormalization", import_layer_norm},
    {"RMSNormalization", import_rms_norm},
    {"RNN", import_rnn},
    {"SimplifiedLayerNormalization", import_rms_norm},
    {NULL, NULL},
};
