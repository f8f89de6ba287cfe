/* SPDX-License-Identifier: Apache-2.0 */
/* Byte surgery on test files. Not for hostile files: the ones edited here start out valid. */
#include "tests/golden/edit.h"

#include <stdlib.h>

#include "format/sha256.h"

void edit_u16(struct maker_file *file, uint64_t at, uint16_t value) {
    memcpy(file->bytes + at, &value, sizeof value);
}

void edit_u32(struct maker_file *file, uint64_t at, uint32_t value) {
    memcpy(file->bytes + at, &value, sizeof value);
}

void edit_u64(struct maker_file *file, uint64_t at, uint64_t value) {
    memcpy(file->bytes + at, &value, sizeof value);
}

uint32_t edit_get(const struct maker_file *file, uint64_t at) {
    return ipex_fb_u32(file->bytes + at);
}

uint64_t edit_root(const struct maker_file *file) {
    return edit_get(file, EDIT_ROOT);
}

uint64_t edit_slot(const struct maker_file *file, uint64_t table, unsigned id) {
    const uint8_t *slot = ipex_fb_slot(file->bytes + table, id);
    if (!slot)
        abort(); /* the test file does not hold what the test wants to break */
    return (uint64_t)(slot - file->bytes);
}

uint64_t edit_follow(const struct maker_file *file, uint64_t table, unsigned id) {
    uint64_t slot = edit_slot(file, table, id);
    return slot + edit_get(file, slot);
}

uint64_t edit_element(const struct maker_file *file, uint64_t table, unsigned id, uint32_t i) {
    uint64_t slot = edit_follow(file, table, id) + 4 + 4 * (uint64_t)i;
    return slot + edit_get(file, slot);
}

uint64_t edit_vtable(const struct maker_file *file, uint64_t table) {
    return table - (uint64_t)(int64_t)(int32_t)edit_get(file, table);
}

uint64_t edit_vtable_entry(const struct maker_file *file, uint64_t table, unsigned id) {
    return edit_vtable(file, table) + 4 + 2 * (uint64_t)id;
}

static uint64_t section_slot(const struct maker_file *file, uint32_t *ret_count) {
    uint64_t vector = edit_follow(file, edit_root(file), IPEX_FB_MODEL_SECTIONS);
    *ret_count = edit_get(file, vector);
    return vector + 4;
}

uint64_t edit_grow(struct maker_file *file, uint64_t bytes) {
    uint64_t begin = file->metadata_size, data = ipex_data_begin(begin);
    uint64_t grown = begin + ((bytes + 63) & ~UINT64_C(63)), shift = ipex_data_begin(grown) - data;
    uint64_t size = file->size + shift;
    uint8_t *moved = aligned_alloc(4096, (size + 4095) & ~UINT64_C(4095));
    uint32_t sections;
    uint64_t slot = section_slot(file, &sections);
    memset(moved, 0, size);
    memcpy(moved, file->bytes, begin);
    memcpy(moved + data + shift, file->bytes + data, file->size - data);
    free(file->bytes);
    *file = (struct maker_file){moved, size, grown};
    for (uint32_t i = 0; i < sections; i++) {
        struct ipex_fb_section section;
        memcpy(&section, moved + slot + i * sizeof section, sizeof section);
        section.offset += shift;
        memcpy(moved + slot + i * sizeof section, &section, sizeof section);
    }
    edit_u64(file, EDIT_FILE_SIZE, size);
    edit_u64(file, EDIT_METADATA_SIZE, grown);
    return begin;
}

static void refer(struct maker_file *file, uint64_t slot, uint64_t target) {
    edit_u32(file, slot, (uint32_t)(target - slot));
}

void edit_many_tables(struct maker_file *file, uint64_t table, unsigned id, uint32_t count) {
    uint64_t slot = edit_slot(file, table, id);
    uint64_t vector = edit_grow(file, 4 * (uint64_t)count + 12);
    uint64_t empty = vector + 4 + 4 * (uint64_t)count;
    refer(file, slot, vector);
    edit_u32(file, vector, count);
    for (uint32_t i = 0; i < count; i++)
        refer(file, vector + 4 + 4 * (uint64_t)i, empty);
    edit_u32(file, empty, (uint32_t)-4); /* its vtable lies 4 behind it: */
    edit_u16(file, empty + 4, 4);        /* no fields */
    edit_u16(file, empty + 6, 4);
}

void edit_zero_vector(struct maker_file *file, uint64_t table, unsigned id, uint32_t count,
                      uint32_t size) {
    uint64_t slot = edit_slot(file, table, id);
    uint64_t vector =
        edit_grow(file, (uint64_t)count * size + 8) + 4; /* elements at a multiple of 8 */
    refer(file, slot, vector);
    edit_u32(file, vector, count);
}

void edit_long_string(struct maker_file *file, uint64_t table, unsigned id, uint32_t count) {
    uint64_t slot = edit_slot(file, table, id);
    uint64_t string = edit_grow(file, (uint64_t)count + 5);
    refer(file, slot, string);
    edit_u32(file, string, count);
    memset(file->bytes + string + 4, 'a', count);
}

void edit_fill_floats(struct maker_file *file) {
    uint64_t data = ipex_data_begin(file->metadata_size);
    uint64_t digests = edit_follow(file, edit_root(file), IPEX_FB_MODEL_CHUNK_DIGESTS) + 4;
    uint32_t sections;
    uint64_t slot = section_slot(file, &sections);
    uint32_t state = 1;
    for (uint32_t i = 0; i < sections; i++) {
        struct ipex_fb_section section;
        memcpy(&section, file->bytes + slot + i * sizeof section, sizeof section);
        for (uint64_t k = 0; k + 4 <= section.stored; k += 4) {
            state = state * 1664525 + 1013904223;
            float value = (float)(int32_t)state / 2147483648.0f;
            memcpy(file->bytes + section.offset + k, &value, sizeof value);
        }
    }
    for (uint64_t at = data; at < file->size;
         at += IPEX_CHUNK_BYTES, digests += IPEX_SHA256_BYTES) {
        uint64_t left = file->size - at;
        ipex_sha256(file->bytes + at, left < IPEX_CHUNK_BYTES ? left : IPEX_CHUNK_BYTES,
                    file->bytes + digests);
    }
    maker_repair_digest(file);
}
