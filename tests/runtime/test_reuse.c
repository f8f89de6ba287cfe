/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that take over the storage of an operand which dies: the bits of the oracle at every
 * level and number of threads, the places themselves, and the cases in which it must not happen. */
#include <stdio.h>
#include <string.h>

#include "runtime/session.h"
#include "tests/runtime/harness.h"

static const int32_t add_program[] = {IPEX_STEP_add, 0, 1};

static int add(struct net *net, int y, int a, int b) {
    net_node(net, IPEX_OP_pointwise, y, NET_IN(a, b), 3, add_program, 0, NULL);
    return y;
}

/* Whether y lies where x lay; then the whole network is computed and compared, and freed. */
static void check_places(struct net *net, int x, int y, bool shared, const char *name) {
    struct harness h;
    char text[120];
    net_oracle(net);
    harness_open(&h, net);
    harness_session(&h, IPEX_ISA_AUTO, ONE_THREAD);
    const struct ipex_storage *storage = ipex_session_plan(h.session, NULL)->storage;
    snprintf(text, sizeof text, "%s: %s", name, shared ? "one storage" : "two storages");
    check((storage[x].arena == storage[y].arena) == shared, text, "it is the other way");
    harness_close(&h);
    check_net(net, name, 0);
}

/* The residual of every operator that has one; not where chains are parked in y before it is read.
 */
enum kind { CONV, COLUMNS, DEPTHWISE, WINOGRAD, LINEAR };

static void test_residual(enum kind kind, int64_t lines, int64_t pixels, int64_t channels,
                          const char *name) {
    const struct net_window window = {3, 1, 1, 1, 1, kind == COLUMNS};
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, lines, pixels, channels));
    const int a = net_halo(&net, NET_DIMS(2, lines, pixels, channels), 1);
    const int r = net_tensor(&net, NET_DIMS(2, lines, pixels, channels));
    const int y = net_tensor(&net, NET_DIMS(2, lines, pixels, channels));
    const int z = net_tensor(&net, NET_DIMS(2, lines, pixels, channels));
    add(&net, a, x, x);
    add(&net, r, a, x);
    if (kind == CONV || kind == COLUMNS)
        net_conv(&net, a, y, window, true, r, IPEX_ACT_leaky_relu);
    else if (kind == WINOGRAD)
        net_winograd(&net, 4, a, y, 1, 1, true, r, IPEX_ACT_leaky_relu);
    else if (kind == LINEAR)
        net_linear(&net, a, y, true, r, IPEX_ACT_relu);
    else
        net_depthwise(&net, a, y, window, true, IPEX_ACT_relu);
    if (kind == DEPTHWISE)
        net.node[net.nodes - 1].inputs[3] = r;
    add(&net, z, y, x);
    net_output(&net, z);
    check_places(&net, r, y, kind != COLUMNS, name);
}

static void test_pointwise(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(3, 5, 33)), row = net_constant(&net, NET_DIMS(33));
    const int a = net_tensor(&net, NET_DIMS(3, 5, 33)), b = net_tensor(&net, NET_DIMS(3, 5, 33));
    const int c = net_tensor(&net, NET_DIMS(3, 5, 33));
    add(&net, a, x, row);
    add(&net, b, row, a);
    add(&net, c, b, b);
    net_output(&net, c);
    check_places(&net, a, b, true, "a chain of pointwise programs");
}

/* Onto the data, but for what is written too. */
static void test_scatter(bool onto_itself) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(6, 20)), a = net_tensor(&net, NET_DIMS(6, 20));
    const int at = net_typed_input(&net, IPEX_DTYPE_i64, NET_DIMS(6));
    const int y = net_tensor(&net, NET_DIMS(6, 20)), z = net_tensor(&net, NET_DIMS(6, 20));
    add(&net, a, x, x);
    net_node(&net, IPEX_OP_scatter, y, NET_IN(a, at, onto_itself ? a : x),
             NET_INTS_(IPEX_SCATTER_add), 0, NULL);
    add(&net, z, y, x);
    net_output(&net, z);
    check_places(&net, a, y, !onto_itself, onto_itself ? "scatter of the data" : "scatter");
}

/* What is read beside the residual must not be overwritten. */
static void test_operand_is_residual(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(1, 9, 10, 16));
    const int a = net_halo(&net, NET_DIMS(1, 9, 10, 16), 1);
    const int y = net_halo(&net, NET_DIMS(1, 9, 10, 16), 1);
    const int z = net_tensor(&net, NET_DIMS(1, 9, 10, 16));
    add(&net, a, x, x);
    net_conv(&net, a, y, (struct net_window){3, 1, 1, 1, 1, false}, true, a, IPEX_ACT_none);
    add(&net, z, y, y);
    net_output(&net, z);
    check_places(&net, a, y, false, "the residual is convolved too");
}

