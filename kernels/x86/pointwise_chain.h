/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of a pointwise program (kernels/chains.h) for either vector width: strips are of eight
 * vectors, so that a step is one instruction a vector, and the way to its code is shared by eight.
 * Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_POINTWISE_CHAIN_H
#define IPEX_KERNELS_X86_POINTWISE_CHAIN_H

#include "kernels/pointwise_rows.h"
#include "kernels/x86/vec_math.h"

enum { STRIP = IPEX_STRIP_VECTORS * LANES };

/* Every step; TWO: of a and b, SINGLE: of a. */
#define CHAIN_STEPS(TWO, SINGLE)                                                                   \
    TWO(copy, b)                                                                                   \
    TWO(add, vec_add(a, b))                                                                        \
    TWO(sub, vec_sub(a, b))                                                                        \
    TWO(mul, vec_mul(a, b))                                                                        \
    TWO(div, vec_div(a, b))                                                                        \
    TWO(min, vec_min_nan(a, b))                                                                    \
    TWO(max, vec_max_nan(a, b))                                                                    \
    TWO(leaky, vec_leaky(a, b))                                                                    \
    SINGLE(neg, vec_neg(a))                                                                        \
    SINGLE(abs, vec_abs(a))                                                                        \
    SINGLE(sqrt, vec_sqrt(a))                                                                      \
    SINGLE(floor, vec_floor(vec_flush(a)))                                                         \
    SINGLE(ceil, vec_ceil(vec_flush(a)))                                                           \
    SINGLE(reciprocal, vec_div(vec_set(1.0f), a))                                                  \
    SINGLE(round, vec_round(vec_flush(a)))                                                         \
    SINGLE(sign, vec_sign(a))

/* Vector k of a strip or part: EACH(DO, what, operand) does DO(k, what, operand) for all of them.
 */
#define CHAIN_DO(k, what, operand)                                                                 \
    {                                                                                              \
        const vec a = v##k, b = operand(k);                                                        \
        (void)a, (void)b;                                                                          \
        v##k = what;                                                                               \
    }
#define CHAIN_READ(k, what, operand) v##k = operand(k);
#define CHAIN_TWO(name, what)                                                                      \
    case IPEX_STEP_##name:                                                                         \
        EACH(CHAIN_DO, what, OF_ROW)                                                               \
        break;                                                                                     \
    case IPEX_STEP_##name + IPEX_LINK_ONE: {                                                       \
        const vec one = vec_set(*p);                                                               \
        EACH(CHAIN_DO, what, OF_ONE)                                                               \
        break;                                                                                     \
    }
#define CHAIN_SINGLE(name, what)                                                                   \
    case IPEX_STEP_##name:                                                                         \
        EACH(CHAIN_DO, what, OF_NONE)                                                              \
        break;
#define OF_ONE(k)  one
#define OF_NONE(k) v##k
/* From element i of a row on. A chain begins with what it reads; there is another way to that,
 * since nearly all read a row or bytes first. */
