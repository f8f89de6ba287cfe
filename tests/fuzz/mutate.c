/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the FlatBuffer by the verifier's own tables collects what can be changed, then a few
 * of those places are. */
#include "tests/fuzz/mutate.h"

#include "format/model_fb.h"
#include "format/check.h"
#include "format/model_fb_tables.h"

#define PLACES 16384

enum place_kind { PLACE_SCALAR, PLACE_LENGTH, PLACE_REFERENCE, PLACE_VTABLE };

struct place {
    uint32_t at;
    uint16_t group; /* table type and field: places of one group may be exchanged */
    uint8_t kind, size;
};

struct places {
    uint8_t *bytes;
    uint32_t count, of_kind[4];
    struct place place[PLACES];
};

struct mutate_rng mutate_rng(uint64_t seed) {
    struct mutate_rng rng = {seed * UINT64_C(0x9e3779b97f4a7c15) ^ UINT64_C(0xd1b54a32d192ed03)};
    rng.state += rng.state == 0;
    return rng;
}

static uint64_t next(struct mutate_rng *rng) {
    rng->state ^= rng->state >> 12;
    rng->state ^= rng->state << 25;
    rng->state ^= rng->state >> 27;
    return rng->state * UINT64_C(0x2545f4914f6cdd1d);
}

uint32_t mutate_below(struct mutate_rng *rng, uint32_t limit) {
    return (uint32_t)((next(rng) >> 32) * limit >> 32);
}

/* ---- what there is ---- */

static void add(struct places *p, enum place_kind kind, uint32_t at, unsigned size,
                unsigned group) {
    if (p->count == PLACES)
        return;
    p->place[p->count++] = (struct place){at, (uint16_t)group, (uint8_t)kind, (uint8_t)size};
    p->of_kind[kind]++;
}

/* Elements of scalars one by one; a struct counts as u64s, which Section is made of (its last two
 * u32 are one place). */
static void add_elements(struct places *p, uint32_t vector, unsigned size, unsigned group) {
    unsigned step = size > 8 ? 8 : size;
    uint32_t count = ipex_fb_u32(p->bytes + vector) * (size / step);
    add(p, PLACE_LENGTH, vector, 4, group);
    for (uint32_t i = 0; i < count; i++)
        add(p, PLACE_SCALAR, vector + 4 + i * step, step, group + i % (size / step));
}

static void add_table(struct places *p, uint32_t table, unsigned type);

/* What a reference field leads to. The depth of tables is the schema's, at most 3. */
static void add_target(struct places *p, const struct ipex_fb_field *field, uint32_t slot,
                       unsigned group) {
    uint32_t target = slot + ipex_fb_u32(p->bytes + slot);
    if (field->kind == IPEX_FB_STRING || field->kind == IPEX_FB_VECTOR) {
        add_elements(p, target, field->kind == IPEX_FB_STRING ? 1 : field->size, group);
        return;
    }
    uint32_t count = ipex_fb_u32(p->bytes + target);
    add(p, PLACE_LENGTH, target, 4, group);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t element = target + 4 + 4 * i;
        add(p, PLACE_REFERENCE, element, 4, group + 8);
        if (field->kind == IPEX_FB_TABLES)
            add_table(p, element + ipex_fb_u32(p->bytes + element), field->table);
    }
}

static void add_table(struct places *p, uint32_t table, unsigned type) {
    const struct ipex_fb_table *fields = &ipex_fb_schema.tables[type];
    uint32_t vtable = table - ipex_fb_u32(p->bytes + table);
    add(p, PLACE_VTABLE, table, 4, type * 512 + 1); /* where the vtable is */
    add(p, PLACE_VTABLE, vtable, 2, type * 512 + 2);
    add(p, PLACE_VTABLE, vtable + 2, 2, type * 512 + 3);
    for (unsigned id = 0; id < fields->count; id++) {
        const struct ipex_fb_field *field = &fields->fields[id];
        const uint8_t *slot = ipex_fb_slot(p->bytes + table, id);
        unsigned group = (type * 32 + id) * 16;
        if (!slot)
            continue;
        uint32_t at = (uint32_t)(slot - p->bytes);
        add(p, PLACE_VTABLE, vtable + 4 + 2 * id, 2, type * 512);
        if (field->kind == IPEX_FB_SCALAR) {
            add(p, PLACE_SCALAR, at, field->size, group);
            continue;
        }
        add(p, PLACE_REFERENCE, at, 4, group);
        add_target(p, field, at, group);
    }
}

