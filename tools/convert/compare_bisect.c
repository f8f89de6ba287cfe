/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the first tensor that departs. A file does not keep the tensors between its steps, so the
 * model is converted again, for the sizes of the inputs, with the tensor in question as one output
 * more; everything else is optimised as before. First by halves in the order of the model's nodes,
 * then from the node found there to its inputs as long as one of them departs too. */
#include <stdio.h>
#include <string.h>

#include "tools/atomic_file.h"
#include "tools/convert/compare.h"
#include "tools/convert/import_scope.h"
#include "tools/convert/passes.h"
#include "tools/convert/write.h"

/* A tensor between input and output that exists at run time. */
struct candidate {
    const char *name;
    size_t node; /* of the model */
    enum { UNKNOWN, AGREES, DEPARTS } state;
    struct ipex_comparison result; /* once known */
};

struct bisect {
    struct ipex_contrast *c;
    struct candidate *candidate; /* in the order of the nodes */
    size_t candidates;
    const char **outputs; /* of the model */
    size_t n_outputs;
};

/* ---- converting again ---- */

/* The inputs of the file have the shapes given; what the file does not have is a constant of it. */
static void set_options(struct ipex_contrast *c, struct ipex_import_options *options) {
    options->shape = ipex_arena_array(&c->arena, c->inputs + 1, sizeof *options->shape);
    options->constant = ipex_arena_array(&c->arena, c->inputs + 1, sizeof *options->constant);
    for (size_t i = 0; i < c->inputs; i++) {
        const struct ipex_tensor_data *given = &c->given[i];
        bool is_port = false;
        for (uint32_t k = 0; k < ipex_fb_entry_inputs_len(c->sizes.entry); k++)
            is_port =
                is_port || !strcmp(c->input[i]->name,
                                   ipex_fb_port_name(ipex_fb_entry_inputs(c->sizes.entry, k)));
        if (!is_port) {
            options->constant[options->constants++] = (struct ipex_const_option){
                .name = c->input[i]->name, .is_file = true, .tensor = *given};
            continue;
        }
        struct ipex_shape_option *shape = &options->shape[options->shapes++];
        *shape = (struct ipex_shape_option){.name = c->input[i]->name, .rank = given->rank};
        memcpy(shape->dims, given->dims, sizeof shape->dims);
    }
}

static int import(struct ipex_contrast *c, struct ipex_graph *graph, struct ipex_import *state) {
    struct ipex_import_options options = {0};
    const char *message = NULL;
    set_options(c, &options);
    ipex_graph_init(graph, NULL);
    if (ipex_import_model(&c->onnx, &options, graph, state, &message) == IPEX_IMPORT_OK)
        return IPEX_EXIT_DONE;
    return ipex_cli_failed("%s: %s", c->model_path, message);
}

static bool can_be_output(const struct ipex_value *value) {
    return value && value->producer && !value->constant && !value->is_output && !value->unknown &&
           !value->ints && value->uses > 0;
}

static void add_output(struct ipex_graph *graph, struct ipex_value *value, const char *name) {
    struct ipex_value **output =
        ipex_arena_array(&graph->arena, graph->outputs + 1, sizeof *output);
    memcpy(output, graph->output, graph->outputs * sizeof *output);
    output[graph->outputs++] = value;
    graph->output = output;
    value->is_output = true;
    value->uses++;
    value->name = name;
}

static enum ipex_growth recorded_growth(const struct ipex_contrast *c) {
    const char *options = ipex_fb_model_options(c->metadata.model);
    return strstr(options, "--speed")  ? IPEX_GROWTH_any
           : strstr(options, "--size") ? IPEX_GROWTH_none
                                       : IPEX_GROWTH_some;
}

static enum ipex_precision recorded_precision(const struct ipex_contrast *c) {
    const char *options = ipex_fb_model_options(c->metadata.model);
    return strstr(options, "--dtype bf16")     ? IPEX_PRECISION_bf16
           : strstr(options, "--weights bf16") ? IPEX_PRECISION_bf16_weights
                                               : IPEX_PRECISION_f32;
}

static enum ipex_activations recorded_activations(const struct ipex_contrast *c) {
    const char *options = ipex_fb_model_options(c->metadata.model);
    return strstr(options, "--activations i8")    ? IPEX_ACTIVATIONS_i8
           : strstr(options, "--activations f32") ? IPEX_ACTIVATIONS_f32
                                                  : IPEX_ACTIVATIONS_as_stated;
}

