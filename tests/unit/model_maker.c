/* SPDX-License-Identifier: Apache-2.0 */
/* Writes test files with the same builder that the converter uses. */
#include "tests/unit/model_maker.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/model_fb_build.h"
#include "format/ops.h"
#include "format/sha256.h"
#include "format/tile.h"

/* ---- the default model ---- */

static void set_dims(uint32_t *rank, int64_t *to, const char *dims) {
    *rank = 0;
    while (*dims)
        to[(*rank)++] = strtoll(dims, (char **)(uintptr_t)&dims, 10);
}

static struct maker_tensor *tensor(struct maker_model *m, int index, const char *name,
                                   const char *dims) {
    struct maker_tensor *t = &m->entry[0].tensor[index];
    *t = (struct maker_tensor){
        .dtype = IPEX_DTYPE_f32, .weight = -1, .view_of = -1, .view_axis = -1};
    snprintf(t->name, sizeof t->name, "%s", name);
    set_dims(&t->rank, t->dims, dims);
    return t;
}

static void halo(struct maker_tensor *t) {
    t->sides = 4;
    for (int i = 0; i < 4; i++)
        t->halo[i] = 1;
}

/* A weight, and the constant tensor that holds it (-1: none). */
static void weight_of(struct maker_model *m, enum ipex_dtype dtype, int index, int tensor_index,
                      const char *name, int layout, const char *dims) {
    struct maker_weight *w = &m->weight[index];
    int64_t bytes = 0;
    *w = (struct maker_weight){.dtype = (uint8_t)dtype, .layout = (uint8_t)layout};
    snprintf(w->name, sizeof w->name, "%s", name);
    set_dims(&w->rank, w->dims, dims);
    if (!ipex_weight_bytes(w->dtype, w->layout, w->dims, w->rank, &bytes))
        abort();
    w->bytes = (uint64_t)bytes;
    w->section = tensor_index < 0 ? 1 : 0;
    w->offset = (m->section[w->section].stored + 1023) & ~UINT64_C(1023);
    m->section[w->section].stored = w->offset + w->bytes;
    m->section[w->section].raw = m->section[w->section].stored;
    if (tensor_index < 0)
        return;
    struct maker_tensor *t = tensor(m, tensor_index, name, dims);
    t->weight = index;
    t->dtype = w->dtype;
}

static void weight(struct maker_model *m, int index, int tensor_index, const char *name, int layout,
                   const char *dims) {
    weight_of(m, IPEX_DTYPE_f32, index, tensor_index, name, layout, dims);
}

static struct maker_node *node(struct maker_model *m, int index, int op, int input, int output) {
    const struct ipex_op_info *info = ipex_op_info((uint32_t)op);
    struct maker_node *n = &m->entry[0].node[index];
    *n = (struct maker_node){.op = (uint16_t)op, .inputs = 1, .outputs = 1};
    snprintf(n->name, sizeof n->name, "%s_%d", info->name, index);
    n->input[0] = input;
    n->output[0] = output;
    n->ints = info->ints == IPEX_ANY ? 0 : info->ints;
    const bool has_act = op == IPEX_OP_linear || op == IPEX_OP_conv || op == IPEX_OP_depthwise;
    n->floats = info->floats != IPEX_ANY ? info->floats : has_act ? 2 : 0;
    return n;
}

static void ints(struct maker_node *n, const char *list) {
    n->ints = 0;
    while (*list)
        n->int_[n->ints++] = (int32_t)strtol(list, (char **)(uintptr_t)&list, 10);
}

static void operands(struct maker_node *n, int second, int third) {
    n->inputs = third == -2 ? 2 : 3;
    n->input[1] = second;
    n->input[2] = third;
}

static void default_tensors(struct maker_model *m) {
    tensor(m, T_X, "x", "1 6 6 3");
    halo(tensor(m, T_XH, "xh", "1 6 6 3"));
    halo(tensor(m, T_CAT, "cat", "1 6 6 24"));
    struct maker_tensor *a = tensor(m, T_CAT_A, "cat_a", "1 6 6 8");
    struct maker_tensor *b = tensor(m, T_CAT_B, "cat_b", "1 6 6 16");
    halo(a);
    halo(b);
    a->view_of = b->view_of = T_CAT;
    a->view_axis = b->view_axis = 3;
    b->view_start = 8;
    tensor(m, T_DEPTH, "depth", "1 3 3 24");
    tensor(m, T_MAX, "max", "1 2 2 24");
    tensor(m, T_FLAT, "flat", "1 96")->view_of = T_MAX;
    tensor(m, T_LIN, "lin", "1 10");
    tensor(m, T_SOFT, "soft", "1 10");
    tensor(m, T_PROB, "prob", "1 10");
    tensor(m, T_TURNED, "turned", "10 1");
    tensor(m, T_PADDED, "padded", "12 1");
    tensor(m, T_SLICED, "sliced", "6 1");
    tensor(m, T_MEAN, "mean", "1 1");
    tensor(m, T_AVG, "avg", "1 1 1 24");
    m->entry[0].tensors = T_COUNT;
}

