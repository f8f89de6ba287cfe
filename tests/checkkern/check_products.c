/* SPDX-License-Identifier: Apache-2.0 */
/* matmul and attention of f32 and of bf16, in both profiles of bf16: random sizes, gaps, broadcasts
 * and blocks, special values; the reference against f64. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/checkkern/matrices.h"

enum { OPERANDS = 5 };

/* What the slots' operands are, and how K counts. */
enum kind { F32, BF16, BF16T, KINDS };
static const char *const matmul_names[KINDS] = {"matmul_f32", "matmul_bf16", "matmul_bf16t"};
static const char *const attention_names[KINDS] = {"attention_f32", "attention_bf16",
                                                   "attention_bf16t"};

/* A block of K, or of keys: 16 or more, in whole tiles. */
static int32_t random_block(struct rng *rng, enum kind kind, int32_t k) {
    const int32_t tile = kind == BF16T ? 32 : 16;
    return tile * (int32_t)rng_range(rng, 1, (k + tile - 1) / tile);
}

/* A batch of matrices; its values are cut to bf16 for slots on that, and `bf16` holds the same
 * elements. */
struct matrices {
    struct buffer buffer, bf16;
    int64_t row, batch[8];
};

static struct matrices make_matrices(struct rng *rng, const int64_t *batch, int32_t rank,
                                     int64_t rows, int64_t columns, bool broadcast, bool special) {
    const struct matrices_place place = matrices_random(rng, batch, rank, rows, columns, broadcast);
    struct matrices ret = {.buffer = buffer_make((size_t)place.elements * 4), .row = place.row};
    memcpy(ret.batch, place.batch, sizeof ret.batch);
    for (int64_t i = 0; i < place.elements; i++)
        ((float *)ret.buffer.data)[i] = rng_value(rng, special);
    return ret;
}

static void free_matrices(struct matrices *x) {
    buffer_free(&x->buffer);
    if (x->bf16.map)
        buffer_free(&x->bf16);
}

/* ---- matmul ---- */

static struct buffer run_matmul(const struct level *level, enum kind kind,
                                const struct ipex_matmul_args *args, const struct matrices *x,
                                const struct matrices *y, struct rng *rng) {
    const ipex_kernel_fn kernels[KINDS] = {(ipex_kernel_fn)level->kernels.matmul_f32,
                                           (ipex_kernel_fn)level->kernels.matmul_bf16,
                                           (ipex_kernel_fn)level->kernels.matmul_bf16t};
    struct ipex_matmul_args a = *args;
    if (kind != F32) {
        a.a = x[0].bf16.data;
        a.b = x[1].bf16.data;
    }
    struct buffer ret = buffer_copy(&y->buffer);
    fill_canary(&ret);
    a.y = ret.data;
    running(matmul_names[kind], level->name);
    run_jobs(rng, kernels[kind], &a, ipex_matmul_jobs(&a), ipex_matmul_scratch(&a));
    return ret;
}

static double matmul_error(const struct ipex_matmul_args *a, const float *y, int64_t batches) {
    double worst = 0;
    for (int64_t i = 0; i < batches * a->m * a->n; i++) {
        const int64_t b = i / a->n / a->m, row = i / a->n % a->m, column = i % a->n;
        const float *pa = (const float *)a->a +
                          matrices_offset(a->batch, a->a_batch, a->batch_rank, b) + row * a->a_row;
        const float *pb =
            (const float *)a->b + matrices_offset(a->batch, a->b_batch, a->batch_rank, b);
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < a->k; k++) {
            const double term = (double)pa[k] * (double)(a->transposed ? pb[column * a->b_row + k]
                                                                       : pb[k * a->b_row + column]);
            sum += term;
            magnitude += fabs(term);
        }
        const double got = (double)
            y[matrices_offset(a->batch, a->y_batch, a->batch_rank, b) + row * a->y_row + column];
        const double scale = (double)a->scale;
        const double bound = ((double)a->k + 2) * 0x1p-24 * magnitude * fabs(scale) + 0x1p-120;
        worst = fmax(worst, fabs(got - sum * scale) / bound);
    }
    return worst;
}

