/* SPDX-License-Identifier: Apache-2.0 */
/* Entries with symbols: one session at changing sizes gives the bits that files made for each size
 * give, in the memory that was measured; sizes outside its range are refused by name. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/session.h"
#include "tests/runtime/harness.h"

struct size {
    int64_t n, h, w;
};

/* The ends of the ranges of net_images: n 1 .. 3, h 4 .. 14 step 2, w 5 .. 11. */
static const struct size lowest = {1, 4, 5}, highest = {3, 14, 11};

/* Dims that sizes decide, as numbers and as dim codes (numbers too in a static net). */
struct dim {
    int64_t number, code;
};

static void set_dims(struct net *net, int t, struct dim n, struct dim h, struct dim w) {
    net_dim(net, t, 0, n.code);
    net_dim(net, t, 1, h.code);
    net_dim(net, t, 2, w.code);
}

static int image(struct net *net, struct dim n, struct dim h, struct dim w, int64_t c, int halo) {
    const int t = net_halo(net, NET_DIMS(n.number, h.number, w.number, c), halo);
    set_dims(net, t, n, h, w);
    return t;
}

static struct dim open_dim(struct net *net, const char *name, int64_t number, int64_t lo,
                           int64_t hi, int64_t step) {
    return (struct dim){number, net_symbol(net, name, lo, hi, step)};
}

static struct dim derived(struct net *net, int64_t number, enum ipex_expr_op op, struct dim a,
                          int64_t b) {
    return (struct dim){number, net_expr(net, op, a.code, b)};
}

static const struct net_window k1 = {.kernel = 1, .stride = 1, .dilation = 1, .groups = 1};
static const struct net_window k3 = {
    .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 1};

/* A static net has numbers everywhere. */
static void forget_codes(struct net *net) {
    net->symbols = net->exprs = 0;
    for (int i = 0; i < net->tensors; i++) {
        memset(net->tensor[i].dim_code, 0, sizeof net->tensor[i].dim_code);
        net->tensor[i].start_code = 0;
    }
    for (int i = 0; i < net->nodes; i++)
        net->node[i].n_dynamic = 0;
}

/* Images of any number and size. Two convolutions into a concatenation with a halo, which winograd
 * reads; a depthwise one that halves; a pad up to a multiple of 4; a concatenation along the
 * height, whose second half is read by a softmax (which needs a dense copy where there are several
 * images); a slice backwards; a mean and a linear layer; a sum over axes that are no neighbours. */
