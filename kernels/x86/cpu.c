/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU and the operating system allow: cpuid for instructions and caches, xgetbv for the
 * registers that are saved over a context switch, arch_prctl for AMX, whose registers Linux saves
 * only for processes that have asked. All three through cpu_probe.h. */
#include "kernels/kernels.h"
#include "kernels/x86/amx_tile.h"
#include "kernels/x86/cpu_probe.h"

/* Bits of cpuid leaf 1 ECX, leaf 7 EBX, ECX and EDX, leaf 7.1 EAX (Intel SDM volume 2, CPUID). */
enum {
    L1_ECX_FMA = 1 << 12,
    L1_ECX_OSXSAVE = 1 << 27,
    L1_ECX_AVX = 1 << 28,
    L1_ECX_F16C = 1 << 29,
    L7_EBX_AVX2 = 1 << 5,
    L7_EBX_BMI2 = 1 << 8,
    L7_EBX_AVX512F = 1 << 16,
    L7_EBX_AVX512DQ = 1 << 17,
    L7_EBX_AVX512CD = 1 << 28,
    L7_EBX_AVX512BW = 1 << 30,
    L7_ECX_AVX512_VBMI = 1 << 1,
    L7_ECX_AVX512_VNNI = 1 << 11,
    L7_EDX_HYBRID = 1 << 15,
    L7_EDX_AMX_BF16 = 1 << 22,
    L7_EDX_AVX512_FP16 = 1 << 23,
    L7_EDX_AMX_TILE = 1 << 24,
    L7_EDX_AMX_INT8 = 1 << 25,
    L71_EAX_AVX_VNNI = 1 << 4,
    L71_EAX_AVX512_BF16 = 1 << 5,
    XCR0_YMM = 0x06,      /* SSE and AVX state */
    XCR0_ZMM = 0xe6,      /* and opmask, upper halves, ZMM16-31 */
    XCR0_TILES = 0x60000, /* configuration, data */
};
#define L7_EBX_AVX512VL UINT32_C(0x80000000)

static bool has(uint32_t value, uint32_t bits) {
    return (value & bits) == bits;
}

/* Palette 1 as kernels know it (cpuid leaf 0x1d). A CPU with other tiles would get others, too. */
static bool tiles_are_known(void) {
    const struct ipex_cpuid most = ipex_probe_cpuid(0x1d, 0), one = ipex_probe_cpuid(0x1d, 1);
    return most.eax >= IPEX_TILE_PALETTE && (one.ebx & 0xffff) == IPEX_TILE_ROW_BYTES &&
           one.ebx >> 16 >= IPEX_TILES && (one.ecx & 0xffff) == IPEX_TILE_ROWS;
}

enum ipex_amx_state ipex_cpu_amx(enum ipex_amx_ask ask, int *ret_error) {
    const struct ipex_cpuid l1 = ipex_probe_cpuid(1, 0), l7 = ipex_probe_cpuid(7, 0);
    *ret_error = 0;
    if (!has(l7.edx, L7_EDX_AMX_TILE) || !tiles_are_known())
        return IPEX_AMX_absent;
    if (!has(l1.ecx, L1_ECX_OSXSAVE) || !has((uint32_t)ipex_probe_xcr0(), XCR0_TILES))
        return IPEX_AMX_no_state;
    if (ask != IPEX_AMX_ASK_NOTHING && ipex_probe_amx_permission())
        return IPEX_AMX_permitted;
    if (ask != IPEX_AMX_ASK_PERMISSION)
        return IPEX_AMX_not_requested;
    *ret_error = ipex_probe_amx_request();
    return *ret_error == 0 && ipex_probe_amx_permission() ? IPEX_AMX_permitted : IPEX_AMX_refused;
}

static uint32_t detect_amx(uint32_t l7_edx) {
    int error;
    if (ipex_cpu_amx(IPEX_AMX_ASK_NOTHING, &error) != IPEX_AMX_not_requested)
        return 0;
    return IPEX_CPU_AMX_TILE | (has(l7_edx, L7_EDX_AMX_BF16) ? IPEX_CPU_AMX_BF16 : 0) |
           (has(l7_edx, L7_EDX_AMX_INT8) ? IPEX_CPU_AMX_INT8 : 0);
}

/* The maker's name, as cpuid leaf 0 spells it. */
static bool is_made_by(uint32_t ebx, uint32_t edx, uint32_t ecx) {
    const struct ipex_cpuid maker = ipex_probe_cpuid(0, 0);
    return maker.ebx == ebx && maker.edx == edx && maker.ecx == ecx;
}

static bool is_intel(void) {
    const uint32_t genu = 0x756e6547, inei = 0x49656e69, ntel = 0x6c65746e;
    return is_made_by(genu, inei, ntel);
}

/* Intel's cores from Golden Cove on, which are the first with AVX512-FP16, begin a vdpbf16ps every
 * other cycle and two FMA in every one (Emerald Rapids): tiles do better. AMD's begin one in every
 * cycle, as many as FMA (Zen 4) or half as many (Zen 5). */
static bool bf16_dot_is_slow(uint32_t l7_edx) {
    return is_intel() && has(l7_edx, L7_EDX_AVX512_FP16);
}

/* AMD's first cores with AVX-512, Zen 4 (family 0x19): whether later ones do, the model decides. */
static bool splits_512(uint32_t l1_eax) {
    const uint32_t auth = 0x68747541, enti = 0x69746e65, camd = 0x444d4163;
    const uint32_t family = (l1_eax >> 8 & 15) + (l1_eax >> 20 & 255); /* base 15, and extended */
    return is_made_by(auth, enti, camd) && family == 0x19;
}

