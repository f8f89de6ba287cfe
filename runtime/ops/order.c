/* SPDX-License-Identifier: Apache-2.0 */
/* arg, topk, cumsum: what depends on the order along one axis. */
#include "runtime/bind.h"
#include "runtime/loops.h"

/* Rows of the last axis: their number, and their stride in an operand whose rows are dense. */
static int64_t count_rows(const struct ipex_tensor_info *x) {
    int64_t ret = 1;
    for (int32_t d = 0; d + 1 < x->rank; d++)
        ret *= x->dims[d];
    return ret;
}

static bool row_stride(const struct ipex_tensor_info *t, int64_t *ret) {
    const int32_t last = t->rank - 1;
    return (t->dims[last] == 1 || t->strides[last] == 1) &&
           ipex_loops_merge(t->dims, t->strides, 0, last, ret);
}

enum ipex_bound ipex_bind_arg(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0];
    struct ipex_arg_args *args = &bind->args.arg;
    int64_t y_row;
    if (!row_stride(x, &args->x_row) || !row_stride(bind->output, &y_row) || y_row != 1)
        return IPEX_BOUND_NEEDS_DENSE;
    args->rows = count_rows(x);
    args->columns = x->dims[x->rank - 1];
    args->largest = bind->ints[IPEX_ARG_LARGEST] != 0;
    args->last = bind->ints[IPEX_ARG_LAST] != 0;
    IPEX_BIND_REF(bind, arg, x, 0, 0);
    IPEX_BIND_REF(bind, arg, y, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_KERNEL(bind, arg_f32, arg);
    bind->jobs = args->rows;
    bind->flops = ipex_info_numel(x);
    return IPEX_BOUND;
}

enum ipex_bound ipex_bind_topk(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0];
    struct ipex_topk_args *args = &bind->args.topk;
    if (!row_stride(x, &args->x_row) || !row_stride(bind->outputs[0], &args->values_row) ||
        !row_stride(bind->outputs[1], &args->indices_row))
        return IPEX_BOUND_NEEDS_DENSE;
    args->rows = count_rows(x);
    args->columns = x->dims[x->rank - 1];
    args->k = bind->ints[IPEX_TOPK_K];
    args->largest = bind->ints[IPEX_TOPK_LARGEST] != 0;
    IPEX_BIND_REF(bind, topk, x, 0, 0);
    IPEX_BIND_REF(bind, topk, values, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_REF(bind, topk, indices, IPEX_REF_OUTPUT + 1, 0);
    IPEX_BIND_KERNEL(bind, topk_f32, topk);
    bind->jobs = args->rows;
    bind->flops = ipex_mul_sat(ipex_info_numel(x), 2);
    return IPEX_BOUND;
}

/* [outer][middle][inner] of one operand. */
static bool split(const struct ipex_tensor_info *t, int32_t axis, int64_t *ret_outer,
                  int64_t *ret_middle) {
    int64_t inner;
    *ret_middle = t->strides[axis];
    return ipex_loops_merge(t->dims, t->strides, 0, axis, ret_outer) &&
           ipex_loops_merge(t->dims, t->strides, axis + 1, t->rank, &inner) && inner == 1;
}

enum ipex_bound ipex_bind_cumsum(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0];
    const int32_t axis = bind->ints[IPEX_CUMSUM_AXIS];
    struct ipex_cumsum_args *args = &bind->args.cumsum;
    if (!split(x, axis, &args->x_outer, &args->x_middle) ||
        !split(bind->output, axis, &args->y_outer, &args->y_middle))
        return IPEX_BOUND_NEEDS_DENSE;
    args->outer = args->inner = 1;
    for (int32_t d = 0; d < axis; d++)
        args->outer *= x->dims[d];
    args->middle = x->dims[axis];
    for (int32_t d = axis + 1; d < x->rank; d++)
        args->inner *= x->dims[d];
    args->dtype = x->dtype;
    args->exclusive = bind->ints[IPEX_CUMSUM_EXCLUSIVE] != 0;
    args->reverse = bind->ints[IPEX_CUMSUM_REVERSE] != 0;
    IPEX_BIND_REF(bind, cumsum, x, 0, 0);
    IPEX_BIND_REF(bind, cumsum, y, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_KERNEL(bind, cumsum, cumsum);
    bind->jobs = args->outer;
    bind->flops = ipex_info_numel(x);
    return IPEX_BOUND;
}
