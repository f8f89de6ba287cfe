/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in an image or a volume for either vector width, in the order of kernels/ref/grid_ref.c.
 * Where places are is found out for a vector of them at once; then lanes are places still, of one
 * channel, or the channels of one place. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_GRID_BODY_H
#define IPEX_KERNELS_X86_GRID_BODY_H

#include "kernels/grid_taps.h"
#include "kernels/x86/vec_math.h"

enum {
    GRID_LINEAR = 4,         /* corners of linear images, and of nothing else: most look-ups */
    GRID_FEW = 4,            /* channels */
    GRID_SINGLE = LANES / 2, /* places of one channel: no more are looked up one by one */
};

/* Elements, counted from the image's first, below 0 where a tap is left out; and weights. */
struct grid_tap {
    int32_t at[LANES];
    float weight[LANES];
};

/* A vector of places: in scratch memory. */
struct grid_run {
    struct grid_tap along[IPEX_GRID_AXES][IPEX_GRID_TAPS];
    struct grid_tap corner[IPEX_GRID_CORNERS];
    int32_t corners;
};
_Static_assert(sizeof(struct grid_run) <= IPEX_GRID_SCRATCH, "kernels/grid_taps.h");

static inline vec_int grid_load_at(const struct grid_tap *tap) {
    return vec_bits(vec_load((const float *)(const void *)tap->at));
}

static inline void grid_store_at(struct grid_tap *tap, vec_int at) {
    vec_store((float *)(void *)tap->at, vec_float(at));
}

/* What all taps of an axis need. */
struct grid_axis {
    struct ipex_grid_numbers numbers;
    int32_t mode, padding, taps, stride;
};

static inline vec grid_clamp(vec x, float last) {
    return vec_min(vec_max(x, vec_set(0.0f)), vec_set(last));
}

/* Out of line: it is rare, and would be there six times. */
static __attribute__((noinline)) vec grid_reflect(const struct grid_axis *axis, vec x) {
    const vec low = vec_set(axis->numbers.low), range = vec_set(axis->numbers.range);
    const vec from = vec_abs(vec_sub(x, low)), twice = vec_mul(range, vec_set(2.0f));
    const vec whole = vec_mul(vec_floor(vec_div(from, twice)), twice);
    return vec_add(low, vec_sub(range, vec_abs(vec_sub(vec_sub(from, whole), range))));
}

static inline vec grid_move(const struct grid_axis *axis, vec x) {
    return axis->padding == IPEX_GRID_zeros    ? x
           : axis->padding == IPEX_GRID_border ? grid_clamp(x, axis->numbers.last)
                                               : grid_reflect(axis, x);
}

static inline vec grid_weight(int32_t taps, int32_t tap, vec fraction) {
    const vec one = vec_set(1.0f), rest = vec_sub(one, fraction), a = vec_set(-0.75f);
    if (taps == 1)
        return one;
    if (taps == 2)
        return tap ? fraction : rest;
    const vec t = tap < 2 ? fraction : rest;
    if (tap == 0 || tap == 3)
        return vec_mul(vec_fma(vec_fma(a, t, vec_set(1.5f)), t, a), t);
    return vec_fma(vec_mul(vec_fma(vec_set(1.25f), t, vec_set(-2.25f)), t), t, one);
}

static inline vec_int grid_at(const struct grid_axis *axis, vec x) {
    const vec inside = grid_clamp(x, axis->numbers.last);
    const vec at = vec_float(vec_int_mul(vec_int_round(inside), vec_int_set(axis->stride)));
    const vec left_out = vec_float(vec_int_set(IPEX_GRID_LEFT_OUT));
    return vec_bits(
        axis->padding == IPEX_GRID_zeros ? vec_select(vec_equal(inside, x), at, left_out) : at);
}

static inline vec grid_pixel(const struct grid_axis *axis, vec x) {
    x = vec_mul(vec_add(x, vec_set(1.0f)), vec_set(axis->numbers.first));
    return vec_mul(vec_sub(x, vec_set(axis->numbers.less)), vec_set(axis->numbers.second));
}

/* Taps of a vector of coordinates along one axis. */
static void grid_along(const struct grid_axis *axis, vec x, struct grid_tap *ret) {
    x = grid_pixel(axis, x);
    if (axis->mode == IPEX_GRID_nearest)
        x = vec_round(x);
    if (axis->mode != IPEX_GRID_cubic)
        x = grid_move(axis, x);
    const vec low = axis->mode == IPEX_GRID_nearest ? x : vec_floor(x), fraction = vec_sub(x, low);
    for (int32_t tap = 0; tap < axis->taps; tap++) {
        const float step = (float)(axis->taps == IPEX_GRID_TAPS ? tap - 1 : tap);
        vec at = vec_add(low, vec_set(step));
        if (axis->mode == IPEX_GRID_cubic)
            at = grid_move(axis, at);
        grid_store_at(&ret[tap], grid_at(axis, at));
    }
    for (int32_t tap = 0; tap < axis->taps; tap++)
        vec_store(ret[tap].weight, grid_weight(axis->taps, tap, fraction));
}

