/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_f32: images of odd sizes, tails of channels and tiles, with every byte that is not part
 * of x, bias or residual poisoned; levels against the reference bit by bit, and the reference
 * against the direct convolution in f64. */
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct shape {
    int32_t images, lines, pixels, channels, n;
    int32_t x_gap, row_gap, y_gap, r_gap; /* unused elements between pixels, or after rows of x */
    int32_t tiles_per_job, panels_per_job, cache_l2;
    int32_t act;
    bool residual, in_place, special;
};

struct operands {
    struct buffer x, w, bias, residual, y;
    double *kernels; /* [n][channels][9], before their transform */
};

static int64_t tiles_of(const struct shape *s) {
    return (int64_t)s->images * ((s->lines + 3) / 4) * ((s->pixels + 3) / 4);
}

static struct ipex_winograd_args make_args(const struct shape *s) {
    const int64_t x_pixel = s->channels + s->x_gap;
    const int64_t x_row = x_pixel * (s->pixels + 2) + s->row_gap;
    const int64_t y_pixel = s->n + s->y_gap, r_pixel = s->n + s->r_gap;
    return (struct ipex_winograd_args){
        .x_image = x_row * (s->lines + 2),
        .x_row = x_row,
        .x_pixel = x_pixel,
        .y_image = y_pixel * s->pixels * s->lines,
        .y_line = y_pixel * s->pixels,
        .y_pixel = y_pixel,
        .r_image = r_pixel * s->pixels * s->lines,
        .r_line = r_pixel * s->pixels,
        .r_pixel = r_pixel,
        .images = s->images,
        .lines = s->lines,
        .pixels = s->pixels,
        .channels = s->channels,
        .n = s->n,
        .tiles_per_job = s->tiles_per_job,
        .panels_per_job = s->panels_per_job,
        .act = s->act,
        .act_a = s->act == IPEX_ACT_clip ? -0.5f : 0.2f,
        .act_b = s->act == IPEX_ACT_clip ? 1.5f : 0.5f,
        .cache_l2 = s->cache_l2,
    };
}

/* U = G g G^T. */
static void transform_kernel(const double *g, double *u) {
    static const double G[6][3] = {{0.25, 0, 0},
                                   {-1 / 6.0, -1 / 6.0, -1 / 6.0},
                                   {-1 / 6.0, 1 / 6.0, -1 / 6.0},
                                   {1 / 24.0, 1 / 12.0, 1 / 6.0},
                                   {1 / 24.0, -1 / 12.0, 1 / 6.0},
                                   {0, 0, 1}};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            u[i * 6 + j] = 0;
            for (int a = 0; a < 9; a++)
                u[i * 6 + j] += G[i][a / 3] * g[a] * G[j][a % 3];
        }
}

static void make_weights(const struct ipex_winograd_args *a, struct operands *o, struct rng *rng) {
    const int64_t panels = (a->n + 15) / 16, tiles = (a->channels + 15) / 16;
    o->w = buffer_make((size_t)(36 * panels * tiles * 1024));
    o->kernels = calloc((size_t)a->n * (size_t)a->channels * 9, sizeof(double));
    float *w = o->w.data;
    for (int64_t i = 0; i < 36 * panels * tiles * 256; i++)
        w[i] = 0.0f;
    for (int64_t n = 0; n < a->n; n++)
        for (int64_t c = 0; c < a->channels; c++) {
            double *g = o->kernels + (n * a->channels + c) * 9, u[36];
            for (int t = 0; t < 9; t++)
                g[t] = (double)rng_float(rng);
            transform_kernel(g, u);
            for (int z = 0; z < 36; z++)
                w[((z * panels + n / 16) * tiles * 16 + c) * 16 + n % 16] = (float)u[z];
        }
}

