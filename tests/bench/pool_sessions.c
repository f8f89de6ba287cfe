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
    double seconds, begin_us, end_us;
    long runs;
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
    for (int i = 0; i < WARM_UP; i++)
        run(caller);
    pthread_barrier_wait(caller->begin);
    caller->begin_us = process_now_us();
    for (caller->end_us = caller->begin_us;
         caller->end_us - caller->begin_us < 1e6 * caller->seconds; caller->runs++) {
        run(caller);
        caller->end_us = process_now_us();
    }
    return NULL;
}

/* Of all together, from the first begin to the last end: where one waits for another that counts.
 */
static double runs_per_second(const struct caller *caller, int sessions) {
    double begin_us = caller[0].begin_us, end_us = caller[0].end_us;
    long runs = 0;
    for (int i = 0; i < sessions; i++) {
        begin_us = caller[i].begin_us < begin_us ? caller[i].begin_us : begin_us;
        end_us = caller[i].end_us > end_us ? caller[i].end_us : end_us;
        runs += caller[i].runs;
    }
    return 1e6 * (double)runs / (end_us - begin_us);
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
    for (int i = 0; i < sessions; i++)
        pthread_join(caller[i].thread, NULL);
    printf("{\"sessions\": %d, \"runs_per_second\": %.4f, \"runs\": [", sessions,
           runs_per_second(caller, sessions));
    for (int i = 0; i < sessions; i++)
        printf("%s%ld", i ? ", " : "", caller[i].runs);
    printf("]}\n");
    return 0;
}
