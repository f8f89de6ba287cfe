/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack convert`: read the model, fold, fuse, lay out, pack, write; then say what was done and
 * what was not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/atomic_file.h"
#include "tools/cli.h"
#include "tools/convert/golden.h"
#include "tools/convert/import.h"
#include "tools/convert/passes.h"
#include "tools/convert/write.h"
#include "tools/json.h"
#include "tools/model.h"
#include "tools/verbs.h"

#define REFUSALS_SHOWN 8

struct convert {
    const char *model_path, *output, *labels_path, *golden_folder;
    const char *dtype, *weights;
    struct ipex_cli_list dims, shapes, constants;
    int64_t golden;
    bool speed, size, quiet, json;
    enum ipex_precision precision;

    struct ipex_arena arena; /* of the command line and the labels */
    struct ipex_import_options import;
    const char *options_text; /* what decided the result, for the file */
    struct ipex_onnx_model model;
    struct ipex_graph graph;
    struct ipex_ledger ledger;
    struct ipex_plan plan;
    struct ipex_golden_set answers;
    const char **label;
    size_t labels;
    const char *notes;
    size_t source_nodes, shape_folds;
    struct ipex_written written;
    struct ipex_atomic_file file;
    double start_us, shown_us;
    char text[512];
    struct ipex_report report;
};

/* ---- command line ---- */

static bool parse_integer(const char *text, int64_t *ret, const char **ret_end) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    *ret = value;
    *ret_end = end;
    return end != text && !errno && value >= 1 && value <= IPEX_MAX_DIM;
}

/* N, LO..HI or LO..HI:STEP */
static bool parse_range(const char *text, struct ipex_dim_option *dim) {
    const char *end;
    dim->step = 1;
    if (!parse_integer(text, &dim->lo, &end))
        return false;
    dim->hi = dim->lo;
    if (*end && (strncmp(end, "..", 2) || !parse_integer(end + 2, &dim->hi, &end)))
        return false;
    if (*end && (*end != ':' || !parse_integer(end + 1, &dim->step, &end)))
        return false;
    return !*end && dim->lo <= dim->hi && dim->lo % dim->step == 0 && dim->hi % dim->step == 0;
}

static bool parse_dims_option(struct convert *c, const struct ipex_cli_verb *verb) {
    c->import.dim = ipex_arena_array(&c->arena, c->dims.count + 1, sizeof *c->import.dim);
    for (size_t i = 0; i < c->dims.count; i++) {
        const char *rest;
        size_t length;
        struct ipex_dim_option *dim = &c->import.dim[c->import.dims++];
        if (!ipex_cli_split(c->dims.item[i], &length, &rest) || !parse_range(rest, dim)) {
            ipex_cli_wrong(verb,
                           "--dim %s: NAME=N or NAME=LO..HI[:STEP] is expected, from 1 to %lld, LO "
                           "and HI multiples of STEP",
                           c->dims.item[i], (long long)IPEX_MAX_DIM);
            return false;
        }
        dim->name = ipex_arena_strndup(&c->arena, c->dims.item[i], length);
    }
    return true;
}

static bool parse_shape(const char *text, struct ipex_shape_option *shape) {
    const char *end = text;
    for (; shape->rank < IPEX_MAX_RANK; text = end + 1) {
        if (!parse_integer(text, &shape->dims[shape->rank++], &end))
            return false;
        if (*end != 'x')
            return !*end;
    }
    return false;
}

static bool parse_shapes_option(struct convert *c, const struct ipex_cli_verb *verb) {
    c->import.shape = ipex_arena_array(&c->arena, c->shapes.count + 1, sizeof *c->import.shape);
    for (size_t i = 0; i < c->shapes.count; i++) {
        const char *rest;
        size_t length;
        struct ipex_shape_option *shape = &c->import.shape[c->import.shapes++];
        if (!ipex_cli_split(c->shapes.item[i], &length, &rest) || !parse_shape(rest, shape)) {
            ipex_cli_wrong(verb, "--input %s: NAME=1x3x224x224 is expected, at most %d dims",
                           c->shapes.item[i], IPEX_MAX_RANK);
            return false;
        }
        shape->name = ipex_arena_strndup(&c->arena, c->shapes.item[i], length);
    }
    return true;
}

/* A text that ends in .npy or .pb is a file. */
static bool names_file(const char *text) {
    const char *dot = strrchr(text, '.');
    return dot && (!strcmp(dot, ".npy") || !strcmp(dot, ".pb"));
}

/* Fails with the exit code for the person's mistake or the file's. */
static int read_constants_option(struct convert *c, const struct ipex_cli_verb *verb) {
    c->import.constant =
        ipex_arena_array(&c->arena, c->constants.count + 1, sizeof *c->import.constant);
    for (size_t i = 0; i < c->constants.count; i++) {
        const char *rest;
        size_t length;
        struct ipex_const_option *given = &c->import.constant[c->import.constants++];
        if (!ipex_cli_split(c->constants.item[i], &length, &rest) || !*rest)
            return ipex_cli_wrong(verb, "--const %s: NAME=VALUE or NAME=FILE.npy is expected",
                                  c->constants.item[i]);
        given->name = ipex_arena_strndup(&c->arena, c->constants.item[i], length);
        given->text = rest;
        given->is_file = names_file(rest);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(c->import.constant[k].name, given->name))
                return ipex_cli_wrong(verb, "--const %s is given twice", given->name);
        if (given->is_file && ipex_tensor_read(rest, &given->tensor, &c->report) != IPEX_OK)
            return ipex_cli_failed("--const %s: %s", given->name, c->text);
    }
    return IPEX_EXIT_DONE;
}

static const char *describe_options(struct convert *c) {
    const char *text = "";
    for (size_t i = 0; i < c->dims.count; i++)
        text =
            ipex_arena_printf(&c->arena, "%s%s--dim %s", text, *text ? " " : "", c->dims.item[i]);
    for (size_t i = 0; i < c->shapes.count; i++)
        text = ipex_arena_printf(&c->arena, "%s%s--input %s", text, *text ? " " : "",
                                 c->shapes.item[i]);
    for (size_t i = 0; i < c->constants.count; i++)
        text = ipex_arena_printf(&c->arena, "%s%s--const %s", text, *text ? " " : "",
                                 c->constants.item[i]);
    if (c->dtype)
        text = ipex_arena_printf(&c->arena, "%s%s--dtype %s", text, *text ? " " : "", c->dtype);
    if (c->weights)
        text = ipex_arena_printf(&c->arena, "%s%s--weights %s", text, *text ? " " : "", c->weights);
    if (c->speed || c->size)
        text = ipex_arena_printf(&c->arena, "%s%s%s", text, *text ? " " : "",
                                 c->speed ? "--speed" : "--size");
    return text;
}

static bool parse_precision(struct convert *c, const struct ipex_cli_verb *verb) {
    const char *const given[2] = {c->dtype, c->weights};
    for (int i = 0; i < 2; i++)
        if (given[i] && strcmp(given[i], "f32") && strcmp(given[i], "bf16")) {
            ipex_cli_wrong(verb, "--%s %s: f32 or bf16 is expected", i ? "weights" : "dtype",
                           given[i]);
            return false;
        }
    const bool dtype = c->dtype && !strcmp(c->dtype, "bf16");
    const bool weights = c->weights && !strcmp(c->weights, "bf16");
    if (dtype && c->weights && !weights) {
        ipex_cli_wrong(verb, "--dtype bf16 multiplies by bf16 weights: --weights f32 contradicts");
        return false;
    }
    c->precision = dtype     ? IPEX_PRECISION_bf16
                   : weights ? IPEX_PRECISION_bf16_weights
                             : IPEX_PRECISION_f32;
    return true;
}

/* ---- labels ---- */

static char *read_text(struct convert *c, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    size_t size = 0, capacity = 0;
    char *text = NULL;
    do {
        text = ipex_grow(text, &capacity, size + 65536, 1);
        size += fread(text + size, 1, 65535, file);
    } while (!feof(file) && !ferror(file));
    bool failed = ferror(file) || memchr(text, 0, size);
    fclose(file);
    char *copy = failed ? NULL : ipex_arena_strndup(&c->arena, text, size);
    free(text);
    return copy;
}

/* Splits at `separator`; a trailing empty piece does not count. */
static size_t split_labels(struct convert *c, const char *text, char separator, const char ***ret) {
    size_t count = 0, pieces = 1;
    for (const char *at = text; *at; at++)
        pieces += *at == separator;
    *ret = ipex_arena_array(&c->arena, pieces, sizeof **ret);
    while (*text) {
        const char *end = strchr(text, separator);
        size_t length = end ? (size_t)(end - text) : strlen(text);
        if (length && text[length - 1] == '\r')
            length--;
        while (length > 1 && text[length - 1] == ' ') /* one that is a space alone stays */
            length--;
        (*ret)[count++] = ipex_arena_strndup(&c->arena, text, length);
        text = end ? end + 1 : text + strlen(text);
    }
    return count;
}

static int64_t class_count(const struct convert *c) {
    const struct ipex_value *y = c->graph.outputs ? c->graph.output[0] : NULL;
    return y && y->rank ? y->dims[y->rank - 1] : 0;
}

/* A text recogniser's `character` lists what it can write; its first class is the blank between
 * characters and its last one the space. */
static bool labels_of_recogniser(struct convert *c, const char *characters) {
    const char **inner;
    size_t n = split_labels(c, characters, '\n', &inner);
    if (n < 2 || (int64_t)n + 2 != class_count(c))
        return false;
    c->label = ipex_arena_array(&c->arena, n + 2, sizeof *c->label);
    memcpy(c->label + 1, inner, n * sizeof *inner);
    c->label[0] = "";
    c->label[n + 1] = " ";
    c->labels = n + 2;
    return true;
}

/* Labels of the model itself: a metadata property that lists as many names as the first output has
 * classes. */
static void labels_from_metadata(struct convert *c) {
    static const char *const keys[] = {"labels", "classes", "names", "character"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t i = 0; i < c->model.metadata; i++) {
            if (strcmp(c->model.metadata_keys[i], keys[k]))
                continue;
            if (k == 3 && labels_of_recogniser(c, c->model.metadata_values[i]))
                return;
            for (const char *separator = "\n,"; *separator; separator++) {
                size_t n = split_labels(c, c->model.metadata_values[i], *separator, &c->label);
                if (n > 1 && (int64_t)n == class_count(c)) {
                    c->labels = n;
                    return;
                }
            }
        }
}

static int read_labels(struct convert *c) {
    if (!c->labels_path) {
        labels_from_metadata(c);
        return IPEX_EXIT_DONE;
    }
    char *text = read_text(c, c->labels_path);
    if (!text)
        return ipex_cli_failed("cannot read the labels in %s: %s", c->labels_path,
                               errno ? strerror(errno) : "it is not text");
    c->labels = split_labels(c, text, '\n', &c->label);
    if ((int64_t)c->labels != class_count(c))
        return ipex_cli_failed(
            "%s has %zu lines, but the first output has %lld classes along its last axis",
            c->labels_path, c->labels, (long long)class_count(c));
    return IPEX_EXIT_DONE;
}

/* ---- stages ---- */

static int import(struct convert *c, struct ipex_graph *graph, struct ipex_ledger *ledger) {
    struct ipex_import state;
    const char *message = NULL;
    ipex_graph_init(graph, ledger);
    enum ipex_import_result result =
        ipex_import_model(&c->model, &c->import, graph, &state, &message);
    c->shape_folds = state.shape_folds;
    c->notes = state.notes ? ipex_arena_strdup(&c->arena, state.notes) : NULL;
    if (result == IPEX_IMPORT_OK)
        return IPEX_EXIT_DONE;
    ipex_cli_failed("%s: %.*s", c->model_path, (int)strlen(message) - 1, message);
    return result == IPEX_IMPORT_USAGE ? IPEX_EXIT_USAGE : IPEX_EXIT_FAILED;
}

static int make_answers(struct convert *c) {
    enum ipex_status status = IPEX_OK;
    if (c->golden_folder)
        status = ipex_golden_read(&c->answers, &c->graph, c->golden_folder, &c->report);
    if (status == IPEX_OK && c->golden) {
        struct ipex_graph plain; /* as imported, no pass has touched it */
        int exit_code = import(c, &plain, NULL);
        if (exit_code == IPEX_EXIT_DONE)
            status = ipex_golden_compute(&c->answers, &plain, c->golden, &c->report);
        ipex_graph_finish(&plain);
        if (exit_code != IPEX_EXIT_DONE)
            return exit_code;
    }
    return status == IPEX_OK ? IPEX_EXIT_DONE
                             : ipex_cli_failed("%s: known answers: %s", c->model_path, c->text);
}

/* Work over a second shows a line on a terminal. */
static void progress(struct convert *c, uint64_t done) {
    double now = ipex_now_us();
    if (c->quiet || now - c->start_us < 1e6 || now - c->shown_us < 2e5 || !isatty(STDERR_FILENO))
        return;
    c->shown_us = now;
    fprintf(stderr, "\rpacking: %.0f MB written ", (double)done / 1e6);
}

static enum ipex_status write_part(void *user, const void *bytes, size_t size, uint64_t offset,
                                   const struct ipex_report *report) {
    struct convert *c = user;
    progress(c, offset);
    return ipex_atomic_write(&c->file, bytes, size, offset, report);
}

static int write_file(struct convert *c) {
    const char *name = strrchr(c->model_path, '/');
    struct ipex_write write = {.plan = &c->plan,
                               .entry = "main",
                               .ledger = &c->ledger,
                               .source = name ? name + 1 : c->model_path,
                               .options = c->options_text,
                               .metadata_keys = c->model.metadata_keys,
                               .metadata_values = c->model.metadata_values,
                               .metadata = c->model.metadata};
    if (ipex_atomic_open(c->output, &c->file, &c->report) != IPEX_OK)
        return ipex_cli_failed("%s", c->text);
    enum ipex_status status = ipex_write(&write, write_part, c, &c->written, &c->report);
    if (c->shown_us > 0)
        fprintf(stderr, "\r%*s\r", 40, "");
    if (status == IPEX_OK)
        status = ipex_atomic_commit(&c->file, &c->report);
    ipex_atomic_discard(&c->file);
    return status == IPEX_OK ? IPEX_EXIT_DONE : ipex_cli_failed("%s", c->text);
}

static int convert_model(struct convert *c) {
    int exit_code = import(c, &c->graph, &c->ledger);
    if (exit_code == IPEX_EXIT_DONE)
        exit_code = read_labels(c);
    if (exit_code == IPEX_EXIT_DONE)
        exit_code = make_answers(c);
    if (exit_code != IPEX_EXIT_DONE)
        return exit_code;
    c->graph.precision = c->precision;
    ipex_passes_run(&c->graph);
    ipex_choose_algorithms(&c->graph, c->speed  ? IPEX_GROWTH_any
                                      : c->size ? IPEX_GROWTH_none
                                                : IPEX_GROWTH_some);
    ipex_lower(&c->graph, &c->plan);
    ipex_mark_bands(&c->graph, &c->plan);
    c->plan.label = c->label;
    c->plan.labels = c->labels;
    ipex_golden_store(&c->answers, &c->graph, &c->plan);
    return write_file(c);
}

/* ---- summary ---- */

static const char *const pass_names[] = {
    "constant",
#define IPEX_PASS(name, what) #name,
#include "tools/convert/passes.inc"
    "winograd", "dtype", "concat", "slice", "layout", "band",
};
static const char *const pass_texts[] = {
    "constant nodes computed",
#define IPEX_PASS(name, what) what,
#include "tools/convert/passes.inc"
    "3x3 convolutions with transformed weights: a quarter of the products",
    "products on bf16",
    "concatenated values written straight into place",
    "slices that are views",
    "reshapes and transposes that cost nothing",
    "convolutions that can run together, band of lines by band of lines",
};
#define PASSES (sizeof pass_names / sizeof *pass_names)

static void print_json(struct convert *c) {
    json_t *object = ipex_json_object(), *passes = ipex_json_array();
    for (size_t i = 0; i < PASSES; i++) {
        json_t *pass = ipex_json_object();
        ipex_json_set_text(pass, "pass", pass_names[i]);
        ipex_json_set_integer(pass, "applied",
                              (long long)ipex_ledger_count(&c->ledger, pass_names[i], true));
        ipex_json_set_integer(pass, "refused",
                              (long long)ipex_ledger_count(&c->ledger, pass_names[i], false));
        ipex_json_append(passes, pass);
    }
    ipex_json_set_text(object, "file", c->output);
    ipex_json_set_integer(object, "file_bytes", (long long)c->written.file_size);
    ipex_json_set_integer(object, "weight_bytes", (long long)c->written.weight_bytes);
    ipex_json_set_integer(object, "metadata_bytes", (long long)c->written.metadata_size);
    ipex_json_set_integer(object, "source_nodes", (long long)c->source_nodes);
    ipex_json_set_integer(object, "steps", (long long)c->plan.nodes);
    ipex_json_set_integer(object, "known_answers", (long long)c->answers.answers);
    ipex_json_set_integer(object, "labels", (long long)c->labels);
    ipex_json_set(object, "passes", passes);
    ipex_json_set_text(object, "notes", c->notes ? c->notes : "");
    ipex_json_set_real(object, "seconds", (ipex_now_us() - c->start_us) * 1e-6);
    ipex_json_finish(object);
}

static void print_refusals(const struct convert *c) {
    size_t refused = 0, shown = 0;
    for (size_t i = 0; i < c->ledger.sites; i++)
        refused += c->ledger.site[i].reason != IPEX_REASON_applied;
    for (size_t i = 0; i < c->ledger.sites && shown < REFUSALS_SHOWN; i++) {
        const struct ipex_site *site = &c->ledger.site[i];
        if (site->reason == IPEX_REASON_applied)
            continue;
        if (!shown++)
            printf("left as it is:\n");
        printf("  %-10s %s: %s\n", site->pass, site->site, site->text);
    }
    if (refused > shown)
        printf("  and %zu more: ipexpack inspect %s --why\n", refused - shown, c->output);
}

static void print_summary(const struct convert *c) {
    if (c->notes)
        fputs(c->notes, stdout);
    printf("%zu nodes became %zu steps", c->source_nodes, c->plan.nodes);
    printf(c->shape_folds ? " (%zu were shape arithmetic)\n" : "\n", c->shape_folds);
    for (size_t i = 0; i < PASSES; i++) {
        size_t applied = ipex_ledger_count(&c->ledger, pass_names[i], true),
               refused = ipex_ledger_count(&c->ledger, pass_names[i], false);
        if (applied)
            printf("  %-10s %4zu applied, %zu not: %s\n", pass_names[i], applied, refused,
                   pass_texts[i]);
    }
    print_refusals(c);
    printf("%s: %.2f MB (weights %.2f MB", c->output, (double)c->written.file_size * 1e-6,
           (double)c->written.weight_bytes * 1e-6);
    if (c->answers.answers)
        printf(", %zu known answer%s %.2f MB", c->answers.answers,
               c->answers.answers == 1 ? "" : "s", (double)c->written.answer_bytes * 1e-6);
    printf("), %.2f s\n", (ipex_now_us() - c->start_us) * 1e-6);
}

static void finish(struct convert *c) {
    ipex_plan_finish(&c->plan);
    ipex_graph_finish(&c->graph);
    ipex_ledger_finish(&c->ledger);
    ipex_golden_finish(&c->answers);
    ipex_onnx_close(&c->model);
    ipex_cli_list_finish(&c->dims);
    ipex_cli_list_finish(&c->shapes);
    ipex_cli_list_finish(&c->constants);
    for (size_t i = 0; i < c->import.constants; i++)
        ipex_tensor_data_finish(&c->import.constant[i].tensor);
    ipex_arena_finish(&c->arena);
}

int ipex_verb_convert(int argc, char **argv) {
    struct convert c = {.file = {.fd = -1, .folder_fd = -1}};
    c.report = (struct ipex_report){c.text, sizeof c.text};
    const struct ipex_cli_option options[] = {
        {"o", "FILE.ipex", "the file to write (replaced as a whole)", IPEX_CLI_TEXT, true,
         &c.output, 0, 0},
        {"dim", "NAME=N", "size of a symbolic dimension; one without a name is INPUT[AXIS]",
         IPEX_CLI_LIST, false, &c.dims, 0, 0},
        {"input", "NAME=1x3x224x224", "shape of an input", IPEX_CLI_LIST, false, &c.shapes, 0, 0},
        {"const", "NAME=VALUE|FILE.npy",
         "makes an input a constant; an If on it becomes the branch that it chooses", IPEX_CLI_LIST,
         false, &c.constants, 0, 0},
        {"labels", "FILE", "names of the classes, one per line (default: the model's own metadata)",
         IPEX_CLI_TEXT, false, &c.labels_path, 0, 0},
        {"golden-from", "DIR", "known answers to store: input_*.pb with output_*.pb, or NAME.npy",
         IPEX_CLI_TEXT, false, &c.golden_folder, 0, 0},
        {"golden", "N",
         "store N seeded inputs and their answers by the reference kernels on the unoptimised "
         "graph",
         IPEX_CLI_INTEGER, false, &c.golden, 0, 1024},
        {"dtype", "bf16", "compute products in bf16, sums in f32 (default: f32)", IPEX_CLI_TEXT,
         false, &c.dtype, 0, 0},
        {"weights", "bf16", "store weights of products in bf16, compute in f32", IPEX_CLI_TEXT,
         false, &c.weights, 0, 0},
        {"speed", NULL,
         "let weights grow as far as it makes the network faster (default: to 1.5 times)",
         IPEX_CLI_FLAG, false, &c.speed, 0, 0},
        {"size", NULL, "let no weight grow for speed", IPEX_CLI_FLAG, false, &c.size, 0, 0},
        {"quiet", NULL, "no summary and no progress", IPEX_CLI_FLAG, false, &c.quiet, 0, 0},
        {"json", NULL, "the summary as one JSON object", IPEX_CLI_FLAG, false, &c.json, 0, 0},
        {0},
    };
    const struct ipex_cli_verb verb = {"convert", "MODEL.onnx",
                                       "Turns an ONNX model into one file: folds, fuses and packs "
                                       "every weight for the instruction that will use it.",
                                       options};
    int exit_code;
    c.start_us = ipex_now_us();
    if (!ipex_cli_parse(&verb, argc, argv, &c.model_path, &exit_code))
        return exit_code;
    exit_code = IPEX_EXIT_USAGE;
    if (c.speed && c.size)
        ipex_cli_wrong(&verb, "--speed and --size contradict each other");
    else if (parse_dims_option(&c, &verb) && parse_shapes_option(&c, &verb) &&
             parse_precision(&c, &verb) &&
             (exit_code = read_constants_option(&c, &verb)) == IPEX_EXIT_DONE) {
        c.options_text = describe_options(&c);
        if (ipex_onnx_open(c.model_path, &c.model, &c.report) != IPEX_OK)
            exit_code = ipex_cli_failed("%s", c.text);
        else {
            c.source_nodes = c.model.graph.nodes;
            exit_code = convert_model(&c);
        }
    }
    if (exit_code == IPEX_EXIT_DONE && c.json)
        print_json(&c);
    else if (exit_code == IPEX_EXIT_DONE && !c.quiet)
        print_summary(&c);
    finish(&c);
    return exit_code;
}
