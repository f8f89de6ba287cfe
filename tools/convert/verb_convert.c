/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack convert`: read the model, fold, fuse, lay out, pack, write; then say what was done and
 * what was not. */
#include <stdio.h>
#include <string.h>

#include "format/check.h"
#include "tools/convert/convert.h"
#include "tools/convert/passes.h"
#include "tools/model.h"
#include "tools/progress.h"
#include "tools/verbs.h"

static int import(struct ipex_convert_entry *entry, struct ipex_convert *c,
                  struct ipex_graph *graph, struct ipex_ledger *ledger) {
    struct ipex_import state;
    const char *message = NULL;
    entry->import.every_site = c->json;
    ipex_graph_init(graph, ledger);
    enum ipex_import_result result =
        ipex_import_model(&entry->model, &entry->import, graph, &state, &message);
    entry->shape_folds = state.shape_folds;
    entry->notes = state.notes ? ipex_arena_strdup(&c->arena, state.notes) : NULL;
    if (result == IPEX_IMPORT_OK)
        return IPEX_EXIT_DONE;
    ipex_cli_failed("%s: %.*s", entry->model_path, (int)strlen(message) - 1, message);
    return result == IPEX_IMPORT_USAGE ? IPEX_EXIT_USAGE : IPEX_EXIT_FAILED;
}

static int read_answers(struct ipex_convert_entry *entry, struct ipex_convert *c) {
    for (size_t i = 0; i < entry->golden_from.count; i++)
        if (ipex_golden_read(&entry->answers, &entry->graph, entry->golden_from.item[i],
                             &c->report) != IPEX_OK)
            return ipex_cli_failed("%s: known answers: %s", entry->model_path, c->text);
    return IPEX_EXIT_DONE;
}

static int compute_answers(struct ipex_convert_entry *entry, struct ipex_convert *c) {
    struct ipex_graph plain; /* as imported, no pass has touched it */
    if (!c->golden)
        return IPEX_EXIT_DONE;
    int code = import(entry, c, &plain, NULL);
    if (code == IPEX_EXIT_DONE && c->activations != IPEX_ACTIVATIONS_f32)
        ipex_keep_rounding_blocks(&plain);
    if (code == IPEX_EXIT_DONE &&
        ipex_golden_compute(&entry->answers, &plain, c->golden, &c->report) != IPEX_OK)
        code = ipex_cli_failed("%s: known answers: %s", entry->model_path, c->text);
    ipex_graph_finish(&plain);
    return code;
}

/* Reads every model before anything is done with one, so that all that is wrong is said at once. */
static int import_all(struct ipex_convert *c) {
    int result = IPEX_EXIT_DONE;
    for (size_t e = 0; e < c->entries; e++) {
        struct ipex_convert_entry *entry = &c->entry[e];
        ipex_progress_say("reading %.50s", entry->name);
        int code = ipex_onnx_open(entry->model_path, &entry->model, &c->report) == IPEX_OK
                       ? import(entry, c, &entry->graph, &entry->ledger)
                       : ipex_cli_failed("%s", c->text);
        if (code > result)
            result = code;
    }
    return result;
}

static int plan_entry(struct ipex_convert_entry *entry, struct ipex_convert *c) {
    int code = ipex_convert_read_labels(c, entry);
    if (code == IPEX_EXIT_DONE)
        code = read_answers(entry, c);
    if (code == IPEX_EXIT_DONE)
        code = compute_answers(entry, c);
    if (code != IPEX_EXIT_DONE)
        return code;
    ipex_progress_say("optimising %.45s", entry->name);
    entry->graph.precision = c->precision;
    entry->graph.arithmetic = c->arithmetic;
    entry->graph.activations = c->activations;
    ipex_passes_run(&entry->graph);
    const enum ipex_growth growth = c->speed  ? IPEX_GROWTH_any
                                    : c->size ? IPEX_GROWTH_none
                                              : IPEX_GROWTH_some;
    ipex_choose_algorithms(&entry->graph, growth);
    ipex_choose_lossless(&entry->graph, growth);
    ipex_lower(&entry->graph, &entry->plan);
    ipex_bound_storages(&entry->graph, &entry->plan);
    ipex_mark_bands(&entry->graph, &entry->plan);
    entry->plan.label = entry->label;
    entry->plan.labels = entry->labels;
    ipex_golden_store(&entry->answers, &entry->graph, &entry->plan);
    return IPEX_EXIT_DONE;
}

/* ---- writing ---- */

static enum ipex_status write_part(void *user, const void *bytes, size_t size, uint64_t offset,
                                   const struct ipex_report *report) {
    struct ipex_convert *c = user;
    ipex_progress_say("packing: %.0f MB", (double)offset / 1e6);
    return ipex_atomic_write(&c->file, bytes, size, offset, report);
}

/* "net.onnx"; of several entries "detect=det.onnx, classify=cls.onnx". */
static const char *describe_source(struct ipex_convert *c) {
    const char *text = "";
    for (size_t e = 0; e < c->entries; e++) {
        const char *path = c->entry[e].model_path, *name = strrchr(path, '/');
        name = name ? name + 1 : path;
        text = c->entries == 1 ? name
                               : ipex_arena_printf(&c->arena, "%s%s%s=%s", text, e ? ", " : "",
                                                   c->entry[e].name, name);
    }
    return ipex_convert_text(c, text);
}

/* Where a file has room for it: else a note says that it is left out. */
static bool has_room(struct ipex_convert *c, struct ipex_convert_entry *entry, const char *key,
                     const char *value) {
    const size_t length = strlen(value);
    if (strlen(key) <= IPEX_TEXT_MAX && length <= IPEX_LONG_TEXT_MAX)
        return true;
    entry->notes = ipex_arena_printf(
        &c->arena, "%smetadata '%.64s' of %zu bytes is left out: a file has room for %d\n",
        entry->notes ? entry->notes : "", key, length, IPEX_LONG_TEXT_MAX);
    return false;
}

/* The models' own metadata; of several entries with keys "ENTRY:KEY". */
static void take_metadata(struct ipex_convert *c, struct ipex_write *write) {
    size_t count = 0;
    for (size_t e = 0; e < c->entries; e++)
        count += c->entry[e].model.metadata;
    const char **keys = ipex_arena_array(&c->arena, count, sizeof *keys),
               **values = ipex_arena_array(&c->arena, count, sizeof *values);
    for (size_t e = 0; e < c->entries; e++)
        for (size_t i = 0; i < c->entry[e].model.metadata; i++) {
            struct ipex_convert_entry *entry = &c->entry[e];
            const char *key = entry->model.metadata_keys[i],
                       *value = entry->model.metadata_values[i];
            if (c->entries > 1)
                key = ipex_arena_printf(&c->arena, "%s:%s", entry->name, key);
            if (!has_room(c, entry, key, value))
                continue;
            keys[write->metadata] = key;
            values[write->metadata++] = value;
        }
    write->metadata_keys = keys;
    write->metadata_values = values;
}

static int write_file(struct ipex_convert *c) {
    struct ipex_write_entry *entry = ipex_arena_array(&c->arena, c->entries, sizeof *entry);
    struct ipex_write write = {.entry = entry,
                               .entries = c->entries,
                               .source = describe_source(c),
                               .options = c->options_text};
    for (size_t e = 0; e < c->entries; e++)
        entry[e] = (struct ipex_write_entry){
            .name = c->entry[e].name, .plan = &c->entry[e].plan, .ledger = &c->entry[e].ledger};
    take_metadata(c, &write);
    if (ipex_atomic_open(c->output, &c->file, &c->report) != IPEX_OK)
        return ipex_cli_failed("%s", c->text);
    enum ipex_status status = ipex_write(&write, write_part, c, &c->written, &c->report);
    ipex_progress_say("waiting for the disk to have %.0f MB", (double)c->written.file_size / 1e6);
    if (status == IPEX_OK)
        status = ipex_atomic_commit(&c->file, &c->report);
    ipex_atomic_discard(&c->file);
    return status == IPEX_OK ? IPEX_EXIT_DONE : ipex_cli_failed("%s", c->text);
}

/* ---- the verb ---- */

static int work(struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    int code = ipex_convert_take_options(c, verb);
    if (!c->quiet)
        ipex_progress_begin();
    if (code == IPEX_EXIT_DONE)
        code = import_all(c);
    if (code == IPEX_EXIT_DONE && !ipex_convert_check_options(c, verb))
        code = IPEX_EXIT_USAGE;
    for (size_t e = 0; e < c->entries && code == IPEX_EXIT_DONE; e++)
        code = plan_entry(&c->entry[e], c);
    if (code == IPEX_EXIT_DONE)
        code = write_file(c);
    ipex_progress_end();
    if (code == IPEX_EXIT_DONE && c->json)
        ipex_convert_print_json(c);
    else if (code == IPEX_EXIT_DONE && !c->quiet)
        ipex_convert_print_summary(c);
    return code;
}

static void finish(struct ipex_convert *c) {
    for (size_t e = 0; e < c->entries; e++) {
        struct ipex_convert_entry *entry = &c->entry[e];
        ipex_plan_finish(&entry->plan);
        ipex_graph_finish(&entry->graph);
        ipex_ledger_finish(&entry->ledger);
        ipex_golden_finish(&entry->answers);
        ipex_onnx_close(&entry->model);
        ipex_cli_list_finish(&entry->golden_from);
    }
    for (size_t i = 0; c->constant && i < c->constants.count; i++)
        ipex_tensor_data_finish(&c->constant[i].tensor);
    struct ipex_cli_list *lists[] = {&c->entry_list,  &c->dims,      &c->shapes, &c->labels,
                                     &c->golden_from, &c->constants, &c->images};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        ipex_cli_list_finish(lists[i]);
    ipex_arena_finish(&c->arena);
}

int ipex_verb_convert(int argc, char **argv) {
    struct ipex_convert c = {.file = {.fd = -1, .folder_fd = -1}};
    c.report = (struct ipex_report){c.text, sizeof c.text};
    const struct ipex_cli_option options[] = {
        {"o", "FILE.ipex", "the file to write (replaced as a whole; none of those that are read)",
         IPEX_CLI_TEXT, true, &c.output, 0, 0},
        {"entry", "NAME=MODEL.onnx", "one of several graphs of the file (MODEL.onnx alone: main)",
         IPEX_CLI_LIST, false, &c.entry_list, 0, 0},
        {"dim", "[ENTRY:]NAME=N",
         "size of a symbolic dimension, LO..HI[:STEP] for every run to choose, or another "
         "dimension, whose size it has, or a sum (past+1); one without a "
         "name is INPUT[AXIS]",
         IPEX_CLI_LIST, false, &c.dims, 0, 0},
        {"input", "[ENTRY:]NAME=1x3x224x224", "shape of an input", IPEX_CLI_LIST, false, &c.shapes,
         0, 0},
        {"const", "[ENTRY:]NAME=VALUE|FILE.npy",
         "makes an input a constant; an If on it becomes the branch that it chooses", IPEX_CLI_LIST,
         false, &c.constants, 0, 0},
        {"image", "[ENTRY:]INPUT=u8[,mean=M,..][,std=S,..][,order=rgb|bgr]",
         "the file takes a picture's bytes [N][height][width][channels]: (byte - mean) / std, in "
         "the "
         "model's channel order; bgr: the bytes' channels are the model's in reverse",
         IPEX_CLI_LIST, false, &c.images, 0, 0},
        {"labels", "[ENTRY=]FILE",
         "names of the classes, one per line (default: the model's own metadata)", IPEX_CLI_LIST,
         false, &c.labels, 0, 0},
        {"golden-from", "[ENTRY=]DIR",
         "known answers to store: input_*.pb with output_*.pb, or NAME.npy; origin.txt may say "
         "whose "
         "they are: upstream, onnxruntime, torch",
         IPEX_CLI_LIST, false, &c.golden_from, 0, 0},
        {"golden", "N",
         "store N seeded inputs (at N sizes, the lowest first) and their answers by the reference "
         "kernels on the unoptimised graph",
         IPEX_CLI_INTEGER, false, &c.golden, 0, 1024},
        {"dtype", "bf16", "compute products in bf16, sums in f32 (default: f32)", IPEX_CLI_TEXT,
         false, &c.dtype, 0, 0},
        {"weights", "bf16", "store weights of products in bf16, compute in f32", IPEX_CLI_TEXT,
         false, &c.weights, 0, 0},
        {"arithmetic", "PROFILE",
         "with --dtype bf16: pin how products round on every machine, bf16-dp (where f32 with "
         "fewer products is faster, it stays) or bf16-amx (default: not pinned; sessions take what "
         "is fastest)",
         IPEX_CLI_TEXT, false, &c.profile, 0, 0},
        {"activations", "f32|i8",
         "how layers with weights of 4 or 8 bits in blocks read what they multiply: as it is, or "
         "rounded "
         "to i8 block by block (default: as the model says, which is i8 with accuracy_level 4)",
         IPEX_CLI_TEXT, false, &c.activations_text, 0, 0},
        {"speed", NULL,
         "let weights grow as far as it makes the network faster (default: to 1.5 times)",
         IPEX_CLI_FLAG, false, &c.speed, 0, 0},
        {"size", NULL,
         "let no weight grow for speed, and store in 16 bits those of convolutions that these "
         "hold, "
         "too",
         IPEX_CLI_FLAG, false, &c.size, 0, 0},
        {"quiet", NULL, "no summary and no progress", IPEX_CLI_FLAG, false, &c.quiet, 0, 0},
        {"json", NULL, "the summary as one JSON object", IPEX_CLI_FLAG, false, &c.json, 0, 0},
        {0},
    };
    const struct ipex_cli_verb verb = {
        "convert", "[MODEL.onnx]",
        "Turns an ONNX model, or several, into one file: folds, fuses and packs every weight for "
        "the\ninstruction that will use it. An option without ENTRY is for every entry that it "
        "fits.",
        options, NULL};
    int code;
    c.start_us = ipex_now_us();
    if (ipex_cli_parse(&verb, argc, argv, &c.model_path, &code))
        code = work(&c, &verb);
    finish(&c);
    return code;
}
