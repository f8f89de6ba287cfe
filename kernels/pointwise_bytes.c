/* SPDX-License-Identifier: Apache-2.0 */
/* See pointwise_bytes.h. */
#include "kernels/pointwise_bytes.h"

#include "kernels/pointwise_rows.h"

#include <string.h>

enum { BLOCK = IPEX_POINTWISE_BLOCK };

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

static bool is_one_element(const struct ipex_pointwise_args *args, int32_t i) {
    for (int32_t d = 0; d < args->rank; d++)
        if (args->x_stride[i][d] != 0 && args->dims[d] > 1)
            return false;
    return true;
}

/* The one operand that differs from element to element, or -1. */
static int32_t only_operand(const struct ipex_pointwise_args *args) {
    int32_t ret = -1;
    for (int32_t i = 0; i < args->inputs; i++) {
        if (is_one_element(args, i))
            continue;
        if (ret >= 0)
            return -1;
        ret = i;
    }
    return ret;
}

enum { BYTES = 256 };

/* What some programs do at once, of rows of operand `input` whose elements are neighbours. LOOK_UP:
 * of a byte there are only so many results. */
struct at_once {
    enum { NOTHING, CAST, QUANTISATION, LOOK_UP } what;
    int32_t input;
    struct ipex_quantisation to;
    const float *floats;
    const uint8_t *bytes;
};

/* Tables take the time of as many elements; a look-up into floats that of some steps. */
enum { LOOK_UP_LEAST = 4 * BYTES, LOOK_UP_LEAST_STEPS = 3, LOOK_UP_LEAST_STEPS_FLOAT = 8 };

static struct at_once at_once(const struct ipex_byte_loops *loops,
                              const struct ipex_pointwise_args *args, int64_t elements) {
    struct at_once ret = {.what = NOTHING, .input = only_operand(args)};
    const int32_t least = args->y_u8 ? LOOK_UP_LEAST_STEPS : LOOK_UP_LEAST_STEPS_FLOAT;
    if (ret.input < 0 || args->x_stride[ret.input][args->rank - 1] != 1)
        return ret;
    if (args->inputs == 1 && is_cast(args))
        ret.what = CAST;
    else if (loops->quantise && is_quantisation(args, &ret.to))
        ret.what = QUANTISATION;
    else if (args->x_u8[ret.input] && args->steps >= least && elements >= LOOK_UP_LEAST)
        ret.what = LOOK_UP;
    return ret;
}

/* The program's results of all bytes, in the last block of the scratch. */
static __attribute__((noinline)) void make_tables(const struct ipex_byte_loops *loops,
                                                  const struct ipex_pointwise_args *args,
                                                  struct at_once *ret, void *scratch) {
    float *x = (float *)scratch + ipex_pointwise_u8_scratch(args) / sizeof(float) - BLOCK;
    float *y = x + BYTES;
    struct ipex_pointwise_args inner = *args;
    for (int32_t i = 0; i < BYTES; i++)
        x[i] = (float)i;
    for (int32_t i = 0; i < args->inputs; i++) {
        const bool is_byte = args->x_u8[i] && i != ret->input;
        inner.x_stride[i][0] = i == ret->input;
        inner.x[i] = i == ret->input ? x : is_byte ? x + *args->x_u8[i] : args->x[i];
        inner.x_u8[i] = NULL;
    }
    inner.y_u8 = NULL;
    inner.y = y;
    inner.y_stride[0] = 1;
    inner.rank = 1;
    inner.dims[0] = BYTES;
    inner.rows_per_job = 1;
    args->inner(&inner, 0, 1, scratch);
    ret->floats = y;
    ret->bytes = (uint8_t *)x;
    if (args->y_u8)
        loops->narrow(y, (uint8_t *)x, BYTES);
}

static void look_up_floats(const float *table, const uint8_t *x, float *y, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        uint32_t four;
        memcpy(&four, x + i, sizeof four);
        y[i] = table[four & 255];
        y[i + 1] = table[four >> 8 & 255];
        y[i + 2] = table[four >> 16 & 255];
        y[i + 3] = table[four >> 24];
    }
    for (; i < n; i++)
        y[i] = table[x[i]];
}

