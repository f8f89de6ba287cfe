/* SPDX-License-Identifier: Apache-2.0 */
/* Products on bf16 (profiles bf16-dp and bf16-amx), and on f32 with weights in bf16, in all the
 * ways of check_net. */
#include "tests/runtime/harness.h"

#include <stdio.h>

static const struct net_window k1 = {.kernel = 1, .stride = 1, .dilation = 1, .groups = 1};
static const struct net_window k3 = {
    .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 1};

/* What a net's products compute on. */
enum operands { WIDENED, BF16_DP, BF16_AMX };
static const char *const operand_names[] = {"with weights in bf16", "on bf16",
                                            "in profile bf16-amx"};

static void init(struct net *net, enum operands operands) {
    net_init(net);
    net->bf16_weights = operands == WIDENED;
    if (operands == BF16_AMX)
        net->arithmetic = IPEX_ARITHMETIC_bf16_amx;
}

static void check_named(struct net *net, const char *what, enum operands operands,
                        double tolerance) {
    char name[64];
    snprintf(name, sizeof name, "%s %s", what, operand_names[operands]);
    check_net(net, name, tolerance);
}

/* x as the products of a net take it: rounded, or as it is. */
static int operand(struct net *net, int x, int halo, bool rounded) {
    if (rounded)
        return net_round(net, x, halo);
    const int64_t *dims = net->tensor[x].dims;
    const int copy = net_halo(net, NET_DIMS(dims[0], dims[1], dims[2], dims[3]), halo);
    net_node(net, IPEX_OP_copy, copy, NET_IN(x), 0, NULL, 0, NULL);
    return copy;
}

/* Odd and even K, borders, groups, dilation, a residual, a slice of a concatenation. */
static void test_conv(enum operands operands) {
    const bool rounded = operands != WIDENED;
    struct net net;
    init(&net, operands);
    const int x = net_input(&net, NET_DIMS(2, 11, 9, 6));
    const int xh = operand(&net, x, 2, rounded);
    const int cat = net_tensor(&net, NET_DIMS(2, 11, 9, 35));
    const int left = net_slice(&net, cat, 3, 0, 19), right = net_slice(&net, cat, 3, 19, 16);
    const struct net_window grouped = {
        .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 2};
    const struct net_window dilated = {
        .kernel = 3, .stride = 2, .pad = 2, .dilation = 2, .groups = 1};
    net_conv(&net, xh, left, k3, true, -1, IPEX_ACT_relu);
    net_conv(&net, xh, right, grouped, false, -1, IPEX_ACT_leaky_relu);
    const int all = operand(&net, cat, 2, rounded);
    const int y = net_tensor(&net, NET_DIMS(2, 6, 5, 33));
    const int z = net_tensor(&net, NET_DIMS(2, 11, 9, 35));
    net_conv(&net, all, y, dilated, true, -1, IPEX_ACT_clip);
    net_conv(&net, all, z, k1, true, cat, IPEX_ACT_none);
    const int v = net_tensor(&net, NET_DIMS(2, 11, 9, 35));
    net_conv(&net, xh, v, (struct net_window){3, 1, 1, 1, 1, true}, true, z, IPEX_ACT_relu);
    net_output(&net, v);
    net_output(&net, y);
    net_output(&net, z);
    check_named(&net, "conv", operands, 0);
}

static void test_linear(enum operands operands) {
    const bool rounded = operands != WIDENED;
    struct net net;
    init(&net, operands);
    const int x = net_input(&net, NET_DIMS(3, 7, 37));
    const int xr = rounded ? net_round(&net, x, 0) : x;
    const int a = net_tensor(&net, NET_DIMS(3, 7, 70)), b = net_tensor(&net, NET_DIMS(3, 7, 37));
    net_linear(&net, xr, a, true, -1, IPEX_ACT_relu);
    net_linear(&net, rounded ? net_round(&net, a, 0) : a, b, false, x, IPEX_ACT_none);
    net_output(&net, a);
    net_output(&net, b);
    check_named(&net, "linear", operands, 0);
}

