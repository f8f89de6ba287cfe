/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise programs: joining two, and recognising activations. */
#include "tools/convert/passes.h"

#include <math.h>
#include <string.h>

/* Operand codes shifted into the joined program. */
struct renumber {
    int16_t input[IPEX_POINTWISE_INPUTS], constant, result;
};

static int16_t renumbered(const struct renumber *map, int16_t operand) {
    if (operand < 0)
        return (int16_t)(operand - map->constant);
    if (operand >= IPEX_POINTWISE_RESULT)
        return (int16_t)(operand + map->result);
    return map->input[operand];
}

static void append(struct ipex_program *to, const struct ipex_program *from, struct renumber *map) {
    map->constant = (int16_t)to->constants;
    map->result = (int16_t)to->steps;
    for (int32_t i = 0; i < from->steps; i++, to->steps++) {
        to->step[to->steps].op = from->step[i].op;
        to->step[to->steps].a = renumbered(map, from->step[i].a);
        to->step[to->steps].b = renumbered(map, from->step[i].b);
    }
    memcpy(to->constant + to->constants, from->constant,
           (size_t)from->constants * sizeof *to->constant);
    to->constants += from->constants;
}

/* Position of a value in a list, which it is added to when new; -1 when the list is full. */
static int16_t place(struct ipex_value **list, int32_t *count, struct ipex_value *value) {
    for (int32_t i = 0; i < *count; i++)
        if (list[i] == value)
            return (int16_t)i;
    if (*count == IPEX_POINTWISE_INPUTS)
        return -1;
    list[*count] = value;
    return (int16_t)(*count)++;
}

bool ipex_program_join(struct ipex_graph *graph, struct ipex_node *reader, int32_t index) {
    struct ipex_value *between = reader->input[index], *input[IPEX_POINTWISE_INPUTS];
    struct ipex_node *producer = between->producer;
    const struct ipex_program *first = producer->u.program, *second = reader->u.program;
    struct renumber a = {{0}, 0, 0}, b = {{0}, 0, 0};
    int32_t inputs = 0;
    if (first->steps + second->steps > IPEX_POINTWISE_STEPS ||
        first->constants + second->constants > IPEX_POINTWISE_CONSTANTS)
        return false;
    for (int32_t i = 0; i < producer->inputs; i++)
        if ((a.input[i] = place(input, &inputs, producer->input[i])) < 0)
            return false;
    for (int32_t i = 0; i < reader->inputs; i++) {
        b.input[i] = reader->input[i] == between
                         ? (int16_t)(IPEX_POINTWISE_RESULT + first->steps - 1)
                         : place(input, &inputs, reader->input[i]);
        if (b.input[i] < 0)
            return false;
    }
    struct ipex_program *joined = ipex_arena_alloc(&graph->arena, sizeof *joined);
    append(joined, first, &a);
    append(joined, second, &b);
    for (int32_t i = 0; i < reader->inputs; i++)
        reader->input[i]->uses--;
    reader->inputs = 0;
    for (int32_t i = 0; i < inputs; i++)
        ipex_node_add_input(reader, input[i]);
    reader->u.program = joined;
    reader->name = ipex_graph_join(graph, producer->name, reader->name);
    ipex_graph_remove(graph, producer);
    return true;
}

void ipex_program_absorb_scalars(struct ipex_node *node) {
    struct ipex_program *p = node->u.program;
    for (int32_t i = node->inputs - 1; i >= 0; i--) {
        struct ipex_value *value = node->input[i];
        if (!value->constant || ipex_value_numel(value) != 1 ||
            p->constants == IPEX_POINTWISE_CONSTANTS || node->inputs == 1)
            continue;
        p->constant[p->constants] = (float)ipex_constant_f64(value, 0);
        int16_t code = (int16_t)(-1 - p->constants++);
        for (int32_t s = 0; s < p->steps; s++) {
            int16_t *operand[2] = {&p->step[s].a, &p->step[s].b};
            for (int k = 0; k < 2; k++)
                if (*operand[k] == i)
                    *operand[k] = code;
                else if (*operand[k] > i && *operand[k] < IPEX_POINTWISE_RESULT)
                    --*operand[k];
        }
        value->uses--;
        memmove(node->input + i, node->input + i + 1,
                (size_t)(node->inputs - 1 - i) * sizeof *node->input);
        node->inputs--;
    }
}

/* ---- results in bytes ---- */

