/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX reader on models written here byte by byte: every way to store a tensor, everything that
 * is refused, and damage (cut at every byte, every bit flipped), which must never do worse than an
 * error that names file and byte. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tools/tool_test.h"
#include "tools/convert/onnx_read.h"

#define MODEL "m.onnx"

/* ---- writing protobuf ---- */

struct bytes {
    uint8_t at[1 << 16];
    size_t size;
};

static void put_raw(struct bytes *out, const void *bytes, size_t size) {
    if (size > sizeof out->at - out->size)
        abort();
    memcpy(out->at + out->size, bytes, size);
    out->size += size;
}

static void put_varint(struct bytes *out, uint64_t value) {
    do {
        uint8_t byte = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
        put_raw(out, &byte, 1);
        value >>= 7;
    } while (value);
}

static void put_int(struct bytes *out, unsigned field, int64_t value) {
    put_varint(out, field << 3);
    put_varint(out, (uint64_t)value);
}

static void put_bytes(struct bytes *out, unsigned field, const void *bytes, size_t size) {
    put_varint(out, field << 3 | 2);
    put_varint(out, size);
    put_raw(out, bytes, size);
}

static void put_text(struct bytes *out, unsigned field, const char *text) {
    put_bytes(out, field, text, strlen(text));
}

static void put_message(struct bytes *out, unsigned field, const struct bytes *message) {
    put_bytes(out, field, message->at, message->size);
}

static void put_float(struct bytes *out, unsigned field, float value) {
    put_varint(out, field << 3 | 5);
    put_raw(out, &value, sizeof value);
}

/* TensorProto fields. */
enum {
    DIMS = 1,
    TYPE = 2,
    FLOATS = 4,
    INT32S = 5,
    INT64S = 7,
    NAME = 8,
    RAW = 9,
    DOUBLES = 10,
    UINT64S = 11
};

static void start_tensor(struct bytes *out, const char *name, int type, int64_t dim) {
    out->size = 0;
    put_int(out, DIMS, dim);
    put_int(out, TYPE, type);
    put_text(out, NAME, name);
}

/* A model whose graph holds `field` = `message`. */
static void write_model(unsigned field, const struct bytes *message) {
    static struct bytes graph, model, opset;
    graph.size = model.size = opset.size = 0;
    put_text(&graph, 2, "g");
    if (message)
        put_message(&graph, field, message);
    put_int(&opset, 2, 13);
    put_int(&model, 1, 8);
    put_message(&model, 8, &opset);
    put_message(&model, 7, &graph);
    test_write(MODEL, model.at, model.size);
}

/* ---- reading ---- */

static char message[1024];
static const struct ipex_report report = {message, sizeof message};

static enum ipex_status open_model(struct ipex_onnx_model *ret) {
    message[0] = 0;
    return ipex_onnx_open(MODEL, ret, &report);
}

static void check_refused(const char *name, const char *part) {
    struct ipex_onnx_model model;
    enum ipex_status status = open_model(&model);
    bool right = status != IPEX_OK && test_contains(message, part);
    if (status == IPEX_OK)
        ipex_onnx_close(&model);
    test_ok(right, message, "refused: %s", name);
}

static void check_tensor(const char *name, const struct bytes *tensor, const void *expected,
                         size_t size) {
    struct ipex_onnx_model model;
    write_model(5, tensor);
    bool right = open_model(&model) == IPEX_OK;
    if (right) {
        const struct ipex_onnx_tensor *read = &model.graph.initializer[0];
        right = model.graph.initializers == 1 && read->size == size &&
                !memcmp(read->data, expected, size);
        ipex_onnx_close(&model);
    }
    test_ok(right, message, "tensor: %s", name);
}

/* ---- tensors ---- */

static void test_float_data(void) {
    static struct bytes tensor;
    const float values[] = {1.5f, -2, 0.25f};
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, 3);
    put_bytes(&tensor, RAW, values, sizeof values);
    check_tensor("raw_data", &tensor, values, sizeof values);
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, 3);
    put_bytes(&tensor, FLOATS, values, sizeof values);
    check_tensor("float_data, packed", &tensor, values, sizeof values);
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, 3);
    for (int i = 0; i < 3; i++)
        put_float(&tensor, FLOATS, values[i]);
    check_tensor("float_data, one by one", &tensor, values, sizeof values);
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, 3);
    put_bytes(&tensor, FLOATS, values, 4);
    put_bytes(&tensor, FLOATS, values + 1, 8);
    check_tensor("float_data, packed in two runs", &tensor, values, sizeof values);
    const double wide[] = {1e300, -0.0, 3};
    start_tensor(&tensor, "w", IPEX_ONNX_DOUBLE, 3);
    put_bytes(&tensor, DOUBLES, wide, sizeof wide);
    check_tensor("double_data", &tensor, wide, sizeof wide);
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, 0);
    check_tensor("no elements, no data", &tensor, "", 0);
}

