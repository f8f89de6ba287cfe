/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution by Winograd's algorithm, or of an upsampled image, for either vector width. A job
 * transforms a block of tiles, one vector of channels at a time, multiplies them with the weights
 * in up to 36 products of the level's own convolution kernel (tiles are its pixels), and transforms
 * the results back.
 * The arithmetic is that of kernels/ref/winograd_ref.c. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_WINOGRAD_BODY_H
#define IPEX_KERNELS_X86_WINOGRAD_BODY_H

#include "kernels/x86/rows.h"
#include "kernels/x86/vec_math.h"

enum { LARGE = 4, SIDE = IPEX_WINOGRAD_SIDE_MAX };

/* Not inlined where addresses of many rows are in use: with those of the callers too, gcc 12 would
 * put vectors on the stack. */
#define WINOGRAD_APART static __attribute__((noinline))

/* Half of a transform at a time: of a whole tile's columns, three of the six rows that they become
 * fit into 32 registers, where the rows are transformed at once. 16 registers hold a column or a
 * row, and the rows wait in memory. */
enum { TILE_IN_REGISTERS = LANES == 16 };

struct winograd_two {
    vec v0, v1;
};

struct winograd_three {
    vec v0, v1, v2;
};

struct winograd_six {
    vec v0, v1, v2, v3, v4, v5;
};

/* Six vectors one, two ... five times a distance apart, in bytes. Addresses multiply a register by
 * 1, 2 or 4: with three of them no vector needs an addition of its own, which would take a turn of
 * a unit that computes, and a register. */
struct winograd_step {
    int64_t one, three, five;
};

/* A value that the compiler knows nothing of: gcc would compute all addresses from the first. */
#define WINOGRAD_OPAQUE(value) __asm__("" : "+r"(value))

static inline void winograd_keep(struct winograd_step *step) {
    WINOGRAD_OPAQUE(step->one);
    WINOGRAD_OPAQUE(step->three);
    WINOGRAD_OPAQUE(step->five);
}

static inline struct winograd_step winograd_step(int64_t floats) {
    const int64_t one = floats * (int64_t)sizeof(float);
    struct winograd_step ret = {one, 3 * one, 5 * one};
    winograd_keep(&ret);
    return ret;
}

/* The same in `between`, [6][6] vectors. */
static const struct winograd_step between_vector = {4 * LANES, 12 * LANES, 20 * LANES};
static const struct winograd_step between_line = {4 * SIDE * LANES, 12 * SIDE *LANES,
                                                  20 * SIDE *LANES};

#define WINOGRAD_AT(p, bytes) ((float *)((uintptr_t)(p) + (uintptr_t)(bytes)))

static inline struct winograd_six winograd_load(const float *from, struct winograd_step step) {
    return (struct winograd_six){vec_load(from),
                                 vec_load(WINOGRAD_AT(from, step.one)),
                                 vec_load(WINOGRAD_AT(from, 2 * step.one)),
                                 vec_load(WINOGRAD_AT(from, step.three)),
                                 vec_load(WINOGRAD_AT(from, 4 * step.one)),
                                 vec_load(WINOGRAD_AT(from, step.five))};
}

/* One row or column of a tile, transformed: the first three of six. */
static inline struct winograd_three winograd_in_first(struct winograd_six d) {
    const vec four = vec_set(4.0f);
    const vec even = vec_fnma(four, d.v2, d.v4), odd = vec_fnma(four, d.v1, d.v3);
    return (struct winograd_three){vec_fma(four, d.v0, vec_fnma(vec_set(5.0f), d.v2, d.v4)),
                                   vec_add(even, odd), vec_sub(even, odd)};
}

/* The last three. */
static inline struct winograd_three winograd_in_last(struct winograd_six d) {
    const vec two = vec_set(2.0f), even = vec_sub(d.v4, d.v2), odd = vec_sub(d.v3, d.v1);
    return (struct winograd_three){
        vec_fma(two, odd, even), vec_fnma(two, odd, even),
        vec_fma(vec_set(4.0f), d.v1, vec_fnma(vec_set(5.0f), d.v3, d.v5))};
}

static inline void winograd_in(struct winograd_six d, float *to, struct winograd_step step) {
    const struct winograd_three first = winograd_in_first(d), last = winograd_in_last(d);
    vec_store(to, first.v0);
    vec_store(WINOGRAD_AT(to, step.one), first.v1);
    vec_store(WINOGRAD_AT(to, 2 * step.one), first.v2);
    vec_store(WINOGRAD_AT(to, step.three), last.v0);
    vec_store(WINOGRAD_AT(to, 4 * step.one), last.v1);
    vec_store(WINOGRAD_AT(to, step.five), last.v2);
}

