/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's Einsum: a sum of products over named axes. Operands are joined from left to right, each
 * time as one product of matrices: axes of both that the rest still needs are its batch, axes of
 * both that nothing needs are contracted, the others are rows and columns. A constant operand
 * without batch axes becomes a linear layer's weight. */
#include "tools/convert/import_build.h"
#include "tools/convert/import_scope.h"

#include <ctype.h>
#include <string.h>

#define LETTERS 52
#define LABELS                                                                                     \
    (LETTERS + IPEX_MAX_RANK) /* the axes of "..." from LETTERS on, the last one first             \
                               */
#define OPERANDS 16

/* Axis i of the value is named label[i]. Sets of labels are bit masks. */
struct term {
    struct ipex_value *value; /* NULL: of the result, or refused */
    int32_t rank;
    int32_t label[3 * IPEX_MAX_RANK]; /* a result may be read that is too long */
};

struct einsum {
    struct term operand[OPERANDS];
    struct term result;
    int32_t operands, hidden; /* hidden: axes that "..." stands for */
    int64_t dim[LABELS];      /* 0: no such axis */
};

static uint64_t labels_of(const struct term *t) {
    uint64_t labels = 0;
    for (int32_t i = 0; i < t->rank; i++)
        labels |= UINT64_C(1) << t->label[i];
    return labels;
}

static bool has(uint64_t labels, int32_t label) {
    return labels >> label & 1;
}

static int32_t axis_of(const struct term *t, int32_t label) {
    int32_t axis = 0;
    while (axis < t->rank && t->label[axis] != label)
        axis++;
    return axis;
}

/* ---- the equation ---- */

static int32_t letter_label(char c) {
    return c >= 'a' ? c - 'a' + 26 : c - 'A';
}

/* One term of the equation up to ',', '-' or its end; its rank without "..." into ret->rank, where
 * "..." stands into *ret_dots (-1: nowhere). False where it is none. */
static bool read_term(const char **at, struct term *ret, int32_t *ret_dots) {
    const char *c = *at;
    ret->rank = 0;
    *ret_dots = -1;
    for (; *c && *c != ',' && *c != '-'; c++) {
        if (*c == ' ')
            continue;
        if (!strncmp(c, "...", 3) && *ret_dots < 0) {
            *ret_dots = ret->rank;
            c += 2;
        } else if (isalpha((unsigned char)*c) && ret->rank < 2 * IPEX_MAX_RANK) {
            ret->label[ret->rank++] = letter_label(*c);
        } else {
            return false;
        }
    }
    *at = c;
    return true;
}

/* Puts the `count` axes of "..." in at its place. */
static void insert_hidden(struct term *t, int32_t dots, int32_t count) {
    if (dots < 0)
        return;
    memmove(t->label + dots + count, t->label + dots, (size_t)(t->rank - dots) * sizeof *t->label);
    for (int32_t i = 0; i < count; i++)
        t->label[dots + i] = LETTERS + count - 1 - i;
    t->rank += count;
}

static bool read_operand(struct ipex_import *import, struct einsum *e, const char **at) {
    struct term *t = &e->operand[e->operands];
    int32_t dots;
    if (e->operands == OPERANDS || !read_term(at, t, &dots)) {
        ipex_import_refuse(import, e->operands == OPERANDS ? "it has more than 16 operands"
                                                           : "the equation cannot be read");
        return false;
    }
    t->value = ipex_import_f32(import, (size_t)e->operands++);
    if (!t->value)
        return false;
    const int32_t hidden = t->value->rank - t->rank;
    if (hidden < 0 || (dots < 0 && hidden)) {
        ipex_import_refuse(import, "the equation names %d axes of %s, which has rank %d", t->rank,
                           t->value->name, t->value->rank);
        return false;
    }
    insert_hidden(t, dots, hidden);
    e->hidden = hidden > e->hidden ? hidden : e->hidden;
    return true;
}

/* Without "->": the axes of "...", then every letter that occurs once, in the alphabet's order. */
static void imply_result(struct einsum *e) {
    int32_t times[LABELS] = {0};
    for (int32_t k = 0; k < e->operands; k++)
        for (int32_t i = 0; i < e->operand[k].rank; i++)
            times[e->operand[k].label[i]]++;
    insert_hidden(&e->result, 0, e->hidden);
    for (int32_t label = 0; label < LETTERS; label++)
        if (times[label] == 1 && e->result.rank < 2 * IPEX_MAX_RANK)
            e->result.label[e->result.rank++] = label;
}

