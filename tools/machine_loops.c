/* SPDX-License-Identifier: Apache-2.0 */
/* Every instruction that counts is spelled in assembly, so that no compiler can merge or drop it.
 */
#include "tools/machine_loops.h"

#include <immintrin.h>
#include <stdint.h>
#include <time.h>

/* With 2 a cycle and a latency of at most 8, 16 chains keep both units busy. AVX2 has 16 registers,
 * of which the factors take two: 12 chains do for its latency of 4 or 5. */
#define CHAINS_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CHAINS_16(X) CHAINS_12(X) X(12) X(13) X(14) X(15)

#define START_YMM(i) __m256 chain##i = _mm256_set1_ps((float)(i));
#define START_ZMM(i) __m512 chain##i = _mm512_set1_ps((float)(i));
#define FMA_YMM(i)   __asm__ volatile("vfmadd231ps %1, %2, %0" : "+x"(chain##i) : "x"(x), "x"(y));
#define FMA_ZMM(i)   __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(chain##i) : "v"(x), "v"(y));
#define DOT_ZMM(i)   __asm__ volatile("vdpbf16ps %1, %2, %0" : "+v"(chain##i) : "v"(x), "v"(y));

__attribute__((target("avx2,fma"))) static void fma_avx2(long times) {
    const __m256 x = _mm256_set1_ps(0.5f), y = _mm256_set1_ps(0.25f);
    CHAINS_12(START_YMM)
    for (long i = 0; i < times; i++) {
        CHAINS_12(FMA_YMM)
    }
}

__attribute__((target("avx512f"))) static void fma_avx512(long times) {
    const __m512 x = _mm512_set1_ps(0.5f), y = _mm512_set1_ps(0.25f);
    CHAINS_16(START_ZMM)
    for (long i = 0; i < times; i++) {
        CHAINS_16(FMA_ZMM)
    }
}

