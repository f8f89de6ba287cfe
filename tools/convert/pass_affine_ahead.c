/* SPDX-License-Identifier: Apache-2.0 */
/* A scale and shift that no layer before it can take, into the layers that read it, also through
 * reshapes and mirrored borders: W (s x + t) + b = (W s) x + (W t + b). Zeros of padding are not
 * shifted, so a shift needs windows that never leave the input. All in f64, as behind a layer.
 *
 * What a shift takes away before the product must not be much larger than what is left: W x rounds
 * by the size of x. Only BatchNorm says how its x lies, and only f32 has bits to spare.
 *
 * Numbers in blocks would become floats by it: their layers take none. */
#include "tools/convert/affine.h"

#include <math.h>

#include "tools/convert/match.h"
#include "tools/convert/weight_blocks.h"

#define READERS_MOST 16

/* A layer that reads the value, itself or through nodes that leave the channels alone. */
struct reader {
    struct ipex_node *layer;
    struct ipex_node *reads; /* the layer, or the first of those */
    int64_t inner;           /* so many columns of a linear layer in a row are of one channel */
};

struct readers {
    struct reader reader[READERS_MOST];
    int32_t count;
};

static bool reads_outside(const struct ipex_conv *conv) {
    return conv->transposed || ipex_conv_is_padded(conv);
}

