/* SPDX-License-Identifier: Apache-2.0 */
/* What the proofs share: TAP lines, and a model opened and run the way a product does it, with
 * memory that the proof can account for (maps of its own, nothing from the heap). */
#ifndef IPEX_TESTS_PROOF_H
#define IPEX_TESTS_PROOF_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/ipex.h"

struct proof_block {
    void *data;
    size_t size;
};

/* An image with one session on it and one seeded input. Everything is zero before proof_open. */
struct proof_model {
    struct proof_block image_memory, pool_memory, session_memory, input_memory;
    struct ipex_image *image;
    struct ipex_pool *pool; /* NULL with one thread */
    struct ipex_session *session;
    struct ipex_tensor input,
        output; /* the output is a view into the session, filled by proof_run */
    size_t output_bytes;
    char message[512];
};

/* One TAP line; returns condition. `why` follows on a line of its own when it is false. */
bool proof_ok(bool condition, const char *name, const char *why);
void proof_skip(const char *name, const char *reason);

/* 0 when every proof_ok held and there was at least one check; 1 otherwise: for main to return. */
int proof_result(void);

/* Opens `path`, makes a session with `threads` threads, fills the input with seeded values. On
 * failure model->message says why. */
bool proof_open(struct proof_model *model, const char *path, int threads);
bool proof_run(struct proof_model *model);
void proof_close(struct proof_model *model);

/* The output of `path` with one thread, computed once: a private copy that lives until the program
 * ends. */
struct proof_block proof_expected(const char *path);

/* "base name of path: what" in a buffer that lives until the next call. */
const char *proof_name(const char *path, const char *what);

#endif
