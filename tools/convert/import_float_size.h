/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes in floats: what a model computes from sizes by way of f32 or f64 stays known. */
#ifndef IPEX_TOOLS_IMPORT_FLOAT_SIZE_H
#define IPEX_TOOLS_IMPORT_FLOAT_SIZE_H

#include "tools/convert/import.h"

/* The dim that one float is, a constant or computed from sizes; false where it is no whole number,
 * or not known. */
bool ipex_import_whole_size(struct ipex_import *import, const struct ipex_value *value,
                            int64_t *ret);
/* The dims that a cast to integers makes of floats computed from sizes; NULL where they are not
 * known, or not provably these. */
int64_t *ipex_import_cast_sizes(struct ipex_import *import, const struct ipex_value *value);

/* The current node has been imported: what its result is of sizes, if anything. */
void ipex_import_float_sizes(struct ipex_import *import);

#endif
