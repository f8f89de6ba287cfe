/* SPDX-License-Identifier: Apache-2.0 */
/* Models that are large: at the format's limits and one beyond, and storages made of many slices.
 * Written with the builder directly, one entry of f32 tensors [1][n]. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/ipex_types.h"
#include "format/model_fb_build.h"
#include "format/ops.h"
#include "tests/unit/model_maker.h"

#define ROOM (IPEX_TENSORS_MAX + 2)

/* What is being written; all counts start at 0. */
struct writer {
    struct ipex_fb_builder b;
    uint32_t tensor[ROOM], node[ROOM], weight[ROOM], input[300], output[300];
    uint32_t tensors, nodes, weights, inputs, outputs, sections;
    uint32_t name, producer, value; /* bytes of these texts */
};

static struct writer *start(void) {
    struct writer *w = calloc(1, sizeof *w);
    ipex_fb_init(&w->b);
    w->name = 1;
    return w;
}

static uint32_t text(struct writer *w, uint32_t length) {
    char *bytes = malloc(length + 1);
    memset(bytes, 'n', length);
    uint32_t ref = ipex_fb_string_n(&w->b, bytes, length);
    free(bytes);
    return ref;
}

/* A tensor [1][columns]; view_of -1: a storage, else columns [begin, begin + columns) of it. */
static int32_t tensor(struct writer *w, int64_t columns, int32_t view_of, int64_t begin) {
    uint32_t dims = ipex_fb_tensor_make_dims(&w->b, (int64_t[]){1, columns}, 2);
    ipex_fb_start(&w->b);
    ipex_fb_tensor_put_dims(&w->b, dims);
    ipex_fb_tensor_put_dtype(&w->b, IPEX_DTYPE_f32);
    ipex_fb_tensor_put_view_of(&w->b, view_of);
    ipex_fb_tensor_put_view_axis(&w->b, view_of < 0 ? -1 : 1);
    ipex_fb_tensor_put_view_start(&w->b, begin);
    w->tensor[w->tensors] = ipex_fb_end(&w->b);
    return (int32_t)w->tensors++;
}

static void copy(struct writer *w, int32_t from, int32_t to) {
    uint32_t inputs = ipex_fb_node_make_inputs(&w->b, &from, 1);
    uint32_t outputs = ipex_fb_node_make_outputs(&w->b, &to, 1);
    ipex_fb_start(&w->b);
    ipex_fb_node_put_op(&w->b, IPEX_OP_copy);
    ipex_fb_node_put_inputs(&w->b, inputs);
    ipex_fb_node_put_outputs(&w->b, outputs);
    w->node[w->nodes++] = ipex_fb_end(&w->b);
}

/* A port named by a letter or two. */
static uint32_t port(struct writer *w, uint32_t index, int32_t to, int64_t columns) {
    char letters[3] = {(char)('a' + index / 26), (char)('a' + index % 26), 0};
    uint32_t name = ipex_fb_string(&w->b, letters);
    uint32_t dims = ipex_fb_port_make_dims(&w->b, (int64_t[]){1, columns}, 2);
    ipex_fb_start(&w->b);
    ipex_fb_port_put_name(&w->b, name);
    ipex_fb_port_put_tensor(&w->b, (uint32_t)to);
    ipex_fb_port_put_dims(&w->b, dims);
    return ipex_fb_end(&w->b);
}

static int32_t input(struct writer *w, int64_t columns) {
    int32_t index = tensor(w, columns, -1, 0);
    w->input[w->inputs] = port(w, w->inputs, index, columns);
    w->inputs++;
    return index;
}

static void output(struct writer *w, int32_t index, int64_t columns) {
    w->output[w->outputs] = port(w, w->outputs, index, columns);
    w->outputs++;
}

static uint32_t write_entry(struct writer *w) {
    uint32_t name = text(w, w->name);
    uint32_t tensors = ipex_fb_refs(&w->b, w->tensor, w->tensors);
    uint32_t nodes = ipex_fb_refs(&w->b, w->node, w->nodes);
    uint32_t inputs = ipex_fb_refs(&w->b, w->input, w->inputs);
    uint32_t outputs = ipex_fb_refs(&w->b, w->output, w->outputs);
    ipex_fb_start(&w->b);
    ipex_fb_entry_put_name(&w->b, name);
    ipex_fb_entry_put_tensors(&w->b, tensors);
    ipex_fb_entry_put_nodes(&w->b, nodes);
    ipex_fb_entry_put_inputs(&w->b, inputs);
    ipex_fb_entry_put_outputs(&w->b, outputs);
    return ipex_fb_end(&w->b);
}

