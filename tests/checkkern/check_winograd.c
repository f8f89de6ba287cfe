/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_f32: images of odd sizes, and upsampled ones, tails of channels and tiles, with every
 * byte that is not part of x, bias or residual poisoned; levels against the reference bit by bit,
 * and the reference against the direct convolution in f64. */
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct shape {
    int32_t images, lines, pixels, channels, n, dilation_h, dilation_w;
    int32_t x_gap, row_gap, y_gap, r_gap; /* unused elements between pixels, or after rows of x */
    int32_t tile, up, tiles_per_job, panels_per_job, cache_l2; /* up: 0, or tile */
    int32_t act;
    bool residual, in_place, weights_far, special;
};

struct operands {
    struct buffer x, w, bias, residual, y;
    double *kernels; /* [n][channels][9], before their transform */
};

static int64_t tiles_of(const struct shape *s) {
    int64_t down = 0, across = 0;
    for (int32_t i = 0; i < s->dilation_h && i < s->lines; i++)
        down += ((s->lines - i - 1) / s->dilation_h + s->tile) / s->tile;
    for (int32_t i = 0; i < s->dilation_w && i < s->pixels; i++)
        across += ((s->pixels - i - 1) / s->dilation_w + s->tile) / s->tile;
    return s->images * down * across;
}

/* Of x, without its halo, along an axis where y has `size`. */
static int64_t x_size(int32_t up, int64_t size) {
    return up ? size / up : size;
}

static struct ipex_winograd_args make_args(const struct shape *s) {
    const int64_t x_pixel = s->channels + s->x_gap;
    const int64_t x_row = x_pixel * (x_size(s->up, s->pixels) + 2 * s->dilation_w) + s->row_gap;
    const int64_t y_pixel = s->n + s->y_gap, r_pixel = s->n + s->r_gap;
    return (struct ipex_winograd_args){
        .x_image = x_row * (x_size(s->up, s->lines) + 2 * s->dilation_h),
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
        .tile = s->tile,
        .up = s->up,
        .dilation_h = s->dilation_h,
        .dilation_w = s->dilation_w,
        .tiles_per_job = s->tiles_per_job,
        .panels_per_job = s->panels_per_job,
        .act = s->act,
        .act_a = s->act == IPEX_ACT_clip ? -0.5f : 0.2f,
        .act_b = s->act == IPEX_ACT_clip ? 1.5f : 0.5f,
        .weights_far = s->weights_far,
        .cache_l2 = s->cache_l2,
    };
}

/* The matrices of F(4,3) and of F(2,3): of g, d and m. */
static const double G4[6][3] = {{0.25, 0, 0},
                                {-1 / 6.0, -1 / 6.0, -1 / 6.0},
                                {-1 / 6.0, 1 / 6.0, -1 / 6.0},
                                {1 / 24.0, 1 / 12.0, 1 / 6.0},
                                {1 / 24.0, -1 / 12.0, 1 / 6.0},
                                {0, 0, 1}};
static const double G2[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
static const double B4[36] = {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
                              0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1};
static const double B2[16] = {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1};
static const double A4[24] = {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0,
                              0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1};
static const double A2[8] = {1, 1, 1, 0, 0, 1, -1, -1};
/* And of an upsampled image. */
enum { UP_MAX = 8 };
static const double GU[3][3] = {{1, 0, 0}, {1, 1, 1}, {0, 0, 1}};
static const double BU[9] = {1, -1, 0, 0, 1, 0, 0, -1, 1};

/* A: [tile][side] */
static void output_matrix(const struct ipex_winograd_args *a, double *A) {
    const double *t = a->tile == 4 ? A4 : A2;
    for (int32_t i = 0; !a->up && i < a->tile * (a->tile + 2); i++)
        A[i] = t[i];
    for (int32_t r = 0; r < a->up; r++) {
        A[3 * r] = r == 0;
        A[3 * r + 1] = 1;
        A[3 * r + 2] = r == a->up - 1;
    }
}

/* U = G g G^T. */
static void transform_kernel(const struct ipex_winograd_args *a, const double *g, double *u) {
    const double(*G)[3] = a->up ? GU : a->tile == 4 ? G4 : G2;
    const int side = (int)ipex_winograd_side(a);
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            u[i * side + j] = 0;
            for (int t = 0; t < 9; t++)
                u[i * side + j] += G[i][t / 3] * g[t] * G[j][t % 3];
        }
}

