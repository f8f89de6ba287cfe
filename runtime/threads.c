/* SPDX-License-Identifier: Apache-2.0 */
/* The pool. A step is published in `work` and cut into chunks, and these into ranges of neighbours.
 * Every thread begins with the same range in every step, so that it finds what it wrote in the step
 * before in its own cache, and then helps with the others. A range's ticket holds the step's number
 * and the range's next free chunk in one word:
 *
 *   ticket = step << 16 | next chunk
 *
 * A thread claims a chunk by compare-and-swap of the whole word. While a word names a free chunk
 * the step cannot end and its fields do not change; before they change all words are closed (next
 * chunk = all ones), and fields are stored with release and read with acquire, so a thread that
 * read a new field fails to swap an old word. Nobody waits for workers that did not come: a step
 * ends when its chunks are done, not when every worker has seen it.
 *
 * Waiting: spin, then sleep on a futex. A worker that spins in vain while a session runs keeps
 * somebody from a CPU who could use it, and spins less from then on: half as long for every such
 * wait, longer again by an eighth for every step that came in time. Workers without a CPU of their
 * own (at_work) sleep until the pool is visited: they would take turns with the others, and these
 * wait for whoever has a chunk.
 *
 * Memory: the pool, its workers and their stacks are one block of the caller's. */
#include "runtime/threads.h"

#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/fpu.h"
#include "runtime/memory.h"

#define LINE 64
/* Kernels need a few KiB of stack; the rest is for the C library's thread data and signals. What
 * the program and its libraries have of thread-local variables comes on top. */
#define STACK_BYTES       (256u << 10)
#define STACK_ALIGN       4096
#define SPIN_US_DEFAULT   200
#define SPIN_US_MAX       1000000
#define SPIN_LEAST        100  /* a worker spins at least the hundredth part, */
#define SPIN_GROWTH       8    /* and an eighth longer when it did not in vain */
#define LOCK_SPINS        1000 /* some 20 us */
#define CHUNKS_PER_THREAD 8
#define RANGES_MAX        16 /* more threads share them: a step opens and closes every one */
#define CHUNK_BITS        16
#define CHUNK_MASK        ((UINT64_C(1) << CHUNK_BITS) - 1)

_Static_assert(IPEX_THREADS_MAX *CHUNKS_PER_THREAD < CHUNK_MASK, "chunk numbers fit the ticket");

struct ipex_worker {
    struct ipex_pool *pool;
    pthread_t thread;
    int32_t index;
    int64_t spins; /* pauses before sleeping, of the pool's at most */
};

/* The fields of the step that is running. Atomic because a late worker may read them while they
 * change (it then finds its ticket void). */
struct shared_work {
    _Atomic(ipex_kernel_fn) fn;
    _Atomic(const void *) args;
    _Atomic(int64_t) first;
    _Atomic(int64_t) jobs;
    _Atomic(int64_t) chunks;
    _Atomic(uint8_t *) scratch;
    _Atomic(size_t) scratch_stride;
};

struct chunk_range {
    _Alignas(LINE) _Atomic uint64_t ticket;
};

struct ipex_pool {
    int32_t threads, at_work; /* at_work of them take part in steps */
    int32_t ranges;
    int64_t spins; /* pauses before sleeping */
    pid_t process; /* that has the workers: fork copies none */
    struct ipex_worker *worker;

    _Alignas(LINE) struct shared_work work;
    struct chunk_range range[RANGES_MAX]; /* [ranges] */
    _Alignas(LINE) _Atomic uint32_t done; /* chunks finished; the caller sleeps on it */
    _Atomic uint32_t caller_sleeps;
    _Alignas(LINE) _Atomic uint32_t wake; /* changes with every step; workers sleep on it */
    _Atomic uint32_t sleepers;
    _Atomic uint32_t visits; /* changes with every visit; those that are not at work sleep on it */
    _Atomic uint32_t ready;  /* workers that run our code */
    _Atomic uint32_t stop;
    _Alignas(LINE) _Atomic uint32_t turn; /* a lock */
    _Atomic int32_t callers;              /* between enter and leave */
};

