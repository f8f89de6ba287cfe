/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack inspect`: what is in a file. By default a summary; `--why` the optimiser's ledger by
 * pass and reason, `--why TEXT` site by site; `--dot` the graph; `--json` everything. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/ops.h"
#include "tools/inspect.h"
#include "tools/ledger_text.h"
#include "tools/run_sizes.h"
#include "tools/text_table.h"
#include "tools/verbs.h"

/* ---- what several outputs need ---- */

const char *ipex_inspect_op(struct ipex_fb_node node) {
    const struct ipex_op_info *info = ipex_op_info(ipex_fb_node_op(node));
    return info ? info->name : "unknown";
}

const char *ipex_inspect_entry(const struct ipex_inspect *inspect, uint32_t entry) {
    return ipex_fb_entry_name(ipex_fb_model_entries(inspect->metadata.model, entry));
}

const char *ipex_inspect_digest(const struct ipex_inspect *inspect,
                                char text[2 * IPEX_SHA256_BYTES + 1]) {
    const uint8_t *digest = ipex_image_digest(inspect->model.image);
    for (int i = 0; i < IPEX_SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return text;
}

bool ipex_inspect_wanted(const struct ipex_inspect *inspect, struct ipex_fb_site site) {
    return !inspect->why || strstr(ipex_fb_site_site(site), inspect->why) ||
           strstr(ipex_fb_site_pass(site), inspect->why);
}

static struct ipex_inspect_pass *find_pass(struct ipex_inspect *inspect, const char *name) {
    for (size_t i = 0; i < inspect->passes; i++)
        if (!strcmp(inspect->pass[i].name, name))
            return &inspect->pass[i];
    struct ipex_inspect_pass *pass = &inspect->pass[inspect->passes++];
    pass->name = name;
    return pass;
}

static void count_passes(struct ipex_inspect *inspect) {
    uint32_t rows = ipex_fb_model_ledger_len(inspect->metadata.model);
    inspect->pass = ipex_arena_array(&inspect->arena, rows, sizeof *inspect->pass);
    for (uint32_t i = 0; i < rows; i++) {
        struct ipex_fb_site site = ipex_fb_model_ledger(inspect->metadata.model, i);
        if (!ipex_inspect_wanted(inspect, site))
            continue;
        struct ipex_inspect_pass *pass = find_pass(inspect, ipex_fb_site_pass(site));
        if (ipex_fb_site_applied(site))
            pass->applied++;
        else
            pass->refused++;
    }
}

uint32_t ipex_inspect_port_count(struct ipex_fb_entry entry, bool outputs) {
    return outputs ? ipex_fb_entry_outputs_len(entry) : ipex_fb_entry_inputs_len(entry);
}

struct ipex_fb_port ipex_inspect_port(struct ipex_fb_entry entry, bool outputs, uint32_t index) {
    return outputs ? ipex_fb_entry_outputs(entry, index) : ipex_fb_entry_inputs(entry, index);
}

/* Stands for a caller's thread pool: only its thread count matters to a measurement. */
static void serial_for(void *user, void (*fn)(void *arg, int i), void *arg, int n) {
    (void)user;
    for (int i = 0; i < n; i++)
        fn(arg, i);
}

/* The symbols of all entries at their lowest, as a session's sizes; *ret_count: none where all are
 * fixed. */
static struct ipex_dim_range *lowest_sizes(struct ipex_inspect *inspect, size_t *ret_count) {
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
static bool measure(const struct ipex_inspect *inspect, int threads,
                    const struct ipex_dim_range *dims, size_t n_dims,
                    struct ipex_requirements *ret) {
    struct ipex_session_options options = {
        .size_of_struct = sizeof options, .dims = dims, .n_dims = n_dims};
    if (threads > 1) {
        options.parallel_for = serial_for;
        options.parallel_threads = threads;
    }
    return ipex_session_measure(inspect->model.image, &options, ret) == IPEX_OK;
}

size_t ipex_inspect_memory(struct ipex_inspect *inspect,
                           struct ipex_inspect_memory ret[IPEX_INSPECT_MEMORY_MAX],
                           bool *ret_varies) {
    static const int threads[IPEX_INSPECT_MEMORY_MAX] = {1, 2, 4};
    size_t n_lowest, rows = 0;
    const struct ipex_dim_range *lowest = lowest_sizes(inspect, &n_lowest);
    *ret_varies = n_lowest != 0;
    for (size_t i = 0; i < IPEX_INSPECT_MEMORY_MAX; i++) {
        struct ipex_inspect_memory row = {.threads = threads[i]};
        if (measure(inspect, threads[i], NULL, 0, &row.all) &&
            measure(inspect, threads[i], lowest, n_lowest, &row.lowest))
            ret[rows++] = row;
    }
    return rows;
}

/* ---- summary ---- */

static enum ipex_dtype port_dtype(struct ipex_fb_entry entry, struct ipex_fb_port port) {
    return ipex_fb_tensor_dtype(ipex_fb_entry_tensors(entry, ipex_fb_port_tensor(port)));
}

static void print_ports(struct ipex_inspect *inspect, struct ipex_fb_entry entry, bool outputs) {
    for (uint32_t i = 0; i < ipex_inspect_port_count(entry, outputs); i++) {
        struct ipex_fb_port port = ipex_inspect_port(entry, outputs, i);
        ipex_cli_say("  %-7s %s  %s\n", outputs ? "output" : "input",
                     ipex_run_sizes_shape(entry, port, port_dtype(entry, port), &inspect->arena),
                     ipex_fb_port_name(port));
    }
}

static void print_operators(struct ipex_fb_entry entry) {
    size_t counts[256] = {0}; /* operator ids are few; larger ones do not pass the checker */
    ipex_cli_say("  steps   %u:", ipex_fb_entry_nodes_len(entry));
    for (uint32_t i = 0; i < ipex_fb_entry_nodes_len(entry); i++)
        counts[ipex_fb_node_op(ipex_fb_entry_nodes(entry, i)) & 0xff]++;
    for (unsigned id = 0; id < 256; id++)
        if (counts[id])
            ipex_cli_say(" %zu %s", counts[id],
                         ipex_op_info(id) ? ipex_op_info(id)->name : "unknown");
    putchar('\n');
}

const char *ipex_inspect_profile(struct ipex_fb_entry entry) {
    const enum ipex_arithmetic pinned = (enum ipex_arithmetic)ipex_fb_entry_arithmetic(entry);
    if (!ipex_entry_multiplies_bf16(entry))
        return "f32";
    return pinned == IPEX_ARITHMETIC_AUTO      ? "not pinned: bf16-amx at level amx, else bf16-dp"
           : pinned == IPEX_ARITHMETIC_bf16_dp ? "bf16-dp, pinned"
                                               : "bf16-amx, pinned";
}

static void print_answers(struct ipex_fb_entry entry) {
    uint32_t count = ipex_fb_entry_answers_len(entry);
    ipex_cli_say("  answers %u", count);
    for (uint32_t i = 0; i < count; i++)
        ipex_cli_say("%s %s", i ? "," : ":",
                     ipex_fb_answer_origin(ipex_fb_entry_answers(entry, i)));
    ipex_cli_say("\n  labels  %u\n", ipex_fb_entry_labels_len(entry));
}

static void print_entry(struct ipex_inspect *inspect, uint32_t index) {
    struct ipex_fb_entry entry = ipex_fb_model_entries(inspect->metadata.model, index);
    ipex_cli_say("\nentry %s\n", ipex_fb_entry_name(entry));
    print_ports(inspect, entry, false);
    print_ports(inspect, entry, true);
    if (ipex_fb_entry_symbols_len(entry))
        ipex_cli_say("  sizes   %s\n", ipex_run_sizes_ranges(entry, &inspect->arena));
    print_operators(entry);
    ipex_cli_say("  profile %s\n", ipex_inspect_profile(entry));
    print_answers(entry);
}

struct weight_sum {
    size_t count;
    uint64_t bytes;
};

/* Weights by layout and dtype. */
static void print_weights(const struct ipex_inspect *inspect) {
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
static void print_memory(struct ipex_inspect *inspect) {
    static const struct ipex_table_column columns[] = {{"threads", true, 0},
                                                       {"session bytes", true, 0},
                                                       {"plan", true, 0},
                                                       {"states", true, 0},
                                                       {"arena", true, 0},
                                                       {"scratch", true, 0},
                                                       {"at the lowest sizes", true, 0}};
    struct ipex_inspect_memory row[IPEX_INSPECT_MEMORY_MAX];
    struct ipex_table table;
    bool varies;
    size_t rows = ipex_inspect_memory(inspect, row, &varies);
    ipex_table_init(&table, columns, sizeof columns / sizeof *columns - !varies);
    for (size_t i = 0; i < rows; i++) {
        const struct ipex_requirements *need = &row[i].all;
        ipex_table_cell(&table, "%d", row[i].threads);
        ipex_table_cell(&table, "%zu", need->memory);
        ipex_table_cell(&table, "%zu", need->plan);
        ipex_table_cell(&table, "%zu", need->states);
        ipex_table_cell(&table, "%zu", need->arena);
        ipex_table_cell(&table, "%zu", need->scratch);
        if (varies)
            ipex_table_cell(&table, "%zu", row[i].lowest.memory);
    }
    putchar('\n');
    ipex_table_print(&table, stdout);
    ipex_table_finish(&table);
}

static void print_passes(const struct ipex_inspect *inspect) {
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
    ipex_cli_say("\n`ipexpack inspect %s --why` gives the reasons.\n", inspect->file);
}

static void print_summary(struct ipex_inspect *inspect) {
    struct ipex_fb_model model = inspect->metadata.model;
    char size[16], digest[2 * IPEX_SHA256_BYTES + 1];
    ipex_cli_say("%s: %s, made by %s from %s\n", inspect->file,
                 ipex_bytes_text((double)inspect->model.file_bytes, size),
                 ipex_fb_model_producer(model), ipex_fb_model_source(model));
    if (*ipex_fb_model_options(model))
        ipex_cli_say("options   %s\n", ipex_fb_model_options(model));
    ipex_cli_say("digest    %s\n", ipex_inspect_digest(inspect, digest));
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(model); i++)
        print_entry(inspect, i);
    print_weights(inspect);
    print_memory(inspect);
    print_passes(inspect);
}

/* ---- why ---- */

static void print_site(const struct ipex_inspect *inspect, struct ipex_fb_site site) {
    bool applied = ipex_fb_site_applied(site);
    ipex_cli_say("  %-8s %s", applied ? "applied" : "refused", ipex_fb_site_site(site));
    if (ipex_fb_model_entries_len(inspect->metadata.model) > 1)
        ipex_cli_say(" (%s)", ipex_inspect_entry(inspect, ipex_fb_site_entry(site)));
    if (!applied)
        ipex_cli_say(": %s", ipex_fb_site_reason(site));
    if (*ipex_fb_site_text(site))
        ipex_cli_say("\n           %s", ipex_fb_site_text(site));
    putchar('\n');
}

static void print_why(struct ipex_inspect *inspect) {
    struct ipex_fb_model model = inspect->metadata.model;
    if (!*inspect->why) {
        ipex_ledger_print(model, &inspect->arena);
        ipex_cli_say(
            "\n`ipexpack inspect %s --why TEXT`: every site of a pass or node, with what was "
            "done there.\n",
            inspect->file);
        return;
    }
    uint32_t rows = ipex_fb_model_ledger_len(model);
    for (size_t i = 0; i < inspect->passes; i++) {
        const struct ipex_inspect_pass *pass = &inspect->pass[i];
        ipex_cli_say("%s%s: %zu applied, %zu refused\n", i ? "\n" : "", pass->name, pass->applied,
                     pass->refused);
        for (uint32_t row = 0; row < rows; row++) {
            struct ipex_fb_site site = ipex_fb_model_ledger(model, row);
            if (ipex_inspect_wanted(inspect, site) && !strcmp(ipex_fb_site_pass(site), pass->name))
                print_site(inspect, site);
        }
    }
    if (!inspect->passes)
        ipex_cli_say("no site or pass matches '%s' (%u rows in all)\n", inspect->why, rows);
}

/* ---- the verb ---- */

static int work(struct ipex_inspect *inspect) {
    int code = ipex_model_open(&inspect->model, inspect->file, false);
    if (!code && !ipex_metadata_open(&inspect->metadata, inspect->file, inspect->model.image))
        code = IPEX_EXIT_FAILED;
    if (code)
        return code;
    count_passes(inspect);
    if (inspect->json)
        ipex_inspect_json(inspect);
    else if (inspect->dot)
        ipex_inspect_dot(inspect);
    else if (inspect->why)
        print_why(inspect);
    else
        print_summary(inspect);
    return IPEX_EXIT_DONE;
}

int ipex_verb_inspect(int argc, char **argv) {
    struct ipex_inspect inspect = {0};
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
