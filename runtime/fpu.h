/* SPDX-License-Identifier: Apache-2.0 */
/* The floating-point environment that kernels compute in, whatever the caller has set: round to
 * nearest, denormals taken and made as zero, every exception masked. The same bits for every caller
 * depend on it. */
#ifndef IPEX_RUNTIME_FPU_H
#define IPEX_RUNTIME_FPU_H

#include <stdint.h>
#include <x86intrin.h>

#define IPEX_MXCSR 0x9fc0u /* FTZ | all masks | DAZ, rounding 00, no flags */

/* Sets it; returns what was there, flags included, for ipex_fpu_leave. */
static inline uint32_t ipex_fpu_enter(void) {
    const uint32_t before = _mm_getcsr();
    _mm_setcsr(IPEX_MXCSR);
    return before;
}

static inline void ipex_fpu_leave(uint32_t before) {
    _mm_setcsr(before);
}

#endif
