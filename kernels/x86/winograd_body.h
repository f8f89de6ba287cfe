/* SPDX-License-Identifier: Apache-2.0 */
/* 3x3 convolution by Winograd's F(4,3) for either vector width. A job transforms a block of tiles,
 * one vector of channels at a time, multiplies them with the weights in 36 products of the level's
 * own convolution kernel (tiles are its pixels), and transforms the results back. The arithmetic is
 * that of kernels/ref/winograd_ref.c. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_WINOGRAD_BODY_H
#define IPEX_KERNELS_X86_WINOGRAD_BODY_H

#include "kernels/x86/vec_math.h"

enum { POINTS = IPEX_WINOGRAD_POINTS, SIDE = 6 };

/* Not inlined where addresses of many rows are in use: with those of the callers too, gcc 12 would
 * put vectors on the stack. */
#define WINOGRAD_APART static __attribute__((noinline))

/* One row or column of a tile: six vectors that lie from_step apart, transformed, to to_step apart.
 * May be the same place. */
static inline void winograd_in(const float *from, int64_t from_step, float *to, int64_t to_step) {
    const vec four = vec_set(4.0f), five = vec_set(5.0f), two = vec_set(2.0f);
    const vec d0 = vec_load(from), d1 = vec_load(from + from_step);
    const vec d2 = vec_load(from + 2 * from_step), d3 = vec_load(from + 3 * from_step);
    const vec d4 = vec_load(from + 4 * from_step), d5 = vec_load(from + 5 * from_step);
    const vec even = vec_fnma(four, d2, d4), odd = vec_fnma(four, d1, d3);
    const vec far_even = vec_sub(d4, d2), far_odd = vec_sub(d3, d1);
    vec_store(to, vec_fma(four, d0, vec_fnma(five, d2, d4)));
    vec_store(to + to_step, vec_add(even, odd));
    vec_store(to + 2 * to_step, vec_sub(even, odd));
    vec_store(to + 3 * to_step, vec_fma(two, far_odd, far_even));
    vec_store(to + 4 * to_step, vec_fnma(two, far_odd, far_even));
    vec_store(to + 5 * to_step, vec_fma(four, d1, vec_fnma(five, d3, d5)));
}

/* The same from six products to four outputs; a column goes to memory, a row to its pixels. */
#define WINOGRAD_OUT(from, step)                                                                   \
    const vec m0 = vec_load(from), m1 = vec_load((from) + (step));                                 \
    const vec m2 = vec_load((from) + 2 * (step)), m3 = vec_load((from) + 3 * (step));              \
    const vec m4 = vec_load((from) + 4 * (step)), m5 = vec_load((from) + 5 * (step));              \
    const vec a = vec_add(m1, m2), b = vec_sub(m1, m2), c = vec_add(m3, m4), d = vec_sub(m3, m4);  \
    const vec o0 = vec_add(m0, vec_add(a, c)), o1 = vec_fma(vec_set(2.0f), d, b);                  \
    const vec o2 = vec_fma(vec_set(4.0f), c, a);                                                   \
    const vec o3 = vec_add(vec_fma(vec_set(8.0f), d, b), m5)

static inline void winograd_out_column(const float *m, int64_t step, float *to) {
    WINOGRAD_OUT(m, step);
    vec_store(to, o0);
    vec_store(to + SIDE * LANES, o1);
    vec_store(to + 2 * SIDE * LANES, o2);
    vec_store(to + 3 * SIDE * LANES, o3);
}

/* Rows and columns of a tile and their distances, in floats. */
struct winograd_part {
    const float *x;
    int64_t x_row, x_pixel;
    float *between; /* [6][6] vectors */
    float *v;
    int64_t v_point; /* from one of the 36 to the next */
};

/* A vector of channels of a tile that lies inside x: columns, then rows. */
WINOGRAD_APART void winograd_inside(const struct winograd_part *p, int64_t c) {
    for (int64_t s = 0; s < SIDE; s++)
        winograd_in(p->x + s * p->x_pixel + c, p->x_row, p->between + s * LANES, SIDE * LANES);
    for (int64_t r = 0; r < SIDE; r++)
        winograd_in(p->between + r * SIDE * LANES, LANES, p->v + r * SIDE * p->v_point + c,
                    p->v_point);
}

