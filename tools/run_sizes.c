/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes are solved and evaluated by the format's own code (format/dims.h), as a run does it. */
#include "tools/run_sizes.h"

#include <stdlib.h>
#include <string.h>

static const char *symbol_name(const struct ipex_run_sizes *sizes, uint32_t i) {
    return ipex_fb_symbol_name(ipex_fb_entry_symbols(sizes->entry, i));
}

/* ---- text ---- */

static const char *range_text(struct ipex_fb_symbol symbol, struct ipex_arena *arena) {
    long long lo = ipex_fb_symbol_lo(symbol), hi = ipex_fb_symbol_hi(symbol),
              step = ipex_fb_symbol_step(symbol);
    return step > 1 ? ipex_arena_printf(arena, "%lld..%lld step %lld", lo, hi, step)
                    : ipex_arena_printf(arena, "%lld..%lld", lo, hi);
}

const char *ipex_run_sizes_ranges(struct ipex_fb_entry entry, struct ipex_arena *arena) {
    const char *text = "";
    for (uint32_t i = 0; i < ipex_fb_entry_symbols_len(entry); i++) {
        struct ipex_fb_symbol symbol = ipex_fb_entry_symbols(entry, i);
        text = ipex_arena_printf(arena, "%s%s%s %s", text, i ? ", " : "",
                                 ipex_fb_symbol_name(symbol), range_text(symbol, arena));
    }
    return text;
}

const char *ipex_run_sizes_text(const struct ipex_run_sizes *sizes, struct ipex_arena *arena) {
    const char *text = "";
    for (uint32_t i = 0; i < sizes->count; i++)
        text = ipex_arena_printf(arena, "%s%s%s = %lld", text, i ? ", " : "", symbol_name(sizes, i),
                                 (long long)sizes->symbol[i]);
    return text;
}

void ipex_run_sizes_json(const struct ipex_run_sizes *sizes, json_t *object) {
    json_t *list = ipex_json_object();
    for (uint32_t i = 0; i < sizes->count; i++)
        ipex_json_set_integer(list, symbol_name(sizes, i), sizes->symbol[i]);
    ipex_json_set(object, "sizes", list);
}

const char *ipex_run_sizes_dims(struct ipex_fb_entry entry, const int64_t *dims, uint32_t rank,
                                enum ipex_dtype dtype, struct ipex_arena *arena) {
    const char *text = "", *between = "x";
    for (uint32_t d = 0; d < rank; d++)
        if (dims[d] < 0)
            between = " x ";
    for (uint32_t d = 0; d < rank; d++) {
        char dim[128];
        ipex_dims_text(entry, dims[d], dim, sizeof dim);
        text = ipex_arena_printf(arena, "%s%s%s", text, d ? between : "", dim);
    }
    return ipex_arena_printf(arena, "%s %s", rank ? text : "scalar", ipex_dtype_name(dtype));
}

const char *ipex_run_sizes_shape(struct ipex_fb_entry entry, struct ipex_fb_port port,
                                 enum ipex_dtype dtype, struct ipex_arena *arena) {
    return ipex_run_sizes_dims(entry, ipex_fb_port_dims(port), ipex_fb_port_dims_len(port), dtype,
                               arena);
}

/* ---- --dim ---- */

/* "ENTRY:" of another entry of the file in front of a name. */
static bool names_entry(const struct ipex_metadata *metadata, const char *text, size_t length) {
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(metadata->model); i++) {
        const char *name = ipex_fb_entry_name(ipex_fb_model_entries(metadata->model, i));
        size_t n = strlen(name);
        if (n < length && !strncmp(name, text, n) && text[n] == ':')
            return true;
    }
    return false;
}

