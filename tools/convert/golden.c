/* SPDX-License-Identifier: Apache-2.0 */
/* Known answers: computed on the graph as imported, or read from files. */
#include "tools/convert/golden.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/convert/evaluate.h"
#include "tools/convert/passes.h"
#include "tools/progress.h"

void ipex_golden_finish(struct ipex_golden_set *set) {
    for (size_t i = 0; i < set->answers; i++) {
        for (size_t k = 0; k < set->inputs; k++)
            ipex_tensor_data_finish(&set->answer[i].input[k]);
        for (size_t k = 0; k < set->outputs; k++)
            ipex_tensor_data_finish(&set->answer[i].output[k]);
        free(set->answer[i].input);
        free(set->answer[i].output);
    }
    free(set->answer);
    *set = (struct ipex_golden_set){0};
}

static void *alloc_zeroed(size_t count, size_t size) {
    void *memory = ipex_alloc((count + 1) * size);
    memset(memory, 0, (count + 1) * size);
    return memory;
}

static struct ipex_golden *add_answer(struct ipex_golden_set *set, const struct ipex_graph *graph,
                                      const char *origin) {
    set->inputs = graph->inputs;
    set->outputs = graph->outputs;
    set->answer = ipex_grow(set->answer, &set->capacity, set->answers + 1, sizeof *set->answer);
    struct ipex_golden *answer = &set->answer[set->answers++];
    answer->origin = origin;
    answer->input = alloc_zeroed(graph->inputs, sizeof *answer->input);
    answer->output = alloc_zeroed(graph->outputs, sizeof *answer->output);
    return answer;
}

/* ---- sizes ---- */

/* Rounded down. */
static int64_t square_root(int64_t n) {
    int64_t root = 0;
    for (int64_t bit = (int64_t)1 << 31; bit; bit >>= 1)
        if ((root + bit) * (root + bit) <= n)
            root += bit;
    return root;
}

/* Sizes spread over the range on a geometric scale, in whole numbers so that they are the same on
 * every machine: the lowest, then half way to the highest, a quarter, three quarters, an eighth ...
 * (the bits of `number` say which half to go on in). */
static int64_t spread(const struct ipex_symbol *symbol, uint64_t number) {
    int64_t lo = symbol->lo, hi = symbol->hi;
    for (; number; number >>= 1) {
        const int64_t middle = square_root(lo * hi);
        if (number & 1)
            lo = middle;
        else
            hi = middle;
    }
    const int64_t size = lo / symbol->step * symbol->step;
    return size < symbol->lo ? symbol->lo : size;
}

/* The sizes of the n-th computed answer: all at their lowest first, and then none where another one
 * is. */
static void choose_sizes(const struct ipex_dims *dims, uint64_t n, int64_t *ret) {
    for (size_t i = 0; i < dims->symbols; i++)
        ret[i] = spread(&dims->symbol[i], n ? n + i : 0);
}

static enum ipex_status make_tensor(struct ipex_tensor_data *ret, const struct ipex_graph *graph,
                                    const struct ipex_value *value, const int64_t *symbols,
                                    const struct ipex_report *report) {
    int64_t dims[IPEX_MAX_RANK];
    for (int32_t i = 0; i < value->rank; i++)
        dims[i] = ipex_dim_value(&graph->dims, value->dims[i], symbols);
    IPEX_CHECK(ipex_tensor_data_init(ret, value->dtype, dims, value->rank), report,
               IPEX_ERROR_SHAPE, "%s has no valid shape at the sizes of an answer", value->name);
    return IPEX_OK;
}

/* ---- computing ---- */

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
static void fill(struct ipex_tensor_data *tensor, uint64_t *seed) {
    const unsigned size = ipex_dtype_size(tensor->dtype);
    for (uint64_t at = 0; at < tensor->size; at += size) {
        if (tensor->dtype == IPEX_DTYPE_f32) {
            *(float *)(void *)(tensor->data + at) = next_normal(seed);
            continue;
        }
        const bool any = tensor->dtype == IPEX_DTYPE_u8 || tensor->dtype == IPEX_DTYPE_i8;
        const uint64_t number = next_random(seed) >> (any ? 56 : 63);
        memcpy(tensor->data + at, &number, size); /* little-endian: the low bytes */
    }
}

