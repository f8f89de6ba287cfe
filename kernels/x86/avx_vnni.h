/* SPDX-License-Identifier: Apache-2.0 */
/* The one instruction of AVX-VNNI, for files that need nothing else of it and have AVX2's flags. */
#ifndef IPEX_KERNELS_X86_AVX_VNNI_H
#define IPEX_KERNELS_X86_AVX_VNNI_H

/* sum += four products of a byte of a, without sign, and one of w, in every lane of 32 bits. */
#ifndef DPBUSD_256 /* which tests do without (tests/avx512_emu) */
#define DPBUSD_256(sum, a, w) __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(w))
#endif

#endif
