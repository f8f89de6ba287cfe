/* SPDX-License-Identifier: Apache-2.0 */
/* See pointwise_bytes.h. */
#include "kernels/pointwise_bytes.h"

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

/* The program's results of all bytes, in scratch. */
static __attribute__((noinline)) void make_tables(const struct ipex_byte_loops *loops,
                                                  const struct ipex_pointwise_args *args,
                                                  struct at_once *ret, void *scratch) {
    float *x = (float *)scratch + ipex_pointwise_scratch(args) / sizeof(float), *y = x + BLOCK;
    struct ipex_pointwise_args inner = *args;
    for (int32_t i = 0; i < BYTES; i++)
        x[i] = (float)i;
    for (int32_t i = 0; i < args->inputs; i++) {
        const bool is_byte = args->x_u8[i] && i != ret->input;
        inner.x_stride[i][0] = i == ret->input;
        inner.x[i] = i == ret->input ? x : is_byte ? x + *args->x_u8[i] : args->x[i];
    }
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

static void run_row(const struct ipex_byte_loops *loops, const struct ipex_pointwise_args *args,
                    const struct at_once *at_once, int64_t x, int64_t y, int64_t n) {
    const float *floats = args->x[at_once->input] + x;
    const uint8_t *bytes = args->x_u8[at_once->input] + x;
    if (at_once->what == QUANTISATION)
        loops->quantise(floats, args->y_u8 + y, n, at_once->to);
    else if (at_once->what == LOOK_UP)
        look_up_floats(at_once->floats, bytes, args->y + y, n);
    else if (args->y_u8)
        loops->narrow(floats, args->y_u8 + y, n);
    else
        loops->widen(bytes, args->y + y, n);
}

static __attribute__((noinline)) void run_at_once(const struct ipex_byte_loops *loops,
                                                  const struct ipex_pointwise_args *args,
                                                  const struct part *part,
                                                  const struct at_once *at_once) {
    const int64_t *x_stride = args->x_stride[at_once->input];
    const int64_t x = place(args, x_stride, part), y = place(args, args->y_stride, part);
    const int64_t x_row = row_stride(args, x_stride), y_row = row_stride(args, args->y_stride);
    const bool one = x_row == part->n && y_row == part->n;
    const int64_t rows = one ? 1 : part->rows, n = one ? part->rows * part->n : part->n;
    if (at_once->what == LOOK_UP && args->y_u8) {
        loops->look_up(at_once->bytes, args->x_u8[at_once->input] + x, args->y_u8 + y, n, rows,
                       x_row, y_row);
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        run_row(loops, args, at_once, x + r * x_row, y + r * y_row, n);
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
    struct at_once whole = at_once(loops, args, (end - part.row) * n);
    if (whole.what == LOOK_UP)
        make_tables(loops, args, &whole, scratch);
    inner.rank = 2;
    inner.y_stride[1] = 1;
    for (; part.row < end; part.row += part.rows) {
        const int64_t left = ipex_smaller(end - part.row, neighbours - part.row % neighbours);
        part.rows = n > BLOCK / 2 ? 1 : ipex_smaller(left, BLOCK / n);
        for (part.begin = 0; part.begin < n; part.begin += BLOCK) {
            part.n = ipex_smaller(n - part.begin, BLOCK);
            if (whole.what != NOTHING)
                run_at_once(loops, args, &part, &whole);
            else
                run_part(loops, args, &part, &inner, scratch);
        }
    }
}