static void futex_wait(_Atomic uint32_t *word, uint32_t expected) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void wake_all(_Atomic uint32_t *word) {
    atomic_fetch_add(word, 1);
    futex_wake(word, INT_MAX);
}

/* ---- claiming and doing chunks ---- */

static void run_chunk(const struct ipex_work *work, int64_t chunk, int64_t chunks, int32_t thread) {
    /* The first jobs % chunks chunks have one job more. */
    const int64_t size = work->jobs / chunks, rest = work->jobs % chunks;
    const int64_t begin = work->first + chunk * size + (chunk < rest ? chunk : rest);
    const int64_t end = begin + size + (chunk < rest);
    work->fn(work->args, begin, end, work->scratch + (size_t)thread * work->scratch_stride);
}

static int64_t chunk_count(int64_t jobs, int32_t threads) {
    const int64_t most = (int64_t)threads * CHUNKS_PER_THREAD;
    return jobs < most ? jobs : most;
}

/* Claims one chunk of a range of the step that is running and does it. False when there is none. */
static bool claim_in(struct ipex_pool *pool, int32_t index, int32_t thread) {
    _Atomic uint64_t *const word = &pool->range[index].ticket;
    uint64_t ticket = atomic_load_explicit(word, memory_order_acquire);
    for (;;) {
        struct shared_work *shared = &pool->work;
        const struct ipex_work work = {
            .fn = atomic_load_explicit(&shared->fn, memory_order_acquire),
            .args = atomic_load_explicit(&shared->args, memory_order_acquire),
            .first = atomic_load_explicit(&shared->first, memory_order_acquire),
            .jobs = atomic_load_explicit(&shared->jobs, memory_order_acquire),
            .scratch = atomic_load_explicit(&shared->scratch, memory_order_acquire),
            .scratch_stride = atomic_load_explicit(&shared->scratch_stride, memory_order_acquire),
        };
        const int64_t chunks = atomic_load_explicit(&shared->chunks, memory_order_acquire);
        const int64_t begin = index * chunks / pool->ranges;
        const int64_t chunk = begin + (int64_t)(ticket & CHUNK_MASK);
        if (chunk >= (index + 1) * chunks / pool->ranges)
            return false;
        if (!atomic_compare_exchange_weak_explicit(word, &ticket, ticket + 1, memory_order_acq_rel,
                                                   memory_order_acquire))
            continue;
        run_chunk(&work, chunk, chunks, thread);
        const uint32_t done = atomic_fetch_add(&pool->done, 1) + 1;
        if (done == (uint32_t)chunks && atomic_load(&pool->caller_sleeps) != 0)
            futex_wake(&pool->done, 1);
        return true;
    }
}

/* The thread's own range first. */
static bool claim_and_run(struct ipex_pool *pool, int32_t thread) {
    const int32_t own = thread % pool->ranges;
    for (int32_t i = 0; i < pool->ranges; i++)
        if (claim_in(pool, (own + i) % pool->ranges, thread))
            return true;
    return false;
}

/* ---- workers ---- */

/* Not in a child of the process that started them. */
static bool has_workers(const struct ipex_pool *pool) {
    return pool->process == getpid();
}

/* Spins, then sleeps, until `wake` is no longer `seen`. */
static void wait_for_step(struct ipex_worker *worker, uint32_t seen) {
    struct ipex_pool *const pool = worker->pool;
    for (int64_t i = 0; i < worker->spins; i++) {
        if (atomic_load_explicit(&pool->wake, memory_order_acquire) != seen) {
            const int64_t more = worker->spins + pool->spins / SPIN_GROWTH;
            worker->spins = more < pool->spins ? more : pool->spins;
            return;
        }
        _mm_pause();
    }
    const int64_t least = pool->spins / SPIN_LEAST;
    if (atomic_load_explicit(&pool->callers, memory_order_relaxed) > 0)
        worker->spins = worker->spins / 2 > least ? worker->spins / 2 : least;
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->wake) == seen)
        futex_wait(&pool->wake, seen);
    atomic_fetch_sub(&pool->sleepers, 1);
}

