/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise programs on bytes in fewer steps: what bytes stand for, scales, shifts and further
 * quantisations are one factor and one summand between two roundings, computed here in f64, and
 * bounds that no byte reaches are left out. Results differ where one is as near to two bytes as
 * f32 can tell. */
#include "tools/convert/match.h"
#include "tools/convert/passes.h"

#include <math.h>
#include <string.h>

enum { TERMS = 4, CODES = IPEX_POINTWISE_RESULT + IPEX_POINTWISE_STEPS };

/* Everything below is one number per element of the axis along which constants vary; `n` of them.
 * clip(c0 + sum of c atom, low, high): atoms are codes of the new program. Where they are whole
 * numbers, `exact`, anything is computed with them, else factors alone. */
struct form {
    int32_t terms;
    int16_t atom[TERMS];
    double *c[TERMS], *c0, *low, *high;
    bool exact;
};

/* What is known of a value of the new program. computed: by sums of products or the like, so that a
 * factor instead of a divisor changes no more than these rounded. */
struct atom {
    double *low, *high;
    bool whole, computed;
};

struct rewrite {
    struct ipex_graph *graph;
    struct ipex_arena arena; /* of numbers */
    const struct ipex_node *node;
    int64_t n;
    int32_t axis;
    struct ipex_value *input[IPEX_POINTWISE_INPUTS];
    int32_t inputs;
    int16_t input_of[IPEX_POINTWISE_INPUTS]; /* the node's; -1: a constant that is computed with */
    const double *vector[IPEX_POINTWISE_INPUTS]; /* what an added input holds */
    struct ipex_program *program;
    struct atom atom[CODES];
    bool failed;
};

/* ---- numbers ---- */

static double *numbers(struct rewrite *w, double value) {
    double *ret = ipex_arena_array(&w->arena, (size_t)w->n, sizeof *ret);
    for (int64_t i = 0; i < w->n; i++)
        ret[i] = value;
    return ret;
}

static double *numbers_of(struct rewrite *w, const struct ipex_value *constant) {
    double *ret = numbers(w, ipex_constant_f64(constant, 0));
    if (ipex_value_numel(constant) > 1)
        for (int64_t i = 0; i < w->n; i++)
            ret[i] = ipex_constant_f64(constant, i);
    return ret;
}

static bool all_are(const struct rewrite *w, const double *c, double value) {
    for (int64_t i = 0; i < w->n; i++)
        if (c[i] != value)
            return false;
    return true;
}

static bool all_whole(const struct rewrite *w, const double *c) {
    for (int64_t i = 0; i < w->n; i++)
        if (c[i] != rint(c[i]))
            return false;
    return true;
}

/* ---- the new program ---- */

/* Neither too large nor too small for f32. */
static bool is_float(double number) {
    return number == 0 || isnormal((float)number);
}

/* A step, of whose result nothing is known yet. */
static int16_t emit(struct rewrite *w, int16_t op, int16_t a, int16_t b) {
    struct ipex_program *p = w->program;
    if (p->steps == IPEX_POINTWISE_STEPS) {
        w->failed = true;
        return IPEX_POINTWISE_RESULT;
    }
    const int16_t code = ipex_program_emit(p, op, a, b);
    w->atom[code] = (struct atom){numbers(w, -INFINITY), numbers(w, INFINITY), false, true};
    return code;
}

static int16_t emit_constant(struct rewrite *w, double number) {
    struct ipex_program *p = w->program;
    const float value = (float)number;
    w->failed = w->failed || !is_float(number);
    for (int32_t i = 0; i < p->constants; i++)
        if (!memcmp(&p->constant[i], &value, sizeof value))
            return (int16_t)(-1 - i);
    if (p->constants == IPEX_POINTWISE_CONSTANTS) {
        w->failed = true;
        return -1;
    }
    p->constant[p->constants] = value;
    return (int16_t)(-1 - p->constants++);
}

