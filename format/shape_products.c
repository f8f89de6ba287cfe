/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of products of activations, attention, norms and recurrent layers. */
#include "format/shape_rules.h"

/* The dims before the last two. */
static struct ipex_shape_operand batch_of(const struct ipex_shape_operand *x) {
    struct ipex_shape_operand ret = *x;
    ret.rank = (uint8_t)(x->rank - 2);
    return ret;
}

/* R100: f32, bf16 or, where that is known, u8, as the first operand, of at least two dims. */
static enum ipex_status check_matrices(const struct rule *r, uint32_t i, bool bytes) {
    if (!bytes)
        IPEX_TRY(check_f32_or_bf16(r, i, -1));
    if (operand(r, i)->dtype != operand(r, 0)->dtype)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "the operands differ in dtype");
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

static bool is_bytes(const struct rule *r, uint32_t i) {
    const struct ipex_shape_operand *x = operand(r, i);
    return x->dtype == IPEX_DTYPE_u8 && x->layout == IPEX_LAYOUT_plain && !x->constant;
}

/* R120: zero points are bytes, and there are few enough products; of what is no u8 they, and the
 * scale and zero point of y, are 0. */
static enum ipex_status check_zeros(const struct rule *r, bool bytes, uint8_t wanted) {
    const int32_t *zero = r->node->int_ + IPEX_MATMUL_A_ZERO, most = bytes ? 255 : 0;
    const uint32_t y_scale = float_exponent(r->node->float_[IPEX_MATMUL_Y_SCALE]);
    const struct ipex_shape_operand *a = operand(r, 0);
    if (!in_range(zero[0], 0, most) || !in_range(zero[1], 0, most))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a zero point is no byte, or of what is none");
    if (bytes)
        IPEX_TRY(check_numbers(r, IPEX_MATMUL_SCALE));
    if (bytes ? wanted == IPEX_DTYPE_u8 && y_scale == 0 : y_scale != 0)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "u8 without a y scale, or one without u8");
    return bytes && a->dims[a->rank - 1] > IPEX_INTEGER_MATMUL_MOST_K
               ? bad(r, IPEX_ERROR_MODEL_SHAPE, "too few or too many products")
               : IPEX_OK;
}

/* R101; R116: of bytes or of f32, as is wanted. */
enum ipex_status ipex_rule_matmul(const struct rule *r, struct ipex_shape_operand *y) {
    const bool bytes = is_bytes(r, 0) && is_bytes(r, 1);
    const uint8_t wanted = bytes && y->dtype == IPEX_DTYPE_u8 ? IPEX_DTYPE_u8 : IPEX_DTYPE_f32;
    for (uint32_t i = 0; i < 2; i++)
        IPEX_TRY(check_matrices(r, i, bytes));
    const int32_t transposed = r->node->int_[IPEX_MATMUL_TRANS_B];
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
    y->dtype = wanted;
    return check_zeros(r, bytes, wanted);
}

/* R102: batch dims of q, k and v together; the heads of q may be a multiple of those of k and v. */
static enum ipex_status attention_batch(const struct rule *r, const struct ipex_shape_operand *x,
                                        struct ipex_shape_operand *ret) {
    struct ipex_shape_operand q = batch_of(&x[0]), kv = batch_of(&x[1]), v = batch_of(&x[2]);
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

/* Dims of an operand of attention whose rows are dim `from`, as if they were dim `to`. */
static void move_rows(struct ipex_shape_operand *x, int32_t from, int32_t to) {
    const int64_t rows = x->dims[from];
    for (int32_t i = from; i != to; i += from < to ? 1 : -1)
        x->dims[i] = x->dims[from < to ? i + 1 : i - 1];
    x->dims[to] = rows;
}

enum ipex_status ipex_rule_attention(const struct rule *r, struct ipex_shape_operand *y) {
    struct ipex_shape_operand x[3];
    const int32_t rows = r->node->int_[1];
    if (!in_range(rows, 0, IPEX_ROWS_first))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "unknown place of the rows");
    for (uint32_t i = 0; i < 3; i++) {
        IPEX_TRY(check_matrices(r, i, false));
        x[i] = *operand(r, i);
        if (rows != IPEX_ROWS_behind_heads && x[i].rank < 3)
            return bad(r, IPEX_ERROR_MODEL_SHAPE, "an operand has no heads");
        move_rows(&x[i], ipex_rows_dim(rows, x[i].rank), x[i].rank - 2);
    }
    if (!in_range(r->node->int_[0], 0, 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "causal is neither 0 nor 1");
    const struct ipex_shape_operand *q = &x[0], *k = &x[1], *v = &x[2];
    const int64_t keys = k->dims[k->rank - 2];
    if (q->dims[q->rank - 1] != k->dims[k->rank - 1] || v->dims[v->rank - 2] != keys)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "q, k and v do not fit together");
    struct ipex_shape_operand batch = {0};
    IPEX_TRY(attention_batch(r, x, &batch));
    const struct ipex_shape_operand scores = append_matrix(&batch, q->dims[q->rank - 2], keys);
    IPEX_TRY(check_mask(r, &scores));
    *y = append_matrix(&batch, q->dims[q->rank - 2], v->dims[v->rank - 1]);
    move_rows(y, y->rank - 2, ipex_rows_dim(rows, y->rank));
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

/* ---- recurrent layers ---- */

/* What the operands of a recurrent layer say. */
struct recurrent {
    int64_t times, batches, directions, hidden;
};

/* R107: tiles [D][1][gates * H][1][k] of operand i. */
static enum ipex_status check_gate_weight(const struct rule *r, uint32_t i, int64_t rows,
                                          int64_t k) {
    const struct ipex_shape_operand *w = operand(r, i);
    if (!w->constant || (w->dtype != IPEX_DTYPE_f32 && w->dtype != IPEX_DTYPE_bf16) ||
        w->dtype != operand(r, 1)->dtype || w->layout != IPEX_LAYOUT_tiles)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR,
                   "a weight is no constant of tiles, or w and r differ in dtype");
    if (w->rank != 5 || w->dims[0] != r->node->int_[0] || w->dims[1] != 1 || w->dims[2] != rows ||
        w->dims[3] != 1 || w->dims[4] != k)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "a weight's dims do not fit");
    return IPEX_OK;
}

