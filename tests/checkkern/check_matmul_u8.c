/* SPDX-License-Identifier: Apache-2.0 */
/* matmul_u8: random sizes, zero points, gaps, broadcasts and blocks, to floats and to bytes; the
 * reference against integers of 64 bits and f64. */
#include <math.h>
#include <string.h>

#include "tests/checkkern/matrices.h"

struct matrices {
    struct buffer buffer;
    int64_t row, batch[8];
};

static struct matrices make_matrices(struct rng *rng, const struct ipex_matmul_args *args,
                                     int64_t rows, int64_t columns, bool broadcast, size_t size) {
    const struct matrices_place place =
        matrices_random(rng, args->batch, args->batch_rank, rows, columns, broadcast);
    struct matrices ret = {.buffer = buffer_make((size_t)place.elements * size), .row = place.row};
    const bool ends = rng_one_in(rng, 4); /* the largest sums */
    memcpy(ret.batch, place.batch, sizeof ret.batch);
    for (size_t i = 0; i < ret.buffer.bytes; i++)
        ((uint8_t *)ret.buffer.data)[i] =
            (uint8_t)(ends ? rng_one_in(rng, 9) - 1 : (int)rng_range(rng, 0, 255));
    return ret;
}

static int32_t random_zero(struct rng *rng) {
    return rng_one_in(rng, 3)   ? 128 * (int32_t)rng_range(rng, 0, 1)
           : rng_one_in(rng, 4) ? (int32_t)rng_range(rng, 0, 255)
                                : (int32_t)rng_range(rng, 118, 138);
}

static struct buffer run(const struct level *level, const struct ipex_matmul_args *args,
                         const struct matrices *y, struct rng *rng) {
    struct ipex_matmul_args a = *args;
    struct buffer ret = buffer_copy(&y->buffer);
    fill_canary(&ret);
    if (args->y_u8)
        a.y_u8 = ret.data;
    else
        a.y = ret.data;
    running("matmul_u8", level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.matmul_u8, &a, ipex_matmul_jobs(&a),
             ipex_matmul_u8_scratch(&a));
    return ret;
}

/* Of the result at `at`, in units of what may be: f32 rounds a few times. */
static double error(const struct ipex_matmul_args *args, const struct buffer *y, int64_t at,
                    double want, double magnitude) {
    const double bound = 0x1p-22 * magnitude + 0x1p-120;
    if (args->y_scale == 0)
        return fabs((double)((const float *)y->data)[at] - want) / bound;
    const double got =
        args->y_u8 ? ((const uint8_t *)y->data)[at] : (double)((const float *)y->data)[at];
    const double scale = (double)args->y_scale, zero = (double)args->y_zero;
    const double most = 0.5 + fabs(scale) * bound + 0x1p-22 * fabs(want * scale);
    const double exact = want * scale + zero;
    return (exact < 0     ? got
            : exact > 255 ? 255 - got
                          : fabs(got - exact)) /
           (exact < 0 || exact > 255 ? fabs(scale) * bound + most : most);
}

static double worst_error(const struct ipex_matmul_args *a, const struct buffer *y,
                          int64_t batches) {
    double worst = 0;
    for (int64_t i = 0; i < batches * a->m * a->n; i++) {
        const int64_t b = i / a->n / a->m, row = i / a->n % a->m, column = i % a->n;
        const uint8_t *pa = (const uint8_t *)a->a +
                            matrices_offset(a->batch, a->a_batch, a->batch_rank, b) +
                            row * a->a_row;
        const uint8_t *pb =
            (const uint8_t *)a->b + matrices_offset(a->batch, a->b_batch, a->batch_rank, b);
        int64_t sum = 0, products = 0, others = 0;
        for (int64_t k = 0; k < a->k; k++) {
            const int64_t w =
                (a->transposed ? pb[column * a->b_row + k] : pb[k * a->b_row + column]) - a->b_zero;
            sum += (pa[k] - a->a_zero) * w;
            products += pa[k] * w;
            others += a->a_zero * w;
        }
        const double scale = (double)a->scale;
        const double magnitude = fabs(scale) * (fabs((double)products) + fabs((double)others));
        const int64_t at =
            matrices_offset(a->batch, a->y_batch, a->batch_rank, b) + row * a->y_row + column;
        worst = fmax(worst, error(a, y, at, (double)sum * scale, magnitude));
    }
    return worst;
}

