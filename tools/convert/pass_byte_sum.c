/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of what a layer on integers (pass_integer.c) gives, rounded to bytes, and of other bytes,
 * rounded again: a residual addition of a quantised model. The layer rounds its result as it did,
 * takes what that stands for, adds the residual and rounds the sum, all where it is stored. So does
 * one whose bytes become other bytes without a residual. Bytes that only become what they are stay.
 */
#include "tools/convert/quantisation.h"

#include <math.h>

#include "tools/convert/match.h"

/* clip(c[0] x[0] + c[1] x[1] + c0, low, high), and what is done to it then; x are the program's
 * inputs. */
struct sum {
    double c[2], c0, low, high;
    bool clipped, behind; /* behind: q says more than nothing */
    struct ipex_quantisation q;
};

static struct sum plain_sum(double a, double b, double c0) {
    return (struct sum){
        .c = {a, b}, .c0 = c0, .low = -INFINITY, .high = INFINITY, .q = {.scale = 1}};
}

static bool is_constant(const struct sum *s) {
    return s->c[0] == 0 && s->c[1] == 0 && !s->clipped && !s->behind;
}

static bool add(struct sum *a, const struct sum *b, double sign) {
    if (a->clipped || a->behind || b->clipped || b->behind)
        return false;
    for (int i = 0; i < 2; i++)
        a->c[i] += sign * b->c[i];
    a->c0 += sign * b->c0;
    return true;
}

static bool scale(struct sum *a, double factor) {
    if (a->clipped || a->behind)
        return false;
    a->c[0] *= factor;
    a->c[1] *= factor;
    a->c0 *= factor;
    return true;
}

/* A bound before anything was scaled or rounded. */
static bool clip(struct sum *a, int16_t op, double bound) {
    if (a->behind)
        return false;
    a->clipped = true;
    if (op == IPEX_STEP_max && bound > a->low)
        a->low = bound;
    if (op == IPEX_STEP_min && bound < a->high)
        a->high = bound;
    return a->low <= a->high;
}

/* One step of the program, of a and b into a; false where the result is no such sum. */
static bool step(int16_t op, struct sum *a, struct sum *b) {
    if (is_constant(a) && (op == IPEX_STEP_add || op == IPEX_STEP_mul)) { /* the number is b */
        struct sum number = *a;
        *a = *b;
        *b = number;
    }
    if (op == IPEX_STEP_add && add(a, b, 1))
        return true;
    if (op == IPEX_STEP_sub && add(a, b, -1))
        return true;
    if (op == IPEX_STEP_round) {
        a->behind = true;
        return ipex_quantisation_step(&a->q, op, 0);
    }
    if (!is_constant(b))
        return false;
    if ((op == IPEX_STEP_mul && scale(a, b->c0)) ||
        (op == IPEX_STEP_div && b->c0 != 0 && scale(a, 1 / b->c0)))
        return true;
    if ((op == IPEX_STEP_max || op == IPEX_STEP_min) && clip(a, op, b->c0))
        return true;
    a->behind = true;
    return op == IPEX_STEP_sub ? ipex_quantisation_step(&a->q, IPEX_STEP_add, -b->c0)
                               : ipex_quantisation_step(&a->q, op, b->c0);
}

static struct sum operand(const struct ipex_program *p, int16_t code, const struct sum *results) {
    return code < 0                        ? plain_sum(0, 0, (double)p->constant[-1 - code])
           : code >= IPEX_POINTWISE_RESULT ? results[code - IPEX_POINTWISE_RESULT]
                                           : plain_sum(code == 0, code == 1, 0);
}

/* The program as bytes of such a sum of its one or two inputs. */
static bool read_program(const struct ipex_program *p, int32_t inputs, struct sum *ret) {
    struct sum results[IPEX_POINTWISE_STEPS];
    for (int32_t i = 0; i < p->steps; i++) {
        struct sum b = operand(p, p->step[i].b, results);
        results[i] = operand(p, p->step[i].a, results);
        if (!step(p->step[i].op, &results[i], &b))
            return false;
    }
    *ret = results[p->steps - 1];
    return ret->c[0] != 0 && (ret->c[1] != 0) == (inputs == 2) &&
           ipex_quantisation_is_bytes(&ret->q);
}

static bool is_layer(const struct ipex_graph *graph, const struct ipex_value *x) {
    const struct ipex_node *node = x->producer;
    return node && node->integer && node->integer->requantised && !node->epilogue.residual &&
           node->epilogue.act == IPEX_ACT_none && ipex_value_only_reader(graph, x) && x->is_byte;
}