/* A constant operand: a number, or an input of its own. */
static int16_t emit_numbers(struct rewrite *w, const double *c) {
    if (all_are(w, c, c[0]))
        return emit_constant(w, c[0]);
    for (int16_t i = 0; i < w->inputs; i++)
        if (w->vector[i] && !memcmp(w->vector[i], c, (size_t)w->n * sizeof *c))
            return i;
    if (w->inputs == IPEX_POINTWISE_INPUTS) {
        w->failed = true;
        return 0;
    }
    for (int64_t i = 0; i < w->n; i++)
        w->failed = w->failed || !is_float(c[i]);
    const struct ipex_value *y = w->node->output;
    const char *name = ipex_arena_printf(&w->graph->arena, "%s.numbers%d", y->name, (int)w->inputs);
    w->vector[w->inputs] = c;
    w->input[w->inputs] = ipex_graph_axis_constant(w->graph, name, y->rank, w->axis, c, w->n);
    return (int16_t)w->inputs++;
}

/* ---- forms ---- */

static struct form form_of_numbers(struct rewrite *w, double *c0) {
    return (struct form){
        .c0 = c0, .low = numbers(w, -INFINITY), .high = numbers(w, INFINITY), .exact = true};
}

static struct form form_of_atom(struct rewrite *w, int16_t code) {
    struct form ret = form_of_numbers(w, numbers(w, 0));
    ret.terms = 1;
    ret.atom[0] = code;
    ret.c[0] = numbers(w, 1);
    ret.exact = w->atom[code].whole;
    return ret;
}

static bool is_clipped(const struct rewrite *w, const struct form *f) {
    return !all_are(w, f->low, -INFINITY) || !all_are(w, f->high, INFINITY);
}

/* Between which numbers the sum is, before it is clipped. */
static void range_of(const struct rewrite *w, const struct form *f, double *low, double *high) {
    for (int64_t i = 0; i < w->n; i++) {
        low[i] = high[i] = f->c0[i];
        for (int32_t t = 0; t < f->terms; t++) {
            const struct atom *atom = &w->atom[f->atom[t]];
            const double c = f->c[t][i];
            if (c == 0)
                continue;
            low[i] += c * (c > 0 ? atom->low : atom->high)[i];
            high[i] += c * (c > 0 ? atom->high : atom->low)[i];
        }
    }
}

/* Bounds that nothing reaches are none. */
static void drop_bounds(struct rewrite *w, struct form *f) {
    double *low = numbers(w, 0), *high = numbers(w, 0);
    bool below = false, above = false;
    range_of(w, f, low, high);
    for (int64_t i = 0; i < w->n; i++) {
        below = below || !(low[i] >= f->low[i]);
        above = above || !(high[i] <= f->high[i]);
    }
    if (!below)
        f->low = numbers(w, -INFINITY);
    if (!above)
        f->high = numbers(w, INFINITY);
}

/* The form as a value of the new program; a number where it is one. */
static int16_t emit_form(struct rewrite *w, const struct form *f) {
    struct atom atom = {numbers(w, 0), numbers(w, 0), f->exact && all_whole(w, f->c0), true};
    int16_t code = 0;
    for (int32_t t = 0; t < f->terms; t++) {
        const bool plain = all_are(w, f->c[t], 1);
        const int16_t term =
            plain ? f->atom[t] : emit(w, IPEX_STEP_mul, f->atom[t], emit_numbers(w, f->c[t]));
        code = t == 0 ? term : emit(w, IPEX_STEP_add, code, term);
        atom.whole = atom.whole && all_whole(w, f->c[t]);
    }
    if (f->terms == 0)
        code = emit_numbers(w, f->c0);
    else if (!all_are(w, f->c0, 0))
        code = emit(w, IPEX_STEP_add, code, emit_numbers(w, f->c0));
    range_of(w, f, atom.low, atom.high);
    if (!all_are(w, f->low, -INFINITY))
        code = emit(w, IPEX_STEP_max, code, emit_numbers(w, f->low));
    if (!all_are(w, f->high, INFINITY))
        code = emit(w, IPEX_STEP_min, code, emit_numbers(w, f->high));
    for (int64_t i = 0; i < w->n; i++) {
        atom.whole = atom.whole && (isinf(f->low[i]) || f->low[i] == rint(f->low[i])) &&
                     (isinf(f->high[i]) || f->high[i] == rint(f->high[i]));
        atom.low[i] = fmin(fmax(atom.low[i], f->low[i]), f->high[i]);
        atom.high[i] = fmin(fmax(atom.high[i], f->low[i]), f->high[i]);
    }
    if (code >= IPEX_POINTWISE_RESULT)
        w->atom[code] = atom;
    return code;
}

