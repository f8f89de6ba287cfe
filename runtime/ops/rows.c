/* SPDX-License-Identifier: Apache-2.0 */
/* softmax and reduce: their kernels want one stride per group of axes. */
#include "runtime/bind.h"
#include "runtime/loops.h"

enum ipex_bound ipex_bind_softmax(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    struct ipex_softmax_args *args = &bind->args.softmax;
    const int32_t last = y->rank - 1;
    if (!ipex_loops_merge(x->dims, x->strides, 0, last, &args->x_row) ||
        !ipex_loops_merge(y->dims, y->strides, 0, last, &args->y_row))
        return IPEX_BOUND_NEEDS_DENSE;
    args->rows = 1;
    for (int32_t d = 0; d < last; d++)
        args->rows *= y->dims[d];
    args->columns = y->dims[last];
    IPEX_BIND_REF(bind, softmax, x, 0, 0);
    IPEX_BIND_REF(bind, softmax, y, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_KERNEL(bind, softmax_f32, softmax);
    bind->jobs = args->rows;
    bind->flops = ipex_mul_sat(ipex_info_numel(y), 4);
    return IPEX_BOUND;
}

/* The reduced axes. Kept axes between them count as outer, so the order of additions is that of x's
 * elements whatever x's layout is. */
struct axes {
    uint32_t mask;
    int32_t begin, end; /* first, and behind the last */
    int32_t count;
    bool together; /* no kept axis (but those of 1) between them */
};

static struct axes find_axes(const struct ipex_tensor_info *x, uint32_t mask) {
    struct axes ret = {.mask = mask, .begin = x->rank, .together = true};
    for (int32_t d = 0; d < x->rank; d++) {
        if ((mask >> d & 1u) == 0)
            continue;
        if (ret.begin > d)
            ret.begin = d;
        ret.end = d + 1;
        ret.count++;
    }
    for (int32_t d = ret.begin; d < ret.end; d++)
        if ((mask >> d & 1u) == 0 && x->dims[d] != 1)
            ret.together = false;
    return ret;
}

/* Strides of [outer][middle][inner], where x and y can be walked as that. */
static bool set_reduce_strides(const struct ipex_tensor_info *x, const struct ipex_tensor_info *y,
                               const struct axes *axes, struct ipex_reduce_args *args) {
    int64_t inner_x, inner_y;
    if (!axes->together || !ipex_loops_merge(x->dims, x->strides, 0, axes->begin, &args->x_outer) ||
        !ipex_loops_merge(x->dims, x->strides, axes->begin, axes->end, &args->x_middle) ||
        !ipex_loops_merge(x->dims, x->strides, axes->end, x->rank, &inner_x) ||
        !ipex_loops_merge(y->dims, y->strides, 0, axes->begin, &args->y_outer) ||
        !ipex_loops_merge(y->dims, y->strides, axes->end, y->rank, &inner_y))
        return false;
    if (args->inner > 1)
        return inner_x == 1 && inner_y == 1;
    return args->middle == 1 || args->x_middle == 1;
}

/* Asks for input 0 with its kept axes first, then the reduced ones, then the inner ones. */
static enum ipex_bound ask_reordered(struct ipex_bind *bind, const struct axes *axes) {
    int8_t at = 0;
    for (int32_t reduced = 0; reduced <= 1; reduced++)
        for (int8_t d = 0; d < axes->end; d++)
            if ((int32_t)(axes->mask >> d & 1u) == reduced)
                bind->order[at++] = d;
    for (; at < bind->input[0]->rank; at++)
        bind->order[at] = at;
    bind->reorder = true;
    return IPEX_BOUND_NEEDS_DENSE;
}

/* Lengths of [outer][middle][inner]; `reordered`: x's axes are already in the order of
 * ask_reordered. */
static void set_reduce_lengths(const struct ipex_tensor_info *x, const struct axes *axes,
                               bool reordered, struct ipex_reduce_args *args) {
    args->outer = args->middle = args->inner = 1;
    for (int32_t d = 0; d < x->rank; d++) {
        const bool reduced = reordered ? d >= axes->end - axes->count : (axes->mask >> d & 1u) != 0;
        if (d >= axes->end)
            args->inner *= x->dims[d];
        else if (reduced)
            args->middle *= x->dims[d];
        else
            args->outer *= x->dims[d];
    }
}

/* Columns of a matrix, which threads share: each of them has some as an outer index of its own. */
static void share_inner(const struct ipex_setup *setup, struct ipex_reduce_args *args) {
    for (int64_t parts = setup->threads; args->outer == 1 && parts > 1; parts--) {
        const int64_t columns = args->inner / parts;
        if (columns * parts != args->inner || columns < IPEX_PANEL)
            continue;
        args->outer = parts;
        args->inner = args->x_outer = args->y_outer = columns;
    }
}

enum ipex_bound ipex_bind_reduce(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    struct ipex_reduce_args *args = &bind->args.reduce;
    const struct axes axes = find_axes(x, (uint32_t)bind->ints[1]);
    args->kind = bind->ints[0];
    set_reduce_lengths(x, &axes, bind->dense, args);
    if (bind->dense) {
        args->x_outer = args->middle * args->inner;
        args->x_middle = args->y_outer = args->inner;
    } else if (!set_reduce_strides(x, y, &axes, args)) {
        return ask_reordered(bind, &axes);
    }
    share_inner(bind->setup, args);
    IPEX_BIND_REF(bind, reduce, x, 0, 0);
    IPEX_BIND_REF(bind, reduce, y, IPEX_REF_OUTPUT, 0);
    if (x->dtype == IPEX_DTYPE_u8)
        IPEX_BIND_KERNEL(bind, reduce_u8, reduce);
    else
        IPEX_BIND_KERNEL(bind, reduce_f32, reduce);
    bind->jobs = args->outer;
    bind->flops = ipex_info_numel(x);
    return IPEX_BOUND;
}
