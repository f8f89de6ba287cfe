/* SPDX-License-Identifier: Apache-2.0 */
/* The loader's view of the operating system: a file is a size, reads at offsets, and one read-only
 * map. Private to the loader. */
#ifndef IPEX_LOADER_MAP_H
#define IPEX_LOADER_MAP_H

#include "loader/loader.h"

struct ipex_file {
    const uint8_t *bytes; /* a file in memory; NULL: the descriptor counts */
    int fd;
    bool owned; /* the descriptor is ours to close */
    uint64_t size;
};

/* Opens a source and takes its size. A descriptor of the caller's stays open and keeps its
 * position. ERROR_FILE_IO, ERROR_ARGUMENT. */
IPEX_WARN_UNUSED enum ipex_status ipex_file_open(const struct ipex_source *source,
                                                 struct ipex_file *ret_file,
                                                 const struct ipex_report *report);
void ipex_file_close(struct ipex_file *file);

/* Reads exactly `size` bytes. ERROR_FILE_IO, ERROR_FILE_TRUNCATED. */
IPEX_WARN_UNUSED enum ipex_status ipex_file_read(const struct ipex_file *file, uint64_t offset,
                                                 void *buffer, size_t size,
                                                 const struct ipex_report *report);

/* Maps all of the file, shared and read-only; file->size must fit a size_t. A file in memory is
 * given as it is. ret_mapped: to be unmapped. The descriptor may be closed afterwards. */
IPEX_WARN_UNUSED enum ipex_status ipex_file_map(const struct ipex_file *file,
                                                enum ipex_load_prefault prefault,
                                                const uint8_t **ret_bytes, bool *ret_mapped,
                                                const struct ipex_report *report);
void ipex_file_unmap(const uint8_t *bytes, uint64_t size);

#endif
