/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime behind three functions. Opponents are reached through their C interfaces by dlopen, so
 * that neither their headers nor Python stand in the timed path. A failure ends the program with a
 * message: these are measuring tools. */
#ifndef IPEX_TESTS_BENCH_PEER_H
#define IPEX_TESTS_BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

enum peer_type { PEER_F32, PEER_I32, PEER_I64 };

struct peer_input {
    const char *name;
    enum peer_type type;
    int64_t dims[8];
    size_t rank, bytes;
    void *data; /* what to feed, dense */
};

enum { PEER_INPUTS = 128, PEER_OUTPUTS = 128 };

/* A network with inputs of fixed shapes. */
struct peer_job {
    const char *model; /* a path */
    int threads;
    const char *precision; /* f32, or bf16 where the runtime may multiply in it */
    struct peer_input input[PEER_INPUTS];
    size_t inputs;
};

struct peer {
    const char *name;
    /* Loads the library and finds the interface in it. */
    void (*load)(const char *path);
    /* Loads the model and binds the input: what a product does once. */
    void (*create)(const struct peer_job *job);
    /* One inference; returns the first output. */
    const float *(*run)(void);
};

extern const struct peer peer_onnxruntime, peer_openvino;
/* Those that a program has, NULL behind the last. */
extern const struct peer *const peers[];

/* The function of that name; ends the program when the library lacks it. */
void *peer_symbol(void *library, const char *name);
void *peer_library(const char *path);
_Noreturn void peer_fail(const char *what, const char *why);

#endif
