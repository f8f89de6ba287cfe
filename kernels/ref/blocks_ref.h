/* SPDX-License-Identifier: Apache-2.0 */
/* What both references of layers of weights in blocks share. */
#ifndef IPEX_KERNELS_REF_BLOCKS_H
#define IPEX_KERNELS_REF_BLOCKS_H

#include "kernels/product_jobs.h"
#include "kernels/ref/math_ref.h"

/* Of a scale and a zero point. */
static inline int64_t ref_blocks_at(const struct ipex_blocks_args *args, int64_t panel,
                                    int64_t block, int64_t column) {
    return (panel * ipex_blocks_count(args) + block) * IPEX_PANEL + column;
}

static inline float ref_blocks_scale(const struct ipex_blocks_args *args, int64_t at) {
    return args->scale ? args->scale[at] : ref_float((uint32_t)args->scale_bf16[at] << 16);
}

/* Number k of a panel's column, less its zero point. */
static inline int32_t ref_blocks_number(const struct ipex_blocks_args *args, int64_t panel,
                                        int64_t k, int64_t column) {
    const bool wide = args->bits == 8;
    const int32_t most = wide ? 255 : 15;
    const int64_t row = wide ? k / 4 : k / IPEX_BLOCK_STEP;
    const uint8_t byte =
        args->w[panel * ipex_blocks_panel(args) + (row * IPEX_PANEL + column) * 4 + k % 4];
    const int32_t number = wide || k % IPEX_BLOCK_STEP < 4 ? byte & most : byte >> 4;
    const int64_t at = ref_blocks_at(args, panel, k / args->block, column);
    return number - (args->zero ? args->zero[at] & most : (most + 1) / 2);
}

static inline void ref_blocks_begin(const struct ipex_blocks_args *args, int64_t panel,
                                    float chain[IPEX_PANEL]) {
    memcpy(chain, args->bias + panel * IPEX_PANEL, IPEX_PANEL * sizeof *chain);
}

static inline void ref_blocks_end(const struct ipex_blocks_args *args, int64_t row, int64_t panel,
                                  const float chain[IPEX_PANEL]) {
    const int64_t n = ipex_smaller(IPEX_PANEL, args->n - panel * IPEX_PANEL);
    float *y = args->y + row * args->y_row + panel * IPEX_PANEL;
    const float *r =
        args->residual ? args->residual + row * args->r_row + panel * IPEX_PANEL : NULL;
    for (int64_t c = 0; c < n; c++)
        y[c] = ref_act(r ? chain[c] + r[c] : chain[c], args->act, args->act_a, args->act_b);
}

static inline void ref_blocks_jobs(const struct ipex_blocks_args *args, int64_t begin, int64_t end,
                                   void (*panel_fn)(const struct ipex_blocks_args *, int64_t,
                                                    int64_t)) {
    for (int64_t j = begin; j < end; j++) {
        const struct ipex_blocks_job job = ipex_blocks_job(args, j);
        for (int64_t row = job.row; row < job.row_end; row++)
            for (int64_t panel = job.panel; panel < job.panel_end; panel++)
                panel_fn(args, row, panel);
    }
}

#endif
