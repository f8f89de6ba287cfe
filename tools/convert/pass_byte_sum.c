/* SPDX-License-Identifier: Apache-2.0 */
/* What a layer on integers (pass_integer.c) gives, rounded to bytes, to which numbers per output or
 * other bytes are added, rounded again: a bias or a residual addition of a quantised model. The
 * layer rounds its result as it did, takes what that stands for, adds to it and rounds the sum, all
 * where it is stored; up to IPEX_MIDDLES times before what is added is a residual. So does one
 * whose bytes become other bytes. Bytes that only become what they are stay. */
#include "tools/convert/quantisation.h"

#include <float.h>
#include <math.h>

#include "tools/convert/match.h"

/* clip(c[0] layer + c[1] residual + c0, low, high), and what is done to it then. */
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

/* What an elementwise node adds up, as seen by output `column` of the layer that gives input
 * `from`: its other inputs are one that is computed, or constants of one number or one per output.
 */
struct site {
    const struct ipex_node *node;
    int32_t from, residual; /* -1: there is none */
    int64_t column;
};

static struct sum operand(const struct site *site, int16_t code, const struct sum *results) {
    const struct ipex_program *p = site->node->u.program;
    if (code < 0)
        return plain_sum(0, 0, (double)p->constant[-1 - code]);
    if (code >= IPEX_POINTWISE_RESULT)
        return results[code - IPEX_POINTWISE_RESULT];
    const struct ipex_value *x = site->node->input[code];
    if (!x->constant)
        return plain_sum(code == site->from, code == site->residual, 0);
    return plain_sum(0, 0, ipex_constant_f64(x, ipex_value_numel(x) == 1 ? 0 : site->column));
}

/* The node's program as bytes of such a sum. */
static bool read_program(const struct site *site, struct sum *ret) {
    const struct ipex_program *p = site->node->u.program;
    struct sum results[IPEX_POINTWISE_STEPS];
    for (int32_t i = 0; i < p->steps; i++) {
        struct sum b = operand(site, p->step[i].b, results);
        results[i] = operand(site, p->step[i].a, results);
        if (!step(p->step[i].op, &results[i], &b))
            return false;
    }
    *ret = results[p->steps - 1];
    return (ret->c[1] != 0) == (site->residual >= 0) && ipex_quantisation_is_bytes(&ret->q);
}

/* Whether two outputs differ by what a rounding scales and adds alone. */
static bool is_like(const struct sum *a, const struct sum *b) {
    return a->c[1] == b->c[1] && a->low == b->low && a->high == b->high &&
           a->q.scale == b->q.scale && a->q.zero == b->q.zero;
}

/* The sum of every output of the layer; NULL: it is none of these, or they differ otherwise. */
static struct sum *read_columns(struct ipex_graph *graph, struct site site) {
    const int64_t n = site.node->input[site.from]->producer->fold.n;
    struct sum *ret = ipex_arena_array(&graph->arena, (size_t)n, sizeof *ret);
    bool any = false; /* factors of some outputs may be 0 */
    for (site.column = 0; site.column < n; site.column++) {
        if (!read_program(&site, &ret[site.column]) || !is_like(&ret[0], &ret[site.column]))
            return NULL;
        any = any || ret[site.column].c[0] != 0;
    }
    return any ? ret : NULL;
}

static bool is_layer(const struct ipex_graph *graph, const struct ipex_value *x) {
    const struct ipex_node *node = x->producer;
    return node && node->integer && node->kind != IPEX_KIND_plan && node->integer->requantised &&
           !node->epilogue.residual && node->integer->middles < IPEX_MIDDLES &&
           ipex_act_is_clamp(node->epilogue.act) && node->integer->y_scale > 0 &&
           ipex_value_only_reader(graph, x) && x->is_byte;
}

/* A number, or one per output of the layer. */
static bool is_row(const struct ipex_value *constant, const struct ipex_node *layer) {
    const struct ipex_value *y = layer->output;
    const int32_t axis = layer->kind == IPEX_KIND_conv ? 1 : y->rank - 1;
    return constant->dtype == IPEX_DTYPE_f32 &&
           (ipex_value_numel(constant) == 1 ||
            ipex_match_vector(constant, y->rank, axis, layer->fold.n));
}

/* Whether input `from` comes from a layer that may take the node over: its others are one at most
 * that is computed, of its shape, and constants. */
static bool fits(const struct ipex_graph *graph, const struct ipex_node *node, int32_t from,
                 struct site *ret) {
    const struct ipex_value *x = node->input[from];
    *ret = (struct site){.node = node, .from = from, .residual = -1};
    if (!is_layer(graph, x) || !ipex_same_shape(x, node->output))
        return false;
    for (int32_t i = 0; i < node->inputs; i++) {
        const struct ipex_value *other = node->input[i];
        if (i == from || (other->constant && is_row(other, x->producer)))
            continue;
        if (other->constant || ret->residual >= 0 || !ipex_same_shape(x, other))
            return false;
        ret->residual = i;
    }
    return true;
}

