/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be converted: the list of it, and what stands in for results that nothing computes.
 * Where the shape of such a result is certain (the model says it, or it is that of the first
 * operand) a placeholder goes on, so that what is refused behind it is named too; a model with any
 * of them is refused in the end, so none ever reaches a file. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/convert/import_half.h"
#include "tools/convert/import_scope.h"

void ipex_import_unsupported(struct ipex_import *import, const char *node, const char *op,
                             const char *reason) {
    import->unsupported = ipex_grow(import->unsupported, &import->unsupported_capacity,
                                    import->unsupported_count + 1, sizeof *import->unsupported);
    import->unsupported[import->unsupported_count++] =
        (struct ipex_unsupported){.node = node, .op = op, .reason = reason};
}

void ipex_import_refuse(struct ipex_import *import, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    ipex_import_unsupported(import, import->label, import->node->op_type,
                            ipex_arena_strdup(&import->graph->arena, text));
    ipex_import_outputs_unknown(import);
}

/* ---- results that nothing computes ---- */

static void declare(struct ipex_import *import, const struct ipex_onnx_value *value, size_t count) {
    for (size_t i = 0; i < count; i++)
        ipex_name_add(&import->declared, value[i].name)->value.pointer =
            (void *)(uintptr_t)&value[i];
}

/* What the model itself says of a value; NULL where it says nothing. */
static const struct ipex_onnx_value *declared(struct ipex_import *import, const char *name) {
    const struct ipex_onnx_graph *source = &import->model->graph;
    if (!import->declared.arena) {
        import->declared.arena = &import->graph->arena;
        declare(import, source->output, source->outputs);
        declare(import, source->value, source->values);
    }
    const struct ipex_name *known = ipex_name_find(&import->declared, name);
    return known ? known->value.pointer : NULL;
}

/* Its dims, where all are numbers or symbols of the inputs. */
static bool declared_dims(struct ipex_import *import, const struct ipex_onnx_value *value,
                          int64_t *ret) {
    if (value->rank < 0 || value->rank > IPEX_MAX_RANK)
        return false;
    for (int32_t i = 0; i < value->rank; i++) {
        const struct ipex_name *symbol =
            value->dims[i] < 0 ? ipex_name_find(&import->symbols, value->params[i]) : NULL;
        ret[i] = symbol ? *(const int64_t *)symbol->value.pointer : value->dims[i];
        if (!symbol && (ret[i] < 1 || ret[i] > IPEX_MAX_DIM))
            return false;
    }
    return !ipex_import_dims_wrong(import->graph, value->rank, ret);
}

/* Operators whose result has the first operand's shape. */
static bool keeps_shape(const char *op_type) {
    static const char *const names[] = {"BatchNormalization",
                                        "Bernoulli",
                                        "CumSum",
                                        "Dropout",
                                        "GroupNormalization",
                                        "Hardmax",
                                        "InstanceNormalization",
                                        "LRN",
                                        "LayerNormalization",
                                        "LogSoftmax",
                                        "LpNormalization",
                                        "MeanVarianceNormalization",
                                        "RMSNormalization",
                                        "RandomNormalLike",
                                        "RandomUniformLike",
                                        "RotaryEmbedding",
                                        "ScatterElements",
                                        "ScatterND",
                                        "Softmax",
                                        "Trilu"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], op_type))
            return true;
    return false;
}

/* Of constants alone it would be a constant, which decides more than a shape. */
static bool of_the_run(const struct ipex_import *import) {
    for (size_t i = 0; i < import->node->inputs; i++) {
        const struct ipex_value *x = ipex_import_in(import, i);
        if (x && !x->constant && !x->ints)
            return true;
    }
    return false;
}

/* f32 of a shape that is certain; false where there is none. */
static bool find_shape(struct ipex_import *import, size_t i, int32_t *rank, int64_t *dims) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    const struct ipex_onnx_value *said = declared(import, import->node->output[i]);
    if (!of_the_run(import))
        return false;
    if (said && (said->type == IPEX_ONNX_FLOAT || ipex_import_is_half(said->type)) &&
        declared_dims(import, said, dims)) {
        *rank = said->rank;
        return true;
    }
    if (i || !x || x->unknown || x->empty || x->dtype != IPEX_DTYPE_f32 || *import->node->domain ||
        !keeps_shape(import->node->op_type))
        return false;
    *rank = x->rank;
    memcpy(dims, x->dims, sizeof x->dims);
    return true;
}

