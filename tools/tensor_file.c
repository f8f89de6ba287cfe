/* SPDX-License-Identifier: Apache-2.0 */
/* Test tensors are small next to weights: they are read into memory whole. */
#include "tools/tensor_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/f16.h"
#include "tools/atomic_file.h"
#include "tools/cli.h"
#include "tools/convert/onnx_read.h"
#include "tools/npy.h"

#define DATA_ALIGN 64

bool ipex_tensor_data_init(struct ipex_tensor_data *ret, enum ipex_dtype dtype, const int64_t *dims,
                           int32_t rank) {
    int64_t numel;
    if (rank < 0 || !ipex_dtype_size(dtype) || !ipex_numel(dims, (unsigned)rank, &numel))
        return false;
    *ret = (struct ipex_tensor_data){.dtype = dtype, .rank = rank};
    for (int32_t i = 0; i < rank; i++)
        ret->dims[i] = dims[i];
    ret->size = (uint64_t)numel * ipex_dtype_size(dtype);
    ret->data = ipex_alloc_aligned(DATA_ALIGN, ret->size);
    memset(ret->data, 0, ret->size);
    return true;
}

void ipex_tensor_data_finish(struct ipex_tensor_data *tensor) {
    free(tensor->data);
    *tensor = (struct ipex_tensor_data){0};
}

const char *ipex_shape_text(enum ipex_dtype dtype, const int64_t *dims, int32_t rank, char *ret,
                            size_t size) {
    char shape[IPEX_MAX_RANK * 21 + 8] = "scalar";
    size_t length = 0;
    for (int32_t i = 0; i < rank && i < IPEX_MAX_RANK; i++)
        length += (size_t)snprintf(shape + length, sizeof shape - length, "%s%" PRId64,
                                   i ? "x" : "", dims[i]);
    const char *name = ipex_dtype_name(dtype);
    snprintf(ret, size, "%s %s", shape, name ? name : "unknown");
    return ret;
}

/* ---- elements ---- */

static double bits_f32(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

#define LOAD(type)                                                                                 \
    type value;                                                                                    \
    memcpy(&value, at, sizeof value)

double ipex_tensor_element(const struct ipex_tensor_data *tensor, uint64_t index) {
    const uint8_t *at = tensor->data + index * ipex_dtype_size(tensor->dtype);
    switch (tensor->dtype) {
    case IPEX_DTYPE_f32: {
        LOAD(float);
        return (double)value;
    }
    case IPEX_DTYPE_f64: {
        LOAD(double);
        return value;
    }
    case IPEX_DTYPE_bf16: {
        LOAD(uint16_t);
        return bits_f32((uint32_t)value << 16);
    }
    case IPEX_DTYPE_f16: {
        LOAD(uint16_t);
        return (double)ipex_float_of_f16(value);
    }
    case IPEX_DTYPE_i32: {
        LOAD(int32_t);
        return value;
    }
    case IPEX_DTYPE_i64: {
        LOAD(int64_t);
        return (double)value;
    }
    case IPEX_DTYPE_i8:
        return (int8_t)*at;
    case IPEX_DTYPE_u8:
    case IPEX_DTYPE_bool:
        return *at;
    case IPEX_DTYPE_NONE:
        break;
    }
    return 0;
}

/* ---- reading ---- */

const char *ipex_tensor_path(struct ipex_arena *arena, const char *folder, const char *port) {
    char *name = ipex_arena_strdup(arena, port);
    for (char *at = name; *at; at++) {
        bool fit = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                   (*at >= '0' && *at <= '9') || *at == '.' || *at == '-' || *at == '_';
        if (!fit)
            *at = '_';
    }
    return ipex_arena_printf(arena, "%s/%s.npy", folder, name);
}

static enum ipex_status read_all(int fd, uint8_t *bytes, uint64_t size) {
    uint64_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, bytes + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return IPEX_ERROR_FILE_IO;
        if (got == 0) {
            errno = EIO; /* shrank while being read */
            return IPEX_ERROR_FILE_IO;
        }
        done += (uint64_t)got;
    }
    return IPEX_OK;
}

/* The whole file on the heap. */
static enum ipex_status read_file(const char *path, uint8_t **ret, uint64_t *ret_size,
                                  const struct ipex_report *report) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0)
        return ipex_fail(report, IPEX_ERROR_FILE_IO, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
        close(fd);
        return ipex_fail(report, IPEX_ERROR_FILE_IO, "%s: not a regular file", path);
    }
    uint8_t *bytes = ipex_alloc((size_t)status.st_size);
    enum ipex_status result = read_all(fd, bytes, (uint64_t)status.st_size);
    int error = errno;
    close(fd);
    if (result != IPEX_OK) {
        free(bytes);
        return ipex_fail(report, result, "%s: cannot read: %s", path, strerror(error));
    }
    *ret = bytes;
    *ret_size = (uint64_t)status.st_size;
    return IPEX_OK;
}

/* Column-major elements into row-major order: counts through the row-major indices while stepping
 * through the source. */
static void turn(const struct ipex_tensor_data *tensor, const uint8_t *from) {
    size_t width = ipex_dtype_size(tensor->dtype);
    int64_t stride[IPEX_MAX_RANK], index[IPEX_MAX_RANK] = {0}, offset = 0;
    for (int32_t i = 0; i < tensor->rank; i++)
        stride[i] = i ? stride[i - 1] * tensor->dims[i - 1] : 1;
    for (uint64_t at = 0; at < tensor->size; at += width) {
        memcpy(tensor->data + at, from + (uint64_t)offset * width, width);
        for (int32_t axis = tensor->rank - 1; axis >= 0; axis--) {
            offset += stride[axis];
            if (++index[axis] < tensor->dims[axis])
                break;
            offset -= stride[axis] * tensor->dims[axis];
            index[axis] = 0;
        }
    }
}

