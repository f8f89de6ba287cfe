/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise programs for either vector width: every step runs over a tile, a part of a row or
 * several short rows of IPEX_POINTWISE_BLOCK elements in all, while it is in L1. Registers are
 * blocks of the scratch, the last step writes y. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_POINTWISE_BODY_H
#define IPEX_KERNELS_X86_POINTWISE_BODY_H

#include "kernels/x86/vec_math.h"

/* An operand over a tile of rows: step is 1, or 0 for one value that is broadcast along a row; row
 * is the distance between rows, 0 where they are the same. */
struct pointwise_operand {
    const float *p;
    int64_t step, row;
};

/* A tile: rows of n elements. */
struct pointwise_tile {
    int64_t rows, n;
};

static inline vec pointwise_load(struct pointwise_operand operand, int64_t i, int64_t n) {
    return operand.step ? vec_load_part(operand.p + i, n - i) : vec_set(*operand.p);
}

/* One step over a tile; `expression` uses a and b. WHOLE does the vectors of a row that are whole,
 * or some of them: with the simplest operations it is a loop that nothing else slows down. */
#define POINTWISE_ROWS(WHOLE, expression)                                                          \
    for (int64_t r = 0; r < tile.rows; r++, oa.p += oa.row, ob.p += ob.row, y += y_row) {          \
        int64_t i = 0;                                                                             \
        WHOLE(expression)                                                                          \
        for (; i < tile.n; i += LANES) {                                                           \
            const vec a = pointwise_load(oa, i, tile.n), b = pointwise_load(ob, i, tile.n);        \
            (void)a, (void)b;                                                                      \
            vec_store_part(y + i, tile.n - i, expression);                                         \
        }                                                                                          \
    }                                                                                              \
    break;
#define POINTWISE_NONE(expression) /* none */
#define POINTWISE_WHOLE(expression)                                                                \
    if (oa.step && ob.step) {                                                                      \
        for (; i + LANES <= tile.n; i += LANES) {                                                  \
            const vec a = vec_load(oa.p + i), b = vec_load(ob.p + i);                              \
            vec_store(y + i, expression);                                                          \
        }                                                                                          \
    } else if (oa.step) {                                                                          \
        const vec b = vec_set(*ob.p);                                                              \
        for (; i + LANES <= tile.n; i += LANES) {                                                  \
            const vec a = vec_load(oa.p + i);                                                      \
            vec_store(y + i, expression);                                                          \
        }                                                                                          \
    }
#define POINTWISE_LOOP(expression)   POINTWISE_ROWS(POINTWISE_NONE, expression)
#define POINTWISE_SIMPLE(expression) POINTWISE_ROWS(POINTWISE_WHOLE, expression)

/* The activation that a step is; none: it is no such step. */
static inline int32_t pointwise_act(int16_t op) {
    switch (op) {
#define ACT_OF(name)                                                                               \
    case IPEX_STEP_##name:                                                                         \
        return IPEX_ACT_##name;
        ACT_OF(sigmoid)
        ACT_OF(tanh)
        ACT_OF(softplus)
        ACT_OF(gelu)
        ACT_OF(gelu_tanh)
        ACT_OF(mish)
#undef ACT_OF
    default:
        return IPEX_ACT_none;
    }
}

/* An activation's code is in one place of a level (activate_body.h), for what lies in y. */
static __attribute__((noinline)) void pointwise_activate(int32_t act, struct pointwise_operand oa,
                                                         float *y, int64_t y_row,
                                                         struct pointwise_tile tile) {
    for (int64_t r = 0; r < tile.rows; r++, oa.p += oa.row, y += y_row)
        for (int64_t begin = 0; begin < tile.n; begin += IPEX_POINTWISE_BLOCK) {
            const int64_t n = ipex_smaller(tile.n - begin, IPEX_POINTWISE_BLOCK);
            for (int64_t i = begin; i < begin + n && (oa.p != y || !oa.step); i += LANES)
                vec_store_part(y + i, tile.n - i, pointwise_load(oa, i, tile.n));
            const struct ipex_act_rows rows = ipex_act_rows(y + begin, 1, n, n, act, 0, 0);
            IPEX_LEVEL(activate)(&rows);
        }
}

