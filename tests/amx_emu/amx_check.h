/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled AMX instructions against tests/amx_model.c. */
#ifndef AMX_CHECK_H
#define AMX_CHECK_H

#include <stdbool.h>

#include "tests/checkkern/checkkern.h"

/* What matrices in bf16 hold. Who executes the instructions without making denormals zero
 * (valgrind) can be right on AMX_NORMAL only. */
enum amx_values {
    AMX_NORMAL,   /* numbers below 1 */
    AMX_DENORMAL, /* and some whose products are around the smallest normal number */
    AMX_SPECIAL,  /* and zeros, denormals, infinities and NaNs */
};

/* Two bf16, above each other in 32 bits. */
uint32_t amx_random_pair(enum amx_values values, struct rng *rng);

/* Configures tiles of random shapes that fit, loads them with random strides, multiplies and
 * stores: whether every element is the model's and nothing else was written. */
bool amx_check_bf16(enum amx_values values, struct rng *rng);
bool amx_check_i8(struct rng *rng);

/* Whether a configuration zeroes the tiles, and loads see what was stored before them and not what
 * is stored after. */
bool amx_check_order(void);

#endif
