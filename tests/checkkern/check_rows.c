/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_f32, reduce_f32 and reduce_u8: every row length around the lanes, gaps, special values;
 * the reference against f64. */
#include "tests/checkkern/checkkern.h"

#include <math.h>

static void fill_rows(struct buffer *x, int64_t rows, int64_t columns, int64_t stride,
                      struct rng *rng, bool special) {
    fill_poison(x);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            ((float *)x->data)[r * stride + c] = rng_value(rng, special);
}

static struct buffer run_softmax(const struct level *level, const struct ipex_softmax_args *args,
                                 struct rng *rng) {
    struct ipex_softmax_args a = *args;
    struct buffer y = buffer_make((size_t)((a.rows - 1) * a.y_row + a.columns) * 4);
    fill_canary(&y);
    a.y = y.data;
    running("softmax_f32", level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.softmax_f32, &a, a.rows, 0);
    return y;
}

static double softmax_error(const struct ipex_softmax_args *a, const float *y) {
    double worst = 0;
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = a->x + r * a->x_row;
        double max = -INFINITY, sum = 0;
        for (int64_t c = 0; c < a->columns; c++)
            max = fmax(max, (double)x[c]);
        for (int64_t c = 0; c < a->columns; c++)
            sum += exp((double)x[c] - max);
        for (int64_t c = 0; c < a->columns; c++) {
            const double want = exp((double)x[c] - max) / sum;
            /* x - max rounds at the size of the difference; exp and the sum add some ULP. */
            const double bound = want * 0x1p-23 * (6 + 2 * (max - (double)x[c])) + 0x1p-126;
            worst = fmax(worst, fabs((double)y[r * a->y_row + c] - want) / bound);
        }
    }
    return worst;
}

static int check_softmax(const struct context *context, struct rng *rng, int64_t columns) {
    struct ipex_softmax_args args = {
        .rows = rng_range(rng, 1, 4),
        .columns = columns,
        .x_row = columns + rng_range(rng, 0, 3),
        .y_row = columns + rng_range(rng, 0, 3),
    };
    const bool special = rng_one_in(rng, 4);
    struct buffer x = buffer_make((size_t)((args.rows - 1) * args.x_row + columns) * 4);
    fill_rows(&x, args.rows, columns, args.x_row, rng, special);
    args.x = x.data;
    struct buffer want = run_softmax(&context->levels[0], &args, rng);
    int failed = 0;
    if (!special && !(softmax_error(&args, want.data) <= 1))
        failed +=
            !report(false, "softmax_f32 reference against f64", "columns %lld", (long long)columns);
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_softmax(&context->levels[i], &args, rng);
        const int64_t at = first_difference(&want, &got);
        if (at >= 0)
            failed += !report(false, "softmax_f32 row", "%s: columns %lld, element %lld",
                              context->levels[i].name, (long long)columns, (long long)at);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&x);
    return failed;
}

/* Rows {0, x}: their second result is e^x / (1 + e^x), where e^x is off by 2.3 + |x| / 4 ULP at
 * most (kernels/math_constants.h), and the sum and the quotient by one each. */
static int check_weights(const struct context *context, struct rng *rng) {
    enum { ROWS = 4096 };
    struct ipex_softmax_args args = {.rows = ROWS, .columns = 2, .x_row = 2, .y_row = 2};
    struct buffer x = buffer_make(ROWS * 2 * sizeof(float));
    for (int i = 0; i < ROWS; i++) {
        ((float *)x.data)[2 * i] = 0;
        ((float *)x.data)[2 * i + 1] = -(float)(i + 0.5 + 0.5 * (double)rng_float(rng)) / 40;
    }
    args.x = x.data;
    int failed = 0;
    for (size_t l = 0; l < context->n_levels; l++) {
        struct buffer y = run_softmax(&context->levels[l], &args, rng);
        for (int i = 0; i < ROWS; i++) {
            const double of = (double)args.x[2 * i + 1],
                         got = ((double)((float *)y.data)[2 * i + 1]);
            const double want = exp(of) / (1 + exp(of));
            const double bound = (2.3 + fabs(of) / 4 + 2) * 0x1p-23 * want + 0x1p-126;
            if (fabs(got - want) > bound)
                failed += !report(false, "softmax_f32 weight", "%s: of %a: %a, want %a",
                                  context->levels[l].name, of, got, want);
        }
        buffer_free(&y);
    }
    buffer_free(&x);
    return failed;
}

