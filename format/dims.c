/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols and expressions. Expressions name earlier ones only, so one pass evaluates them all, and
 * whatever follows operands downwards ends. */
#include "format/dims.h"

#include <string.h>

#include "format/check_parts.h"

/* ---- checking ---- */

static enum ipex_status check_symbol(struct ipex_fb_entry entry, uint32_t index,
                                     const struct ipex_report *report) {
    struct ipex_fb_symbol s = ipex_fb_entry_symbols(entry, index);
    int64_t lo = ipex_fb_symbol_lo(s), hi = ipex_fb_symbol_hi(s), step = ipex_fb_symbol_step(s);
    const char *name = ipex_fb_symbol_name(s);
    uint32_t length = ipex_fb_symbol_name_len(s);
    IPEX_TRY(ipex_check_text(name, length, IPEX_PORT_NAME_MAX, "the name of a symbol", report));
    IPEX_CHECK(length > 0, report, IPEX_ERROR_MODEL_ENTRY, "symbol %u has no name", index);
    for (uint32_t i = 0; i < index; i++) {
        struct ipex_fb_symbol other = ipex_fb_entry_symbols(entry, i);
        IPEX_CHECK(ipex_fb_symbol_name_len(other) != length ||
                       memcmp(ipex_fb_symbol_name(other), name, length) != 0,
                   report, IPEX_ERROR_MODEL_ENTRY, "symbols %u and %u have the same name", i,
                   index);
    }
    IPEX_CHECK(lo >= 1 && lo <= hi && hi <= IPEX_MAX_DIM && step >= 1 && lo % step == 0 &&
                   hi % step == 0,
               report, IPEX_ERROR_MODEL_ENTRY, "symbol '%s': no range is %lld to %lld step %lld",
               name, (long long)lo, (long long)hi, (long long)step);
    return IPEX_OK;
}

static bool names_earlier(int64_t code, uint32_t index) {
    return code >= 0 || -1 - code < (int64_t)index;
}

static enum ipex_status check_expr(const struct ipex_fb_expr *e, uint32_t index, uint32_t symbols,
                                   const struct ipex_report *report) {
    bool fits = true;
    IPEX_CHECK(e->op < IPEX_EXPR_COUNT && e->pad == 0, report, IPEX_ERROR_MODEL_ENTRY,
               "expression %u: operation %u is unknown", index, e->op);
    if (e->op == IPEX_EXPR_symbol)
        fits = e->a >= 0 && e->a < (int64_t)symbols && e->b == 0;
    else if (e->op == IPEX_EXPR_negative)
        fits = e->a >= 0 && e->b == 0;
    else
        fits = names_earlier(e->a, index) && names_earlier(e->b, index);
    IPEX_CHECK(fits, report, IPEX_ERROR_MODEL_ENTRY,
               "expression %u: an operand is no symbol, number or earlier expression", index);
    return IPEX_OK;
}

enum ipex_status ipex_dims_check(struct ipex_fb_entry entry, const struct ipex_report *report) {
    uint32_t symbols = ipex_fb_entry_symbols_len(entry), exprs = ipex_fb_entry_exprs_len(entry);
    IPEX_CHECK(symbols <= IPEX_SYMBOLS_MAX && exprs <= IPEX_EXPRS_MAX, report,
               IPEX_ERROR_FILE_LIMIT, "%u symbols and %u expressions; at most %d and %d", symbols,
               exprs, IPEX_SYMBOLS_MAX, IPEX_EXPRS_MAX);
    IPEX_CHECK(symbols > 0 || exprs == 0, report, IPEX_ERROR_MODEL_ENTRY,
               "%u expressions without symbols", exprs);
    for (uint32_t i = 0; i < symbols; i++)
        IPEX_TRY(check_symbol(entry, i, report));
    for (uint32_t i = 0; i < exprs; i++)
        IPEX_TRY(check_expr(&ipex_fb_entry_exprs(entry)[i], i, symbols, report));
    return IPEX_OK;
}

/* ---- evaluating ---- */

void ipex_dims_lowest(struct ipex_fb_entry entry, int64_t *ret_symbols) {
    for (uint32_t i = 0; i < ipex_fb_entry_symbols_len(entry); i++)
        ret_symbols[i] = ipex_fb_symbol_lo(ipex_fb_entry_symbols(entry, i));
}

