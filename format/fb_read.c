/* SPDX-License-Identifier: Apache-2.0 */
/* The FlatBuffers verifier. An explicit stack of at most IPEX_FB_DEPTH tables takes the place of
 * recursion. All positions are u32 below 2^31, so sums of two of them cannot wrap; lengths from the
 * buffer are compared by subtraction only. */
#include "format/fb_read.h"

struct frame {
    uint32_t table;     /* position */
    uint32_t vtable;    /* position */
    uint32_t type;      /* index into the schema's tables */
    uint32_t field;     /* next one to verify */
    uint32_t slot;      /* position of the next reference to a sub-table ... */
    uint32_t slots;     /* ... and how many are left */
    uint32_t slot_type; /* of those sub-tables */
};

struct verifier {
    const struct ipex_fb_schema *schema;
    const uint8_t *bytes;
    uint32_t size, low; /* objects lie in [low, size) */
    uint32_t visits;
    uint64_t budget; /* bytes of objects that may still be visited */
    const struct ipex_report *report;
    unsigned depth;
    struct frame stack[IPEX_FB_DEPTH];
};

static enum ipex_status bad(const struct verifier *v, uint32_t at, const char *what) {
    return ipex_fail(v->report, IPEX_ERROR_FILE_METADATA, "metadata byte %u: %s", at, what);
}

static enum ipex_status spend(struct verifier *v, uint32_t at, uint64_t bytes) {
    if (bytes > v->budget)
        return bad(v, at, "objects are shared too often");
    v->budget -= bytes;
    return IPEX_OK;
}

/* Follows the reference at `at`, which is known to lie inside and aligned. References lead forward
 * only, so from beyond the header never into it. */
static enum ipex_status follow(const struct verifier *v, uint32_t at, uint32_t *ret) {
    uint32_t distance = ipex_fb_u32(v->bytes + at);
    if (distance < 4 || distance > v->size - at || v->size - at - distance < 4)
        return bad(v, at, "a reference leads outside");
    if ((at + distance) % 4 != 0)
        return bad(v, at, "a reference is not aligned");
    *ret = at + distance;
    return IPEX_OK;
}

static enum ipex_status verify_vector(struct verifier *v, uint32_t at, uint32_t size,
                                      uint32_t align) {
    uint64_t bytes = (uint64_t)ipex_fb_u32(v->bytes + at) * size; /* < 2^32 * 2^8 */
    if (bytes > v->size - at - 4)
        return bad(v, at, "a vector reaches outside");
    if ((at + 4) % align != 0)
        return bad(v, at, "a vector is not aligned");
    return spend(v, at, bytes + 4);
}

static enum ipex_status verify_string(struct verifier *v, uint32_t at) {
    IPEX_TRY(verify_vector(v, at, 1, 1));
    uint32_t length = ipex_fb_u32(v->bytes + at);
    if (length >= v->size - at - 4 || v->bytes[at + 4 + length] != 0)
        return bad(v, at, "a string is not terminated");
    return IPEX_OK;
}

static enum ipex_status verify_strings(struct verifier *v, uint32_t at) {
    IPEX_TRY(verify_vector(v, at, 4, 4));
    uint32_t count = ipex_fb_u32(v->bytes + at);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t string = 0;
        IPEX_TRY(follow(v, at + 4 + 4 * i, &string));
        IPEX_TRY(verify_string(v, string));
    }
    return IPEX_OK;
}

/* Position of a table's vtable, checked together with the sizes that it states. */
static enum ipex_status verify_vtable(const struct verifier *v, uint32_t table, uint32_t *ret) {
    int64_t position = (int64_t)table - (int32_t)ipex_fb_u32(v->bytes + table);
    if (position < v->low || position > (int64_t)v->size - 4 || position % 2 != 0)
        return bad(v, table, "a vtable lies outside or is not aligned");
    uint32_t vtable = (uint32_t)position;
    uint32_t vtable_size = ipex_fb_u16(v->bytes + vtable);
    uint32_t table_size = ipex_fb_u16(v->bytes + vtable + 2);
    if (vtable_size < 4 || vtable_size % 2 != 0 || vtable_size > v->size - vtable)
        return bad(v, table, "a vtable has a wrong size");
    if (table_size < 4 || table_size > v->size - table)
        return bad(v, table, "a table has a wrong size");
    *ret = vtable;
    return IPEX_OK;
}