static enum ipex_status compute_one(struct ipex_golden *answer, struct ipex_evaluator *evaluator,
                                    const struct ipex_graph *graph, const int64_t *symbols,
                                    uint64_t *seed, const struct ipex_report *report) {
    void **data = ipex_alloc((graph->inputs + graph->outputs + 1) * sizeof *data);
    enum ipex_status status = IPEX_OK;
    for (size_t i = 0; i < graph->inputs && status == IPEX_OK; i++) {
        status = make_tensor(&answer->input[i], graph, graph->input[i], symbols, report);
        if (status == IPEX_OK)
            fill(&answer->input[i], seed);
        data[i] = answer->input[i].data;
    }
    for (size_t i = 0; i < graph->outputs && status == IPEX_OK; i++) {
        status = make_tensor(&answer->output[i], graph, graph->output[i], symbols, report);
        data[graph->inputs + i] = answer->output[i].data;
    }
    if (status == IPEX_OK)
        status = ipex_evaluator_run(evaluator, graph, symbols, data, data + graph->inputs, report);
    free(data);
    return status;
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
    int64_t *symbols = alloc_zeroed(graph->dims.symbols, sizeof *symbols);
    for (int64_t n = 0; n < count && status == IPEX_OK; n++) {
        ipex_progress_say("known answer %lld of %lld", (long long)n + 1, (long long)count);
        choose_sizes(&graph->dims, (uint64_t)n, symbols);
        status =
            compute_one(add_answer(set, graph, "self"), &evaluator, graph, symbols, &seed, report);
    }
    free(symbols);
    ipex_evaluator_close(&evaluator);
    return status;
}

/* ---- reading ---- */

/* Reads an answer's tensors and finds its sizes by its inputs. */
struct reader {
    const struct ipex_graph *graph;
    const char *folder;
    const struct ipex_report *report;
    int64_t *symbols; /* 0: not known yet */
    struct ipex_arena arena;
};

/* "2x3x16x16 f32", or "n x 3 x h x w f32". */
static void wanted_text(const struct ipex_graph *graph, const struct ipex_value *value, char *ret,
                        size_t size) {
    bool varies = false;
    for (int32_t i = 0; i < value->rank; i++)
        varies = varies || value->dims[i] < 0;
    if (!varies) {
        ipex_shape_text(value->dtype, value->dims, value->rank, ret, size);
        return;
    }
    size_t length = 0;
    for (int32_t i = 0; i < value->rank && length < size; i++)
        length += (size_t)snprintf(ret + length, size - length, "%s%s", i ? " x " : "",
                                   ipex_dim_text(&graph->dims, value->dims[i]));
    if (length < size)
        snprintf(ret + length, size - length, " %s", ipex_dtype_name(value->dtype));
}

/* The first input axis that is a symbol decides it. */
static enum ipex_status bind_axis(struct reader *r, const char *path, int32_t symbol, int32_t axis,
                                  int64_t dim) {
    const struct ipex_symbol *s = &r->graph->dims.symbol[symbol];
    IPEX_CHECK(dim >= s->lo && dim <= s->hi && dim % s->step == 0, r->report, IPEX_ERROR_SHAPE,
               "%s: axis %d is %lld, but %s goes from %lld to %lld step %lld", path, axis,
               (long long)dim, s->name, (long long)s->lo, (long long)s->hi, (long long)s->step);
    IPEX_CHECK(!r->symbols[symbol] || r->symbols[symbol] == dim, r->report, IPEX_ERROR_SHAPE,
               "%s: axis %d is %lld, but %s is %lld by another input", path, axis, (long long)dim,
               s->name, (long long)r->symbols[symbol]);
    r->symbols[symbol] = dim;
    return IPEX_OK;
}

/* Whether a tensor is what the value is at these sizes; an input decides those not known yet. */
static enum ipex_status check_tensor(struct reader *r, const char *path,
                                     const struct ipex_tensor_data *tensor,
                                     const struct ipex_value *value, bool is_input) {
    const struct ipex_dims *dims = &r->graph->dims;
    char given[128], wanted[512];
    bool fits = tensor->dtype == value->dtype && tensor->rank == value->rank;
    for (int32_t i = 0; fits && is_input && i < value->rank; i++) {
        const int32_t symbol = ipex_dim_is_symbol(dims, value->dims[i]);
        if (symbol >= 0)
            IPEX_TRY(bind_axis(r, path, symbol, i, tensor->dims[i]));
    }
    for (int32_t i = 0; fits && i < value->rank; i++)
        fits = tensor->dims[i] == ipex_dim_value(dims, value->dims[i], r->symbols);
    ipex_shape_text(tensor->dtype, tensor->dims, tensor->rank, given, sizeof given);
    IPEX_CHECK(tensor->dtype != IPEX_DTYPE_f16 && tensor->dtype != IPEX_DTYPE_bf16, r->report,
               IPEX_ERROR_DTYPE,
               "%s: %s %s: f32 in the file, but this holds %s; give its answers in f32", path,
               is_input ? "input" : "output", value->name, given);
    wanted_text(r->graph, value, wanted, sizeof wanted);
    IPEX_CHECK(fits, r->report, IPEX_ERROR_SHAPE, "%s holds %s, the model's %s is %s", path, given,
               value->name, wanted);
    return IPEX_OK;
}

