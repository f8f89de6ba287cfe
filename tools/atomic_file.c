/* SPDX-License-Identifier: Apache-2.0 */
/* O_TMPFILE, then linkat straight to the target name when that is free, else to a temporary name
 * that is renamed over the old file. All names are relative to the folder's descriptor: a folder
 * that is moved meanwhile does no harm. */
#include "tools/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/arena.h"

#define NAME_ATTEMPTS 100

static enum ipex_status io_error(const struct ipex_report *report, const char *path,
                                 const char *doing, int error) {
    const char *hint = error == ENOSPC || error == EDQUOT ? " (the disk is full)"
                       : error == EFBIG                   ? " (a file size limit is set)"
                                                          : "";
    return ipex_fail(report, IPEX_ERROR_FILE_IO, "%s: %s: %s%s", path, doing, strerror(error),
                     hint);
}

/* A new ".NAME.XXXXXXXX.tmp". Not secret, only unlikely to be taken: names are made with O_EXCL or
 * linkat. */
static void make_temporary_name(struct ipex_atomic_file *file, unsigned attempt) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    size_t size = strlen(file->name) + 32;
    free(file->temporary);
    file->temporary = ipex_alloc(size);
    unsigned mixed = (unsigned)now.tv_nsec * 2654435761u ^ (unsigned)getpid() << 8 ^ attempt;
    snprintf(file->temporary, size, ".%.200s.%08x.tmp", file->name, mixed);
}

static void forget_temporary_name(struct ipex_atomic_file *file) {
    free(file->temporary);
    file->temporary = NULL;
}

static enum ipex_status open_folder(struct ipex_atomic_file *file,
                                    const struct ipex_report *report) {
    size_t length = (size_t)(file->name - file->path);
    char *folder = ipex_alloc(length + 2);
    memcpy(folder, file->path, length);
    memcpy(folder + length, ".", 2); /* "dir/." or "." */
    file->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    free(folder);
    if (file->folder_fd < 0)
        return io_error(report, file->path, "cannot open the folder", error);
    return IPEX_OK;
}

/* "/dev/stdout" and its like: a rename would take the link from everyone, wherever it leads now. */
static bool is_stream(const struct ipex_atomic_file *file) {
    static const char proc[] = "/proc/";
    char text[sizeof proc];
    const ssize_t got = readlinkat(file->folder_fd, file->name, text, sizeof proc - 1);
    return got == (ssize_t)sizeof proc - 1 && !memcmp(text, proc, sizeof proc - 1);
}

/* An existing target must be something that a rename may replace: a regular file, or a link to one
 * or to nothing. */
static enum ipex_status check_target(const struct ipex_atomic_file *file,
                                     const struct ipex_report *report) {
    struct stat status;
    if (!*file->name)
        return ipex_fail(report, IPEX_ERROR_FILE_IO, "%s: not a file name", file->path);
    if (fstatat(file->folder_fd, file->name, &status, AT_SYMLINK_NOFOLLOW))
        return IPEX_OK; /* nothing there, or nothing that can be seen: commit will tell */
    if (S_ISLNK(status.st_mode) && !is_stream(file) &&
        fstatat(file->folder_fd, file->name, &status, 0))
        return IPEX_OK; /* it leads nowhere */
    if (S_ISDIR(status.st_mode))
        return io_error(report, file->path, "cannot replace", EISDIR);
    if (!S_ISREG(status.st_mode))
        return ipex_fail(report, IPEX_ERROR_FILE_IO, "%s: not a regular file", file->path);
    return IPEX_OK;
}

