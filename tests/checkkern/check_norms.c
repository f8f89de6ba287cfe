/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm_f32 and group_norm_f32: sizes around the lanes, gaps, special values; the reference
 * against f64. */
#include <math.h>

#include "tests/checkkern/checkkern.h"

static struct buffer make_values(struct rng *rng, int64_t count, bool special) {
    struct buffer ret = buffer_make((size_t)count * 4);
    for (int64_t i = 0; i < count; i++)
        ((float *)ret.data)[i] = rng_value(rng, special);
    return ret;
}

/* Some value of its own for every element, far from 0 now and then: what tells two passes from one.
 */
static void shift_values(struct buffer *x, struct rng *rng) {
    const float shift = rng_one_in(rng, 2) ? 0.0f : 10 * rng_float(rng);
    for (size_t i = 0; i < x->bytes / 4; i++)
        ((float *)x->data)[i] += shift;
}

static int compare(const struct context *context, size_t level, const char *name, int64_t size,
                   const struct buffer *want, const struct buffer *got) {
    const int64_t at = first_difference(want, got);
    return at >= 0 && !report(false, name, "%s: size %lld, element %lld: %a, want %a",
                              context->levels[level].name, (long long)size, (long long)at,
                              (double)((float *)got->data)[at], (double)((float *)want->data)[at]);
}

/* Of n elements x[i] with mean and deviation known in f64: how far y[i] may be from the truth. The
 * mean is off by up to (terms + 2) 2^-24 of the largest element, the variance relatively so. */
static double norm_bound(double largest, double deviation, double difference, double gamma,
                         double beta, double terms) {
    const double rounding = (terms + 8) * 0x1p-24;
    return rounding * (largest / deviation * 2 + 2 * fabs(difference) / deviation) * fabs(gamma) +
           rounding * fabs(beta) + 0x1p-24;
}

/* ---- layer norm ---- */

static struct buffer run_layer(const struct level *level, const struct ipex_layer_norm_args *args,
                               struct rng *rng) {
    struct ipex_layer_norm_args a = *args;
    struct buffer y = buffer_make((size_t)((a.rows - 1) * a.y_row + a.columns) * 4);
    fill_canary(&y);
    a.y = y.data;
    running("layer_norm_f32", level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.layer_norm_f32, &a, a.rows, 0);
    return y;
}

static double layer_error(const struct ipex_layer_norm_args *a, const float *y) {
    double worst = 0;
    const double n = (double)a->columns;
    for (int64_t r = 0; r < a->rows; r++, y += a->y_row) {
        const float *x = a->x + r * a->x_row;
        double mean = 0, squares = 0, largest = 0;
        for (int64_t i = 0; i < a->columns; i++) {
            mean += a->rms ? 0 : (double)x[i] / n;
            largest = fmax(largest, fabs((double)x[i]));
        }
        for (int64_t i = 0; i < a->columns; i++)
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        const double deviation = sqrt(squares / n + (double)a->eps);
        for (int64_t i = 0; i < a->columns; i++) {
            const double gamma = a->gamma ? (double)a->gamma[i] : 1;
            const double beta = a->beta ? (double)a->beta[i] : 0, d = (double)x[i] - mean;
            const double v = d / deviation * gamma + beta;
            const double want = exact_act(v, a->act, (double)a->act_a, (double)a->act_b);
            const double bound = norm_bound(largest, deviation, d, gamma, beta, n / 16) *
                                     act_slope(a->act, (double)a->act_a) +
                                 0x1p-22 * fabs(want);
            worst = fmax(worst, fabs((double)y[i] - want) / bound);
        }
    }
    return worst;
}

