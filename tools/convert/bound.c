/* SPDX-License-Identifier: Apache-2.0 */
/* Storages that are larger between the ends of the ranges than at both of them, as [h, 20 - h] is.
 * A session has for every storage the most that it takes at either end, so the file says of such
 * ones how much room they want (Tensor.room). Views of such sizes, of which steps would make copies
 * for themselves, get a storage of their own. */
#include <stdlib.h>
#include <string.h>

#include "format/dims.h"
#include "tools/convert/lower.h"

/* ---- elements at many sizes ---- */

static bool all_rise(const struct ipex_dims *dims, const struct ipex_plan_tensor *t) {
    for (int32_t i = 0; i < t->rank; i++)
        if (!ipex_dim_rises(dims, t->dims[i]))
            return false;
    return true;
}

/* All values of the symbols that some dims name, or, where these are many, so many of each, evenly
 * spread. */
#define MOST_PLACES 65536

struct grid {
    int64_t symbol[IPEX_SYMBOLS_MAX]; /* values at a place */
    int64_t points[IPEX_SYMBOLS_MAX]; /* 1: not named */
    int64_t places;
    bool all;         /* no size is left out */
    double *elements; /* [places], the last symbol fastest; malloc */
};

static void count_points(const struct ipex_dims *dims, int64_t dim, int64_t *points) {
    int64_t number;
    if (ipex_dim_number(dims, dim, &number))
        return;
    const struct ipex_dim_sum *sum = &dims->sum[-1 - dim];
    for (int32_t i = 0; i < sum->terms; i++)
        for (int32_t k = 0; k < sum->term[i].factors; k++) {
            const struct ipex_dim_atom *atom = &dims->atom[sum->term[i].factor[k]];
            if (atom->op == IPEX_DIM_OP_symbol) {
                const struct ipex_symbol *s = &dims->symbol[atom->a];
                points[atom->a] = (s->hi - s->lo) / s->step + 1;
            } else {
                count_points(dims, atom->a, points);
                count_points(dims, atom->b, points);
            }
        }
}

/* Halves the most points until all places together are few enough. */
static void count_places(struct grid *grid, size_t symbols) {
    for (grid->all = true;; grid->all = false) {
        size_t most = 0;
        double places = 1;
        for (size_t i = 0; i < symbols; i++) {
            places *= (double)grid->points[i];
            most = grid->points[i] > grid->points[most] ? i : most;
        }
        grid->places = (int64_t)places;
        if (places <= MOST_PLACES)
            return;
        grid->points[most] = (grid->points[most] + 1) / 2;
    }
}

static void find_place(const struct ipex_dims *dims, struct grid *grid, int64_t place) {
    for (size_t i = dims->symbols; i-- > 0;) {
        const struct ipex_symbol *s = &dims->symbol[i];
        const int64_t point = place % grid->points[i], steps = (s->hi - s->lo) / s->step;
        grid->symbol[i] = s->lo;
        if (grid->points[i] > 1)
            grid->symbol[i] += s->step * (point * steps / (grid->points[i] - 1));
        place /= grid->points[i];
    }
}

/* Of a storage with these dims, what lies around and between them included (format/FORMAT.md). */
static double elements_of(const struct ipex_plan_tensor *t, const int64_t *dim) {
    double elements = 1;
    if (!ipex_plan_has_halo(t)) {
        for (int32_t i = 0; i < t->rank; i++)
            elements *= (double)dim[i];
        return elements;
    }
    const int64_t line = 64 / ipex_dtype_size(t->dtype);
    int64_t row = (t->halo[1] + dim[2] + t->halo[3]) * dim[3];
    if (t->halo[1] + t->halo[3] > 0)
        row = ((row + line - 1) / line | 1) * line;
    return (double)dim[0] * (double)(t->halo[0] + dim[1] + t->halo[2]) * (double)row;
}

static void measure(const struct ipex_dims *dims, const struct ipex_plan_tensor *t,
                    struct grid *ret) {
    for (size_t i = 0; i < dims->symbols; i++)
        ret->points[i] = 1;
    for (int32_t i = 0; i < t->rank; i++)
        count_points(dims, t->dims[i], ret->points);
    count_places(ret, dims->symbols);
    ret->elements = ipex_alloc((size_t)ret->places * sizeof *ret->elements);
    for (int64_t i = 0; i < ret->places; i++) {
        int64_t dim[IPEX_MAX_RANK];
        find_place(dims, ret, i);
        for (int32_t k = 0; k < t->rank; k++)
            dim[k] = ipex_dim_value(dims, t->dims[k], ret->symbol);
        ret->elements[i] = elements_of(t, dim);
    }
}

/* Whether they never fall, or with `sign` -1 never rise, along any symbol. */
static bool one_way(const struct ipex_dims *dims, const struct grid *grid, double sign) {
    int64_t stride = 1;
    for (size_t s = dims->symbols; s-- > 0; stride *= grid->points[s])
        for (int64_t i = 0; i < grid->places; i++)
            if (i / stride % grid->points[s] + 1 < grid->points[s] &&
                sign * (grid->elements[i + stride] - grid->elements[i]) < 0)
                return false;
    return true;
}

/* What a storage of the rising bounds of its dims has at most; IPEX_DIM_NONE where that cannot be
 * said. */
