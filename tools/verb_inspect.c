/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack inspect`: what is in a file. By default a summary; `--why` the optimiser's ledger by
 * pass and reason, `--why TEXT` site by site; `--dot` the graph; `--json` everything. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/ops.h"
#include "tools/arena.h"
#include "tools/ledger_text.h"
#include "tools/metadata.h"
#include "tools/model.h"
#include "tools/run_sizes.h"
#include "tools/text_table.h"
#include "tools/verbs.h"

#define DIGEST_BYTES 32

static const int thread_counts[] = {1, 2, 4};

#define THREAD_COUNTS (sizeof thread_counts / sizeof *thread_counts)

struct pass {
    const char *name;
    size_t applied, refused;
};

struct inspect {
    const char *file, *why; /* why: NULL not asked for, "" all rows */
    bool json, dot;
    struct ipex_model model;
    struct ipex_metadata metadata;
    struct ipex_arena arena;
    struct pass *pass; /* in order of first appearance */
    size_t passes;
};

/* ---- what several outputs need ---- */

static const char *op_name(struct ipex_fb_node node) {
    const struct ipex_op_info *info = ipex_op_info(ipex_fb_node_op(node));
    return info && info->name ? info->name : "unknown";
}

static const char *entry_name(const struct inspect *inspect, uint32_t entry) {
    return ipex_fb_entry_name(ipex_fb_model_entries(inspect->metadata.model, entry));
}

/* Hexadecimal. */
static const char *digest_text(const struct inspect *inspect, char text[2 * DIGEST_BYTES + 1]) {
    const uint8_t *digest = ipex_image_digest(inspect->model.image);
    for (int i = 0; i < DIGEST_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return text;
}

/* Does a ledger row belong to what --why asked for? */
static bool wanted(const struct inspect *inspect, struct ipex_fb_site site) {
    return !inspect->why || strstr(ipex_fb_site_site(site), inspect->why) ||
           strstr(ipex_fb_site_pass(site), inspect->why);
}

static struct pass *find_pass(struct inspect *inspect, const char *name) {
    for (size_t i = 0; i < inspect->passes; i++)
        if (!strcmp(inspect->pass[i].name, name))
            return &inspect->pass[i];
    struct pass *pass = &inspect->pass[inspect->passes++];
    pass->name = name;
    return pass;
}

static void count_passes(struct inspect *inspect) {
    uint32_t rows = ipex_fb_model_ledger_len(inspect->metadata.model);
    inspect->pass = ipex_arena_array(&inspect->arena, rows, sizeof *inspect->pass);
    for (uint32_t i = 0; i < rows; i++) {
        struct ipex_fb_site site = ipex_fb_model_ledger(inspect->metadata.model, i);
        if (!wanted(inspect, site))
            continue;
        struct pass *pass = find_pass(inspect, ipex_fb_site_pass(site));
        if (ipex_fb_site_applied(site))
            pass->applied++;
        else
            pass->refused++;
    }
}

/* Stands for a caller's thread pool: only its thread count matters to a measurement. */
static void serial_for(void *user, void (*fn)(void *arg, int i), void *arg, int n) {
    (void)user;
    for (int i = 0; i < n; i++)
        fn(arg, i);
}

/* The symbols of all entries at their lowest, as a session's sizes; *ret_count: none where all are
 * fixed. */
static struct ipex_dim_range *lowest_sizes(struct inspect *inspect, size_t *ret_count) {
    struct ipex_fb_model model = inspect->metadata.model;
    uint32_t entries = ipex_fb_model_entries_len(model);
    struct ipex_dim_range *range =
        ipex_arena_array(&inspect->arena, (size_t)entries * IPEX_SYMBOLS_MAX + 1, sizeof *range);
    *ret_count = 0;
    for (uint32_t i = 0; i < entries; i++) {
        struct ipex_fb_entry entry = ipex_fb_model_entries(model, i);
        for (uint32_t k = 0; k < ipex_fb_entry_symbols_len(entry); k++) {
            struct ipex_fb_symbol symbol = ipex_fb_entry_symbols(entry, k);
            range[(*ret_count)++] = (struct ipex_dim_range){.entry = ipex_fb_entry_name(entry),
                                                            .symbol = ipex_fb_symbol_name(symbol),
                                                            .lo = ipex_fb_symbol_lo(symbol),
                                                            .hi = ipex_fb_symbol_lo(symbol)};
        }
    }
    return range;
}

/* For all sizes of the file, or for these. */
static bool measure(const struct inspect *inspect, int threads, const struct ipex_dim_range *dims,
                    size_t n_dims, struct ipex_requirements *ret) {
    struct ipex_session_options options = {
        .size_of_struct = sizeof options, .dims = dims, .n_dims = n_dims};
    if (threads > 1) {
        options.parallel_for = serial_for;
        options.parallel_threads = threads;
    }
    return ipex_session_measure(inspect->model.image, &options, ret) == IPEX_OK;
}

/* ---- summary ---- */

static uint32_t port_count(struct ipex_fb_entry entry, bool outputs) {
    return outputs ? ipex_fb_entry_outputs_len(entry) : ipex_fb_entry_inputs_len(entry);
}

static struct ipex_fb_port find_port(struct ipex_fb_entry entry, bool outputs, uint32_t index) {
    return outputs ? ipex_fb_entry_outputs(entry, index) : ipex_fb_entry_inputs(entry, index);
}

static enum ipex_dtype port_dtype(struct ipex_fb_entry entry, struct ipex_fb_port port) {
    return ipex_fb_tensor_dtype(ipex_fb_entry_tensors(entry, ipex_fb_port_tensor(port)));
}

static void print_ports(struct inspect *inspect, struct ipex_fb_entry entry, bool outputs) {
    for (uint32_t i = 0; i < port_count(entry, outputs); i++) {
        struct ipex_fb_port port = find_port(entry, outputs, i);
        printf("  %-7s %s  %s\n", outputs ? "output" : "input",
               ipex_run_sizes_shape(entry, port, port_dtype(entry, port), &inspect->arena),
               ipex_fb_port_name(port));
    }
}

static void print_operators(struct ipex_fb_entry entry) {
    size_t counts[256] = {0}; /* operator ids are few; larger ones do not pass the checker */
    printf("  steps   %u:", ipex_fb_entry_nodes_len(entry));
    for (uint32_t i = 0; i < ipex_fb_entry_nodes_len(entry); i++)
        counts[ipex_fb_node_op(ipex_fb_entry_nodes(entry, i)) & 0xff]++;
    for (unsigned id = 0; id < 256; id++)
        if (counts[id])
            printf(" %zu %s", counts[id], ipex_op_info(id) ? ipex_op_info(id)->name : "unknown");
    putchar('\n');
}

static void print_answers(struct ipex_fb_entry entry) {
    uint32_t count = ipex_fb_entry_answers_len(entry);
    printf("  answers %u", count);
    for (uint32_t i = 0; i < count; i++)
        printf("%s %s", i ? "," : ":", ipex_fb_answer_origin(ipex_fb_entry_answers(entry, i)));
    printf("\n  labels  %u\n", ipex_fb_entry_labels_len(entry));
}

static void print_entry(struct inspect *inspect, uint32_t index) {
    struct ipex_fb_entry entry = ipex_fb_model_entries(inspect->metadata.model, index);
    printf("\nentry %s\n", ipex_fb_entry_name(entry));
    print_ports(inspect, entry, false);
    print_ports(inspect, entry, true);
    if (ipex_fb_entry_symbols_len(entry))
        printf("  sizes   %s\n", ipex_run_sizes_ranges(entry, &inspect->arena));
    print_operators(entry);
    print_answers(entry);
}

struct weight_sum {
    size_t count;
    uint64_t bytes;
};

/* Weights by layout and dtype. */
static void print_weights(const struct inspect *inspect) {
    static const struct ipex_table_column columns[] = {
        {"weights", false, 0}, {"dtype", false, 0}, {"count", true, 0}, {"bytes", true, 0}};
    enum { LAYOUTS = 4, DTYPES = 16 };
    struct weight_sum sums[LAYOUTS][DTYPES] = {0};
    struct ipex_fb_model model = inspect->metadata.model;
    for (uint32_t i = 0; i < ipex_fb_model_weights_len(model); i++) {
        struct ipex_fb_weight weight = ipex_fb_model_weights(model, i);
        struct weight_sum *sum =
            &sums[ipex_fb_weight_layout(weight) % LAYOUTS][ipex_fb_weight_dtype(weight) % DTYPES];
        sum->count++;
        sum->bytes += ipex_fb_weight_bytes(weight);
    }
    struct ipex_table table;
    ipex_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (unsigned layout = 0; layout < LAYOUTS; layout++)
        for (unsigned dtype = 0; dtype < DTYPES; dtype++) {
            if (!sums[layout][dtype].count)
                continue;
            ipex_table_cell(&table, "%s", ipex_layout_text(layout));
            ipex_table_cell(&table, "%s", ipex_dtype_name(dtype));
            ipex_table_cell(&table, "%zu", sums[layout][dtype].count);
            ipex_table_cell(&table, "%" PRIu64, sums[layout][dtype].bytes);
        }
    putchar('\n');
    ipex_table_print(&table, stdout);
    ipex_table_finish(&table);
}

/* Where sizes vary: for all of them, and in the last column for the lowest alone. */
static void print_memory(struct inspect *inspect) {
    static const struct ipex_table_column columns[] = {{"threads", true, 0},
                                                       {"session bytes", true, 0},
                                                       {"plan", true, 0},
                                                       {"states", true, 0},
                                                       {"arena", true, 0},
                                                       {"scratch", true, 0},
                                                       {"at the lowest sizes", true, 0}};
    struct ipex_table table;
    struct ipex_requirements need, least;
    size_t n_lowest;
    const struct ipex_dim_range *lowest = lowest_sizes(inspect, &n_lowest);
    ipex_table_init(&table, columns, sizeof columns / sizeof *columns - !n_lowest);
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        if (!measure(inspect, thread_counts[i], NULL, 0, &need) ||
            !measure(inspect, thread_counts[i], lowest, n_lowest, &least))
            continue;
        ipex_table_cell(&table, "%d", thread_counts[i]);
        ipex_table_cell(&table, "%zu", need.memory);
        ipex_table_cell(&table, "%zu", need.plan);
        ipex_table_cell(&table, "%zu", need.states);
        ipex_table_cell(&table, "%zu", need.arena);
        ipex_table_cell(&table, "%zu", need.scratch);
        if (n_lowest)
            ipex_table_cell(&table, "%zu", least.memory);
    }
    putchar('\n');
    ipex_table_print(&table, stdout);
    ipex_table_finish(&table);
}

static void print_passes(const struct inspect *inspect) {
    static const struct ipex_table_column columns[] = {
        {"pass", false, 0}, {"applied", true, 0}, {"refused", true, 0}};
    struct ipex_table table;
    ipex_table_init(&table, columns, 3);
    for (size_t i = 0; i < inspect->passes; i++) {
        ipex_table_cell(&table, "%s", inspect->pass[i].name);
        ipex_table_cell(&table, "%zu", inspect->pass[i].applied);
        ipex_table_cell(&table, "%zu", inspect->pass[i].refused);
    }
    putchar('\n');
    ipex_table_print(&table, stdout);
    ipex_table_finish(&table);
    printf("\n`ipexpack inspect %s --why` gives the reasons.\n", inspect->file);
}

static void print_summary(struct inspect *inspect) {
    struct ipex_fb_model model = inspect->metadata.model;
    char size[16], digest[2 * DIGEST_BYTES + 1];
    printf("%s: %s, made by %s from %s\n", inspect->file,
           ipex_bytes_text((double)inspect->model.file_bytes, size), ipex_fb_model_producer(model),
           ipex_fb_model_source(model));
    if (*ipex_fb_model_options(model))
        printf("options   %s\n", ipex_fb_model_options(model));
    printf("digest    %s\n", digest_text(inspect, digest));
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(model); i++)
        print_entry(inspect, i);
    print_weights(inspect);
    print_memory(inspect);
    print_passes(inspect);
}

/* ---- why ---- */

static void print_site(const struct inspect *inspect, struct ipex_fb_site site) {
    bool applied = ipex_fb_site_applied(site);
    printf("  %-8s %s", applied ? "applied" : "refused", ipex_fb_site_site(site));
    if (ipex_fb_model_entries_len(inspect->metadata.model) > 1)
        printf(" (%s)", entry_name(inspect, ipex_fb_site_entry(site)));
    if (!applied)
        printf(": %s", ipex_fb_site_reason(site));
    if (*ipex_fb_site_text(site))
        printf("\n           %s", ipex_fb_site_text(site));
    putchar('\n');
}

static void print_why(struct inspect *inspect) {
    struct ipex_fb_model model = inspect->metadata.model;
    if (!*inspect->why) {
        ipex_ledger_print(model, &inspect->arena);
        printf("\n`ipexpack inspect %s --why TEXT`: every site of a pass or node, with what was "
               "done there.\n",
               inspect->file);
        return;
    }
    uint32_t rows = ipex_fb_model_ledger_len(model);
    for (size_t i = 0; i < inspect->passes; i++) {
        const struct pass *pass = &inspect->pass[i];
        printf("%s%s: %zu applied, %zu refused\n", i ? "\n" : "", pass->name, pass->applied,
               pass->refused);
        for (uint32_t row = 0; row < rows; row++) {
            struct ipex_fb_site site = ipex_fb_model_ledger(model, row);
            if (wanted(inspect, site) && !strcmp(ipex_fb_site_pass(site), pass->name))
                print_site(inspect, site);
        }
    }
    if (!inspect->passes)
        printf("no site or pass matches '%s' (%u rows in all)\n", inspect->why, rows);
}

/* ---- dot ---- */

/* A quoted graphviz string. */
static void print_quoted(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar(*text == '\n' ? ' ' : *text);
    }
    putchar('"');
}

/* Who writes a storage: an input of the entry, or a node. */
struct writer {
    const char *name; /* of the graphviz node */
    const struct writer *next;
};

struct dot {
    struct ipex_fb_entry entry;
    unsigned index; /* of the entry */
    struct ipex_arena *arena;
    int32_t *root;                 /* [tensors] the tensor whose storage this one uses */
    const struct writer **writers; /* [tensors] of roots, so far */
};

static void add_writer(struct dot *dot, int32_t tensor, const char *name) {
    struct writer *writer = ipex_arena_alloc(dot->arena, sizeof *writer);
    *writer = (struct writer){name, dot->writers[dot->root[tensor]]};
    dot->writers[dot->root[tensor]] = writer;
}

static void find_roots(struct dot *dot) {
    uint32_t count = ipex_fb_entry_tensors_len(dot->entry);
    dot->root = ipex_arena_array(dot->arena, count, sizeof *dot->root);
    dot->writers = ipex_arena_array(dot->arena, count, sizeof *dot->writers);
    for (uint32_t i = 0; i < count; i++) { /* parents come before their views */
        int32_t parent = ipex_fb_tensor_view_of(ipex_fb_entry_tensors(dot->entry, i));
        dot->root[i] = parent < 0 ? (int32_t)i : dot->root[parent];
    }
}

static void dot_edges(const struct dot *dot, int32_t tensor, const char *to) {
    struct ipex_fb_tensor info = ipex_fb_entry_tensors(dot->entry, (uint32_t)tensor);
    const char *shape =
        ipex_run_sizes_dims(dot->entry, ipex_fb_tensor_dims(info), ipex_fb_tensor_dims_len(info),
                            ipex_fb_tensor_dtype(info), dot->arena);
    for (const struct writer *from = dot->writers[dot->root[tensor]]; from; from = from->next)
        printf("  %s -> %s [label=\"%s\"];\n", from->name, to, shape);
}

static void dot_node(struct dot *dot, uint32_t index) {
    struct ipex_fb_node node = ipex_fb_entry_nodes(dot->entry, index);
    const char *name = ipex_arena_printf(dot->arena, "n%u_%u", dot->index, index);
    printf("  %s [label=\"%s\", tooltip=", name, op_name(node));
    print_quoted(ipex_fb_node_name(node));
    puts("];");
    for (uint32_t i = 0; i < ipex_fb_node_inputs_len(node); i++)
        if (ipex_fb_node_inputs(node)[i] >= 0)
            dot_edges(dot, ipex_fb_node_inputs(node)[i], name);
    for (uint32_t i = 0; i < ipex_fb_node_outputs_len(node); i++)
        add_writer(dot, ipex_fb_node_outputs(node)[i], name);
}

/* An oval for an input or output of the entry; returns its graphviz name. */
static const char *dot_port(struct dot *dot, struct ipex_fb_port port, const char *kind,
                            uint32_t index) {
    const char *name = ipex_arena_printf(dot->arena, "%s%u_%u", kind, dot->index, index);
    printf("  %s [shape=oval, label=", name);
    print_quoted(ipex_fb_port_name(port));
    puts("];");
    return name;
}

static void dot_entry(struct dot *dot) {
    printf("  subgraph cluster_%u {\n  label=", dot->index);
    print_quoted(ipex_fb_entry_name(dot->entry));
    puts(";");
    find_roots(dot);
    for (uint32_t i = 0; i < ipex_fb_entry_inputs_len(dot->entry); i++) {
        struct ipex_fb_port port = ipex_fb_entry_inputs(dot->entry, i);
        add_writer(dot, (int32_t)ipex_fb_port_tensor(port), dot_port(dot, port, "in", i));
    }
    for (uint32_t i = 0; i < ipex_fb_entry_nodes_len(dot->entry); i++)
        dot_node(dot, i);
    for (uint32_t i = 0; i < ipex_fb_entry_outputs_len(dot->entry); i++) {
        struct ipex_fb_port port = ipex_fb_entry_outputs(dot->entry, i);
        dot_edges(dot, (int32_t)ipex_fb_port_tensor(port), dot_port(dot, port, "out", i));
    }
    puts("  }");
}

static void print_dot(struct inspect *inspect) {
    struct ipex_fb_model model = inspect->metadata.model;
    puts("digraph ipex {\n  node [shape=box];");
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(model); i++) {
        struct dot dot = {
            .entry = ipex_fb_model_entries(model, i), .index = i, .arena = &inspect->arena};
        dot_entry(&dot);
    }
    puts("}");
}

/* ---- json ---- */

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
static json_t *ports_json(const struct inspect *inspect, struct ipex_fb_entry entry, bool outputs) {
    const char *name = ipex_fb_entry_name(entry);
    json_t *array = ipex_json_array();
    struct ipex_port port;
    for (uint32_t i = 0; i < port_count(entry, outputs); i++) {
        bool good = outputs ? ipex_model_output(&inspect->model, name, i, &port)
                            : ipex_model_input(&inspect->model, name, i, &port);
        if (!good)
            continue;
        struct ipex_fb_port fb = find_port(entry, outputs, i);
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
        ipex_json_set_text(object, "op", op_name(node));
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

static json_t *entry_json(const struct inspect *inspect, struct ipex_fb_entry entry) {
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

static json_t *memory_json(struct inspect *inspect) {
    json_t *array = ipex_json_array();
    struct ipex_requirements need, least;
    size_t n_lowest;
    const struct ipex_dim_range *lowest = lowest_sizes(inspect, &n_lowest);
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        if (!measure(inspect, thread_counts[i], NULL, 0, &need) ||
            !measure(inspect, thread_counts[i], lowest, n_lowest, &least))
            continue;
        json_t *object = ipex_json_object();
        ipex_json_set_integer(object, "threads", thread_counts[i]);
        ipex_json_set_integer(object, "session_bytes", (long long)need.memory);
        ipex_json_set_integer(object, "plan", (long long)need.plan);
        ipex_json_set_integer(object, "states", (long long)need.states);
        ipex_json_set_integer(object, "arena", (long long)need.arena);
        ipex_json_set_integer(object, "scratch", (long long)need.scratch);
        ipex_json_set_integer(object, "lowest_session_bytes", (long long)least.memory);
        ipex_json_append(array, object);
    }
    return array;
}

static json_t *passes_json(const struct inspect *inspect) {
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

static json_t *ledger_json(const struct inspect *inspect) {
    json_t *array = ipex_json_array();
    for (uint32_t i = 0; i < ipex_fb_model_ledger_len(inspect->metadata.model); i++) {
        struct ipex_fb_site site = ipex_fb_model_ledger(inspect->metadata.model, i);
        if (!wanted(inspect, site))
            continue;
        json_t *object = ipex_json_object();
        ipex_json_set_text(object, "entry", entry_name(inspect, ipex_fb_site_entry(site)));
        ipex_json_set_text(object, "site", ipex_fb_site_site(site));
        ipex_json_set_text(object, "pass", ipex_fb_site_pass(site));
        ipex_json_set_text(object, "verdict", ipex_fb_site_applied(site) ? "applied" : "refused");
        ipex_json_set_text(object, "reason", ipex_fb_site_reason(site));
        ipex_json_set_text(object, "text", ipex_fb_site_text(site));
        ipex_json_append(array, object);
    }
    return array;
}

static void print_json(struct inspect *inspect) {
    struct ipex_fb_model model = inspect->metadata.model;
    json_t *object = ipex_json_object();
    json_t *entries = ipex_json_array(), *metadata = ipex_json_object();
    char digest[2 * DIGEST_BYTES + 1];
    ipex_json_set_text(object, "file", inspect->file);
    ipex_json_set_integer(object, "file_bytes", (long long)inspect->model.file_bytes);
    ipex_json_set_text(object, "digest", digest_text(inspect, digest));
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

/* ---- the verb ---- */

static int work(struct inspect *inspect) {
    int code = ipex_model_open(&inspect->model, inspect->file, false);
    if (!code && !ipex_metadata_open(&inspect->metadata, inspect->file, inspect->model.image))
        code = IPEX_EXIT_FAILED;
    if (code)
        return code;
    count_passes(inspect);
    if (inspect->json)
        print_json(inspect);
    else if (inspect->dot)
        print_dot(inspect);
    else if (inspect->why)
        print_why(inspect);
    else
        print_summary(inspect);
    return IPEX_EXIT_DONE;
}

int ipex_verb_inspect(int argc, char **argv) {
    struct inspect inspect = {0};
    const struct ipex_cli_option options[] = {
        {"why", "TEXT",
         "what the optimiser did not do, and why, by pass; with TEXT all it did at sites and in "
         "passes "
         "of that name",
         IPEX_CLI_OPTIONAL, false, &inspect.why, 0, 0},
        {"json", NULL, "print one JSON object", IPEX_CLI_FLAG, false, &inspect.json, 0, 0},
        {"dot", NULL, "print the graph for graphviz", IPEX_CLI_FLAG, false, &inspect.dot, 0, 0},
        {0},
    };
    const struct ipex_cli_verb verb = {
        "inspect", "FILE",
        "Shows what a file holds: entries, steps, weights, memory, and what the optimiser did.",
        options, NULL};
    int code;
    if (ipex_cli_parse(&verb, argc, argv, &inspect.file, &code))
        code = inspect.json && inspect.dot
                   ? ipex_cli_wrong(&verb, "--json and --dot are two different outputs")
                   : work(&inspect);
    ipex_metadata_close(&inspect.metadata);
    ipex_model_close(&inspect.model);
    ipex_arena_finish(&inspect.arena);
    return code;
}
