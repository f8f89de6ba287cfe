/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 4 and 16 bits, which quantised models have: of 4 bits they are u8 or i8 here, of 16
 * bits i32, as constants and at run time. What moves or dequantises them gives the same in a wider
 * type; whatever else would compute in the narrow one is refused. */
#include "tools/convert/import_narrow.h"

#include <string.h>

enum ipex_dtype ipex_import_narrow_dtype(int64_t onnx_type) {
    switch (onnx_type) {
    case IPEX_ONNX_UINT4:
        return IPEX_DTYPE_u8;
    case IPEX_ONNX_INT4:
        return IPEX_DTYPE_i8;
    case IPEX_ONNX_UINT16:
    case IPEX_ONNX_INT16:
        return IPEX_DTYPE_i32;
    default:
        return IPEX_DTYPE_NONE;
    }
}

static const void *widened(struct ipex_import *import, const struct ipex_onnx_tensor *tensor) {
    const size_t count = (size_t)(tensor->size / sizeof(int16_t));
    int32_t *data = ipex_arena_array(&import->graph->arena, count + 1, sizeof *data);
    for (size_t i = 0; i < count; i++) {
        uint16_t bits;
        memcpy(&bits, tensor->data + i * sizeof bits, sizeof bits);
        data[i] = tensor->type == IPEX_ONNX_INT16 ? (int16_t)bits : bits;
    }
    return data;
}

struct ipex_value *ipex_import_narrow_constant(struct ipex_import *import, const char *name,
                                               const struct ipex_onnx_tensor *tensor) {
    const enum ipex_dtype dtype = ipex_import_narrow_dtype(tensor->type);
    struct ipex_value *value = ipex_graph_constant(
        import->graph, name, dtype, tensor->rank, tensor->dims,
        dtype == IPEX_DTYPE_i32 ? widened(import, tensor) : (const void *)tensor->data);
    value->narrow = tensor->type;
    return value;
}

static bool moves(const struct ipex_import *import) {
    static const char *const names[] = {"Constant", "Flatten",   "Identity", "Reshape",
                                        "Squeeze",  "Transpose", "Unsqueeze"};
    return ipex_import_word(import->node->op_type, names, sizeof names / sizeof *names) >= 0;
}

bool ipex_import_narrow_fits(struct ipex_import *import) {
    static const char *const names[] = {"Cast", "DequantizeLinear", "GatherBlockQuantized",
                                        "QuantizeLinear"};
    const bool any = moves(import) || ipex_import_word(import->node->op_type, names,
                                                       sizeof names / sizeof *names) >= 0;
    for (size_t i = 0; !any && i < import->node->inputs; i++) {
        const struct ipex_value *x = ipex_import_in(import, i);
        if (x && x->narrow) {
            ipex_import_refuse(import, "input %s is %s, which is supported where it is dequantised",
                               x->name, ipex_import_type_name(x->narrow));
            return false;
        }
    }
    return true;
}

void ipex_import_narrow_moved(const struct ipex_import *import) {
    const struct ipex_value *x = moves(import) ? ipex_import_in(import, 0) : NULL;
    struct ipex_value *y = x ? ipex_import_result(import, 0) : NULL;
    if (y && !y->unknown && y->dtype == x->dtype)
        y->narrow = x->narrow;
}