static void test_integer_data(void) {
    static const struct {
        const char *name;
        int type;
        unsigned field, width;
        int64_t low, high;
    } types[] = {
        {"int8", IPEX_ONNX_INT8, INT32S, 1, -128, 127},
        {"uint8", IPEX_ONNX_UINT8, INT32S, 1, 0, 255},
        {"bool", IPEX_ONNX_BOOL, INT32S, 1, 0, 1},
        {"int16", IPEX_ONNX_INT16, INT32S, 2, -32768, 32767},
        {"uint16", IPEX_ONNX_UINT16, INT32S, 2, 0, 65535},
        {"float16", IPEX_ONNX_FLOAT16, INT32S, 2, 0, 65535},
        {"bfloat16", IPEX_ONNX_BFLOAT16, INT32S, 2, 0, 65535},
        {"int32", IPEX_ONNX_INT32, INT32S, 4, INT32_MIN, INT32_MAX},
        {"uint32", IPEX_ONNX_UINT32, UINT64S, 4, 0, UINT32_MAX},
        {"int64", IPEX_ONNX_INT64, INT64S, 8, INT64_MIN, INT64_MAX},
        {"uint64", IPEX_ONNX_UINT64, UINT64S, 8, INT64_MIN, INT64_MAX},
    };
    static struct bytes tensor, packed;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        uint8_t expected[16];
        memcpy(expected, &types[i].low, types[i].width);
        memcpy(expected + types[i].width, &types[i].high, types[i].width);
        start_tensor(&tensor, "w", types[i].type, 2);
        packed.size = 0;
        put_varint(&packed, (uint64_t)types[i].low);
        put_varint(&packed, (uint64_t)types[i].high);
        put_message(&tensor, types[i].field, &packed);
        check_tensor(types[i].name, &tensor, expected, 2 * types[i].width);
        if (types[i].width > 2)
            continue;
        start_tensor(&tensor, "w", types[i].type, 1);
        put_int(&tensor, types[i].field, types[i].high + 1);
        write_model(5, &tensor);
        check_refused("a value that does not fit its type", "does not fit its type");
    }
}

static void test_wrong_sizes(void) {
    static struct bytes tensor;
    const float values[] = {1, 2, 3};
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, 4);
    put_bytes(&tensor, RAW, values, sizeof values);
    write_model(5, &tensor);
    check_refused("raw_data too short", "tensor 'w' holds 12 bytes, its shape needs 16");
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, 3);
    put_bytes(&tensor, RAW, values, sizeof values);
    put_bytes(&tensor, FLOATS, values, sizeof values);
    write_model(5, &tensor);
    check_refused("data twice", "data twice");
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, -3);
    write_model(5, &tensor);
    check_refused("a negative dimension", "negative or too large");
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, INT64_C(1) << 40);
    write_model(5, &tensor);
    check_refused("a dimension over the limit", "negative or too large");
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, 1);
    for (int i = 0; i < 8; i++)
        put_int(&tensor, DIMS, 1);
    write_model(5, &tensor);
    check_refused("nine dimensions", "more than 8 dimensions");
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, 1);
    put_bytes(&tensor, FLOATS, values, 5);
    write_model(5, &tensor);
    check_refused("packed floats that are no multiple of 4 bytes", "no multiple of 4");
}

/* ---- external data ---- */

static void put_pair(struct bytes *out, const char *key, const char *value) {
    static struct bytes pair;
    pair.size = 0;
    put_text(&pair, 1, key);
    put_text(&pair, 2, value);
    put_message(out, 13, &pair);
}

/* A model with three floats in a file. */
static void write_external(const char *location, const char *offset, const char *length) {
    static struct bytes tensor;
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, 3);
    put_int(&tensor, 14, 1);
    put_pair(&tensor, "location", location);
    if (offset)
        put_pair(&tensor, "offset", offset);
    if (length)
        put_pair(&tensor, "length", length);
    write_model(5, &tensor);
}

static void check_external(const char *name, const char *location, const char *offset,
                           const char *length, const float *expected) {
    struct ipex_onnx_model model;
    write_external(location, offset, length);
    bool right = open_model(&model) == IPEX_OK;
    if (right) {
        right = !memcmp(model.graph.initializer[0].data, expected, 12);
        ipex_onnx_close(&model);
    }
    test_ok(right, message, "external data: %s", name);
}

