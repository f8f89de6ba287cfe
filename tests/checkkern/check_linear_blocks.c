/* SPDX-License-Identifier: Apache-2.0 */
/* linear_blocks_f32, linear_blocks_i8 and linear_f16: random sizes, gaps, blocks, jobs and values,
 * the reference against f64. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/product_jobs.h"
#include "tests/checkkern/checkkern.h"

enum kind { FLOATS, ROUNDED, HALVES, KINDS };
static const char *const names[KINDS] = {"linear_blocks_f32", "linear_blocks_i8", "linear_f16"};

struct operands {
    struct buffer x, w, scale, scale_bf16, zero, bias, residual, y;
};

static struct buffer floats(struct rng *rng, int64_t rows, int64_t row, bool special) {
    struct buffer ret = buffer_make((size_t)(rows * row) * sizeof(float));
    for (int64_t i = 0; i < rows * row; i++)
        ((float *)ret.data)[i] = rng_value(rng, special);
    return ret;
}

static struct buffer bytes(struct rng *rng, int64_t n) {
    struct buffer ret = buffer_make((size_t)n);
    for (int64_t i = 0; i < n; i++)
        ((uint8_t *)ret.data)[i] = (uint8_t)rng_range(rng, 0, 255);
    return ret;
}

/* Without gaps behind the last row, so that what is read behind it is seen. */
static int64_t pitch(struct rng *rng, int64_t rows, int64_t n) {
    return rows > 1 && rng_one_in(rng, 2) ? n + rng_range(rng, 1, 20) : n;
}

static struct buffer matrix(struct rng *rng, int64_t rows, int64_t n, int64_t row, bool special) {
    struct buffer all = floats(rng, rows, row, special);
    struct buffer ret = buffer_make((size_t)((rows - 1) * row + n) * sizeof(float));
    memcpy(ret.data, all.data, ret.bytes);
    buffer_free(&all);
    return ret;
}

/* Random bytes are numbers of f16 of all sizes; not so large that sums lose what f64 keeps, and,
 * but for special ones, finite. */
static void make_halves(struct rng *rng, struct buffer *w, bool special) {
    uint16_t *half = (uint16_t *)w->data;
    for (size_t i = 0; i < w->bytes / sizeof *half; i++)
        if (!special || !rng_one_in(rng, 50))
            half[i] &= 0xbfff; /* less than 2 */
}

static struct operands make_operands(struct rng *rng, struct ipex_blocks_args *args, enum kind kind,
                                     bool special) {
    const int64_t panels = (args->n + 15) / 16, rows = args->rows;
    const int64_t factors = panels * ipex_blocks_count(args) * IPEX_PANEL;
    args->x_row = pitch(rng, rows, args->k);
    args->y_row = pitch(rng, rows, args->n);
    args->r_row = pitch(rng, rows, args->n);
    struct operands o = {
        .x = matrix(rng, rows, args->k, args->x_row, special),
        .w = bytes(rng, panels * ipex_blocks_panel(args)),
        .scale = floats(rng, 1, factors, special && rng_one_in(rng, 2)),
        .zero = bytes(rng, factors),
        .bias = floats(rng, panels, IPEX_PANEL, special && rng_one_in(rng, 2)),
        .residual = matrix(rng, rows, args->n, args->r_row, special),
        .y = matrix(rng, rows, args->n, args->y_row, false),
    };
    args->x = o.x.data;
    args->w = o.w.data;
    const bool halved = rng_one_in(rng, 2);
    o.scale_bf16 = halved ? cut_to_bf16(&o.scale) : buffer_make(0);
    args->scale = halved ? NULL : o.scale.data;
    args->scale_bf16 = halved ? o.scale_bf16.data : NULL;
    args->zero = rng_one_in(rng, 2) ? o.zero.data : NULL;
    if (kind == HALVES) {
        args->scale = NULL, args->scale_bf16 = NULL, args->zero = NULL;
        make_halves(rng, &o.w, special);
    }
    args->bias = o.bias.data;
    args->residual = rng_one_in(rng, 2) ? o.residual.data : NULL;
    return o;
}

