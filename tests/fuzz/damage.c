/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged files: damage FILE.ipex... Every file is cut at every multiple of 64 bytes, and every
 * single bit of its metadata is flipped, without and with the digest made right again. Without, no
 * damaged file is accepted; with, what is accepted is opened and closed (fuzz_open.c runs such
 * files). TAP. */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/check.h"
#include "format/sha256.h"
#include "runtime/ipex.h"
#include "tests/fuzz/mutate.h"

#define METADATA_MOST (64 << 10) /* bits of larger ones take too long */

struct opened {
    enum ipex_status status;
    bool silent; /* refused without a message */
};

static bool all_good = true;

static void ok(bool condition, const char *path, const char *what, unsigned long long count) {
    const char *name = strrchr(path, '/');
    all_good = all_good && condition;
    printf("%s - %s: %s (%llu)\n", condition ? "ok" : "not ok", name ? name + 1 : path, what,
           count);
}

static void *block(size_t alignment, size_t size) {
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, size) != 0)
        exit(1);
    return memory;
}

static struct opened open_file(const void *file, size_t size) {
    char message[256] = "";
    const struct ipex_image_options options = {
        .size_of_struct = sizeof options, .message = message, .message_size = sizeof message};
    struct ipex_image *image = NULL;
    size_t need = 0;
    enum ipex_status status = ipex_image_measure_memory(file, size, &options, &need);
    if (status == IPEX_OK) {
        void *memory = block(IPEX_MEMORY_ALIGN, need);
        status = ipex_image_from_memory(&image, file, size, memory, need, &options);
        ipex_image_close(image);
        free(memory);
    }
    return (struct opened){status, status != IPEX_OK && !message[0]};
}

static void cut(const char *path, const uint8_t *bytes, size_t size) {
    unsigned long long cuts = 0, wrong = 0;
    for (size_t length = 0; length < size; length += 64, cuts++) {
        uint8_t *part = block(4096, length + 1);
        memcpy(part, bytes, length);
        struct opened opened = open_file(part, length);
        mutate_repair(part, length);
        struct opened repaired = open_file(part, length);
        wrong += opened.status != IPEX_ERROR_FILE_TRUNCATED ||
                 repaired.status != IPEX_ERROR_FILE_TRUNCATED || opened.silent || repaired.silent;
        free(part);
    }
    ok(cuts > 0 && wrong == 0, path, "cut at every 64 bytes, never accepted", cuts);
}

/* The digest's states before every 64 bytes of the undamaged metadata: a digest is made right from
 * the damage on. */
static struct ipex_sha256 *states_of(const uint8_t *bytes, size_t metadata) {
    uint8_t header[IPEX_HEADER_SIZE];
    memcpy(header, bytes, sizeof header);
    memset(header + 64, 0, IPEX_SHA256_BYTES); /* the digest itself counts as zero */
    struct ipex_sha256 *ret = block(64, (metadata / 64 + 1) * sizeof *ret), state;
    ipex_sha256_init(&state);
    ipex_sha256_update(&state, header, sizeof header);
    for (size_t at = IPEX_HEADER_SIZE; at < metadata; at += 64) {
        ret[at / 64] = state;
        ipex_sha256_update(&state, bytes + at, metadata - at < 64 ? metadata - at : 64);
    }
    return ret;
}

static void repair(uint8_t *file, size_t size, size_t metadata, size_t byte,
                   const struct ipex_sha256 *states) {
    if (byte < IPEX_HEADER_SIZE) {
        mutate_repair(file, size);
        return;
    }
    struct ipex_sha256 state = states[byte / 64];
    ipex_sha256_update(&state, file + byte / 64 * 64, metadata - byte / 64 * 64);
    ipex_sha256_final(&state, file + 64);
}

/* Only the metadata is damaged, so only it has to be copied anew. */
static void flip(const char *path, const uint8_t *bytes, size_t size, size_t metadata) {
    unsigned long long flips = 0, accepted = 0, accepted_repaired = 0, silent = 0;
    uint8_t *file = block(4096, size);
    memcpy(file, bytes, size);
    struct ipex_sha256 *states = states_of(bytes, metadata);
    for (size_t bit = 0; bit < 8 * metadata; bit++, flips++) {
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct opened opened = open_file(file, size);
        repair(file, size, metadata, bit / 8, states);
        struct opened repaired = open_file(file, size);
        accepted += opened.status == IPEX_OK;
        accepted_repaired += repaired.status == IPEX_OK;
        silent += opened.silent + repaired.silent;
        memcpy(file, bytes, metadata);
    }
    free(states);
    free(file);
    ok(flips > 0 && accepted == 0, path, "every bit of the metadata flipped, never accepted",
       flips);
    ok(silent == 0, path, "every refusal has a message", 2 * flips - accepted - accepted_repaired);
    ok(accepted_repaired > 0 && accepted_repaired < flips, path,
       "accepted with the digest made right", accepted_repaired);
}

static void damage(const char *path) {
    uint64_t metadata;
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        printf("ok - %s # SKIP no such file\n", path);
        return;
    }
    size_t size = (size_t)ftell(file);
    uint8_t *bytes = block(4096, size + 1);
    rewind(file);
    if (fread(bytes, 1, size, file) != size || open_file(bytes, size).status != IPEX_OK) {
        ok(false, path, "opens undamaged", 0);
        fclose(file);
        free(bytes);
        return;
    }
    fclose(file);
    memcpy(&metadata, bytes + 32, sizeof metadata);
    cut(path, bytes, size);
    if (metadata <= METADATA_MOST)
        flip(path, bytes, size, (size_t)metadata);
    free(bytes);
}

int main(int argc, char **argv) {
    /* Blocks are given back and taken again hundreds of thousands of times: the heap keeps them. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    for (int i = 1; i < argc; i++)
        damage(argv[i]);
    return argc < 2 ? 2 : !all_good;
}
