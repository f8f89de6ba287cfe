/* SPDX-License-Identifier: Apache-2.0 */
/* Which band groups are run as one step, and that step: every member is bound as if alone, to
 * operands of which those between members have a place in scratch instead of the arena. */
#include "runtime/band.h"

#include <string.h>

#include "runtime/band_run.h"
#include "runtime/cut.h"

#define JOB_FLOPS 2000000 /* below, a job costs more to hand out than another thread saves */

/* Lines of a pool's window beyond which it is no matter of lines. */
#define MOST_POOLED 16

/* ---- which ---- */

static struct ipex_fb_node node_at(const struct ipex_plan_builder *b, int32_t index) {
    return ipex_fb_entry_nodes(b->entry->fb, (uint32_t)index);
}

static const struct ipex_tensor_info *root_of(const struct ipex_plan_builder *b, int32_t tensor) {
    return &b->entry->tensor[b->entry->tensor[tensor].root];
}

static bool pools_lines(struct ipex_fb_node node) {
    return ipex_fb_node_dynamic_len(node) == 0 &&
           ipex_fb_node_ints(node)[IPEX_POOL_KERNEL_H] <= MOST_POOLED &&
           ipex_fb_node_ints(node)[IPEX_POOL_DILATION_H] == 1;
}

/* Whether the kernel can compute lines [begin, end) of y alone. */
static bool writes_lines(struct ipex_fb_node node) {
    switch (ipex_fb_node_op(node)) {
    case IPEX_OP_max_pool:
    case IPEX_OP_avg_pool:
        return pools_lines(node);
    case IPEX_OP_conv:
    case IPEX_OP_depthwise:
    case IPEX_OP_pointwise:
    case IPEX_OP_resize:
    case IPEX_OP_copy:
    case IPEX_OP_transpose:
        return true;
    default:
        return false;
    }
}

/* Whether line l of tensors a and c is line l of as many. */
static bool same_lines(const struct ipex_plan_builder *b, int32_t a, int32_t c) {
    struct ipex_fb_tensor x = ipex_fb_entry_tensors(b->entry->fb, (uint32_t)a);
    struct ipex_fb_tensor y = ipex_fb_entry_tensors(b->entry->fb, (uint32_t)c);
    return b->entry->tensor[c].rank == 4 && memcmp(ipex_fb_tensor_dims(x), ipex_fb_tensor_dims(y),
                                                   2 * sizeof *ipex_fb_tensor_dims(x)) == 0;
}

/* Whether the node reads lines of its operand `input` in their order, from a few on. */
static bool reads_lines(const struct ipex_plan_builder *b, struct ipex_fb_node node,
                        uint32_t input) {
    switch (ipex_fb_node_op(node)) {
    case IPEX_OP_conv:
    case IPEX_OP_depthwise:
        return input == 0;
    case IPEX_OP_max_pool:
    case IPEX_OP_avg_pool:
        return pools_lines(node);
    case IPEX_OP_winograd: /* with dilations, tiles are made of lines that lie apart */
        return input == 0 && ipex_fb_node_ints(node)[IPEX_CONV_DILATION_H] == 1;
    case IPEX_OP_copy:
        return true;
    case IPEX_OP_pointwise:
        return same_lines(b, ipex_fb_node_inputs(node)[input], ipex_fb_node_outputs(node)[0]);
    default:
        return false;
    }
}

/* All of an image in a storage of its own, or some of its channels. */
static bool is_slice(const struct ipex_plan_builder *b, int32_t tensor) {
    const struct ipex_tensor_info *info = &b->entry->tensor[tensor];
    return info->rank == 4 && root_of(b, tensor)->rank == 4 &&
           (info->root == tensor || info->slice_axis == 3);
}

