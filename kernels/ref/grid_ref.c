/* SPDX-License-Identifier: Apache-2.0 */
/* An image or a volume looked up at the places of a grid. */
#include "kernels/ref/ref.h"

#include "kernels/grid_taps.h"

/* What a place reads along one axis: elements (below 0: left out) and weights. */
struct grid_taps {
    int32_t at[IPEX_GRID_TAPS];
    float weight[IPEX_GRID_TAPS];
};

/* x in [0, last]; a NaN becomes 0. */
static float grid_clamp(float x, float last) {
    x = x > 0.0f ? x : 0.0f;
    return x < last ? x : last;
}

/* Into the image, as the padding says. */
static float grid_move(const struct ipex_grid_args *args, const struct ipex_grid_numbers *n,
                       float x) {
    if (args->padding == IPEX_GRID_border)
        return grid_clamp(x, n->last);
    if (args->padding == IPEX_GRID_zeros)
        return x;
    const float from = fabsf(x - n->low), twice = n->range * 2.0f;
    return n->low + (n->range - fabsf(from - floorf(from / twice) * twice - n->range));
}

/* Keys' cubic convolution with a = -0.75. */
static float grid_cubic(int32_t tap, float fraction) {
    const float a = -0.75f, t = tap < 2 ? fraction : 1.0f - fraction;
    return tap == 0 || tap == 3 ? fmaf(fmaf(a, t, -2.0f * a), t, a) * t
                                : fmaf(fmaf(a + 2.0f, t, -(a + 3.0f)) * t, t, 1.0f);
}

static int32_t grid_tap(const struct ipex_grid_args *args, const struct ipex_grid_numbers *n,
                        int32_t axis, float x) {
    if (args->mode == IPEX_GRID_cubic)
        x = grid_move(args, n, x);
    const float inside = grid_clamp(x, n->last);
    if (args->padding == IPEX_GRID_zeros && !(inside == x))
        return IPEX_GRID_LEFT_OUT;
    return (int32_t)rintf(inside) * (int32_t)args->x_axis[axis];
}

static struct grid_taps grid_along(const struct ipex_grid_args *args, int32_t axis, float g) {
    const struct ipex_grid_numbers n = ipex_grid_numbers(args, axis);
    const int32_t taps = ipex_grid_taps(args);
    struct grid_taps ret = {{0}, {1.0f}};
    float x = ((g + 1.0f) * n.first - n.less) * n.second;
    if (args->mode == IPEX_GRID_nearest)
        x = rintf(x);
    if (args->mode != IPEX_GRID_cubic)
        x = grid_move(args, &n, x);
    const float low = args->mode == IPEX_GRID_nearest ? x : floorf(x), fraction = x - low;
    for (int32_t tap = 0; tap < taps; tap++) {
        ret.at[tap] =
            grid_tap(args, &n, axis, low + (float)(taps == IPEX_GRID_TAPS ? tap - 1 : tap));
        if (taps > 1)
            ret.weight[tap] = taps > 2 ? grid_cubic(tap, fraction)
                              : tap    ? fraction
                                       : 1.0f - fraction;
    }
    return ret;
}

/* One channel of a place. */
static float grid_element(const struct ipex_grid_args *args, const struct grid_taps *along,
                          const float *x) {
    const bool volume = args->axes == 3;
    const int32_t taps = ipex_grid_taps(args), deep = volume ? taps : 1;
    float sum = 0.0f;
    for (int32_t k = 0; k < deep; k++)
        for (int32_t i = 0; i < taps; i++)
            for (int32_t j = 0; j < taps; j++) {
                const float line =
                    volume ? along[2].weight[k] * along[1].weight[i] : along[1].weight[i];
                const int32_t row = (volume ? along[2].at[k] : 0) + along[1].at[i];
                if (row + along[0].at[j] >= 0)
                    sum = fmaf(x[row + along[0].at[j]], line * along[0].weight[j], sum);
            }
    return sum;
}

static void grid_place(const struct ipex_grid_args *args, const float *x, const float *grid,
                       float *y) {
    struct grid_taps along[IPEX_GRID_AXES];
    for (int32_t axis = 0; axis < args->axes; axis++)
        along[axis] = grid_along(args, axis, grid[axis * args->grid_axis]);
    for (int64_t c = 0; c < args->channels; c++)
        y[c] = grid_element(args, along, x + c);
}

void IPEX_REF(grid_sample_f32)(const struct ipex_grid_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    (void)scratch;
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_grid_job job = ipex_grid_job(args, j);
        for (int64_t p = job.place; p < job.place_end; p++)
            grid_place(args, args->x + job.image * args->x_image,
                       args->grid + job.image * args->grid_image + p * args->grid_place,
                       args->y + job.image * args->y_image + p * args->y_place);
    }
}
