/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the corpus of bad files: make_bad FOLDER. At least one per rule of format/FORMAT.md, with
 * digests made right again so that the rule itself is reached, named STATUS-RULE-WHAT.ipex after
 * the status that opening it must give; and good ones, OK-WHAT.ipex. The breaks are listed in
 * tests/unit/rules.inc (descriptions of models) and bytes.inc (bytes). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "format/model_fb_build.h"
#include "format/ops.h"
#include "format/tile.h"
#include "tests/golden/edit.h"

#define TENSOR(i) (m->entry[0].tensor[i])
#define NODE(i)   (m->entry[0].node[i])
#define ENTRY     (m->entry[0])
#define EXPR(i)   (m->entry[0].expr[i])

struct corpus_case {
    const char *name; /* rNN_what, or what of a good one */
    void (*break_model)(struct maker_model *m);
    void (*break_bytes)(struct maker_file *f);
    const char *status;
};

/* ---- what the tables call ---- */

static void swap_nodes(struct maker_model *m, int a, int b) {
    struct maker_node swap = m->entry[0].node[a];
    m->entry[0].node[a] = m->entry[0].node[b];
    m->entry[0].node[b] = swap;
}

/* New dims for a weight and its tensor; all weights are laid out anew. */
static void resize(struct maker_model *m, int weight, int tensor, int a, int b, int c, int d,
                   int e) {
    const int64_t dims[5] = {a, b, c, d, e};
    struct maker_weight *resized = &m->weight[weight];
    for (resized->rank = 0; resized->rank < 5 && dims[resized->rank] > 0; resized->rank++)
        resized->dims[resized->rank] = m->entry[0].tensor[tensor].dims[resized->rank] =
            dims[resized->rank];
    m->entry[0].tensor[tensor].rank = resized->rank;
    m->section[0].stored = m->section[1].stored = 0;
    for (uint32_t i = 0; i < m->weights; i++) {
        struct maker_weight *w = &m->weight[i];
        struct ipex_fb_section *section = &m->section[w->section];
        int64_t bytes = 0;
        if (!ipex_weight_bytes(w->dtype, w->layout, w->dims, w->rank, &bytes))
            abort();
        w->bytes = (uint64_t)bytes;
        w->offset = (section->stored + IPEX_TILE_BYTES - 1) & ~(uint64_t)(IPEX_TILE_BYTES - 1);
        section->stored = section->raw = w->offset + w->bytes;
    }
}

static void dilate(struct maker_model *m) {
    for (int i = 0; i < 4; i++) {
        TENSOR(T_XH).halo[i] = 2;
        NODE(N_CONV).int_[IPEX_CONV_PAD_TOP + i] = 2;
    }
    NODE(N_CONV).int_[IPEX_CONV_DILATION_H] = NODE(N_CONV).int_[IPEX_CONV_DILATION_W] = 2;
    resize(m, W_CONV, T_CONV_W, 1, 9, 8, 1, 3);
}

static void transform_kernel(struct maker_model *m, int32_t points) {
    maker_winograd(&NODE(N_CONV));
    resize(m, W_CONV, T_CONV_W, 1, points, 8, 1, 3);
}

/* Three labels are one string, which is most of the metadata. */
static void share_string(struct maker_file *f) {
    uint64_t model = edit_root(f), entry = edit_element(f, model, IPEX_FB_MODEL_ENTRIES, 0);
    edit_long_string(f, model, IPEX_FB_MODEL_PRODUCER, 20000);
    uint64_t string = edit_follow(f, model, IPEX_FB_MODEL_PRODUCER);
    uint64_t label = edit_follow(f, entry, IPEX_FB_ENTRY_LABELS) + 4;
    for (uint32_t i = 0; i < 3; i++, label += 4)
        edit_u32(f, label, (uint32_t)(string - label));
}

/* The same with four tensors' dims. */
static void share_vector(struct maker_file *f) {
    uint64_t entry = edit_element(f, edit_root(f), IPEX_FB_MODEL_ENTRIES, 0);
    uint64_t tensor = edit_element(f, entry, IPEX_FB_ENTRY_TENSORS, 0);
    edit_zero_vector(f, tensor, IPEX_FB_TENSOR_DIMS, 4000, 8);
    uint64_t vector = edit_follow(f, tensor, IPEX_FB_TENSOR_DIMS);
    for (uint32_t i = 1; i < 4; i++) {
        tensor = edit_element(f, entry, IPEX_FB_ENTRY_TENSORS, i);
        uint64_t slot = edit_slot(f, tensor, IPEX_FB_TENSOR_DIMS);
        edit_u32(f, slot, (uint32_t)(vector - slot));
    }
}

