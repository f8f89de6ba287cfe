/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the importer: names, what is not supported, inputs, graphs inside of nodes. */
#ifndef IPEX_TOOLS_IMPORT_SCOPE_H
#define IPEX_TOOLS_IMPORT_SCOPE_H

#include "tools/convert/import.h"

/* The value of a name; NULL when nothing has computed it. */
struct ipex_value *ipex_import_lookup(const struct ipex_import *import, const char *name);
/* NULL takes the name back. */
void ipex_import_bind(struct ipex_import *import, const char *name, struct ipex_value *value);
/* A tensor of the model as a constant; NULL where its type or rank has no place here. */
struct ipex_value *ipex_import_stored(struct ipex_import *import, const char *name,
                                      const struct ipex_onnx_tensor *tensor);
/* Binds the initializers of a graph. */
void ipex_import_initializers(struct ipex_import *import, const struct ipex_onnx_graph *source);
void ipex_import_one(struct ipex_import *import, const struct ipex_onnx_node *node);
/* The function for an operator; NULL where there is none. */
ipex_import_fn ipex_import_find(const char *domain, const char *op_type);
/* There is none for the current node. on_shapes: there is one for sizes. */
void ipex_import_refuse_operator(struct ipex_import *import, bool on_shapes);
/* Binds the graph's outputs. */
void ipex_import_outputs(struct ipex_import *import);
/* "output 1 of drop (Dropout), which is not supported": where the value is to be a result of a node
 * that has become others. NULL where it is none. */
const char *ipex_import_unsupported_output(struct ipex_import *import, const char *name);
/* Sizes of the run as data. NULL after refusing. */
struct ipex_value *ipex_import_sizes_as_data(struct ipex_import *import,
                                             const struct ipex_value *value);
/* The current node does what this one would, whose operator there is. */
void ipex_import_as(struct ipex_import *import, const struct ipex_onnx_node *node);

/* Computes the nodes behind `last` (NULL: all) right away if they depend on constants only. */
void ipex_import_fold(struct ipex_import *import, struct ipex_node *last);

/* One line more in the list of what cannot be converted. */
void ipex_import_unsupported(struct ipex_import *import, const char *node, const char *op,
                             const char *reason);
/* All of it, for the person; every_site: also of what many have in common. */
const char *ipex_import_list(struct ipex_import *import, bool every_site);
/* The current node's results are computed by nothing: placeholders where their shape is certain. */
void ipex_import_outputs_unknown(struct ipex_import *import);

/* ---- values without elements (import_none.c) ---- */

bool ipex_import_is_none(const struct ipex_value *value);
/* It is none of the current node's concern that operand i may be one: the operator knows what to do
 * with it, or it is a list of numbers (axes, sizes). */
bool ipex_import_spares_none(const struct ipex_import *import, size_t i);
/* It computes element by element and has such an operand: shape arithmetic has no say in it. */
bool ipex_import_joins_none(const struct ipex_import *import);
/* Something reads a value without elements that cannot: said once, where it came from. */
void ipex_import_refuse_empty(struct ipex_import *import, struct ipex_value *value);
/* Likewise of the current node's operands, where there are any. */
void ipex_import_refuse_operands(struct ipex_import *import);
/* Where no result of the current node has any: they are just that, without the nodes from `last` on
 * (NULL: all). False, with nothing done, where one has. */
bool ipex_import_leave_out(struct ipex_import *import, const struct ipex_node *last);
/* No operand from `node` on is one; false after refusing. */
bool ipex_import_reads_some(struct ipex_import *import, struct ipex_node *node);
/* Values of this type can be computed at run time. */
bool ipex_import_runs(enum ipex_dtype dtype);
/* NULL where a file can state this size: where it depends on symbols, at both ends of their ranges.
 * Else what it would have: "no elements", "too many elements". */
const char *ipex_import_dims_wrong(const struct ipex_graph *graph, int32_t rank,
                                   const int64_t *dims);

/* Makes the graph's inputs; false with a message when dims are missing or wrong. */
bool ipex_import_inputs(struct ipex_import *import, struct ipex_import_options *options,
                        const char **ret_message);

/* --const of this input; NULL without. */
struct ipex_const_option *ipex_import_find_given(const struct ipex_import_options *options,
                                                 const char *name);
/* The constant that it gives; NULL with *ret_wrong where it does not fit. */
struct ipex_value *ipex_import_given(struct ipex_import *import,
                                     const struct ipex_onnx_value *input,
                                     struct ipex_const_option *given, const char **ret_wrong);

/* The current node's operator knows what to do with a sequence of tensors. */
bool ipex_import_takes_list(const struct ipex_import *import);

/* ---- graphs inside of nodes: their names end with them; they see those outside ---- */

/* The first name that the graph gives and that has a meaning already; NULL when there is none. */
const char *ipex_import_name_in_use(const struct ipex_import *import,
                                    const struct ipex_onnx_graph *source);
/* A graph may compute names that stand for something else elsewhere only after they are taken back.
 */
void ipex_import_forget_names(struct ipex_import *import, const struct ipex_onnx_graph *source);

/* If: the branch that its condition, known while importing, chooses. */
void ipex_import_if(struct ipex_import *import);
/* As many copies of the body as there are iterations, whose number is known while importing. */
void ipex_import_loop(struct ipex_import *import);
void ipex_import_scan(struct ipex_import *import);

#endif
