/* SPDX-License-Identifier: Apache-2.0 */
/* Activations with AVX2: kernels/x86/activate_body.h on its vectors. */
#include "kernels/x86/vec_avx2.h"

#include "kernels/x86/activate_body.h"
