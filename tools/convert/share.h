/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of a file: those of all entries' plans, equal ones once. */
#ifndef IPEX_TOOLS_SHARE_H
#define IPEX_TOOLS_SHARE_H

#include "tools/convert/draft.h"

struct ipex_weight_table {
    struct ipex_plan_weight **weight; /* [weights] borrowed; those that the file has, in order */
    size_t weights;
    uint32_t **number; /* [plans][plan->weights]: the file's number of each */
    size_t plans;
};

/* Of one plan: its weights as they are. Of several: weights that would be the same bytes in the
 * file, be it of one plan or of two, are one; each that another resembles in type and shape is
 * packed to be compared. */
void ipex_weight_table_init(struct ipex_weight_table *table, struct ipex_plan *const *plan,
                            size_t plans);
void ipex_weight_table_finish(struct ipex_weight_table *table);

#endif
