/* SPDX-License-Identifier: Apache-2.0 */
/* Band groups: the bits of the oracle for all shapes of groups and sizes of bands, fewer steps and
 * less memory, at changing sizes too; and groups of a file that cannot be run in bands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime/harness.h"

/* One member of a chain. Its output has a halo of the next member's padding, and `spare` more. */
struct link {
    bool depthwise;
    struct net_window window;
    int64_t channels; /* of a convolution's output */
    enum ipex_act act;
    bool residual; /* the chain's input is added */
};

struct chain {
    const char *name;
    int64_t images, lines, pixels, channels;
    int spare;
    int members;
    struct link link[10];
};

#define CONV(kernel_, stride_, pad_, channels_, act_)                                              \
    {                                                                                              \
        .window = {.kernel = kernel_, .stride = stride_, .pad = pad_, .dilation = 1, .groups = 1}, \
        .channels = channels_, .act = IPEX_ACT_##act_                                              \
    }
#define DEPTHWISE(kernel_, stride_, pad_, dilation_, act_)                                         \
    {                                                                                              \
        .depthwise = true,                                                                         \
        .window = {.kernel = kernel_,                                                              \
                   .stride = stride_,                                                              \
                   .pad = pad_,                                                                    \
                   .dilation = dilation_,                                                          \
                   .groups = 1},                                                                   \
        .act = IPEX_ACT_##act_                                                                     \
    }

static const struct chain chains[] = {
    {"expand, depthwise, project with residual",
     1,
     13,
     11,
     16,
     0,
     3,
     {CONV(1, 1, 0, 37, relu),
      DEPTHWISE(3, 1, 1, 1, clip),
      {.window = {1, 1, 0, 1, 1, false}, .channels = 16, .act = IPEX_ACT_none, .residual = true}}},
    {"expand, depthwise of stride 2, project",
     3,
     14,
     9,
     5,
     0,
     3,
     {CONV(1, 1, 0, 48, relu), DEPTHWISE(3, 2, 1, 1, relu), CONV(1, 1, 0, 18, none)}},
    {"depthwise 5x5 with dilation 2, project",
     2,
     17,
     12,
     24,
     1,
     2,
     {DEPTHWISE(5, 1, 4, 2, leaky_relu), CONV(1, 1, 0, 33, none)}},
    {"3x3 of changing strides",
     2,
     23,
     19,
     3,
     0,
     5,
     {CONV(3, 2, 1, 17, relu), CONV(3, 1, 1, 8, none), CONV(3, 1, 0, 40, leaky_relu),
      CONV(3, 2, 1, 16, relu), CONV(3, 1, 1, 6, none)}},
    {"rows that nobody reads",
     2,
     21,
     15,
     6,
     2,
     3,
     {CONV(3, 1, 1, 20, relu), CONV(1, 3, 0, 9, none), CONV(2, 2, 0, 11, none)}},
    {"more members than a step takes",
     1,
     12,
     10,
     4,
     0,
     10,
     {CONV(3, 1, 1, 5, relu), CONV(3, 1, 1, 6, none), CONV(3, 1, 1, 7, relu),
      CONV(3, 1, 1, 8, none), CONV(3, 1, 1, 9, relu), CONV(3, 1, 1, 8, none),
      CONV(3, 1, 1, 7, relu), CONV(3, 1, 1, 6, none), CONV(3, 1, 1, 5, relu),
      CONV(3, 1, 1, 4, none)}},
};
#define CHAINS (sizeof chains / sizeof *chains)

static int64_t across(int64_t size, const struct net_window *w) {
    return (size + 2 * w->pad - w->dilation * (w->kernel - 1) - 1) / w->stride + 1;
}