/* Back to f32, and a constant as the operand of a cast. */
static void test_casts(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 5, 7, 9));
    const int c = net_constant(&net, NET_DIMS(3, 11));
    const int back = net_tensor(&net, NET_DIMS(2, 5, 7, 9));
    const int constant = net_tensor(&net, NET_DIMS(3, 11));
    net_node(&net, IPEX_OP_cast, back, NET_IN(net_round(&net, x, 1)), 0, NULL, 0, NULL);
    net_node(&net, IPEX_OP_cast, constant, NET_IN(net_round(&net, c, 0)), 0, NULL, 0, NULL);
    net_output(&net, back);
    net_output(&net, constant);
    check_net(&net, "casts to bf16 and back", 0);
}

/* Band groups, of which the first member reads bf16, of several images and lines. */
static void test_bands(enum operands operands) {
    const bool rounded = operands != WIDENED;
    struct net net;
    init(&net, operands);
    const int x = net_input(&net, NET_DIMS(3, 14, 9, 6));
    const int a = net_halo(&net, NET_DIMS(3, 14, 9, 40), 1);
    const int b = net_tensor(&net, NET_DIMS(3, 14, 9, 40));
    const struct net_window depthwise = k3;
    net_conv(&net, operand(&net, x, 1, rounded), a, k3, true, -1, IPEX_ACT_relu);
    net.node[net.nodes - 1].band = 1;
    net_depthwise(&net, a, b, depthwise, true, IPEX_ACT_relu);
    net.node[net.nodes - 1].band = 1;
    net_output(&net, b);
    net.l2_bytes = 6000;
    check_named(&net, "bands", operands, 0);
}

/* A tensor that is written in bf16, with a halo. */
static int stored(struct net *net, int rank, const int64_t *dims, int halo) {
    const int ret = net_typed(net, IPEX_DTYPE_bf16, rank, dims);
    for (int side = 0; side < 4; side++)
        net->tensor[ret].halo[side] = (uint16_t)halo;
    return ret;
}

/* Results and residuals in bf16, in both combinations with f32: clamps and others, groups, blocks
 * of few and of many rows and panels, slices of a concatenation, K in parts. */
static void test_stored(enum operands operands) {
    struct net net;
    init(&net, operands);
    const int x = net_input(&net, NET_DIMS(2, 13, 15, 22));
    const int xr = net_round(&net, x, 1);
    const int cat = stored(&net, NET_DIMS(2, 13, 15, 72), 1);
    const int left = net_slice(&net, cat, 3, 0, 38), right = net_slice(&net, cat, 3, 38, 34);
    const struct net_window grouped = {
        .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 2};
    net_conv(&net, xr, left, grouped, true, -1, IPEX_ACT_leaky_relu);
    net_conv(&net, xr, right, k3, true, -1, IPEX_ACT_relu);
    const int a = stored(&net, NET_DIMS(2, 13, 15, 72), 0);
    const int b = stored(&net, NET_DIMS(2, 13, 15, 72), 0);
    const int c = net_tensor(&net, NET_DIMS(2, 13, 15, 72));
    const int d = stored(&net, NET_DIMS(2, 13, 15, 72), 0);
    net_conv(&net, cat, a, k1, true, cat, IPEX_ACT_relu);
    net_conv(&net, a, b, k1, false, a, IPEX_ACT_leaky_relu);
    net_conv(&net, cat, c, (struct net_window){3, 1, 1, 1, 1, true}, true, b, IPEX_ACT_clip);
    net_conv(&net, b, d, k1, true, c, IPEX_ACT_none);
    const int y = net_tensor(&net, NET_DIMS(2, 13, 15, 9));
    net_conv(&net, d, y, k1, true, -1, IPEX_ACT_none);
    net_output(&net, y);
    net_output(&net, c);
    net.l2_bytes = 30000;
    check_named(&net, "stored: conv", operands, 0);
}

