/* SPDX-License-Identifier: Apache-2.0 */
/* Elements are used where they lie whenever they are stored as plain little-endian bytes (raw_data,
 * packed float_data and double_data, external data); only varint-coded fields and numbers of 4 bits
 * are decoded, into the arena. The number of bytes is always compared with what type and dims need.
 * External files must be regular files inside the model's folder. */
#include "tools/convert/onnx_tensor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Field numbers of TensorProto. */
enum {
    DIMS = 1,
    DATA_TYPE = 2,
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    STRING_DATA = 6,
    INT64_DATA = 7,
    NAME = 8,
    RAW_DATA = 9,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11,
    EXTERNAL_DATA = 13,
    DATA_LOCATION = 14,
};

/* How a type's elements are stored: bytes each, and the typed field that may hold them. */
struct storage {
    unsigned width;
    uint32_t field;
    int64_t low, high; /* of values in a varint field */
};

/* width 0: strings and types this reader does not know. */
static struct storage storage_of(int32_t type) {
    switch (type) {
    case IPEX_ONNX_FLOAT:
        return (struct storage){4, FLOAT_DATA, 0, 0};
    case IPEX_ONNX_DOUBLE:
        return (struct storage){8, DOUBLE_DATA, 0, 0};
    case IPEX_ONNX_UINT8:
        return (struct storage){1, INT32_DATA, 0, UINT8_MAX};
    case IPEX_ONNX_INT8:
        return (struct storage){1, INT32_DATA, INT8_MIN, INT8_MAX};
    case IPEX_ONNX_BOOL:
        return (struct storage){1, INT32_DATA, 0, 1};
    case IPEX_ONNX_UINT16:
    case IPEX_ONNX_FLOAT16:
    case IPEX_ONNX_BFLOAT16:
        return (struct storage){2, INT32_DATA, 0, UINT16_MAX};
    case IPEX_ONNX_INT16:
        return (struct storage){2, INT32_DATA, INT16_MIN, INT16_MAX};
    case IPEX_ONNX_INT32:
        return (struct storage){4, INT32_DATA, INT32_MIN, INT32_MAX};
    case IPEX_ONNX_INT64:
        return (struct storage){8, INT64_DATA, INT64_MIN, INT64_MAX};
    case IPEX_ONNX_UINT32:
        return (struct storage){4, UINT64_DATA, 0, UINT32_MAX};
    case IPEX_ONNX_UINT64:
        return (struct storage){8, UINT64_DATA, INT64_MIN, INT64_MAX};
    case IPEX_ONNX_UINT4:
    case IPEX_ONNX_INT4: /* writers differ in whether a byte of two has a sign */
        return (struct storage){1, INT32_DATA, INT8_MIN, UINT8_MAX};
    default:
        return (struct storage){0};
    }
}

/* An element is half a byte, and so is stored by twos. */
static bool is_half_byte(int32_t type) {
    return type == IPEX_ONNX_UINT4 || type == IPEX_ONNX_INT4;
}

/* ---- files ---- */

/* Maps a regular file read-only; an empty one gives NULL and size 0. */
static enum ipex_status map_file(const char *path, const struct ipex_report *report,
                                 struct ipex_onnx_map *ret) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* never hang on a FIFO */
    if (fd < 0)
        return ipex_fail(report, IPEX_ERROR_FILE_IO, "%s: cannot open: %s", path, strerror(errno));
    struct stat status;
    void *bytes = NULL;
    const char *why = NULL;
    if (fstat(fd, &status))
        why = strerror(errno);
    else if (!S_ISREG(status.st_mode))
        why = "not a regular file";
    else if (status.st_size > 0) {
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            why = strerror(errno);
    }
    close(fd);
    if (why)
        return ipex_fail(report, IPEX_ERROR_FILE_IO, "%s: cannot map: %s", path, why);
    *ret = (struct ipex_onnx_map){.bytes = bytes,
                                  .size = (uint64_t)status.st_size,
                                  .device = status.st_dev,
                                  .inode = status.st_ino};
    return IPEX_OK;
}

