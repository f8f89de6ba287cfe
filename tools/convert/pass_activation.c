/* SPDX-License-Identifier: Apache-2.0 */
/* Finds activations that exporters spell in several nodes: hard-swish as x * clip(x + 3, 0, 6) / 6
 * in any order, SiLU as x * sigmoid(x), GELU with erf or tanh, Mish, hard-sigmoid, softplus,
 * sigmoid, leaky ReLU as a Max. The subgraph that ends in a Mul, Div, Min, Max, Log or Reciprocal
 * is joined, on a copy, as long as one value feeds it; when the joined program is a known
 * activation, it takes the subgraph's place. */
#include "tools/convert/match.h"
#include "tools/convert/passes.h"

#include <string.h>

#define MAX_NODES 12 /* the longest spelling (GELU with tanh) has nine */
#define MAX_DEPTH 10

struct subgraph {
    struct ipex_node *node[MAX_NODES]; /* producers that were joined, outermost first */
    int32_t nodes;
    struct ipex_program program;
    struct ipex_value *input[IPEX_POINTWISE_INPUTS];
    int32_t inputs;
};

static int16_t moved(int16_t operand, int16_t results, int16_t constants, const int16_t *inputs) {
    return operand < 0                        ? (int16_t)(operand - constants)
           : operand >= IPEX_POINTWISE_RESULT ? (int16_t)(operand + results)
                                              : inputs[operand];
}

/* Value -> operand code inside the subgraph's program, expanding producers that only the subgraph
 * reads. -1000 when it does not fit. */
static int16_t expand(struct ipex_graph *graph, struct subgraph *s, struct ipex_value *value,
                      int depth);

static int16_t expand_node(struct ipex_graph *graph, struct subgraph *s, struct ipex_node *node,
                           int depth) {
    int16_t inputs[IPEX_POINTWISE_INPUTS];
    struct ipex_program *p = &s->program;
    const struct ipex_program *from = node->u.program;
    for (int32_t i = 0; i < node->inputs; i++)
        if ((inputs[i] = expand(graph, s, node->input[i], depth + 1)) == -1000)
            return -1000;
    if (p->steps + from->steps > 16 || p->constants + from->constants > 16)
        return -1000;
    int16_t results = (int16_t)p->steps, constants = (int16_t)p->constants;
    for (int32_t i = 0; i < from->steps; i++, p->steps++) {
        p->step[p->steps].op = from->step[i].op;
        p->step[p->steps].a = moved(from->step[i].a, results, constants, inputs);
        p->step[p->steps].b = moved(from->step[i].b, results, constants, inputs);
    }
    memcpy(p->constant + constants, from->constant, (size_t)from->constants * sizeof *p->constant);
    p->constants += from->constants;
    return (int16_t)(IPEX_POINTWISE_RESULT + p->steps - 1);
}

static int16_t expand(struct ipex_graph *graph, struct subgraph *s, struct ipex_value *value,
                      int depth) {
    struct ipex_node *producer = value->producer;
    if (producer && producer->kind == IPEX_KIND_pointwise && depth < MAX_DEPTH &&
        s->nodes < MAX_NODES && ipex_value_only_reader(graph, value) &&
        producer->output->rank == value->rank) {
        s->node[s->nodes++] = producer;
        return expand_node(graph, s, producer, depth);
    }
    for (int32_t i = 0; i < s->inputs; i++)
        if (s->input[i] == value)
            return (int16_t)i;
    if (s->inputs == 1) /* an activation has one input */
        return -1000;
    s->input[s->inputs] = value;
    return (int16_t)s->inputs++;
}

static bool is_candidate(const struct ipex_node *node) {
    int16_t last = node->kind == IPEX_KIND_pointwise
                       ? node->u.program->step[node->u.program->steps - 1].op
                       : -1;
    return last == IPEX_STEP_mul || last == IPEX_STEP_div || last == IPEX_STEP_log ||
           last == IPEX_STEP_min || last == IPEX_STEP_max || last == IPEX_STEP_log1p ||
           last == IPEX_STEP_reciprocal;
}

static const char *recognised(enum ipex_act act) {
    switch (act) {
    case IPEX_ACT_hard_swish:
        return "hard-swish";
    case IPEX_ACT_silu:
        return "SiLU";
    case IPEX_ACT_gelu:
        return "GELU";
    case IPEX_ACT_gelu_tanh:
        return "GELU (tanh)";
    case IPEX_ACT_mish:
        return "Mish";
    case IPEX_ACT_softplus:
        return "softplus";
    case IPEX_ACT_hard_sigmoid:
        return "hard-sigmoid";
    case IPEX_ACT_sigmoid:
        return "sigmoid";
    case IPEX_ACT_clip:
        return "clip";
    case IPEX_ACT_leaky_relu:
        return "leaky ReLU";
    default:
        return NULL;
    }
}

/* Why an error function stayed by itself: every spelling of GELU has one, and little else does. */
static void record_rest(struct ipex_graph *graph, const struct ipex_node *node) {
    const struct ipex_program *p = node->u.program;
    if (p->steps != 1 || p->step[0].op != IPEX_STEP_erf)
        return;
    const struct ipex_node *next = ipex_value_only_reader(graph, node->output);
    const struct ipex_node *before = node->input[0]->producer;
    bool shared = !next ||
                  (before && before->kind == IPEX_KIND_pointwise &&
                   !ipex_value_only_reader(graph, node->input[0])) ||
                  !ipex_value_only_reader(graph, next->output);
    ipex_ledger_add(graph->ledger, "activation", node->name,
                    shared ? IPEX_REASON_two_consumers : IPEX_REASON_not_an_activation, NULL);
}

static void try_site(struct ipex_graph *graph, struct ipex_node *node) {
    struct subgraph s = {.nodes = 0};
    float a, b;
    if (expand_node(graph, &s, node, 0) == -1000 || s.inputs != 1 || s.nodes == 0 ||
        !ipex_same_shape(s.input[0], node->output))
        return;
    enum ipex_act act = ipex_program_act(&s.program, &a, &b);
    const char *name = recognised(act);
    if (!name)
        return;
    const char *site = node->name;
    for (int32_t i = 0; i < s.nodes; i++)
        site = ipex_graph_join(graph, s.node[i]->name, site);
    ipex_ledger_add(graph->ledger, "activation", site, IPEX_REASON_applied,
                    ipex_arena_printf(&graph->arena, "recognised as %s", name));
    for (int32_t i = 0; i < node->inputs; i++)
        node->input[i]->uses--;
    node->inputs = 0;
    ipex_node_add_input(node, s.input[0]);
    node->u.program = ipex_arena_alloc(&graph->arena, sizeof *node->u.program);
    ipex_program_make(node->u.program, act, a, b);
    node->name = site;
}

void ipex_pass_activation(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->kind == IPEX_KIND_pointwise)
            ipex_program_absorb_scalars(node);
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (is_candidate(node))
            try_site(graph, node);
    ipex_graph_prune(graph);
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->kind == IPEX_KIND_pointwise)
            record_rest(graph, node);
}
