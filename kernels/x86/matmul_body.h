/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two activations, and attention, for either vector width, of f32 or, where the
 * includer defines PRODUCT_BF16, of bf16: the right operand is packed (kernels/x86/pack.h), and
 * then it is a linear layer. Include a vec_*.h first; then say by MATMUL_KERNELS which kernels
 * there are. */
#ifndef IPEX_KERNELS_X86_MATMUL_BODY_H
#define IPEX_KERNELS_X86_MATMUL_BODY_H

#include "kernels/x86/lanes.h"
#include "kernels/x86/rows.h"

#ifdef PRODUCT_BF16
typedef uint16_t element;
#include "kernels/x86/pack_bf16.h"
#else
typedef float element;
#include "kernels/x86/pack.h"
#endif
#include "kernels/x86/product.h"
/* AVX2 has no wider vectors than half a panel. */
#if !defined(PRODUCT_BF16) && VEC_REGISTERS == 32
#define ATTENTION_LANES
#include "kernels/x86/attention_lanes.h"
#endif

static inline void scale_rows(const struct ipex_matmul_args *args, float *y, int64_t rows,
                              int64_t n) {
    const vec scale = vec_set(args->scale);
    for (int64_t r = 0; r < rows; r++, y += args->y_row)
        for (int64_t c = 0; c < n; c += LANES)
            vec_store_part(y + c, n - c, vec_mul(scale, vec_load_part(y + c, n - c)));
}

#ifndef PRODUCT_BF16
/* y = x [rows][k] times b [k][n], which is read as it lies. */
struct direct_product {
    const float *x, *b;
    float *y;
    int64_t x_row, b_row, y_row, rows, k, n;
    int32_t cache_l2;
};

enum { FEW_STEP = 4, DIRECT_ROWS = 8 };
/* See direct_is_few and matmul_is_direct. */
#if VEC_REGISTERS == 32
enum { FEW_ROWS = 3, DIRECT_LEAST_ROWS = 16, DIRECT_MOST_ROWS = 1024, DIRECT_L2_PART = 1 };
#else
enum { FEW_ROWS = 4, DIRECT_LEAST_ROWS = 8, DIRECT_MOST_ROWS = 32, DIRECT_L2_PART = 4 };
#endif

/* y[c] = fma(x[0], b[0][c], y[c]), then of x[1] and so on up to x[steps - 1]. */
static inline void direct_steps(const float *x, const float *b, int64_t b_row, float *y, int64_t n,
                                int64_t steps) {
    for (int64_t c = 0; c < n; c += LANES) {
        vec chain = vec_load_part(y + c, n - c);
        for (int64_t k = 0; k < steps; k++)
            chain = vec_fma(vec_set(x[k]), vec_load_part(b + k * b_row + c, n - c), chain);
        vec_store_part(y + c, n - c, chain);
    }
}

/* Few rows: those of b four at a time, while the chains wait in y. */
static inline void direct_few(const struct direct_product *p) {
    const float *b = p->b;
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t c = 0; c < p->n; c += LANES)
            vec_store_part(p->y + r * p->y_row + c, p->n - c, vec_set(0.0f));
    int64_t k = 0;
    for (; k + FEW_STEP <= p->k; k += FEW_STEP, b += FEW_STEP * p->b_row)
        for (int64_t r = 0; r < p->rows; r++)
            direct_steps(p->x + r * p->x_row + k, b, p->b_row, p->y + r * p->y_row, p->n, FEW_STEP);
    for (int64_t r = 0; k < p->k && r < p->rows; r++)
        direct_steps(p->x + r * p->x_row + k, b, p->b_row, p->y + r * p->y_row, p->n, p->k - k);
}

/* 8 rows, four from x0 and y0 on, the others from x1 and y1 on, and up to two vectors of columns.
 */