void ipex_dims_highest(struct ipex_fb_entry entry, int64_t *ret_symbols) {
    for (uint32_t i = 0; i < ipex_fb_entry_symbols_len(entry); i++)
        ret_symbols[i] = ipex_fb_symbol_hi(ipex_fb_entry_symbols(entry, i));
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* a op b; false on overflow and on a division by less than 1. */
static bool apply(uint32_t op, int64_t a, int64_t b, int64_t *ret) {
    switch (op) {
    case IPEX_EXPR_add:
        return !__builtin_add_overflow(a, b, ret);
    case IPEX_EXPR_sub:
        return !__builtin_sub_overflow(a, b, ret);
    case IPEX_EXPR_mul:
        return !__builtin_mul_overflow(a, b, ret);
    case IPEX_EXPR_floor_div:
        if (b < 1)
            return false;
        *ret = floor_div(a, b);
        return true;
    case IPEX_EXPR_min:
        *ret = a < b ? a : b;
        return true;
    default: /* max */
        *ret = a > b ? a : b;
        return true;
    }
}

enum ipex_status ipex_dims_evaluate(struct ipex_fb_entry entry, const int64_t *symbols,
                                    struct ipex_dim_values *ret, const struct ipex_report *report) {
    const struct ipex_fb_expr *exprs = ipex_fb_entry_exprs(entry);
    uint32_t count = ipex_fb_entry_exprs_len(entry);
    ret->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ipex_fb_expr *e = &exprs[i];
        int64_t a = 0, b = 0;
        if (e->op == IPEX_EXPR_symbol) {
            ret->value[i] = symbols[e->a];
        } else if (e->op == IPEX_EXPR_negative) {
            ret->value[i] = -e->a;
        } else {
            bool known = ipex_dims_number(ret, e->a, &a) && ipex_dims_number(ret, e->b, &b);
            IPEX_CHECK(known && apply(e->op, a, b, &ret->value[i]), report, IPEX_ERROR_MODEL_SHAPE,
                       "expression %u overflows or divides by less than 1", i);
        }
        ret->count = i + 1;
    }
    return IPEX_OK;
}

enum ipex_status ipex_dims_ints(struct ipex_fb_node node, const struct ipex_dim_values *values,
                                int32_t *room, const int32_t **ret_ints,
                                const struct ipex_report *report) {
    const int32_t *dynamic = ipex_fb_node_dynamic(node), *ints = ipex_fb_node_ints(node);
    uint32_t length = ipex_fb_node_dynamic_len(node), count = ipex_fb_node_ints_len(node);
    *ret_ints = ints;
    if (length == 0)
        return IPEX_OK;
    IPEX_CHECK(length % 2 == 0 && count <= IPEX_DYNAMIC_INTS_MAX, report,
               IPEX_ERROR_MODEL_ATTRIBUTE, "%u values for pairs of places in %u ints", length,
               count);
    if (count > 0)
        memcpy(room, ints, count * sizeof *room);
    for (uint32_t i = 0; i < length; i += 2) {
        int32_t place = dynamic[i], before = i > 0 ? dynamic[i - 2] : -1;
        int64_t value = 0;
        IPEX_CHECK(place > before && place < (int32_t)count, report, IPEX_ERROR_MODEL_ATTRIBUTE,
                   "places of expressions do not ascend, or leave the ints");
        IPEX_CHECK(dynamic[i + 1] >= 0 && ipex_dims_number(values, -1 - dynamic[i + 1], &value),
                   report, IPEX_ERROR_MODEL_ATTRIBUTE, "expression %d does not exist",
                   dynamic[i + 1]);
        IPEX_CHECK(value >= INT32_MIN && value <= INT32_MAX, report, IPEX_ERROR_MODEL_ATTRIBUTE,
                   "expression %d is %lld, too large for an attribute", dynamic[i + 1],
                   (long long)value);
        room[place] = (int32_t)value;
    }
    *ret_ints = room;
    return IPEX_OK;
}

/* ---- solving ---- */

static bool is_number(const struct ipex_fb_expr *exprs, int64_t code, int64_t *ret) {
    if (code < 0 && exprs[-1 - code].op != IPEX_EXPR_negative)
        return false;
    *ret = code < 0 ? -exprs[-1 - code].a : code;
    return true;
}

/* What the operand beside the number `n` is where the operation gives `value`. number_first: n is
 * operand a. False where that cannot be said. */
