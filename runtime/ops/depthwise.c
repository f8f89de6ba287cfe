/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise: narrow groups, of one channel or a few; weights plain channels-last with the channels
 * rounded up to 16. */
#include "runtime/bind.h"
#include "runtime/cut.h"

#define JOB_FLOPS 200000

static bool set_i32(int32_t *field, int64_t value) {
    *field = (int32_t)value;
    return ipex_fits_i32(value) && value >= 0;
}

static void set_strides(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output, *r = bind->input[3];
    struct ipex_depthwise_args *args = &bind->args.depthwise;
    args->x_image = x->strides[0];
    args->x_line = bind->ints[IPEX_CONV_STRIDE_H] * x->strides[1];
    args->x_pixel = bind->ints[IPEX_CONV_STRIDE_W] * x->strides[2];
    args->x_kh = bind->ints[IPEX_CONV_DILATION_H] * x->strides[1];
    args->x_kw = bind->ints[IPEX_CONV_DILATION_W] * x->strides[2];
    args->y_image = y->strides[0];
    args->y_line = y->strides[1];
    args->y_pixel = y->strides[2];
    if (r == NULL)
        return;
    args->r_image = r->strides[0];
    args->r_line = r->strides[1];
    args->r_pixel = r->strides[2];
}

static void set_refs(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0];
    const int64_t shift = bind->ints[IPEX_CONV_PAD_TOP] * x->strides[1] +
                          bind->ints[IPEX_CONV_PAD_LEFT] * x->strides[2];
    IPEX_BIND_REF(bind, depthwise, x, 0, -shift);
    IPEX_BIND_REF(bind, depthwise, w, 1, 0);
    IPEX_BIND_BIAS(bind, depthwise, bind->args.depthwise.channels);
    if (bind->input[3] != NULL)
        IPEX_BIND_REF(bind, depthwise, residual, 3, 0);
    if (bind->output->dtype == IPEX_DTYPE_bf16)
        IPEX_BIND_REF(bind, depthwise, y_bf16, IPEX_REF_OUTPUT, 0);
    else
        IPEX_BIND_REF(bind, depthwise, y, IPEX_REF_OUTPUT, 0);
}

/* Fewer lines than threads, such as a signal's one: their pixels are cut too. */
static void cut_pixels(struct ipex_bind *bind, int64_t pixel_flops) {
    struct ipex_depthwise_args *args = &bind->args.depthwise;
    const int64_t jobs = ipex_depthwise_jobs(args);
    if (jobs >= bind->setup->threads || bind->lines)
        return;
    const struct ipex_cut cut = {
        .count = args->pixels,
        .times = jobs,
        .least = ipex_units_worth(JOB_FLOPS, ipex_mul_sat(pixel_flops, args->lines_per_job)),
        .most = args->pixels,
        .multiple = 8, /* the largest blocks of the kernels */
        .again = args->kernel_w,
    };
    const int64_t pixels = ipex_cut_even(&cut, bind->setup->threads);
    args->pixels_per_job = pixels < args->pixels ? (int32_t)pixels : 0;
}

static void bind_kernel(struct ipex_bind *bind) {
    struct ipex_depthwise_args *args = &bind->args.depthwise;
    if (bind->output->dtype == IPEX_DTYPE_f32) {
        IPEX_BIND_KERNEL(bind, depthwise_f32, depthwise);
        return;
    }
    bind->scratch = ipex_depthwise_rounded_scratch(args);
    IPEX_BIND_KERNEL(bind, depthwise_bf16y, depthwise);
}

/* Two lines share what they read: single ones, and those at ends, less. */
static int32_t lines_of_job(const struct ipex_bind *bind, int64_t products, double again) {
    const int64_t *y = bind->output->dims;
    const struct ipex_cut cut = {
        .count = y[1],
        .times = y[0],
        .least = ipex_units_worth(JOB_FLOPS, ipex_mul_sat(products, y[2] * y[3])),
        .most = y[1],
        .multiple = 1,
        .again = again,
    };
    return (int32_t)ipex_cut_even(&cut, bind->setup->threads);
}

/* On bytes: the arguments are a convolution's. */
static enum ipex_bound bind_bytes(struct ipex_bind *bind) {
    struct ipex_conv_args *args = &bind->args.conv;
    if (!ipex_bind_depthwise_u8(bind))
        return IPEX_BOUND_TOO_LARGE;
    const int64_t products = 2 * ipex_conv_depth(args);
    args->lines_per_job = lines_of_job(bind, products, 0);
    args->panels_per_job = (int32_t)ipex_ceil_div(args->n, IPEX_PANEL);
    bind->jobs = ipex_conv_jobs(args);
    bind->scratch = ipex_depthwise_u8_scratch(args);
    bind->flops = ipex_mul_sat(products, ipex_info_numel(bind->output));
    IPEX_BIND_KERNEL(bind, depthwise_u8, conv);
    return IPEX_BOUND;
}

enum ipex_bound ipex_bind_depthwise(struct ipex_bind *bind) {
    if (ipex_bind_has_conv(bind))
        return bind_bytes(bind);
    const struct ipex_tensor_info *y = bind->output;
    struct ipex_depthwise_args *args = &bind->args.depthwise;
    args->kernel_h = bind->ints[IPEX_CONV_KERNEL_H];
    args->kernel_w = bind->ints[IPEX_CONV_KERNEL_W];
    args->group_inputs = (int32_t)(bind->input[0]->dims[3] / bind->ints[IPEX_CONV_GROUPS]);
    args->group_outputs = (int32_t)(y->dims[3] / bind->ints[IPEX_CONV_GROUPS]);
    args->padding = ipex_bind_padding(bind, 0);
    args->act = bind->ints[IPEX_CONV_ACT];
    args->act_a = bind->floats[0];
    args->act_b = bind->floats[1];
    if (!set_i32(&args->images, y->dims[0]) || !set_i32(&args->lines, y->dims[1]) ||
        !set_i32(&args->pixels, y->dims[2]) || !set_i32(&args->channels, y->dims[3]))
        return IPEX_BOUND_TOO_LARGE;
    set_strides(bind);
    set_refs(bind);
    const int64_t products = 2 * (int64_t)args->kernel_h * args->kernel_w * args->group_inputs;
    args->lines_per_job = lines_of_job(bind, products, 0.25);
    cut_pixels(bind, products * y->dims[3]);
    bind->jobs = ipex_depthwise_jobs(args);
    bind->flops = ipex_mul_sat(products, ipex_info_numel(y));
    bind->spared_flops = bind->flops / args->lines / args->kernel_h *
                         ipex_kernel_rows_left_out(&args->padding, args->lines, args->kernel_h);
    bind_kernel(bind);
    return IPEX_BOUND;
}
