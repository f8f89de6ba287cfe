/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator through file, session and run: small models against the oracle, bit for bit, at
 * every level of this machine, with one thread, a pool and a caller's parallel_for, with inputs and
 * outputs plain, strided, misaligned and as views. */
#include "tests/runtime/harness.h"

#include <stdio.h>

static const struct net_window k1 = {.kernel = 1, .stride = 1, .dilation = 1, .groups = 1};
static const struct net_window k3 = {
    .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 1};

static void test_conv_halo(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 11, 9, 5));
    const int xh = net_halo(&net, NET_DIMS(2, 11, 9, 5), 1);
    const int a = net_halo(&net, NET_DIMS(2, 11, 9, 19), 2); /* wider than its reader needs */
    const int b = net_tensor(&net, NET_DIMS(2, 6, 5, 33));
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_conv(&net, xh, a, k3, true, -1, IPEX_ACT_relu);
    struct net_window down = k3;
    down.stride = 2;
    net_conv(&net, a, b, down, false, -1, IPEX_ACT_leaky_relu);
    net_output(&net, b);
    check_net(&net, "conv over halos", 0);
}

/* Kernels taken column by column: of 3x3 and 5x5, stride 2, with a residual; a last column of x
 * that windows do not reach; and what the attribute changes nothing of: one line, one column, a
 * kernel of which no column lies in x for all of y. */
static void test_columns(void) {
    struct net net;
    net_init(&net);
    const struct net_window columns = {3, 1, 1, 1, 1, true}, down = {3, 2, 1, 1, 1, true};
    const struct net_window wide = {5, 1, 2, 1, 1, true};
    const int x = net_input(&net, NET_DIMS(2, 7, 8, 6));
    const int xh = net_halo(&net, NET_DIMS(2, 7, 8, 6), 2);
    const int a = net_halo(&net, NET_DIMS(2, 7, 8, 34), 2);
    const int b = net_tensor(&net, NET_DIMS(2, 7, 8, 34));
    const int c = net_halo(&net, NET_DIMS(2, 4, 4, 20), 2);
    const int d = net_halo(&net, NET_DIMS(2, 4, 4, 20), 1);
    const int e = net_tensor(&net, NET_DIMS(2, 4, 4, 10));
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_conv(&net, xh, a, columns, true, -1, IPEX_ACT_relu);
    net_conv(&net, a, b, wide, true, a, IPEX_ACT_leaky_relu);
    net_conv(&net, a, c, down, false, -1, IPEX_ACT_leaky_relu);
    net_conv(&net, c, d, wide, true, -1, IPEX_ACT_none);
    net_conv(&net, d, e, columns, true, -1, IPEX_ACT_clip);
    net_output(&net, b);
    net_output(&net, e);
    for (int side = 0; side < 2; side++) {
        const int64_t h = side ? 5 : 1, w = side ? 1 : 5;
        const int line = net_input(&net, NET_DIMS(1, h, w, 4));
        const int halo = net_halo(&net, NET_DIMS(1, h, w, 4), 1);
        const int y = net_tensor(&net, NET_DIMS(1, h, w, 17));
        net_node(&net, IPEX_OP_copy, halo, NET_IN(line), 0, NULL, 0, NULL);
        net_conv(&net, halo, y, columns, true, -1, IPEX_ACT_relu);
        net_output(&net, y);
    }
    const int few = net_input(&net, NET_DIMS(1, 2, 2, 4));
    const int halo = net_halo(&net, NET_DIMS(1, 2, 2, 4), 2);
    const int y = net_tensor(&net, NET_DIMS(1, 2, 2, 17));
    net_node(&net, IPEX_OP_copy, halo, NET_IN(few), 0, NULL, 0, NULL);
    net_conv(&net, halo, y, wide, true, -1, IPEX_ACT_relu);
    net_output(&net, y);
    check_net(&net, "kernels by columns", 0);
}