/* A second entry without arithmetic: a u8 tensor [2][3][4] transposed, cut, reshaped, copied. */
static void move_bytes(struct maker_model *m) {
    struct maker_entry *e = &m->entry[1];
    const struct maker_tensor none = {
        .dtype = IPEX_DTYPE_u8, .weight = -1, .view_of = -1, .view_axis = -1};
    *e = (struct maker_entry){.name = "move", .tensors = 5, .nodes = 3, .inputs = 1, .outputs = 1};
    for (uint32_t i = 0; i < e->tensors; i++)
        e->tensor[i] = none;
    static const int64_t dims[5][3] = {{2, 3, 4}, {4, 2, 3}, {2, 2, 3}, {4, 3}, {4, 3}};
    for (uint32_t i = 0; i < e->tensors; i++) {
        e->tensor[i].rank = i < 3 ? 3 : 2;
        memcpy(e->tensor[i].dims, dims[i], sizeof dims[i]);
    }
    e->tensor[3].view_of = 2;
    e->node[0] = (struct maker_node){.op = IPEX_OP_transpose,
                                     .inputs = 1,
                                     .outputs = 1,
                                     .input = {0},
                                     .output = {1},
                                     .ints = 3,
                                     .int_ = {2, 0, 1}};
    e->node[1] = (struct maker_node){.op = IPEX_OP_slice,
                                     .inputs = 1,
                                     .outputs = 1,
                                     .input = {1},
                                     .output = {2},
                                     .ints = 6,
                                     .int_ = {3, 0, 0, -2, 1, 1}};
    e->node[2] = (struct maker_node){
        .op = IPEX_OP_copy, .inputs = 1, .outputs = 1, .input = {3}, .output = {4}};
    e->input[0] = (struct maker_port){.name = "x", .tensor = 0, .rank = 3, .dims = {2, 3, 4}};
    e->output[0] = (struct maker_port){.name = "y", .tensor = 4, .rank = 2, .dims = {4, 3}};
    m->entries = 2;
}

/* A tensor [1] and, but for the first, the copy node that writes it. */
static void crowd_member(struct ipex_fb_builder *b, int32_t from, int32_t to, uint32_t *tensors,
                         uint32_t *nodes) {
    static const int64_t one[1] = {1};
    uint32_t dims = ipex_fb_tensor_make_dims(b, one, 1);
    ipex_fb_start(b);
    ipex_fb_tensor_put_dims(b, dims);
    ipex_fb_tensor_put_dtype(b, IPEX_DTYPE_f32);
    tensors[to] = ipex_fb_end(b);
    if (to == 0)
        return;
    uint32_t inputs = ipex_fb_node_make_inputs(b, &from, 1),
             outputs = ipex_fb_node_make_outputs(b, &to, 1);
    ipex_fb_start(b);
    ipex_fb_node_put_op(b, IPEX_OP_copy);
    ipex_fb_node_put_inputs(b, inputs);
    ipex_fb_node_put_outputs(b, outputs);
    nodes[to - 1] = ipex_fb_end(b);
}

static uint32_t crowd_port(struct ipex_fb_builder *b, uint32_t tensor) {
    static const int64_t one[1] = {1};
    uint32_t name = ipex_fb_string(b, "port"), dims = ipex_fb_port_make_dims(b, one, 1);
    ipex_fb_start(b);
    ipex_fb_port_put_name(b, name);
    ipex_fb_port_put_dims(b, dims);
    ipex_fb_port_put_tensor(b, tensor);
    uint32_t port = ipex_fb_end(b);
    return ipex_fb_refs(b, &port, 1);
}

/* Another file in the place of `f`: `count` copies of the input that all live until each has been
 * copied again. */