#define DIRECT_X(r)      vec_set(*AT(x0, x1, x_row, r))
#define DIRECT_ZERO_1(r) vec acc##r = vec_set(0.0f);
#define DIRECT_ZERO_2(r) vec acc##r = vec_set(0.0f), next##r = acc##r;
#define DIRECT_STEP_1(r) acc##r = vec_fma(DIRECT_X(r), b0, acc##r);
#define DIRECT_STEP_2(r)                                                                           \
    {                                                                                              \
        const vec x = DIRECT_X(r);                                                                 \
        acc##r = vec_fma(x, b0, acc##r);                                                           \
        next##r = vec_fma(x, b1, next##r);                                                         \
    }
#define DIRECT_STORE_1(r) vec_store_masked(AT(y0, y1, y_row, r), mask, acc##r);
#define DIRECT_STORE_2(r)                                                                          \
    vec_store(AT(y0, y1, y_row, r), acc##r);                                                       \
    vec_store_masked(AT(y0, y1, y_row, r) + LANES, mask, next##r);

static __attribute__((noinline)) void direct_block(const struct direct_product *p, const float *x0,
                                                   const float *x1, const float *b, float *y0,
                                                   float *y1, int64_t n) {
    enum { HALF = DIRECT_ROWS / 2 };
    const int64_t x_row = p->x_row, b_row = p->b_row, y_row = p->y_row;
#if VEC_REGISTERS == 32
    if (n > LANES) {
        const vec_mask mask = vec_first(n - LANES);
        ROWS_8(DIRECT_ZERO_2)
        for (int64_t k = p->k; k > 0; k--, x0++, x1++, b += b_row) {
            const vec b0 = vec_load(b), b1 = vec_load_masked(b + LANES, mask);
            ROWS_8(DIRECT_STEP_2)
        }
        ROWS_8(DIRECT_STORE_2)
        return;
    }
#endif
    const vec_mask mask = vec_first(n);
    ROWS_8(DIRECT_ZERO_1)
    for (int64_t k = p->k; k > 0; k--, x0++, x1++, b += b_row) {
        const vec b0 = vec_load_masked(b, mask);
        ROWS_8(DIRECT_STEP_1)
    }
    ROWS_8(DIRECT_STORE_1)
}

/* Four rows are the least of a block, which computes them twice and, where L2 does not hold b,
 * reads every line of it apart. */
static inline bool direct_is_few(const struct direct_product *p) {
    return p->rows <= FEW_ROWS ||
           (p->rows <= DIRECT_ROWS / 2 && p->k * p->b_row * (int64_t)sizeof(float) > p->cache_l2);
}

/* 8 rows at a time; where the last ones are fewer, some of those before once more. */
static __attribute__((noinline)) void multiply_direct(const struct direct_product *p) {
    enum { HALF = DIRECT_ROWS / 2, COLUMNS = VEC_REGISTERS / 16 * LANES };
    const int64_t last = p->rows - HALF, most = last > HALF ? last - HALF : 0;
    if (direct_is_few(p)) {
        direct_few(p);
        return;
    }
    for (int64_t row = 0; row < p->rows; row += DIRECT_ROWS) {
        const int64_t first = ipex_smaller(row, most), second = ipex_smaller(first + HALF, last);
        for (int64_t c = 0; c < p->n; c += COLUMNS)
            direct_block(p, p->x + first * p->x_row, p->x + second * p->x_row, p->b + c,
                         p->y + first * p->y_row + c, p->y + second * p->y_row + c, p->n - c);
    }
}

/* Whether that pays: b is read once, or twice from L3, or stays in L2, and its rows do not evict
 * each other. With AVX2, whose blocks load for every product, where packing costs much beside. */
static inline bool matmul_is_direct(const struct ipex_matmul_args *args, int64_t rows) {
    const int64_t row = args->b_row * (int64_t)sizeof(float), bytes = args->k * row;
    if (args->transposed || rows > DIRECT_MOST_ROWS)
        return false;
    return rows <= DIRECT_ROWS ||
           (rows <= DIRECT_LEAST_ROWS && bytes <= 4 * (int64_t)args->cache_l2) ||
           (bytes <= args->cache_l2 / DIRECT_L2_PART && !ipex_rows_share_set(row));
}

#endif

/* A product with b packed. */
static inline void matmul_packed(product_conv_fn conv, const struct ipex_matmul_args *args,
                                 const struct ipex_matmul_job *job, float *packed) {
    struct product p = {
        .conv = conv,
        .packed = packed,
        .bias = args->zeros,
        .y = job->y + job->row * args->y_row + job->column,
        .x_row = args->a_row,
        .y_row = args->y_row,
        .rows = job->row_end - job->row,
        .n = job->column_end - job->column,
        .cache_l2 = args->cache_l2,
    };
    for (int64_t k = 0; k < args->k; k += args->k_block) {
        p.x = (const element *)job->a + job->row * args->a_row + k;
        p.k = ipex_smaller(args->k - k, args->k_block);
        p.resume = k > 0;
        if (args->transposed)
            pack_columns((const element *)job->b + job->column * args->b_row + k, args->b_row, p.k,
                         p.n, packed);
        else
            pack_rows((const element *)job->b + k * args->b_row + job->column, args->b_row, p.k,
                      p.n, packed);
        ipex_multiply_packed(&p);
    }
}

static inline void matmul_product(product_conv_fn conv, const struct ipex_matmul_args *args,
                                  const struct ipex_matmul_job *job, float *packed) {
#ifndef PRODUCT_BF16
    const struct direct_product p = {
        .x = (const float *)job->a + job->row * args->a_row,
        .b = (const float *)job->b + job->column,
        .y = job->y + job->row * args->y_row + job->column,
        .x_row = args->a_row,
        .b_row = args->b_row,
        .y_row = args->y_row,
        .rows = job->row_end - job->row,
        .k = args->k,
        .n = job->column_end - job->column,
        .cache_l2 = args->cache_l2,
    };
    if (matmul_is_direct(args, p.rows)) {
        multiply_direct(&p);
        return;
    }
#endif
    matmul_packed(conv, args, job, packed);
}

static __attribute__((noinline)) void matmul_jobs(product_conv_fn conv,
                                                  const struct ipex_matmul_args *args,
                                                  int64_t job_begin, int64_t job_end,
                                                  void *scratch) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_matmul_job job = ipex_matmul_job(args, j, sizeof(element));
        matmul_product(conv, args, &job, scratch);
        if (args->scale != 1.0f)
            scale_rows(args, job.y + job.row * args->y_row + job.column, job.row_end - job.row,
                       job.column_end - job.column);
    }
}

