/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of grid_sample (format/FORMAT.md) share: the numbers of an axis that have nothing to
 * do with places, and jobs. */
#ifndef IPEX_KERNELS_GRID_TAPS_H
#define IPEX_KERNELS_GRID_TAPS_H

#include "format/ops.h"
#include "kernels/jobs.h"

enum {
    IPEX_GRID_TAPS = 4,     /* along an axis, at most */
    IPEX_GRID_CORNERS = 16, /* of all axes, at most */
    /* Bytes: of all taps and corners, 16 elements and weights, and a number. */
    IPEX_GRID_SCRATCH = (IPEX_GRID_AXES * IPEX_GRID_TAPS + IPEX_GRID_CORNERS) * 16 * 8 + 64,
    /* The element of a tap that is left out, along one axis: below 0 also after those of others
     * have been added, each of which is above it. */
    IPEX_GRID_LEFT_OUT = -IPEX_GRID_EXTENT,
};

static inline int32_t ipex_grid_taps(const struct ipex_grid_args *args) {
    return args->mode == IPEX_GRID_nearest  ? 1
           : args->mode == IPEX_GRID_linear ? 2
                                            : IPEX_GRID_TAPS;
}

/* A coordinate g is the pixel ((g + 1) * first - less) * second. Reflection throws back at low and
 * at low + range. */
struct ipex_grid_numbers {
    float first, less, second;
    float last, low, range;
};

static inline struct ipex_grid_numbers ipex_grid_numbers(const struct ipex_grid_args *args,
                                                         int32_t axis) {
    const float size = (float)args->size[axis], last = size - 1.0f;
    const struct ipex_grid_numbers between_edges = {size, 1.0f, 0.5f, last, -0.5f, size};
    const struct ipex_grid_numbers between_middles = {0.5f, 0.0f, last,
                                                      last, 0.0f, last > 0.0f ? last : 1.0f};
    return args->corners ? between_middles : between_edges;
}

/* One job: places [place, place_end) of one image. */
struct ipex_grid_job {
    int64_t image, place, place_end;
};

static inline struct ipex_grid_job ipex_grid_job(const struct ipex_grid_args *args, int64_t job) {
    const struct ipex_quotient image =
        ipex_divide(job, ipex_div_up(args->places, args->places_per_job));
    struct ipex_grid_job ret = {.image = image.whole, .place = image.rest * args->places_per_job};
    ret.place_end = ret.place + args->places_per_job;
    if (ret.place_end > args->places)
        ret.place_end = args->places;
    return ret;
}

#endif
