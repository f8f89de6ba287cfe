/* SPDX-License-Identifier: Apache-2.0 */
/* Checked arithmetic on sizes and offsets, and the error-report type that every layer passes along.
 * Numbers that come from a file are u64 and go through these helpers only; no raw + or * on them.
 */
#ifndef IPEX_FORMAT_BASE_H
#define IPEX_FORMAT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/ipex_status.h"

#define IPEX_MAX_RANK  8
#define IPEX_MAX_DIM   INT64_C(0x7fffffff) /* one dim */
#define IPEX_MAX_NUMEL (INT64_C(1) << 40)  /* elements of one tensor */

/* Where an error is described: a buffer of the caller's, or none. Cut, never overrun. */
struct ipex_report {
    char *text; /* may be NULL */
    size_t size;
};

/* printf subset without libc: %s, %d (int), %u (unsigned), %lld (long long), %llu (unsigned long
 * long). Always terminates. Returns `status`, so that an error is reported in one expression.
 * Defined in format/report.c. */
enum ipex_status ipex_fail(const struct ipex_report *report, enum ipex_status status,
                           const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts where the error lies in front of what ipex_fail reported: the outer layers know the place.
 * Same conversions; a %s longer than 96 bytes is cut, so that the place cannot push the reason out.
 */
enum ipex_status ipex_fail_at(const struct ipex_report *report, enum ipex_status status,
                              const char *format, ...) __attribute__((format(printf, 3, 4)));

#define IPEX_TRY(expr)                                                                             \
    do {                                                                                           \
        enum ipex_status ipex_try_ = (expr);                                                       \
        if (ipex_try_ != IPEX_OK)                                                                  \
            return ipex_try_;                                                                      \
    } while (0)

/* IPEX_CHECK(condition, report, status, "message", ...): returns the status when the condition is
 * false. */
#define IPEX_CHECK(cond, report, ...)                                                              \
    do {                                                                                           \
        if (!(cond))                                                                               \
            return ipex_fail((report), __VA_ARGS__);                                               \
    } while (0)

/* [offset, offset + length) lies inside [0, end). */
static inline bool ipex_range_ok(uint64_t offset, uint64_t length, uint64_t end) {
    return offset <= end && length <= end - offset;
}

static inline bool ipex_add_u64(uint64_t a, uint64_t b, uint64_t *ret) {
    return !__builtin_add_overflow(a, b, ret);
}

static inline bool ipex_mul_u64(uint64_t a, uint64_t b, uint64_t *ret) {
    return !__builtin_mul_overflow(a, b, ret);
}

/* Rounds up to a multiple of a power of two. */
static inline bool ipex_align_u64(uint64_t value, uint64_t alignment, uint64_t *ret) {
    if (!ipex_add_u64(value, alignment - 1, ret))
        return false;
    *ret &= ~(alignment - 1);
    return true;
}

/* Product of dims under the caps above; false when a dim is negative or a cap is exceeded. A zero
 * dim gives 0. */
bool ipex_numel(const int64_t *dims, unsigned rank, int64_t *ret);

#endif
