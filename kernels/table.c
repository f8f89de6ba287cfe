/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel table of a level: the reference fills every slot, then an early-return ladder
 * overwrites. */
#include <stddef.h>

#include "kernels/jobs.h"
#include "kernels/x86/x86.h"

#define IPEX_KERNEL(slot, args_struct)                                                             \
    void ipex_k_##slot##__reference(const struct args_struct *, int64_t, int64_t, void *);         \
    void ipex_k_##slot##__reference_fma(const struct args_struct *, int64_t, int64_t, void *);
#include "kernels/ops.inc"

/* What levels above AVX2 have of their own. move and fill are bound by memory: AVX2's do. Of
 * transposed convolutions on bf16, which are rare, only CPUs with its instruction have more than
 * AVX2's. */
/* clang-format off */
#define AVX_VNNI_KERNELS(X) \
    X(conv_u8, avx_vnni) X(matmul_u8, avx_vnni) X(linear_blocks_i8, avx_vnni)
#define AVX512_KERNELS(X) \
    X(conv_f32, avx512) X(conv_bf16w, avx512) X(conv_bf16, avx512) X(conv_bf16t, avx512) \
    X(linear_blocks_f32, avx512) X(linear_f16, avx512) X(winograd_f32, avx512) \
    X(depthwise_f32, avx512) X(depthwise_bf16y, avx512) X(max_pool_f32, avx512) \
    X(avg_pool_f32, avx512) X(pointwise_f32, avx512) X(softmax_f32, avx512) \
    X(reduce_f32, avx512) X(arg_f32, avx512) X(matmul_f32, avx512) X(attention_f32, avx512) \
    X(matmul_bf16, avx512) X(attention_bf16, avx512) X(matmul_bf16t, avx512) \
    X(attention_bf16t, avx512) X(layer_norm_f32, avx512) X(group_norm_f32, avx512) \
    X(lstm_f32, avx512) X(gru_f32, avx512) X(conv_transpose_f32, avx512) X(resize_f32, avx512) \
    X(grid_sample_f32, avx512) X(cast, avx512)
#define AVX512_VNNI_KERNELS(X) \
    X(conv_u8, avx512_vnni) X(matmul_u8, avx512_vnni) X(linear_blocks_i8, avx512_vnni) \
    X(depthwise_u8, avx512_vnni)
/* VBMI has no level of its own: all of the CPUs have it but the first with VNNI. */
#define AVX512_VBMI_KERNELS(X) X(pointwise_u8, avx512_vbmi)
#define AVX512_BF16_KERNELS(X) \
    X(conv_transpose_bf16, avx512_bf16) X(cast, avx512_bf16) X(depthwise_bf16y, avx512_bf16)
/* Where vdpbf16ps is slow, products stay with AVX-512's FMA, which give the same bits. */
#define AVX512_BF16_DOT_KERNELS(X) \
    X(conv_bf16, avx512_bf16) X(matmul_bf16, avx512_bf16) X(attention_bf16, avx512_bf16)
#define AMX_KERNELS(X) \
    X(conv_bf16t, amx) X(conv_u8, amx) X(conv_transpose_bf16t, amx) X(matmul_bf16t, amx) \
    X(attention_bf16t, amx)
/* clang-format on */
#define OTHER_KERNELS(X)                                                                           \
    AVX_VNNI_KERNELS(X)                                                                            \
    AVX512_KERNELS(X)                                                                              \
    AVX512_VNNI_KERNELS(X)                                                                         \
    AVX512_VBMI_KERNELS(X) AVX512_BF16_KERNELS(X) AVX512_BF16_DOT_KERNELS(X) AMX_KERNELS(X)

/* All names, which are found by their places: instructions for each would be 2 KB of the library,
 * pointers in a table would be relocated when it is loaded. */
