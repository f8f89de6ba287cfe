/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors that level amx has beside its tiles: those of AVX-512. With IPEX_AMX_AVX2 those of
 * AVX2, in the tests alone: valgrind, which knows no AVX-512, can then run the kernels. */
#ifdef IPEX_AMX_AVX2
#include "kernels/x86/vec_avx2.h"
#else
#include "kernels/x86/vec_avx512.h"
#endif