/* The size that each label has in all operands: of two, one may be 1. */
static bool find_sizes(struct ipex_import *import, struct einsum *e) {
    for (int32_t k = 0; k < e->operands; k++)
        for (int32_t i = 0; i < e->operand[k].rank; i++) {
            const int64_t size = e->operand[k].value->dims[i];
            int64_t *joint = &e->dim[e->operand[k].label[i]];
            if (*joint > 1 || *joint < 0) {
                if (size == 1 || size == *joint)
                    continue;
                ipex_import_refuse(import, "axis %d of %s has %s elements where %s are needed%s", i,
                                   e->operand[k].value->name, ipex_import_text(import, size),
                                   ipex_import_text(import, *joint),
                                   ipex_import_make_equal(import, size, *joint));
                return false;
            }
            *joint = size;
        }
    return true;
}

static bool check_result(struct ipex_import *import, const struct einsum *e) {
    bool right = e->result.rank <= IPEX_MAX_RANK;
    for (int32_t i = 0; i < e->result.rank; i++)
        right &= e->dim[e->result.label[i]] && axis_of(&e->result, e->result.label[i]) == i;
    if (!right)
        ipex_import_refuse(import, "the equation's result has an axis twice, one that no operand "
                                   "has, or more than 8");
    return right;
}

static bool read_equation(struct ipex_import *import, struct einsum *e) {
    const char *at = ipex_import_string(import, "equation", "");
    int32_t dots;
    do {
        at += e->operands > 0;
        if (!read_operand(import, e, &at))
            return false;
    } while (*at == ',');
    const bool says_result = !strncmp(at, "->", 2);
    at += says_result ? 2 : 0;
    if ((says_result && !read_term(&at, &e->result, &dots)) || *at ||
        (size_t)e->operands != import->node->inputs) {
        ipex_import_refuse(import,
                           "the equation cannot be read, or has another number of operands");
        return false;
    }
    if (says_result && dots < 0 && e->hidden) {
        ipex_import_refuse(import, "the equation's result lacks ..., which operands have");
        return false;
    }
    if (says_result)
        insert_hidden(&e->result, dots, e->hidden);
    else
        imply_result(e);
    return find_sizes(import, e) && check_result(import, e);
}

/* ---- one term ---- */

/* Nothing is done where x has this shape: passes look for what stands next to each other. */
static struct ipex_value *reshaped(struct ipex_import *import, struct ipex_value *x, int32_t rank,
                                   const int64_t *dims) {
    const bool same = x && x->rank == rank && !memcmp(x->dims, dims, (size_t)rank * sizeof *dims);
    return same ? x : ipex_build_reshape(import, x, rank, dims);
}

/* Leaves axes out: summed, where they have more than one element. */
static void drop(struct ipex_import *import, struct term *t, uint64_t labels) {
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = 0;
    uint32_t axes = 0;
    if (!t->value || !(labels_of(t) & labels))
        return;
    for (int32_t i = 0; i < t->rank; i++)
        if (has(labels, t->label[i])) {
            axes |= t->value->dims[i] != 1 ? 1u << i : 0;
        } else {
            t->label[rank] = t->label[i];
            dims[rank++] = t->value->dims[i];
        }
    t->rank = rank;
    t->value = ipex_build_reduce(import, IPEX_REDUCE_sum, t->value, axes);
    t->value = reshaped(import, t->value, rank, dims);
}

/* Labels in an order. */
struct list {
    int32_t count, label[IPEX_MAX_RANK];
};

/* The axes of the set in the order of the result, those that it has not behind them. */
static struct list in_order(const struct einsum *e, const struct term *t, uint64_t labels) {
    struct list list = {.count = 0};
    for (int32_t i = 0; i < e->result.rank; i++)
        if (has(labels, e->result.label[i]))
            list.label[list.count++] = e->result.label[i];
    labels &= ~labels_of(&e->result);
    for (int32_t i = 0; i < t->rank; i++)
        if (has(labels, t->label[i]))
            list.label[list.count++] = t->label[i];
    return list;
}

/* All axes in this order. */
static void arrange(struct ipex_import *import, struct term *t, const int32_t *label) {
    int32_t perm[IPEX_MAX_RANK];
    bool same = true;
    for (int32_t i = 0; i < t->rank; i++) {
        perm[i] = axis_of(t, label[i]);
        same &= perm[i] == i;
    }
    memmove(t->label, label, (size_t)t->rank * sizeof *label);
    if (!same)
        t->value = ipex_build_transpose(import, t->value, perm);
}

/* Two axes of one name. */
static bool find_twins(const struct term *t, int32_t *ret_first, int32_t *ret_second) {
    for (int32_t i = 0; i < t->rank; i++)
        if (axis_of(t, t->label[i]) < i) {
            *ret_first = axis_of(t, t->label[i]);
            *ret_second = i;
            return true;
        }
    return false;
}