static void make_weights(const struct ipex_winograd_args *a, struct operands *o, struct rng *rng) {
    const int64_t panels = (a->n + 15) / 16, tiles = (a->channels + 15) / 16;
    const int points = (int)ipex_winograd_products(a);
    o->w = buffer_make((size_t)(points * panels * tiles * 1024));
    o->kernels = calloc((size_t)a->n * (size_t)a->channels * 9, sizeof(double));
    float *w = o->w.data;
    for (int64_t i = 0; i < points * panels * tiles * 256; i++)
        w[i] = 0.0f;
    for (int64_t n = 0; n < a->n; n++)
        for (int64_t c = 0; c < a->channels; c++) {
            double *g = o->kernels + (n * a->channels + c) * 9, u[36];
            for (int t = 0; t < 9; t++)
                g[t] = (double)rng_float(rng);
            transform_kernel(a, g, u);
            for (int z = 0; z < points; z++)
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
    for (int64_t r = 0; r < a->images * (x_size(a->up, a->lines) + 2 * a->dilation_h); r++)
        for (int64_t p = 0; p < x_size(a->up, a->pixels) + 2 * a->dilation_w; p++)
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

/* A value of the computation in f64, and the sum of squares of what roundings may have added to it:
 * in units of (2^-24)^2, every rounding of a value v taken as an independent error of at most
 * 2^-24 |v|. */
struct estimate {
    double value, square;
};

/* One pass of a transform: out [columns][rows] = the transpose of t [rows][terms] times in
 * [terms][columns], so
 * that two passes make t * in * t^T. Of a term there is at most one rounding of its product and one
 * of the sum, which is no greater than all terms together. shared: how many values of the result,
 * or of the next pass, one rounding may reach; their errors then add up, and the square of a sum of
 * n is at most n times the sum of squares. */
static void estimate_pass(const double *t, int rows, int side, int columns, int shared,
                          const struct estimate *in, struct estimate *out) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            double value = 0, size = 0, square = 0;
            int terms = 0;
            for (int k = 0; k < side; k++) {
                const struct estimate *e = &in[k * columns + c];
                const double factor = t[r * side + k];
                value += factor * e->value;
                size += fabs(factor * e->value);
                square += factor * factor * e->square;
                terms += factor != 0;
            }
            square += shared * 2 * terms * size * size;
            out[c * rows + r] = (struct estimate){value, square};
        }
}

/* v [channels][points] of the tile whose first output is (image, line, pixel). */
static void estimate_input(const struct ipex_winograd_args *a, const int64_t *at,
                           struct estimate *v) {
    const float *x = a->x + at[0] * a->x_image + x_size(a->up, at[1]) * a->x_row +
                     x_size(a->up, at[2]) * a->x_pixel;
    const int64_t dh = a->dilation_h, dw = a->dilation_w;
    const int side = (int)ipex_winograd_side(a);
    const double *b = a->up ? BU : a->tile == 4 ? B4 : B2;
    for (int64_t c = 0; c < a->channels; c++, v += side * side) {
        struct estimate d[36] = {{0, 0}}, half[36];
        for (int64_t r = 0; r < side && (a->up || at[1] + r * dh < a->lines + 2 * dh); r++)
            for (int64_t s = 0; s < side && (a->up || at[2] + s * dw < a->pixels + 2 * dw); s++)
                d[r * side + s].value = (double)x[r * dh * a->x_row + s * dw * a->x_pixel + c];
        /* A rounding of (d4 - 4 d2), say, is in two values, and those are in `side` each. */
        estimate_pass(b, side, side, side, 2 * side, d, half);
        estimate_pass(b, side, side, side, 2, half, v);
    }
}

/* y [tile][tile] of one output channel: the chains over channels and the output transform. */
static void estimate_output(const struct ipex_winograd_args *a, const double *kernels,
                            const struct estimate *v, struct estimate *y) {
    struct estimate m[36] = {{0, 0}}, half[24];
    const int tile = a->tile, side = (int)ipex_winograd_side(a), points = side * side;
    double t[24];
    output_matrix(a, t);
    for (int64_t c = 0; c < a->channels; c++, v += points) {
        double u[36];
        transform_kernel(a, kernels + c * 9, u);
        for (int z = 0; z < points; z++) {
            const double product = u[z] * v[z].value;
            m[z].value += product;
            m[z].square += u[z] * u[z] * v[z].square + product * product; /* u is rounded too */
            m[z].square += m[z].value * m[z].value;
        }
    }
    estimate_pass(t, tile, side, side, 1, m, half);
    estimate_pass(t, tile, side, tile, 1, half, y);
}

