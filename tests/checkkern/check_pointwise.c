/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise_f32: random programs over random broadcasts, rows longer and shorter than a block, few
 * and many, an operand that y takes the place of, special values. pointwise_u8: the same, some of
 * the operands and the result in bytes, against pointwise_f32 on what these are. */
#include "kernels/jobs.h"
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <string.h>

struct program {
    struct ipex_pointwise_step steps[IPEX_POINTWISE_STEPS];
    float constants[4];
    float divisor; /* of make_quotient */
    struct buffer x[IPEX_POINTWISE_INPUTS];
    int64_t y_elements;
    int32_t in_place; /* the input that y takes the place of, or -1 */
    bool table;       /* input 0 is one value, the other one is not broadcast */
};

/* Inputs, constants, or a register that some step before this one has written. */
static int16_t random_operand(struct rng *rng, const struct program *p, int32_t inputs,
                              int32_t step) {
    const int64_t kind = rng_range(rng, 0, step > 0 ? 3 : 1);
    if (kind == 0 && rng_one_in(rng, 3))
        return (int16_t)(-1 - rng_range(rng, 0, 3));
    if (kind <= 1)
        return (int16_t)rng_range(rng, 0, inputs - 1);
    return (int16_t)(IPEX_POINTWISE_RESULT + p->steps[rng_range(rng, 0, step - 1)].dst);
}

static void random_program(struct rng *rng, struct program *p, struct ipex_pointwise_args *a) {
    a->steps = (int32_t)rng_range(rng, 1, 12);
    a->registers = (int32_t)rng_range(rng, 1, 4);
    for (int32_t s = 0; s < a->steps; s++) {
        struct ipex_pointwise_step *step = &p->steps[s];
        step->op = (int16_t)rng_range(rng, 0, IPEX_STEP_COUNT - 1);
        step->dst = (int16_t)(s < a->registers ? s : rng_range(rng, 0, a->registers - 1));
        do
            step->a = random_operand(rng, p, a->inputs, s);
        while (step->a == IPEX_POINTWISE_RESULT + step->dst);
        do
            step->b = random_operand(rng, p, a->inputs, s);
        while (step->b == IPEX_POINTWISE_RESULT + step->dst);
    }
    for (size_t i = 0; i < 4; i++)
        p->constants[i] = rng_value(rng, true);
    a->program = p->steps;
    a->constants = p->constants;
}

static void random_dims(struct rng *rng, struct program *p, struct ipex_pointwise_args *a) {
    const int64_t longest = rng_one_in(rng, 3) ? 3 * IPEX_POINTWISE_BLOCK : 600;
    a->rank = (int32_t)rng_range(rng, 1, 4);
    a->inputs = (int32_t)rng_range(rng, 1, 4);
    for (int32_t i = 0; i < a->rank; i++)
        a->dims[i] = rng_range(rng, 1, 4);
    a->dims[a->rank - 1] = rng_range(rng, 1, rng_one_in(rng, 3) ? longest : 40);
    if (a->rank > 1 && rng_one_in(rng, 2))
        a->dims[a->rank - 2] = rng_range(rng, 1, 60);
    int64_t y_stride = 1;
    for (int32_t i = a->rank - 1; i >= 0; i--) {
        a->y_stride[i] = y_stride;
        y_stride = a->dims[i] * y_stride + (rng_one_in(rng, 3) ? rng_range(rng, 0, 5) : 0);
    }
    p->y_elements = 1;
    for (int32_t i = 0; i < a->rank; i++)
        p->y_elements += (a->dims[i] - 1) * a->y_stride[i];
    a->rows_per_job = rng_range(rng, 1, rng_one_in(rng, 2) ? 5 : 100);
    p->in_place = rng_one_in(rng, 3) ? (int32_t)rng_range(rng, 0, a->inputs - 1) : -1;
}

static void random_input(struct rng *rng, struct program *p, struct ipex_pointwise_args *a,
                         int32_t input) {
    const bool one = p->table ? input == 0 : input > 0 && rng_one_in(rng, 4); /* for all */
    int64_t n = 1;
    for (int32_t i = a->rank - 1; i >= 0; i--) {
        const bool broadcast = one || (!p->table && rng_one_in(rng, 4));
        a->x_stride[input][i] = broadcast ? 0 : n;
        if (!broadcast)
            n = n * a->dims[i] + (rng_one_in(rng, 3) ? rng_range(rng, 1, 5) : 0);
    }
    if (input == p->in_place) {
        memcpy(a->x_stride[input], a->y_stride, sizeof a->y_stride);
        n = p->y_elements;
    }
    p->x[input] = buffer_make((size_t)n * 4);
    const bool special = rng_one_in(rng, 2);
    for (int64_t i = 0; i < n; i++)
        ((float *)p->x[input].data)[i] = rng_value(rng, special);
    a->x[input] = p->x[input].data;
}

