/* SPDX-License-Identifier: Apache-2.0 */
/* A concatenation that begins with all that an earlier one joins begins with its result, as the
 * layers of a DenseNet have them: y = [a, b] and [a, b, c] become y and [y, c]. Then y is a part of
 * the larger one, which can be written where it lies there (layout.c), and nothing is copied. */
#include "tools/convert/passes.h"

#include <string.h>

static bool begins(const struct ipex_node *shorter, const struct ipex_node *longer) {
    return shorter->u.axis == longer->u.axis && shorter->inputs > 1 &&
           shorter->inputs < longer->inputs &&
           !memcmp(shorter->concat_input, longer->concat_input,
                   (size_t)shorter->inputs * sizeof(struct ipex_value *));
}

/* The longest of these that begins `node`; NULL: none. */
static struct ipex_node *find_beginning(struct ipex_node *const *concat, int32_t count,
                                        const struct ipex_node *node) {
    struct ipex_node *best = NULL;
    for (int32_t i = 0; i < count; i++)
        if (begins(concat[i], node) && (!best || best->inputs < concat[i]->inputs))
            best = concat[i];
    return best;
}

/* The operands that `beginning` joins become its result. */
static void begin_with(struct ipex_node *node, const struct ipex_node *beginning) {
    const int32_t joined = beginning->inputs;
    ipex_node_set_input(node, 0, beginning->output);
    for (int32_t i = 1; i < joined; i++)
        node->concat_input[i]->uses--;
    node->inputs -= joined - 1;
    memmove(node->concat_input + 1, node->concat_input + joined,
            (size_t)(node->inputs - 1) * sizeof(struct ipex_value *));
}

/* From the last to the first: those before a node still list all that they join. */
void ipex_pass_chain(struct ipex_graph *graph) {
    struct ipex_node **concat = ipex_arena_array(&graph->arena, graph->nodes, sizeof *concat);
    int32_t count = 0;
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->kind == IPEX_KIND_concat)
            concat[count++] = node;
    while (count-- > 0) {
        struct ipex_node *beginning = find_beginning(concat, count, concat[count]);
        if (!beginning)
            continue;
        begin_with(concat[count], beginning);
        ipex_ledger_add(
            graph->ledger, "chain", concat[count]->name, IPEX_REASON_applied,
            ipex_arena_printf(&graph->arena, "begins with the result of %s", beginning->name));
    }
}