/* Of two axes seen as one, which comes last, every (size + 1)-th element. */
static void take_diagonal(struct ipex_import *import, struct term *t, int32_t i, int32_t j) {
    const int32_t label = t->label[i], last = t->rank - 2;
    const int64_t size = t->value->dims[i];
    int32_t perm[IPEX_MAX_RANK] = {0}, rank = 0;
    int64_t dims[IPEX_MAX_RANK];
    for (int32_t k = 0; k < t->rank; k++)
        if (k != i && k != j) {
            dims[rank] = t->value->dims[k];
            t->label[rank] = t->label[k];
            perm[rank++] = k;
        }
    perm[last] = i;
    perm[last + 1] = j;
    dims[last] = size * size;
    t->label[last] = label;
    t->rank = last + 1;
    t->value = reshaped(import, ipex_build_transpose(import, t->value, perm), t->rank, dims);
    t->value = ipex_build_gather(
        import, t->value, ipex_build_count(import, IPEX_DTYPE_i64, size, size + 1, 1, 0), last);
}

/* An axis named twice is a diagonal. False after refusing. */
static bool take_diagonals(struct ipex_import *import, struct term *t) {
    int32_t i, j;
    while (t->value && find_twins(t, &i, &j)) {
        const int64_t size = t->value->dims[i];
        if (size < 1 || size != t->value->dims[j] || size > IPEX_BUILD_MAX / size) {
            ipex_import_refuse(import, "the diagonal of %s by %s elements of %s is not supported",
                               ipex_import_text(import, size),
                               ipex_import_text(import, t->value->dims[j]), t->value->name);
            return false;
        }
        take_diagonal(import, t, i, j);
    }
    return t->value != NULL;
}

/* ---- two terms ---- */

/* The labels of a product's operands by their part in it. */
struct parts {
    struct list batch, rows, columns, inner;
};

static void append(struct term *t, const struct list *list) {
    memcpy(t->label + t->rank, list->label, (size_t)list->count * sizeof *t->label);
    t->rank += list->count;
}

/* The number of elements of these axes together, as a dim. */
static int64_t merged(struct ipex_import *import, const struct einsum *e, const struct list *list) {
    int64_t count = 1;
    for (int32_t i = 0; i < list->count; i++)
        count = ipex_dim_mul(&import->graph->dims, count, e->dim[list->label[i]]);
    return count;
}

/* t as [batch ..., rows, columns], where rows and columns are one axis each; with `apart` only the
 * columns are, unless there are no rows. */
static struct ipex_value *as_matrix(struct ipex_import *import, const struct einsum *e,
                                    struct term *t, const struct list *batch,
                                    const struct list *rows, const struct list *columns,
                                    bool apart) {
    struct term order = {.rank = 0};
    int64_t dims[IPEX_MAX_RANK + 2];
    append(&order, batch);
    append(&order, rows);
    apart &= rows->count > 0;
    int32_t rank = apart ? order.rank : batch->count;
    for (int32_t i = 0; i < rank; i++)
        dims[i] = e->dim[order.label[i]];
    append(&order, columns);
    arrange(import, t, order.label);
    if (!apart)
        dims[rank++] = merged(import, e, rows);
    dims[rank++] = merged(import, e, columns);
    return reshaped(import, t->value, rank, dims);
}

/* The product of matrices y as [batch ..., rows ..., columns ...]. */
static struct term taken_apart(struct ipex_import *import, const struct einsum *e,
                               struct ipex_value *y, const struct parts *p) {
    struct term t = {.rank = 0};
    int64_t dims[IPEX_MAX_RANK];
    append(&t, &p->batch);
    append(&t, &p->rows);
    append(&t, &p->columns);
    for (int32_t i = 0; i < t.rank; i++)
        dims[i] = e->dim[t.label[i]];
    t.value = reshaped(import, y, t.rank, dims);
    return t;
}

static struct term matrix_product(struct ipex_import *import, const struct einsum *e, struct term a,
                                  struct term b, const struct parts *p) {
    const bool linear = !p->batch.count && b.value->constant && !a.value->constant;
    struct ipex_node *last = import->graph->last;
    struct ipex_value *w = as_matrix(import, e, &b, &p->batch, &p->inner, &p->columns, false);
    if (linear)
        ipex_import_fold(import, last); /* a weight is a constant as it stands */
    struct ipex_value *x = as_matrix(import, e, &a, &p->batch, &p->rows, &p->inner, linear);
    return taken_apart(
        import, e, linear ? ipex_build_linear(import, x, w, true) : ipex_build_matmul(import, x, w),
        p);
}

/* Nothing is contracted: a's axes, then those that only b has; each operand has 1 where it lacks
 * one. */