static struct buffer run_level(const struct level *level, const struct ipex_pointwise_args *args,
                               const struct program *p, struct rng *rng) {
    struct ipex_pointwise_args a = *args;
    struct ipex_chains chains;
    struct buffer y = buffer_make((size_t)p->y_elements * 4);
    fill_canary(&y);
    a.y = y.data;
    if (p->in_place >= 0) {
        memcpy(y.data, p->x[p->in_place].data, (size_t)p->y_elements * 4);
        a.x[p->in_place] = a.y;
    }
    ipex_make_chains(&a, &chains);
    a.chains = &chains;
    running("pointwise_f32", level->name);
    run_jobs(rng, (ipex_kernel_fn)level->kernels.pointwise_f32, &a, ipex_pointwise_jobs(&a),
             ipex_pointwise_scratch(&a));
    return y;
}

static int check_program(const struct context *context, struct rng *rng) {
    struct ipex_pointwise_args args;
    struct program program;
    memset(&args, 0, sizeof args);
    memset(&program, 0, sizeof program);
    random_dims(rng, &program, &args);
    random_program(rng, &program, &args);
    for (int32_t i = 0; i < args.inputs; i++)
        random_input(rng, &program, &args, i);
    struct buffer want = run_level(&context->levels[0], &args, &program, rng);
    int failed = 0;
    for (size_t i = 1; i < context->n_levels; i++) {
        struct buffer got = run_level(&context->levels[i], &args, &program, rng);
        const int64_t at = first_difference(&want, &got);
        if (at >= 0)
            failed += !report(false, "pointwise_f32 program",
                              "%s: %d steps, the last %d: element %lld: %a, want %a",
                              context->levels[i].name, args.steps, program.steps[args.steps - 1].op,
                              (long long)at, (double)((float *)got.data)[at],
                              (double)((float *)want.data)[at]);
        buffer_free(&got);
    }
    buffer_free(&want);
    for (int32_t i = 0; i < args.inputs; i++)
        buffer_free(&program.x[i]);
    return failed;
}

/* ---- pointwise_u8 ---- */

/* Whole numbers of a byte in place of an operand's values, and those bytes. */
static struct buffer make_bytes(struct rng *rng, struct buffer *x) {
    struct buffer ret = buffer_make(x->bytes / 4);
    for (size_t i = 0; i < ret.bytes; i++) {
        ((uint8_t *)ret.data)[i] = (uint8_t)rng_range(rng, 0, 255);
        ((float *)x->data)[i] = ((uint8_t *)ret.data)[i];
    }
    return ret;
}

/* What a float becomes, in f64. */
static uint8_t byte_of(float value) {
    const double whole = rint((double)value);
    return whole > 0 ? (uint8_t)fmin(whole, 255) : 0;
}

/* Elements of y that differ from `floats`, as bytes where y is of bytes, and bytes between its rows
 * that were touched. */
static int64_t wrong_elements(const struct ipex_pointwise_args *a, const struct buffer *floats,
                              const struct buffer *y, bool bytes) {
    struct buffer want = buffer_make(y->bytes);
    fill_canary(&want);
    for (int64_t row = 0; row < ipex_row_count(a->dims, 0, a->rank - 1); row++) {
        const int64_t at = ipex_row_offset(a->dims, a->y_stride, a->rank - 1, row);
        for (int64_t i = at; bytes && i < at + a->dims[a->rank - 1]; i++)
            ((uint8_t *)want.data)[i] = byte_of(((const float *)floats->data)[i]);
    }
    const int64_t ret = bytes ? first_byte_difference(&want, y) : first_difference(floats, y);
    buffer_free(&want);
    return ret;
}

/* A quantisation: a division, and mostly rounding and a zero point. */
static void make_quotient(struct rng *rng, struct program *p, struct ipex_pointwise_args *a) {
    const int16_t at = (int16_t)rng_range(rng, 0, 3), zero = (int16_t)((at + 1) % 4);
    a->inputs = 1;
    a->steps = rng_one_in(rng, 3) ? 1 : 3;
    a->registers = a->steps;
    p->steps[0] = (struct ipex_pointwise_step){IPEX_STEP_div, 0, 0, (int16_t)(-1 - at)};
    p->steps[1] = (struct ipex_pointwise_step){IPEX_STEP_round, 1, IPEX_POINTWISE_RESULT, 0};
    p->steps[2] = (struct ipex_pointwise_step){IPEX_STEP_add, 2, IPEX_POINTWISE_RESULT + 1,
                                               (int16_t)(-1 - zero)};
    p->constants[at] = ldexpf(1 + fabsf(rng_float(rng)), (int)rng_range(rng, -70, 70));
    if (rng_one_in(rng, 2))
        p->constants[at] = 0.01f * (1 + fabsf(rng_float(rng)));
    if (rng_one_in(rng, 8))
        p->constants[at] = rng_value(rng, true);
    p->constants[zero] = (float)rng_range(rng, 0, 255);
    if (rng_one_in(rng, 8))
        p->constants[zero] = rng_value(rng, false);
    p->divisor = p->constants[at];
}

