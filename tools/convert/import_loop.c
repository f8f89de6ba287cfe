/* SPDX-License-Identifier: Apache-2.0 */
/* Loop and Scan, whose number of iterations is known while importing: each becomes the nodes of its
 * body, with names that end with the iteration. */
#include "tools/convert/import_build.h"
#include "tools/convert/import_scope.h"

#include <string.h>

enum { ITERATIONS_MAX = 4096, NODES_MAX = 1 << 18 };

static void forget_nodes(struct ipex_import *import, const struct ipex_onnx_graph *source,
                         bool constants_too) {
    for (size_t i = 0; i < source->nodes; i++)
        if (constants_too || strcmp(source->node[i].op_type, "Constant"))
            for (size_t k = 0; k < source->node[i].outputs; k++)
                if (*source->node[i].output[k])
                    ipex_import_bind(import, source->node[i].output[k], NULL);
}

void ipex_import_forget_names(struct ipex_import *import, const struct ipex_onnx_graph *source) {
    for (size_t i = 0; i < source->inputs; i++)
        ipex_import_bind(import, source->input[i].name, NULL);
    for (size_t i = 0; i < source->initializers; i++)
        ipex_import_bind(import, source->initializer[i].name, NULL);
    forget_nodes(import, source, true);
}

const char *ipex_import_name_in_use(const struct ipex_import *import,
                                    const struct ipex_onnx_graph *source) {
    for (size_t i = 0; i < source->inputs; i++)
        if (ipex_import_lookup(import, source->input[i].name))
            return source->input[i].name;
    for (size_t i = 0; i < source->initializers; i++)
        if (ipex_import_lookup(import, source->initializer[i].name))
            return source->initializer[i].name;
    for (size_t i = 0; i < source->nodes; i++)
        for (size_t k = 0; k < source->node[i].outputs; k++)
            if (ipex_import_lookup(import, source->node[i].output[k]))
                return source->node[i].output[k];
    return NULL;
}

/* ---- iterations ---- */

/* The body's inputs and results begin with `ahead` of its own and what is carried on; further
 * results are stacked. */
struct loop {
    const struct ipex_onnx_graph *body;
    size_t carried, stacked;
    struct ipex_value **input, **result; /* of the body */
    struct ipex_value **stack;           /* [stacked][ITERATIONS_MAX] */
    int64_t done;
};

/* Reads the body, whose results are `ahead` more than the node's. False after refusing. */
static bool read_body(struct ipex_import *import, size_t carried, size_t ahead, struct loop *loop) {
    struct ipex_arena *arena = &import->graph->arena;
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "body");
    const struct ipex_onnx_graph *body = attr ? attr->graph : NULL;
    if (!body || body->inputs != import->node->inputs || body->outputs < ahead + carried ||
        body->outputs - ahead < import->node->outputs) {
        ipex_import_refuse(import, "its body is missing or has other inputs or results");
        return false;
    }
    const char *used = ipex_import_name_in_use(import, body);
    if (used) {
        ipex_import_refuse(import, "its body has %s, a name that is in use", used);
        return false;
    }
    const size_t stacked = body->outputs - ahead - carried;
    *loop = (struct loop){
        .body = body,
        .carried = carried,
        .stacked = stacked,
        .input = ipex_arena_array(arena, body->inputs + 1, sizeof(void *)),
        .result = ipex_arena_array(arena, body->outputs + 1, sizeof(void *)),
        .stack = ipex_arena_array(arena, stacked * ITERATIONS_MAX + 1, sizeof(void *)),
    };
    ipex_import_initializers(import, body);
    return true;
}

/* One more iteration with loop->input; false after refusing. Constants are those of the first. */
static bool iterate(struct ipex_import *import, struct loop *loop) {
    const struct ipex_onnx_graph *body = loop->body;
    const struct ipex_onnx_node *outer = import->node;
    const char *label = import->label;
    const size_t before = import->unsupported_count;
    import->unrolled += body->nodes;
    if (loop->done == ITERATIONS_MAX || import->unrolled > NODES_MAX) {
        ipex_import_refuse(import,
                           "more than %lld iterations, each of which becomes %zu nodes; at most %d "
                           "iterations and %d nodes of all loops are supported",
                           (long long)loop->done, body->nodes, ITERATIONS_MAX, NODES_MAX);
        return false;
    }
    for (size_t i = 0; i < body->inputs; i++)
        ipex_import_bind(import, body->input[i].name, loop->input[i]);
    for (size_t i = 0; i < body->nodes; i++)
        if (loop->done == 0 || strcmp(body->node[i].op_type, "Constant"))
            ipex_import_one(import, &body->node[i]);
    for (size_t i = 0; i < body->outputs; i++)
        loop->result[i] = ipex_import_lookup(import, body->output[i].name);
    forget_nodes(import, body, false);
    import->node = outer;
    import->label = label;
    for (size_t i = 0; i < body->outputs && import->unsupported_count == before; i++)
        if (!loop->result[i])
            ipex_import_refuse(import, "its body has the result %s, which nothing computes",
                               body->output[i].name);
    loop->done++;
    return import->unsupported_count == before;
}

