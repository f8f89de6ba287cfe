/* SPDX-License-Identifier: Apache-2.0 */
/* Which band groups are run as one step, and that step: every member is bound as if alone, to
 * operands of which those between members have a place in scratch instead of the arena. */
#include "runtime/band.h"

#include <string.h>

#include "runtime/band_run.h"
#include "runtime/cut.h"

#define JOB_FLOPS 2000000 /* below, a job costs more to hand out than another thread saves */

/* ---- which ---- */

static struct ipex_fb_node node_at(const struct ipex_plan_builder *b, int32_t index) {
    return ipex_fb_entry_nodes(b->entry->fb, (uint32_t)index);
}

static bool has_lines(struct ipex_fb_node node) {
    return ipex_fb_node_op(node) == IPEX_OP_conv || ipex_fb_node_op(node) == IPEX_OP_depthwise;
}

/* Whether node `index` writes what only the next node reads, as its first operand: a storage of its
 * own, for these two alone. */
static bool feeds_next(const struct ipex_plan_builder *b, int32_t index) {
    struct ipex_fb_node node = node_at(b, index), next = node_at(b, index + 1);
    if (!has_lines(node) || !has_lines(next))
        return false;
    const int32_t between = ipex_fb_node_outputs(node)[0];
    const struct ipex_tensor_info *info = &b->entry->tensor[between];
    const int32_t *inputs = ipex_fb_node_inputs(next);
    if (inputs[0] != between || info->root != between || info->is_input || info->is_output ||
        info->dtype != IPEX_DTYPE_f32 || info->first != index || info->last != index + 1)
        return false;
    for (uint32_t i = 1; i < ipex_fb_node_inputs_len(next); i++)
        if (inputs[i] >= 0 && b->entry->tensor[inputs[i]].root == between)
            return false;
    return b->entry->tensor[ipex_fb_node_outputs(next)[0]].root != between;
}

/* Bytes of a node's output, of a session: with symbols, at their highest. */
static int64_t output_bytes(const struct ipex_plan_builder *b, int32_t index) {
    const int32_t tensor = ipex_fb_node_outputs(node_at(b, index))[0];
    const struct ipex_tensor_info *info = &b->entry->tensor[tensor];
    return b->capacity != NULL ? b->capacity[tensor] : info->storage * ipex_element_size(info);
}

int32_t ipex_band_length(const struct ipex_plan_builder *b, int32_t index) {
    const uint32_t band = ipex_fb_node_band(node_at(b, index));
    int32_t count = 1;
    if (band == 0 || b->setup->no_bands)
        return 1;
    /* What stays in L2 by itself, each thread's part in its own, gains nothing, and bands that are
     * longer for it hold fewer lines. */
    const int64_t cached = ipex_mul_sat(b->setup->l2_bytes, b->setup->threads);
    while (count < IPEX_BAND_MEMBERS && index + count < b->entry->nodes &&
           ipex_fb_node_band(node_at(b, index + count)) == band &&
           feeds_next(b, index + count - 1) && output_bytes(b, index + count - 1) > cached)
        count++;
    return count;
}

/* ---- the step ---- */

struct group {
    struct ipex_plan_builder *b;
    struct ipex_band_args *args; /* in the plan, or a place to count with */
    bool placed;                 /* in the plan */
    int64_t flops, bytes;
    size_t scratch; /* bytes: the members' own */
    const struct ipex_fill_args *fill;
    int32_t fills;
    const char *name, *kernel;
};

/* The buffer between member `index` and the next. */
static void set_buffer(struct group *group, int32_t index, const struct ipex_tensor_info *info) {
    const int64_t pixel = info->strides[2];
    group->args->member[index].buffer = (struct ipex_band_buffer){
        .row = info->strides[1],
        .left = info->halo[1] * pixel,
        .right = info->halo[3] * pixel,
        .top = info->halo[0],
        .lines = info->dims[1],
        .below = info->halo[2],
    };
}

