/* SPDX-License-Identifier: Apache-2.0 */
/* Polynomials to expression lists. Equal steps are shared, so the list stays as short as the
 * model's different sizes. */
#include "tools/convert/dim_write.h"

#include <stdlib.h>
#include <string.h>

#include "format/dims.h"

static int64_t emit(struct ipex_dim_writer *w, enum ipex_expr_op op, int64_t a, int64_t b) {
    const struct ipex_fb_expr expr = {.op = (uint32_t)op, .a = a, .b = b};
    for (size_t i = 0; i < w->exprs; i++)
        if (!memcmp(&w->expr[i], &expr, sizeof expr))
            return -1 - (int64_t)i;
    w->expr = ipex_grow(w->expr, &w->capacity, w->exprs + 1, sizeof *w->expr);
    w->expr[w->exprs++] = expr;
    return -(int64_t)w->exprs;
}

static int64_t emit_atom(struct ipex_dim_writer *w, const struct ipex_dim_atom *atom) {
    switch (atom->op) {
    case IPEX_DIM_OP_symbol:
        return emit(w, IPEX_EXPR_symbol, atom->a, 0);
    case IPEX_DIM_OP_min:
        return emit(w, IPEX_EXPR_min, ipex_dim_write(w, atom->a), ipex_dim_write(w, atom->b));
    case IPEX_DIM_OP_max:
        return emit(w, IPEX_EXPR_max, ipex_dim_write(w, atom->a), ipex_dim_write(w, atom->b));
    default:
        return emit(w, IPEX_EXPR_floor_div, ipex_dim_write(w, atom->a), ipex_dim_write(w, atom->b));
    }
}

/* |coefficient| times the factors. An atom of a symbol counts its steps: symbol / step. */
static int64_t emit_term(struct ipex_dim_writer *w, const struct ipex_dim_term *term) {
    int64_t rest = term->coefficient < 0 ? -term->coefficient : term->coefficient, product = -1;
    bool any = false;
    for (int32_t i = 0; i < term->factors; i++) {
        const struct ipex_dim_atom *atom = &w->dims->atom[term->factor[i]];
        int64_t step = atom->op == IPEX_DIM_OP_symbol ? w->dims->symbol[atom->a].step : 1;
        int64_t code = emit_atom(w, atom);
        if (rest % step == 0)
            rest /= step;
        else
            code = emit(w, IPEX_EXPR_floor_div, code, step);
        product = any ? emit(w, IPEX_EXPR_mul, product, code) : code;
        any = true;
    }
    if (!any)
        return rest;
    return rest == 1 ? product : emit(w, IPEX_EXPR_mul, product, rest);
}

int64_t ipex_dim_write(struct ipex_dim_writer *w, int64_t dim) {
    int64_t number;
    if (ipex_dim_number(w->dims, dim, &number))
        return number >= 0 ? number : emit(w, IPEX_EXPR_negative, -number, 0);
    const struct ipex_dim_sum *sum = &w->dims->sum[-1 - dim];
    int64_t total = 0;
    bool any = false;
    for (int pass = 0; pass < 2; pass++) /* what is added first, then what is taken away */
        for (int32_t i = 0; i < sum->terms; i++) {
            if ((sum->term[i].coefficient < 0) != (pass == 1))
                continue;
            int64_t code = emit_term(w, &sum->term[i]);
            if (pass == 1)
                total = emit(w, IPEX_EXPR_sub, total, code);
            else
                total = any ? emit(w, IPEX_EXPR_add, total, code) : code;
            any = true;
        }
    return total;
}

void ipex_dim_writer_finish(struct ipex_dim_writer *writer) {
    free(writer->expr);
    *writer = (struct ipex_dim_writer){0};
}
