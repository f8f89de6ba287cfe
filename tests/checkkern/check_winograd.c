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
    int32_t kernel_h, kernel_w;
    int32_t points, up; /* products of a tile; up: 0, or the factor */
    int32_t tiles_per_job, panels_per_job, cache_l2;
    int32_t act;
    bool residual, in_place, weights_far, special;
};

struct operands {
    struct buffer x, w, bias, residual, y;
    double *kernels;     /* [n][channels][kernel_h][kernel_w], before their transform */
    double *transformed; /* [n][channels][points] */
};

/* Inputs of a tile along an axis with so many taps, of a kernel of side_h * side_w points. */
static int32_t side_of(const struct shape *s, int32_t taps) {
    if (s->up)
        return 3;
    return taps == 1 ? 1 : s->points == 16 ? 4 : 6;
}

static int32_t tile_of(const struct shape *s, int32_t taps) {
    return s->up ? s->up : side_of(s, taps) - taps + 1;
}

static int64_t tiles_of(const struct shape *s) {
    const int32_t tile_h = tile_of(s, s->kernel_h), tile_w = tile_of(s, s->kernel_w);
    int64_t down = 0, across = 0;
    for (int32_t i = 0; i < s->dilation_h && i < s->lines; i++)
        down += ((s->lines - i - 1) / s->dilation_h + tile_h) / tile_h;
    for (int32_t i = 0; i < s->dilation_w && i < s->pixels; i++)
        across += ((s->pixels - i - 1) / s->dilation_w + tile_w) / tile_w;
    return s->images * down * across;
}

/* Of x, its halo included, along an axis where y has `size`. */
static int64_t x_size(int32_t up, int64_t size, int64_t taps, int64_t dilation) {
    return up ? size / up + 2 : size + (taps - 1) * dilation;
}