static int check_matmul(const struct context *context, struct rng *rng, enum kind kind, bool big) {
    struct ipex_matmul_args args = {
        .m = (int32_t)matrices_random_size(rng),
        .n = (int32_t)matrices_random_size(rng),
        .k = (int32_t)(big ? rng_range(rng, 200, 600) : matrices_random_size(rng)),
        .transposed = rng_one_in(rng, 2),
        .scale = rng_one_in(rng, 2) ? 1.0f : rng_float(rng),
        .cache_l2 = rng_one_in(rng, 2) ? 1 << 20 : (int32_t)rng_range(rng, 2000, 20000),
    };
    const int64_t batches = matrices_random_batch(rng, args.batch, &args.batch_rank);
    args.rows_per_job = (int32_t)rng_range(rng, 1, args.m);
    args.columns_per_job = 16 * (int32_t)rng_range(rng, 1, (args.n + 15) / 16);
    args.k_block = random_block(rng, kind, args.k);
    const bool special = rng_one_in(rng, 5) && !context->only_normal;
    struct matrices x[2] = {
        make_matrices(rng, args.batch, args.batch_rank, args.m, args.k, true, special),
        make_matrices(rng, args.batch, args.batch_rank, args.transposed ? args.n : args.k,
                      args.transposed ? args.k : args.n, true, special),
    };
    for (int i = 0; kind != F32 && i < 2; i++)
        x[i].bf16 = cut_to_bf16(&x[i].buffer);
    struct matrices y = make_matrices(rng, args.batch, args.batch_rank, args.m, args.n, false, 0);
    struct buffer zeros = buffer_make((size_t)args.columns_per_job * 4);
    memset(zeros.data, 0, zeros.bytes);
    args.zeros = zeros.data;
    args.a = x[0].buffer.data;
    args.b = x[1].buffer.data;
    args.a_row = x[0].row;
    args.b_row = x[1].row;
    args.y_row = y.row;
    memcpy(args.a_batch, x[0].batch, sizeof args.a_batch);
    memcpy(args.b_batch, x[1].batch, sizeof args.b_batch);
    memcpy(args.y_batch, y.batch, sizeof args.y_batch);
    struct buffer want = run_matmul(&context->levels[0], kind, &args, x, &y, rng);
    int failed = 0;
    if (!special && !(matmul_error(&args, want.data, batches) <= 1))
        failed +=
            !report(false, "matmul reference against f64", "%d x %d x %d", args.m, args.k, args.n);
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_matmul(&context->levels[i], kind, &args, x, &y, rng);
        const int64_t at = first_difference(&want, &got);
        if (at >= 0)
            failed += !report(
                false, matmul_names[kind],
                "%s: %d x %d x %d%s, jobs %d x %d, k block %d, l2 %d: element %lld: %a, want %a",
                context->levels[i].name, args.m, args.k, args.n,
                args.transposed ? " transposed" : "", args.rows_per_job, args.columns_per_job,
                args.k_block, args.cache_l2, (long long)at, (double)((float *)got.data)[at],
                (double)((float *)want.data)[at]);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&zeros);
    free_matrices(&x[0]);
    free_matrices(&x[1]);
    free_matrices(&y);
    return failed;
}

/* ---- attention ---- */

static struct buffer run_attention(const struct level *level, enum kind kind,
                                   const struct ipex_attention_args *args, const struct matrices *x,
                                   struct rng *rng) {
    const ipex_kernel_fn kernels[KINDS] = {(ipex_kernel_fn)level->kernels.attention_f32,
                                           (ipex_kernel_fn)level->kernels.attention_bf16,
                                           (ipex_kernel_fn)level->kernels.attention_bf16t};
    struct ipex_attention_args a = *args;
    struct buffer ret = buffer_copy(&x[4].buffer);
    if (kind != F32) {
        a.q = x[0].bf16.data;
        a.k = x[1].bf16.data;
        a.v = x[2].bf16.data;
    }
    fill_canary(&ret);
    a.y = ret.data;
    running(attention_names[kind], level->name);
    run_jobs(rng, kernels[kind], &a, ipex_attention_jobs(&a), ipex_attention_scratch(&a));
    return ret;
}

enum { KEYS_MOST = 500 };

/* One query in f64: s, then its outputs; the error in units of the bound. Scores of up to `size`
 * round to (d + 2) 2^-24 size, which e^s turns into a relative error; rounding it to bf16 adds
 * 2^-8. */
