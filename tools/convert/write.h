/* SPDX-License-Identifier: Apache-2.0 */
/* Plan -> bytes of an .ipex file, as format/FORMAT.md lays them down. */
#ifndef IPEX_TOOLS_WRITE_H
#define IPEX_TOOLS_WRITE_H

#include "tools/convert/draft.h"

struct ipex_write_entry {
    const char *name;
    struct ipex_plan *plan;
    const struct ipex_ledger *ledger; /* may be NULL */
};

struct ipex_write {
    const struct ipex_write_entry *entry; /* [entries] */
    size_t entries;                       /* 1 to IPEX_ENTRIES_MAX */
    const char *source, *options;
    const char *const *metadata_keys, *const *metadata_values;
    size_t metadata;
};

/* Where the bytes go; returns a status after filling the report. */
typedef enum ipex_status (*ipex_write_fn)(void *user, const void *bytes, size_t size,
                                          uint64_t offset, const struct ipex_report *report);

struct ipex_written {
    uint64_t file_size, metadata_size, weight_bytes, answer_bytes;
    uint64_t shared_bytes; /* that would be there once more if entries did not share constants */
};

/* Packs one weight at a time, so that memory beyond the source stays at the largest tensor. */
IPEX_WARN_UNUSED enum ipex_status ipex_write(const struct ipex_write *write, ipex_write_fn fn,
                                             void *user, struct ipex_written *ret,
                                             const struct ipex_report *report);

#endif
