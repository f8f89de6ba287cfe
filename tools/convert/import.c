/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the import: names, dims of the inputs, constants, then every node through the operator
 * tables; collects all that is not supported. */
#include "tools/convert/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/convert/pixels.h"
#include "tools/convert/import_build.h"
#include "tools/convert/import_double.h"
#include "tools/convert/import_float_size.h"
#include "tools/convert/import_half.h"
#include "tools/convert/import_narrow.h"
#include "tools/convert/import_scope.h"
#include "tools/convert/passes.h"

/* ---- names -> values ---- */

void ipex_import_bind(struct ipex_import *import, const char *name, struct ipex_value *value) {
    ipex_name_add(&import->names, name)->value.pointer = value;
}

struct ipex_value *ipex_import_lookup(const struct ipex_import *import, const char *name) {
    const struct ipex_name *known = ipex_name_find(&import->names, name);
    return known ? known->value.pointer : NULL;
}

/* ---- for the operator functions ---- */

struct ipex_value *ipex_import_in(const struct ipex_import *import, size_t i) {
    return i < import->node->inputs && *import->node->input[i]
               ? ipex_import_lookup(import, import->node->input[i])
               : NULL;
}

struct ipex_value *ipex_import_result(const struct ipex_import *import, size_t i) {
    return i < import->node->outputs && *import->node->output[i]
               ? ipex_import_lookup(import, import->node->output[i])
               : NULL;
}

void ipex_import_out(struct ipex_import *import, size_t i, struct ipex_value *value) {
    if (i < import->node->outputs && *import->node->output[i])
        ipex_import_bind(import, import->node->output[i], value);
}

struct ipex_value *ipex_import_new(struct ipex_import *import, size_t i, int32_t rank,
                                   const int64_t *dims) {
    const char *name = i < import->node->outputs ? import->node->output[i] : "";
    struct ipex_value *value = ipex_graph_value(import->graph, name, IPEX_DTYPE_f32, rank, dims);
    ipex_import_out(import, i, value);
    return value;
}

struct ipex_node *ipex_import_node(struct ipex_import *import, enum ipex_kind kind) {
    return ipex_graph_node(import->graph, kind, import->label, import->node->op_type, NULL);
}

const struct ipex_onnx_attr *ipex_import_attr(const struct ipex_import *import, const char *name) {
    for (size_t i = 0; i < import->node->attrs; i++)
        if (!strcmp(import->node->attr[i].name, name))
            return &import->node->attr[i];
    return NULL;
}

int64_t ipex_import_int(const struct ipex_import *import, const char *name, int64_t otherwise) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, name);
    return attr ? attr->i : otherwise;
}

bool ipex_import_flag(const struct ipex_import *import, const char *name, bool otherwise) {
    return ipex_import_int(import, name, otherwise) != 0;
}

float ipex_import_float(const struct ipex_import *import, const char *name, float otherwise) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, name);
    return attr ? attr->f : otherwise;
}

const char *ipex_import_string(const struct ipex_import *import, const char *name,
                               const char *otherwise) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, name);
    return attr && attr->s ? attr->s : otherwise;
}

int64_t ipex_import_word(const char *text, const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (!strcmp(text, words[i]))
            return i;
    return -1;
}

int ipex_import_dims(struct ipex_import *import, const char *name, size_t input, int64_t *ret,
                     int max) {
    const struct ipex_onnx_attr *attr = name ? ipex_import_attr(import, name) : NULL;
    struct ipex_value *value = attr ? NULL : ipex_import_in(import, input);
    const int64_t *known = value ? ipex_import_known(import, value) : NULL;
    int64_t count = attr ? (int64_t)ipex_onnx_ints(attr) : known ? ipex_value_numel(value) : 0;
    if (value && !known) {
        ipex_import_refuse(import, "input %zu (%s) decides a shape and is %s%s", input, value->name,
                           value->constant ? ipex_dtype_name(value->dtype) : "computed at run time",
                           value->constant ? ", not an integer" : "");
        return -1;
    }
    if (count > max) {
        ipex_import_refuse(import, "%s has %lld elements, at most %d are possible",
                           attr ? name : value->name, (long long)count, max);
        return -1;
    }
    for (int i = 0; i < count; i++)
        ret[i] = attr ? ipex_dim_of(&import->graph->dims, attr->ints[i]) : known[i];
    return (int)count;
}