/* Whether the last step is op of what is before it and, but for rounding, a number. */
static bool ends_with(const struct ipex_program *p, enum ipex_step op, float *ret_number) {
    const int32_t last = p->steps - 1;
    const int16_t b = p->step[last].b;
    if (p->step[last].op != (int16_t)op || p->step[last].a < 0)
        return false;
    *ret_number = b < 0 ? p->constant[-1 - b] : 0;
    return b < 0 || op == IPEX_STEP_round;
}

/* Takes the last step away: what its operand a is becomes the result. */
static void drop_last(struct ipex_program *p) {
    const int32_t last = p->steps - 1;
    const int16_t a = p->step[last].a;
    if (a == IPEX_POINTWISE_RESULT + last - 1) {
        p->steps--;
        return;
    }
    p->step[last].op = IPEX_STEP_copy;
    p->step[last].b = a;
}

static bool is_used_once(const struct ipex_program *p, int32_t step) {
    const int16_t code = (int16_t)(IPEX_POINTWISE_RESULT + step);
    int32_t uses = 0;
    for (int32_t i = 0; i < p->steps; i++)
        uses += p->step[i].a == code ||
                (ipex_step_operands(p->step[i].op) == 2 && p->step[i].b == code);
    return uses == 1;
}

/* Step `at` is op of the step before it, which nobody else reads, and a number. */
static bool goes_on(const struct ipex_program *p, int32_t at, enum ipex_step op) {
    return at > 0 && p->step[at].op == (int16_t)op && p->step[at].b < 0 &&
           p->step[at].a == IPEX_POINTWISE_RESULT + at - 1 && is_used_once(p, at - 1);
}

/* Takes away step `at`, whose place the step before it has taken. */
static void drop_step(struct ipex_program *p, int32_t at) {
    const int16_t code = (int16_t)(IPEX_POINTWISE_RESULT + at);
    p->steps--;
    for (int32_t i = at; i < p->steps; i++) {
        p->step[i] = p->step[i + 1];
        p->step[i].a = (int16_t)(p->step[i].a - (p->step[i].a >= code));
        p->step[i].b = (int16_t)(p->step[i].b - (p->step[i].b >= code));
    }
}

static float *number_of(struct ipex_program *p, int32_t step) {
    return &p->constant[-1 - p->step[step].b];
}

/* round(x) + zero, an even number, and bounds behind it, is x + zero rounded as it is stored; a
 * number that was added to x and zero are one. */
static void add_before_rounding(struct ipex_program *p) {
    int32_t at = p->steps - 1;
    while (goes_on(p, at, IPEX_STEP_max) || goes_on(p, at, IPEX_STEP_min))
        at--;
    if (!goes_on(p, at, IPEX_STEP_add) || p->step[at - 1].op != IPEX_STEP_round ||
        fmod((double)*number_of(p, at), 2) != 0)
        return;
    p->step[at - 1].op = IPEX_STEP_add;
    p->step[at - 1].b = p->step[at].b;
    drop_step(p, at--);
    if (!goes_on(p, at, IPEX_STEP_add) || !goes_on(p, at - 1, IPEX_STEP_add) ||
        p->constants == IPEX_POINTWISE_CONSTANTS)
        return;
    p->constant[p->constants] = (float)((double)*number_of(p, at - 1) + (double)*number_of(p, at));
    p->step[at - 1].b = (int16_t)(-1 - p->constants++);
    drop_step(p, at);
}

void ipex_program_trim(const struct ipex_node *node, struct ipex_program *ret) {
    float number = 0;
    *ret = *node->u.program;
    if (ends_with(ret, IPEX_STEP_min, &number) && number == 255)
        drop_last(ret);
    if (ends_with(ret, IPEX_STEP_max, &number) && number == 0)
        drop_last(ret);
    if (ends_with(ret, IPEX_STEP_round, &number)) /* to which nothing is added */
        drop_last(ret);
    if (node->inputs > 1)
        add_before_rounding(ret);
}

/* ---- recognising activations ---- */

/* The value of operand `code` at x, in f64; the program has one input. */
static double operand_at(const struct ipex_program *p, int16_t code, double x,
                         const double *results) {
    return code < 0                        ? (double)p->constant[-1 - code]
           : code >= IPEX_POINTWISE_RESULT ? results[code - IPEX_POINTWISE_RESULT]
                                           : x;
}

