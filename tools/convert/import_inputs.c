/* SPDX-License-Identifier: Apache-2.0 */
/* The graph's inputs: their dims from the model, --dim, --input and --const; what is missing or
 * contradictory is listed at once, with flags to paste. */
#include "tools/convert/import_scope.h"

#include <string.h>

/* A growing text in the graph's arena. */
static void append(struct ipex_graph *graph, const char **text, const char *line) {
    *text = *text ? ipex_arena_printf(&graph->arena, "%s%s", *text, line) : line;
}

static struct ipex_dim_option *find_dim(struct ipex_import_options *options, const char *symbol) {
    for (size_t i = 0; i < options->dims; i++)
        if (!strcmp(options->dim[i].name, symbol)) {
            options->dim[i].used = true;
            return &options->dim[i];
        }
    return NULL;
}

/* Before names in flags to paste. */
static const char *flag_prefix(const struct ipex_import_options *options) {
    return options->prefix ? options->prefix : "";
}

struct dims_state {
    struct ipex_import *import;
    struct ipex_import_options *options;
    const char *missing; /* lines of flags to paste */
    const char *wrong;   /* contradictions */
};

/* A symbol bound by --input counts for every other place where it stands, so bindings are
 * remembered as if given by --dim. */
static void remember_dim(struct dims_state *state, const char *symbol, int64_t lo, int64_t hi) {
    struct ipex_import_options *options = state->options;
    struct ipex_graph *graph = state->import->graph;
    const struct ipex_dim_option *known = find_dim(options, symbol);
    if (known) {
        if (lo == hi && (known->lo != lo || known->hi != hi))
            append(graph, &state->wrong,
                   ipex_arena_printf(
                       &graph->arena, "  dimension %s is given both as %lld..%lld and as %lld\n",
                       symbol, (long long)known->lo, (long long)known->hi, (long long)lo));
        return;
    }
    struct ipex_dim_option *dim = ipex_arena_array(&graph->arena, options->dims + 1, sizeof *dim);
    if (options->dims)
        memcpy(dim, options->dim, options->dims * sizeof *dim);
    dim[options->dims] =
        (struct ipex_dim_option){.name = symbol, .lo = lo, .hi = hi, .step = 1, .used = true};
    options->dim = dim;
    options->dims++;
}

/* The name of a dimension, or INPUT[AXIS] where it has none. Some exporters write "?" for every one
 * that they do not know. */
static const char *symbol_of(struct ipex_graph *graph, const struct ipex_onnx_value *input,
                             int32_t axis) {
    const char *name = input->params[axis];
    return *name && strcmp(name, "?")
               ? name
               : ipex_arena_printf(&graph->arena, "%s[%d]", input->name, axis);
}

/* The first input and axis whose dimension has this name; NULL where there is none. */
static const struct ipex_onnx_value *input_with(struct dims_state *state, const char *symbol,
                                                int32_t *ret_axis) {
    const struct ipex_onnx_graph *source = &state->import->model->graph;
    for (size_t i = 0; i < source->inputs; i++)
        for (int32_t axis = 0; axis < source->input[i].rank; axis++)
            if (source->input[i].dims[axis] < 0 && !strcmp(source->input[i].params[axis], symbol)) {
                *ret_axis = axis;
                return &source->input[i];
            }
    return NULL;
}

static bool is_known_symbol(struct dims_state *state, const char *symbol) {
    int32_t axis;
    for (size_t i = 0; i < state->options->dims; i++)
        if (!strcmp(state->options->dim[i].name, symbol))
            return true;
    return input_with(state, symbol, &axis) != NULL;
}

static bool is_sum(struct dims_state *state, const char *symbol);

/* The name, or the sum, that stands for this one by --dim NAME=OTHER. */
static const char *canonical(struct dims_state *state, const char *symbol) {
    const char *name = symbol, *same = "";
    for (size_t i = 0; i <= state->options->dims; i++) {
        const struct ipex_dim_option *option = find_dim(state->options, name);
        if (!option || !option->same)
            return name;
        same = option->same;
        if (is_sum(state, same))
            return same;
        if (!is_known_symbol(state, same))
            break;
        name = same;
    }
    append(state->import->graph, &state->wrong,
           ipex_arena_printf(&state->import->graph->arena,
                             "  --dim %s=%s: nothing says what size %s has\n", name, same, same));
    return symbol;
}

