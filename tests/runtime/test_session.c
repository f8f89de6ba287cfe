/* SPDX-License-Identifier: Apache-2.0 */
/* The life of images, sessions and pools: sizes that hold, errors that say what is wrong, runs that
 * end early, memory that is shared, and outputs that share storage. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "runtime/session.h"
#include "tests/runtime/harness.h"

static const struct net_window k3 = {
    .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 1};

/* x [1][8][8][16] -> copy into a halo -> conv -> y [1][8][8][24] */
static void small_net(struct net *net) {
    net_init(net);
    const int x = net_input(net, NET_DIMS(1, 8, 8, 16));
    const int xh = net_halo(net, NET_DIMS(1, 8, 8, 16), 1);
    const int y = net_tensor(net, NET_DIMS(1, 8, 8, 24));
    net->port[x] = "picture";
    net->port[y] = "scores";
    net_node(net, IPEX_OP_copy, xh, NET_IN(x), 0, NULL, 0, NULL);
    net_conv(net, xh, y, k3, true, -1, IPEX_ACT_relu);
    net_output(net, y);
    net_oracle(net);
}

/* Several convolutions of the same width: enough work to be shared between threads. */
static void deep_net(struct net *net) {
    net_init(net);
    const int x = net_input(net, NET_DIMS(1, 24, 24, 32));
    int from = net_halo(net, NET_DIMS(1, 24, 24, 32), 1);
    net_node(net, IPEX_OP_copy, from, NET_IN(x), 0, NULL, 0, NULL);
    for (int i = 0; i < 6; i++) {
        const int to = net_halo(net, NET_DIMS(1, 24, 24, 32), 1);
        net_conv(net, from, to, k3, true, -1, IPEX_ACT_relu);
        from = to;
    }
    const int y = net_tensor(net, NET_DIMS(1, 24, 24, 16));
    net_conv(net, from, y, k3, true, -1, IPEX_ACT_none);
    net_output(net, y);
    net_oracle(net);
}

/* ---- memory ---- */

static void test_memory(void) {
    struct net net;
    struct harness h;
    small_net(&net);
    harness_open(&h, &net);
    char message[256] = "";
    const struct ipex_session_options options = {
        .size_of_struct = sizeof options, .message = message, .message_size = sizeof message};
    struct ipex_requirements need;
    const enum ipex_status measured = ipex_session_measure(h.image, &options, &need);
    check(measured == IPEX_OK && need.memory >= need.plan + need.arena + need.scratch &&
              need.arena >= 10 * 10 * 16 * 4,
          "measure", message);
    uint8_t *memory = aligned_alloc(64, (need.memory + 127) & ~(size_t)63);
    memset(memory, 0x5a, need.memory + 1);
    struct ipex_session *session = NULL;
    check(ipex_session_init(&session, h.image, &options, memory, need.memory - 1) ==
                  IPEX_ERROR_MEMORY &&
              session == NULL && strstr(message, "bytes") != NULL,
          "one byte less is refused", message);
    check(ipex_session_init(&session, h.image, &options, memory + 8, need.memory) ==
                  IPEX_ERROR_MEMORY &&
              session == NULL && strstr(message, "aligned") != NULL,
          "memory that is not aligned is refused", message);
    check(ipex_session_init(&session, h.image, &options, NULL, need.memory) == IPEX_ERROR_MEMORY &&
              session == NULL && strstr(message, "is NULL") != NULL,
          "no memory is refused", message);
    check(ipex_session_init(&session, h.image, &options, memory, need.memory) == IPEX_OK, "init",
          message);
    h.session = session;
    check(harness_run(&h, &net, DENSE, VIEW, 0), "a session in exactly that memory", h.message);
    check(memory[need.memory] == 0x5a, "nothing is written behind it", "the next byte changed");
    h.session = NULL;
    ipex_session_finish(session);
    free(memory);
    harness_close(&h);
    net_free(&net);
}

/* ---- errors ---- */

/* A run that must fail with this status and these words. */
static void check_refused(struct harness *h, const char *entry, const struct ipex_tensor *in,
                          size_t n_in, struct ipex_tensor *out, size_t n_out,
                          enum ipex_status status, const char *words, const char *name) {
    const enum ipex_status got = ipex_run(h->session, entry, in, n_in, out, n_out);
    snprintf(h->message, sizeof h->message, "%s: %s", ipex_status_name(got),
             ipex_session_message(h->session));
    check(got == status && strstr(ipex_session_message(h->session), words) != NULL, name,
          h->message);
}