static void net_images(struct net *net, struct size s, bool open) {
    net_init(net);
    const struct dim n = open_dim(net, "batch", s.n, lowest.n, highest.n, 1);
    const struct dim h = open_dim(net, "height", s.h, lowest.h, highest.h, 2);
    const struct dim w = open_dim(net, "width", s.w, lowest.w, highest.w, 1);
    const struct dim h2 = derived(net, s.h / 2, IPEX_EXPR_floor_div, h, 2);
    const struct dim odd = derived(net, s.w + 1, IPEX_EXPR_add, w, 1);
    const struct dim w2 = derived(net, (s.w + 1) / 2, IPEX_EXPR_floor_div, odd, 2);
    const struct dim up = derived(net, h2.number + 3, IPEX_EXPR_add, h2, 3);
    const struct dim fours = derived(net, up.number / 4, IPEX_EXPR_floor_div, up, 4);
    const struct dim h4 = derived(net, fours.number * 4, IPEX_EXPR_mul, fours, 4);
    const struct dim after = derived(net, h4.number - h2.number, IPEX_EXPR_sub, h4, h2.code);
    const struct dim last = derived(net, h2.number - 1, IPEX_EXPR_sub, h2, 1);
    const struct dim both = derived(net, h4.number + h2.number, IPEX_EXPR_add, h4, h2.code);
    const struct dim one = {1, 0};

    const int x = image(net, n, h, w, 8, 0);
    net->input[net->inputs++] = x;
    net->port[x] = "picture";
    const int xh = image(net, n, h, w, 8, 1);
    const int cat = image(net, n, h, w, 40, 1);
    const int left = net_slice(net, cat, 3, 0, 24), right = net_slice(net, cat, 3, 24, 16);
    const int half = image(net, n, h2, w2, 40, 0), pool = image(net, n, h2, w2, 40, 0);
    const int tall = image(net, n, both, w2, 40, 0);
    const int top = net_slice(net, tall, 1, 0, h4.number);
    const int bottom = net_slice(net, tall, 1, h4.number, h2.number);
    const int soft = image(net, n, h2, w2, 40, 0), back = image(net, n, h2, w2, 40, 0);
    const int mean = image(net, n, one, one, 40, 0);
    const int flat = net_reshape(net, mean, NET_DIMS(s.n, 40));
    const int scores = net_tensor(net, NET_DIMS(s.n, 10));
    const int across = net_tensor(net, NET_DIMS(1, s.h, 1, 40));
    const int tiled = image(net, n, h, w, 40, 0);
    set_dims(net, left, n, h, w);
    set_dims(net, right, n, h, w);
    set_dims(net, top, n, h4, w2);
    set_dims(net, bottom, n, h2, w2);
    net_start(net, bottom, h4.code);
    net->port[scores] = "scores";
    net_dim(net, flat, 0, n.code);
    net_dim(net, scores, 0, n.code);
    net_dim(net, across, 1, h.code);

    net_node(net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_conv(net, xh, left, k3, true, -1, IPEX_ACT_relu);
    net_conv(net, xh, right, k1, true, -1, IPEX_ACT_none);
    net_winograd(net, 4, cat, tiled, 1, 1, true, cat, IPEX_ACT_none);
    const struct net_window down = {.kernel = 3, .stride = 2, .pad = 1, .dilation = 1, .groups = 1};
    net_depthwise(net, cat, half, down, true, IPEX_ACT_none);
    net_pool(net, IPEX_OP_max_pool, half, pool, k3, false);
    net_node(net, IPEX_OP_pad, top, NET_IN(half),
             NET_INTS_(0, 0, 0, 0, 0, (int32_t)after.number, 0, 0, IPEX_PAD_constant),
             NET_FLOATS(0.25f));
    net_int(net, 5, after.code);
    net_node(net, IPEX_OP_copy, bottom, NET_IN(pool), 0, NULL, 0, NULL);
    net_node(net, IPEX_OP_softmax, soft, NET_IN(bottom), 0, NULL, 0, NULL);
    net_node(net, IPEX_OP_slice, back, NET_IN(half),
             NET_INTS_(0, (int32_t)last.number, 0, 0, 1, -1, 1, 1), 0, NULL);
    net_int(net, 1, last.code);
    net_node(net, IPEX_OP_reduce, mean, NET_IN(soft), NET_INTS_(IPEX_REDUCE_mean, 6), 0, NULL);
    net_linear(net, flat, scores, true, -1, IPEX_ACT_none);
    net_node(net, IPEX_OP_reduce, across, NET_IN(cat), NET_INTS_(IPEX_REDUCE_sum, 5), 0, NULL);
    net_output(net, scores);
    net_output(net, tall);
    net_output(net, back);
    net_output(net, across);
    net_output(net, tiled);
    if (!open)
        forget_codes(net);
}

/* Texts, any number of any length (n, h): gathered rows, a norm, attention of 4 heads, a linear
 * layer with residual, and the places of the largest. */
static void net_texts(struct net *net, struct size s, bool open) {
    net_init(net);
    const struct dim n = open_dim(net, "batch", s.n, 1, 3, 1);
    const struct dim l = open_dim(net, "length", s.h, 1, 70, 1);
    const int ids = net_typed_input(net, IPEX_DTYPE_i64, NET_DIMS(s.n, s.h));
    const int table = net_constant(net, NET_DIMS(50, 32));
    int rows[7], heads[4], turned[4];
    for (int i = 0; i < 7; i++) {
        rows[i] = net_tensor(net, NET_DIMS(s.n, s.h, 32));
        net_dim(net, rows[i], 0, n.code);
        net_dim(net, rows[i], 1, l.code);
    }
    for (int i = 0; i < 4; i++) {
        heads[i] = net_reshape(net, rows[2 + i], NET_DIMS(s.n, s.h, 4, 8));
        turned[i] = net_tensor(net, NET_DIMS(s.n, 4, s.h, 8));
        net_dim(net, heads[i], 0, n.code);
        net_dim(net, heads[i], 1, l.code);
        net_dim(net, turned[i], 0, n.code);
        net_dim(net, turned[i], 2, l.code);
    }
    const int largest = net_typed(net, IPEX_DTYPE_i64, NET_DIMS(s.n, s.h, 1));
    net_dim(net, largest, 0, n.code);
    net_dim(net, largest, 1, l.code);
    net_dim(net, ids, 0, n.code);
    net_dim(net, ids, 1, l.code);

    net_node(net, IPEX_OP_gather, rows[0], NET_IN(table, ids), NET_INTS_(0), 0, NULL);
    net_node(net, IPEX_OP_layer_norm, rows[1], NET_IN(rows[0]), NET_INTS_(0, IPEX_ACT_none),
             NET_FLOATS(1e-5f, 0, 0));
    for (int i = 0; i < 3; i++) {
        net_linear(net, rows[1], rows[2 + i], true, -1, IPEX_ACT_none);
        net_node(net, IPEX_OP_transpose, turned[i], NET_IN(heads[i]), NET_INTS_(0, 2, 1, 3), 0,
                 NULL);
    }
    net_node(net, IPEX_OP_attention, turned[3], NET_IN(turned[0], turned[1], turned[2]),
             NET_INTS_(1, 0), NET_FLOATS(0.4f));
    net_node(net, IPEX_OP_transpose, heads[3], NET_IN(turned[3]), NET_INTS_(0, 2, 1, 3), 0, NULL);
    net_linear(net, rows[5], rows[6], true, rows[0], IPEX_ACT_none);
    net_node(net, IPEX_OP_arg, largest, NET_IN(rows[0]), NET_INTS_(1, 0), 0, NULL);
    net_output(net, rows[6]);
    net_output(net, largest);
    if (!open)
        forget_codes(net);
}

/* Signals, any number of any length (n, w), by groups of 8 channels: rows of a matrix, which are
 * cut into lines of other lengths at other sizes, then lines with borders. */
static void net_signals(struct net *net, struct size s, bool open) {
    net_init(net);
    const struct dim n = open_dim(net, "batch", s.n, 1, 3, 1);
    const struct dim l = open_dim(net, "length", s.w, 1, 300, 1);
    const struct dim one = {1, 0};
    const struct net_window rows = {.kernel = 1, .stride = 1, .dilation = 1, .groups = 5};
    const struct net_window lines = {
        .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 5};
    const int x = image(net, n, one, l, 40, 0);
    net->input[net->inputs++] = x;
    net->port[x] = "signal";
    const int a = image(net, n, one, l, 40, 1), b = image(net, n, one, l, 40, 0);
    const int c = image(net, n, one, l, 40, 0);
    net_conv(net, x, a, rows, true, -1, IPEX_ACT_relu);
    net_conv(net, x, b, rows, true, -1, IPEX_ACT_leaky_relu);
    net_conv(net, a, c, lines, true, b, IPEX_ACT_none);
    net_output(net, b);
    net_output(net, c);
    if (!open)
        forget_codes(net);
}

typedef void (*net_fn)(struct net *net, struct size s, bool open);

/* ---- the same bits ---- */

/* Runs both on the net's inputs; true where all outputs have the same dims and bits. */
static bool same_bits(struct harness *open, struct harness *fixed, const struct net *net) {
    struct ipex_tensor in[NET_PORTS], a[NET_PORTS], b[NET_PORTS];
    void *memory[NET_PORTS];
    bool same = true;
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    for (int i = 0; i < net->inputs; i++)
        in[i] = harness_tensor(net, net->input[i], DENSE, true, &memory[i]);
    const size_t inputs = (size_t)net->inputs, outputs = (size_t)net->outputs;
    same = ipex_run(open->session, NULL, in, inputs, a, outputs) == IPEX_OK;
    snprintf(open->message, sizeof open->message, "%s", ipex_session_message(open->session));
    same = same && ipex_run(fixed->session, NULL, in, inputs, b, outputs) == IPEX_OK;
    for (size_t i = 0; same && i < outputs; i++) {
        const size_t bytes =
            (size_t)net_numel(&net->tensor[net->output[i]]) * ipex_dtype_size(b[i].dtype);
        same = a[i].rank == b[i].rank && memcmp(a[i].dims, b[i].dims, sizeof a[i].dims) == 0 &&
               memcmp(a[i].data, b[i].data, bytes) == 0;
        if (!same)
            snprintf(open->message, sizeof open->message, "output %zu differs", i);
    }
    for (int i = 0; i < net->inputs; i++)
        free(memory[i]);
    return same;
}

static bool check_size(struct harness *open, net_fn make, struct size size, enum ipex_isa isa,
                       enum harness_threads threads) {
    static const enum harness_form forms[] = {DENSE, STRIDED, MISALIGNED, VIEW};
    struct net net;
    struct harness fixed;
    make(&net, size, false);
    net_oracle(&net);
    harness_open(&fixed, &net);
    harness_session(&fixed, isa, threads);
    bool right = same_bits(open, &fixed, &net);
    for (int f = 0; right && f < 4; f++)
        right = harness_run(open, &net, forms[f % 3], forms[f], 1e-4);
    harness_close(&fixed);
    net_free(&net);
    return right;
}

/* Up, down, the same again, one dim at a time, both ends. */
static const struct size sizes[] = {{1, 4, 5},  {3, 14, 11}, {2, 8, 7},  {2, 8, 7},  {1, 14, 5},
                                    {3, 4, 11}, {2, 10, 6},  {1, 6, 11}, {3, 14, 11}};

static const struct size lengths[] = {{1, 1, 0},  {3, 70, 0}, {2, 15, 0}, {2, 16, 0},
                                      {3, 33, 0}, {1, 70, 0}, {2, 1, 0},  {3, 64, 0}};

static const struct size signals[] = {{1, 1, 1},   {3, 1, 300}, {1, 1, 224}, {2, 1, 56},
                                      {1, 1, 112}, {2, 1, 1},   {1, 1, 98},  {3, 1, 112}};

static void test_same_bits(const char *name, net_fn make, struct size largest,
                           const struct size *list, size_t count) {
    static const enum ipex_isa levels[] = {IPEX_ISA_reference, IPEX_ISA_avx2, IPEX_ISA_avx512,
                                           IPEX_ISA_avx512_bf16};
    static const char *const threads[] = {"1 thread", "pool of 2", "parallel_for of 3"};
    struct net net;
    struct harness h;
    make(&net, largest, true);
    harness_open(&h, &net);
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++)
        for (int t = 0; t < HARNESS_THREADS; t++) {
            char text[128];
            snprintf(text, sizeof text, "%s of changing sizes, %s, %s", name,
                     ipex_isa_name(levels[l]), threads[t]);
            if (!ipex_isa_available(levels[l])) {
                printf("ok - %s # SKIP this machine has no %s\n", text, ipex_isa_name(levels[l]));
                continue;
            }
            harness_session(&h, levels[l], (enum harness_threads)t);
            bool right = true;
            for (size_t i = 0; right && i < count; i++)
                right = check_size(&h, make, list[i], levels[l], (enum harness_threads)t);
            check(right, text, h.message);
        }
    harness_close(&h);
    net_free(&net);
}

