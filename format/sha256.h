/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4): portable code, and the SHA instructions where the processor has them. */
#ifndef IPEX_FORMAT_SHA256_H
#define IPEX_FORMAT_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define IPEX_SHA256_BYTES 32

/* Takes whole 64-byte blocks into the state. */
typedef void (*ipex_sha256_blocks_fn)(uint32_t state[8], const uint8_t *bytes, size_t blocks);

struct ipex_sha256 {
    uint32_t state[8];
    uint64_t total;    /* bytes so far */
    uint8_t block[64]; /* the last total % 64 of them */
    ipex_sha256_blocks_fn blocks;
};

void ipex_sha256_init(struct ipex_sha256 *hash);
void ipex_sha256_update(struct ipex_sha256 *hash, const void *bytes, size_t size);
void ipex_sha256_final(struct ipex_sha256 *hash, uint8_t ret[IPEX_SHA256_BYTES]);

/* All three in one. */
void ipex_sha256(const void *bytes, size_t size, uint8_t ret[IPEX_SHA256_BYTES]);

/* The portable code, for tests to compare with what ipex_sha256_init picked. */
void ipex_sha256_blocks_portable(uint32_t state[8], const uint8_t *bytes, size_t blocks);

#endif
