/* SPDX-License-Identifier: Apache-2.0 */
/* Operators 17 to 28, scatter, grid_sample and pad's modes through file, session and run, as
 * test_operators.c does it for the others: over halos, slices and broadcasts, in every dtype that
 * they take. */
#include "tests/runtime/harness.h"

static const enum ipex_dtype all_dtypes[] = {IPEX_DTYPE_f32, IPEX_DTYPE_i64, IPEX_DTYPE_i32,
                                             IPEX_DTYPE_i8,  IPEX_DTYPE_u8,  IPEX_DTYPE_bool};
enum { ALL_DTYPES = sizeof all_dtypes / sizeof *all_dtypes };

/* 2x2 stride 2, 4x4 stride 2 out of a halo into one, 3x3 stride 2 with output padding into a slice,
 * groups with dilation, and a kernel with gaps that no tap reaches. */
static void test_conv_transpose(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 5, 6, 20));
    const int xh = net_halo(&net, NET_DIMS(2, 5, 6, 20), 1);
    const int a = net_tensor(&net, NET_DIMS(2, 10, 12, 33));
    const int b = net_halo(&net, NET_DIMS(2, 10, 12, 16), 2);
    const int wide = net_tensor(&net, NET_DIMS(2, 10, 12, 24));
    const int left = net_slice(&net, wide, 3, 0, 7), right = net_slice(&net, wide, 3, 7, 17);
    const int c = net_tensor(&net, NET_DIMS(2, 13, 15, 12));
    const int d = net_tensor(&net, NET_DIMS(2, 13, 16, 3));
    const struct net_window k2 = {.kernel = 2, .stride = 2, .dilation = 1, .groups = 1};
    const struct net_window k4 = {.kernel = 4, .stride = 2, .pad = 1, .dilation = 1, .groups = 1};
    const struct net_window k3 = {.kernel = 3, .stride = 2, .pad = 1, .dilation = 1, .groups = 1};
    const struct net_window grouped = {.kernel = 3, .stride = 2, .dilation = 2, .groups = 4};
    const struct net_window sparse = {.kernel = 1, .stride = 3, .dilation = 1, .groups = 1};
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_conv_transpose(&net, x, a, k2, 0, true, IPEX_ACT_relu);
    net_conv_transpose(&net, xh, b, k4, 0, true, IPEX_ACT_leaky_relu);
    net_conv_transpose(&net, x, left, k3, 1, false, IPEX_ACT_none);
    net_node(&net, IPEX_OP_copy, right, NET_IN(net_slice(&net, a, 3, 16, 17)), 0, NULL, 0, NULL);
    net_conv_transpose(&net, x, c, grouped, 0, true, IPEX_ACT_clip);
    net_conv_transpose(&net, x, d, sparse, 0, true, IPEX_ACT_none);
    const int out = net_tensor(&net, NET_DIMS(2, 10, 12, 16));
    net_node(&net, IPEX_OP_copy, out, NET_IN(b), 0, NULL, 0, NULL);
    net_output(&net, a);
    net_output(&net, out);
    net_output(&net, wide);
    net_output(&net, c);
    net_output(&net, d);
    check_net(&net, "conv_transpose", 0);
}

static void test_large_conv_transpose(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(1, 17, 19, 64));
    const int y = net_tensor(&net, NET_DIMS(1, 34, 38, 80));
    const struct net_window k4 = {.kernel = 4, .stride = 2, .pad = 1, .dilation = 1, .groups = 1};
    net_conv_transpose(&net, x, y, k4, 0, true, IPEX_ACT_relu);
    net_output(&net, y);
    check_net(&net, "large conv_transpose", 0);
}

