/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of tools/ share: TAP lines, and a temporary folder that is removed at the end. */
#ifndef IPEX_TESTS_TOOL_TEST_H
#define IPEX_TESTS_TOOL_TEST_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the temporary folder and goes there: tests use relative paths. */
void test_start(void);
/* Removes the folder; returns the exit status. */
int test_done(void);

/* One TAP line. `why` (may be NULL) is printed when the condition is false. */
void test_ok(bool condition, const char *why, const char *name, ...)
    __attribute__((format(printf, 3, 4)));
void test_skip(const char *reason, const char *name);

void test_write(const char *path, const void *bytes, size_t size);
bool test_exists(const char *path);
/* Names in a folder, "." and ".." not counted; -1 when there is no such folder. */
int test_count_files(const char *folder);
bool test_contains(const char *text, const char *part);

/* Runs fn in a child and returns its exit status, or 128 + the signal that ended it. */
int test_in_child(int (*fn)(void *arg), void *arg);

#endif
