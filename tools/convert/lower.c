/* SPDX-License-Identifier: Apache-2.0 */
/* Graph -> plan: gives every value its place in memory, then emits plan operators in order.
 *
 * A value's *order* is the sequence of its logical axes as they lie in memory. Convolutions and
 * pools make and want channels-last (N, H, W, C); pointwise nodes keep the order of their operands;
 * a transpose only renames axes; a reshape is a view wherever the axes it joins lie next to each
 * other. Only where an operator needs an order that the value does not have is a transpose step
 * emitted, once per value and order. Three walks: orders and concatenation slots (layout.c), then
 * halos, then the steps, those with packed weights in lower_layers.c, over lower_values.c. */
#include "tools/convert/lower.h"
#include "tools/convert/passes.h"

#include <stdlib.h>
#include <string.h>

/* ---- steps ---- */

static void lower_pool(struct lower *lower, struct ipex_node *node) {
    const struct ipex_pool *p = &node->u.pool;
    int32_t x = ipex_lower_tensor(lower, node->input[0], 4, ipex_channels_last, NULL),
            y = ipex_lower_own(lower, node->output);
    struct ipex_plan_node *step = ipex_plan_add_node(
        lower->plan, p->max ? IPEX_OP_max_pool : IPEX_OP_avg_pool, node->name, y);
    step->inputs = 1;
    step->input[0] = x;
    ipex_plan_set_ints(lower->plan, step, IPEX_POOL_ATTRS);
    for (int i = 0; i < 2; i++) {
        step->int_[IPEX_POOL_KERNEL_H + i] = (int32_t)p->kernel[i];
        step->int_[IPEX_POOL_STRIDE_H + i] = (int32_t)p->stride[i];
        step->int_[IPEX_POOL_DILATION_H + i] = (int32_t)p->dilation[i];
    }
    for (int i = 0; i < 4; i++)
        step->int_[IPEX_POOL_PAD_TOP + i] = (int32_t)p->pad[i];
    step->int_[IPEX_POOL_CEIL] = p->ceil;
    step->int_[IPEX_POOL_COUNT_PAD] = p->count_pad;
}

/* x, or, where it is a constant of one value for every row of the output and rows are shorter than
 * a vector of AVX-512, a constant that has it as often as rows have elements: this makes several
 * rows one. */
static struct ipex_value *along_short_rows(struct lower *lower, const struct ipex_node *node,
                                           struct ipex_value *x) {
    enum { SHORT_ROW = 16, ELEMENTS_MOST = 16384 };
    const struct ipex_value *y = node->output;
    const int64_t n = x->constant ? ipex_value_numel(x) : 1;
    if (n == 1 || x->dtype != IPEX_DTYPE_f32)
        return x;
    const int32_t row = y->layout->order[y->rank - 1], axis = row - (y->rank - x->rank);
    const int64_t length = y->dims[row];
    if (axis < 0 || x->dims[axis] != 1 || length < 2 || length >= SHORT_ROW ||
        n * length > ELEMENTS_MOST)
        return x;
    int64_t dims[IPEX_MAX_RANK], inner = 1;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = length;
    for (int32_t i = axis + 1; i < x->rank; i++)
        inner *= dims[i];
    float *data = ipex_arena_array(&lower->graph->arena, (size_t)(n * length), sizeof *data);
    for (int64_t i = 0; i < n * length; i++)
        data[i] = (float)ipex_constant_f64(x, i / inner / length * inner + i % inner);
    ipex_ledger_add(lower->graph->ledger, "layout", node->name, IPEX_REASON_applied,
                    ipex_arena_printf(lower->plan->arena,
                                      "%s, one value for every row, is stored for all %d elements",
                                      x->name, (int)length));
    return ipex_graph_constant(lower->graph, x->name, IPEX_DTYPE_f32, x->rank, dims, data);
}

static void lower_pointwise(struct lower *lower, struct ipex_node *node) {
    const struct ipex_program *p = node->u.program;
    struct ipex_program trimmed;
    if (node->output->layout->bytes) {
        ipex_program_trim(node, &trimmed);
        p = &trimmed;
    }
    struct ipex_value *value = node->output;
    int32_t x[IPEX_POINTWISE_INPUTS];
    for (int32_t i = 0; i < node->inputs; i++)
        x[i] = ipex_lower_tensor(lower, along_short_rows(lower, node, node->input[i]), value->rank,
                                 value->layout->order, NULL);
    int32_t y = ipex_lower_own(lower, value);
    struct ipex_plan_node *step = ipex_plan_add_node(lower->plan, IPEX_OP_pointwise, node->name, y);
    step->inputs = node->inputs;
    memcpy(step->input, x, (size_t)node->inputs * sizeof *x);
    ipex_plan_set_ints(lower->plan, step, 3 * p->steps);
    for (int32_t i = 0; i < p->steps; i++) {
        step->int_[3 * i] = p->step[i].op;
        step->int_[3 * i + 1] = p->step[i].a;
        step->int_[3 * i + 2] = p->step[i].b;
    }
    ipex_plan_set_floats(lower->plan, step, p->constants);
    memcpy(step->float_, p->constant, (size_t)p->constants * sizeof *p->constant);
}

