/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 4 and 16 bits, which quantised models have: import_narrow.c. */
#ifndef IPEX_TOOLS_IMPORT_NARROW_H
#define IPEX_TOOLS_IMPORT_NARROW_H

#include "tools/convert/import.h"

/* The type here whose values stand for those of an ONNX type of 4 or 16 bits; NONE: it is another.
 */
enum ipex_dtype ipex_import_narrow_dtype(int64_t onnx_type);
struct ipex_value *ipex_import_narrow_constant(struct ipex_import *import, const char *name,
                                               const struct ipex_onnx_tensor *tensor);
/* The current node reads none that it would compute with; false after refusing. */
bool ipex_import_narrow_fits(struct ipex_import *import);
/* What the current node has only moved is what it was. */
void ipex_import_narrow_moved(const struct ipex_import *import);

#endif
