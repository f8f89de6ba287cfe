/* SPDX-License-Identifier: Apache-2.0 */
#include "format/resize_scale.h"

struct ipex_resize_fraction ipex_resize_fraction(float scale) {
    enum { MOST = 4096 };
    struct ipex_resize_fraction before = {0, 1}, last = {1, 0};
    double rest = (double)scale;
    while (rest <= MOST) {
        const int64_t whole = (int64_t)rest;
        const struct ipex_resize_fraction next = {whole * last.above + before.above,
                                                  whole * last.below + before.below};
        if (next.above > MOST || next.below > MOST)
            break;
        if ((float)((double)next.above / (double)next.below) == scale)
            return next;
        if (rest == (double)whole)
            break;
        rest = 1 / (rest - (double)whole);
        before = last;
        last = next;
    }
    return (struct ipex_resize_fraction){0, 0};
}

double ipex_resize_scale(float scale) {
    const struct ipex_resize_fraction meant = ipex_resize_fraction(scale);
    return meant.below ? (double)meant.above / (double)meant.below : (double)scale;
}