static inline void pointwise_step(int16_t op, struct pointwise_operand oa,
                                  struct pointwise_operand ob, float *y, int64_t y_row,
                                  struct pointwise_tile tile) {
    if (oa.row == oa.step * tile.n && ob.row == ob.step * tile.n && y_row == tile.n)
        tile = (struct pointwise_tile){1, tile.rows * tile.n}; /* without gaps: one row */
    const int32_t act = pointwise_act(op);
    if (act != IPEX_ACT_none) {
        pointwise_activate(act, oa, y, y_row, tile);
        return;
    }
    switch (op) {
    case IPEX_STEP_add:
        POINTWISE_SIMPLE(vec_add(a, b))
    case IPEX_STEP_sub:
        POINTWISE_SIMPLE(vec_sub(a, b))
    case IPEX_STEP_mul:
        POINTWISE_SIMPLE(vec_mul(a, b))
    case IPEX_STEP_div:
        POINTWISE_SIMPLE(vec_div(a, b))
    case IPEX_STEP_min:
        POINTWISE_SIMPLE(vec_min_nan(a, b))
    case IPEX_STEP_max:
        POINTWISE_SIMPLE(vec_max_nan(a, b))
    case IPEX_STEP_neg:
        POINTWISE_LOOP(vec_neg(a))
    case IPEX_STEP_abs:
        POINTWISE_LOOP(vec_abs(a))
    case IPEX_STEP_sqrt:
        POINTWISE_LOOP(vec_sqrt(a))
    case IPEX_STEP_exp:
        POINTWISE_LOOP(vec_exp(a))
    case IPEX_STEP_floor:
        POINTWISE_LOOP(vec_floor(vec_flush(a)))
    case IPEX_STEP_ceil:
        POINTWISE_LOOP(vec_ceil(vec_flush(a)))
    case IPEX_STEP_reciprocal:
        POINTWISE_LOOP(vec_div(vec_set(1.0f), a))
    case IPEX_STEP_leaky:
        POINTWISE_LOOP(vec_leaky(a, b))
    case IPEX_STEP_log:
        POINTWISE_LOOP(vec_log(a))
    case IPEX_STEP_sin:
        POINTWISE_LOOP(vec_sin(a))
    case IPEX_STEP_cos:
        POINTWISE_LOOP(vec_cos(a))
    case IPEX_STEP_erf:
        POINTWISE_LOOP(vec_erf(a))
    case IPEX_STEP_pow:
        POINTWISE_LOOP(vec_pow(a, b))
    case IPEX_STEP_round:
        POINTWISE_LOOP(vec_round(vec_flush(a)))
    case IPEX_STEP_sign:
        POINTWISE_LOOP(vec_sign(a))
    case IPEX_STEP_elu:
        POINTWISE_LOOP(vec_elu(a, b))
    case IPEX_STEP_expm1:
        POINTWISE_LOOP(vec_expm1(a))
    case IPEX_STEP_log1p:
        POINTWISE_LOOP(vec_log1p(a))
    case IPEX_STEP_atan:
        POINTWISE_LOOP(vec_atan(a))
    default:
        POINTWISE_LOOP(a)
    }
}

/* x: from the first element of the tile's row on, `at` is the tile's first element in it. */
static inline struct pointwise_operand pointwise_operand(const struct ipex_pointwise_args *args,
                                                         const struct pointwise_operand *x,
                                                         const float *registers, int16_t code,
                                                         int64_t at, int64_t n) {
    if (code < 0)
        return (struct pointwise_operand){args->constants - 1 - code, 0, 0};
    if (code >= IPEX_POINTWISE_RESULT)
        return (struct pointwise_operand){
            registers + (code - IPEX_POINTWISE_RESULT) * IPEX_POINTWISE_BLOCK, 1, n};
    return (struct pointwise_operand){x[code].p + at * x[code].step, x[code].step, x[code].row};
}

