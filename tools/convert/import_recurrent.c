/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's recurrent operators: LSTM and GRU are operators of the plan, where their activations are
 * the default ones; they and RNN become layers step by step otherwise. */
#include "tools/convert/import_recurrent.h"

#include <string.h>

/* y [T][D][B][H] and the states that are left, [D][B][H] each. */
typedef struct ipex_value *(*layer_fn)(struct ipex_import *import, const struct ipex_recurrent *n,
                                       struct ipex_value **ret_left);

/* A state or x with its first two axes the other way round, where the layout asks for that. */
static struct ipex_value *laid_out(struct ipex_import *import, const struct ipex_recurrent *n,
                                   struct ipex_value *x) {
    static const int32_t swap[] = {1, 0, 2};
    return n->batch_first && x && x->rank == 3 ? ipex_build_transpose(import, x, swap) : x;
}

/* Lengths that are known to be those of x are none. */
static bool read_lengths(struct ipex_import *import, struct ipex_recurrent *n) {
    const struct ipex_value *x = ipex_import_in(import, 4);
    int64_t steps;
    if (!x)
        return true;
    n->lengths = ipex_lengths_read(import, 4, n->steps, n->batch);
    if (!n->lengths || !x->constant || !ipex_dim_number(&import->graph->dims, n->steps, &steps))
        return n->lengths != NULL;
    bool whole = true;
    for (int64_t i = 0; i < ipex_value_numel(x); i++) {
        const int64_t length = ipex_constant_i64(x, i);
        if (length > steps) {
            ipex_import_refuse(import, "length %lld of %lld steps", (long long)length,
                               (long long)steps);
            return false;
        }
        whole = whole && length == steps;
    }
    if (whole)
        n->lengths = NULL;
    return true;
}