/* A bottleneck: 1x1 flattened, 3x3, 1x1 with residual, on storages that are used again. */
static void test_residual(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(1, 12, 13, 48));
    const int a = net_halo(&net, NET_DIMS(1, 12, 13, 16), 1);
    const int b = net_tensor(&net, NET_DIMS(1, 12, 13, 16));
    const int c = net_tensor(&net, NET_DIMS(1, 12, 13, 48));
    const int d = net_tensor(&net, NET_DIMS(1, 12, 13, 20));
    net_conv(&net, x, a, k1, true, -1, IPEX_ACT_relu);
    net_conv(&net, a, b, k3, true, -1, IPEX_ACT_relu);
    net_conv(&net, b, c, k1, true, x, IPEX_ACT_relu);
    net_conv(&net, c, d, k1, false, -1, IPEX_ACT_clip);
    net_output(&net, c);
    net_output(&net, d);
    check_net(&net, "residual", 0);
}

/* Two convolutions write slices of one tensor with a halo, which a third reads; a slice is read
 * alone. */
static void test_concat(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 6, 7, 8));
    const int cat = net_halo(&net, NET_DIMS(2, 6, 7, 40), 1);
    const int left = net_slice(&net, cat, 3, 0, 24), right = net_slice(&net, cat, 3, 24, 16);
    const int y = net_tensor(&net, NET_DIMS(2, 6, 7, 17));
    const int z = net_tensor(&net, NET_DIMS(2, 6, 7, 9));
    net_conv(&net, x, left, k1, true, -1, IPEX_ACT_relu);
    net_conv(&net, x, right, k1, true, -1, IPEX_ACT_none);
    net_conv(&net, cat, y, k3, true, -1, IPEX_ACT_none);
    net_conv(&net, right, z, k1, true, -1, IPEX_ACT_none);
    net_output(&net, y);
    net_output(&net, z);
    check_net(&net, "concat by views", 0);
}

/* Tails of tiles and channels, a slice of channels as input, a halo wider than the padding, a
 * residual; few tiles (threads split panels) and many; taps that lie apart. */
static void test_winograd(int tile, const char *name) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 9, 11, 21));
    const int xh = net_halo(&net, NET_DIMS(2, 9, 11, 21), 2);
    const int part = net_slice(&net, xh, 3, 3, 17);
    const int a = net_halo(&net, NET_DIMS(2, 9, 11, 70), 1);
    const int b = net_tensor(&net, NET_DIMS(2, 9, 11, 70));
    const int c = net_tensor(&net, NET_DIMS(2, 7, 9, 5));
    const int wide = net_input(&net, NET_DIMS(1, 37, 30, 3));
    const int d = net_tensor(&net, NET_DIMS(1, 35, 28, 18));
    const int apart = net_halo(&net, NET_DIMS(1, 31, 24, 20), 5);
    const int far = net_tensor(&net, NET_DIMS(1, 31, 24, 20));
    const int other = tile == 4 ? 2 : 4;
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_winograd(&net, tile, part, a, 1, 1, true, -1, IPEX_ACT_relu);
    net_winograd(&net, tile, a, b, 1, 1, false, a, IPEX_ACT_clip);
    net_winograd(&net, other, b, c, 0, 1, true, -1, IPEX_ACT_leaky_relu);
    net_winograd(&net, tile, wide, d, 0, 1, true, -1, IPEX_ACT_none);
    net_winograd(&net, tile, wide, apart, 0, 3, false, -1, IPEX_ACT_relu);
    net_winograd(&net, tile, apart, far, 5, 5, true, apart, IPEX_ACT_leaky_relu);
    net_output(&net, b);
    net_output(&net, c);
    net_output(&net, d);
    net_output(&net, far);
    check_net(&net, name, 0);
}

/* A kernel of 5x5 and a row and a column, of taps that may lie apart, one behind the
 * other. */
static void test_winograd_kernels(int row, int column, int dilation) {
    const int kernels[3][2] = {{5, 5}, {1, row}, {column, 1}};
    struct net net;
    net_init(&net);
    int x = net_input(&net, NET_DIMS(2, 13, 18, 21)), before = -1;
    for (int i = 0; i < 3; i++) {
        const int xh = net_halo(&net, NET_DIMS(2, 13, 18, i == 0 ? 21 : 37), 2 * dilation);
        const int y = net_tensor(&net, NET_DIMS(2, 13, 18, 37));
        net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
        net_winograd_of(&net, kernels[i][0], kernels[i][1], xh, y, dilation, i != 1, before,
                        i == 2 ? IPEX_ACT_leaky_relu : IPEX_ACT_clip);
        before = x = y;
    }
    net_output(&net, x);
    char name[64];
    snprintf(name, sizeof name, "winograd of 5x5, 1x%d and %dx1, %d apart", row, column, dilation);
    check_net(&net, name, 0);
}

