/* SPDX-License-Identifier: Apache-2.0 */
/* Polynomials over atoms: normalised on construction, shared by value. */
#include "tools/convert/dim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT (INT64_C(1) << 62)

void ipex_dims_init(struct ipex_dims *dims, struct ipex_arena *arena) {
    *dims = (struct ipex_dims){.arena = arena};
}

void ipex_dims_finish(struct ipex_dims *dims) {
    free(dims->symbol);
    free(dims->atom);
    free(dims->sum);
    *dims = (struct ipex_dims){0};
}

/* ---- sums under construction ---- */

struct build {
    struct ipex_dim_term term[IPEX_DIM_TERMS];
    int32_t terms;
    bool failed;
};

/* The order of terms: more factors first, then by their atoms; the constant comes last. */
static int compare(const struct ipex_dim_term *a, const struct ipex_dim_term *b) {
    if (a->factors != b->factors)
        return a->factors > b->factors ? -1 : 1;
    for (int32_t i = 0; i < a->factors; i++)
        if (a->factor[i] != b->factor[i])
            return a->factor[i] < b->factor[i] ? -1 : 1;
    return 0;
}

static void add_term(struct build *build, const struct ipex_dim_term *term) {
    int32_t at = 0;
    while (at < build->terms && compare(&build->term[at], term) < 0)
        at++;
    if (at < build->terms && !compare(&build->term[at], term)) {
        build->failed |= __builtin_add_overflow(build->term[at].coefficient, term->coefficient,
                                                &build->term[at].coefficient);
        if (build->term[at].coefficient)
            return;
        memmove(&build->term[at], &build->term[at + 1],
                (size_t)(build->terms - at - 1) * sizeof *term);
        build->terms--;
        return;
    }
    if (!term->coefficient)
        return;
    if (build->terms == IPEX_DIM_TERMS) {
        build->failed = true;
        return;
    }
    memmove(&build->term[at + 1], &build->term[at], (size_t)(build->terms - at) * sizeof *term);
    build->term[at] = *term;
    build->terms++;
}

static void add_scaled(const struct ipex_dims *dims, struct build *build, int64_t dim,
                       int64_t factor) {
    struct ipex_dim_term constant = {.coefficient = dim}, term;
    const struct ipex_dim_sum number = {.terms = 1, .term = &constant},
                              *sum = dim >= 0 ? &number : &dims->sum[-1 - dim];
    for (int32_t i = 0; i < sum->terms; i++) {
        term = sum->term[i];
        build->failed |= __builtin_mul_overflow(term.coefficient, factor, &term.coefficient);
        add_term(build, &term);
    }
}

/* Both ends belong to it. */
struct range {
    int64_t lo, hi;
};

static bool same_sum(const struct ipex_dim_sum *sum, const struct build *build) {
    if (sum->terms != build->terms)
        return false;
    for (int32_t i = 0; i < sum->terms; i++)
        if (sum->term[i].coefficient != build->term[i].coefficient ||
            compare(&sum->term[i], &build->term[i]))
            return false;
    return true;
}

static struct range sum_range(const struct ipex_dims *dims, const struct build *build);
static struct range atom_range(const struct ipex_dims *dims, const struct ipex_dim_atom *atom);

/* The code of a finished sum. Negative numbers are sums too: they occur on the way to a dim. What
 * is the same for all sizes, as (n + 64)/256 with n from 512 to 600, is that number. */
static int64_t finish(struct ipex_dims *dims, const struct build *build) {
    if (build->failed)
        return IPEX_DIM_NONE;
    if (build->terms == 0)
        return 0;
    bool constant = build->terms == 1 && !build->term[0].factors;
    if (constant && build->term[0].coefficient >= 0)
        return build->term[0].coefficient;
    for (size_t i = 0; i < dims->sums; i++)
        if (same_sum(&dims->sum[i], build))
            return -1 - (int64_t)i;
    const struct range range = sum_range(dims, build);
    if (!constant && range.lo == range.hi && range.lo > -LIMIT && range.lo < LIMIT)
        return ipex_dim_of(dims, range.lo);
    dims->sum = ipex_grow(dims->sum, &dims->sum_capacity, dims->sums + 1, sizeof *dims->sum);
    struct ipex_dim_sum *sum = &dims->sum[dims->sums];
    *sum = (struct ipex_dim_sum){.terms = build->terms, .lo = range.lo, .hi = range.hi};
    sum->term = ipex_arena_array(dims->arena, (size_t)build->terms, sizeof *sum->term);
    memcpy(sum->term, build->term, (size_t)build->terms * sizeof *sum->term);
    return -1 - (int64_t)dims->sums++;
}