static enum ipex_status from_npy(const uint8_t *bytes, uint64_t size, struct ipex_tensor_data *ret,
                                 const struct ipex_report *report) {
    struct ipex_npy npy;
    IPEX_TRY(ipex_npy_parse(bytes, size, &npy, report));
    IPEX_CHECK(ipex_tensor_data_init(ret, npy.dtype, npy.dims, npy.rank), report, IPEX_ERROR_SHAPE,
               "the array is too large");
    if (npy.fortran_order && npy.data_size)
        turn(ret, bytes + npy.data_offset);
    else
        memcpy(ret->data, bytes + npy.data_offset, npy.data_size);
    return IPEX_OK;
}

static enum ipex_status read_npy(const char *path, struct ipex_tensor_data *ret,
                                 const struct ipex_report *report) {
    uint8_t *bytes = NULL;
    uint64_t size = 0;
    char text[256];
    const struct ipex_report inner = {text, sizeof text};
    IPEX_TRY(read_file(path, &bytes, &size, report));
    enum ipex_status status = from_npy(bytes, size, ret, &inner);
    free(bytes);
    if (status != IPEX_OK)
        return ipex_fail(report, status, "%s: %s", path, text);
    return IPEX_OK;
}

static enum ipex_dtype dtype_of_onnx(int32_t type) {
    switch (type) {
    case IPEX_ONNX_FLOAT:
        return IPEX_DTYPE_f32;
    case IPEX_ONNX_BFLOAT16:
        return IPEX_DTYPE_bf16;
    case IPEX_ONNX_FLOAT16:
        return IPEX_DTYPE_f16;
    case IPEX_ONNX_INT8:
        return IPEX_DTYPE_i8;
    case IPEX_ONNX_UINT8:
        return IPEX_DTYPE_u8;
    case IPEX_ONNX_INT32:
        return IPEX_DTYPE_i32;
    case IPEX_ONNX_INT64:
        return IPEX_DTYPE_i64;
    case IPEX_ONNX_BOOL:
        return IPEX_DTYPE_bool;
    case IPEX_ONNX_DOUBLE:
        return IPEX_DTYPE_f64;
    default:
        return IPEX_DTYPE_NONE;
    }
}

static enum ipex_status read_pb(const char *path, struct ipex_tensor_data *ret,
                                const struct ipex_report *report) {
    struct ipex_onnx_tensor tensor;
    void *memory = NULL;
    char text[IPEX_CLI_MESSAGE_SIZE];
    const struct ipex_report inner = {text, sizeof text};
    enum ipex_status status = ipex_onnx_read_tensor(path, &tensor, &memory, &inner);
    if (status == IPEX_ERROR_FILE_METADATA)
        return ipex_fail(report, status, "%s (not .npy, and no sound ONNX tensor)", text);
    if (status != IPEX_OK)
        return ipex_fail(report, status, "%s", text);
    enum ipex_dtype dtype = dtype_of_onnx(tensor.type);
    bool good = dtype && ipex_tensor_data_init(ret, dtype, tensor.dims, tensor.rank);
    if (good)
        memcpy(ret->data, tensor.data, tensor.size);
    free(memory);
    if (!good)
        return ipex_fail(report, IPEX_ERROR_DTYPE, "%s: ONNX element type %d is not supported",
                         path, tensor.type);
    return IPEX_OK;
}

enum ipex_status ipex_tensor_read(const char *path, struct ipex_tensor_data *ret,
                                  const struct ipex_report *report) {
    uint8_t first[8] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ipex_fail(report, IPEX_ERROR_FILE_IO, "%s: cannot open: %s", path, strerror(errno));
    ssize_t got = read(fd, first, sizeof first);
    close(fd);
    if (got == 0)
        return ipex_fail(report, IPEX_ERROR_FILE_TRUNCATED, "%s: the file is empty", path);
    if (got > 0 && ipex_npy_is(first, (uint64_t)got))
        return read_npy(path, ret, report);
    size_t length = strlen(path);
    if (length > 4 && !strcmp(path + length - 4, ".npy"))
        return ipex_fail(report, IPEX_ERROR_FILE_METADATA, "%s: not an .npy file", path);
    return read_pb(path, ret, report);
}

/* ---- writing ---- */

enum ipex_status ipex_tensor_write(const char *path, const struct ipex_tensor_data *tensor,
                                   const struct ipex_report *report) {
    char header[IPEX_NPY_HEADER_MAX];
    size_t length = ipex_npy_format(tensor->dtype, tensor->dims, tensor->rank, header);
    struct ipex_atomic_file file;
    IPEX_CHECK(length, report, IPEX_ERROR_DTYPE, "%s: .npy has no element type %s", path,
               ipex_dtype_name(tensor->dtype));
    IPEX_TRY(ipex_atomic_open(path, &file, report));
    enum ipex_status status = ipex_atomic_write(&file, header, length, 0, report);
    if (status == IPEX_OK)
        status = ipex_atomic_write(&file, tensor->data, tensor->size, length, report);
    if (status == IPEX_OK)
        return ipex_atomic_commit(&file, report);
    ipex_atomic_discard(&file);
    return status;
}