static const char *symbol_in(struct dims_state *state, const struct ipex_onnx_value *input,
                             int32_t axis) {
    return canonical(state, symbol_of(state->import->graph, input, axis));
}

static struct ipex_shape_option *find_shape(struct dims_state *state, const char *name) {
    for (size_t i = 0; i < state->options->shapes; i++)
        if (!strcmp(state->options->shape[i].name, name))
            return &state->options->shape[i];
    return NULL;
}

/* First pass over an input: checks its --input option and remembers what that says of symbols. */
static void apply_shape(struct dims_state *state, const struct ipex_onnx_value *input) {
    struct ipex_graph *graph = state->import->graph;
    struct ipex_shape_option *shape = find_shape(state, input->name);
    const struct ipex_const_option *given = ipex_import_find_given(state->options, input->name);
    for (int32_t i = 0; given && given->is_file && i < input->rank && i < given->tensor.rank; i++)
        if (input->dims[i] < 0)
            remember_dim(state, symbol_in(state, input, i), given->tensor.dims[i],
                         given->tensor.dims[i]);
    if (!shape)
        return;
    shape->used = true;
    if (input->rank >= 0 && shape->rank != input->rank) {
        append(graph, &state->wrong,
               ipex_arena_printf(&graph->arena, "  --input %s has %d dims, the model says %d\n",
                                 input->name, shape->rank, input->rank));
        return;
    }
    for (int32_t i = 0; i < input->rank; i++) {
        if (input->dims[i] < 0)
            remember_dim(state, symbol_in(state, input, i), shape->dims[i], shape->dims[i]);
        else if (input->dims[i] != shape->dims[i])
            append(graph, &state->wrong,
                   ipex_arena_printf(
                       &graph->arena, "  --input %s: dim %d is %lld in the model, %lld was given\n",
                       input->name, i, (long long)input->dims[i], (long long)shape->dims[i]));
    }
}

/* Batches from 1 to this many where nothing is said. */
#define DEFAULT_BATCH 8

/* ---- sums of symbols: exporters name a dimension "past + 1" ---- */

static const char *skip_spaces(const char *text) {
    while (*text == ' ')
        text++;
    return text;
}

/* The next part of "a + b + 1" goes to *ret, without spaces around it; what is behind its "+", NULL
 * at the end. */
static const char *next_part(struct ipex_graph *graph, const char *text, const char **ret) {
    text = skip_spaces(text);
    const char *plus = strchr(text, '+');
    size_t length = plus ? (size_t)(plus - text) : strlen(text);
    while (length && text[length - 1] == ' ')
        length--;
    *ret = ipex_arena_strndup(&graph->arena, text, length);
    return plus ? plus + 1 : NULL;
}

/* A part's number, -1 where it is none. */
static int64_t part_number(const char *part) {
    int64_t number = 0;
    for (const char *digit = part; *digit; digit++) {
        if (*digit < '0' || *digit > '9' || number > IPEX_MAX_DIM)
            return -1;
        number = number * 10 + (*digit - '0');
    }
    return *part && number <= IPEX_MAX_DIM ? number : -1;
}

#define MOST_PARTS 8

/* A sum of numbers and of symbols that stand on their own somewhere. */
static bool is_sum(struct dims_state *state, const char *symbol) {
    const char *part, *rest = symbol;
    int parts = 0, names = 0;
    for (; rest && parts < MOST_PARTS; parts++) {
        rest = next_part(state->import->graph, rest, &part);
        if (part_number(part) >= 0)
            continue;
        if (!*part || strchr(part, ' ') || !is_known_symbol(state, part))
            return false;
        names++;
    }
    return !rest && parts > 1 && names > 0;
}

static int64_t resolve_dim(struct dims_state *state, const struct ipex_onnx_value *input,
                           int32_t axis);

#define MOST_SUMS 8 /* within each other */

