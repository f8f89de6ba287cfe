/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm and group_norm. */
#include "runtime/bind.h"
#include "runtime/loops.h"

/* A job of group norm below this many elements is not worth handing out. */
#define JOB_ELEMENTS 16384

enum ipex_bound ipex_bind_layer_norm(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    struct ipex_layer_norm_args *args = &bind->args.layer_norm;
    const int32_t last = y->rank - 1;
    if (!ipex_loops_merge(x->dims, x->strides, 0, last, &args->x_row) ||
        !ipex_loops_merge(y->dims, y->strides, 0, last, &args->y_row))
        return IPEX_BOUND_NEEDS_DENSE;
    args->columns = y->dims[last];
    args->rows = ipex_info_numel(y) / args->columns;
    args->rms = bind->ints[0] == 1;
    args->act = bind->ints[1];
    args->eps = bind->floats[0];
    args->act_a = bind->floats[1];
    args->act_b = bind->floats[2];
    IPEX_BIND_REF(bind, layer_norm, x, 0, 0);
    if (bind->input[1] != NULL)
        IPEX_BIND_REF(bind, layer_norm, gamma, 1, 0);
    if (bind->input[2] != NULL)
        IPEX_BIND_REF(bind, layer_norm, beta, 2, 0);
    IPEX_BIND_REF(bind, layer_norm, y, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_KERNEL(bind, layer_norm_f32, layer_norm);
    bind->jobs = args->rows;
    bind->flops = ipex_mul_sat(ipex_info_numel(y), 8);
    return IPEX_BOUND;
}

/* As many groups for every thread: three walks over whole pixels are faster than those over
 * channels that L2 keeps, whose lines are fetched one by one (Zen 5: 320 channels at 64x64 0.22 of
 * the time, 512 at 1x12799 0.32, 256 at 28x28 0.87, 64 at 112x112 0.91). But of few channels that
 * threads share a line of the cache, the least there may be: half of a pixel would take longer. */
#define SHARED_CHANNELS 128

static int64_t choose_groups(const struct ipex_setup *setup,
                             const struct ipex_group_norm_args *args) {
    const int64_t per_group = args->channels / args->groups;
    const int64_t pixels = ipex_mul_sat(args->lines, args->pixels);
    const int64_t least =
        ipex_max_i64(ipex_ceil_div(IPEX_PANEL, per_group),
                     ipex_units_worth(JOB_ELEMENTS, ipex_mul_sat(pixels, per_group)));
    const int64_t share = ipex_ceil_div((int64_t)args->images * args->groups, setup->threads);
    const bool few = share < args->groups && args->channels <= SHARED_CHANNELS;
    return ipex_min_i64(args->groups, few ? least : ipex_max_i64(least, share));
}

enum ipex_bound ipex_bind_group_norm(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    struct ipex_group_norm_args *args = &bind->args.group_norm;
    args->x_image = x->strides[0];
    args->x_line = x->strides[1];
    args->x_pixel = x->strides[2];
    args->y_image = y->strides[0];
    args->y_line = y->strides[1];
    args->y_pixel = y->strides[2];
    args->images = (int32_t)x->dims[0]; /* dims of tensors are below 2^31 */
    args->lines = (int32_t)x->dims[1];
    args->pixels = (int32_t)x->dims[2];
    args->channels = (int32_t)x->dims[3];
    args->groups = bind->ints[0];
    args->groups_per_job = (int32_t)choose_groups(bind->setup, args);
    args->act = bind->ints[1];
    args->eps = bind->floats[0];
    args->act_a = bind->floats[1];
    args->act_b = bind->floats[2];
    IPEX_BIND_REF(bind, group_norm, x, 0, 0);
    if (bind->input[1] != NULL)
        IPEX_BIND_REF(bind, group_norm, gamma, 1, 0);
    if (bind->input[2] != NULL)
        IPEX_BIND_REF(bind, group_norm, beta, 2, 0);
    IPEX_BIND_REF(bind, group_norm, y, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_KERNEL(bind, group_norm_f32, group_norm);
    struct ipex_group_norm_args all = *args; /* scratch that grows with every dim: for all groups */
    all.groups_per_job = args->groups;
    bind->scratch = ipex_group_norm_scratch(&all);
    bind->jobs = ipex_group_norm_jobs(args);
    bind->flops = ipex_mul_sat(ipex_info_numel(y), 8);
    return IPEX_BOUND;
}
