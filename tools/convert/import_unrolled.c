/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers that become layers step by step: RNN, and LSTM and GRU of other activations than
 * the default ones, with clip, peepholes or coupled gates. */
#include "tools/convert/import_recurrent.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- activations ---- */

enum kind {
    SIGMOID,
    TANH,
    RELU,
    AFFINE,
    ELU,
    HARD_SIGMOID,
    LEAKY_RELU,
    SCALED_TANH,
    SOFTPLUS,
    SOFTSIGN,
    THRESHOLDED_RELU,
    KINDS,
};

static const struct {
    const char *name;
    bool has_alpha, has_beta;
    float alpha, beta; /* where they are not given */
} kinds[KINDS] = {
    [SIGMOID] = {"Sigmoid", false, false, 0, 0},
    [TANH] = {"Tanh", false, false, 0, 0},
    [RELU] = {"Relu", false, false, 0, 0},
    [AFFINE] = {"Affine", true, true, 1, 0},
    [ELU] = {"Elu", true, false, 1, 0},
    [HARD_SIGMOID] = {"HardSigmoid", true, true, 0.2f, 0.5f},
    [LEAKY_RELU] = {"LeakyRelu", true, false, 0.01f, 0},
    [SCALED_TANH] = {"ScaledTanh", true, true, 1, 1},
    [SOFTPLUS] = {"Softplus", false, false, 0, 0},
    [SOFTSIGN] = {"Softsign", false, false, 0, 0},
    [THRESHOLDED_RELU] = {"ThresholdedRelu", true, false, 1, 0},
};

static int64_t kind_of(struct ipex_import *import, const char *name) {
    for (int64_t i = 0; i < KINDS; i++)
        if (!strcasecmp(name, kinds[i].name))
            return i;
    ipex_import_refuse(import, "activation %s is not supported", name);
    return -1;
}

/* The next of a list of which activations take what they have, or what is so where none is left. */
static float taken(const struct ipex_onnx_attr *list, bool has, float otherwise, size_t *at) {
    return has && *at < ipex_onnx_floats(list) ? list->floats[(*at)++] : otherwise;
}

static struct ipex_value *activated(struct ipex_import *import,
                                    const struct ipex_recurrent_act *act, struct ipex_value *x) {
    switch (act->kind) {
    case SIGMOID:
        return ipex_build_unary(import, IPEX_STEP_sigmoid, x);
    case TANH:
        return ipex_build_unary(import, IPEX_STEP_tanh, x);
    case RELU:
        return ipex_build_with(import, IPEX_STEP_max, x, 0);
    case AFFINE:
    case HARD_SIGMOID:
        x = ipex_build_with(import, IPEX_STEP_mul, x, act->alpha);
        x = ipex_build_with(import, IPEX_STEP_add, x, act->beta);
        if (act->kind == AFFINE)
            return x;
        return ipex_build_with(import, IPEX_STEP_min, ipex_build_with(import, IPEX_STEP_max, x, 0),
                               1);
    case ELU:
        return ipex_build_with(import, IPEX_STEP_elu, x, act->alpha);
    case LEAKY_RELU:
        return ipex_build_with(import, IPEX_STEP_leaky, x, act->alpha);
    case SCALED_TANH:
        x = ipex_build_with(import, IPEX_STEP_mul, x, act->beta);
        return ipex_build_with(import, IPEX_STEP_mul, ipex_build_unary(import, IPEX_STEP_tanh, x),
                               act->alpha);
    case SOFTPLUS:
        return ipex_build_unary(import, IPEX_STEP_softplus, x);
    case SOFTSIGN:
        return ipex_build_binary(
            import, IPEX_STEP_div, x,
            ipex_build_with(import, IPEX_STEP_add, ipex_build_unary(import, IPEX_STEP_abs, x), 1));
    default: {
        struct ipex_value *least = ipex_build_number(import, IPEX_DTYPE_f32, (double)act->alpha);
        return ipex_build_where(import, ipex_build_compare(import, IPEX_COMPARE_greater, x, least),
                                x, ipex_build_number(import, IPEX_DTYPE_f32, 0));
    }
    }
}