static bool invert(uint32_t op, int64_t n, bool number_first, int64_t value, int64_t *ret) {
    switch (op) {
    case IPEX_EXPR_add:
        return !__builtin_sub_overflow(value, n, ret);
    case IPEX_EXPR_sub:
        return number_first ? !__builtin_sub_overflow(n, value, ret)
                            : !__builtin_add_overflow(value, n, ret);
    case IPEX_EXPR_mul:
        if (n < 1)
            return false;
        *ret = floor_div(value, n);
        return true;
    case IPEX_EXPR_floor_div:
        return !number_first && !__builtin_mul_overflow(value, n, ret);
    default:
        return false;
    }
}

/* Which symbol has which value where the dim with this code is `dim`: follows a chain of operations
 * with one number each down to a symbol. Returns its index and the value that it would have, or -1.
 * The value is a proposal: where a division was not exact, evaluating gives another dim. */
static int32_t solve(struct ipex_fb_entry entry, int64_t code, int64_t dim, int64_t *ret_value) {
    const struct ipex_fb_expr *exprs = ipex_fb_entry_exprs(entry);
    while (code < 0) {
        const struct ipex_fb_expr *e = &exprs[-1 - code];
        if (e->op == IPEX_EXPR_symbol) {
            *ret_value = dim;
            return (int32_t)e->a;
        }
        int64_t n = 0;
        if (e->op == IPEX_EXPR_negative)
            return -1;
        const bool first = is_number(exprs, e->a, &n);
        if (!first && !is_number(exprs, e->b, &n))
            return -1;
        if (!invert(e->op, n, first, dim, &dim))
            return -1;
        code = first ? e->b : e->a;
    }
    return -1;
}

enum ipex_status ipex_dims_check_inputs(struct ipex_fb_entry entry, const int64_t *symbols,
                                        const struct ipex_dim_values *values,
                                        const struct ipex_report *report) {
    bool known[IPEX_SYMBOLS_MAX] = {false};
    for (uint32_t i = 0; i < ipex_fb_entry_inputs_len(entry); i++) {
        struct ipex_fb_port port = ipex_fb_entry_inputs(entry, i);
        for (uint32_t d = 0; d < ipex_fb_port_dims_len(port); d++) {
            int64_t code = ipex_fb_port_dims(port)[d], dim = 0, value = 0;
            if (!ipex_dims_number(values, code, &dim)) /* R32 has seen to it */
                continue;
            const int32_t symbol = solve(entry, code, dim, &value);
            if (symbol < 0 || known[symbol])
                continue;
            IPEX_CHECK(value == symbols[symbol], report, IPEX_ERROR_MODEL_ENTRY,
                       "symbol %d is %lld, but dim %u of input %u gives %lld", symbol,
                       (long long)symbols[symbol], d, i, (long long)value);
            known[symbol] = true;
        }
    }
    for (uint32_t i = 0; i < ipex_fb_entry_symbols_len(entry); i++)
        IPEX_CHECK(known[i], report, IPEX_ERROR_MODEL_ENTRY,
                   "symbol '%s' does not follow from the dims of the inputs",
                   ipex_fb_symbol_name(ipex_fb_entry_symbols(entry, i)));
    return IPEX_OK;
}

/* The symbols that one input's dims are the first to decide (0: not known yet), inside the range.
 */
static enum ipex_status bind_port(struct ipex_fb_entry entry, struct ipex_fb_port port,
                                  const int64_t *dims, const int64_t *lo, const int64_t *hi,
                                  int64_t *symbols, const struct ipex_report *report) {
    for (uint32_t d = 0; d < ipex_fb_port_dims_len(port); d++) {
        int64_t value = 0;
        const int32_t i = solve(entry, ipex_fb_port_dims(port)[d], dims[d], &value);
        if (i < 0 || symbols[i] != 0)
            continue;
        struct ipex_fb_symbol symbol = ipex_fb_entry_symbols(entry, (uint32_t)i);
        const int64_t step = ipex_fb_symbol_step(symbol);
        IPEX_CHECK(value >= lo[i] && value <= hi[i] && value % step == 0, report, IPEX_ERROR_SHAPE,
                   "axis %u is %lld, but %s = %lld is not in %lld .. %lld step %lld", d,
                   (long long)dims[d], ipex_fb_symbol_name(symbol), (long long)value,
                   (long long)lo[i], (long long)hi[i], (long long)step);
        symbols[i] = value;
    }
    return IPEX_OK;
}