/* All sizes in exactly the memory that was measured; less of it for a smaller range. */
static void test_memory(void) {
    struct net net;
    struct harness h;
    struct ipex_requirements all, part;
    net_images(&net, highest, true);
    harness_open(&h, &net);
    struct ipex_session_options options = {
        .size_of_struct = sizeof options, .message = h.message, .message_size = sizeof h.message};
    check(ipex_session_measure(h.image, &options, &all) == IPEX_OK, "measure", h.message);
    uint8_t *memory = aligned_alloc(64, (all.memory + 4096) & ~(size_t)63);
    memset(memory + all.memory, 0x5a, 64);
    check(ipex_session_init(&h.session, h.image, &options, memory, all.memory) == IPEX_OK, "init",
          h.message);
    bool right = true;
    for (int64_t n = 1; right && n <= 3; n++)
        for (int64_t height = 4; right && height <= 14; height += 2)
            for (int64_t w = 5; right && w <= 11; w += 3)
                right = check_size(&h, net_images, (struct size){n, height, w}, IPEX_ISA_AUTO,
                                   ONE_THREAD);
    check(right, "every size fits the memory measured", h.message);
    bool clean = true;
    for (int i = 0; i < 64; i++)
        clean = clean && memory[all.memory + (size_t)i] == 0x5a;
    check(clean, "nothing is written behind it", "bytes behind the session changed");
    ipex_session_finish(h.session);
    h.session = NULL;
    free(memory);
    const struct ipex_dim_range small[] = {{.symbol = "batch", .hi = 1}, {NULL, "height", 5, 7}};
    options.dims = small;
    options.n_dims = 2;
    check(ipex_session_measure(h.image, &options, &part) == IPEX_OK && part.arena * 2 < all.arena &&
              part.memory < all.memory,
          "a smaller range needs less", h.message);
    harness_close(&h);
    net_free(&net);
}