/* The symbol of this name, with or without the entry's name in front; -1: none. */
static int32_t find_symbol(const struct ipex_run_sizes *sizes, const char *text, size_t length) {
    const char *entry = ipex_fb_entry_name(sizes->entry);
    size_t prefix = strlen(entry);
    bool has_prefix = length > prefix && !strncmp(text, entry, prefix) && text[prefix] == ':';
    for (uint32_t i = 0; i < sizes->count; i++) {
        const char *name = symbol_name(sizes, i);
        size_t n = strlen(name);
        if ((n == length && !strncmp(name, text, n)) ||
            (has_prefix && n == length - prefix - 1 && !strncmp(name, text + prefix + 1, n)))
            return (int32_t)i;
    }
    return -1;
}

static int unknown_symbol(const struct ipex_run_sizes *sizes, const struct ipex_cli_verb *verb,
                          const struct ipex_metadata *metadata, const char *item, size_t length) {
    struct ipex_arena arena = {0};
    const char *entry = ipex_fb_entry_name(sizes->entry);
    const bool other = names_entry(metadata, item, length) &&
                       (strncmp(item, entry, strlen(entry)) || item[strlen(entry)] != ':');
    int code;
    if (other)
        code = ipex_cli_wrong(verb, "--dim %s: this run is one of entry %s", item, entry);
    else if (sizes->count)
        code = ipex_cli_wrong(verb, "--dim %s: the sizes of entry %s are: %s", item, entry,
                              ipex_run_sizes_ranges(sizes->entry, &arena));
    else
        code = ipex_cli_wrong(verb, "--dim %s: all sizes of entry %s are fixed", item, entry);
    ipex_arena_finish(&arena);
    return code;
}

static int take_dim(struct ipex_run_sizes *sizes, const struct ipex_cli_verb *verb,
                    const struct ipex_metadata *metadata, const char *item) {
    const char *equals = strrchr(item, '='); /* names may hold one, numbers do not */
    const char *end;
    int64_t size = 0;
    if (!equals || equals == item || !ipex_cli_size(equals + 1, &size, &end) || *end)
        return ipex_cli_wrong(verb, "--dim %s: NAME=N is expected, N at least 1", item);
    size_t length = (size_t)(equals - item);
    int32_t i = find_symbol(sizes, item, length);
    if (i < 0)
        return unknown_symbol(sizes, verb, metadata, item, length);
    struct ipex_fb_symbol symbol = ipex_fb_entry_symbols(sizes->entry, (uint32_t)i);
    if (size < ipex_fb_symbol_lo(symbol) || size > ipex_fb_symbol_hi(symbol) ||
        size % ipex_fb_symbol_step(symbol)) {
        struct ipex_arena arena = {0};
        int code = ipex_cli_wrong(verb, "--dim %s: %s is %s in this file", item,
                                  ipex_fb_symbol_name(symbol), range_text(symbol, &arena));
        ipex_arena_finish(&arena);
        return code;
    }
    if (sizes->wanted[i] && sizes->wanted[i] != size)
        return ipex_cli_wrong(verb, "--dim %s: another --dim says %lld", item,
                              (long long)sizes->wanted[i]);
    sizes->wanted[i] = size;
    return IPEX_EXIT_DONE;
}

int ipex_run_sizes_init(struct ipex_run_sizes *ret, const struct ipex_cli_verb *verb,
                        const struct ipex_metadata *metadata, const char *entry,
                        const struct ipex_cli_list *dims) {
    int code = IPEX_EXIT_DONE;
    memset(ret, 0, sizeof *ret);
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(metadata->model); i++)
        if (!strcmp(ipex_fb_entry_name(ipex_fb_model_entries(metadata->model, i)), entry))
            ret->entry = ipex_fb_model_entries(metadata->model, i);
    ret->count = ipex_fb_entry_symbols_len(ret->entry);
    for (size_t i = 0; i < dims->count && code == IPEX_EXIT_DONE; i++)
        code = take_dim(ret, verb, metadata, dims->item[i]);
    return code;
}

/* ---- settling ---- */

static int settle(struct ipex_run_sizes *sizes) {
    char message[256] = "";
    const struct ipex_report report = {message, sizeof message};
    for (uint32_t i = 0; i < sizes->count; i++)
        sizes->range[i] = (struct ipex_dim_range){.entry = ipex_fb_entry_name(sizes->entry),
                                                  .symbol = symbol_name(sizes, i),
                                                  .lo = sizes->symbol[i],
                                                  .hi = sizes->symbol[i]};
    if (ipex_dims_evaluate(sizes->entry, sizes->symbol, &sizes->values, &report) == IPEX_OK)
        return IPEX_EXIT_DONE;
    return ipex_cli_failed("%s", message);
}