static void test_tensors_refused(void) {
    struct net net;
    struct harness h;
    void *memory[2];
    small_net(&net);
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, ONE_THREAD);
    const struct ipex_tensor good = harness_tensor(&net, net.input[0], DENSE, true, &memory[0]);
    const struct ipex_tensor good_out =
        harness_tensor(&net, net.output[0], DENSE, false, &memory[1]);
    struct ipex_tensor out = {0}, in = good;
    check_refused(&h, NULL, NULL, 0, &out, 1, IPEX_ERROR_ARGUMENT, "'picture' is not given",
                  "a missing input");
    in.dims[1] = 9;
    check_refused(&h, NULL, &in, 1, &out, 1, IPEX_ERROR_SHAPE, "1x8x8x16, 1x9x8x16 given",
                  "a wrong shape");
    in = good;
    in.rank = 3;
    check_refused(&h, NULL, &in, 1, &out, 1, IPEX_ERROR_SHAPE, "1x8x8x16, 1x8x8 given",
                  "a wrong rank");
    in.rank = -1;
    check_refused(&h, NULL, &in, 1, &out, 1, IPEX_ERROR_SHAPE, "rank -1", "a rank below 0");
    in.rank = 1000;
    check_refused(&h, NULL, &in, 1, &out, 1, IPEX_ERROR_SHAPE, "rank 1000", "a rank above 8");
    in = good;
    in.dtype = IPEX_DTYPE_i8;
    check_refused(&h, NULL, &in, 1, &out, 1, IPEX_ERROR_DTYPE, "is f32, i8 given", "a wrong dtype");
    in = good;
    in.name = "image";
    check_refused(&h, NULL, &in, 1, &out, 1, IPEX_ERROR_NOT_FOUND, "no input 'image'",
                  "an unknown input");
    in = good;
    in.data = NULL;
    check_refused(&h, NULL, &in, 1, &out, 1, IPEX_ERROR_ARGUMENT, "has no data",
                  "an input without data");
    const struct ipex_tensor twice[2] = {good, {.name = "picture"}};
    check_refused(&h, NULL, twice, 2, &out, 1, IPEX_ERROR_ARGUMENT, "given twice",
                  "an input given twice");
    check_refused(&h, NULL, twice, 1, (struct ipex_tensor[2]){{0}, {0}}, 2, IPEX_ERROR_ARGUMENT,
                  "more outputs", "too many outputs");
    struct ipex_tensor wrong = good_out;
    wrong.dims[3] = 25;
    check_refused(&h, NULL, &good, 1, &wrong, 1, IPEX_ERROR_SHAPE, "1x8x8x24, 1x8x8x25 given",
                  "a wrong output shape");
    check_refused(&h, "detect", &good, 1, &out, 1, IPEX_ERROR_NOT_FOUND, "'detect'",
                  "an unknown entry");
    in = good;
    in.name = "picture";
    out = (struct ipex_tensor){.name = "scores"};
    check(ipex_run(h.session, "main", &in, 1, &out, 1) == IPEX_OK &&
              harness_equal(&net, net.output[0], &out, 0) &&
              ipex_session_message(h.session)[0] == '\0',
          "then a good run, by names", ipex_session_message(h.session));
    check(ipex_run(h.session, NULL, &good, 1, NULL, 0) == IPEX_OK, "no outputs wanted",
          ipex_session_message(h.session));
    free(memory[0]);
    free(memory[1]);
    harness_close(&h);
    net_free(&net);
}

/* The longest name that a port may have leaves room for what is wrong. */
static void test_long_name(void) {
    struct net net;
    struct harness h;
    void *memory;
    char name[257] = "";
    memset(name, 'n', sizeof name - 1);
    small_net(&net);
    net.port[net.input[0]] = name;
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, ONE_THREAD);
    struct ipex_tensor in = harness_tensor(&net, net.input[0], DENSE, true, &memory);
    in.dims[1] = INT64_MAX;
    check_refused(&h, NULL, &in, 1, NULL, 0, IPEX_ERROR_SHAPE,
                  "n' has shape 1x8x8x16, 1x9223372036854775807x8x16 given",
                  "a wrong shape of a port with a long name");
    free(memory);
    harness_close(&h);
    net_free(&net);
}

