/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise programs on bytes (kernels/pointwise_bytes.h): loops of vectors. */
#include "kernels/x86/vec_avx2.h"

#include "kernels/pointwise_bytes.h"

enum { STEP = 4 * LANES }; /* which become as many bytes at once */

static void widen(const uint8_t *x, float *y, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, vec_load_u8_part(x + i, LANES));
    for (; i < n; i++)
        y[i] = (float)x[i];
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

void ipex_k_pointwise_u8__avx2(const struct ipex_pointwise_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    static const struct ipex_byte_loops loops = {widen, narrow, quantise};
    ipex_pointwise_bytes(&loops, args, job_begin, job_end, scratch);
}