static bool reads_root(const struct ipex_plan_builder *b, struct ipex_fb_node node, int32_t root) {
    for (uint32_t i = 0; i < ipex_fb_node_inputs_len(node); i++) {
        const int32_t tensor = ipex_fb_node_inputs(node)[i];
        if (tensor >= 0 && b->entry->tensor[tensor].root == root)
            return true;
    }
    return false;
}

/* Whether the node reads what lies in the storage by lines, and does not write there. */
static bool takes_lines(const struct ipex_plan_builder *b, struct ipex_fb_node node, int32_t root) {
    for (uint32_t i = 0; i < ipex_fb_node_inputs_len(node); i++) {
        const int32_t tensor = ipex_fb_node_inputs(node)[i];
        if (tensor >= 0 && b->entry->tensor[tensor].root == root &&
            !(is_slice(b, tensor) && reads_lines(b, node, i)))
            return false;
    }
    return reads_root(b, node, root) &&
           b->entry->tensor[ipex_fb_node_outputs(node)[0]].root != root;
}

static bool may_lie_between(const struct ipex_tensor_info *info) {
    return info->dtype == IPEX_DTYPE_f32 || info->dtype == IPEX_DTYPE_bf16 ||
           info->dtype == IPEX_DTYPE_u8;
}

/* The node that takes the lines that node `index` writes, from a storage that nodes from `begin` on
 * write and it alone reads; -1: there is none. */
static int32_t find_reader(const struct ipex_plan_builder *b, int32_t begin, int32_t index) {
    struct ipex_fb_node node = node_at(b, index);
    if (!writes_lines(node) || !is_slice(b, ipex_fb_node_outputs(node)[0]))
        return -1;
    const int32_t root = b->entry->tensor[ipex_fb_node_outputs(node)[0]].root;
    const struct ipex_tensor_info *info = &b->entry->tensor[root];
    const int32_t last = info->last;
    if (info->is_input || info->is_output || !may_lie_between(info) || info->first < begin ||
        last <= index || last >= b->entry->nodes || !takes_lines(b, node_at(b, last), root))
        return -1;
    for (int32_t i = info->first; i < last; i++)
        if (reads_root(b, node_at(b, i), root))
            return -1;
    return last;
}

/* Bytes of the storage that a node writes, of a session: with symbols, at their highest. */
static int64_t output_bytes(const struct ipex_plan_builder *b, int32_t index) {
    const int32_t root = b->entry->tensor[ipex_fb_node_outputs(node_at(b, index))[0]].root;
    const struct ipex_tensor_info *info = &b->entry->tensor[root];
    return b->capacity != NULL ? b->capacity[root] : info->storage * ipex_element_size(info);
}

/* A small L2 has a quick L3 behind it, from which some of it comes as soon as a band's few lines
 * are walked: AMD Zen 3, whose L2 is 512 KiB, MobileNetV2 0.965, PP-OCR recogniser 0.95 of the
 * time, two threads 0.99, 0.87. */
enum { SMALL_L2 = 256 << 10, LARGE_L2 = 1 << 20, TIMES_SMALL_L2 = 4 };

/* What stays in L2 by itself, each thread's part in its own, gains nothing by bands, and those that
 * are longer for it hold fewer lines. */
static int64_t cached_bytes(const struct ipex_setup *setup) {
    const bool small = SMALL_L2 <= setup->l2_bytes && setup->l2_bytes < LARGE_L2;
    const int64_t times = small ? TIMES_SMALL_L2 : 1;
    return ipex_mul_sat(setup->l2_bytes, ipex_max_i64(setup->threads, times));
}

int32_t ipex_band_length(const struct ipex_plan_builder *b, int32_t index) {
    const uint32_t band = ipex_fb_node_band(node_at(b, index));
    if (band == 0 || b->setup->no_bands)
        return 1;
    const int64_t cached = cached_bytes(b->setup);
    int32_t last = index, readers = index; /* of all nodes so far, the last */
    for (int32_t i = index; i < b->entry->nodes && i < index + IPEX_BAND_MEMBERS; i++) {
        if (ipex_fb_node_band(node_at(b, i)) != band)
            break;
        if (i == readers)
            last = i;
        const int32_t reader = find_reader(b, index, i);
        if (reader < 0 || output_bytes(b, i) <= cached)
            break;
        readers = reader > readers ? reader : readers;
    }
    return last - index + 1;
}

