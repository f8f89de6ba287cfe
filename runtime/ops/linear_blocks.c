/* SPDX-License-Identifier: Apache-2.0 */
/* Binders of linear layers whose weights have a scale for each block of K, and of those in f16. */
#include "runtime/bind.h"

/* Jobs are worth their call from so many operations on. */
#define JOB_FLOPS 1000000

/* What rounding a row takes, in panels that are multiplied by it. */
#define ROUNDING 2

/* Every thread has one job: rows, or panels, whichever makes the largest share smaller. Each rounds
 * its rows anew. */
static void share_bytes(struct ipex_blocks_args *args, int64_t threads) {
    const int64_t panels = ipex_ceil_div(args->n, IPEX_PANEL);
    const int64_t blocks = ipex_ceil_div(args->rows, IPEX_BLOCKS_ROWS);
    const int64_t rows =
        ipex_min_i64(ipex_ceil_div(blocks, threads) * IPEX_BLOCKS_ROWS, args->rows);
    const int64_t share = ipex_ceil_div(panels, threads * IPEX_BLOCKS_PANELS) * IPEX_BLOCKS_PANELS;
    if (rows * (panels + ROUNDING) < args->rows * (share + ROUNDING))
        args->rows_per_job = (int32_t)rows;
    else
        args->panels_per_job = (int32_t)ipex_min_i64(share, panels);
}

static void choose_jobs(struct ipex_bind *bind, bool bytes) {
    struct ipex_blocks_args *args = &bind->args.blocks;
    const int64_t panels = ipex_ceil_div(args->n, IPEX_PANEL);
    const int64_t cost = ipex_mul_sat(2 * IPEX_PANEL * (int64_t)args->rows, args->k);
    const int64_t worth = ipex_ceil_div(panels, ipex_units_worth(JOB_FLOPS, cost));
    args->rows_per_job = args->rows;
    args->panels_per_job = (int32_t)panels;
    if (bind->setup->threads == 1)
        return;
    if (bytes)
        share_bytes(args, ipex_min_i64(bind->setup->threads, worth));
    else
        args->panels_per_job = (int32_t)ipex_block_size(bind->setup, panels, cost, JOB_FLOPS);
}

static void set_factors(struct ipex_bind *bind) {
    if (bind->input[4]->dtype == IPEX_DTYPE_bf16)
        IPEX_BIND_REF(bind, blocks, scale_bf16, 4, 0);
    else
        IPEX_BIND_REF(bind, blocks, scale, 4, 0);
    if (bind->input[5] != NULL)
        IPEX_BIND_REF(bind, blocks, zero, 5, 0);
}

static void set_operands(struct ipex_bind *bind) {
    IPEX_BIND_REF(bind, blocks, x, 0, 0);
    IPEX_BIND_REF(bind, blocks, w, 1, 0);
    IPEX_BIND_BIAS(bind, blocks, bind->args.blocks.n);
    if (bind->input[3] != NULL)
        IPEX_BIND_REF(bind, blocks, residual, 3, 0);
    IPEX_BIND_REF(bind, blocks, y, IPEX_REF_OUTPUT, 0);
}

/* All but the kernel, of weights of `bits` bits in blocks of so many elements. */
static enum ipex_bound bind_layer(struct ipex_bind *bind, int32_t bits, int32_t block, int32_t act,
                                  bool bytes) {
    struct ipex_blocks_args *args = &bind->args.blocks;
    const struct ipex_tensor_info *x = bind->input[0];
    if (!ipex_info_stride(x, 0, x->rank - 1, &args->x_row) ||
        !ipex_info_stride(bind->output, 0, x->rank - 1, &args->y_row) ||
        !ipex_info_stride(bind->input[3], 0, x->rank - 1, &args->r_row))
        return IPEX_BOUND_NEEDS_DENSE;
    int64_t rows = 1;
    for (int32_t d = 0; d + 1 < x->rank; d++)
        rows *= x->dims[d];
    if (!ipex_fits_i32(rows))
        return IPEX_BOUND_TOO_LARGE;
    args->rows = (int32_t)rows;
    args->k = (int32_t)x->dims[x->rank - 1];
    args->n = (int32_t)bind->input[1]->dims[0];
    args->bits = bits;
    args->block = block;
    args->act = act;
    args->act_a = bind->floats[0];
    args->act_b = bind->floats[1];
    args->cache_l2 = bind->setup->l2_bytes;
    set_operands(bind);
    choose_jobs(bind, bytes);
    bind->jobs = ipex_blocks_jobs(args);
    bind->scratch = ipex_blocks_scratch(args, bytes);
    bind->flops = ipex_mul_sat(ipex_info_numel(bind->output), 2 * (int64_t)args->k);
    return IPEX_BOUND;
}

enum ipex_bound ipex_bind_linear_blocks(struct ipex_bind *bind) {
    const bool bytes = bind->ints[IPEX_BLOCKS_BYTES] != 0;
    const enum ipex_bound bound =
        bind_layer(bind, bind->ints[IPEX_BLOCKS_BITS], bind->ints[IPEX_BLOCKS_SIZE],
                   bind->ints[IPEX_BLOCKS_ACT], bytes);
    if (bound != IPEX_BOUND)
        return bound;
    set_factors(bind);
    if (bytes)
        IPEX_BIND_KERNEL(bind, linear_blocks_i8, blocks);
    else
        IPEX_BIND_KERNEL(bind, linear_blocks_f32, blocks);
    return IPEX_BOUND;
}

enum ipex_bound ipex_bind_linear_f16(struct ipex_bind *bind) {
    const enum ipex_bound bound = bind_layer(bind, 16, 1, bind->ints[0], false);
    if (bound == IPEX_BOUND)
        IPEX_BIND_KERNEL(bind, linear_f16, blocks);
    return bound;
}
