/* SPDX-License-Identifier: Apache-2.0 */
/* Values without elements, as slices and look-ups of nothing give them. Nothing ever computes one:
 * an operator of which all results have no elements leaves no node behind, only values that have
 * type and shape; Concat and Scatter leave such operands out. A file has none: what else reads one
 * is refused, and the message names the node where it came from. */
#include "tools/convert/import_scope.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool ipex_import_is_none(const struct ipex_value *value) {
    for (int32_t i = 0; i < value->rank; i++)
        if (value->dims[i] == 0)
            return true;
    return false;
}

/* Operators that know what to do with them. */
static const char takers[] =
    " Abs Add And Cast Ceil Clip Concat ConstantOfShape Cos Div Dropout Equal Erf Exp Expand "
    "Flatten Floor Gather GatherElements GatherND Greater GreaterOrEqual Identity Less "
    "LessOrEqual Log Max Min Mod Mul Neg Not Or Pow Reciprocal ReduceMax ReduceMean ReduceMin "
    "ReduceProd ReduceSum Relu Reshape Round Scatter ScatterElements ScatterND Shape Sigmoid Sign "
    "Sin "
    "Size Slice Split Sqrt Squeeze Sub Sum Tanh Tile Transpose Unsqueeze Where Xor ";

/* Those of them that shape arithmetic takes for joining a vector and a number. */
static const char joining[] =
    " Add Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mod Mul Pow Sub Where ";

/* Of ONNX's own operators. */
static bool is_among(const struct ipex_import *import, const char *names) {
    const size_t length = strlen(import->node->op_type);
    for (const char *at = names; !*import->node->domain && *at; at += strcspn(at, " ") + 1)
        if (!strncmp(at, import->node->op_type, length) && at[length] == ' ')
            return true;
    return false;
}

bool ipex_import_spares_none(const struct ipex_import *import, size_t i) {
    const struct ipex_value *x = ipex_import_in(import, i);
    return is_among(import, takers) || (i && x && x->constant && x->rank == 1);
}

bool ipex_import_joins_none(const struct ipex_import *import) {
    bool any = false;
    for (size_t i = 0; i < import->node->inputs; i++) {
        const struct ipex_value *x = ipex_import_in(import, i);
        any |= x && ipex_import_is_none(x);
    }
    return any && is_among(import, joining);
}

/* ---- where they come from ---- */

static struct ipex_unsupported *make_reason(struct ipex_import *import, const char *text) {
    struct ipex_unsupported *why = ipex_arena_alloc(&import->graph->arena, sizeof *why);
    *why = (struct ipex_unsupported){
        .node = import->label, .op = import->node->op_type, .reason = text};
    return why;
}

/* That of an operand of the current node, where one has no elements; NULL where all have some. */
static struct ipex_unsupported *operands_reason(const struct ipex_import *import) {
    for (size_t i = 0; i < import->node->inputs; i++) {
        const struct ipex_value *x = ipex_import_in(import, i);
        if (x && x->empty)
            return x->empty;
    }
    return NULL;
}

void ipex_import_refuse_empty(struct ipex_import *import, struct ipex_value *value) {
    if (!value->empty) /* the model states it */
        value->empty =
            make_reason(import, ipex_arena_printf(&import->graph->arena,
                                                  "reads %s, which has no elements", value->name));
    struct ipex_unsupported *why = value->empty;
    value->unknown = true;
    if (!why->said)
        ipex_import_unsupported(import, why->node, why->op, why->reason);
    why->said = true;
}

void ipex_import_refuse_operands(struct ipex_import *import) {
    for (size_t i = 0; i < import->node->inputs; i++) {
        struct ipex_value *x = ipex_import_in(import, i);
        if (x && x->empty && (is_among(import, takers) || !ipex_import_spares_none(import, i)))
            ipex_import_refuse_empty(import, x);
    }
}

/* ---- results ---- */

/* Output i: a constant of no elements, where all its dims are numbers. */
static void bind_none(struct ipex_import *import, size_t i, enum ipex_dtype dtype, int32_t rank,
                      const int64_t *dims, struct ipex_unsupported *why) {
    const char *name = import->node->output[i];
    bool numbers = true;
    for (int32_t k = 0; k < rank; k++)
        numbers &= dims[k] >= 0;
    struct ipex_value *value = numbers
                                   ? ipex_graph_constant(import->graph, name, dtype, rank, dims, "")
                                   : ipex_graph_value(import->graph, name, dtype, rank, dims);
    value->empty = why;
    ipex_import_out(import, i, value);
}

void ipex_import_empty(struct ipex_import *import, size_t i, const struct ipex_value *like,
                       const int64_t *dims, const char *format, ...) {
    struct ipex_unsupported *why = operands_reason(import);
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (i < import->node->outputs && *import->node->output[i])
        bind_none(import, i, like->dtype, like->rank, dims,
                  why ? why : make_reason(import, ipex_arena_strdup(&import->graph->arena, text)));
}

bool ipex_import_leave_out(struct ipex_import *import, const struct ipex_node *last) {
    struct ipex_unsupported *why = operands_reason(import);
    bool any = false;
    if (!*import->node->domain && !strcmp(import->node->op_type, "Constant"))
        return false; /* as an initializer, it is none of the model's doing */
    for (size_t i = 0; i < import->node->outputs; i++) {
        const struct ipex_value *y = ipex_import_result(import, i);
        if (y && !ipex_import_is_none(y))
            return false;
        any |= y != NULL;
    }
    for (size_t i = 0; i < import->node->outputs; i++) {
        const struct ipex_value *y = ipex_import_result(import, i);
        if (y && !y->empty)
            bind_none(
                import, i, y->dtype, y->rank, y->dims,
                why ? why
                    : make_reason(import, ipex_arena_printf(&import->graph->arena,
                                                            "the result %s would have no elements",
                                                            import->node->output[i])));
    }
    while (any && import->graph->last != last)
        ipex_graph_remove(import->graph, import->graph->last);
    return any;
}

bool ipex_import_reads_some(struct ipex_import *import, struct ipex_node *node) {
    for (; node; node = node->next)
        for (int32_t i = 0; i < node->inputs; i++) {
            struct ipex_value *x = ipex_node_operands(node)[i];
            if (!x || !ipex_import_is_none(x))
                continue;
            ipex_import_refuse(import, "reads %s, which has no elements", x->name);
            return false;
        }
    return true;
}
