/* SPDX-License-Identifier: Apache-2.0 */
/* Every read is bounded by the end of the innermost message, whose own end was checked against its
 * parent's. */
#include "tools/convert/protobuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_FIELD_NUMBER ((UINT64_C(1) << 29) - 1)

bool ipex_pb_fail(struct ipex_pb *pb, const uint8_t *at, const char *format, ...) {
    if (pb->status != IPEX_OK)
        return false;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pb->status = ipex_fail(pb->report, IPEX_ERROR_FILE_METADATA, "%s: byte %llu: %s", pb->path,
                           (unsigned long long)(at - pb->base), text);
    return false;
}

static bool read_varint(struct ipex_pb *pb, struct ipex_span *span, uint64_t *ret) {
    uint64_t value = 0;
    const uint8_t *at = span->at;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (at == span->end)
            return ipex_pb_fail(pb, span->at, "a number runs past the end of its message");
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            span->at = at;
            *ret = value;
            return true;
        }
    }
    return ipex_pb_fail(pb, span->at, "a number has more than 64 bits");
}

static bool take_bytes(struct ipex_pb *pb, struct ipex_span *span, uint64_t length,
                       struct ipex_span *ret) {
    if (length > ipex_span_size(*span))
        return ipex_pb_fail(pb, span->at,
                            "a field of %llu bytes runs past the end of its message (%llu left)",
                            (unsigned long long)length, (unsigned long long)ipex_span_size(*span));
    *ret = (struct ipex_span){span->at, span->at + length};
    span->at += length;
    return true;
}

static bool read_payload(struct ipex_pb *pb, struct ipex_span *message, struct ipex_pb_field *ret) {
    uint64_t length = 0;
    switch (ret->key & 7) {
    case 0:
        ret->bytes.at = message->at;
        if (!read_varint(pb, message, &ret->value))
            return false;
        ret->bytes.end = message->at;
        return true;
    case 1:
    case 5:
        length = (ret->key & 7) == 1 ? 8 : 4;
        if (!take_bytes(pb, message, length, &ret->bytes))
            return false;
        memcpy(&ret->value, ret->bytes.at, length);
        return true;
    case 2:
        return read_varint(pb, message, &length) && take_bytes(pb, message, length, &ret->bytes);
    default:
        return ipex_pb_fail(pb, message->at, "wire type %u is not supported", ret->key & 7);
    }
}

bool ipex_pb_next(struct ipex_pb *pb, struct ipex_span *message, struct ipex_pb_field *ret) {
    if (pb->status != IPEX_OK || message->at == message->end)
        return false;
    const uint8_t *start = message->at;
    uint64_t key = 0;
    if (!read_varint(pb, message, &key))
        return false;
    if (key >> 3 == 0 || key >> 3 > MAX_FIELD_NUMBER)
        return ipex_pb_fail(pb, start, "not a protobuf field: the file is damaged or no model");
    *ret = (struct ipex_pb_field){.key = (uint32_t)key};
    return read_payload(pb, message, ret);
}

bool ipex_pb_next_varint(struct ipex_pb *pb, struct ipex_pb_varints *values, uint64_t *ret) {
    struct ipex_pb_field field;
    while (values->packed.at == values->packed.end) {
        if (!ipex_pb_next(pb, &values->message, &field))
            return false;
        if (field.key == IPEX_PB_VARINT(values->number)) {
            *ret = field.value;
            return true;
        }
        if (field.key == IPEX_PB_BYTES(values->number))
            values->packed = field.bytes;
    }
    return read_varint(pb, &values->packed, ret);
}

/* Is this field one value, or a packed run of values, of the repeated fixed-width field `number`?
 */
static bool is_fixed(const struct ipex_pb_field *field, uint32_t number, unsigned width) {
    uint32_t single = width == 8 ? IPEX_PB_FIXED64(number) : IPEX_PB_FIXED32(number);
    return field->key == single || field->key == IPEX_PB_BYTES(number);
}

bool ipex_pb_fixed(struct ipex_pb *pb, struct ipex_span message, uint32_t number, unsigned width,
                   const uint8_t **ret, uint64_t *ret_count) {
    uint64_t bytes = 0;
    struct ipex_span rest = message, run = {0};
    struct ipex_pb_field field;
    while (ipex_pb_next(pb, &rest, &field)) {
        if (!is_fixed(&field, number, width) || ipex_span_size(field.bytes) == 0)
            continue;
        if (ipex_span_size(field.bytes) % width)
            return ipex_pb_fail(pb, field.bytes.at, "a packed field is no multiple of %u bytes",
                                width);
        run = field.bytes;
        bytes += ipex_span_size(field.bytes); /* disjoint parts of the file: cannot overflow */
    }
    if (pb->status != IPEX_OK)
        return false;
    *ret = run.at;
    *ret_count = bytes / width;
    if (bytes == ipex_span_size(run))
        return true;
    uint8_t *copy = ipex_arena_alloc(pb->arena, bytes);
    *ret = copy;
    while (ipex_pb_next(pb, &message, &field)) {
        if (!is_fixed(&field, number, width) || ipex_span_size(field.bytes) == 0)
            continue;
        memcpy(copy, field.bytes.at, ipex_span_size(field.bytes));
        copy += ipex_span_size(field.bytes);
    }
    return true;
}

size_t ipex_pb_count(struct ipex_pb *pb, struct ipex_span message, uint32_t key) {
    size_t count = 0;
    struct ipex_pb_field field;
    while (ipex_pb_next(pb, &message, &field))
        count += field.key == key;
    return count;
}

/* Length of the UTF-8 sequence at `at`, 0 when it is none: overlong forms, surrogates and values
 * past U+10FFFF are none. */
static unsigned utf8_sequence(const uint8_t *at, uint64_t left) {
    uint8_t first = at[0];
    if (first < 0x80)
        return 1;
    unsigned length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || left < length)
        return 0;
    uint8_t low = 0x80, high = 0xbf; /* of the second byte */
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    if (at[1] < low || at[1] > high)
        return 0;
    for (unsigned i = 2; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

const char *ipex_pb_text(struct ipex_pb *pb, struct ipex_span text) {
    for (const uint8_t *at = text.at; at < text.end;) {
        unsigned length = *at ? utf8_sequence(at, (uint64_t)(text.end - at)) : 0;
        if (!length) {
            ipex_pb_fail(pb, at, "a name holds %s", *at ? "bytes that are not UTF-8" : "a NUL");
            return "";
        }
        at += length;
    }
    if (text.at == text.end)
        return "";
    return ipex_arena_strndup(pb->arena, text.at, ipex_span_size(text));
}