static struct buffer run_reduce(const struct level *level, const struct ipex_reduce_args *args,
                                struct rng *rng) {
    struct ipex_reduce_args a = *args;
    struct buffer y = buffer_make((size_t)((a.outer - 1) * a.y_outer + a.inner) * 4);
    fill_canary(&y);
    a.y = y.data;
    running("reduce_f32", level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.reduce_f32, &a, a.outer, 0);
    return y;
}

static double reduce_error(const struct ipex_reduce_args *a, const float *y) {
    double worst = 0;
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t i = 0; i < a->inner; i++) {
            double sum = 0, magnitude = 0, max = -INFINITY, min = INFINITY;
            for (int64_t m = 0; m < a->middle; m++) {
                const double v =
                    (double)((const float *)a->x)[o * a->x_outer + m * a->x_middle + i];
                sum += v;
                magnitude += fabs(v);
                max = fmax(max, v);
                min = fmin(min, v);
            }
            const bool mean = a->kind == IPEX_REDUCE_mean;
            const double divisor = mean ? (double)a->middle : 1;
            const double want = a->kind == IPEX_REDUCE_max   ? max
                                : a->kind == IPEX_REDUCE_min ? min
                                                             : sum / divisor;
            const double bound = (double)(a->middle + 2) * 0x1p-24 * magnitude / divisor + 0x1p-126;
            worst = fmax(worst, fabs((double)y[o * a->y_outer + i] - want) / bound);
        }
    return worst;
}

static int check_reduce(const struct context *context, struct rng *rng, int64_t middle) {
    struct ipex_reduce_args args = {
        .outer = rng_range(rng, 1, middle <= 8 ? 70 : 3), /* of short rows some vectors */
        .middle = middle,
        .inner = rng_one_in(rng, 2) ? 1 : rng_range(rng, 2, rng_one_in(rng, 3) ? 150 : 40),
        .kind = (int32_t)rng_range(rng, 0, IPEX_REDUCE_COUNT - 1),
    };
    args.x_middle = args.inner + (rng_one_in(rng, 3) ? rng_range(rng, 1, 4) : 0);
    args.x_outer = middle * args.x_middle;
    args.y_outer = args.inner + (rng_one_in(rng, 2) ? rng_range(rng, 1, 3) : 0);
    const bool special = rng_one_in(rng, 4);
    const int64_t last = (args.outer - 1) * args.x_outer + (middle - 1) * args.x_middle;
    struct buffer x = buffer_make((size_t)(last + args.inner) * 4);
    fill_rows(&x, args.outer * middle, args.inner, args.x_middle, rng, special);
    args.x = x.data;
    struct buffer want = run_reduce(&context->levels[0], &args, rng);
    int failed = 0;
    if (!special && !(reduce_error(&args, want.data) <= 1))
        failed += !report(false, "reduce_f32 reference against f64", "kind %d, middle %lld",
                          args.kind, (long long)middle);
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_reduce(&context->levels[i], &args, rng);
        const int64_t at = first_difference(&want, &got);
        if (at >= 0)
            failed += !report(false, "reduce_f32 shape",
                              "%s: kind %d, %lld x %lld x %lld, element %lld: %a, want %a",
                              context->levels[i].name, args.kind, (long long)args.outer,
                              (long long)middle, (long long)args.inner, (long long)at,
                              (double)((float *)got.data)[at], (double)((float *)want.data)[at]);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&x);
    return failed;
}

