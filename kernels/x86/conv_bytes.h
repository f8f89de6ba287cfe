/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on u8 x and i8 weights, for levels of vectors: four elements of K go
 * together. The includer brings a vec_*.h. */
#ifndef IPEX_KERNELS_X86_CONV_BYTES_H
#define IPEX_KERNELS_X86_CONV_BYTES_H

#define CONV_X         uint8_t
#define CONV_K_PER_ROW 4
#define CONV_SUMS
#include "kernels/x86/scale_sums.h"

#include "kernels/x86/conv_walk.h"

#include <string.h>

/* Four elements of K, or two that are widened. */
static inline int32_t four_at(const uint8_t *p) {
    int32_t ret;
    memcpy(&ret, p, sizeof ret);
    return ret;
}

/* The last one to three of a segment, then zeros. A segment has four elements or more, so that four
 * of them end where it ends. */
static inline uint32_t last_at(const uint8_t *p, int64_t rest) {
    return (uint32_t)four_at(p + rest - 4) >> 8 * (4 - rest);
}

#endif
