/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and scratch of the kernels that pack their right operand at run time, divided as
 * kernels/jobs.h is. */
#ifndef IPEX_KERNELS_PRODUCT_JOBS_H
#define IPEX_KERNELS_PRODUCT_JOBS_H

#include "kernels/jobs.h"

static inline int64_t ipex_round_up_16(int64_t n) {
    return ipex_div_up(n, IPEX_PANEL) * IPEX_PANEL;
}

/* Floats of the panels of a [k][n] operand. */
static inline int64_t ipex_packed_floats(int64_t k, int64_t n) {
    return ipex_round_up_16(k) * ipex_round_up_16(n);
}

/* Rows [row, row_end) and columns [column, column_end) of one product, and its operands. */
struct ipex_matmul_job {
    const void *a, *b;
    float *y;      /* NULL: y_u8 */
    uint8_t *y_u8; /* NULL: y */
    int64_t row, row_end, column, column_end;
};

/* Of operands with elements of `size` bytes. */
struct ipex_matmul_job ipex_matmul_job(const struct ipex_matmul_args *args, int64_t job,
                                       int64_t size);

/* What b has behind its elements in matmul_u8, for what its zero point lacks of 128, and how many
 * bytes a row of a has there (kernels/x86/matmul_u8_avx2.c). */
enum { IPEX_MATMUL_FACTOR = 127 };
static inline int64_t ipex_matmul_u8_tail(const struct ipex_matmul_args *args) {
    const int64_t zero = 128 - (int64_t)args->b_zero, by = zero < 0 ? -zero : zero;
    return by > 0 ? ipex_div_up(by * args->k, IPEX_MATMUL_FACTOR) + 1 : 0;
}

/* Elements of K as matmul_u8 multiplies them, in fours. */
static inline int64_t ipex_matmul_u8_depth(const struct ipex_matmul_args *args) {
    return (ipex_div_up(args->k, 4) + ipex_div_up(ipex_matmul_u8_tail(args), 4)) * 4;
}

/* The parts of its scratch, in bytes: panels, scales and biases of a job's columns, some of its
 * rows. */
struct ipex_matmul_u8_layout {
    int64_t scale, bias, rows, rows_at_once, total;
};
struct ipex_matmul_u8_layout ipex_matmul_u8_layout(const struct ipex_matmul_args *args);

/* Rows [row, row_end) and panels [panel, panel_end) of a layer of weights in blocks. */
struct ipex_blocks_job {
    int64_t row, row_end, panel, panel_end;
};

struct ipex_blocks_job ipex_blocks_job(const struct ipex_blocks_args *args, int64_t job);

static inline int64_t ipex_blocks_count(const struct ipex_blocks_args *args) {
    return ipex_div_up(args->k, args->block);
}

/* Bytes of a panel's tiles. */
static inline int64_t ipex_blocks_panel(const struct ipex_blocks_args *args) {
    const int64_t column = ipex_block_column_bytes(args->k, args->bits);
    return ipex_div_up(column * IPEX_PANEL, IPEX_TILE_BYTES) * IPEX_TILE_BYTES;
}

/* The parts of the scratch of linear_blocks_i8, in bytes, of rows_at_once rows: from 0 on q, then
 * tops divided by 127 and sums of q, both [rows][blocks], and the results of some panels. */
struct ipex_blocks_layout {
    int64_t rows_at_once, scale, sum, tile, total;
};
struct ipex_blocks_layout ipex_blocks_layout(const struct ipex_blocks_args *args);

/* linear_blocks_f32 makes floats of so many elements of K of IPEX_BLOCKS_PANELS panels, and
 * multiplies them by so many rows. Its scratch has those floats, then the results. */
enum {
    IPEX_BLOCKS_PART = 512,
    IPEX_BLOCKS_FLOATS = IPEX_BLOCKS_PART * IPEX_BLOCKS_PANELS * IPEX_PANEL,
    IPEX_BLOCKS_FLOAT_ROWS = 512,
};

/* Queries [row, row_end) of one head, and its operands. */
struct ipex_attention_job {
    const void *q, *k, *v;
    const float *mask;
    float *y;
    int64_t row, row_end;
};

/* As ipex_matmul_job; the mask is f32. */
struct ipex_attention_job ipex_attention_job(const struct ipex_attention_args *args, int64_t job,
                                             int64_t size);

/* Keys that a query sees. */
static inline int64_t ipex_attention_visible(const struct ipex_attention_args *args, int64_t row) {
    const int64_t seen = row + args->n - args->m + 1;
    return !args->causal || seen > args->n ? args->n : seen < 0 ? 0 : seen;
}

/* Floats between rows of scores: no multiple of 4 KiB, which would put all rows of a register block
 * into one set of L1. */
static inline int64_t ipex_attention_score_row(const struct ipex_attention_args *args) {
    const int64_t row = ipex_round_up_16(args->n);
    return row % 1024 == 0 ? row + IPEX_PANEL : row;
}

/* The parts of an attention's scratch, in floats. */
struct ipex_attention_layout {
    int64_t k, v, scores,
        total; /* where each begins, and the end; a sum per row follows the scores */
};

static inline struct ipex_attention_layout
ipex_attention_layout(const struct ipex_attention_args *args) {
    struct ipex_attention_layout ret = {0};
    ret.v = ret.k + ipex_packed_floats(args->d, args->keys_at_once);
    ret.scores = ret.v + ipex_packed_floats(args->keys_at_once, args->e);
    ret.total = ret.scores + args->rows_at_once * ipex_attention_score_row(args) +
                ipex_round_up_16(args->rows_at_once);
    return ret;
}

/* Groups [group, group_end) of one image, channels [channel, channel_end). */
struct ipex_group_norm_job {
    int64_t image, group, group_end, channel, channel_end;
};

static inline struct ipex_group_norm_job
ipex_group_norm_job(const struct ipex_group_norm_args *args, int64_t job) {
    const int64_t blocks = ipex_div_up(args->groups, args->groups_per_job);
    const int64_t per_group = args->channels / args->groups;
    struct ipex_group_norm_job ret;
    ret.image = job / blocks;
    ret.group = job % blocks * args->groups_per_job;
    ret.group_end = ipex_smaller(ret.group + args->groups_per_job, args->groups);
    ret.channel = ret.group * per_group;
    ret.channel_end = ret.group_end * per_group;
    return ret;
}

#endif
