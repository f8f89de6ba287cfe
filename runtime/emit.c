/* SPDX-License-Identifier: Apache-2.0 */
/* From a binding to a step of the plan: arguments copied into the session's memory, pointers set,
 * fills aimed, cost estimated. */
#include "runtime/emit.h"

#include <string.h>

/* Writes the address of element `delta` of the operand into a pointer field, and remembers the
 * field when the storage may move. */
static void set_pointer(struct ipex_plan_builder *b, uint8_t *field, const struct ipex_slot *slot,
                        int64_t delta) {
    const int64_t bytes = (slot->info->offset + delta) * ipex_element_size(slot->info);
    struct ipex_patch *patch = slot->root >= 0 ? ipex_plan_take(b, sizeof *patch) : NULL;
    if (!ipex_plan_placing(b))
        return;
    const uint8_t *address = slot->storage + bytes;
    memcpy(field, &address, sizeof address);
    if (patch == NULL)
        return;
    struct ipex_storage *storage = &b->plan->storage[slot->root];
    *patch = (struct ipex_patch){.field = field, .delta = bytes, .next = storage->patches};
    storage->patches = patch;
}

/* Adds the box [lines] x [pixels] of every image, all channels, whose first element is `offset`
 * elements into the root's storage. */
static void add_halo_box(struct ipex_bind *bind, uint32_t output,
                         const struct ipex_tensor_info *root, int64_t offset, int64_t lines,
                         int64_t pixels) {
    if (lines == 0 || pixels == 0)
        return;
    bind->fill[bind->n_fills++] = (struct ipex_bind_fill){
        .args = {.rank = 3,
                 .size = (int32_t)ipex_element_size(root),
                 .pattern = root->halo_value,
                 .dims = {root->dims[0], lines, pixels * root->dims[3]},
                 .y_stride = {root->strides[0], root->strides[1], 1}},
        .delta = offset - bind->outputs[output]->offset,
        .output = output,
    };
}

void ipex_bind_halo(struct ipex_bind *bind, uint32_t output, const struct ipex_tensor_info *root) {
    const int64_t top = root->halo[0], left = root->halo[1];
    const int64_t bottom = root->halo[2], right = root->halo[3];
    if (top + left + bottom + right == 0)
        return;
    const int64_t line = root->strides[1], pixel = root->strides[2];
    const int64_t width = left + root->dims[2] + right;
    add_halo_box(bind, output, root, 0, top, width);
    add_halo_box(bind, output, root, (top + root->dims[1]) * line, bottom, width);
    add_halo_box(bind, output, root, top * line, root->dims[1], left);
    add_halo_box(bind, output, root, top * line + (left + root->dims[2]) * pixel, root->dims[1],
                 right);
}

/* Memory for the borders that a pad may have at other sizes and has not now. */
static void spare_fills(struct ipex_plan_builder *b, const struct ipex_bind *bind,
                        const struct ipex_slot *output) {
    const uint32_t most = 2u * output->info->rank;
    if (b->values == NULL || bind->op != IPEX_OP_pad || bind->n_fills >= most)
        return;
    const uint32_t spare = most - bind->n_fills;
    (void)ipex_plan_take(b, spare * sizeof(struct ipex_fill_args));
    for (uint32_t i = 0; i < spare && output->root >= 0; i++)
        (void)ipex_plan_take(b, sizeof(struct ipex_patch));
}

struct ipex_fill_args *ipex_emit_fills(struct ipex_plan_builder *b, const struct ipex_bind *bind,
                                       const struct ipex_slot *outputs) {
    spare_fills(b, bind, outputs);
    if (bind->n_fills == 0)
        return NULL;
    struct ipex_fill_args *ret = ipex_plan_take(b, bind->n_fills * sizeof *ret);
    for (uint32_t i = 0; i < bind->n_fills; i++) {
        uint8_t *field = NULL;
        if (ipex_plan_placing(b)) {
            ret[i] = bind->fill[i].args;
            field = (uint8_t *)&ret[i].y;
        }
        set_pointer(b, field, &outputs[bind->fill[i].output], bind->fill[i].delta);
    }
    return ret;
}

/* Steps of less than about 20 us stay on the calling thread. A core does about 100,000 flops and
 * moves about 20,000 bytes per us. */
static bool is_short(int64_t flops, int64_t bytes) {
    return flops / 100000 + bytes / 20000 < 20;
}

/* Of a table and of what is sliced, only what goes into the output is read. */
static int64_t moved_bytes(const struct ipex_bind *bind) {
    const bool part = bind->op == IPEX_OP_gather || bind->op == IPEX_OP_slice;
    int64_t written = 0, read = 0;
    for (uint32_t i = 0; i < bind->n_outputs; i++)
        written += ipex_info_bytes(bind->outputs[i]);
    for (uint32_t i = 0; i < bind->n_inputs; i++)
        if (bind->input[i] != NULL)
            read += part && i == 0 ? ipex_min_i64(ipex_info_bytes(bind->input[i]), written)
                                   : ipex_info_bytes(bind->input[i]);
    return written + read;
}

static const void *copy_of(struct ipex_plan_builder *b, const void *from, size_t size) {
    void *ret = ipex_plan_take(b, size);
    if (ipex_plan_placing(b))
        memcpy(ret, from, size);
    return ret;
}

