/* SPDX-License-Identifier: Apache-2.0 */
/* ModelProto, GraphProto, NodeProto, AttributeProto and ValueInfoProto over the wire cursor of
 * protobuf.h. Arrays are counted first and allocated once; skipping a nested message costs its
 * length prefix only, so the whole walk is linear in the file times the nesting depth, which is
 * capped. */
#include "tools/convert/onnx_read.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tools/convert/onnx_sort.h"
#include "tools/convert/onnx_tensor.h"
#include "tools/convert/protobuf.h"

#define MAX_GRAPH_DEPTH 32

typedef bool (*read_fn)(struct ipex_onnx_reader *reader, struct ipex_span message, void *ret);

/* Reads every sub-message `number` into an array of elements of `size` bytes; NULL on an error. */
static void *read_each(struct ipex_onnx_reader *reader, struct ipex_span message, uint32_t number,
                       size_t size, read_fn read, size_t *ret_count) {
    struct ipex_pb *pb = &reader->pb;
    uint32_t key = IPEX_PB_BYTES(number);
    size_t count = ipex_pb_count(pb, message, key);
    if (pb->status != IPEX_OK)
        return NULL;
    char *array = ipex_arena_array(pb->arena, count, size), *at = array;
    struct ipex_pb_field field;
    while (ipex_pb_next(pb, &message, &field)) {
        if (field.key != key)
            continue;
        if (!read(reader, field.bytes, at))
            return NULL;
        at += size;
    }
    *ret_count = count;
    return array;
}

static bool read_name(struct ipex_onnx_reader *reader, struct ipex_span message, void *ret) {
    *(const char **)ret = ipex_pb_text(&reader->pb, message);
    return reader->pb.status == IPEX_OK;
}

/* Strings of attributes may hold any bytes. */
static bool read_bytes(struct ipex_onnx_reader *reader, struct ipex_span message, void *ret) {
    *(const char **)ret = ipex_arena_strndup(reader->pb.arena, message.at, ipex_span_size(message));
    return true;
}

static bool read_tensor(struct ipex_onnx_reader *reader, struct ipex_span message, void *ret) {
    return ipex_onnx_tensor(reader, message, ret);
}

/* ---- attributes and nodes ---- */

static bool read_graph(struct ipex_onnx_reader *reader, struct ipex_span message,
                       struct ipex_onnx_graph *ret);

static const int64_t *read_ints(struct ipex_pb *pb, struct ipex_span message, uint32_t number,
                                size_t *ret_count) {
    struct ipex_pb_varints values = {message, {0}, number};
    uint64_t value;
    size_t count = 0;
    while (ipex_pb_next_varint(pb, &values, &value))
        count++;
    int64_t *array = ipex_arena_array(pb->arena, count, sizeof *array), *at = array;
    values = (struct ipex_pb_varints){message, {0}, number};
    while (ipex_pb_next_varint(pb, &values, &value))
        *at++ = (int64_t)value;
    *ret_count = count;
    return array;
}

static const float *read_floats(struct ipex_pb *pb, struct ipex_span message, uint32_t number,
                                size_t *ret_count) {
    const uint8_t *bytes = NULL;
    uint64_t count = 0;
    if (!ipex_pb_fixed(pb, message, number, sizeof(float), &bytes, &count))
        return NULL;
    float *array = ipex_arena_array(pb->arena, count, sizeof *array); /* aligned */
    if (count)
        memcpy(array, bytes, count * sizeof *array);
    *ret_count = count;
    return array;
}

static bool attr_tensor(struct ipex_onnx_reader *reader, struct ipex_span message,
                        struct ipex_onnx_attr *ret) {
    struct ipex_onnx_tensor *tensor = ipex_arena_alloc(reader->pb.arena, sizeof *tensor);
    if (ret->tensor)
        return ipex_pb_fail(&reader->pb, message.at, "attribute '%s' has two tensors", ret->name);
    ret->tensor = tensor;
    return ipex_onnx_tensor(reader, message, tensor);
}

static bool attr_graph(struct ipex_onnx_reader *reader, struct ipex_span message,
                       struct ipex_onnx_attr *ret) {
    struct ipex_onnx_graph *graph = ipex_arena_alloc(reader->pb.arena, sizeof *graph);
    if (ret->graph)
        return ipex_pb_fail(&reader->pb, message.at, "attribute '%s' has two graphs", ret->name);
    if (reader->depth == MAX_GRAPH_DEPTH)
        return ipex_pb_fail(&reader->pb, message.at, "graphs are nested more than %d deep",
                            MAX_GRAPH_DEPTH);
    ret->graph = graph;
    reader->depth++;
    bool good = read_graph(reader, message, graph);
    reader->depth--;
    return good;
}