static double softplus_at(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double step_at(int16_t op, double a, double b) {
    switch ((enum ipex_step)op) {
    case IPEX_STEP_add:
        return a + b;
    case IPEX_STEP_sub:
        return a - b;
    case IPEX_STEP_mul:
        return a * b;
    case IPEX_STEP_div:
        return a / b;
    case IPEX_STEP_min:
        return b < a ? b : a;
    case IPEX_STEP_max:
        return b > a ? b : a;
    case IPEX_STEP_sigmoid:
        return 1 / (1 + exp(-a));
    case IPEX_STEP_neg:
        return -a;
    case IPEX_STEP_exp:
        return exp(a);
    case IPEX_STEP_log:
        return log(a);
    case IPEX_STEP_log1p:
        return log1p(a);
    case IPEX_STEP_tanh:
        return tanh(a);
    case IPEX_STEP_erf:
        return erf(a);
    case IPEX_STEP_pow:
        return pow(a, b);
    case IPEX_STEP_reciprocal:
        return 1 / a;
    case IPEX_STEP_softplus:
        return softplus_at(a);
    default:
        return NAN;
    }
}

static double program_at(const struct ipex_program *p, double x) {
    double results[IPEX_POINTWISE_STEPS];
    for (int32_t i = 0; i < p->steps; i++)
        results[i] = step_at(p->step[i].op, operand_at(p, p->step[i].a, x, results),
                             operand_at(p, p->step[i].b, x, results));
    return results[p->steps - 1];
}

static bool agrees_at(const struct ipex_program *p, double (*f)(double), double x) {
    double y = program_at(p, x), z = f(x);
    return fabs(y - z) <= 1e-6 * (1 + fabs(z));
}

/* Both spellings are short programs of smooth functions with few breaks, so agreement at many
 * points, near and far on both sides, means that they are the same function up to the rounding of
 * the constants (erf and tanh GELU differ by 5e-4). Far ends at 80: spellings with an exp overflow
 * in f32 beyond, where none of them means what it computes. */
static bool agrees(const struct ipex_program *p, double (*f)(double)) {
    for (int i = -400; i <= 400; i++)
        if (!agrees_at(p, f, i / 37.0))
            return false;
    for (double x = 11; x < 80; x *= 1.1)
        if (!agrees_at(p, f, x) || !agrees_at(p, f, -x))
            return false;
    return true;
}

static double hard_swish_at(double x) {
    return x * fmin(fmax(x / 6 + 0.5, 0), 1);
}
static double hard_sigmoid_at(double x) {
    return fmin(fmax(x / 6 + 0.5, 0), 1);
}
static double sigmoid_at(double x) {
    return 1 / (1 + exp(-x));
}
static double silu_at(double x) {
    return x / (1 + exp(-x));
}
static double gelu_at(double x) {
    return x / 2 * (1 + erf(x * 0.70710678118654752));
}
static double gelu_tanh_at(double x) {
    return x / 2 * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
}
static double mish_at(double x) {
    return x * tanh(softplus_at(x));
}

/* Activations without parameters that are spelled in several steps. */
static enum ipex_act match_function(const struct ipex_program *p) {
    static const struct {
        enum ipex_act act;
        double (*f)(double);
    } known[] = {{IPEX_ACT_hard_swish, hard_swish_at},
                 {IPEX_ACT_silu, silu_at},
                 {IPEX_ACT_gelu, gelu_at},
                 {IPEX_ACT_gelu_tanh, gelu_tanh_at},
                 {IPEX_ACT_mish, mish_at},
                 {IPEX_ACT_softplus, softplus_at},
                 {IPEX_ACT_hard_sigmoid, hard_sigmoid_at},
                 {IPEX_ACT_sigmoid, sigmoid_at}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (agrees(p, known[i].f))
            return known[i].act;
    return IPEX_ACT_none;
}

/* Steps that are an activation by themselves. */
static enum ipex_act match_step(const struct ipex_program *p) {
    static const struct {
        enum ipex_step step;
        enum ipex_act act;
    } known[] = {{IPEX_STEP_sigmoid, IPEX_ACT_sigmoid}, {IPEX_STEP_tanh, IPEX_ACT_tanh},
                 {IPEX_STEP_gelu, IPEX_ACT_gelu},       {IPEX_STEP_gelu_tanh, IPEX_ACT_gelu_tanh},
                 {IPEX_STEP_mish, IPEX_ACT_mish},       {IPEX_STEP_softplus, IPEX_ACT_softplus}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (p->steps == 1 && p->step[0].op == (int16_t)known[i].step && p->step[0].a == 0)
            return known[i].act;
    return IPEX_ACT_none;
}

static bool is_step(const struct ipex_program *p, int32_t i, enum ipex_step op, int16_t a) {
    return i < p->steps && p->step[i].op == (int16_t)op &&
           (p->step[i].a == a || (op != IPEX_STEP_leaky && p->step[i].b == a));
}

/* The constant operand of a binary step; NAN when it has none. */
static float constant_of(const struct ipex_program *p, int32_t i) {
    return p->step[i].b < 0   ? p->constant[-1 - p->step[i].b]
           : p->step[i].a < 0 ? p->constant[-1 - p->step[i].a]
                              : NAN;
}

static enum ipex_act match_clip(const struct ipex_program *p, float *a, float *b) {
    int32_t at = 0;
    int16_t x = 0;
    *a = -INFINITY;
    *b = INFINITY;
    if (is_step(p, at, IPEX_STEP_max, x)) {
        *a = constant_of(p, at++);
        x = IPEX_POINTWISE_RESULT;
    }
    if (is_step(p, at, IPEX_STEP_min, x))
        *b = constant_of(p, at++);
    if (at == 0 || at != p->steps || isnan(*a) || isnan(*b))
        return IPEX_ACT_none;
    return *a == 0 && *b == INFINITY ? IPEX_ACT_relu : IPEX_ACT_clip;
}

static enum ipex_act match_hard_sigmoid(const struct ipex_program *p, float *a, float *b) {
    const int16_t r = IPEX_POINTWISE_RESULT;
    if (p->steps != 4 || !is_step(p, 0, IPEX_STEP_mul, 0) || !is_step(p, 1, IPEX_STEP_add, r) ||
        !is_step(p, 2, IPEX_STEP_max, (int16_t)(r + 1)) ||
        !is_step(p, 3, IPEX_STEP_min, (int16_t)(r + 2)))
        return IPEX_ACT_none;
    *a = constant_of(p, 0);
    *b = constant_of(p, 1);
    return constant_of(p, 2) == 0 && constant_of(p, 3) == 1 && !isnan(*a) && !isnan(*b)
               ? IPEX_ACT_hard_sigmoid
               : IPEX_ACT_none;
}

/* max(x, c x) with c from 0 to 1. */
static enum ipex_act match_leaky_max(const struct ipex_program *p, float *a) {
    const int16_t r = IPEX_POINTWISE_RESULT;
    if (p->steps != 2 || !is_step(p, 0, IPEX_STEP_mul, 0) || !is_step(p, 1, IPEX_STEP_max, 0) ||
        (p->step[1].a != r && p->step[1].b != r))
        return IPEX_ACT_none;
    *a = constant_of(p, 0);
    return *a >= 0 && *a <= 1 ? IPEX_ACT_leaky_relu : IPEX_ACT_none;
}

enum ipex_act ipex_program_act(const struct ipex_program *p, float *ret_a, float *ret_b) {
    float a = 0, b = 0;
    enum ipex_act act = match_clip(p, &a, &b);
    if (act == IPEX_ACT_none)
        act = match_hard_sigmoid(p, &a, &b);
    if (act == IPEX_ACT_none)
        act = match_leaky_max(p, &a);
    if (act == IPEX_ACT_none && p->steps == 1 && is_step(p, 0, IPEX_STEP_leaky, 0) &&
        p->step[0].b < 0) {
        a = constant_of(p, 0);
        act = IPEX_ACT_leaky_relu;
    }
    if (act == IPEX_ACT_none && p->steps == 1 && is_step(p, 0, IPEX_STEP_elu, 0) &&
        p->step[0].a == 0 && p->step[0].b < 0) {
        a = constant_of(p, 0);
        act = IPEX_ACT_elu;
    }
    if (act == IPEX_ACT_none)
        act = match_step(p);
    if (act == IPEX_ACT_none && p->steps > 1) {
        act = match_function(p);
        a = act == IPEX_ACT_hard_sigmoid ? 1.0f / 6.0f : a;
        b = act == IPEX_ACT_hard_sigmoid ? 0.5f : b;
    }
    *ret_a = act == IPEX_ACT_clip || act == IPEX_ACT_leaky_relu || act == IPEX_ACT_hard_sigmoid ||
                     act == IPEX_ACT_elu
                 ? a
                 : 0;
    *ret_b = act == IPEX_ACT_clip || act == IPEX_ACT_hard_sigmoid ? b : 0;
    return act;
}

int16_t ipex_program_emit(struct ipex_program *p, int16_t op, int16_t a, int16_t b) {
    p->step[p->steps].op = op;
    p->step[p->steps].a = a;
    p->step[p->steps].b = b;
    return (int16_t)(IPEX_POINTWISE_RESULT + p->steps++);
}

static int16_t number(struct ipex_program *p, float value) {
    p->constant[p->constants] = value;
    return (int16_t)(-1 - p->constants++);
}

static int16_t emit_clip01(struct ipex_program *p, float a, float b) {
    int16_t x = ipex_program_emit(p, IPEX_STEP_mul, 0, number(p, a));
    x = ipex_program_emit(p, IPEX_STEP_add, x, number(p, b));
    x = ipex_program_emit(p, IPEX_STEP_max, x, number(p, 0));
    return ipex_program_emit(p, IPEX_STEP_min, x, number(p, 1));
}

void ipex_program_make(struct ipex_program *p, enum ipex_act act, float a, float b) {
    *p = (struct ipex_program){0};
    switch (act) {
    case IPEX_ACT_relu:
        ipex_program_emit(p, IPEX_STEP_max, 0, number(p, 0));
        break;
    case IPEX_ACT_clip:
        ipex_program_emit(p, IPEX_STEP_min, ipex_program_emit(p, IPEX_STEP_max, 0, number(p, a)),
                          number(p, b));
        break;
    case IPEX_ACT_leaky_relu:
        ipex_program_emit(p, IPEX_STEP_leaky, 0, number(p, a));
        break;
    case IPEX_ACT_hard_sigmoid:
        emit_clip01(p, a, b);
        break;
    case IPEX_ACT_hard_swish:
        ipex_program_emit(p, IPEX_STEP_mul, 0, emit_clip01(p, 1.0f / 6.0f, 0.5f));
        break;
    case IPEX_ACT_sigmoid:
        ipex_program_emit(p, IPEX_STEP_sigmoid, 0, 0);
        break;
    case IPEX_ACT_silu:
        ipex_program_emit(p, IPEX_STEP_mul, 0, ipex_program_emit(p, IPEX_STEP_sigmoid, 0, 0));
        break;
    case IPEX_ACT_tanh:
        ipex_program_emit(p, IPEX_STEP_tanh, 0, 0);
        break;
    case IPEX_ACT_gelu:
        ipex_program_emit(p, IPEX_STEP_gelu, 0, 0);
        break;
    case IPEX_ACT_gelu_tanh:
        ipex_program_emit(p, IPEX_STEP_gelu_tanh, 0, 0);
        break;
    case IPEX_ACT_mish:
        ipex_program_emit(p, IPEX_STEP_mish, 0, 0);
        break;
    case IPEX_ACT_elu:
        ipex_program_emit(p, IPEX_STEP_elu, 0, number(p, a));
        break;
    case IPEX_ACT_softplus:
        ipex_program_emit(p, IPEX_STEP_softplus, 0, 0);
        break;
    case IPEX_ACT_hard_swish_affine: {
        const int16_t y = ipex_program_emit(p, IPEX_STEP_mul, 0, emit_clip01(p, 1.0f / 6.0f, 0.5f));
        ipex_program_emit(p, IPEX_STEP_add, ipex_program_emit(p, IPEX_STEP_mul, y, number(p, a)),
                          number(p, b));
        break;
    }
    case IPEX_ACT_none:
    case IPEX_ACT_COUNT:
        ipex_program_emit(p, IPEX_STEP_copy, 0, 0);
        break;
    }
}

static struct ipex_value *channel_constant(struct ipex_graph *graph, const struct ipex_node *node,
                                           const char *what, const double *from) {
    const char *name = ipex_arena_printf(&graph->arena, "%s.%s", node->output->name, what);
    return ipex_graph_axis_constant(graph, name, node->output->rank, node->u.affine.axis, from,
                                    node->u.affine.n);
}

void ipex_affine_to_pointwise(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_value *scale = channel_constant(graph, node, "scale", node->u.affine.scale);
    struct ipex_value *shift = channel_constant(graph, node, "shift", node->u.affine.shift);
    node->kind = IPEX_KIND_pointwise;
    node->u.program = ipex_arena_alloc(&graph->arena, sizeof *node->u.program);
    ipex_node_add_input(node, scale);
    ipex_node_add_input(node, shift);
    ipex_program_emit(node->u.program, IPEX_STEP_add,
                      ipex_program_emit(node->u.program, IPEX_STEP_mul, 0, 1), 2);
}