/* And two of them, linear, in registers. */
struct grid_two {
    vec_int at[2];
    vec weight[2];
};

static inline struct grid_two grid_linear(const struct grid_axis *axis, vec x) {
    const vec one = vec_set(1.0f), moved = grid_move(axis, grid_pixel(axis, x));
    const vec low = vec_floor(moved), fraction = vec_sub(moved, low);
    return (struct grid_two){{grid_at(axis, low), grid_at(axis, vec_add(low, one))},
                             {vec_sub(one, fraction), fraction}};
}

static inline bool grid_is_dense(const struct ipex_grid_args *args) {
    return args->axes == 2 && args->grid_place == 2 && args->grid_axis == 1;
}

/* Coordinates of n places of a dense grid along both axes; others are 0. */
static inline void grid_dense(const float *grid, int64_t n, vec *ret_x, vec *ret_y) {
    const vec a = vec_load_part(grid, 2 * n), b = vec_load_part(grid + LANES, 2 * n - LANES);
    *ret_x = vec_every_second(a, b, false);
    *ret_y = vec_every_second(a, b, true);
}

/* Those of any grid along one axis. */
static __attribute__((noinline)) vec grid_coordinates(const struct ipex_grid_args *args,
                                                      const float *grid, int32_t axis, int64_t n) {
    float each[LANES] = {0};
    if (grid_is_dense(args)) {
        vec x, y;
        grid_dense(grid, n, &x, &y);
        return axis ? y : x;
    }
    for (int64_t i = 0; i < n; i++)
        each[i] = grid[i * args->grid_place + axis * args->grid_axis];
    return vec_load(each);
}

static inline void grid_corner(struct grid_tap *corner, vec_int at, vec weight) {
    grid_store_at(corner, at);
    vec_store(corner->weight, weight);
}

/* Linear, of an image: what grid_find, whose loops go through memory, takes longer for. */
static void grid_find_linear(const struct ipex_grid_args *args, const struct grid_axis *axis,
                             const float *grid, int64_t n, struct grid_tap *corner) {
    vec x, y;
    if (grid_is_dense(args)) {
        grid_dense(grid, n, &x, &y);
    } else {
        x = grid_coordinates(args, grid, 0, n);
        y = grid_coordinates(args, grid, 1, n);
    }
    const struct grid_two column = grid_linear(&axis[0], x), row = grid_linear(&axis[1], y);
#pragma GCC unroll 4
    for (int i = 0; i < GRID_LINEAR; i++)
        grid_corner(&corner[i], vec_int_add(row.at[i / 2], column.at[i % 2]),
                    vec_mul(row.weight[i / 2], column.weight[i % 2]));
}

static void grid_find(const struct ipex_grid_args *args, const struct grid_axis *axes,
                      const float *grid, int64_t n, struct grid_run *run) {
    const bool volume = args->axes == 3;
    const int32_t taps = axes[0].taps, deep = volume ? taps : 1;
    for (int32_t axis = 0; axis < args->axes; axis++)
        grid_along(&axes[axis], grid_coordinates(args, grid, axis, n), run->along[axis]);
    struct grid_tap *corner = run->corner;
    for (int32_t k = 0; k < deep; k++)
        for (int32_t i = 0; i < taps; i++) {
            const struct grid_tap *depth = &run->along[2][k], *row = &run->along[1][i];
            vec_int at = grid_load_at(row);
            vec weight = vec_load(row->weight);
            if (volume) {
                at = vec_int_add(grid_load_at(depth), at);
                weight = vec_mul(vec_load(depth->weight), weight);
            }
            for (int32_t j = 0; j < taps; j++, corner++) {
                const struct grid_tap *column = &run->along[0][j];
                grid_corner(corner, vec_int_add(at, grid_load_at(column)),
                            vec_mul(weight, vec_load(column->weight)));
            }
        }
}

/* The sum and one more corner, whose elements are x. */
static inline vec grid_add(const struct grid_tap *corner, vec x, vec sum) {
    const vec more = vec_fma(x, vec_load(corner->weight), sum);
    return vec_select(vec_int_negative(grid_load_at(corner)), sum, more);
}

/* Two corners that lie side by side or on one pixel, or of which some are left out. The pair that
 * ends with the farther one has both, and where that is the image's first element, the pair that
 * begins with it: no element before the image's first or behind its last is read. */
static inline vec grid_add_pair(const struct grid_tap *corner, const float *x, vec sum) {
    const vec_int left = grid_load_at(&corner[0]), right = grid_load_at(&corner[1]);
    const vec_int before = vec_int_add(vec_int_max(left, right), vec_int_set(-1));
    const vec_int at = vec_int_max(before, vec_int_set(0));
    vec first, second;
    vec_gather_pairs(x, at, &first, &second);
    sum = grid_add(&corner[0], vec_select(vec_int_negative(vec_int_sub(at, left)), second, first),
                   sum);
    return grid_add(&corner[1], vec_select(vec_int_negative(vec_int_sub(at, right)), second, first),
                    sum);
}

