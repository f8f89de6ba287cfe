/* SPDX-License-Identifier: Apache-2.0 */
/* Loop and Scan, whose number of iterations is known while importing: each becomes the nodes of its
 * body, with names that end with the iteration. */
#include "tools/convert/import_build.h"
#include "tools/convert/import_scope.h"

#include <string.h>

enum { ITERATIONS_MAX = 4096, NODES_MAX = 1 << 18, CHUNK = 256, STACKS_MAX = 256 };

static void forget_results(struct ipex_import *import, const struct ipex_onnx_node *node) {
    for (size_t i = 0; i < node->outputs; i++)
        if (*node->output[i])
            ipex_import_bind(import, node->output[i], NULL);
}

void ipex_import_forget_names(struct ipex_import *import, const struct ipex_onnx_graph *source) {
    for (size_t i = 0; i < source->inputs; i++)
        ipex_import_bind(import, source->input[i].name, NULL);
    for (size_t i = 0; i < source->initializers; i++)
        ipex_import_bind(import, source->initializer[i].name, NULL);
    for (size_t i = 0; i < source->nodes; i++)
        forget_results(import, &source->node[i]);
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

/* What the results of all iterations are stacked into: after every CHUNK of them, so that few are
 * alive at once. */
struct stack {
    int64_t axis;
    bool backwards;
    struct ipex_value *one[CHUNK], *chunk[ITERATIONS_MAX / CHUNK + 1];
};

/* The body has `ahead` of its own inputs and results (a loop's counter and condition), then what is
 * carried on; further results are stacked. */
struct loop {
    const struct ipex_onnx_graph *body;
    size_t inputs_ahead, results_ahead, carried, stacks;
    struct ipex_value **input, **result;
    struct ipex_value ***read; /* what every node of the body read in the iteration before */
    struct stack *stack;
    int64_t done;
};

/* Fills the loop by the node's body; false after refusing. */
static bool read_body(struct ipex_import *import, struct loop *loop) {
    struct ipex_arena *arena = &import->graph->arena;
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "body");
    const struct ipex_onnx_graph *body = loop->body = attr ? attr->graph : NULL;
    const size_t kept = loop->results_ahead + loop->carried;
    if (!body || body->inputs != import->node->inputs || body->outputs < kept ||
        body->outputs - loop->results_ahead < import->node->outputs) {
        ipex_import_refuse(import, "its body is missing or has other inputs or results");
        return false;
    }
    const char *used = ipex_import_name_in_use(import, body);
    if (used) {
        ipex_import_refuse(import, "its body has %s, a name that is in use", used);
        return false;
    }
    loop->stacks = body->outputs - kept;
    if (loop->stacks > STACKS_MAX) {
        ipex_import_refuse(import, "%zu results are stacked; at most %d are supported",
                           loop->stacks, STACKS_MAX);
        return false;
    }
    loop->input = ipex_arena_array(arena, body->inputs + 1, sizeof(void *));
    loop->result = ipex_arena_array(arena, body->outputs + 1, sizeof(void *));
    loop->stack = ipex_arena_array(arena, loop->stacks + 1, sizeof *loop->stack);
    loop->read = ipex_arena_array(arena, body->nodes + 1, sizeof(void *));
    for (size_t i = 0; i < body->nodes; i++)
        loop->read[i] = ipex_arena_array(arena, body->node[i].inputs + 1, sizeof(void *));
    ipex_import_initializers(import, body);
    return true;
}

/* Values of one shape along a new axis, the last first with `backwards`. */
static struct ipex_value *stacked(struct ipex_import *import, struct ipex_value **x, int64_t count,
                                  int64_t axis, bool backwards) {
    int64_t dims[IPEX_MAX_RANK];
    struct ipex_value *part[CHUNK];
    const int32_t rank = x[0]->rank + 1;
    if (rank > IPEX_MAX_RANK) {
        ipex_import_refuse(import, "%s would have rank %d where it is stacked", x[0]->name, rank);
        return NULL;
    }
    if (!ipex_import_axis(import, &axis, rank))
        return NULL;
    memcpy(dims, x[0]->dims, (size_t)axis * sizeof *dims);
    dims[axis] = 1;
    memcpy(dims + axis + 1, x[0]->dims + axis, (size_t)(rank - 1 - axis) * sizeof *dims);
    for (int64_t i = 0; i < count; i++) {
        struct ipex_value *one = x[backwards ? count - 1 - i : i];
        if (one->list || one->dtype != x[0]->dtype || one->rank != x[0]->rank ||
            memcmp(one->dims, x[0]->dims, (size_t)one->rank * sizeof *dims)) {
            ipex_import_refuse(import, "type or shape of its result %s vary", one->name);
            return NULL;
        }
        part[i] = ipex_build_reshape(import, one, rank, dims);
    }
    return count == 1 ? part[0] : ipex_build_concat(import, (int32_t)axis, (int32_t)count, part);
}