/* The layer that takes the node over: the latest one. */
static bool find_layer(const struct ipex_graph *graph, const struct ipex_node *node,
                       struct site *ret) {
    struct site site;
    bool found = false;
    for (int32_t i = 0; i < node->inputs; i++)
        if (fits(graph, node, i, &site) &&
            (!found ||
             ipex_node_is_before(node->input[ret->from]->producer, node->input[i]->producer))) {
            *ret = site;
            found = true;
        }
    return found;
}

static void set_act(struct ipex_epilogue *epilogue, const struct sum *sum) {
    const bool low = sum->low != -INFINITY, high = sum->high != INFINITY;
    epilogue->act = !low && !high            ? IPEX_ACT_none
                    : sum->low == 0 && !high ? IPEX_ACT_relu
                                             : IPEX_ACT_clip;
    epilogue->a = epilogue->act == IPEX_ACT_clip ? (float)sum->low : 0;
    epilogue->b = epilogue->act == IPEX_ACT_clip ? (float)sum->high : 0;
}

/* A bound of what is rounded, as a byte less its zero point. */
static double bound(const struct ipex_integer_layer *integer, double before) {
    const double zero = (double)integer->y_zero;
    return fmin(fmax(rint(before * integer->y_scale), -zero), 255 - zero);
}

/* What the layer rounds becomes a rounding before these sums; false, changing nothing, where
 * numbers would not be finite. */
static bool add_rounding(struct ipex_graph *graph, struct ipex_node *layer,
                         const struct sum *sums) {
    const int64_t n = layer->fold.n;
    struct ipex_integer_layer *integer = layer->integer;
    const double zero = (double)integer->y_zero;
    const struct ipex_epilogue *epilogue = &layer->epilogue;
    const bool clip = epilogue->act == IPEX_ACT_clip, relu = epilogue->act == IPEX_ACT_relu;
    struct ipex_middle rounding = {
        .low = bound(integer, clip   ? (double)epilogue->a
                              : relu ? 0
                                     : -INFINITY),
        .high = bound(integer, clip ? (double)epilogue->b : INFINITY),
    };
    rounding.unit = ipex_arena_array(&graph->arena, (size_t)n, sizeof *rounding.unit);
    rounding.shift = ipex_arena_array(&graph->arena, (size_t)n, sizeof *rounding.shift);
    for (int64_t i = 0; i < n; i++) {
        rounding.unit[i] = sums[i].c[0];
        rounding.shift[i] = sums[i].c0 + sums[i].c[0] * zero;
        if (!(fabs(rounding.unit[i]) <= (double)FLT_MAX &&
              fabs(rounding.shift[i]) <= (double)FLT_MAX))
            return false;
    }
    if (!ipex_scale_result(graph, layer, integer->y_scale))
        return false;
    integer->middle[integer->middles++] = rounding;
    return true;
}

static bool take(struct ipex_graph *graph, struct ipex_node *node, const struct site *site,
                 const struct sum *sums) {
    struct ipex_node *layer = node->input[site->from]->producer;
    struct ipex_value *residual = site->residual >= 0 ? node->input[site->residual] : NULL;
    struct ipex_value *y = node->output;
    struct ipex_integer_layer *integer = layer->integer;
    if (!add_rounding(graph, layer, sums))
        return false;
    integer->r_scale = sums->c[1];
    integer->y_scale = sums->q.scale;
    integer->y_zero = (float)sums->q.zero;
    set_act(&layer->epilogue, sums);
    layer->epilogue.residual = residual;
    if (residual)
        ipex_node_add_input(layer, residual);
    layer->name = ipex_graph_join(graph, layer->name, node->name);
    ipex_graph_move(graph, layer, node);
    ipex_graph_remove(graph, node);
    ipex_node_set_output(layer, y);
    return true;
}

/* Whether bytes become what they are, each of them: a clip makes the ends alike where the middle is
 * not. Divisions round, by far less than half of one. */
static bool is_same(const struct sum *sum) {
    for (double x = 0; x <= 255; x++) {
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
        !read_program(&(struct site){.node = node, .residual = -1}, &sum) || sum.c[0] == 0 ||
        !is_same(&sum))
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
        struct site site;
        next = node->next;
        if (node->kind != IPEX_KIND_pointwise || !node->output->is_byte || take_out(graph, node) ||
            !find_layer(graph, node, &site))
            continue;
        const char *name = node->name, *layer = node->input[site.from]->producer->name;
        const struct sum *sums = read_columns(graph, site);
        if (sums && take(graph, node, &site, sums))
            ipex_ledger_add(
                graph->ledger, "byte_sum", name, IPEX_REASON_applied,
                ipex_arena_printf(&graph->arena, "added and rounded where %s is stored", layer));
    }
}
