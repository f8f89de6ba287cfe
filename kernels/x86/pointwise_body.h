/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise programs for either vector width: what kernels/pointwise_rows.h asks of a level.
 * Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_POINTWISE_BODY_H
#define IPEX_KERNELS_X86_POINTWISE_BODY_H

#include "kernels/x86/pointwise_chain.h"
#include "kernels/x86/vec_math.h"

/* The activation that a step is; none: it is no such step. */
static inline int32_t pointwise_act(int16_t op) {
    switch (op) {
#define ACT_OF(name)                                                                               \
    case IPEX_STEP_##name:                                                                         \
        return IPEX_ACT_##name;
        ACT_OF(sigmoid)
        ACT_OF(tanh)
        ACT_OF(softplus)
        ACT_OF(gelu)
        ACT_OF(gelu_tanh)
        ACT_OF(mish)
#undef ACT_OF
    default:
        return IPEX_ACT_none;
    }
}

/* What a step that is no link of a chain makes of n elements of x, or more to whole vectors; b: of
 * the other operand, or one value. y may be x. */
static void pointwise_step(int16_t op, const float *x, const float *b, bool is_one, float *y,
                           int64_t n) {
    const int32_t act = pointwise_act(op);
    if (act != IPEX_ACT_none) { /* whose code is in one place of a level (activate_body.h) */
        for (int64_t i = 0; i < n && x != y; i += LANES)
            vec_store(y + i, vec_load(x + i));
        const struct ipex_act_rows rows = ipex_act_rows(y, 1, n, n, act, 0, 0);
        IPEX_LEVEL(activate)(&rows);
        return;
    }
    switch (op) {
#define POINTWISE_LOOP(name, expression)                                                           \
    case IPEX_STEP_##name:                                                                         \
        for (int64_t i = 0; i < n; i += LANES) {                                                   \
            const vec v = vec_load(x + i);                                                         \
            vec_store(y + i, expression);                                                          \
        }                                                                                          \
        break;
#define POINTWISE_B is_one ? vec_set(*b) : vec_load(b + i)
        POINTWISE_LOOP(exp, vec_exp(v))
        POINTWISE_LOOP(log, vec_log(v))
        POINTWISE_LOOP(sin, vec_sin(v))
        POINTWISE_LOOP(cos, vec_cos(v))
        POINTWISE_LOOP(erf, vec_erf(v))
        POINTWISE_LOOP(pow, vec_pow(v, POINTWISE_B))
        POINTWISE_LOOP(elu, vec_elu(v, POINTWISE_B))
        POINTWISE_LOOP(expm1, vec_expm1(v))
        POINTWISE_LOOP(log1p, vec_log1p(v))
        POINTWISE_LOOP(atan, vec_atan(v))
    default:
        break; /* a link */
    }
}

/* Rows of `from` as f32, one behind the other. */
static void pointwise_pack(struct ipex_pointwise_operand from, float *to,
                           struct ipex_pointwise_tile tile) {
    const float *end = to + tile.rows * tile.n;
    for (; to < end; from = ipex_pointwise_on(from, from.row), to += tile.n) {
        const float *floats = from.p;
        const uint8_t *bytes = from.p;
        int64_t i = 0;
        for (; i + LANES <= tile.n && from.step == 1 && !from.bytes; i += LANES)
            vec_store(to + i, vec_load(floats + i));
        for (; i < tile.n; i += LANES) {
            const vec v = from.step == 0 ? vec_set(from.bytes ? (float)*bytes : *floats)
                          : from.bytes   ? vec_load_u8_part(bytes + i, tile.n - i)
                                         : vec_load_part(floats + i, tile.n - i);
            vec_store_part(to + i, end - to - i, v);
        }
    }
}

/* The reverse. */
static void pointwise_unpack(const float *from, struct ipex_pointwise_operand y,
                             struct ipex_pointwise_tile tile) {
    for (int64_t r = 0; r < tile.rows; r++, from += tile.n, y = ipex_pointwise_on(y, y.row)) {
        int64_t i = 0;
        for (; i + LANES <= tile.n && !y.bytes; i += LANES)
            vec_store((float *)y.p + i, vec_load(from + i));
        for (; i < tile.n; i += LANES) {
            const vec v = vec_load_part(from + i, tile.n - i);
            if (y.bytes)
                vec_store_bytes_part((uint8_t *)y.p + i, tile.n - i, chain_byte(v));
            else
                vec_store_masked((float *)y.p + i, vec_first(tile.n - i), v);
        }
    }
}

void IPEX_LEVEL(pointwise_f32)(const struct ipex_pointwise_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    const struct ipex_pointwise_level level = {LANES, run_rows, pointwise_step, pointwise_pack,
                                               pointwise_unpack};
    ipex_pointwise_rows(&level, args, job_begin, job_end, scratch);
}

#endif
