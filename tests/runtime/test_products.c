/* SPDX-License-Identifier: Apache-2.0 */
/* Products of activations, attention, norms and recurrent layers through file, session and run, in
 * all the ways of check_net. */
#include "tests/runtime/harness.h"

static void matmul(struct net *net, int a, int b, int y, int trans_b, float scale) {
    net_node(net, IPEX_OP_matmul, y, NET_IN(a, b), NET_INTS_(trans_b, 0, 0),
             NET_FLOATS(scale, 0, 0));
}

static void test_matmul(void) {
    struct net net;
    net_init(&net);
    const int a = net_input(&net, NET_DIMS(2, 3, 17, 20));
    const int b = net_input(&net, NET_DIMS(3, 20, 35));
    const int c = net_input(&net, NET_DIMS(2, 1, 35, 20));
    const int y = net_tensor(&net, NET_DIMS(2, 3, 17, 35));
    const int z = net_tensor(&net, NET_DIMS(2, 3, 17, 35));
    const int part = net_slice(&net, a, 3, 3, 9);
    const int weight = net_constant(&net, NET_DIMS(9, 24));
    const int v = net_tensor(&net, NET_DIMS(2, 3, 17, 24));
    const int wide = net_tensor(&net, NET_DIMS(2, 3, 17, 50));
    const int left = net_slice(&net, wide, 3, 0, 35), right = net_slice(&net, wide, 3, 35, 15);
    const int narrow = net_slice(&net, c, 2, 4, 15);
    matmul(&net, a, b, y, 0, 1.0f);
    matmul(&net, a, c, z, 1, 0.125f);
    matmul(&net, part, weight, v, 0, 1.0f);
    matmul(&net, a, c, left, 1, 1.0f);
    matmul(&net, a, narrow, right, 1, 3.0f);
    net_output(&net, y);
    net_output(&net, z);
    net_output(&net, v);
    net_output(&net, wide);
    check_net(&net, "matmul", 0);
}

/* Vectors on either side, and sizes of several jobs. */
static void test_matmul_sizes(void) {
    struct net net;
    net_init(&net);
    const int a = net_input(&net, NET_DIMS(3, 130, 300));
    const int b = net_input(&net, NET_DIMS(300, 210));
    const int column = net_slice(&net, b, 1, 7, 1);
    const int columns = net_input(&net, NET_DIMS(3, 300, 1));
    const int row = net_input(&net, NET_DIMS(1, 300));
    const int y = net_tensor(&net, NET_DIMS(3, 130, 210));
    const int y1 = net_tensor(&net, NET_DIMS(3, 130, 1));
    const int y2 = net_tensor(&net, NET_DIMS(3, 130, 1));
    const int y3 = net_tensor(&net, NET_DIMS(1, 210));
    const int y4 = net_tensor(&net, NET_DIMS(3, 130, 1));
    matmul(&net, a, b, y, 0, 1.0f);
    matmul(&net, a, column, y1, 0, 1.0f);
    matmul(&net, a, columns, y2, 0, 2.0f);
    matmul(&net, row, b, y3, 0, 1.0f);
    matmul(&net, a, row, y4, 1, 1.0f);
    net_output(&net, y);
    net_output(&net, y1);
    net_output(&net, y2);
    net_output(&net, y3);
    net_output(&net, y4);
    check_net(&net, "matmul of vectors and of several jobs", 0);
}

static void attend(struct net *net, int y, int n_inputs, const int *inputs, int causal) {
    net_node(net, IPEX_OP_attention, y, n_inputs, inputs, NET_INTS_(causal, 0), NET_FLOATS(0.4f));
}

static void test_attention(void) {
    struct net net;
    net_init(&net);
    const int q = net_input(&net, NET_DIMS(2, 4, 33, 20));
    const int k = net_input(&net, NET_DIMS(2, 4, 40, 20));
    const int v = net_input(&net, NET_DIMS(2, 4, 40, 24));
    const int mask = net_input(&net, NET_DIMS(2, 1, 1, 40));
    const int bias = net_constant(&net, NET_DIMS(4, 33, 1));
    const int shared = net_slice(&net, k, 1, 1, 2), values = net_slice(&net, v, 1, 2, 2);
    const int plain = net_tensor(&net, NET_DIMS(2, 4, 33, 24));
    const int masked = net_tensor(&net, NET_DIMS(2, 4, 33, 24));
    const int causal = net_tensor(&net, NET_DIMS(2, 4, 33, 24));
    const int grouped = net_tensor(&net, NET_DIMS(2, 4, 33, 24));
    attend(&net, plain, NET_IN(q, k, v), 0);
    attend(&net, masked, NET_IN(q, k, v, mask), 0);
    attend(&net, causal, NET_IN(q, k, v, bias), 1);
    attend(&net, grouped, NET_IN(q, shared, values, mask), 1);
    net_output(&net, plain);
    net_output(&net, masked);
    net_output(&net, causal);
    net_output(&net, grouped);
    check_net(&net, "attention", 1e-5);
}