static uint32_t write_model(struct writer *w) {
    struct ipex_fb_section *none = calloc(w->sections + 1, sizeof *none);
    uint32_t sections = ipex_fb_model_make_sections(&w->b, none, w->sections);
    uint32_t weights = ipex_fb_refs(&w->b, w->weight, w->weights);
    uint32_t entry = write_entry(w);
    uint32_t entries = ipex_fb_refs(&w->b, &entry, 1);
    uint32_t producer = text(w, w->producer), key = text(w, 1), value = text(w, w->value);
    free(none);
    ipex_fb_start(&w->b);
    ipex_fb_pair_put_key(&w->b, key);
    ipex_fb_pair_put_value(&w->b, value);
    uint32_t pair = ipex_fb_end(&w->b);
    uint32_t pairs = ipex_fb_refs(&w->b, &pair, 1);
    ipex_fb_start(&w->b);
    ipex_fb_model_put_sections(&w->b, sections);
    ipex_fb_model_put_weights(&w->b, weights);
    ipex_fb_model_put_entries(&w->b, entries);
    ipex_fb_model_put_producer(&w->b, producer);
    ipex_fb_model_put_metadata(&w->b, pairs);
    return ipex_fb_end(&w->b);
}

/* Writes, checks and frees; the status and the message must be these. */
static void assert_checked(struct writer *w, enum ipex_status wanted, const char *reason) {
    char message[256] = "";
    struct ipex_report report = {message, sizeof message};
    uint32_t size = 0;
    uint8_t *metadata = ipex_fb_finish(&w->b, write_model(w), &size);
    assert_non_null(metadata);
    struct ipex_header header = {
        .file_size = size, .metadata_size = size, .entries = 1, .tensors = w->tensors};
    ipex_header_seal(metadata, &header);
    struct maker_file file = {aligned_alloc(64, size), size, size};
    memcpy(file.bytes, metadata, size);
    enum ipex_status status = maker_check(&file, &report);
    maker_free(&file);
    ipex_fb_free(&w->b);
    free(w);
    if (status != wanted || !strstr(message, reason))
        fail_msg("%s: '%s' instead of '%s'", ipex_status_name(status), message, reason);
}

static void counts(void **state) {
    (void)state;
    struct writer *w = start();
    w->sections = IPEX_SECTIONS_MAX + 1;
    assert_checked(w, IPEX_ERROR_FILE_LIMIT, "4097 sections"); /* R25 */
    w = start();
    while (w->weights <= IPEX_WEIGHTS_MAX) {
        ipex_fb_start(&w->b);
        w->weight[w->weights++] = ipex_fb_end(&w->b);
    }
    assert_checked(w, IPEX_ERROR_FILE_LIMIT, "65537 weights"); /* R27 */
    w = start();
    while (w->tensors <= IPEX_TENSORS_MAX)
        tensor(w, 1, -1, 0);
    assert_checked(w, IPEX_ERROR_FILE_LIMIT, "tensors"); /* R11 here, as there is one entry */
    w = start();
    while (w->nodes <= IPEX_NODES_MAX)
        copy(w, 0, 0);
    assert_checked(w, IPEX_ERROR_FILE_LIMIT, "0 tensors and 65537 nodes"); /* R16 */
}

static void port_counts(void **state) {
    (void)state;
    struct writer *w = start();
    while (w->inputs <= IPEX_PORTS_MAX)
        input(w, 1);
    assert_checked(w, IPEX_ERROR_FILE_LIMIT, "257 inputs"); /* R32 */
    w = start();
    while (w->outputs <= IPEX_PORTS_MAX)
        output(w, 0, 1);
    assert_checked(w, IPEX_ERROR_FILE_LIMIT, "257 outputs"); /* R32 */
    w = start();
    while (w->inputs < IPEX_PORTS_MAX) {
        int32_t from = input(w, 1), to = tensor(w, 1, -1, 0);
        copy(w, from, to);
        output(w, to, 1);
    }
    assert_checked(w, IPEX_OK, "");
}