static void default_weights(struct maker_model *m) {
    m->sections = 2;
    m->section[1].kind = 1;
    weight(m, W_CONV, T_CONV_W, "conv.w", IPEX_LAYOUT_tiles, "1 3 8 3 3");
    weight(m, W_CONV_B, T_CONV_B, "conv.b", IPEX_LAYOUT_channels, "8");
    weight(m, W_POINT, T_POINT_W, "point.w", IPEX_LAYOUT_tiles, "1 1 16 1 3");
    weight(m, W_DEPTH, T_DEPTH_W, "depth.w", IPEX_LAYOUT_channels, "3 3 24");
    weight(m, W_LIN, T_LIN_W, "lin.w", IPEX_LAYOUT_tiles, "10 96");
    weight(m, W_LIN_B, T_LIN_B, "lin.b", IPEX_LAYOUT_channels, "10");
    weight(m, W_SCALE, T_SCALE, "scale", IPEX_LAYOUT_plain, "10");
    weight(m, W_ANSWER_X, -1, "answer.x", IPEX_LAYOUT_plain, "1 6 6 3");
    weight(m, W_ANSWER_Y, -1, "answer.prob", IPEX_LAYOUT_plain, "1 10");
    m->weights = W_ANSWER_Y + 1;
}

static void default_nodes(struct maker_model *m) {
    node(m, N_COPY, IPEX_OP_copy, T_X, T_XH);
    struct maker_node *n = node(m, N_CONV, IPEX_OP_conv, T_XH, T_CAT_A);
    operands(n, T_CONV_W, T_CONV_B);
    ints(n, "3 3 1 1 1 1 1 1 1 1 1 1 0");
    n = node(m, N_POINT, IPEX_OP_conv, T_XH, T_CAT_B);
    operands(n, T_POINT_W, -1);
    ints(n, "1 1 1 1 0 0 0 0 1 1 1 0 0");
    n = node(m, N_DEPTH, IPEX_OP_depthwise, T_CAT, T_DEPTH);
    operands(n, T_DEPTH_W, -2);
    ints(n, "3 3 2 2 1 1 1 1 1 1 24 0");
    ints(node(m, N_MAX, IPEX_OP_max_pool, T_DEPTH, T_MAX), "2 2 2 2 0 0 0 0 1 1 1 0");
    operands(node(m, N_LINEAR, IPEX_OP_linear, T_FLAT, T_LIN), T_LIN_W, T_LIN_B);
    node(m, N_SOFTMAX, IPEX_OP_softmax, T_LIN, T_SOFT);
    n = node(m, N_POINTWISE, IPEX_OP_pointwise, T_SOFT, T_PROB);
    operands(n, T_SCALE, -2);
    ints(n, "3 0 1  1 16 -1  10 17 17");
    n->floats = 1;
    n->float_[0] = 0.5f;
    ints(node(m, N_TRANSPOSE, IPEX_OP_transpose, T_PROB, T_TURNED), "1 0");
    ints(node(m, N_PAD, IPEX_OP_pad, T_TURNED, T_PADDED), "1 0 1 0 0");
    ints(node(m, N_SLICE, IPEX_OP_slice, T_PADDED, T_SLICED), "11 0 -2 1");
    ints(node(m, N_REDUCE, IPEX_OP_reduce, T_SLICED, T_MEAN), "1 1");
    ints(node(m, N_AVG, IPEX_OP_avg_pool, T_DEPTH, T_AVG), "3 3 1 1 0 0 0 0 1 1 0 0");
    m->entry[0].nodes = N_COUNT;
}

static void port(struct maker_port *p, const char *name, const struct maker_model *m, int index) {
    snprintf(p->name, sizeof p->name, "%s", name);
    p->tensor = (uint32_t)index;
    p->rank = m->entry[0].tensor[index].rank;
    memcpy(p->dims, m->entry[0].tensor[index].dims, sizeof p->dims);
}

static void default_records(struct maker_model *m) {
    struct maker_entry *e = &m->entry[0];
    snprintf(m->producer, sizeof m->producer, "ipexpack tests");
    snprintf(e->name, sizeof e->name, "main");
    m->entries = e->inputs = 1;
    e->outputs = 3;
    port(&e->input[0], "image", m, T_X);
    port(&e->output[0], "prob", m, T_PROB);
    port(&e->output[1], "mean", m, T_MEAN);
    port(&e->output[2], "avg", m, T_AVG);
    e->labels = 10;
    for (uint32_t i = 0; i < e->labels; i++)
        snprintf(e->label[i], sizeof e->label[i], "class %u", i);
    e->answers = 1;
    e->answer[0] = (struct maker_answer){.origin = "self",
                                         .inputs = 1,
                                         .outputs = 3,
                                         .input = {W_ANSWER_X},
                                         .output = {W_ANSWER_Y, -1, -1}};
    m->sites = 2;
    m->site[0] = (struct maker_site){.applied = true, .site = "bn1", .pass = "fold_bn"};
    m->site[1] = (struct maker_site){
        .site = "bn2", .pass = "fold_bn", .reason = "two_consumers", .text = "Two read it."};
    m->pairs = 1;
    snprintf(m->key[0], sizeof m->key[0], "author");
    snprintf(m->value[0], sizeof m->value[0], "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80");
}

void maker_default(struct maker_model *model) {
    memset(model, 0, sizeof *model);
    default_tensors(model);
    default_weights(model);
    default_nodes(model);
    default_records(model);
}

void maker_winograd(struct maker_node *conv) {
    conv->op = IPEX_OP_winograd;
    conv->ints = IPEX_CONV_ATTRS;
}