static void test_resize(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 5, 6, 20));
    const int xh = net_halo(&net, NET_DIMS(2, 5, 6, 20), 1);
    const int part = net_slice(&net, x, 3, 3, 9);
    const int near = net_tensor(&net, NET_DIMS(2, 10, 12, 20));
    const int nearh = net_halo(&net, NET_DIMS(2, 15, 18, 9), 1);
    const int linear = net_tensor(&net, NET_DIMS(2, 10, 12, 20));
    const int down = net_tensor(&net, NET_DIMS(2, 3, 4, 20));
    const int out = net_tensor(&net, NET_DIMS(2, 15, 18, 9));
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_node(&net, IPEX_OP_resize, near, NET_IN(x),
             NET_INTS_(IPEX_RESIZE_nearest, IPEX_RESIZE_asymmetric, IPEX_RESIZE_floor, 0),
             NET_FLOATS(0, 0, 0));
    net_node(&net, IPEX_OP_resize, nearh, NET_IN(part),
             NET_INTS_(IPEX_RESIZE_nearest, IPEX_RESIZE_asymmetric, IPEX_RESIZE_floor, 0),
             NET_FLOATS(3, 3, 0));
    net_node(&net, IPEX_OP_resize, linear, NET_IN(xh),
             NET_INTS_(IPEX_RESIZE_linear, IPEX_RESIZE_half_pixel, 0, 0), NET_FLOATS(2, 2, 0));
    net_node(&net, IPEX_OP_resize, down, NET_IN(x),
             NET_INTS_(IPEX_RESIZE_linear, IPEX_RESIZE_half_pixel, 0, 0), NET_FLOATS(0, 0, 0));
    net_node(&net, IPEX_OP_copy, out, NET_IN(nearh), 0, NULL, 0, NULL);
    net_output(&net, near);
    net_output(&net, out);
    net_output(&net, linear);
    net_output(&net, down);
    check_net(&net, "resize", 0);
}

/* Images and volumes: dense, in a halo, slices of channels, into slices; grids that lie apart. */
static void test_grid_sample(void) {
    const int32_t linear[] = {IPEX_GRID_linear, IPEX_GRID_zeros, 1};
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 5, 6, 20)),
              grid = net_input(&net, NET_DIMS(2, 4, 7, 5));
    const int xh = net_halo(&net, NET_DIMS(2, 5, 6, 20), 1);
    const int wide = net_tensor(&net, NET_DIMS(2, 4, 7, 23));
    const int places = net_slice(&net, grid, 3, 2, 2);
    const int volume = net_input(&net, NET_DIMS(2, 3, 4, 5, 6));
    const int far = net_input(&net, NET_DIMS(2, 2, 3, 4, 3));
    const int deep = net_tensor(&net, NET_DIMS(2, 2, 3, 4, 6));
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_node(&net, IPEX_OP_grid_sample, net_slice(&net, wide, 3, 0, 20), NET_IN(xh, places), 3,
             linear, 0, NULL);
    net_node(&net, IPEX_OP_grid_sample, net_slice(&net, wide, 3, 20, 1),
             NET_IN(net_slice(&net, x, 3, 4, 1), places), 3, linear, 0, NULL);
    net_node(&net, IPEX_OP_grid_sample, net_slice(&net, wide, 3, 21, 2),
             NET_IN(net_slice(&net, x, 3, 7, 2), places), 3, linear, 0, NULL);
    net_node(&net, IPEX_OP_grid_sample, deep, NET_IN(volume, far), 3, linear, 0, NULL);
    net_output(&net, wide);
    net_output(&net, deep);
    check_net(&net, "grid_sample", 0);
}

/* And of many places, which several threads share. */
static void test_large_grid_sample(void) {
    const int32_t linear[] = {IPEX_GRID_linear, IPEX_GRID_zeros, 1};
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(1, 30, 20, 9)),
              grid = net_input(&net, NET_DIMS(1, 40, 30, 2));
    const int y = net_tensor(&net, NET_DIMS(1, 40, 30, 9));
    net_node(&net, IPEX_OP_grid_sample, y, NET_IN(x, grid), 3, linear, 0, NULL);
    net_output(&net, y);
    check_net(&net, "large grid_sample", 0);
}