int ipex_import_ints(struct ipex_import *import, const char *name, size_t input, int64_t *ret,
                     int max) {
    int count = ipex_import_dims(import, name, input, ret, max);
    for (int i = 0; i < count; i++)
        if (!ipex_dim_number(&import->graph->dims, ret[i], &ret[i])) {
            ipex_import_refuse(import, "%s depends on %s, which is not one number",
                               name ? name : "an operand", ipex_import_text(import, ret[i]));
            return -1;
        }
    return count;
}

const char *ipex_import_text(const struct ipex_import *import, int64_t dim) {
    return ipex_dim_text(&import->graph->dims, dim);
}

struct ipex_value *ipex_import_f32(struct ipex_import *import, size_t i) {
    struct ipex_value *value = ipex_import_in(import, i);
    if (!value) {
        ipex_import_refuse(import, "input %zu is missing", i);
        return NULL;
    }
    if (value->dtype != IPEX_DTYPE_f32) {
        ipex_import_refuse(import, "input %s is %s; at run time only f32 is supported", value->name,
                           ipex_dtype_name(value->dtype));
        return NULL;
    }
    return value;
}

bool ipex_import_runs(enum ipex_dtype dtype) {
    return dtype == IPEX_DTYPE_f32 || dtype == IPEX_DTYPE_i32 || dtype == IPEX_DTYPE_i64 ||
           dtype == IPEX_DTYPE_bool || dtype == IPEX_DTYPE_u8 || dtype == IPEX_DTYPE_i8;
}

struct ipex_value *ipex_import_sizes_as_data(struct ipex_import *import,
                                             const struct ipex_value *value) {
    static const int64_t one[1] = {1};
    const int64_t count = ipex_value_numel(value);
    struct ipex_value **size = ipex_arena_array(&import->graph->arena, (size_t)count, sizeof *size);
    for (int64_t i = 0; i < count; i++) {
        size[i] = ipex_build_reshape(import, ipex_build_size(import, value->dtype, value->ints[i]),
                                     1, one);
        if (!size[i])
            return NULL;
    }
    return ipex_build_reshape(
        import, count == 1 ? size[0] : ipex_build_concat(import, 0, (int32_t)count, size),
        value->rank, value->dims);
}

struct ipex_value *ipex_import_any(struct ipex_import *import, size_t i) {
    struct ipex_value *value = ipex_import_in(import, i);
    if (!value)
        ipex_import_refuse(import, "input %zu is missing", i);
    else if (!ipex_import_runs(value->dtype))
        ipex_import_refuse(import, "input %s is %s, which has no operators at run time",
                           value->name, ipex_dtype_name(value->dtype));
    else
        return value->ints && !value->constant ? ipex_import_sizes_as_data(import, value) : value;
    return NULL;
}

bool ipex_import_axis(struct ipex_import *import, int64_t *axis, int32_t rank) {
    if (*axis < 0)
        *axis += rank;
    if (*axis >= 0 && *axis < rank)
        return true;
    ipex_import_refuse(import, "axis is out of range for rank %d", rank);
    return false;
}

bool ipex_import_broadcast(struct ipex_import *import, const struct ipex_value *x, int32_t *rank,
                           int64_t *dims) {
    int64_t joint[IPEX_MAX_RANK];
    int32_t r = x->rank > *rank ? x->rank : *rank;
    for (int32_t i = 0; i < r; i++) {
        int64_t a = i - (r - *rank) >= 0 ? dims[i - (r - *rank)] : 1,
                b = i - (r - x->rank) >= 0 ? x->dims[i - (r - x->rank)] : 1;
        if (a != b && a != 1 && b != 1) {
            ipex_import_refuse(import, "the operands cannot be broadcast together (%s and %s)%s",
                               ipex_import_text(import, a), ipex_import_text(import, b),
                               ipex_import_make_equal(import, a, b));
            return false;
        }
        joint[i] = a == 1 ? b : a;
    }
    memcpy(dims, joint, (size_t)r * sizeof *dims);
    *rank = r;
    return true;
}