/* The output is the input's tensor under other axis names. */
static void lower_transpose(struct lower *lower, struct ipex_node *node) {
    struct ipex_value *x = node->input[0], *y = node->output;
    struct variant constant = ipex_variant(x->constant ? ipex_lower_identity(lower, x) : -1,
                                           x->rank, ipex_identity_order);
    for (struct variant *v = x->constant ? &constant : x->layout->variants; v; v = v->next) {
        struct variant renamed = {.tensor = v->tensor, .rank = v->rank};
        for (int32_t i = 0; i < v->rank; i++)
            for (int32_t k = 0; k < y->rank; k++)
                if (node->u.perm[k] == v->order[i])
                    renamed.order[i] = k;
        ipex_lower_add_variant(lower, y, &renamed);
    }
    ipex_ledger_add(lower->graph->ledger, "layout", node->name, IPEX_REASON_applied,
                    "the transpose only renames axes");
}

/* The value without gaps and halo, in an order that the reshape keeps: one that it has, else by a
 * step. Returns the tensor. */
static int32_t reshape_source(struct lower *lower, struct ipex_value *x, const struct ipex_value *y,
                              int32_t *ret_order) {
    int64_t dims[IPEX_MAX_RANK];
    ipex_reshape_source(&lower->graph->dims, x,
                        x->constant ? ipex_identity_order : x->layout->order, y, ret_order);
    int32_t tensor = ipex_lower_tensor(lower, x, x->rank, ret_order, NULL);
    if (ipex_plan_is_dense(lower->plan, tensor))
        return tensor;
    ipex_physical_dims(x->dims, ret_order, x->rank, dims);
    return ipex_lower_materialise(lower, x, tensor, ret_order, x->rank, dims, ret_order, NULL);
}

/* A view of one of x's tensors as y, in which y lies in `ret_order`; -1: there is none. */
static int32_t reshape_view(struct lower *lower, const struct ipex_value *x,
                            const struct ipex_value *y, int32_t *ret_order) {
    int64_t dims[IPEX_MAX_RANK];
    int32_t tensor = -1;
    for (const struct variant *v = x->constant ? NULL : x->layout->variants; v && tensor < 0;
         v = v->next) {
        if (!ipex_reshape_order(&lower->graph->dims, x, v->order, y, ret_order))
            continue;
        ipex_physical_dims(y->dims, ret_order, y->rank, dims);
        tensor = ipex_plan_is_dense(lower->plan, v->tensor)
                     ? ipex_lower_view(lower, v->tensor, y->rank, dims)
                 : y->is_output ? -1
                                : ipex_lower_slice_view(lower, v->tensor, y->rank, dims);
    }
    return tensor;
}

static void lower_reshape(struct lower *lower, struct ipex_node *node) {
    struct ipex_value *x = node->input[0], *y = node->output;
    int32_t from[IPEX_MAX_RANK], order[IPEX_MAX_RANK];
    int64_t dims[IPEX_MAX_RANK];
    int32_t tensor = reshape_view(lower, x, y, order);
    if (tensor >= 0) {
        ipex_ledger_add(lower->graph->ledger, "layout", node->name, IPEX_REASON_applied,
                        "the reshape is a view");
    } else {
        const int32_t source = reshape_source(lower, x, y, from);
        if (!ipex_reshape_order(&lower->graph->dims, x, from, y, order))
            memcpy(order, ipex_identity_order, sizeof order); /* so does x lie then */
        ipex_physical_dims(y->dims, order, y->rank, dims);
        tensor = ipex_lower_view(lower, source, y->rank, dims);
    }
    struct variant v = ipex_variant(tensor, y->rank, order);
    ipex_lower_add_variant(lower, y, &v);
}