static void test_broadcast(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(4, 20)), row = net_tensor(&net, NET_DIMS(1, 20));
    const int head = net_slice(&net, x, 0, 0, 1), y = net_tensor(&net, NET_DIMS(4, 20));
    add(&net, row, head, head);
    add(&net, y, row, x);
    net_output(&net, y);
    check_places(&net, row, y, false, "an operand that is broadcast");
}

static void test_read_later(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(7, 20)), a = net_tensor(&net, NET_DIMS(7, 20));
    const int b = net_tensor(&net, NET_DIMS(7, 20)), c = net_tensor(&net, NET_DIMS(7, 20));
    add(&net, a, x, x);
    add(&net, b, a, x);
    add(&net, c, a, b);
    net_output(&net, c);
    check_places(&net, a, b, false, "an operand that is read later");
}

/* Part of a storage, of which another part is read too. */
static void test_views(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(6, 20)), a = net_tensor(&net, NET_DIMS(6, 20));
    const int low = net_slice(&net, a, 0, 0, 3), high = net_slice(&net, a, 0, 3, 3);
    const int y = net_tensor(&net, NET_DIMS(3, 20));
    add(&net, a, x, x);
    add(&net, y, high, low);
    net_output(&net, y);
    check_places(&net, a, y, false, "views of one storage");
}

static void test_halo(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(1, 5, 6, 16));
    const int a = net_tensor(&net, NET_DIMS(1, 5, 6, 16));
    const int b = net_halo(&net, NET_DIMS(1, 5, 6, 16), 1);
    const int y = net_tensor(&net, NET_DIMS(1, 5, 6, 16));
    add(&net, a, x, x);
    add(&net, b, a, x);
    net_conv(&net, b, y, (struct net_window){3, 1, 1, 1, 1, false}, false, -1, IPEX_ACT_none);
    net_output(&net, y);
    check_places(&net, a, b, false, "another halo");
}

/* Bytes over bytes: the residual's storage, whose border was another one than that of what is
 * written; operands of programs. */
static void test_bytes(void) {
    static const float scales[IPEX_SCALES] = {0.01f, 70, 90};
    const struct net_window k3 = {.kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 1};
    struct net net;
    net_init(&net);
    memcpy(net.scales, scales, sizeof scales);
    const int x = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(2, 13, 29, 40));
    const int row = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(40));
    const int a = net_bytes(&net, NET_DIMS(2, 13, 29, 40), 1, 50);
    const int r = net_bytes(&net, NET_DIMS(2, 13, 29, 40), 1, 60);
    const int y = net_bytes(&net, NET_DIMS(2, 13, 29, 40), 1, 200);
    const int z = net_tensor(&net, NET_DIMS(2, 13, 29, 5));
    add(&net, a, x, row);
    add(&net, r, a, row);
    net_conv(&net, a, y, k3, true, r, IPEX_ACT_leaky_relu);
    net_conv(&net, y, z, k3, true, -1, IPEX_ACT_none);
    net_output(&net, z);
    check_places(&net, r, y, true, "bytes with residual, another border");
    for (int bytes = 0; bytes < 2; bytes++) {
        net_init(&net);
        const int p = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(7, 40));
        const int q = net_typed_input(&net, IPEX_DTYPE_u8, NET_DIMS(40));
        const int b = net_bytes(&net, NET_DIMS(7, 40), 0, 0);
        const int c =
            bytes ? net_bytes(&net, NET_DIMS(7, 40), 0, 0) : net_tensor(&net, NET_DIMS(7, 40));
        const int d = net_tensor(&net, NET_DIMS(7, 40));
        add(&net, b, p, q);
        add(&net, c, b, q);
        add(&net, d, c, q);
        net_output(&net, d);
        check_places(&net, b, c, bytes, bytes ? "bytes of bytes" : "f32 of bytes");
    }
}

int main(void) {
    test_residual(CONV, 13, 29, 40, "convolution with residual");
    test_residual(CONV, 7, 7, 24, "convolution with residual, short lines");
    test_residual(COLUMNS, 7, 7, 24, "kernel by columns with residual");
    test_residual(DEPTHWISE, 12, 31, 40, "depthwise with residual");
    test_residual(DEPTHWISE, 5, 7, 16, "depthwise with residual, short lines");
    test_residual(WINOGRAD, 11, 18, 40, "winograd with residual");
    test_residual(LINEAR, 11, 18, 40, "linear with residual");
    test_pointwise();
    test_scatter(false);
    test_scatter(true);
    test_operand_is_residual();
    test_broadcast();
    test_read_later();
    test_views();
    test_halo();
    test_bytes();
    return check_result();
}
