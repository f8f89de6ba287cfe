/* SPDX-License-Identifier: Apache-2.0 */
/* Values, nodes and the few rewrites that passes are made of. */
#include "tools/convert/graph.h"

#include "format/f16.h"
#include "format/tile.h"

#include <assert.h>
#include <string.h>

void ipex_graph_init(struct ipex_graph *graph, struct ipex_ledger *ledger) {
    *graph = (struct ipex_graph){.ledger = ledger};
    ipex_dims_init(&graph->dims, &graph->arena);
}

void ipex_graph_finish(struct ipex_graph *graph) {
    for (struct ipex_late *late = graph->late; late; late = late->next)
        ipex_arena_finish(&late->arena);
    ipex_dims_finish(&graph->dims);
    ipex_arena_finish(&graph->arena);
    *graph = (struct ipex_graph){0};
}

struct ipex_value *ipex_graph_value(struct ipex_graph *graph, const char *name,
                                    enum ipex_dtype dtype, int32_t rank, const int64_t *dims) {
    struct ipex_value *value = ipex_arena_alloc(&graph->arena, sizeof *value);
    value->name = ipex_arena_strdup(&graph->arena, name);
    value->dtype = dtype;
    value->rank = rank;
    if (rank)
        memcpy(value->dims, dims, (size_t)rank * sizeof *dims);
    return value;
}

static void set_constant(struct ipex_graph *graph, struct ipex_value *value, const void *data,
                         struct ipex_late *late) {
    struct ipex_constant *constant = ipex_arena_alloc(&graph->arena, sizeof *constant);
    *constant = (struct ipex_constant){
        .data = data,
        .size = (uint64_t)ipex_value_numel(value) * ipex_dtype_size(value->dtype),
        .late = late,
    };
    value->constant = constant;
}

void ipex_graph_set_data(struct ipex_graph *graph, struct ipex_value *value, const void *data) {
    set_constant(graph, value, data, NULL);
}

struct ipex_value *ipex_graph_constant(struct ipex_graph *graph, const char *name,
                                       enum ipex_dtype dtype, int32_t rank, const int64_t *dims,
                                       const void *data) {
    struct ipex_value *value = ipex_graph_value(graph, name, dtype, rank, dims);
    ipex_graph_set_data(graph, value, data);
    return value;
}

struct ipex_value *ipex_graph_late_constant(struct ipex_graph *graph, const char *name,
                                            enum ipex_dtype dtype, int32_t rank,
                                            const int64_t *dims,
                                            void (*make)(const void *from, void *to),
                                            const void *from) {
    struct ipex_value *value = ipex_graph_value(graph, name, dtype, rank, dims);
    struct ipex_late *late = ipex_arena_alloc(&graph->arena, sizeof *late);
    *late = (struct ipex_late){.make = make, .from = from, .next = graph->late};
    graph->late = late;
    set_constant(graph, value, NULL, late);
    return value;
}

const uint8_t *ipex_constant_data(const struct ipex_value *value) {
    const struct ipex_constant *constant = value->constant;
    struct ipex_late *late = constant->late;
    if (late && !late->bytes) {
        late->bytes = ipex_arena_alloc(&late->arena, (size_t)constant->size);
        late->make(late->from, late->bytes);
    }
    return late ? late->bytes : constant->data;
}

static void let_go(const struct ipex_value *value) {
    struct ipex_late *late = value && value->constant ? value->constant->late : NULL;
    if (!late)
        return;
    ipex_arena_finish(&late->arena);
    late->bytes = NULL;
}

void ipex_constant_let_go(const struct ipex_value *value) {
    let_go(value);
    if (value && value->blocks)
        let_go(value->blocks->q);
}

static void link_before(struct ipex_graph *graph, struct ipex_node *node,
                        struct ipex_node *before) {
    node->next = before;
    node->prev = before ? before->prev : graph->last;
    *(node->prev ? &node->prev->next : &graph->first) = node;
    *(before ? &before->prev : &graph->last) = node;
}

static void unlink_node(struct ipex_graph *graph, struct ipex_node *node) {
    *(node->prev ? &node->prev->next : &graph->first) = node->next;
    *(node->next ? &node->next->prev : &graph->last) = node->prev;
}

struct ipex_node *ipex_graph_node(struct ipex_graph *graph, enum ipex_kind kind, const char *name,
                                  const char *source_op, struct ipex_node *before) {
    struct ipex_node *node = ipex_arena_alloc(&graph->arena, sizeof *node);
    node->kind = kind;
    node->name = name;
    node->source_op = source_op;
    link_before(graph, node, before);
    graph->nodes++;
    return node;
}

struct ipex_value **ipex_node_operands(struct ipex_node *node) {
    return node->concat_input ? node->concat_input : node->input;
}

void ipex_node_add_input(struct ipex_node *node, struct ipex_value *value) {
    assert(node->concat_input || node->inputs < IPEX_POINTWISE_INPUTS);
    ipex_node_operands(node)[node->inputs++] = value;
    value->uses++;
}