static enum ipex_status compare_port(struct ipex_fb_entry entry, struct ipex_fb_port port,
                                     const int64_t *dims, const struct ipex_dim_values *values,
                                     const struct ipex_report *report) {
    for (uint32_t d = 0; d < ipex_fb_port_dims_len(port); d++) {
        char text[64];
        int64_t code = ipex_fb_port_dims(port)[d], dim = -1;
        if (ipex_dims_number(values, code, &dim) && dim == dims[d])
            continue;
        ipex_dims_text(entry, code, text, sizeof text);
        return ipex_fail(report, IPEX_ERROR_SHAPE, "axis %u is %lld instead of %s%s%lld", d,
                         (long long)dims[d], code < 0 ? text : "", code < 0 ? " = " : "",
                         (long long)dim);
    }
    return IPEX_OK;
}

enum ipex_status ipex_dims_bind(struct ipex_fb_entry entry, const int64_t *const *dims,
                                const int64_t *lo, const int64_t *hi, int64_t *ret_symbols,
                                const struct ipex_report *report) {
    int64_t symbols[IPEX_SYMBOLS_MAX] = {0};
    struct ipex_dim_values values;
    uint32_t inputs = ipex_fb_entry_inputs_len(entry), count = ipex_fb_entry_symbols_len(entry);
    enum ipex_status status = IPEX_OK;
    for (uint32_t i = 0; i < inputs; i++) {
        struct ipex_fb_port port = ipex_fb_entry_inputs(entry, i);
        status = bind_port(entry, port, dims[i], lo, hi, symbols, report);
        if (status != IPEX_OK)
            return ipex_fail_at(report, status, "input '%s': ", ipex_fb_port_name(port));
    }
    for (uint32_t i = 0; i < count; i++)
        IPEX_CHECK(symbols[i] != 0, report, IPEX_ERROR_SHAPE, "no input says what %s is",
                   ipex_fb_symbol_name(ipex_fb_entry_symbols(entry, i)));
    if (ipex_dims_evaluate(entry, symbols, &values, report) != IPEX_OK)
        return ipex_fail_at(report, IPEX_ERROR_SHAPE, "at these sizes, ");
    for (uint32_t i = 0; i < inputs; i++) {
        struct ipex_fb_port port = ipex_fb_entry_inputs(entry, i);
        status = compare_port(entry, port, dims[i], &values, report);
        if (status != IPEX_OK)
            return ipex_fail_at(report, status, "input '%s': ", ipex_fb_port_name(port));
    }
    memcpy(ret_symbols, symbols, count * sizeof *symbols);
    return IPEX_OK;
}

/* ---- text ---- */

#define TEXT_DEPTH 8 /* operations shown within each other; what lies deeper is "..." */

struct writer {
    char *text;
    size_t size, used;
};

static void put(struct writer *w, const char *word) {
    while (*word && w->used + 1 < w->size)
        w->text[w->used++] = *word++;
}

static void put_number(struct writer *w, int64_t number) {
    char digits[24];
    const struct ipex_report report = {digits, sizeof digits};
    (void)ipex_fail(&report, IPEX_OK, "%lld", (long long)number);
    put(w, digits);
}

/* At most 2^TEXT_DEPTH calls. */
static void put_code(struct writer *w, struct ipex_fb_entry entry, int64_t code, int depth) {
    static const char *const sign[IPEX_EXPR_COUNT] = {
        [IPEX_EXPR_add] = " + ",     [IPEX_EXPR_sub] = " - ", [IPEX_EXPR_mul] = "*",
        [IPEX_EXPR_floor_div] = "/", [IPEX_EXPR_min] = ", ",  [IPEX_EXPR_max] = ", "};
    if (code >= 0) {
        put_number(w, code);
        return;
    }
    const struct ipex_fb_expr *e = &ipex_fb_entry_exprs(entry)[-1 - code];
    const bool function = e->op == IPEX_EXPR_min || e->op == IPEX_EXPR_max;
    if (e->op == IPEX_EXPR_symbol) {
        put(w, ipex_fb_symbol_name(ipex_fb_entry_symbols(entry, (uint32_t)e->a)));
    } else if (e->op == IPEX_EXPR_negative) {
        put_number(w, -e->a);
    } else if (depth == TEXT_DEPTH) {
        put(w, "...");
    } else {
        put(w, function ? (e->op == IPEX_EXPR_min ? "min(" : "max(") : depth > 0 ? "(" : "");
        put_code(w, entry, e->a, depth + 1);
        put(w, sign[e->op]);
        put_code(w, entry, e->b, depth + 1);
        put(w, function || depth > 0 ? ")" : "");
    }
}

void ipex_dims_text(struct ipex_fb_entry entry, int64_t code, char *text, size_t size) {
    struct writer w = {text, size, 0};
    if (size == 0)
        return;
    put_code(&w, entry, code, 0);
    text[w.used] = '\0';
}
