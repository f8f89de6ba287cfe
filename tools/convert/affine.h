/* SPDX-License-Identifier: Apache-2.0 */
/* Scales and shifts per channel, as pass_affine.c folds them into weights, and sums of convolutions
 * of one value (pass_branch.c), which it has made into one by the time that it comes to what
 * follows them: a BatchNorm behind the sum then finds the one convolution. */
#ifndef IPEX_TOOLS_AFFINE_H
#define IPEX_TOOLS_AFFINE_H

#include "tools/convert/graph.h"

/* y = scale * x + shift along one axis of x, both NULL-able (ones, zeros). */
struct ipex_affine {
    int32_t axis; /* of the output; -1: the same everywhere */
    int64_t n;
    const double *scale, *shift;
};

/* What a BatchNorm, or a Mul, Add, Sub or Div by a constant, does to x; false for other nodes. */
bool ipex_affine_of(struct ipex_graph *graph, const struct ipex_node *node, struct ipex_affine *ret,
                    struct ipex_value **ret_x);

/* Looks through a reshape behind the channel (convolutions of signals), or a volume made of images
 * (import_volume.h), that alone reads a convolution's result or a sum: that value, with the last
 * move; else x, with NULL. Channels are axis 1 of both. */
struct ipex_value *ipex_affine_behind_moves(const struct ipex_graph *graph, struct ipex_value *x,
                                            struct ipex_node **ret_move);

/* Takes a scale and shift into the layers that read it (pass_affine_ahead.c), and the node away;
 * false, changing nothing, where that cannot be. */
bool ipex_affine_ahead(struct ipex_graph *graph, struct ipex_node *node);

/* Where the node adds or subtracts two values of one shape: merges what of the sum are convolutions
 * of one value, and scales and shifts of it, and returns true. May remove the node and some before
 * it, none behind it. */
bool ipex_merge_branches(struct ipex_graph *graph, struct ipex_node *node);

#endif
