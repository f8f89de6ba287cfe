/* SPDX-License-Identifier: Apache-2.0 */
/* The loader's calls of the operating system, all of them. */
#include "loader/map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The errors that a user can do something about; strerror would drag in locales. */
static const char *error_text(int error) {
    switch (error) {
    case ENOENT:
        return "no such file";
    case ENOTDIR:
        return "a part of the path is no directory";
    case EACCES:
    case EPERM:
        return "permission denied";
    case EBADF:
        return "not a descriptor open for reading";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    case ENOMEM:
        return "out of address space";
    case EIO:
        return "the device failed";
    default:
        return "the operating system refused";
    }
}

static enum ipex_status refuse(const struct ipex_report *report, const char *what, int error) {
    return ipex_fail(report, IPEX_ERROR_FILE_IO, "%s: %s (errno %d)", what, error_text(error),
                     error);
}

static enum ipex_status open_descriptor(const struct ipex_source *source, struct ipex_file *file,
                                        const struct ipex_report *report) {
    struct stat info;
    file->fd = source->fd;
    if (source->path) {
        do /* non-blocking: a pipe must not hang us before it is refused */
            file->fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        while (file->fd < 0 && errno == EINTR);
        if (file->fd < 0)
            return refuse(report, "cannot open", errno);
        file->owned = true;
    }
    if (fstat(file->fd, &info) != 0)
        return refuse(report, "cannot look at the file", errno);
    IPEX_CHECK(S_ISREG(info.st_mode), report, IPEX_ERROR_FILE_IO, "not a regular file");
    file->size = (uint64_t)info.st_size;
    return IPEX_OK;
}

enum ipex_status ipex_file_open(const struct ipex_source *source, struct ipex_file *ret_file,
                                const struct ipex_report *report) {
    struct ipex_file file = {.fd = -1};
    if (!source->path && source->bytes) {
        /* Weights are at multiples of 64 in sections at multiples of 64 KiB; pages are what maps
         * give. */
        IPEX_CHECK((uintptr_t)source->bytes % 4096 == 0, report, IPEX_ERROR_ARGUMENT,
                   "a file in memory must be aligned to 4096 bytes");
        file.bytes = source->bytes;
        file.size = source->size;
        *ret_file = file;
        return IPEX_OK;
    }
    enum ipex_status status = open_descriptor(source, &file, report);
    if (status == IPEX_OK)
        *ret_file = file;
    else
        ipex_file_close(&file);
    if (status != IPEX_OK && source->path)
        return ipex_fail_at(report, status, "%s: ", source->path);
    return status;
}

void ipex_file_close(struct ipex_file *file) {
    if (file->owned)
        close(file->fd);
    file->owned = false;
    file->fd = -1;
}

enum ipex_status ipex_file_read(const struct ipex_file *file, uint64_t offset, void *buffer,
                                size_t size, const struct ipex_report *report) {
    uint8_t *to = buffer;
    IPEX_CHECK(ipex_range_ok(offset, size, file->size), report, IPEX_ERROR_FILE_TRUNCATED,
               "the file has only %llu bytes", (unsigned long long)file->size);
    if (file->bytes) {
        memcpy(buffer, file->bytes + offset, size);
        return IPEX_OK;
    }
    while (size > 0) {
        ssize_t got = pread(file->fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return refuse(report, "cannot read", errno);
        IPEX_CHECK(got > 0, report, IPEX_ERROR_FILE_TRUNCATED, "the file ended while it was read");
        to += got;
        size -= (size_t)got;
        offset += (uint64_t)got;
    }
    return IPEX_OK;
}

enum ipex_status ipex_file_map(const struct ipex_file *file, enum ipex_load_prefault prefault,
                               const uint8_t **ret_bytes, bool *ret_mapped,
                               const struct ipex_report *report) {
    if (file->bytes) {
        *ret_bytes = file->bytes;
        *ret_mapped = false;
        return IPEX_OK;
    }
    int flags = MAP_SHARED | (prefault == IPEX_LOAD_POPULATE ? MAP_POPULATE : 0);
    void *bytes = mmap(NULL, (size_t)file->size, PROT_READ, flags, file->fd, 0);
    if (bytes == MAP_FAILED)
        return refuse(report, "cannot map", errno);
    if (prefault == IPEX_LOAD_WILLNEED) /* a hint: the file is read either way */
        (void)madvise(bytes, (size_t)file->size, MADV_WILLNEED);
    *ret_bytes = bytes;
    *ret_mapped = true;
    return IPEX_OK;
}

void ipex_file_unmap(const uint8_t *bytes, uint64_t size) {
    munmap((void *)(uintptr_t)bytes, (size_t)size);
}
