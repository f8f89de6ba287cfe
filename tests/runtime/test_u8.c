/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, linear layers and pointwise programs on bytes, in all the ways of check_net: every
 * level gives the bits of the oracle, whose sums are those of 64-bit integers. */
#include "tests/runtime/harness.h"

#include <stdio.h>
#include <string.h>

static const struct net_window k1 = {.kernel = 1, .stride = 1, .dilation = 1, .groups = 1};
static const struct net_window k3 = {
    .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 1};

/* Results that are rounded to bytes, so wide that some are cut; results that are not. */
static const float rounded[IPEX_SCALES] = {0.01f, 70, 90};
static const float exact[IPEX_SCALES] = {0.01f};
/* And what is rounded before the residual is added, once to three times. */
static const float middle[IPEX_SCALES] = {0.013f, 50, 60, -99, 156};
static const float middle_exact[IPEX_SCALES] = {0.013f, 0, 0, -99, 156, -20, 90};
/* Scales of 1, for which kernels have loops of their own. */
static const float units[IPEX_SCALES] = {0.7f, 1, 90, -99, 156};
static const float more_units[IPEX_SCALES] = {0.7f, 1, 90, -99, 156, -60, 70, -128, 127};

static void set_middle(struct net *net, const float *scales, int middles, float unit, float shift) {
    memcpy(net->scales, scales, sizeof net->scales);
    net->middles = middles;
    net->unit = unit;
    net->shift = shift;
}

static void set_scales(struct net *net, const float *scales) {
    set_middle(net, scales, 0, 0, 0);
}

/* x, copied into a halo. */
static int bordered(struct net *net, int x, int halo, uint8_t value) {
    const int64_t *dims = net->tensor[x].dims;
    const int ret = net_bytes(net, NET_DIMS(dims[0], dims[1], dims[2], dims[3]), halo, value);
    net_node(net, IPEX_OP_copy, ret, NET_IN(x), 0, NULL, 0, NULL);
    return ret;
}

/* Groups, dilation, strides, odd K, slices of a concatenation, halos of other bytes than 0, of
 * which a convolution sees all or a part; residuals of both dtypes, results of both. */
static void test_conv(void) {
    struct net net;
    net_init(&net);
    const int x = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(2, 11, 9, 10));
    const int xh = bordered(&net, x, 2, 203);
    const int cat = net_bytes(&net, NET_DIMS(2, 11, 9, 38), 2, 77);
    const int left = net_slice(&net, cat, 3, 0, 21), right = net_slice(&net, cat, 3, 21, 17);
    const struct net_window grouped = {
        .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 2};
    const struct net_window dilated = {
        .kernel = 3, .stride = 2, .pad = 2, .dilation = 2, .groups = 1};
    set_scales(&net, rounded);
    net_conv(&net, xh, left, k3, true, -1, IPEX_ACT_relu);
    net_conv(&net, x, right, k1, false, -1, IPEX_ACT_leaky_relu);
    const int f = net_tensor(&net, NET_DIMS(2, 11, 9, 38));
    const int g = net_tensor(&net, NET_DIMS(2, 6, 5, 40));
    const int h = net_bytes(&net, NET_DIMS(2, 11, 9, 38), 0, 0);
    const int u = net_bytes(&net, NET_DIMS(2, 11, 9, 38), 0, 0);
    const int v = net_tensor(&net, NET_DIMS(2, 11, 9, 38));
    const int w = net_bytes(&net, NET_DIMS(2, 11, 9, 38), 0, 0);
    const int more = net_bytes(&net, NET_DIMS(2, 11, 9, 38), 0, 0);
    set_scales(&net, exact);
    net_conv(&net, cat, f, grouped, true, cat, IPEX_ACT_none);
    net_conv(&net, cat, g, dilated, true, -1, IPEX_ACT_leaky_relu);
    set_middle(&net, middle, 1, 0x1p-6f, 0.25f);
    net_conv(&net, cat, h, k1, true, cat, IPEX_ACT_relu);
    net_conv(&net, h, u, k1, false, f, IPEX_ACT_leaky_relu);
    set_middle(&net, units, 1, 0.8f, -20);
    net_conv(&net, h, w, k1, true, u, IPEX_ACT_relu);
    set_middle(&net, more_units, 3, 0.8f, -20);
    net_conv(&net, w, more, k1, true, u, IPEX_ACT_relu);
    set_middle(&net, middle_exact, 2, 0x1p-6f, 0.25f);
    net_conv(&net, w, v, k1, true, u, IPEX_ACT_none);
    net_output(&net, f);
    net_output(&net, g);
    net_output(&net, v);
    net_output(&net, w);
    net_output(&net, more);
    net.l2_bytes = 30000;
    check_net(&net, "conv", 0);
}

