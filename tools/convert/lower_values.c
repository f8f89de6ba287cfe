/* SPDX-License-Identifier: Apache-2.0 */
/* What lowering writes with: tensors, weights and nodes of the plan, and values in memory, each in
 * as many orders and halos as its readers ask for. */
#include "tools/convert/lower.h"

#include <stdlib.h>
#include <string.h>

const int32_t ipex_identity_order[IPEX_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};

/* ---- plan building blocks ---- */

int32_t ipex_plan_add_tensor(struct ipex_plan *plan, const struct ipex_plan_tensor *tensor) {
    plan->tensor =
        ipex_grow(plan->tensor, &plan->tensor_capacity, plan->tensors + 1, sizeof *plan->tensor);
    plan->tensor[plan->tensors] = *tensor;
    return (int32_t)plan->tensors++;
}

struct ipex_plan_tensor ipex_plan_new_tensor(const char *name, int32_t rank, const int64_t *dims) {
    struct ipex_plan_tensor t = {.name = name,
                                 .dtype = IPEX_DTYPE_f32,
                                 .rank = rank,
                                 .weight = -1,
                                 .view_of = -1,
                                 .view_axis = -1};
    memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
    return t;
}

struct ipex_plan_node *ipex_plan_add_node(struct ipex_plan *plan, enum ipex_op op, const char *name,
                                          int32_t output) {
    plan->node = ipex_grow(plan->node, &plan->node_capacity, plan->nodes + 1, sizeof *plan->node);
    struct ipex_plan_node *node = &plan->node[plan->nodes++];
    *node = (struct ipex_plan_node){.op = op, .name = name, .outputs = 1, .output = {output}};
    return node;
}

void ipex_plan_set_ints(struct ipex_plan *plan, struct ipex_plan_node *node, int32_t count) {
    node->ints = count;
    node->int_ = ipex_arena_array(plan->arena, (size_t)count + 1, sizeof *node->int_);
}

void ipex_lower_set_dim(struct lower *lower, struct ipex_plan_node *node, int32_t at, int64_t dim) {
    int64_t number;
    if (ipex_dim_number(&lower->graph->dims, dim, &number)) {
        node->int_[at] = (int32_t)number;
        return;
    }
    if (!node->dynamic)
        node->dynamic =
            ipex_arena_array(lower->plan->arena, (size_t)node->ints, sizeof *node->dynamic);
    node->dynamic[node->dynamics].at = at;
    node->dynamic[node->dynamics++].dim = dim;
}

void ipex_plan_set_floats(struct ipex_plan *plan, struct ipex_plan_node *node, int32_t count) {
    node->floats = count;
    node->float_ = ipex_arena_array(plan->arena, (size_t)count + 1, sizeof *node->float_);
}

int32_t ipex_plan_add_weight(struct ipex_plan *plan, const struct ipex_plan_weight *weight) {
    plan->weight =
        ipex_grow(plan->weight, &plan->weight_capacity, plan->weights + 1, sizeof *plan->weight);
    plan->weight[plan->weights] = *weight;
    struct ipex_plan_weight *w = &plan->weight[plan->weights];
    if (!ipex_weight_bytes(w->dtype, w->layout, w->dims, (unsigned)w->rank, &w->bytes))
        w->bytes = -1; /* write.c refuses it */
    return (int32_t)plan->weights++;
}

void ipex_plan_finish(struct ipex_plan *plan) {
    free(plan->tensor);
    free(plan->node);
    free(plan->weight);
    free(plan->answer);
    *plan = (struct ipex_plan){0};
}

/* What stands for 0 in the halo of a value that is stored in bytes. */
static void set_halo_value(struct ipex_plan_tensor *t, const struct ipex_value *value) {
    t->halo_value = t->dtype == IPEX_DTYPE_u8 ? value->zero_byte : 0;
}

static bool is_plain_fold(const struct ipex_fold *fold) {
    return !fold || (!fold->scale && !fold->k_order && !fold->parts);
}