static const struct ipex_onnx_map *keep_map(struct ipex_onnx_private *files,
                                            struct ipex_onnx_map map) {
    files->maps = ipex_grow(files->maps, &files->map_capacity, files->map_count + 1, sizeof map);
    files->maps[files->map_count] = map;
    return &files->maps[files->map_count++];
}

enum ipex_status ipex_onnx_reader_open(const char *path, const struct ipex_report *report,
                                       struct ipex_onnx_reader *ret) {
    struct ipex_onnx_map map;
    IPEX_TRY(map_file(path, report, &map));
    struct ipex_onnx_private *files = ipex_alloc(sizeof *files);
    *files = (struct ipex_onnx_private){0};
    files->path = ipex_arena_strdup(&files->arena, path);
    keep_map(files, map);
    *ret = (struct ipex_onnx_reader){
        .pb = {.path = files->path, .base = map.bytes, .report = report, .arena = &files->arena},
        .files = files,
    };
    return IPEX_OK;
}

bool ipex_onnx_reads(const struct ipex_onnx_model *model, const char *path) {
    struct stat status;
    if (!model->private_ || stat(path, &status))
        return false;
    for (size_t i = 0; i < model->private_->map_count; i++)
        if (model->private_->maps[i].device == status.st_dev &&
            model->private_->maps[i].inode == status.st_ino)
            return true;
    return false;
}

void ipex_onnx_files_close(struct ipex_onnx_private *files) {
    if (!files)
        return;
    for (size_t i = 0; i < files->map_count; i++)
        if (files->maps[i].bytes)
            munmap((void *)(uintptr_t)files->maps[i].bytes, files->maps[i].size);
    free(files->maps);
    ipex_arena_finish(&files->arena);
    free(files);
}

/* ---- external data ---- */

struct external {
    const char *location;
    uint64_t offset, length;
    bool has_length;
};

static bool has_parent_step(const char *path) {
    for (const char *step = path; step; step = strchr(step, '/')) {
        step += *step == '/';
        if (!strncmp(step, "..", 2) && (step[2] == '/' || !step[2]))
            return true;
    }
    return false;
}

/* The real path of `location` inside the model's folder, in the arena; NULL when it is not there or
 * leads outside (links are followed first, then the prefix is compared). */
static const char *resolve(struct ipex_onnx_reader *reader, const char *location,
                           const uint8_t *at) {
    struct ipex_pb *pb = &reader->pb;
    if (!*location || *location == '/' || has_parent_step(location)) {
        ipex_pb_fail(pb, at, "external data '%s': not a path inside the model's folder", location);
        return NULL;
    }
    const char *slash = strrchr(reader->files->path, '/');
    size_t length = slash ? (size_t)(slash - reader->files->path) : 0;
    const char *folder = !slash   ? "."
                         : length ? ipex_arena_strndup(pb->arena, pb->path, length)
                                  : "/";
    char root[PATH_MAX], target[PATH_MAX];
    const char *joined = ipex_arena_printf(pb->arena, "%s/%s", folder, location);
    if (!realpath(folder, root) || !realpath(joined, target)) {
        ipex_pb_fail(pb, at, "external data '%s': %s", location, strerror(errno));
        return NULL;
    }
    size_t prefix = strlen(root);
    bool inside = !strcmp(root, "/") || (!strncmp(target, root, prefix) && target[prefix] == '/');
    if (!inside) {
        ipex_pb_fail(pb, at, "external data '%s': a link leads outside the model's folder",
                     location);
        return NULL;
    }
    return ipex_arena_strdup(pb->arena, target);
}

/* The map of an external file, made at its first use. */
static const struct ipex_onnx_map *external_map(struct ipex_onnx_reader *reader,
                                                const char *location, const uint8_t *at) {
    struct ipex_onnx_private *files = reader->files;
    for (size_t i = files->map_count; i-- > 1;)
        if (!strcmp(files->maps[i].location, location))
            return &files->maps[i];
    const char *path = resolve(reader, location, at);
    if (!path)
        return NULL;
    struct ipex_onnx_map map;
    reader->pb.status = map_file(path, reader->pb.report, &map);
    if (reader->pb.status != IPEX_OK)
        return NULL;
    map.location = location;
    return keep_map(files, map);
}

