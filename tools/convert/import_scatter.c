/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators that write updates into a tensor at places known when converting: ScatterND and
 * ScatterElements. Seen as rows, every row of the result is a row of the data or an update: one
 * gather of both, by a table made here. With a reduction there is such a gather, of updates or
 * something neutral, for the first update of each row, for the second, and so on. */
#include "tools/convert/import_build.h"

#include <string.h>

enum reduction { NONE, ADD, MUL, MAX, MIN, REDUCTIONS };

/* Update i goes to row place[i] of the data, seen as [rows][width]. */
struct scatter {
    struct ipex_value *data, *updates;
    const struct ipex_value *indices;
    enum reduction reduction;
    int64_t rows, count;
    int64_t width; /* a dim */
    int64_t *place;
    int64_t *turn; /* of all updates of a row, which one: they are combined in this order */
    int64_t turns;
};

/* ---- places ---- */

static bool read_reduction(struct ipex_import *import, enum reduction *ret) {
    static const char *const names[REDUCTIONS] = {"none", "add", "mul", "max", "min"};
    const char *name = ipex_import_string(import, "reduction", "none");
    int at = 0;
    while (at < REDUCTIONS && strcmp(name, names[at]))
        at++;
    if (at == REDUCTIONS)
        ipex_import_refuse(import, "reduction %s is unknown", name);
    *ret = (enum reduction)at;
    return at < REDUCTIONS;
}

static bool read_operands(struct ipex_import *import, struct scatter *s) {
    s->data = ipex_import_any(import, 0);
    s->indices = s->data ? ipex_import_any(import, 1) : NULL;
    s->updates = s->indices ? ipex_import_any(import, 2) : NULL;
    if (!s->updates || !read_reduction(import, &s->reduction))
        return false;
    if (!s->indices->constant)
        ipex_import_refuse(import,
                           "the indices (%s) are computed at run time: only those known when "
                           "converting are supported",
                           s->indices->name);
    else if (s->indices->dtype != IPEX_DTYPE_i64 && s->indices->dtype != IPEX_DTYPE_i32)
        ipex_import_refuse(import, "the indices are %s", ipex_dtype_name(s->indices->dtype));
    else if (s->data->dtype != s->updates->dtype)
        ipex_import_refuse(import, "the data are %s, the updates %s",
                           ipex_dtype_name(s->data->dtype), ipex_dtype_name(s->updates->dtype));
    else
        return true;
    return false;
}

/* The product of data's dims before `end`, which must be numbers: how many rows there are. */
static bool count_rows(struct ipex_import *import, struct scatter *s, int32_t end) {
    struct ipex_value first = *s->data;
    first.rank = end;
    if (!ipex_build_fixed(import, &first))
        return false;
    s->rows = ipex_value_numel(&first);
    if (s->rows <= IPEX_BUILD_MAX)
        return true;
    ipex_import_refuse(import, "%lld places; at most %d are supported", (long long)s->rows,
                       IPEX_BUILD_MAX);
    return false;
}

/* Element i of the indices as a place on `axis` of the data; false after refusing. */
static bool place_on_axis(struct ipex_import *import, const struct scatter *s, int64_t i,
                          int32_t axis, int64_t *ret) {
    const int64_t size = s->data->dims[axis], index = ipex_constant_i64(s->indices, i);
    *ret = index < 0 ? index + size : index;
    if (*ret >= 0 && *ret < size)
        return true;
    ipex_import_refuse(import, "index %lld is outside of axis %d, which has %lld elements",
                       (long long)index, axis, (long long)size);
    return false;
}

/* indices [..., K]: every K numbers name a place on the first K axes of the data. */
static bool find_rows(struct ipex_import *import, struct scatter *s, int32_t k) {
    for (int64_t i = 0; i < s->count; i++)
        for (int32_t axis = 0; axis < k; axis++) {
            int64_t at;
            if (!place_on_axis(import, s, i * k + axis, axis, &at))
                return false;
            s->place[i] = s->place[i] * s->data->dims[axis] + at;
        }
    return true;
}

