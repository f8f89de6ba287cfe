/* SPDX-License-Identifier: Apache-2.0 */
/* Where tensors lie in the arena. Storages are taken and given back in the order of the plan; a
 * storage goes into the smallest gap between live ones that holds it. A deterministic function of
 * the sequence of calls, without memory of its own beyond the fixed table. */
#ifndef IPEX_RUNTIME_PLACE_H
#define IPEX_RUNTIME_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/check.h"

#define IPEX_ARENA_ALIGN 64
#define IPEX_PLACE_TEMPS 11 /* dense copies of operands that one node may need */
#define IPEX_PLACE_MAX   (IPEX_LIVE_MAX + IPEX_PLACE_TEMPS)

struct ipex_place_block {
    int64_t begin, end; /* bytes from the arena's first */
    int64_t owner;      /* a root tensor, or negative: a temporary of the node being bound */
};

struct ipex_place {
    struct ipex_place_block block[IPEX_PLACE_MAX]; /* live, sorted by begin */
    int32_t blocks;
    int64_t peak; /* bytes of arena used so far */
};

/* Finds room for `bytes`. False when too many storages are alive or the arena would pass 2^62
 * bytes. */
bool ipex_place_take(struct ipex_place *place, int64_t owner, int64_t bytes, int64_t *ret_begin);

/* Gives the owner's storage back; nothing happens when it has none. */
void ipex_place_give(struct ipex_place *place, int64_t owner);

/* The storage of `from` becomes that of `to`. */
void ipex_place_hand_over(struct ipex_place *place, int64_t from, int64_t to);

/* Where the owner's storage begins; -1 when it has none. */
int64_t ipex_place_find(const struct ipex_place *place, int64_t owner);

#endif
