/* SPDX-License-Identifier: Apache-2.0 */
/* The FlatBuffers builder. Objects are laid down from the end of the buffer to its front, so that
 * references (which always lead forward in the file) point at what exists already. Alignment is
 * kept relative to the end; ipex_fb_finish makes the whole a multiple of 64. */
#include "format/fb_build.h"

#include <stdlib.h>

void ipex_fb_init(struct ipex_fb_builder *b) {
    memset(b, 0, sizeof *b);
}

void ipex_fb_free(struct ipex_fb_builder *b) {
    free(b->buffer);
    ipex_fb_init(b);
}

/* Doubles the buffer until `bytes` more fit; the filled part stays at its end. */
static bool grow(struct ipex_fb_builder *b, uint32_t bytes) {
    uint64_t wanted = b->capacity ? b->capacity : 4096;
    while (wanted < (uint64_t)b->used + bytes)
        wanted *= 2;
    if (wanted > 2 * (uint64_t)IPEX_METADATA_MAX)
        return false;
    uint8_t *buffer = malloc(wanted);
    if (!buffer)
        return false;
    if (b->used)
        memcpy(buffer + wanted - b->used, b->buffer + b->capacity - b->used, b->used);
    free(b->buffer);
    b->buffer = buffer;
    b->capacity = (uint32_t)wanted;
    return true;
}

/* Room for `bytes` in front of what is there; NULL for none, and once anything has failed. */
static uint8_t *take(struct ipex_fb_builder *b, uint32_t bytes) {
    if (!b->failed && bytes > b->capacity - b->used)
        b->failed = bytes > IPEX_METADATA_MAX || !grow(b, bytes);
    if (b->failed || bytes == 0)
        return NULL;
    b->used += bytes;
    return b->buffer + b->capacity - b->used;
}

static void prepend(struct ipex_fb_builder *b, const void *bytes, uint32_t size) {
    uint8_t *to = take(b, size);
    if (to && size)
        memcpy(to, bytes, size);
}

/* Zero bytes, so that something of `size` bytes put down next starts at a multiple of `align`. */
static void pad(struct ipex_fb_builder *b, uint32_t size, uint32_t align) {
    uint32_t zeros = (0u - (b->used + size)) & (align - 1);
    uint8_t *to = take(b, zeros);
    if (to)
        memset(to, 0, zeros);
}

static void prepend_u32(struct ipex_fb_builder *b, uint32_t value) {
    pad(b, 4, 4);
    prepend(b, &value, 4);
}

/* The reference as it is stored: the distance from where it lies. */
static void prepend_ref(struct ipex_fb_builder *b, uint32_t ref) {
    pad(b, 4, 4);
    prepend_u32(b, b->used + 4 - ref);
}

uint32_t ipex_fb_string_n(struct ipex_fb_builder *b, const char *text, size_t length) {
    if (length > IPEX_METADATA_MAX)
        b->failed = true;
    if (b->failed)
        return 0;
    pad(b, (uint32_t)length + 1, 4);
    prepend(b, "", 1);
    prepend(b, text, (uint32_t)length);
    prepend_u32(b, (uint32_t)length);
    return b->used;
}

uint32_t ipex_fb_string(struct ipex_fb_builder *b, const char *text) {
    return ipex_fb_string_n(b, text, strlen(text));
}

uint32_t ipex_fb_vector(struct ipex_fb_builder *b, const void *elements, uint32_t count,
                        uint32_t size, uint32_t align) {
    if (count > IPEX_METADATA_MAX / size)
        b->failed = true;
    if (b->failed || count == 0)
        return 0;
    pad(b, count * size, align > 4 ? align : 4);
    prepend(b, elements, count * size);
    prepend_u32(b, count);
    return b->used;
}

uint32_t ipex_fb_refs(struct ipex_fb_builder *b, const uint32_t *refs, uint32_t count) {
    if (count > IPEX_METADATA_MAX / 4)
        b->failed = true;
    if (b->failed || count == 0)
        return 0;
    for (uint32_t i = count; i-- > 0;)
        prepend_ref(b, refs[i]);
    prepend_u32(b, count);
    return b->used;
}

void ipex_fb_start(struct ipex_fb_builder *b) {
    memset(b->field, 0, sizeof b->field);
    b->fields = 0;
    b->table_end = b->used;
}

static void mark(struct ipex_fb_builder *b, unsigned id) {
    if (id >= IPEX_FB_BUILD_FIELDS || b->field[id] != 0) {
        b->failed = true;
        return;
    }
    b->field[id] = b->used;
    if (id >= b->fields)
        b->fields = id + 1;
}

