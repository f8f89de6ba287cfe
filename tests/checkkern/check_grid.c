/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sample_f32: random images, volumes and grids with gaps and poison around them, places far
 * outside, on edges, infinite and NaN: all levels against the reference, and that against the
 * definition in f64, written here once more. */
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <stdio.h>

#define SLOT "grid_sample_f32"

static int64_t some_channels(struct rng *rng) {
    static const int64_t usual[] = {1, 1, 1, 2, 3, 4, 5, 8, 16, 17, 40};
    return usual[rng_range(rng, 0, sizeof usual / sizeof *usual - 1)];
}

static int64_t gap(struct rng *rng) {
    return rng_one_in(rng, 3) ? rng_range(rng, 1, 9) : 0;
}

static struct ipex_grid_args random_grid(struct rng *rng) {
    struct ipex_grid_args a = {
        .images = (int32_t)rng_range(rng, 1, 2),
        .channels = (int32_t)some_channels(rng),
        .axes = rng_one_in(rng, 3) ? 3 : 2,
        .padding = (int32_t)rng_range(rng, 0, IPEX_GRID_PADDING_COUNT - 1),
        .corners = rng_one_in(rng, 2),
        .places = rng_range(rng, 1, 70),
    };
    a.mode = (int32_t)rng_range(rng, 0, a.axes == 2 ? IPEX_GRID_cubic : IPEX_GRID_linear);
    int64_t stride = a.channels;
    for (int32_t axis = 0; axis < a.axes; axis++) {
        a.size[axis] = (int32_t)rng_range(rng, 1, rng_one_in(rng, 4) ? 1 : 9);
        a.x_axis[axis] = stride + gap(rng);
        stride = a.x_axis[axis] * a.size[axis];
    }
    a.x_image = stride + gap(rng);
    a.grid_axis = 1 + gap(rng);
    a.grid_place = a.axes * a.grid_axis + gap(rng);
    a.grid_image = a.places * a.grid_place;
    a.y_place = a.channels + gap(rng);
    a.y_image = a.places * a.y_place + gap(rng);
    a.places_per_job = rng_range(rng, 1, a.places);
    return a;
}

/* A coordinate whose pixel is inside, near an edge, or far away. */
static float random_coordinate(const struct ipex_grid_args *a, int32_t axis, struct rng *rng,
                               bool special) {
    static const float wild[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 3e9f, -3e9f};
    if (special && rng_one_in(rng, 4))
        return wild[rng_range(rng, 0, sizeof wild / sizeof *wild - 1)];
    const float size = (float)a->size[axis];
    if (rng_one_in(rng, 4)) /* on a pixel's middle or edge */
        return ((float)rng_range(rng, -3, 2 * (int64_t)size + 3) - size) / size;
    return rng_float(rng) * (rng_one_in(rng, 3) ? 4.0f : 1.2f);
}

struct operands {
    struct buffer x, grid;
};

static struct operands make_operands(struct ipex_grid_args *a, struct rng *rng, bool special) {
    const int64_t deep = a->axes == 3 ? a->size[2] : 1;
    int64_t last = (a->images - 1) * a->x_image + a->channels;
    for (int32_t axis = 0; axis < a->axes; axis++)
        last += (a->size[axis] - 1) * a->x_axis[axis];
    struct operands ret = {buffer_make((size_t)last * 4),
                           buffer_make((size_t)((a->images * a->places - 1) * a->grid_place +
                                                (a->axes - 1) * a->grid_axis + 1) *
                                       4)};
    float *x = ret.x.data, *grid = ret.grid.data;
    fill_poison(&ret.x);
    fill_poison(&ret.grid);
    for (int64_t i = 0; i < a->images * deep * a->size[1] * a->size[0]; i++) {
        const int64_t column = i % a->size[0], row = i / a->size[0] % a->size[1];
        const int64_t depth = i / a->size[0] / a->size[1] % deep;
        float *pixel = x + i / a->size[0] / a->size[1] / deep * a->x_image + depth * a->x_axis[2] +
                       row * a->x_axis[1] + column * a->x_axis[0];
        for (int64_t c = 0; c < a->channels; c++)
            pixel[c] = rng_value(rng, special);
    }
    for (int64_t i = 0; i < a->images * a->places; i++)
        for (int32_t axis = 0; axis < a->axes; axis++)
            grid[i * a->grid_place + axis * a->grid_axis] =
                random_coordinate(a, axis, rng, special);
    a->x = x;
    a->grid = grid;
    return ret;
}

static struct buffer run_level(const struct level *level, const struct ipex_grid_args *args,
                               struct rng *rng) {
    struct ipex_grid_args a = *args;
    struct buffer y = buffer_make(
        (size_t)((a.images - 1) * a.y_image + (a.places - 1) * a.y_place + a.channels) * 4);
    fill_canary(&y);
    a.y = y.data;
    running(SLOT, level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.grid_sample_f32, &a, ipex_grid_jobs(&a),
             ipex_grid_scratch());
    return y;
}

/* ---- the definition ---- */

