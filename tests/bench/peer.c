/* SPDX-License-Identifier: Apache-2.0 */
/* Times a runtime on one network: one process, one measurement.
 *
 * peer onnxruntime|openvino LIBRARY MODEL.onnx THREADS PRECISION SECONDS [NAME TYPE DIMS FILE]...
 * peer_ipexpack ipexpack - MODEL.ipex THREADS PRECISION SECONDS [NAME TYPE DIMS FILE]...
 *
 * PRECISION is f32, or bf16, in which OpenVINO multiplies then; ONNX Runtime stays in f32, and a
 * file of ipexpack says itself. Four words per input: TYPE is f32, i32 or i64, DIMS 1x3x224x224 or
 * scalar, FILE its bytes. Prints one JSON object: create_us (from a loaded library to a session
 * ready to run), first_run_us, min_us, median_us, runs, output_0 (to see that the right thing ran);
 * and of the process up to the first output: first_at_us (on CLOCK_MONOTONIC), faults_minor,
 * faults_major, anon_kb.
 */
#include "tests/bench/peer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/process.h"

enum { WARM_UP = 3, RUNS_MIN = 10, RUNS_MAX = 1 << 20 };

void peer_fail(const char *what, const char *why) {
    fprintf(stderr, "peer: %s: %s\n", what, why);
    exit(1);
}

void *peer_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        peer_fail(path, dlerror());
    return library;
}

void *peer_symbol(void *library, const char *name) {
    void *symbol = dlsym(library, name);
    if (!symbol)
        peer_fail(name, dlerror());
    return symbol;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void read_type(struct peer_input *input, const char *text) {
    static const char *const names[] = {[PEER_F32] = "f32", [PEER_I32] = "i32", [PEER_I64] = "i64"};
    while (strcmp(names[input->type], text) != 0)
        if (++input->type > PEER_I64)
            peer_fail("type", text);
    input->bytes = input->type == PEER_I64 ? 8 : 4;
}

static void read_dims(struct peer_input *input, const char *text) {
    if (strcmp(text, "scalar") == 0)
        return;
    for (char *end; *text; text = *end == 'x' ? end + 1 : end) {
        long dim = strtol(text, &end, 10);
        if (end == text || dim <= 0 || input->rank == 8)
            peer_fail("dims", text);
        input->dims[input->rank++] = dim;
        input->bytes *= (size_t)dim;
    }
}

/* Inputs are mapped, not read: that neither takes time nor counts as anonymous memory. */
static void map_input(struct peer_job *job, char **words) {
    if (job->inputs == PEER_INPUTS)
        peer_fail(words[0], "too many inputs");
    struct peer_input *input = &job->input[job->inputs++];
    input->name = words[0];
    read_type(input, words[1]);
    read_dims(input, words[2]);
    struct stat about;
    const int file = open(words[3], O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &about) != 0 || (size_t)about.st_size != input->bytes)
        peer_fail(words[3], "is not an input of this type and these dims");
    input->data = mmap(NULL, input->bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    if (input->data == MAP_FAILED)
        peer_fail(words[3], "cannot be mapped");
    close(file);
}

/* Runs for `seconds`; fills times_us and returns how many. */
static size_t time_runs(const struct peer *peer, double seconds, double *times_us) {
    size_t runs = 0;
    for (int i = 0; i < WARM_UP; i++)
        peer->run();
    for (double end = process_now_us() + 1e6 * seconds;
         (runs < RUNS_MIN || process_now_us() < end) && runs < RUNS_MAX;) {
        double begin = process_now_us();
        peer->run();
        times_us[runs++] = process_now_us() - begin;
    }
    qsort(times_us, runs, sizeof *times_us, by_value);
    return runs;
}

static const struct peer *find_peer(const char *name) {
    for (const struct peer *const *peer = peers; *peer; peer++)
        if (strcmp((*peer)->name, name) == 0)
            return *peer;
    peer_fail(name, "this program does not drive it");
}

int main(int argc, char **argv) {
    static double times_us[RUNS_MAX];
    if (argc < 7 || (argc - 7) % 4 != 0) {
        fprintf(
            stderr,
            "usage: %s RUNTIME LIBRARY MODEL THREADS f32|bf16 SECONDS [NAME TYPE DIMS FILE]...\n",
            argv[0]);
        return 2;
    }
    const struct peer *peer = find_peer(argv[1]);
    struct peer_job job = {.model = argv[3], .threads = atoi(argv[4]), .precision = argv[5]};
    for (int i = 7; i < argc; i += 4)
        map_input(&job, argv + i);
    peer->load(argv[2]);
    double begin = process_now_us();
    peer->create(&job);
    double created = process_now_us();
    const float *output = peer->run();
    double ran = process_now_us();
    char number[32] = "null"; /* where JSON has none */
    if (isfinite(output[0]))
        snprintf(number, sizeof number, "%.6g", (double)output[0]);
    const struct process_faults faults = process_faults();
    const long anon_kb = process_anon_kb();
    size_t runs = time_runs(peer, atof(argv[6]), times_us);
    printf("{\"create_us\": %.1f, \"first_run_us\": %.1f, \"min_us\": %.2f, \"median_us\": %.2f, "
           "\"runs\": %zu, \"output_0\": %s, \"first_at_us\": %.3f, \"faults_minor\": %ld, "
           "\"faults_major\": %ld, \"anon_kb\": %ld}\n",
           created - begin, ran - created, times_us[0], times_us[runs / 2], runs, number, ran,
           faults.minor, faults.major, anon_kb);
    fflush(stdout);
    _Exit(0); /* tear-down is not our business */
}