void ipex_emit_refs(struct ipex_plan_builder *b, const struct ipex_bind *bind,
                    const struct ipex_slot *slots, uint8_t *args) {
    const void *program = NULL, *chains = NULL;
    if (bind->n_program > 0) {
        program = copy_of(b, bind->program, bind->n_program * sizeof *bind->program);
        chains = copy_of(b, &bind->chains, ipex_chains_size(&bind->chains));
    }
    for (uint32_t i = 0; i < bind->n_refs; i++) {
        const struct ipex_ref *ref = &bind->ref[i];
        if (ref->target < IPEX_BIND_SLOTS) {
            set_pointer(b, args != NULL ? args + ref->field : NULL, &slots[ref->target],
                        ref->delta);
            continue;
        }
        const void *address = ref->target == IPEX_REF_ZEROS     ? b->zeros
                              : ref->target == IPEX_REF_PROGRAM ? program
                              : ref->target == IPEX_REF_CHAINS  ? chains
                                                                : (const void *)bind->floats;
        if (ipex_plan_placing(b))
            memcpy(args + ref->field, &address, sizeof address);
    }
}

void ipex_plan_add_step(struct ipex_plan_builder *b, const struct ipex_plan_step *step) {
    const int64_t at = b->steps++;
    if (b->plan != NULL && at >= b->step_room)
        b->memory->failed = true;
    if (!ipex_plan_placing(b))
        return;
    b->plan->step[at] = *step;
    b->plan->step[at].rounds = ipex_max_i64(1, step->rounds);
    b->plan->step[at].alone = step->jobs < 2 || is_short(step->flops, step->bytes);
}

void ipex_emit_step(struct ipex_plan_builder *b, const struct ipex_plan_node *node,
                    const struct ipex_bind *bind, const struct ipex_slot *slots) {
    uint8_t *args = ipex_plan_take(b, bind->args_size);
    if (ipex_plan_placing(b))
        memcpy(args, &bind->args, bind->args_size);
    ipex_emit_refs(b, bind, slots, args);
    const struct ipex_fill_args *fill = ipex_emit_fills(b, bind, &slots[IPEX_REF_OUTPUT]);
    if (b->scratch_bytes < bind->scratch)
        b->scratch_bytes = bind->scratch;
    if (b->zero_bytes < bind->zeros)
        b->zero_bytes = bind->zeros;
    ipex_plan_add_step(b, &(struct ipex_plan_step){
                              .fn = bind->fn,
                              .args = args,
                              .jobs = bind->jobs,
                              .rounds = bind->rounds,
                              .fill = fill,
                              .fills = (int32_t)bind->n_fills,
                              .name = ipex_fb_node_name(node->fb),
                              .op = ipex_op_info(bind->op)->name,
                              .kernel = bind->kernel,
                              .flops = bind->flops,
                              .spared_flops = bind->spared_flops,
                              .bytes = moved_bytes(bind),
                              .node = node->index,
                              .nodes = 1,
                          });
}

void ipex_bind_begin(const struct ipex_plan_builder *b, struct ipex_bind *bind) {
    memset(bind, 0, sizeof *bind);
    bind->setup = b->setup;
}

static enum ipex_bound call_binder(struct ipex_bind *bind) {
    switch (bind->op) {
#define IPEX_OP(id, name, min_in, max_in, n_out, n_ints, n_floats)                                 \
    case id:                                                                                       \
        return ipex_bind_##name(bind);
#include "format/ops.inc"
    default:
        __builtin_unreachable(); /* the checker knows no other */
    }
}

static void set_node(const struct ipex_plan_builder *b, const struct ipex_plan_node *node,
                     struct ipex_bind *bind) {
    ipex_bind_begin(b, bind);
    bind->op = ipex_fb_node_op(node->fb);
    bind->ints = node->ints;
    bind->n_ints = ipex_fb_node_ints_len(node->fb);
    bind->floats = ipex_fb_node_floats(node->fb);
    bind->n_floats = ipex_fb_node_floats_len(node->fb);
    bind->n_inputs = node->inputs;
    for (uint32_t i = 0; i < node->inputs; i++)
        bind->input[i] = node->slot[i].info;
    bind->n_outputs = node->outputs;
    for (uint32_t i = 0; i < node->outputs; i++)
        bind->outputs[i] = node->slot[IPEX_REF_OUTPUT + i].info;
}

enum ipex_bound ipex_bind_node(const struct ipex_plan_builder *b, const struct ipex_plan_node *node,
                               bool dense, struct ipex_bind *bind) {
    set_node(b, node, bind);
    bind->dense = dense;
    return call_binder(bind);
}

enum ipex_bound ipex_bind_lines(const struct ipex_plan_builder *b,
                                const struct ipex_plan_node *node, struct ipex_bind *bind) {
    set_node(b, node, bind);
    bind->lines = true;
    return call_binder(bind);
}

enum ipex_status ipex_refuse_node(const struct ipex_plan_builder *b,
                                  const struct ipex_plan_node *node, enum ipex_bound bound) {
    return ipex_fail(&b->report, IPEX_ERROR_MEMORY, "node %d (%s '%s'): %s", (int)node->index,
                     ipex_op_info(ipex_fb_node_op(node->fb))->name, ipex_fb_node_name(node->fb),
                     bound == IPEX_BOUND_TOO_LARGE
                         ? "a dimension is too large for its kernel"
                         : "its operands' layouts do not suit its kernel");
}