/* Two entries with symbols in one session, bound to different sizes. */
static void test_entries(void) {
    static const struct size other = {2, 6, 9};
    struct net net, a, b;
    struct harness h;
    net_images(&net, highest, true);
    net.second_entry = true;
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, ONE_THREAD);
    net_images(&a, highest, false);
    net_images(&b, other, false);
    net_oracle(&a);
    net_oracle(&b);
    bool right = true;
    for (int i = 0; right && i < 6; i++) {
        const struct net *n = i % 2 ? &a : &b;
        struct ipex_tensor out[NET_PORTS] = {{0}};
        void *memory;
        const struct ipex_tensor in = harness_tensor(n, n->input[0], DENSE, true, &memory);
        right = ipex_run(h.session, i % 2 ? "main" : "other", &in, 1, out, 4) == IPEX_OK;
        for (int o = 0; right && o < 4; o++)
            right = harness_equal(n, n->output[o], &out[o], 1e-4);
        free(memory);
    }
    check(right, "two entries at different sizes", ipex_session_message(h.session));
    net_free(&a);
    net_free(&b);
    harness_close(&h);
    net_free(&net);
}

/* ---- refused ---- */

static void check_refused(struct harness *h, const struct ipex_tensor *in, size_t n_in,
                          struct ipex_tensor *out, size_t n_out, const char *words,
                          const char *name) {
    const enum ipex_status got = ipex_run(h->session, NULL, in, n_in, out, n_out);
    snprintf(h->message, sizeof h->message, "%s: %s", ipex_status_name(got),
             ipex_session_message(h->session));
    check(got == IPEX_ERROR_SHAPE && strstr(h->message, words) != NULL, name, h->message);
}