/* One field of AttributeProto. ret_seen: the type that the field's presence speaks for. */
static bool attr_field(struct ipex_onnx_reader *reader, const struct ipex_pb_field *field,
                       struct ipex_onnx_attr *ret, int32_t *ret_seen) {
    struct ipex_pb *pb = &reader->pb;
    switch (field->key) {
    case IPEX_PB_BYTES(1):
        ret->name = ipex_pb_text(pb, field->bytes);
        break;
    case IPEX_PB_FIXED32(2):
        memcpy(&ret->f, field->bytes.at, sizeof ret->f);
        *ret_seen = IPEX_ONNX_ATTR_FLOAT;
        break;
    case IPEX_PB_VARINT(3):
        ret->i = (int64_t)field->value;
        *ret_seen = IPEX_ONNX_ATTR_INT;
        break;
    case IPEX_PB_BYTES(4):
        read_bytes(reader, field->bytes, &ret->s);
        ret->count = ipex_span_size(field->bytes);
        *ret_seen = IPEX_ONNX_ATTR_STRING;
        break;
    case IPEX_PB_BYTES(5):
        *ret_seen = IPEX_ONNX_ATTR_TENSOR;
        return attr_tensor(reader, field->bytes, ret);
    case IPEX_PB_BYTES(6):
        *ret_seen = IPEX_ONNX_ATTR_GRAPH;
        return attr_graph(reader, field->bytes, ret);
    case IPEX_PB_FIXED32(7):
    case IPEX_PB_BYTES(7):
        *ret_seen = IPEX_ONNX_ATTR_FLOATS;
        break;
    case IPEX_PB_VARINT(8):
    case IPEX_PB_BYTES(8):
        *ret_seen = IPEX_ONNX_ATTR_INTS;
        break;
    case IPEX_PB_BYTES(9):
        *ret_seen = IPEX_ONNX_ATTR_STRINGS;
        break;
    case IPEX_PB_VARINT(20):
        ret->type = (int32_t)field->value;
        break;
    case IPEX_PB_BYTES(21):
        if (ipex_span_size(field->bytes))
            return ipex_pb_fail(pb, field->bytes.at,
                                "a reference to a function's attribute stands outside a function");
        break;
    default:
        break;
    }
    return pb->status == IPEX_OK;
}

/* The repeated fields of an attribute of a list type; and that single ones have what they say. */
static bool attr_lists(struct ipex_onnx_reader *reader, struct ipex_span message,
                       struct ipex_onnx_attr *ret) {
    struct ipex_pb *pb = &reader->pb;
    switch (ret->type) {
    case IPEX_ONNX_ATTR_STRING:
        return true;
    case IPEX_ONNX_ATTR_TENSOR:
        return ret->tensor ||
               ipex_pb_fail(pb, message.at, "attribute '%s' lacks its tensor", ret->name);
    case IPEX_ONNX_ATTR_GRAPH:
        return ret->graph ||
               ipex_pb_fail(pb, message.at, "attribute '%s' lacks its graph", ret->name);
    case IPEX_ONNX_ATTR_FLOATS:
        ret->floats = read_floats(pb, message, 7, &ret->count);
        break;
    case IPEX_ONNX_ATTR_INTS:
        ret->ints = read_ints(pb, message, 8, &ret->count);
        break;
    case IPEX_ONNX_ATTR_STRINGS:
        ret->strings = read_each(reader, message, 9, sizeof *ret->strings, read_bytes, &ret->count);
        break;
    default:
        ret->count = 0;
        break;
    }
    return pb->status == IPEX_OK;
}

static bool read_attr(struct ipex_onnx_reader *reader, struct ipex_span message, void *into) {
    struct ipex_onnx_attr *ret = into;
    *ret = (struct ipex_onnx_attr){.name = "", .s = ""};
    struct ipex_span rest = message;
    struct ipex_pb_field field;
    int32_t seen = 0;
    while (ipex_pb_next(&reader->pb, &rest, &field))
        if (!attr_field(reader, &field, ret, &seen))
            return false;
    if (reader->pb.status != IPEX_OK)
        return false;
    if (!ret->type) /* written before the type field existed */
        ret->type = seen;
    return attr_lists(reader, message, ret);
}

