/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of the operators that move elements: copy, transpose, pad, slice, gather, scatter,
 * expand.
 */
#include "format/shape_rules.h"

enum ipex_status ipex_rule_copy(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    IPEX_TRY(check_any(r, 0));
    *y = (struct ipex_shape_operand){.dtype = x->dtype, .rank = x->rank};
    memcpy(y->dims, x->dims, sizeof y->dims);
    return IPEX_OK;
}

/* R75 */
enum ipex_status ipex_rule_transpose(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    unsigned seen = 0;
    IPEX_TRY(check_any(r, 1));
    *y = (struct ipex_shape_operand){.dtype = x->dtype, .rank = x->rank};
    for (int i = 0; i < x->rank; i++) {
        int32_t axis = r->node->int_[i];
        if (!in_range(axis, 0, x->rank - 1) || (seen >> axis & 1) != 0)
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "not a permutation of the axes");
        seen |= 1u << axis;
        y->dims[i] = x->dims[axis];
    }
    return IPEX_OK;
}

/* R74, R76 */
enum ipex_status ipex_rule_pad(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    if (x->layout != IPEX_LAYOUT_plain || !is_plain_dtype(x->dtype))
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "the operand is packed or of the wrong dtype");
    if (r->node->ints != 2u * x->rank + 1)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "wrong number of attributes for the rank");
    if (!in_range(r->node->int_[2 * x->rank], 0, IPEX_PAD_COUNT - 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "unknown mode");
    if (x->dtype != IPEX_DTYPE_f32 && r->node->float_[0] != 0)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "only f32 is padded with a value");
    *y = (struct ipex_shape_operand){.dtype = x->dtype, .rank = x->rank};
    for (int i = 0; i < x->rank; i++) {
        int64_t before = r->node->int_[i], after = r->node->int_[x->rank + i];
        if (before < 0 || after < 0)
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a pad is negative");
        y->dims[i] = before + x->dims[i] + after;
    }
    return IPEX_OK;
}

/* R77: the wanted dims are in y; the first and the last element taken lie in x. */
enum ipex_status ipex_rule_slice(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    IPEX_TRY(check_any(r, 2));
    struct ipex_shape_operand out = {.dtype = x->dtype, .rank = x->rank};
    if (y->rank != x->rank)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "input and output differ in rank");
    for (int i = 0; i < x->rank; i++) {
        int64_t start = r->node->int_[i], step = r->node->int_[x->rank + i];
        if (step == 0)
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a step is zero");
        if (!in_range(y->dims[i], 1, IPEX_MAX_DIM))
            return bad(r, IPEX_ERROR_MODEL_SHAPE, "an output dim is out of range");
        int64_t last = start + (y->dims[i] - 1) * step;
        if (!in_range(start, 0, x->dims[i] - 1) || !in_range(last, 0, x->dims[i] - 1))
            return bad(r, IPEX_ERROR_MODEL_SHAPE, "the slice leaves its input");
        out.dims[i] = y->dims[i];
    }
    *y = out;
    return IPEX_OK;
}

/* R83, R84 */
enum ipex_status ipex_rule_gather(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *data = operand(r, 0), *indices = operand(r, 1);
    const int32_t axis = r->node->int_[0];
    if (data->layout != IPEX_LAYOUT_plain ||
        !(is_plain_dtype(data->dtype) || data->dtype == IPEX_DTYPE_bf16 ||
          data->dtype == IPEX_DTYPE_f16))
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "data is packed or of the wrong dtype");
    IPEX_TRY(check_dtype(r, 1, IPEX_DTYPE_i32, IPEX_DTYPE_i64, IPEX_DTYPE_NONE));
    if (!in_range(axis, 0, data->rank - 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "data has no such axis");
    if (data->rank - 1 + indices->rank > IPEX_MAX_RANK)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the output has more than 8 axes");
    *y = (struct ipex_shape_operand){.dtype = data->dtype};
    for (int i = 0; i < axis; i++)
        y->dims[y->rank++] = data->dims[i];
    for (int i = 0; i < indices->rank; i++)
        y->dims[y->rank++] = indices->dims[i];
    for (int i = axis + 1; i < data->rank; i++)
        y->dims[y->rank++] = data->dims[i];
    return IPEX_OK;
}

/* R83, R87, R88, R111 */
enum ipex_status ipex_rule_scatter(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *data = operand(r, 0), *indices = operand(r, 1);
    const struct ipex_shape_operand *updates = operand(r, 2);
    const int32_t kind = r->node->int_[0];
    if (!in_range(kind, 0, IPEX_SCATTER_COUNT - 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "unknown kind");
    if (!is_plain_dtype(data->dtype) ||
        (kind != IPEX_SCATTER_none && data->dtype != IPEX_DTYPE_f32 &&
         data->dtype != IPEX_DTYPE_i64) ||
        indices->dtype != IPEX_DTYPE_i64 || updates->dtype != data->dtype ||
        data->layout != IPEX_LAYOUT_plain || indices->layout != IPEX_LAYOUT_plain ||
        updates->layout != IPEX_LAYOUT_plain)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "an operand is packed or of the wrong dtype");
    const int32_t behind = data->rank - 1;
    if (behind < 0 || updates->rank != indices->rank + behind ||
        memcmp(updates->dims, indices->dims, indices->rank * sizeof indices->dims[0]) != 0 ||
        memcmp(updates->dims + indices->rank, data->dims + 1,
               (size_t)behind * sizeof data->dims[0]) != 0)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the updates do not fit the indices and data");
    output_like(data, y);
    return IPEX_OK;
}

/* R74, R85: the wanted dims are in y. */
enum ipex_status ipex_rule_expand(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    IPEX_TRY(check_any(r, 0));
    struct ipex_shape_operand wide = {.dtype = x->dtype, .rank = y->rank};
    memcpy(wide.dims, y->dims, y->rank * sizeof y->dims[0]);
    if (y->rank < x->rank)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the output has fewer axes than the input");
    for (int i = 1; i <= x->rank; i++)
        if (x->dims[x->rank - i] != 1 && x->dims[x->rank - i] != y->dims[y->rank - i])
            return bad(r, IPEX_ERROR_MODEL_SHAPE, "the input does not broadcast to the output");
    *y = wide;
    return IPEX_OK;
}
