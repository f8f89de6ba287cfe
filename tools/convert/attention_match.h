/* SPDX-License-Identifier: Apache-2.0 */
/* What pass_attention.c asks of attention_mask.c: masks between the scores and their softmax. */
#ifndef IPEX_TOOLS_ATTENTION_MATCH_H
#define IPEX_TOOLS_ATTENTION_MATCH_H

#include "tools/convert/match.h"

#define IPEX_ATTENTION_MASKS 4

/* One step of masking: scores + value, or `masked` in the place of scores where `value` (bool) is
 * `where`. */
struct ipex_attention_mask {
    struct ipex_value *value;
    bool chooses, where;
    float masked, scale; /* scale: of masked scores, behind this step */
};

/* The step of masking whose result is `value`: the scores before it, or NULL when it is none. */
struct ipex_value *ipex_attention_unmask(struct ipex_value *value, int32_t side,
                                         struct ipex_attention_mask *ret);

/* All steps as one f32 mask to be added, in nodes before `before`. NULL where there are none, or
 * where what they say is that query i sees keys up to i + keys - queries: *ret_causal then. */
struct ipex_value *ipex_attention_mask(struct ipex_graph *graph,
                                       const struct ipex_attention_mask *step, int32_t steps,
                                       const struct ipex_value *scores, struct ipex_node *before,
                                       bool *ret_causal);

/* a + b or a * b (op), which broadcast together, in a node before `before`. */
struct ipex_value *ipex_attention_combine(struct ipex_graph *graph, enum ipex_step op,
                                          struct ipex_value *a, struct ipex_value *b,
                                          struct ipex_node *before);

/* Scores that lose a leading axis of 1 behind the masks, as the windows of one image do (Swin): the
 * masks never get it. */
void ipex_attention_drop_axis(struct ipex_graph *graph, const struct ipex_node *softmax);

/* y with zeros in the rows whose keys are all masked by -inf, in nodes before `before`. */
struct ipex_value *ipex_attention_zero_rows(struct ipex_graph *graph, struct ipex_value *mask,
                                            struct ipex_value *y, struct ipex_node *before);

#endif