/* The input is copied into a halo; the last output is read by a copy, as a port of its own. */
static void make_chain(struct net *net, const struct chain *chain, int64_t images, int64_t lines,
                       int64_t pixels) {
    net_init(net);
    const int given = net_input(net, NET_DIMS(images, lines, pixels, chain->channels));
    int x =
        net_halo(net, NET_DIMS(images, lines, pixels, chain->channels), chain->link[0].window.pad);
    const int first = x;
    net_node(net, IPEX_OP_copy, x, NET_IN(given), 0, NULL, 0, NULL);
    for (int i = 0; i < chain->members; i++) {
        const struct link *link = &chain->link[i];
        const bool last = i == chain->members - 1;
        const int64_t channels = link->depthwise ? net->tensor[x].dims[3] : link->channels;
        lines = across(lines, &link->window);
        pixels = across(pixels, &link->window);
        const int y = net_halo(net, NET_DIMS(images, lines, pixels, channels),
                               last ? 1 : chain->link[i + 1].window.pad + chain->spare);
        if (link->depthwise)
            net_depthwise(net, x, y, link->window, i % 2 == 0, link->act);
        else
            net_conv(net, x, y, link->window, i % 2 == 0, link->residual ? first : -1, link->act);
        net->node[net->nodes - 1].band = 1;
        x = y;
    }
    const int out = net_tensor(net, NET_DIMS(images, lines, pixels, net->tensor[x].dims[3]));
    net_node(net, IPEX_OP_copy, out, NET_IN(x), 0, NULL, 0, NULL);
    net_output(net, out);
}

/* Caches that hold a line of some tensors, several lines, all of a small net. */
static void test_chains(void) {
    static const int32_t caches[] = {64, 6000, 24000};
    for (size_t c = 0; c < CHAINS; c++)
        for (size_t s = 0; s < sizeof caches / sizeof *caches; s++) {
            struct net net;
            char name[128];
            make_chain(&net, &chains[c], chains[c].images, chains[c].lines, chains[c].pixels);
            net.l2_bytes = caches[s];
            snprintf(name, sizeof name, "%s, L2 of %d bytes", chains[c].name, (int)caches[s]);
            check_net(&net, name, 0);
        }
}

/* Every height, so that the last band and the last job are of all sizes. */
static void test_heights(void) {
    bool right = true;
    for (int64_t lines = 1; right && lines <= 40; lines++) {
        struct net net;
        struct harness h;
        make_chain(&net, &chains[lines % 2], 1 + lines % 2, lines, 3);
        net.l2_bytes = (int32_t)(64 << lines % 9);
        net_oracle(&net);
        harness_open(&h, &net);
        harness_session(&h, IPEX_ISA_AUTO, lines % 3 == 0 ? POOL_OF_2 : ONE_THREAD);
        right = harness_run(&h, &net, DENSE, DENSE, 0);
        harness_close(&h);
        net_free(&net);
    }
    check(right, "all heights up to 40", "a height differs from the oracle");
}

/* ---- groups that are no chains ---- */

static const struct net_window k1 = {.kernel = 1, .stride = 1, .dilation = 1, .groups = 1};
static const struct net_window k3 = {
    .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 1};

/* x0 * x1 + x2 */
#define MUL_ADD NET_INTS_(IPEX_STEP_mul, 0, 1, IPEX_STEP_add, 16, 2), 0, NULL

static const int32_t nearest[] = {IPEX_RESIZE_nearest, IPEX_RESIZE_asymmetric, IPEX_RESIZE_floor,
                                  0};
static const int32_t smooth[] = {IPEX_RESIZE_linear, IPEX_RESIZE_half_pixel, 0, 0};

static void band_all(struct net *net) {
    for (int i = 0; i < net->nodes; i++)
        net->node[i].band = 7;
    net->l2_bytes = 64;
}