/* Kernels of up to nine rows, strides, dilation, channels that fill no vector, slices; residuals
 * and results of both dtypes. */
static void test_depthwise(void) {
    const struct net_window dilated = {
        .kernel = 3, .stride = 1, .pad = 2, .dilation = 2, .groups = 1};
    const struct net_window half = {.kernel = 5, .stride = 2, .pad = 2, .dilation = 1, .groups = 1};
    const struct net_window nine = {.kernel = 9, .stride = 1, .pad = 4, .dilation = 1, .groups = 1};
    struct net net;
    net_init(&net);
    const int x = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(2, 11, 70, 45));
    const int xh = bordered(&net, x, 4, 203);
    const int cat = net_bytes(&net, NET_DIMS(2, 11, 70, 90), 2, 77);
    const int left = net_slice(&net, cat, 3, 0, 45), right = net_slice(&net, cat, 3, 45, 45);
    const int f = net_tensor(&net, NET_DIMS(2, 11, 70, 90));
    const int g = net_tensor(&net, NET_DIMS(2, 6, 35, 45));
    const int h = net_bytes(&net, NET_DIMS(2, 11, 70, 90), 1, 0);
    const int y = net_tensor(&net, NET_DIMS(2, 11, 70, 90));
    set_scales(&net, rounded);
    net_depthwise(&net, xh, left, k3, true, IPEX_ACT_relu);
    net_depthwise(&net, xh, right, nine, false, IPEX_ACT_leaky_relu);
    set_scales(&net, exact);
    net_depthwise_plus(&net, cat, f, dilated, true, cat, IPEX_ACT_none);
    net_depthwise(&net, xh, g, half, true, IPEX_ACT_leaky_relu);
    set_middle(&net, units, 1, 0.8f, -20);
    net_depthwise_plus(&net, cat, h, k1, true, cat, IPEX_ACT_relu);
    set_middle(&net, middle_exact, 2, 0x1p-6f, 0.25f);
    net_depthwise_plus(&net, h, y, k3, true, f, IPEX_ACT_clip);
    net_output(&net, f);
    net_output(&net, g);
    net_output(&net, y);
    check_net(&net, "depthwise", 0);
}

/* Groups of several channels: sets that share channels, lines of fewer pixels than a block and of
 * many, strides and dilations; residuals in place and results of both dtypes. */
