/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 as FIPS 180-4 writes it, and once more with the x86 SHA extensions (about 2 GB/s on one
 * core against 0.3). The latter is a static function with its own target attribute, reached by
 * pointer only after cpuid said yes; nothing else in this file is compiled for it. */
#include "format/sha256.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static const uint32_t initial_state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static uint32_t load_be32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_be32(uint8_t *p, uint32_t value) {
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint32_t rotate(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

/* The message schedule: w[0..15] are the block, the rest follow from them. */
static void expand(uint32_t w[64], const uint8_t *block) {
    for (int i = 0; i < 16; i++)
        w[i] = load_be32(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        uint32_t s0 = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3;
        uint32_t s1 = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

/* One round. Its results are two of the eight words, under the names that the next round has for
 * them: none moves from one register to another. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                           \
    {                                                                                              \
        const uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);                        \
        const uint32_t t1 = h + sum1 + (g ^ (e & (f ^ g))) + round_constants[i] + w[i];            \
        const uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);                        \
        d += t1;                                                                                   \
        h = t1 + sum0 + ((a & b) | (c & (a | b)));                                                 \
    }

static void compress(uint32_t state[8], const uint8_t *block) {
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    expand(w, block);
    for (int i = 0; i < 64; i += 8) {
        ROUND(a, b, c, d, e, f, g, h, i)
        ROUND(h, a, b, c, d, e, f, g, i + 1)
        ROUND(g, h, a, b, c, d, e, f, i + 2)
        ROUND(f, g, h, a, b, c, d, e, i + 3)
        ROUND(e, f, g, h, a, b, c, d, i + 4)
        ROUND(d, e, f, g, h, a, b, c, i + 5)
        ROUND(c, d, e, f, g, h, a, b, i + 6)
        ROUND(b, c, d, e, f, g, h, a, i + 7)
    }
    const uint32_t add[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += add[i];
}

void ipex_sha256_blocks_portable(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    for (; blocks > 0; blocks--, bytes += 64)
        compress(state, bytes);
}

#if defined(__x86_64__)

/* Four rounds take four words of the schedule; the instructions want the state as (a b e f) and (c
 * d g h), highest word first. */
__attribute__((target("sha,sse4.1,ssse3"))) static void
blocks_sha_ni(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
    __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
    for (; blocks > 0; blocks--, bytes += 64) {
        __m128i abef_before = abef, cdgh_before = cdgh, w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(bytes + 16 * i)), big_endian);
        for (int i = 0; i < 16; i++) {
            __m128i k = _mm_loadu_si128((const __m128i *)(round_constants + 4 * i));
            __m128i wk = _mm_add_epi32(w[0], k);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0e));
            /* w[i] of the next 16: w[0] + s0(w[0..1]) + w[2..3 shifted] + s1 */
            __m128i next = _mm_sha256msg1_epu32(w[0], w[1]);
            next = _mm_add_epi32(next, _mm_alignr_epi8(w[3], w[2], 4));
            next = _mm_sha256msg2_epu32(next, w[3]);
            w[0] = w[1];
            w[1] = w[2];
            w[2] = w[3];
            w[3] = next;
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    uint32_t high[4], low[4];
    _mm_storeu_si128((__m128i *)high, abef);
    _mm_storeu_si128((__m128i *)low, cdgh);
    const uint32_t out[8] = {high[3], high[2], low[3], low[2], high[1], high[0], low[1], low[0]};
    memcpy(state, out, sizeof out);
}

static ipex_sha256_blocks_fn pick_blocks(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1))
        return ipex_sha256_blocks_portable;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_SHA))
        return ipex_sha256_blocks_portable;
    return blocks_sha_ni;
}

#else

static ipex_sha256_blocks_fn pick_blocks(void) {
    return ipex_sha256_blocks_portable;
}

#endif

void ipex_sha256_init(struct ipex_sha256 *hash) {
    memcpy(hash->state, initial_state, sizeof initial_state);
    hash->total = 0;
    hash->blocks = pick_blocks();
}

void ipex_sha256_update(struct ipex_sha256 *hash, const void *bytes, size_t size) {
    const uint8_t *p = bytes;
    size_t filled = hash->total % 64;
    hash->total += size;
    if (filled > 0) {
        size_t part = size < 64 - filled ? size : 64 - filled;
        memcpy(hash->block + filled, p, part);
        p += part;
        size -= part;
        if (filled + part < 64)
            return;
        hash->blocks(hash->state, hash->block, 1);
    }
    if (size >= 64)
        hash->blocks(hash->state, p, size / 64);
    if (size % 64 != 0)
        memcpy(hash->block, p + (size - size % 64), size % 64);
}

void ipex_sha256_final(struct ipex_sha256 *hash, uint8_t ret[IPEX_SHA256_BYTES]) {
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = hash->total * 8;
    uint8_t length[8];
    store_be32(length, (uint32_t)(bits >> 32));
    store_be32(length + 4, (uint32_t)bits);
    ipex_sha256_update(hash, padding, 1 + (119 - hash->total % 64) % 64);
    ipex_sha256_update(hash, length, sizeof length);
    for (int i = 0; i < 8; i++)
        store_be32(ret + 4 * i, hash->state[i]);
}

void ipex_sha256(const void *bytes, size_t size, uint8_t ret[IPEX_SHA256_BYTES]) {
    struct ipex_sha256 hash;
    ipex_sha256_init(&hash);
    ipex_sha256_update(&hash, bytes, size);
    ipex_sha256_final(&hash, ret);
}
