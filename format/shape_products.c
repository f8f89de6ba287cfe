/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of products of activations, attention and norms. */
#include "format/shape_rules.h"

/* The dims before the last two. */
static struct ipex_shape_operand batch_of(const struct ipex_shape_operand *x) {
    struct ipex_shape_operand ret = *x;
    ret.rank = (uint8_t)(x->rank - 2);
    return ret;
}

/* R100: f32 of at least two dims. */
static enum ipex_status check_matrices(const struct rule *r, uint32_t i) {
    IPEX_TRY(check_f32(r, i, -1));
    if (operand(r, i)->rank < 2)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "an operand has fewer than two dims");
    return IPEX_OK;
}

/* batch [...] becomes f32 [...][rows][columns]. */
static struct ipex_shape_operand append_matrix(const struct ipex_shape_operand *batch, int64_t rows,
                                               int64_t columns) {
    struct ipex_shape_operand ret = {.dtype = IPEX_DTYPE_f32, .rank = (uint8_t)(batch->rank + 2)};
    memcpy(ret.dims, batch->dims, batch->rank * sizeof ret.dims[0]);
    ret.dims[batch->rank] = rows;
    ret.dims[batch->rank + 1] = columns;
    return ret;
}

/* R101 */
enum ipex_status ipex_rule_matmul(const struct rule *r, struct ipex_shape_operand *y) {
    const int32_t transposed = r->node->int_[0];
    for (uint32_t i = 0; i < 2; i++)
        IPEX_TRY(check_matrices(r, i));
    if (!in_range(transposed, 0, 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "trans_b is neither 0 nor 1");
    const struct ipex_shape_operand *a = operand(r, 0), *b = operand(r, 1);
    const int64_t *last = &b->dims[b->rank - 2];
    if (a->dims[a->rank - 1] != last[transposed])
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "a and b differ in K");
    struct ipex_shape_operand batch = batch_of(a), other = batch_of(b);
    if (!broadcast(&batch, &other))
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the batch dims do not broadcast together");
    *y = append_matrix(&batch, a->dims[a->rank - 2], last[1 - transposed]);
    return IPEX_OK;
}

/* R102: batch dims of q, k and v together; the heads of q may be a multiple of those of k and v. */
static enum ipex_status attention_batch(const struct rule *r, struct ipex_shape_operand *ret) {
    struct ipex_shape_operand q = batch_of(operand(r, 0));
    struct ipex_shape_operand kv = batch_of(operand(r, 1)), v = batch_of(operand(r, 2));
    bool fits = broadcast(&kv, &v);
    if (fits && q.rank > 0 && kv.rank > 0) {
        int64_t heads = q.dims[q.rank - 1], *shared = &kv.dims[kv.rank - 1];
        if (heads % *shared == 0)
            *shared = heads;
    }
    if (!fits || !broadcast(&q, &kv))
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the batch dims do not broadcast together");
    *ret = q;
    return IPEX_OK;
}

/* R103: none, or f32 that broadcasts to the scores. */
static enum ipex_status check_mask(const struct rule *r, const struct ipex_shape_operand *scores) {
    const struct ipex_shape_operand *mask = operand(r, 3);
    if (!mask)
        return IPEX_OK;
    IPEX_TRY(check_f32(r, 3, -1));
    struct ipex_shape_operand wide = *scores;
    if (!broadcast(&wide, mask) || !same_dims(&wide, scores))
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the mask does not broadcast to the scores");
    return IPEX_OK;
}

enum ipex_status ipex_rule_attention(const struct rule *r, struct ipex_shape_operand *y) {
    for (uint32_t i = 0; i < 3; i++)
        IPEX_TRY(check_matrices(r, i));
    if (!in_range(r->node->int_[0], 0, 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "causal is neither 0 nor 1");
    const struct ipex_shape_operand *q = operand(r, 0), *k = operand(r, 1), *v = operand(r, 2);
    const int64_t keys = k->dims[k->rank - 2];
    if (q->dims[q->rank - 1] != k->dims[k->rank - 1] || v->dims[v->rank - 2] != keys)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "q, k and v do not fit together");
    struct ipex_shape_operand batch = {0};
    IPEX_TRY(attention_batch(r, &batch));
    const struct ipex_shape_operand scores = append_matrix(&batch, q->dims[q->rank - 2], keys);
    IPEX_TRY(check_mask(r, &scores));
    *y = append_matrix(&batch, q->dims[q->rank - 2], v->dims[v->rank - 1]);
    return IPEX_OK;
}

/* R104: gamma and beta, operands 1 and 2: none, or f32 [channels], run-time or constant. */
static enum ipex_status check_affine(const struct rule *r, int64_t channels) {
    for (uint32_t i = 1; i <= 2; i++) {
        const struct ipex_shape_operand *x = operand(r, i);
        if (!x)
            continue;
        if (x->dtype != IPEX_DTYPE_f32 || x->layout == IPEX_LAYOUT_tiles)
            return bad(r, IPEX_ERROR_MODEL_OPERATOR, "gamma or beta is no f32 vector");
        if (x->rank != 1 || x->dims[0] != channels)
            return bad(r, IPEX_ERROR_MODEL_SHAPE, "gamma or beta has not one element per channel");
    }
    return IPEX_OK;
}

/* R105 */
enum ipex_status ipex_rule_layer_norm(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    IPEX_TRY(check_f32(r, 0, -1));
    if (x->rank < 1)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "a scalar has no last axis");
    if (!in_range(r->node->int_[0], 0, 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "unknown kind");
    IPEX_TRY(check_act(r, r->node->int_[1]));
    IPEX_TRY(check_affine(r, x->dims[x->rank - 1]));
    output_like(x, y);
    return IPEX_OK;
}

/* R106 */
enum ipex_status ipex_rule_group_norm(const struct rule *r, struct ipex_shape_operand *y) {
    const struct ipex_shape_operand *x = operand(r, 0);
    const int32_t groups = r->node->int_[0];
    IPEX_TRY(check_f32(r, 0, 4));
    if (groups < 1)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "groups below 1");
    if (x->dims[3] % groups != 0)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "groups do not divide the channels");
    IPEX_TRY(check_act(r, r->node->int_[1]));
    IPEX_TRY(check_affine(r, x->dims[3]));
    output_like(x, y);
    return IPEX_OK;
}
