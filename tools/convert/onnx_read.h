/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an ONNX model over a read-only map of its file: a walk of the protobuf, no second copy of
 * the weights. Everything returned points into the map or into the model's own arena and lives
 * until ipex_onnx_close. */
#ifndef IPEX_TOOLS_ONNX_READ_H
#define IPEX_TOOLS_ONNX_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base.h"

/* TensorProto.DataType */
enum ipex_onnx_type {
    IPEX_ONNX_FLOAT = 1,
    IPEX_ONNX_UINT8 = 2,
    IPEX_ONNX_INT8 = 3,
    IPEX_ONNX_UINT16 = 4,
    IPEX_ONNX_INT16 = 5,
    IPEX_ONNX_INT32 = 6,
    IPEX_ONNX_INT64 = 7,
    IPEX_ONNX_STRING = 8,
    IPEX_ONNX_BOOL = 9,
    IPEX_ONNX_FLOAT16 = 10,
    IPEX_ONNX_DOUBLE = 11,
    IPEX_ONNX_UINT32 = 12,
    IPEX_ONNX_UINT64 = 13,
    IPEX_ONNX_BFLOAT16 = 16,
    IPEX_ONNX_UINT4 = 21, /* read as a byte per element */
    IPEX_ONNX_INT4 = 22,
};

struct ipex_onnx_tensor {
    const char *name; /* "" when unnamed */
    int32_t type;     /* enum ipex_onnx_type or a later one */
    int32_t rank;
    const int64_t *dims;
    const uint8_t *data; /* row-major little-endian elements, any alignment; NULL for strings and
                            for types not listed above */
    uint64_t size;       /* bytes; checked to be what type and dims need; 0 where data is NULL */
};

/* AttributeProto.AttributeType */
enum ipex_onnx_attr_type {
    IPEX_ONNX_ATTR_FLOAT = 1,
    IPEX_ONNX_ATTR_INT = 2,
    IPEX_ONNX_ATTR_STRING = 3,
    IPEX_ONNX_ATTR_TENSOR = 4,
    IPEX_ONNX_ATTR_GRAPH = 5,
    IPEX_ONNX_ATTR_FLOATS = 6,
    IPEX_ONNX_ATTR_INTS = 7,
    IPEX_ONNX_ATTR_STRINGS = 8,
};

struct ipex_onnx_graph;

struct ipex_onnx_attr {
    const char *name;
    int32_t type;
    float f;
    int64_t i;
    const char *s; /* NUL-terminated copy */
    size_t count;  /* of floats, ints or strings; of s in bytes */
    const float *floats;
    const int64_t *ints;
    const char *const *strings;
    const struct ipex_onnx_tensor *tensor;
    const struct ipex_onnx_graph *graph;
};

/* How many integers, floats or strings an attribute holds: none where it is absent (NULL) or of
 * another type. */
static inline size_t ipex_onnx_ints(const struct ipex_onnx_attr *attr) {
    return attr && attr->ints ? attr->count : 0;
}
static inline size_t ipex_onnx_floats(const struct ipex_onnx_attr *attr) {
    return attr && attr->floats ? attr->count : 0;
}
static inline size_t ipex_onnx_strings(const struct ipex_onnx_attr *attr) {
    return attr && attr->strings ? attr->count : 0;
}

struct ipex_onnx_node {
    const char *name, *op_type, *domain; /* "" when absent; domain "ai.onnx" is given as "" */
    size_t inputs, outputs, attrs;
    const char *const *input, *const *output; /* "" is an absent optional one */
    const struct ipex_onnx_attr *attr;
};

/* A graph input, output or value_info. */
struct ipex_onnx_value {
    const char *name;
    int32_t type;              /* 0: not a tensor or unknown */
    int32_t rank;              /* -1: no shape given */
    const int64_t *dims;       /* -1 where symbolic or unknown */
    const char *const *params; /* [rank] dim_param, "" where there is none */
};

struct ipex_onnx_graph {
    const char *name;
    size_t nodes, initializers, inputs, outputs, values;
    const struct ipex_onnx_node *node;
    const struct ipex_onnx_tensor *initializer;
    const struct ipex_onnx_value *input, *output, *value;
};

struct ipex_onnx_model {
    int64_t ir_version;
    int64_t opset; /* of the default domain; 0 when absent */
    const char *producer;
    struct ipex_onnx_graph graph;
    size_t metadata; /* metadata_props */
    const char *const *metadata_keys, *const *metadata_values;
    struct ipex_onnx_private *private_; /* maps and arena */
};

/* Opens and reads a whole model. External data (relative paths inside the model's directory only;
 * no "..", no absolute path, no link that leads outside) is mapped read-only. Fails with
 * ERROR_FILE_IO or ERROR_FILE_METADATA and a message that says where. */
IPEX_WARN_UNUSED enum ipex_status ipex_onnx_open(const char *path,
                                                 struct ipex_onnx_model *ret_model,
                                                 const struct ipex_report *report);
void ipex_onnx_close(struct ipex_onnx_model *model);

/* The path is that of the model, or of a file with its external data, under whatever name. */
bool ipex_onnx_reads(const struct ipex_onnx_model *model, const char *path);

/* Reads one serialized TensorProto (.pb of a test data set), fully in memory; `ret` points into
 * `*ret_memory`, which the caller frees with free(). */
IPEX_WARN_UNUSED enum ipex_status ipex_onnx_read_tensor(const char *path,
                                                        struct ipex_onnx_tensor *ret,
                                                        void **ret_memory,
                                                        const struct ipex_report *report);

#endif
