/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/convert/shared_strings.h"

#include <stdlib.h>
#include <string.h>

#include "tools/arena.h"

/* FNV-1a, 64 bits (public domain; Fowler, Noll, Vo). */
static size_t hash(const char *text) {
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        value = (value ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return (size_t)(value ^ value >> 32);
}

/* Where `text` is, or belongs. */
static struct ipex_shared_string *find(const struct ipex_shared_strings *strings,
                                       const char *text) {
    size_t at = hash(text) & (strings->slots - 1);
    while (strings->slot[at].text && strcmp(strings->slot[at].text, text) != 0)
        at = (at + 1) & (strings->slots - 1);
    return &strings->slot[at];
}

/* Twice as many slots, at most half of them taken. */
static void grow(struct ipex_shared_strings *strings) {
    const struct ipex_shared_strings old = *strings;
    strings->slots = old.slots ? 2 * old.slots : 256;
    strings->slot = ipex_alloc(strings->slots * sizeof *strings->slot);
    memset(strings->slot, 0, strings->slots * sizeof *strings->slot);
    for (size_t i = 0; i < old.slots; i++)
        if (old.slot[i].text)
            *find(strings, old.slot[i].text) = old.slot[i];
    free(old.slot);
}

uint32_t ipex_shared_string(struct ipex_shared_strings *strings, struct ipex_fb_builder *b,
                            const char *text) {
    if (2 * (strings->used + 1) > strings->slots)
        grow(strings);
    struct ipex_shared_string *slot = find(strings, text);
    if (!slot->text) {
        *slot = (struct ipex_shared_string){text, ipex_fb_string(b, text)};
        strings->used++;
    }
    return slot->ref;
}

void ipex_shared_strings_finish(struct ipex_shared_strings *strings) {
    free(strings->slot);
    *strings = (struct ipex_shared_strings){0};
}