void maker_become(struct maker_node *n, int op, const char *list) {
    const struct ipex_op_info *info = ipex_op_info((uint32_t)op);
    n->op = (uint16_t)op;
    n->outputs = info->outputs;
    ints(n, list);
    n->floats = info->floats;
    memset(n->float_, 0, sizeof n->float_);
}

/* One more node, of one operand so far. */
static struct maker_node *add(struct maker_model *m, int op, int input, int output,
                              const char *list) {
    struct maker_node *n = node(m, (int)m->entry[0].nodes++, op, input, output);
    maker_become(n, op, list);
    return n;
}

void maker_data(struct maker_model *m) {
    tensor(m, T_LESS, "less", "1 10")->dtype = IPEX_DTYPE_bool;
    tensor(m, T_CHOSEN, "chosen", "1 10");
    tensor(m, T_BEST, "best", "1 1")->dtype = IPEX_DTYPE_i64;
    tensor(m, T_PICKED, "picked", "1 1 1");
    tensor(m, T_TWICE, "twice", "1 1")->dtype = IPEX_DTYPE_i64;
    tensor(m, T_WORST, "worst", "1 3");
    tensor(m, T_WORST_AT, "worst_at", "1 3")->dtype = IPEX_DTYPE_i64;
    m->entry[0].tensors = T_DATA_COUNT;
    operands(add(m, IPEX_OP_compare, T_LIN, T_LESS, "1"), T_SCALE, -2);
    operands(add(m, IPEX_OP_where, T_LESS, T_CHOSEN, ""), T_LIN, T_SOFT);
    add(m, IPEX_OP_arg, T_CHOSEN, T_BEST, "1 0");
    operands(add(m, IPEX_OP_gather, T_LIN, T_PICKED, "1"), T_BEST, -2);
    operands(add(m, IPEX_OP_integer, T_BEST, T_TWICE, "0"), T_BEST, -2);
    add(m, IPEX_OP_topk, T_LIN, T_WORST, "3 0 1")->output[1] = T_WORST_AT;
}

void maker_scatter(struct maker_model *m) {
    maker_data(m);
    tensor(m, T_UPDATES, "updates", "1 1 10")->view_of = T_LIN;
    tensor(m, T_SCATTERED, "scattered", "1 10");
    m->entry[0].tensors = T_SCATTER_COUNT;
    operands(add(m, IPEX_OP_scatter, T_SOFT, T_SCATTERED, "1"), T_BEST, T_UPDATES);
}

void maker_grid(struct maker_model *m) {
    tensor(m, T_PLACES, "places", "1 1 5 2")->view_of = T_LIN;
    tensor(m, T_SEEN, "seen", "1 1 5 3");
    tensor(m, T_VOLUME, "volume", "1 1 6 6 3")->view_of = T_X;
    tensor(m, T_FAR_PLACES, "far_places", "1 6 2 3 3")->view_of = T_X;
    tensor(m, T_FAR_SEEN, "far_seen", "1 6 2 3 3");
    m->entry[0].tensors = T_GRID_COUNT;
    operands(add(m, IPEX_OP_grid_sample, T_X, T_SEEN, "2 1 0"), T_PLACES, -2);
    operands(add(m, IPEX_OP_grid_sample, T_VOLUME, T_FAR_SEEN, "1 2 1"), T_FAR_PLACES, -2);
}

void maker_upsampled(struct maker_model *m) {
    weight(m, W_COUNT, T_UPSAMPLED_W, "upsampled.w", IPEX_LAYOUT_tiles, "1 9 8 1 3");
    tensor(m, T_UPSAMPLED, "upsampled", "1 12 12 8");
    m->weights = W_COUNT + 1;
    m->entry[0].tensors = T_UPSAMPLED_COUNT;
    operands(add(m, IPEX_OP_upsampled_conv, T_XH, T_UPSAMPLED, "2 0"), T_UPSAMPLED_W, T_CONV_B);
}

static void add_blocks(struct maker_model *m, bool wide) {
    weight_of(m, IPEX_DTYPE_u8, W_BLOCKS, T_BLOCKS_W, "blocks.w", IPEX_LAYOUT_tiles,
              wide ? "10 96" : "10 48");
    weight(m, W_BLOCKS_SCALE, T_BLOCKS_SCALE, "blocks.scale", IPEX_LAYOUT_plain, "1 3 16");
    weight_of(m, IPEX_DTYPE_u8, W_BLOCKS_ZERO, T_BLOCKS_ZERO, "blocks.zero", IPEX_LAYOUT_plain,
              "1 3 16");
    tensor(m, T_BLOCKS, "blocks", "1 10");
    weight_of(m, IPEX_DTYPE_u8, W_BLOCKS_BYTES, T_BLOCKS_BYTES_W, "blocks.bytes.w",
              IPEX_LAYOUT_tiles, wide ? "20 3" : "20 4");
    weight(m, W_BLOCKS_BYTES_SCALE, T_BLOCKS_BYTES_SCALE, "blocks.bytes.scale", IPEX_LAYOUT_plain,
           "2 1 16");
    tensor(m, T_BLOCKS_BYTES, "blocks_bytes", "1 6 6 20");
    m->weights = W_BLOCKS_COUNT;
    m->entry[0].tensors = T_BLOCKS_COUNT;
    struct maker_node *n =
        add(m, IPEX_OP_linear_blocks, T_FLAT, T_BLOCKS, wide ? "1 8 32 0" : "1 4 32 0");
    const int32_t all[] = {T_FLAT, T_BLOCKS_W, T_LIN_B, T_LIN, T_BLOCKS_SCALE, T_BLOCKS_ZERO};
    memcpy(n->input, all, sizeof all);
    n->inputs = 6;
    n = add(m, IPEX_OP_linear_blocks, T_X, T_BLOCKS_BYTES, wide ? "0 8 16 1" : "0 4 16 1");
    const int32_t few[] = {T_X, T_BLOCKS_BYTES_W, -1, -1, T_BLOCKS_BYTES_SCALE};
    memcpy(n->input, few, sizeof few);
    n->inputs = 5;
}

