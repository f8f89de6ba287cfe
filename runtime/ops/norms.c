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

/* As many groups as keep their pixels in half of L2, which are walked three times, but no fewer
 * channels than a line of the cache; and jobs for all threads. */
static int64_t choose_groups(const struct ipex_setup *setup,
                             const struct ipex_group_norm_args *args) {
    const int64_t per_group = args->channels / args->groups;
    const int64_t pixels = ipex_mul_sat(args->lines, args->pixels);
    const int64_t group = ipex_mul_sat(pixels, per_group);
    const int64_t line = ipex_ceil_div(IPEX_PANEL, per_group);
    const int64_t fit =
        setup->l2_bytes / 2 / (int64_t)sizeof(float) / ipex_max_i64(1, group) / line * line;
    const int64_t share =
        ipex_block_size(setup, (int64_t)args->images * args->groups, group, JOB_ELEMENTS);
    return ipex_min_i64(args->groups, ipex_max_i64(line, ipex_min_i64(fit, share)));
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