static bool read_node(struct ipex_onnx_reader *reader, struct ipex_span message, void *into) {
    struct ipex_onnx_node *ret = into;
    struct ipex_pb *pb = &reader->pb;
    *ret = (struct ipex_onnx_node){.name = "", .op_type = "", .domain = ""};
    struct ipex_span rest = message;
    struct ipex_pb_field field;
    while (ipex_pb_next(pb, &rest, &field)) {
        switch (field.key) {
        case IPEX_PB_BYTES(3):
            ret->name = ipex_pb_text(pb, field.bytes);
            break;
        case IPEX_PB_BYTES(4):
            ret->op_type = ipex_pb_text(pb, field.bytes);
            break;
        case IPEX_PB_BYTES(7):
            ret->domain = ipex_pb_text(pb, field.bytes);
            break;
        default:
            break;
        }
    }
    if (!strcmp(ret->domain, "ai.onnx"))
        ret->domain = "";
    ret->input = read_each(reader, message, 1, sizeof *ret->input, read_name, &ret->inputs);
    ret->output = read_each(reader, message, 2, sizeof *ret->output, read_name, &ret->outputs);
    ret->attr = read_each(reader, message, 5, sizeof *ret->attr, read_attr, &ret->attrs);
    return pb->status == IPEX_OK;
}

/* ---- values ---- */

struct dim {
    int64_t value; /* -1 unknown */
    const char *param;
};

static bool read_dim(struct ipex_onnx_reader *reader, struct ipex_span message, void *into) {
    struct dim *ret = into;
    *ret = (struct dim){-1, ""};
    struct ipex_pb_field field;
    while (ipex_pb_next(&reader->pb, &message, &field)) {
        if (field.key == IPEX_PB_VARINT(1)) /* a oneof: the later field replaces the earlier */
            *ret = (struct dim){(int64_t)field.value < 0 ? -1 : (int64_t)field.value, ""};
        else if (field.key == IPEX_PB_BYTES(2))
            *ret = (struct dim){-1, ipex_pb_text(&reader->pb, field.bytes)};
    }
    return reader->pb.status == IPEX_OK;
}

static bool read_shape(struct ipex_onnx_reader *reader, struct ipex_span message,
                       struct ipex_onnx_value *ret) {
    struct ipex_pb *pb = &reader->pb;
    size_t rank = 0;
    const struct dim *list = read_each(reader, message, 1, sizeof *list, read_dim, &rank);
    if (!list)
        return false;
    if (rank > IPEX_MAX_RANK)
        return ipex_pb_fail(pb, message.at, "value '%s' has more than %d dimensions", ret->name,
                            IPEX_MAX_RANK);
    int64_t *dims = ipex_arena_array(pb->arena, rank, sizeof *dims);
    const char **params = ipex_arena_array(pb->arena, rank, sizeof *params);
    for (size_t i = 0; i < rank; i++) {
        dims[i] = list[i].value;
        params[i] = list[i].param;
    }
    ret->rank = (int32_t)rank;
    ret->dims = dims;
    ret->params = params;
    return true;
}

static bool read_tensor_type(struct ipex_onnx_reader *reader, struct ipex_span message,
                             struct ipex_onnx_value *ret) {
    struct ipex_pb_field field;
    while (ipex_pb_next(&reader->pb, &message, &field)) {
        if (field.key == IPEX_PB_VARINT(1))
            ret->type = (int32_t)field.value;
        else if (field.key == IPEX_PB_BYTES(2) && !read_shape(reader, field.bytes, ret))
            return false;
    }
    return reader->pb.status == IPEX_OK;
}

/* TypeProto: only tensor_type is looked at; sequences, maps and optionals leave type 0. */
static bool read_type(struct ipex_onnx_reader *reader, struct ipex_span message,
                      struct ipex_onnx_value *ret) {
    struct ipex_pb_field field;
    while (ipex_pb_next(&reader->pb, &message, &field))
        if (field.key == IPEX_PB_BYTES(1) && !read_tensor_type(reader, field.bytes, ret))
            return false;
    return reader->pb.status == IPEX_OK;
}

static bool read_value(struct ipex_onnx_reader *reader, struct ipex_span message, void *into) {
    struct ipex_onnx_value *ret = into;
    *ret = (struct ipex_onnx_value){.name = "", .rank = -1};
    struct ipex_pb *pb = &reader->pb;
    struct ipex_span rest = message;
    struct ipex_pb_field field;
    while (ipex_pb_next(pb, &rest, &field)) /* the name first: it is for messages */
        if (field.key == IPEX_PB_BYTES(1))
            ret->name = ipex_pb_text(pb, field.bytes);
    while (ipex_pb_next(pb, &message, &field))
        if (field.key == IPEX_PB_BYTES(2) && !read_type(reader, field.bytes, ret))
            return false;
    return pb->status == IPEX_OK;
}