/* An index replaces its own position on one axis. */
static bool find_elements(struct ipex_import *import, struct scatter *s, int32_t axis) {
    for (int64_t i = 0; i < s->count; i++) {
        int64_t rest = i, stride = 1;
        for (int32_t k = s->data->rank - 1; k >= 0; k--) {
            int64_t at = rest % s->indices->dims[k];
            if (k == axis && !place_on_axis(import, s, i, axis, &at))
                return false;
            rest /= s->indices->dims[k];
            s->place[i] += at * stride;
            stride *= s->data->dims[k];
        }
    }
    return true;
}

/* ---- the result ---- */

/* Which update of its row each one is. Without a reduction the last one counts alone. */
static bool find_turns(struct ipex_import *import, struct scatter *s) {
    int64_t *seen = ipex_arena_array(&import->graph->arena, (size_t)s->rows, sizeof *seen);
    s->turn = ipex_arena_array(&import->graph->arena, (size_t)s->count + 1, sizeof *s->turn);
    s->turns = 1;
    for (int64_t i = 0; i < s->count && s->reduction != NONE; i++) {
        s->turn[i] = seen[s->place[i]]++;
        s->turns = s->turn[i] < s->turns ? s->turns : s->turn[i] + 1;
    }
    if (s->turns <= IPEX_BUILD_MAX / s->rows && s->turns <= 256)
        return true;
    ipex_import_refuse(import, "%lld updates of one place", (long long)s->turns);
    return false;
}

/* 0 or 1 leave sums and products as they are; else a row without an update is picked itself. */
static bool has_number(const struct scatter *s) {
    return s->reduction == ADD || s->reduction == MUL;
}

/* What each row of y is combined with, or replaced by, in this turn. */
static struct ipex_value *pick(struct ipex_import *import, const struct scatter *s,
                               struct ipex_value *y, struct ipex_value *updates, int64_t turn) {
    const int64_t one_row[2] = {1, s->width}, first = has_number(s) ? 1 : s->rows;
    int64_t *map = ipex_arena_array(&import->graph->arena, (size_t)s->rows, sizeof *map);
    for (int64_t row = 0; row < s->rows; row++)
        map[row] = has_number(s) ? 0 : row;
    for (int64_t i = 0; i < s->count; i++)
        if (s->turn[i] == turn)
            map[s->place[i]] = first + i;
    struct ipex_value *neutral = y;
    if (has_number(s))
        neutral = ipex_build_expand(
            import, ipex_build_number(import, y->dtype, s->reduction == MUL), 2, one_row);
    struct ipex_value *const rows[2] = {neutral, updates};
    return ipex_build_gather(
        import, ipex_build_concat(import, 0, 2, rows),
        ipex_graph_constant(import->graph, s->indices->name, IPEX_DTYPE_i64, 1, &s->rows, map), 0);
}

static struct ipex_value *combine(struct ipex_import *import, const struct scatter *s,
                                  struct ipex_value *y, struct ipex_value *picked) {
    static const enum ipex_step step[REDUCTIONS] = {
        [ADD] = IPEX_STEP_add, [MUL] = IPEX_STEP_mul, [MAX] = IPEX_STEP_max, [MIN] = IPEX_STEP_min};
    static const enum ipex_integer integer[REDUCTIONS] = {[ADD] = IPEX_INTEGER_add,
                                                          [MUL] = IPEX_INTEGER_mul,
                                                          [MAX] = IPEX_INTEGER_max,
                                                          [MIN] = IPEX_INTEGER_min};
    if (s->reduction == NONE)
        return picked;
    return y->dtype == IPEX_DTYPE_f32
               ? ipex_build_binary(import, step[s->reduction], y, picked)
               : ipex_build_integer(import, integer[s->reduction], y, picked);
}