/* How member `index` reads the buffer before it. */
static void set_reader(struct group *group, int32_t index, const struct ipex_tensor_info *info,
                       const int32_t *ints) {
    struct ipex_band_member *member = &group->args->member[index];
    struct ipex_band_buffer *buffer = &group->args->member[index - 1].buffer;
    member->above = info->halo[0] - ints[IPEX_CONV_PAD_TOP];
    member->stride = ints[IPEX_CONV_STRIDE_H];
    member->window = (int64_t)(ints[IPEX_CONV_KERNEL_H] - 1) * ints[IPEX_CONV_DILATION_H] + 1;
    buffer->tap = buffer->left - ints[IPEX_CONV_PAD_LEFT] * info->strides[2];
}

/* Pointers to operands in scratch are set while running. */
static void drop_refs(struct ipex_bind *bind, bool drop_x, bool drop_y) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < bind->n_refs; i++) {
        const uint32_t target = bind->ref[i].target;
        if ((target == 0 && drop_x) || (target == IPEX_REF_OUTPUT && drop_y))
            continue;
        bind->ref[kept++] = bind->ref[i];
    }
    bind->n_refs = kept;
}

static void set_last(struct group *group, const struct ipex_plan_node *node,
                     struct ipex_bind *bind) {
    const struct ipex_tensor_info *y = bind->output;
    if (node->halo[0] != NULL)
        ipex_bind_halo(bind, 0, node->halo[0]);
    group->fill = ipex_emit_fills(group->b, bind, &node->slot[IPEX_REF_OUTPUT]);
    group->fills = (int32_t)bind->n_fills;
    group->bytes += ipex_info_numel(y) * ipex_element_size(y);
    group->name = ipex_fb_node_name(node->fb);
    group->args->images = (int32_t)y->dims[0];
    group->args->lines = (int32_t)y->dims[1];
}

/* What is read apart from what lies between members. */
static int64_t read_bytes(const struct ipex_bind *bind, bool first) {
    int64_t ret = 0;
    for (uint32_t i = first ? 0 : 1; i < bind->n_inputs; i++)
        if (bind->input[i] != NULL)
            ret += ipex_info_numel(bind->input[i]) * ipex_element_size(bind->input[i]);
    return ret;
}

static enum ipex_status add_member(struct group *group, int32_t index, int32_t node_index) {
    struct ipex_plan_builder *b = group->b;
    struct ipex_band_member *member = &group->args->member[index];
    const bool first = index == 0, last = index == group->args->members - 1;
    struct ipex_plan_node node;
    struct ipex_bind bind;
    IPEX_TRY(
        ipex_plan_node_begin(b, node_index, last ? IPEX_OUTPUTS_NEW : IPEX_OUTPUTS_LATER, &node));
    const enum ipex_bound bound = ipex_bind_lines(b, &node, &bind);
    if (bound != IPEX_BOUND)
        return ipex_refuse_node(b, &node, bound);
    member->fn = bind.fn;
    member->depthwise = bind.op == IPEX_OP_depthwise;
    member->x_size = ipex_element_size(bind.input[0]);
    memcpy(&member->args, &bind.args, bind.args_size);
    if (!first)
        set_reader(group, index, bind.input[0], bind.ints);
    if (!last)
        set_buffer(group, index, bind.output);
    drop_refs(&bind, !first, !last);
    ipex_emit_refs(b, &bind, node.slot, group->placed ? (uint8_t *)&member->args : NULL);
    if (first)
        group->kernel = bind.kernel;
    if (last)
        set_last(group, &node, &bind);
    group->flops = ipex_add_sat(group->flops, bind.flops);
    group->bytes += read_bytes(&bind, first);
    if (group->scratch < bind.scratch)
        group->scratch = bind.scratch;
    if (b->zero_bytes < bind.zeros)
        b->zero_bytes = bind.zeros;
    return IPEX_OK;
}

/* Lines of the first member that `lines` of the last need. */
static int64_t first_lines(struct ipex_band_args *args, int64_t lines) {
    (void)ipex_band_buffers(args, lines);
    return args->member[0].buffer.rows;
}

