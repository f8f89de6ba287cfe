/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's sequences of tensors, as lists that are known while importing: what a list's operators do
 * is done then, and nothing of it is left but the tensors. */
#include "tools/convert/import_build.h"
#include "tools/convert/import_scope.h"

#include <string.h>

enum { ITEMS_MAX = 4096 };

static const char *const takers[] = {
    "ConcatFromSequence", "Identity",       "If", "Loop", "SequenceAt", "SequenceErase",
    "SequenceInsert",     "SequenceLength", NULL};

bool ipex_import_takes_list(const struct ipex_import *import) {
    for (size_t i = 0; takers[i]; i++)
        if (!*import->node->domain && !strcmp(takers[i], import->node->op_type))
            return true;
    return false;
}

static void bind_list(struct ipex_import *import, struct ipex_value **item, size_t count) {
    struct ipex_value_list *list = ipex_arena_alloc(&import->graph->arena, sizeof *list);
    struct ipex_value *y =
        ipex_graph_value(import->graph, import->node->output[0], IPEX_DTYPE_f32, 0, NULL);
    *list = (struct ipex_value_list){count, item};
    y->list = list;
    ipex_import_out(import, 0, y);
}

/* The list that is operand 0; NULL after refusing. */
static const struct ipex_value_list *list_operand(struct ipex_import *import) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    if (x && x->list)
        return x->list;
    ipex_import_refuse(import, "input %s is no sequence", x ? x->name : "0");
    return NULL;
}

/* Operand i as a place in a list of so many, from the end where it is negative; `otherwise` where
 * it is absent. -1 after refusing. */
static int64_t place_operand(struct ipex_import *import, size_t i, size_t count,
                             int64_t otherwise) {
    struct ipex_value *x = ipex_import_in(import, i);
    const int64_t *known = x && !x->list ? ipex_import_known(import, x) : NULL;
    int64_t at = otherwise;
    if (x && (!known || ipex_value_numel(x) != 1 ||
              !ipex_dim_number(&import->graph->dims, known[0], &at))) {
        ipex_import_refuse(import, "the place %s in the sequence is not known when converting",
                           x->name);
        return -1;
    }
    at += at < 0 ? (int64_t)count : 0;
    if (at >= 0 && at < (int64_t)count)
        return at;
    ipex_import_refuse(import, "place %lld of a sequence of %zu", (long long)at, count);
    return -1;
}

static void import_sequence_construct(struct ipex_import *import) {
    const size_t count = import->node->inputs;
    struct ipex_value **item = ipex_arena_array(&import->graph->arena, count + 1, sizeof *item);
    for (size_t i = 0; i < count; i++)
        if (!(item[i] = ipex_import_in(import, i))) {
            ipex_import_refuse(import, "input %zu is missing", i);
            return;
        }
    bind_list(import, item, count);
}

static void import_sequence_empty(struct ipex_import *import) {
    bind_list(import, ipex_arena_alloc(&import->graph->arena, sizeof(void *)), 0);
}

static void import_sequence_insert(struct ipex_import *import) {
    const struct ipex_value_list *list = list_operand(import);
    struct ipex_value *x = ipex_import_in(import, 1);
    if (!list)
        return;
    const int64_t at = place_operand(import, 2, list->count + 1, (int64_t)list->count);
    if (at < 0)
        return;
    if (!x || list->count == ITEMS_MAX) {
        ipex_import_refuse(
            import, x ? "a sequence has at most %d tensors here" : "input 1 of %d is missing",
            x ? ITEMS_MAX : 3);
        return;
    }
    struct ipex_value **item =
        ipex_arena_array(&import->graph->arena, list->count + 1, sizeof *item);
    for (size_t i = 0; i <= list->count; i++)
        item[i] = i < (size_t)at ? list->item[i] : i == (size_t)at ? x : list->item[i - 1];
    bind_list(import, item, list->count + 1);
}

static void import_sequence_erase(struct ipex_import *import) {
    const struct ipex_value_list *list = list_operand(import);
    const int64_t at = list ? place_operand(import, 1, list->count, (int64_t)list->count - 1) : -1;
    if (at < 0)
        return;
    struct ipex_value **item = ipex_arena_array(&import->graph->arena, list->count, sizeof *item);
    for (size_t i = 0; i + 1 < list->count; i++)
        item[i] = list->item[i < (size_t)at ? i : i + 1];
    bind_list(import, item, list->count - 1);
}

static void import_sequence_at(struct ipex_import *import) {
    const struct ipex_value_list *list = list_operand(import);
    const int64_t at = list ? place_operand(import, 1, list->count, -1) : -1;
    if (at >= 0)
        ipex_import_out(import, 0, list->item[at]);
}

static void import_sequence_length(struct ipex_import *import) {
    const struct ipex_value_list *list = list_operand(import);
    if (list)
        ipex_import_out(import, 0, ipex_build_number(import, IPEX_DTYPE_i64, (double)list->count));
}

/* One value with an axis of 1 more. */
static struct ipex_value *with_axis(struct ipex_import *import, struct ipex_value *x,
                                    int64_t axis) {
    int64_t dims[IPEX_MAX_RANK];
    if (x->rank == IPEX_MAX_RANK || !ipex_import_axis(import, &axis, x->rank + 1))
        return NULL;
    memcpy(dims, x->dims, (size_t)axis * sizeof *dims);
    dims[axis] = 1;
    memcpy(dims + axis + 1, x->dims + axis, (size_t)(x->rank - axis) * sizeof *dims);
    return ipex_build_reshape(import, x, x->rank + 1, dims);
}