static void replace_by_crowd(struct maker_file *f, int32_t count) {
    static uint32_t tensor[3 * IPEX_LIVE_MAX], node[3 * IPEX_LIVE_MAX];
    struct ipex_fb_builder b;
    ipex_fb_init(&b);
    for (int32_t i = 0; i <= 2 * count; i++)
        crowd_member(&b, i <= count ? 0 : i - count, i, tensor, node);
    uint32_t name = ipex_fb_string(&b, "main"), last = 2 * (uint32_t)count;
    uint32_t tensors = ipex_fb_refs(&b, tensor, last + 1), nodes = ipex_fb_refs(&b, node, last);
    uint32_t inputs = crowd_port(&b, 0), outputs = crowd_port(&b, last), size = 0;
    ipex_fb_start(&b);
    ipex_fb_entry_put_name(&b, name);
    ipex_fb_entry_put_tensors(&b, tensors);
    ipex_fb_entry_put_nodes(&b, nodes);
    ipex_fb_entry_put_inputs(&b, inputs);
    ipex_fb_entry_put_outputs(&b, outputs);
    uint32_t entry = ipex_fb_end(&b), entries = ipex_fb_refs(&b, &entry, 1);
    ipex_fb_start(&b);
    ipex_fb_model_put_entries(&b, entries);
    uint8_t *metadata = ipex_fb_finish(&b, ipex_fb_end(&b), &size);
    struct ipex_header header = {
        .file_size = size, .metadata_size = size, .entries = 1, .tensors = last + 1};
    ipex_header_seal(metadata, &header);
    free(f->bytes);
    *f = (struct maker_file){malloc(size), size, size};
    memcpy(f->bytes, metadata, size);
    ipex_fb_free(&b);
}

/* ---- the tables ---- */

#define RULE(name, status, reason, ...)                                                            \
    static void model_##name(struct maker_model *m) {                                              \
        __VA_ARGS__;                                                                               \
    }
#include "tests/unit/rules.inc"
#define GOOD(name, ...)                                                                            \
    static void good_##name(struct maker_model *m) {                                               \
        __VA_ARGS__;                                                                               \
    }
#include "tests/golden/good.inc"
#define BYTES_OF(name, status, model, ...)                                                         \
    static void model_##name(struct maker_model *m) {                                              \
        model;                                                                                     \
    }                                                                                              \
    static void bytes_##name(struct maker_file *f) {                                               \
        __VA_ARGS__;                                                                               \
    }
#define BYTES(name, status, ...) BYTES_OF(name, status, (void)m, __VA_ARGS__)
#include "tests/golden/bytes.inc"

static const struct corpus_case cases[] = {
#define RULE(name, status, reason, ...) {#name, model_##name, NULL, #status},
#include "tests/unit/rules.inc"
#define GOOD(name, ...) {#name, good_##name, edit_fill_floats, "OK"},
#include "tests/golden/good.inc"
#define BYTES_OF(name, status, model, ...) {#name, model_##name, bytes_##name, #status},
#define BYTES(name, status, ...)           BYTES_OF(name, status, , )
#include "tests/golden/bytes.inc"
};

/* ---- writing ---- */

static void die(const char *what, const char *name) {
    fprintf(stderr, "make_bad: %s %s: %s\n", what, name, strerror(errno));
    exit(1);
}

/* STATUS-RULE-WHAT, or OK-WHAT. */
static void save(const char *folder, const char *status, const char *name,
                 const struct maker_file *file) {
    char path[1024];
    if (strcmp(status, "OK") == 0) {
        snprintf(path, sizeof path, "%s/%s-%s.ipex", folder, status, name);
    } else {
        int digits = (int)strcspn(name, "_") - 1;
        snprintf(path, sizeof path, "%s/%s-R%.*s-%s.ipex", folder, status, digits, name + 1,
                 name + digits + 2);
    }
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(file->bytes, 1, file->size, out) != file->size || fclose(out) != 0)
        die("cannot write", path);
}

static void make(const char *folder, const struct corpus_case *c) {
    struct maker_model *model = malloc(sizeof *model);
    maker_default(model);
    c->break_model(model);
    struct maker_file file = maker_write(model);
    if (c->break_bytes)
        c->break_bytes(&file);
    maker_repair_digest(&file);
    save(folder, c->status, c->name, &file);
    maker_free(&file);
    free(model);
}

/* The one file whose only fault is the digest. */
static void make_wrong_digest(const char *folder) {
    struct maker_model *model = malloc(sizeof *model);
    maker_default(model);
    struct maker_file file = maker_write(model);
    file.bytes[EDIT_DIGEST] ^= 1;
    save(folder, "ERROR_FILE_DIGEST", "r12_digest_only", &file);
    maker_free(&file);
    free(model);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: make_bad FOLDER\n");
        return 2;
    }
    if (mkdir(argv[1], 0777) != 0 && errno != EEXIST)
        die("cannot make", argv[1]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        make(argv[1], &cases[i]);
    make_wrong_digest(argv[1]);
    return 0;
}