/* The bound as a whole number of the atom; false where it is none. */
static bool bound_atom(double bound, double c, double c0, double *ret) {
    const double exactly = (bound - c0) / c;
    *ret = isinf(bound) ? bound : rint(exactly);
    return isinf(bound) || fabs(exactly - *ret) < 1e-6;
}

/* A clipped form of one term as a clipped atom, of which any sum may be taken; else it stays. */
static void clip_atom(struct rewrite *w, struct form *f) {
    if (!f->exact || f->terms != 1 || !is_clipped(w, f))
        return;
    struct form atom = form_of_atom(w, f->atom[0]);
    for (int64_t i = 0; i < w->n; i++) {
        const double c = f->c[0][i], c0 = f->c0[i];
        if (!(c > 0) || !bound_atom(f->low[i], c, c0, &atom.low[i]) ||
            !bound_atom(f->high[i], c, c0, &atom.high[i]))
            return;
    }
    f->atom[0] = emit_form(w, &atom);
    f->low = numbers(w, -INFINITY);
    f->high = numbers(w, INFINITY);
}

/* ---- steps ---- */

static bool is_number(const struct form *f) {
    return f->terms == 0;
}

/* `sign` times the terms of `from` more; false: there would be too many. */
static bool add_terms(struct rewrite *w, const struct form *from, double sign, struct form *ret) {
    for (int32_t t = 0; t < from->terms; t++) {
        int32_t at = 0;
        while (at < ret->terms && ret->atom[at] != from->atom[t])
            at++;
        if (at == TERMS)
            return false;
        double *c = numbers(w, 0);
        for (int64_t i = 0; i < w->n; i++)
            c[i] = sign * from->c[t][i] + (at < ret->terms ? ret->c[at][i] : 0);
        ret->atom[at] = from->atom[t];
        ret->c[at] = c;
        ret->terms += at == ret->terms;
    }
    return true;
}

/* By numbers that are added to it, bounds move; but for these only sums without bounds are added.
 */
static bool add_forms(struct rewrite *w, struct form *a, struct form *b, double sign,
                      struct form *ret) {
    const bool is_moved = is_number(b) || (is_number(a) && sign > 0);
    if (!a->exact || !b->exact)
        return false;
    if (!is_moved) {
        clip_atom(w, a);
        clip_atom(w, b);
        if (is_clipped(w, a) || is_clipped(w, b))
            return false;
    }
    *ret = form_of_numbers(w, numbers(w, 0));
    for (int64_t i = 0; i < w->n; i++) {
        ret->c0[i] = a->c0[i] + sign * b->c0[i];
        ret->low[i] = is_number(b) ? a->low[i] + sign * b->c0[i] : a->c0[i] + b->low[i];
        ret->high[i] = is_number(b) ? a->high[i] + sign * b->c0[i] : a->c0[i] + b->high[i];
        if (!is_moved) {
            ret->low[i] = -INFINITY;
            ret->high[i] = INFINITY;
        }
    }
    return add_terms(w, a, 1, ret) && add_terms(w, b, sign, ret);
}

/* A factor of what is computed. */
static bool is_scaled(const struct rewrite *w, const struct form *f) {
    return f->terms == 1 && all_are(w, f->c0, 0) && !is_clipped(w, f) &&
           w->atom[f->atom[0]].computed;
}

/* A product that is a whole number but for the rounding of f64. */
static double near_whole(double number) {
    const double whole = rint(number);
    return fabs(number - whole) <= 1e-12 * fabs(whole) ? whole : number;
}

