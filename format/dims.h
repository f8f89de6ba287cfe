/* SPDX-License-Identifier: Apache-2.0 */
/* Dims that are not numbers yet. An entry may have symbols (sizes that the caller of a run chooses,
 * each within a range) and expressions over them; a dim code is a number >= 0, or -1 - i for the
 * value of expression i. Here symbols and expressions are checked, evaluated, and solved: which
 * symbols give an input the dims that it has. Everything else sees numbers only. */
#ifndef IPEX_FORMAT_DIMS_H
#define IPEX_FORMAT_DIMS_H

#include "format/base.h"
#include "format/model_fb.h"

#define IPEX_SYMBOLS_MAX      64   /* of one entry */
#define IPEX_EXPRS_MAX        1024 /* of one entry */
#define IPEX_DYNAMIC_INTS_MAX 64   /* ints of a node of which some are expressions */

/* Operations of struct ipex_fb_expr, whose operands are a and b. X(id, name) */
#define IPEX_EXPR_LIST(X)                                                                          \
    X(0, symbol) /* symbol a */                                                                    \
    X(1, add)                                                                                      \
    X(2, sub)                                                                                      \
    X(3, mul)                                                                                      \
    X(4, floor_div) /* b > 0 */                                                                    \
    X(5, min)                                                                                      \
    X(6, max)                                                                                      \
    X(7, negative) /* the number -a */

enum ipex_expr_op {
#define IPEX_EXPR_ENUM(id, name) IPEX_EXPR_##name = id,
    IPEX_EXPR_LIST(IPEX_EXPR_ENUM)
#undef IPEX_EXPR_ENUM
        IPEX_EXPR_COUNT,
};

/* Symbols of one entry as numbers, and what its expressions are with them. 8 KiB: for the stack. */
struct ipex_dim_values {
    uint32_t count; /* of expressions */
    int64_t value[IPEX_EXPRS_MAX];
};

/* R31, R40: symbols and expressions are well formed. Everything below wants them to be. */
IPEX_WARN_UNUSED enum ipex_status ipex_dims_check(struct ipex_fb_entry entry,
                                                  const struct ipex_report *report);

/* The ends of every symbol's range; room for IPEX_SYMBOLS_MAX. */
void ipex_dims_lowest(struct ipex_fb_entry entry, int64_t *ret_symbols);
void ipex_dims_highest(struct ipex_fb_entry entry, int64_t *ret_symbols);

/* Evaluates every expression with these symbols, whose number and range the caller has checked.
 * Fails (R48, ERROR_MODEL_SHAPE) on an overflow and on a division by less than 1. */
IPEX_WARN_UNUSED enum ipex_status ipex_dims_evaluate(struct ipex_fb_entry entry,
                                                     const int64_t *symbols,
                                                     struct ipex_dim_values *ret,
                                                     const struct ipex_report *report);

/* The number that a dim code stands for; false when it names no expression. */
static inline bool ipex_dims_number(const struct ipex_dim_values *values, int64_t code,
                                    int64_t *ret) {
    if (code < 0 && -1 - code >= (int64_t)values->count)
        return false;
    *ret = code < 0 ? values->value[-1 - code] : code;
    return true;
}

/* The ints of a node. *ret_ints points to the file's where none is an expression, else to `room`
 * (IPEX_DYNAMIC_INTS_MAX). R58, ERROR_MODEL_ATTRIBUTE. */
IPEX_WARN_UNUSED enum ipex_status ipex_dims_ints(struct ipex_fb_node node,
                                                 const struct ipex_dim_values *values,
                                                 int32_t *room, const int32_t **ret_ints,
                                                 const struct ipex_report *report);

/* R49: every symbol follows from the dims of the inputs. `values`: what `symbols` give.
 * ERROR_MODEL_ENTRY. */
IPEX_WARN_UNUSED enum ipex_status ipex_dims_check_inputs(struct ipex_fb_entry entry,
                                                         const int64_t *symbols,
                                                         const struct ipex_dim_values *values,
                                                         const struct ipex_report *report);

/* The symbols that give every input the dims it has. dims: [inputs], each with as many as its port
 * has. The first dim that decides a symbol does; it must be in [lo, hi] and a multiple of the step,
 * and then every dim must be what its port says. ERROR_SHAPE, naming input, axis, symbol and range.
 * Uses 9 KiB of stack. */
IPEX_WARN_UNUSED enum ipex_status ipex_dims_bind(struct ipex_fb_entry entry,
                                                 const int64_t *const *dims, const int64_t *lo,
                                                 const int64_t *hi, int64_t *ret_symbols,
                                                 const struct ipex_report *report);

/* Writes a dim code as text, "height/32 + 1"; cut where it does not fit. */
void ipex_dims_text(struct ipex_fb_entry entry, int64_t code, char *text, size_t size);

#endif
