/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on bf16 in the order of tdpbf16ps (profile bf16-amx) with AVX2. */
#define CONV_X         uint16_t
#define CONV_K_PER_ROW 2
#include "kernels/x86/vec_avx2.h"

#define TILE_ROWS ROWS_3
#define TILE_VECS VECS_2
enum { ROWS_AT_ONCE = 3, ROWS_APART = 1 };
#include "kernels/x86/conv_tiles_fma.h"
#include "kernels/x86/conv_transpose_walk.h"

static const struct conv_level level = {CONV_OPERANDS, .walk = walk_tiles};

void ipex_k_conv_bf16t__avx2(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                             void *scratch) {
    (void)scratch;
    ipex_conv_walk(&level, args, job_begin, job_end);
}

void ipex_k_conv_transpose_bf16t__avx2(const struct ipex_conv_transpose_args *args,
                                       int64_t job_begin, int64_t job_end, void *scratch) {
    (void)scratch;
    conv_transpose_jobs(&level, args, job_begin, job_end);
}
