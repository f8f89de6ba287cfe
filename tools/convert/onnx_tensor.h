/* SPDX-License-Identifier: Apache-2.0 */
/* One ONNX TensorProto: its dims, and its elements wherever they are stored (raw bytes, typed
 * fields, another file). Shared by the model reader and the reader of test tensors. */
#ifndef IPEX_TOOLS_ONNX_TENSOR_H
#define IPEX_TOOLS_ONNX_TENSOR_H

#include <sys/types.h>

#include "tools/convert/onnx_read.h"
#include "tools/convert/protobuf.h"

struct ipex_onnx_map {
    const char *location; /* as the model names it; the model's own file: NULL */
    const uint8_t *bytes;
    uint64_t size;
    dev_t device; /* and inode: which file it is */
    ino_t inode;
};

/* What an open model holds. */
struct ipex_onnx_private {
    struct ipex_arena arena;
    char *path;
    struct ipex_onnx_map *maps; /* the model's own file first */
    size_t map_count, map_capacity;
};

struct ipex_onnx_reader {
    struct ipex_pb pb;
    struct ipex_onnx_private *files;
    unsigned depth; /* of nested graphs */
};

/* Allocates the private part and maps `path`. On failure nothing is held. */
IPEX_WARN_UNUSED enum ipex_status ipex_onnx_reader_open(const char *path,
                                                        const struct ipex_report *report,
                                                        struct ipex_onnx_reader *ret);
/* Unmaps and frees everything; NULL is allowed. */
void ipex_onnx_files_close(struct ipex_onnx_private *files);

/* False on an error, which is then in reader->pb. */
bool ipex_onnx_tensor(struct ipex_onnx_reader *reader, struct ipex_span message,
                      struct ipex_onnx_tensor *ret);

#endif