/* measure must fail with this status and these words. */
static void check_options(const struct harness *h, struct ipex_session_options options,
                          enum ipex_status status, const char *words, const char *name) {
    char message[256] = "";
    struct ipex_requirements need;
    if (options.size_of_struct == 0)
        options.size_of_struct = sizeof options;
    options.message = message;
    options.message_size = sizeof message;
    const enum ipex_status got = ipex_session_measure(h->image, &options, &need);
    check(got == status && strstr(message, words) != NULL, name, message);
}

static void test_options_refused(void) {
    struct net net;
    struct harness h;
    small_net(&net);
    harness_open(&h, &net);
    check_options(&h, (struct ipex_session_options){.entry = "detect"}, IPEX_ERROR_NOT_FOUND,
                  "'detect'", "an unknown entry in the options");
    check_options(&h, (struct ipex_session_options){.isa = (enum ipex_isa)99}, IPEX_ERROR_ISA,
                  "this machine has: reference", "an unknown level");
    char words[256];
    snprintf(words, sizeof words, "level amx is not available: %s",
             ipex_amx_text(ipex_amx_detect()));
    if (ipex_isa_available(IPEX_ISA_amx))
        printf("ok - a level that is missing # SKIP this machine has them all\n");
    else
        check_options(&h, (struct ipex_session_options){.isa = IPEX_ISA_amx}, IPEX_ERROR_ISA, words,
                      "a level that is missing");
    check_options(&h, (struct ipex_session_options){.arithmetic = (enum ipex_arithmetic)99},
                  IPEX_ERROR_ARITHMETIC, "profile 99 is unknown", "an unknown profile");
    check_options(&h, (struct ipex_session_options){.arithmetic = IPEX_ARITHMETIC_bf16_dp},
                  IPEX_ERROR_ARITHMETIC, "computes in f32, not in bf16-dp",
                  "a profile that the file does not compute in");
    check_options(
        &h,
        (struct ipex_session_options){.parallel_for = harness_parallel_for, .parallel_threads = 0},
        IPEX_ERROR_ARGUMENT, "parallel_threads", "parallel_for without threads");
    check_options(&h, (struct ipex_session_options){.size_of_struct = 8}, IPEX_ERROR_ARGUMENT, "",
                  "options of another size");
    harness_close(&h);
    net_free(&net);
    small_net(&net);
    net.arithmetic = IPEX_ARITHMETIC_bf16_amx;
    harness_open(&h, &net);
    check_options(&h, (struct ipex_session_options){.arithmetic = IPEX_ARITHMETIC_f32},
                  IPEX_ERROR_ARITHMETIC, "pins the arithmetic profile bf16-amx",
                  "a profile that the file does not allow");
    harness_close(&h);
    net_free(&net);
}

/* No file, or one in memory that is not at a page: every way says so. */
static void test_files_refused(void) {
    static uint8_t memory[64] = {0};
    const struct {
        const char *path, *words;
        const void *file;
        bool in_memory;
    } cases[] = {
        {NULL, "no path, no file", NULL, false},
        {NULL, "no path, no file", NULL, true},
        {NULL, "aligned to 4096", memory + 1, true},
    };
    _Alignas(IPEX_MEMORY_ALIGN) static uint8_t room[64];
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        char message[256] = "", name[64];
        struct ipex_image *image = NULL;
        size_t size = 0;
        const bool opens = i % 2 != 0, in_memory = cases[i / 2].in_memory;
        const struct ipex_image_options options = {
            .size_of_struct = sizeof options, .message = message, .message_size = sizeof message};
        enum ipex_status got;
        if (opens && in_memory)
            got = ipex_image_from_memory(&image, cases[i / 2].file, 9, room, sizeof room, &options);
        else if (opens)
            got = ipex_image_open(&image, cases[i / 2].path, room, sizeof room, &options);
        else if (in_memory)
            got = ipex_image_measure_memory(cases[i / 2].file, 9, &options, &size);
        else
            got = ipex_image_measure(cases[i / 2].path, &options, &size);
        snprintf(name, sizeof name, "%s: %s", opens ? "opening" : "measuring", cases[i / 2].words);
        check(got == IPEX_ERROR_ARGUMENT && strstr(message, cases[i / 2].words) != NULL &&
                  image == NULL && size == 0,
              name, message);
    }
}

