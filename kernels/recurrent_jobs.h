/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and scratch of recurrent layers. Static inline only, as kernels/jobs.h. */
#ifndef IPEX_KERNELS_RECURRENT_JOBS_H
#define IPEX_KERNELS_RECURRENT_JOBS_H

#include "kernels/product_jobs.h"

enum { IPEX_LSTM_GATES = 4, IPEX_GRU_GATES = 3 };

/* A block of batches of one direction; all pointers are at its first batch, x and y at the
 * step that comes first, from where steps are x_step and y_step apart. */
struct ipex_recurrent_job {
    const float *x, *w, *r; /* words of 4 bytes of w and r */
    const float *wb, *rb;   /* NULL: none */
    const float *h0, *c0;   /* NULL: zeros */
    float *y, *h, *c;
    int64_t x_step, y_step, batches;
};

/* Blocks of batches of all directions. */
static inline int64_t ipex_recurrent_blocks(const struct ipex_recurrent_args *args) {
    return args->directions * ipex_div_up(args->batches, args->batches_per_job);
}

/* Words of 4 bytes of `rows` gate rows with k columns each, of one direction's weights. */
static inline int64_t ipex_recurrent_weight(const struct ipex_recurrent_args *args, int64_t rows,
                                            int64_t k) {
    return ipex_packed_floats(args->bf16_weights ? ipex_div_up(k, 2) : k, rows);
}

/* A job's block of batches, steps and hidden units. */
struct ipex_recurrent_place {
    int64_t block, time, time_end, unit, unit_end;
};

static inline struct ipex_recurrent_place
ipex_recurrent_place(const struct ipex_recurrent_args *args, int64_t job) {
    if (args->parts == 1)
        return (struct ipex_recurrent_place){job, 0, args->times, 0, args->hidden};
    const int64_t panels = args->hidden / IPEX_PANEL, part = job % args->parts;
    const int64_t all = job / args->parts, blocks = ipex_recurrent_blocks(args);
    return (struct ipex_recurrent_place){
        .block = all % blocks,
        .time = all / blocks,
        .time_end = all / blocks + 1,
        .unit = part * panels / args->parts * IPEX_PANEL,
        .unit_end = (part + 1) * panels / args->parts * IPEX_PANEL,
    };
}

static inline struct ipex_recurrent_job ipex_recurrent_job(const struct ipex_recurrent_args *args,
                                                           int64_t block, int64_t gates) {
    const int64_t blocks = ipex_div_up(args->batches, args->batches_per_job);
    const int64_t d = block / blocks, batch = block % blocks * args->batches_per_job;
    const int64_t rows = gates * args->hidden;
    const bool backwards = args->reverse || d == 1;
    const int64_t first = backwards ? args->times - 1 : 0;
    struct ipex_recurrent_job ret = {
        .x = args->x + first * args->x_time + batch * args->x_batch,
        .w = (const float *)args->w + d * ipex_recurrent_weight(args, rows, args->inputs),
        .r = (const float *)args->r + d * ipex_recurrent_weight(args, rows, args->hidden),
        .y = args->y + first * args->y_time + d * args->y_direction + batch * args->y_batch,
        .h = args->h + d * args->h_direction + batch * args->h_batch,
        .x_step = backwards ? -args->x_time : args->x_time,
        .y_step = backwards ? -args->y_time : args->y_time,
        .batches = ipex_smaller(args->batches - batch, args->batches_per_job),
    };
    if (args->bias) {
        ret.wb = args->bias + d * args->bias_direction;
        ret.rb = ret.wb + rows;
    }
    if (args->h0)
        ret.h0 = args->h0 + d * args->h0_direction + batch * args->h0_batch;
    if (args->c0)
        ret.c0 = args->c0 + d * args->c0_direction + batch * args->c0_batch;
    if (args->c)
        ret.c = args->c + d * args->c_direction + batch * args->c_batch;
    return ret;
}

/* Floats between rows of gates, and of hidden values: no multiple of 4 KiB. */
static inline int64_t ipex_recurrent_row(int64_t n) {
    const int64_t row = ipex_round_up_16(n);
    return row % 1024 == 0 ? row + IPEX_PANEL : row;
}

/* The parts of the scratch, in floats: gates [times_at_once][batches_per_job][gate_row], biases
 * [gate_row] twice, and three times [batches_per_job][hidden_row]. */
struct ipex_recurrent_layout {
    int64_t gate_row, hidden_row;
    int64_t gates, bias, bias_r, a, b, c, total;
};

static inline struct ipex_recurrent_layout
ipex_recurrent_layout(const struct ipex_recurrent_args *args) {
    struct ipex_recurrent_layout ret = {
        .gate_row = ipex_recurrent_row((int64_t)IPEX_LSTM_GATES * args->hidden),
        .hidden_row = ipex_recurrent_row((int64_t)args->hidden + IPEX_PANEL),
    };
    const int64_t hidden = args->batches_per_job * ret.hidden_row;
    ret.bias = (int64_t)args->times_at_once * args->batches_per_job * ret.gate_row;
    ret.bias_r = ret.bias + ret.gate_row;
    ret.a = ret.bias_r + ret.gate_row;
    ret.b = ret.a + hidden;
    ret.c = ret.b + hidden;
    ret.total = ret.c + hidden;
    return ret;
}

/* Where a block's part of the scratch begins, in floats. */
static inline int64_t ipex_recurrent_own(const struct ipex_recurrent_args *args, int64_t block) {
    return ipex_recurrent_rounds(args) > 1 ? block * ipex_recurrent_layout(args).total : 0;
}

#endif