static enum ipex_status write_part(void *user, const void *bytes, size_t size, uint64_t offset,
                                   const struct ipex_report *report) {
    return ipex_atomic_write(user, bytes, size, offset, report);
}

static int write_plan(struct ipex_contrast *c, struct ipex_plan *plan, const char *path) {
    char message[IPEX_CLI_MESSAGE_SIZE] = "";
    const struct ipex_report report = {message, sizeof message};
    struct ipex_atomic_file file;
    struct ipex_written written;
    const struct ipex_write_entry entry = {.name = c->entry, .plan = plan};
    struct ipex_write write = {.entry = &entry, .entries = 1, .source = "", .options = ""};
    if (ipex_atomic_open(path, &file, &report) != IPEX_OK)
        return ipex_cli_failed("%s", message);
    enum ipex_status status = ipex_write(&write, write_part, &file, &written, &report);
    if (status == IPEX_OK)
        status = ipex_atomic_commit(&file, &report);
    ipex_atomic_discard(&file);
    return status == IPEX_OK ? IPEX_EXIT_DONE : ipex_cli_failed("%s", message);
}

/* The model with `inner` as one output more, or as it is (NULL). */
static int convert(struct ipex_contrast *c, const char *inner, const char *path) {
    struct ipex_graph graph;
    struct ipex_import state;
    struct ipex_plan plan;
    int code = import(c, &graph, &state);
    if (code == IPEX_EXIT_DONE) {
        if (inner)
            add_output(&graph, ipex_import_lookup(&state, inner), inner);
        graph.precision = recorded_precision(c);
        graph.activations = recorded_activations(c);
        graph.arithmetic = (enum ipex_arithmetic)ipex_fb_entry_arithmetic(c->sizes.entry);
        ipex_passes_run(&graph);
        ipex_choose_algorithms(&graph, recorded_growth(c));
        ipex_choose_lossless(&graph, recorded_growth(c));
        ipex_lower(&graph, &plan);
        ipex_mark_bands(&graph, &plan);
        code = write_plan(c, &plan, path);
        ipex_plan_finish(&plan);
    }
    ipex_graph_finish(&graph);
    return code;
}

/* ---- probing ---- */

static int run_converted(struct ipex_contrast *c, const char *path, const char *const *names,
                         size_t count, struct ipex_tensor_data *ret) {
    static const struct ipex_cli_list none = {0};
    struct ipex_model model = {0};
    struct ipex_metadata metadata = {0};
    struct ipex_run_sizes sizes;
    int code = ipex_model_open(&model, path, false);
    if (!code && !ipex_metadata_open(&metadata, path, model.image))
        code = IPEX_EXIT_FAILED;
    if (!code)
        code = ipex_run_sizes_init(&sizes, c->verb, &metadata, c->entry, &none);
    if (!code)
        code = ipex_compare_run(c, &model, &sizes, names, count, ret);
    ipex_metadata_close(&metadata);
    ipex_model_close(&model);
    return code;
}

/* Both sides' tensors of these names, compared; `inner` is the last of them, or NULL. */
static int probe(struct bisect *b, const char *const *names, size_t count, const char *inner,
                 struct ipex_comparison *ret) {
    struct ipex_contrast *c = b->c;
    const char *path = ipex_arena_printf(&c->arena, "%s/probe.ipex", c->scratch.path);
    struct ipex_tensor_data *got = ipex_arena_array(&c->arena, count, sizeof *got),
                            *expected = ipex_arena_array(&c->arena, count, sizeof *expected);
    c->probes++;
    int code = convert(c, inner, path);
    if (!code)
        code = run_converted(c, path, names, count, got);
    if (!code)
        code = ipex_reference_run(c, names, count - (inner != NULL), inner, expected);
    for (size_t i = 0; i < count && !code; i++) {
        ret[i].name = names[i];
        ipex_compare_tensors(c, &got[i], &expected[i], &ret[i]);
    }
    for (size_t i = 0; i < count; i++) {
        ipex_tensor_data_finish(&got[i]);
        ipex_tensor_data_finish(&expected[i]);
    }
    return code;
}

static int probe_candidate(struct bisect *b, size_t index) {
    struct candidate *candidate = &b->candidate[index];
    if (candidate->state != UNKNOWN)
        return IPEX_EXIT_DONE;
    int code = probe(b, &candidate->name, 1, candidate->name, &candidate->result);
    if (code)
        return code;
    candidate->result.node = &b->c->onnx.graph.node[candidate->node];
    candidate->state = candidate->result.departs ? DEPARTS : AGREES;
    return IPEX_EXIT_DONE;
}

