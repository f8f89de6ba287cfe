/* SPDX-License-Identifier: Apache-2.0 */
/* gather: rows of bytes, chosen by indices. Every group of axes is one loop. scatter: the same the
 * other way round, of dense operands alone. */
#include "runtime/bind.h"
#include "runtime/loops.h"

#define JOB_BYTES 65536 /* below, a job is not worth handing out */

static int64_t product(const int64_t *dims, int32_t begin, int32_t end) {
    int64_t ret = 1;
    for (int32_t d = begin; d < end; d++)
        ret *= dims[d];
    return ret;
}

/* Strides of [outer][axis][inner] and of [outer][indices][inner], in elements, where both can be
 * walked as that and rows are dense. */
static bool set_strides(const struct ipex_bind *bind, struct ipex_gather_args *args) {
    const struct ipex_tensor_info *x = bind->input[0], *index = bind->input[1], *y = bind->output;
    const int32_t axis = bind->ints[0], behind = axis + index->rank;
    int64_t x_inner, y_inner;
    args->x_axis = x->strides[axis];
    return ipex_loops_merge(x->dims, x->strides, 0, axis, &args->x_outer) &&
           ipex_loops_merge(x->dims, x->strides, axis + 1, x->rank, &x_inner) &&
           ipex_loops_merge(index->dims, index->strides, 0, index->rank, &args->index_stride) &&
           ipex_loops_merge(y->dims, y->strides, 0, axis, &args->y_outer) &&
           ipex_loops_merge(y->dims, y->strides, axis, behind, &args->y_index) &&
           ipex_loops_merge(y->dims, y->strides, behind, y->rank, &y_inner) && x_inner == 1 &&
           y_inner == 1;
}

enum ipex_bound ipex_bind_gather(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *index = bind->input[1];
    const int64_t size = ipex_dtype_size((enum ipex_dtype)x->dtype);
    const int32_t axis = bind->ints[0];
    struct ipex_gather_args *args = &bind->args.gather;
    if (!set_strides(bind, args))
        return IPEX_BOUND_NEEDS_DENSE;
    args->x_outer *= size;
    args->x_axis *= size;
    args->y_outer *= size;
    args->y_index *= size;
    args->outer = product(x->dims, 0, axis);
    args->count = product(index->dims, 0, index->rank);
    args->axis = x->dims[axis];
    args->inner = product(x->dims, axis + 1, x->rank) * size;
    args->index_i64 = index->dtype == IPEX_DTYPE_i64;
    args->rows_per_job =
        ipex_block_size(bind->setup, args->outer * args->count, args->inner, JOB_BYTES);
    IPEX_BIND_REF(bind, gather, x, 0, 0);
    IPEX_BIND_REF(bind, gather, index, 1, 0);
    IPEX_BIND_REF(bind, gather, y, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_KERNEL(bind, gather, gather);
    bind->jobs = ipex_gather_jobs(args);
    return IPEX_BOUND;
}

/* A job copies its rows and goes through all indices. */
enum ipex_bound ipex_bind_scatter(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *index = bind->input[1];
    const int64_t size = ipex_dtype_size((enum ipex_dtype)x->dtype);
    struct ipex_scatter_args *args = &bind->args.scatter;
    if (!x->dense || !index->dense || !bind->input[2]->dense || !bind->output->dense)
        return IPEX_BOUND_NEEDS_DENSE;
    args->rows = x->dims[0];
    args->inner = ipex_info_numel(x) * size / args->rows;
    args->count = ipex_info_numel(index);
    args->kind = bind->ints[0];
    args->real = x->dtype == IPEX_DTYPE_f32;
    bind->flops = ipex_info_numel(bind->input[2]);
    args->rows_per_job = ipex_block_size(bind->setup, args->rows,
                                         args->inner + bind->flops * size / args->rows, JOB_BYTES);
    IPEX_BIND_REF(bind, scatter, x, 0, 0);
    IPEX_BIND_REF(bind, scatter, index, 1, 0);
    IPEX_BIND_REF(bind, scatter, updates, 2, 0);
    IPEX_BIND_REF(bind, scatter, y, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_KERNEL(bind, scatter, scatter);
    bind->jobs = ipex_scatter_jobs(args);
    return IPEX_BOUND;
}