/* Not inlined: what the functions of steps need stays out of the registers of the loops around. */
static __attribute__((noinline)) void pointwise_steps(const struct ipex_pointwise_args *args,
                                                      const struct pointwise_operand *x, float *y,
                                                      int64_t y_row, float *registers, int64_t at,
                                                      struct pointwise_tile tile) {
    for (int32_t s = 0; s < args->steps; s++) {
        const struct ipex_pointwise_step *step = &args->program[s];
        const bool last = s + 1 == args->steps;
        pointwise_step(step->op, pointwise_operand(args, x, registers, step->a, at, tile.n),
                       pointwise_operand(args, x, registers, step->b, at, tile.n),
                       last ? y + at : registers + step->dst * IPEX_POINTWISE_BLOCK,
                       last ? y_row : tile.n, tile);
    }
}

/* A tile of rows that are shorter than a vector: those with gaps, or broadcast along or across
 * rows, are first laid out densely, in the blocks behind the registers, as y is where it has gaps;
 * then every step is one row of full vectors. */
static __attribute__((noinline)) void pointwise_narrow(const struct ipex_pointwise_args *args,
                                                       const struct pointwise_operand *x, float *y,
                                                       int64_t y_row, float *registers,
                                                       struct pointwise_tile tile) {
    struct pointwise_operand operand[IPEX_POINTWISE_INPUTS];
    float *dense = registers + args->registers * IPEX_POINTWISE_BLOCK;
    for (int32_t k = 0; k < args->inputs; k++) {
        operand[k] = x[k];
        if (x[k].row == x[k].step * tile.n)
            continue; /* dense, or one value */
        ipex_copy_rows(x[k].p, x[k].row, x[k].step, dense, tile.n, tile.rows, tile.n);
        operand[k] = (struct pointwise_operand){dense, 1, tile.n};
        dense += IPEX_POINTWISE_BLOCK;
    }
    float *to = y_row == tile.n ? y : dense;
    pointwise_steps(args, operand, to, tile.n, registers, 0, tile);
    if (to != y)
        ipex_copy_rows(to, tile.n, 1, y, y_row, tile.rows, tile.n);
}

/* Rows are shorter than a vector, and some have gaps or are broadcast. */
static inline bool pointwise_is_narrow(const struct ipex_pointwise_args *args,
                                       const struct pointwise_operand *x, int64_t y_row,
                                       int64_t n) {
    for (int32_t i = 0; n < LANES && i < args->inputs; i++)
        if (x[i].row != x[i].step * n)
            return true;
    return n < LANES && y_row != n;
}

/* Rows from x and y on, tile by tile, each of as many rows as the registers hold; of any number
 * where no register is used. */
static __attribute__((noinline)) void pointwise_tiles(const struct ipex_pointwise_args *args,
                                                      struct pointwise_operand *x, float *y,
                                                      int64_t y_row, float *registers,
                                                      struct pointwise_tile all) {
    const bool narrow = all.rows > 1 && pointwise_is_narrow(args, x, y_row, all.n);
    const bool free = args->steps == 1 && !narrow;
    const int64_t most = free ? all.n : IPEX_POINTWISE_BLOCK;
    const int64_t fit = free ? all.rows : all.n < most ? ipex_div(most, all.n) : 1;
    for (int64_t rows = all.rows, now; rows > 0; rows -= now, y += now * y_row) {
        now = rows < fit ? rows : fit;
        if (narrow)
            pointwise_narrow(args, x, y, y_row, registers, (struct pointwise_tile){now, all.n});
        for (int64_t at = 0; !narrow && at < all.n; at += most)
            pointwise_steps(args, x, y, y_row, registers, at,
                            (struct pointwise_tile){now, all.n - at < most ? all.n - at : most});
        for (int32_t i = 0; i < args->inputs; i++)
            x[i].p += now * x[i].row;
    }
}

/* An operand of all rows alike. */
static inline bool pointwise_is_same(struct pointwise_operand operand) {
    return operand.row == 0 && operand.step == 1;
}

/* Rows of such an operand that pay for laying it out once more; elements of it that are laid out,
 * if rows are shorter. */
enum { JOINT_LEAST = 4, JOINT_BLOCK = 256 };