void ipex_import_outputs_unknown(struct ipex_import *import) {
    for (size_t i = 0; i < import->node->outputs; i++) {
        int32_t rank = 0;
        int64_t dims[IPEX_MAX_RANK];
        if (!*import->node->output[i])
            continue;
        const bool placeholder = find_shape(import, i, &rank, dims);
        struct ipex_value *value = ipex_graph_value(import->graph, import->node->output[i],
                                                    IPEX_DTYPE_f32, placeholder ? rank : 0, dims);
        value->unknown = !placeholder;
        value->placeholder = placeholder;
        ipex_import_bind(import, import->node->output[i], value);
    }
}

/* ---- the list ---- */

#define SITES_NAMED 3 /* of more that have one reason in common */

/* Those that share operator and reason, in the order of the first of each. */
struct group {
    const struct ipex_unsupported *site[SITES_NAMED];
    size_t sites;
};

static size_t group_them(struct ipex_import *import, struct group *group) {
    struct ipex_arena *arena = &import->graph->arena;
    struct ipex_name_table table = {.arena = arena};
    size_t groups = 0;
    for (size_t i = 0; i < import->unsupported_count; i++) {
        const struct ipex_unsupported *site = &import->unsupported[i];
        struct ipex_name *name =
            ipex_name_add(&table, ipex_arena_printf(arena, "%s\n%s", site->op, site->reason));
        if (!name->value.number)
            name->value.number = (uint32_t)++groups;
        struct group *one = &group[name->value.number - 1];
        if (one->sites < SITES_NAMED)
            one->site[one->sites] = site;
        one->sites++;
    }
    return groups;
}

static const char *site_line(struct ipex_arena *arena, const struct ipex_unsupported *site) {
    return ipex_arena_printf(arena, "  %s (%s): %s\n", site->node, site->op, site->reason);
}

/* Its lines; their number. */
static size_t group_lines(struct ipex_arena *arena, const struct group *group, const char **line) {
    if (group->sites > SITES_NAMED) {
        *line =
            ipex_arena_printf(arena, "  %s (%zu sites: first %s, %s, %s, ...): %s\n",
                              group->site[0]->op, group->sites, group->site[0]->node,
                              group->site[1]->node, group->site[2]->node, group->site[0]->reason);
        return 1;
    }
    for (size_t i = 0; i < group->sites; i++)
        line[i] = site_line(arena, group->site[i]);
    return group->sites;
}

static const char *concatenated(struct ipex_arena *arena, const char *const *line, size_t lines) {
    size_t size = 1, at = 0;
    for (size_t i = 0; i < lines; i++)
        size += strlen(line[i]);
    char *text = ipex_arena_alloc(arena, size);
    for (size_t i = 0; i < lines; at += strlen(line[i++]))
        memcpy(text + at, line[i], strlen(line[i]));
    return text;
}

const char *ipex_import_list(struct ipex_import *import, bool every_site) {
    struct ipex_arena *arena = &import->graph->arena;
    const size_t count = import->unsupported_count;
    const char **line = ipex_arena_array(arena, count + 1, sizeof *line);
    struct group *group = ipex_arena_array(arena, count, sizeof *group);
    const size_t groups = every_site ? 0 : group_them(import, group);
    size_t lines = 0;
    line[lines++] = ipex_arena_printf(arena, "%zu thing%s in this model cannot be converted:\n",
                                      count, count == 1 ? "" : "s");
    for (size_t i = 0; i < groups; i++)
        lines += group_lines(arena, &group[i], line + lines);
    for (size_t i = 0; every_site && i < count; i++)
        line[lines++] = site_line(arena, &import->unsupported[i]);
    return concatenated(arena, line, lines);
}