static void test_groups(void) {
    static const int sizes[][2] = {{4, 28}, {8, 40}, {16, 48}, {4, 16}, {8, 88}, {16, 32}};
    static const int64_t pixels[] = {7, 3, 14, 67, 4, 33};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t channels = sizes[i][1], p = pixels[i];
        struct net_window w = {
            .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = sizes[i][1] / sizes[i][0]};
        struct net_window half = w, dilated = w, one = w;
        half.kernel = 5, half.stride = 2, half.pad = 2;
        dilated.dilation = 2, dilated.pad = 2;
        one.kernel = 1, one.pad = 0;
        struct net net;
        char name[64];
        net_init(&net);
        const int x = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(2, 5, p, channels));
        const int xh = bordered(&net, x, 2, 77);
        const int a = net_bytes(&net, NET_DIMS(2, 5, p, channels), 2, 3);
        const int b = net_bytes(&net, NET_DIMS(2, 5, p, channels), 0, 0);
        const int c = net_tensor(&net, NET_DIMS(2, 5, p, channels));
        const int d = net_tensor(&net, NET_DIMS(2, 3, (p + 1) / 2, channels));
        set_scales(&net, rounded);
        net_depthwise(&net, xh, a, w, true, IPEX_ACT_relu);
        set_middle(&net, units, 1, 0.8f, -20);
        net_depthwise_plus(&net, a, b, dilated, true, a, IPEX_ACT_relu);
        set_scales(&net, exact);
        net_depthwise_plus(&net, a, c, one, false, b, IPEX_ACT_leaky_relu);
        net_depthwise(&net, xh, d, half, true, IPEX_ACT_none);
        net_output(&net, b);
        net_output(&net, c);
        net_output(&net, d);
        snprintf(name, sizeof name, "groups of %d of %d channels, %d pixels", sizes[i][0],
                 sizes[i][1], (int)p);
        check_net(&net, name, 0);
    }
}

/* Windows that lie in the halo as a whole, and a row, a column and a pixel of results. Zeros in the
 * halo are left out. */
static void test_borders(uint8_t zero) {
    static const int64_t sizes[][2] = {{1, 1}, {1, 7}, {6, 1}, {2, 3}, {9, 14}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t lines = sizes[i][0], pixels = sizes[i][1];
        const struct net_window wide = {
            .kernel = 3, .stride = 1, .pad = 3, .dilation = 2, .groups = 1};
        struct net net;
        char name[64];
        net_init(&net);
        const int x = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(3, lines, pixels, 9));
        const int y = net_tensor(&net, NET_DIMS(3, lines, pixels, 18));
        const int each = net_tensor(&net, NET_DIMS(3, lines + 2, pixels + 2, 9));
        const int z = net_tensor(&net, NET_DIMS(3, lines + 2, pixels + 2, 7));
        set_scales(&net, exact);
        const int xh = bordered(&net, x, 3, zero);
        net_conv(&net, xh, y, k3, true, -1, IPEX_ACT_none);
        net_conv(&net, xh, z, wide, true, -1, IPEX_ACT_none);
        net_depthwise(&net, xh, each, wide, false, IPEX_ACT_none);
        net_output(&net, each);
        net_output(&net, y);
        net_output(&net, z);
        snprintf(name, sizeof name, "an image of %d x %d in %d", (int)lines, (int)pixels, zero);
        check_net(&net, name, 0);
    }
}

/* K and N that fill no tile, rows of few and of many blocks; residuals and results in f32 that are
 * rounded to bytes and that are not. */
static void test_linear(void) {
    struct net net;
    net_init(&net);
    const int x = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(3, 29, 37));
    const int a = net_bytes(&net, NET_DIMS(3, 29, 130), 0, 0);
    const int b = net_bytes(&net, NET_DIMS(3, 29, 130), 0, 0);
    const int c = net_tensor(&net, NET_DIMS(3, 29, 130));
    const int d = net_tensor(&net, NET_DIMS(3, 29, 130));
    const int e = net_tensor(&net, NET_DIMS(3, 29, 130));
    const int f = net_bytes(&net, NET_DIMS(3, 29, 4), 0, 0);
    const int y = net_tensor(&net, NET_DIMS(3, 29, 7));
    set_scales(&net, rounded);
    net_linear(&net, x, a, true, -1, IPEX_ACT_none);
    net_linear(&net, x, c, false, -1, IPEX_ACT_clip);
    set_middle(&net, middle, 1, 0x1p-6f, 0.25f);
    net_linear(&net, a, b, false, a, IPEX_ACT_none);
    net_linear(&net, b, d, true, c, IPEX_ACT_leaky_relu);
    set_scales(&net, exact);
    net_linear(&net, b, e, true, d, IPEX_ACT_relu);
    set_scales(&net, rounded);
    net_linear(&net, b, f, true, -1, IPEX_ACT_relu);
    set_scales(&net, exact);
    net_linear(&net, f, y, true, -1, IPEX_ACT_none);
    const int outputs[] = {c, d, e, y};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        net_output(&net, outputs[i]);
    check_net(&net, "linear", 0);
}

