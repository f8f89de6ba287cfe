/* SPDX-License-Identifier: Apache-2.0 */
/* What the proofs share: TAP lines, and a model opened and run the way a product does it, with
 * memory that the proof can account for (maps of its own, nothing from the heap). */
#ifndef IPEX_TESTS_PROOF_H
#define IPEX_TESTS_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/ipex.h"

struct proof_block {
    void *data;
    size_t size;
};

#define PROOF_PORTS 8

/* What a round of runs gave: digests of all outputs at the lowest and at the highest sizes of the
 * session's range. */
struct proof_answer {
    uint64_t low, high;
};

/* An image with one session on it and seeded inputs, with room for the highest sizes. Everything is
 * zero before proof_open. */
struct proof_model {
    struct proof_block image_memory, pool_memory, session_memory, input_memory[PROOF_PORTS];
    struct ipex_image *image;
    struct ipex_pool *pool; /* NULL with one thread */
    struct ipex_session *session;
    struct ipex_port port[PROOF_PORTS];
    struct ipex_tensor input[PROOF_PORTS];
    size_t inputs, outputs;
    struct proof_answer answer; /* of the last proof_run */
    char message[512];
};

/* One TAP line; returns condition. `why` follows on a line of its own when it is false. */
bool proof_ok(bool condition, const char *name, const char *why);
void proof_skip(const char *name, const char *reason);

/* Reads "--isa LEVEL" if that is the first argument: sessions are then made at that level. Returns
 * the index of the next argument. Ends the program with status 77 where the level cannot be had. */
int proof_start(int argc, char **argv);

/* Whether AMX instructions are carried out by a signal handler: the one system call that its return
 * needs must then be allowed. */
bool proof_is_emulated(void);

/* 0 when every proof_ok held and there was at least one check; 1 otherwise: for main to return. */
int proof_result(void);

/* Opens `path`, makes a session with `threads` threads, fills the inputs with seeded values. On
 * failure model->message says why. */
bool proof_open(struct proof_model *model, const char *path, int threads);
/* A round: runs at the lowest sizes, at the highest and at the lowest again, which must give what
 * it gave before. Where sizes are fixed, these are three equal runs. */
bool proof_run(struct proof_model *model);
void proof_close(struct proof_model *model);

/* The answer of `path` with one thread; false when it cannot be opened or run. */
bool proof_expected(const char *path, struct proof_answer *ret);
bool proof_is(const struct proof_model *model, struct proof_answer expected);

/* "base name of path: what" in a buffer that lives until the next call. */
const char *proof_name(const char *path, const char *what);

#endif