void maker_blocks(struct maker_model *m) {
    add_blocks(m, false);
}

void maker_blocks_8(struct maker_model *m) {
    add_blocks(m, true);
}

void maker_bf16(struct maker_model *m) {
    struct maker_entry *e = &m->entry[0];
    maker_become(&e->node[N_COPY], IPEX_OP_cast, "");
    e->tensor[T_XH].dtype = IPEX_DTYPE_bf16;
    e->tensor[T_CONV_W].dtype = m->weight[W_CONV].dtype = IPEX_DTYPE_bf16; /* K fills one tile */
    e->tensor[T_POINT_W].dtype = m->weight[W_POINT].dtype = IPEX_DTYPE_bf16;
    e->arithmetic = IPEX_ARITHMETIC_bf16_dp;
}

void maker_f16(struct maker_model *m) {
    m->entry[0].tensor[T_LIN_W].dtype = m->weight[W_LIN].dtype = IPEX_DTYPE_f16;
    m->weight[W_LIN].bytes /= 2; /* K fills three tiles, of f32 six */
}

/* Operands and floats of a linear or conv by a weight in i8: T_CONV_B are its biases and its
 * scales; y_scale 0 where y is not rounded. */
static struct maker_node *by_bytes(struct maker_node *n, int w, int residual, float y_scale) {
    const int32_t input[] = {n->input[0], w, T_CONV_B, residual, T_CONV_B};
    memcpy(n->input, input, sizeof input);
    n->inputs = 5;
    n->floats = IPEX_INTEGER_ATTRS;
    n->float_[IPEX_RESIDUAL_SCALE] = 0.25f;
    n->float_[IPEX_Y_SCALE] = y_scale;
    n->float_[IPEX_Y_ZERO] = 128;
    return n;
}

void maker_bytes(struct maker_model *m) {
    struct maker_entry *e = &m->entry[0];
    struct maker_tensor *xh = &e->tensor[T_XH];
    maker_become(&e->node[N_COPY], IPEX_OP_cast, "");
    xh->dtype = IPEX_DTYPE_u8;
    xh->halo_value = 7;
    e->node[N_POINT].input[0] = T_X; /* its segments are short */
    e->tensor[T_CONV_W].dtype = m->weight[W_CONV].dtype = IPEX_DTYPE_i8; /* K fills one tile */
    tensor(m, T_BYTES, "bytes", "1 6 6 8")->dtype = IPEX_DTYPE_u8;
    weight(m, W_COUNT, T_BYTES_W, "bytes.w", IPEX_LAYOUT_tiles, "8 8");
    e->tensor[T_BYTES_W].dtype = m->weight[W_COUNT].dtype = IPEX_DTYPE_i8;
    tensor(m, T_MIXED, "mixed", "1 6 6 8")->dtype = IPEX_DTYPE_u8;
    tensor(m, T_MIDDLE, "middle", "1 6 6 8");
    tensor(m, T_BYTES_SUM, "bytes_sum", "1 6 6 8")->dtype = IPEX_DTYPE_u8;
    tensor(m, T_BYTES_MAX, "bytes_max", "1 3 3 8")->dtype = IPEX_DTYPE_u8;
    weight(m, W_BYTES_DEPTH, T_BYTES_DEPTH_W, "bytes.depth.w", IPEX_LAYOUT_channels, "3 3 8");
    e->tensor[T_BYTES_DEPTH_W].dtype = m->weight[W_BYTES_DEPTH].dtype = IPEX_DTYPE_i8;
    m->weight[W_BYTES_DEPTH].bytes /= sizeof(float);
    tensor(m, T_BYTES_DEPTH, "bytes_depth", "1 4 4 8")->dtype = IPEX_DTYPE_u8;
    tensor(m, T_BYTES_RESIZED, "bytes_resized", "1 12 12 8")->dtype = IPEX_DTYPE_u8;
    weight(m, W_BYTES_MIDDLE, T_BYTES_MIDDLE, "bytes.middle", IPEX_LAYOUT_channels, "2 2 8");
    tensor(m, T_BYTES_MEAN, "bytes_mean", "1 1 1 8");
    tensor(m, T_BYTES_PRODUCT, "bytes_product", "1 6 6 6")->dtype = IPEX_DTYPE_u8;
    m->weights = W_BYTES_COUNT;
    e->tensors = T_BYTES_COUNT;
    (void)by_bytes(&e->node[N_CONV], T_CONV_W, -1, 0);
    struct maker_node *n = add(m, IPEX_OP_conv, T_XH, T_BYTES, "3 3 1 1 1 1 1 1 1 1 1 1 0");
    (void)by_bytes(n, T_CONV_W, -1, 2);
    (void)by_bytes(add(m, IPEX_OP_linear, T_BYTES, T_MIXED, "0"), T_BYTES_W, T_BYTES, 3);
    n = by_bytes(add(m, IPEX_OP_linear, T_BYTES, T_MIDDLE, "1"), T_BYTES_W, T_CAT_A, 0);
    n->input[n->inputs++] = T_BYTES_MIDDLE;
    n->float_[IPEX_MIDDLE_CUTS] = -5;
    n->float_[IPEX_MIDDLE_CUTS + 1] = 250;
    n = add(m, IPEX_OP_pointwise, T_MIXED, T_BYTES_SUM, "1 0 1");
    operands(n, T_MIDDLE, -2);
    n->floats = 0;
    (void)add(m, IPEX_OP_max_pool, T_BYTES, T_BYTES_MAX, "2 2 2 2 0 0 0 0 1 1 1 0");
    n = add(m, IPEX_OP_depthwise, T_BYTES, T_BYTES_DEPTH, "3 3 1 1 0 0 0 0 1 1 8 1");
    (void)by_bytes(n, T_BYTES_DEPTH_W, -1, 2);
    (void)add(m, IPEX_OP_resize, T_BYTES, T_BYTES_RESIZED, "0 3 2 0");
    (void)add(m, IPEX_OP_reduce, T_BYTES_RESIZED, T_BYTES_MEAN, "1 6");
    n = add(m, IPEX_OP_matmul, T_BYTES, T_BYTES_PRODUCT, "1 3 200");
    operands(n, T_MIXED, -2);
    n->float_[IPEX_MATMUL_Y_SCALE] = 2;
}

