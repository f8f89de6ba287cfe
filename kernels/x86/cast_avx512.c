/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/x86/vec_avx512.h"

#define CAST_LEVEL(slot) IPEX_LEVEL(slot)
#define CAST_BF16(v)     vec_bf16(v)
#include "kernels/x86/cast_body.h"