void ipex_node_add_operand(struct ipex_node *node, struct ipex_value *value) {
    if (value)
        ipex_node_add_input(node, value);
    else
        node->input[node->inputs++] = NULL;
}

void ipex_node_set_input(struct ipex_node *node, int32_t index, struct ipex_value *value) {
    struct ipex_value **slot = &ipex_node_operands(node)[index];
    (*slot)->uses--;
    *slot = value;
    value->uses++;
}

void ipex_node_set_output(struct ipex_node *node, struct ipex_value *value) {
    if (node->output && node->output->producer == node)
        node->output->producer = NULL;
    node->output = value;
    value->producer = node;
}

void ipex_node_set_extra(struct ipex_node *node, int32_t index, struct ipex_value *value) {
    node->extra_output[index - 1] = value;
    value->producer = node;
}

static bool has_readers(const struct ipex_node *node) {
    bool read = node->output->uses != 0;
    for (int i = 0; i < 2; i++)
        read |= node->extra_output[i] && node->extra_output[i]->uses;
    return read;
}

void ipex_graph_remove(struct ipex_graph *graph, struct ipex_node *node) {
    for (int32_t i = 0; i < node->inputs; i++)
        if (ipex_node_operands(node)[i])
            ipex_node_operands(node)[i]->uses--;
    if (node->output && node->output->producer == node)
        node->output->producer = NULL;
    unlink_node(graph, node);
    graph->nodes--;
}

struct ipex_value *ipex_graph_axis_constant(struct ipex_graph *graph, const char *name,
                                            int32_t rank, int32_t axis, const double *numbers,
                                            int64_t n) {
    const int64_t dims[IPEX_MAX_RANK] = {n, 1, 1, 1, 1, 1, 1, 1};
    float *data = ipex_arena_array(&graph->arena, (size_t)n, sizeof *data);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)numbers[i];
    return ipex_graph_constant(graph, name, IPEX_DTYPE_f32, rank - axis, dims, data);
}

struct ipex_value *ipex_graph_constant_as(struct ipex_graph *graph, const struct ipex_value *x,
                                          const char *name, int32_t rank, const int64_t *dims) {
    struct ipex_value *ret = ipex_graph_value(graph, name, x->dtype, rank, dims);
    ret->constant = x->constant;
    ret->dequantised = x->dequantised; /* counts elements, whatever their axes */
    return ret;
}

struct ipex_value *ipex_graph_reshaped(struct ipex_graph *graph, struct ipex_value *x, int32_t rank,
                                       const int64_t *dims, struct ipex_node *before) {
    if (x->constant)
        return ipex_graph_constant_as(graph, x, x->name, rank, dims);
    struct ipex_node *node =
        ipex_graph_node(graph, IPEX_KIND_reshape, before->name, "Reshape", before);
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, ipex_graph_value(graph, x->name, x->dtype, rank, dims));
    return node->output;
}

struct ipex_value *ipex_graph_transposed(struct ipex_graph *graph, struct ipex_value *x,
                                         const int32_t *perm, struct ipex_node *before) {
    int64_t dims[IPEX_MAX_RANK];
    struct ipex_node *node =
        ipex_graph_node(graph, IPEX_KIND_transpose, before->name, "Transpose", before);
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[node->u.perm[i] = perm[i]];
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, ipex_graph_value(graph, x->name, x->dtype, x->rank, dims));
    return node->output;
}

void ipex_graph_transfer(struct ipex_graph *from, struct ipex_graph *to, struct ipex_node *node) {
    unlink_node(from, node);
    from->nodes--;
    link_before(to, node, NULL);
    to->nodes++;
}

void ipex_graph_move(struct ipex_graph *graph, struct ipex_node *node, struct ipex_node *before) {
    if (node == before || node->next == before)
        return;
    unlink_node(graph, node);
    link_before(graph, node, before);
}

bool ipex_node_is_before(const struct ipex_node *node, const struct ipex_node *other) {
    while (node && node != other)
        node = node->next;
    return node != NULL;
}

void ipex_graph_replace(struct ipex_graph *graph, struct ipex_value *from, struct ipex_value *to) {
    for (struct ipex_node *node = graph->first; node; node = node->next)
        for (int32_t i = 0; i < node->inputs; i++)
            if (ipex_node_operands(node)[i] == from)
                ipex_node_set_input(node, i, to);
    for (size_t i = 0; i < graph->outputs; i++)
        if (graph->output[i] == from) {
            graph->output[i] = to;
            from->uses--;
            to->uses++;
            to->is_output = true;
            from->is_output = false;
            to->name = from->name; /* the port's */
        }
}

struct ipex_node *ipex_value_next_reader(struct ipex_node *node, const struct ipex_value *value) {
    for (; node; node = node->next)
        for (int32_t i = 0; i < node->inputs; i++)
            if (ipex_node_operands(node)[i] == value)
                return node;
    return NULL;
}

