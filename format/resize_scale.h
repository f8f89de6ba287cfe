/* SPDX-License-Identifier: Apache-2.0 */
/* What number a resize's scale stands for. Static inline only, so that files with ISA flags may
 * include it. */
#ifndef IPEX_FORMAT_RESIZE_SCALE_H
#define IPEX_FORMAT_RESIZE_SCALE_H

#include <stdint.h>

/* A scale is meant as a fraction of small numbers, such as 1/3 or 3.2, of which f32 holds the
 * nearest number: it is the first convergent of its continued fraction that f32 rounds to it.
 * Positions would else fall short of the elements they are at. f32 tells fractions of numbers up to
 * 2^12 apart; below is 0 where it is none of these. */
struct ipex_resize_fraction {
    int64_t above, below;
};

static inline struct ipex_resize_fraction ipex_resize_fraction(float scale) {
    enum { MOST = 4096 };
    struct ipex_resize_fraction before = {0, 1}, last = {1, 0};
    double rest = (double)scale, whole;
    for (; rest <= MOST; rest = 1 / (rest - whole)) {
        whole = __builtin_floor(rest);
        const struct ipex_resize_fraction next = {(int64_t)whole * last.above + before.above,
                                                  (int64_t)whole * last.below + before.below};
        if (next.above > MOST || next.below > MOST)
            break;
        if ((float)((double)next.above / (double)next.below) == scale)
            return next;
        before = last;
        last = next;
        if (rest == whole)
            break;
    }
    return (struct ipex_resize_fraction){0, 0};
}

/* As the kernels take it. */
static inline double ipex_resize_scale(float scale) {
    const struct ipex_resize_fraction meant = ipex_resize_fraction(scale);
    return meant.below ? (double)meant.above / (double)meant.below : (double)scale;
}

#endif
