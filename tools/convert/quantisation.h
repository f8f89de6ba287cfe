/* SPDX-License-Identifier: Apache-2.0 */
/* How values become bytes, as far as the steps that do it have been read: they are scaled, rounded,
 * a zero point is added (before that only an even one, which gives the same), and what is beyond
 * bytes is cut. */
#ifndef IPEX_TOOLS_QUANTISATION_H
#define IPEX_TOOLS_QUANTISATION_H

#include "tools/convert/passes.h"

struct ipex_quantisation {
    double scale, zero, low, high; /* begins with scale 1 */
    bool rounded, cut_low, cut_high;
};

/* One more step, of op (enum ipex_step) with a number on its right; false where it does something
 * else. */
bool ipex_quantisation_step(struct ipex_quantisation *q, int16_t op, double number);

/* Whether it is rint(x * scale) + zero, cut to 0 to 255. */
bool ipex_quantisation_is_bytes(const struct ipex_quantisation *q);

/* pass_byte_scale.c: what the layer's result is rounded from becomes `by` times that, by other
 * numbers of the layer; false where some are not finite. */
bool ipex_scale_result(struct ipex_graph *graph, struct ipex_node *node, double by);

#endif