/* Sums as large as they become: 65,793 products of 255 and -128 are -2^31 + 128. */
static void test_long_sums(void) {
    struct net net;
    net_init(&net);
    const int x = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(65793));
    const int most = net_bytes(&net, NET_DIMS(65793), 0, 0), y = net_tensor(&net, NET_DIMS(3));
    net_node(&net, IPEX_OP_pointwise, most, NET_IN(x), NET_INTS_(IPEX_STEP_add, 0, -1),
             NET_FLOATS(255));
    set_scales(&net, exact);
    net_linear(&net, most, y, true, -1, IPEX_ACT_none);
    struct net_tensor *w = &net.tensor[net.node[1].inputs[1]];
    for (int64_t i = 0; i < net_numel(w); i++)
        w->value[i] = i / w->dims[1] == 1 ? -128 : i / w->dims[1] == 2 ? 127 : w->value[i];
    for (int64_t i = 0; i < net_numel(w); i++) { /* one panel of tiles of [16 n][4 k] */
        const int64_t n = i / w->dims[1], k = i % w->dims[1];
        ((int8_t *)net.weight[w->weight].bytes)[k / 4 * 64 + n * 4 + k % 4] = (int8_t)w->value[i];
    }
    net_output(&net, y);
    check_net(&net, "sums of 65,793 products", 0);
}

/* Half of every byte, half to even; large numbers and NaN; operands and results of both dtypes,
 * broadcast, sliced and with gaps. */
static void test_pointwise(void) {
    struct net net;
    net_init(&net);
    const int x = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(2, 5, 7, 33));
    const int f = net_input(&net, NET_DIMS(33)), g = net_input(&net, NET_DIMS(2, 1, 1, 33));
    const int row = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(7, 1));
    const int cat = net_bytes(&net, NET_DIMS(2, 5, 7, 50), 1, 9);
    const int left = net_slice(&net, cat, 3, 0, 33), right = net_slice(&net, cat, 3, 33, 17);
    const int h = net_halo(&net, NET_DIMS(2, 5, 7, 33), 1);
    const int sum = net_bytes(&net, NET_DIMS(2, 5, 7, 33), 0, 0);
    const int far = net_bytes(&net, NET_DIMS(2, 1, 1, 33), 0, 0);
    const int nan = net_bytes(&net, NET_DIMS(33), 0, 0);
    const int back = net_tensor(&net, NET_DIMS(2, 5, 7, 50));
    const int wide = net_bytes(&net, NET_DIMS(3, 1500), 0, 0);
    const int long_x = net_input(&net, NET_DIMS(3, 1500));
    net_node(&net, IPEX_OP_pointwise, left, NET_IN(x), NET_INTS_(IPEX_STEP_mul, 0, -1),
             NET_FLOATS(0.5f));
    net_node(&net, IPEX_OP_copy, right, NET_IN(net_slice(&net, x, 3, 3, 17)), 0, NULL, 0, NULL);
    net_node(&net, IPEX_OP_pointwise, h, NET_IN(x, f, row),
             NET_INTS_(IPEX_STEP_mul, 0, 1, IPEX_STEP_sub, 16, 2), 0, NULL);
    net_node(&net, IPEX_OP_pointwise, sum, NET_IN(h, left, f),
             NET_INTS_(IPEX_STEP_add, 0, 1, IPEX_STEP_mul, 2, -1, IPEX_STEP_add, 16, 17),
             NET_FLOATS(30));
    net_node(&net, IPEX_OP_pointwise, far, NET_IN(g), NET_INTS_(IPEX_STEP_mul, 0, -1),
             NET_FLOATS(3e38f));
    net_node(&net, IPEX_OP_pointwise, nan, NET_IN(f),
             NET_INTS_(IPEX_STEP_mul, 0, -1, IPEX_STEP_mul, 16, -1, IPEX_STEP_sub, 17, 17),
             NET_FLOATS(3e38f));
    net_node(&net, IPEX_OP_pointwise, back, NET_IN(cat), NET_INTS_(IPEX_STEP_copy, 0, 0), 0, NULL);
    net_node(&net, IPEX_OP_pointwise, wide, NET_IN(long_x), NET_INTS_(IPEX_STEP_mul, 0, -1),
             NET_FLOATS(300));
    const int outputs[] = {sum, far, nan, back, wide};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        net_output(&net, outputs[i]);
    check_net(&net, "pointwise programs", 0);
}

