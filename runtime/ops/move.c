/* SPDX-License-Identifier: Apache-2.0 */
/* copy, transpose, pad, slice and expand: one strided move, walked in y's order; a pad with fills
 * around it, or with its own kernel where the border is not one pattern of 4 bytes. The two loops
 * that a transpose is about stay apart (strides differ), so the kernel sees them and can work in
 * square blocks. */
#include "runtime/bind.h"
#include "runtime/loops.h"

#include <string.h>

#define INNER_MAX                                                                                  \
    16384 /* elements of a run: what is contiguous as a whole is cut here, for threads */
#define LEAST_RUN 128 /* of a thread's block */

/* A move whose runs are gathered, as where channels come first again, works on several of them at
 * once: threads share the places of the runs, not the runs. */
static void share_runs(const struct ipex_setup *setup, struct ipex_loops *loops) {
    const int32_t last = loops->rank - 1;
    const int64_t blocks = ipex_jobs_wanted(setup);
    if (setup->threads == 1 || last < 1 || last + 1 >= IPEX_MAX_RANK ||
        loops->stride[0][last] == 1 || loops->dims[last] % blocks != 0 ||
        loops->dims[last] / blocks < LEAST_RUN ||
        loops->dims[0] >= (last == 1 ? LEAST_RUN : setup->threads))
        return;
    const int64_t length = loops->dims[last] / blocks;
    loops->dims[last] = length;
    for (int32_t d = last; d >= 0; d--) {
        loops->dims[d + 1] = loops->dims[d];
        for (int32_t i = 0; i < loops->operands; i++)
            loops->stride[i][d + 1] = loops->stride[i][d];
    }
    loops->dims[0] = blocks;
    for (int32_t i = 0; i < loops->operands; i++)
        loops->stride[i][0] = loops->stride[i][last + 1] * length;
    loops->rank++;
}

/* Binds a move of a box: dims as y walks them, x's strides for them, and where the box begins in x
 * and y. */
static enum ipex_bound bind_move(struct ipex_bind *bind, const int64_t *dims,
                                 const int64_t *x_stride, int64_t x_shift, int64_t y_shift) {
    const struct ipex_tensor_info *y = bind->output;
    struct ipex_move_args *args = &bind->args.move;
    struct ipex_loops box = {.rank = y->rank, .operands = 2};
    memcpy(box.dims, dims, sizeof box.dims);
    memcpy(box.stride[0], x_stride, sizeof box.dims);
    memcpy(box.stride[1], y->strides, sizeof box.dims);
    struct ipex_loops loops = box;
    ipex_loops_collapse(&loops, bind->lines ? 2 : 0, INT64_MAX);
    if (loops.rank == 1 && loops.dims[0] > INNER_MAX) {
        loops = box;
        ipex_loops_collapse(&loops, 0, INNER_MAX);
    }
    if (!bind->lines)
        share_runs(bind->setup, &loops);
    memcpy(args->dims, loops.dims, sizeof args->dims);
    memcpy(args->x_stride, loops.stride[0], sizeof args->x_stride);
    memcpy(args->y_stride, loops.stride[1], sizeof args->y_stride);
    args->rank = loops.rank;
    args->size = (int32_t)ipex_dtype_size((enum ipex_dtype)y->dtype);
    IPEX_BIND_REF(bind, move, x, 0, x_shift);
    IPEX_BIND_REF(bind, move, y, IPEX_REF_OUTPUT, y_shift);
    IPEX_BIND_KERNEL(bind, move, move);
    bind->jobs = loops.dims[0];
    return IPEX_BOUND;
}

enum ipex_bound ipex_bind_copy(struct ipex_bind *bind) {
    return bind_move(bind, bind->output->dims, bind->input[0]->strides, 0, 0);
}

enum ipex_bound ipex_bind_transpose(struct ipex_bind *bind) {
    int64_t x_stride[IPEX_MAX_RANK] = {0};
    for (int32_t d = 0; d < bind->output->rank; d++)
        x_stride[d] = bind->input[0]->strides[bind->ints[d]];
    return bind_move(bind, bind->output->dims, x_stride, 0, 0);
}