/* The results that are not in chunks yet. */
static bool close_chunk(struct ipex_import *import, struct loop *loop) {
    const int64_t last = (loop->done - 1) / CHUNK, count = loop->done - last * CHUNK;
    for (size_t i = 0; i < loop->stacks; i++) {
        struct stack *s = &loop->stack[i];
        s->chunk[last] = stacked(import, s->one, count, s->axis, s->backwards);
        if (!s->chunk[last])
            return false;
    }
    return true;
}

static struct ipex_value *whole_stack(struct ipex_import *import, struct stack *s, int64_t done) {
    struct ipex_value *part[ITERATIONS_MAX / CHUNK + 1];
    const int64_t count = (done - 1) / CHUNK + 1;
    int64_t axis = s->axis;
    for (int64_t i = 0; i < count; i++)
        part[i] = s->chunk[s->backwards ? count - 1 - i : i];
    if (!ipex_import_axis(import, &axis, part[0]->rank))
        return NULL;
    return count == 1 ? part[0] : ipex_build_concat(import, (int32_t)axis, (int32_t)count, part);
}

/* The node reads what it read before, and has no graph inside that may read more. */
static bool reads_the_same(const struct ipex_import *import, const struct ipex_onnx_node *node,
                           struct ipex_value **read) {
    bool same = true;
    for (size_t i = 0; i < node->inputs; i++) {
        struct ipex_value *x = *node->input[i] ? ipex_import_lookup(import, node->input[i]) : NULL;
        same = same && x == read[i];
        read[i] = x;
    }
    for (size_t i = 0; i < node->attrs; i++)
        same = same && !node->attr[i].graph;
    return same;
}

/* One more iteration with loop->input; false after refusing. Nodes that read nothing of the
 * iteration are those of the first. */
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
    for (size_t i = 0; i < body->nodes; i++) {
        if (reads_the_same(import, &body->node[i], loop->read[i]) && loop->done > 0)
            continue;
        forget_results(import, &body->node[i]);
        ipex_import_one(import, &body->node[i]);
    }
    for (size_t i = 0; i < body->outputs; i++)
        loop->result[i] = ipex_import_lookup(import, body->output[i].name);
    import->node = outer;
    import->label = label;
    for (size_t i = 0; i < body->outputs && import->unsupported_count == before; i++)
        if (!loop->result[i])
            ipex_import_refuse(import, "its body has the result %s, which nothing computes",
                               body->output[i].name);
    if (import->unsupported_count != before)
        return false;
    const size_t kept = loop->results_ahead + loop->carried;
    memcpy(loop->input + loop->inputs_ahead, loop->result + loop->results_ahead,
           loop->carried * sizeof(void *));
    for (size_t i = 0; i < loop->stacks; i++)
        loop->stack[i].one[loop->done % CHUNK] = loop->result[kept + i];
    return ++loop->done % CHUNK || close_chunk(import, loop);
}

/* Binds the results, where all iterations went well. */
static void finish(struct ipex_import *import, struct loop *loop, bool well) {
    ipex_import_forget_names(import, loop->body);
    if (!well || (loop->done % CHUNK && !close_chunk(import, loop))) {
        ipex_import_outputs_unknown(import);
        return;
    }
    for (size_t i = 0; i < import->node->outputs; i++) {
        struct ipex_value *y = NULL;
        if (!*import->node->output[i])
            continue;
        if (i < loop->carried)
            y = loop->input[loop->inputs_ahead + i];
        else if (loop->done)
            y = whole_stack(import, &loop->stack[i - loop->carried], loop->done);
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
    struct loop loop = {
        .inputs_ahead = 2,
        .results_ahead = 1,
        .carried = import->node->inputs > 2 ? import->node->inputs - 2 : 0,
    };
    int64_t most = INT64_MAX, goes_on = 1;
    if (!known_number(import, ipex_import_in(import, 0), "number of iterations", &most) ||
        !known_number(import, ipex_import_in(import, 1), "condition", &goes_on) ||
        !read_body(import, &loop))
        return;
    for (size_t i = 0; i < loop.carried; i++)
        loop.input[2 + i] = ipex_import_in(import, 2 + i);
    loop.input[1] = ipex_build_number(import, IPEX_DTYPE_bool, 1);
    bool well = true;
    while (well && goes_on && loop.done < most) {
        loop.input[0] = ipex_build_number(import, IPEX_DTYPE_i64, (double)loop.done);
        well =
            iterate(import, &loop) && known_number(import, loop.result[0], "condition", &goes_on);
    }
    finish(import, &loop, well);
}

/* ---- Scan ---- */

/* An attribute with a number for each of so many; false after refusing. */
static bool has_each(struct ipex_import *import, const char *name, size_t count) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, name);
    if (!attr || ipex_onnx_ints(attr) == count)
        return true;
    ipex_import_refuse(import, "attribute %s has %zu values, %zu are expected", name,
                       ipex_onnx_ints(attr), count);
    return false;
}