static double query_error(const struct ipex_attention_args *a, const float *y, int64_t batch,
                          int64_t row, bool bf16) {
    double s[KEYS_MOST], max = -INFINITY, sum = 0, size = 0, worst = 0;
    const float *q = (const float *)a->q +
                     matrices_offset(a->batch, a->q_batch, a->batch_rank, batch) + row * a->q_row;
    const float *k =
        (const float *)a->k + matrices_offset(a->batch, a->k_batch, a->batch_rank, batch);
    const float *v =
        (const float *)a->v + matrices_offset(a->batch, a->v_batch, a->batch_rank, batch);
    y += matrices_offset(a->batch, a->y_batch, a->batch_rank, batch) + row * a->y_row;
    for (int64_t j = 0; j < a->n; j++) {
        double magnitude = 0;
        s[j] = 0;
        for (int64_t c = 0; c < a->d; c++) {
            s[j] += (double)q[c] * (double)k[j * a->k_row + c];
            magnitude += fabs((double)q[c] * (double)k[j * a->k_row + c]);
        }
        s[j] *= (double)a->scale;
        magnitude *= fabs((double)a->scale);
        if (a->mask) {
            const double m =
                (double)a->mask[matrices_offset(a->batch, a->mask_batch, a->batch_rank, batch) +
                                row * a->mask_row + j * a->mask_column];
            s[j] += m;
            magnitude += fabs(m);
        }
        if (a->causal && j > row + a->n - a->m)
            s[j] = -INFINITY;
        size = fmax(size, magnitude);
        max = fmax(max, s[j]);
    }
    for (int64_t j = 0; j < a->n; j++)
        sum += s[j] = exp(s[j] - max);
    for (int64_t c = 0; c < a->e; c++) {
        double want = 0, magnitude = 0;
        for (int64_t j = 0; j < a->n; j++) {
            want += s[j] / sum * (double)v[j * a->v_row + c];
            magnitude += s[j] / sum * fabs((double)v[j * a->v_row + c]);
        }
        const double relative =
            ((double)a->d + 4) * size * 4 + 2 * (double)a->n + 12 + (bf16 ? 0x1p16 : 0);
        worst =
            fmax(worst, fabs((double)y[c] - want) / (relative * 0x1p-24 * magnitude + 0x1p-120));
    }
    return worst;
}

static double attention_error(const struct ipex_attention_args *a, const float *y, int64_t batches,
                              bool bf16) {
    double worst = 0;
    for (int64_t batch = 0; batch < batches; batch++)
        for (int64_t row = 0; row < a->m; row++)
            if (!a->causal || row + a->n - a->m >= 0) /* else it sees nothing: NaN */
                worst = fmax(worst, query_error(a, y, batch, row, bf16));
    return worst;
}

static struct ipex_attention_args random_attention(struct rng *rng, enum kind kind) {
    struct ipex_attention_args ret = {
        .m = (int32_t)matrices_random_size(rng),
        .n = (int32_t)matrices_random_size(rng),
        .d = (int32_t)rng_range(rng, 1, rng_one_in(rng, 4) ? 130 : 33),
        .e = (int32_t)rng_range(rng, 1, rng_one_in(rng, 4) ? 130 : 33),
        .causal = rng_one_in(rng, 3),
        .scale = rng_one_in(rng, 3) ? 1.0f : rng_float(rng),
        .cache_l2 = rng_one_in(rng, 2) ? 1 << 20 : (int32_t)rng_range(rng, 2000, 20000),
    };
    ret.rows_per_job = (int32_t)rng_range(rng, 1, ret.m);
    ret.rows_at_once = (int32_t)rng_range(rng, 1, ret.rows_per_job);
    ret.keys_at_once = random_block(rng, kind, ret.n);
    return ret;
}

/* As networks with small heads have them: all queries of a job and all keys at once. */
static void make_heads_small(struct rng *rng, struct ipex_attention_args *args) {
    args->m = (int32_t)rng_range(rng, 30, 130);
    if (rng_one_in(rng, 3)) /* exponentials beside the scores, not in their place */
        args->n = (int32_t)rng_range(rng, 200, KEYS_MOST);
    args->d = (int32_t)rng_range(rng, 1, 34);
    args->e = (int32_t)rng_range(rng, 1, 9);
    args->rows_per_job = args->rows_at_once = (int32_t)rng_range(rng, 30, args->m);
    args->keys_at_once = (args->n + 31) / 32 * 32;
    args->causal = rng_one_in(rng, 8);
}

