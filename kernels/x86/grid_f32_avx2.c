/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups at the places of a grid with AVX2: kernels/x86/grid_body.h on its vectors. */
#include "kernels/x86/vec_avx2.h"

#include "kernels/x86/grid_body.h"
