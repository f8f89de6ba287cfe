/* SPDX-License-Identifier: Apache-2.0 */
/* Collapsing of loop nests. */
#include "runtime/loops.h"

/* Whether loop `outer` of the nest continues the loop `inner` (of length `length`) for every
 * operand. */
static bool continues(const struct ipex_loops *loops, int32_t outer, int32_t inner,
                      int64_t length) {
    for (int32_t o = 0; o < loops->operands; o++)
        if (loops->stride[o][outer] != loops->stride[o][inner] * length)
            return false;
    return true;
}

static void move_loop(struct ipex_loops *loops, int32_t to, int32_t from) {
    loops->dims[to] = loops->dims[from];
    for (int32_t o = 0; o < loops->operands; o++)
        loops->stride[o][to] = loops->stride[o][from];
}

void ipex_loops_collapse(struct ipex_loops *loops, int32_t keep, int64_t inner_max) {
    /* Works from the innermost outwards, packing what stays at the end of the arrays. */
    const int32_t rank = loops->rank;
    int32_t at = rank; /* the outermost loop kept so far */
    for (int32_t d = rank - 1; d >= keep; d--) {
        if (loops->dims[d] == 1)
            continue;
        const bool innermost = at == rank - 1;
        if (at < rank && continues(loops, d, at, loops->dims[at]) &&
            (!innermost || loops->dims[d] <= inner_max / loops->dims[at])) {
            loops->dims[at] *= loops->dims[d];
            continue;
        }
        at--;
        move_loop(loops, at, d);
    }
    loops->rank = keep + rank - at;
    for (int32_t d = keep; d < loops->rank; d++)
        move_loop(loops, d, at + d - keep);
    if (loops->rank > keep)
        return;
    loops->rank = keep + 1;
    loops->dims[keep] = 1;
    for (int32_t o = 0; o < loops->operands; o++)
        loops->stride[o][keep] = 1;
}

void ipex_loops_broadcast(const int64_t *x_dims, const int64_t *x_strides, int32_t x_rank,
                          int32_t y_rank, int64_t *ret) {
    const int32_t missing = y_rank - x_rank;
    for (int32_t d = 0; d < y_rank; d++)
        ret[d] = d < missing || x_dims[d - missing] == 1 ? 0 : x_strides[d - missing];
}

bool ipex_loops_merge(const int64_t *dims, const int64_t *strides, int32_t begin, int32_t end,
                      int64_t *ret_stride) {
    int64_t length = 1, stride = 1;
    bool any = false;
    for (int32_t d = end - 1; d >= begin; d--) {
        if (dims[d] == 1)
            continue;
        if (any && strides[d] != stride * length)
            return false;
        if (!any)
            stride = strides[d];
        any = true;
        length *= dims[d];
    }
    *ret_stride = stride;
    return true;
}