/* ---- changes ---- */

static uint64_t load(const struct places *p, const struct place *place) {
    uint64_t value = 0;
    memcpy(&value, p->bytes + place->at, place->size);
    return value;
}

static void store(struct places *p, const struct place *place, uint64_t value) {
    memcpy(p->bytes + place->at, &value, place->size);
}

static uint64_t interesting(struct mutate_rng *rng) {
    static const uint64_t values[] = {
        0,
        1,
        2,
        3,
        4,
        7,
        8,
        9,
        15,
        16,
        17,
        31,
        32,
        64,
        100,
        127,
        128,
        255,
        256,
        1024,
        1025,
        4096,
        65535,
        65536,
        0x7fffffff,
        0x80000000,
        0xffffffff,
        UINT64_C(1) << 32,
        UINT64_C(1) << 40,
        INT64_MAX,
        UINT64_C(1) << 63,
        UINT64_MAX,
        UINT64_MAX - 1,
        UINT64_MAX - 15,
        0x7fc00000,
        0x7f800000,
        0xff800000,
        0x00000001,
        0x3f800000, /* f32: NaN, infinities, smallest, one */
    };
    return values[mutate_below(rng, sizeof values / sizeof values[0])];
}

/* Small numbers are what most indices, dims and attributes are. */
static uint64_t changed(struct mutate_rng *rng, uint64_t old) {
    switch (mutate_below(rng, 6)) {
    case 0:
        return old + 1;
    case 1:
        return old - 1;
    case 2:
        return mutate_below(rng, 2) ? old * 2 : old / 2;
    case 3:
        return interesting(rng);
    case 4:
        return old ^ UINT64_C(1) << mutate_below(rng, 64);
    default:
        return mutate_below(rng, 24);
    }
}

static struct place *pick(struct places *p, struct mutate_rng *rng, enum place_kind kind) {
    if (p->of_kind[kind] == 0)
        return NULL;
    for (;;) {
        struct place *place = &p->place[mutate_below(rng, p->count)];
        if (place->kind == kind)
            return place;
    }
}

/* Another place of the same group, or the same one. */
static struct place *pick_like(struct places *p, struct mutate_rng *rng, const struct place *like) {
    uint32_t start = mutate_below(rng, p->count);
    for (uint32_t i = 0; i < p->count; i++) {
        struct place *place = &p->place[(start + i) % p->count];
        if (place->kind == like->kind && place->group == like->group && place->size == like->size)
            return place;
    }
    return NULL;
}

static void exchange(struct places *p, struct mutate_rng *rng, const struct place *a) {
    const struct place *b = pick_like(p, rng, a);
    uint64_t x = load(p, a), y = load(p, b);
    store(p, a, y);
    if (mutate_below(rng, 2))
        store(p, b, x);
}

/* One size of the network becomes another everywhere: dims of tensors, ports and weights (all 8
 * bytes) stay consistent; now and then attributes (4 bytes) follow. */
static void replace_everywhere(struct places *p, struct mutate_rng *rng, const struct place *like) {
    uint64_t from = load(p, like), to = changed(rng, from);
    int attributes = mutate_below(rng, 3) == 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct place *place = &p->place[i];
        if (place->kind == PLACE_SCALAR && (place->size == 8 || (attributes && place->size == 4)) &&
            load(p, place) == from)
            store(p, place, to);
    }
}

static void change_scalar(struct places *p, struct mutate_rng *rng) {
    const struct place *place = pick(p, rng, PLACE_SCALAR);
    for (int i = 0; place && place->size == 1 && i < 3; i++)
        place = pick(p, rng, PLACE_SCALAR); /* letters are many and dull */
    if (!place)
        return;
    switch (mutate_below(rng, 4)) {
    case 0:
        exchange(p, rng, place);
        return;
    case 1:
        if (place->size == 8) {
            replace_everywhere(p, rng, place);
            return;
        } /* fall through */
    default:
        store(p, place, changed(rng, load(p, place)));
    }
}