static void test_stored_linear(enum operands operands) {
    struct net net;
    init(&net, operands);
    const int x = net_round(&net, net_input(&net, NET_DIMS(3, 29, 37)), 0);
    const int a = stored(&net, NET_DIMS(3, 29, 130), 0), b = stored(&net, NET_DIMS(3, 29, 130), 0);
    const int c = stored(&net, NET_DIMS(3, 29, 24), 0), y = net_tensor(&net, NET_DIMS(3, 29, 7));
    net_linear(&net, x, a, true, -1, IPEX_ACT_leaky_relu);
    net_linear(&net, a, b, false, a, IPEX_ACT_none);
    net_linear(&net, b, c, true, -1, IPEX_ACT_clip);
    net_linear(&net, c, y, true, -1, IPEX_ACT_none);
    net_output(&net, y);
    check_named(&net, "stored: linear", operands, 0);
}

/* Expand, depthwise, project, by lines and band by band; what lies between is f32, then bf16. */
static void test_stored_bands(enum operands operands) {
    struct net net;
    init(&net, operands);
    const int x = net_input(&net, NET_DIMS(2, 19, 11, 12));
    const int a = net_halo(&net, NET_DIMS(2, 19, 11, 52), 1);
    const int b = stored(&net, NET_DIMS(2, 10, 6, 52), 1),
              c = stored(&net, NET_DIMS(2, 10, 6, 20), 0);
    const int d = stored(&net, NET_DIMS(2, 10, 6, 20), 0),
              y = net_tensor(&net, NET_DIMS(2, 10, 6, 5));
    const struct net_window half = {.kernel = 3, .stride = 2, .pad = 1, .dilation = 1, .groups = 1};
    net_conv(&net, net_round(&net, x, 0), a, k1, true, -1, IPEX_ACT_leaky_relu);
    net.node[net.nodes - 1].band = 1;
    net_depthwise(&net, a, b, half, true, IPEX_ACT_leaky_relu);
    net.node[net.nodes - 1].band = 1;
    net_conv(&net, b, c, k3, true, -1, IPEX_ACT_none);
    net.node[net.nodes - 1].band = 1;
    net_conv(&net, c, d, k1, true, c, IPEX_ACT_relu);
    net_conv(&net, d, y, k1, true, -1, IPEX_ACT_none);
    net_output(&net, y);
    net.l2_bytes = 9000;
    check_named(&net, "stored: bands", operands, 0);
}

/* Broadcast batches, odd K, rows of odd length, one column and few rows. */
static void test_matmul(enum operands operands) {
    struct net net;
    init(&net, operands);
    const int a = net_round(&net, net_input(&net, NET_DIMS(2, 3, 17, 20)), 0);
    const int b = net_round(&net, net_input(&net, NET_DIMS(3, 20, 35)), 0);
    const int c = net_round(&net, net_input(&net, NET_DIMS(2, 1, 35, 20)), 0);
    const int d = net_round(&net, net_input(&net, NET_DIMS(130, 301)), 0);
    const int e = net_round(&net, net_constant(&net, NET_DIMS(301, 77)), 0);
    const int part = net_slice(&net, a, 3, 3, 9), narrow = net_slice(&net, b, 1, 4, 9);
    const int column = net_slice(&net, e, 1, 7, 1);
    const struct {
        int a, b, trans_b, y;
    } cases[] = {
        {a, b, 0, net_tensor(&net, NET_DIMS(2, 3, 17, 35))},
        {a, c, 1, net_tensor(&net, NET_DIMS(2, 3, 17, 35))},
        {part, narrow, 0, net_tensor(&net, NET_DIMS(2, 3, 17, 35))},
        {d, e, 0, net_tensor(&net, NET_DIMS(130, 77))},
        {d, column, 0, net_tensor(&net, NET_DIMS(130, 1))},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        net_node(&net, IPEX_OP_matmul, cases[i].y, NET_IN(cases[i].a, cases[i].b),
                 NET_INTS_(cases[i].trans_b, 0, 0), NET_FLOATS(i == 1 ? 0.125f : 1.0f, 0, 0));
        net_output(&net, cases[i].y);
    }
    check_named(&net, "matmul", operands, 0);
}

