/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack inspect --dot`: the steps of every entry and the tensors between them, for graphviz. */
#include "tools/inspect.h"

#include <stdio.h>

#include "tools/run_sizes.h"

/* A quoted graphviz string. */
static void print_quoted(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar(*text == '\n' ? ' ' : *text);
    }
    putchar('"');
}

/* Who writes a storage: an input of the entry, or a node. */
struct writer {
    const char *name; /* of the graphviz node */
    const struct writer *next;
};

struct dot {
    struct ipex_fb_entry entry;
    unsigned index; /* of the entry */
    struct ipex_arena *arena;
    int32_t *root;                 /* [tensors] the tensor whose storage this one uses */
    const struct writer **writers; /* [tensors] of roots, so far */
};

static void add_writer(struct dot *dot, int32_t tensor, const char *name) {
    struct writer *writer = ipex_arena_alloc(dot->arena, sizeof *writer);
    *writer = (struct writer){name, dot->writers[dot->root[tensor]]};
    dot->writers[dot->root[tensor]] = writer;
}

static void find_roots(struct dot *dot) {
    uint32_t count = ipex_fb_entry_tensors_len(dot->entry);
    dot->root = ipex_arena_array(dot->arena, count, sizeof *dot->root);
    dot->writers = ipex_arena_array(dot->arena, count, sizeof *dot->writers);
    for (uint32_t i = 0; i < count; i++) { /* parents come before their views */
        int32_t parent = ipex_fb_tensor_view_of(ipex_fb_entry_tensors(dot->entry, i));
        dot->root[i] = parent < 0 ? (int32_t)i : dot->root[parent];
    }
}

static void dot_edges(const struct dot *dot, int32_t tensor, const char *to) {
    struct ipex_fb_tensor info = ipex_fb_entry_tensors(dot->entry, (uint32_t)tensor);
    const char *shape =
        ipex_run_sizes_dims(dot->entry, ipex_fb_tensor_dims(info), ipex_fb_tensor_dims_len(info),
                            ipex_fb_tensor_dtype(info), dot->arena);
    for (const struct writer *from = dot->writers[dot->root[tensor]]; from; from = from->next) {
        printf("  %s -> %s [label=", from->name, to);
        print_quoted(shape);
        puts("];");
    }
}

static void dot_node(struct dot *dot, uint32_t index) {
    struct ipex_fb_node node = ipex_fb_entry_nodes(dot->entry, index);
    const char *name = ipex_arena_printf(dot->arena, "n%u_%u", dot->index, index);
    printf("  %s [label=\"%s\", tooltip=", name, ipex_inspect_op(node));
    print_quoted(ipex_fb_node_name(node));
    puts("];");
    for (uint32_t i = 0; i < ipex_fb_node_inputs_len(node); i++)
        if (ipex_fb_node_inputs(node)[i] >= 0)
            dot_edges(dot, ipex_fb_node_inputs(node)[i], name);
    for (uint32_t i = 0; i < ipex_fb_node_outputs_len(node); i++)
        add_writer(dot, ipex_fb_node_outputs(node)[i], name);
}

/* An oval for an input or output of the entry; returns its graphviz name. */
static const char *dot_port(struct dot *dot, struct ipex_fb_port port, const char *kind,
                            uint32_t index) {
    const char *name = ipex_arena_printf(dot->arena, "%s%u_%u", kind, dot->index, index);
    printf("  %s [shape=oval, label=", name);
    print_quoted(ipex_fb_port_name(port));
    puts("];");
    return name;
}

static void dot_entry(struct dot *dot) {
    printf("  subgraph cluster_%u {\n  label=", dot->index);
    print_quoted(ipex_fb_entry_name(dot->entry));
    puts(";");
    find_roots(dot);
    for (uint32_t i = 0; i < ipex_fb_entry_inputs_len(dot->entry); i++) {
        struct ipex_fb_port port = ipex_fb_entry_inputs(dot->entry, i);
        add_writer(dot, (int32_t)ipex_fb_port_tensor(port), dot_port(dot, port, "in", i));
    }
    for (uint32_t i = 0; i < ipex_fb_entry_nodes_len(dot->entry); i++)
        dot_node(dot, i);
    for (uint32_t i = 0; i < ipex_fb_entry_outputs_len(dot->entry); i++) {
        struct ipex_fb_port port = ipex_fb_entry_outputs(dot->entry, i);
        dot_edges(dot, (int32_t)ipex_fb_port_tensor(port), dot_port(dot, port, "out", i));
    }
    puts("  }");
}

void ipex_inspect_dot(struct ipex_inspect *inspect) {
    struct ipex_fb_model model = inspect->metadata.model;
    puts("digraph ipex {\n  node [shape=box];");
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(model); i++) {
        struct dot dot = {
            .entry = ipex_fb_model_entries(model, i), .index = i, .arena = &inspect->arena};
        dot_entry(&dot);
    }
    puts("}");
}