/* The largest bytes of windows in all of x, and in a slice whose halo they do not see. */
static void test_pool(void) {
    const struct net_window half = {.kernel = 3, .stride = 2, .pad = 1, .dilation = 1, .groups = 1};
    struct net net;
    net_init(&net);
    const int x = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(2, 11, 6, 70));
    const int xh = bordered(&net, x, 2, 255);
    const int cat = net_bytes(&net, NET_DIMS(2, 6, 3, 90), 1, 3);
    const int y = net_bytes(&net, NET_DIMS(2, 6, 3, 90), 0, 0);
    net_pool(&net, IPEX_OP_max_pool, xh, net_slice(&net, cat, 3, 20, 70), half, false);
    net_pool(&net, IPEX_OP_max_pool, net_slice(&net, xh, 3, 7, 20), net_slice(&net, cat, 3, 0, 20),
             half, false);
    net_pool(&net, IPEX_OP_max_pool, cat, y, k3, false);
    net_output(&net, y);
    check_net(&net, "pools", 0);
}

/* Means over rows and columns, over either and over channels, of all of x, of a slice and within a
 * border; of more rows than are summed up at once. */
static void test_means(void) {
    struct net net;
    net_init(&net);
    const int x = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(2, 31, 6, 93));
    const int xh = bordered(&net, x, 2, 255);
    const int part = net_slice(&net, x, 3, 3, 70);
    const struct {
        int x, axes, y;
    } cases[] = {
        {x, 6, net_tensor(&net, NET_DIMS(2, 1, 1, 93))},
        {xh, 6, net_tensor(&net, NET_DIMS(2, 1, 1, 93))},
        {part, 6, net_tensor(&net, NET_DIMS(2, 1, 1, 70))},
        {part, 2, net_halo(&net, NET_DIMS(2, 1, 6, 70), 1)},
        {x, 4, net_tensor(&net, NET_DIMS(2, 31, 1, 93))},
        {x, 8, net_tensor(&net, NET_DIMS(2, 31, 6, 1))},
        {xh, 10, net_tensor(&net, NET_DIMS(2, 1, 6, 1))},
        {x, 15, net_tensor(&net, NET_DIMS(1, 1, 1, 1))},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        net_node(&net, IPEX_OP_reduce, cases[i].y, NET_IN(cases[i].x),
                 NET_INTS_(IPEX_REDUCE_mean, cases[i].axes), 0, NULL);
        if (net.tensor[cases[i].y].halo[0] == 0)
            net_output(&net, cases[i].y);
    }
    check_net(&net, "means", 0);
}

/* Products of two, of any zero points: batches and broadcasts, slices, either order of b, vectors,
 * several jobs; results as bytes and floats, rounded or not. */