/* Where the inputs say otherwise than --dim. */
static int contradiction(const struct ipex_run_sizes *sizes, const struct ipex_cli_verb *verb,
                         uint32_t symbol) {
    struct ipex_arena arena = {0};
    const char *where = "the inputs say";
    for (uint32_t i = ipex_fb_entry_inputs_len(sizes->entry); i-- > 0;) {
        struct ipex_fb_port port = ipex_fb_entry_inputs(sizes->entry, i);
        for (uint32_t d = ipex_fb_port_dims_len(port); d-- > 0;) {
            int64_t code = ipex_fb_port_dims(port)[d];
            const struct ipex_fb_expr *e =
                code < 0 ? &ipex_fb_entry_exprs(sizes->entry)[-1 - code] : NULL;
            if (e && e->op == IPEX_EXPR_symbol && e->a == symbol)
                where = ipex_arena_printf(&arena, "axis %u of input '%s' is", d,
                                          ipex_fb_port_name(port));
        }
    }
    struct ipex_fb_symbol s = ipex_fb_entry_symbols(sizes->entry, symbol);
    int code =
        ipex_cli_wrong(verb, "--dim %s=%lld, but %s %lld (%s: %s)", ipex_fb_symbol_name(s),
                       (long long)sizes->wanted[symbol], where, (long long)sizes->symbol[symbol],
                       ipex_fb_symbol_name(s), range_text(s, &arena));
    ipex_arena_finish(&arena);
    return code;
}

int ipex_run_sizes_bind(struct ipex_run_sizes *sizes, const struct ipex_cli_verb *verb,
                        const int64_t *const *dims) {
    int64_t lo[IPEX_SYMBOLS_MAX], hi[IPEX_SYMBOLS_MAX];
    char message[512] = "";
    const struct ipex_report report = {message, sizeof message};
    ipex_dims_lowest(sizes->entry, lo);
    ipex_dims_highest(sizes->entry, hi);
    if (ipex_dims_bind(sizes->entry, dims, lo, hi, sizes->symbol, &report) != IPEX_OK) {
        struct ipex_arena arena = {0};
        int code = ipex_cli_failed("%s (the sizes are: %s)", message,
                                   ipex_run_sizes_ranges(sizes->entry, &arena));
        ipex_arena_finish(&arena);
        return code;
    }
    for (uint32_t i = 0; i < sizes->count; i++)
        if (sizes->wanted[i] && sizes->wanted[i] != sizes->symbol[i])
            return contradiction(sizes, verb, i);
    return settle(sizes);
}

int ipex_run_sizes_lowest(struct ipex_run_sizes *sizes) {
    ipex_dims_lowest(sizes->entry, sizes->symbol);
    for (uint32_t i = 0; i < sizes->count; i++)
        if (sizes->wanted[i])
            sizes->symbol[i] = sizes->wanted[i];
    return settle(sizes);
}

/* ---- ports ---- */

static void set_dims(const struct ipex_run_sizes *sizes, struct ipex_fb_port from,
                     struct ipex_port *port) {
    for (int32_t d = 0; d < port->rank; d++)
        if (ipex_dims_number(&sizes->values, ipex_fb_port_dims(from)[d], &port->dims[d]))
            port->max_dims[d] = port->dims[d];
}

void ipex_run_sizes_input(const struct ipex_run_sizes *sizes, uint32_t index,
                          struct ipex_port *port) {
    set_dims(sizes, ipex_fb_entry_inputs(sizes->entry, index), port);
}

void ipex_run_sizes_output(const struct ipex_run_sizes *sizes, uint32_t index,
                           struct ipex_port *port) {
    set_dims(sizes, ipex_fb_entry_outputs(sizes->entry, index), port);
}
