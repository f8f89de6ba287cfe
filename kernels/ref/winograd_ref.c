/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution by Winograd's algorithm, or of an upsampled image, tile by tile: input transform, a
 * chain of fma for every product, output transform, then bias, residual and activation.
 * kernels/kernels.h states the arithmetic. */
#include "kernels/ref/math_ref.h"

enum { LARGE = IPEX_WINOGRAD_SIDE_MAX, POINTS_MAX = IPEX_WINOGRAD_POINTS_MAX };

/* A tile's row or column of `side` values that lie `step` apart, in place. */
static void transform_input(int64_t side, float *d, int64_t step) {
    if (side == 1)
        return;
    const float d0 = d[0], d1 = d[step], d2 = d[2 * step];
    if (side == 3) { /* of an upsampled image */
        d[0] = d0 - d1;
        d[2 * step] = d2 - d1;
        return;
    }
    const float d3 = d[3 * step];
    if (side != LARGE) {
        d[0] = d0 - d2;
        d[step] = d1 + d2;
        d[2 * step] = d2 - d1;
        d[3 * step] = d1 - d3;
        return;
    }
    const float d4 = d[4 * step], d5 = d[5 * step];
    const float even = fmaf(-4.0f, d2, d4), odd = fmaf(-4.0f, d1, d3);
    const float far_even = d4 - d2, far_odd = d3 - d1;
    d[0] = fmaf(4.0f, d0, fmaf(-5.0f, d2, d4));
    d[step] = even + odd;
    d[2 * step] = even - odd;
    d[3 * step] = fmaf(2.0f, far_odd, far_even);
    d[4 * step] = fmaf(-2.0f, far_odd, far_even);
    d[5 * step] = fmaf(4.0f, d1, fmaf(-5.0f, d3, d5));
}

/* `side` values to `tile`, or, of an upsampled image, three to the first, the ones between, which
 * are the same, and the last, in place. */
static void transform_output(int64_t side, int64_t tile, float *m, int64_t step) {
    if (side == 1)
        return;
    const float a = m[step] + m[2 * step], b = m[step] - m[2 * step];
    if (side == 3) {
        m[0] = m[0] + m[step];
        m[2 * step] = a;
        return;
    }
    if (side != LARGE) {
        m[0] = m[0] + a;
        m[step] = b - m[3 * step];
        return;
    }
    const float c = m[3 * step] + m[4 * step], d = m[3 * step] - m[4 * step];
    m[0] = m[0] + (a + c);
    m[step] = fmaf(2.0f, d, b);
    m[2 * step] = fmaf(4.0f, c, a);
    m[3 * step] = fmaf(8.0f, d, b);
    m[(tile - 1) * step] = m[(tile - 1) * step] + m[5 * step];
}

/* v [channels][points] of one tile. */
static void load_tile(const struct ipex_winograd_args *args, const struct ipex_winograd_tile *tile,
                      float *v) {
    const float *x = args->x + tile->image * args->x_image + tile->x_line * args->x_row +
                     tile->x_pixel * args->x_pixel;
    const int64_t rows = args->side_h, side = args->side_w;
    for (int64_t c = 0; c < args->channels; c++, v += rows * side) {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t s = 0; s < side; s++)
                v[r * side + s] = r < tile->rows_in && s < tile->columns_in
                                      ? x[r * args->dilation_h * args->x_row +
                                          s * args->dilation_w * args->x_pixel + c]
                                      : 0.0f;
        for (int64_t s = 0; s < side; s++)
            transform_input(rows, v + s, side);
        for (int64_t r = 0; r < rows; r++)
            transform_input(side, v + r * side, 1);
    }
}

/* Which of a row's or a column's transformed results an output is. */
static int64_t result_of(const struct ipex_winograd_args *args, int64_t i) {
    return !args->up || i == 0 ? i : i == args->up - 1 ? 2 : 1;
}

static void store_tile(const struct ipex_winograd_args *args, const struct ipex_winograd_tile *tile,
                       int64_t column, float *m) {
    const int64_t rows = args->side_h, side = args->side_w;
    const float *residual = args->residual;
    float *y = args->y + tile->image * args->y_image + tile->line * args->y_line +
               tile->pixel * args->y_pixel + column;
    if (residual)
        residual += tile->image * args->r_image + tile->line * args->r_line +
                    tile->pixel * args->r_pixel + column;
    for (int64_t s = 0; s < side; s++)
        transform_output(rows, args->tile_h, m + s, side);
    for (int64_t r = 0; r < (args->up ? rows : args->tile_h); r++)
        transform_output(side, args->tile_w, m + r * side, 1);
    for (int64_t r = 0; r < tile->rows_out; r++)
        for (int64_t s = 0; s < tile->columns_out; s++) {
            const int64_t line = r * args->dilation_h, pixel = s * args->dilation_w;
            float sum = m[result_of(args, r) * side + result_of(args, s)] + args->bias[column];
            if (residual)
                sum = sum + residual[line * args->r_line + pixel * args->r_pixel];
            y[line * args->y_line + pixel * args->y_pixel] =
                ref_act(sum, args->act, args->act_a, args->act_b);
        }
}

/* Output channel `column` of one tile. */
static void winograd_column(const struct ipex_winograd_args *args,
                            const struct ipex_winograd_tile *tile, int64_t column, const float *v) {
    const int64_t panel_floats =
        ipex_div_up(args->channels, IPEX_TILE_ROWS) * IPEX_TILE_ROWS * IPEX_PANEL;
    const int64_t point_floats = ipex_div_up(args->n, IPEX_PANEL) * panel_floats;
    const float *w = args->w + column / IPEX_PANEL * panel_floats + column % IPEX_PANEL;
    const int64_t points = ipex_winograd_products(args);
    float m[POINTS_MAX];
    for (int64_t z = 0; z < points; z++) {
        float chain = 0.0f;
        for (int64_t k = 0; k < args->channels; k++)
            chain = fmaf(v[k * points + z], w[z * point_floats + k * IPEX_PANEL], chain);
        m[z] = chain;
    }
    store_tile(args, tile, column, m);
}

void IPEX_REF(winograd_f32)(const struct ipex_winograd_args *args, int64_t job_begin,
                            int64_t job_end, void *scratch) {
    const struct ipex_winograd_grid grid = ipex_winograd_grid(args);
    float *v = scratch; /* [channels][points], a part of it */
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_winograd_job job = ipex_winograd_job(args, j);
        const int64_t end =
            job.panel_end * IPEX_PANEL < args->n ? job.panel_end * IPEX_PANEL : args->n;
        for (int64_t t = job.tile; t < job.tile_end; t++) {
            const struct ipex_winograd_tile tile = ipex_winograd_tile(args, &grid, t);
            load_tile(args, &tile, v);
            for (int64_t column = job.panel * IPEX_PANEL; column < end; column++)
                winograd_column(args, &tile, column, v);
        }
    }
}