/* Tails of channels, a slice of channels as input, a halo wider than the padding, residuals, one of
 * them in place of the result; few pixels (threads split panels) and many; large factors. */
static void test_upsampled(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 9, 11, 21));
    const int xh = net_halo(&net, NET_DIMS(2, 9, 11, 21), 2);
    const int part = net_slice(&net, xh, 3, 3, 17);
    const int a = net_halo(&net, NET_DIMS(2, 18, 22, 37), 1);
    const int b = net_tensor(&net, NET_DIMS(2, 36, 44, 20));
    const int c = net_tensor(&net, NET_DIMS(2, 36, 44, 20));
    const int small = net_input(&net, NET_DIMS(1, 3, 2, 5));
    const int sh = net_halo(&net, NET_DIMS(1, 3, 2, 5), 1);
    const int d = net_tensor(&net, NET_DIMS(1, 24, 16, 40));
    const int wide = net_tensor(&net, NET_DIMS(1, 9, 6, 7));
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_upsampled_conv(&net, part, a, true, -1, IPEX_ACT_relu);
    net_upsampled_conv(&net, a, b, true, -1, IPEX_ACT_none);
    net_upsampled_conv(&net, a, c, false, b, IPEX_ACT_relu);
    net_node(&net, IPEX_OP_copy, sh, NET_IN(small), 0, NULL, 0, NULL);
    net_upsampled_conv(&net, sh, d, true, -1, IPEX_ACT_leaky_relu);
    net_upsampled_conv(&net, sh, wide, false, -1, IPEX_ACT_clip);
    net_output(&net, c);
    net_output(&net, d);
    net_output(&net, wide);
    check_net(&net, "convolutions of upsampled images", 0);
}

static void test_groups(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(1, 9, 8, 12));
    const int xh = net_halo(&net, NET_DIMS(1, 9, 8, 12), 2);
    const int y = net_tensor(&net, NET_DIMS(1, 9, 8, 36));
    const int z = net_tensor(&net, NET_DIMS(1, 9, 8, 10));
    const int v = net_tensor(&net, NET_DIMS(1, 9, 8, 20));
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    const struct net_window grouped = {
        .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 3};
    const struct net_window dilated = {
        .kernel = 3, .stride = 1, .pad = 2, .dilation = 2, .groups = 1};
    const struct net_window grouped1 = {.kernel = 1, .stride = 1, .dilation = 1, .groups = 2};
    net_conv(&net, xh, y, grouped, true, -1, IPEX_ACT_relu);
    net_conv(&net, xh, z, dilated, false, -1, IPEX_ACT_relu);
    net_conv(&net, xh, v, grouped1, true, -1, IPEX_ACT_none);
    net_output(&net, y);
    net_output(&net, z);
    net_output(&net, v);
    check_net(&net, "conv with groups and dilation", 0);
}

static void test_depthwise(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 10, 7, 21));
    const int xh = net_halo(&net, NET_DIMS(2, 10, 7, 21), 1);
    const int y = net_halo(&net, NET_DIMS(2, 10, 7, 21), 2);
    const int z = net_tensor(&net, NET_DIMS(2, 5, 4, 21));
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_depthwise(&net, xh, y, k3, true, IPEX_ACT_clip);
    const struct net_window k5 = {.kernel = 5, .stride = 2, .pad = 2, .dilation = 1, .groups = 1};
    net_depthwise(&net, y, z, k5, false, IPEX_ACT_none);
    net_output(&net, z);
    check_net(&net, "depthwise", 0);
}

static void test_narrow_groups(void) {
    const struct net_window fours = {
        .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 5};
    const struct net_window twice = {
        .kernel = 5, .stride = 2, .pad = 2, .dilation = 1, .groups = 20};
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 10, 7, 20));
    const int xh = net_halo(&net, NET_DIMS(2, 10, 7, 20), 1);
    const int y = net_halo(&net, NET_DIMS(2, 10, 7, 20), 2);
    const int z = net_tensor(&net, NET_DIMS(2, 5, 4, 40));
    const int v = net_tensor(&net, NET_DIMS(2, 10, 7, 40));
    const struct net_window fours_of_two = {
        .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 10};
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_depthwise(&net, xh, y, fours, true, IPEX_ACT_clip);
    net_depthwise(&net, y, z, twice, false, IPEX_ACT_none);
    net_depthwise(&net, xh, v, fours_of_two, true, IPEX_ACT_leaky_relu);
    net_output(&net, z);
    net_output(&net, v);
    check_net(&net, "narrow groups: 4 to 4, 1 to 2, 2 to 4", 0);
}