/* ---- searching ---- */

static int find_candidates(struct bisect *b) {
    const struct ipex_onnx_graph *source = &b->c->onnx.graph;
    struct ipex_graph graph;
    struct ipex_import state;
    size_t names = 0;
    int code = import(b->c, &graph, &state);
    for (size_t i = 0; i < source->nodes; i++)
        names += source->node[i].outputs;
    b->candidate = ipex_arena_array(&b->c->arena, names + 1, sizeof *b->candidate);
    for (size_t i = 0; i < source->nodes && !code; i++)
        for (size_t k = 0; k < source->node[i].outputs; k++) {
            const char *name = source->node[i].output[k];
            struct ipex_value *value = *name ? ipex_import_lookup(&state, name) : NULL;
            if (!can_be_output(value))
                continue;
            value->unknown = true; /* a second name of it is none more */
            b->candidate[b->candidates++] = (struct candidate){.name = name, .node = i};
        }
    ipex_graph_finish(&graph);
    return code;
}

/* By halves: a tensor that departs and has one before it that agrees; `candidates`: none departs.
 */
static int search(struct bisect *b, size_t *ret) {
    size_t agrees = 0, departs = b->candidates; /* [0, agrees) do, [departs, ..) do */
    while (agrees < departs) {
        size_t middle = agrees + (departs - agrees) / 2;
        int code = probe_candidate(b, middle);
        if (code)
            return code;
        if (b->candidate[middle].state == DEPARTS)
            departs = middle;
        else
            agrees = middle + 1;
    }
    *ret = departs;
    return IPEX_EXIT_DONE;
}

static size_t find_candidate(const struct bisect *b, const char *name) {
    size_t i = 0;
    while (i < b->candidates && strcmp(b->candidate[i].name, name))
        i++;
    return i;
}

/* From a node to one of its inputs that departs, and on from there. Inputs come before. */
static int climb(struct bisect *b, const struct ipex_onnx_node *node, size_t *at) {
    for (size_t i = 0; i < node->inputs;) {
        size_t k = find_candidate(b, node->input[i++]);
        if (k == b->candidates)
            continue;
        int code = probe_candidate(b, k);
        if (code)
            return code;
        if (b->candidate[k].state == DEPARTS) {
            *at = k;
            node = &b->c->onnx.graph.node[b->candidate[k].node];
            i = 0;
        }
    }
    b->c->first_inputs = ipex_arena_array(&b->c->arena, node->inputs + 1, sizeof(char *));
    for (size_t i = 0; i < node->inputs; i++)
        if (find_candidate(b, node->input[i]) < b->candidates)
            b->c->first_inputs[b->c->n_first_inputs++] = node->input[i];
    return IPEX_EXIT_DONE;
}

/* Whether the model, converted again as it is, departs at its outputs. */
static int check_outputs(struct bisect *b, bool *ret) {
    struct ipex_comparison *result =
        ipex_arena_array(&b->c->arena, b->n_outputs + 1, sizeof *result);
    int code = probe(b, b->outputs, b->n_outputs, NULL, result);
    *ret = false;
    for (size_t i = 0; i < b->n_outputs && !code; i++)
        *ret = *ret || result[i].departs;
    return code;
}

int ipex_compare_bisect(struct ipex_contrast *c) {
    struct bisect b = {.c = c, .n_outputs = c->outputs};
    bool departs;
    size_t at = 0;
    b.outputs = ipex_arena_array(&c->arena, c->outputs + 1, sizeof *b.outputs);
    for (size_t i = 0; i < c->outputs; i++)
        b.outputs[i] = c->output[i].name;
    int code = check_outputs(&b, &departs);
    if (code || !departs) {
        c->other_model = !code;
        return code;
    }
    code = find_candidates(&b);
    if (!code)
        code = search(&b, &at);
    for (size_t i = 0; i < c->outputs && !code && at == b.candidates; i++)
        if (c->output[i].departs) { /* all tensors before it agree */
            c->first = c->output[i];
            at = b.candidates + 1;
        }
    if (!code && at < b.candidates)
        c->first = b.candidate[at].result;
    if (!code && c->first.node)
        code = climb(&b, c->first.node, &at);
    if (!code && at < b.candidates)
        c->first = b.candidate[at].result;
    c->bisected = !code;
    return code;
}