static void do_steps(struct ipex_worker *worker) {
    struct ipex_pool *const pool = worker->pool;
    while (atomic_load_explicit(&pool->stop, memory_order_acquire) == 0) {
        const uint32_t seen = atomic_load_explicit(&pool->wake, memory_order_acquire);
        while (claim_and_run(pool, worker->index)) {
        }
        wait_for_step(worker, seen);
    }
}

/* One chunk of every visit, which is there until this worker has taken it; none of other steps,
 * that have no scratch for it. */
static void do_visits(struct ipex_worker *worker, uint32_t seen) {
    struct ipex_pool *const pool = worker->pool;
    for (;; seen++) {
        while (atomic_load(&pool->visits) == seen)
            futex_wait(&pool->visits, seen);
        if (atomic_load(&pool->stop) != 0)
            return;
        (void)claim_and_run(pool, worker->index);
    }
}

static void *worker_main(void *arg) {
    struct ipex_worker *worker = arg;
    struct ipex_pool *pool = worker->pool;
    const uint32_t visits = atomic_load(&pool->visits);
    (void)ipex_fpu_enter(); /* the thread is ours: nothing to restore */
    atomic_fetch_add(&pool->ready, 1);
    futex_wake(&pool->ready, 1);
    if (worker->index < pool->at_work)
        do_steps(worker);
    else
        do_visits(worker, visits);
    return NULL;
}

/* ---- one step ---- */

