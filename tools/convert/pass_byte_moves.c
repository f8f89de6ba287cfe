/* SPDX-License-Identifier: Apache-2.0 */
/* Slices and concatenations are of bytes, not of what they stand for, which is computed behind
 * them, in the elementwise nodes that read it; and so are means. */
#include "tools/convert/match.h"
#include "tools/convert/passes.h"

#include <math.h>

/* What one part's bytes stand for: (byte - zero) * scale. */
struct numbers {
    float scale, zero;
};

/* One step of (byte - zero) * scale on what is before it, `left` of a number or right of it. */
static bool read_step(int16_t op, bool left, float number, struct numbers *ret) {
    if (op == IPEX_STEP_mul) {
        const bool first = ret->scale == 1;
        ret->scale = number;
        return first;
    }
    if (ret->scale != 1 || (op != IPEX_STEP_add && (op != IPEX_STEP_sub || left)))
        return false;
    ret->zero -= op == IPEX_STEP_add ? number : -number;
    return ret->zero == rintf(ret->zero) && fabsf(ret->zero) <= 255;
}

/* Whether the value is that of one byte each; with which numbers. */
static bool read_numbers(const struct ipex_value *value, struct numbers *ret) {
    const struct ipex_node *node = value->producer;
    if (!node || node->kind != IPEX_KIND_pointwise || node->inputs != 1 ||
        !node->input[0]->is_byte || value->is_byte || !ipex_same_shape(node->input[0], value))
        return false;
    const struct ipex_program *p = node->u.program;
    *ret = (struct numbers){1, 0};
    for (int32_t i = 0; i < p->steps; i++) {
        const int16_t before = (int16_t)(i > 0 ? IPEX_POINTWISE_RESULT + i - 1 : 0);
        const int16_t a = p->step[i].a, b = p->step[i].b;
        const bool left = a < 0;
        if ((left ? b : a) != before || (left ? a : b) >= 0 ||
            !read_step(p->step[i].op, left, p->constant[-1 - (left ? a : b)], ret))
            return false;
    }
    return true;
}

static bool is_pointwise(const struct ipex_node *node) {
    return node->kind == IPEX_KIND_pointwise;
}

/* Whether it moves elements or computes them one by one. */
static bool is_elementwise(const struct ipex_node *node) {
    return is_pointwise(node) || node->kind == IPEX_KIND_slice || node->kind == IPEX_KIND_concat ||
           node->kind == IPEX_KIND_reshape || node->kind == IPEX_KIND_transpose;
}

/* More than a table of bytes, because of its other operands. */
static bool has_operands(const struct ipex_node *node) {
    return is_pointwise(node) && node->inputs > 1;
}

/* Whether there are readers, and all of them are so. */
static bool all_read(const struct ipex_value *value, bool (*is)(const struct ipex_node *)) {
    struct ipex_node *node = ipex_value_next_reader(value->producer->next, value);
    if (!node || value->is_output)
        return false;
    for (; node; node = ipex_value_next_reader(node->next, value))
        if (!is(node))
            return false;
    return true;
}

static struct ipex_value *bytes_like(struct ipex_graph *graph, const struct ipex_value *y) {
    struct ipex_value *bytes = ipex_graph_value(graph, y->name, y->dtype, y->rank, y->dims);
    bytes->is_byte = true;
    return bytes;
}

static void applied(struct ipex_graph *graph, const struct ipex_node *node, const char *what) {
    ipex_ledger_add(graph->ledger, "byte_moves", node->name, IPEX_REASON_applied, what);
}

/* ---- slices ---- */

static bool fits_slice(const struct ipex_node *node) {
    struct numbers numbers;
    return node->kind == IPEX_KIND_slice && read_numbers(node->input[0], &numbers) &&
           all_read(node->output, is_elementwise);
}

/* The node takes the bytes that its operand is made of; what is made of them is made of the node's
 * result instead. */
static void exchange(struct ipex_graph *graph, struct ipex_node *node, struct ipex_value *result) {
    const struct ipex_node *from = node->input[0]->producer;
    struct ipex_value *y = node->output;
    struct ipex_node *own =
        ipex_graph_node(graph, IPEX_KIND_pointwise, from->name, from->source_op, node->next);
    own->u.program = from->u.program;
    ipex_node_set_input(node, 0, from->input[0]);
    ipex_node_set_output(node, result);
    ipex_node_add_input(own, result);
    ipex_node_set_output(own, y);
    applied(graph, node, "takes bytes, not what they stand for");
}

/* ---- means ---- */

