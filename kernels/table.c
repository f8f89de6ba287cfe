/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel table of a level: the reference fills every slot, then an early-return ladder
 * overwrites. */
#include "kernels/jobs.h"
#include "kernels/x86/x86.h"

#define IPEX_KERNEL(slot, args_struct)                                                             \
    void ipex_k_##slot##__reference(const struct args_struct *, int64_t, int64_t, void *);         \
    void ipex_k_##slot##__reference_fma(const struct args_struct *, int64_t, int64_t, void *);
#include "kernels/ops.inc"

/* The reference's two builds give the same bits; the name is the level's. */
static void take_reference(struct ipex_kernels *kernels, struct ipex_kernel_names *names) {
#define IPEX_KERNEL(slot, args_struct)                                                             \
    kernels->slot = ipex_k_##slot##__reference;                                                    \
    names->slot = #slot "__reference";
#include "kernels/ops.inc"
}

static void take_reference_fma(struct ipex_kernels *kernels) {
#define IPEX_KERNEL_PLAIN(slot, args_struct)
#define IPEX_KERNEL(slot, args_struct) kernels->slot = ipex_k_##slot##__reference_fma;
#include "kernels/ops.inc"
}

#define TAKE(slot, level)                                                                          \
    kernels->slot = ipex_k_##slot##__##level;                                                      \
    names->slot = #slot "__" #level

static void take_avx2(struct ipex_kernels *kernels, struct ipex_kernel_names *names) {
#define IPEX_KERNEL_PORTABLE(slot, args_struct)
#define IPEX_KERNEL(slot, args_struct) TAKE(slot, avx2);
#include "kernels/ops.inc"
}

static void take_avx_vnni(struct ipex_kernels *kernels, struct ipex_kernel_names *names) {
    TAKE(conv_u8, avx_vnni);
    TAKE(matmul_u8, avx_vnni);
    TAKE(linear_blocks_i8, avx_vnni);
}

/* move and fill are bound by memory: AVX2's do. Of transposed convolutions on bf16, which are rare,
 * only CPUs with its instruction have more than AVX2's. */
static void take_avx512(struct ipex_kernels *kernels, struct ipex_kernel_names *names) {
    TAKE(conv_f32, avx512);
    TAKE(conv_bf16w, avx512);
    TAKE(conv_bf16, avx512);
    TAKE(conv_bf16t, avx512);
    TAKE(linear_blocks_f32, avx512);
    TAKE(linear_f16, avx512);
    TAKE(winograd_f32, avx512);
    TAKE(depthwise_f32, avx512);
    TAKE(depthwise_bf16y, avx512);
    TAKE(max_pool_f32, avx512);
    TAKE(avg_pool_f32, avx512);
    TAKE(pointwise_f32, avx512);
    TAKE(softmax_f32, avx512);
    TAKE(reduce_f32, avx512);
    TAKE(arg_f32, avx512);
    TAKE(matmul_f32, avx512);
    TAKE(attention_f32, avx512);
    TAKE(matmul_bf16, avx512);
    TAKE(attention_bf16, avx512);
    TAKE(matmul_bf16t, avx512);
    TAKE(attention_bf16t, avx512);
    TAKE(layer_norm_f32, avx512);
    TAKE(group_norm_f32, avx512);
    TAKE(lstm_f32, avx512);
    TAKE(gru_f32, avx512);
    TAKE(conv_transpose_f32, avx512);
    TAKE(resize_f32, avx512);
    TAKE(grid_sample_f32, avx512);
    TAKE(cast, avx512);
}

/* VBMI has no level of its own: all of the CPUs have it but the first with VNNI. */
static void take_avx512_vnni(struct ipex_kernels *kernels, struct ipex_kernel_names *names,
                             bool vbmi) {
    TAKE(conv_u8, avx512_vnni);
    TAKE(matmul_u8, avx512_vnni);
    TAKE(linear_blocks_i8, avx512_vnni);
    TAKE(depthwise_u8, avx512_vnni);
    if (!vbmi)
        return;
    TAKE(pointwise_u8, avx512_vbmi);
}

/* Where vdpbf16ps is slow, products stay with AVX-512's FMA, which give the same bits. */
static void take_avx512_bf16(struct ipex_kernels *kernels, struct ipex_kernel_names *names,
                             bool slow_dot) {
    TAKE(conv_transpose_bf16, avx512_bf16);
    TAKE(cast, avx512_bf16);
    TAKE(depthwise_bf16y, avx512_bf16);
    if (slow_dot)
        return;
    TAKE(conv_bf16, avx512_bf16);
    TAKE(matmul_bf16, avx512_bf16);
    TAKE(attention_bf16, avx512_bf16);
}

static void take_amx(struct ipex_kernels *kernels, struct ipex_kernel_names *names) {
    TAKE(conv_bf16t, amx);
    TAKE(conv_u8, amx);
    TAKE(conv_transpose_bf16t, amx);
    TAKE(matmul_bf16t, amx);
    TAKE(attention_bf16t, amx);
}

/* amx has nothing of its own for f32 and bf16-dp. */
static void take_x86(struct ipex_kernels *kernels, struct ipex_kernel_names *names,
                     enum ipex_isa isa) {
    struct ipex_cpu cpu;
    ipex_cpu_detect(&cpu);
    if (!(cpu.features & IPEX_CPU_AVX2_FMA))
        return;
    take_reference_fma(kernels);
    if (isa < IPEX_ISA_avx2)
        return;
    take_avx2(kernels, names);
    if (isa >= IPEX_ISA_avx_vnni && cpu.features & IPEX_CPU_AVX_VNNI)
        take_avx_vnni(kernels, names);
    if (isa < IPEX_ISA_avx512)
        return;
    take_avx512(kernels, names);
    if (isa < IPEX_ISA_avx512_vnni || !(cpu.features & IPEX_CPU_AVX512_VNNI))
        return;
    take_avx512_vnni(kernels, names, cpu.features & IPEX_CPU_AVX512_VBMI);
    if (isa < IPEX_ISA_avx512_bf16 || !(cpu.features & IPEX_CPU_AVX512_BF16))
        return;
    take_avx512_bf16(kernels, names, cpu.features & IPEX_CPU_SLOW_BF16_DOT);
    if (isa < IPEX_ISA_amx || !(cpu.features & IPEX_CPU_AMX_BF16))
        return;
    take_amx(kernels, names);
}

void ipex_kernels_init(struct ipex_kernels *kernels, struct ipex_kernel_names *names,
                       enum ipex_isa isa) {
    struct ipex_kernel_names unused;
    if (!names)
        names = &unused;
    take_reference(kernels, names);
    take_x86(kernels, names, isa);
}
