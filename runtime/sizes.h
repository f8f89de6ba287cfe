/* SPDX-License-Identifier: Apache-2.0 */
/* Entries with symbols: which sizes a session allows, what a plan needs so that any of them fits,
 * and binding its steps anew, in place, when a run brings others. */
#ifndef IPEX_RUNTIME_SIZES_H
#define IPEX_RUNTIME_SIZES_H

#include "runtime/ipex.h"
#include "runtime/plan.h"

/* What one entry's plan needs of a session. */
struct ipex_plan_need {
    size_t room;           /* bytes for tables, steps and arguments */
    int64_t steps;         /* places in the table of steps */
    size_t arena;          /* bytes */
    size_t scratch, zeros; /* bytes; scratch per thread */
};

/* What an entry with symbols has beside its plan. */
struct ipex_plan_sizes {
    struct ipex_image_entry entry;   /* the image's, with tensors of its own ... */
    struct ipex_tensor_info *tensor; /* ... [tensors], resolved for `symbols` */
    int64_t *capacity; /* [tensors]: bytes that the storage of a root has: the most that it takes at
                          either end of the ranges */
    int64_t lo[IPEX_SYMBOLS_MAX], hi[IPEX_SYMBOLS_MAX];
    int64_t symbols[IPEX_SYMBOLS_MAX]; /* their values now */
    bool bound;                        /* the steps are those for `symbols` */
    struct ipex_plan_need need;
    struct ipex_dim_values values;
    struct ipex_bump memory;          /* what is behind the tables: bound anew as a whole */
    struct ipex_plan_builder builder; /* too large for the stack of a run */
};

/* Refuses ranges that no symbol has, that leave its file's range, or that leave no size together:
 * ERROR_NOT_FOUND, ERROR_ARGUMENT. first, count: the session's entries. */
IPEX_WARN_UNUSED enum ipex_status ipex_sizes_check(const struct ipex_image *image, int32_t first,
                                                   int32_t count,
                                                   const struct ipex_dim_range *ranges,
                                                   size_t n_ranges,
                                                   const struct ipex_report *report);

/* The range of every symbol of an entry: the file's, narrowed. */
void ipex_sizes_narrow(struct ipex_fb_entry entry, const struct ipex_dim_range *ranges,
                       size_t n_ranges, int64_t *ret_lo, int64_t *ret_hi);

/* Counts what the plan of an entry with symbols needs at both ends of the ranges. builder: its
 * given fields set as for counting; used up. Waits for the image's scratch. */
IPEX_WARN_UNUSED enum ipex_status ipex_sizes_count(struct ipex_plan_builder *builder,
                                                   const int64_t *lo, const int64_t *hi,
                                                   struct ipex_plan_need *ret);

/* Builds a plan for the highest sizes. builder: its given fields set as for placing. */
IPEX_WARN_UNUSED enum ipex_status ipex_sizes_place(struct ipex_plan_builder *builder,
                                                   const int64_t *lo, const int64_t *hi,
                                                   const struct ipex_plan_need *need);

/* Makes a plan's steps those for other values of its symbols, inside the ranges: no memory, no
 * system call. On failure the plan has no steps until this succeeds. ERROR_SHAPE. */
IPEX_WARN_UNUSED enum ipex_status ipex_sizes_bind(struct ipex_plan *plan, const int64_t *symbols,
                                                  const struct ipex_report *report);

#endif