/* A weight that an earlier site packed in the same way, or a new one. */
static int32_t intern_weight(struct ipex_plan *plan, const struct ipex_plan_weight *w) {
    for (size_t i = 0; i < plan->weights; i++) {
        const struct ipex_plan_weight *o = &plan->weight[i];
        bool plain_fold = is_plain_fold(w->fold), other_plain = is_plain_fold(o->fold);
        if (w->source && o->source == w->source && o->recipe == w->recipe && o->dtype == w->dtype &&
            o->rank == w->rank && plain_fold && other_plain && o->weight_kn == w->weight_kn &&
            !memcmp(o->dims, w->dims, sizeof w->dims) && !memcmp(o->perm, w->perm, sizeof w->perm))
            return (int32_t)i;
    }
    return ipex_plan_add_weight(plan, w);
}

int32_t ipex_lower_weight(struct lower *lower, const struct ipex_plan_weight *weight) {
    struct ipex_plan_tensor t = ipex_plan_new_tensor(weight->name, weight->rank, weight->dims);
    t.dtype = weight->dtype;
    t.weight = intern_weight(lower->plan, weight);
    return ipex_plan_add_tensor(lower->plan, &t);
}

/* ---- values in memory ---- */

void ipex_physical_dims(const int64_t *dims, const int32_t *order, int32_t rank, int64_t *ret) {
    for (int32_t i = 0; i < rank; i++)
        ret[i] = dims[order[i]];
}

void ipex_lower_add_variant(struct lower *lower, struct ipex_value *value,
                            const struct variant *variant) {
    struct variant *v = ipex_arena_alloc(lower->plan->arena, sizeof *v);
    *v = *variant;
    v->next = value->layout->variants;
    value->layout->variants = v;
}

struct variant ipex_variant(int32_t tensor, int32_t rank, const int32_t *order) {
    struct variant v = {.tensor = tensor, .rank = rank};
    memcpy(v.order, order, (size_t)rank * sizeof *order);
    return v;
}

/* As ipex_lower_own, of a value whose concatenation has its tensor. */
static int32_t place(struct lower *lower, struct ipex_value *value) {
    struct ipex_value_layout *l = value->layout;
    int64_t dims[IPEX_MAX_RANK];
    ipex_physical_dims(value->dims, l->order, value->rank, dims);
    struct ipex_plan_tensor t = ipex_plan_new_tensor(value->name, value->rank, dims);
    t.dtype = ipex_stored_dtype(value);
    set_halo_value(&t, value);
    if (l->concat) {
        t.view_of = l->concat->layout->own;
        for (int32_t i = 0; i < value->rank; i++)
            if (l->order[i] == l->concat_axis)
                t.view_axis = i;
        t.view_start = l->concat_start;
        if (t.view_axis == value->rank - 1)
            ipex_plan_share_halo(lower->plan, &t);
    } else {
        memcpy(t.halo, l->halo, sizeof t.halo);
    }
    l->own = ipex_plan_add_tensor(lower->plan, &t);
    struct variant v = ipex_variant(l->own, value->rank, l->order);
    ipex_lower_add_variant(lower, value, &v);
    return l->own;
}

/* Concatenations of concatenations from the outermost on. */
int32_t ipex_lower_own(struct lower *lower, struct ipex_value *value) {
    for (;;) {
        struct ipex_value *outer = value;
        while (outer->layout->concat && !outer->layout->concat->layout->variants)
            outer = outer->layout->concat;
        const int32_t tensor = place(lower, outer);
        if (outer == value)
            return tensor;
    }
}

/* The sequences of axes that are not 1 agree: both lie the same way in memory. `pad`: leading ones
 * that the second was given. */
static bool same_order(const struct ipex_value *value, const struct variant *v,
                       const int32_t *order, int32_t rank) {
    int32_t pad = rank - value->rank, at = 0;
    for (int32_t i = 0; i < rank; i++) {
        int32_t axis = order[i] - pad;
        if (axis < 0 || value->dims[axis] == 1)
            continue;
        while (value->dims[v->order[at]] == 1)
            at++;
        if (v->order[at++] != axis)
            return false;
    }
    return true;
}

void ipex_plan_share_halo(const struct ipex_plan *plan, struct ipex_plan_tensor *t) {
    const struct ipex_plan_tensor *parent = &plan->tensor[t->view_of];
    memcpy(t->halo, parent->halo, sizeof t->halo);
    t->halo_value = parent->halo_value;
}