static uint32_t detect_features(void) {
    const struct ipex_cpuid l1 = ipex_probe_cpuid(1, 0), l7 = ipex_probe_cpuid(7, 0);
    const struct ipex_cpuid l71 = l7.eax >= 1 ? ipex_probe_cpuid(7, 1) : (struct ipex_cpuid){0};
    if (!has(l1.ecx, L1_ECX_OSXSAVE | L1_ECX_AVX))
        return 0;
    const uint32_t os = (uint32_t)ipex_probe_xcr0();
    if (!has(os, XCR0_YMM) || !has(l1.ecx, L1_ECX_FMA | L1_ECX_F16C) ||
        !has(l7.ebx, L7_EBX_AVX2 | L7_EBX_BMI2))
        return 0;
    uint32_t ret = IPEX_CPU_AVX2_FMA;
    if (is_intel()) /* of two units of 512 bits that multiply one moves lanes */
        ret |= IPEX_CPU_FEW_SHUFFLES;
    if (has(l71.eax, L71_EAX_AVX_VNNI))
        ret |= IPEX_CPU_AVX_VNNI;
    if (!has(os, XCR0_ZMM) || !has(l7.ebx, L7_EBX_AVX512F | L7_EBX_AVX512DQ | L7_EBX_AVX512CD |
                                               L7_EBX_AVX512BW | L7_EBX_AVX512VL))
        return ret;
    ret |= IPEX_CPU_AVX512 | (splits_512(l1.eax) ? IPEX_CPU_SPLITS_512 : 0);
    if (has(l7.ecx, L7_ECX_AVX512_VNNI))
        ret |= IPEX_CPU_AVX512_VNNI;
    if (has(l7.ecx, L7_ECX_AVX512_VBMI))
        ret |= IPEX_CPU_AVX512_VBMI;
    if (has(l71.eax, L71_EAX_AVX512_BF16))
        ret |= IPEX_CPU_AVX512_BF16 | (bf16_dot_is_slow(l7.edx) ? IPEX_CPU_SLOW_BF16_DOT : 0);
    return ret | detect_amx(l7.edx);
}

/* Data and unified caches of levels 1 and 2 from cpuid's deterministic cache parameters: leaf 4, or
 * AMD's leaf 0x8000001D, which has the same form. Returns false when the leaf names no cache. */
static bool detect_caches(uint32_t leaf, struct ipex_cpu *ret) {
    bool found = false;
    for (uint32_t i = 0; i < 16; i++) {
        const struct ipex_cpuid r = ipex_probe_cpuid(leaf, i);
        const uint32_t type = r.eax & 31, level = r.eax >> 5 & 7;
        if (type == 0)
            break;
        const uint64_t bytes = (uint64_t)((r.ebx >> 22) + 1) * ((r.ebx >> 12 & 1023) + 1) *
                               ((r.ebx & 4095) + 1) * ((uint64_t)r.ecx + 1);
        if (type == 2 || bytes > INT32_MAX) /* instructions */
            continue;
        if (level == 1)
            ret->l1d_bytes = (int32_t)bytes;
        if (level == 2)
            ret->l2_bytes = (int32_t)bytes;
        found = true;
    }
    return found;
}

/* Caches of a hybrid CPU are those of the core that is asked, and threads move: what a session
 * measures here must be what it finds there. */
void ipex_cpu_detect(struct ipex_cpu *ret) {
    const bool hybrid = has(ipex_probe_cpuid(7, 0).edx, L7_EDX_HYBRID);
    *ret = (struct ipex_cpu){.features = detect_features(),
                             .l1d_bytes = 32 << 10,
                             .l2_bytes = hybrid ? 1 << 20 : 512 << 10};
    if (!hybrid && !detect_caches(4, ret))
        detect_caches(UINT32_C(0x8000001d), ret);
}

bool ipex_isa_usable(enum ipex_isa isa, uint32_t features) {
    const uint32_t avx512 = IPEX_CPU_AVX2_FMA | IPEX_CPU_AVX512;
    const uint32_t bf16 = avx512 | IPEX_CPU_AVX512_VNNI | IPEX_CPU_AVX512_BF16;
    switch (isa) {
    case IPEX_ISA_reference:
        return true;
    case IPEX_ISA_avx2:
        return has(features, IPEX_CPU_AVX2_FMA);
    case IPEX_ISA_avx_vnni:
        return has(features, IPEX_CPU_AVX2_FMA | IPEX_CPU_AVX_VNNI);
    case IPEX_ISA_avx512:
        return has(features, avx512);
    case IPEX_ISA_avx512_vnni:
        return has(features, avx512 | IPEX_CPU_AVX512_VNNI);
    case IPEX_ISA_avx512_bf16:
        return has(features, bf16);
    case IPEX_ISA_amx:
        return has(features, bf16 | IPEX_CPU_AMX_TILE | IPEX_CPU_AMX_BF16 | IPEX_CPU_AMX_INT8);
    default:
        return false;
    }
}

enum ipex_isa ipex_isa_best(uint32_t features) {
    enum ipex_isa ret = IPEX_ISA_reference;
    for (int isa = IPEX_ISA_reference; isa <= IPEX_ISA_amx; isa++)
        if (ipex_isa_usable((enum ipex_isa)isa, features))
            ret = (enum ipex_isa)isa;
    return ret;
}
