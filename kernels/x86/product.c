/* SPDX-License-Identifier: Apache-2.0 */
/* Products with packed operands, the same code for every level. */
#include "kernels/x86/product.h"

void ipex_multiply_packed(const struct product *p) {
    const int64_t panels = ipex_div_up(p->n, IPEX_PANEL);
    const struct ipex_conv_args conv = {
        .x = p->x,
        .w = p->packed,
        .bias = p->bias,
        .scale = p->scale,
        .y = p->y,
        .y_u8 = p->y_u8,
        .y_scale = p->y_scale,
        .y_zero = p->y_zero,
        .x_pixel = p->x_row,
        .y_pixel = p->y_row,
        .images = 1,
        .lines = 1,
        .pixels = (int32_t)p->rows,
        .last_pixels = (int32_t)p->rows,
        .groups = 1,
        .segments_h = 1,
        .segments_w = 1,
        .k = (int32_t)p->k,
        .n = (int32_t)p->n,
        .lines_per_job = 1,
        .panels_per_job = (int32_t)panels,
        .panels_outside = ipex_packed_floats(p->k, p->n) * 8 > p->cache_l2,
        .cache_l2 = p->cache_l2,
        .resume = p->resume,
    };
    p->conv(&conv, 0, 1, NULL);
}