/* ---- in ---- */

/* Rows and columns of a tile and their distances, in floats. */
struct winograd_part {
    int64_t side_h, side_w, pixels; /* inputs along its sides, and from one tile's to the next's */
    const float *x;
    int64_t x_row, x_pixel;
    float *between; /* [6][6] vectors */
    float *v;
    int64_t v_point; /* from one of the points to the next */
    bool streams;    /* x comes from beyond L2: the next tile's is fetched */
};

/* s = the transform of a column at x, which goes on to the next one. */
#define WINOGRAD_COLUMN(type, column, s, x, step, pixel)                                           \
    const struct type s = column(winograd_load(x, step));                                          \
    x += pixel;                                                                                    \
    WINOGRAD_OPAQUE(x);

/* Three rows of v from all columns of x, whose transform is `column`. */
#define WINOGRAD_IN_THREE(column, at, row, pixel, v, point)                                        \
    {                                                                                              \
        const float *from = at;                                                                    \
        WINOGRAD_OPAQUE(from);                                                                     \
        WINOGRAD_COLUMN(winograd_three, column, s0, from, row, pixel)                              \
        WINOGRAD_COLUMN(winograd_three, column, s1, from, row, pixel)                              \
        WINOGRAD_COLUMN(winograd_three, column, s2, from, row, pixel)                              \
        WINOGRAD_COLUMN(winograd_three, column, s3, from, row, pixel)                              \
        WINOGRAD_COLUMN(winograd_three, column, s4, from, row, pixel)                              \
        WINOGRAD_COLUMN(winograd_three, column, s5, from, row, pixel)                              \
        winograd_in((struct winograd_six){s0.v0, s1.v0, s2.v0, s3.v0, s4.v0, s5.v0}, v, point);    \
        v = WINOGRAD_AT(v, 2 * point.three);                                                       \
        WINOGRAD_OPAQUE(v);                                                                        \
        winograd_in((struct winograd_six){s0.v1, s1.v1, s2.v1, s3.v1, s4.v1, s5.v1}, v, point);    \
        v = WINOGRAD_AT(v, 2 * point.three);                                                       \
        WINOGRAD_OPAQUE(v);                                                                        \
        winograd_in((struct winograd_six){s0.v2, s1.v2, s2.v2, s3.v2, s4.v2, s5.v2}, v, point);    \
        v = WINOGRAD_AT(v, 2 * point.three);                                                       \
        WINOGRAD_OPAQUE(v);                                                                        \
    }

/* What the next tile of a line reads besides, of one vector of channels, into L2: a tile is so many
 * rows of a few lines of memory that hardware foresees none of them (96->24 at 184x184: 0.8 of the
 * time; into L1 0.9). */
PREFETCHES winograd_fetch(const struct winograd_part *p, const float *x, int64_t x_row,
                          int64_t pixel) {
    for (int64_t r = 0; r < p->side_h; r++)
        for (int64_t s = 0; s < p->pixels; s++)
            _mm_prefetch((const char *)(x + r * x_row + (p->side_w + s) * pixel), _MM_HINT_T1);
}

/* `vectors` of channels of a whole large tile at x, to v: columns, then rows. */
WINOGRAD_APART void winograd_large_tile(const float *x, int64_t x_row, int64_t pixel,
                                        const struct winograd_part *p, float *to, int64_t vectors) {
    struct winograd_step row = winograd_step(x_row), point = winograd_step(p->v_point);
    for (; vectors > 0; vectors--, x += LANES, to += LANES) {
        float *v = to;
        winograd_keep(&row);
        winograd_keep(&point);
        if (p->streams)
            winograd_fetch(p, x, x_row, pixel);
        if (TILE_IN_REGISTERS) {
            WINOGRAD_IN_THREE(winograd_in_first, x, row, pixel, v, point)
            WINOGRAD_IN_THREE(winograd_in_last, x, row, pixel, v, point)
            continue;
        }
        for (int64_t s = 0; s < SIDE; s++)
            winograd_in(winograd_load(x + s * pixel, row), p->between + s * LANES, between_line);
        for (int64_t r = 0; r < SIDE; r++)
            winograd_in(winograd_load(p->between + r * SIDE * LANES, between_vector),
                        v + r * SIDE * p->v_point, point);
    }
}