/* ---- the step ---- */

/* Whether line l is made of line l of operands in buffers. */
static bool reads_line_by_line(uint32_t op) {
    return op == IPEX_OP_pointwise || op == IPEX_OP_copy;
}

/* Weights that stay in L1: a line of few pixels may as well be computed alone. */
#define LITTLE_WEIGHT 16384

/* Whether a line alone costs no more than among others: no windows share lines, no weights come
 * from afar. The same at all sizes. */
static bool is_cheap_by_line(const struct ipex_bind *bind) {
    if (bind->op == IPEX_OP_conv)
        return bind->ints[IPEX_CONV_KERNEL_H] == 1 && bind->ints[IPEX_CONV_STRIDE_H] == 1 &&
               ipex_info_bytes(bind->input[1]) <= LITTLE_WEIGHT;
    return reads_line_by_line(bind->op) || bind->op == IPEX_OP_resize ||
           bind->op == IPEX_OP_transpose;
}

struct group {
    struct ipex_plan_builder *b;
    struct ipex_band_args *args; /* in the plan, or a place to count with */
    bool placed;                 /* in the plan */
    int64_t flops, spared_flops, bytes;
    size_t scratch;                                         /* bytes: the members' own */
    const struct ipex_tensor_info *root[IPEX_BAND_MEMBERS]; /* that a buffer stands for */
    bool cheap[IPEX_BAND_MEMBERS]; /* line by line: all that goes into it */
    const struct ipex_fill_args *fill;
    int32_t begin; /* the first node */
    int32_t fills;
    const char *name, *kernel;
    int64_t most_flops; /* of a member: the kernel's */
};

/* The buffer that stands for a storage, or the place for a new one. */
static int32_t find_buffer(const struct group *group, const struct ipex_tensor_info *root) {
    int32_t at = 0;
    while (at < group->args->buffers && group->root[at] != root)
        at++;
    return at;
}

static void add_buffer(struct group *group, const struct ipex_tensor_info *root) {
    const int32_t at = group->args->buffers++;
    group->root[at] = root;
    group->cheap[at] = true;
    group->args->buffer[at] = (struct ipex_band_buffer){
        .size = ipex_element_size(root),
        .row = root->strides[1],
        .left = root->halo[1] * root->strides[2],
        .right = root->strides[1] - (root->halo[1] + root->dims[2]) * root->strides[2],
        .top = root->halo[0],
        .border = root->halo_value,
        .lines = root->dims[1],
        .below = root->halo[2],
    };
}

/* An operand whose storage a buffer stands for. */
static struct ipex_band_operand find_operand(const struct group *group, int32_t tensor) {
    const struct ipex_tensor_info *info = &group->b->entry->tensor[tensor];
    const int32_t buffer = find_buffer(group, root_of(group->b, tensor));
    if (buffer == group->args->buffers)
        return (struct ipex_band_operand){.buffer = -1};
    return (struct ipex_band_operand){
        .buffer = buffer,
        .shift = group->args->buffer[buffer].left + (info->slice_axis == 3 ? info->slice_start : 0),
    };
}

