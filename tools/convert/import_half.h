/* SPDX-License-Identifier: Apache-2.0 */
/* Models in half precision (float16, bfloat16): computed in f32. */
#ifndef IPEX_TOOLS_IMPORT_HALF_H
#define IPEX_TOOLS_IMPORT_HALF_H

#include "tools/convert/import.h"

bool ipex_import_is_half(int64_t onnx_type);
/* A tensor of half precision as a constant of f32. */
struct ipex_value *ipex_import_half_constant(struct ipex_import *import, const char *name,
                                             const struct ipex_onnx_tensor *tensor);
/* The current node casts a value, which is f32, to this type: counted and told. */
void ipex_import_half_cast(struct ipex_import *import, int64_t onnx_type);
/* Adds to the import's notes what was found of all this. */
void ipex_import_half_note(struct ipex_import *import);

#endif