/* A column of a small tile, transformed: the two values that need its first element. */
static inline struct winograd_two winograd_in_upper(const float *x, struct winograd_step row) {
    const vec d0 = vec_load(x), d1 = vec_load(WINOGRAD_AT(x, row.one)),
              d2 = vec_load(WINOGRAD_AT(x, 2 * row.one));
    return (struct winograd_two){vec_sub(d0, d2), vec_add(d1, d2)};
}

/* The two that need its last. */
static inline struct winograd_two winograd_in_lower(const float *x, struct winograd_step row) {
    const vec d1 = vec_load(WINOGRAD_AT(x, row.one)), d2 = vec_load(WINOGRAD_AT(x, 2 * row.one)),
              d3 = vec_load(WINOGRAD_AT(x, row.three));
    return (struct winograd_two){vec_sub(d2, d1), vec_sub(d1, d3)};
}

static inline void winograd_in_row(vec d0, vec d1, vec d2, vec d3, float *to,
                                   struct winograd_step step) {
    vec_store(to, vec_sub(d0, d2));
    vec_store(WINOGRAD_AT(to, step.one), vec_add(d1, d2));
    vec_store(WINOGRAD_AT(to, 2 * step.one), vec_sub(d2, d1));
    vec_store(WINOGRAD_AT(to, step.three), vec_sub(d1, d3));
}

/* Two rows of v from all columns of x, whose transform is `column`: more would not fit into 16
 * registers. */
#define WINOGRAD_IN_TWO(column, x, row, pixel, v, point)                                           \
    {                                                                                              \
        const struct winograd_two s0 = column(x, row), s1 = column((x) + (pixel), row),            \
                                  s2 = column((x) + 2 * (pixel), row),                             \
                                  s3 = column((x) + 3 * (pixel), row);                             \
        winograd_in_row(s0.v0, s1.v0, s2.v0, s3.v0, v, point);                                     \
        winograd_in_row(s0.v1, s1.v1, s2.v1, s3.v1, WINOGRAD_AT(v, 4 * (point).one), point);       \
    }

/* The same of a small tile. */
WINOGRAD_APART void winograd_small_tile(const float *x, int64_t x_row, int64_t pixel,
                                        const struct winograd_part *p, float *v, int64_t vectors) {
    const struct winograd_step row = winograd_step(x_row), point = winograd_step(p->v_point);
    for (; vectors > 0; vectors--, x += LANES, v += LANES) {
        if (p->streams)
            winograd_fetch(p, x, x_row, pixel);
        WINOGRAD_IN_TWO(winograd_in_upper, x, row, pixel, v, point)
        WINOGRAD_IN_TWO(winograd_in_lower, x, row, pixel, WINOGRAD_AT(v, 8 * point.one), point)
    }
}

static inline struct winograd_three winograd_in_up(vec d0, vec d1, vec d2) {
    return (struct winograd_three){vec_sub(d0, d1), d1, vec_sub(d2, d1)};
}

static inline struct winograd_three winograd_in_up_column(const float *x, int64_t x_row) {
    return winograd_in_up(vec_load(x), vec_load(x + x_row), vec_load(x + 2 * x_row));
}

static inline void winograd_in_up_row(vec d0, vec d1, vec d2, float *v, int64_t point) {
    const struct winograd_three row = winograd_in_up(d0, d1, d2);
    vec_store(v, row.v0);
    vec_store(v + point, row.v1);
    vec_store(v + 2 * point, row.v2);
}

/* The same of a pixel of an upsampled image, with those around it. */
WINOGRAD_APART void winograd_up_tile(const float *x, int64_t x_row, int64_t pixel,
                                     const struct winograd_part *p, float *v, int64_t vectors) {
    const int64_t point = p->v_point;
    for (; vectors > 0; vectors--, x += LANES, v += LANES) {
        const struct winograd_three s0 = winograd_in_up_column(x, x_row),
                                    s1 = winograd_in_up_column(x + pixel, x_row),
                                    s2 = winograd_in_up_column(x + 2 * pixel, x_row);
        winograd_in_up_row(s0.v0, s1.v0, s2.v0, v, point);
        winograd_in_up_row(s0.v1, s1.v1, s2.v1, v + 3 * point, point);
        winograd_in_up_row(s0.v2, s1.v2, s2.v2, v + 6 * point, point);
    }
}