/* ---- what an image and a session say ---- */

static void test_introspection(void) {
    struct net net;
    struct harness h;
    small_net(&net);
    net.second_entry = true;
    harness_open(&h, &net);
    struct ipex_port port;
    check(ipex_image_entry_count(h.image) == 2 &&
              strcmp(ipex_image_entry_name(h.image, 1), "other") == 0 &&
              ipex_image_entry_name(h.image, 2) == NULL,
          "entries", "names or count differ");
    check(ipex_image_input_count(h.image, NULL) == 1 &&
              ipex_image_input(h.image, "other", 0, &port) == IPEX_OK &&
              strcmp(port.name, "picture") == 0 && port.rank == 4 && port.dims[3] == 16 &&
              port.dtype == IPEX_DTYPE_f32 &&
              ipex_image_input(h.image, NULL, 1, &port) == IPEX_ERROR_NOT_FOUND &&
              ipex_image_output(h.image, "none", 0, &port) == IPEX_ERROR_NOT_FOUND,
          "ports", "an input differs");
    check(ipex_image_label_count(h.image, NULL) == 0 &&
              ipex_image_label(h.image, NULL, 0) == NULL &&
              ipex_image_metadata(h.image, "none") == NULL,
          "no labels, no metadata", "something is there");
    harness_session(&h, IPEX_ISA_reference, POOL_OF_2);
    struct ipex_step_info step;
    check(ipex_session_isa(h.session) == IPEX_ISA_reference &&
              ipex_session_arithmetic(h.session) == IPEX_ARITHMETIC_f32 &&
              ipex_session_threads(h.session) == 2,
          "what the session resolved to", "level, profile or threads differ");
    check(ipex_session_step_count(h.session, NULL) == 2 &&
              ipex_session_step(h.session, NULL, 1, &step) == IPEX_OK &&
              strcmp(step.op, "conv") == 0 && strcmp(step.kernel, "conv_f32__reference") == 0 &&
              strcmp(step.name, "node1") == 0 && step.flops == 2 * 64 * 24 * 9 * 16 &&
              step.bytes == 4 * (64 * 16 + 9 * 16 * 24 + 24 + 64 * 24) && step.jobs >= 1 &&
              step.node == 1 && step.nodes == 1 &&
              ipex_session_step(h.session, NULL, 2, &step) == IPEX_ERROR_NOT_FOUND,
          "steps", "a step differs");
    check(harness_places(&h, NULL) == 3, "places in the arena: none shared at one time",
          "their number differs, or two are in one place");
    const struct ipex_session_options one = {.size_of_struct = sizeof one, .entry = "other"};
    const struct ipex_session_options all = {.size_of_struct = sizeof all};
    struct ipex_requirements need_one, need_all;
    check(ipex_session_measure(h.image, &one, &need_one) == IPEX_OK &&
              ipex_session_measure(h.image, &all, &need_all) == IPEX_OK &&
              need_one.plan < need_all.plan && need_one.arena == need_all.arena,
          "entries share the arena", "sizes differ from that");
    struct ipex_tensor in, out = {0};
    void *memory;
    in = harness_tensor(&net, net.input[0], DENSE, true, &memory);
    check(ipex_run(h.session, "other", &in, 1, &out, 1) == IPEX_OK &&
              harness_equal(&net, net.output[0], &out, 0),
          "the second entry runs", ipex_session_message(h.session));
    free(memory);
    harness_close(&h);
    net_free(&net);
}

/* ---- ending early, watching ---- */

static void parallel_cancel(void *user, void (*fn)(void *arg, int i), void *arg, int n) {
    harness_parallel_for(NULL, fn, arg, n);
    *(int *)user = 1;
}

