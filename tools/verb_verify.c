/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack verify`: checks every byte of a file against its digests, then replays the known
 * answers that it carries and compares. An output passes when no element is further from the answer
 * than 1e-4 of the answer's largest magnitude and, for outputs that look like class scores, the
 * best class is the same. Integers and booleans must be equal.
 *
 * Where an entry computes with bf16, of 8 significant bits, or with layers of quantised models on
 * bytes, one of which may be another where a number lies in the middle between two, single elements
 * may be off by more: there it is the norm of all differences that counts, which is at most 1/16 of
 * the answer's. So it is with integers that were rounded from such numbers, quantised ones above
 * all, but for what they have in common, as a zero point is; or, where steps are coarse, 1/16 of
 * them may be off by one step. Of other integers and booleans, which say what numbers led to, as
 * places of the largest do, 1/16 may differ. */
#include <stdio.h>
#include <string.h>

#include "format/ops.h"
#include "tools/arena.h"
#include "tools/metadata.h"
#include "tools/model.h"
#include "tools/run_sizes.h"
#include "tools/text_table.h"
#include "tools/tensor_compare.h"
#include "tools/verbs.h"

#define TOLERANCE      1e-4   /* of the largest magnitude */
#define TOLERANCE_BF16 0x1p-4 /* of the norm; networks reach 0.04 */

struct comparison {
    const char *entry, *origin, *output;
    const char *sizes; /* "h = 64, w = 32"; "" where they are fixed */
    unsigned answer;   /* number within the entry */
    double difference, largest, relative;
    bool rounded;    /* relative is that of the norms */
    bool is_decided; /* no integers that numbers were rounded to: it is the share that differs */
    enum { TOP1_NONE, TOP1_EQUAL, TOP1_DIFFERS } top1;
    bool passed;
};

struct verify {
    const char *file;
    const char *entry; /* NULL: all */
    const struct ipex_cli_verb *verb;
    struct ipex_machine_options machine;
    bool json;
    struct ipex_model model;
    struct ipex_metadata metadata;
    struct ipex_arena arena;
    struct comparison *comparison; /* in the arena */
    size_t comparisons;
};

/* ---- comparing ---- */

static uint64_t best_in_row(const struct ipex_tensor_data *tensor, uint64_t first,
                            uint64_t length) {
    uint64_t best = first;
    for (uint64_t i = first + 1; i < first + length; i++)
        if (ipex_tensor_element(tensor, i) > ipex_tensor_element(tensor, best))
            best = i;
    return best;
}

/* Class scores: [N][classes]. Where the answer itself has a tie, either class is right. */
static bool same_best(const struct ipex_tensor_data *got, const struct ipex_tensor_data *expected) {
    uint64_t classes = (uint64_t)expected->dims[1];
    uint64_t count = expected->size / ipex_dtype_size(expected->dtype);
    for (uint64_t row = 0; row < count; row += classes) {
        double mine = ipex_tensor_element(expected, best_in_row(got, row, classes));
        double best = ipex_tensor_element(expected, best_in_row(expected, row, classes));
        if (mine < best)
            return false;
    }
    return true;
}

static bool is_float(enum ipex_dtype dtype) {
    return dtype == IPEX_DTYPE_f32 || dtype == IPEX_DTYPE_bf16 || dtype == IPEX_DTYPE_f16 ||
           dtype == IPEX_DTYPE_f64;
}

/* Integers of an entry that rounds. */
static void compare_integers(const struct ipex_tensor_difference *d, struct comparison *ret) {
    ret->relative = ret->is_decided ? d->share : d->spread;
    ret->passed = ret->relative <= TOLERANCE_BF16 ||
                  (!ret->is_decided && d->difference <= 1 && d->share <= TOLERANCE_BF16);
}

static void compare(const struct ipex_tensor_data *got, const struct ipex_tensor_data *expected,
                    struct comparison *ret) {
    struct ipex_tensor_difference d = ipex_tensor_compare(got, expected);
    const bool floats = is_float(expected->dtype);
    ret->difference = d.difference;
    ret->largest = d.largest;
    ret->is_decided &= !floats;
    if (ret->rounded && !floats) {
        compare_integers(&d, ret);
        return;
    }
    ret->relative = ret->rounded ? d.norm : d.relative;
    const double tolerance = ret->rounded ? TOLERANCE_BF16 : TOLERANCE;
    ret->passed = ret->relative <= (floats ? tolerance : 0);
    if (!floats || expected->rank != 2 || expected->dims[1] < 2)
        return;
    ret->top1 = same_best(got, expected) ? TOP1_EQUAL : TOP1_DIFFERS;
    ret->passed = ret->passed && ret->top1 == TOP1_EQUAL;
}

/* A product of bytes: a layer whose weight is in i8, or that rounds what it reads to i8, or of two
 * values. */
static bool multiplies_bytes(struct ipex_fb_entry entry, struct ipex_fb_node node) {
    const uint16_t op = ipex_fb_node_op(node);
    if (op == IPEX_OP_linear_blocks)
        return ipex_fb_node_ints(node)[IPEX_BLOCKS_BYTES] != 0;
    if (op != IPEX_OP_linear && op != IPEX_OP_conv && op != IPEX_OP_matmul)
        return false;
    const uint32_t w = (uint32_t)ipex_fb_node_inputs(node)[1];
    const uint8_t dtype = ipex_fb_tensor_dtype(ipex_fb_entry_tensors(entry, w));
    return dtype == IPEX_DTYPE_i8 || dtype == IPEX_DTYPE_u8;
}

static bool moves_elements(uint16_t op) {
    return op == IPEX_OP_copy || op == IPEX_OP_transpose || op == IPEX_OP_slice ||
           op == IPEX_OP_pad || op == IPEX_OP_expand || op == IPEX_OP_gather ||
           op == IPEX_OP_max_pool;
}

/* Something is rounded to bf16: results, but for what only moves elements, or, where that was asked
 * for, weights. Others in bf16, and scales of blocks, are what they were. */
static bool rounds_to_bf16(struct ipex_fb_model model, struct ipex_fb_entry entry) {
    const bool weights = strstr(ipex_fb_model_options(model), "--weights bf16") != NULL;
    for (uint32_t i = 0; i < ipex_fb_entry_tensors_len(entry); i++) {
        struct ipex_fb_tensor tensor = ipex_fb_entry_tensors(entry, i);
        if (weights && ipex_fb_tensor_dtype(tensor) == IPEX_DTYPE_bf16)
            return true;
    }
    for (uint32_t i = 0; i < ipex_fb_entry_nodes_len(entry); i++) {
        struct ipex_fb_node node = ipex_fb_entry_nodes(entry, i);
        const uint32_t y = (uint32_t)ipex_fb_node_outputs(node)[0];
        if (!moves_elements(ipex_fb_node_op(node)) &&
            ipex_fb_tensor_dtype(ipex_fb_entry_tensors(entry, y)) == IPEX_DTYPE_bf16)
            return true;
    }
    return false;
}

/* An entry of which a product takes what was rounded to bf16, or bytes. */
static bool is_rounded(struct ipex_fb_model model, struct ipex_fb_entry entry) {
    if (rounds_to_bf16(model, entry))
        return true;
    for (uint32_t i = 0; i < ipex_fb_entry_nodes_len(entry); i++)
        if (multiplies_bytes(entry, ipex_fb_entry_nodes(entry, i)))
            return true;
    return false;
}

static uint32_t root_of(struct ipex_fb_entry entry, uint32_t tensor) {
    while (ipex_fb_tensor_view_of(ipex_fb_entry_tensors(entry, tensor)) >= 0)
        tensor = (uint32_t)ipex_fb_tensor_view_of(ipex_fb_entry_tensors(entry, tensor));
    return tensor;
}

/* What rounds numbers as it stores them. */
static bool stores_bytes(struct ipex_fb_entry entry, struct ipex_fb_node node) {
    const uint16_t op = ipex_fb_node_op(node);
    const uint32_t y = (uint32_t)ipex_fb_node_outputs(node)[0];
    return (op == IPEX_OP_linear || op == IPEX_OP_conv || op == IPEX_OP_pointwise) &&
           ipex_fb_tensor_dtype(ipex_fb_entry_tensors(entry, y)) == IPEX_DTYPE_u8;
}

/* Integers that are a little larger where an operand is. */
static bool computes_alike(struct ipex_fb_node node) {
    return ipex_fb_node_op(node) == IPEX_OP_integer && ipex_fb_node_ints_len(node) > 0 &&
           ipex_fb_node_ints(node)[0] != IPEX_INTEGER_div &&
           ipex_fb_node_ints(node)[0] != IPEX_INTEGER_mod;
}

/* Whether the node's integers are rounded from floats, or made alike of such ones and of constants.
 */
static bool is_measured(struct ipex_fb_entry entry, struct ipex_fb_node node,
                        const bool *measured) {
    const uint16_t op = ipex_fb_node_op(node);
    const bool alike = computes_alike(node);
    const uint32_t operands = alike ? ipex_fb_node_inputs_len(node) : 1;
    bool any = false;
    if (stores_bytes(entry, node))
        return true;
    if (!alike && op != IPEX_OP_cast && !moves_elements(op))
        return false;
    for (uint32_t i = 0; i < operands; i++) {
        const uint32_t x = (uint32_t)ipex_fb_node_inputs(node)[i];
        struct ipex_fb_tensor tensor = ipex_fb_entry_tensors(entry, x);
        const bool is = measured[root_of(entry, x)] ||
                        (op == IPEX_OP_cast && is_float(ipex_fb_tensor_dtype(tensor)));
        if (!is && ipex_fb_tensor_weight(tensor) < 0)
            return false;
        any |= is;
    }
    return any;
}

/* Of every storage, by its tensor: whether its integers are such, all of them. In the arena; NULL
 * where the entry does not round. */
static const bool *find_measured(struct verify *verify, struct ipex_fb_entry entry) {
    const uint32_t tensors = ipex_fb_entry_tensors_len(entry);
    if (!is_rounded(verify->metadata.model, entry))
        return NULL;
    bool *measured = ipex_arena_array(&verify->arena, tensors + 1, sizeof *measured),
         *written = ipex_arena_array(&verify->arena, tensors + 1, sizeof *written);
    for (uint32_t i = 0; i < ipex_fb_entry_nodes_len(entry); i++) {
        struct ipex_fb_node node = ipex_fb_entry_nodes(entry, i);
        const bool is = is_measured(entry, node, measured);
        for (uint32_t k = 0; k < ipex_fb_node_outputs_len(node); k++) {
            const uint32_t y = (uint32_t)ipex_fb_node_outputs(node)[k], root = root_of(entry, y);
            const uint8_t to = ipex_fb_tensor_dtype(ipex_fb_entry_tensors(entry, y));
            measured[root] = is && to != IPEX_DTYPE_bool && (measured[root] || !written[root]);
            written[root] = true;
        }
    }
    return measured;
}

/* ---- replaying ---- */

static int load_inputs(struct verify *verify, struct ipex_fb_entry entry,
                       struct ipex_fb_answer answer, struct ipex_tensor *ret) {
    struct ipex_tensor_data tensor;
    for (uint32_t i = 0; i < ipex_fb_answer_inputs_len(answer); i++) {
        if (!ipex_metadata_tensor(&verify->metadata, ipex_fb_answer_inputs(answer)[i], &tensor))
            return ipex_cli_failed("%s: a known answer's input is no plain tensor", verify->file);
        ret[i] = ipex_model_tensor(ipex_fb_port_name(ipex_fb_entry_inputs(entry, i)), &tensor);
    }
    return 0;
}

/* Room for every output at these sizes; the answer may give some of them only. */
static int make_outputs(struct verify *verify, const char *entry,
                        const struct ipex_run_sizes *sizes, size_t count,
                        struct ipex_tensor_data *data, struct ipex_tensor *ret) {
    struct ipex_port port;
    for (size_t i = 0; i < count; i++) {
        if (!ipex_model_output(&verify->model, entry, i, &port))
            return IPEX_EXIT_FAILED;
        ipex_run_sizes_output(sizes, (uint32_t)i, &port);
        if (!ipex_tensor_data_init(&data[i], port.dtype, port.dims, port.rank))
            return ipex_cli_failed("output '%s': its shape is not valid", port.name);
        ret[i] = ipex_model_tensor(port.name, &data[i]);
    }
    return 0;
}

/* measured: find_measured's. */
static int compare_outputs(struct verify *verify, struct ipex_fb_entry entry, const bool *measured,
                           uint32_t index, const char *sizes, const struct ipex_tensor_data *got) {
    struct ipex_fb_answer answer = ipex_fb_entry_answers(entry, index);
    struct ipex_tensor_data expected;
    for (uint32_t i = 0; i < ipex_fb_answer_outputs_len(answer); i++) {
        int32_t weight = ipex_fb_answer_outputs(answer)[i];
        if (weight < 0)
            continue;
        struct comparison *comparison = &verify->comparison[verify->comparisons++];
        comparison->entry = ipex_fb_entry_name(entry);
        comparison->origin = ipex_fb_answer_origin(answer);
        struct ipex_fb_port port = ipex_fb_entry_outputs(entry, i);
        comparison->output = ipex_fb_port_name(port);
        comparison->answer = index;
        comparison->sizes = sizes;
        comparison->rounded = measured != NULL;
        comparison->is_decided = measured && !measured[root_of(entry, ipex_fb_port_tensor(port))];
        if (!ipex_metadata_tensor(&verify->metadata, weight, &expected) ||
            expected.size != got[i].size || expected.dtype != got[i].dtype)
            return ipex_cli_failed("%s: a known answer does not fit output '%s'", verify->file,
                                   comparison->output);
        compare(&got[i], &expected, comparison);
    }
    return 0;
}

/* The sizes that an answer's inputs have. The checker has found them to fit. */
static int find_sizes(struct verify *verify, struct ipex_fb_entry entry,
                      struct ipex_fb_answer answer, struct ipex_run_sizes *ret) {
    static const struct ipex_cli_list none = {0};
    uint32_t count = ipex_fb_answer_inputs_len(answer);
    const int64_t **dims = ipex_arena_array(&verify->arena, count + 1, sizeof *dims);
    for (uint32_t i = 0; i < count; i++)
        dims[i] = ipex_fb_weight_dims(
            ipex_fb_model_weights(verify->metadata.model, ipex_fb_answer_inputs(answer)[i]));
    int code =
        ipex_run_sizes_init(ret, verify->verb, &verify->metadata, ipex_fb_entry_name(entry), &none);
    return code ? code : ipex_run_sizes_bind(ret, verify->verb, dims);
}

static int run_answer(struct verify *verify, const char *entry, uint32_t index,
                      const struct ipex_tensor *inputs, size_t n_inputs,
                      struct ipex_tensor *outputs, size_t n_outputs) {
    enum ipex_status status =
        ipex_run(verify->model.session, entry, inputs, n_inputs, outputs, n_outputs);
    if (status == IPEX_OK)
        return IPEX_EXIT_DONE;
    const char *what = ipex_arena_printf(&verify->arena, "%s: answer %u", verify->file, index);
    return ipex_model_run_failed(&verify->model, what, status);
}

static int replay(struct verify *verify, struct ipex_fb_entry entry, const bool *measured,
                  uint32_t index) {
    struct ipex_run_sizes sizes;
    struct ipex_fb_answer answer = ipex_fb_entry_answers(entry, index);
    const char *name = ipex_fb_entry_name(entry);
    size_t n_inputs = ipex_fb_answer_inputs_len(answer);
    size_t n_outputs = ipex_fb_entry_outputs_len(entry);
    struct ipex_tensor *inputs = ipex_arena_array(&verify->arena, n_inputs, sizeof *inputs);
    struct ipex_tensor *outputs = ipex_arena_array(&verify->arena, n_outputs, sizeof *outputs);
    struct ipex_tensor_data *got = ipex_arena_array(&verify->arena, n_outputs, sizeof *got);
    int code = load_inputs(verify, entry, answer, inputs);
    if (!code)
        code = find_sizes(verify, entry, answer, &sizes);
    if (!code)
        code = make_outputs(verify, name, &sizes, n_outputs, got, outputs);
    if (!code)
        code = run_answer(verify, name, index, inputs, n_inputs, outputs, n_outputs);
    if (!code)
        code = compare_outputs(verify, entry, measured, index,
                               ipex_run_sizes_text(&sizes, &verify->arena), got);
    for (size_t i = 0; i < n_outputs; i++)
        ipex_tensor_data_finish(&got[i]);
    return code;
}

/* ---- the session: for the sizes from the least to the most that answers have, the lowest without
 * ---- */

static bool is_wanted(const struct verify *verify, struct ipex_fb_entry entry) {
    return !verify->entry || !strcmp(verify->entry, ipex_fb_entry_name(entry));
}

/* Widens the ranges of an entry's symbols by the sizes of an answer. */
static void widen(struct ipex_dim_range *range, const struct ipex_run_sizes *sizes, bool first) {
    for (uint32_t i = 0; i < sizes->count; i++) {
        if (first)
            range[i] = sizes->range[i];
        if (sizes->symbol[i] < range[i].lo)
            range[i].lo = sizes->symbol[i];
        if (sizes->symbol[i] > range[i].hi)
            range[i].hi = sizes->symbol[i];
    }
}

static int find_ranges(struct verify *verify, struct ipex_fb_entry entry,
                       struct ipex_dim_range *ret) {
    static const struct ipex_cli_list none = {0};
    struct ipex_run_sizes sizes;
    uint32_t count = ipex_fb_entry_answers_len(entry);
    int code = ipex_run_sizes_init(&sizes, verify->verb, &verify->metadata,
                                   ipex_fb_entry_name(entry), &none);
    if (!code)
        code = ipex_run_sizes_lowest(&sizes);
    if (!code)
        widen(ret, &sizes, true);
    for (uint32_t j = 0; j < count && !code; j++) {
        code = find_sizes(verify, entry, ipex_fb_entry_answers(entry, j), &sizes);
        if (!code)
            widen(ret, &sizes, !j);
    }
    return code;
}

/* Sizes between those of answers, which nobody asks for, may not fit together: then the session is
 * for all sizes of the file. */
static bool can_measure(const struct verify *verify, const struct ipex_dim_range *ranges,
                        size_t count) {
    struct ipex_requirements need;
    const struct ipex_session_options options = {
        .size_of_struct = sizeof options, .entry = verify->entry, .dims = ranges, .n_dims = count};
    return ipex_session_measure(verify->model.image, &options, &need) == IPEX_OK;
}

static int start(struct verify *verify) {
    struct ipex_fb_model model = verify->metadata.model;
    uint32_t entries = ipex_fb_model_entries_len(model);
    size_t count = 0;
    int code = 0;
    struct ipex_dim_range *ranges =
        ipex_arena_array(&verify->arena, (size_t)entries * IPEX_SYMBOLS_MAX + 1, sizeof *ranges);
    for (uint32_t i = 0; i < entries && !code; i++) {
        struct ipex_fb_entry entry = ipex_fb_model_entries(model, i);
        if (!is_wanted(verify, entry))
            continue;
        code = find_ranges(verify, entry, ranges + count);
        count += ipex_fb_entry_symbols_len(entry);
    }
    if (code)
        return code;
    if (!can_measure(verify, ranges, count))
        count = 0;
    return ipex_model_start(&verify->model, verify->verb, &verify->machine, verify->entry, ranges,
                            count);
}

/* ---- all answers ---- */

static size_t count_answer_outputs(struct ipex_fb_model model) {
    size_t count = 0;
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(model); i++) {
        struct ipex_fb_entry entry = ipex_fb_model_entries(model, i);
        for (uint32_t j = 0; j < ipex_fb_entry_answers_len(entry); j++)
            count += ipex_fb_answer_outputs_len(ipex_fb_entry_answers(entry, j));
    }
    return count;
}

static int replay_all(struct verify *verify) {
    struct ipex_fb_model model = verify->metadata.model;
    size_t most = count_answer_outputs(model);
    verify->comparison = ipex_arena_array(&verify->arena, most, sizeof *verify->comparison);
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(model); i++) {
        struct ipex_fb_entry entry = ipex_fb_model_entries(model, i);
        if (!is_wanted(verify, entry))
            continue;
        const bool *measured = find_measured(verify, entry);
        for (uint32_t j = 0; j < ipex_fb_entry_answers_len(entry); j++) {
            int code = replay(verify, entry, measured, j);
            if (code)
                return code;
        }
    }
    if (verify->comparisons)
        return 0;
    const char *what = verify->entry ? ipex_arena_printf(&verify->arena, "%s: entry %s",
                                                         verify->file, verify->entry)
                                     : verify->file;
    return ipex_cli_failed("%s carries no known answers (its bytes are as written). Convert with "
                           "--golden N (N seeded inputs, answered by the reference kernels on the "
                           "unoptimised graph) or --golden-from DIR (input_*.pb and output_*.pb)",
                           what);
}

/* ---- report ---- */

static size_t count_passed(const struct verify *verify) {
    size_t passed = 0;
    for (size_t i = 0; i < verify->comparisons; i++)
        passed += verify->comparison[i].passed;
    return passed;
}

static bool any_decided(const struct verify *verify) {
    for (size_t i = 0; i < verify->comparisons; i++)
        if (verify->comparison[i].is_decided)
            return true;
    return false;
}

static void print_report(const struct verify *verify) {
    static const struct ipex_table_column columns[] = {
        {"entry", false, 24},  {"answer", true, 0},   {"sizes", false, 100},
        {"origin", false, 0},  {"output", false, 40}, {"max |diff|", true, 0},
        {"of", true, 0},       {"relative", true, 0}, {"top-1", false, 0},
        {"verdict", false, 0},
    };
    static const char *const top1[] = {"-", "equal", "differs"};
    struct ipex_table table;
    ipex_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < verify->comparisons; i++) {
        const struct comparison *row = &verify->comparison[i];
        ipex_table_cell(&table, "%s", row->entry);
        ipex_table_cell(&table, "%u", row->answer);
        ipex_table_cell(&table, "%s", *row->sizes ? row->sizes : "-");
        ipex_table_cell(&table, "%s", row->origin);
        ipex_table_cell(&table, "%s", row->output);
        ipex_table_cell(&table, "%.3g", row->difference);
        ipex_table_cell(&table, "%.4g", row->largest);
        ipex_table_cell(&table, "%.2e", row->relative);
        ipex_table_cell(&table, "%s", top1[row->top1]);
        ipex_table_cell(&table, "%s", row->passed ? "passed" : "FAILED");
    }
    ipex_cli_say("%s: ", verify->file);
    ipex_model_print(&verify->model);
    if (verify->comparison[0].rounded)
        ipex_cli_say(", in bf16, tolerance %g of the norm%s\n\n", TOLERANCE_BF16,
                     any_decided(verify) ? ", and of places and choices of their number" : "");
    else
        ipex_cli_say(", tolerance %g of the largest magnitude\n\n", TOLERANCE);
    ipex_table_print(&table, stdout);
    ipex_table_finish(&table);
}

static json_t *comparison_json(const struct comparison *row) {
    json_t *object = ipex_json_object();
    ipex_json_set_text(object, "entry", row->entry);
    ipex_json_set_integer(object, "answer", row->answer);
    ipex_json_set_text(object, "sizes", row->sizes);
    ipex_json_set_text(object, "origin", row->origin);
    ipex_json_set_text(object, "output", row->output);
    ipex_json_set_real(object, "max_abs_diff", row->difference);
    ipex_json_set_real(object, "largest", row->largest);
    ipex_json_set_real(object, "relative", row->relative);
    ipex_json_set_text(object, "compared_by",
                       row->is_decided ? "share"
                       : row->rounded  ? "norm"
                                       : "largest");
    if (row->top1 == TOP1_NONE)
        ipex_json_set(object, "top1_equal", json_null());
    else
        ipex_json_set_bool(object, "top1_equal", row->top1 == TOP1_EQUAL);
    ipex_json_set_bool(object, "passed", row->passed);
    return object;
}

static void print_json(const struct verify *verify) {
    json_t *object = ipex_json_object();
    json_t *rows = ipex_json_array();
    ipex_json_set_text(object, "file", verify->file);
    ipex_model_json(&verify->model, object);
    ipex_json_set_real(object, "tolerance",
                       verify->comparison[0].rounded ? TOLERANCE_BF16 : TOLERANCE);
    ipex_json_set_bool(object, "passed", count_passed(verify) == verify->comparisons);
    for (size_t i = 0; i < verify->comparisons; i++)
        ipex_json_append(rows, comparison_json(&verify->comparison[i]));
    ipex_json_set(object, "outputs", rows);
    ipex_json_finish(object);
}

static int check_entry(struct verify *verify) {
    return verify->entry
               ? ipex_model_entry(&verify->model, verify->verb, verify->entry, &verify->entry)
               : 0;
}

static int work(struct verify *verify) {
    int code = ipex_model_open(&verify->model, verify->file, true);
    if (!code)
        code = check_entry(verify);
    if (!code && !ipex_metadata_open(&verify->metadata, verify->file, verify->model.image))
        code = IPEX_EXIT_FAILED;
    if (!code)
        code = start(verify);
    if (!code)
        code = replay_all(verify);
    if (code)
        return code;
    if (verify->json)
        print_json(verify);
    else
        print_report(verify);
    size_t failed = verify->comparisons - count_passed(verify);
    if (failed)
        return ipex_cli_failed("%s: %zu of %zu outputs differ from the known answers", verify->file,
                               failed, verify->comparisons);
    return IPEX_EXIT_DONE;
}

int ipex_verb_verify(int argc, char **argv) {
    struct verify verify = {.machine = {.threads = 1}};
    const struct ipex_cli_option options[] = {
        {"entry", "NAME", "replay this entry's answers only (all)", IPEX_CLI_TEXT, false,
         &verify.entry, 0, 0},
        IPEX_MACHINE_OPTIONS(verify.machine),
        {"json", NULL, "print one JSON object", IPEX_CLI_FLAG, false, &verify.json, 0, 0},
        {0},
    };
    const struct ipex_cli_verb verb = {
        "verify", "FILE",
        "Checks a file's bytes against its digests and replays the known answers that it carries.",
        options, NULL};
    int code;
    verify.verb = &verb;
    if (ipex_cli_parse(&verb, argc, argv, &verify.file, &code))
        code = work(&verify);
    ipex_metadata_close(&verify.metadata);
    ipex_model_close(&verify.model);
    ipex_arena_finish(&verify.arena);
    return code;
}