/* Random indices are mostly outside; those of the second kind are brought inside by the net. */
static void test_gather(void) {
    struct net net;
    net_init(&net);
    const int wild = net_typed_input(&net, IPEX_DTYPE_i64, NET_DIMS(3, 2));
    const int seven = net_typed_constant(&net, IPEX_DTYPE_i32, NET_DIMS(1));
    net.tensor[seven].value[0] = 7;
    net_store(IPEX_DTYPE_i32, net.weight[net.tensor[seven].weight].bytes, 7);
    const int raw = net_typed_input(&net, IPEX_DTYPE_i32, NET_DIMS(9));
    const int tame = net_typed(&net, IPEX_DTYPE_i32, NET_DIMS(9));
    net_node(&net, IPEX_OP_integer, tame, NET_IN(raw, seven), NET_INTS_(IPEX_INTEGER_mod), 0, NULL);
    for (int i = 0; i < 3; i++) {
        const enum ipex_dtype dtype = all_dtypes[i == 0 ? 0 : i == 1 ? 1 : 5];
        const int x = net_typed_input(&net, dtype, NET_DIMS(4, 7, 5));
        const int a = net_typed(&net, dtype, NET_DIMS(4, 3, 2, 5));
        const int b = net_typed(&net, dtype, NET_DIMS(4, 9, 3));
        const int c = net_typed(&net, dtype, NET_DIMS(9, 7, 5));
        const int d = net_typed(&net, dtype, NET_DIMS(4, 7, 3, 2));
        net_node(&net, IPEX_OP_gather, a, NET_IN(x, wild), NET_INTS_(1), 0, NULL);
        net_node(&net, IPEX_OP_gather, b, NET_IN(net_slice(&net, x, 2, 1, 3), tame), NET_INTS_(1),
                 0, NULL);
        net_node(&net, IPEX_OP_gather, c, NET_IN(x, tame), NET_INTS_(0), 0, NULL);
        net_node(&net, IPEX_OP_gather, d, NET_IN(x, wild), NET_INTS_(2), 0, NULL);
        if (i == 0)
            net_output(&net, a);
        net_output(&net, i == 1 ? c : b);
        net_output(&net, d);
    }
    check_net(&net, "gather", 0);
}

/* Of dense operands, on top of another, of slices, and into a slice. */
static void test_scatter(enum ipex_scatter kind) {
    struct net net;
    net_init(&net);
    const int index = net_typed_input(&net, IPEX_DTYPE_i64, NET_DIMS(3, 2));
    const int far = net_typed_constant(&net, IPEX_DTYPE_i64, NET_DIMS(4));
    const int x = net_input(&net, NET_DIMS(5, 12)), u = net_input(&net, NET_DIMS(3, 2, 12));
    const int v = net_input(&net, NET_DIMS(4, 5)), wide = net_tensor(&net, NET_DIMS(5, 9));
    const int a = net_tensor(&net, NET_DIMS(5, 12)), b = net_tensor(&net, NET_DIMS(5, 12));
    const int c = net_slice(&net, wide, 1, 0, 5), d = net_slice(&net, wide, 1, 5, 4);
    net_node(&net, IPEX_OP_scatter, a, NET_IN(x, index, u), NET_INTS_(kind), 0, NULL);
    net_node(&net, IPEX_OP_scatter, b, NET_IN(a, index, u), NET_INTS_(kind), 0, NULL);
    net_node(&net, IPEX_OP_scatter, c, NET_IN(net_slice(&net, b, 1, 3, 5), far, v), NET_INTS_(kind),
             0, NULL);
    net_node(&net, IPEX_OP_copy, d, NET_IN(net_slice(&net, b, 1, 8, 4)), 0, NULL, 0, NULL);
    net_output(&net, wide);
    check_net(&net, "scatter", 0);
}

/* And of many rows, which several threads share. */
static void test_scatter_dtypes(void) {
    for (int i = 0; i <= ALL_DTYPES; i++) {
        struct net net;
        net_init(&net);
        const enum ipex_dtype dtype = all_dtypes[i % ALL_DTYPES];
        const int64_t width = i == 0 ? 7000 : 1;
        const int at = net_typed_input(&net, IPEX_DTYPE_i64, NET_DIMS(3, 2));
        const int x = net_typed_input(&net, dtype, NET_DIMS(40, width));
        const int u = net_typed_input(&net, dtype, NET_DIMS(3, 2, width));
        const int y = net_typed(&net, dtype, NET_DIMS(40, width));
        net_node(&net, IPEX_OP_scatter, y, NET_IN(x, at, u),
                 NET_INTS_(i < 2 ? IPEX_SCATTER_add + i : IPEX_SCATTER_none), 0, NULL);
        net_output(&net, y);
        check_net(&net, "scatter of dtypes", 0);
    }
}

