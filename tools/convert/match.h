/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions about nodes that passes which recognise an operator by its spelling ask again and
 * again. */
#ifndef IPEX_TOOLS_MATCH_H
#define IPEX_TOOLS_MATCH_H

#include "tools/convert/graph.h"

/* The producer of `value` if it is a pointwise node of one step `op`, else NULL. Scalars must have
 * been absorbed. */
struct ipex_node *ipex_match_step(const struct ipex_value *value, enum ipex_step op);

/* value = x op c or c op x for a scalar c (op add, mul): true, with both. For sub, div and pow only
 * x op c. */
bool ipex_match_scalar(const struct ipex_value *value, enum ipex_step op, struct ipex_value **ret_x,
                       float *ret_c);

/* value = x * x, or x to the power of 2. */
bool ipex_match_square(const struct ipex_value *value, struct ipex_value **ret_x);

/* The two run-time operands of a one-step node; false where one is a scalar. */
bool ipex_match_operands(const struct ipex_node *node, struct ipex_value **ret_a,
                         struct ipex_value **ret_b);

/* A constant with `n` elements that varies along one axis of a value of this rank only: true. */
bool ipex_match_vector(const struct ipex_value *constant, int32_t rank, int32_t axis, int64_t n);

/* The only reader of `value` if it is value op vector (add: either order; mul too), with the
 * vector. */
struct ipex_node *ipex_match_vector_reader(const struct ipex_graph *graph,
                                           const struct ipex_value *value, enum ipex_step op,
                                           int32_t axis, struct ipex_value **ret_vector);

/* The same value, or computed twice in the same way: from one value by one step each, a mean
 * included. */
bool ipex_match_same(const struct ipex_value *a, const struct ipex_value *b);

/* Upwards through reshapes. */
struct ipex_value *ipex_before_reshapes(struct ipex_value *x);

/* A mean over rows and columns: of an image that has always as many, a pool. */
bool ipex_match_image_mean(const struct ipex_node *node);

/* A reduction that can be one of bytes: the mean over rows and columns of images, or over rows,
 * that are not too many for exact sums. */
bool ipex_match_byte_mean(const struct ipex_graph *graph, const struct ipex_node *node);

bool ipex_same_shape(const struct ipex_value *a, const struct ipex_value *b);

#endif