const char *ipex_golden_find_file(struct ipex_arena *arena, const char *folder, const char *kind,
                                  size_t index, const char *name) {
    const char *path = ipex_arena_printf(arena, "%s/%s_%zu.pb", folder, kind, index);
    if (access(path, F_OK))
        path = ipex_tensor_path(arena, folder, name);
    return access(path, F_OK) ? NULL : path;
}

/* Who computed the answers of a folder: the word in its origin.txt. Untouched without that file. */
static enum ipex_status read_origin(struct reader *r, const char **ret_origin) {
    static const char *const known[] = {"given", "upstream", "onnxruntime", "torch"};
    char word[32] = "";
    struct stat status;
    IPEX_CHECK(!stat(r->folder, &status), r->report, IPEX_ERROR_FILE_IO, "%s: %s", r->folder,
               strerror(errno));
    IPEX_CHECK(S_ISDIR(status.st_mode), r->report, IPEX_ERROR_FILE_IO, "%s is no folder",
               r->folder);
    const char *path = ipex_arena_printf(&r->arena, "%s/origin.txt", r->folder);
    FILE *file = fopen(path, "r");
    if (!file && errno == ENOENT)
        return IPEX_OK;
    IPEX_CHECK(file, r->report, IPEX_ERROR_FILE_IO, "%s: %s", path, strerror(errno));
    const bool read = fscanf(file, "%31s", word) == 1;
    fclose(file);
    for (size_t i = 0; read && i < sizeof known / sizeof *known; i++)
        if (!strcmp(word, known[i])) {
            *ret_origin = known[i];
            return IPEX_OK;
        }
    IPEX_CHECK(false, r->report, IPEX_ERROR_FILE_IO,
               "%s says '%s'; given, upstream, onnxruntime or torch is expected", path, word);
}

static enum ipex_status read_inputs(struct reader *r, struct ipex_golden *answer) {
    for (size_t i = 0; i < r->graph->inputs; i++) {
        const struct ipex_value *value = r->graph->input[i];
        const char *path = ipex_golden_find_file(&r->arena, r->folder, "input", i, value->name);
        IPEX_CHECK(path, r->report, IPEX_ERROR_FILE_IO,
                   "%s has neither input_%u.pb nor %s.npy for input %s", r->folder, (unsigned)i,
                   value->name, value->name);
        IPEX_TRY(ipex_tensor_read(path, &answer->input[i], r->report));
        IPEX_TRY(check_tensor(r, path, &answer->input[i], value, true));
    }
    return IPEX_OK;
}

static enum ipex_status read_outputs(struct reader *r, struct ipex_golden *answer) {
    size_t found = 0;
    for (size_t i = 0; i < r->graph->outputs; i++) {
        const struct ipex_value *value = r->graph->output[i];
        const char *path = ipex_golden_find_file(&r->arena, r->folder, "output", i, value->name);
        if (!path)
            continue;
        IPEX_TRY(ipex_tensor_read(path, &answer->output[i], r->report));
        IPEX_TRY(check_tensor(r, path, &answer->output[i], value, false));
        found++;
    }
    IPEX_CHECK(found, r->report, IPEX_ERROR_FILE_IO,
               "%s has no output_*.pb and no .npy file named after an output", r->folder);
    return IPEX_OK;
}

enum ipex_status ipex_golden_read(struct ipex_golden_set *set, const struct ipex_graph *graph,
                                  const char *folder, const struct ipex_report *report) {
    const char *origin = "given";
    struct reader reader = {.graph = graph, .folder = folder, .report = report};
    reader.symbols = ipex_arena_array(&reader.arena, graph->dims.symbols, sizeof *reader.symbols);
    enum ipex_status status = read_origin(&reader, &origin);
    if (status == IPEX_OK) {
        struct ipex_golden *answer = add_answer(set, graph, origin);
        status = read_inputs(&reader, answer);
        if (status == IPEX_OK)
            status = read_outputs(&reader, answer);
    }
    ipex_arena_finish(&reader.arena);
    return status;
}

/* ---- storing ---- */

static int32_t store(struct ipex_plan *plan, const struct ipex_value *value,
                     const struct ipex_tensor_data *tensor, size_t answer) {
    struct ipex_plan_weight w = {
        .name = ipex_arena_printf(plan->arena, "answer %zu %s", answer, value->name),
        .dtype = value->dtype,
        .layout = IPEX_LAYOUT_plain,
        .rank = value->rank,
        .section = 1,
        .recipe = IPEX_RECIPE_bytes,
        .data = tensor->data};
    memcpy(w.dims, tensor->dims, sizeof w.dims);
    return tensor->data ? ipex_plan_add_weight(plan, &w) : -1;
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
            answer->input[i] = store(plan, graph->input[i], &set->answer[n].input[i], n);
        for (size_t i = 0; i < graph->outputs; i++)
            answer->output[i] = store(plan, graph->output[i], &set->answer[n].output[i], n);
    }
}
