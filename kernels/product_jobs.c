/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and scratch of products with run-time operands and of norms: the same at every ISA level. */
#include "kernels/product_jobs.h"

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