/* Which input of the node comes from the layer that takes it over, the later one of two; -1: none.
 */
static int32_t find_layer(const struct ipex_graph *graph, const struct ipex_node *node) {
    const bool may[2] = {is_layer(graph, node->input[0]),
                         node->inputs == 2 && is_layer(graph, node->input[1])};
    if (may[0] && may[1])
        return ipex_node_is_before(node->input[0]->producer, node->input[1]->producer) ? 1 : 0;
    return may[0] ? 0 : may[1] ? 1 : -1;
}

static void set_act(struct ipex_epilogue *epilogue, const struct sum *sum) {
    const bool low = sum->low != -INFINITY, high = sum->high != INFINITY;
    epilogue->act = !low && !high            ? IPEX_ACT_none
                    : sum->low == 0 && !high ? IPEX_ACT_relu
                                             : IPEX_ACT_clip;
    epilogue->a = epilogue->act == IPEX_ACT_clip ? (float)sum->low : 0;
    epilogue->b = epilogue->act == IPEX_ACT_clip ? (float)sum->high : 0;
}

static void take(struct ipex_graph *graph, struct ipex_node *node, int32_t from,
                 const struct sum *sum) {
    struct ipex_node *layer = node->input[from]->producer;
    struct ipex_value *residual = node->inputs == 2 ? node->input[!from] : NULL;
    struct ipex_value *y = node->output;
    struct ipex_integer_layer *integer = layer->integer;
    integer->middle = true;
    integer->m_scale = integer->y_scale;
    integer->m_zero = integer->y_zero;
    integer->m_unit = sum->c[from];
    integer->m_shift = sum->c0 + sum->c[from] * (double)integer->m_zero;
    integer->r_scale = sum->c[!from];
    integer->y_scale = sum->q.scale;
    integer->y_zero = (float)sum->q.zero;
    set_act(&layer->epilogue, sum);
    layer->epilogue.residual = residual;
    if (residual)
        ipex_node_add_input(layer, residual);
    layer->name = ipex_graph_join(graph, layer->name, node->name);
    ipex_graph_move(graph, layer, node);
    ipex_graph_remove(graph, node);
    ipex_node_set_output(layer, y);
}

/* Whether the other input, if there is one, is computed and has the shape of the layer's result, as
 * the node's own has. */
static bool is_alike(const struct ipex_node *node, int32_t from) {
    const struct ipex_value *x = node->input[from];
    const struct ipex_value *other = node->inputs == 2 ? node->input[!from] : x;
    return ipex_same_shape(x, other) && ipex_same_shape(x, node->output) && !other->constant;
}

/* Whether bytes become what they are: by linearity, if two of them do. Divisions round, by far less
 * than half of one. */
static bool is_same(const struct sum *sum) {
    for (double x = 0; x <= 255; x += 255) {
        const double value = fmin(fmax(sum->c[0] * x + sum->c0, sum->low), sum->high);
        if (!(fabs(value * sum->q.scale + sum->q.zero - x) < 0.25))
            return false;
    }
    return true;
}

/* Quantised again as it was: bytes that something else moved about in between. */
static bool take_out(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_value *x = node->input[0], *y = node->output;
    struct sum sum;
    if (node->inputs != 1 || !x->is_byte || y->is_output || x->constant || !ipex_same_shape(x, y) ||
        (x->has_zero && y->has_zero && x->zero_byte != y->zero_byte) ||
        !read_program(node->u.program, 1, &sum) || !is_same(&sum))
        return false;
    ipex_ledger_add(graph->ledger, "byte_sum", node->name, IPEX_REASON_applied,
                    "quantised as it was: left out");
    if (y->has_zero) {
        x->has_zero = true;
        x->zero_byte = y->zero_byte;
    }
    ipex_graph_replace(graph, y, x);
    ipex_graph_remove(graph, node);
    return true;
}

void ipex_pass_byte_sum(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        struct sum sum;
        next = node->next;
        if (node->kind != IPEX_KIND_pointwise || node->inputs > 2 || !node->output->is_byte)
            continue;
        if (take_out(graph, node))
            continue;
        const int32_t from = find_layer(graph, node);
        if (from < 0 || !is_alike(node, from) || !read_program(node->u.program, node->inputs, &sum))
            continue;
        ipex_ledger_add(graph->ledger, "byte_sum", node->name, IPEX_REASON_applied,
                        ipex_arena_printf(&graph->arena, "added and rounded where %s is stored",
                                          node->input[from]->producer->name));
        take(graph, node, from, &sum);
    }
}
