/* SPDX-License-Identifier: Apache-2.0 */
/* Graph rewrites. passes.inc is the list and the order; one file per pass. */
#ifndef IPEX_TOOLS_PASSES_H
#define IPEX_TOOLS_PASSES_H

#include "tools/convert/graph.h"

#define IPEX_PASS(name, what) void ipex_pass_##name(struct ipex_graph *graph);
#include "tools/convert/passes.inc"

/* While importing: computes the nodes from `from` to the last if they depend on constants only,
 * else leaves them. Fails where a temporary file cannot be written or an operator cannot be run. */
IPEX_WARN_UNUSED enum ipex_status ipex_fold_constants(struct ipex_graph *graph,
                                                      struct ipex_node *from,
                                                      const struct ipex_report *report);

/* All of passes.inc. */
void ipex_passes_run(struct ipex_graph *graph);

/* pass_blocks.c, of a graph that is not optimised: layers on numbers in blocks that round their
 * input compute so, all others as floats. */
void ipex_keep_rounding_blocks(struct ipex_graph *graph);

/* How much a file may grow for speed. */
enum ipex_growth {
    IPEX_GROWTH_some, /* weights to 1.5 times their size */
    IPEX_GROWTH_any,
    IPEX_GROWTH_none,
};

/* In the middle of pass_pointwise.c (pass_byte_moves.c). */
void ipex_move_bytes(struct ipex_graph *graph);

/* After the passes (algorithm.c): which convolutions are computed by Winograd. */
void ipex_choose_algorithms(struct ipex_graph *graph, enum ipex_growth growth);

/* Behind that (lossless.c): which weights are stored in 16 bits, since these hold them exactly. */
void ipex_choose_lossless(struct ipex_graph *graph, enum ipex_growth growth);

/* pass_upsample.c: how many channels of a convolution, and how often, are upsampled that the pass
 * has left together with others, or as they are, since taking them apart is a question of room (0:
 * of no such one); and taking them apart. */
struct ipex_upsampled {
    int64_t channels;
    int32_t factor;
};
struct ipex_upsampled ipex_upsample_left(struct ipex_graph *graph, struct ipex_node *node);
void ipex_upsample_split(struct ipex_graph *graph, struct ipex_node *node);

/* ---- programs (program.c), used by several passes and by lower.c ---- */

/* The activation that a program over one input computes: IPEX_ACT_none when it is none of
 * format/ops.h. */
enum ipex_act ipex_program_act(const struct ipex_program *program, float *ret_a, float *ret_b);
/* The program of one activation. */
void ipex_program_make(struct ipex_program *program, enum ipex_act act, float a, float b);
/* Turns an affine node into the equivalent pointwise node in place. */
void ipex_affine_to_pointwise(struct ipex_graph *graph, struct ipex_node *node);
/* Puts the program of `producer` (whose output is operand `index` of `reader`) in front of the
 * reader's own; false, changing nothing, when the result would not fit. The producer is removed. */
bool ipex_program_join(struct ipex_graph *graph, struct ipex_node *reader, int32_t index);
/* The node's program without what storing its result in bytes does: rounding what nothing is added
 * to, or an even number in a program that is no table, and cutting to 0 and 255. */
void ipex_program_trim(const struct ipex_node *node, struct ipex_program *ret);
/* Appends a step (op: enum ipex_step), for which there is room; its result's operand code. */
int16_t ipex_program_emit(struct ipex_program *program, int16_t op, int16_t a, int16_t b);
/* Scalar constant operands become program constants. */
void ipex_program_absorb_scalars(struct ipex_node *node);

#endif