struct ipex_node *ipex_import_plan(struct ipex_import *import, enum ipex_op op,
                                   enum ipex_order_policy policy, enum ipex_dtype dtype,
                                   int32_t rank, const int64_t *dims, bool bind) {
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_plan);
    node->u.plan.op = op;
    node->u.plan.policy = policy;
    const char *name = import->node->outputs ? import->node->output[0] : import->label;
    ipex_node_set_output(node, ipex_graph_value(import->graph, name, dtype, rank, dims));
    if (bind)
        ipex_import_out(import, 0, node->output);
    return node;
}

struct ipex_value *ipex_import_reshape(struct ipex_import *import, struct ipex_value *x,
                                       const char *name, int32_t rank, const int64_t *dims) {
    if (x->constant)
        return ipex_graph_constant_as(import->graph, x, name, rank, dims);
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_reshape);
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, ipex_graph_value(import->graph, name, x->dtype, rank, dims));
    return node->output;
}

struct ipex_value *ipex_import_transpose(struct ipex_import *import, struct ipex_value *x,
                                         const char *name, const int32_t *perm) {
    int64_t dims[IPEX_MAX_RANK];
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_transpose);
    for (int32_t i = 0; i < x->rank; i++) {
        dims[i] = x->dims[perm[i]];
        node->u.perm[i] = perm[i];
    }
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, ipex_graph_value(import->graph, name, x->dtype, x->rank, dims));
    return node->output;
}

/* ---- the version of the operators ---- */

/* Up to this version the default domain's operators are known to mean what the import functions
 * make of them. */
#define NEWEST_OPSET 28

static void check_opset(struct ipex_import *import) {
    const long long opset = (long long)import->model->opset;
    if (opset < 1 || opset > NEWEST_OPSET)
        ipex_import_unsupported(
            import, "the model", "opset",
            ipex_arena_printf(&import->graph->arena,
                              "version %lld of the operators is not known, only 1 to "
                              "%d (onnx.version_converter brings a model to another)",
                              opset, NEWEST_OPSET));
}

/* ---- constants ---- */

enum ipex_dtype ipex_import_dtype(int64_t onnx_type) {
    switch (onnx_type) {
    case IPEX_ONNX_FLOAT:
    case IPEX_ONNX_FLOAT16: /* import_half.c */
    case IPEX_ONNX_BFLOAT16:
    case IPEX_ONNX_DOUBLE: /* import_double.c */
        return IPEX_DTYPE_f32;
    case IPEX_ONNX_UINT8:
        return IPEX_DTYPE_u8;
    case IPEX_ONNX_INT8:
        return IPEX_DTYPE_i8;
    case IPEX_ONNX_INT32:
        return IPEX_DTYPE_i32;
    case IPEX_ONNX_INT64:
        return IPEX_DTYPE_i64;
    case IPEX_ONNX_BOOL:
        return IPEX_DTYPE_bool;
    default:
        return IPEX_DTYPE_NONE;
    }
}

const char *ipex_import_type_name(int64_t onnx_type) {
    static const char *const names[] = {
        "undefined",      "float32",    "uint8",          "int8",       "uint16",   "int16",
        "int32",          "int64",      "string",         "bool",       "float16",  "float64",
        "uint32",         "uint64",     "complex64",      "complex128", "bfloat16", "float8e4m3fn",
        "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",     "float4e2m1"};
    return onnx_type >= 0 && onnx_type < (int64_t)(sizeof names / sizeof *names) ? names[onnx_type]
                                                                                 : "unknown";
}

