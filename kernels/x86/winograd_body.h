/* SPDX-License-Identifier: Apache-2.0 */
/* 3x3 convolution by Winograd's F(4,3) for either vector width. A job transforms a block of tiles,
 * one vector of channels at a time, multiplies them with the weights in 36 products of the level's
 * own convolution kernel (tiles are its pixels), and transforms the results back. The arithmetic is
 * that of kernels/ref/winograd_ref.c. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_WINOGRAD_BODY_H
#define IPEX_KERNELS_X86_WINOGRAD_BODY_H

#include "kernels/x86/vec_math.h"

enum { POINTS = IPEX_WINOGRAD_POINTS, SIDE = 6 };

struct winograd_six {
    vec v0, v1, v2, v3, v4, v5;
};

struct winograd_four {
    vec v0, v1, v2, v3;
};

static inline struct winograd_six winograd_in(struct winograd_six d) {
    const vec four = vec_set(4.0f), five = vec_set(5.0f), two = vec_set(2.0f);
    const vec even = vec_fnma(four, d.v2, d.v4), odd = vec_fnma(four, d.v1, d.v3);
    const vec far_even = vec_sub(d.v4, d.v2), far_odd = vec_sub(d.v3, d.v1);
    return (struct winograd_six){
        .v0 = vec_fma(four, d.v0, vec_fnma(five, d.v2, d.v4)),
        .v1 = vec_add(even, odd),
        .v2 = vec_sub(even, odd),
        .v3 = vec_fma(two, far_odd, far_even),
        .v4 = vec_fnma(two, far_odd, far_even),
        .v5 = vec_fma(four, d.v1, vec_fnma(five, d.v3, d.v5)),
    };
}

static inline struct winograd_four winograd_out(struct winograd_six m) {
    const vec a = vec_add(m.v1, m.v2), b = vec_sub(m.v1, m.v2);
    const vec c = vec_add(m.v3, m.v4), d = vec_sub(m.v3, m.v4);
    return (struct winograd_four){
        .v0 = vec_add(m.v0, vec_add(a, c)),
        .v1 = vec_fma(vec_set(2.0f), d, b),
        .v2 = vec_fma(vec_set(4.0f), c, a),
        .v3 = vec_add(vec_fma(vec_set(8.0f), d, b), m.v5),
    };
}

static inline struct winograd_six winograd_load(const float *p, int64_t step) {
    return (struct winograd_six){vec_load(p),
                                 vec_load(p + step),
                                 vec_load(p + 2 * step),
                                 vec_load(p + 3 * step),
                                 vec_load(p + 4 * step),
                                 vec_load(p + 5 * step)};
}

static inline void winograd_store(float *p, int64_t step, struct winograd_six d) {
    vec_store(p, d.v0);
    vec_store(p + step, d.v1);
    vec_store(p + 2 * step, d.v2);
    vec_store(p + 3 * step, d.v3);
    vec_store(p + 4 * step, d.v4);
    vec_store(p + 5 * step, d.v5);
}

/* Rows and columns of a tile, in floats. */
struct winograd_part {
    const float *x;
    int64_t x_row, x_pixel;
    float *between; /* [6][6] vectors */
    float *v;
    int64_t v_point; /* from one of the 36 to the next */
};

/* A vector of `left` channels of a tile that lies inside x. The loops are unrolled, so that every
 * vector has a name. */
static inline void winograd_inside(const struct winograd_part *p, int64_t c) {
    for (int64_t s = 0; s < SIDE; s++)
        winograd_store(p->between + s * LANES, SIDE * LANES,
                       winograd_in(winograd_load(p->x + s * p->x_pixel + c, p->x_row)));
    for (int64_t r = 0; r < SIDE; r++)
        winograd_store(p->v + r * SIDE * p->v_point + c, p->v_point,
                       winograd_in(winograd_load(p->between + r * SIDE * LANES, LANES)));
}

/* The same at the borders, and where fewer channels than a vector are left: what is not there is
 * zero. */