/* R108: operand i, absent or plain f32 of these dims. */
static enum ipex_status check_state(const struct rule *r, uint32_t i, int rank,
                                    const int64_t *dims) {
    if (!operand(r, i))
        return IPEX_OK;
    IPEX_TRY(check_f32(r, i, rank));
    if (memcmp(operand(r, i)->dims, dims, (size_t)rank * sizeof *dims) != 0)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "the bias or a state has other dims");
    return IPEX_OK;
}

static enum ipex_status check_recurrent(const struct rule *r, int64_t gates,
                                        struct recurrent *ret) {
    const struct ipex_shape_operand *x = operand(r, 0);
    const int32_t directions = r->node->int_[0], reverse = r->node->int_[1];
    IPEX_TRY(check_f32(r, 0, 3));
    if (!in_range(directions, 1, 2) || !in_range(reverse, 0, directions == 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "unknown directions");
    const struct ipex_shape_operand *w = operand(r, 1);
    const int64_t hidden = w->rank == 5 ? w->dims[2] / gates : 0;
    IPEX_TRY(check_gate_weight(r, 1, gates * hidden, x->dims[2]));
    IPEX_TRY(check_gate_weight(r, 2, gates * hidden, hidden));
    const int64_t bias[] = {directions, 2 * gates * hidden};
    const int64_t state[] = {directions, x->dims[1], hidden};
    IPEX_TRY(check_state(r, 3, 2, bias));
    IPEX_TRY(check_state(r, 4, 3, state));
    IPEX_TRY(check_state(r, 5, 3, state));
    *ret = (struct recurrent){x->dims[0], x->dims[1], directions, hidden};
    return IPEX_OK;
}

/* y [T][D][B][H], and after it `states` of [D][B][H]. */
static void recurrent_outputs(const struct recurrent *s, int states, struct ipex_shape_operand *y) {
    y[0] = (struct ipex_shape_operand){.dtype = IPEX_DTYPE_f32,
                                       .rank = 4,
                                       .dims = {s->times, s->directions, s->batches, s->hidden}};
    for (int i = 1; i <= states; i++)
        y[i] = (struct ipex_shape_operand){
            .dtype = IPEX_DTYPE_f32, .rank = 3, .dims = {s->directions, s->batches, s->hidden}};
}

/* R109 */
enum ipex_status ipex_rule_lstm(const struct rule *r, struct ipex_shape_operand *y) {
    struct recurrent s;
    IPEX_TRY(check_recurrent(r, 4, &s));
    recurrent_outputs(&s, 2, y);
    return IPEX_OK;
}

/* R110 */
enum ipex_status ipex_rule_gru(const struct rule *r, struct ipex_shape_operand *y) {
    struct recurrent s;
    if (!in_range(r->node->int_[2], 0, 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "linear_before_reset is neither 0 nor 1");
    IPEX_TRY(check_recurrent(r, 3, &s));
    recurrent_outputs(&s, 1, y);
    return IPEX_OK;
}
