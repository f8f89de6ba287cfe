/* SPDX-License-Identifier: Apache-2.0 */
/* Known answers: computed on the graph as imported, or read from files. */
#include "tools/convert/golden.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/convert/evaluate.h"
#include "tools/convert/passes.h"
#include "tools/tensor_file.h"

void ipex_golden_finish(struct ipex_golden_set *set) {
    for (size_t i = 0; i < set->answers; i++) {
        for (size_t k = 0; k < set->inputs; k++)
            free(set->answer[i].input[k]);
        for (size_t k = 0; k < set->outputs; k++)
            free(set->answer[i].output[k]);
        free(set->answer[i].input);
        free(set->answer[i].output);
    }
    free(set->answer);
    *set = (struct ipex_golden_set){0};
}

static struct ipex_golden *add_answer(struct ipex_golden_set *set, const struct ipex_graph *graph,
                                      const char *origin) {
    set->inputs = graph->inputs;
    set->outputs = graph->outputs;
    set->answer = ipex_grow(set->answer, &set->capacity, set->answers + 1, sizeof *set->answer);
    struct ipex_golden *answer = &set->answer[set->answers++];
    answer->origin = origin;
    answer->input = ipex_alloc((graph->inputs + 1) * sizeof(void *));
    answer->output = ipex_alloc((graph->outputs + 1) * sizeof(void *));
    memset(answer->input, 0, (graph->inputs + 1) * sizeof(void *));
    memset(answer->output, 0, (graph->outputs + 1) * sizeof(void *));
    return answer;
}

static size_t value_bytes(const struct ipex_value *value) {
    return (size_t)ipex_value_numel(value) * ipex_dtype_size(value->dtype);
}

/* splitmix64 (public domain, Steele, Lea, Flood 2014) */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Sum of twelve uniform 21-bit numbers: standard normal to the third moment, and exact integer
 * arithmetic. */
static float next_normal(uint64_t *state) {
    int64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t r = next_random(state);
        sum +=
            (int64_t)(r & 0x1fffff) + (int64_t)(r >> 21 & 0x1fffff) + (int64_t)(r >> 42 & 0x1fffff);
    }
    return (float)(sum - 6 * 0x200000) * 0x1p-21f;
}

/* Fills an input with numbers that networks take: f32 standard normal, 8 bits any value (a pixel, a
 * quantised number), wider integers 0 or 1, because they are indices (tokens, segments) and masks
 * and those two are right in all of them. */
static void fill(void *data, const struct ipex_value *value, uint64_t *seed) {
    const int64_t n = ipex_value_numel(value);
    const unsigned size = ipex_dtype_size(value->dtype);
    for (int64_t k = 0; k < n; k++) {
        if (value->dtype == IPEX_DTYPE_f32) {
            ((float *)data)[k] = next_normal(seed);
            continue;
        }
        const bool any = value->dtype == IPEX_DTYPE_u8 || value->dtype == IPEX_DTYPE_i8;
        const uint64_t number = next_random(seed) >> (any ? 56 : 63);
        memcpy((uint8_t *)data + k * size, &number, size); /* little-endian: the low bytes */
    }
}

enum ipex_status ipex_golden_compute(struct ipex_golden_set *set, struct ipex_graph *graph,
                                     int64_t count, const struct ipex_report *report) {
    struct ipex_evaluator evaluator;
    uint64_t seed = 1;
    enum ipex_status status = IPEX_OK;
    for (struct ipex_node *node = graph->first; node; node = node->next)
        if (node->kind == IPEX_KIND_affine)
            ipex_affine_to_pointwise(graph, node);
    IPEX_TRY(ipex_evaluator_open(&evaluator, graph, report));
    for (int64_t n = 0; n < count && status == IPEX_OK; n++) {
        struct ipex_golden *answer = add_answer(set, graph, "self");
        for (size_t i = 0; i < graph->inputs; i++) {
            answer->input[i] = ipex_alloc(value_bytes(graph->input[i]));
            fill(answer->input[i], graph->input[i], &seed);
        }
        for (size_t i = 0; i < graph->outputs; i++)
            answer->output[i] = ipex_alloc(value_bytes(graph->output[i]));
        status = ipex_evaluator_run(&evaluator, graph, answer->input, answer->output, report);
    }
    ipex_evaluator_close(&evaluator);
    return status;
}

static enum ipex_status read_port(const char *path, const struct ipex_value *value, void **ret,
                                  const struct ipex_report *report) {
    struct ipex_tensor_data tensor;
    char given[128], wanted[128];
    IPEX_TRY(ipex_tensor_read(path, &tensor, report));
    bool fits = tensor.dtype == value->dtype && tensor.rank == value->rank &&
                !memcmp(tensor.dims, value->dims, (size_t)value->rank * sizeof *value->dims);
    if (fits) {
        *ret = ipex_alloc((size_t)tensor.size + 1);
        memcpy(*ret, tensor.data, (size_t)tensor.size);
    }
    ipex_shape_text(tensor.dtype, tensor.dims, tensor.rank, given, sizeof given);
    ipex_shape_text(value->dtype, value->dims, value->rank, wanted, sizeof wanted);
    ipex_tensor_data_finish(&tensor);
    IPEX_CHECK(fits, report, IPEX_ERROR_SHAPE, "%s holds %s, the model's %s is %s", path, given,
               value->name, wanted);
    return IPEX_OK;
}