static int check_attention(const struct context *context, struct rng *rng, enum kind kind) {
    struct ipex_attention_args args = random_attention(rng, kind);
    const bool small = rng_one_in(rng, 3);
    if (small)
        make_heads_small(rng, &args);
    const int64_t batches = matrices_random_batch(rng, args.batch, &args.batch_rank);
    const int32_t rank = args.batch_rank;
    const bool special = rng_one_in(rng, 5) && !context->only_normal;
    const int64_t mask_rows = rng_one_in(rng, 2) ? 1 : args.m;
    const int64_t mask_columns = rng_one_in(rng, 3) ? 1 : args.n;
    struct matrices x[OPERANDS] = {
        make_matrices(rng, args.batch, rank, args.m, args.d, true, special),
        make_matrices(rng, args.batch, rank, args.n, args.d, true, special),
        make_matrices(rng, args.batch, rank, args.n, args.e, true, special),
        make_matrices(rng, args.batch, rank, mask_rows, mask_columns, true, special),
        make_matrices(rng, args.batch, rank, args.m, args.e, false, false),
    };
    for (int i = 0; kind != F32 && i < 3; i++)
        x[i].bf16 = cut_to_bf16(&x[i].buffer);
    const int64_t zeros_needed = args.e + 15 > args.keys_at_once ? args.e + 15 : args.keys_at_once;
    struct buffer zeros = buffer_make((size_t)(zeros_needed / 16 * 16) * 4);
    memset(zeros.data, 0, zeros.bytes);
    args.zeros = zeros.data;
    args.q = x[0].buffer.data;
    args.k = x[1].buffer.data;
    args.v = x[2].buffer.data;
    args.mask = rng_one_in(rng, small ? 8 : 2) ? x[3].buffer.data : NULL;
    args.q_row = x[0].row;
    args.k_row = x[1].row;
    args.v_row = x[2].row;
    args.mask_row = mask_rows == 1 ? 0 : x[3].row;
    args.mask_column = mask_columns != 1;
    args.y_row = x[4].row;
    memcpy(args.q_batch, x[0].batch, sizeof args.q_batch);
    memcpy(args.k_batch, x[1].batch, sizeof args.k_batch);
    memcpy(args.v_batch, x[2].batch, sizeof args.v_batch);
    memcpy(args.mask_batch, x[3].batch, sizeof args.mask_batch);
    memcpy(args.y_batch, x[4].batch, sizeof args.y_batch);
    struct buffer want = run_attention(&context->levels[0], kind, &args, x, rng);
    int failed = 0;
    const double error = special ? 0 : attention_error(&args, want.data, batches, kind != F32);
    if (!(error <= 1))
        failed += !report(false, "attention reference against f64", "%g of the bound", error);
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_attention(&context->levels[i], kind, &args, x, rng);
        const int64_t at = first_difference(&want, &got);
        if (at >= 0)
            failed += !report(
                false, attention_names[kind],
                "%s: %d queries, %d keys, %d -> %d, causal %d, mask %d, at once %d x %d of %d, l2 "
                "%d: element %lld: %a, want %a",
                context->levels[i].name, args.m, args.n, args.d, args.e, args.causal,
                args.mask != NULL, args.rows_at_once, args.keys_at_once, args.rows_per_job,
                args.cache_l2, (long long)at, (double)((float *)got.data)[at],
                (double)((float *)want.data)[at]);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&zeros);
    for (int i = 0; i < OPERANDS; i++)
        free_matrices(&x[i]);
    return failed;
}

static void check_slots(const struct context *context, enum kind kind) {
    const char *const matmul = matmul_names[kind], *const attention = attention_names[kind];
    struct rng rng = {context->seed + 9};
    int failed_matmul = 0, failed_attention = 0;
    char text[80];
    for (int i = 0; i < context->cases; i++) {
        if (wanted(context, matmul))
            failed_matmul += check_matmul(context, &rng, kind, i % 8 == 0);
        if (wanted(context, attention))
            failed_attention += check_attention(context, &rng, kind);
    }
    snprintf(text, sizeof text, "%s: random shapes", matmul);
    if (wanted(context, matmul))
        report(failed_matmul == 0, text, "%d failed", failed_matmul);
    snprintf(text, sizeof text, "%s: random shapes", attention);
    if (wanted(context, attention))
        report(failed_attention == 0, text, "%d failed", failed_attention);
}

void check_products(const struct context *context) {
    for (int kind = 0; kind < KINDS; kind++)
        check_slots(context, (enum kind)kind);
}