static void products_tensors(struct maker_model *m) {
    tensor(m, T_PRODUCT, "product", "10 10");
    tensor(m, T_ATTENDED, "attended", "6 1");
    tensor(m, T_NORMED, "normed", "1 10");
    tensor(m, T_GROUPED, "grouped", "1 3 3 24");
    tensor(m, T_SEQUENCE, "sequence", "1 1 10")->view_of = T_LIN;
    weight(m, W_COUNT, T_LSTM_W, "lstm.w", IPEX_LAYOUT_tiles, "1 1 8 1 10");
    weight(m, W_COUNT + 1, T_LSTM_R, "lstm.r", IPEX_LAYOUT_tiles, "1 1 8 1 2");
    weight(m, W_COUNT + 2, T_LSTM_B, "lstm.b", IPEX_LAYOUT_plain, "1 16");
    tensor(m, T_LSTM, "lstm", "1 1 1 2");
    tensor(m, T_LSTM_H, "lstm_h", "1 1 2");
    tensor(m, T_LSTM_C, "lstm_c", "1 1 2");
    weight(m, W_COUNT + 3, T_GRU_W, "gru.w", IPEX_LAYOUT_tiles, "1 1 6 1 10");
    weight(m, W_COUNT + 4, T_GRU_R, "gru.r", IPEX_LAYOUT_tiles, "1 1 6 1 2");
    tensor(m, T_GRU, "gru", "1 1 1 2");
    tensor(m, T_GRU_H, "gru_h", "1 1 2");
    m->weights = W_COUNT + 5;
    m->entry[0].tensors = T_PRODUCTS_COUNT;
}

void maker_products(struct maker_model *m) {
    products_tensors(m);
    operands(add(m, IPEX_OP_matmul, T_TURNED, T_PRODUCT, "0 0 0"), T_LIN, -2);
    operands(add(m, IPEX_OP_attention, T_SLICED, T_ATTENDED, "0 0"), T_PADDED, T_PADDED);
    operands(add(m, IPEX_OP_layer_norm, T_LIN, T_NORMED, "0 0"), T_SCALE, -2);
    add(m, IPEX_OP_group_norm, T_DEPTH, T_GROUPED, "3 0");
    struct maker_node *n = add(m, IPEX_OP_lstm, T_SEQUENCE, T_LSTM, "1 0");
    operands(n, T_LSTM_W, T_LSTM_R);
    n->input[n->inputs++] = T_LSTM_B;
    n->output[1] = T_LSTM_H;
    n->output[2] = T_LSTM_C;
    n = add(m, IPEX_OP_gru, T_SEQUENCE, T_GRU, "1 0 1");
    operands(n, T_GRU_W, T_GRU_R);
    n->output[1] = T_GRU_H;
}

static void make_batch(struct maker_model *m, int index, int axis) {
    m->entry[0].tensor[index].dims[axis] = MAKER_EXPR(E_BATCH);
}

void maker_dynamic(struct maker_model *m) {
    static const uint8_t batched[] = {T_X,   T_XH,   T_CAT, T_CAT_A, T_CAT_B, T_DEPTH,
                                      T_MAX, T_FLAT, T_LIN, T_SOFT,  T_PROB,  T_AVG};
    static const uint8_t turned[] = {T_TURNED, T_PADDED, T_SLICED, T_MEAN};
    struct maker_entry *e = &m->entry[0];
    for (size_t i = 0; i < sizeof batched; i++)
        make_batch(m, batched[i], 0);
    for (size_t i = 0; i < sizeof turned; i++)
        make_batch(m, turned[i], 1);
    port(&e->input[0], "image", m, T_X);
    port(&e->output[0], "prob", m, T_PROB);
    port(&e->output[1], "mean", m, T_MEAN);
    port(&e->output[2], "avg", m, T_AVG);
    e->tensor[T_CAT_B].view_start = MAKER_EXPR(E_EIGHT);
    e->node[N_SLICE].dynamics = 2;
    e->node[N_SLICE].dynamic[1] = E_ELEVEN;
    e->node[N_SLICE].int_[0] = -77; /* replaced */
    e->symbols = 1;
    e->symbol[0] = (struct maker_symbol){.name = "batch", .lo = 1, .hi = 4, .step = 1};
    e->exprs = E_COUNT;
    e->expr[E_BATCH] = (struct ipex_fb_expr){.op = IPEX_EXPR_symbol};
    e->expr[E_ZERO] = (struct ipex_fb_expr){.op = IPEX_EXPR_mul, .a = MAKER_EXPR(E_BATCH), .b = 0};
    e->expr[E_ELEVEN] =
        (struct ipex_fb_expr){.op = IPEX_EXPR_add, .a = 11, .b = MAKER_EXPR(E_ZERO)};
    e->expr[E_EIGHT] = (struct ipex_fb_expr){.op = IPEX_EXPR_add, .a = MAKER_EXPR(E_ZERO), .b = 8};
}