static struct term elementwise(struct ipex_import *import, struct term a, struct term b) {
    struct term y = a;
    int32_t of_b[IPEX_MAX_RANK], count = 0;
    int64_t a_dims[2 * IPEX_MAX_RANK], b_dims[2 * IPEX_MAX_RANK];
    for (int32_t i = 0; i < a.rank; i++)
        if (has(labels_of(&b), a.label[i]))
            of_b[count++] = a.label[i];
    for (int32_t i = 0; i < b.rank; i++)
        if (!has(labels_of(&a), b.label[i]))
            y.label[y.rank++] = of_b[count++] = b.label[i];
    if (y.rank > IPEX_MAX_RANK) {
        ipex_import_refuse(import, "a product of %d axes; at most 8 are supported", y.rank);
        y.value = NULL;
        return y;
    }
    arrange(import, &b, of_b);
    for (int32_t i = 0; i < y.rank; i++) {
        const int32_t at = axis_of(&b, y.label[i]);
        a_dims[i] = i < a.rank ? a.value->dims[i] : 1;
        b_dims[i] = at < b.rank ? b.value->dims[at] : 1;
    }
    a.value = reshaped(import, a.value, y.rank, a_dims);
    b.value = reshaped(import, b.value, y.rank, b_dims);
    y.value = ipex_build_binary(import, IPEX_STEP_mul, a.value, b.value);
    return y;
}

/* Which operand is the right one: a constant that can be a linear layer's weight, else the one with
 * the result's last axis of the two. */
static bool swaps(const struct einsum *e, const struct term *a, const struct term *b,
                  bool has_batch) {
    if (!has_batch && a->value->constant != b->value->constant)
        return a->value->constant != NULL;
    for (int32_t i = e->result.rank - 1; i >= 0; i--) {
        const bool in_a = has(labels_of(a), e->result.label[i]),
                   in_b = has(labels_of(b), e->result.label[i]);
        if (in_a != in_b)
            return in_a;
    }
    return false;
}

static struct term product(struct ipex_import *import, const struct einsum *e, struct term a,
                           struct term b, uint64_t needed) {
    drop(import, &a, ~(needed | labels_of(&b)));
    drop(import, &b, ~(needed | labels_of(&a)));
    const uint64_t both = labels_of(&a) & labels_of(&b);
    if (!a.value || !b.value || !(both & ~needed))
        return a.value && b.value ? elementwise(import, a, b) : (struct term){.value = NULL};
    if (swaps(e, &a, &b, (both & needed) != 0)) {
        const struct term first = a;
        a = b;
        b = first;
    }
    const struct parts p = {.batch = in_order(e, &a, both & needed),
                            .inner = in_order(e, &a, both & ~needed),
                            .rows = in_order(e, &a, labels_of(&a) & ~both),
                            .columns = in_order(e, &b, labels_of(&b) & ~both)};
    if (p.batch.count + p.rows.count + p.columns.count <= IPEX_MAX_RANK &&
        p.batch.count + 2 <= IPEX_MAX_RANK)
        return matrix_product(import, e, a, b, &p);
    ipex_import_refuse(import, "a product of more than 8 axes is not supported");
    return (struct term){.value = NULL};
}

/* ---- the operator ---- */

/* Axes of one element that have more in another operand are left to that one. */
static void drop_ones(struct ipex_import *import, const struct einsum *e, struct term *t) {
    uint64_t ones = 0;
    for (int32_t i = 0; i < t->rank; i++)
        if (t->value->dims[i] == 1 && e->dim[t->label[i]] != 1)
            ones |= UINT64_C(1) << t->label[i];
    drop(import, t, ones);
}

/* Labels that the result has, or an operand from `first` on. */
static uint64_t needed_from(const struct einsum *e, int32_t first) {
    uint64_t needed = labels_of(&e->result);
    for (int32_t k = first; k < e->operands; k++)
        needed |= labels_of(&e->operand[k]);
    return needed;
}

static void import_sum(struct ipex_import *import) {
    struct einsum e = {.operands = 0};
    if (!read_equation(import, &e))
        return;
    for (int32_t k = 0; k < e.operands; k++) {
        if (!take_diagonals(import, &e.operand[k]))
            return;
        drop_ones(import, &e, &e.operand[k]);
    }
    struct term y = e.operand[0];
    for (int32_t k = 1; y.value && k < e.operands; k++)
        y = product(import, &e, y, e.operand[k], needed_from(&e, k + 1));
    drop(import, &y, ~labels_of(&e.result));
    if (!y.value)
        return;
    arrange(import, &y, e.result.label);
    ipex_import_out(import, 0, y.value);
}

const struct ipex_import_op ipex_import_einsum[] = {
    {"Einsum", import_sum},
    {NULL, NULL},
};