/* n places of one channel. */
static void grid_one_channel(const struct ipex_grid_args *args, const struct grid_run *run,
                             const float *x, float *y, int64_t n) {
    const bool pairs = args->mode == IPEX_GRID_linear && args->x_axis[0] == 1 && args->size[0] > 1;
    vec sum = vec_set(0.0f);
    for (int32_t corner = 0; pairs && corner < run->corners; corner += 2)
        sum = grid_add_pair(&run->corner[corner], x, sum);
    for (int32_t corner = 0; !pairs && corner < run->corners; corner++) {
        const vec_int at = vec_int_max(grid_load_at(&run->corner[corner]), vec_int_set(0));
        sum = grid_add(&run->corner[corner], vec_gather(x, at), sum);
    }
    if (args->y_place == 1) {
        vec_store_part(y, n, sum);
        return;
    }
    float dense[LANES];
    vec_store(dense, sum);
    for (int64_t i = 0; i < n; i++)
        y[i * args->y_place] = dense[i];
}

/* All channels of n places; `corners` is a constant where that is worth it. */
static inline __attribute__((always_inline)) void grid_channels(const struct ipex_grid_args *args,
                                                                const struct grid_run *run,
                                                                int32_t corners, const float *x,
                                                                float *y, int64_t n) {
    for (int64_t c = 0; c < args->channels; c += LANES) {
        const vec_mask mask = vec_first(args->channels - c);
        for (int64_t i = 0; i < n; i++) {
            vec sum = vec_set(0.0f);
#pragma GCC unroll 4
            for (int32_t corner = 0; corner < corners; corner++)
                if (run->corner[corner].at[i] >= 0)
                    sum = vec_fma(vec_load_masked(x + run->corner[corner].at[i] + c, mask),
                                  vec_set(run->corner[corner].weight[i]), sum);
            vec_store_part(y + i * args->y_place + c, args->channels - c, sum);
        }
    }
}

/* Up to four: what a whole vector reads beyond them would cross a cache line almost always. */
static inline __attribute__((always_inline)) void
grid_few_channels(const struct ipex_grid_args *args, const struct grid_run *run, int32_t corners,
                  const float *x, float *y, int64_t n) {
    const quad_mask mask = quad_first(args->channels);
    for (int64_t i = 0; i < n; i++) {
        __m128 sum = _mm_setzero_ps();
#pragma GCC unroll 4
        for (int32_t corner = 0; corner < corners; corner++)
            if (run->corner[corner].at[i] >= 0)
                sum = _mm_fmadd_ps(quad_load_masked(x + run->corner[corner].at[i], mask),
                                   _mm_set1_ps(run->corner[corner].weight[i]), sum);
        quad_store_masked(y + i * args->y_place, mask, sum);
    }
}

static void grid_look_up(const struct ipex_grid_args *args, const struct grid_run *run,
                         const float *x, float *y, int64_t n) {
    const bool linear = run->corners == GRID_LINEAR;
    if (args->channels == 1 && n > GRID_SINGLE)
        grid_one_channel(args, run, x, y, n);
    else if (args->channels <= GRID_FEW && linear)
        grid_few_channels(args, run, GRID_LINEAR, x, y, n);
    else if (args->channels <= GRID_FEW)
        grid_few_channels(args, run, run->corners, x, y, n);
    else if (linear)
        grid_channels(args, run, GRID_LINEAR, x, y, n);
    else
        grid_channels(args, run, run->corners, x, y, n);
}

void IPEX_LEVEL(grid_sample_f32)(const struct ipex_grid_args *args, int64_t job_begin,
                                 int64_t job_end, void *scratch) {
    struct grid_run *run = scratch;
    struct grid_axis axis[IPEX_GRID_AXES];
    run->corners = 1;
    for (int32_t i = 0; i < args->axes; i++) {
        axis[i] = (struct grid_axis){ipex_grid_numbers(args, i), args->mode, args->padding,
                                     ipex_grid_taps(args), (int32_t)args->x_axis[i]};
        run->corners *= axis[i].taps;
    }
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_grid_job job = ipex_grid_job(args, j);
        for (int64_t p = job.place; p < job.place_end; p += LANES) {
            const int64_t left = job.place_end - p, n = left < LANES ? left : LANES;
            const float *grid = args->grid + job.image * args->grid_image + p * args->grid_place;
            if (run->corners == GRID_LINEAR)
                grid_find_linear(args, axis, grid, n, run->corner);
            else
                grid_find(args, axis, grid, n, run);
            grid_look_up(args, run, args->x + job.image * args->x_image,
                         args->y + job.image * args->y_image + p * args->y_place, n);
        }
    }
}

#endif
