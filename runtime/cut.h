/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a step into jobs so that all threads end together. */
#ifndef IPEX_RUNTIME_CUT_H
#define IPEX_RUNTIME_CUT_H

#include "runtime/bind.h"

/* `count` units (lines, panels), once for each of `times` (images), are cut into blocks. */
struct ipex_cut {
    int64_t count, times;
    int64_t least, most; /* units of a block; most may be less than least, and wins */
    int64_t multiple;    /* blocks are multiples of this, but for the last */
    double again;        /* what a block costs beside its units, in units */
};

/* Units of a block. One thread: as many as may be. Several: the smallest block of those whose
 * slowest thread does least, or little more, when all work at the same speed; smaller ones leave
 * more to a thread that comes earlier. At most 8 blocks for each thread. */
int64_t ipex_cut_even(const struct ipex_cut *cut, int32_t threads);

#endif
