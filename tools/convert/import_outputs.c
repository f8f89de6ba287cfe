/* SPDX-License-Identifier: Apache-2.0 */
/* The graph's outputs. */
#include "format/check.h"
#include "tools/convert/import_narrow.h"
#include "tools/convert/import_scope.h"

/* Why a file cannot have this as an output; NULL where it can, or where that has been said. */
static const char *wrong_output(struct ipex_import *import, const struct ipex_onnx_value *output,
                                struct ipex_value *value) {
    struct ipex_arena *arena = &import->graph->arena;
    if (value->empty)
        ipex_import_refuse_empty(import, value);
    if (output->type == IPEX_ONNX_DOUBLE)
        return "its data type float64 has no operators at run time: let the model cast it to "
               "float32";
    if (value->narrow || ipex_import_narrow_dtype(output->type))
        return ipex_arena_printf(arena, "its data type %s has no operators at run time",
                                 ipex_import_type_name(output->type));
    if (value->unknown)
        return NULL;
    if (value->list)
        return "it is a sequence of tensors: let the model give these one by one (SequenceAt), or "
               "as one tensor (ConcatFromSequence)";
    if (ipex_import_is_none(value))
        return "it has no elements";
    if (!ipex_import_runs(value->dtype))
        return ipex_arena_printf(arena, "its data type %s has no operators at run time",
                                 ipex_dtype_name(value->dtype));
    return NULL;
}

/* An output that is an input, a constant or another output: a step of its own gives it a place. */
static struct ipex_value *copied(struct ipex_import *import, struct ipex_value *value,
                                 const char *name) {
    struct ipex_graph *graph = import->graph;
    const bool program = value->dtype == IPEX_DTYPE_f32;
    struct ipex_node *node = ipex_graph_node(graph, program ? IPEX_KIND_pointwise : IPEX_KIND_plan,
                                             value->name, "Identity", NULL);
    if (program) {
        node->u.program = ipex_arena_alloc(&graph->arena, sizeof *node->u.program);
        node->u.program->steps = 1; /* copy of operand 0 */
    } else {
        node->u.plan.op = IPEX_OP_copy;
        node->u.plan.policy = IPEX_ORDER_elementwise;
    }
    ipex_node_add_input(node, value);
    ipex_node_set_output(node,
                         ipex_graph_value(graph, name, value->dtype, value->rank, value->dims));
    node->output->unknown = value->unknown;
    return node->output;
}

static void import_output(struct ipex_import *import, const struct ipex_onnx_value *output) {
    struct ipex_graph *graph = import->graph;
    struct ipex_value *value = ipex_import_lookup(import, output->name);
    const char *wrong = value ? wrong_output(import, output, value)
                              : ipex_import_unsupported_output(import, output->name);
    if (wrong || !value)
        ipex_import_unsupported(import, output->name, "graph output",
                                wrong ? wrong : "nothing computes it");
    if (!value)
        return;
    if (value->ints && !value->constant && !value->producer) {
        struct ipex_node *last = graph->last;
        value = ipex_import_sizes_as_data(import, value);
        if (!value)
            return;
        ipex_import_fold(import, last);
    }
    if (value->is_output || value->constant || !value->producer)
        value = copied(import, value, output->name);
    value->is_output = true;
    value->uses++;
    value->name = ipex_arena_strdup(&graph->arena, output->name);
    graph->output[graph->outputs++] = value;
}

/* How many of these a file has places for. */
static void check_ports(struct ipex_import *import, const char *op, size_t count, size_t least) {
    if (count < least || count > IPEX_PORTS_MAX)
        ipex_import_unsupported(import, "the model", op,
                                ipex_arena_printf(&import->graph->arena,
                                                  "it has %zu, a file has %zu to %d", count, least,
                                                  IPEX_PORTS_MAX));
}

/* A run gives values by name, of which a file's outputs have one each. */
void ipex_import_outputs(struct ipex_import *import) {
    const struct ipex_onnx_graph *source = &import->model->graph;
    struct ipex_graph *graph = import->graph;
    struct ipex_name_table names = {.arena = &graph->arena};
    graph->output =
        ipex_arena_array(&graph->arena, source->outputs + 1, sizeof(struct ipex_value *));
    for (size_t i = 0; i < source->outputs; i++) {
        struct ipex_name *name = ipex_name_add(&names, source->output[i].name);
        const uint32_t before = name->value.number++;
        if (before == 0)
            import_output(import, &source->output[i]);
        else if (before == 1)
            ipex_import_unsupported(import, name->text, "graph output",
                                    "the model has several outputs of this name: list it once, or "
                                    "give the others names of their own by Identity nodes");
    }
    check_ports(import, "graph inputs", graph->inputs, 0);
    check_ports(import, "graph outputs", source->outputs, 1);
}
