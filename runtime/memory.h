/* SPDX-License-Identifier: Apache-2.0 */
/* One block of the caller's memory, handed out from front to back. With base NULL nothing is handed
 * out but everything is counted: measuring and placing run the same code, so that they cannot
 * disagree. */
#ifndef IPEX_RUNTIME_MEMORY_H
#define IPEX_RUNTIME_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base.h"
#include "runtime/ipex.h"

struct ipex_bump {
    uint8_t *base; /* NULL: count only */
    size_t size;   /* of the block; not looked at when counting */
    size_t used;
    bool failed; /* a request did not fit, or the sum overflowed */
};

/* NULL when counting, and when the request does not fit. `align` is a power of two; the size is
 * rounded up to it, so that requests of one alignment take the same space in any order. */
static inline void *ipex_bump_take(struct ipex_bump *bump, size_t bytes, size_t align) {
    size_t begin, end;
    if (__builtin_add_overflow(bump->used, align - 1, &begin))
        bump->failed = true;
    begin &= ~(align - 1);
    if (__builtin_add_overflow(bytes, align - 1, &bytes) ||
        __builtin_add_overflow(begin, bytes & ~(align - 1), &end))
        bump->failed = true;
    if (bump->failed || (bump->base != NULL && end > bump->size)) {
        bump->failed = true;
        return NULL;
    }
    bump->used = end;
    return bump->base != NULL ? bump->base + begin : NULL;
}

/* The caller's block for `what` ("a session"), which needs so many bytes. */
static inline enum ipex_status ipex_memory_check(const char *what, const void *memory, size_t size,
                                                 size_t need, const struct ipex_report *report) {
    IPEX_CHECK(memory != NULL && (uintptr_t)memory % IPEX_MEMORY_ALIGN == 0, report,
               IPEX_ERROR_MEMORY, "memory of %s is NULL or not aligned to %d bytes", what,
               IPEX_MEMORY_ALIGN);
    IPEX_CHECK(size >= need, report, IPEX_ERROR_MEMORY, "%s needs %llu bytes, %llu given", what,
               (unsigned long long)need, (unsigned long long)size);
    return IPEX_OK;
}

#endif
