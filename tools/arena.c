/* SPDX-License-Identifier: Apache-2.0 */
/* The arena is a chain of blocks from calloc. A request that does not fit into the newest block
 * starts a new one; what was left of the old one is given up (blocks double, so the waste is
 * bounded by what is used). */
#include "tools/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BLOCK   ((size_t)16 << 10)
#define LARGEST_BLOCK ((size_t)1 << 20) /* larger only for a single larger request */
#define ALIGNMENT     ((size_t)16)

struct ipex_arena_block {
    struct ipex_arena_block *next;
    alignas(16) unsigned char bytes[];
};

_Noreturn void ipex_die_memory(void) {
    fputs("ipexpack: out of memory\n", stderr);
    exit(1);
}

/* For requests of which a user may ask too much. */
static _Noreturn void die_wanting(size_t size) {
    fprintf(stderr, "ipexpack: out of memory: %zu MiB were asked for at once\n", size >> 20);
    exit(1);
}

void *ipex_alloc(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (!memory)
        die_wanting(size);
    return memory;
}

/* From this size on memory comes in huge pages where the system has some: touching it first takes a
 * fifth of the time, and at most an eighth is added. */
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_FROM (8 * HUGE_PAGE)

void *ipex_alloc_aligned(size_t alignment, size_t size) {
    const bool huge = size >= HUGE_FROM;
    if (huge && alignment < HUGE_PAGE)
        alignment = HUGE_PAGE;
    if (size > SIZE_MAX - alignment)
        die_wanting(size);
    size_t rounded = (size + alignment - 1) & ~(alignment - 1);
    void *memory = aligned_alloc(alignment, rounded ? rounded : alignment);
    if (!memory)
        die_wanting(size);
    if (huge)
        (void)madvise(memory, rounded, MADV_HUGEPAGE); /* a wish: small pages do as well */
    return memory;
}

void *ipex_grow(void *array, size_t *capacity, size_t need, size_t size) {
    if (need <= *capacity)
        return array;
    size_t wanted = *capacity > SIZE_MAX / 2 ? SIZE_MAX : *capacity * 2;
    if (wanted < need)
        wanted = need;
    if (wanted < 8)
        wanted = 8;
    void *grown = wanted > SIZE_MAX / size ? NULL : realloc(array, wanted * size);
    if (!grown)
        ipex_die_memory();
    *capacity = wanted;
    return grown;
}

static void add_block(struct ipex_arena *arena, size_t need) {
    size_t size = arena->size ? arena->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (size < need)
        size = need;
    if (size > SIZE_MAX - sizeof(struct ipex_arena_block))
        ipex_die_memory();
    struct ipex_arena_block *block = calloc(1, sizeof *block + size);
    if (!block)
        ipex_die_memory();
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used = 0;
    arena->size = size;
}

void *ipex_arena_alloc(struct ipex_arena *arena, size_t size) {
    if (size > SIZE_MAX - ALIGNMENT)
        ipex_die_memory();
    size = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    if (!arena->blocks || size > arena->size - arena->used)
        add_block(arena, size);
    void *memory = arena->blocks->bytes + arena->used;
    arena->used += size;
    return memory;
}

void *ipex_arena_array(struct ipex_arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        ipex_die_memory();
    return ipex_arena_alloc(arena, bytes);
}

char *ipex_arena_strndup(struct ipex_arena *arena, const void *text, size_t length) {
    if (length == SIZE_MAX)
        ipex_die_memory();
    char *copy = ipex_arena_alloc(arena, length + 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

char *ipex_arena_strdup(struct ipex_arena *arena, const char *text) {
    return ipex_arena_strndup(arena, text, strlen(text));
}

char *ipex_arena_printf(struct ipex_arena *arena, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = ipex_arena_alloc(arena, (size_t)(length < 0 ? 0 : length) + 1);
    if (length > 0)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void ipex_arena_finish(struct ipex_arena *arena) {
    struct ipex_arena_block *block = arena->blocks;
    while (block) {
        struct ipex_arena_block *next = block->next;
        free(block);
        block = next;
    }
    *arena = (struct ipex_arena){0};
}