static bool scale_form(struct rewrite *w, const struct form *a, const struct form *b, bool divide,
                       struct form *ret) {
    if ((!a->exact && !is_scaled(w, a)) || !is_number(b))
        return false;
    *ret = form_of_numbers(w, numbers(w, 0));
    ret->exact = a->exact;
    ret->terms = a->terms;
    for (int32_t t = 0; t < a->terms; t++) {
        ret->atom[t] = a->atom[t];
        ret->c[t] = numbers(w, 0);
    }
    for (int64_t i = 0; i < w->n; i++) {
        const double by = divide ? 1 / b->c0[i] : b->c0[i];
        if (!isfinite(by))
            return false;
        ret->c0[i] = near_whole(a->c0[i] * by);
        for (int32_t t = 0; t < a->terms; t++)
            ret->c[t][i] = near_whole(a->c[t][i] * by);
        if (by > 0 || by < 0) {
            ret->low[i] = (by > 0 ? a->low[i] : a->high[i]) * by;
            ret->high[i] = (by > 0 ? a->high[i] : a->low[i]) * by;
        }
    }
    return true;
}

static bool clip_form(struct rewrite *w, int16_t op, const struct form *a, const struct form *b,
                      struct form *ret) {
    if (!a->exact || is_number(a) || !is_number(b))
        return false;
    *ret = *a;
    ret->low = numbers(w, 0);
    ret->high = numbers(w, 0);
    for (int64_t i = 0; i < w->n; i++) {
        const double bound = b->c0[i];
        if (isnan(bound))
            return false;
        ret->low[i] = op == IPEX_STEP_max ? fmax(a->low[i], bound) : fmin(a->low[i], bound);
        ret->high[i] = op == IPEX_STEP_max ? fmax(a->high[i], bound) : fmin(a->high[i], bound);
    }
    drop_bounds(w, ret);
    return true;
}

/* Whole numbers are left as they are; bounds are rounded, too. */
static struct form round_form(struct rewrite *w, const struct form *f) {
    struct form sum = *f;
    sum.low = numbers(w, -INFINITY);
    sum.high = numbers(w, INFINITY);
    int16_t code = emit_form(w, &sum);
    if (!w->atom[code].whole) {
        const int16_t rounded = emit(w, IPEX_STEP_round, code, code);
        struct atom *atom = &w->atom[rounded];
        atom->whole = true;
        for (int64_t i = 0; i < w->n; i++) {
            const double slack = 1e-3; /* more than f32 is off by, of what becomes a byte */
            atom->low[i] = rint(w->atom[code].low[i] - slack);
            atom->high[i] = rint(w->atom[code].high[i] + slack);
        }
        code = rounded;
    }
    struct form ret = form_of_atom(w, code);
    for (int64_t i = 0; i < w->n; i++) {
        ret.low[i] = rint(f->low[i]);
        ret.high[i] = rint(f->high[i]);
    }
    drop_bounds(w, &ret);
    return ret;
}

/* One term without bounds: c (atom + shift), the shift a whole number, or 0 of what is none. */
static bool is_shifted(struct rewrite *w, const struct form *f, double *shift) {
    if (f->terms != 1 || is_clipped(w, f))
        return false;
    for (int64_t i = 0; i < w->n; i++) {
        const double by = f->c0[i] / f->c[0][i];
        shift[i] = rint(by);
        if (!(fabs(by - shift[i]) < 1e-6) || (!f->exact && by != 0))
            return false;
    }
    return true;
}

static void range_of_product(const struct rewrite *w, const struct atom *x, const struct atom *y,
                             struct atom *ret) {
    ret->whole = x->whole && y->whole;
    for (int64_t i = 0; i < w->n && ret->whole; i++) {
        const double corner[4] = {x->low[i] * y->low[i], x->low[i] * y->high[i],
                                  x->high[i] * y->low[i], x->high[i] * y->high[i]};
        ret->low[i] = fmin(fmin(corner[0], corner[1]), fmin(corner[2], corner[3]));
        ret->high[i] = fmax(fmax(corner[0], corner[1]), fmax(corner[2], corner[3]));
        ret->whole = ret->high[i] - ret->low[i] < 0x1p24;
    }
}

