/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do at most, to set beside what a network reaches: f32 FMA rate from
 * registers with AVX-512 and with AVX2, and streaming read bandwidth from memory.
 *
 * ceilings THREADS        one JSON object: fma512_gflops (0 without AVX-512), fma256_gflops,
 * read_gbs; the best of several rounds */
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { ROUNDS = 5, THREADS_MAX = 64 };
#define FMA_STEPS  10000000L /* of 16 independent chains: hides an FMA latency of 8 at 2 a cycle */
#define READ_BYTES ((size_t)512 << 20) /* well over any last-level cache */

#define CHAINS(X)                                                                                  \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

/* The FMAs are spelled in assembly so that no compiler can merge or drop them. */
#define SET_512(i)  __m512 chain##i = _mm512_set1_ps((float)(i));
#define STEP_512(i) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(chain##i) : "v"(x), "v"(y));

__attribute__((target("avx512f"))) static void fma_512(void) {
    const __m512 x = _mm512_set1_ps(0.5f), y = _mm512_set1_ps(0.25f);
    CHAINS(SET_512)
    for (long step = 0; step < FMA_STEPS; step++) {
        CHAINS(STEP_512)
    }
}

/* 12 chains: with two operands and the loop they fit the 16 registers of AVX2. */
#define CHAINS_256(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define SET_256(i)    __m256 chain##i = _mm256_set1_ps((float)(i));
#define STEP_256(i)   __asm__ volatile("vfmadd231ps %1, %2, %0" : "+x"(chain##i) : "x"(x), "x"(y));

__attribute__((target("avx2,fma"))) static void fma_256(void) {
    const __m256 x = _mm256_set1_ps(0.5f), y = _mm256_set1_ps(0.25f);
    CHAINS_256(SET_256)
    for (long step = 0; step < FMA_STEPS; step++) {
        CHAINS_256(STEP_256)
    }
}

__attribute__((target("avx2"))) static void read_memory(const uint8_t *bytes, size_t size) {
    __m256i sum0 = _mm256_setzero_si256(), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (size_t i = 0; i < size; i += 128) {
        const __m256i *line = (const __m256i *)(const void *)(bytes + i);
        sum0 = _mm256_xor_si256(sum0, _mm256_load_si256(line));
        sum1 = _mm256_xor_si256(sum1, _mm256_load_si256(line + 1));
        sum2 = _mm256_xor_si256(sum2, _mm256_load_si256(line + 2));
        sum3 = _mm256_xor_si256(sum3, _mm256_load_si256(line + 3));
    }
    sum0 = _mm256_xor_si256(_mm256_xor_si256(sum0, sum1), _mm256_xor_si256(sum2, sum3));
    __asm__ volatile("" ::"x"(sum0));
}

enum work { FMA_512, FMA_256, READ };

static struct {
    int threads;
    enum work work;
    uint8_t *bytes;
    pthread_barrier_t barrier;
} job;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void do_work(int thread) {
    const size_t part = READ_BYTES / (size_t)job.threads / 128 * 128;
    switch (job.work) {
    case FMA_512:
        fma_512();
        break;
    case FMA_256:
        fma_256();
        break;
    case READ:
        read_memory(job.bytes + part * (size_t)thread, part);
        break;
    }
}

/* One thread's part of all rounds; thread 0 keeps the shortest time, in seconds. */
static double rounds(int thread) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&job.barrier);
        double begin = now();
        do_work(thread);
        pthread_barrier_wait(&job.barrier);
        double seconds = now() - begin;
        best = seconds < best ? seconds : best;
    }
    return best;
}

static void *worker(void *thread) {
    rounds((int)(intptr_t)thread);
    return NULL;
}

static double measure(enum work work) {
    pthread_t threads[THREADS_MAX];
    job.work = work;
    pthread_barrier_init(&job.barrier, NULL, (unsigned)job.threads);
    for (int i = 1; i < job.threads; i++) {
        if (pthread_create(&threads[i], NULL, worker, (void *)(intptr_t)i) != 0)
            exit(1);
    }
    double seconds = rounds(0);
    for (int i = 1; i < job.threads; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&job.barrier);
    return seconds;
}

int main(int argc, char **argv) {
    job.threads = argc > 1 ? atoi(argv[1]) : 1;
    if (job.threads < 1 || job.threads > THREADS_MAX) {
        fprintf(stderr, "usage: ceilings THREADS (1 to %d)\n", THREADS_MAX);
        return 2;
    }
    job.bytes = mmap(NULL, READ_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (job.bytes == MAP_FAILED) {
        perror("ceilings: memory");
        return 1;
    }
    memset(job.bytes, 1, READ_BYTES);
    const double steps = (double)FMA_STEPS * job.threads;
    double fma512 = __builtin_cpu_supports("avx512f") ? steps * 16 * 32 / measure(FMA_512) : 0;
    double fma256 = steps * 12 * 16 / measure(FMA_256);
    printf(
        "{\"threads\": %d, \"fma512_gflops\": %.1f, \"fma256_gflops\": %.1f, \"read_gbs\": %.2f}\n",
        job.threads, fma512 / 1e9, fma256 / 1e9, (double)READ_BYTES / measure(READ) / 1e9);
    return 0;
}
