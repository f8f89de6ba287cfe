/* SPDX-License-Identifier: Apache-2.0 */
/* Editing the bytes of a written test file: what no writer would produce. Positions are byte
 * offsets in the file; the metadata's digest is made right again by maker_repair_digest. */
#ifndef IPEX_TESTS_EDIT_H
#define IPEX_TESTS_EDIT_H

#include "tests/unit/model_maker.h"

/* Byte offsets of the header's fields (format/FORMAT.md, "Header"). */
enum edit_header {
    EDIT_ROOT = 0,
    EDIT_IDENTIFIER = 4,
    EDIT_TAG = 8,
    EDIT_HEADER_SIZE = 12,
    EDIT_VERSION = 16,
    EDIT_WRITER = 20,
    EDIT_FILE_SIZE = 24,
    EDIT_METADATA_SIZE = 32,
    EDIT_REQUIRED = 40,
    EDIT_OPTIONAL = 48,
    EDIT_ENTRIES = 56,
    EDIT_TENSORS = 60,
    EDIT_DIGEST = 64,
    EDIT_DYNAMIC_TENSORS = 96,
    EDIT_RESERVED = 100,
};

void edit_u16(struct maker_file *file, uint64_t at, uint16_t value);
void edit_u32(struct maker_file *file, uint64_t at, uint32_t value);
void edit_u64(struct maker_file *file, uint64_t at, uint64_t value);
uint32_t edit_get(const struct maker_file *file, uint64_t at);

/* Tables, by their generated handles' pointers. */
uint64_t edit_root(const struct maker_file *file);
/* Where the table at `table` holds field `id`, which must be there. */
uint64_t edit_slot(const struct maker_file *file, uint64_t table, unsigned id);
/* What the reference there points to. */
uint64_t edit_follow(const struct maker_file *file, uint64_t table, unsigned id);
/* Table i of a vector of tables. */
uint64_t edit_element(const struct maker_file *file, uint64_t table, unsigned id, uint32_t i);
/* Position of a table's vtable, and of the vtable's entry for a field. */
uint64_t edit_vtable(const struct maker_file *file, uint64_t table);
uint64_t edit_vtable_entry(const struct maker_file *file, uint64_t table, unsigned id);

/* Makes the metadata longer by at least `bytes` zeros and moves the sections behind it; returns
 * where the new bytes begin. The file stays valid. */
uint64_t edit_grow(struct maker_file *file, uint64_t bytes);

/* Puts something new behind the metadata and lets a table's field refer to it: a vector of `count`
 * references to one table without fields; a vector of `count` zeroed elements; a string of `count`
 * letters. */
void edit_many_tables(struct maker_file *file, uint64_t table, unsigned id, uint32_t count);
void edit_zero_vector(struct maker_file *file, uint64_t table, unsigned id, uint32_t count,
                      uint32_t size);
void edit_long_string(struct maker_file *file, uint64_t table, unsigned id, uint32_t count);

/* Fills all sections with f32 in [-1, 1) and makes every digest right again. */
void edit_fill_floats(struct maker_file *file);

#endif