/* Slices of one tensor by a nearest resize, a copy, a gate and a convolution, read by `reader`. */
static void make_decoder(struct net *net, enum ipex_op reader, int64_t images, int64_t lines,
                         int64_t pixels) {
    const int64_t h = 2 * lines, w = 2 * pixels;
    net_init(net);
    const int low = net_input(net, NET_DIMS(images, lines, pixels, 9));
    const int skip = net_input(net, NET_DIMS(images, h, w, 5));
    const int gate = net_input(net, NET_DIMS(images, 1, 1, 5));
    const int cat = net_halo(net, NET_DIMS(images, h, w, 27), reader == IPEX_OP_pointwise ? 0 : 2);
    const int plus = net_input(net, NET_DIMS(images, h, w, 27));
    const int y = net_tensor(net, NET_DIMS(images, h, w, 27));
    const int resized = net_slice(net, cat, 3, 0, 9), copied = net_slice(net, cat, 3, 9, 5);
    const int gated = net_slice(net, cat, 3, 14, 5), mixed = net_slice(net, cat, 3, 19, 8);
    net_node(net, IPEX_OP_resize, resized, NET_IN(low), 4, nearest, NET_FLOATS(2, 2, 0));
    net_node(net, IPEX_OP_copy, copied, NET_IN(skip), 0, NULL, 0, NULL);
    net_node(net, IPEX_OP_pointwise, gated, NET_IN(skip, gate, skip), MUL_ADD);
    net_conv(net, skip, mixed, k1, true, -1, IPEX_ACT_relu);
    if (reader == IPEX_OP_winograd && lines > 6)
        net_winograd_of(net, lines == 16 ? 1 : 5, lines == 21 ? 1 : 5, cat, y, 1, true, plus,
                        IPEX_ACT_relu);
    else if (reader == IPEX_OP_winograd)
        net_winograd(net, lines % 2 ? 2 : 4, cat, y, 1, 1, true, plus, IPEX_ACT_relu);
    else if (reader == IPEX_OP_pointwise) /* nothing of the arena to take over */
        net_node(net, IPEX_OP_pointwise, y, NET_IN(cat, cat, plus), MUL_ADD);
    else if (reader == IPEX_OP_copy)
        net_node(net, IPEX_OP_copy, y, NET_IN(cat), 0, NULL, 0, NULL);
    else if (reader == IPEX_OP_depthwise)
        net_depthwise(net, cat, y, k3, true, IPEX_ACT_relu);
    else
        net_conv(net, cat, y, k3, true, plus, IPEX_ACT_relu);
    net_output(net, y);
    band_all(net);
}

/* A pointwise program between convolutions: it reads three buffers, two of them slices of one, and
 * what all lines share; a smooth resize too, whose lines are made of two. */
static void make_sums(struct net *net, int64_t images, int64_t lines, int64_t pixels) {
    net_init(net);
    const int x = net_input(net, NET_DIMS(images, lines, pixels, 6));
    const int low = net_input(net, NET_DIMS(images, (lines + 1) / 2, pixels, 7));
    const int gate = net_input(net, NET_DIMS(7));
    const int a = net_halo(net, NET_DIMS(images, lines, pixels, 14), 1);
    const int left = net_slice(net, a, 3, 0, 7), right = net_slice(net, a, 3, 7, 7);
    const int b = net_tensor(net, NET_DIMS(images, lines, pixels, 7));
    const int c = net_halo(net, NET_DIMS(images, lines, pixels, 7), 1);
    const int d = net_tensor(net, NET_DIMS(images, lines, pixels, 20));
    net_conv(net, x, left, k1, true, -1, IPEX_ACT_relu);
    net_node(net, IPEX_OP_resize, b, NET_IN(low), 4, smooth, NET_FLOATS(0, 0, 0));
    net_conv(net, x, right, k1, false, -1, IPEX_ACT_none);
    net_node(net, IPEX_OP_pointwise, c, NET_IN(left, gate, b, right),
             NET_INTS_(IPEX_STEP_mul, 0, 1, IPEX_STEP_add, 16, 2, IPEX_STEP_sub, 17, 3), 0, NULL);
    net_conv(net, c, d, k3, true, -1, IPEX_ACT_relu);
    net_output(net, d);
    band_all(net);
}

/* Planes to pixels, for a first layer; then outputs that take over what they read of the arena, but
 * not where another member of their group still reads it. */
static void make_planes(struct net *net, int64_t images, int64_t lines, int64_t pixels) {
    net_init(net);
    const int planes = net_input(net, NET_DIMS(images, 3, lines, pixels));
    const int low = net_input(net, NET_DIMS(images, 4, pixels, 18));
    const int x = net_halo(net, NET_DIMS(images, lines, pixels, 3), 1);
    const int a = net_halo(net, NET_DIMS(images, lines, pixels, 18), 1);
    const int b = net_tensor(net, NET_DIMS(images, lines, pixels, 18));
    const int c = net_halo(net, NET_DIMS(images, lines, pixels, 18), 1);
    const int d = net_tensor(net, NET_DIMS(images, lines, pixels, 18));
    const int e = net_halo(net, NET_DIMS(images, lines, pixels, 18), 1);
    const int y = net_tensor(net, NET_DIMS(images, lines, pixels, 18));
    const int32_t perm[] = {0, 2, 3, 1};
    net_node(net, IPEX_OP_transpose, x, NET_IN(planes), 4, perm, 0, NULL);
    net_conv(net, x, a, k3, true, -1, IPEX_ACT_relu);
    net_conv(net, a, b, k3, true, -1, IPEX_ACT_relu);
    net_node(net, IPEX_OP_pointwise, c, NET_IN(a, b, a), MUL_ADD);
    net_node(net, IPEX_OP_resize, d, NET_IN(low), 4, smooth, NET_FLOATS(0, 0, 0));
    net_node(net, IPEX_OP_pointwise, e, NET_IN(c, d, d), MUL_ADD);
    net_node(net, IPEX_OP_copy, y, NET_IN(e), 0, NULL, 0, NULL);
    net_output(net, y);
    band_all(net);
    net->node[4].band = net->node[5].band = 8; /* as if others stood between */
    net->node[6].band = 0;
}