static void test_cancel(void) {
    struct net net;
    struct harness h;
    int cancel = 0;
    void *memory;
    deep_net(&net);
    harness_open(&h, &net);
    /* The first shared step sets the flag, so the run ends in its middle. */
    const struct ipex_session_options options = {.size_of_struct = sizeof options,
                                                 .parallel_for = parallel_cancel,
                                                 .parallel_user = &cancel,
                                                 .parallel_threads = 2,
                                                 .cancel = &cancel};
    struct ipex_requirements need;
    if (ipex_session_measure(h.image, &options, &need) != IPEX_OK)
        abort();
    h.session_memory = aligned_alloc(64, (need.memory + 63) & ~(size_t)63);
    if (ipex_session_init(&h.session, h.image, &options, h.session_memory, need.memory) != IPEX_OK)
        abort();
    const struct ipex_tensor in = harness_tensor(&net, net.input[0], DENSE, true, &memory);
    struct ipex_tensor out = {0};
    const enum ipex_status status = ipex_run(h.session, NULL, &in, 1, &out, 1);
    check(status == IPEX_ERROR_CANCELLED && out.data == NULL &&
              strstr(ipex_session_message(h.session), "before step ") != NULL &&
              strstr(ipex_session_message(h.session), "before step 0 ") == NULL,
          "cancel between steps", ipex_session_message(h.session));
    cancel = 0;
    struct ipex_run_options late = {.size_of_struct = sizeof late, .deadline_ns = 1};
    check(ipex_run_with(h.session, NULL, &in, 1, &out, 1, &late) == IPEX_ERROR_DEADLINE,
          "a deadline that has passed", ipex_session_message(h.session));
    free(memory);
    harness_close(&h);
    net_free(&net);
}

static void test_ticks(void) {
    struct net net;
    struct harness h;
    void *memory;
    uint64_t ticks[16] = {0};
    deep_net(&net);
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, ONE_THREAD);
    const size_t steps = ipex_session_step_count(h.session, NULL);
    const struct ipex_tensor in = harness_tensor(&net, net.input[0], DENSE, true, &memory);
    struct ipex_tensor out = {0};
    struct ipex_run_options options = {.size_of_struct = sizeof options,
                                       .deadline_ns = UINT64_MAX,
                                       .step_ticks = ticks,
                                       .step_ticks_count = steps};
    check(ipex_run_with(h.session, NULL, &in, 1, &out, 1, &options) == IPEX_ERROR_ARGUMENT &&
              ticks[0] == 0,
          "too little room for ticks", ipex_session_message(h.session));
    options.step_ticks_count = steps + 1;
    bool rising = ipex_run_with(h.session, NULL, &in, 1, &out, 1, &options) == IPEX_OK;
    for (size_t i = 0; i < steps; i++)
        rising = rising && ticks[i] < ticks[i + 1];
    check(rising && ticks[steps + 1] == 0, "ticks before each step and after the last",
          ipex_session_message(h.session));
    free(memory);
    harness_close(&h);
    net_free(&net);
}

static void test_mxcsr(void) {
    struct net net;
    struct harness h;
    deep_net(&net);
    harness_open(&h, &net);
    const unsigned before = _mm_getcsr(), states[] = {0x7f80u, 0x1f80u, 0x9fffu, 0x3f80u};
    for (int t = 0; t < HARNESS_THREADS; t++) {
        harness_session(&h, IPEX_ISA_AUTO, (enum harness_threads)t);
        bool same = true;
        for (size_t s = 0; s < sizeof states / sizeof *states; s++) {
            _mm_setcsr(states[s]);
            same = same && harness_run(&h, &net, DENSE, VIEW, 0);
            same = same && (_mm_getcsr() & ~0x3fu) == (states[s] & ~0x3fu);
            _mm_setcsr(before);
        }
        check(same, "rounding of the caller's changes nothing and is restored", h.message);
    }
    harness_close(&h);
    net_free(&net);
}

/* ---- sharing ---- */

struct runner {
    struct harness *h;
    const struct net *net;
    struct ipex_session *session;
    void *memory;
    bool right;
};

static void *runner_main(void *arg) {
    struct runner *r = arg;
    struct harness own = *r->h;
    own.session = r->session;
    r->right = true;
    for (int i = 0; i < 40 && r->right; i++)
        r->right = harness_run(&own, r->net, DENSE, i % 2 == 0 ? VIEW : DENSE, 0);
    return NULL;
}

/* NULL: it is refused. */
static struct ipex_pool *make_pool(const struct ipex_pool_options *options, void **ret_memory) {
    struct ipex_pool *ret = NULL;
    size_t need = 0;
    if (ipex_pool_measure(options, &need) != IPEX_OK)
        abort();
    *ret_memory = aligned_alloc(64, (need + 63) & ~(size_t)63);
    return ipex_pool_init(&ret, options, *ret_memory, need) == IPEX_OK ? ret : NULL;
}