/* One head without batch dims, keys and values broadcast, and many rows. */
static void test_attention_shapes(void) {
    struct net net;
    net_init(&net);
    const int q = net_input(&net, NET_DIMS(3, 200, 8));
    const int k = net_input(&net, NET_DIMS(150, 8));
    const int v = net_input(&net, NET_DIMS(1, 150, 5));
    const int one = net_slice(&net, q, 1, 7, 1);
    const int y = net_tensor(&net, NET_DIMS(3, 200, 5));
    const int z = net_tensor(&net, NET_DIMS(3, 1, 5));
    attend(&net, y, NET_IN(q, k, v), 0);
    attend(&net, z, NET_IN(one, k, v), 1);
    net_output(&net, y);
    net_output(&net, z);
    check_net(&net, "attention with broadcast", 1e-5);
}

/* An operand of b batches and h heads, its rows before these or before all. */
static int rows_elsewhere(struct net *net, int rows, int64_t b, int64_t h, int64_t n, int64_t d,
                          bool input) {
    const bool first = rows == IPEX_ROWS_first;
    const int64_t dims[] = {first ? n : b, first ? b : n, h, d};
    return input ? net_input(net, 4, dims) : net_tensor(net, 4, dims);
}

/* Also with keys and values of fewer heads, and values of one batch. */
static void test_attention_rows(void) {
    struct net net;
    net_init(&net);
    const int mask = net_input(&net, NET_DIMS(2, 1, 33, 40));
    for (int rows = IPEX_ROWS_before_heads; rows <= IPEX_ROWS_first; rows++) {
        const int q = rows_elsewhere(&net, rows, 2, 4, 33, 20, true);
        const int k = rows_elsewhere(&net, rows, 2, 4, 40, 20, true);
        const int v = rows_elsewhere(&net, rows, 1, 4, 40, 24, true);
        const int shared = net_slice(&net, k, 2, 1, 2), values = net_slice(&net, v, 2, 2, 2);
        const int masked = rows_elsewhere(&net, rows, 2, 4, 33, 24, false);
        const int grouped = rows_elsewhere(&net, rows, 2, 4, 33, 24, false);
        net_node(&net, IPEX_OP_attention, masked, NET_IN(q, k, v, mask), NET_INTS_(0, rows),
                 NET_FLOATS(0.4f));
        net_node(&net, IPEX_OP_attention, grouped, NET_IN(q, shared, values), NET_INTS_(1, rows),
                 NET_FLOATS(0.4f));
        net_output(&net, masked);
        net_output(&net, grouped);
    }
    check_net(&net, "attention with rows elsewhere", 1e-5);
}

static void test_norms(void) {
    struct net net;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(2, 5, 6, 36));
    const int gamma = net_input(&net, NET_DIMS(36)), beta = net_constant(&net, NET_DIMS(36));
    const int part = net_slice(&net, x, 3, 4, 18);
    const int layer = net_tensor(&net, NET_DIMS(2, 5, 6, 36));
    const int rms = net_tensor(&net, NET_DIMS(2, 5, 6, 18));
    const int group = net_halo(&net, NET_DIMS(2, 5, 6, 36), 1);
    const int copy = net_tensor(&net, NET_DIMS(2, 5, 6, 36));
    const int instance = net_tensor(&net, NET_DIMS(2, 5, 6, 36));
    const int gaps = net_slice(&net, x, 2, 1, 4);
    const int of_gaps = net_tensor(&net, NET_DIMS(2, 5, 4, 36));
    net_node(&net, IPEX_OP_layer_norm, layer, NET_IN(x, gamma, beta), NET_INTS_(0, IPEX_ACT_relu),
             NET_FLOATS(1e-5f, 0, 0));
    net_node(&net, IPEX_OP_layer_norm, rms, NET_IN(part), NET_INTS_(1, IPEX_ACT_none),
             NET_FLOATS(1e-3f, 0, 0));
    net_node(&net, IPEX_OP_group_norm, group, NET_IN(x, gamma, beta), NET_INTS_(4, IPEX_ACT_relu),
             NET_FLOATS(1e-5f, 0, 0));
    net_node(&net, IPEX_OP_copy, copy, NET_IN(group), 0, NULL, 0, NULL);
    net_node(&net, IPEX_OP_group_norm, instance, NET_IN(x, -1, beta), NET_INTS_(36, IPEX_ACT_none),
             NET_FLOATS(1e-5f, 0, 0));
    net_node(&net, IPEX_OP_layer_norm, of_gaps, NET_IN(gaps, gamma), NET_INTS_(0, IPEX_ACT_none),
             NET_FLOATS(1e-5f, 0, 0));
    net_output(&net, layer);
    net_output(&net, rms);
    net_output(&net, copy);
    net_output(&net, instance);
    net_output(&net, of_gaps);
    check_net(&net, "norms", 0);
}