/* Pools between convolutions, whose windows are cut at the borders of what they read; halo: of what
 * the first one reads, which it does not look at. */
static void make_pools(struct net *net, int halo, int64_t images, int64_t lines, int64_t pixels) {
    const struct net_window half = {.kernel = 3, .stride = 2, .pad = 1, .dilation = 1, .groups = 1};
    const struct net_window wide = {.kernel = 5, .stride = 1, .pad = 2, .dilation = 1, .groups = 1};
    const int64_t h = across(lines, &half), w = across(pixels, &half);
    net_init(net);
    const int x = net_input(net, NET_DIMS(images, lines, pixels, 6));
    const int a = net_halo(net, NET_DIMS(images, lines, pixels, 20), halo);
    const int b = net_halo(net, NET_DIMS(images, h, w, 20), 1);
    const int c = net_tensor(net, NET_DIMS(images, h, w, 9));
    const int d = net_halo(net, NET_DIMS(images, h, w, 16), 1);
    const int e = net_tensor(net, NET_DIMS(images, h, w, 7));
    const int f = net_input(net, NET_DIMS(images, h, w, 7));
    net_conv(net, x, a, k1, true, -1, IPEX_ACT_none);
    net_pool(net, IPEX_OP_max_pool, a, b, half, false);
    net_conv(net, b, c, k3, true, -1, IPEX_ACT_none);
    net_pool(net, IPEX_OP_avg_pool, c, net_slice(net, d, 3, 4, 9), wide, true);
    net_node(net, IPEX_OP_copy, net_slice(net, d, 3, 0, 4), NET_IN(net_slice(net, f, 3, 1, 4)), 0,
             NULL, 0, NULL);
    net_node(net, IPEX_OP_copy, net_slice(net, d, 3, 13, 3), NET_IN(net_slice(net, f, 3, 0, 3)), 0,
             NULL, 0, NULL);
    net_conv(net, d, e, k3, true, -1, IPEX_ACT_relu);
    net_output(net, e);
    band_all(net);
}

static void set_scales(struct net *net, float residual, float y, float zero) {
    const float scales[IPEX_SCALES] = {residual, y, zero};
    memcpy(net->scales, scales, sizeof net->scales);
}

/* Bytes that become f32 for a depthwise convolution, and bytes again for another one, whose border
 * is not 0. */
static void make_islands(struct net *net, int64_t images, int64_t lines, int64_t pixels) {
    net_init(net);
    const int x = net_typed_input(net, IPEX_DTYPE_u8, NET_DIMS(images, lines, pixels, 12));
    const int shift = net_typed_input(net, IPEX_DTYPE_u8, NET_DIMS(images, lines, pixels, 1));
    const int a = net_halo(net, NET_DIMS(images, lines, pixels, 12), 1);
    const int b = net_tensor(net, NET_DIMS(images, lines, pixels, 12));
    const int c = net_bytes(net, NET_DIMS(images, lines, pixels, 12), 1, 60);
    const int d = net_tensor(net, NET_DIMS(images, lines, pixels, 20));
    set_scales(net, 0, 0, 0);
    net_node(net, IPEX_OP_pointwise, a, NET_IN(x, shift),
             NET_INTS_(IPEX_STEP_sub, 0, 1, IPEX_STEP_mul, 16, -1), NET_FLOATS(0.03f));
    net_depthwise(net, a, b, k3, true, IPEX_ACT_none);
    net_node(net, IPEX_OP_pointwise, c, NET_IN(b, shift),
             NET_INTS_(IPEX_STEP_mul, 0, -1, IPEX_STEP_add, 16, 1), NET_FLOATS(20));
    net_conv(net, c, d, k3, true, -1, IPEX_ACT_relu);
    net_output(net, d);
    band_all(net);
}

