/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an .ipex file: places the weights, builds the metadata with room for the digests, streams
 * the data while hashing its chunks, and writes header and metadata last. */
#include "tools/convert/write.h"

#include <stdlib.h>
#include <string.h>

#include "format/check.h"
#include "format/fb_build.h"
#include "format/model_fb_build.h"
#include "format/sha256.h"
#include "runtime/ipex.h"
#include "tools/convert/dim_write.h"
#include "tools/convert/share.h"
#include "tools/name_table.h"

enum { SECTION_WEIGHTS, SECTION_ANSWERS, SECTIONS };

struct writer {
    const struct ipex_write *what;
    struct ipex_weight_table table;
    const struct ipex_plan *plan;  /* of the entry that is being built */
    const uint32_t *weight_number; /* of its weights, in the file */
    ipex_write_fn fn;
    void *user;
    const struct ipex_report *report;

    struct ipex_fb_builder b;
    struct ipex_arena arena;
    struct ipex_name_table strings; /* with their references */
    uint64_t shared;                /* bytes of strings that were not stored again */
    struct ipex_dim_writer dims;
    struct ipex_fb_section section[SECTIONS];
    uint32_t sections,
        index[SECTIONS]; /* those that are not empty, and their numbers in the file */
    uint64_t data_size;  /* from the first section to the end */
    uint32_t section_ref, digest_ref;

    uint64_t start, at; /* file offsets: of the first section, of the next byte */
    struct ipex_sha256 hash;
    uint8_t *digests;
    uint64_t chunk;
};

