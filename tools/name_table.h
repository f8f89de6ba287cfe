/* SPDX-License-Identifier: Apache-2.0 */
/* Names, each with what its user keeps for it: a hash table that grows in an arena. */
#ifndef IPEX_TOOLS_NAME_TABLE_H
#define IPEX_TOOLS_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "tools/arena.h"

struct ipex_name {
    const char *text; /* the caller's, which must stay as long as the table; NULL: a free slot */
    union {
        void *pointer;
        uint32_t number;
    } value; /* all zeros at first */
};

/* With an arena alone it is an empty table. */
struct ipex_name_table {
    struct ipex_arena *arena; /* of the slots; frees them */
    struct ipex_name *slot;   /* open addressing; the number of slots is a power of two */
    size_t slots, used;
};

/* The name that equals `text`; NULL where there is none. */
struct ipex_name *ipex_name_find(const struct ipex_name_table *table, const char *text);
/* The same, added where there is none. Valid until the next name is added. */
struct ipex_name *ipex_name_add(struct ipex_name_table *table, const char *text);
#endif