/* Products, whose operands' factors are behind them. */
static bool multiply_forms(struct rewrite *w, const struct form *a, const struct form *b,
                           struct form *ret) {
    struct form of[2] = {*a, *b};
    int16_t code[2];
    double *by = numbers(w, 0);
    for (int k = 0; k < 2; k++) {
        double *shift = numbers(w, 0);
        if (!is_shifted(w, &of[k], shift))
            return false;
        of[k].c0 = shift;
        of[k].c[0] = numbers(w, 1);
    }
    for (int64_t i = 0; i < w->n; i++)
        by[i] = a->c[0][i] * b->c[0][i];
    for (int k = 0; k < 2; k++)
        code[k] = emit_form(w, &of[k]);
    const int16_t product = emit(w, IPEX_STEP_mul, code[0], code[1]);
    range_of_product(w, &w->atom[code[0]], &w->atom[code[1]], &w->atom[product]);
    *ret = form_of_atom(w, product);
    ret->c[0] = by;
    return true;
}

/* As it stands, of values. */
static struct form keep_step(struct rewrite *w, int16_t op, const struct form *a,
                             const struct form *b) {
    const int16_t first = emit_form(w, a),
                  second = ipex_step_operands(op) == 1 ? first : emit_form(w, b);
    return form_of_atom(w, emit(w, op, first, second));
}

static bool rewrite_step(struct rewrite *w, int16_t op, struct form *a, struct form *b,
                         struct form *ret) {
    switch (op) {
    case IPEX_STEP_copy:
        *ret = *a;
        return true;
    case IPEX_STEP_add:
        return add_forms(w, a, b, 1, ret);
    case IPEX_STEP_sub:
        return add_forms(w, a, b, -1, ret);
    case IPEX_STEP_mul:
        return scale_form(w, a, b, false, ret) || scale_form(w, b, a, false, ret) ||
               multiply_forms(w, a, b, ret);
    case IPEX_STEP_div:
        return scale_form(w, a, b, true, ret);
    case IPEX_STEP_max:
    case IPEX_STEP_min:
        return clip_form(w, op, a, b, ret) || clip_form(w, op, b, a, ret);
    default:
        return false;
    }
}

static struct form operand(struct rewrite *w, int16_t code, const struct form *results) {
    const struct ipex_program *p = w->node->u.program;
    if (code < 0)
        return form_of_numbers(w, numbers(w, (double)p->constant[-1 - code]));
    if (code >= IPEX_POINTWISE_RESULT)
        return results[code - IPEX_POINTWISE_RESULT];
    if (w->input_of[code] < 0)
        return form_of_numbers(w, numbers_of(w, w->node->input[code]));
    return form_of_atom(w, w->input_of[code]);
}

static void rewrite_program(struct rewrite *w) {
    const struct ipex_program *p = w->node->u.program;
    struct form *results = ipex_arena_array(&w->arena, (size_t)p->steps, sizeof *results);
    for (int32_t i = 0; i < p->steps && !w->failed; i++) {
        const int16_t op = p->step[i].op;
        struct form a = operand(w, p->step[i].a, results);
        struct form b = ipex_step_operands(op) == 1 ? a : operand(w, p->step[i].b, results);
        if (op == IPEX_STEP_round && !is_number(&a))
            results[i] = round_form(w, &a);
        else if (!rewrite_step(w, op, &a, &b, &results[i]))
            results[i] = keep_step(w, op, &a, &b);
    }
    if (w->failed)
        return;
    const int16_t code = emit_form(w, &results[p->steps - 1]);
    if (code != IPEX_POINTWISE_RESULT + w->program->steps - 1)
        (void)emit(w, IPEX_STEP_copy, code, code);
}

/* ---- nodes ---- */

/* Along which axis a constant varies; -1: it is one number, -2: along several, or another part. */
static int32_t axis_of(const struct ipex_node *node, const struct ipex_value *constant) {
    const struct ipex_value *y = node->output;
    if (ipex_value_numel(constant) == 1)
        return -1;
    for (int32_t axis = 0; axis < y->rank; axis++)
        if (ipex_match_vector(constant, y->rank, axis, y->dims[axis]))
            return axis;
    return -2;
}

/* In instructions, of which a quotient takes the time of several. */
static int32_t cost_of(const struct ipex_program *p) {
    enum { QUOTIENT = 4 };
    int32_t ret = 0;
    for (int32_t i = 0; i < p->steps; i++)
        ret += p->step[i].op == IPEX_STEP_div ? QUOTIENT : 1;
    return ret;
}

