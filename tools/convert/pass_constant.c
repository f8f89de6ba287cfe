/* SPDX-License-Identifier: Apache-2.0 */
/* Folds what depends on constants only: nodes just imported whose operands are all constant are
 * moved into a graph of their own, which is run once on the reference kernels; its results become
 * constants. There is no second implementation of any operator. Where an operator has become
 * several nodes of which only some depend on constants alone (the places of a look-up), those are
 * folded unless their results would be larger than what they are made of. */
#include "tools/convert/evaluate.h"
#include "tools/convert/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESULTS = 3 }; /* that a node has at most */

/* Nothing of the node depends on the sizes of a run. */
static bool is_fixed(const struct ipex_node *node) {
    const struct ipex_value *y[] = {node->output, node->extra_output[0], node->extra_output[1]};
    bool fixed = true;
    for (size_t k = 0; k < sizeof y / sizeof *y; k++)
        for (int32_t i = 0; y[k] && i < y[k]->rank; i++)
            fixed &= y[k]->dims[i] >= 0;
    for (int32_t i = 0; node->kind == IPEX_KIND_slice && i < node->output->rank; i++)
        fixed &= node->u.slice.start[i] >= 0;
    for (int32_t i = 0; node->kind == IPEX_KIND_plan && i < node->u.plan.ints; i++)
        fixed &= node->u.plan.int_[i] >= 0;
    return fixed;
}

static void mark(struct ipex_node *node, bool foldable) {
    node->output->foldable = foldable;
    for (size_t i = 0; i < RESULTS - 1; i++)
        if (node->extra_output[i])
            node->extra_output[i]->foldable = foldable;
}

/* Every operand is a constant or the result of a foldable node. */
static bool reads_constants(struct ipex_node *node) {
    bool ret = is_fixed(node);
    for (int32_t i = 0; i < node->inputs; i++) {
        const struct ipex_value *x = ipex_node_operands(node)[i];
        ret &= !x || x->constant || x->foldable;
    }
    return ret;
}

/* Elements of the largest constant that the node reads. */
static int64_t largest_constant(struct ipex_node *node) {
    int64_t ret = 0;
    for (int32_t i = 0; i < node->inputs; i++) {
        const struct ipex_value *x = ipex_node_operands(node)[i];
        if (x && x->constant && ipex_value_numel(x) > ret)
            ret = ipex_value_numel(x);
    }
    return ret;
}

/* Marks the foldable nodes of the run that begins at `from`; returns whether there are any. Unless
 * all of them are: places and flags alone, and not more of them than there were. */
static bool mark_foldable(struct ipex_node *from, bool *ret_all) {
    bool all = true, any = false;
    int64_t most = 0;
    for (struct ipex_node *node = from; node; node = node->next) {
        const bool foldable = reads_constants(node);
        const int64_t largest = foldable ? largest_constant(node) : 0;
        mark(node, foldable);
        most = largest > most ? largest : most;
        all &= foldable;
    }
    for (struct ipex_node *node = from; node; node = node->next) {
        mark(node, all || (reads_constants(node) && node->output->dtype != IPEX_DTYPE_f32 &&
                           ipex_value_numel(node->output) <= most));
        any |= node->output->foldable;
    }
    *ret_all = all;
    return any;
}

static int32_t reads_of(struct ipex_graph *graph, const struct ipex_value *value) {
    int32_t ret = 0;
    for (struct ipex_node *node = graph->first; node; node = node->next)
        for (int32_t i = 0; i < node->inputs; i++)
            ret += ipex_node_operands(node)[i] == value;
    return ret;
}

/* Values that nobody reads yet, or nodes that are not folded. */
static void find_results(struct ipex_graph *constants) {
    constants->output = ipex_arena_array(&constants->arena, constants->nodes * RESULTS,
                                         sizeof(struct ipex_value *));
    for (struct ipex_node *node = constants->first; node; node = node->next) {
        struct ipex_value *y[RESULTS] = {node->output, node->extra_output[0],
                                         node->extra_output[1]};
        for (size_t i = 0; i < RESULTS; i++)
            if (y[i] && (!y[i]->uses || y[i]->uses > reads_of(constants, y[i]))) {
                y[i]->is_output = true;
                y[i]->uses++;
                constants->output[constants->outputs++] = y[i];
            }
    }
}

static enum ipex_status evaluate(struct ipex_graph *graph, struct ipex_graph *constants,
                                 const struct ipex_report *report) {
    struct ipex_evaluator evaluator;
    void **data = ipex_arena_array(&constants->arena, constants->outputs + 1, sizeof *data);
    for (size_t i = 0; i < constants->outputs; i++)
        data[i] = ipex_arena_array(&graph->arena, (size_t)ipex_value_numel(constants->output[i]),
                                   ipex_dtype_size(constants->output[i]->dtype));
    const char **names = ipex_arena_array(&constants->arena, constants->outputs + 1, sizeof *names);
    for (size_t i = 0; i < constants->outputs; i++) { /* ports have different names */
        names[i] = constants->output[i]->name;
        constants->output[i]->name = ipex_arena_printf(&constants->arena, "%zu", i);
    }
    const enum ipex_status opened = ipex_evaluator_open(&evaluator, constants, report);
    for (size_t i = 0; i < constants->outputs; i++)
        constants->output[i]->name = names[i];
    IPEX_TRY(opened);
    enum ipex_status status = ipex_evaluator_run(&evaluator, constants, NULL, NULL, data, report);
    ipex_evaluator_close(&evaluator);
    IPEX_TRY(status);
    for (size_t i = 0; i < constants->outputs; i++) {
        struct ipex_value *value = constants->output[i];
        ipex_graph_set_data(graph, value, data[i]);
        value->producer = NULL;
        value->layout = NULL;
        value->is_output = false;
        value->uses--;
    }
    return IPEX_OK;
}

enum ipex_status ipex_fold_constants(struct ipex_graph *graph, struct ipex_node *from,
                                     const struct ipex_report *report) {
    bool all;
    if (!mark_foldable(from, &all))
        return IPEX_OK;
    struct ipex_graph constants;
    ipex_graph_init(&constants, NULL);
    ipex_ledger_add(graph->ledger, "constant", from->name, IPEX_REASON_applied,
                    all ? "computed at convert time" : "in part computed at convert time");
    for (struct ipex_node *node = from, *next; node; node = next) {
        next = node->next;
        if (!node->output->foldable)
            continue;
        ipex_graph_transfer(graph, &constants, node);
        if (node->kind == IPEX_KIND_affine)
            ipex_affine_to_pointwise(&constants, node);
    }
    find_results(&constants);
    enum ipex_status status = evaluate(graph, &constants, report);
    for (struct ipex_node *node = constants.first; node; node = node->next)
        for (int32_t i = 0; i < node->inputs; i++)
            if (ipex_node_operands(node)[i])
                ipex_node_operands(node)[i]->uses--;
    ipex_graph_finish(&constants);
    return status;
}