static void test_refused(void) {
    struct net net;
    struct harness h;
    void *memory;
    net_images(&net, highest, true);
    net_oracle(&net);
    harness_open(&h, &net);
    const struct ipex_dim_range range = {.entry = "main", .symbol = "height", .lo = 5, .hi = 10};
    harness_sized_session(&h, IPEX_ISA_AUTO, ONE_THREAD, &range, 1);
    struct ipex_tensor in = harness_tensor(&net, net.input[0], DENSE, true, &memory), out = {0};
    check_refused(&h, &in, 1, &out, 1,
                  "input 'picture': axis 1 is 14, but height = 14 is not in 6 .. 10 step 2",
                  "a size above the session's range");
    in.dims[1] = 4;
    check_refused(&h, &in, 1, &out, 1, "height = 4 is not in 6 .. 10", "a size below it");
    in.dims[1] = 7;
    check_refused(&h, &in, 1, &out, 1, "height = 7 is not in 6 .. 10 step 2",
                  "a size off the step");
    in.dims[1] = 8;
    in.dims[2] = 0;
    check_refused(&h, &in, 1, &out, 1, "axis 2 is 0, but width = 0 is not in 5 .. 11",
                  "a size of 0");
    in.dims[2] = INT64_MIN;
    check_refused(&h, &in, 1, &out, 1, "is not in 5 .. 11", "a size below all");
    in.dims[2] = 7;
    in.dims[3] = 9;
    check_refused(&h, &in, 1, &out, 1, "input 'picture': axis 3 is 9 instead of 8", "a fixed dim");
    in.dims[3] = 8;
    in.rank = 3;
    check_refused(&h, &in, 1, &out, 1, "input 'picture' has 4 dims, 3 given", "a wrong rank");
    in.rank = 4;
    float scores[30];
    out = (struct ipex_tensor){.data = scores, .dtype = IPEX_DTYPE_f32, .rank = 2, .dims = {2, 10}};
    check_refused(&h, &in, 1, &out, 1, "output 'scores' has shape 3x10, 2x10 given",
                  "an output of another size");
    out.dims[0] = 3;
    check(ipex_run(h.session, NULL, &in, 1, &out, 1) == IPEX_OK, "and then a run",
          ipex_session_message(h.session));
    free(memory);
    harness_close(&h);
    net_free(&net);
}

