/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators that take a state of the run before and give the one for the next:
 * CausalConvWithState and LinearAttention. */
#include "tools/convert/import_attention.h"
#include "tools/convert/match.h"

#include <math.h>
#include <string.h>

#include "format/check.h"

/* ---- CausalConvWithState: x [B][C][L] behind the last K - 1 positions before it, or zeros, each
 * channel by its own window of K ---- */

enum { X, WEIGHT, BIAS, PAST_POSITIONS };

static bool causal_fits(struct ipex_import *import, const struct ipex_value *x,
                        const struct ipex_value *w, const struct ipex_value *bias,
                        const struct ipex_value *past) {
    if (x->rank != 3 || w->rank != 3 || w->dims[1] != 1 || w->dims[0] != x->dims[1])
        ipex_import_refuse(import,
                           "input %s and weight %s are not [B][channels][length] and "
                           "[channels][1][window]",
                           x->name, w->name);
    else if (w->dims[2] < 1 || w->dims[2] > IPEX_WINDOW_MAX)
        ipex_import_refuse(import, "a window of %lld; 1 to %d is supported", (long long)w->dims[2],
                           IPEX_WINDOW_MAX);
    else if (!w->constant || (bias && !bias->constant))
        ipex_import_refuse(import,
                           "dynamic_weight: the weight %s or its bias is computed at run "
                           "time",
                           w->name);
    else if (past && (past->rank != 3 || past->dims[0] != x->dims[0] ||
                      past->dims[1] != x->dims[1] || past->dims[2] != w->dims[2] - 1))
        ipex_import_refuse(import,
                           "past_state %s does not have the %lld positions before the first of "
                           "each channel",
                           past->name, (long long)w->dims[2] - 1);
    else
        return true;
    return false;
}

static struct ipex_value *activated(struct ipex_import *import, struct ipex_value *y) {
    const char *name = ipex_import_string(import, "activation", "none");
    if (!strcmp(name, "silu") || !strcmp(name, "swish"))
        return ipex_build_swish(import, y, 1);
    if (!strcmp(name, "none"))
        return y;
    ipex_import_refuse(import, "activation %s is unknown", name);
    return NULL;
}

static void import_causal_conv(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, X), *w = x ? ipex_import_f32(import, WEIGHT) : x,
                      *bias = ipex_import_in(import, BIAS), *past = NULL;
    if (!w || (ipex_import_in(import, PAST_POSITIONS) &&
               !(past = ipex_import_f32(import, PAST_POSITIONS))))
        return;
    if (!causal_fits(import, x, w, bias, past) || !ipex_build_bias_fits(import, bias, x->dims[1]))
        return;
    const int64_t before = w->dims[2] - 1, length = x->dims[2];
    const struct ipex_conv conv = {
        .kernel = {1, w->dims[2]}, .stride = {1, 1}, .dilation = {1, 1}, .groups = x->dims[1]};
    struct ipex_value *all = x;
    if (past && before) {
        struct ipex_value *const both[2] = {past, x};
        all = ipex_build_concat(import, 2, 2, both);
    } else if (before) {
        all = ipex_build_zeros(import, x, 2, before, 0);
    }
    const int64_t out[2] = {1, length};
    struct ipex_value *y = ipex_build_conv(import, ipex_build_image(import, all),
                                           ipex_build_image(import, w), bias, &conv, out);
    ipex_build_out(import, 0, activated(import, ipex_build_image_back(import, y, 3)));
    if (import->node->outputs > 1 && before)
        ipex_build_out(import, 1, ipex_build_slice(import, all, 2, length, before));
    else if (import->node->outputs > 1)
        ipex_import_empty(import, 1, x, (const int64_t[]){x->dims[0], x->dims[1], 0},
                          "a window of one position leaves none before it");
}

/* ---- LinearAttention: for every position S = decay S + k (beta (v - retrieved)), y = scale q S;
 * S [B][heads][D of k][D of v] ---- */

enum { QUERY, KEY, VALUE, PAST_STATE, DECAY, BETA, OPERANDS };
enum { POSITIONS_MAX = 512 }; /* each becomes steps of its own */

struct recurrence {
    struct ipex_value *operand[OPERANDS]; /* [B][heads][T][D]; the state as it is; NULL: none */
    int64_t heads, queries;               /* of keys and values; queries of each of them */
    int64_t positions;
    bool gated, corrects; /* by its rule: with DECAY, with BETA */
    float scale;
};

static bool read_rule(struct ipex_import *import, struct recurrence *r) {
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
    const char *name = ipex_import_string(import, "update_rule", "gated_delta");
    const int64_t rule = ipex_import_word(name, rules, 4);
    if (rule < 0) {
        ipex_import_refuse(import, "update_rule %s is unknown", name);
        return false;
    }
    r->gated = rule & 1;
    r->corrects = rule & 2;
    if ((ipex_import_in(import, DECAY) != NULL) != r->gated ||
        (ipex_import_in(import, BETA) != NULL) != r->corrects) {
        ipex_import_refuse(import, "update_rule %s and the inputs decay and beta do not fit", name);
        return false;
    }
    return true;
}

/* Input i by heads. NULL after refusing. */
static struct ipex_value *by_heads(struct ipex_import *import, size_t i, int64_t heads) {
    struct ipex_value *x = ipex_import_f32(import, i);
    if (x && x->rank != 3)
        ipex_import_refuse(import, "input %s has rank %d, not 3", x->name, x->rank);
    return x && x->rank == 3 ? ipex_build_split_heads(import, x, heads) : NULL;
}

