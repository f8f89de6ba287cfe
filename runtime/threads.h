/* SPDX-License-Identifier: Apache-2.0 */
/* Who does the jobs of a step: the calling thread alone, a pool, or the caller's own threads. Jobs
 * are cut into chunks that threads claim one after the other; every thread has scratch of its own.
 * Only threads.c knows pthread and futex. */
#ifndef IPEX_RUNTIME_THREADS_H
#define IPEX_RUNTIME_THREADS_H

#include <stdatomic.h>

#include "format/base.h"
#include "kernels/kernels.h"
#include "runtime/ipex.h"

#define IPEX_THREADS_MAX 1024

/* One step's work. */
struct ipex_work {
    ipex_kernel_fn fn;
    const void *args;
    int64_t first, jobs; /* jobs [first, first + jobs) */
    uint8_t *scratch;    /* of thread 0; thread i has scratch + i * scratch_stride */
    size_t scratch_stride;
};

/* Number of threads of a pool that take part in steps, the caller's included. */
int32_t ipex_pool_threads(const struct ipex_pool *pool);

/* Does the work on the pool's threads and the calling one; returns when all is done. Callers on
 * several threads take turns. */
void ipex_pool_work(struct ipex_pool *pool, const struct ipex_work *work);

/* A caller that runs a session is between enter and leave. Where there are as many of them as the
 * pool has threads at work it is crowded: whoever works alone then has a CPU of its own, waits for
 * nobody and takes none from another (two ResNet-34 on a pool of two do 1.06 of what one does by
 * both threads; taking turns, 0.87). A hint, which may change at any time. */
void ipex_pool_enter(struct ipex_pool *pool);
void ipex_pool_leave(struct ipex_pool *pool);
bool ipex_pool_crowded(const struct ipex_pool *pool);

/* The same through the caller's parallel_for. */
void ipex_parallel_work(void (*parallel_for)(void *user, void (*fn)(void *arg, int i), void *arg,
                                             int n),
                        void *user, int32_t threads, const struct ipex_work *work);

/* Calls fn once on every thread of a pool, the calling one included. */
void ipex_pool_visit(struct ipex_pool *pool, void (*fn)(void));

/* For short work that threads seldom do at the same time. A lock is 0 when it is free, 1 when
 * taken, 2 when others sleep until it is free. */
void ipex_lock(_Atomic uint32_t *lock);
void ipex_unlock(_Atomic uint32_t *lock);

/* CLOCK_MONOTONIC; no system call where the kernel offers it through the vDSO. */
uint64_t ipex_now_ns(void);

#endif
