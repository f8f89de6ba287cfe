/* SPDX-License-Identifier: Apache-2.0 */
/* What the reference kernels share. They are the specification of every slot: plain loops, strict
 * floating point, fmaf written out. Each file is compiled twice, for the baseline and
 * (IPEX_REF_FMA) with -mavx2 -mfma: the same bits, but without FMA instructions fmaf is a function
 * some 40 times slower. */
#ifndef IPEX_KERNELS_REF_H
#define IPEX_KERNELS_REF_H

#include <math.h>
#include <string.h>

#include "kernels/jobs.h"

#ifdef IPEX_REF_FMA
#define IPEX_REF(slot) ipex_k_##slot##__reference_fma
#else
#define IPEX_REF(slot) ipex_k_##slot##__reference
#endif

#define IPEX_KERNEL(slot, args_struct)                                                             \
    void IPEX_REF(slot)(const struct args_struct *, int64_t, int64_t, void *);
#include "kernels/ops.inc"

/* Bytes of an element of the dtypes that moves and casts know. */
static inline int64_t ref_dtype_size(int32_t dtype) {
    return dtype == IPEX_DTYPE_i64                               ? 8
           : dtype == IPEX_DTYPE_f32 || dtype == IPEX_DTYPE_i32  ? 4
           : dtype == IPEX_DTYPE_bf16 || dtype == IPEX_DTYPE_f16 ? 2
                                                                 : 1;
}

/* An index of an axis of this size: below 0 it counts from the end; then it is clamped. */
static inline int64_t ref_index(int64_t index, int64_t size) {
    if (index < 0)
        index += size;
    return index < 0 ? 0 : index >= size ? size - 1 : index;
}

/* Single elements, mostly: a call for each would be most of the work. */
static inline void ref_copy(void *to, const void *from, int64_t bytes) {
    if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, (size_t)bytes);
}

static inline uint32_t ref_bits(float x) {
    uint32_t ret;
    memcpy(&ret, &x, sizeof ret);
    return ret;
}

static inline float ref_float(uint32_t bits) {
    float ret;
    memcpy(&ret, &bits, sizeof ret);
    return ret;
}

/* A denormal becomes a zero of its sign. MXCSR (FTZ, DAZ) does this in every arithmetic
 * instruction, minimum and maximum included; it is written out where the compiler may choose
 * compare-and-select, which would pass a denormal on. */
static inline float ref_flush(float x) {
    const uint32_t bits = ref_bits(x);
    return bits & UINT32_C(0x7f800000) ? x : ref_float(bits & UINT32_C(0x80000000));
}

/* b > a ? b : a and b < a ? b : a: a NaN in a stays. */
static inline float ref_max(float a, float b) {
    return ref_flush(b > a ? b : a);
}

static inline float ref_min(float a, float b) {
    return ref_flush(b < a ? b : a);
}

/* A NaN on either side stays. */
static inline float ref_max_nan(float a, float b) {
    return b != b ? b : ref_max(a, b);
}

static inline float ref_min_nan(float a, float b) {
    return b != b ? b : ref_min(a, b);
}

/* A byte, from 0 to 255, rounded to nearest, ties to even; of a NaN 0. */
static inline uint8_t ref_u8(float x) {
    return x > 0.0f ? (uint8_t)rintf(x < 255.0f ? x : 255.0f) : 0;
}

#endif