static void test_ranges_refused(void) {
    static const struct {
        struct ipex_dim_range range;
        enum ipex_status status;
        const char *words, *name;
    } cases[] = {
        {{.symbol = "depth"},
         IPEX_ERROR_NOT_FOUND,
         "no entry '(any)' has a symbol 'depth'",
         "no symbol"},
        {{.entry = "x", .symbol = "width"},
         IPEX_ERROR_NOT_FOUND,
         "no entry 'x' has a symbol 'width'",
         "no such entry"},
        {{.symbol = NULL}, IPEX_ERROR_ARGUMENT, "without a symbol", "a symbol that is NULL"},
        {{.symbol = "width", .hi = 12},
         IPEX_ERROR_ARGUMENT,
         "width: 0 .. 12 is no range inside 5 .. 11",
         "a range above the file's"},
        {{.symbol = "width", .lo = 4}, IPEX_ERROR_ARGUMENT, "4 .. 0 is no", "one below it"},
        {{.symbol = "width", .lo = 8, .hi = 6}, IPEX_ERROR_ARGUMENT, "8 .. 6 is no", "backwards"},
        {{.symbol = "height", .lo = 7, .hi = 7},
         IPEX_ERROR_ARGUMENT,
         "7 .. 7 is no range inside 4 .. 14 step 2",
         "without a step inside"},
        {{.symbol = "width", .lo = INT64_MIN},
         IPEX_ERROR_ARGUMENT,
         "is no range",
         "the lowest number"},
    };
    struct net net;
    struct harness h;
    net_images(&net, highest, true);
    harness_open(&h, &net);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        struct ipex_requirements need;
        const struct ipex_session_options options = {.size_of_struct = sizeof options,
                                                     .dims = &cases[i].range,
                                                     .n_dims = 1,
                                                     .message = h.message,
                                                     .message_size = sizeof h.message};
        snprintf(text, sizeof text, "a range refused: %s", cases[i].name);
        check(ipex_session_measure(h.image, &options, &need) == cases[i].status &&
                  strstr(h.message, cases[i].words) != NULL,
              text, h.message);
    }
    harness_close(&h);
    net_free(&net);
}

/* Several ranges for one symbol are taken one after the other, and each must leave some size. */
static void test_ranges_together(void) {
    static const struct ipex_dim_range apart[] = {{.symbol = "width", .lo = 9},
                                                  {.symbol = "width", .hi = 7}};
    static const struct ipex_dim_range again[] = {
        {.symbol = "width", .lo = 9}, {.symbol = "width", .hi = 7}, {.symbol = "width", .lo = 6}};
    struct net net;
    struct harness h;
    struct ipex_requirements need;
    net_images(&net, highest, true);
    harness_open(&h, &net);
    struct ipex_session_options options = {.size_of_struct = sizeof options,
                                           .dims = apart,
                                           .n_dims = 2,
                                           .message = h.message,
                                           .message_size = sizeof h.message};
    check(ipex_session_measure(h.image, &options, &need) == IPEX_ERROR_ARGUMENT &&
              strstr(h.message, "entry 'main', width: 9 .. 7 is no range inside 5 .. 11") != NULL,
          "ranges refused that leave no size together", h.message);
    options.dims = again;
    options.n_dims = 3;
    check(ipex_session_measure(h.image, &options, &need) == IPEX_ERROR_ARGUMENT,
          "refused also where another follows", h.message);
    options.dims = again + 1;
    options.n_dims = 2;
    check(ipex_session_measure(h.image, &options, &need) == IPEX_OK, "two ranges that leave some",
          h.message);
    harness_close(&h);
    net_free(&net);
}

/* Two inputs share a symbol, and one of them also holds it plus 1. */
static void test_shared_symbol(void) {
    struct net net;
    struct harness h;
    void *memory[2];
    net_init(&net);
    const int64_t length = net_symbol(&net, "length", 2, 9, 1);
    const int64_t more = net_expr(&net, IPEX_EXPR_add, length, 1);
    const int x = net_input(&net, NET_DIMS(3, 5)), m = net_input(&net, NET_DIMS(1, 5));
    const int longer = net_input(&net, NET_DIMS(6));
    const int y = net_tensor(&net, NET_DIMS(3, 5));
    net_dim(&net, x, 1, length);
    net_dim(&net, m, 1, length);
    net_dim(&net, y, 1, length);
    net_dim(&net, longer, 0, more);
    net_node(&net, IPEX_OP_pointwise, y, NET_IN(x, m), NET_INTS_(IPEX_STEP_mul, 0, 1), 0, NULL);
    net_output(&net, y);
    net_oracle(&net);
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, ONE_THREAD);
    check(harness_run(&h, &net, DENSE, DENSE, 0), "a symbol in three dims", h.message);
    struct ipex_tensor in[3] = {harness_tensor(&net, x, DENSE, true, &memory[0]),
                                harness_tensor(&net, m, DENSE, true, &memory[1]),
                                {.data = memory, .dtype = IPEX_DTYPE_f32, .rank = 1, .dims = {6}}};
    struct ipex_tensor out = {0};
    in[1].dims[1] = 4;
    check_refused(&h, in, 3, &out, 1, "input 't1': axis 1 is 4 instead of length = 5",
                  "inputs that disagree");
    in[1].dims[1] = 5;
    in[2].dims[0] = 7;
    check_refused(&h, in, 3, &out, 1, "input 't2': axis 0 is 7 instead of length + 1 = 6",
                  "an expression that disagrees");
    free(memory[0]);
    free(memory[1]);
    harness_close(&h);
    net_free(&net);
}