#define NAME_MEMBER(slot, level) char slot##__##level[sizeof #slot "__" #level];
#define NAME_VALUE(slot, level)  .slot##__##level = #slot "__" #level,
struct name_pool {
#define IPEX_KERNEL(slot, args_struct) NAME_MEMBER(slot, reference)
#include "kernels/ops.inc"
#define IPEX_KERNEL_PORTABLE(slot, args_struct)
#define IPEX_KERNEL(slot, args_struct) NAME_MEMBER(slot, avx2)
#include "kernels/ops.inc"
    OTHER_KERNELS(NAME_MEMBER)
};
static const struct name_pool name_pool = {
#define IPEX_KERNEL(slot, args_struct) NAME_VALUE(slot, reference)
#include "kernels/ops.inc"
#define IPEX_KERNEL_PORTABLE(slot, args_struct)
#define IPEX_KERNEL(slot, args_struct) NAME_VALUE(slot, avx2)
#include "kernels/ops.inc"
    OTHER_KERNELS(NAME_VALUE)};

/* A slot's number, and where its name is. */
struct place {
    uint16_t slot, name;
};
#define PLACE(slot, level)                                                                         \
    {offsetof(struct ipex_kernel_names, slot) / sizeof(const char *),                              \
     offsetof(struct name_pool, slot##__##level)},
static void take_names(struct ipex_kernel_names *names, const struct place *places, size_t count) {
    for (size_t i = 0; i < count; i++)
        ((const char **)names)[places[i].slot] = (const char *)&name_pool + places[i].name;
}

#define COUNT(array)             (sizeof(array) / sizeof *(array))
#define TAKE_KERNEL(slot, level) kernels->slot = ipex_k_##slot##__##level;
#define TAKE(KERNELS)                                                                              \
    do {                                                                                           \
        static const struct place places[] = {KERNELS(PLACE)};                                     \
        KERNELS(TAKE_KERNEL)                                                                       \
        take_names(names, places, COUNT(places));                                                  \
    } while (0)

/* The reference's two builds give the same bits; the name is the level's. */
static void take_reference(struct ipex_kernels *kernels, struct ipex_kernel_names *names) {
    static const struct place places[] = {
#define IPEX_KERNEL(slot, args_struct) PLACE(slot, reference)
#include "kernels/ops.inc"
    };
    take_names(names, places, COUNT(places));
#define IPEX_KERNEL(slot, args_struct) TAKE_KERNEL(slot, reference)
#include "kernels/ops.inc"
}

static void take_reference_fma(struct ipex_kernels *kernels) {
#define IPEX_KERNEL_PLAIN(slot, args_struct)
#define IPEX_KERNEL(slot, args_struct) TAKE_KERNEL(slot, reference_fma)
#include "kernels/ops.inc"
}

static void take_avx2(struct ipex_kernels *kernels, struct ipex_kernel_names *names) {
    static const struct place places[] = {
#define IPEX_KERNEL_PORTABLE(slot, args_struct)
#define IPEX_KERNEL(slot, args_struct) PLACE(slot, avx2)
#include "kernels/ops.inc"
    };
    take_names(names, places, COUNT(places));
#define IPEX_KERNEL_PORTABLE(slot, args_struct)
#define IPEX_KERNEL(slot, args_struct) TAKE_KERNEL(slot, avx2)
#include "kernels/ops.inc"
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
        TAKE(AVX_VNNI_KERNELS);
    if (isa < IPEX_ISA_avx512)
        return;
    TAKE(AVX512_KERNELS);
    if (isa < IPEX_ISA_avx512_vnni || !(cpu.features & IPEX_CPU_AVX512_VNNI))
        return;
    TAKE(AVX512_VNNI_KERNELS);
    if (cpu.features & IPEX_CPU_AVX512_VBMI)
        TAKE(AVX512_VBMI_KERNELS);
    if (isa < IPEX_ISA_avx512_bf16 || !(cpu.features & IPEX_CPU_AVX512_BF16))
        return;
    TAKE(AVX512_BF16_KERNELS);
    if (!(cpu.features & IPEX_CPU_SLOW_BF16_DOT))
        TAKE(AVX512_BF16_DOT_KERNELS);
    if (isa < IPEX_ISA_amx || !(cpu.features & IPEX_CPU_AMX_BF16))
        return;
    TAKE(AMX_KERNELS);
}

void ipex_kernels_init(struct ipex_kernels *kernels, struct ipex_kernel_names *names,
                       enum ipex_isa isa) {
    struct ipex_kernel_names unused;
    if (!names)
        names = &unused;
    take_reference(kernels, names);
    take_x86(kernels, names, isa);
}