bool ipex_recurrent_read_acts(struct ipex_import *import, struct ipex_recurrent *n) {
    static const enum kind of_gates[3] = {SIGMOID, TANH, TANH}, of_rnn[1] = {TANH};
    const enum kind *otherwise = n->gates == 1 ? of_rnn : of_gates;
    const size_t count = n->gates == 1 ? 1 : n->gates == 3 ? 2 : 3;
    const struct ipex_onnx_attr *names = ipex_import_attr(import, "activations"),
                                *alphas = ipex_import_attr(import, "activation_alpha"),
                                *betas = ipex_import_attr(import, "activation_beta");
    size_t alpha = 0, beta = 0;
    if (names && ipex_onnx_strings(names) != count * (size_t)n->directions) {
        ipex_import_refuse(import, "%zu activations; %zu are expected", ipex_onnx_strings(names),
                           count * (size_t)n->directions);
        return false;
    }
    n->peepholes = ipex_import_in(import, 7);
    n->clip = ipex_import_float(import, "clip", 0);
    n->coupled = ipex_import_flag(import, "input_forget", false);
    n->plain = !n->peepholes && n->clip == 0 && !n->coupled;
    for (size_t i = 0; i < count * (size_t)n->directions; i++) {
        struct ipex_recurrent_act *act = &n->act[i / count][i % count];
        act->kind = names ? kind_of(import, names->strings[i]) : (int64_t)otherwise[i % count];
        if (act->kind < 0)
            return false;
        act->alpha = taken(alphas, kinds[act->kind].has_alpha, kinds[act->kind].alpha, &alpha);
        act->beta = taken(betas, kinds[act->kind].has_beta, kinds[act->kind].beta, &beta);
        n->plain = n->plain && act->kind == (int64_t)otherwise[i % count];
    }
    if (n->peepholes && (!n->peepholes->constant ||
                         ipex_value_numel(n->peepholes) != 3 * n->directions * n->hidden)) {
        ipex_import_refuse(import,
                           "the peepholes %s are no constant of three for every hidden unit",
                           n->peepholes->name);
        return false;
    }
    return true;
}

/* ---- steps ---- */

struct unrolled {
    const struct ipex_recurrent *n;
    struct ipex_value *inputs;      /* x W + biases of all steps [T][B][gates H] */
    struct ipex_value *r, *r_reset; /* [gates H][H]; a GRU's: of its first two gates, its third */
    struct ipex_value *reset_bias;  /* GRU with reset_last: of r_reset [H], or NULL */
    struct ipex_value *peephole[3]; /* i o f: [H], or NULL */
    struct ipex_value *h, *c;       /* [1][B][H] */
};

/* Rows [from, from + count) of a constant matrix [1][rows][K]. */
static struct ipex_value *rows_of(struct ipex_import *import, const struct ipex_value *x,
                                  int64_t from, int64_t count) {
    const int64_t dims[2] = {count, x->dims[2]};
    return ipex_build_part(import, x, from * dims[1], 2, dims);
}

/* x W and both biases; that of a GRU's R h, which the reset gate scales, is not added. */
static struct ipex_value *inputs_of(struct ipex_import *import, const struct ipex_recurrent *n) {
    const int64_t rows = n->gates * n->hidden,
                  alone = n->gates == 3 && n->reset_last ? 2 * n->hidden : rows;
    struct ipex_value *y = ipex_build_linear(import, n->x, rows_of(import, n->w, 0, rows), false);
    if (!y || !n->bias)
        return y;
    double *bias = y->producer->fold.bias =
        ipex_arena_array(&import->graph->arena, (size_t)rows, sizeof *bias);
    for (int64_t i = 0; i < rows; i++)
        bias[i] =
            ipex_constant_f64(n->bias, i) + (i < alone ? ipex_constant_f64(n->bias, rows + i) : 0);
    return y;
}

static struct ipex_value *gate(struct ipex_import *import, const struct unrolled *u,
                               struct ipex_value *x, int64_t i) {
    return ipex_build_slice(import, x, 2, i * u->n->hidden, u->n->hidden);
}

static struct ipex_value *sum(struct ipex_import *import, struct ipex_value *a,
                              struct ipex_value *b) {
    return ipex_build_binary(import, IPEX_STEP_add, a, b);
}
static struct ipex_value *product(struct ipex_import *import, struct ipex_value *a,
                                  struct ipex_value *b) {
    return ipex_build_binary(import, IPEX_STEP_mul, a, b);
}
/* 1 - x */
static struct ipex_value *rest(struct ipex_import *import, struct ipex_value *x) {
    return ipex_build_with(import, IPEX_STEP_add, ipex_build_unary(import, IPEX_STEP_neg, x), 1);
}

/* Activation i of what is cut to [-clip, clip]. */
static struct ipex_value *act(struct ipex_import *import, const struct unrolled *u, int i,
                              struct ipex_value *x) {
    const float clip = u->n->clip;
    if (clip > 0)
        x = ipex_build_with(import, IPEX_STEP_min, ipex_build_with(import, IPEX_STEP_max, x, -clip),
                            clip);
    return activated(import, &u->n->act[0][i], x);
}

static struct ipex_value *with_peephole(struct ipex_import *import, const struct unrolled *u,
                                        int64_t i, struct ipex_value *x, struct ipex_value *c) {
    return u->peephole[i] ? sum(import, x, product(import, c, u->peephole[i])) : x;
}

/* The states after a step whose share of the inputs is x [1][B][gates H]. */
static void rnn_step(struct ipex_import *import, struct unrolled *u, struct ipex_value *x) {
    x = sum(import, ipex_build_linear(import, u->h, u->r, false), x);
    u->h = act(import, u, 0, x);
}

