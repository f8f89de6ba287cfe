/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of one batch that end at different steps. Lengths are i64 [B], from 0 to the number of
 * steps. A NULL operand gives NULL. */
#ifndef IPEX_TOOLS_IMPORT_LENGTHS_H
#define IPEX_TOOLS_IMPORT_LENGTHS_H

#include "tools/convert/import_build.h"

/* Operand i as the lengths of `batch` sequences of at most `steps` (dims); numbers beyond either
 * end are taken as that end. NULL after refusing. */
struct ipex_value *ipex_lengths_read(struct ipex_import *import, size_t i, int64_t steps,
                                     int64_t batch);
/* [T][B]: the step is not part of the sequence. */
struct ipex_value *ipex_lengths_past(struct ipex_import *import, struct ipex_value *lengths,
                                     int64_t steps);
/* x, whose steps are on axis `time` (0 or 1) and whose sequences are on the other one of the two,
 * each sequence from its last step to its first; what lies past it stays where it is. */
struct ipex_value *ipex_lengths_reverse(struct ipex_import *import, struct ipex_value *x,
                                        struct ipex_value *lengths, int32_t time);
/* Of x [T][B][N] every sequence's last step [B][N], or its row of `none` [B][N] (NULL: zeros) where
 * it has no steps. */
struct ipex_value *ipex_lengths_last(struct ipex_import *import, struct ipex_value *x,
                                     struct ipex_value *lengths, struct ipex_value *none);

#endif