bool ipex_plan_has_halo(const struct ipex_plan_tensor *t) {
    return t->halo[0] || t->halo[1] || t->halo[2] || t->halo[3];
}

/* The halo of t, which holds the value, is as wide as needed and of what stands for 0 in it. */
static bool halo_suffices(const struct ipex_plan_tensor *t, const struct ipex_value *value,
                          const uint16_t *need) {
    const bool other = t->dtype == IPEX_DTYPE_u8 && t->halo_value != value->zero_byte;
    for (int i = 0; i < 4; i++)
        if (need && (t->halo[i] < need[i] || (need[i] && other)))
            return false;
    return true;
}

bool ipex_plan_is_dense(const struct ipex_plan *plan, int32_t tensor) {
    for (const struct ipex_plan_tensor *t = &plan->tensor[tensor];; t = &plan->tensor[t->view_of]) {
        if (ipex_plan_has_halo(t) || t->view_axis >= 0 || t->weight >= 0)
            return false;
        if (t->view_of < 0)
            return true;
    }
}

int32_t ipex_lower_view(struct lower *lower, int32_t tensor, int32_t rank, const int64_t *dims) {
    struct ipex_plan_tensor t = ipex_plan_new_tensor(lower->plan->tensor[tensor].name, rank, dims);
    t.dtype = lower->plan->tensor[tensor].dtype;
    t.view_of = tensor;
    return ipex_plan_add_tensor(lower->plan, &t);
}

/* The index of the first dim from `at` on that is not 1; rank: there is none. */
static int32_t next_real(const int64_t *dims, int32_t rank, int32_t at) {
    while (at < rank && dims[at] == 1)
        at++;
    return at;
}

/* Which of `dims` the dim `axis` of the tensor, or where that is 1 the next that is not, has
 * become; it may have been split, then it is the first, and *ret_inner what the others come to. -1
 * where the dims differ otherwise by more than ones, or nothing comes next. */
static int32_t find_cut(struct ipex_dims *table, const struct ipex_plan_tensor *t, int32_t axis,
                        int32_t rank, const int64_t *dims, int64_t *ret_inner) {
    int32_t i = next_real(t->dims, t->rank, 0), k = next_real(dims, rank, 0), cut = -1;
    *ret_inner = 1;
    while (i < t->rank && k < rank) {
        int64_t joined = dims[k];
        if (cut < 0 && i >= axis) {
            cut = k;
            for (int32_t next; joined != t->dims[i] && (next = next_real(dims, rank, k + 1)) < rank;
                 k = next) {
                *ret_inner = ipex_dim_mul(table, *ret_inner, dims[next]);
                joined = ipex_dim_mul(table, joined, dims[next]);
            }
        }
        if (joined != t->dims[i])
            return -1;
        i = next_real(t->dims, t->rank, i + 1);
        k = next_real(dims, rank, k + 1);
    }
    return i == t->rank && k == rank ? cut : -1;
}

int32_t ipex_lower_slice_view(struct lower *lower, int32_t tensor, int32_t rank,
                              const int64_t *dims) {
    struct ipex_dims *table = &lower->graph->dims;
    struct ipex_plan_tensor slice = lower->plan->tensor[tensor];
    const int32_t axis = slice.view_axis;
    if (axis < 0 || ipex_plan_has_halo(&slice) || !ipex_plan_is_dense(lower->plan, slice.view_of))
        return -1;
    int64_t inner, length = lower->plan->tensor[slice.view_of].dims[axis];
    const int32_t cut = find_cut(table, &slice, axis, rank, dims, &inner);
    if (cut < 0)
        return -1;
    if (slice.dims[axis] == 1) { /* a cut of one is as wide as what lies in it */
        length = ipex_dim_mul(table, length, dims[cut]);
        slice.view_start = ipex_dim_mul(table, slice.view_start, dims[cut]);
    } else {
        length = ipex_dim_exact_div(table, length, inner);
        slice.view_start = ipex_dim_exact_div(table, slice.view_start, inner);
    }
    if (length == IPEX_DIM_NONE || slice.view_start == IPEX_DIM_NONE)
        return -1;
    int64_t whole[IPEX_MAX_RANK];
    memcpy(whole, dims, (size_t)rank * sizeof *dims);
    whole[cut] = length;
    slice.view_of = ipex_lower_view(lower, slice.view_of, rank, whole);
    slice.view_axis = cut;
    slice.rank = rank;
    memcpy(slice.dims, dims, (size_t)rank * sizeof *dims);
    return ipex_plan_add_tensor(lower->plan, &slice);
}

