/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the place of kernels/x86/cpu_probe.c in programs that link the emulator: detection finds a
 * CPU with AMX, and a permission that the emulator goes by. AMX_EMU in the environment says what
 * machine that is:
 *
 *   (not set)  AMX, and permission for who asks; where the CPU has AMX, the CPU
 *   0          the machine as it is, without emulator
 *   refused    AMX, but the operating system gives no permission
 *   no-state   AMX, but the operating system does not save its registers
 *   masked     AMX hidden by a hypervisor: not in cpuid
 *   intel      AMX, and vdpbf16ps as slow as on Intel's CPUs that have it
 *   zen4       AMX, and 512 bits in two passes as on AMD's first CPUs with AVX-512
 *   hybrid     AMX, and cores of two kinds: every question about caches is asked on the other one
 *   linux      AMX in cpuid, and permission as Linux itself answers, which is no on other CPUs
 *   foreign    AMX and permission, but not by this emulator: by another one
 *
 * With AVX512_EMU (tests/avx512_emu) all but `0` have AVX-512 and AVX-VNNI, too. */
#include "kernels/x86/cpu_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/amx_emu/amx_emu.h"

enum {
    L7_EDX_AMX = 1 << 22 | 1 << 24 | 1 << 25, /* BF16, TILE, INT8 */
    L7_EDX_AVX512_FP16 = 1 << 23,
    L7_EDX_HYBRID = 1 << 15,
    XCR0_TILES = 0x60000,
};

/* What tests/avx512_emu stands in for. */
#ifdef AVX512_EMU
enum {
    L7_EBX_AVX512 = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | INT32_MIN, /* F, DQ, CD, BW, VL */
    L7_ECX_VNNI_VBMI = 1 << 11 | 1 << 1,
    L71_EAX_VNNI_BF16 = 1 << 4 | 1 << 5, /* AVX-VNNI, AVX512-BF16 */
    XCR0_ZMM = 0xe0,
};
#else
enum { L7_EBX_AVX512 = 0, L7_ECX_VNNI_VBMI = 0, L71_EAX_VNNI_BF16 = 0, XCR0_ZMM = 0 };
#endif

/* cpu_probe.c once more, under other names: the machine itself. */
struct ipex_cpuid real_probe_cpuid(uint32_t leaf, uint32_t subleaf);
uint64_t real_probe_xcr0(void);
bool real_probe_amx_permission(void);
int real_probe_amx_request(void);

enum machine { AS_IT_IS, EMULATED, REFUSED, NO_STATE, MASKED, INTEL, ZEN4, HYBRID, LINUX, FOREIGN };
static enum machine machine;

bool amx_seam_machine(const char *name) {
    static const char *const names[] = {
        [AS_IT_IS] = "0",    [REFUSED] = "refused", [NO_STATE] = "no-state",
        [MASKED] = "masked", [INTEL] = "intel",     [ZEN4] = "zen4",
        [HYBRID] = "hybrid", [LINUX] = "linux",     [FOREIGN] = "foreign"};
    if (!name) {
        machine = amx_emu_installed() ? EMULATED : AS_IT_IS;
        return true;
    }
    for (int i = 0; i <= FOREIGN; i++)
        if (names[i] && strcmp(name, names[i]) == 0) {
            machine = (enum machine)i;
            return true;
        }
    return false;
}

/* Before main: the command line's is the product's own and knows nothing of emulation. */
__attribute__((constructor)) static void start(void) {
    const char *name = getenv("AMX_EMU");
    if (!name)
        amx_emu_install();
    if (!amx_seam_machine(name)) {
        fprintf(stderr,
                "AMX_EMU=%s: not one of 0, refused, no-state, masked, intel, zen4, hybrid, linux, "
                "foreign\n",
                name);
        exit(2);
    }
}

/* Data caches of levels 1 and 2: 48 KiB of 12 ways and 1.25 MiB, or 32 KiB of 8 and 2 MiB. */
static struct ipex_cpuid hybrid_cache(uint32_t level) {
    static bool efficient;
    efficient ^= level == 0;
    const uint32_t ways[2][2] = {{12, 10}, {8, 16}}, sets[2][2] = {{64, 2048}, {64, 2048}};
    if (level > 1)
        return (struct ipex_cpuid){.eax = 0};
    return (struct ipex_cpuid){.eax = (level == 0 ? 1 : 3) | (level + 1) << 5,
                               .ebx = (ways[efficient][level] - 1) << 22 | 63,
                               .ecx = sets[efficient][level] - 1};
}

struct ipex_cpuid ipex_probe_cpuid(uint32_t leaf, uint32_t subleaf) {
    struct ipex_cpuid ret = real_probe_cpuid(leaf, subleaf);
    if (machine == AS_IT_IS)
        return ret;
    if (leaf == 7 && subleaf == 0) {
        ret.edx = machine == MASKED ? ret.edx & ~(uint32_t)L7_EDX_AMX : ret.edx | L7_EDX_AMX;
        ret.ebx |= (uint32_t)L7_EBX_AVX512;
        ret.ecx |= L7_ECX_VNNI_VBMI;
        ret.eax |= L71_EAX_VNNI_BF16 != 0; /* the highest subleaf */
    }
    if (leaf == 7 && subleaf == 1)
        ret.eax |= L71_EAX_VNNI_BF16;
    if (machine == INTEL && leaf == 0)
        ret.ebx = 0x756e6547, ret.edx = 0x49656e69, ret.ecx = 0x6c65746e; /* GenuineIntel */
    if (machine == INTEL && leaf == 7 && subleaf == 0)
        ret.edx |= L7_EDX_AVX512_FP16;
    if (machine == ZEN4 && leaf == 0)
        ret.ebx = 0x68747541, ret.edx = 0x69746e65, ret.ecx = 0x444d4163; /* AuthenticAMD */
    if (machine == ZEN4 && leaf == 1)
        ret.eax = 0x00a10f11;
    if (machine == HYBRID && leaf == 7 && subleaf == 0)
        ret.edx |= L7_EDX_HYBRID;
    if (machine == HYBRID && leaf == 4)
        ret = hybrid_cache(subleaf);
    if (leaf == 0x1d && subleaf == 0)
        ret.eax = 1; /* the highest palette */
    if (leaf == 0x1d && subleaf == 1)
        ret = (struct ipex_cpuid){.eax = 1024 << 16 | 8192, .ebx = 8 << 16 | 64, .ecx = 16};
    return ret;
}

uint64_t ipex_probe_xcr0(void) {
    uint64_t real = real_probe_xcr0();
    if (machine == AS_IT_IS)
        return real;
    real |= XCR0_ZMM;
    return machine == NO_STATE ? real & ~(uint64_t)XCR0_TILES : real | XCR0_TILES;
}

/* Whether the emulator gives permission to who asks. */
static bool may_be_asked(void) {
    return machine == EMULATED || machine == INTEL || machine == ZEN4 || machine == HYBRID;
}

bool ipex_probe_amx_permission(void) {
    if (may_be_asked())
        return amx_emu_permitted();
    if (machine == FOREIGN)
        return true;
    return (machine == AS_IT_IS || machine == LINUX) && real_probe_amx_permission();
}

int ipex_probe_amx_request(void) {
    if (machine == AS_IT_IS || machine == LINUX)
        return real_probe_amx_request();
    if (!may_be_asked())
        return EPERM;
    amx_emu_permit(true);
    return 0;
}
