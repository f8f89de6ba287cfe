/* SPDX-License-Identifier: Apache-2.0 */
/* Which orders of axes in memory a reshape keeps: where it is a view, and what x has to be brought
 * into where it is none. */
#include "tools/convert/lower.h"

#include <string.h>

/* Axes that are not 1, in logical order. */
static int32_t real_axes(const struct ipex_value *value, int32_t *axes) {
    int32_t n = 0;
    for (int32_t i = 0; i < value->rank; i++)
        if (value->dims[i] != 1)
            axes[n++] = i;
    return n;
}

/* The order is that of these axes, but for dims of 1. */
static bool is_order(const struct ipex_value *y, const int32_t *order, const int32_t *real) {
    for (int32_t i = 0, p = 0; i < y->rank; i++)
        if (y->dims[order[i]] != 1 && order[i] != real[p++])
            return false;
    return true;
}

/* Dims of 1 go where they disturb least: the first axes first, others before the next real axis of
 * y, or at the end; of an image where images have them. */
static void insert_units(const struct ipex_value *y, const int32_t *real, int32_t n,
                         int32_t *ret_order) {
    int32_t out = 0;
    if (y->rank == 4 && is_order(y, ipex_channels_last, real)) {
        memcpy(ret_order, ipex_channels_last, sizeof ipex_channels_last);
        return;
    }
    while (out < y->rank && y->dims[out] == 1) {
        ret_order[out] = out;
        out++;
    }
    const int32_t leading = out;
    for (int32_t i = 0; i < n; i++) {
        int32_t first = real[i];
        while (first > leading && y->dims[first - 1] == 1)
            first--;
        for (int32_t u = first; u <= real[i]; u++)
            ret_order[out++] = u;
    }
    for (int32_t u = out; u < y->rank; u++)
        ret_order[u] = u;
}

/* Products of the first 0, 1, 2 ... of these axes' dims. */
static void prefixes(struct ipex_dims *dims, const struct ipex_value *value, const int32_t *axes,
                     int32_t n, int64_t *ret) {
    ret[0] = 1;
    for (int32_t i = 0; i < n; i++)
        ret[i + 1] = ipex_dim_mul(dims, ret[i], value->dims[axes[i]]);
}

/* Splits both lists of axes into the smallest groups of equal size: where their products agree. */
static bool group_axes(struct ipex_dims *dims, const struct ipex_value *x, const int32_t *xa,
                       int32_t xn, const struct ipex_value *y, const int32_t *ya, int32_t yn,
                       int32_t *group_of_x, int32_t *group_of_y) {
    int64_t px[IPEX_MAX_RANK + 1], py[IPEX_MAX_RANK + 1];
    int32_t i = 0, j = 0;
    prefixes(dims, x, xa, xn, px);
    prefixes(dims, y, ya, yn, py);
    for (int32_t group = 0; i < xn; group++) {
        int32_t to_x = i + 1, to_y = yn + 1;
        for (; to_x <= xn && to_y > yn; to_x += to_y > yn)
            for (to_y = j + 1; to_y <= yn && py[to_y] != px[to_x];)
                to_y++;
        if (to_x > xn || to_y > yn)
            return false;
        while (i < to_x)
            group_of_x[i++] = group;
        while (j < to_y)
            group_of_y[j++] = group;
    }
    return j == yn;
}

struct groups {
    int32_t xa[IPEX_MAX_RANK], ya[IPEX_MAX_RANK], xn, yn; /* axes that are not 1 */
    int32_t of_x[IPEX_MAX_RANK], of_y[IPEX_MAX_RANK];     /* the group of each of those */
    int32_t at[IPEX_MAX_RANK];                            /* indices of xa as they lie in memory */
};

static bool find_groups(struct ipex_dims *dims, const struct ipex_value *x, const int32_t *x_order,
                        const struct ipex_value *y, struct groups *g) {
    int32_t p = 0;
    g->xn = real_axes(x, g->xa);
    g->yn = real_axes(y, g->ya);
    for (int32_t i = 0; i < x->rank; i++)
        for (int32_t k = 0; k < g->xn; k++)
            if (g->xa[k] == x_order[i])
                g->at[p++] = k;
    return group_axes(dims, x, g->xa, g->xn, y, g->ya, g->yn, g->of_x, g->of_y);
}

bool ipex_reshape_order(struct ipex_dims *dims, const struct ipex_value *x, const int32_t *x_order,
                        const struct ipex_value *y, int32_t *ret_order) {
    struct groups g;
    int32_t real[IPEX_MAX_RANK], n = 0;
    if (!find_groups(dims, x, x_order, y, &g))
        return false;
    for (int32_t p = 0; p < g.xn; p++) {
        const int32_t axis = g.at[p], before = p > 0 ? g.at[p - 1] : -1;
        const bool begins = axis == 0 || g.of_x[axis - 1] != g.of_x[axis];
        if (!begins && before != axis - 1) /* joined axes must be neighbours in memory */
            return false;
        for (int32_t j = 0; begins && j < g.yn; j++)
            if (g.of_y[j] == g.of_x[axis])
                real[n++] = g.ya[j];
    }
    insert_units(y, real, n, ret_order);
    return true;
}

/* The axes of each group in their own order, where they lie next to each other in some order. */
static bool sort_groups(struct groups *g) {
    for (int32_t p = 0, end; p < g->xn; p = end) {
        const int32_t group = g->of_x[g->at[p]];
        int32_t first = 0;
        while (g->of_x[first] != group)
            first++;
        for (end = p; end < g->xn && g->of_x[g->at[end]] == group; end++)
            g->at[end] = first + end - p;
        if (first + end - p < g->xn && g->of_x[first + end - p] == group)
            return false; /* the others lie elsewhere */
    }
    return true;
}

/* Where they lie apart: as they are counted, but the group of the innermost axis behind all others
 * if that axis is its last, so that what lies there is moved as a whole (channels of an image whose
 * pixels change places). */
static void order_groups(struct groups *g, int32_t innermost) {
    const int32_t group = g->of_x[innermost];
    const bool ends = innermost + 1 == g->xn || g->of_x[innermost + 1] != group;
    int32_t p = 0;
    for (int32_t k = 0; k < g->xn; k++)
        if (!ends || g->of_x[k] != group)
            g->at[p++] = k;
    for (int32_t k = 0; k < g->xn; k++)
        if (ends && g->of_x[k] == group)
            g->at[p++] = k;
}

void ipex_reshape_source(struct ipex_dims *dims, const struct ipex_value *x, const int32_t *x_order,
                         const struct ipex_value *y, int32_t *ret_order) {
    struct groups g;
    const bool found = find_groups(dims, x, x_order, y, &g);
    const int32_t innermost = g.xn > 0 ? g.at[g.xn - 1] : 0;
    if (found && !sort_groups(&g))
        order_groups(&g, innermost);
    for (int32_t i = 0, p = 0; i < x->rank; i++)
        ret_order[i] = !found ? i : x->dims[x_order[i]] == 1 ? x_order[i] : g.xa[g.at[p++]];
}