/* Of a row or a column of taps: values that lie `distance` apart. */
WINOGRAD_APART void winograd_line_tile(const float *x, int64_t distance,
                                       const struct winograd_part *p, float *v, int64_t vectors) {
    const struct winograd_step step = winograd_step(distance), point = winograd_step(p->v_point);
    for (; vectors > 0; vectors--, x += LANES, v += LANES)
        winograd_in(winograd_load(x, step), v, point);
}

static inline void winograd_tile(const float *x, int64_t x_row, int64_t pixel,
                                 const struct winograd_part *p, float *v, int64_t vectors) {
    if (p->side_h == 3)
        winograd_up_tile(x, x_row, pixel, p, v, vectors);
    else if (p->side_h == 1 || p->side_w == 1)
        winograd_line_tile(x, p->side_h == 1 ? pixel : x_row, p, v, vectors);
    else if (p->side_h == SIDE)
        winograd_large_tile(x, x_row, pixel, p, v, vectors);
    else
        winograd_small_tile(x, x_row, pixel, p, v, vectors);
}

/* What is not there, at the borders and where fewer channels than a vector are left, is zero. */
WINOGRAD_APART void winograd_border(const struct winograd_part *p,
                                    const struct ipex_winograd_tile *tile, int64_t c,
                                    int64_t left) {
    const int64_t side = p->side_w;
    for (int64_t r = 0; r < p->side_h; r++)
        for (int64_t s = 0; s < side; s++) {
            const bool there = r < tile->rows_in && s < tile->columns_in;
            vec_store(p->between + (r * side + s) * LANES,
                      there ? vec_load_part(p->x + r * p->x_row + s * p->x_pixel + c, left)
                            : vec_set(0.0f));
        }
    winograd_tile(p->between, side * LANES, LANES, p, p->v + c, 1);
}

static inline void winograd_load_tile(const struct ipex_winograd_args *args,
                                      const struct ipex_winograd_grid *grid, int64_t t,
                                      struct winograd_part *p) {
    const struct ipex_winograd_tile tile = ipex_winograd_tile(args, grid, t);
    const bool inside = tile.rows_in == p->side_h && tile.columns_in == p->side_w;
    p->x = args->x + tile.image * args->x_image + tile.x_line * args->x_row +
           tile.x_pixel * args->x_pixel;
    const int64_t whole = inside ? args->channels / LANES : 0;
    winograd_tile(p->x, p->x_row, p->x_pixel, p, p->v, whole);
    for (int64_t c = whole * LANES; c < args->channels; c += LANES)
        winograd_border(p, &tile, c, args->channels - c);
}

/* Columns of a job's panels. */
static inline int64_t winograd_columns(const struct ipex_winograd_args *args,
                                       const struct ipex_winograd_job *job) {
    return ipex_smaller(job->panel_end * IPEX_PANEL, args->n) - job->panel * IPEX_PANEL;
}

/* ---- products ---- */

/* m [points][tiles][m_row] = v [tiles][points][v_point] times the job's panels: rows of the
 * matrices are the pixels of as many lines, which have weights of their own. */
static inline void winograd_multiply(const struct ipex_winograd_args *args,
                                     const struct ipex_winograd_job *job,
                                     const struct ipex_winograd_space *space, float *scratch) {
    const int32_t points = (int32_t)ipex_winograd_products(args);
    const int64_t panels = job->panel_end - job->panel, tiles = job->tile_end - job->tile;
    struct ipex_conv_args product = {
        .x = scratch + space->v,
        .y = scratch + space->m,
        .bias = scratch + space->zeros,
        .x_line = space->v_point,
        .x_pixel = space->v_row,
        .y_line = space->m_point,
        .y_pixel = space->m_row,
        .images = 1,
        .lines = points,
        .pixels = (int32_t)tiles,
        .last_pixels = (int32_t)tiles,
        .groups = 1,
        .segments_h = 1,
        .segments_w = 1,
        .k = args->channels,
        .n = (int32_t)winograd_columns(args, job),
        .lines_per_job = points,
        .panels_per_job = (int32_t)panels,
        .act = IPEX_ACT_none,
        .panels_outside = true,
        .weights_far = args->weights_far,
        .cache_l2 = args->cache_l2,
    };
    const int64_t panel_floats = ipex_conv_panel_floats(&product);
    product.w = args->w + job->panel * panel_floats;
    product.w_line = ipex_div_up(args->n, IPEX_PANEL) * panel_floats;
    IPEX_LEVEL(conv_f32)(&product, 0, 1, NULL);
}

/* ---- out ---- */

