/* SPDX-License-Identifier: Apache-2.0 */
/* Building a plan: nodes in order; for each one its output is placed, its kernel bound, its
 * pointers set, and what nobody needs any more given back to the arena. Counting and placing are
 * the same walk: a block of memory is NULL when counting, and only then nothing is written. */
#include "runtime/plan.h"

#include <string.h>

#include "runtime/emit.h"

void ipex_plan_move_storage(struct ipex_plan *plan, int32_t root, uint8_t *base) {
    struct ipex_storage *storage = &plan->storage[root];
    if (storage->base == base)
        return;
    storage->base = base;
    for (const struct ipex_patch *patch = storage->patches; patch != NULL; patch = patch->next) {
        const uint8_t *address = base + patch->delta;
        memcpy(patch->field, &address, sizeof address);
    }
}

enum ipex_status ipex_plan_place(struct ipex_plan_builder *b, int64_t owner, int64_t bytes,
                                 uint8_t **ret_storage) {
    int64_t begin;
    IPEX_CHECK(ipex_place_take(&b->place, owner, bytes, &begin), &b->report, IPEX_ERROR_MEMORY,
               "the arena of entry '%s' does not fit an address space",
               ipex_fb_entry_name(b->entry->fb));
    *ret_storage = b->plan != NULL ? b->arena + begin : NULL;
    return IPEX_OK;
}

static enum ipex_status place_root(struct ipex_plan_builder *b, int32_t root) {
    const struct ipex_tensor_info *info = &b->entry->tensor[root];
    uint8_t *storage;
    IPEX_TRY(ipex_plan_place(b, root, info->storage * ipex_element_size(info), &storage));
    if (ipex_plan_placing(b))
        b->plan->storage[root].arena = b->plan->storage[root].base = storage;
    return IPEX_OK;
}

/* Inputs have their places from the start: a caller's tensor that cannot be read in place is copied
 * there. */
static enum ipex_status place_inputs(struct ipex_plan_builder *b) {
    for (int32_t i = 0; i < b->entry->inputs; i++) {
        const uint32_t tensor =
            ipex_fb_port_tensor(ipex_fb_entry_inputs(b->entry->fb, (uint32_t)i));
        IPEX_TRY(place_root(b, b->entry->tensor[tensor].root));
    }
    return IPEX_OK;
}

/* What no node reads gives its place to others, after all inputs have theirs: copying one in must
 * not overwrite another. */
static void give_unread_inputs(struct ipex_plan_builder *b) {
    for (int32_t i = 0; i < b->entry->inputs; i++) {
        const uint32_t tensor =
            ipex_fb_port_tensor(ipex_fb_entry_inputs(b->entry->fb, (uint32_t)i));
        const int32_t root = b->entry->tensor[tensor].root;
        if (b->entry->tensor[root].last < 0)
            ipex_place_give(&b->place, root);
    }
}

static void give_dead(struct ipex_plan_builder *b, const struct ipex_plan_node *node) {
    for (int32_t t = 1; t <= node->temps; t++)
        ipex_place_give(&b->place, -t);
    const int32_t *inputs = ipex_fb_node_inputs(node->fb);
    for (uint32_t i = 0; i <= node->inputs; i++) {
        const int32_t tensor = i < node->inputs ? inputs[i] : ipex_fb_node_outputs(node->fb)[0];
        if (tensor < 0)
            continue;
        const int32_t root = b->entry->tensor[tensor].root;
        if (b->entry->tensor[root].last <= node->index)
            ipex_place_give(&b->place, root);
    }
}

static struct ipex_slot resolve(const struct ipex_plan_builder *b, int32_t tensor) {
    if (tensor < 0)
        return (struct ipex_slot){.root = -1};
    const struct ipex_tensor_info *info = &b->entry->tensor[tensor];
    const struct ipex_tensor_info *root = &b->entry->tensor[info->root];
    struct ipex_slot ret = {.info = info, .root = -1};
    if (root->weight >= 0) {
        /* The map is only read: a constant is never an output. */
        ret.storage = (uint8_t *)(uintptr_t)ipex_image_weight(b->image, root->weight);
        return ret;
    }
    if (root->is_input || root->is_output)
        ret.root = info->root;
    if (ipex_plan_placing(b))
        ret.storage = b->plan->storage[info->root].arena;
    return ret;
}