/* Values whose quotients are halves, or next to one, as well as some of those that were there. */
static void make_halves(struct rng *rng, struct buffer *x, float divisor) {
    for (size_t i = 0; i < x->bytes / 4; i++) {
        float *v = (float *)x->data + i;
        if (!rng_one_in(rng, 4))
            *v = divisor * ((float)rng_range(rng, -300, 300) + 0.5f);
        for (int64_t n = rng_range(rng, 0, 2); n > 0; n--)
            *v = nextafterf(*v, rng_one_in(rng, 2) ? INFINITY : -INFINITY);
    }
}

/* Channels of pixels, all of them or a part: what networks compute of bytes, a thousand and more.
 */
static void usual_rows(struct rng *rng, struct program *p, struct ipex_pointwise_args *a,
                       int64_t least) {
    const int64_t gap = rng_one_in(rng, 2) ? rng_range(rng, 1, 80) : 0;
    a->rank = 2;
    a->inputs = 1;
    a->dims[0] = rng_range(rng, 30, 60);
    a->dims[1] = least + 8 * rng_range(rng, 0, 17);
    a->y_stride[0] = a->dims[1] + gap;
    a->y_stride[1] = 1;
    p->y_elements = (a->dims[0] - 1) * a->y_stride[0] + a->dims[1];
    a->rows_per_job = rng_range(rng, 20, 60);
}

/* What is looked up in a table, whose program reads a byte for all besides. */
static void table_rows(struct rng *rng, struct program *p, struct ipex_pointwise_args *a) {
    usual_rows(rng, p, a, 48);
    p->table = true;
    a->inputs = 2;
    a->rows_per_job = a->dims[0];
}

static int check_bytes(const struct context *context, struct rng *rng) {
    struct ipex_pointwise_args args = {.rank = 0};
    struct program program = {.in_place = -1};
    struct buffer bytes[IPEX_POINTWISE_INPUTS] = {{0}};
    random_dims(rng, &program, &args);
    if (rng_one_in(rng, 3))
        usual_rows(rng, &program, &args, 8);
    else if (rng_one_in(rng, 6))
        table_rows(rng, &program, &args);
    program.in_place = -1;
    random_program(rng, &program, &args);
    const bool y_u8 = rng_one_in(rng, 2);
    if (rng_one_in(rng, 4)) { /* nothing but the type changes */
        args.steps = args.inputs = args.registers = 1;
        program.steps[0] = (struct ipex_pointwise_step){.op = IPEX_STEP_copy};
    }
    const bool quotient = rng_one_in(rng, 3);
    if (quotient)
        make_quotient(rng, &program, &args);
    for (int32_t i = 0; i < args.inputs; i++) {
        random_input(rng, &program, &args, i);
        if (quotient)
            make_halves(rng, &program.x[0], program.divisor);
        if (quotient && !rng_one_in(rng, 8))
            continue;
        if ((i == 0 && !(y_u8 && args.steps == 1)) || rng_one_in(rng, 2))
            bytes[i] = make_bytes(rng, &program.x[i]);
    }
    struct buffer floats = run_level(&context->levels[0], &args, &program, rng);
    for (int32_t i = 0; i < args.inputs; i++)
        args.x_u8[i] = bytes[i].data;
    int failed = 0;
    for (size_t i = 0; i < context->n_levels; i++) {
        struct ipex_pointwise_args a = args;
        struct ipex_chains chains;
        struct buffer y = buffer_make((size_t)program.y_elements * (y_u8 ? 1 : 4));
        fill_canary(&y);
        if (y_u8)
            a.y_u8 = y.data;
        else
            a.y = y.data;
        a.inner = context->levels[i].kernels.pointwise_f32;
        a.chains = &chains;
        ipex_make_chains(&a, &chains);
        running("pointwise_u8", context->levels[i].name);
        run_jobs(rng, (ipex_kernel_fn)context->levels[i].kernels.pointwise_u8, &a,
                 ipex_pointwise_jobs(&a), ipex_pointwise_u8_scratch(&a));
        const int64_t at = wrong_elements(&args, &floats, &y, y_u8);
        if (at >= 0)
            failed += !report(false, "pointwise_u8 program", "%s: rank %d, element %lld",
                              context->levels[i].name, a.rank, (long long)at);
        buffer_free(&y);
    }
    buffer_free(&floats);
    for (int32_t i = 0; i < args.inputs; i++) {
        buffer_free(&program.x[i]);
        if (bytes[i].data)
            buffer_free(&bytes[i]);
    }
    return failed;
}

void check_pointwise(const struct context *context) {
    struct rng rng = {context->seed + 3};
    int failed = 0;
    if (wanted(context, "pointwise_f32")) {
        for (int i = 0; i < context->cases * 3; i++)
            failed += check_program(context, &rng);
        report(failed == 0, "pointwise_f32: random programs", "%d failed", failed);
    }
    if (!wanted(context, "pointwise_u8"))
        return;
    failed = 0;
    for (int i = 0; i < context->cases; i++)
        failed += check_bytes(context, &rng);
    report(failed == 0, "pointwise_u8: random programs", "%d failed", failed);
}
