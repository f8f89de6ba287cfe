/* SPDX-License-Identifier: Apache-2.0 */
/* See cpu_probe.h. The only kernels' file that calls the operating system, and only for AMX. */
#include "kernels/x86/cpu_probe.h"

#include <cpuid.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* asm/prctl.h of Linux 5.16; the C library's may be older. */
#define GET_XCOMP_PERM 0x1022
#define REQ_XCOMP_PERM 0x1023
#define TILE_DATA      18 /* the component's number, as in XCR0 */

struct ipex_cpuid ipex_probe_cpuid(uint32_t leaf, uint32_t subleaf) {
    struct ipex_cpuid ret = {0};
    __get_cpuid_count(leaf, subleaf, &ret.eax, &ret.ebx, &ret.ecx, &ret.edx);
    return ret;
}

/* xgetbv without asm needs the compiler's own target attribute. */
__attribute__((target("xsave"))) uint64_t ipex_probe_xcr0(void) {
    return (uint64_t)__builtin_ia32_xgetbv(0);
}

bool ipex_probe_amx_permission(void) {
    uint64_t permitted = 0;
    return syscall(SYS_arch_prctl, GET_XCOMP_PERM, &permitted) == 0 &&
           (permitted >> TILE_DATA & 1) != 0;
}

int ipex_probe_amx_request(void) {
    return syscall(SYS_arch_prctl, REQ_XCOMP_PERM, TILE_DATA) == 0 ? 0 : errno;
}
