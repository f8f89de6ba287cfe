/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle of products of activations, attention, norms and recurrent layers. Sums are in the
 * order that the kernels promise, so results are equal bit for bit but where exp or tanh, which are
 * libm's here, come in. */
#include <math.h>
#include <string.h>

#include "tests/runtime/net.h"

/* The dim of a tensor that is dim d where rows come behind the heads. */
static int dim_of(const struct net_tensor *t, int rows, int d) {
    const int first = rows == IPEX_ROWS_first ? 0 : t->rank - 3;
    if (rows == IPEX_ROWS_behind_heads || d < first || d == t->rank - 1)
        return d;
    return d == t->rank - 2 ? first : d + 1;
}

/* Element [row][column] of the matrix of operand x that belongs to y's batch index `at`: aligned at
 * the last, broadcast, and heads of q shared by `group`. */
static float matrix_at(const struct net *net, int x, int y, int rows, const int64_t *at,
                       int64_t group, int64_t row, int64_t column) {
    const struct net_tensor *t = &net->tensor[x];
    const int missing = net->tensor[y].rank - t->rank;
    int64_t in[8] = {0};
    for (int d = 0; d < t->rank; d++) {
        const int64_t i = d == t->rank - 1   ? column
                          : d == t->rank - 2 ? row
                          : d == t->rank - 3 ? at[d + missing] / group
                                             : at[d + missing];
        const int to = dim_of(t, rows, d);
        in[to] = t->dims[to] == 1 ? 0 : i;
    }
    return *net_element(net, x, in);
}

/* Of bytes, whose sums are those of 64-bit integers. */
static float matmul_u8_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *a = &net->tensor[node->inputs[0]];
    const int y = node->output[0], rank = net->tensor[y].rank;
    const int64_t row = at[rank - 2], column = at[rank - 1];
    const int32_t *zero = node->ints + IPEX_MATMUL_A_ZERO;
    const float *s = node->floats;
    const bool transposed = node->ints[IPEX_MATMUL_TRANS_B] != 0;
    int64_t products = 0, sum = 0;
    for (int64_t k = 0; k < a->dims[a->rank - 1]; k++) {
        const int64_t b = (int64_t)matrix_at(net, node->inputs[1], y, 0, at, 1,
                                             transposed ? column : k, transposed ? k : column);
        products += (int64_t)matrix_at(net, node->inputs[0], y, 0, at, 1, row, k) * (b - zero[1]);
        sum += b - zero[1];
    }
    const float bias = s[IPEX_MATMUL_SCALE] * (float)(-zero[0] * sum);
    const float v = fmaf((float)products, s[IPEX_MATMUL_SCALE], bias);
    if (s[IPEX_MATMUL_Y_SCALE] == 0.0f)
        return v;
    return net_to_byte((float)rint((double)v * (double)s[IPEX_MATMUL_Y_SCALE]) +
                       s[IPEX_MATMUL_Y_ZERO]);
}

static float matmul_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *a = &net->tensor[node->inputs[0]];
    const int y = node->output[0], rank = net->tensor[y].rank;
    const int64_t row = at[rank - 2], column = at[rank - 1];
    const bool transposed = node->ints[0] != 0;
    struct net_chain chain = net_chain_begin(net, node->inputs[0], 0.0f);
    for (int64_t k = 0; k < a->dims[a->rank - 1]; k++)
        net_chain_add(&chain, matrix_at(net, node->inputs[0], y, 0, at, 1, row, k),
                      matrix_at(net, node->inputs[1], y, 0, at, 1, transposed ? column : k,
                                transposed ? k : column));
    net_chain_end(&chain);
    return node->floats[0] * chain.sum;
}

static int64_t heads_of(const struct net_tensor *t, int rows) {
    return t->rank > 2 ? t->dims[dim_of(t, rows, t->rank - 3)] : 1;
}

static int64_t rows_of(const struct net_tensor *t, int rows) {
    return t->dims[dim_of(t, rows, t->rank - 2)];
}

/* Score of key j for y's row `at`, whose rows come behind the heads. */
static double score(const struct net *net, const struct net_node *node, const int64_t *at,
                    int64_t group, int64_t j) {
    const struct net_tensor *q = &net->tensor[node->inputs[0]], *k = &net->tensor[node->inputs[1]];
    const int y = node->output[0], rank = net->tensor[y].rank, rows = node->ints[1];
    double sum = 0;
    if (node->ints[0] != 0 && j > at[rank - 2] + rows_of(k, rows) - rows_of(q, rows))
        return -INFINITY;
    for (int64_t c = 0; c < k->dims[k->rank - 1]; c++)
        sum += (double)matrix_at(net, node->inputs[0], y, rows, at, 1, at[rank - 2], c) *
               (double)matrix_at(net, node->inputs[1], y, rows, at, group, j, c);
    sum *= (double)node->floats[0];
    if (node->n_inputs > 3)
        sum += (double)matrix_at(net, node->inputs[3], y, 0, at, 1, at[rank - 2], j);
    return sum;
}