struct ipex_value *ipex_import_stored(struct ipex_import *import, const char *name,
                                      const struct ipex_onnx_tensor *tensor) {
    enum ipex_dtype dtype = ipex_import_dtype(tensor->type);
    if (tensor->rank <= IPEX_MAX_RANK && ipex_import_narrow_dtype(tensor->type))
        return ipex_import_narrow_constant(import, name, tensor);
    if (!dtype || tensor->rank > IPEX_MAX_RANK)
        return NULL;
    if (ipex_import_is_half(tensor->type))
        return ipex_import_half_constant(import, name, tensor);
    if (tensor->type == IPEX_ONNX_DOUBLE)
        return ipex_import_double_constant(import, name, tensor->rank, tensor->dims, tensor->data);
    return ipex_graph_constant(import->graph, name, dtype, tensor->rank, tensor->dims,
                               tensor->data);
}

static struct ipex_value *import_initializer(struct ipex_import *import,
                                             const struct ipex_onnx_tensor *tensor) {
    struct ipex_value *value = ipex_import_stored(import, tensor->name, tensor);
    if (value)
        return value;
    ipex_import_unsupported(import, tensor->name, "initializer",
                            ipex_arena_printf(&import->graph->arena,
                                              "type %s with %d dims is not supported",
                                              ipex_import_type_name(tensor->type), tensor->rank));
    value = ipex_graph_value(import->graph, tensor->name, IPEX_DTYPE_f32, 0, NULL);
    value->unknown = true;
    return value;
}

void ipex_import_initializers(struct ipex_import *import, const struct ipex_onnx_graph *source) {
    for (size_t i = 0; i < source->initializers; i++) {
        const struct ipex_onnx_tensor *tensor = &source->initializer[i];
        if (ipex_import_lookup(import, tensor->name))
            ipex_import_unsupported(import, tensor->name, "initializer",
                                    "another initializer has this name: give each its own");
        ipex_import_bind(import, tensor->name, import_initializer(import, tensor));
    }
}

/* ---- nodes ---- */

#define SEARCHES 16 /* a hostile model has many names to look for */

static const struct ipex_onnx_node *find_producer(const struct ipex_import *import,
                                                  const char *name) {
    const struct ipex_onnx_graph *source = &import->model->graph;
    if (import->unsupported_count >= SEARCHES)
        return NULL;
    for (size_t i = 0; i < source->nodes; i++)
        for (size_t k = 0; k < source->node[i].outputs; k++)
            if (!strcmp(source->node[i].output[k], name))
                return &source->node[i];
    return NULL;
}

static bool listed(const char *const *names, const char *name) {
    while (*names && strcmp(*names, name))
        names++;
    return *names != NULL;
}

/* Operators that data of the run has no part in: refused behind what is unknown too. */
static const char *const refused_anyway[] = {"NonZero", NULL};

const char *ipex_import_unsupported_output(struct ipex_import *import, const char *name) {
    const struct ipex_onnx_node *from = find_producer(import, name);
    size_t i = 0;
    while (from && strcmp(from->output[i], name))
        i++;
    if (!from || !i || !ipex_import_lookup(import, from->output[0]))
        return NULL;
    return ipex_arena_printf(&import->graph->arena, "output %zu of %s (%s), which is not supported",
                             i, *from->name ? from->name : from->output[0], from->op_type);
}

/* The current node reads a value that there is not. */
static void refuse_input(struct ipex_import *import, const char *name) {
    const struct ipex_onnx_node *later = find_producer(import, name);
    const char *unsupported = ipex_import_unsupported_output(import, name);
    if (unsupported)
        ipex_import_refuse(import, "reads %s: %s", name, unsupported);
    else if (later)
        ipex_import_refuse(import,
                           "reads %s, which %s computes, but not before it: they are in a cycle",
                           name, *later->name ? later->name : "a node");
    else
        ipex_import_refuse(import, "reads %s, which nothing before it computes", name);
}

/* Whether there is a value for every input, and nothing unsupported behind them. False after
 * refusing. */