/* Every state given is [directions][batch][hidden]. */
static bool states_fit(struct ipex_import *import, const struct ipex_recurrent *n) {
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

static bool read_recurrent(struct ipex_import *import, struct ipex_recurrent *n, int64_t gates,
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
    n->batch_first = ipex_import_flag(import, "layout", false);
    n->x = laid_out(import, n, n->x);
    n->bias = ipex_import_in(import, 3);
    for (size_t i = 0; i < states; i++)
        n->state[i] = laid_out(import, n, ipex_import_in(import, 5 + i));
    const struct ipex_value *w = n->w, *r = n->r, *bias = n->bias;
    const int64_t biases = 2 * n->directions * gates * n->hidden;
    if (!w->constant || !r->constant || (bias && !bias->constant))
        ipex_import_refuse(import, "dynamic_weight: weights or bias are computed at run time");
    else if (n->x->rank != 3 || w->rank != 3 || r->rank != 3 || w->dims[0] != n->directions ||
             r->dims[0] != n->directions || w->dims[1] != gates * n->hidden ||
             r->dims[1] != gates * n->hidden || r->dims[2] != n->hidden ||
             w->dims[2] != n->x->dims[2])
        ipex_import_refuse(import,
                           "the shapes of input, weights and hidden_size %lld do not fit together",
                           (long long)n->hidden);
    else if (bias && ipex_value_numel(bias) != biases)
        ipex_import_refuse(import, "the bias has %lld elements, %lld are expected",
                           (long long)ipex_value_numel(bias), (long long)biases);
    else {
        n->steps = n->x->dims[0];
        n->batch = n->x->dims[1];
        return read_lengths(import, n) && states_fit(import, n) &&
               ipex_recurrent_read_acts(import, n);
    }
    return false;
}

/* Binds y [T][D][B][H] and the states that are left [D][B][H]. */
static void recurrent_out(struct ipex_import *import, const struct ipex_recurrent *n,
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

/* ---- one direction at a time ---- */

struct ipex_value *ipex_recurrent_row(struct ipex_import *import, const struct ipex_value *x,
                                      int64_t d, int32_t rank, const int64_t *dims) {
    int64_t count = 1;
    if (!x)
        return NULL;
    for (int32_t i = 0; i < rank; i++)
        count *= dims[i];
    return ipex_build_part(import, x, d * count, rank, dims);
}

static struct ipex_recurrent direction(struct ipex_import *import, const struct ipex_recurrent *n,
                                       int64_t d) {
    const int64_t rows = n->gates * n->hidden, w[3] = {1, rows, n->w->dims[2]},
                  r[3] = {1, rows, n->hidden}, bias[2] = {1, 2 * rows},
                  peepholes[2] = {1, 3 * n->hidden};
    struct ipex_recurrent one = *n;
    one.reverse = n->reverse || d == 1;
    memcpy(one.act[0], n->act[d], sizeof one.act[0]);
    if (n->directions == 1)
        return one;
    one.directions = 1;
    one.w = ipex_recurrent_row(import, n->w, d, 3, w);
    one.r = ipex_recurrent_row(import, n->r, d, 3, r);
    one.bias = ipex_recurrent_row(import, n->bias, d, 2, bias);
    one.peepholes = ipex_recurrent_row(import, n->peepholes, d, 2, peepholes);
    for (size_t i = 0; i < 2; i++)
        if (n->state[i])
            one.state[i] = ipex_build_slice(import, n->state[i], 0, d, 1);
    return one;
}

/* An LSTM keeps its c past the end of a sequence: a further input, 1 there, closes the input gate
 * and opens the one that forgets nothing. (The state h that is left is looked up in y.) */
static void keep_cell(struct ipex_import *import, struct ipex_recurrent *n,
                      struct ipex_value *past) {
    enum { CLOSED = -10000 };
    const int64_t inputs = n->w->dims[2], rows = n->w->dims[1], dims[3] = {1, rows, inputs + 1};
    float *w = ipex_arena_array(&import->graph->arena, (size_t)(rows * (inputs + 1)), sizeof *w);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t gate = i / n->hidden; /* i o f c */
        for (int64_t k = 0; k < inputs; k++)
            w[i * (inputs + 1) + k] = (float)ipex_constant_f64(n->w, i * inputs + k);
        w[i * (inputs + 1) + inputs] = gate == 0 ? CLOSED : gate == 2 ? -CLOSED : 0;
    }
    n->w = ipex_graph_constant(import->graph, n->w->name, IPEX_DTYPE_f32, 3, dims, w);
    struct ipex_value *zero = ipex_build_number(import, IPEX_DTYPE_f32, 0);
    struct ipex_value *const x[2] = {ipex_build_where(import, past, zero, n->x),
                                     ipex_build_cast(import, past, IPEX_DTYPE_f32)};
    n->x = x[0] && x[1] ? ipex_build_concat(import, 2, 2, x) : NULL;
}

/* Sequences that end before x does: y is 0 past their ends, backwards begins there. */
static struct ipex_value *ending(struct ipex_import *import, const struct ipex_recurrent *one,
                                 layer_fn layer, struct ipex_value **ret_left) {
    const int64_t steps[3] = {one->steps, one->batch, one->hidden},
                  column[3] = {one->steps, one->batch, 1},
                  y4[4] = {one->steps, 1, one->batch, one->hidden},
                  left[3] = {1, one->batch, one->hidden};
    struct ipex_recurrent n = *one;
    struct ipex_value *past =
        ipex_build_reshape(import, ipex_lengths_past(import, n.lengths, n.steps), 3, column);
    n.reverse = false;
    if (one->reverse)
        n.x = ipex_lengths_reverse(import, n.x, n.lengths, 0);
    if (n.gates == 4 && n.x && past)
        keep_cell(import, &n, past);
    if (!n.x || !past)
        return NULL;
    struct ipex_value *y = ipex_build_reshape(import, layer(import, &n, ret_left), 3, steps);
    struct ipex_value *none = ipex_build_reshape(import, n.state[0], 2, &left[1]);
    ret_left[0] =
        ipex_build_reshape(import, ipex_lengths_last(import, y, n.lengths, none), 3, left);
    y = ipex_build_where(import, past, ipex_build_number(import, IPEX_DTYPE_f32, 0), y);
    if (one->reverse)
        y = ipex_lengths_reverse(import, y, n.lengths, 0);
    return ipex_build_reshape(import, y, 4, y4);
}

/* Every direction as a layer of its own; what is unrolled minds lengths itself. */
static struct ipex_value *by_direction(struct ipex_import *import, const struct ipex_recurrent *n,
                                       layer_fn layer, size_t states,
                                       struct ipex_value **ret_left) {
    struct ipex_value *y[2], *left[2][2] = {{NULL}};
    for (int64_t d = 0; d < n->directions; d++) {
        const struct ipex_recurrent one = direction(import, n, d);
        y[d] = n->lengths && layer != ipex_recurrent_unrolled ? ending(import, &one, layer, left[d])
                                                              : layer(import, &one, left[d]);
        if (!y[d])
            return NULL;
    }
    for (size_t i = 0; i < states; i++) {
        struct ipex_value *const both[2] = {left[0][i], left[1][i]};
        ret_left[i] = n->directions == 2 ? ipex_build_concat(import, 0, 2, both) : both[0];
    }
    return n->directions == 2 ? ipex_build_concat(import, 1, 2, y) : y[0];
}

/* ---- LSTM, GRU ---- */

/* Operands in the order of the plan operator, absent ones as NULL in between; results y, h[, c]. */
static struct ipex_value *plan_layer(struct ipex_import *import, const struct ipex_recurrent *n,
                                     struct ipex_value **ret_left) {
    const enum ipex_op op = n->gates == 4 ? IPEX_OP_lstm : IPEX_OP_gru;
    const size_t states = op == IPEX_OP_lstm ? 2 : 1;
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
        ret_left[i] = ipex_graph_value(import->graph, i ? "cell" : "hidden", IPEX_DTYPE_f32, 3, h);
        ipex_node_set_extra(node, (int32_t)i + 1, ret_left[i]);
    }
    if (op == IPEX_OP_gru) {
        node->u.plan.ints = 3;
        node->u.plan.int_[2] = n->reset_last;
    }
    return node->output;
}