/* Three sessions of one image, on threads of their own, with a pool between them: of two threads,
 * where each computes alone, and of five, where they take turns. */
static void test_shared_pool(int32_t threads, const char *name) {
    struct net net;
    struct harness h;
    enum { RUNNERS = 3 };
    struct runner runner[RUNNERS];
    pthread_t thread[RUNNERS];
    deep_net(&net);
    harness_open(&h, &net);
    const struct ipex_pool_options of = {.size_of_struct = sizeof of, .threads = threads, .pin = 1};
    void *pool_memory;
    struct ipex_pool *pool = make_pool(&of, &pool_memory);
    const struct ipex_session_options options = {.size_of_struct = sizeof options, .pool = pool};
    struct ipex_requirements need;
    if (pool == NULL || ipex_session_measure(h.image, &options, &need) != IPEX_OK)
        abort();
    for (int i = 0; i < RUNNERS; i++) {
        runner[i] = (struct runner){.h = &h, .net = &net};
        runner[i].memory = aligned_alloc(64, (need.memory + 63) & ~(size_t)63);
        if (ipex_session_init(&runner[i].session, h.image, &options, runner[i].memory,
                              need.memory) != IPEX_OK ||
            pthread_create(&thread[i], NULL, runner_main, &runner[i]) != 0)
            abort();
    }
    bool right = true;
    for (int i = 0; i < RUNNERS; i++) {
        pthread_join(thread[i], NULL);
        right = right && runner[i].right;
        ipex_session_finish(runner[i].session);
        free(runner[i].memory);
    }
    check(right, name, "an output is wrong");
    ipex_pool_finish(pool);
    free(pool_memory);
    harness_close(&h);
    net_free(&net);
}

/* Two jobs that wait for each other, up to ten seconds, and count those that another thread than
 * the caller does. */
struct gathering {
    pthread_t caller;
    _Atomic int *begun, *elsewhere;
};

static void gather(const void *args, int64_t job_begin, int64_t job_end, void *scratch) {
    const struct gathering *gathering = args;
    const uint64_t until = ipex_now_ns() + UINT64_C(10000000000);
    const int jobs = (int)(job_end - job_begin);
    (void)scratch;
    if (!pthread_equal(pthread_self(), gathering->caller))
        atomic_fetch_add(gathering->elsewhere, jobs);
    atomic_fetch_add(gathering->begun, jobs);
    while (atomic_load(gathering->begun) < 2 && ipex_now_ns() < until)
        sched_yield();
}

/* How many of two jobs the session's caller does not do. */
static int jobs_elsewhere(struct ipex_session *session) {
    _Atomic int begun = 0, elsewhere = 0;
    const struct gathering gathering = {pthread_self(), &begun, &elsewhere};
    ipex_team_do(&session->team, gather, &gathering, 2, 1, false);
    return atomic_load(&elsewhere);
}

/* A pool of two helps one caller; two callers compute alone. Runs say when they begin and end,
 * those too that end early. */
static void test_crowded_pool(void) {
    struct net net;
    struct harness h;
    void *memory;
    deep_net(&net);
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, POOL_OF_2);
    const struct ipex_tensor in = harness_tensor(&net, net.input[0], DENSE, true, &memory);
    struct ipex_tensor out = {0};
    struct ipex_run_options late = {.size_of_struct = sizeof late, .deadline_ns = 1};
    const bool right = harness_run(&h, &net, DENSE, VIEW, 0);
    const bool ended = ipex_run_with(h.session, NULL, &in, 1, &out, 1, &late) != IPEX_OK;
    const bool refused = ipex_run(h.session, "nobody", &in, 1, &out, 1) != IPEX_OK;
    ipex_pool_enter(h.pool);
    check(right && ended && refused && jobs_elsewhere(h.session) == 1,
          "a pool of two helps its only caller", h.message);
    ipex_pool_enter(h.pool);
    check(jobs_elsewhere(h.session) == 0, "two callers of a pool of two compute alone",
          "a worker took a job");
    check(harness_run(&h, &net, DENSE, VIEW, 0), "... and right", h.message);
    ipex_pool_leave(h.pool);
    check(jobs_elsewhere(h.session) == 1, "the one that is left is helped again",
          "no worker took a job");
    ipex_pool_leave(h.pool);
    free(memory);
    harness_close(&h);
    net_free(&net);
}

