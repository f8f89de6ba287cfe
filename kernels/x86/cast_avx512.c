/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/x86/vec_avx512.h"

#define CAST_LEVEL(slot) IPEX_LEVEL(slot)
#include "kernels/x86/cast_body.h"