static int64_t rising_elements(struct ipex_dims *dims, const struct ipex_plan_tensor *t) {
    int64_t dim[IPEX_MAX_RANK], elements = 1;
    for (int32_t i = 0; i < t->rank; i++)
        dim[i] = ipex_dim_rising(dims, t->dims[i]);
    if (ipex_plan_has_halo(t)) {
        const int64_t lines = 2 * 64 / ipex_dtype_size(t->dtype); /* at the end of a row, at most */
        dim[1] = ipex_dim_add(dims, dim[1], t->halo[0] + t->halo[2]);
        dim[2] = ipex_dim_add(dims, dim[2], t->halo[1] + t->halo[3]);
        dim[2] = ipex_dim_add(dims, ipex_dim_mul(dims, dim[2], dim[3]), lines);
        dim[3] = 1;
    }
    for (int32_t i = 0; i < t->rank; i++)
        elements = ipex_dim_mul(dims, elements, dim[i]);
    return elements;
}

/* The most at any size, of every dim by itself where sizes are left out. */
static int64_t most_elements(const struct ipex_dims *dims, const struct ipex_plan_tensor *t,
                             const struct grid *grid) {
    int64_t least, dim[IPEX_MAX_RANK];
    double most = 0;
    for (int32_t k = 0; k < t->rank; k++)
        ipex_dim_range(dims, t->dims[k], &least, &dim[k]);
    for (int64_t i = 0; i < grid->places; i++)
        most = grid->elements[i] > most ? grid->elements[i] : most;
    most = grid->all ? most : elements_of(t, dim);
    return most > (double)IPEX_MAX_NUMEL ? IPEX_MAX_NUMEL : (int64_t)most;
}

/* 0 where an end of any range inside the file's has the most, else a dim that rises and is as many
 * or more. */
static int64_t find_room(struct ipex_dims *dims, const struct ipex_plan_tensor *t) {
    struct grid grid;
    int64_t room = 0;
    if (all_rise(dims, t))
        return 0;
    measure(dims, t, &grid);
    if (!one_way(dims, &grid, 1) && !one_way(dims, &grid, -1)) {
        const int64_t most = most_elements(dims, t, &grid), rising = rising_elements(dims, t);
        room = rising == IPEX_DIM_NONE ? most : ipex_dim_min(dims, rising, most);
    }
    free(grid.elements);
    return room;
}

/* ---- views ---- */

static bool names(const int32_t *tensors, int32_t count, int32_t tensor) {
    for (int32_t i = 0; i < count; i++)
        if (tensors[i] == tensor)
            return true;
    return false;
}

/* The first node that reads what no node writes: it looks at what others write. The number of nodes
 * where a node writes it, or none reads it. */
static size_t first_reader(const struct ipex_plan *plan, int32_t tensor) {
    size_t ret = plan->nodes;
    for (size_t i = plan->nodes; i-- > 0;) {
        const struct ipex_plan_node *node = &plan->node[i];
        if (names(node->output, node->outputs, tensor))
            return plan->nodes;
        if (names(node->input, node->inputs, tensor))
            ret = i;
    }
    return ret;
}

/* Readers of a view get a copy of it, by a step before the first of them: some would make one each,
 * in memory of which a session has as much as they take at the ends. */
static void copy_view(struct ipex_plan *plan, int32_t tensor, size_t first) {
    const struct ipex_plan_tensor *view = &plan->tensor[tensor];
    struct ipex_plan_tensor t = ipex_plan_new_tensor(view->name, view->rank, view->dims);
    t.dtype = view->dtype;
    memcpy(t.halo, view->halo, sizeof t.halo);
    const int32_t copy = ipex_plan_add_tensor(plan, &t);
    for (size_t i = first; i < plan->nodes; i++)
        for (int32_t k = 0; k < plan->node[i].inputs; k++)
            if (plan->node[i].input[k] == tensor)
                plan->node[i].input[k] = copy;
    struct ipex_plan_node step = *ipex_plan_add_node(plan, IPEX_OP_copy, t.name, copy);
    step.inputs = 1;
    step.input[0] = tensor;
    memmove(&plan->node[first + 1], &plan->node[first],
            (plan->nodes - 1 - first) * sizeof *plan->node);
    plan->node[first] = step;
}

static void report(struct ipex_graph *graph, const struct ipex_plan_tensor *t) {
    const char *text = "";
    for (int32_t i = 0; i < t->rank; i++)
        text = ipex_arena_printf(&graph->arena, "%s%s%s", text, i ? ", " : "",
                                 ipex_dim_text(&graph->dims, t->dims[i]));
    ipex_ledger_add(
        graph->ledger, "room", t->name, IPEX_REASON_applied,
        ipex_arena_printf(&graph->arena,
                          "[%.200s] is larger between the ends of the ranges than at both: "
                          "sessions have room for %.100s elements",
                          text, ipex_dim_text(&graph->dims, t->room)));
}

void ipex_bound_storages(struct ipex_graph *graph, struct ipex_plan *plan) {
    for (int32_t i = 0; plan->dims->symbols && i < (int32_t)plan->tensors; i++) {
        struct ipex_plan_tensor *t = &plan->tensor[i];
        if (t->weight >= 0 || (t->view_of >= 0 && t->view_axis < 0))
            continue;
        const int64_t room = find_room(&graph->dims, t);
        if (!room)
            continue;
        if (t->view_of < 0) {
            t->room = room;
            report(graph, t);
            continue;
        }
        const size_t first = first_reader(plan, i);
        if (first < plan->nodes)
            copy_view(plan, i, first);
    }
}
