/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded buffers, random numbers, comparison, job splitting, TAP. */
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xmmintrin.h>

#define POISON UINT32_C(0x7fc0dead)
#define CANARY UINT32_C(0x4b1d4b1d)

/* Round to nearest, flush to zero, denormals are zero, all exceptions masked. */
#define MXCSR_KERNELS 0x9fc0u

static bool from_heap;

void buffers_from_heap(void) {
    from_heap = true;
}

static struct buffer heap_buffer(size_t bytes) {
    struct buffer ret = {.bytes = bytes};
    void *data;
    if (posix_memalign(&data, 64, bytes) != 0) {
        fprintf(stderr, "checkkern: no memory\n");
        exit(2);
    }
    ret.map = ret.data = data;
    return ret;
}

struct buffer buffer_make(size_t bytes) {
    static unsigned count;
    if (from_heap)
        return heap_buffer(bytes);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t inside = (bytes + page - 1) / page * page;
    struct buffer ret = {.map_bytes = inside + 2 * page, .bytes = bytes};
    ret.map = mmap(NULL, ret.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ret.map == MAP_FAILED ||
        (inside && mprotect(ret.map + page, inside, PROT_READ | PROT_WRITE) != 0)) {
        perror("checkkern: mmap");
        exit(2);
    }
    ret.data = ret.map + page + (++count % 4 ? inside - bytes : 0);
    return ret;
}

void buffer_free(struct buffer *buffer) {
    if (buffer->map_bytes)
        munmap(buffer->map, buffer->map_bytes);
    else
        free(buffer->map);
}

struct buffer buffer_copy(const struct buffer *from) {
    struct buffer ret = buffer_make(from->bytes);
    memcpy(ret.data, from->data, from->bytes);
    return ret;
}

static void fill_pattern(struct buffer *buffer, uint32_t pattern) {
    char *bytes = buffer->data;
    for (size_t i = 0; i < buffer->bytes; i++)
        bytes[i] = (char)(pattern >> i % 4 * 8);
}

void fill_poison(struct buffer *buffer) {
    fill_pattern(buffer, POISON);
}

void fill_canary(struct buffer *buffer) {
    fill_pattern(buffer, CANARY);
}