static void free_operands(struct operands *o) {
    struct buffer *all[] = {&o->x,    &o->w,    &o->scale,    &o->scale_bf16,
                            &o->zero, &o->bias, &o->residual, &o->y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_free(all[i]);
}

static struct buffer run(const struct level *level, const struct ipex_blocks_args *args,
                         const struct operands *o, enum kind kind, struct rng *rng) {
    struct ipex_blocks_args a = *args;
    struct buffer ret = buffer_copy(&o->y);
    fill_canary(&ret);
    a.y = ret.data;
    running(names[kind], level->name);
    const ipex_kernel_fn kernel =
        (ipex_kernel_fn)(kind == ROUNDED  ? level->kernels.linear_blocks_i8
                         : kind == HALVES ? level->kernels.linear_f16
                                          : level->kernels.linear_blocks_f32);
    run_jobs(rng, kernel, &a, ipex_blocks_jobs(&a), ipex_blocks_scratch(&a, kind == ROUNDED));
    return ret;
}

/* A weight without its scale. */
static double number(const struct ipex_blocks_args *a, int64_t n, int64_t k) {
    const uint8_t *panel = a->w + n / 16 * ipex_blocks_panel(a);
    if (a->bits == 16)
        return f16_value(((const uint16_t *)(const void *)panel)[k * 16 + n % 16]);
    const int64_t at = (n / 16 * ipex_blocks_count(a) + k / a->block) * 16 + n % 16;
    if (a->bits == 8)
        return panel[(k / 4 * 16 + n % 16) * 4 + k % 4] - (a->zero ? a->zero[at] : 128);
    const uint8_t byte = panel[(k / 8 * 16 + n % 16) * 4 + k % 4];
    return (k % 8 < 4 ? byte % 16 : byte / 16) - (a->zero ? a->zero[at] % 16 : 8);
}

static double scale_of(const struct ipex_blocks_args *a, int64_t n, int64_t k) {
    if (a->bits == 16)
        return 1;
    const int64_t at = (n / 16 * ipex_blocks_count(a) + k / a->block) * 16 + n % 16;
    const uint32_t bits = a->scale ? 0 : (uint32_t)a->scale_bf16[at] << 16;
    float ret;
    memcpy(&ret, a->scale ? (const void *)(a->scale + at) : &bits, sizeof ret);
    return (double)ret;
}

/* Of a block of a row. */
static double top_of(const struct ipex_blocks_args *a, int64_t m, int64_t k) {
    const int64_t first = k / a->block * a->block;
    double ret = 0;
    for (int64_t i = first; i < first + a->block && i < a->k; i++)
        ret = fmax(ret, fabs((double)a->x[m * a->x_row + i]));
    return ret;
}

/* The worst result in units of what it may be off: f32 rounds some times for every product, and of
 * rows that are rounded, each element may be off by half a step, and a bit. */
static double worst_error(const struct ipex_blocks_args *a, const struct buffer *y,
                          enum kind kind) {
    double worst = 0;
    for (int64_t m = 0; m < a->rows; m++)
        for (int64_t n = 0; n < a->n; n++) {
            double sum = (double)a->bias[n], size = fabs(sum), step = 0;
            for (int64_t k = 0; k < a->k; k++) {
                const double w = number(a, n, k) * scale_of(a, n, k);
                sum += (double)a->x[m * a->x_row + k] * w;
                size += fabs((double)a->x[m * a->x_row + k] * w);
                step += kind == ROUNDED ? 0.5001 * fabs(w) * top_of(a, m, k) / 127 : 0;
            }
            if (a->residual)
                sum += (double)a->residual[m * a->r_row + n];
            const double want = exact_act(sum, a->act, (double)a->act_a, (double)a->act_b);
            const double got = (double)((const float *)y->data)[m * a->y_row + n];
            const double bound =
                act_slope(a->act, (double)a->act_a) *
                    (step + 0x1p-23 * (double)(a->k + 8) * (size + fabs(sum) + step)) +
                0x1p-20 * fabs(want) + 0x1p-100;
            worst = fmax(worst, fabs(got - want) / bound);
        }
    return worst;
}

/* Sessions ask for the scratch of the most rows, and then run with fewer. */
static int check_scratch(struct rng *rng, const struct ipex_blocks_args *args, enum kind kind) {
    struct ipex_blocks_args fewer = *args, more = *args;
    more.rows = (int32_t)rng_range(rng, 1, 2000);
    fewer.rows = (int32_t)rng_range(rng, 1, more.rows);
    const size_t most = ipex_blocks_scratch(&more, kind == ROUNDED);
    const size_t least = ipex_blocks_scratch(&fewer, kind == ROUNDED);
    return least <= most
               ? 0
               : !report(false, names[kind],
                         "%d rows of %d in blocks of %d with l2 %d take %zu bytes, %d "
                         "rows %zu",
                         fewer.rows, args->k, args->block, args->cache_l2, least, more.rows, most);
}

static int check(const struct context *context, struct rng *rng, enum kind kind, bool big) {
    const char *name = names[kind];
    struct ipex_blocks_args args = {
        .rows = (int32_t)(rng_one_in(rng, 3) ? 1 : rng_range(rng, 1, big ? 60 : 20)),
        .k = (int32_t)rng_range(rng, 1, big ? 1500 : 300),
        .n = (int32_t)rng_range(rng, 1, 70),
        .bits = rng_one_in(rng, 2) ? 8 : 4,
        .block = 16 << rng_range(rng, 0, 4),
        .act = rng_one_in(rng, 2) ? IPEX_ACT_none : (int32_t)rng_range(rng, 0, IPEX_ACT_COUNT - 1),
        .act_a = 0.25f,
        .act_b = 0.5f,
        .cache_l2 = rng_one_in(rng, 2) ? 1 << 20 : (int32_t)rng_range(rng, 2000, 60000),
    };
    if (rng_one_in(rng, 4))
        args.block = 16 * (int32_t)rng_range(rng, 1, 16);
    if (kind == HALVES)
        args.bits = 16, args.block = 1;
    if (kind == HALVES && rng_one_in(rng, 20)) /* beyond what is multiplied at a time */
        args.rows = (int32_t)rng_range(rng, 505, 540), args.k = (int32_t)rng_range(rng, 1, 40);
    args.rows_per_job = (int32_t)rng_range(rng, 1, args.rows);
    args.panels_per_job = (int32_t)rng_range(rng, 1, (args.n + 15) / 16);
    const bool special = rng_one_in(rng, 4);
    struct operands o = make_operands(rng, &args, kind, special);
    struct buffer want = run(&context->levels[0], &args, &o, kind, rng);
    const double worst = special ? 0 : worst_error(&args, &want, kind);
    int failed = check_scratch(rng, &args, kind);
    failed += worst <= 1
                  ? 0
                  : !report(false, name,
                            "reference: %d x %d x %d, %d bits, block %d, act %d: %g of "
                            "the bound",
                            args.rows, args.k, args.n, args.bits, args.block, args.act, worst);
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run(&context->levels[i], &args, &o, kind, rng);
        const int64_t at = first_difference(&want, &got);
        if (at >= 0)
            failed += !report(
                false, name,
                "%s: %d x %d x %d, %d bits, block %d%s%s, act %d, jobs %d x %d, l2 %d, rows of "
                "%lld: element %lld",
                context->levels[i].name, args.rows, args.k, args.n, args.bits, args.block,
                args.zero ? ", zeros" : "", args.residual ? ", residual" : "", args.act,
                args.rows_per_job, args.panels_per_job, args.cache_l2, (long long)args.y_row,
                (long long)at);
        buffer_free(&got);
    }
    buffer_free(&want);
    free_operands(&o);
    return failed;
}

static void check_slot(const struct context *context, enum kind kind) {
    const char *name = names[kind];
    struct rng rng = {context->seed + 11 + kind};
    int failed = 0;
    if (!wanted(context, name))
        return;
    for (int i = 0; i < context->cases; i++)
        failed += check(context, &rng, kind, i % 8 == 0);
    char text[64];
    snprintf(text, sizeof text, "%s: random shapes", name);
    report(failed == 0, text, "%d failed", failed);
}

void check_linear_blocks(const struct context *context) {
    for (enum kind kind = 0; kind < KINDS; kind++)
        check_slot(context, kind);
}