static void change_length(struct places *p, struct mutate_rng *rng) {
    const struct place *place = pick(p, rng, PLACE_LENGTH);
    if (place)
        store(p, place, mutate_below(rng, 3) ? load(p, place) - 1 : changed(rng, load(p, place)));
}

/* Leads where another reference of its group leads, if that lies behind it. */
static void change_reference(struct places *p, struct mutate_rng *rng) {
    const struct place *a = pick(p, rng, PLACE_REFERENCE);
    if (!a)
        return;
    const struct place *b = pick_like(p, rng, a);
    uint64_t target = b->at + load(p, b);
    if (target > a->at)
        store(p, a, target - a->at);
}

/* A field is left out, or lies where another one of its table does. */
static void change_vtable(struct places *p, struct mutate_rng *rng) {
    const struct place *place = pick(p, rng, PLACE_VTABLE);
    if (!place)
        return;
    const struct place *other = pick_like(p, rng, place);
    store(p, place, mutate_below(rng, 2) ? 0 : load(p, other));
}

static void change_byte(uint8_t *bytes, size_t size, struct mutate_rng *rng) {
    size_t at = mutate_below(rng, (uint32_t)size);
    static const uint8_t values[] = {0, 1, 4, 0x7f, 0x80, 0xfc, 0xff};
    if (mutate_below(rng, 2))
        bytes[at] ^= (uint8_t)(1u << mutate_below(rng, 8));
    else
        bytes[at] = values[mutate_below(rng, sizeof values)];
}

static void change_word(uint8_t *bytes, size_t size, struct mutate_rng *rng) {
    size_t at = mutate_below(rng, (uint32_t)(size / 4)) * (size_t)4;
    uint32_t value = ipex_fb_u32(bytes + at);
    value =
        mutate_below(rng, 2) ? (uint32_t)interesting(rng) : value + 4 * (mutate_below(rng, 9) - 4);
    memcpy(bytes + at, &value, sizeof value);
}

/* Any value in a place that holds the FlatBuffer together. */
static void change_structure(struct places *p, struct mutate_rng *rng) {
    static const enum place_kind kinds[] = {PLACE_LENGTH, PLACE_REFERENCE, PLACE_VTABLE};
    const struct place *place = pick(p, rng, kinds[mutate_below(rng, 3)]);
    if (place)
        store(p, place, changed(rng, load(p, place)));
}

static void change_some(struct places *p, struct mutate_rng *rng) {
    uint32_t choice = mutate_below(rng, 20);
    if (choice < 14)
        change_scalar(p, rng);
    else if (choice < 16)
        change_length(p, rng);
    else if (choice < 18)
        change_reference(p, rng);
    else
        change_vtable(p, rng);
}

static int collect(struct places *p, uint8_t *bytes, size_t size) {
    p->bytes = bytes;
    p->count = 0;
    memset(p->of_kind, 0, sizeof p->of_kind);
    if (size < IPEX_HEADER_SIZE + 4 || size > IPEX_METADATA_MAX ||
        ipex_fb_verify(&ipex_fb_schema, bytes, (uint32_t)size, IPEX_HEADER_SIZE, NULL) != IPEX_OK)
        return 0;
    add_table(p, ipex_fb_u32(bytes), ipex_fb_schema.root);
    return p->count > 0;
}

void mutate_metadata(uint8_t *bytes, size_t size, uint64_t seed, int raw) {
    static struct places places;
    struct mutate_rng rng = mutate_rng(seed);
    int changes = 1;
    while (changes < 6 && mutate_below(&rng, 3) == 0)
        changes++;
    for (; changes > 0 && size >= 8; changes--) {
        uint32_t choice = mutate_below(&rng, 64);
        if (choice < (raw ? 24u : 1u) || !collect(&places, bytes, size))
            mutate_below(&rng, 2) ? change_byte(bytes, size, &rng) : change_word(bytes, size, &rng);
        else if (raw && choice < 48)
            change_structure(&places, &rng);
        else
            change_some(&places, &rng);
    }
}

void mutate_repair(uint8_t *bytes, size_t size) {
    uint64_t metadata_size;
    if (size < IPEX_HEADER_SIZE)
        return;
    memcpy(&metadata_size, bytes + 32, sizeof metadata_size);
    if (metadata_size >= IPEX_HEADER_SIZE && metadata_size <= size)
        ipex_metadata_digest(bytes, metadata_size, bytes + 64);
}
