/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of layers (pass_integer.c) and products (pass_byte_products.c) that stand for integers
 * of 8 bits, (q - zero) * scale, and their bytes: q or, where it has a sign, q + 128. */
#ifndef IPEX_TOOLS_BYTE_OPERANDS_H
#define IPEX_TOOLS_BYTE_OPERANDS_H

#include "tools/convert/passes.h"

enum { IPEX_BYTE_SIGN = 128 };

/* The element of a scale or zero point, p, for element i of what it is of; `otherwise` if there is
 * none. */
double ipex_quantised_parameter(const struct ipex_dequantised *d, const struct ipex_value *p,
                                int64_t i, double otherwise);

/* Whether it stands for whole numbers of 8 bits that are computed at run time. */
bool ipex_is_of_bytes(const struct ipex_dequantised *d);

/* Its zero point is computed at run time, as DynamicQuantizeLinear does. */
bool ipex_zero_moves(const struct ipex_dequantised *d);

/* The byte that stands for 0; 0 where it moves. */
double ipex_zero_byte(const struct ipex_dequantised *d);

/* What x, or what it is a reshape, slice or transpose of, stands for, with one scale and a zero
 * point that is a byte; NULL. */
const struct ipex_dequantised *ipex_quantised_operand(const struct ipex_value *x);

/* Whether x, or what it is moved from, stands for integers of any kind. */
bool ipex_is_quantised(const struct ipex_value *x);

/* The bytes, as f32 that may be stored so (is_byte). */
struct ipex_value *ipex_bytes_of(struct ipex_graph *graph, const struct ipex_dequantised *d);

/* The bytes q of what x is made of by moves, moved alike, before that node. */
struct ipex_value *ipex_bytes_moved_alike(struct ipex_graph *graph, const struct ipex_value *x,
                                          struct ipex_value *q, struct ipex_node *before);

/* A value of f32 of the same name and shape. */
struct ipex_value *ipex_floats_like(struct ipex_graph *graph, const struct ipex_value *x);

/* An elementwise node before `before`, for `site`, of one step: a op b or, where b is NULL, a op
 * number; gives y. */
struct ipex_value *ipex_one_step(struct ipex_graph *graph, const struct ipex_node *site,
                                 struct ipex_node *before, enum ipex_step op, struct ipex_value *a,
                                 struct ipex_value *b, float number, struct ipex_value *y);

#endif