/* Convolutions of bytes, of which the second reads slices by two others and a copy; its border is
 * another one than that of what the third reads, in strides: the largest of 3x3. Residuals from
 * outside the group. */
static void make_bytes(struct net *net, int64_t images, int64_t lines, int64_t pixels) {
    const struct net_window half = {.kernel = 3, .stride = 2, .pad = 1, .dilation = 1, .groups = 1};
    const int64_t h = across(lines, &half), w = across(pixels, &half);
    net_init(net);
    const int planes = net_typed_input(net, IPEX_DTYPE_u8, NET_DIMS(images, 4, lines, pixels));
    const int skip = net_typed_input(net, IPEX_DTYPE_u8, NET_DIMS(images, lines, pixels, 5));
    const int plus = net_typed_input(net, IPEX_DTYPE_u8, NET_DIMS(images, lines, pixels, 21));
    const int more = net_input(net, NET_DIMS(images, h, w, 9));
    const int x = net_bytes(net, NET_DIMS(images, lines, pixels, 4), 1, 33);
    const int cat = net_bytes(net, NET_DIMS(images, lines, pixels, 40), 1, 200);
    const int c = net_bytes(net, NET_DIMS(images, lines, pixels, 21), 0, 0);
    const int largest = net_bytes(net, NET_DIMS(images, lines, pixels, 21), 2, 7);
    const int d = net_bytes(net, NET_DIMS(images, lines, pixels, 21), 1, 5);
    const int y = net_bytes(net, NET_DIMS(images, h, w, 9), 0, 0);
    const int32_t perm[] = {0, 2, 3, 1};
    set_scales(net, 0.01f, 70, 90);
    net_node(net, IPEX_OP_transpose, x, NET_IN(planes), 4, perm, 0, NULL);
    net_conv(net, x, net_slice(net, cat, 3, 0, 35), k3, true, -1, IPEX_ACT_relu);
    net_node(net, IPEX_OP_copy, net_slice(net, cat, 3, 35, 5), NET_IN(skip), 0, NULL, 0, NULL);
    net_conv(net, cat, c, k3, true, plus, IPEX_ACT_leaky_relu);
    net_pool(net, IPEX_OP_max_pool, c, largest, k3, false);
    net_depthwise_plus(net, largest, d, k3, true, plus, IPEX_ACT_relu);
    net_conv(net, d, y, half, true, more, IPEX_ACT_none);
    net_output(net, y);
    band_all(net);
}

static size_t count_steps(const struct net *net) {
    struct harness h;
    harness_open(&h, net);
    harness_session(&h, IPEX_ISA_reference, ONE_THREAD);
    const size_t ret = ipex_session_step_count(h.session, NULL);
    harness_close(&h);
    return ret;
}

static void check_group(struct net *net, const char *name, size_t steps) {
    static const int32_t caches[] = {3000, 20000};
    check(count_steps(net) == steps, name, "another number of steps");
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        struct harness h;
        net->l2_bytes = caches[i];
        net_oracle(net);
        harness_open(&h, net);
        harness_session(&h, IPEX_ISA_AUTO, POOL_OF_2);
        check(harness_run(&h, net, DENSE, DENSE, 0), name, "in another L2");
        harness_close(&h);
    }
    net->l2_bytes = 64;
    check_net(net, name, 0);
}

