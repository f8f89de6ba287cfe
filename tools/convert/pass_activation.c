/* SPDX-License-Identifier: Apache-2.0 */
/* Finds activations that exporters spell in several nodes: hard-swish as x * clip(x + 3, 0, 6) / 6
 * in any order, SiLU as x * sigmoid(x). The subgraph that ends in a Mul or Div is joined, on a
 * copy, as long as one value feeds it; when the joined program is a known activation, it takes the
 * subgraph's place. */
#include "tools/convert/passes.h"

#include <string.h>

#define MAX_NODES 6 /* the longest spelling has four */

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
    if (producer && producer->kind == IPEX_KIND_pointwise && depth < 4 && s->nodes < MAX_NODES &&
        ipex_value_only_reader(graph, value) && producer->output->rank == value->rank) {
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
    return last == IPEX_STEP_mul || last == IPEX_STEP_div;
}

static bool same_shape(const struct ipex_value *a, const struct ipex_value *b) {
    return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

static void try_site(struct ipex_graph *graph, struct ipex_node *node) {
    struct subgraph s = {.nodes = 0};
    float a, b;
    if (expand_node(graph, &s, node, 0) == -1000 || s.inputs != 1 ||
        !same_shape(s.input[0], node->output))
        return;
    enum ipex_act act = ipex_program_act(&s.program, &a, &b);
    if (act != IPEX_ACT_hard_swish && act != IPEX_ACT_silu)
        return;
    const char *site = node->name;
    for (int32_t i = 0; i < s.nodes; i++)
        site = ipex_graph_join(graph, s.node[i]->name, site);
    ipex_ledger_add(graph->ledger, "activation", site, IPEX_REASON_applied,
                    act == IPEX_ACT_silu ? "recognised as SiLU" : "recognised as hard-swish");
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
}