void maker_add_symbol(struct maker_model *m) {
    struct maker_symbol *s = &m->entry[0].symbol[m->entry[0].symbols];
    *s = (struct maker_symbol){.lo = 1, .hi = 9, .step = 1};
    snprintf(s->name, sizeof s->name, "other %u", m->entry[0].symbols++);
}

static void replace_dims(int64_t *dims, int64_t code) {
    for (int d = 0; d < 4; d++)
        if (dims[d] == MAKER_EXPR(E_BATCH))
            dims[d] = code;
}

void maker_replace_batch(struct maker_model *m, int64_t code) {
    struct maker_entry *e = &m->entry[0];
    for (int i = 0; i < T_COUNT; i++)
        replace_dims(e->tensor[i].dims, code);
    replace_dims(e->input[0].dims, code);
    for (int i = 0; i < 3; i++)
        replace_dims(e->output[i].dims, code);
}

/* ---- writing ---- */

static uint32_t text(struct ipex_fb_builder *b, const char *s) {
    return *s ? ipex_fb_string(b, s) : 0;
}

static uint32_t write_weight(struct ipex_fb_builder *b, const struct maker_weight *w) {
    uint32_t name = text(b, w->name), dims = ipex_fb_weight_make_dims(b, w->dims, w->rank);
    ipex_fb_start(b);
    ipex_fb_weight_put_name(b, name);
    ipex_fb_weight_put_dims(b, dims);
    ipex_fb_weight_put_dtype(b, w->dtype);
    ipex_fb_weight_put_layout(b, w->layout);
    ipex_fb_weight_put_section(b, w->section);
    ipex_fb_weight_put_offset(b, w->offset);
    ipex_fb_weight_put_bytes(b, w->bytes);
    return ipex_fb_end(b);
}

static uint32_t write_tensor(struct ipex_fb_builder *b, const struct maker_tensor *t) {
    uint32_t name = text(b, t->name), dims = ipex_fb_tensor_make_dims(b, t->dims, t->rank);
    uint32_t sides = ipex_fb_tensor_make_halo(b, t->halo, t->sides);
    ipex_fb_start(b);
    ipex_fb_tensor_put_name(b, name);
    ipex_fb_tensor_put_dims(b, dims);
    ipex_fb_tensor_put_halo(b, sides);
    ipex_fb_tensor_put_halo_value(b, t->halo_value);
    ipex_fb_tensor_put_dtype(b, t->dtype);
    ipex_fb_tensor_put_weight(b, t->weight);
    ipex_fb_tensor_put_view_of(b, t->view_of);
    ipex_fb_tensor_put_view_axis(b, t->view_axis);
    ipex_fb_tensor_put_view_start(b, t->view_start);
    ipex_fb_tensor_put_room(b, t->room);
    return ipex_fb_end(b);
}

static uint32_t write_node(struct ipex_fb_builder *b, const struct maker_node *n) {
    uint32_t name = text(b, n->name);
    uint32_t inputs = ipex_fb_node_make_inputs(b, n->input, n->inputs);
    uint32_t outputs = ipex_fb_node_make_outputs(b, n->output, n->outputs);
    uint32_t int_ = ipex_fb_node_make_ints(b, n->int_, n->ints);
    uint32_t float_ = ipex_fb_node_make_floats(b, n->float_, n->floats);
    uint32_t dynamic = ipex_fb_node_make_dynamic(b, n->dynamic, n->dynamics);
    ipex_fb_start(b);
    ipex_fb_node_put_op(b, n->op);
    ipex_fb_node_put_name(b, name);
    ipex_fb_node_put_inputs(b, inputs);
    ipex_fb_node_put_outputs(b, outputs);
    ipex_fb_node_put_ints(b, int_);
    ipex_fb_node_put_floats(b, float_);
    ipex_fb_node_put_band(b, n->band);
    ipex_fb_node_put_dynamic(b, dynamic);
    return ipex_fb_end(b);
}

static uint32_t write_port(struct ipex_fb_builder *b, const struct maker_port *p) {
    uint32_t name = text(b, p->name), dims = ipex_fb_port_make_dims(b, p->dims, p->rank);
    ipex_fb_start(b);
    ipex_fb_port_put_name(b, name);
    ipex_fb_port_put_tensor(b, p->tensor);
    ipex_fb_port_put_dims(b, dims);
    return ipex_fb_end(b);
}