void ipex_fb_put(struct ipex_fb_builder *b, unsigned id, const void *scalar, uint32_t size) {
    pad(b, size, size);
    prepend(b, scalar, size);
    mark(b, id);
}

void ipex_fb_put_ref(struct ipex_fb_builder *b, unsigned id, uint32_t ref) {
    if (ref == 0)
        return;
    prepend_ref(b, ref);
    mark(b, id);
}

/* Reference to a vtable with these bytes: one made before, or a new one. */
static uint32_t share_vtable(struct ipex_fb_builder *b, const uint16_t *vtable) {
    for (uint32_t i = 0; i < b->vtables; i++) {
        const uint8_t *old = b->buffer + b->capacity - b->vtable[i];
        if (ipex_fb_u16(old) == vtable[0] && memcmp(old, vtable, vtable[0]) == 0)
            return b->vtable[i];
    }
    pad(b, vtable[0], 2);
    prepend(b, vtable, vtable[0]);
    if (b->vtables < IPEX_FB_BUILD_VTABLES)
        b->vtable[b->vtables++] = b->used;
    return b->used;
}

uint32_t ipex_fb_end(struct ipex_fb_builder *b) {
    prepend_u32(b, 0); /* the distance to the vtable, set below */
    if (b->failed)
        return 0;
    uint32_t table = b->used;
    uint16_t vtable[2 + IPEX_FB_BUILD_FIELDS];
    vtable[0] = (uint16_t)(4 + 2 * b->fields);
    vtable[1] = (uint16_t)(table - b->table_end);
    for (uint32_t i = 0; i < b->fields; i++)
        vtable[2 + i] = b->field[i] ? (uint16_t)(table - b->field[i]) : 0;
    int32_t distance = (int32_t)(share_vtable(b, vtable) - table);
    if (b->failed)
        return 0;
    memcpy(b->buffer + b->capacity - table, &distance, 4);
    return table;
}

uint8_t *ipex_fb_finish(struct ipex_fb_builder *b, uint32_t root, uint32_t *ret_size) {
    pad(b, IPEX_HEADER_SIZE, 64);
    uint8_t *bytes = take(b, IPEX_HEADER_SIZE);
    if (!bytes || b->used > IPEX_METADATA_MAX)
        return NULL;
    memset(bytes, 0, IPEX_HEADER_SIZE);
    uint32_t distance = b->used - root;
    memcpy(bytes, &distance, 4);
    memcpy(bytes + 4, "IPEX", 4);
    *ret_size = b->used;
    return bytes;
}

void *ipex_fb_patch(struct ipex_fb_builder *b, uint32_t vector) {
    return b->buffer + b->capacity - vector + 4;
}

static void store_u64(uint8_t *to, uint64_t value) {
    memcpy(to, &value, sizeof value);
}
static void store_u32(uint8_t *to, uint32_t value) {
    memcpy(to, &value, sizeof value);
}

/* What the header says of entries with symbols, which the caller need not count. */
static uint32_t dynamic_tensors(const uint8_t *metadata) {
    struct ipex_fb_model model = ipex_fb_root(metadata);
    uint32_t most = 0;
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(model); i++) {
        struct ipex_fb_entry entry = ipex_fb_model_entries(model, i);
        if (ipex_fb_entry_symbols_len(entry) > 0 && most < ipex_fb_entry_tensors_len(entry))
            most = ipex_fb_entry_tensors_len(entry);
    }
    return most;
}

void ipex_header_seal(uint8_t *metadata, struct ipex_header *header) {
    header->dynamic_tensors = dynamic_tensors(metadata);
    memcpy(metadata + 8, "xh01", 4);
    store_u32(metadata + 12, IPEX_HEADER_SIZE);
    store_u32(metadata + 16, IPEX_FORMAT_VERSION);
    store_u32(metadata + 20, IPEX_WRITER_VERSION);
    store_u64(metadata + 24, header->file_size);
    store_u64(metadata + 32, header->metadata_size);
    store_u64(metadata + 40, header->required_features);
    store_u64(metadata + 48, header->optional_features);
    store_u32(metadata + 56, header->entries);
    store_u32(metadata + 60, header->tensors);
    store_u32(metadata + 96, header->dynamic_tensors);
    ipex_metadata_digest(metadata, header->metadata_size, header->digest);
    memcpy(metadata + 64, header->digest, sizeof header->digest);
}
