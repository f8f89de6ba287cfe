/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format over bytes in memory: a cursor that never leaves its message and copies
 * nothing. Errors are sticky: after the first one every call returns false at once and `status`
 * says so, which lets readers be written as plain loops that look at the status once, at the end. A
 * field whose wire type is not the expected one is skipped like an unknown field, as the protobuf
 * specification asks. */
#ifndef IPEX_TOOLS_PROTOBUF_H
#define IPEX_TOOLS_PROTOBUF_H

#include "format/base.h"
#include "tools/arena.h"

struct ipex_pb {
    const char *path;    /* for messages */
    const uint8_t *base; /* of the file: messages name byte offsets from here */
    const struct ipex_report *report;
    struct ipex_arena *arena;
    enum ipex_status status;
};

struct ipex_span {
    const uint8_t *at, *end;
};

/* Field number and wire type in one, as they are on the wire. */
#define IPEX_PB_VARINT(number)  ((uint32_t)(number) << 3)
#define IPEX_PB_FIXED64(number) ((uint32_t)(number) << 3 | 1u)
#define IPEX_PB_BYTES(number)   ((uint32_t)(number) << 3 | 2u)
#define IPEX_PB_FIXED32(number) ((uint32_t)(number) << 3 | 5u)

struct ipex_pb_field {
    uint32_t key;   /* one of the above */
    uint64_t value; /* varint, fixed32 or fixed64 */
    struct ipex_span
        bytes; /* the payload, on the wire; of length-delimited fields without the length */
};

static inline uint64_t ipex_span_size(struct ipex_span span) {
    return (uint64_t)(span.end - span.at);
}

/* Sets the first error: "PATH: byte OFFSET: message". Returns false. */
bool ipex_pb_fail(struct ipex_pb *pb, const uint8_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The next field of a message; false at its end or on an error. */
bool ipex_pb_next(struct ipex_pb *pb, struct ipex_span *message, struct ipex_pb_field *ret);

/* Iterates over the values of a repeated varint field, packed or not. Start with {message, {0},
 * number}. */
struct ipex_pb_varints {
    struct ipex_span message, packed;
    uint32_t number;
};
bool ipex_pb_next_varint(struct ipex_pb *pb, struct ipex_pb_varints *values, uint64_t *ret);

/* All values of a repeated fixed-width field (4 or 8 bytes each): in place when they are one packed
 * run, else gathered in the arena. Any alignment. */
bool ipex_pb_fixed(struct ipex_pb *pb, struct ipex_span message, uint32_t number, unsigned width,
                   const uint8_t **ret, uint64_t *ret_count);

/* Fields of that key in the message. */
size_t ipex_pb_count(struct ipex_pb *pb, struct ipex_span message, uint32_t key);

/* A NUL-terminated copy of a name; fails on a NUL byte inside and on what is not UTF-8. "" on
 * failure. */
const char *ipex_pb_text(struct ipex_pb *pb, struct ipex_span text);

#endif
