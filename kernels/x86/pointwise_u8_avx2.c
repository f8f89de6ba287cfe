/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise programs on bytes (kernels/pointwise_bytes.h): loops of vectors. */
#include "kernels/x86/vec_avx2.h"

#include "kernels/pointwise_bytes.h"

enum { STEP = 4 * LANES }; /* which become as many bytes at once */

static inline void widen_vector(const uint8_t *x, float *y) {
    vec_store(y, vec_load_u8_part(x, LANES));
}

static void widen(const uint8_t *x, float *y, int64_t n) {
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        widen_vector(x + i, y + i);
        widen_vector(x + i + LANES, y + i + LANES);
        widen_vector(x + i + 2 * LANES, y + i + 2 * LANES);
        widen_vector(x + i + 3 * LANES, y + i + 3 * LANES);
    }
    for (; i + LANES <= n; i += LANES) {
        AS_WRITTEN;
        widen_vector(x + i, y + i);
    }
    for (; i < n; i++) {
        AS_WRITTEN;
        y[i] = (float)x[i];
    }
}

/* What bytes are made from: x itself, or divided without the divider, which takes longer. From r =
 * 1 / divisor and a quotient q nearly right, fma(fma(-q, divisor, x), r, q) is the right one if q
 * is off by less than its last place (P. Markstein, IBM Journal of Research and Development 34,
 * 1990), which the first such step makes sure of. What is too small for that is 0 all the same, and
 * what is too large is cut before. A NaN of a NaN, and of what is too far below zero. */
struct makes {
    bool divides;
    vec by, r, most;
};

static inline vec_int whole(const float *x, const struct makes *makes) {
    const vec v = vec_min(makes->most, vec_load(x));
    if (!makes->divides)
        return vec_int_round(v);
    vec q = vec_mul(v, makes->r);
    q = vec_fma(vec_fnma(q, makes->by, v), makes->r, q);
    q = vec_fma(vec_fnma(q, makes->by, v), makes->r, q);
    return vec_int_round(q);
}

static inline void make_step(const float *x, uint8_t *y, const struct makes *makes,
                             struct vec_byte_range range) {
    vec_store_row(y, whole(x, makes), whole(x + LANES, makes), whole(x + 2 * LANES, makes),
                  whole(x + 3 * LANES, makes), range);
}

static inline __attribute__((always_inline)) void
make_bytes(const float *x, uint8_t *y, int64_t n, const struct makes *makes, float zero) {
    const struct vec_byte_range range = vec_byte_range((int16_t)zero, 0, 255);
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP)
        make_step(x + i, y + i, makes, range);
    if (i == n)
        return;
    float x_last[STEP] = {0};
    uint8_t y_last[STEP];
    memcpy(x_last, x + i, (size_t)(n - i) * sizeof(float));
    make_step(x_last, y_last, makes, range);
    memcpy(y + i, y_last, (size_t)(n - i));
}

static void narrow(const float *x, uint8_t *y, int64_t n) {
    const struct makes makes = {.most = vec_set(255)};
    make_bytes(x, y, n, &makes, 0);
}

static void quantise(const float *x, uint8_t *y, int64_t n, struct ipex_quantisation to) {
    const struct makes makes = {
        .divides = true,
        .by = vec_set(to.divisor),
        .r = vec_set(1.0f / to.divisor),
        .most = vec_set(to.divisor * 0x1p20f),
    };
    make_bytes(x, y, n, &makes, to.zero);
}

/* A shuffle looks up in 16 bytes, and gives 0 for indices below 0. Of what shuffles by x, x - 16,
 * x - 32... give, all that are not below 0 are exclusive-ored, so the table is of differences; from
 * 128 on indices count as below 0 at first: they come down to the second half of it. */
enum { SHUFFLED = 16, SHUFFLES = 16 };

static void differences(const uint8_t *table, __m128i *ret) {
    for (int32_t i = 0; i < SHUFFLES; i++) {
        const __m128i own = _mm_loadu_si128((const __m128i *)(const void *)(table + i * SHUFFLED));
        const __m128i before = _mm_loadu_si128(
            (const __m128i *)(const void *)(table + (i > 0 ? i - 1 : 0) * SHUFFLED));
        ret[i] = i == 0 || i == SHUFFLES / 2 ? own : _mm_xor_si128(own, before);
    }
}

static inline __m256i shuffled(__m256i sum, __m128i table, __m256i by) {
    return _mm256_xor_si256(sum, _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), by));
}

#define SHUFFLE(i)                                                                                 \
    a = shuffled(a, tables[i], low), b = shuffled(b, tables[(i) + SHUFFLES / 2], high);            \
    low = _mm256_sub_epi8(low, down), high = _mm256_sub_epi8(high, down);
static inline void look_up_step(const __m128i *tables, const uint8_t *x, uint8_t *y) {
    const __m256i down = _mm256_set1_epi8(SHUFFLED);
    const __m256i from = _mm256_loadu_si256((const __m256i *)(const void *)x);
    __m256i low = from, high = _mm256_xor_si256(from, _mm256_set1_epi8(-128));
    __m256i a = _mm256_setzero_si256(), b = a;
    for (int32_t i = 0; i < SHUFFLES / 2; i += 2) {
        AS_WRITTEN;
        SHUFFLE(i)
        SHUFFLE(i + 1)
    }
    _mm256_storeu_si256((__m256i *)(void *)y, _mm256_blendv_epi8(a, b, from));
}

static void look_up(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
    __m128i tables[SHUFFLES];
    differences(table, tables);
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP)
        look_up_step(tables, x + i, y + i);
    for (; i < n; i++)
        y[i] = table[x[i]];
}

struct ipex_byte_loops ipex_byte_loops__avx2(void) {
    return (struct ipex_byte_loops){widen, narrow, look_up, quantise};
}

void ipex_k_pointwise_u8__avx2(const struct ipex_pointwise_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    const struct ipex_byte_loops loops = ipex_byte_loops__avx2();
    ipex_pointwise_bytes(&loops, args, job_begin, job_end, scratch);
}
