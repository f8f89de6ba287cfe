/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/name_table.h"

#include <string.h>

#define FIRST_SLOTS 256

/* FNV-1a, 64 bits (public domain; Fowler, Noll, Vo). */
static size_t hash(const char *text) {
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        value = (value ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return (size_t)(value ^ value >> 32);
}

/* Where `text` is, or belongs: some slot is always free. */
static struct ipex_name *find_slot(const struct ipex_name_table *table, const char *text) {
    size_t at = hash(text) & (table->slots - 1);
    while (table->slot[at].text && strcmp(table->slot[at].text, text) != 0)
        at = (at + 1) & (table->slots - 1);
    return &table->slot[at];
}

/* Twice as many slots, at most half of them taken. */
static void grow(struct ipex_name_table *table) {
    const struct ipex_name_table old = *table;
    table->slots = old.slots ? 2 * old.slots : FIRST_SLOTS;
    table->slot = ipex_arena_array(table->arena, table->slots, sizeof *table->slot);
    for (size_t i = 0; i < old.slots; i++)
        if (old.slot[i].text)
            *find_slot(table, old.slot[i].text) = old.slot[i];
}

struct ipex_name *ipex_name_find(const struct ipex_name_table *table, const char *text) {
    struct ipex_name *name = table->slots ? find_slot(table, text) : NULL;
    return name && name->text ? name : NULL;
}

struct ipex_name *ipex_name_add(struct ipex_name_table *table, const char *text) {
    if (2 * (table->used + 1) > table->slots)
        grow(table);
    struct ipex_name *name = find_slot(table, text);
    if (!name->text) {
        name->text = text;
        table->used++;
    }
    return name;
}