/* What is carried on and what is stacked, whose results begin at `ahead`. */
static void keep_results(struct loop *loop, size_t ahead, size_t inputs_ahead) {
    memcpy(loop->input + inputs_ahead, loop->result + ahead, loop->carried * sizeof(void *));
    for (size_t i = 0; i < loop->stacked; i++)
        loop->stack[i * ITERATIONS_MAX + (size_t)loop->done - 1] =
            loop->result[ahead + loop->carried + i];
}

/* Values of one shape along a new axis, the last first with `backwards`. */
static struct ipex_value *stack(struct ipex_import *import, struct ipex_value **x, int64_t count,
                                int64_t axis, bool backwards) {
    int64_t dims[IPEX_MAX_RANK];
    struct ipex_value **part =
        ipex_arena_array(&import->graph->arena, (size_t)count, sizeof(void *));
    const int32_t rank = x[0]->rank + 1;
    if (rank > IPEX_MAX_RANK || !ipex_import_axis(import, &axis, rank))
        return NULL;
    memcpy(dims, x[0]->dims, (size_t)axis * sizeof *dims);
    dims[axis] = 1;
    memcpy(dims + axis + 1, x[0]->dims + axis, (size_t)(rank - 1 - axis) * sizeof *dims);
    for (int64_t i = 0; i < count; i++) {
        struct ipex_value *one = x[backwards ? count - 1 - i : i];
        if (one->rank != x[0]->rank ||
            memcmp(one->dims, x[0]->dims, (size_t)one->rank * sizeof *dims)) {
            ipex_import_refuse(import, "the shape of its result %s varies", one->name);
            return NULL;
        }
        part[i] = ipex_build_reshape(import, one, rank, dims);
    }
    return count == 1 ? part[0] : ipex_build_concat(import, (int32_t)axis, (int32_t)count, part);
}

/* Binds the results, of which those that are carried on are inputs again. */
static void finish(struct ipex_import *import, struct loop *loop, size_t inputs_ahead,
                   const int64_t *axes, const int64_t *backwards) {
    ipex_import_forget_names(import, loop->body);
    for (size_t i = 0; i < import->node->outputs; i++) {
        struct ipex_value *y = NULL;
        const size_t k = i - loop->carried;
        if (!*import->node->output[i])
            continue;
        if (i < loop->carried)
            y = loop->input[inputs_ahead + i];
        else if (loop->done)
            y = stack(import, &loop->stack[k * ITERATIONS_MAX], loop->done, axes ? axes[k] : 0,
                      backwards && backwards[k]);
        else
            ipex_import_refuse(import, "it has no iteration, so that %s would have no elements",
                               import->node->output[i]);
        if (!y)
            return;
        ipex_import_out(import, i, y);
    }
}

/* ---- Loop ---- */

/* The number, or otherwise, where the model gives none; false after refusing. */
static bool known_number(struct ipex_import *import, struct ipex_value *value, const char *what,
                         int64_t *ret) {
    const int64_t *known = value ? ipex_import_known(import, value) : NULL;
    if (!value || (known && ipex_value_numel(value) == 1 &&
                   ipex_dim_number(&import->graph->dims, known[0], ret)))
        return true;
    ipex_import_refuse(import,
                       "its %s %s is %s; a loop becomes as many copies of its body as there are "
                       "iterations, so their number has to be known when converting",
                       what, value->name,
                       known && ipex_value_numel(value) == 1 ? ipex_import_text(import, known[0])
                                                             : "computed at run time");
    return false;
}

