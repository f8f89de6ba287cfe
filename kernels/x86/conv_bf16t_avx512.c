/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on bf16 in the order of tdpbf16ps (profile bf16-amx) with AVX-512. */
#define CONV_X         uint16_t
#define CONV_K_PER_ROW 2
#include "kernels/x86/vec_avx512.h"

#define TILE_ROWS ROWS_6
#define TILE_VECS VECS_1
enum { ROWS_AT_ONCE = 6, ROWS_APART = 3 };
#include "kernels/x86/conv_tiles_fma.h"

static const struct conv_level level = {CONV_OPERANDS, .walk = walk_tiles};

void ipex_k_conv_bf16t__avx512(const struct ipex_conv_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    (void)scratch;
    ipex_conv_walk(&level, args, job_begin, job_end);
}
