/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of weights in blocks: what a level brings to the walk that all share (blocks_avx2.c). */
#ifndef IPEX_KERNELS_X86_BLOCKS_H
#define IPEX_KERNELS_X86_BLOCKS_H

#include "kernels/product_jobs.h"
#include "kernels/x86/activate.h"

/* Some rows, as many as a level's register block has, with one panel. */
struct blocks_product {
    const uint8_t *w;                  /* tiles */
    const float *scale;                /* [blocks][16] */
    const uint8_t *zero;               /* likewise, or NULL */
    const float *bias;                 /* [16] */
    const int32_t *x;                  /* [k / 4][rows] words of four q */
    const float *x_scale;              /* [blocks][rows] */
    const int32_t *x_sum;              /* likewise: of q, negative */
    float *y;                          /* [rows][16] */
    int32_t blocks, steps, last_steps; /* of IPEX_BLOCK_STEP elements in a block */
};

typedef void (*blocks_activate_fn)(const struct ipex_act_rows *);

struct blocks_level {
    int64_t rows; /* of the largest register block: 4 or IPEX_BLOCKS_ROWS; others have 1 and 4 */
    void (*multiply)(const struct blocks_product *, int64_t rows);
    blocks_activate_fn activate;
};

void ipex_blocks_walk(const struct blocks_level *level, const struct ipex_blocks_args *args,
                      int64_t job_begin, int64_t job_end, void *scratch);

#endif
