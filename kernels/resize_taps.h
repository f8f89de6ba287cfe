/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of x along one axis, with which weights, make an element of a resized axis: the
 * ONNX specification's coordinates, in f64. Static inline only, so that files with ISA flags may
 * include it; every operation is one that all levels round alike. */
#ifndef IPEX_KERNELS_RESIZE_TAPS_H
#define IPEX_KERNELS_RESIZE_TAPS_H

#include "format/resize_scale.h"
#include "kernels/jobs.h"

#define IPEX_RESIZE_TAPS 4

struct ipex_resize_taps {
    int32_t index[IPEX_RESIZE_TAPS]; /* in [0, size), whatever the attributes are */
    float weight[IPEX_RESIZE_TAPS];
};

/* One axis: size of x, size of y, and what the scale makes of x's, which need not be whole. */
struct ipex_resize_axis {
    int32_t in, out;
    double scale, scaled;
    int32_t mode, coordinates, rounding;
    bool exclude_outside;
    double cubic_a;
};

static inline struct ipex_resize_axis ipex_resize_axis(const struct ipex_resize_args *args,
                                                       bool vertical) {
    const float scale = vertical ? args->scale_h : args->scale_w;
    struct ipex_resize_axis ret = {
        .in = vertical ? args->height : args->width,
        .out = vertical ? args->lines : args->pixels,
        .scale = ipex_resize_scale(scale),
        .scaled = vertical ? args->lines : args->pixels,
        .mode = args->mode,
        .coordinates = args->coordinates,
        .rounding = args->rounding,
        .exclude_outside = args->exclude_outside,
        .cubic_a = (double)args->cubic_a,
    };
    if (scale == 0)
        ret.scale = ret.scaled / ret.in;
    else
        ret.scaled = ret.scale * ret.in;
    return ret;
}

static inline int32_t ipex_resize_tap_count(int32_t mode) {
    return mode == IPEX_RESIZE_nearest ? 1 : mode == IPEX_RESIZE_linear ? 2 : 4;
}

/* Where element i of y lies among the elements of x. */
static inline double ipex_resize_position(const struct ipex_resize_axis *axis, int32_t i) {
    const double out = axis->scaled;
    switch (axis->coordinates) {
    case IPEX_RESIZE_align_corners:
        return out == 1 ? 0 : i * (double)(axis->in - 1) / (out - 1);
    case IPEX_RESIZE_asymmetric:
        return i / axis->scale;
    case IPEX_RESIZE_pytorch_half_pixel:
        return out == 1 ? -0.5 : (i + 0.5) / axis->scale - 0.5;
    case IPEX_RESIZE_half_pixel_symmetric: {
        const double offset = axis->in / 2.0 * (1 - axis->out / out);
        return offset + (i + 0.5) / axis->scale - 0.5;
    }
    default:
        return (i + 0.5) / axis->scale - 0.5;
    }
}

/* Positions are fractions of small numbers; one that is a rounding error away from a whole or half
 * number is that number, so that ties are ties. */
static inline double ipex_resize_snap(double position) {
    const double half = __builtin_floor(2 * position + 0.5) / 2, error = position - half;
    return error < 1e-10 && error > -1e-10 ? half : position;
}

/* The nearest element that exists. `position` is whole, NaN is taken as 0. */
static inline int32_t ipex_resize_clamp(double position, int32_t size) {
    return position > 0 ? position < size - 1 ? (int32_t)position : size - 1 : 0;
}

static inline double ipex_resize_round(double position, int32_t rounding) {
    const double below = __builtin_floor(position), rest = position - below;
    switch (rounding) {
    case IPEX_RESIZE_round_prefer_floor:
        return rest <= 0.5 ? below : below + 1;
    case IPEX_RESIZE_round_prefer_ceil:
        return rest < 0.5 ? below : below + 1;
    case IPEX_RESIZE_ceil:
        return rest == 0 ? below : below + 1;
    default:
        return below;
    }
}

/* Keys' kernel at the distances 1 + t, t, 1 - t and 2 - t. */
static inline void ipex_resize_cubic(double t, double a, double weight[IPEX_RESIZE_TAPS]) {
    const double before = t + 1, behind = 1 - t, last = behind + 1;
    weight[0] = ((a * before - 5 * a) * before + 8 * a) * before - 4 * a;
    weight[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    weight[2] = ((a + 2) * behind - (a + 3)) * behind * behind + 1;
    weight[3] = ((a * last - 5 * a) * last + 8 * a) * last - 4 * a;
}

/* Takes away the weights of positions outside and makes the sum 1 again. */
static inline void ipex_resize_exclude(double first, int32_t size, int32_t count, double *weight) {
    double sum = 0;
    for (int32_t k = 0; k < count; k++) {
        if (first + k < 0 || first + k >= size)
            weight[k] = 0;
        sum += weight[k];
    }
    for (int32_t k = 0; k < count && sum != 0; k++)
        weight[k] /= sum;
}

/* Element i of y. */
static inline struct ipex_resize_taps ipex_resize_taps(const struct ipex_resize_axis *axis,
                                                       int32_t i) {
    struct ipex_resize_taps ret = {{0}, {1}};
    const double position = ipex_resize_snap(ipex_resize_position(axis, i));
    if (axis->mode == IPEX_RESIZE_nearest) {
        ret.index[0] = ipex_resize_clamp(ipex_resize_round(position, axis->rounding), axis->in);
        return ret;
    }
    const double below = __builtin_floor(position), rest = position - below;
    const int32_t count = ipex_resize_tap_count(axis->mode);
    const double first = count == 4 ? below - 1 : below;
    double weight[IPEX_RESIZE_TAPS] = {1 - rest, rest};
    if (count == 4)
        ipex_resize_cubic(rest, axis->cubic_a, weight);
    if (axis->exclude_outside)
        ipex_resize_exclude(first, axis->in, count, weight);
    for (int32_t k = 0; k < count; k++) {
        ret.index[k] = ipex_resize_clamp(first + k, axis->in);
        ret.weight[k] = (float)weight[k];
    }
    return ret;
}

/* One job: lines [line, line_end) of one image. */
struct ipex_resize_job {
    int64_t image, line, line_end;
};

static inline struct ipex_resize_job ipex_resize_job(const struct ipex_resize_args *args,
                                                     int64_t job) {
    const int64_t blocks = ipex_div_up(args->lines, args->lines_per_job);
    const struct ipex_quotient image = ipex_divide(job, blocks);
    struct ipex_resize_job ret = {.image = image.whole};
    ret.line = image.rest * args->lines_per_job;
    ret.line_end = ret.line + args->lines_per_job;
    if (ret.line_end > args->lines)
        ret.line_end = args->lines;
    return ret;
}

#endif