/* ---- attention ---- */

/* One job, its scratch, and which keys the packed ones are (-1: none). */
struct attention_work {
    product_conv_fn conv;
    const struct ipex_attention_args *args;
    struct ipex_attention_job job;
    float *packed_k, *packed_v, *scores;
    int64_t score_row;
    int64_t k_key, v_key;
};

/* Dots of rows [row, row + rows) with all keys that the last of them sees. */
static inline void attention_dots(struct attention_work *w, int64_t row, int64_t rows) {
    const struct ipex_attention_args *args = w->args;
    const int64_t visible = ipex_attention_visible(args, row + rows - 1);
    struct product p = {
        .conv = w->conv,
        .x = (const element *)w->job.q + row * args->q_row,
        .packed = w->packed_k,
        .bias = args->zeros,
        .x_row = args->q_row,
        .y_row = w->score_row,
        .rows = rows,
        .k = args->d,
        .cache_l2 = args->cache_l2,
    };
    for (int64_t key = 0; key < visible; key += args->keys_at_once) {
        p.n = ipex_smaller(args->n - key, args->keys_at_once);
        if (w->k_key != key)
            pack_columns((const element *)w->job.k + key * args->k_row, args->k_row, p.k, p.n,
                         w->packed_k);
        w->k_key = key;
        p.y = w->scores + key;
        ipex_multiply_packed(&p);
    }
}

