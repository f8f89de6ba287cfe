/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of the operators that look at single elements of any dtype, or along one axis: cast,
 * compare, logical, where, integer; arg, topk, cumsum. */
#include "format/shape_rules.h"

/* bf16 is cast from and to f32, f16 to f32. */
static bool casts_from(uint8_t x, uint8_t y) {
    return is_plain_dtype(x) ||
           ((x == IPEX_DTYPE_bf16 || x == IPEX_DTYPE_f16) && y == IPEX_DTYPE_f32);
}

static bool casts_to(uint8_t y, uint8_t x) {
    return is_plain_dtype(y) || (y == IPEX_DTYPE_bf16 && x == IPEX_DTYPE_f32);
}

/* R86: the wanted dtype is in y. */
enum ipex_status ipex_rule_cast(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    const uint8_t wanted = y->dtype;
    if (x->layout != IPEX_LAYOUT_plain || !casts_from(x->dtype, wanted))
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "the operand is packed or of the wrong dtype");
    if (!casts_to(wanted, x->dtype))
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the output has a dtype that casts do not know");
    output_like(x, y);
    y->dtype = wanted;
    return IPEX_OK;
}

/* R87: all operands from `first` on broadcast together and have one dtype; dims go to y. */
static enum ipex_status join(const struct rule *r, uint32_t first, struct ipex_shape_operand *y) {
    for (uint32_t i = first; i < r->node->inputs; i++) {
        if (operand(r, i)->dtype != operand(r, first)->dtype)
            return bad(r, IPEX_ERROR_MODEL_OPERATOR, "the operands differ in dtype");
        if (!broadcast(y, operand(r, i)))
            return bad(r, IPEX_ERROR_MODEL_SHAPE, "the operands do not broadcast together");
    }
    return IPEX_OK;
}

/* R83, R87, R88 */
enum ipex_status ipex_rule_compare(const struct rule *r, struct ipex_shape_operand *y) {
    if (!in_range(r->node->int_[0], 0, IPEX_COMPARE_COUNT - 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "unknown kind");
    for (uint32_t i = 0; i < r->node->inputs; i++)
        IPEX_TRY(check_dtype(r, i, IPEX_DTYPE_f32, IPEX_DTYPE_i32, IPEX_DTYPE_i64));
    *y = (struct ipex_shape_operand){.dtype = IPEX_DTYPE_bool};
    return join(r, 0, y);
}

/* R83, R87 to R89 */
enum ipex_status ipex_rule_logical(const struct rule *r, struct ipex_shape_operand *y) {
    const int32_t kind = r->node->int_[0];
    if (!in_range(kind, 0, IPEX_LOGICAL_COUNT - 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "unknown kind");
    if (r->node->inputs != (kind == IPEX_LOGICAL_not ? 1u : 2u))
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "wrong number of operands for the kind");
    for (uint32_t i = 0; i < r->node->inputs; i++)
        IPEX_TRY(check_dtype(r, i, IPEX_DTYPE_bool, IPEX_DTYPE_NONE, IPEX_DTYPE_NONE));
    *y = (struct ipex_shape_operand){.dtype = IPEX_DTYPE_bool};
    return join(r, 0, y);
}

/* R83, R87 */
enum ipex_status ipex_rule_where(const struct rule *r, struct ipex_shape_operand *y) {
    IPEX_TRY(check_dtype(r, 0, IPEX_DTYPE_bool, IPEX_DTYPE_NONE, IPEX_DTYPE_NONE));
    for (uint32_t i = 1; i < 3; i++)
        if (operand(r, i)->layout != IPEX_LAYOUT_plain || !is_plain_dtype(operand(r, i)->dtype))
            return bad(r, IPEX_ERROR_MODEL_OPERATOR, "an operand is packed or of the wrong dtype");
    output_like(operand(r, 0), y);
    IPEX_TRY(join(r, 1, y));
    y->dtype = operand(r, 1)->dtype;
    return IPEX_OK;
}

/* R83, R87 to R89 */
enum ipex_status ipex_rule_integer(const struct rule *r, struct ipex_shape_operand *y) {
    const int32_t kind = r->node->int_[0];
    if (!in_range(kind, 0, IPEX_INTEGER_COUNT - 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "unknown kind");
    const bool unary = kind == IPEX_INTEGER_neg || kind == IPEX_INTEGER_abs;
    if (r->node->inputs != (unary ? 1u : 2u))
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "wrong number of operands for the kind");
    for (uint32_t i = 0; i < r->node->inputs; i++)
        IPEX_TRY(check_dtype(r, i, IPEX_DTYPE_i32, IPEX_DTYPE_i64, IPEX_DTYPE_NONE));
    *y = (struct ipex_shape_operand){.dtype = operand(r, 0)->dtype};
    return join(r, 0, y);
}

/* R82, R92 */
enum ipex_status ipex_rule_arg(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    IPEX_TRY(check_f32(r, 0, -1));
    if (!is_flag(r->node->int_[IPEX_ARG_LARGEST]) || !is_flag(r->node->int_[IPEX_ARG_LAST]))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a flag is neither 0 nor 1");
    if (x->rank < 1)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "a scalar has no last axis");
    output_like(x, y);
    y->dtype = IPEX_DTYPE_i64;
    y->dims[x->rank - 1] = 1;
    return IPEX_OK;
}

/* R82, R92, R93 */
enum ipex_status ipex_rule_topk(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    const int32_t *ints = r->node->int_;
    IPEX_TRY(check_f32(r, 0, -1));
    if (!is_flag(ints[IPEX_TOPK_LARGEST]) || !is_flag(ints[IPEX_TOPK_SORTED]))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a flag is neither 0 nor 1");
    if (x->rank < 1)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "a scalar has no last axis");
    if (!in_range(ints[IPEX_TOPK_K], 1, x->dims[x->rank - 1]))
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "k is below 1 or above the last dim");
    for (int i = 0; i < 2; i++) {
        output_like(x, &y[i]);
        y[i].dims[x->rank - 1] = ints[IPEX_TOPK_K];
    }
    y[1].dtype = IPEX_DTYPE_i64;
    return IPEX_OK;
}

/* R82, R83, R92 */
enum ipex_status ipex_rule_cumsum(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    const int32_t *ints = r->node->int_;
    IPEX_TRY(check_dtype(r, 0, IPEX_DTYPE_f32, IPEX_DTYPE_i32, IPEX_DTYPE_i64));
    if (!in_range(ints[IPEX_CUMSUM_AXIS], 0, x->rank - 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "x has no such axis");
    if (!is_flag(ints[IPEX_CUMSUM_EXCLUSIVE]) || !is_flag(ints[IPEX_CUMSUM_REVERSE]))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a flag is neither 0 nor 1");
    output_like(x, y);
    return IPEX_OK;
}