static int64_t atom_dim(struct ipex_dims *dims, enum ipex_dim_op op, int64_t a, int64_t b,
                        int64_t coefficient) {
    size_t at = 0;
    while (at < dims->atoms &&
           (dims->atom[at].op != op || dims->atom[at].a != a || dims->atom[at].b != b))
        at++;
    if (at == dims->atoms) {
        dims->atom =
            ipex_grow(dims->atom, &dims->atom_capacity, dims->atoms + 1, sizeof *dims->atom);
        struct ipex_dim_atom atom = {.op = op, .a = a, .b = b};
        const struct range range = atom_range(dims, &atom);
        atom.lo = range.lo;
        atom.hi = range.hi;
        dims->atom[dims->atoms++] = atom;
    }
    struct build build = {.terms = 1, .term[0] = {coefficient, 1, {(int32_t)at}}};
    return finish(dims, &build);
}

int64_t ipex_dim_symbol(struct ipex_dims *dims, const char *name, int64_t lo, int64_t hi,
                        int64_t step) {
    size_t at = 0;
    while (at < dims->symbols && strcmp(dims->symbol[at].name, name))
        at++;
    if (at == dims->symbols) {
        if (lo == hi)
            return lo;
        dims->symbol = ipex_grow(dims->symbol, &dims->symbol_capacity, dims->symbols + 1,
                                 sizeof *dims->symbol);
        dims->symbol[dims->symbols++] =
            (struct ipex_symbol){ipex_arena_strdup(dims->arena, name), lo, hi, step};
    }
    return atom_dim(dims, IPEX_DIM_OP_symbol, (int64_t)at, 0, dims->symbol[at].step);
}

bool ipex_dim_number(const struct ipex_dims *dims, int64_t dim, int64_t *ret) {
    if (dim == IPEX_DIM_NONE)
        return false;
    if (dim < 0 && (dims->sum[-1 - dim].terms != 1 || dims->sum[-1 - dim].term[0].factors))
        return false;
    *ret = dim >= 0 ? dim : dims->sum[-1 - dim].term[0].coefficient;
    return true;
}

int64_t ipex_dim_of(struct ipex_dims *dims, int64_t number) {
    struct build build = {.terms = number != 0, .term[0] = {.coefficient = number}};
    return finish(dims, &build);
}

/* ---- arithmetic ---- */

static bool bad(int64_t a, int64_t b) {
    return a == IPEX_DIM_NONE || b == IPEX_DIM_NONE;
}

int64_t ipex_dim_add(struct ipex_dims *dims, int64_t a, int64_t b) {
    struct build build = {.terms = 0};
    if (bad(a, b))
        return IPEX_DIM_NONE;
    add_scaled(dims, &build, a, 1);
    add_scaled(dims, &build, b, 1);
    return finish(dims, &build);
}

int64_t ipex_dim_sub(struct ipex_dims *dims, int64_t a, int64_t b) {
    struct build build = {.terms = 0};
    if (bad(a, b))
        return IPEX_DIM_NONE;
    add_scaled(dims, &build, a, 1);
    add_scaled(dims, &build, b, -1);
    return finish(dims, &build);
}