/* Dots of the keys that the query sees become scores; returns the largest, as far as a maximum
 * knows NaNs: these reach the sum of the exponentials, and so all of y, by themselves. */
static inline float attention_scores(const struct attention_work *w, int64_t row, float *s) {
    const struct ipex_attention_args *args = w->args;
    const float *mask = w->job.mask ? w->job.mask + row * args->mask_row : NULL;
    const int64_t n = ipex_attention_visible(args, row);
    const vec scale = vec_set(args->scale);
    struct rows_lanes most = {rows_neutral(IPEX_REDUCE_max), rows_neutral(IPEX_REDUCE_max)};
    for (int64_t j = 0; j < n; j += LANES) {
        vec v = vec_mul(scale, vec_load_part(s + j, n - j));
        if (mask)
            v = vec_add(v, args->mask_column ? vec_load_part(mask + j, n - j) : vec_set(*mask));
        vec_store_part(s + j, n - j, v);
        const vec greater = vec_max(v, most.low);
        most.low = n - j >= LANES ? greater : vec_select(vec_first(n - j), greater, most.low);
    }
    most.high = most.low; /* in any order: all of them went to the lower lanes */
    return rows_tree(IPEX_REDUCE_max, most);
}

#ifndef PRODUCT_BF16
/* Where all keys are packed at once and stay in L2, dots become scores in registers: what a block
 * of a convolution does around its products, and a pass over scores, would take longer. */
enum { SHORT_FEW = 4, SHORT_MANY = VEC_REGISTERS == 32 ? 8 : 6 };

static inline bool attention_is_short(const struct ipex_attention_args *args) {
    return (!args->mask || args->mask_column == 1) && args->keys_at_once >= args->n &&
           ipex_packed_floats(args->d, args->n) * (int64_t)sizeof(float) <= args->cache_l2 / 2;
}

#define SHORT_ZERO(r) vec acc##r = vec_set(0.0f), bcc##r = acc##r;
#define SHORT_STEP(r)                                                                              \
    {                                                                                              \
        const vec x = vec_set(*AT(x0, x1, q_row, r));                                              \
        acc##r = vec_fma(x, k0, acc##r);                                                           \
        bcc##r = vec_fma(x, k1, bcc##r);                                                           \
    }
#define SHORT_SCALE(r) acc##r = vec_mul(scale, acc##r), bcc##r = vec_mul(scale, bcc##r);
#define SHORT_MASK(r)                                                                              \
    acc##r = vec_add(acc##r, vec_load_masked(AT(m0, m1, mask_row, r) + j, low));                   \
    bcc##r = vec_add(bcc##r, vec_load_masked(AT(m0, m1, mask_row, r) + next, high));
#define SHORT_FETCH(r)                                                                             \
    _mm_prefetch((const char *)(AT(m0, m1, mask_row, r) + MANY * mask_row + j), _MM_HINT_T0);      \
    _mm_prefetch((const char *)(AT(m0, m1, mask_row, r) + MANY * mask_row + next), _MM_HINT_T0);
