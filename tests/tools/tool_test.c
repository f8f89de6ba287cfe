/* SPDX-License-Identifier: Apache-2.0 */
/* Everything fails loudly: a test that cannot be set up is a failed test. */
#include "tests/tools/tool_test.h"

#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[256];
static int checks, failures;

static void die(const char *what) {
    perror(what);
    exit(1);
}

void test_start(void) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/ipex-tools-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder) || chdir(folder))
        die(folder);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *ftw) {
    (void)status, (void)kind, (void)ftw;
    return remove(path);
}

int test_done(void) {
    if (chdir("/") || nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS))
        die(folder);
    return failures || !checks;
}

void test_ok(bool condition, const char *why, const char *name, ...) {
    va_list args;
    checks++;
    failures += !condition;
    fputs(condition ? "ok - " : "not ok - ", stdout);
    va_start(args, name);
    vprintf(name, args);
    va_end(args);
    putchar('\n');
    if (!condition && why)
        printf("# %s\n", why);
    fflush(stdout);
}

void test_skip(const char *reason, const char *name) {
    checks++;
    printf("ok - %s # SKIP %s\n", name, reason);
    fflush(stdout);
}

void test_write(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        die(path);
}

bool test_exists(const char *path) {
    struct stat status;
    return !lstat(path, &status);
}

int test_count_files(const char *path) {
    int count = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return -1;
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(dir);
    return count;
}

bool test_contains(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

int test_in_child(int (*fn)(void *arg), void *arg) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (!child)
        _exit(fn(arg));
    if (waitpid(child, &status, 0) != child)
        die("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
