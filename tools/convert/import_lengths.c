/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of different lengths: where their ends are, and ReverseSequence. */
#include "tools/convert/import_lengths.h"

#include <string.h>

static struct ipex_value *integer(struct ipex_import *import, double value) {
    return ipex_build_number(import, IPEX_DTYPE_i64, value);
}

struct ipex_value *ipex_lengths_read(struct ipex_import *import, size_t i, int64_t steps,
                                     int64_t batch) {
    struct ipex_value *x = ipex_import_any(import, i);
    if (!x)
        return NULL;
    if ((x->dtype != IPEX_DTYPE_i32 && x->dtype != IPEX_DTYPE_i64) ||
        ipex_value_size(import->graph, x) != batch) {
        ipex_import_refuse(
            import, "the lengths %s are %s %s; an integer for each of %s sequences is needed",
            x->name, ipex_import_text(import, ipex_value_size(import->graph, x)),
            ipex_dtype_name(x->dtype), ipex_import_text(import, batch));
        return NULL;
    }
    x = ipex_build_cast(import, ipex_build_reshape(import, x, 1, &batch), IPEX_DTYPE_i64);
    x = ipex_build_integer(import, IPEX_INTEGER_max, x, integer(import, 0));
    return ipex_build_integer(import, IPEX_INTEGER_min, x,
                              ipex_build_size(import, IPEX_DTYPE_i64, steps));
}

/* Positions of an axis of two. */
static struct ipex_value *positions(struct ipex_import *import, int64_t count, int32_t axis) {
    return ipex_build_count(import, IPEX_DTYPE_i64, count, 1, 2, axis);
}

/* The lengths beside the steps on axis `time` of two. */
static struct ipex_value *beside(struct ipex_import *import, struct ipex_value *lengths,
                                 int32_t time) {
    int64_t dims[2] = {1, 1};
    if (!lengths)
        return NULL;
    dims[1 - time] = lengths->dims[0];
    return ipex_build_reshape(import, lengths, 2, dims);
}

/* Rows of x [M][N][...] at these places, m * N + n. */
static struct ipex_value *rows_at(struct ipex_import *import, struct ipex_value *x,
                                  struct ipex_value *place) {
    int64_t dims[IPEX_MAX_RANK];
    if (!x || !place)
        return NULL;
    dims[0] = ipex_dim_mul(&import->graph->dims, x->dims[0], x->dims[1]);
    memcpy(dims + 1, x->dims + 2, (size_t)(x->rank - 2) * sizeof *dims);
    return ipex_build_gather(import, ipex_build_reshape(import, x, x->rank - 1, dims), place, 0);
}

struct ipex_value *ipex_lengths_past(struct ipex_import *import, struct ipex_value *lengths,
                                     int64_t steps) {
    return ipex_build_compare(import, IPEX_COMPARE_greater_equal, positions(import, steps, 0),
                              beside(import, lengths, 0));
}

struct ipex_value *ipex_lengths_reverse(struct ipex_import *import, struct ipex_value *x,
                                        struct ipex_value *lengths, int32_t time) {
    if (!x)
        return NULL;
    struct ipex_value *step = positions(import, x->dims[time], time),
                      *length = beside(import, lengths, time),
                      *last =
                          ipex_build_integer(import, IPEX_INTEGER_sub, length, integer(import, 1));
    struct ipex_value *from =
        ipex_build_where(import, ipex_build_compare(import, IPEX_COMPARE_less, step, length),
                         ipex_build_integer(import, IPEX_INTEGER_sub, last, step), step);
    struct ipex_value *sequence = positions(import, x->dims[1 - time], 1 - time);
    struct ipex_value *major = time ? sequence : from, *minor = time ? from : sequence;
    major = ipex_build_integer(import, IPEX_INTEGER_mul, major,
                               ipex_build_size(import, IPEX_DTYPE_i64, x->dims[1]));
    return rows_at(import, x, ipex_build_integer(import, IPEX_INTEGER_add, major, minor));
}

struct ipex_value *ipex_lengths_last(struct ipex_import *import, struct ipex_value *x,
                                     struct ipex_value *lengths, struct ipex_value *none) {
    if (!x || !lengths)
        return NULL;
    const int64_t batch = x->dims[1], column[2] = {batch, 1};
    struct ipex_value *zero = integer(import, 0);
    struct ipex_value *step = ipex_build_integer(
        import, IPEX_INTEGER_max,
        ipex_build_integer(import, IPEX_INTEGER_sub, lengths, integer(import, 1)), zero);
    struct ipex_value *place =
        ipex_build_integer(import, IPEX_INTEGER_add,
                           ipex_build_integer(import, IPEX_INTEGER_mul, step,
                                              ipex_build_size(import, IPEX_DTYPE_i64, batch)),
                           ipex_build_count(import, IPEX_DTYPE_i64, batch, 1, 1, 0));
    struct ipex_value *empty = ipex_build_compare(import, IPEX_COMPARE_equal, lengths, zero);
    return ipex_build_where(import, ipex_build_reshape(import, empty, 2, column),
                            none ? none : ipex_build_number(import, IPEX_DTYPE_f32, 0),
                            rows_at(import, x, place));
}

/* ---- ReverseSequence ---- */

static void import_reverse_sequence(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    int64_t batch = ipex_import_int(import, "batch_axis", 1),
            time = ipex_import_int(import, "time_axis", 0);
    if (!x)
        return;
    if (x->rank < 2 || (batch | time) >> 1 || batch == time) {
        ipex_import_refuse(
            import, "batch_axis %lld and time_axis %lld of rank %d have to be 0 and 1 or 1 and 0",
            (long long)batch, (long long)time, x->rank);
        return;
    }
    struct ipex_value *y = ipex_lengths_reverse(
        import, x, ipex_lengths_read(import, 1, x->dims[time], x->dims[batch]), (int32_t)time);
    if (y)
        ipex_import_out(import, 0, y);
}

const struct ipex_import_op ipex_import_lengths[] = {
    {"ReverseSequence", import_reverse_sequence},
    {NULL, NULL},
};