/* Which lines of the buffer member `index` reads. */
static void set_reader(struct group *group, int32_t index, struct ipex_band_operand *x,
                       const struct ipex_bind *bind) {
    struct ipex_band_buffer *buffer = &group->args->buffer[x->buffer];
    buffer->reader = index;
    buffer->above = buffer->top;
    buffer->stride = buffer->window = 1;
    if (reads_line_by_line(bind->op))
        return;
    const int32_t *ints = bind->ints; /* a pool's are the same */
    buffer->above -= ints[IPEX_CONV_PAD_TOP];
    buffer->stride = ints[IPEX_CONV_STRIDE_H];
    buffer->window = (int64_t)(ints[IPEX_CONV_KERNEL_H] - 1) * ints[IPEX_CONV_DILATION_H] + 1;
    if (bind->op != IPEX_OP_max_pool && bind->op != IPEX_OP_avg_pool)
        x->shift -= ints[IPEX_CONV_PAD_LEFT] * bind->input[0]->strides[2];
}

/* Which operands of member `index` lie in buffers: those that members write. What is cheap goes
 * line by line, so that its buffers need no more. */
static void set_operands(struct group *group, int32_t index, const struct ipex_plan_node *node,
                         const struct ipex_bind *bind) {
    struct ipex_band_member *member = &group->args->member[index];
    bool cheap = is_cheap_by_line(bind);
    for (uint32_t i = 0; i < node->inputs; i++) {
        const int32_t tensor = ipex_fb_node_inputs(node->fb)[i];
        member->x[i] =
            tensor >= 0 ? find_operand(group, tensor) : (struct ipex_band_operand){.buffer = -1};
        if (member->x[i].buffer < 0)
            continue;
        set_reader(group, index, &member->x[i], bind);
        cheap = cheap && group->cheap[member->x[i].buffer];
    }
    member->at_once = cheap && reads_line_by_line(bind->op) ? 1 : INT32_MAX;
    const int32_t output = ipex_fb_node_outputs(node->fb)[0];
    const struct ipex_tensor_info *root = root_of(group->b, output);
    if (index < group->args->members - 1 && find_buffer(group, root) == group->args->buffers)
        add_buffer(group, root);
    member->y = find_operand(group, output);
    if (member->y.buffer >= 0)
        group->cheap[member->y.buffer] = group->cheap[member->y.buffer] && cheap;
}

/* Pointers to operands in scratch are set while running. */
static void drop_refs(struct ipex_bind *bind, const struct ipex_band_member *member) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < bind->n_refs; i++) {
        const uint32_t target = bind->ref[i].target;
        if ((target < IPEX_POINTWISE_INPUTS && member->x[target].buffer >= 0) ||
            (target == IPEX_REF_OUTPUT && member->y.buffer >= 0))
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
    group->bytes += ipex_info_bytes(y);
    group->name = ipex_fb_node_name(node->fb);
    group->args->images = (int32_t)y->dims[0];
    group->args->lines = (int32_t)y->dims[1];
}

/* What is read apart from what lies between members. */
static int64_t read_bytes(const struct ipex_bind *bind, const struct ipex_band_member *member) {
    int64_t ret = 0;
    for (uint32_t i = 0; i < bind->n_inputs; i++)
        if (bind->input[i] != NULL && member->x[i].buffer < 0)
            ret += ipex_info_bytes(bind->input[i]);
    return ret;
}

static enum ipex_status add_member(struct group *group, int32_t index) {
    struct ipex_plan_builder *b = group->b;
    struct ipex_band_member *member = &group->args->member[index];
    const bool last = index == group->args->members - 1;
    struct ipex_plan_node node;
    struct ipex_bind bind;
    IPEX_TRY(ipex_plan_node_begin(b, group->begin + index, last, &node));
    const enum ipex_bound bound = ipex_bind_lines(b, &node, &bind);
    if (bound != IPEX_BOUND)
        return ipex_refuse_node(b, &node, bound);
    member->fn = bind.fn;
    member->op = ipex_bind_has_conv(&bind) ? IPEX_OP_conv : bind.op;
    for (uint32_t i = 0; i < bind.n_inputs; i++)
        member->x_size[i] = bind.input[i] != NULL ? ipex_element_size(bind.input[i]) : 0;
    member->y_size = ipex_element_size(bind.output);
    memcpy(&member->args, &bind.args, bind.args_size);
    set_operands(group, index, &node, &bind);
    drop_refs(&bind, member);
    ipex_emit_refs(b, &bind, node.slot, group->placed ? (uint8_t *)&member->args : NULL);
    if (group->kernel == NULL || bind.flops > group->most_flops) {
        group->kernel = bind.kernel;
        group->most_flops = bind.flops;
    }
    if (last)
        set_last(group, &node, &bind);
    group->flops = ipex_add_sat(group->flops, bind.flops);
    group->spared_flops = ipex_add_sat(group->spared_flops, bind.spared_flops);
    group->bytes += read_bytes(&bind, member);
    if (group->scratch < bind.scratch)
        group->scratch = bind.scratch;
    if (b->zero_bytes < bind.zeros)
        b->zero_bytes = bind.zeros;
    return IPEX_OK;
}

