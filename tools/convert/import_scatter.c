/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators that write updates into a tensor: ScatterND and ScatterElements. Seen as rows,
 * every row of the result is a row of the data or an update.
 *
 * At places known when converting it is one gather of both, by a table made here. With a reduction
 * there is such a gather, of updates or something neutral, for the first update of each row, for
 * the second, and so on. Places that a run computes, or very many updates of one, take the
 * operator scatter. */
#include "tools/convert/import_index.h"
#include "tools/convert/import_scope.h"

#include <string.h>

enum { TURNS_MAX = 8 }; /* from here on one pass over all updates is less work */

/* As enum ipex_scatter has them. */
enum reduction { NONE, ADD, MUL, MAX, MIN, REDUCTIONS };
_Static_assert((int)REDUCTIONS == (int)IPEX_SCATTER_COUNT && (int)MIN == (int)IPEX_SCATTER_min &&
                   (int)MUL == (int)IPEX_SCATTER_mul,
               "reductions are the operator's kinds");

/* Update i goes to row place[i] of the data, seen as [rows][width]. */
struct scatter {
    struct ipex_value *data, *indices, *updates;
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
    if (s->indices->dtype != IPEX_DTYPE_i64 && s->indices->dtype != IPEX_DTYPE_i32)
        ipex_import_refuse(import, "the indices are %s", ipex_dtype_name(s->indices->dtype));
    else if (s->data->dtype != s->updates->dtype)
        ipex_import_refuse(import, "the data are %s, the updates %s",
                           ipex_dtype_name(s->data->dtype), ipex_dtype_name(s->updates->dtype));
    else if (s->reduction != NONE && s->data->dtype != IPEX_DTYPE_f32 &&
             s->data->dtype != IPEX_DTYPE_i32 && s->data->dtype != IPEX_DTYPE_i64)
        ipex_import_refuse(import, "a reduction of %s is not supported",
                           ipex_dtype_name(s->data->dtype));
    else
        return true;
    return false;
}