/* Item i has the first one's type and its dims but for the axis (-1: those, too), and is data. */
static bool fits_first(struct ipex_import *import, const struct ipex_value_list *list, size_t i,
                       int64_t axis) {
    const struct ipex_value *x = list->item[i], *first = list->item[0];
    bool fits = x->dtype == first->dtype && x->rank == first->rank && !x->list &&
                (x->constant || x->producer || !x->ints);
    for (int32_t k = 0; fits && k < x->rank; k++)
        fits = k == axis || x->dims[k] == first->dims[k];
    if (!fits)
        ipex_import_refuse(import, "tensor %s of the sequence does not fit %s", x->name,
                           first->name);
    return fits;
}

static void import_concat_from_sequence(struct ipex_import *import) {
    const struct ipex_value_list *list = list_operand(import);
    const bool is_new = ipex_import_flag(import, "new_axis", false);
    int64_t axis = ipex_import_int(import, "axis", 0);
    if (!list)
        return;
    if (!list->count) {
        ipex_import_refuse(import, "the sequence has no tensors");
        return;
    }
    struct ipex_value **part = ipex_arena_array(&import->graph->arena, list->count, sizeof *part);
    if (!ipex_import_axis(import, &axis, list->item[0]->rank + is_new))
        return;
    for (size_t i = 0; i < list->count; i++) {
        if (!fits_first(import, list, i, is_new ? -1 : axis))
            return;
        part[i] = is_new ? with_axis(import, list->item[i], axis) : list->item[i];
        if (!part[i])
            return;
    }
    ipex_import_out(import, 0,
                    list->count == 1
                        ? part[0]
                        : ipex_build_concat(import, (int32_t)axis, (int32_t)list->count, part));
}

/* Parts that are given: their number; 0 after refusing. */
static size_t given_sizes(struct ipex_import *import, int64_t *part) {
    const int n = ipex_import_dims(import, NULL, 1, part, ITEMS_MAX);
    int64_t least, most;
    for (int i = 0; i < n; i++) {
        ipex_dim_range(&import->graph->dims, part[i], &least, &most);
        if (least < 1) {
            ipex_import_refuse(import, "part %d has %s elements; 1 and more are supported", i,
                               ipex_import_text(import, part[i]));
            return 0;
        }
    }
    return n > 0 ? (size_t)n : 0;
}

/* How long the parts are: given, or of one number each but the last. Their number; 0 after
 * refusing. */
static size_t part_sizes(struct ipex_import *import, int64_t size, int64_t *part) {
    const struct ipex_value *given = ipex_import_in(import, 1);
    int64_t each = 1, number, left;
    size_t count = 0;
    if (given && given->rank == 1)
        return given_sizes(import, part);
    if (given && !ipex_build_scalar(import, 1, 1, &each))
        return 0;
    if (!ipex_dim_number(&import->graph->dims, size, &number) || each < 1 ||
        (number - 1) / each + 1 > ITEMS_MAX) {
        ipex_import_refuse(import,
                           "parts of %lld of %s elements; a known number of at most %d "
                           "parts is needed",
                           (long long)each, ipex_import_text(import, size), ITEMS_MAX);
        return 0;
    }
    for (left = number; left > 0; left -= each)
        part[count++] = left < each ? left : each;
    return count;
}

static void import_split_to_sequence(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    int64_t axis = ipex_import_int(import, "axis", 0), at = 0, dims[IPEX_MAX_RANK];
    const bool drops = !ipex_import_in(import, 1) && !ipex_import_flag(import, "keepdims", true);
    struct ipex_dims *table = &import->graph->dims;
    if (!x || !ipex_import_axis(import, &axis, x->rank))
        return;
    int64_t *part = ipex_arena_array(&import->graph->arena, ITEMS_MAX, sizeof *part);
    const size_t count = part_sizes(import, x->dims[axis], part);
    struct ipex_value **item = ipex_arena_array(&import->graph->arena, count + 1, sizeof *item);
    int32_t rank = 0;
    for (int32_t k = 0; k < x->rank; k++)
        if (k != axis)
            dims[rank++] = x->dims[k];
    for (size_t i = 0; i < count; i++) {
        item[i] = ipex_build_slice(import, x, (int32_t)axis, at, part[i]);
        if (drops)
            item[i] = ipex_build_reshape(import, item[i], rank, dims);
        at = ipex_dim_add(table, at, part[i]);
    }
    if (count && at != x->dims[axis])
        ipex_import_refuse(import, "the parts do not add up to the %s elements of the axis",
                           ipex_import_text(import, x->dims[axis]));
    else if (count)
        bind_list(import, item, count);
}

const struct ipex_import_op ipex_import_lists[] = {
    {"ConcatFromSequence", import_concat_from_sequence},
    {"SequenceAt", import_sequence_at},
    {"SequenceConstruct", import_sequence_construct},
    {"SequenceEmpty", import_sequence_empty},
    {"SequenceErase", import_sequence_erase},
    {"SequenceInsert", import_sequence_insert},
    {"SequenceLength", import_sequence_length},
    {"SplitToSequence", import_split_to_sequence},
    {NULL, NULL},
};
