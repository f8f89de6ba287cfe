/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the metadata of .ipex files at random, knowing the schema: most results are still
 * FlatBuffers of this schema, and say something absurd. Deterministic: the same bytes and seed give
 * the same result. */
#ifndef IPEX_TESTS_MUTATE_H
#define IPEX_TESTS_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* xorshift64*; any seed. */
struct mutate_rng {
    uint64_t state;
};
struct mutate_rng mutate_rng(uint64_t seed);
uint32_t mutate_below(struct mutate_rng *rng, uint32_t limit); /* limit > 0 */

/* Changes metadata (header included, aligned to 8) in place in one to a few places. `raw`: also
 * breaks the FlatBuffer itself, more often than not. */
void mutate_metadata(uint8_t *bytes, size_t size, uint64_t seed, int raw);

/* Makes the digest in the header fit again, where the header's metadata_size allows it. */
void mutate_repair(uint8_t *bytes, size_t size);

#endif