static bool parse_u64(const char *text, uint64_t *ret) {
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *ret = value;
    return !errno && !*end;
}

/* One StringStringEntryProto of external_data. Unknown keys (checksum) are ignored. */
static bool external_entry(struct ipex_pb *pb, struct ipex_span message,
                           struct external *external) {
    const uint8_t *at = message.at;
    const char *key = "", *value = "";
    struct ipex_pb_field field;
    while (ipex_pb_next(pb, &message, &field)) {
        if (field.key == IPEX_PB_BYTES(1))
            key = ipex_pb_text(pb, field.bytes);
        else if (field.key == IPEX_PB_BYTES(2))
            value = ipex_pb_text(pb, field.bytes);
    }
    bool good = true;
    if (!strcmp(key, "location"))
        external->location = value;
    else if (!strcmp(key, "offset"))
        good = parse_u64(value, &external->offset);
    else if (!strcmp(key, "length"))
        good = external->has_length = parse_u64(value, &external->length);
    return good || ipex_pb_fail(pb, at, "external data: '%s' is no %s", value, key);
}

static bool external_data(struct ipex_onnx_reader *reader, struct ipex_span message, uint64_t need,
                          struct ipex_onnx_tensor *ret) {
    struct ipex_pb *pb = &reader->pb;
    const uint8_t *at = message.at;
    struct external external = {.location = ""};
    struct ipex_pb_field field;
    while (ipex_pb_next(pb, &message, &field))
        if (field.key == IPEX_PB_BYTES(EXTERNAL_DATA) &&
            !external_entry(pb, field.bytes, &external))
            return false;
    if (pb->status != IPEX_OK)
        return false;
    const struct ipex_onnx_map *map = external_map(reader, external.location, at);
    if (!map)
        return false;
    uint64_t length = external.has_length ? external.length : need;
    if (length != need || !ipex_range_ok(external.offset, length, map->size))
        return ipex_pb_fail(pb, at,
                            "tensor '%s' needs %llu bytes, external data '%s' gives %llu at %llu "
                            "of a file of %llu",
                            ret->name, (unsigned long long)need, external.location,
                            (unsigned long long)length, (unsigned long long)external.offset,
                            (unsigned long long)map->size);
    ret->data = need ? map->bytes + external.offset : (const uint8_t *)"";
    ret->size = need;
    return true;
}

/* ---- data inside the message ---- */

static bool decode_varints(struct ipex_pb *pb, struct ipex_span message, struct storage storage,
                           uint64_t count, struct ipex_onnx_tensor *ret) {
    uint8_t *data = ipex_arena_array(pb->arena, count, storage.width);
    struct ipex_pb_varints values = {message, {0}, storage.field};
    uint64_t bits;
    for (uint8_t *at = data; ipex_pb_next_varint(pb, &values, &bits); at += storage.width) {
        int64_t value = storage.field == INT32_DATA ? (int32_t)bits : (int64_t)bits;
        if (value < storage.low || value > storage.high)
            return ipex_pb_fail(pb, message.at, "tensor '%s': the value %lld does not fit its type",
                                ret->name, (long long)value);
        memcpy(at, &value, storage.width); /* little-endian: the low bytes */
    }
    ret->data = data;
    return pb->status == IPEX_OK;
}

/* Elements in the typed field. For fixed-width fields also where they are. */
static bool count_typed(struct ipex_pb *pb, struct ipex_span message, struct storage storage,
                        uint64_t *ret_count, const uint8_t **ret_data) {
    if (storage.field == FLOAT_DATA || storage.field == DOUBLE_DATA)
        return ipex_pb_fixed(pb, message, storage.field, storage.width, ret_data, ret_count);
    struct ipex_pb_varints values = {message, {0}, storage.field};
    uint64_t bits;
    *ret_count = 0;
    while (ipex_pb_next_varint(pb, &values, &bits))
        ++*ret_count;
    return pb->status == IPEX_OK;
}