static int64_t resolve_sum(struct dims_state *state, const char *symbol, int depth) {
    struct ipex_graph *graph = state->import->graph;
    const char *part, *rest = symbol;
    int64_t sum = 0;
    if (depth == MOST_SUMS) {
        append(graph, &state->wrong,
               ipex_arena_printf(&graph->arena, "  --dim: %s is a sum of itself\n", symbol));
        return 1;
    }
    while (rest) {
        int32_t axis = 0;
        rest = next_part(graph, rest, &part);
        part = canonical(state, part);
        const struct ipex_onnx_value *first_with = input_with(state, part, &axis);
        const struct ipex_dim_option *option = find_dim(state->options, part);
        int64_t value = part_number(part);
        if (value < 0 && option)
            value = ipex_dim_symbol(&graph->dims, part, option->lo, option->hi, option->step);
        else if (value < 0)
            value = first_with ? resolve_dim(state, first_with, axis)
                               : resolve_sum(state, part, depth + 1);
        sum = ipex_dim_add(&graph->dims, sum, value);
    }
    return sum;
}

/* ---- dims ---- */

static int64_t resolve_dim(struct dims_state *state, const struct ipex_onnx_value *input,
                           int32_t axis) {
    struct ipex_graph *graph = state->import->graph;
    if (input->dims[axis] >= 0)
        return input->dims[axis];
    const char *symbol = symbol_in(state, input, axis);
    if (!find_dim(state->options, symbol) && is_sum(state, symbol))
        return resolve_sum(state, symbol, 0);
    if (axis == 0 && !find_dim(state->options, symbol)) { /* the batch */
        remember_dim(state, symbol, 1, DEFAULT_BATCH);
        append(graph, &state->import->notes,
               ipex_arena_printf(&graph->arena,
                                 "dimension %s of input %s was not given: 1..%d is used (--dim "
                                 "'%s%s=N' or LO..HI)\n",
                                 symbol, input->name, DEFAULT_BATCH, flag_prefix(state->options),
                                 symbol));
    }
    const struct ipex_dim_option *option = find_dim(state->options, symbol);
    if (option && option->same)
        return 1;
    if (option)
        return ipex_dim_symbol(&graph->dims, symbol, option->lo, option->hi, option->step);
    const char *flag = ipex_arena_printf(&graph->arena, "  --dim '%s%s=LO..HI' ",
                                         flag_prefix(state->options), symbol);
    if (!state->missing || !strstr(state->missing, flag)) /* once, where several inputs have it */
        append(graph, &state->missing,
               ipex_arena_printf(&graph->arena, "%s  (dim %d of input %s; or one number)\n", flag,
                                 axis, input->name));
    return 1;
}

const char *ipex_import_dims_wrong(const struct ipex_graph *graph, int32_t rank,
                                   const int64_t *dims) {
    static const char too_many[] = "too many elements";
    static const enum ipex_dim_place ends[] = {IPEX_DIM_LOWEST, IPEX_DIM_HIGHEST};
    for (size_t end = 0; end < sizeof ends / sizeof *ends; end++) {
        int64_t numel, number[IPEX_MAX_RANK];
        for (int32_t i = 0; i < rank; i++) {
            if (dims[i] == IPEX_DIM_NONE)
                return too_many;
            number[i] = ipex_dim_at(&graph->dims, dims[i], ends[end]);
            if (number[i] < 1)
                return "no elements";
        }
        if (!ipex_numel(number, (unsigned)rank, &numel))
            return too_many;
    }
    return NULL;
}

/* What a dim's name stands for: the model may use it for others. */
static void remember_symbol(struct dims_state *state, const struct ipex_onnx_value *input,
                            int32_t axis, int64_t dim) {
    struct ipex_import *import = state->import;
    if (input->rank < 0 || input->dims[axis] >= 0 || !*input->params[axis] ||
        !strcmp(input->params[axis], "?"))
        return;
    int64_t *kept = ipex_arena_array(&import->graph->arena, 1, sizeof *kept);
    *kept = dim;
    ipex_name_add(&import->symbols, input->params[axis])->value.pointer = kept;
}

