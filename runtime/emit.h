/* SPDX-License-Identifier: Apache-2.0 */
/* What building a plan is made of: taking memory for it, and turning what a binder found into a
 * step with addresses. Private to plan.c, emit.c, band.c and
 * densify.c. */
#ifndef IPEX_RUNTIME_EMIT_H
#define IPEX_RUNTIME_EMIT_H

#include "runtime/plan.h"

#define IPEX_BIND_SLOTS (IPEX_BIND_INPUTS + IPEX_OUTPUTS_MAX)

/* An operand of the node being bound. */
struct ipex_slot {
    const struct ipex_tensor_info *info; /* NULL: absent */
    int32_t root;                        /* of a tensor in a port's storage, else -1 */
    uint8_t *storage;                    /* first byte; NULL when counting */
};

struct ipex_plan_node {
    struct ipex_fb_node fb;
    int32_t index;
    uint32_t inputs;
    const int32_t *ints; /* in the file, or in `room` where some are expressions */
    int32_t room[IPEX_DYNAMIC_INTS_MAX];
    uint32_t outputs;
    struct ipex_slot slot[IPEX_BIND_SLOTS]; /* inputs, then the outputs from IPEX_REF_OUTPUT on */
    /* Of an output: the root whose halo this node has to fill, or NULL. */
    const struct ipex_tensor_info *halo[IPEX_OUTPUTS_MAX];
    struct ipex_tensor_info
        temp[IPEX_PLACE_TEMPS]; /* dense copies; they live in the arena while the node does */
    int32_t temps;
};

static inline int64_t ipex_element_size(const struct ipex_tensor_info *info) {
    return ipex_dtype_size((enum ipex_dtype)info->dtype);
}

/* All elements of a tensor. */
static inline int64_t ipex_info_bytes(const struct ipex_tensor_info *info) {
    return ipex_info_numel(info) * ipex_element_size(info);
}

/* Memory of the plan: NULL when counting (and when it does not fit, which ipex_session_init finds
 * before it builds). */
static inline void *ipex_plan_take(struct ipex_plan_builder *b, size_t bytes) {
    return ipex_bump_take(b->memory, bytes, 16);
}

static inline bool ipex_plan_placing(const struct ipex_plan_builder *b) {
    return b->plan != NULL && !b->memory->failed;
}

/* Finds room in the arena for `bytes`. */
IPEX_WARN_UNUSED enum ipex_status ipex_plan_place(struct ipex_plan_builder *b, int64_t owner,
                                                  int64_t bytes, uint8_t **ret_storage);

/* Begins a node: its attributes, and its operands' slots. place: storages that it is the first to
 * write get their places, or, where an operand dies element by element as the output comes to be,
 * the operand's place. */
IPEX_WARN_UNUSED enum ipex_status ipex_plan_node_begin(struct ipex_plan_builder *b, int32_t index,
                                                       bool place, struct ipex_plan_node *node);

/* Gives back the storages of a node's operands that no later node needs. */
void ipex_plan_give_dead(struct ipex_plan_builder *b, int32_t index);

/* An empty binding. */
void ipex_bind_begin(const struct ipex_plan_builder *b, struct ipex_bind *bind);

/* Binds a node to the operands in its slots. dense: see struct ipex_bind. */
enum ipex_bound ipex_bind_node(const struct ipex_plan_builder *b, const struct ipex_plan_node *node,
                               bool dense, struct ipex_bind *bind);

/* As ipex_bind_node, for a member of a band group: lines of y stay lines of the kernel. */
enum ipex_bound ipex_bind_lines(const struct ipex_plan_builder *b,
                                const struct ipex_plan_node *node, struct ipex_bind *bind);

/* Adds the whole halo of an output's root to what is filled before the step. Whoever first writes
 * into a storage fills its halo, since the arena is used again and again; other writers never
 * touch it, because views are cut out of the inside. */
void ipex_bind_halo(struct ipex_bind *bind, uint32_t output, const struct ipex_tensor_info *root);

/* The parts of ipex_emit_step. Pointers into the arguments; fills, aimed (NULL when counting, and
 * when there are none); and the step itself, whose `alone` is found. */
void ipex_emit_refs(struct ipex_plan_builder *b, const struct ipex_bind *bind,
                    const struct ipex_slot *slots, uint8_t *args);
struct ipex_fill_args *ipex_emit_fills(struct ipex_plan_builder *b, const struct ipex_bind *bind,
                                       const struct ipex_slot *outputs);
void ipex_plan_add_step(struct ipex_plan_builder *b, const struct ipex_plan_step *step);

/* Turns a binding into the plan's next step. slots: as in struct ipex_plan_node. */
void ipex_emit_step(struct ipex_plan_builder *b, const struct ipex_plan_node *node,
                    const struct ipex_bind *bind, const struct ipex_slot *slots);

/* Emits a node whose operands' strides do not suit its kernel (bind: what the binder said): dense
 * copies in, the kernel, and copies out where outputs have gaps. Takes arena for the node's
 * temporaries. */
IPEX_WARN_UNUSED enum ipex_status
ipex_emit_dense(struct ipex_plan_builder *b, struct ipex_plan_node *node, struct ipex_bind *bind);

/* The error for a node that cannot be bound. */
IPEX_WARN_UNUSED enum ipex_status ipex_refuse_node(const struct ipex_plan_builder *b,
                                                   const struct ipex_plan_node *node,
                                                   enum ipex_bound bound);

#endif
