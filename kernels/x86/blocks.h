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
    bool wide;                         /* numbers of 8 bits */
};

typedef void (*blocks_activate_fn)(const struct ipex_act_rows *);

struct blocks_level {
    int64_t rows; /* of the largest register block: 4 or IPEX_BLOCKS_ROWS; others have 1 and 4 */
    void (*multiply)(const struct blocks_product *, int64_t rows);
    blocks_activate_fn activate;
};

/* The same for products of floats. */
struct blocks_float_level {
    void (*conv)(const struct ipex_conv_args *, int64_t, int64_t, void *);
    blocks_activate_fn activate;
    /* Elements [begin, end) of K of a panel's weights, from a whole step on, as tiles of f32. */
    void (*widen)(const struct ipex_blocks_args *, int64_t panel, int64_t begin, int64_t end,
                  float *to);
    /* A row times one panel or two: [2][16]. */
    void (*multiply_row)(const struct ipex_blocks_args *, const float *x, int64_t panel,
                         int64_t panels, float *to);
};

void ipex_blocks_floats(const struct blocks_float_level *level, const struct ipex_blocks_args *args,
                        int64_t job_begin, int64_t job_end, float *scratch);
void ipex_blocks_walk(const struct blocks_level *level, const struct ipex_blocks_args *args,
                      int64_t job_begin, int64_t job_end, void *scratch);

#endif