static float attention_at(const struct net *net, const struct net_node *node,
                          const int64_t *place) {
    const struct net_tensor *k = &net->tensor[node->inputs[1]];
    const struct net_tensor *v = &net->tensor[node->inputs[2]];
    const int y = node->output[0], rank = net->tensor[y].rank, rows = node->ints[1];
    const int64_t k_heads = heads_of(k, rows), v_heads = heads_of(v, rows);
    const int64_t shared = k_heads > v_heads ? k_heads : v_heads;
    const int64_t group = shared > 1 ? heads_of(&net->tensor[y], rows) / shared : 1;
    int64_t at[8];
    for (int d = 0; d < rank; d++)
        at[d] = place[dim_of(&net->tensor[y], rows, d)];
    double sum = 0, weighted = 0;
    for (int64_t j = 0; j < rows_of(k, rows); j++) {
        const double e = exp(score(net, node, at, group, j));
        sum += e;
        weighted +=
            e * (double)matrix_at(net, node->inputs[2], y, rows, at, group, j, at[rank - 1]);
    }
    return (float)(weighted / sum);
}

/* Lane i with lane i + 8, then + 4, + 2, + 1. */
static float tree(float lane[16]) {
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

static float affine(const struct net *net, const struct net_node *node, float difference,
                    float variance, int64_t channel) {
    const int gamma = node->n_inputs > 1 ? node->inputs[1] : -1;
    const int beta = node->n_inputs > 2 ? node->inputs[2] : -1;
    const float inverse = 1.0f / sqrtf(variance + node->floats[0]);
    const float factor =
        gamma >= 0 ? *net_element(net, gamma, (int64_t[8]){channel}) * inverse : inverse;
    const float y = fmaf(difference, factor,
                         beta >= 0 ? *net_element(net, beta, (int64_t[8]){channel}) : -0.0f);
    return node->ints[1] == IPEX_ACT_relu && y < 0.0f ? 0.0f : y;
}

/* Mean over the row of `at` of x, or with `squares` of (x - mean)^2. */
static float row_mean(const struct net *net, int x, const int64_t *at, bool squares, float mean) {
    const int last = net->tensor[x].rank - 1;
    float lane[16] = {0};
    int64_t in[8];
    memcpy(in, at, sizeof in);
    for (in[last] = 0; in[last] < net->tensor[x].dims[last]; in[last]++) {
        const float d = *net_element(net, x, in) - mean;
        lane[in[last] % 16] = squares ? fmaf(d, d, lane[in[last] % 16]) : lane[in[last] % 16] + d;
    }
    return tree(lane) / (float)net->tensor[x].dims[last];
}

static float layer_norm_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const int x = node->inputs[0], last = net->tensor[x].rank - 1;
    const float mean = node->ints[0] == 1 ? 0.0f : row_mean(net, x, at, false, 0.0f);
    const float variance = row_mean(net, x, at, true, mean);
    return affine(net, node, *net_element(net, x, at) - mean, variance, at[last]);
}

/* The same over the group of channel at[3]. */
static float group_mean(const struct net *net, const struct net_node *node, const int64_t *at,
                        bool squares, float mean) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]];
    const int64_t per_group = x->dims[3] / node->ints[0], first = at[3] / per_group * per_group;
    float lane[16] = {0};
    for (int64_t c = 0; c < per_group; c++) {
        float sum = 0.0f;
        for (int64_t h = 0; h < x->dims[1]; h++) {
            float chain = 0.0f;
            for (int64_t w = 0; w < x->dims[2]; w++) {
                const int64_t in[8] = {at[0], h, w, first + c};
                const float d = *net_element(net, node->inputs[0], in) - mean;
                chain = squares ? fmaf(d, d, chain) : chain + d;
            }
            sum += chain;
        }
        lane[c % 16] += sum;
    }
    return tree(lane) / (float)(x->dims[1] * x->dims[2] * per_group);
}

static float group_norm_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const float mean = group_mean(net, node, at, false, 0.0f);
    const float variance = group_mean(net, node, at, true, mean);
    return affine(net, node, *net_element(net, node->inputs[0], at) - mean, variance, at[3]);
}

/* ---- recurrent layers, in f64 ---- */

enum { MOST_HIDDEN = 64 };

/* One direction of one batch element. */
struct sequence {
    const struct net *net;
    const struct net_node *node;
    int64_t d, b, gates, hidden;
    double h[MOST_HIDDEN], c[MOST_HIDDEN];
};

static int optional(const struct net_node *node, int i) {
    return i < node->n_inputs ? node->inputs[i] : -1;
}

static double bias_at(const struct sequence *s, int64_t gate) {
    const int bias = optional(s->node, 3);
    return bias >= 0 ? (double)*net_element(s->net, bias, (int64_t[8]){s->d, gate}) : 0;
}

