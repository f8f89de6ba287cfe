/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool and avg_pool: windows are cut at the borders of x, so a halo that x may carry is not
 * looked at. */
#include "runtime/bind.h"

static void set_window(struct ipex_bind *bind) {
    const int32_t *attr = bind->ints;
    struct ipex_pool_args *args = &bind->args.pool;
    args->kernel_h = attr[IPEX_POOL_KERNEL_H];
    args->kernel_w = attr[IPEX_POOL_KERNEL_W];
    args->stride_h = attr[IPEX_POOL_STRIDE_H];
    args->stride_w = attr[IPEX_POOL_STRIDE_W];
    args->pad_top = attr[IPEX_POOL_PAD_TOP];
    args->pad_left = attr[IPEX_POOL_PAD_LEFT];
    args->pad_bottom = attr[IPEX_POOL_PAD_BOTTOM];
    args->pad_right = attr[IPEX_POOL_PAD_RIGHT];
    args->dilation_h = attr[IPEX_POOL_DILATION_H];
    args->dilation_w = attr[IPEX_POOL_DILATION_W];
    args->count_pad = attr[IPEX_POOL_COUNT_PAD] != 0;
}

static enum ipex_bound bind_pool(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    struct ipex_pool_args *args = &bind->args.pool;
    for (int32_t d = 0; d < 4; d++)
        if (!ipex_fits_i32(x->dims[d]) || !ipex_fits_i32(y->dims[d]))
            return IPEX_BOUND_TOO_LARGE;
    set_window(bind);
    args->images = (int32_t)x->dims[0];
    args->height = (int32_t)x->dims[1];
    args->width = (int32_t)x->dims[2];
    args->channels = (int32_t)x->dims[3];
    args->lines = (int32_t)y->dims[1];
    args->pixels = (int32_t)y->dims[2];
    args->x_image = x->strides[0];
    args->x_row = x->strides[1];
    args->x_pixel = x->strides[2];
    args->y_image = y->strides[0];
    args->y_line = y->strides[1];
    args->y_pixel = y->strides[2];
    IPEX_BIND_REF(bind, pool, x, 0, 0);
    IPEX_BIND_REF(bind, pool, y, IPEX_REF_OUTPUT, 0);
    bind->jobs = ipex_pool_jobs(args);
    bind->flops = ipex_mul_sat((int64_t)args->kernel_h * args->kernel_w, ipex_info_numel(y));
    return IPEX_BOUND;
}

enum ipex_bound ipex_bind_max_pool(struct ipex_bind *bind) {
    if (bind->input[0]->dtype == IPEX_DTYPE_u8)
        IPEX_BIND_KERNEL(bind, max_pool_u8, pool);
    else
        IPEX_BIND_KERNEL(bind, max_pool_f32, pool);
    return bind_pool(bind);
}

enum ipex_bound ipex_bind_avg_pool(struct ipex_bind *bind) {
    IPEX_BIND_KERNEL(bind, avg_pool_f32, pool);
    return bind_pool(bind);
}
