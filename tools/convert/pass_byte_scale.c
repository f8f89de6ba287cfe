/* SPDX-License-Identifier: Apache-2.0 */
/* What a layer on integers (pass_integer.c) rounds to bytes it has scaled twice: the sum, by the
 * scales of what was multiplied, and the result, by the scale of the bytes. Both are one where
 * nothing but a clamp stands between, and kernels have quick loops for what is scaled once. */
#include "tools/convert/quantisation.h"

#include <float.h>
#include <math.h>

/* n numbers times that; NULL where one is not finite. */
static double *scaled(struct ipex_graph *graph, const double *from, int64_t n, double by) {
    double *ret = ipex_arena_array(&graph->arena, (size_t)n, sizeof *ret);
    for (int64_t i = 0; i < n; i++) {
        ret[i] = from[i] * by;
        if (!(fabs(ret[i]) <= (double)FLT_MAX))
            return NULL;
    }
    return ret;
}

bool ipex_scale_result(struct ipex_graph *graph, struct ipex_node *node, double by) {
    struct ipex_integer_layer *integer = node->integer;
    struct ipex_middle *last = integer->middles > 0 ? &integer->middle[integer->middles - 1] : NULL;
    double **units = last ? &last->unit : &node->fold.scale;
    double **shifts = last ? &last->shift : &node->fold.bias;
    double *unit = scaled(graph, *units, node->fold.n, by);
    double *shift = scaled(graph, *shifts, node->fold.n, by);
    if (!unit || !shift || !(fabs(integer->r_scale * by) <= (double)FLT_MAX))
        return false;
    *units = unit;
    *shifts = shift;
    integer->r_scale *= by;
    return true;
}

/* Bounds of a clamp grow with what they bound. */
static bool may_scale_result(const struct ipex_node *node) {
    const enum ipex_act act = node->epilogue.act;
    return act == IPEX_ACT_none || (ipex_act_is_clamp(act) && node->integer->y_scale > 0);
}

void ipex_pass_byte_scale(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        struct ipex_integer_layer *integer = node->integer;
        if (!integer || !integer->requantised)
            continue;
        const double by = integer->y_scale;
        const bool done = may_scale_result(node) && ipex_scale_result(graph, node, by);
        if (done)
            integer->y_scale = 1;
        if (done && node->epilogue.act == IPEX_ACT_clip) {
            node->epilogue.a *= (float)by;
            node->epilogue.b *= (float)by;
        }
        ipex_ledger_add(graph->ledger, "byte_scale", node->name,
                        done ? IPEX_REASON_applied : IPEX_REASON_scaled_behind,
                        done ? "scaled once before it is rounded" : NULL);
    }
}