/* y [min(h, 20 - h)] is 2 long at both ends of 2 .. 18, and longer between them: a size that was
 * not measured is refused, and the session runs on. Where the file has room for it, it runs. */
static void between_the_ends(int64_t room) {
    struct net net;
    struct harness h;
    float data[18] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
    net_init(&net);
    const int64_t size = net_symbol(&net, "size", 2, 18, 1);
    const int64_t rest = net_expr(&net, IPEX_EXPR_sub, 20, size);
    const int64_t less = net_expr(&net, IPEX_EXPR_min, size, rest);
    const int x = net_input(&net, NET_DIMS(18)), y = net_tensor(&net, NET_DIMS(2));
    net_dim(&net, x, 0, size);
    net_dim(&net, y, 0, less);
    net.tensor[y].room = room;
    net_node(&net, IPEX_OP_slice, y, NET_IN(x), NET_INTS_(0, 1), 0, NULL);
    net_output(&net, y);
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, ONE_THREAD);
    struct ipex_tensor in = {.data = data, .dtype = IPEX_DTYPE_f32, .rank = 1, .dims = {9}};
    struct ipex_tensor out = {0};
    if (room == 0) {
        check_refused(&h, &in, 1, &out, 1, "at size = 9: tensor 1 't1' is larger than at both ends",
                      "a size that needs more than was measured");
        check_refused(&h, &in, 1, &out, 1, "at size = 9: tensor 1", "the same again");
    }
    for (int64_t n = 2; n <= 18; n += room ? 7 : 16) {
        char text[64];
        snprintf(text, sizeof text, room ? "with room size %d runs" : "then size %d runs", (int)n);
        in.dims[0] = n;
        out = (struct ipex_tensor){0};
        const int64_t length = n < 20 - n ? n : 20 - n;
        check(ipex_run(h.session, NULL, &in, 1, &out, 1) == IPEX_OK && out.dims[0] == length &&
                  memcmp(out.data, data, (size_t)length * sizeof *data) == 0,
              text, ipex_session_message(h.session));
    }
    harness_close(&h);
    net_free(&net);
}

/* ---- no system call ---- */

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* The child's part: in strict mode the kernel kills whoever makes any system call but exit. */
static void run_strictly(struct harness *h, struct ipex_tensor *in) {
    bool right = true;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        _exit(2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct ipex_tensor out[4] = {{0}};
        const struct size *s = &sizes[i];
        in->dims[0] = s->n;
        in->dims[1] = s->h;
        in->dims[2] = s->w;
        right = right && ipex_run(h->session, NULL, in, 1, out, 4) == IPEX_OK;
        in->dims[1] = 1000;
        right = right && ipex_run(h->session, NULL, in, 1, out, 4) == IPEX_ERROR_SHAPE;
    }
    syscall(SYS_exit, right ? 0 : 1); /* not exit_group, which strict mode forbids */
}

static void test_no_system_call(void) {
    const char *name = "changing sizes makes no system call";
    struct net net;
    struct harness h;
    void *memory;
    int status = 0;
    if (SANITIZED) {
        printf("ok - %s # SKIP sanitizers make system calls of their own\n", name);
        return;
    }
    net_images(&net, highest, true);
    net_oracle(&net);
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, ONE_THREAD);
    struct ipex_tensor in = harness_tensor(&net, net.input[0], DENSE, true, &memory);
    const pid_t child = fork();
    if (child == 0)
        run_strictly(&h, &in);
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        printf("ok - %s # SKIP seccomp is not available\n", name);
    else
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0, name,
              WIFSIGNALED(status) ? "killed for a system call" : "a run went wrong");
    free(memory);
    harness_close(&h);
    net_free(&net);
}

/* ---- looking ---- */