/* Lines of the last member that go together: of winograd, those of a tile, which begin where they
 * do without bands. */
static int64_t lines_together(const struct ipex_band_args *args) {
    const struct ipex_band_member *last = &args->member[args->members - 1];
    return last->op == IPEX_OP_winograd ? last->args.winograd.tile_h : 1;
}

/* Lines of the first member that `lines` of the last need. */
static int64_t first_lines(struct ipex_band_args *args, int64_t lines) {
    (void)ipex_band_buffers(args, lines);
    return args->buffer[args->member[0].y.buffer].rows;
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
        .multiple = lines_together(args),
        .again = (double)one / (double)stride - 1,
    };
    return ipex_cut_even(&cut, setup->threads);
}

/* Bands whose buffers take half of L2, at least the lines that go together; equal ones in a job.
 * Returns the bytes of scratch for the buffers: half of L2 whatever they take of it, so that it
 * does not shrink where dims grow. */
static int64_t choose_lines(const struct ipex_setup *setup, struct ipex_band_args *args,
                            int64_t flops) {
    const int64_t budget = setup->l2_bytes / 2;
    const int64_t line_flops = flops / ipex_max_i64(1, ipex_mul_sat(args->images, args->lines));
    const int64_t job = choose_job(setup, args, line_flops), together = lines_together(args);
    const int64_t parts = ipex_ceil_div(job, together);
    int64_t fits = 1, too_many = parts + 1;
    while (too_many - fits > 1) {
        const int64_t middle = fits + (too_many - fits) / 2;
        if (ipex_band_buffers(args, middle * together) <= budget)
            fits = middle;
        else
            too_many = middle;
    }
    args->lines_per_job = (int32_t)job;
    args->lines_per_band = (int32_t)(ipex_ceil_div(parts, ipex_ceil_div(parts, fits)) * together);
    const int64_t least = ipex_band_buffers(args, together);
    (void)ipex_band_buffers(args, args->lines_per_band);
    return ipex_max_i64(budget, least);
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
    const size_t size =
        offsetof(struct ipex_band_args, member) + (size_t)count * sizeof(struct ipex_band_member);
    struct ipex_band_args *args = ipex_plan_take(b, size);
    struct group group = {.b = b, .args = &room, .begin = index};
    b->step_begin = index;
    if (ipex_plan_placing(b)) {
        group.args = args;
        group.placed = true;
    }
    memset(group.args, 0, size);
    group.args->members = count;
    for (int32_t i = 0; i < count; i++)
        IPEX_TRY(add_member(&group, i));
    const int64_t bytes = choose_lines(b->setup, group.args, group.flops);
    group.args->member_scratch = (bytes + 63) / 64 * 64;
    const size_t scratch = (size_t)group.args->member_scratch + group.scratch;
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
                                                   .spared_flops = group.spared_flops,
                                                   .bytes = group.bytes,
                                                   .node = index,
                                                   .nodes = count});
    for (int32_t i = 0; i < count; i++)
        ipex_plan_give_dead(b, index + i);
    return IPEX_OK;
}