static double input_gate(const struct sequence *s, int64_t t, int64_t gate) {
    const struct net_tensor *w = &s->net->tensor[s->node->inputs[1]];
    const float *row = w->value + (s->d * w->dims[2] + gate) * w->dims[4];
    double sum = bias_at(s, gate);
    for (int64_t i = 0; i < w->dims[4]; i++)
        sum += (double)row[i] *
               (double)*net_element(s->net, s->node->inputs[0], (int64_t[8]){t, s->b, i});
    return sum;
}

static double hidden_gate(const struct sequence *s, const double *h, int64_t gate) {
    const struct net_tensor *r = &s->net->tensor[s->node->inputs[2]];
    const float *row = r->value + (s->d * r->dims[2] + gate) * r->dims[4];
    double sum = bias_at(s, s->gates * s->hidden + gate);
    for (int64_t i = 0; i < s->hidden; i++)
        sum += (double)row[i] * h[i];
    return sum;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double gate_of(const struct sequence *s, int64_t t, int64_t kind, int64_t j) {
    const int64_t gate = kind * s->hidden + j;
    return sigmoid(input_gate(s, t, gate) + hidden_gate(s, s->h, gate));
}

static void lstm_step(struct sequence *s, int64_t t) {
    double next[MOST_HIDDEN] = {0};
    for (int64_t j = 0; j < s->hidden; j++) {
        const int64_t g = 3 * s->hidden + j;
        s->c[j] = gate_of(s, t, 2, j) * s->c[j] +
                  gate_of(s, t, 0, j) * tanh(input_gate(s, t, g) + hidden_gate(s, s->h, g));
        next[j] = gate_of(s, t, 1, j) * tanh(s->c[j]);
    }
    memcpy(s->h, next, sizeof next);
}

static void gru_step(struct sequence *s, int64_t t) {
    double next[MOST_HIDDEN] = {0}, with[MOST_HIDDEN];
    for (int64_t j = 0; j < s->hidden; j++)
        with[j] = gate_of(s, t, 1, j) * s->h[j];
    for (int64_t j = 0; j < s->hidden; j++) {
        const int64_t g = 2 * s->hidden + j;
        const double z = gate_of(s, t, 0, j);
        const double p = s->node->ints[2] != 0 ? gate_of(s, t, 1, j) * hidden_gate(s, s->h, g)
                                               : hidden_gate(s, with, g);
        next[j] = (1 - z) * tanh(input_gate(s, t, g) + p) + z * s->h[j];
    }
    memcpy(s->h, next, sizeof next);
}

static void load_state(const struct sequence *s, int tensor, double *state) {
    for (int64_t j = 0; tensor >= 0 && j < s->hidden; j++)
        state[j] = (double)*net_element(s->net, tensor, (int64_t[8]){s->d, s->b, j});
}

/* y [T][D][B][H], or a state [D][B][H] after the last step. */
static float recurrent_at(const struct net *net, const struct net_node *node, int output,
                          const int64_t *at) {
    const struct net_tensor *y = &net->tensor[node->output[0]];
    const bool lstm = node->op == IPEX_OP_lstm;
    const int64_t *state = output == 0 ? at + 1 : at;
    struct sequence s = {.net = net,
                         .node = node,
                         .d = state[0],
                         .b = state[1],
                         .gates = lstm ? 4 : 3,
                         .hidden = y->dims[3]};
    const bool backwards = s.d == 1 || node->ints[1] != 0;
    const int64_t last = y->dims[0] - 1;
    const int64_t steps = output > 0 ? last + 1 : backwards ? last - at[0] + 1 : at[0] + 1;
    load_state(&s, optional(node, 4), s.h);
    load_state(&s, optional(node, 5), s.c);
    for (int64_t t = 0; t < steps; t++)
        (lstm ? lstm_step : gru_step)(&s, backwards ? last - t : t);
    return (float)(output == 2 ? s.c[state[2]] : s.h[state[2]]);
}

bool net_product_at(const struct net *net, const struct net_node *node, int output,
                    const int64_t *at, float *ret) {
    switch (node->op) {
    case IPEX_OP_lstm:
    case IPEX_OP_gru:
        *ret = recurrent_at(net, node, output, at);
        return true;
    case IPEX_OP_matmul:
        *ret = net->tensor[node->inputs[0]].dtype == IPEX_DTYPE_u8 ? matmul_u8_at(net, node, at)
                                                                   : matmul_at(net, node, at);
        return true;
    case IPEX_OP_attention:
        *ret = attention_at(net, node, at);
        return true;
    case IPEX_OP_layer_norm:
        *ret = layer_norm_at(net, node, at);
        return true;
    case IPEX_OP_group_norm:
        *ret = group_norm_at(net, node, at);
        return true;
    default:
        return false;
    }
}