/* Where operand and results are: of each two one is NULL. */
struct ends {
    const float *x;
    const uint8_t *x_u8;
    float *y;
    uint8_t *y_u8;
};

/* n neighbours from these elements on. */
static void run_row(const struct ipex_byte_loops *loops, const struct at_once *at_once,
                    const struct ends *ends, int64_t x, int64_t y, int64_t n) {
    if (at_once->what == QUANTISATION)
        loops->quantise(ends->x + x, ends->y_u8 + y, n, at_once->to);
    else if (at_once->what == LOOK_UP && ends->y_u8)
        loops->look_up(at_once->bytes, ends->x_u8 + x, ends->y_u8 + y, n);
    else if (at_once->what == LOOK_UP)
        look_up_floats(at_once->floats, ends->x_u8 + x, ends->y + y, n);
    else if (ends->y_u8)
        loops->narrow(ends->x + x, ends->y_u8 + y, n);
    else
        loops->widen(ends->x_u8 + x, ends->y + y, n);
}

/* Rows shorter than this are put together, where gaps are between bytes alone. */
enum { SHORT_ROW = 128 };

static __attribute__((noinline)) void run_at_once(const struct ipex_byte_loops *loops,
                                                  const struct ipex_pointwise_args *args,
                                                  const struct part *part,
                                                  const struct at_once *at_once) {
    const int64_t *x_stride = args->x_stride[at_once->input], n = part->n, rows = part->rows;
    const int64_t x_row = row_stride(args, x_stride), y_row = row_stride(args, args->y_stride);
    const int64_t y = place(args, args->y_stride, part);
    const bool x_gaps = x_row != n && rows > 1, y_gaps = y_row != n && rows > 1;
    struct ends ends = {args->x[at_once->input], args->x_u8[at_once->input], args->y, args->y_u8};
    int64_t x = place(args, x_stride, part);
    uint8_t x_dense[BLOCK], y_dense[BLOCK];
    if ((x_gaps && (!ends.x_u8 || n >= SHORT_ROW)) || (y_gaps && (!ends.y_u8 || n >= SHORT_ROW))) {
        for (int64_t r = 0; r < rows; r++)
            run_row(loops, at_once, &ends, x + r * x_row, y + r * y_row, n);
        return;
    }
    if (x_gaps) {
        ipex_copy_rows(ends.x_u8 + x, x_row, x_dense, n, n, rows);
        ends.x_u8 = x_dense;
        x = 0;
    }
    if (y_gaps)
        ends.y_u8 = y_dense;
    run_row(loops, at_once, &ends, x, y_gaps ? 0 : y, rows * n);
    if (y_gaps)
        ipex_copy_rows(y_dense, n, args->y_u8 + y, y_row, n, rows);
}

void ipex_pointwise_bytes(const struct ipex_byte_loops *loops,
                          const struct ipex_pointwise_args *args, int64_t job_begin,
                          int64_t job_end, void *scratch) {
    const int64_t n = args->dims[args->rank - 1];
    const int64_t neighbours = args->rank > 1 ? args->dims[args->rank - 2] : 1;
    const int64_t end =
        ipex_smaller(job_end * args->rows_per_job, ipex_row_count(args->dims, 0, args->rank - 1));
    struct part part = {.row = job_begin * args->rows_per_job};
    struct at_once whole = at_once(loops, args, (end - part.row) * n);
    if (whole.what == NOTHING) {
        args->inner(args, job_begin, job_end, scratch);
        return;
    }
    if (whole.what == LOOK_UP)
        make_tables(loops, args, &whole, scratch);
    for (; part.row < end; part.row += part.rows) {
        const int64_t left = ipex_smaller(end - part.row, neighbours - part.row % neighbours);
        part.rows = n > BLOCK / 2 ? 1 : ipex_smaller(left, BLOCK / n);
        for (part.begin = 0; part.begin < n; part.begin += BLOCK) {
            part.n = ipex_smaller(n - part.begin, BLOCK);
            run_at_once(loops, args, &part, &whole);
        }
    }
}