static void lower_concat(struct lower *lower, struct ipex_node *node) {
    struct ipex_value *y = node->output;
    struct ipex_value_layout *l = y->layout;
    int32_t parent = l->variants ? l->own : ipex_lower_own(lower, y), axis = 0;
    int64_t start = 0;
    for (int32_t i = 0; i < y->rank; i++)
        if (l->order[i] == node->u.axis)
            axis = i;
    for (int32_t i = 0; i < node->inputs; i++) {
        struct ipex_value *x = node->concat_input[i];
        bool in_place = x->layout && x->layout->concat == y && x->layout->concat_start == start;
        const char *site = ipex_arena_printf(lower->plan->arena, "%s[%d]", node->name, i);
        if (!in_place) {
            int32_t from = ipex_lower_tensor(lower, x, y->rank, l->order, NULL);
            struct ipex_plan_tensor t =
                ipex_plan_new_tensor(x->name, y->rank, lower->plan->tensor[from].dims);
            t.dtype = ipex_stored_dtype(x);
            t.view_of = parent;
            t.view_axis = axis;
            t.view_start = start;
            if (axis == y->rank - 1)
                ipex_plan_share_halo(lower->plan, &t);
            struct ipex_plan_node *step = ipex_plan_add_node(lower->plan, IPEX_OP_copy, node->name,
                                                             ipex_plan_add_tensor(lower->plan, &t));
            step->inputs = 1;
            step->input[0] = from;
        }
        ipex_ledger_add(lower->graph->ledger, "concat", site,
                        in_place ? IPEX_REASON_applied : ipex_concat_reason(y, x),
                        in_place ? "written straight into its slice of the result" : NULL);
        start = ipex_dim_add(&lower->graph->dims, start, x->dims[node->u.axis]);
    }
}

static void lower_slice(struct lower *lower, struct ipex_node *node) {
    struct ipex_value *x = node->input[0], *y = node->output;
    struct ipex_value_layout *l = y->layout;
    int32_t from = ipex_lower_tensor(lower, x, x->rank, l->order, NULL), cut = -1, cuts = 0;
    bool plain = true;
    for (int32_t i = 0; i < x->rank; i++) {
        int32_t axis = l->order[i];
        plain &= node->u.slice.step[axis] == 1;
        if (x->dims[axis] != y->dims[axis]) {
            cut = i;
            cuts++;
        }
    }
    const struct ipex_plan_tensor *parent = &lower->plan->tensor[from];
    plain &= cuts == 1 && parent->weight < 0 && !y->is_output &&
             (cut == x->rank - 1 || !ipex_plan_has_halo(parent));
    if (plain) {
        int64_t dims[IPEX_MAX_RANK];
        ipex_physical_dims(y->dims, l->order, y->rank, dims);
        struct ipex_plan_tensor t = ipex_plan_new_tensor(y->name, y->rank, dims);
        t.dtype = ipex_stored_dtype(y);
        t.view_of = from;
        t.view_axis = cut;
        t.view_start = node->u.slice.start[l->order[cut]];
        ipex_plan_share_halo(lower->plan, &t);
        struct variant v = ipex_variant(ipex_plan_add_tensor(lower->plan, &t), y->rank, l->order);
        ipex_lower_add_variant(lower, y, &v);
    } else {
        struct ipex_plan_node *step =
            ipex_plan_add_node(lower->plan, IPEX_OP_slice, node->name, ipex_lower_own(lower, y));
        step->inputs = 1;
        step->input[0] = from;
        ipex_plan_set_ints(lower->plan, step, 2 * x->rank);
        for (int32_t i = 0; i < x->rank; i++) {
            ipex_lower_set_dim(lower, step, i, node->u.slice.start[l->order[i]]);
            step->int_[x->rank + i] = (int32_t)node->u.slice.step[l->order[i]];
        }
    }
    ipex_ledger_add(lower->graph->ledger, "slice", node->name,
                    plain ? IPEX_REASON_applied : IPEX_REASON_not_adjacent,
                    plain ? "a view of its input" : NULL);
}

static void lower_pad(struct lower *lower, struct ipex_node *node) {
    struct ipex_value *y = node->output;
    int32_t rank = y->rank,
            x = ipex_lower_tensor(lower, node->input[0], rank, y->layout->order, NULL);
    struct ipex_plan_node *step =
        ipex_plan_add_node(lower->plan, IPEX_OP_pad, node->name, ipex_lower_own(lower, y));
    step->inputs = 1;
    step->input[0] = x;
    ipex_plan_set_ints(lower->plan, step, 2 * rank + 1);
    step->int_[2 * rank] = node->u.pad.mode;
    for (int32_t i = 0; i < rank; i++) {
        step->int_[i] = (int32_t)node->u.pad.before[y->layout->order[i]];
        step->int_[rank + i] = (int32_t)node->u.pad.after[y->layout->order[i]];
    }
    ipex_plan_set_floats(lower->plan, step, 1);
    step->float_[0] = node->u.pad.value;
}