static bool inline_data(struct ipex_pb *pb, struct ipex_span message, struct storage storage,
                        struct ipex_span raw, uint64_t need, struct ipex_onnx_tensor *ret) {
    uint64_t count = 0;
    ret->data = (const uint8_t *)"";
    ret->size = need;
    if (!count_typed(pb, message, storage, &count, &ret->data))
        return false;
    uint64_t have = ipex_span_size(raw);
    if (have && count)
        return ipex_pb_fail(pb, message.at, "tensor '%s' has its data twice", ret->name);
    if ((have ? have : count * storage.width) != need) /* count <= bytes of the file */
        return ipex_pb_fail(pb, message.at, "tensor '%s' holds %llu bytes, its shape needs %llu",
                            ret->name, (unsigned long long)(have ? have : count * storage.width),
                            (unsigned long long)need);
    if (have)
        ret->data = raw.at;
    else if (!need)
        ret->data = (const uint8_t *)"";
    else if (storage.field != FLOAT_DATA && storage.field != DOUBLE_DATA)
        return decode_varints(pb, message, storage, count, ret);
    return true;
}

/* A byte per element instead: the lower half of a stored one comes first. */
static void unpack_halves(struct ipex_pb *pb, uint64_t numel, struct ipex_onnx_tensor *ret) {
    uint8_t *data = ipex_arena_array(pb->arena, numel + 1, sizeof *data);
    for (uint64_t i = 0; i < numel; i++) {
        const unsigned half = ret->data[i / 2] >> 4 * (i % 2) & 15,
                       sign = ret->type == IPEX_ONNX_INT4 && half & 8 ? 0xf0 : 0;
        data[i] = (uint8_t)(half | sign);
    }
    ret->data = data;
    ret->size = numel;
}

/* ---- the message ---- */

static bool read_dims(struct ipex_pb *pb, struct ipex_span message, struct ipex_onnx_tensor *ret) {
    int64_t *dims = ipex_arena_array(pb->arena, IPEX_MAX_RANK, sizeof *dims);
    struct ipex_pb_varints values = {message, {0}, DIMS};
    uint64_t value;
    while (ipex_pb_next_varint(pb, &values, &value)) {
        if (ret->rank == IPEX_MAX_RANK)
            return ipex_pb_fail(pb, message.at, "tensor '%s' has more than %d dimensions",
                                ret->name, IPEX_MAX_RANK);
        dims[ret->rank++] = (int64_t)value;
    }
    ret->dims = dims;
    return pb->status == IPEX_OK;
}

bool ipex_onnx_tensor(struct ipex_onnx_reader *reader, struct ipex_span message,
                      struct ipex_onnx_tensor *ret) {
    struct ipex_pb *pb = &reader->pb;
    struct ipex_span rest = message, raw = {0};
    struct ipex_pb_field field;
    bool external = false;
    *ret = (struct ipex_onnx_tensor){.name = ""};
    while (ipex_pb_next(pb, &rest, &field)) {
        switch (field.key) {
        case IPEX_PB_VARINT(DATA_TYPE):
            ret->type = (int32_t)field.value;
            break;
        case IPEX_PB_BYTES(NAME):
            ret->name = ipex_pb_text(pb, field.bytes);
            break;
        case IPEX_PB_BYTES(RAW_DATA):
            raw = field.bytes;
            break;
        case IPEX_PB_VARINT(DATA_LOCATION):
            external = field.value == 1;
            break;
        default:
            break;
        }
    }
    if (pb->status != IPEX_OK || !read_dims(pb, message, ret))
        return false;
    struct storage storage = storage_of(ret->type);
    if (!storage.width)
        return true;
    int64_t numel;
    if (!ipex_numel(ret->dims, (unsigned)ret->rank, &numel))
        return ipex_pb_fail(pb, message.at, "tensor '%s': its dimensions are negative or too large",
                            ret->name);
    const bool halves = is_half_byte(ret->type);
    const uint64_t count = halves ? ((uint64_t)numel + 1) / 2 : (uint64_t)numel,
                   need = count * storage.width; /* numel <= 2^40 */
    const bool read = external ? external_data(reader, message, need, ret)
                               : inline_data(pb, message, storage, raw, need, ret);
    if (read && halves)
        unpack_halves(pb, (uint64_t)numel, ret);
    return read;
}
