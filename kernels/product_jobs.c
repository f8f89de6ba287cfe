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
    ret.y = args->y + ipex_row_offset(args->batch, args->y_batch, args->batch_rank, job);
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

size_t ipex_attention_scratch(const struct ipex_attention_args *args) {
    return (size_t)ipex_attention_layout(args).total * sizeof(float);
}

/* Per channel of a job: its sum, its group's mean, and what it is multiplied by. */
size_t ipex_group_norm_scratch(const struct ipex_group_norm_args *args) {
    const int64_t channels = args->channels / args->groups * args->groups_per_job;
    return (size_t)(3 * ipex_round_up_16(channels)) * sizeof(float);
}
