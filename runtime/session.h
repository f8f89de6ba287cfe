/* SPDX-License-Identifier: Apache-2.0 */
/* The session and how its steps reach threads.
 *
 * Memory, one block of the caller's:
 *
 *   session | plans: steps, arguments, patches | zeros | scratch per thread | arena of all entries
 */
#ifndef IPEX_RUNTIME_SESSION_H
#define IPEX_RUNTIME_SESSION_H

#include "runtime/ipex.h"
#include "runtime/plan.h"
#include "runtime/threads.h"

#define IPEX_MESSAGE_SIZE 512 /* the name of a port has 256 at most */

/* Who works: parallel_for, else pool, else the calling thread. */
struct ipex_team {
    struct ipex_pool *pool;
    void (*parallel_for)(void *user, void (*fn)(void *arg, int i), void *arg, int n);
    void *parallel_user;
    int32_t threads;
    uint8_t *scratch;
    size_t scratch_stride;
};

struct ipex_session {
    const struct ipex_image *image;
    struct ipex_setup setup;
    struct ipex_team team;
    const int *cancel;
    struct ipex_plan *plan; /* [plans] */
    int32_t plans;
    char message[IPEX_MESSAGE_SIZE];
};

/* The plan of an entry of this session (NULL: "main", or the only one); NULL: it has none. */
struct ipex_plan *ipex_session_plan(const struct ipex_session *session, const char *entry);

/* Index of an image's entry by the same rule; -1 when there is none. */
int32_t ipex_image_find_entry(const struct ipex_image *image, const char *entry);

/* Does `rounds` rounds of `jobs` jobs, with the team's help unless `alone` or the pool is crowded.
 * Jobs of several rounds have thread 0's scratch together. */
void ipex_team_do(const struct ipex_team *team, ipex_kernel_fn fn, const void *args, int64_t jobs,
                  int64_t rounds, bool alone);

/* ports.c: the caller's tensors. match checks all of them, binds the plan to their sizes and
 * remembers them in the plan's ports; no tensor has been written when it fails. */
IPEX_WARN_UNUSED enum ipex_status ipex_ports_match(struct ipex_session *session,
                                                   struct ipex_plan *plan,
                                                   const struct ipex_tensor *inputs,
                                                   size_t n_inputs, struct ipex_tensor *outputs,
                                                   size_t n_outputs);
/* Aims the steps at the caller's tensors, or copies what cannot be read in place. */
void ipex_ports_begin(struct ipex_session *session, struct ipex_plan *plan);
/* Copies outputs that were not written in place; fills views. */
void ipex_ports_end(struct ipex_session *session, struct ipex_plan *plan);

#endif