static uint32_t write_answer(struct ipex_fb_builder *b, const struct maker_answer *a) {
    uint32_t origin = text(b, a->origin);
    uint32_t inputs = ipex_fb_answer_make_inputs(b, a->input, a->inputs);
    uint32_t outputs = ipex_fb_answer_make_outputs(b, a->output, a->outputs);
    ipex_fb_start(b);
    ipex_fb_answer_put_origin(b, origin);
    ipex_fb_answer_put_inputs(b, inputs);
    ipex_fb_answer_put_outputs(b, outputs);
    return ipex_fb_end(b);
}

static uint32_t write_tensors(struct ipex_fb_builder *b, const struct maker_model *m,
                              const struct maker_entry *e) {
    uint32_t count = e->tensors + m->repeat_tensors;
    uint32_t *refs = calloc(count + 1, sizeof *refs);
    for (uint32_t i = 0; i < e->tensors; i++)
        refs[i] = write_tensor(b, &e->tensor[i]);
    for (uint32_t i = e->tensors; i < count; i++)
        refs[i] = refs[0];
    uint32_t vector = ipex_fb_refs(b, refs, count);
    free(refs);
    return vector;
}

static uint32_t write_ports(struct ipex_fb_builder *b, const struct maker_port *ports,
                            uint32_t count) {
    uint32_t refs[4];
    for (uint32_t i = 0; i < count; i++)
        refs[i] = write_port(b, &ports[i]);
    return ipex_fb_refs(b, refs, count);
}

static uint32_t write_symbols(struct ipex_fb_builder *b, const struct maker_entry *e) {
    uint32_t refs[IPEX_SYMBOLS_MAX + 1];
    for (uint32_t i = 0; i < e->symbols; i++) {
        const struct maker_symbol *s = &e->symbol[i];
        uint32_t name = text(b, s->name);
        ipex_fb_start(b);
        ipex_fb_symbol_put_name(b, name);
        ipex_fb_symbol_put_lo(b, s->lo);
        ipex_fb_symbol_put_hi(b, s->hi);
        ipex_fb_symbol_put_step(b, s->step);
        refs[i] = ipex_fb_end(b);
    }
    return ipex_fb_refs(b, refs, e->symbols);
}

static uint32_t write_entry(struct ipex_fb_builder *b, const struct maker_model *m,
                            const struct maker_entry *e) {
    uint32_t refs[MAKER_LISTS];
    uint32_t name = text(b, e->name), tensors = write_tensors(b, m, e);
    for (uint32_t i = 0; i < e->nodes; i++)
        refs[i] = write_node(b, &e->node[i]);
    uint32_t nodes = ipex_fb_refs(b, refs, e->nodes);
    uint32_t inputs = write_ports(b, e->input, e->inputs);
    uint32_t outputs = write_ports(b, e->output, e->outputs);
    for (uint32_t i = 0; i < e->labels; i++)
        refs[i] = ipex_fb_string(b, e->label[i]);
    uint32_t labels = ipex_fb_refs(b, refs, e->labels);
    for (uint32_t i = 0; i < e->answers; i++)
        refs[i] = write_answer(b, &e->answer[i]);
    uint32_t answers = ipex_fb_refs(b, refs, e->answers);
    uint32_t symbols = write_symbols(b, e);
    uint32_t exprs = ipex_fb_entry_make_exprs(b, e->expr, e->exprs);
    ipex_fb_start(b);
    ipex_fb_entry_put_name(b, name);
    ipex_fb_entry_put_tensors(b, tensors);
    ipex_fb_entry_put_nodes(b, nodes);
    ipex_fb_entry_put_inputs(b, inputs);
    ipex_fb_entry_put_outputs(b, outputs);
    ipex_fb_entry_put_labels(b, labels);
    ipex_fb_entry_put_answers(b, answers);
    ipex_fb_entry_put_arithmetic(b, e->arithmetic);
    ipex_fb_entry_put_symbols(b, symbols);
    ipex_fb_entry_put_exprs(b, exprs);
    return ipex_fb_end(b);
}

static uint32_t write_ledger(struct ipex_fb_builder *b, const struct maker_model *m) {
    uint32_t refs[2];
    for (uint32_t i = 0; i < m->sites; i++) {
        const struct maker_site *s = &m->site[i];
        uint32_t site = text(b, s->site), pass = text(b, s->pass);
        uint32_t reason = text(b, s->reason), why = text(b, s->text);
        ipex_fb_start(b);
        ipex_fb_site_put_entry(b, s->entry);
        ipex_fb_site_put_site(b, site);
        ipex_fb_site_put_pass(b, pass);
        ipex_fb_site_put_applied(b, s->applied);
        ipex_fb_site_put_reason(b, reason);
        ipex_fb_site_put_text(b, why);
        refs[i] = ipex_fb_end(b);
    }
    return ipex_fb_refs(b, refs, m->sites);
}

static uint32_t write_pairs(struct ipex_fb_builder *b, const struct maker_model *m) {
    uint32_t refs[2];
    for (uint32_t i = 0; i < m->pairs; i++) {
        uint32_t key = text(b, m->key[i]), value = text(b, m->value[i]);
        ipex_fb_start(b);
        ipex_fb_pair_put_key(b, key);
        ipex_fb_pair_put_value(b, value);
        refs[i] = ipex_fb_end(b);
    }
    return ipex_fb_refs(b, refs, m->pairs);
}

/* What is patched once the size of the metadata is known. */
struct patches {
    uint32_t sections, digests, chunks;
};