/* Rule R21: the longest texts, and one byte more. */
static void text_lengths(void **state) {
    static const struct {
        uint32_t name, producer, value;
        const char *reason; /* "": accepted as far as texts go */
    } cases[] = {
        {256, 4096, 65536, "no outputs"},
        {257, 1, 1, "name of 257 bytes"},
        {1, 4097, 1, "producer of 4097 bytes"},
        {1, 1, 65537, "metadata value of 65537 bytes"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct writer *w = start();
        w->name = cases[i].name;
        w->producer = cases[i].producer;
        w->value = cases[i].value;
        assert_checked(w, i == 0 ? IPEX_ERROR_MODEL_ENTRY : IPEX_ERROR_MODEL_TEXT, cases[i].reason);
    }
}

/* R57: `count` storages that are all alive when the first of them is read again. */
static void write_living(struct writer *w, int count) {
    int32_t x = input(w, 1), first = 0;
    for (int i = 0; i < count; i++) {
        int32_t to = tensor(w, 1, -1, 0);
        first = i == 0 ? to : first;
        copy(w, x, to);
    }
    for (int i = 0; i < count; i++) /* keeps each alive until here */
        copy(w, first + i, tensor(w, 1, -1, 0));
    output(w, (int32_t)w->tensors - 1, 1);
}

static void living_storages(void **state) {
    (void)state;
    struct writer *w = start();
    write_living(w, IPEX_LIVE_MAX - 1); /* and the input, or the copy */
    assert_checked(w, IPEX_OK, "");
    w = start();
    write_living(w, IPEX_LIVE_MAX);
    assert_checked(w, IPEX_ERROR_FILE_LIMIT, "node 1023 '': more than 1024 tensors are alive");
}

/* A storage of `count` columns, slice k of one column written by copies in scrambled order (7919 is
 * prime); `twist` moves one slice. */
static struct writer *write_slices(int count, int64_t twist) {
    struct writer *w = start();
    int32_t x = input(w, 1), root = tensor(w, count, -1, 0);
    for (int i = 0; i < count; i++) {
        int64_t place = (int64_t)i * 7919 % count;
        copy(w, x, tensor(w, 1, root, place == count / 2 ? place + twist : place));
    }
    output(w, root, count);
    return w;
}

static void scrambled_slices(void **state) {
    (void)state;
    for (int count = 1; count < 40; count++)
        assert_checked(write_slices(count, 0), IPEX_OK, "");
    assert_checked(write_slices(60000, 0), IPEX_OK, "");
    assert_checked(write_slices(60000, 1), IPEX_ERROR_MODEL_ORDER, "overlap, leave gaps");
    assert_checked(write_slices(60000, -30000), IPEX_ERROR_MODEL_ORDER, "overlap, leave gaps");
    struct writer *w = start();
    int32_t x = input(w, 1), root = tensor(w, 3, -1, 0);
    copy(w, x, tensor(w, 1, root, 1));
    copy(w, x, tensor(w, 1, root, 0));
    output(w, root, 3);
    assert_checked(w, IPEX_ERROR_MODEL_ORDER, "is written in part only");
}

/* A storage that grows by a column at a time: what has been made is a view of what one column more
 * makes, and read as soon as all of it is written. `early`: this one before its last column is. */
static struct writer *write_growing(int count, int early) {
    struct writer *w = start();
    int32_t x = input(w, 1), first = (int32_t)w->tensors;
    for (int columns = count; columns > 0; columns--)
        tensor(w, columns, columns == count ? -1 : (int32_t)w->tensors - 1, 0);
    for (int columns = 1; columns <= count; columns++) {
        const int32_t made = first + count - columns;
        const int32_t column = tensor(w, 1, made, columns - 1);
        const int32_t y = tensor(w, columns, -1, 0);
        if (columns == early)
            copy(w, made, y);
        copy(w, x, column);
        if (columns != early)
            copy(w, made, y);
    }
    output(w, first, count);
    return w;
}

static void growing_storage(void **state) {
    (void)state;
    assert_checked(write_growing(1, 0), IPEX_OK, "");
    assert_checked(write_growing(5, 0), IPEX_OK, "");
    assert_checked(write_growing(20000, 0), IPEX_OK, "");
    for (int early = 1; early <= 5; early++)
        assert_checked(write_growing(5, early), IPEX_ERROR_MODEL_ORDER,
                       "is read before it is written");
}

static void long_chain(void **state) {
    struct writer *w = start();
    int32_t x = input(w, 5);
    (void)state;
    while (w->nodes < IPEX_NODES_MAX - 1) {
        int32_t y = tensor(w, 5, -1, 0);
        copy(w, x, y);
        x = y;
    }
    output(w, x, 5);
    assert_checked(w, IPEX_OK, "");
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),           cmocka_unit_test(port_counts),
        cmocka_unit_test(text_lengths),     cmocka_unit_test(living_storages),
        cmocka_unit_test(scrambled_slices), cmocka_unit_test(growing_storage),
        cmocka_unit_test(long_chain),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
