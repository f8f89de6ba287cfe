/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles (float64): computed in f32, but for the small constants of shape arithmetic. */
#ifndef IPEX_TOOLS_IMPORT_DOUBLE_H
#define IPEX_TOOLS_IMPORT_DOUBLE_H

#include "tools/convert/import.h"

/* Doubles as a constant of f32, each rounded once; `data` as in a file, of any alignment. */
struct ipex_value *ipex_import_double_constant(struct ipex_import *import, const char *name,
                                               int32_t rank, const int64_t *dims, const void *data);
/* The current node casts a value that is computed at run time to float64: counted and told. */
void ipex_import_double_cast(struct ipex_import *import);
/* Evaluates the current node in doubles, where its operands are small constants of them. True when
 * it did; the output is bound then. */
bool ipex_import_double(struct ipex_import *import);
/* The current node has been imported: where it only shapes or repeats doubles, its result is
 * doubles too. */
void ipex_import_double_moved(struct ipex_import *import);
/* Adds to the import's notes what was found of all this. */
void ipex_import_double_note(struct ipex_import *import);

#endif