/* Where a vector of a tile's outputs goes, and what is added on the way. */
struct winograd_result {
    int64_t tile_h, tile_w, side_h, side_w; /* outputs and inputs along its sides */
    const float *residual;                  /* or NULL */
    float *y;
    int64_t y_row, y_pixel, r_row, r_pixel;
    vec bias, lo, hi;
};

/* Six products of a row or column to four outputs: the even ones, the odd ones. */
static inline struct winograd_two winograd_out_even(struct winograd_six m) {
    const vec a = vec_add(m.v1, m.v2), c = vec_add(m.v3, m.v4);
    return (struct winograd_two){vec_add(m.v0, vec_add(a, c)), vec_fma(vec_set(4.0f), c, a)};
}

static inline struct winograd_two winograd_out_odd(struct winograd_six m) {
    const vec b = vec_sub(m.v1, m.v2), d = vec_sub(m.v3, m.v4);
    return (struct winograd_two){vec_fma(vec_set(2.0f), d, b),
                                 vec_add(vec_fma(vec_set(8.0f), d, b), m.v5)};
}

/* Row r of a whole large tile's outputs. */
static inline void winograd_out_row(const struct winograd_result *o, int64_t r,
                                    struct winograd_six m) {
    const struct winograd_two even = winograd_out_even(m), odd = winograd_out_odd(m);
    vec v0 = vec_add(even.v0, o->bias), v1 = vec_add(odd.v0, o->bias);
    vec v2 = vec_add(even.v1, o->bias), v3 = vec_add(odd.v1, o->bias);
    if (o->residual) {
        const float *from = o->residual + r * o->r_row;
        v0 = vec_add(v0, vec_load(from));
        v1 = vec_add(v1, vec_load(from + o->r_pixel));
        v2 = vec_add(v2, vec_load(from + 2 * o->r_pixel));
        v3 = vec_add(v3, vec_load(from + 3 * o->r_pixel));
    }
    float *y = o->y + r * o->y_row;
    vec_store(y, vec_clip(v0, o->lo, o->hi));
    vec_store(y + o->y_pixel, vec_clip(v1, o->lo, o->hi));
    vec_store(y + 2 * o->y_pixel, vec_clip(v2, o->lo, o->hi));
    vec_store(y + 3 * o->y_pixel, vec_clip(v3, o->lo, o->hi));
}

/* Rows `row` and row + 2 of the outputs from all columns of m, whose transform is `column`. */
#define WINOGRAD_OUT_TWO(column, at, m, step, point)                                               \
    {                                                                                              \
        const float *from = m;                                                                     \
        WINOGRAD_OPAQUE(from);                                                                     \
        WINOGRAD_COLUMN(winograd_two, column, s0, from, step, point)                               \
        WINOGRAD_COLUMN(winograd_two, column, s1, from, step, point)                               \
        WINOGRAD_COLUMN(winograd_two, column, s2, from, step, point)                               \
        WINOGRAD_COLUMN(winograd_two, column, s3, from, step, point)                               \
        WINOGRAD_COLUMN(winograd_two, column, s4, from, step, point)                               \
        WINOGRAD_COLUMN(winograd_two, column, s5, from, step, point)                               \
        winograd_out_row(o, at, (struct winograd_six){s0.v0, s1.v0, s2.v0, s3.v0, s4.v0, s5.v0});  \
        winograd_out_row(o, (at) + 2,                                                              \
                         (struct winograd_six){s0.v1, s1.v1, s2.v1, s3.v1, s4.v1, s5.v1});         \
    }

/* A vector of a whole large tile's products to its outputs: columns, then rows. */
WINOGRAD_APART void winograd_store_large(const struct winograd_result *o, const float *m,
                                         int64_t m_point, float *between) {
    const struct winograd_step step = winograd_step(SIDE * m_point);
    if (TILE_IN_REGISTERS) {
        WINOGRAD_OUT_TWO(winograd_out_even, 0, m, step, m_point)
        WINOGRAD_OUT_TWO(winograd_out_odd, 1, m, step, m_point)
        return;
    }
    enum { ROW = SIDE * LANES };
    for (int64_t s = 0; s < SIDE; s++) {
        const struct winograd_six column = winograd_load(m + s * m_point, step);
        const struct winograd_two even = winograd_out_even(column), odd = winograd_out_odd(column);
        vec_store(between + s * LANES, even.v0);
        vec_store(between + s * LANES + ROW, odd.v0);
        vec_store(between + s * LANES + 2 * ROW, even.v1);
        vec_store(between + s * LANES + 3 * ROW, odd.v1);
    }
    for (int64_t r = 0; r < LARGE; r++)
        winograd_out_row(o, r, winograd_load(between + r * ROW, between_vector));
}

