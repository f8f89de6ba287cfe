/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sample: images or volumes of any strides; the places of a grid are one loop. */
#include "runtime/bind.h"
#include "runtime/loops.h"

#define JOB_ELEMENTS 8192 /* that are read: below, a job is not worth handing out */

/* Places are walked as one, in the grid and in y; channels are dense. */
static bool set_strides(const struct ipex_bind *bind, struct ipex_grid_args *args) {
    const struct ipex_tensor_info *x = bind->input[0], *grid = bind->input[1], *y = bind->output;
    const int32_t last = x->rank - 1;
    args->x_image = x->strides[0];
    args->grid_image = grid->strides[0];
    args->grid_axis = grid->strides[last];
    args->y_image = y->strides[0];
    return ipex_loops_merge(grid->dims, grid->strides, 1, last, &args->grid_place) &&
           ipex_loops_merge(y->dims, y->strides, 1, last, &args->y_place) &&
           (x->dims[last] == 1 || (x->strides[last] == 1 && y->strides[last] == 1));
}

enum ipex_bound ipex_bind_grid_sample(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    struct ipex_grid_args *args = &bind->args.grid;
    if (!set_strides(bind, args))
        return IPEX_BOUND_NEEDS_DENSE;
    const int32_t last = x->rank - 1;
    int64_t extent = x->dims[last], corners = 1, longest = 1;
    args->mode = bind->ints[IPEX_GRID_MODE];
    args->padding = bind->ints[IPEX_GRID_PADDING];
    args->corners = bind->ints[IPEX_GRID_CORNERS_ALIGNED] != 0;
    args->images = (int32_t)x->dims[0];
    args->channels = (int32_t)x->dims[last];
    args->axes = x->rank - 2;
    args->places = 1;
    for (int32_t axis = 0; axis < args->axes; axis++) {
        args->size[axis] = (int32_t)x->dims[last - 1 - axis];
        args->x_axis[axis] = x->strides[last - 1 - axis];
        args->places *= y->dims[1 + axis];
        extent = ipex_add_sat(
            extent, ipex_mul_sat(x->dims[last - 1 - axis] - 1, x->strides[last - 1 - axis]));
        longest = ipex_max_i64(longest, args->size[axis]);
        corners *= 1 << args->mode;
    }
    if (extent >= IPEX_GRID_EXTENT || longest > IPEX_GRID_SIZE)
        return IPEX_BOUND_TOO_LARGE;
    bind->flops = ipex_mul_sat(2 * corners, ipex_info_numel(y));
    args->places_per_job =
        ipex_block_size(bind->setup, args->places, corners * args->channels, JOB_ELEMENTS);
    IPEX_BIND_REF(bind, grid, x, 0, 0);
    IPEX_BIND_REF(bind, grid, grid, 1, 0);
    IPEX_BIND_REF(bind, grid, y, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_KERNEL(bind, grid_sample_f32, grid);
    bind->jobs = ipex_grid_jobs(args);
    bind->scratch = ipex_grid_scratch();
    return IPEX_BOUND;
}