static int64_t of_list(const struct ipex_import *import, const char *name, size_t i) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, name);
    return attr ? attr->ints[i] : 0;
}

/* A sequence that is gone over. */
struct sequence {
    struct ipex_value *x;
    int64_t axis;
    bool backwards;
};

/* Reads sequence i of operand `at`; they all have as many steps, the first says how many. */
static bool read_sequence(struct ipex_import *import, size_t i, size_t at, struct sequence *ret,
                          int64_t *steps) {
    int64_t number;
    ret->x = ipex_import_any(import, at);
    ret->axis = of_list(import, "scan_input_axes", i);
    ret->backwards = of_list(import, "scan_input_directions", i) != 0;
    if (!ret->x || !ipex_import_axis(import, &ret->axis, ret->x->rank))
        return false;
    const int64_t dim = ret->x->dims[ret->axis];
    if (!ipex_dim_number(&import->graph->dims, dim, &number) || (i && number != *steps)) {
        ipex_import_refuse(import, "it goes over %s elements of %s, whose number has to be %s",
                           ipex_import_text(import, dim), ret->x->name,
                           i ? "that of the others" : "known when converting");
        return false;
    }
    *steps = number;
    return true;
}

static struct ipex_value *step_of(struct ipex_import *import, const struct sequence *s, int64_t i,
                                  int64_t steps) {
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = 0;
    for (int32_t k = 0; k < s->x->rank; k++)
        if (k != s->axis)
            dims[rank++] = s->x->dims[k];
    struct ipex_value *one =
        ipex_build_slice(import, s->x, (int32_t)s->axis, s->backwards ? steps - 1 - i : i, 1);
    return ipex_build_reshape(import, one, rank, dims);
}

void ipex_import_scan(struct ipex_import *import) {
    const int64_t given = ipex_import_int(import, "num_scan_inputs", 0);
    const size_t inputs = import->node->inputs, count = given > 0 ? (size_t)given : 0;
    if (import->model->opset < 9 || count < 1 || count > inputs) {
        ipex_import_refuse(import, "num_scan_inputs %lld of %zu inputs, opset %lld: not supported",
                           (long long)given, inputs, (long long)import->model->opset);
        return;
    }
    struct loop loop = {.carried = inputs - count};
    struct sequence *sequence = ipex_arena_array(&import->graph->arena, count, sizeof *sequence);
    int64_t steps = 0;
    if (!has_each(import, "scan_input_axes", count) ||
        !has_each(import, "scan_input_directions", count) || !read_body(import, &loop))
        return;
    bool well = has_each(import, "scan_output_axes", loop.stacks) &&
                has_each(import, "scan_output_directions", loop.stacks);
    for (size_t i = 0; well && i < loop.stacks; i++) {
        loop.stack[i].axis = of_list(import, "scan_output_axes", i);
        loop.stack[i].backwards = of_list(import, "scan_output_directions", i) != 0;
    }
    for (size_t i = 0; i < loop.carried; i++)
        loop.input[i] = ipex_import_in(import, i);
    for (size_t i = 0; well && i < count; i++)
        well = read_sequence(import, i, loop.carried + i, &sequence[i], &steps);
    while (well && loop.done < steps) {
        for (size_t i = 0; i < count; i++)
            loop.input[loop.carried + i] = step_of(import, &sequence[i], loop.done, steps);
        well = iterate(import, &loop);
    }
    finish(import, &loop, well);
}