#define SHORT_PUT(r)                                                                               \
    vec_store(AT(s0, s1, s_row, r) + j, acc##r);                                                   \
    vec_store(AT(s0, s1, s_row, r) + next, bcc##r);                                                \
    acc##r = vec_max(vec_select(low, acc##r, least), vec_load(lanes + (r)*LANES));                 \
    vec_store(lanes + (r)*LANES, vec_max(vec_select(high, bcc##r, least), acc##r));
#define SHORT_BEGIN(r) vec_store(lanes + (r)*LANES, least);

/* Scores of MR rows, or of fewer but at least half of them, some of which are computed twice then,
 * or of one, with all keys that the last of them sees, and in lanes [MR][LANES] the largest ones.
 * Rows of scores have room for whole panels. */
#define SHORT(MR)                                                                                  \
    static inline void short_##MR(const struct attention_work *w, int64_t row, int64_t rows,       \
                                  float *s0, float *lanes) {                                       \
        enum { HALF = MR / 2, MANY = MR };                                                         \
        const struct ipex_attention_args *args = w->args;                                          \
        const int64_t second = rows < HALF ? 0 : rows - HALF, same = rows < HALF ? 0 : 1;          \
        const int64_t q_row = same * args->q_row, mask_row = same * args->mask_row;                \
        const int64_t s_row = same * w->score_row, panel = ipex_packed_floats(args->d, 1);         \
        const float *q0 = (const float *)w->job.q + row * args->q_row, *q1 = q0 + second * q_row;  \
        float *s1 = s0 + second * s_row;                                                           \
        const int64_t n = ipex_attention_visible(args, row + rows - 1);                            \
        const vec scale = vec_set(args->scale), least = rows_neutral(IPEX_REDUCE_max);             \
        ROWS_##MR(SHORT_BEGIN) for (int64_t j = 0; j < n; j += 2 * LANES) {                        \
            const int64_t next = j + LANES < n ? j + LANES : j;                                    \
            const vec_mask low = vec_first(n - j), high = vec_first(n - next);                     \
            const float *p0 = w->packed_k + j / IPEX_PANEL * panel + j % IPEX_PANEL;               \
            const float *p1 = w->packed_k + next / IPEX_PANEL * panel + next % IPEX_PANEL;         \
            const float *x0 = q0, *x1 = q1;                                                        \
            ROWS_##MR(SHORT_ZERO) for (int64_t k = args->d; k > 0; k--, x0++, x1++) {              \
                const vec k0 = vec_load(p0), k1 = vec_load(p1);                                    \
                ROWS_##MR(SHORT_STEP) p0 += IPEX_PANEL, p1 += IPEX_PANEL;                          \
            }                                                                                      \
            ROWS_##MR(SHORT_SCALE) if (w->job.mask) {                                              \
                const float *m0 = w->job.mask + row * args->mask_row,                              \
                            *m1 = m0 + second * mask_row;                                          \
                ROWS_##MR(SHORT_MASK) if (mask_row != 0) {                                         \
                    ROWS_##MR(SHORT_FETCH)                                                         \
                }                                                                                  \
            }                                                                                      \
            ROWS_##MR(SHORT_PUT)                                                                   \
        }                                                                                          \
    }
SHORT(4)
#if VEC_REGISTERS == 32
SHORT(8)
#define short_many short_8
#else
SHORT(6)
#define short_many short_6
#endif

/* The largest scores of a block of mr rows, see SHORT; a maximum is the same in any order. Where
 * rows do not see the same keys, of those that each sees. */
static __attribute__((noinline)) void short_most(const struct attention_work *w, int64_t row,
                                                 int64_t rows, const float *s, const float *lanes,
                                                 int64_t mr, float *most) {
    for (int64_t r = 0; r < rows; r++, s += w->score_row) {
        const vec v = vec_load(lanes + (r < mr / 2 ? r : r + mr - rows) * LANES);
        most[r] = w->args->causal
                      ? rows_reduce(IPEX_REDUCE_max, s, ipex_attention_visible(w->args, row + r))
                      : rows_tree(IPEX_REDUCE_max, (struct rows_lanes){v, v});
    }
}

