/* SPDX-License-Identifier: Apache-2.0 */
/* Reading FlatBuffers in place: the primitives that the generated accessors (format/model_fb.h) are
 * made of, and a verifier driven by generated tables (format/model_fb_tables.h).
 *
 * Nothing here may touch a buffer before ipex_fb_verify has accepted it. What an accepted buffer
 * still may hold: any value in any scalar, any count in any vector, any bytes in a string, fields
 * left out. Those are the checker's business (format/check.h). Hosts are little-endian, as the
 * format is. */
#ifndef IPEX_FORMAT_FB_READ_H
#define IPEX_FORMAT_FB_READ_H

#include <string.h>

#include "format/base.h"

static inline uint16_t ipex_fb_u16(const uint8_t *p) {
    uint16_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static inline uint32_t ipex_fb_u32(const uint8_t *p) {
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

/* Where a table holds field `id`; NULL when it is left out. A table starts with the distance back
 * to its vtable, which is { u16 own size, u16 table size, u16 offset of field 0 from the table, of
 * field 1, ... }, 0 for fields left out. */
static inline const uint8_t *ipex_fb_slot(const uint8_t *table, unsigned id) {
    const uint8_t *vtable = table - (int32_t)ipex_fb_u32(table);
    unsigned at = 4 + 2 * id;
    unsigned offset = at + 2 <= ipex_fb_u16(vtable) ? ipex_fb_u16(vtable + at) : 0;
    return offset ? table + offset : NULL;
}

/* What a field of reference type points to (a vector or string); NULL when it is left out.
 */
static inline const uint8_t *ipex_fb_follow(const uint8_t *table, unsigned id) {
    const uint8_t *slot = ipex_fb_slot(table, id);
    return slot ? slot + ipex_fb_u32(slot) : NULL;
}

/* Elements of a vector, bytes of a string. */
static inline uint32_t ipex_fb_length(const uint8_t *vector) {
    return vector ? ipex_fb_u32(vector) : 0;
}

/* First element of a vector, NULL when it is left out. */
static inline const void *ipex_fb_elements(const uint8_t *vector) {
    return vector ? vector + 4 : NULL;
}

/* Element i of a vector of references. i must be below the vector's length. */
static inline const uint8_t *ipex_fb_element(const uint8_t *vector, uint32_t i) {
    const uint8_t *slot = vector + 4 + 4 * (size_t)i;
    return slot + ipex_fb_u32(slot);
}

static inline const char *ipex_fb_text(const uint8_t *string) {
    return string ? (const char *)string + 4 : "";
}

enum ipex_fb_kind {
    IPEX_FB_SCALAR,
    IPEX_FB_STRING,
    IPEX_FB_VECTOR, /* of scalars or structs */
    IPEX_FB_STRINGS,
    IPEX_FB_TABLES,
};

/* One field of a table; its id is its place. */
struct ipex_fb_field {
    uint8_t kind;
    uint8_t size;  /* bytes of a scalar, or of an element of a VECTOR */
    uint8_t align; /* of a scalar, or of an element of a VECTOR */
    uint8_t table; /* of TABLES: index into ipex_fb_schema.tables */
};

struct ipex_fb_table {
    const struct ipex_fb_field *fields;
    uint32_t count;
};

struct ipex_fb_schema {
    const struct ipex_fb_table *tables;
    uint32_t root; /* index into tables */
};

#define IPEX_FB_DEPTH                                                                              \
    3 /* tables nested in tables, the root included; the generator refuses deeper schemas */
#define IPEX_FB_VISITS 1000000 /* tables; libflatbuffers' own limit */

/* Checks that every offset, length, alignment and string terminator of the buffer is sound, as seen
 * through the schema, so that every accessor stays inside [header_size, size). The root table is
 * the one that the first u32 points to. Objects that are reached by several paths count every time,
 * and all together may come to twice the buffer: time is linear in `size`. No memory; the stack is
 * a few hundred bytes. buffer: aligned to 8. size: below 2^31. Returns ERROR_FILE_METADATA, with
 * the byte offset in the report. */
IPEX_WARN_UNUSED enum ipex_status ipex_fb_verify(const struct ipex_fb_schema *schema,
                                                 const void *buffer, uint32_t size,
                                                 uint32_t header_size,
                                                 const struct ipex_report *report);

#endif
