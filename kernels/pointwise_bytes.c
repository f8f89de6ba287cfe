/* SPDX-License-Identifier: Apache-2.0 */
/* See pointwise_bytes.h. */
#include "kernels/pointwise_bytes.h"

enum { BLOCK = IPEX_POINTWISE_BYTES_BLOCK };

/* `rows` neighbours of the last but innermost dim, of each elements [begin, begin + n). */
struct part {
    int64_t row, rows, begin, n;
};

static __attribute__((noinline)) int64_t place(const struct ipex_pointwise_args *args,
                                               const int64_t *stride, const struct part *part) {
    const int32_t last = args->rank - 1;
    return ipex_row_offset(args->dims, stride, last, part->row) + part->begin * stride[last];
}

static int64_t row_stride(const struct ipex_pointwise_args *args, const int64_t *stride) {
    return args->rank > 1 ? stride[args->rank - 2] : 0;
}

/* The part of a u8 operand as dense rows of f32: all that differs of them. */
static void take_bytes(const struct ipex_byte_loops *loops, const struct ipex_pointwise_args *args,
                       int32_t i, const struct part *part, struct ipex_pointwise_args *inner,
                       float *to) {
    const int64_t step = args->x_stride[i][args->rank - 1];
    const int64_t row = row_stride(args, args->x_stride[i]);
    const int64_t n = step ? part->n : 1, rows = row ? part->rows : 1;
    const uint8_t *from = args->x_u8[i] + place(args, args->x_stride[i], part);
    if (row == n)
        loops->widen(from, to, rows * n);
    else
        for (int64_t r = 0; r < rows; r++)
            loops->widen(from + r * row, to + r * n, n);
    inner->x[i] = to;
    inner->x_stride[i][0] = row ? n : 0;
    inner->x_stride[i][1] = step;
}

static __attribute__((noinline)) void run_part(const struct ipex_byte_loops *loops,
                                               const struct ipex_pointwise_args *args,
                                               const struct part *part,
                                               struct ipex_pointwise_args *inner, void *scratch) {
    float *block = (float *)scratch + ipex_pointwise_scratch(args) / sizeof(float);
    const int32_t last = args->rank - 1;
    inner->dims[0] = inner->rows_per_job = part->rows;
    inner->dims[1] = part->n;
    for (int32_t i = 0; i < args->inputs; i++, block += BLOCK) {
        if (args->x_u8[i]) {
            take_bytes(loops, args, i, part, inner, block);
            continue;
        }
        inner->x[i] = args->x[i] + place(args, args->x_stride[i], part);
        inner->x_stride[i][0] = row_stride(args, args->x_stride[i]);
        inner->x_stride[i][1] = args->x_stride[i][last];
    }
    const int64_t y = place(args, args->y_stride, part), y_row = row_stride(args, args->y_stride);
    inner->y = args->y_u8 ? block : args->y + y;
    inner->y_stride[0] = args->y_u8 ? part->n : y_row;
    args->inner(inner, 0, 1, scratch);
    if (!args->y_u8)
        return;
    if (y_row == part->n)
        loops->narrow(block, args->y_u8 + y, part->rows * part->n);
    else
        for (int64_t r = 0; r < part->rows; r++)
            loops->narrow(block + r * part->n, args->y_u8 + y + r * y_row, part->n);
}

/* A program that divides f32 by a number, or that then rounds and adds a zero point. */
static __attribute__((cold)) bool is_quantisation(const struct ipex_pointwise_args *args,
                                                  struct ipex_quantisation *ret) {
    const struct ipex_pointwise_step *step = args->program;
    if (args->inputs != 1 || args->x_u8[0] || !args->y_u8 || step->op != IPEX_STEP_div ||
        step->a != 0 || step->b >= 0)
        return false;
    *ret = (struct ipex_quantisation){.divisor = args->constants[-1 - step->b]};
    if (args->steps == 3 && step[1].op == IPEX_STEP_round &&
        step[1].a == IPEX_POINTWISE_RESULT + step[0].dst && step[2].op == IPEX_STEP_add &&
        step[2].a == IPEX_POINTWISE_RESULT + step[1].dst && step[2].b < 0)
        ret->zero = args->constants[-1 - step[2].b];
    else if (args->steps != 1)
        return false;
    return ret->divisor > 0x1p-60f && ret->divisor < 0x1p60f && ret->zero >= 0 &&
           ret->zero <= 255 && ret->zero == (float)(int32_t)ret->zero;
}

/* A program that only changes the type. */
static bool is_cast(const struct ipex_pointwise_args *args) {
    return args->steps == 1 && args->program[0].op == IPEX_STEP_copy && args->program[0].a == 0 &&
           !args->x_u8[0] != !args->y_u8;
}

/* What such programs do at once, of rows whose elements are neighbours. */
enum at_once { NOTHING, CAST, QUANTISATION };

static __attribute__((noinline)) void run_at_once(const struct ipex_byte_loops *loops,
                                                  const struct ipex_pointwise_args *args,
                                                  const struct part *part, enum at_once what,
                                                  struct ipex_quantisation to) {
    const int64_t x = place(args, args->x_stride[0], part), y = place(args, args->y_stride, part);
    const int64_t x_row = row_stride(args, args->x_stride[0]);
    const int64_t y_row = row_stride(args, args->y_stride);
    const bool one = x_row == part->n && y_row == part->n;
    const int64_t rows = one ? 1 : part->rows, n = one ? part->rows * part->n : part->n;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t from = x + r * x_row, at = y + r * y_row;
        if (!args->y_u8)
            loops->widen(args->x_u8[0] + from, args->y + at, n);
        else if (what == CAST)
            loops->narrow(args->x[0] + from, args->y_u8 + at, n);
        else
            loops->quantise(args->x[0] + from, args->y_u8 + at, n, to);
    }
}

void ipex_pointwise_bytes(const struct ipex_byte_loops *loops,
                          const struct ipex_pointwise_args *args, int64_t job_begin,
                          int64_t job_end, void *scratch) {
    const int64_t n = args->dims[args->rank - 1];
    const int64_t neighbours = args->rank > 1 ? args->dims[args->rank - 2] : 1;
    const int64_t end =
        ipex_smaller(job_end * args->rows_per_job, ipex_row_count(args->dims, 0, args->rank - 1));
    struct ipex_pointwise_args inner = *args;
    struct part part = {.row = job_begin * args->rows_per_job};
    struct ipex_quantisation to = {1, 0};
    const enum at_once what = args->x_stride[0][args->rank - 1] != 1          ? NOTHING
                              : is_cast(args)                                 ? CAST
                              : loops->quantise && is_quantisation(args, &to) ? QUANTISATION
                                                                              : NOTHING;
    inner.rank = 2;
    inner.y_stride[1] = 1;
    for (; part.row < end; part.row += part.rows) {
        const int64_t left = ipex_smaller(end - part.row, neighbours - part.row % neighbours);
        part.rows = n > BLOCK / 2 ? 1 : ipex_smaller(left, BLOCK / n);
        for (part.begin = 0; part.begin < n; part.begin += BLOCK) {
            part.n = ipex_smaller(n - part.begin, BLOCK);
            if (what != NOTHING)
                run_at_once(loops, args, &part, what, to);
            else
                run_part(loops, args, &part, &inner, scratch);
        }
    }
}