/* f32 to everything, and from there to f32. */
static void test_cast(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(3, 40));
    const int big = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(3, 40));
    for (int i = 0; i < ALL_DTYPES; i++) {
        const int whole = net_typed(&net, all_dtypes[i], NET_DIMS(3, 40));
        const int y = net_tensor(&net, NET_DIMS(3, 40));
        net_node(&net, IPEX_OP_cast, whole, NET_IN(i == 5 ? x : big), 0, NULL, 0, NULL);
        net_node(&net, IPEX_OP_cast, y, NET_IN(whole), 0, NULL, 0, NULL);
        if (all_dtypes[i] != IPEX_DTYPE_i8) /* the oracle does not wrap */
            net_output(&net, y);
    }
    const int zero = net_typed(&net, IPEX_DTYPE_i8, NET_DIMS(3, 40));
    net_node(&net, IPEX_OP_cast, zero, NET_IN(x), 0, NULL, 0, NULL);
    net_output(&net, zero);
    check_net(&net, "cast", 0);
}

static void test_compare(void) {
    static const enum ipex_dtype dtypes[] = {IPEX_DTYPE_f32, IPEX_DTYPE_i32, IPEX_DTYPE_i64};
    struct net net;
    net_init(&net);
    int a[3], b[3], all = -1;
    for (int i = 0; i < 3; i++) {
        a[i] = net_typed_input(&net, dtypes[i], NET_DIMS(4, 6, 5));
        b[i] = net_typed_input(&net, dtypes[i], NET_DIMS(6, 1));
    }
    for (int kind = 0; kind < IPEX_COMPARE_COUNT; kind++) {
        const int i = kind % 3;
        const int y = net_typed(&net, IPEX_DTYPE_bool, NET_DIMS(4, 6, 5));
        const int joint = net_typed(&net, IPEX_DTYPE_bool, NET_DIMS(4, 6, 5));
        net_node(&net, IPEX_OP_compare, y, NET_IN(a[i], b[i]), NET_INTS_(kind), 0, NULL);
        if (all < 0)
            net_node(&net, IPEX_OP_logical, joint, NET_IN(y), NET_INTS_(IPEX_LOGICAL_not), 0, NULL);
        else
            net_node(&net, IPEX_OP_logical, joint, NET_IN(all, y),
                     NET_INTS_(kind % IPEX_LOGICAL_not), 0, NULL);
        all = joint;
        net_output(&net, kind % 2 == 0 ? y : joint);
    }
    check_net(&net, "compare and logical", 0);
}

static void test_where(void) {
    struct net net;
    net_init(&net);
    const int condition = net_typed_input(&net, IPEX_DTYPE_bool, NET_DIMS(5, 1, 4));
    for (int i = 0; i < 3; i++) {
        const enum ipex_dtype dtype = all_dtypes[i == 2 ? 4 : i];
        const int a = net_typed_input(&net, dtype, NET_DIMS(3, 4));
        const int b = net_typed_input(&net, dtype, NET_DIMS(1));
        const int y = net_typed(&net, dtype, NET_DIMS(5, 3, 4));
        const int z = net_typed(&net, dtype, NET_DIMS(2, 5, 3, 4));
        net_node(&net, IPEX_OP_where, y, NET_IN(condition, a, b), 0, NULL, 0, NULL);
        net_node(&net, IPEX_OP_expand, z, NET_IN(y), 0, NULL, 0, NULL);
        net_output(&net, z);
    }
    check_net(&net, "where and expand", 0);
}

static void test_integer(void) {
    struct net net;
    net_init(&net);
    for (int i = 0; i < 2; i++) {
        const enum ipex_dtype dtype = i == 0 ? IPEX_DTYPE_i32 : IPEX_DTYPE_i64;
        const int a = net_typed_input(&net, dtype, NET_DIMS(3, 11));
        const int b = net_typed_input(&net, dtype, NET_DIMS(11));
        const int wide = net_typed(&net, dtype, NET_DIMS(3, 11 * IPEX_INTEGER_COUNT));
        for (int kind = 0; kind < IPEX_INTEGER_COUNT; kind++) {
            const int y = net_slice(&net, wide, 1, kind * 11, 11);
            const bool unary = kind == IPEX_INTEGER_neg || kind == IPEX_INTEGER_abs;
            net_node(&net, IPEX_OP_integer, y, unary ? 1 : 2, (const int[]){a, b}, NET_INTS_(kind),
                     0, NULL);
        }
        net_output(&net, wide);
    }
    check_net(&net, "integer", 0);
}

