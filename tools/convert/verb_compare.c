/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack compare`: runs a file and the model that it was made from on the same inputs, the model
 * by ONNX Runtime, and says which tensor is the first to depart. Without ONNX Runtime it replays
 * the known answers of the file. */
#include <stdio.h>
#include <string.h>

#include "tools/convert/compare.h"
#include "tools/convert/golden.h"
#include "tools/text_table.h"
#include "tools/verbs.h"

/* ---- inputs ---- */

static bool has_default(const struct ipex_onnx_graph *graph, const char *name) {
    for (size_t i = 0; i < graph->initializers; i++)
        if (!strcmp(graph->initializer[i].name, name))
            return true;
    return false;
}

static int read_inputs(struct ipex_contrast *c) {
    const struct ipex_onnx_graph *graph = &c->onnx.graph;
    char message[IPEX_CLI_MESSAGE_SIZE] = "";
    const struct ipex_report report = {message, sizeof message};
    c->input = ipex_arena_array(&c->arena, graph->inputs + 1, sizeof *c->input);
    c->given = ipex_arena_array(&c->arena, graph->inputs + 1, sizeof *c->given);
    for (size_t i = 0; i < graph->inputs; i++) {
        const char *name = graph->input[i].name;
        if (has_default(graph, name))
            continue;
        const char *path = ipex_golden_find_file(&c->arena, c->folder, "input", c->inputs, name);
        if (!path)
            return ipex_cli_failed("%s has neither input_%zu.pb nor %s.npy for input %s", c->folder,
                                   c->inputs, name, name);
        c->input[c->inputs] = &graph->input[i];
        if (ipex_tensor_read(path, &c->given[c->inputs++], &report) != IPEX_OK)
            return ipex_cli_failed("input '%s': %s", name, message);
    }
    return IPEX_EXIT_DONE;
}

static const struct ipex_tensor_data *find_given(const struct ipex_contrast *c, const char *name) {
    for (size_t i = 0; i < c->inputs; i++)
        if (!strcmp(c->input[i]->name, name))
            return &c->given[i];
    return NULL;
}

/* ---- running a file ---- */

/* Sizes follow from the inputs; a session is made for them. */
static int prepare(struct ipex_contrast *c, struct ipex_model *model, struct ipex_run_sizes *sizes,
                   struct ipex_tensor *inputs) {
    uint32_t count = ipex_fb_entry_inputs_len(sizes->entry);
    const int64_t **dims = ipex_arena_array(&c->arena, count + 1, sizeof *dims);
    for (uint32_t i = 0; i < count; i++) {
        struct ipex_port port;
        const char *name = ipex_fb_port_name(ipex_fb_entry_inputs(sizes->entry, i));
        const struct ipex_tensor_data *given = find_given(c, name);
        if (!ipex_model_input(model, c->entry, i, &port))
            return IPEX_EXIT_FAILED;
        if (!given)
            return ipex_cli_failed("%s has an input '%s', %s has none of that name", c->file, name,
                                   c->model_path);
        if (given->dtype != port.dtype || given->rank != port.rank) {
            char shape[128];
            return ipex_cli_failed(
                "input '%s': the file expects %s, %s holds %s", name,
                ipex_run_sizes_shape(sizes->entry, ipex_fb_entry_inputs(sizes->entry, i),
                                     port.dtype, &c->arena),
                c->folder,
                ipex_shape_text(given->dtype, given->dims, given->rank, shape, sizeof shape));
        }
        dims[i] = given->dims;
        inputs[i] = ipex_model_tensor(name, given);
    }
    int code = ipex_run_sizes_bind(sizes, c->verb, dims);
    return code ? code
                : ipex_model_start(model, c->verb, &c->machine, c->entry, sizes->range,
                                   sizes->count);
}

static int make_output(const struct ipex_contrast *c, const struct ipex_model *model,
                       const struct ipex_run_sizes *sizes, const char *name,
                       struct ipex_tensor_data *ret) {
    struct ipex_port port;
    for (uint32_t i = 0; i < ipex_fb_entry_outputs_len(sizes->entry); i++) {
        if (strcmp(ipex_fb_port_name(ipex_fb_entry_outputs(sizes->entry, i)), name))
            continue;
        if (!ipex_model_output(model, c->entry, i, &port))
            return IPEX_EXIT_FAILED;
        ipex_run_sizes_output(sizes, i, &port);
        if (ipex_tensor_data_init(ret, port.dtype, port.dims, port.rank))
            return IPEX_EXIT_DONE;
        return ipex_cli_failed("output '%s': its shape is not valid", name);
    }
    return ipex_cli_failed("%s has no output '%s'", c->file, name);
}

int ipex_compare_run(struct ipex_contrast *c, struct ipex_model *model,
                     struct ipex_run_sizes *sizes, const char *const *names, size_t count,
                     struct ipex_tensor_data *ret) {
    uint32_t n_inputs = ipex_fb_entry_inputs_len(sizes->entry);
    struct ipex_tensor *inputs = ipex_arena_array(&c->arena, n_inputs + 1, sizeof *inputs);
    struct ipex_tensor *outputs = ipex_arena_array(&c->arena, count + 1, sizeof *outputs);
    int code = prepare(c, model, sizes, inputs);
    for (size_t i = 0; i < count && !code; i++) {
        code = make_output(c, model, sizes, names[i], &ret[i]);
        outputs[i] = ipex_model_tensor(names[i], &ret[i]);
    }
    if (code)
        return code;
    enum ipex_status status = ipex_run(model->session, c->entry, inputs, n_inputs, outputs, count);
    return status == IPEX_OK ? IPEX_EXIT_DONE : ipex_model_run_failed(model, c->file, status);
}

void ipex_compare_tensors(const struct ipex_contrast *c, const struct ipex_tensor_data *got,
                          const struct ipex_tensor_data *expected, struct ipex_comparison *ret) {
    ret->fits = got->dtype == expected->dtype && got->rank == expected->rank &&
                !memcmp(got->dims, expected->dims, (size_t)got->rank * sizeof *got->dims);
    ret->rank = expected->rank;
    ret->dtype = expected->dtype;
    memcpy(ret->dims, expected->dims, sizeof ret->dims);
    if (ret->fits)
        ret->by = ipex_tensor_compare(got, expected);
    /* an infinite distance over an infinite magnitude is no number */
    ret->departs = !ret->fits || !(ret->by.relative <= c->tolerance);
}

/* ---- both sides ---- */

static const struct ipex_onnx_node *producer_of(const struct ipex_onnx_graph *graph,
                                                const char *name) {
    for (size_t i = 0; i < graph->nodes; i++)
        for (size_t k = 0; k < graph->node[i].outputs; k++)
            if (!strcmp(graph->node[i].output[k], name))
                return &graph->node[i];
    return NULL;
}

static int compare_outputs(struct ipex_contrast *c) {
    uint32_t count = ipex_fb_entry_outputs_len(c->sizes.entry);
    const char **names = ipex_arena_array(&c->arena, count + 1, sizeof *names);
    struct ipex_tensor_data *got = ipex_arena_array(&c->arena, count + 1, sizeof *got),
                            *expected = ipex_arena_array(&c->arena, count + 1, sizeof *expected);
    for (uint32_t i = 0; i < count; i++)
        names[i] = ipex_fb_port_name(ipex_fb_entry_outputs(c->sizes.entry, i));
    int code = ipex_compare_run(c, &c->model, &c->sizes, names, count, got);
    if (!code)
        code = ipex_reference_run(c, names, count, NULL, expected);
    c->output = ipex_arena_array(&c->arena, count + 1, sizeof *c->output);
    for (uint32_t i = 0; i < count && !code; i++) {
        c->output[i].name = names[i];
        c->output[i].node = producer_of(&c->onnx.graph, names[i]);
        ipex_compare_tensors(c, &got[i], &expected[i], &c->output[i]);
        c->outputs++;
    }
    for (uint32_t i = 0; i < count; i++) {
        ipex_tensor_data_finish(&got[i]);
        ipex_tensor_data_finish(&expected[i]);
    }
    return code;
}

static size_t count_departing(const struct ipex_contrast *c) {
    size_t count = 0;
    for (size_t i = 0; i < c->outputs; i++)
        count += c->output[i].departs;
    return count;
}

/* ---- report ---- */

static const char *node_name(const struct ipex_onnx_node *node) {
    return *node->name ? node->name : node->output[0];
}

static void print_outputs(const struct ipex_contrast *c) {
    static const struct ipex_table_column columns[] = {
        {"output", false, 60}, {"shape", false, 0},   {"max |diff|", true, 0},
        {"of", true, 0},       {"relative", true, 0}, {"verdict", false, 0}};
    struct ipex_table table;
    char shape[128];
    ipex_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < c->outputs; i++) {
        const struct ipex_comparison *o = &c->output[i];
        ipex_table_cell(&table, "%s", o->name);
        ipex_table_cell(&table, "%s",
                        ipex_shape_text(o->dtype, o->dims, o->rank, shape, sizeof shape));
        ipex_table_cell(&table, "%.3g", o->by.difference);
        ipex_table_cell(&table, "%.4g", o->by.largest);
        ipex_table_cell(&table, "%.2e", o->by.relative);
        ipex_table_cell(&table, "%s",
                        !o->fits     ? "ANOTHER SHAPE"
                        : o->departs ? "DEPARTS"
                                     : "agrees");
    }
    ipex_table_print(&table, stdout);
    ipex_table_finish(&table);
}

static void print_first(const struct ipex_contrast *c) {
    const struct ipex_comparison *first = &c->first;
    ipex_cli_say("\nthe first tensor that departs is %s (%zu conversions tried)\n", first->name,
                 c->probes);
    if (first->node)
        ipex_cli_say("  computed by %s (%s)\n", node_name(first->node), first->node->op_type);
    if (first->fits)
        ipex_cli_say("  max |diff| %.3g of %.4g, relative %.2e\n", first->by.difference,
                     first->by.largest, first->by.relative);
    else
        ipex_cli_say("  it has another type or shape\n");
    for (size_t i = 0; i < c->n_first_inputs; i++)
        ipex_cli_say("  its input %s agrees\n", c->first_inputs[i]);
}

static void print_report(struct ipex_contrast *c) {
    ipex_cli_say("%s: ", c->file);
    ipex_model_print(&c->model);
    if (c->sizes.count)
        ipex_cli_say(", %s", ipex_run_sizes_text(&c->sizes, &c->arena));
    ipex_cli_say("\n%s: %s\ntolerance %g of the largest magnitude\n\n", c->model_path, c->reference,
                 c->tolerance);
    print_outputs(c);
    if (c->bisected)
        print_first(c);
    if (c->other_model)
        ipex_cli_say("\n%s converted anew agrees: the file was made from another model, with other "
                     "options or by another build\n",
                     c->model_path);
}

static json_t *comparison_json(const struct ipex_comparison *o) {
    json_t *object = ipex_json_object();
    ipex_json_set_text(object, "name", o->name);
    ipex_json_set_text(object, "node", o->node ? node_name(o->node) : NULL);
    ipex_json_set_text(object, "op", o->node ? o->node->op_type : NULL);
    ipex_json_set_bool(object, "fits", o->fits);
    ipex_json_set_real(object, "max_abs_diff", o->by.difference);
    ipex_json_set_real(object, "largest", o->by.largest);
    ipex_json_set_real(object, "relative", o->by.relative);
    ipex_json_set_bool(object, "departs", o->departs);
    return object;
}

static void print_json(struct ipex_contrast *c) {
    json_t *object = ipex_json_object(), *outputs = ipex_json_array(), *agree = ipex_json_array();
    ipex_json_set_text(object, "file", c->file);
    ipex_json_set_text(object, "entry", c->entry);
    ipex_json_set_text(object, "model", c->model_path);
    ipex_json_set_text(object, "reference", c->reference);
    ipex_run_sizes_json(&c->sizes, object);
    ipex_model_json(&c->model, object);
    ipex_json_set_real(object, "tolerance", c->tolerance);
    ipex_json_set_bool(object, "passed", !count_departing(c));
    for (size_t i = 0; i < c->outputs; i++)
        ipex_json_append(outputs, comparison_json(&c->output[i]));
    ipex_json_set(object, "outputs", outputs);
    ipex_json_set(object, "first", c->bisected ? comparison_json(&c->first) : json_null());
    for (size_t i = 0; i < c->n_first_inputs; i++)
        ipex_json_append_text(agree, c->first_inputs[i]);
    ipex_json_set(object, "inputs_that_agree", agree);
    ipex_json_set_bool(object, "converted_anew_agrees", c->other_model);
    ipex_json_set_integer(object, "conversions", (long long)c->probes);
    ipex_json_finish(object);
}

/* ---- the verb ---- */

/* Without ONNX Runtime: the answers that the file carries, as `verify` replays them. */
static int replay_answers(struct ipex_contrast *c) {
    char *argv[8];
    int argc = 0;
    fprintf(stderr, "ipexpack: %s; instead of %s the known answers of the file are replayed\n",
            c->absent, c->folder);
    argv[argc++] = "verify";
    argv[argc++] = "--entry";
    argv[argc++] = (char *)(uintptr_t)c->entry;
    if (c->json)
        argv[argc++] = "--json";
    argv[argc++] = "--";
    argv[argc++] = (char *)(uintptr_t)c->file;
    return ipex_verb_verify(argc, argv);
}

static int report(struct ipex_contrast *c) {
    size_t departing = count_departing(c);
    if (c->json)
        print_json(c);
    else
        print_report(c);
    if (!departing)
        return IPEX_EXIT_DONE;
    return ipex_cli_failed("%s: %zu of %zu outputs depart from what %s computes", c->file,
                           departing, c->outputs, c->reference);
}

static int work(struct ipex_contrast *c) {
    static const struct ipex_cli_list none = {0};
    char message[IPEX_CLI_MESSAGE_SIZE] = "";
    const struct ipex_report opening = {message, sizeof message};
    int code = ipex_model_open(&c->model, c->file, false);
    if (!code)
        code = ipex_model_entry(&c->model, c->verb, c->entry_wanted, &c->entry);
    if (!code)
        code = ipex_model_check_machine(c->verb, &c->machine);
    if (!code && !ipex_metadata_open(&c->metadata, c->file, c->model.image))
        code = IPEX_EXIT_FAILED;
    if (!code)
        code = ipex_run_sizes_init(&c->sizes, c->verb, &c->metadata, c->entry, &none);
    if (!code && ipex_onnx_open(c->model_path, &c->onnx, &opening) != IPEX_OK)
        code = ipex_cli_failed("%s", message);
    if (!code)
        code = read_inputs(c);
    if (!code)
        code = ipex_reference_open(c);
    if (!code)
        code = compare_outputs(c);
    if (code == IPEX_REFERENCE_ABSENT)
        return replay_answers(c);
    if (!code && count_departing(c))
        code = ipex_compare_bisect(c);
    return code ? code : report(c);
}

int ipex_verb_compare(int argc, char **argv) {
    struct ipex_contrast c = {.machine = {.threads = 1}, .tolerance = 1e-4};
    const struct ipex_cli_option options[] = {
        {"inputs", "DIR", "the inputs: input_*.pb, or NAME.npy", IPEX_CLI_TEXT, true, &c.folder, 0,
         0},
        {"tolerance", "T", "how far an output may be, of its largest magnitude (0.0001)",
         IPEX_CLI_REAL, false, &c.tolerance, 0, 1e30},
        IPEX_ENTRY_OPTION(c.entry_wanted),
        IPEX_MACHINE_OPTIONS(c.machine),
        {"json", NULL, "print one JSON object", IPEX_CLI_FLAG, false, &c.json, 0, 0},
        {0},
    };
    const struct ipex_cli_verb verb = {
        "compare", "MODEL.onnx",
        "Runs a file and the model that it was made from, the model by ONNX Runtime (a Python "
        "package), and finds\nthe first tensor that departs. Without ONNX Runtime: replays the "
        "known answers of the file.",
        options, "FILE"};
    const char *argument[2];
    int code;
    c.verb = &verb;
    if (ipex_cli_parse(&verb, argc, argv, argument, &code)) {
        c.model_path = argument[0];
        c.file = argument[1];
        code = work(&c);
    }
    ipex_scratch_close(&c.scratch);
    for (size_t i = 0; i < c.inputs; i++)
        ipex_tensor_data_finish(&c.given[i]);
    ipex_onnx_close(&c.onnx);
    ipex_metadata_close(&c.metadata);
    ipex_model_close(&c.model);
    ipex_arena_finish(&c.arena);
    return code;
}
