/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of the operators that move elements: copy, transpose, pad, slice. */
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

/* R76 */
enum ipex_status ipex_rule_pad(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    IPEX_TRY(check_f32(r, 0, -1));
    IPEX_TRY(check_any(r, 2));
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