static void scatter(struct ipex_import *import, struct scatter *s) {
    const int64_t data_dims[2] = {s->rows, s->width}, update_dims[2] = {s->count, s->width};
    const enum ipex_dtype dtype = s->data->dtype;
    if (s->reduction != NONE && dtype != IPEX_DTYPE_f32 && dtype != IPEX_DTYPE_i32 &&
        dtype != IPEX_DTYPE_i64) {
        ipex_import_refuse(import, "a reduction of %s is not supported", ipex_dtype_name(dtype));
        return;
    }
    if (!find_turns(import, s))
        return;
    struct ipex_value *y = ipex_build_reshape(import, s->data, 2, data_dims),
                      *updates = ipex_build_reshape(import, s->updates, 2, update_dims);
    for (int64_t turn = 0; turn < s->turns; turn++)
        y = combine(import, s, y, pick(import, s, y, updates, turn));
    ipex_import_out(import, 0, ipex_build_reshape(import, y, s->data->rank, s->data->dims));
}

/* ---- the operators ---- */

/* The updates have the shape that the indices and, from axis k on, the data give them. */
static bool updates_fit(struct ipex_import *import, const struct scatter *s, int32_t k) {
    const struct ipex_value *x = s->data, *u = s->updates;
    const int32_t last = s->indices->rank - 1;
    bool fits = u->rank == last + x->rank - k;
    for (int32_t i = 0; fits && i < u->rank; i++)
        fits = u->dims[i] == (i < last ? s->indices->dims[i] : x->dims[i - last + k]);
    if (!fits)
        ipex_import_refuse(import, "the updates (%s) do not fit the indices and the data", u->name);
    return fits;
}

static void import_scatter_nd(struct ipex_import *import) {
    struct scatter s = {.width = 1};
    if (!read_operands(import, &s))
        return;
    const int32_t last = s.indices->rank - 1;
    const int64_t k = last < 0 ? 0 : s.indices->dims[last];
    if (k < 1 || k > s.data->rank) {
        ipex_import_refuse(import, "the indices do not fit the data");
        return;
    }
    if (!updates_fit(import, &s, (int32_t)k) || !count_rows(import, &s, (int32_t)k))
        return;
    s.count = ipex_value_numel(s.indices) / k;
    s.place = ipex_arena_array(&import->graph->arena, (size_t)s.count + 1, sizeof *s.place);
    for (int32_t i = (int32_t)k; i < s.data->rank; i++)
        s.width = ipex_dim_mul(&import->graph->dims, s.width, s.data->dims[i]);
    if (find_rows(import, &s, (int32_t)k))
        scatter(import, &s);
}

static void import_scatter_elements(struct ipex_import *import) {
    struct scatter s = {.width = 1};
    int64_t axis = ipex_import_int(import, "axis", 0);
    if (!read_operands(import, &s) || !ipex_import_axis(import, &axis, s.data->rank) ||
        !count_rows(import, &s, s.data->rank))
        return;
    bool fits = s.indices->rank == s.data->rank && s.updates->rank == s.data->rank;
    for (int32_t i = 0; fits && i < s.data->rank; i++)
        fits = s.indices->dims[i] == s.updates->dims[i] &&
               (i == axis || s.indices->dims[i] <= s.data->dims[i]);
    if (!fits) {
        ipex_import_refuse(import, "the updates (%s) do not fit the indices and the data",
                           s.updates->name);
        return;
    }
    s.count = ipex_value_numel(s.indices);
    s.place = ipex_arena_array(&import->graph->arena, (size_t)s.count + 1, sizeof *s.place);
    if (find_elements(import, &s, (int32_t)axis))
        scatter(import, &s);
}

const struct ipex_import_op ipex_import_scatter[] = {
    {"Scatter", import_scatter_elements},
    {"ScatterElements", import_scatter_elements},
    {"ScatterND", import_scatter_nd},
    {NULL, NULL},
};
