/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel table of a level: the reference fills every slot, then an early-return ladder
 * overwrites. */
#include <stddef.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/x86/x86.h"

#define IPEX_KERNEL(slot, args_struct)                                                             \
    void ipex_k_##slot##__reference(const struct args_struct *, int64_t, int64_t, void *);         \
    void ipex_k_##slot##__reference_fma(const struct args_struct *, int64_t, int64_t, void *);
#include "kernels/ops.inc"

/* Every kernel takes its slot's arguments. */
#define KERNEL(slot, level)                                                                        \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&ipex_k_##slot##__##level),             \
                                                __typeof__(((struct ipex_kernels *)0)->slot)),     \
                   #slot "__" #level);
#include "kernels/levels.inc"

/* Where each kernel lies, as its distance from this table: instructions to take each one's address
 * are 2 KB more of the library, and addresses in a table have to be relocated when it is loaded. C
 * has no expression for distances, so the assembler makes them. */
#define KERNEL(slot, level) ".long ipex_k_" #slot "__" #level " - ipex_kernel_distances\n"
__asm__(".pushsection .rodata\n"
        ".balign 4\n"
        "ipex_kernel_distances:\n"
#include "kernels/levels.inc"
        ".popsection\n");
extern const int32_t distances[] __asm__("ipex_kernel_distances")
    __attribute__((visibility("hidden")));

/* Their names, one behind the other. */
#define KERNEL(slot, level) char slot##__##level[sizeof #slot "__" #level];
#define KERNEL_NAMED(slot, level, as)
struct names {
#include "kernels/levels.inc"
};
#define KERNEL(slot, level) .slot##__##level = #slot "__" #level,
#define KERNEL_NAMED(slot, level, as)
static const struct names text = {
#include "kernels/levels.inc"
};

/* What slot each one is for, and where its name is. */
static const struct place {
    uint16_t slot, name;
} places[] = {
#define KERNEL(slot, level) KERNEL_NAMED(slot, level, level)
#define KERNEL_NAMED(slot, level, as)                                                              \
    {offsetof(struct ipex_kernel_names, slot) / sizeof(const char *),                              \
     offsetof(struct names, slot##__##as)},
#include "kernels/levels.inc"
};

/* FIRST_avx2 is the place of AVX2's first one; an enumerator takes the number before it back. */
enum {
#define LEVEL(name)         FIRST_##name, BEFORE_##name = FIRST_##name - 1,
#define KERNEL(slot, level) AT_##slot##__##level,
#include "kernels/levels.inc"
};
#define TAKE(level, next) take(kernels, names, FIRST_##level, FIRST_##next)

static void take(struct ipex_kernels *kernels, struct ipex_kernel_names *names, int begin,
                 int end) {
    for (int i = begin; i < end; i++) {
        const char *const kernel = (const char *)distances + distances[i];
        const char *const name = (const char *)&text + places[i].name;
        memcpy((char *)kernels + places[i].slot * sizeof kernel, &kernel, sizeof kernel);
        memcpy((char *)names + places[i].slot * sizeof name, &name, sizeof name);
    }
}

static void take_x86(struct ipex_kernels *kernels, struct ipex_kernel_names *names,
                     enum ipex_isa isa) {
    struct ipex_cpu cpu;
    ipex_cpu_detect(&cpu);
    if (!(cpu.features & IPEX_CPU_AVX2_FMA))
        return;
    TAKE(reference_fma, avx2);
    if (isa < IPEX_ISA_avx2)
        return;
    TAKE(avx2, avx_vnni);
    if (isa >= IPEX_ISA_avx_vnni && cpu.features & IPEX_CPU_AVX_VNNI)
        TAKE(avx_vnni, avx512);
    if (isa < IPEX_ISA_avx512)
        return;
    TAKE(avx512, avx512_vnni);
    if (isa < IPEX_ISA_avx512_vnni || !(cpu.features & IPEX_CPU_AVX512_VNNI))
        return;
    TAKE(avx512_vnni, avx512_vbmi);
    if (cpu.features & IPEX_CPU_AVX512_VBMI)
        TAKE(avx512_vbmi, avx512_bf16);
    if (isa < IPEX_ISA_avx512_bf16 || !(cpu.features & IPEX_CPU_AVX512_BF16))
        return;
    TAKE(avx512_bf16, avx512_bf16_dot);
    if (!(cpu.features & IPEX_CPU_SLOW_BF16_DOT))
        TAKE(avx512_bf16_dot, amx);
    if (isa < IPEX_ISA_amx || !(cpu.features & IPEX_CPU_AMX_BF16))
        return;
    TAKE(amx, end);
}

void ipex_kernels_init(struct ipex_kernels *kernels, struct ipex_kernel_names *names,
                       enum ipex_isa isa) {
    struct ipex_kernel_names unused;
    if (!names)
        names = &unused;
    TAKE(reference, reference_fma);
    take_x86(kernels, names, isa);
}