/* Lines of a job, which computes what its first lines share with the job before once more. */
static int64_t choose_job(const struct ipex_setup *setup, struct ipex_band_args *args,
                          int64_t line_flops) {
    const int64_t one = first_lines(args, 1);
    const int64_t stride = ipex_max_i64(1, first_lines(args, 2) - one);
    const struct ipex_cut cut = {
        .count = args->lines,
        .times = args->images,
        .least = ipex_units_worth(JOB_FLOPS, line_flops),
        .most = args->lines,
        .multiple = 1,
        .again = (double)one / (double)stride - 1,
    };
    return ipex_cut_even(&cut, setup->threads);
}

/* Bands whose buffers take half of L2, at least a line; equal ones in a job. Returns the floats of
 * scratch for the buffers: half of L2 whatever they take of it, so that it does not shrink where
 * dims grow. */
static int64_t choose_lines(const struct ipex_setup *setup, struct ipex_band_args *args,
                            int64_t flops) {
    const int64_t budget = setup->l2_bytes / 2 / (int64_t)sizeof(float);
    const int64_t line_flops = flops / ipex_max_i64(1, ipex_mul_sat(args->images, args->lines));
    const int64_t job = choose_job(setup, args, line_flops);
    int64_t fits = 1, too_many = job + 1;
    while (too_many - fits > 1) {
        const int64_t lines = fits + (too_many - fits) / 2;
        if (ipex_band_buffers(args, lines) <= budget)
            fits = lines;
        else
            too_many = lines;
    }
    args->lines_per_job = (int32_t)job;
    args->lines_per_band = (int32_t)ipex_ceil_div(job, ipex_ceil_div(job, fits));
    const int64_t one_line = ipex_band_buffers(args, 1);
    (void)ipex_band_buffers(args, args->lines_per_band);
    return ipex_max_i64(budget, one_line);
}

/* "conv+depthwise+conv", in the plan's memory. */
static const char *list_operators(struct ipex_plan_builder *b, int32_t index, int32_t count) {
    size_t size = 0, at = 0;
    for (int32_t i = 0; i < count; i++)
        size += strlen(ipex_op_info(ipex_fb_node_op(node_at(b, index + i)))->name) + 1;
    char *ret = ipex_plan_take(b, size);
    if (!ipex_plan_placing(b))
        return "";
    for (int32_t i = 0; i < count; i++) {
        const char *name = ipex_op_info(ipex_fb_node_op(node_at(b, index + i)))->name;
        memcpy(ret + at, name, strlen(name));
        at += strlen(name);
        ret[at++] = i + 1 < count ? '+' : '\0';
    }
    return ret;
}

enum ipex_status ipex_band_build(struct ipex_plan_builder *b, int32_t index, int32_t count) {
    struct ipex_band_args room;
    struct ipex_band_args *args = ipex_plan_take(b, sizeof *args);
    struct group group = {.b = b, .args = &room};
    if (ipex_plan_placing(b)) {
        group.args = args;
        group.placed = true;
    }
    memset(group.args, 0, sizeof *group.args);
    group.args->members = count;
    for (int32_t i = 0; i < count; i++)
        IPEX_TRY(add_member(&group, i, index + i));
    const int64_t floats = choose_lines(b->setup, group.args, group.flops);
    group.args->member_scratch = (floats + 15) / 16 * 16;
    const size_t scratch = (size_t)group.args->member_scratch * sizeof(float) + group.scratch;
    if (b->scratch_bytes < scratch)
        b->scratch_bytes = scratch;
    const int64_t blocks = ipex_ceil_div(group.args->lines, group.args->lines_per_job);
    ipex_plan_add_step(b, &(struct ipex_plan_step){.fn = ipex_band_run,
                                                   .args = group.args,
                                                   .jobs = group.args->images * blocks,
                                                   .fill = group.fill,
                                                   .fills = group.fills,
                                                   .name = group.name,
                                                   .op = list_operators(b, index, count),
                                                   .kernel = group.kernel,
                                                   .flops = group.flops,
                                                   .bytes = group.bytes,
                                                   .node = index,
                                                   .nodes = count});
    for (int32_t i = 0; i < count; i++)
        ipex_plan_give_dead(b, index + i);
    return IPEX_OK;
}