static inline void attention_short(struct attention_work *w, int64_t row, int64_t rows,
                                   float *most) {
    const struct ipex_attention_args *args = w->args;
    float lanes_of_rows[SHORT_MANY * LANES], *lanes = lanes_of_rows;
    /* In memory: blocks have no registers for them, and gcc would then spill what they multiply. */
    __asm__("" : "+r"(lanes) : : "memory");
    if (w->k_key != 0)
        pack_columns((const float *)w->job.k, args->k_row, args->d, args->n, w->packed_k);
    w->k_key = 0;
    for (int64_t r = 0, count; r < rows; r += count) {
        float *scores = w->scores + r * w->score_row;
        count = ipex_smaller(rows - r, SHORT_MANY);
        if (count > SHORT_FEW)
            short_many(w, row + r, count, scores, lanes);
        else
            short_4(w, row + r, count, scores, lanes);
        short_most(w, row + r, count, scores, lanes, count > SHORT_FEW ? SHORT_MANY : SHORT_FEW,
                   most + r);
    }
}
#endif

/* Scores of some rows, and the largest of each. */
static inline void attention_all_scores(struct attention_work *w, int64_t row, int64_t rows,
                                        float *most) {
#ifndef PRODUCT_BF16
    if (attention_is_short(w->args)) {
        attention_short(w, row, rows, most);
        return;
    }
#endif
    attention_dots(w, row, rows);
    for (int64_t r = 0; r < rows; r++)
        most[r] = attention_scores(w, row + r, w->scores + r * w->score_row);
}

static inline void attention_values(struct attention_work *w, int64_t row, int64_t rows) {
    const struct ipex_attention_args *args = w->args;
#ifndef PRODUCT_BF16
    if (args->m <= DIRECT_LEAST_ROWS) {
        const struct direct_product direct = {
            .x = w->scores,
            .b = w->job.v,
            .y = w->job.y + row * args->y_row,
            .x_row = w->score_row,
            .b_row = args->v_row,
            .y_row = args->y_row,
            .rows = rows,
            .k = args->n,
            .n = args->e,
            .cache_l2 = args->cache_l2,
        };
        multiply_direct(&direct);
        return;
    }
#endif
    struct product p = {
        .conv = w->conv,
        .packed = w->packed_v,
        .bias = args->zeros,
        .y = w->job.y + row * args->y_row,
        .x_row = w->score_row * (int64_t)(sizeof(float) / sizeof(element)),
        .y_row = args->y_row,
        .rows = rows,
        .n = args->e,
        .cache_l2 = args->cache_l2,
    };
    for (int64_t key = 0; key < args->n; key += args->keys_at_once) {
        p.x = (const element *)(const void *)w->scores + key;
        p.k = ipex_smaller(args->n - key, args->keys_at_once);
        p.resume = key > 0;
        if (w->v_key != key)
            pack_rows((const element *)w->job.v + key * args->v_row, args->v_row, p.k, p.n,
                      w->packed_v);
        w->v_key = key;
        ipex_multiply_packed(&p);
    }
}

#ifdef PRODUCT_BF16
/* As ipex_bf16_in_place. */
static inline void bf16_in_place(float *s, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store_bf16((char *)s + i * 2, vec_load(s + i));
    for (; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, s + i, sizeof bits);
        const uint16_t rounded = ipex_bf16_of(bits);
        memcpy((char *)s + i * 2, &rounded, sizeof rounded);
    }
}
#endif

static inline void attention_rows(struct attention_work *w, int64_t row, int64_t rows) {
    const struct ipex_attention_args *args = w->args;
    float *sums = w->scores + rows * w->score_row; /* first the largest scores */
    attention_all_scores(w, row, rows, sums);
    for (int64_t r = 0; r < rows; r++) {
        float *s = w->scores + r * w->score_row;
        const int64_t seen = ipex_attention_visible(args, row + r);
        sums[r] = IPEX_LEVEL(exps)(s, s, seen, sums[r]);
        for (int64_t j = seen; j < args->n; j += LANES)
            vec_store_part(s + j, args->n - j, vec_set(0.0f));
#ifdef PRODUCT_BF16
        bf16_in_place(s, args->n);
#endif
    }
    attention_values(w, row, rows);
    for (int64_t r = 0; r < rows; r++) {
        float *y = w->job.y + (row + r) * args->y_row;
        const vec sum = vec_set(sums[r]);
        for (int64_t c = 0; c < args->e; c += LANES)
            vec_store_part(y + c, args->e - c, vec_div(vec_load_part(y + c, args->e - c), sum));
    }
}

