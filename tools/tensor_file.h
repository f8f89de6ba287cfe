/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in files: .npy and serialized ONNX TensorProto (.pb) are read, told apart by their first
 * bytes; .npy is written. */
#ifndef IPEX_TOOLS_TENSOR_FILE_H
#define IPEX_TOOLS_TENSOR_FILE_H

#include "format/base.h"
#include "format/ipex_types.h"
#include "tools/arena.h"

/* A dense row-major tensor on the heap. */
struct ipex_tensor_data {
    enum ipex_dtype dtype;
    int32_t rank;
    int64_t dims[IPEX_MAX_RANK];
    uint8_t *data; /* aligned to 64 */
    uint64_t size; /* bytes */
};

/* Zeroed. False when dims or dtype are not valid. */
bool ipex_tensor_data_init(struct ipex_tensor_data *ret, enum ipex_dtype dtype, const int64_t *dims,
                           int32_t rank);
void ipex_tensor_data_finish(struct ipex_tensor_data *tensor);

/* FOLDER/NAME.npy, where the file of a port lies: characters outside the portable set of file names
 * become '_'. */
const char *ipex_tensor_path(struct ipex_arena *arena, const char *folder, const char *port);

/* Column-major .npy files are turned. Messages name the file. ERROR_FILE_IO, ERROR_FILE_METADATA,
 * ERROR_FILE_TRUNCATED, ERROR_DTYPE, ERROR_SHAPE. */
IPEX_WARN_UNUSED enum ipex_status ipex_tensor_read(const char *path, struct ipex_tensor_data *ret,
                                                   const struct ipex_report *report);
/* Appears whole or not at all (tools/atomic_file.h). ERROR_FILE_IO; ERROR_DTYPE for bf16, which
 * .npy does not have. */
IPEX_WARN_UNUSED enum ipex_status ipex_tensor_write(const char *path,
                                                    const struct ipex_tensor_data *tensor,
                                                    const struct ipex_report *report);

/* Element `index` in row-major order, whatever the dtype. i64 beyond 2^53 is rounded. */
double ipex_tensor_element(const struct ipex_tensor_data *tensor, uint64_t index);

/* "1x3x224x224 f32"; a scalar is "scalar f32". Cut to `size`. Returns `ret`. */
const char *ipex_shape_text(enum ipex_dtype dtype, const int64_t *dims, int32_t rank, char *ret,
                            size_t size);

#endif