static void test_pools(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 9, 8, 18));
    const int y = net_halo(&net, NET_DIMS(2, 5, 4, 18), 1);
    const int z = net_tensor(&net, NET_DIMS(2, 5, 4, 18));
    const int v = net_tensor(&net, NET_DIMS(2, 5, 4, 18));
    const struct net_window down = {.kernel = 3, .stride = 2, .pad = 1, .dilation = 1};
    const struct net_window same = {.kernel = 3, .stride = 1, .pad = 1, .dilation = 1};
    net_pool(&net, IPEX_OP_max_pool, x, y, down, false);
    net_pool(&net, IPEX_OP_avg_pool, y, z, same, false);
    net_pool(&net, IPEX_OP_avg_pool, y, v, same, true);
    net_output(&net, z);
    net_output(&net, v);
    check_net(&net, "pools", 0);
}

static void test_linear(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 50, 37));
    const int wide = net_tensor(&net, NET_DIMS(2, 50, 40));
    const int part = net_slice(&net, wide, 2, 3, 20);
    const int y = net_tensor(&net, NET_DIMS(2, 50, 20));
    const int row = net_input(&net, NET_DIMS(70));
    const int row_y = net_tensor(&net, NET_DIMS(130));
    net_linear(&net, x, wide, true, -1, IPEX_ACT_relu);
    net_linear(&net, part, y, true, part, IPEX_ACT_none);
    net_linear(&net, row, row_y, false, -1, IPEX_ACT_none);
    net_output(&net, y);
    net_output(&net, row_y);
    check_net(&net, "linear", 0);
}

/* Rows of x, y and residual that no stride joins: dense copies in and out. */
static void test_linear_gaps(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(3, 5, 4, 7));
    const int part = net_slice(&net, x, 1, 1, 3);
    const int wide = net_tensor(&net, NET_DIMS(3, 6, 4, 9));
    const int top = net_slice(&net, wide, 1, 0, 3), bottom = net_slice(&net, wide, 1, 3, 3);
    net_linear(&net, part, top, true, -1, IPEX_ACT_relu);
    net_linear(&net, part, bottom, false, -1, IPEX_ACT_none);
    net_output(&net, wide);
    check_net(&net, "linear over gaps", 0);
}

static void test_pointwise(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 6, 5, 24));
    const int channel = net_input(&net, NET_DIMS(24));
    const int image = net_constant(&net, NET_DIMS(2, 1, 1, 1));
    const int pixel = net_input(&net, NET_DIMS(6, 5, 1));
    const int y = net_halo(&net, NET_DIMS(2, 6, 5, 24), 1);
    const int z = net_tensor(&net, NET_DIMS(2, 6, 5, 24));
    /* ((x * channel + image) - pixel) * (x * channel) max 0.25 */
    const int32_t program[] = {IPEX_STEP_mul, 0,  1,  IPEX_STEP_add, 16, 2,  IPEX_STEP_sub, 17, 3,
                               IPEX_STEP_mul, 18, 16, IPEX_STEP_max, 19, -1, IPEX_STEP_neg, 20, 20};
    net_node(&net, IPEX_OP_pointwise, y, NET_IN(x, channel, image, pixel), 18, program,
             NET_FLOATS(0.25f));
    net_node(&net, IPEX_OP_pointwise, z, NET_IN(y, y), NET_INTS_(IPEX_STEP_add, 0, 1), 0, NULL);
    net_output(&net, z);
    check_net(&net, "pointwise with broadcast", 0);
}

/* One channel of several: no axis with a stride of 1. */
static void test_pointwise_gaps(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(3, 40, 1));
    const int wide = net_tensor(&net, NET_DIMS(3, 40, 3));
    const int a = net_slice(&net, wide, 2, 0, 1), b = net_slice(&net, wide, 2, 1, 2);
    const int big = net_tensor(&net, NET_DIMS(1, 30000));
    const int one = net_input(&net, NET_DIMS(1, 30000));
    net_node(&net, IPEX_OP_pointwise, a, NET_IN(x), NET_INTS_(IPEX_STEP_add, 0, 0), 0, NULL);
    const int two = net_constant(&net, NET_DIMS(2));
    net_node(&net, IPEX_OP_pointwise, b, NET_IN(x, two), NET_INTS_(IPEX_STEP_mul, 0, 1), 0, NULL);
    net_node(&net, IPEX_OP_pointwise, big, NET_IN(one), NET_INTS_(IPEX_STEP_neg, 0, 0), 0, NULL);
    net_output(&net, wide);
    net_output(&net, big);
    check_net(&net, "pointwise over gaps", 0);
}

