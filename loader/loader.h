/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes -> checked, mapped image. Only map.c calls the operating system; image.c orders the steps:
 * header (128 bytes) -> metadata read into caller memory -> digest -> FlatBuffer verifier -> format
 * checker -> sections mapped read-only -> tables. Nothing of the file is used before the check has
 * passed. */
#ifndef IPEX_LOADER_H
#define IPEX_LOADER_H

#include <stdatomic.h>

#include "format/base.h"
#include "format/check.h"

struct ipex_image_entry {
    struct ipex_fb_entry fb;
    int32_t tensors, nodes, inputs, outputs;
    const struct ipex_tensor_info *tensor; /* [tensors] */
};

/* Room to resolve one entry's tensors at other values of its symbols, while a session is measured:
 * the one part of an image that changes, so whoever uses it holds `busy`. */
struct ipex_image_scratch {
    _Atomic uint32_t busy;           /* a lock (runtime/threads.h) */
    struct ipex_tensor_info *tensor; /* [of the entry with symbols that has most] */
    int64_t *capacity;               /* [as many] */
};

struct ipex_image {
    struct ipex_fb_model model;
    const uint8_t *metadata; /* the caller's copy, header included */
    size_t metadata_size;
    const uint8_t *file; /* the whole file, mapped or given; read-only */
    uint64_t file_size;
    bool mapped; /* to be unmapped at close */
    uint8_t digest[32];
    int32_t entries;
    struct ipex_image_entry *entry;
    struct ipex_image_scratch *scratch;
};

enum ipex_load_prefault { IPEX_LOAD_LAZY, IPEX_LOAD_WILLNEED, IPEX_LOAD_POPULATE };

struct ipex_load_options {
    const uint8_t *expect_digest; /* 32 bytes or NULL */
    enum ipex_load_prefault prefault;
    bool verify_data;
    struct ipex_report report;
};

/* Where the bytes come from: a path, a descriptor, or memory. */
struct ipex_source {
    const char *path;  /* used when not NULL */
    const void *bytes; /* used when path is NULL and this is not */
    size_t size;
    int fd; /* used when both are NULL */
};

IPEX_WARN_UNUSED enum ipex_status ipex_load_measure(const struct ipex_source *source,
                                                    const struct ipex_load_options *options,
                                                    size_t *ret_size);
IPEX_WARN_UNUSED enum ipex_status ipex_load(const struct ipex_source *source, void *memory,
                                            size_t size, const struct ipex_load_options *options,
                                            struct ipex_image **ret_image);
void ipex_unload(struct ipex_image *image);

/* First byte of a weight, where it lies in the map. The index has been checked. */
const void *ipex_image_weight(const struct ipex_image *image, int32_t weight);

#endif