/* A worker that sleeps is woken; pools come and go. */
static void test_pool_life(void) {
    struct net net;
    struct harness h;
    deep_net(&net);
    harness_open(&h, &net);
    bool right = true;
    for (int i = 0; i < 20 && right; i++) {
        const struct ipex_pool_options options = {
            .size_of_struct = sizeof options, .threads = 1 + i % 5, .spin_us = 1, .pin = i % 2};
        void *memory;
        struct ipex_pool *pool = make_pool(&options, &memory);
        right = pool != NULL;
        const struct ipex_session_options set = {.size_of_struct = sizeof set, .pool = pool};
        struct ipex_requirements size;
        if (ipex_session_measure(h.image, &set, &size) != IPEX_OK)
            abort();
        h.session_memory = aligned_alloc(64, (size.memory + 63) & ~(size_t)63);
        right = right && ipex_session_init(&h.session, h.image, &set, h.session_memory,
                                           size.memory) == IPEX_OK;
        for (int run = 0; run < 5 && right; run++)
            right = harness_run(&h, &net, DENSE, DENSE, 0);
        ipex_session_finish(h.session);
        ipex_pool_finish(pool);
        free(h.session_memory);
        free(memory);
        h.session = NULL;
        h.session_memory = NULL;
    }
    check(right, "pools of 1 to 5 threads that sleep after 1 us", h.message);
    const struct ipex_pool_options none = {.size_of_struct = sizeof none, .threads = 0};
    size_t need = 0;
    check(ipex_pool_measure(&none, &need) == IPEX_ERROR_ARGUMENT, "a pool of no threads",
          "it is accepted");
    harness_close(&h);
    net_free(&net);
}

static _Atomic int visited;

static void count_visit(void) {
    atomic_fetch_add(&visited, 1);
}

/* Says in the first byte of a thread's scratch that this thread took part. */
static void take_part(const void *args, int64_t job_begin, int64_t job_end, void *scratch) {
    const uint64_t until = ipex_now_ns() + 50000;
    (void)args, (void)job_begin, (void)job_end;
    *(uint8_t *)scratch = 1;
    while (ipex_now_ns() < until) { /* so that others could help */
    }
}

/* A pool of four made on one CPU: how many take part in steps, whether a visit finds all. Those
 * that do not take part in steps do not help where a step follows a visit, either: it has no
 * scratch for them. */
static void test_more_threads_than_cpus(int32_t pin, int32_t at_work, const char *name) {
    enum { THREADS = 4, ROUNDS = 300 };
    const struct ipex_pool_options options = {
        .size_of_struct = sizeof options, .threads = THREADS, .pin = pin};
    uint8_t scratch[THREADS] = {0};
    const struct ipex_work work = {
        .fn = take_part, .jobs = 8, .scratch = scratch, .scratch_stride = 1};
    char why[100];
    cpu_set_t before, one;
    void *memory;
    int too_many = 0;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_getaffinity(0, sizeof before, &before) != 0 ||
        sched_setaffinity(0, sizeof one, &one) != 0)
        abort();
    struct ipex_pool *pool = make_pool(&options, &memory);
    sched_setaffinity(0, sizeof before, &before);
    if (pool == NULL)
        abort();
    for (int i = 0; i < ROUNDS; i++) {
        ipex_pool_visit(pool, count_visit);
        ipex_pool_work(pool, &work);
    }
    for (int i = 0; i < THREADS; i++)
        too_many += scratch[i] != 0 && i >= at_work;
    const int visits = atomic_exchange(&visited, 0);
    snprintf(why, sizeof why, "%d at work, %d too many, %d visits", (int)ipex_pool_threads(pool),
             too_many, visits);
    check(ipex_pool_threads(pool) == at_work && too_many == 0 && visits == ROUNDS * THREADS, name,
          why);
    ipex_pool_finish(pool);
    free(memory);
}

/* A program's thread-local variables lie in front of the stacks of its threads, workers' too. */
static void test_thread_local(void) {
    static _Thread_local volatile char large[1 << 20];
    const struct ipex_pool_options options = {.size_of_struct = sizeof options, .threads = 3};
    void *memory;
    large[0] = 1;
    struct ipex_pool *pool = make_pool(&options, &memory);
    check(pool != NULL && large[0] == 1, "a pool in a program with 1 MiB of thread-local variables",
          "its threads do not start");
    ipex_pool_finish(pool);
    free(memory);
}

