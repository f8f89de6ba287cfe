/* SPDX-License-Identifier: Apache-2.0 */
/* The most GFLOP/s that one thread reaches: independent chains of FMA that never leave the
 * registers. */
#include <immintrin.h>
#include <time.h>

double peak_avx2(void);
double peak_avx512(void);

/* Time on the CPU: what other processes take does not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { STEPS = 100000, CHAINS = 12 };
static volatile float sink;

#define ALL_CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

__attribute__((target("avx2,fma"))) double peak_avx2(void) {
    const __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
#define START(i) __m256 c##i = _mm256_set1_ps((float)i);
#define STEP(i)  c##i = _mm256_fmadd_ps(c##i, a, b);
#define SUM(i)   total = _mm256_add_ps(total, c##i);
    ALL_CHAINS(START)
    const double start = now();
    for (int i = 0; i < STEPS; i++) {
        ALL_CHAINS(STEP)
    }
    const double seconds = now() - start;
    __m256 total = _mm256_setzero_ps();
    ALL_CHAINS(SUM)
    sink = _mm256_cvtss_f32(total);
    return 2.0 * 8 * CHAINS * STEPS / seconds * 1e-9;
#undef START
#undef STEP
#undef SUM
}

__attribute__((target("avx512f"))) double peak_avx512(void) {
    const __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
#define START(i) __m512 c##i = _mm512_set1_ps((float)i);
#define STEP(i)  c##i = _mm512_fmadd_ps(c##i, a, b);
#define SUM(i)   total = _mm512_add_ps(total, c##i);
    ALL_CHAINS(START)
    const double start = now();
    for (int i = 0; i < STEPS; i++) {
        ALL_CHAINS(STEP)
    }
    const double seconds = now() - start;
    __m512 total = _mm512_setzero_ps();
    ALL_CHAINS(SUM)
    sink = _mm512_cvtss_f32(total);
    return 2.0 * 16 * CHAINS * STEPS / seconds * 1e-9;
#undef START
#undef STEP
#undef SUM
}