static void test_groups(void) {
    static const enum ipex_op readers[] = {IPEX_OP_winograd, IPEX_OP_depthwise, IPEX_OP_conv,
                                           IPEX_OP_copy, IPEX_OP_pointwise};
    struct net net;
    for (size_t r = 0; r < sizeof readers / sizeof *readers; r++)
        for (int64_t lines = 1; lines < (readers[r] == IPEX_OP_winograd ? 22 : 12); lines += 5) {
            char name[80];
            snprintf(name, sizeof name, "slices of a tensor that %s reads, %d lines",
                     ipex_op_info(readers[r])->name, (int)(2 * lines));
            make_decoder(&net, readers[r], 1 + lines % 2, lines, 5);
            check_group(&net, name, 1);
        }
    make_sums(&net, 2, 15, 9);
    check_group(&net, "a sum of slices and a resized map", 1);
    for (int64_t lines = 1; lines < 20; lines += 6) {
        char name[80];
        snprintf(name, sizeof name, "pools of %d lines between convolutions", (int)lines);
        make_pools(&net, lines % 4 == 1 ? 0 : 2, 2, lines, 11);
        check_group(&net, name, 1);
    }
    for (int64_t lines = 1; lines < 20; lines += 6) {
        char name[80];
        snprintf(name, sizeof name, "bytes, f32 and bytes, %d lines", (int)lines);
        make_islands(&net, 2, lines, 11);
        check_group(&net, name, 1);
        snprintf(name, sizeof name, "convolutions of bytes, %d lines", (int)lines);
        make_bytes(&net, 2, lines, 11);
        check_group(&net, name, 1);
    }
    make_planes(&net, 2, 11, 9);
    check_group(&net, "planes, a layer, sums in place", 4);
}

/* ---- what a session makes of a group ---- */

static size_t steps(struct harness *h) {
    return ipex_session_step_count(h->session, NULL);
}

static void test_step(void) {
    struct net net;
    struct harness h;
    struct ipex_step_info step = {0};
    make_chain(&net, &chains[0], 1, 64, 64);
    net.l2_bytes = 64 << 10;
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_reference, ONE_THREAD);
    const size_t banded = steps(&h), banded_bytes = h.session_size;
    const bool found = ipex_session_step(h.session, NULL, 1, &step) == IPEX_OK;
    check(banded == 3 && found && strcmp(step.op, "conv+depthwise+conv") == 0 &&
              strcmp(step.name, "node3") == 0 && step.flops == 2 * 64 * 64 * 37 * (16 + 9 + 16),
          "a group is one step", step.op != NULL ? step.op : "");
    const int banded_places = harness_places(&h, NULL);
    check(step.node == 1 && step.nodes == 3 && banded_places > 0,
          "a group's nodes, places in the arena", "they differ, or two are in one place");
    h.no_bands = 1;
    harness_session(&h, IPEX_ISA_reference, ONE_THREAD);
    check(harness_places(&h, NULL) == banded_places + 2,
          "no_bands: what lies between members has places", "another number of places");
    check(steps(&h) == 5, "no_bands: a step for every node", "another number of steps");
    check(banded_bytes < h.session_size, "what lies between members takes no arena",
          "the session is not smaller");
    h.no_bands = 0;
    h.l2_bytes = 8 << 20;
    harness_session(&h, IPEX_ISA_reference, ONE_THREAD);
    check(steps(&h) == 5, "what stays in L2 anyway is not run in bands", "another number of steps");
    const struct ipex_session_options options = {.size_of_struct = sizeof options,
                                                 .l2_bytes = -1,
                                                 .message = h.message,
                                                 .message_size = sizeof h.message};
    struct ipex_requirements need;
    check(ipex_session_measure(h.image, &options, &need) == IPEX_ERROR_ARGUMENT &&
              strstr(h.message, "l2_bytes") != NULL,
          "a negative cache is refused", h.message);
    harness_close(&h);
    net_free(&net);
}

/* Groups that a file may name although its tensors do not allow them. Each is run node by node, but
 * for what remains of it. */
static void test_refused(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(1, 9, 8, 6));
    const int a = net_halo(&net, NET_DIMS(1, 9, 8, 6), 1),
              b = net_tensor(&net, NET_DIMS(1, 9, 8, 6));
    const int c = net_tensor(&net, NET_DIMS(1, 9, 8, 6)),
              d = net_tensor(&net, NET_DIMS(1, 9, 8, 6));
    const int cat = net_halo(&net, NET_DIMS(1, 9, 8, 12), 1);
    const int left = net_slice(&net, cat, 3, 0, 6), right = net_slice(&net, cat, 3, 6, 6);
    const int e = net_tensor(&net, NET_DIMS(1, 9, 8, 12)),
              f = net_tensor(&net, NET_DIMS(1, 9, 8, 6));
    net_conv(&net, x, a, k1, true, -1, IPEX_ACT_relu);
    net_conv(&net, a, b, k3, true, a, IPEX_ACT_none); /* also the residual */
    net_depthwise(&net, b, c, k1, true, IPEX_ACT_relu);
    net_depthwise(&net, c, d, k1, true, IPEX_ACT_none);    /* c is a port */
    net_conv(&net, b, left, k1, false, -1, IPEX_ACT_none); /* b is read again; d is not read */
    net_conv(&net, b, right, k1, false, -1, IPEX_ACT_none);
    const int32_t all[] = {0, 0, 0, 0, 1, 1, 1, 1};
    net_node(&net, IPEX_OP_slice, e, NET_IN(cat), 8, all, 0, NULL);
    net_conv(&net, e, f, k1, false, -1, IPEX_ACT_none);
    net_output(&net, c);
    net_output(&net, d);
    net_output(&net, e);
    net_output(&net, f);
    band_all(&net);
    check(count_steps(&net) == (size_t)net.nodes, "tensors that must exist are not run in bands",
          "another number of steps");
    check_net(&net, "groups that cannot be run in bands", 0);
}