static enum ipex_status build_node(struct ipex_plan_builder *b, int32_t index) {
    struct ipex_plan_node node = {.fb = ipex_fb_entry_nodes(b->entry->fb, (uint32_t)index),
                                  .index = index};
    node.inputs = ipex_fb_node_inputs_len(node.fb);
    const int32_t output = ipex_fb_node_outputs(node.fb)[0];
    const int32_t root = b->entry->tensor[output].root;
    const bool first_write = b->entry->tensor[root].first == index;
    if (first_write)
        IPEX_TRY(place_root(b, root));
    for (uint32_t i = 0; i < node.inputs; i++)
        node.slot[i] = resolve(b, ipex_fb_node_inputs(node.fb)[i]);
    node.slot[IPEX_REF_OUTPUT] = resolve(b, output);
    const struct ipex_tensor_info *halo = first_write ? &b->entry->tensor[root] : NULL;
    struct ipex_bind bind;
    const enum ipex_bound bound = ipex_bind_node(b, &node, false, &bind);
    if (bound == IPEX_BOUND_NEEDS_DENSE) {
        IPEX_TRY(ipex_emit_dense(b, &node, &bind, halo));
    } else if (bound == IPEX_BOUND) {
        if (halo != NULL)
            ipex_bind_halo(&bind, halo);
        ipex_emit_step(b, &node, &bind, node.slot);
    } else {
        return ipex_refuse_node(b, &node, bound);
    }
    give_dead(b, &node);
    return IPEX_OK;
}

/* ---- ports ---- */

/* Whether the port is all of its storage, in plain order, so that the caller's memory can stand in
 * for it. Ports are no constants, and an output never lies in an input's storage: the checker sees
 * to it. */
static bool covers_root(const struct ipex_plan_builder *b, const struct ipex_tensor_info *info) {
    return info->dense && ipex_info_numel(info) == b->entry->tensor[info->root].storage;
}

static void describe_port(struct ipex_plan_builder *b, struct ipex_fb_port fb,
                          struct ipex_plan_port *port) {
    const struct ipex_tensor_info *info = &b->entry->tensor[ipex_fb_port_tensor(fb)];
    *port = (struct ipex_plan_port){
        .name = ipex_fb_port_name(fb),
        .info = info,
        .root = info->root,
        .direct = covers_root(b, info),
    };
}

static void build_inputs(struct ipex_plan_builder *b) {
    struct ipex_plan_port *ports = ipex_plan_take(b, (size_t)b->entry->inputs * sizeof *ports);
    if (!ipex_plan_placing(b))
        return;
    for (int32_t i = 0; i < b->entry->inputs; i++)
        describe_port(b, ipex_fb_entry_inputs(b->entry->fb, (uint32_t)i), &ports[i]);
    b->plan->input = ports;
}

static void build_outputs(struct ipex_plan_builder *b) {
    struct ipex_plan_port *ports = ipex_plan_take(b, (size_t)b->entry->outputs * sizeof *ports);
    if (!ipex_plan_placing(b))
        return;
    for (int32_t i = 0; i < b->entry->outputs; i++)
        describe_port(b, ipex_fb_entry_outputs(b->entry->fb, (uint32_t)i), &ports[i]);
    b->plan->output = ports;
}

/* ---- the whole ---- */

static void take_tables(struct ipex_plan_builder *b) {
    struct ipex_storage *storage = ipex_plan_take(b, (size_t)b->entry->tensors * sizeof *storage);
    if (!ipex_plan_placing(b))
        return;
    memset(storage, 0, (size_t)b->entry->tensors * sizeof *storage);
    b->plan->storage = storage;
}

/* The table of steps: taken first when placing; last when counting, which finds its length. */
static void take_steps(struct ipex_plan_builder *b, int64_t steps) {
    struct ipex_plan_step *step = ipex_plan_take(b, (size_t)steps * sizeof *step);
    if (ipex_plan_placing(b))
        b->plan->step = step;
}

enum ipex_status ipex_plan_build(struct ipex_plan_builder *b) {
    b->place.blocks = 0;
    b->place.peak = 0;
    b->steps = 0;
    take_tables(b);
    if (b->plan != NULL)
        take_steps(b, b->plan->steps);
    IPEX_TRY(place_inputs(b));
    give_unread_inputs(b);
    build_inputs(b);
    for (int32_t i = 0; i < b->entry->nodes; i++)
        IPEX_TRY(build_node(b, i));
    build_outputs(b);
    if (b->plan == NULL)
        take_steps(b, b->steps);
    IPEX_CHECK(!b->memory->failed, &b->report, IPEX_ERROR_MEMORY, "the memory is too small");
    b->arena_bytes = b->place.peak;
    return IPEX_OK;
}