static void test_moves(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 3, 17, 20));
    const int nhwc = net_halo(&net, NET_DIMS(2, 17, 20, 3), 1);
    const int back = net_tensor(&net, NET_DIMS(2, 3, 17, 20));
    const int flat = net_reshape(&net, back, NET_DIMS(6, 340));
    const int cols = net_tensor(&net, NET_DIMS(340, 6));
    const int padded = net_tensor(&net, NET_DIMS(2, 19, 20, 8));
    const int sliced = net_tensor(&net, NET_DIMS(2, 6, 7, 3));
    const int odd = net_tensor(&net, NET_DIMS(20, 17, 3, 2));
    net_node(&net, IPEX_OP_transpose, nhwc, NET_IN(x), NET_INTS_(0, 2, 3, 1), 0, NULL);
    net_node(&net, IPEX_OP_transpose, back, NET_IN(nhwc), NET_INTS_(0, 3, 1, 2), 0, NULL);
    net_node(&net, IPEX_OP_transpose, cols, NET_IN(flat), NET_INTS_(1, 0), 0, NULL);
    net_node(&net, IPEX_OP_pad, padded, NET_IN(nhwc),
             NET_INTS_(0, 2, 0, 1, 0, 0, 0, 4, IPEX_PAD_constant), NET_FLOATS(1.5f));
    net_node(&net, IPEX_OP_slice, sliced, NET_IN(nhwc), NET_INTS_(1, 15, 0, 0, -1, -2, 3, 1), 0,
             NULL);
    net_node(&net, IPEX_OP_transpose, odd, NET_IN(x), NET_INTS_(3, 2, 1, 0), 0, NULL);
    net_output(&net, back);
    net_output(&net, cols);
    net_output(&net, padded);
    net_output(&net, sliced);
    net_output(&net, odd);
    check_net(&net, "transpose, pad, slice", 0);
}

/* Ports, constants, views and moves of every dtype: two halves of a storage, one turned, the other
 * constant; of which a slice is turned back. */
static void test_dtypes(void) {
    static const enum ipex_dtype dtypes[] = {IPEX_DTYPE_f32, IPEX_DTYPE_i64, IPEX_DTYPE_i32,
                                             IPEX_DTYPE_i8,  IPEX_DTYPE_u8,  IPEX_DTYPE_bool};
    struct net net;
    net_init(&net);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        const int x = net_typed_input(&net, dtypes[i], NET_DIMS(3, 5, 4));
        const int c = net_typed_constant(&net, dtypes[i], NET_DIMS(4, 5, 2));
        const int both = net_typed(&net, dtypes[i], NET_DIMS(4, 5, 5));
        const int left = net_slice(&net, both, 2, 0, 3), right = net_slice(&net, both, 2, 3, 2);
        const int y = net_typed(&net, dtypes[i], NET_DIMS(5, 2, 4));
        net_node(&net, IPEX_OP_transpose, left, NET_IN(x), NET_INTS_(2, 1, 0), 0, NULL);
        net_node(&net, IPEX_OP_copy, right, NET_IN(c), 0, NULL, 0, NULL);
        net_node(&net, IPEX_OP_transpose, y, NET_IN(net_slice(&net, both, 2, 2, 2)),
                 NET_INTS_(1, 2, 0), 0, NULL);
        net_output(&net, y);
    }
    check_net(&net, "moves of every dtype", 0);
}