enum ipex_bound ipex_bind_slice(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    int64_t x_stride[IPEX_MAX_RANK] = {0}, shift = 0;
    for (int32_t d = 0; d < y->rank; d++) {
        shift += bind->ints[d] * x->strides[d];
        if (y->dims[d] > 1) /* the step of a single element is anything: it could overflow */
            x_stride[d] = bind->ints[y->rank + d] * x->strides[d];
    }
    return bind_move(bind, y->dims, x_stride, shift, 0);
}

enum ipex_bound ipex_bind_expand(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    int64_t x_stride[IPEX_MAX_RANK] = {0};
    ipex_loops_broadcast(x->dims, x->strides, x->rank, y->rank, x_stride);
    return bind_move(bind, y->dims, x_stride, 0, 0);
}

/* Adds the box of y that reaches from `begin` to `begin + length` along `axis`; outer axes inside x
 * only, inner ones whole. */
static void add_border(struct ipex_bind *bind, int32_t axis, int64_t begin, int64_t length,
                       uint32_t pattern) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    if (length == 0)
        return;
    struct ipex_bind_fill *fill = &bind->fill[bind->n_fills++];
    *fill = (struct ipex_bind_fill){
        .args = {.rank = y->rank, .pattern = pattern, .size = sizeof pattern},
        .delta = begin * y->strides[axis],
    };
    for (int32_t d = 0; d < y->rank; d++) {
        fill->args.dims[d] = d < axis ? x->dims[d] : d == axis ? length : y->dims[d];
        fill->args.y_stride[d] = y->strides[d];
        if (d < axis)
            fill->delta += bind->ints[d] * y->strides[d];
    }
}

/* The kernel for all modes and dtypes; dims of 1 are left out, but for one in front where the
 * kernel needs it. */
static enum ipex_bound bind_pad_kernel(struct ipex_bind *bind, int32_t mode) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    struct ipex_pad_args *args = &bind->args.pad;
    int32_t dims = 0;
    for (int32_t d = 0; d < y->rank; d++)
        dims += y->dims[d] != 1;
    for (; args->rank + dims < 2; args->rank++)
        args->dims[args->rank] = args->x_dims[args->rank] = args->x_stride[args->rank] =
            args->y_stride[args->rank] = 1;
    for (int32_t d = 0; d < y->rank; d++) {
        if (y->dims[d] == 1)
            continue;
        const int32_t at = args->rank++;
        args->dims[at] = y->dims[d];
        args->x_dims[at] = x->dims[d];
        args->before[at] = bind->ints[d];
        args->x_stride[at] = x->strides[d];
        args->y_stride[at] = y->strides[d];
    }
    args->size = (int32_t)ipex_dtype_size((enum ipex_dtype)y->dtype);
    args->mode = mode;
    IPEX_BIND_REF(bind, pad, x, 0, 0);
    IPEX_BIND_REF(bind, pad, y, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_KERNEL(bind, pad, pad);
    bind->jobs = args->dims[0];
    return IPEX_BOUND;
}

enum ipex_bound ipex_bind_pad(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    const int32_t mode = bind->ints[2 * y->rank];
    if (mode != IPEX_PAD_constant || y->dtype != IPEX_DTYPE_f32)
        return bind_pad_kernel(bind, mode);
    uint32_t pattern;
    memcpy(&pattern, &bind->floats[0], sizeof pattern);
    int64_t shift = 0;
    for (int32_t d = 0; d < y->rank; d++) {
        const int64_t before = bind->ints[d], after = bind->ints[y->rank + d];
        add_border(bind, d, 0, before, pattern);
        add_border(bind, d, before + x->dims[d], after, pattern);
        shift += before * y->strides[d];
    }
    return bind_move(bind, x->dims, x->strides, 0, shift);
}