/* Four products of a row or column to two outputs. */
static inline struct winograd_two winograd_out_small(vec m0, vec m1, vec m2, vec m3) {
    return (struct winograd_two){vec_add(m0, vec_add(m1, m2)), vec_sub(vec_sub(m1, m2), m3)};
}

static inline struct winograd_two winograd_out_column(const float *m, struct winograd_step row) {
    return winograd_out_small(vec_load(m), vec_load(WINOGRAD_AT(m, row.one)),
                              vec_load(WINOGRAD_AT(m, 2 * row.one)),
                              vec_load(WINOGRAD_AT(m, row.three)));
}

static inline void winograd_out_pair(const struct winograd_result *o, int64_t r,
                                     struct winograd_two sum) {
    vec v0 = vec_add(sum.v0, o->bias), v1 = vec_add(sum.v1, o->bias);
    if (o->residual) {
        const float *from = o->residual + r * o->r_row;
        v0 = vec_add(v0, vec_load(from));
        v1 = vec_add(v1, vec_load(from + o->r_pixel));
    }
    float *y = o->y + r * o->y_row;
    vec_store(y, vec_clip(v0, o->lo, o->hi));
    vec_store(y + o->y_pixel, vec_clip(v1, o->lo, o->hi));
}

/* The same of a small tile. */
WINOGRAD_APART void winograd_store_small(const struct winograd_result *o, const float *m,
                                         int64_t m_point) {
    const struct winograd_step row = winograd_step(4 * m_point);
    const struct winograd_two s0 = winograd_out_column(m, row),
                              s1 = winograd_out_column(m + m_point, row),
                              s2 = winograd_out_column(m + 2 * m_point, row),
                              s3 = winograd_out_column(m + 3 * m_point, row);
    winograd_out_pair(o, 0, winograd_out_small(s0.v0, s1.v0, s2.v0, s3.v0));
    winograd_out_pair(o, 1, winograd_out_small(s0.v1, s1.v1, s2.v1, s3.v1));
}

static inline void winograd_store_vector(const struct winograd_result *o, const float *m,
                                         int64_t m_point, float *between) {
    if (o->tile_h == LARGE)
        winograd_store_large(o, m, m_point, between);
    else
        winograd_store_small(o, m, m_point);
}

/* A column of an upsampled pixel's products to the two rows of its outputs. */
static inline struct winograd_two winograd_up_column(const float *m, int64_t m_point) {
    const vec m1 = vec_load(m + 3 * m_point);
    return (struct winograd_two){vec_add(vec_load(m), m1), vec_add(m1, vec_load(m + 6 * m_point))};
}

/* A vector of products of a pixel upsampled twice to its 2x2 outputs. */
WINOGRAD_APART void winograd_store_twice(const struct winograd_result *o, const float *m,
                                         int64_t m_point) {
    const struct winograd_two s0 = winograd_up_column(m, m_point),
                              s1 = winograd_up_column(m + m_point, m_point),
                              s2 = winograd_up_column(m + 2 * m_point, m_point);
    winograd_out_pair(o, 0, (struct winograd_two){vec_add(s0.v0, s1.v0), vec_add(s1.v0, s2.v0)});
    winograd_out_pair(o, 1, (struct winograd_two){vec_add(s0.v1, s1.v1), vec_add(s1.v1, s2.v1)});
}

/* Output (r, s) of a tile, of which `left` lanes exist; sum has the bias. */
static inline void winograd_store_output(const struct winograd_result *o, int64_t r, int64_t s,
                                         int64_t left, vec sum) {
    if (o->residual)
        sum = vec_add(sum, vec_load_part(o->residual + r * o->r_row + s * o->r_pixel, left));
    vec_store_part(o->y + r * o->y_row + s * o->y_pixel, left, vec_clip(sum, o->lo, o->hi));
}

/* Of three results of an upsampled row or column, which one output `at` is. */
static inline int64_t winograd_up_result(const struct winograd_result *o, int64_t at) {
    return at == 0 ? 0 : at == o->tile_h - 1 ? 2 : 1;
}

/* A vector of a pixel's products, upsampled any number of times, of which `left` lanes exist, to
 * its outputs, by way of the 3x3 different ones. */
