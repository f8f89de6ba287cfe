/* SPDX-License-Identifier: Apache-2.0 */
/* Padding by constant amounts and by such that depend on sizes. */
#include "tools/convert/import_build.h"

#include <string.h>

static bool is_padding(int64_t pad) {
    return -IPEX_MAX_DIM <= pad && pad <= IPEX_MAX_DIM;
}

/* What negative pads take away is taken away first; they are 0 then. NULL after refusing. */
static struct ipex_value *crop(struct ipex_import *import, struct ipex_value *x,
                               enum ipex_pad_mode mode, int64_t *before, int64_t *after) {
    struct ipex_dims *table = &import->graph->dims;
    for (int32_t axis = 0; axis < x->rank; axis++) {
        const bool negative = before[axis] < 0 || after[axis] < 0;
        int64_t least, most;
        const bool huge = !is_padding(before[axis]) || !is_padding(after[axis]);
        if (huge || (negative && mode != IPEX_PAD_constant)) {
            ipex_import_refuse(import,
                               huge ? "axis %d has huge padding, which is not supported"
                                    : "axis %d has negative padding, which only mode constant may",
                               axis);
            return NULL;
        }
        const int64_t first = before[axis] < 0 ? -before[axis] : 0,
                      last = after[axis] < 0 ? -after[axis] : 0;
        before[axis] += first;
        after[axis] += last;
        if (!negative)
            continue;
        const int64_t left = ipex_dim_sub(table, x->dims[axis], first + last);
        ipex_dim_range(table, left, &least, &most);
        if (least < 1) {
            ipex_import_refuse(import, "negative padding may leave nothing of axis %d (%s)%s", axis,
                               ipex_import_text(import, x->dims[axis]),
                               ipex_import_make_larger(import, x->dims[axis]));
            return NULL;
        }
        x = ipex_build_slice(import, x, axis, first, left);
    }
    return x;
}

/* Padding by what depends on sizes: by the most that it can be, of which then too much is cut off.
 * Where it may be negative, that is cut off with it. */
struct varying_pad {
    bool varies;
    int64_t start, count; /* of what was padded by the most */
};

/* Turns the amounts of one axis, dims, into numbers. False after refusing. */
static bool fix_pad(struct ipex_import *import, int32_t axis, int64_t dim, enum ipex_pad_mode mode,
                    int64_t *before, int64_t *after, struct varying_pad *ret) {
    struct ipex_dims *table = &import->graph->dims;
    int64_t first = *before, last = *after, least, most;
    if (ipex_dim_number(table, first, before) && ipex_dim_number(table, last, after))
        return true;
    const int64_t count = ipex_dim_add(table, dim, ipex_dim_add(table, first, last));
    ipex_dim_range(table, first, &least, before);
    ipex_dim_range(table, last, &most, after);
    least = least < most ? least : most;
    if (least < 0 && mode != IPEX_PAD_constant) {
        ipex_import_refuse(import,
                           "axis %d is padded by %s and %s, which may be negative; only constant "
                           "padding may",
                           axis, ipex_import_text(import, first), ipex_import_text(import, last));
        return false;
    }
    ipex_dim_range(table, count, &least, &most);
    if (least < 1) {
        ipex_import_refuse(import, "padding by %s and %s may leave nothing of axis %d (%s)",
                           ipex_import_text(import, first), ipex_import_text(import, last), axis,
                           ipex_import_text(import, dim));
        return false;
    }
    *before = *before < 0 ? 0 : *before;
    *after = *after < 0 ? 0 : *after;
    *ret = (struct varying_pad){true, ipex_dim_sub(table, *before, first), count};
    return true;
}

struct ipex_value *ipex_build_pad(struct ipex_import *import, struct ipex_value *x,
                                  enum ipex_pad_mode mode, float value, int64_t *before,
                                  int64_t *after) {
    int64_t dims[IPEX_MAX_RANK];
    struct varying_pad varying[IPEX_MAX_RANK] = {{0}};
    for (int32_t axis = 0; axis < x->rank; axis++)
        if (!fix_pad(import, axis, x->dims[axis], mode, &before[axis], &after[axis],
                     &varying[axis]))
            return NULL;
    x = crop(import, x, mode, before, after);
    if (!x)
        return NULL;
    memcpy(dims, x->dims, sizeof dims);
    for (int32_t axis = 0; axis < x->rank; axis++)
        dims[axis] = ipex_dim_add(&import->graph->dims, dims[axis], before[axis] + after[axis]);
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_pad);
    memcpy(node->u.pad.before, before, sizeof node->u.pad.before);
    memcpy(node->u.pad.after, after, sizeof node->u.pad.after);
    node->u.pad.mode = mode;
    node->u.pad.value = value;
    ipex_node_add_input(node, x);
    ipex_node_set_output(
        node, ipex_graph_value(import->graph, import->node->output[0], x->dtype, x->rank, dims));
    struct ipex_value *y = node->output;
    for (int32_t axis = 0; axis < x->rank; axis++)
        if (varying[axis].varies)
            y = ipex_build_slice(import, y, axis, varying[axis].start, varying[axis].count);
    return y;
}

