/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a tensor that are computed at run time, as numbers (i64) into it flattened. */
#ifndef IPEX_TOOLS_IMPORT_INDEX_H
#define IPEX_TOOLS_IMPORT_INDEX_H

#include "tools/convert/import_build.h"

/* The product of x's dims from `first` up to but not `last`, a dim. */
int64_t ipex_place_count(struct ipex_import *import, const struct ipex_value *x, int32_t first,
                         int32_t last);

/* An index, of x's rank, replaces its own position on one axis: the places in x's axes before
 * `end`. Of index's dims, which behind are 1. */
struct ipex_value *ipex_place_elements(struct ipex_import *import, struct ipex_value *index,
                                       const struct ipex_value *x, int32_t axis, int32_t end);

/* index [i0..., K]: its own positions on the axes before `first`, then K numbers, are a place in
 * x's axes before `end` = first + K. Of dims [i0...]. */
struct ipex_value *ipex_place_rows(struct ipex_import *import, struct ipex_value *index,
                                   const struct ipex_value *x, int32_t first, int32_t end);

#endif
