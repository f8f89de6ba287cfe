/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and scratch of products with run-time operands and of norms: the same at every ISA level. */
#include "kernels/product_jobs.h"

struct ipex_matmul_job ipex_matmul_job(const struct ipex_matmul_args *args, int64_t job,
                                       int64_t size) {
    const int64_t column_blocks = ipex_div_up(args->n, args->columns_per_job);
    const int64_t row_blocks = ipex_div_up(args->m, args->rows_per_job);
    const struct ipex_quotient column = ipex_divide(job, column_blocks);
    const struct ipex_quotient row = ipex_divide(column.whole, row_blocks);
    struct ipex_matmul_job ret;
    ret.column = column.rest * args->columns_per_job;
    ret.row = row.rest * args->rows_per_job;
    job = row.whole;
    ret.column_end = ipex_smaller(ret.column + args->columns_per_job, args->n);
    ret.row_end = ipex_smaller(ret.row + args->rows_per_job, args->m);
    ret.a = (const char *)args->a +
            ipex_row_offset(args->batch, args->a_batch, args->batch_rank, job) * size;
    ret.b = (const char *)args->b +
            ipex_row_offset(args->batch, args->b_batch, args->batch_rank, job) * size;
    const int64_t y = ipex_row_offset(args->batch, args->y_batch, args->batch_rank, job);
    ret.y = args->y ? args->y + y : NULL;
    ret.y_u8 = args->y_u8 ? args->y_u8 + y : NULL;
    return ret;
}

struct ipex_attention_job ipex_attention_job(const struct ipex_attention_args *args, int64_t job,
                                             int64_t size) {
    const int64_t row_blocks = ipex_div_up(args->m, args->rows_per_job);
    const struct ipex_quotient block = ipex_divide(job, row_blocks);
    const int64_t batch = block.whole;
    struct ipex_attention_job ret = {.row = block.rest * args->rows_per_job};
    ret.row_end = ipex_smaller(ret.row + args->rows_per_job, args->m);
    ret.q = (const char *)args->q +
            ipex_row_offset(args->batch, args->q_batch, args->batch_rank, batch) * size;
    ret.k = (const char *)args->k +
            ipex_row_offset(args->batch, args->k_batch, args->batch_rank, batch) * size;
    ret.v = (const char *)args->v +
            ipex_row_offset(args->batch, args->v_batch, args->batch_rank, batch) * size;
    ret.y = args->y + ipex_row_offset(args->batch, args->y_batch, args->batch_rank, batch);
    if (args->mask)
        ret.mask =
            args->mask + ipex_row_offset(args->batch, args->mask_batch, args->batch_rank, batch);
    return ret;
}

int64_t ipex_matmul_jobs(const struct ipex_matmul_args *args) {
    return ipex_row_count(args->batch, 0, args->batch_rank) *
           ipex_div_up(args->m, args->rows_per_job) * ipex_div_up(args->n, args->columns_per_job);
}

int64_t ipex_attention_jobs(const struct ipex_attention_args *args) {
    return ipex_row_count(args->batch, 0, args->batch_rank) *
           ipex_div_up(args->m, args->rows_per_job);
}

int64_t ipex_group_norm_jobs(const struct ipex_group_norm_args *args) {
    return args->images * ipex_div_up(args->groups, args->groups_per_job);
}

size_t ipex_matmul_scratch(const struct ipex_matmul_args *args) {
    return (size_t)ipex_packed_floats(args->k_block, args->columns_per_job) * sizeof(float);
}

int64_t ipex_matmul_u8_panel(const struct ipex_matmul_args *args) {
    const int64_t tile = 4 * IPEX_TILE_ROWS;
    return ipex_div_up(ipex_matmul_u8_depth(args), tile) * tile * IPEX_PANEL;
}

/* Blocks of rows in L1: several register blocks, or one where they are long. */
enum { ROWS_BYTES = 16384, BLOCK_ROWS = 14 };

struct ipex_matmul_u8_layout ipex_matmul_u8_layout(const struct ipex_matmul_args *args) {
    const int64_t columns = ipex_round_up_16(ipex_smaller(args->columns_per_job, args->n));
    const int64_t depth = ipex_matmul_u8_depth(args), fit = ROWS_BYTES / depth / BLOCK_ROWS;
    struct ipex_matmul_u8_layout ret;
    ret.scale = columns / IPEX_PANEL * ipex_matmul_u8_panel(args);
    ret.bias = ret.scale + columns * (int64_t)sizeof(float);
    ret.rows = ret.bias + columns * (int64_t)sizeof(float);
    ret.rows_at_once = fit > 1 ? fit * BLOCK_ROWS : BLOCK_ROWS;
    ret.total = ret.rows + ret.rows_at_once * depth + IPEX_PANEL;
    return ret;
}

