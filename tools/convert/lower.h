/* SPDX-License-Identifier: Apache-2.0 */
/* Between layout.c, which decides where values lie, and lower.c, which emits the steps. */
#ifndef IPEX_TOOLS_LOWER_H
#define IPEX_TOOLS_LOWER_H

#include "tools/convert/draft.h"

/* A tensor that holds a value: its axes, by logical number, in the order in which they lie in
 * memory. */
struct variant {
    int32_t tensor, rank;
    int32_t order[IPEX_MAX_RANK];
    struct variant *next;
};

struct ipex_value_layout {
    int32_t order[IPEX_MAX_RANK]; /* that its producer writes */
    uint16_t halo[4];             /* that its producer's tensor gets */
    bool holds_halo;              /* its producer writes a tensor of its own, which may have one */
    struct ipex_value *concat;    /* written straight into a slice of this value's tensor */
    int32_t concat_axis;          /* logical */
    int64_t concat_start;
    int32_t own; /* the tensor its producer writes */
    struct variant *variants;
    struct variant *bf16; /* as `variants`, rounded to bf16 */
};

struct lower {
    struct ipex_graph *graph;
    struct ipex_plan *plan;
    const char *step_name; /* of the source node that copies are emitted for */
};

extern const int32_t ipex_channels_last[4];

/* Gives every computed value a fresh layout: order, halo, concatenation slot. */
void ipex_layout(struct ipex_graph *graph);

/* The order of y where y is x's memory seen under y's dims; false where no order fits (axes that y
 * joins do not lie next to each other). */
bool ipex_reshape_order(struct ipex_dims *dims, const struct ipex_value *x, const int32_t *x_order,
                        const struct ipex_value *y, int32_t *ret_order);

/* The dtype policy (dtype.c): the node stores its weight in bf16, and takes x in bf16. */
bool ipex_weight_is_bf16(const struct ipex_graph *graph, const struct ipex_node *node);
bool ipex_reads_bf16(const struct ipex_graph *graph, const struct ipex_node *node);
/* Ledger rows of the policy. */
void ipex_dtype_report(struct ipex_graph *graph);

/* Why x is not written straight into y's tensor. */
enum ipex_reason ipex_concat_reason(const struct ipex_value *y, const struct ipex_value *x);

#endif