/* splitmix64. */
uint64_t rng_next(struct rng *rng) {
    uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t rng_range(struct rng *rng, int64_t low, int64_t high) {
    return low + (int64_t)(rng_next(rng) % (uint64_t)(high - low + 1));
}

bool rng_one_in(struct rng *rng, int64_t n) {
    return rng_range(rng, 1, n) == 1;
}

float rng_float(struct rng *rng) {
    return (float)((double)(rng_next(rng) >> 40) * 0x1p-23 - 1.0);
}

float rng_value(struct rng *rng, bool special) {
    static const float specials[] = {0.0f,   -0.0f,   INFINITY, -INFINITY, NAN,   1e-40f,   -3e-39f,
                                     1e-38f, 3e38f,   -3e38f,   1e-30f,    88.5f, -87.33f,  -88.0f,
                                     0.5f,   -0.625f, 1.0f,     2.5f,      -1.5f, 0x1p-126f};
    const size_t n = sizeof specials / sizeof specials[0];
    if (special && rng_one_in(rng, 12))
        return specials[rng_next(rng) % n];
    return rng_float(rng) * (special ? 8.0f : 1.0f);
}

double f16_value(uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double magnitude = exponent == 0    ? mantissa * 0x1p-24
                             : exponent == 31 ? (double)INFINITY
                                              : ldexp(1024 + mantissa, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

struct buffer cut_to_bf16(struct buffer *floats) {
    const size_t count = floats->bytes / 4;
    struct buffer ret = buffer_make(count * 2);
    uint32_t *bits = floats->data;
    uint16_t *to = ret.data;
    for (size_t i = 0; i < count; i++) {
        to[i] = (uint16_t)(bits[i] >> 16);
        bits[i] &= UINT32_C(0xffff0000);
    }
    return ret;
}

struct buffer cut_tiles_to_bf16(struct buffer *tiles, int64_t panels, int64_t k_count) {
    const int64_t k_tiles = (k_count + 15) / 16, pairs = (k_count + 31) / 32;
    struct buffer plain = cut_to_bf16(tiles);
    struct buffer ret = buffer_make((size_t)(panels * pairs * 1024));
    const uint16_t *from = plain.data;
    uint16_t *to = ret.data;
    memset(to, 0, ret.bytes);
    for (int64_t p = 0; p < panels; p++)
        for (int64_t k = 0; k < k_count; k++)
            for (int64_t n = 0; n < 16; n++)
                to[p * pairs * 512 + (k / 2 * 16 + n) * 2 + k % 2] =
                    from[(p * k_tiles * 16 + k) * 16 + n];
    buffer_free(&plain);
    return ret;
}

int64_t first_difference(const struct buffer *a, const struct buffer *b) {
    const char *pa = a->data, *pb = b->data;
    for (size_t i = 0; i < a->bytes / 4; i++) {
        float fa, fb;
        memcpy(&fa, pa + 4 * i, 4);
        memcpy(&fb, pb + 4 * i, 4);
        if (memcmp(&fa, &fb, 4) != 0 && !(isnan(fa) && isnan(fb)))
            return (int64_t)i;
    }
    return -1;
}

static bool bf16_is_nan(uint16_t bits) {
    return (bits & 0x7fff) > 0x7f80;
}

int64_t first_difference_bf16(const struct buffer *a, const struct buffer *b) {
    const uint16_t *pa = a->data, *pb = b->data;
    for (size_t i = 0; i < a->bytes / 2; i++)
        if (pa[i] != pb[i] && !(bf16_is_nan(pa[i]) && bf16_is_nan(pb[i])))
            return (int64_t)i;
    return -1;
}

int report_difference(const char *name, const char *level, const struct buffer *want,
                      const struct buffer *got) {
    const int64_t at = first_difference(want, got);
    if (at < 0)
        return 0;
    return !report(false, name, "%s: element %lld: %a, want %a", level, (long long)at,
                   (double)((float *)got->data)[at], (double)((float *)want->data)[at]);
}

int64_t first_byte_difference(const struct buffer *a, const struct buffer *b) {
    const char *pa = a->data, *pb = b->data;
    for (size_t i = 0; i < a->bytes; i++)
        if (pa[i] != pb[i])
            return (int64_t)i;
    return -1;
}

static int passes, failures;

bool report(bool passed, const char *name, const char *reason, ...) {
    printf("%s - %s\n", passed ? "ok" : "not ok", name);
    passes += passed;
    if (!passed) {
        failures++;
        va_list list;
        va_start(list, reason);
        printf("# ");
        vprintf(reason, list);
        printf("\n");
        va_end(list);
    }
    fflush(stdout);
    return passed;
}

int report_passes(void) {
    return passes;
}

int report_failures(void) {
    return failures;
}

bool wanted(const struct context *context, const char *slot) {
    return !context->slot || strcmp(context->slot, slot) == 0;
}

static const char *running_slot = "nothing", *running_level = "no";

void running(const char *slot, const char *level) {
    running_slot = slot;
    running_level = level;
}

static void say(const char *text) {
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(2);
}

static void on_fault(int number) {
    (void)number;
    say("not ok - ");
    say(running_slot);
    say(" at level ");
    say(running_level);
    say(" touched memory that is not its own\n");
    _exit(1);
}

void kernels_begin(void) {
    struct sigaction action = {.sa_handler = on_fault};
    _mm_setcsr(MXCSR_KERNELS);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

void run_jobs(struct rng *rng, ipex_kernel_fn fn, const void *args, int64_t jobs, size_t scratch) {
    struct buffer block = buffer_make(scratch);
    fill_poison(&block);
    int64_t cut[4] = {0, rng_range(rng, 0, jobs), rng_range(rng, 0, jobs), jobs};
    if (cut[1] > cut[2]) {
        const int64_t swap = cut[1];
        cut[1] = cut[2];
        cut[2] = swap;
    }
    for (int64_t i = 0, first = rng_range(rng, 0, 2); i < 3; i++) {
        const int64_t part = (first + i) % 3;
        if (cut[part] < cut[part + 1])
            fn(args, cut[part], cut[part + 1], block.data);
    }
    buffer_free(&block);
}

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

double exact_act(double x, int32_t act, double a, double b) {
    switch (act) {
    case IPEX_ACT_relu:
        return x < 0 ? 0 : x;
    case IPEX_ACT_clip:
        return clamp(x, a, b);
    case IPEX_ACT_leaky_relu:
        return x > 0 ? x : a * x;
    case IPEX_ACT_hard_sigmoid:
        return clamp(a * x + b, 0, 1);
    case IPEX_ACT_hard_swish:
        return x * clamp(x / 6 + 0.5, 0, 1);
    case IPEX_ACT_sigmoid:
        return 1 / (1 + exp(-x));
    case IPEX_ACT_silu:
        return x / (1 + exp(-x));
    case IPEX_ACT_tanh:
        return tanh(x);
    case IPEX_ACT_gelu:
        return isinf(x) ? fmax(x, 0) : 0.5 * x * erfc(-x * sqrt(0.5)); /* at -inf the limit */
    case IPEX_ACT_gelu_tanh:
        return x / (1 + exp(-2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case IPEX_ACT_mish:
        return x * tanh(log1p(exp(x)));
    case IPEX_ACT_elu:
        return x > 0 ? x : a * expm1(x);
    case IPEX_ACT_softplus:
        return fmax(x, 0) + log1p(exp(-fabs(x)));
    case IPEX_ACT_hard_swish_affine:
        return a * x * clamp(x / 6 + 0.5, 0, 1) + b;
    default:
        return x;
    }
}

bool takes_row(const struct ipex_padding *padding, int64_t lines, int64_t line, int64_t rows,
               int64_t row) {
    const int64_t seen = (lines - 1) * padding->stride + (rows - 1) * padding->dilation + 1;
    bool any = false, ret = false;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = line * padding->stride + i * padding->dilation;
        const bool inside = padding->above <= at && at < seen - padding->below;
        any = any || inside;
        ret = ret || (inside && i == row);
    }
    return ret || !any;
}

double act_slope(int32_t act, double a) {
    switch (act) {
    case IPEX_ACT_leaky_relu:
    case IPEX_ACT_elu:
        return fmax(1, fabs(a));
    case IPEX_ACT_hard_sigmoid:
        return fabs(a);
    case IPEX_ACT_hard_swish:
        return 1.5;
    case IPEX_ACT_hard_swish_affine:
        return fmax(1, 1.5 * fabs(a));
    case IPEX_ACT_silu:
    case IPEX_ACT_mish:
    case IPEX_ACT_gelu:
    case IPEX_ACT_gelu_tanh:
        return 1.2;
    default:
        return 1;
    }
}