/* Where x, halo included, has what tap t of a kernel reads at `at` of y. */
static int64_t row_read(const struct ipex_winograd_args *a, int64_t at, int64_t t,
                        int64_t dilation) {
    return a->up ? (at + t - 1 + a->up) / a->up : at + t * dilation;
}

/* One output of the direct convolution in f64; size: of the terms of its last two sums. */
static double exact_output(const struct ipex_winograd_args *a, const struct operands *o,
                           const int64_t *at, double *ret_size) {
    double sum = 0;
    for (int64_t c = 0; c < a->channels; c++)
        for (int64_t t = 0; t < 9; t++)
            sum +=
                o->kernels[(at[3] * a->channels + c) * 9 + t] *
                (double)
                    a->x[at[0] * a->x_image + row_read(a, at[1], t / 3, a->dilation_h) * a->x_row +
                         row_read(a, at[2], t % 3, a->dilation_w) * a->x_pixel + c];
    const double bias = (double)a->bias[at[3]];
    double residual = 0;
    if (a->residual)
        residual =
            (double)
                a->residual[at[0] * a->r_image + at[1] * a->r_line + at[2] * a->r_pixel + at[3]];
    *ret_size = fabs(sum) + fabs(bias) + fabs(residual);
    return sum + bias + residual;
}

/* How far y is from the direct convolution, as a share of what roundings may do. For independent
 * errors of mean 0, each at most c_i, Hoeffding's inequality gives a sum beyond 8 sqrt(sum c_i^2)
 * a chance of 2 e^-32. square: of the winograd part, bias and residual are added here. */
static double output_error(const struct ipex_winograd_args *a, const struct operands *o,
                           const int64_t *at, double square, const float *y) {
    double size;
    const double sum = exact_output(a, o, at, &size);
    const double want = exact_act(sum, a->act, (double)a->act_a, (double)a->act_b);
    const double got =
        (double)y[at[0] * a->y_image + at[1] * a->y_line + at[2] * a->y_pixel + at[3]];
    const double bound =
        8 * 0x1p-24 * sqrt(square + 2 * size * size) * act_slope(a->act, (double)a->act_a) +
        0x1p-22 * fabs(want) + 0x1p-24;
    return fabs(got - want) / bound;
}

/* The worst output of the tile at tile[3] = image, line, pixel. */
static double tile_error(const struct ipex_winograd_args *a, const struct operands *o,
                         const int64_t *tile, struct estimate *v, const float *y) {
    double worst = 0;
    estimate_input(a, tile, v);
    for (int64_t n = 0; n < a->n; n++) {
        struct estimate sums[UP_MAX * UP_MAX];
        estimate_output(a, o->kernels + n * a->channels * 9, v, sums);
        for (int64_t r = 0; r < a->tile && tile[1] + r * a->dilation_h < a->lines; r++)
            for (int64_t s = 0; s < a->tile && tile[2] + s * a->dilation_w < a->pixels; s++) {
                const int64_t at[4] = {tile[0], tile[1] + r * a->dilation_h,
                                       tile[2] + s * a->dilation_w, n};
                worst = fmax(worst, output_error(a, o, at, sums[r * a->tile + s].square, y));
            }
    }
    return worst;
}

/* A tile's first line or pixel is in the first `dilation` of every `tile` times as many. */
static int64_t next_tile(int64_t at, int64_t dilation, int64_t tile) {
    return (at + 1) % (tile * dilation) == dilation ? at + 1 + (tile - 1) * dilation : at + 1;
}

static double worst_error(const struct ipex_winograd_args *a, const struct operands *o,
                          const float *y) {
    double worst = 0;
    struct estimate *v = calloc((size_t)a->channels * 36, sizeof *v);
    for (int64_t i = 0; i < a->images; i++)
        for (int64_t line = 0; line < a->lines; line = next_tile(line, a->dilation_h, a->tile))
            for (int64_t pixel = 0; pixel < a->pixels;
                 pixel = next_tile(pixel, a->dilation_w, a->tile))
                worst = fmax(worst, tile_error(a, o, (int64_t[]){i, line, pixel}, v, y));
    free(v);
    return worst;
}

