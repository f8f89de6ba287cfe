/* SPDX-License-Identifier: Apache-2.0 */
/* conv_transpose: jobs are blocks of output lines times panels of output channels. Within a job the
 * kernel goes through the phases of the stride, each with its own taps. */
#include "runtime/bind.h"

#define JOB_FLOPS      1000000 /* below, a job costs more to hand out than another thread saves */
#define JOB_FLOPS_MOST 40000000

static bool set_i32(int32_t *field, int64_t value) {
    *field = (int32_t)value;
    return ipex_fits_i32(value) && value >= 0;
}

static bool set_geometry(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    const int32_t *attr = bind->ints;
    struct ipex_conv_transpose_args *args = &bind->args.conv_transpose;
    args->x_image = x->strides[0];
    args->x_row = x->strides[1];
    args->x_pixel = x->strides[2];
    args->y_image = y->strides[0];
    args->y_line = y->strides[1];
    args->y_pixel = y->strides[2];
    args->kernel_h = attr[IPEX_CONV_KERNEL_H];
    args->kernel_w = attr[IPEX_CONV_KERNEL_W];
    args->stride_h = attr[IPEX_CONV_STRIDE_H];
    args->stride_w = attr[IPEX_CONV_STRIDE_W];
    args->pad_top = attr[IPEX_CONV_PAD_TOP];
    args->pad_left = attr[IPEX_CONV_PAD_LEFT];
    args->dilation_h = attr[IPEX_CONV_DILATION_H];
    args->dilation_w = attr[IPEX_CONV_DILATION_W];
    args->groups = attr[IPEX_CONV_GROUPS];
    return set_i32(&args->images, y->dims[0]) && set_i32(&args->height, x->dims[1]) &&
           set_i32(&args->width, x->dims[2]) && set_i32(&args->lines, y->dims[1]) &&
           set_i32(&args->pixels, y->dims[2]) && set_i32(&args->k, x->dims[3] / args->groups) &&
           set_i32(&args->n, y->dims[3] / args->groups);
}

/* Multiplications of an output element with all channels of its taps. */
static int64_t chain_length(const struct ipex_conv_transpose_args *args) {
    return ipex_ceil_div(args->kernel_h, args->stride_h) *
           ipex_ceil_div(args->kernel_w, args->stride_w) * args->k;
}

/* Lines of a job: their x and y stay in half of L2, since every phase goes over them anew, and
 * there are jobs enough for the threads. Whole strides, so that phases have equal shares. */
static void choose_blocks(const struct ipex_setup *setup, struct ipex_conv_transpose_args *args) {
    const int64_t panels = ipex_ceil_div(args->n, IPEX_PANEL);
    const int64_t weights = ipex_mul_sat(chain_length(args), panels * IPEX_PANEL * 4);
    const int64_t line_flops =
        ipex_mul_sat(2 * chain_length(args), (int64_t)args->pixels * args->n);
    const int64_t row_floats =
        ipex_max_i64(1, args->x_row) + ipex_mul_sat(args->stride_h, ipex_max_i64(0, args->y_line));
    const int64_t row_bytes = ipex_mul_sat(row_floats, (int64_t)sizeof(float));
    args->cache_l2 = setup->l2_bytes;
    args->panels_outside = weights > args->cache_l2 / 2;
    int64_t lines = ipex_block_size(setup, args->lines, line_flops, JOB_FLOPS);
    lines = ipex_min_i64(lines, ipex_max_i64(1, JOB_FLOPS_MOST / ipex_max_i64(1, line_flops)));
    lines = ipex_min_i64(
        lines, ipex_mul_sat(args->stride_h, ipex_max_i64(1, args->cache_l2 / 2 / row_bytes)));
    lines = ipex_ceil_div(lines, args->stride_h) * args->stride_h;
    args->lines_per_job = (int32_t)ipex_min_i64(lines, args->lines);
    args->panels_per_job = (int32_t)panels;
    const int64_t blocks = ipex_conv_transpose_jobs(args);
    if (blocks < setup->threads && blocks > 0) /* signals have one line */
        args->panels_per_job = (int32_t)ipex_ceil_div(panels * blocks, setup->threads);
    while (ipex_conv_transpose_jobs(args) < ipex_jobs_wanted(setup) && args->panels_per_job > 4)
        args->panels_per_job = (args->panels_per_job / 2 + 3) / 4 * 4;
}

/* Whether few columns of all kernel rows go together: kernel rows of few columns leave most lanes
 * of a panel empty. */
#define TOUCHING_COLUMNS IPEX_PANEL /* of all kernel rows */

static bool is_touching(const struct ipex_bind *bind) {
    const struct ipex_conv_transpose_args *args = &bind->args.conv_transpose;
    const bool touch = args->stride_h == args->kernel_h && args->kernel_w == 1 &&
                       args->stride_w == 1 && args->dilation_h == 1 && args->pad_top == 0 &&
                       args->pad_left == 0 && args->pixels == args->width &&
                       args->lines == (int64_t)args->height * args->stride_h;
    return touch && args->groups == 1 && args->n <= IPEX_FEW_COLUMNS &&
           (int64_t)args->n * args->kernel_h <= TOUCHING_COLUMNS &&
           ipex_last_columns_few(bind, args->n, args->width, args->k, args->x_pixel);
}

static void choose_kernel(struct ipex_bind *bind) {
    if (bind->input[1]->dtype != IPEX_DTYPE_bf16)
        IPEX_BIND_KERNEL(bind, conv_transpose_f32, conv_transpose);
    else if (bind->input[0]->dtype != IPEX_DTYPE_bf16)
        IPEX_BIND_KERNEL(bind, conv_transpose_bf16w, conv_transpose);
    else
        IPEX_BIND_BF16_KERNEL(bind, conv_transpose, conv_transpose);
}

enum ipex_bound ipex_bind_conv_transpose(struct ipex_bind *bind) {
    struct ipex_conv_transpose_args *args = &bind->args.conv_transpose;
    if (!set_geometry(bind))
        return IPEX_BOUND_TOO_LARGE;
    args->act = bind->ints[IPEX_CONV_ACT];
    args->act_a = bind->floats[0];
    args->act_b = bind->floats[1];
    IPEX_BIND_REF(bind, conv_transpose, x, 0, 0);
    IPEX_BIND_REF(bind, conv_transpose, w, 1, 0);
    IPEX_BIND_BIAS(bind, conv_transpose, (int64_t)args->groups * args->n);
    IPEX_BIND_REF(bind, conv_transpose, y, IPEX_REF_OUTPUT, 0);
    choose_blocks(bind->setup, args);
    args->touching = is_touching(bind);
    bind->scratch = ipex_conv_transpose_scratch(args);
    args->few = ipex_last_columns_few(bind, args->n, args->width, args->k, args->x_pixel);
    bind->jobs = ipex_conv_transpose_jobs(args);
    bind->flops = ipex_mul_sat(2 * chain_length(args), ipex_info_numel(bind->output));
    choose_kernel(bind);
    return IPEX_BOUND;
}