/* The same at the borders, and where fewer channels than a vector are left: what is not there is
 * zero. */
WINOGRAD_APART void winograd_border(const struct winograd_part *p,
                                    const struct ipex_winograd_tile *tile, int64_t c,
                                    int64_t left) {
    for (int64_t r = 0; r < SIDE; r++)
        for (int64_t s = 0; s < SIDE; s++) {
            const bool there = r < tile->rows_in && s < tile->columns_in;
            vec_store(p->between + (r * SIDE + s) * LANES,
                      there ? vec_load_part(p->x + r * p->x_row + s * p->x_pixel + c, left)
                            : vec_set(0.0f));
        }
    for (int64_t s = 0; s < SIDE; s++)
        winograd_in(p->between + s * LANES, SIDE * LANES, p->between + s * LANES, SIDE * LANES);
    for (int64_t r = 0; r < SIDE; r++)
        winograd_in(p->between + r * SIDE * LANES, LANES, p->v + r * SIDE * p->v_point + c,
                    p->v_point);
}

static inline void winograd_load_tile(const struct ipex_winograd_args *args, int64_t t,
                                      struct winograd_part *p) {
    const struct ipex_winograd_tile tile = ipex_winograd_tile(args, t);
    const bool inside = tile.rows_in == SIDE && tile.columns_in == SIDE;
    p->x =
        args->x + tile.image * args->x_image + tile.line * args->x_row + tile.pixel * args->x_pixel;
    for (int64_t c = 0; c < args->channels; c += LANES) {
        const int64_t left = args->channels - c;
        if (inside && left >= LANES)
            winograd_inside(p, c);
        else
            winograd_border(p, &tile, c, left);
    }
}

/* m [36][tiles][m_row] = v [36][tiles][v_row] times the job's panels: rows of the matrices are the
 * pixels of 36 convolutions of one tap. */
static inline void winograd_multiply(const struct ipex_winograd_args *args,
                                     const struct ipex_winograd_job *job,
                                     const struct ipex_winograd_space *space, float *scratch) {
    const int64_t panels = job->panel_end - job->panel, tiles = job->tile_end - job->tile;
    struct ipex_conv_args product = {
        .bias = scratch + space->zeros,
        .x_pixel = space->v_row,
        .y_pixel = space->m_row,
        .images = 1,
        .lines = 1,
        .pixels = (int32_t)tiles,
        .last_pixels = (int32_t)tiles,
        .groups = 1,
        .segments_h = 1,
        .segments_w = 1,
        .k = args->channels,
        .n = (int32_t)(panels * IPEX_PANEL), /* the weights' last panel is filled up with zeros */
        .lines_per_job = 1,
        .panels_per_job = (int32_t)panels,
        .act = IPEX_ACT_none,
        .panels_outside = true,
        .cache_l2 = args->cache_l2,
    };
    const int64_t panel_floats = ipex_conv_panel_floats(&product);
    const int64_t point_floats = ipex_div_up(args->n, IPEX_PANEL) * panel_floats;
    const float *w = args->w + job->panel * panel_floats;
    for (int64_t z = 0; z < POINTS; z++) {
        product.x = scratch + space->v + z * args->tiles_per_job * space->v_row;
        product.y = scratch + space->m + z * args->tiles_per_job * space->m_row;
        product.w = w + z * point_floats;
        IPEX_LEVEL(conv_f32)(&product, 0, 1, NULL);
    }
}

/* Where a vector of a tile's outputs goes, and what is added on the way. */
struct winograd_result {
    const float *residual;
    float *y;
    int64_t y_row, y_pixel, r_row, r_pixel;
    int64_t left; /* output channels */
    vec bias, lo, hi;
};

static inline void winograd_put(const struct winograd_result *o, int64_t r, int64_t s, vec sum) {
    sum = vec_add(sum, o->bias);
    if (o->residual)
        sum = vec_add(sum, vec_load_part(o->residual + r * o->r_row + s * o->r_pixel, o->left));
    vec_store_part(o->y + r * o->y_row + s * o->y_pixel, o->left, vec_clip(sum, o->lo, o->hi));
}