static bool is_whole_pool(const struct ipex_node *node) {
    struct numbers numbers;
    return node->kind == IPEX_KIND_pool && ipex_match_image_mean(node) &&
           read_numbers(node->input[0], &numbers);
}

/* A pool over all of an image as the reduction that bytes have. */
static void become_reduction(struct ipex_node *node) {
    node->kind = IPEX_KIND_reduce;
    node->u.reduce.kind = IPEX_REDUCE_mean;
    node->u.reduce.axes = 1u << 2 | 1u << 3;
}

static bool fits_mean(const struct ipex_graph *graph, const struct ipex_node *node) {
    struct numbers numbers;
    return ipex_match_byte_mean(graph, node) && read_numbers(node->input[0], &numbers);
}

/* ---- concatenations ---- */

/* A reader that has operands besides, or quantises what only such nodes read: otherwise each part
 * is better quantised by itself (pass_byte_concat.c). */
static bool gains(const struct ipex_node *reader) {
    return is_pointwise(reader) && (reader->inputs > 1 || (reader->output->is_byte &&
                                                           all_read(reader->output, has_operands)));
}

/* Whether most of what is joined is bytes that others read, too: a part of its own could be
 * quantised where it is computed. */
static bool fits_concat(const struct ipex_graph *graph, const struct ipex_node *node) {
    int64_t size, all = 0, shared = 0;
    struct numbers numbers;
    if (node->kind != IPEX_KIND_concat || !all_read(node->output, gains))
        return false;
    for (int32_t i = 0; i < node->inputs; i++) {
        const struct ipex_value *x = node->concat_input[i];
        if (!read_numbers(x, &numbers) ||
            !ipex_dim_number(&graph->dims, x->dims[node->u.axis], &size))
            return false;
        all += size;
        shared += x->uses > 1 || x->producer->input[0]->uses > 1 ? size : 0;
    }
    return 2 * shared > all;
}

/* What the parts' bytes stand for, of every element along the axis, as operands 1 and 2. */
static void add_numbers(struct ipex_graph *graph, const struct ipex_node *node,
                        struct ipex_node *own) {
    const struct ipex_value *y = node->output;
    const int32_t axis = node->u.axis;
    int64_t size = 0, count = 0;
    (void)ipex_dim_number(&graph->dims, y->dims[axis], &size);
    double *scale = ipex_arena_array(&graph->arena, (size_t)size, sizeof *scale);
    double *zero = ipex_arena_array(&graph->arena, (size_t)size, sizeof *zero);
    for (int32_t i = 0; i < node->inputs; i++) {
        struct numbers numbers;
        (void)read_numbers(node->concat_input[i], &numbers);
        (void)ipex_dim_number(&graph->dims, node->concat_input[i]->dims[axis], &size);
        for (; size > 0; size--, count++) {
            scale[count] = (double)numbers.scale;
            zero[count] = (double)numbers.zero;
        }
    }
    const char *scales = ipex_arena_printf(&graph->arena, "%s.scales", y->name);
    const char *zeros = ipex_arena_printf(&graph->arena, "%s.zeros", y->name);
    ipex_node_add_input(own, ipex_graph_axis_constant(graph, scales, y->rank, axis, scale, count));
    ipex_node_add_input(own, ipex_graph_axis_constant(graph, zeros, y->rank, axis, zero, count));
}

static void take_concat(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_value *y = node->output, *bytes = bytes_like(graph, y);
    struct ipex_node *own =
        ipex_graph_node(graph, IPEX_KIND_pointwise, node->name, node->source_op, node->next);
    struct ipex_program *p = own->u.program = ipex_arena_alloc(&graph->arena, sizeof *p);
    ipex_node_add_input(own, bytes);
    add_numbers(graph, node, own);
    ipex_program_emit(p, IPEX_STEP_mul, ipex_program_emit(p, IPEX_STEP_sub, 0, 2), 1);
    for (int32_t i = 0; i < node->inputs; i++)
        ipex_node_set_input(node, i, node->concat_input[i]->producer->input[0]);
    ipex_node_set_output(node, bytes);
    ipex_node_set_output(own, y);
    applied(graph, node, "joins bytes, not what they stand for");
}

void ipex_move_bytes(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        const struct ipex_value *y = node->output;
        if (is_whole_pool(node))
            become_reduction(node);
        if (fits_slice(node))
            exchange(graph, node, bytes_like(graph, y));
        else if (fits_mean(graph, node))
            exchange(graph, node, ipex_graph_value(graph, y->name, y->dtype, y->rank, y->dims));
        else if (fits_concat(graph, node))
            take_concat(graph, node);
    }
}