static struct operands make_operands(const struct shape *s, struct ipex_winograd_args *a,
                                     struct rng *rng) {
    const int64_t x_floats = a->images * a->x_image - s->row_gap - s->x_gap;
    const int64_t residuals = a->images * a->r_image - s->r_gap;
    struct operands o = {
        .x = buffer_make((size_t)x_floats * 4),
        .bias = buffer_make((size_t)a->n * 4),
        .residual = buffer_make((size_t)residuals * 4),
        .y = buffer_make((size_t)(a->images * a->y_image - s->y_gap) * 4),
    };
    make_weights(a, &o, rng);
    fill_poison(&o.x);
    for (int64_t r = 0; r < (int64_t)a->images * (a->lines + 2); r++)
        for (int64_t p = 0; p < a->pixels + 2; p++)
            for (int64_t c = 0; c < a->channels; c++)
                ((float *)o.x.data)[r * a->x_row + p * a->x_pixel + c] = rng_value(rng, s->special);
    for (int64_t n = 0; n < a->n; n++)
        ((float *)o.bias.data)[n] = rng_value(rng, s->special);
    for (int64_t i = 0; i < residuals; i++)
        ((float *)o.residual.data)[i] = rng_value(rng, s->special);
    fill_canary(&o.y);
    a->x = o.x.data;
    a->w = o.w.data;
    a->bias = o.bias.data;
    a->residual = s->residual ? o.residual.data : NULL;
    return o;
}

static void free_operands(struct operands *o) {
    buffer_free(&o->x);
    buffer_free(&o->w);
    buffer_free(&o->bias);
    buffer_free(&o->residual);
    buffer_free(&o->y);
    free(o->kernels);
}

/* Runs one level into a fresh copy of y. With in_place, y holds the residual before. */
static struct buffer run_level(const struct level *level, const struct shape *s,
                               const struct ipex_winograd_args *args, const struct operands *o,
                               struct rng *rng) {
    struct ipex_winograd_args a = *args;
    struct buffer y = buffer_copy(s->in_place ? &o->residual : &o->y);
    a.y = y.data;
    if (s->in_place)
        a.residual = y.data;
    running("winograd_f32", level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.winograd_f32, &a, ipex_winograd_jobs(&a),
             ipex_winograd_scratch(&a));
    return y;
}

/* One output of the direct convolution in f64. magnitude: of the terms, with the largest |x| that
 * its tile may hold in place of each x: what is subtracted in a tile need not be near the output.
 */
static double exact_output(const struct ipex_winograd_args *a, const struct operands *o,
                           const int64_t *at, double *ret_magnitude) {
    double sum = (double)a->bias[at[3]], magnitude = fabs(sum);
    for (int64_t c = 0; c < a->channels; c++)
        for (int64_t t = 0; t < 9; t++) {
            const double w = o->kernels[(at[3] * a->channels + c) * 9 + t];
            sum += w * (double)a->x[at[0] * a->x_image + (at[1] + t / 3) * a->x_row +
                                    (at[2] + t % 3) * a->x_pixel + c];
            magnitude += fabs(w);
        }
    if (a->residual) {
        const float r =
            a->residual[at[0] * a->r_image + at[1] * a->r_line + at[2] * a->r_pixel + at[3]];
        sum += (double)r;
        magnitude += fabs((double)r);
    }
    *ret_magnitude = magnitude;
    return sum;
}

/* The worst error as a share of the bound. A bound from the transforms' norms would be some 10^4 of
 * the direct convolution's and prove little: this one, for |x| <= 1, is three times what 10^4
 * random shapes were seen to reach, and a hundredth of what a wrong tap or sign does. */
static double worst_error(const struct ipex_winograd_args *a, const struct operands *o,
                          const float *y) {
    double worst = 0;
    for (int64_t i = 0; i < (int64_t)a->images * a->lines * a->pixels * a->n; i++) {
        const int64_t at[4] = {i / a->n / a->pixels / a->lines, i / a->n / a->pixels % a->lines,
                               i / a->n % a->pixels, i % a->n};
        double magnitude;
        const double sum = exact_output(a, o, at, &magnitude);
        const double want = exact_act(sum, a->act, (double)a->act_a, (double)a->act_b);
        const double got =
            (double)y[at[0] * a->y_image + at[1] * a->y_line + at[2] * a->y_pixel + at[3]];
        const double bound = 200 * 0x1p-24 * magnitude * act_slope(a->act, (double)a->act_a) +
                             0x1p-22 * fabs(want) + 0x1p-24;
        worst = fmax(worst, fabs(got - want) / bound);
    }
    return worst;
}

