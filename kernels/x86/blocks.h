/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of weights in blocks: what a level brings to the walk that all share (blocks_avx2.c). */
#ifndef IPEX_KERNELS_X86_BLOCKS_H
#define IPEX_KERNELS_X86_BLOCKS_H

#include "kernels/product_jobs.h"
#include "kernels/x86/activate.h"

/* Of tiles, in bytes: a row, and the IPEX_BLOCK_STEP numbers of each column that are a step. */
enum { BLOCKS_ROW = 4 * IPEX_PANEL };
static inline int64_t blocks_step(bool wide) {
    return wide ? 2 * BLOCKS_ROW : BLOCKS_ROW;
}

/* The greatest number; as many are below the middle, by itself a zero point, as from it on. */
static inline int32_t blocks_most(bool wide) {
    return wide ? 255 : 15;
}
static inline int32_t blocks_middle(bool wide) {
    return (blocks_most(wide) + 1) / 2;
}

/* Some rows, as many as a level's register block has, with one panel or two: from the first one's
 * tiles, scales, zero points and bias to the second one's it is so far, nowhere where there is
 * none. */
struct blocks_product {
    int64_t panels, w_next, factor_next, bias_next;
    int64_t ahead;                     /* in bytes, from tiles to those of the next product */
    const uint8_t *w;                  /* tiles */
    const float *scale;                /* [blocks][16] */
    const uint16_t *scale_bf16;        /* or these; the other is NULL */
    const uint8_t *zero;               /* likewise, or NULL */
    const float *bias;                 /* [16] */
    const int32_t *x;                  /* [k / 4][rows] words of four q */
    const float *x_scale;              /* [blocks][rows] */
    const int32_t *x_sum;              /* likewise: of q; without zero times -middle */
    float *y;                          /* [rows][IPEX_BLOCKS_PANELS][16] */
    int32_t blocks, steps, last_steps; /* of IPEX_BLOCK_STEP elements in a block */
    bool wide;                         /* numbers of 8 bits */
};

typedef void (*blocks_activate_fn)(const struct ipex_act_rows *);

struct blocks_level {
    int64_t rows;  /* of the largest register block; others have IPEX_BLOCKS_FEW and 1 */
    bool in_turns; /* a row takes steps of two panels in turns, which should lie far from each other
                    */
    void (*multiply)(const struct blocks_product *, int64_t rows);
    blocks_activate_fn activate;
};

/* The same for products of floats, of which a row alone is multiplied by so many panels at a time.
 */
enum { BLOCKS_ROW_PANELS = 4 };
enum { BLOCKS_FEW_FLOATS = 4 }; /* few and worth, of numbers of 4 and 8 bits */
struct blocks_float_level {
    bool in_turns;
    int64_t few;   /* rows from which on several are multiplied at once */
    int64_t worth; /* and from which on weights become floats once for all of them */
    int64_t rows;  /* most of multiply_rows */
    void (*conv)(const struct ipex_conv_args *, int64_t, int64_t, void *);
    blocks_activate_fn activate;
    /* Elements [begin, end) of K of a panel's weights, from a whole step on, as tiles of f32. */
    void (*widen)(const struct ipex_blocks_args *, int64_t panel, int64_t begin, int64_t end,
                  float *to);
    /* A row times up to BLOCKS_ROW_PANELS panels, `apart` from each other: [panels][16], with room
     * for all. */
    void (*multiply_row)(const struct ipex_blocks_args *, const float *x, int64_t panel,
                         int64_t panels, int64_t apart, float *to);
    /* NULL, where few and worth are the same, or elements [begin, end) of K of `count` rows, up to
     * `rows`, times two panels `apart` from each other, or one (0): [rows][IPEX_BLOCKS_PANELS][16],
     * with room for all, whose chains go on unless begin is 0. packed: NULL, or both panels'
     * weights are stored as tiles of f32. */
    void (*multiply_rows)(const struct ipex_blocks_args *, const float *x, int64_t count,
                          int64_t panel, int64_t apart, int64_t begin, int64_t end, float *packed,
                          float *to);
};

/* Weights in f16: elements of a panel, and the columns of element k of K. */
static inline int64_t blocks_panel_halves(const struct ipex_blocks_args *args) {
    return ipex_blocks_panel(args) / (int64_t)sizeof(uint16_t);
}
static inline const uint16_t *blocks_halves_at(const struct ipex_blocks_args *args, int64_t panel,
                                               int64_t k) {
    return (const uint16_t *)(const void *)args->w + panel * blocks_panel_halves(args) +
           k * IPEX_PANEL;
}
/* multiply_row of them. */
void ipex_f16_row__avx2(const struct ipex_blocks_args *args, const float *x, int64_t panel,
                        int64_t panels, int64_t apart, float *to);

void ipex_blocks_floats(const struct blocks_float_level *level, const struct ipex_blocks_args *args,
                        int64_t job_begin, int64_t job_end, float *scratch);
void ipex_blocks_walk(const struct blocks_level *level, const struct ipex_blocks_args *args,
                      int64_t job_begin, int64_t job_end, void *scratch);

#endif
