/* SPDX-License-Identifier: Apache-2.0 */
/* What the shape rules share: looking at operands, the conditions that many operators have, and the
 * list of all rules. Rule numbers are those of format/FORMAT.md. Private to format/shape*.c.
 *
 * Operands that come in have dims within [1, 2^31) and attributes are int32, so a sum of a few of
 * them, or a product of two, fits in an int64; what goes out is checked against the caps before it
 * leaves. */
#ifndef IPEX_FORMAT_SHAPE_RULES_H
#define IPEX_FORMAT_SHAPE_RULES_H

#include "format/check.h"
#include "format/ops.h"
#include "format/tile.h"

struct rule {
    const struct ipex_shape_node *node;
    const char *name; /* of the operator */
    const struct ipex_report *report;
};

static inline enum ipex_status bad(const struct rule *r, enum ipex_status status,
                                   const char *what) {
    return ipex_fail(r->report, status, "%s: %s", r->name, what);
}

static inline const struct ipex_shape_operand *operand(const struct rule *r, uint32_t i) {
    return i < r->node->inputs ? r->node->input[i] : NULL;
}

static inline bool in_range(int64_t value, int64_t low, int64_t high) {
    return value >= low && value <= high;
}

static inline bool same_dims(const struct ipex_shape_operand *a,
                             const struct ipex_shape_operand *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

/* Of a float: 0 of zeros and of denormals, which kernels take for zeros; 255 of what is no number.
 * Comparing floats may raise an exception. */
static inline uint32_t float_exponent(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 23 & 0xff;
}

/* R117, R120: the floats from that one on are numbers. */
static inline enum ipex_status check_numbers(const struct rule *r, uint32_t first) {
    for (uint32_t i = first; i < r->node->floats; i++)
        if (float_exponent(r->node->float_[i]) == 0xff)
            return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "a scale is no number");
    return IPEX_OK;
}

/* R61: an activation or a plain constant of this rank (-1: any) and f32. */
static inline enum ipex_status check_f32(const struct rule *r, uint32_t i, int rank) {
    const struct ipex_shape_operand *x = operand(r, i);
    if (x->dtype != IPEX_DTYPE_f32 || x->layout != IPEX_LAYOUT_plain)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "an operand is not plain f32");
    if (rank >= 0 && x->rank != rank)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "an operand has the wrong rank");
    return IPEX_OK;
}

/* R61: as check_f32, or bf16 (where the operator has kernels for it). */
static inline enum ipex_status check_f32_or_bf16(const struct rule *r, uint32_t i, int rank) {
    const struct ipex_shape_operand *x = operand(r, i);
    if (x->dtype != IPEX_DTYPE_bf16)
        return check_f32(r, i, rank);
    if (x->layout != IPEX_LAYOUT_plain)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "an operand is packed");
    if (rank >= 0 && x->rank != rank)
        return bad(r, IPEX_ERROR_MODEL_SHAPE, "an operand has the wrong rank");
    return IPEX_OK;
}

/* R61: images of f32 or, where the operator `takes` them so, of bytes. */
static inline enum ipex_status check_f32_or_bytes(const struct rule *r, bool takes) {
    const struct ipex_shape_operand *x = operand(r, 0);
    const bool bytes = x->dtype == IPEX_DTYPE_u8 && !x->constant && x->rank == 4;
    return bytes && takes ? IPEX_OK : check_f32(r, 0, 4);
}

static inline enum ipex_status check_act(const struct rule *r, int32_t act) {
    if (!in_range(act, 0, IPEX_ACT_COUNT - 1))
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "unknown activation");
    return IPEX_OK;
}

/* Widens y by one more operand, dims aligned at the last. */
static inline bool broadcast(struct ipex_shape_operand *y, const struct ipex_shape_operand *x) {
    struct ipex_shape_operand wide = *y;
    wide.rank = x->rank > y->rank ? x->rank : y->rank;
    for (int i = 1; i <= wide.rank; i++) {
        int64_t a = i <= y->rank ? y->dims[y->rank - i] : 1;
        int64_t b = i <= x->rank ? x->dims[x->rank - i] : 1;
        if (a != b && a != 1 && b != 1)
            return false;
        wide.dims[wide.rank - i] = a > b ? a : b;
    }
    *y = wide;
    return true;
}

/* R74: data movement takes any dtype, but bytes of a packed weight are no elements. */
static inline enum ipex_status check_any(const struct rule *r, uint32_t ints_per_axis) {
    const struct ipex_shape_operand *x = operand(r, 0);
    if (x->layout != IPEX_LAYOUT_plain)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "the operand is a packed weight");
    if (r->node->ints != ints_per_axis * x->rank)
        return bad(r, IPEX_ERROR_MODEL_ATTRIBUTE, "wrong number of attributes for the rank");
    return IPEX_OK;
}

/* The dtypes that moves of single elements and casts know. */
static inline bool is_plain_dtype(uint8_t dtype) {
    return dtype == IPEX_DTYPE_f32 || dtype == IPEX_DTYPE_i32 || dtype == IPEX_DTYPE_i64 ||
           dtype == IPEX_DTYPE_bool || dtype == IPEX_DTYPE_u8 || dtype == IPEX_DTYPE_i8;
}

/* R82: an attribute that is 0 or 1. */
static inline bool is_flag(int32_t value) {
    return value == 0 || value == 1;
}

/* R83: operand i is there, plain, and of one of these dtypes (NONE: not asked for). */
static inline enum ipex_status check_dtype(const struct rule *r, uint32_t i, enum ipex_dtype a,
                                           enum ipex_dtype b, enum ipex_dtype c) {
    const struct ipex_shape_operand *x = operand(r, i);
    if (!x)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "an operand is absent");
    if (x->layout != IPEX_LAYOUT_plain)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "an operand is a packed weight");
    if (x->dtype != a && x->dtype != b && x->dtype != c)
        return bad(r, IPEX_ERROR_MODEL_OPERATOR, "an operand has the wrong dtype");
    return IPEX_OK;
}

/* The same dtype and dims as x. */
static inline void output_like(const struct ipex_shape_operand *x, struct ipex_shape_operand *y) {
    *y = (struct ipex_shape_operand){.dtype = x->dtype, .rank = x->rank};
    memcpy(y->dims, x->dims, sizeof y->dims);
}

/* One rule per operator. y: one per output of the operator; the wanted dims on entry. */
#define IPEX_OP(id, name, min_in, max_in, n_out, n_ints, n_floats)                                 \
    enum ipex_status ipex_rule_##name(const struct rule *r, struct ipex_shape_operand *y);
#include "format/ops.inc"

#endif
