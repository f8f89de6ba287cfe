/* SPDX-License-Identifier: Apache-2.0 */
/* Building a plan: nodes in order; for each one its output is placed, its kernel bound, its
 * pointers set, and what nobody needs any more given back to the arena. Counting and placing are
 * the same walk: a block of memory is NULL when counting, and only then nothing is written. */
#include "runtime/plan.h"

#include <string.h>

#include "runtime/band.h"

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
    IPEX_CHECK(b->plan == NULL || b->place.peak <= b->arena_room, &b->report, IPEX_ERROR_SHAPE,
               "the arena is too small for these sizes");
    *ret_storage = b->plan != NULL ? b->arena + begin : NULL;
    return IPEX_OK;
}

/* Storages of an entry with symbols have their places for all sizes. */
static enum ipex_status place_root(struct ipex_plan_builder *b, int32_t root) {
    const struct ipex_tensor_info *info = &b->entry->tensor[root];
    int64_t bytes = info->storage * ipex_element_size(info);
    uint8_t *storage;
    if (b->capacity != NULL) {
        IPEX_CHECK(bytes <= b->capacity[root], &b->report, IPEX_ERROR_SHAPE,
                   "tensor %d '%s' is larger than at both ends of the ranges", (int)root,
                   ipex_fb_tensor_name(ipex_fb_entry_tensors(b->entry->fb, (uint32_t)root)));
        bytes = b->capacity[root];
    }
    IPEX_TRY(ipex_plan_place(b, root, bytes, &storage));
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

static void give_if_dead(struct ipex_plan_builder *b, int32_t index, int32_t tensor) {
    if (tensor < 0)
        return;
    const int32_t root = b->entry->tensor[tensor].root;
    if (b->entry->tensor[root].last <= index)
        ipex_place_give(&b->place, root);
}

void ipex_plan_give_dead(struct ipex_plan_builder *b, int32_t index) {
    struct ipex_fb_node node = ipex_fb_entry_nodes(b->entry->fb, (uint32_t)index);
    for (uint32_t i = 0; i < ipex_fb_node_inputs_len(node); i++)
        give_if_dead(b, index, ipex_fb_node_inputs(node)[i]);
    for (uint32_t i = 0; i < ipex_fb_node_outputs_len(node); i++)
        give_if_dead(b, index, ipex_fb_node_outputs(node)[i]);
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

/* Whether kernels of the node read an element of input `input` only to make the same element of
 * their output. */
static bool read_by_element(const struct ipex_plan_node *node, uint32_t input) {
    switch (ipex_fb_node_op(node->fb)) {
    case IPEX_OP_conv:
        return input == 3 && !node->ints[IPEX_CONV_COLUMNS]; /* or chains are parked there */
    case IPEX_OP_linear:
    case IPEX_OP_linear_blocks:
    case IPEX_OP_depthwise:
    case IPEX_OP_winograd:
    case IPEX_OP_upsampled_conv:
        return input == 3; /* the residual */
    case IPEX_OP_pointwise:
        return true;
    case IPEX_OP_scatter:
        return input == 0; /* data: other elements come from the updates alone */
    default:
        return false;
    }
}

/* Whether two roots have the same elements at the same distances, whatever their symbols are. */
static bool same_storage(const struct ipex_plan_builder *b, int32_t x, int32_t y) {
    const struct ipex_tensor_info *a = &b->entry->tensor[x], *c = &b->entry->tensor[y];
    const size_t dims = (size_t)a->rank * sizeof(int64_t);
    return a->dtype == c->dtype && a->rank == c->rank &&
           memcmp(a->halo, c->halo, sizeof a->halo) == 0 && dims > 0 &&
           memcmp(ipex_fb_tensor_dims(ipex_fb_entry_tensors(b->entry->fb, (uint32_t)x)),
                  ipex_fb_tensor_dims(ipex_fb_entry_tensors(b->entry->fb, (uint32_t)y)), dims) == 0;
}

static bool reads_root(const struct ipex_plan_builder *b, int32_t index, int32_t root) {
    struct ipex_fb_node node = ipex_fb_entry_nodes(b->entry->fb, (uint32_t)index);
    for (uint32_t i = 0; i < ipex_fb_node_inputs_len(node); i++) {
        const int32_t tensor = ipex_fb_node_inputs(node)[i];
        if (tensor >= 0 && b->entry->tensor[tensor].root == root)
            return true;
    }
    return false;
}

/* The operand whose storage the node's output can take over: it dies here, is all of a storage like
 * the output's that no caller provides and another step wrote, and nothing else of it is read, nor
 * by another node of this step. -1: there is none. */
static int32_t reusable_operand(const struct ipex_plan_builder *b,
                                const struct ipex_plan_node *node) {
    const struct ipex_tensor_info *tensor = b->entry->tensor;
    const int32_t *inputs = ipex_fb_node_inputs(node->fb);
    const int32_t output = ipex_fb_node_outputs(node->fb)[0];
    int32_t ret = -1;
    for (uint32_t i = 0; i < node->inputs && ret < 0; i++) {
        if (inputs[i] < 0 || !read_by_element(node, i))
            continue;
        const struct ipex_tensor_info *x = &tensor[inputs[i]];
        const bool whole = x->root == inputs[i] && tensor[output].root == output;
        if (whole && x->weight < 0 && !x->is_input && !x->is_output && x->first < b->step_begin &&
            x->last == node->index && same_storage(b, inputs[i], output))
            ret = inputs[i];
    }
    for (uint32_t i = 0; i < node->inputs && ret >= 0; i++)
        if (inputs[i] >= 0 && tensor[inputs[i]].root == ret &&
            (inputs[i] != ret || !read_by_element(node, i)))
            return -1;
    for (int32_t i = b->step_begin; i < node->index && ret >= 0; i++)
        if (reads_root(b, i, ret))
            return -1;
    return ret;
}

static void take_over(struct ipex_plan_builder *b, int32_t from, int32_t to) {
    ipex_place_hand_over(&b->place, from, to);
    if (ipex_plan_placing(b))
        b->plan->storage[to].arena = b->plan->storage[to].base = b->plan->storage[from].arena;
}

/* Places the storages that the node is the first to write. Two outputs may be slices of one. */
static enum ipex_status place_outputs(struct ipex_plan_builder *b, struct ipex_plan_node *node) {
    const int32_t *outputs = ipex_fb_node_outputs(node->fb);
    for (uint32_t i = 0; i < node->outputs; i++) {
        const int32_t root = b->entry->tensor[outputs[i]].root;
        bool first_write = b->entry->tensor[root].first == node->index;
        for (uint32_t j = 0; j < i; j++)
            first_write = first_write && b->entry->tensor[outputs[j]].root != root;
        if (!first_write)
            continue;
        const int32_t operand = reusable_operand(b, node);
        if (operand >= 0)
            take_over(b, operand, root);
        else
            IPEX_TRY(place_root(b, root));
        node->halo[i] = &b->entry->tensor[root];
    }
    return IPEX_OK;
}

enum ipex_status ipex_plan_node_begin(struct ipex_plan_builder *b, int32_t index, bool place,
                                      struct ipex_plan_node *node) {
    *node = (struct ipex_plan_node){.fb = ipex_fb_entry_nodes(b->entry->fb, (uint32_t)index),
                                    .index = index};
    node->inputs = ipex_fb_node_inputs_len(node->fb);
    node->outputs = ipex_fb_node_outputs_len(node->fb);
    if (b->values != NULL)
        IPEX_TRY(ipex_dims_ints(node->fb, b->values, node->room, &node->ints, &b->report));
    else
        node->ints = ipex_fb_node_ints(node->fb);
    if (place)
        IPEX_TRY(place_outputs(b, node));
    for (uint32_t i = 0; i < node->inputs; i++)
        node->slot[i] = resolve(b, ipex_fb_node_inputs(node->fb)[i]);
    for (uint32_t i = 0; i < node->outputs; i++)
        node->slot[IPEX_REF_OUTPUT + i] = resolve(b, ipex_fb_node_outputs(node->fb)[i]);
    return IPEX_OK;
}

static enum ipex_status build_node(struct ipex_plan_builder *b, int32_t index) {
    struct ipex_plan_node node;
    b->step_begin = index;
    IPEX_TRY(ipex_plan_node_begin(b, index, true, &node));
    struct ipex_bind bind;
    const enum ipex_bound bound = ipex_bind_node(b, &node, false, &bind);
    if (bound == IPEX_BOUND_NEEDS_DENSE) {
        IPEX_TRY(ipex_emit_dense(b, &node, &bind));
    } else if (bound == IPEX_BOUND) {
        for (uint32_t i = 0; i < node.outputs; i++)
            if (node.halo[i] != NULL)
                ipex_bind_halo(&bind, i, node.halo[i]);
        ipex_emit_step(b, &node, &bind, node.slot);
    } else {
        return ipex_refuse_node(b, &node, bound);
    }
    for (int32_t t = 1; t <= node.temps; t++)
        ipex_place_give(&b->place, -t);
    ipex_plan_give_dead(b, index);
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
    port->name = ipex_fb_port_name(fb);
    port->info = info;
    port->root = info->root;
    port->direct = covers_root(b, info);
}

static void describe_ports(struct ipex_plan_builder *b) {
    for (int32_t i = 0; i < b->entry->inputs; i++)
        describe_port(b, ipex_fb_entry_inputs(b->entry->fb, (uint32_t)i), &b->plan->input[i]);
    for (int32_t i = 0; i < b->entry->outputs; i++)
        describe_port(b, ipex_fb_entry_outputs(b->entry->fb, (uint32_t)i), &b->plan->output[i]);
}

/* ---- the whole ---- */

/* Storages and ports: what stays when a plan is built again. */
static void take_tables(struct ipex_plan_builder *b) {
    const size_t inputs = (size_t)b->entry->inputs, outputs = (size_t)b->entry->outputs;
    struct ipex_storage *storage = ipex_plan_take(b, (size_t)b->entry->tensors * sizeof *storage);
    struct ipex_plan_port *ports = ipex_plan_take(b, (inputs + outputs) * sizeof *ports);
    b->tables = b->memory->used;
    if (!ipex_plan_placing(b))
        return;
    memset(ports, 0, (inputs + outputs) * sizeof *ports);
    b->plan->storage = storage;
    b->plan->arena = b->arena;
    b->plan->input = ports;
    b->plan->output = ports + inputs;
}

static void begin_tables(struct ipex_plan_builder *b) {
    if (b->again) {
        b->memory->used = b->tables;
        b->memory->failed = false;
    } else {
        take_tables(b);
    }
    if (!ipex_plan_placing(b))
        return;
    memset(b->plan->storage, 0, (size_t)b->entry->tensors * sizeof *b->plan->storage);
    describe_ports(b);
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
    begin_tables(b);
    if (b->plan != NULL)
        take_steps(b, b->step_room);
    IPEX_TRY(place_inputs(b));
    give_unread_inputs(b);
    for (int32_t i = 0, count; i < b->entry->nodes; i += count) {
        count = ipex_band_length(b, i);
        IPEX_TRY(count > 1 ? ipex_band_build(b, i, count) : build_node(b, i));
    }
    if (b->plan == NULL)
        take_steps(b, b->steps);
    IPEX_CHECK(!b->memory->failed, &b->report, IPEX_ERROR_MEMORY,
               "the plan needs more memory than was measured");
    b->arena_bytes = b->place.peak;
    if (b->plan != NULL)
        b->plan->steps = b->steps;
    return IPEX_OK;
}
