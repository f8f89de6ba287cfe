/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in an image or a volume for either vector width, in the order of kernels/ref/grid_ref.c.
 * Where places are is found out for a vector of them at once; then lanes are places still, of one
 * channel, or the channels of one place. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_GRID_BODY_H
#define IPEX_KERNELS_X86_GRID_BODY_H

#include "kernels/grid_taps.h"
#include "kernels/x86/vec_math.h"

enum {
    GRID_LINEAR = 4, /* corners of images: most look-ups */
    GRID_FEW = 4,    /* channels */
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
    int32_t mode, padding, taps;
    vec last, low, range;
    vec_int stride;
};

static inline vec grid_clamp(vec x, vec last) {
    return vec_min(vec_max(x, vec_set(0.0f)), last);
}

static inline vec grid_move(const struct grid_axis *axis, vec x) {
    if (axis->padding == IPEX_GRID_border)
        return grid_clamp(x, axis->last);
    if (axis->padding == IPEX_GRID_zeros)
        return x;
    const vec from = vec_abs(vec_sub(x, axis->low)), twice = vec_mul(axis->range, vec_set(2.0f));
    const vec whole = vec_mul(vec_floor(vec_div(from, twice)), twice);
    const vec rest = vec_abs(vec_sub(vec_sub(from, whole), axis->range));
    return vec_add(axis->low, vec_sub(axis->range, rest));
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
    if (axis->mode == IPEX_GRID_cubic)
        x = grid_move(axis, x);
    const vec inside = grid_clamp(x, axis->last);
    const vec at = vec_float(vec_int_mul(vec_int_round(inside), axis->stride));
    const vec left_out = vec_float(vec_int_set(IPEX_GRID_LEFT_OUT));
    return vec_bits(
        axis->padding == IPEX_GRID_zeros ? vec_select(vec_equal(inside, x), at, left_out) : at);
}

/* Taps of a vector of coordinates along one axis. */
static void grid_along(const struct ipex_grid_args *args, int32_t number, vec x,
                       struct grid_tap *ret) {
    const struct ipex_grid_numbers n = ipex_grid_numbers(args, number);
    const struct grid_axis axis = {.mode = args->mode,
                                   .padding = args->padding,
                                   .taps = ipex_grid_taps(args),
                                   .last = vec_set(n.last),
                                   .low = vec_set(n.low),
                                   .range = vec_set(n.range),
                                   .stride = vec_int_set((int32_t)args->x_axis[number])};
    x = vec_mul(vec_add(x, vec_set(1.0f)), vec_set(n.first));
    x = vec_mul(vec_sub(x, vec_set(n.less)), vec_set(n.second));
    if (axis.mode == IPEX_GRID_nearest)
        x = vec_round(x);
    if (axis.mode != IPEX_GRID_cubic)
        x = grid_move(&axis, x);
    const vec low = axis.mode == IPEX_GRID_nearest ? x : vec_floor(x), fraction = vec_sub(x, low);
    for (int32_t tap = 0; tap < axis.taps; tap++) {
        const float step = (float)(axis.taps == IPEX_GRID_TAPS ? tap - 1 : tap);
        grid_store_at(&ret[tap], grid_at(&axis, vec_add(low, vec_set(step))));
    }
    for (int32_t tap = 0; tap < axis.taps; tap++)
        vec_store(ret[tap].weight, grid_weight(axis.taps, tap, fraction));
}

/* Coordinates of n places along one axis; others are 0. */
static inline vec grid_coordinates(const struct ipex_grid_args *args, const float *grid,
                                   int32_t axis, int64_t n) {
    float x[LANES] = {0};
    if (args->axes == 2 && args->grid_place == 2 && args->grid_axis == 1)
        return vec_every_second(vec_load_part(grid, 2 * n),
                                vec_load_part(grid + LANES, 2 * n - LANES), axis != 0);
    for (int64_t i = 0; i < n; i++)
        x[i] = grid[i * args->grid_place + axis * args->grid_axis];
    return vec_load(x);
}

static void grid_find(const struct ipex_grid_args *args, const float *grid, int64_t n,
                      struct grid_run *run) {
    const bool volume = args->axes == 3;
    const int32_t taps = ipex_grid_taps(args), deep = volume ? taps : 1;
    for (int32_t axis = 0; axis < args->axes; axis++)
        grid_along(args, axis, grid_coordinates(args, grid, axis, n), run->along[axis]);
    run->corners = 0;
    for (int32_t k = 0; k < deep; k++)
        for (int32_t i = 0; i < taps; i++) {
            const struct grid_tap *depth = &run->along[2][k], *row = &run->along[1][i];
            vec_int at = grid_load_at(row);
            vec weight = vec_load(row->weight);
            if (volume) {
                at = vec_int_add(grid_load_at(depth), at);
                weight = vec_mul(vec_load(depth->weight), weight);
            }
            for (int32_t j = 0; j < taps; j++) {
                const struct grid_tap *column = &run->along[0][j];
                struct grid_tap *corner = &run->corner[run->corners++];
                grid_store_at(corner, vec_int_add(at, grid_load_at(column)));
                vec_store(corner->weight, vec_mul(weight, vec_load(column->weight)));
            }
        }
}

/* n places of one channel. */
static void grid_one_channel(const struct ipex_grid_args *args, const struct grid_run *run,
                             const float *x, float *y, int64_t n) {
    vec sum = vec_set(0.0f);
    for (int32_t corner = 0; corner < run->corners; corner++) {
        const vec_int at = grid_load_at(&run->corner[corner]);
        const vec more = vec_fma(vec_gather(x, at), vec_load(run->corner[corner].weight), sum);
        sum = vec_select(vec_int_negative(at), sum, more);
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
    if (args->channels == 1)
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
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_grid_job job = ipex_grid_job(args, j);
        for (int64_t p = job.place; p < job.place_end; p += LANES) {
            const int64_t left = job.place_end - p, n = left < LANES ? left : LANES;
            grid_find(args, args->grid + job.image * args->grid_image + p * args->grid_place, n,
                      run);
            grid_look_up(args, run, args->x + job.image * args->x_image,
                         args->y + job.image * args->y_image + p * args->y_place, n);
        }
    }
}

#endif
