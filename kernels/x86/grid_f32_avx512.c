/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups at the places of a grid with AVX-512: kernels/x86/grid_body.h on its vectors. */
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/grid_body.h"
