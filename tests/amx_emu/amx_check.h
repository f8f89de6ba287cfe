/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled AMX instructions against tests/amx_model.c. */
#ifndef AMX_CHECK_H
#define AMX_CHECK_H

#include <stdbool.h>

#include "tests/checkkern/checkkern.h"

/* Two bf16, above each other in 32 bits, with products around the smallest normal number; special:
 * with zeros, denormals, infinities and NaNs among them. */
uint32_t amx_random_pair(bool special, struct rng *rng);

/* Configures tiles of random shapes that fit, loads them with random strides, multiplies and
 * stores: whether every element is the model's and nothing else was written. special: of bf16 only.
 */
bool amx_check_product(bool bf16, bool special, struct rng *rng);

/* Whether a configuration zeroes the tiles, and loads see what was stored before them and not what
 * is stored after. */
bool amx_check_order(void);

#endif
