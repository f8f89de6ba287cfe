/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle of products of activations, attention, norms and recurrent layers. Sums are in the
 * order that the kernels promise, so results are equal bit for bit but where exp or tanh, which are
 * libm's here, come in. */
#include <math.h>
#include <string.h>

#include "tests/runtime/net.h"

/* Element [row][column] of the matrix of operand x that belongs to y's batch index `at`: aligned at
 * the last, broadcast, and heads of q shared by `group`. */
static float matrix_at(const struct net *net, int x, int y, const int64_t *at, int64_t group,
                       int64_t row, int64_t column) {
    const struct net_tensor *t = &net->tensor[x];
    const int missing = net->tensor[y].rank - t->rank;
    int64_t in[8] = {0};
    for (int d = 0; d < t->rank; d++) {
        const int64_t i = d == t->rank - 1   ? column
                          : d == t->rank - 2 ? row
                          : d == t->rank - 3 ? at[d + missing] / group
                                             : at[d + missing];
        in[d] = t->dims[d] == 1 ? 0 : i;
    }
    return *net_element(net, x, in);
}

static float matmul_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *a = &net->tensor[node->inputs[0]];
    const int y = node->output[0], rank = net->tensor[y].rank;
    const int64_t row = at[rank - 2], column = at[rank - 1];
    const bool transposed = node->ints[0] != 0;
    float chain = 0.0f;
    for (int64_t k = 0; k < a->dims[a->rank - 1]; k++)
        chain = fmaf(matrix_at(net, node->inputs[0], y, at, 1, row, k),
                     matrix_at(net, node->inputs[1], y, at, 1, transposed ? column : k,
                               transposed ? k : column),
                     chain);
    return node->floats[0] * chain;
}

static int64_t heads_of(const struct net_tensor *t) {
    return t->rank > 2 ? t->dims[t->rank - 3] : 1;
}

/* Score of key j for y's row `at`. */
static double score(const struct net *net, const struct net_node *node, const int64_t *at,
                    int64_t group, int64_t j) {
    const struct net_tensor *q = &net->tensor[node->inputs[0]], *k = &net->tensor[node->inputs[1]];
    const int y = node->output[0], rank = net->tensor[y].rank;
    double sum = 0;
    if (node->ints[0] != 0 && j > at[rank - 2] + k->dims[k->rank - 2] - q->dims[q->rank - 2])
        return -INFINITY;
    for (int64_t c = 0; c < k->dims[k->rank - 1]; c++)
        sum += (double)matrix_at(net, node->inputs[0], y, at, 1, at[rank - 2], c) *
               (double)matrix_at(net, node->inputs[1], y, at, group, j, c);
    sum *= (double)node->floats[0];
    if (node->n_inputs > 3)
        sum += (double)matrix_at(net, node->inputs[3], y, at, 1, at[rank - 2], j);
    return sum;
}

static float attention_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *k = &net->tensor[node->inputs[1]];
    const struct net_tensor *v = &net->tensor[node->inputs[2]];
    const int y = node->output[0], rank = net->tensor[y].rank;
    const int64_t shared = heads_of(k) > heads_of(v) ? heads_of(k) : heads_of(v);
    const int64_t group = shared > 1 ? heads_of(&net->tensor[y]) / shared : 1;
    double sum = 0, weighted = 0;
    for (int64_t j = 0; j < k->dims[k->rank - 2]; j++) {
        const double e = exp(score(net, node, at, group, j));
        sum += e;
        weighted += e * (double)matrix_at(net, node->inputs[2], y, at, group, j, at[rank - 1]);
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

bool net_product_at(const struct net *net, const struct net_node *node, int output,
                    const int64_t *at, float *ret) {
    (void)output; /* of operators that have several */
    switch (node->op) {
    case IPEX_OP_matmul:
        *ret = matmul_at(net, node, at);
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