static uint64_t align_up(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

/* Each is stored once: names stand in weights, tensors, nodes and the ledger, and sessions of a
 * loaded file keep all of it in memory. Only where more would be shared than is stored, which a
 * checker takes for an attack (R15), it is stored again. */
static uint32_t string(struct writer *w, const char *text) {
    struct ipex_name *name = ipex_name_add(&w->strings, text);
    const uint64_t size = strlen(text) + 5;                    /* with its length and NUL */
    if (name->value.number && w->shared + size <= w->b.used) { /* 0: never a string's reference */
        w->shared += size;
        return name->value.number;
    }
    return name->value.number = ipex_fb_string(&w->b, text);
}

/* ---- placing ---- */

static enum ipex_status place_weights(struct writer *w) {
    uint64_t end[SECTIONS] = {0};
    for (size_t i = 0; i < w->table.weights; i++) {
        struct ipex_plan_weight *weight = w->table.weight[i];
        IPEX_CHECK(weight->bytes >= 0, w->report, IPEX_ERROR_MODEL_WEIGHT,
                   "weight %s has no elements or more than the format allows", weight->name);
        uint64_t *at = &end[weight->section];
        weight->offset = align_up(*at, weight->layout == IPEX_LAYOUT_tiles ? IPEX_TILE_BYTES
                                                                           : IPEX_WEIGHT_ALIGN);
        *at = weight->offset + (uint64_t)weight->bytes;
    }
    uint64_t offset = 0; /* relative to the first section until the metadata's size is known */
    for (uint32_t s = 0; s < SECTIONS; s++) {
        if (!end[s])
            continue;
        offset = align_up(offset, IPEX_SECTION_ALIGN);
        w->index[s] = w->sections;
        w->section[w->sections++] =
            (struct ipex_fb_section){.offset = offset, .stored = end[s], .raw = end[s], .kind = s};
        offset += end[s];
    }
    w->data_size = offset;
    return IPEX_OK;
}

/* ---- metadata ---- */

static uint32_t build_weight(struct writer *w, const struct ipex_plan_weight *weight) {
    struct ipex_fb_builder *b = &w->b;
    uint32_t name = string(w, weight->name),
             dims = ipex_fb_weight_make_dims(b, weight->dims, (uint32_t)weight->rank);
    ipex_fb_start(b);
    ipex_fb_weight_put_name(b, name);
    ipex_fb_weight_put_dtype(b, (uint8_t)weight->dtype);
    ipex_fb_weight_put_layout(b, (uint8_t)weight->layout);
    ipex_fb_weight_put_dims(b, dims);
    ipex_fb_weight_put_section(b, w->index[weight->section]);
    ipex_fb_weight_put_offset(b, weight->offset);
    ipex_fb_weight_put_bytes(b, (uint64_t)weight->bytes);
    return ipex_fb_end(b);
}

/* A vector of dim codes. */
static uint32_t build_dims(struct writer *w, const int64_t *dims, int32_t rank) {
    int64_t code[IPEX_MAX_RANK];
    for (int32_t i = 0; i < rank; i++)
        code[i] = ipex_dim_write(&w->dims, dims[i]);
    return ipex_fb_tensor_make_dims(&w->b, code, (uint32_t)rank);
}

/* Pairs of a place in ints and the expression that stands there. */
static uint32_t build_dynamic(struct writer *w, const struct ipex_plan_node *node) {
    int32_t pair[2 * IPEX_MAX_RANK];
    for (int32_t i = 0; i < node->dynamics; i++) {
        pair[2 * i] = node->dynamic[i].at;
        pair[2 * i + 1] = (int32_t)(-1 - ipex_dim_write(&w->dims, node->dynamic[i].dim));
    }
    return ipex_fb_node_make_dynamic(&w->b, pair, 2 * (uint32_t)node->dynamics);
}

static uint32_t build_symbol(struct writer *w, const struct ipex_symbol *symbol) {
    struct ipex_fb_builder *b = &w->b;
    uint32_t name = string(w, symbol->name);
    ipex_fb_start(b);
    ipex_fb_symbol_put_name(b, name);
    ipex_fb_symbol_put_lo(b, symbol->lo);
    ipex_fb_symbol_put_hi(b, symbol->hi);
    ipex_fb_symbol_put_step(b, symbol->step);
    return ipex_fb_end(b);
}

/* A weight of the entry's plan as the file counts it; -1 stays. */
static int32_t weight_number(const struct writer *w, int32_t weight) {
    return weight < 0 ? -1 : (int32_t)w->weight_number[weight];
}

static uint32_t build_tensor(struct writer *w, const struct ipex_plan_tensor *tensor) {
    struct ipex_fb_builder *b = &w->b;
    bool halo = tensor->halo[0] || tensor->halo[1] || tensor->halo[2] || tensor->halo[3];
    uint32_t name = string(w, tensor->name), dims = build_dims(w, tensor->dims, tensor->rank);
    uint32_t halo_ref = halo ? ipex_fb_tensor_make_halo(b, tensor->halo, 4) : 0;
    int64_t view_start = ipex_dim_write(&w->dims, tensor->view_start),
            room = ipex_dim_write(&w->dims, tensor->room);
    ipex_fb_start(b);
    ipex_fb_tensor_put_name(b, name);
    ipex_fb_tensor_put_dtype(b, (uint8_t)tensor->dtype);
    ipex_fb_tensor_put_dims(b, dims);
    ipex_fb_tensor_put_halo(b, halo_ref);
    ipex_fb_tensor_put_weight(b, weight_number(w, tensor->weight));
    ipex_fb_tensor_put_view_of(b, tensor->view_of);
    ipex_fb_tensor_put_view_axis(b, tensor->view_axis);
    ipex_fb_tensor_put_view_start(b, view_start);
    ipex_fb_tensor_put_room(b, room);
    ipex_fb_tensor_put_halo_value(b, halo ? tensor->halo_value : 0);
    return ipex_fb_end(b);
}

static uint32_t build_node(struct writer *w, const struct ipex_plan_node *node) {
    struct ipex_fb_builder *b = &w->b;
    uint32_t name = string(w, node->name),
             inputs = ipex_fb_node_make_inputs(b, node->input, (uint32_t)node->inputs);
    uint32_t outputs = ipex_fb_node_make_outputs(b, node->output, (uint32_t)node->outputs),
             ints = ipex_fb_node_make_ints(b, node->int_, (uint32_t)node->ints);
    uint32_t floats = ipex_fb_node_make_floats(b, node->float_, (uint32_t)node->floats);
    uint32_t dynamic = build_dynamic(w, node);
    ipex_fb_start(b);
    ipex_fb_node_put_dynamic(b, dynamic);
    ipex_fb_node_put_op(b, (uint16_t)node->op);
    ipex_fb_node_put_band(b, node->band);
    ipex_fb_node_put_name(b, name);
    ipex_fb_node_put_inputs(b, inputs);
    ipex_fb_node_put_outputs(b, outputs);
    ipex_fb_node_put_ints(b, ints);
    ipex_fb_node_put_floats(b, floats);
    return ipex_fb_end(b);
}

static uint32_t build_port(struct writer *w, const struct ipex_plan_port *port) {
    struct ipex_fb_builder *b = &w->b;
    const struct ipex_plan_tensor *tensor = &w->plan->tensor[port->tensor];
    uint32_t name = string(w, port->name), dims = build_dims(w, tensor->dims, tensor->rank);
    ipex_fb_start(b);
    ipex_fb_port_put_name(b, name);
    ipex_fb_port_put_tensor(b, (uint32_t)port->tensor);
    ipex_fb_port_put_dims(b, dims);
    return ipex_fb_end(b);
}

static uint32_t build_answer(struct writer *w, const struct ipex_plan_answer *answer) {
    struct ipex_fb_builder *b = &w->b;
    size_t n_inputs = w->plan->inputs, n_outputs = w->plan->outputs;
    uint32_t *input = ipex_alloc((n_inputs + 1) * sizeof *input);
    int32_t *output = ipex_alloc((n_outputs + 1) * sizeof *output);
    for (size_t i = 0; i < n_inputs; i++)
        input[i] = w->weight_number[answer->input[i]];
    for (size_t i = 0; i < n_outputs; i++)
        output[i] = weight_number(w, answer->output[i]);
    uint32_t origin = string(w, answer->origin),
             inputs = ipex_fb_answer_make_inputs(b, input, (uint32_t)n_inputs),
             outputs = ipex_fb_answer_make_outputs(b, output, (uint32_t)n_outputs);
    free(input);
    free(output);
    ipex_fb_start(b);
    ipex_fb_answer_put_origin(b, origin);
    ipex_fb_answer_put_inputs(b, inputs);
    ipex_fb_answer_put_outputs(b, outputs);
    return ipex_fb_end(b);
}

static uint32_t build_site(struct writer *w, uint32_t entry, const struct ipex_site *site) {
    struct ipex_fb_builder *b = &w->b;
    uint32_t name = string(w, site->site), pass = string(w, site->pass);
    uint32_t reason = string(w, ipex_reason_code(site->reason)), text = string(w, site->text);
    ipex_fb_start(b);
    ipex_fb_site_put_entry(b, entry);
    ipex_fb_site_put_site(b, name);
    ipex_fb_site_put_pass(b, pass);
    ipex_fb_site_put_applied(b, site->reason == IPEX_REASON_applied);
    ipex_fb_site_put_reason(b, reason);
    ipex_fb_site_put_text(b, text);
    return ipex_fb_end(b);
}

static uint32_t build_pair(struct writer *w, const char *key, const char *value) {
    struct ipex_fb_builder *b = &w->b;
    uint32_t k = string(w, key), v = string(w, value);
    ipex_fb_start(b);
    ipex_fb_pair_put_key(b, k);
    ipex_fb_pair_put_value(b, v);
    return ipex_fb_end(b);
}

/* A vector of `count` references, each built by `expression` of i. */
#define BUILD_ALL(result, count, expression)                                                       \
    do {                                                                                           \
        uint32_t *refs_ = ipex_alloc(((count) + 1) * sizeof *refs_);                               \
        for (size_t i = 0; i < (count); i++)                                                       \
            refs_[i] = (expression);                                                               \
        (result) = ipex_fb_refs(&w->b, refs_, (uint32_t)(count));                                  \
        free(refs_);                                                                               \
    } while (0)

static uint32_t build_entry(struct writer *w, size_t index) {
    const struct ipex_plan *p = w->plan = w->what->entry[index].plan;
    w->weight_number = w->table.number[index];
    w->dims = (struct ipex_dim_writer){.dims = p->dims};
    uint32_t tensors, nodes, inputs, outputs, labels, answers, symbols, exprs,
        name = string(w, w->what->entry[index].name);
    BUILD_ALL(tensors, p->tensors, build_tensor(w, &p->tensor[i]));
    BUILD_ALL(nodes, p->nodes, build_node(w, &p->node[i]));
    BUILD_ALL(inputs, p->inputs, build_port(w, &p->input[i]));
    BUILD_ALL(outputs, p->outputs, build_port(w, &p->output[i]));
    BUILD_ALL(labels, p->labels, string(w, p->label[i]));
    BUILD_ALL(answers, p->answers, build_answer(w, &p->answer[i]));
    BUILD_ALL(symbols, w->dims.dims->symbols, build_symbol(w, &w->dims.dims->symbol[i]));
    exprs = ipex_fb_entry_make_exprs(&w->b, w->dims.expr, (uint32_t)w->dims.exprs);
    ipex_dim_writer_finish(&w->dims);
    ipex_fb_start(&w->b);
    ipex_fb_entry_put_symbols(&w->b, symbols);
    ipex_fb_entry_put_exprs(&w->b, exprs);
    ipex_fb_entry_put_name(&w->b, name);
    ipex_fb_entry_put_arithmetic(&w->b, (uint8_t)p->arithmetic);
    ipex_fb_entry_put_tensors(&w->b, tensors);
    ipex_fb_entry_put_nodes(&w->b, nodes);
    ipex_fb_entry_put_inputs(&w->b, inputs);
    ipex_fb_entry_put_outputs(&w->b, outputs);
    ipex_fb_entry_put_labels(&w->b, labels);
    ipex_fb_entry_put_answers(&w->b, answers);
    return ipex_fb_end(&w->b);
}

/* The rows of all entries, one entry after the other. */
static uint32_t build_ledger(struct writer *w) {
    const struct ipex_write_entry *entry = w->what->entry;
    size_t count = 0, sites = 0;
    for (size_t e = 0; e < w->what->entries; e++)
        sites += entry[e].ledger ? entry[e].ledger->sites : 0;
    uint32_t *refs = ipex_alloc((sites + 1) * sizeof *refs);
    for (size_t e = 0; e < w->what->entries; e++)
        for (size_t i = 0; entry[e].ledger && i < entry[e].ledger->sites; i++)
            refs[count++] = build_site(w, (uint32_t)e, &entry[e].ledger->site[i]);
    uint32_t result = sites ? ipex_fb_refs(&w->b, refs, (uint32_t)count) : 0;
    free(refs);
    return result;
}

static uint32_t build_model(struct writer *w) {
    const struct ipex_write *what = w->what;
    struct ipex_fb_builder *b = &w->b;
    uint64_t chunks = (w->data_size + IPEX_CHUNK_BYTES - 1) / IPEX_CHUNK_BYTES;
    w->digests = ipex_alloc(chunks * IPEX_SHA256_BYTES + 1);
    memset(w->digests, 0, chunks * IPEX_SHA256_BYTES);
    uint32_t entries, weights, metadata, ledger;
    BUILD_ALL(entries, what->entries, build_entry(w, i));
    BUILD_ALL(weights, w->table.weights, build_weight(w, w->table.weight[i]));
    ledger = build_ledger(w);
    BUILD_ALL(metadata, what->metadata,
              build_pair(w, what->metadata_keys[i], what->metadata_values[i]));
    uint32_t producer = string(w, "ipexpack " IPEX_VERSION_STRING),
             source = string(w, what->source);
    uint32_t options = string(w, what->options);
    w->section_ref = ipex_fb_model_make_sections(b, w->section, w->sections);
    w->digest_ref =
        ipex_fb_model_make_chunk_digests(b, w->digests, (uint32_t)(chunks * IPEX_SHA256_BYTES));
    ipex_fb_start(b);
    ipex_fb_model_put_producer(b, producer);
    ipex_fb_model_put_source(b, source);
    ipex_fb_model_put_options(b, options);
    ipex_fb_model_put_sections(b, w->section_ref);
    ipex_fb_model_put_weights(b, weights);
    ipex_fb_model_put_entries(b, entries);
    ipex_fb_model_put_ledger(b, ledger);
    ipex_fb_model_put_metadata(b, metadata);
    ipex_fb_model_put_chunk_digests(b, w->digest_ref);
    return ipex_fb_end(b);
}

/* ---- data ---- */

/* Appends to the file; chunks are hashed as they fill. */
static enum ipex_status append(struct writer *w, const uint8_t *bytes, uint64_t size) {
    if (size)
        IPEX_TRY(w->fn(w->user, bytes, (size_t)size, w->at, w->report));
    while (size) {
        uint64_t room = IPEX_CHUNK_BYTES - (w->at - w->start) % IPEX_CHUNK_BYTES,
                 n = size < room ? size : room;
        ipex_sha256_update(&w->hash, bytes, (size_t)n);
        w->at += n;
        bytes += n;
        size -= n;
        if (n == room || w->at == w->start + w->data_size) {
            ipex_sha256_final(&w->hash, w->digests + w->chunk++ * IPEX_SHA256_BYTES);
            ipex_sha256_init(&w->hash);
        }
    }
    return IPEX_OK;
}

static enum ipex_status append_zeros(struct writer *w, uint64_t until) {
    static const uint8_t zeros[4096];
    while (w->at < until)
        IPEX_TRY(append(w, zeros, until - w->at < sizeof zeros ? until - w->at : sizeof zeros));
    return IPEX_OK;
}

static enum ipex_status append_weight(struct writer *w, const struct ipex_plan_weight *weight) {
    IPEX_TRY(append_zeros(w, w->section[w->index[weight->section]].offset + weight->offset));
    uint8_t *packed = ipex_alloc_aligned(64, (size_t)weight->bytes + 1);
    ipex_pack(weight, packed);
    enum ipex_status status = append(w, packed, (uint64_t)weight->bytes);
    free(packed);
    return status;
}

static enum ipex_status append_data(struct writer *w) {
    for (int32_t s = 0; s < SECTIONS; s++)
        for (size_t i = 0; i < w->table.weights; i++)
            if (w->table.weight[i]->section == s)
                IPEX_TRY(append_weight(w, w->table.weight[i]));
    return IPEX_OK;
}

static uint32_t count_tensors(const struct ipex_write *what) {
    size_t tensors = 0;
    for (size_t e = 0; e < what->entries; e++)
        tensors += what->entry[e].plan->tensors;
    return (uint32_t)tensors;
}

#define OVER_LIMIT "over a limit of the file format: "

/* Counts of which a reader's checker could only say that there is no room for them. */
static enum ipex_status check_count(const struct writer *w, const char *entry, size_t count,
                                    const char *what, unsigned most) {
    IPEX_CHECK(count <= most, w->report, IPEX_ERROR_FILE_LIMIT,
               OVER_LIMIT "%s: %llu %s, at most %u are possible", entry, (unsigned long long)count,
               what, most);
    return IPEX_OK;
}

static enum ipex_status check_counts(const struct writer *w) {
    for (size_t e = 0; e < w->what->entries; e++) {
        const struct ipex_write_entry *entry = &w->what->entry[e];
        IPEX_TRY(check_count(w, entry->name, entry->plan->nodes, "steps", IPEX_NODES_MAX));
        IPEX_TRY(check_count(w, entry->name, entry->plan->tensors, "tensors", IPEX_TENSORS_MAX));
    }
    return check_count(w, "all entries", w->table.weights, "weights", IPEX_WEIGHTS_MAX);
}

/* What a reader would refuse is not written: its checker looks at the metadata first. */
static enum ipex_status check_metadata(struct writer *w, const uint8_t *metadata, uint32_t size) {
    struct ipex_header header;
    struct ipex_fb_model model;
    uint8_t *copy = ipex_alloc_aligned(64, size);
    struct ipex_tensor_info *tensors = ipex_alloc((count_tensors(w->what) + 1) * sizeof *tensors);
    memcpy(copy, metadata, size);
    enum ipex_status status = ipex_check_header(copy, w->start + w->data_size, &header, w->report);
    if (status == IPEX_OK)
        status = ipex_check(copy, &header, tensors, &model, w->report);
    if (status != IPEX_OK)
        (void)ipex_fail_at(w->report, status,
                           status == IPEX_ERROR_FILE_LIMIT
                               ? OVER_LIMIT
                               : "the result would not be a valid file: ");
    free(tensors);
    free(copy);
    return status;
}

static void sum_up(const struct writer *w, const struct ipex_header *header,
                   struct ipex_written *ret) {
    uint64_t bytes[SECTIONS] = {0}, all = 0;
    for (size_t i = 0; i < w->table.weights; i++)
        bytes[w->table.weight[i]->section] += (uint64_t)w->table.weight[i]->bytes;
    for (size_t e = 0; e < w->what->entries; e++)
        for (size_t i = 0; i < w->what->entry[e].plan->weights; i++)
            all += (uint64_t)w->what->entry[e].plan->weight[i].bytes;
    *ret = (struct ipex_written){.file_size = header->file_size,
                                 .metadata_size = header->metadata_size,
                                 .weight_bytes = bytes[SECTION_WEIGHTS],
                                 .answer_bytes = bytes[SECTION_ANSWERS],
                                 .shared_bytes =
                                     all - bytes[SECTION_WEIGHTS] - bytes[SECTION_ANSWERS]};
}

static enum ipex_status write_all(struct writer *w, struct ipex_written *ret) {
    uint32_t size, root;
    IPEX_TRY(check_counts(w));
    IPEX_TRY(place_weights(w));
    root = build_model(w);
    uint8_t *metadata = ipex_fb_finish(&w->b, root, &size);
    IPEX_CHECK(metadata, w->report, IPEX_ERROR_FILE_LIMIT,
               "the metadata is over the format's limit of %u bytes", IPEX_METADATA_MAX);
    w->start = w->sections ? ipex_data_begin(size) : size;
    w->at = w->start;
    for (uint32_t s = 0; s < w->sections; s++)
        w->section[s].offset += w->start;
    if (w->sections)
        memcpy(ipex_fb_patch(&w->b, w->section_ref), w->section, w->sections * sizeof *w->section);
    struct ipex_header header = {.file_size = w->start + w->data_size,
                                 .metadata_size = size,
                                 .entries = (uint32_t)w->what->entries,
                                 .tensors = count_tensors(w->what)};
    ipex_header_seal(metadata, &header);
    IPEX_TRY(check_metadata(w, metadata, size));
    ipex_sha256_init(&w->hash);
    IPEX_TRY(append_data(w));
    if (w->chunk)
        memcpy(ipex_fb_patch(&w->b, w->digest_ref), w->digests, w->chunk * IPEX_SHA256_BYTES);
    ipex_header_seal(metadata, &header);
    sum_up(w, &header, ret);
    return w->fn(w->user, metadata, size, 0, w->report);
}

enum ipex_status ipex_write(const struct ipex_write *write, ipex_write_fn fn, void *user,
                            struct ipex_written *ret, const struct ipex_report *report) {
    struct writer w = {.what = write, .fn = fn, .user = user, .report = report};
    struct ipex_plan **plan = ipex_alloc((write->entries + 1) * sizeof *plan);
    for (size_t e = 0; e < write->entries; e++)
        plan[e] = write->entry[e].plan;
    ipex_weight_table_init(&w.table, plan, write->entries);
    free(plan);
    ipex_fb_init(&w.b);
    w.strings.arena = &w.arena;
    enum ipex_status status = write_all(&w, ret);
    ipex_fb_free(&w.b);
    ipex_arena_finish(&w.arena);
    ipex_weight_table_finish(&w.table);
    free(w.digests);
    return status;
}
