/* SPDX-License-Identifier: Apache-2.0 */
/* Throughput of sessions that share a pool.
 *
 * pool_sessions FILE.ipex THREADS SECONDS SESSIONS
 *
 * One image, one pool of so many threads, and for each session a thread that runs it again and
 * again (with one thread and a pool there is nothing to share: every caller computes alone). Inputs
 * are zeros. Prints one JSON object: sessions, and runs_per_second of all together. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/process.h"
#include "tests/bench/use_ipex.h"

enum { PORTS = 16, SESSIONS = 64, WARM_UP = 2 };

struct caller {
    struct ipex_session *session;
    struct ipex_tensor input[PORTS], output[PORTS];
    size_t inputs, outputs;
    pthread_barrier_t *begin;
    double seconds, runs_per_second;
    pthread_t thread;
};

static void fail(const char *what) {
    fprintf(stderr, "pool_sessions: %s\n", what);
    exit(1);
}

static void make_inputs(struct caller *caller, const struct ipex_image *image) {
    caller->inputs = ipex_image_input_count(image, NULL);
    caller->outputs = ipex_image_output_count(image, NULL);
    if (caller->inputs > PORTS || caller->outputs > PORTS)
        fail("too many inputs or outputs");
    for (size_t i = 0; i < caller->inputs; i++) {
        struct ipex_port port;
        if (ipex_image_input(image, NULL, i, &port) != IPEX_OK)
            fail("an input is not there");
        size_t bytes = sizeof(double); /* no element is larger */
        for (int32_t axis = 0; axis < port.rank; axis++)
            bytes *= (size_t)port.dims[axis];
        struct ipex_tensor *tensor = &caller->input[i];
        *tensor = (struct ipex_tensor){
            .name = port.name, .data = calloc(1, bytes), .dtype = port.dtype, .rank = port.rank};
        memcpy(tensor->dims, port.dims, sizeof tensor->dims);
        if (!tensor->data)
            fail("not enough memory");
    }
}

static void run(struct caller *caller) {
    use_run(caller->session, caller->input, caller->inputs, caller->output, caller->outputs);
}

static void *call(void *argument) {
    struct caller *caller = argument;
    long runs = 0;
    for (int i = 0; i < WARM_UP; i++)
        run(caller);
    pthread_barrier_wait(caller->begin);
    const double begin = process_now_us();
    double now = begin;
    for (; now - begin < 1e6 * caller->seconds; now = process_now_us(), runs++)
        run(caller);
    caller->runs_per_second = 1e6 * (double)runs / (now - begin);
    return NULL;
}

int main(int argc, char **argv) {
    static struct caller caller[SESSIONS];
    pthread_barrier_t begin;
    const int threads = argc == 5 ? atoi(argv[2]) : 0, sessions = argc == 5 ? atoi(argv[4]) : 0;
    if (threads < 1 || sessions < 1 || sessions > SESSIONS) {
        fputs("usage: pool_sessions FILE.ipex THREADS SECONDS SESSIONS\n", stderr);
        return 2;
    }
    const struct ipex_image *image = use_image(argv[1]);
    struct ipex_pool *pool = use_pool(threads);
    pthread_barrier_init(&begin, NULL, (unsigned)sessions);
    for (int i = 0; i < sessions; i++) {
        caller[i].session = use_session(image, pool);
        caller[i].begin = &begin;
        caller[i].seconds = atof(argv[3]);
        make_inputs(&caller[i], image);
        if (pthread_create(&caller[i].thread, NULL, call, &caller[i]) != 0)
            fail("no thread");
    }
    double all = 0;
    for (int i = 0; i < sessions; i++) {
        pthread_join(caller[i].thread, NULL);
        all += caller[i].runs_per_second;
    }
    printf("{\"sessions\": %d, \"runs_per_second\": %.4f}\n", sessions, all);
    return 0;
}
