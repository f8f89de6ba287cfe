/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever parses as a message inside a length-delimited field is taken for one. After a change of
 * length, the lengths of all fields around it are written anew, from the inside to the outside. */
#include "tests/fuzz/mutate_protobuf.h"

#include <string.h>

#include "tests/fuzz/mutate.h"

#define FIELDS   8192
#define DEPTH    12
#define RAW_DATA (9 << 3 | 2)

struct field {
    size_t begin, value,
        end;        /* of key, of value (varint, fixed bytes, length), one past the last byte */
    size_t payload; /* first byte behind the length of a length-delimited one */
    int parent;     /* index of the field whose payload this lies in; -1 */
    uint64_t key;   /* number << 3 | wire type */
};

struct message {
    uint8_t *bytes;
    size_t size, room;
    int fields;
    struct field field[FIELDS];
};

static bool read_varint(const struct message *m, size_t *at, size_t end, uint64_t *ret) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = m->bytes[(*at)++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return false;
}

static size_t write_varint(uint8_t *to, uint64_t value) {
    size_t n = 0;
    while (value >= 0x80) {
        to[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[n++] = (uint8_t)value;
    return n;
}

static bool walk_field(const struct message *m, size_t *at, size_t end, struct field *f) {
    uint64_t value;
    f->begin = *at;
    if (!read_varint(m, at, end, &f->key) || f->key >> 3 == 0)
        return false;
    f->value = *at;
    switch (f->key & 7) {
    case 0:
        if (!read_varint(m, at, end, &value))
            return false;
        break;
    case 1:
    case 5:
        value = (f->key & 7) == 1 ? 8 : 4;
        if (value > end - *at)
            return false;
        *at += value;
        break;
    case 2:
        if (!read_varint(m, at, end, &value) || value > end - *at)
            return false;
        f->payload = *at;
        *at += value;
        break;
    default:
        return false;
    }
    f->end = *at;
    return true;
}

/* Fields of bytes [at, end), and of what lies in them; what does not parse to the end is taken
 * back. */
static void walk(struct message *m, size_t at, size_t end, int parent, int depth) {
    int before = m->fields;
    while (at < end && m->fields < FIELDS) {
        struct field *f = &m->field[m->fields];
        *f = (struct field){.parent = parent};
        if (!walk_field(m, &at, end, f)) {
            m->fields = before;
            return;
        }
        m->fields++;
    }
    int last = m->fields;
    for (int i = before; i < last && depth < DEPTH; i++)
        if ((m->field[i].key & 7) == 2 && m->field[i].end - m->field[i].payload < (1 << 16))
            walk(m, m->field[i].payload, m->field[i].end, i, depth + 1);
}

/* ---- changes ---- */

static bool replace(struct message *m, size_t begin, size_t end, const uint8_t *bytes,
                    size_t size) {
    if (m->size - (end - begin) + size > m->room)
        return false;
    memmove(m->bytes + begin + size, m->bytes + end, m->size - end);
    memcpy(m->bytes + begin, bytes, size);
    m->size = m->size - (end - begin) + size;
    return true;
}

/* Replaces [begin, end), which lies in the payload of field `parent` (-1: in none). */
static void splice(struct message *m, int parent, size_t begin, size_t end, const uint8_t *bytes,
                   size_t size) {
    uint8_t length[10];
    int64_t grown = (int64_t)size - (int64_t)(end - begin);
    if (!replace(m, begin, end, bytes, size))
        return;
    for (; parent >= 0; parent = m->field[parent].parent) {
        const struct field *f = &m->field[parent];
        size_t n = write_varint(length, (uint64_t)((int64_t)(f->end - f->payload) + grown));
        if (!replace(m, f->value, f->payload, length, n))
            return;
        grown += (int64_t)n - (int64_t)(f->payload - f->value);
    }
}

static uint64_t number(struct mutate_rng *rng, uint64_t old) {
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      7,
                                      8,
                                      16,
                                      127,
                                      128,
                                      255,
                                      256,
                                      65535,
                                      65536,
                                      INT32_MAX,
                                      UINT32_MAX,
                                      UINT64_C(1) << 31,
                                      UINT64_C(1) << 40,
                                      INT64_MAX,
                                      UINT64_MAX,
                                      UINT64_MAX - 1};
    switch (mutate_below(rng, 4)) {
    case 0:
        return old + 1;
    case 1:
        return old - 1;
    case 2:
        return mutate_below(rng, 20);
    default:
        return values[mutate_below(rng, sizeof values / sizeof values[0])];
    }
}

/* Another field of the same key, or the same one. */
static const struct field *pick_like(const struct message *m, struct mutate_rng *rng,
                                     const struct field *like) {
    uint32_t start = mutate_below(rng, (uint32_t)m->fields);
    for (int i = 0; i < m->fields; i++) {
        const struct field *f = &m->field[((int)start + i) % m->fields];
        if (f->key == like->key)
            return f;
    }
    return like;
}

/* The value of another field with this key, the field twice, or none of it. */
static void rearrange(struct message *m, struct mutate_rng *rng, const struct field *f) {
    static uint8_t copy[1 << 16];
    const struct field *from = pick_like(m, rng, f);
    uint32_t choice = mutate_below(rng, 4);
    size_t size = from->end - from->begin;
    if (size > sizeof copy)
        return;
    memcpy(copy, m->bytes + from->begin, size);
    splice(m, f->parent, f->begin, choice == 0 ? f->begin : f->end, copy, choice == 1 ? 0 : size);
}

/* Field or a field around it is raw_data of a TensorProto, or another field of that number. */
static bool is_data(const struct message *m, const struct field *f) {
    for (;; f = &m->field[f->parent]) {
        if (f->key == RAW_DATA)
            return true;
        if (f->parent < 0)
            return false;
    }
}

static void change_value(struct message *m, struct mutate_rng *rng, const struct field *f) {
    uint8_t bytes[10];
    uint64_t value = 0;
    size_t at = f->value, size = f->end - f->value;
    if ((f->key & 7) == 0) {
        (void)read_varint(m, &at, f->end, &value);
        splice(m, f->parent, f->value, f->end, bytes, write_varint(bytes, number(rng, value)));
        return;
    }
    if ((f->key & 7) == 2) {
        at = f->payload;
        size = f->end - f->payload;
    }
    if (size == 0)
        return;
    at += mutate_below(rng, (uint32_t)size);
    m->bytes[at] = (uint8_t)(mutate_below(rng, 2) ? mutate_below(rng, 256)
                                                  : m->bytes[at] ^ 1u << mutate_below(rng, 8));
}

static void change_anything(struct message *m, struct mutate_rng *rng) {
    size_t at = mutate_below(rng, (uint32_t)m->size);
    if (mutate_below(rng, 8) == 0)
        m->size = at;
    else
        m->bytes[at] ^= (uint8_t)(1u << mutate_below(rng, 8));
}

size_t mutate_protobuf(uint8_t *bytes, size_t size, size_t room, uint64_t seed, bool keep_data) {
    static struct message m;
    struct mutate_rng rng = mutate_rng(seed);
    int changes = 1;
    m.bytes = bytes;
    m.size = size;
    m.room = room;
    while (changes < 5 && mutate_below(&rng, 3) == 0)
        changes++;
    for (; changes > 0 && m.size > 0; changes--) {
        m.fields = 0;
        walk(&m, 0, m.size, -1, 0);
        if (m.fields == 0 || (!keep_data && mutate_below(&rng, 16) == 0)) {
            change_anything(&m, &rng);
            continue;
        }
        const struct field *f = &m.field[mutate_below(&rng, (uint32_t)m.fields)];
        if (keep_data && is_data(&m, f))
            continue;
        if (mutate_below(&rng, 3) == 0)
            rearrange(&m, &rng, f);
        else
            change_value(&m, &rng, f);
    }
    return m.size;
}