static inline void winograd_border(const struct winograd_part *p,
                                   const struct ipex_winograd_tile *tile, int64_t c, int64_t left) {
    for (int64_t r = 0; r < SIDE; r++)
        for (int64_t s = 0; s < SIDE; s++) {
            const bool there = r < tile->rows_in && s < tile->columns_in;
            vec_store(p->between + (r * SIDE + s) * LANES,
                      there ? vec_load_part(p->x + r * p->x_row + s * p->x_pixel + c, left)
                            : vec_set(0.0f));
        }
    for (int64_t s = 0; s < SIDE; s++) {
        float *column = p->between + s * LANES;
        winograd_store(column, SIDE * LANES, winograd_in(winograd_load(column, SIDE * LANES)));
    }
    for (int64_t r = 0; r < SIDE; r++)
        winograd_store(p->v + r * SIDE * p->v_point + c, p->v_point,
                       winograd_in(winograd_load(p->between + r * SIDE * LANES, LANES)));
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
        .x = scratch + space->v,
        .bias = scratch + space->zeros,
        .y = scratch + space->m,
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
    product.w = args->w + job->panel * panel_floats;
    for (int64_t z = 0; z < POINTS; z++) {
        IPEX_LEVEL(conv_f32)(&product, 0, 1, NULL);
        product.x += args->tiles_per_job * space->v_row;
        product.y += args->tiles_per_job * space->m_row;
        product.w += point_floats;
    }
}

/* Where a vector of a tile's outputs goes, and what is added on the way. */
struct winograd_result {
    const struct ipex_winograd_args *args;
    const float *residual;
    float *y;
    int64_t left; /* output channels */
    vec bias, lo, hi;
};

static inline void winograd_put(const struct winograd_result *o, int64_t r, int64_t s, vec sum) {
    const struct ipex_winograd_args *args = o->args;
    sum = vec_add(sum, o->bias);
    if (o->residual)
        sum = vec_add(sum,
                      vec_load_part(o->residual + r * args->r_line + s * args->r_pixel, o->left));
    sum = vec_clip(sum, o->lo, o->hi);
    if (!act_is_clamp(args->act))
        sum = vec_act(sum, args->act, args->act_a, args->act_b);
    vec_store_part(o->y + r * args->y_line + s * args->y_pixel, o->left, sum);
}

static inline void winograd_put_row(const struct winograd_result *o, int64_t r, int64_t columns,
                                    struct winograd_four row) {
    winograd_put(o, r, 0, row.v0);
    if (columns > 1)
        winograd_put(o, r, 1, row.v1);
    if (columns > 2)
        winograd_put(o, r, 2, row.v2);
    if (columns > 3)
        winograd_put(o, r, 3, row.v3);
}

/* A vector of one tile's products to its outputs. */
static inline void winograd_store_vector(const struct winograd_result *o,
                                         const struct ipex_winograd_tile *tile, const float *m,
                                         int64_t m_point, float *between) {
    for (int64_t s = 0; s < SIDE; s++) {
        const struct winograd_four column =
            winograd_out(winograd_load(m + s * m_point, SIDE * m_point));
        float *at = between + s * LANES;
        vec_store(at, column.v0);
        vec_store(at + SIDE * LANES, column.v1);
        vec_store(at + 2 * SIDE * LANES, column.v2);
        vec_store(at + 3 * SIDE * LANES, column.v3);
    }
    for (int64_t r = 0; r < tile->rows_out; r++)
        winograd_put_row(o, r, tile->columns_out,
                         winograd_out(winograd_load(between + r * SIDE * LANES, LANES)));
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
            .args = args,
            .residual = residual ? residual + n : NULL,
            .y = y + n,
            .left = end - n,
            .bias = vec_load_part(args->bias + n, end - n),
            .lo = vec_set(act_low(args->act, args->act_a)),
            .hi = vec_set(act_high(args->act, args->act_b)),
        };
        winograd_store_vector(&result, &tile, m + n - begin, m_point, between);
    }
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
            .x_row = args->x_row,
            .x_pixel = args->x_pixel,
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
