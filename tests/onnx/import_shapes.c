/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic import alone, no pass behind it: the shape of every tensor that a model's graph
 * computes, at sizes given.
 *
 * import_shapes MODEL.onnx [dim NAME LO HI STEP | const NAME VALUE | const NAME FILE.npy | at
 * SIZES]...
 *
 * SIZES are the values of all dims in the order of the command line, separated by commas. A line
 * per tensor: name, type and, for every `at`, the dims separated by x; by tabs. Exit status 1 with
 * the message where the model is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/convert/import_scope.h"

enum { MOST = 64 };

struct work {
    struct ipex_import_options options;
    struct ipex_dim_option dim[MOST];
    struct ipex_const_option constant[MOST];
    const char *at[MOST];
    size_t places;
    char message[1024];
    struct ipex_report report;
};

static void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void add_dim(struct work *work, char **word) {
    work->dim[work->options.dims++] = (struct ipex_dim_option){.name = word[1],
                                                               .lo = strtoll(word[2], NULL, 10),
                                                               .hi = strtoll(word[3], NULL, 10),
                                                               .step = strtoll(word[4], NULL, 10)};
}

static void add_constant(struct work *work, char **word) {
    struct ipex_const_option *given = &work->constant[work->options.constants++];
    *given = (struct ipex_const_option){
        .name = word[1], .text = word[2], .is_file = strstr(word[2], ".npy") != NULL};
    if (given->is_file && ipex_tensor_read(word[2], &given->tensor, &work->report) != IPEX_OK)
        fail(word[2], work->message);
}

static void read_arguments(struct work *work, int argc, char **argv) {
    for (int i = 2; i < argc;) {
        if (work->options.dims == MOST || work->options.constants == MOST || work->places == MOST)
            fail(argv[i], "too many of them");
        if (!strcmp(argv[i], "dim") && i + 4 < argc) {
            add_dim(work, &argv[i]);
            i += 5;
        } else if (!strcmp(argv[i], "const") && i + 2 < argc) {
            add_constant(work, &argv[i]);
            i += 3;
        } else if (!strcmp(argv[i], "at") && i + 1 < argc) {
            work->at[work->places++] = argv[i + 1];
            i += 2;
        } else {
            fail(argv[i], "what is this?");
        }
    }
}

/* The values of the graph's symbols, which need not be in the order of the command line; dims that
 * are one number have none. */
static void find_values(const struct work *work, const struct ipex_dims *dims, const char *sizes,
                        int64_t *values) {
    for (size_t i = 0; i < work->options.dims && *sizes; i++) {
        char *end;
        int64_t value = strtoll(sizes, &end, 10);
        for (size_t k = 0; k < dims->symbols; k++)
            if (!strcmp(dims->symbol[k].name, work->dim[i].name))
                values[k] = value;
        sizes = *end ? end + 1 : end;
    }
}

static void print_tensor(const struct work *work, const struct ipex_import *import,
                         const char *name) {
    const struct ipex_value *value = ipex_import_lookup(import, name);
    const struct ipex_dims *dims = &import->graph->dims;
    if (!value)
        return;
    printf("%s\t%s", name, ipex_dtype_name(value->dtype));
    for (size_t i = 0; i < work->places; i++) {
        int64_t values[MOST] = {0};
        find_values(work, dims, work->at[i], values);
        printf("\t");
        for (int32_t k = 0; k < value->rank; k++)
            printf("%s%lld", k ? "x" : "", (long long)ipex_dim_value(dims, value->dims[k], values));
    }
    printf("\n");
}

int main(int argc, char **argv) {
    static struct work work;
    struct ipex_onnx_model model;
    struct ipex_graph graph;
    struct ipex_import import;
    const char *message = "";
    if (argc < 2)
        fail("usage",
             "import_shapes MODEL.onnx [dim NAME LO HI STEP | const NAME VALUE | at SIZES]...");
    work.report = (struct ipex_report){work.message, sizeof work.message};
    work.options.dim = work.dim;
    work.options.constant = work.constant;
    read_arguments(&work, argc, argv);
    if (ipex_onnx_open(argv[1], &model, &work.report) != IPEX_OK)
        fail(argv[1], work.message);
    ipex_graph_init(&graph, NULL);
    if (ipex_import_model(&model, &work.options, &graph, &import, &message) != IPEX_IMPORT_OK)
        fail(argv[1], message);
    for (size_t i = 0; i < model.graph.nodes; i++)
        for (size_t k = 0; k < model.graph.node[i].outputs; k++)
            if (*model.graph.node[i].output[k])
                print_tensor(&work, &import, model.graph.node[i].output[k]);
    ipex_graph_finish(&graph);
    ipex_onnx_close(&model);
    for (size_t i = 0; i < work.options.constants; i++)
        ipex_tensor_data_finish(&work.constant[i].tensor);
    return 0;
}