#define CHAIN_LINKS                                                                                \
    {                                                                                              \
        const uint8_t *bytes = (const uint8_t *)link->p + i;                                       \
        float *p = (float *)link->p + i;                                                           \
        if (link->op == IPEX_LINK_READ) {                                                          \
            EACH(CHAIN_READ, , OF_BYTES)                                                           \
        } else if (link->op == IPEX_STEP_copy) {                                                   \
            EACH(CHAIN_READ, , OF_ROW)                                                             \
        } else {                                                                                   \
            const vec one = vec_set(*(const float *)link->p);                                      \
            EACH(CHAIN_READ, , OF_ONE)                                                             \
        }                                                                                          \
        for (link++;; link++) {                                                                    \
            bytes = (const uint8_t *)link->p + i * link->step;                                     \
            p = (float *)bytes;                                                                    \
            switch (link->op) {                                                                    \
                CHAIN_STEPS(CHAIN_TWO, CHAIN_SINGLE)                                               \
            case IPEX_LINK_READ:                                                                   \
                EACH(CHAIN_READ, , OF_BYTES)                                                       \
                break;                                                                             \
            case IPEX_LINK_STORE_BYTES:                                                            \
                STORE_BYTES                                                                        \
                return;                                                                            \
            default: /* IPEX_LINK_STORE */                                                         \
                STORE                                                                              \
                if (link[1].op == IPEX_LINK_END)                                                   \
                    return;                                                                        \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
    }

#define EACH(DO, what, operand)                                                                    \
    DO(0, what, operand)                                                                           \
    DO(1, what, operand)                                                                           \
    DO(2, what, operand)                                                                           \
    DO(3, what, operand)                                                                           \
    DO(4, what, operand)                                                                           \
    DO(5, what, operand)                                                                           \
    DO(6, what, operand)                                                                           \
    DO(7, what, operand)
#define OF_ROW(k)                  vec_load(p + (k)*LANES)
#define OF_BYTES(k)                vec_load_u8_part(bytes + (k)*LANES, LANES)
#define STORE_VECTOR(k, what, too) vec_store(p + (k)*LANES, v##k);
#define STORE                      EACH(STORE_VECTOR, , )
#define STORE_BYTES                                                                                \
    chain_store_bytes((uint8_t *)p, v0, v1, v2, v3);                                               \
    chain_store_bytes((uint8_t *)p + 4 * LANES, v4, v5, v6, v7);

/* Bytes: from 0 to 255, rounded to nearest, ties to even; a NaN is 0. */
static inline vec chain_byte(vec v) {
    return vec_clip(v, vec_set(0.0f), vec_set(255));
}

static inline void chain_store_bytes(uint8_t *p, vec a, vec b, vec c, vec d) {
    const vec most = vec_set(255);
    vec_store_row(p, vec_int_round(vec_min(most, a)), vec_int_round(vec_min(most, b)),
                  vec_int_round(vec_min(most, c)), vec_int_round(vec_min(most, d)),
                  vec_byte_range(0, 0, 255));
}

static inline __attribute__((always_inline)) void run_strip(const struct ipex_bound_link *link,
                                                            int64_t i) {
    vec v0, v1, v2, v3, v4, v5, v6, v7;
    CHAIN_LINKS
}
#undef EACH
#undef OF_ROW
#undef OF_BYTES
#undef STORE_VECTOR
#undef STORE_BYTES

/* Of the elements of half a strip those that there are. */
struct chain_part {
    int64_t n;
    vec_mask mask[4];
};

static inline struct chain_part chain_part(int64_t n) {
    return (struct chain_part){
        n,
        {vec_first(n), vec_first(n - LANES), vec_first(n - 2 * LANES), vec_first(n - 3 * LANES)}};
}

static inline void chain_store_part(float *p, const struct chain_part *part, int64_t k, vec v) {
    if (part->n >= (k + 1) * LANES)
        vec_store(p + k * LANES, v);
    else if (part->n > k * LANES)
        vec_store_masked(p + k * LANES, part->mask[k], v);
}

static inline void chain_store_bytes_part(uint8_t *p, const struct chain_part *part, int64_t k,
                                          vec v) {
    if (part->n > k * LANES)
        vec_store_bytes_part(p + k * LANES, part->n - k * LANES, chain_byte(v));
}

#define EACH(DO, what, operand)                                                                    \
    DO(0, what, operand)                                                                           \
    DO(1, what, operand)                                                                           \
    DO(2, what, operand)                                                                           \
    DO(3, what, operand)
#define OF_ROW(k)                        vec_load_masked(p + (k)*LANES, part->mask[k])
#define OF_BYTES(k)                      vec_load_u8_part(bytes + (k)*LANES, part->n - (k)*LANES)
#define STORE_VECTOR(k, what, too)       chain_store_part(p, part, k, v##k);
#define STORE_BYTES_VECTOR(k, what, too) chain_store_bytes_part((uint8_t *)p, part, k, v##k);
#define STORE_BYTES                      EACH(STORE_BYTES_VECTOR, , )

/* The same of half a strip or less. */
static inline __attribute__((always_inline)) void
run_part(const struct ipex_bound_link *link, int64_t i, const struct chain_part *part) {
    vec v0, v1, v2, v3;
    CHAIN_LINKS
}

/* Rows of n elements whose chain reads, adds or multiplies once, and stores, which needs no strip;
 * false: it does something else. */
static inline bool run_one_step(struct ipex_bound_link *link, int64_t rows, int64_t n) {
    const bool one = link[1].op >= IPEX_LINK_ONE;
    if (link[0].op != IPEX_STEP_copy || link[2].op != IPEX_LINK_STORE ||
        link[3].op != IPEX_LINK_END)
        return false;
    switch (link[1].op) {
#define ONE_STEP(name, function)                                                                   \
    case IPEX_STEP_##name:                                                                         \
    case IPEX_STEP_##name + IPEX_LINK_ONE:                                                         \
        for (int64_t r = 0; r < rows; r++) {                                                       \
            const float *a = (const float *)(link[0].p + r * link[0].row);                         \
            const float *b = (const float *)(link[1].p + r * link[1].row);                         \
            float *y = (float *)(link[2].p + r * link[2].row);                                     \
            const vec value = vec_set(*b);                                                         \
            int64_t i = 0;                                                                         \
            for (; !one && i + LANES <= n; i += LANES)                                             \
                vec_store(y + i, function(vec_load(a + i), vec_load(b + i)));                      \
            for (; one && i + LANES <= n; i += LANES)                                              \
                vec_store(y + i, function(vec_load(a + i), value));                                \
            const vec_mask rest = vec_first(n - i);                                                \
            if (i < n)                                                                             \
                vec_store_masked(y + i, rest,                                                      \
                                 function(vec_load_masked(a + i, rest),                            \
                                          one ? value : vec_load_masked(b + i, rest)));            \
        }                                                                                          \
        return true;
        ONE_STEP(add, vec_add)
        ONE_STEP(mul, vec_mul)
    default:
        return false;
    }
}

/* Rows of n elements: whole strips, then halves of strips, the last of which may be less. */
static void run_rows(struct ipex_bound_link *links, int64_t rows, int64_t n) {
    if (run_one_step(links, rows, n))
        return;
    const int64_t whole = n - ipex_divide(n, STRIP).rest, rest = n - whole;
    const struct chain_part last = chain_part(rest > STRIP / 2 ? rest - STRIP / 2 : rest);
    const struct chain_part full = chain_part(STRIP / 2);
    for (; rows > 0; rows--) {
        int64_t i = 0;
        for (; i < whole; i += STRIP)
            run_strip(links, i);
        for (; i < n; i += STRIP / 2)
            run_part(links, i, i + STRIP / 2 < n ? &full : &last);
        for (struct ipex_bound_link *link = links; rows > 1 && link->op != IPEX_LINK_END; link++)
            link->p += link->row;
    }
}

#endif