static void multiply_terms(struct build *build, const struct ipex_dim_term *a,
                           const struct ipex_dim_term *b) {
    struct ipex_dim_term term = {.factors = a->factors + b->factors};
    if (term.factors > IPEX_DIM_ATOMS ||
        __builtin_mul_overflow(a->coefficient, b->coefficient, &term.coefficient)) {
        build->failed = true;
        return;
    }
    for (int32_t i = 0, j = 0; i + j < term.factors;) {
        bool from_a = j == b->factors || (i < a->factors && a->factor[i] <= b->factor[j]);
        term.factor[i + j] = from_a ? a->factor[i] : b->factor[j];
        i += from_a;
        j += !from_a;
    }
    add_term(build, &term);
}

int64_t ipex_dim_mul(struct ipex_dims *dims, int64_t a, int64_t b) {
    struct build build = {.terms = 0};
    if (bad(a, b))
        return IPEX_DIM_NONE;
    struct ipex_dim_term ca = {.coefficient = a}, cb = {.coefficient = b};
    const struct ipex_dim_sum na = {.terms = 1, .term = &ca}, nb = {.terms = 1, .term = &cb},
                              *sa = a >= 0 ? &na : &dims->sum[-1 - a],
                              *sb = b >= 0 ? &nb : &dims->sum[-1 - b];
    for (int32_t i = 0; i < sa->terms; i++)
        for (int32_t j = 0; j < sb->terms; j++)
            multiply_terms(&build, &sa->term[i], &sb->term[j]);
    return finish(dims, &build);
}