WINOGRAD_APART void winograd_store_up(const struct winograd_result *o, const float *m,
                                      int64_t m_point, int64_t left, float *between) {
    for (int64_t s = 0; s < 3; s++, m += m_point) {
        const vec m1 = vec_load(m + 3 * m_point);
        vec_store(between + s * LANES, vec_add(vec_load(m), m1));
        vec_store(between + (3 + s) * LANES, m1);
        vec_store(between + (6 + s) * LANES, vec_add(m1, vec_load(m + 6 * m_point)));
    }
    for (float *row = between; row < between + 9 * LANES; row += 3 * LANES) {
        const vec m1 = vec_load(row + LANES);
        vec_store(row, vec_add(vec_add(vec_load(row), m1), o->bias));
        vec_store(row + LANES, vec_add(m1, o->bias));
        vec_store(row + 2 * LANES, vec_add(vec_add(m1, vec_load(row + 2 * LANES)), o->bias));
    }
    for (int64_t r = 0; r < o->tile_h; r++)
        for (int64_t s = 0; s < o->tile_w; s++)
            winograd_store_output(
                o, r, s, left,
                vec_load(between +
                         (3 * winograd_up_result(o, r) + winograd_up_result(o, s)) * LANES));
}

/* The products of a row or column, of `side` inputs, to `tile` outputs that lie `to_step` floats
 * apart. */
static inline void winograd_out_line(const float *m, struct winograd_step step, int64_t side,
                                     int64_t tile, float *to, int64_t to_step) {
    if (side != SIDE) {
        const struct winograd_two sum = winograd_out_column(m, step);
        vec_store(to, sum.v0);
        vec_store(to + to_step, sum.v1);
        return;
    }
    const struct winograd_six six = winograd_load(m, step);
    const struct winograd_two even = winograd_out_even(six), odd = winograd_out_odd(six);
    vec_store(to, even.v0);
    vec_store(to + to_step, tile == 2 ? vec_add(odd.v0, six.v5) : odd.v0);
    if (tile > 2)
        vec_store(to + 2 * to_step, tile == 3 ? vec_add(even.v1, six.v5) : even.v1);
    if (tile > 3)
        vec_store(to + 3 * to_step, odd.v1);
}

/* A vector's products to those of its outputs that exist, for tiles that are cut off or neither
 * 4x4 nor 2x2. between: [tile_h][side_w] vectors, then a row of outputs. */
WINOGRAD_APART void winograd_store_part(const struct winograd_result *o,
                                        const struct ipex_winograd_tile *tile, int64_t left,
                                        const float *m, int64_t m_point, float *between) {
    float *sums = between + LARGE * SIDE * LANES;
    const int64_t row = o->side_w * LANES;
    const bool is_row = o->side_h == 1, is_column = o->side_w == 1; /* one transform alone */
    const struct winograd_step step = winograd_step(o->side_w * m_point);
    const struct winograd_step one = winograd_step(is_row ? m_point : LANES);
    for (int64_t s = 0; s < o->side_w && !is_row; s++)
        winograd_out_line(m + s * m_point, step, o->side_h, o->tile_h, between + s * LANES, row);
    for (int64_t r = 0; r < tile->rows_out; r++) {
        if (is_column)
            sums = between + r * row;
        else
            winograd_out_line(is_row ? m : between + r * row, one, o->side_w, o->tile_w, sums,
                              LANES);
        for (int64_t s = 0; s < tile->columns_out; s++)
            winograd_store_output(o, r, s, left, vec_add(vec_load(sums + s * LANES), o->bias));
    }
}

/* A job's columns of the outputs of tiles that follow each other in a line: rows of pixels, as far
 * as L1 holds them. */
struct winograd_strip {
    float *y;
    int64_t rows, pixels, columns;
};

enum { STRIP_FLOATS = 4096 };

/* Activations that are not clamps: a pass over a strip. */
static inline void winograd_activate(const struct ipex_winograd_args *args,
                                     const struct winograd_strip *strip) {
    for (int64_t r = 0; r < strip->rows; r++) {
        const struct ipex_act_rows rows = ipex_act_rows(
            strip->y + r * args->dilation_h * args->y_line, strip->pixels, strip->columns,
            args->dilation_w * args->y_pixel, args->act, args->act_a, args->act_b);
        IPEX_LEVEL(activate)(&rows);
    }
}

/* A tile's outputs at y, behind those of the strip, or in place of it: then that one is activated.
 * Stores of this tile have not reached L1 yet, and loads would wait for them. */
