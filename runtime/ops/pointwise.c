/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise: broadcasting becomes strides of 0, results of steps get the registers of results that
 * are no longer needed. */
#include "runtime/bind.h"
#include "runtime/loops.h"

#include <string.h>

/* Elements of a row of what is contiguous as a whole: rows are what threads share. */
#define INNER_MAX 8192
/* Steps x elements below which a job is not worth handing out. */
#define JOB_ELEMENTS 16384

/* The step after which nobody reads a result any more. */
static void find_last_uses(const struct ipex_bind *bind, int32_t steps, int32_t *last) {
    for (int32_t s = 0; s < steps; s++) {
        last[s] = s;
        for (int32_t o = 1; o <= 2; o++) {
            const int32_t operand = bind->ints[3 * s + o];
            if (operand >= IPEX_POINTWISE_RESULT)
                last[operand - IPEX_POINTWISE_RESULT] = s;
        }
    }
}

/* The operand as the kernel names it: results by their register. */
static int16_t operand_code(int32_t operand, const int16_t *result_register) {
    if (operand < IPEX_POINTWISE_RESULT)
        return (int16_t)operand;
    return (int16_t)(IPEX_POINTWISE_RESULT + result_register[operand - IPEX_POINTWISE_RESULT]);
}

/* Linear scan: a step's register is never one of its own operands', so kernels may assume that they
 * do not overlap. */
static int32_t allocate_registers(struct ipex_bind *bind, int32_t steps) {
    int32_t last[IPEX_POINTWISE_STEPS];
    int16_t result_register[IPEX_POINTWISE_STEPS];
    bool taken[IPEX_POINTWISE_STEPS] = {false};
    int32_t used = 0;
    find_last_uses(bind, steps, last);
    for (int32_t s = 0; s < steps; s++) {
        int16_t dst = 0;
        while (taken[dst])
            dst++;
        taken[dst] = true;
        result_register[s] = dst;
        if (used <= dst)
            used = dst + 1;
        bind->program[s] = (struct ipex_pointwise_step){
            .op = (int16_t)bind->ints[3 * s],
            .dst = dst,
            .a = operand_code(bind->ints[3 * s + 1], result_register),
            .b = operand_code(bind->ints[3 * s + 2], result_register),
        };
        for (int32_t r = 0; r <= s; r++)
            if (last[r] == s)
                taken[result_register[r]] = false;
    }
    return used;
}

static void make_loops(const struct ipex_bind *bind, struct ipex_loops *loops) {
    const struct ipex_tensor_info *y = bind->output;
    loops->rank = y->rank;
    loops->operands = (int32_t)bind->n_inputs + 1;
    memcpy(loops->dims, y->dims, sizeof loops->dims);
    memcpy(loops->stride[bind->n_inputs], y->strides, sizeof y->strides);
    for (uint32_t i = 0; i < bind->n_inputs; i++)
        ipex_loops_broadcast(bind->input[i]->dims, bind->input[i]->strides, bind->input[i]->rank,
                             y->rank, loops->stride[i]);
}

/* The kernel walks the innermost loop with strides 0 or 1 (y: 1). Where that does not hold, it gets
 * an innermost loop of one element. */
static bool add_inner_loop(struct ipex_loops *loops) {
    const int32_t inner = loops->rank - 1, y = loops->operands - 1;
    bool suits = loops->stride[y][inner] == 1;
    for (int32_t o = 0; o < y; o++)
        suits = suits && (loops->stride[o][inner] == 0 || loops->stride[o][inner] == 1);
    if (suits)
        return true;
    if (loops->rank == IPEX_LOOPS_RANK)
        return false;
    loops->dims[loops->rank] = 1;
    for (int32_t o = 0; o < loops->operands; o++)
        loops->stride[o][loops->rank] = 1;
    loops->rank++;
    return true;
}

