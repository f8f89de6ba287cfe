/* SPDX-License-Identifier: Apache-2.0 */
/* cast, compare, logical, where, integer: one loop nest over broadcast operands of any strides. */
#include "runtime/bind.h"
#include "runtime/loops.h"

#include <string.h>

/* Elements of a row that is only contiguous: rows are what threads share. */
#define INNER_MAX 8192

#define JOB_ELEMENTS 16384 /* below, a job is not worth handing out */

static void make_loops(const struct ipex_bind *bind, int64_t inner_max, struct ipex_loops *loops) {
    const struct ipex_tensor_info *y = bind->output;
    *loops = (struct ipex_loops){.rank = y->rank, .operands = (int32_t)bind->n_inputs + 1};
    memcpy(loops->dims, y->dims, sizeof loops->dims);
    memcpy(loops->stride[bind->n_inputs], y->strides, sizeof y->strides);
    for (uint32_t i = 0; i < bind->n_inputs; i++)
        ipex_loops_broadcast(bind->input[i]->dims, bind->input[i]->strides, bind->input[i]->rank,
                             y->rank, loops->stride[i]);
    ipex_loops_collapse(loops, 0, inner_max);
}

/* dtype: of the operands that the kernel's loops are about. */
static enum ipex_bound bind_map(struct ipex_bind *bind, uint8_t dtype) {
    struct ipex_map_args *args = &bind->args.map;
    struct ipex_loops loops;
    make_loops(bind, INT64_MAX, &loops);
    if (loops.rank == 1 && loops.dims[0] > INNER_MAX)
        make_loops(bind, INNER_MAX, &loops);
    args->rank = loops.rank;
    args->inputs = (int32_t)bind->n_inputs;
    args->kind = bind->n_ints > 0 ? bind->ints[0] : 0;
    args->dtype = dtype;
    args->y_dtype = bind->output->dtype;
    memcpy(args->dims, loops.dims, sizeof args->dims);
    memcpy(args->y_stride, loops.stride[bind->n_inputs], sizeof args->y_stride);
    for (uint32_t i = 0; i < bind->n_inputs; i++) {
        memcpy(args->x_stride[i], loops.stride[i], sizeof args->x_stride[i]);
        IPEX_BIND_REF(bind, map, x[i], i, 0);
    }
    IPEX_BIND_REF(bind, map, y, IPEX_REF_OUTPUT, 0);
    int64_t rows = 1;
    for (int32_t d = 0; d + 1 < loops.rank; d++)
        rows *= loops.dims[d];
    args->rows_per_job =
        ipex_block_size(bind->setup, rows, loops.dims[loops.rank - 1], JOB_ELEMENTS);
    bind->jobs = ipex_map_jobs(args);
    bind->flops = ipex_info_numel(bind->output);
    return IPEX_BOUND;
}

enum ipex_bound ipex_bind_cast(struct ipex_bind *bind) {
    IPEX_BIND_KERNEL(bind, cast, map);
    return bind_map(bind, bind->input[0]->dtype);
}

enum ipex_bound ipex_bind_compare(struct ipex_bind *bind) {
    IPEX_BIND_KERNEL(bind, compare, map);
    return bind_map(bind, bind->input[0]->dtype);
}

enum ipex_bound ipex_bind_logical(struct ipex_bind *bind) {
    IPEX_BIND_KERNEL(bind, logical, map);
    return bind_map(bind, bind->input[0]->dtype);
}

enum ipex_bound ipex_bind_where(struct ipex_bind *bind) {
    IPEX_BIND_KERNEL(bind, where, map);
    return bind_map(bind, bind->input[1]->dtype);
}

enum ipex_bound ipex_bind_integer(struct ipex_bind *bind) {
    IPEX_BIND_KERNEL(bind, integer, map);
    return bind_map(bind, bind->input[0]->dtype);
}
