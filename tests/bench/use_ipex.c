/* SPDX-License-Identifier: Apache-2.0 */
/* All memory will be touched when a session begins: the system is asked to give it at once, in huge
 * pages as far as they fit, not by a page fault every 4 KiB. */
#include "tests/bench/use_ipex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

static char message[256];

static void check(enum ipex_status status, const char *what) {
    if (status == IPEX_OK)
        return;
    fprintf(stderr, "ipexpack: %s: %s\n", what, *message ? message : ipex_status_text(status));
    exit(1);
}

static void *take(size_t size) {
    uint8_t *memory =
        mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED ? IPEX_OK : IPEX_ERROR_MEMORY, "memory");
    memory += -(uintptr_t)memory % HUGE_PAGE;
    /* Wishes: without them the system gives small pages, one at a time. */
    if (size >= HUGE_PAGE)
        (void)madvise(memory, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    (void)madvise(memory, size, MADV_POPULATE_WRITE);
    return memory;
}

struct ipex_image *use_image(const char *path) {
    const struct ipex_image_options options = {
        .size_of_struct = sizeof options, .message = message, .message_size = sizeof message};
    struct ipex_image *image;
    size_t size;
    check(ipex_image_measure(path, &options, &size), path);
    check(ipex_image_open(&image, path, take(size), size, &options), path);
    return image;
}

struct ipex_pool *use_pool(int threads) {
    const struct ipex_pool_options options = {.size_of_struct = sizeof options,
                                              .threads = threads,
                                              .message = message,
                                              .message_size = sizeof message};
    struct ipex_pool *pool = NULL;
    size_t size;
    if (threads == 1)
        return NULL;
    check(ipex_pool_measure(&options, &size), "pool");
    check(ipex_pool_init(&pool, &options, take(size), size), "pool");
    return pool;
}

struct ipex_session *use_session(const struct ipex_image *image, struct ipex_pool *pool) {
    const struct ipex_session_options options = {.size_of_struct = sizeof options,
                                                 .pool = pool,
                                                 .message = message,
                                                 .message_size = sizeof message};
    struct ipex_requirements need;
    struct ipex_session *session;
    check(ipex_session_measure(image, &options, &need), "session");
    check(ipex_session_init(&session, image, &options, take(need.memory), need.memory), "session");
    return session;
}

void use_run(struct ipex_session *session, const struct ipex_tensor *inputs, size_t n_inputs,
             struct ipex_tensor *outputs, size_t n_outputs) {
    memset(outputs, 0, n_outputs * sizeof *outputs);
    const enum ipex_status status = ipex_run(session, NULL, inputs, n_inputs, outputs, n_outputs);
    if (status != IPEX_OK)
        snprintf(message, sizeof message, "%s", ipex_session_message(session));
    check(status, "run");
}