static bool known_inputs(struct ipex_import *import, bool *ret_known) {
    bool known = true;
    for (size_t i = 0; i < import->node->inputs; i++) {
        const char *name = import->node->input[i];
        struct ipex_value *value = *name ? ipex_import_lookup(import, name) : NULL;
        if (*name && !value) {
            refuse_input(import, name);
            return false;
        }
        if (value && value->list && !ipex_import_takes_list(import)) {
            ipex_import_refuse(import, "input %s is a sequence of tensors", name);
            return false;
        }
        if (value && (value->empty || ipex_import_is_none(value)) &&
            !ipex_import_spares_none(import, i))
            ipex_import_refuse_empty(import, value);
        known &= !value || !value->unknown;
    }
    *ret_known = known;
    return true;
}

/* Every result from `node` on has a size that a file can state; refuses otherwise. */
static bool results_fit(struct ipex_import *import, const struct ipex_node *node) {
    for (; node; node = node->next) {
        const struct ipex_value *y[] = {node->output, node->extra_output[0], node->extra_output[1]};
        for (size_t i = 0; i < sizeof y / sizeof *y; i++) {
            const char *wrong =
                y[i] ? ipex_import_dims_wrong(import->graph, y[i]->rank, y[i]->dims) : NULL;
            if (wrong) {
                ipex_import_refuse(import, "the result %s would have %s", y[i]->name, wrong);
                return false;
            }
        }
    }
    return true;
}

/* "1, 3, H": the elements of a value that depends on sizes. */
static const char *sizes_text(struct ipex_import *import, const struct ipex_value *value) {
    const char *text = "";
    const int64_t count = ipex_value_numel(value), shown = count > 8 ? 8 : count;
    for (int64_t i = 0; i < shown; i++)
        text = ipex_arena_printf(&import->graph->arena, "%s%s%s", text, i ? ", " : "",
                                 ipex_import_text(import, value->ints[i]));
    return shown < count ? ipex_arena_printf(&import->graph->arena, "%s, ...", text) : text;
}

/* What is read from `node` on is data: sizes of the run are none before a node has made them so. */
static bool operands_are_data(struct ipex_import *import, struct ipex_node *node) {
    for (; node; node = node->next)
        for (int32_t i = 0; i < node->inputs; i++) {
            const struct ipex_value *x = ipex_node_operands(node)[i];
            if (x && x->ints && !x->constant && !x->producer) {
                ipex_import_refuse(import,
                                   "input %s is made of sizes that vary (%s), which this operator "
                                   "does not read: give them one number (--dim NAME=N)",
                                   x->name, sizes_text(import, x));
                return false;
            }
        }
    return true;
}

/* The current node's results are read later, also where the nodes that it became read them. */
static void keep_results(struct ipex_import *import, int32_t more) {
    for (size_t i = 0; i < import->node->outputs; i++) {
        struct ipex_value *y = ipex_import_result(import, i);
        if (y)
            y->uses += more;
    }
}

void ipex_import_fold(struct ipex_import *import, struct ipex_node *last) {
    struct ipex_node *made = last ? last->next : import->graph->first;
    char text[256] = "";
    const struct ipex_report report = {text, sizeof text};
    if (!results_fit(import, made) || !ipex_import_reads_some(import, made) ||
        !operands_are_data(import, made))
        return;
    keep_results(import, 1);
    const enum ipex_status status = ipex_fold_constants(import->graph, made, &report);
    keep_results(import, -1);
    if (status != IPEX_OK)
        ipex_import_refuse(import, "cannot be computed at convert time: %s", text);
}

/* Whether any output that the node names has become a value. */
static bool has_result(const struct ipex_import *import) {
    bool named = false;
    for (size_t i = 0; i < import->node->outputs; i++) {
        named |= *import->node->output[i] != 0;
        if (ipex_import_result(import, i))
            return true;
    }
    return !named;
}

/* Runs the operator's function; what it made is computed right away if it depends on constants
 * only. */