static bool is_finite(const double *v, int64_t n) {
    for (int64_t i = 0; v && i < n; i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

/* Whether axis 1 of y is the layer's input channel, or the slowest part of it after a reshape to
 * [rows, K]. */
static bool fits_reshaped(const struct ipex_affine *affine, const struct ipex_value *y,
                          const struct ipex_value *x, struct reader *reader, int64_t columns) {
    if (affine->axis > 1 || affine->axis == 0 || y->rank < 2 || y->dims[0] != x->dims[0])
        return false;
    if (reader->layer->kind == IPEX_KIND_conv)
        return y->dims[1] == x->dims[1] && (affine->axis == -1 || affine->n == columns);
    reader->inner = affine->axis == -1 ? 1 : columns / affine->n;
    return x->rank == 2 && (affine->axis == -1 || columns % affine->n == 0);
}

static bool fits(const struct ipex_affine *affine, struct reader *reader) {
    const struct ipex_node *layer = reader->layer;
    const struct ipex_value *x = layer->input[0], *w = layer->input[1];
    const bool conv = layer->kind == IPEX_KIND_conv;
    const int64_t columns = !conv                      ? w->dims[layer->weight_kn ? 0 : 1]
                            : layer->u.conv.transposed ? w->dims[0]
                                                       : w->dims[1] * layer->u.conv.groups;
    if (reader->reads != layer)
        return fits_reshaped(affine, reader->reads->input[0], x, reader, columns);
    return affine->axis == -1 || (affine->axis == (conv ? 1 : x->rank - 1) && affine->n == columns);
}

static bool can_take(const struct ipex_graph *graph, const struct ipex_affine *affine,
                     struct reader *reader) {
    const struct ipex_node *layer = reader->layer;
    if ((layer->kind != IPEX_KIND_conv && layer->kind != IPEX_KIND_linear) || layer->integer)
        return false;
    const struct ipex_value *w = layer->input[1];
    if (!w->constant || w->uses != 1 || layer->fold.parts || layer->fold.k_order ||
        ipex_keeps_blocks(graph, layer))
        return false;
    if (affine->shift && layer->kind == IPEX_KIND_conv && reads_outside(&layer->u.conv))
        return false;
    return fits(affine, reader);
}

/* A reshape, or a padding that repeats what is there: both do the same to every channel, where
 * these stay as they are. */
static bool leaves_values(const struct ipex_node *node) {
    if (node->kind == IPEX_KIND_reshape)
        return true;
    return node->kind == IPEX_KIND_pad && node->u.pad.mode != IPEX_PAD_constant &&
           !node->u.pad.before[0] && !node->u.pad.after[0] && !node->u.pad.before[1] &&
           !node->u.pad.after[1];
}

static bool same_channels(const struct ipex_value *a, const struct ipex_value *b) {
    return a->rank > 1 && b->rank > 1 && a->dims[0] == b->dims[0] && a->dims[1] == b->dims[1];
}

/* What reads y's values behind such nodes, from `at` on, that alone read what is before them. */
static struct ipex_node *layer_behind(const struct ipex_graph *graph, const struct ipex_value *y,
                                      struct ipex_node *at) {
    while (at && leaves_values(at)) {
        if (!same_channels(y, at->input[0]))
            return NULL;
        const struct ipex_value *between = at->output;
        at = ipex_value_only_reader(graph, between);
        if (at && ipex_node_operands(at)[0] != between)
            return NULL;
    }
    return at;
}

/* All that reads y; false where one of them cannot take the scale and shift. */
static bool find_readers(const struct ipex_graph *graph, const struct ipex_affine *affine,
                         const struct ipex_node *node, struct readers *readers) {
    const struct ipex_value *y = node->output;
    readers->count = 0;
    for (struct ipex_node *at = node->next; at && readers->count < y->uses; at = at->next) {
        if (!at->inputs || ipex_node_operands(at)[0] != y)
            continue;
        struct reader reader = {layer_behind(graph, y, at), at, 1};
        if (readers->count == READERS_MOST || !reader.layer || !can_take(graph, affine, &reader))
            return false;
        readers->reader[readers->count++] = reader;
    }
    return readers->count && readers->count == y->uses; /* no other operand, no graph output */
}

/* Which channel of the input element `at` of the weight multiplies, and for which output. */
static int64_t channel_of(const struct reader *reader, int64_t at, int64_t *ret_output) {
    const struct ipex_node *layer = reader->layer;
    const int64_t *dims = layer->input[1]->dims;
    if (layer->kind == IPEX_KIND_linear) {
        const int64_t row = at / dims[1], column = at % dims[1];
        *ret_output = layer->weight_kn ? column : row;
        return (layer->weight_kn ? row : column) / reader->inner;
    }
    const int64_t first = at / (dims[1] * dims[2] * dims[3]), second = at / (dims[2] * dims[3]);
    *ret_output = first;
    return layer->u.conv.transposed
               ? first
               : first / (dims[0] / layer->u.conv.groups) * dims[1] + second % dims[1];
}

/* One walk over the layer's weight: scaled, it becomes another constant; shifted by, it adds to the
 * bias. */
static void take(struct ipex_graph *graph, const struct ipex_affine *affine,
                 const struct reader *reader) {
    const struct ipex_value *w = reader->layer->input[1];
    struct ipex_fold *fold = &reader->layer->fold;
    const int64_t count = ipex_value_numel(w);
    double *weight = NULL, *bias = NULL;
    if (affine->scale)
        weight = ipex_arena_array(&graph->arena, (size_t)count, sizeof *weight);
    if (affine->shift)
        bias = ipex_arena_array(&graph->arena, (size_t)fold->n, sizeof *bias);
    for (int64_t i = 0; bias && i < fold->n; i++)
        bias[i] = fold->bias ? fold->bias[i] : 0;
    for (int64_t at = 0; at < count; at++) {
        int64_t output;
        const int64_t channel = channel_of(reader, at, &output);
        const int64_t of = affine->axis == -1 ? 0 : channel;
        const double element = ipex_constant_f64(w, at);
        if (bias)
            bias[output] += (fold->scale ? fold->scale[output] : 1) * element * affine->shift[of];
        if (weight)
            weight[at] = element * affine->scale[of];
    }
    if (bias)
        fold->bias = bias;
    if (weight)
        ipex_node_set_input(
            reader->layer, 1,
            ipex_graph_constant(graph, w->name, IPEX_DTYPE_f64, w->rank, w->dims, weight));
}

static bool shifts_safely(const struct ipex_graph *graph, const struct ipex_node *node) {
    return node->kind == IPEX_KIND_affine && node->u.affine.centred &&
           graph->precision == IPEX_PRECISION_f32;
}

bool ipex_affine_ahead(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_affine affine;
    struct ipex_value *x;
    struct readers readers;
    if (!ipex_affine_of(graph, node, &affine, &x) || affine.axis == -2 ||
        (affine.shift && !shifts_safely(graph, node)) || !ipex_same_shape(x, node->output) ||
        !is_finite(affine.scale, affine.n) || !is_finite(affine.shift, affine.n) ||
        !find_readers(graph, &affine, node, &readers))
        return false;
    const char *names = "";
    for (int32_t i = 0; i < readers.count; i++) {
        const struct reader *reader = &readers.reader[i];
        names = ipex_arena_printf(&graph->arena, "%s%s%s", names, *names ? ", " : "",
                                  reader->layer->name);
        take(graph, &affine, reader);
        reader->layer->name = ipex_graph_join(graph, node->name, reader->layer->name);
        ipex_node_set_input(reader->reads, 0, x);
    }
    ipex_ledger_add(
        graph->ledger, "affine", node->name, IPEX_REASON_applied,
        ipex_arena_printf(&graph->arena, "%s folded ahead into %s", node->source_op, names));
    ipex_graph_remove(graph, node);
    return true;
}