static void describe(const struct shape *s, const char *level, char *text, size_t size) {
    snprintf(text, size,
             "winograd_f32 %s: %dx%dx%d %d->%d act %d residual %d%s jobs %d,%d l2 %d gaps %d,%d%s",
             level, s->images, s->lines, s->pixels, s->channels, s->n, s->act, s->residual,
             s->in_place ? " in place" : "", s->tiles_per_job, s->panels_per_job, s->cache_l2,
             s->x_gap, s->y_gap, s->special ? " special" : "");
}

/* All levels on one shape; the number of failures. */
static int check_shape(const struct context *context, const struct shape *s, struct rng *rng,
                       double *worst) {
    struct ipex_winograd_args args = make_args(s);
    struct operands o = make_operands(s, &args, rng);
    struct buffer want = run_level(&context->levels[0], s, &args, &o, rng);
    char text[400];
    int failed = 0;
    if (!s->special) {
        const double error = worst_error(&args, &o, want.data);
        describe(s, "reference against f64", text, sizeof text);
        *worst = fmax(*worst, error);
        if (!(error <= 1))
            failed += !report(false, text, "error is %g of the bound", error);
    }
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_level(&context->levels[i], s, &args, &o, rng);
        const int64_t at = first_difference(&want, &got);
        describe(s, context->levels[i].name, text, sizeof text);
        if (at >= 0)
            failed += !report(false, text, "element %lld of %zu: %a, want %a", (long long)at,
                              want.bytes / 4, (double)((float *)got.data)[at],
                              (double)((float *)want.data)[at]);
        buffer_free(&got);
    }
    buffer_free(&want);
    free_operands(&o);
    return failed;
}

static struct shape random_shape(struct rng *rng) {
    struct shape s = {
        .images = (int32_t)rng_range(rng, 1, 2),
        .lines = (int32_t)rng_range(rng, 1, 14),
        .pixels = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 30 : 10),
        .channels = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 70 : 20),
        .n = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 100 : 40),
        .x_gap = rng_one_in(rng, 4) ? (int32_t)rng_range(rng, 1, 9) : 0,
        .row_gap = rng_one_in(rng, 4) ? (int32_t)rng_range(rng, 1, 9) : 0,
        .y_gap = rng_one_in(rng, 2) ? (int32_t)rng_range(rng, 1, 20) : 0,
        .act = (int32_t)rng_range(rng, 0, IPEX_ACT_COUNT - 1),
        .residual = rng_one_in(rng, 2),
        .special = rng_one_in(rng, 5),
        .cache_l2 = rng_one_in(rng, 2) ? 1 << 20 : (int32_t)rng_range(rng, 1, 20000),
    };
    s.in_place = s.residual && rng_one_in(rng, 2);
    s.r_gap = s.in_place ? s.y_gap : (int32_t)rng_range(rng, 0, 5);
    s.tiles_per_job = (int32_t)rng_range(rng, 1, tiles_of(&s));
    s.panels_per_job = (int32_t)rng_range(rng, 1, (s.n + 15) / 16);
    return s;
}

/* Every cut of the last tile with every cut of a vector of channels, in and out. */
static int check_tails(const struct context *context, struct rng *rng, double *worst) {
    int failed = 0;
    for (int32_t size = 1; size <= 9; size++)
        for (int32_t cut = 0; cut < 16; cut++) {
            const struct shape s = {
                .images = 1,
                .lines = size,
                .pixels = 10 - size,
                .channels = 32 - cut,
                .n = 17 + cut,
                .tiles_per_job = 2,
                .panels_per_job = 1 + cut % 2,
                .cache_l2 = 1 << 20,
                .act = cut % 3 ? IPEX_ACT_relu : IPEX_ACT_none,
                .residual = cut % 4 == 1,
            };
            failed += check_shape(context, &s, rng, worst);
        }
    return failed;
}

void check_winograd(const struct context *context) {
    if (!wanted(context, "winograd_f32"))
        return;
    struct rng rng = {context->seed + 4};
    double worst = 0;
    report(check_tails(context, &rng, &worst) == 0, "winograd_f32: every tail", "see above");
    int failed = 0;
    for (int i = 0; i < context->cases; i++) {
        const struct shape s = random_shape(&rng);
        failed += check_shape(context, &s, &rng, &worst);
    }
    report(failed == 0, "winograd_f32: random shapes", "%d failed", failed);
    printf("# winograd_f32: worst error %.3g of the bound\n", worst);
}