static void import_known(struct ipex_import *import, ipex_import_fn fn) {
    struct ipex_node *last = import->graph->last;
    size_t before = import->unsupported_count;
    fn(import);
    if (import->unsupported_count == before && !has_result(import))
        ipex_import_refuse(import,
                           "its inputs and attributes are not those that it has in opset "
                           "%lld",
                           (long long)import->model->opset);
    if (import->unsupported_count == before && !ipex_import_leave_out(import, last))
        ipex_import_fold(import, last);
    if (import->unsupported_count == before)
        ipex_import_float_sizes(import);
    if (import->unsupported_count != before)
        ipex_import_refuse_operands(import);
    ipex_import_double_moved(import);
    ipex_import_narrow_moved(import);
}

/* Up to opset 6 operands were joined only on request, and at an axis of choice. */
static bool joined_as_today(struct ipex_import *import) {
    if (import->model->opset >= 7 || !ipex_import_int(import, "broadcast", 0))
        return true;
    ipex_import_refuse(import,
                       "broadcast as in opset %lld: bring the model to opset 7 or newer "
                       "(onnx.version_converter)",
                       (long long)import->model->opset);
    return false;
}

void ipex_import_one(struct ipex_import *import, const struct ipex_onnx_node *node) {
    import->node = node;
    import->label = *node->name ? node->name : node->outputs ? node->output[0] : "?";
    if (node->outputs == 0) {
        ipex_import_refuse(import, "it has no output");
        return;
    }
    for (size_t i = 0; i < node->outputs; i++)
        if (*node->output[i] && ipex_import_lookup(import, node->output[i])) {
            ipex_import_unsupported(import, import->label, node->op_type,
                                    ipex_arena_printf(&import->graph->arena,
                                                      "its result %s has been computed before",
                                                      node->output[i]));
            return;
        }
    ipex_import_fn fn = ipex_import_find(node->domain, node->op_type);
    bool known;
    if (!known_inputs(import, &known) || !joined_as_today(import) ||
        !ipex_import_narrow_fits(import))
        return;
    if (known && !*node->domain && !ipex_import_joins_none(import) &&
        (ipex_import_double(import) || ipex_import_symbolic(import))) {
        ipex_import_narrow_moved(import);
        import->shape_folds++;
        return;
    }
    bool on_shapes = !*node->domain && ipex_import_is_symbolic(import);
    if (!known && (fn || on_shapes) && !listed(refused_anyway, node->op_type))
        ipex_import_outputs_unknown(import); /* what stands before it is in the list already */
    else if (!fn)
        ipex_import_refuse_operator(import, on_shapes);
    else
        import_known(import, fn);
}

static enum ipex_import_result import_all(struct ipex_import *import,
                                          struct ipex_import_options *options,
                                          const char **ret_message) {
    const struct ipex_onnx_graph *source = &import->model->graph;
    ipex_import_initializers(import, source);
    if (!ipex_import_inputs(import, options, ret_message))
        return IPEX_IMPORT_USAGE;
    if ((*ret_message = ipex_import_images(import, options)) != NULL)
        return IPEX_IMPORT_USAGE;
    check_opset(import);
    for (size_t i = 0; i < source->nodes; i++)
        ipex_import_one(import, &source->node[i]);
    ipex_import_outputs(import);
    ipex_import_half_note(import);
    ipex_import_double_note(import);
    if (!import->unsupported_count)
        return IPEX_IMPORT_OK;
    *ret_message = ipex_import_list(import, options->every_site);
    return IPEX_IMPORT_FAILED;
}

enum ipex_import_result ipex_import_model(const struct ipex_onnx_model *model,
                                          struct ipex_import_options *options,
                                          struct ipex_graph *graph, struct ipex_import *ret_import,
                                          const char **ret_message) {
    *ret_import = (struct ipex_import){.graph = graph,
                                       .model = model,
                                       .names = {.arena = &graph->arena},
                                       .symbols = {.arena = &graph->arena}};
    enum ipex_import_result result = import_all(ret_import, options, ret_message);
    free(ret_import->unsupported);
    ret_import->unsupported = NULL;
    return result;
}