/* Weights of `rows` gates rows: w and r. */
static void gate_weights(struct net *net, int64_t directions, int64_t rows, int64_t inputs,
                         int64_t hidden, int ret[2]) {
    ret[0] = net_tiles(net, IPEX_DTYPE_f32, NET_DIMS(directions, 1, rows, 1, inputs));
    ret[1] = net_tiles(net, IPEX_DTYPE_f32, NET_DIMS(directions, 1, rows, 1, hidden));
}

static void test_lstm(void) {
    struct net net;
    int both[2], one[2];
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(5, 3, 7));
    const int h0 = net_input(&net, NET_DIMS(2, 3, 9)), c0 = net_input(&net, NET_DIMS(2, 3, 9));
    const int bias = net_constant(&net, NET_DIMS(2, 72));
    const int y = net_tensor(&net, NET_DIMS(5, 2, 3, 9));
    const int h = net_tensor(&net, NET_DIMS(2, 3, 9)), c = net_tensor(&net, NET_DIMS(2, 3, 9));
    const int part = net_slice(&net, x, 1, 1, 1);
    const int y1 = net_tensor(&net, NET_DIMS(5, 1, 1, 6));
    const int h1 = net_tensor(&net, NET_DIMS(1, 1, 6)), c1 = net_tensor(&net, NET_DIMS(1, 1, 6));
    gate_weights(&net, 2, 36, 7, 9, both);
    net_node(&net, IPEX_OP_lstm, y, NET_IN(x, both[0], both[1], bias, h0, c0), NET_INTS_(2, 0), 0,
             NULL);
    net_also(&net, h);
    net_also(&net, c);
    gate_weights(&net, 1, 24, 7, 6, one);
    net_node(&net, IPEX_OP_lstm, y1, NET_IN(part, one[0], one[1]), NET_INTS_(1, 1), 0, NULL);
    net_also(&net, h1);
    net_also(&net, c1);
    net_output(&net, y);
    net_output(&net, h);
    net_output(&net, c);
    net_output(&net, y1);
    net_output(&net, h1);
    net_output(&net, c1);
    check_net(&net, "lstm", 1e-5);
}

static void test_gru(void) {
    struct net net;
    int both[2], one[2];
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(6, 2, 10));
    const int h0 = net_input(&net, NET_DIMS(2, 2, 11));
    const int bias = net_constant(&net, NET_DIMS(2, 66));
    const int y = net_tensor(&net, NET_DIMS(6, 2, 2, 11)), h = net_tensor(&net, NET_DIMS(2, 2, 11));
    const int y1 = net_tensor(&net, NET_DIMS(6, 1, 2, 20)),
              h1 = net_tensor(&net, NET_DIMS(1, 2, 20));
    const int y2 = net_tensor(&net, NET_DIMS(6, 2, 2, 11)),
              h2 = net_tensor(&net, NET_DIMS(2, 2, 11));
    gate_weights(&net, 2, 33, 10, 11, both);
    gate_weights(&net, 1, 60, 10, 20, one);
    net_node(&net, IPEX_OP_gru, y, NET_IN(x, both[0], both[1], bias, h0), NET_INTS_(2, 0, 0), 0,
             NULL);
    net_also(&net, h);
    net_node(&net, IPEX_OP_gru, y1, NET_IN(x, one[0], one[1]), NET_INTS_(1, 1, 1), 0, NULL);
    net_also(&net, h1);
    net_node(&net, IPEX_OP_gru, y2, NET_IN(x, both[0], both[1], bias), NET_INTS_(2, 0, 1), 0, NULL);
    net_also(&net, h2);
    net_output(&net, y);
    net_output(&net, h);
    net_output(&net, y1);
    net_output(&net, h1);
    net_output(&net, y2);
    net_output(&net, h2);
    check_net(&net, "gru", 1e-5);
}

int main(void) {
    test_matmul();
    test_matmul_sizes();
    test_attention();
    test_attention_shapes();
    test_attention_rows();
    test_norms();
    test_lstm();
    test_gru();
    return check_result();
}