static void check_refused(struct net *net, int out, const char *name, size_t steps) {
    net_output(net, out);
    band_all(net);
    check(count_steps(net) == steps, name, "another number of steps");
    check_net(net, name, 0);
}

/* Lines that are not those of what is read, or of a storage that others read or write too. */
static void test_other_lines(void) {
    struct net net;
    net_init(&net);
    int x = net_input(&net, NET_DIMS(1, 1, 8, 6));
    const int z = net_input(&net, NET_DIMS(1, 9, 8, 6));
    int a = net_tensor(&net, NET_DIMS(1, 1, 8, 6)), b = net_tensor(&net, NET_DIMS(1, 9, 8, 6));
    net_conv(&net, x, a, k1, true, -1, IPEX_ACT_relu);
    net_node(&net, IPEX_OP_pointwise, b, NET_IN(a, z, z), MUL_ADD);
    check_refused(&net, b, "one line for all of a sum", 2);

    net_init(&net);
    x = net_input(&net, NET_DIMS(1, 9, 8, 6));
    a = net_tensor(&net, NET_DIMS(1, 9, 8, 6)), b = net_tensor(&net, NET_DIMS(1, 9, 8, 6));
    int y = net_tensor(&net, NET_DIMS(1, 9, 8, 6));
    net_conv(&net, x, a, k1, true, -1, IPEX_ACT_relu);
    net_node(&net, IPEX_OP_pointwise, b, NET_IN(a, a, x), MUL_ADD);
    net_node(&net, IPEX_OP_pointwise, y, NET_IN(a, b, b), MUL_ADD);
    check_refused(&net, y, "a value that two members read", 2);

    net_init(&net);
    x = net_input(&net, NET_DIMS(1, 5, 8, 6));
    a = net_tensor(&net, NET_DIMS(1, 10, 8, 6)), y = net_tensor(&net, NET_DIMS(1, 10, 8, 6));
    net_conv(&net, x, net_slice(&net, a, 1, 0, 5), k1, true, -1, IPEX_ACT_relu);
    net_conv(&net, x, net_slice(&net, a, 1, 5, 5), k1, true, -1, IPEX_ACT_relu);
    net_conv(&net, a, y, k1, true, -1, IPEX_ACT_relu);
    check_refused(&net, y, "lines above each other in one storage", 3);

    net_init(&net);
    x = net_input(&net, NET_DIMS(1, 9, 8, 6));
    a = net_tensor(&net, NET_DIMS(1, 9, 8, 6)), y = net_tensor(&net, NET_DIMS(1, 8, 9, 6));
    net_conv(&net, x, a, k1, true, -1, IPEX_ACT_relu);
    net_conv(&net, net_reshape(&net, a, NET_DIMS(1, 8, 9, 6)), y, k1, true, -1, IPEX_ACT_relu);
    check_refused(&net, y, "other lines by a reshape", 2);

    net_init(&net);
    x = net_input(&net, NET_DIMS(1, 9, 8, 6));
    a = net_halo(&net, NET_DIMS(1, 9, 8, 6), 2), y = net_tensor(&net, NET_DIMS(1, 9, 8, 6));
    net_conv(&net, x, a, k1, true, -1, IPEX_ACT_relu);
    net_winograd(&net, 4, a, y, 2, 2, true, -1, IPEX_ACT_none);
    check_refused(&net, y, "winograd's tiles of lines that lie apart", 2);

    net_init(&net);
    x = net_input(&net, NET_DIMS(1, 9, 8, 6));
    a = net_halo(&net, NET_DIMS(1, 9, 8, 12), 1), y = net_tensor(&net, NET_DIMS(1, 9, 8, 6));
    const int32_t all[] = {0, 0, 0, 0, 1, 1, 1, 1};
    net_node(&net, IPEX_OP_slice, net_slice(&net, a, 3, 0, 6), NET_IN(x), 8, all, 0, NULL);
    net_conv(&net, x, net_slice(&net, a, 3, 6, 6), k1, true, -1, IPEX_ACT_relu);
    net_conv(&net, a, y, k3, true, -1, IPEX_ACT_relu);
    check_refused(&net, y, "a slice written before the group", 3);

    net_init(&net);
    x = net_input(&net, NET_DIMS(1, 9, 8, 6));
    a = net_halo(&net, NET_DIMS(1, 9, 8, 12), 1), y = net_tensor(&net, NET_DIMS(1, 9, 8, 6));
    b = net_slice(&net, a, 3, 0, 6);
    net_conv(&net, x, b, k1, true, -1, IPEX_ACT_relu);
    net_conv(&net, b, net_slice(&net, a, 3, 6, 6), k1, true, -1, IPEX_ACT_relu);
    net_conv(&net, a, y, k3, true, -1, IPEX_ACT_relu);
    check_refused(&net, y, "a slice that is made of another", 3);

    net_init(&net);
    x = net_input(&net, NET_DIMS(1, 9, 8, 6));
    a = net_tensor(&net, NET_DIMS(1, 9, 8, 12)), y = net_tensor(&net, NET_DIMS(1, 9, 8, 6));
    b = net_slice(&net, a, 3, 0, 6);
    net_conv(&net, x, b, k1, true, -1, IPEX_ACT_relu);
    net_conv(&net, b, net_slice(&net, a, 3, 6, 6), k1, true, -1, IPEX_ACT_relu);
    net_conv(&net, x, y, k1, true, -1, IPEX_ACT_relu);
    check_refused(&net, y, "a slice that nobody reads, made of another", 3);
}

