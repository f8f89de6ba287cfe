/* SPDX-License-Identifier: Apache-2.0 */
/* What the outputs of `ipexpack inspect` share: the file, and what is counted in it. */
#ifndef IPEX_TOOLS_INSPECT_H
#define IPEX_TOOLS_INSPECT_H

#include "format/sha256.h"
#include "tools/arena.h"
#include "tools/metadata.h"
#include "tools/model.h"

struct ipex_inspect_pass {
    const char *name;
    size_t applied, refused;
};

struct ipex_inspect {
    const char *file, *why; /* why: NULL not asked for, "" all rows */
    bool json, dot;
    struct ipex_model model;
    struct ipex_metadata metadata;
    struct ipex_arena arena;
    struct ipex_inspect_pass *pass; /* in order of first appearance */
    size_t passes;
};

/* What sessions of so many threads need, for all sizes and for the lowest. */
struct ipex_inspect_memory {
    int threads;
    struct ipex_requirements all, lowest;
};
#define IPEX_INSPECT_MEMORY_MAX 3
/* The number of rows; *ret_varies: a symbol has a range, and `lowest` is of interest. */
size_t ipex_inspect_memory(struct ipex_inspect *inspect,
                           struct ipex_inspect_memory ret[IPEX_INSPECT_MEMORY_MAX],
                           bool *ret_varies);

/* The operator's name. */
const char *ipex_inspect_op(struct ipex_fb_node node);
/* What an entry's products on bf16 compute in, and who says so; all else is f32. */
const char *ipex_inspect_profile(struct ipex_fb_entry entry);
/* The name of an entry. */
const char *ipex_inspect_entry(const struct ipex_inspect *inspect, uint32_t entry);
/* Hexadecimal. */
const char *ipex_inspect_digest(const struct ipex_inspect *inspect,
                                char text[2 * IPEX_SHA256_BYTES + 1]);
/* Does a ledger row belong to what --why asked for? */
bool ipex_inspect_wanted(const struct ipex_inspect *inspect, struct ipex_fb_site site);
uint32_t ipex_inspect_port_count(struct ipex_fb_entry entry, bool outputs);
struct ipex_fb_port ipex_inspect_port(struct ipex_fb_entry entry, bool outputs, uint32_t index);

void ipex_inspect_json(struct ipex_inspect *inspect); /* inspect_json.c */
void ipex_inspect_dot(struct ipex_inspect *inspect);  /* inspect_dot.c */

#endif
