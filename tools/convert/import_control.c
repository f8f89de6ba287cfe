/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow: an If whose condition is known while importing becomes the nodes of its branch.
 * Names of a branch end with it; it sees those outside. */
#include "tools/convert/import_scope.h"

static void import_branch(struct ipex_import *import, const struct ipex_onnx_graph *branch) {
    const struct ipex_onnx_node *outer = import->node;
    const char *label = import->label;
    struct ipex_value **result =
        ipex_arena_array(&import->graph->arena, branch->outputs + 1, sizeof *result);
    ipex_import_initializers(import, branch);
    for (size_t i = 0; i < branch->nodes; i++)
        ipex_import_one(import, &branch->node[i]);
    for (size_t i = 0; i < branch->outputs; i++)
        result[i] = ipex_import_lookup(import, branch->output[i].name);
    ipex_import_forget_names(import, branch);
    import->node = outer;
    import->label = label;
    for (size_t i = 0; i < branch->outputs; i++)
        if (!result[i]) {
            ipex_import_refuse(import, "its branch has the result %s, which nothing computes",
                               branch->output[i].name);
            return;
        }
    for (size_t i = 0; i < branch->outputs; i++)
        ipex_import_out(import, i, result[i]);
}

/* The graph input that a value is computed from through nodes with one operand that is no constant;
 * NULL where there is none or several. */
static const struct ipex_value *deciding_input(const struct ipex_value *value) {
    while (value && value->producer) {
        const struct ipex_node *node = value->producer;
        value = NULL;
        for (int32_t i = 0; i < node->inputs; i++) {
            const struct ipex_value *x =
                node->concat_input ? node->concat_input[i] : node->input[i];
            if (!x || x->constant || x == value)
                continue;
            if (value)
                return NULL;
            value = x;
        }
    }
    return value && !value->unknown && !value->placeholder ? value : NULL;
}

static void refuse_condition(struct ipex_import *import, const struct ipex_value *condition) {
    const struct ipex_value *input = deciding_input(condition);
    if (input)
        ipex_import_refuse(
            import,
            "its condition %s is computed from the input %s at run time; it is known "
            "with --const '%s=VALUE'",
            condition->name, input->name, input->name);
    else
        ipex_import_refuse(import,
                           "its condition %s is computed from data at run time; a condition on an "
                           "input is known with --const NAME=VALUE",
                           condition ? condition->name : "");
}

void ipex_import_if(struct ipex_import *import) {
    struct ipex_value *condition = ipex_import_in(import, 0);
    const int64_t *known = condition ? ipex_import_known(import, condition) : NULL;
    int64_t chosen;
    if (!known || ipex_value_numel(condition) != 1 ||
        !ipex_dim_number(&import->graph->dims, known[0], &chosen)) {
        refuse_condition(import, condition);
        return;
    }
    const struct ipex_onnx_attr *attr =
        ipex_import_attr(import, chosen ? "then_branch" : "else_branch");
    if (!attr || !attr->graph || attr->graph->outputs != import->node->outputs) {
        ipex_import_refuse(import, "its %s is missing or has another number of results",
                           chosen ? "then_branch" : "else_branch");
        return;
    }
    const char *used = ipex_import_name_in_use(import, attr->graph);
    if (used)
        ipex_import_refuse(import, "its branch computes %s, a name that is in use", used);
    else
        import_branch(import, attr->graph);
}
