/* SPDX-License-Identifier: Apache-2.0 */
/* lstm and gru. */
#include "runtime/bind.h"

/* Rows of a product with w that are computed ahead. */
#define ROWS_AHEAD 64

/* A step of a job below this many flops costs more to hand out than another thread saves. */
#define JOB_FLOPS 1000000

/* A part of a step's hidden units: a microsecond, about what a round costs. */
#define PART_FLOPS 100000
#define PART_ROWS  2
/* ... where a round is a call of the caller's parallel_for: 20 us, as of a step that is shared. */
#define CALLERS_PART_FLOPS 2000000

static int64_t outer_stride(const struct ipex_tensor_info *x, int32_t axis) {
    return x != NULL ? x->strides[axis] : 0;
}

static void set_strides(struct ipex_bind *bind) {
    struct ipex_recurrent_args *args = &bind->args.recurrent;
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->outputs[0];
    const bool cells = bind->n_outputs > 2;
    const struct ipex_tensor_info *c = cells ? bind->outputs[2] : NULL;
    args->x_time = x->strides[0];
    args->x_batch = x->strides[1];
    args->y_time = y->strides[0];
    args->y_direction = y->strides[1];
    args->y_batch = y->strides[2];
    args->bias_direction = outer_stride(bind->input[3], 0);
    args->h0_direction = outer_stride(bind->input[4], 0);
    args->h0_batch = outer_stride(bind->input[4], 1);
    args->c0_direction = outer_stride(bind->input[5], 0);
    args->c0_batch = outer_stride(bind->input[5], 1);
    args->h_direction = bind->outputs[1]->strides[0];
    args->h_batch = bind->outputs[1]->strides[1];
    args->c_direction = outer_stride(c, 0);
    args->c_batch = outer_stride(c, 1);
}

static void set_refs(struct ipex_bind *bind) {
    IPEX_BIND_REF(bind, recurrent, x, 0, 0);
    IPEX_BIND_REF(bind, recurrent, w, 1, 0);
    IPEX_BIND_REF(bind, recurrent, r, 2, 0);
    if (bind->input[3] != NULL)
        IPEX_BIND_REF(bind, recurrent, bias, 3, 0);
    if (bind->input[4] != NULL)
        IPEX_BIND_REF(bind, recurrent, h0, 4, 0);
    if (bind->input[5] != NULL)
        IPEX_BIND_REF(bind, recurrent, c0, 5, 0);
    IPEX_BIND_REF(bind, recurrent, zeros, IPEX_REF_ZEROS, 0);
    IPEX_BIND_REF(bind, recurrent, y, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_REF(bind, recurrent, h, IPEX_REF_OUTPUT + 1, 0);
    if (bind->n_outputs > 2)
        IPEX_BIND_REF(bind, recurrent, c, IPEX_REF_OUTPUT + 2, 0);
}

/* Batches of a direction stay together, so that every step reads r once, unless there are threads
 * for more jobs and enough to do for them. */
static void choose_blocks(struct ipex_bind *bind, int64_t flops) {
    struct ipex_recurrent_args *args = &bind->args.recurrent;
    const int64_t steps = (int64_t)args->times * args->directions;
    const int64_t per_batch = ipex_mul_sat(flops, steps) / args->directions;
    const int64_t share =
        ipex_ceil_div((int64_t)args->batches * args->directions, bind->setup->threads);
    const int64_t least = ipex_ceil_div(JOB_FLOPS, ipex_max_i64(1, per_batch));
    args->batches_per_job =
        (int32_t)ipex_max_i64(1, ipex_min_i64(args->batches, ipex_max_i64(share, least)));
    args->times_at_once =
        (int32_t)ipex_max_i64(1, ipex_min_i64(args->times, ROWS_AHEAD / args->batches_per_job));
    args->cache_l2 = bind->setup->l2_bytes;
}

/* Where there are fewer jobs than threads these share the hidden units of every step, if a part of
 * them is worth it: a step of few rows takes as long as one of PART_ROWS, since it reads r. */
static void choose_parts(struct ipex_bind *bind, int64_t gates) {
    struct ipex_recurrent_args *args = &bind->args.recurrent;
    args->parts = 1;
    const int64_t spare = bind->setup->threads / ipex_recurrent_jobs(args);
    const int64_t least = bind->setup->callers_threads ? CALLERS_PART_FLOPS : PART_FLOPS;
    const int64_t rows = ipex_max_i64(PART_ROWS, args->batches_per_job);
    const int64_t flops = ipex_mul_sat(2 * gates * rows * args->hidden, args->hidden);
    const int64_t parts = ipex_min_i64(spare, flops / least);
    const bool one_round = bind->op == IPEX_OP_lstm || args->linear_before_reset;
    if (parts > 1 && one_round && args->hidden % IPEX_PANEL == 0)
        args->parts = (int32_t)ipex_min_i64(parts, args->hidden / IPEX_PANEL);
}

/* A bound that grows with every dim (a session with symbols is measured at the ends of their
 * ranges): all batches in one job, with as many steps ahead as there are rows for. */
static void bound_memory(struct ipex_bind *bind) {
    struct ipex_recurrent_args all = bind->args.recurrent;
    const int64_t rows = ipex_mul_sat(all.times, all.batches);
    all.batches_per_job = all.batches;
    all.times_at_once = 1;
    const size_t one = ipex_recurrent_scratch(&all);
    all.batches_per_job = (int32_t)ipex_min_i64(rows, ROWS_AHEAD);
    bind->scratch = one + ipex_recurrent_scratch(&all);
    bind->zeros = (size_t)all.hidden * sizeof(float);
}

static enum ipex_bound bind_recurrent(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->outputs[0];
    struct ipex_recurrent_args *args = &bind->args.recurrent;
    args->times = (int32_t)x->dims[0]; /* dims of tensors are below 2^31 */
    args->batches = (int32_t)x->dims[1];
    args->inputs = (int32_t)x->dims[2];
    args->directions = bind->ints[0];
    args->reverse = bind->ints[1] != 0;
    args->bf16_weights = bind->input[1]->dtype == IPEX_DTYPE_bf16;
    args->hidden = (int32_t)y->dims[3];
    const int64_t rows = bind->input[1]->dims[2];
    const int64_t flops = ipex_mul_sat(2 * rows, (int64_t)args->inputs + args->hidden);
    set_strides(bind);
    set_refs(bind);
    choose_blocks(bind, flops);
    choose_parts(bind, rows / args->hidden);
    bound_memory(bind);
    bind->jobs = ipex_recurrent_jobs(args);
    bind->rounds = ipex_recurrent_rounds(args);
    bind->flops = ipex_mul_sat(flops, ipex_info_numel(y) / args->hidden);
    return IPEX_BOUND;
}

enum ipex_bound ipex_bind_lstm(struct ipex_bind *bind) {
    IPEX_BIND_KERNEL(bind, lstm_f32, recurrent);
    return bind_recurrent(bind);
}

enum ipex_bound ipex_bind_gru(struct ipex_bind *bind) {
    bind->args.recurrent.linear_before_reset = bind->ints[2] != 0;
    IPEX_BIND_KERNEL(bind, gru_f32, recurrent);
    return bind_recurrent(bind);
}