static enum ipex_status open_nameless(struct ipex_atomic_file *file,
                                      const struct ipex_report *report) {
    /* without /proc a nameless file could not be given its name */
    if (!access("/proc/self/fd", X_OK)) {
        file->fd = openat(file->folder_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
        if (file->fd >= 0)
            return IPEX_OK;
        if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL)
            return io_error(report, file->path, "cannot create", errno);
    }
    for (unsigned attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        make_temporary_name(file, attempt);
        file->fd = openat(file->folder_fd, file->temporary,
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file->fd >= 0)
            return IPEX_OK;
        if (errno != EEXIST)
            break;
    }
    int error = errno;
    forget_temporary_name(file); /* not ours to unlink */
    return io_error(report, file->path, "cannot create", error);
}

enum ipex_status ipex_atomic_open(const char *path, struct ipex_atomic_file *ret,
                                  const struct ipex_report *report) {
    struct ipex_atomic_file file = {.fd = -1, .folder_fd = -1};
    file.path = ipex_alloc(strlen(path) + 1);
    strcpy(file.path, path);
    char *slash = strrchr(file.path, '/');
    file.name = slash ? slash + 1 : file.path;
    enum ipex_status status = open_folder(&file, report);
    if (status == IPEX_OK)
        status = check_target(&file, report);
    if (status == IPEX_OK)
        status = open_nameless(&file, report);
    if (status == IPEX_OK)
        *ret = file;
    else
        ipex_atomic_discard(&file);
    return status;
}

enum ipex_status ipex_atomic_write(struct ipex_atomic_file *file, const void *bytes, size_t size,
                                   uint64_t offset, const struct ipex_report *report) {
    const char *at = bytes;
    while (size) {
        ssize_t done = pwrite(file->fd, at, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return io_error(report, file->path, "cannot write", done ? errno : ENOSPC);
        at += done;
        size -= (size_t)done;
        offset += (uint64_t)done;
    }
    return IPEX_OK;
}

/* Links the nameless file to `name` in its folder; errno on failure. */
static bool link_as(const struct ipex_atomic_file *file, const char *name) {
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    return !linkat(AT_FDCWD, self, file->folder_fd, name, AT_SYMLINK_FOLLOW);
}

/* Gives the file its name, or a temporary one where the target exists. */
static bool give_name(struct ipex_atomic_file *file) {
    if (file->temporary || link_as(file, file->name))
        return true;
    for (unsigned attempt = 0; errno == EEXIST && attempt < NAME_ATTEMPTS; attempt++) {
        make_temporary_name(file, attempt);
        if (link_as(file, file->temporary))
            return true;
    }
    int error = errno;
    forget_temporary_name(file);
    errno = error;
    return false;
}

/* A signal may end the wait for the disk early. */
static bool synced(int fd) {
    int result;
    do
        result = fsync(fd);
    while (result && errno == EINTR);
    return !result;
}

static enum ipex_status commit(struct ipex_atomic_file *file, const struct ipex_report *report) {
    if (!synced(file->fd))
        return io_error(report, file->path, "cannot write", errno);
    if (!give_name(file))
        return io_error(report, file->path, "cannot create", errno);
    if (file->temporary) {
        if (renameat(file->folder_fd, file->temporary, file->folder_fd, file->name))
            return io_error(report, file->path, "cannot replace", errno);
        forget_temporary_name(file);
    }
    /* some file systems cannot sync folders; the file itself is safe */
    if (!synced(file->folder_fd) && errno != EINVAL && errno != EROFS)
        return io_error(report, file->path, "cannot sync the folder", errno);
    return IPEX_OK;
}

enum ipex_status ipex_atomic_commit(struct ipex_atomic_file *file,
                                    const struct ipex_report *report) {
    enum ipex_status status = commit(file, report);
    ipex_atomic_discard(file);
    return status;
}

void ipex_atomic_discard(struct ipex_atomic_file *file) {
    if (file->temporary)
        unlinkat(file->folder_fd, file->temporary, 0);
    if (file->fd >= 0)
        close(file->fd);
    if (file->folder_fd >= 0)
        close(file->folder_fd);
    free(file->temporary);
    free(file->path);
    *file = (struct ipex_atomic_file){.fd = -1, .folder_fd = -1};
}