/* ---- changing sizes ---- */

static void make_sized(struct net *net, int64_t images, int64_t lines, int64_t pixels) {
    make_chain(net, &chains[0], images, lines, pixels);
    const int64_t n = net_symbol(net, "n", 1, 3, 1), h = net_symbol(net, "h", 3, 40, 1);
    const int64_t w = net_symbol(net, "w", 2, 50, 1);
    for (int t = 0; t < net->tensors; t++) {
        if (net->tensor[t].weight >= 0)
            continue;
        net_dim(net, t, 0, n);
        net_dim(net, t, 1, h);
        net_dim(net, t, 2, w);
    }
}

/* One session; its memory is what was measured at both ends. */
static void test_sizes(int32_t l2_bytes, size_t wanted) {
    static const int64_t sizes[][3] = {{1, 3, 2},  {3, 40, 50}, {2, 7, 50}, {1, 40, 2},
                                       {2, 11, 9}, {3, 3, 33},  {1, 39, 21}};
    struct net net;
    struct harness h;
    char name[80];
    bool right = true;
    make_sized(&net, 3, 40, 50);
    net.l2_bytes = l2_bytes;
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, POOL_OF_2);
    right = steps(&h) == wanted;
    for (size_t i = 0; right && i < sizeof sizes / sizeof *sizes; i++) {
        struct net now;
        make_sized(&now, sizes[i][0], sizes[i][1], sizes[i][2]);
        net_oracle(&now);
        right = harness_run(&h, &now, DENSE, VIEW, 0) && steps(&h) == wanted;
        net_free(&now);
    }
    snprintf(name, sizeof name, "bands of changing sizes, L2 of %d bytes", (int)l2_bytes);
    check(right, name, ipex_session_message(h.session));
    harness_close(&h);
    net_free(&net);
}

int main(void) {
    test_chains();
    test_heights();
    test_groups();
    test_step();
    test_refused();
    test_other_lines();
    test_sizes(64, 3);
    test_sizes(20000, 3);
    test_sizes(200000, 3);
    test_sizes(300000, 5); /* a small cache, behind which the next one has it all */
    return check_result();
}