static struct ipex_value *make_input(struct dims_state *state,
                                     const struct ipex_onnx_value *input) {
    struct ipex_import *import = state->import;
    struct ipex_shape_option *shape = find_shape(state, input->name);
    int64_t dims[IPEX_MAX_RANK] = {0};
    int32_t rank = input->rank >= 0 ? input->rank : shape ? shape->rank : -1;
    if (rank < 0 && input->type != 0)
        append(import->graph, &state->missing,
               ipex_arena_printf(&import->graph->arena,
                                 "  --input '%s%s=AxBxC'   (the model gives no shape)\n",
                                 flag_prefix(state->options), input->name));
    bool in_range = rank <= IPEX_MAX_RANK;
    for (int32_t i = 0; i < rank && i < IPEX_MAX_RANK; i++) {
        dims[i] = input->rank >= 0 ? resolve_dim(state, input, i) : shape->dims[i];
        remember_symbol(state, input, i, dims[i]);
        if (input->rank >= 0 && input->dims[i] < 0) /* a symbol, or what --dim says of it */
            continue;
        if (dims[i] >= 1 && dims[i] <= IPEX_MAX_DIM)
            continue;
        in_range = false;
        append(import->graph, &state->wrong,
               ipex_arena_printf(&import->graph->arena,
                                 "  input %s: dim %d is %lld; dims go from 1 to %lld\n",
                                 input->name, i, (long long)dims[i], (long long)IPEX_MAX_DIM));
    }
    const char *wrong =
        rank > 0 && in_range ? ipex_import_dims_wrong(import->graph, rank, dims) : NULL;
    if (wrong)
        append(import->graph, &state->wrong,
               ipex_arena_printf(&import->graph->arena, "  input %s: %s\n", input->name, wrong));
    struct ipex_value *value =
        ipex_graph_value(import->graph, input->name, ipex_import_dtype(input->type),
                         rank < 0 || rank > IPEX_MAX_RANK ? 0 : rank, dims);
    if (!ipex_import_runs(value->dtype) || input->type == IPEX_ONNX_DOUBLE ||
        rank > IPEX_MAX_RANK) {
        ipex_import_unsupported(import, input->name, "graph input",
                                rank > IPEX_MAX_RANK ? "has more than 8 dims"
                                : input->type == 0
                                    ? "is not a tensor, or has no type"
                                    : ipex_arena_printf(&import->graph->arena,
                                                        "its data type %s has no operators at run "
                                                        "time",
                                                        ipex_import_type_name(input->type)));
        value->dtype = IPEX_DTYPE_f32;
    }
    return value;
}

/* The constant that --const makes of an input; NULL without, or where it does not fit. */
static struct ipex_value *given_input(struct dims_state *state,
                                      const struct ipex_onnx_value *input) {
    struct ipex_graph *graph = state->import->graph;
    struct ipex_const_option *given = ipex_import_find_given(state->options, input->name);
    const char *wrong = NULL;
    if (!given)
        return NULL;
    struct ipex_value *value = ipex_import_given(state->import, input, given, &wrong);
    if (!value)
        append(graph, &state->wrong,
               ipex_arena_printf(&graph->arena, "  --const %s: %s\n", input->name, wrong));
    return value;
}

/* An option that named nothing. */
static void unused_option(struct dims_state *state, bool used, bool shared, const char *option,
                          const char *name, const char *why) {
    struct ipex_graph *graph = state->import->graph;
    if (!used && !shared)
        append(graph, &state->wrong,
               ipex_arena_printf(&graph->arena, "  %s %s: %s\n", option, name, why));
}

static void unused_options(struct dims_state *state) {
    static const char no_dim[] = "no input has a dimension of that name";
    static const char no_input[] = "the model has no input of that name";
    const struct ipex_import_options *options = state->options;
    for (size_t i = 0; i < options->dims; i++)
        unused_option(state, options->dim[i].used, options->dim[i].shared, "--dim",
                      options->dim[i].name, no_dim);
    for (size_t i = 0; i < options->shapes; i++)
        unused_option(state, options->shape[i].used, options->shape[i].shared, "--input",
                      options->shape[i].name, no_input);
    for (size_t i = 0; i < options->constants; i++)
        unused_option(state, options->constant[i].used, options->constant[i].shared, "--const",
                      options->constant[i].name, no_input);
}

