/* SPDX-License-Identifier: Apache-2.0 */
/* arg_f32, topk_f32, cumsum: rows with many equal values and NaNs, against definitions that look at
 * every pair. */
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <string.h>

/* Few different values, so that equals are common. */
static float few_values(struct rng *rng) {
    return rng_one_in(rng, 12) ? rng_value(rng, true) : (float)rng_range(rng, -4, 4);
}

/* Whether a comes before b in the order asked for. */
static bool comes_before(float a, float b, bool largest) {
    if (isnan(a) || isnan(b))
        return largest ? isnan(a) && !isnan(b) : isnan(b) && !isnan(a);
    return largest ? a > b : a < b;
}

/* Place of element i among the row's, of equals the lower index first. */
static int64_t rank_of(const float *x, int64_t columns, int64_t i, bool largest) {
    int64_t ret = 0;
    for (int64_t j = 0; j < columns; j++)
        ret += comes_before(x[j], x[i], largest) || (j < i && !comes_before(x[i], x[j], largest));
    return ret;
}

static int check_arg(const struct context *context, struct rng *rng) {
    struct ipex_arg_args a = {
        .rows = rng_range(rng, 1, 4),
        .columns = rng_range(rng, 1, 50),
        .largest = rng_one_in(rng, 2),
        .last = rng_one_in(rng, 2),
    };
    a.x_row = a.columns + rng_range(rng, 0, 2);
    struct buffer x = buffer_make((size_t)((a.rows - 1) * a.x_row + a.columns) * 4);
    for (size_t i = 0; i < x.bytes / 4; i++)
        ((float *)x.data)[i] = few_values(rng);
    a.x = x.data;
    int failed = 0;
    for (size_t l = 0; l < context->n_levels; l++) {
        struct buffer got = buffer_make((size_t)a.rows * 8);
        a.y = got.data;
        running("arg_f32", context->levels[l].name);
        run_jobs(rng, (ipex_kernel_fn)context->levels[l].kernels.arg_f32, &a, a.rows, 0);
        for (int64_t r = 0; r < a.rows; r++) {
            const float *row = a.x + r * a.x_row;
            int64_t want = 0;
            for (int64_t i = 0; i < a.columns; i++)
                if (comes_before(row[i], row[want], a.largest) ||
                    (a.last && !comes_before(row[want], row[i], a.largest)))
                    want = i;
            if (a.y[r] != want)
                failed += !report(false, "arg_f32", "%s: row of %lld: %lld, want %lld",
                                  context->levels[l].name, (long long)a.columns, (long long)a.y[r],
                                  (long long)want);
        }
        buffer_free(&got);
    }
    buffer_free(&x);
    return failed;
}

static bool row_is_right(const struct ipex_topk_args *a, int64_t r) {
    const float *x = a->x + r * a->x_row;
    for (int64_t i = 0; i < a->columns; i++) {
        const int64_t place = rank_of(x, a->columns, i, a->largest);
        if (place < a->k && (a->indices[r * a->indices_row + place] != i ||
                             memcmp(&a->values[r * a->values_row + place], &x[i], 4) != 0))
            return false;
    }
    return true;
}

static int check_topk(const struct context *context, struct rng *rng) {
    struct ipex_topk_args a = {
        .rows = rng_range(rng, 1, 3),
        .columns = rng_range(rng, 1, 80),
        .largest = rng_one_in(rng, 2),
    };
    a.k = rng_one_in(rng, 4) ? a.columns : rng_range(rng, 1, a.columns);
    a.x_row = a.columns + rng_range(rng, 0, 2);
    a.values_row = a.k + rng_range(rng, 0, 2);
    a.indices_row = a.k + rng_range(rng, 0, 2);
    struct buffer x = buffer_make((size_t)((a.rows - 1) * a.x_row + a.columns) * 4);
    for (size_t i = 0; i < x.bytes / 4; i++)
        ((float *)x.data)[i] = few_values(rng);
    a.x = x.data;
    int failed = 0;
    for (size_t l = 0; l < context->n_levels; l++) {
        struct buffer values = buffer_make((size_t)((a.rows - 1) * a.values_row + a.k) * 4);
        struct buffer indices = buffer_make((size_t)((a.rows - 1) * a.indices_row + a.k) * 8);
        a.values = values.data;
        a.indices = indices.data;
        running("topk_f32", context->levels[l].name);
        run_jobs(rng, (ipex_kernel_fn)context->levels[l].kernels.topk_f32, &a, a.rows, 0);
        for (int64_t r = 0; r < a.rows; r++)
            if (!row_is_right(&a, r))
                failed += !report(false, "topk_f32", "%s: %lld of %lld", context->levels[l].name,
                                  (long long)a.k, (long long)a.columns);
        buffer_free(&values);
        buffer_free(&indices);
    }
    buffer_free(&x);
    return failed;
}