/* Spins at most so often for a lock, then sleeps: who holds it may need this very CPU. */
static void take_lock(_Atomic uint32_t *lock, int64_t spins) {
    uint32_t expected = 0;
    if (atomic_compare_exchange_strong(lock, &expected, 1))
        return;
    for (int64_t i = 0; i < spins; i++) {
        expected = 0;
        if (atomic_load_explicit(lock, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(lock, &expected, 1))
            return;
        _mm_pause();
    }
    while (atomic_exchange(lock, 2) != 0)
        futex_wait(lock, 2);
}

void ipex_lock(_Atomic uint32_t *lock) {
    take_lock(lock, LOCK_SPINS);
}

void ipex_unlock(_Atomic uint32_t *lock) {
    if (atomic_exchange(lock, 0) == 2)
        futex_wake(lock, 1);
}

static void publish(struct ipex_pool *pool, const struct ipex_work *work, int64_t chunks) {
    struct shared_work *shared = &pool->work;
    const uint64_t step =
        atomic_load_explicit(&pool->range[0].ticket, memory_order_relaxed) >> CHUNK_BITS;
    for (int32_t r = 0; r < pool->ranges; r++)
        atomic_store_explicit(&pool->range[r].ticket, step << CHUNK_BITS | CHUNK_MASK,
                              memory_order_relaxed);
    atomic_store_explicit(&shared->fn, work->fn, memory_order_release);
    atomic_store_explicit(&shared->args, work->args, memory_order_release);
    atomic_store_explicit(&shared->first, work->first, memory_order_release);
    atomic_store_explicit(&shared->jobs, work->jobs, memory_order_release);
    atomic_store_explicit(&shared->chunks, chunks, memory_order_release);
    atomic_store_explicit(&shared->scratch, work->scratch, memory_order_release);
    atomic_store_explicit(&shared->scratch_stride, work->scratch_stride, memory_order_release);
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    for (int32_t r = 0; r < pool->ranges; r++)
        atomic_store_explicit(&pool->range[r].ticket, (step + 1) << CHUNK_BITS,
                              memory_order_release);
    atomic_fetch_add(&pool->wake, 1);
    if (chunks > 1 && atomic_load(&pool->sleepers) != 0)
        futex_wake(&pool->wake, (int)chunks - 1);
}

static void wait_for_chunks(struct ipex_pool *pool, uint32_t chunks) {
    for (int64_t i = 0; i < pool->spins; i++) {
        if (atomic_load_explicit(&pool->done, memory_order_acquire) == chunks)
            return;
        _mm_pause();
    }
    atomic_store(&pool->caller_sleeps, 1);
    for (;;) {
        const uint32_t done = atomic_load(&pool->done);
        if (done == chunks)
            break;
        futex_wait(&pool->done, done);
    }
    atomic_store(&pool->caller_sleeps, 0);
}

/* By those at work, or by every thread. */
static void do_step(struct ipex_pool *pool, const struct ipex_work *work, bool everyone) {
    const int64_t chunks = chunk_count(work->jobs, everyone ? pool->threads : pool->at_work);
    if (chunks == 0)
        return;
    take_lock(&pool->turn, pool->spins);
    publish(pool, work, chunks);
    if (everyone && pool->at_work < pool->threads)
        wake_all(&pool->visits);
    while (claim_and_run(pool, 0)) {
    }
    wait_for_chunks(pool, (uint32_t)chunks);
    ipex_unlock(&pool->turn);
}

void ipex_pool_work(struct ipex_pool *pool, const struct ipex_work *work) {
    do_step(pool, work, false);
}

void ipex_pool_enter(struct ipex_pool *pool) {
    atomic_fetch_add_explicit(&pool->callers, 1, memory_order_relaxed);
}

void ipex_pool_leave(struct ipex_pool *pool) {
    atomic_fetch_sub_explicit(&pool->callers, 1, memory_order_relaxed);
}

bool ipex_pool_crowded(const struct ipex_pool *pool) {
    return atomic_load_explicit(&pool->callers, memory_order_relaxed) >= pool->at_work;
}

/* ---- every thread once ---- */

struct visit {
    void (*fn)(void);
    int32_t threads;
    _Atomic int32_t *arrived;
};

/* One job for each thread: who has one stays until all have, so nobody gets two. */
static void visit_job(const void *args, int64_t job_begin, int64_t job_end, void *scratch) {
    const struct visit *visit = args;
    (void)job_begin, (void)job_end, (void)scratch;
    visit->fn();
    atomic_fetch_add(visit->arrived, 1);
    while (atomic_load(visit->arrived) < visit->threads)
        sched_yield();
}

void ipex_pool_visit(struct ipex_pool *pool, void (*fn)(void)) {
    _Atomic int32_t arrived = 0;
    if (!has_workers(pool)) {
        fn();
        return;
    }
    const struct visit visit = {.fn = fn, .threads = pool->threads, .arrived = &arrived};
    const struct ipex_work work = {
        .fn = visit_job, .args = &visit, .jobs = pool->threads, .scratch = (uint8_t *)pool};
    do_step(pool, &work, true);
}

/* ---- the caller's threads ---- */

struct parallel_step {
    const struct ipex_work *work;
    int64_t chunks;
    _Atomic int64_t next;
};

static void parallel_part(void *arg, int index) {
    struct parallel_step *step = arg;
    const uint32_t fpu = ipex_fpu_enter();
    for (;;) {
        const int64_t chunk = atomic_fetch_add_explicit(&step->next, 1, memory_order_relaxed);
        if (chunk >= step->chunks)
            break;
        run_chunk(step->work, chunk, step->chunks, index);
    }
    ipex_fpu_leave(fpu);
}

void ipex_parallel_work(void (*parallel_for)(void *user, void (*fn)(void *arg, int i), void *arg,
                                             int n),
                        void *user, int32_t threads, const struct ipex_work *work) {
    struct parallel_step step = {.work = work, .chunks = chunk_count(work->jobs, threads)};
    if (step.chunks == 0)
        return;
    const int32_t parts = step.chunks < threads ? (int32_t)step.chunks : threads;
    parallel_for(user, parallel_part, &step, parts);
}

/* ---- life cycle ---- */

static struct ipex_report report_of(const struct ipex_pool_options *options) {
    return options != NULL
               ? (struct ipex_report){.text = options->message, .size = options->message_size}
               : (struct ipex_report){0};
}

/* The options with defaults filled in, checked. */
static enum ipex_status read_options(const struct ipex_pool_options *options,
                                     struct ipex_pool_options *ret) {
    *ret = (struct ipex_pool_options){.threads = 1};
    const struct ipex_report none = {0};
    if (options != NULL) {
        IPEX_CHECK(options->size_of_struct == sizeof *options, &none, IPEX_ERROR_ARGUMENT,
                   "ipex_pool_options.size_of_struct");
        *ret = *options;
    }
    const struct ipex_report report = report_of(options);
    IPEX_CHECK(ret->threads >= 1 && ret->threads <= IPEX_THREADS_MAX, &report, IPEX_ERROR_ARGUMENT,
               "pool threads must be 1..%d, %d given", IPEX_THREADS_MAX, (int)ret->threads);
    IPEX_CHECK(ret->spin_us >= 0 && ret->spin_us <= SPIN_US_MAX, &report, IPEX_ERROR_ARGUMENT,
               "pool spin_us must be 0..%d, %d given", SPIN_US_MAX, (int)ret->spin_us);
    if (ret->spin_us == 0)
        ret->spin_us = SPIN_US_DEFAULT;
    return IPEX_OK;
}

static int add_thread_local(struct dl_phdr_info *info, size_t size, void *bytes) {
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *(size_t *)bytes += info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
    return 0;
}

static size_t stack_bytes(void) {
    size_t ret = STACK_BYTES + STACK_ALIGN - 1;
    (void)dl_iterate_phdr(add_thread_local, &ret);
    return ret / STACK_ALIGN * STACK_ALIGN;
}

/* The pool, its workers and their stacks; the stacks begin at a page of their own. */
static struct ipex_pool *lay_out(struct ipex_bump *bump, int32_t threads, size_t stack,
                                 uint8_t **ret_stacks) {
    struct ipex_pool *pool = ipex_bump_take(bump, sizeof *pool, LINE);
    struct ipex_worker *worker =
        ipex_bump_take(bump, (size_t)threads * sizeof *worker, _Alignof(struct ipex_worker));
    /* The block is aligned to IPEX_MEMORY_ALIGN only: up to a page goes into aligning the stacks by
     * address. */
    uint8_t *stacks = ipex_bump_take(bump, (size_t)(threads - 1) * stack + STACK_ALIGN, LINE);
    if (bump->base != NULL && !bump->failed) {
        memset(pool, 0, sizeof *pool);
        pool->worker = worker;
        *ret_stacks =
            (uint8_t *)(((uintptr_t)stacks + STACK_ALIGN - 1) & ~(uintptr_t)(STACK_ALIGN - 1));
    }
    return pool;
}

enum ipex_status ipex_pool_measure(const struct ipex_pool_options *options, size_t *ret_size) {
    struct ipex_pool_options set;
    IPEX_TRY(read_options(options, &set));
    struct ipex_bump bump = {0};
    (void)lay_out(&bump, set.threads, stack_bytes(), NULL);
    *ret_size = bump.used;
    return IPEX_OK;
}

uint64_t ipex_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Pauses that take spin_us: timed here, once, so that running needs no clock. */
static int64_t measure_spins(int32_t spin_us) {
    enum { sample = 2000 };
    const uint64_t begin = ipex_now_ns();
    for (int i = 0; i < sample; i++)
        _mm_pause();
    const uint64_t ns = ipex_now_ns() - begin;
    return (int64_t)((uint64_t)spin_us * 1000u * sample / (ns > 0 ? ns : 1));
}

/* The CPUs that the process may use, and how many they are; 0 where Linux does not say. */
static int32_t allowed_cpus(cpu_set_t *ret) {
    return sched_getaffinity(0, sizeof *ret, ret) == 0 ? CPU_COUNT(ret) : 0;
}

/* Binds the worker to the index-th CPU (counting around) that the process may use. */
static int pin_worker(const struct ipex_worker *worker) {
    cpu_set_t allowed, one;
    const int32_t count = allowed_cpus(&allowed);
    if (count == 0)
        return -1;
    int left = worker->index % count, cpu = 0;
    while (!CPU_ISSET(cpu, &allowed) || left-- > 0)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return pthread_setaffinity_np(worker->thread, sizeof one, &one);
}

static int start_worker(struct ipex_worker *worker, uint8_t *stack, size_t size) {
    pthread_attr_t attr;
    int error = pthread_attr_init(&attr);
    if (error != 0)
        return error;
    error = pthread_attr_setstack(&attr, stack, size);
    if (error == 0)
        error = pthread_create(&worker->thread, &attr, worker_main, worker);
    pthread_attr_destroy(&attr);
    return error;
}

/* A thread that starts makes system calls of its own. They are over when init returns, so that the
 * caller can forbid them from then on. */
static void wait_until_ready(struct ipex_pool *pool) {
    for (;;) {
        const uint32_t ready = atomic_load(&pool->ready);
        if (ready == (uint32_t)pool->threads - 1)
            return;
        futex_wait(&pool->ready, ready);
    }
}

/* Signals are for the caller's threads, whose stacks are made for handlers: but for those that a
 * thread brings on itself, and a profiler's. */
static void fill_mask(sigset_t *ret) {
    static const uint8_t taken[] = {SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV, SIGSYS, SIGTRAP};
    sigfillset(ret);
    for (size_t i = 0; i < sizeof taken; i++)
        sigdelset(ret, taken[i]);
}

/* Starts workers 1.. of the pool; pool->threads counts those that run: a failure can be undone. */
static enum ipex_status start_workers(struct ipex_pool *pool, const struct ipex_pool_options *set,
                                      uint8_t *stacks, size_t stack,
                                      const struct ipex_report *report) {
    for (int32_t i = 1; i < set->threads; i++) {
        struct ipex_worker *worker = &pool->worker[i];
        *worker = (struct ipex_worker){.pool = pool, .index = i, .spins = pool->spins};
        const int error = start_worker(worker, stacks + (size_t)(i - 1) * stack, stack);
        IPEX_CHECK(error == 0, report, IPEX_ERROR_SYSTEM, "cannot start thread %d of %d: error %d",
                   (int)i, (int)set->threads, error);
        pool->threads = i + 1;
        IPEX_CHECK(set->pin == 0 || pin_worker(worker) == 0, report, IPEX_ERROR_SYSTEM,
                   "cannot bind thread %d to a CPU", (int)i);
    }
    wait_until_ready(pool);
    return IPEX_OK;
}

enum ipex_status ipex_pool_init(struct ipex_pool **ret_pool,
                                const struct ipex_pool_options *options, void *memory,
                                size_t size) {
    struct ipex_pool_options set;
    IPEX_TRY(read_options(options, &set));
    const struct ipex_report report = report_of(options);
    struct ipex_bump bump = {0};
    uint8_t *stacks = NULL;
    const size_t stack = stack_bytes();
    (void)lay_out(&bump, set.threads, stack, NULL);
    IPEX_TRY(ipex_memory_check("a pool", memory, size, bump.used, &report));
    bump = (struct ipex_bump){.base = memory, .size = size};
    struct ipex_pool *pool = lay_out(&bump, set.threads, stack, &stacks);
    pool->spins = measure_spins(set.spin_us);
    pool->process = getpid();
    pool->threads = 1;
    cpu_set_t allowed;
    const int32_t cpus = set.pin == 0 ? allowed_cpus(&allowed) : 0;
    pool->at_work = 0 < cpus && cpus < set.threads ? cpus : set.threads;
    pool->ranges = pool->at_work < RANGES_MAX ? pool->at_work : RANGES_MAX;
    sigset_t mask, before;
    fill_mask(&mask);
    (void)pthread_sigmask(SIG_BLOCK, &mask, &before);
    const enum ipex_status status = start_workers(pool, &set, stacks, stack, &report);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status != IPEX_OK) {
        ipex_pool_finish(pool);
        return status;
    }
    *ret_pool = pool;
    return IPEX_OK;
}

void ipex_pool_finish(struct ipex_pool *pool) {
    if (pool == NULL || !has_workers(pool))
        return;
    atomic_store(&pool->stop, 1);
    wake_all(&pool->wake);
    wake_all(&pool->visits);
    for (int32_t i = 1; i < pool->threads; i++)
        pthread_join(pool->worker[i].thread, NULL);
}

int32_t ipex_pool_threads(const struct ipex_pool *pool) {
    return pool->at_work;
}
