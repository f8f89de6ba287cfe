/* SPDX-License-Identifier: Apache-2.0 */
/* --const: an input of the graph that becomes a constant, from a number or from a file's tensor. */
#include "tools/convert/import_build.h"
#include "tools/convert/import_double.h"
#include "tools/convert/import_half.h"
#include "tools/convert/import_scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The text as one element of this type. False when it is no number of the type's range. */
static bool parse_element(const char *text, enum ipex_dtype dtype, uint8_t *ret) {
    static const struct { const char *text, *number; } words[] = {{"false", "0"}, {"true", "1"}};
    char *end;
    for (size_t i = 0; dtype == IPEX_DTYPE_bool && i < 2; i++)
        if (!strcmp(text, words[i].text))
            text = words[i].number;
    errno = 0;
    if (dtype == IPEX_DTYPE_f32) {
        float value = strtof(text, &end);
        memcpy(ret, &value, sizeof value);
        return end != text && !*end;
    }
    unsigned bits = 8 * ipex_dtype_size(dtype);
    bool is_unsigned = dtype == IPEX_DTYPE_u8 || dtype == IPEX_DTYPE_bool;
    int64_t value = strtoll(text, &end, 10);
    int64_t most = dtype == IPEX_DTYPE_bool ? 1 : is_unsigned ? 255 : INT64_MAX >> (64 - bits);
    memcpy(ret, &value, sizeof value); /* little-endian: the low bytes count */
    return end != text && !*end && !errno && value <= most &&
           value >= (is_unsigned ? 0 : -most - 1);
}

static struct ipex_value *from_number(struct ipex_import *import,
                                      const struct ipex_onnx_value *input, const char *text,
                                      const char **ret_wrong) {
    struct ipex_arena *arena = &import->graph->arena;
    enum ipex_dtype dtype = ipex_import_dtype(input->type);
    uint8_t *data = ipex_arena_array(arena, 1, sizeof(int64_t));
    int64_t dims[IPEX_MAX_RANK];
    for (int32_t i = 0; i < input->rank; i++) {
        if (i == IPEX_MAX_RANK || (input->dims[i] != 1 && input->dims[i] >= 0)) {
            *ret_wrong = "has more than one element: give a file (NAME.npy)";
            return NULL;
        }
        dims[i] = 1;
    }
    char *end;
    double *exact = ipex_arena_array(arena, 1, sizeof *exact);
    *exact = strtod(text, &end);
    if (input->type == IPEX_ONNX_DOUBLE && end != text && !*end)
        return ipex_import_double_constant(import, input->name, input->rank < 0 ? 0 : input->rank,
                                           dims, exact);
    if (!ipex_import_runs(dtype) || !parse_element(text, dtype, data)) {
        *ret_wrong = ipex_arena_printf(arena, "'%s' is no value of its type (%s)", text,
                                       dtype ? ipex_dtype_name(dtype) : "not a tensor of numbers");
        return NULL;
    }
    return ipex_graph_constant(import->graph, input->name, dtype, input->rank < 0 ? 0 : input->rank,
                               dims, data);
}

static struct ipex_value *from_tensor(struct ipex_import *import,
                                      const struct ipex_onnx_value *input,
                                      const struct ipex_tensor_data *tensor,
                                      const char **ret_wrong) {
    const enum ipex_dtype dtype = ipex_import_dtype(input->type);
    const bool is_half = ipex_import_is_half(input->type) && tensor->dtype == IPEX_DTYPE_f16;
    const bool is_double = input->type == IPEX_ONNX_DOUBLE;
    bool fits = (tensor->dtype == (is_double ? IPEX_DTYPE_f64 : dtype) || is_half) &&
                (input->rank < 0 || input->rank == tensor->rank);
    for (int32_t i = 0; fits && i < input->rank; i++)
        fits = input->dims[i] < 0 || input->dims[i] == tensor->dims[i];
    if (fits && tensor->dtype == IPEX_DTYPE_f64)
        return ipex_import_double_constant(import, input->name, tensor->rank, tensor->dims,
                                           tensor->data);
    if (fits)
        return ipex_build_cast(import,
                               ipex_graph_constant(import->graph, input->name, tensor->dtype,
                                                   tensor->rank, tensor->dims, tensor->data),
                               dtype);
    char given[128];
    *ret_wrong = ipex_arena_printf(
        &import->graph->arena, "the file holds %s, which does not fit the input",
        ipex_shape_text(tensor->dtype, tensor->dims, tensor->rank, given, sizeof given));
    return NULL;
}

struct ipex_const_option *ipex_import_find_given(const struct ipex_import_options *options,
                                                 const char *name) {
    for (size_t i = 0; i < options->constants; i++)
        if (!strcmp(options->constant[i].name, name))
            return &options->constant[i];
    return NULL;
}

struct ipex_value *ipex_import_given(struct ipex_import *import,
                                     const struct ipex_onnx_value *input,
                                     struct ipex_const_option *given, const char **ret_wrong) {
    given->used = true;
    return given->is_file ? from_tensor(import, input, &given->tensor, ret_wrong)
                          : from_number(import, input, given->text, ret_wrong);
}
