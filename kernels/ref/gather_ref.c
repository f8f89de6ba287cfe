/* SPDX-License-Identifier: Apache-2.0 */
/* gather and pad: bytes only, and no address that comes from data without being clamped. */
#include "kernels/ref/ref.h"

/* An index as its element says it, brought into [0, axis). */
static int64_t gather_index(const struct ipex_gather_args *args, int64_t i) {
    const int64_t at = i * args->index_stride;
    return ref_index(args->index_i64 ? ((const int64_t *)args->index)[at]
                                     : ((const int32_t *)args->index)[at],
                     args->axis);
}

/* Elements that follow each other in y, of 4 bytes, by indices that do: most look-ups of single
 * values. */
static void gather_words(const struct ipex_gather_args *args, const char *x, const int64_t *index,
                         char *y, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        memcpy(y + 4 * i, x + ref_index(index[i], args->axis) * args->x_axis, 4);
}

/* Rows [i, i + count) of one of the outer ones. */
static void gather_rows(const struct ipex_gather_args *args, int64_t outer, int64_t i,
                        int64_t count) {
    const char *x = (const char *)args->x + outer * args->x_outer;
    char *y = (char *)args->y + outer * args->y_outer + i * args->y_index;
    if (args->inner == 4 && args->y_index == 4 && args->index_i64 && args->index_stride == 1) {
        gather_words(args, x, (const int64_t *)args->index + i, y, count);
        return;
    }
    for (int64_t end = i + count; i < end; i++, y += args->y_index)
        ref_copy(y, x + gather_index(args, i) * args->x_axis, args->inner);
}

void IPEX_REF(gather)(const struct ipex_gather_args *args, int64_t job_begin, int64_t job_end,
                      void *scratch) {
    (void)scratch;
    int64_t end = job_end * args->rows_per_job, row = job_begin * args->rows_per_job;
    if (end > args->outer * args->count)
        end = args->outer * args->count;
    int64_t outer = args->count ? row / args->count : 0, i = row - outer * args->count;
    for (; row < end; outer++, i = 0) {
        const int64_t left = end - row, count = args->count - i < left ? args->count - i : left;
        gather_rows(args, outer, i, count);
        row += count;
    }
}

/* The position of x, size n, that stands at `at` of the padded axis, counted from x's first
 * element; -1: none. */
static int64_t pad_source(int32_t mode, int64_t at, int64_t n) {
    if (at >= 0 && at < n)
        return at;
    if (mode == IPEX_PAD_constant)
        return -1;
    if (mode == IPEX_PAD_edge || n == 1)
        return at < 0 ? 0 : n - 1;
    const int64_t period = mode == IPEX_PAD_wrap ? n : 2 * (n - 1);
    int64_t rest = at < 0 ? at + period : at;
    if (rest < 0 || rest >= period) /* further away than most padding: a division */
        rest = (at % period + period) % period;
    return rest < n ? rest : period - rest;
}

/* Offset in x, in elements, of index `row` of y's first `lead` dims; -1: it lies in the padding. */
static int64_t pad_offset(const struct ipex_pad_args *args, int32_t lead, int64_t row) {
    int64_t ret = 0;
    bool inside = true;
    for (int32_t d = lead - 1; d >= 0; d--) {
        const struct ipex_quotient index = ipex_divide(row, args->dims[d]);
        const int64_t at = pad_source(args->mode, index.rest - args->before[d], args->x_dims[d]);
        inside = inside && at >= 0;
        ret += at * args->x_stride[d];
        row = index.whole;
    }
    return inside ? ret : -1;
}

static inline void pad_element(char *to, const char *from, int64_t size) {
    static const char zeros[8];
    ref_copy(to, from ? from : zeros, size);
}

static void pad_elements(const struct ipex_pad_args *args, const char *x, char *y, int64_t begin,
                         int64_t end) {
    const int32_t last = args->rank - 1;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at =
            x ? pad_source(args->mode, i - args->before[last], args->x_dims[last]) : -1;
        char *to = y + i * args->y_stride[last] * args->size;
        pad_element(to, at < 0 ? NULL : x + at * args->x_stride[last] * args->size, args->size);
    }
}

/* One row of y, from one of x or, where that is NULL, of the padding alone. */
static void pad_row(const struct ipex_pad_args *args, const char *x, char *y) {
    const int32_t last = args->rank - 1;
    const int64_t begin = args->before[last], end = begin + args->x_dims[last];
    if (!x || args->x_stride[last] != 1 || args->y_stride[last] != 1) {
        pad_elements(args, x, y, 0, args->dims[last]);
        return;
    }
    pad_elements(args, x, y, 0, begin);
    memcpy(y + begin * args->size, x, (size_t)((end - begin) * args->size));
    pad_elements(args, x, y, end, args->dims[last]);
}

/* Rows [begin, end) of the dim before the last, likewise. */
static void pad_rows(const struct ipex_pad_args *args, const char *x, char *y, int64_t begin,
                     int64_t end) {
    const int32_t d = args->rank - 2;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = x ? pad_source(args->mode, i - args->before[d], args->x_dims[d]) : -1;
        pad_row(args, at < 0 ? NULL : x + at * args->x_stride[d] * args->size,
                y + i * args->y_stride[d] * args->size);
    }
}

void IPEX_REF(pad)(const struct ipex_pad_args *args, int64_t job_begin, int64_t job_end,
                   void *scratch) {
    (void)scratch;
    const int32_t lead = args->rank - 2;
    if (lead == 0) {
        pad_rows(args, args->x, args->y, job_begin, job_end);
        return;
    }
    const int64_t each = ipex_row_count(args->dims, 1, lead);
    for (int64_t i = job_begin * each; i < job_end * each; i++) {
        const int64_t from = pad_offset(args, lead, i);
        char *y =
            (char *)args->y + ipex_row_offset(args->dims, args->y_stride, lead, i) * args->size;
        pad_rows(args, from < 0 ? NULL : (const char *)args->x + from * args->size, y, 0,
                 args->dims[lead]);
    }
}
