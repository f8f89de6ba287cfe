/* SPDX-License-Identifier: Apache-2.0 */
/* What start.py needs besides the measured programs:
 *
 *   start exec PROGRAM [ARGUMENT]...   prints the time and becomes that program
 *   start touch FILE                   maps a file and reads a byte of every page of it
 *
 * One line of JSON each. Times are of CLOCK_MONOTONIC. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/process.h"

static int fail(const char *what) {
    perror(what);
    return 1;
}

/* The line leaves before the program begins: its time is not that program's. */
static int become(char **argv) {
    char line[64];
    const int length = snprintf(line, sizeof line, "{\"exec_at_us\": %.3f}\n", process_now_us());
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        return fail("stdout");
    execv(argv[0], argv);
    return fail(argv[0]);
}

static int touch(const char *path) {
    struct stat about;
    struct process_faults before, after;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0)
        return fail(path);
    const size_t size = (size_t)about.st_size, page = (size_t)sysconf(_SC_PAGESIZE);
    before = process_faults();
    const double start = process_now_us();
    const volatile uint8_t *file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return fail(path);
    for (size_t at = 0; at < size; at += page)
        (void)file[at];
    const double us = process_now_us() - start;
    after = process_faults();
    printf("{\"us\": %.1f, \"bytes\": %zu, \"minor\": %ld, \"major\": %ld}\n", us, size,
           after.minor - before.minor, after.major - before.major);
    return 0;
}

int main(int argc, char **argv) {
    if (argc >= 3 && strcmp(argv[1], "exec") == 0)
        return become(argv + 2);
    if (argc == 3 && strcmp(argv[1], "touch") == 0)
        return touch(argv[2]);
    fputs("usage: start exec PROGRAM [ARGUMENT]... | start touch FILE\n", stderr);
    return 2;
}