static void lower_softmax(struct lower *lower, struct ipex_node *node) {
    struct ipex_value *y = node->output;
    int32_t x = ipex_lower_tensor(lower, node->input[0], y->rank, y->layout->order, NULL);
    struct ipex_plan_node *step =
        ipex_plan_add_node(lower->plan, IPEX_OP_softmax, node->name, ipex_lower_own(lower, y));
    step->inputs = 1;
    step->input[0] = x;
}

static void lower_reduce(struct lower *lower, struct ipex_node *node) {
    struct ipex_value *y = node->output;
    int32_t x = ipex_lower_tensor(lower, node->input[0], y->rank, y->layout->order, NULL);
    struct ipex_plan_node *step =
        ipex_plan_add_node(lower->plan, IPEX_OP_reduce, node->name, ipex_lower_own(lower, y));
    step->inputs = 1;
    step->input[0] = x;
    ipex_plan_set_ints(lower->plan, step, 2);
    step->int_[0] = (int32_t)node->u.reduce.kind;
    for (int32_t i = 0; i < y->rank; i++)
        step->int_[1] |= (int32_t)(node->u.reduce.axes >> y->layout->order[i] & 1) << i;
}

/* Weights of a recurrent node, [directions][n][k]: one segment of tiles per direction. */
static int32_t recurrent_weight(struct lower *lower, const struct ipex_node *node,
                                struct ipex_value *value) {
    struct ipex_plan_weight w = {.name = value->name,
                                 .dtype = ipex_weight_dtype(lower->graph, node),
                                 .layout = IPEX_LAYOUT_tiles,
                                 .rank = 5,
                                 .dims = {value->dims[0], 1, value->dims[1], 1, value->dims[2]},
                                 .recipe = IPEX_RECIPE_conv,
                                 .source = value};
    return ipex_lower_weight(lower, &w);
}

static int32_t plan_operand(struct lower *lower, struct ipex_node *node, int32_t i) {
    struct ipex_value *x = node->input[i];
    const struct ipex_plan_op *p = &node->u.plan;
    if (!x)
        return -1;
    if ((p->op == IPEX_OP_lstm || p->op == IPEX_OP_gru) && (i == 1 || i == 2))
        return recurrent_weight(lower, node, x);
    if (p->policy == IPEX_ORDER_elementwise || (i == 0 && p->policy != IPEX_ORDER_logical))
        return ipex_lower_tensor(lower, x, node->output->rank, node->output->layout->order, NULL);
    if (p->op == IPEX_OP_attention && i < 3)
        return ipex_lower_tensor(lower, x, node->output->rank, node->output->layout->order, NULL);
    return ipex_lower_identity(lower, x);
}

/* The factors of a product, in bf16 or in bytes; a mask stays as it is. */
static int32_t plan_factor(struct lower *lower, struct ipex_node *node, int32_t i) {
    const struct ipex_plan_op *p = &node->u.plan;
    if (node->integer)
        return ipex_lower_as(lower, node->input[i], IPEX_DTYPE_u8, node->input[i]->rank,
                             ipex_identity_order, NULL);
    if (i >= ipex_factors(node) || !ipex_reads_bf16(lower->graph, node))
        return plan_operand(lower, node, i);
    if (p->op == IPEX_OP_attention || (i == 0 && p->policy != IPEX_ORDER_logical))
        return ipex_lower_as(lower, node->input[i], IPEX_DTYPE_bf16, node->output->rank,
                             node->output->layout->order, NULL);
    return ipex_lower_as(lower, node->input[i], IPEX_DTYPE_bf16, node->input[i]->rank,
                         ipex_identity_order, NULL);
}

/* Of a product of bytes. */
static void set_byte_scales(const struct ipex_node *node, struct ipex_plan_node *step) {
    step->float_[IPEX_MATMUL_SCALE] = (float)node->fold.scale[0];
    step->float_[IPEX_MATMUL_Y_SCALE] = (float)node->integer->y_scale;
    step->float_[IPEX_MATMUL_Y_ZERO] = node->integer->y_zero;
}