void ipex_import_loop(struct ipex_import *import) {
    const size_t carried = import->node->inputs > 2 ? import->node->inputs - 2 : 0;
    int64_t most = INT64_MAX, goes_on = 1;
    struct loop loop;
    if (!known_number(import, ipex_import_in(import, 0), "number of iterations", &most) ||
        !known_number(import, ipex_import_in(import, 1), "condition", &goes_on) ||
        !read_body(import, carried, 1, &loop))
        return;
    for (size_t i = 0; i < carried; i++)
        loop.input[2 + i] = ipex_import_in(import, 2 + i);
    loop.input[1] = ipex_build_number(import, IPEX_DTYPE_bool, 1);
    while (goes_on && loop.done < most) {
        loop.input[0] = ipex_build_number(import, IPEX_DTYPE_i64, (double)loop.done);
        if (!iterate(import, &loop) ||
            !known_number(import, loop.result[0], "condition", &goes_on)) {
            ipex_import_forget_names(import, loop.body);
            ipex_import_outputs_unknown(import);
            return;
        }
        keep_results(&loop, 1, 2);
    }
    finish(import, &loop, 2, NULL, NULL);
}

/* ---- Scan ---- */

static bool read_list(struct ipex_import *import, const char *name, size_t count, int64_t *ret) {
    memset(ret, 0, count * sizeof *ret);
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, name);
    if (!attr || ipex_onnx_ints(attr) == count) {
        for (size_t i = 0; attr && i < count; i++)
            ret[i] = attr->ints[i];
        return true;
    }
    ipex_import_refuse(import, "attribute %s has %zu values, %zu are expected", name,
                       ipex_onnx_ints(attr), count);
    return false;
}

void ipex_import_scan(struct ipex_import *import) {
    struct ipex_arena *arena = &import->graph->arena;
    const int64_t scanned = ipex_import_int(import, "num_scan_inputs", 0);
    const size_t inputs = import->node->inputs;
    struct loop loop;
    int64_t steps = 0;
    if (import->model->opset < 9 || scanned < 1 || scanned > (int64_t)inputs) {
        ipex_import_refuse(import, "num_scan_inputs %lld of %zu inputs, opset %lld: not supported",
                           (long long)scanned, inputs, (long long)import->model->opset);
        return;
    }
    const size_t count = (size_t)scanned, carried = inputs - count;
    if (!read_body(import, carried, 0, &loop))
        return;
    int64_t *axis = ipex_arena_array(arena, count, sizeof *axis),
            *turned = ipex_arena_array(arena, count, sizeof *turned),
            *out_axis = ipex_arena_array(arena, loop.stacked + 1, sizeof *out_axis),
            *out_turned = ipex_arena_array(arena, loop.stacked + 1, sizeof *out_turned);
    bool fits = read_list(import, "scan_input_axes", count, axis) &&
                read_list(import, "scan_input_directions", count, turned) &&
                read_list(import, "scan_output_axes", loop.stacked, out_axis) &&
                read_list(import, "scan_output_directions", loop.stacked, out_turned);
    for (size_t i = 0; fits && i < inputs; i++) {
        const struct ipex_value *x = loop.input[i] = ipex_import_any(import, i);
        int64_t number = 0;
        fits = x != NULL;
        if (!fits || i < carried)
            continue;
        fits = ipex_import_axis(import, &axis[i - carried], x->rank);
        if (fits && (!ipex_dim_number(&import->graph->dims, x->dims[axis[i - carried]], &number) ||
                     (i > carried && number != steps))) {
            ipex_import_refuse(import, "it goes over %s elements of %s, whose number has to be %s",
                               ipex_import_text(import, x->dims[axis[i - carried]]), x->name,
                               i > carried ? "that of the others" : "known when converting");
            fits = false;
        }
        steps = number;
    }
    struct ipex_value **whole = ipex_arena_array(arena, count, sizeof(void *));
    memcpy(whole, loop.input + carried, count * sizeof(void *));
    while (fits && loop.done < steps) {
        for (size_t i = 0; i < count; i++) {
            const int64_t at = turned[i] ? steps - 1 - loop.done : loop.done;
            int64_t dims[IPEX_MAX_RANK];
            int32_t rank = 0;
            for (int32_t k = 0; k < whole[i]->rank; k++)
                if (k != axis[i])
                    dims[rank++] = whole[i]->dims[k];
            loop.input[carried + i] = ipex_build_reshape(
                import, ipex_build_slice(import, whole[i], (int32_t)axis[i], at, 1), rank, dims);
        }
        fits = iterate(import, &loop);
        if (fits)
            keep_results(&loop, 0, 0);
    }
    if (fits) {
        finish(import, &loop, 0, out_axis, out_turned);
    } else {
        ipex_import_forget_names(import, loop.body);
        ipex_import_outputs_unknown(import);
    }
}
