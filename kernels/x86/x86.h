/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that x86 levels have. A level takes the kernels of the one below where it has none of
 * its own. */
#ifndef IPEX_KERNELS_X86_H
#define IPEX_KERNELS_X86_H

#include "kernels/jobs.h"

/* What was read from memory is read anew behind this: compilers would keep it, on the stack where
 * registers are few. */
#define READ_AGAIN __asm__ volatile("" ::: "memory")

#define IPEX_KERNEL_PORTABLE(slot, args_struct)
#define IPEX_KERNEL(slot, args_struct)                                                             \
    void ipex_k_##slot##__avx2(const struct args_struct *, int64_t, int64_t, void *);              \
    void ipex_k_##slot##__avx512(const struct args_struct *, int64_t, int64_t, void *);
#include "kernels/ops.inc"

void ipex_k_conv_u8__avx_vnni(const struct ipex_conv_args *, int64_t, int64_t, void *);
void ipex_k_conv_u8__avx512_vnni(const struct ipex_conv_args *, int64_t, int64_t, void *);
void ipex_k_linear_blocks_i8__avx_vnni(const struct ipex_blocks_args *, int64_t, int64_t, void *);
void ipex_k_linear_blocks_i8__avx512_vnni(const struct ipex_blocks_args *, int64_t, int64_t,
                                          void *);
void ipex_k_matmul_u8__avx_vnni(const struct ipex_matmul_args *, int64_t, int64_t, void *);
void ipex_k_matmul_u8__avx512_vnni(const struct ipex_matmul_args *, int64_t, int64_t, void *);
void ipex_k_pointwise_u8__avx512_vbmi(const struct ipex_pointwise_args *, int64_t, int64_t, void *);
void ipex_k_depthwise_u8__avx512_vnni(const struct ipex_conv_args *, int64_t, int64_t, void *);
void ipex_k_conv_bf16__avx512_bf16(const struct ipex_conv_args *, int64_t, int64_t, void *);
void ipex_k_conv_transpose_bf16__avx512_bf16(const struct ipex_conv_transpose_args *, int64_t,
                                             int64_t, void *);
void ipex_k_depthwise_bf16y__avx512_bf16(const struct ipex_depthwise_args *, int64_t, int64_t,
                                         void *);
void ipex_k_cast__avx512(const struct ipex_map_args *, int64_t, int64_t, void *);
void ipex_k_cast__avx512_bf16(const struct ipex_map_args *, int64_t, int64_t, void *);
void ipex_k_matmul_bf16__avx512_bf16(const struct ipex_matmul_args *, int64_t, int64_t, void *);
void ipex_k_attention_bf16__avx512_bf16(const struct ipex_attention_args *, int64_t, int64_t,
                                        void *);
void ipex_k_matmul_bf16__avx512(const struct ipex_matmul_args *, int64_t, int64_t, void *);
void ipex_k_attention_bf16__avx512(const struct ipex_attention_args *, int64_t, int64_t, void *);
void ipex_k_matmul_bf16t__avx512(const struct ipex_matmul_args *, int64_t, int64_t, void *);
void ipex_k_attention_bf16t__avx512(const struct ipex_attention_args *, int64_t, int64_t, void *);
void ipex_k_conv_u8__amx(const struct ipex_conv_args *, int64_t, int64_t, void *);
void ipex_k_conv_bf16t__amx(const struct ipex_conv_args *, int64_t, int64_t, void *);
void ipex_k_conv_transpose_bf16t__amx(const struct ipex_conv_transpose_args *, int64_t, int64_t,
                                      void *);
void ipex_k_matmul_bf16t__amx(const struct ipex_matmul_args *, int64_t, int64_t, void *);
void ipex_k_attention_bf16t__amx(const struct ipex_attention_args *, int64_t, int64_t, void *);

#endif
