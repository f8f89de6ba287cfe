/* SPDX-License-Identifier: Apache-2.0 */
/* An output file that appears whole or not at all. It has no name while it is written (O_TMPFILE),
 * so nothing is left behind even when the process is killed; where the file system has no such
 * files, a temporary name beside the target is used, and removed on every failure but a kill. An
 * existing file is replaced at the end, by rename; so is a link to a regular file, or to nothing:
 * it is not followed. What leads to a device, a pipe or a folder is refused. */
#ifndef IPEX_TOOLS_ATOMIC_FILE_H
#define IPEX_TOOLS_ATOMIC_FILE_H

#include "format/base.h"

struct ipex_atomic_file {
    int fd, folder_fd; /* -1: none */
    char *path;        /* of the target */
    const char *name;  /* its last component, in `path` */
    char *temporary;   /* name in the folder while there is one, else NULL */
};

/* Failures are ERROR_FILE_IO and name the path and the reason: no such folder, not writable, disk
 * full ... On failure nothing is held. */
IPEX_WARN_UNUSED enum ipex_status ipex_atomic_open(const char *path, struct ipex_atomic_file *ret,
                                                   const struct ipex_report *report);
/* All of `size` bytes at `offset`; the parts never written read as zero. The file stays open on
 * failure. */
IPEX_WARN_UNUSED enum ipex_status ipex_atomic_write(struct ipex_atomic_file *file,
                                                    const void *bytes, size_t size, uint64_t offset,
                                                    const struct ipex_report *report);
/* Syncs the file, gives it its name, syncs the folder. Whatever the result, the file is closed. */
IPEX_WARN_UNUSED enum ipex_status ipex_atomic_commit(struct ipex_atomic_file *file,
                                                     const struct ipex_report *report);
/* Closes and forgets it. Allowed after a commit and on {.fd = -1, .folder_fd = -1}. */
void ipex_atomic_discard(struct ipex_atomic_file *file);

#endif