/* How many rows may be taken as one, which is best of whole vectors: those of y and of the operands
 * lie behind each other, but for operands of all rows alike, for which there is room. */
static inline int64_t pointwise_joint(const struct ipex_pointwise_args *args,
                                      const struct pointwise_operand *x, int64_t y_row,
                                      struct pointwise_tile all) {
    int64_t same = 0;
    for (int32_t i = 0; i < args->inputs; i++) {
        if (!pointwise_is_same(x[i]) && x[i].row != x[i].step * all.n)
            return 1;
        same += pointwise_is_same(x[i]);
    }
    if (same == 0 || y_row != all.n)
        return 1;
    const int64_t room = ipex_div((args->inputs + 1) * IPEX_POINTWISE_BLOCK, same * all.n);
    const int64_t even = ipex_div(LANES, ipex_smaller(LANES, all.n & -all.n));
    const int64_t block = ipex_div(JOINT_BLOCK, all.n);
    const int64_t wanted = block > even ? block - ipex_divide(block, even).rest : even;
    const int64_t ret = ipex_smaller(wanted, room);
    return all.rows < JOINT_LEAST * ret ? 1 : ret;
}

/* `rows` neighbours of the last but innermost dim, from x and y on. A short row by which all others
 * are multiplied, as by a gate of channels, is laid out several times, behind the registers: then
 * these are fewer, longer rows of full vectors (288 rows of 40 columns take 0.27 of the time).
 * Rows that end within a vector wait for each other where y takes the place of an operand. */
static __attribute__((noinline)) void pointwise_run(const struct ipex_pointwise_args *args,
                                                    struct pointwise_operand *x, float *y,
                                                    float *registers, int64_t rows) {
    const int32_t inner = args->rank - 1;
    const int64_t n = args->dims[inner], y_row = inner > 0 ? args->y_stride[inner - 1] : 0;
    const int64_t joint = pointwise_joint(args, x, y_row, (struct pointwise_tile){rows, n});
    struct pointwise_operand operand[IPEX_POINTWISE_INPUTS];
    float *dense = registers + args->registers * IPEX_POINTWISE_BLOCK;
    if (joint > 1) {
        const struct ipex_quotient all = ipex_divide(rows, joint);
        for (int32_t i = 0; i < args->inputs; i++) {
            operand[i] = (struct pointwise_operand){x[i].p, x[i].step, joint * x[i].row};
            if (pointwise_is_same(x[i])) {
                ipex_copy_rows(x[i].p, 0, 1, dense, n, joint, n);
                operand[i].p = dense;
                dense += joint * n;
            }
            x[i].p += all.whole * joint * x[i].row;
        }
        pointwise_tiles(args, operand, y, joint * n, registers,
                        (struct pointwise_tile){all.whole, joint * n});
        y += all.whole * joint * n;
        rows = all.rest;
    }
    pointwise_tiles(args, x, y, y_row, registers, (struct pointwise_tile){rows, n});
}

void IPEX_LEVEL(pointwise_f32)(const struct ipex_pointwise_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    const int32_t lead = args->rank - 1;
    const int64_t run = lead > 0 ? args->dims[lead - 1] : 1;
    int64_t end = job_end * args->rows_per_job;
    if (end > ipex_row_count(args->dims, 0, lead))
        end = ipex_row_count(args->dims, 0, lead);
    for (int64_t row = job_begin * args->rows_per_job, rows; row < end; row += rows) {
        struct pointwise_operand x[IPEX_POINTWISE_INPUTS];
        rows = run - ipex_divide(row, run).rest;
        if (rows > end - row)
            rows = end - row;
        for (int32_t i = 0; i < args->inputs; i++)
            x[i] = (struct pointwise_operand){
                args->x[i] + ipex_row_offset(args->dims, args->x_stride[i], lead, row),
                args->x_stride[i][lead], lead > 0 ? args->x_stride[i][lead - 1] : 0};
        float *y = args->y + ipex_row_offset(args->dims, args->y_stride, lead, row);
        pointwise_run(args, x, y, scratch, rows);
    }
}

#endif