static void test_reduce(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 5, 7, 18));
    const int xh = net_halo(&net, NET_DIMS(2, 5, 7, 18), 1);
    const int part = net_slice(&net, x, 3, 2, 9);
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    const struct {
        int x, kind, axes, y;
    } cases[] = {
        {x, IPEX_REDUCE_mean, 6, net_tensor(&net, NET_DIMS(2, 1, 1, 18))},
        {xh, IPEX_REDUCE_mean, 6, net_tensor(&net, NET_DIMS(2, 1, 1, 18))},
        {x, IPEX_REDUCE_sum, 8, net_tensor(&net, NET_DIMS(2, 5, 7, 1))},
        {xh, IPEX_REDUCE_max, 14, net_tensor(&net, NET_DIMS(2, 1, 1, 1))},
        {x, IPEX_REDUCE_sum, 10, net_tensor(&net, NET_DIMS(2, 1, 7, 1))},
        {xh, IPEX_REDUCE_min, 5, net_tensor(&net, NET_DIMS(1, 5, 1, 18))},
        {part, IPEX_REDUCE_sum, 4, net_halo(&net, NET_DIMS(2, 5, 1, 9), 1)},
        {part, IPEX_REDUCE_sum, 15, net_tensor(&net, NET_DIMS(1, 1, 1, 1))},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        net_node(&net, IPEX_OP_reduce, cases[i].y, NET_IN(cases[i].x),
                 NET_INTS_(cases[i].kind, cases[i].axes), 0, NULL);
        if (net.tensor[cases[i].y].halo[0] == 0)
            net_output(&net, cases[i].y);
    }
    check_net(&net, "reduce", 0);
}

static void test_softmax(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(3, 4, 5, 33));
    const int part = net_slice(&net, x, 1, 1, 2);
    const int y = net_tensor(&net, NET_DIMS(3, 4, 5, 33));
    const int z = net_halo(&net, NET_DIMS(3, 2, 5, 33), 1);
    const int out = net_tensor(&net, NET_DIMS(3, 2, 5, 33));
    net_node(&net, IPEX_OP_softmax, y, NET_IN(x), 0, NULL, 0, NULL);
    net_node(&net, IPEX_OP_softmax, z, NET_IN(part), 0, NULL, 0, NULL);
    net_node(&net, IPEX_OP_copy, out, NET_IN(z), 0, NULL, 0, NULL);
    net_output(&net, y);
    net_output(&net, out);
    check_net(&net, "softmax", 1e-6);
}

/* Long enough for several jobs: blocks, chunks and tails. */
static void test_large(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(1, 40, 41, 64));
    const int xh = net_halo(&net, NET_DIMS(1, 40, 41, 64), 1);
    const int a = net_halo(&net, NET_DIMS(1, 40, 41, 96), 1);
    const int b = net_tensor(&net, NET_DIMS(1, 40, 41, 96));
    const int c = net_tensor(&net, NET_DIMS(1, 20, 20, 112));
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_conv(&net, xh, a, k3, true, -1, IPEX_ACT_relu);
    net_depthwise(&net, a, b, k3, true, IPEX_ACT_relu);
    const struct net_window down = {.kernel = 2, .stride = 2, .dilation = 1, .groups = 1};
    net_conv(&net, b, c, down, true, -1, IPEX_ACT_none);
    net_output(&net, c);
    check_net(&net, "large", 0);
}

/* One line of many pixels, cut into rows of a matrix; of two images, in groups, with a residual. */
static void test_signal(int groups, int stride) {
    struct net_window window = k3;
    struct net net;
    const int64_t pixels = 1 + (200 - 3) / stride;
    window.pad = 0;
    window.stride = stride;
    window.groups = groups;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 3, 200, 6));
    const int r = net_input(&net, NET_DIMS(2, 1, pixels, 34));
    const int y = net_tensor(&net, NET_DIMS(2, 1, pixels, 34));
    net_conv(&net, x, y, window, true, r, IPEX_ACT_leaky_relu);
    net_output(&net, y);
    check_net(&net, groups > 1 ? "signal in groups" : "signal", 0);
}

int main(void) {
    test_conv_halo();
    test_columns();
    test_signal(1, 1);
    test_signal(2, 2);
    test_residual();
    test_concat();
    test_winograd(4, "winograd");
    test_winograd(2, "winograd of small tiles");
    for (int taps = 3; taps <= 5; taps++)
        test_winograd_kernels(taps, 8 - taps, taps - 2);
    test_upsampled();
    test_groups();
    test_depthwise();
    test_narrow_groups();
    test_pools();
    test_linear();
    test_linear_gaps();
    test_pointwise();
    test_pointwise_gaps();
    test_moves();
    test_dtypes();
    test_reduce();
    test_softmax();
    test_large();
    return check_result();
}