/* The sum that belongs to position m: of all before it in walking order, itself included or not. */
static void want_cumsum(const struct ipex_cumsum_args *a, int64_t o, int64_t m, int64_t i,
                        char *to) {
    float real = 0;
    uint64_t integer = 0;
    for (int64_t step = 0; step < a->middle; step++) {
        const int64_t at = a->reverse ? a->middle - 1 - step : step;
        if (at == m && a->exclusive)
            break;
        const int64_t from = o * a->x_outer + at * a->x_middle + i;
        if (a->dtype == IPEX_DTYPE_f32)
            real += ((const float *)a->x)[from];
        else
            integer += a->dtype == IPEX_DTYPE_i32 ? (uint64_t)((const int32_t *)a->x)[from]
                                                  : (uint64_t)((const int64_t *)a->x)[from];
        if (at == m)
            break;
    }
    if (a->dtype == IPEX_DTYPE_f32)
        memcpy(to, &real, 4);
    else
        memcpy(to, &integer, ipex_dtype_size((enum ipex_dtype)a->dtype));
}

static int check_cumsum(const struct context *context, struct rng *rng, int number) {
    static const int32_t dtypes[] = {IPEX_DTYPE_f32, IPEX_DTYPE_i32, IPEX_DTYPE_i64};
    struct ipex_cumsum_args a = {
        .outer = rng_range(rng, 1, 3),
        .middle = rng_range(rng, 1, 9),
        .inner = rng_range(rng, 1, 20),
        .dtype = dtypes[number % 3],
        .exclusive = rng_one_in(rng, 2),
        .reverse = rng_one_in(rng, 2),
    };
    const int64_t size = ipex_dtype_size((enum ipex_dtype)a.dtype);
    a.x_middle = a.inner + rng_range(rng, 0, 2);
    a.y_middle = a.inner + rng_range(rng, 0, 2);
    a.x_outer = a.middle * a.x_middle;
    a.y_outer = a.middle * a.y_middle;
    struct buffer x = buffer_make(
        (size_t)((a.outer - 1) * a.x_outer + (a.middle - 1) * a.x_middle + a.inner) * (size_t)size);
    for (size_t i = 0; i < x.bytes / 4; i++)
        if (a.dtype == IPEX_DTYPE_f32)
            ((float *)x.data)[i] = rng_value(rng, rng_one_in(rng, 20));
        else
            ((uint32_t *)x.data)[i] = (uint32_t)rng_next(rng);
    a.x = x.data;
    const size_t y_bytes =
        (size_t)((a.outer - 1) * a.y_outer + (a.middle - 1) * a.y_middle + a.inner) * (size_t)size;
    struct buffer want = buffer_make(y_bytes);
    fill_canary(&want);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t m = 0; m < a.middle; m++)
            for (int64_t i = 0; i < a.inner; i++)
                want_cumsum(&a, o, m, i,
                            (char *)want.data + (o * a.y_outer + m * a.y_middle + i) * size);
    int failed = 0;
    for (size_t l = 0; l < context->n_levels; l++) {
        struct buffer got = buffer_make(y_bytes);
        fill_canary(&got);
        a.y = got.data;
        running("cumsum", context->levels[l].name);
        run_jobs(rng, (ipex_kernel_fn)context->levels[l].kernels.cumsum, &a, a.outer, 0);
        const int64_t at = a.dtype == IPEX_DTYPE_f32 ? first_difference(&want, &got)
                                                     : first_byte_difference(&want, &got);
        if (at >= 0)
            failed +=
                !report(false, "cumsum", "%s: dtype %d exclusive %d reverse %d, at %lld",
                        context->levels[l].name, a.dtype, a.exclusive, a.reverse, (long long)at);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&x);
    return failed;
}

void check_order(const struct context *context) {
    struct rng rng = {context->seed + 8};
    int failed_arg = 0, failed_topk = 0, failed_cumsum = 0;
    for (int i = 0; i < context->cases; i++) {
        failed_arg += wanted(context, "arg_f32") ? check_arg(context, &rng) : 0;
        failed_topk += wanted(context, "topk_f32") ? check_topk(context, &rng) : 0;
        failed_cumsum += wanted(context, "cumsum") ? check_cumsum(context, &rng, i) : 0;
    }
    if (wanted(context, "arg_f32"))
        report(failed_arg == 0, "arg_f32: rows with equals", "%d failed", failed_arg);
    if (wanted(context, "topk_f32"))
        report(failed_topk == 0, "topk_f32: rows with equals", "%d failed", failed_topk);
    if (wanted(context, "cumsum"))
        report(failed_cumsum == 0, "cumsum: shapes and kinds", "%d failed", failed_cumsum);
}