static void test_products(void) {
    struct net net;
    net_init(&net);
    const int a = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(2, 3, 37, 50));
    const int b = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(3, 50, 35));
    const int c = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(2, 1, 61, 50));
    const int wide = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(150, 700));
    const int tall = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(130, 700));
    const int left = net_slice(&net, a, 3, 0, 16), row = net_slice(&net, wide, 0, 7, 1);
    const int low = net_slice(&net, c, 2, 11, 22), few = net_slice(&net, tall, 1, 3, 2);
    const int y = net_bytes(&net, NET_DIMS(2, 3, 37, 83), 0, 0);
    const struct {
        int a, b, y, ints[3];
        float floats[3];
    } products[] = {
        {a, b, net_slice(&net, y, 3, 0, 35), {0, 120, 131}, {0.003f, 1, 90}},
        {a, low, net_slice(&net, y, 3, 35, 22), {1, 0, 128}, {0.001f, 2.5f, 7}},
        {left,
         net_slice(&net, low, 3, 20, 16),
         net_slice(&net, y, 3, 57, 22),
         {1, 255, 0},
         {0.01f, 1, 255}},
        {a,
         net_slice(&net, b, 2, 9, 4),
         net_slice(&net, y, 3, 79, 4),
         {0, 7, 250},
         {0.002f, -1, 130}},
        {a, b, net_tensor(&net, NET_DIMS(2, 3, 37, 35)), {0, 99, 126}, {0.01f}},
        {a, c, net_tensor(&net, NET_DIMS(2, 3, 37, 61)), {1, 128, 128}, {0.01f, 0.7f, 100}},
        {wide, tall, net_bytes(&net, NET_DIMS(150, 130), 0, 0), {1, 130, 140}, {1e-4f, 1, 128}},
        {row, tall, net_tensor(&net, NET_DIMS(1, 130)), {1, 0, 3}, {1e-4f}},
        {few,
         net_slice(&net, wide, 0, 2, 2),
         net_tensor(&net, NET_DIMS(130, 700)),
         {0, 1, 2},
         {0.5f}},
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        net_node(&net, IPEX_OP_matmul, products[i].y, NET_IN(products[i].a, products[i].b), 3,
                 products[i].ints, 3, products[i].floats);
        if (i > 3)
            net_output(&net, products[i].y);
    }
    net_output(&net, y);
    check_net(&net, "products of two", 0);
}

/* One session at several sizes; halos move with them. */
static void make_sized(struct net *net, int64_t lines, int64_t pixels) {
    net_init(net);
    const int x = net_typed_input(net, IPEX_DTYPE_u8, NET_DIMS(2, lines, pixels, 9));
    const int a = net_bytes(net, NET_DIMS(2, lines, pixels, 20), 1, 140);
    const int y = net_bytes(net, NET_DIMS(2, lines, pixels, 6), 0, 0);
    set_scales(net, rounded);
    const int xh = bordered(net, x, 1, 31);
    net_conv(net, xh, a, k3, true, -1, IPEX_ACT_relu);
    set_middle(net, middle, 1, 0x1p-6f, 0.25f);
    net_conv(net, a, y, k3, true, -1, IPEX_ACT_none);
    net_output(net, y);
    const int64_t h = net_symbol(net, "h", 1, 40, 1), w = net_symbol(net, "w", 1, 30, 1);
    for (int i = 0; i < 4; i++) {
        const int sized[] = {x, a, y, xh};
        net_dim(net, sized[i], 1, h);
        net_dim(net, sized[i], 2, w);
    }
}

static void test_sizes(void) {
    static const int64_t sizes[][2] = {{7, 30}, {40, 1}, {1, 1}, {40, 30}, {13, 8}, {1, 29}};
    struct net net;
    struct harness h;
    bool right = true;
    make_sized(&net, 40, 30);
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, POOL_OF_2);
    for (size_t i = 0; right && i < sizeof sizes / sizeof *sizes; i++) {
        struct net now;
        make_sized(&now, sizes[i][0], sizes[i][1]);
        net_oracle(&now);
        right = harness_run(&h, &now, DENSE, VIEW, 0);
        net_free(&now);
    }
    check(right, "changing sizes", h.message);
    harness_close(&h);
    net_free(&net);
}

int main(void) {
    test_conv();
    test_depthwise();
    test_groups();
    test_borders(255);
    test_borders(0);
    test_linear();
    test_long_sums();
    test_products();
    test_pointwise();
    test_pool();
    test_means();
    test_sizes();
    return check_result();
}