static void set_loops(struct ipex_bind *bind, const struct ipex_loops *loops) {
    struct ipex_pointwise_args *args = &bind->args.pointwise;
    args->rank = loops->rank;
    memcpy(args->dims, loops->dims, sizeof args->dims);
    memcpy(args->y_stride, loops->stride[bind->n_inputs], sizeof args->y_stride);
    for (uint32_t i = 0; i < bind->n_inputs; i++) {
        memcpy(args->x_stride[i], loops->stride[i], sizeof args->x_stride[i]);
        if (bind->input[i]->dtype == IPEX_DTYPE_u8)
            IPEX_BIND_REF(bind, pointwise, x_u8[i], i, 0);
        else
            IPEX_BIND_REF(bind, pointwise, x[i], i, 0);
    }
    if (bind->output->dtype == IPEX_DTYPE_u8)
        IPEX_BIND_REF(bind, pointwise, y_u8, IPEX_REF_OUTPUT, 0);
    else
        IPEX_BIND_REF(bind, pointwise, y, IPEX_REF_OUTPUT, 0);
    IPEX_BIND_REF(bind, pointwise, program, IPEX_REF_PROGRAM, 0);
    IPEX_BIND_REF(bind, pointwise, chains, IPEX_REF_CHAINS, 0);
    IPEX_BIND_REF(bind, pointwise, constants, IPEX_REF_CONSTANTS, 0);
}

/* The program as chains. */
static void make_chains(struct ipex_bind *bind) {
    static const uint8_t is_u8;
    struct ipex_pointwise_args args = bind->args.pointwise;
    args.program = bind->program;
    for (uint32_t i = 0; i < bind->n_inputs; i++)
        args.x_u8[i] = bind->input[i]->dtype == IPEX_DTYPE_u8 ? &is_u8 : NULL;
    ipex_make_chains(&args, &bind->chains);
}

static bool touches_u8(const struct ipex_bind *bind) {
    bool ret = bind->output->dtype == IPEX_DTYPE_u8;
    for (uint32_t i = 0; i < bind->n_inputs; i++)
        ret |= bind->input[i]->dtype == IPEX_DTYPE_u8;
    return ret;
}

enum ipex_bound ipex_bind_pointwise(struct ipex_bind *bind) {
    struct ipex_pointwise_args *args = &bind->args.pointwise;
    struct ipex_loops loops = {0};
    make_loops(bind, &loops);
    ipex_loops_collapse(&loops, bind->lines ? 2 : 0, INT64_MAX);
    if (loops.rank == 1 && loops.dims[0] > INNER_MAX) {
        make_loops(bind, &loops);
        ipex_loops_collapse(&loops, 0, INNER_MAX);
    }
    if (!add_inner_loop(&loops))
        return IPEX_BOUND_NEEDS_DENSE;
    const int32_t steps = (int32_t)(bind->n_ints / 3);
    args->inputs = (int32_t)bind->n_inputs;
    args->steps = steps;
    args->registers = allocate_registers(bind, steps);
    bind->n_program = (uint32_t)steps;
    set_loops(bind, &loops);
    make_chains(bind);
    int64_t rows = 1;
    for (int32_t d = 0; d + 1 < loops.rank; d++)
        rows *= loops.dims[d];
    const int64_t row = ipex_mul_sat(steps, loops.dims[loops.rank - 1]);
    args->rows_per_job = ipex_block_size(bind->setup, rows, row, JOB_ELEMENTS);
    bind->jobs = ipex_pointwise_jobs(args);
    bind->flops = ipex_mul_sat(steps, ipex_info_numel(bind->output));
    if (touches_u8(bind)) {
        bind->scratch = ipex_pointwise_u8_scratch(args);
        args->inner = bind->setup->kernels.pointwise_f32;
        IPEX_BIND_KERNEL(bind, pointwise_u8, pointwise);
        return IPEX_BOUND;
    }
    bind->scratch = ipex_pointwise_scratch(args);
    IPEX_BIND_KERNEL(bind, pointwise_f32, pointwise);
    return IPEX_BOUND;
}