static struct ipex_winograd_args make_args(const struct shape *s) {
    const int64_t x_pixel = s->channels + s->x_gap;
    const int64_t x_row =
        x_pixel * x_size(s->up, s->pixels, s->kernel_w, s->dilation_w) + s->row_gap;
    const int64_t y_pixel = s->n + s->y_gap, r_pixel = s->n + s->r_gap;
    return (struct ipex_winograd_args){
        .x_image = x_row * x_size(s->up, s->lines, s->kernel_h, s->dilation_h),
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
        .tile_h = tile_of(s, s->kernel_h),
        .tile_w = tile_of(s, s->kernel_w),
        .side_h = side_of(s, s->kernel_h),
        .side_w = side_of(s, s->kernel_w),
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

/* Taps of the kernel along each axis. */
static int64_t taps_h(const struct ipex_winograd_args *a) {
    return a->up ? 3 : a->side_h - a->tile_h + 1;
}

static int64_t taps_w(const struct ipex_winograd_args *a) {
    return a->up ? 3 : a->side_w - a->tile_w + 1;
}

/* The matrices of six points, which are 0, 1, -1, 2, -2 and infinity, of four, and of an upsampled
 * image: of g, [side][taps], of d, [side][side], and of m, [tile][side]. */
enum { UP_MAX = 8, SIDE_MAX = 6, A_MAX = UP_MAX * 3 > 36 ? UP_MAX * 3 : 36 };
static const double at_point[5] = {0, 1, -1, 2, -2};
static const double scale_six[5] = {1 / 4.0, -1 / 6.0, -1 / 6.0, 1 / 24.0, 1 / 24.0};
static const double scale_four[3] = {1, 1 / 2.0, 1 / 2.0};
static const double B6[36] = {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
                              0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1};
static const double B4[16] = {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1};
static const double BU[9] = {1, -1, 0, 0, 1, 0, 0, -1, 1};
static const double B1[1] = {1};

static const double *input_matrix(int64_t side) {
    return side == 6 ? B6 : side == 4 ? B4 : side == 3 ? BU : B1;
}

/* The point at infinity has the highest power alone; of four points its input is taken with the
 * other sign. */
static void output_matrix(int64_t tile, int64_t side, double *A) {
    for (int64_t r = 0; r < tile; r++)
        for (int64_t i = 0; i < side; i++)
            if (side == 1)
                A[i] = 1;
            else if (side == 3)
                A[3 * r + i] = i == 1 || (i == 0 && r == 0) || (i == 2 && r == tile - 1);
            else if (i == side - 1)
                A[side * r + i] = r < tile - 1 ? 0 : side == 4 ? -1 : 1;
            else
                A[side * r + i] = r == 0 ? 1 : pow(at_point[i], (double)r);
}

static double kernel_matrix(int64_t side, int64_t taps, int64_t i, int64_t tap) {
    if (side == 1)
        return 1;
    if (side == 3)
        return i == 1 || i == tap;
    if (i == side - 1)
        return tap == taps - 1;
    return (side == 6 ? scale_six : scale_four)[i] * (tap == 0 ? 1 : pow(at_point[i], (double)tap));
}

static void kernel_matrices(const struct ipex_winograd_args *a, double *down, double *across) {
    const int64_t height = taps_h(a), width = taps_w(a);
    for (int64_t i = 0; i < a->side_h; i++)
        for (int64_t t = 0; t < height; t++)
            down[i * height + t] = kernel_matrix(a->side_h, height, i, t);
    for (int64_t i = 0; i < a->side_w; i++)
        for (int64_t t = 0; t < width; t++)
            across[i * width + t] = kernel_matrix(a->side_w, width, i, t);
}

/* U = G g G^T. */
static void transform_kernel(const struct ipex_winograd_args *a, const double *down,
                             const double *across, const double *g, double *u) {
    const int64_t height = taps_h(a), width = taps_w(a);
    for (int64_t i = 0; i < a->side_h; i++)
        for (int64_t j = 0; j < a->side_w; j++) {
            u[i * a->side_w + j] = 0;
            for (int64_t t = 0; t < height * width; t++)
                u[i * a->side_w + j] +=
                    down[i * height + t / width] * g[t] * across[j * width + t % width];
        }
}

static void make_weights(const struct ipex_winograd_args *a, struct operands *o, struct rng *rng) {
    const int64_t panels = (a->n + 15) / 16, tiles = (a->channels + 15) / 16;
    const int points = (int)ipex_winograd_products(a);
    o->w = buffer_make((size_t)(points * panels * tiles * 1024));
    const int64_t taps = taps_h(a) * taps_w(a);
    o->kernels = calloc((size_t)(a->n * a->channels * taps), sizeof(double));
    o->transformed = calloc((size_t)(a->n * a->channels * points), sizeof(double));
    double down[A_MAX], across[A_MAX];
    kernel_matrices(a, down, across);
    float *w = o->w.data;
    for (int64_t i = 0; i < points * panels * tiles * 256; i++)
        w[i] = 0.0f;
    for (int64_t n = 0; n < a->n; n++)
        for (int64_t c = 0; c < a->channels; c++) {
            double *g = o->kernels + (n * a->channels + c) * taps;
            double *u = o->transformed + (n * a->channels + c) * points;
            for (int64_t t = 0; t < taps; t++)
                g[t] = (double)rng_float(rng);
            transform_kernel(a, down, across, g, u);
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
    const int64_t rows = a->images * x_size(a->up, a->lines, taps_h(a), a->dilation_h);
    const int64_t pixels = x_size(a->up, a->pixels, taps_w(a), a->dilation_w);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t p = 0; p < pixels; p++)
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
    free(o->transformed);
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

/* Whether x, of `size` outputs, has what is r * dilation after the first input of the tile at
 * `at`. */
static bool is_read(const struct ipex_winograd_args *a, int64_t at, int64_t r, int64_t dilation,
                    int64_t size, int64_t taps) {
    return a->up || at + r * dilation < size + (taps - 1) * dilation;
}

/* v [channels][side_h][side_w] of the tile whose first output is (image, line, pixel). */
static void estimate_input(const struct ipex_winograd_args *a, const int64_t *at,
                           struct estimate *v) {
    const float *x = a->x + at[0] * a->x_image + (a->up ? at[1] / a->up : at[1]) * a->x_row +
                     (a->up ? at[2] / a->up : at[2]) * a->x_pixel;
    const int64_t dh = a->dilation_h, dw = a->dilation_w;
    const int height = a->side_h, width = a->side_w;
    for (int64_t c = 0; c < a->channels; c++, v += height * width) {
        struct estimate d[36] = {{0, 0}}, half[36];
        for (int64_t r = 0; r < height && is_read(a, at[1], r, dh, a->lines, taps_h(a)); r++)
            for (int64_t s = 0; s < width && is_read(a, at[2], s, dw, a->pixels, taps_w(a)); s++)
                d[r * width + s].value = (double)x[r * dh * a->x_row + s * dw * a->x_pixel + c];
        /* A rounding of (d4 - 4 d2), say, is in two values, and those are in `width` each. */
        estimate_pass(input_matrix(height), height, height, width, 2 * width, d, half);
        estimate_pass(input_matrix(width), width, width, height, 2, half, v);
    }
}

/* y [tile_h][tile_w] of one output channel, of transformed kernels u [channels][points]: the chains
 * over channels and the output transform. */
static void estimate_output(const struct ipex_winograd_args *a, const double *u,
                            const struct estimate *v, struct estimate *y) {
    struct estimate m[36] = {{0, 0}}, half[A_MAX];
    const int points = a->side_h * a->side_w;
    double down[A_MAX], across[A_MAX];
    output_matrix(a->tile_h, a->side_h, down);
    output_matrix(a->tile_w, a->side_w, across);
    for (int64_t c = 0; c < a->channels; c++, u += points, v += points)
        for (int z = 0; z < points; z++) {
            const double product = u[z] * v[z].value;
            m[z].value += product;
            m[z].square += u[z] * u[z] * v[z].square + product * product; /* u is rounded too */
            m[z].square += m[z].value * m[z].value;
        }
    estimate_pass(down, a->tile_h, a->side_h, a->side_w, 1, m, half);
    estimate_pass(across, a->tile_w, a->side_w, a->tile_h, 1, half, y);
}

/* Where x, halo included, has what tap t of a kernel reads at `at` of y. */
static int64_t row_read(const struct ipex_winograd_args *a, int64_t at, int64_t t,
                        int64_t dilation) {
    return a->up ? (at + t - 1 + a->up) / a->up : at + t * dilation;
}

/* One output of the direct convolution in f64; size: of the terms of its last two sums. */
static double exact_output(const struct ipex_winograd_args *a, const struct operands *o,
                           const int64_t *at, double *ret_size) {
    const int64_t width = taps_w(a), taps = taps_h(a) * width;
    const double *kernels = o->kernels + at[3] * a->channels * taps;
    double sum = 0;
    for (int64_t t = 0; t < taps; t++) {
        const float *x = a->x + at[0] * a->x_image +
                         row_read(a, at[1], t / width, a->dilation_h) * a->x_row +
                         row_read(a, at[2], t % width, a->dilation_w) * a->x_pixel;
        for (int64_t c = 0; c < a->channels; c++)
            sum += kernels[c * taps + t] * (double)x[c];
    }
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
        estimate_output(a, o->transformed + n * a->channels * a->side_h * a->side_w, v, sums);
        for (int64_t r = 0; r < a->tile_h && tile[1] + r * a->dilation_h < a->lines; r++)
            for (int64_t s = 0; s < a->tile_w && tile[2] + s * a->dilation_w < a->pixels; s++) {
                const int64_t at[4] = {tile[0], tile[1] + r * a->dilation_h,
                                       tile[2] + s * a->dilation_w, n};
                worst = fmax(worst, output_error(a, o, at, sums[r * a->tile_w + s].square, y));
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
        for (int64_t line = 0; line < a->lines; line = next_tile(line, a->dilation_h, a->tile_h))
            for (int64_t pixel = 0; pixel < a->pixels;
                 pixel = next_tile(pixel, a->dilation_w, a->tile_w))
                worst = fmax(worst, tile_error(a, o, (int64_t[]){i, line, pixel}, v, y));
    free(v);
    return worst;
}

static void describe(const struct shape *s, const char *level, char *text, size_t size) {
    snprintf(text, size,
             "winograd_f32 %s: %s%dx%d of %d points %dx%dx%d %d->%d apart %d,%d act %d residual "
             "%d%s jobs "
             "%d,%d%s l2 %d "
             "gaps %d,%d%s",
             level, s->up ? "upsampled " : "", s->kernel_h, s->kernel_w, s->points, s->images,
             s->lines, s->pixels, s->channels, s->n, s->dilation_h, s->dilation_w, s->act,
             s->residual, s->in_place ? " in place" : "", s->tiles_per_job, s->panels_per_job,
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

/* All that have tiles. */
static const struct kernel {
    int32_t height, width, points;
} kernels[] = {{3, 3, 36}, {3, 3, 16}, {5, 5, 36}, {1, 3, 6}, {1, 4, 6},
               {1, 5, 6},  {3, 1, 6},  {4, 1, 6},  {5, 1, 6}};
enum { KERNELS = sizeof kernels / sizeof *kernels };
static const struct kernel upsampled = {3, 3, 9};

static void set_kernel(struct shape *s, const struct kernel *kernel) {
    s->kernel_h = kernel->height;
    s->kernel_w = kernel->width;
    s->points = kernel->points;
}

static struct shape random_shape(struct rng *rng) {
    const bool apart = rng_one_in(rng, 3);
    const int32_t dilation_h = apart ? (int32_t)rng_range(rng, 1, 6) : 1;
    const int32_t dilation_w = apart ? (int32_t)rng_range(rng, 1, 6) : 1;
    const struct kernel *kernel = &kernels[rng_range(rng, 0, KERNELS - 1)];
    struct shape s = {
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
    set_kernel(&s, kernel);
    if (!apart && rng_one_in(rng, 3)) {
        set_kernel(&s, &upsampled);
        s.up = (int32_t)rng_range(rng, 2, UP_MAX);
        s.lines *= s.up;
        s.pixels = s.up * (int32_t)rng_range(rng, 1, 8);
    }
    s.in_place = s.residual && rng_one_in(rng, 2);
    s.r_gap = s.in_place ? s.y_gap : (int32_t)rng_range(rng, 0, 5);
    s.tiles_per_job = (int32_t)rng_range(rng, 1, tiles_of(&s));
    s.panels_per_job = (int32_t)rng_range(rng, 1, (s.n + 15) / 16);
    return s;
}

/* Every cut of a vector of channels, in and out. */
static struct shape shape_with_cut(int32_t cut) {
    return (struct shape){
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
}

/* Every cut of the last tile with those of channels. */
static int check_tails(const struct context *context, const struct kernel *kernel, struct rng *rng,
                       double *worst) {
    int failed = 0;
    for (int32_t size = 1; size <= 9; size++)
        for (int32_t cut = 0; cut < 16; cut++) {
            struct shape s = shape_with_cut(cut);
            set_kernel(&s, kernel);
            s.images = 1;
            s.lines = size;
            s.pixels = 10 - size;
            failed += check_shape(context, &s, rng, worst);
        }
    return failed;
}

/* Of upsampled images, every factor with those of channels. */
static int check_upsampled(const struct context *context, struct rng *rng, double *worst) {
    int failed = 0;
    for (int32_t up = 2; up <= UP_MAX; up++)
        for (int32_t cut = 0; cut < 16; cut++) {
            struct shape s = shape_with_cut(cut);
            set_kernel(&s, &upsampled);
            s.up = up;
            s.images = 1 + cut % 2;
            s.lines = up * (1 + cut % 3);
            s.pixels = up * (1 + cut % 4);
            if (s.act == IPEX_ACT_none)
                s.act = IPEX_ACT_silu;
            failed += check_shape(context, &s, rng, worst);
        }
    return failed;
}

void check_winograd(const struct context *context) {
    if (!wanted(context, "winograd_f32"))
        return;
    struct rng rng = {context->seed + 4};
    double worst = 0;
    for (int i = 0; i < KERNELS; i++) {
        char text[64];
        snprintf(text, sizeof text, "winograd_f32: every tail of %dx%d, %d points",
                 kernels[i].height, kernels[i].width, kernels[i].points);
        report(check_tails(context, &kernels[i], &rng, &worst) == 0, text, "see above");
    }
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