static inline void winograd_out_row(const struct winograd_result *o, int64_t r, int64_t columns,
                                    const float *from) {
    WINOGRAD_OUT(from, LANES);
    winograd_put(o, r, 0, o0);
    if (columns > 1)
        winograd_put(o, r, 1, o1);
    if (columns > 2)
        winograd_put(o, r, 2, o2);
    if (columns > 3)
        winograd_put(o, r, 3, o3);
}

/* A vector of one tile's products to its outputs: columns, then rows as far as they exist. */
WINOGRAD_APART void winograd_store_vector(const struct winograd_result *o,
                                          const struct ipex_winograd_tile *tile, const float *m,
                                          int64_t m_point, float *between) {
    for (int64_t s = 0; s < SIDE; s++)
        winograd_out_column(m + s * m_point, SIDE * m_point, between + s * LANES);
    for (int64_t r = 0; r < tile->rows_out; r++)
        winograd_out_row(o, r, tile->columns_out, between + r * SIDE * LANES);
}

/* Activations that are not clamps: a pass over the pixels that a tile has just written. */
static inline void winograd_activate(const struct ipex_winograd_args *args,
                                     const struct ipex_winograd_tile *tile, float *y, int64_t n) {
    for (int64_t r = 0; r < tile->rows_out; r++) {
        const struct ipex_act_rows rows =
            ipex_act_rows(y + r * args->dilation_h * args->y_line, tile->columns_out, n,
                          args->dilation_w * args->y_pixel, args->act, args->act_a, args->act_b);
        IPEX_LEVEL(activate)(&rows);
    }
}

static inline void winograd_store_tile(const struct ipex_winograd_args *args,
                                       const struct ipex_winograd_job *job, int64_t t,
                                       const float *m, int64_t m_point, float *between) {
    const struct ipex_winograd_tile tile = ipex_winograd_tile(args, t);
    const int64_t begin = job->panel * IPEX_PANEL;
    const int64_t end =
        job->panel_end * IPEX_PANEL < args->n ? job->panel_end * IPEX_PANEL : args->n;
    float *y = args->y + tile.image * args->y_image + tile.line * args->y_line +
               tile.pixel * args->y_pixel;
    const float *residual = args->residual;
    if (residual)
        residual +=
            tile.image * args->r_image + tile.line * args->r_line + tile.pixel * args->r_pixel;
    for (int64_t n = begin; n < end; n += LANES) {
        const struct winograd_result result = {
            .residual = residual ? residual + n : NULL,
            .y = y + n,
            .y_row = args->dilation_h * args->y_line,
            .y_pixel = args->dilation_w * args->y_pixel,
            .r_row = args->dilation_h * args->r_line,
            .r_pixel = args->dilation_w * args->r_pixel,
            .left = end - n,
            .bias = vec_load_part(args->bias + n, end - n),
            .lo = vec_set(act_low(args->act, args->act_a)),
            .hi = vec_set(act_high(args->act, args->act_b)),
        };
        winograd_store_vector(&result, &tile, m + n - begin, m_point, between);
    }
    if (!act_is_clamp(args->act))
        winograd_activate(args, &tile, y + begin, end - begin);
}

/* A kernel's whole body. */
static inline void winograd_jobs(const struct ipex_winograd_args *args, int64_t job_begin,
                                 int64_t job_end, float *scratch) {
    const struct ipex_winograd_space space = ipex_winograd_space(args);
    for (int64_t i = space.zeros; i < space.total; i++)
        scratch[i] = 0.0f;
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_winograd_job job = ipex_winograd_job(args, j);
        struct winograd_part part = {
            .x_row = args->dilation_h * args->x_row,
            .x_pixel = args->dilation_w * args->x_pixel,
            .between = scratch + space.between,
            .v = scratch + space.v,
            .v_point = args->tiles_per_job * space.v_row,
        };
        for (int64_t t = job.tile; t < job.tile_end; t++, part.v += space.v_row)
            winograd_load_tile(args, t, &part);
        winograd_multiply(args, &job, &space, scratch);
        const float *m = scratch + space.m;
        for (int64_t t = job.tile; t < job.tile_end; t++, m += space.m_row)
            winograd_store_tile(args, &job, t, m, args->tiles_per_job * space.m_row,
                                scratch + space.between);
    }
}

#endif