static void test_order(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(3, 5, 17));
    const int part = net_slice(&net, x, 1, 1, 3);
    const int values = net_tensor(&net, NET_DIMS(3, 5, 6));
    const int indices = net_typed(&net, IPEX_DTYPE_i64, NET_DIMS(3, 5, 6));
    const int low = net_tensor(&net, NET_DIMS(3, 3, 17));
    const int low_indices = net_typed(&net, IPEX_DTYPE_i64, NET_DIMS(3, 3, 17));
    const int largest = net_typed(&net, IPEX_DTYPE_i64, NET_DIMS(3, 5, 1));
    const int smallest = net_typed(&net, IPEX_DTYPE_i64, NET_DIMS(3, 3, 1));
    net_node(&net, IPEX_OP_topk, values, NET_IN(x), NET_INTS_(6, 1, 1), 0, NULL);
    net_also(&net, indices);
    net_node(&net, IPEX_OP_topk, low, NET_IN(part), NET_INTS_(17, 0, 1), 0, NULL);
    net_also(&net, low_indices);
    net_node(&net, IPEX_OP_arg, largest, NET_IN(x), NET_INTS_(1, 0), 0, NULL);
    net_node(&net, IPEX_OP_arg, smallest, NET_IN(part), NET_INTS_(0, 1), 0, NULL);
    net_output(&net, values);
    net_output(&net, indices);
    net_output(&net, low);
    net_output(&net, low_indices);
    net_output(&net, largest);
    net_output(&net, smallest);
    check_net(&net, "topk and arg", 0);
}

static void test_cumsum(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(3, 5, 7));
    const int n = net_typed_input(&net, IPEX_DTYPE_i64, NET_DIMS(3, 5, 7));
    const int a = net_tensor(&net, NET_DIMS(3, 5, 7)), b = net_tensor(&net, NET_DIMS(3, 5, 4));
    const int c = net_typed(&net, IPEX_DTYPE_i64, NET_DIMS(3, 5, 7));
    net_node(&net, IPEX_OP_cumsum, a, NET_IN(x), NET_INTS_(1, 0, 1), 0, NULL);
    net_node(&net, IPEX_OP_cumsum, b, NET_IN(net_slice(&net, x, 2, 2, 4)), NET_INTS_(2, 1, 0), 0,
             NULL);
    net_node(&net, IPEX_OP_cumsum, c, NET_IN(n), NET_INTS_(0, 1, 1), 0, NULL);
    net_output(&net, a);
    net_output(&net, b);
    net_output(&net, c);
    check_net(&net, "cumsum", 0);
}

static void test_pad(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 5, 6, 3));
    const int xh = net_halo(&net, NET_DIMS(2, 5, 6, 3), 1);
    net_node(&net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    for (int mode = IPEX_PAD_reflect; mode < IPEX_PAD_COUNT; mode++) {
        const int y = net_tensor(&net, NET_DIMS(2, 12, 11, 3));
        net_node(&net, IPEX_OP_pad, y, NET_IN(xh), NET_INTS_(0, 4, 2, 0, 0, 3, 3, 0, mode),
                 NET_FLOATS(0));
        net_output(&net, y);
    }
    for (int i = 1; i < ALL_DTYPES; i += 2) {
        const int n = net_typed_input(&net, all_dtypes[i], NET_DIMS(3, 5));
        const int y = net_typed(&net, all_dtypes[i], NET_DIMS(4, 9));
        net_node(&net, IPEX_OP_pad, y, NET_IN(n), NET_INTS_(1, 0, 0, 4, IPEX_PAD_constant),
                 NET_FLOATS(0));
        net_output(&net, y);
    }
    check_net(&net, "pad", 0);
}

int main(void) {
    test_conv_transpose();
    test_large_conv_transpose();
    test_resize();
    test_grid_sample();
    test_large_grid_sample();
    test_gather();
    for (int kind = 0; kind < IPEX_SCATTER_COUNT; kind++)
        test_scatter((enum ipex_scatter)kind);
    test_scatter_dtypes();
    test_cast();
    test_compare();
    test_where();
    test_integer();
    test_order();
    test_cumsum();
    test_pad();
    return check_result();
}