size_t ipex_matmul_u8_scratch(const struct ipex_matmul_args *args) {
    return (size_t)ipex_matmul_u8_layout(args).total;
}

size_t ipex_matmul_u8_scratch_most(const struct ipex_matmul_args *args, int64_t l2_part) {
    const int64_t panel =
        ipex_matmul_u8_panel(args) + 2 * IPEX_PANEL * (int64_t)sizeof(float); /* and its factors */
    const int64_t all = ipex_div_up(args->n, IPEX_PANEL) * panel,
                  rows = BLOCK_ROWS * ipex_matmul_u8_depth(args);
    const int64_t most = l2_part + l2_part / 8 > panel ? l2_part + l2_part / 8 : panel;
    return (size_t)(ipex_smaller(all, most) + (rows > ROWS_BYTES ? rows : ROWS_BYTES) + IPEX_PANEL);
}

int64_t ipex_blocks_jobs(const struct ipex_blocks_args *args) {
    return ipex_div_up(args->rows, args->rows_per_job) *
           ipex_div_up(ipex_div_up(args->n, IPEX_PANEL), args->panels_per_job);
}

struct ipex_blocks_job ipex_blocks_job(const struct ipex_blocks_args *args, int64_t job) {
    const int64_t panels = ipex_div_up(args->n, IPEX_PANEL);
    const struct ipex_quotient at = ipex_divide(job, ipex_div_up(panels, args->panels_per_job));
    struct ipex_blocks_job ret;
    ret.row = at.whole * args->rows_per_job;
    ret.panel = at.rest * args->panels_per_job;
    ret.row_end = ipex_smaller(ret.row + args->rows_per_job, args->rows);
    ret.panel_end = ipex_smaller(ret.panel + args->panels_per_job, panels);
    return ret;
}

/* Register blocks of all levels fill so many rows. */
enum { BLOCKS_ALL_ROWS = 12 };
_Static_assert(BLOCKS_ALL_ROWS % IPEX_BLOCKS_ROWS == 0 && BLOCKS_ALL_ROWS % IPEX_BLOCKS_FEW == 0,
               "a last block would not fit");

/* As many rows at once as half of L2 holds, in equal parts. There is room for the most, whatever
 * the parts: sessions ask for the room of the most rows of all. */
struct ipex_blocks_layout ipex_blocks_layout(const struct ipex_blocks_args *args) {
    const int64_t blocks = ipex_blocks_count(args), row = blocks * args->block;
    const int64_t fit = ipex_div(args->cache_l2 / 2, row * BLOCKS_ALL_ROWS);
    const int64_t most = (fit > 1 ? fit : 1) * BLOCKS_ALL_ROWS;
    const int64_t part = ipex_div_up(args->rows, ipex_div_up(args->rows, most));
    const int64_t rows =
        ipex_smaller(most, ipex_div_up(args->rows, IPEX_BLOCKS_FEW) * IPEX_BLOCKS_FEW);
    struct ipex_blocks_layout ret;
    ret.rows_at_once = ipex_smaller(ipex_div_up(part, BLOCKS_ALL_ROWS) * BLOCKS_ALL_ROWS, rows);
    ret.scale = rows * row;
    ret.sum = ret.scale + rows * blocks * (int64_t)sizeof(float);
    ret.tile = ret.sum + rows * blocks * (int64_t)sizeof(int32_t);
    ret.total =
        ret.tile + IPEX_BLOCKS_ROWS * IPEX_BLOCKS_PANELS * IPEX_PANEL * (int64_t)sizeof(float);
    return ret;
}

size_t ipex_blocks_scratch(const struct ipex_blocks_args *args, bool bytes) {
    const int64_t rows = ipex_smaller(args->rows, IPEX_BLOCKS_FLOAT_ROWS);
    const int64_t floats = IPEX_BLOCKS_FLOATS + rows * IPEX_BLOCKS_PANELS * IPEX_PANEL;
    return bytes ? (size_t)ipex_blocks_layout(args).total : (size_t)floats * sizeof(float);
}

size_t ipex_attention_scratch(const struct ipex_attention_args *args) {
    return (size_t)ipex_attention_layout(args).total * sizeof(float);
}

/* Per channel of a job: its sum, its group's mean, and what it is multiplied by. */
size_t ipex_group_norm_scratch(const struct ipex_group_norm_args *args) {
    const int64_t channels = args->channels / args->groups * args->groups_per_job;
    return (size_t)(3 * ipex_round_up_16(channels)) * sizeof(float);
}