/* Bytes from the first section to the end of the last. */
static uint64_t data_size(const struct maker_model *m) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < m->sections; i++)
        end = ((end + IPEX_SECTION_ALIGN - 1) & ~(uint64_t)(IPEX_SECTION_ALIGN - 1)) +
              m->section[i].stored;
    return end;
}

static uint32_t write_model(struct ipex_fb_builder *b, const struct maker_model *m,
                            struct patches *patches) {
    static const uint8_t zero[64 * IPEX_SHA256_BYTES];
    uint32_t refs[MAKER_LISTS];
    uint64_t chunks = (data_size(m) + IPEX_CHUNK_BYTES - 1) / IPEX_CHUNK_BYTES;
    patches->chunks = (uint32_t)chunks;
    patches->sections = ipex_fb_model_make_sections(b, m->section, m->sections);
    patches->digests = ipex_fb_model_make_chunk_digests(
        b, zero, IPEX_SHA256_BYTES * (uint32_t)((int32_t)chunks + m->extra_digests));
    for (uint32_t i = 0; i < m->weights; i++)
        refs[i] = write_weight(b, &m->weight[i]);
    uint32_t weights = ipex_fb_refs(b, refs, m->weights);
    for (uint32_t i = 0; i < m->entries; i++)
        refs[i] = write_entry(b, m, &m->entry[i]);
    uint32_t entries = ipex_fb_refs(b, refs, m->entries);
    uint32_t ledger = write_ledger(b, m), pairs = write_pairs(b, m);
    uint32_t producer = text(b, m->producer);
    ipex_fb_start(b);
    ipex_fb_model_put_producer(b, producer);
    ipex_fb_model_put_sections(b, patches->sections);
    ipex_fb_model_put_weights(b, weights);
    ipex_fb_model_put_entries(b, entries);
    ipex_fb_model_put_ledger(b, ledger);
    ipex_fb_model_put_metadata(b, pairs);
    ipex_fb_model_put_chunk_digests(b, patches->digests);
    return ipex_fb_end(b);
}

/* Lays the sections down and fills them with a counter. Returns the size of the file. */
static uint64_t place_sections(const struct maker_model *m, struct ipex_fb_section *sections,
                               uint8_t *bytes, uint64_t end) {
    for (uint32_t i = 0; i < m->sections; i++) {
        uint64_t begin = (end + IPEX_SECTION_ALIGN - 1) & ~(uint64_t)(IPEX_SECTION_ALIGN - 1);
        if (!m->keep_offsets)
            sections[i].offset = begin;
        for (uint64_t k = 0; k < m->section[i].stored; k++)
            bytes[begin + k] = (uint8_t)(k * 7 + i);
        end = begin + m->section[i].stored;
    }
    return end;
}

static void fill_digests(const struct patches *patches, struct maker_file *file, uint8_t *digests) {
    uint64_t at = ipex_data_begin(file->metadata_size);
    for (uint32_t i = 0; i < patches->chunks; i++, at += IPEX_CHUNK_BYTES) {
        uint64_t left = file->size - at;
        size_t size = left < IPEX_CHUNK_BYTES ? (size_t)left : IPEX_CHUNK_BYTES;
        ipex_sha256(file->bytes + at, size, digests + (size_t)i * IPEX_SHA256_BYTES);
    }
}

struct maker_file maker_write(const struct maker_model *m) {
    struct ipex_fb_builder b;
    struct patches patches;
    struct maker_file file = {0};
    uint32_t size = 0;
    ipex_fb_init(&b);
    uint8_t *metadata = ipex_fb_finish(&b, write_model(&b, m, &patches), &size);
    if (!metadata)
        abort();
    uint64_t room = ipex_data_begin(size) + data_size(m);
    file.bytes = aligned_alloc(4096, (room + 4095) & ~UINT64_C(4095));
    memset(file.bytes, 0, room);
    file.metadata_size = size;
    struct ipex_fb_section *sections =
        patches.sections ? ipex_fb_patch(&b, patches.sections) : NULL;
    file.size = place_sections(m, sections, file.bytes, size);
    if (patches.digests && m->extra_digests >= 0)
        fill_digests(&patches, &file, ipex_fb_patch(&b, patches.digests));
    struct ipex_header header = {
        .file_size = file.size + m->extra_file_size, .metadata_size = size, .entries = m->entries};
    for (uint32_t i = 0; i < m->entries; i++)
        header.tensors += m->entry[i].tensors + m->repeat_tensors;
    ipex_header_seal(metadata, &header);
    memcpy(file.bytes, metadata, size);
    ipex_fb_free(&b);
    return file;
}

void maker_free(struct maker_file *file) {
    free(file->bytes);
    file->bytes = NULL;
}

void maker_repair_digest(struct maker_file *file) {
    ipex_metadata_digest(file->bytes, file->metadata_size, file->bytes + 64);
}

enum ipex_status maker_check(const struct maker_file *file, const struct ipex_report *report) {
    struct ipex_header header;
    struct ipex_fb_model model;
    IPEX_TRY(ipex_check_header(file->bytes, file->size, &header, report));
    struct ipex_tensor_info *tensors = calloc(header.tensors + 1, sizeof *tensors);
    uint8_t *copy = aligned_alloc(64, header.metadata_size); /* exact, so that ASan sees */
    memcpy(copy, file->bytes, header.metadata_size);
    enum ipex_status status = ipex_check(copy, &header, tensors, &model, report);
    free(copy);
    free(tensors);
    return status;
}