/* A constant, stored in the order asked for, of its own type or rounded to bf16. */
static int32_t constant_tensor(struct lower *lower, struct ipex_value *value, enum ipex_dtype dtype,
                               int32_t rank, const int64_t *dims, const int32_t *order) {
    struct ipex_plan_weight w = {.name = value->name,
                                 .dtype = dtype,
                                 .layout = IPEX_LAYOUT_plain,
                                 .rank = rank,
                                 .recipe = IPEX_RECIPE_permute,
                                 .source = value};
    memcpy(w.dims, dims, (size_t)rank * sizeof *dims);
    memcpy(w.perm, order, (size_t)rank * sizeof *order);
    return ipex_lower_weight(lower, &w);
}

int32_t ipex_lower_materialise(struct lower *lower, struct ipex_value *value, int32_t from,
                               const int32_t *from_order, int32_t rank, const int64_t *dims,
                               const int32_t *order, const uint16_t *halo) {
    struct ipex_plan *plan = lower->plan;
    struct ipex_plan_tensor t = ipex_plan_new_tensor(value->name, rank, dims);
    t.dtype = ipex_stored_dtype(value);
    set_halo_value(&t, value);
    if (halo)
        memcpy(t.halo, halo, sizeof t.halo);
    int32_t to = ipex_plan_add_tensor(plan, &t);
    bool moves = memcmp(order, from_order, (size_t)rank * sizeof *order) != 0;
    struct ipex_plan_node *node =
        ipex_plan_add_node(plan, moves ? IPEX_OP_transpose : IPEX_OP_copy, lower->step_name, to);
    node->inputs = 1;
    node->input[0] = from;
    if (moves) {
        ipex_plan_set_ints(plan, node, rank);
        for (int32_t i = 0; i < rank; i++)
            for (int32_t k = 0; k < rank; k++)
                if (from_order[k] == order[i])
                    node->int_[i] = k;
    }
    ipex_ledger_add(lower->graph->ledger, "layout", lower->step_name,
                    value->producer ? IPEX_REASON_not_adjacent : IPEX_REASON_port,
                    ipex_arena_printf(plan->arena, "%s is copied into %s%s before this node",
                                      value->name,
                                      moves ? "another axis order" : "a place of its own",
                                      ipex_plan_has_halo(&t) ? " with room for padding" : ""));
    return to;
}

/* The value's dims with leading ones, and how they lie in memory in this order. */
static void padded_dims(const struct ipex_value *value, int32_t rank, const int32_t *order,
                        int64_t *padded, int64_t *dims) {
    const int32_t pad = rank - value->rank;
    for (int32_t i = 0; i < rank; i++)
        padded[i] = i < pad ? 1 : value->dims[i - pad];
    ipex_physical_dims(padded, order, rank, dims);
}