/* ---- graph and model ---- */

/* SparseTensorProto: refused, with the name of its values. */
static bool refuse_sparse(struct ipex_onnx_reader *reader, struct ipex_span message) {
    struct ipex_pb *pb = &reader->pb;
    const uint8_t *at = message.at;
    const char *name = "";
    struct ipex_pb_field field, inner;
    while (ipex_pb_next(pb, &message, &field))
        if (field.key == IPEX_PB_BYTES(1))
            while (ipex_pb_next(pb, &field.bytes, &inner))
                if (inner.key == IPEX_PB_BYTES(8))
                    name = ipex_pb_text(pb, inner.bytes);
    return ipex_pb_fail(pb, at, "sparse initializer '%s': sparse tensors are not supported", name);
}

static bool read_graph(struct ipex_onnx_reader *reader, struct ipex_span message,
                       struct ipex_onnx_graph *ret) {
    struct ipex_pb *pb = &reader->pb;
    *ret = (struct ipex_onnx_graph){.name = ""};
    struct ipex_span rest = message;
    struct ipex_pb_field field;
    while (ipex_pb_next(pb, &rest, &field)) {
        if (field.key == IPEX_PB_BYTES(2))
            ret->name = ipex_pb_text(pb, field.bytes);
        else if (field.key == IPEX_PB_BYTES(15))
            return refuse_sparse(reader, field.bytes);
    }
    ret->node = read_each(reader, message, 1, sizeof *ret->node, read_node, &ret->nodes);
    ret->initializer =
        read_each(reader, message, 5, sizeof *ret->initializer, read_tensor, &ret->initializers);
    ret->input = read_each(reader, message, 11, sizeof *ret->input, read_value, &ret->inputs);
    ret->output = read_each(reader, message, 12, sizeof *ret->output, read_value, &ret->outputs);
    ret->value = read_each(reader, message, 13, sizeof *ret->value, read_value, &ret->values);
    if (pb->status == IPEX_OK)
        ipex_onnx_sort(ret, pb->arena);
    return pb->status == IPEX_OK;
}

struct pair {
    const char *key, *value;
};

static bool read_pair(struct ipex_onnx_reader *reader, struct ipex_span message, void *into) {
    struct pair *ret = into;
    *ret = (struct pair){"", ""};
    struct ipex_pb_field field;
    while (ipex_pb_next(&reader->pb, &message, &field)) {
        if (field.key == IPEX_PB_BYTES(1))
            ret->key = ipex_pb_text(&reader->pb, field.bytes);
        else if (field.key == IPEX_PB_BYTES(2))
            ret->value = ipex_pb_text(&reader->pb, field.bytes);
    }
    return reader->pb.status == IPEX_OK;
}

static bool read_metadata(struct ipex_onnx_reader *reader, struct ipex_span message,
                          struct ipex_onnx_model *ret) {
    const struct pair *pairs =
        read_each(reader, message, 14, sizeof *pairs, read_pair, &ret->metadata);
    if (!pairs)
        return false;
    const char **keys = ipex_arena_array(reader->pb.arena, ret->metadata, sizeof *keys);
    const char **values = ipex_arena_array(reader->pb.arena, ret->metadata, sizeof *values);
    for (size_t i = 0; i < ret->metadata; i++) {
        keys[i] = pairs[i].key;
        values[i] = pairs[i].value;
    }
    ret->metadata_keys = keys;
    ret->metadata_values = values;
    return true;
}

static bool read_opset(struct ipex_onnx_reader *reader, struct ipex_span message,
                       struct ipex_onnx_model *ret) {
    const uint8_t *at = message.at;
    const char *domain = "";
    int64_t version = 0;
    struct ipex_pb_field field;
    while (ipex_pb_next(&reader->pb, &message, &field)) {
        if (field.key == IPEX_PB_BYTES(1))
            domain = ipex_pb_text(&reader->pb, field.bytes);
        else if (field.key == IPEX_PB_VARINT(2))
            version = (int64_t)field.value;
    }
    if (*domain && strcmp(domain, "ai.onnx"))
        return reader->pb.status == IPEX_OK;
    if (ret->opset && ret->opset != version)
        return ipex_pb_fail(&reader->pb, at, "two versions of the default operator set");
    ret->opset = version;
    return reader->pb.status == IPEX_OK;
}

