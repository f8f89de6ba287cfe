/* SPDX-License-Identifier: Apache-2.0 */
/* Describing a small model, and writing it as an .ipex file. */
#include "tests/runtime/net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/check.h"
#include "format/fb_build.h"
#include "format/model_fb_build.h"
#include "format/sha256.h"

float net_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(int32_t)(*seed >> 8) / (float)(1 << 23) - 1.0f;
}

/* X(dtype, C type) */
#define NET_TYPES(X)                                                                               \
    X(f32, float)                                                                                  \
    X(i64, int64_t)                                                                                \
    X(i32, int32_t)                                                                                \
    X(i8, int8_t)                                                                                  \
    X(u8, uint8_t)                                                                                 \
    X(bool, uint8_t)

void net_store(enum ipex_dtype dtype, void *to, float value) {
#define STORE(name, type)                                                                          \
    if (dtype == IPEX_DTYPE_##name)                                                                \
        memcpy(to, &(type){(type)value}, sizeof(type));
    NET_TYPES(STORE)
#undef STORE
    if (dtype == IPEX_DTYPE_bf16)
        memcpy(to, (char *)&value + 2, 2); /* the upper half */
}

float net_load(enum ipex_dtype dtype, const void *from) {
    float ret = 0;
#define LOAD(name, type)                                                                           \
    if (dtype == IPEX_DTYPE_##name) {                                                              \
        type value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        ret = (float)value;                                                                        \
    }
    NET_TYPES(LOAD)
#undef LOAD
    if (dtype == IPEX_DTYPE_bf16)
        memcpy((char *)&ret + 2, from, 2);
    return ret;
}

float net_to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float net_to_byte(float value) {
    const float whole = rintf(value);
    return whole >= 255.0f ? 255.0f : whole > 0.0f ? whole : 0.0f;
}

void net_init(struct net *net) {
    memset(net, 0, sizeof *net);
    net->seed = 1;
}

void net_free(struct net *net) {
    for (int i = 0; i < net->tensors; i++)
        free(net->tensor[i].value);
    for (int i = 0; i < net->weights; i++)
        free(net->weight[i].bytes);
}

int64_t net_numel(const struct net_tensor *tensor) {
    int64_t numel = 1;
    for (int d = 0; d < tensor->rank; d++)
        numel *= tensor->dims[d];
    return numel;
}

/* ---- tensors ---- */

int net_typed(struct net *net, enum ipex_dtype dtype, int rank, const int64_t *dims) {
    struct net_tensor *t = &net->tensor[net->tensors];
    t->dtype = dtype;
    snprintf(t->name, sizeof t->name, "t%d", net->tensors);
    t->rank = rank;
    memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
    t->weight = t->view_of = t->view_axis = -1;
    t->value = calloc((size_t)net_numel(t), sizeof(float));
    return net->tensors++;
}

int net_tensor(struct net *net, int rank, const int64_t *dims) {
    return net_typed(net, IPEX_DTYPE_f32, rank, dims);
}

int net_halo(struct net *net, int rank, const int64_t *dims, int halo) {
    const int t = net_tensor(net, rank, dims);
    for (int side = 0; side < 4; side++)
        net->tensor[t].halo[side] = (uint16_t)halo;
    return t;
}

int net_bytes(struct net *net, int rank, const int64_t *dims, int halo, uint8_t value) {
    const int t = net_typed(net, IPEX_DTYPE_u8, rank, dims);
    for (int side = 0; side < 4; side++)
        net->tensor[t].halo[side] = (uint16_t)halo;
    net->tensor[t].halo_value = value;
    return t;
}

int net_typed_input(struct net *net, enum ipex_dtype dtype, int rank, const int64_t *dims) {
    const int t = net_typed(net, dtype, rank, dims);
    net->input[net->inputs++] = t;
    return t;
}

int net_input(struct net *net, int rank, const int64_t *dims) {
    return net_typed_input(net, IPEX_DTYPE_f32, rank, dims);
}

void net_output(struct net *net, int tensor) {
    net->output[net->outputs++] = tensor;
}

void net_randomize(struct net *net, struct net_tensor *t) {
    for (int64_t i = 0; i < net_numel(t); i++) {
        const float value = net_random(&net->seed);
        t->value[i] = t->dtype == IPEX_DTYPE_f32    ? value
                      : t->dtype == IPEX_DTYPE_bf16 ? net_to_bf16(value)
                      : t->dtype == IPEX_DTYPE_bool ? (float)(value > 0)
                      : t->dtype == IPEX_DTYPE_u8   ? floorf(128 + 128 * value)
                      : t->dtype == IPEX_DTYPE_i8   ? floorf(128 * value)
                                                    : (float)(int)(100 * value);
    }
}

/* Gives a constant its bytes in the file: zeros, to be filled by the caller. */
static void *add_weight(struct net *net, int tensor, enum ipex_layout layout) {
    struct net_tensor *t = &net->tensor[tensor];
    struct net_weight *w = &net->weight[net->weights];
    w->dtype = t->dtype;
    w->layout = layout;
    w->rank = t->rank;
    memcpy(w->dims, t->dims, sizeof w->dims);
    if (!ipex_weight_bytes(w->dtype, layout, w->dims, (unsigned)w->rank, &w->size))
        abort();
    w->bytes = calloc(1, (size_t)w->size);
    t->weight = net->weights++;
    return w->bytes;
}

int net_typed_constant(struct net *net, enum ipex_dtype dtype, int rank, const int64_t *dims) {
    const int t = net_typed(net, dtype, rank, dims);
    net_randomize(net, &net->tensor[t]);
    uint8_t *bytes = add_weight(net, t, IPEX_LAYOUT_plain);
    for (int64_t i = 0; i < net_numel(&net->tensor[t]); i++)
        net_store(dtype, bytes + i * ipex_dtype_size(dtype), net->tensor[t].value[i]);
    return t;
}

int net_constant(struct net *net, int rank, const int64_t *dims) {
    return net_typed_constant(net, IPEX_DTYPE_f32, rank, dims);
}

/* Layout channels. */
static int typed_channels(struct net *net, enum ipex_dtype dtype, int rank, const int64_t *dims) {
    const int t = net_typed(net, dtype, rank, dims);
    const int64_t channels = dims[rank - 1], pitch = ipex_channels_pitch(channels);
    net_randomize(net, &net->tensor[t]);
    uint8_t *bytes = add_weight(net, t, IPEX_LAYOUT_channels);
    for (int64_t i = 0; i < net_numel(&net->tensor[t]); i++)
        net_store(dtype, bytes + (i / channels * pitch + i % channels) * ipex_dtype_size(dtype),
                  net->tensor[t].value[i]);
    return t;
}

/* The same of i8 and groups of 4, 8 or 16 inputs, whose bytes are sets of 16 channels: value stays
 * [KH][KW * inputs][M]. */
static int sets(struct net *net, int64_t inputs, int rank, const int64_t *dims) {
    const int t = net_typed(net, IPEX_DTYPE_i8, rank, dims);
    const int64_t m = dims[2], tap = inputs * ipex_channels_pitch(m);
    net_randomize(net, &net->tensor[t]);
    uint8_t *bytes = add_weight(net, t, IPEX_LAYOUT_channels);
    for (int64_t row = 0; row < dims[0] * dims[1]; row += inputs, bytes += tap)
        for (int64_t set = 0; set * 16 < m; set++)
            for (int64_t at = 0; at < 16 * inputs; at++) { /* lanes of a word in rows of 64 */
                const int64_t first = set * 16 + 16 <= m ? set * 16 : m - 16, lane = at % 64 / 4;
                const int64_t words = inputs / 4, group = lane % 4 / words;
                const int64_t output = first + group * inputs + lane / 4 * words + at / 64;
                const int64_t input = lane % 4 % words * 4 + at % 4;
                net_store(IPEX_DTYPE_i8, bytes + set * 16 * inputs + at,
                          net->tensor[t].value[(row + input) * m + output]);
            }
    return t;
}

static int channels_constant(struct net *net, int rank, const int64_t *dims) {
    return typed_channels(net, IPEX_DTYPE_f32, rank, dims);
}

/* Tiles: dims are [G][segments][N][taps][C] (or [N][K]); value has the same order. */
int net_tiles(struct net *net, enum ipex_dtype dtype, int rank, const int64_t *dims) {
    const int t = net_typed(net, dtype, rank, dims);
    const int64_t size = ipex_dtype_size(dtype), per_row = ipex_tile_k_per_row(dtype);
    struct ipex_tiles tiles;
    if (!ipex_tiles_of(dtype, dims, (unsigned)rank, &tiles))
        abort();
    net_randomize(net, &net->tensor[t]);
    uint8_t *bytes = add_weight(net, t, IPEX_LAYOUT_tiles);
    const float *value = net->tensor[t].value;
    for (int64_t s = 0; s < tiles.groups * tiles.segments; s++)
        for (int64_t n = 0; n < tiles.n; n++)
            for (int64_t k = 0; k < tiles.k; k++) {
                const int64_t panel = s * tiles.panels + n / 16;
                const int64_t row = panel * tiles.k_tiles * 16 + k / per_row;
                net_store(dtype, bytes + ((row * 16 + n % 16) * per_row + k % per_row) * size,
                          value[(s * tiles.n + n) * tiles.k + k]);
            }
    return t;
}

int net_reshape(struct net *net, int of, int rank, const int64_t *dims) {
    const int t = net_typed(net, net->tensor[of].dtype, rank, dims);
    net->tensor[t].view_of = of;
    return t;
}

int net_slice(struct net *net, int of, int axis, int64_t start, int64_t length) {
    int64_t dims[8];
    memcpy(dims, net->tensor[of].dims, sizeof dims);
    dims[axis] = length;
    const int t = net_typed(net, net->tensor[of].dtype, net->tensor[of].rank, dims);
    net->tensor[t].view_of = of;
    net->tensor[t].view_axis = axis;
    net->tensor[t].view_start = start;
    memcpy(net->tensor[t].halo, net->tensor[of].halo, sizeof net->tensor[t].halo);
    net->tensor[t].halo_value = net->tensor[of].halo_value;
    return t;
}

/* ---- nodes ---- */

void net_node(struct net *net, enum ipex_op op, int y, int n_inputs, const int *inputs, int n_ints,
              const int32_t *ints, int n_floats, const float *floats) {
    struct net_node *node = &net->node[net->nodes++];
    node->op = op;
    node->output[0] = y;
    node->n_outputs = 1;
    node->n_inputs = n_inputs;
    node->n_ints = n_ints;
    node->n_floats = n_floats;
    memcpy(node->inputs, inputs, (size_t)n_inputs * sizeof *inputs);
    for (int i = 0; i < n_ints; i++)
        node->ints[i] = ints[i];
    for (int i = 0; i < n_floats; i++)
        node->floats[i] = floats[i];
}

void net_also(struct net *net, int y) {
    struct net_node *node = &net->node[net->nodes - 1];
    node->output[node->n_outputs++] = y;
}

static void windowed(struct net *net, enum ipex_op op, int y, int n_inputs, const int *inputs,
                     struct net_window w, int groups, int last) {
    const int32_t ints[] = {w.kernel, w.kernel,   w.stride,   w.stride, w.pad, w.pad,    w.pad,
                            w.pad,    w.dilation, w.dilation, groups,   last,  w.columns};
    const float floats[] = {0.1f, 0.5f};
    const bool pool = op == IPEX_OP_max_pool || op == IPEX_OP_avg_pool;
    net_node(net, op, y, n_inputs, inputs, op == IPEX_OP_conv ? 13 : 12, ints, pool ? 0 : 2,
             floats);
}

static enum ipex_dtype weight_dtype(const struct net *net, int x) {
    if (net->tensor[x].dtype == IPEX_DTYPE_u8)
        return IPEX_DTYPE_i8;
    return net->bf16_weights ? IPEX_DTYPE_bf16 : net->tensor[x].dtype;
}

/* What the last node has where x is u8: about 1 / (128 * 74 * sqrt(K)), the products of random
 * bytes; 64 times that where they are rounded next. */
static void add_scales(struct net *net, int64_t channels) {
    struct net_node *node = &net->node[net->nodes - 1];
    if (net->tensor[node->inputs[0]].dtype != IPEX_DTYPE_u8)
        return;
    const struct net_tensor *w = &net->tensor[node->inputs[1]];
    const double k = (double)(net_numel(w) / channels);
    const int scale = channels_constant(net, NET_DIMS(channels));
    float *bytes = net->weight[net->tensor[scale].weight].bytes;
    for (int64_t i = 0; i < channels; i++)
        bytes[i] = net->tensor[scale].value[i] *=
            (float)((net->middles > 0 ? 64 : 1) / (9500 * sqrt(k)));
    node->inputs[node->n_inputs++] = scale;
    memcpy(&node->floats[node->n_floats], net->scales, sizeof net->scales);
    node->n_floats += IPEX_SCALES;
    if (net->middles == 0)
        return;
    const int middle = channels_constant(net, NET_DIMS(net->middles, 2, channels));
    const struct net_tensor *t = &net->tensor[middle];
    bytes = net->weight[t->weight].bytes;
    for (int64_t row = 0; row < 2 * net->middles; row++)
        for (int64_t i = 0; i < channels; i++) {
            const bool last = row / 2 == net->middles - 1;
            const float unit = last ? net->unit : 1, shift = last ? net->shift : 0;
            float *v = &t->value[row * channels + i];
            *v = row % 2 ? shift + 3 * unit * *v : unit * (1 + 0.2f * *v);
            bytes[row * ipex_channels_pitch(channels) + i] = *v;
        }
    node->inputs[node->n_inputs++] = middle;
}

int net_round(struct net *net, int x, int halo) {
    const int t = net_typed(net, IPEX_DTYPE_bf16, net->tensor[x].rank, net->tensor[x].dims);
    for (int side = 0; side < 4; side++)
        net->tensor[t].halo[side] = (uint16_t)halo;
    net_node(net, IPEX_OP_cast, t, NET_IN(x), 0, NULL, 0, NULL);
    if (net->arithmetic == IPEX_ARITHMETIC_AUTO)
        net->arithmetic = IPEX_ARITHMETIC_bf16_dp;
    return t;
}

void net_conv(struct net *net, int x, int y, struct net_window w, bool bias, int residual,
              enum ipex_act act) {
    const int64_t c = net->tensor[x].dims[3] / w.groups, m = net->tensor[y].dims[3];
    const bool rows = w.groups == 1 && w.dilation == 1;
    const int weight = net_tiles(net, weight_dtype(net, x),
                                 NET_DIMS(w.groups, rows ? w.kernel : w.kernel * w.kernel,
                                          m / w.groups, rows ? w.kernel : 1, c));
    const int b = bias ? channels_constant(net, NET_DIMS(m)) : -1;
    windowed(net, IPEX_OP_conv, y, NET_IN(x, weight, b, residual), w, w.groups, act);
    add_scales(net, m);
}

void net_conv_transpose(struct net *net, int x, int y, struct net_window w, int out_pad, bool bias,
                        enum ipex_act act) {
    const int64_t c = net->tensor[x].dims[3] / w.groups, m = net->tensor[y].dims[3];
    const int weight = net_tiles(net, weight_dtype(net, x),
                                 NET_DIMS(w.groups, w.kernel * w.kernel, m / w.groups, 1, c));
    const int b = bias ? channels_constant(net, NET_DIMS(m)) : -1;
    net_node(net, IPEX_OP_conv_transpose, y, NET_IN(x, weight, b),
             NET_INTS_(w.kernel, w.kernel, w.stride, w.stride, w.pad, w.pad, w.pad, w.pad,
                       w.dilation, w.dilation, w.groups, act, out_pad, out_pad),
             NET_FLOATS(0.1f, 0.5f));
}

void net_winograd(struct net *net, int tile, int x, int y, int pad, int dilation, bool bias,
                  int residual, enum ipex_act act) {
    const int64_t c = net->tensor[x].dims[3], m = net->tensor[y].dims[3];
    const struct net_window w = {.kernel = 3, .stride = 1, .pad = pad, .dilation = dilation};
    const int side = tile + 2;
    const int weight = net_tiles(net, IPEX_DTYPE_f32, NET_DIMS(1, side * side, m, 1, c));
    const int b = bias ? channels_constant(net, NET_DIMS(m)) : -1;
    windowed(net, IPEX_OP_winograd, y, NET_IN(x, weight, b, residual), w, 1, act);
}

void net_winograd_of(struct net *net, int kernel_h, int kernel_w, int x, int y, int dilation,
                     bool bias, int residual, enum ipex_act act) {
    const int64_t c = net->tensor[x].dims[3], m = net->tensor[y].dims[3];
    const int points = kernel_h == kernel_w ? 36 : 6;
    const int high = (kernel_h - 1) * dilation, wide = (kernel_w - 1) * dilation;
    const int weight = net_tiles(net, IPEX_DTYPE_f32, NET_DIMS(1, points, m, 1, c));
    const int b = bias ? channels_constant(net, NET_DIMS(m)) : -1;
    net_node(net, IPEX_OP_winograd, y, NET_IN(x, weight, b, residual),
             NET_INTS_(kernel_h, kernel_w, 1, 1, high / 2, wide / 2, high - high / 2,
                       wide - wide / 2, dilation, dilation, 1, act),
             NET_FLOATS(0.1f, 0.5f));
}

void net_upsampled_conv(struct net *net, int x, int y, bool bias, int residual, enum ipex_act act) {
    const struct net_tensor *from = &net->tensor[x], *to = &net->tensor[y];
    const int32_t factor = (int32_t)(to->dims[1] / from->dims[1]);
    const int64_t c = from->dims[3], m = to->dims[3];
    const int weight = net_tiles(net, IPEX_DTYPE_f32, NET_DIMS(1, IPEX_UPSAMPLED_POINTS, m, 1, c));
    const int b = bias ? channels_constant(net, NET_DIMS(m)) : -1;
    net_node(net, IPEX_OP_upsampled_conv, y, NET_IN(x, weight, b, residual), NET_INTS_(factor, act),
             NET_FLOATS(0.1f, 0.5f));
}

void net_depthwise_plus(struct net *net, int x, int y, struct net_window w, bool bias, int residual,
                        enum ipex_act act) {
    const int64_t c = net->tensor[x].dims[3], m = net->tensor[y].dims[3];
    const int groups = w.groups > 1 ? w.groups : (int)c;
    const bool bytes = net->tensor[x].dtype == IPEX_DTYPE_u8;
    const int64_t inputs = c / groups;
    const int weight = bytes && inputs > 1
                           ? sets(net, inputs, NET_DIMS(w.kernel, w.kernel * inputs, m))
                           : typed_channels(net, bytes ? IPEX_DTYPE_i8 : IPEX_DTYPE_f32,
                                            NET_DIMS(w.kernel, w.kernel * inputs, m));
    const int b = bias ? channels_constant(net, NET_DIMS(m)) : -1;
    windowed(net, IPEX_OP_depthwise, y, NET_IN(x, weight, b, residual), w, groups, act);
    add_scales(net, m);
}

void net_depthwise(struct net *net, int x, int y, struct net_window w, bool bias,
                   enum ipex_act act) {
    net_depthwise_plus(net, x, y, w, bias, -1, act);
}

void net_linear(struct net *net, int x, int y, bool bias, int residual, enum ipex_act act) {
    const struct net_tensor *tx = &net->tensor[x], *ty = &net->tensor[y];
    const int64_t n = ty->dims[ty->rank - 1];
    const int weight = net_tiles(net, weight_dtype(net, x), NET_DIMS(n, tx->dims[tx->rank - 1]));
    const int b = bias ? channels_constant(net, NET_DIMS(n)) : -1;
    net_node(net, IPEX_OP_linear, y, NET_IN(x, weight, b, residual), NET_INTS_(act),
             NET_FLOATS(0.1f, 0.5f));
    add_scales(net, n);
}

void net_pool(struct net *net, enum ipex_op op, int x, int y, struct net_window w, bool count_pad) {
    windowed(net, op, y, NET_IN(x), w, 0, count_pad);
}

/* ---- open dims ---- */

int64_t net_expr(struct net *net, enum ipex_expr_op op, int64_t a, int64_t b) {
    net->expr[net->exprs] = (struct ipex_fb_expr){.op = op, .a = a, .b = b};
    return -1 - net->exprs++;
}

int64_t net_symbol(struct net *net, const char *name, int64_t lo, int64_t hi, int64_t step) {
    struct net_symbol *s = &net->symbol[net->symbols];
    *s = (struct net_symbol){.lo = lo, .hi = hi, .step = step};
    snprintf(s->name, sizeof s->name, "%s", name);
    return net_expr(net, IPEX_EXPR_symbol, net->symbols++, 0);
}

void net_dim(struct net *net, int tensor, int axis, int64_t code) {
    net->tensor[tensor].dim_code[axis] = code;
}

void net_start(struct net *net, int tensor, int64_t code) {
    net->tensor[tensor].start_code = code;
}

void net_int(struct net *net, int place, int64_t code) {
    struct net_node *node = &net->node[net->nodes - 1];
    node->dynamic[node->n_dynamic++] = place;
    node->dynamic[node->n_dynamic++] = (int32_t)(-1 - code);
}

/* ---- file ---- */

/* Dims as they go into the file. */
static const int64_t *codes(const struct net_tensor *t, int64_t *room) {
    for (int d = 0; d < t->rank; d++)
        room[d] = t->dim_code[d] < 0 ? t->dim_code[d] : t->dims[d];
    return room;
}

static uint32_t put_tensor(struct ipex_fb_builder *b, const struct net_tensor *t) {
    const uint32_t name = ipex_fb_string(b, t->name);
    int64_t room[8];
    const uint32_t dims = ipex_fb_tensor_make_dims(b, codes(t, room), (uint32_t)t->rank);
    const uint32_t halo = t->halo[0] != 0 ? ipex_fb_tensor_make_halo(b, t->halo, 4) : 0;
    ipex_fb_start(b);
    ipex_fb_tensor_put_name(b, name);
    ipex_fb_tensor_put_dtype(b, (uint8_t)t->dtype);
    ipex_fb_tensor_put_dims(b, dims);
    ipex_fb_tensor_put_halo(b, halo);
    ipex_fb_tensor_put_halo_value(b, t->halo_value);
    ipex_fb_tensor_put_weight(b, t->weight);
    ipex_fb_tensor_put_view_of(b, t->view_of);
    ipex_fb_tensor_put_view_axis(b, t->view_axis);
    ipex_fb_tensor_put_view_start(b, t->start_code < 0 ? t->start_code : t->view_start);
    ipex_fb_tensor_put_room(b, t->room);
    return ipex_fb_end(b);
}

static uint32_t put_node(struct ipex_fb_builder *b, const struct net_node *n, int index) {
    char text[32];
    snprintf(text, sizeof text, "node%d", index);
    const uint32_t name = ipex_fb_string(b, text);
    const uint32_t inputs = ipex_fb_node_make_inputs(b, n->inputs, (uint32_t)n->n_inputs);
    const uint32_t outputs = ipex_fb_node_make_outputs(b, n->output, (uint32_t)n->n_outputs);
    const uint32_t ints = ipex_fb_node_make_ints(b, n->ints, (uint32_t)n->n_ints);
    const uint32_t floats = ipex_fb_node_make_floats(b, n->floats, (uint32_t)n->n_floats);
    const uint32_t dynamic = ipex_fb_node_make_dynamic(b, n->dynamic, (uint32_t)n->n_dynamic);
    ipex_fb_start(b);
    ipex_fb_node_put_op(b, (uint16_t)n->op);
    ipex_fb_node_put_name(b, name);
    ipex_fb_node_put_inputs(b, inputs);
    ipex_fb_node_put_outputs(b, outputs);
    ipex_fb_node_put_ints(b, ints);
    ipex_fb_node_put_floats(b, floats);
    ipex_fb_node_put_dynamic(b, dynamic);
    ipex_fb_node_put_band(b, n->band);
    return ipex_fb_end(b);
}

static uint32_t put_port(struct ipex_fb_builder *b, const struct net *net, int tensor) {
    const struct net_tensor *t = &net->tensor[tensor];
    const uint32_t name =
        ipex_fb_string(b, net->port[tensor] != NULL ? net->port[tensor] : t->name);
    int64_t room[8];
    const uint32_t dims = ipex_fb_port_make_dims(b, codes(t, room), (uint32_t)t->rank);
    ipex_fb_start(b);
    ipex_fb_port_put_name(b, name);
    ipex_fb_port_put_tensor(b, (uint32_t)tensor);
    ipex_fb_port_put_dims(b, dims);
    return ipex_fb_end(b);
}

static uint32_t put_symbols(struct ipex_fb_builder *b, const struct net *net) {
    uint32_t refs[NET_SYMBOLS];
    for (int i = 0; i < net->symbols; i++) {
        const uint32_t name = ipex_fb_string(b, net->symbol[i].name);
        ipex_fb_start(b);
        ipex_fb_symbol_put_name(b, name);
        ipex_fb_symbol_put_lo(b, net->symbol[i].lo);
        ipex_fb_symbol_put_hi(b, net->symbol[i].hi);
        ipex_fb_symbol_put_step(b, net->symbol[i].step);
        refs[i] = ipex_fb_end(b);
    }
    return ipex_fb_refs(b, refs, (uint32_t)net->symbols);
}

static uint32_t put_entry(struct ipex_fb_builder *b, const struct net *net, const char *text) {
    uint32_t refs[NET_TENSORS];
    const uint32_t name = ipex_fb_string(b, text);
    for (int i = 0; i < net->tensors; i++)
        refs[i] = put_tensor(b, &net->tensor[i]);
    const uint32_t tensors = ipex_fb_refs(b, refs, (uint32_t)net->tensors);
    for (int i = 0; i < net->nodes; i++)
        refs[i] = put_node(b, &net->node[i], i);
    const uint32_t nodes = ipex_fb_refs(b, refs, (uint32_t)net->nodes);
    for (int i = 0; i < net->inputs; i++)
        refs[i] = put_port(b, net, net->input[i]);
    const uint32_t inputs = ipex_fb_refs(b, refs, (uint32_t)net->inputs);
    for (int i = 0; i < net->outputs; i++)
        refs[i] = put_port(b, net, net->output[i]);
    const uint32_t outputs = ipex_fb_refs(b, refs, (uint32_t)net->outputs);
    const uint32_t symbols = put_symbols(b, net);
    const uint32_t exprs = ipex_fb_entry_make_exprs(b, net->expr, (uint32_t)net->exprs);
    ipex_fb_start(b);
    ipex_fb_entry_put_name(b, name);
    ipex_fb_entry_put_tensors(b, tensors);
    ipex_fb_entry_put_nodes(b, nodes);
    ipex_fb_entry_put_inputs(b, inputs);
    ipex_fb_entry_put_outputs(b, outputs);
    ipex_fb_entry_put_arithmetic(b, net->arithmetic);
    ipex_fb_entry_put_symbols(b, symbols);
    ipex_fb_entry_put_exprs(b, exprs);
    return ipex_fb_end(b);
}

static uint32_t put_weight(struct ipex_fb_builder *b, const struct net_weight *w, uint64_t offset) {
    const uint32_t dims = ipex_fb_weight_make_dims(b, w->dims, (uint32_t)w->rank);
    ipex_fb_start(b);
    ipex_fb_weight_put_dtype(b, (uint8_t)w->dtype);
    ipex_fb_weight_put_layout(b, (uint8_t)w->layout);
    ipex_fb_weight_put_dims(b, dims);
    ipex_fb_weight_put_offset(b, offset);
    ipex_fb_weight_put_bytes(b, (uint64_t)w->size);
    return ipex_fb_end(b);
}

/* All weights, each at a multiple of a tile, in one section. */
static uint64_t weight_offsets(const struct net *net, uint64_t *ret_offsets) {
    uint64_t at = 0;
    for (int i = 0; i < net->weights; i++) {
        ret_offsets[i] = at;
        at += ((uint64_t)net->weight[i].size + IPEX_TILE_BYTES - 1) &
              ~(uint64_t)(IPEX_TILE_BYTES - 1);
    }
    return at;
}

struct model_refs {
    uint32_t sections, digests, root;
};

static struct model_refs put_model(struct ipex_fb_builder *b, const struct net *net,
                                   uint64_t data) {
    uint64_t offsets[NET_WEIGHTS];
    uint32_t refs[NET_WEIGHTS];
    static const uint8_t zeros[64 * IPEX_SHA256_BYTES];
    struct model_refs ret = {0};
    (void)weight_offsets(net, offsets);
    for (int i = 0; i < net->weights; i++)
        refs[i] = put_weight(b, &net->weight[i], offsets[i]);
    const uint32_t weights = ipex_fb_refs(b, refs, (uint32_t)net->weights);
    const struct ipex_fb_section section = {.stored = data, .raw = data};
    const uint32_t chunks = (uint32_t)((data + IPEX_CHUNK_BYTES - 1) / IPEX_CHUNK_BYTES);
    ret.sections = ipex_fb_model_make_sections(b, &section, data > 0);
    ret.digests = ipex_fb_model_make_chunk_digests(b, zeros, chunks * IPEX_SHA256_BYTES);
    refs[0] = put_entry(b, net, "main");
    refs[1] = net->second_entry ? put_entry(b, net, "other") : 0;
    const uint32_t entries = ipex_fb_refs(b, refs, 1 + net->second_entry);
    ipex_fb_start(b);
    ipex_fb_model_put_sections(b, ret.sections);
    ipex_fb_model_put_weights(b, weights);
    ipex_fb_model_put_entries(b, entries);
    ipex_fb_model_put_chunk_digests(b, ret.digests);
    ret.root = ipex_fb_end(b);
    return ret;
}

void *net_file(const struct net *net, size_t *ret_size) {
    uint64_t offsets[NET_WEIGHTS];
    const uint64_t data = weight_offsets(net, offsets);
    struct ipex_fb_builder b;
    ipex_fb_init(&b);
    const struct model_refs refs = put_model(&b, net, data);
    uint32_t metadata_size = 0;
    uint8_t *metadata = ipex_fb_finish(&b, refs.root, &metadata_size);
    const uint64_t begin = ipex_data_begin(metadata_size);
    const uint64_t size = data > 0 ? begin + data : metadata_size;
    uint8_t *file = aligned_alloc(4096, (size_t)((size + 4095) & ~(uint64_t)4095));
    memset(file, 0, (size_t)size);
    for (int i = 0; i < net->weights; i++)
        memcpy(file + begin + offsets[i], net->weight[i].bytes, (size_t)net->weight[i].size);
    if (data > 0)
        ((struct ipex_fb_section *)ipex_fb_patch(&b, refs.sections))->offset = begin;
    for (uint64_t at = begin, i = 0; at < size; at += IPEX_CHUNK_BYTES, i++)
        ipex_sha256(file + at,
                    (size_t)(size - at < IPEX_CHUNK_BYTES ? size - at : IPEX_CHUNK_BYTES),
                    (uint8_t *)ipex_fb_patch(&b, refs.digests) + i * IPEX_SHA256_BYTES);
    struct ipex_header header = {
        .file_size = size,
        .metadata_size = metadata_size,
        .entries = 1 + net->second_entry,
        .tensors = (uint32_t)net->tensors * (1 + net->second_entry),
    };
    ipex_header_seal(metadata, &header);
    memcpy(file, metadata, metadata_size);
    ipex_fb_free(&b);
    *ret_size = (size_t)size;
    return file;
}