static void gru_step(struct ipex_import *import, struct unrolled *u, struct ipex_value *x) {
    const int64_t hidden = u->n->hidden;
    struct ipex_value *both = sum(import, ipex_build_linear(import, u->h, u->r, false),
                                  ipex_build_slice(import, x, 2, 0, 2 * hidden));
    struct ipex_value *z = act(import, u, 0, gate(import, u, both, 0)),
                      *r = act(import, u, 0, gate(import, u, both, 1)), *g;
    if (u->n->reset_last) {
        g = ipex_build_linear(import, u->h, u->r_reset, false);
        g = product(import, r, u->reset_bias ? sum(import, g, u->reset_bias) : g);
    } else {
        g = ipex_build_linear(import, product(import, r, u->h), u->r_reset, false);
    }
    g = act(import, u, 1, sum(import, g, gate(import, u, x, 2)));
    u->h = sum(import, product(import, rest(import, z), g), product(import, z, u->h));
}

static void lstm_step(struct ipex_import *import, struct unrolled *u, struct ipex_value *x) {
    x = sum(import, ipex_build_linear(import, u->h, u->r, false), x);
    struct ipex_value *i = with_peephole(import, u, 0, gate(import, u, x, 0), u->c),
                      *f = with_peephole(import, u, 2, gate(import, u, x, 2), u->c);
    i = act(import, u, 0, i);
    f = u->n->coupled ? rest(import, i) : act(import, u, 0, f);
    struct ipex_value *g = act(import, u, 1, gate(import, u, x, 3));
    u->c = sum(import, product(import, f, u->c), product(import, i, g));
    struct ipex_value *o =
        act(import, u, 0, with_peephole(import, u, 1, gate(import, u, x, 1), u->c));
    u->h = product(import, o, activated(import, &u->n->act[0][2], u->c));
}

static void read_weights(struct ipex_import *import, struct unrolled *u) {
    const struct ipex_recurrent *n = u->n;
    const int64_t hidden = n->hidden, rows = n->gates * hidden;
    u->inputs = inputs_of(import, n);
    u->r = rows_of(import, n->r, 0, n->gates == 3 ? 2 * hidden : rows);
    if (n->gates == 3)
        u->r_reset = rows_of(import, n->r, 2 * hidden, hidden);
    if (n->gates == 3 && n->reset_last && n->bias)
        u->reset_bias = ipex_build_part(import, n->bias, rows + 2 * hidden, 1, &hidden);
    for (int64_t i = 0; i < 3 && n->peepholes; i++)
        u->peephole[i] = ipex_build_part(import, n->peepholes, i * hidden, 1, &hidden);
}

static struct ipex_value *given_or_zeros(struct ipex_import *import, const struct ipex_recurrent *n,
                                         struct ipex_value *state) {
    const int64_t dims[3] = {1, n->batch, n->hidden};
    return state ? state
                 : ipex_build_expand(import, ipex_build_number(import, IPEX_DTYPE_f32, 0), 3, dims);
}

struct ipex_value *ipex_recurrent_unrolled(struct ipex_import *import,
                                           const struct ipex_recurrent *n,
                                           struct ipex_value **ret_left) {
    static void (*const one_step[])(struct ipex_import *, struct unrolled *,
                                    struct ipex_value *) = {
        [1] = rnn_step, [3] = gru_step, [4] = lstm_step};
    const int64_t dims[4] = {n->steps, 1, n->batch, n->hidden}, column[3] = {n->steps, n->batch, 1};
    struct unrolled u = {.n = n};
    struct ipex_value *past = NULL, *zero = ipex_build_number(import, IPEX_DTYPE_f32, 0);
    struct ipex_value **y = ipex_arena_array(&import->graph->arena, (size_t)n->steps, sizeof *y);
    read_weights(import, &u);
    u.h = given_or_zeros(import, n, n->state[0]);
    u.c = n->gates == 4 ? given_or_zeros(import, n, n->state[1]) : NULL;
    if (n->lengths)
        past =
            ipex_build_reshape(import, ipex_lengths_past(import, n->lengths, n->steps), 3, column);
    for (int64_t i = 0; i < n->steps; i++) {
        const int64_t t = n->reverse ? n->steps - 1 - i : i;
        struct ipex_value *h = u.h, *c = u.c;
        one_step[n->gates](import, &u, ipex_build_slice(import, u.inputs, 0, t, 1));
        y[t] = u.h;
        if (!past)
            continue;
        struct ipex_value *ended = ipex_build_slice(import, past, 0, t, 1);
        y[t] = ipex_build_where(import, ended, zero, u.h);
        u.h = ipex_build_where(import, ended, h, u.h);
        u.c = ipex_build_where(import, ended, c, u.c);
    }
    ret_left[0] = u.h;
    if (u.c)
        ret_left[1] = u.c;
    return ipex_build_reshape(
        import, n->steps == 1 ? y[0] : ipex_build_concat(import, 0, (int32_t)n->steps, y), 4, dims);
}