/* Whether the steps are a number that may become layers; refuses otherwise. */
static bool can_unroll(struct ipex_import *import, const struct ipex_recurrent *n) {
    int64_t steps;
    if (ipex_dim_number(&import->graph->dims, n->steps, &steps) && steps <= IPEX_UNROLLED_MAX)
        return true;
    ipex_import_refuse(import,
                       "%s steps, each of which becomes layers where activations are not the "
                       "default ones or there are clip, peepholes or input_forget: a number, at "
                       "most %d, is supported",
                       ipex_import_text(import, n->steps), IPEX_UNROLLED_MAX);
    return false;
}

static void import_gated(struct ipex_import *import, int64_t gates) {
    const size_t states = gates == 4 ? 2 : 1;
    struct ipex_recurrent n = {.reset_last =
                                   ipex_import_flag(import, "linear_before_reset", false)};
    struct ipex_value *left[2] = {NULL, NULL}, *y;
    if (!read_recurrent(import, &n, gates, states) || (!n.plain && !can_unroll(import, &n)))
        return;
    if (!n.plain)
        y = by_direction(import, &n, ipex_recurrent_unrolled, states, left);
    else if (n.lengths)
        y = by_direction(import, &n, plan_layer, states, left);
    else
        y = plan_layer(import, &n, left);
    recurrent_out(import, &n, y, left, states);
}

static void import_lstm(struct ipex_import *import) {
    import_gated(import, 4);
}
static void import_gru(struct ipex_import *import) {
    import_gated(import, 3);
}

/* ---- RNN ---- */

/* What a constant [D][count], or a bias [D][2][count], is for a GRU whose third gate has it; the
 * two before it have these numbers, and 0 on the second side of a bias. */
static struct ipex_value *third_gate(struct ipex_import *import, const struct ipex_value *x,
                                     const struct ipex_recurrent *n, int32_t rank,
                                     const int64_t *dims, const float *others) {
    const int64_t sides = rank == 2 ? 2 : 1, count = ipex_value_numel(x) / n->directions / sides;
    float *data = ipex_arena_array(&import->graph->arena, (size_t)(3 * ipex_value_numel(x)),
                                   sizeof *data),
          *to = data;
    for (int64_t i = 0; i < n->directions * sides; i++)
        for (int gate = 0; gate < 3; gate++)
            for (int64_t k = 0; k < count; k++)
                *to++ = gate < 2 ? i % sides ? 0 : others[gate]
                                 : (float)ipex_constant_f64(x, i * count + k);
    return ipex_graph_constant(import->graph, x->name, IPEX_DTYPE_f32, rank, dims, data);
}

/* An RNN of tanh as a GRU that takes nothing of the state over and resets nothing: any number of
 * steps, for three times the products. */
static void as_gru(struct ipex_import *import, struct ipex_recurrent *n) {
    static const float none[2] = {0, 0}, gates[2] = {-10000, 10000};
    const int64_t rows = 3 * n->hidden, w[3] = {n->directions, rows, n->w->dims[2]},
                  r[3] = {n->directions, rows, n->hidden}, bias[2] = {n->directions, 2 * rows};
    if (!n->bias) {
        const int64_t zeros[2] = {n->directions, 2 * n->hidden};
        n->bias = ipex_graph_constant(
            import->graph, "bias", IPEX_DTYPE_f32, 2, zeros,
            ipex_arena_array(&import->graph->arena, (size_t)(zeros[0] * zeros[1]), sizeof(float)));
    }
    n->w = third_gate(import, n->w, n, 3, w, none);
    n->r = third_gate(import, n->r, n, 3, r, none);
    n->bias = third_gate(import, n->bias, n, 2, bias, gates);
    n->gates = 3;
    n->reset_last = 1;
}

static void import_rnn(struct ipex_import *import) {
    struct ipex_recurrent n = {.reset_last = 0};
    struct ipex_value *left[2] = {NULL, NULL};
    int64_t steps;
    if (!read_recurrent(import, &n, 1, 1))
        return;
    const bool few =
        ipex_dim_number(&import->graph->dims, n.steps, &steps) && steps <= IPEX_UNROLLED_MAX;
    if (!few && !n.plain && !can_unroll(import, &n))
        return;
    if (!few)
        as_gru(import, &n);
    recurrent_out(import, &n,
                  by_direction(import, &n, few ? ipex_recurrent_unrolled : plan_layer, 1, left),
                  left, 1);
}

const struct ipex_import_op ipex_import_recurrent[] = {
    {"GRU", import_gru},
    {"LSTM", import_lstm},
    {"RNN", import_rnn},
    {NULL, NULL},
};