static enum ipex_status push(struct verifier *v, uint32_t table, uint32_t type) {
    if (v->depth == IPEX_FB_DEPTH)
        return bad(v, table, "tables are nested too deep");
    if (++v->visits > IPEX_FB_VISITS)
        return bad(v, table, "there are too many tables");
    uint32_t vtable = 0;
    IPEX_TRY(verify_vtable(v, table, &vtable));
    IPEX_TRY(spend(v, table, ipex_fb_u16(v->bytes + vtable + 2)));
    v->stack[v->depth++] = (struct frame){.table = table, .vtable = vtable, .type = type};
    return IPEX_OK;
}

/* Position of a field's inline bytes; 0 when it is left out. */
static enum ipex_status locate(const struct verifier *v, const struct frame *frame, uint32_t id,
                               const struct ipex_fb_field *field, uint32_t *ret) {
    const uint8_t *vtable = v->bytes + frame->vtable;
    uint32_t table_size = ipex_fb_u16(vtable + 2);
    uint32_t offset = 4 + 2 * id + 2 <= ipex_fb_u16(vtable) ? ipex_fb_u16(vtable + 4 + 2 * id) : 0;
    uint32_t size = field->kind == IPEX_FB_SCALAR ? field->size : 4;
    uint32_t align = field->kind == IPEX_FB_SCALAR ? field->align : 4;
    *ret = 0;
    if (offset == 0)
        return IPEX_OK;
    if (offset < 4 || offset > table_size || size > table_size - offset)
        return bad(v, frame->table, "a field lies outside its table");
    if ((frame->table + offset) % align != 0)
        return bad(v, frame->table, "a field is not aligned");
    *ret = frame->table + offset;
    return IPEX_OK;
}

static enum ipex_status verify_field(struct verifier *v, struct frame *frame, uint32_t id) {
    const struct ipex_fb_field *field = &v->schema->tables[frame->type].fields[id];
    uint32_t at = 0, target = 0;
    IPEX_TRY(locate(v, frame, id, field, &at));
    if (at == 0 || field->kind == IPEX_FB_SCALAR)
        return IPEX_OK;
    frame->slot_type = field->table;
    IPEX_TRY(follow(v, at, &target));
    if (field->kind == IPEX_FB_STRING)
        return verify_string(v, target);
    if (field->kind == IPEX_FB_STRINGS)
        return verify_strings(v, target);
    if (field->kind == IPEX_FB_VECTOR)
        return verify_vector(v, target, field->size, field->align);
    IPEX_TRY(verify_vector(v, target, 4, 4));
    frame->slot = target + 4;
    frame->slots = ipex_fb_u32(v->bytes + target);
    return IPEX_OK;
}

/* One step of the table on top of the stack: its next sub-table, its next field, or its end. */
static enum ipex_status advance(struct verifier *v) {
    struct frame *frame = &v->stack[v->depth - 1];
    if (frame->slots > 0) {
        uint32_t table = 0;
        IPEX_TRY(follow(v, frame->slot, &table));
        frame->slot += 4;
        frame->slots--;
        return push(v, table, frame->slot_type);
    }
    if (frame->field < v->schema->tables[frame->type].count)
        return verify_field(v, frame, frame->field++);
    v->depth--;
    return IPEX_OK;
}

enum ipex_status ipex_fb_verify(const struct ipex_fb_schema *schema, const void *buffer,
                                uint32_t size, uint32_t header_size,
                                const struct ipex_report *report) {
    struct verifier v = {.schema = schema,
                         .bytes = buffer,
                         .size = size,
                         .low = header_size,
                         .budget = 2 * (uint64_t)size,
                         .report = report};
    if (size >= UINT32_C(1) << 31 || header_size < 8 || size < header_size ||
        size - header_size < 4)
        return bad(&v, 0, "the buffer has a wrong size");
    if ((uintptr_t)buffer % 8 != 0)
        return bad(&v, 0, "the buffer is not aligned");
    uint32_t root = ipex_fb_u32(buffer);
    if (root < header_size || root > size - 4 || root % 4 != 0)
        return bad(&v, 0, "the root lies outside or is not aligned");
    IPEX_TRY(push(&v, root, schema->root));
    while (v.depth > 0)
        IPEX_TRY(advance(&v));
    return IPEX_OK;
}