static int64_t floor_number(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* (x/q + c) / b, rounded down twice, is (x + c q) / (q b) rounded once: so equal sizes of a pyramid
 * look equal. IPEX_DIM_NONE where a, below 0, is not of that form. */
static int64_t divide_quotient(struct ipex_dims *dims, int64_t a, int64_t b) {
    const struct ipex_dim_sum *sum = &dims->sum[-1 - a];
    const struct ipex_dim_term *first = &sum->term[0];
    const int64_t c = sum->terms == 2 ? sum->term[1].coefficient : 0;
    if (sum->terms > 2 || (sum->terms == 2 && sum->term[1].factors) || first->factors != 1 ||
        first->coefficient != 1)
        return IPEX_DIM_NONE;
    const struct ipex_dim_atom atom = dims->atom[first->factor[0]];
    if (atom.op != IPEX_DIM_OP_floor_div || atom.b < 1)
        return IPEX_DIM_NONE;
    const int64_t divisor = ipex_dim_mul(dims, atom.b, b);
    const int64_t dividend =
        ipex_dim_add(dims, atom.a, ipex_dim_mul(dims, ipex_dim_of(dims, c), atom.b));
    return divisor == IPEX_DIM_NONE || dividend == IPEX_DIM_NONE
               ? IPEX_DIM_NONE
               : ipex_dim_floor_div(dims, dividend, divisor);
}

/* A rest that varies, below b in every coefficient. What begins with a minus is turned round,
 * -(h/8) rounded down is -((h + 7)/8): so what is rounded up to a multiple of b looks equal however
 * it is written. */
static int64_t divide_rest(struct ipex_dims *dims, int64_t r, int64_t b) {
    if (dims->sum[-1 - r].term[0].coefficient < 0) {
        const int64_t up = ipex_dim_sub(dims, b - 1, r);
        return ipex_dim_sub(dims, 0, ipex_dim_floor_div(dims, up, b));
    }
    const int64_t once = divide_quotient(dims, r, b);
    return once != IPEX_DIM_NONE ? once : atom_dim(dims, IPEX_DIM_OP_floor_div, r, b, 1);
}

/* (c s + r) / c is s + floor(r / c): terms whose coefficient c divides leave the quotient. */
static int64_t divide_by_number(struct ipex_dims *dims, int64_t a, int64_t b) {
    struct build whole = {.terms = 0}, rest = {.terms = 0};
    const struct ipex_dim_sum *sum = &dims->sum[-1 - a];
    bool rest_varies = false;
    for (int32_t i = 0; i < sum->terms; i++) {
        struct ipex_dim_term term = sum->term[i];
        int64_t quotient = term.factors ? term.coefficient / b : floor_number(term.coefficient, b),
                left = term.coefficient - quotient * b;
        term.coefficient = quotient;
        add_term(&whole, &term);
        term.coefficient = left;
        add_term(&rest, &term);
        rest_varies |= left && term.factors;
    }
    int64_t w = finish(dims, &whole), r = finish(dims, &rest);
    if (!rest_varies)
        return w; /* a constant rest is below b */
    if (r == IPEX_DIM_NONE)
        return r;
    int64_t n;
    return ipex_dim_add(dims, w,
                        ipex_dim_number(dims, r, &n) ? ipex_dim_of(dims, floor_number(n, b))
                                                     : divide_rest(dims, r, b));
}

int64_t ipex_dim_floor_div(struct ipex_dims *dims, int64_t a, int64_t b) {
    if (bad(a, b) || b == 0)
        return IPEX_DIM_NONE;
    if (b > 0)
        return a >= 0 ? a / b : divide_by_number(dims, a, b);
    int64_t exact = ipex_dim_exact_div(dims, a, b);
    return exact != IPEX_DIM_NONE ? exact : atom_dim(dims, IPEX_DIM_OP_floor_div, a, b, 1);
}

/* a / b for one-term b: takes b's factors out of a term. */
static bool divide_term(struct ipex_dim_term *a, const struct ipex_dim_term *b) {
    struct ipex_dim_term q = {.coefficient = a->coefficient / b->coefficient};
    int32_t j = 0;
    if (a->coefficient % b->coefficient)
        return false;
    for (int32_t i = 0; i < a->factors; i++)
        if (j < b->factors && a->factor[i] == b->factor[j])
            j++;
        else
            q.factor[q.factors++] = a->factor[i];
    *a = q;
    return j == b->factors;
}

/* Long division by leading terms. */
int64_t ipex_dim_exact_div(struct ipex_dims *dims, int64_t a, int64_t b) {
    struct build quotient = {.terms = 0};
    if (bad(a, b) || b == 0)
        return IPEX_DIM_NONE;
    struct ipex_dim_term number = {.coefficient = b};
    for (int32_t round = 0; a != 0 && round <= IPEX_DIM_TERMS; round++) {
        if (a == IPEX_DIM_NONE)
            return IPEX_DIM_NONE;
        struct ipex_dim_term lead =
            a > 0 ? (struct ipex_dim_term){.coefficient = a} : dims->sum[-1 - a].term[0];
        struct build step = {.terms = 0};
        if (!divide_term(&lead, b > 0 ? &number : &dims->sum[-1 - b].term[0]))
            return IPEX_DIM_NONE;
        add_term(&quotient, &lead);
        add_term(&step, &lead);
        a = ipex_dim_sub(dims, a, ipex_dim_mul(dims, finish(dims, &step), b));
    }
    return a == 0 ? finish(dims, &quotient) : IPEX_DIM_NONE;
}

/* The minimum or maximum that a dim is; NULL where it is something else. */
static const struct ipex_dim_atom *as_extreme(const struct ipex_dims *dims, int64_t dim) {
    const struct ipex_dim_sum *sum = dim < 0 ? &dims->sum[-1 - dim] : NULL;
    if (!sum || sum->terms != 1 || sum->term->factors != 1 || sum->term->coefficient != 1)
        return NULL;
    const struct ipex_dim_atom *atom = &dims->atom[sum->term->factor[0]];
    return atom->op == IPEX_DIM_OP_min || atom->op == IPEX_DIM_OP_max ? atom : NULL;
}

/* By their ranges, by that of what lies between them (seq - 1 and seq), or by what an extreme is
 * made of. */
bool ipex_dim_at_most(struct ipex_dims *dims, int64_t a, int64_t b) {
    int64_t a_lo, a_hi, b_lo, b_hi;
    if (bad(a, b))
        return false;
    ipex_dim_range(dims, a, &a_lo, &a_hi);
    ipex_dim_range(dims, b, &b_lo, &b_hi);
    if (a == b || a_hi <= b_lo)
        return true;
    const int64_t between = ipex_dim_sub(dims, b, a);
    ipex_dim_range(dims, between, &b_lo, &b_hi);
    if (b_lo >= 0)
        return true;
    if (as_extreme(dims, a)) {
        const struct ipex_dim_atom of = *as_extreme(dims, a);
        const bool first = ipex_dim_at_most(dims, of.a, b),
                   second = ipex_dim_at_most(dims, of.b, b);
        if (of.op == IPEX_DIM_OP_min ? first || second : first && second)
            return true;
    }
    if (as_extreme(dims, b)) {
        const struct ipex_dim_atom of = *as_extreme(dims, b);
        const bool first = ipex_dim_at_most(dims, a, of.a),
                   second = ipex_dim_at_most(dims, a, of.b);
        return of.op == IPEX_DIM_OP_max ? first || second : first && second;
    }
    return false;
}

static int64_t extreme(struct ipex_dims *dims, enum ipex_dim_op op, int64_t a, int64_t b) {
    if (bad(a, b))
        return IPEX_DIM_NONE;
    if (ipex_dim_at_most(dims, a, b))
        return op == IPEX_DIM_OP_min ? a : b;
    if (ipex_dim_at_most(dims, b, a))
        return op == IPEX_DIM_OP_min ? b : a;
    return atom_dim(dims, op, a < b ? a : b, a < b ? b : a, 1);
}

int64_t ipex_dim_min(struct ipex_dims *dims, int64_t a, int64_t b) {
    return extreme(dims, IPEX_DIM_OP_min, a, b);
}
int64_t ipex_dim_max(struct ipex_dims *dims, int64_t a, int64_t b) {
    return extreme(dims, IPEX_DIM_OP_max, a, b);
}

/* ---- values ---- */

static int64_t saturate(__int128 v) {
    return v > LIMIT ? LIMIT : v < -LIMIT ? -LIMIT : (int64_t)v;
}

/* In steps. */
static int64_t symbol_at(const struct ipex_symbol *symbol, enum ipex_dim_place place) {
    const int64_t lo = symbol->lo / symbol->step, hi = symbol->hi / symbol->step;
    switch (place) {
    case IPEX_DIM_LOWEST:
        return lo;
    case IPEX_DIM_HIGHEST:
        return hi;
    default:
        return (int64_t)(sqrt((double)lo * (double)hi) + 0.5);
    }
}

/* Where every symbol is: at a place of its range, or at a number. */
struct point {
    enum ipex_dim_place place;
    const int64_t *symbols; /* NULL: the place counts */
};

static int64_t dim_at(const struct ipex_dims *dims, int64_t dim, const struct point *point);

static int64_t atom_at(const struct ipex_dims *dims, const struct ipex_dim_atom *atom,
                       const struct point *point) {
    if (atom->op == IPEX_DIM_OP_symbol)
        return point->symbols ? point->symbols[atom->a] / dims->symbol[atom->a].step
                              : symbol_at(&dims->symbol[atom->a], point->place);
    int64_t a = dim_at(dims, atom->a, point), b = dim_at(dims, atom->b, point);
    switch (atom->op) {
    case IPEX_DIM_OP_min:
        return a < b ? a : b;
    case IPEX_DIM_OP_max:
        return a > b ? a : b;
    default:
        return b > 0 ? floor_number(a, b) : 0;
    }
}

static int64_t dim_at(const struct ipex_dims *dims, int64_t dim, const struct point *point) {
    if (dim >= 0)
        return dim;
    const struct ipex_dim_sum *sum = &dims->sum[-1 - dim];
    int64_t total = 0;
    for (int32_t i = 0; i < sum->terms; i++) {
        int64_t product = sum->term[i].coefficient;
        for (int32_t k = 0; k < sum->term[i].factors; k++)
            product = saturate((__int128)product *
                               atom_at(dims, &dims->atom[sum->term[i].factor[k]], point));
        total = saturate((__int128)total + product);
    }
    return total;
}

int64_t ipex_dim_at(const struct ipex_dims *dims, int64_t dim, enum ipex_dim_place place) {
    return dim_at(dims, dim, &(struct point){.place = place});
}

int64_t ipex_dim_value(const struct ipex_dims *dims, int64_t dim, const int64_t *symbols) {
    return dim_at(dims, dim, &(struct point){.symbols = symbols});
}

int32_t ipex_dim_is_symbol(const struct ipex_dims *dims, int64_t dim) {
    const struct ipex_dim_sum *sum = dim < 0 ? &dims->sum[-1 - dim] : NULL;
    if (!sum || sum->terms != 1 || sum->term[0].factors != 1)
        return -1;
    const struct ipex_dim_atom *atom = &dims->atom[sum->term[0].factor[0]];
    const bool whole =
        atom->op == IPEX_DIM_OP_symbol && sum->term[0].coefficient == dims->symbol[atom->a].step;
    return whole ? (int32_t)atom->a : -1;
}

static struct range multiply_range(struct range a, struct range b) {
    int64_t p[4] = {saturate((__int128)a.lo * b.lo), saturate((__int128)a.lo * b.hi),
                    saturate((__int128)a.hi * b.lo), saturate((__int128)a.hi * b.hi)};
    struct range r = {p[0], p[0]};
    for (int i = 1; i < 4; i++) {
        r.lo = p[i] < r.lo ? p[i] : r.lo;
        r.hi = p[i] > r.hi ? p[i] : r.hi;
    }
    return r;
}

static struct range atom_range(const struct ipex_dims *dims, const struct ipex_dim_atom *atom) {
    struct range a, b;
    if (atom->op == IPEX_DIM_OP_symbol) {
        const struct ipex_symbol *symbol = &dims->symbol[atom->a];
        return (struct range){symbol->lo / symbol->step, symbol->hi / symbol->step};
    }
    ipex_dim_range(dims, atom->a, &a.lo, &a.hi);
    ipex_dim_range(dims, atom->b, &b.lo, &b.hi);
    switch (atom->op) {
    case IPEX_DIM_OP_min:
        return (struct range){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    case IPEX_DIM_OP_max:
        return (struct range){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    default:
        break;
    }
    b.lo = b.lo < 1 ? 1 : b.lo;
    b.hi = b.hi < 1 ? 1 : b.hi;
    return (struct range){floor_number(a.lo, a.lo < 0 ? b.lo : b.hi),
                          floor_number(a.hi, a.hi < 0 ? b.hi : b.lo)};
}

/* Every term by itself. */
static struct range terms_range(const struct ipex_dims *dims, const struct build *build) {
    struct range total = {0, 0};
    for (int32_t i = 0; i < build->terms; i++) {
        const struct ipex_dim_term *term = &build->term[i];
        struct range product = {term->coefficient, term->coefficient};
        for (int32_t k = 0; k < term->factors; k++)
            product = multiply_range(product, (struct range){dims->atom[term->factor[k]].lo,
                                                             dims->atom[term->factor[k]].hi});
        total.lo = saturate((__int128)total.lo + product.lo);
        total.hi = saturate((__int128)total.hi + product.hi);
    }
    return total;
}

/* `scale` times a sum is `sum` and something from `rest`. */
struct scaled {
    struct build sum;
    struct range rest;
    int64_t scale;
};

/* The bounds of what is scaled; `otherwise` where they are too large to say. */
static struct range scaled_range(const struct ipex_dims *dims, const struct scaled *s,
                                 struct range otherwise) {
    const struct range sum = terms_range(dims, &s->sum);
    const int64_t lo = saturate((__int128)sum.lo + s->rest.lo),
                  hi = saturate((__int128)sum.hi + s->rest.hi);
    if (sum.lo == -LIMIT || sum.hi == LIMIT || lo == -LIMIT || hi == LIMIT)
        return otherwise;
    return (struct range){-floor_number(-lo, s->scale), floor_number(hi, s->scale)};
}

/* The last made of the quotients, before atom `below`, that a sum has as f (a/b) with b = c f for a
 * number c; -1: none. */
static int32_t last_quotient(const struct ipex_dims *dims, const struct build *sum, int32_t below,
                             int32_t *ret_term, int64_t *ret_c) {
    int32_t last = -1;
    for (int32_t i = 0; i < sum->terms; i++)
        for (int32_t k = 0; k < sum->term[i].factors; k++) {
            const int32_t at = sum->term[i].factor[k];
            const struct ipex_dim_atom *atom = &dims->atom[at];
            if (at >= below || at <= last || atom->op != IPEX_DIM_OP_floor_div)
                continue;
            struct ipex_dim_term divisor = {.coefficient = atom->b}, others = sum->term[i];
            if (atom->b < 0 && dims->sum[-1 - atom->b].terms == 1)
                divisor = dims->sum[-1 - atom->b].term[0];
            others.factors--;
            memmove(&others.factor[k], &others.factor[k + 1],
                    (size_t)(others.factors - k) * sizeof *others.factor);
            if (divisor.coefficient < 1 || compare(&divisor, &others))
                continue;
            last = at;
            *ret_term = i;
            *ret_c = divisor.coefficient;
        }
    return last;
}

/* k f (a/b) with b = c f is k/c (a - r), r being 0 .. b - 1: all c times as large, without the
 * quotient. */
static struct scaled without_quotient(const struct ipex_dims *dims, const struct scaled *from,
                                      int32_t term, const struct ipex_dim_atom *atom, int64_t c) {
    struct scaled to = {.scale = from->scale};
    int64_t least, most, k = from->sum.term[term].coefficient;
    ipex_dim_range(dims, atom->b, &least, &most);
    bool failed = least < 1 || most == LIMIT;
    for (int32_t i = 0; i < from->sum.terms; i++) {
        struct ipex_dim_term t = from->sum.term[i];
        failed |= __builtin_mul_overflow(t.coefficient, c, &t.coefficient);
        if (i != term)
            add_term(&to.sum, &t);
    }
    add_scaled(dims, &to.sum, atom->a, k);
    failed |= __builtin_mul_overflow(to.scale, c, &to.scale);
    const struct range whole = multiply_range(from->rest, (struct range){c, c}),
                       left = multiply_range((struct range){-k, -k}, (struct range){0, most - 1});
    to.rest.lo = saturate((__int128)whole.lo + left.lo);
    to.rest.hi = saturate((__int128)whole.hi + left.hi);
    to.sum.failed |= failed;
    return to;
}

/* By terms; and with one quotient after the other replaced by what is divided, as far as that goes:
 * whichever says most. */
static struct range sum_range(const struct ipex_dims *dims, const struct build *build) {
    struct scaled s = {.sum = *build, .scale = 1};
    struct range range = terms_range(dims, build);
    int32_t term = 0, at = INT32_MAX;
    int64_t c = 1;
    while (build->terms > 1 && (at = last_quotient(dims, &s.sum, at, &term, &c)) >= 0) {
        s = without_quotient(dims, &s, term, &dims->atom[at], c);
        if (s.sum.failed)
            break;
        const struct range other = scaled_range(dims, &s, range);
        range.lo = other.lo > range.lo ? other.lo : range.lo;
        range.hi = other.hi < range.hi ? other.hi : range.hi;
    }
    return range;
}

void ipex_dim_range(const struct ipex_dims *dims, int64_t dim, int64_t *ret_lo, int64_t *ret_hi) {
    const bool none = dim == IPEX_DIM_NONE;
    *ret_lo = none ? -LIMIT : dim < 0 ? dims->sum[-1 - dim].lo : dim;
    *ret_hi = none ? LIMIT : dim < 0 ? dims->sum[-1 - dim].hi : dim;
}

/* ---- growing ---- */

static bool term_rises(const struct ipex_dims *dims, const struct ipex_dim_term *term) {
    int64_t number;
    for (int32_t k = 0; k < term->factors; k++) {
        const struct ipex_dim_atom *atom = &dims->atom[term->factor[k]];
        if (term->coefficient < 0 || atom->lo < 0)
            return false;
        if (atom->op != IPEX_DIM_OP_symbol && !ipex_dim_rises(dims, atom->a))
            return false;
        if (atom->op == IPEX_DIM_OP_floor_div && !ipex_dim_number(dims, atom->b, &number))
            return false;
        if (atom->op != IPEX_DIM_OP_symbol && !ipex_dim_rises(dims, atom->b))
            return false;
    }
    return true;
}

bool ipex_dim_rises(const struct ipex_dims *dims, int64_t dim) {
    if (dim >= 0)
        return true;
    const struct ipex_dim_sum *sum = &dims->sum[-1 - dim];
    for (int32_t i = 0; i < sum->terms; i++)
        if (!term_rises(dims, &sum->term[i]))
            return false;
    return true;
}

/* Terms that do not rise are the most that they can be, and all together no more than they are. */
int64_t ipex_dim_rising(struct ipex_dims *dims, int64_t dim) {
    struct build build = {.terms = 0};
    int64_t least, most;
    if (dim == IPEX_DIM_NONE || ipex_dim_rises(dims, dim))
        return dim;
    const struct ipex_dim_sum *sum = &dims->sum[-1 - dim];
    ipex_dim_range(dims, dim, &least, &most);
    for (int32_t i = 0; i < sum->terms; i++) {
        struct build one = {.terms = 1, .term[0] = sum->term[i]};
        if (!term_rises(dims, &sum->term[i]))
            one.term[0] = (struct ipex_dim_term){.coefficient = terms_range(dims, &one).hi};
        add_term(&build, &one.term[0]);
    }
    return ipex_dim_min(dims, finish(dims, &build), ipex_dim_of(dims, most));
}

/* ---- text ---- */

/* The factor as text and what multiplies it: a symbol stands for `step` atoms. */
static const char *atom_text(const struct ipex_dims *dims, const struct ipex_dim_atom *atom) {
    if (atom->op == IPEX_DIM_OP_symbol) {
        const struct ipex_symbol *symbol = &dims->symbol[atom->a];
        return symbol->step == 1 ? symbol->name
                                 : ipex_arena_printf(dims->arena, "%s/%lld", symbol->name,
                                                     (long long)symbol->step);
    }
    const char *a = ipex_dim_text(dims, atom->a), *b = ipex_dim_text(dims, atom->b);
    switch (atom->op) {
    case IPEX_DIM_OP_min:
        return ipex_arena_printf(dims->arena, "min(%s, %s)", a, b);
    case IPEX_DIM_OP_max:
        return ipex_arena_printf(dims->arena, "max(%s, %s)", a, b);
    default:
        return ipex_arena_printf(dims->arena, "((%s)/(%s))", a, b);
    }
}

const char *ipex_dim_text(const struct ipex_dims *dims, int64_t dim) {
    if (dim == IPEX_DIM_NONE)
        return "?";
    if (dim >= 0)
        return ipex_arena_printf(dims->arena, "%lld", (long long)dim);
    const struct ipex_dim_sum *sum = &dims->sum[-1 - dim];
    const char *text = "";
    for (int32_t i = 0; i < sum->terms; i++) {
        const struct ipex_dim_term *term = &sum->term[i];
        int64_t c = term->coefficient;
        const char *product = "";
        for (int32_t k = 0; k < term->factors; k++) {
            const struct ipex_dim_atom *atom = &dims->atom[term->factor[k]];
            const struct ipex_symbol *symbol =
                atom->op == IPEX_DIM_OP_symbol ? &dims->symbol[atom->a] : NULL;
            bool whole = symbol && c % symbol->step == 0; /* 32 (h/32) is h */
            c = whole ? c / symbol->step : c;
            product = ipex_arena_printf(dims->arena, "%s%s%s", product, *product ? "*" : "",
                                        whole ? symbol->name : atom_text(dims, atom));
        }
        bool number = c != 1 || !term->factors;
        text = ipex_arena_printf(dims->arena, "%s%s", text,
                                 !*text  ? (c < 0 ? "-" : "")
                                 : c < 0 ? " - "
                                         : " + ");
        if (number && (c != -1 || !term->factors))
            text = ipex_arena_printf(dims->arena, "%s%lld%s", text, (long long)(c < 0 ? -c : c),
                                     term->factors ? "*" : "");
        text = ipex_arena_printf(dims->arena, "%s%s", text, product);
    }
    return text;
}
