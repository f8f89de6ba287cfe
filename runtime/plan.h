/* SPDX-License-Identifier: Apache-2.0 */
/* The resolved plan of an entry: what ipex_run walks. Built once, in the session's memory; every
 * pointer in it is final except those to the storages of ports, which can be the caller's own
 * memory and are patched when that changes. */
#ifndef IPEX_RUNTIME_PLAN_H
#define IPEX_RUNTIME_PLAN_H

#include "format/dims.h"
#include "loader/loader.h"
#include "runtime/bind.h"
#include "runtime/memory.h"
#include "runtime/place.h"

/* One kernel call. */
struct ipex_plan_step {
    ipex_kernel_fn fn;
    const void *args;
    int64_t jobs, rounds;              /* of so many jobs, one after the other */
    const struct ipex_fill_args *fill; /* [fills]: borders, done before the jobs */
    int32_t fills;
    bool alone; /* too short to be worth waking other threads */
    const char *name, *op, *kernel;
    int64_t flops, spared_flops, bytes; /* as in struct ipex_step_info */
    int32_t node, nodes;                /* the first of those that it does */
};

/* A pointer inside a step's arguments that points into a port's storage. */
struct ipex_patch {
    uint8_t *field;
    int64_t delta; /* bytes from the storage's first */
    struct ipex_patch *next;
};

/* Where a root tensor lies. Entries of other tensors are unused. */
struct ipex_storage {
    uint8_t *arena; /* its place in the arena */
    uint8_t *base;  /* what steps use now: that place, or the caller's memory */
    struct ipex_patch *patches;
};

struct ipex_plan_port {
    const char *name;
    const struct ipex_tensor_info *info;
    int32_t root;
    bool direct; /* dense, and all of its storage: steps can use the caller's memory */
    struct ipex_tensor *given; /* during a run: the caller's tensor, NULL when it gave none */
};

struct ipex_plan {
    const struct ipex_image_entry *entry;
    int32_t index; /* of the entry in the image */
    const char *name;
    struct ipex_plan_sizes *sizes; /* of an entry with symbols (runtime/sizes.h), else NULL */
    struct ipex_plan_step *step;   /* [steps] */
    int64_t steps;
    struct ipex_storage *storage; /* [entry->tensors] */
    const uint8_t *arena;
    struct ipex_plan_port *input; /* [entry->inputs] */
    struct ipex_plan_port *output;
};

/* Builds one entry's plan, or only counts what it needs. */
struct ipex_plan_builder {
    /* given */
    const struct ipex_image *image;
    const struct ipex_image_entry *entry;
    const struct ipex_setup *setup;
    struct ipex_report report;
    struct ipex_bump *memory;
    struct ipex_plan *plan; /* NULL: count only */
    uint8_t *arena, *zeros;
    int64_t step_room;  /* when placing: places in the table of steps */
    int64_t arena_room; /* when placing: bytes of arena */
    /* Of an entry with symbols: bytes that a root's storage gets [tensors], and its expressions;
     * NULL without. */
    const int64_t *capacity;
    const struct ipex_dim_values *values;
    bool again;         /* placed before, at other sizes: tables and ports stay */
    int32_t step_begin; /* first node of the step that is being built */

    /* found */
    int64_t steps;
    int64_t arena_bytes;
    size_t scratch_bytes; /* per thread */
    size_t zero_bytes;
    size_t tables; /* bytes of memory used when they were taken */

    struct ipex_place place; /* 24 KiB: large for a stack, small enough for one of 64 KiB */
};

/* ERROR_MEMORY when a size passes what an address space holds; ERROR_SHAPE when it passes what was
 * measured, with sizes between the ends of the symbols' ranges. */
IPEX_WARN_UNUSED enum ipex_status ipex_plan_build(struct ipex_plan_builder *builder);

/* Lets all steps use `base` for a root's storage. */
void ipex_plan_move_storage(struct ipex_plan *plan, int32_t root, uint8_t *base);

#endif
