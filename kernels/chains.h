/* SPDX-License-Identifier: Apache-2.0 */
/* A pointwise program as vector kernels run it. Chains are simple steps that follow each other: a
 * strip of vectors stays in registers while all of them run, and results that are read again later
 * are stored in a block of the scratch. */
#ifndef IPEX_KERNELS_CHAINS_H
#define IPEX_KERNELS_CHAINS_H

#include "kernels/kernels.h"

/* What a link of a chain is: a step of two operands, of which the strip is one; of one, the strip;
 * copy, which reads the strip; or one of these. */
enum {
    IPEX_LINK_ONE = IPEX_STEP_COUNT, /* kernels: and a step, whose operand is one value a row */
    IPEX_LINK_READ = 2 * IPEX_STEP_COUNT, /* an input; kernels: of bytes */
    IPEX_LINK_STORE,                      /* what the strip holds */
    IPEX_LINK_STORE_BYTES,                /* kernels: in y, as bytes */
    IPEX_LINK_END,                        /* of a chain */
    IPEX_LINK_STEP,                       /* none: step `code`, which is not simple */
    IPEX_LINK_STEP_IN_PLACE,              /* the same, whose first operand is in its own block */
};
/* Codes of links besides those of steps; IPEX_POINTWISE_RESULT + b is block b of the scratch. */
enum { IPEX_LINK_RESULT = INT16_MAX, IPEX_LINK_NONE = INT16_MAX - 1 };

static inline bool ipex_is_input(int16_t code) {
    return code >= 0 && code < IPEX_POINTWISE_RESULT;
}

/* The second operand of a step; none. */
int16_t ipex_second_operand(const struct ipex_pointwise_step *step);

/* The block of an input of bytes as f32. */
static inline int16_t ipex_chain_block(const struct ipex_pointwise_args *args, int32_t input) {
    return (int16_t)(IPEX_POINTWISE_RESULT + args->registers + args->inputs + 1 + input);
}

/* The code of a step's operand, which may be in such a block. */
static inline int16_t ipex_chain_code(const struct ipex_pointwise_args *args,
                                      const struct ipex_chains *chains, int16_t code) {
    return ipex_is_input(code) && chains->widened[code] ? ipex_chain_block(args, code) : code;
}

#endif
