/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of the metadata, each stored once: names stand in weights, tensors, nodes and the ledger,
 * and sessions of a loaded file keep all of it in memory. */
#ifndef IPEX_TOOLS_CONVERT_SHARED_STRINGS_H
#define IPEX_TOOLS_CONVERT_SHARED_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "format/fb_build.h"

struct ipex_shared_string {
    const char *text;
    uint32_t ref;
};

/* All zeros is an empty set. */
struct ipex_shared_strings {
    struct ipex_shared_string *slot; /* open addressing, free where text is NULL */
    size_t slots, used;
};

/* The reference of a string in b that equals `text`, built on its first use. `text` must stay as
 * long as the set. */
uint32_t ipex_shared_string(struct ipex_shared_strings *strings, struct ipex_fb_builder *b,
                            const char *text);

void ipex_shared_strings_finish(struct ipex_shared_strings *strings);

#endif