/* Means of bytes, against sums of whole numbers. */
static int check_byte_mean(const struct level *level, struct rng *rng) {
    struct ipex_reduce_args a = {
        .outer = rng_range(rng, 1, 3),
        .middle = rng_one_in(rng, 3) ? rng_range(rng, 60, 300) : rng_range(rng, 1, 70),
        .inner = rng_range(rng, 1, rng_one_in(rng, 2) ? 20 : 300),
        .kind = IPEX_REDUCE_mean,
    };
    a.x_middle = a.inner + (rng_one_in(rng, 3) ? rng_range(rng, 1, 9) : 0);
    a.x_outer = a.middle * a.x_middle;
    a.y_outer = a.inner + (rng_one_in(rng, 2) ? rng_range(rng, 1, 3) : 0);
    const int64_t last = (a.outer - 1) * a.x_outer + (a.middle - 1) * a.x_middle;
    struct buffer x = buffer_make((size_t)(last + a.inner));
    struct buffer y = buffer_make((size_t)((a.outer - 1) * a.y_outer + a.inner) * 4);
    struct buffer want = buffer_make(y.bytes);
    const bool most = rng_one_in(rng, 4);
    for (size_t i = 0; i < x.bytes; i++)
        ((uint8_t *)x.data)[i] = (uint8_t)(most ? 255 : rng_range(rng, 0, 255));
    fill_canary(&y);
    fill_canary(&want);
    for (int64_t i = 0; i < a.outer * a.inner; i++) {
        const int64_t o = i / a.inner, c = i % a.inner;
        int64_t sum = 0;
        for (int64_t m = 0; m < a.middle; m++)
            sum += ((const uint8_t *)x.data)[o * a.x_outer + m * a.x_middle + c];
        ((float *)want.data)[o * a.y_outer + c] = (float)sum / (float)a.middle;
    }
    a.x = x.data;
    a.y = y.data;
    running("reduce_u8", level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.reduce_u8, &a, a.outer, 0);
    const int64_t at = first_difference(&want, &y);
    if (at >= 0)
        report(false, "reduce_u8 shape", "%s: %lld x %lld x %lld, element %lld", level->name,
               (long long)a.outer, (long long)a.middle, (long long)a.inner, (long long)at);
    buffer_free(&x);
    buffer_free(&y);
    buffer_free(&want);
    return at >= 0;
}

static void check_byte_means(const struct context *context, struct rng *rng) {
    int failed = 0;
    for (int i = 0; i < context->cases; i++)
        for (size_t level = 0; level < context->n_levels; level++)
            failed += check_byte_mean(&context->levels[level], rng);
    report(failed == 0, "reduce_u8: means", "%d failed", failed);
}

void check_rows(const struct context *context) {
    struct rng rng = {context->seed + 4};
    int failed_softmax = 0, failed_reduce = 0;
    if (wanted(context, "reduce_u8"))
        check_byte_means(context, &rng);
    for (int i = 0; i < context->cases * 2; i++) {
        const int64_t n = i < 70 ? i + 1 : rng_range(&rng, 1, 500);
        failed_softmax += wanted(context, "softmax_f32") ? check_softmax(context, &rng, n) : 0;
        if (wanted(context, "reduce_f32"))
            failed_reduce +=
                check_reduce(context, &rng, n) + check_reduce(context, &rng, rng_range(&rng, 1, 8));
    }
    if (wanted(context, "softmax_f32"))
        failed_softmax += check_weights(context, &rng);
    if (wanted(context, "softmax_f32"))
        report(failed_softmax == 0, "softmax_f32: row lengths and weights", "%d failed",
               failed_softmax);
    if (wanted(context, "reduce_f32"))
        report(failed_reduce == 0, "reduce_f32: shapes and kinds", "%d failed", failed_reduce);
}