static volatile sig_atomic_t handled;

static void on_signal(int number) {
    (void)number;
    handled = 1;
}

/* Signals are for the caller's threads: one that these have blocked stays for who waits for it. */
static void test_signals(void) {
    const struct ipex_pool_options options = {.size_of_struct = sizeof options, .threads = 3};
    const struct sigaction action = {.sa_handler = on_signal};
    const struct timespec soon = {.tv_sec = 5}, moment = {.tv_nsec = 50000000};
    struct sigaction before;
    sigset_t one, mask;
    void *memory;
    struct ipex_pool *pool = make_pool(&options, &memory);
    sigemptyset(&one);
    sigaddset(&one, SIGTERM);
    sigaction(SIGTERM, &action, &before);
    pthread_sigmask(SIG_BLOCK, &one, &mask);
    kill(getpid(), SIGTERM);
    nanosleep(&moment, NULL); /* for whoever would take it */
    check(sigtimedwait(&one, NULL, &soon) == SIGTERM && !handled, "workers take no signals",
          "the handler ran on one of them");
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGTERM, &before, NULL);
    ipex_pool_finish(pool);
    free(memory);
}

/* A child has a copy of the pool, without its workers: it computes alone, and does not wait for
 * them. */
static void test_forked(void) {
    struct net net;
    struct harness h;
    deep_net(&net);
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, POOL_OF_2);
    bool right = harness_run(&h, &net, DENSE, DENSE, 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        right = harness_run(&h, &net, DENSE, DENSE, 0);
        harness_close(&h);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    check(right && status == 0, "a forked child runs and ends a session on a pool",
          WIFSIGNALED(status) ? "it waits for ever" : h.message);
    check(harness_run(&h, &net, DENSE, DENSE, 0), "... and its parent runs on", h.message);
    harness_close(&h);
    net_free(&net);
}

/* Outputs in one storage: the whole, a reshape of it, a slice of it, and a tensor that later nodes
 * read. */
static void test_shared_outputs(void) {
    static const enum harness_form forms[] = {DENSE, STRIDED, MISALIGNED, VIEW};
    struct net net;
    struct harness h;
    net_init(&net);
    const int x = net_input(&net, NET_DIMS(4, 6, 10));
    const int y = net_tensor(&net, NET_DIMS(4, 6, 10));
    const int flat = net_reshape(&net, y, NET_DIMS(240));
    const int part = net_slice(&net, y, 1, 2, 3);
    const int z = net_tensor(&net, NET_DIMS(240));
    (void)net_input(&net, NET_DIMS(5, 5)); /* that nobody reads */
    net_node(&net, IPEX_OP_pointwise, y, NET_IN(x), NET_INTS_(IPEX_STEP_add, 0, 0), 0, NULL);
    net_node(&net, IPEX_OP_pointwise, z, NET_IN(flat), NET_INTS_(IPEX_STEP_mul, 0, 0), 0, NULL);
    net_output(&net, part);
    net_output(&net, flat);
    net_output(&net, y);
    net_output(&net, z);
    net_oracle(&net);
    harness_open(&h, &net);
    harness_session(&h, IPEX_ISA_AUTO, ONE_THREAD);
    bool right = true;
    for (size_t i = 0; i < 12 && right; i++) /* the last form is for outputs only */
        right = harness_run(&h, &net, forms[i / 4], forms[i % 4], 0);
    check(right, "outputs that share a storage", h.message);
    harness_close(&h);
    net_free(&net);
}

int main(void) {
    test_memory();
    test_tensors_refused();
    test_long_name();
    test_options_refused();
    test_files_refused();
    test_introspection();
    test_cancel();
    test_ticks();
    test_mxcsr();
    test_shared_outputs();
    test_shared_pool(2, "three sessions of one image share a pool of two");
    test_shared_pool(5, "... and of five");
    test_crowded_pool();
    test_pool_life();
    test_more_threads_than_cpus(0, 1, "of four threads on one CPU one works, a visit finds all");
    test_more_threads_than_cpus(1, 4, "... and all work where they are pinned");
    test_thread_local();
    test_signals();
    test_forked();
    return check_result();
}