static int check_layer(const struct context *context, struct rng *rng, int64_t columns) {
    struct ipex_layer_norm_args args = {
        .rows = rng_range(rng, 1, 4),
        .columns = columns,
        .x_row = columns + rng_range(rng, 0, 3),
        .y_row = columns + rng_range(rng, 0, 3),
        .rms = rng_one_in(rng, 2),
        .eps = rng_one_in(rng, 2) ? 1e-5f : 1e-2f,
        .act = rng_one_in(rng, 2) ? 0 : (int32_t)rng_range(rng, 0, IPEX_ACT_COUNT - 1),
        .act_a = 0.2f,
        .act_b = 0.5f,
    };
    const bool special = rng_one_in(rng, 4);
    struct buffer x = make_values(rng, (args.rows - 1) * args.x_row + columns, special);
    struct buffer gamma = make_values(rng, columns, special);
    struct buffer beta = make_values(rng, columns, special);
    shift_values(&x, rng);
    args.x = x.data;
    args.gamma = rng_one_in(rng, 3) ? NULL : gamma.data;
    args.beta = rng_one_in(rng, 3) ? NULL : beta.data;
    struct buffer want = run_layer(&context->levels[0], &args, rng);
    int failed = 0;
    const double error = special ? 0 : layer_error(&args, want.data);
    if (!(error <= 1))
        failed +=
            !report(false, "layer_norm_f32 reference against f64",
                    "columns %lld, act %d: %g of the bound", (long long)columns, args.act, error);
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_layer(&context->levels[i], &args, rng);
        failed += compare(context, i, "layer_norm_f32 row", columns, &want, &got);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&x);
    buffer_free(&gamma);
    buffer_free(&beta);
    return failed;
}

/* ---- group norm ---- */

static struct buffer run_group(const struct level *level, const struct ipex_group_norm_args *args,
                               struct rng *rng) {
    struct ipex_group_norm_args a = *args;
    struct buffer y = buffer_make((size_t)(a.images * a.y_image) * 4);
    fill_canary(&y);
    a.y = y.data;
    running("group_norm_f32", level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.group_norm_f32, &a, ipex_group_norm_jobs(&a),
             ipex_group_norm_scratch(&a));
    return y;
}

/* Calls visit for every element of a group. */
struct group_walk {
    const struct ipex_group_norm_args *args;
    const float *y;
    double mean, squares, largest, worst;
};

static void visit_group(struct group_walk *w, int64_t image, int64_t group,
                        void (*visit)(struct group_walk *, float x, float y, int64_t channel)) {
    const struct ipex_group_norm_args *a = w->args;
    const int64_t per_group = a->channels / a->groups;
    for (int64_t l = 0; l < a->lines; l++)
        for (int64_t p = 0; p < a->pixels; p++)
            for (int64_t c = group * per_group; c < (group + 1) * per_group; c++)
                visit(w, a->x[image * a->x_image + l * a->x_line + p * a->x_pixel + c],
                      w->y[image * a->y_image + l * a->y_line + p * a->y_pixel + c], c);
}

static double group_size(const struct ipex_group_norm_args *a) {
    return (double)a->lines * a->pixels * (a->channels / a->groups);
}

static void visit_mean(struct group_walk *w, float x, float y, int64_t channel) {
    (void)y, (void)channel;
    w->mean += (double)x / group_size(w->args);
    w->largest = fmax(w->largest, fabs((double)x));
}

static void visit_squares(struct group_walk *w, float x, float y, int64_t channel) {
    (void)y, (void)channel;
    w->squares += ((double)x - w->mean) * ((double)x - w->mean);
}

static void visit_error(struct group_walk *w, float x, float y, int64_t channel) {
    const struct ipex_group_norm_args *a = w->args;
    const double deviation = sqrt(w->squares / group_size(a) + (double)a->eps);
    const double gamma = a->gamma ? (double)a->gamma[channel] : 1;
    const double beta = a->beta ? (double)a->beta[channel] : 0, d = (double)x - w->mean;
    const double want =
        exact_act(d / deviation * gamma + beta, a->act, (double)a->act_a, (double)a->act_b);
    const int32_t run = a->pixels < IPEX_NORM_RUN ? a->pixels : IPEX_NORM_RUN;
    const double terms = run + a->lines * ceil((double)a->pixels / IPEX_NORM_RUN) +
                         (double)(a->channels / a->groups) / 16;
    const double bound = norm_bound(w->largest, deviation, d, gamma, beta, terms) *
                             act_slope(a->act, (double)a->act_a) +
                         0x1p-22 * fabs(want);
    w->worst = fmax(w->worst, fabs((double)y - want) / bound);
}