static int check(const struct context *context, struct rng *rng, bool big) {
    uint8_t byte;
    struct ipex_matmul_args args = {
        .m = (int32_t)matrices_random_size(rng),
        .n = (int32_t)matrices_random_size(rng),
        .k = (int32_t)(big ? rng_range(rng, 200, 3000) : matrices_random_size(rng)),
        .transposed = rng_one_in(rng, 2),
        .scale = 0.01f * rng_float(rng),
        .a_zero = random_zero(rng),
        .b_zero = random_zero(rng),
        .cache_l2 = rng_one_in(rng, 2) ? 1 << 20 : (int32_t)rng_range(rng, 2000, 20000),
    };
    const int64_t batches = matrices_random_batch(rng, args.batch, &args.batch_rank);
    args.rows_per_job = (int32_t)rng_range(rng, 1, args.m);
    args.columns_per_job = 16 * (int32_t)rng_range(rng, 1, (args.n + 15) / 16);
    if (rng_one_in(rng, 2)) {
        args.y_u8 = rng_one_in(rng, 3) ? NULL : &byte;
        args.y_scale = rng_one_in(rng, 3) ? 1 : 4 * rng_float(rng);
        args.y_zero = (float)rng_range(rng, 0, 255);
        if (args.y_scale == 0)
            args.y_scale = 1;
    }
    struct matrices a = make_matrices(rng, &args, args.m, args.k, true, 1);
    struct matrices b = make_matrices(rng, &args, args.transposed ? args.n : args.k,
                                      args.transposed ? args.k : args.n, true, 1);
    struct matrices y = make_matrices(rng, &args, args.m, args.n, false, args.y_u8 ? 1 : 4);
    args.a = a.buffer.data;
    args.b = b.buffer.data;
    args.a_row = a.row;
    args.b_row = b.row;
    args.y_row = y.row;
    memcpy(args.a_batch, a.batch, sizeof args.a_batch);
    memcpy(args.b_batch, b.batch, sizeof args.b_batch);
    memcpy(args.y_batch, y.batch, sizeof args.y_batch);
    struct buffer want = run(&context->levels[0], &args, &y, rng);
    const double worst = worst_error(&args, &want, batches);
    int failed = worst <= 1
                     ? 0
                     : !report(false, "matmul_u8 reference against integers",
                               "%d x %d x %d: %g of the bound", args.m, args.k, args.n, worst);
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run(&context->levels[i], &args, &y, rng);
        const int64_t at = first_byte_difference(&want, &got);
        if (at >= 0)
            failed += !report(false, "matmul_u8",
                              "%s: %d x %d x %d%s, zeros %d and %d, jobs %d x %d, l2 %d, %s of "
                              "scale %g: byte %lld",
                              context->levels[i].name, args.m, args.k, args.n,
                              args.transposed ? " transposed" : "", args.a_zero, args.b_zero,
                              args.rows_per_job, args.columns_per_job, args.cache_l2,
                              args.y_u8 ? "bytes" : "floats", (double)args.y_scale, (long long)at);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&a.buffer);
    buffer_free(&b.buffer);
    buffer_free(&y.buffer);
    return failed;
}

void check_matmul_u8(const struct context *context) {
    struct rng rng = {context->seed + 10};
    int failed = 0;
    if (!wanted(context, "matmul_u8"))
        return;
    for (int i = 0; i < context->cases; i++)
        failed += check(context, &rng, i % 8 == 0);
    report(failed == 0, "matmul_u8: random shapes", "%d failed", failed);
}