static void describe(const struct shape *s, const char *level, char *text, size_t size) {
    snprintf(text, size,
             "winograd_f32 %s: %s(%d,3) %dx%dx%d %d->%d apart %d,%d act %d residual %d%s jobs "
             "%d,%d%s l2 %d "
             "gaps %d,%d%s",
             level, s->up ? "upsampled " : "F", s->tile, s->images, s->lines, s->pixels,
             s->channels, s->n, s->dilation_h, s->dilation_w, s->act, s->residual,
             s->in_place ? " in place" : "", s->tiles_per_job, s->panels_per_job,
             s->weights_far ? " far" : "", s->cache_l2, s->x_gap, s->y_gap,
             s->special ? " special" : "");
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
    const bool apart = rng_one_in(rng, 3);
    const int32_t dilation_h = apart ? (int32_t)rng_range(rng, 1, 6) : 1;
    const int32_t dilation_w = apart ? (int32_t)rng_range(rng, 1, 6) : 1;
    struct shape s = {
        .tile = rng_one_in(rng, 2) ? 2 : 4,
        .dilation_h = dilation_h,
        .dilation_w = dilation_w,
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
        .weights_far = rng_one_in(rng, 2),
        .cache_l2 = rng_one_in(rng, 2) ? 1 << 20 : (int32_t)rng_range(rng, 1, 20000),
    };
    if (!apart && rng_one_in(rng, 3)) {
        s.tile = s.up = (int32_t)rng_range(rng, 2, UP_MAX);
        s.lines *= s.up;
        s.pixels = s.up * (int32_t)rng_range(rng, 1, 8);
    }
    s.in_place = s.residual && rng_one_in(rng, 2);
    s.r_gap = s.in_place ? s.y_gap : (int32_t)rng_range(rng, 0, 5);
    s.tiles_per_job = (int32_t)rng_range(rng, 1, tiles_of(&s));
    s.panels_per_job = (int32_t)rng_range(rng, 1, (s.n + 15) / 16);
    return s;
}

/* Every cut of the last tile with every cut of a vector of channels, in and out. */
static int check_tails(const struct context *context, int32_t tile, struct rng *rng,
                       double *worst) {
    int failed = 0;
    for (int32_t size = 1; size <= 9; size++)
        for (int32_t cut = 0; cut < 16; cut++) {
            const struct shape s = {
                .tile = tile,
                .images = 1,
                .lines = size,
                .pixels = 10 - size,
                .channels = 32 - cut,
                .n = 17 + cut,
                .dilation_h = 1,
                .dilation_w = 1,
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

/* Of upsampled images, every factor with every cut of a vector of channels, in and out. */
static int check_upsampled(const struct context *context, struct rng *rng, double *worst) {
    int failed = 0;
    for (int32_t up = 2; up <= UP_MAX; up++)
        for (int32_t cut = 0; cut < 16; cut++) {
            const struct shape s = {
                .tile = up,
                .up = up,
                .images = 1 + cut % 2,
                .lines = up * (1 + cut % 3),
                .pixels = up * (1 + cut % 4),
                .channels = 32 - cut,
                .n = 17 + cut,
                .dilation_h = 1,
                .dilation_w = 1,
                .tiles_per_job = 2,
                .panels_per_job = 1 + cut % 2,
                .cache_l2 = 1 << 20,
                .act = cut % 3 ? IPEX_ACT_relu : IPEX_ACT_silu,
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
    report(check_tails(context, 4, &rng, &worst) == 0, "winograd_f32: every tail", "see above");
    report(check_tails(context, 2, &rng, &worst) == 0, "winograd_f32: every tail of F(2,3)",
           "see above");
    report(check_upsampled(context, &rng, &worst) == 0, "winograd_f32: upsampled images",
           "see above");
    int failed = 0;
    for (int i = 0; i < context->cases; i++) {
        const struct shape s = random_shape(&rng);
        failed += check_shape(context, &s, &rng, &worst);
    }
    report(failed == 0, "winograd_f32: random shapes", "%d failed", failed);
    printf("# winograd_f32: worst error %.3g of the bound\n", worst);
}
