/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/checkkern/conv_shape.h"

#include "kernels/jobs.h"

static int32_t or_one(int32_t number) {
    return number ? number : 1;
}

struct conv_shape conv_shape_whole(const struct conv_shape *s) {
    return (struct conv_shape){
        .images = or_one(s->images),
        .lines = or_one(s->lines),
        .pixels = or_one(s->pixels),
        .last_pixels = s->last_pixels ? s->last_pixels : or_one(s->pixels),
        .kernel_h = or_one(s->kernel_h),
        .kernel_w = or_one(s->kernel_w),
        .stride_h = or_one(s->stride_h),
        .stride_w = or_one(s->stride_w),
        .dilation_h = or_one(s->dilation_h),
        .dilation_w = or_one(s->dilation_w),
        .pad_top = s->pad_top,
        .pad_bottom = s->pad_bottom,
        .pad_left = s->pad_left,
        .pad_right = s->pad_right,
        .cut_taps = s->cut_taps,
        .by_columns = s->by_columns,
        .groups = or_one(s->groups),
        .k = or_one(s->k),
        .n = or_one(s->n),
        .x_gap = s->x_gap,
        .y_gap = s->y_gap,
        .r_gap = s->r_gap,
    };
}

/* Whether some column of a kernel lies in x for all pixels, and each for some. */
static bool may_take_columns(const struct conv_shape *s, bool joined) {
    const int32_t left = s->pad_left > 0 ? s->pad_left : 0;
    const int32_t right = s->pad_right > 0 ? s->pad_right : 0;
    return s->by_columns && joined && s->kernel_w > 1 && left + right < s->kernel_w &&
           left <= (s->pixels - 1) * s->stride_w && right <= (s->pixels - 1) * s->stride_w;
}

struct ipex_conv_args conv_shape_args(const struct conv_shape *shape) {
    const struct conv_shape s = conv_shape_whole(shape);
    const bool joined = s.groups == 1 && s.dilation_w == 1 && s.x_gap == 0;
    const bool columns = may_take_columns(&s, joined);
    const int64_t x_pitch = (int64_t)s.groups * s.k + s.x_gap;
    const int64_t x_row = x_pitch * ((int64_t)(s.pixels - 1) * s.stride_w +
                                     (int64_t)(s.kernel_w - 1) * s.dilation_w + 1);
    const int64_t x_rows =
        (int64_t)(s.lines - 1) * s.stride_h + (int64_t)(s.kernel_h - 1) * s.dilation_h + 1;
    const int64_t y_pitch = (int64_t)s.groups * s.n + s.y_gap;
    const int64_t r_pitch = (int64_t)s.groups * s.n + s.r_gap;
    return (struct ipex_conv_args){
        .x_image = x_rows * x_row,
        .x_line = s.stride_h * x_row,
        .x_pixel = s.stride_w * x_pitch,
        .x_group = s.k,
        .x_kh = s.dilation_h * x_row,
        .x_kw = s.dilation_w * x_pitch,
        .y_image = s.lines * s.pixels * y_pitch,
        .y_line = s.pixels * y_pitch,
        .y_pixel = y_pitch,
        .r_image = s.lines * s.pixels * r_pitch,
        .r_line = s.pixels * r_pitch,
        .r_pixel = r_pitch,
        .images = s.images,
        .lines = s.lines,
        .pixels = s.pixels,
        .last_pixels = s.last_pixels,
        .groups = s.groups,
        .segments_h = s.kernel_h,
        .segments_w = joined ? 1 : s.kernel_w,
        .k = joined ? s.k * s.kernel_w : s.k,
        .n = s.n,
        .padding = {s.pad_top, s.pad_bottom, s.stride_h, s.dilation_h},
        .columns = columns ? s.kernel_w : 0,
        .padding_w = columns || (s.cut_taps && !joined && s.kernel_w > 1)
                         ? (struct ipex_padding){s.pad_left, s.pad_right, s.stride_w, s.dilation_w}
                         : (struct ipex_padding){.above = 0},
        .lines_per_job = s.lines,
        .panels_per_job = (int32_t)ipex_div_up(s.n, IPEX_PANEL),
        .cache_l2 = 1 << 20,
    };
}