/* Thrown back at the ends, the middles of the outer pixels or the image's edges, until inside. */
static double reflected(double p, double size, bool corners) {
    const double low = corners ? 0 : -0.5, high = corners ? size - 1 : size - 0.5;
    if (high <= low)
        return low;
    while (p < low || p > high)
        p = p < low ? 2 * low - p : 2 * high - p;
    return p;
}

static double moved(const struct ipex_grid_args *a, int32_t axis, double p) {
    const double size = a->size[axis];
    return a->padding == IPEX_GRID_border       ? fmin(fmax(p, 0), size - 1)
           : a->padding == IPEX_GRID_reflection ? reflected(p, size, a->corners)
                                                : p;
}

/* Keys' kernel, a = -0.75. */
static double keys(double d) {
    const double a = -0.75;
    d = fabs(d);
    return d <= 1  ? ((a + 2) * d - (a + 3)) * d * d + 1
           : d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
                   : 0;
}

/* What pixel i of an axis has to do with place p. */
static double share(const struct ipex_grid_args *a, int32_t axis, int64_t i, double p) {
    const double last = a->size[axis] - 1;
    if (a->mode == IPEX_GRID_nearest)
        p = rint(p);
    if (a->mode != IPEX_GRID_cubic)
        p = moved(a, axis, p);
    double sum = 0;
    for (double tap = floor(p) - 1; tap <= floor(p) + 2; tap++) {
        const double weight = a->mode == IPEX_GRID_nearest  ? tap == p
                              : a->mode == IPEX_GRID_linear ? fmax(0, 1 - fabs(tap - p))
                                                            : keys(tap - p);
        const double at = a->mode == IPEX_GRID_cubic ? moved(a, axis, tap) : tap;
        const double inside = fmin(fmax(rint(at), 0), last);
        if (inside == (double)i && (a->padding != IPEX_GRID_zeros || at == inside))
            sum += weight;
    }
    return sum;
}

static double pixel_of(const struct ipex_grid_args *a, int32_t axis, float g) {
    const double size = a->size[axis];
    return a->corners ? ((double)g + 1) / 2 * (size - 1) : (((double)g + 1) * size - 1) / 2;
}

/* The reference's error as part of what rounding the place allows; places that round either way are
 * left out. */
static double grid_error(const struct ipex_grid_args *a, const float *y) {
    const int64_t deep = a->axes == 3 ? a->size[2] : 1;
    double worst = 0;
    for (int64_t place = 0; place < a->images * a->places; place++) {
        const float *g = a->grid + place * a->grid_place, *x = a->x;
        double p[3] = {0}, far = 0;
        bool clear = true;
        for (int32_t axis = 0; axis < a->axes; axis++) {
            p[axis] = pixel_of(a, axis, g[axis * a->grid_axis]);
            far += fabs(p[axis]) + a->size[axis];
            clear &= a->mode != IPEX_GRID_nearest || fabs(p[axis] - floor(p[axis]) - 0.5) > 1e-3;
        }
        x += place / a->places * a->x_image;
        y += place && place % a->places == 0 ? a->y_image - (a->places - 1) * a->y_place
             : place                         ? a->y_place
                                             : 0;
        for (int64_t c = 0; clear && c < a->channels; c++) {
            double want = 0;
            for (int64_t k = 0; k < deep; k++)
                for (int64_t i = 0; i < a->size[1]; i++)
                    for (int64_t j = 0; j < a->size[0]; j++)
                        want +=
                            (a->axes == 3 ? share(a, 2, k, p[2]) : 1) * share(a, 1, i, p[1]) *
                            share(a, 0, j, p[0]) *
                            (double)x[k * a->x_axis[2] + i * a->x_axis[1] + j * a->x_axis[0] + c];
            worst = fmax(worst, fabs((double)y[c] - want) / (0x1p-20 * (far + 4)));
        }
    }
    return worst;
}

static int check_case(const struct context *context, struct rng *rng) {
    struct ipex_grid_args args = random_grid(rng);
    const bool special = rng_one_in(rng, 4);
    struct operands operands = make_operands(&args, rng, special);
    struct buffer want = run_level(&context->levels[0], &args, rng);
    char text[160];
    int failed = 0;
    snprintf(text, sizeof text, SLOT ": mode %d padding %d corners %d, %dx%dx%d, %d channels",
             args.mode, args.padding, args.corners, args.axes == 3 ? args.size[2] : 1, args.size[1],
             args.size[0], args.channels);
    if (!special) {
        const double error = grid_error(&args, want.data);
        if (!(error <= 1))
            failed += !report(false, text, "reference: error is %g of the bound", error);
    }
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_level(&context->levels[i], &args, rng);
        failed += report_difference(text, context->levels[i].name, &want, &got);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&operands.x);
    buffer_free(&operands.grid);
    return failed;
}

void check_grid(const struct context *context) {
    struct rng rng = {context->seed + 8};
    int failed = 0;
    if (!wanted(context, SLOT))
        return;
    for (int i = 0; i < context->cases * 3; i++)
        failed += check_case(context, &rng);
    report(failed == 0, SLOT ": random images, volumes and places", "%d failed", failed);
}
