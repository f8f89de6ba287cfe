/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of one run of an entry with symbols: what --dim says, what the inputs say, and the dims
 * of every port then. An entry without symbols has none of them, and everything here still works.
 */
#ifndef IPEX_TOOLS_RUN_SIZES_H
#define IPEX_TOOLS_RUN_SIZES_H

#include "format/dims.h"
#include "runtime/ipex.h"
#include "tools/arena.h"
#include "tools/cli.h"
#include "tools/json.h"
#include "tools/metadata.h"

struct ipex_run_sizes {
    struct ipex_fb_entry entry;
    uint32_t count;
    int64_t wanted[IPEX_SYMBOLS_MAX];              /* by --dim; 0: nothing is said */
    int64_t symbol[IPEX_SYMBOLS_MAX];              /* once settled */
    struct ipex_dim_values values;                 /* then: what they give */
    struct ipex_dim_range range[IPEX_SYMBOLS_MAX]; /* then: these sizes alone, for a session */
};

/* The symbols of the entry and what --dim says of them: an exit code. */
int ipex_run_sizes_init(struct ipex_run_sizes *ret, const struct ipex_cli_verb *verb,
                        const struct ipex_metadata *metadata, const char *entry,
                        const struct ipex_cli_list *dims);

/* Settles the sizes by the dims of all inputs, which must agree with each other, the ranges and
 * --dim: an exit code, wrong use where --dim is wrong. dims: [inputs], each with as many as its
 * port has. */
int ipex_run_sizes_bind(struct ipex_run_sizes *sizes, const struct ipex_cli_verb *verb,
                        const int64_t *const *dims);
/* Settles the sizes without inputs: the lowest where --dim says nothing. */
int ipex_run_sizes_lowest(struct ipex_run_sizes *sizes);

/* Gives a port of the entry the dims that it has now; its highest dims are the same then. */
void ipex_run_sizes_input(const struct ipex_run_sizes *sizes, uint32_t index,
                          struct ipex_port *port);
void ipex_run_sizes_output(const struct ipex_run_sizes *sizes, uint32_t index,
                           struct ipex_port *port);

/* "1x3x224x224 f32", or "1 x 3 x height x width/2 f32" where dims depend on symbols. */
const char *ipex_run_sizes_dims(struct ipex_fb_entry entry, const int64_t *dims, uint32_t rank,
                                enum ipex_dtype dtype, struct ipex_arena *arena);
const char *ipex_run_sizes_shape(struct ipex_fb_entry entry, struct ipex_fb_port port,
                                 enum ipex_dtype dtype, struct ipex_arena *arena);
/* "batch 1..8, height 32..1536 step 32"; "" for an entry without symbols. */
const char *ipex_run_sizes_ranges(struct ipex_fb_entry entry, struct ipex_arena *arena);
/* "batch = 1, height = 64"; "" without symbols. */
const char *ipex_run_sizes_text(const struct ipex_run_sizes *sizes, struct ipex_arena *arena);
/* "sizes": {"batch": 1, "height": 64} */
void ipex_run_sizes_json(const struct ipex_run_sizes *sizes, json_t *object);

#endif