static bool read_recurrence(struct ipex_import *import, struct recurrence *r) {
    const int64_t heads = ipex_import_int(import, "kv_num_heads", 0),
                  all = ipex_import_int(import, "q_num_heads", 0);
    if (heads < 1 || all < 1 || all % heads) {
        ipex_import_refuse(import, "q_num_heads %lld and kv_num_heads %lld do not fit together",
                           (long long)all, (long long)heads);
        return false;
    }
    r->heads = heads;
    r->queries = all / heads;
    const struct ipex_value *beta = ipex_import_in(import, BETA);
    const int64_t of[OPERANDS] = {
        all, heads, heads, 0, heads, beta && beta->rank == 3 && beta->dims[2] == 1 ? 1 : heads};
    for (size_t i = 0; i < OPERANDS; i++)
        if (i != PAST_STATE && (i <= VALUE || ipex_import_in(import, i)) &&
            !(r->operand[i] = by_heads(import, i, of[i])))
            return false;
    if (ipex_import_in(import, PAST_STATE) &&
        !(r->operand[PAST_STATE] = ipex_import_f32(import, PAST_STATE)))
        return false;
    return true;
}

static bool recurrence_fits(struct ipex_import *import, struct recurrence *r) {
    const struct ipex_value *q = r->operand[QUERY], *k = r->operand[KEY], *v = r->operand[VALUE],
                            *past = r->operand[PAST_STATE], *decay = r->operand[DECAY],
                            *beta = r->operand[BETA];
    const int64_t batch = q->dims[0], depth = k->dims[3];
    bool fits = q->dims[3] == depth && (!decay || decay->dims[3] == depth || decay->dims[3] == 1) &&
                (!beta || beta->dims[3] == 1);
    for (size_t i = 0; i < OPERANDS; i++)
        if (i != PAST_STATE && r->operand[i])
            fits &= r->operand[i]->dims[0] == batch && r->operand[i]->dims[2] == q->dims[2];
    if (past)
        fits &= past->rank == 4 && past->dims[0] == batch && past->dims[1] == r->heads &&
                past->dims[2] == depth && past->dims[3] == v->dims[3];
    if (!fits) {
        ipex_import_refuse(import, "the inputs' shapes do not fit together");
        return false;
    }
    if (!ipex_dim_number(&import->graph->dims, q->dims[2], &r->positions) ||
        r->positions > POSITIONS_MAX) {
        ipex_import_refuse(import, "%s positions; a fixed number up to %d is supported",
                           ipex_import_text(import, q->dims[2]), POSITIONS_MAX);
        return false;
    }
    r->scale = ipex_import_float(import, "scale", 0);
    if (r->scale == 0)
        r->scale = (float)(1 / sqrt((double)depth));
    return true;
}

/* Of operand i [B][heads][T][D] the position t, [B][heads][1][D]. */
static struct ipex_value *at(struct ipex_import *import, const struct recurrence *r, size_t i,
                             int64_t t) {
    struct ipex_value *x = r->operand[i];
    return r->positions == 1 ? x : ipex_build_slice(import, x, 2, t, 1);
}

/* The state behind position t; `state` NULL: it was 0 before. */
static struct ipex_value *next_state(struct ipex_import *import, const struct recurrence *r,
                                     struct ipex_value *state, int64_t t) {
    struct ipex_value *k = at(import, r, KEY, t), *v = at(import, r, VALUE, t);
    if (state && r->gated) {
        struct ipex_value *kept = ipex_build_unary(import, IPEX_STEP_exp, at(import, r, DECAY, t));
        state = ipex_build_binary(import, IPEX_STEP_mul, state, ipex_build_turned(import, kept));
    }
    if (state && r->corrects)
        v = ipex_build_binary(import, IPEX_STEP_sub, v, ipex_build_matmul(import, k, state));
    if (r->corrects)
        v = ipex_build_binary(import, IPEX_STEP_mul, v, at(import, r, BETA, t));
    struct ipex_value *added =
        ipex_build_binary(import, IPEX_STEP_mul, ipex_build_turned(import, k), v);
    return state ? ipex_build_binary(import, IPEX_STEP_add, state, added) : added;
}

/* Results of position t, [B][1][all heads D]. */
static struct ipex_value *result_at(struct ipex_import *import, const struct recurrence *r,
                                    struct ipex_value *state, int64_t t) {
    struct ipex_value *q = at(import, r, QUERY, t);
    if (!q || !state)
        return NULL;
    const int64_t batch = q->dims[0], grouped[4] = {batch, r->heads, r->queries, q->dims[3]},
                  joined[3] = {batch, 1, r->heads * r->queries * state->dims[3]};
    q = ipex_build_with(import, IPEX_STEP_mul, ipex_build_reshape(import, q, 4, grouped), r->scale);
    return ipex_build_reshape(import, ipex_build_matmul(import, q, state), 3, joined);
}

static void import_linear_attention(struct ipex_import *import) {
    struct recurrence r = {.positions = 0};
    if (!read_rule(import, &r) || !read_recurrence(import, &r) || !recurrence_fits(import, &r))
        return;
    struct ipex_value *state = r.operand[PAST_STATE], *y[POSITIONS_MAX];
    for (int64_t t = 0; t < r.positions; t++) {
        state = next_state(import, &r, state, t);
        if (!(y[t] = result_at(import, &r, state, t)))
            return;
    }
    ipex_build_out(import, 0, ipex_build_concat(import, 1, (int32_t)r.positions, y));
    if (import->node->outputs > 1)
        ipex_build_out(import, 1, state);
}

const struct ipex_import_op ipex_import_state[] = {
    {"CausalConvWithState", import_causal_conv},
    {"LinearAttention", import_linear_attention},
    {NULL, NULL},
};
