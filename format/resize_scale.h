/* SPDX-License-Identifier: Apache-2.0 */
/* What number a resize's scale stands for. */
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

struct ipex_resize_fraction ipex_resize_fraction(float scale);

/* As the kernels take it: the fraction, or the scale where there is none. */
double ipex_resize_scale(float scale);

#endif
