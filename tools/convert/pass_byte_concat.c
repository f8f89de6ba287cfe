/* SPDX-License-Identifier: Apache-2.0 */
/* What is concatenated and then quantised: every part is quantised by itself, so that bytes are
 * concatenated. A part that was made of bytes goes from these to the new ones in one program. */
#include "tools/convert/passes.h"

/* The concatenation that the elementwise node alone reads, of values that are computed. */
static struct ipex_node *find_concat(const struct ipex_graph *graph, const struct ipex_node *node) {
    struct ipex_node *concat = node->inputs == 1 ? node->input[0]->producer : NULL;
    if (!concat || concat->kind != IPEX_KIND_concat ||
        !ipex_value_only_reader(graph, concat->output))
        return NULL;
    for (int32_t i = 0; i < concat->inputs; i++)
        if (!concat->concat_input[i]->producer || concat->concat_input[i]->uses != 1)
            return NULL;
    return concat;
}

/* The node's program, of this part. */
static struct ipex_value *quantise_part(struct ipex_graph *graph, const struct ipex_node *node,
                                        struct ipex_value *part, struct ipex_node *concat) {
    struct ipex_node *own =
        ipex_graph_node(graph, IPEX_KIND_pointwise, node->name, node->source_op, concat);
    own->u.program = node->u.program;
    ipex_node_add_input(own, part);
    ipex_node_set_output(
        own, ipex_graph_value(graph, part->name, IPEX_DTYPE_f32, part->rank, part->dims));
    own->output->is_byte = true;
    return own->output;
}

static void take(struct ipex_graph *graph, struct ipex_node *node, struct ipex_node *concat) {
    struct ipex_value *y = node->output;
    for (int32_t i = 0; i < concat->inputs; i++) {
        struct ipex_value *part = concat->concat_input[i];
        struct ipex_value *bytes = quantise_part(graph, node, part, concat);
        ipex_node_set_input(concat, i, bytes);
        if (part->producer->kind == IPEX_KIND_pointwise)
            (void)ipex_program_join(graph, bytes->producer, 0);
    }
    concat->name = ipex_graph_join(graph, concat->name, node->name);
    ipex_graph_remove(graph, node);
    ipex_node_set_output(concat, y);
}

void ipex_pass_byte_concat(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (node->kind != IPEX_KIND_pointwise || !node->output->is_byte)
            continue;
        struct ipex_node *concat = find_concat(graph, node);
        if (!concat)
            continue;
        ipex_ledger_add(graph->ledger, "byte_concat", node->name, IPEX_REASON_applied,
                        ipex_arena_printf(&graph->arena, "quantised before %s", concat->name));
        take(graph, node, concat);
    }
}