/* Whether places on data's axes before `end` are numbers now, and few enough for a table. */
static bool is_known(struct scatter *s, int32_t end) {
    s->rows = 1;
    for (int32_t i = 0; i < end; i++) {
        if (s->data->dims[i] < 1 || s->data->dims[i] > IPEX_BUILD_MAX / s->rows)
            return false;
        s->rows *= s->data->dims[i];
    }
    return s->indices->constant != NULL;
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

/* Which update of its row each one is. Without a reduction the last one counts alone. False where
 * there are too many. */
static bool find_turns(struct ipex_import *import, struct scatter *s) {
    int64_t *seen = ipex_arena_array(&import->graph->arena, (size_t)s->rows, sizeof *seen);
    s->turn = ipex_arena_array(&import->graph->arena, (size_t)s->count + 1, sizeof *s->turn);
    s->turns = 1;
    for (int64_t i = 0; i < s->count && s->reduction != NONE; i++) {
        s->turn[i] = seen[s->place[i]]++;
        s->turns = s->turn[i] < s->turns ? s->turns : s->turn[i] + 1;
    }
    return s->turns <= TURNS_MAX && s->turns <= IPEX_BUILD_MAX / s->rows;
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

/* False, with nothing done, where there are too many turns. */
static bool scatter_known(struct ipex_import *import, struct scatter *s) {
    const int64_t data_dims[2] = {s->rows, s->width}, update_dims[2] = {s->count, s->width};
    if (!find_turns(import, s))
        return false;
    struct ipex_value *y = ipex_build_reshape(import, s->data, 2, data_dims),
                      *updates = ipex_build_reshape(import, s->updates, 2, update_dims);
    for (int64_t turn = 0; turn < s->turns; turn++)
        y = combine(import, s, y, pick(import, s, y, updates, turn));
    ipex_import_out(import, 0, ipex_build_reshape(import, y, s->data->rank, s->data->dims));
    return true;
}

/* `at` (NULL: has been refused): the places, numbers of rows, which are data's axes before `end`.
 */
static void scatter_computed(struct ipex_import *import, const struct scatter *s,
                             struct ipex_value *at, int32_t end) {
    if (!at)
        return;
    const int64_t count = ipex_place_count(import, at, 0, at->rank);
    const int64_t rows = ipex_place_count(import, s->data, 0, end);
    const int64_t width = ipex_place_count(import, s->data, end, s->data->rank);
    const int64_t data_dims[2] = {rows, width}, update_dims[2] = {count, width};
    const enum ipex_dtype dtype = s->data->dtype; /* i32 is combined as i64: the low bits agree */
    const enum ipex_dtype wide =
        s->reduction != NONE && dtype == IPEX_DTYPE_i32 ? IPEX_DTYPE_i64 : dtype;
    struct ipex_value *data = ipex_build_cast(import, s->data, wide);
    struct ipex_value *updates = ipex_build_cast(import, s->updates, wide);
    struct ipex_value *const input[3] = {ipex_build_reshape(import, data, 2, data_dims),
                                         ipex_build_reshape(import, at, 1, &count),
                                         ipex_build_reshape(import, updates, 2, update_dims)};
    struct ipex_node *node =
        ipex_import_plan(import, IPEX_OP_scatter, IPEX_ORDER_logical, wide, 2, data_dims, false);
    for (int i = 0; i < 3; i++)
        ipex_node_add_input(node, input[i]);
    node->u.plan.ints = 1;
    node->u.plan.int_[0] = (int64_t)s->reduction;
    struct ipex_value *y = ipex_build_cast(import, node->output, dtype);
    ipex_import_out(import, 0, ipex_build_reshape(import, y, s->data->rank, s->data->dims));
}

/* ---- the operators ---- */

/* Without updates, as an assignment to an empty slice is written, the result is the data. */
static bool nothing_changes(struct ipex_import *import, const struct scatter *s) {
    if (!ipex_import_is_none(s->indices) && !ipex_import_is_none(s->updates))
        return false;
    ipex_import_out(import, 0, s->data);
    return true;
}

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
    const int32_t end = (int32_t)k;
    if (!updates_fit(import, &s, end) || nothing_changes(import, &s))
        return;
    if (is_known(&s, end)) {
        s.count = ipex_value_numel(s.indices) / k;
        s.place = ipex_arena_array(&import->graph->arena, (size_t)s.count + 1, sizeof *s.place);
        s.width = ipex_place_count(import, s.data, end, s.data->rank);
        if (!find_rows(import, &s, end) || scatter_known(import, &s))
            return;
    }
    scatter_computed(import, &s, ipex_place_rows(import, s.indices, s.data, 0, end), end);
}

/* Indices may be the same for all of what lies behind an axis: whole rows are updated then, from
 * the axis returned on, and ret_indices, the ones without the repetition, are 1 there. */
static int32_t find_wide_rows(struct ipex_import *import, const struct scatter *s, int32_t axis,
                              struct ipex_value **ret_indices) {
    const struct ipex_node *node = s->indices->producer;
    const int32_t rank = s->data->rank;
    int64_t dims[IPEX_MAX_RANK];
    int32_t end = rank;
    *ret_indices = s->indices;
    if (!node || node->kind != IPEX_KIND_plan || node->u.plan.op != IPEX_OP_expand)
        return rank;
    struct ipex_value *once = node->input[0];
    for (int32_t i = 0; i < rank; i++)
        dims[i] = s->indices->dims[i];
    for (; end > axis + 1 && dims[end - 1] == s->data->dims[end - 1]; end--) {
        const int32_t i = end - 1 - (rank - once->rank);
        if (i >= 0 && once->dims[i] != 1)
            break;
        dims[end - 1] = 1;
    }
    *ret_indices = ipex_build_expand(import, once, rank, dims);
    return end;
}

static void import_scatter_elements(struct ipex_import *import) {
    struct scatter s = {.width = 1};
    int64_t axis = ipex_import_int(import, "axis", 0);
    if (!read_operands(import, &s) || !ipex_import_axis(import, &axis, s.data->rank))
        return;
    const int32_t rank = s.data->rank;
    bool fits = s.indices->rank == rank && s.updates->rank == rank;
    for (int32_t i = 0; fits && i < rank; i++)
        fits = s.indices->dims[i] == s.updates->dims[i] &&
               (i == axis ||
                ipex_dim_at_most(&import->graph->dims, s.indices->dims[i], s.data->dims[i]));
    if (!fits) {
        ipex_import_refuse(import, "the updates (%s) do not fit the indices and the data",
                           s.updates->name);
        return;
    }
    if (nothing_changes(import, &s))
        return;
    if (is_known(&s, rank)) {
        s.count = ipex_value_numel(s.indices);
        s.place = ipex_arena_array(&import->graph->arena, (size_t)s.count + 1, sizeof *s.place);
        if (!find_elements(import, &s, (int32_t)axis) || scatter_known(import, &s))
            return;
    }
    struct ipex_value *indices;
    const int32_t end = find_wide_rows(import, &s, (int32_t)axis, &indices);
    scatter_computed(import, &s, ipex_place_elements(import, indices, s.data, (int32_t)axis, end),
                     end);
}

/* Of update [B][...][S] along an axis the rows in data [B][...][N]: those from write_indices [B] on
 * (NULL: from 0), beyond N from the first on where `circular`. NULL after refusing. */
static struct ipex_value *rows_from(struct ipex_import *import, const struct scatter *s,
                                    struct ipex_value *first, int32_t axis, bool circular) {
    struct ipex_dims *dims = &import->graph->dims;
    const int64_t batch = s->data->dims[0], between = ipex_place_count(import, s->data, 1, axis),
                  n = s->data->dims[axis], apart = ipex_dim_mul(dims, between, n);
    const int64_t column[3] = {batch, 1, 1};
    struct ipex_value *at =
                          ipex_build_count(import, IPEX_DTYPE_i64, s->updates->dims[axis], 1, 3, 2),
                      *rows = ipex_build_size(import, IPEX_DTYPE_i64, n);
    if (first)
        at = ipex_build_integer(
            import, IPEX_INTEGER_add, at,
            ipex_build_cast(import, ipex_build_reshape(import, first, 3, column), IPEX_DTYPE_i64));
    if (circular)
        at = ipex_build_integer(import, IPEX_INTEGER_mod, at, rows);
    struct ipex_value *line = ipex_build_integer(
        import, IPEX_INTEGER_mul, ipex_build_count(import, IPEX_DTYPE_i64, between, 1, 3, 1), rows);
    struct ipex_value *sequence = ipex_build_integer(
        import, IPEX_INTEGER_mul, ipex_build_count(import, IPEX_DTYPE_i64, batch, 1, 3, 0),
        ipex_build_size(import, IPEX_DTYPE_i64, apart));
    return ipex_build_integer(import, IPEX_INTEGER_add, sequence,
                              ipex_build_integer(import, IPEX_INTEGER_add, line, at));
}

static void import_tensor_scatter(struct ipex_import *import) {
    struct scatter s = {.data = ipex_import_any(import, 0)};
    s.updates = s.data ? ipex_import_any(import, 1) : NULL;
    struct ipex_value *first = ipex_import_in(import, 2);
    const char *mode = ipex_import_string(import, "mode", "linear");
    int64_t axis = ipex_import_int(import, "axis", -2);
    if (!s.updates || (first && !(first = ipex_import_any(import, 2))) ||
        !ipex_import_axis(import, &axis, s.data->rank))
        return;
    bool fits = axis > 0 && s.updates->rank == s.data->rank && s.updates->dtype == s.data->dtype;
    for (int32_t i = 0; fits && i < s.data->rank; i++)
        fits = i == axis
                   ? ipex_dim_at_most(&import->graph->dims, s.updates->dims[i], s.data->dims[i])
                   : s.updates->dims[i] == s.data->dims[i];
    if (first)
        fits &= first->rank == 1 && first->dims[0] == s.data->dims[0] &&
                (first->dtype == IPEX_DTYPE_i64 || first->dtype == IPEX_DTYPE_i32);
    if (!fits || (strcmp(mode, "linear") && strcmp(mode, "circular"))) {
        ipex_import_refuse(import,
                           "past_cache, update and write_indices do not fit together along "
                           "axis %lld, mode %s",
                           (long long)axis, mode);
        return;
    }
    scatter_computed(import, &s,
                     rows_from(import, &s, first, (int32_t)axis, !strcmp(mode, "circular")),
                     (int32_t)axis + 1);
}

const struct ipex_import_op ipex_import_scatter[] = {
    {"Scatter", import_scatter_elements},
    {"ScatterElements", import_scatter_elements},
    {"ScatterND", import_scatter_nd},
    {"TensorScatter", import_tensor_scatter},
    {NULL, NULL},
};
