/* SPDX-License-Identifier: Apache-2.0 */
/* See chains.h. */
#include "kernels/chains.h"

/* Steps of one or two instructions. */
static bool chain_has(int16_t op) {
    switch (op) {
    case IPEX_STEP_copy:
    case IPEX_STEP_add:
    case IPEX_STEP_sub:
    case IPEX_STEP_mul:
    case IPEX_STEP_div:
    case IPEX_STEP_min:
    case IPEX_STEP_max:
    case IPEX_STEP_leaky:
    case IPEX_STEP_neg:
    case IPEX_STEP_abs:
    case IPEX_STEP_sqrt:
    case IPEX_STEP_floor:
    case IPEX_STEP_ceil:
    case IPEX_STEP_reciprocal:
    case IPEX_STEP_round:
    case IPEX_STEP_sign:
        return true;
    default:
        return false;
    }
}

int16_t ipex_second_operand(const struct ipex_pointwise_step *step) {
    return ipex_step_operands(step->op) == 2 ? step->b : IPEX_LINK_NONE;
}

/* What a step reads: into the strip, or none, where it goes on with what that holds, and
 * as the other operand. */
struct chain_reads {
    int16_t strip, other;
};

static struct chain_reads chain_reads(const struct ipex_pointwise_args *args, int32_t s) {
    const struct ipex_pointwise_step *step = &args->program[s];
    const int16_t second = ipex_second_operand(step);
    if (s == 0 || !chain_has(step[-1].op))
        return (struct chain_reads){step->a, second};
    const int16_t held = (int16_t)(IPEX_POINTWISE_RESULT + step[-1].dst);
    if (step->a == held)
        return (struct chain_reads){IPEX_LINK_NONE, second};
    if (second == held && (step->op == IPEX_STEP_add || step->op == IPEX_STEP_mul))
        return (struct chain_reads){IPEX_LINK_NONE, step->a};
    return (struct chain_reads){step->a, second};
}

/* Whether step s reads the result or input `code` from a block. */
static bool chain_needs(const struct ipex_pointwise_args *args, int32_t s, int16_t code) {
    const struct chain_reads reads = chain_reads(args, s);
    return reads.other == code || (reads.strip == code && !ipex_is_input(code));
}

/* Whether the result of step s is read from a block. */
static bool chain_stores(const struct ipex_pointwise_args *args, int32_t s) {
    const int16_t dst = args->program[s].dst;
    for (int32_t t = s + 1; t < args->steps; t++) {
        if (chain_needs(args, t, (int16_t)(IPEX_POINTWISE_RESULT + dst)))
            return true;
        if (args->program[t].dst == dst)
            return false;
    }
    return false;
}

static void chain_add(struct ipex_chains *ret, int32_t op, int16_t code) {
    ret->link[ret->count++] = (struct ipex_link){(int16_t)op, code};
}

/* Ends the chain from `begin` on, if there is one, before step s. */
static void chain_end(const struct ipex_pointwise_args *args, struct ipex_chains *ret,
                      int32_t begin, int32_t s) {
    if (ret->count == begin)
        return;
    if (ret->link[ret->count - 1].op != IPEX_LINK_STORE) /* what nobody reads */
        chain_add(ret, IPEX_LINK_STORE,
                  (int16_t)(IPEX_POINTWISE_RESULT + args->program[s - 1].dst));
    if (ret->count - begin > ret->longest)
        ret->longest = ret->count - begin;
    chain_add(ret, IPEX_LINK_END, IPEX_LINK_NONE);
}

static void chain_widen(const struct ipex_pointwise_args *args, struct ipex_chains *ret) {
    for (int16_t i = 0; i < args->inputs; i++) {
        ret->widened[i] = false;
        for (int32_t s = 0; args->x_u8[i] && s < args->steps; s++)
            ret->widened[i] |= chain_needs(args, s, i);
        if (!ret->widened[i])
            continue;
        chain_add(ret, IPEX_LINK_READ, i);
        chain_add(ret, IPEX_LINK_STORE, ipex_chain_block(args, i));
    }
}

void ipex_make_chains(const struct ipex_pointwise_args *args, struct ipex_chains *ret) {
    int32_t begin = 0;
    ret->count = ret->longest = 0;
    ret->one = true;
    chain_widen(args, ret);
    for (int32_t s = 0; s < args->steps; s++) {
        const struct ipex_pointwise_step *step = &args->program[s];
        const bool last = s + 1 == args->steps;
        const int16_t dst = (int16_t)(IPEX_POINTWISE_RESULT + step->dst);
        const struct chain_reads reads = chain_reads(args, s);
        if (!chain_has(step->op)) {
            const bool held = reads.strip == IPEX_LINK_NONE;
            if (held)
                chain_add(ret, IPEX_LINK_STORE, dst);
            chain_end(args, ret, begin, s);
            chain_add(ret, held ? IPEX_LINK_STEP_IN_PLACE : IPEX_LINK_STEP, (int16_t)s);
            begin = ret->count;
            ret->one = false;
            continue;
        }
        if (reads.strip != IPEX_LINK_NONE)
            chain_add(ret, ipex_is_input(reads.strip) ? IPEX_LINK_READ : IPEX_STEP_copy,
                      reads.strip);
        if (step->op != IPEX_STEP_copy)
            chain_add(ret, step->op, ipex_chain_code(args, ret, reads.other));
        if (last)
            chain_add(ret, IPEX_LINK_STORE, IPEX_LINK_RESULT);
        else if (chain_stores(args, s))
            chain_add(ret, IPEX_LINK_STORE, dst);
    }
    chain_end(args, ret, begin, args->steps);
}