/* The file of a port: KIND_INDEX.pb, else NAME.npy with the characters that `run` replaces. False
 * when neither exists. */
static bool find_file(const char *folder, const char *kind, size_t index,
                      const struct ipex_value *value, char *path, size_t size) {
    snprintf(path, size, "%s/%s_%zu.pb", folder, kind, index);
    if (!access(path, F_OK))
        return true;
    size_t at = (size_t)snprintf(path, size, "%s/", folder);
    for (const char *c = value->name; *c && at + 5 < size; c++)
        path[at++] = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
                             (*c >= 'a' && *c <= 'z') || strchr("._-", *c)
                         ? *c
                         : '_';
    snprintf(path + at, size - at, ".npy");
    return !access(path, F_OK);
}

/* Who computed the answers of a folder: the word in its origin.txt. Untouched without that file. */
static enum ipex_status read_origin(const char *folder, const char **ret_origin,
                                    const struct ipex_report *report) {
    static const char *const known[] = {"given", "upstream", "onnxruntime", "torch"};
    char path[4096], word[32] = "";
    snprintf(path, sizeof path, "%s/origin.txt", folder);
    FILE *file = fopen(path, "r");
    if (!file && errno == ENOENT)
        return IPEX_OK;
    IPEX_CHECK(file, report, IPEX_ERROR_FILE_IO, "%s: %s", path, strerror(errno));
    const bool read = fscanf(file, "%31s", word) == 1;
    fclose(file);
    for (size_t i = 0; read && i < sizeof known / sizeof *known; i++)
        if (!strcmp(word, known[i])) {
            *ret_origin = known[i];
            return IPEX_OK;
        }
    IPEX_CHECK(false, report, IPEX_ERROR_FILE_IO,
               "%s says '%s'; given, upstream, onnxruntime or torch is expected", path, word);
}

enum ipex_status ipex_golden_read(struct ipex_golden_set *set, const struct ipex_graph *graph,
                                  const char *folder, const struct ipex_report *report) {
    char path[4096];
    size_t found = 0;
    const char *origin = "given";
    IPEX_TRY(read_origin(folder, &origin, report));
    struct ipex_golden *answer = add_answer(set, graph, origin);
    for (size_t i = 0; i < graph->inputs; i++) {
        IPEX_CHECK(find_file(folder, "input", i, graph->input[i], path, sizeof path), report,
                   IPEX_ERROR_FILE_IO, "%s has neither input_%u.pb nor %s.npy for input %s", folder,
                   (unsigned)i, graph->input[i]->name, graph->input[i]->name);
        IPEX_TRY(read_port(path, graph->input[i], &answer->input[i], report));
    }
    for (size_t i = 0; i < graph->outputs; i++)
        if (find_file(folder, "output", i, graph->output[i], path, sizeof path)) {
            IPEX_TRY(read_port(path, graph->output[i], &answer->output[i], report));
            found++;
        }
    IPEX_CHECK(found, report, IPEX_ERROR_FILE_IO,
               "%s has no output_*.pb and no .npy file named after an output", folder);
    return IPEX_OK;
}

static int32_t store(struct ipex_plan *plan, const struct ipex_value *value, const void *data,
                     size_t answer) {
    struct ipex_plan_weight w = {
        .name = ipex_arena_printf(plan->arena, "answer %zu %s", answer, value->name),
        .dtype = value->dtype,
        .layout = IPEX_LAYOUT_plain,
        .rank = value->rank,
        .section = 1,
        .recipe = IPEX_RECIPE_bytes,
        .data = data};
    memcpy(w.dims, value->dims, sizeof w.dims);
    return data ? ipex_plan_add_weight(plan, &w) : -1;
}

void ipex_golden_store(const struct ipex_golden_set *set, const struct ipex_graph *graph,
                       struct ipex_plan *plan) {
    plan->answers = set->answers;
    plan->answer = ipex_alloc((set->answers + 1) * sizeof *plan->answer);
    for (size_t n = 0; n < set->answers; n++) {
        struct ipex_plan_answer *answer = &plan->answer[n];
        answer->origin = set->answer[n].origin;
        answer->input = ipex_arena_array(plan->arena, graph->inputs + 1, sizeof *answer->input);
        answer->output = ipex_arena_array(plan->arena, graph->outputs + 1, sizeof *answer->output);
        for (size_t i = 0; i < graph->inputs; i++)
            answer->input[i] = store(plan, graph->input[i], set->answer[n].input[i], n);
        for (size_t i = 0; i < graph->outputs; i++)
            answer->output[i] = store(plan, graph->output[i], set->answer[n].output[i], n);
    }
}
