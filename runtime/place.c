/* SPDX-License-Identifier: Apache-2.0 */
/* Arena placement: best fit over a sorted table of live blocks. */
#include "runtime/place.h"

#include <string.h>

#define ARENA_MAX (INT64_C(1) << 62)

/* Index before which a block of `bytes` goes, and where it begins: the smallest gap that holds it,
 * the lowest of equals, else the end. */
static int32_t best_gap(const struct ipex_place *place, int64_t bytes, int64_t *ret_begin) {
    int64_t gap_begin = 0, best_size = ARENA_MAX;
    int32_t best = -1;
    for (int32_t i = 0; i < place->blocks; i++) {
        const int64_t size = place->block[i].begin - gap_begin;
        if (size >= bytes && size < best_size) {
            best = i;
            best_size = size;
            *ret_begin = gap_begin;
        }
        gap_begin = place->block[i].end;
    }
    if (best >= 0)
        return best;
    *ret_begin = gap_begin;
    return place->blocks;
}

bool ipex_place_take(struct ipex_place *place, int64_t owner, int64_t bytes, int64_t *ret_begin) {
    if (place->blocks == IPEX_PLACE_MAX || bytes < 0 || bytes > ARENA_MAX - IPEX_ARENA_ALIGN)
        return false;
    /* At least one line, so that no two storages share an address. */
    bytes = bytes == 0 ? IPEX_ARENA_ALIGN
                       : (bytes + IPEX_ARENA_ALIGN - 1) & ~(int64_t)(IPEX_ARENA_ALIGN - 1);
    int64_t begin = 0;
    const int32_t at = best_gap(place, bytes, &begin);
    if (begin > ARENA_MAX - bytes)
        return false;
    memmove(&place->block[at + 1], &place->block[at],
            (size_t)(place->blocks - at) * sizeof place->block[0]);
    place->block[at] =
        (struct ipex_place_block){.begin = begin, .end = begin + bytes, .owner = owner};
    place->blocks++;
    if (place->peak < begin + bytes)
        place->peak = begin + bytes;
    *ret_begin = begin;
    return true;
}

void ipex_place_give(struct ipex_place *place, int64_t owner) {
    for (int32_t i = 0; i < place->blocks; i++) {
        if (place->block[i].owner != owner)
            continue;
        place->blocks--;
        memmove(&place->block[i], &place->block[i + 1],
                (size_t)(place->blocks - i) * sizeof place->block[0]);
        return;
    }
}

void ipex_place_hand_over(struct ipex_place *place, int64_t from, int64_t to) {
    for (int32_t i = 0; i < place->blocks; i++)
        if (place->block[i].owner == from)
            place->block[i].owner = to;
}

int64_t ipex_place_find(const struct ipex_place *place, int64_t owner) {
    for (int32_t i = 0; i < place->blocks; i++)
        if (place->block[i].owner == owner)
            return place->block[i].begin;
    return -1;
}
