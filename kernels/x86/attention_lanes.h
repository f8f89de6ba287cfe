/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with queries in lanes, for heads of so few channels that products with v would leave
 * half of a panel empty: an element of k or v, broadcast, times two vectors of queries. Neither
 * maxima nor sums have to be folded, for every query has a lane of its own. Chains and sums are
 * those of kernels/ref/matmul_ref.c. Included by kernels/x86/matmul_body.h, where vectors are wider
 * than that half. */
#ifndef IPEX_KERNELS_X86_ATTENTION_LANES_H
#define IPEX_KERNELS_X86_ATTENTION_LANES_H

#include <string.h>

#include "kernels/x86/lanes.h"
#include "kernels/x86/pack.h"
#include "kernels/x86/rows.h"

enum {
    QUERIES = 2 * LANES,
    QUERIES_D_MOST = 32, /* channels of q and k */
    QUERIES_E_MOST = 8,  /* channels of v and y: chains of a block */
    QUERIES_KEYS = 64,   /* whose exponentials stay in L1 until they are multiplied by v */
};

/* QUERIES of one head; k and v packed into panels. */
struct queries {
    const struct ipex_attention_args *args;
    const float *q, *packed_k, *packed_v;
    float *y;
    struct queries_sums *sums;
    float *scores; /* [n rounded up to 16][QUERIES] */
    float *exps;   /* [QUERIES_KEYS][QUERIES], or NULL: in place, where L1 keeps the scores */
};

/* [..][QUERIES] */
struct queries_sums {
    float most[QUERIES];
    float exps[SUM_LANES * QUERIES]; /* in the order of kernels/ref/lanes_ref.h */
    float y[QUERIES_E_MOST * QUERIES];
};

enum { QUERIES_SUMS = sizeof(struct queries_sums) / sizeof(float) };

#define QUERIES_ZERO(r) vec acc##r = vec_set(0.0f), bcc##r = acc##r;
#define QUERIES_STEP(r)                                                                            \
    {                                                                                              \
        const vec of_all = vec_in_register(vec_set(w[r]));                                         \
        acc##r = vec_fma(x0, of_all, acc##r);                                                      \
        bcc##r = vec_fma(x1, of_all, bcc##r);                                                      \
    }