static void test_external(void) {
    const float values[] = {1, 2, 3, 4};
    char absolute[512], cwd[256];
    if (!getcwd(cwd, sizeof cwd) || mkdir("sub", 0777) || mkdir("outside", 0777) || chdir("sub"))
        abort();
    snprintf(absolute, sizeof absolute, "%s/sub/w.bin", cwd);
    if (mkdir("deep", 0777))
        abort();
    test_write("w.bin", values, sizeof values);
    test_write("deep/w.bin", values, sizeof values);
    test_write("../outside/w.bin", values, sizeof values);
    if (symlink("../w.bin", "deep/inside") || symlink("../outside/w.bin", "escape") ||
        symlink("../outside", "folder") || mkfifo("fifo", 0600))
        abort();
    check_external("offset and length", "w.bin", "4", "12", values + 1);
    check_external("no length", "w.bin", "4", NULL, values + 1);
    check_external("in a sub-folder", "./deep/w.bin", NULL, "12", values);
    check_external("a link that stays inside", "deep/inside", "0", "12", values);
    static const struct {
        const char *name, *location, *offset, *length, *part;
    } bad[] = {
        {"a parent folder", "../outside/w.bin", "0", "12", "not a path inside"},
        {"a parent folder, further on", "deep/../../outside/w.bin", "0", "12", "not a path inside"},
        {"a link that leads outside", "escape", "0", "12", "leads outside"},
        {"a linked folder that leads outside", "folder/w.bin", "0", "12", "leads outside"},
        {"no such file", "gone.bin", "0", "12", "gone.bin"},
        {"a FIFO", "fifo", "0", "12", "not a regular file"},
        {"no location", "", "0", "12", "not a path inside"},
        {"an offset past the end", "w.bin", "8", "12", "gives 12 at 8 of a file of 16"},
        {"an offset that would wrap", "w.bin", "18446744073709551615", "12", "of a file of 16"},
        {"a negative offset", "w.bin", "-4", "12", "'-4' is no offset"},
        {"a wrong length", "w.bin", "0", "8", "needs 12 bytes"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_external(bad[i].location, bad[i].offset, bad[i].length);
        check_refused(bad[i].name, bad[i].part);
    }
    write_external(absolute, "0", "12");
    check_refused("an absolute path", "not a path inside");
    if (chdir(".."))
        abort();
}

/* ---- graph ---- */

static void put_attr_int(struct bytes *node, const char *name, int64_t value, bool typed) {
    static struct bytes attr;
    attr.size = 0;
    put_text(&attr, 1, name);
    put_int(&attr, 3, value);
    if (typed)
        put_int(&attr, 20, IPEX_ONNX_ATTR_INT);
    put_message(node, 5, &attr);
}

static void make_node(struct bytes *node) {
    static struct bytes attr, inner, inner_node;
    node->size = attr.size = inner.size = inner_node.size = 0;
    put_text(node, 1, "x");
    put_text(node, 1, "");
    put_text(node, 2, "y");
    put_text(node, 3, "n1");
    put_text(node, 4, "Frob");
    put_text(node, 7, "ai.onnx");
    put_attr_int(node, "typed", -7, true);
    put_attr_int(node, "untyped", 9, false);
    put_text(&attr, 1, "floats");
    put_float(&attr, 7, 0.5f);
    put_float(&attr, 7, -1);
    put_int(&attr, 20, IPEX_ONNX_ATTR_FLOATS);
    put_message(node, 5, &attr);
    attr.size = 0;
    put_text(&attr, 1, "body");
    put_text(&inner_node, 4, "Inner");
    put_message(&inner, 1, &inner_node);
    put_message(&attr, 6, &inner);
    put_int(&attr, 20, IPEX_ONNX_ATTR_GRAPH);
    put_message(node, 5, &attr);
    attr.size = 0;
    put_text(&attr, 1, "text");
    put_bytes(&attr, 4, "a\0b", 3);
    put_int(&attr, 20, IPEX_ONNX_ATTR_STRING);
    put_message(node, 5, &attr);
}

static void test_node(void) {
    static struct bytes node;
    struct ipex_onnx_model model;
    make_node(&node);
    write_model(1, &node);
    test_ok(open_model(&model) == IPEX_OK, message, "node: reads");
    if (model.graph.nodes != 1 || model.graph.node[0].attrs != 5) {
        test_ok(false, NULL, "node: one node, five attributes");
        return;
    }
    const struct ipex_onnx_node *read = &model.graph.node[0];
    test_ok(model.ir_version == 8 && model.opset == 13, NULL, "node: versions");
    test_ok(read->inputs == 2 && !strcmp(read->input[0], "x") && !*read->input[1] &&
                read->outputs == 1 && !strcmp(read->output[0], "y"),
            NULL, "node: operands");
    test_ok(!strcmp(read->op_type, "Frob") && !strcmp(read->name, "n1") && !*read->domain, NULL,
            "node: names, default domain");
    test_ok(read->attr[0].type == IPEX_ONNX_ATTR_INT && read->attr[0].i == -7, NULL,
            "attribute: int");
    test_ok(read->attr[1].type == IPEX_ONNX_ATTR_INT && read->attr[1].i == 9, NULL,
            "attribute: type from its field");
    test_ok(read->attr[2].count == 2 && read->attr[2].floats[0] == 0.5f &&
                read->attr[2].floats[1] == -1,
            NULL, "attribute: floats, unpacked");
    test_ok(read->attr[3].graph && read->attr[3].graph->nodes == 1 &&
                !strcmp(read->attr[3].graph->node[0].op_type, "Inner"),
            NULL, "attribute: graph");
    test_ok(read->attr[4].count == 3 && !memcmp(read->attr[4].s, "a\0b", 4), NULL,
            "attribute: string of any bytes");
    ipex_onnx_close(&model);
}

static void test_value(void) {
    static struct bytes value, type, tensor, shape, dim;
    struct ipex_onnx_model model;
    value.size = type.size = tensor.size = shape.size = dim.size = 0;
    put_text(&dim, 2, "N");
    put_message(&shape, 1, &dim);
    dim.size = 0;
    put_int(&dim, 1, 3);
    put_message(&shape, 1, &dim);
    dim.size = 0;
    put_message(&shape, 1, &dim);
    put_int(&tensor, 1, IPEX_ONNX_FLOAT);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_message(&value, 2, &type);
    put_text(&value, 1, "x");
    write_model(11, &value);
    bool right = open_model(&model) == IPEX_OK && model.graph.inputs == 1;
    if (right) {
        const struct ipex_onnx_value *read = &model.graph.input[0];
        right = read->type == IPEX_ONNX_FLOAT && read->rank == 3 && read->dims[0] == -1 &&
                !strcmp(read->params[0], "N") && read->dims[1] == 3 && !*read->params[1] &&
                read->dims[2] == -1 && !*read->params[2];
        ipex_onnx_close(&model);
    }
    test_ok(right, message, "value: named, fixed and unknown dimensions");
}

/* ---- refusals ---- */

static void test_refusals(void) {
    static struct bytes graph, node, attr, model, sparse, tensor;
    graph.size = 0;
    for (int depth = 0; depth < 40; depth++) {
        node.size = attr.size = 0;
        put_text(&attr, 1, "body");
        put_message(&attr, 6, &graph);
        put_message(&node, 5, &attr);
        graph.size = 0;
        put_message(&graph, 1, &node);
    }
    write_model(1, &node);
    check_refused("graphs nested 40 deep", "nested more than");
    start_tensor(&tensor, "w_sparse", IPEX_ONNX_FLOAT, 1);
    sparse.size = 0;
    put_message(&sparse, 1, &tensor);
    write_model(15, &sparse);
    check_refused("a sparse initializer, by name", "w_sparse");
    graph.size = model.size = 0;
    put_message(&model, 25, &graph);
    put_message(&model, 7, &graph);
    test_write(MODEL, model.at, model.size);
    check_refused("functions", "functions");
    model.size = 0;
    put_message(&model, 7, &graph);
    put_message(&model, 7, &graph);
    test_write(MODEL, model.at, model.size);
    check_refused("two graphs", "two main graphs");
    test_write(MODEL, "", 0);
    check_refused("an empty file", "not an ONNX model");
    test_write(MODEL, "hello, this is text", 19);
    check_refused("a text file", MODEL ": byte ");
    node.size = 0;
    put_bytes(&node, 4, "a\0b", 3);
    write_model(1, &node);
    check_refused("a name with a NUL", "NUL");
    node.size = 0;
    put_text(&node, 4, "\xed\xa0\x80");
    write_model(1, &node);
    check_refused("a name that is not UTF-8", "UTF-8");
    test_write(MODEL, "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
    check_refused("a length of more than 64 bits", "more than 64 bits");
    test_write(MODEL, "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    check_refused("a length past the end", "past the end");
    unlink(MODEL);
    check_refused("no such file", "No such file");
    if (mkdir(MODEL, 0777))
        abort();
    check_refused("a folder", "not a regular file");
    rmdir(MODEL);
}

/* ---- damage ---- */

/* Opens the file and looks at everything in it, so that a sanitizer sees every pointer that was
 * handed out. Returns whether it could be opened; counts failures that do not name the file. */
static uint64_t checksum;

static void read_bytes(const void *bytes, uint64_t size) {
    for (uint64_t i = 0; i < size; i++)
        checksum = checksum * 31 + ((const uint8_t *)bytes)[i];
}

static void read_graph(const struct ipex_onnx_graph *graph) {
    for (size_t i = 0; i < graph->initializers; i++)
        if (graph->initializer[i].data)
            read_bytes(graph->initializer[i].data, graph->initializer[i].size);
    for (size_t i = 0; i < graph->nodes; i++) {
        const struct ipex_onnx_node *node = &graph->node[i];
        for (size_t j = 0; j < node->inputs; j++)
            read_bytes(node->input[j], strlen(node->input[j]));
        for (size_t j = 0; j < node->attrs; j++) {
            const struct ipex_onnx_attr *attr = &node->attr[j];
            read_bytes(attr->s, strlen(attr->s));
            read_bytes(attr->floats, attr->floats ? attr->count * sizeof(float) : 0);
            read_bytes(attr->ints, attr->ints ? attr->count * sizeof(int64_t) : 0);
            if (attr->graph)
                read_graph(attr->graph);
        }
    }
    for (size_t i = 0; i < graph->inputs; i++)
        for (int32_t j = 0; j < graph->input[i].rank; j++)
            read_bytes(graph->input[i].params[j], strlen(graph->input[i].params[j]));
}

static bool read_damaged(int *unnamed) {
    struct ipex_onnx_model model;
    if (open_model(&model) != IPEX_OK) {
        *unnamed += strncmp(message, MODEL ": ", strlen(MODEL) + 2) != 0;
        return false;
    }
    read_graph(&model.graph);
    ipex_onnx_close(&model);
    return true;
}

static void make_model(struct bytes *model) {
    static struct bytes node, tensor, graph;
    const float values[] = {1, 2, 3};
    graph.size = model->size = 0;
    make_node(&node);
    put_message(&graph, 1, &node);
    start_tensor(&tensor, "w", IPEX_ONNX_FLOAT, 3);
    put_bytes(&tensor, FLOATS, values, sizeof values);
    put_message(&graph, 5, &tensor);
    start_tensor(&tensor, "i", IPEX_ONNX_INT64, 1);
    put_int(&tensor, INT64S, -5);
    put_message(&graph, 5, &tensor);
    put_message(model, 7, &graph);
}

static void test_damage(void) {
    static struct bytes model;
    int opened = 0, unnamed = 0, bits = 0;
    make_model(&model);
    for (size_t size = 0; size < model.size; size++) {
        test_write(MODEL, model.at, size);
        opened += read_damaged(&unnamed);
    }
    test_ok(!opened, NULL, "damage: cut at every byte, never opens");
    for (size_t bit = 0; bit < 8 * model.size; bit++) {
        model.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
        test_write(MODEL, model.at, model.size);
        bits += !read_damaged(&unnamed);
        model.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    test_ok(bits > 0 && (size_t)bits < 8 * model.size, NULL,
            "damage: every bit flipped, some noticed, none fatal");
    test_ok(!unnamed, message, "damage: every message begins with the file's name");
}

/* ---- tensor files ---- */

static void test_tensor_file(void) {
    static struct bytes tensor;
    const float values[] = {1, 2, 3};
    struct ipex_onnx_tensor read;
    void *memory = NULL;
    start_tensor(&tensor, "in", IPEX_ONNX_FLOAT, 3);
    put_bytes(&tensor, RAW, values, sizeof values);
    test_write("t.pb", tensor.at, tensor.size);
    bool right = ipex_onnx_read_tensor("t.pb", &read, &memory, &report) == IPEX_OK;
    if (right) {
        unlink("t.pb"); /* in memory, not in the file */
        right = !strcmp(read.name, "in") && read.rank == 1 && read.dims[0] == 3 &&
                read.size == sizeof values && !memcmp(read.data, values, sizeof values);
        free(memory);
    }
    test_ok(right, message, "tensor file: reads");
    test_write("t.pb", tensor.at, tensor.size - 1);
    test_ok(ipex_onnx_read_tensor("t.pb", &read, &memory, &report) != IPEX_OK, NULL,
            "tensor file: cut off, refused");
}

int main(void) {
    test_start();
    test_float_data();
    test_integer_data();
    test_wrong_sizes();
    test_external();
    test_node();
    test_value();
    test_refusals();
    test_damage();
    test_tensor_file();
    return test_done();
}