/* ---- Pad ---- */

/* The mode by its ONNX name; IPEX_PAD_COUNT when unknown. */
static enum ipex_pad_mode pad_mode(const char *name) {
    static const char *const names[IPEX_PAD_COUNT] = {
        [IPEX_PAD_constant] = "constant",
        [IPEX_PAD_reflect] = "reflect",
        [IPEX_PAD_edge] = "edge",
        [IPEX_PAD_wrap] = "wrap",
    };
    int mode = 0;
    while (mode < IPEX_PAD_COUNT && strcmp(name, names[mode]))
        mode++;
    return (enum ipex_pad_mode)mode;
}

/* The amounts of every axis, dims; false after refusing. */
static bool pad_amounts(struct ipex_import *import, const struct ipex_value *x, int64_t *before,
                        int64_t *after) {
    int64_t pads[2 * IPEX_MAX_RANK], axes[IPEX_MAX_RANK];
    int n = ipex_import_dims(import, "pads", 1, pads, 2 * IPEX_MAX_RANK);
    int n_axes = n < 0 ? -1 : ipex_import_ints(import, NULL, 3, axes, IPEX_MAX_RANK);
    if (n_axes < 0)
        return false;
    const int count = n_axes ? n_axes : x->rank;
    if (n != 2 * count) {
        ipex_import_refuse(import, "pads does not have two values per axis");
        return false;
    }
    for (int i = 0; i < count; i++) {
        int64_t axis = n_axes ? axes[i] : i;
        if (!ipex_import_axis(import, &axis, x->rank))
            return false;
        before[axis] = pads[i];
        after[axis] = pads[count + i];
    }
    return true;
}

/* Integers and bools are padded with zeros; another value is chosen where there is no x. */
static struct ipex_value *pad_integers(struct ipex_import *import, struct ipex_value *x,
                                       struct ipex_value *value, const int64_t *before,
                                       const int64_t *after) {
    int64_t amounts[2][IPEX_MAX_RANK];
    struct ipex_value *of[2] = {
        x,
        ipex_build_expand(import, ipex_build_number(import, IPEX_DTYPE_bool, 1), x->rank, x->dims)};
    for (size_t i = 0; i < 2; i++) {
        memcpy(amounts[0], before, sizeof amounts[0]);
        memcpy(amounts[1], after, sizeof amounts[1]);
        of[i] = of[i] ? ipex_build_pad(import, of[i], IPEX_PAD_constant, 0, amounts[0], amounts[1])
                      : NULL;
    }
    return of[0] && of[1]
               ? ipex_build_where(import, of[1], of[0], ipex_build_reshape(import, value, 0, NULL))
               : NULL;
}

static void import_pad(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0);
    int64_t before[IPEX_MAX_RANK] = {0}, after[IPEX_MAX_RANK] = {0};
    struct ipex_value *value = ipex_import_in(import, 2), *y;
    const char *name = ipex_import_string(import, "mode", "constant");
    const enum ipex_pad_mode mode = pad_mode(name);
    if (!x || !pad_amounts(import, x, before, after))
        return;
    if (mode == IPEX_PAD_COUNT) {
        ipex_import_refuse(import, "mode %s is unknown", name);
        return;
    }
    if (mode != IPEX_PAD_constant)
        value = NULL;
    if (value && (!value->constant || ipex_value_numel(value) != 1 || value->dtype != x->dtype)) {
        ipex_import_refuse(import, "the value %s is not one constant of type %s", value->name,
                           ipex_dtype_name(x->dtype));
        return;
    }
    const double number =
        value ? ipex_constant_f64(value, 0) : (double)ipex_import_float(import, "value", 0);
    if (value && x->dtype != IPEX_DTYPE_f32 && number != 0)
        y = pad_integers(import, x, value, before, after);
    else
        y = ipex_build_pad(import, x, mode, (float)number, before, after);
    if (y)
        ipex_import_out(import, 0, y);
}

const struct ipex_import_op ipex_import_padding[] = {
    {"Pad", import_pad},
    {NULL, NULL},
};