static bool is_computed(const struct ipex_value *x) {
    const struct ipex_node *node = x->producer;
    if (!node)
        return false;
    switch (node->kind) {
    case IPEX_KIND_conv:
    case IPEX_KIND_linear:
    case IPEX_KIND_softmax:
        return true;
    case IPEX_KIND_plan:
        return node->u.plan.op == IPEX_OP_matmul || node->u.plan.op == IPEX_OP_attention ||
               node->u.plan.op == IPEX_OP_layer_norm || node->u.plan.op == IPEX_OP_group_norm;
    default:
        return false;
    }
}

/* A division that is rounded, which bytes may be stored by without a program (pointwise_bytes.c).
 */
static bool only_quantises(const struct ipex_node *node) {
    struct ipex_program p;
    ipex_program_trim(node, &p);
    return node->output->is_byte && p.step[0].op == IPEX_STEP_div && p.steps <= 3;
}

/* Of bytes, or of what is rounded and cut and goes on. Of one byte alone a program is a table,
 * whatever its steps. */
static bool fits(const struct ipex_node *node) {
    if (node->kind != IPEX_KIND_pointwise)
        return false;
    const struct ipex_program *p = node->u.program;
    bool bytes = false, rounds = false, cuts = false;
    for (int32_t i = 0; i < node->inputs; i++)
        bytes = bytes || node->input[i]->is_byte;
    for (int32_t i = 0; i < p->steps; i++) {
        rounds = rounds || p->step[i].op == IPEX_STEP_round;
        cuts = cuts || (rounds && p->step[i].op == IPEX_STEP_min);
    }
    return bytes ? node->inputs > 1 : cuts && !only_quantises(node);
}

static void begin(struct ipex_graph *graph, struct ipex_node *node, struct rewrite *w) {
    *w = (struct rewrite){.graph = graph, .node = node, .n = 1, .axis = node->output->rank};
    for (int32_t i = 0; i < node->inputs; i++) {
        const struct ipex_value *x = node->input[i];
        const int32_t axis = x->constant && x->dtype == IPEX_DTYPE_f32 ? axis_of(node, x) : -2;
        const bool first = axis >= 0 && w->n == 1;
        if (first) {
            w->axis = axis;
            w->n = node->output->dims[axis];
        }
        w->input_of[i] = (int16_t)(axis == -1 || (axis >= 0 && axis == w->axis) ? -1 : w->inputs);
        if (w->input_of[i] >= 0)
            w->input[w->inputs++] = node->input[i];
    }
    for (int32_t i = 0; i < w->inputs; i++) {
        const bool byte = w->input[i]->is_byte;
        w->atom[i] =
            (struct atom){numbers(w, byte ? 0 : -INFINITY), numbers(w, byte ? 255 : INFINITY), byte,
                          is_computed(w->input[i])};
    }
    w->program = ipex_arena_alloc(&w->arena, sizeof *w->program);
}

static void take(struct ipex_graph *graph, struct ipex_node *node, const struct rewrite *w) {
    const int32_t before = node->u.program->steps;
    for (int32_t i = 0; i < node->inputs; i++)
        node->input[i]->uses--;
    node->inputs = 0;
    for (int32_t i = 0; i < w->inputs; i++)
        ipex_node_add_input(node, w->input[i]);
    node->u.program = ipex_arena_alloc(&graph->arena, sizeof *node->u.program);
    *node->u.program = *w->program;
    ipex_ledger_add(graph->ledger, "byte_steps", node->name, IPEX_REASON_applied,
                    ipex_arena_printf(&graph->arena, "%d steps instead of %d",
                                      (int)w->program->steps, (int)before));
}

void ipex_pass_byte_steps(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        struct rewrite w;
        if (!fits(node))
            continue;
        begin(graph, node, &w);
        rewrite_program(&w);
        if (!w.failed && cost_of(w.program) < cost_of(node->u.program))
            take(graph, node, &w);
        ipex_arena_finish(&w.arena);
    }
}
