/* SPDX-License-Identifier: Apache-2.0 */
/* See amx_level.h. The kernels have been compiled under these names (meson.build). */
#include "tests/amx_emu/amx_level.h"

#define ON_AVX2(slot, args_struct)                                                                 \
    void ipex_k_##slot##__amx_avx2(const struct args_struct *, int64_t, int64_t, void *);
ON_AVX2(conv_bf16t, ipex_conv_args)
ON_AVX2(conv_u8, ipex_conv_args)
ON_AVX2(conv_transpose_bf16t, ipex_conv_transpose_args)
ON_AVX2(matmul_bf16t, ipex_matmul_args)
ON_AVX2(attention_bf16t, ipex_attention_args)

const enum ipex_isa amx_level_below = IPEX_ISA_avx2;

size_t amx_make_levels(struct level *levels) {
    const size_t ret = make_levels(IPEX_ISA_avx2, levels);
    struct level *level = &levels[AMX_LEVELS - 1];
    if (ret != AMX_LEVELS)
        return ret;
    level->name = "amx, with AVX2";
    level->kernels.conv_u8 = ipex_k_conv_u8__amx_avx2;
    level->kernels.conv_bf16t = ipex_k_conv_bf16t__amx_avx2;
    level->kernels.conv_transpose_bf16t = ipex_k_conv_transpose_bf16t__amx_avx2;
    level->kernels.matmul_bf16t = ipex_k_matmul_bf16t__amx_avx2;
    level->kernels.attention_bf16t = ipex_k_attention_bf16t__amx_avx2;
    return ret;
}