struct ipex_node *ipex_value_only_reader(const struct ipex_graph *graph,
                                         const struct ipex_value *value) {
    if (value->uses != 1 || value->is_output)
        return NULL;
    return ipex_value_next_reader(value->producer ? value->producer->next : graph->first, value);
}

void ipex_graph_prune(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->last, *prev; node; node = prev) {
        prev = node->prev;
        if (!has_readers(node))
            ipex_graph_remove(graph, node);
    }
}

/* Bytes: half of what the format allows where it allows least, for names get suffixes too. */
#define JOINED_MOST 2048

/* Ends what is too long to name all. */
static const char and_more[] = "+...";

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && !strcmp(text + length - end_length, end);
}

/* Where to cut a text that is too long: behind a whole name, or else behind a whole character. */
static size_t cut_at(const char *text) {
    const size_t most = JOINED_MOST - strlen(and_more);
    size_t at = most;
    while (at && text[at] != '+')
        at--;
    if (!at)
        for (at = most; at && ((unsigned char)text[at] & 0xc0) == 0x80;)
            at--;
    return at;
}

const char *ipex_graph_join(struct ipex_graph *graph, const char *a, const char *b) {
    const size_t a_length = strlen(a), b_length = strlen(b);
    if (ends_with(a, and_more) ||
        (ends_with(a, b) && (a_length == b_length || a[a_length - b_length - 1] == '+')))
        return a; /* b is left out, or both are parts of one source node */
    char *text = ipex_arena_printf(&graph->arena, "%s+%s", a, b);
    if (strlen(text) > JOINED_MOST)
        strcpy(text + cut_at(text), and_more);
    return text;
}

/* Outputs of each of several groups; 0: there is one, or the convolution is transposed. */
static int64_t outputs_of_group(const struct ipex_node *node) {
    const int64_t groups = node->u.conv.groups, outputs = node->input[1]->dims[0];
    const bool several = !node->u.conv.transposed && groups > 1 && outputs % groups == 0;
    return several ? outputs / groups : 0;
}

bool ipex_node_has_sets(const struct ipex_node *node) {
    const struct ipex_value *w = node->input[1];
    return ipex_has_sets(w->dims[1], outputs_of_group(node), w->dims[0]);
}

bool ipex_node_is_depthwise(const struct ipex_node *node) {
    return ipex_is_narrow(node->input[1]->dims[1], outputs_of_group(node)) ||
           (node->integer && ipex_node_has_sets(node));
}

int64_t ipex_value_numel(const struct ipex_value *value) {
    int64_t n = 1;
    for (int32_t i = 0; i < value->rank; i++)
        n *= value->dims[i];
    return n;
}

int64_t ipex_value_size(struct ipex_graph *graph, const struct ipex_value *value) {
    int64_t n = 1;
    for (int32_t i = 0; i < value->rank; i++)
        n = ipex_dim_mul(&graph->dims, n, value->dims[i]);
    return n;
}

double ipex_constant_f64(const struct ipex_value *value, int64_t i) {
    const uint8_t *p = ipex_constant_data(value) + (uint64_t)i * ipex_dtype_size(value->dtype);
    assert((uint64_t)i * ipex_dtype_size(value->dtype) < value->constant->size);
    switch (value->dtype) {
    case IPEX_DTYPE_f32: {
        float v;
        memcpy(&v, p, 4);
        return (double)v;
    }
    case IPEX_DTYPE_f64: {
        double v;
        memcpy(&v, p, 8);
        return v;
    }
    case IPEX_DTYPE_bf16: {
        uint16_t h;
        memcpy(&h, p, 2);
        uint32_t bits = (uint32_t)h << 16;
        float v;
        memcpy(&v, &bits, 4);
        return (double)v;
    }
    case IPEX_DTYPE_f16: {
        uint16_t h;
        memcpy(&h, p, 2);
        return (double)ipex_float_of_f16(h);
    }
    default:
        return (double)ipex_constant_i64(value, i);
    }
}

int64_t ipex_constant_i64(const struct ipex_value *value, int64_t i) {
    const uint8_t *p = ipex_constant_data(value) + (uint64_t)i * ipex_dtype_size(value->dtype);
    assert((uint64_t)i * ipex_dtype_size(value->dtype) < value->constant->size);
    switch (value->dtype) {
    case IPEX_DTYPE_i64: {
        int64_t v;
        memcpy(&v, p, 8);
        return v;
    }
    case IPEX_DTYPE_i32: {
        int32_t v;
        memcpy(&v, p, 4);
        return v;
    }
    case IPEX_DTYPE_i8:
        return (int8_t)*p;
    case IPEX_DTYPE_u8:
    case IPEX_DTYPE_bool:
        return *p;
    default: {
        double v = ipex_constant_f64(value, i);
        return v >= -0x1p62 && v <= 0x1p62 ? (int64_t)v : 0;
    }
    }
}
