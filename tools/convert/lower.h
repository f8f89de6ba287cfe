/* SPDX-License-Identifier: Apache-2.0 */
/* Between layout.c, which decides where values lie, lower_values.c, which makes tensors of them,
 * and lower.c and lower_layers.c, which emit the steps. */
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
    bool rounded;                 /* stored in bf16: storage.c */
    bool bytes;                   /* stored in u8, likewise */
    struct ipex_value *concat;    /* written straight into a slice of this value's tensor */
    int32_t concat_axis;          /* logical */
    int64_t concat_start;
    int32_t own; /* the tensor its producer writes */
    struct variant *variants;
    struct variant *cast; /* as `variants`, of another dtype by casts */
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

/* The order in which x has to lie for that, near the one given: that one, or with the axes that y
 * joins in their own order where they lie next to each other, else the order of its axes. */
void ipex_reshape_source(struct ipex_dims *dims, const struct ipex_value *x, const int32_t *x_order,
                         const struct ipex_value *y, int32_t *ret_order);

/* The dtype policy (dtype.c): the node multiplies by a constant that can be bf16; how it stores
 * that; it takes x in bf16. */
bool ipex_has_weight(const struct ipex_node *node);
enum ipex_dtype ipex_weight_dtype(const struct ipex_graph *graph, const struct ipex_node *node);
bool ipex_reads_bf16(const struct ipex_graph *graph, const struct ipex_node *node);
/* Operands of a product of activations that it multiplies: the first ones. */
int32_t ipex_factors(const struct ipex_node *node);
/* Ledger rows of the policy. */
void ipex_dtype_report(struct ipex_graph *graph);

/* storage.c: which values are stored in bf16 and in u8; their readers say how. */
void ipex_choose_storage(struct ipex_graph *graph);
enum ipex_dtype ipex_stored_dtype(const struct ipex_value *value);

/* ---- lower_values.c: the plan's building blocks ---- */

struct ipex_plan_tensor ipex_plan_new_tensor(const char *name, int32_t rank, const int64_t *dims);
/* Its number in the plan. */
int32_t ipex_plan_add_tensor(struct ipex_plan *plan, const struct ipex_plan_tensor *tensor);
/* Valid until the next node is added. */
struct ipex_plan_node *ipex_plan_add_node(struct ipex_plan *plan, enum ipex_op op, const char *name,
                                          int32_t output);
/* Room for so many attributes, zeroed. */
void ipex_plan_set_ints(struct ipex_plan *plan, struct ipex_plan_node *node, int32_t count);
void ipex_plan_set_floats(struct ipex_plan *plan, struct ipex_plan_node *node, int32_t count);
/* Attribute `at` is a dim: a number now, or an expression that the runtime evaluates. */
void ipex_lower_set_dim(struct lower *lower, struct ipex_plan_node *node, int32_t at, int64_t dim);
bool ipex_plan_has_halo(const struct ipex_plan_tensor *t);
/* t, a slice along the last axis, has its parent's. */
void ipex_plan_share_halo(const struct ipex_plan *plan, struct ipex_plan_tensor *t);
/* Its elements follow each other without gaps, so that a reshape may look at it. */
bool ipex_plan_is_dense(const struct ipex_plan *plan, int32_t tensor);
/* A tensor over the weight, which is one with that of an earlier site that packs it alike. */
int32_t ipex_lower_weight(struct lower *lower, const struct ipex_plan_weight *weight);

/* ---- lower_values.c: values in memory ---- */

extern const int32_t ipex_identity_order[IPEX_MAX_RANK];

void ipex_physical_dims(const int64_t *dims, const int32_t *order, int32_t rank, int64_t *ret);
struct variant ipex_variant(int32_t tensor, int32_t rank, const int32_t *order);
void ipex_lower_add_variant(struct lower *lower, struct ipex_value *value,
                            const struct variant *variant);
/* The tensor that a node writes for its output: a slice of a concatenation, or one of its own with
 * the halo that readers need. */
int32_t ipex_lower_own(struct lower *lower, struct ipex_value *value);
/* The value as `rank` dims (leading ones added) in this order and with at least this halo (NULL:
 * any): a tensor, by view where possible, else by a step. */
int32_t ipex_lower_tensor(struct lower *lower, struct ipex_value *value, int32_t rank,
                          const int32_t *order, const uint16_t *halo);
/* The same in the order of its axes. */
int32_t ipex_lower_identity(struct lower *lower, struct ipex_value *value);
/* As ipex_lower_tensor, of this dtype: where the value is not stored so, by a cast, which also
 * makes the halo; a constant is stored so. */
int32_t ipex_lower_as(struct lower *lower, struct ipex_value *value, enum ipex_dtype dtype,
                      int32_t rank, const int32_t *order, const uint16_t *halo);
/* The memory of a tensor under other dims. */
int32_t ipex_lower_view(struct lower *lower, int32_t tensor, int32_t rank, const int64_t *dims);
/* The same of a slice without halo of a dense tensor, where the dims differ by ones only, or by
 * what is cut having been split; -1: it is none. */
int32_t ipex_lower_slice_view(struct lower *lower, int32_t tensor, int32_t rank,
                              const int64_t *dims);
/* A step that puts `from` (rank dims, order as given) into a new tensor of the order asked for. */
int32_t ipex_lower_materialise(struct lower *lower, struct ipex_value *value, int32_t from,
                               const int32_t *from_order, int32_t rank, const int64_t *dims,
                               const int32_t *order, const uint16_t *halo);

/* ---- lower_layers.c ---- */

void ipex_lower_conv(struct lower *lower, struct ipex_node *node);
void ipex_lower_linear(struct lower *lower, struct ipex_node *node);

/* ---- layout.c ---- */

/* Where attention finds the rows of q, k, v or y. */
enum ipex_rows ipex_attention_rows(const struct ipex_value *value);

/* Why x is not written straight into y's tensor. */
enum ipex_reason ipex_concat_reason(const struct ipex_value *y, const struct ipex_value *x);

#endif
