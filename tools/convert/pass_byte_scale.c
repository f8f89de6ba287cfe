/* SPDX-License-Identifier: Apache-2.0 */
/* What a layer on integers (pass_integer.c) rounds to bytes it has scaled twice: the sum, by the
 * scales of what was multiplied, and the result, by the scale of the bytes. Both are one where
 * nothing but a clamp stands between, and kernels have quick loops for what is scaled once. */
#include "tools/convert/passes.h"

#include <float.h>
#include <math.h>

/* The sums' scales and bias times that, if all of them are finite. */
static bool scale_sums(struct ipex_graph *graph, struct ipex_fold *fold, double by) {
    double *scale = ipex_arena_array(&graph->arena, (size_t)fold->n, sizeof *scale);
    double *bias = ipex_arena_array(&graph->arena, (size_t)fold->n, sizeof *bias);
    for (int64_t i = 0; i < fold->n; i++) {
        scale[i] = fold->scale[i] * by;
        bias[i] = fold->bias[i] * by;
        if (!(fabs(scale[i]) <= (double)FLT_MAX && fabs(bias[i]) <= (double)FLT_MAX))
            return false;
    }
    fold->scale = scale;
    fold->bias = bias;
    return true;
}

/* What the first rounding is of. */
static bool scale_first(struct ipex_graph *graph, struct ipex_node *node) {
    struct ipex_integer_layer *integer = node->integer;
    double *by = integer->middle ? &integer->m_scale : &integer->y_scale;
    if (!scale_sums(graph, &node->fold, *by))
        return false;
    if (!integer->middle)
        integer->r_scale *= *by;
    *by = 1;
    return true;
}

static bool scale_second(struct ipex_integer_layer *integer) {
    const double by = integer->y_scale,
                 scaled[3] = {integer->m_unit * by, integer->m_shift * by, integer->r_scale * by};
    for (int i = 0; i < 3; i++)
        if (!(fabs(scaled[i]) <= (double)FLT_MAX))
            return false;
    integer->m_unit = scaled[0];
    integer->m_shift = scaled[1];
    integer->r_scale = scaled[2];
    integer->y_scale = 1;
    return true;
}

/* Bounds of a clamp grow with what they bound. */
static bool may_scale_result(const struct ipex_node *node) {
    const enum ipex_act act = node->epilogue.act;
    return act == IPEX_ACT_none ||
           ((act == IPEX_ACT_relu || act == IPEX_ACT_clip) && node->integer->y_scale > 0);
}

void ipex_pass_byte_scale(struct ipex_graph *graph) {
    for (struct ipex_node *node = graph->first; node; node = node->next) {
        struct ipex_integer_layer *integer = node->integer;
        if (!integer || !integer->requantised)
            continue;
        const bool result = may_scale_result(node);
        const double by = integer->y_scale;
        bool done = integer->middle || result ? scale_first(graph, node) : false;
        if (done && integer->middle)
            done = result && scale_second(integer);
        if (done && node->epilogue.act == IPEX_ACT_clip) {
            node->epilogue.a *= (float)by;
            node->epilogue.b *= (float)by;
        }
        ipex_ledger_add(graph->ledger, "byte_scale", node->name,
                        done ? IPEX_REASON_applied : IPEX_REASON_scaled_behind,
                        done ? "scaled once before it is rounded" : NULL);
    }
}