int32_t ipex_lower_tensor(struct lower *lower, struct ipex_value *value, int32_t rank,
                          const int32_t *order, const uint16_t *halo) {
    int64_t padded[IPEX_MAX_RANK], dims[IPEX_MAX_RANK];
    int32_t pad = rank - value->rank;
    padded_dims(value, rank, order, padded, dims);
    const bool any_halo = halo && (halo[0] || halo[1] || halo[2] || halo[3]);
    if (value->constant) { /* stored without room for padding */
        const int32_t stored = constant_tensor(lower, value, value->dtype, rank, dims, order);
        return any_halo
                   ? ipex_lower_materialise(lower, value, stored, order, rank, dims, order, halo)
                   : stored;
    }
    struct variant *same = NULL;
    for (struct variant *v = value->layout->variants; v; v = v->next) {
        const struct ipex_plan_tensor *t = &lower->plan->tensor[v->tensor];
        if (!same_order(value, v, order, rank))
            continue;
        if (t->rank == rank && !memcmp(t->dims, dims, (size_t)rank * sizeof *dims) &&
            halo_suffices(t, value, halo))
            return v->tensor;
        if (ipex_plan_is_dense(lower->plan, v->tensor))
            same = v;
    }
    if (same && !any_halo)
        return ipex_lower_view(lower, same->tensor, rank, dims);
    /* from a variant of the right rank, or through a dense copy seen with leading ones */
    struct variant *from = same ? same : value->layout->variants;
    int32_t source = from->tensor, from_order[IPEX_MAX_RANK];
    if (rank != value->rank || lower->plan->tensor[source].rank != rank) {
        int64_t flat[IPEX_MAX_RANK];
        if (!ipex_plan_is_dense(lower->plan, source)) {
            ipex_physical_dims(value->dims, from->order, value->rank, flat);
            source = ipex_lower_materialise(lower, value, source, from->order, value->rank, flat,
                                            from->order, NULL);
        }
        for (int32_t i = 0; i < rank; i++) {
            from_order[i] = i < pad ? i : from->order[i - pad] + pad;
            flat[i] = padded[from_order[i]];
        }
        source = ipex_lower_view(lower, source, rank, flat);
    } else {
        memcpy(from_order, from->order, sizeof from_order);
    }
    if (same && memcmp(from_order, order,
                       (size_t)rank * sizeof *order)) { /* same bytes, other dims: a view, then a
                                                           plain copy into the halo */
        source = ipex_lower_view(lower, source, rank, dims);
        memcpy(from_order, order, (size_t)rank * sizeof *order);
    }
    int32_t tensor =
        ipex_lower_materialise(lower, value, source, from_order, rank, dims, order, halo);
    if (rank == value->rank) {
        struct variant v = ipex_variant(tensor, rank, order);
        ipex_lower_add_variant(lower, value, &v);
    }
    return tensor;
}

int32_t ipex_lower_identity(struct lower *lower, struct ipex_value *value) {
    return ipex_lower_tensor(lower, value, value->rank, ipex_identity_order, NULL);
}

int32_t ipex_lower_as(struct lower *lower, struct ipex_value *value, enum ipex_dtype dtype,
                      int32_t rank, const int32_t *order, const uint16_t *halo) {
    int64_t padded[IPEX_MAX_RANK], dims[IPEX_MAX_RANK];
    if (ipex_stored_dtype(value) == dtype)
        return ipex_lower_tensor(lower, value, rank, order, halo);
    padded_dims(value, rank, order, padded, dims);
    if (value->constant && !halo)
        return constant_tensor(lower, value, dtype, rank, dims, order);
    const int32_t from = ipex_lower_tensor(lower, value, rank, order, NULL);
    struct ipex_plan *plan = lower->plan;
    struct ipex_plan_tensor t = ipex_plan_new_tensor(value->name, rank, plan->tensor[from].dims);
    for (struct variant *v = value->layout ? value->layout->cast : NULL; v; v = v->next) {
        const struct ipex_plan_tensor *have = &plan->tensor[v->tensor];
        if (have->dtype == dtype && have->rank == rank &&
            !memcmp(v->order, order, (size_t)rank * sizeof *order) &&
            !memcmp(have->dims, t.dims, (size_t)rank * sizeof *t.dims) &&
            halo_suffices(have, value, halo))
            return v->tensor;
    }
    t.dtype = dtype;
    set_halo_value(&t, value);
    if (halo)
        memcpy(t.halo, halo, sizeof t.halo);
    const int32_t tensor = ipex_plan_add_tensor(plan, &t);
    struct ipex_plan_node *step = ipex_plan_add_node(plan, IPEX_OP_cast, lower->step_name, tensor);
    step->inputs = 1;
    step->input[0] = from;
    if (value->layout) {
        struct variant *v = ipex_arena_alloc(plan->arena, sizeof *v);
        *v = ipex_variant(tensor, rank, order);
        v->next = value->layout->cast;
        value->layout->cast = v;
    }
    return tensor;
}