static void lower_plan_op(struct lower *lower, struct ipex_node *node) {
    const struct ipex_plan_op *p = &node->u.plan;
    int32_t x[IPEX_POINTWISE_INPUTS], inputs = 0;
    for (int32_t i = 0; i < node->inputs; i++)
        if ((x[i] = plan_factor(lower, node, i)) >= 0)
            inputs = i + 1;
    struct ipex_plan_node *step =
        ipex_plan_add_node(lower->plan, p->op, node->name, ipex_lower_own(lower, node->output));
    step->inputs = inputs;
    memcpy(step->input, x, (size_t)inputs * sizeof *x);
    for (int i = 0; i < 2; i++)
        if (node->extra_output[i])
            step->output[step->outputs++] = ipex_lower_own(lower, node->extra_output[i]);
    ipex_plan_set_ints(lower->plan, step, p->ints);
    for (int32_t i = 0; i < p->ints; i++)
        ipex_lower_set_dim(lower, step, i, p->int_[i]);
    if (p->op == IPEX_OP_attention)
        step->int_[1] = ipex_attention_rows(node->output);
    ipex_plan_set_floats(lower->plan, step, p->floats);
    memcpy(step->float_, p->float_, (size_t)p->floats * sizeof *p->float_);
    if (node->integer)
        set_byte_scales(node, step);
}

static void lower_node(struct lower *lower, struct ipex_node *node) {
    lower->step_name = node->name;
    switch (node->kind) {
    case IPEX_KIND_conv:
        ipex_lower_conv(lower, node);
        break;
    case IPEX_KIND_linear:
        ipex_lower_linear(lower, node);
        break;
    case IPEX_KIND_affine: /* made pointwise before lowering */
    case IPEX_KIND_pointwise:
        lower_pointwise(lower, node);
        break;
    case IPEX_KIND_pool:
        lower_pool(lower, node);
        break;
    case IPEX_KIND_reshape:
        lower_reshape(lower, node);
        break;
    case IPEX_KIND_transpose:
        lower_transpose(lower, node);
        break;
    case IPEX_KIND_concat:
        lower_concat(lower, node);
        break;
    case IPEX_KIND_pad:
        lower_pad(lower, node);
        break;
    case IPEX_KIND_slice:
        lower_slice(lower, node);
        break;
    case IPEX_KIND_softmax:
        lower_softmax(lower, node);
        break;
    case IPEX_KIND_reduce:
        lower_reduce(lower, node);
        break;
    case IPEX_KIND_plan:
        lower_plan_op(lower, node);
        break;
    }
}

/* ---- ports ---- */

static void lower_inputs(struct lower *lower) {
    struct ipex_plan *plan = lower->plan;
    plan->inputs = lower->graph->inputs;
    plan->input = ipex_arena_array(plan->arena, plan->inputs + 1, sizeof *plan->input);
    for (size_t i = 0; i < plan->inputs; i++) {
        struct ipex_value *value = lower->graph->input[i];
        plan->input[i] = (struct ipex_plan_port){value->name, ipex_lower_own(lower, value)};
    }
}

/* An output must be a tensor of its own: written by a step (not an input), in the source's axis
 * order, without a halo. */
static int32_t output_tensor(struct lower *lower, struct ipex_value *value) {
    lower->step_name = value->name;
    int32_t tensor = ipex_lower_identity(lower, value), root = tensor;
    while (lower->plan->tensor[root].view_of >= 0)
        root = lower->plan->tensor[root].view_of;
    bool is_port = lower->plan->tensor[root].weight >= 0; /* or a constant */
    for (size_t i = 0; i < lower->plan->inputs; i++)
        is_port |= lower->plan->input[i].tensor == root;
    if (is_port || ipex_plan_has_halo(&lower->plan->tensor[tensor]))
        tensor = ipex_lower_materialise(lower, value, tensor, ipex_identity_order, value->rank,
                                        value->dims, ipex_identity_order, NULL);
    return tensor;
}

static void lower_outputs(struct lower *lower) {
    struct ipex_plan *plan = lower->plan;
    plan->outputs = lower->graph->outputs;
    plan->output = ipex_arena_array(plan->arena, plan->outputs + 1, sizeof *plan->output);
    for (size_t i = 0; i < plan->outputs; i++) {
        struct ipex_value *value = lower->graph->output[i];
        plan->output[i] = (struct ipex_plan_port){value->name, output_tensor(lower, value)};
    }
}

void ipex_lower(struct ipex_graph *graph, struct ipex_plan *ret_plan) {
    *ret_plan = (struct ipex_plan){.arena = &graph->arena, .dims = &graph->dims};
    struct lower lower = {.graph = graph, .plan = ret_plan, .step_name = ""};
    ret_plan->arithmetic = graph->arithmetic;
    ipex_layout(graph);
    ipex_dtype_report(graph);
    lower_inputs(&lower);
    for (struct ipex_node *node = graph->first; node; node = node->next)
        lower_node(&lower, node);
    lower_outputs(&lower);
}
