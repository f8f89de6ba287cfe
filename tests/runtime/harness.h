/* SPDX-License-Identifier: Apache-2.0 */
/* TAP lines, and a small model opened the way a product does it. */
#ifndef IPEX_TESTS_HARNESS_H
#define IPEX_TESTS_HARNESS_H

#include "runtime/ipex.h"
#include "tests/runtime/net.h"

/* One TAP line; returns condition. `why` follows when it is false. */
bool check(bool condition, const char *name, const char *why);
int check_result(void); /* for main to return: 1 when any failed or nothing was checked */

struct harness {
    void *file, *image_memory, *session_memory, *pool_memory;
    size_t file_size, session_size;
    struct ipex_image *image;
    struct ipex_pool *pool;
    struct ipex_session *session;
    char message[256];
    int32_t l2_bytes;
    int no_bands; /* of the sessions to come */
};

enum harness_threads { ONE_THREAD, POOL_OF_2, PARALLEL_FOR_3, HARNESS_THREADS };

/* Makes the file and opens it. Aborts on failure, with the message: a test's own net must open. */
void harness_open(struct harness *h, const struct net *net);
void harness_session(struct harness *h, enum ipex_isa isa, enum harness_threads threads);
/* The same for part of the sizes. */
void harness_sized_session(struct harness *h, enum ipex_isa isa, enum harness_threads threads,
                           const struct ipex_dim_range *dims, size_t n_dims);
void harness_close(struct harness *h);
/* How many tensors of an entry have a place in the session's arena; -1 where two have one at one
 * time, or where a place is not between the first and the last step. */
int harness_places(const struct harness *h, const char *entry);

/* A caller's parallel_for: new threads for every call. user: NULL. */
void harness_parallel_for(void *user, void (*fn)(void *arg, int i), void *arg, int n);

/* How tensors are handed over. */
enum harness_form {
    DENSE,      /* plain */
    STRIDED,    /* gaps, and the first axis backwards */
    MISALIGNED, /* plain, one byte off */
    VIEW,       /* outputs: data NULL */
};

/* A caller's tensor for tensor `t` of the net: as input with its values, as output empty. `memory`
 * is to be freed. */
struct ipex_tensor harness_tensor(const struct net *net, int t, enum harness_form form, bool fill,
                                  void **ret_memory);

/* Largest |difference| to the oracle, as equal bits (0) or not (INFINITY) where tolerance is 0. */
bool harness_equal(const struct net *net, int t, const struct ipex_tensor *tensor,
                   double tolerance);

/* Runs once with inputs and outputs in these forms; true when it succeeds and all outputs are
 * right. */
bool harness_run(struct harness *h, const struct net *net, enum harness_form inputs,
                 enum harness_form outputs, double tolerance);

/* Computes a net with the oracle and compares all ways to run it: every level of this machine, one
 * thread, a pool and a caller's parallel_for, inputs and outputs in several forms. Frees the net.
 */
void check_net(struct net *net, const char *name, double tolerance);

#endif
