/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack run`: tensors from files in, tensors to files out, and a look at the result: range,
 * mean, and the five best classes where the file has labels. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/arena.h"
#include "tools/metadata.h"
#include "tools/model.h"
#include "tools/run_sizes.h"
#include "tools/text_table.h"
#include "tools/tensor_file.h"
#include "tools/verbs.h"

#define TOP      5
#define TOP_ROWS 8 /* batch items whose best classes are shown */

struct run {
    const char *file, *folder;
    const char *entry_wanted, *entry; /* as given, and the entry's name */
    struct ipex_cli_list inputs, dims;
    struct ipex_machine_options machine;
    bool json;
    struct ipex_model model;
    struct ipex_metadata metadata;
    struct ipex_run_sizes sizes;
    struct ipex_arena arena;
    size_t input_count, output_count;
    struct ipex_port *input_port, *output_port; /* [input_count], [output_count] */
    struct ipex_tensor_data *input, *output;    /* data NULL: not given yet */
    double run_us;
};

struct statistics {
    double min, max, mean;
    uint64_t not_numbers;
};

/* ---- ports and input files ---- */

static int find_ports(struct run *run) {
    run->input_count = ipex_image_input_count(run->model.image, run->entry);
    run->output_count = ipex_image_output_count(run->model.image, run->entry);
    run->input_port = ipex_arena_array(&run->arena, run->input_count, sizeof *run->input_port);
    run->output_port = ipex_arena_array(&run->arena, run->output_count, sizeof *run->output_port);
    run->input = ipex_arena_array(&run->arena, run->input_count, sizeof *run->input);
    run->output = ipex_arena_array(&run->arena, run->output_count, sizeof *run->output);
    for (size_t i = 0; i < run->input_count; i++)
        if (!ipex_model_input(&run->model, run->entry, i, &run->input_port[i]))
            return IPEX_EXIT_FAILED;
    for (size_t i = 0; i < run->output_count; i++)
        if (!ipex_model_output(&run->model, run->entry, i, &run->output_port[i]))
            return IPEX_EXIT_FAILED;
    return 0;
}

static const char *input_shape(struct run *run, size_t index) {
    struct ipex_fb_entry entry = run->sizes.entry;
    return ipex_run_sizes_shape(entry, ipex_fb_entry_inputs(entry, (uint32_t)index),
                                run->input_port[index].dtype, &run->arena);
}

/* "'data' (1x3x224x224 f32), 'mask' (1x10 i64)" of all inputs, or of those not given. */
static const char *list_inputs(struct run *run, bool only_missing) {
    const char *list = "";
    for (size_t i = 0; i < run->input_count; i++) {
        if (only_missing && run->input[i].data)
            continue;
        list = ipex_arena_printf(&run->arena, "%s%s'%s' (%s)", list, *list ? ", " : "",
                                 run->input_port[i].name, input_shape(run, i));
    }
    return list;
}

/* The input that "NAME=FILE" speaks of: the longest name that fits, for names may hold a '='. */
static size_t match_input(const struct run *run, const char *text, const char **ret_file) {
    size_t best = run->input_count, best_length = 0;
    for (size_t i = 0; i < run->input_count; i++) {
        size_t length = strlen(run->input_port[i].name);
        if (!strncmp(text, run->input_port[i].name, length) && text[length] == '=' &&
            length >= best_length) {
            best = i;
            best_length = length;
            *ret_file = text + length + 1;
        }
    }
    return best;
}

/* Type and rank, and the dims that are the same in every run. */
static bool fits(const struct ipex_port *port, const struct ipex_tensor_data *tensor) {
    if (port->dtype != tensor->dtype || port->rank != tensor->rank)
        return false;
    for (int32_t i = 0; i < port->rank; i++)
        if (port->dims[i] == port->max_dims[i] && port->dims[i] != tensor->dims[i])
            return false;
    return true;
}

static int read_input(struct run *run, size_t index, const char *file) {
    char message[IPEX_CLI_MESSAGE_SIZE] = "", got[128];
    const struct ipex_report report = {message, sizeof message};
    const struct ipex_port *port = &run->input_port[index];
    struct ipex_tensor_data *tensor = &run->input[index];
    if (tensor->data)
        return ipex_cli_failed("input '%s' is given twice", port->name);
    if (ipex_tensor_read(file, tensor, &report) != IPEX_OK)
        return ipex_cli_failed("input '%s': %s", port->name, message);
    if (fits(port, tensor))
        return 0;
    return ipex_cli_failed(
        "input '%s': the model expects %s, %s holds %s", port->name, input_shape(run, index), file,
        ipex_shape_text(tensor->dtype, tensor->dims, tensor->rank, got, sizeof got));
}

static int read_inputs(struct run *run) {
    for (size_t i = 0; i < run->inputs.count; i++) {
        const char *text = run->inputs.item[i], *file = NULL;
        size_t index = match_input(run, text, &file);
        if (index == run->input_count)
            return ipex_cli_failed("no input for '%s'; the inputs are: %s", text,
                                   list_inputs(run, false));
        int code = read_input(run, index, file);
        if (code)
            return code;
    }
    const char *missing = list_inputs(run, true);
    if (*missing)
        return ipex_cli_failed("inputs are missing: %s; give --input NAME=FILE for each", missing);
    return 0;
}

/* The sizes that the inputs have, and the dims of the outputs then. */
static int settle_sizes(struct run *run, const struct ipex_cli_verb *verb) {
    const int64_t **dims = ipex_arena_array(&run->arena, run->input_count + 1, sizeof *dims);
    for (size_t i = 0; i < run->input_count; i++)
        dims[i] = run->input[i].dims;
    int code = ipex_run_sizes_bind(&run->sizes, verb, dims);
    for (size_t i = 0; i < run->output_count && code == IPEX_EXIT_DONE; i++)
        ipex_run_sizes_output(&run->sizes, (uint32_t)i, &run->output_port[i]);
    return code;
}

/* ---- running ---- */

static int run_once(struct run *run) {
    struct ipex_tensor *inputs = ipex_arena_array(&run->arena, run->input_count, sizeof *inputs);
    struct ipex_tensor *outputs = ipex_arena_array(&run->arena, run->output_count, sizeof *outputs);
    for (size_t i = 0; i < run->input_count; i++)
        inputs[i] = ipex_model_tensor(run->input_port[i].name, &run->input[i]);
    for (size_t i = 0; i < run->output_count; i++) {
        const struct ipex_port *port = &run->output_port[i];
        if (!ipex_tensor_data_init(&run->output[i], port->dtype, port->dims, port->rank))
            return ipex_cli_failed("output '%s': its shape is not valid", port->name);
        outputs[i] = ipex_model_tensor(port->name, &run->output[i]);
    }
    double start = ipex_now_us();
    enum ipex_status status = ipex_run(run->model.session, run->entry, inputs, run->input_count,
                                       outputs, run->output_count);
    run->run_us = ipex_now_us() - start;
    return status == IPEX_OK ? 0 : ipex_model_run_failed(&run->model, run->file, status);
}

/* ---- output files ---- */

static const char *output_path(struct run *run, size_t index) {
    return ipex_tensor_path(&run->arena, run->folder, run->output_port[index].name);
}

static int write_outputs(struct run *run) {
    char message[IPEX_CLI_MESSAGE_SIZE] = "";
    const struct ipex_report report = {message, sizeof message};
    if (mkdir(run->folder, 0777) && errno != EEXIST)
        return ipex_cli_failed("%s: cannot make the folder: %s", run->folder, strerror(errno));
    const char **path = ipex_arena_array(&run->arena, run->output_count, sizeof *path);
    for (size_t i = 0; i < run->output_count; i++) {
        path[i] = output_path(run, i);
        for (size_t j = 0; j < i; j++)
            if (!strcmp(path[i], path[j]))
                return ipex_cli_failed("outputs '%s' and '%s' would both be %s",
                                       run->output_port[j].name, run->output_port[i].name, path[i]);
    }
    for (size_t i = 0; i < run->output_count; i++)
        if (ipex_tensor_write(path[i], &run->output[i], &report) != IPEX_OK)
            return ipex_cli_failed("output '%s': %s", run->output_port[i].name, message);
    return 0;
}

/* ---- report ---- */

static uint64_t numel(const struct ipex_tensor_data *tensor) {
    return tensor->size / ipex_dtype_size(tensor->dtype);
}

/* NaNs are counted and left out. All NaN when there is no number. */
static struct statistics measure(const struct ipex_tensor_data *tensor) {
    struct statistics result = {INFINITY, -INFINITY, 0, 0};
    uint64_t count = numel(tensor);
    for (uint64_t i = 0; i < count; i++) {
        double value = ipex_tensor_element(tensor, i);
        if (isnan(value)) {
            result.not_numbers++;
            continue;
        }
        result.min = value < result.min ? value : result.min;
        result.max = value > result.max ? value : result.max;
        result.mean += value;
    }
    if (count == result.not_numbers)
        return (struct statistics){NAN, NAN, NAN, count};
    result.mean /= (double)(count - result.not_numbers);
    return result;
}

/* Indices of the largest elements of a row, best first; the lower index wins a tie. */
static size_t best_of(const struct ipex_tensor_data *tensor, uint64_t first, uint64_t length,
                      uint64_t ret[TOP]) {
    size_t count = 0;
    for (uint64_t i = 0; i < length; i++) {
        double value = ipex_tensor_element(tensor, first + i);
        size_t at = count;
        if (isnan(value))
            continue;
        while (at > 0 && !(value <= ipex_tensor_element(tensor, first + ret[at - 1])))
            at--;
        if (at == TOP)
            continue;
        count += count < TOP;
        memmove(ret + at + 1, ret + at, (count - at - 1) * sizeof *ret);
        ret[at] = i;
    }
    return count;
}

/* Classes lie along the last axis of the first output; 0: it has none, or there are no labels. */
static uint64_t class_count(const struct run *run) {
    size_t labels = ipex_image_label_count(run->model.image, run->entry);
    if (!labels || !run->output_count || run->output[0].rank < 1)
        return 0;
    int64_t last = run->output[0].dims[run->output[0].rank - 1];
    return last == (int64_t)labels ? labels : 0;
}

static uint64_t top_rows(const struct run *run, uint64_t classes) {
    uint64_t rows = classes ? numel(&run->output[0]) / classes : 0;
    return rows < TOP_ROWS ? rows : TOP_ROWS;
}

static void print_top(const struct run *run) {
    static const struct ipex_table_column columns[] = {
        {"value", true, 0}, {"class", true, 0}, {"label", false, 60}};
    uint64_t classes = class_count(run), rows = top_rows(run, classes), best[TOP];
    for (uint64_t row = 0; row < rows; row++) {
        struct ipex_table table;
        ipex_table_init(&table, columns, 3);
        size_t count = best_of(&run->output[0], row * classes, classes, best);
        for (size_t i = 0; i < count; i++) {
            ipex_table_cell(&table, "%.6g",
                            ipex_tensor_element(&run->output[0], row * classes + best[i]));
            ipex_table_cell(&table, "%llu", (unsigned long long)best[i]);
            ipex_table_cell(&table, "%s", ipex_image_label(run->model.image, run->entry, best[i]));
        }
        putchar('\n');
        ipex_table_print(&table, stdout);
        ipex_table_finish(&table);
    }
}

static void print_report(struct run *run) {
    static const struct ipex_table_column columns[] = {{"output", false, 60}, {"shape", false, 0},
                                                       {"min", true, 0},      {"max", true, 0},
                                                       {"mean", true, 0},     {"NaN", true, 0}};
    struct ipex_table table;
    char shape[128];
    ipex_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < run->output_count; i++) {
        const struct ipex_tensor_data *output = &run->output[i];
        struct statistics statistics = measure(output);
        ipex_table_cell(&table, "%s", run->output_port[i].name);
        ipex_table_cell(
            &table, "%s",
            ipex_shape_text(output->dtype, output->dims, output->rank, shape, sizeof shape));
        ipex_table_cell(&table, "%.6g", statistics.min);
        ipex_table_cell(&table, "%.6g", statistics.max);
        ipex_table_cell(&table, "%.6g", statistics.mean);
        ipex_table_cell(&table, "%llu", (unsigned long long)statistics.not_numbers);
    }
    ipex_cli_say("%s: ", run->file);
    ipex_model_print(&run->model);
    if (run->sizes.count)
        ipex_cli_say(", %s", ipex_run_sizes_text(&run->sizes, &run->arena));
    ipex_cli_say(", %.3f ms\n\n", run->run_us * 1e-3);
    ipex_table_print(&table, stdout);
    ipex_table_finish(&table);
    print_top(run);
}

static json_t *top_json(const struct run *run) {
    uint64_t classes = class_count(run), rows = top_rows(run, classes), best[TOP];
    json_t *list = ipex_json_array();
    for (uint64_t row = 0; row < rows; row++) {
        json_t *items = ipex_json_array();
        size_t count = best_of(&run->output[0], row * classes, classes, best);
        for (size_t i = 0; i < count; i++) {
            json_t *item = ipex_json_object();
            ipex_json_set_integer(item, "class", (long long)best[i]);
            ipex_json_set_text(item, "label",
                               ipex_image_label(run->model.image, run->entry, best[i]));
            ipex_json_set_real(item, "value",
                               ipex_tensor_element(&run->output[0], row * classes + best[i]));
            ipex_json_append(items, item);
        }
        ipex_json_append(list, items);
    }
    return list;
}

static json_t *output_json(struct run *run, size_t index) {
    const struct ipex_tensor_data *output = &run->output[index];
    struct statistics statistics = measure(output);
    json_t *object = ipex_json_object();
    ipex_json_set_text(object, "name", run->output_port[index].name);
    ipex_json_set_text(object, "dtype", ipex_dtype_name(output->dtype));
    ipex_json_set_dims(object, "dims", output->dims, output->rank);
    ipex_json_set_real(object, "min", statistics.min);
    ipex_json_set_real(object, "max", statistics.max);
    ipex_json_set_real(object, "mean", statistics.mean);
    ipex_json_set_integer(object, "nan", (long long)statistics.not_numbers);
    if (run->folder)
        ipex_json_set_text(object, "file", output_path(run, index));
    return object;
}

static void print_json(struct run *run) {
    json_t *object = ipex_json_object();
    json_t *outputs = ipex_json_array();
    ipex_json_set_text(object, "file", run->file);
    ipex_json_set_text(object, "entry", run->entry);
    ipex_run_sizes_json(&run->sizes, object);
    ipex_model_json(&run->model, object);
    ipex_json_set_real(object, "open_us", run->model.open_us);
    ipex_json_set_real(object, "init_us", run->model.init_us);
    ipex_json_set_real(object, "run_us", run->run_us);
    for (size_t i = 0; i < run->output_count; i++)
        ipex_json_append(outputs, output_json(run, i));
    ipex_json_set(object, "outputs", outputs);
    ipex_json_set(object, "top", top_json(run));
    ipex_json_finish(object);
}

/* ---- the verb ---- */

static int check_inputs(const struct run *run, const struct ipex_cli_verb *verb) {
    size_t length;
    const char *file;
    for (size_t i = 0; i < run->inputs.count; i++)
        if (!ipex_cli_split(run->inputs.item[i], &length, &file))
            return ipex_cli_wrong(verb, "--input '%s' is not NAME=FILE", run->inputs.item[i]);
    return 0;
}

static int work(struct run *run, const struct ipex_cli_verb *verb) {
    int code = check_inputs(run, verb);
    if (!code)
        code = ipex_model_open(&run->model, run->file, false);
    if (!code)
        code = ipex_model_entry(&run->model, verb, run->entry_wanted, &run->entry);
    if (!code)
        code = ipex_model_check_machine(verb, &run->machine);
    if (!code && !ipex_metadata_open(&run->metadata, run->file, run->model.image))
        code = IPEX_EXIT_FAILED;
    if (!code)
        code = ipex_run_sizes_init(&run->sizes, verb, &run->metadata, run->entry, &run->dims);
    if (!code)
        code = find_ports(run);
    if (!code)
        code = read_inputs(run);
    if (!code)
        code = settle_sizes(run, verb);
    if (!code)
        code = ipex_model_start(&run->model, verb, &run->machine, run->entry, run->sizes.range,
                                run->sizes.count);
    if (!code)
        code = run_once(run);
    if (!code && run->folder)
        code = write_outputs(run);
    if (code)
        return code;
    if (run->json)
        print_json(run);
    else
        print_report(run);
    return IPEX_EXIT_DONE;
}

int ipex_verb_run(int argc, char **argv) {
    struct run run = {.machine = {.threads = 1}};
    const struct ipex_cli_option options[] = {
        {"input", "NAME=FILE", "a tensor for an input: .npy, or an ONNX tensor .pb", IPEX_CLI_LIST,
         false, &run.inputs, 0, 0},
        {"output", "DIR", "write every output to DIR/NAME.npy", IPEX_CLI_TEXT, false, &run.folder,
         0, 0},
        {"dim", "[ENTRY:]NAME=N", "a size that the inputs must have, where each run chooses it",
         IPEX_CLI_LIST, false, &run.dims, 0, 0},
        IPEX_ENTRY_OPTION(run.entry_wanted),
        IPEX_MACHINE_OPTIONS(run.machine),
        {"json", NULL, "print one JSON object", IPEX_CLI_FLAG, false, &run.json, 0, 0},
        {0},
    };
    const struct ipex_cli_verb verb = {
        "run", "FILE", "Runs a file once and shows its outputs: shape, range, mean, best classes.",
        options, NULL};
    int code;
    if (ipex_cli_parse(&verb, argc, argv, &run.file, &code))
        code = work(&run, &verb);
    for (size_t i = 0; i < run.input_count && run.input; i++)
        ipex_tensor_data_finish(&run.input[i]);
    for (size_t i = 0; i < run.output_count && run.output; i++)
        ipex_tensor_data_finish(&run.output[i]);
    ipex_metadata_close(&run.metadata);
    ipex_model_close(&run.model);
    ipex_cli_list_finish(&run.inputs);
    ipex_cli_list_finish(&run.dims);
    ipex_arena_finish(&run.arena);
    return code;
}
