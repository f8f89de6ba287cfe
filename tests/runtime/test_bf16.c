/* SPDX-License-Identifier: Apache-2.0 */
/* Products on bf16 (profile bf16-dp), and on f32 with weights in bf16, in all the ways of
 * check_net. */
#include "tests/runtime/harness.h"

static const struct net_window k1 = {.kernel = 1, .stride = 1, .dilation = 1, .groups = 1};
static const struct net_window k3 = {
    .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 1};

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
static void test_conv(bool rounded, const char *name) {
    struct net net;
    net_init(&net);
    net.bf16_weights = !rounded;
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
    net_output(&net, y);
    net_output(&net, z);
    check_net(&net, name, 0);
}

static void test_linear(bool rounded, const char *name) {
    struct net net;
    net_init(&net);
    net.bf16_weights = !rounded;
    const int x = net_input(&net, NET_DIMS(3, 7, 37));
    const int xr = rounded ? net_round(&net, x, 0) : x;
    const int a = net_tensor(&net, NET_DIMS(3, 7, 70)), b = net_tensor(&net, NET_DIMS(3, 7, 37));
    net_linear(&net, xr, a, true, -1, IPEX_ACT_relu);
    net_linear(&net, rounded ? net_round(&net, a, 0) : a, b, false, x, IPEX_ACT_none);
    net_output(&net, a);
    net_output(&net, b);
    check_net(&net, name, 0);
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
static void test_bands(bool rounded, const char *name) {
    struct net net;
    net_init(&net);
    net.bf16_weights = !rounded;
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
    check_net(&net, name, 0);
}

int main(void) {
    test_conv(true, "conv on bf16");
    test_conv(false, "conv with weights in bf16");
    test_linear(true, "linear on bf16");
    test_linear(false, "linear with weights in bf16");
    test_casts();
    test_bands(true, "bands on bf16");
    test_bands(false, "bands with weights in bf16");
    return check_result();
}