static const char *describe_inputs(struct dims_state *state) {
    struct ipex_graph *graph = state->import->graph;
    const struct ipex_onnx_graph *source = &state->import->model->graph;
    const char *text = "the inputs are\n";
    for (size_t i = 0; i < source->inputs; i++) {
        const struct ipex_onnx_value *input = &source->input[i];
        if (ipex_import_lookup(state->import, input->name) &&
            ipex_import_lookup(state->import, input->name)->constant)
            continue;
        text = ipex_arena_printf(&graph->arena, "%s  %s [", text, input->name);
        for (int32_t k = 0; k < input->rank; k++)
            text = input->dims[k] >= 0
                       ? ipex_arena_printf(&graph->arena, "%s%s%lld", text, k ? ", " : "",
                                           (long long)input->dims[k])
                       : ipex_arena_printf(&graph->arena, "%s%s%s", text, k ? ", " : "",
                                           symbol_of(graph, input, k));
        text = ipex_arena_printf(&graph->arena, "%s%s]\n", text, input->rank < 0 ? "?" : "");
    }
    return text;
}

/* The name of a dim that is one symbol, the text of a number; NULL for other expressions. */
static const char *plain_size(struct ipex_import *import, int64_t dim) {
    int64_t number;
    const bool plain = ipex_dim_number(&import->graph->dims, dim, &number) ||
                       ipex_dim_is_symbol(&import->graph->dims, dim) >= 0;
    return plain ? ipex_import_text(import, dim) : NULL;
}

const char *ipex_import_make_equal(struct ipex_import *import, int64_t a, int64_t b) {
    struct ipex_arena *arena = &import->graph->arena;
    const char *name_a = plain_size(import, a), *name_b = plain_size(import, b);
    if (a >= 0 && b >= 0)
        return "";
    if (!name_a || !name_b)
        return "; they must be equal for all sizes: give these a step (--dim NAME=LO..HI:32), a "
               "lower HI or one number";
    if (a < 0 && b < 0)
        return ipex_arena_printf(
            arena, "; say that they are one size (--dim '%s=%s') or give both the same number",
            name_b, name_a);
    return ipex_arena_printf(arena, "; give --dim '%s=%s'", a < 0 ? name_a : name_b,
                             a < 0 ? name_b : name_a);
}

const char *ipex_import_make_larger(const struct ipex_import *import, int64_t dim) {
    int64_t number;
    return ipex_dim_number(&import->graph->dims, dim, &number)
               ? ""
               : ": give it a range that begins above (--dim NAME=LO..HI)";
}

/* A run gives values by name, and could give the second of two none. */
static void refuse_twins(struct ipex_import *import, const struct ipex_onnx_graph *source) {
    struct ipex_name_table names = {.arena = &import->graph->arena};
    for (size_t i = 0; i < source->inputs; i++) {
        struct ipex_name *name = ipex_name_add(&names, source->input[i].name);
        if (name->value.number++ == 1)
            ipex_import_unsupported(import, name->text, "graph input",
                                    "the model has several inputs of this name");
    }
}

bool ipex_import_inputs(struct ipex_import *import, struct ipex_import_options *options,
                        const char **ret_message) {
    const struct ipex_onnx_graph *source = &import->model->graph;
    struct ipex_graph *graph = import->graph;
    struct dims_state state = {.import = import, .options = options};
    refuse_twins(import, source);
    for (size_t i = 0; i < source->inputs; i++)
        if (!ipex_import_lookup(import, source->input[i].name))
            apply_shape(&state, &source->input[i]);
    graph->input = ipex_arena_array(&graph->arena, source->inputs + 1, sizeof(struct ipex_value *));
    for (size_t i = 0; i < source->inputs; i++) {
        if (ipex_import_lookup(
                import,
                source->input[i].name)) /* a default value: an initializer of the same name */
            continue;
        struct ipex_value *value = given_input(&state, &source->input[i]);
        if (!value) {
            value = make_input(&state, &source->input[i]);
            graph->input[graph->inputs++] = value;
        }
        ipex_import_bind(import, source->input[i].name, value);
    }
    unused_options(&state);
    if (state.wrong || state.missing) {
        *ret_message = ipex_arena_printf(
            &graph->arena, "%s%s%s%s%s",
            state.wrong ? "the sizes given do not fit the model:\n" : "",
            state.wrong ? state.wrong : "", state.missing ? "sizes are missing; give\n" : "",
            state.missing ? state.missing : "", describe_inputs(&state));
        return false;
    }
    return true;
}
