/* SPDX-License-Identifier: Apache-2.0 */
/* Activations with AVX-512: kernels/x86/activate_body.h on its vectors. */
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/activate_body.h"
