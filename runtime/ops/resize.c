/* SPDX-License-Identifier: Apache-2.0 */
/* resize: images of any strides; rows, columns and weights are the kernel's own business. */
#include "runtime/bind.h"

#define JOB_ELEMENTS 32768 /* of y: below, a job is not worth handing out */

static void set_mode(struct ipex_bind *bind) {
    struct ipex_resize_args *args = &bind->args.resize;
    args->mode = bind->ints[IPEX_RESIZE_MODE];
    args->coordinates = bind->ints[IPEX_RESIZE_COORDINATES];
    args->rounding = bind->ints[IPEX_RESIZE_ROUNDING];
    args->exclude_outside = bind->ints[IPEX_RESIZE_EXCLUDE_OUTSIDE] != 0;
    args->scale_h = bind->floats[IPEX_RESIZE_SCALE_H];
    args->scale_w = bind->floats[IPEX_RESIZE_SCALE_W];
    args->cubic_a = bind->floats[IPEX_RESIZE_CUBIC_A];
}

enum ipex_bound ipex_bind_resize(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output;
    struct ipex_resize_args *args = &bind->args.resize;
    set_mode(bind);
    args->size = (int32_t)ipex_dtype_size(y->dtype);
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
    IPEX_BIND_REF(bind, resize, x, 0, 0);
    IPEX_BIND_REF(bind, resize, y, IPEX_REF_OUTPUT, 0);
    const int64_t taps = args->mode == IPEX_RESIZE_nearest  ? 1
                         : args->mode == IPEX_RESIZE_linear ? 4
                                                            : 16;
    const int64_t line = ipex_mul_sat(taps, y->dims[2] * y->dims[3]);
    const int64_t block = ipex_block_size(bind->setup, args->lines, line, JOB_ELEMENTS);
    args->lines_per_job = bind->lines ? 1 : (int32_t)block;
    bind->jobs = ipex_resize_jobs(args);
    bind->scratch = ipex_resize_scratch(args);
    bind->flops = ipex_mul_sat(2 * taps, ipex_info_numel(y));
    IPEX_BIND_KERNEL(bind, resize_f32, resize);
    return IPEX_BOUND;
}