/* Of bytes without and with a sign; with AVX2 alone pairs of 16 bits, which are added as well. */
#define BYTES_YMM(i)                                                                               \
    __asm__ volatile("%{vex%} vpdpbusd %1, %2, %0" : "+x"(chain##i) : "x"(x), "x"(y));
#define BYTES_ZMM(i) __asm__ volatile("vpdpbusd %1, %2, %0" : "+v"(chain##i) : "v"(x), "v"(y));
#define PAIRS_YMM(i)                                                                               \
    __asm__ volatile("vpmaddwd %2, %3, %1\n\tvpaddd %1, %0, %0"                                    \
                     : "+x"(chain##i), "=&x"(product)                                              \
                     : "x"(x), "x"(y));

__attribute__((target("avx2"))) static void bytes_avx2(long times) {
    const __m256 x = _mm256_setzero_ps(), y = x;
    __m256 product;
    CHAINS_12(START_YMM)
    for (long i = 0; i < times; i++) {
        CHAINS_12(PAIRS_YMM)
    }
}

__attribute__((target("avx2"))) static void bytes_avx_vnni(long times) {
    const __m256 x = _mm256_setzero_ps(), y = x;
    CHAINS_12(START_YMM)
    for (long i = 0; i < times; i++) {
        CHAINS_12(BYTES_YMM)
    }
}

__attribute__((target("avx512f"))) static void bytes_avx512_vnni(long times) {
    const __m512 x = _mm512_setzero_ps(), y = x;
    CHAINS_16(START_ZMM)
    for (long i = 0; i < times; i++) {
        CHAINS_16(BYTES_ZMM)
    }
}

__attribute__((target("avx512f,avx512bf16"))) static void dot_avx512_bf16(long times) {
    const __m512 x = _mm512_set1_ps(0.5f), y = _mm512_set1_ps(0.25f);
    CHAINS_16(START_ZMM)
    for (long i = 0; i < times; i++) {
        CHAINS_16(DOT_ZMM)
    }
}

/* Four tiles of sums over two tiles of either factor; a tile is 16 rows of 64 bytes. */
#define TILES(X)                  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define TILE_ZERO(i)              __asm__ volatile("tilezero %tmm" #i);
#define TILE_DOT(name, sum, x, y) __asm__ volatile(name " %tmm" #y ", %tmm" #x ", %tmm" #sum);
#define TILE_LOOP(fn, name, needs)                                                                 \
    __attribute__((target("amx-tile," needs))) static void fn(long times) {                        \
        __asm__ volatile("ldtilecfg %0" ::"m"(eight_tiles));                                       \
        TILES(TILE_ZERO)                                                                           \
        for (long i = 0; i < times; i++) {                                                         \
            TILE_DOT(name, 0, 4, 6)                                                                \
            TILE_DOT(name, 1, 4, 7) TILE_DOT(name, 2, 5, 6) TILE_DOT(name, 3, 5, 7)                \
        }                                                                                          \
        __asm__ volatile("tilerelease");                                                           \
    }

static const struct {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} eight_tiles = {.palette = 1,
                 .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                 .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

TILE_LOOP(dot_amx, "tdpbf16ps", "amx-bf16")
TILE_LOOP(bytes_amx, "tdpbusd", "amx-int8")

const struct ipex_multiply_loop ipex_multiply_loops[IPEX_MULTIPLY_LOOPS] = {
    {IPEX_ISA_avx2, IPEX_DTYPE_f32, fma_avx2, 12 * 8 * 2},
    {IPEX_ISA_avx512, IPEX_DTYPE_f32, fma_avx512, 16 * 16 * 2},
    {IPEX_ISA_avx512_bf16, IPEX_DTYPE_bf16, dot_avx512_bf16, 16 * 32 * 2},
    {IPEX_ISA_amx, IPEX_DTYPE_bf16, dot_amx, 4 * 16 * 16 * 32 * 2},
    {IPEX_ISA_avx2, IPEX_DTYPE_u8, bytes_avx2, 12 * 16 * 2},
    {IPEX_ISA_avx_vnni, IPEX_DTYPE_u8, bytes_avx_vnni, 12 * 32 * 2},
    {IPEX_ISA_avx512_vnni, IPEX_DTYPE_u8, bytes_avx512_vnni, 16 * 64 * 2},
    {IPEX_ISA_amx, IPEX_DTYPE_u8, bytes_amx, 4 * 16 * 16 * 64 * 2},
};

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double ipex_multiply_gflops(enum ipex_isa isa, enum ipex_dtype dtype) {
    enum { ROUNDS = 5, TIMES = 100000 };
    const struct ipex_multiply_loop *loop = NULL;
    double best = 1e30;
    for (int i = 0; i < IPEX_MULTIPLY_LOOPS; i++)
        if (ipex_multiply_loops[i].dtype == dtype && ipex_multiply_loops[i].isa <= isa)
            loop = &ipex_multiply_loops[i];
    for (int i = 0; i < ROUNDS && loop; i++) {
        const double start = cpu_seconds();
        loop->fn(TIMES);
        const double seconds = cpu_seconds() - start;
        best = seconds < best ? seconds : best;
    }
    return loop ? loop->flops * TIMES / best * 1e-9 : 0;
}

#define LOADS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define LOAD_YMM(i)                                                                                \
    __asm__ volatile("vmovaps %0, %%ymm" #i ::"m"(*(const __m256i *)(at + 32 * (i))) : "xmm" #i);
#define LOAD_ZMM(i)                                                                                \
    __asm__ volatile("vmovaps %0, %%zmm" #i ::"m"(*(const __m512i *)(at + 64 * (i))) : "xmm" #i);

__attribute__((target("avx2"))) static void read_avx2(const void *block, size_t size, long times) {
    const uint8_t *const end = (const uint8_t *)block + size;
    for (long i = 0; i < times; i++)
        for (const uint8_t *at = block; at < end; at += 256) {
            LOADS(LOAD_YMM)
        }
}

__attribute__((target("avx512f"))) static void read_avx512(const void *block, size_t size,
                                                           long times) {
    const uint8_t *const end = (const uint8_t *)block + size;
    for (long i = 0; i < times; i++)
        for (const uint8_t *at = block; at < end; at += 512) {
            LOADS(LOAD_ZMM)
        }
}

ipex_read_fn ipex_read_loop(enum ipex_isa isa) {
    switch (isa) {
    case IPEX_ISA_avx2:
        return read_avx2;
    case IPEX_ISA_avx512:
        return read_avx512;
    default:
        return NULL;
    }
}