static double group_error(const struct ipex_group_norm_args *a, const float *y) {
    double worst = 0;
    for (int64_t i = 0; i < (int64_t)a->images * a->groups; i++) {
        struct group_walk w = {.args = a, .y = y};
        visit_group(&w, i / a->groups, i % a->groups, visit_mean);
        visit_group(&w, i / a->groups, i % a->groups, visit_squares);
        visit_group(&w, i / a->groups, i % a->groups, visit_error);
        worst = fmax(worst, w.worst);
    }
    return worst;
}

static int check_group(const struct context *context, struct rng *rng) {
    struct ipex_group_norm_args args = {
        .images = (int32_t)rng_range(rng, 1, 2),
        .lines = (int32_t)rng_range(rng, 1, 6),
        .pixels = (int32_t)rng_range(rng, 1, 9),
        .groups = (int32_t)rng_range(rng, 1, 12),
        .eps = 1e-5f,
        .act = rng_one_in(rng, 2) ? 0 : (int32_t)rng_range(rng, 0, IPEX_ACT_COUNT - 1),
        .act_a = 0.2f,
        .act_b = 0.5f,
    };
    const bool lengthy = rng_one_in(rng, 4); /* lines of several runs, few channels */
    if (lengthy) {
        args.lines = (int32_t)rng_range(rng, 1, 2);
        args.pixels = (int32_t)rng_range(rng, 60, 700);
        args.groups = (int32_t)rng_range(rng, 1, 4);
    }
    const int32_t per_group = rng_one_in(rng, 3) ? 1 : (int32_t)rng_range(rng, 1, lengthy ? 9 : 40);
    args.channels = args.groups * per_group;
    args.groups_per_job = (int32_t)rng_range(rng, 1, args.groups);
    args.x_pixel = args.channels + rng_range(rng, 0, 2);
    args.x_line = args.pixels * args.x_pixel + rng_range(rng, 0, 2);
    args.x_image = args.lines * args.x_line;
    args.y_pixel = args.channels + rng_range(rng, 0, 2);
    args.y_line = args.pixels * args.y_pixel + rng_range(rng, 0, 2);
    args.y_image = args.lines * args.y_line;
    const bool special = rng_one_in(rng, 4);
    struct buffer x = make_values(rng, args.images * args.x_image, special);
    struct buffer gamma = make_values(rng, args.channels, special);
    struct buffer beta = make_values(rng, args.channels, special);
    shift_values(&x, rng);
    args.x = x.data;
    args.gamma = rng_one_in(rng, 3) ? NULL : gamma.data;
    args.beta = rng_one_in(rng, 3) ? NULL : beta.data;
    struct buffer want = run_group(&context->levels[0], &args, rng);
    int failed = 0;
    const double error = special ? 0 : group_error(&args, want.data);
    if (!(error <= 1))
        failed += !report(false, "group_norm_f32 reference against f64", "act %d: %g of the bound",
                          args.act, error);
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_group(&context->levels[i], &args, rng);
        failed += compare(context, i, "group_norm_f32 shape", args.channels, &want, &got);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&x);
    buffer_free(&gamma);
    buffer_free(&beta);
    return failed;
}

void check_norms(const struct context *context) {
    struct rng rng = {context->seed + 10};
    int failed_layer = 0, failed_group = 0;
    for (int i = 0; i < context->cases * 2; i++) {
        const int64_t n = i < 70 ? i + 1 : rng_range(&rng, 1, 500);
        failed_layer += wanted(context, "layer_norm_f32") ? check_layer(context, &rng, n) : 0;
        failed_group += wanted(context, "group_norm_f32") ? check_group(context, &rng) : 0;
    }
    if (wanted(context, "layer_norm_f32"))
        report(failed_layer == 0, "layer_norm_f32: row lengths", "%d failed", failed_layer);
    if (wanted(context, "group_norm_f32"))
        report(failed_group == 0, "group_norm_f32: shapes", "%d failed", failed_group);
}