/* The oracle does not round e: weights of a mean are off by 2^-8. */
static void test_attention(enum operands operands) {
    struct net net;
    init(&net, operands);
    const int q = net_round(&net, net_input(&net, NET_DIMS(2, 4, 33, 21)), 0);
    const int k = net_round(&net, net_input(&net, NET_DIMS(2, 2, 41, 21)), 0);
    const int v = net_round(&net, net_input(&net, NET_DIMS(2, 2, 41, 23)), 0);
    const int mask = net_input(&net, NET_DIMS(2, 1, 1, 41));
    const int y = net_tensor(&net, NET_DIMS(2, 4, 33, 23));
    const int z = net_tensor(&net, NET_DIMS(2, 4, 33, 23));
    net_node(&net, IPEX_OP_attention, y, NET_IN(q, k, v), NET_INTS_(1, 0), NET_FLOATS(0.4f));
    net_node(&net, IPEX_OP_attention, z, NET_IN(q, k, v, mask), NET_INTS_(0, 0), NET_FLOATS(0.4f));
    net_output(&net, y);
    net_output(&net, z);
    check_named(&net, "attention", operands, 0x1p-8);
}

static void test_conv_transpose(enum operands operands) {
    const bool rounded = operands != WIDENED;
    struct net net;
    init(&net, operands);
    const int x = operand(&net, net_input(&net, NET_DIMS(2, 5, 7, 10)), 1, rounded);
    const struct net_window up = {.kernel = 3, .stride = 2, .pad = 1, .dilation = 1, .groups = 1};
    const struct net_window grouped = {.kernel = 2, .stride = 2, .dilation = 1, .groups = 2};
    const int y = net_tensor(&net, NET_DIMS(2, 10, 14, 35));
    const int z = net_tensor(&net, NET_DIMS(2, 10, 14, 6));
    net_conv_transpose(&net, x, y, up, 1, true, IPEX_ACT_relu);
    net_conv_transpose(&net, x, z, grouped, 0, false, IPEX_ACT_none);
    net_output(&net, y);
    net_output(&net, z);
    check_named(&net, "conv_transpose", operands, 0);
}

static void test_recurrent(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(5, 3, 7));
    const int w = net_tiles(&net, IPEX_DTYPE_bf16, NET_DIMS(2, 1, 36, 1, 7));
    const int r = net_tiles(&net, IPEX_DTYPE_bf16, NET_DIMS(2, 1, 36, 1, 9));
    const int gw = net_tiles(&net, IPEX_DTYPE_bf16, NET_DIMS(1, 1, 60, 1, 7));
    const int gr = net_tiles(&net, IPEX_DTYPE_bf16, NET_DIMS(1, 1, 60, 1, 20));
    const int y = net_tensor(&net, NET_DIMS(5, 2, 3, 9)),
              z = net_tensor(&net, NET_DIMS(5, 1, 3, 20));
    const int h = net_tensor(&net, NET_DIMS(2, 3, 9)), c = net_tensor(&net, NET_DIMS(2, 3, 9));
    const int g = net_tensor(&net, NET_DIMS(1, 3, 20));
    net_node(&net, IPEX_OP_lstm, y, NET_IN(x, w, r), NET_INTS_(2, 0), 0, NULL);
    net_also(&net, h);
    net_also(&net, c);
    net_node(&net, IPEX_OP_gru, z, NET_IN(x, gw, gr), NET_INTS_(1, 1, 1), 0, NULL);
    net_also(&net, g);
    const int outputs[] = {y, h, c, z, g};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        net_output(&net, outputs[i]);
    check_net(&net, "lstm and gru with weights in bf16", 1e-5);
}

int main(void) {
    for (int operands = WIDENED; operands <= BF16_AMX; operands++) {
        test_conv((enum operands)operands);
        test_linear((enum operands)operands);
        test_conv_transpose((enum operands)operands);
        test_bands((enum operands)operands);
    }
    for (int operands = BF16_DP; operands <= BF16_AMX; operands++) {
        test_stored((enum operands)operands);
        test_stored_linear((enum operands)operands);
        test_stored_bands((enum operands)operands);
        test_matmul((enum operands)operands);
        test_attention((enum operands)operands);
    }
    test_recurrent();
    test_casts();
    return check_result();
}