static inline void winograd_put_on(const struct ipex_winograd_args *args,
                                   struct winograd_strip *strip,
                                   const struct ipex_winograd_tile *tile, float *y) {
    const bool follows = strip->rows == tile->rows_out &&
                         y == strip->y + strip->pixels * args->dilation_w * args->y_pixel &&
                         strip->rows * strip->pixels * strip->columns < STRIP_FLOATS;
    if (!follows) {
        winograd_activate(args, strip);
        strip->y = y;
        strip->rows = tile->rows_out;
        strip->pixels = 0;
    }
    strip->pixels += tile->columns_out;
}

static inline void winograd_store_tile(const struct ipex_winograd_args *args,
                                       const struct ipex_winograd_grid *grid,
                                       const struct ipex_winograd_job *job, int64_t t,
                                       const float *m, int64_t m_point, float *between,
                                       struct winograd_strip *strip) {
    const struct ipex_winograd_tile tile = ipex_winograd_tile(args, grid, t);
    const int64_t begin = job->panel * IPEX_PANEL, end = begin + strip->columns;
    float *y = args->y + tile.image * args->y_image + tile.line * args->y_line +
               tile.pixel * args->y_pixel;
    const float *residual = args->residual;
    if (residual)
        residual +=
            tile.image * args->r_image + tile.line * args->r_line + tile.pixel * args->r_pixel;
    struct winograd_result result = {
        .tile_h = args->tile_h,
        .tile_w = args->tile_w,
        .side_h = args->side_h,
        .side_w = args->side_w,
        .y_row = args->dilation_h * args->y_line,
        .y_pixel = args->dilation_w * args->y_pixel,
        .r_row = args->dilation_h * args->r_line,
        .r_pixel = args->dilation_w * args->r_pixel,
        .lo = vec_set(act_low(args->act, args->act_a)),
        .hi = vec_set(act_high(args->act, args->act_b)),
    };
    /* Of 4x4 or 2x2 outputs, all of them. */
    const bool square = args->side_h == args->side_w && args->side_h - args->tile_h == 2;
    const bool whole = square && tile.rows_out == args->tile_h && tile.columns_out == args->tile_w;
    for (int64_t n = begin; n < end; n += LANES, m += LANES) {
        result.y = y + n;
        result.residual = residual ? residual + n : NULL;
        result.bias = vec_load_part(args->bias + n, end - n);
        if (args->up == 2 && end - n >= LANES)
            winograd_store_twice(&result, m, m_point);
        else if (args->up)
            winograd_store_up(&result, m, m_point, end - n, between);
        else if (whole && end - n >= LANES)
            winograd_store_vector(&result, m, m_point, between);
        else
            winograd_store_part(&result, &tile, end - n, m, m_point, between);
    }
    if (!ipex_act_is_clamp(args->act))
        winograd_put_on(args, strip, &tile, y + begin);
}

/* A kernel's whole body. */
static inline void winograd_jobs(const struct ipex_winograd_args *args, int64_t job_begin,
                                 int64_t job_end, float *scratch) {
    const struct ipex_winograd_space space = ipex_winograd_space(args);
    const struct ipex_winograd_grid grid = ipex_winograd_grid(args);
    for (int64_t i = space.zeros; i < space.total; i++)
        scratch[i] = 0.0f;
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_winograd_job job = ipex_winograd_job(args, j);
        struct winograd_part part = {
            .side_h = args->side_h,
            .side_w = args->side_w,
            .pixels = args->tile_w,
            .x_row = args->dilation_h * args->x_row,
            .x_pixel = args->dilation_w * args->x_pixel,
            .between = scratch + space.between,
            .v = scratch + space.v,
            .v_point = space.v_point,
            .streams = (int64_t)args->images * args->lines * args->x_row * 4 > args->cache_l2,
        };
        for (int64_t t = job.tile; t < job.tile_end; t++, part.v += space.v_row)
            winograd_load_tile(args, &grid, t, &part);
        winograd_multiply(args, &job, &space, scratch);
        const float *m = scratch + space.m;
        struct winograd_strip strip = {.columns =
                                           ipex_smaller((job.panel_end - job.panel) * IPEX_PANEL,
                                                        args->n - job.panel * IPEX_PANEL)};
        for (int64_t t = job.tile; t < job.tile_end; t++, m += space.m_row)
            winograd_store_tile(args, &grid, &job, t, m, space.m_point, scratch + space.between,
                                &strip);
        winograd_activate(args, &strip);
    }
}

#endif
