/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack inspect --json`: everything that is in a file but the weights' bytes. */
#include "tools/inspect.h"

#include <stdio.h>
#include <string.h>

#include "tools/json.h"
#include "tools/run_sizes.h"

/* Dim codes: numbers, and text where they depend on symbols. */
static json_t *dims_json(struct ipex_fb_entry entry, const int64_t *dims, uint32_t rank) {
    json_t *array = ipex_json_array();
    for (uint32_t d = 0; d < rank; d++) {
        char text[128];
        ipex_dims_text(entry, dims[d], text, sizeof text);
        if (dims[d] >= 0)
            ipex_json_append(array, json_integer(dims[d]));
        else
            ipex_json_append_text(array, text);
    }
    return array;
}

/* Dims at the lowest sizes; where they vary also at the highest, and as they depend on symbols. */
static json_t *ports_json(const struct ipex_inspect *inspect, struct ipex_fb_entry entry,
                          bool outputs) {
    const char *name = ipex_fb_entry_name(entry);
    json_t *array = ipex_json_array();
    struct ipex_port port;
    for (uint32_t i = 0; i < ipex_inspect_port_count(entry, outputs); i++) {
        bool good = outputs ? ipex_model_output(&inspect->model, name, i, &port)
                            : ipex_model_input(&inspect->model, name, i, &port);
        if (!good)
            continue;
        struct ipex_fb_port fb = ipex_inspect_port(entry, outputs, i);
        json_t *object = ipex_json_object();
        ipex_json_set_text(object, "name", port.name);
        ipex_json_set_text(object, "dtype", ipex_dtype_name(port.dtype));
        ipex_json_set_dims(object, "dims", port.dims, port.rank);
        if (memcmp(port.dims, port.max_dims, (size_t)port.rank * sizeof *port.dims)) {
            ipex_json_set_dims(object, "max_dims", port.max_dims, port.rank);
            ipex_json_set(object, "shape",
                          dims_json(entry, ipex_fb_port_dims(fb), ipex_fb_port_dims_len(fb)));
        }
        ipex_json_append(array, object);
    }
    return array;
}

static json_t *indices_json(const int32_t *indices, uint32_t count) {
    json_t *array = ipex_json_array();
    for (uint32_t i = 0; i < count; i++)
        ipex_json_append(array, json_integer(indices[i]));
    return array;
}

/* {"0": "height/4"}: ints that are not numbers, by their places. */
static json_t *dynamic_json(struct ipex_fb_entry entry, struct ipex_fb_node node) {
    json_t *object = ipex_json_object();
    const int32_t *pairs = ipex_fb_node_dynamic(node);
    for (uint32_t i = 0; i + 1 < ipex_fb_node_dynamic_len(node); i += 2) {
        char place[16], text[128];
        snprintf(place, sizeof place, "%d", pairs[i]);
        ipex_dims_text(entry, -1 - (int64_t)pairs[i + 1], text, sizeof text);
        ipex_json_set_text(object, place, text);
    }
    return object;
}

static json_t *nodes_json(struct ipex_fb_entry entry) {
    json_t *array = ipex_json_array();
    for (uint32_t i = 0; i < ipex_fb_entry_nodes_len(entry); i++) {
        struct ipex_fb_node node = ipex_fb_entry_nodes(entry, i);
        json_t *object = ipex_json_object(), *floats = ipex_json_array();
        ipex_json_set_text(object, "op", ipex_inspect_op(node));
        ipex_json_set_text(object, "name", ipex_fb_node_name(node));
        ipex_json_set(object, "inputs",
                      indices_json(ipex_fb_node_inputs(node), ipex_fb_node_inputs_len(node)));
        ipex_json_set(object, "outputs",
                      indices_json(ipex_fb_node_outputs(node), ipex_fb_node_outputs_len(node)));
        ipex_json_set(object, "ints",
                      indices_json(ipex_fb_node_ints(node), ipex_fb_node_ints_len(node)));
        for (uint32_t j = 0; j < ipex_fb_node_floats_len(node); j++)
            ipex_json_append_real(floats, (double)ipex_fb_node_floats(node)[j]);
        ipex_json_set(object, "floats", floats);
        ipex_json_set(object, "dynamic", dynamic_json(entry, node));
        ipex_json_append(array, object);
    }
    return array;
}

static json_t *symbols_json(struct ipex_fb_entry entry) {
    json_t *array = ipex_json_array();
    for (uint32_t i = 0; i < ipex_fb_entry_symbols_len(entry); i++) {
        struct ipex_fb_symbol symbol = ipex_fb_entry_symbols(entry, i);
        json_t *object = ipex_json_object();
        ipex_json_set_text(object, "name", ipex_fb_symbol_name(symbol));
        ipex_json_set_integer(object, "lo", ipex_fb_symbol_lo(symbol));
        ipex_json_set_integer(object, "hi", ipex_fb_symbol_hi(symbol));
        ipex_json_set_integer(object, "step", ipex_fb_symbol_step(symbol));
        ipex_json_append(array, object);
    }
    return array;
}

static json_t *entry_json(const struct ipex_inspect *inspect, struct ipex_fb_entry entry) {
    json_t *object = ipex_json_object();
    json_t *labels = ipex_json_array(), *answers = ipex_json_array();
    const char *name = ipex_fb_entry_name(entry);
    ipex_json_set_text(object, "name", name);
    ipex_json_set(object, "inputs", ports_json(inspect, entry, false));
    ipex_json_set(object, "outputs", ports_json(inspect, entry, true));
    ipex_json_set(object, "symbols", symbols_json(entry));
    for (uint32_t i = 0; i < ipex_fb_entry_labels_len(entry); i++)
        ipex_json_append_text(labels, ipex_fb_entry_labels(entry, i));
    ipex_json_set(object, "labels", labels);
    for (uint32_t i = 0; i < ipex_fb_entry_answers_len(entry); i++)
        ipex_json_append_text(answers, ipex_fb_answer_origin(ipex_fb_entry_answers(entry, i)));
    ipex_json_set(object, "answers", answers);
    ipex_json_set_text(object, "profile", ipex_inspect_profile(entry));
    ipex_json_set(object, "nodes", nodes_json(entry));
    return object;
}

static json_t *tensor_json(struct ipex_fb_entry entry, struct ipex_fb_tensor tensor) {
    json_t *object = ipex_json_object(), *halo = ipex_json_array();
    ipex_json_set_text(object, "entry", ipex_fb_entry_name(entry));
    ipex_json_set_text(object, "name", ipex_fb_tensor_name(tensor));
    ipex_json_set_text(object, "dtype", ipex_dtype_name(ipex_fb_tensor_dtype(tensor)));
    ipex_json_set(object, "dims",
                  dims_json(entry, ipex_fb_tensor_dims(tensor), ipex_fb_tensor_dims_len(tensor)));
    for (uint32_t i = 0; i < ipex_fb_tensor_halo_len(tensor); i++)
        ipex_json_append(halo, json_integer(ipex_fb_tensor_halo(tensor)[i]));
    ipex_json_set(object, "halo", halo);
    ipex_json_set_integer(object, "halo_value", ipex_fb_tensor_halo_value(tensor));
    ipex_json_set_integer(object, "weight", ipex_fb_tensor_weight(tensor));
    ipex_json_set_integer(object, "view_of", ipex_fb_tensor_view_of(tensor));
    return object;
}

static json_t *tensors_json(struct ipex_fb_model model) {
    json_t *array = ipex_json_array();
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(model); i++) {
        struct ipex_fb_entry entry = ipex_fb_model_entries(model, i);
        for (uint32_t j = 0; j < ipex_fb_entry_tensors_len(entry); j++)
            ipex_json_append(array, tensor_json(entry, ipex_fb_entry_tensors(entry, j)));
    }
    return array;
}

static json_t *weights_json(struct ipex_fb_model model) {
    json_t *array = ipex_json_array();
    for (uint32_t i = 0; i < ipex_fb_model_weights_len(model); i++) {
        struct ipex_fb_weight weight = ipex_fb_model_weights(model, i);
        json_t *object = ipex_json_object();
        ipex_json_set_text(object, "name", ipex_fb_weight_name(weight));
        ipex_json_set_text(object, "dtype", ipex_dtype_name(ipex_fb_weight_dtype(weight)));
        ipex_json_set_text(object, "layout", ipex_layout_text(ipex_fb_weight_layout(weight)));
        ipex_json_set_dims(object, "dims", ipex_fb_weight_dims(weight),
                           (int32_t)ipex_fb_weight_dims_len(weight));
        ipex_json_set_integer(object, "bytes", (long long)ipex_fb_weight_bytes(weight));
        ipex_json_append(array, object);
    }
    return array;
}

static json_t *memory_json(struct ipex_inspect *inspect) {
    struct ipex_inspect_memory row[IPEX_INSPECT_MEMORY_MAX];
    json_t *array = ipex_json_array();
    bool varies;
    size_t rows = ipex_inspect_memory(inspect, row, &varies);
    for (size_t i = 0; i < rows; i++) {
        const struct ipex_requirements *need = &row[i].all;
        json_t *object = ipex_json_object();
        ipex_json_set_integer(object, "threads", row[i].threads);
        ipex_json_set_integer(object, "session_bytes", (long long)need->memory);
        ipex_json_set_integer(object, "plan", (long long)need->plan);
        ipex_json_set_integer(object, "states", (long long)need->states);
        ipex_json_set_integer(object, "arena", (long long)need->arena);
        ipex_json_set_integer(object, "scratch", (long long)need->scratch);
        ipex_json_set_integer(object, "lowest_session_bytes", (long long)row[i].lowest.memory);
        ipex_json_append(array, object);
    }
    return array;
}

static json_t *passes_json(const struct ipex_inspect *inspect) {
    json_t *array = ipex_json_array();
    for (size_t i = 0; i < inspect->passes; i++) {
        json_t *object = ipex_json_object();
        ipex_json_set_text(object, "pass", inspect->pass[i].name);
        ipex_json_set_integer(object, "applied", (long long)inspect->pass[i].applied);
        ipex_json_set_integer(object, "refused", (long long)inspect->pass[i].refused);
        ipex_json_append(array, object);
    }
    return array;
}

static json_t *ledger_json(const struct ipex_inspect *inspect) {
    json_t *array = ipex_json_array();
    for (uint32_t i = 0; i < ipex_fb_model_ledger_len(inspect->metadata.model); i++) {
        struct ipex_fb_site site = ipex_fb_model_ledger(inspect->metadata.model, i);
        if (!ipex_inspect_wanted(inspect, site))
            continue;
        json_t *object = ipex_json_object();
        ipex_json_set_text(object, "entry", ipex_inspect_entry(inspect, ipex_fb_site_entry(site)));
        ipex_json_set_text(object, "site", ipex_fb_site_site(site));
        ipex_json_set_text(object, "pass", ipex_fb_site_pass(site));
        ipex_json_set_text(object, "verdict", ipex_fb_site_applied(site) ? "applied" : "refused");
        ipex_json_set_text(object, "reason", ipex_fb_site_reason(site));
        ipex_json_set_text(object, "text", ipex_fb_site_text(site));
        ipex_json_append(array, object);
    }
    return array;
}

void ipex_inspect_json(struct ipex_inspect *inspect) {
    struct ipex_fb_model model = inspect->metadata.model;
    json_t *object = ipex_json_object();
    json_t *entries = ipex_json_array(), *metadata = ipex_json_object();
    char digest[2 * IPEX_SHA256_BYTES + 1];
    ipex_json_set_text(object, "file", inspect->file);
    ipex_json_set_integer(object, "file_bytes", (long long)inspect->model.file_bytes);
    ipex_json_set_text(object, "digest", ipex_inspect_digest(inspect, digest));
    ipex_json_set_text(object, "producer", ipex_fb_model_producer(model));
    ipex_json_set_text(object, "source", ipex_fb_model_source(model));
    ipex_json_set_text(object, "options", ipex_fb_model_options(model));
    for (uint32_t i = 0; i < ipex_fb_model_metadata_len(model); i++)
        ipex_json_set_text(metadata, ipex_fb_pair_key(ipex_fb_model_metadata(model, i)),
                           ipex_fb_pair_value(ipex_fb_model_metadata(model, i)));
    ipex_json_set(object, "metadata", metadata);
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(model); i++)
        ipex_json_append(entries, entry_json(inspect, ipex_fb_model_entries(model, i)));
    ipex_json_set(object, "entries", entries);
    ipex_json_set(object, "tensors", tensors_json(model));
    ipex_json_set(object, "weights", weights_json(model));
    ipex_json_set(object, "memory", memory_json(inspect));
    ipex_json_set(object, "passes", passes_json(inspect));
    ipex_json_set(object, "ledger", ledger_json(inspect));
    ipex_json_finish(object);
}