#define QUERIES_SCORE(r)                                                                           \
    acc##r = vec_mul(scale, acc##r), bcc##r = vec_mul(scale, bcc##r);                              \
    vec_store(s + (r)*QUERIES, acc##r);                                                            \
    vec_store(s + (r)*QUERIES + LANES, bcc##r);                                                    \
    if (key + (r) < args->n)                                                                       \
        most0 = vec_max(acc##r, most0), most1 = vec_max(bcc##r, most1);
#define QUERIES_RESUME(r)                                                                          \
    vec acc##r = vec_load(y + (r)*QUERIES), bcc##r = vec_load(y + (r)*QUERIES + LANES);
#define QUERIES_WAIT(r)                                                                            \
    vec_store(y + (r)*QUERIES, acc##r);                                                            \
    vec_store(y + (r)*QUERIES + LANES, bcc##r);

/* All scores, and the largest of each query (NaNs as in attention_scores). */
static inline void queries_scores(const struct queries *queries) {
    const struct ipex_attention_args *args = queries->args;
    const int64_t panel = ipex_round_up_16(args->d) * IPEX_PANEL;
    const vec scale = vec_set(args->scale);
    float q[QUERIES_D_MOST * QUERIES];
    vec most0 = rows_neutral(IPEX_REDUCE_max), most1 = most0;
    pack_columns(queries->q, args->q_row, args->d, QUERIES, q);
    for (int64_t key = 0; key < args->n; key += 8) {
        const float *w = queries->packed_k + key / IPEX_PANEL * panel + key % IPEX_PANEL;
        float *s = queries->scores + key * QUERIES;
        ROWS_8(QUERIES_ZERO)
        for (int64_t i = 0; i < args->d; i++, w += IPEX_PANEL) {
            const vec x0 = vec_load(q + i * IPEX_PANEL), x1 = vec_load(q + panel + i * IPEX_PANEL);
            ROWS_8(QUERIES_STEP)
        }
        ROWS_8(QUERIES_SCORE)
    }
    vec_store(queries->sums->most, most0);
    vec_store(queries->sums->most + LANES, most1);
}

/* Constants that no register keeps from one round of a loop to the next. */
enum { OF_MAGIC, OF_MIN, OF_LOG2E, OF_P3, OF_P2, OF_P1, OF_1 };
static const float queries_constants[] = {
    IPEX_EIGHTHS_MAGIC, IPEX_WEIGHT_MIN, IPEX_EXP_LOG2E, IPEX_EXP2_P3,
    IPEX_EXP2_P2,       IPEX_EXP2_P1,    1.0f,
};

#define EXPS_LOAD(i)  vec x##i = vec_sub(vec_load(s + (i)*LANES), i % 2 ? most1 : most0);
#define EXPS_MOST(i)  x##i = vec_max(c, x##i);
#define EXPS_SHIFT(i) vec n##i = vec_fma(x##i, c, addend);
#define EXPS_REST(i)  x##i = vec_fma(x##i, c, vec_sub(addend, n##i));
#define EXPS_FIRST(i) vec q##i = vec_fma(c, x##i, addend);
#define EXPS_STEP(i)  q##i = vec_fma(q##i, x##i, c);
#define EXPS_STORE(i)                                                                              \
    q##i = vec_mul(q##i, vec_eighths(n##i));                                                       \
    vec_store(e + (i)*LANES, q##i);
#define EXPS_SUM(i)                                                                                \
    if (key + (i) / 2 < end)                                                                       \
        vec_store(sum + (i)*LANES, vec_add(vec_load(sum + (i)*LANES), q##i));
#define EXPS_ALL(X, constant)                                                                      \
    c = vec_set(constants[constant]);                                                              \
    ROWS_8(X)

/* e^(score - most) of keys [key, end): vec_weight of eight vectors side by side. One behind the
 * other their chains are longer than what CPUs reorder (Cascade Lake: 0.86 of the time of all the
 * attention). */
static inline void queries_exps(const struct queries *queries, int64_t key, int64_t end, float *e) {
    struct queries_sums *sums = queries->sums;
    const vec most0 = vec_load(sums->most), most1 = vec_load(sums->most + LANES);
    for (; key < end; key += 4, e += 4 * QUERIES) {
        const float *s = queries->scores + key * QUERIES;
        float *sum = sums->exps + key % SUM_LANES * QUERIES;
        const float *constants = queries_constants;
        __asm__ volatile("" : "+r"(constants));
        vec c, addend = vec_set(constants[OF_MAGIC]);
        ROWS_8(EXPS_LOAD)
        EXPS_ALL(EXPS_MOST, OF_MIN)
        EXPS_ALL(EXPS_SHIFT, OF_LOG2E)
        ROWS_8(EXPS_REST)
        addend = vec_set(constants[OF_P2]);
        EXPS_ALL(EXPS_FIRST, OF_P3)
        EXPS_ALL(EXPS_STEP, OF_P1)
        EXPS_ALL(EXPS_STEP, OF_1)
        ROWS_8(EXPS_STORE)
        ROWS_8(EXPS_SUM)
    }
}

/* What they bring to y. */
static inline void queries_values(const struct queries *queries, int64_t key, int64_t end,
                                  const float *e) {
    float *y = queries->sums->y;
    const float *w = queries->packed_v + key * QUERIES_E_MOST;
    ROWS_8(QUERIES_RESUME)
    for (; key < end; key++, e += QUERIES, w += QUERIES_E_MOST) {
        const vec x0 = vec_load(e), x1 = vec_load(e + LANES);
        ROWS_8(QUERIES_STEP)
    }
    ROWS_8(QUERIES_WAIT)
}

/* Quotients, a row of y for every query. */
static inline void queries_store(const struct queries *queries) {
    const struct ipex_attention_args *args = queries->args;
    float *sums = queries->sums->exps, *y = queries->sums->y;
    float rows[8 * QUERIES_E_MOST];
    for (int64_t half = SUM_LANES / 2 * QUERIES; half >= QUERIES; half /= 2)
        for (int64_t i = 0; i < half; i += LANES)
            vec_store(sums + i, vec_add(vec_load(sums + i), vec_load(sums + half + i)));
    for (int64_t i = 0; i < QUERIES_E_MOST * QUERIES; i += LANES)
        vec_store(y + i, vec_div(vec_load(y + i), vec_load(sums + i % QUERIES)));
    for (int64_t l = 0; l < QUERIES; l += 8) {
        transpose_8x8(y + l, QUERIES, rows, QUERIES_E_MOST);
        for (int64_t r = 0; r < 8; r++)
            memcpy(queries->y + (l + r) * args->y_row, rows + r * QUERIES_E_MOST,
                   (size_t)args->e * sizeof(float));
    }
}

static inline void queries_attend(const struct queries *queries) {
    const int64_t n = queries->args->n;
    memset(queries->sums, 0, sizeof *queries->sums);
    queries_scores(queries);
    for (int64_t key = 0; key < n; key += QUERIES_KEYS) {
        const int64_t end = ipex_smaller(key + QUERIES_KEYS, n);
        float *e = queries->exps ? queries->exps : queries->scores + key * QUERIES;
        queries_exps(queries, key, end, e);
        queries_values(queries, key, end, e);
    }
    queries_store(queries);
}

/* Whether all keys of a head are packed at once, and scores and sums have room. */
static inline bool queries_fit(const struct ipex_attention_args *args,
                               const struct ipex_attention_job *job) {
    const bool all = !args->causal && !args->mask && args->keys_at_once >= args->n;
    return all && args->d <= QUERIES_D_MOST && args->e <= QUERIES_E_MOST &&
           job->row_end - job->row >= QUERIES &&
           args->rows_at_once * ipex_attention_score_row(args) >=
               QUERIES_SUMS + QUERIES * ipex_round_up_16(args->n);
}

/* to [n][QUERIES_E_MOST]: half a panel, so that L1 keeps more of it. */
static inline void pack_values(const float *v, int64_t v_row, int64_t n, int64_t e, float *to) {
    for (int64_t key = 0; key < n; key++, v += v_row, to += QUERIES_E_MOST)
        vec_store_masked(to, vec_first(QUERIES_E_MOST), vec_load_masked(v, vec_first(e)));
}

/* A job with its parts of scratch. The last queries are as many as the others: what some of them
 * were before they are again. */
static inline void queries_job(const struct ipex_attention_args *args,
                               const struct ipex_attention_job *job, float *packed_k,
                               float *packed_v, float *scores) {
    pack_columns((const float *)job->k, args->k_row, args->d, args->n, packed_k);
    pack_values((const float *)job->v, args->v_row, args->n, args->e, packed_v);
    const int64_t values = args->n * QUERIES_E_MOST; /* half of what has room behind packed_v */
    for (int64_t row = job->row; row < job->row_end; row += QUERIES) {
        const int64_t first = ipex_smaller(row, job->row_end - QUERIES);
        const struct queries queries = {
            .args = args,
            .q = (const float *)job->q + first * args->q_row,
            .packed_k = packed_k,
            .packed_v = packed_v,
            .y = job->y + first * args->y_row,
            .sums = (struct queries_sums *)(void *)scores,
            .scores = scores + QUERIES_SUMS,
            .exps = values >= QUERIES_KEYS * QUERIES ? packed_v + values : NULL,
        };
        queries_attend(&queries);
    }
}

#endif
