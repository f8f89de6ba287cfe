/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes whose operands have gaps that their kernel cannot walk: rare (a softmax over a slice, a
 * reduction over axes that are no neighbours), slow, and right. Temporaries live in the arena while
 * the node runs. */
#include "runtime/emit.h"

#include <string.h>

/* A tensor like `like` without gaps and halo. */
static struct ipex_tensor_info dense_like(const struct ipex_tensor_info *like) {
    struct ipex_tensor_info ret = *like;
    memset(ret.halo, 0, sizeof ret.halo);
    int64_t stride = 1;
    for (int32_t d = ret.rank - 1; d >= 0; d--) {
        ret.strides[d] = stride;
        stride *= ret.dims[d];
    }
    ret.storage = stride;
    ret.offset = 0;
    ret.dense = true;
    return ret;
}

/* Emits a copy between two operands of the same dims. */
static void emit_copy(struct ipex_plan_builder *b, const struct ipex_plan_node *node,
                      const struct ipex_slot *from, const struct ipex_slot *to,
                      const struct ipex_tensor_info *halo_root) {
    struct ipex_bind bind;
    ipex_bind_begin(b, &bind);
    bind.op = IPEX_OP_copy;
    bind.n_inputs = bind.n_outputs = 1;
    bind.input[0] = from->info;
    bind.output = to->info;
    (void)ipex_bind_copy(&bind); /* a copy takes any strides */
    if (halo_root != NULL)
        ipex_bind_halo(&bind, 0, halo_root);
    struct ipex_slot slots[IPEX_BIND_SLOTS] = {[0] = *from, [IPEX_REF_OUTPUT] = *to};
    ipex_emit_step(b, node, &bind, slots);
}

/* Replaces an operand by a dense temporary shaped like `like`; ret_original is what it was. */
static enum ipex_status make_dense(struct ipex_plan_builder *b, struct ipex_plan_node *node,
                                   uint32_t index, const struct ipex_tensor_info *like,
                                   struct ipex_slot *ret_original) {
    struct ipex_slot *slot = &node->slot[index];
    *ret_original = *slot;
    struct ipex_tensor_info *temp = &node->temp[node->temps++];
    *temp = dense_like(like);
    *slot = (struct ipex_slot){.info = temp, .root = -1};
    return ipex_plan_place(b, -node->temps, temp->storage * ipex_element_size(temp),
                           &slot->storage);
}

/* Copies every input that has gaps into a dense temporary. */
static enum ipex_status densify_inputs(struct ipex_plan_builder *b, struct ipex_plan_node *node) {
    for (uint32_t i = 0; i < node->inputs; i++) {
        const struct ipex_tensor_info *info = node->slot[i].info;
        if (info == NULL || info->dense)
            continue;
        struct ipex_slot from;
        IPEX_TRY(make_dense(b, node, i, info, &from));
        emit_copy(b, node, &from, &node->slot[i], NULL);
    }
    return IPEX_OK;
}

/* Copies input 0 into a dense temporary with its axes in another order. */
static enum ipex_status reorder_input(struct ipex_plan_builder *b, struct ipex_plan_node *node,
                                      const int8_t *order) {
    const struct ipex_tensor_info *info = node->slot[0].info;
    struct ipex_tensor_info reordered = *info;
    for (int32_t d = 0; d < info->rank; d++) {
        reordered.dims[d] = info->dims[order[d]];
        reordered.strides[d] = info->strides[order[d]];
    }
    struct ipex_slot from;
    IPEX_TRY(make_dense(b, node, 0, &reordered, &from));
    from.info = &reordered;
    emit_copy(b, node, &from, &node->slot[0], NULL);
    return IPEX_OK;
}

enum ipex_status ipex_emit_dense(struct ipex_plan_builder *b, struct ipex_plan_node *node,
                                 struct ipex_bind *bind) {
    struct ipex_slot *output = &node->slot[IPEX_REF_OUTPUT];
    struct ipex_slot original[IPEX_OUTPUTS_MAX] = {{0}}; /* of outputs to be copied out */
    if (bind->reorder)
        IPEX_TRY(reorder_input(b, node, bind->order));
    else
        IPEX_TRY(densify_inputs(b, node));
    for (uint32_t i = 0; i < node->outputs; i++)
        if (!output[i].info->dense)
            IPEX_TRY(make_dense(b, node, IPEX_REF_OUTPUT + i, output[i].info, &original[i]));
    const enum ipex_bound bound = ipex_bind_node(b, node, true, bind);
    if (bound != IPEX_BOUND)
        return ipex_refuse_node(b, node, bound);
    for (uint32_t i = 0; i < node->outputs; i++)
        if (original[i].info == NULL && node->halo[i] != NULL)
            ipex_bind_halo(bind, i, node->halo[i]);
    ipex_emit_step(b, node, bind, node->slot);
    for (uint32_t i = 0; i < node->outputs; i++)
        if (original[i].info != NULL)
            emit_copy(b, node, &output[i], &original[i], node->halo[i]);
    return IPEX_OK;
}