static void test_introspection(void) {
    struct net net;
    struct harness h;
    struct ipex_port in, out;
    struct ipex_symbol_info symbol;
    char text[3][64] = {"", "", ""};
    net_images(&net, highest, true);
    harness_open(&h, &net);
    check(ipex_image_symbol_count(h.image, NULL) == 3 &&
              ipex_image_symbol(h.image, "main", 1, &symbol) == IPEX_OK &&
              strcmp(symbol.name, "height") == 0 && symbol.lo == 4 && symbol.hi == 14 &&
              symbol.step == 2 && ipex_image_symbol(h.image, NULL, 3, &symbol) != IPEX_OK,
          "symbols and their ranges", "a symbol is wrong");
    check(ipex_image_input(h.image, NULL, 0, &in) == IPEX_OK && in.dims[0] == 1 &&
              in.dims[1] == 4 && in.dims[3] == 8 && in.max_dims[1] == 14 && in.max_dims[3] == 8 &&
              strcmp(in.symbol[1], "height") == 0 && in.symbol[3] == NULL,
          "dims of an input", "they are wrong");
    check(ipex_image_output(h.image, NULL, 1, &out) == IPEX_OK && out.dims[1] == 4 + 2 &&
              out.max_dims[1] == 8 + 7 && out.symbol[1] == NULL,
          "dims of an output", "they are wrong");
    check(ipex_image_input_dim_text(h.image, NULL, 0, 2, text[0], 64) == IPEX_OK &&
              ipex_image_output_dim_text(h.image, NULL, 2, 2, text[1], 64) == IPEX_OK &&
              ipex_image_output_dim_text(h.image, NULL, 2, 2, text[2], 5) == IPEX_OK &&
              ipex_image_output_dim_text(h.image, NULL, 2, 4, text[2], 5) != IPEX_OK &&
              strcmp(text[0], "width") == 0 && strcmp(text[1], "(width + 1)/2") == 0 &&
              strcmp(text[2], "(wid") == 0,
          "dims as text", text[1]);
    harness_close(&h);
    net_free(&net);
}

static void *measure_often(void *arg) {
    const struct ipex_image *image = arg;
    struct ipex_requirements first, now;
    if (ipex_session_measure(image, NULL, &first) != IPEX_OK)
        return arg;
    for (int i = 0; i < 50; i++)
        if (ipex_session_measure(image, NULL, &now) != IPEX_OK ||
            memcmp(&now, &first, sizeof now) != 0)
            return arg;
    return NULL;
}

/* Measuring is the one thing that writes into an image. */
static void test_measure_together(void) {
    struct net net;
    struct harness h;
    pthread_t thread[3];
    bool right = true;
    net_images(&net, highest, true);
    harness_open(&h, &net);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread[i], NULL, measure_often, h.image) != 0)
            abort();
    for (int i = 0; i < 3; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        right = right && failed == NULL;
    }
    check(right, "three threads measure one image", "a size differs");
    harness_close(&h);
    net_free(&net);
}

/* Whoever waits for another thread's measuring sleeps: on the CPU of one of higher priority, it
 * would never end. */
static void test_measure_waits(void) {
    const struct timespec moment = {.tv_nsec = 100000000};
    struct timespec used = {.tv_sec = 1};
    struct net net;
    struct harness h;
    pthread_t thread;
    clockid_t clock;
    void *failed;
    net_images(&net, highest, true);
    harness_open(&h, &net);
    ipex_lock(&h.image->scratch->busy);
    if (pthread_create(&thread, NULL, measure_often, h.image) != 0 ||
        pthread_getcpuclockid(thread, &clock) != 0)
        abort();
    nanosleep(&moment, NULL);
    clock_gettime(clock, &used);
    ipex_unlock(&h.image->scratch->busy);
    pthread_join(thread, &failed);
    check(failed == NULL, "measuring goes on where another thread has ended", "a size differs");
    check(used.tv_sec == 0 && used.tv_nsec < 50000000, "... and sleeps until then", "it spins");
    harness_close(&h);
    net_free(&net);
}

int main(void) {
    test_same_bits("images", net_images, highest, sizes, sizeof sizes / sizeof *sizes);
    test_same_bits("texts", net_texts, (struct size){3, 70, 0}, lengths,
                   sizeof lengths / sizeof *lengths);
    test_same_bits("signals", net_signals, (struct size){3, 1, 300}, signals,
                   sizeof signals / sizeof *signals);
    test_memory();
    test_entries();
    test_refused();
    test_ranges_refused();
    test_ranges_together();
    test_shared_symbol();
    between_the_ends(0);
    between_the_ends(10);
    test_no_system_call();
    test_introspection();
    test_measure_together();
    test_measure_waits();
    return check_result();
}
