/* SPDX-License-Identifier: Apache-2.0 */
/* The operators that there are, and what is said of others. */
#include "tools/convert/import_scope.h"

#include <string.h>

/* The one that has no operands. */
static void import_constant(struct ipex_import *import) {
    struct ipex_graph *graph = import->graph;
    const char *name = import->node->output[0];
    const struct ipex_onnx_attr *attr = import->node->attrs == 1 ? import->node->attr : NULL;
    if (!attr) {
        ipex_import_refuse(import, "a Constant has exactly one attribute");
        return;
    }
    struct ipex_value *value = NULL;
    int64_t count = (int64_t)attr->count;
    if (!strcmp(attr->name, "value") && attr->tensor)
        value = ipex_import_stored(import, name, attr->tensor);
    else if (!strcmp(attr->name, "value_int"))
        value = ipex_graph_constant(graph, name, IPEX_DTYPE_i64, 0, NULL, &attr->i);
    else if (!strcmp(attr->name, "value_float"))
        value = ipex_graph_constant(graph, name, IPEX_DTYPE_f32, 0, NULL, &attr->f);
    else if (!strcmp(attr->name, "value_ints") && attr->ints)
        value = ipex_graph_constant(graph, name, IPEX_DTYPE_i64, 1, &count, attr->ints);
    else if (!strcmp(attr->name, "value_floats") && attr->floats)
        value = ipex_graph_constant(graph, name, IPEX_DTYPE_f32, 1, &count, attr->floats);
    if (value)
        ipex_import_out(import, 0, value);
    else
        ipex_import_refuse(import, "constants of this type (%s) are not supported", attr->name);
}

static ipex_import_fn find_in(const struct ipex_import_op *op, const char *op_type) {
    for (; op->op_type; op++)
        if (!strcmp(op->op_type, op_type))
            return op->fn;
    return NULL;
}

static ipex_import_fn find_among(const struct ipex_import_op *const *tables, size_t count,
                                 const char *op_type) {
    ipex_import_fn fn = NULL;
    for (size_t t = 0; t < count && !fn; t++)
        fn = find_in(tables[t], op_type);
    return fn;
}

#define CONTRIB "com.microsoft" /* what ONNX Runtime's optimiser and quantiser write */

ipex_import_fn ipex_import_find(const char *domain, const char *op_type) {
    static const struct ipex_import_op *const contrib[] = {
        ipex_import_contrib,        ipex_import_contrib_norm,    ipex_import_contrib_attention,
        ipex_import_contrib_groups, ipex_import_contrib_qlinear, ipex_import_nbits,
        ipex_import_quantized,      ipex_import_qlinear,         ipex_import_contrib_rotary};
    if (*domain)
        return strcmp(domain, CONTRIB)
                   ? NULL
                   : find_among(contrib, sizeof contrib / sizeof *contrib, op_type);
    static const struct ipex_import_op *const tables[] = {
        ipex_import_nn,        ipex_import_window,    ipex_import_pointwise,  ipex_import_move,
        ipex_import_tensor,    ipex_import_resize,    ipex_import_transposed, ipex_import_norm,
        ipex_import_order,     ipex_import_padding,   ipex_import_recurrent,  ipex_import_lengths,
        ipex_import_lists,     ipex_import_math,      ipex_import_reduce,     ipex_import_index,
        ipex_import_loss,      ipex_import_quantized, ipex_import_integer,    ipex_import_qlinear,
        ipex_import_attention, ipex_import_scatter,   ipex_import_einsum,     ipex_import_grid,
        ipex_import_blocks,    ipex_import_signal,    ipex_import_rotary,     ipex_import_state};
    ipex_import_fn fn = find_among(tables, sizeof tables / sizeof *tables, op_type);
    if (fn)
        return fn;
    static const struct ipex_import_op control[] = {{"Constant", import_constant},
                                                    {"If", ipex_import_if},
                                                    {"Loop", ipex_import_loop},
                                                    {"Scan", ipex_import_scan},
                                                    {NULL, NULL}};
    return find_in(control, op_type);
}

void ipex_import_as(struct ipex_import *import, const struct ipex_onnx_node *node) {
    const struct ipex_onnx_node *current = import->node;
    import->node = node;
    ipex_import_find(node->domain, node->op_type)(import);
    import->node = current;
}

static bool is_quantisers(const char *op_type) {
    return strstr(op_type, "Quantize") || !strncmp(op_type, "MatMul", strlen("MatMul")) ||
           (op_type[0] == 'Q' && op_type[1] >= 'A' && op_type[1] <= 'Z'); /* QGemm, not QuickGelu */
}

void ipex_import_refuse_operator(struct ipex_import *import, bool on_shapes) {
    const bool quantised = is_quantisers(import->node->op_type);
    if (!strcmp(import->node->domain, CONTRIB))
        ipex_import_refuse(import,
                           "this operator of domain %s, which ONNX Runtime's %s writes, is not "
                           "supported: convert the model from before that %s",
                           CONTRIB, quantised ? "quantiser" : "optimiser",
                           quantised ? "quantisation" : "optimisation");
    else if (*import->node->domain)
        ipex_import_refuse(import, "operators of domain %s are not supported",
                           import->node->domain);
    else
        ipex_import_refuse(import, on_shapes ? "this operator is supported in shape arithmetic only"
                                             : "this operator is not supported");
}