/* FunctionProto: refused by name. */
static bool refuse_function(struct ipex_pb *pb, struct ipex_span message) {
    const uint8_t *at = message.at;
    const char *name = "";
    struct ipex_pb_field field;
    while (ipex_pb_next(pb, &message, &field))
        if (field.key == IPEX_PB_BYTES(1))
            name = ipex_pb_text(pb, field.bytes);
    return ipex_pb_fail(pb, at,
                        "the model defines the function '%s': functions are not supported (inline "
                        "them with onnx.inliner.inline_local_functions)",
                        name);
}

/* One field of ModelProto. */
static bool model_field(struct ipex_onnx_reader *reader, const struct ipex_pb_field *field,
                        struct ipex_onnx_model *ret, struct ipex_span *ret_graph) {
    struct ipex_pb *pb = &reader->pb;
    switch (field->key) {
    case IPEX_PB_VARINT(1):
        ret->ir_version = (int64_t)field->value;
        break;
    case IPEX_PB_BYTES(2):
        ret->producer = ipex_pb_text(pb, field->bytes);
        break;
    case IPEX_PB_BYTES(7):
        if (ret_graph->at)
            return ipex_pb_fail(pb, field->bytes.at, "two main graphs");
        *ret_graph = field->bytes;
        break;
    case IPEX_PB_BYTES(8):
        return read_opset(reader, field->bytes, ret);
    case IPEX_PB_BYTES(25):
        return refuse_function(pb, field->bytes);
    default:
        break;
    }
    return pb->status == IPEX_OK;
}

static bool read_model(struct ipex_onnx_reader *reader, struct ipex_span message,
                       struct ipex_onnx_model *ret) {
    struct ipex_pb *pb = &reader->pb;
    *ret = (struct ipex_onnx_model){.producer = ""};
    struct ipex_span rest = message, graph = {0};
    struct ipex_pb_field field;
    while (ipex_pb_next(pb, &rest, &field))
        if (!model_field(reader, &field, ret, &graph))
            return false;
    if (pb->status != IPEX_OK)
        return false;
    if (!graph.at)
        return ipex_pb_fail(pb, message.at, "no graph in it: not an ONNX model");
    return read_metadata(reader, message, ret) && read_graph(reader, graph, &ret->graph);
}

static struct ipex_span whole_file(const struct ipex_onnx_reader *reader) {
    const struct ipex_onnx_map *map = &reader->files->maps[0];
    return (struct ipex_span){map->bytes, map->bytes ? map->bytes + map->size : NULL};
}

enum ipex_status ipex_onnx_open(const char *path, struct ipex_onnx_model *ret_model,
                                const struct ipex_report *report) {
    struct ipex_onnx_reader reader;
    struct ipex_onnx_model model;
    IPEX_TRY(ipex_onnx_reader_open(path, report, &reader));
    if (!read_model(&reader, whole_file(&reader), &model)) {
        ipex_onnx_files_close(reader.files);
        return reader.pb.status;
    }
    model.private_ = reader.files;
    *ret_model = model;
    return IPEX_OK;
}

void ipex_onnx_close(struct ipex_onnx_model *model) {
    ipex_onnx_files_close(model->private_);
    *model = (struct ipex_onnx_model){0};
}

/* A copy of a tensor in one block: dims, elements, name. */
static void *detach(const struct ipex_onnx_tensor *tensor, struct ipex_onnx_tensor *ret) {
    size_t dims = (size_t)tensor->rank * sizeof *tensor->dims;
    size_t name = strlen(tensor->name) + 1;
    size_t size;
    if (__builtin_add_overflow(tensor->size, dims + name, &size))
        ipex_die_memory();
    uint8_t *block = ipex_alloc(size);
    *ret = *tensor;
    ret->dims = memcpy(block, tensor->dims, dims);
    if (tensor->size)
        memcpy(block + dims, tensor->data, tensor->size);
    ret->data = tensor->data ? block + dims : NULL;
    ret->name = memcpy(block + dims + tensor->size, tensor->name, name);
    return block;
}

enum ipex_status ipex_onnx_read_tensor(const char *path, struct ipex_onnx_tensor *ret,
                                       void **ret_memory, const struct ipex_report *report) {
    struct ipex_onnx_reader reader;
    struct ipex_onnx_tensor tensor;
    IPEX_TRY(ipex_onnx_reader_open(path, report, &reader));
    if (ipex_onnx_tensor(&reader, whole_file(&reader), &tensor))
        *ret_memory = detach(&tensor, ret);
    ipex_onnx_files_close(reader.files);
    return reader.pb.status;
}
