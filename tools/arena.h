/* SPDX-License-Identifier: Apache-2.0 */
/* A growing arena for the offline tools: many small zeroed allocations, freed together. Allocations
 * never move. Out of memory is fatal here and everywhere in tools/: ipex_die_memory says so and
 * ends the process with status 1, so no caller checks for NULL. (Output files are not left behind:
 * see tools/atomic_file.h.) */
#ifndef IPEX_TOOLS_ARENA_H
#define IPEX_TOOLS_ARENA_H

#include <stddef.h>

struct ipex_arena_block;

/* {0} is an empty arena. */
struct ipex_arena {
    struct ipex_arena_block *blocks; /* newest first */
    size_t used, size;               /* of the newest block, bytes */
};

_Noreturn void ipex_die_memory(void);

/* Zeroed bytes, aligned to 16; size 0 gives a valid pointer too. Live until ipex_arena_finish. */
void *ipex_arena_alloc(struct ipex_arena *arena, size_t size);
/* count * size bytes; a product that overflows counts as out of memory. */
void *ipex_arena_array(struct ipex_arena *arena, size_t count, size_t size);
char *ipex_arena_strdup(struct ipex_arena *arena, const char *text);
/* `length` bytes, which may hold anything, and a terminating NUL. */
char *ipex_arena_strndup(struct ipex_arena *arena, const void *text, size_t length);
char *ipex_arena_printf(struct ipex_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Frees everything; the arena is empty again. */
void ipex_arena_finish(struct ipex_arena *arena);

/* Heap memory under the same rule: never NULL; freed with free(). */
void *ipex_alloc(size_t size);
/* Aligned to a power of two, the size rounded up to it. Not zeroed. */
void *ipex_alloc_aligned(size_t alignment, size_t size);
/* Grows a heap array so that it can hold `need` elements of `size` bytes (at least doubling
 * *capacity). */
void *ipex_grow(void *array, size_t *capacity, size_t need, size_t size);

#endif