PREFETCHES attention_fetch_rows(const void *from, int64_t row, int64_t rows, int64_t columns) {
    const int64_t bytes = columns * (int64_t)sizeof(element);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t at = 0; at < bytes; at += 64)
            _mm_prefetch((const char *)((const element *)from + r * row) + at, _MM_HINT_T1);
}

/* What the next job reads, into L2: where it does not lie there, as in a batch, its rows are a few
 * lines each, too far apart for hardware to foresee (MiniLM's attention in a batch of 8: 0.92). Few
 * queries would wait for all of it at once (one query and 128 to 1024 keys: 1.15 to 1.3). */
PREFETCHES attention_fetch(const struct ipex_attention_args *args,
                           const struct ipex_attention_job *job,
                           const struct ipex_attention_job *next) {
    attention_fetch_rows((const element *)next->q + next->row * args->q_row, args->q_row,
                         next->row_end - next->row, args->d);
    if (next->k == job->k || args->m <= IPEX_FEW_QUERIES)
        return;
    attention_fetch_rows(next->k, args->k_row, args->n, args->d);
    attention_fetch_rows(next->v, args->v_row, args->n, args->e);
}

static __attribute__((noinline)) void attention_jobs(product_conv_fn conv,
                                                     const struct ipex_attention_args *args,
                                                     int64_t job_begin, int64_t job_end,
                                                     void *scratch) {
    const struct ipex_attention_layout layout = ipex_attention_layout(args);
    struct attention_work work = {
        .conv = conv,
        .args = args,
        .packed_k = (float *)scratch + layout.k,
        .packed_v = (float *)scratch + layout.v,
        .scores = (float *)scratch + layout.scores,
        .score_row = ipex_attention_score_row(args),
    };
    for (int64_t j = job_begin; j < job_end; j++) {
        work.job = ipex_attention_job(args, j, sizeof(element));
        work.k_key = work.v_key = -1;
        if (j + 1 < job_end) {
            const struct ipex_attention_job next = ipex_attention_job(args, j + 1, sizeof(element));
            attention_fetch(args, &work.job, &next);
        }
#ifdef ATTENTION_LANES
        if (queries_fit(args, &work.job)) {
            queries_job(args, &work.job, work.packed_k, work.packed_v, work.scores);
            continue;
        }
#endif
        for (int64_t row = work.job.row; row < work.job.row_end; row += args->rows_at_once)
            attention_rows(&work, row, ipex_smaller(work.job.row_end - row, args->rows_at_once));
    }
}

/* The two kernels of a dtype and level, through the register blocks of a level's conv, which is
 * hidden from compilers: they would make a copy of all above for each. */
#define MATMUL_KERNELS(dtype, level, conv_level)                                                   \
    void ipex_k_matmul_##dtype##__##level(const struct ipex_matmul_args *args, int64_t job_begin,  \
                                          int64_t job_end, void *scratch) {                        \
        product_conv_fn conv = ipex_k_conv_##dtype##__##conv_level;                                \
        __asm__("" : "+r"(conv));                                                                  \
        matmul_jobs(conv, args, job_begin, job_end, scratch);                                      \
    }                                                                                              \
    void ipex_k_attention_##dtype##__##level(const struct ipex_attention_args *args,               \
                                             int64_t job_begin, int64_t job_end, void *scratch) {  \
        product_conv_fn conv = ipex_k_conv_##dtype##__##conv_level;                                \
        __asm__("" : "+r"(conv));                                                                  \
        attention_jobs(conv, args, job_begin, job_end, scratch);                                   \
    }

#endif
